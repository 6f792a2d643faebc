//! Row L1: what rules let clients take of the server, each limit at its edge and one beyond; by user, group and network, for sessions that are
//! open already.

use super::*;
use ResultCode::{
    AdminLimitExceeded, Busy, SizeLimitExceeded, Success, TimeLimitExceeded, UnwillingToPerform,
};
use dsa::config::Listener;
use dsa::{Session, State};
use model::Scope;
use proto::Request;
use proto::op::ModifyKind::{Add, Delete, Replace};
use std::net::SocketAddr;

const PEOPLE: &str = "ou=people,dc=example";
const LIST: &str = "cn=list,ou=groups,dc=example";
/// Entries below `ou=people` beside ada, grace and bob.
const NUMBERS: usize = 20;
const ADVICE: &str = "no index answers (sn=Number); to add one: pando index build --url URL sn:eq";

/// A client of ada's, over 23 people.
fn among_people() -> Client {
    let mut config = ruled(&[]);
    // Passwords may come in the clear from other machines.
    config.settings.configured.security.password_strength = Some(0);
    let mut client = Client::with(config);
    client.must_add(BOB, &[("objectClass", &["inetOrgPerson"]), ("cn", &["Bob"]), ("sn", &["Tail"])]);
    add_people(&mut client, NUMBERS);
    client.must_bind(ADA, "lace");
    client
}

impl Client {
    fn limit(&mut self, rules: &[&str]) {
        self.must_modify("cn=config", &[(Replace, "pandoLimitsRule", rules)]);
    }

    fn numbers(&mut self) -> (ResultCode, usize, String) {
        let found = self.search(PEOPLE, Scope::One, "(sn=Number)", &["1.1"]);
        (found.end.code, found.entries.len(), found.end.text)
    }

    /// Begins a search, and leaves it where its first slice ends.
    fn begin_search(&mut self, filter: &str) -> (State, Vec<u8>) {
        let filter = proto::filter_string::parse(filter.as_bytes()).expect("a filter");
        let none = selection(&["1.1"]);
        let search = search_for("dc=example", Scope::Subtree, filter.filter(), &none);
        let (_, bytes) = self.encode(&Request::Search(search), &[]);
        let mut out = Vec::new();
        let feed = self.session.feed(&mut self.worker, &bytes, &mut out);
        assert_eq!(feed.consumed, bytes.len());
        (feed.state, out)
    }
}

#[test]
fn l1_each_limit_at_its_edge() {
    let mut client = among_people();
    let mut root = client.root();
    assert_eq!(client.numbers().0, Success, "no rule");
    for (rule, code, entries) in [
        ("a: users; size=20", Success, NUMBERS),
        ("a: users; size=19", SizeLimitExceeded, 19),
        ("a: users; look-through=23", Success, NUMBERS),
        ("a: users; look-through=22", AdminLimitExceeded, 19),
        ("a: users; look-through=1", AdminLimitExceeded, 0),
        ("a: users; look-through=1 unindexed=allow", Success, NUMBERS),
        ("a: users; unindexed=refuse", Success, NUMBERS),
        ("a: users; look-through=22 unindexed=refuse", AdminLimitExceeded, 19),
        ("a: anonymous; size=1", Success, NUMBERS),
    ] {
        root.limit(&[rule]);
        let found = client.numbers();
        assert_eq!(found.0, code, "{rule}: {found:?}");
        assert!(found.1 >= entries.saturating_sub(3) && found.1 <= entries, "{rule}: {found:?}");
        let advised = found.2.contains(ADVICE);
        assert_eq!(advised, code == AdminLimitExceeded, "{rule}: {found:?}");
    }
    // The root DN is not bound by any.
    root.limit(&["a: anyone; size=1 look-through=1 page=1 unindexed=refuse"]);
    assert_eq!(root.numbers().1, NUMBERS);
    // The client's own number counts if it is less.
    root.limit(&["a: users; size=5"]);
    for (asked, code, entries) in [(4, SizeLimitExceeded, 4), (6, SizeLimitExceeded, 5)] {
        let limit = |search: &mut proto::op::Search<'_>| search.size_limit = asked;
        let found = client.search_with(PEOPLE, Scope::One, "(sn=Number)", &["1.1"], limit, &[]);
        assert_eq!((found.end.code, found.entries.len()), (code, entries), "{asked}");
    }
    // A few candidates of an index are candidates, too; also of a search that is like one before it.
    root.must_modify("uid=n1,ou=people,dc=example", &[(Add, "uid", &["n2"])]);
    for (rule, code, entries) in [
        ("a: users; look-through=2", Success, 2),
        ("a: users; look-through=1", AdminLimitExceeded, 1),
        ("a: users; size=1", SizeLimitExceeded, 1),
    ] {
        root.limit(&[rule]);
        for _ in 0..3 {
            let found = client.search("dc=example", Scope::Subtree, "(uid=n2)", &["1.1"]);
            assert_eq!((found.end.code, found.entries.len()), (code, entries), "{rule}: {found:?}");
            assert!(!found.end.text.contains("no index"), "{rule}: {found:?}");
        }
    }
    root.limit(&["a: users; time=7"]);
    assert_eq!(client.numbers().0, Success);
}

