//! How disks and clocks of replicas fare. Each measures its own syncs. The one that leads hears of the others with what they say of their
//! readers ([`crate::compare`]), twice a second. It reads no clock: it is given both.
//!
//! - *A disk.* If a sync of the leader takes five times as long as one of another replica for ten seconds, and ten milliseconds at
//!   least, that one is to lead. Noise of fast disks moves nothing.
//! - *A clock.* The middle one of all clocks is taken for right if a majority of those that vote agrees with it. A leader whose own clock is apart
//!   for ten seconds lets one lead whose clock is not, and corrects the times that it gives to changes meanwhile.
//!
//! Neither gives the leadership back within a minute to who had it.

mod clocks;
mod report;
mod sync_times;

use crate::faults;
use clocks::Heard;
use consensus::{Condition, Conditions, Members, ReplicaId};
use env::planted;
use report::{APART_MS, SLOW_US};
pub(crate) use report::{Now, Report};
use std::collections::BTreeMap;
use sync_times::SyncTimes;

/// How many times as long as another one's a sync of the leader takes, where the other one is to lead.
const TIMES_SLOWER: u64 = 5;
/// Milliseconds for which another replica must have been better all the time.
const BETTER_FOR_MS: u64 = 10_000;
/// Milliseconds in which another replica that is better must have begun to lead: it may not be able to.
const OFFERED_MS: u64 = 3_000;
/// Milliseconds within which a replica that led is not to lead again.
const RETURNS_AFTER_MS: u64 = 60_000;
/// Milliseconds after which nothing is known any more of a disk or a clock.
const KNOWN_MS: u64 = 5_000;

/// Another replica, as the one that leads sees it.
#[derive(Debug, Default)]
struct Other {
    /// Microseconds of a sync, and when that was heard.
    sync: Option<(u64, u64)>,
    clock: Option<Heard>,
    /// Since when its syncs were so much faster than the leader's all the time, and since when its clock agreed with a majority
    /// while the leader's did not.
    faster_ms: Option<u64>,
    right_ms: Option<u64>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Health {
    own: SyncTimes,
    /// Microseconds of an own sync when there was one last, and when that was.
    own_sync: Option<(u64, u64)>,
    others: BTreeMap<ReplicaId, Other>,
    /// Who leads, and who led before, until when.
    leader: Option<ReplicaId>,
    led: BTreeMap<ReplicaId, u64>,
    /// When it was first said who is better.
    offered_ms: Option<u64>,
    /// By how much the own clock is ahead of a majority's, and both own clocks when that was found.
    own_clock: Option<(i64, Now)>,
    /// Replicas whose clocks were said to be apart; whether clocks were said to differ without a majority.
    apart: BTreeMap<ReplicaId, i64>,
    is_undecided: bool,
}

impl Health {
    /// A sync was handed out.
    pub(crate) fn sync_begun(&mut self, now_ms: u64) {
        self.own.begin(now_ms);
    }

    /// It has taken so many microseconds.
    pub(crate) fn sync_took(&mut self, us: u64) {
        self.own.note(us);
    }

    /// None is in progress.
    pub(crate) fn sync_done(&mut self) {
        self.own.end();
    }

    /// What this replica says of itself to one that has asked.
    pub(crate) fn report(&mut self, asked_ms: u64, now: Now) -> Report {
        Report { asked_ms, sync_us: self.own.take(now.monotonic_ms).unwrap_or(0), wall_ms: now.wall_ms }
    }

    /// Another replica leads, or none. What was heard as a leader is forgotten.
    pub(crate) fn on_leader(&mut self, leader: Option<ReplicaId>, now_ms: u64) {
        if self.leader == leader {
            return;
        }
        if let Some(before) = std::mem::replace(&mut self.leader, leader) {
            self.led.insert(before, now_ms);
        }
        self.led.retain(|_, until_ms| now_ms < *until_ms + RETURNS_AFTER_MS);
        self.others.clear();
        self.apart.clear();
        (self.own_sync, self.own_clock, self.offered_ms, self.is_undecided) = (None, None, None, false);
    }

    /// Another replica has said something, to this one, which leads.
    pub(crate) fn on_report(&mut self, from: ReplicaId, report: Report, now: Now) {
        let other = self.others.entry(from).or_default();
        if report.sync_us > 0 {
            other.sync = Some((report.sync_us, now.monotonic_ms));
        }
        other.clock = Heard::of(&report, now).or(other.clock);
    }

    /// What the leader knows now of itself and of the others, and who is to lead in its place.
    pub(crate) fn judge(&mut self, own: ReplicaId, members: &Members, now: Now) -> Conditions {
        let now_ms = now.monotonic_ms;
        let is_known = |at_ms: u64| now_ms < at_ms + KNOWN_MS;
        self.others.retain(|id, _| members.has(*id));
        if let Some(us) = self.own.take(now_ms) {
            self.own_sync = Some((us, now_ms));
        }
        let own_us = self.own_sync.filter(|(_, at_ms)| is_known(*at_ms)).map(|(us, _)| us);
        let mut clocks = BTreeMap::from([(own, clocks::ahead_ms(now))]);
        for (id, other) in &mut self.others {
            other.sync = other.sync.filter(|(_, at_ms)| is_known(*at_ms));
            other.clock = other.clock.filter(|heard| is_known(heard.at_ms));
            clocks.extend(other.clock.map(|heard| (*id, heard.ahead_ms)));
        }
        let right_ms = clocks::middle(&clocks, members);
        clocks.values_mut().for_each(|ahead_ms| *ahead_ms = ahead_ms.saturating_sub(right_ms));
        let is_majority = clocks::agree(&clocks, members);
        self.own_clock = (is_majority && clocks.len() > 1).then(|| (clocks[&own], now));
        self.tell_of_clocks(&clocks, is_majority);
        let better = self.better((own, own_us), &clocks, is_majority, now_ms);
        let sync_us = |id: &ReplicaId| match *id == own {
            true => own_us,
            false => self.others.get(id).and_then(|other| other.sync).map(|(us, _)| us),
        };
        let condition = |id| Condition { id, sync_us: sync_us(&id), clock_ms: clocks.get(&id).copied() };
        let replicas = members.all().map(condition).collect();
        Conditions { replicas, better }
    }

