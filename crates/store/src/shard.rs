//! The shard: what readers share, and the writer's exclusive part.
//!
//! [`Shard`] is read by all threads without a lock: what changes in it is an atomic, or a structure that is made for one
//! writer and many readers. [`WriterState`] has what only the writer needs, behind a mutex: the counterparts of those
//! structures, counts, and what must wait for readers. [`Writer`] is both together for the time of one batch.
//!
//! A thread that panics while it writes poisons the mutex. The shard takes no more writes then, since a batch that was
//! half made must not be published; reads go on with what was published before.

mod hashes;
mod invariants;
pub(crate) mod look;
pub(crate) mod reader;
pub(crate) mod revocable;
pub(crate) mod room;
mod set_changes;
pub(crate) mod stream;

use crate::ahead::Ahead;
use crate::append::Append;
use crate::cell::{Garbage, Held, Published};
use crate::deferred::Deferred;
use crate::dn_cache::DnCache;
use crate::faults;
use crate::given::DeadIds;
use crate::hash::{Table, TableWriter};
use crate::index::IndexesWriter;
use crate::index::lookup::Lookup;
use crate::index::settings::IndexSettings;
use crate::kinds::KindSets;
use crate::memory_use::MemoryGauges;
use crate::postings::{Context, Found, Postings, PostingsWriter};
use crate::readers::Readers;
use crate::record::EntryRef;
use crate::room::{MemoryLimit, entries_max};
use crate::segment::{Heap, HeapWriter};
use crate::set_changes::SetChanges;
use crate::shape::{Shapes, ShapesWriter, Slot};
use crate::stale_keys::StaleKeys;
use crate::stream::{Noted, Stream};
use crate::suffix::Suffixes;
use crate::sync::{Mutex, MutexGuard, lock};
use crate::tree::Tree;
use crate::uuid::Uuids;
use env::planted;
use model::{Csn, EntryId};
use schema::Schema;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Sequences are below this: a version of an object has six bytes for its own. At a million batches a second that is for
/// nine years.
const SEQUENCES_END: u64 = 1 << 48;
/// Names of those who add and modify entries.
pub(crate) const NAMES_MAX: usize = 1 << 20;
/// Share of the names that is kept for those whose updates are on their way when no more are admitted.
const NAMES_SPARE_SHARE: usize = 16;
/// Share of dead bytes that the cleaner leaves, in percent.
const SLACK_PERCENT: u64 = 25;
/// Bytes that the cleaner may move per byte written since it last ran, and at least.
const CLEAN_FACTOR: u64 = 4;
const CLEAN_BYTES_MIN: u64 = 64 << 10;

/// When memory is short, the cleaner leaves less, and moves up to so many bytes with every batch.
const SLACK_SHORT_PERCENT: u64 = 5;
const CLEAN_SHORT_BYTES: u64 = 2 << 20;

/// What a shard is made with. All of it but the indexes and the memory limit is fixed as long as the shard exists.
#[derive(Clone, Debug)]
pub struct Settings {
    /// DNs of the naming contexts.
    pub suffixes: Vec<String>,
    /// Attribute indexes that it begins with: they come and go later ([`crate::IndexBuild`]).
    pub indexes: Vec<IndexSettings>,
    /// Bytes of memory that address space is reserved for, and beyond which adds and changes that grow an entry are refused until there is another
    /// limit ([`Shard::limit_memory`]).
    pub memory_bytes_max: u64,
    /// Deferred removals that a published batch makes at most, usually [`crate::REMOVALS_MAX`]. Decides no outcome.
    pub removals_max: usize,
    /// Are entryUUID, times and names kept and shown?
    pub operational_attributes: bool,
    /// Are entries held to the schema?
    pub schema_check: bool,
    /// Who stands as the creator of entries that nobody else is known to have made: the root DN.
    pub initial_owner: String,
    /// Secret that keys the hashes and the entryUUIDs.
    pub key: [u64; 4],
    /// Site number in CSNs.
    pub site: u8,
}

