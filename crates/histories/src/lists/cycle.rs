//! Cycles of a graph: its strongly connected components (Tarjan 1972, without recursion), and a shortest cycle of one.

use super::edges::{Edge, Graph, Kind};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Components from which so many operations are tried as the begin of a shortest cycle.
const BEGINS_MAX: usize = 500;

/// Operations of a cycle, each with the edge to the next; the last one's leads to the first.
pub(super) type Cycle<'h> = Vec<(usize, Edge<'h>)>;

/// All components of more than one operation, by the edges of these kinds.
pub(super) fn components(graph: &Graph<'_>, kinds: &[Kind]) -> Vec<Vec<usize>> {
    let mut walk = Walk::new(graph.edges.len());
    for root in 0..graph.edges.len() {
        if walk.number[root] == 0 {
            walk.from(root, graph, kinds);
        }
    }
    walk.found
}

struct Walk {
    /// Order of the first visit, from 1.
    number: Vec<usize>,
    /// Lowest number that can be reached.
    low: Vec<usize>,
    open: Vec<usize>,
    is_open: Vec<bool>,
    visited: usize,
    found: Vec<Vec<usize>>,
}

impl Walk {
    fn new(len: usize) -> Walk {
        let (number, low, is_open) = (vec![0; len], vec![0; len], vec![false; len]);
        Walk { number, low, open: Vec::new(), is_open, visited: 0, found: Vec::new() }
    }

    fn visit(&mut self, at: usize) {
        self.visited += 1;
        (self.number[at], self.low[at], self.is_open[at]) = (self.visited, self.visited, true);
        self.open.push(at);
    }

    fn from(&mut self, root: usize, graph: &Graph<'_>, kinds: &[Kind]) {
        // Where the walk is, and the next edge to look at there.
        let mut path = vec![(root, 0)];
        self.visit(root);
        while let Some((at, next)) = path.last_mut() {
            let at = *at;
            let Some(edge) = graph.edges[at].get(*next) else {
                path.pop();
                if let Some((above, _)) = path.last() {
                    self.low[*above] = self.low[*above].min(self.low[at]);
                }
                self.close(at);
                continue;
            };
            *next += 1;
            if !kinds.contains(&edge.kind) {
                continue;
            }
            if self.number[edge.to] == 0 {
                self.visit(edge.to);
                path.push((edge.to, 0));
            } else if self.is_open[edge.to] {
                self.low[at] = self.low[at].min(self.number[edge.to]);
            }
        }
    }

    /// All that can be reached from `at` was seen: is it the begin of a component?
    fn close(&mut self, at: usize) {
        if self.low[at] != self.number[at] {
            return;
        }
        let begin = self.open.iter().rposition(|open| *open == at).expect("it is open");
        let component = self.open.split_off(begin);
        component.iter().for_each(|member| self.is_open[*member] = false);
        if component.len() > 1 {
            self.found.push(component);
        }
    }
}

/// A shortest cycle in a component by edges of these kinds; with `once`, one that has exactly one edge of that kind besides.
pub(super) fn shortest<'h>(
    graph: &Graph<'h>,
    component: &[usize],
    kinds: &[Kind],
    once: Option<Kind>,
) -> Option<Cycle<'h>> {
    let members: BTreeSet<usize> = component.iter().copied().collect();
    let mut best: Option<Cycle<'h>> = None;
    for begin in component.iter().take(BEGINS_MAX) {
        let firsts = graph.edges[*begin].iter().filter(|edge| match once {
            Some(kind) => edge.kind == kind,
            None => kinds.contains(&edge.kind),
        });
        for first in firsts.filter(|edge| members.contains(&edge.to)) {
            let bound = best.as_ref().map_or(usize::MAX, Vec::len);
            if let Some(rest) = path(graph, first.to, *begin, kinds, bound - 1) {
                best = Some(std::iter::once((*begin, first.clone())).chain(rest).collect());
            }
        }
    }
    best
}

/// A shortest path of less than `bound` edges. Its last edge may be one of times that the graph leaves out.
fn path<'h>(graph: &Graph<'h>, from: usize, to: usize, kinds: &[Kind], bound: usize) -> Option<Cycle<'h>> {
    let mut came: BTreeMap<usize, (usize, &Edge<'h>)> = BTreeMap::new();
    let mut queue = VecDeque::from([(from, 1)]);
    while let Some((at, len)) = queue.pop_front() {
        if len >= bound {
            break;
        }
        let edges = || graph.edges[at].iter().filter(|edge| kinds.contains(&edge.kind));
        let last = edges().find(|edge| edge.to == to).cloned();
        let in_time = || kinds.contains(&Kind::Rt) && graph.spans[at].1 < graph.spans[to].0;
        if let Some(last) = last.or_else(|| in_time().then_some(Edge { to, kind: Kind::Rt, list: "" })) {
            return Some(walked(&came, from, (at, last)));
        }
        for edge in edges() {
            if edge.to != from && !came.contains_key(&edge.to) {
                came.insert(edge.to, (at, edge));
                queue.push_back((edge.to, len + 1));
            }
        }
    }
    None
}

/// The way from `from` to the last edge.
fn walked<'h>(came: &BTreeMap<usize, (usize, &Edge<'h>)>, from: usize, last: (usize, Edge<'h>)) -> Cycle<'h> {
    let (mut at, mut back) = (last.0, vec![last]);
    while at != from {
        let (before, edge) = came[&at];
        back.push((before, edge.clone()));
        at = before;
    }
    back.reverse();
    back
}
