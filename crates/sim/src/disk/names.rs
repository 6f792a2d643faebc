//! A folder of the simulated disk: which names are seen, which are durable, and the changes between.

use env::entropy::{Entropy as _, SeededEntropy};
use std::collections::BTreeMap;

/// A folder: what is seen, what is durable, and the changes between them. Names lead to numbers of files and folders.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dir {
    pub(crate) seen: BTreeMap<String, u64>,
    pub(crate) durable: BTreeMap<String, u64>,
    pub(crate) changes: Vec<Change>,
}

#[derive(Clone, Debug)]
pub(crate) enum Change {
    Set(String, u64),
    Remove(String),
    Rename(String, String),
    /// It is durable already.
    Done,
}

impl Change {
    fn names(&self) -> impl Iterator<Item = &str> {
        let (one, other) = match self {
            Change::Set(name, _) | Change::Remove(name) => (Some(name.as_str()), None),
            Change::Rename(from, to) => (Some(from.as_str()), Some(to.as_str())),
            Change::Done => (None, None),
        };
        [one, other].into_iter().flatten()
    }

    fn apply(&self, names: &mut BTreeMap<String, u64>) {
        match self {
            Change::Set(name, file) => {
                names.insert(name.clone(), *file);
            }
            Change::Remove(name) => {
                names.remove(name);
            }
            Change::Rename(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
            Change::Done => {}
        }
    }
}

impl Dir {
    pub(crate) fn change(&mut self, change: Change) {
        change.apply(&mut self.seen);
        self.changes.push(change);
    }

    /// A new name that is durable at once, and with it what happened to that name before.
    pub(crate) fn make(&mut self, name: String, number: u64) {
        let groups = groups(&self.changes);
        let before = self.changes.iter().position(|change| change.names().any(|other| other == name));
        if let Some(group) = before.map(|at| groups[at]) {
            for (change, _) in self.changes.iter_mut().zip(&groups).filter(|(_, other)| **other == group) {
                std::mem::replace(change, Change::Done).apply(&mut self.durable);
            }
        }
        self.seen.insert(name.clone(), number);
        self.durable.insert(name, number);
    }

    /// The first `count` changes that wait become durable.
    pub(crate) fn sync(&mut self, count: usize) {
        self.changes.drain(..count).for_each(|change| change.apply(&mut self.durable));
    }

    /// Keeps a beginning of the changes; or, as some file systems do, one of its own for each group of names that renames
    /// connect.
    pub(crate) fn lose_power(&mut self, entropy: &mut SeededEntropy) {
        let changes = std::mem::take(&mut self.changes);
        let groups =
            if entropy.next_u64().is_multiple_of(2) { groups(&changes) } else { vec![0; changes.len()] };
        let mut kept = BTreeMap::new();
        for (at, group) in groups.iter().enumerate() {
            let of_group = groups.iter().filter(|other| *other == group).count();
            let left = kept.entry(group).or_insert_with(|| entropy.next_u64() as usize % (of_group + 1));
            if *left > 0 {
                *left -= 1;
                changes[at].apply(&mut self.durable);
            }
        }
        self.seen = self.durable.clone();
    }
}

/// A number for each change, the same for those whose names are connected.
fn groups(changes: &[Change]) -> Vec<usize> {
    let mut groups: Vec<usize> = Vec::new();
    let mut by_name: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, change) in changes.iter().enumerate() {
        groups.push(at);
        for name in change.names() {
            let earlier = *by_name.entry(name).or_insert(at);
            let (from, to) = (groups[earlier], groups[at]);
            groups.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
        }
    }
    groups
}
