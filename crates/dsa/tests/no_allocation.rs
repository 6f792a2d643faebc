//! In steady state base searches, equality searches and modifies in memory take nothing from the heap. A counting allocator
//! proves it; the same is counted and printed for other operations: `cargo test -p pando-dsa --test no_allocation -- --nocapture`.

#![cfg(not(pando_main_road))]

mod common;

use common::*;
use dsa::State;
use model::{Filter, Scope};
use proto::control::sort::{self, SortKey};
use proto::control::virtual_list_view::{self, Target, VirtualListView};
use proto::op::{Changes, Modify, ModifyKind};
use proto::{Request, filter_string};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Requests of one bundle.
const BUNDLE: usize = 1000;
/// People that the requests ask for.
const PEOPLE: usize = 500;

thread_local! {
    /// Allocations of this thread: other tests run on others.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    /// Bytes of the largest of them.
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is handed on to the system's allocator; counting touches no memory but the thread's own cell,
// which needs no initialisation and no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        LARGEST.set(LARGEST.get().max(layout.size()));
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is handed on.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        LARGEST.set(LARGEST.get().max(size));
        // SAFETY: the caller's promise is handed on.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A client that is bound as an ordinary user or as root, over [`PEOPLE`] people.
fn client(as_root: bool) -> Client {
    let mut client = Client::new();
    add_people(&mut client, PEOPLE);
    if !as_root {
        client.bind(ADA, "lace");
    }
    client
}

/// A bundle of one request for each of many people.
fn bundle(client: &mut Client, mut one: impl FnMut(&mut Client, usize) -> Vec<u8>) -> Vec<u8> {
    (0..BUNDLE).flat_map(|n| one(client, n * 7 % PEOPLE)).collect()
}

/// Feeds a bundle over and over; the allocations of the last time, and its answers.
fn steady(client: &mut Client, input: &[u8]) -> (u64, Vec<u8>) {
    let mut out = Vec::with_capacity(8 << 20);
    let mut allocations = 0;
    for _ in 0..4 {
        out.clear();
        let before = ALLOCATIONS.get();
        let mut at = 0;
        while at < input.len() {
            let feed = client.session.feed(&mut client.worker, &input[at..], &mut out);
            assert_eq!(feed.state, State::Idle);
            at += feed.consumed;
        }
        allocations = ALLOCATIONS.get() - before;
    }
    (allocations, out)
}

fn base_searches(client: &mut Client, filter: Filter<'_>, attributes: &[&str]) -> Vec<u8> {
    let selection = selection(attributes);
    bundle(client, |client, n| {
        let base = format!("uid=n{n},ou=people,dc=example");
        client.encode(&Request::Search(search_for(&base, Scope::Base, filter.clone(), &selection)), &[]).1
    })
}

/// Reports what a bundle took, and checks that everything was answered with so many messages.
fn report(what: &str, client: &mut Client, input: &[u8], messages: usize) -> u64 {
    let (allocations, out) = steady(client, input);
    assert_eq!(answers(&out).len(), messages);
    println!("{what}: {allocations} allocations in {BUNDLE} operations");
    allocations
}

#[test]
fn base_search_without_attributes() {
    let mut client = client(false);
    let input = base_searches(&mut client, Filter::Present(b"objectClass"), &["1.1"]);
    assert_eq!(report("base search, 1.1", &mut client, &input, 2 * BUNDLE), 0);
}

#[test]
fn base_search_with_all_attributes() {
    let mut client = client(false);
    let input = base_searches(&mut client, Filter::Present(b"objectClass"), &[]);
    assert_eq!(report("base search, all attributes", &mut client, &input, 2 * BUNDLE), 0);
    let input = base_searches(&mut client, Filter::Present(b"objectClass"), &["cn", "sn", "mail"]);
    assert_eq!(report("base search, three attributes", &mut client, &input, 2 * BUNDLE), 0);
}

/// Only the equality search is held to zero.
#[test]
fn equality_search_and_others() {
    let mut client = client(false);
    let operational = base_searches(&mut client, Filter::Present(b"objectClass"), &["*", "+"]);
    report("base search, operational attributes", &mut client, &operational, 2 * BUNDLE);
    let filter = filter_string::parse(b"(&(objectClass=person)(sn=number))").expect("a filter");
    let filtered = base_searches(&mut client, filter.filter(), &["1.1"]);
    report("base search, (&(objectClass=person)(sn=number))", &mut client, &filtered, 2 * BUNDLE);
    let none = selection(&["1.1"]);
    let equality = bundle(&mut client, |client, n| {
        let filter = filter_string::parse(format!("(uid=n{n})").as_bytes()).expect("a filter");
        let search = search_for("dc=example", Scope::Subtree, filter.filter(), &none);
        client.encode(&Request::Search(search), &[]).1
    });
    assert_eq!(report("equality search", &mut client, &equality, 2 * BUNDLE), 0);
    let compare = bundle(&mut client, |client, n| {
        let dn = format!("uid=n{n},ou=people,dc=example");
        let assertion = model::filter::Assertion { attribute: b"sn", value: b"Number" };
        client.encode(&Request::Compare(proto::op::Compare { dn: dn.as_bytes(), assertion }), &[]).1
    });
    report("compare", &mut client, &compare, BUNDLE);
}

/// L4: a page, a size and a time of 2^31-1 take no more memory than small ones.
#[test]
fn l4_large_numbers_allocate_nothing() {
    let mut client = client(false);
    let mut most = |number: i32| {
        LARGEST.set(0);
        let limits = |search: &mut proto::op::Search<'_>| {
            (search.size_limit, search.time_limit_s) = (number, number);
        };
        let mut value = Vec::new();
        proto::control::paged_results::PagedResults { size: number, cookie: b"" }.encode(&mut value);
        let paged = control(proto::control::paged_results::OID, &value, true);
        for controls in [&[][..], &[paged]] {
            let found =
                client.search_with("dc=example", Scope::Subtree, "(sn=Number)", &["1.1"], limits, controls);
            assert_eq!(found.entries.len(), PEOPLE.min(number as usize));
        }
        LARGEST.get()
    };
    let usual = most(PEOPLE as i32);
    assert_eq!(most(i32::MAX), usual);
    assert!(usual < 1 << 20, "{usual}");
}

