//! Rules made ready: names are looked up in the schema, and what several rules ask of an entry is asked once.
//!
//! ```text
//! rule set     all rules, by falling rank                                      of the directory, changes with the rules
//! class        the rules that can match a requester, with what is left to ask    of a thread, one for many requesters
//! view         the rights of a class on entries of which the same is true         of a thread
//! ```
//!
//! Everything that can be wrong with a rule is found here, when it is put in force: a name that the schema does not have, a DN that
//! is none. From then on nothing can fail. A rule set is never changed: it is replaced, and is kept as long as a class is of it.
//!
//! Rules share what they ask. Fifty rules on the same three subtrees have three bases, and an entry is placed once for all of them.

use crate::limits::SearchLimits;
use crate::system::{CONFIG_DN, MONITOR_DN, is_root_dse};
use ::access::{
    AttributeSelector, Condition, Items, LimitRule, Limits, Operations, Pattern, Place, Reach, Rights, Rule,
    Subject, ValueTest, is_withheld, with_rdn,
};
use model::dn::split_first;
use model::limits::DN_RDNS_MAX;
use model::{Description, EntryId, TypeId};
use proto::filter_string::FilterBuf;
use schema::{Schema, WantedOptions};
use std::collections::BTreeMap;
use store::derived::SUBSCHEMA_DN;

/// Where a rule stands. Those of the configuration decide before those of entries, and these before the built-in ones, whatever their
/// ranks are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin<'r> {
    BuiltIn,
    /// A value of `pandoAccess` of the entry with this id and DN.
    Entry(EntryId, &'r str),
    Configured,
}

impl Origin<'_> {
    /// What is added to the rank of its rules.
    fn above(self) -> u64 {
        match self {
            Origin::BuiltIn => 0,
            Origin::Entry(..) => 1 << 32,
            Origin::Configured => 2 << 32,
        }
    }
}

/// All rules, by falling rank.
#[derive(Debug, Default)]
pub(crate) struct RuleSet {
    pub(crate) rules: Vec<Ready>,
    /// What rules ask of the place of an entry.
    pub(crate) places: Vec<Placed>,
    /// The DNs in them.
    pub(crate) bases: Vec<Base>,
    /// What rules ask of an entry itself.
    pub(crate) questions: Vec<Question>,
    /// What they ask of a requester: fifty rules for members of eight groups ask eight times.
    pub(crate) conditions: Vec<OfRequester>,
    /// Where a condition is among these, by its text.
    condition_of: BTreeMap<String, usize>,
    /// DNs of the groups in them, as they were written.
    pub(crate) groups: Vec<String>,
    /// Is there a rule that looks at the requester's own entry?
    pub(crate) looks_at_own_entry: bool,
    /// What requesters may take of the server, in the order in which they are asked.
    pub(crate) limits: Vec<ReadyLimit>,
    /// The same of those whom none of them fits.
    pub(crate) defaults: SearchLimits,
    /// Does any of them say how fast a client may go?
    pub(crate) has_rates: bool,
    /// Are groups in groups followed for memberOf?
    pub(crate) follows_groups: bool,
    /// Normal forms of the naming contexts.
    suffixes: Vec<Vec<u8>>,
}

/// A rule, ready to be used.
#[derive(Debug)]
pub(crate) struct Ready {
    /// What explanations call it.
    pub(crate) name: String,
    /// Higher ones decide. Those of the file and of `cn=config` lie above those that are built in.
    pub(crate) rank: u64,
    pub(crate) allow: Rights,
    pub(crate) deny: Rights,
    pub(crate) operations: Operations,
    pub(crate) items: Covered,
    /// `None`: every entry of the directory.
    pub(crate) place: Option<usize>,
    /// Of a rule that an entry has: that entry and what is below it. The rule is about entries there and nowhere else.
    pub(crate) within: Option<usize>,
    /// A question that must be true of the entry.
    pub(crate) filter: Option<usize>,
    pub(crate) values: Option<ValueTest>,
    pub(crate) subjects: Vec<ReadySubject>,
}