/// Entries of a small shard.
const SMALL_ENTRIES_MAX: usize = 1 << 22;

/// Address space that a shard reserves.
struct Rooms {
    heap_bytes: usize,
    /// The highest memory limit that there may be.
    bytes_reserved: u64,
    /// Ids of entries are below this.
    ids: usize,
    /// Entries that the tables are for.
    entries_max: usize,
    is_small: bool,
}

/// One shard of the DIT. Many readers, one writer at a time.
pub struct Shard {
    pub(crate) schema: Arc<Schema>,
    pub(crate) settings: Settings,
    pub(crate) memory_limit: MemoryLimit,
    pub(crate) readers: Readers,
    revocables: revocable::Revocables,
    pub(crate) heap: Heap,
    pub(crate) shapes: Shapes,
    pub(crate) names: Append<Box<[u8]>>,
    /// [`NAMES_MAX`], or what a test sets.
    names_max: AtomicUsize,
    pub(crate) dn_table: Table,
    pub(crate) children: Postings,
    /// Writer only is the swap; what it borrowed of the old lookup ends before its batch is published.
    pub(crate) indexes: Published<Lookup>,
    pub(crate) suffixes: Suffixes,
    pub(crate) kinds: KindSets,
    pub(crate) uuids: Uuids,
    /// Was an entry ever stored with an entryUUID of its own?
    foreign_uuids: AtomicBool,
    /// Sequence of the last change that can make a remembered DN wrong: a rename or a delete.
    pub(crate) names_changed: AtomicU64,
    /// Sequence of the last change that can make a remembered DN wrong for older read points: an add.
    pub(crate) names_added: AtomicU64,
    /// Sequence of the last change of an access rule of an entry.
    pub(crate) access_rules_changed: AtomicU64,
    /// Written by the writer; read by who remembers something of such a set.
    pub(crate) set_changes: Mutex<SetChanges>,
    pub(crate) stream: Stream,
    entries: AtomicU64,
    pub(crate) ids_end: AtomicU64,
    /// The last CSN that was given. Only the holder of the writer's role changes it; reading it needs no role.
    last_csn: AtomicU64,
    /// [`Writer::forgotten_up_to`], as of the last publish.
    forgotten_up_to: AtomicU64,
    /// Is the memory limit judged by who logs commands, before they are logged?
    limit_is_waived: AtomicBool,
    pub(crate) memory: MemoryGauges,
    writer: Mutex<WriterState>,
}

pub(crate) struct WriterState {
    pub(crate) heap: HeapWriter,
    pub(crate) shapes: ShapesWriter,
    pub(crate) names: BTreeMap<Box<[u8]>, u32>,
    pub(crate) dn: TableWriter,
    pub(crate) children: PostingsWriter,
    pub(crate) indexes: IndexesWriter,
    pub(crate) garbage: Garbage,
    pub(crate) deferred: Deferred,
    pub(crate) dead: DeadIds,
    pub(crate) stale_keys: StaleKeys,
    pub(crate) noted: Noted,
    /// By number of an index that was dropped: the nodes of its tree that lead to all that are still there.
    pub(crate) leaving: BTreeMap<u16, Vec<u32>>,
    pub(crate) cache: DnCache,
    pub(crate) ahead: Ahead,
    pub(crate) scratch: Scratch,
    /// Are values never put into trees, which have an order of their own?
    pub(crate) keeps_order: bool,
    cleaned_at: u64,
    /// Bytes appended when room was made last.
    way_made_at: u64,
}

/// Buffers that are used again.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) entry: model::Entry,
    pub(crate) record: Vec<u8>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) key: Vec<u8>,
    /// Trees that the change in progress has changed: number of the index, and a key that was dropped. `None`: some came ([`crate::index`]).
    pub(crate) changed: Vec<(u16, Option<u64>)>,
}

/// A view of the shard at one commit sequence: everything published up to then and nothing later.
#[derive(Clone, Copy)]
pub struct ReadPoint<'a> {
    pub(crate) shard: &'a Shard,
    pub(crate) sequence: u64,
}

