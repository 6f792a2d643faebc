//! Rows X1, X3 and X4: what a search returns besides, or less than, what its entries have tells nothing that may not be read.

use super::*;
use ResultCode::Success;
use model::Scope;
use proto::control::dereference::{DerefSpec, control as dereference, decode_results, encode};
use proto::control::matched_values::{self, control as matched_values};
use proto::filter_string;
use proto::list::{Octets, octet_list};
use proto::op::ModifyKind::{Add, Delete};

const LIST: &str = "cn=list,ou=groups,dc=example";

/// What a read of one attribute returns of the values that pass one of these items.
fn matching(client: &mut Client, dn: &str, attribute: &str, items: &[&str]) -> Option<Vec<String>> {
    let parsed: Vec<_> =
        items.iter().map(|text| filter_string::parse(text.as_bytes()).expect("a filter")).collect();
    let value = matched_values::encode(&parsed.iter().map(|item| item.filter()).collect::<Vec<_>>());
    let controls = [matched_values(&value, true)];
    let found = client.search_with(dn, Scope::Base, "(objectClass=*)", &[attribute], |_| {}, &controls);
    assert_eq!(found.end.code, Success, "{}", found.end.text);
    found.values(attribute)
}

/// A member of a list is a value that others may not read: it is not returned by asking for it, and there is nothing else that tells it.
#[test]
fn x1_matched_values_that_may_not_be_read() {
    let rules = [
        "own: subtree=\"ou=groups,dc=example\" attrs=member values=self; users; allow=read rank=2",
        "none: subtree=\"ou=groups,dc=example\" attrs=member; users; deny=read,compare,search rank=1",
        "mails: all attrs=mail values=\"(mail=*@example.com)\"; users; deny=read",
        "sn: all attrs=sn; users; deny=read,search,compare",
    ];
    // In the record, and in a tree of their own.
    for others in [2, 3_000] {
        as_ada(&rules, |mut client| {
            let names: Vec<String> = (0..others).map(|n| format!("uid=n{n},ou=people,dc=example")).collect();
            let members: Vec<&str> = names.iter().map(String::as_str).chain([BOB]).collect();
            let mut root = client.root();
            root.must_add(LIST, &[("objectClass", &["groupOfNames"]), ("member", &members)]);
            let items = |dn: &str| format!("(member={dn})");
            let (own, bob, nobody) = (items(ADA), items(BOB), items("uid=nobody,dc=example"));
            let rule = format!("(member:distinguishedNameMatch:={BOB})");
            // Of a list in which she may read nothing there is nothing.
            for asked in [&bob, &nobody, &own, &rule, "(member=*)", "(:distinguishedNameMatch:=dc=example)"] {
                assert_eq!(matching(&mut client, LIST, "member", &[asked]), None, "{asked}");
            }
            assert_eq!(matching(&mut client, LIST, "member", &[]), None);
            root.must_modify(LIST, &[(Add, "member", &[ADA])]);
            // Of one that has her, the names that are there are answered as those that are not.
            for asked in [&bob, &nobody, &rule] {
                assert_eq!(matching(&mut client, LIST, "member", &[asked]), Some(vec![]), "{asked}");
            }
            for asked in [&[&own[..]][..], &[&bob, &own], &[&bob, &nobody, &own], &["(member=*)"]] {
                assert_eq!(
                    matching(&mut client, LIST, "member", asked),
                    Some(vec![ADA.to_owned()]),
                    "{asked:?}"
                );
            }
            assert_eq!(matching(&mut root, LIST, "member", &[&bob]), Some(vec![BOB.to_owned()]));
            // Where it depends on the value.
            assert_eq!(matching(&mut client, BOB, "mail", &["(mail=bob@example.com)"]), None);
            root.must_modify(BOB, &[(Add, "mail", &["bob@home.net"])]);
            assert_eq!(matching(&mut client, BOB, "mail", &["(mail=bob@example.com)"]), Some(vec![]));
            assert_eq!(
                matching(&mut client, BOB, "mail", &["(mail=bob*)"]),
                Some(vec!["bob@home.net".to_owned()])
            );
            assert_eq!(matching(&mut client, BOB, "sn", &["(sn=Tail)"]), None);
            assert_eq!(matching(&mut client, BOB, "userPassword", &["(userPassword=*)"]), None);
            // What may be read may be selected, also by those who may not test it.
            assert_eq!(
                matching(&mut client, BOB, "cn", &["(cn=bob tail)"]),
                Some(vec!["Bob Tail".to_owned()])
            );
        });
    }
}

