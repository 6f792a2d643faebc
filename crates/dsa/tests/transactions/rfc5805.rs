//! RFC 5805, a test per rule; rules are numbered as the protocol facts number them.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 2.1, 3.2 | starts a transaction, and answers without a name and with an identifier | `start_on_the_wire`, `rule_4_identifiers_belong_to_one_session` |
//! | 2.1 - 2.3 | answers protocolError to what is malformed; wants the control to be critical | `what_is_malformed` |
//! | 2.2 | takes the control on updates and on password modify | `rule_2_updates_build_on_each_other_in_order`, `passwords_change_within_a_transaction` |
//! | 2.3, 3.4 | names the message id of the update that failed, and no other | `rule_2_the_end_names_the_culprit` |
//! | 2.3, 3.4 | has no value where there are neither message id nor controls | `rule_2_nothing_can_be_committed_and_the_value_is_absent` |
//! | 2.4, 3.3 | tells of a transaction that it aborts by a notice, and answers an error to its identifier | `dsa: rule_4_the_server_aborts_what_is_too_old` |
//! | 3.1 | publishes all three OIDs | `root_dse_lists_transactions` |
//! | 3.3 | answers each update at once, and defers it | `rule_1_an_update_is_answered_at_once_and_seen_by_nobody` |
//! | 3.3 | answers at once with the error if it is not willing to attempt it | `rule_1_an_error_means_not_accepted_and_nothing_is_committed` |
//! | 3.4 | drops everything on an abort | `rule_2_a_rollback_drops_everything` |
//! | 3.4 | applies all updates in turn as one action on a commit, or none | `rule_2_updates_are_applied_to_what_is_there_at_the_end`, `rule_2_a_tree_is_deleted_leaf_by_leaf`, `all_of_it_in_one_write` |
//! | 3.4 | avoids deadlock | `rule_2_opposite_orders_do_not_wait_for_each_other` |
//! | 3.5 | nests none | `rule_3_several_of_one_session_are_apart` |
//! | 3.5 | aborts all on a bind and an unbind, without notice, and forgets their identifiers | `rule_3_a_bind_aborts_them_silently`, `rule_3_an_unbind_aborts_them` |
//! | 4.1 | evaluates assertions inside | `rule_5_assertions_are_judged_inside`, `rule_5_an_assertion_is_judged_again_at_the_end` |
//! | 4.2 | takes ManageDsaIT inside | `rule_5_manage_dsa_it_*` |
//! | 4.1, 4.2, 4.5 | refuses these on the start and the end, if critical | `rule_5_some_controls_are_of_updates_only` |
//! | 4.4 | takes proxied authorization on the start, and answers protocolError to it elsewhere | `rule_5_who_acts_is_said_at_the_start_only` |
//! | 4.5 | returns the controls of reads with the end | `rule_5_what_is_read_comes_at_the_end` |
//! | 5 | chains none of its operations: affectsMultipleDSAs | `rule_6_entries_of_another_server` |
//! | RFC 4511, 4.11 | keeps an update that was answered and is abandoned | `an_abandoned_update_stays` |
//!
//! Not here, and why:
//!
//! | section | sentence | reason |
//! |---|---|---|
//! | 3.3 | each update of a transaction has another message id | binds clients |
//! | 3.5 | no new security layer within a transaction | binds clients; StartTLS is refused meanwhile: test_t2_a_transaction_must_be_ended_first |

use crate::common::*;
use crate::fixture::*;
use model::ResultCode::*;
use proto::Request;
use proto::control::{
    Control, assertion, manage_dsa_it, proxied_authorization, read_entry, transaction_specification,
};
use proto::ext::end_transaction::EndTransactionResult;
use proto::ext::password_modify::{self, PasswordModify};
use proto::ext::{end_transaction, start_transaction};
use proto::op::Extended;
use proto::op::ModifyKind::{self, Add, Delete, Increment, Replace};

