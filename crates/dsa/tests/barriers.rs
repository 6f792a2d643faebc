//! Sessions of a directory whose log is replicated: what looks at the directory waits for a barrier first.

mod common;

use common::{
    Client, PASSWORD, ROOT_DN, START, attributes_of, bind, changes_of, codes, config, search_for, selection,
};
use dsa::barrier::Barrier;
use dsa::config::Config;
use dsa::journal::{Command, Journal, Metrics, Updates};
use dsa::parcel::Envelope;
use dsa::reads::WithoutQuorum;
use dsa::{Applier, Dsa, Session, State, Waking, Worker};
use model::{Filter, ResultCode, Scope};
use proto::Request;
use proto::control::{Control, Controls, dont_use_copy, read_age};
use proto::ext::cancel;
use proto::list::Attributes;
use proto::message::{Frame, frame};
use proto::op::modify::{Changes, Modify, ModifyKind};
use proto::op::{Add, ModifyDn};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// Keeps what is asked and submitted.
#[derive(Default)]
struct Kept {
    asked: Mutex<Vec<Arc<Barrier>>>,
    submitted: Mutex<Vec<Updates>>,
    /// When a lease ends.
    lease_ns: AtomicU64,
    /// What is submitted is not likely to be logged soon.
    is_late: AtomicBool,
}

impl Journal for Kept {
    fn submit(&self, updates: Updates) {
        self.submitted.lock().unwrap().push(updates);
    }

    fn times_wait(&self) {}

    fn barrier(&self) -> Option<Arc<Barrier>> {
        let barrier = Arc::<Barrier>::default();
        self.asked.lock().unwrap().push(Arc::clone(&barrier));
        Some(barrier)
    }

    fn holds_lease(&self, now_ns: u64) -> bool {
        now_ns < self.lease_ns.load(Ordering::Relaxed)
    }

    fn is_prompt(&self, _: u64) -> bool {
        !self.is_late.load(Ordering::Relaxed)
    }

    fn metrics(&self) -> Metrics {
        Metrics::default()
    }
}

struct Fixture {
    dsa: Arc<Dsa>,
    kept: Arc<Kept>,
    worker: Worker,
    session: Session,
    input: Vec<u8>,
    out: Vec<u8>,
}

impl Fixture {
    /// With a session that is bound as the root DN, at a directory with a few entries.
    fn new() -> Fixture {
        Fixture::with(config())
    }

    fn with(config: Config) -> Fixture {
        let dsa: Arc<Dsa> = Arc::clone(&Client::with(config).dsa);
        let kept = Arc::new(Kept::default());
        dsa.journal_to(Arc::clone(&kept) as Arc<dyn Journal>);
        dsa.await_barriers();
        let mut worker = Worker::new(&dsa).expect("there are few readers");
        worker.tick(START);
        let session = Session::new(&mut worker);
        let mut fixture = Fixture { dsa, kept, worker, session, input: Vec::new(), out: Vec::new() };
        fixture.send(&[(bind(ROOT_DN, PASSWORD), &[])]);
        assert_eq!(fixture.feed(), State::Waiting);
        fixture.answer(true);
        assert_eq!((fixture.poll(), fixture.feed()), (Some(State::Idle), State::Idle));
        assert_eq!(fixture.codes(), [ResultCode::Success]);
        fixture
    }

