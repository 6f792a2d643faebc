//! From a key's hash to the ids of the entries that have it: equality and substring indexes, children.
//! Up to [`INLINE_MAX`] ids of one key lie in the hash table itself; more of them become an [`IdSet`].
//!
//! A key is the 32-bit tag of a hash, so two values may share one, and with it their ids. Ids also stay for a while after
//! their entry lost the key. Both make the answer a superset: a reader verifies each candidate on its entry.
//!
//! A value of the table is an id below 2^31, or [`SET`] and the number of a set. Of one key there are either ids or one set,
//! but for the moment in which they move: the order there is that of [`Postings::find`].

use crate::append::Append;
use crate::cell::{Garbage, Held};
use crate::hash::{Full, Table, TableWriter};
use crate::idset::IdSet;
use crate::readers::Readers;
use crate::sync::Ordering::{self, Acquire, Release};
use crate::sync::{AtomicU32, AtomicU64, Prefault};
use smallvec::SmallVec;

/// Ids of a key that lie in the table: half a cache line. A set takes some 160 bytes from the first id on.
const INLINE_MAX: usize = if cfg!(pando_loom) { 2 } else { 4 };
/// Marks a table value that numbers a set.
const SET: u32 = 1 << 31;
/// Sets of one index at most.
const SETS_MAX: usize = 1 << 27;

const _: () = assert!(SETS_MAX <= SET as usize, "the number of a set leaves the mark alone");

/// The ids of one key.
pub(crate) enum Found<'a> {
    /// From the table, in any order.
    Few(SmallVec<[u32; 4]>),
    /// A set, to be read in slices: it may have millions.
    Many(&'a LiveSet),
}

/// A set and the writer's exact count of those that still belong to it.
pub(crate) struct LiveSet {
    pub(crate) ids: IdSet,
    /// Kept for children, whose number is an answer (numSubordinates). Other indexes add to it and never use it.
    live: AtomicU32,
}

impl LiveSet {
    /// Members as of the writer's latest change. For a reader it may count a batch that it does not see.
    pub(crate) fn live(&self) -> u32 {
        self.live.load(Ordering::Relaxed)
    }
}

impl Found<'_> {
    /// An upper bound of the candidates: ids whose removal is put off count. For the choice among indexes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Found::Few(ids) => ids.len(),
            Found::Many(set) => set.ids.len() as usize,
        }
    }

    /// Appends up to `max` of the candidates that are at least `from`, ascending.
    pub(crate) fn push_from<'h>(&self, from: u32, max: usize, held: impl Into<Held<'h>>, out: &mut Vec<u32>) {
        match self {
            Found::Many(set) => set.ids.push_from(from, max, held, out),
            Found::Few(ids) => {
                let mut ids: SmallVec<[u32; 4]> = ids.iter().copied().filter(|id| *id >= from).collect();
                ids.sort_unstable();
                ids.dedup();
                out.extend(ids.into_iter().take(max));
            }
        }
    }
}

/// One index from hashes to ids.
pub(crate) struct Postings {
    table: Table,
    /// By number. One that was made stays for as long as the index, though its key may have few ids again.
    sets: Append<LiveSet>,
    /// Counts the keys whose ids moved from the table to a set.
    moves: AtomicU64,
}

/// The writer's side.
pub(crate) struct PostingsWriter {
    table: TableWriter,
    /// Sets that were made: the number of the next one.
    sets: usize,
    /// Ids in all sets, for the memory report.
    members: usize,
}

impl PostingsWriter {
    /// As [`TableWriter::no_reader_pins`].
    pub(crate) fn no_reader_pins(&mut self) {
        self.table.no_reader_pins();
    }
}

impl Postings {
    /// An index with room for so many ids in the table.
    pub(crate) fn create(
        entries_max: usize,
        huge_pages: bool,
    ) -> std::io::Result<(Postings, PostingsWriter)> {
        let (table, writer) = Table::create(entries_max, huge_pages)?;
        let sets = Append::with_room(SETS_MAX.min(entries_max));
        Ok((
            Postings { table, sets, moves: AtomicU64::new(0) },
            PostingsWriter { table: writer, sets: 0, members: 0 },
        ))
    }

    /// As [`Table::prefetch`].
    #[inline]
    pub(crate) fn prefetch(&self, tag: u32) {
        self.table.prefetch(tag);
    }

    /// An id in the table itself, 0 if there is none: for prefetching what a lookup will most likely lead to. Asks for what
    /// else the lookup will read.
    #[inline]
    pub(crate) fn peek(&self, tag: u32) -> u32 {
        self.table.prefetch_second(tag);
        self.table.peek(tag, |value| value & SET == 0)
    }

