//! RFC 4527: pre-read and post-read.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 3.1 | returns the entry as it was before a modify, a delete, a modifyDN | `rfc4527_s3_1_and_s3_2_*`, `rfc4527_s3_1_a_deleted_entry_is_returned` |
//! | 3.2 | returns it as it is after an add, a modify, a modifyDN | `rfc4527_s3_1_and_s3_2_*`, `rfc4527_s3_2_an_added_entry_is_returned` |
//! | 3.1, 3.2 | publishes both | `rfc4527_s3_the_root_dse_lists_them` |
//! | 3.1, 3.2 | takes a selection of attributes as of a search, and nothing else | `rfc4527_s3_the_selection_is_that_of_a_search`, `rfc4527_s3_the_value_is_a_selection` |
//! | 3.1, 3.2 | takes them on the operations that they are for | `rfc4527_s3_only_on_the_operations_they_are_for` |
//! | 3.1, 3.2 | updates and reads as one action, apart from other updates | `rfc4527_s3_each_update_of_a_bundle_reads_its_own_state`, `rfc4527_s3_updates_of_others_are_not_in_between` |
//! | 3.1, 3.2 | brings nothing where the update fails | `rfc4527_s3_a_failed_update_brings_nothing` |
//! | 3.1, 3.2 | fails or brings nothing where the entry is too long | `rfc4527_s3_entries_that_are_too_long`, `rfc4527_s3_what_is_too_long_does_not_depend_on_rights` |
//! | 3.1, 3.2 | brings big sets of values whole | `rfc4527_s3_big_sets` |
//! | 4 | obeys an assertion and ManageDsaIT beside them | `rfc4527_s4_together_with_an_assertion` |
//! | 5 | brings only what the client may read, and only if it may update | `rfc4527_s5_access`, `dsa: x4_reads_bring_nothing_hidden` |

use super::{check_table, clients};
use crate::common::*;
use model::ResultCode::*;
use model::Scope;
use model::limits::READ_ENTRY_BYTES_MAX;
use proto::control::Control;
use proto::control::read_entry::{POST_OID, PRE_OID};
use proto::op::ModifyKind::{self, Add, Replace};

const SET: [(ModifyKind, &str, &[&str]); 1] = [(Replace, "sn", &["King"])];
const BOB: Given<'static> = &[("objectClass", &["inetOrgPerson"]), ("cn", &["Bob"]), ("sn", &["Bee"])];

fn one(value: &str) -> Option<Vec<String>> {
    Some(vec![value.to_owned()])
}

fn both<'a>(value: &'a [u8]) -> [Control<'a>; 2] {
    [control(PRE_OID, value, true), control(POST_OID, value, false)]
}

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc4527_read_entry.rs"));
}

#[test]
fn rfc4527_s3_1_and_s3_2_the_entry_before_and_after_a_modify() {
    let mut client = Client::new();
    let found = client.modify_with(ADA, &SET, &both(&wanted(&["sn", "modifiersName"])));
    assert_eq!(found.end.code, Success);
    assert_eq!(found.brought_values(PRE_OID, "sn"), one("Lovelace"));
    assert_eq!(found.brought_values(POST_OID, "sn"), one("King"));
    assert_eq!(found.brought_values(POST_OID, "modifiersName"), one(ROOT_DN));
    let (dn, attributes) = found.brought(PRE_OID).expect("it was asked for");
    assert_eq!((dn.as_str(), attributes.len()), (ADA, 2));
}

#[test]
fn rfc4527_s3_1_and_s3_2_a_rename_has_both_names() {
    let mut client = Client::new();
    let found = client.rename_with(ADA, "uid=countess", &both(&wanted(&["uid"])));
    assert_eq!(found.brought(PRE_OID).expect("asked for").0, ADA);
    assert_eq!(found.brought_values(PRE_OID, "uid"), one("ada"));
    assert_eq!(found.brought(POST_OID).expect("asked for").0, "uid=countess,ou=people,dc=example");
    assert_eq!(found.brought_values(POST_OID, "uid"), one("countess"));
}

