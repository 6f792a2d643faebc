//! Users change their own password by modify, and nothing else; values with options are no passwords.

use super::*;
use crate::common::*;
use crate::fixture::{each, logged};
use dsa::Anonymous;
use model::ResultCode::*;
use model::limits::PASSWORD_BYTES_MAX;
use proto::control::proxied_authorization;
use proto::op::ModifyKind::{self, *};

type Changes<'c> = &'c [(ModifyKind, &'c str, &'c [&'c str])];

fn stored(client: &Client, dn: &str) -> Vec<String> {
    let mut root = client.another();
    root.read(dn, &["userPassword"]).values("userPassword").unwrap_or_default()
}

#[test]
fn users_change_their_own() {
    let forms: [Changes<'_>; 5] = [
        &[(Delete, "userPassword", &["lace"]), (Add, "userPassword", &["countess"])],
        &[(Add, "userPassword", &["countess"]), (Delete, "userPassword", &["lace"])],
        &[(Delete, "USERPASSWORD", &["lace"]), (Add, "2.5.4.35", &["countess"])],
        &[(Replace, "userPassword", &["countess"])],
        &[(Delete, "userPassword", &["lace"]), (Replace, "userPassword", &["countess"])],
    ];
    for changes in forms {
        each(|mut client| {
            client.must_bind(ADA, "lace");
            let end = client.modify(ADA, changes);
            assert_eq!(
                (end.code, end.tag),
                (Success, proto::tag::MODIFY_RESPONSE),
                "{changes:?}: {}",
                end.text
            );
            assert!(client.binds(ADA, "countess") && !client.binds(ADA, "lace"), "{changes:?}");
            let stored = stored(&client, ADA);
            assert!(stored.len() == 1 && stored[0].starts_with("{SSHA}"), "{stored:?}");
            assert_eq!(
                client.read(ADA, &["modifiersName"]).values("modifiersName"),
                Some(vec![ADA.to_owned()])
            );
            // What was hashed is taken away by the word that it is the hash of.
            let again: Changes<'_> =
                &[(Delete, "userPassword", &["countess"]), (Add, "userPassword", &["king"])];
            assert_eq!(client.modify("UID=Ada, OU=People, DC=Example", again).code, Success);
            assert!(client.binds(ADA, "king") && !client.binds(ADA, "countess"));
        });
    }
}

/// Neither the old password nor the new one is in the log, and a replay comes to the same.
#[test]
fn the_log_has_no_clear_text() {
    let (mut client, log) = logged();
    let begin = log.lock().expect("nobody panicked").len();
    client.must_bind(ADA, "lace");
    let changes: Changes<'_> = &[(Replace, "userPassword", &["first-s3cret"])];
    assert_eq!(client.modify(ADA, changes).code, Success);
    let changes: Changes<'_> =
        &[(Delete, "userPassword", &["first-s3cret"]), (Add, "userPassword", &["second-s3cret"])];
    assert_eq!(client.modify(ADA, changes).code, Success);
    let logged: Vec<u8> =
        log.lock().expect("nobody panicked")[begin..].iter().flat_map(|l| l.0.clone()).collect();
    assert!(!logged.windows(6).any(|part| part == b"s3cret"));
    assert!(crate::fixture::replayed(&log).binds(ADA, "second-s3cret"));
}

#[test]
fn they_change_nothing_else() {
    let long = "x".repeat(PASSWORD_BYTES_MAX + 1);
    let refused: [(&str, Changes<'_>, ResultCode); 14] = [
        (ADA, &[(Delete, "userPassword", &["wrong"]), (Add, "userPassword", &["x"])], NoSuchAttribute),
        (ADA, &[(Delete, "userPassword", &["lace"])], InsufficientAccessRights),
        (ADA, &[(Delete, "userPassword", &[])], InsufficientAccessRights),
        (ADA, &[(Replace, "userPassword", &[])], InsufficientAccessRights),
        (ADA, &[(Replace, "userPassword", &["x", "y"])], InsufficientAccessRights),
        (ADA, &[(Replace, "userPassword;x-a", &["x"])], InsufficientAccessRights),
        (ADA, &[(Replace, "userPassword", &["x"]), (Replace, "sn", &["y"])], InsufficientAccessRights),
        (ADA, &[(Replace, "sn", &["y"])], InsufficientAccessRights),
        (ADA, &[(Replace, "userPassword", &["{SSHA}gVK8WC9YyFT1gMsQHTGCgT3sSv5zYWx0"])], ConstraintViolation),
        (ADA, &[(Replace, "userPassword", &[""])], ConstraintViolation),
        (ADA, &[(Replace, "userPassword", &[&long])], ConstraintViolation),
        (GRACE, &[(Replace, "userPassword", &["x"])], InsufficientAccessRights),
        ("uid=nobody,dc=example", &[(Replace, "userPassword", &["x"])], NoSuchObject),
        ("nonsense", &[(Replace, "userPassword", &["x"])], InvalidDnSyntax),
    ];
    each(|mut client| {
        client.must_bind(ADA, "lace");
        let before = client.another().read(ADA, &["*", "+"]);
        for (dn, changes, code) in refused {
            let end = client.modify(dn, changes);
            assert_eq!(end.code, code, "{dn} {changes:?}: {}", end.text);
            assert!(!end.text.contains("wrong") && !end.text.is_empty(), "{}", end.text);
        }
        let txn = client.start();
        let end = client.modify_in(&txn, ADA, &[(Replace, "userPassword", &["x"])]);
        assert_eq!(end.code, InsufficientAccessRights);
        assert!(end.text.contains("password modify"), "{}", end.text);
        let filter = assertion("(uid=ada)");
        let asserted = [control(proto::control::assertion::OID, &filter, true)];
        let end = client.modify_with(ADA, &[(Replace, "userPassword", &["x"])], &asserted).end;
        assert_eq!(end.code, UnavailableCriticalExtension);
        assert_eq!(client.another().read(ADA, &["*", "+"]), before);
    });
}

#[test]
fn nobody_in_particular_changes_none() {
    each_with(&chosen(config(), |c| c.standing.anonymous = Anonymous::Read), |mut client| {
        client.must_bind("", "");
        for (dn, code) in [(ADA, InsufficientAccessRights), ("", NoSuchObject)] {
            let end = client.modify(dn, &[(Replace, "userPassword", &["x"])]);
            assert_eq!(end.code, code, "{dn}");
        }
        assert!(client.binds(ADA, "lace"));
    });
}

/// Who acts as a user changes that one's password, as the user would.
#[test]
fn proxied_authorization_is_the_user() {
    each(|mut client| {
        let ada = [proxied_authorization::control(b"u:ada")];
        let changes: Changes<'_> = &[(Delete, "userPassword", &["lace"]), (Add, "userPassword", &["x"])];
        assert_eq!(client.modify_with(GRACE, changes, &ada).end.code, InsufficientAccessRights);
        assert_eq!(client.modify_with(ADA, changes, &ada).end.code, Success);
        assert!(client.binds(ADA, "x") && stored(&client, ADA)[0].starts_with("{SSHA}"));
        assert_eq!(client.read(ADA, &["modifiersName"]).values("modifiersName"), Some(vec![ADA.to_owned()]));
        assert_eq!(client.modify(ADA, &[(Replace, "sn", &["King"])]).code, Success, "the root DN again");
    });
}

/// In one bundle, each sees the one before it.
#[test]
fn several_in_a_bundle() {
    each(|mut client| {
        client.must_bind(ADA, "lace");
        let mut bytes = Vec::new();
        for (old, new) in [("lace", "a"), ("a", "b"), ("a", "c"), ("b", "d")] {
            let changes: Changes<'_> = &[(Delete, "userPassword", &[old]), (Add, "userPassword", &[new])];
            bytes.extend(client.modify_bytes(ADA, changes, &[]));
        }
        bytes.extend(client.modify_bytes(ADA, &[(Replace, "sn", &["x"])], &[]));
        let (answers, _) = client.raw(&bytes);
        assert_eq!(codes(&answers), [Success, Success, NoSuchAttribute, Success, InsufficientAccessRights]);
        assert!(client.binds(ADA, "d"));
    });
}

/// Those who may change every entry change their own and those of others in the same way.
#[test]
fn a_writer_has_a_password_too() {
    each_with(&with_tool(), |mut client| {
        client.must_bind(TOOL, "tool");
        let changes: Changes<'_> = &[(Delete, "userPassword", &["tool"]), (Add, "userPassword", &["x"])];
        assert_eq!(client.modify(TOOL, changes).code, Success);
        assert!(client.binds(TOOL, "x") && stored(&client, TOOL)[0].starts_with("{SSHA}"));
        assert_eq!(client.modify(ADA, &[(Replace, "userPassword", &["y"])]).code, Success);
        assert!(client.binds(ADA, "y") && stored(&client, ADA)[0].starts_with("{SSHA}"));
    });
}

#[test]
fn values_with_options_are_no_passwords() {
    each(|mut client| {
        let changes: Changes<'_> =
            &[(Add, "userPassword;x-a", &["third"]), (Add, "userPassword;lang-de", &["vier"])];
        assert_eq!(client.modify(ADA, changes).code, Success);
        assert!(client.binds(ADA, "lace") && !client.binds(ADA, "third") && !client.binds(ADA, "vier"));
        client.must_bind(ADA, "lace");
        assert_eq!(client.change_password(None, Some("third"), "new"), InvalidCredentials);
        assert_eq!(client.change_password(None, Some("lace"), "new"), Success);
        let found = client.another().read(ADA, &["userPassword"]);
        assert_eq!(found.names(), ["userPassword"], "those with options give way, too");
        assert!(client.binds(ADA, "new"));
    });
}

/// An open session is no place to guess at the password: wrong old ones count for the account as failed binds do, and then the right one has to wait.
#[test]
fn test_y1_wrong_old_passwords_are_throttled() {
    each(|mut client| {
        client.must_bind(ADA, "lace");
        let by_modify: Changes<'_> =
            &[(Delete, "userPassword", &["wrong"]), (Add, "userPassword", &["another"])];
        for number in 0..10 {
            match number % 2 {
                0 => assert_eq!(client.change_password(None, Some("wrong"), "another"), InvalidCredentials),
                _ => assert_eq!(client.modify(ADA, by_modify).code, NoSuchAttribute),
            }
        }
        assert_eq!(client.change_password(None, Some("lace"), "another"), InvalidCredentials);
        client.wait(2);
        assert_eq!(client.change_password(None, Some("lace"), "another"), Success);
    });
}