    fn send(&mut self, requests: &[(Request<'_>, &[Control<'_>])]) {
        for (id, (request, controls)) in (1..).zip(requests) {
            request.encode(&mut self.input, id, controls);
        }
    }

    fn feed(&mut self) -> State {
        let feed = self.session.feed(&mut self.worker, &self.input, &mut self.out);
        self.input.drain(..feed.consumed);
        feed.state
    }

    /// The state, unless it still waits.
    fn poll(&mut self) -> Option<State> {
        let cx = &mut Context::from_waker(Waker::noop());
        match self.session.poll_updates(&mut self.worker, cx, &mut self.out) {
            Poll::Ready(state) => Some(state),
            Poll::Pending => None,
        }
    }

    /// Answers the one barrier that was asked for.
    fn answer(&self, is_passed: bool) {
        let asked = std::mem::take(&mut *self.kept.asked.lock().unwrap());
        assert_eq!(asked.len(), 1, "one barrier for all");
        match is_passed {
            true => asked[0].pass(&mut Waking::default()),
            false => asked[0].fail(&mut Waking::default()),
        }
    }

    fn asked(&self) -> usize {
        self.kept.asked.lock().unwrap().len()
    }

    fn step(&mut self) -> State {
        self.session.step(&mut self.worker, &mut self.out)
    }

    /// Applies each submission, as the replica that leads does, or as one that its log brings it back to; how many there were.
    fn apply(&self, comes_back: bool) -> usize {
        let submitted = std::mem::take(&mut *self.kept.submitted.lock().unwrap());
        let count = submitted.len();
        let mut applier = Applier::new(&self.dsa).expect("there are few readers");
        for mut updates in submitted {
            assert!(updates.are_answered_by_log(), "only this server can answer the reads");
            let mut answers = updates.answers_buffer();
            let applied = match comes_back {
                false => applier.apply_updates(&mut updates, START.wall_ms, &mut answers),
                true => {
                    let sent = updates.forwarded().messages.to_vec();
                    let (wall_ms, actor) = (START.wall_ms, ROOT_DN.as_bytes());
                    let command =
                        Command { wall_ms, actor, ids: (&[]).into(), messages: &sent, is_transaction: false };
                    applier.apply_returned(&command, &Envelope::default(), &mut updates, &mut answers)
                }
            };
            applied.expect("it can be applied");
            updates.answer(answers, &mut Waking::default());
        }
        count
    }

    /// Applies updates of another client.
    fn apply_others(&self, requests: &[Request<'_>]) {
        let mut messages = Vec::new();
        requests.iter().for_each(|request| request.encode(&mut messages, 1, &[]));
        let (wall_ms, actor) = (START.wall_ms, ROOT_DN.as_bytes());
        let command =
            Command { wall_ms, actor, ids: (&[]).into(), messages: &messages, is_transaction: false };
        let (mut applier, mut answers) =
            (Applier::new(&self.dsa).expect("there are few readers"), Vec::new());
        applier.apply(&command, &mut answers).expect("it can be applied");
        assert_eq!(codes(&common::answers(&answers)), vec![ResultCode::Success; requests.len()]);
    }

    /// The session has sent an update before.
    fn has_written(&mut self) {
        self.send(&[(DELETE, &[])]);
        assert_eq!((self.feed(), self.refuse()), (State::Waiting, 1));
        assert_eq!((self.poll(), self.codes()), (Some(State::Idle), vec![ResultCode::Busy]));
    }

    /// What requests are answered whose updates are refused: the reads that waited with these ask for a barrier then, which is passed or not.
    fn codes_if_refused(
        &mut self,
        requests: &[(Request<'_>, &[Control<'_>])],
        is_passed: bool,
    ) -> Vec<ResultCode> {
        self.send(requests);
        assert_eq!((self.feed(), self.asked(), self.refuse()), (State::Waiting, 0, 1));
        assert_eq!((self.poll(), self.step(), self.asked()), (Some(State::Busy), State::Waiting, 1));
        self.answer(is_passed);
        assert_eq!((self.poll(), self.step()), (Some(State::Busy), State::Idle));
        self.codes()
    }

    /// Says of each submission that it was refused; how many there were.
    fn refuse(&self) -> usize {
        let submitted = std::mem::take(&mut *self.kept.submitted.lock().unwrap());
        let count = submitted.len();
        submitted.into_iter().for_each(|updates| updates.refuse(ResultCode::Busy, "not today"));
        count
    }

    fn codes(&mut self) -> Vec<ResultCode> {
        codes(&common::answers(&std::mem::take(&mut self.out)))
    }
}

const DELETE: Request<'static> = Request::Delete(b"cn=nobody,dc=example");

