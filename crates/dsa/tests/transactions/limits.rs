//! What transactions are kept to.

use crate::common::*;
use crate::fixture::*;
use dsa::Config;
use dsa::transaction::Choices;
use model::ResultCode::*;
use model::Scope;
use proto::Request;
use proto::control::transaction_specification;
use proto::ext::aborted_transaction;
use proto::list::Attributes;
use proto::op::Add;
use proto::op::ModifyKind::{self, Replace};
use store::Settings;

const KING: [(ModifyKind, &str, &[&str]); 1] = [(Replace, "sn", &["King"])];

fn limit(client: &Client, chosen: Choices) {
    client.dsa.transactions().put(&chosen, client.dsa.shard().schema()).expect("they are in order");
}

#[test]
fn updates_and_bytes() {
    each(|mut client| {
        for chosen in [
            Choices { updates_max: 2, ..Choices::default() },
            Choices { bytes_max: 150, ..Choices::default() },
        ] {
            limit(&client, chosen);
            let txn = client.start();
            assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
            assert_eq!(client.modify_in(&txn, "uid=grace,ou=people,dc=example", &KING).code, Success);
            assert_eq!(
                client.modify_in(&txn, "ou=people,dc=example", &[(Replace, "description", &["x"])]).code,
                AdminLimitExceeded
            );
            assert_eq!(client.commit(&txn).code, AdminLimitExceeded, "all or nothing");
            assert_eq!(client.value(ADA, "sn"), Some(vec!["Lovelace".to_owned()]));
        }
    });
}

#[test]
fn open_at_once() {
    let mut client = client(false);
    limit(&client, Choices { open_max: 2, ..Choices::default() });
    let mut other = client.another();
    let first = client.start();
    let _second = other.start();
    assert_eq!(client.extended(proto::ext::start_transaction::OID, None).code, Busy);
    assert_eq!(client.settle(&first, false).code, Success);
    client.start();
    // A session that ends gives its place back.
    let Client { session, mut worker, .. } = other;
    session.close(&mut worker);
    client.start();
    limit(&client, Choices { open_max: 100, ..Choices::default() });
    let opened =
        (0..20).take_while(|_| client.extended(proto::ext::start_transaction::OID, None).code == Success);
    assert_eq!(opened.count(), 14, "a session has 16 at most");
}

/// One identity has a quarter of all transactions, and some are for the root DN alone.
#[test]
fn nobody_takes_all() {
    let mut root = client(false);
    limit(&root, Choices { open_max: 100, ..Choices::default() });
    let begin = |client: &mut Client| client.extended(proto::ext::start_transaction::OID, None).code;
    for name in ["bob", "eve", "joe"] {
        let attributes: Given<'_> =
            &[("objectClass", &["person"]), ("cn", &[name]), ("sn", &["x"]), ("userPassword", &["pw"])];
        root.must_add(&format!("cn={name},ou=people,dc=example"), attributes);
    }
    let open = |dn: &str, password: &str| {
        let mut clients = Vec::new();
        let mut opened = 0;
        for _ in 0..3 {
            let mut client = root.another();
            assert_eq!(client.bind(dn, password).code, Success);
            opened += (0..16).take_while(|_| begin(&mut client) == Success).count();
            clients.push(client);
        }
        (opened, clients)
    };
    let mut all = vec![open(ADA, "lace")];
    for name in ["bob", "eve", "joe"] {
        all.push(open(&format!("cn={name},ou=people,dc=example"), "pw"));
    }
    let opened: Vec<usize> = all.iter().map(|(opened, _)| *opened).collect();
    assert_eq!(opened, [25, 25, 25, 15], "the last tenth is the root DN's");
    assert_eq!(begin(&mut root), Success);
    let (_, clients) = all.remove(0);
    for Client { session, mut worker, .. } in clients {
        session.close(&mut worker);
    }
    assert_eq!(begin(&mut all[2].1[2]), Success, "what is given back is there for others");
}

