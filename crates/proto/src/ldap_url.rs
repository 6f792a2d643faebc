//! LDAP URLs (RFC 4516): the parts of one, as they are written. What a part that is missing means is left to its reader: that is not the same in a
//! referral, where it is that of the request, and elsewhere.

use model::{Scope, percent};

/// Schemes of LDAP URLs, in lower case.
const SCHEMES: [&[u8]; 3] = [b"ldap", b"ldaps", b"ldapi"];

/// The parts of an LDAP URL. A part that the URL does not have is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LdapUrl<'u> {
    /// `ldap`, `ldaps` or `ldapi`, in any case.
    pub scheme: &'u [u8],
    /// Host and port.
    pub host: &'u [u8],
    /// The DN, percent-encoded.
    pub dn: &'u [u8],
    /// Names of attributes with commas between them, percent-encoded.
    pub attributes: &'u [u8],
    /// The word for the scope, as it is.
    pub scope: &'u [u8],
    /// The filter, percent-encoded.
    pub filter: &'u [u8],
    /// Extensions with commas between them, percent-encoded.
    pub extensions: &'u [u8],
}

impl<'u> LdapUrl<'u> {
    /// Takes a URL apart. `None` if it is not of LDAP, or has more parts than there are.
    pub fn split(url: &'u [u8]) -> Option<LdapUrl<'u>> {
        let at = url.windows(3).position(|three| three == b"://")?;
        let (scheme, rest) = (&url[..at], &url[at + 3..]);
        if !SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            return None;
        }
        let mut halves = rest.splitn(2, |byte| *byte == b'/');
        let host = halves.next().unwrap_or_default();
        let mut parts = halves.next().unwrap_or_default().split(|byte| *byte == b'?');
        let mut part = || parts.next().unwrap_or_default();
        let (dn, attributes, scope, filter, extensions) = (part(), part(), part(), part(), part());
        parts.next().is_none().then_some(LdapUrl { scheme, host, dn, attributes, scope, filter, extensions })
    }

    /// The parts of a URL of this directory: `ldap:///` and no host.
    pub fn of_this_directory(url: &'u [u8]) -> Option<LdapUrl<'u>> {
        let begins = url.get(..8).is_some_and(|begin| begin.eq_ignore_ascii_case(b"ldap:///"));
        LdapUrl::split(url).filter(|_| begins)
    }

    /// The DN. `None` if its encoding is malformed.
    pub fn dn(&self) -> Option<Vec<u8>> {
        percent::decoded(self.dn)
    }

    /// The scope; the inner `None` if the URL has none. `None` if the word is none of RFC 4516.
    pub fn scope(&self) -> Option<Option<Scope>> {
        let word = self.scope.to_ascii_lowercase();
        Some(match word.as_slice() {
            b"" => None,
            b"base" => Some(Scope::Base),
            b"one" => Some(Scope::One),
            b"sub" => Some(Scope::Subtree),
            _ => return None,
        })
    }

    /// Has it an extension that must be understood (section 2)? One that is malformed counts.
    pub fn has_critical_extension(&self) -> bool {
        let mut extensions = self.extensions.split(|byte| *byte == b',');
        extensions.any(|extension| percent::decoded(extension).is_none_or(|text| text.starts_with(b"!")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_url() {
        let url = LdapUrl::split(b"LDAP://h:389/ou=a%20b,dc=x?cn,sn?Sub?(cn=%2a)?x-a=1,x-b").unwrap();
        assert_eq!((url.scheme, url.host), (&b"LDAP"[..], &b"h:389"[..]));
        assert_eq!((url.dn(), url.attributes), (Some(b"ou=a b,dc=x".to_vec()), &b"cn,sn"[..]));
        assert_eq!((url.scope(), url.filter), (Some(Some(Scope::Subtree)), &b"(cn=%2a)"[..]));
        assert!(!url.has_critical_extension());
        let url = LdapUrl::split(b"ldaps://h").unwrap();
        assert_eq!((url.host, url.dn(), url.scope()), (&b"h"[..], Some(Vec::new()), Some(None)));
    }

    #[test]
    fn urls_of_this_directory_have_no_host() {
        assert_eq!(LdapUrl::of_this_directory(b"LDAP:///dc=x").unwrap().dn, b"dc=x");
        for url in ["ldap://", "ldap://h/dc=x", "ldaps:///dc=x", "ldapi:///dc=x", "dc=x", ""] {
            assert_eq!(LdapUrl::of_this_directory(url.as_bytes()), None, "{url}");
        }
    }

    #[test]
    fn what_is_no_ldap_url() {
        for url in ["", "ldap:", "http://h/dc=x", "ldap://h/a?b?base?(c=d)?e?f"] {
            assert_eq!(LdapUrl::split(url.as_bytes()), None, "{url}");
        }
        assert_eq!(
            LdapUrl::split(b"ldap:///%4?cn?two").map(|url| (url.dn(), url.scope())),
            Some((None, None))
        );
    }

    #[test]
    fn extensions_may_be_critical() {
        for (extensions, is_critical) in
            [("x", false), ("!x", true), ("x,!y=1", true), ("x,%21y", true), ("%2", true), ("", false)]
        {
            let url = format!("ldap:///dc=x????{extensions}");
            let has = LdapUrl::split(url.as_bytes()).unwrap().has_critical_extension();
            assert_eq!(has, is_critical, "{extensions}");
        }
    }
}
