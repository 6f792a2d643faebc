//! The CA of a cluster. Its key lies in `ca.key` in the folder `cluster` of each member, 0600, and in no entry, log, backup or export.

use crate::certificate::{self, EARLIER_S, Fingerprint, VALID_S};
use crate::files::{self, FileError};
use crate::id::{ClusterId, random};
use env::disk::Disk;
use env::entropy::Entropy;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType, SerialNumber,
};
use ring::hmac::{HMAC_SHA256, Key, sign};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, CertificateSigningRequestDer, PrivatePkcs8KeyDer};
use std::fmt;
use std::path::Path;
use std::time::Duration;
use zeroize::Zeroizing;

/// The file with the certificate of the CA.
pub(crate) const CERTIFICATE_FILE: &str = "ca.pem";
/// The file with its key.
pub(crate) const KEY_FILE: &str = "ca.key";
/// Seconds for which its certificate is valid: twenty years.
const AUTHORITY_VALID_S: u64 = 20 * VALID_S;
/// Bytes of a request for a certificate at most.
pub(crate) const REQUEST_BYTES_MAX: usize = 8 << 10;
/// Bytes of the longest key in PKCS#8 that is taken.
pub(crate) const KEY_BYTES_MAX: usize = 4 << 10;

/// The CA of a cluster, with its key.
pub struct Authority {
    cluster: ClusterId,
    certificate: CertificateDer<'static>,
    key: Zeroizing<Vec<u8>>,
    issuer: Issuer<'static, KeyPair>,
    /// Seconds for which the certificates of nodes are valid that it issues.
    valid_s: u64,
}

/// Why a CA cannot be made, taken or used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthorityError {
    /// The certificate is of no CA of a cluster.
    Certificate,
    /// The key is none that can be used, or not that of the certificate.
    Key,
    /// The request for a certificate is none, is too long, or its signature is not by its key.
    Request,
    /// The library that signs says why it cannot.
    Signing(String),
}

impl fmt::Display for AuthorityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AuthorityError::Certificate => f.write_str("the certificate is of no cluster's CA"),
            AuthorityError::Key => f.write_str("the key cannot be used, or is not that of the certificate"),
            AuthorityError::Request => f.write_str("the request for a certificate is not well-formed"),
            AuthorityError::Signing(why) => write!(f, "no certificate can be signed: {why}"),
        }
    }
}

impl std::error::Error for AuthorityError {}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

