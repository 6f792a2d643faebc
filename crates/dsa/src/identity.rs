//! Who a session is.

use crate::access::Rights;

/// The identity that a session bound as, and its rights for the whole session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// DN in canonical spelling; empty for anonymous.
    pub dn: Vec<u8>,
    /// What it may do.
    pub rights: Rights,
}

impl Identity {
    /// Nobody in particular.
    pub fn anonymous(rights: Rights) -> Identity {
        Identity { dn: Vec::new(), rights }
    }

    /// Authorization identity as RFC 4513 section 5.2.1.8 writes it: empty or `dn:...`.
    pub fn authorization_id(&self) -> Vec<u8> {
        match self.dn.is_empty() {
            true => Vec::new(),
            false => [b"dn:", &self.dn[..]].concat(),
        }
    }
}
