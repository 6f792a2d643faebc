//! What may be added to a schema that is in use, and what of it may not be removed.

use super::changes::Element;
use crate::Schema;
use crate::definition::{
    AttributeTypeDefinition, ObjectClassDefinition, parse_attribute_type, parse_content_rule,
    parse_name_form, parse_object_class, parse_structure_rule,
};
use model::{ClassId, TypeId};
use std::collections::BTreeSet;
use std::fmt;

/// Why definitions are not added, changed or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAdded {
    /// A definition cannot be read.
    Syntax(String),
    /// It is there already.
    Exists(String),
    /// It is not there.
    Missing(String),
    /// It would change an attribute type that is there.
    ChangesType(String),
    /// It would change an object class that is there.
    ChangesClass(String),
    /// It would change a rule that is there.
    ChangesRule(String),
    /// It is none that can be changed or removed.
    Fixed(String),
    /// Another definition needs it.
    Needed(String),
    /// It does not fit what is there: a name that is taken, a superior, syntax or rule that is not there.
    Unfit(String),
    /// There are too many.
    TooMany(String),
}

impl fmt::Display for NotAdded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (NotAdded::Syntax(text)
        | NotAdded::Exists(text)
        | NotAdded::Missing(text)
        | NotAdded::ChangesType(text)
        | NotAdded::ChangesClass(text)
        | NotAdded::ChangesRule(text)
        | NotAdded::Fixed(text)
        | NotAdded::Needed(text)
        | NotAdded::Unfit(text)
        | NotAdded::TooMany(text)) = self;
        f.write_str(text)
    }
}

/// What is to be done with one that is there.
const DELETE_TOO: &str = "to change it, delete it and add it in one modify";

/// A definition that was read.
pub(super) struct Judged {
    /// Its OID, or the number of a rule.
    pub(super) oid: String,
    pub(super) names: Vec<String>,
    pub(super) definition: Read,
}

/// The same, by its kind.
pub(super) enum Read {
    Type(AttributeTypeDefinition),
    Class(ObjectClassDefinition),
    /// Of a rule only the text counts.
    Rule(String),
}

impl fmt::Display for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Read::Type(definition) => definition.fmt(f),
            Read::Class(definition) => definition.fmt(f),
            Read::Rule(text) => f.write_str(text),
        }
    }
}

/// Reads a definition.
///
/// # Errors
/// When it is none, or has no numeric OID.
pub(super) fn read(element: Element, value: &[u8]) -> Result<Judged, NotAdded> {
    let text =
        std::str::from_utf8(value).map_err(|_| NotAdded::Syntax("a definition is not UTF-8".to_owned()))?;
    let judged = match element {
        Element::AttributeType => parse_attribute_type(text).map(|d| Judged {
            oid: d.oid.clone(),
            names: d.names.clone(),
            definition: Read::Type(d),
        }),
        Element::ObjectClass => parse_object_class(text).map(|d| Judged {
            oid: d.oid.clone(),
            names: d.names.clone(),
            definition: Read::Class(d),
        }),
        Element::ContentRule => parse_content_rule(text).map(|d| rule(d.oid.clone(), &d.names, &d)),
        Element::NameForm => parse_name_form(text).map(|d| rule(d.oid.clone(), &d.names, &d)),
        Element::StructureRule => parse_structure_rule(text).map(|d| rule(d.id.to_string(), &d.names, &d)),
    };
    let judged = judged.map_err(|error| {
        NotAdded::Syntax(format!("the definition of an {} cannot be read: {}", element.name(), error.reason))
    })?;
    match element == Element::StructureRule || model::oid::is_numeric(judged.oid.as_bytes()) {
        true => Ok(judged),
        false => Err(NotAdded::Syntax(format!("'{}' is no numeric OID", judged.oid))),
    }
}

fn rule(oid: String, names: &[String], definition: &dyn fmt::Display) -> Judged {
    Judged { oid, names: names.to_vec(), definition: Read::Rule(definition.to_string()) }
}

/// A definition for a text: `'taste' (1.2.3)`.
fn shown(names: &[String], oid: &str) -> String {
    names.first().map_or_else(|| oid.to_owned(), |name| format!("'{name}' ({oid})"))
}

/// Are the names of a definition ones that filters as text and URLs can have? Files of other servers have others, and so has what an earlier version took in: `before` is the
/// text of the definition that it replaces, whose names may stay.
pub(super) fn judge_names(judged: &Judged, before: Option<&str>) -> Result<(), NotAdded> {
    let stays = |name: &str| before.is_some_and(|text| text.contains(&format!("'{name}'")));
    match judged.names.iter().find(|name| !model::oid::is_descriptor(name.as_bytes()) && !stays(name)) {
        None => Ok(()),
        Some(bad) => Err(NotAdded::Syntax(format!(
            "'{bad}' is no name of a definition: a letter, then letters, digits and hyphens (RFC 4512 section 1.4)"
        ))),
    }
}