#[test]
fn l1_a_page_is_cut_to_the_limit() {
    let mut client = among_people();
    let mut root = client.root();
    root.limit(&["a: users; page=7"]);
    for (asked, sizes) in
        [(7, vec![7, 7, 6]), (8, vec![7, 7, 6]), (i32::MAX, vec![7, 7, 6]), (6, vec![6, 6, 6, 2])]
    {
        let (mut cookie, mut found) = (Vec::new(), Vec::new());
        loop {
            let page = client.page(PEOPLE, Scope::One, "(sn=Number)", asked, &cookie);
            assert_eq!(page.end.code, Success, "{asked}");
            found.push(page.entries.len());
            cookie = page.cookie.expect("every end has the control");
            if cookie.is_empty() {
                break;
            }
        }
        assert_eq!(found, sizes, "{asked}");
    }
    // The end of a page that was not complete has a text, too.
    root.limit(&["a: users; look-through=5"]);
    let page = client.page(PEOPLE, Scope::One, "(sn=Number)", 100, b"");
    assert_eq!((page.end.code, page.cookie), (AdminLimitExceeded, Some(Vec::new())));
    assert!(page.end.text.contains(ADVICE), "{}", page.end.text);
}

/// The first rule that fits decides, all that it does not name is as without a rule, and a change holds for open sessions.
#[test]
fn l1_by_user_group_and_network() {
    let mut client = among_people();
    let mut root = client.root();
    root.limit(&[
        &format!("list: group=\"{LIST}\"; size=3"),
        "inside: peer=10.0.0.0/8; size=4",
        &format!("ada: dn=\"{ADA}\"; size=5"),
        "rest: anyone; size=6",
    ]);
    // A group that is not there: it may fit, and so makes nothing wider.
    assert_eq!(client.numbers().1, 3, "it cannot be said that ada is no member");
    root.must_add(LIST, &[("objectClass", &["groupOfNames"]), ("member", &[BOB])]);
    assert_eq!(client.numbers().1, 5);
    root.must_modify(LIST, &[(Add, "member", &[ADA])]);
    assert_eq!(client.numbers().1, 3, "at once");
    root.must_modify(LIST, &[(Delete, "member", &[ADA])]);
    assert_eq!(client.numbers().1, 5);
    let address = |text: &str| Some(text.parse::<SocketAddr>().expect("an address").into());
    for (from, size) in [("10.1.2.3:7", 4), ("11.1.2.3:7", 5)] {
        client.session =
            Session::connect(&mut client.worker, address(from), Listener::default()).expect("it is alone");
        client.must_bind(ADA, "lace");
        assert_eq!(client.numbers().1, size, "{from}");
    }
    root.must_modify("cn=config", &[(Delete, "pandoLimitsRule", &[&format!("ada: dn=\"{ADA}\"; size=5")])]);
    assert_eq!(client.numbers().1, 6);
    for (bad, said) in [
        ("x: users; sise=1", "did you mean `size`?"),
        ("x: self; size=1", "depends on an entry"),
        ("x: user-filter=\"(flavour=x)\"; size=1", "no attribute `flavour`"),
        ("rest: users; size=1", "names are unique"),
    ] {
        let end = root.modify("cn=config", &[(Add, "pandoLimitsRule", &[bad])]);
        assert_eq!(end.code, ResultCode::ConstraintViolation, "{bad}: {}", end.text);
        assert!(end.text.contains(said), "{bad}: {}", end.text);
    }
}

