//! Threads that do the work of a pool.

use dsa::password::Pool;
use env::clock::{Clock, SystemClock};
use env::task::PlainThread;
use std::io;
use std::sync::Arc;

/// The threads; they end when this is dropped.
pub(crate) struct PoolThreads {
    pool: Arc<Pool>,
    threads: Vec<PlainThread>,
}

impl PoolThreads {
    /// Starts so many, named `name-0` and so on. Each calls `begin` first.
    ///
    /// # Errors
    /// When the system has no thread for them.
    pub(crate) fn start(pool: &Arc<Pool>, name: &str, count: usize, begin: fn()) -> io::Result<PoolThreads> {
        let mut started = PoolThreads { pool: Arc::clone(pool), threads: Vec::new() };
        for number in 0..count {
            let pool = Arc::clone(pool);
            started.threads.push(PlainThread::spawn(&format!("{name}-{number}"), move || {
                begin();
                let clock = SystemClock::start();
                pool.serve(|| clock.now().monotonic_ns);
            })?);
        }
        pool.will_be_served();
        Ok(started)
    }
}

impl Drop for PoolThreads {
    fn drop(&mut self) {
        self.pool.end();
        for thread in self.threads.drain(..) {
            if let Err(error) = thread.join() {
                tracing::error!("{error}");
            }
        }
    }
}
