//! Sessions do not wait for the committer of a replica that stands still: a sync of its disk does not return, say. A thread of its
//! own looks twice a second, and answers what the committer has not taken: nothing of that is in the log.

use super::Queue;
use dsa::reads::WithoutQuorum;
use dsa::{Dsa, Waking};
use env::clock::{Clock as _, SystemClock};
use env::task::PlainThread;
use model::ResultCode;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Until it looks again.
const LOOK: Duration = Duration::from_millis(500);
/// Looks, one after the other, at which the committer was at work and had taken no step since the one before: then it stands still. Looks are
/// counted, and not the time between them, for this process may have stood still as a whole.
const SILENT_LOOKS: u32 = 6;

/// What is said of updates then.
const STANDS_STILL: &str =
    "the log of this server stands still: nothing was changed; try again at another server";

/// See the module.
pub(super) struct Watch {
    queue: Arc<Queue>,
    without_quorum: Box<dyn Fn() -> WithoutQuorum + Send>,
    clock: SystemClock,
    /// The steps that the committer had taken at the last look, if it was at work.
    steps: Option<u64>,
    silent_looks: u32,
}

impl Watch {
    /// Starts the thread. It ends when the committer is to end.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start(queue: Arc<Queue>, dsa: Arc<Dsa>, clock: SystemClock) -> io::Result<PlainThread> {
        let mut watch = Watch::new(queue, clock, move || dsa.without_quorum());
        PlainThread::spawn("log-watch", move || {
            while !watch.queue.wait_for_end(LOOK) {
                watch.look();
            }
        })
    }

    fn new(
        queue: Arc<Queue>,
        clock: SystemClock,
        without_quorum: impl Fn() -> WithoutQuorum + Send + 'static,
    ) -> Watch {
        Watch { queue, without_quorum: Box::new(without_quorum), clock, steps: None, silent_looks: 0 }
    }

    fn look(&mut self) {
        let steps = self.queue.steps_at_work();
        self.silent_looks = if steps.is_some() && steps == self.steps { self.silent_looks + 1 } else { 0 };
        self.steps = steps;
        if self.silent_looks >= SILENT_LOOKS {
            self.answer();
        }
    }

    /// Refuses updates, and reads as well, unless what is here may be read without a majority.
    fn answer(&self) {
        let (updates, barriers) = self.queue.take_waiting();
        updates.into_iter().for_each(|updates| updates.refuse(ResultCode::Busy, STANDS_STILL));
        let mut waking = Waking::default();
        let now_ms = self.clock.monotonic_ns() / 1_000_000;
        let current_ms = self.queue.status().metrics().current_ms;
        let age = current_ms.map(|current_ms| now_ms.saturating_sub(current_ms));
        for barrier in barriers {
            match (self.without_quorum)() {
                WithoutQuorum::Refuse => barrier.fail(&mut waking),
                WithoutQuorum::Read => barrier.pass_without(age, &mut waking),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_updates;
    use dsa::journal::{Journal as _, Returns};
    use env::task;
    use std::collections::VecDeque;
    use std::future::poll_fn;

    struct Fixture {
        queue: Arc<Queue>,
        watch: Watch,
        returns: Returns,
    }

    impl Fixture {
        fn new() -> Fixture {
            let queue = Arc::<Queue>::default();
            let watch = Watch::new(Arc::clone(&queue), SystemClock::start(), || WithoutQuorum::Refuse);
            Fixture { queue, watch, returns: Returns::default() }
        }

        fn submit(&self) {
            self.queue.submit(test_updates::delete(&self.returns));
        }

        fn look(&mut self, times: u32) {
            (0..times).for_each(|_| self.watch.look());
        }

        /// The code and the text of each update that was answered.
        fn answered(&self) -> Vec<(u32, String)> {
            test_updates::refusals(&self.returns)
        }
    }

    #[test]
    fn what_a_committer_that_stands_still_has_not_taken_is_answered_and_nothing_else() {
        let mut fixture = Fixture::new();
        let mut taken = VecDeque::new();
        fixture.submit();
        let queue = Arc::clone(&fixture.queue);
        queue.drain(&mut taken, &mut Vec::new());
        fixture.submit();
        let barrier = queue.barrier().unwrap();
        fixture.look(SILENT_LOOKS);
        assert!(fixture.answered().is_empty() && barrier.is_passed().is_none(), "it is not long enough");
        fixture.look(1);
        assert_eq!(fixture.answered(), [(51, STANDS_STILL.to_owned())]);
        assert_eq!(barrier.is_passed(), Some(false));
        fixture.submit();
        fixture.look(1);
        assert_eq!(fixture.answered().len(), 1, "what comes later is answered soon");
        queue.drain(&mut taken, &mut Vec::new());
        assert_eq!(taken.len(), 1, "what it has taken is its own");
        fixture.submit();
        fixture.look(SILENT_LOOKS);
        assert!(fixture.answered().is_empty(), "it goes on");
    }

    #[test]
    fn a_committer_that_waits_does_not_stand_still() {
        let mut fixture = Fixture::new();
        let queue = Arc::clone(&fixture.queue);
        let waited = task::block_on(task::timeout_ms(1, poll_fn(|cx| queue.poll_filled(cx))));
        assert!(waited.expect("there is an event loop").is_none());
        fixture.look(2 * SILENT_LOOKS);
        // It is woken by this.
        fixture.submit();
        fixture.look(SILENT_LOOKS);
        assert!(fixture.answered().is_empty());
        assert!(!queue.wait_for_end(Duration::ZERO));
        queue.end();
        assert!(queue.wait_for_end(LOOK));
    }
}
