//! Power loss of three nodes at one instant: their threads work on real folders and speak over real sockets, every write, sync and change of a name
//! is recorded in one order with what clients sent and what was acknowledged to them, and the record is cut at random points. A kill of all
//! processes would not do: it keeps the page cache.
//!
//! `PANDO_CUTS=n` cuts so many times.

mod disk;
mod nodes;

use env::planted::{self, Fault};
use nodes::Script;
use sim::counted::LOST;
use sim::power_loss_of_group::cut;
use sim::recorder::Event;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

const CUTS: u64 = 20;
/// Bundles that are recovered after many cuts: more different numbers than this. There are not many more than 180 bundles.
const OUTCOMES: u64 = 20;
/// Cuts within which a fault must be found.
const PLANTED_CUTS: u64 = 200;
/// What is said of a replica whose log and snapshot do not belong together, or are damaged.
const UNSOUND: &str = "does not start";

#[test]
fn what_a_majority_acknowledged_outlives_the_power_of_all() {
    let dir = tempfile::tempdir().expect("there is room");
    let (run, seen) = nodes::record(dir.path(), Script::Whole).expect("nothing fails");
    assert!(seen.leaders.len() > 4, "{seen:?}");
    for node in &run.dirs {
        let is_manifest = |event: &&Event| matches!(event, Event::Renamed(_, to) if to.starts_with(node) && to.ends_with("manifest"));
        let snapshots = run.events[run.begun..].iter().filter(is_manifest).count();
        assert!(snapshots > 0, "{} has no snapshot", node.display());
    }
    let cuts = std::env::var("PANDO_CUTS").ok().and_then(|text| text.parse().ok()).unwrap_or(CUTS);
    let (mut recovered, mut fetched) = (BTreeSet::new(), 0);
    for seed in 0..cuts {
        let scratch = dir.path().join(format!("cut-{seed}"));
        let outcome = cut(&run, &scratch, seed).unwrap_or_else(|what| panic!("{what}"));
        recovered.insert(outcome.bundles);
        fetched += outcome.fetched;
        std::fs::remove_dir_all(&scratch).expect("it is ours");
    }
    let operations = run.events.len() - run.begun;
    println!(
        "{operations} operations, {seen:?}, {cuts} cuts, {} outcomes, {fetched} fetched",
        recovered.len()
    );
    assert!(recovered.len() as u64 > (cuts / 4).min(OUTCOMES), "cuts are at different points");
}

/// Faults of syncs, and of what is acknowledged or released too early, and what is said of them. `vote-not-synced` and `hard-state-in-later-block` are
/// not among them: a vote that is lost does harm only while the one goes on for whom it was given, and here the power of all is cut at one
/// instant. Worlds in which single replicas lose it find them (`directory.rs`).
const PLANTED: &[(Fault, &[&str])] = &[
    (consensus::faults::APPEND_ACKED_BEFORE_SYNC, &[LOST]),
    (consensus::faults::OWN_COPY_COUNTED_BEFORE_SYNC, &[LOST]),
    // What the log has may be cut off, have gaps, or be another's.
    (wal::faults::LOG_NOT_SYNCED, &[LOST, UNSOUND]),
    (wal::faults::ANSWERED_BEFORE_SYNC, &[LOST]),
    (node::faults::PUBLISHED_BEFORE_SYNC, &[LOST]),
    (node::faults::ANSWERED_BEFORE_COMMIT, &[LOST]),
    (wal::faults::SNAPSHOT_NOT_SYNCED, &[UNSOUND]),
    (wal::faults::MANIFEST_NOT_SYNCED, &[UNSOUND]),
    (node::faults::RELEASED_BEFORE_SNAPSHOT, &[UNSOUND]),
];

#[test]
#[ignore = "needs the build with faults: .ci/test planted"]
fn missing_syncs_of_three_nodes_are_found() {
    let mut missed: Vec<&Fault> = Vec::new();
    for (fault, texts) in PLANTED {
        let dir = tempfile::tempdir().expect("there is room");
        planted::plant_everywhere(Some(*fault));
        let recorded = nodes::record(dir.path(), Script::Moves);
        // The starts after it have no fault.
        planted::plant_everywhere(None);
        let (run, seen) = recorded.expect("nothing fails");
        let found = (0..PLANTED_CUTS).find_map(|seed| {
            let scratch = dir.path().join(format!("cut-{seed}"));
            // Of replicas that lack what they have acknowledged the core panics now and then.
            let outcome = catch_unwind(AssertUnwindSafe(|| cut(&run, &scratch, seed)));
            std::fs::remove_dir_all(&scratch).expect("it is ours");
            outcome.ok()?.err().filter(|found| texts.iter().any(|text| found.contains(text)))
        });
        println!("{fault:?}, {seen:?}: {found:?}");
        missed.extend(found.is_none().then_some(fault));
    }
    assert!(missed.is_empty(), "not found: {missed:?}");
}
