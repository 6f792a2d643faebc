//! The log of the null responder: the least that makes a modify durable before it is answered.

use env::disk::{Disk, File, RealDisk};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Bytes of a log file, which is written round and round: as a server's log whose files are used again.
const FILE_BYTES: u64 = 64 << 20;

/// The log of one thread: a file written beforehand, so that a sync has nothing but data to write.
pub(super) struct Log {
    file: Arc<dyn File>,
    at: u64,
    records: Vec<u8>,
}

impl Log {
    /// A new log in a folder, for thread `index`.
    pub(super) fn create(folder: &Path, index: usize) -> io::Result<Log> {
        let file = RealDisk.create(&folder.join(format!("null-{index}.log")))?;
        file.allocate(FILE_BYTES)?;
        file.sync_data()?;
        Ok(Log { file, at: 0, records: Vec::new() })
    }

    /// A modify is to be kept.
    #[inline(always)]
    pub(super) fn append(&mut self, key: u64, value: &[u8]) {
        self.records.extend_from_slice(&key.to_le_bytes());
        assert!(value.len() <= super::table::VALUE_MAX, "the length of a value has one byte");
        self.records.push(value.len() as u8);
        self.records.extend_from_slice(value);
    }

    /// Makes what was appended durable: one write, one sync.
    pub(super) fn commit(&mut self) -> io::Result<()> {
        if self.records.is_empty() {
            return Ok(());
        }
        if self.at + self.records.len() as u64 > FILE_BYTES {
            self.at = 0;
        }
        let end = self.at + self.records.len() as u64;
        assert!(end <= FILE_BYTES, "records are written within the file");
        self.file.write_at(&self.records, self.at)?;
        self.at = end;
        self.records.clear();
        self.file.sync_data()
    }
}
