//! Section 4.5: search, but for filters.

use crate::common::*;
use model::ResultCode::*;
use model::Scope;
use proto::op::ModifyKind;
use proto::tag;

const ALL: &str = "(objectClass=*)";
const PEOPLE: &str = "ou=people,dc=example";
const GRACE: &str = "uid=grace,ou=people,dc=example";

/// The base alone, its immediate subordinates, the whole subtree with the base, the subtree without it.
#[test]
fn s4_5_1_2_scopes() {
    let mut client = Client::new();
    let mut dns = |scope| client.search(PEOPLE, scope, ALL, &["1.1"]).dns().join(" ");
    assert_eq!(dns(Scope::Base), PEOPLE);
    assert_eq!(dns(Scope::One), format!("{ADA} {GRACE}"));
    assert_eq!(dns(Scope::Subtree), format!("{PEOPLE} {ADA} {GRACE}"));
    assert_eq!(dns(Scope::Subordinates), format!("{ADA} {GRACE}"));
}

/// sizeLimit: at most so many entries; sizeLimitExceeded if there are more. Zero is no limit.
#[test]
fn s4_5_1_4_size_limit() {
    let mut client = Client::new();
    for (limit, entries, code) in
        [(0, 5, Success), (1, 1, SizeLimitExceeded), (4, 4, SizeLimitExceeded), (5, 5, Success)]
    {
        let found = client.search_with(
            "dc=example",
            Scope::Subtree,
            ALL,
            &[],
            |search| search.size_limit = limit,
            &[],
        );
        assert_eq!((found.entries.len(), found.end.code), (entries, code), "{limit}");
    }
}

/// The server's own limit is also for the few that an equality index finds, and for a search of a form that was met
/// before. It does not bind the root DN.
#[test]
fn s4_5_1_4_size_limit_of_the_server() {
    for (own, found) in [(0, 4), (1, 1), (3, 3), (4, 4), (5, 4)] {
        let mut config = config();
        config.store.indexes[0].attribute = "sn".to_owned();
        config.settings.configured.limits.search.size_max = own;
        let mut client = Client::with(config);
        for name in ["a", "b", "c", "d"] {
            let person: Given<'_> = &[("objectClass", &["person"]), ("cn", &[name]), ("sn", &["Smith"])];
            client.must_add(&format!("cn={name},{PEOPLE}"), person);
        }
        let mut twice = |entries, code, who| {
            for again in [false, true] {
                let answer = client.search("dc=example", Scope::Subtree, "(sn=Smith)", &["cn"]);
                let got = (answer.entries.len(), answer.end.code);
                assert_eq!(got, (entries, code), "{who}, limit {own}, again {again}");
            }
            assert_eq!(client.bind(ADA, "lace").code, Success);
        };
        twice(4, Success, "root");
        twice(found, if found == 4 { Success } else { SizeLimitExceeded }, "ada");
    }
}

/// timeLimit: a search that takes longer ends with timeLimitExceeded. Zero is no limit.
#[test]
fn s4_5_1_5_time_limit() {
    let mut client = Client::new();
    add_people(&mut client, 2000);
    let filter = proto::filter_string::parse(b"(sn=nobody)").expect("a filter");
    for (limit, code) in [(1, TimeLimitExceeded), (2, Success), (0, Success)] {
        let mut search = search_for("dc=example", Scope::Subtree, filter.filter(), &[]);
        search.time_limit_s = limit;
        let (id, bytes) = client.encode(&proto::Request::Search(search), &[]);
        let mut out = Vec::new();
        let feed = client.session.feed(&mut client.worker, &bytes, &mut out);
        assert_eq!((feed.consumed, feed.state), (bytes.len(), dsa::State::Busy), "it has much to look at");
        client.now.monotonic_ns += 1_500_000_000;
        client.worker.tick(client.now);
        while client.session.step(&mut client.worker, &mut out) == dsa::State::Busy {}
        assert_eq!(found(id, answers(&out)).end.code, code, "{limit}");
    }
}

/// typesOnly: descriptions without values, derived attributes included.
#[test]
fn s4_5_1_6_types_only() {
    let mut client = Client::new();
    let with = |client: &mut Client, types_only| {
        client.search_with(ADA, Scope::Base, ALL, &["*", "+"], |search| search.types_only = types_only, &[])
    };
    let (full, types) = (with(&mut client, false), with(&mut client, true));
    assert_eq!(full.names(), types.names());
    assert!(types.entries[0].1.iter().all(|(_, values)| values.is_empty()));
    assert!(full.entries[0].1.iter().all(|(_, values)| !values.is_empty()));
}

