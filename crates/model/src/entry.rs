//! An entry in flight: between a decoder, the schema check and the store. One buffer holds all values, so an
//! entry that is cleared and filled again allocates nothing.

use crate::attribute::Description;
use std::ops::Range;

/// Not yet checked against the subschema.
#[derive(Clone, Copy, Debug, Default)]
pub struct Raw(());

/// Attributes and values, in the order they were given. `State` tells whether the subschema has passed it:
/// only the schema's check can turn an `Entry<Raw>` into a checked one, and only checked ones are stored.
///
/// Invariant: the values of one attribute are neighbours in `values`; no description appears twice.
#[derive(Clone, Debug, Default)]
pub struct Entry<State = Raw> {
    bytes: Vec<u8>,
    values: Vec<Range<u32>>,
    attributes: Vec<(Description, Range<u32>)>,
    state: State,
}

impl Entry<Raw> {
    /// An empty entry.
    pub fn new() -> Entry<Raw> {
        Entry::default()
    }

    /// Begins an attribute; the values pushed next are its values.
    ///
    /// # Panics
    /// If the description is there already: ask [`Entry::position`] first.
    pub fn push_attribute(&mut self, description: Description) {
        assert!(self.position(description).is_none(), "an attribute is given once");
        let at = self.values.len() as u32;
        self.attributes.push((description, at..at));
    }

    /// Appends a value to the attribute that was begun last.
    pub fn push_value(&mut self, value: &[u8]) {
        self.append(value);
        let (_, range) = self.attributes.last_mut().expect("an attribute was begun");
        range.end = self.values.len() as u32;
    }

    /// Sets the values of an attribute, adding it if it is new; no values take it away.
    pub fn replace<'v>(&mut self, description: Description, values: impl IntoIterator<Item = &'v [u8]>) {
        let start = self.values.len();
        values.into_iter().for_each(|value| self.append(value));
        self.set_values(description, self.position(description), start);
    }

    /// Appends values to an attribute, adding it if it is new. Duplicates are the caller's to refuse.
    pub fn extend<'v>(&mut self, description: Description, values: impl IntoIterator<Item = &'v [u8]>) {
        let (start, found) = (self.values.len(), self.position(description));
        if let Some(at) = found {
            self.values.extend_from_within(self.range(at));
        }
        values.into_iter().for_each(|value| self.append(value));
        self.set_values(description, found, start);
    }

    /// Keeps the values of one attribute for which `keep` says yes; an attribute without values is taken away.
    pub fn retain(&mut self, description: Description, mut keep: impl FnMut(&[u8]) -> bool) {
        let Some(at) = self.position(description) else { return };
        let start = self.values.len();
        for index in self.range(at) {
            let span = self.values[index].clone();
            if keep(&self.bytes[span.start as usize..span.end as usize]) {
                self.values.push(span);
            }
        }
        self.set_values(description, Some(at), start);
    }

    /// Moves a value to the front of its attribute.
    pub fn move_to_front(&mut self, attribute: usize, value: usize) {
        let range = self.range(attribute);
        self.values[range][..=value].rotate_right(1);
    }

    /// Takes the proof of a check. Only the owner of a `State` can call this with it.
    pub fn into_state<State>(self, state: State) -> Entry<State> {
        Entry { bytes: self.bytes, values: self.values, attributes: self.attributes, state }
    }

    /// Makes the values from `start` on those of an attribute, which is at `found` if it is there; no values take it away.
    fn set_values(&mut self, description: Description, found: Option<usize>, start: usize) {
        let range = start as u32..self.values.len() as u32;
        match found {
            Some(at) if range.is_empty() => drop(self.attributes.remove(at)),
            Some(at) => self.attributes[at].1 = range,
            None if range.is_empty() => {}
            None => self.attributes.push((description, range)),
        }
    }

    fn append(&mut self, value: &[u8]) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(value);
        assert!(u32::try_from(self.bytes.len()).is_ok(), "an entry in flight has less than 4 GiB of values");
        self.values.push(start..self.bytes.len() as u32);
    }
}

impl<State> Entry<State> {
    /// Empties the entry, keeps its memory, forgets any proof.
    pub fn into_cleared(mut self) -> Entry<Raw> {
        self.bytes.clear();
        self.values.clear();
        self.attributes.clear();
        self.into_raw()
    }

    /// The same content, unchecked, so that it can be changed.
    pub fn into_raw(self) -> Entry<Raw> {
        Entry { bytes: self.bytes, values: self.values, attributes: self.attributes, state: Raw(()) }
    }

    /// The proof it carries.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Number of attributes.
    pub fn len(&self) -> usize {
        self.attributes.len()
    }

    /// Has it no attributes?
    pub fn is_empty(&self) -> bool {
        self.attributes.is_empty()
    }

    /// Where this very description (same type, same options) is, if it is there.
    pub fn position(&self, description: Description) -> Option<usize> {
        self.attributes.iter().position(|(d, _)| *d == description)
    }

    /// Description of the attribute at a position.
    pub fn description(&self, at: usize) -> Description {
        self.attributes[at].0
    }

    /// Number of values of the attribute at a position.
    pub fn value_count(&self, at: usize) -> usize {
        self.attributes[at].1.len()
    }

    /// Values of the attribute at a position.
    pub fn values(&self, at: usize) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        let spans = self.values[self.range(at)].iter();
        spans.map(|span| &self.bytes[span.start as usize..span.end as usize])
    }

    /// Where the values of the attribute at a position are among all values.
    fn range(&self, at: usize) -> Range<usize> {
        let range = &self.attributes[at].1;
        range.start as usize..range.end as usize
    }

    /// Values of a description; none if it is absent.
    pub fn values_of(&self, description: Description) -> impl Iterator<Item = &[u8]> + Clone {
        self.position(description).into_iter().flat_map(|at| self.values(at))
    }

    /// Descriptions in order.
    pub fn descriptions(&self) -> impl ExactSizeIterator<Item = Description> + '_ {
        self.attributes.iter().map(|(d, _)| *d)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::TypeId;

    const CN: Description = Description::plain(TypeId(1));
    const SN: Description = Description::plain(TypeId(2));

    fn values(entry: &Entry, d: Description) -> Vec<String> {
        entry.values_of(d).map(|v| String::from_utf8_lossy(v).into_owned()).collect()
    }

    #[test]
    fn values_stay_with_their_attribute() {
        let mut e = Entry::new();
        e.push_attribute(CN);
        e.push_value(b"a");
        e.push_value(b"b");
        e.replace(SN, [&b"x"[..]]);
        e.extend(CN, [&b"c"[..]]);
        assert_eq!(values(&e, CN), ["a", "b", "c"]);
        e.move_to_front(0, 2);
        assert_eq!(values(&e, CN), ["c", "a", "b"]);
        e.retain(CN, |v| v != b"a");
        assert_eq!(values(&e, CN), ["c", "b"]);
        e.retain(SN, |_| false);
        assert_eq!(e.len(), 1);
        e.replace(CN, []);
        assert!(e.is_empty());
    }
}
