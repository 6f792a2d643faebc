//! Certificates and their keys, from files (PEM), and which of them a client is shown.

use dsa::certificates;
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use sha2::{Digest, Sha256, Sha384, Sha512};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// A chain of certificates and the key of its leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Chain, the leaf first.
    pub certificate: PathBuf,
    /// Private key: PKCS#8, PKCS#1 or SEC1.
    pub key: PathBuf,
}

/// Names of a certificate that the monitor shows.
const NAMES_SHOWN: usize = 8;

/// A pair that was read and found to fit together.
#[derive(Debug)]
pub(crate) struct Loaded {
    certified: Arc<CertifiedKey>,
    /// DNS names of the leaf, in small letters; the first label may be `*`.
    names: Vec<String>,
    /// Hash of the leaf, by which a client can tell that it was shown this one (RFC 5929 section 4).
    end_point: Option<Vec<u8>>,
    /// The DNS names, or the subject if there is none; a few of many.
    names_text: String,
    /// Seconds since 1970 until which the leaf is valid.
    pub(crate) not_after_s: i64,
    /// What an administrator should know of it.
    pub(crate) warnings: Vec<String>,
}

impl Loaded {
    /// Reads a pair; the time is in seconds since 1970.
    ///
    /// # Errors
    /// What is wrong, with the name of the file.
    pub(crate) fn read(pair: &Pair, now_s: i64, provider: &CryptoProvider) -> Result<Loaded, String> {
        let chain = chain(&pair.certificate)?;
        let key = key(&pair.key)?;
        let at = pair.certificate.display();
        let (_, leaf) = X509Certificate::from_der(&chain[0]).map_err(|error| format!("{at}: {error}"))?;
        let validity = leaf.validity();
        let (not_before_s, not_after_s) = (validity.not_before.timestamp(), validity.not_after.timestamp());
        if now_s < not_before_s {
            return Err(format!(
                "{at}: the certificate is valid from {}, which is later than now",
                validity.not_before
            ));
        }
        if now_s > not_after_s {
            return Err(format!("{at}: the certificate expired on {}", validity.not_after));
        }
        let alternatives = leaf.subject_alternative_name().ok().flatten();
        let general = alternatives.iter().flat_map(|alternatives| &alternatives.value.general_names);
        let names = general.filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
            _ => None,
        });
        let end_point = end_point(&chain[0], &leaf.signature_algorithm.algorithm.to_id_string());
        let names: Vec<String> = names.collect();
        let names_text = match names.len() {
            0 => leaf.subject().to_string(),
            few if few <= NAMES_SHOWN => names.join(" "),
            many => format!("{} and {} more", names[..NAMES_SHOWN].join(" "), many - NAMES_SHOWN),
        };
        let certified = CertifiedKey::from_der(chain, key, provider).map_err(|error| {
            format!("{at} and {}: the key is not that of the certificate: {error}", pair.key.display())
        })?;
        let warnings = if is_open_to_others(&pair.key) {
            vec![format!("{}: others can read this private key: chmod 600", pair.key.display())]
        } else {
            Vec::new()
        };
        let certified = Arc::new(certified);
        Ok(Loaded { certified, names, end_point, names_text, not_after_s, warnings })
    }

    /// Is it a certificate of this DNS name? (RFC 9525 section 6.3: a wildcard stands for one whole label, the first.)
    fn is_of(&self, name: &str) -> bool {
        let matches = |own: &String| match own.strip_prefix("*.") {
            Some(parent) => {
                name.split_once('.').is_some_and(|(label, rest)| !label.is_empty() && rest == parent)
            }
            None => own == name,
        };
        self.names.iter().any(matches)
    }
}

/// The certificates of a server. A client that names the server (SNI) is shown the first of that name, any other the first of all.
#[derive(Debug)]
pub(crate) struct Certificates(pub(crate) Vec<Loaded>);

