//! The addresses that clients come from, and what the clients of each may take: connections, and suspended searches, each
//! of which takes a reader's slot of the store. Clients that have not bound share a part, and some of it is kept for the
//! root DN; the slots beyond are for threads, snapshots and index builds.
//!
//! All counts are atomic and taken without a lock; the map of addresses is locked when a connection comes or goes. A permit gives its
//! place back when it is dropped, so no way out of a search can forget to.

use crate::password::FailureRate;
use env::net::PeerAddress;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use store::READERS_MAX;

/// Searches in progress of all clients but the root DN.
const SEARCHES_MAX: u32 = 2048;
/// With those of the root DN.
const ROOT_SEARCHES_MAX: u32 = SEARCHES_MAX + 512;
/// Of the clients of one address.
const ADDRESS_SEARCHES_MAX: u32 = SEARCHES_MAX / 2;
/// Of all clients that have not bound.
const UNBOUND_SEARCHES_MAX: u32 = SEARCHES_MAX / 2;
/// Of the clients of one address that have not bound.
const UNBOUND_ADDRESS_SEARCHES_MAX: u32 = SEARCHES_MAX / 4;

/// IO threads, each of which has a slot.
const THREADS_MAX: u32 = 1024;

const _: () = assert!(ROOT_SEARCHES_MAX + THREADS_MAX + 256 <= READERS_MAX as u32);

/// All addresses that clients are connected from.
#[derive(Debug)]
pub(crate) struct Peers {
    /// Connections of one address; 0: any number.
    connections_max: u32,
    /// Searches in progress.
    searches: Searches,
    addresses: Mutex<BTreeMap<IpAddr, Arc<Counts>>>,
}

/// What the clients of one address have.
#[derive(Debug, Default)]
struct Counts {
    connections: AtomicU32,
    searches: Searches,
    failed_binds: FailureRate,
}

/// Searches in progress.
#[derive(Debug, Default)]
struct Searches {
    all: AtomicU32,
    unbound: AtomicU32,
}

impl Searches {
    /// Counts one more, if there are fewer than the bounds.
    fn add(&self, all_max: u32, unbound_max: Option<u32>) -> bool {
        if !add_below(&self.all, all_max) {
            return false;
        }
        let is_added = unbound_max.is_none_or(|max| add_below(&self.unbound, max));
        if !is_added {
            self.all.fetch_sub(1, Ordering::Relaxed);
        }
        is_added
    }

    fn remove(&self, is_unbound: bool) {
        let all = self.all.fetch_sub(1, Ordering::Relaxed);
        let unbound = self.unbound.fetch_sub(u32::from(is_unbound), Ordering::Relaxed);
        assert!(all > 0 && unbound >= u32::from(is_unbound), "no more searches end than have begun");
    }
}

fn add_below(count: &AtomicU32, max: u32) -> bool {
    let more = |count: u32| (count < max).then_some(count + 1);
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
}

/// Whose search it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// Has not bound.
    Unbound,
    User,
    Root,
}

/// One connection, among those of its address.
#[derive(Debug)]
pub(crate) struct Peer {
    peers: Arc<Peers>,
    client: Option<PeerAddress>,
    counts: Arc<Counts>,
}

/// A suspended search. Another may take its place when this is dropped.
#[derive(Debug)]
pub(crate) struct SearchPermit {
    peers: Arc<Peers>,
    counts: Arc<Counts>,
    asker: Asker,
}

impl Peers {
    /// Nobody is connected.
    pub(crate) fn new(connections_max: u32) -> Arc<Peers> {
        Arc::new(Peers { connections_max, searches: Searches::default(), addresses: Mutex::default() })
    }

    /// One more connection from an address; `None` if there are too many. A client without an address, or on a Unix socket, has no share
    /// with others.
    pub(crate) fn connect(self: &Arc<Self>, client: Option<PeerAddress>) -> Option<Peer> {
        // The map is locked until the connection is counted. The last one of an address may end at this moment, and forgets the
        // counts when it has looked at them.
        let mut addresses = self.lock();
        let address = client.and_then(PeerAddress::ip).map(block);
        let counts = match address {
            None => Arc::default(),
            Some(address) => Arc::clone(addresses.entry(address).or_default()),
        };
        let before = counts.connections.fetch_add(1, Ordering::Relaxed);
        // The end of a connection takes the lock, and this one ends below if there are too many.
        drop(addresses);
        let peer = Peer { peers: Arc::clone(self), client, counts };
        // Dropped, it is taken back.
        (self.connections_max == 0 || address.is_none() || before < self.connections_max).then_some(peer)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<IpAddr, Arc<Counts>>> {
        // The map is whole after every statement, so a panic leaves nothing half done.
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The address that counts: a network of IPv6 usually is one client's.
fn block(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from(u128::from(address) >> 64 << 64)),
        address => address,
    }
}

impl Peer {
    /// Where the client is, if it is known.
    pub(crate) fn client(&self) -> Option<PeerAddress> {
        self.client
    }

