//! A group of a bundle's requests: framed, their outlines taken, and the memory they will look at asked for before they
//! run: hash buckets of all of them, then slots of all of them, and records some requests ahead (decision 24). Each is
//! decoded when it runs, if it must be decoded at all.

use crate::access::ClassId;
use crate::extension::Extension;
use crate::op::extended;
use crate::queue::{self, Queue};
use crate::recent::{Again, Asserted, Recent};
use crate::system::{CHANGE_LOG_DN, CONFIG_DN, is_root_dse};
use crate::worker::Scratch;
use model::EntryId;
use model::short::Word;
use proto::control::{Control, Controls, queue_length};
use proto::ext::end_transaction;
use proto::message::{Frame, Message, frame};
use proto::op::Extended;
use proto::outline::Outline;
use proto::{DecodeError, tag};
use smallvec::SmallVec;
use store::derived::SUBSCHEMA_DN;
use store::search::EqualityHint;
use store::{ReadPoint, Target};

/// Requests of one group: as many cache misses as the memory system likes to have in flight.
const GROUP: usize = 32;
/// Updates of one group: all that is decoded and asked for before the writer's role is taken shortens the time that
/// other threads wait for it.
const GROUP_UPDATES: usize = 128;
/// Requests whose records are asked for together, the next ones while these run. A core finishes no prefetch whose page it
/// has yet to look up, but looks up several at once when they follow each other closely.
const STRIDE: usize = 8;
/// Beginning of a search's rest when its scope is that of one entry.
const SCOPE_BASE: &[u8] = &[tag::ENUMERATED, 1, 0];

/// A request that waits for its turn, and where it will look.
/// It borrows the input, so a group costs no copy. A request is decoded when it runs: most never are, for outline and hint tell enough.
pub(crate) struct Pending<'a> {
    /// The input from this message on.
    input: &'a [u8],
    /// Bytes of the whole message; of a stream that cannot be followed, of all that is left of it.
    len: usize,
    pub(super) outline: Option<Outline<'a>>,
    /// The recent search that this one repeats.
    pub(super) again: Option<Again>,
    pub(super) hint: Hint,
    /// Where it ends in the input.
    pub(super) end: usize,
}

/// Decodes a whole message.
///
/// # Errors
/// If it is malformed.
/// The frame is looked at first: it bounds what the decoder may read, and tells a stream that cannot be followed.
pub(super) fn decode(message: &[u8]) -> Result<Message<'_>, DecodeError> {
    frame(message)?;
    Message::decode(message)
}

/// Is this name written like one of the server's configuration, or that of the subschema?
/// A yes may be wrong, and the caller looks closer then. A no is right for every form in which clients write such a name.
#[inline]
pub(super) fn may_be_own(dn: &[u8]) -> bool {
    ends_in(dn, CONFIG_DN.as_bytes()) || ends_in(dn, SUBSCHEMA_DN.as_bytes())
}

/// Does a DN end in this RDN?
#[inline]
fn ends_in(dn: &[u8], rdn: &[u8]) -> bool {
    // Nearly all others are known by their last byte.
    if dn.last().is_none_or(|last| Some(&(last | 0x20)) != rdn.last()) {
        return false;
    }
    dn.len().checked_sub(rdn.len()).is_some_and(|at| dn[at..].eq_ignore_ascii_case(rdn))
}

/// Is this the DN of metrics or of the configuration, or of an entry below?
fn is_of_monitor(dn: &[u8]) -> bool {
    ends_in(dn, b"cn=monitor") || ends_in(dn, CONFIG_DN.as_bytes())
}

