//! A whole directory on a disk that fails, over many seeds: see `sim::world`. All workloads, all plans of faults.
//!
//! `PANDO_SEED=n` runs that seed alone, `PANDO_SEEDS=n` that many.

use env::planted::Fault;
use env::task;
use sim::plan::{PLANS, Plan};
use sim::seeds::Choice;
use sim::{properties, workloads};
use std::ops::Range;

const SEEDS: u64 = 300;
/// Within so many seeds each fault must be found.
const PLANTED_SEEDS: u64 = 1000;
/// The workload that takes backups, restores and imports.
const OPERATED: Option<&str> = Some("operated");

fn seeds() -> Range<u64> {
    let of = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    of("PANDO_SEED").map_or(0..of("PANDO_SEEDS").unwrap_or(SEEDS), |seed| seed..seed + 1)
}

#[test]
fn nothing_is_lost_and_nothing_else_appears() {
    let (tally, failures) = Choice::default().run_all(seeds(), task::cores(), 10, &|_, _| ());
    for failure in &failures {
        println!("PANDO_SEED={}: {} ({})", failure.seed, failure.violation, failure.command);
    }
    assert!(failures.is_empty(), "{failures:?}");
    println!("{tally:?}");
    if seeds().count() as u64 >= SEEDS {
        let never = tally.rows().into_iter().find(|(_, count)| *count == 0);
        assert_eq!(never, None, "this never happened");
    }
}

#[test]
fn a_seed_repeats_itself() {
    let every = (workloads::NAMES.len() * PLANS.len()) as u64;
    let hash = |seed| Choice::default().run(seed, false).map(|(hash, _)| hash).expect("it is clean");
    let hashes: Vec<u64> = (0..every).map(hash).collect();
    assert_eq!(hashes, (0..every).map(hash).collect::<Vec<_>>());
    assert_ne!(hashes[0], hashes[1]);
}

/// Each fault that is put in on purpose is found by the same worlds, which find nothing without; and by the property that
/// is there for it.
#[test]
fn planted_faults_are_found() {
    for (fault, plan, workload, property) in [
        (Fault::LogNotSynced, "power", None, "the log can be read"),
        (Fault::AnsweredBeforeSync, "power", None, "no acknowledged write is lost"),
        (Fault::PublishedBeforeSync, "power", None, "no acknowledged write is lost"),
        (Fault::BlockChecksumSkipped, "bits", None, "a flipped bit stops the start"),
        (Fault::TornTailRead, "power", None, "the log can be read"),
        (Fault::SnapshotNotSynced, "power", None, "a start without damage succeeds"),
        (Fault::ManifestNotSynced, "power", None, "a start without damage succeeds"),
        (Fault::IdsChosenAgain, "kills", None, "the state is the model's"),
        (Fault::IndexEntryForgotten, "kills", None, "indexes equal the entries"),
        (Fault::IndexChangeMissed, "kills", None, properties::INDEXES),
        (Fault::IndexChangeMissed, "kills", None, properties::SEARCHED),
        (Fault::IndexKeyKept, "kills", None, properties::VERIFIED),
        (Fault::IndexNotKept, "power", None, properties::SWITCHED),
        (Fault::SnapshotChecksumSkipped, "bits", None, "a flipped bit stops the start"),
        (Fault::BlockChecksumSkipped, "bits", OPERATED, properties::FLIPPED_BACKUP),
        (Fault::CopyNotSynced, "power", OPERATED, properties::BACKUP),
        (Fault::ReleasedBeforeArchived, "power", OPERATED, properties::POINT),
        (Fault::PointPassedOver, "power", OPERATED, properties::POINT),
        (Fault::RestoreNotSynced, "power", OPERATED, properties::RESTORED),
        (Fault::ManifestNotSynced, "power", OPERATED, properties::IMPORTED),
        (Fault::PublishedInPieces, "kills", None, properties::HALF),
        (Fault::OverlayLeaked, "kills", Some("transfers"), properties::SNAPSHOT),
        (Fault::OverlayLeaked, "kills", Some("ring"), properties::SNAPSHOT),
        (Fault::CommitNotJudged, "kills", Some("transfers"), properties::SNAPSHOT),
        (Fault::CommitNotJudged, "kills", Some("ring"), properties::SNAPSHOT),
        (Fault::StaleDraftsDropped, "kills", Some("stripes"), properties::SNAPSHOT),
        (Fault::PublishedInPieces, "kills", Some("stripes"), properties::HALF),
        (Fault::HalfReplayed, "kills", Some("ring"), "the state is the model's"),
        (Fault::HalfReplayed, "kills", Some("transfers"), "no acknowledged write is lost"),
        (Fault::OutcomeOther, "kills", None, "a start without damage succeeds"),
        (Fault::PreemptedCommitted, "kills", Some("transfers"), properties::PRECEDENCE),
        (Fault::PreemptedCommitted, "kills", Some("ring"), properties::PRECEDENCE),
        (Fault::PrecedenceIgnored, "kills", None, properties::PRECEDENCE),
        (Fault::LaterUpdateSeen, "kills", Some("bundles"), properties::OWN),
        (Fault::AnsweredBeforeSync, "power", Some("bundles"), "no acknowledged write is lost"),
        (Fault::PublishedBeforeSync, "power", Some("bundles"), "no acknowledged write is lost"),
        (Fault::AnsweredBeforeCommit, "replicas", None, properties::UNCOMMITTED),
        (Fault::ReaderNotRevoked, "kills", None, properties::REVOKED),
        (Fault::TermNotCompared, "replicas", None, "the log can be read"),
        (Fault::FreeSetDiffers, "kills", None, "the state is the model's"),
        (Fault::IdInTheWay, "kills", None, "a start without damage succeeds"),
        (Fault::LimitAtApply, "kills", Some("ring"), "a start without damage succeeds"),
        (Fault::RulesByRestart, "kills", Some("mixed"), "a start without damage succeeds"),
    ] {
        let plan = (plan.to_owned(), Plan::named(plan).expect("it comes with the simulator"));
        let workload = workload.map(str::to_owned);
        let choice = Choice { workload, plan: Some(plan), planted: Some(fault) };
        let found = (0..PLANTED_SEEDS).filter_map(|seed| choice.run(seed, false).err());
        let found =
            found.map(|failure| (failure.seed, failure.violation)).find(|(_, v)| v.property == property);
        println!("{fault:?}: {found:?}");
        assert!(found.is_some(), "{fault:?} was not found by: {property}");
    }
}
