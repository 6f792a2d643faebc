//! RFC 3062: password modify.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 1 | changes no password for anonymous clients | `rfc3062_s1_not_anonymously` |
//! | 2.1 | takes the fields that there are; a value without any is as none | `rfc3062_s2_1_a_value_without_fields` |
//! | 2.1 | changes the password of the client if no user is named | `rfc3062_s2_a_users_own_password` |
//! | 2.1 | takes names of users in the forms of DNs and authorization identities | `rfc3062_s2_the_root_dn_changes_those_of_others` |
//! | 2.1 | lets only those change the password of another one who may | `rfc3062_s2_a_user_changes_nobody_elses` |
//! | 2.2 | answers without a name, and with a value only if that has genPasswd | `rfc3062_s2_a_users_own_password` |
//! | 2.2 | answers without a value where it does not succeed | `rfc3062_s2_2_a_refusal_has_no_value` |
//! | 2, RFC 4511 section 5.1 | takes lengths in the long form | `rfc3062_s2_however_its_lengths_are_written` |
//! | 3 | publishes the operation | `rfc3062_s3_the_root_dse_lists_it` |
//! | 3 | answers success only if it has changed the password, and leaves it as it was otherwise | `rfc3062_s3_success_means_that_it_changed`, `rfc3062_s3_one_password_is_left` |
//! | 3 | changes nothing where it does not recognise the fields | `rfc3062_s3_unknown_fields` |
//! | 3 | changes nothing where the old password is wrong | `rfc3062_s3_the_old_password_must_be_right` |
//! | 3 | generates no password where the client has given one | `rfc3062_s3_none_is_generated_for_a_bad_one` |
//! | 3 | generates one where the client has given none, and returns it | `rfc3062_s3_passwords_are_generated` |
//! | 4 | takes it only over a confidential connection, from another host | `black-box: test_t7_no_password_passes_in_the_clear_from_another_host` |
//! | 4 | speaks no NULL cipher suite | `black-box: test_t6_sslscan_finds_the_nine_suites_only` |
//! | RFC 4370, 3 | with proxied authorization it is the password of that identity | `rfc4370_s3_the_proxied_identitys_password` |
//!
//! Not here, and why:
//!
//! | section | sentence | reason |
//! |---|---|---|
//! | 2.1 | a value has one field or more; oldPasswd is the current password, newPasswd the desired one | binds clients |

use super::{check_table, clients};
use crate::common::*;
use dsa::config::Scheme;
use model::ResultCode::*;
use model::limits::PASSWORD_BYTES_MAX;
use proto::Request;
use proto::control::proxied_authorization;
use proto::ext::password_modify::{OID, PasswordModify, decode_generated};
use proto::op::{Extended, ModifyKind};
use proto::tag::EXTENDED_RESPONSE;

const GRACE: &str = "uid=grace,ou=people,dc=example";

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc3062_password_modify.rs"));
}

fn change(client: &mut Client, user: Option<&str>, old: Option<&str>, new: Option<&str>) -> Outcome {
    let request = PasswordModify {
        user: user.map(str::as_bytes),
        old: old.map(str::as_bytes),
        new: new.map(str::as_bytes),
    };
    let value = request.encode();
    client.end(&Request::Extended(Extended { oid: OID, value: Some(&value) }))
}

fn generated(end: &Outcome) -> String {
    let value = end.value.as_deref().expect("there is a responseValue");
    let password = decode_generated(value).expect("it decodes").expect("genPasswd is there");
    String::from_utf8(password.to_vec()).expect("it can be typed")
}

fn can_bind(client: &mut Client, dn: &str, password: &str) -> bool {
    client.bind(dn, password).code == Success
}

/// "Servers SHOULD indicate their support for this extended operation".
#[test]
fn rfc3062_s3_the_root_dse_lists_it() {
    assert!(is_published("supportedExtension", OID));
}

/// "This operation SHALL NOT be used anonymously."
#[test]
fn rfc3062_s1_not_anonymously() {
    let mut client = Client::new();
    client.bind("", "");
    for user in [None, Some(ADA)] {
        assert_eq!(change(&mut client, user, Some("lace"), Some("new")).code, StrongerAuthRequired);
    }
    assert!(can_bind(&mut client, ADA, "lace"));
}

