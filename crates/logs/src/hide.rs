//! What no log may have: values of secrets, and what may be a password that was typed in the wrong place.

use model::attribute::split_options;
use model::filter::{Assertion, Extensible, Filter, Substrings};
use password::split_scheme;
use schema::Schema;
use std::borrow::Cow;

/// What stands for a value in a filter.
const HIDDEN: &[u8] = b"?";

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

/// The same as text.
pub fn name_text(schema: &Schema, dn: &[u8]) -> String {
    String::from_utf8_lossy(&name(schema, dn)).into_owned()
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
        assert_eq!(*authorization_id(&schema, b"hunter2"), *b"<no identity, 7 octets>");
        assert_eq!(*authorization_id(&schema, b"dn:hunter2"), *b"dn:<no DN, 7 octets>");
    }
}
