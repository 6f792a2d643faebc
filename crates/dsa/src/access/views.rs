//! The rights of requesters on entries, as one thread remembers them: no lock, and nothing that threads write together.
//!
//! A view is the rights of one class on all entries of which the same is true, as far as rules ask. Its rights on an attribute are worked
//! out when they are first asked for; from then on a decision is a look into a table. Numbers of views are never used again, so what was made
//! of a view that is forgotten is not found.
//!
//! Three numbers tell what is still true. The *version* is that of the rules in force; a thread compares it once a bundle. The
//! *epoch* counts the times at which classes of requesters may have changed; an identity keeps the one in which it was classified.
//! And ids of classes and views ascend: what is forgotten leaves a gap that no later one fills. Templates of answers and cached
//! query templates are kept by these ids and are not invalidated when a view is forgotten. They are just never asked for again. An id that
//! was given twice would show one requester what was made for another; so ids of views have 64 bits, which no client uses up.
//!

mod explained;
mod find;
mod found;
pub(in crate::access) mod on_values;

pub(crate) use self::found::ViewId;

use self::found::Found;
use super::bounds::Bounds;
use super::class::on_values::{OnValues, OwnName};
use super::class::{Action, Class, Facts, Item, Match, OfValues, OnAttribute, Searchable, hash};
use super::facts::Finder;
use super::group_terms::GroupTerms;
use super::groups::Groups;
use super::in_force::Access;
use super::requester::{Asking, ClassId, Connection, Proof, Requester};
use super::rules::RuleSet;
use crate::collective::Collections;
use crate::faults::holes;
use crate::own_entry::OwnEntry;
use ::access::{Operation, Refresh, Right, Rights};
use env::planted;
use hashbrown::HashTable;
use model::{Description, OptionsId, TypeId};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::collective::Collection;
use store::search::evaluate::Evaluator;
use store::{DnCache, EntryRef, ReadPoint, Shard};

/// Classes and views that a thread remembers. With one more all are forgotten, and made anew as they are needed.
const CLASSES_MAX: usize = 16_384;
/// Rules that are left in all classes together: about a hundred bytes each. Who can make itself a member of many groups can make a class of
/// each choice of them, and each may have all rules.
const CLASS_RULES_MAX: usize = 1 << 19;

/// Epochs of all that remember rights: an identity that was classified by one is not known to another.
/// Written when a thread's memory is made, and never by a request.
static EPOCHS: AtomicU64 = AtomicU64::new(1);
/// Epochs of one of them.
const EPOCHS_OF_ONE: u64 = 1 << 40;

/// A requester, and all that tells another thread what it may read.
/// It has the class itself and not its number, for numbers are of a thread. The rules that the class is of may be former ones
/// by the time it is used: the update was decided by those, and what its answer brings is decided by the same.
#[derive(Debug)]
pub(crate) struct Reader {
    /// None of the root DN.
    class: Option<Arc<Class>>,
    own: Option<OwnEntry>,
    real: Option<OwnEntry>,
}

/// What is asked of the entries of one operation: by whom, for what.
/// It is worked out once, and kept while the rules are the same.
struct View {
    class: ClassId,
    action: Action,
    facts: Facts,
    entry: Rights,
    /// By attribute type, without options, as they are asked for.
    attributes: Vec<Option<OnAttribute>>,
    /// The rules on values of its attributes, each for one right.
    by_value: Vec<(Description, Right, Arc<OnValues>)>,
}

/// A class, and what is remembered of it.
struct Kept {
    class: Arc<Class>,
    /// By attribute type; for the directory and for the server's own entries.
    searchable: Vec<Option<Searchable>>,
    found: Found,
}

/// What a thread remembers of rights.
/// `set` and `version` go together, as do `classes` with `class_of` and `views` with `view_of`. A view is never kept longer
/// than its class.
pub(crate) struct Views {
    set: Arc<RuleSet>,
    /// Does a class depend on what the requester's own entry holds? Then it is worked out anew for each bundle.
    looks_at_own_entry: bool,
    refresh: Refresh,
    /// Number of the rule set.
    version: u64,
    /// That of the schema ([`schema::Schema::generation`]) when the rules were taken.
    generation: u64,
    /// Identities that were classified before have other classes now, or none.
    epoch: u64,
    /// Commit sequence of the last read point that it was kept up with.
    sequence: u64,
    first_class: u32,
    classes: Vec<Kept>,
    class_of: HashTable<u32>,
    /// Rules that are left in the classes.
    class_rules: usize,
    first_view: u64,
    views: Vec<View>,
    view_of: HashTable<u64>,
    groups: Groups,
    finder: Finder,
    collections: Collections,
    /// The name of a requester, and at which commit sequence it was that: an entry gets another one with its superior.
    own_name: Option<(Requester, u64, Arc<OwnName>)>,
}