    /// Replicas that have been better than the leader for so long that one of them is to lead.
    fn better(
        &mut self,
        (own, own_us): (ReplicaId, Option<u64>),
        clocks: &BTreeMap<ReplicaId, i64>,
        is_majority: bool,
        now_ms: u64,
    ) -> Vec<ReplicaId> {
        let is_slow = own_us.filter(|us| *us >= SLOW_US && !planted::is(faults::SLOW_LEADER_STAYS));
        let is_apart = |id: &ReplicaId| clocks.get(id).is_none_or(|ahead_ms| ahead_ms.abs() >= APART_MS);
        let is_own_wrong = is_majority && is_apart(&own);
        if self.offered_ms.is_some_and(|offered_ms| now_ms >= offered_ms + OFFERED_MS) {
            // It could not, or did not want to: ten seconds more.
            self.others.values_mut().for_each(|other| (other.faster_ms, other.right_ms) = (None, None));
            self.offered_ms = None;
        }
        for (id, other) in &mut self.others {
            let is_faster = is_slow
                .zip(other.sync)
                .is_some_and(|(own_us, (us, _))| us.saturating_mul(TIMES_SLOWER) <= own_us);
            let since = |is_so: bool, since_ms: Option<u64>| is_so.then(|| since_ms.unwrap_or(now_ms));
            other.faster_ms = since(is_faster, other.faster_ms);
            other.right_ms = since(is_own_wrong && !is_apart(id), other.right_ms);
        }
        let is_long = |since_ms: Option<u64>| since_ms.is_some_and(|since| now_ms >= since + BETTER_FOR_MS);
        let has_led =
            |id: &ReplicaId| self.led.get(id).is_some_and(|until| now_ms < *until + RETURNS_AFTER_MS);
        // One whose disk is much slower is no help to a clock, and the other way round.
        let is_better = |(id, other): &(&ReplicaId, &Other)| {
            let slow_us = SLOW_US.max(own_us.unwrap_or(0).saturating_mul(TIMES_SLOWER));
            let is_other_slow = other.sync.is_some_and(|(us, _)| us >= slow_us);
            let is_well = !is_other_slow && (is_own_wrong || !is_majority || !is_apart(id));
            (is_long(other.faster_ms) || is_long(other.right_ms)) && is_well && !has_led(id)
        };
        let better: Vec<ReplicaId> = self.others.iter().filter(is_better).map(|(id, _)| *id).collect();
        if !better.is_empty() {
            self.offered_ms.get_or_insert(now_ms);
        }
        better
    }

    /// What a change is to be dated by, where the wall clock says `wall_ms`: what a majority's clocks say, if the own one is apart. A jump since they
    /// were compared is not followed before that is done again.
    pub(crate) fn corrected(&self, wall_ms: u64, monotonic_ms: u64) -> u64 {
        let Some((ahead_ms, at)) = self.own_clock else { return wall_ms };
        if monotonic_ms >= at.monotonic_ms + KNOWN_MS {
            return wall_ms;
        }
        let passed_ms = monotonic_ms.saturating_sub(at.monotonic_ms);
        clocks::corrected(wall_ms, at.wall_ms.saturating_add(passed_ms), ahead_ms)
    }

    fn tell_of_clocks(&mut self, clocks: &BTreeMap<ReplicaId, i64>, is_majority: bool) {
        if self.is_undecided != (!is_majority && clocks.len() > 1) {
            self.is_undecided = !self.is_undecided;
            match self.is_undecided {
                true => tracing::warn!(
                    "the clocks of nodes differ, and no majority has the same time: nobody knows which is right"
                ),
                false => tracing::warn!("the clocks of a majority of the nodes have the same time again"),
            }
        }
        if !is_majority {
            return;
        }
        for (id, ahead_ms) in clocks {
            let (was_apart, is_apart) = (self.apart.contains_key(id), ahead_ms.abs() >= APART_MS);
            let seconds = ahead_ms.abs() as f64 / 1000.0;
            match (was_apart, is_apart) {
                (false, true) => {
                    self.apart.insert(*id, *ahead_ms);
                    let side = if *ahead_ms > 0 { "ahead of" } else { "behind" };
                    tracing::error!(
                        "the clock of node {id} is {seconds:.1} s {side} those of a majority: set it right"
                    );
                }
                // Not at the very limit, or it would be said again and again.
                (true, false) if ahead_ms.abs() < APART_MS / 2 => {
                    self.apart.remove(id);
                    tracing::warn!("the clock of node {id} is right again");
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
