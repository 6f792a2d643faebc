//! Threads that verify and store passwords, which takes milliseconds: a quarter of the cores, behind everything else that runs.

use crate::pool_threads::PoolThreads;
use dsa::Dsa;
use env::task;
use std::io;

/// How much they stand back: a tenth of a core that others want, all of one that is idle.
const NICE: i32 = 10;

/// Starts them.
///
/// # Errors
/// When the system has no thread for them.
pub(crate) fn start(dsa: &Dsa) -> io::Result<PoolThreads> {
    let begin = || {
        if let Err(error) = task::stand_back(NICE) {
            tracing::warn!("passwords are verified at the priority of everything else: {error}");
        }
    };
    PoolThreads::start(dsa.password_pool(), "password", (task::cores() / 4).max(1), begin)
}
