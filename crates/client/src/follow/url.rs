//! What an LDAP URL (RFC 4516) says of a request that goes on there.

use model::Scope;
use proto::ldap_url::LdapUrl;

/// Name and scope that a URL has; what it does not have is that of the request before. `None` if it cannot be followed: it is no LDAP URL, it has a filter,
/// by which this server would ask what nobody has judged, or an extension that must be understood.
pub(super) fn place(url: &[u8]) -> Option<(Option<Vec<u8>>, Option<Scope>)> {
    let url = LdapUrl::split(url)?;
    let (base, scope) = (url.dn()?, url.scope()?);
    let is_followed = url.filter.is_empty() && !url.has_critical_extension();
    is_followed.then_some((Some(base).filter(|base| !base.is_empty()), scope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_say_where_it_goes_on() {
        let of = |url: &str| {
            place(url.as_bytes()).map(|(base, scope)| {
                (base.map_or(String::new(), |base| String::from_utf8(base).unwrap()), scope)
            })
        };
        assert_eq!(
            of("ldap://h:389/ou=a%20b,dc=x??sub"),
            Some(("ou=a b,dc=x".to_owned(), Some(Scope::Subtree)))
        );
        assert_eq!(of("ldaps://h"), Some((String::new(), None)));
        assert_eq!(of("ldap://h/dc=x?cn?one"), Some(("dc=x".to_owned(), Some(Scope::One))));
        assert_eq!(of("ldap://h/dc=x????x-a=1,x-b"), Some(("dc=x".to_owned(), None)));
        for url in [
            "ldap://h/%4",
            "ldap://h/%zz",
            "nonsense",
            "ldap://h/dc=x?cn?one?(a=b)",
            "ldap://h/dc=x??two",
            "ldap://h/dc=x????x-a=1,!x-b",
            "ldap://h/dc=x??sub??x,%21y=1",
        ] {
            assert_eq!(of(url), None, "{url}");
        }
    }
}
