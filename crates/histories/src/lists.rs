//! Strict serialisability of transactions that append to lists, from what they read, as Elle does it (Kingsbury and Alvaro,
//! "Elle: Inferring Isolation Anomalies from Experimental Observations", 2020). A read of a list tells all versions before
//! it in their order. So it is known which transaction came before which: it wrote the version before another's (ww), wrote
//! what another read (wr), read what another wrote the next version of (rw), or had ended before another began (rt). An
//! order of all exists if and only if there is no cycle.
//!
//! This is no search: the time grows with the history, and what is found is shown by a cycle as short as possible.

mod cycle;
mod edges;
mod naming;
#[cfg(test)]
mod tests;
mod versions;

use crate::history::History;
use crate::verdict::Verdict;
use edges::Graph;
use versions::Versions;

/// Is there an order of all transactions, within their times, that explains what they read?
pub fn check(history: &History) -> Verdict {
    let mut findings = Vec::new();
    let versions = Versions::of(history, &mut findings);
    let graph = Graph::of(history, &versions);
    findings.extend(naming::cycles(history, &graph));
    Verdict::of(findings)
}