/// Is this the DN of the root DSE, of the change log, or of an entry in that?
fn is_of_changes(dn: &[u8]) -> bool {
    is_root_dse(dn) || ends_in(dn, CHANGE_LOG_DN.as_bytes())
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
    #[inline]
    pub(crate) fn frame(&self) -> &'a [u8] {
        &self.input[..self.len]
    }

    /// The messages of requests that follow each other in the input.
    /// No byte lies between them, so one slice is all of them: they go to the log without being put together.
    #[inline]
    pub(super) fn frames(requests: &[Pending<'a>]) -> &'a [u8] {
        let (Some(first), Some(last)) = (requests.first(), requests.last()) else { return &[] };
        debug_assert!(
            requests.windows(2).all(|two| two[1].end - two[1].len == two[0].end),
            "none is left out"
        );
        let len = last.end - first.end + first.len;
        assert!(
            std::ptr::eq(first.input[len..].as_ptr(), last.input[last.len..].as_ptr()),
            "they are requests of one input"
        );
        &first.input[..len]
    }

    /// Decodes it.
    ///
    /// # Errors
    /// If it is malformed.
    pub(super) fn decode(&self) -> Result<Message<'a>, DecodeError> {
        decode(self.frame())
    }

    /// Tag of its operation, if it is a regular message.
    pub(crate) fn op_tag(&self) -> Option<u8> {
        self.outline.as_ref().map(|outline| outline.op_tag)
    }

    /// Is it an extended request with this OID?
    pub(crate) fn names_extension(&self, oid: &[u8]) -> bool {
        self.extension() == Some(oid)
    }

    /// Does it change the directory?
    /// What is no regular message is none: it is answered, or ends the session, where reads are run.
    #[inline]
    pub(super) fn is_update(&self) -> bool {
        match self.op_tag() {
            Some(tag::MODIFY | tag::ADD | tag::DELETE | tag::MODIFY_DN) => true,
            Some(tag::EXTENDED) => self.is_extension(),
            _ => false,
        }
    }

    /// Is it an extended operation that changes the directory, or has a say in what does?
    #[inline]
    pub(super) fn is_extension(&self) -> bool {
        self.extension().and_then(extended::find).is_some_and(Extension::is_update)
    }

    /// Which extended operation it is, if it is one.
    #[inline]
    fn extension(&self) -> Option<&'a [u8]> {
        let outline = self.outline.as_ref().filter(|outline| outline.op_tag == tag::EXTENDED)?;
        Extended::oid_of(outline.rest)
    }

    /// What follows its operation: controls.
    #[inline]
    pub(crate) fn after(&self) -> &'a [u8] {
        self.outline.as_ref().map_or(&[], |outline| outline.after)
    }

    /// Does anything follow its operation?
    #[inline]
    pub(crate) fn has_controls(&self) -> bool {
        !self.after().is_empty()
    }

    /// Is it an add? Of one that was not outlined that is not known, and `false`.
    pub(super) fn is_add(&self) -> bool {
        self.outline.as_ref().is_some_and(|outline| outline.op_tag == tag::ADD)
    }

    /// Metrics are updated before a read point is taken, so that the search sees them.
    #[inline]
    pub(super) fn asks_for_monitor(&self) -> bool {
        self.outline.is_some_and(|outline| outline.op_tag == tag::SEARCH && is_of_monitor(outline.dn))
    }

    /// The root DSE has the last change, and the change log those that are not too old, which is brought up to date in the same way.
    #[inline]
    pub(super) fn asks_for_changes(&self) -> bool {
        self.outline.is_some_and(|outline| outline.op_tag == tag::SEARCH && is_of_changes(outline.dn))
    }

    /// Is this about the server's configuration, not the directory? It must be written without detours.
    #[inline]
    pub(super) fn may_be_about_own(&self) -> bool {
        self.outline.as_ref().is_some_and(|outline| may_be_own(outline.dn))
    }

    /// Whether this is about the server's own metrics, its configuration, the root DSE or the change log.
    pub(super) fn is_about_server(&self) -> bool {
        self.outline.is_some_and(|outline| is_of_monitor(outline.dn) || is_of_changes(outline.dn))
    }

    /// Prefetches the hash bucket that it will look at first.
    #[inline(always)]
    fn prefetch_bucket(&self, read_point: ReadPoint<'_>) {
        match &self.hint {
            Hint::Target(target) => read_point.prefetch_tag(target),
            Hint::Equality(hint, _) => read_point.prefetch_equality(hint),
            Hint::Nothing => {}
        }
    }

    /// Finds the entry that it is likely to look at.
    #[inline(always)]
    fn find_likely(&mut self, read_point: ReadPoint<'_>) {
        match &mut self.hint {
            Hint::Target(target) => read_point.find_likely(target),
            Hint::Equality(hint, _) => read_point.find_candidate(hint),
            Hint::Nothing => {}
        }
    }

    #[inline(always)]
    fn likely(&self) -> Option<EntryId> {
        match &self.hint {
            Hint::Target(target) => target.likely(),
            Hint::Equality(hint, _) => hint.likely(),
            Hint::Nothing => None,
        }
    }

    /// Prefetches the slot of that entry.
    #[inline(always)]
    fn prefetch_slot(&self, read_point: ReadPoint<'_>) {
        if let Some(id) = self.likely() {
            read_point.prefetch_slot(id);
        }
    }

    /// Prefetches the record of that entry.
    #[inline(always)]
    fn prefetch_entry(&self, read_point: ReadPoint<'_>) {
        if let Some(id) = self.likely() {
            read_point.prefetch_entry(id);
        }
    }
}

