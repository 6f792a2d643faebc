//! In which forms the directory has its passwords, so that a bind as nobody takes the time of a bind as somebody.
//!
//! A sample of the stored values is taken at most once a minute. A name without a password is judged by one of them, which its hash
//! picks: the same one at every try, and each form as often as the directory has it. The outcome is thrown away. Its entry goes with it,
//! for a bind reads more of an entry than its password.

use super::values::first;
use ::password::{Scheme, Stored};
use model::EntryId;
use std::sync::{Mutex, PoisonError};
use store::ReadPoint;

/// Nanoseconds for which a sample holds.
const SAMPLE_NS: u64 = 60_000_000_000;
/// Entries that are looked at for one.
const LOOKS: u32 = 1024;
/// Values that are kept.
const VALUES_MAX: usize = 256;

/// The forms of stored passwords.
#[derive(Default)]
pub(crate) struct Forms(Mutex<Sample>);

#[derive(Default)]
struct Sample {
    taken_ns: Option<u64>,
    /// By what they cost. So another sample of the same directory judges nearly all names as this one does.
    values: Vec<(Vec<u8>, EntryId)>,
}

impl Forms {
    /// A stored value to judge a name by that has none, and the entry that had it when the sample was taken. `account`: a keyed hash of the
    /// name.
    pub(crate) fn pick(
        &self,
        read_point: ReadPoint<'_>,
        scheme: Scheme,
        account: u64,
        now_ns: u64,
    ) -> (Vec<u8>, Option<EntryId>) {
        // A panic leaves an old sample or a new one.
        let mut sample = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sample.taken_ns.is_none_or(|taken| now_ns.saturating_sub(taken) >= SAMPLE_NS) {
            *sample = Sample { taken_ns: Some(now_ns), values: values_of(read_point) };
        }
        let values = &sample.values;
        // The upper bits decide, in proportion.
        let at = (u128::from(account) * values.len() as u128) >> 64;
        match values.get(at as usize) {
            Some((value, id)) => (value.clone(), Some(*id)),
            None => (scheme.dummy(), None),
        }
    }
}

/// Stored passwords of entries all over the directory.
/// Entries are taken at equal distances of their ids, so a subtree with many users counts as often as it has users.
fn values_of(read_point: ReadPoint<'_>) -> Vec<(Vec<u8>, EntryId)> {
    let end = read_point.shard().ids_end();
    let step = (end / LOOKS).max(1);
    let mut values: Vec<(u64, Vec<u8>, EntryId)> = Vec::new();
    for id in (0..end).step_by(step as usize).take(LOOKS as usize) {
        let Some(entry) = read_point.entry(EntryId(id)) else { continue };
        let cost =
            |value: &[u8]| Stored::read(value).ok().map(|stored| (stored.cost_ns(), stored.is_clear()));
        let Some(value) = first(read_point, &entry, |value| cost(value).is_some()) else { continue };
        // Words in the clear are not kept.
        let Some((cost_ns, is_clear)) = cost(&value) else { continue };
        values.push((cost_ns, if is_clear { b"-".to_vec() } else { value }, EntryId(id)));
    }
    let keep = values.len().div_ceil(VALUES_MAX).max(1);
    values.sort();
    values.into_iter().step_by(keep).map(|(_, value, id)| (value, id)).collect()
}
