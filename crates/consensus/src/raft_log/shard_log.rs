//! A replica's end of the log, as the committer uses it.

use super::RaftLog;
use crate::faults;
use crate::mark::SnapshotMark;
use crate::member::Base;
use crate::record::{ENTRY_HEAD_BYTES, HardState};
use env::planted;
use raft::eraftpb::EntryType;
use raft::{StateRole, Storage as _};
use std::sync::Arc;
use wal::{
    Committed, Encode, Index, Kind, Lease, Log, Mark, Poisoned, Position, ReadMode, Refused, Role, ShardLog,
    SyncDone, Ticket, Write,
};

impl ShardLog for RaftLog {
    fn role(&self) -> Role {
        match self.core.raft.state {
            StateRole::Leader => Role::Leader { term: self.core.raft.term },
            _ => Role::Follower,
        }
    }

    fn leader(&self) -> Option<(u64, u64)> {
        let raft = &self.core.raft;
        (raft.leader_id != 0).then_some((raft.leader_id, raft.term))
    }

    fn propose(&mut self, kind: Kind, encode: Encode<'_>) -> Result<Position, Refused> {
        assert!(kind == Kind::Parcel, "an entry has a parcel, and nothing else is proposed by a replica");
        if !self.leads() {
            return Err(Refused::NotLeader);
        }
        let is_waited_for = self.transfers.is_waited_for(self.now_ms)
            && self.core.store().bytes() >= self.retention.bytes_for_followers;
        if self.persist.is_full() || is_waited_for {
            return Err(Refused::Full);
        }
        self.must_have_room(0)?;
        let raft = &self.core.raft;
        let at = Position { index: Index(raft.raft_log.last_index() + 1), term: raft.term };
        let mut payload = Vec::new();
        encode(at, &mut payload);
        assert!(!payload.is_empty(), "an empty entry begins a term");
        if payload.len() + ENTRY_HEAD_BYTES > self.persist.log().payload_bytes_max() {
            return Err(Refused::TooLong);
        }
        self.must_have_room(payload.len() + ENTRY_HEAD_BYTES)?;
        // It is refused while too much is not committed, or while another replica is to lead: both pass.
        self.core.propose(Vec::new(), payload).map_err(|_| Refused::Full)?;
        assert!(self.core.raft.raft_log.last_index() == at.index.0, "what is proposed is the last entry");
        self.notice.on_proposed(&self.core);
        Ok(at)
    }

    fn write(&mut self, now_ms: u64) -> Result<Write, Poisoned> {
        self.now_ms = now_ms;
        if let Some(poisoned) = self.persist.log().poisoned() {
            return Err(poisoned);
        }
        self.promise.begin_step(now_ms);
        self.leave_if_removed();
        self.receive();
        self.tell_leader();
        self.tick();
        self.release_entries();
        self.serve();
        self.publish();
        self.transfer_for_room();
        self.ask();
        self.run();
        self.notice.step(&mut self.core, now_ms);
        self.run();
        self.send_delayed();
        Ok(match self.persist.begin_step(now_ms)? {
            Write::Idle { .. } => {
                let due_ms = [self.ticks.due_ms(), self.notice.due_ms(), self.delayed.due_ms()]
                    .into_iter()
                    .flatten()
                    .min();
                Write::Idle { due_ms }
            }
            written => written,
        })
    }

    fn sync_done(&mut self, done: SyncDone) -> Result<(), Poisoned> {
        self.persist.end_step(done)?;
        self.leave_if_removed();
        self.run();
        Ok(())
    }

    fn committed(&mut self, each: &mut dyn FnMut(Committed<'_>) -> bool) {
        let mut last = None;
        while let Some(entry) = self.committed.pop_front() {
            let at = Position { index: Index(entry.index), term: entry.term };
            let is_taken = if entry.get_entry_type() != EntryType::EntryNormal {
                self.apply_change(&entry);
                each(Committed { at, kind: Kind::Entry, payload: &[] })
            } else {
                let kind = if entry.data.is_empty() { Kind::Entry } else { Kind::Parcel };
                each(Committed { at, kind, payload: &entry.data })
            };
            if !is_taken {
                self.committed.push_front(entry);
                break;
            }
            last = Some(entry.index);
        }
        if let Some(last) = last {
            self.core.advance_apply_to(last);
            self.reads.on_applied(last);
            self.publish_lease();
        }
    }

    fn barrier(&mut self) -> Ticket {
        self.reads.ask()
    }

    fn passed(&self) -> (Ticket, Index) {
        self.reads.passed()
    }

    fn set_read_mode(&mut self, mode: ReadMode) {
        self.lease.want(mode.by_lease);
        self.read_mode = mode;
    }

    fn lease(&self) -> Option<Arc<Lease>> {
        Some(self.lease.shared())
    }

    fn current_ms(&self) -> Option<u64> {
        self.reads.current_ms()
    }

    fn durable(&self) -> Index {
        Index(self.core.raft.raft_log.persisted)
    }

    fn mark(&self, at: Index) -> Mark {
        let entries = self.core.store();
        let there = "what was handed out since the last snapshot is in memory";
        let (term, record) = (entries.term(at.0).expect(there), entries.record(at.0).expect(there));
        let members = match planted::is(faults::SNAPSHOT_WITHOUT_MEMBERS) {
            true => entries.snapshot().members.clone(),
            false => entries.members().1.clone(),
        };
        let base = Base { index: at.0, term, members };
        let HardState { term, vote, .. } = entries.hard_state;
        let mark = SnapshotMark { base, record, term, vote };
        Mark { bytes: mark.encode(), record }
    }

    fn snapshot_done(&mut self, at: Index) {
        if at.0 > self.core.store().snapshot().index {
            self.core.mut_store().snapshot_done(at.0);
        }
    }

    /// What is handed out as committed is on this disk by then.
    fn flush(&mut self) -> Result<bool, Poisoned> {
        match self.persist.log().poisoned() {
            Some(poisoned) => Err(poisoned),
            None => Ok(!self.persist.is_syncing()),
        }
    }

    fn close(self: Box<Self>) -> Result<(), Poisoned> {
        self.persist.close()
    }

    fn files(&self) -> &Arc<Log> {
        self.persist.log()
    }
}
