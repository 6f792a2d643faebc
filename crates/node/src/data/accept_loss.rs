//! The directory of one node of a cluster whose majority is lost becomes that of the first node of a new one: the whole of its log counts, and
//! a snapshot with other members begins the new cluster.

use super::dir::Data;
use super::entries::Tail;
use super::error::DataError;
use super::pass::Pass;
use super::recover::Stage;
use super::snapshot::SnapshotStore;
use super::{backup, current};
use consensus::{Base, Members, Recovery, SnapshotMark, WholeLog};
use dsa::Dsa;
use env::entropy::Entropy;
use schema::Schema;
use std::sync::Arc;
use wal::Index;

/// What one node has of its cluster.
pub struct Remains {
    /// What its log comes to.
    pub log: WholeLog,
    /// When the last change in it was given, in milliseconds since 1970; 0 if there was none.
    pub last_ms: u64,
    /// The last record of its files.
    record: Index,
    pass: Pass,
}

impl Remains {
    /// The directory that all of it makes.
    pub fn dsa(&self) -> &Arc<Dsa> {
        &self.pass.dsa
    }
}

impl Data {
    /// Reads all that this directory of a node has, committed or not. On the disk only a torn end of the log is cut.
    /// `memory_bytes_max` is what the directory may take.
    ///
    /// # Errors
    /// See [`DataError`]; among them that it is the directory of no node.
    pub fn remains(
        &self,
        schema: &Arc<Schema>,
        memory_bytes_max: u64,
        log: wal::Settings,
        entropy: &mut dyn Entropy,
        on_progress: &mut dyn FnMut(Stage),
    ) -> Result<Remains, DataError> {
        let of_none = || {
            let text = "it is not the directory of a node of a cluster, or has no snapshot yet";
            DataError::Facts(self.dir.clone(), text.to_owned())
        };
        let mark = self.mark(&self.snapshots()?)?.ok_or_else(of_none)?;
        if backup::Generation::read(&*self.disk, self.dir())?.is_some() {
            return Err(self.is_backup());
        }
        let mut recovery = Recovery::default();
        // It is durable afterwards, as it must be before a snapshot has something of it.
        let opened =
            wal::open(Arc::clone(&self.disk), &self.log_dir(), log, entropy, mark.record, &mut |record| {
                recovery.take(record.index, record.kind, record.payload)
            })?;
        let record = opened.log.safe();
        drop(opened);
        let recovered = recovery.finish(mark).map_err(|what| DataError::Facts(self.log_dir(), what))?;
        let (log, replayed) =
            (recovered.whole(), self.replay_to(Tail::Whole, schema, memory_bytes_max, &[], on_progress)?);
        let (pass, _) = replayed.ok_or_else(of_none)?;
        assert!(pass.replay.state().0.0 == log.base.index, "all of the log was applied");
        Ok(Remains { log, last_ms: pass.replay.time_ms, record, pass })
    }

    /// Makes this directory the one from which each of `members` goes on, with all that there is. It is durable when this returns.
    ///
    /// # Errors
    /// What the disk says: the directory is what it was before, or what it is to be.
    pub fn begin_anew(&self, remains: &Remains, members: Members) -> Result<(), DataError> {
        let Remains { log: WholeLog { base, term, .. }, record, pass, .. } = remains;
        let incoming = current::folder(&self.dir, self.generation + 1);
        if backup::exists(&*self.disk, &incoming) {
            // A part of a snapshot of the other cluster.
            backup::remove_folder(&*self.disk, &incoming)?;
        }
        let mut snapshots = SnapshotStore::new(self.snapshots()?);
        // What a prepared write that was given up has left.
        snapshots.clear(&mut |_, _| ());
        let (mut point, index) = pass.point()?;
        let base = Base { members, ..base.clone() };
        point.mark.bytes = SnapshotMark { base, record: *record, term: *term, vote: 0 }.encode();
        point.mark.record = *record;
        snapshots.write(point, index)?;
        // An operator that accepts the loss takes the directory as it is.
        self.forget_difference()?;
        Ok(())
    }
}
