//! The model: what the commands of the log make of an empty directory that knows no disk.

use crate::answers::Answer;
use crate::late::Group;
use crate::node::{config, digest, schema, schema_of, superblock};
use crate::requests::{Bundle, COUNTER};
use dsa::POLICY_ACTOR;
use dsa::behaviour::NEWEST;
use dsa::journal::Command;
use dsa::parcel::{Body, Head, Parcel};
use dsa::settings::Record;
use dsa::{Applier, Dsa, Session, State, Worker};
use env::disk::Disk;
use node::data::{Rules, settings_record, snapshot};
use proto::message::{Frame, frame};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use wal::{Kind, Place};

/// See the module.
pub struct Oracle {
    dsa: Arc<Dsa>,
    applier: Applier,
    /// Last record that was applied.
    at: u64,
    /// What sessions could read after a record, while it is not sure to last.
    seen: BTreeMap<u64, u128>,
    /// What sessions sent: nothing else may be in the log.
    sent: BTreeSet<Vec<u8>>,
    /// Everything in the log before it was synced, as the log itself can tell.
    mark: Place,
    /// All parcels that were applied: the first is record 1. Of an import it is empty.
    commands: Vec<Vec<u8>>,
    /// What was imported, by the record of its note.
    imports: BTreeMap<u64, String>,
    /// The last settings: the constraints among them decide what comes behind.
    settings: Option<Record>,
    /// The last rules say that entries are not held to the schema.
    has_no_schema_check: bool,
    /// The version of the behaviour by which commands are applied, and whether one has raised it since that was asked last.
    behaviour: u32,
    has_raised: bool,
}

/// What a command was.
pub enum Seeing<'c> {
    /// Updates of the directory.
    Updates(&'c Command<'c>),
    /// Settings, as text.
    Settings(&'c str),
}

/// Sees the directory behind each command.
pub type Seen<'s> = &'s mut dyn FnMut(&Arc<Dsa>, Seeing<'_>);

/// What a directory holds, and by which record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The last record.
    pub last: u64,
    /// See [`digest`].
    pub digest: u128,
}

impl Default for Oracle {
    fn default() -> Oracle {
        let dsa = Dsa::new(config(superblock()), schema()).expect("memory is plenty");
        let mut applier = Applier::new(&dsa).expect("there are few readers");
        // A first start begins with the newest that its program knows, and every directory here was begun by this program.
        applier.behave(NEWEST);
        let (seen, sent) = (BTreeMap::new(), BTreeSet::new());
        let (commands, imports) = (Vec::new(), BTreeMap::new());
        Oracle {
            dsa,
            applier,
            at: 0,
            seen,
            sent,
            mark: Place::default(),
            commands,
            imports,
            settings: None,
            has_no_schema_check: false,
            behaviour: NEWEST,
            has_raised: false,
        }
    }
}

impl Oracle {
    /// Last record that was applied.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// See [`digest`].
    pub fn digest(&self) -> u128 {
        digest(&self.dsa)
    }

    /// Ids that new entries may get.
    pub fn free_ids(&self) -> Vec<u32> {
        self.dsa.shard().writer().free_ids()
    }

    /// Where the part of the log ends that is known to be synced.
    pub fn mark(&self) -> Place {
        self.mark
    }

    /// What the first records make, up to `last`, which is not after the last that was applied.
    pub fn held_at(&self, last: u64) -> Held {
        self.held_with(self.commands[..last as usize].iter())
    }

    /// The time of record `last`, if the next was applied too and is later.
    pub fn ms_between(&self, last: u64) -> Option<u64> {
        let ms = |record: u64| {
            let parcel = self.commands.get(usize::try_from(record).ok()?.checked_sub(1)?)?;
            Parcel::decode(record, parcel).ok().map(|parcel| parcel.head.time_ms)
        };
        ms(last).filter(|before| ms(last + 1).is_some_and(|after| after > *before))
    }

