//! Which indexes there are. Readers find the lookup through one pointer, and what is in it never changes: when an index
//! comes or goes the writer publishes another one, and the old one is kept until no reader can be looking at it.

use super::kind::IndexKind;
use super::settings::{IndexName, IndexSettings};
use super::{AttributeIndex, AttributeIndexWriter, IndexesWriter};
use crate::shard::ReadPoint;
use model::TypeId;
use model::limits::INDEXES_MAX;
use schema::Schema;
use std::ops::Range;
use std::sync::Arc;

/// In the place of a number: there is no such index.
const NONE: u16 = u16::MAX;

const _: () = assert!(INDEXES_MAX < NONE as usize);

/// The indexes at one time.
/// Three tables, so that each question on the way of a search or an update is one or two array accesses.
#[derive(Clone)]
pub(crate) struct Lookup {
    /// By number. A number is given again only when nobody can mean the former index with it.
    all: Vec<Option<Arc<AttributeIndex>>>,
    /// By attribute type: numbers of the indexes that hold its values, those that are being built among them.
    by_type: Vec<Vec<u16>>,
    /// By attribute type and kind: numbers of the indexes on this very type that tell of every entry.
    answering: Vec<[u16; IndexKind::ALL.len()]>,
}

impl Lookup {
    /// Empty ones, to be filled before anybody reads.
    /// Of those that a start names; each answers at once, for there is no entry yet.
    pub(crate) fn create(
        settings: &[IndexSettings],
        schema: &Schema,
        entries_max: usize,
    ) -> Result<(Lookup, IndexesWriter), String> {
        let types = schema.type_count();
        let mut lookup = Lookup {
            all: Vec::new(),
            by_type: vec![Vec::new(); types],
            answering: vec![[NONE; IndexKind::ALL.len()]; types],
        };
        let mut writers = Vec::new();
        for wanted in settings {
            let (text, attribute_type) = (&wanted.attribute, wanted.attribute_type(schema)?);
            for &kind in &wanted.kinds {
                let name = IndexName { attribute_type, kind };
                if lookup.answering(attribute_type, kind).is_some() {
                    return Err(format!("index {text}:{kind}: given twice"));
                }
                if lookup.all.len() == INDEXES_MAX {
                    return Err(format!("index {text}:{kind}: there are {INDEXES_MAX} others"));
                }
                let made = AttributeIndex::create(name, entries_max).map_err(|error| error.to_string())?;
                let (index, side) = made;
                let number = lookup.all.len() as u16;
                lookup.place(number, index, schema);
                lookup.answer(number);
                put(&mut writers, number, Some(side));
            }
        }
        Ok((lookup, writers))
    }
}

/// Puts the writer's side of an index to the others.
/// Apart from the lookup, since the writer's sides change with every key and the lookup never.
pub(super) fn put(writers: &mut IndexesWriter, number: u16, side: Option<AttributeIndexWriter>) {
    let number = usize::from(number);
    if writers.len() <= number {
        writers.resize_with(number + 1, || None);
    }
    writers[number] = side;
}

impl Lookup {
    /// Makes room for types that were added to the schema; returns their ids. An index holds the values of those that are subtypes of its own.
    pub(super) fn grow(&mut self, schema: &Schema) -> Range<usize> {
        let (before, types) = (self.by_type.len(), schema.type_count());
        self.by_type.resize_with(types, Vec::new);
        self.answering.resize(types, [NONE; IndexKind::ALL.len()]);
        for (number, index) in self.all.iter().enumerate() {
            let Some(index) = index else { continue };
            let subtypes = schema.subtypes(index.name.attribute_type);
            for subtype in subtypes.iter().filter(|id| (before..types).contains(&usize::from(id.0))) {
                self.by_type[usize::from(subtype.0)].push(number as u16);
            }
        }
        before..types
    }

    /// Puts an index in its place: changes of its values are noted in it.
    /// From the next batch on: the lookup is not published yet.
    pub(super) fn place(&mut self, number: u16, index: AttributeIndex, schema: &Schema) {
        for subtype in schema.subtypes(index.name.attribute_type).iter() {
            self.by_type[usize::from(subtype.0)].push(number);
        }
        if self.all.len() <= usize::from(number) {
            self.all.resize(usize::from(number) + 1, None);
        }
        self.all[usize::from(number)] = Some(Arc::new(index));
    }

