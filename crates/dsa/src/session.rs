//! One client's session: its identity, what it has in progress, and what it waits for. What it does with input is in
//! [`crate::driver`].

mod accounts;
mod gone;
pub(crate) mod logged;
mod pace;
mod read_age;
mod reads;
pub(crate) mod security;

pub use self::gone::{Accounts, Gone};
use self::pace::Pace;
use self::read_age::ReadAge;
pub(crate) use self::reads::Mixed;
use self::security::Security;
use crate::access;
use crate::barrier::{Barrier, Behind};
use crate::bundle::Suspended;
use crate::change_log::awaited::Awaited;
use crate::client_memory::Kept;
use crate::config::{ChannelBindings, ClientCertificate, Listener};
use crate::extension::{Change, result_of};
use crate::identity::Identity;
use crate::journal::{Reply, Sender, Submission};
use crate::monitor::count;
use crate::op::bind::Exchange;
use crate::op::search::SuspendedSearch;
use crate::outcome::{self, FixedRefusal};
use crate::password::{Outcomes, Ticket as PasswordTicket};
use crate::peers::Peer;
use crate::queue::Queue;
use crate::refusals::Limit;
use crate::throttle::{Throttle, Ticket};
use crate::transaction::Transactions;
use crate::tree_delete::Tree;
use crate::worker::Worker;
use env::clock::Now;
use env::net::PeerAddress;
use model::ResultCode;
use proto::error::DecodeError;
use proto::ext::notice_of_disconnection;
use proto::tag;
use std::collections::VecDeque;
use std::sync::Arc;
use zeroize::Zeroizing;

/// A client that has another token binds anew.
const EXPIRED: FixedRefusal =
    (ResultCode::StrongerAuthRequired, "the token by which the client has bound has expired");

/// What a session wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Input.
    Idle,
    /// To go on with what it has: call [`Session::step`], even without input.
    Busy,
    /// For its updates to be durable and applied, or for a barrier: call [`Session::poll_updates`]. It takes no input before.
    Waiting,
    /// For the connection to be secured: what it wrote is to be sent in the clear, and from then on TLS is spoken. See
    /// [`Session::secured`].
    Secure,
    /// The end: what it wrote is to be sent, then the connection closed.
    Close,
}

/// What became of the input offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feed {
    /// Bytes done with. The rest is offered again, with what follows.
    pub consumed: usize,
    /// What the session wants next.
    pub state: State,
    /// Bytes that the first message of the rest has in all; 0 when not known yet. No more than the rest has while too much is unanswered.
    pub needed: usize,
}

/// Bytes that are read at a time of a client whose updates would have to wait, or while little more may be kept: enough for an unbind, an abandon or a few
/// searches, and little enough to be kept for each of thousands.
const CROWDED_READ_BYTES: usize = 4 << 10;

/// Who the updates that a session collected are applied as, if not as who it bound.
#[derive(Debug)]
pub(crate) struct ActingIdentity {
    pub(crate) identity: Identity,
    /// As it was asked for.
    pub(crate) authorization_id: Vec<u8>,
    /// If they are a change that is answered in another form: what its answer is made from.
    pub(crate) change: Option<Change>,
}

/// Updates that a session has collected, to be logged together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// None before the first.
    pub(crate) submission: Option<Box<Submission>>,
    /// Entries that the answers to them bring.
    pub(crate) reads: usize,
    /// Means something only with them.
    pub(crate) acting: Option<Box<ActingIdentity>>,
    /// What must be true when the update that was admitted last is applied. None goes with it.
    pub(crate) conditions: Vec<u8>,
    /// As whom entries are read that its answers bring.
    pub(crate) reader: Option<access::Reader>,
}

/// An update that the session has taken from its input, decoded, and that waits until the updates before it are applied.
#[derive(Debug)]
pub(crate) struct SuspendedUpdate {
    pub(crate) update: Suspended,
    /// If it is a tree delete of which a part is on its way.
    pub(crate) tree: Option<Tree>,
    /// Its bytes are the client's.
    pub(crate) _kept: Kept,
}

/// A request that waits for passwords to be verified or stored, and is run again then. An update waits as [`SuspendedUpdate`].
#[derive(Default)]
pub(crate) struct Deferred {
    /// What was worked out for it so far.
    pub(crate) outcomes: Outcomes,
    /// The message of a bind or a compare.
    pub(crate) read: Option<DeferredRead>,
    /// What is to be written before a bind is answered: the state of its account.
    /// The session is who it has bound as already, but looks at no input before that.
    pub(crate) write: Option<Change>,
}

