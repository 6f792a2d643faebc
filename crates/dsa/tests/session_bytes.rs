//! A session is bytes in, bytes out: however they are cut, changed or drained, answers stay whole, in order and
//! bounded, and nothing hangs.

mod common;

use common::*;
use dsa::{Session, State};
use model::ResultCode::*;
use model::Scope;
use model::limits::{SESSION_OUT_BYTES_MAX, SESSION_SEARCHES_MAX};
use proptest::prelude::*;
use proto::op::ModifyKind;
use proto::{Control, Frame, Reply, Request, frame};
use std::cell::RefCell;

const ALL: &str = "(objectClass=*)";
const GROUP: &str = "cn=everybody,ou=groups,dc=example";

/// One request of a dialogue, picked by number.
fn pick(client: &mut Client, kind: u8, n: u8) -> Vec<u8> {
    let name = format!("cn=p{},ou=people,dc=example", n % 8);
    let filter =
        proto::filter_string::parse(format!("(|(uid=ada)(cn=p{}))", n % 8).as_bytes()).expect("a filter");
    let list =
        attributes_of(&[("objectClass", &["person"]), ("sn", &["X"]), ("description", &["some text"])]);
    let attributes = proto::list::Attributes::parse(&list).expect("just encoded");
    let value = format!("value {n}");
    let changes = changes_of(&[(ModifyKind::Replace, "description", &[&value])]);
    let changes = proto::op::Changes::parse(&changes).expect("just encoded");
    let assertion = model::filter::Assertion { attribute: b"description", value: value.as_bytes() };
    let new_rdn = format!("cn=p{}", (n / 8) % 8);
    let critical = [Control { oid: b"1.2.3", critical: n.is_multiple_of(2), value: None }];
    let request = match kind % 11 {
        0 | 1 => Request::Add(proto::op::Add { dn: name.as_bytes(), attributes }),
        2 => Request::Delete(name.as_bytes()),
        3 => Request::Modify(proto::op::Modify { dn: name.as_bytes(), changes }),
        4 => Request::Compare(proto::op::Compare { dn: name.as_bytes(), assertion }),
        5 => Request::ModifyDn(proto::op::ModifyDn {
            dn: name.as_bytes(),
            new_rdn: new_rdn.as_bytes(),
            delete_old_rdn: n.is_multiple_of(2),
            new_superior: n.is_multiple_of(3).then_some(b"ou=groups,dc=example"),
        }),
        6 => Request::Search(search_for("dc=example", Scope::Subtree, filter.filter(), &[])),
        7 => Request::Search(search_for(&name, Scope::Base, model::Filter::Present(b"objectClass"), &[])),
        8 => Request::Abandon(i32::from(n)),
        9 if n < 50 => bind(ADA, if n < 20 { "lace" } else { "wrong" }),
        9 => bind(ROOT_DN, PASSWORD),
        _ => Request::Extended(proto::op::Extended { oid: proto::ext::who_am_i::OID, value: None }),
    };
    client.encode(&request, if n > 230 { &critical } else { &[] }).1
}

/// Feeds a stream as a socket would bring it: in these pieces, with what was not consumed in front.
fn in_pieces(client: &mut Client, stream: &[u8], sizes: &[usize]) -> (Vec<u8>, State) {
    let (mut held, mut all, mut rest, mut state) = (Vec::new(), Vec::new(), stream, State::Idle);
    for size in sizes.iter().cycle() {
        let (piece, later) = rest.split_at((*size).clamp(1, rest.len().max(1)).min(rest.len()));
        rest = later;
        held.extend_from_slice(piece);
        loop {
            let mut out = Vec::new();
            let feed = client.session.feed(&mut client.worker, &held, &mut out);
            held.drain(..feed.consumed);
            state = feed.state;
            while state == State::Busy {
                state = client.session.step(&mut client.worker, &mut out);
            }
            all.append(&mut out);
            if feed.consumed == 0 || held.is_empty() || state == State::Close {
                break;
            }
        }
        if rest.is_empty() || state == State::Close {
            break;
        }
    }
    (all, state)
}

/// Answers, with the entries of each search in one order. RFC 4511 section 4.5.2 promises none, and the ids that give it
/// depend on when readers left, which is another time where a stream is cut.
fn entries_sorted(bytes: &[u8]) -> Vec<String> {
    let is_entry = |answer: &Answer| matches!(answer.what, What::Entry(..));
    let mut all: Vec<_> = answers(bytes).iter().map(|a| (a.id, is_entry(a), format!("{a:?}"))).collect();
    all.chunk_by_mut(|a, b| a.0 == b.0 && a.1 && b.1).for_each(<[_]>::sort_unstable);
    all.into_iter().map(|(.., text)| text).collect()
}

