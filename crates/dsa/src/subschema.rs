//! The subschema subentry (RFC 4512 section 4.2): the schema, for clients to read.
//!
//! It is an entry of the server's own, written once at the start: definitions do not change while the process runs.

use crate::system::{put, put_all};
use model::Entry;
use model::csn::write_generalized_time;
use schema::{DefinitionKind, Schema};

/// Attributes that hold definitions.
const KINDS: [(&str, DefinitionKind); 5] = [
    ("ldapSyntaxes", DefinitionKind::LdapSyntaxes),
    ("matchingRules", DefinitionKind::MatchingRules),
    ("matchingRuleUse", DefinitionKind::MatchingRuleUse),
    ("attributeTypes", DefinitionKind::AttributeTypes),
    ("objectClasses", DefinitionKind::ObjectClasses),
];

/// Puts the attributes of the subschema subentry into an entry.
/// `since_ms` is when the schema was last another one, which a data directory remembers over starts.
pub(crate) fn fill(entry: &mut Entry, schema: &Schema, since_ms: u64) {
    put_all(entry, schema, "objectClass", ["top", "subentry", "subschema", "extensibleObject"]);
    put(entry, schema, "cn", "Subschema");
    // Clients read it anew when this has moved, and only then.
    let mut since = Vec::new();
    write_generalized_time(since_ms, &mut since);
    let since = String::from_utf8_lossy(&since);
    put(entry, schema, "createTimestamp", &since);
    put(entry, schema, "modifyTimestamp", &since);
    // It holds for everything this server has.
    put(entry, schema, "subtreeSpecification", "{}");
    // The order of the schema: superiors come before what is derived from them, which strict readers rely on.
    for (attribute, kind) in KINDS {
        let mut definitions = Vec::new();
        schema.write_definitions(kind, |text| definitions.push(text.to_owned()));
        put_all(entry, schema, attribute, definitions);
    }
}
