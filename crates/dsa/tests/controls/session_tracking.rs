//! Session tracking (wahl-ldap-session-03): with every operation, and nothing follows from it. What of it is logged is in the crate `logs`.

use super::clients;
use crate::common::{ADA, Client, bind, changes_of, is_published, search_for, selection};
use model::ResultCode::{CompareTrue, ProtocolError, Success};
use model::{Filter, Scope};
use proto::control::Control;
use proto::control::session_tracking::{OID, SessionTracking, control};
use proto::message::Request;
use proto::op::modify::Changes;
use proto::op::{Compare, Extended, Modify, ModifyDn, ModifyKind};

fn value() -> Vec<u8> {
    SessionTracking { address: b"192.0.2.9", host: b"desk", format: b"1.2.3", identifier: b"grace" }.encode()
}

/// Each operation with a few controls, and the code that it ends with.
fn each(client: &mut Client, controls: &[Control<'_>]) -> Vec<model::ResultCode> {
    let assertion = model::filter::Assertion { attribute: b"uid", value: b"ada" };
    let changes = changes_of(&[(ModifyKind::Replace, "description", &["x"])]);
    let modify = Modify { dn: ADA.as_bytes(), changes: Changes::parse(&changes).expect("just encoded") };
    let nothing = selection(&["1.1"]);
    let new = "uid=new,ou=people,dc=example";
    let given = proto::list::attribute_list([
        (&b"objectClass"[..], vec![&b"person"[..], &b"uidObject"[..]]),
        (b"cn", vec![b"n"]),
        (b"sn", vec![b"n"]),
    ]);
    let attributes = proto::list::Attributes::parse(&given).expect("just encoded");
    let rename =
        ModifyDn { dn: new.as_bytes(), new_rdn: b"uid=newer", delete_old_rdn: true, new_superior: None };
    let search = search_for("dc=example", Scope::Subtree, Filter::Present(b"uid"), &nothing);
    let requests = [
        bind("cn=admin,dc=example", "secret"),
        Request::Search(search),
        Request::Compare(Compare { dn: ADA.as_bytes(), assertion }),
        Request::Extended(Extended { oid: proto::ext::who_am_i::OID, value: None }),
        Request::Modify(modify),
        Request::Add(proto::op::Add { dn: new.as_bytes(), attributes }),
        Request::ModifyDn(rename),
        Request::Delete(b"uid=newer,ou=people,dc=example"),
    ];
    requests.iter().map(|request| client.ask(request, controls).end.code).collect()
}

/// It is accepted on every operation, and answered as without it.
#[test]
fn it_comes_with_every_operation() {
    assert!(is_published("supportedControl", OID));
    let value = value();
    for mut client in clients() {
        let plain = each(&mut client, &[]);
        assert_eq!(
            plain,
            [Success, Success, CompareTrue, Success, Success, Success, Success, Success],
            "all of them work"
        );
        assert_eq!(each(&mut client, &[control(&value)]), plain);
    }
}

/// A wrong form is a protocolError of every operation, and nothing is changed.
#[test]
fn a_wrong_form_is_refused() {
    let value = value();
    let critical = Control { critical: true, ..control(&value) };
    let absent = Control { value: None, ..control(&value) };
    let no_oid = SessionTracking { format: b"x", ..SessionTracking::default() }.encode();
    for mut client in clients() {
        for wrong in [
            &[critical][..],
            &[absent],
            &[control(b"")],
            &[control(&no_oid)],
            &[control(&value[..value.len() - 1])],
            &[control(&value), control(&value)],
        ] {
            assert_eq!(each(&mut client, wrong), [ProtocolError; 8], "{wrong:?}");
        }
        // The failed binds have made it anonymous.
        client.bind_root();
        assert_eq!(client.read(ADA, &["description"]).values("description"), None);
    }
}

/// The client stays who it is, also if it names the root DN.
#[test]
fn nobody_becomes_whom_it_names() {
    let named = SessionTracking { identifier: b"cn=admin,dc=example", format: b"1.2", ..Default::default() };
    let value = named.encode();
    for mut client in clients() {
        assert_eq!(client.ask(&bind("", ""), &[control(&value)]).end.code, Success);
        assert_eq!(client.who_am_i(), "");
        let refused = client.delete_with(ADA, &[control(&value)]).end.code;
        assert!(!matches!(refused, Success | ProtocolError), "{refused:?}");
    }
}
