//! Section 4.11: abandon.

use crate::common::*;
use dsa::State;
use model::ResultCode::*;
use model::Scope;
use proto::{Control, Request};

/// Begins a search for more than fits in one slice; its id.
fn begin(client: &mut Client, out: &mut Vec<u8>) -> i32 {
    let filter = proto::filter_string::parse(b"(objectClass=*)").expect("a filter");
    let search = Request::Search(search_for("dc=example", Scope::Subtree, filter.filter(), &[]));
    let (id, bytes) = client.encode(&search, &[]);
    assert_eq!(client.session.feed(&mut client.worker, &bytes, out).state, State::Busy);
    id
}

/// No entries follow, no SearchResultDone; and what was sent are whole messages.
#[test]
fn s4_11_transmission_ends_at_once() {
    let mut client = Client::new();
    add_people(&mut client, 3000);
    let mut out = Vec::new();
    let id = begin(&mut client, &mut out);
    client.session.step(&mut client.worker, &mut out);
    assert!(answers(&out).iter().all(|answer| answer.id == id && matches!(answer.what, What::Entry(..))));
    let (_, abandon) = client.encode(&Request::Abandon(id), &[]);
    assert_eq!(client.exchange(&abandon), (vec![], State::Idle));
    assert_eq!(client.read(ADA, &["1.1"]).end.code, Success);
}

/// There is no response to abandon itself; unknown ids, operations that are done and those that cannot be
/// abandoned are discarded.
#[test]
fn s4_11_unknown_ids_are_discarded() {
    let mut client = Client::new();
    let done = client.id();
    for target in [done, 4711, i32::MAX, 0] {
        let (_, abandon) = client.encode(&Request::Abandon(target), &[]);
        assert_eq!(client.exchange(&abandon), (vec![], State::Idle), "{target}");
    }
    add_people(&mut client, 2000);
    let mut out = Vec::new();
    let id = begin(&mut client, &mut out);
    let (_, abandon) = client.encode(&Request::Abandon(id + 1), &[]);
    let (rest, state) = client.exchange(&abandon);
    out.extend(rest);
    assert_eq!((found(id, answers(&out)).end.code, state), (Success, State::Idle), "another one's id");
    let (_, twice) = client.encode(&Request::Abandon(id), &[]);
    assert_eq!(client.exchange(&[twice.clone(), twice].concat()), (vec![], State::Idle));
}

/// An abandon with a critical control that is not known is not performed, and says nothing.
#[test]
fn s4_11_abandon_with_a_critical_control() {
    let mut client = Client::new();
    add_people(&mut client, 2000);
    let mut out = Vec::new();
    let id = begin(&mut client, &mut out);
    let control = Control { oid: b"1.2.3", critical: true, value: None };
    let (_, abandon) = client.encode(&Request::Abandon(id), &[control]);
    out.extend(client.exchange(&abandon).0);
    assert_eq!(found(id, answers(&out)).entries.len(), 2005);
}
