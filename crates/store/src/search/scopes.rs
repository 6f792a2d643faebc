//! Where a search looks: below its base and, if it follows aliases, below what they stand for (RFC 4511 section
//! 4.5.1.3).
//!
//! What is added does not change while the search goes on: aliases are looked at once, at its read point. An entry that several ways lead to is in the
//! union once, so no search returns it twice.

use crate::dn_cache::DnCache;
use crate::record::EntryRef;
use crate::shape::Kind;
use crate::shard::ReadPoint;
use model::{EntryId, Scope};
use std::collections::BTreeSet;

/// Entries outside the scope that aliases may add to one search.
/// Each candidate is compared with all of them on its way up.
const MORE_MAX: usize = 256;
/// Looks at aliases that gathering them may take.
const LOOKS_MAX: usize = 1 << 18;

/// A search follows more aliases than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyAliases;

/// The scope of a search, and what aliases in it stand for.
/// A set, so that following the same target again ends.
#[derive(Clone, Debug)]
pub struct Scopes {
    pub(crate) base: EntryId,
    pub(crate) scope: Scope,
    /// Roots of further subtrees; of a search one level down, further entries.
    more: BTreeSet<u32>,
}

impl Scopes {
    /// A base and a scope.
    pub fn new(base: EntryId, scope: Scope) -> Scopes {
        Scopes { base, scope, more: BTreeSet::new() }
    }

    pub(crate) fn is_single(&self) -> bool {
        self.more.is_empty()
    }

    /// Is an entry within?
    #[inline]
    pub fn hold(&self, read_point: ReadPoint<'_>, entry: &EntryRef<'_>) -> bool {
        read_point.is_in_scope(entry, self.base, self.scope)
            || (!self.more.is_empty() && self.is_in_more(read_point, entry.id))
    }

    /// Walks up to the suffix at worst; the depth of a tree is bounded by the length of a DN.
    fn is_in_more(&self, read_point: ReadPoint<'_>, mut id: EntryId) -> bool {
        if matches!(self.scope, Scope::Base | Scope::One) {
            return self.more.contains(&id.0);
        }
        while !self.more.contains(&id.0) {
            match read_point.entry(id) {
                Some(entry) if entry.parent().0 != 0 => id = entry.parent(),
                _ => return false,
            }
        }
        true
    }

    /// Adds what the aliases within stand for. Those that lead nowhere add nothing, nor do those that are not seen or lead to what is not.
    ///
    /// # Errors
    /// When there are too many of them.
    /// What one alias adds may have others below it, so it goes round until nothing is added.
    pub fn follow(
        &mut self,
        read_point: ReadPoint<'_>,
        cache: &mut DnCache,
        sees: &mut dyn FnMut(&EntryRef<'_>) -> bool,
    ) -> Result<(), TooManyAliases> {
        let mut waiting = Vec::new();
        if let Some(set) = read_point.shard.kinds.of(Kind::Alias) {
            set.push_from(0, LOOKS_MAX + 1, read_point, &mut waiting);
        }
        let mut looks = 0;
        loop {
            looks += waiting.len();
            if looks > LOOKS_MAX {
                return Err(TooManyAliases);
            }
            let before = self.more.len();
            // One that is outside now may be inside after the next round.
            waiting.retain(|alias| !self.follow_one(read_point, EntryId(*alias), cache, sees));
            if self.more.len() > MORE_MAX {
                return Err(TooManyAliases);
            }
            if self.more.len() == before {
                return Ok(());
            }
        }
    }

    /// Follows an alias if it is within. `false` if it is not.
    /// The base itself is no alias to be followed here: whether it is was decided when it was found.
    fn follow_one(
        &mut self,
        read_point: ReadPoint<'_>,
        alias: EntryId,
        cache: &mut DnCache,
        sees: &mut dyn FnMut(&EntryRef<'_>) -> bool,
    ) -> bool {
        let Some(entry) = read_point.entry(alias).filter(|entry| entry.shape.kind == Kind::Alias) else {
            return true;
        };
        if alias == self.base || !self.hold(read_point, &entry) {
            return alias == self.base;
        }
        let mut dn = Vec::new();
        read_point.write_dn(&entry, cache, &mut dn);
        if let Ok((target, _)) = read_point.resolve_through(&dn, cache, sees)
            && let Some(entry) = read_point.entry(target)
            && !self.hold(read_point, &entry)
        {
            self.more.insert(target.0);
        }
        true
    }
}
