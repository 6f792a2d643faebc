//! What `power_loss.rs` finds when the server answers before it has synced. In a process of its own: every thread of it
//! has the fault.

use env::planted;
use sim::counted::LOST;
use sim::power_loss::cut;
use sim::recorder::Recorder;
use sim::threads;

const CUTS: u64 = 100;

#[test]
#[ignore = "needs the build with faults: .ci/test planted"]
fn an_answer_before_the_sync_is_found() {
    let dir = tempfile::tempdir().expect("there is room");
    let data = dir.path().join("data");
    let recorder = Recorder::default();
    planted::plant_everywhere(Some(wal::faults::ANSWERED_BEFORE_SYNC));
    threads::run(&recorder, &data).expect("nothing fails");
    // The start after it has no fault.
    planted::plant_everywhere(None);
    let events = recorder.events();
    let found = (0..CUTS).find_map(|seed| {
        let scratch = dir.path().join(format!("cut-{seed}"));
        let outcome = cut(&events, &data, &scratch, seed);
        std::fs::remove_dir_all(&scratch).expect("it is ours");
        outcome.err()
    });
    println!("{found:?}");
    assert!(found.is_some_and(|what| what.contains(LOST)), "it was not found");
}
