//! An export: all entries of a directory, or some, as LDIF. Superiors come before subordinates, brothers in the order of
//! their ids.

use crate::operational::Operational;
use model::{Description, EntryId};
use proto::filter_string::{self, FilterBuf};
use proto::ldif::{write_attribute, write_dn};
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use store::derived::Derived;
use store::search::evaluate::{Evaluator, Truth};
use store::search::filter::Compiled;
use store::values::SetPosition;
use store::{DnCache, EntryRef, ReadPoint, Reader, Shard, Values};

/// Bytes that are written at once.
const PIECE_BYTES: usize = 1 << 20;
/// Subordinates looked at together: what is kept of each level above the entry being written.
const SLICE: usize = 256;
/// Entries between two reports of progress.
const REPORT_ENTRIES: u64 = 1024;

/// What an export brings of the server's own bookkeeping, in this order behind the other attributes.
const KEPT: [Derived; 6] = [
    Derived::EntryUuid,
    Derived::CreatorsName,
    Derived::CreateTimestamp,
    Derived::EntryCsn,
    Derived::ModifiersName,
    Derived::ModifyTimestamp,
];

/// What to export.
#[derive(Clone, Debug, Default)]
pub struct Export {
    /// The uppermost entry; without it all naming contexts.
    pub base: Option<String>,
    /// That entry alone.
    pub is_alone: bool,
    /// Which entries; without it all.
    pub filter: Option<FilterBuf>,
    /// Whether the server's own bookkeeping is written too.
    pub operational: Operational,
}

/// Reads a filter as text (RFC 4515).
///
/// # Errors
/// What is wrong with it.
pub fn filter(text: &str) -> Result<FilterBuf, String> {
    filter_string::parse(text.as_bytes()).map_err(|error| error.to_string())
}

/// How far an export is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Entries written.
    pub entries: u64,
    /// Entries looked at.
    pub seen: u64,
    /// Bytes of LDIF written.
    pub bytes: u64,
}

/// Why an export ended early.
#[derive(Debug)]
pub enum ExportError {
    /// The base is no entry.
    NoBase(String),
    /// There are as many readers as there can be.
    TooManyReaders,
    /// It cannot be written.
    Io(io::Error),
    /// The server that is asked, or the network, does not let it.
    Remote(client::ClientError),
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExportError::NoBase(dn) => write!(f, "there is no entry {dn}"),
            ExportError::TooManyReaders => f.write_str("there are too many readers"),
            ExportError::Io(error) => error.fmt(f),
            ExportError::Remote(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ExportError {}

impl From<client::ClientError> for ExportError {
    fn from(error: client::ClientError) -> ExportError {
        ExportError::Remote(error)
    }
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> ExportError {
        ExportError::Io(error)
    }
}

/// Writes entries as LDIF content records, in pieces of about 1 MiB. Memory is bounded by a piece, the longest value and
/// 256 ids for each level of the tree. `on_progress` is called now and then.
///
/// # Errors
/// See [`ExportError`].
pub fn export(
    shard: &Arc<Shard>,
    what: &Export,
    to: &mut dyn Write,
    on_progress: &mut dyn FnMut(Exported),
) -> Result<Exported, ExportError> {
    let mut reader = Reader::register(shard).ok_or(ExportError::TooManyReaders)?;
    let pin = reader.pin();
    let point = pin.read_point();
    let mut cache = DnCache::default();
    cache.refresh(point);
    let filter = what.filter.as_ref().map(|filter| Compiled::new(&filter.filter(), shard, &|_| true));
    let mut writing = Writing {
        point,
        filter,
        evaluator: Evaluator::default(),
        plan: Plan::default(),
        operational: what.operational,
        cache,
        scratch: Vec::new(),
        output: Output::new(to),
    };
    let mut stack = Vec::new();
    match &what.base {
        Some(dn) => {
            let base = point.resolve(dn.as_bytes(), &mut writing.cache).ok();
            let base = base.ok_or_else(|| ExportError::NoBase(dn.clone()))?;
            writing.entry(base)?;
            if !what.is_alone {
                stack.push(Level::below(base));
            }
        }
        None => stack.push(Level::below(EntryId(0))),
    }
    while let Some(level) = stack.last_mut() {
        let Some(id) = level.next(point) else {
            stack.pop();
            continue;
        };
        writing.entry(id)?;
        if writing.output.done.seen.is_multiple_of(REPORT_ENTRIES) {
            on_progress(writing.output.done);
        }
        stack.push(Level::below(id));
    }
    let done = writing.output.finish()?;
    assert!(done.entries <= done.seen, "only entries that were seen are written");
    Ok(done)
}

/// LDIF on its way, and what was written.
pub(crate) struct Output<'w> {
    pub(crate) piece: Vec<u8>,
    to: &'w mut dyn Write,
    pub(crate) done: Exported,
}

impl<'w> Output<'w> {
    pub(crate) fn new(to: &'w mut dyn Write) -> Output<'w> {
        Output { piece: Vec::new(), to, done: Exported::default() }
    }

    pub(crate) fn flush_if_full(&mut self) -> io::Result<()> {
        if self.piece.len() >= PIECE_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.write_all(&self.piece)?;
        self.done.bytes += self.piece.len() as u64;
        self.piece.clear();
        Ok(())
    }

    /// Writes what is left. Returns what was done.
    pub(crate) fn finish(mut self) -> io::Result<Exported> {
        self.flush()?;
        self.to.flush()?;
        Ok(self.done)
    }
}

/// The subordinates of one entry above the one being written.
struct Level {
    parent: EntryId,
    /// The next ones, descending: taken from the back.
    slice: Vec<u32>,
    /// Where the next slice begins, if there is one.
    from: Option<u32>,
}

impl Level {
    fn below(parent: EntryId) -> Level {
        Level { parent, slice: Vec::new(), from: Some(0) }
    }

