//! Reads by a question (Raft thesis 6.4, ReadIndex), as the core answers them: a leader that is asked notes how much is committed, asks a
//! majority whether it still leads, and answers what it noted. It notes no question twice, and the answer of a majority to one is an
//! answer to all that it noted before. Where `at_once` is set, a question of a replica that is a majority with the leader, and that
//! knew of no later term, is answered at once; it says nothing of what the leader noted before.

use crate::{REPLICAS, is_majority, majorities_with, members};
use stateright::{Model, Property};
use std::collections::BTreeSet;

/// The replica at which somebody reads.
const READER: usize = 2;

/// What is wrong with the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// Nothing.
    Right,
    /// A question of a reader that was started again has the name of one that it sent before.
    ContextAgain,
    /// A leader answers without asking whether it still leads.
    NobodyAsked,
    /// What a replica answered to another question counts, too.
    AnyAck,
    /// A leader answers before it has committed an entry of its term.
    TermNotBegun,
    /// A leader answers at once, whatever term the reader knew of.
    TermOfReader,
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Barrier {
    pub(crate) variant: Variant,
    /// Is a reader answered at once that is a majority with the leader?
    pub(crate) at_once: bool,
    /// Writes, terms and runs of the reader in all, and its questions in each run.
    pub(crate) writes: u8,
    pub(crate) terms: u8,
    pub(crate) runs: u8,
    pub(crate) questions: u8,
}

/// What a question is known by: the run of the reader that sent it, and its number in that.
type Context = (u8, u8);

/// A question that a leader has noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Noted {
    context: Context,
    /// How much was committed when it came.
    index: u8,
    /// The replicas that have said since that there is no later term.
    acks: u8,
}

/// A replica.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Replica {
    term: u8,
    leads: bool,
    /// Writes that it has, and those that it knows to be committed.
    log: u8,
    commit: u8,
    /// As a leader, it has committed an entry of its term.
    has_begun: bool,
    /// As a leader, in the order in which they came.
    noted: Vec<Noted>,
}

/// What is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Message {
    /// The reader asks a replica that it takes for the leader.
    Question { to: usize, term: u8, context: Context },
    /// A leader asks a replica whether it knows of a later term.
    Beat { to: usize, from: usize, term: u8, context: Context },
    /// It does not.
    Ack { to: usize, from: usize, term: u8, context: Context },
    /// All that was committed stands up to here.
    Answer { context: Context, index: u8 },
}

/// A state of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    replicas: [Replica; REPLICAS],
    /// Writes that were acknowledged.
    acknowledged: u8,
    /// The reader's run, its last question in that, and what was acknowledged when it sent it, while it waits.
    run: u8,
    number: u8,
    waits: Option<u8>,
    /// One that is lost is one that never comes.
    messages: BTreeSet<Message>,
    /// Somebody read less than had been acknowledged before.
    is_stale: bool,
    /// Somebody read what a later leader had acknowledged.
    has_read: bool,
}

/// What happens.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Replicas elect one of them.
    Elect(usize, u8),
    /// A leader commits a write, or the entry that begins its term, with a majority.
    Write(usize, u8),
    /// A replica hears from a leader, and learns what is committed.
    Hear { leader: usize, at: usize },
    /// The reader asks a replica.
    Ask(usize),
    /// It is started again.
    Restart,
    /// A message comes.
    Come(Message),
}

impl Barrier {
    fn context(self, state: &State) -> Context {
        match self.variant {
            Variant::ContextAgain => (0, state.number),
            _ => (state.run, state.number),
        }
    }

    /// A leader answers what a majority lets it.
    fn answer(self, state: &mut State, leader: usize) {
        let Replica { noted, .. } = &mut state.replicas[leader];
        let is_led = |noted: &Noted| is_majority(noted.acks) || self.variant == Variant::NobodyAsked;
        let until = noted.iter().rposition(is_led).map_or(0, |at| at + 1);
        for Noted { context, index, .. } in noted.drain(..until) {
            state.messages.insert(Message::Answer { context, index });
        }
    }

