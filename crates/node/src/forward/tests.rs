use super::*;
use crate::test_updates;
use bytes::Bytes;
use dsa::journal::Returns;
use std::sync::{Arc, Mutex};

const OWN: ReplicaId = ReplicaId(1);
const FIRST: Leader = Some((ReplicaId(2), 5));

/// Messages, each with the server at the other end.
type Messages<T> = Arc<Mutex<VecDeque<(ReplicaId, T)>>>;

/// What goes over the links of a server, and comes.
#[derive(Clone, Default)]
struct Wire {
    sent: Messages<Vec<u8>>,
    coming: Messages<Bytes>,
}

impl Links for Wire {
    fn send(&mut self, to: ReplicaId, message: Vec<u8>) {
        self.sent.lock().unwrap().push_back((to, message));
    }

    fn receive(&mut self) -> Option<(ReplicaId, Bytes)> {
        self.coming.lock().unwrap().pop_front()
    }
}

/// A server that has an update of a client.
struct Fixture {
    forward: Forward,
    wire: Wire,
    returns: Returns,
}

impl Fixture {
    fn new() -> Fixture {
        let wire = Wire::default();
        let forward = Forward::new(OWN, Box::new(wire.clone()), 7, false);
        Fixture { forward, wire, returns: Returns::default() }
    }

    fn update(&self) -> Updates {
        test_updates::delete(&self.returns)
    }

    /// The servers that get it in this step, and in which term, and as which try.
    fn step(&mut self, leader: Leader, now_ms: u64) -> Vec<(u64, u64, Name)> {
        self.forward.step(leader, 0, now_ms);
        let sent = std::mem::take(&mut *self.wire.sent.lock().unwrap());
        let of = |(to, message): (ReplicaId, Vec<u8>)| match Message::decode(&message) {
            Ok(Message::Updates { name, term, .. }) => (to.0, term, name),
            other => panic!("it sends {other:?}"),
        };
        sent.into_iter().map(of).collect()
    }

    /// Another server says what became of a try.
    fn receive(&mut self, from: u64, name: Name, outcome: Outcome<'_>, now_ms: u64) {
        let message = Message::Outcome { name, index: 0, leader: 0, outcome }.encode().unwrap();
        self.wire.coming.lock().unwrap().push_back((ReplicaId(from), message.into()));
        self.forward.receive(None, None, &mut VecDeque::new(), &AccountTimes::default(), now_ms);
    }

    /// The code and the text with which it was refused.
    fn refusal(&self) -> Option<(u32, String)> {
        test_updates::refusals(&self.returns).pop()
    }
}

#[test]
fn what_a_server_did_not_propose_goes_to_the_next_leader_at_once() {
    for outcome in [Outcome::NotProposed, Outcome::NotLeader] {
        let mut fixture = Fixture::new();
        let update = fixture.update();
        fixture.forward.await_leader(update, 0, 0);
        assert_eq!(fixture.step(None, 0), []);
        let [(2, 5, name)] = fixture.step(FIRST, 10)[..] else { panic!("it is sent") };
        fixture.receive(2, name, outcome, 20);
        assert_eq!(fixture.step(FIRST, 21), [], "that server is not asked again at once");
        let [(3, 6, next)] = fixture.step(Some((ReplicaId(3), 6)), 22)[..] else { panic!("another one is") };
        assert!(next.number > name.number && fixture.refusal().is_none());
    }
}

#[test]
fn what_the_leader_does_not_take_within_three_seconds_is_busy() {
    let mut fixture = Fixture::new();
    let update = fixture.update();
    fixture.forward.await_leader(update, 0, 0);
    let mut now_ms = 0;
    while fixture.forward.counts() != [0, 0] {
        if let [(2, 5, name)] = fixture.step(FIRST, now_ms)[..] {
            fixture.receive(2, name, Outcome::NotProposed, now_ms);
        }
        now_ms += 10;
    }
    assert!((LEADERLESS_MS..LEADERLESS_MS + 50).contains(&now_ms));
    let text = "the server that leads the cluster has too many updates: nothing was changed; try again";
    assert_eq!(fixture.refusal(), Some((51, text.to_owned())));
}

#[test]
fn what_there_is_no_room_for_is_busy_at_once() {
    let mut fixture = Fixture::new();
    let (first, second) = (fixture.update(), fixture.update());
    let bytes = first.bytes();
    assert_eq!(fixture.forward.await_leader(first, BYTES_MAX - bytes, 0), bytes);
    assert_eq!(fixture.forward.await_leader(second, BYTES_MAX - bytes + 1, 0), 0);
    let text = "too many updates wait for the server that leads the cluster: nothing was changed";
    assert_eq!(fixture.refusal(), Some((51, text.to_owned())));
    assert_eq!(fixture.forward.counts(), [1, 0]);
}

/// A server numbers what it sends from one on in each of its runs, and the leader may answer what an earlier one has sent.
#[test]
fn each_session_gets_what_became_of_its_own_updates() {
    let mut fixture = Fixture::new();
    for number in [1, 2, 3] {
        let update = test_updates::delete_of(number, &fixture.returns);
        fixture.forward.await_leader(update, 0, 0);
    }
    let names: Vec<Name> = fixture.step(FIRST, 0).into_iter().map(|(_, _, name)| name).collect();
    let [first, second, third] = names[..] else { panic!("each is sent") };
    // What an earlier run has sent under the same number, and then another server.
    for run in [first.run - 1, 3 << RUN_BITS] {
        fixture.receive(2, Name { run, ..first }, Outcome::Applied(b"another's"), 10);
        fixture.receive(2, Name { run, ..second }, Outcome::Refused(b"another's"), 10);
        fixture.receive(2, Name { run, ..third }, Outcome::NotProposed, 10);
        assert!(fixture.forward.take_logged(Some(Front { node: run, number: second.number })).is_none());
    }
    // Nor does a server answer for the one that has got them.
    fixture.receive(3, first, Outcome::Applied(b"another's"), 20);
    assert_eq!((fixture.returns.take(), fixture.forward.counts()), (vec![], [0, 3]));
    fixture.receive(2, second, Outcome::Applied(b"second"), 30);
    fixture.receive(2, first, Outcome::Refused(b"first"), 30);
    let logged = fixture.forward.take_logged(Some(Front { node: third.run, number: third.number }));
    logged.expect("the log brings it").answer(b"third".to_vec(), &mut Waking::default());
    let of = |(front, outcome): (Front, journal::Outcome)| match outcome {
        journal::Outcome::Applied(answer) | journal::Outcome::Refused(answer) => (front.number, answer),
        journal::Outcome::NotProposed => panic!("it is answered"),
    };
    let answered: Vec<(u64, Vec<u8>)> = fixture.returns.take().into_iter().map(of).collect();
    assert_eq!(answered, [(2, b"second".to_vec()), (1, b"first".to_vec()), (3, b"third".to_vec())]);
}
