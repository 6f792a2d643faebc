//! The change log for other programs: the last changes as entries below `cn=changelog` (good-ldap-changelog-04), made of the commands of the log when these
//! are applied.
//!
//! A change is kept as bytes until somebody reads the change log who may: then what is kept by that time is stored as entries ([`storing`]). So a change
//! costs little where it is not read, and is stored once where several read it.
//!
//! They are entries of the server's own, so base, scope, filter, pages and rights are those of any search there. Who may read them is decided twice: by the
//! rules on `cn=changelog`, and by whether the requester may read whatever they tell of. An entry of the change log has values of entries that are gone or are
//! others by now, so no rule on these can be asked any more. So it is for those who may read all entries with all attributes, and for
//! nobody else. What even they read by name only, passwords above all, is never put into it.
//!
//! A number is the place of the change in the log: the record, and which of its updates it is. All nodes of a cluster have the same log, and so the same
//! numbers. Which changes are kept is a matter of each node: those that it has applied, or that its snapshot brought, as far as the settings allow. The number
//! behind which all are there is `firstChangeNumber` of the root DSE.
//!
//! ```text
//! applier      a command was applied, what was noted of its updates  ->  [`ChangeLog::put`]
//! a reader     waits until what is kept is stored, a slice at a time  ->  [`ChangeLog::store`]
//! the oldest   go when there are too many bytes of them, or when they are too old
//! a snapshot   releases the log, and has the changes in files of its own that no snapshot before has  ->  [`Dsa::write_changes`]
//! a start      takes those of its snapshot, and puts what the log has behind it  ->  [`Dsa::load_changes`]
//! ```

pub(crate) mod awaited;
pub mod choices;
mod entry;
mod kept;
mod record;
pub mod stored;
mod storing;
pub(crate) mod touched;

use self::choices::Choices;
use self::entry::{Kind, put_values};
use self::kept::{Change, FIRST, Kept, LAST};
use crate::audit::Note;
use crate::journal;
use crate::offer::Offer;
use crate::system::{CHANGE_LOG_DN, ROOT_DSES, System, Update, put, put_all};
use env::clock::Now;
use model::limits::TRANSACTION_UPDATES_MAX;
use model::{Csn, Entry};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Attributes of the root DSE.
/// Clients look for the first of them to find out whether there is a change log.
const CHANGE_LOG: &str = "changelog";

/// Bits of a number that say which update of its record it is: more than a record has updates.
const UPDATE_BITS: u32 = 21;
const _: () = assert!(TRANSACTION_UPDATES_MAX < 1 << UPDATE_BITS);
/// Bytes that an entry takes besides its values, about.
const ENTRY_BYTES: u64 = 512;
/// Memory for the bytes of a change is used again unless it is longer.
const SPARE_BYTES_MAX: usize = 64 << 10;

/// A command that was applied.
pub(crate) struct Applied<'a> {
    /// Its record, and the number of its first update among those of the record.
    pub(crate) index: u64,
    pub(crate) first: u32,
    pub(crate) wall_ms: u64,
    /// As whom.
    pub(crate) actor: &'a [u8],
    /// Its updates, and what was noted of each; `None` of those that were refused.
    pub(crate) messages: &'a [u8],
    pub(crate) notes: &'a [Option<Note>],
    /// The first commit sequence with which it can have become visible.
    pub(crate) sequence: u64,
    /// May it have changed entries that it does not name?
    pub(crate) changes_others: bool,
}

