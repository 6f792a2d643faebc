//! RFC 2696: simple paged results.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 1 | publishes the control | `s1_it_is_published` |
//! | 2 | answers each page with the control, whose cookie is empty behind the last entry and else is not | `s2_pages` |
//! | 2 | does without pages if the page has room for all | `s2_a_page_of_all` |
//! | 2 | the size may change from page to page; the size in an answer is an estimate or 0 | `s2_the_size_may_change` |
//! | 2 | takes a cookie for the search that brought it alone, and else says that it cannot go on | `s2_another_cookie` |
//! | 2 | ends the sequence by a page of no entries | `s2_a_page_of_none_ends_it` |
//! | 2 | a value that is none is an error, and a control twice | `s2_what_is_no_value` |
//! | 3 | goes on by the rights that the client has now | `dsa: x5_what_is_hidden_counts_in_no_page_and_no_limit` |
//!
//! Cookies are kept by clients alone: no page ages out, so nothing is said of one that did. Not here: "MUST consider the cookie to be an opaque structure", "MUST send [...] values identical to the initial request" bind
//! clients.

use super::{check_table, clients};
use crate::common::*;
use model::ResultCode::*;
use model::Scope;
use proto::control::Control;
use proto::control::paged_results::{OID, PagedResults};

const ALL: &str = "(objectClass=*)";
const TOP: &str = "dc=example";

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc2696_paged_results.rs"));
}

/// The size that the end of a page names.
fn estimate(found: &Found) -> i32 {
    let (_, value) = found.controls.iter().find(|(oid, _)| oid.as_bytes() == OID).expect("it is a page");
    PagedResults::decode(value.as_ref().expect("it has a value")).expect("it decodes").size
}

#[test]
fn s1_it_is_published() {
    assert!(is_published("supportedControl", OID));
}

#[test]
fn s2_pages() {
    for mut client in clients() {
        let whole: Vec<String> =
            client.search(TOP, Scope::Subtree, ALL, &["1.1"]).entries.into_iter().map(|(dn, _)| dn).collect();
        for size in 1..=whole.len() as i32 + 1 {
            let (mut seen, mut cookie) = (Vec::new(), Vec::new());
            loop {
                let page = client.page(TOP, Scope::Subtree, ALL, size, &cookie);
                assert_eq!(page.end.code, Success);
                assert!(page.entries.len() <= size as usize);
                seen.extend(page.entries.into_iter().map(|(dn, _)| dn));
                cookie = page.cookie.expect("each page has a cookie");
                assert_eq!(cookie.is_empty(), seen.len() == whole.len(), "{size}: {} entries", seen.len());
                if cookie.is_empty() {
                    break;
                }
            }
            assert_eq!(seen, whole);
        }
    }
}

#[test]
fn s2_a_page_of_all() {
    let mut client = Client::new();
    for critical in [true, false] {
        let mut value = Vec::new();
        PagedResults { size: 1000, cookie: b"" }.encode(&mut value);
        let found =
            client.search_with(TOP, Scope::Subtree, ALL, &["1.1"], |_| {}, &[control(OID, &value, critical)]);
        assert_eq!((found.end.code, found.entries.len(), found.cookie), (Success, 5, Some(Vec::new())));
    }
}

#[test]
fn s2_the_size_may_change() {
    let mut client = Client::new();
    let first = client.page(TOP, Scope::Subtree, ALL, 1, b"");
    let second = client.page(TOP, Scope::Subtree, ALL, 3, first.cookie.as_deref().expect("a cookie"));
    let third = client.page(TOP, Scope::Subtree, ALL, i32::MAX, second.cookie.as_deref().expect("a cookie"));
    assert_eq!([first.entries.len(), second.entries.len(), third.entries.len()], [1, 3, 1]);
    assert!([first, second, third].iter().all(|page| estimate(page) >= 0));
}

#[test]
fn s2_another_cookie() {
    let mut client = Client::new();
    let page = client.page(TOP, Scope::Subtree, ALL, 1, b"");
    let cookie = page.cookie.expect("there is more");
    for (base, filter) in [("ou=people,dc=example", ALL), (TOP, "(uid=*)")] {
        let other = client.page(base, Scope::Subtree, filter, 1, &cookie);
        assert_eq!((other.end.code, other.entries.len()), (UnwillingToPerform, 0), "{base} {filter}");
    }
    for wrong in [&b"x"[..], &[0xff; 100]] {
        let other = client.page(TOP, Scope::Subtree, ALL, 1, wrong);
        assert_eq!((other.end.code, other.entries.len()), (UnwillingToPerform, 0));
    }
    // Each page has a cookie of its own.
    let second = client.page(TOP, Scope::Subtree, ALL, 1, &cookie).cookie.expect("there is more");
    assert_ne!(cookie, second);
}

#[test]
fn s2_a_page_of_none_ends_it() {
    let mut client = Client::new();
    let cookie = client.page(TOP, Scope::Subtree, ALL, 2, b"").cookie.expect("there is more");
    let end = client.page(TOP, Scope::Subtree, ALL, 0, &cookie);
    assert_eq!((end.end.code, end.entries.len(), end.cookie), (Success, 0, Some(Vec::new())));
}

#[test]
fn s2_what_is_no_value() {
    let mut client = Client::new();
    let mut good = Vec::new();
    PagedResults { size: 2, cookie: b"" }.encode(&mut good);
    let long = [&good[..], b"x"].concat();
    let mut ask = |controls: &[Control<'_>]| {
        client.search_with(TOP, Scope::Subtree, ALL, &["1.1"], |_| {}, controls).end.code
    };
    for value in [
        None,
        Some(&b""[..]),
        Some(&good[..good.len() - 1]),
        Some(&long),
        Some(b"\x30\x05\x02\x01\xff\x04\x00"),
    ] {
        for critical in [true, false] {
            assert_eq!(ask(&[Control { oid: OID, critical, value }]), ProtocolError, "{value:?}");
        }
    }
    assert_eq!(ask(&[control(OID, &good, true), control(OID, &good, true)]), ProtocolError);
}
