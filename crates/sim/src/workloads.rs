//! What clients do: one workload in each file.

mod accounts;
mod bundles;
mod churn;
mod constraints;
mod counters;
mod definitions;
mod groups;
mod mixed;
mod operated;
mod ring;
mod stripes;
mod transfers;

use crate::requests::{Bundle, COUNTER, SUFFIX, Sent, counter_dn};
pub use crate::workload::Workload;

/// Is this a subtype of another attribute type, which a workload has added?
pub fn is_subtype(name: &str, of: &str) -> bool {
    definitions::is_subtype(name, of)
}

/// Names of the workloads of which a seed takes one.
pub const NAMES: [&str; 11] = [
    "mixed",
    "churn",
    "groups",
    "counters",
    "operated",
    "transfers",
    "ring",
    "stripes",
    "bundles",
    "accounts",
    "definitions",
];

/// Names of workloads that no seed has unless they are asked for: with them every seed would be another world.
pub const OTHERS: [&str; 1] = ["constraints"];

/// The workload of a name, for so many sessions.
pub fn named(name: &str, sessions: usize) -> Option<Box<dyn Workload>> {
    Some(match name {
        "mixed" => Box::new(mixed::Mixed::default()),
        "churn" => Box::new(churn::Churn::new(sessions)),
        "groups" => Box::new(groups::Groups),
        "counters" => Box::new(counters::Counters),
        "operated" => Box::new(operated::Operated::new(sessions)),
        "transfers" => Box::new(transfers::Transfers),
        "ring" => Box::new(ring::Ring::default()),
        "stripes" => Box::new(stripes::Stripes),
        "bundles" => Box::new(bundles::Bundles),
        "accounts" => Box::new(accounts::Accounts::new(sessions)),
        "definitions" => Box::new(definitions::Definitions::new(sessions)),
        "constraints" => Box::new(constraints::Constraints::new(sessions)),
        _ => return None,
    })
}

/// Adds the root of the tree and the counters of all sessions.
pub fn base(sessions: usize, to: &mut Bundle) {
    to.add(SUFFIX, &[("objectClass", "domain"), ("dc", "x")], Sent::Other);
    for session in 0..sessions {
        let name = format!("s{session}");
        let attributes = [("objectClass", "device"), ("cn", &name), (COUNTER, "0")];
        to.add(&counter_dn(session), &attributes, Sent::Other);
    }
}
