//! The addresses that clients come from, and what the clients of each may take: connections, suspended searches ([`searches`]), binds that fail, and
//! handshakes of TLS.
//!
//! All counts are atomic and taken without a lock; the map of addresses is locked when a connection comes or goes. What an address has used of a
//! rate is remembered when its last connection ends: a client that makes a connection for each try has no more tries than others.

mod searches;

pub(crate) use self::searches::{Asker, SearchPermit};

use self::searches::Searches;
use crate::faults::holes;
use crate::limits::ClientLimits;
use crate::rate::{Allowed, Rate};
use crate::refusals::{Limit, Refusals};
use access::Network;
use env::net::PeerAddress;
use env::planted;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Seconds whose failed binds an address may make at once.
const FAILED_BINDS_BURST_S: u64 = 10;
/// Seconds whose handshakes an address may make at once.
const HANDSHAKES_BURST_S: u64 = 4;
/// Addresses without a connection that are remembered, at most. Those of which nothing is left to remember are looked for when
/// there are as many.
const IDLE_MAX: usize = 16_384;

/// All addresses that clients are connected from, or have used up something.
#[derive(Debug)]
pub(crate) struct Peers {
    /// Connections of one address; 0: any number.
    connections_max: AtomicU32,
    /// In a second; 0: any number.
    failed_binds: AtomicU32,
    /// In a second; 0: any number.
    handshakes: AtomicU32,
    refusals: Arc<Refusals>,
    /// Searches in progress.
    searches: Arc<Searches>,
    /// Addresses that no limit of addresses holds for. They may be thousands, so connections look at them side by side.
    trusted: RwLock<Vec<Network>>,
    addresses: Mutex<Addresses>,
}

#[derive(Debug, Default)]
struct Addresses {
    all: BTreeMap<IpAddr, Arc<Counts>>,
    /// Those without a connection.
    idle: usize,
}

/// What the clients of one address have.
#[derive(Debug, Default)]
struct Counts {
    connections: AtomicU32,
    searches: Arc<Searches>,
    failed_binds: Rate,
    handshakes: Rate,
}

impl Counts {
    /// Nanoseconds until nothing is left to remember of it.
    fn used_ns(&self, now_ns: u64) -> u64 {
        self.failed_binds.used_ns(now_ns).max(self.handshakes.used_ns(now_ns))
    }
}

/// One connection, among those of its address.
#[derive(Debug)]
pub(crate) struct Peer {
    peers: Arc<Peers>,
    client: Option<PeerAddress>,
    counts: Arc<Counts>,
    is_trusted: bool,
}

/// What the clients of an address have, for the monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AddressUse {
    pub(crate) address: IpAddr,
    pub(crate) connections: u32,
    /// Seconds until all failed binds would be allowed again, and all handshakes.
    pub(crate) used_s: (u64, u64),
}

impl Peers {
    /// Nobody is connected.
    pub(crate) fn new(limits: &ClientLimits, refusals: &Arc<Refusals>) -> Arc<Peers> {
        Arc::new(Peers {
            connections_max: AtomicU32::new(limits.address_connections_max),
            failed_binds: AtomicU32::new(limits.failed_binds_per_second),
            handshakes: AtomicU32::new(limits.handshakes_per_second),
            refusals: Arc::clone(refusals),
            searches: Arc::default(),
            trusted: RwLock::new(limits.trusted.clone()),
            addresses: Mutex::default(),
        })
    }

    /// Puts other limits in force. Rates hold for connections that are there, too; what they may not have any more they keep. Whether an address is
    /// trusted is asked when a connection comes.
    pub(crate) fn put(&self, limits: &ClientLimits) {
        self.connections_max.store(limits.address_connections_max, Ordering::Relaxed);
        self.failed_binds.store(limits.failed_binds_per_second, Ordering::Relaxed);
        self.handshakes.store(limits.handshakes_per_second, Ordering::Relaxed);
        self.trusted.write().unwrap_or_else(PoisonError::into_inner).clone_from(&limits.trusted);
    }

    /// Binds that may fail; `None`: any number.
    fn failed_binds(&self) -> Option<Allowed> {
        Allowed::new(self.failed_binds.load(Ordering::Relaxed), FAILED_BINDS_BURST_S)
    }

    /// Handshakes that may be made; `None`: any number.
    fn handshakes(&self) -> Option<Allowed> {
        Allowed::new(self.handshakes.load(Ordering::Relaxed), HANDSHAKES_BURST_S)
    }

