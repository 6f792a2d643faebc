//! Connections to a server that is asked again and again: bound, and kept for the next question.
//!
//! A server may end a connection that nobody uses, at any time. So one that was kept is looked at before it is used, and what is asked by it is
//! asked again by a new one if it fails. An update must not be sent twice: before one the server is asked something that changes nothing.

use crate::error::ClientError;
use crate::link::Link;
use crate::server::Server;
use env::clock::{Clock, SystemClock};
use model::limits::{CHAIN_BYTES_MAX, CHAIN_IDLE_SECONDS, CHAIN_PROBE_SECONDS, CHAINS_OF_SERVER};
use model::{Filter, Scope};
use proto::list::{Octets, octet_list};
use proto::message::Request;
use proto::op::Search;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A connection that has waited for less is as good as one that is in use.
const FRESH_NS: u64 = 1_000_000_000;

/// A connection that was kept, and since when.
type Idle = (Link, u64);

/// What was done with the connections of a server, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Connections that were opened, bound too.
    pub opened: u64,
    /// Questions that were sent by a connection that was kept.
    pub reused: u64,
    /// Connections that wait for a question now.
    pub idle: u64,
}

/// The connections of one server, four at most ([`CHAINS_OF_SERVER`]), each for a minute without a question at most ([`CHAIN_IDLE_SECONDS`]).
#[derive(Default)]
pub(crate) struct KeptLinks {
    idle: Mutex<Vec<Idle>>,
    opened: AtomicU64,
    reused: AtomicU64,
}

impl std::fmt::Debug for KeptLinks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeptLinks({:?})", self.counts())
    }
}

fn now_ns() -> u64 {
    SystemClock::start().monotonic_ns()
}

impl KeptLinks {
    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        // The list is whole after every statement.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection that was kept and has not ended. One that has waited for a moment is asked whether it still leads to the server, for what lies between
    /// may have forgotten it; for a request that cannot be repeated, always.
    pub(crate) fn take(&self, seconds: u64, is_repeatable: bool) -> Option<Link> {
        self.end_old();
        loop {
            let (mut link, since_ns) = self.idle().pop()?;
            if !link.is_quiet() {
                continue;
            }
            if !is_repeatable || now_ns().saturating_sub(since_ns) > FRESH_NS {
                link.give(seconds.min(CHAIN_PROBE_SECONDS));
                if probe(&mut link).is_err() {
                    // The others have waited longer.
                    self.idle().clear();
                    return None;
                }
            }
            link.give(seconds);
            self.reused.fetch_add(1, Ordering::Relaxed);
            return Some(link);
        }
    }

    /// A new connection, which has so many seconds.
    ///
    /// # Errors
    /// As [`Link::open_within`].
    pub(crate) fn open(&self, server: &Server, seconds: u64) -> Result<Link, ClientError> {
        let link = Link::open_within(server, seconds, CHAIN_BYTES_MAX)?;
        self.opened.fetch_add(1, Ordering::Relaxed);
        Ok(link)
    }

    /// Keeps a connection on which nothing is in progress. The oldest goes if there are too many.
    pub(crate) fn keep(&self, mut link: Link) {
        link.shrink();
        let mut idle = self.idle();
        if idle.len() as u64 >= CHAINS_OF_SERVER {
            idle.remove(0);
        }
        idle.push((link, now_ns()));
    }

    /// Ends those that have waited too long.
    pub(crate) fn end_old(&self) {
        let now_ns = now_ns();
        self.idle().retain(|(_, since_ns)| {
            now_ns.saturating_sub(*since_ns) < CHAIN_IDLE_SECONDS.saturating_mul(1_000_000_000)
        });
    }

    pub(crate) fn counts(&self) -> LinkCounts {
        LinkCounts {
            opened: self.opened.load(Ordering::Relaxed),
            reused: self.reused.load(Ordering::Relaxed),
            idle: self.idle().len() as u64,
        }
    }
}

/// Does the server answer by this connection? It is asked for its root DSE without attributes; whatever it says to that will do.
///
/// # Errors
/// When the connection fails.
pub(crate) fn probe(link: &mut Link) -> Result<(), ClientError> {
    let selection = octet_list([&b"1.1"[..]]);
    let selection = Octets::parse(&selection).unwrap_or(Octets::EMPTY);
    let search = Search::unlimited(b"", Scope::Base, Filter::Present(b"objectClass"), selection);
    link.push(|out, id| Request::Search(search).encode(out, id, &[]));
    while !link.receive(|reply| reply.result().is_some())? {}
    Ok(())
}
