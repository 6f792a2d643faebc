//! The power is cut somewhere in the record of a real server's disk: what is recovered then has what had been
//! acknowledged to clients, and no later change without an earlier one.

use crate::clock::SimClock;
use crate::counted::{Known, known, look};
use crate::disk::SimDisk;
use crate::node::Node;
use crate::random::Random;
use crate::recorder::Event;
use crate::threads::{CLIENTS, log};
use crate::view::View;
use env::disk::RealDisk;
use std::path::Path;
use std::sync::Arc;

/// Cuts `events`, which were recorded on `dir`, at a random point, makes in `scratch`, an empty folder of the real disk,
/// what the power may have left, and starts a server there. Returns how many bundles were recovered.
///
/// # Errors
/// In words: what does not hold, and where the cut was.
pub fn cut(events: &[Event], dir: &Path, scratch: &Path, seed: u64) -> Result<u64, String> {
    let mut random = Random::new(seed);
    let at = 1 + random.below(events.len() as u64) as usize;
    let events = &events[..at];
    leave(events, dir, scratch, random.number())?;
    let recovered = recovered(scratch, &known(events, CLIENTS));
    recovered.map_err(|what| format!("cut {seed}, after {at} operations: {what}"))
}

/// Makes in `scratch` what a power loss after `events` may leave of the folder `dir`.
pub(crate) fn leave(events: &[Event], dir: &Path, scratch: &Path, seed: u64) -> Result<(), String> {
    let disk = SimDisk::of_trace(seed, events);
    disk.lose_power();
    disk.write_to(&RealDisk, dir, scratch).map_err(|error| error.to_string())
}

fn recovered(dir: &Path, known: &[Known]) -> Result<u64, String> {
    let clock = SimClock::default();
    let node = Node::start(Arc::new(RealDisk), dir, log(), 1, 1, &clock);
    let mut node = node.map_err(|error| error.to_string())?;
    let view = View::of(node.read_all(0, &clock))?;
    is_sound(&node)?;
    look(&view, known)
}

/// Do indexes and counts equal the entries?
pub(crate) fn is_sound(node: &Node) -> Result<(), String> {
    let findings = node.recovered.dsa.shard().writer().check(3);
    findings.first().map_or(Ok(()), |finding| Err(finding.to_string()))
}
