use super::*;
use crate::answers::Answer;
use crate::clock::SimClock;
use crate::disk::SimDisk;
use crate::node::digest;
use crate::requests::{Bundle, COUNTER, SUFFIX, Sent, counter_dn};
use crate::workloads;
use model::ResultCode;
use std::path::Path;
use std::sync::Arc;

/// A server with the counters of two sessions, and what a client sees of it.
fn server() -> (Node, View) {
    let (disk, clock, log) = (SimDisk::new(1), SimClock::default(), wal::Settings::default());
    let log = wal::Settings { file_bytes: 64 << 10, waiting_bytes_max: 8192, ..log };
    let mut node = Node::start(Arc::new(disk), Path::new("data"), log, 1, 2, &clock).expect("nothing fails");
    let mut base = Bundle::default();
    workloads::base(2, &mut base);
    node.send(0, &base.bytes, &clock);
    node.step(&clock).expect("nothing fails");
    node.answers(0);
    let view = View::of(node.read_all(0, &clock)).expect("it can be read");
    (node, view)
}

/// What both clients know: session 0 has counted to `counted` and had the answer.
fn clients(counted: u64, others: &[Sent]) -> Clients {
    let mut clients = Clients::new(2);
    let mut bundle = Bundle::default();
    (0..counted).for_each(|_| clients.count(0, &mut bundle));
    bundle.sent.extend(others.iter().cloned());
    clients.on_sent(0, &bundle);
    let done = (1..=bundle.sent.len()).map(|id| Answer::Done(id, ResultCode::Success));
    clients.on_answers(0, &done.collect::<Vec<_>>(), (1, true)).expect("nothing was read");
    clients
}

/// Names of the properties that do not hold.
fn broken(change: impl FnOnce(&mut View, &mut Situation<'_>), clients: &Clients) -> Vec<&'static str> {
    let (node, view) = server();
    let (end, model) = (node.applied(), digest(&node.recovered.dsa));
    let mut changed = view.clone();
    let free_ids = &node.recovered.dsa.shard().writer().free_ids();
    let mut situation = Situation { node: &node, view: &view, clients, promised: end, end, model, free_ids };
    change(&mut changed, &mut situation);
    let situation = Situation { view: &changed, ..situation };
    PROPERTIES.iter().filter(|(_, holds)| holds(&situation).is_err()).map(|(name, _)| *name).collect()
}

fn add(dn: &str) -> Sent {
    Sent::Add(dn.to_owned())
}

#[test]
fn all_hold_where_nothing_is_wrong() {
    assert!(broken(|_, _| (), &clients(0, &[add(&counter_dn(0))])).is_empty());
}

#[test]
fn each_notices_what_it_is_there_for() {
    let [lost, undone, orphan, state, ..] = PROPERTIES.map(|(name, _)| name);
    let nothing = || clients(0, &[]);
    assert_eq!(broken(|_, _| (), &clients(3, &[])), [lost], "a counter");
    assert_eq!(broken(|_, _| (), &clients(0, &[add("cn=a,dc=x")])), [lost], "an entry");
    assert_eq!(broken(|_, situation| situation.promised += 1, &nothing()), [lost], "a record");
    let removed = Sent::Remove(counter_dn(1));
    assert_eq!(broken(|_, _| (), &clients(0, &[removed])), [undone]);
    let drop_root = |view: &mut View, _: &mut Situation<'_>| _ = view.entries.remove(SUFFIX);
    assert_eq!(broken(drop_root, &nothing()), [orphan]);
    assert_eq!(broken(|_, situation| situation.model ^= 1, &nothing()), [state]);
    assert_eq!(broken(|_, situation| situation.end += 1, &nothing()), [state]);
    let mut has_read = nothing();
    let mut bundle = Bundle::default();
    bundle.read_counter(1);
    has_read.on_sent(0, &bundle);
    let entry = [(COUNTER.to_owned(), vec!["7".to_owned()])].into();
    let answer = Answer::Entry(1, counter_dn(1), entry);
    has_read.on_answers(0, std::slice::from_ref(&answer), (1, true)).expect("it is the first");
    assert_eq!(broken(|_, _| (), &has_read), [MONOTONIC]);
    has_read.client_mut(1).void.insert(7);
    assert_eq!(has_read.on_answers(0, &[answer], (1, true)).unwrap_err().0, VOID, "it is read");
    let mut refused = nothing();
    refused.client_mut(1).void.insert(0);
    assert_eq!(broken(|_, _| (), &refused), [VOID], "it is there");
    let mut locked = nothing();
    locked.client_mut(1).locked.insert(counter_dn(1), 1);
    assert_eq!(broken(|_, _| (), &locked), [LOCKS]);
}

#[test]
fn a_file_that_changes_is_noticed() {
    let tree = |files: &[(&str, &[u8])]| {
        files.iter().map(|(name, bytes)| ((*name).into(), bytes.to_vec())).collect()
    };
    let before = tree(&[("a", b"1"), ("b", b"2")]);
    assert_eq!(unchanged(&before, &before), Ok(()));
    for after in
        [&[("a", &b"1"[..])][..], &[("a", b"1"), ("b", b"3")], &[("a", b"1"), ("b", b"2"), ("c", b"")]]
    {
        unchanged(&before, &tree(after)).unwrap_err();
    }
}

#[test]
fn a_commit_of_what_was_given_up_or_refused_is_noticed() {
    let commit = |also: &[Sent], answers: &[Answer]| {
        let mut clients = Clients::new(1);
        let mut bundle = Bundle::default();
        bundle.begin();
        clients.on_sent(0, &bundle);
        let begun = Answer::Extended(1, ResultCode::Success, Some(b"1".to_vec()));
        clients.on_answers(0, &[begun], (1, true)).expect("nothing was read");
        bundle.sent = [also, &[Sent::Commit]].concat();
        clients.on_sent(0, &bundle);
        let done = Answer::Extended(bundle.sent.len(), ResultCode::Success, None);
        let checked = clients.on_answers(0, &[answers, &[done]].concat(), (2, true));
        checked.map(|()| clients.client(0).transactions)
    };
    let member = |code| commit(&[Sent::Member], &[Answer::Done(1, code)]);
    assert_eq!(member(ResultCode::Success), Ok((1, 0)));
    assert!(member(ResultCode::AssertionFailed).unwrap_err().1.contains("given up"));
    assert!(commit(&[], &[Answer::Aborted(b"1".to_vec(), ResultCode::TimeLimitExceeded)]).is_err());
    assert_eq!(commit(&[], &[Answer::Aborted(b"2".to_vec(), ResultCode::TimeLimitExceeded)]), Ok((1, 0)));
}
