//! The subschema subentry (RFC 4512 section 4.2): the schema, for clients to read.

use crate::system::{put, put_all};
use model::Entry;
use schema::{DefinitionKind, Schema};

/// Attributes that hold definitions.
const KINDS: [(&str, DefinitionKind); 5] = [
    ("ldapSyntaxes", DefinitionKind::LdapSyntaxes),
    ("matchingRules", DefinitionKind::MatchingRules),
    ("matchingRuleUse", DefinitionKind::MatchingRuleUse),
    ("attributeTypes", DefinitionKind::AttributeTypes),
    ("objectClasses", DefinitionKind::ObjectClasses),
];

/// Is this the DN of the subschema subentry, however it is spelled?
pub(crate) fn is_subschema(dn: &[u8]) -> bool {
    is_one_cn(dn, b"subschema")
}

/// Is it `cn=` and this value, in any case and with any name of the type?
pub(crate) fn is_one_cn(dn: &[u8], value: &[u8]) -> bool {
    let Ok(rdns) = model::dn::parse(dn) else { return false };
    let is_cn =
        |name: &[u8]| [&b"cn"[..], b"commonName", b"2.5.4.3"].iter().any(|cn| name.eq_ignore_ascii_case(cn));
    match &rdns[..] {
        [rdn] => rdn.len() == 1 && is_cn(rdn[0].attribute_type) && rdn[0].value.eq_ignore_ascii_case(value),
        _ => false,
    }
}

/// Puts the attributes of the subschema subentry into an entry.
pub(crate) fn fill(entry: &mut Entry, schema: &Schema) {
    put_all(entry, schema, "objectClass", ["top", "subentry", "subschema", "extensibleObject"]);
    put(entry, schema, "cn", "Subschema");
    // It holds for everything this server has.
    put(entry, schema, "subtreeSpecification", "{}");
    for (attribute, kind) in KINDS {
        let mut definitions = Vec::new();
        schema.write_definitions(kind, |text| definitions.push(text.to_owned()));
        put_all(entry, schema, attribute, definitions);
    }
}