/// What names definitions, and what they name.
struct Definition {
    element: Element,
    oid: String,
    shown: String,
    types: Vec<TypeId>,
    classes: Vec<ClassId>,
    /// OIDs of name forms and numbers of structure rules.
    others: Vec<(Element, String)>,
}

impl Schema {
    /// A definition that is there, for a text.
    pub(super) fn name_of(&self, element: Element, oid: &str) -> Option<String> {
        self.there(element, oid).map(|(shown, _)| shown)
    }

    /// The text of a definition that is there.
    pub(super) fn text_of(&self, element: Element, oid: &str) -> Option<String> {
        self.there(element, oid).map(|(_, text)| text)
    }

    /// A definition that is there, for a text, and its own text.
    pub(super) fn there(&self, element: Element, oid: &str) -> Option<(String, String)> {
        let rules = self.dit.now();
        match element {
            Element::AttributeType => {
                let kind = self.attribute_type(self.find_type(oid.as_bytes())?);
                Some((shown(&kind.definition.names, oid), kind.definition.to_string()))
            }
            Element::ObjectClass => {
                let class = self.class(self.find_class(oid.as_bytes())?);
                Some((shown(&class.definition.names, oid), class.definition.to_string()))
            }
            Element::ContentRule => {
                let class = self.find_class(oid.as_bytes())?;
                let rule = rules.content.iter().find(|rule| rule.class == class)?;
                Some((shown(&rule.definition.names, oid), rule.definition.to_string()))
            }
            Element::NameForm => {
                let form = rules.naming.forms.iter().find(|form| form.definition.oid == oid)?;
                Some((shown(&form.definition.names, oid), form.definition.to_string()))
            }
            Element::StructureRule => {
                let id: u32 = oid.parse().ok()?;
                let rule = rules.naming.rules.iter().find(|rule| rule.definition.id == id)?;
                Some((shown(&rule.definition.names, oid), rule.definition.to_string()))
            }
        }
    }

    /// May a definition join those that are there, apart from what is removed with it?
    pub(super) fn judge_new(
        &self,
        element: Element,
        judged: &Judged,
        removed: &BTreeSet<(Element, String)>,
    ) -> Result<(), NotAdded> {
        let (kind, oid) = (element.name(), &*judged.oid);
        if let Some((name, text)) = self.there(element, oid) {
            if text == judged.definition.to_string() {
                return Err(NotAdded::Exists(format!("the {kind} {} exists", shown(&judged.names, oid))));
            }
            let changes = match element {
                Element::AttributeType => NotAdded::ChangesType,
                Element::ObjectClass => NotAdded::ChangesClass,
                _ => NotAdded::ChangesRule,
            };
            return Err(changes(format!("{oid} is the {kind} {name}: {DELETE_TOO}")));
        }
        let others: &[Element] = match element {
            Element::AttributeType => &[Element::ObjectClass, Element::NameForm],
            Element::ObjectClass => &[Element::AttributeType, Element::NameForm],
            Element::NameForm => &[Element::AttributeType, Element::ObjectClass],
            Element::ContentRule | Element::StructureRule => &[],
        };
        for other in others {
            let is_there = self.there(*other, oid).is_some() && !removed.contains(&(*other, oid.to_owned()));
            if is_there {
                return Err(NotAdded::Unfit(format!("{oid} is an {}", other.name())));
            }
        }
        let owner = |name: &String| match element {
            Element::AttributeType => {
                self.find_type(name.as_bytes()).map(|id| self.attribute_type(id).definition.oid.clone())
            }
            Element::ObjectClass => {
                self.find_class(name.as_bytes()).map(|id| self.class(id).definition.oid.clone())
            }
            // The other names have one owner in one file, which is judged there.
            _ => None,
        };
        let is_taken = |name: &&String| owner(name).is_some_and(|owner| !removed.contains(&(element, owner)));
        judged.names.iter().find(is_taken).map_or(Ok(()), |name| {
            Err(NotAdded::Unfit(format!("the name '{name}' of {oid} is that of another {kind}")))
        })
    }