impl<'a> From<ReadPoint<'a>> for Held<'a> {
    #[inline]
    fn from(read_point: ReadPoint<'a>) -> Held<'a> {
        Held::by(&read_point.shard.readers)
    }
}

impl<'a> ReadPoint<'a> {
    /// The shard that is looked at.
    pub fn shard(self) -> &'a Shard {
        self.shard
    }

    /// The commit sequence it stands at.
    pub fn sequence(self) -> u64 {
        self.sequence
    }

    /// The entry with this id, if it exists here.
    #[inline]
    pub fn entry(self, id: EntryId) -> Option<EntryRef<'a>> {
        let object = self.shard.heap.read(id.0, self.sequence)?;
        Some(EntryRef::new(id.0, object.flags, object.payload, &self.shard.shapes))
    }

    /// The tree with this root, as it is here.
    #[inline]
    pub(crate) fn tree(self, root: u32) -> Tree<'a> {
        Tree { heap: &self.shard.heap, root, sequence: self.sequence }
    }

    /// Candidates for the immediate subordinates of an entry.
    pub(crate) fn child_candidates(self, parent: EntryId) -> Found<'a> {
        self.shard.children.find(self.shard.child_tag(parent.0))
    }

    /// Number of immediate subordinates. Of entries with many, the writer's count: current rather than exact at
    /// this read point.
    pub fn subordinates(self, parent: EntryId) -> u32 {
        match self.child_candidates(parent) {
            Found::Many(set) => set.live(),
            Found::Few(ids) => ids
                .iter()
                .filter(|id| self.entry(EntryId(**id)).is_some_and(|e| e.parent() == parent))
                .count() as u32,
        }
    }
}

impl Shard {
    /// An empty shard.
    ///
    /// # Errors
    /// When the address space cannot be reserved, or a setting names what the schema does not know.
    pub fn create(settings: Settings, schema: Arc<Schema>) -> io::Result<Arc<Shard>> {
        Shard::build(settings, schema).map(Arc::new)
    }

    pub(crate) fn build(settings: Settings, schema: Arc<Schema>) -> io::Result<Shard> {
        let heap_bytes = settings.heap_bytes();
        let bytes_reserved = settings.bytes_reserved();
        let entries_max = entries_max(bytes_reserved);
        let rooms = Rooms { heap_bytes, bytes_reserved, ids: entries_max, entries_max, is_small: false };
        Shard::build_on(settings, schema, rooms)
    }

    /// A shard for few entries, whose ids, below `ids`, are far apart.
    pub(crate) fn build_small(
        settings: Settings,
        schema: Arc<Schema>,
        heap_bytes: usize,
        ids: usize,
    ) -> io::Result<Shard> {
        let bytes_reserved = settings.memory_bytes_max;
        let rooms = Rooms { heap_bytes, bytes_reserved, ids, entries_max: SMALL_ENTRIES_MAX, is_small: true };
        Shard::build_on(settings, schema, rooms)
    }

