//! Faults of the log and of snapshots that tests plant.

env::faults! {
    /// The log says that it has synced and has not.
    LOG_NOT_SYNCED = "log-not-synced";
    /// The log reports a block as safe and leaves its sync for when there is nothing else to do.
    ANSWERED_BEFORE_SYNC = "answered-before-sync";
    /// A block is read though the checksum of its records is wrong.
    BLOCK_CHECKSUM_SKIPPED = "block-checksum-skipped";
    /// What was being written when the power went is read as if it were whole.
    TORN_TAIL_READ = "torn-tail-read";
    /// A file of a snapshot gets its name before its bytes are synced.
    SNAPSHOT_NOT_SYNCED = "snapshot-not-synced";
    /// The manifest gets its name before its bytes are synced.
    MANIFEST_NOT_SYNCED = "manifest-not-synced";
    /// A piece of a snapshot's file is read though its checksum is wrong.
    SNAPSHOT_CHECKSUM_SKIPPED = "snapshot-checksum-skipped";
    /// A log file is copied, to a backup or an archive, and not synced.
    COPY_NOT_SYNCED = "copy-not-synced";
}
