//! Threads that verify and store passwords, which takes milliseconds: a quarter of the cores, behind everything else that runs.

use dsa::Dsa;
use dsa::password::Pool;
use env::clock::{Clock, SystemClock};
use env::task::{self, PlainThread};
use std::io;
use std::sync::Arc;

/// How much they stand back: a tenth of a core that others want, all of one that is idle.
const NICE: i32 = 10;

/// The threads; they end when this is dropped.
pub(crate) struct Hashers {
    pool: Arc<Pool>,
    threads: Vec<PlainThread>,
}

impl Hashers {
    /// Starts them.
    ///
    /// # Errors
    /// When the system has no thread for them.
    pub(crate) fn start(dsa: &Arc<Dsa>) -> io::Result<Hashers> {
        let pool = Arc::clone(dsa.password_pool());
        let mut hashers = Hashers { pool: Arc::clone(&pool), threads: Vec::new() };
        for number in 0..(task::cores() / 4).max(1) {
            let pool = Arc::clone(&pool);
            hashers.threads.push(PlainThread::spawn(&format!("password-{number}"), move || {
                if let Err(error) = task::stand_back(NICE) {
                    tracing::warn!("passwords are verified at the priority of everything else: {error}");
                }
                let clock = SystemClock::start();
                pool.serve(|| clock.now().monotonic_ns);
            })?);
        }
        pool.will_be_served();
        Ok(hashers)
    }
}

impl Drop for Hashers {
    fn drop(&mut self) {
        self.pool.end();
        for thread in self.threads.drain(..) {
            if let Err(error) = thread.join() {
                tracing::error!("{error}");
            }
        }
    }
}
