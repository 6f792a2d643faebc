//! Settings of this server that are changed while it runs: checked, recorded in a file of the data directory, then in force.
//!
//! Why it is so: `docs/decisions/0116-settings-of-a-node.md`.

use crate::config::{Change, Config, Key, OnLogFailure, changeable};
use crate::logs::{Access, InForce};
use dsa::node_settings::{KeyChange, NodeKey, NodeSettings};
use dsa::settings::{Author, Difference, Record};
use model::ResultCode;
use node::commit::SnapshotLimits;
use node::data::SettingsFile;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

/// Code and text of a refusal.
type Refusal = (ResultCode, String);

/// The settings of this server, as they were changed and as they are in force.
pub struct OwnSettings {
    keys: Vec<Key>,
    named: Vec<NodeKey>,
    /// What file and flags say.
    configured: Config,
    /// Where changes are recorded; nowhere if the directory is in memory only.
    file: Option<SettingsFile>,
    is_of_cluster: bool,
    /// Held by a change until it is in force.
    changing: Mutex<()>,
    state: Mutex<State>,
    logs: Arc<InForce>,
    /// See `on-log-failure`.
    exits: AtomicBool,
    /// Has the log of the directory failed?
    has_log_failed: AtomicBool,
    /// What ends the server then, if the directory has a log.
    end: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// When snapshots are due, if there are some.
    snapshots: OnceLock<Arc<SnapshotLimits>>,
    /// What tells threads which operations are logged.
    teller: OnceLock<Teller>,
}

struct Teller {
    /// Comes before operations are logged that were not before. It fails when the system has no thread.
    prepare: Box<dyn Fn() -> io::Result<()> + Send + Sync>,
    /// Tells all threads which operations are logged from now on, and whether none were before.
    tell: Box<dyn Fn(Access, bool) + Send + Sync>,
}

struct State {
    record: Record,
    now: Config,
}

impl OwnSettings {
    /// Of a server that is configured so by file and flags, and has recorded changes in `file`. Returns the configuration that
    /// holds, too, and what file or flags say otherwise than was recorded: that is recorded by `author`.
    ///
    /// # Errors
    /// In words, what is wrong with the record, or why it cannot be written.
    pub fn settle(
        configured: &Config,
        file: Option<SettingsFile>,
        author: Author<'_>,
        is_of_cluster: bool,
    ) -> Result<(Arc<OwnSettings>, Config, Vec<Change>), String> {
        let mut record = file.as_ref().map(SettingsFile::record).unwrap_or_default();
        let mut now = configured.clone();
        let changes = now.settle_node(&mut record)?;
        let differences: Vec<Difference> = changes.iter().filter_map(Change::difference).collect();
        record.note(author, &differences);
        if let Some(file) = &file {
            file.write(record.clone()).map_err(|error| cannot_be_written(&error))?;
        }
        let keys: Vec<Key> = changeable().collect();
        let named = keys.iter().map(|key| NodeKey {
            name: key.name,
            attribute: key.attribute(),
            is_many: key.many(),
        });
        let own = OwnSettings {
            named: named.collect(),
            keys,
            configured: configured.clone(),
            file,
            is_of_cluster,
            changing: Mutex::new(()),
            logs: Arc::new(InForce::new(now.logs.clone())),
            exits: AtomicBool::new(now.on_log_failure == OnLogFailure::Exit),
            has_log_failed: AtomicBool::new(false),
            end: OnceLock::new(),
            snapshots: OnceLock::new(),
            teller: OnceLock::new(),
            state: Mutex::new(State { record, now: now.clone() }),
        };
        Ok((Arc::new(own), now, changes))
    }

    /// The same of a server that records nothing.
    pub fn in_memory(configured: &Config) -> Arc<OwnSettings> {
        let nobody = Author { name: "", wall_ms: 0 };
        let settled = OwnSettings::settle(configured, None, nobody, false);
        settled.map(|(own, ..)| own).expect("without a record nothing is wrong with it")
    }

    /// What is logged.
    pub fn logs(&self) -> &Arc<InForce> {
        &self.logs
    }

