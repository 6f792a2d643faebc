//! What a client has on its way.

use super::sessions::SESSIONS;
use crate::answers::Answer;

/// See the module.
#[derive(Default)]
pub(super) struct Sent {
    /// The replica that it was sent to.
    pub(super) to: usize,
    /// The updates, or the transaction, as the log has them; empty if there are none. They set the client's counter, so no others are the same.
    pub(super) updates: Vec<u8>,
    /// What they set it to; 0 without updates.
    pub(super) count: u64,
    /// The message whose answer says whether it is set, or the setting.
    pub(super) decides: Option<usize>,
    /// Does that answer say what the counter was before, and what it is?
    pub(super) reads: bool,
    /// What the client's setting is to be; 0 if it is left as it is.
    pub(super) set: u64,
    /// The last message.
    pub(super) last: usize,
    /// What the counter of each client had been acknowledged to be when this was sent.
    pub(super) floor: Vec<u64>,
    /// The same of the setting of each client.
    pub(super) settings: [u64; SESSIONS],
    /// The answers so far.
    pub(super) answers: Vec<Answer>,
}
