//! Definitions in their text form (RFC 4512 section 4.1): `( 2.5.4.3 NAME 'cn' SUP name )`.

mod parse;
mod print;

pub use parse::{
    DefinitionError, parse_attribute_type, parse_content_rule, parse_name_form, parse_object_class,
    parse_structure_rule, parse_syntax,
};
pub(crate) use parse::{first_component, is_description};

/// What an attribute is for (RFC 4512 section 4.1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Usage {
    /// User attribute.
    #[default]
    UserApplications,
    /// Operational, of the directory.
    DirectoryOperation,
    /// Operational, shared by DSAs.
    DistributedOperation,
    /// Operational, of one DSA.
    DsaOperation,
}

impl Usage {
    /// The word of the definition.
    pub fn name(self) -> &'static str {
        match self {
            Usage::UserApplications => "userApplications",
            Usage::DirectoryOperation => "directoryOperation",
            Usage::DistributedOperation => "distributedOperation",
            Usage::DsaOperation => "dSAOperation",
        }
    }
}

/// Kind of an object class (RFC 4512 section 2.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClassKind {
    /// Only to derive from.
    Abstract,
    /// What an entry is.
    #[default]
    Structural,
    /// What an entry is besides.
    Auxiliary,
}

impl ClassKind {
    /// The word of the definition.
    pub fn name(self) -> &'static str {
        match self {
            ClassKind::Abstract => "ABSTRACT",
            ClassKind::Structural => "STRUCTURAL",
            ClassKind::Auxiliary => "AUXILIARY",
        }
    }
}

/// Extensions `X-...` in the order given, each with its strings.
pub type Extensions = Vec<(String, Vec<String>)>;

/// An AttributeTypeDescription, nothing resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct AttributeTypeDefinition {
    pub oid: String,
    /// The first is the canonical one; there may be none.
    pub names: Vec<String>,
    pub description: Option<String>,
    /// Not to be used in new entries.
    pub obsolete: bool,
    pub sup: Option<String>,
    pub equality: Option<String>,
    pub ordering: Option<String>,
    pub substring: Option<String>,
    pub syntax: Option<String>,
    /// The number in braces after the syntax: a length that servers should at least take.
    pub length_max: Option<u32>,
    /// One value at most.
    pub single_value: bool,
    /// RFC 3671.
    pub collective: bool,
    /// Only the server changes it.
    pub no_user_modification: bool,
    pub usage: Usage,
    pub extensions: Extensions,
}

impl AttributeTypeDefinition {
    /// Is it returned only when asked for?
    pub fn is_operational(&self) -> bool {
        self.usage != Usage::UserApplications
    }
}

/// An ObjectClassDescription, nothing resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ObjectClassDefinition {
    pub oid: String,
    /// The first is the canonical one; there may be none.
    pub names: Vec<String>,
    pub description: Option<String>,
    /// Not to be used in new entries.
    pub obsolete: bool,
    pub sup: Vec<String>,
    pub kind: ClassKind,
    pub must: Vec<String>,
    pub may: Vec<String>,
    pub extensions: Extensions,
}

/// A DITContentRuleDescription (RFC 4512 section 4.1.6): what entries of a structural class may have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ContentRuleDefinition {
    /// That of the structural class.
    pub oid: String,
    pub names: Vec<String>,
    pub description: Option<String>,
    /// Not active: entries are as if it was not there.
    pub obsolete: bool,
    /// The auxiliary classes that entries may belong to.
    pub auxiliary: Vec<String>,
    pub must: Vec<String>,
    pub may: Vec<String>,
    pub not: Vec<String>,
    pub extensions: Extensions,
}

/// A NameFormDescription (RFC 4512 section 4.1.7.2): by which attributes entries of a structural class may be named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct NameFormDefinition {
    pub oid: String,
    pub names: Vec<String>,
    pub description: Option<String>,
    /// Not active: entries are as if it was not there.
    pub obsolete: bool,
    /// The structural class.
    pub class: String,
    pub must: Vec<String>,
    pub may: Vec<String>,
    pub extensions: Extensions,
}

/// A DITStructureRuleDescription (RFC 4512 section 4.1.7.1): below which entries those of a name form may be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct StructureRuleDefinition {
    pub id: u32,
    pub names: Vec<String>,
    pub description: Option<String>,
    /// Not active: it governs no entry.
    pub obsolete: bool,
    pub form: String,
    /// The rules that may govern the superior. Without any it is about roots of naming contexts.
    pub superiors: Vec<u32>,
    pub extensions: Extensions,
}

/// A SyntaxDescription.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SyntaxDefinition {
    pub oid: String,
    pub description: Option<String>,
    pub extensions: Extensions,
}

#[cfg(test)]
mod tests;
