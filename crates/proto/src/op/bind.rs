//! Bind (RFC 4511 section 4.2).

use crate::ber::{self, Reader};
use crate::control::Control;
use crate::error::Error;
use crate::result::{LdapResult, encode_response};
use crate::tag::{self, context, context_constructed};

const SIMPLE: u8 = context(0);
const SASL: u8 = context_constructed(3);
const SERVER_SASL_CREDENTIALS: u8 = context(7);

/// BindRequest
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bind<'a> {
    /// Protocol version, 1 to 127; only 3 is spoken here.
    pub version: u8,
    /// The DN to bind as, empty for an anonymous bind.
    pub name: &'a [u8],
    /// How the client proves it.
    pub authentication: Authentication<'a>,
}

/// AuthenticationChoice
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Authentication<'a> {
    /// A password in clear.
    Simple(&'a [u8]),
    /// One step of a SASL exchange.
    Sasl {
        /// Name of the mechanism; empty aborts an exchange.
        mechanism: &'a [u8],
        /// Its credentials; absent is not the same as empty.
        credentials: Option<&'a [u8]>,
    },
    /// A choice with this tag that the server does not know: authMethodNotSupported.
    Unknown(u8),
}

/// Passwords stay out of logs.
impl std::fmt::Debug for Authentication<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Authentication::Simple(_) => f.write_str("Simple(..)"),
            Authentication::Sasl { mechanism, .. } => {
                write!(f, "Sasl({}, ..)", String::from_utf8_lossy(mechanism))
            }
            Authentication::Unknown(tag) => write!(f, "Unknown({tag:#x})"),
        }
    }
}

impl<'a> Bind<'a> {
    pub(crate) fn decode(mut body: Reader<'a>) -> Result<Bind<'a>, Error> {
        let at = body.offset();
        let version = body.number(tag::INTEGER, 127, "expected a protocol version from 1 to 127")? as u8;
        if version == 0 {
            return Err(Error::value(at, "expected a protocol version from 1 to 127"));
        }
        let name = body.text("expected the name to bind as")?;
        let at = body.offset();
        let authentication = match body.peek() {
            Some(SIMPLE) => Authentication::Simple(body.element()?.1),
            Some(SASL) => sasl(body.enter(SASL, "expected SASL credentials")?)?,
            Some(tag) if tag & 0xc0 == 0x80 => Authentication::Unknown(body.element()?.0),
            _ => return Err(Error::structure(at, "expected an authentication choice")),
        };
        body.finish(&[0, 3])?;
        Ok(Bind { version, name, authentication })
    }

    /// Appends the request.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mark = ber::begin(out, tag::BIND);
        ber::put_integer(out, self.version as i64);
        ber::put_octets(out, self.name);
        match self.authentication {
            Authentication::Simple(password) => ber::put_tlv(out, SIMPLE, password),
            Authentication::Unknown(tag) => ber::put_tlv(out, tag, b""),
            Authentication::Sasl { mechanism, credentials } => {
                let sasl = ber::begin(out, SASL);
                ber::put_octets(out, mechanism);
                credentials.iter().for_each(|c| ber::put_octets(out, c));
                ber::end(out, sasl);
            }
        }
        ber::end(out, mark);
    }
}

fn sasl(mut body: Reader<'_>) -> Result<Authentication<'_>, Error> {
    let mechanism = body.text("expected a SASL mechanism")?;
    let credentials = body.optional(tag::OCTET_STRING)?;
    body.finish(&[])?;
    Ok(Authentication::Sasl { mechanism, credentials })
}

/// BindResponse
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindResponse<'a> {
    /// The outcome.
    pub result: LdapResult<'a>,
    /// What the server has to say in a SASL exchange.
    pub server_sasl_credentials: Option<&'a [u8]>,
}

impl<'a> BindResponse<'a> {
    pub(crate) fn decode(mut body: Reader<'a>) -> Result<BindResponse<'a>, Error> {
        let result = LdapResult::decode(&mut body)?;
        let server_sasl_credentials = body.optional(SERVER_SASL_CREDENTIALS)?;
        body.finish(&[3, 7])?;
        Ok(BindResponse { result, server_sasl_credentials })
    }

    /// Appends the whole message.
    pub fn encode(&self, out: &mut Vec<u8>, message_id: i32, controls: &[Control<'_>]) {
        let credentials = |out: &mut Vec<u8>| {
            let credentials = self.server_sasl_credentials.iter();
            credentials.for_each(|c| ber::put_tlv(out, SERVER_SASL_CREDENTIALS, c));
        };
        encode_response(out, message_id, tag::BIND_RESPONSE, &self.result, credentials, controls);
    }
}