const GRACE: &str = "uid=grace,ou=people,dc=example";
const BOB: &str = "uid=bob,ou=people,dc=example";
const PERSON: Given<'static> = &[("objectClass", &["inetOrgPerson"]), ("cn", &["Bob"]), ("sn", &["Bee"])];
const KING: [(ModifyKind, &str, &[&str]); 1] = [(Replace, "sn", &["King"])];

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc5805.rs"));
}

fn one(value: &str) -> Option<Vec<String>> {
    Some(vec![value.to_owned()])
}

#[test]
fn root_dse_lists_transactions() {
    assert!(is_published("supportedExtension", start_transaction::OID));
    assert!(is_published("supportedExtension", end_transaction::OID));
    assert!(is_published("supportedControl", transaction_specification::OID));
}

/// The bytes that the protocol facts give.
#[test]
fn start_on_the_wire() {
    let mut client = Client::new();
    let mut request = b"\x30\x15\x02\x01\x02\x77\x10\x80\x0e".to_vec();
    request.extend_from_slice(start_transaction::OID);
    let (answers, _) = client.raw(&request);
    assert_eq!((codes(&answers), answers[0].id), (vec![Success], 2));
}

#[test]
fn rule_1_an_update_is_answered_at_once_and_seen_by_nobody() {
    each(|mut client| {
        let mut other = Client::of(&client.dsa);
        other.bind_root();
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
        assert_eq!(client.add_in(&txn, BOB, PERSON).code, Success);
        for reader in [&mut other, &mut client] {
            assert_eq!(reader.value(ADA, "sn"), one("Lovelace"));
            assert_eq!(reader.read(BOB, &[]).end.code, NoSuchObject);
        }
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!(other.value(ADA, "sn"), one("King"));
        assert_eq!(other.value(BOB, "sn"), one("Bee"));
    });
}

#[test]
fn rule_1_an_error_means_not_accepted_and_nothing_is_committed() {
    each(|mut client| {
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
        let refused = client.modify_in(&txn, "uid=nobody,ou=people,dc=example", &KING);
        assert_eq!((refused.code, &refused.matched[..]), (NoSuchObject, "ou=people,dc=example"));
        let culprit = client.last_id();
        assert_eq!(client.modify_in(&txn, GRACE, &KING).code, Success);
        let end = client.commit(&txn);
        assert_eq!((end.code, &end.matched[..]), (NoSuchObject, "ou=people,dc=example"));
        assert_eq!(end.culprit(), Some(culprit));
        assert_eq!((client.value(ADA, "sn"), client.value(GRACE, "sn")), (one("Lovelace"), one("Hopper")));
    });
}

/// Each update sees those before it, whatever its kind.
#[test]
fn rule_2_updates_build_on_each_other_in_order() {
    each(|mut client| {
        let txn = client.start();
        assert_eq!(client.add_in(&txn, BOB, PERSON).code, Success);
        assert_eq!(client.add_in(&txn, BOB, PERSON).code, EntryAlreadyExists);
        client.settle(&txn, false);
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
        assert_eq!(
            client.modify_in(&txn, ADA, &[(Delete, "sn", &["King"]), (Add, "sn", &["Q"])]).code,
            Success
        );
        assert_eq!(client.add_in(&txn, BOB, PERSON).code, Success);
        let renamed = client.rename_in(&txn, BOB, "uid=rob", Some("ou=groups,dc=example"));
        assert_eq!(renamed.code, Success);
        assert_eq!(client.modify_in(&txn, BOB, &KING).code, NoSuchObject);
        client.settle(&txn, false);
        let txn = client.start();
        assert_eq!(client.rename_in(&txn, "ou=people,dc=example", "ou=men", None).code, Success);
        assert_eq!(client.modify_in(&txn, "uid=ada,ou=men,dc=example", &KING).code, Success);
        assert_eq!(client.delete_in(&txn, "uid=grace,ou=men,dc=example").code, Success);
        assert_eq!(client.add_in(&txn, "uid=grace,ou=men,dc=example", PERSON).code, Success);
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!(client.value("uid=ada,ou=men,dc=example", "sn"), one("King"));
        assert_eq!(client.value("uid=grace,ou=men,dc=example", "cn"), one("Bob"));
        assert_eq!(client.read(ADA, &[]).end.code, NoSuchObject);
    });
}

