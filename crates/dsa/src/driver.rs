//! What a connection does with its session: input goes in, answers come out, and active searches go on. Sans-IO.
//!
//! The server calls [`Session::feed`] with input, [`Session::step`] as long as the state is busy, and [`Session::poll_updates`] while it
//! waits. None of them blocks, reads a clock or touches a socket. Each returns within a bounded time: a bundle, a slice of a search.

use crate::bundle;
use crate::change_log::awaited::Awaited;
use crate::monitor::count;
use crate::op::extended::start_tls;
use crate::op::search::{Progress, SuspendedSearch};
use crate::session::security::Tls;
use crate::session::{Feed, Phase, Session, State};
use crate::turns::LEAST_WORK;
use crate::wakes::Sleeper;
use crate::worker::Worker;
use model::limits::OUT_BYTES_SOFT_MAX;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

impl Session {
    /// Takes complete messages from `input` and appends answers to `out`.
    /// What is not consumed is offered again, at the same place, with what has come since.
    pub fn feed(&mut self, worker: &mut Worker, input: &[u8], out: &mut Vec<u8>) -> Feed {
        let before = out.len();
        worker.scratch.slice_work = worker.turns.slice_work(self.number);
        // What came before is answered; a request that came with it is as late.
        let (consumed, needed) = match self.has_expired(worker.now, out) {
            true => (input.len(), 0),
            false => bundle::run(self, worker, input, out),
        };
        // The request for which changes were stored comes first. If it was refused, the next one must ask anew.
        if consumed > 0 && self.awaited == Awaited::Stored {
            self.awaited = Awaited::Nothing;
        }
        count(&worker.counters.bytes_in, consumed as u64);
        let state = self.answer_start_tls(consumed < input.len(), out);
        self.read_age.put(out, before);
        self.written(worker, &out[before..]);
        self.count_searches(worker);
        worker.note_limits(self.peer.client());
        Feed { consumed, state, needed }
    }

    /// Answers a StartTLS that was admitted. `follows`: there is more input. Returns what the session wants next.
    #[inline]
    fn answer_start_tls(&mut self, follows: bool, out: &mut Vec<u8>) -> State {
        let Tls::Requested(id) = self.security.tls else { return self.state() };
        self.security.tls = Tls::Offered;
        if start_tls::answer(id, follows, out) {
            return State::Secure;
        }
        self.end();
        State::Close
    }

    /// Goes on with what is in progress; returns when `out` has enough for one write.
    /// The order is that of the requests as far as it can be seen: reads that wait with updates, then the update behind them, then searches in
    /// turn.
    pub fn step(&mut self, worker: &mut Worker, out: &mut Vec<u8>) -> State {
        let before = out.len();
        worker.scratch.slice_work = worker.turns.slice_work(self.number);
        self.pauses = false;
        if !self.is_in_message() && self.has_expired(worker.now, out) {
            self.written(worker, &out[before..]);
            self.count_searches(worker);
            return self.state();
        }
        bundle::keep_up(self, &mut worker.parts());
        // While others go on nobody asks those that follow changes whether there are some.
        self.searches.iter_mut().for_each(|search| search.look_for_events(None));
        // Its next request has to wait; the searches before it go on meanwhile.
        if let Awaited::UpTo(last) = self.awaited
            && worker.dsa.change_log.store(&worker.dsa.system, last, worker.now)
        {
            self.awaited = Awaited::Stored;
        }
        let awaits_changes = self.awaited.is_pending();
        // Of all searches that go on.
        let mut work = worker.scratch.slice_work;
        // What is ahead in the output buffer is bounded: a client that reads slowly stops its searches, not its updates.
        while out.len() < OUT_BYTES_SOFT_MAX && !self.pauses && work >= LEAST_WORK {
            if self.mixed.is_due() && !self.is_in_message() && !awaits_changes {
                bundle::go_on(self, worker, out);
                // Its updates were refused, and it waits until it may read.
                if self.waits() {
                    break;
                }
                continue;
            }
            let is_due = self.suspended.is_some() || self.has_deferred();
            if is_due && !self.is_in_message() && !awaits_changes {
                // Without input it goes on with the suspended request and takes nothing else.
                bundle::run(self, worker, &[], out);
                // It is on its way to the log: what the session would do next may depend on it.
                if self.waits() || self.is_closing() {
                    break;
                }
                continue;
            }
            // Those that are parked keep their places: they have nothing to do.
            let next = self.searches.iter().position(|search| !search.is_parked());
            let Some(mut search) = next.and_then(|at| self.searches.remove(at)) else { break };
            match search.go_on(worker, (self.identity.requester(), self.security), &mut work, out) {
                // A search with long values has grown the buffers of the thread; they are given back.
                Progress::Done => worker.scratch.evaluator.forget_long(),
                Progress::Broken => {
                    // A message that is half written has no end that a client could read.
                    self.end();
                }
                // An answer that is half written must be finished before anything else is said.
                Progress::InMessage => {
                    self.searches.push_front(search);
                    break;
                }
                // To the end of the queue: the searches of a session have their slices in turn.
                Progress::Paused => {
                    self.searches.push_back(search);
                    break;
                }
            }
        }
        self.let_reads_be_revoked(worker);
        self.read_age.put(out, before);
        self.written(worker, &out[before..]);
        self.count_searches(worker);
        worker.note_limits(self.peer.client());
        self.state()
    }

