//! Journals that a test holds in its hands.

use super::until;
use dsa::journal::{Journal, Metrics, Updates};
use dsa::{Applier, Dsa, Waking};
use env::clock::{Clock, SystemClock};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn metrics() -> Metrics {
    Metrics::default()
}

/// Keeps updates as if they were on their way to a disk.
#[derive(Default)]
pub(crate) struct Fixture {
    updates: Mutex<Vec<Updates>>,
    submitted: AtomicUsize,
    /// The thread that submits waits as long as this is set.
    is_held: AtomicBool,
}

impl Fixture {
    /// Where the updates of a directory go from now on.
    pub(crate) fn of(dsa: &Dsa) -> Arc<Fixture> {
        let fixture = Arc::<Fixture>::default();
        dsa.journal_to(Arc::clone(&fixture) as Arc<dyn Journal>);
        fixture
    }

    /// Sessions that have submitted updates.
    pub(crate) fn submitted(&self) -> usize {
        self.submitted.load(Ordering::SeqCst)
    }

    /// Holds each thread that submits updates, or lets all go on.
    pub(crate) fn hold(&self, is_held: bool) {
        self.is_held.store(is_held, Ordering::SeqCst);
    }

    /// All updates are durable: they are applied, and the sessions informed.
    pub(crate) fn sync(&self, dsa: &Arc<Dsa>) {
        let wall_ms = SystemClock::start().wall_ms();
        let mut applier = Applier::new(dsa).unwrap();
        for mut updates in self.updates.lock().unwrap().drain(..) {
            let mut answers = updates.answers_buffer();
            applier.apply_updates(&mut updates, wall_ms, &mut answers).unwrap();
            updates.answer(answers, &mut Waking::default());
        }
    }
}

impl Journal for Fixture {
    fn submit(&self, updates: Updates) {
        self.submitted.fetch_add(1, Ordering::SeqCst);
        until("the thread may go on", || !self.is_held.load(Ordering::SeqCst));
        self.updates.lock().unwrap().push(updates);
    }

    fn times_wait(&self) {}

    fn metrics(&self) -> Metrics {
        metrics()
    }
}

/// Takes no updates.
pub(crate) struct Panicking;

impl Journal for Panicking {
    fn submit(&self, _: Updates) {
        panic!("a panic that was asked for");
    }

    fn times_wait(&self) {}

    fn metrics(&self) -> Metrics {
        metrics()
    }
}
