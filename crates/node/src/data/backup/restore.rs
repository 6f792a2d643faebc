//! A data directory made of a backup, as it is or carried on to a point in time with the log that an archive and later
//! backups have. The snapshot is copied; the log is written anew, so that it is of no file that another directory goes
//! on with: what is written after the restore cannot be mistaken for what was written before.

use super::generation::{Backups, Generation, facts, remove_tree};
use super::take::{copy_snapshot, verify};
use super::until::Until;
use super::{BackupError, folder, hold, log_dir, snapshot_dir};
use crate::commit;
use crate::data::entries;
use crate::data::error::{DataError, OF_A_CLUSTER};
use crate::data::facts::{missing, unread, write_text};
use crate::data::rules_epochs::{Decided, RulesEpochs};
use crate::data::snapshot::Parts;
use crate::data::{Rules, added, rules, settings, snapshot};
use crate::faults;
use consensus::record::parts_of_entry;
use consensus::{CommittedEntries, SnapshotMark};
use dsa::journal::Command;
use dsa::parcel::Parcel;
use env::disk::{Disk, Lock};
use env::entropy::Entropy;
use env::planted;
use model::timestamp;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::Meta;
use wal::snapshot::Held;
use wal::{
    ChainEnd, FILE_HEADER_BYTES, Flow, Index, Kind, Mode, OpenError, Record, Refused, Settings, Writer,
};

/// What the folder that is being made is called, behind the name that it gets.
const UNFINISHED: &str = ".restoring";
/// Bytes of records that are written at once.
const TOGETHER_BYTES: usize = 4 << 20;

/// What was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Of which backup.
    pub generation: Generation,
    /// The last record.
    pub last: Index,
    /// Unix time in milliseconds at which it was given; `None` when it is in the snapshot.
    pub last_ms: Option<u64>,
    /// Records behind the snapshot: the first start applies them.
    pub records: u64,
    /// The log goes on after it: the point in time lies inside of what there is.
    pub goes_on: bool,
    /// Entries of a node's log behind the last one that were left out: nothing says that they are committed.
    pub uncommitted: u64,
}

/// Makes the data directory `data` of the folder of backups `from`, or of one backup in it. `archives` are folders that
/// log files were archived to. `data` must not be there, or be empty.
///
/// # Errors
/// See [`BackupError`]. Nothing is at `data` then that was not there before.
pub fn restore(
    disk: &Arc<dyn Disk>,
    from: &Path,
    archives: &[PathBuf],
    until: Until,
    data: &Path,
    entropy: &mut dyn Entropy,
    on_bytes: &mut dyn FnMut(u64, u64),
) -> Result<Restored, BackupError> {
    must_be_empty(&**disk, data)?;
    let (generation, others) = choose(disk, from, until)?;
    let follows = until != Until::End || !archives.is_empty();
    let mut sources = archives.to_vec();
    if follows {
        // The newest have most.
        sources.extend(others.iter().rev().map(|other| log_dir(&other.dir)));
    }
    let name = data.file_name().ok_or_else(|| folder(data, "this is not a valid name of a folder"))?;
    let unfinished = data.with_file_name([&*name.to_string_lossy(), UNFINISHED].concat());
    let _lock = begin(disk, &unfinished)?;
    let known = others.iter().chain([&generation]).map(|other| (other.last, other.committed)).collect();
    let work = Work { disk, generation: &generation, known, sources, until, follows, to: &unfinished };
    let restored = work.run(entropy, on_bytes).inspect_err(|_| {
        // Its room is of more use free. What cannot be removed now is removed by the next restore.
        let _ = remove_tree(&**disk, &unfinished);
    })?;
    disk.rename(&unfinished, data)?;
    disk.sync_dir(data.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new(".")))?;
    Ok(restored)
}

