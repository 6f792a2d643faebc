//! Power loss of a real server: its threads work on a real folder, every write, sync and change of a name is recorded,
//! and the record is cut at random points. kill -9 would not do: it keeps the page cache.
//!
//! `PANDO_CUTS=n` cuts so many times.

use sim::power_loss::cut;
use sim::recorder::{Event, Recorder};
use sim::threads;

const CUTS: u64 = 40;
/// Bundles that are recovered after many cuts: more different numbers than this. There are 180 bundles.
const OUTCOMES: u64 = 20;

#[test]
fn what_was_acknowledged_outlives_the_power() {
    let dir = tempfile::tempdir().expect("there is room");
    let data = dir.path().join("data");
    let recorder = Recorder::default();
    threads::run(&recorder, &data).expect("nothing fails");
    let events = recorder.events();
    let count = |is: fn(&Event) -> bool| events.iter().filter(|event| is(event)).count();
    let manifests = count(|event| matches!(event, Event::Renamed(_, to) if to.ends_with("manifest")));
    assert!(manifests > 1, "there were {manifests} snapshots");
    let cuts = std::env::var("PANDO_CUTS").ok().and_then(|text| text.parse().ok()).unwrap_or(CUTS);
    let mut recovered = Vec::new();
    for seed in 0..cuts {
        let scratch = dir.path().join(format!("cut-{seed}"));
        recovered.push(cut(&events, &data, &scratch, seed).unwrap_or_else(|what| panic!("{what}")));
        std::fs::remove_dir_all(&scratch).expect("it is ours");
    }
    recovered.sort_unstable();
    recovered.dedup();
    println!("{} operations, {manifests} snapshots, {cuts} cuts, {} outcomes", events.len(), recovered.len());
    assert!(recovered.len() as u64 > (cuts / 4).min(OUTCOMES), "cuts are at different points");
}
