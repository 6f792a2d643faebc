//! Attributes whose values are secrets: passwords and keys, by the names that schemas in the field give them. Their values are
//! in no text, whatever rights its reader has.

use crate::current::CurrentTraits;
use crate::element::Traits;
use crate::names::NameTable;
use model::TypeId;

/// Their names. Subtypes are secrets too, and so is every set of options.
const SECRETS: [&str; 10] = [
    "userPassword",
    "authPassword",
    "userPKCS12",
    "sambaNTPassword",
    "sambaLMPassword",
    "krbPrincipalKey",
    "ipaNTHash",
    "oathSecret",
    "pwdHistory",
    "olcRootPW",
];

/// What stands in a text for a value that is a secret.
pub(crate) const HIDDEN: &str = "<hidden>";

/// Marks the types that are secrets: those above, and others that an administrator named. A name that the schema does not have is no error:
/// there can be no value of it.
pub(crate) fn mark(
    subtypes: impl Fn(usize) -> Vec<TypeId>,
    names: &NameTable,
    others: &[String],
    traits: &[CurrentTraits],
) {
    let all = SECRETS.into_iter().chain(others.iter().map(String::as_str));
    for id in all.filter_map(|name| names.find(name.as_bytes())) {
        for subtype in subtypes(usize::from(id)) {
            let traits = &traits[subtype.0 as usize];
            traits.set_flags(traits.get().flags | Traits::SECRET);
        }
    }
}
