//! Modify DN (RFC 4511 section 4.9): an entry, and with it what is below it, gets another name or place.

use crate::dispatch::Writing;
use crate::outcome;
use proto::op::modify_dn::ModifyDn;
use proto::tag::MODIFY_DN_RESPONSE;
use store::Refused;

/// Answers a modify DN.
pub(crate) fn run(writing: &mut Writing<'_, '_>, id: i32, request: &ModifyDn<'_>, out: &mut Vec<u8>) {
    if !writing.may_write(out, id, MODIFY_DN_RESPONSE) {
        return;
    }
    let modify_dn = store::ModifyDn {
        dn: request.dn,
        new_rdn: request.new_rdn,
        delete_old_rdn: request.delete_old_rdn,
        new_superior: request.new_superior,
    };
    let stamp = writing.stamp();
    match writing.writer.modify_dn(modify_dn, stamp) {
        Ok(_) => outcome::succeed(out, id, MODIFY_DN_RESPONSE),
        Err(refused) => {
            outcome::refuse_write(
                writing,
                out,
                id,
                MODIFY_DN_RESPONSE,
                at_fault(request, &refused),
                &refused,
            );
        }
    }
}

/// The name that a refusal is about: the new superior where that is missing, else the entry.
fn at_fault<'a>(request: &ModifyDn<'a>, refused: &Refused) -> &'a [u8] {
    match refused {
        Refused::NoSuchSuperior { .. } => request.new_superior.unwrap_or(request.dn),
        _ => request.dn,
    }
}