    fn build_on(settings: Settings, schema: Arc<Schema>, rooms: Rooms) -> io::Result<Shard> {
        let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
        let Rooms { heap_bytes, bytes_reserved, ids, entries_max, is_small } = rooms;
        let huge_pages = !is_small;
        let (heap, heap_writer) = Heap::create(heap_bytes, ids, huge_pages)?;
        let (dn_table, dn) = Table::create(entries_max, huge_pages)?;
        let (children, children_writer) = Postings::create(entries_max, huge_pages)?;
        let (indexes, indexes_writer) =
            Lookup::create(&settings.indexes, &schema, entries_max).map_err(invalid)?;
        let suffixes = Suffixes::new(&settings.suffixes, &schema).map_err(invalid)?;
        let names = Append::with_room(NAMES_MAX);
        let initial_owner: Box<[u8]> = settings.initial_owner.as_bytes().into();
        let _ = names.push(0, initial_owner.clone());
        let state = WriterState {
            heap: heap_writer,
            shapes: ShapesWriter::default(),
            names: BTreeMap::from([(initial_owner, 0)]),
            dn,
            children: children_writer,
            indexes: indexes_writer,
            garbage: Garbage::default(),
            deferred: Deferred::default(),
            dead: DeadIds::default(),
            stale_keys: StaleKeys::default(),
            noted: Noted::default(),
            leaving: BTreeMap::new(),
            cache: DnCache::default(),
            ahead: Ahead::default(),
            scratch: Scratch::default(),
            keeps_order: false,
            cleaned_at: 0,
            way_made_at: 0,
        };
        let shapes = Shapes::new(Arc::clone(&schema), is_small);
        Ok(Shard {
            schema,
            readers: Readers::new(),
            revocables: Default::default(),
            heap,
            shapes,
            names,
            names_max: AtomicUsize::new(NAMES_MAX),
            dn_table,
            children,
            indexes: Published::new(indexes),
            suffixes,
            kinds: KindSets::new(),
            uuids: Uuids::new(settings.key[3]),
            foreign_uuids: AtomicBool::new(false),
            names_changed: AtomicU64::new(0),
            names_added: AtomicU64::new(0),
            access_rules_changed: AtomicU64::new(0),
            set_changes: Mutex::new(SetChanges::default()),
            stream: Stream::reserve(is_small, Csn::from_unix_ms(0, settings.site))?,
            entries: AtomicU64::new(0),
            ids_end: AtomicU64::new(1),
            last_csn: AtomicU64::new(Csn::from_unix_ms(0, settings.site).0),
            forgotten_up_to: AtomicU64::new(0),
            limit_is_waived: AtomicBool::new(false),
            memory: MemoryGauges::default(),
            writer: Mutex::new(state),
            memory_limit: MemoryLimit::new(settings.memory_bytes_max, bytes_reserved),
            settings,
        })
    }

    /// The schema that entries are held to.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// What it was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Number of entries.
    pub fn entries(&self) -> u64 {
        self.entries.load(Ordering::Relaxed)
    }

    /// Ids of entries are below this.
    pub fn ids_end(&self) -> u32 {
        self.ids_end.load(Ordering::Acquire) as u32
    }

    /// May updates be admitted that stand under this name: is it known, or is there room for it and for the names of
    /// updates that were admitted already? Takes no lock while there is plenty.
    pub fn admits_name(&self, dn: &[u8]) -> bool {
        let max = self.names_max.load(Ordering::Relaxed);
        let last = max - max / NAMES_SPARE_SHARE - 1;
        self.names.at(last).is_none() || self.state().names.contains_key(dn)
    }

    /// For tests: as if there were room for so many names only.
    #[doc(hidden)]
    pub fn bound_names(&self, max: usize) {
        self.names_max.store(max.min(NAMES_MAX), Ordering::Relaxed);
    }

    /// The published commit sequence.
    pub fn sequence(&self) -> u64 {
        self.readers.published()
    }

