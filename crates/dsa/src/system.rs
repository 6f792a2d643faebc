//! What a server says about itself: root DSE, subschema subentry and monitor, kept as entries of a small shard of
//! their own, so that searches and compares treat them like all others.

use crate::config::Config;
use crate::offer::Offer;
use crate::outcome;
use env::clock::Now;
use model::limits::{CHANGE_LOG_BYTES_MAX, DN_RDNS_MAX};
use model::{Description, Entry, dn};
use schema::Schema;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::derived::SUBSCHEMA_DN;
use store::{Add, Change, ChangeKind, IndexSettings, Modify, Refused, Settings, Shard, Stamp, Writer};

/// The subschema takes a few hundred kB. The bytes of the change log are those of its values.
const MEMORY_BYTES_MAX: u64 = (64 << 20) + 2 * CHANGE_LOG_BYTES_MAX;
/// Monitor entries are not older than this when they are looked at.
const REFRESH_NS: u64 = 100_000_000;
/// Number of the initial owner's name in a shard.
const INITIAL_OWNER: u32 = 0;

/// Name under which the shard keeps the root DSE, whose DN is empty.
pub(crate) const ROOT_DSE: &str = "cn=Root DSE";
/// The same for the root DSE as it is for each [`Offer`], by its number.
pub(crate) const ROOT_DSES: [&str; Offer::COUNT] = [
    ROOT_DSE,
    "cn=Root DSE 1",
    "cn=Root DSE 2",
    "cn=Root DSE 3",
    "cn=Root DSE 4",
    "cn=Root DSE 5",
    "cn=Root DSE 6",
    "cn=Root DSE 7",
    "cn=Root DSE 8",
    "cn=Root DSE 9",
    "cn=Root DSE 10",
    "cn=Root DSE 11",
    "cn=Root DSE 12",
    "cn=Root DSE 13",
    "cn=Root DSE 14",
    "cn=Root DSE 15",
];
/// DN of the monitor.
pub const MONITOR_DN: &str = "cn=Monitor";
/// DN of the configuration.
pub(crate) const CONFIG_DN: &str = "cn=config";

/// DN below which definitions can be added in the form of OpenLDAP.
pub(crate) const SCHEMA_CONFIG_DN: &str = "cn=schema,cn=config";

/// DN of the change log.
pub(crate) const CHANGE_LOG_DN: &str = "cn=changelog";

/// Is this the DN of the root DSE?
pub(crate) fn is_root_dse(dn: &[u8]) -> bool {
    dn.iter().all(|&b| b == b' ')
}

/// The server's own entries.
/// It needs no log: everything in it is made anew at a start, from settings, schema and counters.
pub(crate) struct System {
    shard: Arc<Shard>,
    /// Normal forms of [`ROOT_DSES`], and of the DNs of configuration and subschema.
    inner_names: Vec<Vec<u8>>,
    config_name: [Vec<u8>; 1],
    subschema_name: [Vec<u8>; 1],
    change_log_name: [Vec<u8>; 1],
    /// Normal form of [`SCHEMA_CONFIG_DN`].
    schema_config_name: Vec<u8>,
    /// Monotonic time, in ns, from which on the monitor is too old.
    stale_from_ns: AtomicU64,
    /// The last change that each of [`ROOT_DSES`] shows. At first none does.
    pub(crate) last_usns: [AtomicU64; Offer::COUNT],
}

impl System {
    /// A shard with these entries, superiors first.
    ///
    /// # Errors
    /// When memory cannot be reserved or the schema does not fit into the shard.
    pub(crate) fn create(
        config: &Config,
        schema: &Arc<Schema>,
        entries: impl IntoIterator<Item = (String, Entry)>,
    ) -> io::Result<System> {
        let settings = Settings {
            suffixes: ROOT_DSES
                .into_iter()
                .chain([SUBSCHEMA_DN, MONITOR_DN, CONFIG_DN, CHANGE_LOG_DN])
                .map(str::to_owned)
                .collect(),
            // Consumers of the change log ask for what is behind a number, again and again.
            indexes: change_numbers(schema),
            memory_bytes_max: MEMORY_BYTES_MAX,
            // Clients look at the subschema's modifyTimestamp, whatever the directory's entries have.
            operational_attributes: true,
            schema_check: false,
            ..config.store.clone()
        };
        let shard = Shard::create(settings, Arc::clone(schema))?;
        let mut writer = shard.writer();
        // Strict readers want definitions of the subschema behind those they are derived from.
        writer.keep_order();
        for (dn, mut entry) in entries {
            add(&mut writer, config, &dn, &mut entry)?;
        }
        writer.publish();
        let normal = |dn: &str| {
            let mut key = Vec::new();
            schema.normalise_dn(dn.as_bytes(), &mut key).expect("it is a DN of the server's own");
            key
        };
        let inner_names = ROOT_DSES.map(normal).to_vec();
        let (config_name, subschema_name) = ([normal(CONFIG_DN)], [normal(SUBSCHEMA_DN)]);
        let change_log_name = [normal(CHANGE_LOG_DN)];
        let schema_config_name = normal(SCHEMA_CONFIG_DN);
        let last_usns = [const { AtomicU64::new(u64::MAX) }; Offer::COUNT];
        let stale_from_ns = AtomicU64::new(0);
        Ok(System {
            shard,
            inner_names,
            config_name,
            subschema_name,
            change_log_name,
            schema_config_name,
            stale_from_ns,
            last_usns,
        })
    }

