//! Section 4.3: unbind.

use crate::common::*;
use dsa::State;
use proto::{Request, tag};

/// The session ends, there is no response, and what follows is not looked at.
#[test]
fn s4_3_unbind_ends_the_session() {
    let mut client = Client::new();
    let (_, mut bytes) = client.encode(&Request::Unbind, &[]);
    bytes.extend(client.encode(&Request::Delete(b"ou=groups,dc=example"), &[]).1);
    assert_eq!(client.exchange(&bytes), (vec![], State::Close));
    let mut other = Client::of(&client.dsa);
    other.bind_root();
    assert_eq!(other.read("ou=groups,dc=example", &["1.1"]).entries.len(), 1);
}

/// An unbind is one even if its controls cannot be taken.
#[test]
fn s4_3_unbind_with_too_many_controls() {
    let mut client = Client::new();
    let control = tlv(tag::SEQUENCE, &tlv(tag::OCTET_STRING, b"1.2.3"));
    let controls = tlv(0xa0, &control.repeat(100));
    let (all, state) = client.raw(&message(5, &[&[tag::UNBIND, 0], &controls]));
    assert_eq!((all, state), (vec![], State::Close));
}
