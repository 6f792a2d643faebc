//! Threads with an event loop each, tasks on them, timers, and the signals that end a server.

use std::future::Future;
use std::io;
use std::thread::JoinHandle;
use std::time::Duration;

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
        match self.0.join() {
            Ok(result) => result,
            Err(_) => Err(io::Error::other("a thread panicked")),
        }
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

/// Runs `worker` on `count` threads of their own, each told its number, while `here` runs on this one; returns when
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

/// How many threads can run at once on this machine.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// SIGTERM and SIGINT, caught from the moment this is made.
pub struct Termination {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Termination {
    /// Starts to catch both signals. Must be called inside an event loop.
    pub fn catch() -> io::Result<Termination> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Termination {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next of them.
    pub async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
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
}
