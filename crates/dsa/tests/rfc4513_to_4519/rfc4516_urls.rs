//! RFC 4516: LDAP URLs, where a server meets them: in referrals that it sends, in `memberURL`, in constraints, and where it asks another server itself.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 2 | takes base, attributes, scope and filter of a URL, by the grammar | `s2_searches_of_groups` |
//! | 2 | processes no URL with a critical extension: it has none | `s2_critical_extensions`, `client: urls_say_where_it_goes_on` |
//! | 2 | ignores extensions that are not critical | `s2_critical_extensions`, `client: urls_say_where_it_goes_on` |
//! | 2, RFC 3296 section 5.2 | hands a critical extension of a referral on to the client | `dsa: s5_2_critical_extensions` |
//! | 2.1 | sends URLs of reserved, unreserved and encoded characters only, with `?` encoded within a part | `s2_1_referrals_are_encoded`, `dsa: uris_are_completed` |
//! | 2.1 | resolves what is encoded | `s2_searches_of_groups` |
//! | 3 | takes the defaults of parts that are absent: the empty DN, base, `(objectClass=*)` | `s3_defaults` |
//! | RFC 4511, 4.1.10 | in a referral the DN is that of the target, where a URL has none | `dsa: s5_2_targets`, `dsa: s4_1_10_referrals` |
//!
//! Not here, and why:
//!
//! | section | sentence | reason |
//! |---|---|---|
//! | 5 | a client reuses a session only if that is compatible with the URL | binds clients; where the server asks another one, the settings name that server and how it is asked: docs/referrals.md |

use super::GRACE;
use crate::common::*;
use model::ResultCode::*;
use model::Scope;
use proto::op::ModifyKind;

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc4516_urls.rs"));
}

const GROUP: &str = "cn=found,ou=groups,dc=example";

fn with_group() -> Client {
    let mut client = Client::new();
    client.must_add(GROUP, &[("objectClass", &["groupOfURLs"])]);
    client.must_add("ou=What? A place,dc=example", &[("objectClass", &["organizationalUnit"])]);
    let far: Given<'_> =
        &[("objectClass", &["inetOrgPerson"]), ("cn", &["Babs Jensen"]), ("sn", &["Jensen"])];
    client.must_add("uid=far,ou=What? A place,dc=example", far);
    client
}

/// The members that a URL finds.
fn members(client: &mut Client, url: &str) -> Vec<String> {
    assert_eq!(client.modify(GROUP, &[(ModifyKind::Replace, "memberURL", &[url])]).code, Success);
    client.read(GROUP, &["member"]).values("member").unwrap_or_default()
}

#[test]
fn s2_searches_of_groups() {
    const FAR: &str = "uid=far,ou=What? A place,dc=example";
    let mut client = with_group();
    for (url, found) in [
        ("ldap:///ou=people,dc=example??sub?(uid=ada)", &[ADA][..]),
        ("LDAP:///OU=People,DC=example??SUB?(uid=ada)", &[ADA]),
        ("ldap:///ou=people,dc=example?cn,sn?one?(uid=*)", &[ADA, GRACE]),
        ("ldap:///uid=ada,ou=people,dc=example??base?(sn=Lovelace)", &[ADA]),
        ("ldap:///dc=example??one?(uid=*)", &[]),
        ("ldap:///dc=example??sub?(cn=Babs%20Jensen)", &[FAR]),
        ("ldap:///ou=What%3f%20A%20place,dc=example??sub?(uid=*)", &[FAR]),
        ("ldap:///dc=example??sub?(cn=Babs%5c20Jensen)", &[FAR]),
        ("ldap:///dc=example??sub?%28uid%3Dada%29", &[ADA]),
        // Not of this directory, or none at all.
        ("ldap://other.example/dc=example??sub?(uid=ada)", &[]),
        ("http:///dc=example??sub?(uid=ada)", &[]),
        ("ldap:///dc=example??everything?(uid=ada)", &[]),
        ("ldap:///dc=example??sub?(uid=ada", &[]),
        ("ldap:///dc=example??sub?(uid=%4)", &[]),
        ("ldap:///dc=example??sub?(uid=%zz)", &[]),
        ("nonsense", &[]),
    ] {
        assert_eq!(members(&mut client, url), found, "{url}");
    }
}

