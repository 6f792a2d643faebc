//! Does everything in the shard hang together? For operators who want to know, and for tests.
//!
//! What the writer keeps in step by many small changes is worked out again from the entries alone, and compared: names, children
//! and their counts, index keys, trees, live bytes, free ids. The writer's role is held throughout, so nothing changes meanwhile;
//! readers go on. It looks at every entry, value and node, and takes memory for a number per node and per superior.
//!
//! Tables may hold more than the entries have: keys whose removal waits for readers, and stale ones. So each key of an entry is
//! looked for one by one, while the other direction compares counts. A key too many in one place and one counted as due
//! elsewhere would cancel each other out.
//!
//! While others write, an index is compared by `index::verify`. What must hold after every publication, and is known in
//! constant time, is asserted there (`shard::invariants`).

use crate::dn_cache::DnCache;
use crate::index::key::Key;
use crate::index::{AttributeIndex, Content};
use crate::postings::Found;
use crate::record::{EntryRef, ValueSet, Values, ber_octets};
use crate::resolve::push_rdn;
use crate::shard::{ReadPoint, Writer};
use crate::tree::{Visit, parts_of};
use model::{Description, EntryId, TypeId};
use roaring::RoaringBitmap;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The entry that it is about, if it is about one.
    pub entry: Option<EntryId>,
    /// Its DN, as far as it can be known: its RDN alone if a superior is missing.
    pub dn: String,
    /// What is wrong, in words.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(entry) = self.entry {
            write!(f, "entry {} \"{}\": ", entry.0, self.dn)?;
        }
        f.write_str(&self.what)
    }
}

impl Writer<'_> {
    /// Checks every entry, index, tree and count, and returns at most `findings_max` of what is wrong. Others wait
    /// for the writer's role meanwhile. It looks at all even if there are more: the counts at the end need every entry.
    pub fn check(&self, findings_max: usize) -> Vec<Finding> {
        let mut check = Check {
            writer: self,
            view: self.view(),
            findings_max,
            findings: Vec::new(),
            nodes: BTreeSet::new(),
            children: BTreeMap::new(),
            normal: Vec::new(),
            answering: self.answering(),
            keys: BTreeMap::new(),
        };
        // Entries first: they say which nodes are led to, how many subordinates there are and how many keys. Nodes after the
        // indexes, whose trees lead to the others.
        check.entries();
        check.subordinates();
        check.indexes();
        check.nodes();
        check.bytes();
        check.findings
    }

    /// Indexes that searches use. One that is being built lacks entries, and one that goes has too many.
    fn answering(&self) -> BTreeSet<u16> {
        let indexes = self.view().indexes();
        indexes.all().map(|(number, _)| number).filter(|number| indexes.is_answering(*number)).collect()
    }
}

/// What one pass has found out so far.
struct Check<'w> {
    writer: &'w Writer<'w>,
    /// The newest sequence, what the batch has not published yet included.
    view: ReadPoint<'w>,
    findings_max: usize,
    findings: Vec<Finding>,
    /// Nodes that something leads to. One to which two ways lead would be freed with the first of them.
    nodes: BTreeSet<u32>,
    /// Subordinates by superior.
    children: BTreeMap<u32, u32>,
    /// Buffers for making keys.
    normal: Vec<u8>,
    /// Numbers of the indexes that must hold every entry.
    answering: BTreeSet<u16>,
    /// Keys that entries have in them, by number of the index. An index may have no more, but for those that are due to go: none is
    /// missing in it, which was looked at key by key.
    keys: BTreeMap<u16, u64>,
}

impl<'w> Check<'w> {
    /// Notes that something is wrong with an entry, or with no entry in particular.
    fn find(&mut self, entry: Option<&EntryRef<'_>>, what: fmt::Arguments<'_>) {
        if self.findings.len() == self.findings_max {
            return;
        }
        let dn = entry.map(|entry| dn_of(self.view, entry)).unwrap_or_default();
        self.findings.push(Finding { entry: entry.map(|e| e.id), dn, what: what.to_string() });
    }

    /// Every id that was ever given, since an entry that nothing leads to is found in no other way.
    fn entries(&mut self) {
        let (shard, view) = (self.view.shard, self.view);
        let (mut counted, names) = (0, self.writer.state.names.len());
        for id in 1..self.writer.state.heap.ids.end() {
            let Some(object) = shard.heap.read(id, view.sequence) else { continue };
            counted += 1;
            match EntryRef::checked(id, object.flags, object.payload, &shard.shapes, names) {
                Ok(entry) => self.entry(&entry),
                // The bytes of the record are not an entry's. Nothing else of it is looked at.
                Err(what) if self.findings.len() < self.findings_max => {
                    let (entry, dn) = (Some(EntryId(id)), String::new());
                    self.findings.push(Finding { entry, dn, what: what.to_owned() });
                }
                Err(_) => {}
            }
        }
        // The choice between a walk and an index is made by this number.
        let kept = shard.entries();
        if counted != kept {
            self.find(None, format_args!("there are {counted} entries, and the count says {kept}"));
        }
    }

