//! All keys of an entry at once, and where they go when an index is made from entries that are there.
//! A restore makes all indexes anew from the entries, on all cores: keys are gathered in pieces, and each index is filled by one thread.

use super::key::Key;
use super::lookup::Lookup;
use super::{Content, IndexesWriter};
use crate::restore::sink::Sink;
use crate::shard::ReadPoint;
use model::Description;

impl Lookup {
    /// Hands every key that values of an attribute have in some index to `each`, with the number of the index; the same
    /// one may come twice. `normal` is room for normal forms.
    /// Values in the outer loop: each is read from memory once, whatever number of indexes holds it.
    pub(crate) fn each_key<'v>(
        &self,
        view: ReadPoint<'_>,
        description: Description,
        values: impl Iterator<Item = &'v [u8]>,
        normal: &mut Vec<u8>,
        each: &mut impl FnMut(u16, Key),
    ) {
        let numbers = self.numbers_of(description.attribute_type);
        if numbers.is_empty() {
            return;
        }
        for (at, value) in values.enumerate() {
            for &number in numbers {
                let index = self.at(number);
                index.note_keys(description, 1);
                if let Some(key) = index.name.kind.attribute_key().filter(|_| at == 0) {
                    each(number, key);
                }
                index.each_key(view, value, normal, &mut |key| each(number, key));
            }
        }
    }

    /// What the keys of each index go into, by number, when no reader pins yet. Keys of trees go elsewhere
    /// ([`gather`]).
    /// In the order of their numbers, without gaps: nothing was dropped before a restore.
    pub(crate) fn sinks<'s>(&'s self, writers: &'s mut IndexesWriter) -> impl Iterator<Item = Sink<'s>> {
        self.all().zip(writers).map(|((_, index), side)| {
            match (&index.content, side.as_mut().and_then(|side| side.postings.as_mut())) {
                (Content::Postings(postings), Some(side)) => Sink::Postings(postings, side),
                (Content::Ids(set), _) => Sink::Ids(set),
                _ => Sink::Nothing,
            }
        })
    }
}

/// Keys of trees by number of the index, for [`crate::Writer::finish_load`].
pub(crate) fn gather(writers: &mut IndexesWriter, keys: Vec<Vec<(u64, u32)>>) {
    for (writer, keys) in writers.iter_mut().zip(keys) {
        if let Some(writer) = writer {
            writer.unsorted = keys;
        }
    }
}
