//! Definitions that are added while the schema is in use. Only additions are possible: ids of types and classes stay what they are, and
//! each definition stays where it is, so a reference to one stays valid.
//!
//! ```text
//! look-ups      what the schema was built with (no lock) -> what was added since (one atomic load, if there is anything)
//! an addition   a schema of all definitions is built as a start would build it: it finds the faults
//!               -> its new definitions get the next ids here -> their names are published
//! ```

mod judge;

pub use judge::{NotAdded, ONLY_ADDITIONS};

use self::judge::Addition;
use crate::additions::{ADDED_FILE, Index};
use crate::builder::Builder;
use crate::element::Traits;
use crate::names::NameTable;
use crate::{AttributeType, ObjectClass, Schema, SchemaFile};
use model::{ClassId, TypeId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Schema {
    /// A number that is another one after each addition: what remembers something that was found in the schema compares it.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.added.generation.load(Ordering::Acquire)
    }

    /// The files of which it consists beyond the standard ones, in order. What was added while it was in use is the last of them.
    pub fn files(&self) -> Vec<SchemaFile> {
        let text = self.added.text();
        let added =
            (!text.is_empty()).then(|| SchemaFile { name: ADDED_FILE.into(), text: text.as_str().into() });
        self.files.iter().cloned().chain(added).collect()
    }

    /// How many attribute types there are: their ids are below it.
    #[inline]
    pub fn type_count(&self) -> usize {
        self.types.len() + self.added.types.len()
    }

    /// How many object classes there are: their ids are below it.
    #[inline]
    pub fn class_count(&self) -> usize {
        self.classes.len() + self.added.classes.len()
    }

    #[cold]
    pub(crate) fn find_added_type(&self, name: &[u8]) -> Option<TypeId> {
        self.added.index.load().as_ref()?.type_names.find(name).map(TypeId)
    }

    #[cold]
    pub(crate) fn find_added_class(&self, name: &[u8]) -> Option<ClassId> {
        self.added.index.load().as_ref()?.class_names.find(name).map(ClassId)
    }

    #[cold]
    pub(crate) fn added_type(&self, id: TypeId) -> &(AttributeType, Traits) {
        let at = usize::from(id.0) - self.types.len();
        self.added.types.get(at).expect("the id is one of this schema")
    }

    #[cold]
    pub(crate) fn added_class(&self, id: ClassId) -> &ObjectClass {
        let at = usize::from(id.0) - self.classes.len();
        self.added.classes.get(at).expect("the id is one of this schema")
    }

    /// Is an added type a subtype of another?
    #[cold]
    pub(crate) fn is_added_subtype(&self, sub: TypeId, sup: TypeId) -> bool {
        let above = |id: &TypeId| self.attribute_type(*id).sup;
        usize::from(sub.0) >= self.types.len() && std::iter::successors(Some(sub), above).any(|id| id == sup)
    }

    /// The subtypes of a type, if some of them were added.
    #[inline]
    pub(crate) fn grown_subtypes(&self, id: TypeId) -> Option<Arc<[TypeId]>> {
        // Mostly nothing was added, which one load tells.
        if self.added.types.len() == 0 {
            return None;
        }
        self.added.index.load().as_ref()?.subtypes.get(&id).cloned()
    }

    /// Adds definitions: all of them, or none where there is a fault. Types may be in any order, and classes may use the types.
    /// What was in progress while this runs may know of the new definitions or not.
    ///
    /// # Errors
    /// Why they cannot be added. That depends on the definitions that there are, and on nothing else.
    pub fn add(&self, types: &[&[u8]], classes: &[&[u8]]) -> Result<(), NotAdded> {
        if types.is_empty() && classes.is_empty() {
            return Ok(());
        }
        // One addition after the other: each is judged by what those before it came to.
        let mut text = self.added.text();
        let Addition { larger, added } = self.judge_with(&text, types, classes)?;
        let (types, classes) = (self.type_count(), self.class_count());
        let ids = Ids::of(self, &larger);
        let is_new = |at: &usize| usize::from(ids.types[*at].0) >= types;
        for (at, kind) in larger.types.iter().enumerate().filter(|(at, _)| is_new(at)) {
            let kind = AttributeType {
                sup: kind.sup.map(|sup| ids.types[usize::from(sup.0)]),
                subtypes: Vec::new(),
                ..kind.clone()
            };
            self.added.types.push((kind, larger.traits[at]));
        }
        let is_new = |at: &usize| usize::from(ids.classes[*at].0) >= classes;
        for (_, class) in larger.classes.iter().enumerate().filter(|(at, _)| is_new(at)) {
            self.added.classes.push(ids.class(class));
        }
        self.added.index.store(Some(Arc::new(self.index())));
        self.class_sets.forget();
        text.push_str(&added);
        self.added.generation.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Where all that was added is found.
    fn index(&self) -> Index {
        let types =
            || self.added.types.iter().enumerate().map(|(at, (kind, _))| (self.types.len() + at, kind));
        let classes = || self.added.classes.iter().enumerate().map(|(at, c)| (self.classes.len() + at, c));
        let type_names =
            NameTable::new(types().flat_map(|(id, kind)| kind.all_names().map(move |n| (n, id as u16))));
        let class_names =
            NameTable::new(classes().flat_map(|(id, class)| class.all_names().map(move |n| (n, id as u16))));
        let mut subtypes: BTreeMap<TypeId, Vec<TypeId>> = BTreeMap::new();
        for (id, _) in types() {
            let id = TypeId(id as u16);
            // In order of id, since these rise and those that were built are below them.
            for above in std::iter::successors(Some(id), |id| self.attribute_type(*id).sup) {
                let built = || self.attribute_type(above).subtypes.clone();
                subtypes.entry(above).or_insert_with(built).push(id);
            }
        }
        let subtypes = subtypes.into_iter().map(|(id, list)| (id, list.into())).collect();
        Index { type_names, class_names, subtypes }
    }

    /// What [`Builder::recorded`] makes of this schema with more definitions.
    fn with_text(&self, added: &str) -> Builder {
        let mut recorded = String::new();
        self.write_rules(&mut recorded);
        Builder::recorded(&recorded)
            .settings(self.settings())
            .secrets(self.secrets.iter().cloned())
            .file(ADDED_FILE, added)
    }
}

/// The ids that definitions of a larger schema have here.
struct Ids {
    types: Vec<TypeId>,
    classes: Vec<ClassId>,
}

impl Ids {
    fn of(own: &Schema, larger: &Schema) -> Ids {
        let (mut next_type, mut next_class) = (own.type_count(), own.class_count());
        let next = |next: &mut usize| {
            *next += 1;
            (*next - 1) as u16
        };
        let types = larger.types.iter().map(|kind| {
            let known = own.find_type(kind.definition.oid.as_bytes());
            known.unwrap_or_else(|| TypeId(next(&mut next_type)))
        });
        let types = types.collect();
        let classes = larger.classes.iter().map(|class| {
            let known = own.find_class(class.definition.oid.as_bytes());
            known.unwrap_or_else(|| ClassId(next(&mut next_class)))
        });
        Ids { types, classes: classes.collect() }
    }

    /// A class of the larger schema with the ids that are right here.
    fn class(&self, class: &ObjectClass) -> ObjectClass {
        let types = |list: &[TypeId]| list.iter().map(|id| self.types[usize::from(id.0)]).collect::<Vec<_>>();
        let classes =
            |list: &[ClassId]| list.iter().map(|id| self.classes[usize::from(id.0)]).collect::<Vec<_>>();
        let sorted = |mut list: Vec<TypeId>| {
            list.sort_unstable();
            list
        };
        let mut superiors = classes(&class.superiors);
        superiors.sort_unstable();
        ObjectClass {
            sup: classes(&class.sup),
            must: types(&class.must),
            may: types(&class.may),
            all_must: sorted(types(&class.all_must)),
            all_may: sorted(types(&class.all_may)),
            superiors,
            ..class.clone()
        }
    }
}

#[cfg(test)]
mod tests;
