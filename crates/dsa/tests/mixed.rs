//! Bundles in which reads stand between updates, in a directory that is logged: one record, one wait, and every answer is
//! the one that the same requests get when they are sent one by one.

mod common;

use common::asks::{Ask, ask, encode, set_up, without_ids};
use common::journal::{Log, journaled};
use common::{Answer, Client, What, answers, codes, config};
use dsa::{Applier, State};
use model::{ResultCode, Scope};
use proptest::prelude::*;
use proto::op::ModifyKind;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use store::Reader;

/// Calls of a session that one exchange may take.
const CALLS_MAX: usize = 10_000;

/// Something that others do while a session is served.
type Others<'o> = &'o mut dyn FnMut();

/// Sends bytes and goes on until all are answered; between any two calls of the session others do something.
fn exchange(client: &mut Client, input: &[u8], others: Others<'_>) -> Vec<u8> {
    let (mut at, mut all, mut out) = (0, Vec::new(), Vec::new());
    let mut state = State::Idle;
    for _ in 0..CALLS_MAX {
        match state {
            State::Idle if at == input.len() => return all,
            State::Idle => {
                let feed = client.session.feed(&mut client.worker, &input[at..], &mut out);
                (at, state) = (at + feed.consumed, feed.state);
            }
            State::Busy => state = client.session.step(&mut client.worker, &mut out),
            State::Waiting => {
                (client.commit.as_ref().expect("it is logged").borrow_mut())();
                others();
                let cx = &mut Context::from_waker(Waker::noop());
                match client.session.poll_updates(&mut client.worker, cx, &mut out) {
                    Poll::Ready(next) => state = next,
                    Poll::Pending => panic!("what was submitted was answered"),
                }
            }
            State::Close | State::Secure => panic!("the session goes on"),
        }
        all.append(&mut out);
        others();
    }
    panic!("the session does not come to rest")
}

fn records(log: &Log) -> usize {
    log.lock().unwrap().len()
}

fn describe(client: &mut Client, name: &str, text: &str) -> Vec<u8> {
    encode(client, &Ask::Describe { name: name.to_owned(), texts: vec![text.to_owned()], critical: false })
}

fn read(client: &mut Client, name: &str) -> Vec<u8> {
    encode(client, &Ask::Read(name.to_owned()))
}

/// So many updates of `n1`, each with a read of it behind it.
fn updates_and_reads(client: &mut Client, count: usize) -> Vec<u8> {
    let mut requests = Vec::new();
    for n in 0..count {
        requests.extend(describe(client, "n1", &format!("d{n}")));
        requests.extend(read(client, "n1"));
    }
    requests
}

fn descriptions(answers: &[Answer]) -> Vec<String> {
    let entries = answers.iter().filter_map(|answer| match &answer.what {
        What::Entry(_, attributes) => Some(attributes),
        _ => None,
    });
    let described = entries.map(|attributes| {
        let values = attributes.iter().find(|(name, _)| name == "description").map(|(_, values)| values);
        values.map_or_else(String::new, |values| String::from_utf8_lossy(&values[0]).into_owned())
    });
    described.collect()
}

fn add(client: &mut Client, name: &str) {
    let request = encode(client, &Ask::Add { name: name.to_owned(), text: "x".to_owned() });
    assert_eq!(codes(&client.raw(&request).0), [ResultCode::Success]);
}

#[test]
fn a_bundle_is_one_record_however_it_is_mixed() {
    let (mut client, log) = journaled();
    set_up(&mut client);
    add(&mut client, "n1");
    for count in [1, 2, 20, 100, 200] {
        let before = records(&log);
        let requests = updates_and_reads(&mut client, count);
        let (answers, _) = client.raw(&requests);
        let seen: Vec<String> = (0..count).map(|n| format!("d{n}")).collect();
        assert_eq!(descriptions(&answers), seen);
        assert_eq!(records(&log) - before, 1, "{count} updates, each with a read behind it");
    }
}

/// How requests ended, in order.
fn ends(bytes: &[u8]) -> Vec<Answer> {
    answers(bytes).into_iter().filter(|answer| matches!(answer.what, What::End(_))).collect()
}

