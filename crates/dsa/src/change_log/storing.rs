//! Changes become entries when somebody looks for them.
//!
//! Who is to find all changes of now waits until those that are kept are stored: the oldest first, some at a time, in turns of its session. What comes meanwhile
//! it need not find, so it does not wait for ever. Two who wait share the work: the one goes on where the other was.

use super::kept::Step;
use super::record::entry_of;
use super::{ChangeLog, dn_of};
use crate::system::System;
use env::clock::Now;
use model::limits::VALUE_BYTES_MAX;

/// Entries that are made or deleted at a time, and bytes of their values: about half a millisecond in which nobody else changes the server's own entries.
const AT_ONCE: usize = 16;
const BYTES_AT_ONCE: usize = 256 << 10;
/// Entries that are deleted at a time without a reader.
const DELETED_AT_ONCE: usize = 64;

impl ChangeLog {
    /// The newest change: who has waited for it finds all changes of now.
    pub(crate) fn last(&self) -> u64 {
        self.kept().last()
    }

    /// Are all changes up to this number entries that a read point of later on has, and no others but later ones?
    pub(crate) fn is_stored(&self, until: u64, now: Now) -> bool {
        let mut kept = self.kept();
        kept.drop_oldest(self.goes(now.wall_ms));
        kept.is_stored(until)
    }

    /// Stores some of the changes up to this number, as [`ChangeLog::is_stored`] asks. Are all of them stored by now?
    /// A thread is not held for long: it is called again, in a later turn, until it says so.
    pub(crate) fn store(&self, system: &System, until: u64, now: Now) -> bool {
        if self.is_stored(until, now) {
            return true;
        }
        system.update(now, |update| {
            let mut left = BYTES_AT_ONCE;
            for _ in 0..AT_ONCE {
                // In an expression of its own: the lock is given back before the entry is made.
                let step = self.kept().next_step(until);
                match step {
                    Some(Step::Delete(number)) => update.delete(&dn_of(number)),
                    Some(Step::Store(number, values)) => {
                        // Base64 makes of a value that the directory takes one that it does not take.
                        let fits = values.len() < VALUE_BYTES_MAX && {
                            let mut entry = entry_of(system.shard().schema(), number, &values);
                            update.add(&dn_of(number), &mut entry)
                        };
                        if !fits {
                            // There is no room for it: so there is none for any before it, or readers would not know that one is missing.
                            self.kept().drop_oldest(|change, _| change.number <= number);
                        }
                        left = left.saturating_sub(values.len());
                    }
                    None => break,
                }
                if left == 0 {
                    break;
                }
            }
            update.publish_so_far();
            self.kept().settle();
        });
        self.is_stored(until, now)
    }

    /// Deletes some entries of changes that are gone.
    #[cold]
    pub(super) fn delete_gone(&self, system: &System, now: Now) {
        system.update(now, |update| {
            for _ in 0..DELETED_AT_ONCE {
                let Some(number) = self.kept().next_gone() else { return };
                update.delete(&dn_of(number));
            }
        });
    }
}
