//! The control no-op: all is checked, nothing changes.

use crate::common::journal::{Log, journaled};
use crate::common::*;
use model::ResultCode::{self, *};
use proto::Request;
use proto::control::no_op::{NO_OPERATION, OID, OPENLDAP_OID, control};
use proto::control::{Control, manage_dsa_it, transaction_specification};
use proto::list::Attributes;
use proto::op::modify::Changes;
use proto::op::{Add, Modify, ModifyDn, ModifyKind};

const BOB: Given<'static> = &[("objectClass", &["inetOrgPerson"]), ("cn", &["Bob"]), ("sn", &["Bee"])];
const NEW: &str = "uid=bob,ou=people,dc=example";
const UNIT: &str = "ou=people,dc=example";

fn clients() -> [(Client, Option<Log>); 2] {
    let (mut logged, log) = journaled();
    logged.plant();
    [(Client::new(), None), (logged, Some(log))]
}

impl Client {
    fn code_of(&mut self, request: &Request<'_>, controls: &[Control<'_>]) -> u32 {
        let (_, bytes) = self.encode(request, controls);
        let (answer, _) = self.exchange(&bytes);
        proto::result::result_code(&answer).expect("there is an answer").0
    }
}

fn everything(client: &mut Client) -> Found {
    let found = client.search("dc=example", model::Scope::Subtree, "(objectClass=*)", &["*", "+"]);
    // The number of its message is another one each time.
    Found { controls: vec![], ..found }
}

#[test]
fn each_operation_is_checked_and_nothing_changes() {
    assert!([OID, OPENLDAP_OID].iter().all(|oid| is_published("supportedControl", oid)));
    for (mut client, log) in clients() {
        let before = everything(&mut client);
        let records = || log.as_ref().map(|log| log.lock().expect("nobody panicked").len());
        let (logged, next) = (records(), client.last_id());
        let (good, bad) = (attributes_of(BOB), attributes_of(&[("objectClass", &["inetOrgPerson"])]));
        let add = |dn: &'static str, list| {
            let attributes = Attributes::parse(list).expect("just encoded");
            Request::Add(Add { dn: dn.as_bytes(), attributes })
        };
        let lists = [("title", "x"), ("nonsense", "x"), ("uid", "x")]
            .map(|(name, value)| changes_of(&[(ModifyKind::Replace, name, &[value])]));
        let modify = |at: usize| {
            let changes = Changes::parse(&lists[at]).expect("just encoded");
            Request::Modify(Modify { dn: ADA.as_bytes(), changes })
        };
        let rename = |new_rdn: &'static [u8], new_superior| {
            Request::ModifyDn(ModifyDn { dn: ADA.as_bytes(), new_rdn, delete_old_rdn: true, new_superior })
        };
        let code = |code: ResultCode| code as u32;
        for (request, expected) in [
            (add(NEW, &good), NO_OPERATION),
            (add(NEW, &bad), code(ObjectClassViolation)),
            (add(ADA, &good), code(EntryAlreadyExists)),
            (add("uid=x,ou=nowhere,dc=example", &good), code(NoSuchObject)),
            (modify(0), NO_OPERATION),
            (modify(1), code(UndefinedAttributeType)),
            (modify(2), code(NotAllowedOnRdn)),
            (Request::Delete(ADA.as_bytes()), NO_OPERATION),
            (Request::Delete(UNIT.as_bytes()), code(NotAllowedOnNonLeaf)),
            (Request::Delete(NEW.as_bytes()), code(NoSuchObject)),
            (rename(b"uid=countess", None), NO_OPERATION),
            (rename(b"uid=countess", Some(&b"ou=groups,dc=example"[..])), NO_OPERATION),
            (rename(b"uid=grace", None), code(EntryAlreadyExists)),
        ] {
            for critical in [true, false] {
                let openldap = Control { oid: OPENLDAP_OID, ..control(critical) };
                assert_eq!(client.code_of(&request, &[openldap]), expected);
                assert_eq!(client.code_of(&request, &[control(critical)]), expected, "{request:?}");
            }
        }
        assert!(client.last_id() > next);
        assert_eq!(records(), logged, "nothing was logged");
        assert_eq!(everything(&mut client), before);
    }
}

/// What comes before it in a bundle is seen, and it changes nothing for what comes after it.
#[test]
fn it_stands_in_the_order_of_requests() {
    for (mut client, _) in clients() {
        let list = attributes_of(BOB);
        let add = || {
            let attributes = Attributes::parse(&list).expect("just encoded");
            Request::Add(Add { dn: NEW.as_bytes(), attributes })
        };
        let mut input = client.encode(&add(), &[]).1;
        input.extend(client.encode(&Request::Delete(NEW.as_bytes()), &[control(true)]).1);
        input.extend(client.encode(&add(), &[]).1);
        input.extend(client.encode(&Request::Delete(NEW.as_bytes()), &[]).1);
        let (mut answers, _) = client.exchange(&input);
        let mut codes = Vec::new();
        while let Some((code, rest)) = proto::result::result_code(&answers) {
            codes.push(code);
            answers = rest.to_vec();
        }
        assert_eq!(codes, [0, NO_OPERATION, EntryAlreadyExists as u32, 0]);
    }
}