/// An update of `n1` and reads of it and of an entry of 90 KiB, sixteen times.
fn long_bundle(client: &mut Client) -> Vec<u8> {
    ["n1", "big"].into_iter().for_each(|name| add(client, name));
    let long = describe(client, "big", &"x".repeat(90 << 10));
    assert_eq!(codes(&client.raw(&long).0), [ResultCode::Success]);
    let mut requests = Vec::new();
    for n in 0..16 {
        requests.extend(describe(client, "n1", &format!("{n}")));
        requests.extend(read(client, "n1"));
        requests.extend(read(client, "big"));
    }
    requests
}

/// Are all updates of the bundle applied, and its reads ended that were left when memory was short?
fn assert_reads_ended(bytes: &[u8]) {
    let all = ends(bytes);
    let ends = codes(&all);
    assert_eq!(ends.len(), 48);
    assert!(ends.chunks(3).all(|ends| ends[0] == ResultCode::Success), "all updates are applied");
    assert_eq!(ends[46..], [ResultCode::AdminLimitExceeded; 2]);
    let What::End(last) = &all.last().expect("there are some").what else { panic!("an end is last") };
    assert!(last.text.contains("ended to free memory"), "{}", last.text);
}

/// The client takes its answers slowly, and memory is short: what its reads look at is given up.
#[test]
fn reads_that_wait_for_their_client_may_be_revoked() {
    let (mut client, _log) = journaled();
    set_up(&mut client);
    let requests = long_bundle(&mut client);
    let (dsa, mut revoked) = (Arc::clone(&client.dsa), Vec::new());
    let bytes = exchange(&mut client, &requests, &mut || {
        // Somebody changes what they see.
        revoked.extend(dsa.shard().revoke_before(u64::MAX));
    });
    assert_eq!(revoked.len(), 1, "one point for all reads of the bundle");
    assert!(codes(&ends(&bytes))[..3].iter().all(|code| *code == ResultCode::Success), "it had its turn");
    assert_reads_ended(&bytes);
    assert!(!client.dsa.shard().has_revocable_readers());
}

/// The same where the client takes nothing from before the updates are applied.
#[test]
fn reads_whose_turn_does_not_come_may_be_revoked() {
    let (mut client, _log) = journaled();
    set_up(&mut client);
    let requests = long_bundle(&mut client);
    client.dsa.shard().measure();
    let (mut out, cx) = (Vec::new(), &mut Context::from_waker(Waker::noop()));
    let feed = client.session.feed(&mut client.worker, &requests, &mut out);
    assert_eq!((feed.consumed, feed.state, out.len()), (requests.len(), State::Waiting, 0));
    assert!(client.session.poll_behind_backlog(&mut client.worker, cx).is_pending());
    (client.commit.as_ref().expect("it is logged").borrow_mut())();
    let shard = Arc::clone(client.dsa.shard());
    shard.measure();
    assert!(shard.oldest_revocable().is_none());
    assert_eq!(client.session.poll_behind_backlog(&mut client.worker, cx), Poll::Ready(State::Busy));
    assert!(
        client.session.poll_behind_backlog(&mut client.worker, cx).is_pending(),
        "there is no more to do"
    );
    let revoked = shard.revoke_oldest().expect("it may be revoked");
    assert!(revoked.bytes > 0, "the bundle's own updates have replaced what the reads hold");
    assert_eq!(client.session.step(&mut client.worker, &mut out), State::Idle);
    assert_reads_ended(&out);
    assert!(codes(&ends(&out))[1..].chunks(3).all(|ends| ends[0] == ResultCode::AdminLimitExceeded));
}

/// Reads that are done in one go are never on the list of those that may be revoked.
#[test]
fn reads_without_a_pause_take_no_lock() {
    let (mut client, _log) = journaled();
    set_up(&mut client);
    add(&mut client, "n1");
    let requests = updates_and_reads(&mut client, 100);
    let shard = Arc::clone(client.dsa.shard());
    let bytes = exchange(&mut client, &requests, &mut || assert!(!shard.has_revocable_readers()));
    assert_eq!(ends(&bytes).len(), 200);
}

