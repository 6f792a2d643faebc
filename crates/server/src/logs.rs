//! The access log, the audit log and the security log ([docs/logs.md](../../../docs/logs.md)). IO threads put records into a ring each ([`feed`]), and one thread
//! makes lines of them and writes ([`writer`]). The audit log has a thread of its own ([`audit`]).

mod audit;
mod background;
mod destination;
mod feed;
mod in_force;
mod settings;
mod target;
mod writer;

pub use audit::Auditor;
pub use destination::Destination;
pub(crate) use feed::{Feed, Log, Logged, Taken};
pub use in_force::InForce;
pub use logs::form::Form;
pub use logs::hide::Values as LogValues;
pub use logs::journal::Access;
pub use settings::{OnAuditFailure, Settings};
pub(crate) use writer::Writer;
