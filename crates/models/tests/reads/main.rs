//! Models of how a cluster answers reads, small enough that a checker looks at every state they can be in. They say what the protocol is,
//! not what the code does: that is what the simulator runs.
//!
//! Three replicas, of which one or the other leads. What Raft itself promises is taken as given: a leader of a later term has all that
//! was committed before, and a write is committed when a majority that knows of no later term has it. Messages take any time or are
//! lost, and come in any order.

mod barrier;
mod lease;

use barrier::Barrier;
use lease::Lease;
use stateright::{Checker, HasDiscoveries, Model};
use std::fmt::Debug;
use std::hash::Hash;

/// What must hold.
const CURRENT: &str = "no read is stale";
/// Replicas of a model.
const REPLICAS: usize = 3;

/// Is this a majority of them? Each bit is one.
fn is_majority(replicas: u8) -> bool {
    replicas.count_ones() as usize > REPLICAS / 2
}

/// All majorities that have a replica.
fn majorities_with(replica: usize) -> impl Iterator<Item = u8> {
    (1..1 << REPLICAS).filter(move |all| is_majority(*all) && all & (1 << replica) != 0)
}

/// Replicas of a set.
fn members(replicas: u8) -> impl Iterator<Item = usize> {
    (0..REPLICAS).filter(move |replica| replicas & (1 << replica) != 0)
}

/// Looks at every state of a model that is right: so many.
fn holds<M>(model: M, states: usize)
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync,
    M::Action: Clone + Debug + PartialEq + Send + Sync,
{
    let checker = model.checker().threads(2).spawn_bfs().join();
    checker.assert_properties();
    assert_eq!(checker.unique_state_count(), states);
}

/// A model that is wrong comes to a stale read, and this is one way to it.
fn fails<M>(model: M, way: Vec<M::Action>)
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync,
    M::Action: Clone + Debug + PartialEq + Send + Sync,
{
    let only = HasDiscoveries::AnyOf([CURRENT].into());
    model.checker().threads(2).finish_when(only).spawn_bfs().join().assert_discovery(CURRENT, way);
}

#[test]
fn a_read_by_a_question_is_never_stale() {
    let variant = barrier::Variant::Right;
    holds(Barrier { variant, at_once: false, writes: 1, terms: 3, runs: 2, questions: 1 }, 2_176_169);
    holds(Barrier { variant, at_once: true, writes: 1, terms: 3, runs: 2, questions: 1 }, 1_012_212);
}

#[test]
fn a_read_by_a_lease_is_never_stale() {
    let variant = lease::Variant::Right;
    holds(Lease { variant, terms: 2, questions: 2, restarts: 1 }, 1_031_063);
    holds(Lease { variant, terms: 3, questions: 1, restarts: 1 }, 1_012_731);
}

#[test]
fn a_wrong_barrier_is_found() {
    use barrier::Action::{Ask, Come, Elect, Restart, Write};
    use barrier::Message::{Ack, Answer, Beat, Question};
    use barrier::Variant::{AnyAck, ContextAgain, NobodyAsked, TermNotBegun, TermOfReader};
    let wrong = |variant| Barrier { variant, at_once: false, writes: 1, terms: 2, runs: 2, questions: 1 };
    let (first, second) = ((0, 1), (1, 1));
    let question = |to, term, context| Come(Question { to, term, context });
    let beat = |from, term, context| Come(Beat { to: 2, from, term, context });
    let ack = |to, term, context| Come(Ack { to, from: 2, term, context });
    let answer = |context| Come(Answer { context, index: 0 });
    // The answer to the question of the run before.
    let asked = vec![Ask(0), question(0, 1, first), beat(0, 1, first), ack(0, 1, first)];
    let again = vec![Write(0, 0b111), Restart, Ask(0), answer(first)];
    fails(wrong(ContextAgain), [asked, again].concat());
    // Another leads and wrote.
    let other_wrote = vec![Elect(1, 0b110), Write(1, 0b110), Write(1, 0b110)];
    let asks = vec![Ask(0), question(0, 2, first), answer(first)];
    fails(wrong(NobodyAsked), [other_wrote.clone(), asks].concat());
    // What replica 2 had answered before it knew of the other.
    let asked = vec![Ask(0), question(0, 1, first), beat(0, 1, first)];
    let again = vec![Restart, Ask(0), question(0, 2, second), ack(0, 1, first), answer(second)];
    fails(wrong(AnyAck), [asked, other_wrote.clone(), again].concat());
    // It has the write, and does not know that it is committed.
    let begins = vec![Write(0, 0b011), Elect(1, 0b110), Ask(1)];
    let asks = vec![question(1, 2, first), beat(1, 2, first), ack(1, 2, first), answer(first)];
    fails(wrong(TermNotBegun), [begins, asks].concat());
    // The reader has voted for the other one, and asks the one that led before.
    let asks = vec![Ask(0), question(0, 2, first), answer(first)];
    fails(Barrier { at_once: true, ..wrong(TermOfReader) }, [other_wrote, asks].concat());
}

#[test]
fn a_wrong_lease_is_found() {
    use lease::Action::{Ask, Campaign, Come, GiveUp, Restart, Tick, Transfer, Vote, Write};
    use lease::Message::{Answer, Lead, Question};
    use lease::Variant;
    let wrong = |variant, questions, restarts| Lease { variant, terms: 2, questions, restarts };
    let question = |to| Come(Question { from: 0, to, term: 1, number: 0 });
    let answer = |from| Come(Answer { from, to: 0, term: 1, number: 0 });
    let vote = Vote { voter: 2, candidate: 1 };
    // A clock that is too slow, where the lease is, and one that is too fast, where the promise is.
    let (tick, wrong_tick) = (Tick([1, 1, 1]), Tick([0, 1, 2]));
    let other_writes = vec![vote, Write(1, 0b110)];
    let lead = Come(Lead { to: 1, term: 1 });
    let asks_to_lead = vec![Transfer { from: 0, to: 1 }];
    let has_lease = vec![Campaign(1), Ask(0), question(2), answer(2)];

    let late = vec![Campaign(1), Ask(0), question(2), tick.clone(), answer(2), tick.clone()];
    fails(wrong(Variant::FromAnswer, 1, 0), [late, vec![wrong_tick.clone()], other_writes.clone()].concat());

    let asks_again = vec![Campaign(1), Ask(0), question(2), tick.clone(), tick, Ask(0), answer(2)];
    let passes = vec![wrong_tick.clone()];
    fails(wrong(Variant::AnyAnswer, 2, 0), [asks_again, passes, other_writes.clone()].concat());

    let leased = vec![Ask(0), question(2), answer(2)];
    let leads = [vec![lead.clone()], other_writes.clone()].concat();
    let over = [leased.clone(), asks_to_lead.clone(), leads.clone()].concat();
    fails(wrong(Variant::OverTransfer, 1, 0), over);

    let after = [asks_to_lead, leased, vec![GiveUp(0)], leads].concat();
    fails(wrong(Variant::AfterAbortedTransfer, 1, 0), after);

    let restart = [has_lease.clone(), vec![Restart(2)], other_writes.clone()].concat();
    fails(wrong(Variant::ForgottenPromise, 1, 1), restart);

    let apart = vec![wrong_tick.clone(), wrong_tick];
    fails(wrong(Variant::Drift, 1, 0), [has_lease, apart, other_writes].concat());
}
