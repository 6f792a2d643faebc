//! Times of accounts that change often: when somebody bound last, when binds failed, and until when this delays the next try. They are in memory first, and
//! are written to the log in batches, as records of a kind of their own. A crash loses what was not written yet, and nobody is let in by it.
//!
//! They stand in operational attributes of the account's entry, so that snapshots, backups and exports have them, filters find them and rules
//! guard them. To write one is no change of the entry: its CSN and its times stay. Of several for one account the latest counts, and of failures
//! all since the last success, whatever their order, so replicas and replays agree.

use crate::access::each_value;
use crate::generalized_time;
use model::limits::{ACCOUNT_TIMES_MAX, FAILURE_TIMES_MAX};
use model::{Csn, Description, EntryId};
use schema::Schema;
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::{Change, ChangeKind, EntryRef, ReadPoint, Refused, Shard, Values, Writer};

/// Nanoseconds between two batches: a crash loses as much.
const BATCH_NS: u64 = 5_000_000_000;

/// Octets of a time in the log.
pub const TIME_BYTES: usize = 24;

/// Attributes that have the time of the last bind; the second one is what other servers call it.
const LAST_SUCCESS: [&str; 2] = ["pwdLastSuccess", "authTimestamp"];
const DELAY_END: [&str; 1] = ["pwdAccountTmpLockoutEnd"];
const FAILURES: &str = "pwdFailureTime";

/// What a time says of an account. In the order in which those of one account are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// A password was right, at this time.
    LastSuccess = 1,
    /// Failures up to this time count no more, nor does a delay: there was a success, another password, or they are too long ago.
    NoFailures = 2,
    /// Failures delay the next try up to this time.
    DelayEnd = 3,
    /// A password was wrong, at this time.
    Failure = 4,
}

impl Field {
    /// All of them.
    pub const ALL: [Field; 4] = [Field::LastSuccess, Field::NoFailures, Field::DelayEnd, Field::Failure];

    /// What tells several of one account apart: only the latest is kept but of failures.
    fn distinct(self, ms: u64) -> u64 {
        if self == Field::Failure { ms } else { 0 }
    }
}

/// A time of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountTime {
    /// Its entry.
    pub entry: EntryId,
    /// When the entry was added: another entry that has the id by now is another account.
    pub created: Csn,
    /// What it says.
    pub field: Field,
    /// In milliseconds since 1970.
    pub ms: u64,
}

impl AccountTime {
    /// Of an entry.
    pub(crate) fn of(entry: &EntryRef<'_>, field: Field, ms: u64) -> AccountTime {
        AccountTime { entry: entry.id, created: entry.stamps().created, field, ms }
    }

    /// Appends it, as the log has it: `u32 entry | u8 field | three zeros | u64 create CSN | u64 time`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let AccountTime { entry, created, field, ms } = self;
        out.extend_from_slice(&entry.0.to_le_bytes());
        out.extend_from_slice(&[*field as u8, 0, 0, 0]);
        out.extend_from_slice(&created.0.to_le_bytes());
        out.extend_from_slice(&ms.to_le_bytes());
    }

    /// Reads one. `None` of what this program does not know.
    pub fn decode(bytes: &[u8; TIME_BYTES]) -> Option<AccountTime> {
        let (entry, rest) = bytes.split_first_chunk()?;
        let (kind, rest) = rest.split_first_chunk::<4>()?;
        let (created, rest) = rest.split_first_chunk()?;
        let [field, 0, 0, 0] = *kind else { return None };
        let field = Field::ALL.into_iter().find(|known| *known as u8 == field)?;
        let (entry, created) = (EntryId(u32::from_le_bytes(*entry)), Csn(u64::from_le_bytes(*created)));
        Some(AccountTime { entry, created, field, ms: u64::from_le_bytes(*rest.first_chunk()?) })
    }
}

/// An account's time that waits: its entry, what it says, and which of several it is.
type Key = (u32, Field, u64);

