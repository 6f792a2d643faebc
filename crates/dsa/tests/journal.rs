//! A directory whose updates go through a journal answers as one where they are applied at once, but for the
//! entryUUIDs, which follow from ids; and its commands, applied again on an empty directory, give the same answers
//! and the same directory, entryUUIDs and all, whatever readers did meanwhile.

mod common;

use common::asks::{Ask, ask, bundle, dn, encode, guarded, set_up, without_ids};
use common::journal::{Logged, journaled, journaled_with};
use common::{
    Answer, Client, Given, ROOT_DN, What, assertion, attributes_of, changes_of, codes, config, control,
    search_for, selection,
};
use dsa::journal::Command;
use dsa::parcel::{Condition, Envelope, Head};
use dsa::{Applier, Dsa};
use model::{Filter, ResultCode, Scope};
use proptest::prelude::*;
use proto::Request;
use proto::list::Attributes;
use proto::op::modify::{Changes, change_list};
use proto::op::{Add, Modify, ModifyKind};
use std::borrow::Cow;
use std::sync::Arc;
use store::{LongReadPoint, Reader};

fn digest(dsa: &Arc<Dsa>) -> u128 {
    Reader::register(dsa.shard()).expect("there are few readers").pin().read_point().digest()
}

/// Everything that there is.
fn all(client: &mut Client) -> Vec<Answer> {
    let list = selection(&["*", "+"]);
    let filter = Filter::Present(b"objectClass");
    let mut request = Vec::new();
    Request::Search(search_for("dc=example", Scope::Subtree, filter, &list)).encode(&mut request, 1, &[]);
    without_ids(client.raw(&request).0)
}

/// Applies the commands of a log on an empty directory.
fn replay(log: &[Logged]) -> Arc<Dsa> {
    replay_with(config(), log)
}

/// The same, with a directory that is configured otherwise.
fn replay_with(config: dsa::Config, log: &[Logged]) -> Arc<Dsa> {
    let dsa = Dsa::new(config, common::standard_schema()).expect("memory is plenty");
    let mut applier = Applier::new(&dsa).expect("there are few readers");
    applier.behave(dsa::behaviour::NEWEST);
    for (record, answers) in log {
        let (command, mut again) = (Command::decode(record).expect("as it was encoded"), Vec::new());
        applier.apply(&command, &mut again).expect("it could be applied");
        // Entries that an answer brings are read for its client. A replay has none.
        let without_controls = |answers: &[u8]| {
            let mut answers = common::answers(answers);
            answers.iter_mut().for_each(|answer| answer.controls.clear());
            answers
        };
        assert_eq!(without_controls(&again), without_controls(answers));
    }
    dsa.shard().writer().find_free_ids();
    dsa
}

/// A start may have more indexes than the run before, so more removals are due before a deleted entry's id can be given again.
#[test]
fn ids_are_given_again_with_more_indexes_than_before() {
    let mut bare = config();
    bare.store.indexes.clear();
    let (mut client, log) = common::journal::journaled_with(bare.clone());
    set_up(&mut client);
    let text: String = (0..300u32).map(|n| char::from(b'a' + (n * n % 23) as u8)).collect();
    let name = |n: u32| format!("n{n}");
    let adds: Vec<u8> = (0..128)
        .flat_map(|n| encode(&mut client, &Ask::Add { name: name(n), text: "x".to_owned() }))
        .collect();
    let describes = (0..128).flat_map(|n| {
        let texts = vec![format!("{n} {text} {}", n * 7919)];
        encode(&mut client, &Ask::Describe { name: name(n), texts, critical: false })
    });
    let describes: Vec<u8> = describes.collect();
    let deletes: Vec<u8> = (0..128).flat_map(|n| encode(&mut client, &Ask::Delete(name(n)))).collect();
    let again = encode(&mut client, &Ask::Add { name: "again".to_owned(), text: "x".to_owned() });
    for bundle in [adds, describes, deletes, again] {
        assert!(codes(&client.raw(&bundle).0).iter().all(|code| *code == ResultCode::Success));
    }
    for removals_max in [store::REMOVALS_MAX, 4] {
        let mut indexed = bare.clone();
        indexed.store.removals_max = removals_max;
        indexed.store.indexes.push(store::IndexSettings::of("description", [store::IndexKind::Substring]));
        assert_eq!(digest(&client.dsa), digest(&replay_with(indexed, &log.lock().unwrap())));
    }
}

