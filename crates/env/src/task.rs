//! Threads with an event loop each, tasks on them, timers, and the signals that end a server.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// One thread's event loop: tokio's `current_thread` runtime, so that nothing moves between cores.
fn event_loop() -> io::Result<tokio::runtime::LocalRuntime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // Sockets are looked at after this many tasks even when more are ready to run.
        .event_interval(16)
        .build_local(tokio::runtime::LocalOptions::default())
}

/// Runs `future` on the calling thread until it is done, with an event loop for it and what it spawns.
pub fn block_on<T>(future: impl Future<Output = T>) -> io::Result<T> {
    Ok(event_loop()?.block_on(future))
}

/// A thread with its own event loop.
pub struct Thread(JoinHandle<io::Result<()>>);

impl Thread {
    /// Starts a thread called `name` that runs the future made by `main`. The future need not be `Send`: it is made on
    /// the thread and stays there.
    pub fn spawn<F, Fut>(name: &str, main: F) -> io::Result<Thread>
    where
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future<Output = ()>,
    {
        let builder = std::thread::Builder::new().name(name.to_owned());
        Ok(Thread(builder.spawn(move || block_on(async move { main().await }))?))
    }

    /// Waits for its end. `Err` tells that its event loop could not be made or that it panicked.
    pub fn join(self) -> io::Result<()> {
        self.0.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

/// A thread without an event loop, for work that waits for the disk.
pub struct PlainThread(JoinHandle<()>);

impl PlainThread {
    /// Starts a thread called `name` that runs `main`.
    pub fn spawn(name: &str, main: impl FnOnce() + Send + 'static) -> io::Result<PlainThread> {
        Ok(PlainThread(std::thread::Builder::new().name(name.to_owned()).spawn(main)?))
    }

    /// Waits for its end. `Err` tells that it panicked.
    pub fn join(self) -> io::Result<()> {
        self.0.join().map_err(|_| io::Error::other("a thread panicked"))
    }
}

/// Is this thread ending by a panic? For what is dropped with it.
pub fn is_panicking() -> bool {
    std::thread::panicking()
}

/// Makes a task on the thread whose event loop runs it: the task need not be [`Send`].
pub type Main = Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = ()>>> + Send>;

/// Starts a task on the calling thread's event loop.
pub fn spawn_local(future: impl Future<Output = ()> + 'static) {
    tokio::task::spawn_local(future);
}

/// Lets the other tasks of this thread run, and looks at the sockets, before going on.
pub async fn yield_now() {
    tokio::task::yield_now().await;
}

/// Waits `ms` milliseconds.
pub async fn sleep_ms(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// Waits `us` microseconds, and up to a millisecond more: the event loop's timer goes in steps of that.
pub async fn sleep_us(us: u64) {
    tokio::time::sleep(Duration::from_micros(us)).await;
}

/// Waits for `future` at most `ms` milliseconds; `None` when it was not done by then.
pub async fn timeout_ms<T>(ms: u64, future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_millis(ms), future).await.ok()
}

/// Runs `beside` on a thread of its own while `here` runs on this one; returns when both are done.
///
/// # Panics
/// When one of them panics.
pub fn run_beside<T>(beside: impl FnOnce() + Send, here: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        scope.spawn(beside);
        here()
    })
}

/// Runs `worker` on `count` threads of their own, each given its number, while `here` runs on this one; returns when
/// all are done.
///
/// # Panics
/// When one of them panics.
pub fn run_with_workers<T>(count: usize, worker: impl Fn(usize) + Sync, here: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        let worker = &worker;
        for number in 0..count {
            scope.spawn(move || worker(number));
        }
        here()
    })
}

/// Makes the calling thread stand back behind others: `nice` is its distance from the usual priority, up to 19.
///
/// # Errors
/// What the system says.
pub fn stand_back(nice: i32) -> io::Result<()> {
    // On Linux a priority is a thread's own, and the caller's where no process is named.
    Ok(rustix::process::setpriority_process(None, nice)?)
}

/// How many threads can run at once on this machine.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// A signal that ends a process unless it does something about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The terminal was closed.
    Hangup,
    /// SIGUSR1.
    User1,
    /// SIGUSR2.
    User2,
    /// SIGALRM.
    Alarm,
    /// SIGXFSZ: a file grows beyond RLIMIT_FSIZE; the write then fails with EFBIG.
    FileSize,
}

impl Signal {
    fn kind(self) -> SignalKind {
        match self {
            Signal::Hangup => SignalKind::hangup(),
            Signal::User1 => SignalKind::user_defined1(),
            Signal::User2 => SignalKind::user_defined2(),
            Signal::Alarm => SignalKind::alarm(),
            Signal::FileSize => SignalKind::from_raw(libc::SIGXFSZ),
        }
    }
}

/// From now on the process outlives these signals: nothing comes of them.
///
/// # Errors
/// What the system says.
pub fn outlive(signals: &[Signal]) -> io::Result<()> {
    // A handler stays when the one who listened is gone. System calls that it interrupts go on (SA_RESTART).
    block_on(async { signals.iter().try_for_each(|one| signal(one.kind()).map(drop)) })?
}

/// What a signal asks of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalAction {
    /// SIGTERM or SIGINT: to end.
    End,
    /// SIGHUP: the terminal is gone, or somebody wants settings to be read again.
    Hangup,
}

/// SIGTERM, SIGINT and SIGHUP, caught from the moment this is made.
pub struct Termination {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

impl Termination {
    /// Starts to catch them. Must be called inside an event loop.
    pub fn catch() -> io::Result<Termination> {
        Ok(Termination {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next of them.
    pub async fn wait(&mut self) -> SignalAction {
        tokio::select! {
            _ = self.terminate.recv() => SignalAction::End,
            _ = self.interrupt.recv() => SignalAction::End,
            _ = self.hangup.recv() => SignalAction::Hangup,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_runs_its_future_and_local_tasks() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = Thread::spawn("test", move || async move {
            let done = std::rc::Rc::new(std::cell::Cell::new(false));
            let inner = done.clone();
            spawn_local(async move { inner.set(true) });
            while !done.get() {
                yield_now().await;
            }
            sender.send(7).unwrap();
        })
        .unwrap();
        assert_eq!(receiver.recv().unwrap(), 7);
        thread.join().unwrap();
    }

    #[test]
    fn a_timeout_ends_waiting() {
        let late = block_on(timeout_ms(1, std::future::pending::<()>())).unwrap();
        assert!(late.is_none());
        assert_eq!(block_on(timeout_ms(60_000, async { 3 })).unwrap(), Some(3));
    }

    #[test]
    fn signals_that_end_a_process_can_be_outlived() {
        let all = [Signal::Hangup, Signal::User1, Signal::User2, Signal::Alarm, Signal::FileSize];
        outlive(&all).unwrap();
        let own = rustix::process::getpid();
        for signal in all {
            let signal = rustix::process::Signal::from_named_raw(signal.kind().as_raw_value()).unwrap();
            rustix::process::kill_process(own, signal).unwrap();
        }
    }

    #[test]
    fn a_hangup_is_no_end() {
        let asked = block_on(async {
            let mut termination = Termination::catch().unwrap();
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::HUP).unwrap();
            termination.wait().await
        });
        assert_eq!(asked.unwrap(), SignalAction::Hangup);
    }
}
