//! Throttles updates on their way to the log: bounds the bytes that all sessions together have on their way through it. When the
//! bound is reached a session takes no more updates and waits for its turn; turns are given in the order in which sessions
//! began to wait. Nothing is refused.
//!
//! The bound may be passed by the last submission that was admitted, and by a turn for each session that was called: so it bounds memory
//! up to a constant, and costs one addition for each submission. Sessions that hold a ticket and die are passed over.

use crate::journal::UPDATES_BYTES_SOFT_MAX;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// Bytes that a session may fill when it gets its turn.
const TURN_BYTES: u64 = UPDATES_BYTES_SOFT_MAX as u64;

/// Counts the bytes that are on their way, and knows which sessions wait.
#[derive(Debug)]
pub struct Throttle {
    bytes_max: AtomicU64,
    bytes: AtomicU64,
    /// Whether sessions must wait. A line of its own in the cache: it is read before each bundle of updates, and written
    /// when it changes.
    is_closed: AtomicBool,
    waiting: Mutex<VecDeque<Arc<Ticket>>>,
}

/// Bytes that were admitted. They are free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    throttle: Arc<Throttle>,
    bytes: u64,
}

/// The place of a session in the queue.
#[derive(Debug)]
pub(crate) struct Ticket(Mutex<Turn>);

#[derive(Debug)]
enum Turn {
    Waiting(Option<Waker>),
    /// The session may go on. The permit stands for what it is about to take.
    Here(#[expect(dead_code, reason = "kept for its drop")] Permit),
}

impl Throttle {
    /// Nothing is on its way. At least one session is admitted at a time, whatever `bytes_max` is.
    pub(crate) fn new(bytes_max: u64) -> Arc<Throttle> {
        Arc::new(Throttle {
            bytes_max: AtomicU64::new(bytes_max.max(1)),
            bytes: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            waiting: Mutex::default(),
        })
    }

    /// Sets another bound. A lower one holds from the next submission on, a higher one gives turns at once.
    pub(crate) fn put(self: &Arc<Self>, bytes_max: u64) {
        // With 0 none would ever be admitted again, also not the change to another number.
        self.bytes_max.store(bytes_max.max(1), Ordering::Relaxed);
        if self.is_closed() {
            self.give_turns();
        }
    }

    fn bytes_max(&self) -> u64 {
        self.bytes_max.load(Ordering::Relaxed)
    }

    /// Whether as much is on its way as may be.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Bytes that are on their way.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Sessions that wait for their turn.
    pub fn waiting(&self) -> usize {
        self.lock().len()
    }

    /// Counts bytes that a session submits. What makes the sum pass its bound is admitted, what comes next waits.
    pub(crate) fn admit(self: &Arc<Self>, bytes: u64) -> Permit {
        // Relaxed, for nothing is published by it: a session that reads the old state is one more that is admitted.
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if before + bytes >= self.bytes_max() {
            self.is_closed.store(true, Ordering::Relaxed);
        }
        Permit { throttle: Arc::clone(self), bytes }
    }

    /// Joins the queue; `None` if there is room after all.
    pub(crate) fn wait(&self) -> Option<Arc<Ticket>> {
        let mut waiting = self.lock();
        // Again under the lock: it is opened under it, and nobody would call a ticket that came after.
        if !self.is_closed() {
            return None;
        }
        let ticket = Arc::new(Ticket(Mutex::new(Turn::Waiting(None))));
        waiting.push_back(Arc::clone(&ticket));
        Some(ticket)
    }

    /// Gives turns while there is room, and opens when nobody waits.
    #[cold]
    fn give_turns(self: &Arc<Self>) {
        // Dropped when the queue is unlocked: the permit of a session that leaves at this moment gives turns again.
        let (mut wakers, mut called) = (Vec::new(), Vec::new());
        let mut waiting = self.lock();
        while self.bytes() < self.bytes_max() {
            let Some(ticket) = waiting.pop_front() else {
                self.is_closed.store(false, Ordering::Relaxed);
                break;
            };
            // The session of a ticket that only the queue has is gone.
            if Arc::strong_count(&ticket) > 1 {
                // The permit stands for as much as the session may submit, so turns that are given together do not pass the bound by more.
                wakers.extend(ticket.call(self.admit(TURN_BYTES)));
                called.push(ticket);
            }
        }
        drop(waiting);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// A thread that panicked left the queue whole: it is changed by single calls.
    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Arc<Ticket>>> {
        // The queue is whole after every statement, so a panic leaves nothing half done.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        assert!(self.throttle.bytes() >= self.bytes, "no more bytes leave than were admitted");
        self.throttle.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        if self.throttle.is_closed() {
            self.throttle.give_turns();
        }
    }
}

impl Ticket {
    /// Ready when it is the session's turn.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut *self.lock() {
            Turn::Here(_) => Poll::Ready(()),
            Turn::Waiting(waker) => {
                *waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// It is its turn. Returns the waker of a session that waits already.
    fn call(&self, permit: Permit) -> Option<Waker> {
        match std::mem::replace(&mut *self.lock(), Turn::Here(permit)) {
            Turn::Waiting(waker) => waker,
            Turn::Here(_) => unreachable!("a ticket leaves the queue when it is called"),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Turn> {
        // A turn is whole after every statement, so a panic leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_called(ticket: &Ticket) -> bool {
        ticket.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn turns_come_in_the_order_of_the_queue() {
        let throttle = Throttle::new(2 * TURN_BYTES);
        assert!(throttle.wait().is_none());
        let first = throttle.admit(2 * TURN_BYTES);
        let tickets: Vec<_> = (0..4).map(|_| throttle.wait().unwrap()).collect();
        assert!(!tickets.iter().any(|ticket| is_called(ticket)));
        drop(first);
        let called: Vec<bool> = tickets.iter().map(|ticket| is_called(ticket)).collect();
        assert_eq!(called, [true, true, false, false]);
        assert!(throttle.is_closed());
        let mut tickets = tickets.into_iter();
        // A session that got its turn submits less than it might.
        let taken = throttle.admit(10);
        drop(tickets.next());
        let rest: Vec<_> = tickets.collect();
        assert_eq!((is_called(&rest[1]), is_called(&rest[2])), (true, false));
        drop((taken, rest));
        assert!(!throttle.is_closed());
        assert_eq!((throttle.bytes(), throttle.waiting()), (0, 0));
    }

    #[test]
    fn another_bound_holds_at_once() {
        let throttle = Throttle::new(TURN_BYTES);
        let first = throttle.admit(TURN_BYTES);
        let waits = throttle.wait().unwrap();
        throttle.put(TURN_BYTES);
        assert!(!is_called(&waits) && throttle.is_closed());
        throttle.put(3 * TURN_BYTES);
        assert!(is_called(&waits) && !throttle.is_closed());
        throttle.put(1);
        drop(throttle.admit(1));
        assert!(throttle.is_closed(), "as much is on its way as was admitted before");
        drop((first, waits));
        assert!(!throttle.is_closed());
    }

    #[test]
    fn a_session_that_is_gone_loses_its_place() {
        let throttle = Throttle::new(TURN_BYTES);
        let first = throttle.admit(TURN_BYTES);
        let (gone, stays) = (throttle.wait().unwrap(), throttle.wait().unwrap());
        drop(gone);
        drop(first);
        assert!(is_called(&stays));
        assert_eq!(throttle.bytes(), TURN_BYTES);
    }
}
