//! What is written to a client: answers, what earlier turns left over, and the end of the stream.

use super::Connection;
use env::net::Stream;
use env::task;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};

/// Milliseconds that a closed connection is read on, so that a reset does not overtake the last answer.
const LINGER_MS: u64 = 500;

impl<S: Stream> Connection<S> {
    /// Writes the shared out buffer and keeps what the socket does not take.
    pub(super) fn send(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        assert!(self.hold.is_none() && !self.goes_with_updates, "answers do not overtake those kept back");
        let shared = self.shared.clone();
        let out = &shared.scratch.borrow().out;
        let mut sent = 0;
        while sent < out.len() && self.backlog.is_empty() {
            match write_some(&mut self.stream, cx, &out[sent..]) {
                Poll::Pending => break,
                Poll::Ready(n) => sent += n?,
            }
        }
        if sent < out.len() {
            self.backlog.extend_from_slice(&out[sent..]);
        }
        if sent < out.len() || (self.ended && sent > 0) {
            self.member.since.set(shared.sweeps.get());
        }
        Ok(())
    }

    /// Writes what earlier turns left over, as far as the socket takes it.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.backlog.is_empty() {
            return Ok(());
        }
        assert!(self.sent <= self.backlog.len(), "only what was kept back is sent later");
        while self.sent < self.backlog.len() {
            match write_some(&mut self.stream, cx, &self.backlog[self.sent..]) {
                Poll::Pending => return Ok(()),
                Poll::Ready(n) => self.sent += n?,
            }
            self.member.since.set(self.shared.sweeps.get());
        }
        self.sent = 0;
        self.shared.scratch.borrow_mut().keep_spare(std::mem::take(&mut self.backlog));
        Ok(())
    }

    /// Ends the sending side and reads on for a moment: closing with input unread would reset the connection, and the
    /// client could lose the last answer.
    pub(super) async fn linger(&mut self) {
        assert!(self.sent == self.backlog.len(), "a client has its answers before it is sent away");
        if self.ended {
            // A client that ended its TLS session gets the same answer (RFC 4511 section 4.14.3).
            if self.stream.is_secured() {
                let finish = poll_fn(|cx| self.stream.poll_finish(cx));
                let _ = task::timeout_ms(LINGER_MS, finish).await;
            }
            return;
        }
        let shared = self.shared.clone();
        let rest = poll_fn(|cx| {
            ready!(self.stream.poll_finish(cx))?;
            loop {
                let read = &mut shared.scratch.borrow_mut().read;
                if ready!(self.stream.poll_read(cx, read))? == 0 {
                    return Poll::Ready(io::Result::Ok(()));
                }
            }
        });
        // Late or failed, the connection is closed all the same.
        let _ = task::timeout_ms(LINGER_MS, rest).await;
    }
}

/// One write. A socket that takes nothing of something is an error, or its writer would never end.
fn write_some<S: Stream>(stream: &mut S, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
    assert!(!bytes.is_empty(), "a write of nothing would look like a socket that takes nothing");
    match ready!(stream.poll_write(cx, bytes)) {
        Ok(0) => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
        Ok(written) => {
            assert!(written <= bytes.len(), "a stream takes no more than it was given");
            Poll::Ready(Ok(written))
        }
        failed => Poll::Ready(failed),
    }
}
