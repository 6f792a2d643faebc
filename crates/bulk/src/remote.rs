//! Import into, and export of, a server that runs: over LDAP, with what clients may do.

mod add;
mod read;

pub use add::{Ways, add};
pub use read::read;
