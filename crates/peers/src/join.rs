//! How a node becomes a member: what it sends, and what it is given.

use crate::address::{ADDRESSES_MAX, Address};
use crate::authority::{Authority, AuthorityError, KEY_BYTES_MAX, REQUEST_BYTES_MAX};
use crate::certificate::{Fingerprint, public_key_of};
use crate::codec::{Malformed, Reader, put};
use crate::frame::JOIN_BODY_BYTES_MAX;
use crate::hello;
use crate::id::ClusterId;
use crate::token::{TOKEN_BYTES_MAX, Token, TokenError};
use rustls::pki_types::CertificateDer;
use std::fmt;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::prelude::FromDer as _;
use zeroize::Zeroizing;

/// Bytes of a certificate at most.
const CERTIFICATE_BYTES_MAX: usize = 8 << 10;
/// Bytes of the text of an address: brackets, colon and port around it.
const ADDRESS_BYTES_MAX: usize = 253 + 8;
/// Bytes of the text of a version.
pub const VERSION_BYTES_MAX: usize = 64;

/// What a node wants to become a member with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinRequest {
    /// Its request for a certificate: PKCS#10, by its key ([`crate::NodeKey::request`]).
    pub request: Vec<u8>,
    /// Where other nodes reach it.
    pub peer_addresses: Vec<Address>,
    /// Where clients reach it.
    pub ldap_addresses: Vec<Address>,
    /// Its version, as its program says it; at most [`VERSION_BYTES_MAX`] bytes.
    pub version: String,
    /// The earliest and the latest version of the behaviour that its program applies.
    pub behaviours: (u32, u32),
}

/// What a new member is given. The key of the CA is in it.
#[derive(Clone, PartialEq, Eq)]
pub struct JoinAnswer {
    /// The cluster.
    pub cluster: ClusterId,
    /// Its number; not 0.
    pub node: u64,
    /// Its certificate.
    pub certificate: CertificateDer<'static>,
    /// The certificate of the CA.
    pub authority: CertificateDer<'static>,
    /// The key of the CA, PKCS#8.
    pub authority_key: Zeroizing<Vec<u8>>,
    /// What else it must know; at most [`JOIN_BODY_BYTES_MAX`] bytes.
    pub body: Vec<u8>,
}

impl fmt::Debug for JoinAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinAnswer")
            .field("cluster", &self.cluster)
            .field("node", &self.node)
            .finish_non_exhaustive()
    }
}

impl JoinRequest {
    /// Names the key that asks. `None` if the request for a certificate cannot be read.
    pub fn key(&self) -> Option<Fingerprint> {
        let (_, request) = X509CertificationRequest::from_der(&self.request).ok()?;
        Some(Fingerprint::of(request.certification_request_info.subject_pki.raw))
    }
}

impl JoinAnswer {
    /// Of the CA, for a node that has this certificate.
    pub fn new(
        authority: &Authority,
        node: u64,
        certificate: CertificateDer<'static>,
        body: Vec<u8>,
    ) -> JoinAnswer {
        JoinAnswer {
            cluster: authority.cluster(),
            node,
            certificate,
            authority: authority.certificate().clone(),
            authority_key: Zeroizing::new(authority.key().to_vec()),
            body,
        }
    }

    /// The CA that was given.
    ///
    /// # Errors
    /// Its certificate and key are of no cluster, or do not fit together.
    pub fn to_authority(&self) -> Result<Authority, AuthorityError> {
        Authority::from_parts(self.authority.clone(), self.authority_key.clone())
    }

    pub(crate) fn encode(&self) -> Zeroizing<Vec<u8>> {
        let mut out = Vec::with_capacity(self.body.len() + (32 << 10));
        out.extend_from_slice(&self.cluster.0);
        out.extend_from_slice(&self.node.to_le_bytes());
        let parts: [&[u8]; 4] = [&self.certificate, &self.authority, &self.authority_key, &self.body];
        parts.iter().for_each(|part| put(&mut out, part));
        Zeroizing::new(out)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<JoinAnswer, Malformed> {
        let mut reader = Reader(bytes);
        let certificate = |reader: &mut Reader<'_>| {
            reader.bytes(CERTIFICATE_BYTES_MAX).map(|der| CertificateDer::from(der.to_vec()))
        };
        let answer = JoinAnswer {
            cluster: ClusterId(reader.array()?),
            node: reader.u64()?,
            certificate: certificate(&mut reader)?,
            authority: certificate(&mut reader)?,
            authority_key: Zeroizing::new(reader.bytes(KEY_BYTES_MAX)?.to_vec()),
            body: reader.bytes(JOIN_BODY_BYTES_MAX)?.to_vec(),
        };
        reader.end()?;
        if answer.node == 0 { Err(Malformed::Value) } else { Ok(answer) }
    }
}

