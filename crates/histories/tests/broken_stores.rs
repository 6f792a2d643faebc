//! Stores that keep lists, and clients that take turns: one store is sound, and each other one breaks a promise that
//! databases have broken. The checker accepts every history of the first, and finds what is wrong with the others.

use env::entropy::{Entropy as _, SeededEntropy};
use histories::{Anomaly, Event, History, Step, Verdict, What, history, lists};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// What is wrong with a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    /// Nothing: it reads one snapshot and checks at the end that nothing read or written has changed.
    None,
    /// What was read is not checked, only what is written: snapshot isolation.
    ReadsNotChecked,
    /// Nothing is checked.
    NothingChecked,
    /// The lists that a transaction wrote become visible one after the other.
    PublishedInPieces,
    /// Others see what was not committed yet.
    UncommittedSeen,
    /// What is read may be older than the begin, though nothing is written by it.
    OldSnapshot,
    /// A write is acknowledged and forgotten.
    Forgotten,
    /// Of what is in progress at a crash half may be there afterwards.
    HalfReplayed,
    /// A transaction that was answered with a failure leaves something behind.
    FailureKept,
}

const FLAWS: [Flaw; 9] = [
    Flaw::None,
    Flaw::ReadsNotChecked,
    Flaw::NothingChecked,
    Flaw::PublishedInPieces,
    Flaw::UncommittedSeen,
    Flaw::OldSnapshot,
    Flaw::Forgotten,
    Flaw::HalfReplayed,
    Flaw::FailureKept,
];

const LISTS: [&str; 3] = ["x", "y", "z"];

/// Chance.
struct Random(SeededEntropy);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }
}

/// A transaction in progress.
struct Transaction {
    /// What it does yet, the next step last.
    todo: Vec<Step>,
    done: Vec<Step>,
    /// The version that it reads.
    snapshot: usize,
    /// Its writes, with those that wait for being published.
    own: Vec<(&'static str, u64)>,
    /// Has it committed, and is being published?
    committed: bool,
}

struct World {
    flaw: Flaw,
    random: Random,
    /// Every element with the version that brought it, in order.
    lists: BTreeMap<&'static str, Vec<(usize, u64)>>,
    version: usize,
    clients: Vec<(u32, Option<Transaction>)>,
    next_process: u32,
    next_element: u64,
    events: Vec<Event>,
}

/// A history of a store with this flaw.
fn history(flaw: Flaw, seed: u64) -> History {
    History::of(events(flaw, seed)).unwrap()
}

fn events(flaw: Flaw, seed: u64) -> Vec<Event> {
    let clients = (0..4).map(|process| (process, None)).collect();
    let (lists, events, random) = (BTreeMap::new(), Vec::new(), Random(SeededEntropy::new(seed)));
    let mut world =
        World { flaw, random, lists, version: 0, clients, next_process: 4, next_element: 0, events };
    for _ in 0..400 {
        let client = world.random.below(4) as usize;
        match world.clients[client].1.take() {
            None => world.begin(client),
            Some(transaction) => world.go_on(client, transaction),
        }
        if world.random.below(100) == 0 {
            world.crash();
        }
    }
    world.crash();
    // Somebody looks at everything in the end.
    let all = LISTS.map(|list| Step::List { list: list.to_owned(), elements: None });
    world.clients[0].1 = Some(world.transaction(all.to_vec(), usize::MAX));
    world.event(0, What::Invoke, Vec::new());
    while let Some(transaction) = world.clients[0].1.take() {
        world.go_on(0, transaction);
    }
    world.events
}

impl World {
    fn event(&mut self, client: usize, what: What, steps: Vec<Step>) {
        let at = self.events.len() as u64;
        self.events.push(Event { at, process: self.clients[client].0, what, steps });
    }

    fn transaction(&self, todo: Vec<Step>, snapshot: usize) -> Transaction {
        Transaction { todo, done: Vec::new(), snapshot, own: Vec::new(), committed: false }
    }

