//! The Directory System Agent: what happens between the bytes that a client sent and the bytes it is answered with.
//! No sockets, no clock, no thread of its own: bytes and the time go in, bytes come out.

pub mod access;
mod admission;
mod applier;
mod bundle;
pub mod chain;
pub mod client_memory;
pub mod config;
mod config_entry;
mod control;
mod dispatch;
mod engine;
mod entry_writer;
pub mod held;
mod identity;
pub mod indexing;
pub mod journal;
mod marks;
pub mod monitor;
mod monitor_entries;
mod op;
mod outcome;
pub mod parcel;
pub mod password;
mod peers;
mod queue;
mod recent;
mod referral;
mod root_dse;
mod selection;
mod session;
pub mod settings;
mod subschema;
mod system;
pub mod throttle;
pub mod transaction;
mod wakes;
mod worker;

pub use access::Anonymous;
pub use applier::{Applier, ApplyError};
pub use config::Config;
pub use engine::Dsa;
pub use identity::Identity;
pub use session::{Feed, Session, State};
pub use wakes::Waking;
pub use worker::Worker;
