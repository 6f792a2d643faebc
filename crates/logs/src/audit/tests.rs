use super::*;
use proptest::prelude::*;
use proto::control::session_tracking::SessionTracking;
use proto::op::modify::{Changes, change_list};
use proto::op::{Add, Modify, ModifyDn};

fn schema() -> Schema {
    schema::Builder::new().standard().build().expect("it is good")
}

fn line(place: Place, change: &Change<'_>, request: &Request<'_>) -> serde_json::Value {
    let (mut message, mut out) = (Vec::new(), Vec::new());
    request.encode(&mut message, 7, &[]);
    put_change(&mut out, (&schema(), &Hider::default()), place, change, &message);
    assert_eq!(Place::of_line(&out[..out.len().min(Place::BYTES_MAX)]), Some(place));
    assert_eq!(out.iter().filter(|octet| **octet == b'\n').count(), 1);
    serde_json::from_slice(&out).expect("a line is JSON")
}

/// G5: who, whence, as whom, which entry, and what became of it.
#[test]
fn test_g5_a_change_with_its_values() {
    let changes = change_list([
        (ModifyKind::Replace, &b"cn"[..], vec![&b"a"[..], &b"\xff"[..]]),
        (ModifyKind::Delete, &b"sn"[..], vec![]),
        (ModifyKind::Add, &b"userPassword;x-a"[..], vec![&b"{ARGON2}$argon2id$v=19$secret"[..]]),
        (ModifyKind::Delete, &b"userPassword"[..], vec![&b"hunter2"[..], &b"{hunter2}"[..]]),
    ]);
    let request = Request::Modify(Modify { dn: b"uid=a,dc=b", changes: Changes::parse(&changes).unwrap() });
    let change = Change {
        wall_ms: 1_700_000_000_000,
        csn: Some(Csn::from_unix_ms(1_700_000_000_000, 1)),
        connection: Some("ab-3".to_owned()),
        who: b"cn=proxy,dc=b",
        acting: Some(b"uid=a,dc=b"),
        peer: "127.0.0.1:9".to_owned(),
        via: "127.0.0.2:9".to_owned(),
        uuid: b"the-uuid",
        transaction: Some(Place { index: 5, number: 1 }),
        is_recovered: false,
    };
    let read = line(Place { index: 5, number: 2 }, &change, &request);
    let wanted = serde_json::json!({
        "index": 5, "n": 2, "t": "2023-11-14T22:13:20.000Z", "csn": "20231114221320.000000Z#000000#001#000000",
        "id": "ab-3", "msgid": 7, "dn": "cn=proxy,dc=b", "as": "uid=a,dc=b", "peer": "127.0.0.1:9", "via": "127.0.0.2:9",
        "op": "modify", "entry": "uid=a,dc=b", "entryUUID": "the-uuid", "txn": "5.1",
        "changes": [
            {"do": "replace", "attr": "cn", "values": ["a"], "base64": ["/w"]},
            {"do": "delete", "attr": "sn"},
            {"do": "add", "attr": "userPassword;x-a", "values": ["{ARGON2}<hidden>"]},
            {"do": "delete", "attr": "userPassword", "values": ["<hidden>", "<hidden>"]},
        ],
    });
    assert_eq!(read["changes"][0]["base64"][0].as_str().unwrap().trim_end_matches('='), "/w");
    let mut read = read;
    read["changes"][0]["base64"][0] = "/w".into();
    assert_eq!(read, wanted);
}

