//! One event: what has happened, to whom, and what came of it. It has no value of an entry, and nothing that proves a name.

use env::net::PeerAddress;
use model::ResultCode;
use std::net::IpAddr;

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// A bind proved nothing.
    BindFailed,
    /// A bind was not looked at, for too many from this address had failed.
    BindRefused,
    /// The root DN has bound.
    RootBind,
    /// A password came on a connection that anybody can read.
    Cleartext,
    /// An account was locked.
    Locked,
    /// The configuration was changed, or somebody tried.
    Configuration,
    /// Somebody acts as another one.
    Proxy,
    /// Somebody has used the right to manage what others may not.
    Manage,
    /// Files that the server had read before were read anew, or could not be.
    Reload,
    /// Clients have reached a limit.
    Limit,
}

impl EventKind {
    /// Its name in the log.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::BindFailed => "bind-failed",
            EventKind::BindRefused => "bind-refused",
            EventKind::RootBind => "root-bind",
            EventKind::Cleartext => "cleartext",
            EventKind::Locked => "locked",
            EventKind::Configuration => "configuration",
            EventKind::Proxy => "proxy",
            EventKind::Manage => "manage",
            EventKind::Reload => "reload",
            EventKind::Limit => "limit",
        }
    }
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What has happened.
    pub kind: EventKind,
    /// Where the client is.
    pub peer: Option<PeerAddress>,
    /// The load balancer that it came by, if one said where the client is.
    pub via: Option<PeerAddress>,
    /// Who it was by then; empty for anonymous.
    pub who: Vec<u8>,
    /// The name that it is about, as it was sent. It may be no DN.
    pub name: Vec<u8>,
    /// What was answered; `None` of what is no answer.
    pub code: Option<ResultCode>,
    /// Which settings were changed, which limit was reached, what was managed or read anew.
    pub detail: String,
    /// The addresses that it is about, if it is about many clients.
    pub address: Option<IpAddr>,
    /// How often it happened: one line stands for all of them.
    pub count: u64,
}

impl Event {
    /// Something that happened once, and not to a client.
    pub fn of(kind: EventKind, detail: String) -> Event {
        Event {
            kind,
            peer: None,
            via: None,
            who: Vec::new(),
            name: Vec::new(),
            code: None,
            detail,
            address: None,
            count: 1,
        }
    }
}
