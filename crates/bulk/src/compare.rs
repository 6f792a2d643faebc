//! Whether two servers hold the same entries ([decision 92](../../../docs/decisions/0092-a-comparison-by-digests.md)).
//!
//! ```text
//! first server --> digests of all entries --sorted--> second server, entry by entry --> names that are in doubt
//!                                                     --> these entries of both again --> a pause --> and once more
//! ```

mod changes;
mod entries;
mod held;
mod rules;
mod secrets;
mod table;
mod text;

pub use changes::{Change, Difference};
pub use entries::{CompareError, Entries, Side};
pub use held::{Bases, Below, Held, bases};
pub use rules::Rules;
pub use text::shown;

use changes::changes;
use client::ClientError;
use proto::list::Attributes;
use std::collections::BTreeSet;
use table::{Found, Table};

/// Entries that are read again. Those beyond are counted as they were when they were read first.
pub const DOUBTED_MAX: usize = 100_000;

/// What a comparison found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Entries of each server.
    pub entries: [u64; 2],
    /// Entries that one of them has alone.
    pub only: [u64; 2],
    /// Entries that differ.
    pub differ: u64,
    /// Entries that differed at first, and were the same when they were read again.
    pub settled: u64,
    /// Those of `only` and `differ` that were not read again.
    pub unread: u64,
}

impl Compared {
    /// Entries that are not the same.
    pub fn differences(&self) -> u64 {
        self.only[0] + self.only[1] + self.differ
    }
}

/// Compares all entries. Each difference is given to `on_difference`; those of [`DOUBTED_MAX`] entries at most, others are counted. `pause` is
/// called once before entries that differ are read for the last time.
///
/// # Errors
/// See [`CompareError`].
pub fn compare(
    servers: [&mut dyn Entries; 2],
    rules: &Rules<'_>,
    pause: &mut dyn FnMut(),
    on_difference: &mut dyn FnMut(&Difference),
) -> Result<Compared, CompareError> {
    let [first, second] = servers;
    let mut comparing =
        Comparing { rules, found: Compared::default(), doubted: Vec::new(), known: BTreeSet::new() };
    comparing.all(first, second)?;
    let doubted = std::mem::take(&mut comparing.doubted);
    let mut again = Vec::new();
    for dn in doubted {
        if comparing.again(first, second, &dn)?.is_some() {
            again.push(dn);
        } else {
            comparing.found.settled += 1;
        }
    }
    if !again.is_empty() {
        pause();
    }
    for dn in again {
        let difference = comparing.again(first, second, &dn)?;
        match &difference {
            Some(Difference::Only(side, _)) => comparing.found.only[*side as usize] += 1,
            Some(Difference::Differs(..)) => comparing.found.differ += 1,
            None => comparing.found.settled += 1,
        }
        difference.iter().for_each(&mut *on_difference);
    }
    Ok(comparing.found)
}

/// A comparison in progress.
struct Comparing<'r, 's> {
    rules: &'r Rules<'s>,
    found: Compared,
    /// Names of entries to be read again.
    doubted: Vec<Vec<u8>>,
    /// Their digests: a server may show an entry twice.
    known: BTreeSet<rules::DnDigest>,
}

impl Comparing<'_, '_> {
    /// Reads all entries of both.
    fn all(&mut self, first: &mut dyn Entries, second: &mut dyn Entries) -> Result<(), CompareError> {
        let (rules, mut table) = (self.rules, Table::default());
        let has_first = first.each(false, &mut |dn, attributes| {
            table.push(rules.dn_digest(dn), rules.digest(attributes));
        });
        let has_first = has_first.map_err(|error| CompareError::Client(Side::First, error))?;
        table.sort();
        self.found.entries[0] = table.len() as u64;
        let has_second = second.each(false, &mut |dn, attributes| {
            self.found.entries[1] += 1;
            let digest = rules.dn_digest(dn);
            match table.meet(&digest, rules.digest(attributes)) {
                Found::Same => {}
                Found::Other => self.doubt(dn, digest, |found| &mut found.differ),
                Found::Missing => self.doubt(dn, digest, |found| &mut found.only[1]),
            }
        });
        let has_second = has_second.map_err(|error| CompareError::Client(Side::Second, error))?;
        if !has_first && !has_second {
            return Err(CompareError::NoBase);
        }
        if table.unmet() > 0 {
            // The table has no names: they are asked for once more.
            let named = first.each(true, &mut |dn, _| {
                let digest = rules.dn_digest(dn);
                if table.is_unmet(&digest) {
                    self.doubt(dn, digest, |found| &mut found.only[0]);
                }
            });
            named.map_err(|error| CompareError::Client(Side::First, error))?;
        }
        Ok(())
    }

    /// Takes note of an entry to be read again; of one too many it is counted what it is for now.
    fn doubt(&mut self, dn: &[u8], digest: rules::DnDigest, count: fn(&mut Compared) -> &mut u64) {
        if self.known.contains(&digest) {
            return;
        }
        if self.doubted.len() < DOUBTED_MAX {
            self.known.insert(digest);
            self.doubted.push(dn.to_vec());
        } else {
            *count(&mut self.found) += 1;
            self.found.unread += 1;
        }
    }

    /// Reads an entry of both again and compares it, value by value.
    fn again(
        &self,
        first: &mut dyn Entries,
        second: &mut dyn Entries,
        dn: &[u8],
    ) -> Result<Option<Difference>, CompareError> {
        let one = first.read(dn).map_err(|error| CompareError::Client(Side::First, error))?;
        let two = second.read(dn).map_err(|error| CompareError::Client(Side::Second, error))?;
        let only = |side| Ok(Some(Difference::Only(side, dn.to_vec())));
        let (one, two) = match (&one, &two) {
            (Some(one), Some(two)) => (one, two),
            (Some(_), None) => return only(Side::First),
            (None, Some(_)) => return only(Side::Second),
            (None, None) => return Ok(None),
        };
        let of = |side, raw| {
            let malformed =
                |_| CompareError::Client(side, ClientError::Malformed("attributes that are none"));
            Attributes::parse(raw).map_err(malformed)
        };
        let changes = changes(self.rules, [of(Side::First, one)?, of(Side::Second, two)?]);
        Ok((!changes.is_empty()).then(|| Difference::Differs(dn.to_vec(), changes)))
    }
}

#[cfg(test)]
mod tests;
