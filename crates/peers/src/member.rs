//! Members as links know them.

use crate::address::Address;
use crate::certificate::Fingerprint;

/// Members at most.
pub const MEMBERS_MAX: usize = 64;
/// Certificates that a member has at the same time at most: one, and that which it is renewed by.
pub const CERTIFICATES_MAX: usize = 4;

/// A member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The node; not 0.
    pub id: u64,
    /// Where it is reached.
    pub addresses: Vec<Address>,
    /// Its certificates that are in force: another one, though of the CA, is refused.
    pub certificates: Vec<Fingerprint>,
}
