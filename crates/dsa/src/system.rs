//! What a server says about itself: root DSE, subschema subentry and monitor, kept as entries of a small shard of
//! their own, so that searches and compares treat them like all others.

use crate::access::Rights;
use crate::config::Config;
use crate::config_entry;
use crate::engine::Dsa;
use crate::monitor_entries::{self, Gauge};
use crate::root_dse::{self, Supported, is_root_dse};
use crate::settings::Choices;
use crate::{outcome, subschema};
use env::clock::Now;
use model::limits::DN_RDNS_MAX;
use model::{Description, Entry, dn};
use schema::Schema;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::derived::SUBSCHEMA_DN;
use store::{Add, Change, ChangeKind, Modify, Settings, Shard, Stamp, Writer};

/// The subschema takes a few hundred kB.
const MEMORY_BYTES_MAX: u64 = 64 << 20;
/// Monitor entries are not older than this when they are looked at.
const REFRESH_NS: u64 = 100_000_000;
/// Number of the founder's name in a shard.
const FOUNDER: u32 = 0;

/// The server's own entries.
pub(crate) struct System {
    shard: Arc<Shard>,
    gauges: Vec<Gauge>,
    /// Monotonic time, in ns, from which on the monitor is too old.
    stale_from_ns: AtomicU64,
}

