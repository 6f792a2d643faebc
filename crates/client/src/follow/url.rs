//! What an LDAP URL (RFC 4516) says of a request that goes on there.

use model::Scope;

/// Name and scope that a URL has; what it does not have is that of the request before. `None` if it cannot be followed: it is no LDAP URL, it has a filter,
/// by which this server would ask what nobody has judged, or an extension that must be understood.
pub(super) fn place(url: &[u8]) -> Option<(Option<Vec<u8>>, Option<Scope>)> {
    let at = url.windows(3).position(|three| three == b"://")? + 3;
    let path = url[at..].splitn(2, |byte| *byte == b'/').nth(1).unwrap_or_default();
    let mut parts = path.split(|byte| *byte == b'?');
    let base = decoded(parts.next().unwrap_or_default())?;
    // Behind the attributes.
    let scope = match parts.nth(1) {
        Some(b"base") => Some(Scope::Base),
        Some(b"one") => Some(Scope::One),
        Some(b"sub") => Some(Scope::Subtree),
        Some(b"") | None => None,
        Some(_) => return None,
    };
    let has_filter = parts.next().is_some_and(|filter| !filter.is_empty());
    let must_know = parts.next().is_some_and(|extensions| {
        let mut extensions = extensions.split(|byte| *byte == b',');
        extensions.any(|extension| decoded(extension).is_none_or(|text| text.starts_with(b"!")))
    });
    (!has_filter && !must_know).then_some((Some(base).filter(|base| !base.is_empty()), scope))
}

/// Text without percent encoding.
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, others @ ..] = rest {
        rest = others;
        if *first != b'%' {
            out.push(*first);
            continue;
        }
        let (digits, others) = others.split_at_checked(2)?;
        out.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = others;
    }
    Some(out)
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