/// Gathers the requests from `at` on. Returns where it stopped and what the next message needs.
///
/// A stream that cannot be followed any more is taken whole as the last request, which then ends the session. So the caller always gets
/// further, or knows how many bytes are lacking.
#[inline]
pub(super) fn gather<'a>(input: &'a [u8], mut at: usize, group: &mut Group<'a>) -> (usize, usize) {
    // Updates go on to four times as many: the writer's role is taken once for all of them.
    while group.len() < GROUP || (group.len() < GROUP_UPDATES && group.last().is_some_and(Pending::is_update))
    {
        let input = &input[at..];
        let (len, outline) = match frame(input) {
            // A regular message has an outline. Any other is run as a read, where it is decoded and refused.
            Ok(Frame::Complete { len }) => (len, Outline::of(&input[..len])),
            Ok(Frame::Incomplete { needed }) => return (at, needed),
            Err(_) => {
                assert!(!input.is_empty(), "a request takes bytes, or the next one would be the same");
                (input.len(), None)
            }
        };
        at += len;
        group.push(Pending { input, len, outline, again: None, hint: Hint::Nothing, end: at });
    }
    (at, 0)
}

/// Works out where the requests will look, and asks for the memory of it, one kind after the other and nothing in
/// between; for the records of the first of them only: the others are prefetched by [`prefetch_next`]. Reads from `kept_from`
/// on will wait for the updates before them, and look then.
///
/// Three passes, for each needs what the one before brings: the bucket tells the slot, the slot tells the record. A core that ran through
/// one request after the other would wait three times for each.
#[inline]
pub(super) fn prefetch(
    read_point: ReadPoint<'_>,
    class: ClassId,
    scratch: &mut Scratch,
    group: &mut Group<'_>,
    kept_from: usize,
) {
    let kept_from = kept_from.min(group.len());
    let (first, kept) = group.split_at_mut(kept_from);
    first.iter_mut().for_each(|pending| find_target::<false>(read_point, class, scratch, pending));
    kept.iter_mut().for_each(|pending| find_target::<true>(read_point, class, scratch, pending));
    group.iter().for_each(|pending| pending.prefetch_bucket(read_point));
    group.iter_mut().for_each(|pending| pending.find_likely(read_point));
    group.iter().for_each(|pending| pending.prefetch_slot(read_point));
    prefetch_records(read_point, group, 0);
}

/// Prefetches the records of the next requests, before every [`STRIDE`] of them.
#[inline(always)]
pub(super) fn prefetch_next(read_point: ReadPoint<'_>, group: &[Pending<'_>], at: usize) {
    if at.is_multiple_of(STRIDE) {
        prefetch_records(read_point, group, at + STRIDE);
    }
}

/// As [`prefetch_next`], of requests that are not run one after the other: for all before `until` and the next few. `near`: how
/// many it was done for.
#[inline]
pub(super) fn prefetch_all_records(
    read_point: ReadPoint<'_>,
    group: &[Pending<'_>],
    near: &mut usize,
    until: usize,
) {
    while *near < group.len().min(until + STRIDE) {
        prefetch_records(read_point, group, *near);
        *near += STRIDE;
    }
}

/// Prefetches the records of so many requests from `from` on.
#[inline(never)]
fn prefetch_records(read_point: ReadPoint<'_>, group: &[Pending<'_>], from: usize) {
    group.iter().skip(from).take(STRIDE).for_each(|pending| pending.prefetch_entry(read_point));
}

