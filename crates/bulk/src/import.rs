//! An import: threads that read and check, and the one that stores.
//!
//! ```text
//! input --(one at a time)--> piece --(many threads)--> batch --(in order of the input)--> shard
//! ```
//! Entries that come before their superior are set aside and tried again after the rest, as often as that gets any
//! of them in.

use crate::batch::Batch;
use crate::course::{self, Course, Importer};
use crate::fields::Fields;
use crate::operational::Operational;
use crate::report::{FAULTS_MAX, Fault, ImportError, Progress, Summary, Tell};
use crate::source::{Input, Source, SourceError};
use env::task;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use store::{Refused, Shard, Stamp, Writer};

/// Entries made visible at once.
const PUBLISH_ENTRIES: usize = 1024;
/// Threads that read and check, at most.
const THREADS_MAX: usize = 64;
/// Entries ahead of the one being added whose memory is asked for.
const PREFETCH: usize = 6;

/// How to import.
#[derive(Clone, Copy)]
pub struct Import<'a> {
    /// Where to. Nobody may read it meanwhile.
    pub shard: &'a Shard,
    /// Wall time for change sequence numbers, milliseconds since 1970.
    pub stamp_ms: u64,
    /// What becomes of operational attributes; in a directory without them they are stripped.
    pub operational: Operational,
    /// Threads that read and check, beside the one that stores: 1 to 64.
    pub threads: usize,
}

/// Loads LDIF: content records and `changetype: add`. An entry may come before its superior, in another input too.
///
/// Memory is bounded by a few pieces of 256 KiB per thread, or the longest record, and what waits for superiors.
///
/// # Errors
/// Everything that is wrong, up to a bound. What was stored before stays stored: the caller throws the shard away.
///
/// # Panics
/// If the shard has an active reader.
pub fn ldif(import: Import<'_>, inputs: &mut [Input<'_>], tell: Tell<'_>) -> Result<Summary, ImportError> {
    let Tell { on_progress, on_reject } = tell;
    let mut storing = Storing { import, course: Course::new(inputs, on_reject, FAULTS_MAX) };
    course::run(&mut storing, inputs, on_progress);
    if storing.course.is_sound() {
        storing.finish();
    }
    storing.course.end()
}

/// What the threads take their work from, one at a time. The empty batch is taken first, then the piece: whoever
/// has a piece can finish it, so that the oldest one is always on its way.
struct Taking<S> {
    source: S,
    empty: Receiver<Batch>,
    full: Sender<Batch>,
}

/// The next piece, and where to send it; `None` at the end.
fn take<S: Source>(shared: &Mutex<Option<Taking<S>>>) -> Option<(Batch, Sender<Batch>)> {
    let mut slot = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let taking = slot.as_mut()?;
    let Ok(mut batch) = taking.empty.recv() else {
        *slot = None;
        return None;
    };
    batch.clear();
    let fault = match taking.source.next(&mut batch.piece) {
        Ok(true) => return Some((batch, taking.full.clone())),
        // Gone with its sender: the storing side ends when the last thread has sent what it has.
        Ok(false) => {
            *slot = None;
            return None;
        }
        Err(SourceError::TooLong { line }) => Fault::at(line, "the record is too long".to_owned()),
        Err(SourceError::Io(error)) => Fault::at(0, format!("cannot be read: {error}")),
    };
    batch.faults.push((fault, 0..0));
    batch.is_fatal = true;
    let full = slot.take()?.full;
    Some((batch, full))
}

/// The storing side.
struct Storing<'a, 't> {
    import: Import<'a>,
    course: Course<'t>,
}

