//! What the agent is given when it is made.

pub use crate::password::Scheme;
use crate::settings::Start;
use env::net::PeerAddress;
use std::fmt;
use std::sync::Arc;
use store::Settings;

/// What protects connections, and what they need for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Security {
    /// Can connections be secured by StartTLS?
    pub offers_tls: bool,
    /// Bits of the key that must protect a connection on which a password comes; `None`: any, on connections from other machines.
    pub password_strength: Option<u16>,
    /// What a Unix socket counts for among bits of keys.
    pub ldapi_strength: u16,
    /// Bits that must protect a connection on which searches and compares come.
    pub read_strength: u16,
    /// Of updates.
    pub write_strength: u16,
    /// Of every request but bind, unbind, abandon, StartTLS and a base search of the root DSE.
    pub any_strength: u16,
}

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

/// What a Unix socket counts for by default. It is the value of OpenLDAP, below that of any cipher.
pub const LDAPI_STRENGTH: u16 = 71;

impl Default for Security {
    fn default() -> Security {
        Security {
            offers_tls: false,
            password_strength: None,
            ldapi_strength: LDAPI_STRENGTH,
            read_strength: 0,
            write_strength: 0,
            any_strength: 0,
        }
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

/// How the entry of somebody is found who has a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateMapping {
    /// By what of it.
    pub by: FoundBy,
    /// Where the entry lies, if not anywhere.
    pub base: Option<String>,
}

/// What of a certificate leads to an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// Its fingerprint, which is a value of this attribute.
    Fingerprint(String),
    /// Its subject, which is the DN of the entry.
    SubjectDn,
    /// What it says of its owner, in a filter where names of it stand in braces.
    Filter(String),
}

/// How the entry of somebody is found by what people call him.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserMapping {
    /// Where the entry lies, if not anywhere.
    pub base: Option<String>,
    /// Directly below the base, and no deeper?
    pub is_one_level: bool,
    /// A filter that is true of it alone, in which `{}` stands for the name; without one it is the value of `uid`.
    pub filter: Option<String>,
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

/// Whether a text is a filter.
///
/// # Errors
/// What is wrong with it.
pub fn check_filter(text: &str) -> Result<(), String> {
    proto::filter_string::parse(text.as_bytes()).map(drop).map_err(|error| error.to_string())
}

/// What anonymous clients may do where no rule says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Anonymous {
    /// Read the root DSE and the subschema.
    #[default]
    None,
    /// Read what users read.
    Read,
}

/// The agent's configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// What the shard is made with.
    pub store: Settings,
    /// DN of the administrator, who may do everything; need not be an entry.
    pub root_dn: Option<String>,
    /// Password of the administrator, as a userPassword value: in clear or with a scheme.
    pub root_password: Option<Vec<u8>>,
    /// DNs that may act as others (RFC 4370), besides the administrator's.
    pub proxies: Vec<String>,
    /// Names that may change every entry, besides the root DN.
    pub writers: Vec<String>,
    /// How passwords are stored that clients give the server to store: a value of each scheme.
    pub password_schemes: Vec<Scheme>,
    /// What those may do who did not bind.
    pub anonymous: Anonymous,
    /// What protects connections.
    pub security: Security,
    /// Who the clients of Unix sockets are.
    pub peers: Peers,
    /// Who the owners of certificates are. The first that leads to one entry counts.
    pub certificates: Vec<CertificateMapping>,
    /// Who is called by a name.
    pub user: UserMapping,
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
