//! What a rule allows or denies. No right implies another.

use std::ops::{BitOr, BitOrAssign};

/// One right on an entry, an attribute, a value, a control or an extended operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Right {
    /// Code, matchedDN and references may show that there is such an entry.
    Disclose,
    /// An entry may be the base of a search; an attribute may be tested in filters and sort keys.
    Search,
    /// An attribute may be compared.
    Compare,
    /// An entry, attribute or value may be returned.
    Read,
    /// A password may be verified against an attribute.
    Auth,
    /// Values may be added.
    Add,
    /// Values may be deleted.
    Delete,
    /// Values may be incremented.
    Increment,
    /// An entry may be added.
    Create,
    /// An entry may be deleted.
    Remove,
    /// An entry may be given another RDN.
    Rename,
    /// An entry may be moved away from its superior.
    MoveOut,
    /// Entries may be moved below this one.
    MoveIn,
    /// The requester may act as this entry.
    Proxy,
    /// Rules may be relaxed, `pandoAccess` be changed, passwords be administered, the rights of others be seen.
    Manage,
    /// A control or an extended operation may be used.
    Use,
}

impl Right {
    /// Every one, in the order in which they are written.
    pub const ALL: [Right; 16] = [
        Right::Disclose,
        Right::Search,
        Right::Compare,
        Right::Read,
        Right::Auth,
        Right::Add,
        Right::Delete,
        Right::Increment,
        Right::Create,
        Right::Remove,
        Right::Rename,
        Right::MoveOut,
        Right::MoveIn,
        Right::Proxy,
        Right::Manage,
        Right::Use,
    ];

    /// Its word in a rule.
    pub const fn word(self) -> &'static str {
        match self {
            Right::Disclose => "disclose",
            Right::Search => "search",
            Right::Compare => "compare",
            Right::Read => "read",
            Right::Auth => "auth",
            Right::Add => "add",
            Right::Delete => "delete",
            Right::Increment => "increment",
            Right::Create => "create",
            Right::Remove => "remove",
            Right::Rename => "rename",
            Right::MoveOut => "move-out",
            Right::MoveIn => "move-in",
            Right::Proxy => "proxy",
            Right::Manage => "manage",
            Right::Use => "use",
        }
    }
}

/// A set of rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rights(u16);

impl Rights {
    /// No right.
    pub const NONE: Rights = Rights(0);
    /// `see`: disclose, search, compare, read.
    pub const SEE: Rights = Rights::of(&[Right::Disclose, Right::Search, Right::Compare, Right::Read]);
    /// `write`: add, delete and increment values.
    pub const WRITE: Rights = Rights::of(&[Right::Add, Right::Delete, Right::Increment]);
    /// `edit`: create, remove, rename, move-out, move-in.
    pub const EDIT: Rights =
        Rights::of(&[Right::Create, Right::Remove, Right::Rename, Right::MoveOut, Right::MoveIn]);
    /// `all`: everything but `proxy` and `manage`.
    pub const ALL: Rights =
        Rights(Rights::SEE.0 | Rights::WRITE.0 | Rights::EDIT.0 | Rights::of(&[Right::Auth, Right::Use]).0);

    /// The words that stand for several rights.
    pub const SHORT: [(&'static str, Rights); 4] =
        [("see", Rights::SEE), ("write", Rights::WRITE), ("edit", Rights::EDIT), ("all", Rights::ALL)];

    /// The set of these.
    pub const fn of(rights: &[Right]) -> Rights {
        let (mut bits, mut at) = (0, 0);
        while at < rights.len() {
            bits |= 1 << rights[at] as u16;
            at += 1;
        }
        Rights(bits)
    }

    /// Is a right among them?
    #[inline]
    pub const fn has(self, right: Right) -> bool {
        self.0 & (1 << right as u16) != 0
    }

    /// Is there none?
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those that are in both.
    #[inline]
    pub const fn and(self, other: Rights) -> Rights {
        Rights(self.0 & other.0)
    }

    /// Those that are not in the other.
    #[inline]
    pub const fn without(self, other: Rights) -> Rights {
        Rights(self.0 & !other.0)
    }
}

impl BitOr for Rights {
    type Output = Rights;

    fn bitor(self, other: Rights) -> Rights {
        Rights(self.0 | other.0)
    }
}

impl BitOrAssign for Rights {
    fn bitor_assign(&mut self, other: Rights) {
        self.0 |= other.0;
    }
}
