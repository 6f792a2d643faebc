//! What a node refuses that its replica does not do: each text, of a replica that is in the state that it is about.

use super::facts::Facts;
use super::node::{Node, no_other_is_at, number_for};
use bytes::Bytes;
use consensus::links::Links;
use consensus::{
    Base, Change, Control, Members, RaftLog, Recovery, ReplicaId, Request, Retention, SnapshotMark, View,
};
use dsa::behaviour::Versions;
use env::clock::SystemClock;
use env::disk::RealDisk;
use env::entropy::{SeededEntropy, SystemEntropy};
use node::commit::Queue;
use node::data::JoinFiles;
use peers::{Address, Authority, Caller, Identity, JoinRequest, NodeKey, NotDone, Service as _, Token};
use serde_json::{Value, json};
use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use wal::{Index, Role, ShardLog as _, Write};

/// Milliseconds of a step in which time passes.
const STEP_MS: u64 = 5;
/// Steps in which one of two is elected, at most.
const ELECTED_WITHIN: usize = 2_000;
/// What a replica can have been asked for that it has not looked at.
const ASKED_MAX: usize = 64;
/// For what is refused again and again.
const SHORT: Duration = Duration::from_millis(60);

/// A node without a replica, whose files are in `folder`.
pub(super) fn node(folder: &Path, id: u64) -> Node {
    let authority = Authority::new(1, &mut SystemEntropy).unwrap();
    let key = NodeKey::load_or_make(&RealDisk, folder).unwrap();
    let certificate = authority.issue(&key.request(), id, 1, &mut SystemEntropy).unwrap();
    let nowhere = [const { Vec::new() }; 2];
    let identity = Identity::create(&RealDisk, folder, &authority, key, certificate, nowhere).unwrap();
    let files = JoinFiles { superblock: String::new(), rules: String::new() };
    let versions = Versions { oldest: 1, newest: 1 };
    Node::new(identity, Arc::new(authority), (files, versions), SystemClock::start())
}

/// What a node answers to a command of node 1.
pub(super) fn ask(node: &Node, command: &Value) -> Value {
    serde_json::from_slice(&node.command(Caller { node: 1 }, command.to_string().as_bytes())).unwrap()
}

/// Messages of two replicas that were not taken yet.
#[derive(Default)]
struct Mail {
    boxes: [VecDeque<(ReplicaId, Bytes)>; 2],
    /// Nothing goes through any more.
    is_cut: bool,
}

struct End(ReplicaId, Arc<Mutex<Mail>>);

impl Links for End {
    fn send(&mut self, to: ReplicaId, message: Vec<u8>) {
        let mut mail = self.1.lock().unwrap();
        if !mail.is_cut {
            mail.boxes[to.0 as usize - 1].push_back((self.0, message.into()));
        }
    }

    fn receive(&mut self) -> Option<(ReplicaId, Bytes)> {
        self.1.lock().unwrap().boxes[self.0.0 as usize - 1].pop_front()
    }
}

/// Two replicas that vote, and a node whose replica is the one that leads.
struct Pair {
    folder: tempfile::TempDir,
    logs: Vec<RaftLog>,
    mail: Arc<Mutex<Mail>>,
    now_ms: u64,
}

impl Pair {
    fn new() -> Pair {
        let folder = tempfile::tempdir().unwrap();
        let mail: Arc<Mutex<Mail>> = Arc::default();
        let log = |id: u64| {
            let members = Members::of_voters([1, 2].map(ReplicaId));
            let base = Base { index: 0, term: 1, members };
            let mark = SnapshotMark { base, record: Index(0), term: 1, vote: 0 };
            let (mut recovery, dir) = (Recovery::default(), folder.path().join(format!("log{id}")));
            let mut take = |record: wal::Record<'_>| recovery.take(record.index, record.kind, record.payload);
            let (disk, entropy) = (Arc::new(RealDisk), &mut SeededEntropy::new(id));
            let opened =
                wal::open(disk, &dir, wal::Settings::default(), entropy, mark.record, &mut take).unwrap();
            let links = Box::new(End(ReplicaId(id), Arc::clone(&mail)));
            let recovered = recovery.finish(mark).unwrap();
            RaftLog::new(ReplicaId(id), recovered, opened.writer, links, Retention::default(), id)
        };
        let logs = vec![log(1), log(2)];
        Pair { folder, logs, mail, now_ms: 0 }
    }

    /// A step of one replica, at the time that it is.
    fn step(&mut self, id: u64) {
        let log = &mut self.logs[id as usize - 1];
        if let Write::Sync(job) = log.write(self.now_ms).unwrap() {
            log.sync_done(job.run()).unwrap();
        }
        log.committed(&mut |_| true);
        if let Some(preparation) = log.files().wanted() {
            log.files().prepared(preparation.run());
        }
    }

    /// Steps of both until one leads. Nothing goes through any more then, and nothing of its term is committed.
    fn elect(&mut self) -> u64 {
        for _ in 0..ELECTED_WITHIN {
            self.now_ms += STEP_MS;
            for id in [1, 2] {
                self.step(id);
                if matches!(self.logs[id as usize - 1].role(), Role::Leader { .. }) {
                    *self.mail.lock().unwrap() = Mail { is_cut: true, ..Mail::default() };
                    return id;
                }
            }
        }
        panic!("one of two is elected");
    }

