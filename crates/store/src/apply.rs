//! Commands: what changes the shard, one file each. A command is judged against everything before it in log order
//! and either applied whole or refused; nothing here knows a clock or draws a random number.
//!
//! There is no rollback, so the order of steps is what makes a command whole or refused:
//!
//! 1. It is judged: names, schema, superiors. A refusal here has touched nothing.
//! 2. Its room is claimed, in segments and under the memory limit. From here on the record can be written.
//! 3. Tables get what the new state needs: name, superior, index keys. They may run full. What was put there then leads
//!    to an entry that does not have it, which every reader checks, and is taken out as a removal that waits.
//! 4. The record is written: now the entry has its new state, for readers once the batch is published.
//! 5. What the old state alone needed is put off until no reader is older than the batch (`deferred.rs`).
//!
//! ModifyDN makes its new links before it judges the entry, and drops them if that is refused. The fast paths (prepared
//! writes, replacements, rows) do the same with less work; they may only say yes.

mod add;
mod binary;
mod condition;
mod copy;
mod delete;
mod judge;
mod keep;
mod modify;
mod modify_dn;
mod name;
mod pattern;
mod place;
mod prepared;
mod prepared_write;
mod replace;
mod rows;
mod sets;
mod write;

pub use add::Add;
pub use condition::Condition;
pub use judge::{EachValue, Judge, Made};
pub use modify::{Change, ChangeKind, Modify};
pub use modify_dn::ModifyDn;
pub use pattern::{Pattern, RowMaker, Rows, Unlike};
pub use prepared::Prepared;
pub use prepared_write::{PreparedWrite, REPLACEMENTS_MAX, Replacement};

use crate::refused::Refused;
use crate::resolve::{Known, Unresolved};
use crate::shape::Kind;
use crate::shard::Writer;
use model::{Csn, EntryId};
use std::sync::atomic::Ordering;

/// When and by whom a command was given. Made before the command is logged, so that every replica sees the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its change sequence number.
    pub csn: Csn,
    /// Number of the name of who asked for it ([`Writer::name`]).
    pub actor: u32,
}

impl Writer<'_> {
    /// The entry that a command is about, where a prefetch may have found out already. What it found holds unless an entry was
    /// renamed or deleted since, in a batch that was published or in this one.
    fn existing_known(&mut self, dn: &[u8], known: Option<Known<'_>>) -> Result<EntryId, Refused> {
        match known {
            Some(known) if self.shard.names_changed.load(Ordering::Relaxed) <= known.sequence => {
                let view = self.view();
                view.lookup(&known.target, known.keys, &mut self.state.cache)
                    .ok_or_else(|| Refused::NoSuchObject { matched: view.matched(&known.target) })
            }
            _ => self.existing(dn),
        }
    }

    /// The entry that a command is about.
    pub(crate) fn existing(&mut self, dn: &[u8]) -> Result<EntryId, Refused> {
        let view = self.view();
        let state = &mut *self.state;
        // The cache is the writer's own: what an earlier batch remembered is true as far as names did not change.
        state.cache.refresh(view);
        state.scratch.key.clear();
        let target = match view.target(dn, &mut state.cache, &mut state.scratch.key) {
            Ok(target) => target,
            Err(Unresolved::Invalid(reason)) => return Err(Refused::InvalidDn(reason)),
            Err(Unresolved::NoSuchObject(None)) => return Err(self.outside_or_missing(dn)),
            Err(Unresolved::NoSuchObject(matched)) => return Err(Refused::NoSuchObject { matched }),
        };
        view.lookup(&target, &state.scratch.key, &mut state.cache)
            .ok_or_else(|| Refused::NoSuchObject { matched: view.matched(&target) })
    }

    /// Why the superior of an entry, or the name it shall get, leads nowhere. Where nothing matched at all, the naming context
    /// itself may not have an entry yet, or this server does not hold it: two refusals.
    fn no_superior(&self, dn: &[u8], unresolved: Unresolved) -> Refused {
        match unresolved {
            Unresolved::Invalid(reason) => Refused::InvalidDn(reason),
            Unresolved::NoSuchObject(None) if !self.shard.holds(dn) => Refused::OutsideNamingContexts,
            Unresolved::NoSuchObject(matched) => Refused::NoSuchSuperior { matched },
        }
    }

    /// May an entry have subordinates at all? Not an alias (RFC 4512 section 2.6). Looked up only if there is any alias.
    fn refuse_below_alias(&self, superior: u32) -> Result<(), Refused> {
        match self.shard.has_aliases() && self.view().kind(EntryId(superior)) == Some(Kind::Alias) {
            true => Err(Refused::BelowAlias),
            false => Ok(()),
        }
    }

    /// What anybody remembers of DNs may be wrong from this batch on: for readers when they see it, for the writer now.
    pub(crate) fn names_change(&mut self) {
        self.shard.names_changed.store(self.sequence, Ordering::Release);
        self.state.cache.forget();
    }

    fn outside_or_missing(&self, dn: &[u8]) -> Refused {
        match self.shard.holds(dn) {
            true => Refused::NoSuchObject { matched: None },
            false => Refused::OutsideNamingContexts,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
