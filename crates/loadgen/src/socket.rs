//! A connection whose other side may take less than it is sent.

use env::poll::{Connection, Interest, Poller, Progress};

/// A connection, and bytes that its socket had no room for.
pub(crate) struct Socket {
    pub(crate) connection: Connection,
    token: u64,
    pending: Vec<u8>,
    /// What is waited for while bytes are pending; else it is something to read.
    blocked: Interest,
}

impl Socket {
    pub(crate) fn new(connection: Connection, token: u64, blocked: Interest) -> Socket {
        Socket { connection, token, pending: Vec::new(), blocked }
    }

    pub(crate) fn token(&self) -> u64 {
        self.token
    }

    /// Are there bytes that wait for room?
    pub(crate) fn is_blocked(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Sends bytes, behind those that wait for room; `false` when the connection has ended.
    pub(crate) fn send(&mut self, bytes: &[u8], poller: &Poller) -> bool {
        if self.is_blocked() {
            self.pending.extend_from_slice(bytes);
            return true;
        }
        let sent = match self.connection.write(bytes) {
            Progress::Bytes(sent) => sent,
            Progress::Later => 0,
            Progress::Closed => return false,
        };
        assert!(sent <= bytes.len(), "a socket takes no more than it was given");
        if sent == bytes.len() {
            return true;
        }
        self.pending.extend_from_slice(&bytes[sent..]);
        poller.modify(&self.connection, self.token, self.blocked).is_ok()
    }

    /// Sends what waits when there is room again; `false` when the connection has ended.
    pub(crate) fn flush(&mut self, poller: &Poller) -> bool {
        if !self.is_blocked() {
            return true;
        }
        match self.connection.write(&self.pending) {
            Progress::Bytes(sent) => {
                assert!(sent <= self.pending.len(), "a socket takes no more than it was given");
                self.pending.drain(..sent);
            }
            Progress::Later => {}
            Progress::Closed => return false,
        }
        self.is_blocked() || poller.modify(&self.connection, self.token, Interest::Read).is_ok()
    }
}
