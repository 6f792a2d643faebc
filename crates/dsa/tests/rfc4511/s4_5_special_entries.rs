//! Sections 4.1.10, 4.5.1.3 and 4.5.3, and RFC 3296: aliases that are followed, referral objects that are not.

use crate::common::*;
use model::ResultCode::*;
use model::{DerefAliases, Scope};
use proto::control::manage_dsa_it;
use proto::op::{ModifyDn, ModifyKind};
use proto::{Request, list::Octets};

const ALL: &str = "(objectClass=*)";
const ELSEWHERE: &str = "ou=elsewhere,dc=example";

fn with_deref(client: &mut Client, deref: DerefAliases, base: &str, scope: Scope, filter: &str) -> Found {
    client.search_with(base, scope, filter, &["1.1"], |search| search.deref_aliases = deref, &[])
}

fn alias(client: &mut Client, dn: &str, to: &str) {
    let entry: Given<'_> = &[("objectClass", &["alias", "extensibleObject"]), ("aliasedObjectName", &[to])];
    client.must_add(dn, entry);
}

fn referral(client: &mut Client, dn: &str, uris: &[&str]) {
    client.must_add(dn, &[("objectClass", &["referral", "extensibleObject"]), ("ref", uris)]);
}

/// derefFindingBaseObj: an alias is followed to the base, in place of any of its RDNs; below the base, none is.
#[test]
fn s4_5_1_3_finding_the_base() {
    use DerefAliases::*;
    let mut client = Client::new();
    alias(&mut client, "ou=staff,dc=example", "ou=people,dc=example");
    for deref in [FindingBase, Always] {
        let found = with_deref(&mut client, deref, "ou=staff,dc=example", Scope::One, ALL);
        assert_eq!(found.dns(), [ADA, "uid=grace,ou=people,dc=example"]);
        assert_eq!(
            with_deref(&mut client, deref, "uid=ada,ou=staff,dc=example", Scope::Base, ALL).dns(),
            [ADA]
        );
        let end = with_deref(&mut client, deref, "uid=x,ou=staff,dc=example", Scope::Base, ALL).end;
        assert_eq!(end.code, AliasProblem, "{end:?}");
    }
    for deref in [Never, InSearching] {
        let found = with_deref(&mut client, deref, "ou=staff,dc=example", Scope::Subtree, ALL);
        assert_eq!(found.dns(), ["ou=staff,dc=example"]);
        let end = with_deref(&mut client, deref, "uid=ada,ou=staff,dc=example", Scope::Base, ALL).end;
        assert_eq!((end.code, &end.matched[..]), (NoSuchObject, "ou=staff,dc=example"));
    }
}