/// L4: nor does a part of a list with 2^31-1 entries before its target and behind it, at an offset of as many.
#[test]
fn l4_large_numbers_of_a_list_view_allocate_nothing() {
    let mut client = client(false);
    let key = SortKey { attribute: b"uid", ordering_rule: None, reverse: false };
    let by = sort::encode(&[key]);
    let mut most = |around: i32, target: Target<'_>| {
        LARGEST.set(0);
        let view =
            VirtualListView { before_count: around, after_count: around, target, context_id: None }.encode();
        let controls = [sort::control(&by, true), virtual_list_view::control(&view, true)];
        let found =
            client.search_with("dc=example", Scope::Subtree, "(sn=Number)", &["1.1"], |_| {}, &controls);
        assert_eq!(found.entries.len(), PEOPLE, "{}", found.end.text);
        LARGEST.get()
    };
    let by_offset = |offset, content_count| Target::ByOffset { offset, content_count };
    let people = PEOPLE as i32;
    let usual = most(people, by_offset(people, people));
    for target in [by_offset(i32::MAX, i32::MAX), by_offset(1, i32::MAX), Target::AtLeast(b"n")] {
        assert_eq!(most(i32::MAX, target), usual, "{target:?}");
    }
    assert!(usual < 1 << 20, "{usual}");
}

#[test]
fn modify_of_values() {
    let mut client = client(true);
    let input = bundle(&mut client, |client, n| {
        let (dn, value) = (format!("uid=n{n},ou=people,dc=example"), "x".repeat(8 + n % 90));
        let changes = changes_of(&[(ModifyKind::Replace, "description", &[&value])]);
        let changes = Changes::parse(&changes).expect("just encoded");
        client.encode(&Request::Modify(Modify { dn: dn.as_bytes(), changes }), &[]).1
    });
    assert_eq!(report("modify", &mut client, &input, BUNDLE), 0);
}
