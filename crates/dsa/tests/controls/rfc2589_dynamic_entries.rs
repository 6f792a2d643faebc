//! RFC 2589: dynamic entries.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 3.1 | makes a dynamic entry of an add with dynamicObject, with a time to live | `s3_1_an_add_makes_a_dynamic_entry` |
//! | 3.1 | decrements the time, and removes the entry when it is over, as a delete would | `s3_1_an_entry_whose_time_is_over_goes*` |
//! | 3.1 | treats it as any other in search, compare, modify, modifyDN and delete | `s3_1_it_is_an_entry_like_others` |
//! | 3.1 | refuses to make a static entry dynamic, and the reverse: objectClassViolation | `s3_1_static_entries_stay_static` |
//! | 3.1 | refuses a static entry below a dynamic one | `s3_1_no_static_entry_is_below_a_dynamic_one` |
//! | 4.1 | keeps the entry as long as it is refreshed in time | `s4_1_a_refresh_keeps_it` |
//! | 4.2 | answers with the name of the operation and the time that it has chosen, no smaller than asked for, but cut to a day | `s4_2_the_response_has_the_time` |
//! | 4.2 | answers an error with the time 0 and the code that the section has for it | `s4_2_errors` |
//! | 5 | shows entryTtl in dynamic entries alone, nonincreasing between refreshes; no user modifies it | `s5_entry_ttl*` |
//! | 6.2 | publishes the OID, the definitions and the subtrees | `s6_2_it_is_published` |
//! | 6.2 | takes the right to refresh from access rules on entryTtl | `dsa: x6_*` |
//!
//! Not here: what binds clients, and that the lifetime goes on over a restart (`tests/black_box/test_dynamic_entries.py`).

use super::{Changes, check_table, clients};
use crate::common::{ADA, Client, Given, START, is_published};
use env::clock::Now;
use model::ResultCode::{
    self, CompareTrue, ConstraintViolation, InsufficientAccessRights, InvalidDnSyntax, NoSuchObject,
    ObjectClassViolation, ProtocolError, SizeLimitExceeded, Success,
};
use model::Scope;
use proto::ext::refresh::{OID, Refresh, TTL_MAX, decode_response};
use proto::message::{Reply, Request, Response};
use proto::op::{Extended, ModifyKind};

const MEETING: &str = "cn=meeting,ou=groups,dc=example";
const DYNAMIC: Given<'static> = &[("objectClass", &["applicationProcess", "dynamicObject"])];
const STATIC: Given<'static> = &[("objectClass", &["applicationProcess"])];
const DAY: u64 = 86_400;

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc2589_dynamic_entries.rs"));
}

/// So many seconds after the start, when all entries were added.
fn at(client: &mut Client, seconds: u64) {
    client.at(Now {
        wall_ms: START.wall_ms + seconds * 1000,
        monotonic_ns: START.monotonic_ns + seconds * 1_000_000_000,
    });
    client.worker.delete_expired(client.now);
    if let Some(commit) = &client.commit {
        commit.borrow_mut()();
    }
}

fn with_meeting() -> [Client; 2] {
    clients().map(|mut client| {
        client.must_add(MEETING, DYNAMIC);
        client
    })
}

/// Code, the name of the response, and its time.
fn refresh(client: &mut Client, dn: &str, ttl: u32) -> (ResultCode, u32) {
    ask(client, Some(&Refresh { dn: dn.as_bytes(), ttl }.encode()))
}

fn ask(client: &mut Client, value: Option<&[u8]>) -> (ResultCode, u32) {
    let (_, bytes) = client.encode(&Request::Extended(Extended { oid: OID, value }), &[]);
    let (answer, _) = client.exchange(&bytes);
    let reply = Reply::decode(&answer).expect("one answer");
    let Response::Extended(response) = reply.response else { panic!("no extended response") };
    assert_eq!(response.oid, Some(OID));
    let ttl = decode_response(response.value.expect("it has a time")).expect("it is a time");
    (response.result.result_code().expect("a known code"), ttl)
}

fn ttl(client: &mut Client, dn: &str) -> Option<u64> {
    let values = client.read(dn, &["entryTtl"]).values("entryTtl")?;
    Some(values[0].parse().expect("a number"))
}

fn is_there(client: &mut Client, dn: &str) -> bool {
    client.read(dn, &["1.1"]).end.code == Success
}

#[test]
fn s3_1_an_add_makes_a_dynamic_entry() {
    for mut client in with_meeting() {
        assert_eq!(ttl(&mut client, MEETING), Some(DAY));
        // The times are settings.
        let shorter: Changes<'_> = &[(ModifyKind::Replace, "pandoDynamicDefaultTtl", &["100"])];
        assert_eq!(client.modify("cn=config", shorter).code, Success);
        assert_eq!(ttl(&mut client, MEETING), Some(100));
    }
}