/// "If no userIdentity field is present, the request acts up upon the password of the user currently associated with the
/// LDAP session"; the responseName is absent, and without a generated password the value too.
#[test]
fn rfc3062_s2_a_users_own_password() {
    for (user, old) in [(None, None), (None, Some("lace")), (Some(ADA), Some("lace")), (Some("u:ada"), None)]
    {
        let mut client = Client::new();
        client.bind(ADA, "lace");
        let end = change(&mut client, user, old, Some("countess"));
        assert_eq!((end.code, end.tag, end.oid, end.value), (Success, EXTENDED_RESPONSE, None, None));
        assert_eq!(client.who_am_i(), format!("dn:{ADA}"), "the session goes on");
        assert!(!can_bind(&mut client, ADA, "lace"));
        assert!(can_bind(&mut client, ADA, "countess"));
        client.bind_root();
        let read = client.read(ADA, &["userPassword", "modifiersName"]);
        assert!(read.values("userPassword").expect("one")[0].starts_with("{SSHA}"));
        assert_eq!(read.values("modifiersName"), Some(vec![ADA.to_owned()]));
    }
}

#[test]
fn rfc3062_s2_the_root_dn_changes_those_of_others() {
    let mut client = Client::new();
    for user in [GRACE, "dn:UID=grace,ou=People,dc=example", "u:grace"] {
        assert_eq!(change(&mut client, Some(user), None, Some(user)).code, Success);
        assert!(can_bind(&mut client, GRACE, user));
        client.bind_root();
    }
    for user in ["uid=nobody,dc=example", "u:nobody", "nonsense", "", "dn:"] {
        assert_eq!(change(&mut client, Some(user), None, Some("x")).code, NoSuchObject, "{user}");
    }
    for user in [None, Some(ROOT_DN)] {
        assert_eq!(change(&mut client, user, None, Some("x")).code, UnwillingToPerform);
    }
    assert!(can_bind(&mut client, ROOT_DN, PASSWORD));
    // An entry that can have no password.
    let end = change(&mut client, Some("ou=people,dc=example"), None, Some("x"));
    assert_eq!((end.code, end.tag), (Success, EXTENDED_RESPONSE), "{}", end.text);
    client.must_add("uid=x,dc=example", &[("objectClass", &["account"])]);
    let end = change(&mut client, Some("uid=x,dc=example"), None, Some("x"));
    assert_eq!((end.code, end.tag, end.value), (ObjectClassViolation, EXTENDED_RESPONSE, None));
}

#[test]
fn rfc3062_s2_a_user_changes_nobody_elses() {
    let mut client = Client::new();
    client.bind(ADA, "lace");
    for user in [GRACE, "u:grace", "uid=nobody,dc=example", ROOT_DN, "nonsense", ""] {
        assert_eq!(change(&mut client, Some(user), None, Some("x")).code, InsufficientAccessRights, "{user}");
    }
}

/// "If oldPasswd is present and the provided value cannot be verified or is incorrect, the server SHALL NOT change the user
/// password."
#[test]
fn rfc3062_s3_the_old_password_must_be_right() {
    let mut client = Client::new();
    for root in [false, true] {
        match root {
            true => client.bind_root(),
            false => assert!(can_bind(&mut client, ADA, "lace")),
        }
        for wrong in ["wrong", "", "Lace"] {
            let end = change(&mut client, Some(ADA), Some(wrong), Some("x"));
            assert_eq!((end.code, end.value), (InvalidCredentials, None));
        }
    }
    assert_eq!(
        change(&mut client, Some(GRACE), Some("any"), Some("x")).code,
        InvalidCredentials,
        "none is there"
    );
    assert!(can_bind(&mut client, ADA, "lace"));
}

/// "In absence of a client provided newPasswd, the server SHALL either generate a password on behalf of the client or
/// return a non-success result code. The server MUST provide the generated password upon success as the value of the
/// genPasswd field."
#[test]
fn rfc3062_s3_passwords_are_generated() {
    let mut client = Client::new();
    client.bind(ADA, "lace");
    let end = client.end(&Request::Extended(Extended { oid: OID, value: None }));
    assert_eq!(end.code, Success);
    let first = generated(&end);
    assert!(can_bind(&mut client, ADA, &first) && first.len() >= 12);
    let second = generated(&change(&mut client, None, Some(&first), None));
    assert!(can_bind(&mut client, ADA, &second) && second != first);
    assert!(!can_bind(&mut client, ADA, &first));
    assert_eq!(client.bind(ADA, &second).code, Success);
    let end = change(&mut client, None, Some("wrong"), None);
    assert_eq!(
        (end.code, end.value),
        (InvalidCredentials, None),
        "section 2.2: absent unless it is a success"
    );
}

