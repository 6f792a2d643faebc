//! From a piece of records to entries that are ready to be added: what many threads do at once.
//!
//! Most entries of a stream match the template of one that was just made ready. Of these only the values are looked at
//! ([`store::Rows`]); any other is checked from the ground up.

use crate::fields::Fields;
use crate::record::{Place, Record, Records};
use crate::report::Fault;
use crate::source::Piece;
use env::fast;
use proto::ldif::Value;
use std::ops::Range;
use std::sync::Arc;
use store::{Pattern, Prepared, Rows, Shard, Unlike};

/// Patterns that a thread remembers.
const PATTERNS_MAX: usize = 4;
/// After so many entries that are like none of them, one in as many is learned from.
const UNLIKE_MAX: u32 = 64;

/// A piece and what became of it. Its memory is used again.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) piece: Piece,
    /// Lane that read the piece.
    pub(crate) lane: usize,
    /// Place among the pieces of that lane in this pass, from 0.
    pub(crate) number: u64,
    items: Vec<Item>,
    used: usize,
    /// The row batches.
    pub(crate) rows: Rows,
    /// Where the records of the rows are.
    pub(crate) places: Vec<Place>,
    /// In which order items and rows are to be added.
    pub(crate) steps: Vec<Step>,
    /// What is wrong with records of the piece, in order of line, and which of its bytes each is.
    pub(crate) faults: Vec<(Fault, Range<usize>)>,
    /// Nothing can follow: the input ended with a failure.
    pub(crate) is_fatal: bool,
}

/// Entries of a batch that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Some of one template.
    Rows(Range<usize>),
    /// Any one.
    Item(usize),
}

/// What a thread makes entries ready with.
pub(crate) struct Maker<'s> {
    shard: &'s Shard,
    fields: Fields<'s>,
    /// The one that was of use last comes first.
    patterns: Vec<Arc<Pattern>>,
    /// Entries since the last one that was like a pattern.
    unlike: u32,
}

/// One entry, ready to be added.
#[derive(Default)]
pub(crate) struct Item {
    pub(crate) prepared: Prepared,
    /// Its record in the piece.
    pub(crate) place: Place,
}

/// Buffers beyond this are given back when an entry is done with.
const ITEM_BYTES_KEPT: usize = 64 << 10;

impl Batch {
    /// The entries that are like no other, in order.
    pub(crate) fn items(&self) -> &[Item] {
        &self.items[..self.used]
    }

    /// Empties it, but for the piece.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
        self.rows.clear();
        self.places.clear();
        self.steps.clear();
        self.faults.clear();
        self.is_fatal = false;
        if self.piece.bytes.capacity() > 4 * crate::source::PIECE_BYTES {
            // It held a huge record.
            self.piece.bytes = Vec::new();
        }
    }

    /// Says that nothing can follow.
    pub(crate) fn fail(&mut self, fault: Fault) {
        self.faults.push((fault, 0..0));
        self.is_fatal = true;
    }

    /// Reads the piece and makes its entries ready, up to `faults_max` that are not.
    pub(crate) fn prepare(&mut self, maker: &mut Maker<'_>, faults_max: usize) {
        assert!(self.steps.is_empty() && self.used == 0, "a batch was cleared since its last piece");
        let piece = std::mem::take(&mut self.piece);
        let mut records = Records::of(&piece);
        while self.faults.len() < faults_max
            && let Some(record) = records.next()
        {
            match record {
                Ok(record) if maker.begin_row(&mut self.rows, &record).is_ok() => self.push_row(record.place),
                Ok(record) => {
                    if let Err(fault) = self.push_item(maker, &record) {
                        self.faults.push((fault, record.place.range));
                    }
                }
                Err(fault) => self.faults.push(fault),
            }
        }
        self.piece = piece;
    }

    #[inline]
    fn push_row(&mut self, place: Place) {
        self.places.push(place);
        let end = self.rows.len();
        assert!(self.places.len() == end, "each row has its place");
        match self.steps.last_mut() {
            Some(Step::Rows(rows)) => {
                assert!(rows.end + 1 == end, "the rows of a step are neighbours");
                rows.end = end;
            }
            _ => self.steps.push(Step::Rows(end - 1..end)),
        }
    }

    fn push_item(&mut self, maker: &mut Maker<'_>, record: &Record<'_>) -> Result<(), Fault> {
        if self.used == self.items.len() {
            self.items.push(Item::default());
        }
        let item = &mut self.items[self.used];
        maker.item(item, record)?;
        maker.learn(item, record);
        self.steps.push(Step::Item(self.used));
        self.used += 1;
        Ok(())
    }
}

