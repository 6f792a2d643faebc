//! Reads by a lease: a leader answers without a question while its lease lasts. A lease is counted from the sending of a question that a
//! majority answered. Each replica that answers promises that it neither wants to lead nor votes for some longer time, by its own clock. A
//! transfer of the leadership breaks the promise. Replicas are started again, and clocks are too fast or too slow.
//!
//! A question has a number, an answer says to which question it is. Elections have no round before them, and no replica leads less because
//! it hears nobody: what the core does besides may only forbid more.

use crate::{REPLICAS, is_majority, majorities_with, members};
use stateright::{Model, Property};
use std::collections::BTreeSet;

/// Ticks of a clock that a lease lasts from the sending of the question, and that a promise holds.
const LEASE: u8 = 2;
const PROMISE: u8 = 4;
/// Ticks by which a clock is wrong in the time of a lease or of a promise, at most.
const DRIFT: u8 = 1;

/// What is wrong with the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// Nothing.
    Right,
    /// A lease is counted from the answer to a question.
    FromAnswer,
    /// An answer to an earlier question counts for the last one.
    AnyAnswer,
    /// A leader that has asked another replica to lead still has its lease, and gets new ones.
    OverTransfer,
    /// It has leases again when it has given the transfer up.
    AfterAbortedTransfer,
    /// A replica that starts again has promised nothing.
    ForgottenPromise,
    /// Clocks are wrong by twice as much.
    Drift,
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lease {
    pub(crate) variant: Variant,
    /// Terms, questions and starts again in all.
    pub(crate) terms: u8,
    pub(crate) questions: u8,
    pub(crate) restarts: u8,
}

/// A time that a clock measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Timer {
    /// Ticks that are left of it.
    left: u8,
    /// Ticks by which the clock may still be wrong before it is over.
    drift: u8,
}

impl Timer {
    fn may_be_wrong(self) -> bool {
        self.left == 0 || self.drift > 0
    }

    fn pass(&mut self, ticks: u8) {
        self.drift -= u8::from(self.left > 0 && ticks != 1);
        self.left = self.left.saturating_sub(ticks);
        if self.left == 0 {
            *self = Timer::default();
        }
    }
}

/// A question of a leader, by which it may get a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Question {
    number: u8,
    /// What is left of the lease that it brings.
    lease: Timer,
    answered_by: u8,
}

/// How a leader stands to a transfer of its leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Transfer {
    None,
    Begun,
    GivenUp,
}

/// A replica.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Replica {
    term: u8,
    /// It has the write.
    has_write: bool,
    leads: bool,
    /// The replicas that vote for it in its term, while it wants to lead.
    votes: u8,
    /// It was asked to lead: voters do not look at their promise.
    is_forced: bool,
    promise: Timer,
    lease: Timer,
    question: Option<Question>,
    transfer: Transfer,
}

/// What is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Message {
    /// The leader asks a replica whether it still leads.
    Question { from: usize, to: usize, term: u8, number: u8 },
    /// It does.
    Answer { from: usize, to: usize, term: u8, number: u8 },
    /// A replica is to lead.
    Lead { to: usize, term: u8 },
}

/// A state of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    replicas: [Replica; REPLICAS],
    /// The write was acknowledged.
    is_acknowledged: bool,
    asked: u8,
    restarts: u8,
    /// One that is lost is one that never comes.
    messages: BTreeSet<Message>,
}

/// What happens.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Time passes; the clocks go on by so much.
    Tick([u8; REPLICAS]),
    /// A leader asks whether it leads.
    Ask(usize),
    /// A replica wants to lead.
    Campaign(usize),
    /// A replica votes for another.
    Vote { voter: usize, candidate: usize },
    /// A leader writes, with a majority.
    Write(usize, u8),
    /// A leader asks another replica to lead.
    Transfer { from: usize, to: usize },
    /// It gives that up.
    GiveUp(usize),
    /// A replica is started again.
    Restart(usize),
    /// A message comes.
    Come(Message),
}

impl Lease {
    fn timer(self, left: u8) -> Timer {
        Timer { left, drift: if self.variant == Variant::Drift { 2 * DRIFT } else { DRIFT } }
    }