/// G5: for whom a client asked, as it says; what comes of the log of changes has it, too.
#[test]
fn test_g5_the_session_that_a_client_names() {
    let session =
        SessionTracking { address: b"192.0.2.9", host: b"desk", format: b"1.2", identifier: b"ada\n{" };
    let value = session.encode();
    let (mut message, mut out) = (Vec::new(), Vec::new());
    Request::Delete(b"uid=a,dc=b").encode(&mut message, 7, &[session_tracking::control(&value)]);
    put_change(&mut out, (&schema(), &Hider::default()), Place::whole(1), &Change::default(), &message);
    assert_eq!(out.iter().filter(|octet| **octet == b'\n').count(), 1);
    let read: serde_json::Value = serde_json::from_slice(&out).expect("a line is JSON");
    for (key, text) in [
        ("session", "ada\n{"),
        ("session_format", "1.2"),
        ("session_ip", "192.0.2.9"),
        ("session_host", "desk"),
    ] {
        assert_eq!(read[key], text, "{key}");
    }
}

#[test]
fn other_operations() {
    let recovered = Change { is_recovered: true, ..Change::default() };
    let rename = Request::ModifyDn(ModifyDn {
        dn: b"uid=a,dc=b",
        new_rdn: b"uid=c",
        delete_old_rdn: true,
        new_superior: Some(b"dc=d"),
    });
    let read = line(Place { index: 1, number: 1 }, &recovered, &rename);
    assert_eq!(
        (&read["op"], &read["newrdn"], &read["deleteoldrdn"], &read["superior"], &read["recovered"]),
        (&"rename".into(), &"uid=c".into(), &true.into(), &"dc=d".into(), &true.into())
    );
    assert!(read.get("msgid").is_none() && read.get("peer").is_none() && read.get("dn").is_none());
    let attributes = proto::list::attribute_list([(&b"cn"[..], vec![&b"x"[..]])]);
    let add = Request::Add(Add {
        dn: b"uid=a,dc=b",
        attributes: proto::list::Attributes::parse(&attributes).unwrap(),
    });
    let read = line(Place { index: 1, number: 3 }, &Change::default(), &add);
    assert_eq!(read["changes"], serde_json::json!([{"do": "add", "attr": "cn", "values": ["x"]}]));
    assert_eq!(
        line(
            Place { index: 2, number: 1 },
            &Change::default(),
            &Request::Delete(b"userPassword=hunter2,dc=b")
        )["entry"],
        "<hidden, 25 octets>"
    );
    let mut out = Vec::new();
    put_change(&mut out, (&schema(), &Hider::default()), Place::whole(4), &recovered, b"");
    let read: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!((&read["op"], &read["n"]), (&"settings".into(), &0.into()));
}

#[test]
fn lines_about_the_log_itself_have_places() {
    let mut out = Vec::new();
    put_mark(&mut out, 0, Place { index: 9, number: 4 }, "begin");
    assert_eq!(Place::of_line(&out), Some(Place { index: 9, number: 4 }));
    out.clear();
    put_lost(&mut out, 0, (3, 8));
    assert_eq!(Place::of_line(&out), Some(Place::whole(8)));
    assert!(
        Place { index: 8, number: 3 } < Place::whole(8) && Place::whole(8) < Place { index: 9, number: 1 }
    );
}

proptest! {
    /// G4: what a client sends forges no line, and what it typed as a password is in none.
    #[test]
    fn test_g4_no_value_forges_a_line(dn: Vec<u8>, values: Vec<Vec<u8>>) {
        let changes = change_list([(ModifyKind::Add, &b"description"[..], values.iter().map(Vec::as_slice).collect::<Vec<_>>())]);
        let mut message = Vec::new();
        Request::Modify(Modify { dn: &dn, changes: Changes::parse(&changes).unwrap() }).encode(&mut message, 1, &[]);
        let mut out = Vec::new();
        put_change(&mut out, (&schema(), &Hider::default()), Place::whole(1), &Change::default(), &message);
        prop_assert_eq!(out.iter().filter(|octet| **octet == b'\n').count(), 1);
        let read: serde_json::Value = serde_json::from_slice(&out).unwrap();
        prop_assert!(read.is_object());
    }

    #[test]
    fn what_is_no_line_has_no_place(bytes: Vec<u8>) {
        let _ = Place::of_line(&bytes);
    }
}
