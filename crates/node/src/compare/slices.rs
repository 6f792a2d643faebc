//! Digests of slices of the directory: what replicas differ in without another outcome. The one that leads names a slice of the entry ids and an
//! entry of the log; each replica that applies that entry next digests the slice as it is then, at once. One that has applied it before says nothing,
//! and the leader names another entry.

use super::message::{Message, Said};
use super::now::Now;
use super::round::{Round, Value};
use crate::faults;
use consensus::{Members, ReplicaId};
use env::planted;
use std::sync::Arc;
use store::{Reader, Shard};

/// Ids in a slice: of entries of usual size some 300 µs of the committer.
const SLICE_IDS: u32 = 128;
/// Milliseconds between two slices: some 0.3 percent of a core, and ten million entries in about two hours.
const APART_MS: u64 = 100;
/// Milliseconds after which a slice that some have not digested is judged without them.
const WITHIN_MS: u64 = 500;

/// A slice that is to be digested here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wanted {
    term: u64,
    /// At this entry of the log.
    index: u64,
    /// The first id.
    first: u32,
    /// The replica that wants it.
    leader: ReplicaId,
}

/// See the module.
#[derive(Default)]
pub(super) struct Slices {
    wanted: Option<Wanted>,
    /// What was digested and is not said yet: at which entry.
    digested: Option<(Wanted, u64)>,
    /// What was said of which entry last.
    said: Option<(u64, u64)>,
    /// Of a leader: the slice that is compared, and since when.
    round: Option<(Round, u64)>,
    /// The first id of the next slice.
    first: u32,
    /// The last question: when it was, and the last entry that was applied then.
    asked_ms: Option<u64>,
    applied: u64,
    /// Is there a slice of which nobody knows who has the right one?
    pub(super) is_doubted: bool,
}

impl Slices {
    /// This replica does not lead any more, or leads in another term.
    pub(super) fn forget(&mut self) {
        (self.round, self.is_doubted) = (None, false);
    }

    /// This entry is the last one that is applied.
    pub(super) fn on_applied(&mut self, index: u64, shard: &Arc<Shard>) {
        let Some(wanted) = self.wanted.take_if(|wanted| wanted.index <= index) else { return };
        let reader = if wanted.index == index { Reader::register(shard) } else { None };
        // Too late, or too many read: another entry will be named.
        let Some(mut reader) = reader else { return };
        let ids = wanted.first..wanted.first.saturating_add(SLICE_IDS);
        let digest = reader.pin().read_point().digest_of(ids);
        self.digested = Some((wanted, said_of(wanted.first, digest)));
    }

    /// The leader wants the digest of a slice.
    pub(super) fn on_asked(
        &mut self,
        (leader, term, index): (ReplicaId, u64, u64),
        first: u32,
        now: &Now<'_>,
    ) {
        self.wanted = Some(Wanted { term, index, first, leader });
        self.on_applied(now.chain.last().0, now.shard);
    }

    /// Does this replica have said something else of a slice at an entry than what a majority has?
    pub(super) fn has_said_other(&self, index: u64, value: u64) -> bool {
        let is_of_slice = |said: u64| first_of(said) == first_of(value);
        self.said.is_some_and(|(at, said)| at == index && is_of_slice(said) && said != value)
    }

    /// Says what was digested. True if this replica leads, and it is another than that of a majority.
    pub(super) fn step(&mut self, own: ReplicaId, send: &mut dyn FnMut(ReplicaId, Message)) -> bool {
        let Some((Wanted { term, index, leader, .. }, digest)) = self.digested.take() else { return false };
        self.said = Some((index, digest));
        if leader == own {
            return self.on_digest(own, own, (term, index, digest), send);
        }
        send(leader, Message { term, index, said: Said::Slice(digest) });
        false
    }