    /// Does it answer reads without a question?
    fn has_lease(self, replica: &Replica) -> bool {
        let may_have = match self.variant {
            Variant::OverTransfer => true,
            Variant::AfterAbortedTransfer => replica.transfer != Transfer::Begun,
            _ => replica.transfer == Transfer::None,
        };
        replica.leads && replica.lease.left > 0 && may_have
    }

    /// A message of the leader of a term comes.
    fn hear(self, replica: &mut Replica, term: u8) {
        step_to(replica, term);
        (replica.votes, replica.is_forced, replica.promise) = (0, false, self.timer(PROMISE));
    }

    fn come(self, state: &mut State, message: Message) {
        match message {
            Message::Question { from, to, term, number } => {
                self.hear(&mut state.replicas[to], term);
                state.messages.insert(Message::Answer { from: to, to: from, term, number });
            }
            Message::Answer { from, to, .. } => {
                let replica = &mut state.replicas[to];
                let Some(question) = &mut replica.question else { return };
                question.answered_by |= 1 << from;
                if is_majority(question.answered_by) {
                    replica.lease = match self.variant {
                        Variant::FromAnswer => self.timer(LEASE),
                        _ => question.lease,
                    };
                    replica.question = None;
                }
            }
            Message::Lead { to, .. } => {
                campaign(&mut state.replicas[to], to);
                state.replicas[to].is_forced = true;
            }
        }
    }

    /// Can a message change nothing, whenever it comes?
    fn is_void(self, state: &State, message: &Message) -> bool {
        match *message {
            Message::Question { to, term, .. } => state.replicas[to].term > term,
            Message::Answer { to, term, number, .. } => {
                let Replica { term: of, leads, question, .. } = state.replicas[to];
                let is_of_last = question.is_some_and(|question| question.number == number);
                !leads || of != term || !(is_of_last || self.variant == Variant::AnyAnswer)
            }
            Message::Lead { to, term } => state.replicas[to].term > term,
        }
    }
}

/// A replica learns of a term.
fn step_to(replica: &mut Replica, term: u8) {
    if term > replica.term {
        rest(replica);
        replica.transfer = Transfer::None;
    }
    replica.term = term;
}

/// It leads no more, and does not want to.
fn rest(replica: &mut Replica) {
    (replica.leads, replica.lease, replica.question) = (false, Timer::default(), None);
    (replica.votes, replica.is_forced) = (0, false);
}

fn campaign(replica: &mut Replica, at: usize) {
    step_to(replica, replica.term + 1);
    replica.votes = 1 << at;
}

/// Ticks that a clock may make while one passes. One is too slow where it measures a lease and too fast where it measures a
/// promise: the contrary makes nothing worse.
fn ticks(replica: &Replica) -> Vec<u8> {
    let asked = replica.question.map(|question| question.lease).unwrap_or_default();
    if replica.leads {
        let measures = replica.lease.left > 0 || asked.left > 0;
        let may_be_wrong = measures && replica.lease.may_be_wrong() && asked.may_be_wrong();
        return if may_be_wrong { vec![1, 0] } else { vec![1] };
    }
    if replica.promise.left > 0 && replica.promise.may_be_wrong() { vec![1, 2] } else { vec![1] }
}