    fn begin(&mut self, client: usize) {
        let mut steps = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            let list = LISTS[self.random.below(3) as usize].to_owned();
            self.next_element += 1;
            let element = self.next_element;
            steps.push(match self.random.below(2) {
                0 => Step::Append { list, element },
                _ => Step::List { list, elements: None },
            });
        }
        let is_reader = steps.iter().all(|step| matches!(step, Step::List { .. }));
        let age = if self.flaw == Flaw::OldSnapshot && is_reader { self.random.below(3) as usize } else { 0 };
        self.event(client, What::Invoke, steps.clone());
        steps.reverse();
        self.clients[client].1 = Some(self.transaction(steps, self.version.saturating_sub(age)));
    }

    fn read(&self, name: &str, reader: &Transaction) -> Vec<u64> {
        let held = self.lists.get(name).into_iter().flatten();
        let mut seen: Vec<u64> = held.filter(|(v, _)| *v <= reader.snapshot).map(|(_, e)| *e).collect();
        if self.flaw == Flaw::UncommittedSeen {
            let others = self.clients.iter().filter_map(|(_, transaction)| transaction.as_ref());
            seen.extend(others.flat_map(|t| &t.own).filter(|(list, _)| *list == name).map(|(_, e)| e));
        }
        seen.extend(reader.own.iter().filter(|(list, _)| *list == name).map(|(_, element)| element));
        seen
    }

    fn go_on(&mut self, client: usize, mut transaction: Transaction) {
        if transaction.committed {
            return self.publish(client, transaction);
        }
        match transaction.todo.pop() {
            None => return self.commit(client, transaction),
            Some(Step::List { list, .. }) => {
                let elements = Some(self.read(&list, &transaction));
                transaction.done.push(Step::List { list, elements });
            }
            Some(step) => {
                if let Step::Append { list, element } = &step {
                    let name = LISTS.into_iter().find(|name| name == list).unwrap();
                    transaction.own.push((name, *element));
                }
                transaction.done.push(step);
            }
        }
        self.clients[client].1 = Some(transaction);
    }

    /// Has anything changed since the snapshot that must not?
    fn conflicts(&self, transaction: &Transaction) -> bool {
        let read = transaction.done.iter().filter_map(|step| match step {
            Step::List { list, .. } => Some(list.as_str()),
            _ => None,
        });
        let written = transaction.own.iter().map(|(list, _)| *list);
        let checked: BTreeSet<&str> = match self.flaw {
            Flaw::NothingChecked => return false,
            // A reader needs no check: it has its snapshot.
            _ if transaction.own.is_empty() => return false,
            Flaw::ReadsNotChecked => written.collect(),
            _ => written.chain(read).collect(),
        };
        let changed =
            |list: &str| self.lists.get(list).is_some_and(|l| l.last().unwrap().0 > transaction.snapshot);
        checked.into_iter().any(changed)
    }

    fn commit(&mut self, client: usize, mut transaction: Transaction) {
        if self.conflicts(&transaction) {
            if self.flaw == Flaw::FailureKept && self.random.below(3) == 0 {
                self.version += 1;
                self.apply(transaction.own.pop());
            }
            return self.event(client, What::Fail, transaction.done);
        }
        self.version += 1;
        transaction.committed = true;
        if self.flaw == Flaw::Forgotten && self.random.below(10) == 0 {
            transaction.own.clear();
        }
        if self.flaw == Flaw::PublishedInPieces {
            self.clients[client].1 = Some(transaction);
        } else {
            self.publish(client, transaction);
        }
    }

