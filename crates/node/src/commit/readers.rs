//! Sessions that wait until they may read: one question after the end of the log for all that came in a turn.

use dsa::Waking;
use dsa::barrier::Barrier;
use dsa::reads::WithoutQuorum;
use std::collections::VecDeque;
use std::sync::Arc;
use wal::{Index, ShardLog, Ticket};

/// Milliseconds after which nobody will answer; and after which what is here is read then, where that is wanted.
const WAIT_MS: u64 = 3_000;
const WAIT_TO_READ_MS: u64 = 1_000;

/// Those of a turn.
struct Turn {
    ticket: Ticket,
    since_ms: u64,
    barriers: Vec<Arc<Barrier>>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Readers {
    /// In the order in which they asked.
    turns: VecDeque<Turn>,
    /// Those up to this one read what is here, as nobody answered. Until this is passed others do so without waiting.
    without: Option<Ticket>,
    waking: Waking,
}

impl Readers {
    /// Does nobody wait?
    pub(super) fn is_settled(&self) -> bool {
        self.turns.is_empty()
    }

    /// How many wait.
    pub(super) fn count(&self) -> usize {
        self.turns.iter().map(|turn| turn.barriers.len()).sum()
    }

    /// Asks for all that came in.
    pub(super) fn ask(&mut self, log: &mut dyn ShardLog, asked: &mut Vec<Arc<Barrier>>, now_ms: u64) {
        if asked.is_empty() {
            return;
        }
        let turn = Turn { ticket: log.barrier(), since_ms: now_ms, barriers: std::mem::take(asked) };
        assert!(self.turns.back().is_none_or(|last| last.ticket <= turn.ticket), "later barriers are larger");
        self.turns.push_back(turn);
    }

    /// Lets those read whose barrier is passed when this much is applied. Those that have waited for long are given up, or read what is
    /// here.
    pub(super) fn go_on(
        &mut self,
        log: &dyn ShardLog,
        applied: Index,
        now_ms: u64,
        without_quorum: WithoutQuorum,
    ) {
        if self.turns.is_empty() {
            return;
        }
        let (passed, index) = log.passed();
        while self.turns.front().is_some_and(|turn| turn.ticket <= passed && index <= applied)
            && let Some(turn) = self.turns.pop_front()
        {
            turn.barriers.iter().for_each(|barrier| barrier.pass(&mut self.waking));
        }
        self.without.take_if(|last| *last <= passed || without_quorum == WithoutQuorum::Refuse);
        let wait_ms = match without_quorum {
            WithoutQuorum::Refuse => WAIT_MS,
            WithoutQuorum::Read if self.without.is_some() => 0,
            WithoutQuorum::Read => WAIT_TO_READ_MS,
        };
        let age = log.current_ms().map(|current_ms| now_ms.saturating_sub(current_ms));
        while self.turns.front().is_some_and(|turn| now_ms >= turn.since_ms.saturating_add(wait_ms))
            && let Some(turn) = self.turns.pop_front()
        {
            let end = |barrier: &Arc<Barrier>| match without_quorum {
                WithoutQuorum::Refuse => barrier.fail(&mut self.waking),
                WithoutQuorum::Read => barrier.pass_without(age, &mut self.waking),
            };
            turn.barriers.iter().for_each(end);
            if without_quorum == WithoutQuorum::Read {
                self.without = Some(turn.ticket);
            }
        }
        self.waking.wake();
    }

    /// Nobody answers any more.
    pub(super) fn end(&mut self, asked: &mut Vec<Arc<Barrier>>) {
        let waiting = self.turns.drain(..).flat_map(|turn| turn.barriers);
        waiting.chain(asked.drain(..)).for_each(|barrier| barrier.fail(&mut self.waking));
        self.waking.wake();
    }
}
