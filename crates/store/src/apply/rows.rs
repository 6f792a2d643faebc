//! Adding row batches: entries of one template, some at a time, whose memory is prefetched and claimed together.
//!
//! An add of one entry waits for memory again and again: DN hash, children, indexes, slot. Rows know their tags before they
//! are added, so the cache lines of the row 32 places ahead are prefetched with each that is added. What all rows of a
//! pattern have in common (superior, shape, what is to be indexed and how) is looked up once for each run of them.
//!
//! The first row that cannot be added ends the run: the caller adds that entry like any other, which finds the reason, and
//! goes on with the rows behind it. So nothing here decides what the outcome of an add is.

use super::condition::UNSTORED;
use super::pattern::{Pattern, Rows};
use super::write::Write;
use crate::deferred::Later;
use crate::record::{self, FIXED, Stamps};
use crate::refused::Refused;
use crate::segment::SHORT_HEADER;
use crate::shape::Kind;
use crate::shard::Writer;
use model::{Csn, Description};
use smallvec::SmallVec;
use std::ops::Range;

/// Rows ahead of the one being added whose memory is asked for.
/// The memory of a row comes in while so many others are added: about as long as one miss takes.
const AHEAD: usize = 32;
/// Rows that room is made for together, and that become subordinates together.
/// Room is made at most once for each part, so a part must not be much larger than what fits into a segment.
const TOGETHER: usize = 64;
/// Bytes that a row may need beyond twice its values.
const SLACK: usize = 512;

/// What all rows of a pattern are stored with.
/// It holds as long as the run does: nothing but rows of this pattern is added meanwhile.
struct Common {
    pattern: u32,
    parent: u32,
    shape: u32,
    steps: Vec<Step>,
}

/// A part of indexing a row.
/// Worked out once for a run, so that a row is indexed without asking which indexes there are.
enum Step {
    /// One of the row's tags goes to this index.
    Tag { at: usize, index: u16 },
    /// One of the row's values goes to all indexes of its attribute.
    Value { at: usize, description: Description },
    /// The values of the model's attribute at a position do: those of objectClass.
    Model { at: usize, description: Description },
}