/// One subject: what a bind decides, and what depends on the entry.
#[derive(Debug)]
pub(crate) struct ReadySubject {
    /// Conditions of the rule set, and whether the opposite is asked.
    pub(crate) of_requester: Vec<(usize, bool)>,
    /// Questions, and whether the opposite is asked.
    pub(crate) of_entry: Vec<(usize, bool)>,
}

/// What rules ask of a requester, each once for all of them.
#[derive(Debug)]
pub(crate) struct OfRequester {
    pub(crate) condition: Condition,
    /// Normal form of the DN in it, if it asks where a name lies.
    pub(crate) key: Option<Vec<u8>>,
}

/// A limit rule, ready to be used. Nothing in its subjects depends on an entry, so a bind decides all of it.
#[derive(Debug)]
pub(crate) struct ReadyLimit {
    pub(crate) subjects: Vec<ReadySubject>,
    pub(crate) limits: Limits,
}

/// A place, relative to a base.
/// `*,ou=x` is a place one level lower, so the pattern costs nothing when an entry is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) base: usize,
    /// Levels below the base: the least, and the most; [`Placed::DEEP`]: any number.
    pub(crate) levels: (u8, u8),
}

impl Placed {
    /// Levels are counted up to this one.
    pub(crate) const DEEP: u8 = 3;

    fn of(base: usize, reach: Reach, each_below: bool) -> Placed {
        let (least, most) = match reach {
            Reach::Base => (0, 0),
            Reach::One => (1, 1),
            Reach::Subtree => (0, Placed::DEEP),
            Reach::Children => (1, Placed::DEEP),
        };
        let below = u8::from(each_below);
        Placed { base, levels: (least + below, (most + below).min(Placed::DEEP)) }
    }

    /// Is an entry there that lies so many levels below the base?
    #[inline]
    pub(crate) fn has(&self, level: u8) -> bool {
        (self.levels.0..=self.levels.1).contains(&level)
    }
}

/// A DN in the places of rules.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) dn: String,
    /// Its normal form.
    pub(crate) key: Vec<u8>,
    /// Is it of one of the server's own entries?
    pub(crate) is_system: bool,
    /// The entry itself, whatever its name is by now, of a base that is an entry with rules and not a DN in one.
    pub(crate) entry: Option<EntryId>,
}

/// What a rule asks of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// Is it the requester's?
    Own,
    /// Is its n-th superior the requester's?
    Parent(u16),
    /// Is a filter true of it?
    Filter(FilterBuf),
    /// Is a value of the attribute the requester's DN?
    Names(TypeId),
    /// Is a value of the attribute the DN of a group of the requester's?
    NamesGroup(TypeId),
    /// Has the attribute a value in common with the requester's entry?
    Shares(TypeId),
    /// Is something so of the requester, where `$1` in the DN of the condition stands for the RDN of the entry, or of its superior, that lies
    /// immediately below a base?
    OfStar {
        base: usize,
        /// A DN or a group.
        condition: Condition,
        /// Of the authentication identity?
        is_real: bool,
    },
}

/// Which attributes, controls or extended operations a rule is about.
#[derive(Debug)]
pub(crate) enum Covered {
    Attributes(Attributes),
    Controls(Vec<String>),
    Extended(Vec<String>),
}

/// A set of attributes.
/// A bit map by type answers nearly every question in one load. Options are looked at only where a rule names some.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    /// The entry as a whole, too?
    pub(crate) entry: bool,
    /// By type, whatever the options are.
    types: Vec<bool>,
    /// By type, whatever the options are: excluded, also where an attribute with options is selected.
    excluded: Vec<bool>,
    /// Those with options, if the type is not in the set anyway.
    with_options: Vec<(TypeId, WantedOptions)>,
    without_options: Vec<(TypeId, WantedOptions)>,
}