    /// The shard that holds them.
    pub(crate) fn shard(&self) -> &Arc<Shard> {
        &self.shard
    }

    /// Is this the DN of an entry of the server's own, or below one? The empty DN is that of the root DSE.
    /// The name under which the root DSE is kept is nobody's.
    pub(crate) fn holds(&self, dn: &[u8]) -> bool {
        is_root_dse(dn) || (self.shard.holds(dn) && !self.is_inner_name(dn))
    }

    /// The name under which the shard keeps the entry with this DN. The name that stands for the empty one is
    /// nobody's DN: it leads to the empty DN, which the shard does not have. The root DSE depends on what the session is offered.
    pub(crate) fn kept_as<'d>(&self, dn: &'d [u8], offer: Offer) -> &'d [u8] {
        match is_root_dse(dn) {
            true => ROOT_DSES[offer.number()].as_bytes(),
            false if self.is_inner_name(dn) => b"",
            false => dn,
        }
    }

    /// Is this a name under which a root DSE is kept?
    fn is_inner_name(&self, dn: &[u8]) -> bool {
        self.is_one_of(dn, &self.inner_names)
    }

    /// Is this the DN of the configuration?
    pub(crate) fn is_config(&self, dn: &[u8]) -> bool {
        self.is_one_of(dn, &self.config_name)
    }

    /// Is this the DN of the subschema subentry?
    pub(crate) fn is_subschema(&self, dn: &[u8]) -> bool {
        self.is_one_of(dn, &self.subschema_name)
    }

    /// Is this [`SCHEMA_CONFIG_DN`]?
    pub(crate) fn is_schema_config(&self, dn: &[u8]) -> bool {
        let mut key = Vec::new();
        self.shard.schema().normalise_dn(dn, &mut key).is_ok() && key == self.schema_config_name
    }

    /// Is this [`SCHEMA_CONFIG_DN`], or the DN of an entry directly below it?
    pub(crate) fn is_of_schema_config(&self, dn: &[u8]) -> bool {
        let superior = dn::split_first(dn).1;
        self.is_schema_config(dn) || superior.is_some_and(|superior| self.is_schema_config(superior))
    }

    /// Is this the DN of the change log, or that of an entry in it?
    pub(crate) fn is_in_change_log(&self, dn: &[u8]) -> bool {
        let above = std::iter::successors(Some(dn), |dn| dn::split_first(dn).1);
        above.take(DN_RDNS_MAX).any(|dn| self.is_one_of(dn, &self.change_log_name))
    }

    /// Is this the DN of the configuration, or that of an entry below it?
    /// A walk up the name, which is as long as a name may be at most.
    pub(crate) fn is_below_config(&self, dn: &[u8]) -> bool {
        let above = std::iter::successors(Some(dn), |dn| dn::split_first(dn).1);
        above.take(DN_RDNS_MAX).any(|dn| self.is_config(dn))
    }

    /// What is shown is out of date.
    pub(crate) fn invalidate(&self) {
        self.stale_from_ns.store(0, Ordering::Relaxed);
    }

    /// Is this one of some names that have one RDN? Most names that clients send have more, and need not be normalised.
    fn is_one_of(&self, dn: &[u8], names: &[Vec<u8>]) -> bool {
        let mut key = Vec::new();
        dn::split_first(dn).1.is_none()
            && self.shard.schema().normalise_dn(dn, &mut key).is_ok()
            && names.contains(&key)
    }

    /// Is it time to bring the monitor up to date? Then the caller does it: while one thread does, others see what was.
    pub(crate) fn is_due(&self, now: Now) -> bool {
        let stale_from = self.stale_from_ns.load(Ordering::Relaxed);
        let next = now.monotonic_ns.saturating_add(REFRESH_NS);
        now.monotonic_ns >= stale_from
            && self
                .stale_from_ns
                .compare_exchange(stale_from, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// Changes entries. What they are to say is asked for once no other thread can change them: so the one that comes last says what
    /// holds last.
    /// In the role of the writer of this small shard; updates of the directory do not wait for it.
    pub(crate) fn update(&self, now: Now, change: impl FnOnce(&mut Update<'_>)) {
        let mut writer = self.shard.writer();
        let stamp = Stamp { csn: writer.stamp(now.wall_ms), actor: INITIAL_OWNER };
        let mut update = Update { writer, stamp };
        change(&mut update);
        update.writer.publish();
    }
}

/// Entries that are being changed.
pub(crate) struct Update<'s> {
    writer: Writer<'s>,
    stamp: Stamp,
}

impl Update<'_> {
    /// Makes what was changed so far visible.
    pub(crate) fn publish_so_far(&mut self) {
        self.writer.publish_part();
    }

    /// Values stay in the order in which they are given.
    pub(crate) fn keep_order(&mut self) {
        self.writer.keep_order();
    }

    /// Adds an entry. `false` if there is no room for it.
    pub(crate) fn add(&mut self, dn: &str, entry: &mut Entry) -> bool {
        let added = self.writer.add(Add { dn: dn.as_bytes(), entry, keep_operational: true }, self.stamp);
        debug_assert!(!matches!(added, Err(Refused::EntryAlreadyExists)), "{dn} is added once");
        added.is_ok()
    }

    /// Deletes an entry, if it is there.
    pub(crate) fn delete(&mut self, dn: &str) {
        let _ = self.writer.delete(dn.as_bytes());
    }

    /// Gives an entry these values of attributes, as far as the schema knows them.
    pub(crate) fn replace<N: AsRef<str>>(
        &mut self,
        dn: &str,
        attributes: impl IntoIterator<Item = (N, Vec<String>)>,
    ) {
        let schema = self.writer.view().shard().schema();
        let find = |(name, values): (N, Vec<String>)| {
            Some((Description::plain(schema.find_type(name.as_ref().as_bytes())?), values))
        };
        let attributes: Vec<(Description, Vec<String>)> = attributes.into_iter().filter_map(find).collect();
        let changes: Vec<Change<'_>> =
            attributes.iter().map(|(description, values)| replace(*description, values)).collect();
        if changes.is_empty() {
            return;
        }
        let modify = Modify {
            dn: dn.as_bytes(),
            changes: &changes,
            keep_operational: true,
            is_permissive: false,
            is_relaxed: false,
            known: None,
        };
        // Old metrics are better than none, should there be no memory left.
        let outcome = self.writer.modify(modify, self.stamp);
        debug_assert!(outcome.is_ok(), "{dn}: {:?}", outcome.err());
    }
}

