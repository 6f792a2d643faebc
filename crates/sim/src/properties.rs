//! What must hold after every start: one safety property in each file.

mod backups;
mod flipped_backup;
mod flipped_bits;
mod flips;
mod indexes;
mod locks;
mod lost_writes;
mod monotonic_reads;
mod orphans;
mod resurrected;
mod state;
mod unchanged;
mod void;

pub use backups::{check as backups, taken as backup};
pub use flipped_backup::check as flipped_backup;
pub use flipped_bits::check as flipped_bits;
pub use indexes::of as indexes;
pub use unchanged::{Tree, check as unchanged};

use crate::clients::Clients;
use crate::node::Node;
use crate::view::View;

/// What there is after a start, and what should be.
pub struct Situation<'a> {
    /// The server that was started.
    pub node: &'a Node,
    /// What a client sees of it.
    pub view: &'a View,
    /// What clients know.
    pub clients: &'a Clients,
    /// The last record that must be there, as the mode of the log promises after the end that there was.
    pub promised: u64,
    /// The last record that the log has.
    pub end: u64,
    /// What the commands of the log make of an empty directory.
    pub model: u128,
    /// The ids that are free by it.
    pub free_ids: &'a [u32],
}

/// Looks at a situation; an error says in words what does not hold.
pub type Property = fn(&Situation<'_>) -> Result<(), String>;

/// All that are looked at after every start, by name.
pub const PROPERTIES: [(&str, Property); 8] = [
    ("no acknowledged write is lost", lost_writes::check),
    ("no delete is undone", resurrected::check),
    ("no entry is without its superior", orphans::check),
    ("the state is the model's", state::check),
    (INDEXES, indexes::check),
    (MONOTONIC, monotonic_reads::check),
    (VOID, void::check),
    (LOCKS, locks::check),
];

/// Of accounts.
pub const LOCKS: &str = "no lock of an account is lost";

/// Of what a workload knows of its entries.
pub const SENT: &str = "only what was sent is there";

/// Of entries that constraints are about.
pub const CONSTRAINED: &str = "constraints hold after every start";

/// Looked at after every start, and of an index that was built also when it is ready.
pub const INDEXES: &str = "indexes equal the entries";

/// Looked at after every start, and of what is read meanwhile.
pub const MONOTONIC: &str = "reads of a session never go back";
/// See [`MONOTONIC`].
pub const VOID: &str = "what was not committed is never there";

/// Of bundles in which reads stand between updates.
pub const OWN: &str = "a read sees the updates of its session before it, and none after it";

/// Of transactions, by name.
pub const SNAPSHOT: &str = "a scan is one snapshot";
/// See [`SNAPSHOT`].
pub const HALF: &str = "nobody sees half of a transaction";

/// See [`SNAPSHOT`].
pub const PRECEDENCE: &str = "higher precedence waits for nobody, and a preempted transaction is notified";

/// Of a log with several replicas, by name.
pub const UNCOMMITTED: &str = "nothing is seen before it is committed";
/// See [`UNCOMMITTED`].
pub const BARRIER: &str = "a read after a barrier sees all that was committed before it";
/// Of clients of a cluster, at whatever server each of them is.
pub const CURRENT: &str = "a read sees all that was acknowledged before it was sent";
/// Of clients of a cluster that read where no majority answers.
pub const AGE: &str = "a read without a majority is as old as it says";
/// Of clients of a cluster that change settings.
pub const SETTINGS: &str = "all replicas have the settings that the log has last";
/// See [`UNCOMMITTED`].
pub const LEARNED: &str = "a replica learns all that is committed";
/// See [`UNCOMMITTED`].
pub const FILES: &str = "files of a replica have what is committed";

/// Of a cluster, by name.
pub const AGREEMENT: &str = "all replicas get the same, and no term has two leaders";
/// See [`AGREEMENT`].
pub const ONCE: &str = "an update is applied once";
/// See [`AGREEMENT`].
pub const LEFT: &str = "a joint state is left";
/// See [`AGREEMENT`].
pub const LEASES: &str = "one replica at a time has a lease";
/// See [`AGREEMENT`].
pub const DONE: &str = "what is wanted of members is done";
/// See [`AGREEMENT`].
pub const DRAINED: &str = "a replica that is drained lets another one lead";
/// See [`AGREEMENT`].
pub const REPLACED: &str = "a replica has no place beside the one that has taken it";
/// See [`AGREEMENT`].
pub const ODD: &str = "an odd number of replicas votes, unless an operator wants it otherwise";
/// See [`AGREEMENT`].
pub const MEMBERS: &str = "all replicas have the same members";
/// See [`AGREEMENT`].
pub const LEAVES: &str = "a replica leaves service if it alone differs, until it is made anew";
/// See [`AGREEMENT`].
pub const KNOWN: &str = "a replica goes on by every behaviour that its program knows";
/// See [`AGREEMENT`].
pub const REBUILT: &str = "a replica that differs is found and made anew";
/// See [`AGREEMENT`].
pub const WORSE: &str = "a leader whose disk is slow, or whose clock is wrong, leads no more before long";
/// See [`AGREEMENT`].
pub const SET_BACK: &str = "a replica is refused if its disk was set back, and only then";
/// See [`AGREEMENT`].
pub const FORWARD: &str = "a snapshot goes forward";

/// Of consumers of content synchronisation, by name.
pub const COPIED: &str = "a consumer that applies the stream has what it finds";

/// Of a reader that lasts, by name.
pub const REVOKED: &str = "a reader sees the same until it is revoked, and then nothing";

/// Of indexes that come and go, by name.
pub const SWITCHED: &str = "an index is there when it was reported to be";
/// See [`SWITCHED`].
pub const SEARCHED: &str = "a search finds the same by an index and without";
/// See [`SWITCHED`].
pub const VERIFIED: &str = "an index that is verified on line differs in nothing";

/// Those of what an operator does, by name.
pub const BACKUP: &str = "a backup is the state at its point, whole or not there";
/// See [`BACKUP`].
pub const FLIPPED_BACKUP: &str = "a flipped bit in a backup stops its restore";
/// See [`BACKUP`].
pub const RESTORED: &str = "a restored directory is what the backup is, whole or not there";
/// See [`BACKUP`].
pub const POINT: &str = "every point since the oldest backup can be restored";
/// See [`BACKUP`].
pub const ANEW: &str = "a replica begins another group with all of its log, or is what it was";
/// See [`BACKUP`].
pub const IMPORTED: &str = "an import is whole or not there";
/// See [`BACKUP`].
pub const SOURCE: &str = "what is copied stays what it is";

#[cfg(test)]
mod tests;
