//! One connection: a read, the session, a write. An idle one holds neither a read nor an out buffer.

mod handshake;
mod kept;
mod notification;
mod write;

use self::handshake::Handshake;
use crate::hold::{HOLD_BYTES_MAX, Hold};
use crate::logs::{Logged, Taken};
use crate::thread::{Member, READ_BYTES, Scratch, Shared, Waiting};
use dsa::client_memory::{Kept, UNCOUNTED_BYTES};
use dsa::config::Listener;
use dsa::refusals::Limit;
use dsa::{Feed, Session, State};
use env::clock::Clock;
use env::net::{PeerAddress, Stream};
use env::task;
use model::limits::SESSION_OUT_BYTES_MAX;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tls::{ClientUse, Secured};

/// Input that is held back while earlier requests are in progress is read no further than this.
const HELD_BYTES_MAX: usize = 64 << 10;
/// Answers of fewer bytes are sent at once: they are those of a client that waits for each.
const PUT_OFF_BYTES_MIN: usize = 1 << 10;
/// Bytes of one read from which on it is worth a system call to know that the client is still there.
const BROKEN_LOOK_BYTES: usize = 16 << 10;
/// Sweeps that the searches of a client that sends no more go on without an answer: it may have closed its socket, and only
/// what is sent tells.
const ENDED_SWEEPS_MAX: u64 = 2;

/// How a turn ended.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    /// More to do, after others had theirs.
    Yield,
    /// All is sent: close.
    Close,
    /// The client is gone or takes nothing.
    Abort,
}

/// What a look at the socket gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    /// Nothing now; the waker is armed.
    Nothing,
    /// Bytes, that the session has had. `true`: as many as fit, so there may be more.
    Some(bool),
    /// The client sends no more.
    End,
}

/// A connection and its session.
pub(crate) struct Connection<S: Stream> {
    shared: Rc<Shared>,
    stream: Secured<S>,
    session: Session,
    member: Rc<Member>,
    /// Whether the client is asked for a certificate.
    clients: ClientUse,
    state: State,
    /// Input not consumed: a part of a message, or messages held back.
    held: Vec<u8>,
    /// Bytes that the first message of `held` has in all; 0 when not known.
    needed: usize,
    /// Whether `held` has a message that the session put off.
    held_back: bool,
    /// Since when.
    held_ns: u64,
    /// Answers that the socket did not take yet, from `sent` on.
    backlog: Vec<u8>,
    sent: usize,
    /// The answers of `backlog` wait for more to go with them.
    hold: Option<Box<Hold>>,
    /// The answers of `backlog` wait for those to updates of the same bundle.
    goes_with_updates: bool,
    /// The client sends no more.
    ended: bool,
    /// The server reads no more, because it is about to close.
    read_closed: bool,
    /// Until when the client is neither read nor searched for, since it was faster than it may be.
    pause: Option<Pin<Box<dyn Future<Output = ()>>>>,
    /// What is counted of `held` and `backlog`.
    kept: Kept,
    /// It is not read further until there is memory for what it sends.
    is_stalled: bool,
    handshake: Handshake,
    /// What the access log keeps of it, if that is on.
    logged: Option<Box<Logged>>,
}

impl<S: Stream> Connection<S> {
    /// A session with `peer` over `stream`.
    ///
    /// `None` if the peer's address has reached its limit of connections.
    pub(crate) fn new(
        shared: Rc<Shared>,
        stream: Secured<S>,
        (peer, of_session, clients): (PeerAddress, Listener, ClientUse),
        member: Rc<Member>,
    ) -> Option<Self> {
        let (session, kept) = {
            let worker = &mut shared.scratch.borrow_mut().worker;
            worker.tick(shared.clock.now());
            (Session::connect(worker, Some(peer), of_session)?, Kept::new(worker.agent().client_memory()))
        };
        let mut session = session;
        let logged = Logged::open(shared.log(), &mut session, (peer, of_session));
        member.is_logged.set(logged.is_some());
        Some(Connection {
            shared,
            stream,
            session,
            member,
            clients,
            state: State::Idle,
            held: Vec::new(),
            needed: 0,
            held_back: false,
            held_ns: 0,
            backlog: Vec::new(),
            sent: 0,
            hold: None,
            goes_with_updates: false,
            ended: false,
            read_closed: false,
            pause: None,
            kept,
            is_stalled: false,
            handshake: Handshake::default(),
            logged,
        })
    }