    /// What the writer keeps, without the role: while a shard is made.
    pub(crate) fn state(&self) -> MutexGuard<'_, WriterState> {
        lock(&self.writer)
    }

    /// A shard that is made begins at this commit sequence: that of the checkpoint that it comes from. Sequences of objects
    /// are absolute, so the shard cannot begin at 0 again.
    pub(crate) fn start_at(&self, sequence: u64) {
        assert_eq!(self.readers.published(), 0, "a shard that begins was just made");
        self.readers.publish(sequence);
        self.names_changed.store(sequence, Ordering::Release);
        self.names_added.store(sequence, Ordering::Release);
    }

    /// Commands are refused for want of memory before they are logged, if at all: from now on no command is when it is carried
    /// out, for that would make its outcome depend on the memory of one start. Loads are still held to the limit.
    pub fn waive_limit(&self) {
        self.limit_is_waived.store(true, Ordering::Relaxed);
    }

    /// The last CSN that was given; while another thread has the writer's role, that of one of its changes.
    #[inline]
    pub fn last_csn(&self) -> Csn {
        Csn(self.last_csn.load(Ordering::Acquire))
    }

    /// As [`Writer::forgotten_up_to`], at the last publish. Once a record is applied it is never more than that, and perhaps less.
    #[inline]
    pub fn forgotten_up_to(&self) -> u64 {
        self.forgotten_up_to.load(Ordering::Acquire)
    }

    /// Takes the writer's role; waits while another has it.
    #[inline]
    pub fn writer(&self) -> Writer<'_> {
        self.writer_with(lock(&self.writer))
    }

    /// Takes the writer's role if nobody has it.
    pub(crate) fn try_writer(&self) -> Option<Writer<'_>> {
        self.writer.try_lock().ok().map(|state| self.writer_with(state))
    }

    /// The writer's role for the next batch. What a batch that was never published did stays: its sequence is the same.
    #[inline]
    fn writer_with<'s>(&'s self, state: MutexGuard<'s, WriterState>) -> Writer<'s> {
        let sequence = self.readers.published() + 1;
        let is_granted = self.limit_is_waived.load(Ordering::Relaxed);
        let is_followed = self.stream.is_followed();
        let mut writer =
            Writer { shard: self, state, sequence, loading: false, reserved: 0, is_granted, is_followed };
        writer.state.garbage.begin(sequence);
        writer
    }

    pub(crate) fn has_foreign_uuids(&self) -> bool {
        self.foreign_uuids.load(Ordering::Relaxed)
    }

    /// An entry is stored with an entryUUID of its own.
    pub(crate) fn note_foreign_uuid(&self) {
        self.foreign_uuids.store(true, Ordering::Relaxed);
    }
}

/// The writer's role, held for one batch. What it changes becomes visible at once when it is published.
pub struct Writer<'s> {
    pub(crate) shard: &'s Shard,
    pub(crate) state: MutexGuard<'s, WriterState>,
    /// Sequence that the batch will be published as.
    pub(crate) sequence: u64,
    pub(crate) loading: bool,
    /// Bytes of segments that were claimed for what is still to be written.
    pub(crate) reserved: usize,
    /// Was the memory limit looked at for the whole batch, or before it was logged?
    is_granted: bool,
    pub(crate) is_followed: bool,
}

