//! Syntaxes of RFC 4517 section 3.3 and a few more that files in use name.

mod text;

use crate::definition::{self, parse_attribute_type, parse_object_class, parse_syntax};
use crate::invalid::{ia5, utf8};
use crate::{Invalid, Schema, dn, form, scratch, time};

macro_rules! syntaxes {
    ($($syntax:ident $name:literal $oid:literal,)*) => {
        /// The syntax of an attribute's values.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Syntax {
            $(#[doc = $name] $syntax,)*
        }

        impl Syntax {
            /// All syntaxes of this server.
            pub const ALL: &'static [Syntax] = &[$(Syntax::$syntax,)*];

            /// Its description, as in RFC 4517.
            pub const fn name(self) -> &'static str {
                match self { $(Syntax::$syntax => $name,)* }
            }

            /// Its OID.
            pub const fn oid(self) -> &'static str {
                match self { $(Syntax::$syntax => concat!("1.3.6.1.", $oid),)* }
            }
        }
    };
}

syntaxes! {
    AciItem "ACI Item" "4.1.1466.115.121.1.1",
    Audio "Audio" "4.1.1466.115.121.1.4",
    AttributeTypeDescription "Attribute Type Description" "4.1.1466.115.121.1.3",
    Binary "Binary" "4.1.1466.115.121.1.5",
    BitString "Bit String" "4.1.1466.115.121.1.6",
    Boolean "Boolean" "4.1.1466.115.121.1.7",
    Certificate "Certificate" "4.1.1466.115.121.1.8",
    CertificateList "Certificate List" "4.1.1466.115.121.1.9",
    CertificatePair "Certificate Pair" "4.1.1466.115.121.1.10",
    CountryString "Country String" "4.1.1466.115.121.1.11",
    Dn "DN" "4.1.1466.115.121.1.12",
    DeliveryMethod "Delivery Method" "4.1.1466.115.121.1.14",
    DirectoryString "Directory String" "4.1.1466.115.121.1.15",
    DitContentRuleDescription "DIT Content Rule Description" "4.1.1466.115.121.1.16",
    DitStructureRuleDescription "DIT Structure Rule Description" "4.1.1466.115.121.1.17",
    EnhancedGuide "Enhanced Guide" "4.1.1466.115.121.1.21",
    FacsimileTelephoneNumber "Facsimile Telephone Number" "4.1.1466.115.121.1.22",
    Fax "Fax" "4.1.1466.115.121.1.23",
    GeneralizedTime "Generalized Time" "4.1.1466.115.121.1.24",
    Guide "Guide" "4.1.1466.115.121.1.25",
    Ia5String "IA5 String" "4.1.1466.115.121.1.26",
    Integer "INTEGER" "4.1.1466.115.121.1.27",
    Jpeg "JPEG" "4.1.1466.115.121.1.28",
    MatchingRuleDescription "Matching Rule Description" "4.1.1466.115.121.1.30",
    MatchingRuleUseDescription "Matching Rule Use Description" "4.1.1466.115.121.1.31",
    NameAndOptionalUid "Name And Optional UID" "4.1.1466.115.121.1.34",
    NameFormDescription "Name Form Description" "4.1.1466.115.121.1.35",
    NumericString "Numeric String" "4.1.1466.115.121.1.36",
    ObjectClassDescription "Object Class Description" "4.1.1466.115.121.1.37",
    Oid "OID" "4.1.1466.115.121.1.38",
    OtherMailbox "Other Mailbox" "4.1.1466.115.121.1.39",
    OctetString "Octet String" "4.1.1466.115.121.1.40",
    PostalAddress "Postal Address" "4.1.1466.115.121.1.41",
    PrintableString "Printable String" "4.1.1466.115.121.1.44",
    SubtreeSpecification "Subtree Specification" "4.1.1466.115.121.1.45",
    SupportedAlgorithm "Supported Algorithm" "4.1.1466.115.121.1.49",
    TelephoneNumber "Telephone Number" "4.1.1466.115.121.1.50",
    TeletexTerminalIdentifier "Teletex Terminal Identifier" "4.1.1466.115.121.1.51",
    TelexNumber "Telex Number" "4.1.1466.115.121.1.52",
    UtcTime "UTC Time" "4.1.1466.115.121.1.53",
    LdapSyntaxDescription "LDAP Syntax Description" "4.1.1466.115.121.1.54",
    SubstringAssertion "Substring Assertion" "4.1.1466.115.121.1.58",
    NisNetgroupTriple "NIS netgroup triple" "1.1.0.0",
    BootParameter "Boot parameter" "1.1.0.1",
    Uuid "UUID" "1.16.1",
    Csn "CSN" "4.1.4203.666.11.2.1",
    AuthPassword "Authentication password" "4.1.4203.1.1.2",
    Authz "OpenLDAP authz" "4.1.4203.666.2.7",
}

impl Syntax {
    /// The syntax with this OID.
    pub fn find(oid: &str) -> Option<Syntax> {
        Syntax::ALL.iter().find(|s| s.oid() == oid).copied()
    }