impl<'t> Importer<'t> for Storing<'_, 't> {
    fn course(&mut self) -> &mut Course<'t> {
        &mut self.course
    }

    /// Takes pieces from a source, has them made ready on threads, and stores them in order.
    fn pass(&mut self, source: impl Source, on_progress: &mut dyn FnMut(Progress)) {
        let Import { shard, operational, threads, .. } = self.import;
        let operational = match shard.settings().operational_attributes {
            true => operational,
            false => Operational::Strip,
        };
        let threads = threads.clamp(1, THREADS_MAX);
        // The faults of a piece are bounded: an import ends at as many, or by the records of the piece.
        let faults_max = if self.course.takes_rejects() { usize::MAX } else { FAULTS_MAX };
        let batches = 2 * threads + 2;
        let (recycled, empty) = sync_channel(batches);
        (0..batches).for_each(|_| drop(recycled.send(Batch::default())));
        let (full, ready) = channel();
        let shared = Mutex::new(Some(Taking { source, empty, full }));
        task::run_with_workers(
            threads,
            |_| {
                let mut fields = Fields::new(shard.schema(), operational);
                while let Some((mut batch, full)) = take(&shared) {
                    // A panic must not leave the storing side waiting for this batch.
                    let work =
                        AssertUnwindSafe(|| batch.is_fatal || batch.prepare(shard, &mut fields, faults_max));
                    if catch_unwind(work).is_err() {
                        let reason = "a bug: a check after this line panicked".to_owned();
                        batch.faults.push((Fault::at(batch.piece.line, reason), 0..0));
                        batch.is_fatal = true;
                    }
                    if full.send(batch).is_err() {
                        return;
                    }
                }
            },
            // Moved in: when it ends, so do the channels, and with them the threads.
            move || self.store_all(ready, recycled, on_progress),
        );
    }
}

impl Storing<'_, '_> {
    fn store_all(
        &mut self,
        ready: Receiver<Batch>,
        recycled: SyncSender<Batch>,
        on_progress: &mut dyn FnMut(Progress),
    ) {
        let (mut early, mut next) = (BTreeMap::new(), 0);
        for batch in ready {
            if batch.is_fatal {
                // It has no place among the pieces, and what is still under way does not matter any more.
                return batch.faults.into_iter().for_each(|(fault, _)| self.course.give_up(fault));
            }
            early.insert(batch.piece.number, batch);
            while let Some(mut batch) = early.remove(&next) {
                next += 1;
                for (fault, record) in std::mem::take(&mut batch.faults) {
                    self.course.refuse(fault, &batch.piece.bytes[record]);
                }
                self.store(&batch);
                if self.course.is_over() {
                    return;
                }
                self.course.progress.bytes += batch.piece.bytes.len() as u64;
                on_progress(self.course.progress);
                // The threads that have ended need no empty batch.
                let _ = recycled.send(batch);
            }
        }
    }

    fn store(&mut self, batch: &Batch) {
        for (at, items) in batch.items().chunks(PUBLISH_ENTRIES).enumerate() {
            let mut writer = self.import.shard.writer();
            writer.load();
            for within in 0..items.len() {
                if self.course.is_over() {
                    break;
                }
                if let Some(later) = items.get(within + PREFETCH) {
                    writer.prefetch_prepared(&later.prepared);
                }
                self.add(&mut writer, batch, at * PUBLISH_ENTRIES + within);
            }
            writer.publish();
        }
    }

    fn add(&mut self, writer: &mut Writer<'_>, batch: &Batch, at: usize) {
        let item = &batch.items()[at];
        let stamp = Stamp { csn: writer.stamp(self.import.stamp_ms), actor: 0 };
        let fault = |reason| Fault::of(item.line, &item.prepared.dn, reason);
        let reason = match writer.add_prepared(&item.prepared, stamp) {
            Ok(_) => {
                self.course.progress.entries += 1;
                return;
            }
            Err(Refused::NoSuchSuperior { .. }) if !self.course.is_final() => {
                let bytes = &batch.piece.bytes[item.record.clone()];
                let offset = batch.piece.offset + item.record.start as u64;
                self.course.set_aside(bytes, offset, item.begin_line, fault);
                return;
            }
            Err(Refused::NoSuchSuperior { .. }) => {
                let superior = String::from_utf8_lossy(item.prepared.superior().unwrap_or_default());
                format!("its superior {superior} is neither in the directory nor in the input")
            }
            Err(full @ (Refused::MemoryLimit { .. } | Refused::StoreLimit(_))) => {
                return self.course.give_up(fault(full.to_string()));
            }
            Err(refused) => refused.to_string(),
        };
        self.course.refuse(fault(reason), &batch.piece.bytes[item.record.clone()]);
    }

    /// Builds what is best built at once.
    fn finish(&mut self) {
        let mut writer = self.import.shard.writer();
        writer.load();
        if let Err(refused) = writer.finish_load() {
            self.course.note(Fault::at(0, refused.to_string()));
        }
        writer.publish();
    }
}

#[cfg(test)]
mod tests;
