//! One connection: its queue of requests in progress and the check of their answers.

use super::Workload;
use super::answer::{Answer, Expected, Fault, parse};
use super::report::{Faults, Recorder};
use super::request::{ID_FIRST, IDS, Operation, Templates};
use super::transaction::{Bound, Step, Transactions};
use crate::random::Random;
use crate::socket::Socket;
use crate::wire::{Span, message};
use env::poll::{Connection, Interest, Poller};
use proto::tag;

/// Bytes of the longest answer that is understood.
pub(super) const ANSWER_MAX: usize = 1 << 20;

/// A whole UnbindRequest (RFC 4511 section 4.3). Its id is that of no other request.
const UNBIND: [u8; 7] = [tag::SEQUENCE, 5, tag::INTEGER, 1, 2, tag::UNBIND, 0];

/// A place in the queue.
#[derive(Clone, Copy, Debug)]
struct Slot {
    key: u64,
    sent_ns: u64,
    id: u32,
    operation: Operation,
    active: bool,
    entry_seen: bool,
}

const FREE: Slot =
    Slot { key: 0, sent_ns: 0, id: 0, operation: Operation::Search, active: false, entry_seen: false };

/// A connection with its queue.
pub(super) struct Client {
    pub(super) socket: Socket,
    slots: Vec<Slot>,
    /// Slots answered since requests were last written.
    free: Vec<u32>,
    mask: u32,
    /// Counts requests of all slots; with the slot it makes the message id.
    round: u32,
    pub(super) active: usize,
    /// When the next burst is due, with a rate.
    pub(super) due_ns: u64,
    /// The beginning of an answer whose end has not come yet.
    pub(super) rest: Vec<u8>,
    pub(super) closed: bool,
    transactions: Option<Transactions>,
}

impl Client {
    pub(super) fn new(connection: Connection, token: u64, queue: usize, workload: Workload) -> Client {
        // The start and the end of a transaction have places of their own.
        let places = queue + Bound::COUNT;
        let mask = places.next_power_of_two() as u32 - 1;
        assert!(mask < IDS, "a queue has no more places than there are message ids");
        let free = (0..queue as u32).collect();
        let slots = vec![FREE; places];
        let transactions = match workload {
            Workload::Transaction { style, at_once } => Some(Transactions::new(style, at_once)),
            _ => None,
        };
        Client {
            socket: Socket::new(connection, token, Interest::ReadWrite),
            slots,
            free,
            mask,
            round: 0,
            active: 0,
            due_ns: 0,
            rest: Vec::new(),
            closed: false,
            transactions,
        }
    }

    /// Fills up to `limit` free places with requests and writes them with one call. Returns how many.
    pub(super) fn send(
        &mut self,
        templates: &Templates,
        random: &mut Random,
        sent_ns: u64,
        limit: u64,
        out: &mut Vec<u8>,
        poller: &Poller,
    ) -> u64 {
        let count = (self.free.len() as u64).min(limit);
        if (count == 0 && !self.owes_end()) || self.closed {
            return 0;
        }
        out.clear();
        if self.transactions.is_some() {
            return self.send_transaction(templates, random, sent_ns, count, out, poller);
        }
        let rounds = IDS / (self.mask + 1);
        for slot in self.free.drain(self.free.len() - count as usize..) {
            self.round = if self.round + 1 < rounds { self.round + 1 } else { 0 };
            let id = ID_FIRST + self.round * (self.mask + 1) + slot;
            let (operation, key) = templates.write(id, random, out);
            self.slots[slot as usize] = Slot { key, sent_ns, id, operation, active: true, entry_seen: false };
        }
        self.active += count as usize;
        assert!(self.active <= self.slots.len(), "each request in progress has a place of its own");
        // The next read tells of an end.
        self.socket.send(out, poller);
        count
    }

    /// Is a transaction open whose updates are all answered?
    fn owes_end(&self) -> bool {
        self.transactions.as_ref().is_some_and(|transactions| transactions.step == Step::End)
    }

    /// Is everything answered that was begun?
    pub(super) fn is_done(&self) -> bool {
        self.closed || (self.active == 0 && !self.owes_end())
    }

