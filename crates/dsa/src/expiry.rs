//! When dynamic entries are looked through whose time is over, and how far that has come. [`crate::Worker::delete_expired`] does it.
//!
//! The delete of an entry may be refused: a constraint says that a group keeps a member, for instance. It is tried again after twice the time
//! that was waited before, up to an hour, and the first refusal is reported. All of that is of one server and is not in the log: who proposes a
//! delete, and when, changes nothing of what the delete comes to.

use crate::journal::Reply;
use model::ResultCode::{
    self, AssertionFailed, Busy, NoSuchObject, NotAllowedOnNonLeaf, Success, Unavailable, UnwillingToPerform,
};
use proto::message::{self, Frame};
use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// Nanoseconds between two looks. Clients count in seconds, so a shorter time would promise what they cannot see.
const PERIOD_NS: u64 = 1_000_000_000;
/// Nanoseconds between a first refusal and the next delete.
const WAIT_MIN_NS: u64 = 2 * PERIOD_NS;
/// And at most between two deletes of one entry.
const WAIT_MAX_NS: u64 = 3600 * PERIOD_NS;
/// Entries that wait, about 64 bytes each. Of others that are refused nothing is kept.
const WAITING_MAX: usize = 16_384;
/// Nanoseconds between two looks while there is no room for more that wait: those that are refused are tried again at each of them.
const PERIOD_OF_FULL_NS: u64 = 60 * PERIOD_NS;
/// Entries that are reported by name at a time.
const REPORTED_MAX: usize = 8;

/// Dynamic entries that stay although their time is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undeleted {
    /// Their DNs, 8 at most, and why the delete of each was refused.
    pub entries: Vec<(Vec<u8>, String)>,
    /// How many there are besides.
    pub others: usize,
}

/// A delete that was proposed.
pub(crate) struct Proposed {
    /// The id of the entry.
    pub(crate) id: u32,
    /// When its time was over, in milliseconds. A refresh makes it another one.
    pub(crate) expired_ms: u64,
    /// Its name.
    pub(crate) dn: Vec<u8>,
}

/// An entry whose delete was refused.
struct Waiting {
    expired_ms: u64,
    /// No delete before this time of the monotonic clock.
    until_ns: u64,
    /// How long was waited for it.
    waited_ns: u64,
}

/// What is kept between two looks.
#[derive(Default)]
pub(crate) struct Round {
    /// No look before this time of the monotonic clock.
    due_ns: u64,
    /// Where the next look begins, by the id of an entry.
    pub(crate) from: u32,
    /// Deletes in the order of their messages, until they are answered.
    pub(crate) proposed: Vec<Proposed>,
    /// Where the log answers them.
    pub(crate) outstanding: Option<Arc<Reply>>,
    /// By the id of the entry.
    waiting: BTreeMap<u32, Waiting>,
    undeleted: Undeleted,
}

impl Round {
    /// Takes the answer of the log, if there is one. Without it there is no look: a log that stands still would else collect the same deletes again each
    /// second.
    pub(crate) fn settle(&mut self, now_ns: u64) -> bool {
        let Some(reply) = &self.outstanding else { return true };
        let Some(answers) = reply.take() else { return false };
        self.outstanding = None;
        self.answered(&answers, now_ns);
        true
    }

    /// Is this entry to be tried later, by its id and the time when it was over?
    pub(crate) fn is_waiting(&self, id: u32, expired_ms: u64, now_ns: u64) -> bool {
        let waiting = self.waiting.get(&id);
        waiting.is_some_and(|waiting| waiting.expired_ms == expired_ms && now_ns < waiting.until_ns)
    }

    /// Forgets those from one id to another, this included, that are not among the dynamic entries there, which are in order.
    pub(crate) fn keep_among(&mut self, (from, to): (u32, u32), ids: &[u32]) {
        let is_gone = |id: &u32| ids.binary_search(id).is_err();
        let gone: Vec<u32> = self.waiting.range(from..=to).map(|(id, _)| *id).filter(is_gone).collect();
        gone.iter().for_each(|id| _ = self.waiting.remove(id));
    }

    /// Notes what became of the deletes that were proposed.
    pub(crate) fn answered(&mut self, mut answers: &[u8], now_ns: u64) {
        for Proposed { id, expired_ms, dn } in mem::take(&mut self.proposed) {
            // Where an answer is missing nothing is known, and the delete is tried again.
            let Ok(Frame::Complete { len }) = message::frame(answers) else { return };
            let Some((answer, rest)) = answers.split_at_checked(len) else { return };
            answers = rest;
            let text = match Became::of(answer) {
                Became::Gone => {
                    self.waiting.remove(&id);
                    continue;
                }
                Became::Unknown => continue,
                Became::Refused(text) => text,
            };
            let before = self.waiting.remove(&id).filter(|waiting| waiting.expired_ms == expired_ms);
            let waited_ns =
                before.as_ref().map_or(WAIT_MIN_NS, |before| (2 * before.waited_ns).min(WAIT_MAX_NS));
            let until_ns = now_ns.saturating_add(waited_ns);
            if self.waiting.len() >= WAITING_MAX {
                self.due_ns = now_ns.saturating_add(PERIOD_OF_FULL_NS);
                continue;
            }
            self.waiting.insert(id, Waiting { expired_ms, until_ns, waited_ns });
            if before.is_none() {
                match self.undeleted.entries.len() < REPORTED_MAX {
                    true => self.undeleted.entries.push((dn, text)),
                    false => self.undeleted.others += 1,
                }
            }
        }
    }
}

/// What became of a delete.
enum Became {
    /// It is done, or the entry is another one by now.
    Gone,
    /// It says nothing about the entry: the log takes no updates now, for want of a majority or of room on the disk, or something was added below it.
    Unknown,
    /// It was refused for what the entry is, in words.
    Refused(String),
}

impl Became {
    fn of(answer: &[u8]) -> Became {
        let Some(result) = message::Reply::decode(answer).ok().and_then(|reply| reply.result()) else {
            return Became::Unknown;
        };
        match result.result_code() {
            Some(Success | NoSuchObject | AssertionFailed) => Became::Gone,
            Some(NotAllowedOnNonLeaf | Busy | Unavailable | UnwillingToPerform) => Became::Unknown,
            code => {
                let text = String::from_utf8_lossy(result.diagnostic);
                Became::Refused(format!("{}: {text}", code.map_or("other", ResultCode::name)))
            }
        }
    }
}

/// One for all threads. The first one in a second has the look; the others go on at once, for none of them waits for a lock here.
#[derive(Default)]
pub(crate) struct Expiry(Mutex<Round>);

impl Expiry {
    fn try_lock(&self) -> Option<MutexGuard<'_, Round>> {
        match self.0.try_lock() {
            Ok(round) => Some(round),
            // What is lost by a panic is a delete that is tried again.
            Err(TryLockError::Poisoned(round)) => Some(round.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The round, if it is time for a look and no other thread is at it.
    pub(crate) fn begin(&self, now_ns: u64) -> Option<MutexGuard<'_, Round>> {
        let mut round = self.try_lock()?;
        (now_ns >= round.due_ns).then(|| {
            round.due_ns = now_ns + PERIOD_NS;
            round
        })
    }

    /// What is to be reported, once. Nothing while another thread is at a look.
    pub(crate) fn take_undeleted(&self) -> Option<Undeleted> {
        let mut round = self.try_lock()?;
        (!round.undeleted.entries.is_empty()).then(|| mem::take(&mut round.undeleted))
    }
}
