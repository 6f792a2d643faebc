//! What a write breaks, with the result code and a message that helps to mend it.

use crate::Invalid;
use model::ResultCode;
use std::fmt;

/// The rule of the subschema that an entry breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Violation {
    /// No `objectClass` attribute.
    NoObjectClass,
    /// A class that the subschema does not define, and the one perhaps meant.
    UnknownObjectClass { class: String, meant: Option<String> },
    /// More classes than the server takes.
    TooManyClasses,
    /// Only abstract and auxiliary classes.
    NoStructuralClass { classes: String },
    /// Two structural classes, neither derived from the other.
    SeveralStructuralClasses { one: String, other: String },
    /// An abstract class without a class derived from it.
    AbstractClassAlone { class: String },
    /// A modification would make the entry another kind of thing (RFC 4512 section 2.4.2).
    StructuralClassChanged { from: String, to: String },
    /// An attribute that a class requires is absent.
    MissingAttribute { attribute: String, class: String },
    /// An attribute that no class allows; perhaps a class that would.
    AttributeNotAllowed { attribute: String, classes: String, class: Option<String> },
    /// A collective attribute of an entry that is no subentry for it (RFC 3671).
    CollectiveElsewhere { attribute: String },
    /// An auxiliary class that the content rule of the structural class does not list.
    AuxiliaryNotAllowed { auxiliary: String, class: String },
    /// An attribute that the content rule of the structural class requires is absent.
    MissingByContentRule { attribute: String, class: String },
    /// An attribute that the content rule of the structural class precludes.
    Precluded { attribute: String, class: String },
    /// No name form of the class has these attributes for the RDN.
    NoNameForm { class: String, attributes: String },
    /// No structure rule allows such an entry at this place.
    NoStructureRule { class: String, attributes: String },
    /// Several values of a single-valued attribute.
    SingleValue { attribute: String, count: usize },
    /// A value that is not of the attribute's syntax. `index` counts from 0, the message from 1.
    InvalidValue { attribute: String, index: usize, syntax: &'static str, invalid: Invalid },
    /// The same value twice, as [`crate::Schema::shown_value`] shows it.
    DuplicateValue { attribute: String, value: String },
    /// Only the server changes it.
    NoUserModification { attribute: String },
    /// Obsolete type or class.
    Obsolete { name: String },
    /// An attribute without values.
    NoValues { attribute: String },
}

impl Violation {
    /// The result code that tells a client.
    pub fn result_code(&self) -> ResultCode {
        use Violation::*;
        match self {
            NoObjectClass
            | UnknownObjectClass { .. }
            | NoStructuralClass { .. }
            | SeveralStructuralClasses { .. }
            | AbstractClassAlone { .. }
            | MissingAttribute { .. }
            | AttributeNotAllowed { .. }
            | CollectiveElsewhere { .. }
            | AuxiliaryNotAllowed { .. }
            | MissingByContentRule { .. }
            | Precluded { .. } => ResultCode::ObjectClassViolation,
            NoNameForm { .. } | NoStructureRule { .. } => ResultCode::NamingViolation,
            StructuralClassChanged { .. } => ResultCode::ObjectClassModsProhibited,
            SingleValue { .. } | NoUserModification { .. } | Obsolete { .. } => {
                ResultCode::ConstraintViolation
            }
            InvalidValue { .. } | NoValues { .. } => ResultCode::InvalidAttributeSyntax,
            DuplicateValue { .. } => ResultCode::AttributeOrValueExists,
            TooManyClasses => ResultCode::AdminLimitExceeded,
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Violation::*;
        match self {
            NoObjectClass => f.write_str("the entry has no attribute 'objectClass'"),
            UnknownObjectClass { class, meant } => {
                write!(f, "object class '{class}' is not defined")?;
                meant.iter().try_for_each(|m| write!(f, "; did you mean '{m}'?"))
            }
            TooManyClasses => f.write_str("too many object classes"),
            NoStructuralClass { classes } => {
                let are = if is_several(classes) { "are" } else { "is" };
                write!(
                    f,
                    "no structural object class: {classes} {are} abstract or auxiliary; name one that says what the entry is"
                )
            }
            SeveralStructuralClasses { one, other } => {
                write!(
                    f,
                    "object classes '{one}' and '{other}' are both structural and neither is derived from the other"
                )
            }
            AbstractClassAlone { class } => {
                write!(f, "object class '{class}' is abstract and no class of the entry is derived from it")
            }
            StructuralClassChanged { from, to } => {
                write!(f, "the structural object class cannot change from '{from}' to '{to}'")
            }
            MissingAttribute { attribute, class } => {
                write!(f, "object class '{class}' requires attribute '{attribute}'")
            }
            AttributeNotAllowed { attribute, classes, class } => {
                let s = if is_several(classes) { "es" } else { "" };
                write!(f, "attribute '{attribute}' is not allowed by object class{s} {classes}")?;
                class.iter().try_for_each(|c| write!(f, "; '{c}' would allow it"))
            }
            CollectiveElsewhere { attribute } => write!(
                f,
                "attribute '{attribute}' is collective: subentries of class collectiveAttributeSubentry have it, and no other entries"
            ),
            AuxiliaryNotAllowed { auxiliary, class } => {
                write!(f, "the content rule of '{class}' does not list auxiliary object class '{auxiliary}'")
            }
            MissingByContentRule { attribute, class } => {
                write!(f, "the content rule of '{class}' requires attribute '{attribute}'")
            }
            Precluded { attribute, class } => {
                write!(f, "the content rule of '{class}' precludes attribute '{attribute}'")
            }
            NoNameForm { class, attributes } => {
                write!(f, "no name form of object class '{class}' allows an RDN of {attributes}")
            }
            NoStructureRule { class, attributes } => {
                write!(
                    f,
                    "no structure rule allows an entry of object class '{class}' with an RDN of {attributes} here"
                )
            }
            SingleValue { attribute, count } => {
                write!(f, "attribute '{attribute}' takes one value and was given {count}")
            }
            InvalidValue { attribute, index, syntax, invalid } => {
                let number = index + 1;
                write!(f, "value {number} of attribute '{attribute}' is not of syntax {syntax}: {invalid}")
            }
            DuplicateValue { attribute, value } => {
                write!(f, "attribute '{attribute}' has the value '{value}' twice")
            }
            NoUserModification { attribute } => {
                write!(f, "attribute '{attribute}' is maintained by the server and cannot be changed")
            }
            Obsolete { name } => write!(f, "'{name}' is obsolete and not to be used any more"),
            NoValues { attribute } => write!(f, "attribute '{attribute}' has no values"),
        }
    }
}

/// Does a list of names hold more than one? No name has a comma.
fn is_several(names: &str) -> bool {
    names.contains(',')
}

impl std::error::Error for Violation {}
