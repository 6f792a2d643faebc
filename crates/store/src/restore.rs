//! A shard from the bytes of a checkpoint. Only entries and their big sets are taken from it; DN hash, children,
//! indexes and counts are made anew, for the indexes that are wanted now. Nothing in the bytes is trusted: what the
//! shard relies on is looked at, and what is wrong is an error that tells where.
//!
//! The shard has no threads of its own: the caller reads the bytes into their places and lends threads for the rest.
//!
//! Each step of [`Restore::finish`] relies on what those before it checked: slots lead into parts; then every slot leads to
//! an object, and every object is whole; then every record is whole and has a shape that exists. Records are judged by
//! many threads at once, so what leads from one to another (the superior, the tree of a set) is followed without relying
//! on the other having been judged. Of several errors that of the lowest job is reported, on any number of threads.
//!
//! A shard that is not finished is dropped: nothing else has seen it.

mod derive;
mod fill;
pub(crate) mod sink;

use crate::checkpoint::{Meta, SLOT_BYTES, Segment, segment};
use crate::resolve::dn_key;
use crate::segment::{Bounds, Part};
use crate::shard::{Settings, Shard};
use crate::sync::{Mutex, lock};
use derive::{Derive, Derived, Marks};
use fill::{Sinks, fill};
use schema::Schema;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::{fmt, io};

/// Slots that one job opens, entries that one job looks at: enough that handing out jobs costs nothing beside them, and few
/// enough that the last ones do not leave threads idle for long.
const JOB_SLOTS: usize = 1 << 16;
const JOB_ENTRIES: usize = 1 << 14;
/// Jobs of entries between insertions: bounds the memory that is taken meanwhile.
const ROUND_JOBS: usize = 16;

/// Runs a function once with each number below the first argument, in any order and on any threads, and returns
/// when all have returned.
pub type Run<'r> = &'r dyn Fn(usize, &(dyn Fn(usize) + Sync));

/// Why a checkpoint does not make a shard.
#[derive(Debug)]
pub enum RestoreError {
    /// Written by a version of this program that this one does not know.
    Format {
        /// The format of the meta.
        found: u32,
        /// The newest known here.
        known: u32,
    },
    /// The meta is not what a checkpoint wrote.
    Meta {
        /// Byte of the meta.
        offset: usize,
        /// What is wrong there.
        what: &'static str,
    },
    /// The schema lacks what entries are made of. For the operator to load.
    Unknown {
        /// Attribute or object class.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// The settings do not fit the checkpoint, or name what the schema does not know.
    Settings(String),
    /// Not enough address space, or less memory allowed than the checkpoint needs.
    Memory(io::Error),
    /// An address of the slot map leads nowhere.
    SlotMap {
        /// Byte of the slot map.
        offset: u64,
    },
    /// Slots lead to places where no object begins.
    Lost {
        /// How many.
        objects: u64,
    },
    /// Wrong bytes in a segment.
    Segment {
        /// Its id.
        segment: u64,
        /// Byte in it, header included.
        offset: usize,
        /// What is wrong there.
        what: &'static str,
    },
    /// The root of a naming context is not there.
    Root {
        /// The naming context.
        suffix: String,
    },
}

impl RestoreError {
    /// Less memory is allowed than is needed.
    fn too_little(text: &str) -> RestoreError {
        RestoreError::Memory(io::Error::new(io::ErrorKind::OutOfMemory, text))
    }

    pub(crate) fn unknown(kind: &'static str, name: &[u8]) -> RestoreError {
        RestoreError::Unknown { kind, name: String::from_utf8_lossy(name).into_owned() }
    }
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RestoreError::Format { found, known } => {
                write!(f, "the snapshot has format {found}, this version knows {known}")
            }
            RestoreError::Meta { offset, what } => write!(f, "the snapshot's meta, byte {offset}: {what}"),
            RestoreError::Unknown { kind, name } => {
                write!(f, "entries have the {kind} \"{name}\", which the schema does not know: load it")
            }
            RestoreError::Settings(text) => f.write_str(text),
            RestoreError::Memory(error) => write!(f, "memory for the snapshot: {error}"),
            RestoreError::SlotMap { offset } => {
                write!(f, "the slot map, byte {offset}: an address that leads nowhere")
            }
            RestoreError::Lost { objects } => {
                write!(f, "the slot map: {objects} addresses where no object begins")
            }
            RestoreError::Segment { segment, offset, what } => {
                write!(f, "segment {segment}, byte {offset}: {what}")
            }
            RestoreError::Root { suffix } => write!(f, "the entry of the suffix \"{suffix}\" is not there"),
        }
    }
}

