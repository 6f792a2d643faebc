//! A key that verifies tokens, of a JSON Web Key (RFC 7517, RFC 7518, RFC 8037).

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{DecodingKey, DecodingKeyKind};

/// How tokens are signed. There is none by a shared secret: who could verify could sign, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// ECDSA on the curve P-256 with SHA-256.
    Es256,
    /// EdDSA on the curve of Ed25519.
    EdDsa,
}

impl Algorithm {
    /// Every one, with its name (RFC 7518 section 3.1).
    pub(crate) const ALL: [(&'static str, Algorithm); 3] =
        [("RS256", Algorithm::Rs256), ("ES256", Algorithm::Es256), ("EdDSA", Algorithm::EdDsa)];

    pub(super) fn of_tokens(self) -> jsonwebtoken::Algorithm {
        match self {
            Algorithm::Rs256 => jsonwebtoken::Algorithm::RS256,
            Algorithm::Es256 => jsonwebtoken::Algorithm::ES256,
            Algorithm::EdDsa => jsonwebtoken::Algorithm::EdDSA,
        }
    }
}

/// A public key of an issuer, and how it signs.
pub(super) struct Key {
    pub(super) algorithm: Algorithm,
    pub(super) verifying: DecodingKey,
}

impl Key {
    /// The key, if it is one of these kinds and for signatures.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn of(jwk: &Jwk) -> Result<Option<Key>, String> {
        let algorithm = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => Algorithm::Rs256,
            AlgorithmParameters::EllipticCurve(of) if of.curve == EllipticCurve::P256 => Algorithm::Es256,
            AlgorithmParameters::OctetKeyPair(of) if of.curve == EllipticCurve::Ed25519 => Algorithm::EdDsa,
            _ => return Ok(None),
        };
        let is_for_signatures =
            jwk.common.public_key_use.as_ref().is_none_or(|of| *of == PublicKeyUse::Signature);
        let named = Algorithm::ALL.iter().find(|(_, other)| *other == algorithm).map_or("", |(name, _)| name);
        let is_by_it = jwk.common.key_algorithm.as_ref().is_none_or(|of| of.to_string() == named);
        if !is_for_signatures || !is_by_it {
            return Ok(None);
        }
        let verifying =
            DecodingKey::from_jwk(jwk).map_err(|error| format!("a key cannot be read: {error}"))?;
        check(algorithm, &verifying)?;
        Ok(Some(Key { algorithm, verifying }))
    }
}

/// Octets of a coordinate of a point on P-256.
const COORDINATE_BYTES: usize = 32;
/// Octets of a key of Ed25519.
const ED25519_BYTES: usize = 32;
/// Octets of the modulus of an RSA key: 2048 to 8192 bits.
const MODULUS_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;

/// Is it a key that can verify at all? Else it is found out when the file is read, and not by the first user who cannot log in.
pub(super) fn check(algorithm: Algorithm, key: &DecodingKey) -> Result<(), String> {
    match (algorithm, key.kind()) {
        (Algorithm::Rs256, DecodingKeyKind::RsaModulusExponent { n, .. })
            if MODULUS_BYTES.contains(&n.len()) =>
        {
            Ok(())
        }
        (Algorithm::Rs256, _) => Err("an RSA key has 2048 to 8192 bits".to_owned()),
        (Algorithm::Es256, DecodingKeyKind::SecretOrDer(point))
            if point.len() == 1 + 2 * COORDINATE_BYTES =>
        {
            Ok(())
        }
        (Algorithm::Es256, _) => Err("a coordinate of P-256 has 32 octets".to_owned()),
        (Algorithm::EdDsa, DecodingKeyKind::SecretOrDer(point)) if point.len() == ED25519_BYTES => Ok(()),
        (Algorithm::EdDsa, _) => Err("a key of Ed25519 has 32 octets".to_owned()),
    }
}
