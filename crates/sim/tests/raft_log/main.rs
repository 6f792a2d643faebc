//! Replicas of a log by themselves, without a directory: who leads, what is committed, and what becomes of a replica that is alone, or
//! whose disk is full.

mod members;
mod reads;
mod snapshots;

use consensus::links::Channel;
use consensus::{
    Base, Change, Fetch, Members, RaftLog, Recovery, Refusal, ReplicaId, Request, Retention, SnapshotMark,
    WantedSnapshot,
};
use env::entropy::SeededEntropy;
use sim::disk::{Faults, SimDisk};
use sim::network::Network;
use std::path::Path;
use std::sync::Arc;
use wal::{Index, Kind, Position, ReadMode, Refused, Role, ShardLog, SyncJob, Ticket, Write, Writer};

/// More than an election takes, in steps of all.
const LONG: usize = 1000;
/// Milliseconds of a step.
const STEP_MS: u64 = 5;

struct One {
    disk: SimDisk,
    /// The snapshot from which it goes on.
    mark: SnapshotMark,
    log: Option<RaftLog>,
    /// What it was given as committed, without the entries with which terms begin.
    committed: Vec<(Position, Vec<u8>)>,
}

struct Group {
    network: Network,
    all: Vec<One>,
    now_ms: u64,
    settings: wal::Settings,
    retention: Retention,
    step_ms: u64,
}

impl Group {
    fn of(count: u64) -> Group {
        Group::with(
            count,
            wal::Settings { file_bytes: 64 << 10, waiting_bytes_max: 16 << 10, ..Default::default() },
        )
    }

    fn with(count: u64, settings: wal::Settings) -> Group {
        let voters: Vec<ReplicaId> = (1..=count).map(ReplicaId).collect();
        let one = |id| {
            let base = Base { index: 0, term: 1, members: Members::of_voters(voters.clone()) };
            let mark = SnapshotMark { base, record: Index(0), term: 1, vote: 0 };
            One { disk: SimDisk::new(id), mark, log: None, committed: Vec::new() }
        };
        let all = (1..=count).map(one).collect();
        let (network, retention) = (Network::new(7), Retention::default());
        let mut group = Group { network, all, now_ms: 0, settings, retention, step_ms: STEP_MS };
        (1..=count).for_each(|id| group.start(id));
        group
    }

    fn start(&mut self, id: u64) {
        let one = &self.all[id as usize - 1];
        let (recovery, writer) = recover(&one.disk, one.mark.record, self.settings);
        let recovered = recovery.finish(one.mark.clone()).unwrap();
        let links = self.network.links_of(ReplicaId(id), Channel::Consensus);
        let one = &mut self.all[id as usize - 1];
        one.log = Some(RaftLog::new(ReplicaId(id), recovered, writer, links, self.retention, id));
        one.committed.clear();
    }

    fn wanted(&mut self, id: u64) -> Option<WantedSnapshot> {
        self.log(id).control().view().wanted
    }

    fn fetch(&mut self, id: u64, fetch: Fetch) {
        self.log(id).control().ask(Request::Fetch(fetch)).expect("it takes steps");
    }

    fn kill(&mut self, id: u64) {
        let one = &mut self.all[id as usize - 1];
        one.log = None;
        one.disk.kill();
        self.network.on_end_of(ReplicaId(id));
    }

    /// Each takes so many steps, with a sync in each and the next file at once.
    fn steps(&mut self, count: usize) {
        (0..count).for_each(|_| self.step(0, &mut None));
    }

    /// A step of each. The sync that `slow` begins is kept.
    fn step(&mut self, slow: u64, kept: &mut Option<SyncJob>) {
        self.now_ms += self.step_ms;
        self.network.pass_ns(self.step_ms * 1_000_000);
        for (id, One { log, committed, .. }) in (1..).zip(&mut self.all) {
            let Some(log) = log else { continue };
            match log.write(self.now_ms).expect("the disk does not fail") {
                Write::Sync(job) if id == slow => *kept = Some(job),
                Write::Sync(job) => log.sync_done(job.run()).expect("the disk does not fail"),
                Write::Done | Write::Idle { .. } => {}
            }
            log.committed(&mut |entry| {
                match entry.kind {
                    Kind::Parcel => committed.push((entry.at, entry.payload.to_vec())),
                    kind => assert_eq!((kind, entry.payload), (Kind::Entry, &[][..])),
                }
                true
            });
            if let Some(preparation) = log.files().wanted() {
                log.files().prepared(preparation.run());
            }
        }
    }

