//! A rule as it was written: what it is about, whom it is for, and what it allows or denies. Names of attributes, classes and entries are
//! kept as text; they are looked up where a rule is checked against a schema.

use crate::right::Rights;
use proto::filter_string::FilterBuf;
use std::net::IpAddr;

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Unique among the rules of one place; logs and explanations name the rule by it.
    pub name: String,
    /// What it is about.
    pub target: Target,
    /// Whom it is for: any of these.
    pub subjects: Vec<Subject>,
    /// What it allows.
    pub allow: Rights,
    /// What it denies.
    pub deny: Rights,
    /// Of the rules that fit, those of the highest rank decide.
    pub rank: u32,
}

/// What a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Which entries, by their place in the tree.
    pub place: Place,
    /// Which of them: those of which it is true, as they are. Of an add: as the entry would be.
    pub filter: Option<FilterBuf>,
    /// Which of their attributes, or which controls or extended operations.
    pub items: Items,
    /// Which values of its one attribute.
    pub values: Option<ValueTest>,
    /// In which operations.
    pub operations: Operations,
}

/// Entries by their place in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// All entries.
    All,
    /// Entries at a DN.
    At(Reach, Pattern),
}

/// Which entries at a DN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// The entry itself.
    Base,
    /// Its immediate subordinates.
    One,
    /// Itself and all its subordinates.
    Subtree,
    /// All its subordinates.
    Children,
}

/// A DN in a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// `*,DN`: stands for each immediate subordinate of the DN.
    pub each_below: bool,
    /// The DN, without the star, as it was written.
    pub dn: String,
}

/// What of the entries a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Items {
    /// Their attributes, and the entries as a whole. Any that is selected and not excluded.
    Attributes(Vec<AttributeSelector>),
    /// Controls, by OID. The place of the rule means nothing then.
    Controls(Vec<String>),
    /// Extended operations, by OID. The place of the rule means nothing then.
    Extended(Vec<String>),
}

/// Selects attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeSelector {
    /// `entry`: the entry as a whole.
    Entry,
    /// `*`: all user attributes but secrets.
    User,
    /// `+`: all operational attributes but secrets, `pandoAccess` and the state of passwords.
    Operational,
    /// `**`: all attributes.
    Every,
    /// `NAME` or `NAME;OPTION`: a type with its subtypes, with these options at least. Excluded with `!`.
    Named {
        /// The attribute description, as it was written.
        description: String,
        /// `!` stands before it.
        excluded: bool,
    },
    /// `@CLASS`: what an object class requires and allows. Excluded with `!`.
    Class {
        /// Name of the class, as it was written.
        name: String,
        /// `!` stands before it.
        excluded: bool,
    },
}

/// Which values of an attribute a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueTest {
    /// `self`: the value is the requester's DN.
    Requester,
    /// The values of which a filter on the attribute is true, each by itself.
    Filter(FilterBuf),
}

/// An operation that a rule can be limited to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Operation {
    /// Search.
    Search,
    /// Compare.
    Compare,
    /// Add.
    Add,
    /// Modify.
    Modify,
    /// ModifyDN.
    Rename,
    /// Delete.
    Delete,
    /// Password modify (RFC 3062).
    PasswordModify,
    /// Content synchronisation and persistent search.
    Sync,
    /// Bind. No rule is limited to it.
    Bind,
}

impl Operation {
    /// Those that a rule can name, with their words.
    pub const WORDS: [(&'static str, Operation); 8] = [
        ("search", Operation::Search),
        ("compare", Operation::Compare),
        ("add", Operation::Add),
        ("modify", Operation::Modify),
        ("rename", Operation::Rename),
        ("delete", Operation::Delete),
        ("passmod", Operation::PasswordModify),
        ("sync", Operation::Sync),
    ];
}

/// A set of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operations(u16);

impl Operations {
    /// Any operation: a rule that names none.
    pub const ANY: Operations = Operations(u16::MAX);

    /// The set of these.
    pub fn of(operations: impl IntoIterator<Item = Operation>) -> Operations {
        Operations(operations.into_iter().fold(0, |bits, operation| bits | 1 << operation as u16))
    }

