//! Proxied authorization (RFC 4370): the request is applied as if another one had sent it. It must be critical.

use super::Control;

/// Its OID.
pub const OID: &[u8] = b"2.16.840.1.113730.3.4.18";

/// An authorization identity (RFC 4513 section 5.2.1.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthzId<'a> {
    /// Nobody in particular.
    Anonymous,
    /// Who has this DN.
    Dn(&'a [u8]),
    /// Who is called so by people.
    User(&'a [u8]),
}

impl<'a> AuthzId<'a> {
    /// Reads the value of the control. `None` if it is of no known form.
    pub fn parse(value: &'a [u8]) -> Option<AuthzId<'a>> {
        match value {
            [] | [b'd' | b'D', b'n' | b'N', b':'] => Some(AuthzId::Anonymous),
            [b'd' | b'D', b'n' | b'N', b':', dn @ ..] => Some(AuthzId::Dn(dn)),
            [b'u' | b'U', b':', user @ ..] if !user.is_empty() => Some(AuthzId::User(user)),
            _ => None,
        }
    }
}

/// The control, as a client sends it, critical as it must be.
pub fn control(authorization_id: &[u8]) -> Control<'_> {
    Control { oid: OID, critical: true, value: Some(authorization_id) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        for (value, expected) in [
            (&b""[..], Some(AuthzId::Anonymous)),
            (b"dn:", Some(AuthzId::Anonymous)),
            (b"dn:cn=a", Some(AuthzId::Dn(b"cn=a"))),
            (b"DN:cn=a", Some(AuthzId::Dn(b"cn=a"))),
            (b"u:ada", Some(AuthzId::User(b"ada"))),
            (b"u:", None),
            (b"cn=a", None),
            (b"dn", None),
            (b"\xff", None),
        ] {
            assert_eq!(AuthzId::parse(value), expected, "{value:?}");
        }
    }
}