/// All transactions together have half of the memory of clients, and one alone as much as it needs.
#[test]
fn they_take_of_the_memory_of_all_clients() {
    let mut config = config();
    config.settings.configured.limits.clients.memory_bytes_max = Some(4 << 20);
    let mut first = Client::with(config);
    let mut second = first.another();
    let long = "x".repeat(100_000);
    let grow = |client: &mut Client, txn: &[u8], number: usize| {
        let list = attributes_of(&[("objectClass", &["person"]), ("sn", &[&long])]);
        let dn = format!("cn={number},ou=people,dc=example");
        let attributes = Attributes::parse(&list).expect("just encoded");
        let add = Request::Add(Add { dn: dn.as_bytes(), attributes });
        let (_, bytes) = client.encode(&add, &[transaction_specification::control(txn)]);
        codes(&client.raw(&bytes).0)
    };
    let (one, other) = (first.start(), second.start());
    let bytes = |client: &Client| client.dsa.client_memory().bytes();
    for number in 0..30 {
        assert_eq!(grow(&mut first, &one, number), [Success]);
    }
    let alone = bytes(&first);
    assert!(alone > 3 << 20, "{alone}");
    assert_eq!(grow(&mut second, &other, 30), [Success, Busy], "an answer, and a notice of the end");
    assert_eq!(second.commit(&other).code, Canceled);
    assert_eq!(bytes(&first), alone);
    assert_eq!(first.commit(&one).code, Success);
    assert_eq!(bytes(&first), 0);
    let other = second.start();
    assert_eq!(grow(&mut second, &other, 30), [Success]);
    assert_eq!(second.commit(&other).code, Success);
}

/// Too old, it is aborted by a notice, and what names it later is no new transaction.
#[test]
fn rule_4_the_server_aborts_what_is_too_old() {
    each(|mut client| {
        limit(&client, Choices { age_max_ms: 1000, implicit_begin: true, ..Choices::default() });
        assert_eq!(client.modify_in(b"old", ADA, &KING).code, Success);
        client.now.monotonic_ns += 2_000_000_000;
        client.worker.tick(client.now);
        let named = [transaction_specification::control(b"old")];
        let bytes = client.modify_bytes(ADA, &KING, &named);
        let (answers, _) = client.raw(&bytes);
        assert_eq!(codes(&answers), [TimeLimitExceeded, Canceled]);
        let What::End(notice) = &answers[0].what else { panic!("{answers:?}") };
        assert_eq!(answers[0].id, 0);
        assert_eq!(notice.oid.as_deref().map(str::as_bytes), Some(aborted_transaction::OID));
        assert_eq!(notice.value.as_deref(), Some(&b"old"[..]));
        assert_eq!(client.modify_in(b"old", ADA, &KING).code, Canceled);
        assert_eq!(client.commit(b"old").code, Canceled);
        assert_eq!(client.value(ADA, "sn"), Some(vec!["Lovelace".to_owned()]));
        assert_eq!(
            client.modify_in(b"old", ADA, &KING).code,
            Success,
            "its end was answered: the name is free"
        );
    });
}

fn add<'a>(members: &'a [&'a str]) -> [(ModifyKind, &'a str, &'a [&'a str]); 1] {
    [(ModifyKind::Add, "member", members)]
}

fn delete<'a>(members: &'a [&'a str]) -> [(ModifyKind, &'a str, &'a [&'a str]); 1] {
    [(ModifyKind::Delete, "member", members)]
}

/// Of a set with many values only those are looked at that updates name.
#[test]
fn members_of_a_big_group() {
    each(|mut client| {
        let members: Vec<String> = (0..5000).map(|n| format!("uid={n},ou=people,dc=example")).collect();
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        let group = "cn=all,ou=groups,dc=example";
        client.must_add(group, &[("objectClass", &["groupOfNames"]), ("member", &members)]);
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, group, &add(&["uid=new,ou=people,dc=example"])).code, Success);
        assert_eq!(client.modify_in(&txn, group, &delete(&["UID=4999,ou=people,dc=example"])).code, Success);
        assert_eq!(client.modify_in(&txn, group, &delete(&["uid=new,ou=people,dc=example"])).code, Success);
        assert_eq!(client.modify_in(&txn, group, &add(&["uid=4999,ou=people,dc=example"])).code, Success);
        assert_eq!(client.modify_in(&txn, group, &delete(&members[..4990])).code, Success);
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!(client.value(group, "member").map(|left| left.len()), Some(10));
        for (changes, code) in [
            (add(&["uid=4999,ou=people,dc=example"]), AttributeOrValueExists),
            (delete(&["uid=nobody,dc=example"]), NoSuchAttribute),
        ] {
            let txn = client.start();
            assert_eq!(client.modify_in(&txn, group, &changes).code, code);
            client.settle(&txn, false);
        }
    });
}

