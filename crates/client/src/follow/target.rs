//! A server that is asked for clients.

use super::url;
use crate::kept::{KeptLinks, LinkCounts};
use crate::server::Server;
use model::dn::{self, Rdn};
use proto::control::Control;
use proto::control::chaining_behavior::{self, Behavior};
use proto::control::proxied_authorization;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A server that may be asked, and how; with its connections.
#[derive(Debug)]
pub struct Target {
    pub(super) server: Server,
    /// Is it asked in the name of the client (RFC 4370)?
    pub(super) is_proxied: bool,
    /// It is asked about names at or below this one; of any without.
    base: Option<String>,
    pub(super) links: KeptLinks,
    pub(super) asked: AtomicU64,
    failed: AtomicU64,
    /// Has it failed since it last answered?
    is_failing: AtomicBool,
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
    /// A server without connections, which is asked about all names.
    pub fn new(server: Server, is_proxied: bool) -> Target {
        Target {
            server,
            is_proxied,
            base: None,
            links: KeptLinks::default(),
            asked: 0.into(),
            failed: 0.into(),
            is_failing: false.into(),
        }
    }

    /// The server, which is asked about names at or below `base` alone.
    pub fn below(self, base: &str) -> Target {
        Target { base: Some(base.to_owned()), ..self }
    }

    /// May it be asked about this name? A client that may write the URL of a referral object chooses the name, and another server may choose it by a referral.
    /// Names are compared as they are written, but for case and escapes: one that is spelled otherwise is not asked about.
    pub fn covers(&self, name: &[u8]) -> bool {
        let Some(base) = &self.base else { return true };
        let (Ok(base), Ok(name)) = (dn::parse(base.as_bytes()), dn::parse(name)) else { return false };
        name.len() >= base.len() && base.iter().rev().zip(name.iter().rev()).all(|(of, rdn)| is_same(of, rdn))
    }

    /// May it be asked about the name that a URL has? One without a name is about the name of the request.
    pub fn is_for(&self, url: &[u8]) -> bool {
        url::place(url).is_none_or(|(name, _)| name.is_none_or(|name| self.covers(&name)))
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

    /// It has failed. Why is noted if it has answered since it last failed: each request would say the same.
    pub(super) fn fails(&self, why: String, failures: &mut Vec<String>) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        if !self.is_failing.swap(true, Ordering::Relaxed) {
            failures.push(why);
        }
    }

    pub(super) fn has_answered(&self) {
        self.is_failing.store(false, Ordering::Relaxed);
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

fn is_same(one: &Rdn<'_>, other: &Rdn<'_>) -> bool {
    let is_in = |ava: &dn::Ava<'_>, rdn: &Rdn<'_>| {
        rdn.iter().any(|of| {
            of.attribute_type.eq_ignore_ascii_case(ava.attribute_type)
                && of.value.eq_ignore_ascii_case(&ava.value)
        })
    };
    one.len() == other.len()
        && one.iter().all(|ava| is_in(ava, other))
        && other.iter().all(|ava| is_in(ava, one))
}

/// What the server is called in texts for its operator.
pub(super) fn named(server: &Server, why: impl std::fmt::Display) -> String {
    format!("{}, port {}: {why}", server.host, server.port)
}
