//! A compare or an update of an entry at or below a referral object, which another server answers (decision 111).
//!
//! ```text
//! lead      where it goes on, if a server may be asked that the object names
//! judge     the rights on the object, which stands for what is behind it
//! ask       the request waits, and is run again when the answer is there
//! answer    in the names of this server
//! ```
//! An update that was asked for is not judged again: it may have been made, so its client gets what the other server has said, whatever rules and referral
//! objects there are by now. And it is asked for once, for it is looked for an answer of whatever question.

use crate::access::Requester;
use crate::chaining::{Answer, Question};
use crate::context::Reading;
use crate::control::Requested;
use crate::identity::Identity;
use crate::op::password_values::is_password;
use crate::outcome::FixedRefusal;
use crate::password::Passwords;
use crate::referral::Referral;
use crate::rights::referred::{Met, met};
use crate::rights::{self, Denied, operation_of};
use model::{EntryId, ResultCode, dn};
use proto::control::Controls;
use proto::control::chaining_behavior::{self, Behavior};
use proto::list::{Octets, octet_list};
use proto::message::{Message, Request};
use proto::result::{LdapResult, encode_response};
use proto::tag;

/// What becomes of a request.
pub(crate) enum Step {
    /// It is none that is asked of another server: it is answered here, perhaps by a referral.
    Here,
    /// It was answered.
    Answered,
    /// It waits for another server.
    Waits,
    /// It is refused.
    Refused(ResultCode, String),
}

/// Busy, for the same request may succeed when it is sent again: nothing was asked.
pub(crate) const TOO_MANY: FixedRefusal =
    (ResultCode::Busy, "too many requests wait for other servers; try again");
const OTHER_SUPERIOR: &str = "the entry and its new superior are not on the same server";

/// Where a request goes on.
struct Lead {
    /// The referral object, which is there at the read point and may be read by the requester.
    object: EntryId,
    /// Its URLs, with the name of the entry that is asked for.
    referral: Referral,
    /// The first server that may be asked, by which requests to one server are counted.
    server: u64,
    /// The new superior of a rename.
    superior: Option<Referral>,
}

/// Runs a compare or an update of an entry, if another server is to be asked. Whether that is so is found out at the read point of now.
/// The order is that of all operations: first what the requester may not know of is absent, then it lacks a right, then anything is done.
#[cold]
pub(crate) fn run(
    reading: &mut Reading<'_>,
    identity: &Identity,
    message: &Message<'_>,
    requested: &Requested<'_>,
    out: &mut Vec<u8>,
) -> Step {
    // Controls are about one server: an assertion, a read with the update, a transaction.
    if requested.manage_dsa_it || requested.rare.is_some() || refers(message.controls) {
        return Step::Here;
    }
    let (who, request) = (identity.requester(), &message.request);
    let schema = reading.dsa.shard.schema();
    // A password is compared by policies, which are about tries at this server.
    if matches!(request, Request::Compare(compare) if is_password(schema, compare.assertion.attribute)) {
        return Step::Here;
    }
    let lead = match lead(reading, who, request) {
        None => return Step::Here,
        Some(Err(text)) => return Step::Refused(ResultCode::AffectsMultipleDsas, text.to_owned()),
        Some(Ok(lead)) => lead,
    };
    let read_point = reading.read_point;
    let Some(object) = read_point.entry(lead.object) else { return Step::Here };
    if let Err(Denied::Right(text)) = rights::chained::authorize(reading, who, &object, request) {
        return Step::Refused(ResultCode::InsufficientAccessRights, text);
    }
    let mut question = Question {
        places: vec![lead.referral.uris().to_vec()],
        superiors: lead.superior.map_or(Vec::new(), |superior| superior.uris().to_vec()),
        who: identity.dn.clone(),
        object: lead.referral.dn,
        ..Question::default()
    };
    request.encode(&mut question.message, 1, &[]);
    // It waits in the pool from here on. Whatever it needs of the directory is in the question.
    let Some(outward) = reading.dsa.outward.get() else { return Step::Here };
    let object = question.object.clone();
    match reading.scratch.passwords.follow(outward, lead.server, question) {
        Ok(answer) => {
            put_answer(&answer, &object, message, out);
            Step::Answered
        }
        Err(_) if reading.scratch.passwords.refusal().is_some() => {
            Step::Refused(TOO_MANY.0, TOO_MANY.1.to_owned())
        }
        Err(_) => Step::Waits,
    }
}

