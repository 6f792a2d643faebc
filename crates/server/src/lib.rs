//! Wiring only: listeners, connections, configuration, shutdown.

mod agent;
pub mod config;
mod connection;
pub mod directory;
pub mod engine;
pub mod import;
mod listener;
mod options;
mod thread;

pub use listener::{serve, serve_until};
pub use options::Options;