thread_local! {
    /// One directory for all cases that change it as they like.
    static PLAYGROUND: RefCell<Client> = RefCell::new(Client::new());
}

/// The second modify of an entry in a bundle finds that what was made ready for it is out of date.
/// A message id may be written longer than it must be: X.690 section 8.3.2 forbids it, but it is let through.
#[test]
fn updates_with_long_message_ids_are_answered() {
    let mut client = Client::new();
    let mut changed = changes_of(&[(ModifyKind::Replace, "sn", &["x"])]);
    changed = [tlv(proto::tag::OCTET_STRING, ADA.as_bytes()), tlv(proto::tag::SEQUENCE, &changed)].concat();
    for op in [tlv(proto::tag::MODIFY, &changed), tlv(proto::tag::DELETE, ADA.as_bytes())] {
        let id = [2, 5, 0, 0, 0, 0, 7];
        let (all, _) = client.raw(&tlv(proto::tag::SEQUENCE, &[&id[..], &op].concat()));
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].id, 7);
    }
}

#[test]
fn an_update_takes_one_stamp_however_it_is_applied() {
    let (mut whole, mut apart) = (Client::new(), Client::new());
    let mut stream = Vec::new();
    for text in ["a", "b", "c"] {
        let changes = changes_of(&[(ModifyKind::Replace, "sn", &[text])]);
        let changes = proto::op::Changes::parse(&changes).expect("just encoded");
        let request = Request::Modify(proto::op::Modify { dn: ADA.as_bytes(), changes });
        let (_, bytes) = whole.encode(&request, &[]);
        apart.exchange(&bytes);
        stream.extend(bytes);
    }
    whole.exchange(&stream);
    let csn = |client: &mut Client| client.read(ADA, &["entryCSN"]).values("entryCSN");
    assert_eq!(csn(&mut whole), csn(&mut apart));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_mean_nothing(
        picks in proptest::collection::vec(any::<(u8, u8)>(), 1..60),
        sizes in proptest::collection::vec(1usize..200, 1..20),
    ) {
        let mut whole = Client::new();
        let mut cut = Client::new();
        let stream: Vec<u8> = picks.iter().flat_map(|(kind, n)| pick(&mut whole, *kind, *n)).collect();
        let (expected, end) = whole.exchange(&stream);
        let (bytes, state) = in_pieces(&mut cut, &stream, &sizes);
        prop_assert_eq!(entries_sorted(&bytes), entries_sorted(&expected));
        prop_assert_eq!(state, end);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever comes, nothing panics or hangs, and what is answered decodes.
    #[test]
    fn noise_is_survived(
        picks in proptest::collection::vec(any::<(u8, u8)>(), 1..20),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..8),
        sizes in proptest::collection::vec(1usize..400, 1..6),
    ) {
        PLAYGROUND.with_borrow_mut(|client| {
            client.session = Session::new(&mut client.worker);
            client.bind_root();
            let mut stream: Vec<u8> = picks.iter().flat_map(|(kind, n)| pick(client, *kind, *n)).collect();
            for (at, byte, kind) in &changes {
                let at = at.index(stream.len());
                match kind {
                    0 => stream[at] = *byte,
                    1 => stream.insert(at, *byte),
                    2 => stream[at] ^= 1 << (byte % 8),
                    _ => drop(stream.remove(at)),
                }
                if stream.is_empty() {
                    break;
                }
            }
            let (out, state) = in_pieces(client, &stream, &sizes);
            let all = answers(&out);
            let last = all.last().map(|answer| answer.id);
            assert!(state != State::Busy);
            assert!(all.iter().rev().skip(1).all(|answer| answer.id != 0), "a notice is the last word: {last:?}");
        });
    }
}