#[test]
fn rule_2_a_tree_is_deleted_leaf_by_leaf() {
    each(|mut client| {
        let txn = client.start();
        assert_eq!(client.delete_in(&txn, "ou=people,dc=example").code, NotAllowedOnNonLeaf);
        client.settle(&txn, false);
        let txn = client.start();
        assert_eq!(client.delete_in(&txn, ADA).code, Success);
        let refused = client.delete_in(&txn, "ou=people,dc=example");
        assert_eq!((refused.code, &refused.text[..]), (NotAllowedOnNonLeaf, "the entry has 1 subordinate"));
        client.settle(&txn, false);
        let txn = client.start();
        for dn in [ADA, GRACE, "ou=people,dc=example"] {
            assert_eq!(client.delete_in(&txn, dn).code, Success, "{dn}");
        }
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!(client.read("ou=people,dc=example", &[]).end.code, NoSuchObject);
    });
}

/// What another client did between an update and the end stands against all of the transaction.
#[test]
fn rule_2_the_end_names_the_culprit() {
    each(|mut client| {
        let mut other = client.another();
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, GRACE, &KING).code, Success);
        assert_eq!(client.modify_in(&txn, ADA, &[(Delete, "employeeNumber", &["36"])]).code, Success);
        let culprit = client.last_id();
        assert_eq!(other.modify(ADA, &[(Replace, "employeeNumber", &["37"])]).code, Success);
        let end = client.commit(&txn);
        assert_eq!((end.code, end.culprit()), (NoSuchAttribute, Some(culprit)));
        assert_eq!(client.value(GRACE, "sn"), one("Hopper"));
        assert_eq!(client.value(ADA, "employeeNumber"), one("37"));
    });
}

/// Another client's change that does not stand against it does not either.
#[test]
fn rule_2_updates_are_applied_to_what_is_there_at_the_end() {
    each(|mut client| {
        let mut other = client.another();
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
        assert_eq!(client.modify_in(&txn, GRACE, &[(Replace, "mail", &["a@b"])]).code, Success);
        assert_eq!(other.modify(ADA, &[(Replace, "cn", &["Ada"])]).code, Success);
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!((client.value(ADA, "sn"), client.value(ADA, "cn")), (one("King"), one("Ada")));
        assert_eq!(client.value(GRACE, "mail"), one("a@b"));
    });
}

/// "A server MUST avoid deadlock": two transactions about the same two entries in opposite order are both settled.
#[test]
fn rule_2_opposite_orders_do_not_wait_for_each_other() {
    each(|mut client| {
        let mut other = client.another();
        let (one_txn, other_txn) = (client.start(), other.start());
        let set = |attribute: &'static str| [(Replace, attribute, &["x"][..])];
        assert_eq!(client.modify_in(&one_txn, ADA, &set("title")).code, Success);
        assert_eq!(other.modify_in(&other_txn, GRACE, &set("description")).code, Success);
        assert_eq!(client.modify_in(&one_txn, GRACE, &set("title")).code, Success);
        assert_eq!(other.modify_in(&other_txn, ADA, &set("description")).code, Success);
        assert_eq!((client.commit(&one_txn).code, other.commit(&other_txn).code), (Success, Success));
        for dn in [ADA, GRACE] {
            assert_eq!((client.value(dn, "title"), client.value(dn, "description")), (one("x"), one("x")));
        }
    });
}

