//! What no log may have: values of secrets, and what may be a password that was typed in the wrong place.

use model::attribute::split_options;
use model::filter::{Assertion, Extensible, Filter, Substrings};
use password::split_scheme;
use schema::Schema;
use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// What stands for a value in a filter.
const HIDDEN: &[u8] = b"?";

/// Which values of what is no secret lines may have: of filters, and in the audit log of changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Values {
    /// All.
    #[default]
    All,
    /// A hash stands for each, which tells equal ones until the process ends.
    Hash,
    /// None.
    None,
}

/// What stands for values.
#[derive(Clone, Debug, Default)]
pub struct Hider {
    values: Values,
    /// Of the process: without it a hash of a short value would be as good as the value.
    key: [u8; 16],
}

/// Octets of a hash that are shown.
const HASH_BYTES: usize = 8;

impl Hider {
    /// With a key that nobody can guess.
    pub fn new(values: Values, key: [u8; 16]) -> Hider {
        Hider { values, key }
    }

    /// These values may be in lines from now on. The key stays.
    pub fn choose(&mut self, values: Values) {
        self.values = values;
    }

    /// Does something stand for values?
    pub(crate) fn hides(&self) -> bool {
        self.values != Values::All
    }

    /// What stands for a value; none if it stands for itself.
    pub(crate) fn of(&self, value: &[u8]) -> Option<String> {
        match self.values {
            Values::All => None,
            Values::None => Some("<value>".to_owned()),
            Values::Hash => {
                let hash = Sha256::new().chain_update(self.key).chain_update(value).finalize();
                let digits = hash[..HASH_BYTES].iter().map(|octet| format!("{octet:02x}"));
                Some(format!("<{}>", digits.collect::<String>()))
            }
        }
    }

    /// What stands for the assertion values of a filter, in the order in which they stand in it.
    pub(crate) fn of_filter(&self, filter: &Filter<'_>) -> Vec<String> {
        let mut found = Vec::new();
        each_value(filter, &mut |value| found.extend(self.of(value)));
        found
    }
}

/// Calls `take` with each assertion value; of several parts with all of them behind each other.
fn each_value(filter: &Filter<'_>, take: &mut impl FnMut(&[u8])) {
    match filter {
        Filter::And(parts) | Filter::Or(parts) => parts.iter().for_each(|part| each_value(part, take)),
        Filter::Not(part) => each_value(part, take),
        Filter::Equality(one)
        | Filter::GreaterOrEqual(one)
        | Filter::LessOrEqual(one)
        | Filter::Approx(one) => take(one.value),
        Filter::Present(_) => {}
        Filter::Substrings(parts) => {
            let all = parts.initial.iter().chain(&parts.any).chain(&parts.last);
            take(&all.copied().collect::<Vec<_>>().join(&b'*'));
        }
        Filter::Extensible(one) => take(one.value),
    }
}

/// The filter with other values, which come in the order of its own.
pub(crate) fn with_values<'a>(
    filter: &Filter<'a>,
    values: &mut impl Iterator<Item = &'a [u8]>,
) -> Filter<'a> {
    let mut next = || values.next().unwrap_or(HIDDEN);
    match filter {
        Filter::And(parts) => Filter::And(parts.iter().map(|part| with_values(part, values)).collect()),
        Filter::Or(parts) => Filter::Or(parts.iter().map(|part| with_values(part, values)).collect()),
        Filter::Not(part) => Filter::Not(Box::new(with_values(part, values))),
        Filter::Equality(one) => Filter::Equality(Assertion { value: next(), ..*one }),
        Filter::GreaterOrEqual(one) => Filter::GreaterOrEqual(Assertion { value: next(), ..*one }),
        Filter::LessOrEqual(one) => Filter::LessOrEqual(Assertion { value: next(), ..*one }),
        Filter::Approx(one) => Filter::Approx(Assertion { value: next(), ..*one }),
        Filter::Present(attribute) => Filter::Present(attribute),
        Filter::Substrings(parts) => Filter::Substrings(Substrings {
            attribute: parts.attribute,
            initial: Some(next()),
            any: Vec::new(),
            last: None,
        }),
        Filter::Extensible(one) => Filter::Extensible(Extensible { value: next(), ..*one }),
    }
}

/// A DN as it is logged. Of a text that is no DN only its length: people type passwords where a name belongs. One with a secret among its values is
/// not logged either.
pub fn name<'a>(schema: &Schema, dn: &'a [u8]) -> Cow<'a, [u8]> {
    if schema.normalise_dn(dn, &mut Vec::new()).is_err() {
        return Cow::Owned(format!("<no DN, {} octets>", dn.len()).into_bytes());
    }
    let rdns = model::dn::parse(dn).unwrap_or_default();
    let is_hidden = rdns.iter().flatten().any(|ava| is_hidden(schema, ava.attribute_type));
    match is_hidden {
        true => Cow::Owned(format!("<hidden, {} octets>", dn.len()).into_bytes()),
        false => Cow::Borrowed(dn),
    }
}