impl Certificates {
    /// The place of the one that a client is shown which names the server so.
    fn place(&self, server_name: Option<&str>) -> usize {
        let named = server_name.map(str::to_ascii_lowercase);
        named.and_then(|name| self.0.iter().position(|loaded| loaded.is_of(&name))).unwrap_or(0)
    }

    /// Is there no choice?
    pub(crate) fn is_one(&self) -> bool {
        self.0.len() == 1
    }

    /// What the monitor shows of them.
    pub(crate) fn metrics(&self) -> Vec<certificates::Certificate> {
        let metrics = |loaded: &Loaded| certificates::Certificate {
            names: loaded.names_text.clone(),
            not_after_s: u64::try_from(loaded.not_after_s).unwrap_or(0),
        };
        self.0.iter().map(metrics).collect()
    }
}

/// The certificate that one client is shown: what a proof can be bound to. The library asks which to show, and does not say later which it was.
#[derive(Debug)]
pub(crate) struct Shown {
    certificates: Arc<Certificates>,
    /// Its place among them.
    at: AtomicUsize,
}

impl Shown {
    /// Of a handshake that begins next: the first, if there is no other.
    pub(crate) fn new(certificates: Arc<Certificates>) -> Shown {
        Shown { certificates, at: AtomicUsize::new(0) }
    }

    /// Of which it is one.
    pub(crate) fn certificates(&self) -> &Arc<Certificates> {
        &self.certificates
    }

    /// The binding `tls-server-end-point`. `None` if the signature of the certificate has no hash of its own.
    pub(crate) fn end_point(&self) -> Option<Vec<u8>> {
        self.certificates.0.get(self.at.load(Ordering::Relaxed))?.end_point.clone()
    }
}

/// What one handshake goes by.
pub struct Offered {
    pub(crate) config: Arc<ServerConfig>,
    /// What it shows.
    pub(crate) shown: Arc<Shown>,
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let at = self.certificates.place(hello.server_name());
        self.at.store(at, Ordering::Relaxed);
        self.certificates.0.get(at).map(|loaded| Arc::clone(&loaded.certified))
    }
}

/// The hash of a certificate by the hash of its signature, but SHA-256 in the place of MD5 and SHA-1 (RFC 5929 section 4.1).
fn end_point(leaf: &[u8], signature: &str) -> Option<Vec<u8>> {
    match signature {
        // MD5, SHA-1 and SHA-256 with RSA; SHA-1 and SHA-256 with ECDSA.
        "1.2.840.113549.1.1.4"
        | "1.2.840.113549.1.1.5"
        | "1.2.840.113549.1.1.11"
        | "1.2.840.10045.4.1"
        | "1.2.840.10045.4.3.2" => Some(Sha256::digest(leaf).to_vec()),
        "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" => Some(Sha384::digest(leaf).to_vec()),
        "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" => Some(Sha512::digest(leaf).to_vec()),
        _ => None,
    }
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let (bytes, at) = (read(path)?, path.display());
    let chain: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&bytes).collect();
    let chain = chain.map_err(|error| format!("{at}: {error}"))?;
    if chain.is_empty() {
        return Err(format!("{at}: no certificate is in it; {}", convert(&bytes)));
    }
    Ok(chain)
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let (bytes, at) = (read(path)?, path.display());
    let is_encrypted =
        |text: &str| text.contains("ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED");
    if str::from_utf8(&bytes).is_ok_and(is_encrypted) {
        return Err(format!(
            "{at}: the key is encrypted; `openssl pkey -in {at} -out key.pem` writes it in the clear"
        ));
    }
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| format!("{at}: {error}; {}", convert(&bytes)))
}

/// What to do about a file that is not PEM.
fn convert(bytes: &[u8]) -> &'static str {
    // PKCS#12 and DER are both a SEQUENCE.
    match bytes.first() {
        Some(0x30) => {
            "PEM is needed: `openssl pkcs12 -in FILE -nodes` or `openssl x509 -inform DER -in FILE` converts it"
        }
        _ => "PEM is needed",
    }
}

fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}