/// Answers an update that has waited for another server by what that has said. `false`, and nothing, of any other request.
/// What is known belongs to the request that runs: it is dropped behind each ([`Passwords::end`]).
pub(crate) fn is_answered(passwords: &Passwords, message: &Message<'_>, out: &mut Vec<u8>) -> bool {
    let Some((question, answer)) = passwords.followed() else { return false };
    put_answer(answer, &question.object, message, out);
    true
}

/// Does the client want to be referred? The control is looked at here and not with those of an update: it has no say in what the log comes to.
fn refers(controls: Controls<'_>) -> bool {
    let mut asked = controls.iter().filter(|control| control.oid == chaining_behavior::OID);
    asked.any(|control| {
        let behavior = control.value.map(Behavior::decode);
        behavior.is_some_and(|behavior| behavior.is_err() || behavior.is_ok_and(|[base, _]| base.refers()))
    })
}

/// Where a request goes on. It is looked for as by the one that would answer with the referral, so that both come to the same. `None` if it meets no referral object that its requester may read, or none whose server may be asked.
///
/// # Errors
/// A rename that would bring the entry to another server.
fn lead(
    reading: &mut Reading<'_>,
    who: Requester,
    request: &Request<'_>,
) -> Option<Result<Lead, &'static str>> {
    let outward = reading.dsa.outward.get()?;
    let operation = operation_of(request);
    let (dn, is_add) = match request {
        Request::Compare(request) => (request.dn, false),
        request => crate::control::update::place(request)?,
    };
    // What may not be disclosed is not there, for chaining as for referrals.
    let mut met = |dn: &[u8], is_add: bool| match met(reading, (who, operation), dn, is_add)? {
        Met::Object { object, referral, is_itself } => Some((object, referral, is_itself)),
        Met::Hidden(_) => None,
    };
    let (object, referral, is_itself) = met(dn, is_add)?;
    // The URL would lead nowhere; and by a rename the other entry would lose a value of the name that it has there, for which nobody has judged the right.
    if is_itself && matches!(request, Request::ModifyDn(_) | Request::Delete(_)) {
        return None;
    }
    // It becomes a name of the same server, or the entry cannot go there.
    let superior = match request {
        Request::ModifyDn(request) => Some(request.new_superior.map(|superior| met(superior, false))),
        _ => None,
    };
    // Nothing is refused of a request that is to be referred: the client may go where this server may not.
    let server = outward.chaining.server_of(referral.uris())?;
    Some(match superior {
        None | Some(None) => Ok(Lead { object, referral, server, superior: None }),
        Some(Some(Some((other, superior, _)))) if other == object => {
            Ok(Lead { object, referral, server, superior: Some(superior) })
        }
        Some(Some(_)) => Err(OTHER_SUPERIOR),
    })
}

/// Writes what a client gets of an answer.
/// The text is the other server's, with names of its own: it says what a client asks for there.
fn put_answer(answer: &Answer, object: &[u8], message: &Message<'_>, out: &mut Vec<u8>) {
    let Some(response) = tag::response_to(message.request.tag()) else { return };
    let urls = octet_list(answer.urls.iter().map(Vec::as_slice));
    let result = LdapResult {
        code: answer.code,
        matched_dn: matched(answer, object, &message.request),
        diagnostic: answer.text.as_bytes(),
        referral: Octets::parse(&urls).unwrap_or(Octets::EMPTY),
    };
    encode_response(out, message.id, response, &result, |_| {}, &[]);
}

/// matchedDN in the names of this server: of the name that was asked for what is left, down to the referral object, which is there in any case.
fn matched<'m>(answer: &Answer, object: &'m [u8], request: &Request<'m>) -> &'m [u8] {
    let has_one = matches!(
        ResultCode::from_number(answer.code),
        Some(
            ResultCode::NoSuchObject
                | ResultCode::AliasProblem
                | ResultCode::InvalidDnSyntax
                | ResultCode::AliasDereferencingProblem
        )
    );
    if !has_one {
        return b"";
    }
    let name = match request {
        Request::Add(request) => request.dn,
        Request::Compare(request) => request.dn,
        request => crate::control::update::target(request).unwrap_or_default(),
    };
    // Both have the same number of RDNs below the object, there and here.
    let rdns = |name: &[u8]| dn::parse(name).map_or(0, |rdns| rdns.len());
    let below = rdns(name).saturating_sub(rdns(object));
    match answer.unmatched {
        Some(unmatched) if unmatched < below => {
            let mut rest = Some(name);
            for _ in 0..unmatched {
                rest = rest.and_then(|name| dn::split_first(name).1);
            }
            rest.unwrap_or(object)
        }
        // A server that asks as itself may know of more than its client.
        _ => object,
    }
}