/// What is refused leaves no set of attribute options behind; with as many as entries may have, an update with another is refused before
/// it is logged, and one that is in a log is applied.
#[test]
fn attribute_options_are_no_state_of_the_process() {
    let schema = Arc::new(schema::Builder::new().standard().build().expect("the standard schema is sound"));
    let dsa = Dsa::new(config(), Arc::clone(&schema)).expect("memory is plenty");
    let mut client = Client::of(&dsa);
    set_up(&mut client);
    let describe = |client: &mut Client, name: &str, attribute: &str| {
        client.modify(&dn(name), &[(ModifyKind::Add, attribute, &["x"])]).code
    };
    let add = encode(&mut client, &Ask::Add { name: "n".to_owned(), text: "x".to_owned() });
    client.raw(&add);
    let before = schema.option_sets();
    for n in 0..100 {
        let attribute = format!("description;x-{n}");
        assert_eq!(describe(&mut client, "missing", &attribute), ResultCode::NoSuchObject);
        let twice: Given<'_> = &[(&attribute, &["x"]), ("objectClass", &["inetOrgPerson"])];
        assert_eq!(client.add(&dn("m"), twice).code, ResultCode::ObjectClassViolation);
    }
    assert_eq!(schema.option_sets(), before, "nothing was done");
    assert_eq!(describe(&mut client, "n", "description;lang-de"), ResultCode::Success);
    assert_eq!(schema.option_sets(), before + 1);
    (0..schema::OPTION_SETS_MAX).for_each(|n| _ = schema.intern_description(format!("cn;x-{n}").as_bytes()));
    assert_eq!(describe(&mut client, "n", "description;lang-fr"), ResultCode::AdminLimitExceeded);
    assert_eq!(describe(&mut client, "n", "title;lang-de"), ResultCode::Success);
    let changes = changes_of(&[(ModifyKind::Add, "description;lang-fr", &["x"])]);
    let changes = Changes::parse(&changes).expect("just encoded");
    let messages = client.encode(&Request::Modify(Modify { dn: dn("n").as_bytes(), changes }), &[]).1;
    let mut applier = Applier::new(&dsa).expect("there are few readers");
    let (ids, messages) = (vec![].into(), &messages[..]);
    let command = Command { wall_ms: 1, actor: b"", ids, messages, is_transaction: false };
    let mut answers = Vec::new();
    applier.apply(&command, &mut answers).expect("memory is plenty");
    assert_eq!(codes(&common::answers(&answers)), [ResultCode::Success]);
}

/// How much memory there is must not decide what becomes of a command that is in the log: it is applied above the limit.
#[test]
fn what_is_logged_is_applied_above_the_limit() {
    let mut small = config();
    small.store.memory_bytes_max = 16 << 20;
    let dsa = Dsa::new(small, common::standard_schema()).expect("memory is plenty");
    let mut applier = Applier::new(&dsa).expect("there are few readers");
    let mut client = Client::empty(config());
    let root: Given<'_> = &[("objectClass", &["domain"]), ("dc", &["example"])];
    let people: Given<'_> = &[("objectClass", &["organizationalUnit"])];
    let mut apply = |client: &mut Client, dn: &str, entry: Given<'_>| {
        let list = attributes_of(entry);
        let attributes = Attributes::parse(&list).expect("just encoded");
        let messages = client.encode(&Request::Add(Add { dn: dn.as_bytes(), attributes }), &[]).1;
        let mut ids = Vec::new();
        dsa.shard().writer().reserve_ids(1, &mut ids).expect("there are enough");
        let (ids, messages) = (ids.into(), &messages[..]);
        let command = Command { wall_ms: 1, actor: b"", ids, messages, is_transaction: false };
        applier.apply(&command, &mut Vec::new())
    };
    assert_eq!(apply(&mut client, "dc=example", root), Ok(()));
    assert_eq!(apply(&mut client, "ou=people,dc=example", people), Ok(()));
    let text = "x".repeat(100_000);
    let long: Given<'_> =
        &[("objectClass", &["inetOrgPerson"]), ("cn", &["x"]), ("sn", &["y"]), ("description", &[&text])];
    for n in 0..1000 {
        assert_eq!(apply(&mut client, &dn(&format!("n{n}")), long), Ok(()), "entry {n}");
    }
    assert!(dsa.shard().memory().segments > 90 << 20, "that is far above the limit");
}

