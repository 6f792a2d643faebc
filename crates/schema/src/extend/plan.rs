//! What a change of the schema comes to, before anything is changed.

use super::changes::{Changes, Effects, Element, Plan};
use super::judge::{self, Judged, NotAdded};
use super::put::Ids;
use crate::additions::{ADDED_BYTES_MAX, ADDED_FILE};
use crate::slots::ADDED_MAX;
use crate::source::{self, Act, StatementKind};
use crate::{BuildErrors, ObjectClass, Schema};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// What is to be done, in the order of the statements.
#[derive(Default)]
pub(super) struct Steps {
    /// What is removed, by OID.
    pub(super) removed: BTreeSet<(Element, String)>,
    /// What is changed in its place, with the definition.
    changed: Vec<(Element, String)>,
    added: Vec<(Element, String)>,
}

impl Schema {
    /// What a change of definitions would come to: all of it, or none where there is a fault.
    ///
    /// # Errors
    /// Why it cannot be made. That depends on the definitions that there are, and on nothing else.
    pub fn plan(&self, changes: &Changes<'_>) -> Result<Plan, NotAdded> {
        let before = self.added.text().clone();
        let steps = self.steps(&before, changes)?;
        let mut text = String::new();
        // What names another comes before it is removed, and behind it when it is added.
        for (element, oid) in steps.removed.iter().rev() {
            let _ = writeln!(text, "{}{} {oid}", Act::Remove.prefix(), element.statement().keyword());
        }
        for element in Element::ALL {
            for (list, act) in [(&steps.changed, Act::Change), (&steps.added, Act::Define)] {
                for (_, definition) in list.iter().filter(|(of, _)| *of == element) {
                    let _ = writeln!(text, "{}{} {definition}", act.prefix(), element.statement().keyword());
                }
            }
        }
        let count = steps.removed.len() + steps.changed.len() + steps.added.len();
        // Each statement is one line.
        if text.lines().count() != count || text.contains(|c: char| c.is_control() && c != '\n') {
            return Err(NotAdded::Syntax("a definition has a control character".to_owned()));
        }
        if before.lines().count() + count > ADDED_MAX {
            let text = format!(
                "no more than {ADDED_MAX} definitions can be added, changed and removed while the server runs; give them in a schema file"
            );
            return Err(NotAdded::TooMany(text));
        }
        if before.len() + text.len() > ADDED_BYTES_MAX {
            let text = format!(
                "definitions that are added while the server runs have {ADDED_BYTES_MAX} bytes at most; give them in a schema file"
            );
            return Err(NotAdded::TooMany(text));
        }
        let larger = self.with_text(&text).build().map_err(|BuildErrors(faults)| {
            NotAdded::Unfit(faults.into_iter().next().map(|fault| fault.message).unwrap_or_default())
        })?;
        // A file may name a syntax or rule that is not known. Here it is most likely a mistake.
        if let Some(warning) = larger.warnings().iter().find(|warning| &*warning.file == ADDED_FILE) {
            return Err(NotAdded::Unfit(warning.message.clone()));
        }
        let effects = self.effects(&larger, &steps)?;
        let only_adds = steps.removed.is_empty() && steps.changed.is_empty();
        Ok(Plan { larger, text, behind: before.len(), effects, only_adds })
    }

