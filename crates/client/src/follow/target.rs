//! A server that is asked for clients.

use crate::kept::{KeptLinks, LinkCounts};
use crate::server::Server;
use proto::control::Control;
use proto::control::chaining_behavior::{self, Behavior};
use proto::control::proxied_authorization;
use std::sync::atomic::{AtomicU64, Ordering};

/// A server that may be asked, and how; with its connections.
#[derive(Debug)]
pub struct Target {
    pub(super) server: Server,
    /// Is it asked in the name of the client (RFC 4370)?
    pub(super) is_proxied: bool,
    pub(super) links: KeptLinks,
    pub(super) asked: AtomicU64,
    failed: AtomicU64,
}

/// Numbers of a server, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TargetCounts {
    /// Requests that it was to be asked.
    pub asked: u64,
    /// Those of which it gave no result, or an unclear one.
    pub failed: u64,
    /// Its connections.
    pub links: LinkCounts,
}

impl Target {
    /// A server without connections.
    pub fn new(server: Server, is_proxied: bool) -> Target {
        Target { server, is_proxied, links: KeptLinks::default(), asked: 0.into(), failed: 0.into() }
    }

    /// Its numbers.
    pub fn counts(&self) -> TargetCounts {
        TargetCounts {
            asked: self.asked.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            links: self.links.counts(),
        }
    }

    /// Ends connections that nobody has used for a while.
    pub fn end_old(&self) {
        self.links.end_old();
    }

    pub(super) fn fails(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// With the controls of a request in the name of `who`.
    pub(super) fn with_controls<T>(&self, who: &[u8], push: impl FnOnce(&[Control<'_>]) -> T) -> T {
        let behavior = chaining_behavior::encode([Behavior::ReferralsRequired; 2]);
        let authorization_id = [b"dn:", who].concat();
        let mut controls = vec![chaining_behavior::control(&behavior, false)];
        controls.extend(self.is_proxied.then(|| proxied_authorization::control(&authorization_id)));
        push(&controls)
    }
}

/// The servers that may be asked, by URL.
pub(super) type Targets<'t> = dyn Fn(&[u8]) -> Option<&'t Target> + 't;

/// What the server is called in texts.
pub(super) fn named(server: &Server, why: impl std::fmt::Display) -> String {
    format!("{}, port {}: {why}", server.host, server.port)
}