    /// Candidates for a key.
    ///
    /// The ids of a key may move to a set while the table is looked through: the set comes first, then `moves`
    /// changes, then the ids go. Who has missed one of them finds `moves` changed, looks again and finds the set.
    #[inline]
    pub(crate) fn find(&self, tag: u32) -> Found<'_> {
        loop {
            let before = self.moves.load(Acquire);
            let found = self.look(tag);
            if matches!(found, Found::Many(_)) || self.moves.load(Acquire) == before {
                return found;
            }
        }
    }

    /// Has a key so many ids that they are in a set? It keeps that then, so the answer holds until the end of the writer's turn.
    pub(crate) fn has_set(&self, tag: u32) -> bool {
        matches!(self.find(tag), Found::Many(_))
    }

    /// The only candidate for a key, 0 if there is none; `None` if there are more, or may be. Unlike [`Postings::find`] it does not
    /// look again: the caller has a slower way that does.
    #[inline]
    pub(crate) fn find_only(&self, tag: u32) -> Option<u32> {
        let before = self.moves.load(Acquire);
        let mut only = 0;
        let others = self.table.find(tag, |value| {
            let is_other = value & SET != 0 || only != 0;
            only = value;
            is_other
        });
        (others.is_none() && self.moves.load(Acquire) == before).then_some(only)
    }

    /// One look through the table: the ids of a key, or its set. While ids move, it may find some of the ids and not the set.
    #[inline]
    fn look(&self, tag: u32) -> Found<'_> {
        let mut few = SmallVec::new();
        let set = self.table.find(tag, |value| {
            if value & SET == 0 {
                few.push(value);
            }
            value & SET != 0
        });
        match set.and_then(|value| self.set(value)) {
            Some(set) => Found::Many(set),
            None => Found::Few(few),
        }
    }

    /// Adds an id. It may be there already, since removals come late. `is_live` says of an id in the table whether it
    /// still belongs: ids in the table are not counted, so when they become a set the count begins with those that do.
    pub(crate) fn insert(
        &self,
        writer: &mut PostingsWriter,
        context: &mut Context<'_>,
        tag: u32,
        id: u32,
        is_live: impl Fn(u32) -> bool,
    ) -> Result<(), Full> {
        assert!(id != 0 && id & SET == 0, "an id is neither nothing nor a set");
        let view = context.view;
        match self.find(tag) {
            Found::Few(few) if few.contains(&id) => Ok(()),
            Found::Few(few) if few.len() < INLINE_MAX => {
                self.table.put(&mut writer.table, context.readers, tag, None, id)
            }
            Found::Few(few) => {
                let live = few.iter().filter(|member| is_live(**member)).count() as u32;
                self.make_set(writer, context, tag, &few, Some(id), live + 1)
            }
            Found::Many(set) => {
                writer.members += usize::from(set.ids.insert(id, view, context.garbage));
                set.live.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    /// Moves the few ids of a key from the table to a set, together with another.
    ///
    /// The set is whole and has its number before the table leads to it. It takes the place of the first id, so the table does
    /// not grow; with no id at all it needs a new word, and `Full` leaves a set that no key leads to. Then `moves` counts, and
    /// only then the other ids go: see [`Postings::find`].
    fn make_set(
        &self,
        writer: &mut PostingsWriter,
        context: &mut Context<'_>,
        tag: u32,
        few: &[u32],
        another: Option<u32>,
        live: u32,
    ) -> Result<(), Full> {
        assert!(few.len() <= INLINE_MAX, "more ids would be in a set");
        let set = LiveSet { ids: IdSet::new(), live: AtomicU32::new(live) };
        let mut members = 0;
        for &member in few.iter().chain(&another) {
            set.ids.insert(member, context.view, context.garbage);
            members += 1;
        }
        assert!(set.ids.len() as usize == members, "the table has each id of a key once");
        let number = writer.sets;
        self.sets.push(number, set).map_err(|_| Full)?;
        writer.sets += 1;
        writer.members += members;
        let first = few.first().copied();
        self.table.put(&mut writer.table, context.readers, tag, first, SET | number as u32)?;
        assert!(self.has_set(tag), "the key leads to its set before its ids go");
        self.moves.fetch_add(1, Release);
        few.iter().skip(1).for_each(|&member| self.table.remove(tag, member));
        Ok(())
    }

    /// From now on a key counts so many ids, of which not all are here: an overlay has copies of some subordinates only, and
    /// knows how many there are. A count has its place in a set, so one is made, if need be without members.
    pub(crate) fn tell_live(
        &self,
        writer: &mut PostingsWriter,
        context: &mut Context<'_>,
        tag: u32,
        live: u32,
    ) -> Result<(), Full> {
        match self.find(tag) {
            Found::Few(few) => self.make_set(writer, context, tag, &few, None, live),
            Found::Many(set) => {
                set.live.store(live, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    /// Adds an id that cannot be there. Most keys of most indexes have one id, so it is put with one probe if it is the first.
    #[inline]
    pub(crate) fn insert_new(
        &self,
        writer: &mut PostingsWriter,
        context: &mut Context<'_>,
        tag: u32,
        id: u32,
    ) -> Result<(), Full> {
        assert!(id != 0 && id & SET == 0, "an id is neither nothing nor a set");
        match self.table.put_only(&mut writer.table, context.readers, tag, id)? {
            true => Ok(()),
            false => self.insert(writer, context, tag, id, |_| true),
        }
    }

    /// Adds ids that cannot be there to a key that has a set; says whether it has.
    pub(crate) fn insert_all_new(
        &self,
        writer: &mut PostingsWriter,
        context: &mut Context<'_>,
        tag: u32,
        ids: &[u32],
    ) -> bool {
        let Found::Many(set) = self.find(tag) else { return false };
        let added = set.ids.insert_all(ids, context.view, context.garbage) as usize;
        assert!(added <= ids.len(), "no more ids are added than are given");
        writer.members += added;
        set.live.fetch_add(ids.len() as u32, Ordering::Relaxed);
        true
    }

    /// Notes that an id no longer has the key. Only a set has a count; few ids are counted when the number is wanted. The id
    /// stays findable for older readers until [`Postings::remove`].
    pub(crate) fn leave(&self, tag: u32) {
        if let Found::Many(set) = self.find(tag) {
            set.live.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Takes an id away for good, once no reader can need it. That it no longer counts [`Postings::leave`] has noted. A set stays a set when it shrinks: its key will likely be popular again.
    pub(crate) fn remove(&self, writer: &mut PostingsWriter, context: &mut Context<'_>, tag: u32, id: u32) {
        let view = context.view;
        match self.find(tag) {
            Found::Few(_) => self.table.remove(tag, id),
            Found::Many(set) => {
                let removed = usize::from(set.ids.remove(id, view, context.garbage));
                assert!(writer.members >= removed, "each member of a set was counted when it was added");
                writer.members -= removed;
            }
        }
    }

    /// As [`Table::part`]; each value is an id or stands for a set: [`Postings::set`]. Of a key whose ids move to a set during one
    /// call, some may be missed: for walks that look for what is too much, which another walk finds.
    pub(crate) fn part(&self, from: u32, out: &mut Vec<(u32, u32)>) -> Option<u32> {
        self.table.part(from, out)
    }

    /// The set that a value stands for, `None` of an id. A set is there before any value stands for it.
    pub(crate) fn set(&self, value: u32) -> Option<&LiveSet> {
        if value & SET == 0 { None } else { self.sets.at((value & !SET) as usize) }
    }

    /// Keys of ids that it has: for a check. Looks at every word of the table. An id that is due to be removed counts.
    pub(crate) fn count(&self) -> u64 {
        let (mut count, mut next, mut part) = (0, Some(0), Vec::new());
        while let Some(tag) = next {
            part.clear();
            next = self.part(tag, &mut part);
            let counts = part.iter().map(|(_, value)| self.set(*value).map_or(1, |set| set.ids.len()));
            count += counts.map(u64::from).sum::<u64>();
        }
        count
    }

    /// Where the table grows, and how far it has. Sets are allocated one by one and cannot be prefaulted.
    pub(crate) fn growing(&self, writer: &PostingsWriter) -> Prefault<'_> {
        self.table.growing(&writer.table)
    }

    /// Bytes of memory in use, those of sets estimated: two for a member, as in an array, though a dense set has an eighth of that
    /// or less; 160 for a set of few.
    pub(crate) fn bytes(&self, writer: &PostingsWriter) -> usize {
        self.table.bytes(&writer.table) + writer.sets * 160 + writer.members * 2
    }
}

/// What a change of an index needs besides the index.
pub(crate) struct Context<'c> {
    /// Whose sequences say when what the table has outgrown is free.
    pub(crate) readers: &'c Readers,
    /// The proof that nothing is dropped while the writer looks at it.
    pub(crate) view: Held<'c>,
    /// Where swapped-out chunks of sets wait for their readers.
    pub(crate) garbage: &'c mut Garbage,
}
