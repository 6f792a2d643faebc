//! A thread that writes a log, behind those that serve.

use env::task::{self, PlainThread};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// How much it stands back behind those that serve.
const NICE: i32 = 5;
/// How long it pauses when there was nothing to write.
const PAUSE: Duration = Duration::from_millis(20);

/// The thread. It is asked to end when this is dropped, and then waited for.
pub(crate) struct Background {
    name: &'static str,
    /// Dropped first, which asks for the end.
    stop: Option<Sender<()>>,
    thread: Option<PlainThread>,
}

/// Whether its thread is asked to end.
pub(super) struct Stopped(Receiver<()>);

impl Background {
    /// Starts it.
    ///
    /// # Errors
    /// When the system has no thread.
    pub(super) fn start(
        name: &'static str,
        run: impl FnOnce(&Stopped) + Send + 'static,
    ) -> io::Result<Background> {
        let (stop, stopped) = channel();
        let thread = PlainThread::spawn(name, move || {
            if let Err(error) = task::stand_back(NICE) {
                tracing::warn!("the thread {name} writes at the priority of everything else: {error}");
            }
            run(&Stopped(stopped));
        })?;
        Ok(Background { name, stop: Some(stop), thread: Some(thread) })
    }
}

impl Stopped {
    /// Pauses, unless there is more to do already; `true` if it is to end.
    pub(super) fn pause(&self, has_more: bool) -> bool {
        let pause = if has_more { Duration::ZERO } else { PAUSE };
        self.0.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(Err(error)) = self.thread.take().map(PlainThread::join) {
            tracing::error!("the thread {}: {error}", self.name);
        }
    }
}
