//! Wiring only: listeners, connections, configuration, shutdown.

pub mod chaining;
pub mod cluster;
pub mod config;
mod connection;
pub mod directory;
mod hashers;
mod hold;
pub mod import;
#[cfg(feature = "gssapi")]
pub mod kerberos;
mod listener;
mod logged;
pub mod logs;
mod options;
mod own_settings;
mod pool_threads;
mod proxy;
mod reload;
mod reports;
mod rules;
mod seldom;
mod thread;
pub mod tokens;

pub use listener::{Endpoints, serve, serve_until};
pub use logged::{Ended, Logged, serve_logged};
pub use options::Options;
pub use own_settings::OwnSettings;
pub use reload::Reloaded;
