//! Building, dropping and verifying indexes on a thread of its own, while others are served.

use dsa::Dsa;
use dsa::indexing::{IndexKeeper, Indexer, Pace};
use env::clock::{Clock, SystemClock};
use env::task::PlainThread;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Until it is looked again whether older searches have ended.
const READERS_RETRY: Duration = Duration::from_millis(5);
/// Keys that go into an index while others wait for the writer's role: some tenths of a millisecond.
const STEP_KEYS: usize = 256;
/// The rest after a step, in steps: a third of the writer's time at most goes to an index.
const REST_STEPS: u32 = 2;

/// The thread.
pub struct Thread {
    dsa: Arc<Dsa>,
    thread: PlainThread,
}

impl Thread {
    /// Starts it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(dsa: Arc<Dsa>, keeper: impl IndexKeeper + Send + 'static) -> io::Result<Thread> {
        let served = Arc::clone(&dsa);
        let thread = PlainThread::spawn("indexes", move || run(&served, keeper))?;
        Ok(Thread { dsa, thread })
    }

    /// Ends it. Of an index that is being built nothing becomes.
    ///
    /// # Errors
    /// When it panicked.
    pub fn stop(self) -> io::Result<()> {
        self.dsa.indexing().end();
        self.thread.join()
    }
}

fn run(dsa: &Arc<Dsa>, mut keeper: impl IndexKeeper) {
    let (clock, mut indexer) = (SystemClock::start(), Indexer::new(Arc::clone(dsa), STEP_KEYS));
    loop {
        let begun_ns = clock.monotonic_ns();
        let rest = match indexer.step(&mut keeper) {
            Pace::Idle => None,
            Pace::Later => Some(READERS_RETRY),
            // The writer's role goes to the one that asks first, and this thread would always be that one.
            Pace::Soon => Some(Duration::from_nanos(clock.monotonic_ns() - begun_ns) * REST_STEPS),
        };
        if !dsa.indexing().wait(rest) {
            return;
        }
    }
}
