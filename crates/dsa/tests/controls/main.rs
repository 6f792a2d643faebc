//! Controls and extended operations of other RFCs than RFC 4511: a test for each MUST and SHALL that a server can break,
//! named by RFC and section, through a session in bytes.

#[path = "../common/mod.rs"]
mod common;

mod domain_scope;
mod queue_length;
mod rfc3062_password_modify;
mod rfc3672_subentries;
mod rfc4370_proxied_authorization;
mod rfc4527_read_entry;
mod rfc4528_assertion;
mod rfc6171_dont_use_copy;