impl Default for Views {
    fn default() -> Views {
        Views {
            set: Arc::default(),
            looks_at_own_entry: false,
            refresh: Refresh::AtOnce,
            version: 0,
            generation: 0,
            epoch: EPOCHS.fetch_add(EPOCHS_OF_ONE, Ordering::Relaxed),
            sequence: 0,
            first_class: ClassId::FIRST,
            classes: Vec::new(),
            class_of: HashTable::new(),
            class_rules: 0,
            first_view: ViewId::FIRST,
            views: Vec::new(),
            view_of: HashTable::new(),
            groups: Groups::default(),
            finder: Finder::default(),
            collections: Collections::default(),
            own_name: None,
        }
    }
}

impl Views {
    /// Is there nothing to be taken anew at a commit sequence?
    /// Four loads for a bundle in a directory whose rules name no groups. A commit sequence that has moved is not enough to say
    /// no by itself: without groups no update changes anybody's class.
    #[inline]
    pub(crate) fn is_up_to_date(&self, access: &Access, shard: &Shard) -> bool {
        // In this order: the change is counted before it is said that the rules of entries were read.
        access.has_those_of_entries(shard)
            && self.version == access.version()
            && (self.groups.is_empty() || self.groups.sequence() == shard.sequence())
    }

    /// Takes the rules that are in force, and looks whether groups have changed. To be called before requests are run at a read
    /// point.
    /// Not within a request: the class of the one who asks might be gone before its answer is complete.
    #[inline]
    pub(crate) fn keep_up(&mut self, access: &Access, read_point: ReadPoint<'_>, cache: &mut DnCache) {
        self.finder.at(read_point);
        self.sequence = read_point.sequence();
        if !access.has_those_of_entries(read_point.shard()) {
            access.read_entries(read_point, cache);
        }
        if self.version != access.version() {
            self.take_rules(access, read_point, cache);
        }
        if !self.groups.is_empty() && self.groups.have_changed(read_point, cache) {
            self.epoch += 1;
            self.looks_at_own_entry = self.set.looks_at_own_entry || self.groups.are_dynamic();
        }
    }

    /// As [`Views::keep_up`], for somebody who was classified before: has it the rights of this read point? Else it is to be classified anew.
    pub(crate) fn keep_up_as(
        &mut self,
        class: ClassId,
        access: &Access,
        read_point: ReadPoint<'_>,
        cache: &mut DnCache,
    ) -> bool {
        let before = (self.epoch, self.sequence);
        self.keep_up(access, read_point, cache);
        // Where classes depend on the entry of the requester, nothing but the sequence says that it is the same.
        self.epoch == before.0 && (self.sequence == before.1 || self.holds((class, self.epoch)))
    }

    /// `at-once` forgets all classes, so that no identity has one of the former rules. With `bind` they stay until so many were
    /// made that all are forgotten, and sessions keep theirs.
    #[cold]
    fn take_rules(&mut self, access: &Access, read_point: ReadPoint<'_>, cache: &mut DnCache) {
        (self.version, self.set, self.refresh) = access.rules();
        let generation = read_point.shard().schema().generation();
        let has_grown = std::mem::replace(&mut self.generation, generation) != generation;
        match self.refresh {
            // A class knows the types that the schema had when it was made.
            _ if has_grown => self.forget(),
            Refresh::AtOnce => self.forget(),
            // Sessions keep the classes that they bound with.
            Refresh::Bind => self.epoch += 1,
        }
        self.groups.set(&self.set.groups);
        self.groups.have_changed(read_point, cache);
        self.looks_at_own_entry = self.set.looks_at_own_entry || self.groups.are_dynamic();
    }

    /// Forgets all classes and views. Their numbers are not used again.
    /// A requester with a number of one of them has no rights from here on, until it is classified anew.
    fn forget(&mut self) {
        self.epoch += 1;
        self.first_class += self.classes.len() as u32;
        self.classes.clear();
        self.class_rules = 0;
        self.class_of.clear();
        self.forget_views();
    }