/// What a read sees neither depends on what others do meanwhile nor on when its answer is fetched.
#[test]
fn reads_keep_their_point_while_answers_wait() {
    let (mut client, log) = journaled();
    set_up(&mut client);
    let mut other = Client::of(&client.dsa);
    other.bind_root();
    other.commit = client.commit.clone();
    let names: Vec<String> = (0..4).map(|n| format!("n{n}")).collect();
    names.iter().for_each(|name| add(&mut client, name));
    let long = |n: usize| format!("{n}{}", "x".repeat(90 << 10));
    let mut requests = Vec::new();
    for n in 0..16 {
        // What is asked for comes out of the log's buffer again and again: no answer fits into one turn with the next.
        requests.extend(describe(&mut client, &names[n % 4], &format!("{n}")));
        requests.extend(read(&mut client, &names[n % 4]));
        requests.extend(read(&mut client, "big"));
    }
    add(&mut client, "big");
    let first = describe(&mut client, "big", &long(0));
    assert_eq!(codes(&client.raw(&first).0), [ResultCode::Success]);
    let before = records(&log);
    let mut turns = 0;
    let bytes = exchange(&mut client, &requests, &mut || {
        turns += 1;
        let dn = format!("uid=n{},ou=people,dc=example", turns % 4);
        other.modify(&dn, &[(ModifyKind::Replace, "description", &["other"])]);
        other.delete("uid=big,ou=people,dc=example");
        other.rename("ou=people,dc=example", "ou=men", true, None);
        other.rename("ou=men,dc=example", "ou=people", true, None);
    });
    assert!(turns > 5, "the answers took several turns");
    let ours: Vec<String> =
        descriptions(&answers(&bytes)).into_iter().map(|text| text[..text.len().min(2)].to_owned()).collect();
    let mut expected = Vec::new();
    for n in 0..15 {
        expected.extend([format!("{n}"), "0x".to_owned()]);
    }
    assert_eq!(ours[..30], expected[..]);
    assert!(records(&log) > before + 1);
    // Nothing holds the past any more.
    client.dsa.shard().writer().publish();
    client.dsa.shard().writer().publish();
    assert!(client.dsa.shard().writer().check(5).is_empty());
}

/// A search for nothing more than the answers can say does not wait; neither does what ends the session.
#[test]
fn others_wait_for_the_updates_before_them() {
    let (mut client, log) = journaled();
    set_up(&mut client);
    add(&mut client, "n1");
    let bind = encode(&mut client, &Ask::Bind(true));
    let list = encode(&mut client, &Ask::Search { name: "n1".to_owned() });
    for (between, pieces) in [(bind, 2), (list, 1)] {
        let before = records(&log);
        let first = describe(&mut client, "n1", "a");
        let requests = [first, between, describe(&mut client, "n1", "b")].concat();
        client.raw(&requests);
        assert_eq!(records(&log) - before, pieces);
    }
    // The body of a search that is none ends the session; what follows it is not done.
    let mut broken = read(&mut client, "n1");
    let at = broken.len() - 60;
    broken[at..].iter_mut().for_each(|byte| *byte = 0x7f);
    let requests = [describe(&mut client, "n1", "c"), broken, describe(&mut client, "n1", "d")].concat();
    let (bytes, state) = client.exchange(&requests);
    assert_eq!((codes(&answers(&bytes))[0], state), (ResultCode::Success, State::Close));
    let mut after = Client::of(&client.dsa);
    after.bind_root();
    let found = after.search("dc=example", Scope::Subtree, "(uid=n1)", &["description"]);
    assert_eq!(found.values("description"), Some(vec!["c".to_owned()]));
}

/// Updates that are refused on their way leave the reads between them where they are.
#[test]
fn refused_updates_are_answered_in_their_order() {
    let (mut client, _) = journaled();
    set_up(&mut client);
    add(&mut client, "n1");
    let first = client.last_id();
    let requests = updates_and_reads(&mut client, 5);
    let mut out = Vec::new();
    assert_eq!(client.session.feed(&mut client.worker, &requests, &mut out).state, State::Waiting);
    let fixture = client.fixture.clone().expect("it is logged");
    fixture.refuse_all();
    let cx = &mut Context::from_waker(Waker::noop());
    assert_eq!(client.session.poll_updates(&mut client.worker, cx, &mut out), Poll::Ready(State::Busy));
    assert_eq!(client.session.step(&mut client.worker, &mut out), State::Idle);
    let ends: Vec<(i32, ResultCode)> = answers(&out)
        .into_iter()
        .filter_map(|answer| match answer.what {
            What::End(end) => Some((answer.id, end.code)),
            _ => None,
        })
        .collect();
    let expected: Vec<(i32, ResultCode)> = (0..10)
        .map(|n| (first + 1 + n, if n % 2 == 0 { ResultCode::Unavailable } else { ResultCode::Success }))
        .collect();
    assert_eq!(ends, expected);
}

