//! The links to other replicas, as a replica sees them.

use crate::member::ReplicaId;
use bytes::Bytes;

/// What a link is for. Messages of different channels may overtake each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// Messages of the core.
    Consensus = 1,
    /// Updates on their way to the leader, and what became of them.
    Updates = 2,
    /// Files of snapshots.
    Files = 3,
}

/// Carries messages of one channel. A message may be lost, but only with all that follow it on the same link until that is made anew; those of one link
/// come in order, and none is changed. Neither call waits.
pub trait Links: Send {
    /// An empty buffer for a message of so many bytes that is to be sent; one of an earlier message, if there is such a one: fresh memory costs more than
    /// what is written to it.
    fn buffer(&mut self, _bytes: usize) -> Vec<u8> {
        Vec::new()
    }

    /// Sends a message; it may be thrown away when much waits to be sent.
    fn send(&mut self, to: ReplicaId, message: Vec<u8>);

    /// The next message that came, and the replica that is at the other end of its link.
    fn receive(&mut self) -> Option<(ReplicaId, Bytes)>;
}

/// Of a replica that is alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLinks;

impl Links for NoLinks {
    fn send(&mut self, _: ReplicaId, _: Vec<u8>) {}

    fn receive(&mut self) -> Option<(ReplicaId, Bytes)> {
        None
    }
}