fn base<'a>(selection: &'a [u8]) -> Request<'a> {
    // No entry is like that, so all that is answered is the end.
    Request::Search(search_for("dc=example", Scope::Base, Filter::Present(b"uid"), selection))
}

#[test]
fn reads_wait_with_their_input_untouched_and_one_barrier_is_for_all() {
    let (mut fixture, all) = (Fixture::new(), selection(&["1.1"]));
    fixture.send(&[(base(&all), &[]), (base(&all), &[]), (DELETE, &[])]);
    let len = fixture.input.len();
    assert_eq!((fixture.feed(), fixture.input.len(), fixture.asked()), (State::Waiting, len, 1));
    assert_eq!((fixture.poll(), fixture.feed()), (None, State::Waiting));
    fixture.answer(true);
    // What came later is not behind it.
    fixture.send(&[(base(&all), &[])]);
    assert_eq!(fixture.poll(), Some(State::Idle));
    assert_eq!(fixture.feed(), State::Waiting);
    assert_eq!((fixture.refuse(), fixture.codes()), (1, vec![ResultCode::Success; 2]));
    assert_eq!((fixture.poll(), fixture.codes()), (Some(State::Idle), vec![ResultCode::Busy]));
    assert_eq!((fixture.feed(), fixture.asked()), (State::Waiting, 1));
    fixture.answer(true);
    assert_eq!((fixture.poll(), fixture.feed()), (Some(State::Idle), State::Idle));
    assert_eq!((fixture.codes(), fixture.input.len()), (vec![ResultCode::Success], 0));
}

#[test]
fn plain_updates_wait_for_none_and_reads_behind_them_wait_with_them() {
    let (mut fixture, all) = (Fixture::new(), selection(&["1.1"]));
    let (success, missing, busy) = (ResultCode::Success, ResultCode::NoSuchObject, ResultCode::Busy);
    let requests = [(DELETE, &[][..]), (base(&all), &[]), (DELETE, &[]), (DELETE, &[]), (base(&all), &[])];
    for comes_back in [false, true] {
        fixture.send(&requests);
        assert_eq!((fixture.feed(), fixture.asked()), (State::Waiting, 0));
        assert_eq!(fixture.apply(comes_back), 1, "all go to the log together");
        assert_eq!((fixture.poll(), fixture.step(), fixture.asked()), (Some(State::Busy), State::Idle, 0));
        assert_eq!(fixture.codes(), [missing, success, missing, missing, success]);
    }
    // What is here may be old if they are refused.
    for (is_passed, code) in [(true, success), (false, busy)] {
        assert_eq!(fixture.codes_if_refused(&requests, is_passed), [busy, code, busy, busy, code]);
    }
    // What is answered at once is nothing to wait with.
    // A modify whose change is of a kind that does not exist.
    fixture.input.extend(b"\x30\x15\x02\x01\x09\x66\x10\x04\x04cn=a\x30\x08\x30\x06\x0a\x01\x09\x30\x01\x00");
    fixture.send(&[(base(&all), &[])]);
    assert_eq!((fixture.feed(), fixture.asked(), fixture.refuse()), (State::Waiting, 1, 0));
    fixture.answer(true);
    assert_eq!((fixture.poll(), fixture.feed()), (Some(State::Idle), State::Idle));
    assert_eq!(fixture.codes(), [ResultCode::ProtocolError, success]);
    // With a control it is more than an update.
    let control = Control { oid: b"1.2.3", critical: false, value: None };
    fixture.send(&[(DELETE, &[control])]);
    assert_eq!((fixture.feed(), fixture.asked(), fixture.refuse()), (State::Waiting, 1, 0));
}

