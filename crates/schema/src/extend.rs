//! Definitions that are added, changed and removed while the schema is in use. Ids of types and classes stay what they are and become those of
//! nothing else, and each definition stays where it is, so a reference to one stays valid.
//!
//! ```text
//! look-ups   what the schema was built with (no lock) -> what was added since (one atomic load, if there is anything)
//! a plan     a schema of all definitions is built as a start would build it: it finds the faults ([`Schema::plan`])
//! put        its new definitions get the next ids here, changed ones take the place of others -> their names are published
//! ```
//! What entries have is looked at by who has them, between plan and put.

mod changes;
mod equivalent;
mod judge;
mod plan;
mod propose;
mod put;
mod uses;

pub use changes::{Changes, Effects, Element, Plan};
pub use equivalent::Already;
pub use judge::NotAdded;
pub use uses::Use;

use crate::additions::{ADDED_FILE, Index};
use crate::builder::Builder;
use crate::current::{Current, CurrentTraits};
use crate::names::NameTable;
use crate::{AttributeType, ObjectClass, Schema, SchemaFile};
use model::{ClassId, Description, TypeId};
use std::borrow::Cow;
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
    pub(crate) fn added_type(&self, id: TypeId) -> &(Current<AttributeType>, CurrentTraits) {
        let at = usize::from(id.0) - self.types.len();
        self.added.types.get(at).expect("the id is one of this schema")
    }

    #[cold]
    pub(crate) fn added_class(&self, id: ClassId) -> &Current<ObjectClass> {
        let at = usize::from(id.0) - self.classes.len();
        self.added.classes.get(at).expect("the id is one of this schema")
    }

    /// Is it a type that was removed? Its number means nothing else.
    pub(crate) fn is_removed_type(&self, id: TypeId) -> bool {
        self.current_type(id).is_removed()
    }

    /// Is it a class that was removed?
    pub(crate) fn is_removed_class(&self, id: ClassId) -> bool {
        self.current_class(id).is_removed()
    }

    /// As [`Schema::describe`], of what may be read by the definitions of some time before: by its OID, if its names have changed since the start.
    pub fn describe_lastingly(&self, description: Description) -> Cow<'_, str> {
        let text = self.describe(description);
        if !self.current_type(description.attribute_type).is_changed() {
            return text;
        }
        let kind = self.attribute_type(description.attribute_type);
        Cow::Owned(format!("{}{}", kind.definition.oid, &text[kind.name().len()..]))
    }

    /// What a class is called now and was at any time: its name, or the OID if its names have changed since the start.
    pub fn lasting_class_name(&self, id: ClassId) -> &str {
        let class = self.class(id);
        if self.current_class(id).is_changed() { &class.definition.oid } else { class.name() }
    }

    pub(crate) fn current_type(&self, id: TypeId) -> &Current<AttributeType> {
        self.types.get(usize::from(id.0)).unwrap_or_else(|| &self.added_type(id).0)
    }

    pub(crate) fn current_class(&self, id: ClassId) -> &Current<ObjectClass> {
        self.classes.get(usize::from(id.0)).unwrap_or_else(|| self.added_class(id))
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

    /// Where all that was added is found.
    fn index(&self) -> Index {
        // Names that were added to what the schema was built with are here too.
        let is_new = |at: usize, built: usize, is_changed: bool| at >= built || is_changed;
        let types = || {
            let all = self.attribute_types();
            all.filter(|(id, _)| {
                is_new(usize::from(id.0), self.types.len(), self.current_type(*id).is_changed())
            })
        };
        let classes = || {
            let all = self.classes();
            all.filter(|(id, _)| {
                is_new(usize::from(id.0), self.classes.len(), self.current_class(*id).is_changed())
            })
        };
        let type_names: Vec<(&str, u16)> =
            types().flat_map(|(id, kind)| kind.all_names().map(move |name| (name, id.0))).collect();
        let class_names: Vec<(&str, u16)> =
            classes().flat_map(|(id, class)| class.all_names().map(move |name| (name, id.0))).collect();
        let (type_names, class_names) =
            (NameTable::new(type_names.into_iter()), NameTable::new(class_names.into_iter()));
        let mut subtypes: BTreeMap<TypeId, Vec<TypeId>> = BTreeMap::new();
        for id in (self.types.len()..self.type_count()).map(|at| TypeId(at as u16)) {
            if self.is_removed_type(id) {
                continue;
            }
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

#[cfg(test)]
mod tests;