/// Many small changes of large entries, sent in one write: each writes its entry anew.
fn change_large_entries(value_bytes: usize, entries: usize, is_logged: bool) {
    const LIMIT: u64 = 96 << 20;
    let mut small = config();
    small.store.memory_bytes_max = LIMIT;
    let (mut client, log) = match is_logged {
        true => journaled_with(small.clone()),
        false => (Client::empty(small.clone()), Default::default()),
    };
    set_up(&mut client);
    let text = "x".repeat(value_bytes);
    for n in 0..entries {
        let entry: Given<'_> =
            &[("objectClass", &["inetOrgPerson"]), ("cn", &["x"]), ("sn", &["y"]), ("description", &[&text])];
        client.must_add(&dn(&format!("n{n}")), entry);
    }
    for round in 0..2 {
        let mut bundle = Vec::new();
        for n in 0..128 {
            let (dn, title) = (dn(&format!("n{}", n % entries)), format!("{round}.{n}"));
            let changes = changes_of(&[(ModifyKind::Replace, "title", &[&title])]);
            let changes = Changes::parse(&changes).expect("just encoded");
            bundle.extend(client.encode(&Request::Modify(Modify { dn: dn.as_bytes(), changes }), &[]).1);
        }
        let refused =
            codes(&client.raw(&bundle).0).iter().filter(|code| **code != ResultCode::Success).count();
        assert_eq!(refused, 0, "of round {round}");
        let segments = client.dsa.shard().memory().segments;
        assert!(segments <= LIMIT, "{segments} bytes in round {round}");
    }
    // Applied again it takes no more.
    let again = Dsa::new(small, common::standard_schema()).expect("memory is plenty");
    let mut applier = Applier::new(&again).expect("there are few readers");
    for (record, _) in log.lock().expect("nobody panicked").iter() {
        let command = Command::decode(record).expect("as it was encoded");
        applier.apply(&command, &mut Vec::new()).expect("it could be applied");
        let segments = again.shard().memory().segments;
        assert!(segments <= LIMIT, "{segments} bytes at a replay");
    }
}

#[test]
fn small_changes_of_large_entries_stay_within_the_memory_limit() {
    change_large_entries(5 << 20, 5, true);
    change_large_entries(700 << 10, 80, true);
}

#[test]
fn small_changes_of_large_entries_are_taken_without_a_log_too() {
    change_large_entries(5 << 20, 5, false);
    change_large_entries(700 << 10, 80, false);
}