    /// What all that the log in `dir` has makes, though it may not stay there.
    ///
    /// # Errors
    /// In words: what is wrong with the log.
    pub fn held_now(&self, disk: &dyn Disk, dir: &Path) -> Result<Held, String> {
        let mut rest = Vec::new();
        let mut visit = |record: wal::Record<'_>| {
            if record.index.0 > self.at && record.kind == Kind::Parcel {
                rest.push(record.payload.to_vec());
            }
            Ok(())
        };
        wal::read(disk, &dir.join("log"), &mut visit).map_err(|error| error.to_string())?;
        Ok(self.held_with(self.commands.iter().chain(&rest)))
    }

    fn held_with<'a>(&self, commands: impl Iterator<Item = &'a Vec<u8>>) -> Held {
        let mut model = Oracle::default();
        for (record, command) in (1..).zip(commands) {
            match self.imports.get(&record) {
                Some(text) => model.import(text),
                None => model.apply(record, command, |_| Ok(()), &mut |_, _| ()).expect("it was read before"),
            }
        }
        Held { last: model.at, digest: model.digest() }
    }

    /// Applies a parcel; `look` sees each of its commands first, and `seen` the directory behind each.
    fn apply(
        &mut self,
        index: u64,
        payload: &[u8],
        mut look: impl FnMut(&Command<'_>) -> Result<(), String>,
        seen: Seen<'_>,
    ) -> Result<(), String> {
        let mut parcel = Parcel::decode(index, payload)?;
        if let Some(checked) = parcel.head.checked {
            self.applier.chain().check(checked).map_err(|differs| differs.to_string())?;
        }
        if let Some(before) = parcel.head.free_before {
            self.applier.begin_record(index, before).map_err(|error| error.to_string())?;
        }
        self.applier.begin_parcel(index, &parcel.head);
        while let Some(item) = parcel.next_command()? {
            match item.body {
                Body::Updates(command) => {
                    look(&command)?;
                    let applied = self.applier.apply_enveloped(&command, &item.envelope, &mut Vec::new());
                    applied.map_err(|error| error.to_string())?;
                    seen(&self.dsa, Seeing::Updates(&command));
                }
                Body::Rules(text) => self.change_rules(text),
                Body::Times(times) => {
                    self.applier.apply_times(times).map_err(|error| error.to_string())?;
                }
                Body::Behaviour(behaviour) => {
                    self.has_raised |= behaviour > self.behaviour;
                    self.behaviour = self.behaviour.max(behaviour);
                    self.applier.behave(self.behaviour);
                }
                Body::Settings(text) => {
                    let record = settings_record(text)?;
                    self.applier.constrain(&record);
                    self.settings = Some(record);
                    seen(&self.dsa, Seeing::Settings(text));
                }
                Body::Nothing => {}
            }
        }
        self.applier.end_parcel(index);
        self.at = index;
        Ok(())
    }

    /// What comes is decided by these rules, which come with a parcel that has begun.
    fn change_rules(&mut self, text: &str) {
        let mut config = config(superblock());
        config.store.schema_check = !text.contains("schema-check = false");
        self.has_no_schema_check = !config.store.schema_check;
        let files = Rules::of_verified(text).expect("a start wrote it").files().unwrap_or_default().to_vec();
        let held = snapshot::Held::of(self.dsa.shard().checkpoint().expect("there are few readers"));
        let shard = held.restore(config.store.clone(), &schema_of(files)).expect("it is the same schema");
        let (_, chain) = self.applier.chain().last();
        self.dsa = Dsa::over(shard, config).expect("memory is plenty");
        self.applier = Applier::new(&self.dsa).expect("there are few readers");
        self.applier.stands_at(self.at, chain);
        self.applier.behave(self.behaviour);
        self.settings.iter().for_each(|record| self.applier.constrain(record));
        self.applier.begin_parcel(self.at + 1, &Head::default());
    }

    /// Was the version of the behaviour raised since this was asked last?
    pub fn take_raised(&mut self) -> bool {
        std::mem::take(&mut self.has_raised)
    }

    /// Are entries held to the schema?
    pub fn has_schema_check(&self) -> bool {
        !self.has_no_schema_check
    }

    /// After the last record this was imported, and a note left of it.
    pub fn import(&mut self, text: &str) {
        self.dsa.shard().writer().find_free_ids();
        crate::operator::load(self.dsa.shard(), text).expect("it was imported before");
        self.at += 1;
        self.applier.chain_mut().pass(self.at);
        self.commands.push(Vec::new());
        self.imports.insert(self.at, text.to_owned());
    }

    /// The note of the last import up to a record; 0 if there was none.
    pub fn last_import(&self, up_to: u64) -> u64 {
        self.imports.range(..=up_to).next_back().map_or(0, |(record, _)| *record)
    }

    /// All entries of the model as LDIF.
    pub fn export(&self) -> String {
        crate::operator::ldif(&self.dsa)
    }

    /// A session sends these updates.
    pub fn on_sent(&mut self, updates: &[u8]) {
        self.sent.insert(updates.to_vec());
    }

    /// After a record the directory is this.
    pub fn on_seen(&mut self, record: u64, digest: u128) {
        self.seen.insert(record, digest);
    }

    /// What was seen and has not come back is gone for good. Returns how many records that was.
    pub fn forget_seen(&mut self) -> u64 {
        self.dsa.shard().writer().find_free_ids();
        std::mem::take(&mut self.seen).len() as u64
    }

    /// Applies what the replicas of a log have committed after what was applied before, up to `end`: see
    /// [`Oracle::follow`].
    ///
    /// # Errors
    /// In words: what is wrong with it.
    pub fn follow_group(&mut self, group: &Group, end: u64) -> Result<(), String> {
        let mut differs = None;
        while self.at < end
            && let Some((payload, is_own)) = group.record(self.at + 1)
        {
            self.apply_to_model(&payload, is_own, &mut differs, &mut |_, _| ())?;
        }
        differs.map_or(Ok(()), Err)
    }

    /// Applies the next entry that replicas have committed; one without a payload begins a term. `look` sees the updates of each of its commands first,
    /// and `seen` the directory behind each.
    ///
    /// # Errors
    /// In words: what is wrong with it.
    pub fn follow_entry(
        &mut self,
        payload: &[u8],
        look: &mut dyn FnMut(&[u8]),
        seen: Seen<'_>,
    ) -> Result<(), String> {
        if payload.is_empty() {
            self.at += 1;
            self.applier.chain_mut().pass(self.at);
            self.commands.push(Vec::new());
            return Ok(());
        }
        let mut parcel = Parcel::decode(self.at + 1, payload)?;
        while let Some(item) = parcel.next_command()? {
            if let Body::Updates(command) = item.body {
                look(command.messages);
            }
        }
        self.apply_to_model(payload, true, &mut None, seen)
    }

    /// Carries the next record out; `differs` says so if something else could be read after it.
    fn apply_to_model(
        &mut self,
        payload: &[u8],
        is_own: bool,
        differs: &mut Option<String>,
        seen: Seen<'_>,
    ) -> Result<(), String> {
        let sent = std::mem::take(&mut self.sent);
        let look = |command: &Command<'_>| {
            // What a policy makes of binds the server sends itself.
            let is_of_policy = command.actor == POLICY_ACTOR;
            match !is_own || is_of_policy || sent.contains(command.messages) {
                true => Ok(()),
                false => Err("nobody sent that".to_owned()),
            }
        };
        let applied = self.apply(self.at + 1, payload, look, seen);
        self.sent = sent;
        applied?;
        self.commands.push(payload.to_vec());
        if self.seen.remove(&self.at).is_some_and(|seen| seen != digest(&self.dsa)) {
            let what = format!("what could be read after record {} is not what it makes", self.at);
            differs.get_or_insert(what);
        }
        Ok(())
    }

    /// Applies what the log in `dir` has after what was applied before, up to `end`. What was seen at these records
    /// must be what there is now.
    ///
    /// # Errors
    /// In words: what is wrong with the log.
    pub fn follow(&mut self, disk: &dyn Disk, dir: &Path, end: u64) -> Result<(), String> {
        let mut differs = None;
        let mut visit = |record: wal::Record<'_>| {
            if record.index.0 <= self.at || record.index.0 > end || record.kind != Kind::Parcel {
                return Ok(());
            }
            if record.index.0 != self.at + 1 {
                return Err(format!("record {} follows record {}", record.index, self.at));
            }
            self.apply_to_model(record.payload, true, &mut differs, &mut |_, _| ())
        };
        self.mark = match wal::read(disk, &dir.join("log"), &mut visit) {
            Err(wal::OpenError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                Place::default()
            }
            read => read.map_err(|error| error.to_string())?.map_or(Place::default(), |found| found.mark),
        };
        differs.map_or(Ok(()), Err)
    }
}

/// The counter of a client in a directory; 0 if there is none.
pub fn counter(dsa: &Arc<Dsa>, of: usize) -> u64 {
    let mut worker = Worker::new(dsa).expect("there are few readers");
    let (mut session, mut bundle, mut out) = (Session::new(&mut worker), Bundle::default(), Vec::new());
    bundle.bind();
    bundle.read_counter(of);
    let mut state = session.feed(&mut worker, &bundle.bytes, &mut out).state;
    while state == State::Busy {
        state = session.step(&mut worker, &mut out);
    }
    let mut rest = &out[..];
    while let Ok(Frame::Complete { len }) = frame(rest) {
        if let Answer::Entry(_, _, attributes) = Answer::decode(&rest[..len]) {
            let text = attributes.get(COUNTER).and_then(|values| values.first());
            return text.and_then(|text| text.parse().ok()).unwrap_or(0);
        }
        rest = &rest[len..];
    }
    0
}