fn must_be_empty(disk: &dyn Disk, data: &Path) -> Result<(), BackupError> {
    let is_empty = |names: io::Result<Vec<String>>| match names {
        Ok(names) => Ok(names.is_empty()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    };
    match is_empty(disk.list(data))? && is_empty(disk.list_dirs(data))? {
        true => Ok(()),
        false => {
            Err(folder(data, "it is not empty; a restore makes a new data directory and touches no other"))
        }
    }
}

/// The folder that is being made, for this process alone; what an earlier restore left in it is gone.
fn begin(disk: &Arc<dyn Disk>, dir: &Path) -> Result<Box<dyn Lock>, BackupError> {
    let lock = |disk: &Arc<dyn Disk>| {
        disk.create_dir(dir)?;
        disk.lock_dir(dir)
    };
    let taken = |error: io::Error| match error.kind() {
        io::ErrorKind::ResourceBusy => folder(dir, "another process restores there"),
        _ => error.into(),
    };
    // Nobody else is at work on what is removed.
    let old = lock(disk).map_err(taken)?;
    remove_tree(&**disk, dir)?;
    drop(old);
    lock(disk).map_err(taken)
}

/// The backup to begin with, and those after it.
fn choose(
    disk: &Arc<dyn Disk>,
    from: &Path,
    until: Until,
) -> Result<(Generation, Vec<Generation>), BackupError> {
    if let Some(generation) = Generation::read(&**disk, from)? {
        let reason = reason_against(&**disk, &generation, until)?;
        return match reason {
            None => Ok((generation, Vec::new())),
            Some(reason) => Err(BackupError::Point(format!("{}: {reason}", from.display()))),
        };
    }
    let (mut all, wrong) = Backups::new(Arc::clone(disk), from).all()?;
    if let Some(error) = wrong.into_iter().next() {
        return Err(error.into());
    }
    let mut against = None;
    for at in (0..all.len()).rev() {
        match reason_against(&**disk, &all[at], until)? {
            None => {
                let later = all.split_off(at + 1);
                let generation = all.pop().expect("it was just looked at");
                return Ok((generation, later));
            }
            Some(reason) => against = Some(format!("{}: {reason}", all[at].dir.display())),
        }
    }
    match against {
        Some(reason) => Err(BackupError::Point(format!("no backup begins early enough. {reason}"))),
        None => Err(folder(from, "there is no whole backup in it")),
    }
}

/// Why a backup cannot be carried to a point: its snapshot is later.
fn reason_against(
    disk: &dyn Disk,
    generation: &Generation,
    until: Until,
) -> Result<Option<String>, BackupError> {
    let is_later = match until {
        Until::End => false,
        Until::Sequence(index) => index < generation.snapshot,
        // All of that record may be more than its first commands.
        Until::Command(index, _) => index <= generation.snapshot,
        Until::Time(ms) => {
            let last = snapshot_ms(disk, generation)?.filter(|last| *last > ms);
            return Ok(last.map(|last| format!("its snapshot holds changes up to {}", timestamp(last))));
        }
    };
    Ok(is_later.then(|| format!("its snapshot holds all up to record {}", generation.snapshot)))
}

/// When the last change was made that the snapshot of a backup holds.
fn snapshot_ms(disk: &dyn Disk, generation: &Generation) -> Result<Option<u64>, BackupError> {
    let dir = snapshot_dir(&generation.dir);
    let Some(Held { manifest, .. }) = hold(disk, &dir)? else { return Ok(None) };
    let meta = Meta::read(snapshot::parts(&dir, &manifest.meta)?.store)
        .map_err(|error| DataError::Restore(dir.join("manifest"), error))?;
    Ok((meta.last_csn().0 > 0).then(|| meta.last_csn().unix_ms()))
}

/// What a snapshot has besides entries: rules, how the log of a replica goes on after it, settings.
type OfSnapshot = (Option<Rules>, Option<SnapshotMark>, Option<String>);

struct Work<'a> {
    disk: &'a Arc<dyn Disk>,
    generation: &'a Generation,
    /// What backups say: up to which record they have the log, and which entry is committed there.
    known: Vec<(Index, u64)>,
    /// Where more of the log may be.
    sources: Vec<PathBuf>,
    until: Until,
    /// More than the backup itself is wanted.
    follows: bool,
    to: &'a Path,
}

