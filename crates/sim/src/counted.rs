//! What clients of a server write whose disk is recorded, and what must be found of it after a power loss.
//!
//! Each client counts its bundles in an entry of its own: `17 4 9` says that it is its 17th, and that clients 0 and 1 had
//! been answered by then for their 4th and 9th. What is recovered later must hold them, whatever the power left.

use crate::recorder::{Event, Recorder};
use crate::requests::{Bundle, COUNTER, SUFFIX, Sent, counter_dn};
use crate::view::View;
use dsa::{Dsa, Session, State, Worker};
use env::clock::{Clock as _, SystemClock};
use env::task;
use model::ResultCode;
use proto::Reply;
use proto::message::{Frame, frame};
use proto::op::ModifyKind;
use std::collections::BTreeSet;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why a bundle was not answered with success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It has changed nothing.
    Busy,
    /// It may be in the directory, or get there.
    Unknown(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Busy => f.write_str("an update was answered busy"),
            Failure::Unknown(what) => f.write_str(what),
        }
    }
}

/// A client on a thread of its own.
pub struct Client {
    worker: Worker,
    session: Session,
}

impl Client {
    /// A session, which is bound.
    ///
    /// # Errors
    /// The bind was not answered with success.
    ///
    /// # Panics
    /// When there are too many sessions.
    pub fn connect(dsa: &Arc<Dsa>) -> Result<Client, Failure> {
        let mut worker = Worker::new(dsa).expect("there are few readers");
        let session = Session::new(&mut worker);
        let mut client = Client { worker, session };
        let mut bind = Bundle::default();
        bind.bind();
        client.send(&bind)?;
        Ok(client)
    }

    /// Sends requests and waits for all answers.
    ///
    /// # Errors
    /// One of them says something else than success, or the session has ended.
    pub fn send(&mut self, bundle: &Bundle) -> Result<(), Failure> {
        let codes = self.results(bundle)?;
        let are_all = |code| codes.iter().all(|other| *other == code);
        match (are_all(ResultCode::Success), are_all(ResultCode::Busy)) {
            (true, _) => Ok(()),
            (false, true) => Err(Failure::Busy),
            (false, false) => Err(Failure::Unknown(format!("updates were answered {codes:?}"))),
        }
    }

    /// Sends requests, of which each has one answer, and waits for all of them. Returns what they say.
    ///
    /// # Errors
    /// The session has ended, or there are fewer answers or others.
    pub fn results(&mut self, bundle: &Bundle) -> Result<Vec<ResultCode>, Failure> {
        let unknown = |what: String| Failure::Unknown(what);
        let mut answers = Vec::new();
        self.worker.tick(SystemClock::start().now());
        let Client { worker, session } = self;
        let mut rest = &bundle.bytes[..];
        loop {
            let feed = session.feed(worker, rest, &mut answers);
            rest = &rest[feed.consumed..];
            match feed.state {
                State::Waiting => {}
                State::Idle if rest.is_empty() => break,
                other => return Err(unknown(format!("the session is {other:?}"))),
            }
            // For the log, or for what a bind may read.
            let waited = task::block_on(poll_fn(|cx| session.poll_updates(worker, cx, &mut answers)));
            waited.map_err(|error| unknown(error.to_string()))?;
        }
        let mut codes = Vec::new();
        let mut rest = &answers[..];
        while let Ok(Frame::Complete { len }) = frame(rest) {
            let reply = Reply::decode(&rest[..len]).map_err(|error| unknown(format!("{error:?}")))?;
            codes.extend(reply.result().and_then(|result| result.result_code()));
            rest = &rest[len..];
        }
        let asked = bundle.sent.len();
        (codes.len() == asked)
            .then_some(codes)
            .ok_or_else(|| unknown(format!("{asked} requests have other answers: {answers:x?}")))
    }

    /// Sends the bundle of a counter that has this number, and has the record say when it was sent and when it was answered. After
    /// [`Failure::Busy`] the number must not be used again, for [`look`] takes it for a fault if it is there.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub fn count(
        &mut self,
        (counter, number): (usize, u64),
        recorder: &Recorder,
        acknowledged: &[AtomicU64],
    ) -> Result<(), Failure> {
        let known: Vec<u64> = acknowledged.iter().map(|other| other.load(Ordering::SeqCst)).collect();
        let bundle = bundle(counter, number, &known);
        recorder.note(Event::Sent(counter, number));
        let sent = self.send(&bundle);
        if sent == Err(Failure::Busy) {
            recorder.note(Event::Refused(counter, number));
        }
        sent?;
        recorder.note(Event::Acknowledged(counter, number));
        acknowledged[counter].store(number, Ordering::SeqCst);
        Ok(())
    }
}

