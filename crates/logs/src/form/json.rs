//! JSON: an object for each operation.

use crate::line::{Lines, Operation, Origin, Outcome, Place};
use crate::object::Object;
use crate::open::{Open, Pending, words};
use crate::tracking;
use model::Scope;
use proto::{filter_string, tag};

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

/// The form.
#[derive(Debug)]
pub(super) struct Json {
    /// What tells its process from others in the ids of operations.
    start: String,
    has_connections: bool,
}

impl Json {
    pub(super) fn new(origin: &Origin, has_connections: bool) -> Json {
        Json { start: format!("{:x}", origin.started_ms), has_connections }
    }

    fn connection<'o>(&self, wall_ms: u64, place: Place<'_>, what: &str, out: &'o mut Vec<u8>) -> Object<'o> {
        let mut object = Object::begin(out);
        object.time("t", wall_ms).id("id", &self.start, &[place.connection]).text("op", what);
        put_client(&mut object, place.open);
        object
    }
}

impl Lines for Json {
    fn header(&self, _: &mut Vec<u8>) {}

    fn begins_late(&self) -> bool {
        false
    }

    fn begin(&self, place: Place<'_>, out: &mut Vec<u8>) {
        if self.has_connections {
            self.connection(place.open.began_ms, place, "open", out).end();
        }
    }

    fn secured(&self, _: u64, _: Place<'_>, _: &mut Vec<u8>) {}

    fn operation(&self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        let Operation { place, pending, outcome, .. } = operation;
        let mut object = Object::begin(out);
        object.time("t", pending.wall_ms);
        object.id("id", &self.start, &[place.connection, pending.number]);
        if pending.id > 0 {
            object.number("msgid", pending.id.unsigned_abs().into());
        }
        object.text("op", operation_of(pending.op));
        put_client(&mut object, place.open);
        put_request(&mut object, pending);
        if let Some(outcome) = outcome {
            put_outcome(&mut object, pending.op, outcome);
        }
        object.end();
    }

    fn end(&self, wall_ms: u64, place: Place<'_>, out: &mut Vec<u8>) {
        if !self.has_connections && place.open.counted.is_empty() {
            return;
        }
        let mut object = self.connection(wall_ms, place, "close", out);
        object.number("operations", place.open.operations);
        for (op, count) in &place.open.counted {
            object.number(&format!("counted_{}", operation_of(*op)), *count);
        }
        object.end();
    }

    fn lost(&self, wall_ms: u64, count: u64, out: &mut Vec<u8>) {
        Object::begin(out).time("t", wall_ms).text("op", "lost").number("count", count).end();
    }
}

/// Appends who asks, and whence.
fn put_client(object: &mut Object<'_>, open: &Open) {
    object.text("peer", &open.peer).text_if("via", &open.via).text_if("listener", &open.listener);
    object.text_if("tls", &open.version).text_if("cipher", &open.suite);
    if open.strength > 0 {
        object.number("ssf", u64::from(open.strength));
    }
    object.text_if("dn", &open.dn).text_if("mech", &open.mechanism);
}

/// Appends what a request asks for.
fn put_request(object: &mut Object<'_>, pending: &Pending) {
    let Pending { target, detail, .. } = pending;
    object.text_if("as", &pending.acting);
    match pending.op {
        tag::SEARCH => put_search(object, pending),
        tag::BIND => _ = object.text("method", detail).text_if("target", target),
        tag::MODIFY | tag::ADD => {
            let key = if pending.op == tag::ADD { "attrs" } else { "mods" };
            object.text("target", target).list(key, pending.words());
        }
        tag::MODIFY_DN => {
            let (new_rdn, superior) = pending.new_name();
            object.text("target", target).text("newrdn", new_rdn);
            if let Some(superior) = superior {
                object.text("superior", superior);
            }
        }
        tag::COMPARE => _ = object.text("target", target).list("attrs", [detail]),
        tag::DELETE => _ = object.text("target", target),
        tag::EXTENDED => _ = object.text("oid", detail),
        tag::ABANDON => _ = object.text("abandons", detail),
        _ => {}
    }
    object.list("controls", words(&pending.controls)).text_if("txn", &pending.transaction);
    tracking::put(object, &pending.session);
    if pending.wait_us > 0 {
        object.number("wait_us", pending.wait_us.into());
    }
}

fn put_search(object: &mut Object<'_>, pending: &Pending) {
    object.text("base", &pending.target);
    // One that is too long to be kept, or malformed, has no more to log.
    let Some(search) = pending.search() else { return };
    let scope = match search.scope {
        Scope::Base => "base",
        Scope::One => "one",
        Scope::Subtree => "sub",
        Scope::Subordinates => "children",
    };
    let mut filter = Vec::new();
    filter_string::write(&search.filter, &mut filter);
    object.text("scope", scope).text("filter", &filter).list("attrs", search.selection.iter());
}

/// Appends what came of it.
fn put_outcome(object: &mut Object<'_>, op: u8, outcome: &Outcome<'_>) {
    object.number("code", u64::from(outcome.code));
    object.text_if("text", outcome.text);
    if op == tag::SEARCH {
        let looked = outcome.annotation.looked.unwrap_or(outcome.entries);
        object.number("entries", u64::from(outcome.entries)).number("looked", u64::from(looked));
        if outcome.annotation.is_unindexed {
            object.flag("unindexed");
        }
    }
    object.text_if("rule", outcome.annotation.rule);
    object.number("bytes", outcome.bytes).number("us", outcome.ns / 1000);
}
