//! What becomes of updates whose leader is deposed, at three whole replicas: each is in the log once, with ids that nobody else has, whether it
//! was lost, came from another replica, or is in the log of the next leader though the one that proposed it does not know that yet.

use consensus::links::Channel;
use consensus::{ReplicaId, Request, Retention};
use model::{ResultCode, Scope};
use node::data::Replication;
use proto::op::ModifyKind;
use sim::answers::Answer;
use sim::clock::SimClock;
use sim::disk::SimDisk;
use sim::network::Network;
use sim::node::{Node, StartOptions, begin_replication, digest, start_replica};
use sim::requests::{Bundle, SUFFIX, Sent};
use sim::workloads;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ALL: [ReplicaId; 3] = [ReplicaId(1), ReplicaId(2), ReplicaId(3)];
const DIR: &str = "data";
/// Nanoseconds of a step.
const STEP_NS: u64 = 5_000_000;
/// Steps in which everything comes to its end: ten seconds.
const LONG: usize = 2_000;

fn log() -> wal::Settings {
    wal::Settings { file_bytes: 64 << 10, waiting_bytes_max: 16 << 10, ..Default::default() }
}

struct One {
    disk: SimDisk,
    node: Node,
}

struct Group {
    network: Network,
    clock: SimClock,
    all: Vec<One>,
}

impl Group {
    /// Three replicas that have the root of the tree, and one session each. One of them leads.
    fn new() -> Group {
        let (made, clock, network) = (SimDisk::new(1), SimClock::default(), Network::new(7));
        let (first, dir) = (Arc::new(made.clone()), Path::new(DIR));
        let mut alone = Node::start(first, dir, log(), 1, 1, &clock).expect("nothing fails");
        let mut bundle = Bundle::default();
        workloads::base(0, &mut bundle);
        alone.apply(0, &bundle, &clock);
        drop(alone);
        made.kill();
        begin_replication(Arc::new(made.clone()), dir, log(), 1, ALL.to_vec()).expect("nothing fails");
        made.kill();
        let start = |id: ReplicaId| {
            let disk = made.copy();
            let [links, updates] =
                [Channel::Consensus, Channel::Updates].map(|channel| network.links_of(id, channel));
            let replication = Replication { id, links, retention: Retention::default() };
            let asked = StartOptions { seed: id.0, ..StartOptions::default() };
            let started =
                start_replica(Arc::new(disk.clone()), dir, log(), asked, 1, &clock, (replication, updates));
            One { disk, node: started.expect("nothing fails") }
        };
        let all = ALL.into_iter().map(start).collect();
        let mut group = Group { network, clock, all };
        group.steps(LONG);
        for id in ALL {
            assert!(group.node(id).is_bound(0), "its bind was answered when one led");
            group.node(id).answers(0);
        }
        group
    }

    fn node(&mut self, id: ReplicaId) -> &mut Node {
        &mut self.all[id.0 as usize - 1].node
    }

    fn step(&mut self) {
        self.clock.pass_ns(STEP_NS);
        self.network.pass_ns(STEP_NS);
        for One { node, .. } in &mut self.all {
            node.prepare_file();
            node.step(&self.clock).expect("nothing fails");
        }
    }

    fn steps(&mut self, count: usize) {
        (0..count).for_each(|_| self.step());
    }

    fn step_until(&mut self, is_so: impl Fn(&mut Group) -> bool) {
        let is_so = (0..LONG).any(|_| {
            self.step();
            is_so(self)
        });
        assert!(is_so, "it is not so after ten seconds");
    }

    /// The replica that leads and proposes, and the others.
    fn leader(&self) -> (ReplicaId, [ReplicaId; 2]) {
        let leader = ALL.into_iter().find(|id| self.leads(*id)).expect("one leads");
        let others: Vec<ReplicaId> = ALL.into_iter().filter(|id| *id != leader).collect();
        (leader, others.try_into().expect("there are three"))
    }

    /// Does a replica lead, and propose?
    fn leads(&self, id: ReplicaId) -> bool {
        self.all[id.0 as usize - 1].node.recovered.committer.is_open()
    }

    /// Does another replica lead than this one?
    fn has_other_leader(&self, old: ReplicaId) -> bool {
        ALL.into_iter().any(|id| id != old && self.leads(id))
    }

    /// What a replica sends to others is lost. It hears them.
    fn silence(&self, id: ReplicaId) {
        ALL.into_iter().filter(|other| *other != id).for_each(|other| self.network.cut(id, other));
    }

    /// A replica hears nothing of others. They hear it.
    fn deafen(&self, id: ReplicaId) {
        ALL.into_iter().filter(|other| *other != id).for_each(|other| self.network.cut(other, id));
    }

    fn send(&mut self, id: ReplicaId, bundle: &Bundle) {
        let clock = self.clock;
        self.node(id).send(0, &bundle.bytes, &clock);
    }

