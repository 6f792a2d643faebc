//! Certificates of clients: what they are verified by, and what is known of a client by one that was.

use super::certificate::read;
use dsa::config::ClientCertificate;
use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};
use x509_parser::x509::X509Name;

/// Whether clients are asked for certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientUse {
    /// They are not.
    None,
    /// One that is sent must be good.
    Request,
    /// There must be a good one.
    Require,
}

/// What certificates of clients are verified by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientAuthorities {
    /// Certificates of the authorities.
    pub certificates: Vec<PathBuf>,
    /// Their lists of certificates that were revoked. With one there must be one for each authority of a chain.
    pub revoked: Vec<PathBuf>,
}

/// What verifies the certificates of clients, for each use; an outdated list of revoked ones refuses all.
///
/// # Errors
/// What is wrong with a file.
pub(super) fn verifier(
    authorities: &ClientAuthorities,
    is_required: bool,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let mut roots = RootCertStore::empty();
    for path in &authorities.certificates {
        let (bytes, at) = (read(path)?, path.display());
        for certificate in CertificateDer::pem_slice_iter(&bytes) {
            let certificate = certificate.map_err(|error| format!("{at}: {error}"))?;
            roots.add(certificate).map_err(|error| format!("{at}: {error}"))?;
        }
        if roots.is_empty() {
            return Err(format!("{at}: no certificate is in it; PEM is needed"));
        }
    }
    let mut lists = Vec::new();
    for path in &authorities.revoked {
        let (bytes, at, before) = (read(path)?, path.display(), lists.len());
        for list in CertificateRevocationListDer::pem_slice_iter(&bytes) {
            lists.push(list.map_err(|error| format!("{at}: {error}"))?);
        }
        if lists.len() == before {
            return Err(format!("{at}: no list of revoked certificates is in it; PEM is needed"));
        }
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    let builder = builder.with_crls(lists).enforce_revocation_expiration();
    let builder = if is_required { builder } else { builder.allow_unauthenticated() };
    builder.build().map_err(|error| format!("the certificates of clients cannot be verified: {error}"))
}

/// Names of attributes of a subject that mappings can use.
const ATTRIBUTES: [(&str, &str); 9] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.5", "serialNumber"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("0.9.2342.19200300.100.1.1", "UID"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
];
/// The type of a user's principal name among alternative names.
const PRINCIPAL_NAME: &str = "1.3.6.1.4.1.311.20.2.3";

/// What a certificate says of its client. `None` if it cannot be read.
pub fn known(der: &[u8]) -> Option<ClientCertificate> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let mut values: Vec<(String, String)> = Vec::new();
    for attribute in certificate.subject().iter_attributes() {
        let oid = attribute.attr_type().to_id_string();
        if let (Some((_, name)), Ok(text)) =
            (ATTRIBUTES.iter().find(|(known, _)| *known == oid), attribute.as_str())
        {
            values.push((format!("subject.{name}"), text.to_owned()));
        }
    }
    let alternatives = certificate.subject_alternative_name().ok().flatten();
    for name in alternatives.iter().flat_map(|alternatives| &alternatives.value.general_names) {
        let (kind, text) = match name {
            GeneralName::RFC822Name(text) => ("email", (*text).to_owned()),
            GeneralName::DNSName(text) => ("dns", (*text).to_owned()),
            GeneralName::URI(text) => ("uri", (*text).to_owned()),
            GeneralName::OtherName(oid, value) if oid.to_id_string() == PRINCIPAL_NAME => {
                ("upn", principal_name(value)?)
            }
            _ => continue,
        };
        values.push((format!("san.{kind}"), text));
    }
    let validity = certificate.validity();
    Some(ClientCertificate {
        fingerprint: Sha256::digest(der).iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }),
        subject: subject(certificate.subject()),
        valid_s: (validity.not_before.timestamp(), validity.not_after.timestamp()),
        values,
    })
}

/// A DN as RFC 4514 writes it: the last RDN first, types by their OIDs, and each byte escaped that could mean something. `None` if a value
/// is no text.
fn subject(name: &X509Name<'_>) -> Option<String> {
    let rdns: Vec<_> = name.iter_rdn().collect();
    let mut text = String::new();
    for rdn in rdns.into_iter().rev() {
        for (at, attribute) in rdn.iter().enumerate() {
            let before = if at > 0 {
                "+"
            } else if text.is_empty() {
                ""
            } else {
                ","
            };
            let _ = write!(text, "{before}{}=", attribute.attr_type().to_id_string());
            for byte in attribute.as_str().ok()?.bytes() {
                match byte {
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => text.push(char::from(byte)),
                    other => _ = write!(text, "\\{other:02x}"),
                }
            }
        }
    }
    Some(text)
}

/// The text of `[0] UTF8String`, of less than 126 bytes.
fn principal_name(value: &[u8]) -> Option<String> {
    match value {
        [0xa0, outer, 0x0c, inner, text @ ..]
            if *inner < 0x7e && *outer == inner + 2 && text.len() == usize::from(*inner) =>
        {
            String::from_utf8(text.to_vec()).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(make: impl FnOnce(&mut rcgen::CertificateParams)) -> ClientCertificate {
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        make(&mut params);
        let key = rcgen::KeyPair::generate().unwrap();
        known(params.self_signed(&key).unwrap().der()).unwrap()
    }

    #[test]
    fn what_a_certificate_says() {
        let found = certificate(|params| {
            params.distinguished_name = rcgen::DistinguishedName::new();
            params.distinguished_name.push(rcgen::DnType::OrganizationName, "Ex, \"Inc\"");
            params.distinguished_name.push(rcgen::DnType::CommonName, "*)(uid=*");
            let upn = rcgen::SanType::OtherName((
                vec![1, 3, 6, 1, 4, 1, 311, 20, 2, 3],
                rcgen::OtherNameValue::Utf8String("a@x".into()),
            ));
            params.subject_alt_names = vec![
                rcgen::SanType::Rfc822Name("a@example.com".try_into().unwrap()),
                rcgen::SanType::DnsName("a.example.com".try_into().unwrap()),
                upn,
            ];
        });
        assert_eq!(
            found.subject.as_deref(),
            Some("2.5.4.3=\\2a\\29\\28uid\\3d\\2a,2.5.4.10=Ex\\2c\\20\\22Inc\\22")
        );
        let values: Vec<String> =
            found.values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            values,
            [
                "subject.O=Ex, \"Inc\"",
                "subject.CN=*)(uid=*",
                "san.email=a@example.com",
                "san.dns=a.example.com",
                "san.upn=a@x"
            ]
        );
        assert_eq!(found.fingerprint.len(), 64);
    }

    #[test]
    fn what_is_no_certificate_is_nobodys() {
        assert!(known(b"").is_none() && known(b"\x30\x00").is_none());
        for cut in [&b"\xa0\x03\x0c\x02a"[..], b"\xa0\x03\x0c\x01", b"", b"\xa0\x80\x0c\x7e"] {
            assert_eq!(principal_name(cut), None);
        }
    }
}
