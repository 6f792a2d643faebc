//! One generated entry on its way to the output: a reused arena, no allocation per entry in steady state.

/// Number of an attribute description in the template's table of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub u16);

/// One value of the entry under construction.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Whose value it is.
    pub name: NameId,
    start: u32,
    end: u32,
}

/// An entry under construction: its DN and its values in template order. Values of one attribute need not stand
/// together in the template; the encoders group them.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// The DN, complete once the entry is.
    pub dn: Vec<u8>,
    bytes: Vec<u8>,
    values: Vec<Value>,
}

impl Entry {
    /// Forgets the last entry, keeps the memory.
    pub fn clear(&mut self) {
        self.dn.clear();
        self.bytes.clear();
        self.values.clear();
    }

    /// Appends a value of `name`, written by `write`, which also sees the entry so far: the bytes of all earlier
    /// values and the buffer's end. An empty value is dropped, as an empty value is not a value of any syntax used.
    pub fn push(&mut self, name: NameId, write: impl FnOnce(&mut Partial<'_>)) {
        let start = self.bytes.len();
        write(&mut Partial { dn: &self.dn, values: &self.values, out: &mut self.bytes });
        assert!(u32::try_from(self.bytes.len()).is_ok(), "an entry that is generated has less than 4 GiB");
        if self.bytes.len() > start {
            self.values.push(Value { name, start: start as u32, end: self.bytes.len() as u32 });
        }
    }

    /// All values in the order they were pushed.
    pub fn values(&self) -> impl Iterator<Item = (NameId, &[u8])> {
        self.values.iter().map(|value| (value.name, self.bytes_of(*value)))
    }

    /// The bytes of the first value of `name`.
    pub fn first(&self, name: NameId) -> Option<&[u8]> {
        self.values.iter().find(|value| value.name == name).map(|value| self.bytes_of(*value))
    }

    fn bytes_of(&self, value: Value) -> &[u8] {
        &self.bytes[value.start as usize..value.end as usize]
    }
}

/// The view that a value's writer has of its entry.
pub struct Partial<'a> {
    /// The entry's DN; empty until the RDN's values are known.
    pub dn: &'a [u8],
    values: &'a [Value],
    /// Where the value is written, after the bytes of all earlier ones.
    pub out: &'a mut Vec<u8>,
}

impl Partial<'_> {
    /// Appends the first value of `name`, or its first `max` characters (UTF-8). Without a value, nothing.
    pub fn copy(&mut self, name: NameId, max: Option<usize>) {
        let Some(value) = self.values.iter().find(|value| value.name == name) else { return };
        let range = value.start as usize..value.end as usize;
        let end = match max {
            None => range.end,
            Some(max) => range.start + prefix_of_characters(&self.out[range.clone()], max),
        };
        self.out.extend_from_within(range.start..end);
    }

    /// Whether `name` has a value, or the value `equal_to`.
    pub fn has(&self, name: NameId, equal_to: Option<&[u8]>) -> bool {
        self.values.iter().filter(|value| value.name == name).any(|value| match equal_to {
            None => true,
            Some(bytes) => &self.out[value.start as usize..value.end as usize] == bytes,
        })
    }
}

/// Length in bytes of the first `max` characters.
fn prefix_of_characters(text: &[u8], max: usize) -> usize {
    let starts = text.iter().enumerate().filter(|&(_, &byte)| byte & 0xc0 != 0x80);
    starts.map(|(at, _)| at).nth(max).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_and_copied() {
        let (a, b) = (NameId(0), NameId(1));
        let mut entry = Entry::default();
        entry.push(a, |value| value.out.extend_from_slice("Grün".as_bytes()));
        entry.push(b, |value| {
            value.copy(a, Some(3));
            value.copy(a, None);
            assert!(value.has(a, Some("Grün".as_bytes())) && !value.has(b, None));
        });
        entry.push(b, |_| ());
        let values: Vec<_> = entry.values().collect();
        assert_eq!(values, [(a, "Grün".as_bytes()), (b, "GrüGrün".as_bytes())]);
        assert_eq!(entry.first(b), Some("GrüGrün".as_bytes()));
    }
}