    /// If reads between its updates are left, they wait until their client has taken what is before them, which may be long.
    fn let_reads_be_revoked(&mut self, worker: &Worker) {
        if self.mixed.is_due() {
            self.mixed.may_be_revoked(worker.now.monotonic_ns, self.peer.client());
        }
    }

    /// To be called while it waits for the log and nothing more can be sent to its client: of updates with reads between them it
    /// takes the answers when they are there, and what the reads look at may be revoked from then on.
    pub fn poll_behind_backlog(&mut self, worker: &mut Worker, cx: &mut Context<'_>) -> Poll<State> {
        if !matches!(self.phase, Phase::Submitted(_)) || self.mixed.bytes() == 0 {
            return Poll::Pending;
        }
        let mut out = Vec::new();
        let state = ready!(self.poll_updates(worker, cx, &mut out));
        assert!(out.is_empty(), "the answers wait with the reads");
        self.let_reads_be_revoked(worker);
        Poll::Ready(state)
    }

    /// To be called while nothing more can be sent to its client: searches that follow changes hold no old versions for a client
    /// that does not read.
    pub fn wait_behind_backlog(&mut self) {
        self.searches.iter_mut().for_each(SuspendedSearch::give_up_read_point);
    }

    /// Appends the answers to the updates that it waits for, once they are durable and applied.
    pub fn poll_updates(
        &mut self,
        worker: &mut Worker,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<State> {
        let before = out.len();
        match &mut self.phase {
            Phase::Queued(ticket) => {
                ready!(ticket.poll(cx));
                // The ticket holds room on the way to the log until the session has submitted, or has ended its turn.
                self.phase = Phase::Admitted(Arc::clone(ticket));
            }
            Phase::Submitted(change) => {
                let reply = self.reply.as_ref().expect("updates were submitted with it");
                let kept = (&mut self.mixed, &mut worker.scratch.buffers);
                assert!(self.batch.is_empty(), "nothing is collected while updates are on their way");
                // The answers come in the order of the updates, with the marks of reads between them.
                ready!(reply.poll(cx, &worker.wakes, kept, out));
                // What was logged is a modify; its client asked something else and is answered that.
                if let Some(change) = change.take() {
                    let modified = out.split_off(before);
                    self.answer_change(&change, &modified, out);
                } else if self.suspended.as_ref().is_some_and(|suspended| suspended.tree.is_some()) {
                    let answer = out.split_off(before);
                    self.answer_part(&answer, out);
                }
                self.enter(Phase::Open);
                self.read_age.put(out, before);
                self.written(worker, &out[before..]);
            }
            Phase::Behind(barrier) => {
                // Its input is offered again: the requests run, or are refused.
                self.behind.answer = ready!(barrier.poll(cx, &worker.wakes));
                self.enter(Phase::Open);
            }
            Phase::Hashing(ticket) => {
                let done = ready!(ticket.poll(cx));
                self.deferred.get_or_insert_default().outcomes.add(done);
                // It goes on with the request that waited.
                self.enter(Phase::Open);
            }
            Phase::Open | Phase::Admitted(_) | Phase::Closing => {}
        }
        Poll::Ready(self.state())
    }

    /// Appends notices of transactions that the server gives up, or of its own end; to be called of an idle session that expects some, when
    /// the waker is woken and every second or so.
    pub fn poll_notices(&mut self, worker: &Worker, cx: &mut Context<'_>, out: &mut Vec<u8>) -> State {
        // A notice stands between answers only. While updates are on their way it comes behind the answers to them.
        if self.waits() || self.is_in_message() {
            return self.state();
        }
        let before = out.len();
        if self.has_expired(worker.now, out) {
            self.written(worker, &out[before..]);
            return self.state();
        }
        // Woken from now on, it misses nothing that happens after it has looked.
        self.transactions.wake_with(cx.waker());
        let mut sleeper = Sleeper::new(&worker.wakes, self.number, cx.waker());
        self.searches.iter_mut().for_each(|search| search.look_for_events(Some(&mut sleeper)));
        bundle::transaction::abort_some(self, &worker.dsa, worker.now.monotonic_ns, out);
        self.written(worker, &out[before..]);
        self.state()
    }

    /// Counts what it wrote.
    /// A client that says how many answers it waits for has them kept back until there are so many, or nothing more comes.
    #[inline]
    fn written(&mut self, worker: &Worker, written: &[u8]) {
        count(&worker.counters.bytes_out, written.len() as u64);
        self.count_written(written.len(), worker);
        let Some(mut queue) = self.queue.take() else { return };
        let goes_on = self.mixed.is_due() || self.suspended.is_some() || self.deferred.is_some();
        queue.count(written, self.waits() || goes_on);
        self.queue = Some(queue);
    }
}
