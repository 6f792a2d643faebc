//! Who a client is that has shown a certificate which was verified: the configuration says how its entry is found.

use crate::config::{CertificateMapping, ClientCertificate, FoundBy};
use crate::context::Reading;
use crate::identity::Identity;
use crate::lookup;
use model::filter::Assertion;
use model::{EntryId, Filter};
use proto::filter_string;

/// Who has this certificate. `None` if nobody is known by it, or it is not valid now: a session may be older than that, and a handshake that was
/// resumed brings the certificate of its first one.
pub(crate) fn identity_of(reading: &mut Reading<'_>, certificate: &ClientCertificate) -> Option<Identity> {
    let dsa = reading.dsa;
    let now_s = i64::try_from(reading.now.wall_ms / 1000).ok()?;
    if !(certificate.valid_s.0..=certificate.valid_s.1).contains(&now_s) {
        return None;
    }
    // The list is held as it is now: all mappings of one bind are of one choice.
    let id =
        dsa.identities.now().certificates.iter().find_map(|mapping| mapped(reading, mapping, certificate))?;
    let read_point = reading.read_point;
    Some(dsa.identity_of(read_point, &read_point.entry(id)?, &mut reading.scratch.evaluator.cache))
}

/// The entry that a mapping leads to. The fingerprint and the values come from a certificate that a trusted issuer signed; the issuer is trusted to
/// say who somebody is, and not to write filters. A subject is a DN already, so it is resolved and never searched for.
fn mapped(
    reading: &mut Reading<'_>,
    mapping: &CertificateMapping,
    certificate: &ClientCertificate,
) -> Option<EntryId> {
    let read_point = reading.read_point;
    let evaluator = &mut reading.scratch.evaluator;
    let base = mapping.base.as_deref().map(str::as_bytes);
    match &mapping.by {
        FoundBy::Fingerprint(attribute) => {
            let (attribute, value) = (attribute.as_bytes(), certificate.fingerprint.as_bytes());
            lookup::find_one(read_point, evaluator, base, &Filter::Equality(Assertion { attribute, value }))
        }
        FoundBy::SubjectDn => {
            read_point.resolve(certificate.subject.as_deref()?.as_bytes(), &mut evaluator.cache).ok()
        }
        FoundBy::Filter(template) => {
            let filter = filter_string::parse(expand(template, certificate)?.as_bytes()).ok()?;
            lookup::find_one(read_point, evaluator, base, &filter.filter())
        }
    }
}

/// A filter with the values of a certificate in the place of `{name}`, each escaped (RFC 4515 section 3): nothing in a value can mean anything but
/// itself. `None` if there is no value of a name or more than one, or it is empty or has a NUL.
fn expand(template: &str, certificate: &ClientCertificate) -> Option<String> {
    let (mut text, mut rest) = (String::new(), template);
    while let Some((before, behind)) = rest.split_once('{') {
        let (name, behind) = behind.split_once('}')?;
        let mut values = certificate.values.iter().filter(|(other, _)| other == name).map(|(_, value)| value);
        let (value, None) = (values.next()?, values.next()) else { return None };
        if value.is_empty() || value.contains('\0') {
            return None;
        }
        text.push_str(before);
        lookup::escape(value.as_bytes(), &mut text);
        rest = behind;
    }
    Some(text + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_mean_nothing_but_themselves() {
        let value = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let certificate = ClientCertificate {
            fingerprint: String::new(),
            subject: None,
            valid_s: (0, 1),
            values: vec![
                value("subject.CN", "*)(uid=*"),
                value("subject.OU", "a"),
                value("subject.OU", "b"),
                value("san.dns", ""),
                value("san.uri", "x\0y"),
                value("san.email", "ä@x"),
            ],
        };
        for (template, expected) in [
            ("(cn={subject.CN})", Some("(cn=\\2a\\29\\28uid\\3d\\2a)")),
            (
                "(&(mail={san.email})(cn={subject.CN}))",
                Some("(&(mail=\\c3\\a4\\40x)(cn=\\2a\\29\\28uid\\3d\\2a))"),
            ),
            ("(ou={subject.OU})", None),
            ("(cn={san.dns})", None),
            ("(cn={san.uri})", None),
            ("(cn={subject.L})", None),
        ] {
            assert_eq!(expand(template, &certificate).as_deref(), expected, "{template}");
        }
    }
}
