//! What the server needs of the layer that speaks LDAP: bytes in, bytes out, no sockets.

pub use dsa::{Feed, State};

use dsa::client_memory::ClientMemory;
use env::clock::Now;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
/// The directory, shared by all threads.
pub trait Engine: Send + Sync + 'static {
    /// One thread's part.
    type Worker: Worker;

    /// Makes the part of one thread, on that thread; `None` when there are too many already.
    fn worker(self: &Arc<Self>) -> Option<Self::Worker>;
}

/// One thread's part of the directory: scratch memory and caches. Serves all sessions of its thread, one at a time.
pub trait Worker: 'static {
    /// What is kept of one connection.
    type Session: 'static;

    /// Takes the time; called before each bundle.
    fn tick(&mut self, now: Now);

    /// Says how many of the thread's connections wait for their client to take answers.
    fn count_write_waiters(&mut self, waiters: u64) {
        let _ = waiters;
    }

    /// Called about once a second, between bundles.
    fn look_after(&mut self, now: Now) {
        let _ = now;
    }

    /// Starts a session with a client. `None` if its address has reached its limit.
    fn open(&mut self, peer: SocketAddr) -> Option<Self::Session>;

    /// Counts what connections keep for their clients.
    fn client_memory(&self) -> Arc<ClientMemory> {
        ClientMemory::new(u64::MAX)
    }

    /// Whether the client of a session has bound.
    #[inline]
    fn is_bound(&self, session: &Self::Session) -> bool {
        let _ = session;
        true
    }

    /// Takes complete messages from `input` and appends answers to `out`.
    fn feed(&mut self, session: &mut Self::Session, input: &[u8], out: &mut Vec<u8>) -> Feed;

    /// Bytes of input to offer a session at a time.
    #[inline]
    fn read_bytes_max(&self, session: &Self::Session) -> usize {
        let _ = session;
        usize::MAX
    }

    /// Goes on with what is in progress; returns when `out` has enough for one write.
    fn step(&mut self, session: &mut Self::Session, out: &mut Vec<u8>) -> State;

    /// Appends the answers to the updates that a session waits for, once they are durable. Only for sessions that said
    /// they are waiting.
    fn poll_updates(
        &mut self,
        session: &mut Self::Session,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<State> {
        let _ = (session, cx, out);
        unreachable!("these sessions never wait")
    }

    /// Called instead while the client takes nothing: what a session can do with the answers without sending them.
    fn poll_behind_backlog(&mut self, session: &mut Self::Session, cx: &mut Context<'_>) -> Poll<State> {
        let _ = (session, cx);
        Poll::Pending
    }

    /// Wakes the sessions whose updates were answered by another thread, and waits for more: called by a task of the thread
    /// that does nothing else. Sessions may be woken by others, too.
    fn poll_wakes(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }

    /// May there be something to say to an idle session on the server's own account, now or later?
    fn expects_notices(&self, session: &Self::Session) -> bool {
        let _ = session;
        false
    }

    /// Appends that, to an idle session. To be called again when the waker is woken, and when time has passed.
    fn poll_notices(&mut self, session: &mut Self::Session, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        let _ = (session, cx, out);
    }

    /// Whether what a session wrote may be kept back for more answers. Called after everything that appends to `out`.
    #[inline]
    fn holds(&mut self, session: &Self::Session) -> bool {
        let _ = session;
        false
    }

    /// What was kept back is sent, because nothing came any more.
    fn end_run(&mut self, session: &mut Self::Session) {
        let _ = session;
    }

    /// Appends a Notice of Disconnection (RFC 4511 section 4.4.1): the server ends the session on its own account.
    fn shutdown(&mut self, session: &mut Self::Session, out: &mut Vec<u8>);

    /// Ends a session whose connection is gone.
    fn close(&mut self, session: Self::Session) {
        drop(session);
    }
}