    fn next(&mut self, point: ReadPoint<'_>) -> Option<EntryId> {
        while self.slice.is_empty() {
            self.from = point.children(self.parent, self.from?, SLICE, &mut self.slice);
            assert!(self.slice.len() <= SLICE, "of each level one slice is kept");
            self.slice.reverse();
        }
        self.slice.pop().map(EntryId)
    }
}

/// Which attributes entries of one shape are written with.
#[derive(Default)]
struct Plan {
    /// Of which shape.
    shape: Option<u32>,
    /// How many slots are left out before it, and its description, of each that is written.
    slots: Vec<(usize, String)>,
    /// What the server keeps: its place, if it is stored.
    kept: Vec<(Derived, Option<usize>, String)>,
}

/// An export in progress.
struct Writing<'a, 'w> {
    point: ReadPoint<'a>,
    filter: Option<Compiled>,
    evaluator: Evaluator,
    plan: Plan,
    operational: Operational,
    cache: DnCache,
    scratch: Vec<u8>,
    output: Output<'w>,
}

impl<'a> Writing<'a, '_> {
    fn entry(&mut self, id: EntryId) -> io::Result<()> {
        let Some(entry) = self.point.entry(id) else { return Ok(()) };
        self.output.done.seen += 1;
        if let Some(filter) = &self.filter
            && self.evaluator.evaluate(filter, &entry, self.point) != Truth::True
        {
            return Ok(());
        }
        self.write(&entry)?;
        self.output.done.entries += 1;
        Ok(())
    }

    fn write(&mut self, entry: &EntryRef<'a>) -> io::Result<()> {
        if self.plan.shape != Some(entry.shape.number) {
            self.plan = Plan::of(entry, self.point, self.operational);
        }
        self.scratch.clear();
        self.point.write_dn(entry, &mut self.cache, &mut self.scratch);
        assert!(!self.scratch.is_empty(), "only the root DSE has no name, which is in no naming context");
        write_dn(&mut self.output.piece, &self.scratch);
        for value in &entry.shape.class_values {
            write_attribute(&mut self.output.piece, b"objectClass", value);
        }
        let plan = std::mem::take(&mut self.plan);
        let mut slots = entry.slots();
        for (skipped, description) in &plan.slots {
            self.values(description, slots.nth(*skipped).expect("a position of the shape"))?;
        }
        for (what, stored, description) in &plan.kept {
            self.scratch.clear();
            match stored {
                Some(at) => self.values(description, entry.slot(*at))?,
                None if self.point.derive(entry, *what, &mut self.cache, &mut self.scratch) => {
                    write_attribute(&mut self.output.piece, description.as_bytes(), &self.scratch);
                }
                None => {}
            }
        }
        self.plan = plan;
        self.output.piece.push(b'\n');
        self.output.flush_if_full()
    }

    fn values(&mut self, description: &str, values: Values<'a>) -> io::Result<()> {
        let description = description.as_bytes();
        match values {
            Values::Inline(values) => {
                values.for_each(|value| write_attribute(&mut self.output.piece, description, value));
            }
            Values::Set(set) => {
                let mut position = SetPosition::default();
                let mut goes_on = true;
                while goes_on {
                    let out = &mut self.output.piece;
                    let each = |value: &[u8]| write_attribute(out, description, value);
                    goes_on = self.point.set_values(&set, &mut position, each);
                    self.output.flush_if_full()?;
                }
            }
        }
        Ok(())
    }
}

impl Plan {
    fn of(entry: &EntryRef<'_>, point: ReadPoint<'_>, operational: Operational) -> Plan {
        let schema = point.shard().schema();
        let described = |description| schema.describe(description).into_owned();
        let kept_types = KEPT.map(|what| what.attribute_type(schema));
        let slots = entry.shape.slots.iter().enumerate();
        let slots = slots.filter(|(_, slot)| {
            let kind = slot.description.attribute_type;
            let is_stripped = operational == Operational::Strip
                && schema.attribute_type(kind).definition.no_user_modification;
            !is_stripped && !kept_types.contains(&kind)
        });
        let mut next = 0;
        let slots = slots.map(|(at, slot)| {
            let skipped = at - std::mem::replace(&mut next, at + 1);
            (skipped, described(slot.description))
        });
        let slots = slots.collect();
        let kept = match operational {
            Operational::Strip => Vec::new(),
            _ => KEPT
                .into_iter()
                .map(|what| {
                    let description = Description::plain(what.attribute_type(schema));
                    (what, entry.shape.position(description), described(description))
                })
                .collect(),
        };
        Plan { shape: Some(entry.shape.number), slots, kept }
    }
}

#[cfg(test)]
mod tests;
