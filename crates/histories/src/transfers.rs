//! Transfers between accounts. A scan that is one snapshot always has the same sum; and when nothing else is in progress, the
//! balances are exactly those of the last such moment with all transfers between.

use crate::history::{History, Operation, Outcome, Step};
use crate::verdict::{Anomaly, Finding, Verdict};
use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
mod tests;

/// Different outcomes of unknown transfers that are followed at a time.
const POSSIBLE_MAX: usize = 1 << 14;

type Balances = BTreeMap<String, i64>;

/// Has every scan the same accounts and the sum `total`, and are balances what the transfers make?
pub fn check(history: &History, total: i64) -> Verdict {
    let mut findings: Vec<Finding> = history
        .operations
        .iter()
        .enumerate()
        .filter_map(|(number, operation)| wrong_sum(number, scan_of(operation)?, total))
        .collect();
    match follow(history) {
        Ok(more) => findings.extend(more),
        Err(why) if findings.is_empty() => return Verdict::GaveUp(why),
        Err(_) => {}
    }
    Verdict::of(findings)
}

fn scan_of(operation: &Operation) -> Option<&Balances> {
    match (&operation.steps[..], operation.outcome) {
        ([Step::Scan { balances: Some(balances) }], Outcome::Ok) => Some(balances),
        _ => None,
    }
}

fn wrong_sum(number: usize, balances: &Balances, total: i64) -> Option<Finding> {
    let sum: i64 = balances.values().sum();
    (sum != total).then(|| {
        Finding::new(
            Anomaly::Sum,
            format!("operation {number} found {sum} in all, not {total}: {balances:?}"),
        )
    })
}

/// From one scan that nothing overlaps to the next.
fn follow(history: &History) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    let mut since: Option<&Balances> = None;
    let mut between: Vec<&Operation> = Vec::new();
    let mut ended = None;
    for (number, operation) in history.operations.iter().enumerate() {
        let next = history.operations.get(number + 1);
        let alone = ended.is_none_or(|end| end < operation.begin)
            && next.is_none_or(|next| next.begin > operation.end);
        ended = ended.max(Some(operation.end));
        match scan_of(operation).filter(|_| alone) {
            None => between.push(operation),
            Some(now) => {
                let possible = since.map_or(Some(true), |since| is_possible(since, now, &between));
                let Some(possible) = possible else {
                    return Err(format!("more than {POSSIBLE_MAX} outcomes before operation {number}"));
                };
                if !possible {
                    let text =
                        format!("operation {number} found {now:?}, which transfers do not make of {since:?}");
                    findings.push(Finding::new(Anomaly::Balance, text));
                }
                since = Some(now);
                between.clear();
            }
        }
    }
    Ok(findings)
}

/// Can these operations make one of the other? Nothing is said if there are too many unknown ones.
fn is_possible(before: &Balances, after: &Balances, between: &[&Operation]) -> Option<bool> {
    let mut possible = BTreeSet::from([before.clone()]);
    for operation in between {
        let apply = |balances: &Balances| {
            let mut balances = balances.clone();
            for step in &operation.steps {
                let Step::Transfer { from, to, amount } = step else { continue };
                *balances.entry(from.clone()).or_default() -= amount;
                *balances.entry(to.clone()).or_default() += amount;
            }
            balances
        };
        match operation.outcome {
            Outcome::Fail => {}
            Outcome::Ok => possible = possible.iter().map(apply).collect(),
            Outcome::Unknown => {
                let more: Vec<Balances> = possible.iter().map(apply).collect();
                possible.extend(more);
            }
        }
        if possible.len() > POSSIBLE_MAX {
            return None;
        }
    }
    Some(possible.contains(after))
}
