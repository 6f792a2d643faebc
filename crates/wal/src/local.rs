//! A log that has one replica: what its files have is committed.

use crate::error::{Poisoned, Refused};
use crate::format::Kind;
use crate::log::Log;
use crate::place::Index;
use crate::shard_log::{Committed, Encode, Mark, Position, Role, ShardLog, Ticket};
use crate::writer::{SyncDone, Write, Writer};
use std::sync::Arc;

/// See the module. It always leads, in term 0; a record is committed when it is as safe as the mode promises.
#[derive(Debug)]
pub struct LocalLog {
    writer: Writer,
    barriers: Ticket,
}

impl LocalLog {
    /// The log that a writer writes.
    pub fn new(writer: Writer) -> LocalLog {
        LocalLog { writer, barriers: Ticket(0) }
    }
}

fn local(index: Index) -> Position {
    Position { index, term: 0 }
}

impl ShardLog for LocalLog {
    fn role(&self) -> Role {
        Role::Leader { term: 0 }
    }

    fn propose(&mut self, kind: Kind, encode: Encode<'_>) -> Result<Position, Refused> {
        let mut batch = self.writer.log().batch();
        let at = local(batch.next_index());
        batch.append(kind, |out| encode(at, out)).map(local)
    }

    fn write(&mut self, now_ms: u64) -> Result<Write, Poisoned> {
        self.writer.begin_step(now_ms)
    }

    fn sync_done(&mut self, done: SyncDone) -> Result<(), Poisoned> {
        self.writer.end_step(done)
    }

    fn committed(&mut self, each: &mut dyn FnMut(Committed<'_>) -> bool) {
        self.writer.take_safe(&mut |index, kind, payload| {
            let is_taken = each(Committed { at: local(index), kind, payload });
            assert!(is_taken, "what was proposed here can be applied");
        });
    }

    fn barrier(&mut self) -> Ticket {
        self.barriers.0 += 1;
        self.barriers
    }

    fn passed(&self) -> (Ticket, Index) {
        (self.barriers, self.writer.log().safe())
    }

    fn durable(&self) -> Index {
        self.writer.log().synced()
    }

    fn mark(&self, at: Index) -> Mark {
        Mark { bytes: Vec::new(), record: at }
    }

    fn snapshot_done(&mut self, _: Index) {}

    fn flush(&mut self) -> Result<bool, Poisoned> {
        if self.writer.is_syncing() {
            return Ok(false);
        }
        self.writer.sync().map(|()| true)
    }

    fn close(self: Box<Self>) -> Result<(), Poisoned> {
        self.writer.close()
    }

    fn files(&self) -> &Arc<Log> {
        self.writer.log()
    }
}