    /// One more connection from an address; `None` if there are too many. A client without an address, or on a Unix socket, has no share
    /// with others.
    pub(crate) fn connect(self: &Arc<Self>, client: Option<PeerAddress>, now_ns: u64) -> Option<Peer> {
        let Some((address, block)) = client.and_then(|client| Some((client.ip()?, client.block()?))) else {
            return Some(Peer { peers: Arc::clone(self), client, counts: Arc::default(), is_trusted: false });
        };
        let trusted = self.trusted.read().unwrap_or_else(PoisonError::into_inner);
        let is_trusted = trusted.iter().any(|network| network.contains(address.to_canonical()));
        drop(trusted);
        // The map is locked until the connection is counted. The last one of an address may end at this moment, and may forget the
        // counts when it has looked at them.
        let mut addresses = self.lock();
        if addresses.idle >= IDLE_MAX {
            addresses.forget_idle(now_ns);
        }
        let (counts, before) = addresses.connect(block);
        // The end of a connection takes the lock, and this one ends below if there are too many.
        drop(addresses);
        let peer = Peer { peers: Arc::clone(self), client, counts, is_trusted };
        // Dropped, it is taken back.
        let connections_max = self.connections_max.load(Ordering::Relaxed);
        let has_room = is_trusted || connections_max == 0 || before < connections_max;
        if !has_room {
            self.refusals.note(Limit::AddressConnections, client);
        }
        has_room.then_some(peer)
    }

    /// The addresses that have used most of what they may: those nearest to a limit of rates, then those with most connections.
    pub(crate) fn worst(&self, number: usize, now_ns: u64) -> Vec<AddressUse> {
        let used_s = |rate: &Rate| rate.used_ns(now_ns).div_ceil(1_000_000_000);
        let of = |(address, counts): (&IpAddr, &Arc<Counts>)| AddressUse {
            address: *address,
            connections: counts.connections.load(Ordering::Relaxed),
            used_s: (used_s(&counts.failed_binds), used_s(&counts.handshakes)),
        };
        let mut all: Vec<AddressUse> = self.lock().all.iter().map(of).collect();
        all.sort_by_key(|one| std::cmp::Reverse((one.used_s, one.connections)));
        all.truncate(number);
        all
    }

