//! `[[identity.certificate]]`: which entry the owner of a certificate is, in text.

use crate::identities::{CertificateMapping, FoundBy};
use crate::settings::value::{check_filter, dn};
use crate::settings::words;

/// Names of what a certificate says of its owner.
const NAMES: [&str; 13] = [
    "subject.CN",
    "subject.serialNumber",
    "subject.C",
    "subject.L",
    "subject.ST",
    "subject.O",
    "subject.OU",
    "subject.UID",
    "subject.emailAddress",
    "san.email",
    "san.dns",
    "san.uri",
    "san.upn",
];

/// Reads a mapping.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse(line: &str) -> Result<CertificateMapping, String> {
    let (mut by, mut attribute, mut base, mut filter) = (None, None, None, None);
    for (name, value) in words::parse(line)? {
        match &name[..] {
            "by" => by = Some(value),
            "attribute" => attribute = Some(value),
            "base" => base = Some(dn(&value)?),
            "filter" => filter = Some(checked(value)?),
            _ => return Err(format!("`{name}` is none of `by`, `attribute`, `filter` and `base`")),
        }
    }
    // What stands beside `by` depends on it, so the order of the words does not matter.
    let by = match (by.as_deref(), attribute, filter) {
        (Some("fingerprint"), Some(attribute), None) => FoundBy::Fingerprint(attribute),
        (Some("subject-dn"), None, None) if base.is_none() => FoundBy::SubjectDn,
        (Some("filter"), None, Some(filter)) => FoundBy::Filter(filter),
        (Some("fingerprint"), ..) => {
            return Err("`by = fingerprint` needs `attribute`, and perhaps `base`".to_owned());
        }
        (Some("subject-dn"), ..) => return Err("`by = subject-dn` stands alone".to_owned()),
        (Some("filter"), ..) => return Err("`by = filter` needs `filter`, and perhaps `base`".to_owned()),
        _ => return Err("`by` is `fingerprint`, `subject-dn` or `filter`".to_owned()),
    };
    Ok(CertificateMapping { by, base })
}

/// A filter that can be read when values stand for the names in it.
/// Values are escaped when they are put in, so any text of them leaves it a filter.
fn checked(filter: String) -> Result<String, String> {
    let example = NAMES.iter().fold(filter.clone(), |text, name| text.replace(&format!("{{{name}}}"), "x"));
    if example.contains(['{', '}']) {
        return Err(format!("`{filter}`: in braces stand {}", NAMES.join(", ")));
    }
    check_filter(&example).map_err(|error| format!("`{filter}`: {error}"))?;
    Ok(filter)
}

/// A mapping as it is read: what it says in one order, so that two which are equal are equal as text.
pub(super) fn show(mapping: &CertificateMapping) -> String {
    let mut line = String::new();
    match &mapping.by {
        FoundBy::Fingerprint(attribute) => {
            words::put(&mut line, "by", "fingerprint");
            words::put(&mut line, "attribute", attribute);
        }
        FoundBy::SubjectDn => words::put(&mut line, "by", "subject-dn"),
        FoundBy::Filter(filter) => {
            words::put(&mut line, "by", "filter");
            words::put(&mut line, "filter", filter);
        }
    }
    mapping.base.iter().for_each(|base| words::put(&mut line, "base", base));
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_come_back() {
        for line in [
            "by=fingerprint attribute=description",
            "by=subject-dn",
            "by=filter filter=(&(mail={san.email})(cn={subject.CN})) base=dc=example",
        ] {
            assert_eq!(parse(line).map(|mapping| show(&mapping)), Ok(line.to_owned()));
        }
    }

    #[test]
    fn what_is_no_mapping() {
        for (line, said) in [
            ("", "`by` is"),
            ("by=name", "`by` is"),
            ("by=fingerprint", "needs `attribute`"),
            ("by=subject-dn base=dc=x", "stands alone"),
            ("by=filter", "needs `filter`"),
            ("by=filter filter=(cn={cn})", "in braces stand subject.CN"),
            ("by=filter filter=(cn={subject.CN}", "of the filter"),
            ("user=x", "none of"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(said), "{line}: {error}");
        }
    }
}
