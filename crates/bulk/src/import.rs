//! An import: threads that read and check, and the one that stores.
//!
//! ```text
//! input --(one at a time)--> piece --(many threads)--> batch --(in order of the input)--> shard
//! ```
//! Entries that come before their superior are set aside and tried again after the rest, as often as that gets any
//! of them in.

use crate::aside::{Spans, TooMany};
use crate::batch::Batch;
use crate::fields::Fields;
use crate::operational::Operational;
use crate::source::{Again, Input, Source, SourceError, Whole};
use env::task;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use store::{Refused, Shard, Stamp, Writer};

/// Faults after which an import gives up.
pub const FAULTS_MAX: usize = 20;
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

/// How far an import is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Entries stored.
    pub entries: u64,
    /// Bytes of LDIF read, each counted once.
    pub bytes: u64,
}

/// What an import did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Entries stored.
    pub entries: u64,
    /// Bytes of LDIF they were.
    pub bytes: u64,
    /// Entries that came before their superior.
    pub set_aside: u64,
    /// Records that were not stored but handed out.
    pub rejected: u64,
}

/// One thing that is wrong with the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Number of the input, from 0.
    pub input: usize,
    /// Line of the input, from 1; 0 if it is about no line.
    pub line: u64,
    /// DN of the entry, if it is about one; long ones are cut.
    pub dn: Option<String>,
    /// What is wrong.
    pub reason: String,
}

impl Fault {
    pub(crate) fn at(line: u64, reason: String) -> Fault {
        Fault { input: 0, line, dn: None, reason }
    }

    pub(crate) fn of(line: u64, dn: &[u8], reason: String) -> Fault {
        Fault::at(line, reason).with_dn(dn)
    }

