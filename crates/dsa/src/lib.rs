//! The Directory System Agent: what happens between the bytes that a client sent and the bytes it is answered with.
//! No sockets, no clock, no thread of its own: bytes and the time go in, bytes come out.
//!
//! # Layers
//!
//! From the bottom to the top. A file uses its own layer and those below: data goes down as arguments and comes back as values.
//!
//! ```text
//! values       access, own_entry, identity, effective, offer, settings, config, password, outcome, entry_writer, selection, recent,
//!              monitor, marks, certificates, chaining, tokens, contexts, events, audit, generalized_time, account_times
//! the agent    engine (Dsa) with its parts: system, indexing, journal, throttle, limits, held, peers, user_searches, client_memory, transaction
//! a thread     worker, turns; context: what an operation is given; extension: what an extended operation tells of itself;
//!              monitor_entries, config_entry: what the server shows of itself; lookup, peer_identity, certificate_identity: who
//!              a name, a process or the owner of a certificate is
//! operations   rights; policy: of passwords; op, one file each, and dispatch; control, referral, admission; transaction: its overlay;
//!              root_dse, subschema, start: an agent is made, with all that it can do
//! a session    session: its state; queue
//! bundles      bundle: group, reads, and the stages of updates, alone and in transactions
//! callers      driver: what a connection calls; applier: what the log calls
//! ```

pub mod access;
pub mod account_times;
mod admission;
pub mod annotations;
mod applier;
pub mod audit;
pub mod barrier;
pub mod behaviour;
mod bundle;
mod certificate_identity;
pub mod certificates;
pub mod chain;
pub mod chaining;
pub mod change_log;
pub mod client_memory;
mod collective;
pub mod config;
mod config_entry;
pub mod constraints;
mod context;
pub mod contexts;
mod control;
mod default_referral;
mod dispatch;
mod driver;
mod effective;
mod engine;
mod entry_writer;
pub mod events;
mod expiry;
mod extension;
pub mod faults;
pub mod followers;
mod generalized_time;
pub mod group;
pub mod held;
pub mod identities;
mod identity;
pub mod indexing;
pub mod journal;
mod last_of;
pub mod lifetimes;
pub mod limits;
mod lookup;
mod marks;
pub mod monitor;
mod monitor_entries;
pub mod node_settings;
mod offer;
mod op;
mod outcome;
mod own_entry;
pub mod parcel;
pub mod password;
mod peer_identity;
mod peers;
mod policy;
mod prepared_writes;
mod queue;
mod rate;
mod reached;
pub mod reads;
mod recent;
mod referral;
pub mod refusals;
mod rights;
mod root_dse;
mod selection;
mod session;
pub mod settings;
mod sorted_lists;
mod standing;
mod start;
mod strengths;
mod subschema;
mod subtree_specification;
mod system;
pub mod throttle;
pub mod tokens;
pub mod transaction;
mod tree_delete;
mod turns;
mod user_searches;
mod wakes;
mod worker;

pub use applier::{Applier, ApplyError};
pub use config::{Anonymous, Config};
pub use engine::Dsa;
pub use expiry::Undeleted;
pub use identity::Identity;
pub use op::extend_schema::extend;
pub use policy::ACTOR as POLICY_ACTOR;
pub use session::logged::Standing;
pub use session::{Accounts, Feed, Gone, Session, State};
pub use store::derived::SUBSCHEMA_DN;
pub use system::MONITOR_DN;
pub use wakes::Waking;
pub use worker::Worker;