/// A set that was replaced by another is not mixed with what it was.
#[test]
fn a_big_group_that_is_replaced() {
    each(|mut client| {
        let members: Vec<String> = (0..5000).map(|n| format!("uid={n},ou=people,dc=example")).collect();
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        let others: Vec<String> = (0..100).map(|n| format!("uid=o{n},ou=people,dc=example")).collect();
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        let group = "cn=all,ou=groups,dc=example";
        client.must_add(group, &[("objectClass", &["groupOfNames"]), ("member", &members)]);
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, group, &[(Replace, "member", &others)]).code, Success);
        assert_eq!(client.modify_in(&txn, group, &delete(&members[7..8])).code, NoSuchAttribute);
        client.settle(&txn, false);
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, group, &[(Replace, "member", &others)]).code, Success);
        assert_eq!(client.modify_in(&txn, group, &add(&members[7..8])).code, Success);
        assert_eq!(client.modify_in(&txn, group, &delete(&others[..1])).code, Success);
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!(client.value(group, "member").map(|left| left.len()), Some(100));
    });
}

/// What the answer to the end brings is bounded, as that of plain updates that are logged together.
#[test]
fn reads_of_one_transaction() {
    each(|mut client| {
        let (txn, wanted) = (client.start(), wanted(&["sn"]));
        let controls = [
            transaction_specification::control(&txn),
            control(proto::control::read_entry::PRE_OID, &wanted, false),
            control(proto::control::read_entry::POST_OID, &wanted, false),
        ];
        let accepted = (0..100).take_while(|_| client.modify_with(ADA, &KING, &controls).end.code == Success);
        assert_eq!(2 * accepted.count(), model::limits::READ_ENTRIES_MAX);
        assert_eq!(client.commit(&txn).code, AdminLimitExceeded);
    });
}

/// Where the directory has little memory left, a transaction that fits for the most part does not happen for the most part.
#[test]
fn at_the_memory_limit_all_or_nothing() {
    let small = || Settings { memory_bytes_max: 24 << 20, ..config().store };
    let mut client = Client::with(Config { store: small(), ..config() });
    let long = "x".repeat(60_000);
    let shorter = |client: &mut Client, round: usize| {
        let value = "z".repeat(2_000 - round);
        client.modify("ou=people,dc=example", &[(Replace, "description", &[&value])]).code
    };
    assert_eq!(shorter(&mut client, 0), Success);
    let mut added = 0;
    while added < 1000 {
        let dn = format!("uid={added},ou=people,dc=example");
        let attributes: Given<'_> =
            &[("objectClass", &["inetOrgPerson"]), ("cn", &["x"]), ("sn", &["x"]), ("description", &[&long])];
        match client.add(&dn, attributes).code {
            Success => added += 1,
            code => {
                assert_eq!(code, AdminLimitExceeded);
                break;
            }
        }
    }
    assert!((10..1000).contains(&added), "{added}");
    let (mut done, mut refused) = (0, 0);
    for round in 0..40 {
        // A little less room is left every time.
        let lengths = [50_000 + round * 100, 64_000];
        let of = |at: usize| format!("uid={},ou=people,dc=example", (2 * round + at) % added);
        let txn = client.start();
        for (at, length) in lengths.iter().enumerate() {
            let value = "y".repeat(*length);
            assert_eq!(client.modify_in(&txn, &of(at), &[(Replace, "description", &[&value])]).code, Success);
        }
        let before: Vec<_> = (0..2).map(|at| client.value(&of(at), "description")).collect();
        let is_done = client.commit(&txn).code == Success;
        *if is_done { &mut done } else { &mut refused } += 1;
        // What the writer stale would come to light with the next change.
        assert_eq!(shorter(&mut client, round + 1), Success);
        for (at, before) in before.iter().enumerate() {
            let is_new = client.value(&of(at), "description") != *before;
            assert_eq!(is_new, is_done, "round {round}, entry {at}");
        }
    }
    assert!(refused > 0, "{done} done, {refused} refused");
}

