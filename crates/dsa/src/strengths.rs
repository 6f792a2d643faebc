//! What connections need to be protected by, as chosen and as it is in force. A connection takes it when it begins.

use std::sync::{Mutex, PoisonError};

/// What a Unix socket counts for by default. It is the value of OpenLDAP, below that of any cipher.
pub const LDAPI_STRENGTH: u16 = 71;

/// What connections need to be protected by, in bits of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Security {
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

impl Default for Security {
    fn default() -> Security {
        Security {
            password_strength: None,
            ldapi_strength: LDAPI_STRENGTH,
            read_strength: 0,
            write_strength: 0,
            any_strength: 0,
        }
    }
}

/// The same, in force. A lock and no atomic numbers: the five numbers of a connection are of one choice.
#[derive(Debug)]
pub(crate) struct Strengths {
    chosen: Mutex<Security>,
    /// Can connections be secured by StartTLS? That follows from the certificates of the start.
    offers_tls: bool,
}

impl Strengths {
    /// In force as it was chosen.
    pub(crate) fn new(chosen: Security, offers_tls: bool) -> Strengths {
        Strengths { chosen: Mutex::new(chosen), offers_tls }
    }

    /// Puts another one in force, for connections that begin from now on.
    /// Those that are there keep what they began with: an administrator who goes too far can take it back on the same connection.
    pub(crate) fn put(&self, chosen: Security) {
        *self.chosen.lock().unwrap_or_else(PoisonError::into_inner) = chosen;
    }

    /// What holds for a connection that begins now, and whether it can be secured.
    /// A connection asks once, no request does.
    pub(crate) fn now(&self) -> (Security, bool) {
        // It is replaced whole, so one who panicked left nothing half done.
        (*self.chosen.lock().unwrap_or_else(PoisonError::into_inner), self.offers_tls)
    }
}
