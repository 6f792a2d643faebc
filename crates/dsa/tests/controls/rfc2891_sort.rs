//! RFC 2891: server side sorting.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 1 | publishes the control | `rfc2891_the_root_dse_lists_it` |
//! | 1.1 | takes a list of one key or more, and nothing else; wants no attribute twice | `rfc2891_s1_1_the_value_is_a_list_of_keys`, `rfc2891_s2_what_cannot_be_sorted` |
//! | 1.1 | orders by the attribute's own rule if no other is named | `rfc2891_s2_entries_come_in_order`, `rfc2891_s1_1_the_rule_of_the_attribute` |
//! | 1.2, 2 | says success exactly if the entries are sorted, else why not and by which attribute | `rfc2891_s2_entries_come_in_order`, `rfc2891_s2_what_cannot_be_sorted` |
//! | 2, 1 and 2 | on another operation: fails if the control is critical, ignores it if not | `rfc2891_s1_1_the_value_is_a_list_of_keys` |
//! | 2, 3 and 4 | fails if it cannot sort and the control is critical, else returns the entries unsorted | `rfc2891_s2_what_cannot_be_sorted` |
//! | 2, 6 | omits the response control without entries | `rfc2891_s2_no_response_without_entries` |
//! | 2.1 | does not chain a sorted search, so no list is put together of several: it refers the client | `black-box: test_a_search_is_followed_by_the_server` |
//! | 2.2 | has entries without a value last, in reverse order first; takes the least of several values | `rfc2891_s2_entries_come_in_order` |
//! | 3 | pages have the order of the whole list | `rfc2891_s3_*` |
//! | 4 | the order tells nothing of what may not be read | `dsa: x5_x1_the_order_is_that_of_what_may_be_read` |

use crate::common::{
    ADA, Client, Found, Given, PASSWORD, ROOT_DN, check_table, config, control, is_published,
};
use model::ResultCode::{
    InappropriateMatching, NoSuchAttribute, ProtocolError, SizeLimitExceeded, Success,
    UnavailableCriticalExtension, UnwillingToPerform,
};
use model::{ResultCode, Scope};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proto::control::Control;
use proto::control::paged_results::{self, PagedResults};
use proto::control::sort::{self, OID, RESPONSE_OID, SortKey};
use proto::op::ModifyKind;

pub(crate) const LIST: &str = "ou=list,dc=example";

/// A key as tests write it: `-sn`, `sn:caseExactMatch`.
pub(crate) fn key(text: &str) -> SortKey<'_> {
    let (reverse, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (attribute, rule) = text.split_once(':').map_or((text, None), |(name, rule)| (name, Some(rule)));
    SortKey { attribute: attribute.as_bytes(), ordering_rule: rule.map(str::as_bytes), reverse }
}

pub(crate) fn keys(text: &str) -> Vec<u8> {
    sort::encode(&text.split_whitespace().map(key).collect::<Vec<_>>())
}

