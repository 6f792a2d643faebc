//! GSSAPI (RFC 4752): what is said when the security context stands. The tokens before that are of Kerberos, and nothing of them is read here.

/// The mechanism's name.
pub const NAME: &str = "GSSAPI";

/// No security layer, among the bits of those that there are.
const NO_LAYER: u8 = 1;

/// What the server offers: no security layer, and so no octets of one.
pub const OFFER: [u8; 4] = [NO_LAYER, 0, 0, 0];

/// What a client answers to the offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    layer: u8,
    /// Who the client wants to act as; empty: who it is.
    pub authorization_id: &'a [u8],
}

impl<'a> Answer<'a> {
    /// Reads an answer: the layer, octets of a message of one, and an authorization identity. `None` if it is none.
    /// The octets are not looked at: without a layer they bound nothing, and there are clients that say some.
    pub fn decode(answer: &'a [u8]) -> Option<Answer<'a>> {
        let (head, authorization_id) = answer.split_first_chunk::<4>()?;
        let is_text = str::from_utf8(authorization_id).is_ok() && !authorization_id.contains(&0);
        is_text.then_some(Answer { layer: head[0], authorization_id })
    }

    /// Has the client chosen what was offered?
    pub fn is_without_layer(&self) -> bool {
        self.layer == NO_LAYER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        for (answer, read) in [
            (&b"\x01\0\0\0"[..], Some((true, &b""[..]))),
            (b"\x01\x01\0\0u:ada", Some((true, b"u:ada"))),
            (b"\x02\0\xff\xffu:ada", Some((false, b"u:ada"))),
            (b"\0\0\0\0", Some((false, b""))),
            (b"\x03\0\0\0", Some((false, b""))),
            (b"", None),
            (b"\x01\0\0", None),
            (b"\x01\0\0\0u:a\0", None),
            (b"\x01\0\0\0\xff", None),
        ] {
            let decoded = Answer::decode(answer);
            assert_eq!(decoded.map(|one| (one.is_without_layer(), one.authorization_id)), read, "{answer:?}");
        }
        assert!(Answer::decode(&OFFER).is_some_and(|answer| answer.is_without_layer()));
    }
}
