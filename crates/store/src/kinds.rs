//! Ids of the entries that searches treat as no others: aliases (RFC 4512 section 2.6), referral objects (RFC 3296) and
//! subentries (RFC 3672). There are few, and a search must know all of those in its scope, whatever its filter asks for, or that
//! there are none. And ids of the entries that have access rules, which the rules in force are made of, and of dynamic
//! entries (RFC 2589), which are deleted when their time is over, and of the subentries that have collective attributes (RFC 3671).

use crate::idset::IdSet;
use crate::lifetimes::Lifetimes;
use crate::shape::Kind;

/// Supersets of the entries of each kind, like every index: an entry comes before it is visible and goes when no reader
/// can see it any more.
pub(crate) struct KindSets {
    pub(crate) aliases: IdSet,
    pub(crate) referrals: IdSet,
    pub(crate) subentries: IdSet,
    /// Of any kind: those that have access rules.
    pub(crate) with_access_rules: IdSet,
    /// Of any kind: those that are dynamic.
    pub(crate) dynamic: IdSet,
    /// Subentries that have collective attributes.
    pub(crate) collective: IdSet,
    pub(crate) lifetimes: Lifetimes,
}

impl KindSets {
    pub(crate) fn new() -> KindSets {
        KindSets {
            aliases: IdSet::new(),
            referrals: IdSet::new(),
            subentries: IdSet::new(),
            with_access_rules: IdSet::new(),
            dynamic: IdSet::new(),
            collective: IdSet::new(),
            lifetimes: Lifetimes::default(),
        }
    }

    pub(crate) fn of(&self, kind: Kind) -> Option<&IdSet> {
        match kind {
            Kind::Plain => None,
            Kind::Alias => Some(&self.aliases),
            Kind::Referral => Some(&self.referrals),
            Kind::Subentry => Some(&self.subentries),
        }
    }
}
