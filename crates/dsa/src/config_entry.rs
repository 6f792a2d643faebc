//! `cn=config`: the settings that can be read and changed while the server runs, for the root DN alone.
//! It is an entry of the server's own small directory, refreshed like the monitor when a client may look at it.

use crate::config::Config;
use crate::engine::Dsa;
use crate::monitor_entries::Measure;
use crate::settings::{INDEX, online};
use crate::system::{CONFIG_DN, Update, put_all};
use model::Entry;
use schema::Schema;
use store::{ReadPoint, Reader};

/// The indexes that are compared with the entries, or wait for it.
pub(crate) const VERIFY: &str = "pandoIndexVerify";

/// The last changes of settings, a value for each key that one changed.
const HISTORY: &str = "pandoConfigChange";

/// The entry with what was changed of the settings of this server alone.
pub(crate) const NODE_DN: &str = "cn=node,cn=config";

/// Puts what does not change into the entry.
/// Settings that hold as long as the process does are shown, too: an administrator sees what is in force in one place.
pub(crate) fn fill(entry: &mut Entry, schema: &Schema, config: &Config) {
    put_all(entry, schema, "objectClass", ["top", "extensibleObject"]);
    put_all(entry, schema, "description", ["Settings; some can be changed while the server runs"]);
    for fixed in &config.settings.fixed {
        put_all(entry, schema, &fixed.attribute, &fixed.values);
    }
}

/// The entry below which definitions can be added. What was added is shown in the subschema.
pub(crate) fn fill_schema(entry: &mut Entry, schema: &Schema) {
    put_all(entry, schema, "objectClass", ["top", "olcSchemaConfig"]);
    let text = "Entries with definitions can be added below; definitions are shown in cn=Subschema";
    put_all(entry, schema, "description", [text]);
}

/// The entry that has the last changes of the settings of this server.
pub(crate) fn fill_node(entry: &mut Entry, schema: &Schema) {
    put_all(entry, schema, "objectClass", ["top", "extensibleObject"]);
    put_all(entry, schema, "description", ["Changes of settings of this server alone, which cn=config has"]);
}

/// The settings of this server that can be changed, as they are in force, and the entry that has their last changes.
pub(crate) fn refresh_node(dsa: &Dsa, update: &mut Update<'_>) {
    let Some(settings) = dsa.node_settings.get() else { return };
    let attributes = settings.keys().iter().map(|key| key.attribute.as_str());
    update.replace(CONFIG_DN, attributes.zip(settings.values()));
    update.replace(NODE_DN, [(HISTORY, settings.history())]);
}

/// What does change.
/// Read anew whenever the entry is refreshed.
pub(crate) fn measures() -> impl Iterator<Item = (String, Measure)> {
    let indexes = [
        (INDEX, Measure::Texts(|dsa, _| indexes(dsa))),
        (VERIFY, Measure::Texts(|dsa, _| compared(dsa))),
        (HISTORY, Measure::Texts(|dsa, _| dsa.chosen.history())),
    ];
    let settings = online().map(|key| (key.attribute(), Measure::Setting(key)));
    indexes.into_iter().map(|(name, measure)| (name.to_owned(), measure)).chain(settings)
}

fn compared(dsa: &Dsa) -> Vec<String> {
    dsa.indexing.comparing().iter().map(|name| name.text(dsa.shard.schema())).collect()
}

/// The indexes that are kept or built, as values of the attribute `index`.
fn indexes(dsa: &Dsa) -> Vec<String> {
    looking(dsa, |now| dsa.indexing.wanted(now).iter().map(|name| name.text(dsa.shard.schema())).collect())
}

/// A line for each index.
pub(crate) fn index_report(dsa: &Dsa) -> Vec<String> {
    looking(dsa, |now| dsa.indexing.report(now, dsa.shard.entries()))
}

/// Nothing is reported when there are too many readers.
/// It has a reader of its own for a moment, since which indexes there are depends on a read point.
fn looking(dsa: &Dsa, look: impl Fn(ReadPoint<'_>) -> Vec<String>) -> Vec<String> {
    let reader = Reader::register(&dsa.shard);
    reader.map_or_else(Vec::new, |mut reader| look(reader.pin().read_point()))
}
