//! TLS 1.3 between nodes. Either end shows the certificate of its node, from the cluster's own CA; no name but the node's is looked at. Sessions
//! are never resumed, so each handshake shows and verifies certificates.

use crate::certificate::Fingerprint;
use crate::identity::Identity;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, verify_server_cert_signed_by_trust_anchor};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, ParsedCertificate, WebPkiClientVerifier};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, ServerConfig,
    SignatureScheme,
};
use std::sync::Arc;

/// What connections of a node go by.
#[derive(Clone)]
pub(crate) struct Configs {
    /// Of those that it opens.
    pub(crate) client: Arc<ClientConfig>,
    /// Of those that it accepts.
    pub(crate) server: Arc<ServerConfig>,
}

impl Configs {
    /// Of this node.
    pub(crate) fn of(identity: &Identity) -> Result<Configs, Error> {
        let provider = Arc::new(provider());
        let mut roots = RootCertStore::empty();
        roots.add(identity.authority().clone())?;
        let roots = Arc::new(roots);
        let chain = || vec![identity.certificate().clone(), identity.authority().clone()];
        let key = || PrivateKeyDer::Pkcs8(identity.key().pkcs8().clone_key());
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
            // A node that joins has none yet. Whether one is needed follows from the first frame.
            .allow_unauthenticated()
            .build()
            .map_err(|error| Error::General(error.to_string()))?;
        let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain(), key())?;
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        let verifier = Verifier { trusted: Trusted::Authority(roots), provider: Arc::clone(&provider) };
        let client = builder(provider, verifier)?.with_client_auth_cert(chain(), key())?;
        Ok(Configs { client: Arc::new(without_resumption(client)), server: Arc::new(server) })
    }
}

/// For a node that has no certificate yet, and knows of the CA its fingerprint.
pub(crate) fn joining(authority: Fingerprint) -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(provider());
    let verifier = Verifier { trusted: Trusted::Fingerprint(authority), provider: Arc::clone(&provider) };
    Ok(Arc::new(without_resumption(builder(provider, verifier)?.with_no_client_auth())))
}

/// What is asked for in a handshake, where a name must be. It is not sent, and not looked at.
pub(crate) fn no_name() -> ServerName<'static> {
    ServerName::try_from("node.invalid").expect("it is a name")
}

/// Both ends have all cipher suites of TLS 1.3. The first is the one that they agree on: the shorter key takes a quarter less time for a byte.
fn provider() -> CryptoProvider {
    use ring::cipher_suite::{
        TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
    };
    let cipher_suites =
        vec![TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256];
    CryptoProvider { cipher_suites, ..ring::default_provider() }
}

fn builder(
    provider: Arc<CryptoProvider>,
    verifier: Verifier,
) -> Result<rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert>, Error> {
    let builder =
        ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&rustls::version::TLS13])?;
    Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)))
}

fn without_resumption(mut config: ClientConfig) -> ClientConfig {
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    config
}

/// Whom a certificate of a node must come from.
#[derive(Debug)]
enum Trusted {
    Authority(Arc<RootCertStore>),
    /// A CA in the chain that has this fingerprint.
    Fingerprint(Fingerprint),
}

/// Verifies that the one that was connected is a node of the cluster. Which node it is, is looked at afterwards.
#[derive(Debug)]
struct Verifier {
    trusted: Trusted,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let found = match &self.trusted {
            Trusted::Authority(roots) => Arc::clone(roots),
            Trusted::Fingerprint(wanted) => {
                let authority = intermediates.iter().find(|der| Fingerprint::of(der) == *wanted);
                let mut roots = RootCertStore::empty();
                roots.add(authority.ok_or(CertificateError::UnknownIssuer)?.clone().into_owned())?;
                Arc::new(roots)
            }
        };
        let algorithms = self.provider.signature_verification_algorithms.all;
        let end_entity = ParsedCertificate::try_from(end_entity)?;
        // A CA signs nodes, and nothing that signs.
        verify_server_cert_signed_by_trust_anchor(&end_entity, &found, &[], now, algorithms)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2 is not spoken between nodes".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
