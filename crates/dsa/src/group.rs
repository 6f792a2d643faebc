//! What a server shows of the group of replicas that it belongs to, in `cn=Groups,cn=Monitor`.
//!
//! The agent has no part in replication. It asks the part that does when the monitor is looked at.

/// A replica, as far as the monitor shows it.
pub trait Group: Send + Sync {
    /// How it and its group fare now.
    fn metrics(&self) -> Metrics;
}

/// What a replica knows of its group. All empty or 0 before it has recovered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Its number.
    pub node: u64,
    /// What it is in the group, in a word.
    pub role: &'static str,
    /// The term that it knows of.
    pub term: u64,
    /// The number of the replica that leads; 0 if it knows of none.
    pub leader: u64,
    /// The last entry that it knows to be committed.
    pub commit: u64,
    /// The numbers of those that vote, and of those that have the log and do not vote.
    pub voters: Vec<u64>,
    /// See `voters`.
    pub learners: Vec<u64>,
    /// Are members being changed?
    pub is_joint: bool,
    /// Would a majority be left without any one of those that vote? Only the one that leads knows.
    pub can_lose_one: Option<bool>,
    /// What its directory is worth, in a word.
    pub standing: &'static str,
    /// The version of the behaviour by which updates are applied.
    pub behaviour: u32,
    /// All replicas.
    pub replicas: Vec<Replica>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Replica {
    /// Its number.
    pub node: u64,
    /// What it is in the group, in a word.
    pub role: &'static str,
    /// Entries that it lacks, and seconds since it lacks one, where that is known.
    pub lag: Option<(u64, f64)>,
    /// Milliseconds that a sync of its log takes, if there was one lately and it is known.
    pub sync_ms: Option<f64>,
    /// Seconds by which its clock is ahead of the middle one of all replicas, if that is known.
    pub clock_s: Option<f64>,
    /// Where clients reach it; empty if nowhere.
    pub url: String,
    /// The latest version of the behaviour that its program knows, if it has said so.
    pub newest: Option<u32>,
}
