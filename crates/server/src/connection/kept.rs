//! What a connection keeps for its client, whether that is still worth it, and how long a client waits that is too fast.

use super::{Connection, ENDED_SWEEPS_MAX};
use crate::thread::{READ_BYTES, Waiting};
use dsa::client_memory::UNCOUNTED_BYTES;
use env::clock::Clock;
use env::net::Stream;
use env::task;
use std::task::{Context, Poll, ready};

impl<S: Stream> Connection<S> {
    /// Was the client faster than it may be? One that is to leave is not kept from it.
    #[inline]
    pub(super) fn is_too_fast(&self) -> bool {
        self.session.due_ns().is_some_and(|due_ns| due_ns > self.shared.clock.monotonic_ns())
            && !self.leaving()
    }

    /// Waits until it may be gone on with. Its input waits in the socket, so the client notices by itself; it is not idle meanwhile.
    #[cold]
    pub(super) fn poll_pause(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let left_ns = self.session.due_ns().unwrap_or(0).saturating_sub(self.shared.clock.monotonic_ns());
        self.member.waiting.set(Waiting::Nothing);
        let timer = self.pause.get_or_insert_with(|| Box::pin(task::sleep_us(left_ns.div_ceil(1000))));
        ready!(timer.as_mut().poll(cx));
        self.pause = None;
        Poll::Ready(())
    }

    /// Counts input and answers that are kept while the connection waits.
    pub(super) fn count_kept(&mut self) {
        if self.held.is_empty() && self.held.capacity() > UNCOUNTED_BYTES {
            self.held = Vec::new();
        }
        let bytes = self.held.capacity() + self.backlog.capacity() + self.stream.kept_bytes();
        if bytes >= UNCOUNTED_BYTES || self.kept.bytes() != 0 {
            self.kept.set(bytes, self.member.is_bound.get());
        }
    }

    /// Whether there is memory for more input behind what is held. For a message that is larger than the read buffer all
    /// that it needs is taken at once, so that it can come to its end.
    pub(super) fn may_hold_more(&mut self) -> bool {
        let is_bound = self.session.is_bound();
        if self.needed <= READ_BYTES / 2 {
            return !self.kept.is_used_up(is_bound);
        }
        if self.held.capacity() >= self.needed {
            return true;
        }
        let has_room = self.kept.try_set(self.needed + self.backlog.capacity(), is_bound);
        if has_room {
            self.held.reserve_exact(self.needed - self.held.len());
        }
        has_room
    }

    /// Whether a client with suspended searches is not there any more, as far as can be known: its connection broke, or it
    /// sends no more and nothing was sent to it for some time.
    pub(super) fn is_client_gone(&self) -> bool {
        let is_silent = self.ended
            && self.sent == self.backlog.len()
            && self.shared.sweeps.get() - self.member.since.get() > ENDED_SWEEPS_MAX;
        is_silent || ((self.ended || self.held_back) && self.stream.is_broken())
    }
}