    /// An entry whose record is whole: is it where its superior, its name, its kind and its values say?
    fn entry(&mut self, entry: &EntryRef<'w>) {
        let (shard, view, parent) = (self.view.shard, self.view, entry.parent());
        *self.children.entry(parent.0).or_default() += 1;
        if parent.0 != 0 && view.entry(parent).is_none() {
            // Without it there is no DN, and all else that is wrong follows.
            let what = format_args!("its superior, entry {}, is not there", parent.0);
            return self.find(Some(entry), what);
        }
        // The root of a naming context is found under the key of its whole DN.
        let mut key = Vec::new();
        if parent.0 == 0 {
            view.key_of(entry, &mut key);
        } else if push_rdn(&shard.schema, entry, &mut key).is_err() {
            return self.find(Some(entry), format_args!("the RDN cannot be"));
        }
        match view.find(parent.0, &key) {
            // Only searches from above still find it.
            None => self.find(Some(entry), format_args!("its DN does not lead to it")),
            // Names lead to the other one.
            Some(other) if other != entry.id => {
                self.find(Some(entry), format_args!("entry {} has the same DN", other.0));
            }
            Some(_) => {}
        }
        if !is_in(view, &view.child_candidates(parent), entry.id.0) {
            // Searches that walk down pass it over, and the superior may be deleted.
            self.find(Some(entry), format_args!("it is not among the children of entry {}", parent.0));
        }
        // An entry that is no longer of a kind may stay among them until its removal is made, so only this direction is compared.
        if shard.kinds.of(entry.shape.kind).is_some_and(|set| !set.contains(entry.id.0, view)) {
            // A search of its scope may not know of it.
            self.find(Some(entry), format_args!("it is not among the aliases or referral objects"));
        }
        if entry.shape.has_access_rules && !shard.kinds.with_access_rules.contains(entry.id.0, view) {
            // Its rules would not be in force.
            self.find(Some(entry), format_args!("it is not among the entries that have access rules"));
        }
        if entry.shape.is_dynamic && !shard.kinds.dynamic.contains(entry.id.0, view) {
            // It would never be deleted.
            self.find(Some(entry), format_args!("it is not among the dynamic entries"));
        }
        if entry.shape.is_collective && !shard.kinds.collective.contains(entry.id.0, view) {
            // Other entries would not show what it has.
            self.find(Some(entry), format_args!("it is not among the subentries of collective attributes"));
        }
        self.keys(entry);
    }