/// Why the frame of a join is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JoinFault {
    Frame(Malformed),
    Token(TokenError),
}

impl fmt::Display for JoinFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinFault::Frame(Malformed::Version) => f.write_str("the node speaks another version"),
            JoinFault::Frame(fault) => write!(f, "the frame of the join: {fault}"),
            JoinFault::Token(fault) => fault.fmt(f),
        }
    }
}

/// The body of the frame of a join.
pub(crate) fn encode(token: &Token, request: &JoinRequest) -> Vec<u8> {
    let mut out = hello::VERSION.to_le_bytes().to_vec();
    put(&mut out, token.to_string().as_bytes());
    put(&mut out, &request.request);
    put(&mut out, request.version.as_bytes());
    let (oldest, newest) = request.behaviours;
    [oldest, newest].iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
    for addresses in [&request.peer_addresses, &request.ldap_addresses] {
        out.push(u8::try_from(addresses.len()).expect("a node has few addresses"));
        addresses.iter().for_each(|address| put(&mut out, address.to_string().as_bytes()));
    }
    out
}

/// Is the certificate for the key that asked for one?
pub(crate) fn is_for(request: &JoinRequest, certificate: &[u8]) -> bool {
    match X509CertificationRequest::from_der(&request.request) {
        Ok((_, read)) => {
            let key = &read.certification_request_info.subject_pki.subject_public_key.data;
            public_key_of(certificate).is_some_and(|public| public == key.as_ref())
        }
        Err(_) => false,
    }
}

/// Can the request be sent at all?
pub(crate) fn is_within_bounds(request: &JoinRequest) -> bool {
    request.request.len() <= REQUEST_BYTES_MAX
        && request.version.len() <= VERSION_BYTES_MAX
        && request.peer_addresses.len().max(request.ldap_addresses.len()) <= ADDRESSES_MAX
}

/// The latest version that the node speaks, its token, and what it wants.
pub(crate) fn decode(bytes: &[u8]) -> Result<(u32, Token, JoinRequest), JoinFault> {
    let (version, token, request) = decode_parts(bytes).map_err(JoinFault::Frame)?;
    Ok((version, Token::parse(token).map_err(JoinFault::Token)?, request))
}

fn decode_parts(bytes: &[u8]) -> Result<(u32, &str, JoinRequest), Malformed> {
    let mut reader = Reader(bytes);
    let spoken = hello::version(&mut reader)?;
    let token = reader.text(TOKEN_BYTES_MAX)?;
    let request = reader.bytes(REQUEST_BYTES_MAX)?.to_vec();
    let version = reader.text(VERSION_BYTES_MAX)?.to_owned();
    let behaviours = (reader.u32()?, reader.u32()?);
    let (peer_addresses, ldap_addresses) = (addresses(&mut reader)?, addresses(&mut reader)?);
    hello::end(reader, spoken)?;
    Ok((spoken, token, JoinRequest { request, peer_addresses, ldap_addresses, version, behaviours }))
}

fn addresses(reader: &mut Reader<'_>) -> Result<Vec<Address>, Malformed> {
    let count = usize::from(reader.u8()?);
    if count > ADDRESSES_MAX {
        return Err(Malformed::TooLong);
    }
    (0..count).map(|_| Address::parse(reader.text(ADDRESS_BYTES_MAX)?).ok_or(Malformed::Value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn answers_come_back(cluster: [u8; 16], node in 1u64.., parts: [Vec<u8>; 4]) {
            let [one, two, key, body] = parts;
            let answer = JoinAnswer {
                cluster: ClusterId(cluster),
                node,
                certificate: one.into(),
                authority: two.into(),
                authority_key: key.into(),
                body,
            };
            let bytes = answer.encode();
            prop_assert_eq!(JoinAnswer::decode(&bytes), Ok(answer));
            prop_assert!(JoinAnswer::decode(&bytes[..bytes.len() - 1]).is_err());
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(mut bytes: Vec<u8>) {
            let _ = JoinAnswer::decode(&bytes);
            let _ = decode(&bytes);
            bytes.splice(..0, hello::VERSION.to_le_bytes());
            let _ = decode(&bytes);
        }
    }
}