/// Three people, one without a title, and one with two surnames.
pub(crate) fn with_list() -> Client {
    let mut client = Client::new();
    client.must_add(LIST, &[("objectClass", &["organizationalUnit"])]);
    let people: [(&str, Given<'_>); 4] = [
        ("a", &[("sn", &["Zeta", "beta"]), ("title", &["B"]), ("employeeNumber", &["10"])]),
        ("b", &[("sn", &["Alpha"]), ("employeeNumber", &["9"])]),
        ("c", &[("sn", &["gamma"]), ("title", &["a"]), ("employeeNumber", &["9"])]),
        ("d", &[("sn", &["Gamma"]), ("title", &["C"])]),
    ];
    for (name, attributes) in people {
        let mut all = vec![("objectClass", &["inetOrgPerson"][..]), ("cn", &["x"])];
        all.extend_from_slice(attributes);
        client.must_add(&format!("uid={name},{LIST}"), &all);
    }
    client
}

/// Names of the entries, in the order in which they came.
pub(crate) fn names(found: &Found) -> String {
    let name = |dn: &str| dn.trim_start_matches("uid=").split(',').next().unwrap_or_default().to_owned();
    found.entries.iter().map(|(dn, _)| name(dn)).collect()
}

pub(crate) fn sort_result(found: &Found) -> Option<(i32, Option<String>)> {
    let (_, value) = found.controls.iter().find(|(oid, _)| oid.as_bytes() == RESPONSE_OID)?;
    let (code, attribute) =
        sort::decode_response(value.as_deref().expect("it has a value")).expect("it is one");
    Some((code, attribute.map(|name| String::from_utf8_lossy(name).into_owned())))
}

fn sorted(client: &mut Client, by: &str, critical: bool) -> Found {
    let value = keys(by);
    client.search_with(LIST, Scope::One, "(cn=x)", &["1.1"], |_| {}, &[sort::control(&value, critical)])
}

/// Section 2, 5: "it should include the sortKeyResponseControl in the searchResultDone message with a sortResult of success".
#[test]
fn rfc2891_s2_entries_come_in_order() {
    let mut client = with_list();
    for (by, order) in [
        // The least of two values counts (section 2.2).
        ("sn", "bacd"),
        ("-sn", "cdab"),
        ("sn:2.5.13.3", "bacd"),
        // An attribute without an ordering rule is ordered as its equality rule takes values for equal.
        ("sn:caseExactOrderingMatch", "bdac"),
        // Null is larger than all values (section 2.2).
        ("title", "cadb"),
        ("-title", "bdac"),
        // Texts, not numbers.
        ("employeeNumber", "abcd"),
        ("employeeNumber -sn", "acbd"),
        ("sn -title", "badc"),
        // A supertype has the values of all its subtypes.
        ("name:caseIgnoreMatch", "cbad"),
        // Worked out, and the same for all.
        ("hasSubordinates", "abcd"),
        ("-createTimestamp uid", "abcd"),
        ("description", "abcd"),
    ] {
        for critical in [true, false] {
            let found = sorted(&mut client, by, critical);
            assert_eq!((found.end.code, &names(&found)[..]), (Success, order), "{by}");
            assert_eq!(sort_result(&found), Some((0, None)), "{by}");
        }
    }
}

/// Section 2, 3: "return unavailableCriticalExtension [...]; include the sortKeyResponseControl [...], and not send back any search result entries";
/// 4: "return all search results unsorted and include the sortKeyResponseControl". Sections 1.1 and 1.2 have the codes.
#[test]
fn rfc2891_s2_what_cannot_be_sorted() {
    let mut client = with_list();
    for (by, code, attribute) in [
        ("nosuch", NoSuchAttribute, "nosuch"),
        ("sn nosuch", NoSuchAttribute, "nosuch"),
        ("sn:nosuch", InappropriateMatching, "sn"),
        ("sn:integerOrderingMatch", InappropriateMatching, "sn"),
        ("member", InappropriateMatching, "member"),
        ("objectClass", InappropriateMatching, "objectClass"),
        ("jpegPhoto", InappropriateMatching, "jpegPhoto"),
        ("sn title -sn", UnwillingToPerform, "sn"),
        ("sn surname", UnwillingToPerform, "surname"),
    ] {
        let refused = sorted(&mut client, by, true);
        assert_eq!((refused.end.code, refused.entries.len()), (UnavailableCriticalExtension, 0), "{by}");
        let response = Some((code as i32, Some(attribute.to_owned())));
        assert_eq!(sort_result(&refused), response, "{by}");
        let unsorted = sorted(&mut client, by, false);
        assert_eq!((unsorted.end.code, &names(&unsorted)[..]), (Success, "abcd"), "{by}");
        assert_eq!(sort_result(&unsorted), response, "{by}");
    }
}

/// Section 2, 6: "If the search request failed for any reason and/or there are no searchResultEntry messages returned [...], then the server
/// SHOULD omit the sortKeyResponseControl".
#[test]
fn rfc2891_s2_no_response_without_entries() {
    let mut client = with_list();
    let value = keys("sn");
    let controls = [sort::control(&value, true)];
    let none = client.search_with(LIST, Scope::One, "(cn=y)", &["1.1"], |_| {}, &controls);
    assert_eq!((none.end.code, sort_result(&none)), (Success, None));
    let gone = client.search_with("ou=none,dc=example", Scope::One, "(cn=y)", &["1.1"], |_| {}, &controls);
    assert_eq!((gone.end.code, sort_result(&gone)), (ResultCode::NoSuchObject, None));
    // A limit cuts the sorted list.
    let limit = |search: &mut proto::op::Search<'_>| search.size_limit = 2;
    let cut = client.search_with(LIST, Scope::One, "(cn=x)", &["1.1"], limit, &controls);
    assert_eq!((cut.end.code, &names(&cut)[..]), (SizeLimitExceeded, "ba"));
}

/// Section 3: "the server should send the searchResultEntry messages sorted according to the sort keys applied to the entire result set", and "SHOULD
/// send back a sortKeyResponseControl control on every searchResultDone message for each page".
#[test]
fn rfc2891_s3_pages_of_the_whole_list() {
    let mut client = with_list();
    let long = "x".repeat(2000);
    for (by, order) in [("sn", "bacd"), ("-title", "bdac"), ("description", "abcd")] {
        let value = keys(by);
        for changes_between in [false, true] {
            let (mut cookie, mut pages) = (Vec::new(), Vec::new());
            loop {
                let mut page = Vec::new();
                PagedResults { size: 3, cookie: &cookie }.encode(&mut page);
                let controls = [sort::control(&value, false), control(paged_results::OID, &page, true)];
                let found = client.search_with(LIST, Scope::One, "(cn=x)", &["1.1"], |_| {}, &controls);
                assert_eq!((found.end.code, sort_result(&found)), (Success, Some((0, None))));
                pages.push(names(&found));
                cookie = found.cookie.expect("each page has one");
                if cookie.is_empty() {
                    break;
                }
                // What comes before the place of the list moves nobody behind it.
                if changes_between {
                    let dn = format!("uid=early,{LIST}");
                    let all: Given<'_> = &[
                        ("objectClass", &["inetOrgPerson"]),
                        ("cn", &["x"]),
                        ("sn", &["A"]),
                        ("title", &["zz"]),
                    ];
                    client.must_add(&dn, all);
                    assert_eq!(client.delete(&format!("uid=b,{LIST}")).code, Success);
                }
            }
            if changes_between {
                assert_eq!(client.delete(&format!("uid=early,{LIST}")).code, Success);
                let all: Given<'_> = &[
                    ("objectClass", &["inetOrgPerson"]),
                    ("cn", &["x"]),
                    ("sn", &["Alpha"]),
                    ("employeeNumber", &["9"]),
                ];
                client.must_add(&format!("uid=b,{LIST}"), all);
            }
            // By description nothing is in order but ids, so `b` is found once more.
            if !(changes_between && by == "description") {
                assert_eq!(pages.concat(), order, "by {by}: {pages:?}");
            }
            // The cookie is of this order alone.
            let mut page = Vec::new();
            PagedResults { size: 3, cookie: b"" }.encode(&mut page);
            let first = [sort::control(&value, false), control(paged_results::OID, &page, true)];
            let found = client.search_with(LIST, Scope::One, "(cn=x)", &["1.1"], |_| {}, &first);
            let cookie = found.cookie.expect("it has one");
            let mut page = Vec::new();
            PagedResults { size: 3, cookie: &cookie }.encode(&mut page);
            let other = keys("-uid");
            for controls in [
                &[sort::control(&other, false), control(paged_results::OID, &page, true)][..],
                &[control(paged_results::OID, &page, true)],
            ] {
                let found = client.search_with(LIST, Scope::One, "(cn=x)", &["1.1"], |_| {}, controls);
                assert_eq!(found.end.code, UnwillingToPerform);
            }
        }
    }
    // Keys that no cookie holds.
    for name in ["a", "b"] {
        let changes: &[(proto::op::ModifyKind, &str, &[&str])] =
            &[(proto::op::ModifyKind::Replace, "description", &[&long])];
        assert_eq!(client.modify(&format!("uid={name},{LIST}"), changes).code, Success);
    }
    let value = keys("description -uid");
    let (mut cookie, mut all) = (Vec::new(), String::new());
    while {
        let mut page = Vec::new();
        PagedResults { size: 1, cookie: &cookie }.encode(&mut page);
        let controls = [sort::control(&value, true), control(paged_results::OID, &page, true)];
        let found = client.search_with(LIST, Scope::One, "(cn=x)", &["1.1"], |_| {}, &controls);
        all.push_str(&names(&found));
        cookie = found.cookie.expect("each page has one");
        !cookie.is_empty()
    } {}
    assert_eq!(all, "badc");
}

