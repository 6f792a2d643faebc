//! Inputs that are read at the same time: threads take pieces from them and work on them, and one thread gets the outcome
//! in the order of each lane.
//!
//! ```text
//! input --\                       /-- thread --\
//! input ----> lane: one at a time ---- thread ----> in the order of each lane --> taker
//! input --/                       \-- thread --/
//! ```
//! As many inputs are read at a time as there are lanes; the next input takes the place of the first that ends. The pieces
//! of a lane are taken in the order in which they were read. So each input has its order, and with one lane all inputs
//! have theirs. A thread has a lane that it reads first, so that an input which is silent holds up no other.

use crate::batch::Batch;
use crate::report::Fault;
use crate::source::Source;
use env::task;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Inputs read at a time, and threads, at most.
pub(crate) const STREAMS_MAX: usize = 64;

/// How much goes on at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Inputs that are read at a time.
    pub(crate) streams: usize,
    /// Threads that read and work, at least.
    pub(crate) threads: usize,
}

/// A place where one input after the other is read.
struct Lane<S> {
    number: usize,
    /// Number and source of the input that is read.
    reading: Option<(usize, S)>,
    /// Pieces read so far, of all its inputs.
    pieces: u64,
}

/// What the threads share.
struct Shared<S> {
    /// What is read now.
    lanes: Vec<Mutex<Lane<S>>>,
    /// What comes then.
    waiting: Mutex<std::vec::IntoIter<(usize, S)>>,
    /// The one that has an empty batch can finish a piece, so that the oldest one is always on its way.
    empty: Mutex<Receiver<Batch>>,
    full: Mutex<Vec<Sender<Batch>>>,
}

/// Reads sources, which have these numbers, until they end or `take` gives no batch back. `work` is done on threads, each
/// with what `worker` made for it. The batches of one source come in order; one with a failure (`is_fatal`) comes last. With
/// `plan.streams` of 1 all batches come in the order of the sources.
pub(crate) fn run<S: Source, W>(
    sources: Vec<(usize, S)>,
    plan: Plan,
    worker: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, &mut Batch) + Sync,
    take: impl FnMut(Batch) -> Option<Batch>,
) {
    let streams = plan.streams.clamp(1, STREAMS_MAX).min(sources.len().max(1));
    let threads = plan.threads.clamp(1, STREAMS_MAX).max(streams);
    let batches = 2 * threads + 2;
    let (recycled, empty) = sync_channel(batches);
    (0..batches).for_each(|_| drop(recycled.send(Batch::default())));
    let (full, ready) = channel();
    let mut waiting = sources.into_iter();
    let shared = Shared {
        lanes: (0..streams)
            .map(|number| Mutex::new(Lane { number, reading: waiting.next(), pieces: 0 }))
            .collect(),
        waiting: Mutex::new(waiting),
        empty: Mutex::new(empty),
        full: Mutex::new((0..threads).map(|_| full.clone()).collect()),
    };
    drop(full);
    task::run_with_workers(
        threads,
        |number| {
            let Some(full) = locked(&shared.full).pop() else { return };
            let mut state = worker();
            while let Some(mut batch) = shared.next(number) {
                // A panic must not leave the taker waiting for this batch.
                if !batch.is_fatal && catch_unwind(AssertUnwindSafe(|| work(&mut state, &mut batch))).is_err()
                {
                    batch.fail(Fault::at(batch.piece.line, "a bug: a check after this line panicked"));
                }
                if full.send(batch).is_err() {
                    return;
                }
            }
        },
        // Moved in: when it ends, so do the channels, and with them the threads.
        move || in_order(ready, take, |batch| drop(recycled.send(batch))),
    );
}

/// Hands batches to `take` in the order of each lane.
fn in_order(ready: Receiver<Batch>, mut take: impl FnMut(Batch) -> Option<Batch>, recycle: impl Fn(Batch)) {
    let (mut early, mut next) = (BTreeMap::new(), BTreeMap::new());
    for batch in ready {
        let lane = batch.lane;
        let next = next.entry(lane).or_insert(0);
        assert!(batch.number >= *next, "each piece of a lane is taken once");
        early.insert((lane, batch.number), batch);
        while let Some(batch) = early.remove(&(lane, *next)) {
            *next += 1;
            match take(batch) {
                // The threads that have ended need no empty batch.
                Some(batch) => recycle(batch),
                None => return,
            }
        }
    }
    assert!(early.is_empty(), "no piece of a lane was lost on its way");
}

impl<S: Source> Shared<S> {
    /// The next piece for a thread; `None` at the end.
    fn next(&self, thread: usize) -> Option<Batch> {
        let mut batch = locked(&self.empty).recv().ok()?;
        batch.clear();
        let lane = |at: usize| &self.lanes[(thread + at) % self.lanes.len()];
        let is_read = (0..self.lanes.len()).any(|at| self.read(&mut locked(lane(at)), &mut batch));
        is_read.then_some(batch)
    }

    /// Reads a piece of what a lane has, or of what comes then; false at the end.
    fn read(&self, lane: &mut Lane<S>, batch: &mut Batch) -> bool {
        while let Some((input, source)) = &mut lane.reading {
            let read = source.next(&mut batch.piece);
            batch.piece.input = *input;
            match read {
                Ok(true) => {}
                Ok(false) => {
                    lane.reading = locked(&self.waiting).next();
                    continue;
                }
                Err(fault) => {
                    batch.fail(fault);
                    lane.reading = None;
                }
            }
            (batch.lane, batch.number) = (lane.number, lane.pieces);
            lane.pieces += 1;
            return true;
        }
        false
    }
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
