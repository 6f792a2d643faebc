//! Every encoding that Pando speaks: BER (X.690) as RFC 4511 section 5.1 restricts it, LDAPMessage, one file
//! per operation, per control and per extended operation, filters as BER and as text, LDIF. Sans-IO: bytes in,
//! borrowed requests out. Decoding never allocates, except for filters with sets or inner substrings.

pub mod add_stream;
pub mod answer;
pub mod ber;
pub mod control;
pub mod diagnostic;
pub mod error;
pub mod ext;
pub mod feature;
pub mod filter;
pub mod filter_string;
pub mod ldap_url;
pub mod ldif;
pub mod list;
pub mod message;
pub mod op;
pub mod outline;
pub mod result;
pub mod sasl;
pub mod tag;

pub use control::{Control, Controls};
pub use error::{DecodeError, Kind};
pub use list::{Attribute, Attributes, Octets};
pub use message::{Frame, Message, Reply, Request, Response, frame};
pub use outline::Outline;
pub use result::LdapResult;