impl Attributes {
    /// Is an attribute in it?
    pub(crate) fn has(&self, schema: &Schema, description: Description) -> bool {
        let among = |list: &[(TypeId, WantedOptions)]| {
            list.iter().any(|(of, options)| {
                schema.is_subtype(description.attribute_type, *of)
                    && schema.includes_options(description.options, options)
            })
        };
        // No rule has a type yet that was added to the schema just now.
        let of_type =
            |list: &[bool]| list.get(usize::from(description.attribute_type.0)).copied().unwrap_or_default();
        !of_type(&self.excluded)
            && !among(&self.without_options)
            && (of_type(&self.types) || among(&self.with_options))
    }

    /// Is an attribute of this type with options in it, and the same without out of it, or the other way round?
    /// A filter names the attribute without them and looks at all values, so such a type is decided for each entry.
    pub(crate) fn splits(&self, schema: &Schema, attribute_type: TypeId) -> bool {
        let mut lists = self.with_options.iter().chain(&self.without_options);
        lists.any(|(of, _)| schema.is_subtype(attribute_type, *of))
    }

    /// The sets of options that it names.
    pub(crate) fn options(&self) -> impl Iterator<Item = &WantedOptions> {
        self.with_options.iter().chain(&self.without_options).map(|(_, options)| options)
    }

    /// Has it every attribute?
    pub(crate) fn is_every(&self, schema: &Schema) -> bool {
        // Of those that there are: numbers of types that were removed stay, and no rule has them.
        let has = |id: TypeId| self.types.get(usize::from(id.0)) == Some(&true);
        self.without_options.is_empty() && schema.attribute_types().all(|(id, _)| has(id))
    }

    /// Has it every attribute that a star selects?
    pub(crate) fn is_every_shown(&self, schema: &Schema) -> bool {
        let has = |id: TypeId| self.types.get(usize::from(id.0)) == Some(&true);
        self.without_options.is_empty()
            && schema.attribute_types().all(|(id, _)| has(id) || !is_shown(schema, id))
    }

    fn new(schema: &Schema, selectors: &[AttributeSelector]) -> Result<Attributes, String> {
        let mut set = {
            let none = vec![false; schema.type_count()];
            Attributes { types: none.clone(), excluded: none, ..Attributes::default() }
        };
        // What is excluded wins, wherever it stands.
        for is_exclusion in [false, true] {
            for selector in selectors {
                let excluded = matches!(
                    selector,
                    AttributeSelector::Named { excluded: true, .. }
                        | AttributeSelector::Class { excluded: true, .. }
                );
                if excluded == is_exclusion {
                    set.select(schema, selector, !excluded)?;
                }
            }
        }
        Ok(set)
    }

    /// A name stands for its subtypes too, in what is selected as in what is excluded. An exclusion that left subtypes in
    /// would be passed by asking for one of these.
    fn select(&mut self, schema: &Schema, selector: &AttributeSelector, is_in: bool) -> Result<(), String> {
        let mut mark = |types: &mut dyn Iterator<Item = TypeId>| {
            types.for_each(|id| {
                self.types[usize::from(id.0)] = is_in;
                self.excluded[usize::from(id.0)] = !is_in;
            });
        };
        let kind = |operational: bool| {
            let all = schema.attribute_types();
            all.filter(move |(id, kind)| kind.is_operational() == operational && is_shown(schema, *id))
        };
        match selector {
            AttributeSelector::Entry => self.entry = true,
            AttributeSelector::User => mark(&mut kind(false).map(|(id, _)| id)),
            AttributeSelector::Operational => mark(&mut kind(true).map(|(id, _)| id)),
            AttributeSelector::Every => mark(&mut schema.attribute_types().map(|(id, _)| id)),
            AttributeSelector::Named { description, .. } => {
                let unknown = || format!("there is no attribute \"{description}\"");
                let (id, options) = schema.find_wanted(description.as_bytes()).ok_or_else(unknown)?;
                match (options.is_none(), is_in) {
                    (true, _) => mark(&mut schema.subtypes(id).iter().copied()),
                    (false, true) => self.with_options.push((id, options)),
                    (false, false) => self.without_options.push((id, options)),
                }
            }
            AttributeSelector::Class { name, .. } => {
                let unknown = || format!("there is no object class \"{name}\"");
                let class = schema.find_class(name.as_bytes()).ok_or_else(unknown)?;
                let all = schema.class(class).all_attributes();
                all.for_each(|id| mark(&mut schema.subtypes(id).iter().copied()));
            }
        }
        Ok(())
    }
}

