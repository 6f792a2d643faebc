//! A checkpoint as bytes in memory, from which a directory is made with other settings where nothing may be written. It takes as
//! much memory as the directory; the one that it was taken of can be dropped before the next is made.

use super::on_all_cores;
use schema::Schema;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use store::{Checkpoint, Meta, Restore, RestoreError, Segment, Settings, Shard};

/// Addresses of the slot map that are taken at once.
const SLOTS_TOGETHER: usize = 1 << 17;

/// See the module.
pub struct Held {
    meta: Vec<u8>,
    slots: Vec<u8>,
    segments: BTreeMap<Segment, Vec<u8>>,
}

impl Held {
    /// Copies a checkpoint.
    pub fn of(checkpoint: Checkpoint) -> Held {
        let (meta, mut slots, mut segments) = (checkpoint.meta(), Vec::new(), BTreeMap::new());
        for from in (0..checkpoint.slots()).step_by(SLOTS_TOGETHER) {
            checkpoint.push_slots(from, SLOTS_TOGETHER, &mut slots);
        }
        let copied = checkpoint.into_segments().write_each(|segment, bytes| -> Result<(), Infallible> {
            segments.insert(segment, bytes.to_vec());
            Ok(())
        });
        copied.unwrap_or_else(|never| match never {});
        Held { meta, slots, segments }
    }

    /// Makes a directory of it.
    ///
    /// # Errors
    /// When it does not fit settings or schema.
    pub fn restore(&self, settings: Settings, schema: &Arc<Schema>) -> Result<Arc<Shard>, RestoreError> {
        let mut restore = Restore::begin(Meta::read(&self.meta)?, settings, Arc::clone(schema))?;
        let (segments, slots) = restore.memory();
        for part in segments {
            part.bytes.copy_from_slice(&self.segments[&part.segment]);
        }
        slots.copy_from_slice(&self.slots);
        restore.finish(&on_all_cores)
    }
}