#[test]
fn reads_in_front_of_plain_updates_wait_with_them() {
    let (mut fixture, all) = (Fixture::new(), selection(&["1.1"]));
    let (success, missing, busy) = (ResultCode::Success, ResultCode::NoSuchObject, ResultCode::Busy);
    fixture.has_written();
    let requests =
        [(base(&all), &[][..]), (base(&all), &[]), (DELETE, &[]), (base(&all), &[]), (DELETE, &[])];
    for comes_back in [false, true] {
        fixture.send(&requests);
        assert_eq!((fixture.feed(), fixture.asked(), fixture.input.len()), (State::Waiting, 0, 0));
        assert_eq!(fixture.codes(), [], "answers keep their order");
        assert_eq!(fixture.apply(comes_back), 1, "all go to the log together");
        assert_eq!((fixture.poll(), fixture.step(), fixture.asked()), (Some(State::Busy), State::Idle, 0));
        assert_eq!(fixture.codes(), [success, success, missing, success, missing]);
        // An update that needs a closer look.
        let rename =
            ModifyDn { dn: b"cn=a,dc=example", new_rdn: b"cn=b", delete_old_rdn: true, new_superior: None };
        fixture.send(&[(base(&all), &[]), (Request::ModifyDn(rename), &[])]);
        assert_eq!((fixture.feed(), fixture.asked(), fixture.apply(comes_back)), (State::Waiting, 0, 1));
        assert_eq!((fixture.poll(), fixture.step()), (Some(State::Busy), State::Idle));
        assert_eq!(fixture.codes(), [success, missing]);
    }
    // What is here may be old if they are refused.
    for (is_passed, code) in [(true, success), (false, busy)] {
        assert_eq!(fixture.codes_if_refused(&requests, is_passed), [code, code, busy, code, busy]);
    }
}

#[test]
fn what_waits_in_front_of_an_update_sees_nothing_of_it() {
    let (mut fixture, all) = (Fixture::new(), selection(&["1.1"]));
    fixture.has_written();
    let add = attributes_of(&[("objectClass", &["person"]), ("cn", &["a"]), ("sn", &["a"])]);
    let add = Add { dn: b"cn=a,dc=example", attributes: Attributes::parse(&add).unwrap() };
    let find = search_for("cn=a,dc=example", Scope::Base, Filter::Present(b"uid"), &all);
    let (add, find) = ((Request::Add(add), &[][..]), (Request::Search(find), &[][..]));
    let delete = (Request::Delete(b"cn=a,dc=example"), &[][..]);
    let (success, missing) = (ResultCode::Success, ResultCode::NoSuchObject);
    for comes_back in [false, true] {
        fixture.send(&[find.clone(), add.clone(), find.clone(), delete.clone(), find.clone()]);
        assert_eq!((fixture.feed(), fixture.asked(), fixture.apply(comes_back)), (State::Waiting, 0, 1));
        while fixture.poll() == Some(State::Busy) {
            fixture.step();
        }
        assert_eq!(fixture.codes(), [missing, success, success, success, missing]);
    }
    // Nor of those in front of it what is applied behind them.
    fixture.send(&[find.clone(), delete.clone()]);
    assert_eq!((fixture.feed(), fixture.asked()), (State::Waiting, 0));
    fixture.apply_others(std::slice::from_ref(&add.0));
    assert_eq!(fixture.apply(false), 1);
    fixture.apply_others(&[add.0]);
    assert_eq!((fixture.poll(), fixture.step()), (Some(State::Busy), State::Idle));
    assert_eq!(fixture.codes(), [success, success]);
}