/// Conditions that a command carries are judged when it is applied, at what is there then; the outcome chain has their code.
#[test]
fn conditions_of_a_command_are_judged_when_it_is_applied() {
    let (mut client, log) = journaled();
    set_up(&mut client);
    let dsa = replay(&log.lock().expect("nobody panicked"));
    let mut applier = Applier::new(&dsa).expect("there are few readers");
    let condition = |code: u32, dn: &[u8], filter: &Filter<'_>| {
        let (mut ber, mut out) = (Vec::new(), Vec::new());
        proto::filter::encode(filter, &mut ber);
        Condition { code, dn, filter: &ber }.encode(&mut out);
        out
    };
    let is_domain = Filter::Present(b"dc");
    let is_person = Filter::Present(b"sn");
    let mut values = (0..).map(|n: u32| format!("value {n}"));
    let mut index = 0;
    let mut apply = |conditions: Vec<u8>, is_transaction: bool| {
        let value = values.next().expect("there are enough");
        let list = change_list([(ModifyKind::Add, &b"description"[..], vec![value.as_bytes()])]);
        let changes = Changes::parse(&list).expect("just encoded");
        let mut messages = Vec::new();
        Request::Modify(Modify { dn: b"dc=example", changes }).encode(&mut messages, 7, &[]);
        let ids = Vec::new().into();
        let command = Command { wall_ms: 1, actor: b"", ids, messages: &messages, is_transaction };
        let envelope = Envelope { conditions: &conditions, ..Envelope::default() };
        let (mut answers, csn) = (Vec::new(), dsa.shard().writer().last_csn());
        index += 1;
        applier.begin_parcel(index, &Head::default());
        applier.apply_enveloped(&command, &envelope, &mut answers).expect("it can be applied");
        applier.end_parcel(index);
        let code = proto::result::result_code(&answers).map(|(code, _)| code);
        (code, dsa.shard().writer().last_csn() > csn)
    };
    assert_eq!(apply(Vec::new(), false), (Some(0), true));
    assert_eq!(apply(condition(50, b"dc=example", &is_domain), false), (Some(0), true));
    assert_eq!(apply(condition(50, b"dc=example", &is_person), false), (Some(50), false));
    assert_eq!(apply(condition(50, b"cn=nobody,dc=example", &is_domain), false), (Some(50), false));
    let both = [condition(50, b"dc=example", &is_domain), condition(53, b"dc=example", &is_person)].concat();
    assert_eq!(apply(both, false), (Some(53), false));
    assert_eq!(apply(b"cut".to_vec(), false), (Some(80), false), "what cannot be read is not true");
    assert_eq!(apply(condition(50, b"dc=example", &is_person), true), (None, false));
    assert_eq!(apply(condition(50, b"dc=example", &is_domain), true), (None, true));
}

/// Bytes that every later version must read.
#[test]
fn a_command_is_stored_as_ever() {
    let mut messages = Vec::new();
    let list = attributes_of(&[("cn", &["x"])]);
    let attributes = Attributes::parse(&list).expect("just encoded");
    Request::Add(Add { dn: b"cn=x", attributes }).encode(&mut messages, 1, &[]);
    let command = Command {
        wall_ms: 0x0102_0304_0506,
        actor: b"cn=r",
        ids: vec![7].into(),
        messages: &messages,
        is_transaction: false,
    };
    let mut record = Vec::new();
    command.encode(&mut record);
    let fixed = [6, 5, 4, 3, 2, 1, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0];
    assert_eq!(record, [&fixed[..], b"cn=r", &[7, 0, 0, 0], &messages].concat());
    assert_eq!(Command::decode(&record), Ok(command));
}

/// What looks waits for the updates before it, wherever groups of a bundle begin and end.
#[test]
fn a_search_behind_many_updates_sees_them() {
    for count in [1, 31, 32, 127, 128, 129, 256, 300] {
        let (mut direct, (mut logged, _)) = (Client::empty(config()), journaled());
        set_up(&mut direct);
        set_up(&mut logged);
        let mut asks: Vec<Ask> =
            (0..count).map(|n| Ask::Add { name: format!("m{n}"), text: "x".to_owned() }).collect();
        asks.push(Ask::Search { name: format!("m{}", count - 1) });
        asks.push(Ask::Delete("m0".to_owned()));
        asks.push(Ask::Search { name: "m0".to_owned() });
        let requests: Vec<u8> = asks.iter().flat_map(|ask| encode(&mut direct, ask)).collect();
        let (at_once, through_log) = (direct.raw(&requests).0, logged.raw(&requests).0);
        assert_eq!(without_ids(at_once), without_ids(through_log), "{count} updates");
    }
}