/// Modifies of one entry in one bundle: each works on what the ones before it left, whatever was made ready ahead.
#[test]
fn updates_of_a_bundle_build_on_each_other() {
    let mut client = Client::new();
    let modify = |client: &mut Client, name: &str, attribute: &str, value: &str| {
        let (dn, list) = (format!("cn={name},ou=people,dc=example"), [value]);
        let changes = changes_of(&[(ModifyKind::Replace, attribute, &list[..])]);
        let changes = proto::op::Changes::parse(&changes).expect("just encoded");
        client.encode(&Request::Modify(proto::op::Modify { dn: dn.as_bytes(), changes }), &[]).1
    };
    for name in ["a", "b"] {
        let given: Given<'_> = &[
            ("objectClass", &["person"]),
            ("sn", &["0"]),
            ("description", &["0"]),
            ("telephoneNumber", &["0"]),
        ];
        client.must_add(&format!("cn={name},ou=people,dc=example"), given);
    }
    let rename = |client: &mut Client, old: &str, new_rdn: &str| {
        let dn = format!("cn={old},ou=people,dc=example");
        let (dn, new_rdn) = (dn.as_bytes(), new_rdn.as_bytes());
        let rename = proto::op::ModifyDn { dn, new_rdn, delete_old_rdn: true, new_superior: None };
        client.encode(&Request::ModifyDn(rename), &[]).1
    };
    let bundle = [
        modify(&mut client, "a", "sn", "1"),
        modify(&mut client, "b", "sn", "2"),
        modify(&mut client, "a", "description", "3"),
        modify(&mut client, "a", "sn", "4"),
        modify(&mut client, "a", "telephoneNumber", "not a number!"),
        modify(&mut client, "missing", "sn", "5"),
        modify(&mut client, "b", "telephoneNumber", "6"),
        rename(&mut client, "a", "cn=c"),
        rename(&mut client, "b", "cn=a"),
        modify(&mut client, "a", "description", "7"),
        modify(&mut client, "c", "telephoneNumber", "8"),
    ];
    let (all, _) = client.raw(&bundle.concat());
    let mut expected = vec![Success; bundle.len()];
    (expected[4], expected[5]) = (InvalidAttributeSyntax, NoSuchObject);
    assert_eq!(codes(&all), expected);
    assert!(all.windows(2).all(|two| two[0].id + 1 == two[1].id), "answers come in order");
    for (name, sn, description, number) in [("a", "2", "7", "6"), ("c", "4", "3", "8")] {
        for (attribute, value) in [("sn", sn), ("description", description), ("telephoneNumber", number)] {
            let dn = format!("cn={name},ou=people,dc=example");
            assert_eq!(client.compare(&dn, attribute, value).code, CompareTrue, "{attribute} of {name}");
        }
    }
}

/// An entry with subordinates becomes a referral object, and in the same bundle one of these is modified.
#[test]
fn a_referral_object_made_in_the_same_bundle_refers() {
    let mut config = config();
    config.store.schema_check = false;
    let mut client = Client::with(config);
    client.bind_root();
    let modify = |client: &mut Client, dn: &str, changes: &[(ModifyKind, &str, &[&str])]| {
        let list = changes_of(changes);
        let changes = proto::op::Changes::parse(&list).expect("just encoded");
        client.encode(&Request::Modify(proto::op::Modify { dn: dn.as_bytes(), changes }), &[]).1
    };
    let refer: [(ModifyKind, &str, &[&str]); 2] =
        [(ModifyKind::Replace, "objectClass", &["referral", "top"]), (ModifyKind::Add, "ref", &["ldap://h"])];
    let bundle = [
        modify(&mut client, ADA, &[(ModifyKind::Replace, "sn", &["Before"])]),
        modify(&mut client, "ou=people,dc=example", &refer),
        modify(&mut client, ADA, &[(ModifyKind::Replace, "sn", &["After"])]),
        modify(&mut client, "uid=grace,ou=people,dc=example", &[(ModifyKind::Replace, "sn", &["After"])]),
    ];
    let (all, _) = client.raw(&bundle.concat());
    assert_eq!(codes(&all), [Success, Success, Referral, Referral]);
}

/// Pages are disjoint, complete, of the size asked for, and the last one has no cookie.
#[test]
fn ten_thousand_entries_in_pages() {
    let mut client = Client::new();
    add_people(&mut client, 10_000);
    for size in [1000, 777, 4999] {
        let (mut seen, mut cookie, mut pages) = (Vec::new(), Vec::new(), 0);
        loop {
            let page = client.page("dc=example", Scope::Subtree, ALL, size, &cookie);
            assert_eq!(page.end.code, Success, "{}", page.end.text);
            seen.extend(page.entries.into_iter().map(|(dn, _)| dn));
            pages += 1;
            cookie = page.cookie.expect("every page has the control");
            if cookie.is_empty() {
                break;
            }
            assert_eq!(seen.len(), pages * size as usize);
        }
        assert_eq!((seen.len(), pages), (10_005, 10_005usize.div_ceil(size as usize)));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 10_005);
    }
}

