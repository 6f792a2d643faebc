//! What a connection keeps for its client, and whether that is still worth it.

use super::{Connection, ENDED_SWEEPS_MAX};
use crate::thread::READ_BYTES;
use dsa::client_memory::UNCOUNTED_BYTES;
use env::net::Stream;

impl<S: Stream> Connection<S> {
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
