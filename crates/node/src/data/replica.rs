//! The data directory of a replica: what it recovers, and how one comes to be.

use super::backup;
use super::dir::Data;
use super::error::DataError;
use super::pass::{Maker, Pass, too_many};
use super::recover::{Recovered, Settled, Stage, Wanted, make_room};
use super::rules::Rules;
use super::snapshot::SnapshotStore;
use crate::commit::{Committer, LogEnd, Queue};
use consensus::links::Links;
use consensus::{Base, Members, RaftLog, Recovery, ReplicaId, Retention, SnapshotMark};
use schema::Schema;
use std::sync::Arc;
use wal::Mode;

/// What a replica is started with, besides what a directory is.
pub struct Replication {
    /// Its name in the group.
    pub id: ReplicaId,
    /// Its links to the others.
    pub links: Box<dyn Links>,
    /// What stays in memory for those that are behind.
    pub retention: Retention,
}

/// The term of what a directory held before it had replicas.
const FIRST_TERM: u64 = 1;

impl Data {
    /// Makes this directory the one from which each of `members` goes on: recovers it, writes what it holds into a snapshot, and ends.
    /// Its log goes on as that of a replica. A copy of it is what another replica begins with.
    ///
    /// # Errors
    /// As [`Data::recover`]. The directory is what it was before, or a replica.
    pub fn begin_replication(&self, wanted: Wanted<'_>, members: Members) -> Result<(), DataError> {
        let wall_ms = wanted.config.started_ms;
        let Recovered { committer, mut snapshots, .. } = self.recover(wanted, &mut |_| ())?;
        let taken = committer.close(wall_ms, 0).map_err(std::io::Error::other)?;
        let (mut point, index) = taken.ok_or_else(too_many)?;
        // Up to here records of the files are numbered as entries are.
        let base = Base { index: index.0, term: FIRST_TERM, members };
        point.mark.bytes = SnapshotMark { base, record: index, term: FIRST_TERM, vote: 0 }.encode();
        snapshots.write(point, index)?;
        Ok(())
    }

    /// Makes the directory that a replica's snapshot describes. What the log has after it is applied as the replica learns that it is
    /// committed. Settings come with the log: those that are wanted say where they are copied to. A difference of outcomes is not for one
    /// replica to accept.
    ///
    /// # Errors
    /// See [`DataError`].
    pub fn recover_replica(
        &self,
        wanted: Wanted<'_>,
        Replication { id, links, retention }: Replication,
        on_progress: &mut dyn FnMut(Stage),
    ) -> Result<Recovered, DataError> {
        let Wanted { mut config, schema, log, limits, entropy, settings, .. } = wanted;
        let schema = self.replica_schema(&schema)?;
        let schema_time = self.schema_time(&schema, config.started_ms)?;
        config.schema_since_ms = schema_time.since_ms;
        if backup::Generation::read(&*self.disk, self.dir())?.is_some() {
            return Err(self.is_backup());
        }
        if log.mode != Mode::Always {
            let text = "a replica of a cluster syncs what it answers: `sync` must be `always`";
            return Err(DataError::Facts(self.dir.clone(), text.to_owned()));
        }
        let snapshots = SnapshotStore::new(self.snapshots()?);
        let base = self.base(snapshots.snapshots(), None)?;
        // A start changes nothing of it: all replicas do that together, by a command in the log.
        let behaviour = base.rules.as_ref().map_or(self.versions.newest, Rules::behaviour);
        self.must_know(behaviour)?;
        let rules = Rules::of(&schema, &config.store.suffixes, config.store.schema_check, behaviour);
        let unread = |what| DataError::Facts(self.snapshot_dir().join("manifest"), what);
        let mark = SnapshotMark::decode(base.from.0, &base.mark).map_err(unread)?;
        let maker = match base.rules.as_ref().filter(|others| !others.is_recorded_as(&rules)) {
            None => Maker { rules, schema, config },
            Some(others) if rules.extend(others) => self.before_additions(others, &base, &schema, config)?,
            Some(others) => return Err(rules.differ_from_all(others)),
        };
        self.text_of(&maker.rules)?;
        let rules = maker.rules.clone();
        let Pass { dsa, replay } = self.begin_pass(&base, snapshots.snapshots(), maker, on_progress)?;
        let mut recovery = Recovery::default();
        let opened =
            wal::open(Arc::clone(&self.disk), &self.log_dir(), log, entropy, mark.record, &mut |record| {
                recovery.take(record.index, record.kind, record.payload)
            })?;
        let records = opened.records;
        let damaged = |what| DataError::Facts(self.log_dir(), what);
        let recovered = recovery.finish(mark).map_err(damaged)?;
        let log = RaftLog::new(id, recovered, opened.writer, links, retention, entropy.next_u64());
        let control = log.control();
        dsa.shard().writer().find_free_ids();
        self.keep_schema_time(&schema_time)?;
        make_room(&dsa);
        let queue = Arc::new(Queue::default());
        let end = LogEnd {
            time_ms: base.state.time_ms,
            rules,
            behaviour,
            versions: self.versions,
            settings: base.settings,
        };
        let mut committer =
            Committer::new(Arc::clone(&dsa), replay.applier, end, Box::new(log), Arc::clone(&queue), limits);
        if let Some(Settled { file, .. }) = settings {
            committer.copy_settings_to(file);
        }
        committer.copy_additions_to(self.added_file());
        let mut differs = self.differs()?;
        // The log goes back to the own snapshot only: one that is to replace it is no earlier.
        differs.entry = differs.entry.map(|entry| entry.max(base.from.0));
        let committer = committer.comparing(id, control.clone(), differs);
        dsa.journal_to(queue);
        Ok(Recovered {
            dsa,
            committer,
            snapshots,
            records,
            cut: opened.cut,
            control: Some(control),
            differences: Vec::new(),
        })
    }

    /// The schema by which a replica is served: what its snapshot has, whatever this program has in the files that both name, and what is known to
    /// have been added since. `wanted` is what the start asks for, with the attributes of settings. It is that itself where there is no
    /// snapshot.
    ///
    /// # Errors
    /// The start names other files; or see [`DataError`].
    pub fn replica_schema(&self, wanted: &Arc<Schema>) -> Result<Arc<Schema>, DataError> {
        let wanted_rules = || Rules::of(wanted, &[], true, self.versions.newest);
        let Some(recorded) = self.rules_of_snapshot()? else { return Ok(Arc::clone(wanted)) };
        if !recorded.names_files_of(wanted) {
            return Err(wanted_rules().differ_in_schema(&recorded));
        }
        let unusable = |what| DataError::Facts(self.snapshot_dir().join("manifest"), what);
        recorded.schema_with(wanted, self.added(&recorded)?).map_err(unusable)
    }

    /// By what a directory is made whose log, behind its snapshot, adds definitions to the schema that this start knows already. Settings
    /// that name some of them come with the log, too.
    fn before_additions(
        &self,
        rules: &Rules,
        base: &super::pass::Base,
        like: &Schema,
        mut config: dsa::Config,
    ) -> Result<Maker, DataError> {
        let unusable = |what| DataError::Facts(self.snapshot_dir().join("manifest"), what);
        let schema = rules.schema(like).map_err(unusable)?;
        if let Some(text) = &base.settings {
            config.settings.record = super::settings::parse(text).map_err(unusable)?;
        }
        let indexes = std::mem::take(&mut config.store.indexes);
        (config.store.indexes, config.settings.later_indexes) =
            indexes.into_iter().partition(|index| index.attribute_type(&schema).is_ok());
        Ok(Maker { rules: rules.clone(), schema, config })
    }
}