#[test]
fn rfc4527_s3_1_a_deleted_entry_is_returned() {
    let mut client = Client::new();
    let value = wanted(&["*", "+"]);
    let before = client.read(ADA, &["*", "+"]);
    let found = client.delete_with(ADA, &[control(PRE_OID, &value, true)]);
    assert_eq!(found.end.code, Success);
    let (dn, attributes) = found.brought(PRE_OID).expect("it was asked for");
    assert_eq!((dn, attributes), before.entries[0]);
    assert_eq!(client.read(ADA, &[]).end.code, NoSuchObject);
}

/// With entryUUID, for which RFC 4527 section 1 has it.
#[test]
fn rfc4527_s3_2_an_added_entry_is_returned() {
    let mut client = Client::new();
    let dn = "uid=bob,ou=people,dc=example";
    let value = wanted(&["*", "+"]);
    let found = client.add_with(dn, BOB, &[control(POST_OID, &value, true)]);
    let brought = found.brought(POST_OID).expect("it was asked for");
    assert_eq!(brought, client.read(dn, &["*", "+"]).entries[0]);
    assert!(found.brought_values(POST_OID, "entryUUID").is_some());
}

/// AttributeSelection as in a search: no selector for all user attributes, `*`, `+`, `1.1`, options, classes.
#[test]
fn rfc4527_s3_the_selection_is_that_of_a_search() {
    let mut client = Client::new();
    for selectors in [&[][..], &["*"], &["+"], &["1.1"], &["cn;lang-fr"], &["@person"], &["nonsense", "mail"]]
    {
        let value = wanted(selectors);
        let found = client.modify_with(ADA, &[(Replace, "mail", &["a@b"])], &both(&value));
        assert_eq!(found.brought(POST_OID), client.read(ADA, selectors).entries.pop(), "{selectors:?}");
    }
}

/// "one atomic action isolated from other update operations": in a bundle each sees exactly its own update.
#[test]
fn rfc4527_s3_each_update_of_a_bundle_reads_its_own_state() {
    let mut client = Client::new();
    let (value, mut input) = (wanted(&["title"]), Vec::new());
    for n in 0..200 {
        let changes = changes_of(&[(Replace, "title", &[&n.to_string()])]);
        let changes = proto::op::Changes::parse(&changes).expect("just encoded");
        let request = proto::Request::Modify(proto::op::Modify { dn: ADA.as_bytes(), changes });
        input.extend(client.encode(&request, &both(&value)).1);
    }
    let (all, _) = client.raw(&input);
    assert_eq!(all.len(), 200);
    for (n, answer) in all.into_iter().enumerate() {
        let found = found(answer.id, vec![answer]);
        assert_eq!(
            found.brought_values(PRE_OID, "title"),
            n.checked_sub(1).and_then(|n| one(&n.to_string()))
        );
        assert_eq!(found.brought_values(POST_OID, "title"), one(&n.to_string()));
    }
}

/// Updates of two clients in turn, in a directory with a log and without: what one reads before its update is what the other read after its own.
#[test]
fn rfc4527_s3_updates_of_others_are_not_in_between() {
    for mut first in clients() {
        let mut second = Client::of(&first.dsa);
        second.commit = first.commit.clone();
        second.bind_root();
        assert_eq!(first.modify(ADA, &[(Replace, "title", &["0"])]).code, Success);
        let value = wanted(&["title"]);
        for n in 0..20 {
            let client = if n % 2 == 0 { &mut first } else { &mut second };
            let (old, new) = (n.to_string(), (n + 1).to_string());
            let found = client.modify_with(ADA, &[(Replace, "title", &[&new])], &both(&value));
            assert_eq!(found.brought_values(PRE_OID, "title"), one(&old));
            assert_eq!(found.brought_values(POST_OID, "title"), one(&new));
        }
    }
}