impl Work<'_> {
    fn run(
        &self,
        entropy: &mut dyn Entropy,
        on_bytes: &mut dyn FnMut(u64, u64),
    ) -> Result<Restored, BackupError> {
        let disk = &**self.disk;
        let facts = facts(disk, &self.generation.dir)?;
        for (name, text) in &facts {
            write_text(disk, self.to, name, text)?;
        }
        let made = facts.iter().find(|(name, _)| *name == rules::NAME).map_or("", |(_, text)| text);
        let made = Rules::parse(made);
        let made = made.map_err(|what| unread(self.generation.dir.join(rules::NAME), what))?;
        let (of_snapshot, mark, mut settings) = self.copy_snapshot(on_bytes)?;
        let decides_nothing = of_snapshot.is_some();
        let mut epochs = RulesEpochs::new(of_snapshot.unwrap_or(made));
        let restored = self.write_log(mark, &mut epochs, &mut settings, entropy)?;
        // A start goes by these before it reads the log, so they are as of its end: what the backup has may be later. Settings may name what
        // was added to the schema.
        if let Some(text) = settings {
            write_text(disk, self.to, settings::NAME, &text)?;
        }
        let files = epochs.rules().files().unwrap_or_default();
        if added::added_of(files).is_some() {
            added::write(disk, self.to, files)?;
        }
        if decides_nothing {
            // The file tells with what the directory was served last.
            write_text(disk, self.to, rules::NAME, &epochs.rules().text())?;
        }
        verify(self.disk, self.to, restored.last)?;
        disk.sync_dir(&log_dir(self.to))?;
        disk.sync_dir(self.to)?;
        Ok(restored)
    }

    /// Copies it, for a server by itself; returns the rules that it has, how the log of a replica goes on after it, and its settings.
    fn copy_snapshot(&self, on_bytes: &mut dyn FnMut(u64, u64)) -> Result<OfSnapshot, BackupError> {
        let from = snapshot_dir(&self.generation.dir);
        let held = hold(&**self.disk, &from)?;
        let index = held.as_ref().map_or(Index(0), |held| held.manifest.index);
        if index != self.generation.snapshot {
            return Err(
                DataError::Facts(from.join("manifest"), missing("the snapshot of this backup")).into()
            );
        }
        let Some(mut held) = held else { return Ok((None, None, None)) };
        let mark = entries::mark(&from, &held.manifest)?;
        let Parts { state, rules, settings, store, .. } = snapshot::parts(&from, &held.manifest.meta)?;
        let parsed = rules.map(Rules::of_verified).transpose();
        let parsed = parsed.map_err(|what| DataError::Facts(from.join("manifest"), what))?;
        let own = mark.as_ref().map(|_| state.join(rules.unwrap_or_default(), settings, &[], store));
        let settings = settings.map(str::to_owned);
        held.manifest.meta = own.unwrap_or(held.manifest.meta);
        copy_snapshot(self.disk, held, self.to, None, on_bytes)?;
        Ok((parsed, mark, settings))
    }

    /// Writes the records after the snapshot up to the point into a log of its own; `epochs` begins with the rules of the
    /// snapshot, `settings` with its settings, and `mark` is that of a replica. If an earlier version noted others before the first command,
    /// they are written into the file. Of the log of a replica what is committed is written, as a server by itself writes it.
    fn write_log(
        &self,
        mark: Option<SnapshotMark>,
        epochs: &mut RulesEpochs,
        settings: &mut Option<String>,
        entropy: &mut dyn Entropy,
    ) -> Result<Restored, BackupError> {
        let (disk, from) = (&**self.disk, self.generation.snapshot);
        let own = log_dir(&self.generation.dir);
        let of_log = log_settings(wal::file_bytes(disk, &own)?);
        let opened = wal::create(Arc::clone(self.disk), &log_dir(self.to), of_log, entropy, from)?;
        let mut pen = Pen { writer: opened.writer, failed: None };
        let mut restored = Restored {
            generation: self.generation.clone(),
            last: from,
            last_ms: None,
            records: 0,
            goes_on: false,
            uncommitted: 0,
        };
        let mut take = |mut record: Record<'_>| {
            let (mut rules, mut raised, mut found, mut added) = (None, None, None, None);
            let ms = match record.kind {
                Kind::Commands => Some(Command::decode(record.payload)?.wall_ms),
                Kind::Parcel => {
                    let parcel = Parcel::decode(record.index.0, record.payload)?;
                    rules = parcel.rules()?.map(|text| (text, parcel.head.time_ms));
                    raised = parcel.behaviour()?.map(|behaviour| (behaviour, parcel.head.time_ms));
                    (found, added) = (parcel.settings()?, parcel.schema()?);
                    Some(parcel.head.time_ms)
                }
                Kind::Import => Some(commit::import_ms(record.payload)?),
                Kind::Rules => Some(Rules::of_note(record.payload)?.0),
                Kind::Checkpoint | Kind::Ingest => None,
                Kind::Entry | Kind::HardState => return Err(OF_A_CLUSTER.to_owned()),
            };
            if self.is_beyond(record.index, ms) {
                return Ok(Flow::Enough);
            }
            if record.kind == Kind::Import {
                let text = "an import bypassed the log here, so an earlier backup cannot be restored past it; start from a later one";
                return Err(text.to_owned());
            }
            if record.kind == Kind::Rules {
                epochs.note(&record)?;
            } else if let Some((text, ms)) = rules {
                epochs.change(text, ms, &record)?;
            } else if let Some((behaviour, ms)) = raised {
                epochs.raise(behaviour, ms, &record);
            } else if let Some((text, _)) = found {
                *settings = Some(text.to_owned());
            } else {
                self.decide(epochs)?;
                added.map_or(Ok(()), |message| epochs.add(message))?;
            }
            if let Until::Command(index, commands) = self.until
                && index == record.index
            {
                record.payload = first_commands(record, commands)?;
            }
            pen.append(record)?;
            restored.last = record.index;
            let has_commands = matches!(record.kind, Kind::Commands | Kind::Parcel);
            restored.last_ms = ms.filter(|_| has_commands).or(restored.last_ms);
            restored.records += 1;
            Ok(Flow::On)
        };
        let mut entries = mark.as_ref().map(|mark| CommittedEntries::new(mark.base.index));
        let mut last = mark.map_or(from, |mark| mark.record);
        let begin = last;
        let mut on_record = |record: Record<'_>| {
            // Of the backup alone just what it promises: there may be a torn rest.
            if !self.follows && record.index > self.generation.last {
                return Ok(Flow::Enough);
            }
            if record.kind.is_replicated() {
                // The directory was that of a server by itself up to here.
                entries.get_or_insert_with(|| CommittedEntries::new(record.index.0 - 1));
            }
            let flow = match &mut entries {
                Some(entries) => entries.record(&record, &mut take)?,
                None => take(record)?,
            };
            last = if flow == Flow::On { record.index } else { last };
            Ok(flow)
        };
        let read = wal::read_chain(disk, &own, &self.sources, begin, &mut on_record).map_err(DataError::from);
        let read = read.and_then(|end| {
            let (mut flow, mut uncommitted) = (Flow::On, 0);
            if let Some(entries) = &mut entries {
                let known = self.known.iter().filter(|(there, _)| *there <= last).map(|(_, entry)| *entry);
                let handed = entries.up_to(known.max().unwrap_or(0), &mut take);
                let (index, place) = (Index(entries.last() + 1), end.end);
                flow = handed.map_err(|reason| OpenError::Record { index, place, reason })?;
                uncommitted = entries.left();
            }
            Ok((end, flow, uncommitted))
        });
        if let Some(error) = pen.failed.take() {
            return Err(error.into());
        }
        let (mut end, flow, uncommitted) = read?;
        pen.close()?;
        end.enough |= flow == Flow::Enough;
        restored.goes_on = end.enough;
        let is_at_point = end.enough && self.until != Until::End;
        restored.uncommitted = if is_at_point { 0 } else { uncommitted };
        self.must_be_reached(&restored, (last, entries.is_some()), &end)?;
        Ok(restored)
    }

    /// A command comes that was decided by these rules. The one before it, if there is one, may have been by others.
    ///
    /// # Errors
    /// In words, when a start cannot apply it.
    fn decide(&self, epochs: &mut RulesEpochs) -> Result<(), String> {
        match (epochs.command(), epochs.noted()) {
            (Decided::AsBefore, _) | (_, None) => Ok(()),
            // A start knows them from the log.
            _ if epochs.rules().are_whole() => Ok(()),
            (Decided::First, Some(_)) => {
                let written = write_text(&**self.disk, self.to, rules::NAME, &epochs.rules().text());
                written.map_err(|error| error.to_string())
            }
            (Decided::Otherwise, Some(noted)) => Err(format!(
                "the rules by which changes are applied (schema, suffix, schema-check) changed at {}, and no backup that is older can be restored past that ({}): restore to an earlier point, or start from a later backup",
                noted.at(),
                noted.place()
            )),
        }
    }

    /// Is a record after the point?
    fn is_beyond(&self, index: Index, ms: Option<u64>) -> bool {
        if planted::is(faults::POINT_PASSED_OVER) {
            return false;
        }
        match self.until {
            Until::End => false,
            Until::Sequence(last) | Until::Command(last, _) => index > last,
            Until::Time(last) => ms.is_some_and(|ms| ms > last),
        }
    }

    /// Refuses what ends before the point because something is missing. `last_record` was read last; that of a replica's log has another
    /// number than the entry.
    fn must_be_reached(
        &self,
        restored: &Restored,
        (last_record, is_of_replica): (Index, bool),
        end: &ChainEnd,
    ) -> Result<(), BackupError> {
        let last = restored.last;
        if !end.enough && last_record < self.generation.last {
            let path = log_dir(&self.generation.dir).join(format!("{:08x}.log", end.end.file));
            let what = format!(
                "the backup has records up to {}, but nothing whole stands here",
                self.generation.last
            );
            let offset = u64::from(end.end.offset);
            return Err(OpenError::from(wal::Damage { path, offset, what }).into());
        }
        let short = match self.until {
            Until::Sequence(wanted) | Until::Command(wanted, _) => last < wanted,
            Until::End | Until::Time(_) => false,
        };
        let later = end.later.as_ref().filter(|later| match self.until {
            Until::End => self.follows,
            Until::Sequence(_) | Until::Command(..) if is_of_replica => short,
            Until::Sequence(wanted) | Until::Command(wanted, _) => later.first <= wanted,
            // Of what is missing between, and of what cannot be read, nobody knows the time.
            Until::Time(ms) => {
                let at = time_of(later);
                later.first > end.next || at.is_none_or(|at| at <= ms)
            }
        });
        if later.is_none() && !short {
            return Ok(());
        }
        let mut text = match self.until {
            Until::Sequence(wanted) | Until::Command(wanted, _) => {
                format!("record {wanted} cannot be reached: ")
            }
            Until::End | Until::Time(_) => "the point in time cannot be reached: ".to_owned(),
        };
        match later {
            Some(later) if later.first > end.next => text.push_str(&format!(
                "records {} to {} are missing, which stood in the log from file {:08x} offset {} up to file {:08x}, the next that \
                 there is ({}); an archived file that begins with the first of them is called {:016x}-*.log",
                end.next,
                later.first.0 - 1,
                end.end.file,
                end.end.offset,
                later.file,
                later.path.display(),
                end.next.0
            )),
            Some(later) => text.push_str(&format!(
                "record {} in {} is of another history than record {last}: begin with a later backup",
                later.first,
                later.path.display()
            )),
            None => text.push_str(&format!(
                "the last record that backups and archive have is {last}, before offset {} of log file {:08x}",
                end.end.offset, end.end.file
            )),
        }
        if restored.uncommitted > 0 {
            let uncommitted = restored.uncommitted;
            text.push_str(&format!(
                ". {uncommitted} entries behind it are there, and nothing says that they are committed: a later backup of this node may"
            ));
        }
        for damage in &end.unreadable {
            text.push_str(&format!(". {damage}"));
        }
        Err(BackupError::Point(text))
    }
}

