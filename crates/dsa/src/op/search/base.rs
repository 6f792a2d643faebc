//! Where a search begins: in the directory, or among the server's own entries.
//!
//! The directory comes first: where it holds a suffix like `cn=config`, that is found and not the server's own entry. What a client may not
//! search must look as if it were not there, so a refusal says nothing that depends on which entries there are.
//!
//! The base needs two rights. Without *disclose* it is absent; without *search* that is said. A search of a cached query template asks
//! for both as well ([`super::again`]), and so does one in a transaction ([`super::inside`]): three ways lead to a base, and a right
//! that one of them forgot would be no right.

use super::special::{is_absent, settle_base};
use crate::access::{Action, Item, Requester};
use crate::context::Reading;
use crate::control::Requested;
use crate::op::awaited_changes::are_awaited;
use crate::outcome;
use crate::referral::{self, Referral};
use crate::rights::visible;
use crate::system::is_root_dse;
use crate::worker::Scratch;
use ::access::{Operation, Right};
use model::{EntryId, ResultCode, Scope};
use proto::op::Search;
use proto::result::encode_result;
use proto::tag;
use store::{ReadPoint, Target, Unresolved};

/// The base of a search.
/// An id is of the one directory or of the other; `is_system` says which, and goes with it everywhere.
#[derive(Clone, Copy)]
pub(super) struct Base {
    pub(super) id: EntryId,
    pub(super) is_system: bool,
    pub(super) is_root_dse: bool,
    /// Is it the change log, or an entry of it? Who may read that is asked again while the search goes on.
    pub(super) is_change_log: bool,
}

impl Base {
    /// In which rights on entries below it are asked.
    /// The server's own entries are covered by no rule without a place.
    pub(super) fn action(&self) -> Action {
        Action { operation: Operation::Search, is_system: self.is_system }
    }
}

/// Why a search does not begin.
/// The text is made when it is answered, by [`refuse`]: most need the DN of an entry.
pub(super) enum Refusal {
    Access,
    Unresolved(Unresolved),
    Text(ResultCode, String),
    /// The base, or an entry above it, is held by another server.
    Referral(Referral),
    /// What it is to find is not there yet: it is run again.
    Awaited,
    /// This alias leads nowhere.
    Alias(ResultCode, EntryId),
}