/// Section 1.1: the form of the value. The control is of searches (section 1.1: "included in the searchRequest message").
#[test]
fn rfc2891_s1_1_the_value_is_a_list_of_keys() {
    let mut client = with_list();
    for value in [None, Some(&b""[..]), Some(b"\x30\x00"), Some(b"\x30\x02\x04\x00"), Some(b"\x04\x02sn")] {
        for critical in [true, false] {
            let controls = [Control { oid: OID, critical, value }];
            let found = client.search_with(LIST, Scope::Base, "(cn=*)", &[], |_| {}, &controls);
            assert_eq!(found.end.code, ProtocolError, "{value:x?}");
        }
    }
    let value = keys("sn");
    let twice = [sort::control(&value, true), sort::control(&value, true)];
    assert_eq!(client.search_with(LIST, Scope::Base, "(cn=*)", &[], |_| {}, &twice).end.code, ProtocolError);
    let many = sort::encode(&vec![key("sn"); 17]);
    let found = client.search_with(LIST, Scope::One, "(cn=x)", &[], |_| {}, &[sort::control(&many, false)]);
    assert_eq!(found.end.code, ResultCode::AdminLimitExceeded);
    let deleted = client.delete_with(&format!("uid=a,{LIST}"), &[sort::control(&value, true)]);
    assert_eq!(deleted.end.code, UnavailableCriticalExtension);
    assert_eq!(
        client.delete_with(&format!("uid=a,{LIST}"), &[sort::control(&value, false)]).end.code,
        Success
    );
    // A base search has a list of one.
    let one =
        client.search_with(LIST, Scope::Base, "(ou=*)", &["1.1"], |_| {}, &[sort::control(&value, true)]);
    assert_eq!((one.entries.len(), sort_result(&one)), (1, Some((0, None))));
    // The server's own entries are sorted too.
    let value = keys("-cn");
    let own = client.search_with(
        "cn=monitor",
        Scope::One,
        "(cn=*)",
        &["cn"],
        |_| {},
        &[sort::control(&value, true)],
    );
    let dns: Vec<String> = own.entries.iter().map(|(dn, _)| dn.to_ascii_lowercase()).collect();
    assert!(dns.len() > 3 && dns.is_sorted_by(|a, b| a >= b), "{dns:?}");
}

