//! New entries of one template: same superior, same naming attribute, same object classes, same attributes with one
//! value each. What is the same was checked once, of one entry that was prepared like any other ([`Prepared`]); of the
//! others only the values are looked at, and what is stored of them is written down at once. Many threads do that while one
//! adds.
//!
//! A row may only say yes: a record that differs from the pattern in anything, or has a value that might not be valid,
//! is [`Unlike`] and goes through [`Shard::prepare`], which decides and tells why. So this file has no error text and no
//! rule of its own. A pattern holds for as long as the shard, since schema and settings do, but for indexes:
//! whether a tag is used is asked again when rows are added.

use super::Prepared;
use crate::hash::{mix_word, tag};
use crate::record;
use crate::resolve::short_key;
use crate::shard::Shard;
use model::limits::VALUE_BYTES_MAX;
use model::short::{Word, strip_prefix};
use model::{Description, dn};
use schema::CheckOptions;
use std::sync::Arc;

/// What the entries of one template have in common.
#[derive(Debug)]
pub struct Pattern {
    /// The RDN up to its value, as it is spelled.
    rdn_start: Vec<u8>,
    /// The DN behind the RDN, with the comma.
    rest: Vec<u8>,
    attributes: Vec<Common>,
    /// Position of the naming attribute.
    naming: usize,
    /// The entry that it was learned from.
    pub(super) model: Prepared,
}

/// An attribute of the template.
#[derive(Debug)]
struct Common {
    /// Its description, as it is spelled.
    text: Vec<u8>,
    what: What,
}

/// objectClass is apart from all others because its values are compared as a list: they decide what else may be there, so
/// the list must be the same, value by value, for the check of one entry to hold for all.
#[derive(Debug)]
enum What {
    /// objectClass, with the values that the entries bring.
    Classes(Vec<Vec<u8>>),
    /// Any other, with one value. Is there an equality index of it?
    One { description: Description, is_indexed: bool },
}

/// A row batch: entries ready to be added, of one pattern after the other.
#[derive(Debug, Default)]
pub struct Rows {
    pub(super) rows: Vec<Row>,
    /// What their records end with: the values.
    pub(super) values: Vec<u8>,
    /// Index keys of each row, as many as its pattern has.
    pub(super) tags: Vec<u32>,
    pub(super) patterns: Vec<Arc<Pattern>>,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Key of its RDN.
    pub(super) key: Word,
    /// Where its values begin, and its tags.
    pub(super) values: u32,
    pub(super) tags: u32,
    pub(super) pattern: u32,
}

impl Rows {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Empties it, keeps the memory.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.values.clear();
        self.tags.clear();
        self.patterns.clear();
    }

    /// The bytes of a row's values in its record.
    #[inline]
    pub(super) fn values_of(&self, at: usize) -> &[u8] {
        // A row ends where the next begins: it has no length of its own.
        let end = self.rows.get(at + 1).map_or(self.values.len(), |next| next.values as usize);
        &self.values[self.rows[at].values as usize..end]
    }

    /// A row's equality keys, in the order of its attributes.
    #[inline]
    pub(super) fn tags_of(&self, at: usize) -> &[u32] {
        let end = self.rows.get(at + 1).map_or(self.tags.len(), |next| next.tags as usize);
        &self.tags[self.rows[at].tags as usize..end]
    }

    /// The number of a pattern here.
    fn number_of(&mut self, pattern: &Arc<Pattern>) -> u32 {
        match self.patterns.last() {
            Some(last) if Arc::ptr_eq(last, pattern) => {}
            _ => self.patterns.push(Arc::clone(pattern)),
        }
        self.patterns.len() as u32 - 1
    }
}

/// Why a record makes no row: it does not match the template. What is to become of it is for [`Shard::prepare`] to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unlike;

/// A row that is being made; what was written is taken back unless it is finished.
pub struct RowMaker<'r> {
    shard: &'r Shard,
    rows: &'r mut Rows,
    pattern: &'r Arc<Pattern>,
    key: Word,
    value: &'r [u8],
    /// The attribute that goes on, and of objectClass how many values it had.
    at: usize,
    classes: usize,
    started: (usize, usize),
    is_whole: bool,
}

