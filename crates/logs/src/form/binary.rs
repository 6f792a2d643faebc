//! Records as they are, for a log under full load: `pando log cat` makes lines of them.

use crate::frame::put;
use crate::line::{Lines, Operation, Origin, Outcome, Place};
use crate::record::{Record, Stamp};
use proto::tag;

/// The form.
#[derive(Debug)]
pub(super) struct Binary {
    origin: Origin,
}

impl Binary {
    pub(super) fn new(origin: Origin) -> Binary {
        Binary { origin }
    }
}

/// A stamp of what has no time on the clock of a thread.
fn stamp(connection: u64, wall_ms: u64) -> Stamp {
    Stamp { connection, wall_ms, monotonic_ns: 0 }
}

impl Lines for Binary {
    fn header(&self, out: &mut Vec<u8>) {
        let Origin { started_ms, process, host, version } = &self.origin;
        let (process, host, version) = (*process, host.as_bytes(), version.as_bytes());
        put(stamp(0, *started_ms), &Record::Begin { process, host, version }, out);
    }

    fn begins_late(&self) -> bool {
        false
    }

    fn begin(&self, place: Place<'_>, out: &mut Vec<u8>) {
        let open = place.open;
        let [peer, listener, via] = [&open.peer, &open.listener, &open.via].map(|text| text.as_bytes());
        put(stamp(place.connection, open.began_ms), &Record::Open { peer, listener, via }, out);
        if open.strength > 0 {
            self.secured(open.began_ms, place, out);
        }
    }

    fn secured(&self, wall_ms: u64, place: Place<'_>, out: &mut Vec<u8>) {
        let strength = place.open.strength;
        let [version, suite] = [&place.open.version, &place.open.suite].map(|text| text.as_bytes());
        put(stamp(place.connection, wall_ms), &Record::Secured { strength, version, suite }, out);
    }

    fn operation(&self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        let Operation { place, pending, outcome, ended_ms, .. } = operation;
        let came = Stamp { monotonic_ns: pending.began_ns, ..stamp(place.connection, pending.wall_ms) };
        put(came, &pending.record(), out);
        let Some(outcome) = outcome else { return };
        let ended = Stamp {
            monotonic_ns: pending.began_ns.saturating_add(outcome.ns),
            ..stamp(place.connection, *ended_ms)
        };
        if let (tag::BIND, Some(dn)) = (pending.op, &pending.becomes) {
            put(ended, &Record::Bound { id: pending.id, dn }, out);
        }
        let Outcome { code, text, entries, bytes, annotation, .. } = *outcome;
        put(ended, &Record::Answer { id: pending.id, code, text, entries, bytes, annotation }, out);
    }

    fn end(&self, wall_ms: u64, place: Place<'_>, out: &mut Vec<u8>) {
        let ended = stamp(place.connection, wall_ms);
        for (&op, &count) in &place.open.counted {
            put(ended, &Record::Counted { op, count }, out);
        }
        put(ended, &Record::Close { operations: place.open.operations }, out);
    }

    fn lost(&self, wall_ms: u64, count: u64, out: &mut Vec<u8>) {
        put(stamp(0, wall_ms), &Record::Lost { count }, out);
    }
}