/// "Support is indicated": the root DSE lists the request control (RFC 4512 section 5.1).
#[test]
fn rfc2891_the_root_dse_lists_it() {
    assert!(is_published("supportedControl", OID));
}

/// People with values with a common beginning, with several values, and without any; the client is the root DN.
fn with_many(is_indexed: bool) -> Client {
    let mut config = config();
    let rule = "no: all attrs=sn values=\"(sn=*7*)\"; users; deny=read".to_owned();
    config.settings.configured.access.rules = access::parse_all(&[rule]).expect("the rule is sound");
    if is_indexed {
        config.store.indexes.push(store::IndexSettings::of("sn", [store::IndexKind::Ordering]));
    }
    let mut client = Client::with(config);
    client.must_add(LIST, &[("objectClass", &["organizationalUnit"])]);
    for n in 0..400_usize {
        // Without an order of its own, and the same for both.
        let number = n * 7919 % 400;
        let (shared, own) = (format!("Hamilton-{number}"), format!("a{number:03}b"));
        let values = match n % 5 {
            0 => vec![shared.as_str()],
            1 => vec![own.as_str(), shared.as_str()],
            2 => vec!["hamilton", own.as_str()],
            3 => vec![own.as_str()],
            _ => vec![],
        };
        let title = [if n % 3 == 0 { "boss" } else { "aide" }];
        let mut all: Vec<(&str, &[&str])> =
            vec![("objectClass", &["account", "extensibleObject"]), ("cn", &["x"]), ("title", &title)];
        if !values.is_empty() {
            all.push(("sn", &values));
        }
        client.must_add(&format!("uid=p{n},{LIST}"), &all);
    }
    client
}

