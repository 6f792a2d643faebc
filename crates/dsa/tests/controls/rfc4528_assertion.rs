//! RFC 4528: assertion.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 3 | processes an add, compare, delete, modify, modifyDN or search if the assertion is TRUE | `rfc4528_s3_true_lets_every_operation_happen` |
//! | 3 | answers assertionFailed if it is FALSE or Undefined, and does nothing | `rfc4528_s3_false_and_undefined_fail_and_change_nothing`, `rfc4528_s3_equality_without_a_rule_is_undefined` |
//! | 3 | takes a filter as the value, and nothing else | `rfc4528_s3_the_value_is_a_filter` |
//! | 3 | takes it on no other operation | `rfc4528_s3_inappropriate_for_others` |
//! | 3 | asserts of the new entry of an add | `rfc4528_s3_the_target_of_an_add_is_the_new_entry` |
//! | 3 | evaluates it as a part of the operation, as one action | `rfc4528_s3_evaluated_where_the_operation_is_applied`, `rfc4528_s3_of_two_that_assert_the_same_one_is_applied` |
//! | 3 | asserts of the base of a search, before it searches | `rfc4528_s3_a_search_asserts_of_its_base` |
//! | 3 | publishes the control | `rfc4528_s3_the_root_dse_lists_it` |
//! | 3, RFC 3296 | asserts of a referral object where that is managed | `rfc4528_s3_of_referral_objects_only_when_they_are_managed` |
//! | 4 | obeys access rules | `rfc4528_s4_secrets_cannot_be_guessed`, `dsa: x4_assertions_and_refusals_have_one_answer` |
//! | 4 | has a bound | `rfc4528_s3_the_value_is_a_filter` |
//!
//! One deviation: an update asserts nothing of contextCSN, which is of the moment and not of the entry: `an_update_asserts_nothing_of_the_last_change`.

use super::{check_table, clients};
use crate::common::*;
use model::ResultCode::{self, *};
use model::Scope;
use model::limits::ASSERTION_ITEMS_MAX;
use proto::control::Control;
use proto::control::assertion::OID;
use proto::op::{Extended, ModifyKind};
use proto::{Request, ext};

const GRACE: &str = "uid=grace,ou=people,dc=example";
const SET: [(ModifyKind, &str, &[&str]); 1] = [(ModifyKind::Replace, "description", &["changed"])];
const BOB: Given<'static> = &[("objectClass", &["inetOrgPerson"]), ("cn", &["Bob"]), ("sn", &["Bee"])];

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc4528_assertion.rs"));
}

fn with<'a>(value: &'a [u8]) -> [Control<'a>; 1] {
    [control(OID, value, true)]
}

/// What each operation answers with an assertion, in this order: modify, compare, search of ADA, rename, delete of grace,
/// add of bob.
fn codes_of_all(client: &mut Client, filter: &str) -> Vec<ResultCode> {
    let value = assertion(filter);
    let controls = with(&value);
    let bob = "uid=bob,ou=people,dc=example";
    vec![
        client.modify_with(ADA, &SET, &controls).end.code,
        client.compare_with(ADA, "sn", "lovelace", &controls).end.code,
        client.search_with(ADA, Scope::Base, "(objectClass=*)", &["1.1"], |_| {}, &controls).end.code,
        client.rename_with(GRACE, "uid=amazing", &controls).end.code,
        client.delete_with("uid=amazing,ou=people,dc=example", &controls).end.code,
        client.add_with(bob, BOB, &controls).end.code,
    ]
}

#[test]
fn rfc4528_s3_true_lets_every_operation_happen() {
    let mut client = Client::new();
    let all = codes_of_all(&mut client, "(&(objectClass=person)(!(sn=nobody)))");
    assert_eq!(all, [Success, CompareTrue, Success, Success, Success, Success]);
    assert_eq!(client.read(ADA, &["description"]).values("description"), Some(vec!["changed".to_owned()]));
    assert_eq!(client.compare("uid=bob,ou=people,dc=example", "sn", "bee").code, CompareTrue);
}

