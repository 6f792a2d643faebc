//! Which matching rules fit which syntaxes: whether a rule can compare values of the syntax (RFC 4512 section 4.1.2, RFC 4517 section 4.2).

use super::{Form, Rule};
use crate::{AttributeType, Syntax};

impl AttributeType {
    /// In words, that one of its matching rules cannot compare its values. A type that inherits all of them is like the one where they are said.
    pub(crate) fn unfit(&self) -> Option<String> {
        let d = &self.definition;
        if [&d.syntax, &d.equality, &d.ordering, &d.substring].into_iter().all(Option::is_none) {
            return None;
        }
        let rules = [self.equality, self.ordering, self.substring];
        let rule = rules.into_iter().flatten().find(|rule| !rule.fits(self.syntax))?;
        Some(format!(
            "matching rule '{}' does not fit the syntax '{}' ({}) of '{}'",
            rule.name(),
            self.syntax.name(),
            self.syntax.oid(),
            self.name()
        ))
    }
}

impl Rule {
    /// Can it compare values of this syntax? Rules for strings of characters are taken for all syntaxes whose values are read as text, as files of other
    /// servers do: `caseIgnoreMatch` of IA5 strings and of telephone numbers. Rules for octets compare everything.
    pub fn fits(self, syntax: Syntax) -> bool {
        match self.form() {
            Form::Octets => true,
            Form::Folded
            | Form::Exact
            | Form::FoldedIa5
            | Form::ExactIa5
            | Form::Numeric
            | Form::Telephone
            | Form::List => is_text(syntax),
            Form::Boolean => syntax == Syntax::Boolean,
            Form::Integer | Form::Bits => syntax == Syntax::Integer,
            Form::BitString => syntax == Syntax::BitString,
            Form::Time => matches!(syntax, Syntax::GeneralizedTime | Syntax::UtcTime),
            Form::Oid => syntax == Syntax::Oid,
            Form::Dn | Form::NameAndUid => matches!(syntax, Syntax::Dn | Syntax::NameAndOptionalUid),
            Form::Uuid => syntax == Syntax::Uuid,
            Form::Csn => syntax == Syntax::Csn,
            Form::FirstInteger => is_description(syntax) || syntax == Syntax::Integer,
            Form::FirstOid => is_description(syntax) || syntax == Syntax::Oid,
            Form::FirstString => is_description(syntax) || is_text(syntax),
        }
    }
}

/// Are values strings of characters that are compared as such? Octet strings count, for a syntax that no program knows is taken for them.
fn is_text(syntax: Syntax) -> bool {
    matches!(
        syntax,
        Syntax::DirectoryString
            | Syntax::Ia5String
            | Syntax::PrintableString
            | Syntax::NumericString
            | Syntax::CountryString
            | Syntax::TelephoneNumber
            | Syntax::FacsimileTelephoneNumber
            | Syntax::TelexNumber
            | Syntax::TeletexTerminalIdentifier
            | Syntax::PostalAddress
            | Syntax::OtherMailbox
            | Syntax::DeliveryMethod
            | Syntax::Guide
            | Syntax::EnhancedGuide
            | Syntax::NisNetgroupTriple
            | Syntax::BootParameter
            | Syntax::AuthPassword
            | Syntax::Authz
            | Syntax::AciItem
            | Syntax::SubtreeSpecification
            | Syntax::SubstringAssertion
            | Syntax::Oid
            | Syntax::OctetString
    )
}

/// Are values definitions, which begin with an OID or a number?
fn is_description(syntax: Syntax) -> bool {
    matches!(
        syntax,
        Syntax::AttributeTypeDescription
            | Syntax::ObjectClassDescription
            | Syntax::DitContentRuleDescription
            | Syntax::DitStructureRuleDescription
            | Syntax::NameFormDescription
            | Syntax::MatchingRuleDescription
            | Syntax::MatchingRuleUseDescription
            | Syntax::LdapSyntaxDescription
    )
}