    fn log(&mut self, id: u64) -> &mut RaftLog {
        self.all[id as usize - 1].log.as_mut().expect("it runs")
    }

    /// The one that leads, of those that know of the last term.
    fn leader(&self) -> u64 {
        let logs = self.all.iter().filter_map(|one| one.log.as_ref());
        let last = logs.clone().filter(|log| log.status().leads).max_by_key(|log| log.status().term);
        last.and_then(|log| log.status().leader).expect("one leads").0
    }

    fn others(&self, id: u64) -> Vec<u64> {
        (1..=self.all.len() as u64).filter(|other| *other != id).collect()
    }

    fn propose(&mut self, id: u64, text: &str) -> Result<Position, Refused> {
        self.log(id).propose(Kind::Parcel, &mut |_, out| out.extend_from_slice(text.as_bytes()))
    }

    fn cut_off(&self, id: u64) {
        for other in self.others(id) {
            self.network.cut(ReplicaId(id), ReplicaId(other));
            self.network.cut(ReplicaId(other), ReplicaId(id));
        }
    }

    /// The members that a replica has applied.
    fn members(&mut self, id: u64) -> Members {
        let log = self.log(id);
        let at = log.status().commit;
        SnapshotMark::decode(at, &log.mark(Index(at)).bytes).unwrap().base.members
    }

    fn texts(&self, id: u64) -> Vec<&str> {
        let texts = self.all[id as usize - 1].committed.iter();
        texts.map(|(_, text)| std::str::from_utf8(text).unwrap()).collect()
    }
}

/// Reads the log of a replica after a record.
fn recover(disk: &SimDisk, from: Index, settings: wal::Settings) -> (Recovery, Writer) {
    let (mut recovery, disk) = (Recovery::default(), Arc::new(disk.clone()));
    let mut take = |record: wal::Record<'_>| recovery.take(record.index, record.kind, record.payload);
    let entropy = &mut SeededEntropy::new(9);
    let opened = wal::open(disk, Path::new("log"), settings, entropy, from, &mut take).unwrap();
    (recovery, opened.writer)
}

#[test]
fn one_replica_leads_at_once_and_has_everything_again() {
    let mut group = Group::of(1);
    group.steps(3);
    let first = group.propose(1, "first").unwrap();
    assert_eq!((first.index, group.log(1).role()), (Index(2), Role::Leader { term: first.term }));
    group.steps(1);
    assert_eq!(group.log(1).durable(), Index(2));
    assert_eq!(group.texts(1), ["first"]);
    group.kill(1);
    group.start(1);
    group.steps(3);
    assert_eq!(group.texts(1), ["first"]);
    let second = group.propose(1, "second").unwrap();
    assert!(second > first && second.term > first.term, "{first:?} {second:?}");
}

#[test]
fn what_a_leader_proposes_all_have() {
    let mut group = Group::of(3);
    group.steps(LONG);
    let leader = group.leader();
    for text in ["a", "b", "c"] {
        group.propose(leader, text).unwrap();
    }
    // Followers hear of a commit with the next entries, or ten milliseconds later.
    group.steps(8);
    assert!((1..=3).all(|id| group.texts(id) == ["a", "b", "c"]), "{:?}", group.texts(1));
    let follower = group.others(leader)[0];
    assert_eq!(group.propose(follower, "d"), Err(Refused::NotLeader));
    let too_long = "x".repeat(group.log(leader).files().payload_bytes_max());
    assert_eq!(group.propose(leader, &too_long), Err(Refused::TooLong));
    let longest = &too_long[consensus::record::ENTRY_HEAD_BYTES..];
    group.propose(leader, longest).unwrap();
    group.steps(10);
    assert!((1..=3).all(|id| group.texts(id).last() == Some(&longest)));
}

#[test]
fn a_leader_that_is_cut_off_commits_nothing_and_leads_no_more() {
    let mut group = Group::of(3);
    group.steps(LONG);
    let old = group.leader();
    group.cut_off(old);
    let lost = group.propose(old, "lost").unwrap();
    let barrier = group.log(old).barrier();
    group.steps(LONG);
    assert_eq!(group.log(old).role(), Role::Follower, "it has not heard of a majority");
    assert!(group.log(old).passed().0 < barrier, "it does not know where the end is");
    let new = group.leader();
    let kept = group.propose(new, "kept").unwrap();
    assert!(new != old && kept.term > lost.term);
    group.steps(4);
    group.network.mend();
    group.steps(LONG);
    assert!((1..=3).all(|id| group.texts(id) == ["kept"]));
    assert!(group.all[old as usize - 1].committed[0].0.term > lost.term, "so `lost` is lost for certain");
    let (passed, index) = group.log(old).passed();
    assert!(passed == barrier && index >= kept.index);
}

