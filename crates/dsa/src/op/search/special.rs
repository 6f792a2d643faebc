//! Aliases and referral objects in a search (RFC 4511 sections 4.5.1.3 and 4.5.3, RFC 3296 section 5.5).
//!
//! Whether there is any such entry is one load each. A directory without them runs searches that know nothing of all this.
//!
//! Such entries are read before they act: a requester that may not read one is answered as if it were not there. Else it would tell
//! where it leads, by a reference, by what comes up in a search, or by the difference between two refusals.

use super::base::{Base, Refusal};
use crate::access::{Action, Requester};
use crate::context::Reading;
use crate::control::Requested;
use crate::faults::holes;
use crate::monitor::{Counters, count};
use crate::referral::{self, Referral};
use crate::rights::referred::hidden_referral;
use crate::worker::Scratch;
use ::access::{Operation, Right};
use env::planted;
use model::limits::OUT_BYTES_SOFT_MAX;
use model::{DerefAliases, EntryId, ResultCode, Scope};
use proto::control::subentries::Visible;
use proto::op::Search;
use proto::op::search::encode_reference;
use store::aliases::AliasError;
use store::search::{Cursor, Scopes, Step};
use store::shape::Kind;
use store::{DnCache, EntryRef, ReadPoint, Shard, Unresolved};

/// What a search does with entries that stand for others.
/// Looked up once for a search; an entry that comes later is not in its read point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SpecialEntries {
    /// Are aliases below the base followed?
    follows: bool,
    /// Are referral objects followed by the client?
    refers: bool,
    /// Are some entries returned from elsewhere, as a transaction has made them?
    hides: bool,
    omits: Omitted,
}

/// Which kind of entries a search leaves out (RFC 3672).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Omitted {
    #[default]
    None,
    /// Subentries, but for the base: without a control (section 1).
    SubentriesBelow,
    /// Subentries (section 3).
    Subentries,
    /// All others.
    Entries,
}

impl SpecialEntries {
    /// What it is to do at this read point: nothing if there is no such entry.
    #[inline]
    pub(super) fn new(
        reading: &Reading<'_>,
        request: &Search<'_>,
        requested: &Requested<'_>,
    ) -> SpecialEntries {
        let shard = &reading.dsa.shard;
        let asks = matches!(request.deref_aliases, DerefAliases::InSearching | DerefAliases::Always);
        SpecialEntries {
            follows: asks && shard.has_aliases(),
            refers: !requested.manage_dsa_it && shard.has_referrals(),
            hides: false,
            omits: match requested.visible() {
                Some(Visible::Subentries) => Omitted::Entries,
                _ if !shard.has_subentries() => Omitted::None,
                Some(Visible::Entries) => Omitted::Subentries,
                None => Omitted::SubentriesBelow,
            },
        }
    }

    /// Of a search that follows changes: such entries may come later.
    pub(super) fn following(requested: &Requested<'_>) -> SpecialEntries {
        let omits = match requested.visible() {
            Some(Visible::Subentries) => Omitted::Entries,
            Some(Visible::Entries) => Omitted::Subentries,
            None => Omitted::SubentriesBelow,
        };
        SpecialEntries { refers: !requested.manage_dsa_it, omits, ..SpecialEntries::default() }
    }

    /// Of a search inside a transaction: nobody is referred anywhere.
    /// They were refused before the view was made.
    pub(super) fn hiding() -> SpecialEntries {
        SpecialEntries { hides: true, omits: Omitted::SubentriesBelow, ..SpecialEntries::default() }
    }

    /// Is there nothing to be done?
    /// Then a search may take the short ways.
    #[inline]
    pub(super) fn is_none(self) -> bool {
        self == SpecialEntries::default()
    }

    /// Is nothing to be done but to leave out subentries?
    pub(super) fn omits_subentries_alone(self) -> bool {
        let omits = matches!(self.omits, Omitted::Subentries | Omitted::SubentriesBelow);
        omits && !(self.follows || self.refers || self.hides)
    }

