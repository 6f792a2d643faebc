//! Wiring only: listeners, connections, configuration, shutdown.

mod agent;
pub mod commit;
pub mod config;
mod connection;
pub mod data;
pub mod directory;
pub mod engine;
mod hold;
pub mod import;
pub mod indexer;
mod listener;
mod logged;
mod options;
mod thread;

pub use listener::{serve, serve_until};
pub use logged::serve_logged;
pub use options::Options;
