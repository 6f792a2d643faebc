//! From events to operations: each invocation and what ends it.

use super::{Event, History, Malformed, Operation, Outcome, What};
use std::collections::BTreeMap;

impl History {
    /// Puts events in the order of their times and pairs them. Of those with the same time invocations come first, so that
    /// nobody is taken to have come before another for sure; cuts come last.
    ///
    /// # Errors
    /// When a process asks twice at a time, or is answered without having asked.
    pub fn of(mut events: Vec<Event>) -> Result<History, Malformed> {
        events.sort_by_key(|event| (event.at, rank(event.what)));
        let mut pairing = Pairing::default();
        for (place, event) in (0..).zip(events) {
            pairing.take(place, event)?;
        }
        Ok(History { operations: pairing.operations })
    }
}

fn rank(what: What) -> u8 {
    match what {
        What::Invoke => 0,
        What::Ok | What::Fail | What::Unknown => 1,
        What::Cut => 2,
    }
}

#[derive(Default)]
struct Pairing {
    operations: Vec<Operation>,
    /// What each process waits for.
    asked: BTreeMap<u32, usize>,
    /// What was given up, since the last cut.
    given_up: Vec<usize>,
}

impl Pairing {
    fn take(&mut self, place: u64, event: Event) -> Result<(), Malformed> {
        let process = event.process;
        match event.what {
            What::Invoke => {
                let (outcome, end) = (Outcome::Unknown, u64::MAX);
                let operation = Operation { process, begin: place, end, outcome, steps: event.steps };
                self.operations.push(operation);
                match self.asked.insert(process, self.operations.len() - 1) {
                    None => Ok(()),
                    Some(_) => Err(Malformed::Busy(process)),
                }
            }
            What::Cut => {
                let open = std::mem::take(&mut self.asked).into_values().chain(self.given_up.drain(..));
                open.for_each(|at| self.operations[at].end = place);
                Ok(())
            }
            What::Ok | What::Fail | What::Unknown => {
                let at = self.asked.remove(&process).ok_or(Malformed::Unasked(process))?;
                self.answer(at, place, event);
                Ok(())
            }
        }
    }

    fn answer(&mut self, at: usize, place: u64, event: Event) {
        let operation = &mut self.operations[at];
        match event.what {
            What::Ok => {
                (operation.outcome, operation.end) = (Outcome::Ok, place);
                operation.steps = event.steps;
            }
            What::Fail => (operation.outcome, operation.end) = (Outcome::Fail, place),
            _ => self.given_up.push(at),
        }
    }
}