#[test]
fn rule_2_a_rollback_drops_everything() {
    each(|mut client| {
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
        assert_eq!(client.delete_in(&txn, GRACE).code, Success);
        let end = client.settle(&txn, false);
        assert_eq!((end.code, end.value), (Success, None));
        assert_eq!((client.value(ADA, "sn"), client.value(GRACE, "sn")), (one("Lovelace"), one("Hopper")));
        assert_eq!(client.commit(&txn).code, Canceled, "it is no more");
    });
}

#[test]
fn rule_2_nothing_can_be_committed_and_the_value_is_absent() {
    each(|mut client| {
        let txn = client.start();
        let end = client.commit(&txn);
        assert_eq!((end.code, end.oid, end.value), (Success, None, None));
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
        assert_eq!(client.commit(&txn).value, None);
    });
}

/// There may be several, but none within another.
#[test]
fn rule_3_several_of_one_session_are_apart() {
    each(|mut client| {
        let (first, second) = (client.start(), client.start());
        assert_ne!(first, second);
        assert_eq!(client.modify_in(&first, ADA, &KING).code, Success);
        assert_eq!(
            client.modify_in(&second, ADA, &[(Increment, "employeeNumber", &["1"])]).code,
            ConstraintViolation
        );
        assert_eq!(client.modify_in(&second, GRACE, &KING).code, Success);
        assert_eq!(client.commit(&second).code, ConstraintViolation);
        assert_eq!(client.commit(&first).code, Success);
        assert_eq!((client.value(ADA, "sn"), client.value(GRACE, "sn")), (one("King"), one("Hopper")));
    });
}

#[test]
fn rule_3_a_bind_aborts_them_silently() {
    each(|mut client| {
        for password in [PASSWORD, "wrong"] {
            client.bind_root();
            let txn = client.start();
            assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
            client.bind(ROOT_DN, password);
            client.bind_root();
            assert_eq!(client.commit(&txn).code, Canceled);
            assert_eq!(client.value(ADA, "sn"), one("Lovelace"));
        }
    });
}

#[test]
fn rule_3_an_unbind_aborts_them() {
    each(|mut client| {
        let mut other = client.another();
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
        let (_, bytes) = client.encode(&Request::Unbind, &[]);
        assert!(client.raw(&bytes).0.is_empty());
        assert_eq!(other.value(ADA, "sn"), one("Lovelace"));
    });
}

#[test]
fn rule_4_identifiers_belong_to_one_session() {
    each(|mut client| {
        let mut other = client.another();
        let txn = client.start();
        assert_eq!(other.modify_in(&txn, ADA, &KING).code, Canceled);
        assert_eq!(other.commit(&txn).code, Canceled);
        assert_eq!(client.commit(&txn).code, Success);
    });
}

#[test]
fn rule_5_assertions_are_judged_inside() {
    each(|mut client| {
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
        let filter = assertion("(sn=King)");
        let controls = [transaction_specification::control(&txn), control(assertion::OID, &filter, true)];
        assert_eq!(client.modify_with(ADA, &[(Replace, "sn", &["Queen"])], &controls).end.code, Success);
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!(client.value(ADA, "sn"), one("Queen"));
        let txn = client.start();
        let controls = [transaction_specification::control(&txn), control(assertion::OID, &filter, true)];
        assert_eq!(client.modify_with(ADA, &KING, &controls).end.code, AssertionFailed);
        assert_eq!(client.commit(&txn).code, AssertionFailed);
        // On what is not an update of the transaction it has no place.
        let on_end = [control(assertion::OID, &filter, true)];
        let start = Request::Extended(Extended { oid: start_transaction::OID, value: None });
        assert_eq!(client.ask(&start, &on_end).end.code, UnavailableCriticalExtension);
    });
}

