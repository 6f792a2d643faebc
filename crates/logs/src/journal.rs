//! From records to lines: requests are brought together with their answers, and with who asked.

use crate::form::Form;
use crate::frame;
use crate::hide::Values;
use crate::line::{Lines, Operation, Origin, Outcome, Place};
use crate::open::{Open, Pending, Slots};
use crate::record::{Record, Stamp};
use crate::redact::{self, Redactor};
use crate::sample::{self, Sample};
use proto::tag;
use std::collections::BTreeMap;

/// Connections that are known at the same time. Where records of their ends were lost, these would be more and more.
const CONNECTIONS_MAX: usize = 1 << 18;
/// Requests that are over whose memory is kept for the next.
const SPARE_MAX: usize = 1024;
/// Which operations have a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// None; the log is off.
    #[default]
    Off,
    /// Binds, updates, failures, slow ones, and one in so many others; the rest is counted.
    Sample,
    /// All.
    All,
}

/// The access log.
#[derive(Debug)]
pub struct Journal {
    access: Access,
    form: Form,
    origin: Origin,
    lines: Box<dyn Lines>,
    connections: BTreeMap<u64, Open>,
    slots: Slots,
    sample: Sample,
    /// None where records come without secrets.
    redactor: Option<Redactor>,
    #[expect(clippy::vec_box, reason = "they come from and go to the maps of connections")]
    spare: Vec<Box<Pending>>,
}

impl Journal {
    /// A log that begins.
    pub fn new(access: Access, form: Form, origin: Origin) -> Journal {
        Journal {
            access,
            form,
            lines: form.lines(origin.clone(), access == Access::All),
            origin,
            connections: BTreeMap::new(),
            slots: Slots::default(),
            sample: Sample::default(),
            redactor: None,
            spare: Vec::new(),
        }
    }

    /// The same of records that may have secrets, which come into no line.
    #[must_use]
    pub fn redacted_by(self, redactor: Redactor) -> Journal {
        Journal { redactor: Some(redactor), ..self }
    }

    /// These operations have lines from now on.
    pub fn choose_access(&mut self, access: Access) {
        if access != self.access {
            self.access = access;
            self.lines = self.form.lines(self.origin.clone(), access == Access::All);
        }
    }

    /// Records may have these values in lines from now on.
    pub fn choose_values(&mut self, values: Values) {
        self.redactor.iter_mut().for_each(|redactor| redactor.choose(values));
    }

    /// Appends what a file begins with.
    pub fn header(&self, out: &mut Vec<u8>) {
        self.lines.header(out);
    }

