//! Collective attributes (RFC 3671): the entries of each subentry that has some, and what an entry shows of them.
//!
//! Nothing is stored in the entries, and nothing is kept of one read point for the next but the specifications that were read: names of a specification are looked
//! up anew, for entries may have been added, renamed or deleted. So a change of a subentry, or of a name, holds at once and at every read point, and there is
//! nothing to be rebuilt after a start. A directory without such subentries does not come here.
//!
//! ```text
//! Collections::at   the collections at a read point: made once for it by each thread that asks
//! attributes        what entries may show of them
//! shown             what one entry does show, before anybody asks for rights
//! ```
//! Cases that are easily forgotten, and where they are decided:
//!
//! - The base of a specification is not there, or is added later: it is looked up for each read point.
//! - An entry is moved into a collection with its superior: the walk up is that of the read point.
//! - A subentry is moved with its superior: its specification has names below the superior alone.
//! - The id of a subentry is given again: its specification is known by its last change as well, and no two entries have one.
//! - Two subentries have one value in two spellings: values are compared by their normal forms, and one of them is shown.
//! - The schema has grown, and a refinement names a class that is new: the generation of the schema is a part of the key.
//! - The read point is that of a transaction's view, or of the server's own entries: nothing is shown there.

use crate::subtree_specification::{self, Filter, SPECIFICATION, Subtree};
use model::{Csn, Description, EntryId};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::collective::{Collection, Meant, Refinement};
use store::search::Compiled;
use store::search::evaluate::{Evaluator, Truth};
use store::shape::Kind;
use store::{DnCache, EntryRef, ReadPoint, Values};

/// What a thread knows of subentries of collective attributes. They are as few as an update may add
/// ([`model::limits::COLLECTIVE_SUBENTRIES_MAX`]).
#[derive(Default)]
pub(crate) struct Collections {
    /// Sequence and schema of the read point that `all` is of.
    of: Option<(u64, u64)>,
    all: Arc<[Arc<Collection>]>,
    /// Specifications that were read, by subentry and its last change. `None` of what is no specification.
    read: BTreeMap<u32, (Csn, Option<Arc<Subtree>>)>,
}

impl Collections {
    /// The collections at a read point of the directory; `None` if there is none.
    #[cold]
    pub(crate) fn at(
        &mut self,
        read_point: ReadPoint<'_>,
        cache: &mut DnCache,
    ) -> Option<Arc<[Arc<Collection>]>> {
        let of = (read_point.sequence(), read_point.shard().schema().generation());
        if self.of != Some(of) {
            self.read_all(read_point, cache);
            self.of = Some(of);
        }
        (!self.all.is_empty()).then(|| Arc::clone(&self.all))
    }

    /// Makes all collections of a read point. Texts are read again of those subentries alone that have changed since the last time.
    fn read_all(&mut self, read_point: ReadPoint<'_>, cache: &mut DnCache) {
        let subentries = read_point.collective_subentries();
        let former = std::mem::take(&mut self.read);
        let mut all = Vec::with_capacity(subentries.len());
        for subentry in subentries {
            let stamps = subentry.stamps();
            let changed = stamps.modified.map_or(stamps.created, |(changed, _)| changed);
            let known = former.get(&subentry.id.0).filter(|(known, _)| *known == changed);
            let subtree =
                known.map_or_else(|| specification(&subentry, read_point), |(_, subtree)| subtree.clone());
            // What is no specification is about nothing: it was not looked at when it was written.
            let collection = subtree.as_ref().and_then(|of| collection(&subentry, of, read_point, cache));
            all.extend(collection.map(Arc::new));
            self.read.insert(subentry.id.0, (changed, subtree));
        }
        self.all = all.into();
    }
}

/// Reads the specification of a subentry. `None` of what is none: an import looks at no specification, and an earlier version let any text in.
/// Such a subentry is about no entry, which is what an administrator sees at once.
fn specification(subentry: &EntryRef<'_>, read_point: ReadPoint<'_>) -> Option<Arc<Subtree>> {
    let id = read_point.shard().schema().find_type(SPECIFICATION.as_bytes())?;
    let position = subentry.shape.position(Description::plain(id))?;
    // A value that is no longer than may be lies in its record.
    let Values::Inline(mut values) = subentry.slot(position) else { return None };
    subtree_specification::parse(values.next()?).ok().map(Arc::new)
}

