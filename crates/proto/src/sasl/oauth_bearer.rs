//! OAUTHBEARER (RFC 7628): one message with an access token, and one more if the server does not take it.
//!
//! ```text
//! client-resp    gs2-header kvsep *kvpair kvsep / kvsep
//! gs2-header     ( "n" / "y" ) "," [ "a=" authzid ] ","
//! kvpair         key "=" value kvsep        kvsep is the octet 1
//! ```

use super::gs2::{authorization_id, split};

/// The mechanism's name.
pub const NAME: &str = "OAUTHBEARER";
/// What a server says of a token that it does not take (RFC 7628 section 3.2.2). Why it does not is not said.
pub const INVALID_TOKEN: &[u8] = br#"{"status":"invalid_token"}"#;
/// What a client answers to that.
pub const DUMMY: &[u8] = &[SEPARATOR];

const SEPARATOR: u8 = 1;

/// The first message of a client.
#[derive(Clone, PartialEq, Eq)]
pub struct OauthBearer<'a> {
    /// Who the client wants to act as, unescaped; empty: who it is.
    pub authorization_id: Vec<u8>,
    /// The access token. Who has it can act as its owner.
    pub token: &'a [u8],
}

/// Tokens stay out of logs.
impl std::fmt::Debug for OauthBearer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OauthBearer(..)")
    }
}

impl<'a> OauthBearer<'a> {
    /// Reads a message; `None` if it is none, or asks for a binding to the channel, which the mechanism does not have.
    /// Host and port, which it may have besides, are of no use here.
    pub fn decode(message: &'a [u8]) -> Option<OauthBearer<'a>> {
        let (flag, rest) = split(message)?;
        let (named, rest) = split(rest)?;
        // The UnboundID SDK ends the last pair and not the list, which says as much.
        let pairs = rest.strip_prefix(DUMMY)?.strip_suffix(DUMMY)?;
        let pairs = pairs.strip_suffix(DUMMY).unwrap_or(pairs);
        let mut token = None;
        for pair in pairs.split(|byte| *byte == SEPARATOR) {
            let (key, value) = pair.split_at(pair.iter().position(|byte| *byte == b'=')?);
            let value = &value[1..];
            let is_whole =
                !key.is_empty() && key.iter().all(u8::is_ascii_alphabetic) && value.iter().all(is_text);
            // Of two tokens one could be looked at here, and the other one elsewhere.
            match (is_whole, key) {
                (true, b"auth") if token.is_none() => token = Some(bearer(value)?),
                (true, b"auth") | (false, _) => return None,
                (true, _) => {}
            }
        }
        let authorization_id = authorization_id(named)?;
        matches!(flag, b"n" | b"y").then_some(OauthBearer { authorization_id, token: token? })
    }

    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"n,");
        if !self.authorization_id.is_empty() {
            out.extend_from_slice(b"a=");
        }
        for byte in &self.authorization_id {
            match byte {
                b',' => out.extend_from_slice(b"=2C"),
                b'=' => out.extend_from_slice(b"=3D"),
                byte => out.push(*byte),
            }
        }
        out.extend_from_slice(b",\x01auth=Bearer ");
        out.extend_from_slice(self.token);
        out.extend_from_slice(&[SEPARATOR, SEPARATOR]);
    }
}

/// What may stand in a value: visible characters, blanks, and ends of lines.
fn is_text(byte: &u8) -> bool {
    matches!(byte, b'\t' | b'\r' | b'\n' | b' '..=b'~')
}

/// The token of credentials (RFC 6750 section 2.1). The name of the scheme may be in any case.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(b"Bearer ".len())?;
    let end = token.iter().rposition(|byte| *byte != b'=')? + 1;
    let is_sign = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(byte);
    let is_token = scheme.eq_ignore_ascii_case(b"Bearer ") && token[..end].iter().all(is_sign);
    is_token.then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 7628 section 4.1.
    #[test]
    fn message_of_the_rfc() {
        let message = b"n,a=user@example.com,\x01host=server.example.com\x01port=143\x01auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==\x01\x01";
        let read = OauthBearer::decode(message).expect("it is one");
        assert_eq!(read.authorization_id, b"user@example.com");
        assert_eq!(read.token, b"vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==");
        assert_eq!(format!("{read:?}"), "OauthBearer(..)");
    }

    #[test]
    fn what_is_no_message() {
        for right in [
            "n,,\x01auth=Bearer a\x01",
            "y,,\x01auth=bEARER a\x01\x01",
            "n,a=u:a=2Cb,\x01auth=Bearer a.b-c\x01x=\x01\x01",
        ] {
            assert!(OauthBearer::decode(right.as_bytes()).is_some(), "{right}");
        }
        for wrong in [
            "",
            "\x01",
            "n,,",
            "n,,\x01\x01",
            "n,,\x01\x01\x01",
            "n,,\x01auth=Bearer a",
            "n,,\x01auth=Bearer a\x01\x01\x01",
            "n,,auth=Bearer a\x01\x01",
            "p=tls-exporter,,\x01auth=Bearer a\x01\x01",
            "x,,\x01auth=Bearer a\x01\x01",
            "n,b=x,\x01auth=Bearer a\x01\x01",
            "n,a=x=2D,\x01auth=Bearer a\x01\x01",
            "n,a=x\0,\x01auth=Bearer a\x01\x01",
            "n,,\x01host=x\x01\x01",
            "n,,\x01auth=Basic a\x01\x01",
            "n,,\x01auth=Bearer \x01\x01",
            "n,,\x01auth=Bearer =\x01\x01",
            "n,,\x01auth=Bearer a b\x01\x01",
            "n,,\x01auth=Bearer a=b\x01\x01",
            "n,,\x01auth=Bearer a\x01auth=Bearer b\x01\x01",
            "n,,\x01=x\x01auth=Bearer a\x01\x01",
            "n,,\x01h st=x\x01auth=Bearer a\x01\x01",
            "n,,\x01host=\x02\x01auth=Bearer a\x01\x01",
            "n,,\x01host\x01auth=Bearer a\x01\x01",
        ] {
            assert_eq!(OauthBearer::decode(wrong.as_bytes()), None, "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn messages_come_back(authorization_id in "[^\0]{0,20}", token in "[A-Za-z0-9._~+/-]{1,40}={0,2}") {
            let given = OauthBearer { authorization_id: authorization_id.into_bytes(), token: token.as_bytes() };
            let mut message = Vec::new();
            given.encode(&mut message);
            prop_assert_eq!(OauthBearer::decode(&message), Some(given));
        }
    }
}
