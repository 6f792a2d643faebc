//! Matching rules of RFC 4517 section 4.2 and a few more that files in use name.

mod fit;

use crate::invalid::ia5;
use crate::prep::{self, Edges, Part};
use crate::{Invalid, Schema, dn, form};

/// What a rule is for (RFC 4512 section 4.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// Equality, and rules that only an extensible match can name.
    Equality,
    /// Ordering.
    Ordering,
    /// Substrings.
    Substring,
}

/// The normal form that a rule compares. Rules of one family share it, so that a value is normalised once
/// for equality, ordering and substrings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Octets,
    Folded,
    Exact,
    FoldedIa5,
    ExactIa5,
    Numeric,
    Telephone,
    List,
    Boolean,
    Integer,
    Bits,
    BitString,
    Time,
    Oid,
    Dn,
    NameAndUid,
    Uuid,
    Csn,
    FirstInteger,
    FirstOid,
    FirstString,
}

macro_rules! rules {
    ($($rule:ident $name:literal $oid:literal $kind:ident $form:ident $syntax:literal,)*) => {
        /// A matching rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Rule {
            $(#[doc = $name] $rule,)*
        }

        impl Rule {
            /// All rules of this server.
            pub const ALL: &'static [Rule] = &[$(Rule::$rule,)*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Rule::$rule => $name,)* }
            }

            /// Its OID.
            pub const fn oid(self) -> &'static str {
                match self { $(Rule::$rule => $oid,)* }
            }

            /// What it is for.
            pub const fn kind(self) -> RuleKind {
                match self { $(Rule::$rule => RuleKind::$kind,)* }
            }

            /// OID of the syntax of its assertion values.
            pub const fn assertion_syntax(self) -> &'static str {
                match self { $(Rule::$rule => concat!("1.3.6.1.", $syntax),)* }
            }

            const fn form(self) -> Form {
                match self { $(Rule::$rule => Form::$form,)* }
            }
        }
    };
}

rules! {
    ObjectIdentifier "objectIdentifierMatch" "2.5.13.0" Equality Oid "4.1.1466.115.121.1.38",
    DistinguishedName "distinguishedNameMatch" "2.5.13.1" Equality Dn "4.1.1466.115.121.1.12",
    CaseIgnore "caseIgnoreMatch" "2.5.13.2" Equality Folded "4.1.1466.115.121.1.15",
    CaseIgnoreOrdering "caseIgnoreOrderingMatch" "2.5.13.3" Ordering Folded "4.1.1466.115.121.1.15",
    CaseIgnoreSubstrings "caseIgnoreSubstringsMatch" "2.5.13.4" Substring Folded "4.1.1466.115.121.1.58",
    CaseExact "caseExactMatch" "2.5.13.5" Equality Exact "4.1.1466.115.121.1.15",
    CaseExactOrdering "caseExactOrderingMatch" "2.5.13.6" Ordering Exact "4.1.1466.115.121.1.15",
    CaseExactSubstrings "caseExactSubstringsMatch" "2.5.13.7" Substring Exact "4.1.1466.115.121.1.58",
    NumericString "numericStringMatch" "2.5.13.8" Equality Numeric "4.1.1466.115.121.1.36",
    NumericStringOrdering "numericStringOrderingMatch" "2.5.13.9" Ordering Numeric "4.1.1466.115.121.1.36",
    NumericStringSubstrings "numericStringSubstringsMatch" "2.5.13.10" Substring Numeric "4.1.1466.115.121.1.58",
    CaseIgnoreList "caseIgnoreListMatch" "2.5.13.11" Equality List "4.1.1466.115.121.1.41",
    CaseIgnoreListSubstrings "caseIgnoreListSubstringsMatch" "2.5.13.12" Substring List "4.1.1466.115.121.1.58",
    Boolean "booleanMatch" "2.5.13.13" Equality Boolean "4.1.1466.115.121.1.7",
    Integer "integerMatch" "2.5.13.14" Equality Integer "4.1.1466.115.121.1.27",
    IntegerOrdering "integerOrderingMatch" "2.5.13.15" Ordering Integer "4.1.1466.115.121.1.27",
    BitString "bitStringMatch" "2.5.13.16" Equality BitString "4.1.1466.115.121.1.6",
    OctetString "octetStringMatch" "2.5.13.17" Equality Octets "4.1.1466.115.121.1.40",
    OctetStringOrdering "octetStringOrderingMatch" "2.5.13.18" Ordering Octets "4.1.1466.115.121.1.40",
    OctetStringSubstrings "octetStringSubstringsMatch" "2.5.13.19" Substring Octets "4.1.1466.115.121.1.58",
    TelephoneNumber "telephoneNumberMatch" "2.5.13.20" Equality Telephone "4.1.1466.115.121.1.50",
    TelephoneNumberSubstrings "telephoneNumberSubstringsMatch" "2.5.13.21" Substring Telephone "4.1.1466.115.121.1.58",
    UniqueMember "uniqueMemberMatch" "2.5.13.23" Equality NameAndUid "4.1.1466.115.121.1.34",
    GeneralizedTime "generalizedTimeMatch" "2.5.13.27" Equality Time "4.1.1466.115.121.1.24",
    GeneralizedTimeOrdering "generalizedTimeOrderingMatch" "2.5.13.28" Ordering Time "4.1.1466.115.121.1.24",
    IntegerFirstComponent "integerFirstComponentMatch" "2.5.13.29" Equality FirstInteger "4.1.1466.115.121.1.27",
    ObjectIdentifierFirstComponent "objectIdentifierFirstComponentMatch" "2.5.13.30" Equality FirstOid "4.1.1466.115.121.1.38",
    DirectoryStringFirstComponent "directoryStringFirstComponentMatch" "2.5.13.31" Equality FirstString "4.1.1466.115.121.1.15",
    Word "wordMatch" "2.5.13.32" Equality Folded "4.1.1466.115.121.1.15",
    Keyword "keywordMatch" "2.5.13.33" Equality Folded "4.1.1466.115.121.1.15",
    CaseExactIa5 "caseExactIA5Match" "1.3.6.1.4.1.1466.109.114.1" Equality ExactIa5 "4.1.1466.115.121.1.26",
    CaseIgnoreIa5 "caseIgnoreIA5Match" "1.3.6.1.4.1.1466.109.114.2" Equality FoldedIa5 "4.1.1466.115.121.1.26",
    CaseIgnoreIa5Substrings "caseIgnoreIA5SubstringsMatch" "1.3.6.1.4.1.1466.109.114.3" Substring FoldedIa5 "4.1.1466.115.121.1.58",
    CaseExactIa5Substrings "caseExactIA5SubstringsMatch" "1.3.6.1.4.1.4203.1.2.1" Substring ExactIa5 "4.1.1466.115.121.1.58",
    Uuid "uuidMatch" "1.3.6.1.1.16.2" Equality Uuid "1.16.1",
    UuidOrdering "uuidOrderingMatch" "1.3.6.1.1.16.3" Ordering Uuid "1.16.1",
    Csn "CSNMatch" "1.3.6.1.4.1.4203.666.11.2.2" Equality Csn "4.1.4203.666.11.2.1",
    CsnOrdering "CSNOrderingMatch" "1.3.6.1.4.1.4203.666.11.2.3" Ordering Csn "4.1.4203.666.11.2.1",
    BitAnd "integerBitAndMatch" "1.2.840.113556.1.4.803" Equality Bits "4.1.1466.115.121.1.27",
    BitOr "integerBitOrMatch" "1.2.840.113556.1.4.804" Equality Bits "4.1.1466.115.121.1.27",
}

