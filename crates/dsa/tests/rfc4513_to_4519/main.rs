//! What clients meet of RFC 4513 to 4519: a test for each MUST and SHALL that a server can break, named by RFC and section, through a session in
//! bytes. Each file has a table of its RFC.

#[path = "../common/mod.rs"]
mod common;

mod rfc4513_authentication;
mod rfc4514_names;
mod rfc4515_filters;
mod rfc4516_urls;
mod rfc4517_syntaxes;
mod rfc4518_preparation;
mod rfc4519_user_schema;

use common::*;
use model::ResultCode::{self, Success};
use model::Scope;

const GRACE: &str = "uid=grace,ou=people,dc=example";

/// Adds an entry that may have any attribute, with these; the code.
fn add_any(client: &mut Client, dn: &str, attributes: Given<'_>) -> ResultCode {
    let classes: Given<'_> = &[("objectClass", &["locality", "extensibleObject"])];
    client.add(dn, &[classes, attributes].concat()).code
}

/// Is a value one of this attribute's syntax? An entry with it is added and deleted.
fn takes(client: &mut Client, attribute: &str, value: &str) -> bool {
    let code = add_any(client, "cn=value,dc=example", &[(attribute, &[value])]);
    match code {
        Success => assert_eq!(client.delete("cn=value,dc=example").code, Success),
        code => assert_eq!(code, ResultCode::InvalidAttributeSyntax, "{attribute}: {value:?}"),
    }
    code == Success
}

/// Does a filter match the entry with this value of the attribute?
fn is_found(client: &mut Client, attribute: &str, value: &str, filter: &str) -> bool {
    let code = add_any(client, "cn=value,dc=example", &[(attribute, &[value])]);
    assert_eq!(code, Success, "{attribute}: {value:?}");
    let found = client.search("cn=value,dc=example", Scope::Base, filter, &["1.1"]);
    assert_eq!(found.end.code, Success, "{filter}");
    assert_eq!(client.delete("cn=value,dc=example").code, Success);
    !found.entries.is_empty()
}
