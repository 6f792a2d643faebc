//! A walk over the keys that an index has, some at a time, while it changes. What was in it all the time is met.
//! It is for the comparison of an index with the entries: between two steps others write, so a place must mean something after any change. A
//! tag, an id or a tree item does; an offset would not.

use super::key::Key;
use super::{AttributeIndex, Content};
use crate::postings::Postings;
use crate::shard::ReadPoint;
use crate::tree::{From, parts_of};

/// Where a walk is.
/// Bounded: one part of a hash table at most is copied.
#[derive(Debug)]
pub(super) enum HeldWalk {
    /// In the hash table of an index that has postings.
    Postings {
        /// Where the next part of the table begins, if there is one.
        next: Option<u32>,
        /// The part that is walked through: tags and what is stored under them.
        part: Vec<(u32, u32)>,
        /// Of these, those before this one are done.
        done: usize,
        /// Of the long list that is next, ids from this one on are to be taken.
        from: u32,
    },
    /// In the set of ids.
    Ids { from: u32 },
    /// In the tree: behind this item.
    Tree { last: Option<(u64, [u8; 4])> },
}

impl HeldWalk {
    /// At the beginning.
    pub(super) fn begin(index: &AttributeIndex) -> HeldWalk {
        match index.content {
            Content::Ids(_) => HeldWalk::Ids { from: 0 },
            Content::Tree(_) => HeldWalk::Tree { last: None },
            Content::Postings(_) => HeldWalk::Postings { next: Some(0), part: Vec::new(), done: 0, from: 0 },
        }
    }

    /// Puts about `max` keys that follow, and the ids that have them, into `out`. False when there are no more.
    /// Keys that come and go meanwhile may be met or not.
    pub(super) fn take(
        &mut self,
        view: ReadPoint<'_>,
        index: &AttributeIndex,
        max: usize,
        out: &mut Vec<(Key, u32)>,
    ) -> bool {
        out.clear();
        match (self, &index.content) {
            (HeldWalk::Ids { from }, Content::Ids(set)) => {
                let mut ids = Vec::new();
                set.push_from(*from, max, view, &mut ids);
                *from = ids.last().map_or(*from, |last| last + 1);
                out.extend(ids.iter().map(|id| (Key::Attribute, *id)));
                ids.len() == max
            }
            (HeldWalk::Tree { last }, Content::Tree(_)) => take_tree(last, view, index, max, out),
            (walk, Content::Postings(postings)) => walk.take_postings(view, postings, max, out),
            _ => unreachable!("a walk is begun for the index that it goes through"),
        }
    }

    /// A long list goes over several calls: `from` says where it goes on.
    fn take_postings(
        &mut self,
        view: ReadPoint<'_>,
        postings: &Postings,
        max: usize,
        out: &mut Vec<(Key, u32)>,
    ) -> bool {
        let HeldWalk::Postings { next, part, done, from } = self else { return false };
        while out.len() < max {
            let Some((tag, value)) = part.get(*done).copied() else {
                let Some(tag) = *next else { return false };
                part.clear();
                *done = 0;
                *next = postings.part(tag, part);
                continue;
            };
            // One id is stored in the table itself.
            let Some(set) = postings.set(value) else {
                out.push((Key::Tag(tag), value));
                *done += 1;
                continue;
            };
            let (mut ids, room) = (Vec::new(), max - out.len());
            set.ids.push_from(*from, room, view, &mut ids);
            match ids.last() {
                Some(last) if ids.len() == room => *from = last + 1,
                _ => (*done, *from) = (*done + 1, 0),
            }
            out.extend(ids.iter().map(|id| (Key::Tag(tag), *id)));
        }
        true
    }
}

/// In the order of the tree, behind the last item that was taken.
fn take_tree(
    last: &mut Option<(u64, [u8; 4])>,
    view: ReadPoint<'_>,
    index: &AttributeIndex,
    max: usize,
    out: &mut Vec<(Key, u32)>,
) -> bool {
    let Some(root) = index.tree_root() else { return false };
    while out.len() < max {
        let before = *last;
        let from = before.as_ref().map_or(From::START, |(prefix, id)| From::After((*prefix, &id[..])));
        let more = view.tree(root).next_leaf(from, |(prefix, id)| {
            let (of, _) = parts_of(id).expect("what is in the tree of an index is an id");
            *last = Some((prefix, id.try_into().expect("a payload has four octets")));
            out.push((Key::Prefix(prefix), of));
        });
        if !more {
            return false;
        }
    }
    true
}
