//! Questions after the end of the log: a reader that must see all that was acknowledged anywhere waits for an answer (Raft thesis 6.4,
//! ReadIndex). One question is for all readers that came before it was sent.

use crate::faults;
use crate::lease::Question;
use crate::member::ReplicaId;
use crate::message::QUESTION_BYTES;
use env::planted;
use std::collections::VecDeque;
use wal::{Index, Ticket};

/// After so long a question is repeated: it may be lost with its link or its leader.
const AGAIN_MS: u64 = 50;
/// After so long it is asked anew whether this replica has all, where that is to be known.
const AGE_MS: u64 = 1_000;
/// Questions whose answer may still come.
const OPEN_MAX: usize = 64;

/// See the module.
#[derive(Debug)]
pub(crate) struct Reads {
    replica: ReplicaId,
    /// Random, of this run: an answer to a question of an earlier one is none to ours.
    run: u64,
    last: Ticket,
    passed: (Ticket, Index),
    counter: u64,
    /// What was sent and not answered: the question, and the last ticket that it is for.
    open: VecDeque<(Question, Ticket)>,
    sent_ms: u64,
    /// The term in which the last question was sent.
    term: u64,
    /// When the last question was sent of which all is applied by now that it asks for; and when one was, and what it asks for, of which
    /// that is not known.
    current_ms: Option<u64>,
    behind: Option<(u64, Index)>,
}

impl Reads {
    /// Of a replica; its questions of this run are known by the number `run`.
    pub(crate) fn new(replica: ReplicaId, run: u64) -> Reads {
        let run = if planted::is(faults::READ_CONTEXT_AGAIN) { 0 } else { run };
        Reads {
            replica,
            run,
            last: Ticket(0),
            passed: (Ticket(0), Index(0)),
            counter: 0,
            open: VecDeque::new(),
            sent_ms: 0,
            term: 0,
            current_ms: None,
            behind: None,
        }
    }

    /// Does nobody wait?
    pub(crate) fn is_quiet(&self) -> bool {
        self.last <= self.passed.0
    }

    /// The number of the last question.
    pub(crate) fn asked(&self) -> u64 {
        self.counter
    }

    /// Is it long since something was asked?
    pub(crate) fn is_old(&self, now_ms: u64) -> bool {
        now_ms >= self.sent_ms + AGE_MS
    }

    /// See [`wal::ShardLog::current_ms`].
    pub(crate) fn current_ms(&self) -> Option<u64> {
        self.current_ms
    }

    /// All up to `index` is applied.
    pub(crate) fn on_applied(&mut self, index: u64) {
        if let Some((sent_ms, _)) = self.behind.take_if(|(_, needed)| needed.0 <= index) {
            self.current_ms = Some(sent_ms);
        }
    }

    /// A reader comes.
    pub(crate) fn ask(&mut self) -> Ticket {
        self.last.0 += 1;
        self.last
    }

    /// See [`wal::ShardLog::passed`].
    pub(crate) fn passed(&self) -> (Ticket, Index) {
        self.passed
    }

    /// The context of the question that is to be sent now, if one is: somebody waits, and none was sent for him, or long ago, or
    /// to the leader of another term.
    pub(crate) fn question(&mut self, now_ms: u64, term: u64) -> Option<Vec<u8>> {
        let is_late = now_ms >= self.sent_ms + AGAIN_MS || term != self.term;
        // One at a time: those who came since go with the next.
        if self.is_quiet() || (!self.open.is_empty() && !is_late) {
            return None;
        }
        self.counter += 1;
        if self.open.len() == OPEN_MAX {
            self.open.pop_front();
        }
        self.open.push_back((Question { number: self.counter, sent_ms: now_ms, term }, self.last));
        (self.sent_ms, self.term) = (now_ms, term);
        Some([self.replica.0, self.run, self.counter].iter().flat_map(|n| n.to_le_bytes()).collect())
    }

    /// An answer came: everything that was committed before the question was sent stands at `index` or before. Returns the question.
    pub(crate) fn on_answer(&mut self, context: &[u8], index: u64) -> Option<Question> {
        let context = <&[u8; QUESTION_BYTES]>::try_from(context).ok()?;
        let number = |at: usize| crate::record::u64_at(context, at);
        if (number(0), number(8)) != (self.replica.0, self.run) {
            return None;
        }
        let at = self.open.iter().position(|(question, _)| question.number == number(16))?;
        let (question, ticket) = self.open[at];
        // Those who waited for an earlier question know as much by this one.
        self.open.drain(..=at);
        if ticket > self.passed.0 {
            self.passed = (ticket, Index(index.max(self.passed.1.0)));
        }
        // A later one takes its place when that one is applied, lest none ever is.
        self.behind.get_or_insert((question.sent_ms, Index(index)));
        Some(question)
    }

    /// For a planted fault: all who wait know no more than this replica does.
    pub(crate) fn pass_unasked(&mut self, index: u64) {
        self.passed = (self.last, Index(index));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_question_is_for_all_who_came_before_it() {
        let mut reads = Reads::new(ReplicaId(3), 7);
        assert_eq!(reads.question(0, 1), None);
        reads.ask();
        let second = reads.ask();
        let context = reads.question(0, 1).unwrap();
        let third = reads.ask();
        assert_eq!(reads.question(10, 1), None, "one at a time");
        reads.on_answer(&context, 12);
        assert_eq!(reads.passed(), (second, Index(12)));
        let context = reads.question(11, 1).unwrap();
        reads.on_answer(&context, 11);
        assert_eq!(reads.passed(), (third, Index(12)), "the end never goes back");
        assert_eq!(reads.question(1000, 1), None);
    }

    /// The answer to what a replica asked before it was started again may come behind that.
    #[test]
    fn a_question_of_an_earlier_run_is_no_other_one() {
        let asked = |run| {
            let mut reads = Reads::new(ReplicaId(3), run);
            reads.ask();
            let question = reads.question(0, 1).expect("nothing was asked before");
            (reads, question)
        };
        let ((_, earlier), (mut reads, _)) = (asked(1), asked(2));
        reads.on_answer(&earlier, 9);
        assert_eq!(reads.passed().0, Ticket(0));
    }

    #[test]
    fn a_question_is_asked_again_and_any_answer_counts() {
        let mut reads = Reads::new(ReplicaId(3), 7);
        let ticket = reads.ask();
        let first = reads.question(0, 1).unwrap();
        assert_eq!(reads.question(49, 1), None);
        assert!(reads.question(49, 2).is_some(), "there is another leader");
        assert!(reads.question(99, 2).is_some());
        let mut other = first.clone();
        other[8] ^= 1;
        reads.on_answer(&other, 9);
        reads.on_answer(b"something else", 9);
        assert_eq!(reads.passed().0, Ticket(0), "it is of another run");
        reads.on_answer(&first, 9);
        assert_eq!(reads.passed(), (ticket, Index(9)));
        for at in 0..200 {
            reads.ask();
            reads.question(at * 100, 2);
        }
        assert_eq!(reads.open.len(), OPEN_MAX);
    }
}
