//! What a client has on its way.

use crate::answers::Answer;

/// See the module.
pub(super) struct Sent {
    /// The replica that it was sent to.
    pub(super) to: usize,
    /// The updates, as the log has them; empty if there are none. They set the client's counter, so no others are the same.
    pub(super) updates: Vec<u8>,
    /// What they set it to; 0 without updates.
    pub(super) count: u64,
    /// The message that sets it, if there are updates.
    pub(super) counts: Option<usize>,
    /// The last message.
    pub(super) last: usize,
    /// What the counter of each client had been acknowledged to be when this was sent.
    pub(super) floor: Vec<u64>,
    /// The answers so far.
    pub(super) answers: Vec<Answer>,
}
