//! What is shown of limits of clients: how much of one is used, and the addresses and names that come nearest to theirs.

use crate::engine::Dsa;
use crate::peers::AddressUse;
use crate::refusals::Limit;
use env::clock::Now;
use std::net::IpAddr;

/// Addresses and names that are shown.
const WORST_MAX: usize = 16;

/// How much is used of a limit now, if that is a number.
/// Of a rate it is none: what was used of it is another number at each moment, and that of an address ([`worst_addresses`]).
pub(super) fn used(limit: Limit) -> Option<fn(&Dsa, Now) -> u64> {
    match limit {
        Limit::AddressConnections => Some(|dsa, _| dsa.peers.most_connections()),
        Limit::ClientMemory => Some(|dsa, _| dsa.client_memory.bytes()),
        Limit::Searches => Some(|dsa, _| dsa.user_searches.count()),
        Limit::ActiveSearches => Some(|dsa, _| dsa.monitor.sum(|counters| &counters.searches_suspended)),
        _ => None,
    }
}

/// The addresses that come nearest to a limit of rates, then those with most connections.
pub(super) fn worst_addresses(dsa: &Dsa, now: Now) -> Vec<String> {
    let line = |AddressUse { address, connections, used_s: (failed_binds, handshakes) }| {
        format!("{address} connections {connections} failed-binds {failed_binds} handshakes {handshakes}")
    };
    numbered(dsa.peers.worst(WORST_MAX, now.monotonic_ns).into_iter().map(line))
}

/// The names whose binds fail most often. One that is no DN is not among them, only its length: it may be a password.
pub(super) fn worst_names(dsa: &Dsa, _: Now) -> Vec<String> {
    let from =
        |address: Option<IpAddr>| address.map_or_else(|| "this machine".to_owned(), |ip| ip.to_string());
    let worst = dsa.failed_binds.worst(WORST_MAX).into_iter();
    numbered(worst.map(|one| format!("{} from {} {:?}", one.count, from(one.address), one.name)))
}

/// Numbered, so that two lines are never the same.
fn numbered(lines: impl Iterator<Item = String>) -> Vec<String> {
    lines.enumerate().map(|(at, line)| format!("{} {line}", at + 1)).collect()
}
