//! RFC 3672 section 3: the subentries control.

use crate::common::{Client, Given, control, is_published};
use model::ResultCode::{ProtocolError, Success, UnavailableCriticalExtension};
use model::Scope;
use proto::control::subentries::{OID, Visible, control as subentries};
use proto::control::{Control, paged_results};

const PEOPLE: &str = "ou=people,dc=example";
const AREA: &str = "cn=area,ou=people,dc=example";

fn with_subentry() -> Client {
    let mut client = Client::new();
    let subentry: Given<'_> = &[("objectClass", &["subentry"]), ("subtreeSpecification", &["{}"])];
    client.must_add(AREA, subentry);
    client
}

/// "TRUE indicates that subentries are visible and normal entries are not. [...] FALSE indicates that normal entries are visible and subentries
/// are not."
#[test]
fn rfc3672_s3_one_kind_is_visible() {
    let mut client = with_subentry();
    let all = client.search(PEOPLE, Scope::Subtree, "(objectClass=*)", &["1.1"]).entries.len();
    for critical in [true, false] {
        let mut found = |base, scope, filter, visible: Visible| {
            let value = visible.encode();
            let controls = [subentries(&value, critical)];
            // The second time it would be of a form that is known.
            client.search_with(base, scope, filter, &["1.1"], |_| {}, &controls);
            let found = client.search_with(base, scope, filter, &["1.1"], |_| {}, &controls);
            assert_eq!(found.end.code, Success);
            found.dns().into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        for (base, scope) in [
            ("dc=example", Scope::Subtree),
            (PEOPLE, Scope::One),
            (PEOPLE, Scope::Subordinates),
            (AREA, Scope::Base),
            (AREA, Scope::Subtree),
        ] {
            for filter in ["(objectClass=*)", "(cn=area)", "(objectClass=subentry)"] {
                assert_eq!(
                    found(base, scope, filter, Visible::Subentries),
                    [AREA],
                    "{base} {scope:?} {filter}"
                );
                let others = found(base, scope, filter, Visible::Entries);
                assert!(!others.iter().any(|dn| dn == AREA), "{base} {scope:?} {filter}");
            }
        }
        assert_eq!(found(PEOPLE, Scope::Subtree, "(objectClass=*)", Visible::Entries).len(), all);
        assert_eq!(found(PEOPLE, Scope::Base, "(objectClass=*)", Visible::Subentries), [""; 0]);
        assert_eq!(found(PEOPLE, Scope::Base, "(objectClass=*)", Visible::Entries), [PEOPLE]);
    }
    // Without it they are seen by their bases alone.
    assert_eq!(client.search(AREA, Scope::Base, "(objectClass=*)", &["1.1"]).dns(), [AREA]);
    assert!(!client.search(PEOPLE, Scope::Subtree, "(objectClass=*)", &["1.1"]).dns().contains(&AREA));
}

/// In a directory without subentries there is nothing to see.
#[test]
fn rfc3672_s3_where_there_are_none() {
    let mut client = Client::new();
    let value = Visible::Subentries.encode();
    for scope in [Scope::Base, Scope::One, Scope::Subtree] {
        let found = client.search_with(
            PEOPLE,
            scope,
            "(objectClass=*)",
            &["1.1"],
            |_| {},
            &[subentries(&value, true)],
        );
        assert_eq!((found.end.code, found.dns()), (Success, vec![]));
    }
}

/// Pages count what is visible.
#[test]
fn rfc3672_s3_in_pages() {
    let mut client = with_subentry();
    for n in 0..4 {
        let dn = format!("cn=area{n},{PEOPLE}");
        client.must_add(&dn, &[("objectClass", &["subentry"]), ("subtreeSpecification", &["{}"])]);
    }
    let visible = Visible::Subentries.encode();
    let (mut cookie, mut sizes) = (Vec::new(), Vec::new());
    loop {
        let mut page = Vec::new();
        paged_results::PagedResults { size: 2, cookie: &cookie }.encode(&mut page);
        let controls = [subentries(&visible, true), control(paged_results::OID, &page, true)];
        let found =
            client.search_with("dc=example", Scope::Subtree, "(objectClass=*)", &["1.1"], |_| {}, &controls);
        assert_eq!(found.end.code, Success);
        sizes.push(found.entries.len());
        cookie = found.cookie.expect("each page has one");
        if cookie.is_empty() {
            break;
        }
    }
    assert_eq!(sizes, [2, 2, 1]);
}

/// "controlValue contains a BER-encoded BOOLEAN"; the control is of searches.
#[test]
fn rfc3672_s3_the_value_is_a_boolean() {
    let mut client = with_subentry();
    for value in [None, Some(&b""[..]), Some(&[1, 1]), Some(&[1, 1, 0xff, 0]), Some(&[2, 1, 1])] {
        for critical in [true, false] {
            let controls = [Control { oid: OID, critical, value }];
            let found = client.search_with(AREA, Scope::Base, "(cn=*)", &[], |_| {}, &controls);
            assert_eq!(found.end.code, ProtocolError, "{value:x?}");
        }
    }
    let value = Visible::Entries.encode();
    let twice = [subentries(&value, true), subentries(&value, true)];
    assert_eq!(client.search_with(AREA, Scope::Base, "(cn=*)", &[], |_| {}, &twice).end.code, ProtocolError);
    let deleted = client.delete_with(AREA, &[subentries(&value, true)]);
    assert_eq!(deleted.end.code, UnavailableCriticalExtension);
    assert_eq!(client.delete_with(AREA, &[subentries(&value, false)]).end.code, Success);
}

/// RFC 3672 section 3 and RFC 4512 section 5.1: it is published.
#[test]
fn rfc3672_s3_the_root_dse_lists_it() {
    assert!(is_published("supportedControl", OID));
}