/// The number of a change: the update with this number, from 1 on, of a record.
/// Updates that were refused have a number too, so a replay comes to the same numbers.
pub(crate) fn number_of(index: u64, update: u32) -> u64 {
    index << UPDATE_BITS | u64::from(update)
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct ChangeLog {
    bytes_max: AtomicU64,
    age_max_ms: AtomicU64,
    /// Is there a log, so that changes have places in it?
    has_log: AtomicBool,
    /// The last record that is applied, and the last CSN that was given by then.
    applied: AtomicU64,
    applied_csn: AtomicU64,
    /// Commands that were begun and ended: odd while one is applied whose changes are not all here.
    commands: AtomicU64,
    /// Who wants the role of the writer of the server's own entries, too, takes that first. What changes which of them are entries needs the role,
    /// but for the oldest that go. It is not held while changes become entries: the applier waits for none.
    kept: Mutex<Kept>,
}

impl ChangeLog {
    /// Is there one?
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.bytes_max.load(Ordering::Relaxed) > 0
    }

    /// The directory has a log from here on.
    pub(crate) fn begin(&self, system: &System, (choices, csn): (Choices, Csn), now: Now) {
        self.has_log.store(true, Ordering::Relaxed);
        self.applied_csn.store(csn.0, Ordering::Relaxed);
        self.choose(system, choices, now);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Nobody who holds it can panic between two changes that belong together.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps changes as it was chosen from now on. Without a log there are none, whatever was chosen.
    pub(crate) fn choose(&self, system: &System, choices: Choices, now: Now) {
        let bytes = if self.has_log.load(Ordering::Relaxed) { choices.bytes } else { 0 };
        self.age_max_ms.store(u64::from(choices.seconds) * 1000, Ordering::Relaxed);
        system.update(now, |update| {
            let mut kept = self.kept();
            let was_on = self.bytes_max.swap(bytes, Ordering::Relaxed) > 0;
            match (was_on, bytes > 0) {
                (false, true) => {
                    // What was applied before is nowhere.
                    let behind = number_of(self.applied.load(Ordering::Relaxed) + 1, 0) - 1;
                    kept.begin_behind(behind, Csn(self.applied_csn.load(Ordering::Relaxed)));
                    let schema = system.shard().schema();
                    let mut entry = Entry::new();
                    put_all(&mut entry, schema, "objectClass", ["top", "extensibleObject"]);
                    put(&mut entry, schema, "cn", CHANGE_LOG);
                    update.add(CHANGE_LOG_DN, &mut entry);
                }
                (true, false) => {
                    kept.drop_oldest(|_, _| true);
                    while let Some(number) = kept.next_gone() {
                        update.delete(&dn_of(number));
                    }
                    update.delete(CHANGE_LOG_DN);
                }
                _ => kept.drop_oldest(self.goes(now.wall_ms)),
            }
            if was_on != (bytes > 0) {
                show_all(update, &mut kept, !was_on);
            }
        });
    }

    /// The directory is what the log says up to this record, by which this was the last CSN. No change up to it will be put.
    pub(crate) fn begin_behind(&self, index: u64, csn: Csn) {
        self.applied.store(index, Ordering::Relaxed);
        self.applied_csn.store(csn.0, Ordering::Relaxed);
        self.kept().begin_behind(number_of(index + 1, 0) - 1, csn);
    }

    /// All of a record is applied, by which this was the last CSN.
    /// If changes are kept from here on, those of the records before are not there.
    pub(crate) fn end(&self, index: u64, csn: Csn) {
        self.applied.store(index, Ordering::Relaxed);
        self.applied_csn.store(csn.0, Ordering::Relaxed);
    }

    /// A command is about to be applied whose changes will be put. Returns whether its end is to be noted, if they are wanted.
    pub(crate) fn begin_command(&self) -> bool {
        let is_on = self.is_on();
        if is_on {
            self.commands.fetch_add(1, Ordering::Release);
        }
        is_on
    }

    /// All changes of the command were put.
    pub(crate) fn end_command(&self) {
        self.commands.fetch_add(1, Ordering::Release);
    }

    /// Puts the changes of a command, which was applied just now.
    pub(crate) fn put(&self, system: &System, applied: &Applied<'_>) {
        let wall_ms = applied.wall_ms;
        let mut kept = self.kept();
        let (mut values, mut recent) = std::mem::take(&mut kept.spare);
        let numbers = number_of(applied.index, applied.first)..;
        let updates = numbers.zip(journal::messages(applied.messages)).zip(applied.notes);
        for ((number, message), note) in updates {
            let Some(note) = note else { continue };
            // Of a log that begins anew what was before is worth nothing.
            if number <= kept.last() {
                kept.drop_oldest(|_, _| true);
                kept.behind = number - 1;
            }
            values.clear();
            let by = (applied.actor, wall_ms);
            let kind = put_values(&mut values, &mut recent, system, by, message, note);
            if applied.changes_others || kind.is_none() {
                kept.unlisted = kept.unlisted.max(note.csn);
            }
            let Some(kind) = kind else { continue };
            kept.push(Change {
                number,
                wall_ms,
                bytes: values.len() as u64 + ENTRY_BYTES,
                values: Some(Arc::from(&values[..])),
                csn: note.csn,
                sequence: applied.sequence,
                uuid: store::uuid::parse(&note.uuid),
                is_rename: kind == Kind::Rename,
                is_delete: kind == Kind::Delete,
            });
        }
        values.clear();
        values.shrink_to(SPARE_BYTES_MAX);
        kept.spare = (values, recent);
        kept.drop_oldest(self.goes(wall_ms));
        let is_much_gone = kept.is_much_gone(self.bytes_max.load(Ordering::Relaxed));
        drop(kept);
        if is_much_gone {
            self.delete_gone(system, Now { wall_ms, monotonic_ns: 0 });
        }
    }

    /// Changes that are entries.
    pub(crate) fn entries(&self) -> usize {
        self.kept().entries()
    }

    /// Whether the oldest change is to go, of so many bytes of changes: it is too old, or there is too much.
    fn goes(&self, wall_ms: u64) -> impl Fn(&Change, u64) -> bool + use<> {
        let bytes_max = self.bytes_max.load(Ordering::Relaxed);
        let oldest_ms = wall_ms.saturating_sub(self.age_max_ms.load(Ordering::Relaxed));
        move |change, bytes| bytes > bytes_max || change.wall_ms < oldest_ms
    }

    /// Brings the change log up to date, as far as its age matters, and shows its bounds in the root DSE of a session that is offered this. To be called before
    /// a read point of the server's own entries is taken.
    pub(crate) fn refresh(&self, system: &System, offer: Offer, now: Now) {
        if self.kept().is_shown(offer.number(), self.goes(now.wall_ms)) {
            return;
        }
        system.update(now, |update| {
            let mut kept = self.kept();
            kept.drop_oldest(self.goes(now.wall_ms));
            kept.show(update, offer.number());
        });
    }
}

/// The name of the entry of a change.
fn dn_of(number: u64) -> String {
    format!("changeNumber={number},{CHANGE_LOG_DN}")
}

/// Shows in all root DSEs that there is a change log, or that there is none.
fn show_all(update: &mut Update<'_>, kept: &mut Kept, is_on: bool) {
    kept.shown = Default::default();
    for (offer, dn) in ROOT_DSES.into_iter().enumerate() {
        match is_on {
            true => {
                update.replace(dn, [(CHANGE_LOG, vec![CHANGE_LOG_DN.to_owned()])]);
                kept.show(update, offer);
            }
            false => update.replace(dn, [CHANGE_LOG, FIRST, LAST].map(|name| (name, Vec::new()))),
        }
    }
}