    /// The keys that an entry has in all indexes, made as for a restore and not as for a change: that is what they are compared
    /// with. Two values may have one key, which counts once, as in the index.
    fn keys(&mut self, entry: &EntryRef<'w>) {
        let (shard, view) = (self.view.shard, self.view);
        let mut keys: Vec<(u16, Key)> = Vec::new();
        let mut normal = std::mem::take(&mut self.normal);
        let classes = entry.shape.class_values.iter().map(|value| &**value);
        let class_type = Description::plain(shard.schema.well_known().object_class);
        // Values of objectClass are in the shape and not in the record.
        let mut each = |number, key| keys.push((number, key));
        let indexes = view.indexes();
        indexes.each_key(view, class_type, classes, &mut normal, &mut each);
        let mut sets = Vec::new();
        for (slot, values) in entry.shape.slots.iter().zip(entry.slots()) {
            let attribute_type = slot.description.attribute_type;
            match values {
                Values::Inline(values) => {
                    indexes.each_key(view, slot.description, values, &mut normal, &mut each);
                }
                Values::Set(set) => sets.push((attribute_type, set)),
            }
        }
        for (attribute_type, set) in sets {
            if let Err(what) = self.set(attribute_type, &set, &mut normal, &mut keys) {
                let attribute = shard.schema.attribute_type(attribute_type).name();
                self.find(Some(entry), format_args!("the tree of {attribute}: {what}"));
            }
        }
        self.normal = normal;
        // What an index does not answer is not compared: it is allowed to lack this entry.
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|(number, _)| self.answering.contains(number));
        for (number, key) in &keys {
            let index = indexes.at(*number);
            if !has(view, index, *key, entry.id.0) {
                // A search that uses the index misses it.
                self.find(Some(entry), format_args!("{} lacks it", described(view, index)));
            }
        }
        for (number, _) in keys {
            *self.keys.entry(number).or_default() += 1;
        }
    }

    /// A big value set: its tree, that each value lies under its own hash, and the counts that the record keeps. Its values'
    /// keys are added to the others.
    fn set(
        &mut self,
        attribute_type: TypeId,
        set: &ValueSet,
        normal: &mut Vec<u8>,
        keys: &mut Vec<(u16, Key)>,
    ) -> Result<(), &'static str> {
        let (shard, view) = (self.view.shard, self.view);
        let (mut count, mut ber_bytes) = (0u64, 0);
        view.tree(set.root).walk(&mut |visit| match visit {
            Visit::Node(node) if self.nodes.insert(node) => Ok(()),
            Visit::Node(_) => Err("two ways lead to a node"),
            Visit::Item((key, value)) => {
                count += 1;
                ber_bytes += ber_octets(value.len());
                let (hash, _) = shard.set_key(attribute_type, value, normal);
                let each = &mut |number, key| keys.push((number, key));
                let description = Description::plain(attribute_type);
                view.indexes().each_key(view, description, std::iter::once(value), normal, each);
                if hash == key { Ok(()) } else { Err("a value lies under a key that is not its own") }
            }
        })?;
        if (count, ber_bytes) == (u64::from(set.count), set.ber_bytes) {
            Ok(())
        } else {
            Err("it has another number or length of values than the entry says")
        }
    }

    /// How many subordinates entries have: counted from below, against what postings count. It answers numSubordinates and decides
    /// whether an entry may be deleted.
    fn subordinates(&mut self) {
        let view = self.view;
        for id in 1..self.writer.state.heap.ids.end() {
            let Some(entry) = view.entry(EntryId(id)) else { continue };
            let counted = self.children.get(&id).copied().unwrap_or(0);
            let kept = view.subordinates(entry.id);
            if counted != kept {
                // The entry may be deleted although it has some, or not although it has none.
                let what = format_args!("it has {counted} subordinates, and the count says {kept}");
                self.find(Some(&entry), what);
            }
        }
    }

    /// Indexes as they are, whether they answer or not: their trees, and how many keys of entries each has. That none is
    /// missing was looked at with the entries. What is too much must be due to go.
    fn indexes(&mut self) {
        let view = self.view;
        for (number, index) in view.indexes().all() {
            let count = match &index.content {
                Content::Postings(postings) => postings.count(),
                Content::Ids(set) => u64::from(set.len()),
                Content::Tree(_) => index.tree_root().map_or(0, |root| self.tree(number, index, root)),
            };
            let state = &self.writer.state;
            let due = state.deferred.keys_of(number).count() as u64 + state.stale_keys.of_index(number);
            let counted = self.keys.get(&number).copied().unwrap_or(0);
            if self.answering.contains(&number) && count > counted + due {
                let (index, keys) = (described(view, index), count - counted);
                self.find(None, format_args!("{index} has {keys} keys that no entry has"));
            }
        }
        // Of trees that go, what is still there: they are taken away a few nodes at a time, and the rest is led to by these roots.
        for root in self.writer.state.leaving.values().flatten() {
            let nodes = &mut self.nodes;
            let walked = view.tree(*root).walk(&mut |visit| match visit {
                Visit::Node(node) if !nodes.insert(node) => Err("two ways lead to a node"),
                _ => Ok(()),
            });
            if let Err(what) = walked {
                self.find(None, format_args!("the tree of a dropped index: {what}"));
            }
        }
    }

    /// The items of an index's tree. A walk also finds nodes that are not sorted, or whose items are not those that the nodes above
    /// them say.
    /// The first item of each entry counts, and no other.
    fn tree(&mut self, number: u16, index: &AttributeIndex, root: u32) -> u64 {
        let (view, nodes, mut items) = (self.view, &mut self.nodes, 0);
        // An index that is built may lack the least key of an entry.
        let is_known = index.counts_least_keys() && self.answering.contains(&number);
        let (mut seen, mut least) = (RoaringBitmap::new(), 0);
        let mut counts = |id, is_least| !is_known || is_least == seen.insert(id);
        let walked = view.tree(root).walk(&mut |visit| match visit {
            Visit::Node(node) if !nodes.insert(node) => Err("two ways lead to a node"),
            Visit::Item((_, payload)) => {
                items += 1;
                let (id, is_least) = parts_of(payload).ok_or("an item is not an id")?;
                least += u64::from(is_least);
                if counts(id, is_least) {
                    Ok(())
                } else {
                    Err("another item of an entry counts than the least")
                }
            }
            Visit::Node(_) => Ok(()),
        });
        let counted = view.tree(root).counts().len();
        let is_counted = if counted == least { Ok(()) } else { Err("its items are others than are counted") };
        if let Err(what) = walked.and(is_counted) {
            let attribute = view.shard.schema.attribute_type(index.name.attribute_type).name();
            self.find(None, format_args!("the tree of {attribute}: {what}"));
        }
        items
    }

    /// Nodes to which nothing leads: they take memory for as long as the shard is there. A node that was removed is no object at the
    /// newest sequence, though older readers may still see it.
    fn nodes(&mut self) {
        let (heap, view) = (&self.view.shard.heap, self.view);
        let is_lost = |id: &u32| heap.read_node(*id, view.sequence).is_some() && !self.nodes.contains(id);
        let lost = (1..self.writer.state.heap.node_ids.end()).filter(is_lost).count();
        if lost > 0 {
            self.find(None, format_args!("nothing leads to {lost} nodes of trees"));
        }
    }

    /// Live bytes and free ids. The cleaner chooses segments by their live bytes, and with a wrong number never empties one; an id
    /// that is free and in use would be given to a second entry, in the place of the first.
    fn bytes(&mut self) {
        // Of a run of segments the first has the account.
        let (heap, writer) = (&self.view.shard.heap, &self.writer.state.heap);
        let kept: Vec<u32> = writer.live_bytes_of_segments().collect();
        let mut counted = vec![0u64; kept.len()];
        for (is_node, end) in [(false, writer.ids.end()), (true, writer.node_ids.end())] {
            for (segment, _, len) in (1..end).filter_map(|id| heap.place_of(is_node, id)) {
                counted[segment] += len as u64;
            }
        }
        for (segment, (counted, kept)) in counted.into_iter().zip(kept).enumerate() {
            if counted != u64::from(kept) {
                // A checkpoint leaves out a segment that seems to have none.
                let what =
                    format_args!("segment {segment} has {counted} live bytes, and the count says {kept}");
                self.find(None, what);
            }
        }
        let free =
            writer.ids.freed().map(|id| (false, id)).chain(writer.node_ids.freed().map(|id| (true, id)));
        for (_, id) in free.filter(|(is_node, id)| heap.place_of(*is_node, *id).is_some()) {
            self.find(None, format_args!("the id {id} is free and in use"));
        }
    }
}

