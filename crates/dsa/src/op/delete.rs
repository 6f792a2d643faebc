//! Delete (RFC 4511 section 4.8): an entry without subordinates goes.
//!
//! The store refuses an entry with subordinates (notAllowedOnNonLeaf); a subtree goes entry by entry. What refers to the entry no longer does
//! then, if a constraint says so.

use super::follow_references::{follow, plan};
use crate::context::Writing;
use model::EntryId;
use proto::tag::DELETE_RESPONSE;
use store::Refused;

/// Answers a delete of the entry with this DN. Returns the id that it had if it was done.
/// It takes no stamp, since what is gone records nothing; but for entries that refer to it.
pub(crate) fn run(
    writing: &mut Writing<'_, '_>,
    id: i32,
    request: &[u8],
    out: &mut Vec<u8>,
) -> Option<EntryId> {
    let deleted = delete(writing, request);
    writing.answer(out, id, DELETE_RESPONSE, request, deleted)
}

fn delete(writing: &mut Writing<'_, '_>, dn: &[u8]) -> Result<EntryId, Refused> {
    let referring = plan(writing, dn, None)?;
    let deleted = writing.writer.delete(dn)?;
    if !referring.holders.is_empty() {
        let stamp = writing.stamp();
        follow(writing, &referring, stamp, false);
    }
    Ok(deleted)
}

#[cfg(test)]
mod tests {
    use crate::system::tests::{Answer, Fixture};
    use model::ResultCode::*;

    fn delete(fixture: &mut Fixture, dn: &str) -> Answer {
        fixture.changing(|writing, out| _ = super::run(writing, 7, dn.as_bytes(), out))
    }

    #[test]
    fn leaves_only() {
        let mut fixture = Fixture::new();
        let answer = delete(&mut fixture, "dc=com");
        assert_eq!(answer.code, NotAllowedOnNonLeaf);
        assert_eq!(answer.text, "the entry has 1 subordinate");
        assert_eq!(delete(&mut fixture, "uid=ann,dc=com").code, Success);
        let answer = delete(&mut fixture, "uid=ann,dc=com");
        assert_eq!((answer.code, &answer.matched[..]), (NoSuchObject, "dc=com"));
        assert_eq!(delete(&mut fixture, "dc=com").code, Success);
    }

    #[test]
    fn what_cannot_be_deleted() {
        let mut fixture = Fixture::new();
        for (dn, code) in [
            ("nonsense", InvalidDnSyntax),
            ("dc=org", NoSuchObject),
            ("", UnwillingToPerform),
            ("cn=Monitor", UnwillingToPerform),
        ] {
            assert_eq!(delete(&mut fixture, dn).code, code, "{dn}");
        }
        fixture.bind("", "");
        assert_eq!(delete(&mut fixture, "uid=ann,dc=com").code, InsufficientAccessRights);
    }
}
