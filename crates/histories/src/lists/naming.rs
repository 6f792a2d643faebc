//! What a cycle is called: by the weakest kinds of edges that make one.

use super::cycle::{Cycle, components, shortest};
use super::edges::{Graph, Kind};
use crate::history::{History, Step};
use crate::verdict::{Anomaly, Finding};
use std::collections::BTreeSet;

/// Kinds of edges, one kind of which there is exactly one besides, and what a cycle of them is called: from the worst on.
const NAMES: [(&[Kind], Option<Kind>, Anomaly); 5] = [
    (&[Kind::Ww], None, Anomaly::G0),
    (&[Kind::Ww, Kind::Wr], None, Anomaly::G1c),
    (&[Kind::Ww, Kind::Wr], Some(Kind::Rw), Anomaly::GSingle),
    (&[Kind::Ww, Kind::Wr, Kind::Rw], None, Anomaly::G2),
    (&[Kind::Ww, Kind::Wr, Kind::Rw, Kind::Rt], None, Anomaly::RealTime),
];

/// The cycles of a graph, one for each component, with the worst name that it deserves.
pub(super) fn cycles(history: &History, graph: &Graph<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut named: BTreeSet<usize> = BTreeSet::new();
    for (kinds, once, anomaly) in NAMES {
        let all: Vec<Kind> = kinds.iter().copied().chain(once).collect();
        for component in components(graph, &all) {
            if component.iter().any(|member| named.contains(member)) {
                continue;
            }
            if let Some(cycle) = shortest(graph, &component, kinds, once) {
                named.extend(component);
                let anomaly = if is_lost_update(history, &cycle) { Anomaly::LostUpdate } else { anomaly };
                findings.push(Finding::new(anomaly, describe(history, &cycle)));
            }
        }
    }
    findings
}

/// Do two transactions that read and append to the same list come before each other, because one did not see the other?
fn is_lost_update(history: &History, cycle: &Cycle<'_>) -> bool {
    let [(a, first), (b, second)] = &cycle[..] else { return false };
    let kinds = [first.kind, second.kind];
    let updates = |number: usize| {
        let steps = &history.operations[number].steps;
        let reads = steps.iter().any(|step| matches!(step, Step::List { list, .. } if list == first.list));
        reads && steps.iter().any(|step| matches!(step, Step::Append { list, .. } if list == first.list))
    };
    let one_list = first.list == second.list;
    one_list && kinds.contains(&Kind::Rw) && !kinds.contains(&Kind::Rt) && updates(*a) && updates(*b)
}

/// The cycle in words.
fn describe(history: &History, cycle: &Cycle<'_>) -> String {
    let mut text = String::new();
    for (number, edge) in cycle {
        let process = history.operations[*number].process;
        let how = match edge.kind {
            Kind::Ww => format!("wrote the version of {} before that of", edge.list),
            Kind::Wr => format!("wrote the version of {} read by", edge.list),
            Kind::Rw => format!("read the version of {} before that of", edge.list),
            Kind::Rt => "ended before the begin of".to_owned(),
        };
        text += &format!("operation {number} (process {process}) {how} ");
    }
    text + &format!("operation {}", cycle[0].0)
}
