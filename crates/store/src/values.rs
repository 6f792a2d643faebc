//! Iterating over big value sets, a leaf of the tree at a time. Values come in the order of their hashes, which means nothing
//! to a client (RFC 4511, section 4.1.7: values are a set).

use crate::record::{ValueSet, Values};
use crate::shard::ReadPoint;
use crate::tree::From;

/// Where an iteration over a set stands. It holds no borrow, so an answer that is too long for one buffer can go
/// on later with the same read point.
#[derive(Clone, Debug, Default)]
pub struct SetPosition {
    /// Key and value of the last item that was handed out. The next leaf is looked for from the root by it.
    last: Option<(u64, Vec<u8>)>,
}

impl<'a> ReadPoint<'a> {
    /// Hands all values of an attribute to `each`.
    pub(crate) fn each_value(self, values: Values<'a>, mut each: impl FnMut(&'a [u8])) {
        match values {
            Values::Inline(values) => values.for_each(each),
            Values::Set(set) => {
                let mut position = SetPosition::default();
                while self.set_values(&set, &mut position, &mut each) {}
            }
        }
    }

    /// Hands the next few values of a set to `each`: those of a leaf, of 1 KiB unless one is longer. Returns false when there are no
    /// more.
    pub fn set_values(
        self,
        set: &ValueSet,
        position: &mut SetPosition,
        mut each: impl FnMut(&'a [u8]),
    ) -> bool {
        let before = position.last.as_ref().map_or(0, |(key, _)| *key);
        let from = position.last.as_ref().map_or(From::START, |(key, value)| From::After((*key, value)));
        let mut last = None;
        let more = self.tree(set.root).next_leaf(from, |item| {
            each(item.1);
            last = Some(item);
        });
        if let Some((key, value)) = last {
            assert!(key >= before, "a set is walked through in its order");
            position.last = Some((key, value.to_vec()));
        }
        more
    }

    /// The value of a set that is the one meant, of those with this normal form by the equality rule of the attribute. Others may have its hash.
    pub fn find_in_set(
        self,
        set: &ValueSet,
        normal: &[u8],
        is_it: impl FnMut(&'a [u8]) -> bool,
    ) -> Option<&'a [u8]> {
        self.tree(set.root).find(self.shard.value_hash(normal), is_it)
    }
}
