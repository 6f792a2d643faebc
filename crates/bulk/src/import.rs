//! An import: threads that read and check, and the one that stores.
//!
//! ```text
//! inputs --(some at a time)--> piece --(many threads)--> batch --(in order of each input)--> shard
//! ```
//! Entries that come before their superior are deferred and tried again after the rest, as often as that gets any
//! of them in.

use crate::batch::{Batch, Item, Maker, Step};
use crate::fields::Fields;
use crate::import_state::{self, ImportState, Importer};
use crate::operational::Operational;
use crate::record::{RecordOrFault, Records};
use crate::report::{Callbacks, FAULTS_MAX, Fault, ImportError, Summary};
use crate::source::{Input, Piece, Source};
use crate::streams::{self, Plan};
use crate::words::Passwords;
use env::memory::Pages;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use store::{Refused, Shard, Stamp, Writer};

/// Entries made visible at once.
const PUBLISH_ENTRIES: usize = 1024;
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
    /// What becomes of passwords in the clear.
    pub passwords: Passwords,
    /// Threads that read and check, beside the one that stores: 1 to 64, and one for each stream at least.
    pub threads: usize,
    /// Inputs that are read at a time: 1 to 64. With one of them entries are stored in the order of the inputs.
    pub streams: usize,
}

/// Loads entries: LDIF with content records and `changetype: add`, or BER adds ([`proto::add_stream`]). An entry may come
/// before its superior, in another input too.
///
/// Memory is bounded by a few pieces of 256 KiB per thread, or the longest record, and what waits for superiors.
///
/// # Errors
/// Everything that is wrong, up to a bound. What was stored before stays stored: the caller throws the shard away.
///
/// # Panics
/// If the shard has an active reader.
pub fn import(
    import: Import<'_>,
    inputs: &mut [Input<'_>],
    callbacks: Callbacks<'_>,
) -> Result<Summary, ImportError> {
    let state = ImportState::new(inputs, callbacks, FAULTS_MAX);
    let (maker, item, due) = (import.maker(), Item::default(), Arc::default());
    let mut storing = Storing { import, state, maker, item, due };
    import_state::run(&mut storing, inputs);
    if storing.state.is_sound() {
        storing.finish();
    }
    storing.state.end()
}

/// The storing side.
struct Storing<'a, 't> {
    import: Import<'a>,
    state: ImportState<'t>,
    /// For entries that were ready but could not be added as such.
    maker: Maker<'a>,
    item: Item,
    /// Memory that is needed soon: the threads that read and check have the kernel hand it out.
    due: Arc<Mutex<VecDeque<Pages>>>,
}

impl<'a> Import<'a> {
    /// What a thread makes entries ready with.
    fn maker(&self) -> Maker<'a> {
        let operational = match self.shard.settings().operational_attributes {
            true => self.operational,
            false => Operational::Strip,
        };
        Maker::new(self.shard, Fields::new(self.shard.schema(), operational, self.passwords))
    }
}

impl<'t> Importer<'t> for Storing<'_, 't> {
    fn state(&mut self) -> &mut ImportState<'t> {
        &mut self.state
    }

    fn pass(&mut self, sources: Vec<(usize, impl Source)>) {
        let (import, due) = (self.import, Arc::clone(&self.due));
        // The faults of a piece are bounded: an import ends at as many, or by the records of the piece.
        let faults_max = if self.state.takes_rejects() { usize::MAX } else { FAULTS_MAX };
        streams::run(
            sources,
            Plan { streams: import.streams, threads: import.threads },
            || import.maker(),
            |maker, batch| {
                batch.prepare(maker, faults_max);
                let next = streams::locked(&due).pop_front();
                next.into_iter().for_each(|pages| _ = pages.fault_in());
            },
            |batch| self.take_batch(batch),
        );
    }

    fn take(&mut self, batch: &Batch) {
        self.store(batch);
        self.try_held();
    }
}

impl Storing<'_, '_> {
    /// Tries again what waits in memory, once it is much.
    fn try_held(&mut self) {
        let held = self.state.take_held();
        if held.is_empty() {
            return;
        }
        for (input, spans) in held {
            for span in &spans.list {
                let bytes = spans.bytes_of(span).to_vec();
                let (line, offset) = (span.line, span.offset);
                let piece = Piece { input, form: spans.form, bytes, line, offset };
                self.add_all_again(&piece);
            }
        }
        self.state.tried_held();
    }