/// Finds out which searches repeat recent ones, for reads that are run later.
#[cold]
#[inline(never)]
pub(super) fn find_recent(class: ClassId, recent: &mut Recent, group: &mut Group<'_>) {
    for pending in group {
        let Some(outline) = pending.outline.as_ref().filter(|outline| outline.op_tag == tag::SEARCH) else {
            continue;
        };
        pending.again = match outline.rest.starts_with(SCOPE_BASE) {
            true => recent.repeats_base(outline, class),
            false => recent.repeats_equality(outline, class).map(|(again, _)| again),
        };
    }
}

/// `IS_KEPT`: if it is a read, it waits for the updates before it.
#[inline]
fn find_target<const IS_KEPT: bool>(
    read_point: ReadPoint<'_>,
    class: ClassId,
    scratch: &mut Scratch,
    pending: &mut Pending<'_>,
) {
    let Some(outline) = &pending.outline else { return };
    let Scratch { evaluator, keys, recent, .. } = scratch;
    match outline.op_tag {
        tag::SEARCH if !outline.rest.starts_with(SCOPE_BASE) => {
            if let Some((again, value)) = recent.repeats_equality(outline, class) {
                pending.again = Some(again);
                if IS_KEPT {
                    return;
                }
                pending.hint = hint_equality(read_point, recent, again, value, keys);
            }
            return;
        }
        tag::SEARCH => {
            pending.again = recent.repeats_base(outline, class);
            if IS_KEPT {
                return;
            }
        }
        tag::MODIFY | tag::DELETE | tag::COMPARE => {}
        _ => return,
    }
    // The common way is kept in sight of the compiler, which then leaves the target in registers.
    if let Some(target) = read_point.target_like_last(outline.dn, &evaluator.cache, keys) {
        pending.hint = Hint::Target(target);
    } else if let Ok(target) = read_point.target_unlike_last(outline.dn, &mut evaluator.cache, keys) {
        pending.hint = Hint::Target(target);
    }
}

/// Where an equality search will look. The normal form stays in `keys`, so the search need not make it again; without a hint the keys are
/// as they were before.
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
        let shard = read_point.shard();
        // The normal form of a short value is made and hashed in registers.
        let short = Word::of(value).and_then(|word| shard.schema().short_form(attribute_type, word));
        let hash = match short {
            Some(form) => {
                form.append(keys);
                shard.short_value_hash(form)
            }
            None => {
                shard.schema().normalise_equality_assertion(attribute_type, value, keys).ok()?;
                shard.value_hash(&keys[start..])
            }
        };
        read_point.equality_hint(attribute_type, hash)
    });
    match hint {
        Some(hint) => Hint::Equality(hint, Asserted::push_raw(start, value, keys)),
        None => {
            keys.truncate(start);
            Hint::Nothing
        }
    }
}

/// Looks at requests before they run: at what they say of the queue, and whether they end a run.
/// It is called of groups where some request has controls, or whose session has a queue: for all others it costs one comparison.
#[cold]
pub(super) fn look_at_queue(queue: &mut Option<Box<Queue>>, other_oid: Option<&[u8]>, group: &[Pending<'_>]) {
    // Neighbours mostly have the same controls, and say the same.
    let mut last: (&[u8], Option<u32>) = (&[], None);
    for pending in group {
        let op_tag = pending.op_tag();
        if op_tag == Some(tag::BIND) {
            // Another client, as far as anybody knows.
            *queue = None;
        }
        if pending.after() != last.0 {
            last = (pending.after(), queue_length_of(pending.frame(), other_oid));
        }
        if let Some(length) = last.1 {
            queue::set(queue, length);
        }
        if let Some(queue) = queue {
            queue.is_urgent |= matches!(op_tag, None | Some(tag::ABANDON | tag::UNBIND))
                || pending.names_extension(end_transaction::OID);
        }
    }
}

/// The length that a request asks for. Under the other OID nobody knows a critical control, so the request is refused for it.
/// A value that is no number counts as none: the control only lets the server answer later, so nothing is refused for it.
fn queue_length_of(message: &[u8], other_oid: Option<&[u8]>) -> Option<u32> {
    let is_other = |control: &Control<'_>| Some(control.oid) == other_oid && !control.critical;
    let is_it = |control: &Control<'_>| control.oid == queue_length::OID || is_other(control);
    let value = Controls::of(message).iter().find(is_it)?.value?;
    queue_length::decode(value).ok()
}
