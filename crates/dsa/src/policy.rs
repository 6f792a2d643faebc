//! Password policy: which one holds for an account, what it says of a bind, and what of a new password.
//!
//! ```text
//! choice    which policy holds
//! subentry  the policies of parts of the tree, by their subtree specifications
//! subject   whose policy it is
//! entry     the numbers of a policy, as its entry has them
//! account   the state of a password, as its entry has it
//! login     what a bind comes to, before its password is verified and after it
//! write     the change of the state that it comes to
//! change    what a new password must be, and what of the state changes with it
//! quality   how good it must be
//! usability whether the user of an account can bind
//! ```
//! What an agent knows of policies, and the failures of accounts, are [`crate::password::policies`]'s.
//!
//! State that decides whether somebody gets in is in the entry, and is logged before the answer: as a modify, so that the log, a replay and a
//! replica need to know nothing of policies. What a policy said is decided once, at a read point, and never asked again.

mod account;
mod change;
mod choice;
mod entry;
mod login;
mod quality;
mod subentry;
mod subject;
mod usability;
mod write;

use self::account::Account;
pub(crate) use self::account::is_locked_for_good;
pub(crate) use self::change::{LOOKS_HASHED, New, Place, judge};
pub(crate) use self::choice::{SUBENTRY, policy_of};
pub(crate) use self::login::{admit, is_open, must_change, not_admitted, passed, wrong};
pub(crate) use self::quality::NAMES;
pub(crate) use self::usability::usability;
pub use self::write::ACTOR;
pub(crate) use self::write::{LAST_CHANGE, change_of};
use crate::context::Reading;
use store::EntryRef;

/// Reads what a bind reads of an account besides its password, and counts its failure where nobody looks: for a bind as nobody, which takes as long
/// as one as somebody. `number` is of its name.
pub(crate) fn look_at(reading: &mut Reading<'_>, entry: Option<&EntryRef<'_>>, number: u64) {
    let policy = policy_of(reading, entry);
    if let Some(entry) = entry {
        // Else the optimiser leaves it out.
        std::hint::black_box(Account::of(reading, entry).is_reset);
        login::wrong_of_nobody(reading, entry, number, &policy);
    }
}
