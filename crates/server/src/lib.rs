//! Wiring only: listeners, connections, configuration, shutdown.

pub mod config;
mod connection;
pub mod directory;
mod hashers;
mod hold;
pub mod import;
mod listener;
mod logged;
pub mod logs;
mod options;
mod proxy;
mod reports;
mod rules;
mod seldom;
mod thread;
pub mod tls;

pub use listener::{Endpoints, serve, serve_until};
pub use logged::serve_logged;
pub use options::Options;