#[test]
fn reads_in_front_of_what_is_not_certain_to_be_logged_wait_for_a_barrier() {
    let (mut fixture, all) = (Fixture::new(), selection(&["1.1", "numSubordinates"]));
    fixture.has_written();
    let (success, protocol) = (ResultCode::Success, ResultCode::ProtocolError);
    // A modify whose change is of a kind that does not exist: it is answered at once.
    fixture.send(&[(base(&all), &[])]);
    fixture.input.extend(b"\x30\x15\x02\x01\x09\x66\x10\x04\x04cn=a\x30\x08\x30\x06\x0a\x01\x09\x30\x01\x00");
    assert_eq!((fixture.feed(), fixture.asked(), fixture.refuse()), (State::Waiting, 1, 0));
    assert_eq!(fixture.codes(), [], "answers keep their order");
    fixture.answer(true);
    assert_eq!((fixture.poll(), fixture.feed()), (Some(State::Idle), State::Idle));
    assert_eq!(fixture.codes(), [success, protocol]);
    let control = |oid| Control { oid, critical: false, value: None };
    let (other, queue) = ([control(b"1.2.3")], [control(b"1.2.4")]);
    let password = changes_of(&[(ModifyKind::Replace, "userPassword", &["word"])]);
    let changes = Changes::parse(&password).unwrap();
    let password = Request::Modify(Modify { dn: b"cn=a,dc=example", changes });
    let who_am_i = Request::Extended(proto::op::Extended { oid: proto::ext::who_am_i::OID, value: None });
    let monitor = Request::Search(search_for("cn=monitor", Scope::Base, Filter::Present(b"uid"), &all));
    for requests in [
        // Counts are those of the writer.
        vec![(base(&all), &[][..]), (DELETE, &[])],
        // What needs a barrier itself.
        vec![(base(b""), &[]), (DELETE, &other)],
        vec![(base(b""), &[]), (password, &[])],
        // What is no read of the directory, or may say something of the session.
        vec![(base(b""), &[]), (who_am_i, &[]), (DELETE, &[])],
        vec![(base(b""), &queue), (DELETE, &[])],
        vec![(monitor, &[]), (DELETE, &[])],
        // Too many.
        [vec![(base(b""), &[][..]); 1_000], vec![(DELETE, &[])]].concat(),
        // None follows.
        vec![(base(b""), &[]), (base(b""), &[])],
    ] {
        fixture.send(&requests);
        let len = fixture.input.len();
        assert_eq!((fixture.feed(), fixture.asked(), fixture.input.len()), (State::Waiting, 1, len));
        fixture.answer(false);
        assert_eq!((fixture.poll(), fixture.feed()), (Some(State::Idle), State::Idle));
        assert_eq!(fixture.codes(), vec![ResultCode::Busy; requests.len()]);
    }
    // Nobody knows of a majority, or updates wait for a leader.
    for is_late in [true, false] {
        fixture.kept.is_late.store(is_late, Ordering::Relaxed);
        fixture.send(&[(base(b""), &[]), (DELETE, &[])]);
        assert_eq!((fixture.feed(), fixture.asked()), (State::Waiting, usize::from(is_late)));
        if is_late {
            fixture.answer(false);
            assert_eq!((fixture.poll(), fixture.feed()), (Some(State::Idle), State::Idle));
        }
    }
    // Where reads are answered without a majority, updates are not.
    let mut config = config();
    config.settings.configured.reads.without_quorum = WithoutQuorum::Read;
    let mut fixture = Fixture::with(config);
    fixture.has_written();
    fixture.send(&[(base(b""), &[]), (DELETE, &[])]);
    assert_eq!((fixture.feed(), fixture.asked()), (State::Waiting, 1));
}

#[test]
fn what_brings_a_password_waits_for_the_policies_that_others_may_have_made() {
    let mut fixture = Fixture::new();
    for (name, value, waits) in [
        ("userPassword", "word", true),
        ("2.5.4.35", "{SHA}x", true),
        ("USERPASSWORD;x-old", "{SHA}x", true),
        ("pwdMinAge", "1", true),
        ("sn", "a", false),
    ] {
        let add = attributes_of(&[("objectClass", &["person"]), ("cn", &["a"]), (name, &[value])]);
        let replace = ModifyKind::Replace;
        let changes = changes_of(&[(replace, "cn", &["a"]), (replace, name, &[value])]);
        let (attributes, changes) = (Attributes::parse(&add).unwrap(), Changes::parse(&changes).unwrap());
        let dn = b"cn=a,dc=example";
        for request in [Request::Add(Add { dn, attributes }), Request::Modify(Modify { dn, changes })] {
            fixture.send(&[(request, &[])]);
            assert_eq!((fixture.feed(), fixture.asked()), (State::Waiting, usize::from(waits)), "{name}");
            // Nobody answers, or the leader refuses it.
            if waits {
                fixture.answer(false);
            }
            assert_eq!(fixture.refuse(), usize::from(!waits));
            assert_eq!((fixture.poll(), fixture.feed()), (Some(State::Idle), State::Idle));
            assert_eq!(fixture.codes(), [ResultCode::Busy]);
        }
    }
}

