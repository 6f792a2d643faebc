//! One shard of the DIT: a deterministic state machine over a heap of versioned objects. Commands go in through
//! the one [`Writer`], read points come out; nothing here knows a clock, a file or a socket.
//!
//! From the bottom up, each layer knowing those below it:
//!
//! - memory: `sync` (atomics), `readers` (who reads at which sequence), `cell`, `append`, `hash`, `idset`, `postings`, `length` and the heap
//!   (`segment`, with `tree` on it). They know nothing of entries, and all their readers are without locks.
//! - entries: `record` and [`shape`], names (`resolve`, `suffix`, `dn_cache`), attribute indexes (`index`), what is worked out from
//!   them ([`derived`], `digest`).
//! - the shard: one mutex with all that only the writer needs (`shard`), commands (`apply`), removals that wait for readers
//!   (`deferred`, `stale_keys`), [`search`], the [`overlay`] of a transaction, `checkpoint` and `restore`.
//!
//! Nothing is removed or written over where a reader may be. New versions go beside the old, become visible with one store
//! when their batch is published, and what they replace waits until no reader pins it. A panic in the writer poisons the mutex,
//! so a broken invariant stops the shard instead of spreading. `docs/store.md` has the layout to the byte.

mod access_rules;
mod ahead;
pub mod aliases;
mod append;
mod apply;
mod cell;
pub mod check;
mod checkpoint;
mod children;
pub mod collective;
mod deferred;
pub mod derived;
mod digest;
mod dn_cache;
mod dynamic;
pub mod faults;
mod given;
mod hash;
mod idset;
mod index;
mod kinds;
mod length;
pub mod lifetimes;
#[cfg(all(test, pando_loom))]
mod loom_tests;
mod memory_use;
pub mod overlay;
mod postings;
mod readers;
mod recent_changes;
pub mod record;
mod refused;
mod resolve;
mod restore;
mod room;
pub mod search;
mod segment;
mod set_changes;
pub mod shape;
mod shard;
mod stale_keys;
pub mod stream;
mod suffix;
mod sync;
mod tree;
mod uses;
pub mod uuid;
pub mod values;

pub use apply::{
    Add, Change, ChangeKind, Condition, EachValue, Judge, Made, Modify, ModifyDn, Pattern, Prepared,
    PreparedWrite, REPLACEMENTS_MAX, Replacement, RowMaker, Rows, Stamp, Unlike,
};
pub use checkpoint::{Checkpoint, Meta, SLOT_BYTES, Segment, Segments};
pub use deferred::REMOVALS_MAX;
pub use dn_cache::DnCache;
pub use index::build::{IndexBuild, IndexDrop, IndexRefused, IndexReport};
pub use index::kind::IndexKind;
pub use index::settings::{IndexName, IndexSettings};
pub use index::verify::{IndexVerify, Settled, Verified};
pub use memory_use::MemoryUse;
pub use readers::READERS_MAX;
pub use record::{EntryRef, ValueSet, Values};
pub use refused::Refused;
pub use resolve::{DnParts, Known, Target, Unresolved};
pub use restore::{Restore, RestoreError, Run, SegmentMut};
pub use shard::look::Look;
pub use shard::reader::{LongReadPoint, Pin, Reader};
pub use shard::revocable::{Entered, Holder, RevocableReadPoint, Revoked};
pub use shard::room::memory_bytes_end;
pub use shard::stream::{Below, Follower};
pub use shard::{ReadPoint, Settings, Shard, Writer};