/// "If the update operation fails (in either normal or control processing), no [...] response control is provided."
#[test]
fn rfc4527_s3_a_failed_update_brings_nothing() {
    let mut client = Client::new();
    let value = wanted(&[]);
    let failed = [
        client.modify_with(ADA, &[(Add, "sn", &["Lovelace"])], &both(&value)),
        client.modify_with("uid=x,dc=example", &SET, &both(&value)),
        client.rename_with(ADA, "uid=grace", &both(&value)),
        client.delete_with("ou=people,dc=example", &[control(PRE_OID, &value, true)]),
        client.add_with(ADA, BOB, &[control(POST_OID, &value, true)]),
    ];
    let codes =
        [AttributeOrValueExists, NoSuchObject, EntryAlreadyExists, NotAllowedOnNonLeaf, EntryAlreadyExists];
    for (found, code) in failed.iter().zip(codes) {
        assert_eq!((found.end.code, &found.controls[..]), (code, &[][..]));
    }
}

/// Pre-read is for modify, delete and modifyDN, post-read for add, modify and modifyDN.
#[test]
fn rfc4527_s3_only_on_the_operations_they_are_for() {
    let mut client = Client::new();
    let value = wanted(&[]);
    for critical in [true, false] {
        let code = |normal| if critical { UnavailableCriticalExtension } else { normal };
        let (pre, post) = ([control(PRE_OID, &value, critical)], [control(POST_OID, &value, critical)]);
        for found in [
            client.add_with("uid=bob,ou=people,dc=example", BOB, &pre),
            client.delete_with("uid=grace,ou=people,dc=example", &post),
            client.search_with(ADA, Scope::Base, "(sn=*)", &[], |_| {}, &pre),
        ] {
            assert_eq!((found.end.code, found.controls.len()), (code(Success), 0));
        }
        assert_eq!(client.compare_with(ADA, "sn", "lovelace", &post).end.code, code(CompareTrue));
    }
}

#[test]
fn rfc4527_s3_the_value_is_a_selection() {
    let mut client = Client::new();
    let good = wanted(&["cn"]);
    for oid in [PRE_OID, POST_OID] {
        for value in [None, Some(&b""[..]), Some(b"cn"), Some(&good[..good.len() - 1])] {
            let controls = [Control { oid, critical: false, value }];
            assert_eq!(client.modify_with(ADA, &SET, &controls).end.code, ProtocolError, "{value:?}");
        }
        let twice = [control(oid, &good, true), control(oid, &good, true)];
        assert_eq!(client.modify_with(ADA, &SET, &twice).end.code, ProtocolError);
    }
    assert_eq!(client.read(ADA, &["sn"]).values("sn"), one("Lovelace"));
}

/// Section 4: with an assertion and ManageDsaIT "the semantics of each control included in the combination applies".
#[test]
fn rfc4527_s4_together_with_an_assertion() {
    let mut client = Client::new();
    let (yes, no, value) = (assertion("(sn=lovelace)"), assertion("(sn=nobody)"), wanted(&["sn"]));
    let manage = proto::control::manage_dsa_it::control(true);
    let with = |assertion| {
        [control(proto::control::assertion::OID, assertion, true), both(&value)[0], both(&value)[1], manage]
    };
    let found = client.modify_with(ADA, &SET, &with(&no));
    assert_eq!((found.end.code, found.controls.len()), (AssertionFailed, 0));
    let found = client.modify_with(ADA, &SET, &with(&yes));
    assert_eq!((found.end.code, found.controls.len()), (Success, 2));
    assert_eq!(found.brought_values(POST_OID, "sn"), one("King"));
}

/// "Servers MUST ensure that the client is authorized for reading of the information provided in this control and that the
/// client is authorized to perform the requested directory update."
#[test]
fn rfc4527_s5_access() {
    let mut client = Client::new();
    let value = wanted(&["*"]);
    client.bind(ADA, "lace");
    let found = client.modify_with(ADA, &SET, &both(&value));
    assert_eq!((found.end.code, found.controls.len()), (InsufficientAccessRights, 0));
    client.bind_root();
    let found = client.modify_with(ADA, &SET, &both(&value));
    assert!(found.brought_values(POST_OID, "userPassword").is_some(), "the root DN reads secrets");
}