    /// A search that has a view in hand goes on without rights, and writes nothing more of it. That is why views are
    /// forgotten when one is made, and not at a time of its own: what was looked up before it is used in the same step.
    fn forget_views(&mut self) {
        self.first_view += self.views.len() as u64;
        self.views.clear();
        self.view_of.clear();
        for kept in &mut self.classes {
            kept.found.forget_views();
        }
    }

    /// Has a requester still the class that it was given in an epoch?
    /// A rule that looks at the requester's own entry makes every bundle classify: nothing tells when that entry changes.
    #[inline]
    pub(crate) fn holds(&self, (class, epoch): (ClassId, u64)) -> bool {
        match self.refresh {
            Refresh::AtOnce => epoch == self.epoch && !self.looks_at_own_entry,
            Refresh::Bind => class == ClassId::ROOT || self.kept(class).is_some(),
        }
    }

    /// The class of a requester, and the epoch in which it is that.
    /// It walks over all rules and allocates, so it is for binds and changes, and not for requests. Nearly always the class is there already, and nothing is made.
    pub(crate) fn classify(
        &mut self,
        proof: Option<Proof<'_>>,
        connection: Connection,
        read_point: ReadPoint<'_>,
        evaluator: &mut Evaluator,
    ) -> (ClassId, u64) {
        let Some(proof) = proof else { return (ClassId::ROOT, self.epoch) };
        let groups = &mut self.groups;
        let mut asking = Asking::new(proof, connection, read_point, evaluator, groups);
        let (matches, limits) = (asking.matches(&self.set), asking.limits(&self.set));
        (self.class(&matches, &limits, read_point), self.epoch)
    }

    /// The class of requesters for which the same rules match; made anew if nobody has matched the same before.
    fn class(&mut self, matches: &[Match], limits: &[u64], read_point: ReadPoint<'_>) -> ClassId {
        let schema = read_point.shard().schema();
        let key = Class::key(matches, limits);
        // Nearly always it is one that others had before. The rule set's count of references is not touched then: all threads write it.
        if let Some(id) = self.find_class(&self.set, &key, read_point) {
            return id;
        }
        let set = Arc::clone(&self.set);
        self.put_class(&set, &key, read_point, || Arc::new(Class::new(&set, schema, matches, limits)))
    }

    /// The class of a rule set with this key, which is made if there is none yet.
    /// Two sessions with equal keys get the same class also if one bound an hour before the other. Keys of different rule
    /// sets are compared with their sets: positions of rules mean nothing elsewhere.
    fn put_class(
        &mut self,
        set: &Arc<RuleSet>,
        key: &[u64],
        read_point: ReadPoint<'_>,
        make: impl FnOnce() -> Arc<Class>,
    ) -> ClassId {
        if let Some(id) = self.find_class(set, key, read_point) {
            return id;
        }
        if self.classes.len() >= CLASSES_MAX || self.class_rules + key.len() > CLASS_RULES_MAX {
            self.forget();
        }
        self.class_rules += key.len();
        let id = self.first_class + self.classes.len() as u32;
        let class = make();
        let hash = |key: &[u64]| hash(key, read_point);
        self.classes.push(Kept { class, searchable: Vec::new(), found: Found::default() });
        let (classes, first) = (&self.classes, self.first_class);
        self.class_of.insert_unique(hash(key), id, |id| hash(&classes[(*id - first) as usize].class.key));
        ClassId(id)
    }

    /// The class of a rule set with this key, if it is known.
    fn find_class(&self, set: &Arc<RuleSet>, key: &[u64], read_point: ReadPoint<'_>) -> Option<ClassId> {
        let is_it = |id: &u32| {
            let class = &self.classes[(id - self.first_class) as usize].class;
            class.key[..] == *key && Arc::ptr_eq(&class.set, set)
        };
        self.class_of.find(hash(key, read_point), is_it).map(|id| ClassId(*id))
    }

    /// A requester as another thread can read for it.
    pub(crate) fn reader(&self, who: Requester) -> Option<Reader> {
        let class = self.class_of(who.class);
        (who.is_root() || class.is_some()).then_some(Reader { class, own: who.own, real: who.real })
    }

    /// A requester of another thread.
    /// The class gets a number of this thread. Its rules may be former ones; both sets are then in use side by side.
    pub(crate) fn adopt(&mut self, reader: &Reader, read_point: ReadPoint<'_>) -> Requester {
        let Some(class) = &reader.class else { return Requester::ROOT };
        let class = self.put_class(&class.set, &class.key, read_point, || Arc::clone(class));
        Requester { class, own: reader.own, real: reader.real }
    }

