//! Versions of the behaviour: of how updates are applied. Each program knows a range of them. Which one is in force stands in the log and in
//! snapshots, so a program goes on as an earlier one did until it is asked to do otherwise.
//!
//! From behaviour 3 on the outcome chain has the number by which each command was applied ([`crate::chain`]). So a replica that applies by another
//! one than the log says is found by the next update, whatever that came to. And updates know more controls ([`crate::control::flags`]): to
//! behaviour 2 they are unknown, so what it ignored is ignored when its log is replayed.
//!
//! Behaviour 4 judges what updates make of entries by the constraints of the directory ([`crate::constraints`]); to earlier ones these are
//! settings that decide nothing. It knows dynamic entries: to earlier ones these are entries like others, which stay. It has another result code for
//! a rename to the name of a referral object. Collective attributes are those of their subentries, and of no other entry (RFC 3671); to earlier ones they are
//! user attributes that no class has. It removes and changes definitions of the schema; earlier ones only add them.

use std::fmt;

/// The earliest that this program applies.
pub const OLDEST: u32 = 2;
/// The latest that this program applies. Who raises it keeps what was done before, for the commands that were decided by that:
/// `docs/architecture.md` says what else is to be done.
pub const NEWEST: u32 = 4;
/// The first that stands in the outcome chain.
pub(crate) const FIRST_IN_CHAIN: u32 = 3;
/// The first that knows permissive modify, no-op, tree delete and relax rules.
pub(crate) const FIRST_WITH_FLAGS: u32 = 3;
/// The first that judges updates by constraints ([`crate::constraints`]).
pub(crate) const FIRST_WITH_CONSTRAINTS: u32 = 4;
/// The first to which dynamicObject is more than a class of a schema file (RFC 2589).
pub(crate) const FIRST_WITH_LIFETIMES: u32 = 4;
/// The first by which subentries of class collectiveAttributeSubentry have collective attributes, and no other entries (RFC 3671).
pub(crate) const FIRST_WITH_COLLECTIVE: u32 = 4;
/// The first that answers affectsMultipleDSAs to a rename to the name of a referral object (RFC 3296 section 5.6.2).
pub(crate) const FIRST_WITH_NEW_NAMES_REFERRED: u32 = 4;

/// The first that changes and removes definitions of the schema, and adds rules to it.
pub(crate) const FIRST_WITH_SCHEMA_CHANGES: u32 = 4;

/// The versions that a program knows: all from one to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The earliest that it applies.
    pub oldest: u32,
    /// The latest that it applies.
    pub newest: u32,
}

impl Versions {
    /// Of this program.
    pub const THIS: Versions = Versions { oldest: OLDEST, newest: NEWEST };

    /// Can this version be applied?
    pub fn know(self, behaviour: u32) -> bool {
        (self.oldest..=self.newest).contains(&behaviour)
    }

    /// Why a version cannot be applied, and what to do; `None` if it can be.
    pub fn refusal(self, behaviour: u32) -> Option<String> {
        let what = if behaviour > self.newest {
            "start it with the newer program"
        } else if behaviour < self.oldest {
            "start it with an earlier program that knows both"
        } else {
            return None;
        };
        Some(format!("updates are applied by behaviour {behaviour}, and this program knows {self}: {what}"))
    }
}

impl Default for Versions {
    fn default() -> Versions {
        Versions::THIS
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Versions { oldest, newest } = self;
        if oldest == newest { oldest.fmt(f) } else { write!(f, "{oldest} to {newest}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_refused_with_a_remedy() {
        let versions = Versions { oldest: 2, newest: 3 };
        assert!(versions.refusal(2).is_none() && versions.refusal(3).is_none() && versions.know(3));
        let refusal = |behaviour| versions.refusal(behaviour).expect("it is not known");
        assert!(
            refusal(4)
                .contains("behaviour 4, and this program knows 2 to 3: start it with the newer program")
        );
        assert!(refusal(1).contains("an earlier program"));
        assert_eq!(Versions::default().to_string(), format!("{OLDEST} to {NEWEST}"));
    }
}