/// An update whose assertion is false when it comes is not logged; one whose assertion becomes false on the way is logged
/// and refused again by a replay.
#[test]
fn a_failed_assertion_leaves_no_record() {
    let (mut client, log) = journaled();
    set_up(&mut client);
    let add = encode(&mut client, &Ask::Add { name: "n".to_owned(), text: "x".to_owned() });
    assert_eq!(codes(&client.raw(&add).0), [ResultCode::Success]);
    let records = || log.lock().unwrap().len();
    let before = records();
    let wrong = guarded(&mut client, "n", "b", "c");
    assert_eq!(codes(&client.raw(&wrong).0), [ResultCode::AssertionFailed]);
    assert_eq!(records(), before, "nothing was done");
    // Each follows from the one before, so it waits for that.
    let right = ["", "a", "aa", "b"].windows(2).flat_map(|pair| guarded(&mut client, "n", pair[0], pair[1]));
    let right: Vec<u8> = right.collect();
    let wrong_at_last = [&right[..], &guarded(&mut client, "n", "a", "c")].concat();
    let expected = [&[ResultCode::Success; 3][..], &[ResultCode::AssertionFailed]].concat();
    assert_eq!(codes(&client.raw(&wrong_at_last).0), expected);
    assert_eq!(records(), before + 3, "the one that failed was answered without the log");
    // Two sessions that assert the same at the same time: one wins, both are in the log.
    let mut other = Client::of(&client.dsa);
    other.bind_root();
    let (first, second) = (guarded(&mut client, "n", "b", "one"), guarded(&mut other, "n", "b", "two"));
    let mut out = Vec::new();
    assert_eq!(other.session.feed(&mut other.worker, &second, &mut out).state, dsa::State::Waiting);
    assert_eq!(codes(&client.raw(&first).0), [ResultCode::AssertionFailed]);
    let cx = &mut std::task::Context::from_waker(std::task::Waker::noop());
    assert!(other.session.poll_updates(&mut other.worker, cx, &mut out).is_ready());
    assert_eq!(codes(&common::answers(&out)), [ResultCode::Success]);
    assert_eq!(digest(&client.dsa), digest(&replay(&log.lock().unwrap())));
}

/// What is no longer admitted, and was when a log was written, comes out as it was answered then.
#[test]
fn what_was_admitted_once_is_applied_again() {
    let (mut client, log) = journaled();
    set_up(&mut client);
    let rdn = "jpegPhoto=x,dc=example";
    let person: Given<'_> = &[("objectClass", &["inetOrgPerson"]), ("sn", &["X"]), ("cn", &["x"])];
    let list = attributes_of(person);
    let attributes = Attributes::parse(&list).expect("just encoded");
    let asserted = assertion("(!(jpegPhoto=y))");
    let changes = changes_of(&[(ModifyKind::Replace, "sn", &["Y"])]);
    let changes = Changes::parse(&changes).expect("just encoded");
    let mut messages = Vec::new();
    Request::Add(Add { dn: rdn.as_bytes(), attributes }).encode(&mut messages, 1, &[]);
    let modify = Request::Modify(Modify { dn: rdn.as_bytes(), changes });
    let control = control(proto::control::assertion::OID, &asserted, true);
    modify.encode(&mut messages, 2, &[control]);
    let before = log.lock().unwrap().len();
    let refused = [ResultCode::NamingViolation, ResultCode::AssertionFailed];
    assert_eq!(codes(&client.raw(&messages).0), refused);
    assert_eq!(log.lock().unwrap().len(), before, "neither is logged");
    let actor = ROOT_DN.as_bytes();
    let wall_ms = common::START.wall_ms;
    let command =
        Command { wall_ms, actor, ids: Cow::Borrowed(&[9]), messages: &messages, is_transaction: false };
    let mut applier = Applier::new(&client.dsa).expect("there are few readers");
    let mut answers = Vec::new();
    applier.apply(&command, &mut answers).expect("it can be applied");
    assert_eq!(codes(&common::answers(&answers)), [ResultCode::Success; 2]);
    let found = client.search("JPEGPHOTO=x,dc=example", Scope::Base, "(sn=y)", &["sn"]);
    assert_eq!(found.dns(), [rdn]);
    assert_eq!(client.delete(rdn).code, ResultCode::Success);
}

