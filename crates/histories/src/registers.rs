//! Linearizability of registers. Registers do not touch each other, so each is looked at alone: a history is linearizable if
//! and only if those of its objects are (Herlihy and Wing, "Linearizability", 1990).

use crate::history::{History, Operation, Outcome, Step};
use crate::linearizable::{Found, Model, Timed, search};
use crate::verdict::{Anomaly, Finding, Verdict};
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// What a register holds at first.
pub const INITIAL: u64 = 0;

/// Are all registers linearizable? For each the search takes at most `steps_max` steps. Operations of several steps are
/// not for this check and left alone.
pub fn check(history: &History, steps_max: u64) -> Verdict {
    let mut registers: BTreeMap<&str, Vec<Timed<(usize, Call)>>> = BTreeMap::new();
    for (number, operation) in history.operations.iter().enumerate() {
        if let Some((register, call)) = call_of(operation) {
            let Operation { begin, end, outcome, .. } = *operation;
            let happened = outcome == Outcome::Ok;
            registers.entry(register).or_default().push(Timed { begin, end, happened, call: (number, call) });
        }
    }
    let (mut findings, mut gave_up) = (Vec::new(), Vec::new());
    for (register, calls) in &registers {
        match search(&Register, calls, steps_max) {
            Found::Order => {}
            Found::GaveUp => gave_up.push(*register),
            Found::None(stuck) => findings.push(finding(history, register, calls, stuck)),
        }
    }
    match (findings.is_empty(), gave_up.is_empty()) {
        (true, false) => Verdict::GaveUp(format!("{} after {steps_max} steps", gave_up.join(", "))),
        _ => Verdict::of(findings),
    }
}

fn finding(history: &History, register: &str, calls: &[Timed<(usize, Call)>], stuck: usize) -> Finding {
    let (number, call) = &calls[stuck].call;
    let process = history.operations[*number].process;
    let text = format!(
        "{register}: no order of {} operations explains {call:?} of process {process}, operation {number}",
        calls.len()
    );
    Finding::new(Anomaly::NotLinearizable, text)
}

/// A call to a register and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Read(u64),
    Write(u64),
    /// Compare-and-swap; whether it was done, if that is known.
    Swap(u64, u64, Option<bool>),
}

/// What an operation says of which register: nothing if it has not happened, or only read and was not answered.
fn call_of(operation: &Operation) -> Option<(&str, Call)> {
    let [step] = &operation.steps[..] else { return None };
    if operation.outcome == Outcome::Fail {
        return None;
    }
    Some(match step {
        Step::Read { register, value } => (register, Call::Read((*value)?)),
        Step::Write { register, value } => (register, Call::Write(*value)),
        Step::Swap { register, from, to, done } => (register, Call::Swap(*from, *to, *done)),
        _ => return None,
    })
}

struct Register;

impl Model for Register {
    type State = u64;
    type Call = (usize, Call);

    fn initial(&self) -> u64 {
        INITIAL
    }

    fn step(&self, state: &u64, (_, call): &(usize, Call)) -> Option<u64> {
        match *call {
            Call::Read(value) => (value == *state).then_some(*state),
            Call::Write(value) => Some(value),
            Call::Swap(from, _, Some(false)) => (from != *state).then_some(*state),
            Call::Swap(from, to, _) => (from == *state).then_some(to),
        }
    }
}
