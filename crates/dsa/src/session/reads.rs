//! What a session keeps of reads that stand between its updates, and of the answers to these.

use crate::faults::holes;
use crate::marks::Marks;
use env::net::PeerAddress;
use env::planted;
use store::Holder;

/// Bytes of the buffers that a session keeps for such reads and for their answers.
const SESSION_BYTES_KEPT: usize = 16 << 10;

/// Reads that stand between the updates of a session.
#[derive(Default)]
pub(crate) struct Mixed {
    /// Whole messages, in the order they came.
    pub(crate) reads: Vec<u8>,
    /// Where they stand. They are with the updates while these are on their way.
    pub(crate) marks: Marks,
    /// Answers to the updates, of which some may be sent.
    pub(crate) answers: Vec<u8>,
    /// The answers are there.
    is_due: bool,
    /// Bytes of reads that were run, and of answers that were sent.
    pub(crate) read: usize,
    pub(crate) sent: usize,
    /// The run that is in progress.
    pub(crate) run: usize,
    /// When the answers came.
    pub(crate) since_ns: Option<u64>,
    /// Bytes of reads that were looked through for counts, and whether there are any.
    searched: usize,
    counts: bool,
}

impl Mixed {
    /// Are there reads that can be run now?
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Bytes of the reads.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.reads.len()
    }

    /// The marks, for the updates that are on their way from now on.
    #[inline]
    pub(crate) fn take_marks(&mut self) -> Marks {
        assert!(!self.is_due, "marks leave with the updates, and come back with the answers");
        std::mem::take(&mut self.marks)
    }

    /// The updates were answered. Their answers are swapped for the buffer of earlier ones.
    pub(crate) fn answered(&mut self, answers: &mut Vec<u8>, marks: Marks) {
        assert!(self.answers.is_empty(), "answers to earlier updates were sent");
        assert!(!self.is_due && self.read == 0 && self.sent == 0, "the reads of one batch wait at a time");
        self.marks = marks;
        self.is_due = true;
        std::mem::swap(&mut self.answers, answers);
    }

    /// The reads that are left wait for their client: what they look at may be revoked from now on.
    #[cold]
    pub(crate) fn may_be_revoked(&mut self, now_ns: u64, peer: Option<PeerAddress>) {
        self.marks.may_be_revoked(Holder { since_ns: *self.since_ns.get_or_insert(now_ns), peer });
    }

    /// Do the reads ask how many subordinates an entry has? That is reported as of now, not as of a point in the past.
    #[cold]
    pub(crate) fn asks_for_counts(&mut self) -> bool {
        // hasSubordinates, numSubordinates, and all operational attributes.
        const NAMES: [&[u8]; 4] = [b"ubordinates", b"2.5.18.9", b"1.3.6.1.4.1.453.16.2.103", b"+"];
        let new = &self.reads[self.searched..];
        let has = |name: &&[u8]| new.windows(name.len()).any(|bytes| bytes.eq_ignore_ascii_case(name));
        self.counts |= NAMES.iter().any(has);
        self.searched = self.reads.len();
        self.counts
    }

    /// All is done: what is kept is memory.
    pub(crate) fn rest(&mut self) {
        let Mixed { mut reads, mut marks, mut answers, .. } = std::mem::take(self);
        marks.clear();
        for buffer in [&mut reads, &mut answers] {
            buffer.clear();
            buffer.shrink_to(SESSION_BYTES_KEPT);
        }
        *self = Mixed { reads, marks, answers, ..Mixed::default() };
    }
    /// Begins the run of the next read, if it is another one: the answers to the updates before it come first. Returns where
    /// the run ends among the reads.
    pub(crate) fn begin_run(&mut self, out: &mut Vec<u8>) -> usize {
        let (mut end, mut answers_end) = self.marks.ends(self.run);
        while end <= self.read {
            self.run += 1;
            (end, answers_end) = self.marks.ends(self.run);
        }
        assert!(
            self.sent <= answers_end && answers_end <= self.answers.len(),
            "answers are sent in the order of the updates"
        );
        if !planted::is(holes::ANSWERS_OUT_OF_ORDER) {
            out.extend_from_slice(&self.answers[self.sent..answers_end]);
            self.sent = answers_end;
        }
        end
    }
}
