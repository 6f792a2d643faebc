//! The access log and the audit log ([`audit`]), without files and threads: what a connection says becomes records ([`tap`], [`record`]), of which another thread takes
//! passwords and other secrets ([`redact`], [`hide`]) and makes lines ([`journal`]), in one of several forms ([`form`]).

pub mod audit;
pub mod form;
pub mod frame;
pub mod hide;
pub mod journal;
mod line;
pub mod object;
mod open;
pub mod record;
pub mod redact;
pub mod sample;
pub mod tap;
mod tracking;

pub use form::operation_of;
pub use line::Origin;
