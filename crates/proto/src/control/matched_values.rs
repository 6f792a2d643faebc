//! Matched values (RFC 3876): which values of the entries that a search finds are returned. There is no response control.
//!
//! ```text
//! ValuesReturnFilter ::= SEQUENCE OF SimpleFilterItem
//! ```
//! A SimpleFilterItem is an item of a filter, without `and`, `or`, `not`, and without dnAttributes.

use super::Control;
use crate::ber::{self, Reader};
use crate::error::Error;
use crate::tag;
use crate::{filter, filter::NOT};
use model::Filter;
use model::limits::MATCHED_VALUES_ITEMS_MAX;

/// Its OID.
pub const OID: &[u8] = b"1.2.826.0.1.3344810.2.3";

/// Decodes the value. Parts of substrings count as items do.
///
/// # Errors
/// When it is none, or has more items than may be asked for.
pub fn decode(value: &[u8]) -> Result<Vec<Filter<'_>>, Error> {
    let mut list = Reader::inside(value, tag::SEQUENCE, "expected a list of filter items")?;
    let (mut items, mut count) = (Vec::new(), 0);
    while !list.is_empty() {
        let at = list.offset();
        // What is no choice of an item is refused: the list has no place for choices that come later.
        if !list.peek().is_some_and(|tag| (NOT + 1..=filter::EXTENSIBLE).contains(&(tag | 0x20))) {
            return Err(Error::structure(at, "expected a filter item"));
        }
        let item = filter::read(&mut list)?;
        count += match &item {
            Filter::Substrings(substrings) => 1 + substrings.any.len() as u32,
            _ => 1,
        };
        if count > MATCHED_VALUES_ITEMS_MAX {
            return Err(Error::limit(at, "too many filter items"));
        }
        if matches!(&item, Filter::Extensible(matching) if matching.dn_attributes) {
            return Err(Error::value(at, "values are not matched by attributes of a DN"));
        }
        items.push(item);
    }
    Ok(items)
}

/// The value that asks for these items.
pub fn encode(items: &[Filter<'_>]) -> Vec<u8> {
    ber::sequence(|out| items.iter().for_each(|item| filter::encode(item, out)))
}

/// The control, as a client sends it: `value` is what [`encode`] makes.
pub fn control(value: &[u8], critical: bool) -> Control<'_> {
    Control { oid: OID, critical, value: Some(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use crate::filter_string;
    use model::filter::Extensible;

    #[test]
    fn items_come_back() {
        let texts = [
            "(cn=a)",
            "(cn=a*b*c)",
            "(cn>=a)",
            "(cn<=a)",
            "(cn=*)",
            "(cn~=a)",
            "(cn:2.5.13.2:=a)",
            "(:2.5.13.2:=a)",
        ];
        let parsed: Vec<_> =
            texts.iter().map(|text| filter_string::parse(text.as_bytes()).unwrap()).collect();
        let items: Vec<Filter<'_>> = parsed.iter().map(|text| text.filter()).collect();
        assert_eq!(decode(&encode(&items)), Ok(items));
        assert_eq!(decode(&encode(&[])), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_item() {
        for text in ["(&(cn=a))", "(|(cn=a))", "(!(cn=a))", "(&)", "(cn:dn:=a)"] {
            let value = encode(&[filter_string::parse(text.as_bytes()).unwrap().filter()]);
            assert!(decode(&value).is_err_and(|error| error.kind != Kind::Limit), "{text}");
        }
        for value in [
            &[][..],
            &[0x30],
            &[0x31, 0],
            &[0x30, 0, 0],
            &[0x30, 2, 4, 0],
            &[0x30, 2, 0xac, 0],
            &[0x30, 3, 0x87, 2, b'c'],
        ] {
            assert!(decode(value).is_err(), "{value:x?}");
        }
        let no = Extensible { rule: Some(b"2.5.13.2"), attribute: None, value: b"a", dn_attributes: true };
        assert!(decode(&encode(&[Filter::Extensible(no)])).is_err());
    }

    #[test]
    fn items_are_bounded() {
        let items = |n| vec![Filter::Present(b"cn"); n];
        assert!(decode(&encode(&items(MATCHED_VALUES_ITEMS_MAX as usize))).is_ok());
        let more = encode(&items(MATCHED_VALUES_ITEMS_MAX as usize + 1));
        assert_eq!(decode(&more).unwrap_err().kind, Kind::Limit);
        let text = format!("(cn={}*)", "*a".repeat(MATCHED_VALUES_ITEMS_MAX as usize));
        let parts = filter_string::parse(text.as_bytes()).unwrap();
        assert_eq!(decode(&encode(&[parts.filter()])).unwrap_err().kind, Kind::Limit);
    }
}
