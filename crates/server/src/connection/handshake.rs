//! When a handshake of TLS may begin: it waits if its address has made too many.

use dsa::Session;
use dsa::limits::Limits;
use env::clock::Now;
use env::task;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The wait of a connection for its handshake; mostly there is none.
#[derive(Default)]
pub(super) struct Handshake {
    pause: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

impl Handshake {
    /// Takes one of the handshakes that the client's address may make, which may be one to come.
    ///
    /// # Errors
    /// It would come too late.
    pub(super) fn reserve(&mut self, session: &Session, limits: &Limits, now: Now) -> io::Result<()> {
        let wait_max_ns = match limits.handshake_timeout_s.get() {
            0 => u64::MAX,
            seconds => seconds * 1_000_000_000,
        };
        let wait_ns = session.reserve_handshake(wait_max_ns, now).ok_or(io::ErrorKind::TimedOut)?;
        if wait_ns > 0 {
            self.pause = Some(Box::pin(task::sleep_us(wait_ns.div_ceil(1000))));
        }
        Ok(())
    }

    /// Must it wait?
    pub(super) fn waits(&self) -> bool {
        self.pause.is_some()
    }

    /// Ready when it may begin.
    #[cold]
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(cx));
            self.pause = None;
        }
        Poll::Ready(())
    }
}