impl Pattern {
    /// Learns from an entry that was prepared and the values it came with, in their order. `None` if entries like that are
    /// no rows.
    pub fn learn<'v>(
        shard: &Shard,
        prepared: Prepared,
        values: impl Iterator<Item = (&'v [u8], &'v [u8])>,
    ) -> Option<Pattern> {
        // The place of each entry is judged by itself.
        if shard.judges_places() {
            return None;
        }
        let (first, rest) = dn::split_first(&prepared.dn);
        let equals = first.iter().position(|byte| *byte == b'=')?;
        let (rdn_start, rest_at) = (first[..=equals].to_vec(), prepared.dn.len() - rest?.len());
        let rest = prepared.dn[first.len()..].to_vec();
        let naming = match &prepared.naming.types[..] {
            [naming] if rest_at > first.len() => Description::plain(*naming),
            _ => return None,
        };
        let mut attributes: Vec<Common> = Vec::new();
        for (text, value) in values {
            let is_next = attributes.last().is_none_or(|last| last.text != text);
            match attributes.last_mut().filter(|_| !is_next) {
                None => attributes.push(begin(shard, &prepared, attributes.len(), text, value)?),
                Some(Common { what: What::Classes(classes), .. }) => classes.push(value.to_vec()),
                Some(_) => return None,
            }
        }
        let naming = attributes.iter().position(|common| common.is(naming))?;
        let is_all = attributes.len() == prepared.checked.as_ref()?.len();
        is_all.then_some(Pattern { rdn_start, rest, attributes, naming, model: prepared })
    }

    /// Descriptions of the attributes whose values lie in a row, and whether it has an equality key of each.
    pub(super) fn values(&self) -> impl Iterator<Item = (Description, bool)> {
        self.attributes.iter().filter_map(|common| match common.what {
            What::One { description, is_indexed } => Some((description, is_indexed)),
            What::Classes(_) => None,
        })
    }
}

impl Common {
    fn is(&self, wanted: Description) -> bool {
        matches!(self.what, What::One { description, .. } if description == wanted)
    }
}

/// The attribute at a position, which begins with this value.
fn begin(shard: &Shard, prepared: &Prepared, at: usize, text: &[u8], value: &[u8]) -> Option<Common> {
    let (schema, entry) = (shard.schema(), prepared.checked.as_ref()?);
    let description = (at < entry.len()).then(|| entry.description(at))?;
    let known = &schema.attribute_type(description.attribute_type).definition;
    // What is left out or renamed on the way is nothing to learn from.
    schema.find_description(text).filter(|named| *named == description)?;
    let what = match description == Description::plain(schema.well_known().object_class) {
        true => What::Classes(vec![value.to_vec()]),
        false if entry.value_count(at) != 1 || entry.values(at).next() != Some(value) => return None,
        // Some of these mean more than what they say.
        false if known.no_user_modification || known.is_operational() || known.obsolete => return None,
        false => {
            let of_it = |index: &&crate::IndexSettings| {
                index.kinds.contains(&crate::IndexKind::Equality)
                    && schema.find_type(index.attribute.as_bytes()) == Some(description.attribute_type)
            };
            let is_indexed = shard.settings().indexes.iter().any(|index| of_it(&index));
            What::One { description, is_indexed }
        }
    };
    Some(Common { text: text.to_vec(), what })
}

impl Shard {
    /// Begins a row for an entry with this DN; its values follow.
    ///
    /// # Errors
    /// When the entry is unlike those of the pattern, or its name is no short word.
    #[inline]
    pub fn begin_row<'r>(
        &'r self,
        rows: &'r mut Rows,
        pattern: &'r Arc<Pattern>,
        dn: &'r [u8],
    ) -> Result<RowMaker<'r>, Unlike> {
        let rdn = dn.strip_suffix(&pattern.rest[..]).ok_or(Unlike)?;
        let value = strip_prefix(rdn, &pattern.rdn_start).ok_or(Unlike)?;
        let What::One { description, .. } = pattern.attributes[pattern.naming].what else {
            return Err(Unlike);
        };
        let word =
            Word::of(value).filter(|_| !value.is_empty() && dn::is_plain_value(value)).ok_or(Unlike)?;
        let form = self.schema.short_form(description.attribute_type, word).ok_or(Unlike)?;
        let key = short_key(description.attribute_type, form);
        let started = (rows.values.len(), rows.tags.len());
        Ok(RowMaker { shard: self, rows, pattern, key, value, at: 0, classes: 0, started, is_whole: false })
    }
}