    /// Where a search looks.
    ///
    /// # Errors
    /// When there are too many aliases to follow.
    /// An alias below the base adds the subtree that it leads to, and aliases there again. The number is bounded, and circles end by themselves: a
    /// subtree that is there is not added twice.
    pub(super) fn scopes(
        self,
        reading: &mut Reading<'_>,
        (base, who): (&Base, Requester),
        scope: Scope,
    ) -> Result<Scopes, Refusal> {
        let mut scopes = Scopes::new(base.id, scope);
        if self.follows && !base.is_system && scope != Scope::Base {
            let read_point = reading.read_point;
            let followed = through_seen((&mut *reading.scratch, read_point), who, |cache, sees| {
                scopes.follow(read_point, cache, sees)
            });
            followed.map_err(|_| {
                let text = "too many aliases would have to be followed".to_owned();
                Refusal::Text(ResultCode::AdminLimitExceeded, text)
            })?;
        }
        Ok(scopes)
    }

    /// The references that a search begins with, if it may find any.
    /// A base search finds no other entry, and the base itself was settled before.
    pub(super) fn references(self, base: &Base, scopes: &Scopes, scope: Scope) -> Option<References> {
        let may = self.refers && !base.is_system && scope != Scope::Base;
        may.then(|| References { cursor: Cursor::referrals(scopes.clone()), scope, followed: Vec::new() })
    }

    /// Is an entry that matches not for the client, since another one stands for it?
    /// The cheap looks come first; `is_elsewhere` walks up.
    #[inline]
    pub(super) fn skips(
        self,
        read_point: ReadPoint<'_>,
        base: EntryId,
        entry: &EntryRef<'_>,
        hidden: &[u32],
    ) -> bool {
        !self.is_none()
            && ((self.hides && hidden.binary_search(&entry.id.0).is_ok())
                || (self.follows && entry.shape.kind == Kind::Alias && entry.id != base)
                || self.omits.omits(entry, base)
                || (self.refers && referral::is_elsewhere(read_point, entry)))
    }
}

impl Omitted {
    /// Is an entry left out, by what its classes make it and by whether it is the base?
    /// The control makes no difference between the base and what is below it (RFC 3672 section 3).
    #[inline]
    fn omits(self, entry: &EntryRef<'_>, base: EntryId) -> bool {
        match self {
            Omitted::None => false,
            Omitted::SubentriesBelow => is_omitted(entry, base),
            Omitted::Subentries => entry.shape.kind == Kind::Subentry,
            Omitted::Entries => entry.shape.kind != Kind::Subentry,
        }
    }
}

/// Is an entry a subentry, which only a search that it is the base of finds?
#[inline]
pub(super) fn is_omitted(entry: &EntryRef<'_>, base: EntryId) -> bool {
    entry.shape.kind == Kind::Subentry && entry.id != base
}

/// Is there no entry that stands for another?
/// Two loads; the answer may change with any update, so it is asked at each read point.
#[inline]
pub(super) fn is_absent(shard: &Shard) -> bool {
    !shard.has_aliases() && !shard.has_referrals()
}

/// Is every entry one that any search returns as it is?
#[inline]
pub(super) fn is_plain(shard: &Shard) -> bool {
    is_absent(shard) && !shard.has_subentries()
}

