//! Messages of SASL mechanisms (RFC 4422), a file each.

pub mod plain;
pub mod scram;