    /// Most connections that one address has.
    /// All addresses are looked at, under the lock: the monitor asks once a second at most.
    pub(crate) fn most_connections(&self) -> u64 {
        let connections = |counts: &Arc<Counts>| u64::from(counts.connections.load(Ordering::Relaxed));
        self.lock().all.values().map(connections).max().unwrap_or(0)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Addresses> {
        // The map is whole after every call of a method, so a panic leaves nothing half done.
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Addresses {
    /// One more connection, and how many there were before.
    fn connect(&mut self, address: IpAddr) -> (Arc<Counts>, u32) {
        let is_known = self.all.contains_key(&address);
        let counts = Arc::clone(self.all.entry(address).or_default());
        let before = counts.connections.fetch_add(1, Ordering::Relaxed);
        self.idle -= usize::from(is_known && before == 0);
        (counts, before)
    }

    /// One connection less.
    fn disconnect(&mut self, address: IpAddr, counts: &Arc<Counts>) {
        // Counted under the lock, so that nobody joins what is about to be forgotten.
        let before = counts.connections.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "no more connections end than have begun");
        if before > 1 {
            return;
        }
        let is_own = self.all.get(&address).is_some_and(|own| Arc::ptr_eq(own, counts));
        assert!(is_own, "all connections of an address are counted in one place");
        // Without a clock: of what was ever used it is seen later whether it still is.
        match counts.used_ns(0) > 0 && !planted::is(holes::ADDRESS_FORGOTTEN) {
            true => self.idle += 1,
            false => drop(self.all.remove(&address)),
        }
    }

    /// Forgets the addresses without a connection of which there is nothing to remember; all of them, if that does not make room. Who can use as many
    /// addresses has as many rates anyway.
    #[cold]
    fn forget_idle(&mut self, now_ns: u64) {
        for forgets_all in [false, true] {
            if self.idle > IDLE_MAX / 2 {
                self.all.retain(|_, counts| {
                    let is_idle = counts.connections.load(Ordering::Relaxed) == 0;
                    !is_idle || (!forgets_all && counts.used_ns(now_ns) > 0)
                });
                let is_idle = |counts: &&Arc<Counts>| counts.connections.load(Ordering::Relaxed) == 0;
                self.idle = self.all.values().filter(is_idle).count();
            }
        }
    }
}

impl Peer {
    /// Where the client is, if it is known.
    pub(crate) fn client(&self) -> Option<PeerAddress> {
        self.client
    }

    /// One more suspended search; `None` if there are too many.
    pub(crate) fn search(&self, asker: Asker) -> Option<SearchPermit> {
        searches::begin(&self.peers.searches, &self.counts.searches, asker)
    }

    /// May another bind of its address be tried? A client without an address has a rate of its own.
    pub(crate) fn admits_bind(&self, now_ns: u64) -> bool {
        let allowed = self.peers.failed_binds().filter(|_| !self.is_trusted);
        let is_admitted = allowed.is_none_or(|allowed| self.counts.failed_binds.admits(allowed, now_ns));
        if !is_admitted {
            self.note(Limit::FailedBinds);
        }
        is_admitted
    }

    /// A bind of its address has failed.
    pub(crate) fn bind_failed(&self, now_ns: u64) {
        if let Some(allowed) = self.peers.failed_binds() {
            self.counts.failed_binds.spend(allowed, now_ns);
        }
    }

    /// It is about to make a handshake of TLS: nanoseconds until it may, or `None` if that is more than `wait_max_ns`.
    pub(crate) fn reserve_handshake(&self, wait_max_ns: u64, now_ns: u64) -> Option<u64> {
        let Some(allowed) = self.peers.handshakes().filter(|_| !self.is_trusted) else { return Some(0) };
        let wait_ns = self.counts.handshakes.reserve(allowed, wait_max_ns, now_ns);
        if wait_ns != Some(0) {
            self.note(Limit::Handshakes);
        }
        wait_ns
    }

    /// Its handshake resumed an earlier session, which costs a quarter.
    pub(crate) fn has_resumed(&self) {
        if let Some(allowed) = self.peers.handshakes().filter(|_| !self.is_trusted) {
            self.counts.handshakes.give_back_three_quarters(allowed);
        }
    }

    /// It has reached a limit.
    pub(crate) fn note(&self, limit: Limit) {
        self.peers.refusals.note(limit, self.client);
    }

    /// A number that the clients of its address have in common.
    pub(crate) fn number(&self) -> u64 {
        Arc::as_ptr(&self.counts).addr() as u64
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if let Some(block) = self.client.and_then(PeerAddress::block) {
            self.peers.lock().disconnect(block, &self.counts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    const SECOND: u64 = 1_000_000_000;

    fn address(last: u8) -> Option<PeerAddress> {
        Some(SocketAddr::from(([10, 0, 0, last], 50_000)).into())
    }

    fn peers(address_connections_max: u32) -> Arc<Peers> {
        let network = Network { address: "10.0.0.9".parse().unwrap(), prefix: 32 };
        let limits =
            ClientLimits { address_connections_max, trusted: vec![network], ..ClientLimits::default() };
        Peers::new(&limits, &Arc::default())
    }

    #[test]
    fn connections_that_come_while_the_last_one_goes_are_counted_with_it() {
        let peers = peers(0);
        // The end of a connection asserts that its address is counted in one place.
        let connect = || {
            for number in 0..20_000 {
                let peer = peers.connect(address(1), 0).unwrap();
                if number % 16 == 0 {
                    peer.bind_failed(0);
                }
            }
        };
        env::task::run_beside(connect, connect);
        let mut addresses = peers.lock();
        assert_eq!((addresses.all.len(), addresses.idle), (1, 1));
        addresses.forget_idle(0);
        assert_eq!((addresses.all.len(), addresses.idle), (1, 1), "there are not too many");
    }

    #[test]
    fn connections_of_an_address_have_a_bound() {
        let peers = peers(2);
        let two = [peers.connect(address(1), 0).unwrap(), peers.connect(address(1), 0).unwrap()];
        assert!(peers.connect(address(1), 0).is_none());
        assert_eq!((peers.refusals.count(Limit::AddressConnections), peers.most_connections()), (1, 2));
        assert!(peers.connect(address(2), 0).is_some() && peers.connect(None, 0).is_some());
        let trusted: Vec<Peer> = (0..3).filter_map(|_| peers.connect(address(9), 0)).collect();
        assert_eq!(trusted.len(), 3, "its address is trusted");
        drop((two, trusted));
        assert!(peers.lock().all.is_empty());
        let net = |last: u16| Some(SocketAddr::from(([0x2001, 0xdb8, 0, 7, 0, 0, 0, last], 50_000)).into());
        let _two = [peers.connect(net(1), 0).unwrap(), peers.connect(net(2), 0).unwrap()];
        assert!(peers.connect(net(3), 0).is_none(), "a network of 64 bits is one address");
        let mapped: SocketAddr = "[::ffff:10.0.0.1]:50000".parse().unwrap();
        assert!(peers.connect(Some(mapped.into()), 0).is_some());
    }

    #[test]
    fn a_connection_for_each_bind_gives_no_more_of_them() {
        let peers = peers(0);
        let tries = (0..300).filter(|_| {
            let peer = peers.connect(address(1), SECOND).unwrap();
            let is_admitted = peer.admits_bind(SECOND);
            if is_admitted {
                peer.bind_failed(SECOND);
            }
            is_admitted
        });
        assert_eq!(tries.count(), 101);
        assert_eq!(peers.refusals.count(Limit::FailedBinds), 199);
        let worst = peers.worst(16, SECOND);
        assert_eq!((worst.len(), worst[0].connections, worst[0].used_s), (1, 0, (11, 0)));
        let trusted = peers.connect(address(9), SECOND).unwrap();
        (0..300).for_each(|_| trusted.bind_failed(SECOND));
        assert!(trusted.admits_bind(SECOND));
    }

    #[test]
    fn other_limits_hold_for_connections_that_are_there_but_for_trust() {
        let peers = peers(2);
        let (known, trusted) =
            (peers.connect(address(1), SECOND).unwrap(), peers.connect(address(9), SECOND).unwrap());
        let network = Network { address: "10.0.0.1".parse().unwrap(), prefix: 32 };
        peers.put(&ClientLimits {
            address_connections_max: 1,
            failed_binds_per_second: 1,
            handshakes_per_second: 1,
            trusted: vec![network],
            ..ClientLimits::default()
        });
        let tries = |peer: &Peer| {
            let tries = (0..50).take_while(|_| peer.admits_bind(SECOND));
            tries.map(|_| peer.bind_failed(SECOND)).count()
        };
        assert_eq!((tries(&known), tries(&trusted)), (11, 50), "who was trusted when it came still is");
        assert_eq!((0..50).filter(|_| known.reserve_handshake(0, SECOND).is_some()).count(), 4);
        let second = peers.connect(address(1), SECOND).unwrap();
        assert_eq!(tries(&second), 50, "its address is trusted now");
        assert!(peers.connect(address(9), SECOND).is_none(), "and this one is not any more");
    }

    #[test]
    fn addresses_that_have_used_nothing_are_forgotten_first() {
        let peers = peers(0);
        let try_from = |number: u32, now_ns| {
            let address = SocketAddr::from((number.to_be_bytes(), 50_000));
            peers.connect(Some(address.into()), now_ns).unwrap().bind_failed(now_ns);
        };
        (0..IDLE_MAX as u32 - 1).for_each(|number| try_from(number, SECOND));
        try_from(1 << 24, 60 * SECOND);
        let sizes = || {
            let addresses = peers.lock();
            (addresses.idle, addresses.all.len())
        };
        assert_eq!(sizes().0, IDLE_MAX);
        try_from(2 << 24, 60 * SECOND);
        assert_eq!(sizes(), (2, 2));
        (0..IDLE_MAX as u32).for_each(|number| try_from(number, 60 * SECOND));
        assert!(sizes().0 <= IDLE_MAX);
    }

    #[test]
    fn handshakes_beyond_the_burst_wait() {
        let peers = peers(0);
        let peer = peers.connect(address(1), SECOND).unwrap();
        let handshakes: Vec<Option<u64>> = (0..251).map(|_| peer.reserve_handshake(SECOND, SECOND)).collect();
        assert_eq!(handshakes.iter().filter(|wait| **wait == Some(0)).count(), 200);
        assert_eq!((handshakes[249], handshakes[250]), (Some(SECOND), None));
        peer.has_resumed();
        assert!(peer.reserve_handshake(SECOND, SECOND).is_none());
        peer.has_resumed();
        assert!(peer.reserve_handshake(SECOND, SECOND).is_some());
        let other = peers.connect(address(2), SECOND).unwrap();
        assert_eq!(other.reserve_handshake(0, SECOND), Some(0));
    }
}