/// It was true when the update came, and is not at the end.
#[test]
fn rule_5_an_assertion_is_judged_again_at_the_end() {
    each(|mut client| {
        let mut other = client.another();
        let txn = client.start();
        let filter = assertion("(sn=Lovelace)");
        let controls = [transaction_specification::control(&txn), control(assertion::OID, &filter, true)];
        assert_eq!(client.modify_with(ADA, &KING, &controls).end.code, Success);
        let culprit = client.last_id();
        assert_eq!(other.modify(ADA, &[(Replace, "sn", &["Byron"])]).code, Success);
        let end = client.commit(&txn);
        assert_eq!((end.code, end.culprit()), (AssertionFailed, Some(culprit)));
        assert_eq!(client.value(ADA, "sn"), one("Byron"));
    });
}

#[test]
fn rule_5_manage_dsa_it_is_allowed() {
    each(|mut client| {
        let txn = client.start();
        let controls = [transaction_specification::control(&txn), manage_dsa_it::control(true)];
        assert_eq!(client.modify_with(ADA, &KING, &controls).end.code, Success);
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!(client.value(ADA, "sn"), one("King"));
    });
}

const AWAY: &str = "ou=away,dc=example";
const ELSEWHERE: Given<'static> =
    &[("objectClass", &["referral", "extensibleObject"]), ("ref", &["ldap://elsewhere/ou=away"])];
const OTHER_PLACE: [(ModifyKind, &str, &[&str]); 1] = [(Replace, "ref", &["ldap://there/ou=away"])];

/// With it a referral object is an entry like others.
#[test]
fn rule_5_manage_dsa_it_changes_a_referral_object() {
    each(|mut client| {
        client.must_add(AWAY, ELSEWHERE);
        let txn = client.start();
        let controls = [transaction_specification::control(&txn), manage_dsa_it::control(true)];
        assert_eq!(client.modify_with(AWAY, &OTHER_PLACE, &controls).end.code, Success);
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
        assert_eq!(client.commit(&txn).code, Success);
        let txn = client.start();
        let controls = [transaction_specification::control(&txn), manage_dsa_it::control(true)];
        assert_eq!(client.delete_with(AWAY, &controls).end.code, Success);
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!(client.value(ADA, "sn"), one("King"));
    });
}

/// What another server holds takes no part: the client is not sent there in the middle of a transaction.
#[test]
fn rule_6_entries_of_another_server() {
    each(|mut client| {
        client.must_add(AWAY, ELSEWHERE);
        for dn in [AWAY.to_owned(), format!("uid=bob,{AWAY}")] {
            let txn = client.start();
            assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
            let refused = client.modify_in(&txn, &dn, &OTHER_PLACE);
            assert_eq!((refused.code, &refused.referral[..]), (AffectsMultipleDsas, &[][..]));
            let end = client.commit(&txn);
            assert_eq!(end.code, AffectsMultipleDsas);
            assert!(end.culprit().is_some(), "{end:?}");
            assert_eq!(client.value(ADA, "sn"), one("Lovelace"));
        }
    });
}

#[test]
fn rule_5_what_is_read_comes_at_the_end() {
    each(|mut client| {
        let (txn, wanted) = (client.start(), wanted(&["sn"]));
        let controls = [
            transaction_specification::control(&txn),
            control(read_entry::PRE_OID, &wanted, true),
            control(read_entry::POST_OID, &wanted, true),
        ];
        for name in ["King", "Queen"] {
            let found = client.modify_with(ADA, &[(Replace, "sn", &[name])], &controls);
            assert_eq!((found.end.code, found.controls.len()), (Success, 0));
        }
        let last = client.last_id();
        let end = client.commit(&txn);
        assert_eq!(end.code, Success);
        let value = end.value.expect("there are controls");
        let result = EndTransactionResult::decode(&value).expect("a value of the end");
        let sn = |controls: &proto::control::Controls<'_>, oid: &[u8]| {
            let control = controls.find(oid).expect("it was asked for");
            let entry = read_entry::decode_entry(control.value.expect("an entry")).expect("an entry");
            let sn = entry.attributes.iter().next().and_then(|sn| sn.values.iter().next());
            String::from_utf8(sn.expect("it has one").to_vec()).expect("text")
        };
        let ids: Vec<i32> = result.updates.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [last - 1, last]);
        let read: Vec<String> = result
            .updates
            .iter()
            .flat_map(|(_, controls)| [sn(controls, read_entry::PRE_OID), sn(controls, read_entry::POST_OID)])
            .collect();
        assert_eq!(read, ["Lovelace", "King", "King", "Queen"]);
    });
}