/// Names that are judged one after the other. Mostly they have the superior of the one before, which need not be looked at again.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// A superior that can be logged.
    superior: Vec<u8>,
}

impl Names {
    /// As [`name`].
    pub(crate) fn name<'a>(&mut self, schema: &Schema, dn: &'a [u8]) -> Cow<'a, [u8]> {
        let parts = split(dn);
        if let Some((rdn, superior)) = parts
            && superior == self.superior
            && matches!(name(schema, rdn), Cow::Borrowed(_))
        {
            return Cow::Borrowed(dn);
        }
        let judged = name(schema, dn);
        if let (Some((_, superior)), Cow::Borrowed(_)) = (parts, &judged) {
            self.superior.clear();
            self.superior.extend_from_slice(superior);
        }
        judged
    }
}

/// The first RDN and what follows the comma behind it, where no other comma can be meant: nothing is escaped or quoted before it. Neither is empty,
/// as an RDN alone would be the root.
fn split(dn: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = dn.iter().position(|octet| matches!(octet, b',' | b'\\' | b'"'))?;
    let (rdn, superior) = (&dn[..at], &dn[at + 1..]);
    (dn[at] == b',' && rdn.contains(&b'=') && !superior.is_empty()).then_some((rdn, superior))
}

/// Names of schemes that may be shown. Whatever else stands in braces may be a part of a password.
const SCHEMES: [&str; 21] = [
    "ARGON2",
    "BCRYPT",
    "CRYPT",
    "MD5",
    "PBKDF2",
    "PBKDF2-SHA1",
    "PBKDF2-SHA256",
    "PBKDF2-SHA512",
    "PBKDF2_SHA256",
    "PKCS5S2",
    "SCRAM-SHA-256",
    "SCRAM-SHA-512",
    "SHA",
    "SHA256",
    "SHA384",
    "SHA512",
    "SMD5",
    "SSHA",
    "SSHA256",
    "SSHA384",
    "SSHA512",
];

/// What stands for a value of a secret where values are logged: the name of its scheme, if it has one.
pub fn secret(value: &[u8]) -> String {
    let scheme = split_scheme(value).and_then(|(name, _)| {
        SCHEMES.into_iter().find(|scheme| name.eq_ignore_ascii_case(scheme.as_bytes()))
    });
    scheme.map_or("<hidden>".to_owned(), |scheme| format!("{{{scheme}}}<hidden>"))
}

/// The identity that a request asks to be applied as.
pub fn authorization_id<'a>(schema: &Schema, id: &'a [u8]) -> Cow<'a, [u8]> {
    match id.strip_prefix(b"dn:") {
        Some(dn) => match name(schema, dn) {
            Cow::Borrowed(_) => Cow::Borrowed(id),
            Cow::Owned(hidden) => Cow::Owned([&b"dn:"[..], &hidden].concat()),
        },
        None if id.starts_with(b"u:") || id.is_empty() => Cow::Borrowed(id),
        None => Cow::Owned(format!("<no identity, {} octets>", id.len()).into_bytes()),
    }
}

/// A filter as it is logged: without values of secrets, and of attributes that the schema does not have. None if it has none of these.
pub(crate) fn filter<'a>(schema: &Schema, filter: &Filter<'a>) -> Option<Filter<'a>> {
    has_secrets(schema, filter).then(|| without_secrets(schema, filter))
}

fn has_secrets(schema: &Schema, filter: &Filter<'_>) -> bool {
    let has = |attribute: &[u8]| is_hidden(schema, attribute);
    match filter {
        Filter::And(parts) | Filter::Or(parts) => parts.iter().any(|part| has_secrets(schema, part)),
        Filter::Not(part) => has_secrets(schema, part),
        Filter::Equality(one)
        | Filter::GreaterOrEqual(one)
        | Filter::LessOrEqual(one)
        | Filter::Approx(one) => has(one.attribute),
        Filter::Present(_) => false,
        Filter::Substrings(parts) => has(parts.attribute),
        Filter::Extensible(one) => one.attribute.is_none_or(has),
    }
}

/// May values of this attribute not be logged? An attribute that the schema does not have may be a secret that was misspelled.
pub(crate) fn is_hidden(schema: &Schema, description: &[u8]) -> bool {
    let (attribute, _) = split_options(description);
    schema.find_type(attribute).is_none_or(|id| schema.is_secret(id))
}

