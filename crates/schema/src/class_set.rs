//! The object classes of an entry, resolved once per set of values and kept.

use crate::definition::ClassKind;
use crate::{ContentRule, Schema, Violation};
use arc_swap::ArcSwap;
use model::{ClassId, TypeId};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Sets that are kept; beyond it they are resolved anew each time.
const CLASS_SETS_MAX: usize = 4096;
/// Object class values of one entry.
const CLASSES_MAX: usize = 256;

/// What the object classes of an entry come to.
#[derive(Debug)]
pub(crate) struct ClassSet {
    /// The classes named and all their superclasses, in order of id.
    pub(crate) ids: Vec<ClassId>,
    /// The most specific structural class.
    pub(crate) structural: ClassId,
    /// Attributes that must be there, in order of id; `objectClass` itself is left out.
    pub(crate) must: Vec<TypeId>,
    /// Is one of the classes named obsolete?
    pub(crate) obsolete: Option<ClassId>,
    /// An auxiliary class among them that the content rule of the structural class does not list.
    pub(crate) barred: Option<ClassId>,
    /// Attributes that the content rule precludes, in order of id.
    precluded: Vec<TypeId>,
    allowed: Vec<u64>,
}

impl ClassSet {
    /// Do the classes require or allow this attribute? (Operational attributes need no class.)
    #[inline]
    pub(crate) fn allows(&self, id: TypeId) -> bool {
        self.allowed.get(id.0 as usize / 64).is_some_and(|word| word >> (id.0 % 64) & 1 == 1)
    }
}

impl ClassSet {
    /// Does the content rule preclude this attribute, be it operational?
    pub(crate) fn precludes(&self, id: TypeId) -> bool {
        self.precluded.binary_search(&id).is_ok()
    }
}

/// Sets seen so far, by the bytes of their values.
#[derive(Debug)]
pub(crate) struct ClassSets {
    /// Are collective attributes those of their subentries alone? It is changed before all sets are forgotten.
    keeps_collective_apart: AtomicBool,
    known: ArcSwap<BTreeMap<Box<[u8]>, Arc<ClassSet>>>,
    /// How often all were forgotten. It is held while `known` is changed.
    forgotten: Mutex<u64>,
}

impl ClassSets {
    pub(crate) fn new() -> ClassSets {
        ClassSets {
            keeps_collective_apart: AtomicBool::new(true),
            known: ArcSwap::default(),
            forgotten: Mutex::new(0),
        }
    }

    /// Forgets all: definitions were added, and extensibleObject allows more attributes.
    pub(crate) fn forget(&self) {
        let mut forgotten = self.forgotten.lock().unwrap_or_else(PoisonError::into_inner);
        *forgotten += 1;
        self.known.store(Arc::default());
    }

    /// How often it has forgotten all.
    fn forgotten(&self) -> u64 {
        *self.forgotten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a set that was resolved when it had forgotten all so often.
    fn add(&self, key: &[u8], set: &Arc<ClassSet>, since: u64) {
        let forgotten = self.forgotten.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.known.load();
        if *forgotten == since && known.len() < CLASS_SETS_MAX && !known.contains_key(key) {
            let mut more = BTreeMap::clone(&known);
            more.insert(key.into(), set.clone());
            assert!(more.len() <= CLASS_SETS_MAX, "sets of classes are kept up to their bound");
            self.known.store(Arc::new(more));
        }
    }
}

/// Items in order, each once.
pub(crate) fn ascending<'i, T: Copy + Ord + 'i>(items: impl Iterator<Item = &'i T>) -> Vec<T> {
    let mut list: Vec<T> = items.copied().collect();
    list.sort_unstable();
    list.dedup();
    list
}

/// Is each larger than the one before it, as a binary search needs it?
pub(crate) fn is_ascending<T: Ord>(list: &[T]) -> bool {
    list.is_sorted_by(|a, b| a < b)
}

impl Schema {
    /// Shows `run` what the values of an entry's `objectClass` come to; fails with the first rule of RFC 4512 that they break.
    /// The buffer that `run` is lent is for forms that are thrown away.
    pub(crate) fn with_classes<'v, R>(
        &self,
        values: impl Iterator<Item = &'v [u8]> + Clone,
        run: impl FnOnce(&mut Vec<u8>, &Arc<ClassSet>) -> R,
    ) -> Result<R, Violation> {
        crate::scratch::with(|buffer| {
            for value in values.clone() {
                buffer.extend_from_slice(value);
                buffer.push(0);
            }
            let known = self.class_sets.known.load();
            if let Some(set) = known.get(&buffer[..]) {
                buffer.clear();
                return Ok(run(buffer, set));
            }
            drop(known);
            let since = self.class_sets.forgotten();
            let set = Arc::new(self.resolve(values)?);
            self.class_sets.add(buffer, &set, since);
            buffer.clear();
            Ok(run(buffer, &set))
        })
    }