/// Read entry controls, assertion and ManageDsaIT are "inappropriate" on the start and the end: as any that does not suit (RFC 4511
/// section 4.1.11).
#[test]
fn rule_5_some_controls_are_of_updates_only() {
    each(|mut client| {
        let (wanted, filter) = (wanted(&["sn"]), assertion("(objectClass=*)"));
        let txn = client.start();
        let value = end_transaction::EndTransaction { commit: true, identifier: &txn }.encode();
        for request in [
            Extended { oid: start_transaction::OID, value: None },
            Extended { oid: end_transaction::OID, value: Some(&value) },
        ] {
            for unsuitable in [
                control(read_entry::PRE_OID, &wanted, true),
                control(read_entry::POST_OID, &wanted, true),
                control(assertion::OID, &filter, true),
                manage_dsa_it::control(true),
            ] {
                let end = client.ask(&Request::Extended(request), &[unsuitable]).end;
                assert_eq!(end.code, UnavailableCriticalExtension);
            }
        }
        assert_eq!(client.commit(&txn).code, Success, "it was not ended by what was refused");
    });
}

#[test]
fn rule_5_who_acts_is_said_at_the_start_only() {
    each(|mut client| {
        let as_ada = format!("dn:{ADA}");
        let proxied = control(proxied_authorization::OID, as_ada.as_bytes(), true);
        let start = Request::Extended(Extended { oid: start_transaction::OID, value: None });
        let end = client.ask(&start, &[proxied]).end;
        assert_eq!(end.code, Success);
        let txn = end.value.expect("an identifier");
        assert_eq!(client.modify_in(&txn, GRACE, &KING).code, InsufficientAccessRights, "ada may not");
        assert_eq!(client.commit(&txn).code, InsufficientAccessRights);
        let nobody = control(proxied_authorization::OID, b"dn:uid=nobody,dc=example", true);
        assert_eq!(client.ask(&start, &[nobody]).end.code, AuthorizationDenied);
        let txn = client.start();
        let controls = [transaction_specification::control(&txn), proxied];
        assert_eq!(client.modify_with(ADA, &KING, &controls).end.code, ProtocolError);
        let value = end_transaction::EndTransaction { commit: true, identifier: &txn }.encode();
        let end = Request::Extended(Extended { oid: end_transaction::OID, value: Some(&value) });
        assert_eq!(client.ask(&end, &[proxied]).end.code, ProtocolError);
        assert_eq!(client.value(ADA, "sn"), one("Lovelace"));
    });
}