fn without_secrets<'a>(schema: &Schema, filter: &Filter<'a>) -> Filter<'a> {
    let all = |parts: &[Filter<'a>]| parts.iter().map(|part| without_secrets(schema, part)).collect();
    let assertion = |assertion: &Assertion<'a>| match is_hidden(schema, assertion.attribute) {
        true => Assertion { value: HIDDEN, ..*assertion },
        false => *assertion,
    };
    match filter {
        Filter::And(parts) => Filter::And(all(parts)),
        Filter::Or(parts) => Filter::Or(all(parts)),
        Filter::Not(part) => Filter::Not(Box::new(without_secrets(schema, part))),
        Filter::Equality(one) => Filter::Equality(assertion(one)),
        Filter::GreaterOrEqual(one) => Filter::GreaterOrEqual(assertion(one)),
        Filter::LessOrEqual(one) => Filter::LessOrEqual(assertion(one)),
        Filter::Approx(one) => Filter::Approx(assertion(one)),
        Filter::Present(attribute) => Filter::Present(attribute),
        Filter::Substrings(parts) if is_hidden(schema, parts.attribute) => Filter::Substrings(Substrings {
            attribute: parts.attribute,
            initial: Some(HIDDEN),
            any: Vec::new(),
            last: None,
        }),
        Filter::Substrings(parts) => Filter::Substrings(parts.clone()),
        Filter::Extensible(one) => match one.attribute.is_none_or(|name| is_hidden(schema, name)) {
            true => Filter::Extensible(Extensible { value: HIDDEN, ..*one }),
            false => Filter::Extensible(*one),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::filter_string;

    /// G3: nothing of a secret is logged, whatever the filter asks about it.
    #[test]
    fn test_g3_filters_without_secrets() {
        let schema = schema::Builder::new().standard().build().expect("it is good");
        let shown = |text: &str| {
            let parsed = filter_string::parse(text.as_bytes()).unwrap();
            let mut shown = Vec::new();
            let asked = parsed.filter();
            filter_string::write(&filter(&schema, &asked).unwrap_or(asked), &mut shown);
            String::from_utf8(shown).unwrap()
        };
        for (asked, logged) in [
            ("(cn=a)", "(cn=a)"),
            ("(userPassword=hunter2)", "(userPassword=?)"),
            ("(2.5.4.35=hunter2)", "(2.5.4.35=?)"),
            ("(userPassword;x-a=hunter2)", "(userPassword;x-a=?)"),
            ("(userPassword=hun*te*r2)", "(userPassword=?*)"),
            ("(userPasword=hunter2)", "(userPasword=?)"),
            (
                "(&(cn=a)(!(|(userPassword>=hunter2)(userPassword:octetStringMatch:=hunter2))))",
                "(&(cn=a)(!(|(userPassword>=?)(userPassword:octetStringMatch:=?))))",
            ),
            ("(:caseExactMatch:=hunter2)", "(:caseExactMatch:=?)"),
            ("(userPassword=*)", "(userPassword=*)"),
        ] {
            assert_eq!(shown(asked), logged);
        }
    }

    #[test]
    fn values_may_be_hidden() {
        let asked = "(&(cn=a)(!(|(sn=a)(cn>=b)(cn=b*c*d)(cn:caseExactMatch:=a)(cn=*))))";
        let shown = |values, key: u8| {
            let hider = Hider::new(values, [key; 16]);
            let parsed = filter_string::parse(asked.as_bytes()).unwrap();
            let (mut text, filter) = (Vec::new(), parsed.filter());
            assert_eq!(hider.of_filter(&filter).is_empty(), !hider.hides());
            let values = hider.of_filter(&filter);
            let filter = with_values(&filter, &mut values.iter().map(String::as_bytes));
            filter_string::write(&filter, &mut text);
            String::from_utf8(text).unwrap()
        };
        let none =
            "(&(cn=<value>)(!(|(sn=<value>)(cn>=<value>)(cn=<value>*)(cn:caseExactMatch:=<value>)(cn=*))))";
        assert_eq!(shown(Values::None, 1), none);
        let hashed = shown(Values::Hash, 1);
        let of_a = Hider::new(Values::Hash, [1; 16]).of(b"a").unwrap();
        assert_eq!((hashed.matches(&of_a).count(), of_a.len()), (3, 18), "{hashed}");
        assert_ne!(shown(Values::Hash, 2), hashed);
    }

    /// G3: a password that was typed as a name.
    #[test]
    fn test_g3_names_that_are_none() {
        let schema = schema::Builder::new().standard().build().expect("it is good");
        for (sent, logged) in [
            (&b"uid=a,dc=b"[..], &b"uid=a,dc=b"[..]),
            (b"hunter2", b"<no DN, 7 octets>"),
            (b"userPassword=hunter2,dc=b", b"<hidden, 25 octets>"),
        ] {
            assert_eq!(*name(&schema, sent), *logged);
        }
        // Whatever came before, it is the same.
        let sent = [
            "uid=a,dc=b",
            "uid=b,dc=b",
            "userPassword=hunter2,dc=b",
            "hunter2,dc=b",
            ",dc=b",
            "dc=b",
            "uid=a\\,dc=b",
            "uid=\"a,dc=b",
            "uid=a,hunter2",
            "uid=a,",
            "",
        ];
        let mut names = Names::default();
        for (first, second) in sent.into_iter().flat_map(|first| sent.map(|second| (first, second))) {
            for dn in [first, second] {
                assert_eq!(
                    names.name(&schema, dn.as_bytes()),
                    name(&schema, dn.as_bytes()),
                    "{dn} behind {first}"
                );
            }
        }
        assert_eq!(*authorization_id(&schema, b"hunter2"), *b"<no identity, 7 octets>");
        assert_eq!(*authorization_id(&schema, b"dn:hunter2"), *b"dn:<no DN, 7 octets>");
    }
}
