//! What one search may do at a time, however many values an entry has and however long the filter is: others of its thread
//! have their turn in between.

mod common;

use common::*;
use dsa::{Session, State};
use model::{ResultCode, Scope};
use proto::Request;
use proto::control::{Control, dereference, matched_values};

const BIG: &str = "cn=big,ou=groups,dc=example";
const MEMBERS: usize = 200_000;

/// Ids of `MEMBERS` members of a posixGroup, and as many DNs of members of another.
fn with_big_group() -> Client {
    let mut client = Client::new();
    add_big_group(&mut client);
    client
}

fn add_big_group(client: &mut Client) {
    let ids: Vec<String> = (0..MEMBERS).map(|n| format!("member{n:06}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let classes = &["posixGroup"][..];
    client.must_add(BIG, &[("objectClass", classes), ("gidNumber", &["1"]), ("memberUid", &ids)]);
}

/// A filter with so many parts that no value matches.
fn any_of(parts: usize, part: impl Fn(usize) -> String) -> String {
    format!("(|{})", (0..parts).map(part).collect::<String>())
}

/// What a search came to: how often it was gone on with, and its end. Between any two slices another session of the thread
/// is served.
fn slices(client: &mut Client, base: &str, scope: Scope, filter: &str) -> (usize, Found) {
    slices_with(client, (base, scope), filter, &["1.1"], &[])
}

/// As [`slices`], with these attributes and controls.
fn slices_with(
    client: &mut Client,
    (base, scope): (&str, Scope),
    filter: &str,
    attributes: &[&str],
    controls: &[Control<'_>],
) -> (usize, Found) {
    let mut other = Session::new(&mut client.worker);
    let filter = proto::filter_string::parse(filter.as_bytes()).expect("a filter");
    let (none, selected) = (selection(&["1.1"]), selection(attributes));
    let search = search_for(base, scope, filter.filter(), &selected);
    let (id, bytes) = client.encode(&Request::Search(search), controls);
    let presence = proto::filter_string::parse(b"(objectClass=*)").expect("a filter");
    let root_dse = search_for("", Scope::Base, presence.filter(), &none);
    let (other_id, other_bytes) = client.encode(&Request::Search(root_dse), &[]);
    let (mut out, mut count) = (Vec::new(), 0);
    let feed = client.session.feed(&mut client.worker, &bytes, &mut out);
    assert_eq!(feed.consumed, bytes.len());
    let (mut state, mut sent) = (feed.state, std::mem::take(&mut out));
    while state == State::Busy {
        let mut answer = Vec::new();
        other.feed(&mut client.worker, &other_bytes, &mut answer);
        assert_eq!(found(other_id, answers(&answer)).entries.len(), 1, "others are answered in between");
        state = client.session.step(&mut client.worker, &mut out);
        sent.append(&mut out);
        count += 1;
    }
    (count, found(id, answers(&sent)))
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

/// Values that a client wants are looked up if they are asked for by equality, and compared in slices if not.
#[test]
fn matched_values_of_a_large_set() {
    let mut client = with_big_group();
    let mut matching = |items: &[&str]| {
        let parsed = items.iter().map(|item| proto::filter_string::parse(item.as_bytes()).expect("a filter"));
        let parsed: Vec<_> = parsed.collect();
        let value = matched_values::encode(&parsed.iter().map(|item| item.filter()).collect::<Vec<_>>());
        let controls = [matched_values::control(&value, true)];
        let (slices, found) =
            slices_with(&mut client, (BIG, Scope::Base), "(objectClass=*)", &["memberUid"], &controls);
        let values =
            (!found.entries.is_empty()).then(|| found.values("memberUid").map(|values| values.len()));
        (slices, found.end.code, values.flatten())
    };
    let success = ResultCode::Success;
    for (items, expected) in [
        (&["(memberUid=member000007)"][..], 1),
        (&["(memberUid=nobody)"], 0),
        (&["(memberUid=member000007)", "(:caseExactIA5Match:=member000008)", "(cn=*)"], 2),
        (&[], 0),
    ] {
        let (slices, code, found) = matching(items);
        assert_eq!((code, found), (success, Some(expected)), "{items:?}");
        assert!(slices <= 1, "{items:?}: {slices} slices");
    }
    for (items, expected) in [
        (&["(memberUid=*99999)"][..], 2),
        (&["(memberUid=*x*)", "(memberUid=*y*)", "(memberUid=member000007)"], 1),
        (&["(memberUid:caseIgnoreIA5Match:=MEMBER000007)"], 1),
        (&["(memberUid=member0000*)"], 100),
    ] {
        let (slices, code, found) = matching(items);
        assert_eq!((code, found), (success, Some(expected)), "{items:?}");
        assert!(slices > MEMBERS / 8000, "{items:?}: {slices} slices");
    }
    // All of them are streamed, and neither compared nor put together. What would have to be is bounded.
    let (_, code, found) = matching(&["(memberUid=*)", "(memberUid=*x*)"]);
    assert_eq!((code, found), (success, Some(MEMBERS)));
    let (_, code, found) = matching(&["(memberUid=member*)"]);
    assert_eq!((code, found), (ResultCode::AdminLimitExceeded, None));
}

/// Between two names that an entry has others have their turn.
#[test]
fn names_are_dereferenced_in_slices() {
    let mut client = Client::new();
    let names: Vec<String> = (0..4_000).map(|n| format!("uid=n{n},ou=people,dc=example")).collect();
    let members: Vec<&str> = names.iter().map(String::as_str).chain([ADA]).collect();
    client.must_add(BIG, &[("objectClass", &["groupOfNames"]), ("member", &members)]);
    let attributes = selection(&["cn", "mail"]);
    let attributes = proto::list::Octets::parse(&attributes).expect("just encoded");
    let value = dereference::encode(&[dereference::DerefSpec { attribute: b"member", attributes }]);
    let controls = [dereference::control(&value, true)];
    for (base, scope) in [(BIG, Scope::Base), ("dc=example", Scope::Subtree)] {
        let (slices, found) = slices_with(&mut client, (base, scope), "(cn=big)", &["cn"], &controls);
        assert_eq!((found.dns(), found.end.code), (vec![BIG], ResultCode::Success));
        assert!(slices > 10, "{scope:?}: {slices} slices");
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

/// Sorting is done in slices as well: gathering, also of one entry with many values, merging, and finding a place. The list is the same.
#[test]
fn a_sorted_search_goes_on_in_slices() {
    use proto::control::sort::{self, SortKey};
    use proto::control::virtual_list_view::{self, Target, VirtualListView};
    let mut client = with_big_group();
    add_people(&mut client, 5000);
    let run = |client: &mut Client, by: &str, base: &str, target: Target<'_>| {
        let value =
            sort::encode(&[SortKey { attribute: by.as_bytes(), ordering_rule: None, reverse: false }]);
        let view = VirtualListView { before_count: 0, after_count: 2, target, context_id: None }.encode();
        let controls = [sort::control(&value, true), virtual_list_view::control(&view, true)];
        let filter = proto::filter_string::parse(b"(objectClass=*)").expect("a filter");
        let none = selection(&["1.1"]);
        let search = search_for(base, Scope::Subtree, filter.filter(), &none);
        let (id, bytes) = client.encode(&Request::Search(search), &controls);
        let (mut out, mut count) = (Vec::new(), 0);
        let mut state = client.session.feed(&mut client.worker, &bytes, &mut out).state;
        while state == State::Busy {
            state = client.session.step(&mut client.worker, &mut out);
            count += 1;
        }
        let found = found(id, answers(&out));
        assert_eq!(found.end.code, ResultCode::Success, "{}", found.end.text);
        let names = found.entries.iter().map(|(dn, _)| dn.split(',').next().unwrap_or_default().to_owned());
        (count, names.collect::<Vec<_>>())
    };
    let (slices, names) = run(&mut client, "uid", "ou=people,dc=example", Target::AtLeast(b"n4321"));
    assert!(slices > 20, "{slices}");
    assert_eq!(names, ["uid=n4321", "uid=n4322", "uid=n4323"]);
    // The second time the list is there.
    let (again, names) = run(&mut client, "uid", "ou=people,dc=example", Target::AtLeast(b"n99"));
    assert!(again < slices / 10, "{again} of {slices}");
    assert_eq!(names, ["uid=n99", "uid=n990", "uid=n991"]);
    client.must_add(
        "uid=n9901,ou=people,dc=example",
        &[("objectClass", &["person", "uidObject"]), ("cn", &["x"]), ("sn", &["Number"])],
    );
    let (_, names) = run(&mut client, "uid", "ou=people,dc=example", Target::AtLeast(b"n99"));
    assert_eq!(names, ["uid=n99", "uid=n990", "uid=n9901"]);
    let (slices, names) = run(
        &mut client,
        "memberUid",
        "ou=groups,dc=example",
        Target::ByOffset { offset: 1, content_count: 0 },
    );
    assert!(slices > MEMBERS / 8000, "{slices}");
    assert_eq!(names[0], "cn=big");
}

/// What is gathered counts as memory that is kept for clients. Where there is no more, a list is refused or comes without its order.
#[test]
fn a_sorted_search_keeps_no_more_than_there_is_room_for() {
    use proto::control::sort::{self, SortKey};
    let mut config = config();
    config.settings.configured.limits.clients.memory_bytes_max = Some(200 << 10);
    let mut client = Client::with(config);
    add_people(&mut client, 5000);
    let memory = std::sync::Arc::clone(client.dsa.client_memory());
    let mut other = dsa::client_memory::Kept::new(&memory);
    other.set(8 << 10, true);
    let value = sort::encode(&[SortKey { attribute: b"uid", ordering_rule: None, reverse: true }]);
    for critical in [true, false] {
        let found = client.search_with(
            "ou=people,dc=example",
            Scope::One,
            "(sn=Number)",
            &["1.1"],
            |_| {},
            &[sort::control(&value, critical)],
        );
        let (_, response) = found.controls.last().expect("there is a response").clone();
        let code = sort::decode_response(response.as_deref().expect("it has a value")).expect("it is one").0;
        assert_eq!(code, ResultCode::AdminLimitExceeded as i32);
        match critical {
            true => {
                assert_eq!(
                    (found.end.code, found.entries.len()),
                    (ResultCode::UnavailableCriticalExtension, 0)
                );
                assert!(found.end.text.contains("sorting"), "{}", found.end.text);
            }
            false => assert_eq!((found.end.code, found.entries.len()), (ResultCode::Success, 5000)),
        }
    }
    drop(other);
    let found = client.search_with(
        "ou=people,dc=example",
        Scope::One,
        "(sn=Number)",
        &["1.1"],
        |_| {},
        &[sort::control(&value, true)],
    );
    assert_eq!((found.end.code, found.entries.len()), (ResultCode::Success, 5000));
    assert_eq!(found.entries[0].0, "uid=n999,ou=people,dc=example");
}

/// The filter is evaluated once before the key of an entry is made, however many slices that takes: also where the rights to test it hang on the entry.
#[test]
fn the_filter_of_a_sorted_search_is_not_evaluated_for_each_step_of_a_key() {
    use proto::control::sort::{self, SortKey};
    let mut config = config();
    let rule = "no: base=\"uid=ada,ou=people,dc=example\" attrs=memberUid; users; deny=search".to_owned();
    config.settings.configured.access.rules = access::parse_all(&[rule]).expect("the rule is sound");
    let mut client = Client::with(config);
    add_big_group(&mut client);
    assert_eq!(client.bind(ADA, "lace").code, ResultCode::Success);
    let value = sort::encode(&[SortKey { attribute: b"memberUid", ordering_rule: None, reverse: false }]);
    let controls = [sort::control(&value, true)];
    let filter = "(|(memberUid=*x*)(cn=big))";
    let (plain, found) = slices_with(&mut client, (BIG, Scope::Subtree), filter, &["1.1"], &[]);
    assert_eq!((found.dns(), found.end.code), (vec![BIG], ResultCode::Success));
    let (sorted, found) = slices_with(&mut client, (BIG, Scope::Subtree), filter, &["1.1"], &controls);
    assert_eq!((found.dns(), found.end.code), (vec![BIG], ResultCode::Success));
    // When it is found and when it is returned, and the key besides.
    assert!(plain > MEMBERS / 8000 && sorted < 8 * plain, "{sorted} slices, {plain} without an order");
}

/// A sorted search that has returned entries ends where there is no room for what it keeps: none of them comes again.
#[test]
fn a_sorted_search_that_has_returned_entries_is_not_begun_again() {
    use proto::control::sort::{self, SortKey};
    let mut config = config();
    config.settings.configured.limits.clients.memory_bytes_max = Some(16 << 20);
    let mut client = Client::with(config);
    let ids: Vec<String> = (0..30_000).map(|n| format!("member{n:06}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let classes = &["posixGroup", "extensibleObject"][..];
    let all: Given<'_> =
        &[("objectClass", classes), ("gidNumber", &["1"]), ("memberUid", &ids), ("description", &ids)];
    client.must_add(BIG, all);
    let by = sort::encode(&[SortKey { attribute: b"uid", ordering_rule: None, reverse: false }]);
    let items = ["(memberUid=member*)", "(description=member*)"];
    let parsed = items.map(|item| proto::filter_string::parse(item.as_bytes()).expect("a filter"));
    let values = matched_values::encode(&parsed.iter().map(|item| item.filter()).collect::<Vec<_>>());
    let controls = [sort::control(&by, false), matched_values::control(&values, true)];
    let filter = proto::filter_string::parse(b"(|(uid=ada)(cn=big))").expect("a filter");
    let selected = selection(&["memberUid", "description"]);
    let search = search_for("dc=example", Scope::Subtree, filter.filter(), &selected);
    let (id, bytes) = client.encode(&Request::Search(search), &controls);
    let mut out = Vec::new();
    let mut state = client.session.feed(&mut client.worker, &bytes, &mut out).state;
    while state == State::Busy && out.is_empty() {
        state = client.session.step(&mut client.worker, &mut out);
    }
    assert_eq!((state, answers(&out).len()), (State::Busy, 1), "it is at the values of the second entry");
    let memory = std::sync::Arc::clone(client.dsa.client_memory());
    let mut other = dsa::client_memory::Kept::new(&memory);
    other.set((16 << 20) - memory.bytes() as usize, true);
    while state == State::Busy {
        state = client.session.step(&mut client.worker, &mut out);
    }
    let found = found(id, answers(&out));
    assert_eq!((found.dns(), found.end.code), (vec![ADA], ResultCode::AdminLimitExceeded));
    assert!(found.end.text.contains("sorting"), "{}", found.end.text);
}

/// With an index on the first sort key a search returns what comes first without a look at the rest, and keeps no more than a part of the list.
#[test]
fn a_sorted_search_by_an_index_returns_at_once() {
    use proto::control::paged_results::{self, PagedResults};
    use proto::control::sort::{self, SortKey};
    let by = sort::encode(&[SortKey { attribute: b"uid", ordering_rule: None, reverse: false }]);
    let mut page = Vec::new();
    PagedResults { size: 20, cookie: b"" }.encode(&mut page);
    let controls = [sort::control(&by, true), control(paged_results::OID, &page, true)];
    let (mut turns, mut wholes) = (Vec::new(), Vec::new());
    for is_indexed in [false, true] {
        let mut config = config();
        config.settings.configured.limits.clients.memory_bytes_max = Some(400 << 10);
        if is_indexed {
            config.store.indexes.push(store::IndexSettings::of("uid", [store::IndexKind::Ordering]));
        }
        let mut client = Client::with(config);
        add_people(&mut client, 5000);
        let place = ("ou=people,dc=example", Scope::One);
        let (slices, found) = slices_with(&mut client, place, "(sn=Number)", &["1.1"], &controls);
        assert_eq!((found.entries.len(), found.end.code), (20, ResultCode::Success), "{}", found.end.text);
        turns.push(slices);
        // All of the list, without the memory for it.
        let memory = std::sync::Arc::clone(client.dsa.client_memory());
        let mut other = dsa::client_memory::Kept::new(&memory);
        other.set(260 << 10, true);
        // Its list is not remembered from the page.
        let (_, found) = slices_with(&mut client, place, "(&(sn=Number))", &["1.1"], &controls[..1]);
        match is_indexed {
            true => {
                assert_eq!((found.entries.len(), found.end.code), (5000, ResultCode::Success));
                assert_eq!(found.entries[4999].0, "uid=n999,ou=people,dc=example");
            }
            false => {
                assert_eq!(found.end.code, ResultCode::UnavailableCriticalExtension);
                assert!(
                    found.end.text.ends_with("pando index build --url URL uid:ord"),
                    "{}",
                    found.end.text
                );
            }
        }
        // Where there is memory for it, it is gathered.
        drop(other);
        let (slices, found) = slices_with(&mut client, place, "(cn=x)", &["1.1"], &controls[..1]);
        assert_eq!((found.entries.len(), found.end.code), (5000, ResultCode::Success));
        wholes.push(slices);
    }
    assert!(turns[1] * 10 < turns[0], "{turns:?}");
    assert_eq!(wholes[0], wholes[1], "an index does not make it longer");
}

/// `limits.sort-bytes` bounds the keys of a search. The refusal names the index that would serve it, to those who may test the attribute.
#[test]
fn a_sorted_search_is_refused_beyond_its_bytes() {
    use proto::control::sort::{self, SortKey};
    use proto::control::virtual_list_view::{self, Target, VirtualListView};
    let target = Target::ByOffset { offset: 1, content_count: 0 };
    let view = VirtualListView { before_count: 0, after_count: 9, target, context_id: None }.encode();
    let view = virtual_list_view::control(&view, true);
    let hides = "hide: all attrs=uid; users; deny=search".to_owned();
    for (rules, names) in [(vec![], true), (vec![hides], false)] {
        let mut config = config();
        config.settings.configured.limits.clients.sort_bytes_max = 64 << 10;
        config.settings.configured.access.rules = access::parse_all(&rules).expect("the rule is sound");
        let mut client = Client::with(config);
        add_people(&mut client, 2500);
        assert_eq!(client.bind(ADA, "lace").code, ResultCode::Success);
        for (reverse, is_view, filter) in [
            (false, false, "(objectClass=*)"),
            (false, true, "(objectClass=*)"),
            (true, true, "(objectClass=*)"),
            // Some lack a uid, and come first: no index would serve it.
            (true, false, "(objectClass=*)"),
            // An index does not tell who has this name.
            (false, true, "(sn=Number)"),
        ] {
            let by = sort::encode(&[SortKey { attribute: b"uid", ordering_rule: None, reverse }]);
            let controls = [sort::control(&by, true), view];
            let controls = if is_view { &controls[..] } else { &controls[..1] };
            let found = client.search_with("dc=example", Scope::Subtree, filter, &["1.1"], |_| {}, controls);
            assert_eq!(found.end.code, ResultCode::UnavailableCriticalExtension, "{}", found.end.text);
            let serves = filter == "(objectClass=*)" && (is_view || !reverse);
            let is_named = found.end.text.ends_with("pando index build --url URL uid:ord");
            assert_eq!(is_named, names && serves, "{reverse} {is_view} {filter}: {}", found.end.text);
        }
    }
}

/// A page in reverse order, and a part of a list anywhere in it, are returned at once by an index on the sort key.
#[test]
fn a_view_by_an_index_is_returned_at_once() {
    use proto::control::paged_results::{self, PagedResults};
    use proto::control::sort::{self, SortKey};
    use proto::control::virtual_list_view::{self, RESPONSE_OID, Target, ViewResponse, VirtualListView};
    let mut config = config();
    config.store.indexes.push(store::IndexSettings::of("uid", [store::IndexKind::Ordering]));
    let mut client = Client::with(config);
    add_people(&mut client, 5000);
    let by = |reverse| sort::encode(&[SortKey { attribute: b"uid", ordering_rule: None, reverse }]);
    let (ascending, descending) = (by(false), by(true));
    let mut page = Vec::new();
    PagedResults { size: 20, cookie: b"" }.encode(&mut page);
    let place = ("dc=example", Scope::Subtree);
    let controls = [sort::control(&descending, true), control(paged_results::OID, &page, true)];
    let (slices, found) = slices_with(&mut client, place, "(uid=n*)", &["1.1"], &controls);
    assert_eq!((found.entries.len(), found.end.code), (20, ResultCode::Success), "{}", found.end.text);
    assert_eq!(found.entries[0].0, "uid=n999,ou=people,dc=example");
    assert!(slices <= 2, "{slices} slices for a page");
    // Besides these there are ada and grace, and three entries without a uid.
    let offset = |offset, content_count| Target::ByOffset { offset, content_count };
    for (filter, list, target, position, first, len) in [
        ("(uid=*)", &ascending, offset(3, 0), 3, "n0", 5002),
        ("(uid=*)", &ascending, offset(5002, 0), 5002, "n999", 5002),
        ("(uid=*)", &ascending, offset(50, 100), 2501, "n3246", 5002),
        ("(uid=*)", &descending, offset(1, 0), 1, "n999", 5002),
        ("(uid=*)", &ascending, Target::AtLeast(b"n4321"), 3696, "n4321", 5002),
        ("(uid=*)", &descending, Target::AtLeast(b"n4321"), 1307, "n4321", 5002),
        ("(uid=*)", &ascending, Target::AtLeast(b"zz"), 5003, "", 5002),
        ("(objectClass=*)", &ascending, Target::AtLeast(b"n4321"), 3696, "n4321", 5005),
        ("(objectClass=*)", &descending, Target::AtLeast(b"n4321"), 1310, "n4321", 5005),
    ] {
        let view = VirtualListView { before_count: 0, after_count: 0, target, context_id: None }.encode();
        let controls = [sort::control(list, true), virtual_list_view::control(&view, true)];
        let (slices, found) = slices_with(&mut client, place, filter, &["1.1"], &controls);
        assert!(slices <= 2, "{slices} slices for a part");
        let (_, value) =
            found.controls.iter().find(|(oid, _)| oid.as_bytes() == RESPONSE_OID).expect("a response");
        let said = ViewResponse::decode(value.as_deref().expect("it has a value")).expect("it is one");
        assert_eq!((said.target_position, said.content_count, said.result), (position, len, 0), "{target:?}");
        let names: Vec<&str> =
            found.entries.iter().filter_map(|(dn, _)| dn.strip_prefix("uid=")?.split(',').next()).collect();
        assert_eq!(names.first().copied().unwrap_or_default(), first, "{target:?}");
    }
}

/// Entries with a common beginning of their keys are one part of the index. Where that is larger than the list, the list is gathered.
#[test]
fn a_sorted_search_does_without_an_index_of_common_beginnings() {
    use proto::control::paged_results::{self, PagedResults};
    use proto::control::sort::{self, SortKey};
    const LIST: &str = "ou=list,dc=example";
    let by = sort::encode(&[SortKey { attribute: b"uid", ordering_rule: None, reverse: false }]);
    let mut page = Vec::new();
    PagedResults { size: 20, cookie: b"" }.encode(&mut page);
    let controls = [sort::control(&by, true), control(paged_results::OID, &page, true)];
    let mut turns = Vec::new();
    for is_indexed in [false, true] {
        let mut config = config();
        if is_indexed {
            config.store.indexes.push(store::IndexSettings::of("uid", [store::IndexKind::Ordering]));
        }
        let mut client = Client::with(config);
        client.must_add(LIST, &[("objectClass", &["organizationalUnit"])]);
        for n in 0..2600 {
            let parent = if n % 5 == 0 { LIST } else { "ou=people,dc=example" };
            let all: Given<'_> = &[("objectClass", &["person", "uidObject"]), ("cn", &["x"]), ("sn", &["x"])];
            client.must_add(&format!("uid=beginning-{n:04},{parent}"), all);
        }
        let (slices, found) = slices_with(&mut client, (LIST, Scope::One), "(cn=x)", &["1.1"], &controls);
        assert_eq!((found.entries.len(), found.end.code), (20, ResultCode::Success), "{}", found.end.text);
        assert_eq!(found.entries[19].0, format!("uid=beginning-0095,{LIST}"));
        turns.push(slices);
    }
    assert!(turns[1] <= turns[0] + 1, "{turns:?}");
}