    pub(crate) fn with_dn(self, dn: &[u8]) -> Fault {
        Fault { dn: Some(String::from_utf8_lossy(&dn[..dn.len().min(1024)]).into_owned()), ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line != 0 {
            write!(f, "{}: ", self.line)?;
        }
        match &self.dn {
            Some(dn) => write!(f, "{dn}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

/// Takes a record that cannot be stored: what is wrong, and its text.
pub type OnReject<'r> = &'r mut dyn FnMut(&Fault, &[u8]) -> io::Result<()>;

/// What is told while an import goes on.
pub struct Tell<'t> {
    /// Told after every piece.
    pub on_progress: &'t mut dyn FnMut(Progress),
    /// Takes the records that cannot be stored; without it they make the import fail.
    pub on_reject: Option<OnReject<'t>>,
}

/// An import that did not go through. What was stored stays stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// What is wrong, in order of input and line: 1 to [`FAULTS_MAX`] faults.
    pub faults: Vec<Fault>,
    /// How far it came.
    pub done: Progress,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.faults.iter().try_for_each(|fault| writeln!(f, "{fault}"))?;
        write!(f, "{} entries were stored before", self.done.entries)
    }
}

impl std::error::Error for ImportError {}

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
    let spans = |input: &Input<'_>| Spans::new(matches!(input, Input::Stream(_)));
    let mut storing = Storing {
        import,
        input: 0,
        progress: Progress::default(),
        faults: Vec::new(),
        is_over: false,
        on_reject,
        rejected: 0,
        aside: inputs.iter().map(spans).collect(),
        is_final: false,
    };
    for (number, input) in inputs.iter_mut().enumerate() {
        storing.input = number;
        if !storing.is_over {
            pass(&mut storing, Whole::new(input), on_progress);
        }
    }
    let bytes = storing.progress.bytes;
    let waiting = |storing: &Storing<'_, '_>| storing.aside.iter().map(|aside| aside.records).sum::<u64>();
    let set_aside = waiting(&storing);
    while storing.faults.is_empty() && waiting(&storing) > 0 {
        let before = storing.progress.entries;
        let mut again = |progress| on_progress(Progress { bytes, ..progress });
        for (number, input) in inputs.iter_mut().enumerate() {
            storing.input = number;
            let waiting = std::mem::replace(&mut storing.aside[number], spans(input));
            if storing.is_over || waiting.records == 0 {
                continue;
            }
            pass(&mut storing, Again::new(input, waiting), &mut again);
        }
        storing.is_final = storing.progress.entries == before;
    }
    storing.progress.bytes = bytes;
    if storing.faults.is_empty() {
        storing.finish();
    }
    let (done, mut faults, rejected) = (storing.progress, storing.faults, storing.rejected);
    if faults.is_empty() {
        return Ok(Summary { entries: done.entries, bytes: done.bytes, set_aside, rejected });
    }
    faults.sort_by_key(|fault| (fault.input, fault.line));
    faults.truncate(FAULTS_MAX);
    Err(ImportError { faults, done })
}

/// Takes pieces from a source, has them made ready on threads, and stores them in order.
fn pass(storing: &mut Storing<'_, '_>, source: impl Source, on_progress: &mut dyn FnMut(Progress)) {
    let Import { shard, operational, threads, .. } = storing.import;
    let operational = match shard.settings().operational_attributes {
        true => operational,
        false => Operational::Strip,
    };
    let threads = threads.clamp(1, THREADS_MAX);
    // The faults of a piece are bounded: an import ends at as many, or by the records of the piece.
    let faults_max = if storing.on_reject.is_some() { usize::MAX } else { FAULTS_MAX };
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
        move || storing.store_all(ready, recycled, on_progress),
    );
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
    /// Number of the input that is read.
    input: usize,
    progress: Progress,
    faults: Vec<Fault>,
    /// Is there nothing more to be stored?
    is_over: bool,
    on_reject: Option<OnReject<'t>>,
    rejected: u64,
    /// What waits for superiors, of each input.
    aside: Vec<Spans>,
    /// Is a missing superior a fault now?
    is_final: bool,
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
                return batch.faults.into_iter().for_each(|(fault, _)| self.give_up(fault));
            }
            early.insert(batch.piece.number, batch);
            while let Some(mut batch) = early.remove(&next) {
                next += 1;
                for (fault, record) in std::mem::take(&mut batch.faults) {
                    self.refuse(fault, &batch, record);
                }
                self.store(&batch);
                if self.is_over {
                    return;
                }
                self.progress.bytes += batch.piece.bytes.len() as u64;
                on_progress(self.progress);
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
                if self.is_over {
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
                self.progress.entries += 1;
                return;
            }
            Err(Refused::NoSuchSuperior { .. }) if !self.is_final => {
                let bytes = &batch.piece.bytes[item.record.clone()];
                let offset = batch.piece.offset + item.record.start as u64;
                if let Err(TooMany) = self.aside[self.input].push(bytes, offset, item.begin_line) {
                    let reason = "too many entries come before their superiors; sort the input";
                    self.give_up(fault(reason.to_owned()));
                }
                return;
            }
            Err(Refused::NoSuchSuperior { .. }) => {
                let superior = String::from_utf8_lossy(item.prepared.superior().unwrap_or_default());
                format!("its superior {superior} is neither in the directory nor in the input")
            }
            Err(full @ (Refused::MemoryLimit { .. } | Refused::StoreLimit(_))) => {
                return self.give_up(fault(full.to_string()));
            }
            Err(refused) => refused.to_string(),
        };
        self.refuse(fault(reason), batch, item.record.clone());
    }

    /// Hands out a record of a batch that cannot be stored, or takes note of it.
    fn refuse(&mut self, mut fault: Fault, batch: &Batch, record: Range<usize>) {
        fault.input = self.input;
        let Some(on_reject) = &mut self.on_reject else {
            self.faults.push(fault);
            self.is_over |= self.faults.len() >= FAULTS_MAX;
            return;
        };
        self.rejected += 1;
        if let Err(error) = on_reject(&fault, &batch.piece.bytes[record]) {
            self.give_up(Fault::at(0, format!("what was rejected cannot be written: {error}")));
        }
    }

    /// Takes note of a fault that nothing can be stored after.
    fn give_up(&mut self, fault: Fault) {
        self.faults.push(Fault { input: self.input, ..fault });
        self.is_over = true;
    }

    /// Builds what is best built at once.
    fn finish(&mut self) {
        let mut writer = self.import.shard.writer();
        writer.load();
        if let Err(refused) = writer.finish_load() {
            self.faults.push(Fault::at(0, refused.to_string()));
        }
        writer.publish();
    }
}

#[cfg(test)]
mod tests;
