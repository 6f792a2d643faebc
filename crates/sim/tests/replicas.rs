//! What becomes of updates at a replica that does not lead, or no more: refused, lost, or unknown and true later. And what
//! is not committed is neither seen nor answered, though the replica's own disk has it.

use model::{ResultCode, Scope};
use node::data::Recovered;
use proto::op::ModifyKind;
use sim::answers::Answer;
use sim::clock::SimClock;
use sim::disk::SimDisk;
use sim::late::{Group, LateLog, Others};
use sim::node::{Node, recover};
use sim::requests::{Bundle, SUFFIX, Sent};
use sim::workloads;
use std::path::Path;
use std::sync::Arc;

/// More than updates wait at a replica that was deposed.
const LONG_NS: u64 = 10_001_000_000;

struct Place {
    node: Node,
    group: Group,
    clock: SimClock,
}

impl Place {
    /// A replica, and others that do nothing by themselves.
    fn new() -> Place {
        let (disk, clock) = (SimDisk::new(1), SimClock::default());
        let log = wal::Settings { file_bytes: 64 << 10, waiting_bytes_max: 16 << 10, ..Default::default() };
        let group = Group::new(1, log.waiting_bytes_max);
        group.set_others(Others::Nothing);
        let (data, recovered) = recover(Arc::new(disk), Path::new("data"), log, None, 1).unwrap();
        let recovered = Recovered {
            committer: recovered.committer.over(|disk| Box::new(LateLog::new(disk, &group))),
            ..recovered
        };
        Place { node: Node::over(data, recovered, 1, &clock).unwrap(), group, clock }
    }

    /// The same when it leads and has the root of the tree.
    fn leading() -> Place {
        let mut place = Place::new();
        place.group.set_others(Others::Follow);
        place.steps(4);
        let mut bundle = Bundle::default();
        workloads::base(1, &mut bundle);
        place.send(&bundle);
        assert_eq!(place.codes(), [ResultCode::Success; 2]);
        place.group.set_others(Others::Nothing);
        place
    }

    fn steps(&mut self, count: usize) {
        for _ in 0..count {
            self.node.prepare_file();
            self.node.step(&self.clock).unwrap();
        }
    }

    fn send(&mut self, bundle: &Bundle) {
        self.node.send(0, &bundle.bytes, &self.clock);
        self.steps(1);
    }

    /// An update of the root.
    fn describe(&mut self, text: &str) {
        let mut bundle = Bundle::default();
        bundle.modify(SUFFIX, ModifyKind::Replace, "description", &[text], Sent::Other);
        self.send(&bundle);
    }

    fn codes(&mut self) -> Vec<ResultCode> {
        let code = |answer: Answer| match answer {
            Answer::Done(_, code) => Some(code),
            _ => None,
        };
        self.node.answers(0).into_iter().filter_map(code).collect()
    }

    fn description(&mut self) -> Option<String> {
        assert!(!self.node.waits(0), "it reads when it was answered");
        let mut bundle = Bundle::default();
        bundle.search(SUFFIX, Scope::Base, "(objectClass=*)", &["description"], Sent::Other);
        let answers = self.node.ask(0, &bundle, &self.clock);
        answers.into_iter().find_map(|answer| match answer {
            Answer::Entry(_, _, attributes) => attributes.get("description").map(|values| values[0].clone()),
            _ => None,
        })
    }
}

#[test]
fn a_replica_that_does_not_lead_refuses() {
    let mut place = Place::new();
    place.describe("a");
    assert_eq!(place.codes(), [ResultCode::Busy]);
    assert_eq!(place.group.committed(), 1, "the record that began the leader's term");
}

#[test]
fn what_the_own_disk_has_is_answered_when_it_is_committed() {
    let mut place = Place::leading();
    let before = place.node.applied();
    place.describe("a");
    place.steps(20);
    assert!(place.node.waits(0) && place.codes().is_empty());
    let log = Arc::clone(place.node.recovered.committer.log());
    assert!(log.synced().0 > before && place.node.applied() == before);
    place.group.set_others(Others::Follow);
    place.steps(1);
    assert_eq!(place.codes(), [ResultCode::Success]);
    assert_eq!(place.description().as_deref(), Some("a"));
}

#[test]
fn what_is_lost_is_reported_and_changes_nothing() {
    let mut place = Place::leading();
    place.group.make_abort_only();
    place.describe("a");
    place.group.take_over();
    place.steps(2);
    assert_eq!(place.codes(), [ResultCode::Busy]);
    assert_eq!(place.description(), None);
    // The next term begins with what there is.
    place.group.set_others(Others::Follow);
    place.steps(4);
    place.describe("b");
    assert_eq!(place.codes(), [ResultCode::Success]);
    assert_eq!(place.description().as_deref(), Some("b"));
}

#[test]
fn what_is_unknown_is_reported_after_a_while_and_may_come_true() {
    let mut place = Place::leading();
    place.describe("a");
    place.group.depose();
    place.steps(2);
    assert!(place.node.waits(0), "a new leader may tell");
    place.clock.pass_ns(LONG_NS);
    place.steps(1);
    assert_eq!(place.codes(), [ResultCode::Unavailable]);
    assert_eq!(place.description(), None);
    place.group.take_over();
    place.steps(2);
    assert_eq!(place.description().as_deref(), Some("a"));
}

#[test]
fn another_leader_may_answer_for_it_in_time() {
    let mut place = Place::leading();
    place.describe("a");
    place.group.take_over();
    place.steps(2);
    assert_eq!(place.codes(), [ResultCode::Success]);
    assert_eq!(place.description().as_deref(), Some("a"));
}
