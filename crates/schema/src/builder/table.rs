//! Definitions by OID and by name while a schema is built.

use super::{Fault, RECORDED};
use crate::builtin;
use crate::definition::AttributeTypeDefinition;
use crate::names::nearest;
use crate::published::short_oid;
use crate::{AttributeType, Rule};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Attributes of changes that files of other servers have with fewer rules: changeType, changes, deleteOldRDN and changeTime.
const CHANGE_LOG: [&str; 4] = [
    "2.16.840.1.113730.3.1.7",
    "2.16.840.1.113730.3.1.8",
    "2.16.840.1.113730.3.1.10",
    "2.16.840.1.113730.3.1.77",
];
/// OIDs of memberOf and isMemberOf.
pub(super) const MEMBER_OF: [&str; 2] = ["1.2.840.113556.1.2.102", "1.3.6.1.4.1.42.2.27.9.1.792"];
/// Types or classes that one is derived from, near and far. With more of them the work grows with the square of their number.
pub(super) const SUPERIORS_MAX: usize = 250;

/// Unknown names for which is looked what may be meant: each costs a look at every name.
const NEAREST_MAX: usize = 100;

/// A definition and where it is.
pub(super) struct Placed<D> {
    pub(super) definition: D,
    /// Its place is all that is left of it.
    pub(super) is_removed: bool,
    pub(super) file: Arc<str>,
    pub(super) line: usize,
}

impl<D> Placed<D> {
    pub(super) fn of(definition: D, file: &Arc<str>, line: usize) -> Placed<D> {
        Placed { definition, is_removed: false, file: file.clone(), line }
    }
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
        debug_assert!(
            self.by_oid.values().all(|at| !self.list[*at].is_removed),
            "each definition has one OID, each OID one definition"
        );
        Ok(())
    }

    /// Puts another definition in the place of that with this OID.
    pub(super) fn change(&mut self, oid: &str, placed: Placed<D>) -> Result<(), String> {
        let at = self.by_oid.get(&known_as(oid)).ok_or_else(|| format!("{oid} is not defined"))?;
        self.list[*at] = placed;
        Ok(())
    }

    /// Takes the definition with this OID out, and leaves its place.
    pub(super) fn retire(&mut self, oid: &str) -> Result<(), String> {
        let at = self.by_oid.remove(&known_as(oid)).ok_or_else(|| format!("{oid} is not defined"))?;
        self.list[at].is_removed = true;
        Ok(())
    }

    /// Takes the definition with this OID out, and its place.
    pub(super) fn remove(&mut self, oid: &str) -> Result<(), String> {
        let at = self.by_oid.remove(&known_as(oid)).ok_or_else(|| format!("{oid} is not defined"))?;
        self.list.remove(at);
        self.replaced.retain(|(of, _)| *of != at);
        let later = self.replaced.iter_mut().map(|(of, _)| of).chain(self.by_oid.values_mut());
        later.filter(|of| **of > at).for_each(|of| *of -= 1);
        Ok(())
    }

    /// Fills the index of names; says which names have two owners.
    pub(super) fn index(&mut self, names: fn(&D) -> &Vec<String>) -> Vec<Fault> {
        let mut clashes = Vec::new();
        assert!(self.by_name.is_empty(), "names are indexed once, when all definitions are there");
        self.by_name = self.by_oid.clone();
        for (at, placed) in self.list.iter().enumerate().filter(|(_, placed)| !placed.is_removed) {
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
        self.list.iter().filter(|p| !p.is_removed).flat_map(move |p| of(&p.definition)).map(String::as_str)
    }
}

/// The OID that stands for this one, where two stand for the same: what was published can be read again.
fn known_as(oid: &str) -> String {
    short_oid(oid).unwrap_or_else(|| oid.to_owned())
}

pub(super) fn name<'d>(names: &'d [String], oid: &'d str) -> &'d str {
    names.first().map_or(oid, String::as_str)
}

/// Nothing that is stored by one matching rule can be looked up by another: a file may replace a definition, but for
/// that. The built-in files are made to replace each other.
pub(super) fn check_replaced(
    types: &Table<AttributeTypeDefinition>,
    built: &[AttributeType],
    report: &mut Report,
) {
    for (at, former) in &types.replaced {
        let now = &types.list[*at];
        let old = former_rule(types, former);
        let is_other = old.is_some_and(|old| built[*at].equality.is_none_or(|new| !old.compares_like(new)));
        let is_ours = builtin::text(&now.file).is_some() || *now.file == *RECORDED;
        // What the server works out is stored nowhere.
        let is_stored = !MEMBER_OF.iter().chain(&CHANGE_LOG).any(|oid| **oid == *now.definition.oid);
        if is_other && !is_ours && is_stored {
            let rule = |rule: Option<Rule>| rule.map_or("no equality rule", Rule::name);
            let message = format!(
                "'{}' ({}) has {} here and {} at {}:{}; what is stored by one is not found by the other: leave it out, or \
                 give it a name and an OID of its own",
                name(&now.definition.names, &now.definition.oid),
                now.definition.oid,
                rule(built[*at].equality),
                rule(old),
                former.file,
                former.line
            );
            report.fault(now, message);
        }
    }
}

/// The equality rule of a definition that was replaced.
fn former_rule(
    types: &Table<AttributeTypeDefinition>,
    former: &Placed<AttributeTypeDefinition>,
) -> Option<Rule> {
    let mut definition = &former.definition;
    for _ in 0..SUPERIORS_MAX {
        match (&definition.equality, &definition.sup) {
            (Some(rule), _) => return Rule::find(rule.as_bytes()),
            (None, Some(sup)) => definition = &types.list[types.find(sup)?].definition,
            (None, None) => return None,
        }
    }
    None
}