    /// A replica has digested the slice. True if what this one has is another than a majority's.
    pub(super) fn on_digest(
        &mut self,
        own: ReplicaId,
        from: ReplicaId,
        (term, index, digest): (u64, u64, u64),
        send: &mut dyn FnMut(ReplicaId, Message),
    ) -> bool {
        // What was said of an earlier slice at the same entry may come late.
        let is_of_slice = self.first == first_of(digest);
        let Some((round, _)) = self.round.as_mut().filter(|(round, _)| round.index == index && is_of_slice)
        else {
            return false;
        };
        round.note(from, Value::Is(digest));
        let (Some(right), Some(value)) = (round.majority(), round.value(own)) else { return false };
        if value != right {
            return true;
        }
        for (id, _) in round.wrong(right) {
            send(id, Message { term, index, said: Said::WrongSlice(right) });
        }
        false
    }

    /// A leader names the next slice, if the last one is over.
    pub(super) fn ask(
        &mut self,
        (own, term, members): (ReplicaId, u64, impl FnOnce() -> Members),
        now: &Now<'_>,
        send: &mut dyn FnMut(ReplicaId, Message),
    ) {
        if self.asked_ms.is_some_and(|asked_ms| now.now_ms < asked_ms + APART_MS) {
            return;
        }
        self.asked_ms = Some(now.now_ms);
        let applied = now.chain.last().0;
        let passed = applied.saturating_sub(std::mem::replace(&mut self.applied, applied));
        if planted::is(faults::SLICES_NOT_COMPARED) || !self.is_round_over(own, now.now_ms) {
            return;
        }
        if self.first >= now.shard.ids_end() {
            self.first = 0;
        }
        // Others must not have applied it when they hear of it. Where nothing comes, all stand at the last one.
        let index = if passed == 0 { applied } else { applied + passed / 4 + 1 };
        let round = Round::new(index, members());
        let said = Said::AsksSlice(self.first);
        round.others(own).for_each(|id| send(id, Message { term, index, said }));
        self.round = Some((round, now.now_ms));
        self.wanted = Some(Wanted { term, index, first: self.first, leader: own });
        self.on_applied(applied, now.shard);
    }

    /// Is no slice compared? One that a majority has the same of is followed by the next, any other is compared again.
    fn is_round_over(&mut self, own: ReplicaId, now_ms: u64) -> bool {
        let Some((round, since_ms)) = &self.round else { return true };
        let have_all_said = round.has_said(own) && round.others(own).all(|id| round.has_said(id));
        if !have_all_said && now_ms < since_ms + WITHIN_MS {
            return false;
        }
        if round.majority().is_some() {
            (self.first, self.is_doubted) = (self.first.saturating_add(SLICE_IDS), false);
        }
        self.is_doubted |= round.is_doubted();
        self.round = None;
        true
    }
}

/// What a replica says of a slice: its first id, and 32 bits of its digest. Where nothing comes several slices are compared at one entry.
fn said_of(first: u32, digest: u128) -> u64 {
    let bits = [96, 64, 32, 0].map(|shift| (digest >> shift) as u32);
    u64::from(first) << 32 | u64::from(bits.into_iter().fold(0, |all, part| all ^ part))
}

/// Which slice something was said of.
fn first_of(said: u64) -> u32 {
    (said >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_late_of_a_slice_is_not_of_the_next_one_at_the_same_entry() {
        let ids = [1, 2, 3].map(ReplicaId);
        let mut slices = Slices { first: SLICE_IDS, ..Slices::default() };
        slices.round = Some((Round::new(9, Members::of_voters(ids)), 0));
        let mut wrong = Vec::new();
        let mut say = |from: ReplicaId, first, digest| {
            let send = &mut |to, message: Message| wrong.push((to, message.said));
            assert!(!slices.on_digest(ids[0], from, (5, 9, said_of(first, digest)), send));
            std::mem::take(&mut wrong)
        };
        assert_eq!(say(ids[0], SLICE_IDS, 7), []);
        assert_eq!(say(ids[1], SLICE_IDS, 7), []);
        assert_eq!(say(ids[2], 0, 5), [], "it was asked for that one before");
        let right = said_of(SLICE_IDS, 7);
        assert_eq!(say(ids[2], SLICE_IDS, 8), [(ids[2], Said::WrongSlice(right))]);
        slices.said = Some((9, said_of(0, 5)));
        assert!(!slices.has_said_other(9, right) && slices.has_said_other(9, said_of(0, 6)));
        assert!(!slices.has_said_other(8, said_of(0, 6)));
    }
}