/// Follows aliases as far as a requester sees them: those that it may read, to entries that may be disclosed. An alias that is hidden is
/// absent, and one that leads to what is hidden leads nowhere. Else a client that can place an alias could ask for any name.
fn through_seen<T>(
    (scratch, read_point): (&mut Scratch, ReadPoint<'_>),
    who: Requester,
    follow: impl FnOnce(&mut DnCache, &mut dyn FnMut(&EntryRef<'_>) -> bool) -> T,
) -> T {
    // Taken out for the walk: rights are asked with the rest of the evaluator in between.
    let mut cache = std::mem::take(&mut scratch.evaluator.cache);
    scratch.evaluator.cache.refresh(read_point);
    let done = follow(&mut cache, &mut |entry| {
        let view = scratch.view(who, Action::of(Operation::Search), entry, read_point);
        match entry.shape.kind {
            _ if planted::is(holes::ALIAS_NOT_JUDGED) => true,
            Kind::Alias => scratch.views.may_return(view),
            _ => scratch.views.may(view, Right::Disclose),
        }
    });
    scratch.evaluator.cache = cache;
    done
}

/// Does a name still lead to an entry, through the aliases on its way? Rights on these are asked as when it was found.
pub(super) fn leads_to(
    (scratch, read_point): (&mut Scratch, ReadPoint<'_>),
    who: Requester,
    name: &[u8],
    id: EntryId,
) -> bool {
    let led =
        through_seen((scratch, read_point), who, |cache, sees| read_point.resolve_through(name, cache, sees));
    matches!(led, Ok((found, _)) if found == id)
}

/// Finds the base that a request means, given what its DN leads to; it is that unless some entries stand for others ([`is_absent`]).
/// The alias comes first: where it leads may be below a referral object.
#[cold]
pub(super) fn settle_base(
    reading: &mut Reading<'_>,
    (request, who): (&Search<'_>, Requester),
    requested: &Requested<'_>,
    mut found: Result<EntryId, Unresolved>,
) -> Result<Result<EntryId, Unresolved>, Refusal> {
    let (read_point, mut dn) = (reading.read_point, None);
    let follows = matches!(request.deref_aliases, DerefAliases::FindingBase | DerefAliases::Always);
    let nearest = |found: &Result<EntryId, Unresolved>| match found {
        Ok(id) | Err(Unresolved::NoSuchObject(Some(id))) => Some(*id),
        Err(_) => None,
    };
    // The base may be an alias, or below one: each on the way is followed.
    if follows && nearest(&found).and_then(|id| read_point.kind(id)) == Some(Kind::Alias) {
        let led = through_seen((&mut *reading.scratch, read_point), who, |cache, sees| {
            read_point.resolve_through(request.base, cache, sees)
        });
        match led {
            Ok((id, text)) => {
                found = Ok(id);
                dn = Some(text);
            }
            Err(AliasError::Unresolved(unresolved)) => found = Err(unresolved),
            Err(AliasError::Dangling(alias)) => return Err(Refusal::Alias(ResultCode::AliasProblem, alias)),
            Err(AliasError::Loop(alias)) => return Err(Refusal::Alias(ResultCode::LoopDetect, alias)),
            // Below a referral object that is hidden, all is absent.
            Err(AliasError::Elsewhere { alias, nearest, .. })
                if requested.manage_dsa_it
                    || hidden_referral(reading, (who, Operation::Search), nearest).is_some() =>
            {
                return Err(Refusal::Alias(ResultCode::AliasProblem, alias));
            }
            Err(AliasError::Elsewhere { nearest, dn: meant, .. }) => {
                found = Err(Unresolved::NoSuchObject(Some(nearest)));
                dn = Some(meant);
            }
        }
    }
    if !requested.manage_dsa_it
        && read_point.shard().has_referrals()
        && let Some(id) = nearest(&found)
        && let Some(superior) = hidden_referral(reading, (who, Operation::Search), id)
    {
        return Ok(Err(Unresolved::NoSuchObject(Some(superior).filter(|id| id.0 != 0))));
    }
    // With ManageDsaIT the object itself is the base (RFC 3296 section 3).
    let met = nearest(&found).filter(|_| !requested.manage_dsa_it).and_then(|id| {
        Referral::met(read_point, id, dn.as_deref().unwrap_or(request.base), Some(request.scope))
    });
    match met {
        Some(referral) => Err(Refusal::Referral(referral)),
        None => Ok(found),
    }
}

/// References that are still to be sent.
pub(super) struct References {
    cursor: Cursor,
    scope: Scope,
    /// Objects that the server has followed itself: a few.
    followed: Vec<EntryId>,
}

impl References {
    /// Sends none of these objects.
    pub(super) fn pass_over(&mut self, followed: Vec<EntryId>) {
        self.followed = followed;
    }

    /// Sends some. `true` when all are sent.
    /// In slices like entries: a directory may have many referral objects.
    pub(super) fn write(
        &mut self,
        (message_id, who): (i32, Requester),
        scratch: &mut Scratch,
        read_point: ReadPoint<'_>,
        counters: &Counters,
        work: &mut u64,
        out: &mut Vec<u8>,
    ) -> bool {
        while *work > 0 && out.len() < OUT_BYTES_SOFT_MAX {
            let entry = match self.cursor.step(read_point, &mut scratch.evaluator, work) {
                Step::Entry(entry) => entry,
                Step::Pause => return false,
                Step::End => return true,
            };
            // One below another is that other server's.
            // The reference to the upper one leads there.
            if read_point.referral_above(entry.parent()).is_some() || self.followed.contains(&entry.id) {
                continue;
            }
            // A referral object that may not be read is absent.
            let view = scratch.view(who, Action::of(Operation::Search), &entry, read_point);
            if !scratch.views.may_return(view) {
                continue;
            }
            let uris = referral::continuation(read_point, &entry, self.scope);
            encode_reference(out, message_id, uris.iter().map(Vec::as_slice), &[]);
            count(&counters.references, 1);
        }
        false
    }
}