#[test]
fn it_is_refused_where_it_could_not_be_kept() {
    for (mut client, _) in clients() {
        let end = client.delete_with(ADA, &[Control { value: Some(b""), ..control(true) }]).end;
        assert_eq!(end.code, ProtocolError);
        let found = client.search_with(ADA, model::Scope::Base, "(uid=*)", &[], |_| {}, &[control(true)]);
        assert_eq!(found.end.code, UnavailableCriticalExtension);
        let start = proto::op::Extended { oid: proto::ext::start_transaction::OID, value: None };
        let identifier = client.end(&Request::Extended(start)).value.expect("there is an identifier");
        let controls = [transaction_specification::control(&identifier), control(true)];
        assert_eq!(client.delete_with(ADA, &controls).end.code, ProtocolError);
        // It is not critical: the text does not say that it is.
        client.bind_root();
        let name: &[&str] = &["( 1.3.6.1.4.1.5555.1 NAME 'noOpTest' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )"];
        let changes: &[(ModifyKind, &str, &[&str])] = &[(ModifyKind::Add, "attributeTypes", name)];
        let end = client.modify_with("cn=Subschema", changes, &[control(false)]).end;
        assert_eq!(end.code, UnavailableCriticalExtension);
        assert_eq!(end.text, "control 1.3.6.1.4.1.4203.1.10.2 is not available with this update");
    }
}

#[test]
fn a_change_of_settings_is_checked_and_nothing_changes() {
    for (mut client, log) in clients() {
        let records = || log.as_ref().map(|log| log.lock().expect("nobody panicked").len());
        let logged = records();
        let assertion = Control { oid: proto::control::assertion::OID, critical: true, value: None };
        let refused = |code: ResultCode| code as u32;
        for (attribute, values, code) in [
            ("pandoTxnUpdatesMax", &["7"][..], NO_OPERATION),
            ("pandoTxnUpdatesMax", &["0"], refused(ConstraintViolation)),
            ("pandoTxnPrecedence", &["3:flavour=sweet"], refused(ConstraintViolation)),
            ("description", &["x"], refused(UnwillingToPerform)),
            ("olcDbIndex", &["cn:sub", "sn:eq"], NO_OPERATION),
            ("olcDbIndex", &["flavour:eq"], refused(UndefinedAttributeType)),
        ] {
            let list = changes_of(&[(ModifyKind::Replace, attribute, values)]);
            let changes = Changes::parse(&list).expect("just encoded");
            let request = Request::Modify(Modify { dn: b"cn=config", changes });
            for critical in [true, false] {
                assert_eq!(client.code_of(&request, &[control(critical)]), code, "{attribute} {values:?}");
            }
            let other = client.code_of(&request, &[control(true), assertion]);
            assert_ne!(other, NO_OPERATION, "it knows no other control");
        }
        assert_eq!((client.dsa.transactions().updates_max(), records()), (10_000, logged));
        let indexes = client.read("cn=config", &["olcDbIndex"]).values("olcDbIndex").unwrap_or_default();
        assert!(!indexes.contains(&"cn:sub".to_owned()), "{indexes:?}");
        client.bind(ADA, "lace");
        let change: &[(ModifyKind, &str, &[&str])] = &[(ModifyKind::Replace, "pandoTxnUpdatesMax", &["7"])];
        let end = client.modify_with("cn=config", change, &[control(true)]).end;
        assert_eq!(end.code, InsufficientAccessRights, "{}", end.text);
    }
}

/// RFC 3296: the update would be another server's.
#[test]
fn it_meets_referral_objects() {
    for (mut client, _) in clients() {
        let away: Given<'_> =
            &[("objectClass", &["referral", "extensibleObject"]), ("ref", &["ldap://elsewhere/ou=away"])];
        let manage = manage_dsa_it::control(true);
        assert_eq!(client.add_with("ou=away,dc=example", away, &[manage]).end.code, Success);
        let end = client.delete_with("cn=x,ou=away,dc=example", &[control(true)]).end;
        assert_eq!((end.code, end.referral.len()), (Referral, 1));
        let request = Request::Delete(b"ou=away,dc=example");
        assert_eq!(client.code_of(&request, &[control(true), manage]), NO_OPERATION);
    }
}