    /// What a requester of this class may take of the server.
    #[inline]
    pub(crate) fn bounds(&self, class: ClassId) -> Bounds {
        let other = if class == ClassId::ROOT { Bounds::NONE } else { Bounds::OF_NOBODY };
        self.kept(class).map_or(other, |kept| kept.class.bounds)
    }

    /// Does a rule say how fast a client may go?
    #[inline]
    pub(crate) fn has_rates(&self) -> bool {
        self.set.has_rates
    }

    /// What is remembered of a class; `None` if it is of an earlier set of rules.
    /// Numbers go on from set to set, so a class of an earlier one is below the first of this.
    fn kept(&self, class: ClassId) -> Option<&Kept> {
        class.0.checked_sub(self.first_class).and_then(|at| self.classes.get(at as usize))
    }

    /// Is there nothing that an update of this class could lack a right for?
    #[inline]
    pub(crate) fn writes_all(&self, class: ClassId) -> bool {
        class == ClassId::ROOT || self.kept(class).is_some_and(|kept| kept.class.writes_all)
    }

    /// May this class read whatever the change log tells of?
    pub(crate) fn reads_changes(&self, class: ClassId) -> bool {
        class == ClassId::ROOT
            || self.kept(class).is_some_and(|kept| kept.class.reads_all)
            || planted::is(holes::CHANGES_OF_HIDDEN)
    }

    /// Is there anything that this class has a right on? `by_entries`: also by rules of entries, which give rights there and nowhere else.
    pub(crate) fn may_somewhere(&self, class: ClassId, right: Right, by_entries: bool) -> bool {
        class == ClassId::ROOT || self.kept(class).is_some_and(|kept| kept.class.is_given(right, by_entries))
    }

    /// May this class have a right on some of the server's own entries below a name? `is_in`: is a name that one, or below it?
    pub(crate) fn may_below(&self, class: ClassId, right: Right, is_in: &dyn Fn(&[u8]) -> bool) -> bool {
        class == ClassId::ROOT || self.kept(class).is_some_and(|kept| kept.class.is_given_below(right, is_in))
    }

    /// Are groups in groups followed for memberOf?
    pub(crate) fn follows_groups(&self) -> bool {
        self.set.follows_groups
    }

    /// Is a read point one of the directory, and not of the server's own entries or of what a transaction sees?
    pub(crate) fn is_about(&self, read_point: ReadPoint<'_>) -> bool {
        self.finder.is_about(read_point)
    }

    /// The entries of the subentries of collective attributes. `None` if there are none: nearly always, and that is one load.
    #[inline]
    pub(crate) fn collections(
        &mut self,
        read_point: ReadPoint<'_>,
        cache: &mut DnCache,
    ) -> Option<Arc<[Arc<Collection>]>> {
        match read_point.shard().has_collective() && self.is_about(read_point) {
            true => self.collections.at(read_point, cache),
            false => None,
        }
    }

    /// What the thread knows of groups.
    pub(crate) fn groups(&mut self) -> &mut Groups {
        &mut self.groups
    }

    /// What makes a group of an entry.
    pub(in crate::access) fn group_terms(&mut self, schema: &schema::Schema) -> GroupTerms {
        self.groups.terms(schema)
    }

    /// A class, if it is known here.
    pub(crate) fn class_of(&self, class: ClassId) -> Option<Arc<Class>> {
        self.kept(class).map(|kept| Arc::clone(&kept.class))
    }

    /// Counts changes of rules and of groups that they name.
    /// Of this thread: a search stays on the thread of its connection, so it may compare.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// What tells a class from others, on every thread and at every server that has the same rules.
    pub(crate) fn fingerprint(&self, class: ClassId) -> String {
        self.class_of(class).map_or_else(String::new, |class| class.fingerprint())
    }

    /// Do the rights of a class on an entry hang on groups or on the entry of the requester, beside the entry itself?
    pub(crate) fn hangs_on_own(&self, class: ClassId) -> bool {
        self.class_of(class).is_some_and(|class| class.hangs_on_own())
    }

    /// A view, unless it was dropped. Callers take one that was dropped for one without rights.
    fn kept_view(&self, view: ViewId) -> Option<&View> {
        view.0.checked_sub(self.first_view).and_then(|at| self.views.get(at as usize))
    }

    /// Has a view a right on the entry as a whole?
    #[inline]
    pub(crate) fn may(&self, view: ViewId, right: Right) -> bool {
        view == ViewId::ROOT || self.kept_view(view).is_some_and(|view| view.entry.has(right))
    }

