//! A group of a bundle's requests: framed, their outlines taken, and the memory they will look at asked for together,
//! stage by stage, before the first of them runs. Each is decoded when it runs, if it must be decoded at all.

use crate::access::Rights;
use crate::recent::{Again, Asserted, Recent};
use crate::worker::Scratch;
use proto::message::{Frame, Message, frame};
use proto::outline::Outline;
use proto::{DecodeError, tag};
use smallvec::SmallVec;
use store::search::EqualityHint;
use store::{ReadPoint, Target};

/// Requests of one group: as many cache misses as the memory system likes to have in flight.
const GROUP: usize = 32;
/// Updates of one group: all that is decoded and asked for before the writer's role is taken shortens the time that
/// other threads wait for it.
const GROUP_UPDATES: usize = 128;
/// Beginning of a search's rest when its scope is that of one entry.
const SCOPE_BASE: &[u8] = &[tag::ENUMERATED, 1, 0];

/// A request that waits for its turn, and where it will look.
pub(crate) struct Pending<'a> {
    /// The whole message; of a stream that cannot be followed, all that is left of it.
    frame: &'a [u8],
    pub(super) outline: Option<Outline<'a>>,
    /// The recent search that this one repeats.
    pub(super) again: Option<Again>,
    pub(super) hint: Hint,
    /// Where it ends in the input.
    pub(super) end: usize,
}

/// Where a request will look, as far as that was worked out.
#[derive(Clone)]
pub(crate) enum Hint {
    Nothing,
    Target(Target),
    /// An equality assertion, and where its value lies among the group's keys.
    Equality(EqualityHint, Asserted),
}

/// Requests in the order they came.
pub(super) type Group<'a> = SmallVec<[Pending<'a>; GROUP_UPDATES]>;

impl<'a> Pending<'a> {
    /// The whole message.
    pub(super) fn frame(&self) -> &'a [u8] {
        self.frame
    }

    /// Decodes it.
    pub(super) fn decode(&self) -> Result<Message<'a>, DecodeError> {
        frame(self.frame)?;
        Message::decode(self.frame)
    }

    /// Does it change the directory?
    #[inline]
    pub(super) fn is_update(&self) -> bool {
        let op_tag = self.outline.as_ref().map(|outline| outline.op_tag);
        matches!(op_tag, Some(tag::MODIFY | tag::ADD | tag::DELETE | tag::MODIFY_DN))
    }

    pub(super) fn is_add(&self) -> bool {
        self.outline.as_ref().is_some_and(|outline| outline.op_tag == tag::ADD)
    }

    /// Figures are brought up to date before a read point is taken, so that the one who asks sees them.
    #[inline]
    pub(super) fn asks_for_monitor(&self) -> bool {
        const LAST_RDN: &[u8] = b"cn=monitor";
        let Some(Outline { op_tag: tag::SEARCH, dn, .. }) = self.outline else { return false };
        let at = dn.len().checked_sub(LAST_RDN.len());
        at.is_some_and(|at| dn[at..].eq_ignore_ascii_case(LAST_RDN))
    }
}

/// Gathers the requests from `at` on. Returns where it stopped and what the next message needs.
#[inline]
pub(super) fn gather<'a>(input: &'a [u8], mut at: usize, group: &mut Group<'a>) -> (usize, usize) {
    while group.len() < GROUP || (group.len() < GROUP_UPDATES && group.last().is_some_and(Pending::is_update))
    {
        let (frame, outline) = match frame(&input[at..]) {
            Ok(Frame::Complete { len }) => {
                let frame = &input[at..at + len];
                at += len;
                (frame, Outline::of(frame))
            }
            Ok(Frame::Incomplete { needed }) => return (at, needed),
            Err(_) => (&input[std::mem::replace(&mut at, input.len())..], None),
        };
        group.push(Pending { frame, outline, again: None, hint: Hint::Nothing, end: at });
    }
    (at, 0)
}

/// Three stages over the whole group: buckets, slots, records. Each stage's misses overlap.
#[inline]
pub(super) fn prefetch(
    read_point: ReadPoint<'_>,
    rights: Rights,
    scratch: &mut Scratch,
    group: &mut Group<'_>,
) {
    for pending in group.iter_mut() {
        look_ahead(read_point, rights, scratch, pending);
    }
    let mut ids = SmallVec::<[_; GROUP_UPDATES]>::new();
    for pending in group.iter() {
        ids.extend(match &pending.hint {
            Hint::Target(target) => read_point.prefetch_slot(target),
            Hint::Equality(hint, _) => read_point.prefetch_candidate(*hint),
            Hint::Nothing => None,
        });
    }
    ids.into_iter().for_each(|id| read_point.prefetch_entry(id));
}

#[inline]
fn look_ahead(read_point: ReadPoint<'_>, rights: Rights, scratch: &mut Scratch, pending: &mut Pending<'_>) {
    let Some(outline) = &pending.outline else { return };
    let Scratch { evaluator, keys, recent, .. } = scratch;
    match outline.op_tag {
        tag::SEARCH if !outline.rest.starts_with(SCOPE_BASE) => {
            if let Some((again, value)) = recent.repeats_equality(outline, rights) {
                pending.again = Some(again);
                pending.hint = hint_equality(read_point, recent, again, value, keys);
            }
            return;
        }
        tag::SEARCH => pending.again = recent.repeats_base(outline, rights),
        tag::MODIFY | tag::DELETE | tag::COMPARE => {}
        _ => return,
    }
    if let Ok(target) = read_point.target(outline.dn, &mut evaluator.cache, keys) {
        read_point.prefetch_tag(&target);
        pending.hint = Hint::Target(target);
    }
}

#[inline]
fn hint_equality(
    read_point: ReadPoint<'_>,
    recent: &Recent,
    again: Again,
    value: &[u8],
    keys: &mut Vec<u8>,
) -> Hint {
    let start = keys.len();
    let hint = recent.attribute_type(again).and_then(|attribute_type| {
        let schema = read_point.shard().schema();
        schema.normalise_equality_assertion(attribute_type, value, keys).ok()?;
        read_point.prefetch_equality(attribute_type, &keys[start..])
    });
    match hint {
        Some(hint) => Hint::Equality(hint, Asserted::push_raw(start, value, keys)),
        None => {
            keys.truncate(start);
            Hint::Nothing
        }
    }
}
