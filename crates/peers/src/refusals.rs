//! Which nodes were refused and why, so that the log has a line a minute of each: a node that was removed, or whose disk was set back, tries
//! again every second with each of its links.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Milliseconds until the log has the same line again.
const AGAIN_MS: u64 = 60_000;
/// Nodes that are remembered at most.
const NODES_MAX: usize = 64;

/// See the module. By node: the last reason, and when the log had it.
#[derive(Default)]
pub(crate) struct Refusals(Mutex<BTreeMap<u64, (String, u64)>>);

impl Refusals {
    /// Is the log to have a line of this? `false` if it had the same one within a minute.
    pub(crate) fn is_news(&self, node: u64, why: &str, now_ms: u64) -> bool {
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((last, at_ms)) = nodes.get(&node)
            && last == why
            && now_ms.saturating_sub(*at_ms) < AGAIN_MS
        {
            return false;
        }
        if nodes.len() == NODES_MAX && !nodes.contains_key(&node) {
            nodes.pop_first();
        }
        nodes.insert(node, (why.to_owned(), now_ms));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_of_a_node_is_news_once_a_minute_and_something_else_at_once() {
        let refusals = Refusals::default();
        assert!(refusals.is_news(3, "removed", 5));
        assert!(!refusals.is_news(3, "removed", 5 + AGAIN_MS - 1));
        assert!(refusals.is_news(4, "removed", 6), "of another node");
        assert!(refusals.is_news(3, "removed", 5 + AGAIN_MS));
        assert!(refusals.is_news(3, "set back", 6 + AGAIN_MS));
        assert!(refusals.is_news(3, "removed", 7 + AGAIN_MS));
        for node in 10..10 + 2 * NODES_MAX as u64 {
            assert!(refusals.is_news(node, "removed", 8 + AGAIN_MS));
        }
        assert_eq!(refusals.0.lock().unwrap().len(), NODES_MAX);
    }
}