/// Times that are not written yet.
#[derive(Default)]
pub struct AccountTimes {
    /// The create CSN and the time.
    waiting: Mutex<BTreeMap<Key, (u64, u64)>>,
    /// Monotonic time from which on the next batch is written.
    due_ns: AtomicU64,
}

impl AccountTimes {
    fn waiting(&self) -> MutexGuard<'_, BTreeMap<Key, (u64, u64)>> {
        // A time is whole after every statement.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a time, which is written with the next batch. Without room it is forgotten: the next bind of the account brings it again.
    pub(crate) fn note(&self, time: AccountTime) {
        let AccountTime { entry, created, field, mut ms } = time;
        let mut waiting = self.waiting();
        if field == Field::NoFailures {
            waiting.remove(&(entry.0, Field::DelayEnd, 0));
            failures(&waiting, entry).into_iter().filter(|failed| *failed <= ms).for_each(|failed| {
                waiting.remove(&(entry.0, Field::Failure, failed));
            });
        }
        // Two failures of one millisecond are two. What is put back is there again as it was. The second is an earlier one, for a success of the
        // same millisecond is behind both.
        while field == Field::Failure && ms > 0 && waiting.contains_key(&(entry.0, field, ms)) {
            ms -= 1;
        }
        let has_room = waiting.len() < ACCOUNT_TIMES_MAX;
        let key = (entry.0, field, field.distinct(ms));
        match waiting.get_mut(&key) {
            // Of an entry that had the id before nothing is wanted.
            Some(noted) if noted.0 == created.0 => noted.1 = noted.1.max(ms),
            Some(noted) => *noted = (created.0, ms),
            None if has_room => _ = waiting.insert(key, (created.0, ms)),
            None => {}
        }
    }

    /// The time that waits for an account.
    pub(crate) fn get(&self, entry: &EntryRef<'_>, field: Field) -> Option<u64> {
        let (created, ms) = *self.waiting().get(&(entry.id.0, field, 0))?;
        (created == entry.stamps().created.0).then_some(ms)
    }

    /// Does a failure of an account wait?
    pub(crate) fn has_failure(&self, entry: &EntryRef<'_>) -> bool {
        !failures(&self.waiting(), entry.id).is_empty()
    }

    /// Is it time to write what waits, if something does? To be asked about once a second by any thread; it is yes for one of them.
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        let due = self.due_ns.load(Ordering::Relaxed);
        let next = now_ns + BATCH_NS;
        now_ns >= due
            && self.due_ns.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            && !self.is_empty()
    }

    /// Does nothing wait?
    pub fn is_empty(&self) -> bool {
        self.waiting().is_empty()
    }

    /// Takes up to `max` of them, by the order of their entries.
    pub fn take(&self, max: usize) -> Vec<AccountTime> {
        let mut waiting = self.waiting();
        let mut taken = Vec::with_capacity(max.min(waiting.len()));
        while taken.len() < max
            && let Some(((entry, field, _), (created, ms))) = waiting.pop_first()
        {
            taken.push(AccountTime { entry: EntryId(entry), created: Csn(created), field, ms });
        }
        taken
    }

    /// Forgets all that waits.
    pub(crate) fn forget(&self) {
        // Freed behind the lock.
        let waiting = std::mem::take(&mut *self.waiting());
        drop(waiting);
    }

    /// Takes back what could not be written now.
    pub fn put_back(&self, times: &[AccountTime]) {
        times.iter().for_each(|time| self.note(*time));
    }
}

/// The failures of an account among what waits.
fn failures(waiting: &BTreeMap<Key, (u64, u64)>, entry: EntryId) -> Vec<u64> {
    let range = (entry.0, Field::Failure, 0)..=(entry.0, Field::Failure, u64::MAX);
    waiting.range(range).map(|((.., ms), _)| *ms).collect()
}

/// When binds of an account failed, as its entry has it: since the last success, the newest ones.
pub(crate) fn stored_failures(at: ReadPoint<'_>, entry: &EntryRef<'_>) -> Vec<u64> {
    let mut all = Vec::new();
    if let Some(id) = at.shard().schema().find_type(FAILURES.as_bytes()) {
        each_value(entry, id, at, &mut |value| all.extend(generalized_time::read(value)));
    }
    all
}

