//! How the view of a requester on an entry is found.
//!
//! Nearly all classes ask two things of an entry: where it lies, and whether it is the requester's own. Entries of one superior lie in the
//! same places, unless a rule names one of them. So a class keeps the places of the last superiors, and the views of the last facts: a look
//! compares a few words, in memory of this thread. What asks more of an entry is worked out anew for each, and its view is
//! looked up by a hash. Neither way allocates.

use super::super::requester::ClassId;
use super::{
    Action, Class, EntryRef, Evaluator, Facts, Item, Kept, OfValues, Requester, View, ViewId, Views,
};
use ::access::Operation;
use model::EntryId;
use smallvec::SmallVec;
use store::{DnCache, ReadPoint};

/// A view has up to 12 bytes for each attribute type of the schema: 48 MiB for a schema of a thousand types.
const VIEWS_MAX: usize = 4_096;
impl Views {
    /// The view of a requester on an entry.
    /// A requester whose class is not known has the view that allows nothing. There is no other default anywhere.
    #[inline(always)]
    pub(crate) fn of(
        &mut self,
        who: Requester,
        action: Action,
        entry: &EntryRef<'_>,
        read_point: ReadPoint<'_>,
        evaluator: &mut Evaluator,
    ) -> ViewId {
        // Rules are not asked about the root DN, and it pays for them no more than this.
        if who.class == ClassId::ROOT {
            ViewId::ROOT
        } else {
            self.by_rules(who, action, entry, read_point, evaluator)
        }
    }

    /// The view of a requester that rules are asked about.
    fn by_rules(
        &mut self,
        who: Requester,
        action: Action,
        entry: &EntryRef<'_>,
        read_point: ReadPoint<'_>,
        evaluator: &mut Evaluator,
    ) -> ViewId {
        let Some(kept) = self.kept(who.class) else { return ViewId::NONE };
        let class = &*kept.class;
        // One view for all operations where rules make no difference between them. The server's own entries keep theirs.
        let action =
            if class.by_operation { action } else { Action { operation: Operation::Search, ..action } };
        if class.is_placed
            && !action.is_system
            && let Some(places) = self.places_of(kept, entry, read_point)
        {
            // The entry is the requester's own or not: two bits above those of the places, which rules about oneself ask for.
            let is_own = !class.questions.is_empty() && who.own.is_some_and(|own| own.is(entry));
            let facts = if is_own { places | 0b11 << class.places.len() } else { places };
            // What the facts came to before. A view that is not known yet is worked out once, and kept for all entries with these facts.
            return match kept.found.view(action, facts) {
                ViewId::NONE => self.view(who.class, action, Facts::from_slice(&[facts]), read_point),
                view => view,
            };
        }
        self.of_complex(who, action, entry, read_point, evaluator)
    }

    /// As [`Views::of`], of an entry that need not be looked at for most requesters.
    #[inline]
    pub(crate) fn of_id(
        &mut self,
        who: Requester,
        action: Action,
        id: EntryId,
        read_point: ReadPoint<'_>,
        evaluator: &mut Evaluator,
    ) -> ViewId {
        if who.class == ClassId::ROOT {
            return ViewId::ROOT;
        }
        // A class whose rules ask nothing of an entry has one view on all, but on that of the requester itself: no record is touched for it.
        if let Some(kept) = self.kept(who.class)
            && kept.class.is_simple
            && !action.is_system
            && !kept.class.by_operation
            && who.own.is_none_or(|own| !own.has(id))
        {
            let action = Action { operation: Operation::Search, ..action };
            let view = kept.found.view(action, 0);
            if view != ViewId::NONE {
                return view;
            }
        }
        // An entry that is gone at this read point shows nothing: the search passes over it.
        match read_point.entry(id) {
            Some(entry) => self.of(who, action, &entry, read_point, evaluator),
            None => ViewId::NONE,
        }
    }

