//! The agent as the engine of this server's connections.

use crate::engine::{Engine, Feed, State, Worker};
use dsa::client_memory::ClientMemory;
use dsa::held::MemoryNotice;
use dsa::{Dsa, Session};
use env::clock::Now;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use store::Revoked;

/// Searches that are reported at a time, each by a line of its own.
const ENDED_REPORTED_MAX: usize = 8;

impl Engine for Dsa {
    type Worker = dsa::Worker;

    fn worker(self: &Arc<Self>) -> Option<dsa::Worker> {
        let worker = dsa::Worker::new(self)?;
        self.monitor().count_serving_thread();
        Some(worker)
    }
}

impl Worker for dsa::Worker {
    type Session = Session;

    fn tick(&mut self, now: Now) {
        dsa::Worker::tick(self, now);
    }

    fn count_write_waiters(&mut self, waiters: u64) {
        dsa::Worker::count_write_waiters(self, waiters);
    }

    fn look_after(&mut self, now: Now) {
        if let Some(notice) = dsa::Worker::memory_notice(self, now) {
            tell_of_limit(&notice);
        }
        let ended = dsa::Worker::look_after_memory(self, now);
        let (reported, others) = ended.split_at(ended.len().min(ENDED_REPORTED_MAX));
        reported.iter().for_each(|search| tell_of_end(search, now));
        if !others.is_empty() {
            tracing::warn!(searches = others.len(), "others were ended for the same reason");
        }
    }

    fn open(&mut self, peer: SocketAddr) -> Option<Session> {
        Session::connect(self, Some(peer))
    }

    fn client_memory(&self) -> Arc<ClientMemory> {
        Arc::clone(self.agent().client_memory())
    }

    #[inline]
    fn is_bound(&self, session: &Session) -> bool {
        session.is_bound()
    }

    fn feed(&mut self, session: &mut Session, input: &[u8], out: &mut Vec<u8>) -> Feed {
        session.feed(self, input, out)
    }

    #[inline]
    fn read_bytes_max(&self, session: &Session) -> usize {
        session.read_bytes_max(self)
    }

    fn step(&mut self, session: &mut Session, out: &mut Vec<u8>) -> State {
        session.step(self, out)
    }

    fn poll_updates(
        &mut self,
        session: &mut Session,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<State> {
        session.poll_updates(self, cx, out)
    }

    fn poll_behind_backlog(&mut self, session: &mut Session, cx: &mut Context<'_>) -> Poll<State> {
        session.poll_behind_backlog(self, cx)
    }

    fn poll_wakes(&mut self, cx: &mut Context<'_>) {
        dsa::Worker::poll_wakes(self, cx);
    }

    fn expects_notices(&self, session: &Session) -> bool {
        session.expects_notices()
    }

    fn poll_notices(&mut self, session: &mut Session, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        session.poll_notices(self, cx, out);
    }

    #[inline]
    fn holds(&mut self, session: &Session) -> bool {
        session.holds()
    }

    fn end_run(&mut self, session: &mut Session) {
        session.end_run();
    }

    fn shutdown(&mut self, session: &mut Session, out: &mut Vec<u8>) {
        session.shutdown(out);
    }

    fn close(&mut self, session: Session) {
        session.close(self);
    }
}

fn tell_of_limit(notice: &MemoryNotice) {
    let MemoryNotice { is_over, refused, used, live, held, limit } = notice;
    let text = match is_over {
        true => "memory-max is no longer reached: changes are accepted again",
        false => "memory-max is reached: changes are refused",
    };
    tracing::warn!(refused, used, live, held, limit, "{text}");
}

fn tell_of_end(search: &Revoked, now: Now) {
    let (peer, bytes) = (search.holder.peer.map(tracing::field::display), search.bytes);
    let seconds = now.monotonic_ns.saturating_sub(search.holder.since_ns) / 1_000_000_000;
    let text = "a search was ended to free the old versions that it held";
    tracing::warn!(peer, bytes, seconds, "{text}");
}