/// A bind or a compare that is run again.
pub(crate) struct DeferredRead {
    pub(crate) message: Zeroizing<Vec<u8>>,
    /// Its bytes are the client's.
    pub(crate) _kept: Kept,
}

impl Batch {
    /// Before its first update it is nobody's but the session's.
    #[inline]
    pub(crate) fn begin(&mut self) {
        if self.is_empty() {
            self.reads = 0;
            // Mostly there is none, which is found out here and not by a call.
            if self.acting.is_some() {
                self.acting = None;
            }
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.submission.is_none()
    }

    /// Bytes of their messages.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.submission.as_ref().map_or(0, |submission| submission.messages.len())
    }
}

/// What a session does. Searches that outlived their bundle go on in every phase but the last.
#[derive(Debug, Default)]
pub(crate) enum Phase {
    /// It takes requests.
    #[default]
    Open,
    /// It waits for its turn to submit updates: too much is on its way.
    Queued(Arc<Ticket>),
    /// It takes requests and may submit updates, for its turn has come.
    #[expect(dead_code, reason = "the ticket keeps room for the updates until it is dropped")]
    Admitted(Arc<Ticket>),
    /// Its updates are on their way through the log. If they are the change of a password, that makes the answer.
    Submitted(Option<Box<Change>>),
    /// It waits to know that it reads nothing old. Its input is untouched.
    Behind(Arc<Barrier>),
    /// Passwords of a request are being verified or stored.
    Hashing(Arc<PasswordTicket>),
    /// Its connection is to be closed.
    Closing,
}

/// A client's session.
pub struct Session {
    /// Among the sessions of its thread.
    pub(crate) number: u64,
    pub(crate) identity: Identity,
    /// The address that the client comes from, with what its clients may take.
    pub(crate) peer: Peer,
    pub(crate) security: Security,
    /// The certificate that the client has shown, if it was verified.
    pub(crate) certificate: Option<Box<ClientCertificate>>,
    /// What of its TLS a proof can be bound to.
    pub(crate) bindings: Option<Box<ChannelBindings>>,
    /// A SASL bind of several steps that waits for the next.
    pub(crate) exchange: Option<Exchange>,
    /// Searches that outlived their bundle, in turn.
    pub(crate) searches: VecDeque<SuspendedSearch>,
    /// Of them, those that the thread's counters know of.
    searches_counted: usize,
    pub(crate) phase: Phase,
    /// What of its input is behind a barrier, where sessions wait for some.
    pub(crate) behind: Behind,
    /// What it says of the age of what it reads.
    pub(crate) read_age: ReadAge,
    pub(crate) batch: Batch,
    /// The update that comes after them and must not go with them.
    pub(crate) suspended: Option<Box<SuspendedUpdate>>,
    /// The request that waits for passwords.
    pub(crate) deferred: Option<Box<Deferred>>,
    /// Reads that stand between its updates, and wait with them.
    pub(crate) mixed: Mixed,
    /// Where their answers come, once there were any.
    pub(crate) reply: Option<Arc<Reply>>,
    pub(crate) transactions: Transactions,
    pub(crate) awaited: Awaited,
    /// How many answers the client waits for, if it said so.
    pub(crate) queue: Option<Box<Queue>>,
    /// How fast it may go, if that has a bound.
    pace: Option<Box<Pace>>,
    /// The request that was just run took long: others of the thread come first.
    pub(crate) pauses: bool,
    /// Binds that have succeeded, and who each made it, if somebody wants to know ([`Session::take_binds`]).
    pub(crate) binds: Option<Vec<(i32, Vec<u8>)>>,
    /// Number of its connection in the access log; 0 if that is off.
    connection: u64,
    /// Its account is gone, why: then `until_ms` of its identity is over.
    gone: Option<Gone>,
}

impl Session {
    /// Starts a session with a client that has not bound yet, and has no address.
    pub fn new(worker: &mut Worker) -> Session {
        Session::connect(worker, None, Listener::default()).expect("without an address there is no bound")
    }