    /// Serves the connection until its end; then it is to be closed.
    pub(crate) async fn run(&mut self) {
        if self.stream.is_secured() && self.reserve_handshake().is_err() {
            return;
        }
        loop {
            match poll_fn(|cx| self.poll_counted(cx)).await {
                Turn::Yield => task::yield_now().await,
                Turn::Close => break self.linger().await,
                Turn::Abort => break,
            }
        }
    }

    /// Ends the session.
    pub(crate) fn close(mut self) {
        if let Some(logged) = &mut self.logged {
            logged.close(self.shared.log());
        }
        if let Some(limit) = self.member.overdue.get() {
            self.session.note_limit(limit);
        }
        self.session.close(&mut self.shared.scratch.borrow_mut().worker);
    }

    /// Serves what is there, and counts what is kept while the connection waits.
    fn poll_counted(&mut self, cx: &mut Context<'_>) -> Poll<Turn> {
        let turn = self.poll_turn(cx);
        if turn.is_pending() {
            self.count_kept();
        }
        turn
    }

    /// Serves what is there; `Pending` when the socket must change first.
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<Turn> {
        self.member.arm(cx.waker());
        self.member.waiting.set(Waiting::Nothing);
        if let Some(notification) = self.member.notification.take() {
            self.take_notification(notification);
        }
        loop {
            if self.handshake.waits() && ready!(self.poll_handshake(cx)).is_err() {
                return Poll::Ready(Turn::Abort);
            }
            if self.hold.is_some() && self.must_release() {
                self.hold = None;
            }
            let is_held = self.hold.is_some() || self.goes_with_updates;
            if !is_held && self.poll_flush(cx).is_err() {
                return Poll::Ready(Turn::Abort);
            }
            if !is_held && self.must_flush() {
                self.member.waiting.set(Waiting::Write);
                self.poll_behind_backlog(cx);
                return self.member.overdue.get().map_or(Poll::Pending, |_| Poll::Ready(Turn::Abort));
            }
            if self.state == State::Close {
                return Poll::Ready(Turn::Close);
            }
            if self.state == State::Secure && self.secure().is_err() {
                return Poll::Ready(Turn::Abort);
            }
            if self.state == State::Waiting {
                if self.poll_updates(cx).is_pending() {
                    return Poll::Pending;
                }
                if !self.keep_back() && self.send(cx).is_err() {
                    return Poll::Ready(Turn::Abort);
                }
                continue;
            }
            if self.is_too_fast() {
                if self.hold.take().is_some() {
                    self.session.end_run();
                    continue;
                }
                ready!(self.poll_pause(cx));
            }
            // A client that sends one request after the other leaves no other place between two of them.
            if self.state == State::Idle
                && let Some(notification) = self.member.notification.take()
            {
                self.take_notification(notification);
            }
            let Ok(input) = self.receive(cx) else { return Poll::Ready(Turn::Abort) };
            self.ended |= input == Input::End;
            if !matches!(input, Input::Some(_)) && !self.go_on() && !self.take_notices(cx) {
                ready!(self.poll_hold(cx));
                continue;
            }
            if !self.keep_back() && !self.keep_for_updates() {
                if self.put_off() {
                    return Poll::Ready(Turn::Yield);
                }
                if self.send(cx).is_err() {
                    return Poll::Ready(Turn::Abort);
                }
            }
            // What is held back of an idle session is put off because the requests before it took long.
            let has_more = self.state == State::Busy || (self.state == State::Idle && self.held_back);
            if has_more || input == Input::Some(true) {
                return Poll::Ready(Turn::Yield);
            }
        }
    }

    /// The client's StartTLS was answered, and the answer is sent: TLS begins.
    fn secure(&mut self) -> io::Result<()> {
        assert!(self.backlog.is_empty(), "the last answer in the clear was sent");
        assert!(
            self.held.is_empty(),
            "nothing that came in the clear is taken for something that came after"
        );
        self.state = State::Idle;
        self.member.since.set(self.shared.sweeps.get());
        self.reserve_handshake()?;
        self.shared.secure(&mut self.stream, self.clients)
    }

    fn reserve_handshake(&mut self) -> io::Result<()> {
        self.handshake.reserve(&self.session, self.shared.limits(), self.shared.clock.now())
    }