    /// From now on it answers.
    /// Before this it is maintained and not asked.
    pub(super) fn answer(&mut self, number: u16) {
        let IndexName { attribute_type, kind } = self.at(number).name;
        self.answering[usize::from(attribute_type.0)][kind as usize] = number;
    }

    /// Takes an index out.
    /// Its number is given again later, by who knows that no reader has the old lookup.
    pub(super) fn take(&mut self, number: u16) -> Option<Arc<AttributeIndex>> {
        let index = self.all.get_mut(usize::from(number))?.take()?;
        for numbers in &mut self.by_type {
            numbers.retain(|other| *other != number);
        }
        for other in self.answering.iter_mut().flatten().filter(|other| **other == number) {
            *other = NONE;
        }
        Some(index)
    }

    /// Number of the index on this very type that tells of every entry.
    #[inline]
    pub(crate) fn number_answering(&self, attribute_type: TypeId, kind: IndexKind) -> Option<u16> {
        let number = self.answering.get(usize::from(attribute_type.0))?[kind as usize];
        (number != NONE).then_some(number)
    }

    /// The index on this very type that tells of every entry.
    #[inline]
    pub(crate) fn answering(&self, attribute_type: TypeId, kind: IndexKind) -> Option<&Arc<AttributeIndex>> {
        self.all.get(usize::from(self.number_answering(attribute_type, kind)?))?.as_ref()
    }

    /// Does this index tell of every entry?
    /// A walk through the table; asked when something is reported or compared, not by searches.
    pub(crate) fn is_answering(&self, number: u16) -> bool {
        self.answering.iter().flatten().any(|other| *other == number)
    }

    /// The index with this number, if there is one.
    #[inline]
    pub(crate) fn get(&self, number: u16) -> Option<&AttributeIndex> {
        self.all.get(usize::from(number))?.as_deref()
    }

    /// The index with this number, which was found in this lookup.
    #[inline]
    pub(crate) fn at(&self, number: u16) -> &AttributeIndex {
        self.get(number).expect("the number was found here")
    }

    /// Numbers are below this.
    pub(crate) fn numbers_end(&self) -> u16 {
        self.all.len() as u16
    }

    /// All indexes with their numbers.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u16, &Arc<AttributeIndex>)> {
        self.all.iter().enumerate().filter_map(|(number, index)| Some((number as u16, index.as_ref()?)))
    }

    /// Number of the index that is called so, whether it answers or not.
    pub(super) fn number_of(&self, name: IndexName) -> Option<u16> {
        self.all().find(|(_, index)| index.name == name).map(|(number, _)| number)
    }

    /// Numbers of the indexes that hold values of this type.
    pub(crate) fn numbers_of(&self, attribute_type: TypeId) -> &[u16] {
        self.by_type.get(usize::from(attribute_type.0)).map_or(&[], Vec::as_slice)
    }

    /// Must a change of values of this type be noted in some index?
    pub(crate) fn cover(&self, attribute_type: TypeId) -> bool {
        !self.numbers_of(attribute_type).is_empty()
    }

    /// Do indexes stay as they are when a value of this type gives way to another?
    /// It is asked for each prepared write: if so nothing of an index has to be prepared with it.
    #[inline]
    pub(crate) fn outlast_values(&self, attribute_type: TypeId) -> bool {
        let Some(numbers) = self.by_type.get(usize::from(attribute_type.0)) else { return true };
        numbers.iter().all(|number| self.at(*number).name.kind.attribute_key().is_some())
    }

    /// Bytes of all indexes, and brings the report of each up to date.
    pub(crate) fn measure(&self, writers: &IndexesWriter, view: ReadPoint<'_>) -> u64 {
        let sides = |number: u16| writers.get(usize::from(number)).and_then(Option::as_ref);
        self.all().filter_map(|(number, index)| Some(index.measure(sides(number)?, view))).sum()
    }
}
