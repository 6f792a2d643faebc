//! What no log may have: values of secrets, and what may be a password that was typed in the wrong place.

use model::attribute::split_options;
use model::filter::{Assertion, Extensible, Filter, Substrings};
use password::split_scheme;
use proto::filter_string;
use schema::Schema;

/// What stands for a value in a filter.
const HIDDEN: &[u8] = b"?";

/// A DN as it is logged. Of a text that is no DN only its length: people type passwords where a name belongs. One with a secret among its values is
/// not logged either.
pub fn name(schema: &Schema, dn: &[u8]) -> String {
    if schema.normalise_dn(dn, &mut Vec::new()).is_err() {
        return format!("<no DN, {} octets>", dn.len());
    }
    let rdns = model::dn::parse(dn).unwrap_or_default();
    let is_hidden = rdns.iter().flatten().any(|ava| is_hidden(schema, ava.attribute_type));
    match is_hidden {
        true => format!("<hidden, {} octets>", dn.len()),
        false => String::from_utf8_lossy(dn).into_owned(),
    }
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
pub fn authorization_id(schema: &Schema, id: &[u8]) -> String {
    match id.strip_prefix(b"dn:") {
        Some(dn) => format!("dn:{}", name(schema, dn)),
        None if id.starts_with(b"u:") => String::from_utf8_lossy(id).into_owned(),
        None if id.is_empty() => String::new(),
        None => format!("<no identity, {} octets>", id.len()),
    }
}

/// A filter as it is logged: values of secrets, and of attributes that the schema does not have, are left out.
pub fn filter(schema: &Schema, filter: &Filter<'_>) -> String {
    let mut text = Vec::new();
    filter_string::write(&without_secrets(schema, filter), &mut text);
    String::from_utf8_lossy(&text).into_owned()
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

    /// G3: nothing of a secret is logged, whatever the filter asks about it.
    #[test]
    fn test_g3_filters_without_secrets() {
        let schema = schema::Builder::new().standard().build().expect("it is good");
        let shown = |text: &str| filter(&schema, &filter_string::parse(text.as_bytes()).unwrap().filter());
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
        assert_eq!(name(&schema, b"uid=a,dc=b"), "uid=a,dc=b");
        assert_eq!(name(&schema, b"hunter2"), "<no DN, 7 octets>");
        assert_eq!(name(&schema, b"userPassword=hunter2,dc=b"), "<hidden, 25 octets>");
        assert_eq!(authorization_id(&schema, b"hunter2"), "<no identity, 7 octets>");
        assert_eq!(authorization_id(&schema, b"dn:hunter2"), "dn:<no DN, 7 octets>");
    }
}
