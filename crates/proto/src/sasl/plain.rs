//! PLAIN (RFC 4616): one message with name and password.

/// The mechanism's name.
pub const NAME: &str = "PLAIN";

/// The message of a client.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Plain<'a> {
    /// Who the client wants to act as; empty: who it is.
    pub authorization_id: &'a [u8],
    /// Who it is.
    pub authentication_id: &'a [u8],
    /// Its password.
    pub password: &'a [u8],
}

/// Passwords stay out of logs.
impl std::fmt::Debug for Plain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Plain(..)")
    }
}

impl<'a> Plain<'a> {
    /// Reads a message: three texts with a NUL between, the last two not empty. `None` if it is none.
    pub fn decode(message: &'a [u8]) -> Option<Plain<'a>> {
        let mut parts = message.split(|byte| *byte == 0);
        let (authorization_id, authentication_id, password) = (parts.next()?, parts.next()?, parts.next()?);
        let is_whole = parts.next().is_none() && !authentication_id.is_empty() && !password.is_empty();
        // UTF-8, both of them; a password is bytes here as everywhere.
        let names = [authorization_id, authentication_id];
        let is_text = names.into_iter().all(|name| str::from_utf8(name).is_ok());
        (is_whole && is_text).then_some(Plain { authorization_id, authentication_id, password })
    }

    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.authorization_id);
        out.push(0);
        out.extend_from_slice(self.authentication_id);
        out.push(0);
        out.extend_from_slice(self.password);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages() {
        let plain = Plain { authorization_id: b"", authentication_id: b"ada", password: b"lace" };
        let mut message = Vec::new();
        plain.encode(&mut message);
        assert_eq!(message, b"\0ada\0lace");
        assert_eq!(Plain::decode(&message), Some(plain));
        assert_eq!(
            Plain::decode(b"dn:cn=x\0u:ada\0l").map(|plain| plain.authorization_id),
            Some(&b"dn:cn=x"[..])
        );
        for wrong in [
            &b""[..],
            b"ada",
            b"\0ada",
            b"ada\0lace",
            b"\0ada\0",
            b"\0\0lace",
            b"\0ada\0la\0ce",
            b"\0ada\0lace\0",
            b"\xff\0ada\0lace",
            b"\0\xff\0lace",
        ] {
            assert_eq!(Plain::decode(wrong), None, "{wrong:?}");
        }
        assert_eq!(format!("{plain:?}"), "Plain(..)");
    }
}
