use super::session::{Buffers, answer_all};
use super::*;
use model::filter::{Assertion, Filter};
use model::scope::Scope;
use proptest::prelude::*;
use proto::list::{Attributes, attribute_list};
use proto::list::{Octets, octet_list};
use proto::message::Request;
use proto::op::SearchEntry;
use proto::op::modify::{Changes, ModifyKind, change_list};
use proto::op::{Modify, Search};

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            entries: 1_000_000,
            threads: 1,
            suffix: "dc=com".to_owned(),
            rdn: "uid".to_owned(),
            object_classes: vec!["inetOrgPerson".to_owned()],
            attribute: "carLicense".to_owned(),
            wal: None,
        }
    }
}

fn null(entries: u64) -> Null {
    Null::new(&Settings {
        entries,
        object_classes: vec!["top".into(), "person".into()],
        ..Settings::default()
    })
    .unwrap()
}

/// What the responder answers to these bytes, and how many of them it used; `None`: it hangs up.
fn answers(null: &Null, bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut buffers = Buffers::new(None);
    buffers.input[..bytes.len()].copy_from_slice(bytes);
    let used = answer_all(bytes.len(), &null.canned, &null.table, &mut buffers)?;
    Some((buffers.out, used))
}

fn encoded(id: i32, request: &Request<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    request.encode(&mut out, id, &[]);
    out
}

fn search(id: i32, base: &str, equal_to: Option<&str>, selection: &str) -> Vec<u8> {
    let list = octet_list([selection.as_bytes()].into_iter().filter(|selector| !selector.is_empty()));
    let selection = Octets::parse(&list).unwrap();
    let (scope, filter) = match equal_to {
        None => (Scope::Base, Filter::Present(b"objectClass")),
        Some(value) => {
            (Scope::Subtree, Filter::Equality(Assertion { attribute: b"uid", value: value.as_bytes() }))
        }
    };
    let search = Search::unlimited(base.as_bytes(), scope, filter, selection);
    encoded(id, &Request::Search(Search { size_limit: 1000, ..search }))
}

fn modify(id: i32, dn: &str, value: &str) -> Vec<u8> {
    let list = change_list([(ModifyKind::Replace, &b"carLicense"[..], [value.as_bytes()])]);
    let changes = Changes::parse(&list).unwrap();
    encoded(id, &Request::Modify(Modify { dn: dn.as_bytes(), changes }))
}

fn done(tag: u8, id: u8, code: u8) -> Vec<u8> {
    vec![0x30, 0x0c, 2, 1, id, tag, 7, 0x0a, 1, code, 4, 0, 4, 0]
}

#[test]
fn searches_are_answered_to_the_byte() {
    let null = null(50);
    let entry = b"\x30\x16\x02\x01\x05\x64\x11\x04\x0duid=42,dc=com\x30\x00";
    let expected = [&entry[..], &done(0x65, 5, 0)].concat();
    let bytes = search(5, "uid=42,dc=com", None, "1.1");
    assert_eq!(answers(&null, &bytes), Some((expected.clone(), bytes.len())));
    let bytes = search(5, "dc=com", Some("42"), "1.1");
    assert_eq!(answers(&null, &bytes), Some((expected, bytes.len())));
    for absent in ["uid=50,dc=com", "uid=4x,dc=com", "cn=4,dc=com", "uid=4,dc=net", "uid=,dc=com", "dc=com"] {
        let bytes = search(5, absent, None, "1.1");
        assert_eq!(answers(&null, &bytes), Some((done(0x65, 5, 32), bytes.len())), "{absent}");
    }
}

#[test]
fn a_modified_value_is_answered() {
    let null = null(50);
    let all = |value: &str| {
        let mut out = Vec::new();
        let list = attribute_list([
            (&b"objectClass"[..], vec![&b"top"[..], b"person"]),
            (b"uid", vec![b"3"]),
            (b"carLicense", vec![value.as_bytes()]),
        ]);
        let attributes = Attributes::parse(&list).unwrap();
        SearchEntry { dn: b"uid=3,dc=com", attributes }.encode(&mut out, 7, &[]);
        [out, done(0x65, 7, 0)].concat()
    };
    let read = search(7, "uid=3,dc=com", None, "");
    assert_eq!(answers(&null, &read), Some((all("AA-00000"), read.len())));
    for value in ["x", "0123456789", &"v".repeat(100), &"w".repeat(120), "short again"] {
        let write = modify(6, "uid=3,dc=com", value);
        let both = [write.clone(), read.clone()].concat();
        assert_eq!(answers(&null, &both), Some(([done(0x67, 6, 0), all(value)].concat(), both.len())));
    }
    assert_eq!(answers(&null, &modify(6, "uid=3,dc=com", &"y".repeat(121))), None);
    assert_eq!(answers(&null, &modify(6, "uid=99,dc=com", "y")).unwrap().0, done(0x67, 6, 32));
}

#[test]
fn half_a_request_waits_and_an_unbind_ends() {
    let null = null(50);
    let bytes = search(1, "uid=1,dc=com", None, "1.1");
    let twice = [&bytes[..], &bytes[..bytes.len() - 1]].concat();
    let (out, used) = answers(&null, &twice).unwrap();
    assert_eq!((out.len(), used), (23 + 14, bytes.len()));
    let unbind = encoded(1, &Request::Unbind);
    assert_eq!(answers(&null, &unbind), None);
    let abandon = encoded(1, &Request::Abandon(1));
    assert_eq!(answers(&null, &abandon), Some((vec![], abandon.len())));
}

#[test]
fn settings_have_bounds() {
    let refused = |settings: Settings| Null::new(&settings).is_err();
    assert!(refused(Settings { entries: 0, ..Settings::default() }));
    assert!(refused(Settings { entries: 1, suffix: "dc=x,".repeat(20), ..Settings::default() }));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(at in 0usize..60, bytes in prop::collection::vec(any::<u8>(), 0..12)) {
        let null = null(50);
        for mut request in [search(1, "uid=1,dc=com", None, "1.1"), search(2, "dc=com", Some("1"), ""),
            modify(3, "uid=1,dc=com", "value"), Vec::new()] {
            let at = at.min(request.len());
            let end = (at + bytes.len()).min(request.len());
            request.splice(at..end, bytes.iter().copied());
            if let Some((_, used)) = answers(&null, &request) {
                prop_assert!(used <= request.len());
            }
        }
    }
}
