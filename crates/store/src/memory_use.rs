//! The memory report: bytes by part. The writer measures as it goes; who wants to know now asks for it.
//!
//! The numbers are gauges of their own, stored one by one: a reader may see some from before a measurement and some from after
//! it. A command is held to the limit by what the writer counts at that moment, but for the indexes, whose number is taken
//! from here. Updates that wait for the log are held to it by the numbers here alone, so that nobody waits for the writer.

use crate::shard::{Shard, Writer};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes by part, as they were measured last.
#[derive(Default)]
pub(crate) struct MemoryGauges {
    segments: AtomicU64,
    live: AtomicU64,
    slots: AtomicU64,
    dn: AtomicU64,
    children: AtomicU64,
    pub(crate) indexes: AtomicU64,
    longest: AtomicU64,
    /// Bytes of objects that died, or were moved, since the shard was made: only differences mean anything.
    dead_bytes: AtomicU64,
    shapes: AtomicU64,
    appended: AtomicU64,
    moved: AtomicU64,
    refused: AtomicU64,
}

impl MemoryGauges {
    pub(crate) fn dead_bytes(&self) -> u64 {
        self.dead_bytes.load(Ordering::Relaxed)
    }
}

/// Memory by part, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryUse {
    /// Segments that hold records and tree nodes.
    pub segments: u64,
    /// Of these, the newest versions.
    pub live: u64,
    /// The slot table.
    pub slots: u64,
    /// The DN hash.
    pub dn: u64,
    /// Children of each entry.
    pub children: u64,
    /// Attribute indexes, without the trees that lie in the segments.
    pub indexes: u64,
    /// Shapes.
    pub shapes: u64,
    /// Of the segments, those that the longest object so far takes: so much is needed to write any entry anew.
    pub longest: u64,
    /// Bytes ever written to segments.
    pub appended: u64,
    /// Of these, by the cleaner: `appended / (appended - moved)` is its write amplification.
    pub moved: u64,
}

impl MemoryUse {
    /// All parts that take memory.
    pub fn total(&self) -> u64 {
        self.segments + self.slots + self.dn + self.children + self.indexes + self.shapes
    }
}

impl Shard {
    /// Something was refused for want of memory.
    #[cold]
    pub fn note_refused_for_memory(&self) {
        self.memory.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// How often something was refused for want of memory since the start.
    pub fn refused_for_memory(&self) -> u64 {
        self.memory.refused.load(Ordering::Relaxed)
    }

    /// Memory by part, as it was measured last.
    pub fn memory(&self) -> MemoryUse {
        let of = |gauge: &AtomicU64| gauge.load(Ordering::Relaxed);
        MemoryUse {
            segments: of(&self.memory.segments),
            live: of(&self.memory.live),
            slots: of(&self.memory.slots),
            dn: of(&self.memory.dn),
            children: of(&self.memory.children),
            indexes: of(&self.memory.indexes),
            shapes: of(&self.memory.shapes),
            longest: of(&self.memory.longest),
            appended: of(&self.memory.appended),
            moved: of(&self.memory.moved),
        }
    }

    /// Brings the memory report up to date, unless somebody has the writer's role: that one measures as it goes.
    pub fn measure(&self) {
        if let Some(writer) = self.try_writer() {
            writer.measure();
        }
    }
}

impl Writer<'_> {
    pub(crate) fn note_dead(&self) {
        let heap = &self.state.heap;
        self.shard.memory.dead_bytes.store(heap.appended.wrapping_sub(heap.bytes_live()), Ordering::Relaxed);
    }

    /// Brings the memory report up to date.
    pub fn measure(&self) {
        let (state, gauges) = (&*self.state, &self.shard.memory);
        let set = |gauge: &AtomicU64, bytes: u64| gauge.store(bytes, Ordering::Relaxed);
        set(&gauges.segments, state.heap.bytes_used());
        set(&gauges.live, state.heap.bytes_live());
        set(&gauges.slots, state.heap.bytes_slots());
        set(&gauges.dn, self.shard.dn_table.bytes(&state.dn) as u64);
        set(&gauges.children, self.shard.children.bytes(&state.children) as u64);
        set(&gauges.indexes, self.view().indexes().measure(&state.indexes, self.view()));
        set(&gauges.longest, state.heap.bytes_of_longest());
        self.note_dead();
        set(&gauges.shapes, state.shapes.bytes() as u64);
        set(&gauges.appended, state.heap.appended);
        set(&gauges.moved, state.heap.moved);
    }
}
