//! Reads at the front of a bundle that goes on with updates, in a directory whose log is replicated. They wait with these, as the reads between them
//! do ([`super::mixed`]): the applier pins for them what is there directly before it applies the first update. So the bundle costs a commit, and not a
//! barrier and then a commit.
//!
//! They wait as long as these then, which is longer than a barrier takes where no majority is there or the leader has no room. So they do it
//! only where a barrier was passed within half a second, and nothing waits for a leader: one bundle asks, those behind it need not.
//!
//! If the first update is answered without the log, nothing comes that could answer the reads. So it is judged as one that
//! follows others. If it does not go to the log as it came, the reads are taken back, and they and it wait for a barrier.

use super::group::{self, Group};
use super::needs::{is_update, may_follow, may_wait, needs_barrier};
use crate::engine::Dsa;
use crate::reads::WithoutQuorum;
use crate::session::{Phase, Session};
use crate::worker::Parts;
use proto::message::{Frame, frame};
use proto::outline::Outline;
use proto::tag;
use std::ops::Range;

/// Bytes of such reads. All of them share one state that is pinned, which may be given up when memory is short: what takes long is not to be among them.
const READS_BYTES_MAX: usize = 16 << 10;

/// Keeps the reads at the front of the input, if an update follows with which they can wait. Their bytes, or 0 if nothing is kept.
/// What is behind them is to be run next; then [`take_back`] is to be called.
#[cold]
#[inline(never)]
pub(super) fn keep(session: &mut Session, parts: &mut Parts<'_>, input: &[u8]) -> usize {
    let is_prompt = parts.dsa.journal.get().is_some_and(|journal| journal.is_prompt(parts.now.monotonic_ns));
    if !is_prompt || !may_lead(session, parts.dsa) {
        return 0;
    }
    let Some(update) = first_update(session, parts.dsa, input) else { return 0 };
    let reads = &input[..update.start];
    let class = session.identity.requester().class;
    let (mut group, mut at) = (Group::new(), 0);
    while at < reads.len() {
        group.clear();
        (at, _) = group::gather(reads, at, &mut group);
        group::find_recent(class, &mut parts.scratch.recent, &mut group);
        if !group.iter().all(|read| may_wait(session, parts.dsa, read)) {
            return 0;
        }
    }
    assert!(session.mixed.bytes() == 0, "the reads of one batch wait at a time");
    session.mixed.reads.extend_from_slice(reads);
    session.mixed.marks.put(0, reads.len());
    group.clear();
    group::gather(&input[update], 0, &mut group);
    if may_follow(session, parts.dsa, &group[0]) {
        return reads.len();
    }
    session.mixed.rest();
    0
}

/// Takes back the reads that were kept, if no update behind them went to the log. Whether it did.
#[cold]
#[inline(never)]
pub(super) fn take_back(session: &mut Session) -> bool {
    // Marks go with the updates.
    let are_left = !session.mixed.marks.is_empty();
    if are_left {
        session.mixed.rest();
    }
    are_left
}

/// May reads of a session wait with updates behind them?
fn may_lead(session: &Session, dsa: &Dsa) -> bool {
    // A session that has never changed anything mostly goes on so: its input is not looked through.
    session.reply.is_some()
        && session.identity.is_root
        // What is refused, or run at a pace, is so in the order of requests.
        && !session.is_restricted()
        && !session.has_pace()
        // Updates that wait for room on the way to the log would keep the reads waiting.
        && (!dsa.throttle.is_closed() || matches!(session.phase, Phase::Admitted(_)))
        // Reads need no majority there, and updates do.
        && dsa.without_quorum() == WithoutQuorum::Refuse
        && !session.read_age.is_said()
}

/// Where the first update of the input is, if it needs no barrier and nothing but some reads without controls stands before it.
fn first_update(session: &Session, dsa: &Dsa, input: &[u8]) -> Option<Range<usize>> {
    let mut at = 0;
    while at <= READS_BYTES_MAX
        && let Ok(Frame::Complete { len }) = frame(&input[at..])
    {
        let message = &input[at..at + len];
        let outline = Outline::of(message)?;
        match outline.op_tag {
            op_tag if is_update(op_tag) => {
                let waits = needs_barrier(session, dsa, message, Some(&outline));
                return (!waits).then_some(at..at + len);
            }
            tag::SEARCH | tag::COMPARE if outline.after.is_empty() => at += len,
            _ => return None,
        }
    }
    None
}