/// Of updates whose outcome is unknown, reads between them see none, though all come true before the reads are run.
#[test]
fn reads_see_no_update_of_unknown_outcome() {
    let (mut client, _) = journaled();
    set_up(&mut client);
    add(&mut client, "n1");
    let before = describe(&mut client, "n1", "before");
    assert_eq!(codes(&client.raw(&before).0), [ResultCode::Success]);
    let requests = updates_and_reads(&mut client, 5);
    let mut out = Vec::new();
    assert_eq!(client.session.feed(&mut client.worker, &requests, &mut out).state, State::Waiting);
    let fixture = client.fixture.clone().expect("it is logged");
    fixture.apply_unknown(&mut Applier::new(&client.dsa).unwrap());
    let cx = &mut Context::from_waker(Waker::noop());
    assert_eq!(client.session.poll_updates(&mut client.worker, cx, &mut out), Poll::Ready(State::Busy));
    assert_eq!(client.session.step(&mut client.worker, &mut out), State::Idle);
    assert_eq!(descriptions(&answers(&out)), ["before"; 5]);
    // They came true, and the session sees it from its next request on.
    let next = read(&mut client, "n1");
    assert_eq!(descriptions(&client.raw(&next).0), ["d4"]);
}

/// What others do, to entries that the session does not look at.
fn others() -> impl Strategy<Value = Vec<(u8, u8)>> {
    prop::collection::vec((0u8..5, 0u8..6), 0..30)
}

fn disturb(client: &mut Client, (what, n): (u8, u8)) {
    let dn = format!("uid=b{n},ou=others,dc=example");
    match what {
        0 => {
            let classes: &[&str] = &["inetOrgPerson"];
            client.add(&dn, &[("objectClass", classes), ("cn", &["x"]), ("sn", &["y"])]);
        }
        1 => _ = client.delete(&dn),
        2 => _ = client.rename(&dn, &format!("uid=b{}", (n + 1) % 6), true, None),
        _ => _ = client.modify(&dn, &[(ModifyKind::Replace, "description", &["z"])]),
    }
}

/// What follows from who else wrote meanwhile is left out.
fn comparable(bytes: &[u8]) -> (Vec<i32>, Vec<Answer>) {
    let mut all = answers(bytes);
    let ends = all.iter().filter(|answer| matches!(answer.what, What::End(_))).map(|answer| answer.id);
    let ends = ends.collect();
    for answer in &mut all {
        if let What::Entry(_, attributes) = &mut answer.what {
            attributes.retain(|(name, _)| name != "entryCSN");
        }
    }
    (ends, without_ids(all))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]
    #[test]
    fn a_bundle_answers_as_its_requests_one_by_one(
        bundles in prop::collection::vec((prop::collection::vec(ask(), 1..80), others()), 1..6),
        looks in any::<bool>(),
    ) {
        let (mut single, (mut bundled, _)) = (Client::empty(config()), journaled());
        let mut other = Client::of(&bundled.dsa);
        other.commit = bundled.commit.clone();
        set_up(&mut single);
        set_up(&mut bundled);
        other.bind_root();
        let unit: common::Given<'_> = &[("objectClass", &["organizationalUnit"])];
        other.must_add("ou=others,dc=example", unit);
        single.must_add("ou=others,dc=example", unit);
        bundled.id();
        let mut looking = None;
        for (bundle, others) in &bundles {
            let requests: Vec<Vec<u8>> = bundle.iter().map(|ask| encode(&mut single, ask)).collect();
            let one_by_one: Vec<u8> =
                requests.iter().flat_map(|request| single.exchange(request).0).collect();
            let mut others = others.iter().copied().cycle().take(200);
            let together = exchange(&mut bundled, &requests.concat(), &mut || {
                (0..3).filter_map(|_| others.next()).for_each(|what| disturb(&mut other, what));
            });
            prop_assert_eq!(comparable(&one_by_one), comparable(&together));
            if looks {
                let mut reader = Reader::register(bundled.dsa.shard()).expect("there are few readers");
                looking = reader.pin().look().extend();
            }
        }
        drop(looking);
        prop_assert!(bundled.dsa.shard().writer().check(5).is_empty());
    }
}