    fn apply(&mut self, write: Option<(&'static str, u64)>) {
        if let Some((list, element)) = write {
            self.lists.entry(list).or_default().push((self.version, element));
        }
    }

    fn publish(&mut self, client: usize, mut transaction: Transaction) {
        while !transaction.own.is_empty() {
            let write = transaction.own.remove(0);
            self.apply(Some(write));
            if self.flaw == Flaw::PublishedInPieces && !transaction.own.is_empty() {
                self.clients[client].1 = Some(transaction);
                self.version += 1;
                return;
            }
        }
        self.event(client, What::Ok, transaction.done);
    }

    /// Nobody who waits is answered; what is in progress has happened, or not.
    fn crash(&mut self) {
        for client in 0..self.clients.len() {
            let Some(transaction) = self.clients[client].1.take() else { continue };
            let survives =
                transaction.todo.is_empty() && !self.conflicts(&transaction) && self.random.below(2) == 0;
            if survives || transaction.committed {
                self.version += 1;
                let count = match self.flaw {
                    Flaw::HalfReplayed => transaction.own.len().div_ceil(2),
                    _ => transaction.own.len(),
                };
                transaction.own[..count].iter().for_each(|write| self.apply(Some(*write)));
            }
            self.event(client, What::Unknown, Vec::new());
            self.clients[client].0 = self.next_process;
            self.next_process += 1;
        }
        self.event(0, What::Cut, Vec::new());
    }
}

fn found(flaw: Flaw) -> BTreeSet<Anomaly> {
    (0..300).flat_map(|seed| lists::check(&history(flaw, seed)).anomalies()).collect()
}

#[track_caller]
fn finds(flaw: Flaw, expected: &[Anomaly]) {
    let found = found(flaw);
    assert!(expected.iter().all(|anomaly| found.contains(anomaly)), "{flaw:?}: {found:?}");
}

#[test]
fn snapshot_isolation_is_no_more_than_that() {
    assert_eq!(found(Flaw::ReadsNotChecked), BTreeSet::from([Anomaly::G2, Anomaly::RealTime]));
}

#[test]
fn without_checks_updates_are_lost() {
    finds(Flaw::NothingChecked, &[Anomaly::LostUpdate, Anomaly::IncompatibleOrder]);
}

#[test]
fn pieces_of_a_transaction_are_no_snapshot() {
    finds(Flaw::PublishedInPieces, &[Anomaly::GSingle, Anomaly::G1b]);
}

#[test]
fn what_is_not_committed_is_seen() {
    finds(Flaw::UncommittedSeen, &[Anomaly::G1a, Anomaly::G1b]);
}

#[test]
fn an_old_snapshot_is_serialisable_and_too_late() {
    assert_eq!(found(Flaw::OldSnapshot), BTreeSet::from([Anomaly::RealTime]));
}

#[test]
fn an_acknowledged_write_is_missing() {
    finds(Flaw::Forgotten, &[Anomaly::RealTime]);
}

#[test]
fn half_of_a_transaction_comes_back() {
    finds(Flaw::HalfReplayed, &[Anomaly::GSingle]);
}

#[test]
fn what_failed_is_there() {
    finds(Flaw::FailureKept, &[Anomaly::G1a]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_sound_store_is_accepted(seed in any::<u64>()) {
        prop_assert_eq!(lists::check(&history(Flaw::None, seed)), Verdict::Holds);
    }
}

/// Somebody else's search says of each history what ours says, or gives up.
#[test]
#[ignore = "PANDO_PORCUPINE names the program of tests/porcupine"]
fn porcupine_says_the_same() {
    let porcupine = std::env::var_os("PANDO_PORCUPINE").expect("PANDO_PORCUPINE");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("broken_stores");
    std::fs::create_dir_all(&folder).unwrap();
    for flaw in FLAWS {
        let mut command = Command::new(&porcupine);
        let mut ours = Vec::new();
        command.args(["-timeout", "1s"]);
        for seed in 0..300 {
            let path = folder.join(format!("{flaw:?}-{seed}.jsonl"));
            let events = events(flaw, seed);
            std::fs::write(&path, history::write(&events)).unwrap();
            ours.push(lists::check(&History::of(events).unwrap()) == Verdict::Holds);
            command.arg(path);
        }
        // A line for each file.
        let output = command.output().unwrap();
        let (said, complaint) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
        let theirs = said.lines().map(|line| match line {
            line if line.ends_with(": holds") => Some(true),
            line if line.contains(": not linearizable: ") => Some(false),
            _ => None,
        });
        let theirs: Vec<Option<bool>> = theirs.collect();
        assert_eq!(theirs.len(), ours.len(), "{said}{complaint}");
        let differs = |seed: &usize| theirs[*seed].is_some_and(|theirs| theirs != ours[*seed]);
        assert_eq!((0..ours.len()).find(differs), None, "seed of {flaw:?}");
        let broken = ours.iter().filter(|holds| !**holds).count();
        let silent = theirs.iter().filter(|theirs| theirs.is_none()).count();
        println!("{flaw:?}: {broken} of {} do not hold, Porcupine gave up on {silent}", ours.len());
        assert!(silent * 10 < ours.len(), "{flaw:?}: {silent}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
