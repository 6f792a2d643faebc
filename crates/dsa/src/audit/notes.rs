//! What the messages of a command do not say, and is noted while they are applied: which entry it was, and the number of the change.

use env::net::PeerAddress;
use model::Csn;
use proto::{Outline, tag};
use store::derived::Derived;
use store::{DnCache, ReadPoint};

/// Where a command came from. The log does not have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Where the client is.
    pub peer: Option<PeerAddress>,
    /// The load balancer that it came by, if one said where the client is.
    pub via: Option<PeerAddress>,
    /// Number of its connection in the access log; 0 if that is off.
    pub connection: u64,
    /// Who asked, if it was to be applied as another.
    pub who: Vec<u8>,
}

/// What is noted of an update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// The number of the change.
    pub csn: Csn,
    /// entryUUID of the entry; empty if it has none.
    pub uuid: Vec<u8>,
}

/// Notes of the updates of a command, in their order. The writer's role is held while they are made.
#[derive(Default)]
pub(crate) struct Notes {
    made: Vec<Option<Note>>,
    uuid: Vec<u8>,
    cache: DnCache,
}

impl Notes {
    /// An update is about to be applied: the entry is there, unless it is added. A name may be gone after it.
    pub(crate) fn before(&mut self, view: ReadPoint<'_>, message: &[u8]) {
        self.uuid.clear();
        if let Some(outline) = Outline::of(message).filter(|outline| outline.op_tag != tag::ADD) {
            self.find(view, outline.dn);
        }
    }

    /// It was applied, or refused: the answer says which.
    pub(crate) fn after(&mut self, view: ReadPoint<'_>, csn: Csn, message: &[u8]) {
        if let Some(outline) = Outline::of(message).filter(|outline| outline.op_tag == tag::ADD) {
            self.find(view, outline.dn);
        }
        self.made.push(Some(Note { csn, uuid: std::mem::take(&mut self.uuid) }));
    }

    /// Definitions were added to the schema, or not: the answer says which.
    pub(crate) fn schema(&mut self, csn: Csn) {
        self.made.push(Some(Note { csn, uuid: Vec::new() }));
    }

    /// So many updates were refused before they could be looked at.
    pub(crate) fn refused(&mut self, updates: usize) {
        self.made.extend(std::iter::repeat_n(None, updates));
    }

    /// Takes those that were made.
    pub(crate) fn take(&mut self) -> Vec<Option<Note>> {
        std::mem::take(&mut self.made)
    }

    /// Keeps the entryUUID of an entry, before it changes or goes.
    fn find(&mut self, view: ReadPoint<'_>, dn: &[u8]) {
        self.cache.refresh_own(view);
        let Ok(id) = view.resolve(dn, &mut self.cache) else { return };
        let Some(entry) = view.entry(id) else { return };
        // Stored where an import brought it; else it follows from the entry's id and stamps.
        let mut stored = Vec::new();
        view.values_of(&entry, view.shard().schema().well_known().entry_uuid, &mut stored);
        match stored.pop() {
            Some(stored) => self.uuid = stored,
            None => _ = view.derive(&entry, Derived::EntryUuid, &mut self.cache, &mut self.uuid),
        }
    }
}
