//! What a client has on its way.

use crate::answers::Answer;
use crate::requests::Bundle;
use model::ResultCode;

/// What a client sends next.
#[derive(Default)]
pub(super) struct Next {
    pub(super) bundle: Bundle,
    /// The updates that set the client's counter, as the log may have them: alone or with those before them. No others are the same.
    pub(super) updates: Vec<Vec<u8>>,
    /// What they set it to, first and last; 0 without updates.
    pub(super) counts: (u64, u64),
    /// The message whose answer says whether they happened, if there are updates.
    pub(super) decided_by: Option<usize>,
    /// The value that it gives a setting.
    pub(super) setting: Option<u64>,
}

/// See the module.
pub(super) struct Sent {
    /// The replica that it was sent to.
    pub(super) to: usize,
    /// When that was.
    pub(super) at_ns: u64,
    /// As in [`Next`].
    pub(super) updates: Vec<Vec<u8>>,
    /// The last of those in [`Next`].
    pub(super) count: u64,
    /// As in [`Next`].
    pub(super) decided_by: Option<usize>,
    /// As in [`Next`].
    pub(super) setting: Option<u64>,
    /// The last message.
    pub(super) last: usize,
    /// What the counter of each client had been acknowledged to be when this was sent.
    pub(super) floor: Vec<u64>,
    /// The number of changes of settings up to the last that had been acknowledged then.
    pub(super) settings_floor: usize,
    /// The answers so far.
    pub(super) answers: Vec<Answer>,
}

impl Sent {
    /// How a message was answered, if it was.
    pub(super) fn code_of(&self, message: usize) -> Option<ResultCode> {
        self.answers.iter().find_map(|answer| match answer {
            Answer::Done(id, code) | Answer::Extended(id, code, _) if *id == message => Some(*code),
            _ => None,
        })
    }

    /// How old what a message has read may be, if it may be old: milliseconds, if that is known.
    pub(super) fn age_of(&self, message: usize) -> Option<Option<u64>> {
        self.answers.iter().find_map(|answer| match answer {
            Answer::Age(id, ms) if *id == message => Some(*ms),
            _ => None,
        })
    }
}