    fn resolve<'v>(&self, values: impl Iterator<Item = &'v [u8]>) -> Result<ClassSet, Violation> {
        let mut named = Vec::new();
        for value in values {
            let class = self.find_class(value).ok_or_else(|| self.unknown_class(value))?;
            if named.contains(&class) {
                return Err(Violation::DuplicateValue {
                    attribute: self.attribute_type(self.well_known.object_class).name().to_owned(),
                    value: self.class(class).name().to_owned(),
                });
            }
            if named.len() == CLASSES_MAX {
                return Err(Violation::TooManyClasses);
            }
            named.push(class);
        }
        if named.is_empty() {
            return Err(Violation::NoObjectClass);
        }
        let structural = self.structural_of(&named)?;
        let ids = ascending(named.iter().flat_map(|c| &self.class(*c).superiors));
        self.abstract_alone(&named)?;
        let mut must = ascending(ids.iter().flat_map(|c| &self.class(*c).must));
        let rules = self.dit.now();
        let rule = rules.content_rule(structural);
        let allowed = self.allowed_by(&ids, rule);
        if let Some(rule) = rule {
            must = ascending(must.iter().chain(&rule.must));
        }
        must.retain(|id| *id != self.well_known.object_class);
        assert!(ids.len() >= named.len(), "a class named is among the classes of the entry");
        assert!(ids.binary_search(&structural).is_ok(), "the structural class is one of the entry's");
        assert!(is_ascending(&ids), "the classes of an entry are in order of id, each once");
        assert!(is_ascending(&must), "required attributes are in order of id, each once");
        let is_allowed = |id: &TypeId| allowed[usize::from(id.0) / 64] >> (id.0 % 64) & 1 == 1;
        let is_unsound = |id: &TypeId| !is_allowed(id) && !rule.is_some_and(|rule| rule.not.contains(id));
        assert!(!must.iter().any(is_unsound), "what classes require they allow");
        let obsolete = named.iter().copied().find(|c| self.class(*c).definition.obsolete);
        let is_auxiliary = |class: ClassId| self.class(class).definition.kind == ClassKind::Auxiliary;
        let is_barred = |rule: &ContentRule, class: ClassId| {
            is_auxiliary(class) && rule.auxiliary.binary_search(&class).is_err()
        };
        let barred = rule.and_then(|rule| ids.iter().copied().find(|class| is_barred(rule, *class)));
        let precluded = rule.map(|rule| rule.not.clone()).unwrap_or_default();
        Ok(ClassSet { ids, structural, must, obsolete, barred, precluded, allowed })
    }

    /// The one structural class that all other structural ones are superclasses of.
    fn structural_of(&self, named: &[ClassId]) -> Result<ClassId, Violation> {
        let structural =
            || named.iter().copied().filter(|c| self.class(*c).definition.kind == ClassKind::Structural);
        let lowest = structural().reduce(|a, b| if self.is_subclass(b, a) { b } else { a });
        let Some(lowest) = lowest else {
            return Err(Violation::NoStructuralClass { classes: self.class_names_of(named) });
        };
        let name = |c: ClassId| self.class(c).name().to_owned();
        match structural().find(|c| !self.is_subclass(lowest, *c)) {
            None => Ok(lowest),
            Some(other) => Err(Violation::SeveralStructuralClasses { one: name(other), other: name(lowest) }),
        }
    }

    /// An abstract class is there only as a superclass of another (RFC 4512 section 2.4.1).
    fn abstract_alone(&self, named: &[ClassId]) -> Result<(), Violation> {
        let is_derived_from = |a: ClassId| {
            named
                .iter()
                .any(|c| self.class(*c).definition.kind != ClassKind::Abstract && self.is_subclass(*c, a))
        };
        // `top` is above everything, also where a file forgot to say so.
        let alone = |c: &ClassId| {
            *c != self.well_known.top
                && self.class(*c).definition.kind == ClassKind::Abstract
                && !is_derived_from(*c)
        };
        match named.iter().find(|c| alone(c)) {
            None => Ok(()),
            Some(class) => Err(Violation::AbstractClassAlone { class: self.class(*class).name().to_owned() }),
        }
    }

    fn allowed_by(&self, ids: &[ClassId], rule: Option<&ContentRule>) -> Vec<u64> {
        let mut allowed = vec![0u64; self.type_count().div_ceil(64)];
        let mut allow = |id: TypeId| allowed[id.0 as usize / 64] |= 1 << (id.0 % 64);
        let keeps_apart = self.keeps_collective_apart();
        allow(self.well_known.object_class);
        for class in ids.iter().map(|c| self.class(*c)) {
            class.must.iter().chain(&class.may).for_each(|id| allow(*id));
        }
        if ids.binary_search(&self.well_known.extensible_object).is_ok() {
            let open = self.attribute_types().filter(|(_, t)| !t.is_operational());
            open.filter(|(_, t)| !keeps_apart || !t.is_collective()).for_each(|(id, _)| allow(id));
        }
        if keeps_apart && self.is_of_collection(ids) {
            self.attribute_types().filter(|(_, t)| t.is_collective()).for_each(|(id, _)| allow(id));
        }
        rule.into_iter().flat_map(ContentRule::attributes).for_each(&mut allow);
        for id in rule.iter().flat_map(|rule| &rule.not) {
            allowed[usize::from(id.0) / 64] &= !(1 << (id.0 % 64));
        }
        allowed
    }

    /// Are these the classes of a subentry of collective attributes (RFC 3671 section 2.1), each with its superclasses?
    fn is_of_collection(&self, ids: &[ClassId]) -> bool {
        let known = &self.well_known;
        [known.subentry, known.collective_attribute_subentry]
            .iter()
            .all(|class| ids.binary_search(class).is_ok())
    }

    /// See [`Schema::keep_collective_apart`].
    pub(crate) fn keeps_collective_apart(&self) -> bool {
        self.class_sets.keeps_collective_apart.load(Ordering::Acquire)
    }

    /// Says whether collective attributes are those of their subentries alone. If not, they are user attributes like others, as they were for earlier
    /// versions: an entry of class extensibleObject may have them, and no other.
    pub fn keep_collective_apart(&self, are_apart: bool) {
        let sets = &self.class_sets;
        if sets.keeps_collective_apart.swap(are_apart, Ordering::AcqRel) != are_apart {
            sets.forget();
        }
    }

    fn unknown_class(&self, value: &[u8]) -> Violation {
        let class = String::from_utf8_lossy(&value[..value.len().min(256)]).into_owned();
        let names = self.classes().flat_map(|(_, c)| &c.definition.names).map(String::as_str);
        let meant = crate::names::nearest(&class, names).map(str::to_owned);
        Violation::UnknownObjectClass { class, meant }
    }

    /// Names of classes for a message: `'person', 'top'`.
    pub(crate) fn class_names_of(&self, classes: &[ClassId]) -> String {
        let quoted: Vec<String> = classes.iter().map(|c| format!("'{}'", self.class(*c).name())).collect();
        quoted.join(", ")
    }
}