#[test]
fn an_update_between_reads_ends_what_a_barrier_is_good_for() {
    let (mut fixture, all) = (Fixture::new(), selection(&["1.1"]));
    fixture.send(&[(base(&all), &[]), (DELETE, &[]), (base(&all), &[])]);
    assert_eq!(fixture.feed(), State::Waiting);
    fixture.answer(true);
    assert_eq!((fixture.poll(), fixture.feed()), (Some(State::Idle), State::Waiting));
    // It came too late to wait with the update.
    fixture.send(&[(base(&all), &[])]);
    assert_eq!((fixture.apply(false), fixture.asked()), (1, 0));
    assert_eq!((fixture.poll(), fixture.step()), (Some(State::Busy), State::Idle));
    assert_eq!((fixture.feed(), fixture.asked()), (State::Waiting, 1));
}

#[test]
fn without_a_barrier_each_request_is_answered_busy() {
    let (mut fixture, all) = (Fixture::new(), selection(&["1.1"]));
    fixture.send(&[(base(&all), &[]), (DELETE, &[]), (bind(ROOT_DN, PASSWORD), &[])]);
    assert_eq!(fixture.feed(), State::Waiting);
    fixture.answer(false);
    assert_eq!((fixture.poll(), fixture.feed()), (Some(State::Idle), State::Idle));
    assert_eq!((fixture.codes(), fixture.refuse(), fixture.input.len()), (vec![ResultCode::Busy; 3], 0, 0));
    assert!(!fixture.session.is_bound(), "a bind that failed leaves nobody");
    // Who is nobody knows by the directory alone what it may do.
    fixture.send(&[(DELETE, &[])]);
    assert_eq!((fixture.feed(), fixture.asked()), (State::Waiting, 1));
}

#[test]
fn who_leaves_or_abandons_waits_for_nothing() {
    let (mut fixture, all) = (Fixture::new(), selection(&["1.1"]));
    fixture.send(&[(Request::Abandon(7), &[]), (Request::Unbind, &[]), (base(&all), &[])]);
    assert_eq!((fixture.feed(), fixture.asked(), fixture.codes()), (State::Close, 0, Vec::new()));
    let mut fixture = Fixture::new();
    fixture.send(&[(base(&all), &[]), (Request::Unbind, &[])]);
    assert_eq!(fixture.feed(), State::Waiting);
    fixture.answer(false);
    assert_eq!((fixture.poll(), fixture.feed()), (Some(State::Idle), State::Close));
    assert_eq!(fixture.codes(), [ResultCode::Busy]);
}

#[test]
fn by_a_lease_all_of_the_input_runs_at_once() {
    let (mut fixture, all) = (Fixture::new(), selection(&["1.1"]));
    fixture.kept.lease_ns.store(START.monotonic_ns + 1, Ordering::Relaxed);
    fixture.send(&[(base(&all), &[]), (bind(ROOT_DN, PASSWORD), &[]), (base(&all), &[])]);
    assert_eq!((fixture.feed(), fixture.asked()), (State::Idle, 0));
    assert_eq!(fixture.codes(), [ResultCode::Success; 3]);
    fixture.kept.lease_ns.store(START.monotonic_ns, Ordering::Relaxed);
    fixture.send(&[(base(&all), &[])]);
    assert_eq!((fixture.feed(), fixture.asked()), (State::Waiting, 1));
    // What it has asked for it waits for.
    fixture.kept.lease_ns.store(u64::MAX, Ordering::Relaxed);
    assert_eq!(fixture.feed(), State::Waiting);
    fixture.answer(true);
    assert_eq!((fixture.poll(), fixture.feed(), fixture.codes().len()), (Some(State::Idle), State::Idle, 1));
}

