//! Sessions that wait until they may read: one question after the end of the log for all that came in a turn.

use dsa::Waking;
use dsa::barrier::Barrier;
use std::collections::VecDeque;
use std::sync::Arc;
use wal::{Index, ShardLog, Ticket};

/// Milliseconds after which nobody will answer.
const WAIT_MS: u64 = 3_000;

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
    waking: Waking,
}

impl Readers {
    /// Does nobody wait?
    pub(super) fn is_settled(&self) -> bool {
        self.turns.is_empty()
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

    /// Lets those read whose barrier is passed when this much is applied, and gives up those that have waited for long.
    // A cluster may be set to answer them without a barrier then, with the age of what they read: here is the place for it.
    pub(super) fn go_on(&mut self, log: &dyn ShardLog, applied: Index, now_ms: u64) {
        if self.turns.is_empty() {
            return;
        }
        let (passed, index) = log.passed();
        while self.turns.front().is_some_and(|turn| turn.ticket <= passed && index <= applied)
            && let Some(turn) = self.turns.pop_front()
        {
            turn.barriers.iter().for_each(|barrier| barrier.pass(&mut self.waking));
        }
        while self.turns.front().is_some_and(|turn| now_ms >= turn.since_ms.saturating_add(WAIT_MS))
            && let Some(turn) = self.turns.pop_front()
        {
            turn.barriers.iter().for_each(|barrier| barrier.fail(&mut self.waking));
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
