//! What verifies signatures of tokens: the library that TLS uses, of which the crate for tokens knows nothing. It has these three algorithms, so no
//! mistake elsewhere makes the server take another.

use super::key::Algorithm;
use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::{DecodingKey, DecodingKeyKind};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use signature::Verifier;

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::InvalidAlgorithm.into()),
    verifier_factory: |algorithm, key| {
        let known = Algorithm::ALL.iter().find(|(_, known)| known.of_tokens() == *algorithm);
        let (_, algorithm) = known.ok_or_else(|| Error::from(ErrorKind::InvalidAlgorithm))?;
        Ok(Box::new(Ring { algorithm: *algorithm, key: key.clone() }))
    },
    key_utils: KeyUtils::new_unimplemented(),
};

/// Has the crate for tokens use it from now on, in the whole process.
pub(super) fn install() {
    // It is there already where there were keys before.
    let _ = PROVIDER.install_default();
}

/// One key for one token.
struct Ring {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl Verifier<Vec<u8>> for Ring {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let verified = match (self.algorithm, self.key.kind()) {
            (Algorithm::Rs256, DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            (Algorithm::Es256, DecodingKeyKind::SecretOrDer(point)) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            (Algorithm::EdDsa, DecodingKeyKind::SecretOrDer(point)) => {
                UnparsedPublicKey::new(&ED25519, point).verify(message, signature)
            }
            _ => return Err(signature::Error::new()),
        };
        verified.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for Ring {
    fn algorithm(&self) -> jsonwebtoken::Algorithm {
        self.algorithm.of_tokens()
    }
}
