//! All keys of an entry at once, and where they go when an index is made from entries that are there.

use super::{Indexes, IndexesWriter, Key};
use crate::postings::{Postings, PostingsWriter};
use crate::restore::Sink;
use crate::shard::ReadPoint;
use model::TypeId;

/// What making keys needs, to be used again.
#[derive(Default)]
pub(crate) struct KeyScratch {
    normal: Vec<u8>,
}

impl Indexes {
    /// How many attributes have indexes.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// Hands every key that values of a type have in some index to `each`, with the number of the index; the same
    /// one may come twice.
    pub(crate) fn each_key<'v>(
        &self,
        view: ReadPoint<'_>,
        attribute_type: TypeId,
        values: impl Iterator<Item = &'v [u8]>,
        scratch: &mut KeyScratch,
        each: &mut impl FnMut(u16, Key),
    ) {
        let numbers = self.numbers_of(attribute_type);
        if numbers.is_empty() {
            return;
        }
        for (at, value) in values.enumerate() {
            for &number in numbers {
                let index = &self.all[number as usize];
                if at == 0 && index.presence.is_some() {
                    each(number, Key::Presence);
                }
                index.each_key(view, value, &mut scratch.normal, &mut |key| each(number, key));
            }
        }
    }

    /// What the keys of each index go into, when nobody reads yet: equality, substring, presence.
    pub(crate) fn sinks<'s>(&'s self, writers: &'s mut IndexesWriter) -> impl Iterator<Item = [Sink<'s>; 3]> {
        fn postings<'s>(index: &'s Option<Postings>, writer: &'s mut Option<PostingsWriter>) -> Sink<'s> {
            match (index, writer) {
                (Some(index), Some(writer)) => Sink::Postings(index, writer),
                _ => Sink::Nothing,
            }
        }
        self.all.iter().zip(writers).map(|(index, writer)| {
            [
                postings(&index.equality, &mut writer.equality),
                postings(&index.substring, &mut writer.substring),
                index.presence.as_ref().map_or(Sink::Nothing, Sink::Ids),
            ]
        })
    }
}

/// Ordering keys by index, for [`crate::Writer::finish_load`].
pub(crate) fn gather(writers: &mut IndexesWriter, keys: Vec<Vec<(u64, u32)>>) {
    for (writer, keys) in writers.iter_mut().zip(keys) {
        writer.unsorted = keys;
    }
}
