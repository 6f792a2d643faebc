//! A delete with the control tree delete: the entry goes with all that is below it. It goes to the log as a transaction of plain deletes, subordinates
//! first, so a reader of the log learns of each entry, and a replay has nothing to decide.
//!
//! ```text
//! plan      at a read point: the next deletes, the rights of each, up to the bound
//! submit    as one transaction; other updates have their turn between two of them
//! answered  the last one: the client is answered. Any other: the session plans again
//! ```
//! A subtree within the bound goes as a whole or not at all. One beyond it goes in parts, of which each is made or not; a client that loses its connection
//! may send the same request again. The session keeps the request meanwhile ([`crate::session::SuspendedUpdate`]).
//!
//! Others may add, move or delete entries while a part is on its way. Then it fails as a whole, and is planned anew, a few times. So a right that was
//! judged when the part was planned is a right on exactly the entries that go.

use crate::context::Reading;
use crate::engine::Dsa;
use crate::faults::holes;
use crate::identity::Identity;
use crate::outcome::{self, FixedRefusal};
use crate::rights::{self, Conditions};
use env::planted;
use model::limits::TREE_DELETE_BYTES_MAX;
use model::{EntryId, ResultCode};
use proto::control::{Control, assertion, manage_dsa_it};
use proto::message::{Message, Reply, Request, Response};
use proto::result::encode_response;
use proto::{LdapResult, tag};
use smallvec::SmallVec;
use store::ReadPoint;

/// How often in a row a part is planned anew because of what others did.
const TRIES_MAX: u32 = 8;
/// Subordinates that are looked up at a time.
/// An entry may have a million of them, of which a part takes a few.
const SLICE: usize = 64;

const BELOW: FixedRefusal =
    (ResultCode::InsufficientAccessRights, "insufficient rights: remove on an entry below it is needed");
const CONTENDED: FixedRefusal = (ResultCode::Busy, "others change the subtree at the same time; try again");

/// How far a session is with a tree delete, of which a part is on its way.
/// It lies with the request that the session keeps, and goes with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tree {
    /// Nothing is left of the subtree when this part is made.
    pub(crate) is_last: bool,
    /// How often in a row a part was not made.
    tries: u32,
}

impl Tree {
    /// Takes the answer to a part, as that to the end of a transaction. `true` if it is the end of the tree delete, and the client is answered; otherwise
    /// the next part is due, or the same planned anew.
    pub(crate) fn answered(&mut self, answer: &[u8], out: &mut Vec<u8>) -> bool {
        let reply = Reply::decode(answer).expect("the agent's own answer");
        let Response::Extended(response) = &reply.response else {
            unreachable!("the end of a transaction has an extended response")
        };
        let result = response.result;
        match result.result_code() {
            Some(ResultCode::Success) if !self.is_last => {
                self.tries = 0;
                return false;
            }
            // Somebody has added or moved something below, deleted something, made a referral object, or changed what a right hung on.
            Some(
                ResultCode::NotAllowedOnNonLeaf
                | ResultCode::NoSuchObject
                | ResultCode::AffectsMultipleDsas
                | ResultCode::InsufficientAccessRights,
            ) => {
                self.tries += 1;
                if self.tries < TRIES_MAX {
                    return false;
                }
                outcome::say(out, reply.id, tag::DELETE_RESPONSE, CONTENDED.0, CONTENDED.1);
                return true;
            }
            _ => {}
        }
        // It names an update of a transaction that the client knows nothing of: code and text are all that is said.
        let result = LdapResult { matched_dn: b"", ..result };
        encode_response(out, reply.id, tag::DELETE_RESPONSE, &result, |_| {}, &[]);
        true
    }
}

/// Deletes that are made together.
/// It is small against a parcel of the log: other writers wait for all of it.
#[derive(Default)]
pub(crate) struct Part {
    /// Whole messages, under the id of the request.
    pub(crate) messages: Vec<u8>,
    /// What the rights of all of them hung on.
    pub(crate) conditions: Conditions,
    pub(crate) count: usize,
    /// Nothing is left of the subtree when it is made.
    pub(crate) is_last: bool,
}

