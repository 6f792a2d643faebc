//! What others than its owner see of a replica, and what they ask of it. Clones are the same.

use crate::change::Change;
use crate::member::{Members, ReplicaId};
use crate::transfers::{Fetch, WantedSnapshot};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is asked for and not answered, at most.
const ASKED_MAX: usize = 64;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Control(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Is something asked for? Looked at in each step.
    is_asked: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    asked: VecDeque<(u64, Request)>,
    last: u64,
    refused: VecDeque<(u64, Refusal)>,
    view: View,
}

/// What may be asked of a replica: as a rule of one that leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Members are to change, if the entry with this index ([`View::members_index`]) has made them what they are. It is done when
    /// [`View::members`] says so, and they are not joint.
    Change(Change, u64),
    /// This replica is to lead in its place.
    Transfer(ReplicaId),
    /// The wanted snapshot fares so: asked of a replica that wants one.
    Fetch(Fetch),
    /// Replicas were compared, and this came of it: asked of any replica, by the one that applies its entries.
    Compared(Compared),
}

/// What the comparison of replicas has come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// What the directory of this replica is worth.
    pub standing: Standing,
    /// Of a leader: the other replicas whose directories are wrong.
    pub wrong: Vec<ReplicaId>,
}

/// What the directory of a replica is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// It serves: no other is known to differ from it that a majority is with.
    #[default]
    Serves,
    /// Directories differ, and none has a majority: nobody knows which is right. It serves, and gives its snapshots to nobody.
    Doubted,
    /// A majority has another. It serves nobody, does not want to lead, and is made anew with this snapshot, once it is known whose.
    Rebuilt(Option<WantedSnapshot>),
}

impl Standing {
    /// Is the directory known to be wrong?
    pub fn is_rebuilt(self) -> bool {
        matches!(self, Standing::Rebuilt(_))
    }

    /// Must no other replica take a snapshot of it?
    pub fn withholds(self) -> bool {
        self != Standing::Serves
    }
}

/// How disks and clocks of replicas fare, as the one that leads finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// Each member.
    pub replicas: Vec<Condition>,
    /// Replicas that have been better than the one that leads for so long that one of them is to lead in its place.
    pub better: Vec<ReplicaId>,
}

/// How the disk and the clock of a replica fare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Which.
    pub id: ReplicaId,
    /// Microseconds that a sync of its log takes, if there was one lately.
    pub sync_us: Option<u64>,
    /// Milliseconds by which its wall clock is ahead of the middle one of all, if that is known.
    pub clock_ms: Option<i64>,
}

/// Why something is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// This replica does not lead.
    NotLeader,
    /// Another change has not come to its end, or was made before this one.
    OtherChange,
    /// There would be no replica that votes, or too many, or more is known than may be.
    Members,
    /// It has no room for it now, or too much is asked for.
    Full,
    /// The replica that leads cannot be taken away: another is to lead first.
    Leads,
}

/// How far the disk of a replica goes: the term that it knows of, and its last entry. In order: in a later term a leader may have replaced
/// entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Extent {
    /// The term.
    pub term: u64,
    /// The index of the entry.
    pub index: u64,
}

/// How a replica and its group fare. Published when it changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The members, as far as this replica has applied them.
    pub members: Members,
    /// The entry that made them so.
    pub members_index: u64,
    /// The term that it knows of.
    pub term: u64,
    /// The replica that leads, as far as it knows.
    pub leader: Option<ReplicaId>,
    /// The last entry that it knows to be committed.
    pub commit: u64,
    /// The snapshot of another replica without which this one cannot go on: when it was fetched, this replica is to start again.
    pub wanted: Option<WantedSnapshot>,
    /// What the comparison of replicas has come to.
    pub compared: Compared,
    /// Of a leader: how disks and clocks fare.
    pub conditions: Conditions,
    /// How far its own disk went when it started.
    pub started: Extent,
    /// How far it goes now.
    pub durable: Extent,
    /// Of a leader: the last entry that its own disk has.
    pub synced: u64,
    /// Of a leader: each other replica.
    pub others: Vec<Other>,
}

impl View {
    /// What a leader says of the disks of all replicas, with its own one, which is `own`: pairs of replica and last entry. Of one that has not answered in this
    /// term nothing is known: it may never have heard of the term.
    pub fn acknowledged(&self, own: ReplicaId) -> Vec<(u64, u64)> {
        let others = self.others.iter().map(|other| (other.id.0, other.matched));
        others.chain([(own.0, self.synced)]).filter(|(_, index)| *index > 0).collect()
    }
}

/// Another replica, as a leader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Other {
    /// Which.
    pub id: ReplicaId,
    /// The last entry that it certainly has.
    pub matched: u64,
    /// Was it heard of within the last second and a half?
    pub is_active: bool,
    /// Does it fetch a snapshot?
    pub fetches: bool,
}

impl Control {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How the replica fares.
    pub fn view(&self) -> View {
        self.lock().view.clone()
    }

    /// Asks for something. [`Control::refusal`] tells of the number that this returns if it is not done.
    ///
    /// # Errors
    /// Too much is asked for.
    pub fn ask(&self, asked: Request) -> Result<u64, Refusal> {
        let mut state = self.lock();
        if state.asked.len() == ASKED_MAX {
            return Err(Refusal::Full);
        }
        state.last += 1;
        let number = state.last;
        state.asked.push_back((number, asked));
        self.0.is_asked.store(true, Ordering::Release);
        Ok(number)
    }

    /// Why something that was asked for is not done. `None` also if it may still be.
    pub fn refusal(&self, number: u64) -> Option<Refusal> {
        self.lock().refused.iter().find(|(other, _)| *other == number).map(|(_, refusal)| *refusal)
    }

    pub(crate) fn take(&self) -> Option<(u64, Request)> {
        if !self.0.is_asked.load(Ordering::Acquire) {
            return None;
        }
        let mut state = self.lock();
        let asked = state.asked.pop_front();
        self.0.is_asked.store(!state.asked.is_empty(), Ordering::Release);
        asked
    }

    pub(crate) fn refuse(&self, number: u64, refusal: Refusal) {
        let mut state = self.lock();
        if state.refused.len() == ASKED_MAX {
            state.refused.pop_front();
        }
        state.refused.push_back((number, refusal));
    }

    /// Tells those who look how disks and clocks fare, as far as this replica knows.
    pub fn note(&self, conditions: Conditions) {
        self.publish(|view| view.conditions = conditions);
    }

    pub(crate) fn publish(&self, change: impl FnOnce(&mut View)) {
        change(&mut self.lock().view);
    }
}
