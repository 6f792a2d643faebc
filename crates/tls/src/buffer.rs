//! The buffers for encrypted bytes that all connections of a thread share. An idle connection holds none.

/// A larger buffer is given back to the allocator after use.
const KEEP_BYTES: usize = 4 << 20;

/// Outgoing bytes that wait to be sent. The memory behind them is written once when it is taken from the allocator, and not with each use.
#[derive(Default)]
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
    filled: usize,
}

impl Outgoing {
    /// What is to be sent.
    pub(crate) fn filled(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }

    /// Room for so many bytes behind that.
    pub(super) fn room(&mut self, bytes: usize) -> &mut [u8] {
        let end = self.filled + bytes;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        &mut self.bytes[self.filled..end]
    }

    /// So many bytes of the room are to be sent.
    pub(super) fn wrote(&mut self, bytes: usize) {
        assert!(self.filled + bytes <= self.bytes.len(), "no more is written than there is room for");
        self.filled += bytes;
    }

    /// Empties it.
    pub(super) fn clear(&mut self) {
        self.filled = 0;
        if self.bytes.len() > KEEP_BYTES {
            self.bytes = Vec::new();
        }
    }
}

/// Those of one thread, borrowed for the length of one read or write.
#[derive(Default)]
pub struct Buffers {
    /// What was read: what a connection kept of a record, and room for one read. Empty before the first.
    pub(super) input: Vec<u8>,
    pub(super) output: Outgoing,
}

impl Buffers {
    /// Makes room for a read up to `end`. A thread without secured connections has none.
    pub(super) fn prepare(&mut self, end: usize) {
        if self.input.len() < end {
            self.input.resize(end, 0);
        }
    }
}
