//! Attributes that an encoded add or modify names, found without decoding it: a question that is asked of every update.

use crate::ber::{self, Reader};
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

    /// The next one of an add, with every length in its short form: most of most clients.
    #[inline(always)]
    fn next_short(&mut self) -> Option<Given<'a>> {
        let &[tag::SEQUENCE, len @ ..=0x7f, tag::OCTET_STRING, description_len @ ..=0x7f, ref behind @ ..] =
            self.rest
        else {
            return None;
        };
        let (description, behind) = behind.split_at_checked(usize::from(description_len))?;
        let &[tag::SET, values_len @ ..=0x7f, ref behind @ ..] = behind else { return None };
        let (values, behind) = behind.split_at_checked(usize::from(values_len))?;
        if usize::from(len) != 4 + description.len() + values.len() {
            return None;
        }
        self.rest = behind;
        Some(Given { kind: ModifyKind::Add, description, values })
    }

    #[inline(never)]
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
        if !self.is_modify
            && let Some(given) = self.next_short()
        {
            return Some(Some(given));
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
    fn what_is_not_understood_says_so() {
        assert!(AllGiven::of(tag::ADD, b"nonsense").is_none() && AllGiven::of(tag::ADD, b"").is_none());
        assert_eq!(found(tag::ADD, &[0x30, 3, 0x30, 1, 4]), [None]);
        assert_eq!(found(tag::MODIFY, &[0x30, 5, 0x30, 3, 0x0a, 1, 9]), [None]);
    }
}