    /// Apart and not inlined: the way above stays short enough to be laid into each search.
    #[inline(never)]
    fn of_complex(
        &mut self,
        who: Requester,
        action: Action,
        entry: &EntryRef<'_>,
        read_point: ReadPoint<'_>,
        evaluator: &mut Evaluator,
    ) -> ViewId {
        let at = who.class.0.checked_sub(self.first_class).map(|at| at as usize);
        let Views { classes, finder, groups, .. } = self;
        let Some(kept) = at.and_then(|at| classes.get_mut(at)) else { return ViewId::NONE };
        let class = &kept.class;
        let facts = finder.facts(class, (who, action, groups), entry, read_point, evaluator);
        if let [facts] = facts[..] {
            if class.is_placed && !action.is_system {
                let places = facts & ((1 << class.places.len()) - 1);
                kept.found.put_places(finder.generation_of(entry, read_point), entry.parent(), places);
            }
            let view = kept.found.view(action, facts);
            if view != ViewId::NONE {
                return view;
            }
        }
        self.view(who.class, action, facts, read_point)
    }

    /// Places of the superior of an entry, in a class that has found them before, as facts: mostly those of an entry that was looked at just now.
    #[inline]
    fn places_of(&self, kept: &Kept, entry: &EntryRef<'_>, read_point: ReadPoint<'_>) -> Option<u64> {
        if kept.class.is_simple {
            return Some(0);
        }
        let (generation, places) = kept.found.places(entry.parent())?;
        self.finder.holds(&kept.class.set, generation, entry.id, read_point).then_some(places)
    }

    /// The view on an entry that is not there yet: what would be true of it is known to the caller.
    pub(crate) fn of_facts(
        &mut self,
        class: ClassId,
        action: Action,
        facts: Facts,
        read_point: ReadPoint<'_>,
    ) -> ViewId {
        match class {
            ClassId::ROOT => ViewId::ROOT,
            class if self.kept(class).is_none() => ViewId::NONE,
            class => self.view(class, action, facts, read_point),
        }
    }

    /// The view of a class on entries of which these facts are true, by this action. It is looked up by a hash, and made at its first use: there
    /// are as many as kinds of entries, by the rules, and not as many as entries. When there are too many all are dropped, and ids of
    /// dropped ones are never given again, so an answer template that names one finds nothing.
    fn view(&mut self, class: ClassId, action: Action, facts: Facts, read_point: ReadPoint<'_>) -> ViewId {
        let shard = read_point.shard();
        // Keyed: which facts there are is to a part the choice of clients, who write entries.
        let hash = |class: ClassId, action: Action, facts: &Facts| {
            let mut bytes: SmallVec<[u8; 64]> = SmallVec::new();
            bytes.extend_from_slice(&[action.operation as u8, u8::from(action.is_system)]);
            bytes.extend_from_slice(&class.0.to_le_bytes());
            facts.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
            shard.keyed_hash(&bytes)
        };
        let (views, first) = (&self.views, self.first_view);
        let is_it = |id: &u64| {
            let view = &views[(id - first) as usize];
            view.class == class && view.action == action && view.facts == facts
        };
        let found = self.view_of.find(hash(class, action, &facts), is_it).copied();
        let id = found.unwrap_or_else(|| {
            if self.views.len() >= VIEWS_MAX {
                self.forget_views();
            }
            let id = self.first_view + self.views.len() as u64;
            let kept = self.kept(class).expect("its class was just found");
            let entry = kept.class.rights(shard.schema(), &facts, action, Item::Entry, OfValues::Every);
            let hashed = hash(class, action, &facts);
            let (attributes, by_value) = (Vec::new(), Vec::new());
            self.views.push(View { class, action, facts, entry, attributes, by_value });
            let (views, first) = (&self.views, self.first_view);
            self.view_of.insert_unique(hashed, id, |id| {
                let view = &views[(*id - first) as usize];
                hash(view.class, view.action, &view.facts)
            });
            id
        });
        let view = &self.views[(id - self.first_view) as usize];
        if let [facts] = view.facts[..] {
            let at = (class.0 - self.first_class) as usize;
            self.classes[at].found.put_view(action, facts, ViewId(id));
        }
        ViewId(id)
    }

    /// What is true of an entry in this place, without an answer to any question.
    pub(crate) fn place_facts(
        &mut self,
        class: &Class,
        action: Action,
        place: (EntryId, EntryId),
        read_point: ReadPoint<'_>,
        cache: &mut DnCache,
    ) -> Facts {
        self.finder.place_facts(class, action, place, read_point, cache)
    }
}