/// Plans the next part of what a message asks for. `None` where there is no such entry here, or it is another server's: the plain delete tells why.
///
/// # Errors
/// The refusal: a right is missing. Parts that were made before stay made.
pub(crate) fn plan(
    reading: &mut Reading<'_>,
    identity: &Identity,
    message: &Message<'_>,
    has_manage_dsa_it: bool,
) -> Result<Option<Part>, FixedRefusal> {
    let Request::Delete(dn) = &message.request else { return Ok(None) };
    let (dsa, read_point) = (reading.dsa, reading.read_point);
    let Ok(base) = read_point.resolve(dn, &mut reading.scratch.evaluator.cache) else { return Ok(None) };
    let has_referrals = read_point.shard().has_referrals();
    // RFC 3296: what is below a referral object is deleted there. Those that lie below the entry are entries of this server like any other.
    if has_referrals && !has_manage_dsa_it && read_point.referral_above(base).is_some() {
        return Ok(None);
    }
    let manages = has_referrals.then(|| manage_dsa_it::control(true));
    // What the client asserts is of the entry itself. It was true before the first part, and must be when the entry goes.
    let asserted = message.controls.iter().find(|control| control.oid == assertion::OID);
    let mut part = Part::default();
    let mut walk = Walk::below(base);
    while let Some(next) = walk.next(read_point) {
        let Some(entry) = read_point.entry(next) else { continue };
        let dn = read_point.dn(&entry, &mut reading.scratch.evaluator.cache);
        let request = Request::Delete(&dn);
        if next == base || !planted::is(holes::TREE_NOT_JUDGED) {
            // What is hidden is refused as what may not be removed: that there is something below tells the answer to a plain delete, too.
            let judged = rights::authorize(reading, identity.requester(), &request);
            part.conditions.extend(judged.map_err(|_| BELOW)?);
        }
        let controls: SmallVec<[Control<'_>; 2]> =
            manages.into_iter().chain(asserted.filter(|_| next == base)).collect();
        request.encode(&mut part.messages, message.id, &controls);
        part.count += 1;
        if is_full(dsa, &part) {
            break;
        }
    }
    part.is_last = walk.is_done();
    Ok(Some(part))
}

/// Has a part as many deletes as go together? The bound is looked at after each, so a part has one at least, and a walk gets on.
/// Names and conditions have a bound, too: they are one record of the log.
fn is_full(dsa: &Dsa, part: &Part) -> bool {
    part.count as u64 >= dsa.limits.tree_delete_max.get()
        || part.messages.len() + part.conditions.len() > TREE_DELETE_BYTES_MAX
}

/// Entries of a subtree, each behind all that are below it.
struct Walk(Vec<Level>);

/// An entry on the way down, and its subordinates that were looked up.
/// Levels are as many as a DN may have RDNs, at most.
struct Level {
    id: EntryId,
    /// Those that are left, the next one last.
    found: Vec<u32>,
    /// Where to look on.
    from: Option<u32>,
}

/// It keeps the way down and a slice of subordinates for each level, so a wide subtree takes no more memory than a narrow one.
impl Walk {
    /// From the topmost entry on: nothing has been looked at.
    fn below(base: EntryId) -> Walk {
        Walk(vec![Level { id: base, found: Vec::new(), from: Some(0) }])
    }

    /// Is nothing left below it?
    fn is_done(&self) -> bool {
        self.0.is_empty()
    }

    /// The next entry. It is a leaf once all that were returned before it are gone.
    fn next(&mut self, read_point: ReadPoint<'_>) -> Option<EntryId> {
        loop {
            let level = self.0.last_mut()?;
            if let Some(below) = level.found.pop() {
                self.0.push(Level { id: EntryId(below), found: Vec::new(), from: Some(0) });
            } else if let Some(from) = level.from {
                level.from = read_point.children(level.id, from, SLICE, &mut level.found);
                level.found.reverse();
            } else {
                return self.0.pop().map(|level| level.id);
            }
        }
    }
}
