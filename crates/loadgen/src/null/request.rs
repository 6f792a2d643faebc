//! Requests, as far as the null responder looks at them.

use super::Canned;
use super::table::VALUE_MAX;
use crate::wire::{Span, digits, element, tagged};
use proto::tag;

/// equalityMatch of a filter (RFC 4511 section 4.5.1.7).
const EQUALITY: u8 = tag::context_constructed(3);

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Bind,
    /// With all attributes or none.
    Search {
        all: bool,
    },
    /// The new value.
    Modify {
        value: Span,
    },
    Unbind,
    Abandon,
}

/// A request, by offsets into the read buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) asked: Operation,
    /// The INTEGER element of the message id, tag included.
    pub(super) id: Span,
    /// The digits of the RDN's value.
    pub(super) digits: Span,
    /// Their number; `u64::MAX` when the DN is none of the table's.
    pub(super) key: u64,
}

/// Understands the message whose SEQUENCE has this content; `None` if that is not one of the few known.
#[inline(always)]
pub(super) fn parse(buffer: &[u8], message: Span, canned: &Canned) -> Option<Request> {
    let id = tagged(buffer, message.start, message.end, tag::INTEGER)?;
    let id = Span { start: message.start, end: id.end };
    if id.len() > 6 {
        return None;
    }
    let operation = element(buffer, id.end, message.end)?;
    let none = Span { start: id.start, end: id.start };
    let plain = |asked| Some(Request { asked, id, digits: none, key: u64::MAX });
    match buffer[id.end] {
        tag::SEARCH => search(buffer, operation, id, canned),
        tag::MODIFY => modify(buffer, operation, id, canned),
        tag::BIND => plain(Operation::Bind),
        tag::UNBIND => plain(Operation::Unbind),
        0x50 => plain(Operation::Abandon),
        _ => None,
    }
}

/// Finds the key in a DN.
#[inline(always)]
fn key(buffer: &[u8], dn: Span, canned: &Canned) -> (u64, Span) {
    let (before, after) = (canned.before.as_bytes(), canned.after.as_bytes());
    let text = dn.of(buffer);
    let middle = Span { start: dn.start + before.len(), end: (dn.end).saturating_sub(after.len()) };
    if middle.start >= middle.end || !text.starts_with(before) || !text.ends_with(after) || middle.len() > 19
    {
        return (u64::MAX, Span { start: dn.start, end: dn.start });
    }
    (digits(middle.of(buffer)).unwrap_or(u64::MAX), middle)
}

#[inline(always)]
fn search(buffer: &[u8], operation: Span, id: Span, canned: &Canned) -> Option<Request> {
    let base = tagged(buffer, operation.start, operation.end, tag::OCTET_STRING)?;
    let scope = element(buffer, base.end, operation.end)?;
    let deref = element(buffer, scope.end, operation.end)?;
    let size = element(buffer, deref.end, operation.end)?;
    let time = element(buffer, size.end, operation.end)?;
    let types_only = element(buffer, time.end, operation.end)?;
    let filter = element(buffer, types_only.end, operation.end)?;
    let selection = element(buffer, filter.end, operation.end)?;
    // `1.1` is the only selection it knows beside everything.
    let all = selection.of(buffer) != b"\x04\x031.1";
    let asked = Operation::Search { all };
    if buffer[scope.start] == 0 {
        let (key, digits) = key(buffer, base, canned);
        return Some(Request { asked, id, digits, key });
    }
    if buffer[types_only.end] != EQUALITY || base.of(buffer) != canned.suffix.as_bytes() {
        return None;
    }
    let name = element(buffer, filter.start, filter.end)?;
    let value = element(buffer, name.end, filter.end)?;
    if canned.rdn.as_bytes().get(2..) != Some(name.of(buffer)) || value.len() > 19 {
        return None;
    }
    Some(Request { asked, id, digits: value, key: digits(value.of(buffer)).unwrap_or(u64::MAX) })
}

#[inline(always)]
fn modify(buffer: &[u8], operation: Span, id: Span, canned: &Canned) -> Option<Request> {
    let dn = tagged(buffer, operation.start, operation.end, tag::OCTET_STRING)?;
    let changes = element(buffer, dn.end, operation.end)?;
    let change = element(buffer, changes.start, changes.end)?;
    let kind = element(buffer, change.start, change.end)?;
    let attribute = element(buffer, kind.end, change.end)?;
    let name = element(buffer, attribute.start, attribute.end)?;
    let set = element(buffer, name.end, attribute.end)?;
    let value = element(buffer, set.start, set.end)?;
    let known = canned.attribute.as_bytes().get(2..) == Some(name.of(buffer));
    if buffer[kind.start] != 2 || !known || value.len() > VALUE_MAX {
        return None;
    }
    let (key, digits) = key(buffer, dn, canned);
    Some(Request { asked: Operation::Modify { value }, id, digits, key })
}