    /// Which statements a change is made of.
    fn steps(&self, before: &str, changes: &Changes<'_>) -> Result<Steps, NotAdded> {
        let mut steps = Steps::default();
        let own = added_now(before);
        let mut taken = BTreeSet::new();
        for (element, value) in &changes.removed {
            let Judged { oid, .. } = judge::read(*element, value)?;
            self.may_remove(*element, &oid, &own)?;
            if !taken.insert((*element, oid.clone())) {
                return Err(NotAdded::Missing(format!("{} {oid} is removed twice", element.name())));
            }
        }
        let mut met = BTreeSet::new();
        for (element, value) in &changes.added {
            let judged = judge::read(*element, value)?;
            if !met.insert((*element, judged.oid.clone())) {
                return Err(NotAdded::Exists(format!("{} is defined twice in this request", judged.oid)));
            }
            let key = (*element, judged.oid.clone());
            let replaced = self.text_of(*element, &judged.oid).filter(|_| taken.contains(&key));
            if !taken.contains(&key) {
                self.judge_new(*element, &judged, &taken)?;
                steps.added.push((*element, judged.definition.to_string()));
                continue;
            }
            if replaced.as_deref() == Some(&*judged.definition.to_string()) {
                taken.remove(&key);
                continue;
            }
            // Under its own number, if values mean what they did.
            match self.is_same_meaning(&judged) {
                true => {
                    taken.remove(&key);
                    steps.changed.push((*element, judged.definition.to_string()));
                }
                false => steps.added.push((*element, judged.definition.to_string())),
            }
        }
        let rebuilt: BTreeSet<(Element, String)> = met;
        if let Some(text) = self.user_of(&taken, &rebuilt) {
            return Err(NotAdded::Needed(text));
        }
        steps.removed = taken;
        Ok(steps)
    }

    /// Can a definition be removed?
    fn may_remove(
        &self,
        element: Element,
        oid: &str,
        own: &BTreeSet<(StatementKind, String)>,
    ) -> Result<(), NotAdded> {
        if own.contains(&(element.statement(), oid.to_owned())) {
            return Ok(());
        }
        let kind = element.name();
        match self.name_of(element, oid) {
            Some(name) => Err(NotAdded::Fixed(format!(
                "the {kind} {name} is of the standard schema or of a schema file: what was added to cn=Subschema can be changed and removed"
            ))),
            None => Err(NotAdded::Missing(format!("there is no {kind} {oid}"))),
        }
    }

    /// What a change does to entries.
    fn effects(&self, larger: &Schema, steps: &Steps) -> Result<Effects, NotAdded> {
        let mut effects = Effects::default();
        for (element, oid) in &steps.removed {
            match element {
                Element::AttributeType => {
                    let id = self.find_type(oid.as_bytes()).expect("it may be removed");
                    effects.types.push(id);
                    effects.type_names.extend(self.attribute_type(id).all_names().map(str::to_owned));
                }
                Element::ObjectClass => {
                    let id = self.find_class(oid.as_bytes()).expect("it may be removed");
                    effects.classes.push(id);
                    effects.class_names.extend(self.class(id).all_names().map(str::to_owned));
                }
                _ => {}
            }
        }
        let ids = Ids::of(self, larger, &effects);
        for (at, kind) in ids.kept_types(self, larger) {
            let before = self.attribute_type(at);
            if kind.sup.map(|sup| ids.own_type(sup)) != before.sup {
                return Err(NotAdded::Needed(format!(
                    "the supertype of '{}' gets another meaning: remove both, and add both again",
                    before.name()
                )));
            }
            if kind.definition.single_value && !before.definition.single_value {
                effects.single.push(at);
            }
        }
        for (at, class) in ids.kept_classes(self, larger) {
            let (before, after) = (self.class(at), ids.class(class));
            if after.superiors != before.superiors {
                return Err(NotAdded::Needed(format!(
                    "a superclass of '{}' gets another meaning: remove both, and add both again",
                    before.name()
                )));
            }
            let requires_more = after.all_must.iter().any(|id| !before.all_must.contains(id));
            let allowed = |class: &ObjectClass| class.all_attributes().collect::<BTreeSet<_>>();
            if requires_more || !allowed(&after).is_superset(&allowed(before)) {
                effects.narrowed.insert(at, after);
            }
        }
        Ok(effects)
    }
}

/// What statements come to: what was added and is still there, by kind and OID.
fn added_now(text: &str) -> BTreeSet<(StatementKind, String)> {
    let mut now = BTreeSet::new();
    for statement in source::read(text).0 {
        let Some(key) = statement.key() else { continue };
        match statement.act {
            Act::Define | Act::Change => now.insert(key),
            Act::Remove | Act::Retire => now.remove(&key),
        };
    }
    now
}