/// The payload of a record with no more than its first commands.
fn first_commands<'a>(record: Record<'a>, commands: u32) -> Result<&'a [u8], String> {
    let index = record.index;
    if record.kind != Kind::Parcel {
        return match (record.kind, commands) {
            (Kind::Commands, 1) => Ok(record.payload),
            _ => Err(format!("record {index} has no command {commands}")),
        };
    }
    let mut parcel = Parcel::decode(index.0, record.payload)?;
    let mut end = None;
    for number in 1..=commands {
        let item = parcel.next_command()?;
        let item = item.ok_or_else(|| format!("record {index} has {} commands only", number - 1))?;
        end = Some(item.end);
    }
    Ok(&record.payload[..end.unwrap_or(record.payload.len())])
}

/// When a record was made that stands behind what was read, if it tells.
fn time_of(later: &wal::Later) -> Option<u64> {
    match later.kind? {
        Kind::Parcel => Some(Parcel::decode(later.first.0, &later.payload).ok()?.head.time_ms),
        Kind::Commands => Some(Command::decode(&later.payload).ok()?.wall_ms),
        Kind::Rules => Some(Rules::of_note(&later.payload).ok()?.0),
        Kind::Entry => {
            let (index, _, payload) = parts_of_entry(&later.payload).ok()?;
            Some(Parcel::decode(index, payload).ok()?.head.time_ms)
        }
        Kind::Checkpoint | Kind::Ingest | Kind::Import | Kind::HardState => None,
    }
}

