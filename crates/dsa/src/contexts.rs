//! Security contexts of GSSAPI (RFC 2743), by which a client shows that a Kerberos server knows who it is.
//!
//! They are made by the part of the server that has the keys and the library. The agent passes messages on, is given who the client is and what it
//! has chosen, and judges that.

use std::sync::{Arc, Mutex};

pub use proto::sasl::gssapi::OFFER;

/// What begins contexts.
pub trait Contexts: Send + Sync {
    /// A context that nothing was said in yet.
    fn begin(&self) -> Box<dyn Context>;
}

/// The server's side of one context. A step may take longer than a request may take on the thread that it came by.
pub trait Context: Send {
    /// Takes a message of the client. When the context stands the client is sent [`OFFER`], protected by it.
    fn step(&mut self, message: &[u8]) -> Step;
}

/// What comes of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The client is to be sent this, and goes on.
    GoOn(Vec<u8>),
    /// The context stands, and the client has answered the offer.
    Answered {
        /// Who the client is, as the mechanism writes it (RFC 1964 section 2.1.1).
        principal: String,
        /// Its answer, without what has protected it.
        answer: Vec<u8>,
    },
    /// There is no context, whatever is wrong.
    Failed,
}

/// A context that an exchange keeps between its steps. Each step has it for itself.
pub(crate) type Kept = Arc<Mutex<Box<dyn Context>>>;

/// Who the principals are of whom somebody has an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Principals {
    /// The realm whose principals are called by their names alone; those of others are nobody. Without it all are called by their whole names.
    pub realm: Option<String>,
}

impl Principals {
    /// What a principal is called among users.
    pub(crate) fn user<'p>(&self, principal: &'p str) -> Option<&'p str> {
        let Some(realm) = &self.realm else { return Some(principal) };
        let user = principal.strip_suffix(realm.as_str())?.strip_suffix('@')?;
        // A sign in a name or a realm is escaped, and what stands before it is no name then.
        (!user.is_empty() && !user.contains(['\\', '@'])).then_some(user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_principals_are_called() {
        let (all, one) = (Principals::default(), Principals { realm: Some("EXAMPLE".to_owned()) });
        for (principal, name) in [
            ("ada@EXAMPLE", Some("ada")),
            ("ada/admin@EXAMPLE", Some("ada/admin")),
            ("ada@OTHER", None),
            ("ada@example", None),
            ("ada@SUB.EXAMPLE", None),
            (r"ada@OTHER\@EXAMPLE", None),
            (r"ada\@EXAMPLE", None),
            (r"a\@b@EXAMPLE", None),
            ("@EXAMPLE", None),
            ("ada", None),
            ("", None),
        ] {
            assert_eq!(one.user(principal), name, "{principal}");
            assert_eq!(all.user(principal), Some(principal));
        }
    }
}