    /// Ends the server by this if the log fails, or has failed when it is asked to end.
    ///
    /// # Panics
    /// When it was called before.
    pub(crate) fn end_by(&self, end: impl Fn() + Send + Sync + 'static) {
        assert!(self.end.set(Box::new(end)).is_ok(), "a server has one log");
    }

    /// The log has failed. Returns what is done about it; the end has begun if it is that.
    pub(crate) fn log_failed(&self) -> OnLogFailure {
        self.has_log_failed.store(true, Ordering::SeqCst);
        self.end_if_asked();
        if self.exits.load(Ordering::SeqCst) { OnLogFailure::Exit } else { OnLogFailure::ReadOnly }
    }

    /// One order of all four accesses: of a failure and a change at the same time the later one sees both.
    fn end_if_asked(&self) {
        if self.exits.load(Ordering::SeqCst)
            && self.has_log_failed.load(Ordering::SeqCst)
            && let Some(end) = self.end.get()
        {
            end();
        }
    }

    /// Calls `tell` with what is logged of operations, and whether none were before, when that changes. `prepare` comes before a change that is
    /// to begin the log is recorded, and does all of it that can fail.
    ///
    /// # Panics
    /// When it was called before.
    pub(crate) fn tell_of_access(
        &self,
        prepare: impl Fn() -> io::Result<()> + Send + Sync + 'static,
        tell: impl Fn(Access, bool) + Send + Sync + 'static,
    ) {
        let teller = Teller { prepare: Box::new(prepare), tell: Box::new(tell) };
        assert!(self.teller.set(teller).is_ok(), "the settings of one server are one server's");
    }

    /// Changes by these when snapshots are due.
    ///
    /// # Panics
    /// When it was called before.
    pub(crate) fn change_snapshots(&self, limits: Arc<SnapshotLimits>) {
        assert!(self.snapshots.set(limits).is_ok(), "a server writes one directory");
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // It is replaced whole, so one who panicked left nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works out what a change comes to.
    fn worked_out(
        &self,
        author: Author<'_>,
        asked: &[KeyChange],
        (now, recorded): (&Config, &Record),
    ) -> Result<(Record, Config), Refusal> {
        let violation = |text: String| (ResultCode::ConstraintViolation, text);
        let (mut record, mut differences) = (recorded.clone(), Vec::new());
        for KeyChange { key, before, after } in asked {
            let key = self.keys[*key];
            if key.show(now) != *before {
                return Err(busy());
            }
            let mut scratch = self.configured.clone();
            let values = match &after[..] {
                [] => None,
                after => {
                    let first = |bad: Vec<(usize, String)>| bad.into_iter().next().unwrap_or_default().1;
                    key.set(&mut scratch, after).map_err(|bad| violation(first(bad)))?;
                    Some(key.show(&scratch))
                }
            };
            let was_recorded = recorded.values.contains_key(key.name);
            let after = values.clone().unwrap_or_else(|| key.show(&self.configured));
            differences.push(Difference {
                key: key.name.to_owned(),
                before: before.clone(),
                after,
                was_recorded,
            });
            self.configured.record_own(key, values, &mut record);
        }
        let next = self.configured.with_own(&record).map_err(violation)?;
        let known = now.problems();
        if let Some(problem) = next.problems().into_iter().find(|problem| !known.contains(problem)) {
            return Err(violation(format!("`{}`: {}", problem.key, problem.message)));
        }
        if let Some(text) = next.not_of_a_cluster().filter(|_| self.is_of_cluster) {
            return Err(violation(text));
        }
        record.note(author, &differences);
        Ok((record, next))
    }

    /// Puts a change in force. Nothing of it can fail: it is recorded.
    fn put(&self, before: &Config, next: &Config) {
        self.logs.put(next.logs.clone());
        let (was, access) = (before.logs.access(), next.logs.access());
        if was != access
            && let Some(teller) = self.teller.get()
        {
            (teller.tell)(access, was == Access::Off);
        }
        if let Some(snapshots) = self.snapshots.get() {
            snapshots.put(next.snapshot_after, next.snapshot_interval_ms());
        }
        self.exits.store(next.on_log_failure == OnLogFailure::Exit, Ordering::SeqCst);
        if before.on_log_failure != next.on_log_failure {
            self.end_if_asked();
        }
    }
}

impl NodeSettings for OwnSettings {
    fn keys(&self) -> &[NodeKey] {
        &self.named
    }