    fn come(self, state: &mut State, message: Message) {
        match message {
            Message::Question { to: leader, term: known, context } => {
                let replica = &mut state.replicas[leader];
                let term = replica.term;
                if !replica.leads || !(replica.has_begun || self.variant == Variant::TermNotBegun) {
                    return;
                }
                let answers = self.at_once && is_majority(1 << leader | 1 << READER);
                if answers && (known == term || self.variant == Variant::TermOfReader) {
                    let index = replica.commit;
                    state.messages.insert(Message::Answer { context, index });
                    return;
                }
                if !replica.noted.iter().any(|noted| noted.context == context) {
                    replica.noted.push(Noted { context, index: replica.commit, acks: 1 << leader });
                }
                for to in (0..REPLICAS).filter(|to| *to != leader) {
                    state.messages.insert(Message::Beat { to, from: leader, term, context });
                }
                self.answer(state, leader);
            }
            Message::Beat { to, from, term, context } => {
                if state.replicas[to].term <= term {
                    follow(&mut state.replicas[to], term);
                    state.messages.insert(Message::Ack { to: from, from: to, term, context });
                }
            }
            Message::Ack { to: leader, from, term, context } => {
                let replica = &mut state.replicas[leader];
                let counts = |noted: &&mut Noted| noted.context == context || self.variant == Variant::AnyAck;
                if replica.leads && replica.term == term {
                    replica.noted.iter_mut().filter(counts).for_each(|noted| noted.acks |= 1 << from);
                    self.answer(state, leader);
                }
            }
            Message::Answer { context, index } => {
                if let Some(floor) = state.waits
                    && context == self.context(state)
                {
                    state.waits = None;
                    // It waits until it has applied so much, and may have applied no more.
                    state.is_stale |= index < floor;
                    state.has_read |=
                        state.replicas.iter().any(|replica| replica.term == self.terms) && index > 0;
                }
            }
        }
    }
}

/// A replica learns of a term.
fn follow(replica: &mut Replica, term: u8) {
    if term > replica.term {
        rest(replica);
    }
    replica.term = term;
}

/// It leads no more.
fn rest(replica: &mut Replica) {
    (replica.leads, replica.has_begun) = (false, false);
    replica.noted.clear();
}

impl Model for Barrier {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let replica =
            Replica { term: 1, leads: false, log: 0, commit: 0, has_begun: false, noted: Vec::new() };
        let mut replicas = [replica.clone(), replica.clone(), replica];
        (replicas[0].leads, replicas[0].has_begun) = (true, true);
        vec![State {
            replicas,
            acknowledged: 0,
            run: 0,
            number: 0,
            waits: None,
            messages: BTreeSet::new(),
            is_stale: false,
            has_read: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let last = state.replicas.iter().map(|replica| replica.term).max().unwrap_or(0);
        for at in 0..REPLICAS {
            if last < self.terms {
                actions.extend(majorities_with(at).map(|voters| Action::Elect(at, voters)));
            }
            if state.replicas[at].leads {
                actions.extend(majorities_with(at).map(|all| Action::Write(at, all)));
                let others = (0..REPLICAS).filter(|other| *other != at);
                actions.extend(others.map(|other| Action::Hear { leader: at, at: other }));
            }
            if state.number < self.questions {
                actions.push(Action::Ask(at));
            }
        }
        if state.run + 1 < self.runs {
            actions.push(Action::Restart);
        }
        actions.extend(state.messages.iter().map(|message| Action::Come(*message)));
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Elect(at, voters) => {
                let term = state.replicas.iter().map(|replica| replica.term).max()? + 1;
                let log = state.replicas[at].log;
                if members(voters).any(|voter| state.replicas[voter].log > log) {
                    return None;
                }
                members(voters).for_each(|voter| follow(&mut state.replicas[voter], term));
                state.replicas[at].leads = true;
            }
            Action::Write(at, all) => {
                let Replica { term, has_begun, .. } = state.replicas[at];
                let is_refused = members(all).any(|other| state.replicas[other].term > term);
                if is_refused || (has_begun && state.replicas[at].log == self.writes) {
                    return None;
                }
                state.replicas[at].log += u8::from(has_begun);
                let log = state.replicas[at].log;
                for other in members(all) {
                    follow(&mut state.replicas[other], term);
                    state.replicas[other].log = log;
                }
                (state.replicas[at].commit, state.replicas[at].has_begun) = (log, true);
                state.acknowledged = log;
            }
            Action::Hear { leader, at } => {
                let Replica { term, commit, .. } = state.replicas[leader];
                let replica = &mut state.replicas[at];
                if replica.term > term {
                    return None;
                }
                follow(replica, term);
                if replica.log >= commit {
                    replica.commit = replica.commit.max(commit);
                }
            }
            Action::Ask(to) => {
                state.number += 1;
                state.waits = Some(state.acknowledged);
                let (context, term) = (self.context(&state), state.replicas[READER].term);
                state.messages.insert(Message::Question { to, term, context });
            }
            Action::Restart => {
                (state.run, state.number, state.waits) = (state.run + 1, 0, None);
                rest(&mut state.replicas[READER]);
            }
            Action::Come(message) => {
                state.messages.remove(&message);
                self.come(&mut state, message);
            }
        }
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(crate::CURRENT, |_, state: &State| !state.is_stale),
            Property::sometimes("somebody reads what a later leader acknowledged", |_, state: &State| {
                state.has_read
            }),
        ]
    }
}