/// Does a star select attributes of this type? Not secrets, nor what decides or tells of rights and passwords.
pub(crate) fn is_shown(schema: &Schema, id: TypeId) -> bool {
    let kind = schema.attribute_type(id);
    let is_withheld = kind.is_operational() && is_withheld(kind.name());
    !is_withheld && !schema.is_secret(id)
}

impl RuleSet {
    /// Makes rules ready. Each comes with where it stands.
    ///
    /// # Errors
    /// What is wrong with a rule, with its name.
    pub(crate) fn new<'r>(
        schema: &Schema,
        suffixes: &[String],
        rules: impl IntoIterator<Item = (&'r Rule, Origin<'r>)>,
    ) -> Result<RuleSet, String> {
        let mut set = RuleSet::default();
        for suffix in suffixes {
            let mut key = Vec::new();
            // What is no DN is no naming context.
            if schema.normalise_dn(suffix.as_bytes(), &mut key).is_ok() {
                set.suffixes.push(key);
            }
        }
        for (rule, origin) in rules {
            let ready =
                set.ready(schema, rule, origin).map_err(|reason| format!("{}: {reason}", rule.name))?;
            set.rules.push(ready);
        }
        set.rules.sort_by_key(|rule| std::cmp::Reverse(rule.rank));
        Ok(set)
    }

    /// Makes limits ready. What a bind decides of them is looked at again when it may have changed, as it is of rules.
    ///
    /// # Errors
    /// What is wrong with one, with its name.
    pub(crate) fn limit(
        &mut self,
        schema: &Schema,
        defaults: SearchLimits,
        rules: &[LimitRule],
    ) -> Result<(), String> {
        self.defaults = defaults;
        for rule in rules {
            let subjects = rule.subjects.iter().map(|subject| self.subject(schema, subject, None));
            let subjects = subjects.collect::<Result<Vec<_>, String>>();
            let subjects = subjects.map_err(|reason| format!("{}: {reason}", rule.name))?;
            assert!(
                subjects.iter().all(|subject| subject.of_entry.is_empty()),
                "no limit is parsed that depends on an entry"
            );
            self.has_rates |= rule.limits.rate.or(rule.limits.bytes_per_second).is_some();
            self.limits.push(ReadyLimit { subjects, limits: rule.limits });
        }
        Ok(())
    }

    /// A rule with its names resolved by the schema. Err names what the schema does not know.
    fn ready(&mut self, schema: &Schema, rule: &Rule, origin: Origin<'_>) -> Result<Ready, String> {
        let target = &rule.target;
        let items = match &target.items {
            Items::Attributes(selectors) => Covered::Attributes(Attributes::new(schema, selectors)?),
            Items::Controls(oids) => Covered::Controls(oids.clone()),
            Items::Extended(oids) => Covered::Extended(oids.clone()),
        };
        // A control or an extended operation is used, wherever that is.
        let place = match items {
            Covered::Attributes(_) => self.place(schema, &target.place)?,
            Covered::Controls(_) | Covered::Extended(_) => None,
        };
        let within = match origin {
            Origin::Entry(id, dn) => Some(self.below(id, dn)),
            Origin::BuiltIn | Origin::Configured => None,
        };
        let filter = target.filter.clone().map(|filter| self.question(Question::Filter(filter)));
        let star = match (place, &target.place) {
            (Some(place), Place::At(_, Pattern { each_below: true, .. })) => Some(self.places[place].base),
            _ => None,
        };
        let subjects = rule.subjects.iter().map(|subject| self.subject(schema, subject, star));
        let subjects = subjects.collect::<Result<_, String>>()?;
        Ok(Ready {
            name: rule.name.clone(),
            rank: origin.above() + u64::from(rule.rank),
            allow: rule.allow,
            deny: rule.deny,
            operations: target.operations,
            items,
            place,
            within,
            filter,
            values: target.values.clone(),
            subjects,
        })
    }

    /// `None` of a place that has every entry of the directory.
    fn place(&mut self, schema: &Schema, place: &Place) -> Result<Option<usize>, String> {
        let Place::At(reach, Pattern { each_below, dn }) = place else { return Ok(None) };
        let mut key = Vec::new();
        schema.normalise_dn(dn.as_bytes(), &mut key).map_err(|reason| format!("\"{dn}\": {reason}"))?;
        // All that there is in the directory, if it has one naming context.
        if *reach == Reach::Subtree && !*each_below && self.suffixes == [key.clone()] {
            return Ok(None);
        }
        let base =
            self.bases.iter().position(|base| base.entry.is_none() && base.key == key).unwrap_or_else(|| {
                let is_system = self.is_system(schema, dn);
                self.bases.push(Base { dn: dn.clone(), key, is_system, entry: None });
                self.bases.len() - 1
            });
        Ok(Some(position_of(&mut self.places, Placed::of(base, *reach, *each_below))))
    }

    /// The place of an entry with rules, and of what is below it.
    /// It has no key: an add is never of that entry, which is there.
    fn below(&mut self, id: EntryId, dn: &str) -> usize {
        let base = self.bases.iter().position(|base| base.entry == Some(id)).unwrap_or_else(|| {
            let base = Base { dn: dn.to_owned(), key: Vec::new(), is_system: false, entry: Some(id) };
            self.bases.push(base);
            self.bases.len() - 1
        });
        position_of(&mut self.places, Placed::of(base, Reach::Subtree, false))
    }

    /// Is it the DN of one of the server's own entries, or of one below these? A naming context of the directory comes first.
    /// Such places are looked for among the server's own entries, of which no rule without a place is. A naming
    /// context called `cn=config` is the directory's, and its rules are about that.
    fn is_system(&self, schema: &Schema, dn: &str) -> bool {
        let above = std::iter::successors(Some(dn.as_bytes()), |dn| split_first(dn).1);
        let keys = above.take(DN_RDNS_MAX).filter_map(|dn| {
            let mut key = Vec::new();
            schema.normalise_dn(dn, &mut key).ok().map(|()| key)
        });
        let own = [SUBSCHEMA_DN, MONITOR_DN, CONFIG_DN].map(|dn| {
            let mut key = Vec::new();
            schema.normalise_dn(dn.as_bytes(), &mut key).ok().map(|()| key)
        });
        let keys: Vec<Vec<u8>> = keys.collect();
        is_root_dse(dn.as_bytes())
            || (!keys.iter().any(|key| self.suffixes.contains(key))
                && keys.iter().any(|key| own.iter().flatten().any(|own| own == key)))
    }

    /// The number of a question about entries. Equal questions of several rules have one, and are answered once.
    fn question(&mut self, question: Question) -> usize {
        position_of(&mut self.questions, question)
    }

    fn subject(
        &mut self,
        schema: &Schema,
        subject: &Subject,
        star: Option<usize>,
    ) -> Result<ReadySubject, String> {
        let mut ready = ReadySubject { of_requester: Vec::new(), of_entry: Vec::new() };
        for test in &subject.0 {
            let attribute = |name: &String| {
                schema.find_type(name.as_bytes()).ok_or_else(|| format!("there is no attribute \"{name}\""))
            };
            let question = match &test.condition {
                Condition::Requester => Question::Own,
                Condition::Parent(levels) => Question::Parent(*levels),
                Condition::DnAttribute(name) => Question::Names(attribute(name)?),
                Condition::GroupAttribute(name) => Question::NamesGroup(attribute(name)?),
                Condition::Same(name) => Question::Shares(attribute(name)?),
                of_requester if has_star(of_requester) => {
                    let base = star.ok_or("`$1` needs a place with a star")?;
                    let (condition, is_real) = match of_requester {
                        Condition::Real(condition) => ((**condition).clone(), true),
                        condition => (condition.clone(), false),
                    };
                    Question::OfStar { base, condition, is_real }
                }
                of_requester => {
                    let at = self.condition(schema, of_requester);
                    ready.of_requester.push((at, test.negated));
                    continue;
                }
            };
            let question = self.question(question);
            ready.of_entry.push((question, test.negated));
        }
        Ok(ready)
    }

    /// The number of a condition on the requester. Rules that ask the same get the same number, and a bind answers it once. Conditions are the
    /// same if their texts are, which is exact but for how names are spelled: then one is asked twice.
    fn condition(&mut self, schema: &Schema, condition: &Condition) -> usize {
        let text = format!("{condition:?}");
        if let Some(known) = self.condition_of.get(&text) {
            return *known;
        }
        self.note(condition);
        let key = match condition {
            Condition::Dn(_, dn) => normal_dn(schema, dn),
            Condition::Real(of_real) => match &**of_real {
                Condition::Dn(_, dn) => normal_dn(schema, dn),
                _ => None,
            },
            _ => None,
        };
        self.conditions.push(OfRequester { condition: condition.clone(), key });
        self.condition_of.insert(text, self.conditions.len() - 1);
        self.conditions.len() - 1
    }

    /// What a change of the directory may make another answer of.
    /// What is not noted here is never looked at again after the bind.
    fn note(&mut self, condition: &Condition) {
        match condition {
            Condition::Group { dn, .. } => _ = position_of(&mut self.groups, dn.clone()),
            Condition::UserFilter(_) => self.looks_at_own_entry = true,
            Condition::Real(condition) => self.note(condition),
            _ => {}
        }
    }
}

