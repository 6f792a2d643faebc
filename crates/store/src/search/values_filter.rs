//! Which values of an entry pass any item of a list (RFC 3876): each value is taken by itself.
//!
//! An item is about the attributes that a filter with it would look at: the type, its subtypes, those with more options. What such a filter would
//! leave undefined takes no value. It knows no rights: who returns values asks for each whether it may be read.

use super::evaluate::{Truth, looks_at, own_form};
use super::filter::{Item, Normal, Test, value_items};
use super::one_value::of_item;
use super::work::{LOOKUP, of_scan, of_value};
use crate::record::ValueSet;
use crate::shard::{ReadPoint, Shard};
use model::{Description, Filter};
use schema::Schema;

/// A list of items, made ready once.
#[derive(Clone, Debug)]
pub struct ValuesFilter(Vec<Item>);

impl ValuesFilter {
    /// Makes items ready, which are no sets of others.
    pub fn new(items: &[Filter<'_>], shard: &Shard) -> ValuesFilter {
        ValuesFilter(value_items(items, shard))
    }

    /// How many items are left: of those that are undefined, whatever the entry is, none is kept.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Does it take no value at all?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes that it holds, about.
    pub fn heap_bytes(&self) -> usize {
        self.0.len() * size_of::<Item>()
    }

    /// The items that are about an attribute.
    pub fn on(&self, read_point: ReadPoint<'_>, description: Description) -> AnyOf {
        let schema = &read_point.shard.schema;
        let about = self.0.iter().filter(|item| looks_at(item, description, schema));
        let items: Vec<Item> = about.cloned().collect();
        let takes_all = items.iter().any(|item| matches!(item.test, Test::Present));
        let form = |item: &Item| {
            own_form(&item.test, description.attribute_type, read_point).map(Normal::from_slice)
        };
        let equal: Option<Vec<Normal>> = items.iter().map(form).collect();
        let equal = equal.map(|mut equal| {
            // Two items may ask for one value, which is returned once.
            equal.sort_unstable();
            equal.dedup();
            equal
        });
        AnyOf { items, takes_all, equal }
    }
}

/// Items about the values of one attribute, of which one is enough.
#[derive(Clone, Debug)]
pub struct AnyOf {
    items: Vec<Item>,
    takes_all: bool,
    /// If all items ask for values that are equal by the attribute's own rule: normal forms of these.
    equal: Option<Vec<Normal>>,
}

impl AnyOf {
    /// Is every value taken, whatever it is?
    pub fn takes_all(&self) -> bool {
        self.takes_all
    }

    /// Is a value taken? `next`: the item that is compared next, which is the first of a value that was not looked at yet. `None` if `work` is
    /// used up: it goes on from there. `form` is a buffer.
    #[inline]
    pub fn go_on(
        &self,
        schema: &Schema,
        value: &[u8],
        form: &mut Vec<u8>,
        next: &mut usize,
        work: &mut u64,
    ) -> Option<bool> {
        if self.takes_all {
            *work = work.saturating_sub(1);
            return Some(true);
        }
        while let Some(item) = self.items.get(*next) {
            if *work == 0 {
                return None;
            }
            let parts = match &item.test {
                Test::Substrings { any, .. } => any.len() as u64,
                _ => 0,
            };
            *work = work.saturating_sub(of_value(value) + parts * of_scan(value.len()));
            if of_item(item, (schema, value), form) == Truth::True {
                *next = 0;
                return Some(true);
            }
            *next += 1;
        }
        *next = 0;
        // Also what nothing is asked of is looked at.
        *work = work.saturating_sub(1);
        Some(false)
    }

    /// Hands the values of a set that are taken to `each`, if they can be looked up: if each item asks for a value that is equal. `false` if not: then
    /// all values have to be compared.
    pub fn find_in(
        &self,
        read_point: ReadPoint<'_>,
        set: &ValueSet,
        form: &mut Vec<u8>,
        work: &mut u64,
        mut each: impl FnMut(&[u8]),
    ) -> bool {
        let Some(equal) = &self.equal else { return false };
        let schema = &read_point.shard.schema;
        for normal in equal {
            *work = work.saturating_sub(LOOKUP);
            // Others may have its hash.
            let is_it = |value: &[u8]| {
                self.items.iter().any(|item| of_item(item, (schema, value), form) == Truth::True)
            };
            if let Some(value) = read_point.find_in_set(set, normal, is_it) {
                each(value);
            }
        }
        true
    }
}
