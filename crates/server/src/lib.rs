//! Wiring only: listeners, connections, configuration, shutdown.

mod agent;
pub mod config;
mod connection;
pub mod directory;
pub mod engine;
mod hold;
pub mod import;
mod listener;
mod logged;
mod options;
mod seldom;
mod thread;

pub use listener::{serve, serve_until};
pub use logged::serve_logged;
pub use options::Options;
