//! The threads of a log that serves: one writes and syncs, one prepares files.

use crate::error::Poisoned;
use crate::log::Log;
use crate::place::Index;
use crate::writer::{Step, Writer};
use env::clock::Clock;
use env::task::PlainThread;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a log tells those who wait for it, on its own thread, after it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Records up to here may be acknowledged.
    Safe(Index),
    /// A file was prepared, or the disk refused one: an append that was refused as `Full` or `NoSpace` may be tried again.
    Room,
    /// Nothing that is not safe by now will be: what waits has an unknown outcome.
    Poisoned(Poisoned),
}

/// The two threads. Dropping it without [`Syncer::stop`] leaves them running.
pub struct Syncer {
    log: Arc<Log>,
    writer: PlainThread,
    files: PlainThread,
    outcome: Arc<Mutex<Option<Result<(), Poisoned>>>>,
}

impl Syncer {
    /// Starts both. `on_progress` is called on the writer's thread, which waits for it: it should only wake others.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start(
        writer: Writer,
        clock: impl Clock + Send + 'static,
        on_progress: impl FnMut(Progress) + Send + 'static,
    ) -> io::Result<Syncer> {
        let log = writer.log().clone();
        let outcome = Arc::new(Mutex::new(None));
        let files = {
            let log = log.clone();
            PlainThread::spawn("log-files", move || log.keep_files_ready())?
        };
        let writer = {
            let outcome = outcome.clone();
            PlainThread::spawn("log", move || {
                let ended = write_blocks(writer, &clock, on_progress);
                *outcome.lock().expect("nobody panics with it") = Some(ended);
            })?
        };
        Ok(Syncer { log, writer, files, outcome })
    }

    /// Writes and syncs what was appended, closes the log and ends the threads.
    ///
    /// # Errors
    /// The log is poisoned, now or before.
    pub fn stop(self) -> Result<(), Poisoned> {
        self.log.stop();
        let panicked = |error: io::Error| self.log.poison(&error);
        self.writer.join().map_err(panicked)?;
        self.files.join().map_err(panicked)?;
        let outcome = self.outcome.lock().expect("its thread has ended").take();
        outcome.expect("a thread that did not panic leaves its outcome")
    }
}

fn write_blocks(
    mut writer: Writer,
    clock: &impl Clock,
    mut on_progress: impl FnMut(Progress),
) -> Result<(), Poisoned> {
    let log = writer.log().clone();
    let now_ms = || clock.monotonic_ns() / 1_000_000;
    loop {
        if log.room_changed() {
            on_progress(Progress::Room);
        }
        match writer.step(now_ms()) {
            Ok(Step::Moved) => on_progress(Progress::Safe(log.safe())),
            Ok(Step::Idle { due_ms }) => {
                let timeout = due_ms.map(|due| Duration::from_millis(due.saturating_sub(now_ms()).max(1)));
                if !log.wait_for_work(timeout) {
                    break;
                }
            }
            Err(poisoned) => {
                on_progress(Progress::Poisoned(poisoned.clone()));
                return Err(poisoned);
            }
        }
    }
    let ended = writer.close();
    match &ended {
        Ok(()) => on_progress(Progress::Safe(log.safe())),
        Err(poisoned) => on_progress(Progress::Poisoned(poisoned.clone())),
    }
    ended
}