    /// Are its values defined by their BER form alone (RFC 4523 section 2)?
    pub(crate) fn requires_binary(self) -> bool {
        matches!(
            self,
            Syntax::Certificate
                | Syntax::CertificateList
                | Syntax::CertificatePair
                | Syntax::SupportedAlgorithm
        )
    }

    /// Is the value one of this syntax? Binary ones that no rule looks into pass as they are.
    pub fn check(self, value: &[u8], schema: &Schema) -> Result<(), Invalid> {
        scratch::with(|buffer| self.check_in(value, schema, buffer))
    }

    /// As [`Syntax::check`], with a buffer for forms that are thrown away.
    #[inline]
    pub(crate) fn check_in(self, value: &[u8], schema: &Schema, buffer: &mut Vec<u8>) -> Result<(), Invalid> {
        match self {
            Syntax::DirectoryString => text::directory_string(value),
            Syntax::Ia5String => ia5(value).map(drop),
            Syntax::OctetString | Syntax::Jpeg | Syntax::Binary => Ok(()),
            Syntax::Dn => {
                buffer.clear();
                dn::normalise(schema, value, buffer)
            }
            _ => self.check_rare(value, schema, buffer),
        }
    }

    /// Is this value known to be one of this syntax at a glance? `false` says nothing.
    #[inline]
    pub(crate) fn admits(self, value: &[u8]) -> bool {
        match self {
            Syntax::DirectoryString => !value.is_empty() && value.is_ascii(),
            Syntax::Ia5String => value.is_ascii(),
            Syntax::OctetString | Syntax::Jpeg | Syntax::Binary => true,
            _ => false,
        }
    }

    fn check_rare(self, value: &[u8], schema: &Schema, buffer: &mut Vec<u8>) -> Result<(), Invalid> {
        buffer.clear();
        match self {
            Syntax::DirectoryString | Syntax::Ia5String | Syntax::Dn => self.check_in(value, schema, buffer),
            Syntax::Integer => text::integer(value),
            Syntax::Boolean => match value {
                b"TRUE" | b"FALSE" => Ok(()),
                _ => Err(Invalid::new("neither TRUE nor FALSE")),
            },
            Syntax::GeneralizedTime => form::time(value, buffer),
            Syntax::UtcTime => time::check_utc_time(value),
            Syntax::TelephoneNumber | Syntax::PrintableString => text::printable_string(value),
            Syntax::FacsimileTelephoneNumber => text::facsimile(value),
            Syntax::TelexNumber => text::telex(value),
            Syntax::TeletexTerminalIdentifier => text::teletex(value),
            Syntax::CountryString => text::country(value),
            Syntax::NumericString => text::numeric_string(value),
            Syntax::PostalAddress => text::postal_address(value),
            Syntax::OtherMailbox => text::other_mailbox(value),
            Syntax::DeliveryMethod => text::delivery_method(value),
            Syntax::Guide => text::guide(value),
            Syntax::EnhancedGuide => text::enhanced_guide(value),
            Syntax::BitString => form::bit_string(value, buffer),
            Syntax::Oid => text::oid(value),
            Syntax::NameAndOptionalUid => form::name_and_uid(schema, value, buffer),
            Syntax::Uuid => form::uuid(value, buffer),
            Syntax::Csn => form::csn(value, buffer),
            Syntax::NisNetgroupTriple => text::netgroup_triple(value),
            Syntax::BootParameter => text::boot_parameter(value),
            Syntax::SubstringAssertion => text::substring_assertion(value),
            Syntax::AttributeTypeDescription => parsed(value, parse_attribute_type),
            Syntax::ObjectClassDescription => parsed(value, parse_object_class),
            Syntax::LdapSyntaxDescription => parsed(value, parse_syntax),
            Syntax::MatchingRuleDescription
            | Syntax::MatchingRuleUseDescription
            | Syntax::NameFormDescription
            | Syntax::DitContentRuleDescription
            | Syntax::DitStructureRuleDescription => match definition::is_description(utf8(value)?) {
                true => Ok(()),
                false => Err(Invalid::new("not a description in parentheses")),
            },
            Syntax::AuthPassword => text::auth_password(value),
            Syntax::SubtreeSpecification => text::subtree_specification(value),
            Syntax::Authz => text::directory_string(value),
            Syntax::OctetString
            | Syntax::Jpeg
            | Syntax::Binary
            | Syntax::Audio
            | Syntax::Fax
            | Syntax::AciItem
            | Syntax::SupportedAlgorithm => Ok(()),
            Syntax::Certificate | Syntax::CertificateList | Syntax::CertificatePair => {
                text::ber_sequence(value)
            }
        }
    }
}

fn parsed<T>(
    value: &[u8],
    parse: impl Fn(&str) -> Result<T, definition::DefinitionError>,
) -> Result<(), Invalid> {
    match parse(utf8(value)?) {
        Ok(_) => Ok(()),
        Err(e) => Err(Invalid::at("not a definition", e.at)),
    }
}

#[cfg(test)]
mod tests;
