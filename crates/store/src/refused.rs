//! Why a command is not applied: always something that the client, or the administrator who set the limits, can act on.

use model::{EntryId, ResultCode};
use schema::Violation;
use std::fmt;

/// A refusal. The shard is as it was before the command.
#[derive(Clone, Debug)]
pub enum Refused {
    /// A name that is not a DN of this schema.
    InvalidDn(String),
    /// The entry to work on is not there.
    NoSuchObject {
        /// Nearest existing superior.
        matched: Option<EntryId>,
    },
    /// The superior of an entry to be added or moved is not there.
    NoSuchSuperior {
        /// Nearest existing superior.
        matched: Option<EntryId>,
    },
    /// The DN is outside all naming contexts.
    OutsideNamingContexts,
    /// There is an entry with this DN.
    EntryAlreadyExists,
    /// It has subordinates.
    NotAllowedOnNonLeaf {
        /// How many.
        children: u32,
    },
    /// The RDN cannot name the entry.
    NamingViolation(String),
    /// The change would take a value away that the RDN is made of.
    NotAllowedOnRdn(String),
    /// An attribute or value to be taken away is not there.
    NoSuchAttribute(String),
    /// A value to be added is there.
    ValueExists(String),
    /// Increment of something that is not one number, or beyond what a number can be.
    NotIncrementable(String),
    /// An attribute that users cannot change.
    NotModifiable(String),
    /// An entry cannot be moved below itself.
    BelowItself,
    /// An alias has no subordinates (RFC 4512 section 2.6).
    BelowAlias,
    /// Entries below a dynamic one are dynamic (RFC 2589 section 3.1).
    BelowDynamic,
    /// An entry is dynamic from its beginning on, or never.
    DynamicChanged,
    /// The schema says no.
    Schema(Violation),
    /// No memory is left within the limit.
    MemoryLimit {
        /// The limit.
        bytes_max: u64,
    },
    /// The entry is not such that the command may be applied ([`crate::Condition`]).
    ConditionFailed,
    /// What the update makes of the entry violates a constraint ([`crate::Judge`]).
    Constraint(String),
    /// A constraint asks for more work than one update may do.
    ConstraintLimit(String),
    /// A bound of the store would be exceeded.
    StoreLimit(&'static str),
}

impl Refused {
    /// The result code that tells a client.
    pub fn result_code(&self) -> ResultCode {
        match self {
            Refused::InvalidDn(_) => ResultCode::InvalidDnSyntax,
            Refused::NoSuchObject { .. }
            | Refused::NoSuchSuperior { .. }
            | Refused::OutsideNamingContexts => ResultCode::NoSuchObject,
            Refused::EntryAlreadyExists => ResultCode::EntryAlreadyExists,
            Refused::NotAllowedOnNonLeaf { .. } => ResultCode::NotAllowedOnNonLeaf,
            Refused::NamingViolation(_) => ResultCode::NamingViolation,
            Refused::NotAllowedOnRdn(_) => ResultCode::NotAllowedOnRdn,
            Refused::NoSuchAttribute(_) => ResultCode::NoSuchAttribute,
            Refused::ValueExists(_) => ResultCode::AttributeOrValueExists,
            Refused::NotIncrementable(_) | Refused::NotModifiable(_) | Refused::Constraint(_) => {
                ResultCode::ConstraintViolation
            }
            Refused::BelowItself => ResultCode::UnwillingToPerform,
            Refused::BelowAlias => ResultCode::AliasProblem,
            Refused::BelowDynamic => ResultCode::ConstraintViolation,
            Refused::DynamicChanged => ResultCode::ObjectClassViolation,
            Refused::Schema(violation) => violation.result_code(),
            Refused::ConditionFailed => ResultCode::AssertionFailed,
            Refused::MemoryLimit { .. } | Refused::StoreLimit(_) | Refused::ConstraintLimit(_) => {
                ResultCode::AdminLimitExceeded
            }
        }
    }

    /// The entry whose DN is the matchedDN of the answer.
    pub fn matched(&self) -> Option<EntryId> {
        match self {
            Refused::NoSuchObject { matched } | Refused::NoSuchSuperior { matched } => *matched,
            _ => None,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::InvalidDn(reason)
            | Refused::NamingViolation(reason)
            | Refused::NotAllowedOnRdn(reason)
            | Refused::NoSuchAttribute(reason)
            | Refused::ValueExists(reason)
            | Refused::NotIncrementable(reason)
            | Refused::NotModifiable(reason)
            | Refused::Constraint(reason)
            | Refused::ConstraintLimit(reason) => f.write_str(reason),
            Refused::NoSuchObject { .. } => f.write_str("the entry does not exist"),
            Refused::NoSuchSuperior { .. } => f.write_str("the superior entry does not exist; add it first"),
            Refused::OutsideNamingContexts => {
                f.write_str("the DN is not within a naming context of this server")
            }
            Refused::EntryAlreadyExists => f.write_str("an entry with this DN exists"),
            Refused::NotAllowedOnNonLeaf { children: 1 } => f.write_str("the entry has 1 subordinate"),
            Refused::NotAllowedOnNonLeaf { children } => write!(f, "the entry has {children} subordinates"),
            Refused::BelowItself => f.write_str("an entry cannot be moved below itself"),
            Refused::BelowAlias => {
                f.write_str("the superior is an alias and can have no subordinates; name what it stands for")
            }
            Refused::BelowDynamic => {
                f.write_str("the superior is a dynamic entry: only dynamic entries can be below it")
            }
            Refused::DynamicChanged => f.write_str(
                "an entry cannot become a dynamic entry, or cease to be one: add it with the class dynamicObject",
            ),
            Refused::Schema(violation) => violation.fmt(f),
            Refused::ConditionFailed => f.write_str("the assertion is false for the entry"),
            Refused::MemoryLimit { bytes_max } => {
                write!(f, "the memory limit of {bytes_max} bytes is reached")
            }
            Refused::StoreLimit(what) => write!(f, "too many {what}"),
        }
    }
}

impl std::error::Error for Refused {}