/// All entries of a search by its pages; 0: without pages. `change` is done after each of them.
fn all_pages(
    client: &mut Client,
    (by, filter, size): (&str, &str, i32),
    mut change: impl FnMut(&mut Client),
) -> Vec<String> {
    let (by, mut cookie, mut all) = (keys(by), Vec::new(), Vec::new());
    loop {
        let mut page = Vec::new();
        PagedResults { size, cookie: &cookie }.encode(&mut page);
        let controls = [sort::control(&by, true), control(paged_results::OID, &page, true)];
        let controls = if size == 0 { &controls[..1] } else { &controls };
        let found = client.search_with(LIST, Scope::One, filter, &["1.1"], |_| {}, controls);
        // Without entries nothing is said of the order.
        let said = (!found.entries.is_empty()).then_some((0, None));
        assert_eq!((found.end.code, sort_result(&found)), (Success, said), "{}", found.end.text);
        all.extend(found.entries.iter().map(|(dn, _)| dn.clone()));
        cookie = found.cookie.unwrap_or_default();
        if cookie.is_empty() {
            return all;
        }
        assert_eq!(found.entries.len(), size as usize, "a page that is not the last is full");
        change(client);
    }
}

/// An ordering index gives the same order as sorting all entries, for those who may not read all values as well.
#[test]
fn rfc2891_s3_an_index_gives_the_same_order() {
    let (mut plain, mut indexed) = (with_many(false), with_many(true));
    for is_root in [true, false] {
        if !is_root {
            assert_eq!(plain.bind(ADA, "lace").code, Success);
            assert_eq!(indexed.bind(ADA, "lace").code, Success);
        }
        for by in ["sn", "sn:caseIgnoreOrderingMatch", "sn title", "sn -uid", "-sn", "-sn -uid", "title sn"] {
            // In reverse order the index serves the last ones, for those who may read all values.
            for filter in ["(cn=x)", "(title=boss)", "(!(sn=hamilton))", "(&(cn=x)(sn=*))", "(sn=*a*)"] {
                for size in [0, 1, 13, 30, 200] {
                    let asked = (by, filter, size);
                    let expected = all_pages(&mut plain, asked, |_| {});
                    assert_eq!(all_pages(&mut indexed, asked, |_| {}), expected, "{asked:?} {is_root}");
                }
            }
        }
    }
}

/// What is added before the place that a page has come to moves nobody behind it, and a page goes on without the index as with it.
#[test]
fn rfc2891_s3_pages_by_an_index_while_the_directory_changes() {
    let mut client = with_many(true);
    let before = all_pages(&mut client, ("sn", "(cn=x)", 17), |_| {});
    let mut turn = 0;
    let during = all_pages(&mut client, ("sn", "(cn=x)", 17), |client| {
        turn += 1;
        let all: Given<'_> =
            &[("objectClass", &["account", "extensibleObject"]), ("cn", &["x"]), ("sn", &["0"])];
        client.must_add(&format!("uid=early{turn},{LIST}"), all);
        if turn == 9 {
            let dropped: &[(_, &str, &[&str])] = &[(ModifyKind::Delete, "olcDbIndex", &["sn:ord"])];
            assert_eq!(client.modify("cn=config", dropped).code, Success);
        }
    });
    assert_eq!(during, before);
}