/// An earlier version took a certificate with `;binary` and without as two attributes, and the option with anything: such
/// adds of its log are not refused.
#[test]
fn options_of_earlier_versions_are_applied_again() {
    let (mut client, _) = journaled();
    set_up(&mut client);
    let (one, other) = ("0\x03\x02\x01\x05", "0\x03\x02\x01\x06");
    let list = attributes_of(&[
        ("objectClass", &["inetOrgPerson"]),
        ("sn", &["X"]),
        ("userCertificate;binary", &[one]),
        ("userCertificate", &[one, other]),
        ("userCertificate;x-a", &[one]),
        ("userCertificate;x-a;binary", &[other]),
        ("description;binary", &["x"]),
    ]);
    let attributes = Attributes::parse(&list).expect("just encoded");
    let dn = "cn=x,dc=example";
    let mut message = Vec::new();
    Request::Add(Add { dn: dn.as_bytes(), attributes }).encode(&mut message, 1, &[]);
    assert_eq!(codes(&client.raw(&message).0), [ResultCode::UndefinedAttributeType]);
    let (actor, wall_ms) = (ROOT_DN.as_bytes(), common::START.wall_ms);
    let command =
        Command { wall_ms, actor, ids: Cow::Borrowed(&[9]), messages: &message, is_transaction: false };
    let mut applier = Applier::new(&client.dsa).expect("there are few readers");
    let mut answers = Vec::new();
    applier.apply(&command, &mut answers).expect("it can be applied");
    assert_eq!(codes(&common::answers(&answers)), [ResultCode::Success]);
    let found = client.read(dn, &["userCertificate", "description"]);
    let names = ["description;binary", "userCertificate;binary", "userCertificate;binary;x-a"];
    assert_eq!(found.names(), names);
    assert_eq!(found.values(names[2]), Some(vec![one.to_owned(), other.to_owned()]));
    assert_eq!(found.values("userCertificate;binary"), Some(vec![one.to_owned(), other.to_owned()]));
    assert_eq!(
        client.modify(dn, &[(ModifyKind::Delete, "description;binary", &[])]).code,
        ResultCode::Success
    );
}

/// What a client says of passwords does not reach the log.
#[test]
fn passwords_are_not_in_the_log() {
    let (mut client, log) = journaled();
    set_up(&mut client);
    let add = encode(&mut client, &Ask::Add { name: "n".to_owned(), text: "x".to_owned() });
    assert_eq!(codes(&client.raw(&add).0), [ResultCode::Success]);
    let mut ask = |old: Option<&str>, new: Option<&str>| {
        let (old, new) = (old.map(str::to_owned), new.map(str::to_owned));
        let ask = Ask::Password { name: "n".to_owned(), proxied: false, old, new };
        let request = encode(&mut client, &ask);
        codes(&client.raw(&request).0)[0]
    };
    let records = || log.lock().unwrap().len();
    assert_eq!(ask(None, Some("word0815")), ResultCode::Success);
    assert_eq!(ask(Some("word0815"), Some("word4711")), ResultCode::Success);
    let before = records();
    assert_eq!(ask(Some("word0815"), Some("word4711")), ResultCode::InvalidCredentials);
    assert_eq!(records(), before, "nothing to be logged");
    let held = |word: &[u8]| {
        log.lock().unwrap().iter().any(|(record, _)| record.windows(word.len()).any(|bytes| bytes == word))
    };
    assert!(!held(b"word0815") && !held(b"word4711") && held(b"{SSHA}"));
    assert_eq!(client.bind(&dn("n"), "word4711").code, ResultCode::Success);
    let replayed = Client::of(&replay(&log.lock().unwrap())).bind(&dn("n"), "word4711");
    assert_eq!(replayed.code, ResultCode::Success);
}

/// Two sessions prove the same old password at the same time: one of them changes it.
#[test]
fn an_old_password_is_right_once() {
    let (mut client, log) = journaled();
    set_up(&mut client);
    let add = encode(&mut client, &Ask::Add { name: "n".to_owned(), text: "x".to_owned() });
    client.raw(&add);
    let password = |client: &mut Client, old: Option<&str>, new: &str| {
        let (old, new) = (old.map(str::to_owned), Some(new.to_owned()));
        encode(client, &Ask::Password { name: "n".to_owned(), proxied: true, old, new })
    };
    let first = password(&mut client, None, "old");
    assert_eq!(codes(&client.raw(&first).0), [ResultCode::Success]);
    let mut other = Client::of(&client.dsa);
    other.bind_root();
    let (one, two) = (password(&mut client, Some("old"), "one"), password(&mut other, Some("old"), "two"));
    let mut out = Vec::new();
    assert_eq!(other.session.feed(&mut other.worker, &two, &mut out).state, dsa::State::Waiting);
    assert_eq!(codes(&client.raw(&one).0), [ResultCode::InvalidCredentials]);
    let cx = &mut std::task::Context::from_waker(std::task::Waker::noop());
    assert!(other.session.poll_updates(&mut other.worker, cx, &mut out).is_ready());
    assert_eq!(codes(&common::answers(&out)), [ResultCode::Success]);
    assert_eq!(client.bind(&dn("n"), "two").code, ResultCode::Success);
    assert_eq!(digest(&client.dsa), digest(&replay(&log.lock().unwrap())));
}

