//! Durable bytes: a write-ahead log with group commit and its recovery. What the bytes mean is not known here.
//!
//! Many threads append to a [`Log`]; one [`Writer`] moves what they appended to the disk, a block at a time: while one
//! block is synced the next one fills. Nothing here starts a thread or reads a clock unless [`Syncer`] is used, so a
//! simulator can take every step itself. Formats: `docs/formats/log.md`.
//! The one that owns the log of a shard sees it as a [`ShardLog`], which may be replicated; [`LocalLog`] is the one that is not.
//! [`snapshot`] keeps the files that make old parts of the log superfluous.

mod chain;
mod copy;
mod error;
pub mod faults;
mod files;
mod format;
mod lease;
mod local;
mod log;
mod newest;
mod open;
mod place;
mod scan;
mod settings;
mod shard_log;
pub mod snapshot;
mod state;
mod syncer;
mod writer;

pub use chain::{ChainEnd, Flow, Later, Taker, read_chain};
pub use copy::{Copied, archive_file, copy_log, file_bytes};
pub use error::{DAMAGE_ADVICE, Damage, OpenError, Poisoned, Refused};
pub use files::{Preparation, Prepared};
pub use format::{FILE_HEADER_BYTES, Kind};
pub use lease::Lease;
pub use local::LocalLog;
pub use log::{Batch, Log};
pub use newest::must_be_there;
pub use open::{Cut, Opened, create, open};
pub use place::{Index, Place};
pub use scan::{Found, Record, Visitor, read, read_after};
pub use settings::{Mode, Settings};
pub use shard_log::{Committed, Encode, Mark, Position, ReadMode, Role, ShardLog, Ticket};
pub use syncer::{Progress, Syncer};
pub use writer::{Block, Step, SyncDone, SyncJob, Write, Writer};
