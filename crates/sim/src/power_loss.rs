//! The power is cut somewhere in the record of a real server's disk: what is recovered then has what had been
//! acknowledged to clients, and no later change without an earlier one.

use crate::clock::SimClock;
use crate::disk::SimDisk;
use crate::node::Node;
use crate::random::Random;
use crate::recorder::Event;
use crate::requests::{COUNTER, counter_dn};
use crate::threads::{CLIENTS, log};
use crate::view::View;
use env::disk::RealDisk;
use std::path::Path;
use std::sync::Arc;

/// What a client had sent, and what was acknowledged to it, before the cut.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    sent: u64,
    acknowledged: u64,
}

/// Cuts `events`, which were recorded on `dir`, at a random point, makes in `scratch`, an empty folder of the real disk,
/// what the power may have left, and starts a server there. Returns how many bundles were recovered.
///
/// # Errors
/// In words: what does not hold, and where the cut was.
pub fn cut(events: &[Event], dir: &Path, scratch: &Path, seed: u64) -> Result<u64, String> {
    let mut random = Random::new(seed);
    let at = 1 + random.below(events.len() as u64) as usize;
    let events = &events[..at];
    let mut known = [Known::default(); CLIENTS];
    for event in events {
        match event {
            Event::Sent(client, count) => known[*client].sent = *count,
            Event::Acknowledged(client, count) => known[*client].acknowledged = *count,
            _ => {}
        }
    }
    let disk = SimDisk::of_trace(random.number(), events);
    disk.lose_power();
    disk.write_to(&RealDisk, dir, scratch).map_err(|error| error.to_string())?;
    let recovered = look(scratch, &known);
    recovered.map_err(|what| format!("cut {seed}, after {at} operations: {what}"))
}

fn look(dir: &Path, known: &[Known; CLIENTS]) -> Result<u64, String> {
    let clock = SimClock::default();
    let node = Node::start(Arc::new(RealDisk), dir, log(), 1, 1, &clock);
    let mut node = node.map_err(|error| error.to_string())?;
    let view = View::of(node.read_all(0, &clock))?;
    let findings = node.recovered.dsa.shard().writer().check(3);
    if let Some(finding) = findings.first() {
        return Err(finding.to_string());
    }
    let counters: Vec<Vec<u64>> = (0..CLIENTS).map(|client| counter(&view, client)).collect();
    for (client, (counter, known)) in counters.iter().zip(known).enumerate() {
        if counter[0] < known.acknowledged || counter[0] > known.sent {
            return Err(format!("client {client}, {known:?}: {} is there", counter[0]));
        }
        let earlier = counter[1..].iter().zip(&counters).position(|(seen, other)| other[0] < *seen);
        if let Some(other) = earlier {
            return Err(format!("{counter:?} of client {client} is there without what client {other} had"));
        }
    }
    Ok(counters.iter().map(|counter| counter[0]).sum())
}

/// The counter of a client, and what had been acknowledged to the others when it was sent; only a 0 in the beginning.
fn counter(view: &View, client: usize) -> Vec<u64> {
    let text = view.entries.get(&counter_dn(client)).and_then(|entry| entry.get(COUNTER)?.first());
    let numbers = text.map_or("0", |text| text).split(' ').map(|number| number.parse().unwrap_or(u64::MAX));
    numbers.collect()
}
