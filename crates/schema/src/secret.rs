//! Attributes whose values are secrets: passwords and keys, by the names that schemas in the field give them. Their values are
//! in no text, whatever rights its reader has.

use crate::element::{AttributeType, Traits};
use crate::names::NameTable;

/// Their names. Subtypes are secrets too, and so is every set of options.
const SECRETS: [&str; 8] = [
    "userPassword",
    "authPassword",
    "userPKCS12",
    "sambaNTPassword",
    "sambaLMPassword",
    "krbPrincipalKey",
    "pwdHistory",
    "olcRootPW",
];

/// What stands in a text for a value that is a secret.
pub(crate) const HIDDEN: &str = "<hidden>";

/// Marks the types that are secrets.
pub(crate) fn mark(types: &[AttributeType], names: &NameTable, traits: &mut [Traits]) {
    for id in SECRETS.iter().filter_map(|name| names.find(name.as_bytes())) {
        for subtype in &types[usize::from(id)].subtypes {
            traits[subtype.0 as usize].flags |= Traits::SECRET;
        }
    }
}