    /// Takes a record and appends the lines that it makes complete. What has no line is not looked through for secrets: in a sample
    /// that is nearly all, and it would cost more than all else here.
    pub fn take(&mut self, stamp: Stamp, record: Record<'_>, out: &mut Vec<u8>) {
        // Under full load nothing is brought together that a reader can bring together.
        if (self.form, self.access) == (Form::Binary, Access::All) {
            let record = match &mut self.redactor {
                Some(redactor) => redactor.redact(record),
                None => record,
            };
            return frame::put(stamp, &record, out);
        }
        match record {
            Record::Open { peer, listener, via } => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                self.make_room();
                let mut open = Open::new(text(peer), text(listener), stamp.wall_ms, self.slots.take());
                open.via = text(via);
                self.connections.insert(stamp.connection, open);
                if self.access == Access::All && !self.lines.begins_late() {
                    self.begin(stamp, out);
                }
            }
            Record::Secured { strength, version, suite } => {
                self.secured(stamp, strength, [version, suite], out);
            }
            Record::Request { .. } => self.request(stamp, &record, out),
            // No request has this messageID: the session was somebody before the log had it.
            Record::Bound { id: 0, dn } => {
                self.connection(stamp).dn = String::from_utf8_lossy(dn).into_owned();
            }
            Record::Bound { id, dn } => self.connection(stamp).bound(id, dn),
            Record::Answer { id, code, text, entries, bytes, annotation } => {
                let Some(pending) = self.connection(stamp).take(id) else { return };
                let ns = stamp.monotonic_ns.saturating_sub(pending.began_ns);
                self.finish(
                    stamp,
                    pending,
                    Some(Outcome { code, text, entries, bytes, ns, annotation }),
                    out,
                );
            }
            Record::Close { operations } => self.close(stamp, operations, out),
            Record::Begin { process, host, version } => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let (host, version, started_ms) = (text(host), text(version), stamp.wall_ms);
                self.restart(Origin { started_ms, process, host, version }, out);
            }
            Record::Counted { op, count } => {
                *self.connection(stamp).counted.entry(op).or_default() += count;
            }
            Record::Lost { count } => self.lost(stamp.wall_ms, count, out),
        }
    }

    /// What follows is of another process, unless it is the same. Connections of the one before ended when it did, and nobody has seen how.
    fn restart(&mut self, origin: Origin, out: &mut Vec<u8>) {
        if origin != self.origin {
            self.finish_all(out);
            self.connections.clear();
            self.slots = Slots::default();
            self.lines = self.form.lines(origin.clone(), self.access == Access::All);
            self.origin = origin;
            self.header(out);
        }
    }

    /// No more records come: what was not answered has its line.
    pub fn finish_all(&mut self, out: &mut Vec<u8>) {
        let connections: Vec<u64> = self.connections.keys().copied().collect();
        for connection in connections {
            let stamp = |wall_ms| Stamp { connection, wall_ms, monotonic_ns: 0 };
            while let Some(pending) = self.connection(stamp(0)).take_any() {
                self.finish(stamp(pending.wall_ms), pending, None, out);
            }
        }
    }

    /// Appends a line that tells how many records were lost, because they came faster than lines are written.
    pub fn lost(&self, wall_ms: u64, count: u64, out: &mut Vec<u8>) {
        self.lines.lost(wall_ms, count, out);
    }

    /// Forgets the oldest connections where there are more than a server has: their ends were lost.
    fn make_room(&mut self) {
        while self.connections.len() >= CONNECTIONS_MAX
            && let Some((_, open)) = self.connections.pop_first()
        {
            self.slots.give_back(open.slot);
        }
    }

    /// The connection of a record. If the record of its begin was lost, not much is known of it.
    fn connection(&mut self, stamp: Stamp) -> &mut Open {
        if !self.connections.contains_key(&stamp.connection) {
            self.make_room();
        }
        let Journal { connections, slots, .. } = self;
        let lost = || Open::new(String::new(), String::new(), stamp.wall_ms, slots.take());
        connections.entry(stamp.connection).or_insert_with(lost)
    }

    /// The connection has a line that it has begun, once.
    fn begin(&mut self, stamp: Stamp, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.connection(stamp).has_begun, true) {
            self.with_place(stamp, |lines, place| lines.begin(place, out));
        }
    }

    fn with_place(&self, stamp: Stamp, mut put: impl FnMut(&dyn Lines, Place<'_>)) {
        if let Some(open) = self.connections.get(&stamp.connection) {
            put(&*self.lines, Place { connection: stamp.connection, open });
        }
    }

    fn secured(&mut self, stamp: Stamp, strength: u16, words: [&[u8]; 2], out: &mut Vec<u8>) {
        let open = self.connection(stamp);
        // Who the client was on an open wire counts no more.
        (open.strength, open.dn, open.mechanism) = (strength, String::new(), String::new());
        [open.version, open.suite] = words.map(|word| String::from_utf8_lossy(word).into_owned());
        if open.has_begun {
            self.with_place(stamp, |lines, place| lines.secured(stamp.wall_ms, place, out));
        }
    }

    fn request(&mut self, stamp: Stamp, record: &Record<'_>, out: &mut Vec<u8>) {
        let Record::Request { number, id, op, target, detail, controls, acting, extra } = *record else {
            return;
        };
        let mut pending = self.spare.pop().unwrap_or_default();
        (pending.number, pending.id, pending.op) = (number, id, op);
        (pending.wall_ms, pending.began_ns) = (stamp.wall_ms, stamp.monotonic_ns);
        pending.becomes = None;
        pending.wait_us = extra.wait_us;
        pending.put_texts([target, detail, controls, acting, extra.transaction, extra.session]);
        let open = self.connection(stamp);
        open.operations = number;
        open.has_unbound |= op == tag::UNBIND;
        // What has no answer is over.
        if tag::response_to(op).is_none() {
            return self.finish(stamp, pending, None, out);
        }
        if let Some(given_up) = open.keep(pending) {
            *open.counted.entry(given_up.op).or_default() += 1;
        }
    }

    /// An operation is over: it has a line, or is counted.
    fn finish(
        &mut self,
        stamp: Stamp,
        mut pending: Box<Pending>,
        mut outcome: Option<Outcome<'_>>,
        out: &mut Vec<u8>,
    ) {
        let was_bound = pending.op == tag::BIND && !self.connection(stamp).dn.is_empty();
        if pending.op == tag::BIND {
            self.bound(stamp, &pending, outcome.map(|outcome| outcome.code));
        }
        if !self.has_line(stamp, &pending, outcome.as_ref()) {
            *self.connection(stamp).counted.entry(pending.op).or_default() += 1;
            return self.spare(pending);
        }
        if let Some(redactor) = &mut self.redactor {
            pending.redact(redactor);
            if let Some(Outcome { code, text, .. }) = &mut outcome {
                *text = redact::text(*code, text);
            }
        }
        self.begin(stamp, out);
        let ended_ms = stamp.wall_ms;
        self.with_place(stamp, |lines, place| {
            lines.operation(&Operation { place, pending: &pending, outcome, ended_ms, was_bound }, out);
        });
        self.spare(pending);
    }

    /// A request is over.
    fn spare(&mut self, pending: Box<Pending>) {
        if self.spare.len() < SPARE_MAX {
            self.spare.push(pending);
        }
    }

    fn has_line(&mut self, stamp: Stamp, pending: &Pending, outcome: Option<&Outcome<'_>>) -> bool {
        match outcome {
            _ if self.access == Access::All => true,
            Some(outcome) if outcome.annotation.is_unindexed => true,
            Some(Outcome { code, ns, .. }) if sample::is_ordinary(pending.op, *code, *ns) => {
                self.sample.takes(stamp.wall_ms)
            }
            Some(_) => true,
            // A connection ended before it was answered; or it is no operation.
            None => pending.op == 0 || tag::response_to(pending.op).is_some(),
        }
    }

    /// A bind is over: the session is somebody, or nobody.
    fn bound(&mut self, stamp: Stamp, pending: &Pending, code: Option<u16>) {
        /// Of a step of SASL that asks for another.
        const IN_PROGRESS: u16 = 14;
        let became = pending.becomes.as_deref().filter(|_| code == Some(0));
        let dn = became.map(|dn| String::from_utf8_lossy(dn).into_owned()).unwrap_or_default();
        let mechanism = match became {
            Some(_) if pending.is_sasl() => String::from_utf8_lossy(&pending.detail).into_owned(),
            _ => String::new(),
        };
        let open = self.connection(stamp);
        if code != Some(IN_PROGRESS) || !open.dn.is_empty() {
            (open.dn, open.mechanism) = (dn, mechanism);
        }
    }

    /// A connection is over: what was not answered has its line, what has none is counted.
    fn close(&mut self, stamp: Stamp, operations: u64, out: &mut Vec<u8>) {
        while let Some(pending) = self.connection(stamp).take_any() {
            self.finish(stamp, pending, None, out);
        }
        let open = self.connection(stamp);
        open.operations = operations;
        if !open.counted.is_empty() || self.access == Access::All {
            self.begin(stamp, out);
        }
        if self.connection(stamp).has_begun {
            self.with_place(stamp, |lines, place| lines.end(stamp.wall_ms, place, out));
        }
        if let Some(open) = self.connections.remove(&stamp.connection) {
            self.slots.give_back(open.slot);
        }
    }
}

#[cfg(test)]
mod tests;
