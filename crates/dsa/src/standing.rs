//! Who has rights besides those of rules, as chosen: built-in rules are made of it ([`crate::access`]).
//!
//! The root DN is not among them: it needs no rule, and no rule takes anything from it.

/// What anonymous clients may do where no rule says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Anonymous {
    /// Read the root DSE and the subschema.
    #[default]
    None,
    /// Read what users read.
    Read,
}

impl Anonymous {
    /// Their words in settings.
    pub const WORDS: [(&'static str, Anonymous); 2] = [("none", Anonymous::None), ("read", Anonymous::Read)];
}

/// Who it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Names that may change every entry, besides the root DN. They need no entry.
    pub writers: Vec<String>,
    /// DNs that may act as others (RFC 4370), besides the root DN.
    pub proxies: Vec<String>,
    /// What those may do who did not bind.
    pub anonymous: Anonymous,
}