/// The entries that a specification means, with names looked up. `None` if its base is not there: then there are none.
fn collection(
    subentry: &EntryRef<'_>,
    subtree: &Subtree,
    read_point: ReadPoint<'_>,
    cache: &mut DnCache,
) -> Option<Collection> {
    let schema = read_point.shard().schema();
    let superior = read_point.entry(subentry.parent())?;
    let superior_dn = read_point.dn(&superior, cache);
    // A name is resolved and not compared, so its spelling is no matter.
    let mut named = |names: &[&str]| {
        let names = names.iter().filter(|name| !name.is_empty()).map(|name| name.as_bytes());
        let dn = names.chain([&superior_dn[..]]).collect::<Vec<_>>().join(&b',');
        read_point.resolve(&dn, cache).ok()
    };
    let base = named(&[&subtree.base])?;
    // What is cut off at a name that nobody has is nothing.
    let mut cut = |names: &[String]| -> Vec<EntryId> {
        names.iter().filter_map(|name| named(&[name, &subtree.base])).collect()
    };
    let (before, after) = (cut(&subtree.before), cut(&subtree.after));
    let meant = match &subtree.filter {
        None => Meant::All,
        Some(Filter::Classes(refinement)) => Meant::Classes(refined(refinement, read_point)),
        Some(Filter::Search(text)) => {
            let filter = proto::filter_string::parse(text.as_bytes()).ok()?;
            // All attributes are looked at: the filter is the administrator's, and its outcome is no answer to anybody.
            let filter = Compiled::new(&filter.filter(), read_point.shard(), &|_| true);
            Meant::Test(Box::new(move |entry, at| {
                Evaluator::default().evaluate(&filter, entry, at) == Truth::True
            }))
        }
    };
    let slots = subentry.shape.slots.iter().map(|slot| slot.description);
    // The subentry has other attributes too: its name, its specification, its classes.
    let is_collective = |of: &Description| schema.attribute_type(of.attribute_type).is_collective();
    Some(Collection {
        subentry: subentry.id,
        dn: read_point.dn(subentry, cache),
        superior: superior.id,
        base,
        levels: (subtree.minimum, subtree.maximum),
        before,
        after,
        meant,
        attributes: slots.filter(is_collective).collect(),
    })
}

/// Looks up the classes of a refinement. Its depth was bounded when it was read.
fn refined(refinement: &subtree_specification::Refinement, read_point: ReadPoint<'_>) -> Refinement {
    use subtree_specification::Refinement as Read;
    let all = |parts: &[Read]| parts.iter().map(|part| refined(part, read_point)).collect();
    match refinement {
        Read::Item(name) => Refinement::Item(read_point.shard().schema().find_class(name.as_bytes())),
        Read::And(parts) => Refinement::And(all(parts)),
        Read::Or(parts) => Refinement::Or(all(parts)),
        Read::Not(part) => Refinement::Not(Box::new(refined(part, read_point))),
    }
}

/// Attributes that entries show of collections, each once: those that the subentries have, and the one that names these.
pub(crate) fn attributes(all: &[Arc<Collection>], read_point: ReadPoint<'_>) -> Vec<Description> {
    let known = read_point.shard().schema().well_known();
    let subentries = Description::plain(known.collective_attribute_subentries);
    let mut attributes: Vec<Description> =
        all.iter().flat_map(|collection| collection.attributes.iter().copied()).chain([subentries]).collect();
    attributes.sort_unstable();
    attributes.dedup();
    attributes
}

/// The values that an entry shows of some attributes, of all collections that it is in together: each value once, however many subentries have it
/// (RFC 3671 section 1.2). An attribute without values is not there.
pub(crate) fn shown(
    all: &[Arc<Collection>],
    wanted: &[Description],
    entry: &EntryRef<'_>,
    read_point: ReadPoint<'_>,
) -> Vec<(Description, Vec<Vec<u8>>)> {
    if entry.shape.kind == Kind::Subentry {
        return Vec::new();
    }
    let schema = read_point.shard().schema();
    let subentries = Description::plain(schema.well_known().collective_attribute_subentries);
    // Once for the entry: which attributes are excluded does not depend on the subentry.
    let exclusions = read_point.collective_exclusions(entry);
    let wanted: Vec<Description> =
        wanted.iter().copied().filter(|wanted| read_point.may_collect(entry, *wanted, &exclusions)).collect();
    let mut found: BTreeMap<Description, BTreeMap<Vec<u8>, Vec<u8>>> = BTreeMap::new();
    for collection in all {
        // What the subentry does not have is not asked for, which spares the walk.
        let has = |wanted: &&Description| **wanted == subentries || collection.attributes.contains(wanted);
        if !wanted.iter().any(|wanted| has(&wanted)) || !read_point.is_in_collection(collection, entry) {
            continue;
        }
        let Some(subentry) = read_point.entry(collection.subentry) else { continue };
        for description in wanted.iter().filter(has) {
            let mut put = |value: &[u8]| {
                let mut form = Vec::new();
                // Without a rule values are the same if their bytes are.
                if schema.normalise_equality_assertion(description.attribute_type, value, &mut form).is_err()
                {
                    form = value.to_vec();
                }
                found.entry(*description).or_default().entry(form).or_insert_with(|| value.to_vec());
            };
            match subentry.shape.position(*description).map(|position| subentry.slot(position)) {
                _ if *description == subentries => put(&collection.dn),
                None => {}
                Some(Values::Inline(values)) => values.for_each(put),
                Some(Values::Set(set)) => {
                    let mut position = Default::default();
                    while read_point.set_values(&set, &mut position, &mut put) {}
                }
            }
        }
    }
    found.into_iter().map(|(description, values)| (description, values.into_values().collect())).collect()
}
