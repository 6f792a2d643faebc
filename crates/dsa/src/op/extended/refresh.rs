//! Refresh (RFC 2589 section 4.1): a dynamic entry is kept for as long as its client asks, within bounds.
//!
//! It comes to a modify of the time at which the entry may be deleted. That is what is logged, so a replay and other replicas need no clock. The
//! right is that to write entryTtl of the entry, an attribute that no modify can change.

use super::password_modify::{make, sign_of};
use crate::context::Reading;
use crate::extension::{Change, Extension, Role, Writes, result_of};
use crate::faults::holes;
use crate::generalized_time;
use crate::identity::Identity;
use crate::outcome::FixedRefusal;
use crate::rights::{self, Denied};
use env::planted;
use model::ResultCode;
use proto::LdapResult;
use proto::control::proxied_authorization;
use proto::ext::refresh::{OID, Refresh, TTL_MAX, encode_response};
use proto::message::Request;
use proto::op::extended::ExtendedResponse;
use proto::op::modify::{Changes, Modify, ModifyKind, change_list};
use store::Unresolved;
use store::lifetimes::EXPIRES;

pub(super) const EXTENSION: Extension = Extension {
    oid: OID,
    controls: &[proxied_authorization::OID],
    role: Role::Writes(Writes { target: |_, _, _| Ok(None), prepare, refuse: Some(refuse) }),
};

/// An entry that is hidden, one whose time is over and one that never was look the same.
const ABSENT: FixedRefusal = (ResultCode::NoSuchObject, "there is no such entry: its time may be over");

/// Works out the modify. What the requester may not see is absent, and only then it is asked what the entry is.
fn prepare(
    reading: &mut Reading<'_>,
    identity: &Identity,
    id: i32,
    value: Option<&[u8]>,
    _: Option<&[u8]>,
) -> Result<Change, FixedRefusal> {
    let refresh = value.map(Refresh::decode);
    let Some(Ok(Refresh { dn, ttl })) = refresh else {
        return Err((ResultCode::ProtocolError, "expected the name of an entry and a time to live"));
    };
    if ttl == 0 {
        return Err((ResultCode::ProtocolError, "the time to live is one second at least"));
    }
    let conditions = authorize(reading, identity, dn)?;
    let cache = &mut reading.scratch.evaluator.cache;
    let entry = match reading.read_point.resolve(dn, cache) {
        Ok(id) => reading.read_point.entry(id).ok_or(ABSENT)?,
        Err(Unresolved::Invalid(_)) => return Err((ResultCode::InvalidDnSyntax, "the name is no DN")),
        Err(Unresolved::NoSuchObject(_)) => return Err(ABSENT),
    };
    if !entry.shape.is_dynamic {
        return Err((ResultCode::ObjectClassViolation, "the entry is not dynamic"));
    }
    if ttl > TTL_MAX {
        return Err((ResultCode::SizeLimitExceeded, "the time to live is 31557600 seconds at most"));
    }
    let ttl = reading.dsa.lifetimes.of(ttl);
    // To the next second: the client was promised so many, and the time is stored without a fraction.
    let expires_ms = reading.now.wall_ms.saturating_add(u64::from(ttl) * 1000).next_multiple_of(1000);
    let changes = [(ModifyKind::Replace, EXPIRES.to_vec(), vec![generalized_time::seconds(expires_ms)])];
    // Another entry may have the name when it is applied. It may be a static one, of which the server says nothing more.
    let sign = sign_of(reading, &entry, true);
    let answer = Box::new(move |id, modified: &[u8], out: &mut Vec<u8>| answer(id, modified, ttl, out));
    let change = make(reading, identity, id, (&entry, sign), &changes, answer);
    Ok(Change { conditions, ..change })
}

/// May the client change entryTtl of the entry? The rules are asked as for a modify, so all that they can say of attributes holds here, too; and what the
/// right hangs on goes to the log with the change.
fn authorize(
    reading: &mut Reading<'_>,
    identity: &Identity,
    dn: &[u8],
) -> Result<rights::Conditions, FixedRefusal> {
    if planted::is(holes::REFRESH_NOT_JUDGED) {
        return Ok(rights::Conditions::new());
    }
    let list = change_list([(ModifyKind::Replace, &b"entryTtl"[..], [&b"0"[..]])]);
    let changes = Changes::parse(&list).expect("just encoded");
    let asked = Request::Modify(Modify { dn, changes });
    rights::authorize(reading, identity.requester(), &asked).map_err(|denied| match denied {
        Denied::Right(_) => {
            (ResultCode::InsufficientAccessRights, "insufficient rights: write on entryTtl is needed")
        }
        Denied::Absent(Unresolved::Invalid(_)) => (ResultCode::InvalidDnSyntax, "the name is no DN"),
        Denied::Absent(_) => ABSENT,
    })
}

/// The answer, from that to the modify.
fn answer(id: i32, modified: &[u8], ttl: u32, out: &mut Vec<u8>) {
    let result = result_of(modified);
    match result.result_code() {
        Some(ResultCode::Success) => put(id, result, ttl, out),
        // It is another entry by now.
        Some(ResultCode::AssertionFailed) => refuse(id, ABSENT, out),
        _ => put(id, result, 0, out),
    }
}

/// Section 4.2: an error has the time 0.
fn refuse(id: i32, (code, text): FixedRefusal, out: &mut Vec<u8>) {
    put(id, LdapResult { diagnostic: text.as_bytes(), ..LdapResult::new(code) }, 0, out);
}

/// The response: a result, and the time to live that the entry has now (RFC 2589 section 4.2).
fn put(id: i32, result: LdapResult<'_>, ttl: u32, out: &mut Vec<u8>) {
    let value = encode_response(ttl);
    ExtendedResponse { result, oid: Some(OID), value: Some(&value) }.encode(out, id, &[]);
}