/// The answers to what is submitted at a time bring so many entries at most.
#[test]
fn answers_with_entries_are_few_at_a_time() {
    let (mut client, log) = journaled();
    set_up(&mut client);
    let mut requests = Vec::new();
    for n in 0..100 {
        requests.extend(encode(&mut client, &Ask::Add { name: format!("m{n}"), text: "x".to_owned() }));
    }
    client.raw(&requests);
    let before = log.lock().unwrap().len();
    let guarded: Vec<u8> = (0..100).flat_map(|n| guarded(&mut client, &format!("m{n}"), "", "a")).collect();
    assert_eq!(codes(&client.raw(&guarded).0), [ResultCode::Success; 100]);
    let pieces = log.lock().unwrap().len() - before;
    assert_eq!(pieces, (2 * 100usize).div_ceil(model::limits::READ_ENTRIES_MAX));
    assert_eq!(digest(&client.dsa), digest(&replay(&log.lock().unwrap())));
}

/// What is submitted at a time is bounded, wherever the bound falls among the groups of a bundle.
#[test]
fn a_long_bundle_goes_in_pieces() {
    for (long_at, count) in [(0, 130), (127, 300), (128, 129), (0, 1)] {
        let (mut client, log) = journaled();
        set_up(&mut client);
        let before = log.lock().unwrap().len();
        let mut requests = Vec::new();
        for n in 0..count {
            let text = "x".repeat(if n == long_at { 300 << 10 } else { 1 });
            requests.extend(encode(&mut client, &Ask::Add { name: format!("m{n}"), text }));
        }
        let (answers, _) = client.raw(&requests);
        let succeeded =
            |answer: &&Answer| matches!(&answer.what, What::End(end) if end.code == ResultCode::Success);
        assert_eq!(answers.iter().filter(succeeded).count(), count);
        let log = log.lock().unwrap();
        let pieces = &log[before..];
        assert_eq!(pieces.len(), if count > long_at + 1 { 2 } else { 1 }, "{long_at} of {count}");
        assert_eq!(digest(&client.dsa), digest(&replay(&log)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn changes_nothing_but_durability(bundles in prop::collection::vec(bundle(), 1..8)) {
        let (mut direct, (mut logged, log)) = (Client::empty(config()), journaled());
        set_up(&mut direct);
        set_up(&mut logged);
        for bundle in &bundles {
            let requests: Vec<u8> = bundle.iter().flat_map(|ask| encode(&mut direct, ask)).collect();
            let (at_once, through_log) = (direct.raw(&requests).0, logged.raw(&requests).0);
            prop_assert_eq!(without_ids(at_once), without_ids(through_log));
        }
        prop_assert_eq!(all(&mut direct), all(&mut logged));
        let replayed = replay(&log.lock().unwrap());
        prop_assert_eq!(digest(&logged.dsa), digest(&replayed));
        prop_assert!(replayed.shard().writer().check(5).is_empty());
    }

    /// Readers keep ids of deleted entries from being used again, for as long as they look.
    #[test]
    fn is_applied_again_whatever_was_read(
        bundles in prop::collection::vec((prop::collection::vec(ask(), 1..40), any::<bool>()), 1..12)
    ) {
        let (mut client, log) = journaled();
        set_up(&mut client);
        let mut looking: Option<LongReadPoint> = None;
        for (bundle, stays) in &bundles {
            let requests: Vec<u8> = bundle.iter().flat_map(|ask| encode(&mut client, ask)).collect();
            client.raw(&requests);
            if !stays || looking.is_none() {
                let mut reader = Reader::register(client.dsa.shard()).expect("there are few readers");
                looking = reader.pin().look().extend();
            }
        }
        drop(looking);
        let replayed = replay(&log.lock().unwrap());
        prop_assert_eq!(digest(&client.dsa), digest(&replayed));
        prop_assert_eq!(client.dsa.shard().entries(), replayed.shard().entries());
    }
}
