//! LDAPResult (RFC 4511 section 4.1.9), the common part of most responses.

use crate::answer::{MessageId, PIECE_MAX, put_done};
use crate::ber::{self, Reader};
use crate::control::{Control, encode_message};
use crate::diagnostic::printable;
use crate::error::Error;
use crate::list::Octets;
use crate::outline::{any_element, element};
use crate::tag;
use model::ResultCode;
use model::short::Short;

const REFERRAL: u8 = tag::context_constructed(3);

/// The outcome of an operation, as it travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LdapResult<'a> {
    /// Number of the result code; servers may send ones that [`ResultCode`] does not know.
    pub code: u32,
    /// matchedDN
    pub matched_dn: &'a [u8],
    /// diagnosticMessage; it is sent as [`printable`] makes it.
    pub diagnostic: &'a [u8],
    /// URIs of a referral; empty if there is none.
    pub referral: Octets<'a>,
}

impl<'a> LdapResult<'a> {
    /// A result with nothing but a code.
    pub fn new(code: ResultCode) -> LdapResult<'static> {
        LdapResult { code: code as u32, matched_dn: b"", diagnostic: b"", referral: Octets::EMPTY }
    }

    /// The code, if this server knows it.
    pub fn result_code(&self) -> Option<ResultCode> {
        ResultCode::from_number(self.code)
    }

    /// Decodes the components; the reader is left at what follows them.
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<LdapResult<'a>, Error> {
        let code = reader.number(tag::ENUMERATED, i32::MAX, "expected a result code")? as u32;
        let matched_dn = reader.text("expected matchedDN")?;
        let diagnostic = reader.text("expected diagnosticMessage")?;
        let mut referral = Octets::EMPTY;
        if reader.peek() == Some(REFERRAL) {
            let uris = reader.enter(REFERRAL, "expected a referral")?;
            referral = Octets::check(uris, usize::MAX, "expected a URI")?;
        }
        Ok(LdapResult { code, matched_dn, diagnostic, referral })
    }

    /// Appends the components, without an enclosing tag.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        ber::put_enumerated(out, self.code);
        ber::put_octets(out, self.matched_dn);
        ber::put_octets(out, &printable(self.diagnostic));
        if !self.referral.is_empty() {
            ber::put_tlv(out, REFERRAL, self.referral.raw());
        }
    }
}

/// Appends a response that is an LDAPResult with `op_tag`, such as [`tag::SEARCH_DONE`].
#[inline]
pub fn encode_result(
    out: &mut Vec<u8>,
    message_id: i32,
    op_tag: u8,
    code: ResultCode,
    matched_dn: &[u8],
    diagnostic: &str,
    controls: &[Control<'_>],
) {
    if matched_dn.is_empty() && diagnostic.is_empty() && controls.is_empty() {
        return encode_done(out, message_id, op_tag, code);
    }
    let result = LdapResult { matched_dn, diagnostic: diagnostic.as_bytes(), ..LdapResult::new(code) };
    encode_response(out, message_id, op_tag, &result, |_| {}, controls);
}

/// Appends a response that is a code and nothing else: the usual end of an operation.
#[inline]
pub fn encode_done(out: &mut Vec<u8>, message_id: i32, op_tag: u8, code: ResultCode) {
    let mut done = Short::<PIECE_MAX>::default();
    put_done(&mut done, &MessageId::new(message_id), op_tag, code);
    out.extend_from_slice(done.bytes());
}

/// Appends a response: an LDAPResult, what `extra` appends after it, controls.
pub fn encode_response(
    out: &mut Vec<u8>,
    message_id: i32,
    op_tag: u8,
    result: &LdapResult<'_>,
    extra: impl FnOnce(&mut Vec<u8>),
    controls: &[Control<'_>],
) {
    encode_message(out, message_id, controls, |out| {
        let op = ber::begin(out, op_tag);
        result.encode(out);
        extra(out);
        ber::end(out, op);
    });
}

/// The result code of the response at the front of `messages`, and what follows it. `None` where none stands.
#[inline]
pub fn result_code(messages: &[u8]) -> Option<(u32, &[u8])> {
    // Nearly all have lengths and codes of one octet.
    if let &[tag::SEQUENCE, len @ ..=0x7f, tag::INTEGER, id_bytes, ref after @ ..] = messages
        && let Some(&[_, ..=0x7f, tag::ENUMERATED, 1, code, ..]) = after.get(usize::from(id_bytes)..)
        && let Some(rest) = messages.get(2 + usize::from(len)..)
    {
        return Some((u32::from(code), rest));
    }
    long_result_code(messages)
}

#[cold]
fn long_result_code(messages: &[u8]) -> Option<(u32, &[u8])> {
    let ((_, body), rest) = element(messages, tag::SEQUENCE)?;
    let (_, body) = element(body, tag::INTEGER)?;
    let ((_, op), _) = any_element(body)?;
    let ((_, code), _) = element(op, tag::ENUMERATED)?;
    let code = code.iter().fold(0, |code, byte| code << 8 | u32::from(*byte));
    Some((code, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_form_is_the_long_form() {
        for id in [1, 127, 128, 255, 256, 32767, 32768, 8388607, 8388608, i32::MAX] {
            let (mut short, mut long) = (Vec::new(), Vec::new());
            encode_done(&mut short, id, tag::SEARCH_DONE, ResultCode::NoSuchObject);
            let result = LdapResult::new(ResultCode::NoSuchObject);
            encode_response(&mut long, id, tag::SEARCH_DONE, &result, |_| {}, &[]);
            assert_eq!(short, long);
        }
    }

    #[test]
    fn golden_bytes() {
        let mut out = Vec::new();
        encode_result(&mut out, 1, tag::BIND_RESPONSE, ResultCode::InvalidCredentials, b"", "no", &[]);
        assert_eq!(out, [0x30, 14, 2, 1, 1, 0x61, 9, 10, 1, 49, 4, 0, 4, 2, b'n', b'o']);
    }
}
