//! Virtual list view (ietf-ldapext-ldapv3-vlv-09): a search returns a part of its sorted list.

use super::Control;
use crate::ber::{self, Reader};
use crate::error::Error;
use crate::tag;

/// OID of the request control.
pub const OID: &[u8] = b"2.16.840.1.113730.3.4.9";
/// OID of the response control.
pub const RESPONSE_OID: &[u8] = b"2.16.840.1.113730.3.4.10";

const BY_OFFSET: u8 = tag::context_constructed(0);
const AT_LEAST: u8 = tag::context(1);

/// Which entry of the list a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// The one at an offset in a list that the client takes for so long. Both are whatever number was sent that is not negative:
    /// an offset out of range has a code of its own.
    ByOffset {
        /// 1 is the first.
        offset: i32,
        /// 0: the client does not know.
        content_count: i32,
    },
    /// The first with a value of the first sort key that is at least this.
    AtLeast(&'a [u8]),
}

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualListView<'a> {
    /// Entries before the target.
    pub before_count: i32,
    /// Entries after the target.
    pub after_count: i32,
    /// The entry around which the part lies.
    pub target: Target<'a>,
    /// What an earlier response had.
    pub context_id: Option<&'a [u8]>,
}

impl<'a> VirtualListView<'a> {
    /// Decodes the value of a request.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(value: &'a [u8]) -> Result<VirtualListView<'a>, Error> {
        let mut body = Reader::inside(value, tag::SEQUENCE, "expected a virtual list view")?;
        let before_count = body.number(tag::INTEGER, i32::MAX, "expected a number of entries before")?;
        let after_count = body.number(tag::INTEGER, i32::MAX, "expected a number of entries after")?;
        let target = match body.peek() {
            Some(BY_OFFSET) => {
                let mut by_offset = body.enter(BY_OFFSET, "expected an offset")?;
                let offset = by_offset.number(tag::INTEGER, i32::MAX, "expected an offset")?;
                let content_count = by_offset.number(tag::INTEGER, i32::MAX, "expected a content count")?;
                by_offset.finish(&[])?;
                Target::ByOffset { offset, content_count }
            }
            _ => Target::AtLeast(body.expect(AT_LEAST, "expected an offset or a value")?),
        };
        let context_id = body.optional(tag::OCTET_STRING)?;
        body.finish(&[0, 1])?;
        Ok(VirtualListView { before_count, after_count, target, context_id })
    }

    /// The value of a request.
    pub fn encode(&self) -> Vec<u8> {
        ber::sequence(|out| {
            ber::put_integer(out, self.before_count.into());
            ber::put_integer(out, self.after_count.into());
            match self.target {
                Target::ByOffset { offset, content_count } => {
                    let mark = ber::begin(out, BY_OFFSET);
                    ber::put_integer(out, offset.into());
                    ber::put_integer(out, content_count.into());
                    ber::end(out, mark);
                }
                Target::AtLeast(value) => ber::put_tlv(out, AT_LEAST, value),
            }
            if let Some(context_id) = self.context_id {
                ber::put_octets(out, context_id);
            }
        })
    }
}

/// The control, as a client sends it: `value` is what [`VirtualListView::encode`] makes.
pub fn control(value: &[u8], critical: bool) -> Control<'_> {
    Control { oid: OID, critical, value: Some(value) }
}

/// What the specification calls virtualListViewResult, as far as this server says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewResult {
    /// The entries are those that were asked for.
    Success = 0,
    /// The context is none of this server.
    ProtocolError = 3,
    /// The list has more entries than can be sorted.
    AdminLimitExceeded = 11,
    /// The value, or a key of the list, has no order.
    InappropriateMatching = 18,
    /// The list cannot be made.
    UnwillingToPerform = 53,
    /// There is no sort control.
    SortControlMissing = 60,
    /// The offset is none of the list.
    OffsetRangeError = 61,
}

/// What a response says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewResponse {
    /// Where the target is in the list; 1 is the first.
    pub target_position: u32,
    /// Entries of the list.
    pub content_count: u32,
    /// A number of [`ViewResult`].
    pub result: u32,
}

impl ViewResponse {
    /// The value. A number that LDAP has no room for is sent as the largest.
    pub fn encode(&self) -> Vec<u8> {
        let number = |n: u32| i64::from(n.min(i32::MAX as u32));
        ber::sequence(|out| {
            ber::put_integer(out, number(self.target_position));
            ber::put_integer(out, number(self.content_count));
            ber::put_enumerated(out, self.result);
        })
    }

    /// Decodes the value of a response.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(value: &[u8]) -> Result<ViewResponse, Error> {
        let mut body = Reader::inside(value, tag::SEQUENCE, "expected a virtual list view")?;
        let mut number =
            |tag| body.number(tag, i32::MAX, "expected a position, a count and a code").map(|n| n as u32);
        let (target_position, content_count) = (number(tag::INTEGER)?, number(tag::INTEGER)?);
        let result = number(tag::ENUMERATED)?;
        body.optional(tag::OCTET_STRING)?;
        body.finish(&[])?;
        Ok(ViewResponse { target_position, content_count, result })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_back() {
        let by_offset = VirtualListView {
            before_count: 0,
            after_count: i32::MAX,
            target: Target::ByOffset { offset: 1, content_count: 0 },
            context_id: None,
        };
        let by_value = VirtualListView { target: Target::AtLeast(b"B"), context_id: Some(b"x"), ..by_offset };
        for view in [by_offset, by_value] {
            assert_eq!(VirtualListView::decode(&view.encode()), Ok(view));
        }
        let start = b"\x30\x0e\x02\x01\x00\x02\x01\x13\xa0\x06\x02\x01\x01\x02\x01\x00";
        assert_eq!(VirtualListView { after_count: 19, ..by_offset }.encode(), start);
        for wrong in [
            &b""[..],
            b"\x30\x00",
            // A negative count.
            b"\x30\x0e\x02\x01\xff\x02\x01\x13\xa0\x06\x02\x01\x01\x02\x01\x00",
            // A negative offset.
            b"\x30\x0e\x02\x01\x00\x02\x01\x13\xa0\x06\x02\x01\xff\x02\x01\x00",
            // More than maxInt.
            b"\x30\x12\x02\x05\x00\x80\x00\x00\x00\x02\x01\x13\xa0\x06\x02\x01\x01\x02\x01\x00",
            // No target, and two.
            b"\x30\x06\x02\x01\x00\x02\x01\x13",
            b"\x30\x0c\x02\x01\x00\x02\x01\x13\x81\x01B\x81\x01C",
            // The target is not constructed.
            b"\x30\x0e\x02\x01\x00\x02\x01\x13\x80\x06\x02\x01\x01\x02\x01\x00",
        ] {
            assert!(VirtualListView::decode(wrong).is_err(), "{wrong:x?}");
        }
    }

    #[test]
    fn responses_come_back() {
        let response = ViewResponse { target_position: 3, content_count: 100, result: 0 };
        assert_eq!(response.encode(), b"\x30\x09\x02\x01\x03\x02\x01\x64\x0a\x01\x00");
        assert_eq!(ViewResponse::decode(&response.encode()), Ok(response));
        let large = ViewResponse { content_count: u32::MAX, ..response };
        let kept = ViewResponse::decode(&large.encode()).expect("it is cut");
        assert_eq!(kept.content_count, i32::MAX as u32);
    }
}
