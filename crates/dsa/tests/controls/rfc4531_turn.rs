//! RFC 4531: turn, which is not offered.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 2.2 | answers success only if it is willing and able to turn: it is not, and says protocolError as to any operation that it does not know | `s2_2_it_does_not_turn` |
//! | 3 | leaves the associations of the session as they are when it does not turn | `s2_2_it_does_not_turn` |
//! | 6.2, RFC 4512 section 5.1.4 | does not publish what it does not offer | `s6_2_it_is_not_published` |
//!
//! The reason: what a server may ask of its client is a matter of an agreement between the two, and no client of this server has one. Nodes of
//! a cluster talk to each other by a protocol of their own.

use super::check_table;
use crate::common::*;
use dsa::State;
use model::ResultCode::*;
use proto::op::Extended;
use proto::{Request, tag};

const OID: &[u8] = b"1.3.6.1.1.19";

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc4531_turn.rs"));
}

/// "A resultCode of success is returned if and only if the responder is willing and able to turn the session as requested. Otherwise, a
/// different resultCode is returned."
#[test]
fn s2_2_it_does_not_turn() {
    for (who, password) in [("", ""), (ADA, "lace"), (ROOT_DN, PASSWORD)] {
        let mut client = Client::new();
        client.bind(who, password);
        // Of the request, the identifier, and mutual and the identifier.
        for value in [
            None,
            Some(tlv(tag::SEQUENCE, &tlv(4, b"XXYYZ"))),
            Some(tlv(tag::SEQUENCE, &[tlv(1, &[0xff]), tlv(4, b"XXYYZ")].concat())),
        ] {
            let (_, bytes) =
                client.encode(&Request::Extended(Extended { oid: OID, value: value.as_deref() }), &[]);
            let (all, state) = client.raw(&bytes);
            let [Answer { what: What::End(end), .. }] = &all[..] else { panic!("{all:?}") };
            assert_eq!((end.code, end.tag, &end.value), (ProtocolError, tag::EXTENDED_RESPONSE, &None));
            assert_eq!((&end.oid, state), (&None, State::Idle));
        }
        let who = if who.is_empty() { String::new() } else { format!("dn:{who}") };
        assert_eq!(client.who_am_i(), who);
    }
}

#[test]
fn s6_2_it_is_not_published() {
    assert!(!is_published("supportedExtension", OID));
}
