//! Section 4.8: delete.

use crate::common::*;
use model::ResultCode::*;

/// No alias is dereferenced: the alias goes, what it points at stays.
#[test]
fn s4_8_aliases_are_deleted_themselves() {
    let mut client = Client::new();
    client.must_add("uid=countess,dc=example", ALIAS_OF_ADA);
    assert_eq!(client.delete("uid=countess,dc=example").code, Success);
    assert_eq!(client.read(ADA, &["1.1"]).end.code, Success);
    assert_eq!(client.read("uid=countess,dc=example", &["1.1"]).end.code, NoSuchObject);
}

/// Only leaf entries can be deleted.
#[test]
fn s4_8_leaves_only() {
    let mut client = Client::new();
    for dn in ["dc=example", "ou=people,dc=example"] {
        assert_eq!(client.delete(dn).code, NotAllowedOnNonLeaf, "{dn}");
    }
    for dn in
        ["ou=groups,dc=example", "uid=grace,ou=people,dc=example", ADA, "ou=people,dc=example", "dc=example"]
    {
        assert_eq!(client.delete(dn).code, Success, "{dn}");
        assert_eq!(client.delete(dn).code, NoSuchObject, "{dn}");
    }
}
