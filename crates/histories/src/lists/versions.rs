//! Versions of lists: which transaction wrote which element, in which order; and what is wrong without looking further.

use crate::history::{History, Operation, Outcome, Step};
use crate::verdict::{Anomaly, Finding};
use std::collections::{BTreeMap, BTreeSet};

/// All lists of a history.
pub(super) struct Versions<'h> {
    /// By name.
    pub(super) lists: BTreeMap<&'h str, List<'h>>,
    /// Has the operation with this number happened, as far as anybody could see?
    pub(super) happened: Vec<bool>,
}

/// A list.
#[derive(Default)]
pub(super) struct List<'h> {
    /// Who appended which element.
    pub(super) writers: BTreeMap<u64, usize>,
    /// The longest read.
    pub(super) order: &'h [u64],
    /// What each transaction read of what others wrote: its number, and the elements.
    pub(super) reads: Vec<(usize, &'h [u64])>,
    /// All that each read, with what it had appended itself.
    whole: Vec<(usize, &'h [u64])>,
}

impl<'h> Versions<'h> {
    /// Takes them from the reads of `history`; what is wrong with one read, or two of one list, comes into `findings`.
    pub(super) fn of(history: &'h History, findings: &mut Vec<Finding>) -> Versions<'h> {
        let mut versions = Versions {
            lists: BTreeMap::new(),
            happened: history.operations.iter().map(|o| o.outcome == Outcome::Ok).collect(),
        };
        versions.collect_writers(history, findings);
        for (number, operation) in history.operations.iter().enumerate() {
            if operation.outcome == Outcome::Ok {
                versions.collect_reads(number, operation, findings);
            }
        }
        for (name, list) in &mut versions.lists {
            list.choose_order(name, findings);
            list.check_elements(name, history, findings);
        }
        versions.find_happened();
        versions
    }

    fn collect_writers(&mut self, history: &'h History, findings: &mut Vec<Finding>) {
        for (number, operation) in history.operations.iter().enumerate() {
            for step in &operation.steps {
                let Step::Append { list, element } = step else { continue };
                let writers = &mut self.lists.entry(list).or_default().writers;
                if writers.insert(*element, number).is_some() {
                    let text = format!("{list}: {element} is appended twice: no history for this check");
                    findings.push(Finding::new(Anomaly::Twice, text));
                }
            }
        }
    }

    /// Takes the reads of an operation. What it appended itself it must have read after that, and nothing else new.
    fn collect_reads(&mut self, number: usize, operation: &'h Operation, findings: &mut Vec<Finding>) {
        // Of each list: what others wrote, if it was read, and what this one appended.
        let mut known: BTreeMap<&str, (Option<&'h [u64]>, Vec<u64>)> = BTreeMap::new();
        for step in &operation.steps {
            match step {
                Step::Append { list, element } => known.entry(list).or_default().1.push(*element),
                Step::List { list, elements: Some(elements) } => {
                    let (others, own) = known.entry(list).or_default();
                    let split = elements.len().checked_sub(own.len());
                    let split = split.filter(|split| elements[*split..] == own[..]);
                    let agrees =
                        split.filter(|split| others.is_none_or(|others| *others == elements[..*split]));
                    let Some(split) = agrees else {
                        let text = format!(
                            "{list}: operation {number} read {elements:?} after {others:?} and its own {own:?}"
                        );
                        findings.push(Finding::new(Anomaly::Internal, text));
                        continue;
                    };
                    let entry = self.lists.entry(list).or_default();
                    if others.replace(&elements[..split]).is_none() {
                        entry.reads.push((number, &elements[..split]));
                    }
                    entry.whole.push((number, elements));
                    if elements.len() > entry.order.len() {
                        entry.order = elements;
                    }
                }
                _ => {}
            }
        }
    }

    /// What was seen has happened, whatever its client was answered.
    fn find_happened(&mut self) {
        for list in self.lists.values() {
            for writer in list.order.iter().filter_map(|element| list.writers.get(element)) {
                self.happened[*writer] = true;
            }
        }
    }
}

impl<'h> List<'h> {
    /// Every read must be a beginning of the longest.
    fn choose_order(&mut self, name: &str, findings: &mut Vec<Finding>) {
        let order = self.order;
        let wrong = self.whole.iter().find(|(_, read)| !order.starts_with(read));
        if let Some((number, read)) = wrong {
            let text = format!("{name}: operation {number} read {read:?}, another one {order:?}");
            findings.push(Finding::new(Anomaly::IncompatibleOrder, text));
        }
        // What follows speaks of those that agree.
        self.reads.retain(|(_, read)| order.starts_with(read));
    }

    fn check_elements(&self, name: &str, history: &History, findings: &mut Vec<Finding>) {
        let mut seen = BTreeSet::new();
        for element in self.order {
            if !seen.insert(element) {
                findings.push(Finding::new(Anomaly::Twice, format!("{name}: {element} is there twice")));
            }
            let anomaly = match self.writers.get(element) {
                None => Anomaly::Unwritten,
                Some(writer) if history.operations[*writer].outcome == Outcome::Fail => Anomaly::G1a,
                Some(_) => continue,
            };
            findings.push(Finding::new(anomaly, format!("{name}: element {element} was read")));
        }
        for (number, read) in &self.reads {
            let Some((writer, last)) = read.last().and_then(|last| Some((*self.writers.get(last)?, *last)))
            else {
                continue;
            };
            if writer != *number && last_of(&history.operations[writer], name) != Some(last) {
                let text = format!(
                    "{name}: operation {number} read up to {last}, after which operation {writer} goes on"
                );
                findings.push(Finding::new(Anomaly::G1b, text));
            }
        }
    }

    /// Those who appended what no read has, and have happened all the same.
    pub(super) fn unseen<'a>(&'a self, happened: &'a [bool]) -> impl Iterator<Item = usize> + 'a {
        let seen: BTreeSet<&u64> = self.order.iter().collect();
        let unseen = self.writers.iter().filter(move |(element, _)| !seen.contains(element));
        unseen.map(|(_, writer)| *writer).filter(|writer| happened[*writer])
    }
}

/// The last element that an operation appends to a list.
fn last_of(operation: &Operation, name: &str) -> Option<u64> {
    let mut elements = operation.steps.iter().filter_map(|step| match step {
        Step::Append { list, element } if list == name => Some(*element),
        _ => None,
    });
    elements.next_back()
}