#[test]
fn a_follower_that_no_majority_needs_has_entries_later_or_when_it_asks() {
    let mut group = Group::of(3);
    group.steps(LONG);
    group.step_ms = 1;
    let leader = group.leader();
    let has = |group: &mut Group, id: u64, at: Position| group.log(id).status().last >= at.index.0;
    // A trial in which all are served at once comes with the first commits, and is over.
    for _ in 0..20 {
        group.propose(leader, "trial").unwrap();
        group.steps(20);
    }
    let first = group.propose(leader, "first").unwrap();
    while group.log(leader).status().commit < first.index.0 {
        group.steps(1);
    }
    let behind: Vec<u64> =
        group.others(leader).into_iter().filter(|id| !has(&mut group, *id, first)).collect();
    let [late] = behind[..] else { panic!("one has it, and the other one need not: {behind:?}") };
    let now_ms = group.now_ms;
    let Write::Idle { due_ms: Some(due_ms) } = group.log(leader).write(now_ms).unwrap() else {
        panic!("there is nothing to write")
    };
    assert!(due_ms <= now_ms + 10, "a leader that idles wakes for it");
    group.steps(12);
    assert!(has(&mut group, late, first));
    group.log(late).barrier();
    group.steps(5);
    let second = group.propose(leader, "second").unwrap();
    group.steps(3);
    assert!(
        group.others(leader).into_iter().all(|id| has(&mut group, id, second)),
        "its clients wait for it"
    );
}

#[test]
fn a_leader_whose_disk_is_full_transfers_its_leadership() {
    let mut group = Group::of(3);
    group.steps(LONG);
    let full = group.leader();
    let disk = group.all[full as usize - 1].disk.clone();
    let used = disk.used(Path::new("log"));
    disk.set_faults(Faults { capacity: Some(used), ..Faults::default() });
    let text = "x".repeat(4000);
    let mut proposed = 0;
    let refused = loop {
        match group.propose(full, &text) {
            Ok(_) => proposed += 1,
            Err(refused) => break refused,
        }
        group.steps(1);
        assert!(proposed < 200);
    };
    assert!(matches!(refused, Refused::NoSpace(_)), "{refused:?}");
    group.steps(40);
    let new = group.leader();
    assert!(new != full, "another leads within 200 ms");
    // What the one with the full disk was given last it has a place for; it answers, and votes.
    for _ in 0..20 {
        group.propose(new, "on").unwrap();
        group.steps(4);
    }
    group.steps(4);
    let third = group.others(full).into_iter().find(|id| *id != new).unwrap();
    assert_eq!(group.texts(new).len(), proposed + 20);
    assert_eq!(group.texts(third).len(), proposed + 20);
    // Without the leader its vote decides, for which there is the room that is kept. There is none for what it lacks, so nothing is committed.
    group.kill(new);
    group.steps(LONG);
    assert_eq!(group.leader(), third);
    let status = group.log(third).status();
    assert!(status.leads && status.commit < status.last, "{status:?}");
    assert_eq!(group.log(full).status().leader, Some(ReplicaId(third)));
    disk.set_faults(Faults::default());
    group.start(new);
    group.steps(LONG);
    assert!((1..=3).all(|id| group.texts(id).len() == proposed + 20), "all have all when there is room");
}

#[test]
fn where_all_disks_are_full_one_leads_and_refuses() {
    let mut group = Group::of(3);
    group.steps(LONG);
    for one in &group.all {
        let capacity = Some(one.disk.used(Path::new("log")));
        one.disk.set_faults(Faults { capacity, ..Faults::default() });
    }
    let text = "x".repeat(2000);
    let mut proposed = 0;
    // Twice as long as between two transfers.
    for _ in 0..240 {
        let leader = group.leader();
        proposed += usize::from(group.propose(leader, &text).is_ok());
        group.steps(1000);
    }
    let leader = group.leader();
    let term = group.log(leader).status().term;
    assert!(term < 20, "leaders do not change all the time: term {term}");
    let refused = group.propose(leader, &text).unwrap_err();
    assert!(matches!(refused, Refused::NoSpace(_)), "{refused:?}");
    let barrier = group.log(leader).barrier();
    group.steps(20);
    assert_eq!(group.log(leader).passed().0, barrier, "its term has begun");
    group.all.iter().for_each(|one| one.disk.set_faults(Faults::default()));
    group.steps(LONG);
    let leader = group.leader();
    group.propose(leader, &text).unwrap();
    group.steps(LONG);
    assert!((1..=3).all(|id| group.texts(id).len() == proposed + 1), "all have all when there is room");
}