/// "If an extension is not implemented and is marked critical, the implementation MUST NOT process the URL. If an extension is not implemented and
/// is not marked critical, the implementation MUST ignore the extension."
#[test]
fn s2_critical_extensions() {
    let mut client = with_group();
    for (extensions, is_processed) in [
        ("", true),
        ("?", true),
        ("?e-bindname=cn=Manager%2cdc=example%2cdc=com", true),
        ("?1.2.3,x-other=!", true),
        ("?!e-bindname=cn=Manager%2cdc=example%2cdc=com", false),
        ("?x-first=1,!1.2.3", false),
        ("?!x", false),
        ("?%21x", false),
    ] {
        let url = format!("ldap:///dc=example??sub?(uid=ada){extensions}");
        assert_eq!(!members(&mut client, &url).is_empty(), is_processed, "{url}");
    }
    // The same of a group that a rule names: nobody is in it.
    for (extension, code) in [("", Success), ("?!x", InsufficientAccessRights)] {
        client.bind_root();
        let url = format!("ldap:///dc=example??sub?(uid=ada){extension}");
        assert_eq!(client.modify(GROUP, &[(ModifyKind::Replace, "memberURL", &[&url])]).code, Success);
        let rule = format!("staff: all attrs=entry,**; group=\"{GROUP}\"; allow=see,edit,write");
        let changes: &[(ModifyKind, &str, &[&str])] = &[(ModifyKind::Replace, "pandoAccessRule", &[&rule])];
        let end = client.modify("cn=config", changes);
        assert_eq!(end.code, Success, "{}", end.text);
        assert_eq!(client.bind(ADA, "lace").code, Success);
        assert_eq!(client.modify(GRACE, &[(ModifyKind::Replace, "title", &["x"])]).code, code, "{url}");
    }
}

/// Is a URL made of <reserved>, <unreserved> and <pct-encoded> of RFC 3986?
fn is_encoded(url: &str) -> bool {
    let mut rest = url.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = match byte {
            b'%' if after.len() >= 2 && after[..2].iter().all(u8::is_ascii_hexdigit) => &after[2..],
            b':' | b'/' | b'?' | b'#' | b'[' | b']' | b'@' => after,
            b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' => after,
            b'-' | b'.' | b'_' | b'~' => after,
            byte if byte.is_ascii_alphanumeric() => after,
            _ => return false,
        };
    }
    true
}

/// "A generated LDAP URL MUST consist only of the restricted set of characters"; "An octet MUST be encoded [...] the single Reserved character '?' [...]
/// inside a <dn>".
#[test]
fn s2_1_referrals_are_encoded() {
    let mut client = Client::new();
    let refers: Given<'_> =
        &[("objectClass", &["referral", "extensibleObject"]), ("ref", &["ldap://other.example"])];
    let object = "ou=a \u{e4}?b\\,c\\\"%\\<\\>{}|^`[]#/,dc=example";
    client.must_add(object, refers);
    let base = format!("cn=x y\u{20ac}?\\\\,{object}");
    let found = client.search(&base, Scope::Subtree, "(cn=*)", &[]);
    assert_eq!((found.end.code, found.end.referral.len()), (Referral, 1), "{:?}", found.end);
    let continued = client.search("dc=example", Scope::Subtree, "(cn=*)", &["1.1"]).references;
    let all: Vec<&String> = found.end.referral.iter().chain(continued.iter().flatten()).collect();
    assert_eq!(all.len(), 2);
    for url in all {
        assert!(is_encoded(url), "{url}");
        let path = url.strip_prefix("ldap://other.example/").expect("it is of the other server");
        assert_eq!(path.split('?').count(), 3, "none of the name: {url}");
        assert!(
            path.split('?').next().is_some_and(|dn| dn.contains("%3F") && dn.ends_with(",dc=example")),
            "{url}"
        );
    }
}

#[test]
fn s3_defaults() {
    let mut client = with_group();
    for (url, found) in [
        // The scope is base, the filter is that for all entries.
        (format!("ldap:///{ADA}"), &[ADA][..]),
        (format!("ldap:///{ADA}?"), &[ADA]),
        (format!("ldap:///{ADA}??"), &[ADA]),
        (format!("ldap:///{ADA}???"), &[ADA]),
        (format!("ldap:///{ADA}????"), &[ADA]),
        (format!("ldap:///{ADA}???(sn=nobody)"), &[]),
        ("ldap:///ou=people,dc=example??one".to_owned(), &[ADA, GRACE]),
        // The base is the root, which is no entry of the directory.
        ("ldap:///".to_owned(), &[]),
        ("ldap:///???(uid=ada)".to_owned(), &[]),
    ] {
        assert_eq!(members(&mut client, &url), found, "{url}");
    }
}