/// The normal form of a DN.
fn normal_dn(schema: &Schema, dn: &str) -> Option<Vec<u8>> {
    let mut key = Vec::new();
    schema.normalise_dn(dn.as_bytes(), &mut key).ok().map(|()| key)
}

/// Does a condition name a DN that depends on the entry?
fn has_star(condition: &Condition) -> bool {
    match condition {
        Condition::Dn(_, dn) | Condition::Group { dn, .. } => with_rdn(dn, "cn=x") != with_rdn(dn, "cn=y"),
        Condition::Real(condition) => has_star(condition),
        _ => false,
    }
}

/// The position of a value in a list, where it is put if it is not there.
fn position_of<T: PartialEq>(list: &mut Vec<T>, value: T) -> usize {
    list.iter().position(|other| *other == value).unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::{Builder, Element};

    /// Who may write every attribute may do so behind a removal: others may not act as such a client.
    #[test]
    fn every_attribute_is_each_that_there_is() {
        let schema = Builder::new().standard().build().expect("the standard schema");
        let gone: &[u8] = b"( 1.3.6.1.4.1.99999.1 NAME 'gone' SUP description )";
        let change = |removed: Vec<(Element, &[u8])>, added: Vec<(Element, &[u8])>| {
            schema.put(schema.plan(&schema::Changes { removed, added }).expect("it is sound"));
        };
        change(vec![], vec![(Element::AttributeType, gone)]);
        change(vec![(Element::AttributeType, gone)], vec![]);
        let every = Attributes::new(&schema, &[AttributeSelector::Every]).expect("it is one");
        assert!(every.is_every(&schema) && every.is_every_shown(&schema));
        let user = Attributes::new(&schema, &[AttributeSelector::User]).expect("it is one");
        assert!(!user.is_every(&schema));
    }
}