/// "The server SHALL NOT generate a password on behalf of the client if the client has provided a newPasswd."
#[test]
fn rfc3062_s3_none_is_generated_for_a_bad_one() {
    let mut client = Client::new();
    client.bind(ADA, "lace");
    let (long, longest) = ("x".repeat(PASSWORD_BYTES_MAX + 1), "x".repeat(PASSWORD_BYTES_MAX));
    for bad in ["", &long] {
        let end = change(&mut client, None, None, Some(bad));
        assert_eq!((end.code, end.value), (ConstraintViolation, None));
    }
    assert!(can_bind(&mut client, ADA, "lace"));
    assert_eq!(change(&mut client, None, None, Some(&longest)).code, Success);
    assert!(can_bind(&mut client, ADA, &longest));
}

/// "If the server does not recognize provided fields or does not support the combination of fields provided, it SHALL NOT
/// change the user password."
#[test]
fn rfc3062_s3_unknown_fields() {
    let mut client = Client::new();
    client.bind(ADA, "lace");
    let known = PasswordModify { new: Some(b"x"), ..PasswordModify::default() }.encode();
    let more = [&[0x30, known[1] + 2], &known[2..], &[0x83, 0]].concat();
    for value in [&more[..], &[], b"nonsense", &[0x30, 1]] {
        let end = client.end(&Request::Extended(Extended { oid: OID, value: Some(value) }));
        assert_eq!((end.code, end.tag, end.value), (ProtocolError, EXTENDED_RESPONSE, None), "{value:x?}");
    }
    assert!(can_bind(&mut client, ADA, "lace"));
}