impl Rule {
    /// The rule with this name (any case) or OID.
    pub fn find(name_or_oid: &[u8]) -> Option<Rule> {
        let is = |r: &&Rule| {
            r.name().as_bytes().eq_ignore_ascii_case(name_or_oid) || r.oid().as_bytes() == name_or_oid
        };
        Rule::ALL.iter().find(is).copied()
    }

    /// Appends the normal form of an attribute value: two values match under an equality rule if and only if
    /// their forms are the same bytes ([`Rule::matches`] for the few rules that are no equality). For strings
    /// this is the prepared string of RFC 4518, with its space at each end. The order of forms is that of values under the
    /// ordering rule of the family. After an error `out` may hold a part of the form.
    pub fn normalise_value(self, schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
        match self.form() {
            Form::Folded => prep::prepare(value, true, Edges::VALUE, out),
            Form::Exact => prep::prepare(value, false, Edges::VALUE, out),
            Form::FoldedIa5 => prep::prepare(ia5(value)?, true, Edges::VALUE, out),
            Form::ExactIa5 => prep::prepare(ia5(value)?, false, Edges::VALUE, out),
            Form::Octets => {
                out.extend_from_slice(value);
                Ok(())
            }
            Form::Dn => dn::normalise(schema, value, out),
            Form::Integer => form::integer(value, out),
            Form::Oid => form::oid(schema, value, out),
            Form::Numeric => prep::prepare_without(value, |c| c == ' ', out),
            Form::Telephone => prep::prepare_without(value, is_dropped_of_telephone, out),
            Form::List => form::list(value, out),
            Form::Boolean => form::boolean(value, out),
            Form::Bits => form::bits(value, out),
            Form::BitString => form::bit_string(value, out),
            Form::Time => form::time(value, out),
            Form::NameAndUid => form::name_and_uid(schema, value, out),
            Form::Uuid => form::uuid(value, out),
            Form::Csn => form::csn(value, out),
            Form::FirstInteger => form::integer(form::first(value)?, out),
            Form::FirstOid => form::oid(schema, form::first(value)?, out),
            Form::FirstString => prep::prepare(form::first(value)?, true, Edges::VALUE, out),
        }
    }