#[test]
fn a_replica_that_was_away_for_long_gets_all_in_messages_of_bounded_length() {
    let mut group = Group::with(3, wal::Settings::default());
    group.steps(LONG);
    let leader = group.leader();
    let away = group.others(leader)[0];
    group.kill(away);
    let text = "x".repeat(1 << 20);
    for _ in 0..48 {
        group.propose(leader, &text).unwrap();
        group.steps(4);
    }
    // Several long ones in one turn, besides.
    let long = "y".repeat(8 << 20);
    for _ in 0..3 {
        group.propose(leader, &long).unwrap();
    }
    group.start(away);
    group.steps(LONG);
    assert!((1..=3).all(|id| group.texts(id).len() == 51), "{}", group.texts(away).len());
    let longest = group.network.longest();
    assert!(longest < (8 << 20) + (1 << 12), "a message has {longest} bytes");
}

#[test]
fn what_is_no_message_is_ignored() {
    let mut group = Group::of(3);
    group.steps(LONG);
    let leader = group.leader();
    let [one, two] = group.others(leader)[..] else { panic!("there are three") };
    let mut stranger = group.network.links_of(ReplicaId(one), Channel::Consensus);
    let mut forged = raft_message(leader, two);
    let term = group.log(leader).status().term;
    for message in [vec![], vec![0; 95], vec![7; 200], forged.clone(), forged.split_off(40)] {
        stranger.send(ReplicaId(two), message);
    }
    group.propose(leader, "still").unwrap();
    group.steps(10);
    assert_eq!((group.leader(), group.log(leader).status().term), (leader, term));
    assert!((1..=3).all(|id| group.texts(id) == ["still"]));
}

/// A whole message of another term, from and to these replicas.
fn raft_message(from: u64, to: u64) -> Vec<u8> {
    let numbers = [from, to, 99, 0, 0, 0, 0, 0, 0, 0];
    let mut out = vec![0, 0, 0, 0, 7, 0, 0, 0];
    numbers.iter().for_each(|number: &u64| out.extend_from_slice(&number.to_le_bytes()));
    out.extend_from_slice(&[0; 8]);
    let crc = crc32c::crc32c(&out[4..]);
    out[..4].copy_from_slice(&crc.to_le_bytes());
    out
}

/// What other replicas hear of a term is on the disk: they do not let one come back that has forgotten it.
#[test]
fn a_replica_says_nothing_in_a_term_that_its_disk_has_not() {
    let mut group = Group::of(3);
    group.steps(LONG);
    let old = group.leader();
    let [slow, next] = group.others(old)[..] else { panic!("there are three") };
    group.propose(old, "all have it").unwrap();
    group.steps(20);
    let term = group.log(old).status().term;
    let mut kept = None;
    group.log(old).control().ask(Request::Transfer(ReplicaId(next))).unwrap();
    let matched = |group: &mut Group| {
        let view = group.log(next).control().view();
        view.others.iter().find(|other| other.id == ReplicaId(slow)).map(|other| other.matched)
    };
    for _ in 0..100 {
        group.step(slow, &mut kept);
    }
    let status = group.log(next).status();
    assert!(status.leads && status.term > term, "{status:?}");
    assert_eq!(group.log(slow).status().term, status.term, "it knows of the term");
    assert_eq!(group.log(slow).control().view().durable.term, term);
    assert_eq!(matched(&mut group), Some(0));
    let job = kept.take().expect("the term is on its way to the disk");
    group.log(slow).sync_done(job.run()).unwrap();
    group.steps(100);
    assert!(matched(&mut group) > Some(0));
}

/// It leads as soon as it starts, and others keep what it says of itself.
#[test]
fn the_only_replica_that_votes_says_nothing_in_a_term_that_its_disk_has_not() {
    let mut group = Group::of(1);
    group.steps(3);
    group.propose(1, "it has something").unwrap();
    group.steps(3);
    group.kill(1);
    group.start(1);
    let mut kept = None;
    let synced = |group: &mut Group| group.log(1).control().view().synced;
    (0..100).for_each(|_| group.step(1, &mut kept));
    assert!(group.log(1).status().leads);
    assert_eq!(synced(&mut group), 0);
    group.log(1).sync_done(kept.take().expect("its term is on its way to the disk").run()).unwrap();
    group.steps(100);
    assert!(synced(&mut group) > 0);
}
