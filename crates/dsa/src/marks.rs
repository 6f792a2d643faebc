//! Where reads stand among updates that are logged together, and what was published when those before them were applied.

use crate::journal::messages;
use std::fmt;
use std::sync::Arc;
use store::{Entered, Holder, LongReadPoint, Look, Reader, RevocableReadPoint, Shard, Writer};

/// Reads that stand next to each other behind updates.
/// Counted in updates and bytes, not in pointers: buffers move from the session to the committer and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Run {
    /// Updates before them. 0: they stand in front of the first.
    updates: u32,
    /// Where they end among the reads that are kept.
    reads_end: u32,
    /// Where the answers to those updates end.
    answers_end: u32,
    /// What the reads see: what those updates were published as, or what was published when they were refused. 0 stands for what is
    /// published when the reads are run.
    sequence: u64,
}

/// What keeps everything that the reads need.
/// It is taken once for a bundle, when its first read comes, and kept by the session for the next.
#[derive(Default)]
pub(crate) enum Slot {
    /// Nothing: they see what is published when they are run.
    #[default]
    None,
    /// Nothing was published yet that they see.
    Resting(Reader),
    /// From before the first of the updates on.
    Active(LongReadPoint),
    /// The same while they wait for their client: it may be revoked.
    Revocable(RevocableReadPoint),
}

/// What reads look at while they are run.
/// As long as it exists nothing that the reads need is freed.
pub(crate) enum Sight<'s> {
    /// What is published then.
    Now,
    /// What the updates before them were published as.
    Since(&'s LongReadPoint),
    /// The same, of a point that cannot be revoked meanwhile.
    Entered(Entered<'s>),
}

impl Slot {
    /// `None` if what the reads look at was revoked.
    pub(crate) fn enter(&mut self) -> Option<Sight<'_>> {
        match self {
            Slot::None | Slot::Resting(_) => Some(Sight::Now),
            Slot::Active(point) => Some(Sight::Since(point)),
            Slot::Revocable(point) => point.enter().map(Sight::Entered),
        }
    }

    /// Bytes that were held for the reads when what they look at was revoked, if it was.
    pub(crate) fn revoked_bytes(&self) -> Option<u64> {
        match self {
            Slot::Revocable(point) => point.revoked_bytes(),
            _ => None,
        }
    }
}

impl Sight<'_> {
    /// What the reads of a run look at whose updates were published as `sequence`. `None` if that is what is published now.
    #[inline]
    pub(crate) fn look(&self, sequence: u64) -> Option<Look<'_>> {
        match (self, sequence) {
            (_, 0) | (Sight::Now, _) => None,
            (Sight::Since(point), _) => Some(point.look_at(sequence)),
            (Sight::Entered(point), _) => Some(point.look_at(sequence)),
        }
    }
}

/// The marks of a bundle: they go with its updates, are filled in while these are applied, and come back with the
/// answers. A replay has none: what becomes of updates does not depend on where they are published.
///
/// Most updates have none, and are moved from hand to hand some ten times: so they are small.
#[derive(Default)]
pub(crate) struct Marks(Option<Box<Inner>>);

#[derive(Default)]
struct Inner {
    runs: Vec<Run>,
    /// Runs whose updates were applied.
    done: usize,
    /// The updates were refused.
    refused: bool,
    slot: Slot,
}

impl fmt::Debug for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.0.as_deref().map(|inner| (&inner.runs, inner.done));
        f.debug_tuple("Marks").field(&inner).finish()
    }
}

