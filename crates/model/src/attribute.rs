//! Attribute descriptions (RFC 4512 section 2.5): a type and options.

use crate::ids::{OptionsId, TypeId};

/// An attribute description of this server: a known type and an interned set of options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Description {
    /// The attribute type.
    pub attribute_type: TypeId,
    /// Its options, [`OptionsId::NONE`] for none.
    pub options: OptionsId,
}

impl Description {
    /// The description of a type without options.
    pub const fn plain(attribute_type: TypeId) -> Description {
        Description { attribute_type, options: OptionsId::NONE }
    }
}

/// Splits `cn;lang-de;x-a` into the type `cn` and the options `lang-de;x-a` (empty if there are none).
pub fn split_options(description: &[u8]) -> (&[u8], &[u8]) {
    match description.iter().position(|&b| b == b';') {
        Some(at) => (&description[..at], &description[at + 1..]),
        None => (description, b""),
    }
}

/// Is this well formed (RFC 4512 section 2.5: oid, then options of letters, digits and hyphens)?
pub fn is_well_formed(description: &[u8]) -> bool {
    let (kind, options) = split_options(description);
    let has_options = kind.len() < description.len();
    (crate::oid::is_descriptor(kind) || crate::oid::is_numeric(kind))
        && (!has_options
            || options
                .split(|&b| b == b';')
                .all(|o| !o.is_empty() && o.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions() {
        assert_eq!(split_options(b"cn;lang-de;x"), (&b"cn"[..], &b"lang-de;x"[..]));
        for good in [&b"cn"[..], b"2.5.4.3", b"cn;lang-de", b"userCertificate;binary", b"cn;a;b-1"] {
            assert!(is_well_formed(good), "{good:?}");
        }
        for bad in [&b""[..], b"cn;", b"cn;;a", b";a", b"c n", b"cn;a_b", b"2.5.", b"-cn"] {
            assert!(!is_well_formed(bad), "{bad:?}");
        }
    }
}
