//! What a certificate of a cluster says: whose it is, and until when.

use crate::id::{ClusterId, hex};
use ring::digest::{SHA256, digest};
use std::fmt;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// Seconds for which a certificate of a node is valid: one year.
pub const VALID_S: u64 = 365 * 24 * 60 * 60;
/// Seconds by which it begins earlier, for nodes whose clocks are behind.
pub(crate) const EARLIER_S: u64 = 60 * 60;

/// SHA-256 of a certificate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    /// Of a certificate in DER.
    pub fn of(certificate: &[u8]) -> Fingerprint {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, certificate).as_ref());
        Fingerprint(bytes)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// Whose a certificate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The cluster.
    pub cluster: ClusterId,
    /// The node; not 0.
    pub node: u64,
    /// Seconds since 1970 between which it is valid.
    pub valid_s: (i64, i64),
    /// Of the certificate.
    pub fingerprint: Fingerprint,
}

impl Holder {
    /// Reads a certificate in DER, whose issuer is verified elsewhere. `None` if it is not of a node of a cluster: it has one
    /// alternative name, and that is the node's.
    pub fn read(certificate: &[u8]) -> Option<Holder> {
        let (rest, read) = X509Certificate::from_der(certificate).ok()?;
        let names = &read.subject_alternative_name().ok()??.value.general_names;
        let [GeneralName::URI(name)] = names.as_slice() else { return None };
        let (cluster, node) = name.strip_prefix("pando://")?.split_once("/node/")?;
        let (cluster, node) = (ClusterId::parse(cluster)?, node.parse().ok()?);
        let validity = read.validity();
        let holder = Holder {
            cluster,
            node,
            valid_s: (validity.not_before.timestamp(), validity.not_after.timestamp()),
            fingerprint: Fingerprint::of(certificate),
        };
        (rest.is_empty() && node != 0 && *name == node_name(cluster, node)).then_some(holder)
    }

    /// Seconds since 1970 from which the certificate should be renewed: half of its time is over.
    pub fn renew_at_s(&self) -> i64 {
        let (from, to) = self.valid_s;
        from.saturating_add(to.saturating_sub(from) / 2)
    }

    /// Should the certificate be renewed?
    pub fn should_renew(&self, now_s: i64) -> bool {
        now_s >= self.renew_at_s()
    }
}

/// The alternative name in the certificate of a node.
pub(crate) fn node_name(cluster: ClusterId, node: u64) -> String {
    format!("pando://{cluster}/node/{node}")
}

/// What the common name of a cluster's CA begins with.
const AUTHORITY_NAME: &str = "pando cluster ";

/// The common name of a cluster's CA.
pub(crate) fn authority_name(cluster: ClusterId) -> String {
    format!("{AUTHORITY_NAME}{cluster}")
}

/// The cluster whose CA has this certificate, and its public key; `None` if it is of no CA of a cluster.
pub(crate) fn authority_of(certificate: &[u8]) -> Option<(ClusterId, Vec<u8>)> {
    let (rest, read) = X509Certificate::from_der(certificate).ok()?;
    let mut names = read.subject().iter_common_name();
    let name = names.next().filter(|_| names.next().is_none())?.as_str().ok()?;
    let cluster = ClusterId::parse(name.strip_prefix(AUTHORITY_NAME)?)?;
    (rest.is_empty() && read.is_ca()).then(|| (cluster, public_key(&read)))
}

/// The public key of a certificate, without its algorithm.
pub(crate) fn public_key_of(certificate: &[u8]) -> Option<Vec<u8>> {
    X509Certificate::from_der(certificate).ok().map(|(_, read)| public_key(&read))
}

fn public_key(certificate: &X509Certificate<'_>) -> Vec<u8> {
    certificate.public_key().subject_public_key.data.to_vec()
}