#[test]
fn where_nobody_answers_what_is_here_is_read_with_its_age_and_nothing_is_changed() {
    let (mut fixture, all) = (Fixture::new(), selection(&["1.1"]));
    let who_am_i = Request::Extended(proto::op::Extended { oid: proto::ext::who_am_i::OID, value: None });
    let requests = [base(&all), DELETE, bind(ROOT_DN, PASSWORD), who_am_i];
    for age in [Some(1_200), None] {
        fixture.send(&requests.clone().map(|request| (request, &[][..])));
        assert_eq!(fixture.feed(), State::Waiting);
        let asked = std::mem::take(&mut *fixture.kept.asked.lock().unwrap());
        asked[0].pass_without(age, &mut Waking::default());
        assert_eq!((fixture.poll(), fixture.feed(), fixture.refuse()), (Some(State::Idle), State::Idle, 0));
        assert_eq!(ages(&fixture.out), [Some(age), None, Some(age), Some(age)]);
        let (success, busy) = (ResultCode::Success, ResultCode::Busy);
        assert_eq!(fixture.codes(), [success, busy, success, success]);
        assert!(fixture.session.is_bound());
    }
    fixture.send(&[(base(&all), &[])]);
    assert_eq!(fixture.feed(), State::Waiting);
    fixture.answer(true);
    assert_eq!((fixture.poll(), fixture.feed()), (Some(State::Idle), State::Idle));
    assert_eq!(ages(&fixture.out), [None], "it is current again");
}

/// RFC 6171 section 3: "the requested operation MUST be performed on original information", or there is an error.
#[test]
fn rfc6171_s3_what_may_be_old_is_no_answer_to_who_wants_the_original() {
    let (mut fixture, all) = (Fixture::new(), selection(&["1.1"]));
    let original = [dont_use_copy::control()];
    for answer in [Some(false), None, Some(true)] {
        fixture.send(&[(base(&all), &original[..]), (base(&all), &[])]);
        assert_eq!(fixture.feed(), State::Waiting);
        match answer {
            Some(is_passed) => fixture.answer(is_passed),
            None => {
                let asked = std::mem::take(&mut *fixture.kept.asked.lock().unwrap());
                asked[0].pass_without(None, &mut Waking::default());
            }
        }
        assert_eq!((fixture.poll(), fixture.feed()), (Some(State::Idle), State::Idle));
        let (success, busy) = (ResultCode::Success, ResultCode::Busy);
        let expected = match answer {
            Some(true) => [success, success],
            Some(false) => [busy, busy],
            None => [busy, success],
        };
        assert_eq!(fixture.codes(), expected, "{answer:?}");
    }
}

/// It looks at the session and not at the directory.
#[test]
fn a_cancel_needs_no_barrier() {
    let mut fixture = Fixture::new();
    let value = cancel::encode(7);
    let request = Request::Extended(proto::op::Extended { oid: cancel::OID, value: Some(&value) });
    fixture.send(&[(request.clone(), &[])]);
    assert_eq!((fixture.feed(), fixture.asked()), (State::Idle, 0));
    assert_eq!(fixture.codes(), [ResultCode::NoSuchOperation]);
    // Also behind what is refused for want of a majority.
    let all = selection(&["1.1"]);
    fixture.send(&[(base(&all), &[]), (request, &[])]);
    assert_eq!(fixture.feed(), State::Waiting);
    fixture.answer(false);
    assert_eq!((fixture.poll(), fixture.feed()), (Some(State::Idle), State::Idle));
    assert_eq!(fixture.codes(), [ResultCode::Busy, ResultCode::NoSuchOperation]);
}

/// What each message says of its age, if it says something.
fn ages(mut out: &[u8]) -> Vec<Option<Option<u64>>> {
    let mut ages = Vec::new();
    while let Ok(Frame::Complete { len }) = frame(out) {
        let control = Controls::of(&out[..len]).find(read_age::OID);
        ages.push(control.map(|control| control.value.map(|value| read_age::decode(value).unwrap())));
        out = &out[len..];
    }
    ages
}