    /// Sends what comes next of a transaction: with a limit for the last time perhaps fewer updates than others have.
    fn send_transaction(
        &mut self,
        templates: &Templates,
        random: &mut Random,
        sent_ns: u64,
        count: u64,
        out: &mut Vec<u8>,
        poller: &Poller,
    ) -> u64 {
        let Some(mut transactions) = self.transactions.take() else { return 0 };
        self.round = if self.round + 1 < IDS / (self.mask + 1) { self.round + 1 } else { 0 };
        let first = ID_FIRST + self.round * (self.mask + 1);
        let bound_places = self.slots.len() - Bound::COUNT;
        let slot = |key, id, operation| Slot { key, sent_ns, id, operation, active: true, entry_seen: false };
        let mut updates = 0;
        let has_updates = transactions.step == Step::Updates;
        if has_updates {
            for at in self.free.drain(self.free.len() - count as usize..) {
                let id = first + at;
                let key = templates.write_member(id, random, transactions.controls(updates == 0), out);
                self.slots[at as usize] = slot(key, id, Operation::Modify);
                updates += 1;
            }
        }
        let bounds = match !has_updates || transactions.on_updates_sent() {
            true => transactions.bounds(),
            false => &[],
        };
        for bound in bounds {
            let place = bound_places + *bound as usize;
            let id = first + place as u32;
            let request = transactions.request(*bound, id);
            out.extend_from_slice(&request);
            self.slots[place] = slot(0, id, Operation::Transaction(*bound));
        }
        self.active += updates as usize + bounds.len();
        assert!(self.active <= self.slots.len(), "each request in progress has a place of its own");
        self.transactions = Some(transactions);
        // The next read tells of an end.
        self.socket.send(out, poller);
        updates
    }

    /// Ends the session, unless the server did, or does not take what was sent before.
    pub(super) fn unbind(&mut self) {
        if !self.closed && !self.socket.is_blocked() {
            // Nobody can be informed if there is no room for it: the end of the connection says the same.
            let _ = self.socket.connection.write(&UNBIND);
        }
    }

    /// Checks all whole answers before `end`; returns where the rest begins.
    ///
    /// # Errors
    /// When the bytes are no answers: nothing behind them can be understood.
    pub(super) fn receive(
        &mut self,
        buffer: &[u8],
        end: usize,
        expected: &Expected,
        now_ns: u64,
        recorder: &mut Recorder,
    ) -> Result<usize, Fault> {
        let mut at = 0;
        // Answers that were sent together are recorded together.
        let (mut sent_ns, mut count) = (0, 0);
        let end_at = loop {
            let message = match message(buffer, at, end) {
                Ok(Some(message)) => message,
                Ok(None) => break Ok(at),
                Err(_) => break Err(Fault::Malformed),
            };
            at = message.end;
            let Some((id, answer)) = parse(buffer, message) else { break Err(Fault::Malformed) };
            let place = id.wrapping_sub(ID_FIRST) & self.mask;
            let slot = match self.slots.get_mut(place as usize) {
                Some(slot) if slot.id == id && slot.active => slot,
                _ => {
                    recorder.faults.add(Fault::UnknownId);
                    continue;
                }
            };
            assert!(self.active > 0, "a request that is answered is in progress");
            match answer {
                Answer::Entry(entry) => check_entry(slot, buffer, entry, expected, &mut recorder.faults),
                Answer::Extended(result, code) => {
                    match (&mut self.transactions, slot.operation) {
                        (Some(transactions), Operation::Transaction(bound)) => {
                            let answered = transactions.on_answer(bound, buffer, result, code);
                            answered.unwrap_or_else(|fault| recorder.faults.add(fault));
                        }
                        _ => recorder.faults.add(Fault::WrongOperation),
                    }
                    slot.active = false;
                    self.active -= 1;
                }
                Answer::Other => {}
                Answer::Done(operation, code) => {
                    check_result(slot, operation, code, &mut recorder.faults);
                    slot.active = false;
                    self.free.push(place);
                    self.active -= 1;
                    if slot.sent_ns != sent_ns {
                        recorder.latency(now_ns.saturating_sub(sent_ns), count);
                        (sent_ns, count) = (slot.sent_ns, 0);
                    }
                    count += 1;
                }
            }
        };
        recorder.latency(now_ns.saturating_sub(sent_ns), count);
        end_at
    }
}

#[inline(always)]
fn check_entry(slot: &mut Slot, buffer: &[u8], entry: Span, expected: &Expected, faults: &mut Faults) {
    if slot.operation != Operation::Search {
        faults.add(Fault::WrongOperation);
    } else if slot.entry_seen {
        faults.add(Fault::SecondEntry);
    } else if let Err(fault) = expected.check(buffer, entry, slot.key) {
        faults.add(fault);
    }
    slot.entry_seen = true;
}

#[inline(always)]
fn check_result(slot: &Slot, operation: Operation, code: u32, faults: &mut Faults) {
    if slot.operation != operation {
        faults.add(Fault::WrongOperation);
    } else if code != 0 {
        faults.add(Fault::Code(code));
    } else if operation == Operation::Search && !slot.entry_seen {
        faults.add(Fault::NoEntry);
    }
}