/// derefInSearching: what an alias in the scope stands for is searched too, in its subtree if the scope has one, and
/// found once; the alias itself is not.
#[test]
fn s4_5_1_3_in_searching() {
    use DerefAliases::*;
    let mut client = Client::new();
    alias(&mut client, "cn=staff,ou=groups,dc=example", "ou=people,dc=example");
    alias(&mut client, "cn=ada,ou=groups,dc=example", ADA);
    for deref in [InSearching, Always] {
        let mut search = |base, scope, filter| {
            let found = with_deref(&mut client, deref, base, scope, filter);
            assert_eq!(found.end.code, Success);
            found.dns().into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let grace = "uid=grace,ou=people,dc=example";
        assert_eq!(search("ou=groups,dc=example", Scope::Subtree, "(uid=*)"), [ADA, grace]);
        assert_eq!(search("ou=groups,dc=example", Scope::Subtree, "(uid=grace)"), [grace]);
        assert_eq!(search("ou=groups,dc=example", Scope::One, ALL), ["ou=people,dc=example", ADA]);
        assert_eq!(search("dc=example", Scope::Subtree, "(uid=ada)"), [ADA]);
        assert_eq!(search("dc=example", Scope::Subtree, "(objectClass=alias)"), [""; 0]);
    }
    for deref in [Never, FindingBase] {
        let found = with_deref(&mut client, deref, "ou=groups,dc=example", Scope::One, ALL);
        assert_eq!(found.dns(), ["cn=ada,ou=groups,dc=example", "cn=staff,ou=groups,dc=example"]);
    }
}

/// Loops are detected; aliases that lead nowhere are an error of the base and nothing else.
#[test]
fn s4_5_1_3_loops_are_detected() {
    use DerefAliases::Always;
    let mut client = Client::new();
    alias(&mut client, "cn=a,ou=groups,dc=example", "cn=b,ou=groups,dc=example");
    alias(&mut client, "cn=b,ou=groups,dc=example", "cn=a,ou=groups,dc=example");
    alias(&mut client, "cn=up,ou=groups,dc=example", "dc=example");
    alias(&mut client, "cn=grows,dc=example", "cn=x,cn=grows,dc=example");
    alias(&mut client, "cn=nowhere,ou=groups,dc=example", "cn=none,dc=example");
    for (base, code) in [
        ("cn=a,ou=groups,dc=example", LoopDetect),
        ("cn=grows,dc=example", LoopDetect),
        ("cn=nowhere,ou=groups,dc=example", AliasProblem),
    ] {
        let end = with_deref(&mut client, Always, base, Scope::Base, ALL).end;
        assert_eq!((end.code, end.matched.is_empty()), (code, false), "{base}: {}", end.text);
    }
    let found = with_deref(&mut client, Always, "ou=groups,dc=example", Scope::Subtree, "(uid=ada)");
    assert_eq!((found.end.code, found.dns()), (Success, vec![ADA]));
}

/// Every operation on a referral object or below it is referred, with the URIs completed for its target.
#[test]
fn s4_1_10_referrals() {
    let mut client = Client::new();
    referral(&mut client, ELSEWHERE, &["ldap://one/ou=x,dc=org label", "ldap://two:1389"]);
    let (two, below) = ("ldap://two:1389/ou=elsewhere,dc=example", "cn=a,ou=elsewhere,dc=example");
    let person: Given<'_> = &[("objectClass", &["person"]), ("sn", &["x"])];
    let read = |client: &mut Client, dn| client.read(dn, &[]).end;
    for (end, expected) in [
        (client.delete(ELSEWHERE), ["ldap://one/ou=x,dc=org".to_owned(), two.to_owned()]),
        (
            client.compare(below, "cn", "a"),
            [
                "ldap://one/cn=a,ou=x,dc=org".to_owned(),
                "ldap://two:1389/cn=a,ou=elsewhere,dc=example".to_owned(),
            ],
        ),
        (
            client.add(below, person),
            [
                "ldap://one/cn=a,ou=x,dc=org".to_owned(),
                "ldap://two:1389/cn=a,ou=elsewhere,dc=example".to_owned(),
            ],
        ),
        (
            client.modify(ELSEWHERE, &[(ModifyKind::Delete, "ref", &[])]),
            ["ldap://one/ou=x,dc=org".to_owned(), two.to_owned()],
        ),
        (client.rename(ELSEWHERE, "ou=y", true, None), ["ldap://one/ou=x,dc=org".to_owned(), two.to_owned()]),
        (read(&mut client, ELSEWHERE), ["ldap://one/ou=x,dc=org??base".to_owned(), format!("{two}??base")]),
    ] {
        assert_eq!((end.code, &end.matched[..]), (Referral, ELSEWHERE), "{end:?}");
        assert_eq!(end.referral, expected);
    }
    let moved = client.rename(ADA, "uid=ada", false, Some(ELSEWHERE));
    assert_eq!(moved.code, AffectsMultipleDsas, "{}", moved.text);
    assert_eq!(client.add(ELSEWHERE, person).code, EntryAlreadyExists);
}

/// A name that is in no naming context leads to the servers of `default-referral`, whatever is asked of it. Names of the server's own and those that are
/// none do not, nor do names that are in a naming context.
#[test]
fn s4_1_10_default_referrals() {
    let mut client = Client::new();
    let outside = "cn=a b,dc=elsewhere";
    assert_eq!(client.read(outside, &[]).end.code, NoSuchObject);
    let put = |client: &mut Client, urls: &[&str]| {
        client.modify("cn=config", &[(ModifyKind::Replace, "pandoDefaultReferral", urls)]).code
    };
    assert_eq!(put(&mut client, &["ldap://one/dc=org"]), ConstraintViolation);
    assert_eq!(put(&mut client, &["ldap://one:389/", "LDAPS://two"]), Success);
    let person: Given<'_> = &[("objectClass", &["person"]), ("sn", &["x"])];
    let search = |client: &mut Client, scope| client.search(outside, scope, "(cn=*)", &[]).end;
    for (end, scope) in [
        (client.delete(outside), ""),
        (client.compare(outside, "cn", "a"), ""),
        (client.add(outside, person), ""),
        (client.modify(outside, &[(ModifyKind::Delete, "sn", &[])]), ""),
        (client.rename(outside, "cn=b", true, None), ""),
        (search(&mut client, Scope::Base), "??base"),
        (search(&mut client, Scope::One), "??one"),
        (search(&mut client, Scope::Subtree), "??sub"),
    ] {
        assert_eq!((end.code, &end.matched[..]), (Referral, ""), "{end:?}");
        let expected =
            ["ldap://one:389", "ldaps://two"].map(|url| format!("{url}/cn=a%20b,dc=elsewhere{scope}"));
        assert_eq!(end.referral, expected);
    }
    for (dn, code) in [
        ("cn=nobody,dc=example", NoSuchObject),
        ("cn=nothing,cn=Monitor", NoSuchObject),
        ("no name", InvalidDnSyntax),
    ] {
        assert_eq!(client.read(dn, &[]).end.code, code, "{dn}");
        assert_eq!(client.delete(dn).referral, Vec::<String>::new(), "{dn}");
    }
    // An entry does not go to another server.
    assert_eq!(client.rename(ADA, "uid=ada", true, Some("dc=elsewhere")).code, NoSuchObject);
    assert_eq!(Client::of(&client.dsa).bind(outside, "secret").code, InvalidCredentials);
    assert_eq!(put(&mut client, &[]), Success);
    assert_eq!(client.delete(outside).code, NoSuchObject);
}

/// A search that finds referral objects in its scope returns references, whatever its filter asks for.
#[test]
fn s4_5_3_references() {
    let mut client = Client::new();
    referral(&mut client, ELSEWHERE, &["ldap://h/ou=x,dc=org"]);
    let filters = ["(uid=ada)", "(objectClass=person)", ALL];
    for (scope, uri) in [
        (Scope::One, "ldap://h/ou=x,dc=org??base"),
        (Scope::Subtree, "ldap://h/ou=x,dc=org??sub"),
        (Scope::Subordinates, "ldap://h/ou=x,dc=org??sub"),
    ] {
        for filter in filters {
            let found = client.search("dc=example", scope, filter, &["1.1"]);
            assert_eq!((found.end.code, &found.references), (Success, &vec![vec![uri.to_owned()]]));
            assert!(!found.dns().contains(&ELSEWHERE));
        }
    }
    let found = client.search("ou=people,dc=example", Scope::Subtree, ALL, &["1.1"]);
    assert_eq!((found.references.len(), found.entries.len()), (0, 3));
    let (mut entries, mut references, mut cookie) = (0, 0, Vec::new());
    loop {
        let page = client.page("dc=example", Scope::Subtree, ALL, 2, &cookie);
        (entries, references) = (entries + page.entries.len(), references + page.references.len());
        cookie = page.cookie.expect("a page has a cookie");
        if cookie.is_empty() {
            break;
        }
    }
    assert_eq!((entries, references), (5, 1));
}

/// RFC 3296 section 3: with ManageDsaIT a referral object is an entry like all others.
#[test]
fn s4_5_3_managed_referral_objects() {
    let mut client = Client::new();
    referral(&mut client, ELSEWHERE, &["ldap://h"]);
    assert_eq!(client.modify(ELSEWHERE, &[(ModifyKind::Replace, "ref", &["ldap://g"])]).code, Referral);
    let manage = [manage_dsa_it::control(true)];
    let selection = selection(&["ref"]);
    let search = |base, scope| {
        let filter = model::Filter::Present(b"objectClass");
        let mut search = search_for(base, scope, filter, &selection);
        search.selection = Octets::parse(&selection).expect("just encoded");
        Request::Search(search)
    };
    let found = client.ask(&search(ELSEWHERE, Scope::Base), &manage);
    assert_eq!(found.values("ref"), Some(vec!["ldap://h".to_owned()]));
    let found = client.ask(&search("dc=example", Scope::Subtree), &manage);
    assert_eq!((found.references.len(), found.entries.len()), (0, 6));
    let list = attributes_of(&[("objectClass", &["person"]), ("sn", &["x"])]);
    let attributes = proto::Attributes::parse(&list).expect("just encoded");
    let below = proto::op::Add { dn: b"cn=below,ou=elsewhere,dc=example", attributes };
    assert_eq!(client.ask(&Request::Add(below), &manage).end.code, Success);
    let found = client.search("dc=example", Scope::Subtree, "(sn=x)", &["1.1"]);
    assert_eq!((found.references.len(), found.entries.len()), (1, 0), "below, all is elsewhere");
    let rename =
        ModifyDn { dn: ELSEWHERE.as_bytes(), new_rdn: b"ou=y", delete_old_rdn: true, new_superior: None };
    assert_eq!(client.ask(&Request::ModifyDn(rename), &manage).end.code, Success);
    for dn in ["cn=below,ou=y,dc=example", "ou=y,dc=example"] {
        assert_eq!(client.ask(&Request::Delete(dn.as_bytes()), &manage).end.code, Success, "{dn}");
    }
    let found = client.search("dc=example", Scope::Subtree, ALL, &["1.1"]);
    assert_eq!((found.references.len(), found.entries.len()), (0, 5));
}

/// Who may not search learns neither of referrals nor of entries.
#[test]
fn s4_5_3_nothing_for_those_who_may_not_search() {
    let mut client = Client::new();
    referral(&mut client, ELSEWHERE, &["ldap://h"]);
    assert_eq!(client.bind("", "").code, Success);
    let mut texts = Vec::new();
    for dn in [ELSEWHERE, "cn=x,ou=elsewhere,dc=example", ADA, "cn=none,dc=example"] {
        let end = client.read(dn, &[]).end;
        assert_eq!((end.code, &end.matched[..]), (NoSuchObject, ""), "{dn}");
        texts.push(end.text);
    }
    texts.dedup();
    assert_eq!(texts.len(), 1, "the same words for what is hidden and for what is absent");
}
