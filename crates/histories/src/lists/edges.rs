//! Which transaction came before which, and how that is known.

use super::versions::{List, Versions};
use crate::history::History;

/// How it is known that one came before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Wrote the version before.
    Ww,
    /// Wrote what was read.
    Wr,
    /// Read what was written over.
    Rw,
    /// Had ended before it began.
    Rt,
}

/// One came before another.
#[derive(Clone, Debug)]
pub(super) struct Edge<'h> {
    pub(super) to: usize,
    pub(super) kind: Kind,
    /// The list that tells so; empty for times.
    pub(super) list: &'h str,
}

/// Operations by number, and what came after each.
pub(super) struct Graph<'h> {
    pub(super) edges: Vec<Vec<Edge<'h>>>,
    /// Begin and end of each. Those of them that follow from other edges of times have none of their own.
    pub(super) spans: Vec<(u64, u64)>,
}

impl<'h> Graph<'h> {
    pub(super) fn of(history: &History, versions: &Versions<'h>) -> Graph<'h> {
        let spans: Vec<(u64, u64)> = history.operations.iter().map(|o| (o.begin, o.end)).collect();
        let mut graph = Graph { edges: vec![Vec::new(); spans.len()], spans };
        for (name, list) in &versions.lists {
            graph.add_list(name, list, &versions.happened);
        }
        graph.add_times(history, &versions.happened);
        graph
    }

    fn add(&mut self, from: usize, to: usize, kind: Kind, list: &'h str) {
        let known = |edge: &Edge<'_>| edge.to == to && edge.kind == kind;
        if from != to && !self.edges[from].iter().any(known) {
            self.edges[from].push(Edge { to, kind, list });
        }
    }

    fn add_list(&mut self, name: &'h str, list: &List<'h>, happened: &[bool]) {
        let writer = |at: usize| list.order.get(at).and_then(|element| list.writers.get(element).copied());
        let unseen: Vec<usize> = list.unseen(happened).collect();
        for at in 1..list.order.len() {
            if let (Some(before), Some(after)) = (writer(at - 1), writer(at)) {
                self.add(before, after, Kind::Ww, name);
            }
        }
        // What nobody has read came after all that was.
        if let Some(last) = list.order.len().checked_sub(1).and_then(writer) {
            unseen.iter().for_each(|after| self.add(last, *after, Kind::Ww, name));
        }
        for (reader, read) in &list.reads {
            if let Some(before) = read.len().checked_sub(1).and_then(writer) {
                self.add(before, *reader, Kind::Wr, name);
            }
            match writer(read.len()) {
                Some(after) => self.add(*reader, after, Kind::Rw, name),
                None => unseen.iter().for_each(|after| self.add(*reader, *after, Kind::Rw, name)),
            }
        }
    }

    /// Of those that ended before one began, it is enough to name those that no other of them came after.
    fn add_times(&mut self, history: &History, happened: &[bool]) {
        let mut moments: Vec<(u64, bool, usize)> = Vec::new();
        for (number, operation) in history.operations.iter().enumerate().filter(|(n, _)| happened[*n]) {
            moments.push((operation.begin, false, number));
            moments.push((operation.end, true, number));
        }
        moments.sort_unstable();
        let mut ended: Vec<usize> = Vec::new();
        for (at, is_end, number) in moments {
            match is_end {
                _ if at == u64::MAX => {}
                false => ended.iter().for_each(|before| self.add(*before, number, Kind::Rt, "")),
                true => {
                    let begin = history.operations[number].begin;
                    ended.retain(|before| history.operations[*before].end > begin);
                    ended.push(number);
                }
            }
        }
    }
}