    /// The results that the session of a replica has got since the last call.
    fn codes(&mut self, id: ReplicaId) -> Vec<ResultCode> {
        let code = |answer: Answer| match answer {
            Answer::Done(_, code) => Some(code),
            _ => None,
        };
        self.node(id).answers(0).into_iter().filter_map(code).collect()
    }

    /// How often the log of a replica has this text: none of these logs replaces its files.
    fn times_logged(&self, id: ReplicaId, text: &str) -> usize {
        let disk = &self.all[id.0 as usize - 1].disk;
        let files = disk.files(&Path::new(DIR).join("log"));
        let has = |(path, _): (PathBuf, u64)| {
            let bytes = disk.bytes(&path).expect("it is there");
            bytes.windows(text.len()).filter(|window| *window == text.as_bytes()).count()
        };
        files.into_iter().map(has).sum()
    }

    /// All have the same, and nothing is on its way.
    fn settle(&mut self) {
        self.network.mend();
        self.steps(LONG);
        let digests = ALL.map(|id| digest(&self.node(id).recovered.dsa));
        assert!(digests.iter().all(|other| *other == digests[0]), "replicas have different directories");
        assert!(ALL.into_iter().all(|id| self.node(id).recovered.committer.is_settled()));
    }
}

/// An update that sets a text.
fn describe(text: &str) -> Bundle {
    let mut bundle = Bundle::default();
    bundle.modify(SUFFIX, ModifyKind::Replace, "description", &[text], Sent::Other);
    bundle
}

fn add(name: &str) -> Bundle {
    let mut bundle = Bundle::default();
    let attributes = [("objectClass", "device"), ("cn", name)];
    bundle.add(&format!("cn={name},{SUFFIX}"), &attributes, Sent::Other);
    bundle
}

/// The server that took it from its client sends it again, and nobody else.
#[test]
fn what_came_from_another_replica_is_not_sent_again_by_a_leader_that_was_deposed() {
    let mut group = Group::new();
    let (old, [front, other]) = group.leader();
    group.silence(old);
    let text = "it came from a front";
    group.send(front, &describe(text));
    group.step_until(|group| group.times_logged(old, text) == 1);
    assert_eq!((group.times_logged(front, text), group.codes(front)), (0, vec![]), "nobody hears of it");
    group.step_until(|group| group.has_other_leader(old));
    group.settle();
    assert_eq!(group.codes(front), [ResultCode::Success]);
    assert_eq!([front, other].map(|id| group.times_logged(id, text)), [1; 2]);
}

/// Another entry has them by then.
#[test]
fn what_a_leader_has_lost_it_sends_without_the_ids_that_it_had() {
    let mut group = Group::new();
    let (old, [_, other]) = group.leader();
    group.silence(old);
    group.send(old, &add("lost"));
    group.step_until(|group| group.times_logged(old, "lost") > 0);
    group.step_until(|group| group.has_other_leader(old));
    group.send(other, &add("another"));
    group.step_until(|group| !group.node(other).waits(0));
    assert_eq!((group.codes(other), group.codes(old)), (vec![ResultCode::Success], vec![]));
    group.settle();
    assert_eq!(group.codes(old), [ResultCode::Success]);
    // It knows which ids are free when it leads again.
    let (leader, _) = group.leader();
    group.node(leader).recovered.control.as_ref().unwrap().ask(Request::Transfer(old)).unwrap();
    group.step_until(|group| group.leads(old));
    group.send(old, &add("third"));
    group.step_until(|group| !group.node(old).waits(0));
    assert_eq!(group.codes(old), [ResultCode::Success]);
    group.settle();
    for id in ALL {
        let mut all = Bundle::default();
        all.search(SUFFIX, Scope::Subtree, "(cn=*)", &["cn"], Sent::Other);
        group.send(id, &all);
        group.step_until(|group| !group.node(id).waits(0));
        let answers = group.node(id).answers(0);
        let entries = answers.iter().filter(|answer| matches!(answer, Answer::Entry(..)));
        assert_eq!(entries.count(), 3, "{answers:?}");
    }
}

/// The others have it, and the leader does not hear that before another one leads: it may come true, and does.
#[test]
fn what_may_be_in_the_log_of_the_next_leader_is_not_sent_to_it_again() {
    let mut group = Group::new();
    let (old, [one, two]) = group.leader();
    group.deafen(old);
    let text = "nobody says that it is there";
    group.send(old, &describe(text));
    group.step_until(|group| group.times_logged(one, text) == 1 && group.times_logged(two, text) == 1);
    group.step_until(|group| !group.node(old).recovered.committer.leads());
    group.steps(1);
    assert_eq!(group.codes(old), [], "its outcome is not known");
    group.settle();
    assert_eq!(group.codes(old), [ResultCode::Success]);
    assert_eq!(ALL.map(|id| group.times_logged(id, text)), [1; 3]);
}