/// How much a transaction looks at and makes is limited when its updates come, prepared or not. What is in a log happened: it is not
/// refused for its size when it is applied again, though it has to go through the overlay then.
#[test]
fn size_is_judged_when_updates_come_and_never_again() {
    const ENTRIES: usize = 2_300;
    let store = Settings { memory_bytes_max: 2 << 30, ..config().store };
    let mut client = Client::with(Config { store, ..config() });
    let long = "x".repeat(60_000);
    let dn = |n: usize| format!("uid=l{n},ou=people,dc=example");
    for n in 0..ENTRIES {
        let attributes: Given<'_> = &[
            ("objectClass", &["inetOrgPerson"]),
            ("cn", &["x"]),
            ("sn", &["x"]),
            ("audio", &[&long]),
            ("title", &["old"]),
        ];
        assert_eq!(client.add(&dn(n), attributes).code, Success);
    }
    let txn = client.start();
    let change: [(ModifyKind, &str, &[&str]); 1] = [(Replace, "title", &["new"])];
    let codes: Vec<_> = (0..ENTRIES).map(|n| client.modify_in(&txn, &dn(n), &change).code).collect();
    let taken = codes.iter().take_while(|code| **code == Success).count();
    // Each is looked at and made, with its value of 60,000 bytes and no more than 300 others: 256 MiB in all. An overlay, in which all
    // of them are where there are no prepared writes, takes up to a third more for the same entries.
    let per_entry_max = if cfg!(pando_main_road) { 2 * 80_000 } else { 2 * 60_300 };
    let bytes = 2 * 60_000 * taken as u64..per_entry_max * (taken as u64 + 1);
    assert!(bytes.contains(&(256 << 20)), "{taken} taken");
    assert_eq!(codes[taken], AdminLimitExceeded);
    assert_ne!(client.commit(&txn).code, Success);
    // An earlier version logged more than that; the last of them cannot be prepared.
    let mut messages = Vec::new();
    let mut push = |dn: &str, change: (ModifyKind, &str, &[&str])| {
        let changes = changes_of(&[change]);
        let changes = proto::op::modify::Changes::parse(&changes).expect("just encoded");
        let modify = proto::op::Modify { dn: dn.as_bytes(), changes };
        proto::Request::Modify(modify).encode(&mut messages, 1, &[]);
    };
    (0..ENTRIES).for_each(|n| push(&dn(n), change[0]));
    push(&dn(0), (ModifyKind::Add, "description", &["more"]));
    let mut applier = dsa::Applier::new(&client.dsa).expect("there are few readers");
    let (wall_ms, ids, messages) = (START.wall_ms, vec![].into(), &messages[..]);
    let command = dsa::journal::Command { wall_ms, actor: b"", ids, messages, is_transaction: true };
    applier.apply(&command, &mut Vec::new()).expect("memory is plenty");
    assert_eq!(client.value(&dn(0), "description"), Some(vec!["more".to_owned()]));
    assert_eq!(client.value(&dn(ENTRIES - 1), "title"), Some(vec!["new".to_owned()]));
}

/// Nor is it refused for the number of shapes, on whichever way it is applied: a transaction of prepared writes goes through
/// the overlay where an index is there that was not.
#[test]
fn shapes_are_judged_before_the_log_and_never_again() {
    let (mut client, log) = logged();
    let txn = client.start();
    for (dn, value) in [(ADA, "King"), ("uid=grace,ou=people,dc=example", "Murray")] {
        assert_eq!(client.modify_in(&txn, dn, &[(Replace, "sn", &[value])]).code, Success);
    }
    assert_eq!(client.commit(&txn).code, Success);
    let txn = client.start();
    assert_eq!(client.modify_in(&txn, ADA, &[(ModifyKind::Add, "l", &["Ockham"])]).code, Success);
    assert_eq!(client.commit(&txn).code, Success);
    let all =
        |client: &mut Client| client.search("dc=example", Scope::Subtree, "(objectClass=*)", &["*", "+"]);
    for attribute in ["uid", "sn"] {
        let mut config = config();
        let index =
            store::IndexSettings { attribute: attribute.to_owned(), ..config.store.indexes[0].clone() };
        config.store.indexes = vec![index];
        let mut again = Client::empty(config);
        again.dsa.shard().bound_shapes(0);
        apply(&again, &log);
        again.bind_root();
        assert_eq!(all(&mut again), all(&mut client), "with an index of {attribute}");
    }
}