    /// Starts a session with a client that has not bound yet, and came by this listener. `None` if its address has reached its limit.
    pub fn connect(worker: &mut Worker, client: Option<PeerAddress>, listener: Listener) -> Option<Session> {
        let peer = worker.dsa.peers.connect(client, worker.now().monotonic_ns)?;
        count(&worker.counters.connections_opened, 1);
        Some(Session {
            number: worker.turns.join(),
            identity: Identity::anonymous(),
            peer,
            security: Security::open(worker.dsa.strengths.now(), client, listener),
            certificate: None,
            bindings: None,
            exchange: None,
            searches: VecDeque::new(),
            searches_counted: 0,
            phase: Phase::Open,
            behind: Behind::default(),
            read_age: ReadAge::default(),
            batch: Batch::default(),
            suspended: None,
            deferred: None,
            mixed: Mixed::default(),
            reply: None,
            transactions: Transactions::default(),
            awaited: Awaited::Nothing,
            queue: None,
            pace: None,
            pauses: false,
            binds: None,
            connection: 0,
            gone: None,
        })
    }

    /// Whose updates they are that it submits as an identity.
    pub(crate) fn sender<'s>(&self, identity: &'s Identity) -> Sender<'s> {
        let via = self.security.via();
        Sender { identity, client: self.peer.client(), via, connection: self.connection }
    }

    /// Its connection is secured by TLS, with keys of so many bits. Who the client proved to be on an open wire counts no more (RFC 4513
    /// section 3.1.5 lets a server drop it).
    pub fn secured(
        &mut self,
        strength: u16,
        certificate: Option<ClientCertificate>,
        bindings: ChannelBindings,
    ) {
        assert!(
            self.searches.is_empty() && self.transactions.is_empty(),
            "nothing is active while a connection is secured"
        );
        self.security.secure(strength, certificate.is_some(), !bindings.is_empty());
        self.behind = Behind::default();
        self.bindings = Some(Box::new(bindings));
        self.certificate = certificate.map(Box::new);
        self.exchange = None;
        self.identity = Identity::anonymous();
        // A client's request for it came on an open wire, too.
        self.queue = None;
    }

    /// Its client is about to make a handshake of TLS: nanoseconds until it may, or `None` if that is more than `wait_max_ns`.
    pub fn reserve_handshake(&self, wait_max_ns: u64, now: Now) -> Option<u64> {
        self.peer.reserve_handshake(wait_max_ns, now.monotonic_ns)
    }

    /// The handshake resumed an earlier TLS session, which cost less.
    pub fn has_resumed(&self) {
        self.peer.has_resumed();
    }

    /// Its client has reached a limit.
    pub fn note_limit(&self, limit: Limit) {
        self.peer.note(limit);
    }

    /// May it not make every request now?
    #[inline]
    pub(crate) fn is_restricted(&self) -> bool {
        self.security.is_restricted() || self.exchange.is_some() || self.identity.must_change
    }

    /// What of it is active that would be answered on a connection that is secured by then (RFC 4511 section 4.14.1).
    pub(crate) fn stands_against_tls(&self) -> Option<&'static str> {
        match (self.searches.is_empty(), self.transactions.is_empty()) {
            (true, true) => None,
            (false, _) => Some("searches are active: StartTLS comes when they are answered"),
            (true, false) => Some("a transaction is open: StartTLS comes before it or after it"),
        }
    }

    /// Whether its next updates may go to the log. If not, it waits for its turn from now on.
    #[inline(always)]
    pub(crate) fn is_admitted(&mut self, throttle: &Throttle) -> bool {
        if throttle.is_closed() {
            self.wait_for_turn(throttle);
        }
        !self.waits()
    }

    /// Has the session wait until the throttle lets it go on.
    #[cold]
    fn wait_for_turn(&mut self, throttle: &Throttle) {
        if matches!(self.phase, Phase::Open)
            && let Some(ticket) = throttle.wait()
        {
            self.phase = Phase::Queued(ticket);
        }
    }

    /// Begins a phase. Mostly there is nothing to drop of the one before, which is found out here and not by a call.
    #[inline]
    pub(crate) fn enter(&mut self, phase: Phase) {
        let former = std::mem::replace(&mut self.phase, phase);
        match former {
            Phase::Queued(_)
            | Phase::Admitted(_)
            | Phase::Submitted(Some(_))
            | Phase::Behind(_)
            | Phase::Hashing(_) => drop(former),
            // Without this the compiler calls what drops the others.
            Phase::Open | Phase::Closing | Phase::Submitted(None) => std::mem::forget(former),
        }
    }

    /// Does it wait for the log, for its turn to submit updates to it, for a barrier, or for passwords?
    #[inline]
    pub(crate) fn waits(&self) -> bool {
        matches!(self.phase, Phase::Queued(_) | Phase::Submitted(_) | Phase::Behind(_) | Phase::Hashing(_))
    }

    /// Has it a bind or a compare that is to be run again, or whose answer waits for the state of an account to be written?
    #[inline]
    pub(crate) fn has_deferred(&self) -> bool {
        self.deferred.as_ref().is_some_and(|deferred| deferred.read.is_some() || deferred.write.is_some())
    }

    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        matches!(self.phase, Phase::Closing)
    }

    /// Answers the request that a change was made for, from the answer to the modify that it came to. A bind is none if its change was not made.
    pub(crate) fn answer_change(&mut self, change: &Change, modified: &[u8], out: &mut Vec<u8>) {
        if change.is_of_bind && result_of(modified).result_code() != Some(ResultCode::Success) {
            self.identity = Identity::anonymous();
        }
        change.answer(modified, out);
    }

    /// Takes the answer to a part of the tree delete that it keeps, which the last one ends.
    pub(crate) fn answer_part(&mut self, answer: &[u8], out: &mut Vec<u8>) {
        let tree = self.suspended.as_mut().and_then(|suspended| suspended.tree.as_mut());
        if tree.is_some_and(|tree| tree.answered(answer, out)) {
            self.suspended = None;
        }
    }

    /// Its updates are on their way. A session that is closing has nobody to be answered.
    pub(crate) fn submitted(&mut self, change: Option<Box<Change>>) {
        assert!(self.batch.is_empty(), "what was collected has gone with the submission");
        // What it reads from now on must show them.
        self.behind = Behind::default();
        if !self.is_closing() {
            assert!(!matches!(self.phase, Phase::Submitted(_)), "one submission is on its way at a time");
            self.enter(Phase::Submitted(change));
        }
    }

    /// A session that had its turn to submit updates, and had none, gives its turn up.
    #[inline]
    pub(crate) fn end_turn(&mut self) {
        if matches!(self.phase, Phase::Admitted(_)) {
            self.enter(Phase::Open);
        }
    }

    /// The rates of its requester: of requests, and of bytes of answers. Looked at once for each read of its socket, and only where a rule
    /// has some.
    #[cold]
    pub(crate) fn set_pace(&mut self, (requests, bytes): (u32, u32)) {
        match (requests, bytes) {
            (0, 0) => self.pace = None,
            _ => self.pace.get_or_insert_default().set(requests, bytes),
        }
    }

    /// Has it a pace that may have to be another one by now?
    #[inline]
    pub(crate) fn has_pace(&self) -> bool {
        self.pace.is_some()
    }

    /// Counts requests that were run. Whether it may run no more for now.
    #[inline]
    pub(crate) fn count_requests(&mut self, requests: usize, now_ns: u64) -> bool {
        self.pace.as_mut().is_some_and(|pace| {
            pace.take_requests(requests, now_ns);
            pace.due_ns() > now_ns
        })
    }

    /// Counts bytes of answers.
    #[inline]
    pub(crate) fn count_written(&mut self, bytes: usize, worker: &Worker) {
        if let Some(pace) = &mut self.pace {
            pace.take_bytes(bytes, worker.now.monotonic_ns, &worker.counters);
        }
    }

    /// When it may be gone on with, if its client was faster than it may be: nothing is to be read and no search gone on with before, on the clock
    /// that the worker has its time from. A session that is to end need not wait for it.
    #[inline]
    pub fn due_ns(&self) -> Option<u64> {
        self.pace.as_ref().map(|pace| pace.due_ns())
    }

    /// Bytes of input that it should be offered at a time: few while it would have to wait with updates among them.
    #[inline]
    pub fn read_bytes_max(&self, worker: &Worker) -> usize {
        let has_ticket = matches!(self.phase, Phase::Queued(_) | Phase::Admitted(_));
        let is_throttled = worker.dsa.throttle.is_closed() && !has_ticket;
        match is_throttled || worker.dsa.client_memory.is_used_up(self.is_bound()) {
            true => CROWDED_READ_BYTES,
            false => usize::MAX,
        }
    }

    /// Whether the client has bound as somebody.
    #[inline]
    pub fn is_bound(&self) -> bool {
        self.identity.is_somebody()
    }

    /// Has it a transaction open that the server may give up on its own account, or an end that the server sets?
    pub fn expects_notices(&self) -> bool {
        !self.transactions.is_empty()
            || self.identity.until_ms != u64::MAX
            || self.searches.iter().any(SuspendedSearch::is_parked)
    }

    /// Ends it if the token has expired by which its client has bound, or its account is gone. Whether it does.
    #[inline]
    pub(crate) fn has_expired(&mut self, now: Now, out: &mut Vec<u8>) -> bool {
        let has_expired = self.identity.until_ms <= now.wall_ms;
        if has_expired {
            self.take_leave(out, self.gone.map_or(EXPIRED, Gone::notice));
        }
        has_expired
    }

    /// Its connection is to be closed once what was written is sent: the client unbound (RFC 4511 section 4.3), or the server ends the
    /// session. Active searches are given up.
    pub(crate) fn end(&mut self) {
        self.phase = Phase::Closing;
        self.searches.clear();
    }

    /// Answers a message that could not be decoded, or ends the session with a Notice of Disconnection.
    #[cold]
    pub(crate) fn refuse_malformed(&mut self, error: &DecodeError, out: &mut Vec<u8>) {
        if outcome::answer_malformed(error, out) {
            return;
        }
        // Whatever else it says, a client that unbinds leaves.
        if error.op_tag == Some(tag::UNBIND) {
            return self.end();
        }
        notice_of_disconnection::encode(out, ResultCode::ProtocolError, error.reason);
        self.phase = Phase::Closing;
    }

    /// Appends a Notice of Disconnection (RFC 4511 section 4.4.1): the server ends the session on its own account.
    pub fn shutdown(&mut self, out: &mut Vec<u8>) {
        self.take_leave(out, (ResultCode::Unavailable, "the server is shutting down"));
    }

    /// Ends it with a notice, if one can stand here. What is in progress is given up.
    #[cold]
    fn take_leave(&mut self, out: &mut Vec<u8>, (code, text): FixedRefusal) {
        if !self.is_closing() && !self.is_in_message() {
            notice_of_disconnection::encode(out, code, text);
        }
        self.end();
        self.suspended = None;
        self.deferred = None;
        self.mixed = Mixed::default();
    }

    /// Ends a session whose connection is gone.
    pub fn close(mut self, worker: &mut Worker) {
        self.searches.clear();
        self.mixed = Mixed::default();
        worker.wakes.forget(self.number);
        self.count_searches(worker);
        count(&worker.counters.connections_closed, 1);
    }

    /// May what it wrote be kept back, because its client waits for more answers than there are yet? No longer than it
    /// waits for updates or input is at hand: then [`Self::end_run`] is to be called, and what was kept sent.
    /// To be asked after everything that appends answers.
    #[inline]
    pub fn holds(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.holds() && !self.is_closing() && self.is_at_rest())
    }

    /// What was kept back is sent, for nothing came any more.
    pub fn end_run(&mut self) {
        if let Some(queue) = &mut self.queue {
            queue.end_run();
        }
    }

    /// Brings the count of its searches that last up to date.
    #[inline]
    pub(crate) fn count_searches(&mut self, worker: &Worker) {
        let (before, now) = (self.searches_counted, self.searches.len());
        if before != now {
            count(&worker.counters.searches_suspended, (now as u64).wrapping_sub(before as u64));
            self.searches_counted = now;
        }
    }

    /// Is the last thing in the out buffer only the first part of a message?
    pub(crate) fn is_in_message(&self) -> bool {
        self.searches.front().is_some_and(SuspendedSearch::is_in_message)
    }

    /// Is it the turn of other sessions?
    pub(crate) fn has_had_turn(&self) -> bool {
        self.pauses || self.is_in_message()
    }

    /// Has it nothing to go on with?
    #[inline]
    fn is_at_rest(&self) -> bool {
        self.searches.iter().all(SuspendedSearch::is_parked)
            && !self.mixed.is_due()
            && self.suspended.is_none()
            && self.deferred.is_none()
            && !self.awaited.is_pending()
    }

    pub(crate) fn state(&self) -> State {
        match &self.phase {
            Phase::Closing => State::Close,
            Phase::Queued(_) | Phase::Submitted(_) | Phase::Behind(_) | Phase::Hashing(_) => State::Waiting,
            Phase::Open | Phase::Admitted(_) if self.is_at_rest() => State::Idle,
            Phase::Open | Phase::Admitted(_) => State::Busy,
        }
    }
}
