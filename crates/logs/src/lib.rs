//! The access log and the audit log ([`audit`]), without files and threads: what a connection says becomes records ([`tap`], [`record`]), which another thread makes
//! lines of ([`journal`], [`json`]). Passwords and other secrets are left out on the way ([`hide`]).

pub mod audit;
pub mod hide;
pub mod journal;
pub mod json;
mod line;
mod open;
pub mod record;
pub mod tap;

pub use line::operation_of;