/// Surnames: short ones that several have, long ones, and some with eight octets in common.
const SURNAME: &str = "[a-c]{1,10}|aaaaaaaa[a-c]{0,3}";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Pages by an index are those of a plain sort, whatever prefixes have in common and whatever changes come between two pages, also for those who may not
    /// read all values.
    #[test]
    fn pages_by_an_index_are_those_of_a_plain_sort(
        people in vec(btree_set(SURNAME, 0..3), 50..150),
        changes in vec((any::<Index>(), btree_set(SURNAME, 0..3)), 0..40),
        by in select(vec!["sn", "-sn", "sn -uid", "-sn uid"]),
        filter in select(vec!["(sn=*)", "(cn=x)", "(&(cn=x)(sn=*))", "(sn=*ab*)", "(&(sn=*)(!(uid=*3)))"]),
        size in 1..12,
        is_root in any::<bool>(),
    ) {
        let pages = [false, true].map(|is_indexed| {
            let mut config = config();
            let rule = "no: all attrs=sn values=\"(sn=*bb*)\"; users; deny=read".to_owned();
            config.settings.configured.access.rules = access::parse_all(&[rule]).expect("the rule is sound");
            if is_indexed {
                config.store.indexes.push(store::IndexSettings::of("sn", [store::IndexKind::Ordering]));
            }
            let mut client = Client::with(config);
            client.must_add(LIST, &[("objectClass", &["organizationalUnit"])]);
            for (n, surnames) in people.iter().enumerate() {
                let surnames: Vec<&str> = surnames.iter().map(String::as_str).collect();
                let mut all: Vec<(&str, &[&str])> =
                    vec![("objectClass", &["account", "extensibleObject"]), ("cn", &["x"])];
                if !surnames.is_empty() {
                    all.push(("sn", &surnames));
                }
                client.must_add(&format!("uid={n},{LIST}"), &all);
            }
            let mut root = Client::of(&client.dsa);
            assert_eq!(root.bind(ROOT_DN, PASSWORD).code, Success);
            if !is_root {
                assert_eq!(client.bind(ADA, "lace").code, Success);
            }
            let mut changes = changes.iter();
            all_pages(&mut client, (by, filter, size), |_| {
                if let Some((who, surnames)) = changes.next() {
                    let surnames: Vec<&str> = surnames.iter().map(String::as_str).collect();
                    let dn = format!("uid={},{LIST}", who.index(people.len()));
                    assert_eq!(root.modify(&dn, &[(ModifyKind::Replace, "sn", &surnames)]).code, Success);
                }
            })
        });
        prop_assert_eq!(&pages[1], &pages[0]);
    }
}

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc2891_sort.rs"));
}

/// "If the orderingRule is omitted, the ordering MatchingRule defined for use with this attribute MUST be used": numbers by number, text without
/// regard to case, times by time.
#[test]
fn rfc2891_s1_1_the_rule_of_the_attribute() {
    let mut client = Client::new();
    client.must_add(LIST, &[("objectClass", &["organizationalUnit"])]);
    for (name, number) in [("a", "10"), ("b", "9"), ("c", "-1"), ("d", "100")] {
        let all: Given<'_> =
            &[("objectClass", &["account", "extensibleObject"]), ("cn", &["x"]), ("uidNumber", &[number])];
        client.must_add(&format!("uid={name},{LIST}"), all);
    }
    for (by, order) in [
        ("uidNumber", "cbad"),
        ("-uidNumber", "dabc"),
        ("uidNumber:integerOrderingMatch", "cbad"),
        ("uidNumber:2.5.13.15", "cbad"),
        ("-createTimestamp -uidNumber", "dabc"),
    ] {
        let found = sorted(&mut client, by, true);
        assert_eq!((&names(&found)[..], sort_result(&found)), (order, Some((0, None))), "{by}");
    }
}