/// What a client may not test everywhere is not named, and neither is a secret.
#[test]
fn l1_the_text_names_nothing_hidden() {
    let hidden = "hide: base=\"uid=n1,ou=people,dc=example\" attrs=sn; users; deny=search rank=5";
    let secret = "secret: all attrs=userPassword; users; allow=search";
    let mut config = ruled(&[hidden, secret]);
    config.settings.configured.access.limits =
        access::parse_limits(&["a: users; look-through=5".to_owned()]).expect("it is sound");
    let mut client = Client::with(config);
    add_people(&mut client, NUMBERS);
    client.must_bind(ADA, "lace");
    for filter in ["(sn=Number)", "(userPassword=lace)", "(&(objectClass=person)(sn=Num*))"] {
        let end = client.search(PEOPLE, Scope::One, filter, &["1.1"]).end;
        assert_eq!(end.code, AdminLimitExceeded, "{filter}: {}", end.text);
        assert!(end.text.ends_with("; no index answers the filter"), "{filter}: {}", end.text);
    }
    for (filter, named) in [
        ("(&(cn=x)(sn=Number))", "no index answers (cn=x); to add one: pando index build --url URL cn:eq"),
        ("(|(cn=x)(mail=*@x.com))", "no index answers (cn=x); to"),
        (
            "(&(uid=*)(description=*abc*))",
            "no index answers (description=*abc*); to add one: pando index build --url URL description:sub",
        ),
        ("(employeeNumber=*)", "URL employeeNumber:pres"),
        ("(!(cn=y))", "; no index can answer the filter"),
        ("(|(cn=x)(!(cn=y)))", "; no index can answer the filter"),
        ("(objectClass=*)", "the limit of entries to look at is reached"),
    ] {
        let end = client.search(PEOPLE, Scope::One, filter, &["1.1"]).end;
        assert_eq!(end.code, AdminLimitExceeded, "{filter}: {}", end.text);
        assert!(end.text.contains(named), "{filter}: {}", end.text);
        assert_eq!(filter == "(objectClass=*)", !end.text.contains("no index"), "{filter}: {}", end.text);
    }
}

/// Many candidates: an unindexed search is refused where a rule says so, a search ends in time, and a name has so many searches at once.
#[test]
fn l1_of_many_candidates() {
    let mut client = among_people();
    add_people_from_root(&mut client, 10_000);
    let mut root = client.root();
    root.limit(&["a: users; unindexed=refuse"]);
    let (code, entries, text) = client.numbers();
    assert_eq!((code, entries), (UnwillingToPerform, 0), "{text}");
    assert_eq!(text, ADVICE);
    assert_eq!(client.search(PEOPLE, Scope::One, "(uid=n2)", &["1.1"]).end.code, Success);
    let all = client.search(PEOPLE, Scope::One, "(objectClass=*)", &["1.1"]);
    assert_eq!(all.end.code, Success, "all that it looks at it returns: {}", all.end.text);
    root.limit(&["a: users; time=7 searches=1"]);
    let long = "(|(cn=*q*)(sn=*q*))";
    let mut beside = client.another();
    beside.must_bind(ADA, "lace");
    assert_eq!(client.begin_search(long), (State::Busy, Vec::new()));
    for other in [&mut beside, &mut client] {
        let (state, out) = other.begin_search(long);
        assert_eq!(codes(&answers(&out)), [Busy], "{state:?}");
    }
    // Others have searches of their own, and a search that ends at once is none that goes on.
    assert_eq!(root.begin_search(long), (State::Busy, Vec::new()));
    assert_eq!(beside.search("dc=example", Scope::Subtree, "(uid=n2)", &["1.1"]).end.code, Success);
    client.now.monotonic_ns += 6_999_000_000;
    client.worker.tick(client.now);
    let mut out = Vec::new();
    assert_eq!(client.session.step(&mut client.worker, &mut out), State::Busy);
    client.now.monotonic_ns += 1_000_000;
    client.worker.tick(client.now);
    assert_eq!(client.session.step(&mut client.worker, &mut out), State::Idle);
    assert_eq!(codes(&answers(&out)), [TimeLimitExceeded]);
    assert_eq!(beside.begin_search(long), (State::Busy, Vec::new()), "the other has ended");
}

/// As [`add_people`], for those that are there beside the first.
fn add_people_from_root(client: &mut Client, count: usize) {
    let mut root = client.root();
    for n in 0..count {
        let dn = format!("uid=m{n},ou=people,dc=example");
        root.must_add(&dn, &[("objectClass", &["person", "uidObject"]), ("cn", &["x"]), ("sn", &["Number"])]);
    }
}

