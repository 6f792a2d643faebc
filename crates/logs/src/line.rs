//! The line of one operation.

use crate::hide;
use crate::json::Object;
use crate::open::{Open, Pending};
use model::{ResultCode, Scope};
use proto::message::{Message, Request};
use proto::tag;
use schema::Schema;

/// Name of an operation in the log, by the tag of its request.
pub fn operation_of(op: u8) -> &'static str {
    match op {
        tag::BIND => "bind",
        tag::UNBIND => "unbind",
        tag::SEARCH => "search",
        tag::MODIFY => "modify",
        tag::ADD => "add",
        tag::DELETE => "delete",
        tag::MODIFY_DN => "rename",
        tag::COMPARE => "compare",
        tag::ABANDON => "abandon",
        tag::EXTENDED => "extended",
        _ => "malformed",
    }
}

/// What came of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome<'a> {
    pub(crate) code: u16,
    pub(crate) text: &'a [u8],
    pub(crate) entries: u32,
    pub(crate) bytes: u64,
    /// Nanoseconds from the read that brought the request to the answer.
    pub(crate) ns: u64,
}

/// The code of a name that is none. The text of such an answer may quote it.
const INVALID_DN_SYNTAX: u16 = ResultCode::InvalidDnSyntax as u16;

/// Appends who asks, and whence.
pub(crate) fn put_client(object: &mut Object<'_>, open: &Open) {
    object.text("peer", &open.peer).text_if("listener", &open.listener);
    if open.strength > 0 {
        object.number("ssf", u64::from(open.strength));
    }
    object.text_if("dn", &open.dn).text_if("mech", &open.mechanism);
}

/// Appends what a request asks for.
pub(crate) fn put_request(object: &mut Object<'_>, schema: &Schema, pending: &Pending) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !pending.acting.is_empty() {
        object.text("as", &hide::authorization_id(schema, &pending.acting));
    }
    let name = || hide::name(schema, &pending.target);
    match pending.op {
        tag::SEARCH => put_search(object, schema, pending),
        tag::BIND => {
            object.text("method", &text(&pending.detail));
            if !pending.target.is_empty() {
                object.text("target", &name());
            }
        }
        tag::MODIFY | tag::ADD => {
            let key = if pending.op == tag::ADD { "attrs" } else { "mods" };
            object
                .text("target", &name())
                .list(key, text(&pending.detail).split(' ').filter(|t| !t.is_empty()));
        }
        tag::MODIFY_DN => {
            let mut parts = pending.detail.splitn(2, |&octet| octet == 0);
            object
                .text("target", &name())
                .text("newrdn", &hide::name(schema, parts.next().unwrap_or_default()));
            if let Some(superior) = parts.next() {
                object.text("superior", &hide::name(schema, superior));
            }
        }
        tag::COMPARE => _ = object.text("target", &name()).list("attrs", [&*text(&pending.detail)]),
        tag::DELETE => _ = object.text("target", &name()),
        tag::EXTENDED => _ = object.text("oid", &text(&pending.detail)),
        tag::ABANDON => _ = object.text("abandons", &text(&pending.detail)),
        _ => {}
    }
    object.list("controls", text(&pending.controls).split(' ').filter(|oid| !oid.is_empty()));
}

fn put_search(object: &mut Object<'_>, schema: &Schema, pending: &Pending) {
    object.text("base", &hide::name(schema, &pending.target));
    // One that is too long to be kept, or malformed, has no more to log.
    let Ok(Message { request: Request::Search(search), .. }) = Message::decode(&pending.detail) else {
        return;
    };
    let scope = match search.scope {
        Scope::Base => "base",
        Scope::One => "one",
        Scope::Subtree => "sub",
        Scope::Subordinates => "children",
    };
    object.text("scope", scope).text("filter", &hide::filter(schema, &search.filter));
    let asked: Vec<_> = search.selection.iter().map(String::from_utf8_lossy).collect();
    object.list("attrs", asked.iter().map(|name| &**name));
}

/// Appends what came of it.
pub(crate) fn put_outcome(object: &mut Object<'_>, op: u8, outcome: &Outcome<'_>) {
    object.number("code", u64::from(outcome.code));
    if outcome.code != INVALID_DN_SYNTAX {
        object.text_if("text", &String::from_utf8_lossy(outcome.text));
    }
    if op == tag::SEARCH {
        object.number("entries", u64::from(outcome.entries));
    }
    object.number("bytes", outcome.bytes).number("us", outcome.ns / 1000);
}