#[test]
fn s3_1_an_entry_whose_time_is_over_goes() {
    for mut client in with_meeting() {
        let below = format!("cn=below,{MEETING}");
        client.must_add(&below, DYNAMIC);
        at(&mut client, DAY - 1);
        assert_eq!((ttl(&mut client, MEETING), ttl(&mut client, &below)), (Some(1), Some(1)));
        // Those below go first.
        at(&mut client, DAY);
        assert!(is_there(&mut client, MEETING) && !is_there(&mut client, &below));
        assert_eq!(ttl(&mut client, MEETING), Some(0));
        at(&mut client, DAY + 1);
        assert!(!is_there(&mut client, MEETING) && is_there(&mut client, ADA));
        client.must_add(MEETING, STATIC);
        at(&mut client, 1000 * DAY);
        assert!(is_there(&mut client, MEETING), "it is another one");
    }
}

/// A refresh and the delete that are on their way together: the first in the log counts.
#[test]
fn s3_1_an_entry_whose_time_is_over_goes_unless_it_was_refreshed() {
    let (mut client, _) = crate::common::journal::journaled();
    client.plant();
    client.must_add(MEETING, DYNAMIC);
    let over = Now { wall_ms: START.wall_ms + DAY * 1000, monotonic_ns: START.monotonic_ns + 1_000_000_000 };
    client.at(over);
    client.worker.delete_expired(client.now);
    assert_eq!(refresh(&mut client, MEETING, 100), (NoSuchObject, 0));
    client.must_add(MEETING, DYNAMIC);
    let mut other = Client::of(&client.dsa);
    other.commit = client.commit.clone();
    other.bind_root();
    let later = Now { monotonic_ns: over.monotonic_ns + 1_000_000_000, ..over };
    other.at(later);
    client.at(later);
    let value = Refresh { dn: MEETING.as_bytes(), ttl: 100 }.encode();
    let (_, bytes) = other.encode(&Request::Extended(Extended { oid: OID, value: Some(&value) }), &[]);
    let feed = other.session.feed(&mut other.worker, &bytes, &mut Vec::new());
    assert_eq!(feed.state, dsa::State::Waiting);
    client.worker.delete_expired(client.now);
    client.commit.as_ref().expect("it has a log").borrow_mut()();
    assert!(is_there(&mut client, MEETING));
}

#[test]
fn s3_1_it_is_an_entry_like_others() {
    for mut client in with_meeting() {
        let found = client.search("dc=example", Scope::Subtree, "(objectClass=dynamicObject)", &["1.1"]);
        assert_eq!(found.dns(), [MEETING]);
        assert_eq!(client.compare(MEETING, "cn", "meeting").code, CompareTrue);
        let changes: Changes<'_> = &[(ModifyKind::Add, "description", &["weekly"])];
        assert_eq!(client.modify(MEETING, changes).code, Success);
        assert_eq!(client.rename(MEETING, "cn=other", true, None).code, Success);
        let other = "cn=other,ou=groups,dc=example";
        assert_eq!(ttl(&mut client, other), Some(DAY));
        assert_eq!(client.delete(other).code, Success);
        at(&mut client, DAY + 1);
        assert!(!is_there(&mut client, other));
    }
}

#[test]
fn s3_1_static_entries_stay_static() {
    for mut client in with_meeting() {
        let become_one: Changes<'_> = &[(ModifyKind::Add, "objectClass", &["dynamicObject"])];
        assert_eq!(client.modify(ADA, become_one).code, ObjectClassViolation);
        let cease: Changes<'_> = &[(ModifyKind::Delete, "objectClass", &["dynamicObject"])];
        assert_eq!(client.modify(MEETING, cease).code, ObjectClassViolation);
        // Other classes come and go.
        let more: Changes<'_> =
            &[(ModifyKind::Add, "objectClass", &["uidObject"]), (ModifyKind::Add, "uid", &["m"])];
        assert_eq!(client.modify(MEETING, more).code, Success);
        assert_eq!(ttl(&mut client, ADA), None);
    }
}

#[test]
fn s3_1_no_static_entry_is_below_a_dynamic_one() {
    for mut client in with_meeting() {
        let below = format!("cn=x,{MEETING}");
        assert_eq!(client.add(&below, STATIC).code, ConstraintViolation);
        let beside = "cn=x,ou=groups,dc=example";
        client.must_add(beside, STATIC);
        assert_eq!(client.rename(beside, "cn=x", false, Some(MEETING)).code, ConstraintViolation);
        client.must_add("cn=y,ou=groups,dc=example", DYNAMIC);
        assert_eq!(client.rename("cn=y,ou=groups,dc=example", "cn=y", false, Some(MEETING)).code, Success);
        assert!(is_there(&mut client, &format!("cn=y,{MEETING}")) && !is_there(&mut client, &below));
    }
}

#[test]
fn s4_1_a_refresh_keeps_it() {
    for mut client in with_meeting() {
        at(&mut client, DAY - 1);
        assert_eq!(refresh(&mut client, MEETING, 100), (Success, 100));
        assert_eq!(ttl(&mut client, MEETING), Some(100));
        at(&mut client, DAY + 98);
        assert!(is_there(&mut client, MEETING));
        // Shorter than before, too.
        assert_eq!(refresh(&mut client, MEETING, 1), (Success, 1));
        at(&mut client, DAY + 100);
        assert!(!is_there(&mut client, MEETING));
    }
}

