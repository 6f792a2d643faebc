//! What is shown of servers that this one asks for its clients: a line for each.

use crate::chaining::ServerCounts;
use crate::engine::Dsa;
use crate::password::PoolMetrics;
use env::clock::Now;

/// Of the requests that wait for other servers; all 0 where none is asked.
pub(super) fn pool(dsa: &Dsa) -> PoolMetrics {
    dsa.chain_pool().map(|pool| pool.metrics()).unwrap_or_default()
}

/// The servers, each with its numbers since the start.
/// A line begins with the URL as it is configured, with its port, so no two are the same. All numbers are of the process.
pub(super) fn servers(dsa: &Dsa, _: Now) -> Vec<String> {
    let line = |counts: ServerCounts| {
        let ServerCounts { url, asked, failed, opened, reused, idle } = counts;
        format!("{url} asked {asked} failed {failed} connections {opened} reused {reused} idle {idle}")
    };
    let servers = dsa.outward.get().map(|outward| outward.chaining.counts());
    servers.unwrap_or_default().into_iter().map(line).collect()
}