    /// The same, and then both have all that was proposed.
    fn elect_and_commit(&mut self) -> u64 {
        let leader = self.elect();
        self.mail.lock().unwrap().is_cut = false;
        let is_settled = |pair: &Pair| {
            let mut all = pair.logs.iter().map(RaftLog::status);
            all.all(|status| status.commit == status.last && status.leader == Some(ReplicaId(leader)))
        };
        for _ in 0..ELECTED_WITHIN {
            if is_settled(self) {
                self.mail.lock().unwrap().is_cut = true;
                self.step(leader);
                return leader;
            }
            self.now_ms += STEP_MS;
            [1, 2].into_iter().for_each(|id| self.step(id));
        }
        panic!("what a leader begins with is committed");
    }

    fn control(&self, id: u64) -> Control {
        self.logs[id as usize - 1].control()
    }

    fn node(&self, id: u64) -> Node {
        let node = node(&self.folder.path().join(format!("node{id}")), id);
        node.begin(self.control(id), Arc::<Queue>::default(), Box::new(|| false));
        node
    }

    /// What comes of something, while a replica takes steps in which no time passes.
    fn during<T: Send>(&mut self, id: u64, doing: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let doing = scope.spawn(doing);
            while !doing.is_finished() {
                self.step(id);
                thread::yield_now();
            }
            doing.join().unwrap()
        })
    }
}

/// A replica is not asked for more than it has looked at.
fn fill(control: &Control) {
    (0..ASKED_MAX).for_each(|_| _ = control.ask(harmless()).unwrap());
}

/// What a replica may be asked for at any time.
fn harmless() -> Request {
    Request::Compared(consensus::Compared::default())
}

/// One more member without a vote.
fn with_learner(view: &View, id: u64) -> Change {
    let mut change = Change::of(&view.members);
    change.learners.insert(ReplicaId(id));
    change.facts.insert(ReplicaId(id), b"{}".to_vec());
    change
}

/// A node says where it is reached: that is a change of what is known of it.
fn announce(id: u64, peer: &[String]) -> Value {
    json!({ "command": "announce", "node": id, "peer": peer })
}

fn passing(why: &str) -> Result<View, NotDone> {
    Err(NotDone::Passing(why.to_owned()))
}

/// What comes of one more member after several requests. The last one has no answer where the replica gets no turn in time: then it is tried again.
fn add_again_and_again(pair: &mut Pair, node: &Node, id: u64) -> Result<View, NotDone> {
    let late = "it was asked for, and not done within ten seconds: look at `pando cluster status`";
    let mut outcome = passing(late);
    for _ in 0..5 {
        outcome =
            pair.during(node.id().0, || node.change_within(SHORT, |view| Ok(Some(with_learner(view, id)))));
        if outcome != passing(late) {
            break;
        }
    }
    outcome
}

#[test]
fn a_join_at_a_node_that_reads_its_directory_may_be_taken_later() {
    let folder = tempfile::tempdir().unwrap();
    let node = node(folder.path(), 1);
    let address = Address::parse("127.0.0.1:4891").unwrap();
    let token = Token::issue(&node.authority, &[address], 1, &mut SystemEntropy);
    let key = NodeKey::load_or_make(&RealDisk, &folder.path().join("other")).unwrap();
    let request = JoinRequest {
        request: key.request(),
        peer_addresses: Vec::new(),
        ldap_addresses: Vec::new(),
        version: String::new(),
        behaviours: (1, 1),
    };
    let not_yet = "this node has not recovered its directory yet: try again";
    assert_eq!(node.join(&token, request), Err(NotDone::Passing(not_yet.to_owned())));
}

#[test]
fn a_leader_that_has_committed_nothing_yet_changes_no_members() {
    let mut pair = Pair::new();
    let leader = pair.elect();
    let node = pair.node(leader);
    // It has published that it leads.
    pair.step(leader);
    let outcome = add_again_and_again(&mut pair, &node, 3);
    assert_eq!(outcome, passing("this node has ceased to lead, or has just begun to: try again"));
}

#[test]
fn a_change_of_members_waits_for_the_one_before() {
    let mut pair = Pair::new();
    let leader = pair.elect_and_commit();
    let (node, control) = (pair.node(leader), pair.control(leader));
    let view = control.view();
    control.ask(Request::Change(with_learner(&view, 3), view.members_index)).unwrap();
    // The other one does not answer: this change comes to no end.
    pair.step(leader);
    let outcome = add_again_and_again(&mut pair, &node, 4);
    assert_eq!(outcome, passing("another change of members is in progress: try again"));
}

