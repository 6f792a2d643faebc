//! What one client asked for and was answered, with the time of each.

use super::client::Lost;
use super::cut_at;
use env::clock::{Clock as _, SystemClock};
use histories::{Event, Step, What};
use std::sync::atomic::{AtomicU32, Ordering};

/// Events, by what they tell of.
#[derive(Debug, Default)]
pub(super) struct Tape {
    pub(super) registers: Vec<Event>,
    pub(super) lists: Vec<Event>,
    pub(super) transfers: Vec<Event>,
}

impl Tape {
    /// Adds those of another.
    pub(super) fn extend(&mut self, more: Tape) {
        self.registers.extend(more.registers);
        self.lists.extend(more.lists);
        self.transfers.extend(more.transfers);
    }

    /// The server has ended.
    pub(super) fn cut(&mut self, clock: &SystemClock) {
        for events in [&mut self.registers, &mut self.lists, &mut self.transfers] {
            events.push(cut_at(clock.monotonic_ns()));
        }
    }

    fn of(&mut self, steps: &[Step]) -> &mut Vec<Event> {
        match steps.first() {
            Some(Step::Append { .. } | Step::List { .. }) => &mut self.lists,
            Some(Step::Transfer { .. } | Step::Scan { .. }) => &mut self.transfers,
            _ => &mut self.registers,
        }
    }
}

/// Records one client, which does one thing at a time.
pub(super) struct Recorder<'a> {
    clock: &'a SystemClock,
    processes: &'a AtomicU32,
    process: u32,
    asked: Vec<Step>,
    tape: Tape,
}

impl<'a> Recorder<'a> {
    /// Records a new process.
    pub(super) fn new(clock: &'a SystemClock, processes: &'a AtomicU32) -> Recorder<'a> {
        let process = processes.fetch_add(1, Ordering::Relaxed);
        Recorder { clock, processes, process, asked: Vec::new(), tape: Tape::default() }
    }

    /// It is about to ask for this.
    pub(super) fn invoke(&mut self, steps: &[Step]) {
        self.asked = steps.to_vec();
        self.push(What::Invoke, steps.to_vec());
    }

    /// It was answered that this happened.
    pub(super) fn ok(&mut self, steps: Vec<Step>) {
        self.push(What::Ok, steps);
    }

    /// It was answered that it did not happen.
    pub(super) fn fail(&mut self) {
        self.push(What::Fail, self.asked.clone());
    }

    /// There is no answer that tells what happened: it goes on as another process. Who is busy has done nothing.
    pub(super) fn lost(&mut self, why: &Lost) {
        if matches!(why, Lost::Busy) {
            return self.fail();
        }
        self.push(What::Unknown, self.asked.clone());
        self.process = self.processes.fetch_add(1, Ordering::Relaxed);
    }

    /// All that was recorded.
    pub(super) fn into_tape(self) -> Tape {
        self.tape
    }

    fn push(&mut self, what: What, steps: Vec<Step>) {
        let (at, process) = (self.clock.monotonic_ns(), self.process);
        self.tape.of(&self.asked).push(Event { at, process, what, steps });
    }
}
