//! A modify by which a user changes its own password: `delete` of the old and `add` of the new one, the form of portals, or
//! `replace`. It is the only modify that is allowed to those who may change nothing else, and is applied as a password modify
//! ([`super::extended::password_modify`]): hashed before it goes to the log.

use crate::context::Reading;
use crate::extension::{Change, result_of};
use crate::identity::Identity;
use crate::op::extended::password_modify::{NOT_THE_SAME, USER_PASSWORD, make, sign_of};
use crate::op::password_values;
use crate::outcome::{self, FixedRefusal};
use crate::password;
use crate::password::policies::Changed;
use crate::policy::{self, LOOKS_HASHED, New, Place};
use crate::rights::password::{REPLACE, may_set_password};
use crate::rights::visible;
use ::access::{Operation, Right, Rights};
use model::ResultCode;
use proto::Request;
use proto::message::Message;
use proto::op::modify::{Modify, ModifyKind};
use proto::tag::MODIFY_RESPONSE;
use schema::Schema;
use smallvec::SmallVec;

/// What to do with a password, and which.
pub(crate) type Step<'a> = (ModifyKind, &'a [u8]);

/// Does a modify begin with a change of userPassword? Then it is looked at closely.
/// It may say yes of a modify that is none. A few bytes of the encoded request decide it, since every modify of a user passes here.
#[inline]
pub(crate) fn may_be_asked(schema: &Schema, rest: &[u8]) -> bool {
    match first_description(rest) {
        Some(description) => is_password(schema, description),
        None => true,
    }
}

/// The attribute of the first change, if the lengths before it have their short form.
#[inline]
fn first_description(rest: &[u8]) -> Option<&[u8]> {
    // list, change, kind, attribute, description
    let [0x30, ..=0x7f, 0x30, ..=0x7f, 0x0a, 1, _, 0x30, ..=0x7f, 4, len @ ..=0x7f, text @ ..] = rest else {
        return None;
    };
    text.get(..usize::from(*len))
}

/// Does a description name userPassword, with whatever options?
fn is_password(schema: &Schema, description: &[u8]) -> bool {
    schema.is_named(schema.well_known().user_password, description)
}

/// The modify in a message, and what it does with passwords. `None` if it does anything else, or gives no new one.
/// All changes must be of userPassword, with one value each: anything else needs the right to change entries.
pub(crate) fn asked<'a>(
    schema: &Schema,
    message: &Message<'a>,
) -> Option<(Modify<'a>, SmallVec<[Step<'a>; 2]>)> {
    let Request::Modify(modify) = message.request else { return None };
    let mut steps = SmallVec::new();
    for change in modify.changes.iter() {
        let mut values = change.modification.values.iter();
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        if change.kind == ModifyKind::Increment || !is_password(schema, change.modification.description) {
            return None;
        }
        steps.push((change.kind, value));
    }
    // Taking the password away alone would lock the user out.
    let gives = steps.iter().any(|(kind, _)| *kind != ModifyKind::Delete);
    gives.then_some((modify, steps))
}

/// Works out what a modify comes to by which a user changes its own password and nothing else: the values that it takes away
/// are those that the old passwords stand for, and what it gives is stored as a password modify stores it. `None` if it is
/// about another entry.
///
/// # Errors
/// Code and text if it is refused.
pub(crate) fn prepare(
    reading: &mut Reading<'_>,
    identity: &Identity,
    id: i32,
    dn: &[u8],
    steps: &[Step<'_>],
) -> Result<Option<Change>, FixedRefusal> {
    let read_point = reading.read_point;
    // The name is resolved, so any spelling of the own name will do.
    let named = read_point.resolve(dn, &mut reading.scratch.evaluator.cache).ok();
    let own = identity.own_entry(read_point).filter(|own| Some(own.id) == named);
    let Some(entry) = own else { return Ok(None) };
    // Who is bound may not for that reason alone: without these rights it is a modify as any other, and refused as such.
    let needed = steps.iter().map(|(kind, _)| match kind {
        ModifyKind::Delete => Rights::of(&[Right::Delete]),
        ModifyKind::Add => Rights::of(&[Right::Add]),
        _ => REPLACE,
    });
    let needed = needed.fold(Rights::NONE, |all, one| all | one);
    let who = identity.requester();
    let Ok(_) = visible(reading, who, Ok(entry.id)) else { return Ok(None) };
    let Some(conditions) = may_set_password(reading, who, &entry, (Operation::Modify, needed)) else {
        return Ok(None);
    };
    // A delete of the old password is what portals send; a replace alone is taken from a bound session as well.
    let proves = steps.iter().any(|(kind, _)| *kind == ModifyKind::Delete);
    let new = steps.iter().filter(|(kind, _)| *kind != ModifyKind::Delete);
    let new: SmallVec<[New<'_>; 2]> = new.map(|(_, password)| New::of(password)).collect();
    let state = policy::judge(reading, identity, Place::Entry(&entry), &new, proves)?;
    let mut changes: SmallVec<[Changed; 4]> = SmallVec::new();
    for (kind, password) in steps {
        let values = match kind {
            ModifyKind::Delete => password_values::of_word(reading, &entry, password)?
                .ok_or((ResultCode::NoSuchAttribute, "the old password is not right"))?,
            // Also of an administrator, who may store hashes: nobody should set one of its own that it does not know.
            _ if password::has_scheme(password) => return Err(LOOKS_HASHED),
            _ => password_values::hash(reading, password)?,
        };
        changes.push((*kind, USER_PASSWORD.to_vec(), values));
    }
    changes.extend(state);
    // The rights were those on this entry; the sign keeps the change from another one that has its name by then.
    let sign = sign_of(reading, &entry, proves);
    let change = make(reading, identity, id, (&entry, sign), &changes, Box::new(answer));
    Ok(Some(Change { conditions, ..change }))
}

/// The answer is that of the modify, but for the assertion that the client has not sent.
fn answer(id: i32, modified: &[u8], out: &mut Vec<u8>) {
    match result_of(modified).result_code() {
        // The entry has not its sign any more.
        Some(ResultCode::AssertionFailed) => {
            outcome::say(out, id, MODIFY_RESPONSE, NOT_THE_SAME.0, NOT_THE_SAME.1);
        }
        _ => out.extend_from_slice(modified),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::op::modify::change_list;

    fn rest(changes: &[(ModifyKind, &str, &str)]) -> Vec<u8> {
        let changes = changes.iter().map(|(kind, name, value)| (*kind, name.as_bytes(), [value.as_bytes()]));
        let mut out = Vec::new();
        proto::ber::put_tlv(&mut out, proto::tag::SEQUENCE, &change_list(changes));
        out
    }

    #[test]
    fn the_first_attribute_is_read_without_decoding() {
        let schema = crate::system::tests::standard_schema();
        use ModifyKind::*;
        for (changes, may) in [
            (&[(Replace, "userPassword", "x")][..], true),
            (&[(Delete, "USERPASSWORD", "x"), (Add, "userPassword", "y")], true),
            (&[(Delete, "2.5.4.35", "x")], true),
            (&[(Replace, "cn", "x")], false),
            (&[(Add, "userPassword;x-a", "x")], false),
        ] {
            assert_eq!(may_be_asked(&schema, &rest(changes)), may, "{changes:?}");
        }
        assert!(may_be_asked(&schema, &rest(&[(Replace, "cn", &"x".repeat(200))])), "to be looked at");
        assert!(may_be_asked(&schema, b""), "to be looked at");
    }
}