/// An empty list and "*" ask for all user attributes, "1.1" alone for none, "+" for the operational ones; names
/// bring subtypes; what is not recognised is ignored.
#[test]
fn s4_5_1_8_attribute_selection() {
    let mut client = Client::new();
    let user = "cn cn;lang-fr employeeNumber objectClass sn uid userPassword";
    let mut names = |selectors: &[&str]| client.read(ADA, selectors).names().join(" ");
    assert_eq!(names(&[]), user);
    assert_eq!(names(&["*"]), user);
    assert_eq!(names(&["*", "nonsense", "", "1.2.3.4", "@nonsense", "c_n"]), user);
    assert_eq!(names(&["1.1"]), "");
    assert_eq!(names(&["nonsense"]), "");
    assert_eq!(names(&["1.1", "sn"]), "sn", "with others, 1.1 is ignored");
    assert_eq!(names(&["SURNAME", "2.5.4.4", "sn"]), "sn", "listed once, however often it is asked for");
    assert_eq!(names(&["cn"]), "cn cn;lang-fr");
    assert_eq!(names(&["cn;lang-fr"]), "cn;lang-fr");
    assert_eq!(names(&["cn;LANG-FR", "sn;lang-fr"]), "cn;lang-fr");
    assert_eq!(names(&["name"]), "cn cn;lang-fr sn", "subtypes");
    assert_eq!(names(&["@person"]), "cn cn;lang-fr objectClass sn userPassword");
    let operational = names(&["+"]);
    for name in ["createTimestamp", "creatorsName", "entryUUID", "structuralObjectClass", "subschemaSubentry"]
    {
        assert!(operational.contains(name), "{name} is in {operational}");
    }
    assert!(!operational.contains("sn"), "{operational}");
}

/// What a search selects depends on the entry as it is, not on what was known when it was first asked.
#[test]
fn s4_5_1_8_options_that_are_new() {
    let mut client = Client::new();
    assert_eq!(client.read(GRACE, &["sn;lang-en"]).names(), [""; 0]);
    assert_eq!(client.modify(GRACE, &[(ModifyKind::Add, "sn;lang-en", &["Murray"])]).code, Success);
    assert_eq!(client.read(GRACE, &["sn;lang-en"]).names(), ["sn;lang-en"]);
    assert_eq!(client.read(GRACE, &["SN;LANG-en"]).names(), ["sn;lang-en"]);
}

/// An attribute answers for each description whose options it has (RFC 4512 section 2.5.2.1), in selections, filters
/// and compare; nobody need ever have had just these.
#[test]
fn s4_5_1_8_options_in_part() {
    let mut client = Client::new();
    let end = client.modify(GRACE, &[(ModifyKind::Add, "description;lang-en-us;x-a;x-b", &["Amazing"])]);
    assert_eq!(end.code, Success, "{}", end.text);
    for asked in ["description;x-b", "description;lang-en-", "description;X-B;x-a", "description"] {
        assert_eq!(client.read(GRACE, &[asked]).names(), ["description;lang-en-us;x-a;x-b"], "{asked}");
        let found = client.search("dc=example", Scope::Subtree, &format!("({asked}=amazing)"), &["1.1"]);
        assert_eq!(found.dns(), [GRACE], "{asked}");
        assert_eq!(client.compare(GRACE, asked, "amazing").code, CompareTrue, "{asked}");
    }
    for asked in ["description;x-c", "description;x-a;x-c", "description;lang-de-", "cn;x-b"] {
        assert_eq!(client.read(GRACE, &[asked]).names(), [""; 0], "{asked}");
        let found = client.search(GRACE, Scope::Base, &format!("(!({asked}=amazing))"), &["1.1"]);
        assert_eq!(found.dns(), [GRACE], "the type is known, so this is false, not undefined: {asked}");
        assert_eq!(client.compare(GRACE, asked, "amazing").code, NoSuchAttribute, "{asked}");
    }
}

/// Any number of entries, then a single SearchResultDone.
#[test]
fn s4_5_2_entries_then_one_end() {
    let mut client = Client::new();
    let found = client.search("dc=example", Scope::Subtree, ALL, &[]);
    assert_eq!((found.entries.len(), found.end.tag, found.end.code), (5, tag::SEARCH_DONE, Success));
    let none = client.search("dc=example", Scope::Subtree, "(uid=nobody)", &[]);
    assert_eq!((none.entries.len(), none.end.code), (0, Success), "nothing found is no error");
}

/// Secrets are not returned to users, who may ask for everything else.
#[test]
fn s4_5_2_secrets_stay() {
    let mut client = Client::new();
    client.bind(GRACE, "");
    assert_eq!(client.read(ADA, &[]).end.code, NoSuchObject);
    client.bind(ADA, "lace");
    for selectors in [&["*"][..], &["userPassword"], &["@person"], &["2.5.4.35"]] {
        assert_eq!(client.read(ADA, selectors).values("userPassword"), None, "{selectors:?}");
    }
    let found = client.search("dc=example", Scope::Subtree, "(userPassword=lace)", &[]);
    assert_eq!((found.entries.len(), found.end.code), (0, Success));
    let found = client.search("dc=example", Scope::Subtree, "(!(userPassword=x))", &[]);
    assert_eq!((found.entries.len(), found.end.code), (0, Success), "neither true nor false");
}