/// Finds the base for a requester, by a hint if there is one: in the directory, else among the server's own entries.
/// With a hint nothing is parsed or hashed: that was done when the group was gathered, at a read point since which no name has changed.
/// Referral objects and aliases are looked at between two looks at what may be disclosed: the first hides those that the
/// requester must not meet, the second what they lead to.
pub(super) fn find_base(
    reading: &mut Reading<'_>,
    (hint, who, system): (Option<Target>, Requester, ReadPoint<'_>),
    request: &Search<'_>,
    requested: &Requested<'_>,
) -> Result<Base, Refusal> {
    let Scratch { evaluator, keys, .. } = &mut *reading.scratch;
    let cache = &mut evaluator.cache;
    let read_point = reading.read_point;
    let found = match hint {
        Some(target) => read_point
            .lookup(&target, keys, cache)
            .ok_or_else(|| Unresolved::NoSuchObject(read_point.matched(&target))),
        // The empty name is that of the root DSE, and of no entry of the directory.
        None if request.base.is_empty() => Err(Unresolved::NoSuchObject(None)),
        None => read_point.resolve(request.base, cache),
    };
    // A referral or an alias tells that an entry is there, so that is not looked at by those from whom the entry is hidden.
    // One load says that there is none in all of the directory; then the name is what it is.
    let found = match is_absent(&reading.dsa.shard) {
        true => found,
        false => match visible(reading, who, found) {
            Ok(id) => settle_base(reading, (request, who), requested, Ok(id))?,
            Err(Unresolved::NoSuchObject(Some(matched))) => {
                settle_base(reading, (request, who), requested, Err(Unresolved::NoSuchObject(Some(matched))))?
            }
            Err(unresolved) => Err(unresolved),
        },
    };
    // Not in the directory; perhaps among the server's own.
    let unresolved = match visible(reading, who, found) {
        // It is there for the requester, so a refusal may say that a right is missing.
        Ok(id) => {
            let entry = read_point.entry(id).expect("the base was just found");
            let view = reading.scratch.view(who, Action::of(Operation::Search), &entry, read_point);
            return match reading.scratch.views.may(view, Right::Search) {
                true => Ok(Base { id, is_system: false, is_root_dse: false, is_change_log: false }),
                false => {
                    reading.scratch.note_rule(reading.dsa.shard.schema(), view, Item::Entry, Right::Search);
                    Err(Refusal::Access)
                }
            };
        }
        Err(unresolved) => unresolved,
    };
    // An entry above it was found: so the name belongs to the directory, and no entry of the server's has it.
    if unresolved != Unresolved::NoSuchObject(None) {
        return Err(Refusal::Unresolved(unresolved));
    }
    // Blanks around an empty name are no part of it (RFC 4514 section 2.1, and what clients send).
    let is_root_dse = is_root_dse(request.base);
    if is_root_dse && request.scope != Scope::Base {
        let text = "the root DSE has no subordinates here: search below one of its namingContexts".to_owned();
        return Err(Refusal::Text(ResultCode::NoSuchObject, text));
    }
    if are_awaited(reading, (who, Operation::Search), request.base, system) {
        return Err(Refusal::Awaited);
    }
    let own = &reading.dsa.system;
    let cache = &mut reading.scratch.system_evaluator.cache;
    let Ok(id) = system.resolve(own.kept_as(request.base, reading.security.offer()), cache) else {
        return Err(Refusal::Unresolved(unresolved));
    };
    let entry = system.entry(id).expect("the base was just found");
    let is_change_log = own.is_in_change_log(request.base);
    if is_change_log && !reading.scratch.views.reads_changes(who.class) {
        return Err(Refusal::Unresolved(unresolved));
    }
    let asked = Action { operation: Operation::Search, is_system: true };
    let view = reading.scratch.view(who, asked, &entry, system);
    match (reading.scratch.views.may(view, Right::Disclose), reading.scratch.views.may(view, Right::Search)) {
        (true, true) => Ok(Base { id, is_system: true, is_root_dse, is_change_log }),
        (true, false) => {
            reading.scratch.note_rule(reading.dsa.shard.schema(), view, Item::Entry, Right::Search);
            Err(Refusal::Access)
        }
        (false, _) => Err(Refusal::Unresolved(unresolved)),
    }
}

/// matchedDN is set where the standard asks for it (RFC 4511 section 4.1.9): the nearest entry, or the alias that failed.
#[cold]
pub(super) fn refuse(
    reading: &mut Reading<'_>,
    id: i32,
    request: &Search<'_>,
    refusal: Refusal,
    out: &mut Vec<u8>,
) {
    match refusal {
        Refusal::Awaited => {}
        Refusal::Referral(referral) => referral.answer(out, id, tag::SEARCH_DONE),
        Refusal::Alias(code, alias) => {
            let (read_point, cache) = (reading.read_point, &mut reading.scratch.evaluator.cache);
            let dn = read_point.entry(alias).map(|entry| read_point.dn(&entry, cache)).unwrap_or_default();
            // aliasProblem for all that leads nowhere; loopDetect is kept for circles.
            let text = match code {
                ResultCode::LoopDetect => "the alias leads in a circle, or through too many others",
                _ => "the alias leads to no entry of this server",
            };
            encode_result(out, id, tag::SEARCH_DONE, code, &dn, text, &[]);
        }
        Refusal::Access => {
            reading.scratch.annotations.is_of(id);
            let text = "insufficient rights to search here";
            outcome::say(out, id, tag::SEARCH_DONE, ResultCode::InsufficientAccessRights, text);
        }
        Refusal::Text(code, text) => encode_result(out, id, tag::SEARCH_DONE, code, b"", &text, &[]),
        Refusal::Unresolved(unresolved) => {
            if let Some(referral) = referral::of_outside(reading.dsa, request.base, Some(request.scope)) {
                return referral.answer(out, id, tag::SEARCH_DONE);
            }
            let (read_point, cache) = (reading.read_point, &mut reading.scratch.evaluator.cache);
            outcome::unresolved(out, id, tag::SEARCH_DONE, request.base, unresolved, read_point, cache);
        }
    }
}
