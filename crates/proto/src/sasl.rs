//! Messages of SASL mechanisms (RFC 4422), a file each.

mod gs2;
pub mod gssapi;
pub mod oauth_bearer;
pub mod plain;
pub mod scram;
