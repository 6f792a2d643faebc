//! Log lines about limits: the directory's memory and searches that were ended for it, binds that fail, and what clients have reached.

use dsa::events::{Event, EventKind};
use dsa::held::MemoryNotice;
use dsa::password::FailedBinds;
use dsa::refusals::{Limit, Reached};
use dsa::{Undeleted, Worker};
use env::clock::Now;
use store::Revoked;

/// Searches that are reported at a time, each by a line of its own.
const ENDED_REPORTED_MAX: usize = 8;

/// Looks after memory and reports what came of it; to be called about once a second.
pub(crate) fn look_after_memory(worker: &Worker, now: Now) {
    if let Some(notice) = worker.memory_notice(now) {
        report_limit(&notice);
    }
    let agent = worker.agent();
    if let Some(chosen) = agent.memory_not_reserved().take() {
        let in_force = agent.shard().memory_bytes_max();
        let text = "no address space is reserved for memory-max: less is in force here";
        tracing::warn!(chosen, in_force, "{text} until a start");
    }
    let ended = worker.look_after_memory(now);
    let (reported, others) = ended.split_at(ended.len().min(ENDED_REPORTED_MAX));
    reported.iter().for_each(|search| report_end(search, now));
    if !others.is_empty() {
        tracing::warn!(searches = others.len(), "others were ended for the same reason");
    }
}

/// Reports binds that failed; to be called about once a second.
pub(crate) fn report_failed_binds(worker: &Worker) {
    let Some(FailedBinds { count, name, address }) = worker.failed_binds() else { return };
    // As a value that is quoted: a name with a line break makes no line of its own.
    let peer = address.map(tracing::field::display);
    tracing::warn!(count, ?name, peer, "binds failed; the last one is named");
}

/// Reports dynamic entries that cannot be deleted although their time is over; to be called about once a second.
pub(crate) fn report_undeleted(worker: &Worker) {
    let Some(Undeleted { entries, others }) = worker.undeleted() else { return };
    for (name, reason) in entries {
        let name = String::from_utf8_lossy(&name);
        tracing::warn!(
            ?name,
            ?reason,
            "the time of a dynamic entry is over, and its delete is refused: it is tried again"
        );
    }
    if others > 0 {
        tracing::warn!(entries = others, "the same is true of other dynamic entries");
    }
}

/// Reports limits that clients have reached: a line for each limit and address in ten seconds. To be called about once a second.
pub(crate) fn report_refusals(worker: &mut Worker, now: Now) {
    worker.report_limits();
    for Reached { limit, address, count } in worker.agent().refusals().take(now.monotonic_ns) {
        let (name, peer) = (limit.name(), address.map(tracing::field::display));
        match limit {
            // That a client has nothing to ask is no fault of anybody.
            Limit::Idle => tracing::debug!(limit = name, peer, count, "a limit was reached"),
            _ => {
                tracing::warn!(limit = name, peer, count, "a limit was reached");
                let event = || Event { address, count, ..Event::of(EventKind::Limit, name.to_owned()) };
                worker.agent().events().note(event);
            }
        }
    }
}

fn report_limit(notice: &MemoryNotice) {
    let MemoryNotice { is_over, refused, used, live, held, limit } = notice;
    let text = match is_over {
        true => "memory-max is no longer reached: changes are accepted again",
        false => "memory-max is reached: changes are refused",
    };
    tracing::warn!(refused, used, live, held, limit, "{text}");
}

fn report_end(search: &Revoked, now: Now) {
    let (peer, bytes) = (search.holder.peer.map(tracing::field::display), search.bytes);
    let seconds = now.monotonic_ns.saturating_sub(search.holder.since_ns) / 1_000_000_000;
    let text = "a search was ended to free the old versions that it held";
    tracing::warn!(peer, bytes, seconds, "{text}");
}
