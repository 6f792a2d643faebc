//! What servers of a cluster are to each other on the wire: the CA of the cluster and the certificates of its nodes ([`Authority`],
//! [`Identity`]), tokens with which others join ([`Token`]), frames, and links over TLS 1.3 ([`Peers`]). No LDAP and no log: what a message,
//! a command or the body of a join means is for others to say.
//!
//! A node sends over the connections that it opened, and receives over those that it accepted. Formats: `docs/formats/peers.md`.

pub mod acknowledged;
mod address;
mod authority;
mod certificate;
pub mod client;
mod codec;
pub mod faults;
mod files;
pub mod frame;
pub mod hello;
mod id;
mod identity;
mod incoming;
mod join;
mod links;
mod member;
mod outgoing;
mod refusals;
mod runs;
mod secure;
mod seen;
mod service;
mod shared;
mod socket;
pub mod successor;
mod table;
mod token;
mod wire;

pub use address::{ADDRESSES_MAX, Address};
pub use authority::{Authority, AuthorityError};
pub use certificate::{Fingerprint, Holder, VALID_S as CERTIFICATE_VALID_S};
pub use codec::Malformed;
pub use files::{FileError, folder};
pub use id::{ClusterId, RunId};
pub use identity::{Boot, Identity, Listens, NodeKey};
pub use join::{JoinAnswer, JoinRequest, VERSION_BYTES_MAX};
pub use links::{Options, Peers};
pub use member::{CERTIFICATES_MAX, MEMBERS_MAX, Member};
pub use runs::{RUNS_MAX, Runs};
pub use seen::{NotAdmitted, Seen};
pub use service::{Caller, NotDone, Service};
pub use shared::Durable;
pub use table::LinkStatus;
pub use token::{TOKEN_BYTES_MAX, Token, TokenError, VALID_S as TOKEN_VALID_S};
