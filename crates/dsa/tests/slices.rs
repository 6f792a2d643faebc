//! What one search may do at a time, however many values an entry has and however long the filter is: others of its thread
//! have their turn in between.

mod common;

use common::*;
use dsa::{Session, State};
use model::{ResultCode, Scope};
use proto::Request;

const BIG: &str = "cn=big,ou=groups,dc=example";
const MEMBERS: usize = 200_000;

/// Ids of `MEMBERS` members of a posixGroup, and as many DNs of members of another.
fn with_big_group() -> Client {
    let mut client = Client::new();
    let ids: Vec<String> = (0..MEMBERS).map(|n| format!("member{n:06}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let classes = &["posixGroup"][..];
    client.must_add(BIG, &[("objectClass", classes), ("gidNumber", &["1"]), ("memberUid", &ids)]);
    client
}

/// A filter with so many parts that no value matches.
fn any_of(parts: usize, part: impl Fn(usize) -> String) -> String {
    format!("(|{})", (0..parts).map(part).collect::<String>())
}

/// What a search came to: how often it was gone on with, and its end. Between any two slices another session of the thread
/// is served.
fn slices(client: &mut Client, base: &str, scope: Scope, filter: &str) -> (usize, Found) {
    let mut other = Session::new(&mut client.worker);
    let filter = proto::filter_string::parse(filter.as_bytes()).expect("a filter");
    let none = selection(&["1.1"]);
    let search = search_for(base, scope, filter.filter(), &none);
    let (id, bytes) = client.encode(&Request::Search(search), &[]);
    let presence = proto::filter_string::parse(b"(objectClass=*)").expect("a filter");
    let root_dse = search_for("", Scope::Base, presence.filter(), &none);
    let (other_id, other_bytes) = client.encode(&Request::Search(root_dse), &[]);
    let (mut out, mut count) = (Vec::new(), 0);
    let feed = client.session.feed(&mut client.worker, &bytes, &mut out);
    assert_eq!(feed.consumed, bytes.len());
    let mut state = feed.state;
    while state == State::Busy {
        let mut answer = Vec::new();
        other.feed(&mut client.worker, &other_bytes, &mut answer);
        assert_eq!(found(other_id, answers(&answer)).entries.len(), 1, "others are answered in between");
        state = client.session.step(&mut client.worker, &mut out);
        count += 1;
    }
    (count, found(id, answers(&out)))
}

/// An item that no hash helps looks at every value. A slice of 80 microseconds has 1,000 values of ten bytes at least,
/// and the longest has fewer than 8,000.
#[test]
fn an_entry_with_many_values_is_looked_at_in_slices() {
    let mut client = with_big_group();
    let hard = [
        ("(memberUid=*x*)".to_owned(), 1),
        (any_of(2, |n| format!("(memberUid=*x{n}*)")), 2),
        (any_of(2, |n| format!("(&(!(memberUid=*x{n}*))(memberUid=*y{n}*))")), 4),
        ("(:caseIgnoreIA5Match:=nobody)".to_owned(), 1),
        ("(memberUid:caseIgnoreIA5Match:=nobody)".to_owned(), 1),
    ];
    for (filter, items) in hard {
        for (base, scope) in [(BIG, Scope::Base), ("dc=example", Scope::Subtree)] {
            let (slices, found) = slices(&mut client, base, scope, &filter);
            assert_eq!((found.entries.len(), found.end.code), (0, ResultCode::Success), "{filter}");
            let values = items * MEMBERS;
            assert!(slices > values / 8000, "{filter} {scope:?}: {slices} slices");
            assert!(slices < values / 1000, "{filter} {scope:?}: {slices} slices");
        }
    }
}

/// The last value of all is found, too.
#[test]
fn a_value_far_into_an_entry_is_found() {
    let mut client = with_big_group();
    for filter in ["(memberUid=*r19999*)", "(!(!(memberUid=*9999)))", "(&(cn=big)(|(cn=x)(memberUid=*9999)))"]
    {
        let (slices, found) = slices(&mut client, BIG, Scope::Base, filter);
        assert_eq!((found.dns(), found.end.code), (vec![BIG], ResultCode::Success), "{filter}");
        assert!(slices > 0, "{filter}");
    }
}

/// The time limit is judged between the slices of one entry, and a search can be abandoned there.
#[test]
fn a_search_ends_in_the_middle_of_an_entry() {
    let mut client = with_big_group();
    let text = any_of(100, |n| format!("(memberUid=*x{n}*)"));
    let filter = proto::filter_string::parse(text.as_bytes()).expect("a filter");
    let mut search = search_for(BIG, Scope::Base, filter.filter(), &[]);
    search.time_limit_s = 1;
    let (id, bytes) = client.encode(&Request::Search(search), &[]);
    let mut out = Vec::new();
    assert_eq!(client.session.feed(&mut client.worker, &bytes, &mut out).state, State::Busy);
    assert_eq!(client.session.step(&mut client.worker, &mut out), State::Busy);
    client.now.monotonic_ns += 1_500_000_000;
    client.worker.tick(client.now);
    assert_eq!(client.session.step(&mut client.worker, &mut out), State::Idle);
    assert_eq!(found(id, answers(&out)).end.code, ResultCode::TimeLimitExceeded);
    let search = search_for(BIG, Scope::Base, filter.filter(), &[]);
    let (id, bytes) = client.encode(&Request::Search(search), &[]);
    out.clear();
    assert_eq!(client.session.feed(&mut client.worker, &bytes, &mut out).state, State::Busy);
    let (_, bytes) = client.encode(&Request::Abandon(id), &[]);
    assert_eq!(client.session.feed(&mut client.worker, &bytes, &mut out).state, State::Idle);
    assert!(out.is_empty());
}

/// Equality by the attribute's own rule is found by its hash, also when the rule is named.
#[test]
fn equality_by_the_own_rule_is_no_scan() {
    let mut client = with_big_group();
    let hashed = [
        "(memberUid=nobody)",
        "(memberUid:caseExactIA5Match:=nobody)",
        "(memberUid:=nobody)",
        "(:caseExactIA5Match:=nobody)",
    ];
    for filter in hashed {
        let (slices, found) = slices(&mut client, BIG, Scope::Base, &any_of(200, |_| filter.to_owned()));
        assert_eq!((found.entries.len(), found.end.code), (0, ResultCode::Success), "{filter}");
        assert!(slices <= 2, "{filter}: {slices} slices");
        let there = filter.replace("nobody", "member199999");
        assert_eq!(client.search(BIG, Scope::Base, &there, &["1.1"]).entries.len(), 1, "{there}");
    }
}

/// Many requests in one read: those that would be too much are held back.
#[test]
fn the_searches_of_a_bundle_share_a_slice() {
    let mut client = with_big_group();
    let mut bytes = Vec::new();
    let filter = proto::filter_string::parse(b"(memberUid=*x*)").expect("a filter");
    let none = selection(&["1.1"]);
    for _ in 0..100 {
        let search = search_for(BIG, Scope::Base, filter.filter(), &none);
        bytes.extend(client.encode(&Request::Search(search), &[]).1);
    }
    let mut out = Vec::new();
    let feed = client.session.feed(&mut client.worker, &bytes, &mut out);
    assert!(feed.consumed <= bytes.len() / 50 && feed.consumed > 0, "{} of {}", feed.consumed, bytes.len());
    let (out, _) = client.exchange(&bytes[feed.consumed..]);
    let ends = answers(&out).into_iter().filter(|answer| matches!(&answer.what, What::End(_))).count();
    assert!(ends >= 99, "{ends}");
}

/// X12: the longest filters, which the first item decides of every entry: making them ready is work of its own.
#[test]
fn x12_the_longest_filters_have_turns() {
    let mut client = with_big_group();
    let items = model::limits::FILTER_ITEMS_MAX - 1;
    let text = format!("(&(cn=nobody){})", "(cn=x)".repeat(items));
    let filter = proto::filter_string::parse(text.as_bytes()).expect("a filter of the largest size");
    let none = selection(&["1.1"]);
    let mut bytes = Vec::new();
    for _ in 0..20 {
        let search = search_for(ADA, Scope::Base, filter.filter(), &none);
        bytes.extend(client.encode(&Request::Search(search), &[]).1);
    }
    let mut out = Vec::new();
    let feed = client.session.feed(&mut client.worker, &bytes, &mut out);
    assert!(feed.consumed <= bytes.len() / 10 && feed.consumed > 0, "{} of {}", feed.consumed, bytes.len());
    // Nested as deep as may be, which is no deeper on the stack.
    let mut client = Client::of(&client.dsa);
    client.bind_root();
    let depth = model::limits::FILTER_DEPTH_MAX - 1;
    let deep = format!("{}(cn=x){}", "(!".repeat(depth), ")".repeat(depth));
    let end = client.search(ADA, Scope::Base, &deep, &["1.1"]).end;
    assert_eq!(end.code, ResultCode::Success, "{}", end.text);
    assert!(proto::filter_string::parse(format!("(!{deep})").as_bytes()).is_err());
}

/// What is asserted of a search or a compare is looked at in one go, so it may not look at much.
#[test]
fn an_assertion_that_looks_at_too_much_is_refused() {
    let mut client = with_big_group();
    let mut asserting = |text: &str| {
        let value = assertion(text);
        let asserted = control(proto::control::assertion::OID, &value, true);
        client.search_with(BIG, Scope::Base, "(objectClass=*)", &["1.1"], |_| (), &[asserted]).end.code
    };
    let dear = any_of(20, |n| format!("(memberUid=*x{n}*)"));
    assert_eq!(asserting(&dear), ResultCode::AdminLimitExceeded);
    assert_eq!(asserting("(memberUid=member000007)"), ResultCode::Success);
    assert_eq!(asserting("(memberUid=nobody)"), ResultCode::AssertionFailed);
}
