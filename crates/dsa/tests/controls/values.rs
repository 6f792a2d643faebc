//! Values of all controls that the root DSE lists: one where none is allowed, none where one is needed, and what is no value of the control is
//! protocolError, whether or not the control is critical, and the operation is not executed. What a well-formed value asks for is in other files.

use crate::clients;
use crate::common::{ADA, Client, Found};
use model::ResultCode::ProtocolError;
use model::Scope;
use proto::control::{self, Control};
use proto::op::ModifyKind::Replace;

/// What a control has as its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Has {
    /// None at all.
    Nothing,
    /// None; one that is sent is not looked at, for clients send an empty one.
    NotLookedAt,
    /// Something in BER.
    Ber,
    /// The same, or nothing.
    BerOrNothing,
    /// The same, or the name of an identity, of which the empty one is that of anonymous clients.
    IdentityOrNothing,
    /// Any octets, which another code is for if they make no sense.
    Octets,
}

/// May it be critical, may it be not?
const EITHER: &[bool] = &[false, true];
const CRITICAL: &[bool] = &[true];
const NOT_CRITICAL: &[bool] = &[false];

type Operation = fn(&mut Client, &[Control<'_>]) -> Found;

fn search(client: &mut Client, controls: &[Control<'_>]) -> Found {
    client.search_with("dc=example", Scope::Subtree, "(uid=*)", &["cn"], |_| {}, controls)
}

fn compare(client: &mut Client, controls: &[Control<'_>]) -> Found {
    client.compare_with(ADA, "cn", "Ada King", controls)
}

fn modify(client: &mut Client, controls: &[Control<'_>]) -> Found {
    client.modify_with(ADA, &[(Replace, "description", &["changed"])], controls)
}

fn delete(client: &mut Client, controls: &[Control<'_>]) -> Found {
    client.delete_with(ADA, controls)
}

const TABLE: &[(&[u8], Operation, &[bool], Has)] = &[
    (control::manage_dsa_it::OID, search, EITHER, Has::NotLookedAt),
    (control::paged_results::OID, search, EITHER, Has::Ber),
    (control::assertion::OID, search, EITHER, Has::Ber),
    (control::assertion::OID, compare, EITHER, Has::Ber),
    (control::assertion::OID, modify, EITHER, Has::Ber),
    (control::read_entry::PRE_OID, modify, EITHER, Has::Ber),
    (control::read_entry::PRE_OID, delete, EITHER, Has::Ber),
    (control::read_entry::POST_OID, modify, EITHER, Has::Ber),
    (control::proxied_authorization::OID, search, CRITICAL, Has::Octets),
    (control::proxied_authorization::OID, modify, CRITICAL, Has::Octets),
    (control::transaction_specification::OID, modify, CRITICAL, Has::Octets),
    (control::password_policy::OID, search, EITHER, Has::Nothing),
    (control::password_policy::OID, modify, EITHER, Has::Nothing),
    (control::effective_rights::OID, search, EITHER, Has::IdentityOrNothing),
    (control::account_usability::OID, search, EITHER, Has::Nothing),
    (control::queue_length::OID, search, EITHER, Has::Ber),
    (control::queue_length::OID, modify, EITHER, Has::Ber),
    (control::subentries::OID, search, EITHER, Has::Ber),
    (control::content_sync::OID, search, EITHER, Has::Ber),
    (control::persistent_search::OID, search, EITHER, Has::Ber),
    (control::domain_scope::OID, search, EITHER, Has::Nothing),
    (control::dont_use_copy::OID, search, CRITICAL, Has::Nothing),
    (control::dont_use_copy::OID, compare, CRITICAL, Has::Nothing),
    (control::permissive_modify::OID, modify, EITHER, Has::Nothing),
    (control::no_op::OID, modify, EITHER, Has::Nothing),
    (control::no_op::OPENLDAP_OID, delete, EITHER, Has::Nothing),
    (control::tree_delete::OID, delete, EITHER, Has::Nothing),
    (control::relax_rules::OID, modify, EITHER, Has::Nothing),
    (control::matched_values::OID, search, EITHER, Has::Ber),
    (control::dereference::OID, search, EITHER, Has::Ber),
    (control::sort::OID, search, EITHER, Has::Ber),
    (control::virtual_list_view::OID, search, EITHER, Has::Ber),
    (control::session_tracking::OID, search, NOT_CRITICAL, Has::Ber),
    (control::session_tracking::OID, modify, NOT_CRITICAL, Has::Ber),
    (control::chaining_behavior::OID, search, EITHER, Has::BerOrNothing),
    (control::chaining_behavior::OID, compare, EITHER, Has::BerOrNothing),
];

/// No value of any of them: an empty one, a sequence that is cut, one of indefinite length, one that ends too early, another type, no BER at all, and two
/// values in a row.
const MALFORMED: [&[u8]; 8] = [
    b"",
    b"\x30",
    b"\x30\x80\x00\x00",
    b"\x30\x05\x0a\x01",
    b"\x05\x00",
    b"\xff\xff\xff\xff\xff",
    b"\x30\x04\x05\x00\x05\x00",
    b"\x30\x00\x30\x00",
];

#[test]
fn what_is_no_value_of_a_control_is_a_protocol_error() {
    for mut client in clients() {
        client.bind_root();
        for (oid, operation, criticalities, has) in TABLE {
            let malformed = MALFORMED.map(Some);
            let refused: Vec<Option<&[u8]>> = match has {
                Has::NotLookedAt => vec![],
                Has::Nothing | Has::BerOrNothing => malformed.to_vec(),
                Has::IdentityOrNothing => malformed[1..].to_vec(),
                Has::Ber => malformed.into_iter().chain([None]).collect(),
                Has::Octets => vec![None],
            };
            for value in refused {
                for critical in *criticalities {
                    let control = Control { oid, critical: *critical, value };
                    let end = operation(&mut client, &[control]).end;
                    let oid = String::from_utf8_lossy(oid);
                    assert_eq!(end.code, ProtocolError, "{oid} {critical} {value:02x?}: {}", end.text);
                    assert!(end.text.contains(&*oid), "{oid}: {}", end.text);
                }
            }
        }
        let entry = client.read(ADA, &["description"]);
        assert_eq!((entry.dns(), entry.values("description")), (vec![ADA], None), "nothing was executed");
    }
}

#[test]
fn each_control_that_is_published_has_a_row() {
    let published =
        Client::new().read("", &["supportedControl"]).values("supportedControl").expect("it has some");
    for oid in &published {
        assert!(TABLE.iter().any(|(known, ..)| *known == oid.as_bytes()), "{oid} has no row");
    }
}