    fn values(&self) -> Vec<Vec<String>> {
        let state = self.lock();
        self.keys.iter().map(|key| key.show(&state.now)).collect()
    }

    fn shown(&self, key: usize, value: String) -> String {
        let mut scratch = Config::default();
        match self.keys[key].set(&mut scratch, std::slice::from_ref(&value)) {
            Ok(()) => self.keys[key].show(&scratch).pop().unwrap_or(value),
            Err(_) => value,
        }
    }

    fn history(&self) -> Vec<String> {
        self.lock().record.history.clone()
    }

    fn change(&self, author: Author<'_>, asked: &[KeyChange], is_checked_only: bool) -> Result<(), Refusal> {
        let _one = match self.changing.try_lock() {
            Ok(one) => one,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(busy()),
        };
        // A client that looks at the settings does not wait for the disk.
        let (now, recorded) = {
            let state = self.lock();
            (state.now.clone(), state.record.clone())
        };
        let (record, next) = self.worked_out(author, asked, (&now, &recorded))?;
        let begins_log = now.logs.access() == Access::Off && next.logs.access() != Access::Off;
        if begins_log {
            let opened = next.logs.try_access_file();
            opened.map_err(|error| (ResultCode::Unavailable, format!("log.access-file: {error}")))?;
        }
        let is_certain = self.file.as_ref().is_none_or(SettingsFile::is_certain);
        if is_checked_only || (record == recorded && is_certain) {
            return Ok(());
        }
        // What can fail comes before the record: what that has is in force.
        if begins_log && let Some(teller) = self.teller.get() {
            let prepared = (teller.prepare)();
            prepared.map_err(|error| (ResultCode::Unavailable, format!("log.access: {error}")))?;
        }
        if let Some(file) = &self.file {
            let written = file.write(record.clone());
            // The new file may be there although its name is not safe.
            let refusal = |error| {
                let text = "the change is not in force now, but may be from the next start on";
                (ResultCode::Unavailable, format!("{}; {text}", cannot_be_written(&error)))
            };
            written.map_err(refusal)?;
        }
        self.put(&now, &next);
        *self.lock() = State { record, now: next };
        Ok(())
    }
}

fn busy() -> Refusal {
    (ResultCode::Busy, "another change of the settings is being written; try again".to_owned())
}

fn cannot_be_written(error: &io::Error) -> String {
    format!("the record of changed settings of this server cannot be written: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::disk::RealDisk;
    use node::data::Data;
    use std::path::Path;

    const ADMIN: Author<'_> = Author { name: "cn=a", wall_ms: 1_767_323_045_123 };

    fn own(dir: &Path) -> Arc<OwnSettings> {
        let data = Data::open(Arc::new(RealDisk), dir).expect("it is there");
        let file = data.node_settings().expect("it is whole");
        OwnSettings::settle(&Config::default(), Some(file), ADMIN, false).expect("it is good").0
    }

    fn asked(own: &OwnSettings, name: &str, before: &str, after: &str) -> KeyChange {
        let key = own.named.iter().position(|key| key.name == name).expect("it is a key");
        KeyChange { key, before: vec![before.to_owned()], after: vec![after.to_owned()] }
    }

    fn held(own: &OwnSettings, name: &str) -> String {
        let at = own.named.iter().position(|key| key.name == name).expect("it is a key");
        own.values()[at].join(" ")
    }

    #[test]
    fn all_of_a_change_is_in_force_or_none() {
        let dir = tempfile::tempdir().expect("there is room");
        let own = own(dir.path());
        let keep = asked(&own, "log.keep-files", "0", "7");
        let bad = asked(&own, "log.values", "all", "some");
        let refused = own.change(ADMIN, &[keep.clone(), bad], false).expect_err("a value is bad");
        assert!(refused.0 == ResultCode::ConstraintViolation && refused.1.contains("`some`"), "{refused:?}");
        own.change(ADMIN, std::slice::from_ref(&keep), true).expect("it is good");
        assert_eq!((held(&own, "log.keep-files"), own.history().len()), ("0".to_owned(), 0));
        own.change(ADMIN, std::slice::from_ref(&keep), false).expect("it is good");
        assert_eq!((held(&own, "log.keep-files"), own.logs().now().rotation.keep), ("7".to_owned(), 7));
        // It was made of values that do not hold any more.
        let late = own.change(ADMIN, &[keep], false).expect_err("somebody was faster");
        assert_eq!((late.0, own.history().len()), (ResultCode::Busy, 1));
        drop(own);
        assert_eq!(held(&self::own(dir.path()), "log.keep-files"), "7");
    }

    #[test]
    fn what_cannot_be_written_is_not_in_force() {
        let dir = tempfile::tempdir().expect("there is room");
        let own = own(dir.path());
        std::fs::remove_dir_all(dir.path()).expect("it is ours");
        let refused = own.change(ADMIN, &[asked(&own, "on-log-failure", "exit", "read-only")], false);
        assert_eq!(refused.expect_err("the folder is gone").0, ResultCode::Unavailable);
        assert_eq!((held(&own, "on-log-failure"), own.history().len()), ("exit".to_owned(), 0));
        assert_eq!(own.log_failed(), OnLogFailure::Exit);
    }

    #[test]
    fn a_log_that_cannot_begin_is_refused_and_not_recorded() {
        let dir = tempfile::tempdir().expect("there is room");
        let own = own(dir.path());
        // On standard error there is a place for it, but no thread.
        own.tell_of_access(|| Err(io::Error::other("no thread")), |_, _| panic!("it has not begun"));
        let mut on = [asked(&own, "log.access", "", "all")];
        on[0].before = own.values()[on[0].key].clone();
        let refused = own.change(ADMIN, &on, false).expect_err("there is no thread");
        assert!(refused.0 == ResultCode::Unavailable && refused.1.contains("no thread"), "{refused:?}");
        assert_eq!((own.logs().now().access(), own.history().len()), (Access::Off, 0));
    }

    #[test]
    fn an_end_that_is_asked_for_after_the_log_has_failed_comes() {
        let own = OwnSettings::in_memory(&Config::default());
        let ends = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ends);
        own.end_by(move || end.store(true, Ordering::SeqCst));
        own.change(ADMIN, &[asked(&own, "on-log-failure", "exit", "read-only")], false).expect("it is good");
        assert_eq!((own.log_failed(), ends.load(Ordering::SeqCst)), (OnLogFailure::ReadOnly, false));
        own.change(ADMIN, &[asked(&own, "on-log-failure", "read-only", "exit")], false).expect("it is good");
        assert!(ends.load(Ordering::SeqCst));
    }

    #[test]
    fn a_dry_run_tries_the_file() {
        let dir = tempfile::tempdir().expect("there is room");
        let file = dir.path().join("missing").join("log").display().to_string();
        let mut config = Config::default();
        config.set("log.access-file", &[file]).expect("it is good");
        config.set("log.access", &["off".to_owned()]).expect("it is good");
        let own = OwnSettings::in_memory(&config);
        let on = [asked(&own, "log.access", "off", "all")];
        let refused = own.change(ADMIN, &on, true).expect_err("there is no folder");
        assert!(refused.0 == ResultCode::Unavailable && refused.1.contains("log.access-file"), "{refused:?}");
    }

    #[test]
    fn a_node_of_a_cluster_ends_when_its_log_fails() {
        let (own, ..) = OwnSettings::settle(&Config::default(), None, ADMIN, true).expect("it is good");
        let asked = [asked(&own, "on-log-failure", "exit", "read-only")];
        assert_eq!(
            own.change(ADMIN, &asked, true).map_err(|(code, _)| code),
            Err(ResultCode::ConstraintViolation)
        );
    }
}