#[test]
fn passwords_change_within_a_transaction() {
    each(|mut client| {
        let txn = client.start();
        let request = PasswordModify { user: Some(ADA.as_bytes()), old: None, new: Some(b"corset") }.encode();
        let request = Request::Extended(Extended { oid: password_modify::OID, value: Some(&request) });
        let named = [transaction_specification::control(&txn)];
        assert_eq!(client.ask(&request, &named).end.code, Success);
        assert_eq!(client.another().bind(ADA, "corset").code, InvalidCredentials);
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!(client.another().bind(ADA, "corset").code, Success);
        // Its own, with the old one and one that the server makes.
        let mut ada = client.another();
        assert_eq!(ada.bind(ADA, "corset").code, Success);
        let txn = ada.start();
        let named = [transaction_specification::control(&txn)];
        let request = PasswordModify { user: None, old: Some(b"corset"), new: None }.encode();
        let request = Request::Extended(Extended { oid: password_modify::OID, value: Some(&request) });
        let end = ada.ask(&request, &named).end;
        let made = end.value.expect("a password was made");
        let made = password_modify::decode_generated(&made)
            .expect("it is one")
            .expect("it is in the response")
            .to_vec();
        assert_eq!(ada.modify_in(&txn, ADA, &KING).code, InsufficientAccessRights);
        ada.settle(&txn, false);
        let txn = ada.start();
        let named = [transaction_specification::control(&txn)];
        let request = PasswordModify { user: None, old: Some(b"corset"), new: Some(&made) }.encode();
        let request = Request::Extended(Extended { oid: password_modify::OID, value: Some(&request) });
        assert_eq!(ada.ask(&request, &named).end.code, Success);
        assert_eq!(ada.commit(&txn).code, Success);
        let made = String::from_utf8(made).expect("text");
        assert_eq!(client.another().bind(ADA, &made).code, Success);
    });
}

#[test]
fn what_is_malformed() {
    each(|mut client| {
        let txn = client.start();
        for value in [None, Some(&b""[..]), Some(b"\x04\x01x"), Some(b"\x30\x00")] {
            assert_eq!(client.extended(end_transaction::OID, value).code, ProtocolError, "{value:x?}");
        }
        assert_eq!(client.extended(start_transaction::OID, Some(b"")).code, ProtocolError);
        let not_critical = Control { critical: false, ..transaction_specification::control(&txn) };
        let no_value = Control { value: None, ..transaction_specification::control(&txn) };
        let twice = [transaction_specification::control(&txn), transaction_specification::control(&txn)];
        for controls in [&[not_critical][..], &[no_value], &twice] {
            assert_eq!(client.modify_with(ADA, &KING, controls).end.code, ProtocolError);
        }
        let search = client.search_with(ADA, model::Scope::Base, "(sn=*)", &[], |_| {}, &twice[..1]);
        assert_eq!(search.end.code, UnavailableCriticalExtension);
        assert_eq!(client.value(ADA, "sn"), one("Lovelace"));
    });
}

#[test]
fn anonymous_clients_have_none() {
    let mut client = Client::new();
    client.bind("", "");
    assert_eq!(client.extended(start_transaction::OID, None).code, StrongerAuthRequired);
}

/// A bundle: begin, updates and end are there at once.
#[test]
fn all_of_it_in_one_write() {
    each(|mut client| {
        let txn = client.start();
        let named = [transaction_specification::control(&txn)];
        let mut bytes = client.modify_bytes(ADA, &KING, &named);
        bytes.extend(client.modify_bytes(GRACE, &KING, &named));
        bytes.extend(client.modify_bytes(GRACE, &[(Replace, "mail", &["x@y"])], &[]));
        bytes.extend(client.settle_bytes(&txn, true));
        bytes.extend(client.modify_bytes(ADA, &[(Replace, "cn", &["After"])], &[]));
        assert_eq!(codes(&client.raw(&bytes).0), [Success; 5]);
        assert_eq!((client.value(ADA, "sn"), client.value(GRACE, "sn")), (one("King"), one("King")));
        assert_eq!((client.value(ADA, "cn"), client.value(GRACE, "mail")), (one("After"), one("x@y")));
    });
}

/// An update that was answered cannot be abandoned (RFC 4511 section 4.11): it stays in the transaction.
#[test]
fn an_abandoned_update_stays() {
    each(|mut client| {
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
        let (last, abandon) = (client.last_id(), client.id());
        let mut bytes = Vec::new();
        Request::Abandon(last).encode(&mut bytes, abandon, &[]);
        assert!(client.raw(&bytes).0.is_empty());
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!(client.value(ADA, "sn"), one("King"));
    });
}