impl Model for Lease {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let replica = Replica {
            term: 1,
            has_write: false,
            leads: false,
            votes: 0,
            is_forced: false,
            promise: Timer::default(),
            lease: Timer::default(),
            question: None,
            transfer: Transfer::None,
        };
        let mut replicas = [replica.clone(), replica.clone(), replica];
        replicas[0].leads = true;
        let messages = BTreeSet::new();
        vec![State { replicas, is_acknowledged: false, asked: 0, restarts: 0, messages }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let [one, two, three] = state.replicas.each_ref().map(ticks);
        for a in one {
            for b in &two {
                actions.extend(three.iter().map(|c| Action::Tick([a, *b, *c])));
            }
        }
        for (at, replica) in state.replicas.iter().enumerate() {
            let others = (0..REPLICAS).filter(|other| *other != at);
            if replica.leads {
                if state.asked < self.questions {
                    actions.push(Action::Ask(at));
                }
                if !state.is_acknowledged {
                    actions.extend(majorities_with(at).map(|all| Action::Write(at, all)));
                }
                if replica.transfer == Transfer::None && replica.term < self.terms {
                    actions.extend(others.map(|to| Action::Transfer { from: at, to }));
                }
                if replica.transfer == Transfer::Begun {
                    actions.push(Action::GiveUp(at));
                }
            } else if replica.votes != 0 {
                actions.extend(others.map(|voter| Action::Vote { voter, candidate: at }));
            } else if replica.promise.left == 0 && replica.term < self.terms {
                actions.push(Action::Campaign(at));
            }
            if state.restarts < self.restarts {
                actions.push(Action::Restart(at));
            }
        }
        actions.extend(state.messages.iter().map(|message| Action::Come(*message)));
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Tick(passed) => {
                for (replica, passed) in state.replicas.iter_mut().zip(passed) {
                    replica.promise.pass(passed);
                    replica.lease.pass(passed);
                    if let Some(question) = &mut replica.question {
                        question.lease.pass(passed);
                    }
                }
            }
            Action::Ask(at) => {
                let number = state.asked;
                state.asked += 1;
                let Replica { term, question, .. } = &mut state.replicas[at];
                *question = Some(Question { number, lease: self.timer(LEASE), answered_by: 1 << at });
                let term = *term;
                for to in (0..REPLICAS).filter(|to| *to != at) {
                    state.messages.insert(Message::Question { from: at, to, term, number });
                }
            }
            Action::Campaign(at) => campaign(&mut state.replicas[at], at),
            Action::Vote { voter, candidate } => {
                let Replica { term, has_write, is_forced, .. } = state.replicas[candidate];
                let replica = &mut state.replicas[voter];
                let has_promised = replica.promise.left > 0 && !is_forced;
                if replica.term >= term || (replica.has_write && !has_write) || has_promised {
                    return None;
                }
                step_to(replica, term);
                let replica = &mut state.replicas[candidate];
                replica.votes |= 1 << voter;
                if is_majority(replica.votes) {
                    rest(replica);
                    // Whatever it had promised, to another leader, is over or broken.
                    (replica.leads, replica.promise) = (true, Timer::default());
                }
            }
            Action::Write(at, all) => {
                let term = state.replicas[at].term;
                if members(all).any(|other| state.replicas[other].term > term) {
                    return None;
                }
                for other in members(all) {
                    if other != at {
                        self.hear(&mut state.replicas[other], term);
                    }
                    state.replicas[other].has_write = true;
                }
                state.is_acknowledged = true;
            }
            Action::Transfer { from, to } => {
                state.replicas[from].transfer = Transfer::Begun;
                state.messages.insert(Message::Lead { to, term: state.replicas[from].term });
            }
            Action::GiveUp(at) => state.replicas[at].transfer = Transfer::GivenUp,
            Action::Restart(at) => {
                state.restarts += 1;
                rest(&mut state.replicas[at]);
                state.replicas[at].promise = match self.variant {
                    Variant::ForgottenPromise => Timer::default(),
                    _ => self.timer(PROMISE),
                };
            }
            Action::Come(message) => {
                state.messages.remove(&message);
                self.come(&mut state, message);
            }
        }
        let messages = std::mem::take(&mut state.messages);
        state.messages = messages.into_iter().filter(|message| !self.is_void(&state, message)).collect();
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(crate::CURRENT, |model: &Lease, state: &State| {
                let is_stale = |replica: &Replica| state.is_acknowledged && !replica.has_write;
                !state.replicas.iter().any(|replica| model.has_lease(replica) && is_stale(replica))
            }),
            Property::always("one lease at a time", |model: &Lease, state: &State| {
                state.replicas.iter().filter(|replica| model.has_lease(replica)).count() < 2
            }),
            Property::sometimes("a later leader has a lease and wrote", |model: &Lease, state: &State| {
                let mut all = state.replicas.iter();
                all.any(|replica| {
                    replica.term == model.terms && model.has_lease(replica) && state.is_acknowledged
                })
            }),
        ]
    }
}
