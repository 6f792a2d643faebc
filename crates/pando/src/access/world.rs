//! Directories that decisions are asked about: one on the disk, and one that is served.

use access::{Entry, Name, World};
use bulk::{Export, Operational};
use client::Link;
use node::data::View;
use schema::Schema;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A data directory; without a view it was never served, and is empty.
pub(super) struct OfData {
    pub(super) schema: Arc<Schema>,
    pub(super) view: Option<View>,
}

impl World for OfData {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn entry(&self, name: &Name) -> Option<Arc<Entry>> {
        let shard = self.view.as_ref()?.dsa.shard();
        let what = Export {
            base: Some(name.to_string()),
            is_alone: true,
            filter: None,
            operational: Operational::Keep,
        };
        let mut text = Vec::new();
        bulk::export(shard, &what, &mut text, &mut |_| ()).ok()?;
        access::ldif::entries(&self.schema, &text).ok()?.pop().map(Arc::new)
    }
}

/// A server that runs. What was asked for is remembered, also that an entry is not there.
pub(super) struct OfServer {
    pub(super) schema: Arc<Schema>,
    pub(super) link: RefCell<Link>,
    pub(super) known: RefCell<BTreeMap<Name, Option<Arc<Entry>>>>,
    /// The first error of the connection; what follows it says nothing.
    pub(super) failed: RefCell<Option<String>>,
}

impl World for OfServer {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn entry(&self, name: &Name) -> Option<Arc<Entry>> {
        if let Some(known) = self.known.borrow().get(name) {
            return known.clone();
        }
        let dn = name.to_string();
        let found = client::entry(&mut self.link.borrow_mut(), dn.as_bytes()).unwrap_or_else(|error| {
            self.failed.borrow_mut().get_or_insert_with(|| error.to_string());
            None
        });
        let entry = found.and_then(|attributes| Entry::new(&self.schema, &dn, attributes)).map(Arc::new);
        self.known.borrow_mut().insert(name.clone(), entry.clone());
        entry
    }
}