impl Authority {
    /// Makes the CA of a new cluster: a name of 128 random bits, a key, a certificate that is signed by it. Nothing is written. The time is in
    /// seconds since 1970.
    ///
    /// # Errors
    /// [`AuthorityError::Signing`].
    pub fn new(now_s: u64, entropy: &mut dyn Entropy) -> Result<Authority, AuthorityError> {
        let cluster = ClusterId::random(entropy);
        let key = KeyPair::generate().map_err(signing)?;
        let mut params = params(now_s, AUTHORITY_VALID_S, entropy);
        params.distinguished_name.push(DnType::CommonName, certificate::authority_name(cluster));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key).map_err(signing)?;
        Authority::from_parts(certificate.der().clone(), Zeroizing::new(key.serialized_der().to_vec()))
    }

    /// From a certificate, and its key as PKCS#8.
    ///
    /// # Errors
    /// They are of no cluster, or do not fit together.
    pub fn from_parts(
        certificate: CertificateDer<'static>,
        key: Zeroizing<Vec<u8>>,
    ) -> Result<Authority, AuthorityError> {
        let (cluster, public) = certificate::authority_of(&certificate).ok_or(AuthorityError::Certificate)?;
        let pair =
            KeyPair::try_from(&PrivatePkcs8KeyDer::from(key.as_slice())).map_err(|_| AuthorityError::Key)?;
        if key.len() > KEY_BYTES_MAX || pair.public_key_raw() != public {
            return Err(AuthorityError::Key);
        }
        let issuer = Issuer::from_ca_cert_der(&certificate, pair).map_err(|_| AuthorityError::Certificate)?;
        Ok(Authority { cluster, certificate, key, issuer, valid_s: VALID_S })
    }

    /// The same, whose certificates for nodes are valid for so many seconds.
    #[must_use]
    pub fn valid_for(self, valid_s: u64) -> Authority {
        Authority { valid_s, ..self }
    }

    /// Reads it from the folder `cluster` of a data directory.
    ///
    /// # Errors
    /// The files are not there, or what they say is wrong.
    pub fn load(disk: &dyn Disk, dir: &Path) -> Result<Authority, FileError> {
        let certificate = files::read_certificate(disk, dir, CERTIFICATE_FILE)?;
        let text = files::read(disk, dir, KEY_FILE)?;
        let key = PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes())
            .map_err(|_| FileError::content(dir, KEY_FILE, "it is no key of PKCS#8 in PEM"))?;
        let key = Zeroizing::new(key.secret_pkcs8_der().to_vec());
        Authority::from_parts(certificate, key)
            .map_err(|error| FileError::content(dir, CERTIFICATE_FILE, error))
    }

    /// Writes it there. The certificate is last: with it, the key is there.
    ///
    /// # Errors
    /// What the disk says.
    pub fn save(&self, disk: &dyn Disk, dir: &Path) -> Result<(), FileError> {
        let key = Zeroizing::new(files::text_of("PRIVATE KEY", &self.key));
        files::write(disk, dir, KEY_FILE, key.as_bytes())?;
        files::write(disk, dir, CERTIFICATE_FILE, files::certificate_text(&self.certificate).as_bytes())
    }

    /// The cluster.
    pub fn cluster(&self) -> ClusterId {
        self.cluster
    }

    /// Its certificate.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// Of its certificate.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.certificate)
    }

    /// Its key as PKCS#8: the secret of the cluster.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Issues a certificate for a node, for a year from now, or as [`Authority::valid_for`] says: one certificate is for one node. The request is PKCS#10, signed by its own key, and
    /// only the key is taken from it. The time is in seconds since 1970.
    ///
    /// # Errors
    /// [`AuthorityError::Request`], or the library cannot sign.
    pub fn issue(
        &self,
        request: &[u8],
        node: u64,
        now_s: u64,
        entropy: &mut dyn Entropy,
    ) -> Result<CertificateDer<'static>, AuthorityError> {
        assert_ne!(node, 0, "0 names no node");
        if request.len() > REQUEST_BYTES_MAX {
            return Err(AuthorityError::Request);
        }
        let request = CertificateSigningRequestDer::from(request);
        let request =
            CertificateSigningRequestParams::from_der(&request).map_err(|_| AuthorityError::Request)?;
        let mut params = params(now_s, self.valid_s, entropy);
        params.distinguished_name.push(DnType::CommonName, format!("pando node {node}"));
        let name = certificate::node_name(self.cluster, node);
        params.subject_alt_names = vec![SanType::URI(name.try_into().map_err(signing)?)];
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&request.public_key, &self.issuer).map_err(signing)?;
        Ok(certificate.der().clone())
    }

    /// A key for one purpose, which follows from the CA's. Each member has the same.
    pub(crate) fn derived(&self, purpose: &str) -> Key {
        let derived = sign(&Key::new(HMAC_SHA256, &self.key), purpose.as_bytes());
        Key::new(HMAC_SHA256, derived.as_ref())
    }
}

fn signing(error: rcgen::Error) -> AuthorityError {
    AuthorityError::Signing(error.to_string())
}

/// What all certificates have: a random number, and a time.
fn params(now_s: u64, valid_s: u64, entropy: &mut dyn Entropy) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    let mut serial: [u8; 16] = random(entropy);
    // A serial number is positive, and 16 bytes long.
    serial[0] = serial[0] & 0x7f | 0x40;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + Duration::from_secs(now_s.saturating_sub(EARLIER_S));
    params.not_after = epoch + Duration::from_secs(now_s.saturating_add(valid_s));
    params
}