impl RowMaker<'_> {
    /// The next value of the entry.
    ///
    /// # Errors
    /// When it is not what the pattern has there, or may not be valid.
    #[inline]
    pub fn push(&mut self, text: &[u8], value: &[u8]) -> Result<(), Unlike> {
        let pattern = &**self.pattern;
        let mut common = pattern.attributes.get(self.at).ok_or(Unlike)?;
        if let What::Classes(classes) = &common.what {
            if self.classes < classes.len() {
                let is_it = common.text == text && classes[self.classes] == value;
                self.classes += 1;
                return is_it.then_some(()).ok_or(Unlike);
            }
            self.at += 1;
            common = pattern.attributes.get(self.at).ok_or(Unlike)?;
        }
        let What::One { description, is_indexed } = common.what else { return Err(Unlike) };
        if common.text != text || value.len() >= VALUE_BYTES_MAX || self.rows.values.len() >= VALUES_BYTES_MAX
        {
            return Err(Unlike);
        }
        if self.at == pattern.naming && value != self.value {
            return Err(Unlike);
        }
        let shard = self.shard;
        if shard.settings.schema_check {
            let options = CheckOptions { no_user_modification: true, obsolete: true };
            shard.schema.check_attribute_value(description, value, options).map_err(|_| Unlike)?;
        }
        if is_indexed {
            self.rows.tags.push(equality_tag(shard, description, value)?);
        }
        record::push_value(&mut self.rows.values, value);
        self.at += 1;
        Ok(())
    }

    /// Ends the row: no more values come.
    ///
    /// # Errors
    /// When the pattern has more.
    #[inline]
    pub fn finish(mut self) -> Result<(), Unlike> {
        let attributes = &self.pattern.attributes;
        let mut end = self.at;
        if let Some(Common { what: What::Classes(classes), .. }) = attributes.get(end)
            && classes.len() == self.classes
        {
            end += 1;
        }
        if end != attributes.len() {
            return Err(Unlike);
        }
        let pattern = self.rows.number_of(self.pattern);
        assert!(self.rows.values.len() <= u32::MAX as usize, "offsets into the values have 32 bits");
        let (values, tags) = (self.started.0 as u32, self.started.1 as u32);
        self.rows.rows.push(Row { key: self.key, values, tags, pattern });
        self.is_whole = true;
        Ok(())
    }
}

impl Drop for RowMaker<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_whole {
            self.rows.values.truncate(self.started.0);
            self.rows.tags.truncate(self.started.1);
        }
    }
}

/// Bytes of values that rows have together when one more value is taken, at most: offsets have 32 bits, and no value is
/// longer than 16 MiB.
const VALUES_BYTES_MAX: usize = 1 << 30;

/// The key of a value in an equality index of its own type.
#[inline]
fn equality_tag(shard: &Shard, description: Description, value: &[u8]) -> Result<u32, Unlike> {
    let schema = &shard.schema;
    if let Some(form) = Word::of(value).and_then(|word| schema.short_form(description.attribute_type, word)) {
        return Ok(tag(shard.short_value_hash(form)));
    }
    let mut normal = Vec::new();
    schema.normalise_equality(description.attribute_type, value, &mut normal).map_err(|_| Unlike)?;
    Ok(tag(shard.value_hash(&normal)))
}

impl Row {
    /// Its tag in the DN hash below this superior.
    #[inline]
    pub(super) fn dn_tag(&self, shard: &Shard, parent: u32) -> u32 {
        tag(mix_word(shard.dn_hash_key(parent), self.key))
    }
}
