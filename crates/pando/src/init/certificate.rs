//! A certificate for the first hour, of an authority that was made for it: clients must be given that, and it ends soon, so that it is replaced.
//!
//! A certificate that signs itself would be one file less. But some clients take none as an authority that is not made to be one, and others none as a
//! server's that is. The key of the authority is kept nowhere, so it never signs another one.

use crate::failed::Failed;
use env::clock::{Clock, SystemClock};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose,
};
use std::time::{Duration, UNIX_EPOCH};

/// Days for which it is good.
pub(super) const DAYS: u32 = 30;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Certificate and key, in PEM, and the certificate of the authority.
pub(super) struct Made {
    pub(super) authority: String,
    pub(super) certificate: String,
    pub(super) key: String,
}

/// Makes one for a server with these names and addresses.
///
/// # Errors
/// When one of them is neither the name of a host nor an address.
pub(super) fn make(hosts: &[String]) -> Result<Made, Failed> {
    let mut names: Vec<String> = hosts.to_vec();
    // Who tries it out is on the same machine.
    for local in ["localhost", "127.0.0.1", "::1"] {
        if !names.iter().any(|name| name == local) {
            names.push(local.to_owned());
        }
    }
    let wrong =
        |error: &dyn std::fmt::Display| Failed::usage(format!("--host: no certificate can be made: {error}"));
    let now = UNIX_EPOCH + Duration::from_millis(SystemClock::start().wall_ms());
    // A clock that is behind is no reason to refuse it.
    let (begin, end) = (now - DAY, now + DAY * DAYS);
    let mut params = CertificateParams::new(Vec::new()).map_err(|error| wrong(&error))?;
    params.distinguished_name = named(&format!("authority of {}", hosts[0]));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    (params.not_before, params.not_after) = (begin.into(), end.into());
    let key = KeyPair::generate().map_err(|error| wrong(&error))?;
    let authority = CertifiedIssuer::self_signed(params, key).map_err(|error| wrong(&error))?;
    let mut params = CertificateParams::new(names).map_err(|error| wrong(&error))?;
    params.distinguished_name = named(&hosts[0]);
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    (params.not_before, params.not_after) = (begin.into(), end.into());
    let key = KeyPair::generate().map_err(|error| wrong(&error))?;
    let certificate = params.signed_by(&key, &authority).map_err(|error| wrong(&error))?;
    Ok(Made { authority: authority.pem(), certificate: certificate.pem(), key: key.serialize_pem() })
}

fn named(name: &str) -> DistinguishedName {
    let mut all = DistinguishedName::new();
    all.push(DnType::CommonName, name);
    all
}