/// What a search with the dereference control brings for each name of ada's `seeAlso`.
fn brought(client: &mut Client, attributes: &[&str]) -> Vec<(String, Vec<u8>)> {
    let names = octet_list(attributes.iter().map(|name| name.as_bytes()));
    let spec = DerefSpec { attribute: b"seeAlso", attributes: Octets::parse(&names).expect("just encoded") };
    let value = encode(&[spec]);
    let filter = filter_string::parse(b"(objectClass=*)").expect("a filter");
    let selection = selection(&["1.1"]);
    let search = search_for(ADA, Scope::Base, filter.filter(), &selection);
    let (_, bytes) = client.encode(&proto::Request::Search(search), &[dereference(&value, true)]);
    let answers = client.raw(&bytes).0;
    let Some((_, Some(value))) = answers[0].controls.first() else { return Vec::new() };
    let results = decode_results(value).expect("it decodes");
    let owned = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    results.iter().map(|result| (owned(result.value), result.found.raw().to_vec())).collect()
}

/// A client that may write a name into an entry that it reads must not get by it what it may not read by that name.
#[test]
fn x3_what_is_dereferenced_is_what_may_be_read() {
    let write = "write: all attrs=seeAlso; users; allow=write";
    let nobody = "uid=nob,ou=people,dc=example";
    for hides in [
        "no: base=\"uid=bob,ou=people,dc=example\" attrs=entry; users; deny=disclose",
        "no: base=\"uid=bob,ou=people,dc=example\" attrs=entry; users; deny=read",
        "no: base=\"uid=bob,ou=people,dc=example\" attrs=entry; users; deny=search",
        "no: base=\"uid=bob,ou=people,dc=example\" attrs=cn,mail,objectClass; users; deny=read",
    ] {
        as_ada(&[write, hides], |mut client| {
            client.must_modify(ADA, &[(Add, "seeAlso", &[BOB, nobody, "cn=Subschema", GRACE])]);
            let mut found = brought(&mut client, &["cn", "mail", "objectClass", "userPassword"]);
            found.sort();
            let by = |dn: &str| found.iter().find(|(name, _)| name == dn).map(|(_, found)| found.clone());
            // The same as of a name that no entry has: nothing.
            assert_eq!(by(BOB), by(nobody), "{hides}");
            assert_eq!((by(nobody), by("cn=Subschema")), (Some(vec![]), Some(vec![])));
            let others = by(GRACE).expect("it is named");
            assert!(
                !others.is_empty() && !others.windows(8).any(|bytes| bytes.eq_ignore_ascii_case(b"password"))
            );
            client.must_modify(ADA, &[(Delete, "seeAlso", &[GRACE])]);
            assert_eq!(brought(&mut client, &["cn"]).len(), 3);
        });
    }
    // Values that may not be read name nothing, and neither does an attribute that may not.
    let hides =
        [write, "no: all attrs=seeAlso values=\"(seeAlso=uid=bob,ou=people,dc=example)\"; users; deny=read"];
    as_ada(&hides, |mut client| {
        client.root().must_modify(ADA, &[(Add, "seeAlso", &[BOB, GRACE])]);
        let found = brought(&mut client, &["cn"]);
        assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), [GRACE]);
    });
    as_ada(&[write, "no: all attrs=seeAlso; users; deny=read"], |mut client| {
        client.root().must_modify(ADA, &[(Add, "seeAlso", &[BOB, GRACE])]);
        assert_eq!(brought(&mut client, &["cn"]), []);
    });
}

/// Of a large list of which a client may read its own name alone, no more is said than of one that it is not in.
#[test]
fn x4_large_lists_that_are_dereferenced() {
    let rules = [
        "own: subtree=\"ou=groups,dc=example\" attrs=member values=self; users; allow=read rank=2",
        "none: subtree=\"ou=groups,dc=example\" attrs=member; users; deny=read rank=1",
        "write: all attrs=seeAlso; users; allow=write",
    ];
    as_ada(&rules, |mut client| {
        let names: Vec<String> = (0..5_000).map(|n| format!("uid=n{n},ou=people,dc=example")).collect();
        let members: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut root = client.root();
        root.must_add(LIST, &[("objectClass", &["groupOfNames"]), ("member", &members)]);
        client.must_modify(ADA, &[(Add, "seeAlso", &[LIST])]);
        assert_eq!(brought(&mut client, &["member"]), [(LIST.to_owned(), vec![])]);
        root.must_modify(LIST, &[(Add, "member", &[ADA])]);
        let found = brought(&mut client, &["member"]);
        let text = String::from_utf8_lossy(&found[0].1).into_owned();
        assert!(text.ends_with(ADA) && !text.contains("uid=n"), "{text}");
        // The root DN may read more than an answer has space for: then there is no control.
        assert_eq!(brought(&mut root, &["member"]), []);
    });
}