    /// Nothing is read before.
    fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.shared.draining.get() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        ready!(self.handshake.poll(cx));
        // The time that the client has for it begins now.
        self.member.since.set(self.shared.sweeps.get());
        Poll::Ready(Ok(()))
    }

    /// Takes the answers to updates that the session waits for.
    fn poll_updates(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        assert!(self.state == State::Waiting, "only a session that waits for updates is answered");
        let shared = self.shared.clone();
        let scratch = &mut *shared.scratch.borrow_mut();
        scratch.reset_out();
        if self.goes_with_updates {
            scratch.out.extend_from_slice(&self.backlog);
        }
        let before = scratch.out.len();
        self.state = ready!(self.session.poll_updates(&mut scratch.worker, cx, &mut scratch.out));
        if std::mem::take(&mut self.goes_with_updates) {
            scratch.keep_spare(std::mem::take(&mut self.backlog));
        }
        if self.state == State::Busy {
            // Reads stand between the updates: all is answered with one write.
            scratch.worker.tick(shared.clock.now());
            self.state = self.session.step(&mut scratch.worker, &mut scratch.out);
        }
        if let Some(logged) = &mut self.logged {
            let answers = (&scratch.out[before..], scratch.worker.annotations());
            logged.answers(shared.log(), &mut self.session, answers);
            scratch.worker.forget_annotations();
        }
        Poll::Ready(())
    }

    /// While the client takes nothing, a session that waits for updates or follows changes must not hold old versions for it.
    #[cold]
    fn poll_behind_backlog(&mut self, cx: &mut Context<'_>) {
        self.session.wait_behind_backlog();
        if self.state != State::Waiting {
            return;
        }
        let scratch = &mut *self.shared.scratch.borrow_mut();
        scratch.worker.tick(self.shared.clock.now());
        if let Poll::Ready(state) = self.session.poll_behind_backlog(&mut scratch.worker, cx) {
            self.state = state;
        }
    }

    /// Keeps what was written for the answers to come, if the session allows it.
    #[inline]
    fn keep_back(&mut self) -> bool {
        let scratch = &mut *self.shared.scratch.borrow_mut();
        if !self.session.holds() {
            if self.hold.take().is_some() && self.sent == 0 {
                // All that was waited for is there: it goes as one, and as what a whole bundle is answered with.
                self.backlog.append(&mut scratch.out);
                scratch.out = std::mem::take(&mut self.backlog);
            }
            return false;
        }
        if !scratch.out.is_empty() {
            self.backlog.extend_from_slice(&scratch.out);
            self.hold.get_or_insert_default();
        }
        true
    }

    /// Keeps the answers to what stood before the updates of a bundle, so that all of it is answered with one write: a second
    /// one would cost the client a look at the socket more. Longer ones are sent while the disk writes.
    #[inline]
    fn keep_for_updates(&mut self) -> bool {
        if self.state != State::Waiting || !self.backlog.is_empty() {
            return false;
        }
        assert!(self.sent == 0, "nothing of an empty backlog was sent");
        let scratch = &mut *self.shared.scratch.borrow_mut();
        if !(1..PUT_OFF_BYTES_MIN).contains(&scratch.out.len()) {
            return false;
        }
        self.backlog = scratch.spare.pop().unwrap_or_default();
        self.backlog.extend_from_slice(&scratch.out);
        self.goes_with_updates = true;
        true
    }

    /// Whether what is kept back has waited enough, whatever the session says.
    fn must_release(&self) -> bool {
        matches!(self.state, State::Busy | State::Close | State::Secure)
            || self.backlog.len() - self.sent >= HOLD_BYTES_MAX
            || self.ended
            || self.leaving()
    }

    /// Waits for input as long as what is kept back may wait; then releases it.
    fn poll_hold(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(hold) = &mut self.hold else { return Poll::Pending };
        ready!(hold.poll(cx));
        self.hold = None;
        self.session.end_run();
        Poll::Ready(())
    }

    /// Whether nothing may be done before the client took some of its answers.
    fn must_flush(&self) -> bool {
        let waiting = self.backlog.len() - self.sent;
        waiting != 0
            && (self.state != State::Idle
                || waiting >= SESSION_OUT_BYTES_MAX
                || self.leaving()
                || (waiting >= UNCOUNTED_BYTES && self.kept.is_used_up(self.member.is_bound.get())))
    }

    /// Whether the server wants the connection to end.
    fn leaving(&self) -> bool {
        self.shared.draining.get() || self.member.overdue.get().is_some() || self.stream.must_end()
    }

    /// Goes on without input. `false` when there is nothing to go on with.
    fn go_on(&mut self) -> bool {
        assert!(matches!(self.state, State::Idle | State::Busy), "updates are answered before anything else");
        let shared = self.shared.clone();
        let scratch = &mut *shared.scratch.borrow_mut();
        scratch.reset_out();
        if self.state == State::Busy && self.is_client_gone() {
            self.state = State::Close;
        } else if self.state == State::Busy {
            scratch.worker.tick(shared.clock.now());
            self.state = self.session.step(&mut scratch.worker, &mut scratch.out);
            if let Some(logged) = &mut self.logged {
                let answers = (&scratch.out[..], scratch.worker.annotations());
                logged.answers(shared.log(), &mut self.session, answers);
                scratch.worker.forget_annotations();
            }
            if self.held_back && self.state != State::Close {
                self.feed_held(scratch);
            }
        } else if self.held_back && (self.sent == self.backlog.len() || self.hold.is_some()) {
            scratch.worker.tick(shared.clock.now());
            self.feed_held(scratch);
        } else if self.leaving() {
            self.session.shutdown(&mut scratch.out);
            self.state = State::Close;
        } else if self.ended {
            self.state = State::Close;
        } else {
            let idle = self.sent == self.backlog.len();
            self.member.is_bound.set(self.session.is_bound());
            self.member.accounts.set(self.session.accounts());
            self.member.waiting.set(match idle {
                _ if self.stream.is_handshaking() => Waiting::Handshake,
                true => Waiting::Read,
                false => Waiting::Write,
            });
            return false;
        }
        true
    }

    /// Takes what the server has to say to an idle session. `false` if there is nothing.
    fn take_notices(&mut self, cx: &mut Context<'_>) -> bool {
        let shared = self.shared.clone();
        let scratch = &mut *shared.scratch.borrow_mut();
        let expects = self.session.expects_notices();
        self.member.watched.set(expects || self.is_stalled);
        if !expects || self.state != State::Idle || self.sent != self.backlog.len() {
            return false;
        }
        scratch.worker.tick(shared.clock.now());
        self.state = self.session.poll_notices(&scratch.worker, cx, &mut scratch.out);
        // A search that follows changes may have some to look at.
        !scratch.out.is_empty() || self.state == State::Busy
    }

    /// Reads once, behind what is held, and gives the session what is complete.
    fn receive(&mut self, cx: &mut Context<'_>) -> io::Result<Input> {
        if self.ended || self.read_closed || (self.held_back && self.held.len() >= HELD_BYTES_MAX) {
            return Ok(Input::Nothing);
        }
        // What has arrived before the end is still served; a client that never pauses must not put the end off.
        self.read_closed = self.leaving();
        let shared = self.shared.clone();
        let scratch = &mut *shared.scratch.borrow_mut();
        // Empty already, unless a session panicked: no client may get another's answers.
        scratch.reset_out();
        // A message that fits in the shared buffer is put together there; a larger one grows its own.
        let held = self.held.len();
        let was_stalled = self.is_stalled;
        self.is_stalled = held + self.stream.kept_bytes() >= UNCOUNTED_BYTES && !self.may_hold_more();
        if self.is_stalled {
            if !was_stalled {
                self.session.note_limit(Limit::ClientMemory);
            }
            return Ok(Input::Nothing);
        }
        let start = if held.max(self.needed) <= READ_BYTES / 2 { held } else { 0 };
        let end = READ_BYTES.min(start.saturating_add(self.session.read_bytes_max(&scratch.worker)));
        assert!(start < end, "a read of nothing would look like the end of the stream");
        let read = self.stream.poll_read(cx, &mut scratch.read[start..end]);
        // Before the first request that comes secured.
        if let Some(facts) = self.stream.take_facts() {
            if let Some(logged) = &mut self.logged {
                logged.secured(shared.log(), &facts);
            }
            if facts.has_resumed {
                self.session.has_resumed();
            }
            let certificate = facts.certificate.as_deref().and_then(tls::known);
            self.session.secured(facts.strength, certificate, facts.bindings);
        }
        let read = match read {
            Poll::Pending => return Ok(Input::Nothing),
            Poll::Ready(read) => read?,
        };
        assert!(read <= end - start, "a stream reads no more than it has room for");
        if read == 0 {
            return Ok(Input::End);
        }
        // What a client sent before it broke the connection is not worth the work.
        if read >= BROKEN_LOOK_BYTES && self.stream.is_broken() {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        self.member.since.set(shared.sweeps.get());
        self.member.is_silent.set(false);
        if let Some(hold) = &mut self.hold {
            hold.begin_anew();
        }
        let filled = start + read == end;
        if start == held {
            scratch.read[..held].copy_from_slice(&self.held);
            self.held.clear();
            self.feed_read(scratch, (held, held + read), shared.clock.now());
        } else {
            self.held.extend_from_slice(&scratch.read[..read]);
            if self.held.len() >= self.needed {
                scratch.worker.tick(shared.clock.now());
                self.feed_held(scratch);
            }
        }
        Ok(Input::Some(filled))
    }

    /// Feeds the first `len` bytes of the shared buffer, of which some were held back, and keeps what is left.
    fn feed_read(&mut self, scratch: &mut Scratch, (held, len): (usize, usize), now: env::clock::Now) {
        scratch.worker.tick(now);
        let input = &scratch.read[..len];
        let before = scratch.out.len();
        let feed = self.session.feed(&mut scratch.worker, input, &mut scratch.out);
        assert!(feed.consumed <= input.len(), "a session is done with no more than it was offered");
        if let Some(logged) = &mut self.logged {
            let held = if self.held_back { held } else { 0 };
            let taken = Taken { requests: &input[..feed.consumed], began: now, held, since_ns: self.held_ns };
            let answers = (&scratch.out[before..], scratch.worker.annotations());
            logged.fed(self.shared.log(), &mut self.session, &taken, answers);
            scratch.worker.forget_annotations();
        }
        self.held.extend_from_slice(&input[feed.consumed..]);
        self.on_fed(feed, now.monotonic_ns);
    }

    /// Feeds what is held.
    fn feed_held(&mut self, scratch: &mut Scratch) {
        let (before, now) = (scratch.out.len(), scratch.worker.now());
        let feed = self.session.feed(&mut scratch.worker, &self.held, &mut scratch.out);
        assert!(feed.consumed <= self.held.len(), "a session is done with no more than it was offered");
        if let Some(logged) = &mut self.logged {
            let held = if self.held_back { self.held.len() } else { 0 };
            let taken =
                Taken { requests: &self.held[..feed.consumed], began: now, held, since_ns: self.held_ns };
            let answers = (&scratch.out[before..], scratch.worker.annotations());
            logged.fed(self.shared.log(), &mut self.session, &taken, answers);
            scratch.worker.forget_annotations();
        }
        self.held.drain(..feed.consumed);
        self.on_fed(feed, now.monotonic_ns);
        // A session that neither takes the rest nor has anything in progress waits for more input, whatever it says.
        self.held_back &= feed.consumed != 0 || matches!(self.state, State::Busy | State::Waiting);
    }

    fn on_fed(&mut self, feed: Feed, now_ns: u64) {
        self.state = feed.state;
        self.needed = feed.needed;
        let was_held_back = std::mem::replace(&mut self.held_back, false);
        self.held_back = !self.held.is_empty() && feed.needed != 0 && feed.needed <= self.held.len();
        if self.held_back && !was_held_back {
            self.held_ns = now_ns;
        }
        let is_in_message = !self.held.is_empty() && !self.held_back;
        let since = self.member.message_since.get().filter(|_| feed.consumed == 0);
        let sweeps = &self.shared.sweeps;
        self.member.message_since.set(is_in_message.then(|| since.unwrap_or_else(|| sweeps.get())));
        if self.held.is_empty() && self.held.capacity() > HELD_BYTES_MAX {
            self.held = Vec::new();
        }
    }

    /// Keeps the answers of a whole bundle for the connection's next turn. Sending wakes the client, which takes the
    /// core away from those whose requests have arrived too: they are served first.
    fn put_off(&mut self) -> bool {
        let mut scratch = self.shared.scratch.borrow_mut();
        let is_worth_it = scratch.out.len() >= PUT_OFF_BYTES_MIN && self.backlog.is_empty();
        if is_worth_it {
            assert!(self.sent == 0, "nothing of an empty backlog was sent");
            let spare = scratch.spare.pop().unwrap_or_default();
            self.backlog = std::mem::replace(&mut scratch.out, spare);
        }
        is_worth_it
    }
}