impl Writer<'_> {
    /// Adds rows in their order, each with the next stamp of this time, until one cannot be added; returns how many were.
    /// That one is to be added like any other entry, which tells why it cannot be.
    pub fn add_rows(&mut self, rows: &Rows, range: Range<usize>, unix_ms: u64) -> usize {
        let mut at = range.start;
        for run in rows.rows[range.clone()].chunk_by(|a, b| a.pattern == b.pattern) {
            let pattern = run[0].pattern;
            let Some(common) = self.common(pattern, &rows.patterns[pattern as usize]) else { break };
            let added = self.add_run(rows, at..at + run.len(), &common, unix_ms);
            at += added;
            if added < run.len() {
                break;
            }
        }
        at - range.start
    }

    /// Adds rows of one pattern; returns how many.
    fn add_run(&mut self, rows: &Rows, run: Range<usize>, common: &Common, unix_ms: u64) -> usize {
        assert!(
            common.pattern == rows.rows[run.start].pattern,
            "the rows of a run have the pattern that it is for"
        );
        // The tags of the rows whose memory was prefetched: a ring, in which a row has the place of its number.
        let mut asked = [0; AHEAD];
        for at in run.clone().take(AHEAD) {
            asked[at % AHEAD] = self.ask_for(rows, at, common);
        }
        let mut at = run.start;
        while at < run.end {
            let end = run.end.min(at + TOGETHER);
            let bytes: usize = (at..end).map(|at| 2 * rows.values_of(at).len() + SLACK).sum();
            if self.claim(bytes).is_err() {
                break;
            }
            // A superior with a set of subordinates gets all new ones in one change of the set; else one by one, until there
            // are enough for a set. Looked up for each part, since the rows before may have made it.
            // The claim above has moved what must be moved: from here to the end of the part nothing does.
            let child_tag = self.shard.child_tag(common.parent);
            let has_set = self.shard.children.has_set(child_tag);
            let mut ids = SmallVec::<[u32; TOGETHER]>::new();
            for at in at..end {
                let tag = asked[at % AHEAD];
                if at + AHEAD < run.end {
                    asked[at % AHEAD] = self.ask_for(rows, at + AHEAD, common);
                }
                match self.add_row(rows, at, (tag, common), (unix_ms, has_set)) {
                    Some(id) => ids.push(id),
                    None => break,
                }
            }
            self.count_entries(ids.len() as i64);
            if has_set {
                let (shard, view) = (self.shard, self.view());
                let (children, mut context) = Writer::context(&mut self.state, view);
                let is_in = shard.children.insert_all_new(children, &mut context, child_tag, &ids);
                debug_assert!(is_in, "a set stays a set");
            }
            at += ids.len();
            if at < end {
                break;
            }
        }
        at - run.start
    }

    /// What the rows of a pattern are stored with; `None` if they are to be added like other entries.
    /// All that can refuse every row of the pattern is found out here, before the first of them is added.
    fn common(&mut self, number: u32, pattern: &Pattern) -> Option<Common> {
        let (view, model) = (self.view(), &pattern.model);
        let (superior, entry) = (model.superior()?, model.checked.as_ref()?);
        let state = &mut *self.state;
        state.cache.refresh(view);
        let (key, mut keys) = (&model.key, Vec::new());
        view.target_with_key(&model.dn, Some(superior), key, &mut state.cache, &mut keys).ok()?;
        // What is remembered is the superior of no naming context.
        let parent = state.cache.superior(superior).filter(|parent| *parent != 0)?;
        self.refuse_below_alias(parent).ok()?;
        self.refuse_below_dynamic(parent, false).ok()?;
        let stamps = stamps_of(Csn::default());
        let write = Write { id: UNSTORED, parent, entry, sets: &[], naming: &model.naming, stamps };
        let shape = self.shape_of(&write).ok()?;
        let of = self.shard.shapes.at(shape);
        (of.kind == Kind::Plain && !of.has_access_rules && !of.is_dynamic).then_some(())?;
        Some(Common { pattern: number, parent, shape, steps: self.steps(pattern) })
    }

    /// How a row is indexed. A tag that was made with the row serves if the attribute has one index, of equality, of its
    /// own type; any other attribute goes the general way. Found when rows are added, since indexes come and go meanwhile.
    fn steps(&self, pattern: &Pattern) -> Vec<Step> {
        let indexes = self.view().indexes();
        let (mut steps, mut tags) = (Vec::new(), 0);
        for (at, (description, has_tag)) in pattern.values().enumerate() {
            let step = match indexes.numbers_of(description.attribute_type) {
                [] => None,
                [index] if has_tag && indexes.at(*index).is_own_equality(description.attribute_type) => {
                    Some(Step::Tag { at: tags, index: *index })
                }
                _ => Some(Step::Value { at, description }),
            };
            steps.extend(step);
            tags += usize::from(has_tag);
        }
        let classes = Description::plain(self.shard.schema.well_known().object_class);
        let at = pattern.model.checked.as_ref().and_then(|entry| entry.position(classes));
        if let Some(at) = at.filter(|_| indexes.cover(classes.attribute_type)) {
            steps.push(Step::Model { at, description: classes });
        }
        steps
    }

    /// Prefetches the memory that a row needs; returns its tag in the DN hash.
    /// Only the first lines of each table: what a lookup finds there decides where it looks next.
    #[inline]
    fn ask_for(&self, rows: &Rows, at: usize, common: &Common) -> u32 {
        let tag = rows.rows[at].dn_tag(self.shard, common.parent);
        self.shard.dn_table.prefetch(tag);
        for step in &common.steps {
            if let Step::Tag { at: tag_at, index } = step {
                self.prefetch_tag(*index, rows.tags_of(at)[*tag_at]);
            }
        }
        tag
    }

    /// Adds a row, which has this tag in the DN hash; returns its id. `None`, and nothing was done, if that cannot be.
    #[inline]
    fn add_row(
        &mut self,
        rows: &Rows,
        at: usize,
        (tag, common): (u32, &Common),
        (unix_ms, is_listed): (u64, bool),
    ) -> Option<u32> {
        let shard = self.shard;
        let id = self.state.heap.ids.allocate().ok()?;
        // Before anything else leads to the id: a name that is taken is the usual reason.
        if !self.name_row(rows, at, (id, tag), common) {
            self.state.heap.ids.give_back(&[id]);
            return None;
        }
        let linked = self.link_row(rows, at, id, common);
        let listed =
            linked.and_then(|()| if is_listed { Ok(()) } else { self.link_superior(id, common.parent) });
        if listed.is_err() {
            // What leads to an id without an entry leads nowhere. The id itself is free when that was removed.
            shard.heap.put_removed(&mut self.state.heap, id, self.sequence);
            self.later(Later::Dn { tag, id });
            self.mark_dead(id);
            // A key may be left in a tree, which has no entry any more.
            self.view().indexes().all().for_each(|(_, index)| index.note_unknown_least());
            return None;
        }
        let (created, values) = (self.stamp(unix_ms), rows.values_of(at));
        // In a load the record is put together where it is written; outside of one it needs a version, and that is the way
        // of every other entry.
        if self.loading {
            let mut front = [0; SHORT_HEADER + FIXED];
            record::begin_new(&mut front, common.shape, common.parent, created);
            shard.heap.put_new(&mut self.state.heap, (id, 0), &mut front, values);
            return Some(id);
        }
        let mut record = std::mem::take(&mut self.state.scratch.record);
        let flags = record::begin(&mut record, common.shape, common.parent, &stamps_of(created));
        record.extend_from_slice(values);
        shard.heap.put(&mut self.state.heap, id, flags, self.sequence, &record);
        self.state.scratch.record = record;
        self.settle_trees(id);
        Some(id)
    }

    /// Puts an id under the name of a row; false if an entry has that name, or there is no room.
    /// A tag that is there may be another name's: then the name itself is compared.
    #[inline]
    fn name_row(&mut self, rows: &Rows, at: usize, (id, tag): (u32, u32), common: &Common) -> bool {
        let shard = self.shard;
        match shard.dn_table.put_only(&mut self.state.dn, &shard.readers, tag, id) {
            Ok(true) => true,
            Ok(false) if !self.has_row(rows, at, tag, common) => {
                shard.dn_table.put(&mut self.state.dn, &shard.readers, tag, None, id).is_ok()
            }
            Ok(false) | Err(_) => false,
        }
    }

    /// Is there an entry with the name of a row?
    #[cold]
    fn has_row(&self, rows: &Rows, at: usize, tag: u32, common: &Common) -> bool {
        let key = &rows.rows[at].key;
        let (padded, view) = (key.padded(), self.view());
        view.lookup_key(common.parent, tag, &padded[..key.len], b"", &mut Vec::new()).is_some()
    }

    /// Makes a row findable under an id.
    /// If it fails half way, what leads to the id is removed with the id.
    #[inline]
    fn link_row(&mut self, rows: &Rows, at: usize, id: u32, common: &Common) -> Result<(), Refused> {
        let none = std::iter::empty::<&[u8]>();
        for step in &common.steps {
            match *step {
                Step::Tag { at: tag_at, index } => self.add_tag(index, rows.tags_of(at)[tag_at], id)?,
                Step::Value { at: value_at, description } => {
                    let value = record::one_values(rows.values_of(at)).skip(value_at).take(1);
                    self.index_change(id, description, none.clone(), value)?;
                }
                Step::Model { at: model_at, description } => {
                    let model = &rows.patterns[common.pattern as usize].model;
                    let entry = model.checked.as_ref().expect("a pattern's model was prepared");
                    self.index_change(id, description, none.clone(), entry.values(model_at))?;
                }
            }
        }
        Ok(())
    }
}

fn stamps_of(csn: Csn) -> Stamps {
    Stamps { created: csn, creator: 0, modified: None }
}