/// The time that an entry has in an attribute, in milliseconds since 1970.
pub(crate) fn stored(at: ReadPoint<'_>, entry: &EntryRef<'_>, attribute: &str) -> Option<u64> {
    let id = at.shard().schema().find_type(attribute.as_bytes())?;
    let position = entry.shape.position(Description::plain(id))?;
    match entry.slot(position) {
        Values::Inline(values) => values.filter_map(generalized_time::read).max(),
        // So many that somebody else has put them there.
        Values::Set(_) => None,
    }
}

/// Applies times, as one batch. True if memory ran out on the way.
///
/// What cannot be stored for another reason is left out: a schema without the attribute, an entry that is gone. It follows from the directory
/// alone, so a replay leaves out the same.
pub(crate) fn apply(shard: &Shard, times: impl Iterator<Item = AccountTime>) -> bool {
    let mut writer = shard.writer();
    let mut lacks_memory = false;
    for time in times {
        lacks_memory |=
            matches!(apply_one(&mut writer, shard.schema(), time), Err(Refused::MemoryLimit { .. }));
    }
    writer.publish();
    lacks_memory
}

/// An attribute, and what its values are from then on.
type Written = (&'static str, SmallVec<[Vec<u8>; 1]>);

/// Writes one time of an account into its entry. An entry that is gone meanwhile is passed over.
fn apply_one(writer: &mut Writer<'_>, schema: &Schema, time: AccountTime) -> Result<(), Refused> {
    let view = writer.view();
    let entry = view.entry(time.entry).filter(|entry| entry.stamps().created == time.created);
    let Some(entry) = entry else { return Ok(()) };
    let latest = |names: &[&str]| names.iter().filter_map(|name| stored(view, &entry, name)).max();
    // What is written to which attributes; nothing where it is there already.
    let mut writes: SmallVec<[Written; 2]> = SmallVec::new();
    match time.field {
        // Other servers have whole seconds there, and clients that read no others.
        Field::LastSuccess if latest(&LAST_SUCCESS).is_none_or(|before| before < time.ms) => {
            let text = generalized_time::seconds(time.ms);
            writes.extend(LAST_SUCCESS.map(|name| (name, smallvec![text.clone()])));
        }
        Field::DelayEnd if latest(&DELAY_END).is_none_or(|before| before < time.ms) => {
            writes.extend(DELAY_END.map(|name| (name, smallvec![generalized_time::write(time.ms)])));
        }
        Field::LastSuccess | Field::DelayEnd => {}
        Field::NoFailures => {
            if latest(&DELAY_END).is_some() {
                writes.extend(DELAY_END.map(|name| (name, SmallVec::new())));
            }
            let mut failures = stored_failures(view, &entry);
            let count = failures.len();
            failures.retain(|failed| *failed > time.ms);
            if failures.len() < count {
                writes.push((FAILURES, failures.into_iter().map(generalized_time::write).collect()));
            }
        }
        Field::Failure => {
            let mut failures = stored_failures(view, &entry);
            if !failures.contains(&time.ms) {
                failures.push(time.ms);
                failures.sort_unstable();
                let newest = failures.split_off(failures.len().saturating_sub(FAILURE_TIMES_MAX));
                writes.push((FAILURES, newest.into_iter().map(generalized_time::write).collect()));
            }
        }
    }
    let known = writes.iter().filter_map(|(name, values)| Some((schema.find_type(name.as_bytes())?, values)));
    let changes: SmallVec<[Change<'_>; 2]> = known
        .map(|(id, values)| Change {
            kind: ChangeKind::Replace,
            description: Description::plain(id),
            values: values.iter().map(Vec::as_slice).collect(),
        })
        .collect();
    if changes.is_empty() { Ok(()) } else { writer.keep(time.entry, &changes) }
}

#[cfg(test)]
mod tests;