/// Equality of a type without a rule for it is Undefined, and so is what it is negated to.
#[test]
fn rfc4528_s3_equality_without_a_rule_is_undefined() {
    let mut client = Client::new();
    for filter in ["(jpegPhoto=x)", "(!(jpegPhoto=x))", "(&(objectClass=*)(!(audio=x)))"] {
        let value = assertion(filter);
        assert_eq!(client.modify_with(ADA, &SET, &with(&value)).end.code, AssertionFailed, "{filter}");
        assert_eq!(client.compare_with(ADA, "sn", "lovelace", &with(&value)).end.code, AssertionFailed);
    }
}

/// "If the Filter evaluates to FALSE or Undefined, then assertionFailed (122) resultCode is returned, and no further
/// processing is performed."
#[test]
fn rfc4528_s3_false_and_undefined_fail_and_change_nothing() {
    for filter in
        ["(sn=nobody)", "(nonsense=x)", "(!(nonsense=x))", "(|)", "(&(objectClass=person)(sn=nobody))"]
    {
        let mut client = Client::new();
        let before = client.read(ADA, &["*", "+"]);
        let mut all = codes_of_all(&mut client, filter);
        // Its name never came to be.
        assert_eq!(all.remove(4), NoSuchObject);
        assert_eq!(all, [AssertionFailed; 5], "{filter}");
        assert_eq!(client.delete_with(GRACE, &with(&assertion(filter))).end.code, AssertionFailed);
        assert_eq!(client.read(ADA, &["*", "+"]), Found { controls: vec![], ..before });
        assert_eq!(client.read("uid=bob,ou=people,dc=example", &[]).end.code, NoSuchObject);
        assert_eq!(client.read(GRACE, &["1.1"]).end.code, Success);
    }
}

/// What is not of the entry alone is of the moment: an outcome that hung on it would be another at a replay. Who looks may ask.
#[test]
fn an_update_asserts_nothing_of_the_last_change() {
    let mut client = Client::new();
    let top = "dc=example";
    let value = assertion("(contextCSN=*)");
    assert_eq!(client.modify_with(top, &SET, &with(&value)).end.code, AssertionFailed);
    let found = client.search_with(top, Scope::Base, "(contextCSN=*)", &["1.1"], |_| {}, &with(&value));
    assert_eq!((found.end.code, found.entries.len()), (Success, 1));
}

/// "the evaluation of the assertion and the normal processing of the operation SHALL be done as one atomic action":
/// requests of one bundle see what those before them did.
#[test]
fn rfc4528_s3_evaluated_where_the_operation_is_applied() {
    let mut client = Client::new();
    let (mut input, mut now) = (Vec::new(), 36);
    for step in 0..40 {
        let changes = changes_of(&[(ModifyKind::Replace, "employeeNumber", &[&step.to_string()])]);
        let changes = proto::op::Changes::parse(&changes).expect("just encoded");
        // Every third asserts what never was so.
        let is_stale = step % 3 == 2;
        let value = assertion(&format!("(employeeNumber={})", if is_stale { 1000 } else { now }));
        now = if is_stale { now } else { step };
        let request = Request::Modify(proto::op::Modify { dn: ADA.as_bytes(), changes });
        input.extend(client.encode(&request, &with(&value)).1);
    }
    for (step, code) in codes(&client.raw(&input).0).iter().enumerate() {
        let expected = if step % 3 == 2 { AssertionFailed } else { Success };
        assert_eq!(*code, expected, "step {step}");
    }
}