    /// Is an operation among them?
    #[inline]
    pub fn has(self, operation: Operation) -> bool {
        self.0 & (1 << operation as u16) != 0
    }
}

/// Whom a rule is for: all of these are so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject(pub Vec<Test>);

/// A condition, or its opposite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// What is asked.
    pub condition: Condition,
    /// `!` stands before the value: the opposite holds.
    pub negated: bool,
}

/// What can be asked of a requester.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Anybody.
    Anyone,
    /// Those who did not bind.
    Anonymous,
    /// Those who did.
    Users,
    /// The requester's DN lies there.
    Dn(Reach, SubjectDn),
    /// The requester's own entry matches.
    UserFilter(FilterBuf),
    /// The requester is a member of a group.
    Group {
        /// DN of the group.
        dn: SubjectDn,
        /// Members of groups in it are members.
        nested: bool,
    },
    /// How the requester proved who it is: any of these.
    Auth(Vec<AuthMethod>),
    /// The connection is protected by so many bits at least.
    Strength(u16),
    /// TLS protects it by so many bits at least.
    Tls(u16),
    /// Where the requester comes from: any of these.
    Peer(Vec<Peer>),
    /// The name of the listener.
    Listener(String),
    /// The same of the authentication identity, under proxied authorization. A `Dn` or a `Group`.
    Real(Box<Condition>),
    /// The entry is the requester's.
    Requester,
    /// The entry's n-th superior is the requester's.
    Parent(u16),
    /// A value of the attribute is the requester's DN.
    DnAttribute(String),
    /// A value of the attribute is the DN of a group that the requester is a member of.
    GroupAttribute(String),
    /// The entry and the requester's own have a value of the attribute in common.
    Same(String),
}

impl Condition {
    /// Does the answer depend on the entry that is asked about, and not on the requester and its connection alone?
    pub fn depends_on_entry(&self) -> bool {
        matches!(
            self,
            Condition::Requester
                | Condition::Parent(_)
                | Condition::DnAttribute(_)
                | Condition::GroupAttribute(_)
                | Condition::Same(_)
        )
    }
}

/// The DN of a subject, as it was written. `$1` in it stands for the RDN that the star of the rule's place stands for.
pub type SubjectDn = String;

/// How a requester proved who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthMethod {
    /// Not at all.
    None,
    /// A simple bind with a password.
    Simple,
    /// A SASL mechanism, in upper case.
    Sasl(String),
}

/// Where a requester comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A Unix stream socket.
    Ldapi,
    /// A network.
    Network(Network),
}

/// Addresses with a prefix in common (CIDR, RFC 4632).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// The first address.
    pub address: IpAddr,
    /// Bits that are in common.
    pub prefix: u8,
}

impl Network {
    /// Is an address among them? An IPv4 address that is mapped to IPv6 counts as what it is.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address.to_canonical(), address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differing = u32::from(own) ^ u32::from(other);
                differing.checked_shr(32 - u32::from(self.prefix.min(32))).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differing = u128::from(own) ^ u128::from(other);
                differing.checked_shr(128 - u32::from(self.prefix.min(128))).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks() {
        let network = |address: &str, prefix| Network { address: address.parse().unwrap(), prefix };
        let has = |network: Network, address: &str| network.contains(address.parse().unwrap());
        assert!(has(network("10.0.0.0", 8), "10.255.0.1") && !has(network("10.0.0.0", 8), "11.0.0.1"));
        assert!(has(network("10.0.0.7", 32), "::ffff:10.0.0.7") && !has(network("10.0.0.7", 32), "10.0.0.6"));
        assert!(has(network("0.0.0.0", 0), "1.2.3.4") && !has(network("0.0.0.0", 0), "2001:db8::1"));
        assert!(
            has(network("2001:db8::", 32), "2001:db8::1") && !has(network("2001:db8::", 32), "2001:db9::1")
        );
        assert!(has(network("::", 0), "2001:db8::1"));
    }
}