/// A cookie is of its search alone, and entries that come and go meanwhile disturb nobody else.
#[test]
fn pages_while_the_directory_changes() {
    let mut client = Client::new();
    add_people(&mut client, 50);
    let first = client.page("ou=people,dc=example", Scope::One, "(sn=*)", 20, b"");
    let cookie = first.cookie.clone().expect("there is more");
    for (base, filter) in [("ou=groups,dc=example", "(sn=*)"), ("ou=people,dc=example", "(cn=*)")] {
        assert_eq!(client.page(base, Scope::One, filter, 20, &cookie).end.code, UnwillingToPerform);
    }
    assert_eq!(
        client.page("ou=people,dc=example", Scope::One, "(sn=*)", 20, b"made up").end.code,
        UnwillingToPerform
    );
    let last_seen = &first.entries.last().expect("it was full").0;
    assert_eq!(client.delete(last_seen).code, Success);
    let second = client.page("ou=people,dc=example", Scope::One, "(sn=*)", 100, &cookie);
    assert_eq!((second.entries.len(), second.cookie), (32, Some(vec![])));
    let given_up = client.page("ou=people,dc=example", Scope::One, "(sn=*)", 0, &cookie);
    assert_eq!((given_up.end.code, given_up.entries.len()), (Success, 0));
}

fn begin_search(client: &mut Client, base: &str, scope: Scope, attributes: &[&str]) -> (i32, Vec<u8>) {
    let selection = selection(attributes);
    client.encode(
        &Request::Search(search_for(base, scope, model::Filter::Present(b"objectClass"), &selection)),
        &[],
    )
}

/// Answers of a client that takes only so many bytes at a time, and the most that waited for it.
fn drained_slowly(client: &mut Client, input: &[u8], at_once: usize) -> (Vec<u8>, usize) {
    let (mut all, mut out, mut at, mut peak) = (Vec::new(), Vec::new(), 0, 0);
    let mut state = State::Busy;
    loop {
        if out.is_empty() || state == State::Idle {
            let feed = client.session.feed(&mut client.worker, &input[at..], &mut out);
            at += feed.consumed;
            state = feed.state;
        }
        if state == State::Busy {
            state = client.session.step(&mut client.worker, &mut out);
        }
        peak = peak.max(out.len());
        all.extend(out.drain(..at_once.min(out.len())));
        if state == State::Idle && at == input.len() {
            all.append(&mut out);
            return (all, peak);
        }
        while state == State::Idle && !out.is_empty() {
            all.extend(out.drain(..at_once.min(out.len())));
        }
    }
}

/// Adds a group of so many members, none of which exists.
fn add_group(client: &mut Client, members: usize) {
    client
        .must_add(GROUP, &[("objectClass", &["groupOfNames"]), ("member", &["uid=m0,ou=people,dc=example"])]);
    let names: Vec<String> = (1..members).map(|n| format!("uid=m{n},ou=people,dc=example")).collect();
    for some in names.chunks(5000) {
        let values: Vec<&str> = some.iter().map(String::as_str).collect();
        let end = client.modify(GROUP, &[(ModifyKind::Add, "member", &values)]);
        assert_eq!(end.code, Success, "{}", end.text);
    }
}

/// A group is streamed with a bounded buffer; what stands behind it in the bundle is answered behind it.
#[test]
fn a_large_group_is_streamed() {
    const MEMBERS: usize = 200_000;
    let mut client = Client::new();
    add_group(&mut client, MEMBERS);
    let mut input = Vec::new();
    let mut expected = Vec::new();
    for attributes in [&["*"][..], &["1.1"], &["member", "cn"], &["cn"]] {
        let (id, bytes) = begin_search(&mut client, GROUP, Scope::Base, attributes);
        input.extend(bytes);
        expected.extend([id, id]);
        let (id, bytes) = client.encode(
            &Request::Extended(proto::op::Extended { oid: proto::ext::who_am_i::OID, value: None }),
            &[],
        );
        input.extend(bytes);
        expected.push(id);
    }
    for at_once in [64 << 10, 10_000] {
        let (out, peak) = drained_slowly(&mut client, &input, at_once);
        assert!(peak <= SESSION_OUT_BYTES_MAX, "{peak} bytes waited");
        let all = answers(&out);
        assert_eq!(all.iter().map(|answer| answer.id).collect::<Vec<_>>(), expected);
        let What::Entry(_, attributes) = &all[0].what else { panic!("not an entry") };
        let member = attributes.iter().find(|(name, _)| name == "member").expect("it was asked for");
        let mut values = member.1.clone();
        values.sort_unstable();
        values.dedup();
        assert_eq!(values.len(), MEMBERS);
    }
    let found =
        client.search("dc=example", Scope::Subtree, "(member=uid=m77777,ou=people,dc=example)", &["1.1"]);
    assert_eq!(found.dns(), [GROUP]);
}

