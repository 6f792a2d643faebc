//! Search scope and alias dereferencing (RFC 4511 section 4.5.1).

/// How far below the base a search looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Scope {
    /// The base entry alone.
    Base = 0,
    /// Immediate subordinates of the base, without the base.
    One = 1,
    /// The base and everything below it.
    Subtree = 2,
    /// Everything below the base, without the base (draft-sermersheim-ldap-subordinate-scope).
    Subordinates = 3,
}

impl Scope {
    /// The scope with this number on the wire.
    pub fn from_number(number: u8) -> Option<Scope> {
        [Scope::Base, Scope::One, Scope::Subtree, Scope::Subordinates].get(number as usize).copied()
    }
}

/// When aliases are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DerefAliases {
    /// Never.
    Never = 0,
    /// While searching below the base, not in finding it.
    InSearching = 1,
    /// In finding the base, not below it.
    FindingBase = 2,
    /// Both.
    Always = 3,
}

impl DerefAliases {
    /// The setting with this number on the wire.
    pub fn from_number(number: u8) -> Option<DerefAliases> {
        use DerefAliases::*;
        [Never, InSearching, FindingBase, Always].get(number as usize).copied()
    }
}
