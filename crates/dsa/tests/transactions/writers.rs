//! An identity that `write-dn` names: it changes every entry, sees no secrets, and changes no configuration; in transactions or not.

use crate::common::journal::journaled_with;
use crate::common::*;
use model::ResultCode::*;
use proto::control::{
    assertion as assertion_control, proxied_authorization, read_entry, transaction_specification,
};
use proto::ext::end_transaction::EndTransactionResult;
use proto::op::ModifyKind::{self, Replace};

const GRACE: &str = "uid=grace,ou=people,dc=example";
const KING: [(ModifyKind, &str, &[&str]); 1] = [(Replace, "sn", &["King"])];

/// Ada may write, over a directory with a log and without.
fn each_writer(test: impl Fn(Client)) {
    let config = || {
        chosen(config(), |c| {
            c.standing.writers = vec![ADA.to_uppercase()];
            c.standing.proxies = vec![GRACE.to_owned()];
        })
    };
    let mut logged = journaled_with(config()).0;
    logged.plant();
    for mut client in [Client::with(config()), logged] {
        let password: [(ModifyKind, &str, &[&str]); 1] = [(Replace, "userPassword", &["hop"])];
        assert_eq!(client.modify(GRACE, &password).code, Success);
        assert_eq!(client.bind(ADA, "lace").code, Success);
        test(client);
    }
}

#[test]
fn changes_every_entry_under_its_own_name() {
    each_writer(|mut client| {
        assert_eq!(client.modify(GRACE, &KING).code, Success);
        assert_eq!(client.value(GRACE, "modifiersName"), Some(vec![ADA.to_owned()]));
        assert_eq!(client.bind(GRACE, "wrong").code, InvalidCredentials);
        assert_eq!(client.modify(GRACE, &KING).code, NoSuchObject, "nobody is bound");
        assert_eq!(client.bind(GRACE, "hop").code, Success);
        assert_eq!(client.modify(ADA, &KING).code, InsufficientAccessRights, "grace may not");
    });
}

#[test]
fn changes_no_configuration() {
    each_writer(|mut client| {
        let config: [(ModifyKind, &str, &[&str]); 1] = [(Replace, "pandoTxnOpenMax", &["9"])];
        assert_eq!(client.modify("cn=config", &config).code, InsufficientAccessRights);
    });
}

#[test]
fn reads_no_passwords() {
    each_writer(|mut client| {
        assert_eq!(client.value(GRACE, "userPassword"), None);
        let wanted = wanted(&["*", "userPassword"]);
        let reads =
            [control(read_entry::PRE_OID, &wanted, true), control(read_entry::POST_OID, &wanted, true)];
        let found = client.modify_with(GRACE, &KING, &reads);
        assert_eq!(found.end.code, Success);
        let txn = client.start();
        let inside = [reads[0], reads[1], transaction_specification::control(&txn)];
        assert_eq!(client.modify_with(GRACE, &KING, &inside).end.code, Success);
        let end = client.commit(&txn);
        assert_eq!(end.code, Success);
        let value = end.value.expect("there are controls");
        let result = EndTransactionResult::decode(&value).expect("a value of the end");
        let (_, controls) = result.updates.first().expect("one was read");
        for oid in [read_entry::PRE_OID, read_entry::POST_OID] {
            assert_eq!(found.brought_values(oid, "userPassword"), None);
            assert!(found.brought_values(oid, "cn").is_some());
            let entry = controls.find(oid).and_then(|control| control.value).expect("it was asked for");
            let entry = read_entry::decode_entry(entry).expect("an entry");
            let names: Vec<&[u8]> = entry.attributes.iter().map(|one| one.description).collect();
            assert!(names.contains(&&b"cn"[..]) && !names.contains(&&b"userPassword"[..]), "{names:?}");
        }
    });
}

#[test]
fn asserts_nothing_of_passwords() {
    each_writer(|mut client| {
        for filter in
            ["(userPassword=hop)", "(!(userPassword=hop))", "(:octetStringMatch:=hop)", "(2.5.4.35=*)"]
        {
            let value = assertion(filter);
            let asserted = control(assertion_control::OID, &value, true);
            let refused = client.modify_with(GRACE, &KING, &[asserted]).end;
            assert_eq!(refused.code, InsufficientAccessRights, "{filter}: {}", refused.text);
            let txn = client.start();
            let inside = [asserted, transaction_specification::control(&txn)];
            assert_eq!(
                client.modify_with(GRACE, &KING, &inside).end.code,
                InsufficientAccessRights,
                "{filter}"
            );
            assert_eq!(client.commit(&txn).code, InsufficientAccessRights);
        }
        let value = assertion("(&(sn=Hopper)(uid=grace))");
        let asserted = control(assertion_control::OID, &value, true);
        assert_eq!(client.modify_with(GRACE, &KING, &[asserted]).end.code, Success);
        assert_eq!(client.value(GRACE, "sn"), Some(vec!["King".to_owned()]));
    });
}

/// Answers stay in order when one in the middle is refused at once.
#[test]
fn what_is_refused_comes_after_what_waits() {
    each_writer(|mut client| {
        let value = assertion("(userPassword=*)");
        let asserted = [control(assertion_control::OID, &value, true)];
        let mut bytes = client.modify_bytes(GRACE, &KING, &[]);
        bytes.extend(client.modify_bytes(GRACE, &KING, &asserted));
        bytes.extend(client.modify_bytes(GRACE, &KING, &[]));
        let (answers, _) = client.raw(&bytes);
        assert_eq!(codes(&answers), [Success, InsufficientAccessRights, Success]);
        assert!(answers.is_sorted_by_key(|answer| answer.id));
    });
}

/// Who may act as others may not write by that.
#[test]
fn is_nobody_that_a_proxy_may_be() {
    each_writer(|mut client| {
        assert_eq!(client.bind(GRACE, "hop").code, Success);
        let ada = [proxied_authorization::control(b"u:ada")];
        assert_eq!(client.modify_with(GRACE, &KING, &ada).end.code, AuthorizationDenied);
        client.bind_root();
        assert_eq!(client.modify_with(GRACE, &KING, &ada).end.code, Success);
        assert_eq!(client.value(GRACE, "modifiersName"), Some(vec![ADA.to_owned()]));
    });
}
