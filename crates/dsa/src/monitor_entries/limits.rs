//! Limits of clients: how often each was reached, and what is used of it; and the addresses and names that come nearest to theirs.

use super::{INFO, Item, Measure, connections_open};
use crate::engine::Dsa;
use crate::peers::AddressUse;
use crate::refusals::Limit;
use env::clock::Now;

/// The entry below which names and addresses stand ([`crate::MONITOR_WORST_DN`]), as items are named.
const WORST: &str = "cn=Worst,cn=Limits";
/// Addresses and names that are shown.
const WORST_MAX: usize = 16;

/// What is shown below `cn=Limits`.
pub(super) fn items() -> Vec<Item> {
    let container = |name: &str, description| Item {
        name: name.to_owned(),
        class: "monitorContainer",
        description,
        measures: vec![],
    };
    let mut items = vec![container("cn=Limits", "Limits of clients, each named as its setting")];
    items.extend(Limit::ALL.map(one));
    items.push(container(WORST, "Who comes nearest to limits"));
    let addresses =
        "Addresses: connections, and seconds until their failed binds and handshakes are forgotten";
    let names = "Names whose binds fail most often: how often at most since the start, and whence last";
    let worst = |name: &str, description, texts| {
        Item::new(format!("cn={name},{WORST}"), description, Measure::Texts(texts))
    };
    items.push(worst("Addresses", addresses, worst_addresses));
    items.push(worst("Names", names, worst_names));
    items
}

/// How often it was reached since the start, and how much is used of it now, if that is a number.
fn one(limit: Limit) -> Item {
    let now: Option<fn(&Dsa, Now) -> u64> = match limit {
        Limit::Connections => Some(connections_open),
        Limit::AddressConnections => Some(|dsa, _| dsa.peers.most_connections()),
        Limit::ClientMemory => Some(|dsa, _| dsa.client_memory.bytes()),
        Limit::ActiveSearches => Some(|dsa, _| dsa.monitor.sum(|counters| &counters.searches_suspended)),
        _ => None,
    };
    let (name, description) =
        (format!("cn={},cn=Limits", limit.name()), "How often it was reached since the start");
    let mut item = Item::new(name, description, Measure::Reached(limit));
    item.measures.extend(now.map(|now| (INFO, Measure::Number(now))));
    item
}

/// Numbered, so that two lines are never the same.
fn numbered(lines: impl Iterator<Item = String>) -> Vec<String> {
    lines.enumerate().map(|(at, line)| format!("{} {line}", at + 1)).collect()
}

fn worst_addresses(dsa: &Dsa, now: Now) -> Vec<String> {
    let line = |AddressUse { address, connections, used_s: (failed_binds, handshakes) }| {
        format!("{address} connections {connections} failed-binds {failed_binds} handshakes {handshakes}")
    };
    numbered(dsa.peers.worst(WORST_MAX, now.monotonic_ns).into_iter().map(line))
}

fn worst_names(dsa: &Dsa, _: Now) -> Vec<String> {
    let whence =
        |address: Option<std::net::IpAddr>| address.map_or("this machine".to_owned(), |ip| ip.to_string());
    let worst = dsa.failed_binds.worst(WORST_MAX).into_iter();
    numbered(worst.map(|one| format!("{} from {} {:?}", one.count, whence(one.address), one.name)))
}
