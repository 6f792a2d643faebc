//! The writer: moves blocks from memory to the disk. There is one for a log; it is stepped by a thread, or by a
//! simulator.

use crate::error::Poisoned;
use crate::files::LogFile;
use crate::format::{BLOCK_HEADER_BYTES, BlockHeader, body_crc};
use crate::log::Log;
use crate::place::{Index, Place};
use crate::settings::Mode;
use crate::state::{Health, Taken};
use env::planted::{self, Fault};
use std::sync::Arc;

/// Moves blocks from memory to the disk.
#[derive(Debug)]
pub struct Writer {
    log: Arc<Log>,
    /// Random, of this opening of the log.
    run: u64,
    /// Checksum in the header of the last block written.
    previous: u32,
    /// End of the last block written.
    end: Place,
    /// Everything before it is synced.
    mark: Place,
    /// Last record written.
    written: Index,
    /// Files with writes that are not synced, in order.
    dirty: Vec<Arc<LogFile>>,
    last_sync_ms: u64,
    /// There are blocks that no mark on the disk covers.
    unmarked: bool,
}

/// A block on its way to the disk.
#[derive(Debug)]
pub struct Block(Taken);

impl Block {
    /// Index of the last record in it.
    pub fn last(&self) -> Index {
        Index(self.0.filled.next().0 - 1)
    }
}

/// What [`Writer::step`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Something is safe or synced that was not before.
    Moved,
    /// There was nothing to do.
    Idle {
        /// When there will be, though nothing is appended: milliseconds of the clock that steps are told.
        due_ms: Option<u64>,
    },
}

impl Writer {
    /// `end` is where the next block goes; everything before it is synced.
    pub(crate) fn new(log: Arc<Log>, run: u64, previous: u32, end: Place, unmarked: bool) -> Writer {
        let written = log.synced();
        Writer { log, run, previous, end, mark: end, written, dirty: Vec::new(), last_sync_ms: 0, unmarked }
    }

    /// Takes what was appended so far. The next block fills from here on.
    pub fn take(&mut self) -> Option<Block> {
        let (taken, moved_on) = {
            let mut state = self.log.lock();
            let file = state.current.number();
            let taken = state.take()?;
            let moved_on = state.current.number() != file;
            (taken, moved_on)
        };
        if moved_on {
            self.log.wake_files();
        }
        Some(Block(taken))
    }

    /// Writes a block at its place. Blocks are written in the order in which they were taken.
    ///
    /// # Errors
    /// The log is poisoned.
    pub fn write(&mut self, block: &mut Block) -> Result<(), Poisoned> {
        let Taken { filled, file, place } = &mut block.0;
        let body = &filled.bytes[BLOCK_HEADER_BYTES..];
        let header = BlockHeader {
            place: *place,
            mark: self.mark,
            first: filled.first,
            run: self.run,
            body_bytes: body.len() as u32,
            records: filled.records,
            body_crc: body_crc(file.seed, body),
            previous: self.previous,
        };
        let (bytes, crc) = header.encode(file.seed);
        filled.bytes[..BLOCK_HEADER_BYTES].copy_from_slice(&bytes);
        filled.bytes.resize(header.stride(), 0);
        file.file
            .write_at(&filled.bytes, u64::from(place.offset))
            .map_err(|error| self.log.poison(&error))?;
        self.unmarked = true;
        self.previous = crc;
        self.end = Place { file: place.file, offset: place.offset + header.stride() as u32 };
        self.written = Index(header.next().0 - 1);
        if self.dirty.last().is_none_or(|last| last.number() != file.number()) {
            self.dirty.push(file.clone());
        }
        Ok(())
    }

    /// Makes all that was written durable.
    ///
    /// # Errors
    /// The log is poisoned. Nothing is retried: after a failed sync the system may hold as clean what it never wrote.
    pub fn sync(&mut self) -> Result<(), Poisoned> {
        // After a failure nothing is left to sync, and still nothing is known to be.
        if let Some(poisoned) = self.log.poisoned() {
            return Err(poisoned);
        }
        for file in self.dirty.drain(..) {
            if !planted::is(Fault::LogNotSynced) {
                file.file.sync_data().map_err(|error| self.log.poison(&error))?;
            }
        }
        self.mark = self.end;
        self.log.set_synced(self.written);
        Ok(())
    }

    /// Reports a block's records as safe, in the order in which blocks were taken, and gives its buffer back. Whether it
    /// was synced before is for the mode to say.
    pub fn settle(&mut self, block: Block) {
        let last = block.last();
        assert!(last <= self.written, "a block is written before it is reported");
        assert!(
            self.log.settings.mode != Mode::Always || last <= self.log.synced(),
            "a block is synced before it is reported"
        );
        self.log.lock().free = block.0.filled.bytes;
        self.log.set_safe(last);
    }

    /// Does what is due at `now_ms`: writes what was appended and syncs as the mode says.
    ///
    /// # Errors
    /// The log is poisoned.
    pub fn step(&mut self, now_ms: u64) -> Result<Step, Poisoned> {
        if let Some(poisoned) = self.log.poisoned() {
            return Err(poisoned);
        }
        // Looked at before the block is taken: what was appended before the request is in it.
        let wanted = std::mem::take(&mut self.log.lock().sync_wanted);
        let block = self.take();
        if let Some(mut block) = block {
            self.write(&mut block)?;
            match planted::is(Fault::AnsweredBeforeSync) {
                true => self.log.set_synced(self.written),
                false => self.sync_if(wanted || self.sync_is_due(now_ms), now_ms)?,
            }
            self.settle(block);
            return Ok(Step::Moved);
        }
        let due = wanted || self.sync_is_due(now_ms);
        if due && !self.dirty.is_empty() {
            self.sync_if(true, now_ms)?;
            return Ok(Step::Moved);
        }
        Ok(Step::Idle { due_ms: self.due_ms() })
    }

    fn sync_if(&mut self, due: bool, now_ms: u64) -> Result<(), Poisoned> {
        if due {
            self.sync()?;
            self.last_sync_ms = now_ms;
        }
        Ok(())
    }

    fn sync_is_due(&self, now_ms: u64) -> bool {
        match self.log.settings.mode {
            Mode::Always => true,
            Mode::Interval { ms } => now_ms.saturating_sub(self.last_sync_ms) >= ms,
            Mode::None => false,
        }
    }

    fn due_ms(&self) -> Option<u64> {
        match self.log.settings.mode {
            Mode::Interval { ms } if !self.dirty.is_empty() => Some(self.last_sync_ms.saturating_add(ms)),
            _ => None,
        }
    }

    /// Writes and syncs everything, then a mark that says so: what happens to the last block later is seen as damage, not
    /// taken for a write that was cut short. Nothing can be appended afterwards.
    ///
    /// # Errors
    /// The log is poisoned.
    pub fn close(mut self) -> Result<(), Poisoned> {
        {
            let mut state = self.log.lock();
            if let Health::Poisoned(poisoned) = &state.health {
                return Err(poisoned.clone());
            }
            state.health = Health::Closed;
        }
        while let Some(mut block) = self.take() {
            self.write(&mut block)?;
            self.sync()?;
            self.settle(block);
        }
        self.sync()?;
        let closing = if self.unmarked { self.log.lock().take_empty() } else { None };
        if let Some(taken) = closing {
            self.write(&mut Block(taken))?;
            self.sync()?;
        }
        Ok(())
    }

    /// The log that it writes.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }
}