impl<'s> Writer<'s> {
    /// What the batch has made so far, on top of all that was published.
    pub fn view(&self) -> ReadPoint<'s> {
        ReadPoint { shard: self.shard, sequence: self.sequence }
    }

    /// The version to write: none while loading, when there is no reader that could be older.
    pub(crate) fn version(&self) -> u64 {
        if self.loading { 0 } else { self.sequence }
    }

    /// Says that no reader pins while this batch is made: entries are stored without a version, which saves eleven
    /// bytes each. A server loads before it listens.
    ///
    /// # Panics
    /// If a reader is active.
    pub fn load(&mut self) {
        assert!(!self.loading, "a load begins once in a batch");
        assert!(self.shard.readers.all_rest(), "nobody reads while a load goes on");
        // What is loaded goes past the log: nobody has looked at the limit.
        (self.loading, self.is_granted) = (true, false);
        self.shard.stream.recent.begin_load();
    }

    /// The next CSN: later than all before it, and not before the given time.
    pub fn stamp(&mut self, unix_ms: u64) -> Csn {
        let next = self.last_csn().tick(unix_ms);
        self.restore_csn(next);
        next
    }

    pub(crate) fn restore_csn(&mut self, last: Csn) {
        self.shard.last_csn.store(last.0, Ordering::Release);
    }

    /// The last CSN that was given.
    #[inline]
    pub fn last_csn(&self) -> Csn {
        self.shard.last_csn()
    }

    /// The number of a name; 0 is the initial owner. `None` when there is no room for another: nothing may be changed under it
    /// then. A name that updates were logged under has one, whatever became of them, so a replay finds the same.
    pub fn name(&mut self, dn: &[u8]) -> Option<u32> {
        if let Some(number) = self.state.names.get(dn) {
            return Some(*number);
        }
        let number = self.state.names.len();
        if number >= self.shard.names_max.load(Ordering::Relaxed) {
            return None;
        }
        assert!(number < NAMES_MAX, "each name has a number");
        // The table first: readers find the name of every number that a record can have.
        self.shard.names.push(number, dn.into()).ok()?;
        self.state.names.insert(dn.into(), number as u32);
        assert_eq!(self.state.names.len(), number + 1, "a name has one number");
        Some(number as u32)
    }

    pub(crate) fn context<'c>(
        state: &'c mut WriterState,
        view: ReadPoint<'c>,
    ) -> (&'c mut PostingsWriter, Context<'c>) {
        let context =
            Context { readers: &view.shard.readers, view: view.into(), garbage: &mut state.garbage };
        (&mut state.children, context)
    }

    /// Counts entries that were added, or one that was deleted. After an add, a DN that was remembered at a later read
    /// point may lead to an entry that an older one does not have; a delete notes its change of names itself.
    pub(crate) fn count_entries(&self, by: i64) {
        self.shard.entries.fetch_add(by as u64, Ordering::Relaxed);
        if by > 0 {
            self.shard.names_added.store(self.sequence, Ordering::Release);
        }
    }

    /// One of several updates that are published together was applied: tests look whether anybody sees it.
    pub fn update_done(&mut self) {
        if planted::is(faults::PUBLISHED_IN_PIECES) {
            self.shard.readers.publish(self.sequence);
        }
        planted::tell(faults::UPDATE_DONE);
    }

    /// Makes what the batch has made so far visible, as a batch of its own, and begins the next; the housekeeping is left to
    /// [`Writer::publish`]. The sequence that it was published as.
    pub fn publish_part(&mut self) -> u64 {
        let published = self.sequence;
        self.show();
        self.sequence += 1;
        published
    }

    /// Makes the batch visible, and does a share of the housekeeping.
    pub fn publish(mut self) {
        self.publish_batch();
    }

    pub(crate) fn publish_batch(&mut self) {
        let shard = self.shard;
        self.show();
        // From here on the oldest reader may be at this very batch. Removals first: they put values of cells into the
        // garbage and free objects for the cleaner.
        self.run_deferred();
        // Between two commands of a record it may go back: the next one may delete an entry, too.
        shard.forgotten_up_to.store(self.forgotten_up_to(), Ordering::Release);
        let state = &mut *self.state;
        state.garbage.collect(&shard.readers);
        let written = state.heap.appended - state.cleaned_at;
        if written >= CLEAN_BYTES_MIN {
            self.clean(written * CLEAN_FACTOR);
            self.state.cleaned_at = self.state.heap.appended;
            self.measure();
        } else if self.is_short() {
            // Deletes write little, and are what makes room.
            self.clean(0);
        }
    }

    #[inline]
    fn show(&mut self) {
        let (shard, sequence) = (self.shard, self.sequence);
        assert!(sequence < SEQUENCES_END, "a version has 48 bits for its sequence");
        // Before the batch is published: who reads it knows of all ids in it.
        shard.ids_end.store(u64::from(self.state.heap.ids.end()), Ordering::Release);
        shard.publish(sequence, &mut self.state.noted);
        // A reader may be at this sequence by now: what is swapped out from here on is seen until the next.
        self.state.garbage.begin(sequence + 1);
        self.invariants();
    }

    /// Cleans until so many bytes were moved, more if memory is short.
    pub(crate) fn clean(&mut self, budget: u64) {
        let (slack, budget) = match self.is_short() {
            true => (SLACK_SHORT_PERCENT, budget.max(CLEAN_SHORT_BYTES)),
            false => (SLACK_PERCENT, budget),
        };
        let (heap, readers) = (&self.shard.heap, &self.shard.readers);
        heap.clean(&mut self.state.heap, readers, slack, budget as usize);
    }
}

#[cfg(test)]
pub(crate) mod tests;