/// The index on the numbers of changes, if the schema has them.
fn change_numbers(schema: &Schema) -> Vec<IndexSettings> {
    let is_known = schema.find_type(b"changeNumber").is_some();
    is_known.then(|| "changeNumber:ord".parse().expect("it is an index")).into_iter().collect()
}

/// A change that gives an attribute these values and no others.
fn replace(description: Description, values: &[String]) -> Change<'_> {
    let values = values.iter().map(String::as_bytes).collect();
    Change { kind: ChangeKind::Replace, description, values }
}

/// At the start, before the first reader; a failure ends the start.
fn add(writer: &mut Writer<'_>, config: &Config, dn: &str, entry: &mut Entry) -> io::Result<()> {
    let stamp = Stamp { csn: writer.stamp(config.started_ms), actor: INITIAL_OWNER };
    let added = writer.add(Add { dn: dn.as_bytes(), entry, keep_operational: true }, stamp);
    let explain = |refused| {
        io::Error::other(format!("the entry \"{dn}\" of the server's own cannot be made: {refused}"))
    };
    added.map(drop).map_err(explain)
}

/// What an entry of the server's own is called in a message.
/// The empty DN would be an empty pair of quotes.
pub(crate) fn described(dn: &[u8]) -> String {
    match is_root_dse(dn) {
        true => "the root DSE".to_owned(),
        false => outcome::quoted(dn),
    }
}

/// Puts an attribute with one value into an entry, if the schema knows the type.
pub(crate) fn put(entry: &mut Entry, schema: &Schema, attribute: &str, value: &str) {
    put_all(entry, schema, attribute, [value]);
}

/// Puts an attribute into an entry, if the schema knows the type and there are values.
pub(crate) fn put_all<V: AsRef<[u8]>>(
    entry: &mut Entry,
    schema: &Schema,
    attribute: &str,
    values: impl IntoIterator<Item = V>,
) {
    let Some(attribute_type) = schema.find_type(attribute.as_bytes()) else { return };
    let mut values = values.into_iter().peekable();
    if values.peek().is_none() {
        return;
    }
    entry.push_attribute(Description::plain(attribute_type));
    values.for_each(|value| entry.push_value(value.as_ref()));
}

#[cfg(test)]
pub(crate) mod tests;
