//! The subschema subentry (RFC 4512 section 4.2): the schema, for clients to read.
//!
//! It is an entry of the server's own, written at the start and when definitions are added.

use crate::engine::Dsa;
use crate::system::{put, put_all};
use env::clock::Now;
use model::Entry;
use model::csn::write_generalized_time;
use schema::{DefinitionKind, Schema};
use store::derived::SUBSCHEMA_DN;

/// Attributes that hold definitions.
/// Where the schema has none of a kind, the attribute is absent.
const KINDS: [(&str, DefinitionKind); 8] = [
    ("ldapSyntaxes", DefinitionKind::LdapSyntaxes),
    ("matchingRules", DefinitionKind::MatchingRules),
    ("matchingRuleUse", DefinitionKind::MatchingRuleUse),
    ("attributeTypes", DefinitionKind::AttributeTypes),
    ("objectClasses", DefinitionKind::ObjectClasses),
    ("dITContentRules", DefinitionKind::ContentRules),
    ("nameForms", DefinitionKind::NameForms),
    ("dITStructureRules", DefinitionKind::StructureRules),
];

/// Puts the attributes of the subschema subentry into an entry.
/// `since_ms` is when the schema was last another one, which a data directory remembers over starts.
pub(crate) fn fill(entry: &mut Entry, schema: &Schema, since_ms: u64) {
    put_all(entry, schema, "objectClass", ["top", "subentry", "subschema", "extensibleObject"]);
    put(entry, schema, "cn", "Subschema");
    let since = shown(since_ms);
    put(entry, schema, "createTimestamp", &since);
    put(entry, schema, "modifyTimestamp", &since);
    // It holds for everything this server has.
    put(entry, schema, "subtreeSpecification", "{}");
    // The order of the schema: superiors come before what is derived from them, which strict readers rely on.
    for (attribute, kind) in KINDS {
        put_all(entry, schema, attribute, definitions(schema, kind));
    }
}

/// The definitions of a kind, as values of the attribute that publishes them (RFC 4512 section 4.2).
fn definitions(schema: &Schema, kind: DefinitionKind) -> Vec<String> {
    let mut definitions = Vec::new();
    schema.write_definitions(kind, |text| definitions.push(text.to_owned()));
    definitions
}

/// When the schema became what it is. Clients read it anew when this has moved, and only then.
fn shown(since_ms: u64) -> String {
    let mut since = Vec::new();
    write_generalized_time(since_ms, &mut since);
    String::from_utf8_lossy(&since).into_owned()
}

/// Shows what was added to the schema at a time.
pub(crate) fn show(dsa: &Dsa, now: Now) {
    let schema = dsa.shard.schema();
    dsa.system.update(now, |update| {
        update.keep_order();
        let all = KINDS.map(|(attribute, kind)| (attribute, definitions(schema, kind)));
        let since = [("modifyTimestamp", vec![shown(now.wall_ms)])];
        update.replace(SUBSCHEMA_DN, all.into_iter().chain(since));
    });
}