/// Two clients that have seen the same state, and each changes it only if it is so still: one of them does.
#[test]
fn rfc4528_s3_of_two_that_assert_the_same_one_is_applied() {
    for mut first in clients() {
        let mut second = Client::of(&first.dsa);
        second.commit = first.commit.clone();
        second.bind_root();
        for step in 0..10 {
            let seen = first.read(ADA, &["sn"]).values("sn").expect("it has one").remove(0);
            let value = assertion(&format!("(sn={seen})"));
            let by = |who: &str| format!("{who}{step}");
            let codes = [(&mut first, by("a")), (&mut second, by("b"))].map(|(client, sn)| {
                client.modify_with(ADA, &[(ModifyKind::Replace, "sn", &[&sn])], &with(&value)).end.code
            });
            assert_eq!(codes, [Success, AssertionFailed], "{step}");
            assert_eq!(second.read(ADA, &["sn"]).values("sn"), Some(vec![by("a")]));
        }
    }
}

/// "For Add [...] the target is indicated by the entry field in the request": the entry as it would be, with what the
/// server adds to it.
#[test]
fn rfc4528_s3_the_target_of_an_add_is_the_new_entry() {
    let mut client = Client::new();
    let dn = "uid=bob,ou=people,dc=example";
    for (filter, code) in [
        ("(uid=carol)", AssertionFailed),
        ("(hasSubordinates=TRUE)", AssertionFailed),
        (&format!("(creatorsName={ROOT_DN})")[..], Success),
        ("(uid=bob)", EntryAlreadyExists),
    ] {
        assert_eq!(client.add_with(dn, BOB, &with(&assertion(filter))).end.code, code, "{filter}");
    }
    let members: Vec<String> = (0..100).map(|n| format!("cn=m{n}")).collect();
    let members: Vec<&str> = members.iter().map(String::as_str).collect();
    let group: Given<'_> = &[("objectClass", &["groupOfNames"]), ("member", &members)];
    for (filter, code) in
        [("(member=cn=m100)", AssertionFailed), ("(member=cn=M7)", Success), ("(cn=a)", EntryAlreadyExists)]
    {
        let end = client.add_with("cn=a,ou=groups,dc=example", group, &with(&assertion(filter))).end;
        assert_eq!(end.code, code, "{filter}: {}", end.text);
    }
    assert!(client.dsa.shard().writer().check(5).is_empty());
}

/// "For Search operations, [...] the evaluation is done after "finding" but before "searching". Hence, no entries or
/// continuations references are returned if the assertion fails."
#[test]
fn rfc4528_s3_a_search_asserts_of_its_base() {
    let mut client = Client::new();
    for (base, filter, code, entries) in [
        ("ou=people,dc=example", "(ou=people)", Success, 2),
        ("ou=people,dc=example", "(ou=groups)", AssertionFailed, 0),
        ("ou=nobody,dc=example", "(ou=nobody)", NoSuchObject, 0),
        ("", "(namingContexts=dc=example)", Success, 0),
        ("", "(namingContexts=dc=com)", AssertionFailed, 0),
    ] {
        let scope = if base.is_empty() { Scope::Base } else { Scope::One };
        let value = assertion(filter);
        let found = client.search_with(base, scope, "(sn=*)", &["1.1"], |_| {}, &with(&value));
        assert_eq!((found.end.code, found.entries.len()), (code, entries), "{base} {filter}");
    }
}

/// "It is inappropriate for Abandon, Bind, Unbind, and StartTLS operations": RFC 4511 section 4.1.11 says what becomes of it.
#[test]
fn rfc4528_s3_inappropriate_for_others() {
    let mut client = Client::new();
    let value = assertion("(objectClass=*)");
    for critical in [true, false] {
        let controls = [control(OID, &value, critical)];
        let code = |normal| if critical { UnavailableCriticalExtension } else { normal };
        assert_eq!(client.ask(&bind(ROOT_DN, PASSWORD), &controls).end.code, code(Success));
        client.bind_root();
        let who = Request::Extended(Extended { oid: ext::who_am_i::OID, value: None });
        assert_eq!(client.ask(&who, &controls).end.code, code(Success));
        // Of what an administrator changes in the configuration nothing can be asserted.
        let changes: [(ModifyKind, &str, &[&str]); 1] = [(ModifyKind::Add, "olcDbIndex", &["cn eq"])];
        assert_eq!(client.modify_with("cn=config", &changes, &controls).end.code, code(Success));
    }
}