/// The bundle of a counter that has this number, if so much of all counters is known to be acknowledged.
pub fn bundle(counter: usize, number: u64, known: &[u64]) -> Bundle {
    let mut bundle = Bundle::default();
    let filler = "x".repeat(500 + (number as usize * 97 + counter * 31) % 1500);
    bundle.modify(SUFFIX, ModifyKind::Replace, "description", &[&filler], Sent::Other);
    let texts: Vec<String> = [number].iter().chain(known).map(u64::to_string).collect();
    bundle.modify(&counter_dn(counter), ModifyKind::Replace, COUNTER, &[&texts.join(" ")], Sent::Other);
    bundle
}

/// What was sent of a counter, what was acknowledged, and what was answered busy.
#[derive(Clone, Debug, Default)]
pub struct Known {
    sent: u64,
    acknowledged: u64,
    refused: BTreeSet<u64>,
}

impl Known {
    /// Of a counter whose last bundle has this number, and was acknowledged.
    pub fn acknowledged(number: u64) -> Known {
        Known { sent: number, acknowledged: number, refused: BTreeSet::new() }
    }
}

/// The same of each of `counters` counters, up to the end of a record.
pub fn known(events: &[Event], counters: usize) -> Vec<Known> {
    let mut known = vec![Known::default(); counters];
    for event in events {
        match event {
            Event::Sent(counter, number) => known[*counter].sent = *number,
            Event::Acknowledged(counter, number) => known[*counter].acknowledged = *number,
            Event::Refused(counter, number) => _ = known[*counter].refused.insert(*number),
            _ => {}
        }
    }
    known
}

/// What [`look`] says of a bundle that is not there.
pub const LOST: &str = "was acknowledged and is not there";

/// Is there what was acknowledged, nothing that was not sent or was answered busy, and no change without an earlier one? Returns the sum of all
/// counters, which is another one when there is one bundle more.
///
/// # Errors
/// In words: what does not hold.
pub fn look(view: &View, known: &[Known]) -> Result<u64, String> {
    let counters: Vec<Vec<u64>> = (0..known.len()).map(|number| counter(view, number)).collect();
    for (number, (counter, known)) in counters.iter().zip(known).enumerate() {
        let found = counter[0];
        let Known { sent, acknowledged, refused } = known;
        if found < *acknowledged {
            return Err(format!("bundle {acknowledged} of client {number} {LOST}: {found} is"));
        }
        if found > *sent {
            return Err(format!(
                "bundle {found} of client {number} is there and was never sent: {sent} was the last"
            ));
        }
        if refused.contains(&found) {
            return Err(format!("bundle {found} of client {number} is there and was answered busy"));
        }
        let earlier = counter[1..].iter().zip(&counters).position(|(seen, other)| other[0] < *seen);
        if let Some(other) = earlier {
            return Err(format!("{counter:?} of client {number} is there without what client {other} had"));
        }
    }
    Ok(counters.iter().map(|counter| counter[0]).sum())
}

/// A counter, and what had been acknowledged of the others when it was sent; only a 0 in the beginning.
fn counter(view: &View, number: usize) -> Vec<u64> {
    let text = view.entries.get(&counter_dn(number)).and_then(|entry| entry.get(COUNTER)?.first());
    let numbers = text.map_or("0", |text| text).split(' ').map(|number| number.parse().unwrap_or(u64::MAX));
    numbers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a directory in which the only counter has this value.
    fn said_of(value: &str, events: &[Event]) -> Result<u64, String> {
        let mut view = View::default();
        let attributes = [(COUNTER.to_owned(), vec![value.to_owned()])];
        view.entries.insert(counter_dn(0), attributes.into_iter().collect());
        look(&view, &known(events, 1))
    }

    #[test]
    fn what_is_found_is_compared_with_what_was_answered() {
        let events = [
            Event::Sent(0, 1),
            Event::Acknowledged(0, 1),
            Event::Sent(0, 2),
            Event::Refused(0, 2),
            Event::Sent(0, 3),
        ];
        assert_eq!(said_of("1 0", &events), Ok(1));
        assert_eq!(said_of("3 1", &events), Ok(3));
        for (value, text) in [("0", LOST), ("2 1", "was answered busy"), ("4 1", "was never sent")] {
            let said = said_of(value, &events).unwrap_err();
            assert!(said.contains(text), "{value}: {said}");
        }
        assert!(said_of("1 2", &events).unwrap_err().contains("is there without"));
    }
}