    /// Does a definition of what is there mean the same to values and entries that have it, apart from what can be looked for in them?
    /// Then it keeps its number.
    pub(super) fn is_same_meaning(&self, judged: &Judged) -> bool {
        match &judged.definition {
            Read::Type(after) => {
                let Some(id) = self.find_type(judged.oid.as_bytes()) else { return false };
                let before = &self.attribute_type(id).definition;
                let same = AttributeTypeDefinition {
                    names: before.names.clone(),
                    description: before.description.clone(),
                    obsolete: before.obsolete,
                    length_max: before.length_max,
                    single_value: before.single_value,
                    no_user_modification: before.no_user_modification,
                    extensions: before.extensions.clone(),
                    ..after.clone()
                };
                same == *before && are_among(&before.names, &after.names)
            }
            Read::Class(after) => {
                let Some(id) = self.find_class(judged.oid.as_bytes()) else { return false };
                let before = &self.class(id).definition;
                after.kind == before.kind && after.sup == before.sup && are_among(&before.names, &after.names)
            }
            Read::Rule(_) => true,
        }
    }

    /// What else names one of these definitions, in a sentence. `rebuilt` are those that the request defines anew: what they name is judged with
    /// the whole.
    pub(super) fn user_of(
        &self,
        removed: &BTreeSet<(Element, String)>,
        rebuilt: &BTreeSet<(Element, String)>,
    ) -> Option<String> {
        if removed.is_empty() {
            return None;
        }
        let stays = |definition: &Definition| {
            let key = (definition.element, definition.oid.clone());
            !removed.contains(&key) && !rebuilt.contains(&key)
        };
        let all = self.definitions();
        for (element, oid) in removed {
            let names = |definition: &&Definition| match element {
                Element::AttributeType => {
                    self.find_type(oid.as_bytes()).is_some_and(|id| definition.types.contains(&id))
                }
                Element::ObjectClass => {
                    self.find_class(oid.as_bytes()).is_some_and(|id| definition.classes.contains(&id))
                }
                _ => definition.others.contains(&(*element, oid.clone())),
            };
            // One that is put in its place is there for the others, but of another meaning.
            let is_replaced = rebuilt.contains(&(*element, oid.clone()));
            if let Some(user) = all.iter().filter(|definition| stays(definition)).find(names) {
                let (kind, name) =
                    (element.name(), self.name_of(*element, oid).unwrap_or_else(|| oid.clone()));
                let what = if is_replaced { "cannot be changed so" } else { "cannot be removed" };
                return Some(format!(
                    "the {kind} {name} {what}: the {} {} names it",
                    user.element.name(),
                    user.shown
                ));
            }
        }
        None
    }

    /// All definitions that name others.
    fn definitions(&self) -> Vec<Definition> {
        let types = self.attribute_types().map(|(_, kind)| Definition {
            element: Element::AttributeType,
            oid: kind.definition.oid.clone(),
            shown: shown(&kind.definition.names, &kind.oid),
            types: kind.sup.into_iter().collect(),
            classes: Vec::new(),
            others: Vec::new(),
        });
        let classes = self.classes().map(|(_, class)| Definition {
            element: Element::ObjectClass,
            oid: class.definition.oid.clone(),
            shown: shown(&class.definition.names, &class.oid),
            types: class.must.iter().chain(&class.may).copied().collect(),
            classes: class.sup.clone(),
            others: Vec::new(),
        });
        let rules = self.dit.now();
        let content = rules.content.iter().map(|rule| Definition {
            element: Element::ContentRule,
            oid: rule.definition.oid.clone(),
            shown: shown(&rule.definition.names, &rule.definition.oid),
            types: rule.attributes().chain(rule.not.iter().copied()).collect(),
            classes: rule.auxiliary.iter().copied().chain([rule.class]).collect(),
            others: Vec::new(),
        });
        let forms = rules.naming.forms.iter().map(|form| Definition {
            element: Element::NameForm,
            oid: form.definition.oid.clone(),
            shown: shown(&form.definition.names, &form.definition.oid),
            types: form.must.iter().chain(&form.may).copied().collect(),
            classes: vec![form.class],
            others: Vec::new(),
        });
        let of_structure = rules.naming.rules.iter().map(|rule| {
            let id = rule.definition.id;
            let superiors = rule.definition.superiors.iter().filter(|above| **above != id);
            let form = rules.naming.forms[rule.form].definition.oid.clone();
            Definition {
                element: Element::StructureRule,
                oid: id.to_string(),
                shown: shown(&rule.definition.names, &id.to_string()),
                types: Vec::new(),
                classes: Vec::new(),
                others: superiors
                    .map(|above| (Element::StructureRule, above.to_string()))
                    .chain([(Element::NameForm, form)])
                    .collect(),
            }
        });
        types.chain(classes).chain(content).chain(forms).chain(of_structure).collect()
    }
}

/// Are names among others?
pub(super) fn are_among(names: &[String], others: &[String]) -> bool {
    names.iter().all(|name| others.iter().any(|other| other.eq_ignore_ascii_case(name)))
}