/// All of a user's passwords give way to the new one, however many there were, and whichever was the old one.
#[test]
fn rfc3062_s3_one_password_is_left() {
    let mut client = Client::new();
    let many: Vec<String> = (0..8).map(|n| format!("p{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(client.modify(ADA, &[(ModifyKind::Replace, "userPassword", &many)]).code, Success);
    assert!(can_bind(&mut client, ADA, "p7"));
    assert_eq!(change(&mut client, None, Some("p4"), Some("new")).code, Success);
    assert!(can_bind(&mut client, ADA, "new") && !can_bind(&mut client, ADA, "p7"));
}

/// As it is configured.
#[test]
fn passwords_in_the_clear() {
    let mut client = Client::with(chosen(config(), |c| c.passwords.schemes = vec![Scheme::Clear]));
    assert_eq!(change(&mut client, Some(ADA), Some("lace"), Some("new")).code, Success);
    assert_eq!(client.read(ADA, &["userPassword"]).values("userPassword"), Some(vec!["new".to_owned()]));
    let end = change(&mut client, Some(ADA), None, Some("{SSHA}gVK8WC9YyFT1gMsQHTGCgT3sSv5zYWx0"));
    assert_eq!(end.code, ConstraintViolation, "it would be taken for a hash");
}

/// With RFC 4370: the password of who the request is applied as.
#[test]
fn rfc4370_s3_the_proxied_identitys_password() {
    let mut client = Client::new();
    let value = PasswordModify { new: Some(b"new"), ..PasswordModify::default() }.encode();
    let request = Request::Extended(Extended { oid: OID, value: Some(&value) });
    for (id, code) in [("u:grace", Success), ("", StrongerAuthRequired), ("u:nobody", AuthorizationDenied)] {
        let controls = [proxied_authorization::control(id.as_bytes())];
        assert_eq!(client.ask(&request, &controls).end.code, code, "{id}");
    }
    assert_eq!(client.read(GRACE, &["modifiersName"]).values("modifiersName"), Some(vec![GRACE.to_owned()]));
    assert!(can_bind(&mut client, GRACE, "new"));
}

/// RFC 4511 section 5.1 allows lengths in the long form.
#[test]
fn rfc3062_s2_however_its_lengths_are_written() {
    let mut client = Client::new();
    client.bind(ADA, "lace");
    let name = [&[0x80, 0x81, OID.len() as u8], OID].concat();
    let value = PasswordModify { new: Some(b"new"), ..PasswordModify::default() }.encode();
    let long = message(7, &[&tlv(proto::tag::EXTENDED, &[&name[..], &tlv(0x81, &value)].concat())]);
    let (all, _) = client.raw(&long);
    assert!(matches!(&all[0].what, What::End(end) if end.code == Success), "{all:?}");
    assert!(can_bind(&mut client, ADA, "new"));
}

/// "it SHALL contain a PasswdModifyRequestValue with one or more fields present": one without is no reason to refuse what the client wants.
#[test]
fn rfc3062_s2_1_a_value_without_fields() {
    let mut client = Client::new();
    client.bind(ADA, "lace");
    let end = client.end(&Request::Extended(Extended { oid: OID, value: Some(&[0x30, 0]) }));
    assert_eq!(end.code, Success);
    assert!(can_bind(&mut client, ADA, &generated(&end)) && !can_bind(&mut client, ADA, "lace"));
}

/// "If an resultCode other than success (0) is indicated in the response, the response field MUST be absent."
#[test]
fn rfc3062_s2_2_a_refusal_has_no_value() {
    let mut client = Client::new();
    for (who, password, user, old) in [
        ("", "", None, None),
        (ADA, "lace", None, Some("wrong")),
        (ADA, "lace", Some(GRACE), None),
        (ROOT_DN, PASSWORD, None, None),
        (ROOT_DN, PASSWORD, Some("uid=nobody,dc=example"), None),
    ] {
        client.bind(who, password);
        // One would be generated.
        let end = change(&mut client, user, old, None);
        assert_ne!(end.code, Success, "{who} {user:?}");
        assert_eq!((end.tag, end.oid, end.value), (EXTENDED_RESPONSE, None, None), "{who} {user:?}");
    }
}

/// "The server SHALL only return success upon successfully changing the user's password. The server SHALL leave the password unmodified and
/// return a non-success resultCode otherwise."
#[test]
fn rfc3062_s3_success_means_that_it_changed() {
    for mut client in clients() {
        let stored = |client: &mut Client| client.read(ADA, &["userPassword"]).values("userPassword");
        let before = stored(&mut client);
        for (old, new, code) in [
            (Some("wrong"), Some("new"), InvalidCredentials),
            (Some("lace"), Some(""), ConstraintViolation),
            (Some("lace"), Some("new"), Success),
        ] {
            assert_eq!(change(&mut client, Some(ADA), old, new).code, code, "{old:?} {new:?}");
            assert_eq!(stored(&mut client) == before, code != Success);
        }
        assert!(can_bind(&mut client, ADA, "new") && !can_bind(&mut client, ADA, "lace"));
    }
}

/// In a bundle with others, in order.
#[test]
fn among_other_requests() {
    let mut client = Client::new();
    let mut input = Vec::new();
    let value = |new: &str| {
        PasswordModify { user: Some(ADA.as_bytes()), old: None, new: Some(new.as_bytes()) }.encode()
    };
    for n in 0..50 {
        let changes = changes_of(&[(ModifyKind::Replace, "userPassword", &[&format!("m{n}")])]);
        let changes = proto::op::Changes::parse(&changes).expect("just encoded");
        let modify = Request::Modify(proto::op::Modify { dn: ADA.as_bytes(), changes });
        input.extend(client.encode(&modify, &[]).1);
        let old = PasswordModify {
            old: Some(format!("m{n}").as_bytes()),
            ..PasswordModify::decode(&value("x")).expect("just encoded")
        }
        .encode();
        input.extend(client.encode(&Request::Extended(Extended { oid: OID, value: Some(&old) }), &[]).1);
        let wrong = Request::Extended(Extended { oid: OID, value: Some(&old) });
        input.extend(client.encode(&wrong, &[]).1);
    }
    let (all, _) = client.raw(&input);
    assert_eq!(codes(&all), [Success, Success, InvalidCredentials].repeat(50));
    assert!(all.windows(2).all(|pair| pair[0].id < pair[1].id), "answered in order");
    assert!(can_bind(&mut client, ADA, "x"));
}