    fn add_all_again(&mut self, piece: &Piece) {
        let mut writer = self.import.shard.writer();
        writer.load();
        let mut records = Records::of(piece);
        while let Some(record) = records.next()
            && !self.state.is_over()
        {
            self.add_again(&mut writer, piece, record);
        }
        writer.publish();
    }

    /// Adds the entries of a batch, so many at a time.
    fn store(&mut self, batch: &Batch) {
        let mut steps = batch.steps.iter().cloned();
        let (mut next, mut soon) = (steps.next(), Vec::new());
        while next.is_some() && !self.state.is_over() {
            let mut writer = self.import.shard.writer();
            writer.load();
            let mut room = PUBLISH_ENTRIES;
            while room > 0
                && let Some(step) = next.take()
            {
                next = match step {
                    Step::Rows(rows) => {
                        let end = rows.end.min(rows.start + room);
                        self.add_rows(&mut writer, batch, rows.start..end);
                        room -= end - rows.start;
                        if end < rows.end { Some(Step::Rows(end..rows.end)) } else { steps.next() }
                    }
                    Step::Item(at) => {
                        if let Some(later) = batch.items().get(at + PREFETCH) {
                            writer.prefetch_prepared(&later.prepared);
                        }
                        self.add(&mut writer, &batch.piece, &batch.items()[at]);
                        room -= 1;
                        steps.next()
                    }
                };
                if self.state.is_over() {
                    break;
                }
            }
            writer.ahead(&mut soon);
            streams::locked(&self.due).extend(soon.drain(..));
            writer.publish();
        }
    }

    /// Adds a row batch; one that cannot be added as such is looked at once more.
    fn add_rows(&mut self, writer: &mut Writer<'_>, batch: &Batch, range: Range<usize>) {
        let (Batch { rows, places, .. }, mut at) = (batch, range.start);
        assert!(range.end <= places.len(), "a record that is refused is found by the place of its row");
        while at < range.end && !self.state.is_over() {
            let added = writer.add_rows(rows, at..range.end, self.import.stamp_ms);
            assert!(added <= range.end - at, "no more rows are added than were given");
            self.state.count_entries(batch.piece.input, added);
            at += added;
            if at < range.end {
                let mut records = Records::one(&batch.piece, &places[at]);
                let lost = || Fault::at(places[at].line, "a bug: the record is not there any more");
                let record = records.next().unwrap_or_else(|| Err((lost(), places[at].range.clone())));
                self.add_again(writer, &batch.piece, record);
                at += 1;
            }
        }
    }

    /// Makes an entry ready from the ground up and adds it.
    fn add_again(&mut self, writer: &mut Writer<'_>, piece: &Piece, record: RecordOrFault<'_>) {
        let mut item = std::mem::take(&mut self.item);
        let made = record.and_then(|record| {
            self.maker.item(&mut item, &record).map_err(|fault| (fault, record.place.range))
        });
        match made {
            Ok(()) => self.add(writer, piece, &item),
            Err((fault, range)) => self.state.refuse(piece, range, fault),
        }
        self.item = item;
    }

    fn add(&mut self, writer: &mut Writer<'_>, piece: &Piece, item: &Item) {
        let stamp = Stamp { csn: writer.stamp(self.import.stamp_ms), actor: 0 };
        let fault = |reason| Fault::of(item.place.line, &item.prepared.dn, reason);
        let reason = match writer.add_prepared(&item.prepared, stamp) {
            Ok(_) => return self.state.count_entries(piece.input, 1),
            Err(Refused::NoSuchSuperior { .. }) if !self.state.is_final() => {
                return self.state.defer(piece, &item.place, fault);
            }
            Err(Refused::NoSuchSuperior { .. }) => {
                let superior = String::from_utf8_lossy(item.prepared.superior().unwrap_or_default());
                format!("its superior {superior} is neither in the directory nor in the input")
            }
            Err(full @ (Refused::MemoryLimit { .. } | Refused::StoreLimit(_))) => {
                let offset = piece.offset + item.place.range.start as u64;
                return self.state.give_up(piece.input, Fault { offset, ..fault(full.to_string()) });
            }
            Err(refused) => refused.to_string(),
        };
        self.state.refuse(piece, item.place.range.clone(), fault(reason));
    }

    /// Builds what is best built at once.
    fn finish(&mut self) {
        let mut writer = self.import.shard.writer();
        writer.load();
        if let Err(refused) = writer.finish_load() {
            self.state.note(Fault::at(0, refused.to_string()));
        }
        writer.publish();
    }
}

#[cfg(test)]
mod tests;
