//! Modify DN (RFC 4511 section 4.9): an entry, and with it what is below it, gets another name or place.
//!
//! The store does all of it: an entry knows its superior by id, so a whole subtree moves by one record.

use super::follow_references::{follow, plan};
use crate::context::Writing;
use crate::outcome;
use model::{EntryId, ResultCode, dn};
use proto::op::modify_dn::ModifyDn;
use proto::tag::MODIFY_DN_RESPONSE;
use store::{Refused, Shard};

/// Answers a modify DN. Returns the entry's id if it was done.
/// All checks are the store's: whether the new name is free, its superior there, and no loop made.
pub(crate) fn run(
    writing: &mut Writing<'_, '_>,
    id: i32,
    request: &ModifyDn<'_>,
    out: &mut Vec<u8>,
) -> Option<EntryId> {
    if let Some(judging) = writing.judging
        && let Err(text) = judging.judge_names(request.dn, &new_dn(request), writing.writer.view())
    {
        outcome::say(out, id, MODIFY_DN_RESPONSE, ResultCode::UnwillingToPerform, &text);
        return None;
    }
    let modify_dn = store::ModifyDn {
        dn: request.dn,
        new_rdn: request.new_rdn,
        delete_old_rdn: request.delete_old_rdn,
        new_superior: request.new_superior,
    };
    // The entry's modifyTimestamp changes; those below it keep theirs.
    let stamp = writing.stamp();
    let renamed = plan(writing, request.dn, Some(&new_dn(request))).and_then(|referring| {
        let renamed = writing.writer.modify_dn_judged(modify_dn, stamp, writing.judge())?;
        follow(writing, &referring, stamp, true);
        Ok(renamed)
    });
    let refused = renamed.as_ref().err();
    let dn = refused.map_or(request.dn, |refused| at_fault(&writing.dsa.shard, request, refused));
    writing.answer(out, id, MODIFY_DN_RESPONSE, dn, renamed)
}

/// The DN that an entry shall have.
/// Worked out from the text, before anything is looked up: it need not be a name that can be.
pub(crate) fn new_dn(request: &ModifyDn<'_>) -> Vec<u8> {
    // Without a new superior the entry stays where it is.
    let superior = request.new_superior.or(dn::split_first(request.dn).1).unwrap_or_default();
    match superior.is_empty() {
        true => request.new_rdn.to_vec(),
        false => [request.new_rdn, b",", superior].concat(),
    }
}

/// The name that a refusal is about: the entry, or the new superior if that is at fault.
/// The store's refusal has no name in it, for it knows entries by id.
fn at_fault<'a>(shard: &Shard, request: &ModifyDn<'a>, refused: &Refused) -> &'a [u8] {
    match (refused, request.new_superior) {
        (Refused::NoSuchSuperior { .. }, Some(superior)) => superior,
        // The entry was looked for first: if that is in a naming context, the new superior is not.
        (Refused::OutsideNamingContexts, Some(superior)) if shard.holds(request.dn) => superior,
        _ => request.dn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::tests::{Answer, Fixture};
    use model::ResultCode::*;

    fn rename(
        fixture: &mut Fixture,
        dn: &str,
        new_rdn: &str,
        delete_old_rdn: bool,
        new_superior: Option<&str>,
    ) -> Answer {
        let request = ModifyDn {
            dn: dn.as_bytes(),
            new_rdn: new_rdn.as_bytes(),
            delete_old_rdn,
            new_superior: new_superior.map(str::as_bytes),
        };
        fixture.changing(|writing, out| _ = run(writing, 7, &request, out))
    }

    fn with_unit() -> Fixture {
        let mut fixture = Fixture::new();
        assert_eq!(fixture.add("ou=a,dc=com", &[("objectClass", &["organizationalUnit"])]).code, Success);
        fixture
    }

    #[test]
    fn an_entry_moves_with_what_is_below_it() {
        let mut fixture = with_unit();
        assert_eq!(
            rename(&mut fixture, "uid=ann,dc=com", "uid=anna", true, Some("ou=a,dc=com")).code,
            Success
        );
        assert_eq!(rename(&mut fixture, "ou=a,dc=com", "ou=b", false, None).code, Success);
        assert_eq!(fixture.compare("uid=anna,ou=b,dc=com", "uid", "anna").code, CompareTrue);
        assert_eq!(fixture.compare("uid=anna,ou=b,dc=com", "uid", "ann").code, CompareFalse);
        assert_eq!(fixture.compare("ou=b,dc=com", "ou", "a").code, CompareTrue);
    }

    #[test]
    fn what_cannot_be_renamed() {
        let mut fixture = with_unit();
        for (dn, new_rdn, superior, code) in [
            ("uid=x,dc=com", "uid=y", None, NoSuchObject),
            ("uid=ann,dc=com", "ou=a", None, EntryAlreadyExists),
            ("uid=ann,dc=com", "uid=a,ou=b", None, InvalidDnSyntax),
            ("uid=ann,dc=com", "nonsense=a", None, InvalidDnSyntax),
            ("uid=ann,dc=com", "uid=ann", Some("ou=x,dc=com"), NoSuchObject),
            ("uid=ann,dc=com", "uid=ann", Some("cn=Monitor"), UnwillingToPerform),
            ("ou=a,dc=com", "ou=a", Some("ou=a,dc=com"), UnwillingToPerform),
            ("cn=Subschema", "cn=x", None, UnwillingToPerform),
        ] {
            let answer = rename(&mut fixture, dn, new_rdn, false, superior);
            assert_eq!(answer.code, code, "{dn} to {new_rdn}, {superior:?}: {}", answer.text);
        }
    }
}