impl std::error::Error for RestoreError {}

/// A shard that is being restored.
pub struct Restore {
    shard: Shard,
    meta: Meta,
    slots: Vec<u8>,
    /// The roots of naming contexts and their keys.
    roots: BTreeMap<u32, Vec<u8>>,
}

/// Where the bytes of a segment belong.
pub struct SegmentMut<'r> {
    /// Which segment.
    pub segment: Segment,
    /// Its place, as long as the segment.
    pub bytes: &'r mut [u8],
}

impl Restore {
    /// Makes room for a checkpoint.
    ///
    /// # Errors
    /// When the settings do not fit it (start from [`Meta::settings`]) or the schema lacks something.
    pub fn begin(mut meta: Meta, settings: Settings, schema: Arc<Schema>) -> Result<Restore, RestoreError> {
        let made_with = meta.settings(vec![], 0);
        if (settings.key, settings.operational_attributes, &settings.initial_owner)
            != (made_with.key, made_with.operational_attributes, &made_with.initial_owner)
        {
            let text = "key, initial owner and operational attributes are fixed when a directory is created";
            return Err(RestoreError::Settings(text.to_owned()));
        }
        let shard = Shard::build(settings, schema).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => RestoreError::Settings(error.to_string()),
            _ => RestoreError::Memory(error),
        })?;
        // Suffixes before memory is filled: a setting that does not fit is reported before gigabytes are read.
        let roots = roots(&meta, &shard)?;
        let placed = shard.heap.place_parts(&mut meta.parts);
        if placed.is_err() || !shard.heap.has_ids(meta.ids_end, meta.nodes_end) {
            return Err(RestoreError::too_little("the memory limit is less than the snapshot needs"));
        }
        let slots = vec![0; meta.slot_map_bytes() as usize];
        Ok(Restore { shard, meta, slots, roots })
    }

    /// Where the bytes of the segments and of the slot map belong, in the order of [`Meta::segments`].
    pub fn memory(&mut self) -> (Vec<SegmentMut<'_>>, &mut [u8]) {
        let places = self.shard.heap.parts_mut(&self.meta.parts);
        let with_id = |(part, bytes)| SegmentMut { segment: segment(part), bytes };
        (self.meta.parts.iter().zip(places).map(with_id).collect(), &mut self.slots)
    }

    /// Makes the shard, once all bytes are in their places.
    ///
    /// # Errors
    /// When the bytes are not those of a checkpoint. It is the first wrong one that is reported.
    pub fn finish(mut self, run: Run<'_>) -> Result<Arc<Shard>, RestoreError> {
        // Before anything is read: objects have sequences up to the checkpoint's, and are seen from there only.
        self.shard.start_at(self.meta.sequence);
        self.take_shapes_and_names()?;
        let objects = self.open_slots(run)?;
        // The map has done its work, and is five bytes for each id.
        self.slots = Vec::new();
        let mut alive = self.walk_parts(run, objects)?;
        let (entries, shapes) = self.derive(run, &mut alive)?;
        self.drop_unused_shapes(&shapes);
        self.settle(&alive, entries)?;
        Ok(Arc::new(self.shard))
    }

    /// Makes the tables that records refer to by number, so it comes before the first record is looked at.
    fn take_shapes_and_names(&mut self) -> Result<(), RestoreError> {
        let state = &mut *self.shard.state();
        self.meta.make_shapes(&self.shard.schema, &self.shard.shapes, &mut state.shapes)?;
        state.names.clear();
        for (number, name) in self.meta.names.iter().enumerate() {
            // The first is the initial owner, who is there already.
            if number > 0 && self.shard.names.push(number, name.clone()).is_err() {
                return Err(RestoreError::Meta { offset: 0, what: "too many names" });
            }
            if state.names.insert(name.clone(), number as u32).is_some() {
                return Err(RestoreError::Meta { offset: 0, what: "a name that was there before" });
            }
        }
        if self.meta.has_foreign_uuids() {
            self.shard.note_foreign_uuid();
        }
        Ok(())
    }

    /// Fills the slots; returns how many are not empty.
    fn open_slots(&self, run: Run<'_>) -> Result<u64, RestoreError> {
        let (errors, objects) = (Errors::default(), AtomicU64::new(0));
        let (heap, parts, ids_end) = (&self.shard.heap, &self.meta.parts, self.meta.ids_end as usize);
        let chunks: Vec<&[u8]> = self.slots.chunks(JOB_SLOTS * SLOT_BYTES).collect();
        run(chunks.len(), &|job| {
            let mut count = 0;
            for (at, bytes) in chunks[job].chunks_exact(SLOT_BYTES).enumerate() {
                let mut word = [0; 8];
                word[..SLOT_BYTES].copy_from_slice(bytes);
                let (address, position) = (u64::from_le_bytes(word), job * JOB_SLOTS + at);
                if address == 0 {
                    continue;
                }
                let (is_node, id) = match position.checked_sub(ids_end) {
                    None => (false, position as u32),
                    Some(node) => (true, node as u32),
                };
                if !heap.open_slot(parts, is_node, id, address) {
                    let offset = (position * SLOT_BYTES) as u64;
                    errors.note(job, RestoreError::SlotMap { offset });
                    return;
                }
                count += 1;
            }
            objects.fetch_add(count, Ordering::Relaxed);
        });
        errors.none().map(|()| objects.into_inner())
    }

    /// Looks at every object of every segment. Returns the live bytes by position of the part.
    fn walk_parts(&self, run: Run<'_>, objects: u64) -> Result<Vec<u32>, RestoreError> {
        let (errors, found) = (Errors::default(), AtomicU64::new(0));
        let Meta { ids_end, nodes_end, sequence, .. } = self.meta;
        let (bounds, parts) = (Bounds { ids_end, nodes_end, sequence }, &self.meta.parts);
        let alive: Vec<AtomicU32> = parts.iter().map(|_| AtomicU32::new(0)).collect();
        run(parts.len(), &|job| match self.shard.heap.walk_part(&parts[job], &bounds) {
            // Each job has a part of its own, so the stores below do not meet.
            Ok(part) => {
                alive[job].store(part.bytes, Ordering::Relaxed);
                found.fetch_add(part.objects, Ordering::Relaxed);
            }
            Err(fault) => {
                let (segment, offset, what) = (parts[job].serial, fault.offset, fault.what);
                errors.note(job, RestoreError::Segment { segment, offset, what });
            }
        });
        errors.none()?;
        let found = found.into_inner();
        assert!(found <= objects, "no slot is found at two objects");
        match objects - found {
            0 => Ok(alive.into_iter().map(AtomicU32::into_inner).collect()),
            objects => Err(RestoreError::Lost { objects }),
        }
    }

    /// Looks at every entry and makes all that follows from it. Returns how many there are, and which shapes they have.
    fn derive(&self, run: Run<'_>, alive: &mut [u32]) -> Result<(u64, Marks), RestoreError> {
        let (shard, meta) = (&self.shard, &self.meta);
        let deriver = Derive::new(shard, meta, &self.roots);
        let mut state = shard.state();
        let mut sinks = Sinks::new(shard, &mut state);
        // In rounds: what one notes of its entries is put into the tables before the next begins, so that it takes memory
        // for 262,144 entries and not for all.
        let (mut entries, mut roots) = (0, 0);
        let (mut ordering, mut done) = (vec![Vec::new(); usize::from(deriver.indexes())], 0);
        let made: Vec<Mutex<Derived>> = (0..ROUND_JOBS).map(|_| Mutex::new(deriver.begin())).collect();
        let all = (meta.ids_end as usize).div_ceil(JOB_ENTRIES);
        while done < all {
            let (jobs, errors) = (ROUND_JOBS.min(all - done), Errors::default());
            run(jobs, &|job| {
                let first = (done + job) * JOB_ENTRIES;
                let ids = first as u32..(first + JOB_ENTRIES).min(meta.ids_end as usize) as u32;
                if let Err(fault) = deriver.run(ids, &mut lock(&made[job])) {
                    errors.note(job, self.at_entry(fault.id, fault.what));
                }
            });
            errors.none()?;
            fill(&mut sinks, &made[..jobs], run)?;
            for made in &made[..jobs] {
                let made = &mut *lock(made);
                entries += std::mem::take(&mut made.entries);
                roots += std::mem::take(&mut made.roots);
                for (all, some) in ordering.iter_mut().zip(&mut made.ordering) {
                    all.append(some);
                }
            }
            done += jobs;
        }
        drop(sinks);
        crate::index::rebuild::gather(&mut state.indexes, ordering);
        // Every root that the meta names was met as an entry without a superior, or one is missing.
        if roots != self.roots.len() {
            let is_missing = |id: &u32| shard.heap.place_of(false, *id).is_none();
            let lost = meta.suffixes.iter().find(|(_, root)| root.0 != 0 && is_missing(&root.0));
            let suffix = lost.map_or(String::new(), |(suffix, _)| suffix.clone());
            return Err(RestoreError::Root { suffix });
        }
        // Nodes of ordering trees: those are built anew, for the indexes of today, in `finish_load`.
        for id in (1..meta.nodes_end).filter(|id| !deriver.nodes.has(*id)) {
            if let Some((number, bytes)) = shard.heap.drop_node(id) {
                let alive = &mut alive[self.part_of(number)];
                assert!(*alive >= bytes, "a node that is dropped was counted in its part");
                *alive -= bytes;
            }
        }
        Ok((entries, deriver.shapes))
    }

    /// Shapes that no entry has were those of entries that were deleted or changed. Only here can they be dropped: no reader
    /// holds one, and no template or prepared write has its number.
    fn drop_unused_shapes(&mut self, used: &Marks) {
        let mut writer = std::mem::take(&mut self.shard.state().shapes);
        self.shard.shapes.drop_unused(&mut writer, |number| used.has(number));
        self.shard.state().shapes = writer;
    }

    /// What the writer keeps count of. It ends with a load: the ordering trees are built, without versions, and the first
    /// batch is published, which is the one after the checkpoint.
    fn settle(&mut self, alive: &[u32], entries: u64) -> Result<(), RestoreError> {
        let (shard, meta) = (&self.shard, &self.meta);
        let filling = meta.filling.map(|at| &meta.parts[at as usize]);
        {
            let writer = &mut shard.state().heap;
            shard.heap.adopt(writer, &meta.parts, alive);
            shard.heap.fill(writer, filling, meta.serial);
            shard.heap.adopt_ids(writer, (meta.ids_end, meta.nodes_end), meta.dead.ids());
        }
        shard.state().dead = meta.dead.clone();
        let mut writer = shard.writer();
        writer.count_entries(entries as i64);
        writer.restore_csn(meta.last_csn);
        writer.load();
        writer.finish_load().map_err(|refused| RestoreError::too_little(&refused.to_string()))?;
        writer.note_kinds();
        writer.measure();
        writer.publish();
        Ok(())
    }

    /// Position of the part that a segment belongs to.
    fn part_of(&self, number: usize) -> usize {
        let behind = self.meta.parts.partition_point(|part| part.number as usize <= number);
        assert!(behind > 0, "a segment with an object belongs to a part");
        behind - 1
    }

    /// A fault in a record, reported by the place of the record in its segment: an operator can find the file by that, not by an id.
    fn at_entry(&self, id: u32, what: &'static str) -> RestoreError {
        let (number, offset, _) = self.shard.heap.place_of(false, id).unwrap_or((0, 0, 0));
        let part: &Part = &self.meta.parts[self.part_of(number)];
        RestoreError::Segment { segment: part.serial, offset, what }
    }
}