/// Of a log whose files have as many bytes as those that it is made of: so what stood in them has room.
fn log_settings(file_bytes: Option<u32>) -> Settings {
    let usual = Settings::default();
    let file_bytes = file_bytes.unwrap_or(usual.file_bytes);
    let room = (file_bytes as usize).saturating_sub(FILE_HEADER_BYTES);
    let waiting_bytes_max = usual.waiting_bytes_max.min(room);
    Settings { mode: Mode::None, file_bytes, waiting_bytes_max, ..usual }
}

/// Writes a log, block by block.
struct Pen {
    writer: Writer,
    /// Why no more can be written.
    failed: Option<io::Error>,
}

impl Pen {
    fn append(&mut self, record: Record<'_>) -> Result<(), String> {
        if self.writer.log().waiting_bytes() > TOGETHER_BYTES {
            self.write()?;
        }
        loop {
            match self.writer.log().append(record.kind, |out| out.extend_from_slice(record.payload)) {
                Ok(index) => {
                    assert_eq!(index, record.index, "records keep their numbers");
                    return Ok(());
                }
                Err(Refused::Full) => self.write()?,
                Err(refused) => return Err(self.fail(io::Error::other(refused))),
            }
        }
    }

    /// Writes what was appended, and prepares the file after the one it is in.
    fn write(&mut self) -> Result<(), String> {
        self.writer.step(0).map_err(|poisoned| self.fail(io::Error::other(poisoned)))?;
        while let Some(preparation) = self.writer.log().wanted() {
            let prepared = preparation.run().map_err(|error| self.fail(error))?;
            self.writer.log().prepared(Ok(prepared));
        }
        Ok(())
    }

    fn fail(&mut self, error: io::Error) -> String {
        let text = error.to_string();
        self.failed = Some(error);
        text
    }

    fn close(mut self) -> io::Result<()> {
        if planted::is(faults::RESTORE_NOT_SYNCED) {
            return self.write().map_err(io::Error::other);
        }
        self.writer.close().map_err(io::Error::other)
    }
}