impl System {
    /// Makes the entries.
    ///
    /// # Errors
    /// When memory cannot be reserved or the schema does not fit into the shard.
    pub(crate) fn create(
        config: &Config,
        choices: &Choices,
        schema: &Arc<Schema>,
        supported: &Supported,
    ) -> io::Result<System> {
        let settings = Settings {
            suffixes: [root_dse::INTERNAL_DN, SUBSCHEMA_DN, monitor_entries::DN, config_entry::DN]
                .map(str::to_owned)
                .to_vec(),
            indexes: Vec::new(),
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
        let mut entry = Entry::new();
        root_dse::fill(&mut entry, schema, config, choices, supported);
        add(&mut writer, config, root_dse::INTERNAL_DN, &mut entry)?;
        subschema::fill(&mut entry, schema, config.schema_since_ms);
        add(&mut writer, config, SUBSCHEMA_DN, &mut entry)?;
        let mut gauges = Vec::new();
        for item in monitor_entries::all() {
            item.fill(&mut entry, schema, config);
            add(&mut writer, config, &item.dn(), &mut entry)?;
            gauges.extend(item.gauge(schema));
        }
        config_entry::fill(&mut entry, schema, config);
        add(&mut writer, config, config_entry::DN, &mut entry)?;
        gauges.extend(config_entry::gauge(schema));
        writer.publish();
        Ok(System { shard, gauges, stale_from_ns: AtomicU64::new(0) })
    }

    /// The shard that holds them.
    pub(crate) fn shard(&self) -> &Arc<Shard> {
        &self.shard
    }

    /// Is this the DN of an entry of the server's own, or below one? The empty DN is that of the root DSE.
    pub(crate) fn holds(&self, dn: &[u8]) -> bool {
        is_root_dse(dn) || (self.shard.holds(dn) && !self.is_same(dn, root_dse::INTERNAL_DN))
    }

    /// The name under which the shard keeps the entry with this DN. The name that stands for the empty one is
    /// nobody's DN: it leads to the empty DN, which the shard does not have.
    pub(crate) fn kept_as<'d>(&self, dn: &'d [u8]) -> &'d [u8] {
        match is_root_dse(dn) {
            true => root_dse::INTERNAL_DN.as_bytes(),
            false if self.is_same(dn, root_dse::INTERNAL_DN) => b"",
            false => dn,
        }
    }

    /// May these rights look at the entry with this DN? The root DSE and the subschema are for all, the monitor
    /// for those who may read the directory, the configuration for those who may do everything.
    pub(crate) fn may_read(&self, rights: Rights, dn: &[u8]) -> bool {
        let needed = if self.is_below_config(dn) { Rights::Root } else { Rights::Read };
        rights >= needed || is_root_dse(dn) || self.is_same(dn, SUBSCHEMA_DN)
    }

    /// Is this the DN of the configuration?
    pub(crate) fn is_config(&self, dn: &[u8]) -> bool {
        self.is_same(dn, config_entry::DN)
    }

    /// Is it, or that of an entry below it?
    pub(crate) fn is_below_config(&self, dn: &[u8]) -> bool {
        let above = std::iter::successors(Some(dn), |dn| dn::split_first(dn).1);
        above.take(DN_RDNS_MAX).any(|dn| self.is_config(dn))
    }

    /// What is shown is out of date.
    pub(crate) fn outdate(&self) {
        self.stale_from_ns.store(0, Ordering::Relaxed);
    }

    fn is_same(&self, dn: &[u8], other: &str) -> bool {
        let (schema, mut key, mut wanted) = (self.shard.schema(), Vec::new(), Vec::new());
        schema.normalise_dn(dn, &mut key).is_ok()
            && schema.normalise_dn(other.as_bytes(), &mut wanted).is_ok()
            && key == wanted
    }

    /// Lists the features in the root DSE that are there under the settings of now.
    pub(crate) fn show_features(&self, dsa: &Dsa, now: Now) {
        let schema = self.shard.schema();
        let Some(features) = schema.find_type(root_dse::SUPPORTED_FEATURES.as_bytes()) else { return };
        // In this order, as the monitor does: who comes last shows what was chosen last.
        let mut writer = self.shard.writer();
        let features_on = root_dse::features(&dsa.chosen.now());
        let values: Vec<String> = features_on.into_iter().map(str::to_owned).collect();
        let stamp = Stamp { csn: writer.stamp(now.wall_ms), actor: FOUNDER };
        let changes = [replace(Description::plain(features), &values)];
        let dn = root_dse::INTERNAL_DN.as_bytes();
        let outcome =
            writer.modify(Modify { dn, changes: &changes, keep_operational: true, known: None }, stamp);
        debug_assert!(outcome.is_ok(), "the root DSE: {:?}", outcome.err());
        writer.publish();
    }

    /// Brings the monitor up to date, if that was not done just now. While one thread does, others see what was.
    pub(crate) fn refresh_monitor(&self, dsa: &Dsa, now: Now) {
        let stale_from = self.stale_from_ns.load(Ordering::Relaxed);
        let next = now.monotonic_ns.saturating_add(REFRESH_NS);
        let is_ours = now.monotonic_ns >= stale_from
            && self
                .stale_from_ns
                .compare_exchange(stale_from, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if is_ours {
            self.measure(dsa, now);
        }
    }

    fn measure(&self, dsa: &Dsa, now: Now) {
        dsa.shard.measure();
        let mut writer = self.shard.writer();
        let stamp = Stamp { csn: writer.stamp(now.wall_ms), actor: FOUNDER };
        for gauge in &self.gauges {
            let taken: Vec<(Description, Vec<String>)> = gauge
                .measures
                .iter()
                .map(|(description, measure)| (*description, measure.take(dsa, now)))
                .collect();
            let changes: Vec<Change<'_>> =
                taken.iter().map(|(description, values)| replace(*description, values)).collect();
            let modify =
                Modify { dn: gauge.dn.as_bytes(), changes: &changes, keep_operational: true, known: None };
            // Old figures are better than none, should there be no memory left.
            let outcome = writer.modify(modify, stamp);
            debug_assert!(outcome.is_ok(), "{}: {:?}", gauge.dn, outcome.err());
        }
        writer.publish();
    }
}

fn replace(description: Description, values: &[String]) -> Change<'_> {
    let values = values.iter().map(String::as_bytes).collect();
    Change { kind: ChangeKind::Replace, description, values }
}

fn add(writer: &mut Writer<'_>, config: &Config, dn: &str, entry: &mut Entry) -> io::Result<()> {
    let stamp = Stamp { csn: writer.stamp(config.started_ms), actor: FOUNDER };
    let added = writer.add(Add { dn: dn.as_bytes(), entry, keep_operational: true }, stamp);
    let explain = |refused| {
        io::Error::other(format!("the entry \"{dn}\" of the server's own cannot be made: {refused}"))
    };
    added.map(drop).map_err(explain)
}

/// What an entry of the server's own is called in a message.
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
