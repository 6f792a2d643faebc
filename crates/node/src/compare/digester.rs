//! Makes digests beside the log. Clones are the same.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::SliceDigest;

/// See the module. One digests, the other asks and takes; none of them waits for the other.
#[derive(Clone, Default)]
pub struct Digester(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// What is to be digested, at which entry of the log.
    work: Option<(u64, SliceDigest)>,
    /// Which work there was last, so that one that was replaced meanwhile is not put back.
    number: u64,
    done: Option<(u64, u64)>,
}

impl Digester {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole after every statement, so one who panicked left nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A slice is to be digested, as it is at an entry of the log. What was to be digested before is given up.
    pub(super) fn begin(&self, index: u64, slice: SliceDigest) {
        let mut state = self.lock();
        state.number += 1;
        (state.work, state.done) = (Some((index, slice)), None);
    }

    /// The entry of the log, and the digest of the slice there, once it is made.
    pub(super) fn take_done(&self) -> Option<(u64, u64)> {
        self.lock().done.take()
    }

    /// Digests a few entries, so many ids at most. Nobody waits meanwhile.
    pub fn step(&self, ids_max: u32) {
        let (number, work) = {
            let mut state = self.lock();
            (state.number, state.work.take())
        };
        let Some((index, mut slice)) = work else { return };
        let digest = slice.step(ids_max);
        let mut state = self.lock();
        if state.number == number {
            match digest {
                Some(digest) => state.done = Some((index, digest)),
                None => state.work = Some((index, slice)),
            }
        }
    }
}