/// The naming contexts that have entries: id of the root and key.
fn roots(meta: &Meta, shard: &Shard) -> Result<BTreeMap<u32, Vec<u8>>, RestoreError> {
    let mut roots = BTreeMap::new();
    for (text, root) in meta.suffixes.iter().filter(|(_, root)| root.0 != 0) {
        let mut key = Vec::new();
        dn_key(&shard.schema, text.as_bytes(), &mut key)
            .map_err(|error| RestoreError::Settings(format!("suffix \"{text}\": {error}")))?;
        if shard.suffixes.with_key(&key).is_none() {
            let error = format!("there are entries under \"{text}\", which is no suffix any more");
            return Err(RestoreError::Settings(error));
        }
        if roots.insert(root.0, key).is_some() {
            return Err(RestoreError::Meta { offset: 0, what: "two suffixes have one entry" });
        }
    }
    Ok(roots)
}

/// The error of the lowest job: the same whichever job was the first to find one.
#[derive(Default)]
struct Errors(Mutex<Option<(usize, RestoreError)>>);

impl Errors {
    fn note(&self, job: usize, error: RestoreError) {
        let mut first = lock(&self.0);
        if first.as_ref().is_none_or(|(other, _)| job < *other) {
            *first = Some((job, error));
        }
    }

    fn none(self) -> Result<(), RestoreError> {
        match lock(&self.0).take() {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }
}
