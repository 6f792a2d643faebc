//! What a session hangs on, and why it ends when that is gone.

use crate::outcome::FixedRefusal;
use crate::own_entry::OwnEntry;
use model::ResultCode;

/// The entries that a session hangs on: the one that it is, and the one that has asked to be that one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounts(pub(super) [Option<OwnEntry>; 2]);

/// Why a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// The entry was deleted.
    Deleted,
    /// An administrator has locked the account.
    Locked,
}

impl Gone {
    /// What the Notice of Disconnection says.
    pub(super) fn notice(self) -> FixedRefusal {
        let text = match self {
            Gone::Deleted => "the entry of the client was deleted",
            Gone::Locked => "the account of the client was locked",
        };
        (ResultCode::StrongerAuthRequired, text)
    }
}