/// Something about an entry, which may not be there: for the check of one index, which knows ids.
pub(crate) fn finding(view: ReadPoint<'_>, id: u32, what: String) -> Finding {
    let entry = if id < view.shard.ids_end() { view.entry(EntryId(id)) } else { None };
    Finding { entry: Some(EntryId(id)), dn: entry.map(|entry| dn_of(view, &entry)).unwrap_or_default(), what }
}

/// The DN of an entry, or its RDN if its superiors are not there.
/// It is made without a thread's cache, which would believe the superiors that it has met.
fn dn_of(view: ReadPoint<'_>, entry: &EntryRef<'_>) -> String {
    let mut dn = Vec::new();
    if has_superiors(view, entry) {
        view.write_dn(entry, &mut DnCache::default(), &mut dn);
    } else {
        view.write_rdn(entry, &mut dn);
    }
    String::from_utf8_lossy(&dn).into_owned()
}

/// Does the way up end at the root of a naming context? Superiors that lead in a circle end the walk, too.
fn has_superiors(view: ReadPoint<'_>, entry: &EntryRef<'_>) -> bool {
    let mut parent = entry.parent();
    for _ in 0..view.shard.ids_end() {
        match view.entry(parent) {
            Some(above) => parent = above.parent(),
            None => return parent.0 == 0,
        }
    }
    false
}

/// Is an id among the candidates of a key?
fn is_in(view: ReadPoint<'_>, found: &Found<'_>, id: u32) -> bool {
    match found {
        Found::Few(ids) => ids.contains(&id),
        Found::Many(set) => set.ids.contains(id, view),
    }
}

/// Does an index have a key of an entry? `false` also of a key that this kind of index does not have.
pub(crate) fn has(view: ReadPoint<'_>, index: &AttributeIndex, key: Key, id: u32) -> bool {
    match (key, &index.content) {
        (Key::Tag(tag), Content::Postings(postings)) => is_in(view, &postings.find(tag), id),
        (Key::Attribute, Content::Ids(set)) => set.contains(id, view),
        (Key::Prefix(prefix), Content::Tree(_)) => {
            let is_item = |payload: &[u8]| parts_of(payload).is_some_and(|(of, _)| of == id);
            index.tree_root().is_some_and(|root| view.tree(root).find(prefix, is_item).is_some())
        }
        _ => false,
    }
}

/// An index, for a message.
pub(crate) fn described(view: ReadPoint<'_>, index: &AttributeIndex) -> String {
    let attribute = view.shard.schema.attribute_type(index.name.attribute_type).name();
    format!("the {} index on {attribute}", index.name.kind)
}