/// A second's worth is taken at once, then the rest waits: nothing is refused.
#[test]
fn l1_a_client_that_is_too_fast_waits() {
    let mut client = among_people();
    client.root().limit(&["a: users; rate=50"]);
    let one = |client: &mut Client| client.encode(&bind(ADA, "lace"), &[]).1;
    let input: Vec<u8> = (0..200).flat_map(|_| one(&mut client)).collect();
    let (mut at, mut answered, mut waits) = (0, Vec::new(), Vec::new());
    while at < input.len() {
        let mut out = Vec::new();
        let feed = client.session.feed(&mut client.worker, &input[at..], &mut out);
        at += feed.consumed;
        answered.push(answers(&out).len());
        let due_ns = client.session.due_ns().expect("it has a pace");
        waits.push(due_ns.saturating_sub(client.now.monotonic_ns) / 1_000_000);
        client.at(dsa_now(client.now, due_ns));
    }
    assert_eq!(answered.iter().sum::<usize>(), 200);
    assert!(answered[0] > 50 && answered[0] < 90 && answered[1] <= 40, "{answered:?}");
    let total: u64 = waits.iter().sum();
    assert!((2900..=3000).contains(&total), "150 of them take three seconds: {waits:?}");
    // Bytes of answers are counted, too, and a client gains nothing by another rule.
    client.root().limit(&["a: users; bytes-per-second=1KiB"]);
    let found = client.search(PEOPLE, Scope::One, "(sn=Number)", &[]);
    assert_eq!((found.end.code, found.entries.len()), (Success, NUMBERS));
    let due_ns = client.session.due_ns().expect("it has a pace");
    assert!(due_ns > client.now.monotonic_ns + 1_000_000_000, "{due_ns}");
    client.root().limit(&[]);
    assert_eq!(client.numbers().0, Success);
    assert_eq!(client.session.due_ns(), None);
}

fn dsa_now(now: env::clock::Now, monotonic_ns: u64) -> env::clock::Now {
    env::clock::Now { monotonic_ns: monotonic_ns.max(now.monotonic_ns), ..now }
}

/// The answer to a sorted search that looks at too much names the index that it lacks, as that to any other does.
#[test]
fn l1_a_sorted_search_looks_at_as_many() {
    use ResultCode::{UnavailableCriticalExtension, VirtualListViewError};
    use proto::control::sort::{self, SortKey};
    use proto::control::virtual_list_view::{self, Target, VirtualListView};
    let mut client = among_people();
    client.root().limit(&["a: users; look-through=10"]);
    let by = sort::encode(&[SortKey { attribute: b"uid", ordering_rule: None, reverse: false }]);
    let target = Target::ByOffset { offset: 1, content_count: 0 };
    let view = VirtualListView { before_count: 0, after_count: 2, target, context_id: None }.encode();
    let view = virtual_list_view::control(&view, true);
    for (controls, code) in [
        (vec![sort::control(&by, true)], UnavailableCriticalExtension),
        (vec![sort::control(&by, false)], AdminLimitExceeded),
        (vec![sort::control(&by, false), view], VirtualListViewError),
    ] {
        let found = client.search_with(PEOPLE, Scope::One, "(sn=Number)", &["1.1"], |_| {}, &controls);
        assert_eq!(found.end.code, code, "{}", found.end.text);
        assert!(found.end.text.contains(ADVICE), "{code:?}: {}", found.end.text);
    }
}

/// With an index a sorted search looks at entries outside of its scope, and twice at those within: it succeeds where it would without.
#[test]
fn l1_a_sorted_search_by_an_index_looks_at_as_many() {
    use proto::control::paged_results::{self, PagedResults};
    use proto::control::sort::{self, SortKey};
    let mut config = ruled(&[]);
    config.store.indexes.push(store::IndexSettings::of("uid", [store::IndexKind::Ordering]));
    let mut client = Client::with(config);
    add_people(&mut client, 600);
    const LAST: &str = "ou=last,dc=example";
    client.must_add(LAST, &[("objectClass", &["organizationalUnit"])]);
    for n in 0..150 {
        let all: Given<'_> =
            &[("objectClass", &["person", "uidObject"]), ("cn", &["x"]), ("sn", &["Number"])];
        client.must_add(&format!("uid=z{n:03},{LAST}"), all);
    }
    client.must_bind(ADA, "lace");
    let by = sort::encode(&[SortKey { attribute: b"uid", ordering_rule: None, reverse: false }]);
    let mut turn = |most: u32| {
        client.root().limit(&[&format!("a: users; look-through={most}")]);
        let (mut cookie, mut all) = (Vec::new(), 0);
        loop {
            let mut page = Vec::new();
            PagedResults { size: 20, cookie: &cookie }.encode(&mut page);
            let controls = [sort::control(&by, true), control(paged_results::OID, &page, true)];
            let found = client.search_with(LAST, Scope::One, "(sn=Number)", &["1.1"], |_| {}, &controls);
            all += found.entries.len();
            cookie = found.cookie.unwrap_or_default();
            if cookie.is_empty() {
                return (all, found.end.code, found.end.text);
            }
        }
    };
    assert_eq!(turn(150), (150, Success, String::new()));
    let (all, code, text) = turn(50);
    assert_eq!((all, code), (0, ResultCode::UnavailableCriticalExtension));
    assert!(text.contains(ADVICE), "{text}");
}
