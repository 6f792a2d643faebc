//! Attributes that an encoded add or modify names, found without decoding it: a question that is asked of every update.

use crate::ber::{self, Reader};
use crate::list::short_attribute;
use crate::op::modify::ModifyKind;
use crate::tag;

/// What an update gives of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given<'a> {
    /// What is done with the values; of an add they are added.
    pub kind: ModifyKind,
    /// As it was sent.
    pub description: &'a [u8],
    values: &'a [u8],
}

impl<'a> Given<'a> {
    /// The values, as far as they are well formed.
    pub fn values(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.values;
        std::iter::from_fn(move || ber::next_valid(&mut rest).map(|(_, value)| value))
    }
}

/// Attributes of an update, in order. `None` inside is something that only the decoder understands, or nobody.
#[derive(Clone)]
pub struct AllGiven<'a> {
    rest: &'a [u8],
    is_modify: bool,
}

impl<'a> AllGiven<'a> {
    /// `rest` is what follows the DN of an add or a modify. `None` if that is not a list and nothing else.
    #[inline]
    pub fn of(op_tag: u8, rest: &'a [u8]) -> Option<AllGiven<'a>> {
        let mut body = Reader::new(rest);
        let rest = body.enter(tag::SEQUENCE, "").ok()?.rest();
        body.is_empty().then_some(AllGiven { rest, is_modify: op_tag == tag::MODIFY })
    }

    /// Is it true of any of them? What is not understood counts as one of which it is true.
    ///
    /// Attributes of an add with every length in its short form, which are most, are found without the decoder, and without being given to anybody
    /// in between: this is asked of every add.
    #[inline]
    pub fn any_is(mut self, is: impl Fn(&Given<'a>) -> bool) -> bool {
        while !self.rest.is_empty() {
            let mut rest = self.rest;
            while !self.is_modify
                && let Some((description, values, behind)) = short_attribute(rest)
            {
                if is(&Given { kind: ModifyKind::Add, description, values }) {
                    return true;
                }
                rest = behind;
            }
            self.rest = rest;
            if self.next().is_some_and(|given| given.is_none_or(|given| is(&given))) {
                return true;
            }
        }
        false
    }

    fn decode(&mut self) -> Option<Given<'a>> {
        let mut list = Reader::new(self.rest);
        let mut attribute = list.enter(tag::SEQUENCE, "").ok()?;
        let mut kind = ModifyKind::Add;
        if self.is_modify {
            let [number] = attribute.expect(tag::ENUMERATED, "").ok()? else { return None };
            kind = ModifyKind::from_number(i32::from(*number))?;
            attribute = attribute.enter(tag::SEQUENCE, "").ok()?;
        }
        let description = attribute.octets("").ok()?;
        let values = attribute.enter(tag::SET, "").ok()?.rest();
        self.rest = list.rest();
        Some(Given { kind, description, values })
    }
}

impl<'a> Iterator for AllGiven<'a> {
    type Item = Option<Given<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Option<Given<'a>>> {
        if self.rest.is_empty() {
            return None;
        }
        let given = self.decode();
        // What is not understood has no end.
        if given.is_none() {
            self.rest = &[];
        }
        Some(given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::attribute_list;
    use crate::op::modify::change_list;

    fn found(op_tag: u8, list: &[u8]) -> Vec<Option<(ModifyKind, &[u8], usize)>> {
        let all = AllGiven::of(op_tag, list).expect("it is a list");
        all.map(|given| given.map(|given| (given.kind, given.description, given.values().count()))).collect()
    }

    #[test]
    fn adds_and_modifies_name_their_attributes() {
        let mut add = Vec::new();
        let attributes = [(&b"cn"[..], vec![&b"x"[..], b"y"]), (b"sn;x-a", vec![&[b'x'; 300][..]])];
        ber::put_tlv(&mut add, tag::SEQUENCE, &attribute_list(attributes));
        let expected = [Some((ModifyKind::Add, &b"cn"[..], 2)), Some((ModifyKind::Add, &b"sn;x-a"[..], 1))];
        assert_eq!(found(tag::ADD, &add), expected);
        let mut modify = Vec::new();
        let changes =
            [(ModifyKind::Replace, &b"cn"[..], vec![]), (ModifyKind::Delete, b"sn", vec![&b"x"[..]])];
        ber::put_tlv(&mut modify, tag::SEQUENCE, &change_list(changes));
        let expected =
            [Some((ModifyKind::Replace, &b"cn"[..], 0)), Some((ModifyKind::Delete, &b"sn"[..], 1))];
        assert_eq!(found(tag::MODIFY, &modify), expected);
    }

    #[test]
    fn one_of_them_is_found_in_every_form() {
        // Values of every length around which a form ends, and one behind the other.
        let lengths = [0, 1, 115, 116, 117, 118, 119, 120, 127, 128, 300, 5];
        let values = lengths.map(|length| vec![b'v'; length]);
        for (op_tag, begin) in [(tag::ADD, 0), (tag::MODIFY, 0), (tag::ADD, 6), (tag::ADD, 11)] {
            let names: Vec<_> = (begin..values.len()).map(|at| format!("name{at:02}")).collect();
            let listed = names.iter().zip(&values[begin..]);
            let list = match op_tag {
                tag::ADD => attribute_list(listed.map(|(name, value)| (name.as_bytes(), vec![&value[..]]))),
                _ => change_list(
                    listed.map(|(name, value)| (ModifyKind::Add, name.as_bytes(), vec![&value[..]])),
                ),
            };
            let mut whole = Vec::new();
            ber::put_tlv(&mut whole, tag::SEQUENCE, &list);
            let all = || AllGiven::of(op_tag, &whole).expect("it is a list");
            for (name, value) in names.iter().zip(&values[begin..]) {
                let is = |given: &Given<'_>| {
                    given.description == name.as_bytes() && given.values().all(|own| own == value)
                };
                assert!(all().any_is(is), "{name}");
            }
            assert!(!all().any_is(|given| given.description == b"name99"));
            // Whatever is changed of it: it is what the decoder says.
            for at in 0..list.len() {
                for octet in [0, 4, 0x30, 0x31, 0x7f, 0x80, 0x81, list[at].wrapping_add(1)] {
                    let mut other = list.clone();
                    other[at] = octet;
                    let all = || AllGiven { rest: &other, is_modify: op_tag == tag::MODIFY };
                    for name in [&b"name07"[..], b"name11", b"none"] {
                        let one_by_one =
                            all().any(|given| given.is_none_or(|given| given.description == name));
                        assert_eq!(
                            all().any_is(|given| given.description == name),
                            one_by_one,
                            "{at} {octet}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_not_understood_says_so() {
        assert!(AllGiven::of(tag::ADD, b"nonsense").is_none() && AllGiven::of(tag::ADD, b"").is_none());
        assert_eq!(found(tag::ADD, &[0x30, 3, 0x30, 1, 4]), [None]);
        assert_eq!(found(tag::MODIFY, &[0x30, 5, 0x30, 3, 0x0a, 1, 9]), [None]);
    }
}