    /// Binds of its address that failed. A client without an address has a rate of its own.
    pub(crate) fn failed_binds(&self) -> &FailureRate {
        &self.counts.failed_binds
    }

    /// A number that the clients of its address have in common.
    pub(crate) fn number(&self) -> u64 {
        Arc::as_ptr(&self.counts).addr() as u64
    }

    /// One more suspended search; `None` if there are too many.
    /// The address first, then all: an address with too many of its own takes no place of the others.
    pub(crate) fn search(&self, asker: Asker) -> Option<SearchPermit> {
        let is_unbound = asker == Asker::Unbound;
        let unbound = |max: u32| is_unbound.then_some(max);
        let (all, of_address) = match asker {
            Asker::Root => (ROOT_SEARCHES_MAX, ROOT_SEARCHES_MAX),
            _ => (SEARCHES_MAX, ADDRESS_SEARCHES_MAX),
        };
        if !self.counts.searches.add(of_address, unbound(UNBOUND_ADDRESS_SEARCHES_MAX)) {
            return None;
        }
        if !self.peers.searches.add(all, unbound(UNBOUND_SEARCHES_MAX)) {
            self.counts.searches.remove(is_unbound);
            return None;
        }
        Some(SearchPermit { peers: Arc::clone(&self.peers), counts: Arc::clone(&self.counts), asker })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let Some(address) = self.client.and_then(PeerAddress::ip).map(block) else { return };
        let mut addresses = self.peers.lock();
        // Counted under the lock, so that nobody joins what is about to be forgotten.
        let before = self.counts.connections.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "no more connections end than have begun");
        if before == 1 {
            let forgotten = addresses.remove(&address);
            let is_own = forgotten.is_some_and(|counts| Arc::ptr_eq(&counts, &self.counts));
            assert!(is_own, "all connections of an address are counted in one place");
        }
    }
}

impl Drop for SearchPermit {
    fn drop(&mut self) {
        let is_unbound = self.asker == Asker::Unbound;
        self.counts.searches.remove(is_unbound);
        self.peers.searches.remove(is_unbound);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    fn address(last: u8) -> Option<PeerAddress> {
        Some(SocketAddr::from(([10, 0, 0, last], 50_000)).into())
    }

    fn searches(peer: &Peer, asker: Asker) -> Vec<SearchPermit> {
        std::iter::from_fn(|| peer.search(asker)).collect()
    }

    #[test]
    fn nobody_takes_all_searches() {
        let peers = Peers::new(0);
        let connect = |last| peers.connect(address(last)).unwrap();
        let (one, two, three) = (connect(1), connect(2), connect(3));
        let unbound = [searches(&one, Asker::Unbound), searches(&two, Asker::Unbound)];
        assert_eq!([unbound[0].len(), unbound[1].len()], [512, 512]);
        assert!(three.search(Asker::Unbound).is_none());
        // Users of the same address go on, and so do those of others.
        let users = [searches(&one, Asker::User), searches(&three, Asker::User)];
        assert_eq!([users[0].len(), users[1].len()], [512, 512]);
        assert!(two.search(Asker::User).is_none());
        assert_eq!(searches(&two, Asker::Root).len(), 512);
        drop((unbound, users));
        assert!(three.search(Asker::Unbound).is_some());
        assert_eq!(peers.searches.all.load(Ordering::Relaxed), 0);
        assert_eq!(peers.searches.unbound.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn connections_that_come_while_the_last_one_goes_are_counted_with_it() {
        let peers = Peers::new(0);
        // The end of a connection asserts that its address is counted in one place.
        let connect = || (0..20_000).for_each(|_| drop(peers.connect(address(1))));
        env::task::run_beside(connect, connect);
        assert!(peers.lock().is_empty());
    }

    #[test]
    fn connections_of_an_address_have_a_bound() {
        let peers = Peers::new(2);
        let two = [peers.connect(address(1)).unwrap(), peers.connect(address(1)).unwrap()];
        assert!(peers.connect(address(1)).is_none());
        assert!(peers.connect(address(2)).is_some() && peers.connect(None).is_some());
        drop(two);
        assert!(peers.lock().is_empty());
        let net = |last: u16| Some(SocketAddr::from(([0x2001, 0xdb8, 0, 7, 0, 0, 0, last], 50_000)).into());
        let _two = [peers.connect(net(1)).unwrap(), peers.connect(net(2)).unwrap()];
        assert!(peers.connect(net(3)).is_none(), "a network of 64 bits is one address");
        let mapped: SocketAddr = "[::ffff:10.0.0.1]:50000".parse().unwrap();
        assert!(peers.connect(Some(mapped.into())).is_some());
    }
}
