//! The entries that a constraint is about, if it is not about all.

use super::directory::Directory;
use model::dn::split_first;
use model::{EntryId, dn};
use schema::Schema;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use store::DnCache;

/// The entry with a DN, and those below it.
#[derive(Debug)]
pub(super) struct Subtree {
    /// As it was configured. The entry may come and go.
    pub(super) dn: Vec<u8>,
    /// Normal forms of the DN and of its superiors.
    pub(super) superiors: Vec<Vec<u8>>,
    found: Found,
}

/// The entry that was found last, and the batch since which no name may have changed if it is
/// still the one. Only the writer's role has a say here, so the two belong together.
#[derive(Debug, Default)]
struct Found {
    id: AtomicU32,
    since: AtomicU64,
}

impl Subtree {
    /// The subtree below a name. Err says what is wrong with the name.
    pub(super) fn new(dn: &[u8], schema: &Schema) -> Result<Subtree, String> {
        let names = std::iter::successors(Some(dn), |dn| split_first(dn).1);
        let superiors = names.map(|dn| normal(schema, dn)).collect::<Result<_, _>>();
        Ok(Subtree { dn: dn.to_vec(), superiors: superiors?, found: Found::default() })
    }

    /// Is this the name of its base?
    pub(super) fn is_named(&self, dn: &[u8], schema: &Schema) -> bool {
        normal(schema, dn).is_ok_and(|normal| self.superiors.first() == Some(&normal))
    }

    /// Its base, if there is one. Called by who has the writer's role, or in an overlay.
    pub(super) fn base(&self, directory: Directory<'_>, cache: &mut DnCache) -> Option<EntryId> {
        let Some(at) = directory.shard_alone() else { return directory.resolve(&self.dn, cache) };
        let id = self.found.id.load(Ordering::Relaxed);
        if id != 0 && at.names_hold_since(self.found.since.load(Ordering::Relaxed)) {
            return Some(EntryId(id));
        }
        let base = directory.resolve(&self.dn, cache);
        self.found.id.store(base.map_or(0, |id| id.0), Ordering::Relaxed);
        // The batch before this one: a name may still change in this one.
        self.found.since.store(at.sequence().saturating_sub(1), Ordering::Relaxed);
        base
    }
}

/// The normal form of a DN: two spellings of one name have the same.
pub(super) fn normal(schema: &Schema, dn: &[u8]) -> Result<Vec<u8>, String> {
    let mut key = Vec::new();
    let text = || String::from_utf8_lossy(dn).into_owned();
    dn::parse(dn).map_err(|error| format!("`{}` is not a DN: {error}", text()))?;
    schema.normalise_dn(dn, &mut key).map_err(|error| format!("`{}`: {error}", text()))?;
    Ok(key)
}
