//! What the agent is given when it is made.

pub use crate::identities::{CertificateMapping, FoundBy, UserMapping};
pub use crate::password::Scheme;
use crate::settings::Start;
pub use crate::standing::Anonymous;
pub use crate::strengths::{LDAPI_STRENGTH, Security};
use env::net::PeerAddress;
use std::fmt;
use std::sync::Arc;
use store::Settings;

/// What a session must know of the listener that its client came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// May connections be secured by StartTLS, if the server can?
    pub offers_tls: bool,
    /// See [`Security::any_strength`]; the higher one counts.
    pub any_strength: u16,
    /// What access rules call it.
    pub name: Option<&'static str>,
    /// Bits that protect the connection before anything is known of it: on the way to a load balancer that says so.
    pub strength: u16,
    /// The load balancer that the connection came by, if one said where the client is.
    pub via: Option<PeerAddress>,
}

impl Default for Listener {
    fn default() -> Listener {
        Listener { offers_tls: true, any_strength: 0, name: None, strength: 0, via: None }
    }
}

/// Who the processes are that connect by Unix sockets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peers {
    /// Users and groups that are known. The first that leads to an entry counts.
    pub mappings: Vec<PeerMapping>,
    /// The user that the server runs as.
    pub own_uid: Option<u32>,
}

/// An entry for a user of the machine, for those of a group, or for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerMapping {
    /// Of this user.
    pub uid: Option<u32>,
    /// Of this group.
    pub gid: Option<u32>,
    /// Who that is.
    pub to: MappedTo,
}

/// How an entry is found for somebody who is known otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MappedTo {
    /// By its name.
    Dn(String),
    /// By a filter that is true of it alone, in which `{uid}` and `{gid}` stand for numbers.
    Filter {
        /// Where it lies, if not anywhere.
        base: Option<String>,
        /// Its text.
        filter: String,
    },
}

/// What a proof can be bound to of the TLS channel below a session (RFC 5056): only who is at its other end knows it.
#[derive(Clone, Default)]
pub struct ChannelBindings {
    /// `tls-server-end-point` (RFC 5929): hash of the certificate that the client was shown.
    pub end_point: Option<Vec<u8>>,
    /// `tls-exporter` (RFC 9266), worked out for a client that asks for it.
    pub exporter: Option<Arc<dyn Exporter>>,
}

/// What works out `tls-exporter` of a channel.
pub trait Exporter: Send + Sync {
    /// The bindings, if there are some: TLS 1.2 has one with an empty context and one without a context, and clients of both kinds.
    fn bindings(&self) -> Vec<Vec<u8>>;
}

impl ChannelBindings {
    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.end_point.is_none() && self.exporter.is_none()
    }
}

/// What leads to keys stays out of logs.
impl fmt::Debug for ChannelBindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelBindings").field("end_point", &self.end_point).finish_non_exhaustive()
    }
}

/// What is known of a client by its certificate, which was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// SHA-256 of it, in small hexadecimal digits.
    pub fingerprint: String,
    /// Its subject as a DN (RFC 4514), if all of it is text.
    pub subject: Option<String>,
    /// Seconds since 1970 from and to which it is valid.
    pub valid_s: (i64, i64),
    /// What it says of its owner: `subject.CN` and its like, `san.email`, `san.dns`, `san.uri`, `san.upn`, and the value of each.
    pub values: Vec<(String, String)>,
}

/// What access tokens must say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRules {
    /// Who has issued them.
    pub issuer: String,
    /// For whom they must have been made.
    pub audience: String,
}

pub use crate::contexts::Principals;

/// The agent's configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// What the shard is made with.
    pub store: Settings,
    /// DN of the administrator, who may do everything; need not be an entry.
    pub root_dn: Option<String>,
    /// Password of the administrator, as a userPassword value: in clear or with a scheme.
    pub root_password: Option<Vec<u8>>,
    /// Can connections be secured by StartTLS?
    /// As long as the process: a listener without keys cannot get some.
    pub offers_tls: bool,
    /// Who the clients of Unix sockets are.
    pub peers: Peers,
    /// What access tokens must say, if clients may bind with some.
    pub tokens: Option<TokenRules>,
    /// Who the principals of Kerberos are, if clients may bind with tickets.
    pub principals: Option<Principals>,
    /// A further OID under which the queue length control is known, uncritical.
    pub queue_length_oid: Option<Vec<u8>>,
    /// The settings that can be changed while the server runs.
    pub settings: Start,
    /// vendorVersion of the root DSE.
    pub version: String,
    /// Unix time in milliseconds at which the server started.
    pub started_ms: u64,
    /// Unix time in milliseconds since which the schema is what it is.
    pub schema_since_ms: u64,
}