    /// May an entry be returned? Not to those from whom it is hidden, whatever else they may: a search for it by its name does not find it
    /// either.
    #[inline]
    pub(crate) fn may_return(&self, view: ViewId) -> bool {
        const NEEDED: Rights = Rights::of(&[Right::Disclose, Right::Read]);
        view == ViewId::ROOT || self.kept_view(view).is_some_and(|view| NEEDED.without(view.entry).is_empty())
    }

    /// The rights of a view on an attribute.
    /// Attributes with options are not remembered: there is no bound on how many there are.
    pub(crate) fn on_attribute(
        &mut self,
        view: ViewId,
        description: Description,
        schema: &schema::Schema,
    ) -> OnAttribute {
        const ALL: Rights = Rights::of(&Right::ALL);
        if view == ViewId::ROOT {
            return OnAttribute { every: ALL, some: ALL };
        }
        let Some(at) = view.0.checked_sub(self.first_view).map(|at| at as usize) else {
            return OnAttribute::default();
        };
        let Some(kept) = self.views.get(at) else { return OnAttribute::default() };
        let number = usize::from(description.attribute_type.0);
        let is_plain = description.options == OptionsId::NONE;
        if let Some(Some(known)) = kept.attributes.get(number).filter(|_| is_plain) {
            return *known;
        }
        let class = &self.kept(kept.class).expect("a view is forgotten with its class").class;
        let ask = |values| {
            let item = Item::Attribute(description);
            class.rights(schema, &kept.facts, kept.action, item, values)
        };
        let found = OnAttribute { every: ask(OfValues::Every), some: ask(OfValues::Some) };
        if is_plain {
            let attributes = &mut self.views[at].attributes;
            attributes.resize(attributes.len().max(number + 1), None);
            attributes[number] = Some(found);
        }
        found
    }

    /// The sets of options that the rules of a view's requester name ([`Class::options`]).
    pub(crate) fn options_of_rules(&self, view: ViewId) -> BTreeSet<String> {
        let class = self.kept_view(view).and_then(|view| self.kept(view.class));
        class.map_or(BTreeSet::new(), |kept| kept.class.options())
    }

    /// May the requester use all controls and extended operations?
    #[inline]
    pub(crate) fn uses_all(&self, class: ClassId) -> bool {
        class == ClassId::ROOT || self.kept(class).is_some_and(|kept| kept.class.uses_all)
    }

    /// May the requester use a control or an extended operation?
    /// No entry is at hand, so every fact is false: a rule on controls that asks for a place gives nothing.
    pub(crate) fn may_use(
        &self,
        class: ClassId,
        operation: Operation,
        item: Item<'_>,
        schema: &schema::Schema,
    ) -> bool {
        if class == ClassId::ROOT {
            return true;
        }
        self.kept(class).is_some_and(|kept| {
            let facts: Facts = std::iter::repeat_n(0, kept.class.facts_len().div_ceil(64).max(1)).collect();
            kept.class.rights(schema, &facts, Action::of(operation), item, OfValues::Every).has(Right::Use)
        })
    }

    /// Is every entry returned, with every value of an attribute? It walks over the rules, for those few searches whose order hangs on it.
    pub(crate) fn reads_all(&self, class: ClassId, attribute_type: TypeId, schema: &schema::Schema) -> bool {
        class == ClassId::ROOT
            || self.kept(class).is_some_and(|kept| kept.class.reads_all(schema, attribute_type))
    }

    /// May an attribute be tested in filters of a requester, whatever the entry is?
    /// One answer for a class, whatever the entry is. Only [`Searchable::Always`] lets a filter be judged by its compiled form
    /// alone.
    pub(crate) fn searchable(
        &mut self,
        class: ClassId,
        (attribute_type, is_system): (TypeId, bool),
        schema: &schema::Schema,
    ) -> Searchable {
        if class == ClassId::ROOT {
            return Searchable::Always;
        }
        let at = class.0.checked_sub(self.first_class).map(|at| at as usize);
        let Some(kept) = at.and_then(|at| self.classes.get_mut(at)) else { return Searchable::Never };
        let number = 2 * usize::from(attribute_type.0) + usize::from(is_system);
        kept.searchable.resize(kept.searchable.len().max(number + 1), None);
        if let Some(known) = kept.searchable[number] {
            return known;
        }
        let found = kept.class.searchable(schema, attribute_type, is_system);
        kept.searchable[number] = Some(found);
        found
    }
}