#[test]
fn rfc4527_s3_the_root_dse_lists_them() {
    assert!([PRE_OID, POST_OID].iter().all(|oid| is_published("supportedControl", oid)));
}

/// An answer is a message with a bound: an update whose entry is longer happens without the control if that is not
/// critical, else not at all (RFC 4511 section 4.1.11).
#[test]
fn rfc4527_s3_entries_that_are_too_long() {
    let mut client = Client::new();
    let long = "x".repeat(READ_ENTRY_BYTES_MAX / 2);
    for _ in 0..3 {
        assert_eq!(client.modify(ADA, &[(Replace, "description", &[&long, &long[1..]])]).code, Success);
    }
    let (all, short) = (wanted(&["description"]), wanted(&["sn"]));
    for oid in [PRE_OID, POST_OID] {
        let found = client.modify_with(ADA, &SET, &[control(oid, &all, true)]);
        assert_eq!((found.end.code, found.controls.len()), (UnavailableCriticalExtension, 0));
        assert_eq!(client.read(ADA, &["sn"]).values("sn"), one("Lovelace"));
        let found = client.modify_with(ADA, &SET, &[control(oid, &all, false)]);
        assert_eq!((found.end.code, found.controls.len()), (Success, 0));
        let found = client.modify_with(ADA, &[(Replace, "sn", &["Lovelace"])], &[control(oid, &short, true)]);
        assert_eq!((found.end.code, found.controls.len()), (Success, 1));
    }
    // One that would become too long.
    client.modify(ADA, &[(Replace, "description", &[])]);
    let changes: [(ModifyKind, &str, &[&str]); 1] = [(Add, "description", &[&long, &long[1..], &long[2..]])];
    let found = client.modify_with(ADA, &changes, &[control(POST_OID, &all, true)]);
    assert_eq!(found.end.code, UnavailableCriticalExtension);
    assert_eq!(client.read(ADA, &["description"]).values("description"), None);
}

/// Whether an answer fits is judged by the whole entry, with what its client may not read: a replay of the log comes to the same outcome
/// where another client is the root DN by then.
#[test]
fn rfc4527_s3_what_is_too_long_does_not_depend_on_rights() {
    let mut client = Client::with(chosen(config(), |c| c.standing.writers = vec![ADA.to_owned()]));
    let secret = "x".repeat(READ_ENTRY_BYTES_MAX);
    assert_eq!(client.modify(ADA, &[(Add, "userPKCS12", &[&secret])]).code, Success);
    let all = wanted(&["*"]);
    for is_root in [true, false] {
        if !is_root {
            client.bind(ADA, "lace");
        }
        for oid in [PRE_OID, POST_OID] {
            let found = client.modify_with(ADA, &SET, &[control(oid, &all, true)]);
            assert_eq!(
                (found.end.code, found.controls.len()),
                (UnavailableCriticalExtension, 0),
                "{is_root}"
            );
            let found = client.modify_with(ADA, &SET, &[control(oid, &all, false)]);
            assert_eq!((found.end.code, found.controls.len()), (Success, 0), "{is_root}");
        }
    }
}

/// Sets of values that lie beside the record are read like others.
#[test]
fn rfc4527_s3_big_sets() {
    let mut client = Client::new();
    let members: Vec<String> = (0..5000).map(|n| format!("cn=m{n},dc=example")).collect();
    let mut members: Vec<&str> = members.iter().map(String::as_str).collect();
    let group: Given<'_> = &[("objectClass", &["groupOfNames"]), ("member", &members)];
    let (dn, value) = ("cn=all,ou=groups,dc=example", wanted(&["member"]));
    let found = client.add_with(dn, group, &[control(POST_OID, &value, true)]);
    assert_eq!(found.brought_values(POST_OID, "member").expect("asked for").len(), 5000);
    let found = client.modify_with(dn, &[(ModifyKind::Delete, "member", &[members[7]])], &both(&value));
    members.sort_unstable();
    assert_eq!(found.brought_values(PRE_OID, "member").expect("asked for"), members);
    assert_eq!(found.brought_values(POST_OID, "member").expect("asked for").len(), 4999);
}