#[test]
fn a_change_that_members_cannot_have_is_refused() {
    let mut pair = Pair::new();
    let leader = pair.elect_and_commit();
    let node = pair.node(leader);
    // More than may be known of a node.
    let long: Vec<String> = (0..8).map(|at| format!("{}.{at}:4891", "x".repeat(200))).collect();
    let error = pair.during(leader, || ask(&node, &announce(1, &long)));
    assert_eq!(error, json!({ "error": "there would be no node that votes, or too many nodes" }));
    let without = |view: &View| {
        let mut change = Change::of(&view.members);
        change.voters.remove(&ReplicaId(leader));
        Ok(Some(change))
    };
    let outcome = pair.during(leader, || node.change(without));
    let leads = "this node leads: let another one lead first, with `pando cluster move-leader`";
    assert_eq!(outcome, Err(NotDone::Final(leads.to_owned())));
}

#[test]
fn a_replica_that_looks_at_nothing_is_asked_for_so_much_only() {
    let mut pair = Pair::new();
    let leader = pair.elect_and_commit();
    let node = pair.node(leader);
    fill(&pair.control(leader));
    let error = ask(&node, &announce(1, &["127.0.0.1:4891".to_owned()]));
    assert_eq!(error, json!({ "error": "the log has no room for it now: try again" }));
    let other = 3 - leader;
    let error = ask(&node, &json!({ "command": "move-leader", "node": other }));
    assert_eq!(error, json!({ "error": "too much is asked for" }));
}

#[test]
fn a_leader_that_is_deposed_before_it_lets_another_one_lead_says_so() {
    let mut pair = Pair::new();
    let leader = pair.elect_and_commit();
    let (node, control, other) = (pair.node(leader), pair.control(leader), 3 - leader);
    // Another command was faster: the other replica asks for votes, and this one has not heard of it.
    pair.mail.lock().unwrap().is_cut = false;
    control.ask(Request::Transfer(ReplicaId(other))).unwrap();
    pair.step(leader);
    pair.step(other);
    assert_eq!(control.view().leader, Some(ReplicaId(leader)));
    let asked = control.ask(harmless()).unwrap();
    let error = thread::scope(|scope| {
        let moving = scope.spawn(|| ask(&node, &json!({ "command": "move-leader", "node": other })));
        // Numbers are given in turn: the command has got one between two others.
        let has_asked = (1..ASKED_MAX as u64 - 1).any(|count| {
            env::poll::pause(SHORT);
            control.ask(harmless()).unwrap() > asked + count
        });
        assert!(has_asked, "the command comes to its request");
        pair.step(leader);
        moving.join().unwrap()
    });
    assert_eq!(error, json!({ "error": "this node does not lead any more" }));
}

#[test]
fn a_node_that_another_one_follows_as_leader_says_if_that_one_does_not_answer() {
    let mut pair = Pair::new();
    let leader = pair.elect_and_commit();
    let follower = pair.node(3 - leader);
    // Nobody knows its address.
    let outcome = follower.step_down(&BTreeSet::new(), &json!({ "command": "drain" }));
    assert_eq!(outcome, Err(format!("node {leader} leads now, and does not answer: try again")));
}

#[test]
fn the_number_of_a_node_is_never_that_of_another_one() {
    let known_by = |token: &str| Facts { token: token.to_owned(), key: token.to_owned(), ..Facts::default() };
    let mut members = Members::of_voters([1, 2, 3].map(ReplicaId));
    for (id, token) in [(1, ""), (2, "b"), (3, "c"), (4, "d")] {
        members.facts.insert(ReplicaId(id), known_by(token).encode());
    }
    assert!(!members.has(ReplicaId(4)), "the last one was removed");
    assert_eq!(number_for(&members, "e", "e"), Ok(ReplicaId(5)));
    // A join whose answer was lost is asked for again.
    assert_eq!(number_for(&members, "c", "c"), Ok(ReplicaId(3)));
    let used = |id| Err(format!("the token was used: it has become node {id}"));
    assert_eq!(number_for(&members, "c", "e"), used(3));
    assert_eq!(number_for(&members, "d", "e"), used(4), "also of a node that is gone");
    assert_eq!(number_for(&members, "d", "d"), used(4), "which does not come again itself");
}

#[test]
fn a_node_joins_where_no_other_member_is_or_where_that_is_which_it_replaces() {
    let at = |port| [Address::parse(&format!("127.0.0.1:{port}")).unwrap()];
    let mut members = Members::of_voters([1, 2].map(ReplicaId));
    for (id, port) in [(1, 4891), (2, 4892), (3, 4893)] {
        let facts = Facts { peer: at(port).to_vec(), ..Facts::default() };
        members.facts.insert(ReplicaId(id), facts.encode());
    }
    let joins = |port, replaces| no_other_is_at(&members, ReplicaId(4), &at(port), replaces);
    let taken = "127.0.0.1:4892 is the address of node 2: give this one another, or remove node 2 first";
    assert_eq!(joins(4892, None), Err(taken.to_owned()));
    assert_eq!(joins(4892, Some(ReplicaId(1))), Err(taken.to_owned()));
    assert_eq!(joins(4892, Some(ReplicaId(2))), Ok(()));
    assert_eq!(joins(4893, None), Ok(()), "node 3 was removed");
    assert_eq!(joins(4894, None), Ok(()));
    // A join whose answer was lost is asked for again.
    assert_eq!(no_other_is_at(&members, ReplicaId(2), &at(4892), None), Ok(()));
}