    /// Does it take the same values for equal as another rule, as far as both can compare them?
    pub fn compares_like(self, other: Rule) -> bool {
        let form = |rule: Rule| match rule.form() {
            Form::FoldedIa5 => Form::Folded,
            Form::ExactIa5 => Form::Exact,
            form => form,
        };
        form(self) == form(other)
    }

    /// Does an assertion match exactly the values whose normal form is the same bytes? Not of ordering, substrings, bits
    /// and words.
    pub fn is_equality(self) -> bool {
        self.kind() == RuleKind::Equality
            && !matches!(self, Rule::BitAnd | Rule::BitOr | Rule::Word | Rule::Keyword)
    }

    /// Whether it compares strings of characters, and upper and lower case are the same to it.
    #[inline(always)]
    pub fn folds(self) -> Option<bool> {
        match self.form() {
            Form::Folded | Form::FoldedIa5 => Some(true),
            Form::Exact | Form::ExactIa5 => Some(false),
            _ => None,
        }
    }

    /// Appends the normal form of an assertion value: as of values, but of the firstComponent rules, whose
    /// assertion is the component itself, and of the rules for OIDs, which have no assertion with a name that the
    /// schema does not know. Substring rules have no whole assertion: see [`Rule::normalise_substring`].
    pub fn normalise_assertion(
        self,
        schema: &Schema,
        assertion: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Invalid> {
        match self.form() {
            Form::FirstInteger => form::integer(assertion, out),
            Form::Oid | Form::FirstOid => form::oid_assertion(schema, assertion, out),
            Form::FirstString => prep::prepare(assertion, true, Edges::VALUE, out),
            _ if self.kind() == RuleKind::Substring => {
                Err(Invalid::new("a substrings rule needs a substrings assertion"))
            }
            _ => self.normalise_value(schema, assertion, out),
        }
    }

    /// Appends the form of a part of a substring assertion. The parts of an assertion match a value if they
    /// are found one after the other, without overlap, in what [`Rule::normalise_value`] makes of the value:
    /// the initial one at its beginning, the final one at its end.
    pub fn normalise_substring(self, part: Part, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
        match self.form() {
            Form::Folded => prep::prepare(bytes, true, Edges::of(part), out),
            Form::Exact => prep::prepare(bytes, false, Edges::of(part), out),
            Form::FoldedIa5 => prep::prepare(ia5(bytes)?, true, Edges::of(part), out),
            Form::ExactIa5 => prep::prepare(ia5(bytes)?, false, Edges::of(part), out),
            Form::Numeric => prep::prepare_without(bytes, |c| c == ' ', out),
            Form::Telephone => prep::prepare_without(bytes, is_dropped_of_telephone, out),
            Form::List => form::list_part(bytes, part, out),
            Form::Octets => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            _ => Err(Invalid::new("the matching rule knows no substrings")),
        }
    }

    /// Do these normal forms match? The same bytes, but for ordering rules (the value is less: RFC 4517 section
    /// 4.1), the bit rules (all bits, any bit of the assertion) and the word rules (the assertion is one of the
    /// words).
    pub fn matches(self, value: &[u8], assertion: &[u8]) -> bool {
        match self {
            Rule::BitAnd | Rule::BitOr => {
                let (Ok(value), Ok(mask)) = (<[u8; 8]>::try_from(value), <[u8; 8]>::try_from(assertion))
                else {
                    return false;
                };
                let (value, mask) = (u64::from_be_bytes(value), u64::from_be_bytes(mask));
                if self == Rule::BitAnd { value & mask == mask } else { value & mask != 0 }
            }
            Rule::Word | Rule::Keyword => {
                let letters = |part: &[u8]| -> Vec<u8> {
                    let keep = |b: &u8| b.is_ascii_alphanumeric() || *b >= 0x80;
                    part.iter().copied().filter(|b| keep(b) || self == Rule::Word).collect()
                };
                let wanted = letters(assertion.trim_ascii());
                let separates = |b: &u8| match self {
                    Rule::Word => *b == b' ',
                    _ => !b.is_ascii_alphanumeric() && *b < 0x80,
                };
                !wanted.is_empty() && value.split(separates).any(|word| word == wanted)
            }
            _ if self.kind() == RuleKind::Ordering => value < assertion,
            _ => value == assertion,
        }
    }
}

/// Hyphens of all kinds and spaces (RFC 4518 section 2.6.3).
fn is_dropped_of_telephone(c: char) -> bool {
    matches!(c, ' ' | '-' | '\u{58a}' | '\u{2010}' | '\u{2011}' | '\u{2212}' | '\u{fe63}' | '\u{ff0d}')
}

#[cfg(test)]
mod tests;
