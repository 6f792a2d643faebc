//! A new entry whose part that needs no writer is done: named, checked, its RDN normalised. Many threads prepare
//! while one adds, which is how a load becomes faster than its writer's checks. It depends on schema and settings alone,
//! never on other entries, so it cannot become stale while it waits.

use super::Stamp;
use super::name::Naming;
use crate::refused::Refused;
use crate::resolve::rdn_key;
use crate::shard::{Shard, Writer};
use model::{Entry, EntryId, dn};
use schema::Checked;

/// An entry on its way into a shard. It keeps its memory when it is cleared.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    /// The DN. The caller fills it in.
    pub dn: Vec<u8>,
    /// The attributes. The caller fills them in; [`Shard::prepare`] takes them away.
    pub entry: Entry,
    /// The entry, once it was prepared.
    pub(super) checked: Option<Entry<Checked>>,
    /// What it is named by.
    pub(super) naming: Naming,
    /// Key of the RDN.
    pub(super) key: Vec<u8>,
    /// Where the superior's DN begins in `dn`.
    superior: Option<usize>,
}

impl Prepared {
    /// Empties it.
    pub fn clear(&mut self) {
        self.dn.clear();
        self.entry = match self.checked.take() {
            Some(checked) => checked.into_cleared(),
            None => std::mem::take(&mut self.entry).into_cleared(),
        };
        self.naming.clear();
        self.key.clear();
        self.superior = None;
    }

    /// The DN of the superior as it was given; `None` if the DN has one RDN at most.
    pub fn superior(&self) -> Option<&[u8]> {
        self.superior.map(|at| &self.dn[at..])
    }
}

impl Shard {
    /// Does all that an add does before it looks at other entries. With `keep_operational`, values for attributes
    /// that users cannot change may be there.
    ///
    /// # Errors
    /// Those of an add that are about the entry itself. It must be cleared before it is used again.
    pub fn prepare(&self, prepared: &mut Prepared, keep_operational: bool) -> Result<(), Refused> {
        let is_cleared = prepared.checked.is_none() && prepared.key.is_empty();
        assert!(is_cleared, "what is prepared was cleared since it was used last");
        let (first, rest) = dn::split_first(&prepared.dn);
        if first.trim_ascii().is_empty() && rest.is_none() {
            return Err(Refused::NamingViolation(
                "the root DSE is not an entry that can be added".to_owned(),
            ));
        }
        prepared.superior = rest.map(|rest| prepared.dn.len() - rest.len());
        rdn_key(&self.schema, first, &mut prepared.key, |name| self.schema.find_type(name))
            .map_err(Refused::InvalidDn)?;
        let (naming, checked) = self.name_and_check(first, &mut prepared.entry, keep_operational)?;
        (prepared.naming, prepared.checked) = (naming, Some(checked));
        Ok(())
    }
}

impl Writer<'_> {
    /// Adds an entry that [`Shard::prepare`] of this shard made ready. It stays as it is, whatever comes out.
    ///
    /// # Panics
    /// If it was not prepared.
    pub fn add_prepared(&mut self, prepared: &Prepared, stamp: Stamp) -> Result<EntryId, Refused> {
        let checked = prepared.checked.as_ref().expect("the entry was prepared");
        assert!(!prepared.key.is_empty(), "what was checked was named first");
        let view = self.view();
        let state = &mut *self.state;
        state.cache.refresh(view);
        let mut keys = std::mem::take(&mut state.scratch.key);
        keys.clear();
        let target = view.target_with_key(
            &prepared.dn,
            prepared.superior(),
            &prepared.key,
            &mut state.cache,
            &mut keys,
        );
        let found = target.map(|target| (target, view.lookup(&target, &keys, &mut state.cache)));
        let outcome = match found {
            Ok((target, None)) => self.store_new(checked, &target, &keys, &prepared.naming, stamp),
            Ok((_, Some(_))) => Err(Refused::EntryAlreadyExists),
            Err(unresolved) => Err(self.no_superior(&prepared.dn, unresolved)),
        };
        self.state.scratch.key = keys;
        outcome
    }

    /// Prefetches the memory that adding this entry will look at first.
    #[inline]
    pub fn prefetch_prepared(&self, prepared: &Prepared) {
        self.view().prefetch_key(prepared.superior(), &prepared.key, &self.state.cache);
    }
}
