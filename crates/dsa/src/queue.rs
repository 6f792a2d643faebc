//! Queue length control: answers of a session are kept back until as many are there as its client waits for.
//!
//! The session says whether what it wrote may be kept back; who has the socket keeps it, and lets it go when nothing more
//! comes. `docs/queue-length.md` has the rules, `docs/decisions/0026-queue-length-control.md` the reasons.

use proto::message::{Frame, frame};
use proto::outline::operation;
use proto::tag;

/// The queue of a session whose client said how long it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Queue {
    /// Answers that the client waits for: 2 or more.
    length: u32,
    /// Those of the run that is in progress.
    answered: u32,
    /// Bytes still to come of a message of which the beginning was counted.
    rest: usize,
    /// Something in the bundle does not wait for the run's end.
    pub(crate) is_urgent: bool,
    /// What was written may be kept back.
    holds: bool,
}

/// Begins, changes or ends the control of a session's queue.
pub(crate) fn set(queue: &mut Option<Box<Queue>>, length: u32) {
    match queue {
        _ if length <= 1 => *queue = None,
        Some(queue) if queue.length == length => {}
        _ => {
            let new = Queue { length, answered: 0, rest: 0, is_urgent: false, holds: false };
            *queue = Some(Box::new(new));
        }
    }
}

impl Queue {
    /// Counts the answers in what was just written, and settles whether it may be kept back. Whether the rest of the
    /// bundle's answers is yet to come, for they wait for the log.
    #[cold]
    pub(crate) fn count(&mut self, written: &[u8], waits: bool) {
        assert!(self.length > 1 && self.answered < self.length, "a full run begins anew");
        let mut is_urgent = self.is_urgent;
        self.is_urgent &= waits;
        let mut at = self.rest.min(written.len());
        self.rest -= at;
        while at < written.len() {
            let len = match frame(&written[at..]) {
                Ok(Frame::Complete { len } | Frame::Incomplete { needed: len }) => len,
                Err(_) => 0,
            };
            let Some(message) = written.get(at..at + len).filter(|message| !message.is_empty()) else {
                // The rest of a long entry is yet to be written.
                self.rest = len.saturating_sub(written.len() - at);
                is_urgent = true;
                break;
            };
            let kind = kind(message);
            is_urgent |= matches!(kind, Kind::Failed | Kind::Unsolicited);
            self.answered =
                self.answered.saturating_add(u32::from(matches!(kind, Kind::Done | Kind::Failed)));
            at += len;
        }
        self.holds = !is_urgent && self.answered < self.length;
        if is_urgent {
            self.answered = 0;
        }
        self.answered %= self.length;
    }

    /// May what was written be kept back?
    pub(crate) fn holds(&self) -> bool {
        self.holds
    }

    /// Nothing came for so long that the run is over.
    pub(crate) fn end_run(&mut self) {
        self.answered = 0;
    }
}

/// What a message of the server is to the queue.
enum Kind {
    /// More follows to the same request.
    Part,
    /// The last to a request, which was applied.
    Done,
    /// The last to a request, which was not.
    Failed,
    /// To no request.
    Unsolicited,
}

/// The kind of a message, by its outline.
fn kind(message: &[u8]) -> Kind {
    const CODE: [u8; 2] = [tag::ENUMERATED, 1];
    let code = |contents: &[u8]| contents.strip_prefix(&CODE).and_then(|rest| rest.first().copied());
    match operation(message) {
        None | Some((0, ..)) => Kind::Unsolicited,
        Some((_, tag::SEARCH_ENTRY | tag::SEARCH_REFERENCE | tag::INTERMEDIATE, _)) => Kind::Part,
        // success, compareFalse, compareTrue
        Some((_, _, contents)) if matches!(code(contents), Some(0 | 5 | 6)) => Kind::Done,
        Some(_) => Kind::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ResultCode;
    use proto::result::encode_result;

    fn end(code: ResultCode) -> Vec<u8> {
        let mut out = Vec::new();
        encode_result(&mut out, 300, tag::MODIFY_RESPONSE, code, b"", "", &[]);
        out
    }

    fn queue(length: u32) -> Queue {
        Queue { length, answered: 0, rest: 0, is_urgent: false, holds: false }
    }

    #[test]
    fn a_run_is_over_when_so_many_operations_are() {
        let (mut queue, ok) = (queue(3), end(ResultCode::Success));
        queue.count(&ok, false);
        assert!(queue.holds());
        queue.count(&[], false);
        assert!(queue.holds());
        queue.count(&ok.repeat(2), false);
        assert!(!queue.holds());
        // Of seven, one is of the next run.
        queue.count(&ok.repeat(7), false);
        assert!(!queue.holds());
        queue.count(&ok, false);
        assert!(queue.holds());
        queue.count(&ok, false);
        assert!(!queue.holds());
    }

    #[test]
    fn an_error_and_a_bundle_that_cannot_wait_end_it() {
        let (mut queue, ok) = (queue(3), end(ResultCode::Success));
        queue.count(&ok, false);
        queue.count(&end(ResultCode::NoSuchObject), false);
        assert!(!queue.holds());
        queue.count(&ok.repeat(2), false);
        assert!(queue.holds(), "the run began anew");
        queue.is_urgent = true;
        queue.count(&ok[..0], false);
        assert!(!queue.holds());
        // The answer to what cannot wait may have to wait for the log itself.
        queue.is_urgent = true;
        queue.count(&[], true);
        queue.count(&ok, false);
        assert!(!queue.holds());
        queue.count(&end(ResultCode::CompareTrue), false);
        assert!(queue.holds());
    }

    #[test]
    fn entries_do_not_count_and_may_come_in_pieces() {
        let entry = [&[0x30, 0x82, 1, 4, 2, 1, 7, tag::SEARCH_ENTRY, 0x81, 0xfe][..], &[0; 254]].concat();
        let (mut queue, ok) = (queue(2), end(ResultCode::Success));
        queue.count(&entry, false);
        assert!(queue.holds());
        queue.count(&entry[..100], false);
        assert!(!queue.holds(), "what is half written is sent");
        queue.count(&[&entry[100..], &ok].concat(), false);
        assert!(queue.holds());
        queue.count(&ok, false);
        assert!(!queue.holds());
    }
}