impl<'s> Maker<'s> {
    /// One that has met no entry yet.
    pub(crate) fn new(shard: &'s Shard, fields: Fields<'s>) -> Maker<'s> {
        Maker { shard, fields, patterns: Vec::new(), unlike: 0 }
    }

    /// Begins with a record, and makes an entry ready that is like one seen before.
    #[inline]
    fn begin_row(&mut self, rows: &mut Rows, record: &Record<'_>) -> Result<(), Unlike> {
        self.fields.words.begin_record();
        self.row(rows, record)
    }

    #[inline]
    fn row(&mut self, rows: &mut Rows, record: &Record<'_>) -> Result<(), Unlike> {
        for at in 0..self.patterns.len() {
            let mut row = match self.shard.begin_row(rows, &self.patterns[at], record.dn) {
                Ok(row) => row,
                Err(Unlike) => continue,
            };
            let pushed = record.content.try_each(|_, line| match line.value {
                Value::Bytes(value) => match self.fields.words.stored(line.description, value) {
                    Ok(stored) => row.push(line.description, &stored),
                    // The other way finds the reason.
                    Err(_) => Err(Unlike),
                },
                Value::Url(_) => Err(Unlike),
            });
            if pushed.and_then(|()| row.finish()).is_ok() {
                self.patterns.swap(0, at);
                self.unlike = 0;
                return Ok(());
            }
        }
        Err(Unlike)
    }

    /// Makes any entry ready.
    pub(crate) fn item(&mut self, item: &mut Item, record: &Record<'_>) -> Result<(), Fault> {
        if item.place.range.len() > ITEM_BYTES_KEPT {
            item.prepared = Prepared::default();
        }
        item.prepared.clear();
        item.prepared.dn.extend_from_slice(record.dn);
        let filled = self.fields.fill(&mut item.prepared.entry, record.content);
        filled.map_err(|fault| fault.with_dn(record.dn))?;
        let prepared = self.shard.prepare(&mut item.prepared, true);
        prepared.map_err(|refused| Fault::of(record.place.line, record.dn, refused.to_string()))?;
        item.place = record.place.clone();
        Ok(())
    }

    /// Remembers what an entry is like, for those that follow.
    fn learn(&mut self, item: &Item, record: &Record<'_>) {
        self.unlike = self.unlike.wrapping_add(1);
        let is_due = self.unlike < UNLIKE_MAX || self.unlike.is_multiple_of(UNLIKE_MAX);
        if !fast::IS_ON || !is_due || record.place.range.len() > ITEM_BYTES_KEPT {
            return;
        }
        let mut values = Vec::new();
        let words = &mut self.fields.words;
        let listed = record.content.try_each(|_, line| match line.value {
            Value::Bytes(value) => {
                // As it was stored just now.
                values.push((line.description, words.stored(line.description, value).map_err(|_| Unlike)?));
                Ok(())
            }
            Value::Url(_) => Err(Unlike),
        });
        let values = values.iter().map(|(description, value)| (*description, &**value));
        let learned = listed.ok().and_then(|()| Pattern::learn(self.shard, item.prepared.clone(), values));
        if let Some(pattern) = learned {
            self.patterns.truncate(PATTERNS_MAX - 1);
            self.patterns.insert(0, Arc::new(pattern));
        }
    }
}
