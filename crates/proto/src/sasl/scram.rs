//! SCRAM (RFC 5802): the messages of a client, and those of a server. Names, nonces and proofs are octets here; what they prove is looked at elsewhere.
//!
//! ```text
//! client-first   gs2-cbind-flag "," [ "a=" authzid ] "," "n=" user ",r=" nonce [ "," extensions ]
//! server-first   "r=" nonce ",s=" salt ",i=" count
//! client-final   "c=" channel-binding ",r=" nonce [ "," extensions ] ",p=" proof
//! server-final   "v=" signature
//! ```

use super::gs2::{attribute, authorization_id, split, unescape};

/// The mechanism without channel binding.
pub const NAME: &str = "SCRAM-SHA-256";
/// With it.
pub const NAME_PLUS: &str = "SCRAM-SHA-256-PLUS";

/// What a client says of channel bindings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag<'a> {
    /// It has none.
    None,
    /// It has some, and thinks that the server has none.
    Unused,
    /// It binds to the channel by this type.
    Bound(&'a [u8]),
}

/// The first message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientFirst<'a> {
    /// What it says of channel bindings.
    pub flag: Flag<'a>,
    /// Who it wants to act as, unescaped; empty: who it is.
    pub authorization_id: Vec<u8>,
    /// Who it is, unescaped.
    pub user: Vec<u8>,
    /// What it has drawn.
    pub nonce: &'a [u8],
    /// Everything before the bare message: it comes back in the final message.
    pub header: &'a [u8],
    /// The message without the header.
    pub bare: &'a [u8],
}

/// The final message of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientFinal<'a> {
    /// Header and binding, in base64.
    pub binding: &'a [u8],
    /// The nonce of the server's first message.
    pub nonce: &'a [u8],
    /// The proof, in base64.
    pub proof: &'a [u8],
    /// The message without the proof.
    pub without_proof: &'a [u8],
}

impl<'a> ClientFirst<'a> {
    /// Reads a message; `None` if it is none, or has an extension that must be understood.
    pub fn decode(message: &'a [u8]) -> Option<ClientFirst<'a>> {
        let (flag, rest) = split(message)?;
        let flag = match flag {
            b"n" => Flag::None,
            b"y" => Flag::Unused,
            _ => Flag::Bound(attribute(flag, b'p').filter(|name| is_binding(name))?),
        };
        let (named, bare) = split(rest)?;
        let authorization_id = authorization_id(named)?;
        let header = &message[..message.len() - bare.len()];
        let mut parts = bare.split(|byte| *byte == b',');
        // `m=` stands before the name, and says that there is something which must be understood.
        let user = unescape(attribute(parts.next()?, b'n')?)?;
        let nonce = attribute(parts.next()?, b'r').filter(|nonce| is_nonce(nonce))?;
        let is_known =
            parts.all(|extension| attribute(extension, b'm').is_none() && extension.contains(&b'='));
        let first = ClientFirst { flag, authorization_id, user, nonce, header, bare };
        (is_known && !first.user.is_empty()).then_some(first)
    }
}

impl<'a> ClientFinal<'a> {
    /// Reads a message; `None` if it is none.
    pub fn decode(message: &'a [u8]) -> Option<ClientFinal<'a>> {
        let at = message.iter().rposition(|byte| *byte == b',')?;
        let (without_proof, proof) = (&message[..at], attribute(&message[at + 1..], b'p')?);
        let mut parts = without_proof.split(|byte| *byte == b',');
        let binding = attribute(parts.next()?, b'c')?;
        let nonce = attribute(parts.next()?, b'r')?;
        let is_known =
            parts.all(|extension| attribute(extension, b'm').is_none() && extension.contains(&b'='));
        is_known.then_some(ClientFinal { binding, nonce, proof, without_proof })
    }
}

/// The first message of a server. The nonce has that of the client in front; the salt is in base64.
pub fn server_first(nonce: &[u8], salt: &str, iterations: u32) -> Vec<u8> {
    [b"r=", nonce, b",s=", salt.as_bytes(), b",i=", iterations.to_string().as_bytes()].concat()
}

/// The final message of a server; the signature is in base64.
pub fn server_final(signature: &str) -> Vec<u8> {
    format!("v={signature}").into_bytes()
}

/// What both sides sign.
pub fn auth_message(first_bare: &[u8], server_first: &[u8], final_without_proof: &[u8]) -> Vec<u8> {
    [first_bare, b",", server_first, b",", final_without_proof].concat()
}

/// Names of channel bindings (RFC 5802 section 7).
fn is_binding(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
}

fn is_nonce(nonce: &[u8]) -> bool {
    !nonce.is_empty() && nonce.iter().all(|byte| byte.is_ascii_graphic() && *byte != b',')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7677 section 3.
    #[test]
    fn messages_of_the_rfc() {
        let first = ClientFirst::decode(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO").expect("it is one");
        assert_eq!(
            (first.flag, &first.user[..], first.nonce),
            (Flag::None, &b"user"[..], &b"rOprNGfwEbeRWgbNEkqO"[..])
        );
        assert_eq!((first.header, first.bare), (&b"n,,"[..], &b"n=user,r=rOprNGfwEbeRWgbNEkqO"[..]));
        let nonce = b"rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let server = server_first(nonce, "W22ZaJ0SNY7soEsUEjb6gQ==", 4096);
        assert_eq!(
            server,
            b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
        );
        let message = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        let last = ClientFinal::decode(message).expect("it is one");
        assert_eq!((last.binding, last.nonce), (&b"biws"[..], &nonce[..]));
        assert_eq!(last.proof, b"dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
    }

    /// S4: what is altered or is no message.
    #[test]
    fn test_s4_what_is_no_message() {
        for message in [
            &b""[..],
            b"n",
            b"n,",
            b"n,,",
            b"n,,n=user",
            b"n,,n=,r=x",
            b"n,,r=x,n=user",
            b"x,,n=user,r=x",
            b"p=,,n=user,r=x",
            b"p=a b,,n=user,r=x",
            b"n,b=x,n=user,r=x",
            b"n,,m=x,n=user,r=x",
            b"n,,n=user,r=x,m=y",
            b"n,,n=us=er,r=x",
            b"n,,n=us=2c,r=x",
            b"n,,n=us=,r=x",
            b"n,,n=us\0er,r=x",
            b"n,,n=\xff,r=x",
            b"n,,n=user,r=",
            b"n,,n=user,r=a b",
            b"n,,n=user,r=x,y",
        ] {
            assert_eq!(ClientFirst::decode(message), None, "{:?}", String::from_utf8_lossy(message));
        }
        for message in [
            &b""[..],
            b"c=biws,r=x",
            b"c=biws,p=x",
            b"r=x,c=biws,p=x",
            b"c=biws,r=x,m=1,p=x",
            b"c=biws,r=x,p=x,y",
        ] {
            assert_eq!(ClientFinal::decode(message), None, "{:?}", String::from_utf8_lossy(message));
        }
        let first = ClientFirst::decode(b"p=tls-exporter,a=dn:cn=3Dx=2Cdc=3Dy,n=a=2Cb=3Dc,r=x,e=1")
            .expect("it is one");
        assert_eq!((first.flag, &first.user[..]), (Flag::Bound(b"tls-exporter"), &b"a,b=c"[..]));
        assert_eq!(first.authorization_id, b"dn:cn=x,dc=y");
    }
}
