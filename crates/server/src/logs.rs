//! The access log and the security log ([docs/logs.md](../../../docs/logs.md)). IO threads put records into a ring each ([`feed`]), and one thread
//! makes lines of them and writes ([`writer`]).

mod feed;
mod settings;
mod target;
mod writer;

pub(crate) use feed::{Feed, Log, Logged};
pub use logs::journal::Access;
pub use settings::Settings;
pub(crate) use writer::Writer;