#[test]
fn rfc4528_s3_the_value_is_a_filter() {
    let mut client = Client::new();
    let filter = assertion("(sn=lovelace)");
    let long = format!("(|{})", "(sn=x)".repeat(ASSERTION_ITEMS_MAX as usize + 1));
    let most = format!("(|(sn=lovelace){})", "(sn=x)".repeat(ASSERTION_ITEMS_MAX as usize - 1));
    for (value, code) in [
        (None, ProtocolError),
        (Some(&b""[..]), ProtocolError),
        (Some(&[4, 2, b'c', b'n']), ProtocolError),
        (Some(&filter[..filter.len() - 1]), ProtocolError),
        (Some(&assertion(&long)), AdminLimitExceeded),
        (Some(&assertion(&most)), Success),
        (Some(&filter), Success),
    ] {
        for critical in [true, false] {
            let controls = [Control { oid: OID, critical, value }];
            assert_eq!(client.modify_with(ADA, &SET, &controls).end.code, code, "{value:x?}");
        }
    }
    let twice = [control(OID, &filter, true), control(OID, &filter, true)];
    assert_eq!(client.modify_with(ADA, &SET, &twice).end.code, ProtocolError);
}

/// "this mechanism SHOULD be subject to appropriate access controls": what cannot be read cannot be asserted either.
#[test]
fn rfc4528_s4_secrets_cannot_be_guessed() {
    let mut client = Client::new();
    let stored = client.read(ADA, &["userPassword"]).values("userPassword").expect("there is one");
    let right = assertion(&format!("(userPassword={})", stored[0]));
    assert_eq!(client.compare_with(ADA, "sn", "lovelace", &with(&right)).end.code, CompareTrue);
    client.bind(ADA, "lace");
    for filter in ["(userPassword=lace)", "(!(userPassword=lace))", "(userPassword=*)", "(!(userPassword=*))"]
    {
        let value = assertion(filter);
        assert_eq!(client.compare_with(ADA, "sn", "lovelace", &with(&value)).end.code, AssertionFailed);
        let found = client.search_with(ADA, Scope::Base, "(sn=*)", &["1.1"], |_| {}, &with(&value));
        assert_eq!(found.end.code, AssertionFailed, "{filter}");
        // A client that may not write learns nothing from the assertion either.
        assert_eq!(client.modify_with(ADA, &SET, &with(&value)).end.code, InsufficientAccessRights);
    }
}

/// RFC 4528 section 3 and RFC 4512: it is published.
#[test]
fn rfc4528_s3_the_root_dse_lists_it() {
    assert!(is_published("supportedControl", OID));
}

/// ManageDsaIT decides what the target is, as without an assertion.
#[test]
fn rfc4528_s3_of_referral_objects_only_when_they_are_managed() {
    let mut client = Client::new();
    let refers: Given<'_> =
        &[("objectClass", &["referral", "extensibleObject"]), ("ref", &["ldap://elsewhere/ou=away"])];
    let manage = proto::control::manage_dsa_it::control(true);
    assert_eq!(client.add_with("ou=away,dc=example", refers, &[manage]).end.code, Success);
    let (no, yes) = (assertion("(ou=nowhere)"), assertion("(ou=away)"));
    let set: [(ModifyKind, &str, &[&str]); 1] = [(ModifyKind::Replace, "description", &["x"])];
    for (value, managed, code) in
        [(&no, false, Referral), (&yes, false, Referral), (&no, true, AssertionFailed), (&yes, true, Success)]
    {
        let controls = [control(OID, value, true), manage];
        let controls = if managed { &controls[..] } else { &controls[..1] };
        assert_eq!(client.modify_with("ou=away,dc=example", &set, controls).end.code, code);
        let compared = client.compare_with("ou=away,dc=example", "ou", "away", controls).end.code;
        assert_eq!(compared, if code == Success { CompareTrue } else { code });
    }
}