impl Marks {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|inner| inner.runs.is_empty())
    }

    /// Forgets all, but keeps its memory.
    pub(crate) fn clear(&mut self) {
        if let Some(inner) = &mut self.0 {
            inner.runs.clear();
            inner.done = 0;
            inner.refused = false;
            inner.slot = Slot::None;
        }
    }

    /// A read stands behind so many updates; it ends at `reads_end` among those kept.
    /// Reads that follow each other directly share a run, and so what they see.
    pub(crate) fn put(&mut self, updates: usize, reads_end: usize) {
        let (updates, reads_end) = (updates as u32, reads_end as u32);
        let runs = &mut self.0.get_or_insert_default().runs;
        assert!(
            runs.last().is_none_or(|last| last.updates <= updates && last.reads_end < reads_end),
            "reads stand behind updates in their order"
        );
        match runs.last_mut() {
            Some(last) if last.updates == updates => last.reads_end = reads_end,
            _ => runs.push(Run { updates, reads_end, ..Run::default() }),
        }
    }

    /// Makes sure of a slot for the reads so far, which see less than what follows them. `false` if there is none to spare.
    #[inline]
    pub(crate) fn hold(&mut self, shard: &Arc<Shard>) -> bool {
        let Some(inner) = &mut self.0 else { return true };
        if inner.runs.is_empty() || !matches!(inner.slot, Slot::None) {
            return true;
        }
        match Reader::register_spare(shard) {
            Some(reader) => inner.slot = Slot::Resting(reader),
            None => return false,
        }
        true
    }

    /// The updates are about to be applied: from now on nothing is freed that the reads need.
    #[inline]
    pub(crate) fn begin(&mut self) {
        let Some(inner) = &mut self.0 else { return };
        inner.slot = match std::mem::take(&mut inner.slot) {
            Slot::Resting(reader) => Slot::Active(reader.stay()),
            slot => slot,
        };
    }

    /// How many updates are to be applied before the next publication.
    #[inline]
    pub(crate) fn due(&self) -> usize {
        let run = self.0.as_ref().and_then(|inner| inner.runs.get(inner.done));
        run.map_or(usize::MAX, |run| run.updates as usize)
    }

    /// Publishes what is due while others of the batch follow.
    pub(crate) fn publish(&mut self, writer: &mut Writer<'_>, answers_end: usize) {
        let sequence = writer.publish_part();
        self.note(sequence, answers_end);
    }

    /// What is due was published as `sequence`, and answered up to there.
    pub(crate) fn note(&mut self, sequence: u64, answers_end: usize) {
        let inner = self.inner_mut();
        let before = inner.done.checked_sub(1).map_or(0, |last| inner.runs[last].answers_end as usize);
        assert!(before <= answers_end, "the answers to later updates stand behind those to earlier ones");
        let run = &mut inner.runs[inner.done];
        (run.sequence, run.answers_end) = (sequence, answers_end as u32);
        inner.done += 1;
    }

    /// The updates are refused. They may come true later all the same, if the log had them already: so their reads see none of
    /// them, and what they need is kept from now on, unless no update follows a read.
    ///
    /// `answers`: a whole message for each of the updates.
    pub(crate) fn refuse(&mut self, answers: &[u8]) {
        self.begin();
        let Some(inner) = &mut self.0 else { return };
        (inner.done, inner.refused) = (0, true);
        let sequence = match &inner.slot {
            Slot::Active(point) => point.read_point().sequence(),
            _ => 0,
        };
        // The answers are those of another server, or were made here: either way there is one for each update, in their order. A read stands behind
        // as many of them as it stood behind updates.
        let (mut at, mut end) = (0, 0);
        for answer in messages(answers) {
            if self.due() == at {
                self.note(sequence, end);
            }
            (at, end) = (at + 1, end + answer.len());
        }
        // Behind the last update.
        while self.due() != usize::MAX {
            self.note(sequence, answers.len());
        }
    }

    /// Were the updates refused, and this not asked before? That is for directories whose log is replicated: what was published when they were
    /// refused may be older than what is acknowledged elsewhere. Then the reads see what is published when they are run.
    pub(crate) fn take_refused(&mut self) -> bool {
        let Some(inner) = self.0.as_mut().filter(|inner| inner.refused) else { return false };
        (inner.refused, inner.slot) = (false, Slot::None);
        inner.runs.iter_mut().for_each(|run| run.sequence = 0);
        true
    }

    /// Of marks that have a run: callers have seen that there is one.
    fn inner(&self) -> &Inner {
        self.0.as_ref().expect("there is a run")
    }

    fn inner_mut(&mut self) -> &mut Inner {
        self.0.as_mut().expect("there is a run")
    }

    /// Where the reads of a run end, and where the answers to the updates before them do.
    pub(crate) fn ends(&self, run: usize) -> (usize, usize) {
        let run = &self.inner().runs[run];
        (run.reads_end as usize, run.answers_end as usize)
    }

    /// What the reads of a run see, as in [`Run`].
    pub(crate) fn sequence(&self, run: usize) -> u64 {
        self.inner().runs[run].sequence
    }

    /// What keeps what the reads look at, while some of them are run.
    pub(crate) fn take_slot(&mut self) -> Slot {
        std::mem::take(&mut self.inner_mut().slot)
    }

    /// Puts it back for the reads that are left.
    pub(crate) fn put_slot(&mut self, slot: Slot) {
        let inner = self.inner_mut();
        assert!(matches!(inner.slot, Slot::None), "what the reads look at was taken out before");
        inner.slot = slot;
    }

    /// The reads that are left wait for their client: what they look at may be revoked from now on.
    pub(crate) fn may_be_revoked(&mut self, holder: Holder) {
        self.inner_mut().slot = match self.take_slot() {
            Slot::Active(point) => Slot::Revocable(point.into_revocable(holder)),
            slot => slot,
        };
    }
}
