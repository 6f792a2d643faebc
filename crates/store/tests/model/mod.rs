//! The naive directory that the store is tested against, a generator of operations, and the comparison of the two.
//! Used by `tests/against_model.rs` and by the fuzz target `store`.

pub(crate) mod compare;
pub(crate) mod directory;
pub(crate) mod filter;
pub(crate) mod generate;
pub(crate) mod indexes;
pub(crate) mod run;

/// Attributes beyond the standard schema: ordering rules on an attribute with many values and a subtype.
pub(crate) const SCHEMA: &str = "
attributetype ( 1.3.6.1.4.1.99999.1 NAME 'xText' EQUALITY caseIgnoreMatch ORDERING caseIgnoreOrderingMatch
  SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
attributetype ( 1.3.6.1.4.1.99999.2 NAME 'xSub' SUP xText )
attributetype ( 1.3.6.1.4.1.99999.3 NAME 'xNumber' EQUALITY integerMatch ORDERING integerOrderingMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )
";

/// How the values of an attribute compare.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Letter case and repeated spaces mean nothing.
    Text,
    /// Whole numbers.
    Number,
}

/// Base type of a description: what stands before its options.
pub(crate) fn base(description: &str) -> &str {
    description.split(';').next().unwrap_or(description)
}

/// How values of a description compare.
pub(crate) fn kind(description: &str) -> Kind {
    match base(description) {
        "uidNumber" | "xNumber" => Kind::Number,
        _ => Kind::Text,
    }
}

/// The normal form of a value: equal if and only if the values match. DNs are written such that text will do.
pub(crate) fn normal(description: &str, value: &str) -> String {
    match kind(description) {
        Kind::Number => value.parse::<i128>().map_or_else(|_| value.to_owned(), |n| n.to_string()),
        Kind::Text => {
            value.to_ascii_lowercase().split(' ').filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ")
        }
    }
}

/// Does an assertion on `wanted` look at values of `description`?
pub(crate) fn answers(description: &str, wanted: &str) -> bool {
    if wanted.contains(';') && description != wanted {
        return false;
    }
    match (base(wanted), base(description)) {
        ("name", "cn" | "sn" | "ou") | ("xText", "xSub") => true,
        (wanted, have) => wanted == have,
    }
}