/// A group of a million members is read whole, changed, and found by each of them. Its answer is longer than a message that
/// a client may send, so that its values are counted without decoding it.
#[test]
fn a_group_of_a_million_members() {
    const MEMBERS: usize = 1_000_000;
    let mut client = Client::new();
    add_group(&mut client, MEMBERS);
    let one = "uid=new,ou=people,dc=example";
    assert_eq!(client.modify(GROUP, &[(ModifyKind::Add, "member", &[one])]).code, Success);
    assert_eq!(client.modify(GROUP, &[(ModifyKind::Add, "member", &[one])]).code, AttributeOrValueExists);
    assert_eq!(
        client.search("dc=example", Scope::Subtree, &format!("(member={one})"), &["1.1"]).dns(),
        [GROUP]
    );
    assert_eq!(client.modify(GROUP, &[(ModifyKind::Delete, "member", &[one])]).code, Success);
    for n in [0, 77_777, MEMBERS - 1] {
        let filter = format!("(member=uid=m{n},ou=people,dc=example)");
        assert_eq!(client.search("dc=example", Scope::Subtree, &filter, &["1.1"]).dns(), [GROUP]);
    }
    let (_, input) = begin_search(&mut client, GROUP, Scope::Base, &["member"]);
    let (out, peak) = drained_slowly(&mut client, &input, 64 << 10);
    assert!(peak <= SESSION_OUT_BYTES_MAX, "{peak} bytes waited");
    assert_eq!(out.windows(5).filter(|at| at == b"uid=m").count(), MEMBERS);
}

/// A suspended search is initiated, but not completed until its end was written.
#[test]
fn a_search_in_progress_is_not_completed() {
    let mut client = Client::new();
    add_group(&mut client, 100_000);
    let mut observer = Client::of(&client.dsa);
    observer.bind_root();
    let mut active = |ms: u64| {
        observer.now.monotonic_ns += ms * 1_000_000;
        observer.worker.tick(observer.now);
        let found = observer.read("cn=Search,cn=Operations,cn=Monitor", &["+"]);
        let metric = |name| found.values(name).expect("it is there")[0].parse::<u64>().expect("a number");
        metric("monitorOpInitiated") - metric("monitorOpCompleted")
    };
    assert_eq!(active(1000), 0);
    let (_, input) = begin_search(&mut client, GROUP, Scope::Base, &["member"]);
    let mut out = Vec::new();
    let feed = client.session.feed(&mut client.worker, &input, &mut out);
    assert_eq!(feed.state, State::Busy);
    assert_eq!(active(1000), 1);
    while client.session.step(&mut client.worker, &mut out) == State::Busy {
        out.clear();
    }
    assert_eq!(active(1000), 0);
    client.session.feed(&mut client.worker, &input, &mut out);
    assert_eq!(active(1000), 1);
    let Client { session, mut worker, .. } = client;
    session.close(&mut worker);
    assert_eq!(active(1000), 0, "its client is gone");
}

/// Entries that are large without a set of values fill the buffer only so far before it must be sent.
#[test]
fn large_entries_do_not_pile_up() {
    let mut client = Client::new();
    let text = "x".repeat(300_000);
    assert_eq!(client.modify(ADA, &[(ModifyKind::Add, "description", &[&text])]).code, Success);
    let mut input = Vec::new();
    let ids: Vec<i32> = (0..40)
        .map(|_| {
            let (id, bytes) = begin_search(&mut client, ADA, Scope::Base, &["description"]);
            input.extend(bytes);
            id
        })
        .collect();
    let (out, peak) = drained_slowly(&mut client, &input, 50_000);
    assert!(peak <= SESSION_OUT_BYTES_MAX, "{peak} bytes waited");
    let all = answers(&out);
    assert_eq!(
        all.iter().map(|answer| answer.id).collect::<Vec<_>>(),
        ids.iter().flat_map(|id| [*id, *id]).collect::<Vec<_>>()
    );
}

