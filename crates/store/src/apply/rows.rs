//! Adding alike entries, some at a time: the memory that they need is asked for together.

use super::alike::{Pattern, Rows};
use super::write::Write;
use crate::deferred::Later;
use crate::index::IndexKind;
use crate::record::{self, Stamps};
use crate::refused::Refused;
use crate::shape::Kind;
use crate::shard::Writer;
use model::{Csn, Description};
use std::ops::Range;

/// Rows whose memory is asked for together.
const TOGETHER: usize = 32;
/// Bytes that a row may need beyond twice its values.
const SLACK: usize = 512;

/// What all rows of a pattern are stored with.
struct Common {
    pattern: u32,
    parent: u32,
    shape: u32,
    steps: Vec<Step>,
}

/// A part of indexing a row.
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
        let (mut at, mut known) = (range.start, None);
        while at < range.end {
            let pattern = rows.rows[at].pattern;
            let alike =
                rows.rows[at..range.end].iter().take(TOGETHER).take_while(|row| row.pattern == pattern);
            let end = at + alike.count();
            let common = match known.take().filter(|common: &Common| common.pattern == pattern) {
                Some(common) => common,
                None => match self.common(pattern, &rows.patterns[pattern as usize]) {
                    Some(common) => common,
                    None => break,
                },
            };
            let added = self.add_alike(rows, at..end, &common, unix_ms);
            at += added;
            if at < end {
                break;
            }
            known = Some(common);
        }
        at - range.start
    }

    /// What the rows of a pattern are stored with; `None` if they are to be added like other entries.
    fn common(&mut self, number: u32, pattern: &Pattern) -> Option<Common> {
        let (view, model) = (self.view(), &pattern.model);
        let (superior, entry) = (model.superior()?, model.checked()?);
        let state = &mut *self.state;
        state.cache.refresh(view);
        let (key, mut keys) = (model.key(), Vec::new());
        view.target_with_key(&model.dn, Some(superior), key, &mut state.cache, &mut keys).ok()?;
        // What is remembered is the superior of no naming context.
        let parent = state.cache.superior(superior).filter(|parent| *parent != 0)?;
        self.refuse_below_alias(parent).ok()?;
        let stamps = stamps_of(Csn::default());
        let write = Write { id: Writer::UNSTORED, parent, entry, sets: &[], naming: model.naming(), stamps };
        let shape = self.shape_of(&write).ok()?;
        (self.shard.shapes.at(shape).kind == Kind::Plain).then_some(())?;
        Some(Common { pattern: number, parent, shape, steps: self.steps(pattern) })
    }

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
        let at = pattern.model.checked().and_then(|entry| entry.position(classes));
        if let Some(at) = at.filter(|_| indexes.cover(classes.attribute_type)) {
            steps.push(Step::Model { at, description: classes });
        }
        steps
    }

    /// Adds rows of one pattern; returns how many.
    fn add_alike(&mut self, rows: &Rows, range: Range<usize>, common: &Common, unix_ms: u64) -> usize {
        let shard = self.shard;
        let bytes: usize = range.clone().map(|at| 2 * rows.values_of(at).len() + SLACK).sum();
        if self.claim(bytes).is_err() {
            return 0;
        }
        let mut tags = [0; TOGETHER];
        for (at, tag) in range.clone().zip(&mut tags) {
            *tag = rows.rows[at].dn_tag(shard, common.parent);
            shard.dn_table.prefetch(*tag);
            for step in &common.steps {
                if let Step::Tag { at: tag_at, index } = step {
                    self.prefetch_tag(*index, rows.tags_of(at)[*tag_at]);
                }
            }
        }
        let mut record = std::mem::take(&mut self.state.scratch.record);
        let mut added = 0;
        for (at, tag) in range.zip(tags) {
            if self.has_row(rows, at, tag, common) {
                break;
            }
            let stamps = stamps_of(self.stamp(unix_ms));
            let flags = record::begin(&mut record, common.shape, common.parent, &stamps);
            record.extend_from_slice(rows.values_of(at));
            let Ok(id) = shard.heap.allocate_id(&mut self.state.heap) else { break };
            if self.link_row(rows, at, (id, tag), common).is_err() {
                // What leads to an id without an entry leads nowhere.
                shard.heap.put_removed(&mut self.state.heap, id, self.sequence);
                self.later(Later::Forget(id));
                break;
            }
            let version = self.version();
            shard.heap.put(&mut self.state.heap, id, flags, version, &record);
            added += 1;
        }
        self.state.scratch.record = record;
        self.count_entries(added as i64);
        added
    }

    /// Is there an entry with the name of a row?
    #[inline]
    fn has_row(&self, rows: &Rows, at: usize, tag: u32, common: &Common) -> bool {
        let key = &rows.rows[at].key;
        let (padded, view) = (key.padded(), self.view());
        view.lookup_key(common.parent, tag, &padded[..key.len], b"", &mut Vec::new()).is_some()
    }

    /// Makes a row findable under an id.
    #[inline]
    fn link_row(
        &mut self,
        rows: &Rows,
        at: usize,
        (id, tag): (u32, u32),
        common: &Common,
    ) -> Result<(), Refused> {
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
                    let entry = model.checked().expect("a pattern's model was prepared");
                    self.index_change(id, description, none.clone(), entry.values(model_at))?;
                }
            }
        }
        let shard = self.shard;
        let full = Refused::MemoryLimit { bytes_max: shard.settings.memory_bytes_max };
        shard.dn_table.put_new(&mut self.state.dn, &shard.readers, tag, id).map_err(|_| full)?;
        self.link_superior(id, common.parent)
    }
}

impl crate::index::AttributeIndex {
    /// Is it the equality index of this very type?
    fn is_own_equality(&self, attribute_type: model::TypeId) -> bool {
        self.kind() == IndexKind::Equality && self.attribute_type == attribute_type
    }
}

fn stamps_of(csn: Csn) -> Stamps {
    Stamps { created: csn, creator: 0, modified: None }
}