/// No references when the base was not found, but noSuchObject; a base that is no DN is invalidDNSyntax.
#[test]
fn s4_5_3_no_reference_without_a_base() {
    let mut client = Client::new();
    for (base, code, matched) in [
        ("uid=nobody,ou=people,dc=example", NoSuchObject, PEOPLE),
        ("dc=elsewhere", NoSuchObject, ""),
        ("nonsense", InvalidDnSyntax, ""),
        ("dc=example,", InvalidDnSyntax, ""),
    ] {
        for scope in [Scope::Base, Scope::One, Scope::Subtree, Scope::Subordinates] {
            let found = client.search(base, scope, ALL, &[]);
            assert_eq!((found.end.code, &found.end.matched[..]), (code, matched), "{base}");
            assert!(found.entries.is_empty());
        }
    }
}

/// RFC 3672 section 1: without the subentries control a subentry is found by a search whose base it is, and by no other.
#[test]
fn s4_5_1_2_subentries_are_found_as_bases() {
    let mut client = Client::new();
    let subentry: Given<'_> = &[
        ("objectClass", &["subentry", "extensibleObject"]),
        ("subtreeSpecification", &["{}"]),
        ("uid", &["area"]),
    ];
    let dn = "cn=area,ou=people,dc=example";
    client.must_add(dn, subentry);
    for filter in ["(uid=area)", "(objectClass=subentry)", "(cn=area)", "(|(cn=area)(uid=area))"] {
        for (base, scope) in [
            ("dc=example", Scope::Subtree),
            ("ou=people,dc=example", Scope::One),
            ("dc=example", Scope::Subordinates),
            (dn, Scope::Subtree),
        ] {
            for _ in 0..2 {
                let found = client.search(base, scope, filter, &["cn"]);
                let expected: &[&str] = if base == dn { &[dn] } else { &[] };
                assert_eq!((found.end.code, found.dns()), (Success, expected.to_vec()), "{filter} {scope:?}");
            }
        }
        assert_eq!(client.search(dn, Scope::Base, filter, &["cn"]).dns(), [dn]);
    }
    assert_eq!(client.page("dc=example", Scope::Subtree, "(cn=area)", 5, b"").dns(), [""; 0]);
    assert_eq!(client.compare(dn, "cn", "area").code, CompareTrue);
    // What becomes another kind of entry, or is no more, hides nothing.
    client.must_add("uid=area,ou=groups,dc=example", &[("objectClass", &["account"])]);
    assert_eq!(
        client.search("dc=example", Scope::Subtree, "(uid=area)", &[]).dns(),
        ["uid=area,ou=groups,dc=example"]
    );
    assert_eq!(client.delete(dn).code, Success);
}

/// The limit is that of the search, whose pages are parts of it (RFC 2696), the server's as well as the client's.
#[test]
fn s4_5_1_4_pages_share_the_size_limit() {
    let mut config = config();
    config.settings.configured.limits.search.size_max = 8;
    let mut client = Client::with(config);
    add_people(&mut client, 20);
    let page = |client: &mut Client, size: i32, limit: i32, cookie: &[u8]| {
        let mut value = Vec::new();
        proto::control::paged_results::PagedResults { size, cookie }.encode(&mut value);
        let control = control(proto::control::paged_results::OID, &value, true);
        client.search_with(
            "ou=people,dc=example",
            Scope::One,
            "(sn=Number)",
            &["1.1"],
            |search| search.size_limit = limit,
            &[control],
        )
    };
    let all = |client: &mut Client, size: i32, limit: i32| {
        let (mut counts, mut cookie) = (Vec::new(), Vec::new());
        loop {
            let found = page(client, size, limit, &cookie);
            counts.push(found.entries.len());
            cookie = found.cookie.expect("every end has the control");
            if cookie.is_empty() {
                return (counts, found.end.code);
            }
        }
    };
    assert_eq!(all(&mut client, 3, 5), (vec![3, 2], SizeLimitExceeded));
    assert_eq!(all(&mut client, 3, 6), (vec![3, 3], SizeLimitExceeded));
    assert_eq!(all(&mut client, 7, 0), (vec![7, 7, 6], Success), "nothing limits the root DN");
    assert_eq!(all(&mut client, 10, 20), (vec![10, 10], Success));
    client.bind(ADA, "lace");
    assert_eq!(all(&mut client, 3, 0), (vec![3, 3, 2], SizeLimitExceeded));
    // The one that changes what the cookie says of entries returned has one of no search.
    let first = page(&mut client, 3, 5, b"").cookie.expect("there is more");
    for at in 0..first.len() {
        let mut forged = first.clone();
        forged[at] ^= 1;
        assert_eq!(page(&mut client, 3, 5, &forged).end.code, UnwillingToPerform, "byte {at}");
    }
}
