//! Definitions by OID and by name while a schema is built.

use super::Fault;
use crate::names::nearest;
use crate::published::short_oid;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Unknown names for which is looked what may be meant: each costs a look at every name.
const NEAREST_MAX: usize = 100;

/// A definition and where it is.
pub(super) struct Placed<D> {
    pub(super) definition: D,
    pub(super) file: Arc<str>,
    pub(super) line: usize,
}

/// What was found wrong so far.
pub(super) struct Report {
    pub(super) faults: Vec<Fault>,
    pub(super) warnings: Vec<Fault>,
    /// Unknown names that were looked at for what may be meant.
    pub(super) unknown: usize,
}

impl Report {
    pub(super) fn fault<D>(&mut self, placed: &Placed<D>, message: impl Into<String>) {
        self.faults.push(Fault { file: placed.file.clone(), line: placed.line, message: message.into() });
    }

    pub(super) fn warn<D>(&mut self, placed: &Placed<D>, message: String) {
        self.warnings.push(Fault { file: placed.file.clone(), line: placed.line, message });
    }

    /// Says that a name is not defined, and which one may be meant.
    pub(super) fn undefined<'n, D>(
        &mut self,
        placed: &Placed<D>,
        what: &str,
        word: &str,
        names: impl Iterator<Item = &'n str>,
    ) {
        self.unknown += 1;
        let meant = if self.unknown <= NEAREST_MAX { nearest(word, names) } else { None };
        let hint = meant.map_or(String::new(), |meant| format!("; did you mean '{meant}'?"));
        self.fault(placed, format!("{what} '{word}' is not defined{hint}"));
    }
}

/// Definitions by OID; a later file replaces, the same file may not.
pub(super) struct Table<D> {
    pub(super) list: Vec<Placed<D>>,
    /// What was replaced, with the position of what stands for it.
    pub(super) replaced: Vec<(usize, Placed<D>)>,
    by_oid: BTreeMap<String, usize>,
    /// Lower case names and OIDs.
    by_name: BTreeMap<String, usize>,
}

impl<D> Default for Table<D> {
    fn default() -> Table<D> {
        Table { list: Vec::new(), replaced: Vec::new(), by_oid: BTreeMap::new(), by_name: BTreeMap::new() }
    }
}

impl<D> Table<D> {
    /// Takes a definition in; says why not.
    pub(super) fn add(&mut self, oid: String, placed: Placed<D>) -> Result<(), String> {
        let key = known_as(&oid);
        match self.by_oid.get(&key) {
            None => {
                self.by_oid.insert(key, self.list.len());
                self.list.push(placed);
            }
            Some(at) if self.list[*at].file == placed.file => {
                return Err(format!("{oid} is defined twice, first at line {}", self.list[*at].line));
            }
            Some(at) => {
                let former = std::mem::replace(&mut self.list[*at], placed);
                self.replaced.push((*at, former));
            }
        }
        assert_eq!(
            self.by_oid.len(),
            self.list.len(),
            "each definition has one OID, each OID one definition"
        );
        Ok(())
    }

    /// Fills the index of names; says which names have two owners.
    pub(super) fn index(&mut self, names: fn(&D) -> &Vec<String>) -> Vec<Fault> {
        let mut clashes = Vec::new();
        assert!(self.by_name.is_empty(), "names are indexed once, when all definitions are there");
        self.by_name = self.by_oid.clone();
        for (at, placed) in self.list.iter().enumerate() {
            for name in names(&placed.definition) {
                match self.by_name.insert(name.to_ascii_lowercase(), at) {
                    Some(other) if other != at => {
                        let other = &self.list[other];
                        let message = format!("the name '{name}' is taken at {}:{}", other.file, other.line);
                        clashes.push(Fault { file: placed.file.clone(), line: placed.line, message });
                    }
                    _ => {}
                }
            }
        }
        clashes
    }

    /// Position of the definition with this name or OID.
    pub(super) fn find(&self, word: &str) -> Option<usize> {
        self.by_name.get(&known_as(&word.to_ascii_lowercase())).copied()
    }

    /// All names, for what might have been meant.
    pub(super) fn names(&self, of: fn(&D) -> &Vec<String>) -> impl Iterator<Item = &str> {
        self.list.iter().flat_map(move |p| of(&p.definition)).map(String::as_str)
    }
}

/// The OID that stands for this one, where two stand for the same: what was published can be read again.
fn known_as(oid: &str) -> String {
    short_oid(oid).unwrap_or_else(|| oid.to_owned())
}