/// Without a slot for one more read point there is no half-written entry, but busy.
#[test]
fn no_reader_is_left_for_a_large_group() {
    let mut client = Client::new();
    add_group(&mut client, 20_000);
    let mut readers = Vec::new();
    while let Some(reader) = store::Reader::register(client.dsa.shard()) {
        readers.push(reader);
    }
    let found = client.read(GROUP, &["member"]);
    assert_eq!((found.end.code, found.entries.len()), (Busy, 0));
    let found = client.search("dc=example", Scope::Subtree, ALL, &["member"]);
    assert_eq!(found.end.code, Busy);
    drop(readers);
    assert_eq!(client.read(GROUP, &["member"]).entries[0].1[0].1.len(), 20_000);
}

/// Many long searches at once take turns; each gets all its entries, or busy if there are too many.
#[test]
fn long_searches_take_turns() {
    let mut client = Client::new();
    add_people(&mut client, 3000);
    let mut input = Vec::new();
    let ids: Vec<i32> = (0..SESSION_SEARCHES_MAX + 6)
        .map(|_| {
            let (id, bytes) = begin_search(&mut client, "dc=example", Scope::Subtree, &["1.1"]);
            input.extend(bytes);
            id
        })
        .collect();
    let mut out = Vec::new();
    let mut at = 0;
    let mut all = Vec::new();
    while at < input.len() {
        let feed = client.session.feed(&mut client.worker, &input[at..], &mut out);
        assert!(feed.consumed > 0, "nothing is half written");
        at += feed.consumed;
        all.append(&mut out);
    }
    while client.session.step(&mut client.worker, &mut out) == State::Busy {
        assert!(out.len() <= SESSION_OUT_BYTES_MAX);
        all.append(&mut out);
    }
    all.append(&mut out);
    let all = answers(&all);
    let mut busy = 0;
    for id in ids {
        let found = found(id, all.iter().filter(|answer| answer.id == id).cloned().collect());
        match found.end.code {
            Success => assert_eq!(found.entries.len(), 3005),
            Busy => busy += 1,
            code => panic!("{code}"),
        }
    }
    assert_eq!(busy, 6);
}

/// A search goes on at the read point it began with, whatever is written meanwhile; abandoned, it is gone.
#[test]
fn a_long_search_sees_one_state() {
    let mut client = Client::new();
    add_people(&mut client, 3000);
    let (id, bytes) = begin_search(&mut client, "ou=people,dc=example", Scope::One, &["sn"]);
    let mut out = Vec::new();
    assert_eq!(client.session.feed(&mut client.worker, &bytes, &mut out).state, State::Busy);
    let mut writer = Client::of(&client.dsa);
    writer.bind_root();
    for n in 0..3000 {
        let dn = format!("uid=n{n},ou=people,dc=example");
        let code = match n % 3 {
            0 => writer.delete(&dn).code,
            1 => writer.modify(&dn, &[(ModifyKind::Replace, "sn", &["Changed"])]).code,
            _ => writer.rename(&dn, &format!("uid=z{n}"), true, Some("dc=example")).code,
        };
        assert_eq!(code, Success);
    }
    while client.session.step(&mut client.worker, &mut out) == State::Busy {}
    let found = found(id, answers(&out));
    assert_eq!((found.end.code, found.entries.len()), (Success, 3002));
    let unchanged = |(dn, attributes): &(String, Vec<Attribute>)| {
        dn.contains("uid=n") && attributes[0].1 == [b"Number".to_vec()]
    };
    assert_eq!(found.entries.iter().filter(|entry| unchanged(entry)).count(), 3000);
}

/// The end of a session in the midst of an entry says nothing that could not be understood.
#[test]
fn shutdown_within_an_entry() {
    let mut client = Client::new();
    add_group(&mut client, 50_000);
    let (id, bytes) = begin_search(&mut client, GROUP, Scope::Base, &["member"]);
    let mut out = Vec::new();
    client.session.feed(&mut client.worker, &bytes, &mut out);
    client.session.step(&mut client.worker, &mut out);
    assert!(matches!(frame(&out), Ok(Frame::Incomplete { .. })));
    let before = out.len();
    client.session.shutdown(&mut out);
    assert_eq!(out.len(), before, "an entry of {id} is half written");
    assert!(Reply::decode(&out).is_err());
}
