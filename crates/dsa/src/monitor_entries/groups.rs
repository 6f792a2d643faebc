//! What is shown of the group of replicas that the server belongs to. Where it belongs to none, the role is `alone`, and all else is 0 or not
//! there.

use crate::engine::Dsa;
use crate::group::Metrics;

/// All 0 or empty where the server is alone.
pub(super) fn metrics(dsa: &Dsa) -> Metrics {
    dsa.group.get().map(|group| group.metrics()).unwrap_or_default()
}

/// What is applied is committed, though the replica may not have said so yet.
pub(super) fn commit(dsa: &Dsa) -> u64 {
    let applied = dsa.journal.get().map_or(0, |journal| journal.metrics().applied);
    dsa.group.get().map_or(0, |group| group.metrics().commit.max(applied))
}

/// The word for what a node does in its group, as `pando cluster status` shows it.
pub(super) fn role(dsa: &Dsa) -> String {
    let Some(group) = dsa.group.get() else { return "alone".to_owned() };
    group.metrics().role.to_owned()
}

/// A value of the syntax boolean.
pub(super) fn truth(is_so: bool) -> String {
    if is_so { "TRUE" } else { "FALSE" }.to_owned()
}

/// Values of an attribute of integers.
pub(super) fn numbers(numbers: &[u64]) -> Vec<String> {
    numbers.iter().map(u64::to_string).collect()
}

/// Each replica with the time that a sync takes there, and how far its clock is off.
pub(super) fn conditions(metrics: &Metrics) -> Vec<String> {
    let text = |number: Option<f64>| number.map_or("-".to_owned(), |number| format!("{number:.1}"));
    let line = |replica: &crate::group::Replica| {
        format!(
            "{} sync_ms {} clock_offset_seconds {}",
            replica.node,
            text(replica.sync_ms),
            text(replica.clock_s)
        )
    };
    metrics.replicas.iter().map(line).collect()
}

/// Each replica with the latest version of the behaviour that its program knows.
pub(super) fn newest_behaviours(metrics: &Metrics) -> Vec<String> {
    let known = |newest: Option<u32>| newest.map_or("-".to_owned(), |newest| newest.to_string());
    metrics.replicas.iter().map(|replica| format!("{} {}", replica.node, known(replica.newest))).collect()
}

/// Each replica with its role, how far it is behind, and its URL.
pub(super) fn replicas(metrics: &Metrics) -> Vec<String> {
    let lag = |lag: Option<(u64, f64)>| {
        lag.map_or("lag - seconds -".to_owned(), |(commands, seconds)| {
            format!("lag {commands} seconds {seconds:.1}")
        })
    };
    let line = |replica: &crate::group::Replica| {
        format!("{} {} {} {}", replica.node, replica.role, lag(replica.lag), replica.url)
            .trim_end()
            .to_owned()
    };
    metrics.replicas.iter().map(line).collect()
}