#[test]
fn s4_2_the_response_has_the_time() {
    for mut client in with_meeting() {
        assert_eq!(refresh(&mut client, MEETING, TTL_MAX), (Success, TTL_MAX));
        let bounds: Changes<'_> = &[
            (ModifyKind::Replace, "pandoDynamicMinTtl", &["60"]),
            (ModifyKind::Replace, "pandoDynamicMaxTtl", &["90000"]),
        ];
        assert_eq!(client.modify("cn=config", bounds).code, Success);
        assert_eq!(refresh(&mut client, MEETING, 1), (Success, 60));
        assert_eq!(refresh(&mut client, MEETING, 61), (Success, 61));
        assert_eq!(refresh(&mut client, MEETING, TTL_MAX), (Success, 90_000));
        let less: Changes<'_> = &[(ModifyKind::Replace, "pandoDynamicMaxTtl", &["86399"])];
        assert_eq!(client.modify("cn=config", less).code, ConstraintViolation);
    }
}

#[test]
fn s4_2_errors() {
    for mut client in with_meeting() {
        assert_eq!(refresh(&mut client, "cn=nobody,dc=example", 100), (NoSuchObject, 0));
        assert_eq!(refresh(&mut client, ADA, 100), (ObjectClassViolation, 0));
        assert_eq!(refresh(&mut client, MEETING, TTL_MAX + 1), (SizeLimitExceeded, 0));
        assert_eq!(refresh(&mut client, MEETING, 0), (ProtocolError, 0));
        assert_eq!(refresh(&mut client, "no DN", 100), (InvalidDnSyntax, 0));
        assert_eq!(ask(&mut client, None), (ProtocolError, 0));
        assert_eq!(ask(&mut client, Some(b"\x30\x00")), (ProtocolError, 0));
        assert_eq!(client.bind(ADA, "lace").code, Success);
        assert_eq!(refresh(&mut client, MEETING, 100), (InsufficientAccessRights, 0));
        assert_eq!(client.bind("", "").code, Success);
        assert_ne!(refresh(&mut client, MEETING, 100).0, Success);
    }
}

#[test]
fn s5_entry_ttl() {
    for mut client in with_meeting() {
        let all = client.read(MEETING, &["*", "+"]);
        assert_eq!(all.values("entryTtl"), Some(vec![DAY.to_string()]));
        assert_eq!(client.read(MEETING, &["*"]).values("entryTtl"), None);
        assert_eq!(client.read(ADA, &["+", "entryTtl"]).values("entryTtl"), None);
        let mut last = DAY;
        for seconds in [10, 5, 10, 20, 1000] {
            // Also if a clock goes back.
            at(&mut client, seconds);
            let now = ttl(&mut client, MEETING).expect("it is there");
            assert!(now <= last, "{now} after {last}");
            last = now;
        }
        assert_eq!(last, DAY - 1000);
        let found = client.search("dc=example", Scope::Subtree, "(entryTtl<=85400)", &["1.1"]);
        assert_eq!(found.dns(), [MEETING]);
        let found = client.search("dc=example", Scope::Subtree, "(entryTtl<=85399)", &["1.1"]);
        assert!(found.dns().is_empty());
    }
}

#[test]
fn s5_entry_ttl_is_changed_by_refresh_alone() {
    for mut client in with_meeting() {
        let changes: Changes<'_> = &[(ModifyKind::Replace, "entryTtl", &["5"])];
        assert_eq!(client.modify(MEETING, changes).code, ConstraintViolation);
        let with_ttl: Given<'_> =
            &[("objectClass", &["applicationProcess", "dynamicObject"]), ("entryTtl", &["5"])];
        assert_eq!(client.add("cn=x,ou=groups,dc=example", with_ttl).code, ConstraintViolation);
    }
}

#[test]
fn s6_2_it_is_published() {
    assert!(is_published("supportedExtension", OID));
    let mut client = Client::new();
    assert_eq!(
        client.read("", &["dynamicSubtrees"]).values("dynamicSubtrees"),
        Some(vec!["dc=example".to_owned()])
    );
    let schema = client.read("cn=Subschema", &["attributeTypes", "objectClasses"]);
    for (attribute, oid) in [
        ("objectClasses", "( 1.3.6.1.4.1.1466.101.119.2 NAME 'dynamicObject'"),
        ("attributeTypes", "( 1.3.6.1.4.1.1466.101.119.3 NAME 'entryTtl'"),
        ("attributeTypes", "( 1.3.6.1.4.1.1466.101.119.4 NAME 'dynamicSubtrees'"),
    ] {
        let values = schema.values(attribute).expect("it has some");
        assert!(values.iter().any(|value| value.starts_with(oid)), "{oid}");
    }
}
