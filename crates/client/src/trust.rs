//! Which servers a client believes to be who they are.

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::sync::Arc;

/// Authorities whose certificates count. The name of the server, or its address, must be in its certificate.
#[derive(Clone, Debug)]
pub struct Trust(Arc<ClientConfig>);

impl Trust {
    /// The authorities in a file of PEM.
    ///
    /// # Errors
    /// In words, what is wrong with it.
    pub fn read(pem: &[u8]) -> Result<Trust, String> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|error| format!("it is no PEM: {error}"))?;
            roots
                .add(certificate)
                .map_err(|error| format!("one of its certificates is of no use: {error}"))?;
        }
        if roots.is_empty() {
            return Err("it has no certificate".to_owned());
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        Ok(Trust(Arc::new(config.with_root_certificates(roots).with_no_client_auth())))
    }

    /// A session of TLS that has not begun, with a server of this name.
    ///
    /// # Errors
    /// In words, what is wrong with the name.
    pub(crate) fn session(&self, host: &str) -> Result<ClientConnection, String> {
        let name = ServerName::try_from(host.to_owned()).map_err(|error| format!("{host}: {error}"))?;
        ClientConnection::new(Arc::clone(&self.0), name).map_err(|error| error.to_string())
    }
}
