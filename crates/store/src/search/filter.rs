//! A filter made ready for evaluation: descriptions looked up, assertion values normalised, once per search.
//!
//! Everything that can be decided without an entry is decided here, so that evaluating is comparing bytes. What a client may not read becomes undefined
//! here, too: an evaluation knows no rights.

use super::hidden::Hidden;
use super::members::{IN_CHAIN, MayTest, Members, MembersQuery, Membership};
use crate::collective::Source;
use crate::derived::Derived;
use crate::shape::Kind;
use crate::shard::Shard;
use model::filter::{Assertion, Extensible, Filter, Substrings};
use model::{EntryId, Scope, TypeId};
use schema::{Part, Rule, Schema, WantedOptions};
use smallvec::SmallVec;
use std::cell::OnceCell;
use std::sync::Arc;

/// Normal form of an assertion value; short ones lie in place.
/// Most assertion values have fewer bytes than this, so most filters are one allocation for each list of parts.
pub(crate) type Normal = SmallVec<[u8; 48]>;

/// Finds what a filter asks for about memberships; `None` of what cannot be found, which is undefined.
pub type FindMembers<'f> = &'f dyn Fn(MembersQuery<'_>) -> Option<Found>;

/// What was found of memberships.
#[derive(Default)]
pub struct Found {
    /// Entries.
    pub members: Members,
    /// Searches that find more of them.
    pub searches: Vec<MemberSearch>,
}

impl Found {
    /// Is it nobody?
    fn is_empty(&self) -> bool {
        self.searches.is_empty() && self.members.any.is_none() && self.members.len() == 0
    }
}

/// A search that finds members.
pub struct MemberSearch {
    /// Where it begins.
    pub base: EntryId,
    /// How far it goes.
    pub scope: Scope,
    /// What it looks for.
    pub filter: Compiled,
    /// Which of the entries may be tested, by their names; `None`: all.
    pub may: Option<MayTest>,
}

/// The few entries that a search by an indexed equality assertion can find: for the common search that needs no
/// cursor.
pub type FewCandidates = SmallVec<[u32; FEW_MAX]>;
const FEW_MAX: usize = 4;

/// May the one who asks test attributes of this type?
pub type Readable<'r> = &'r dyn Fn(TypeId) -> bool;

/// May the one who asks test the values of an attribute of an entry?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Testable {
    /// None of them.
    Never,
    /// Some of them, perhaps: the caller of the evaluation says of each ([`super::evaluate::Judge`]).
    ByValue,
    /// All of them.
    Always,
}

/// A compiled filter. Owns all it needs, so a search can outlive its request.
#[derive(Clone, Debug)]
pub struct Compiled(pub(crate) Node);

/// A node of a compiled filter (RFC 4511 section 4.5.1.7: true, false or undefined).
/// The shape of the filter is kept: an `&` of one part is still one, since it is rare and costs nothing.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    True,
    False,
    Undefined,
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    /// What the entry stands for: of the server's own asking.
    Kind(Kind),
    /// Is the entry one of those that were looked for when the filter was made ready?
    Member(Membership),
    /// Is it in this scope of this base?
    Within(EntryId, Scope),
    Item(Item),
}

/// What an item asks of the values of an attribute.
/// `derived` is looked up once: whether a value may have to be made up does not depend on the entry.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Attributes it looks at; `None` for all whose rule is the item's, but those in `hidden`.
    pub(crate) attribute_type: Option<TypeId>,
    /// What it may not look at, since the reader may not. Items of a filter share it where they can. `None` of nearly all.
    pub(crate) hidden: Option<Arc<Hidden>>,
    pub(crate) options: WantedOptions,
    pub(crate) test: Test,
    pub(crate) derived: Option<Derived>,
    /// Where it is true of entries for values that others have: of collective attributes, at one read point. `None` of nearly all.
    pub(crate) collected: Option<Arc<Vec<Source>>>,
}

#[derive(Clone, Debug)]
pub(crate) enum Test {
    Present,
    /// The normal forms are equal; without a rule, the bytes.
    Equal {
        rule: Option<Rule>,
        normal: Normal,
    },
    Substrings {
        rule: Rule,
        initial: Option<Normal>,
        any: Vec<Normal>,
        last: Option<Normal>,
    },
    AtLeast {
        rule: Rule,
        key: Normal,
    },
    AtMost {
        rule: Rule,
        key: Normal,
    },
    Matches {
        rule: Rule,
        normal: Normal,
        dn_attributes: bool,
    },
}

/// Who asks with a filter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// An operation that looks.
    Lookup,
    /// A logged update. Equality without a rule compares bytes: logs of the first versions have assertions whose outcome was decided so.
    /// What does not follow from the entry alone is not there.
    Update,
    /// A search that wants some values of the entries that it has found. An item is about these, not about entries.
    Values,
}

impl Compiled {
    /// Makes a filter ready. What the schema does not know, what has no rule, what is no valid assertion and what
    /// the reader may not see, is undefined.
    pub fn new(filter: &Filter<'_>, shard: &Shard, readable: Readable<'_>) -> Compiled {
        Compiled(Compiling::new(shard, readable, Asks::Lookup).compile(filter))
    }

    /// As [`Compiled::new`]. Items about memberships, which no entry stores, are decided by what is found for them; without that
    /// no entry has memberOf.
    pub fn with_members(
        filter: &Filter<'_>,
        shard: &Shard,
        readable: Readable<'_>,
        find: Option<FindMembers<'_>>,
    ) -> Compiled {
        let compiling = Compiling { find, ..Compiling::new(shard, readable, Asks::Lookup) };
        Compiled(compiling.compile(filter))
    }

    /// As [`Compiled::new`], of what a logged update asserts: equality without a rule compares bytes, as it did when the
    /// first logs were written.
    pub fn of_update(filter: &Filter<'_>, shard: &Shard, readable: Readable<'_>) -> Compiled {
        Compiled(Compiling::new(shard, readable, Asks::Update).compile(filter))
    }

    /// True of all entries of a kind.
    pub(crate) fn of_kind(kind: Kind) -> Compiled {
        Compiled(Node::Kind(kind))
    }

    /// Is it true of every entry?
    /// A base search for `(objectClass=*)`, which clients send to read an entry, is answered without a look at it.
    pub fn is_true(&self) -> bool {
        matches!(self.0, Node::True)
    }

    /// The single equality assertion it consists of, if it is one.
    /// Attribute options are left out of it: the index holds values with any options, and the entry would have to be looked at for them.
    pub(crate) fn as_equality(&self) -> Option<(TypeId, &[u8])> {
        match &self.0 {
            Node::Item(Item {
                attribute_type: Some(t),
                derived: None,
                collected: None,
                options,
                test: Test::Equal { normal, .. },
                ..
            }) if options.is_none() => Some((*t, normal)),
            _ => None,
        }
    }

    /// The members, if it is one membership of a few entries.
    #[cold]
    pub(super) fn few_members(&self) -> Option<FewCandidates> {
        let Node::Member(Membership { members, .. }) = &self.0 else { return None };
        let ids = members.only_ids().filter(|ids| members.any.is_none() && ids.len() <= FEW_MAX)?;
        Some(ids.iter().copied().collect())
    }

    /// The attribute type, if the filter is one equality assertion on a plain stored attribute: all that differs from one to the next
    /// is the value. `None` if it passes over hidden subtypes: who compares values by itself would not.
    pub fn equality_type(&self) -> Option<TypeId> {
        match &self.0 {
            Node::Item(Item { hidden: Some(_), .. }) => None,
            _ => self.as_equality().map(|(attribute_type, _)| attribute_type),
        }
    }

    /// Puts another assertion value, in normal form, in the place of the one that is there.
    ///
    /// # Panics
    /// If the filter is not one such assertion.
    #[inline]
    pub fn assert_equality(&mut self, value: &[u8]) {
        let Node::Item(Item { test: Test::Equal { normal, .. }, .. }) = &mut self.0 else {
            unreachable!("an equality assertion was asked for");
        };
        normal.clear();
        normal.extend_from_slice(value);
    }
}

/// Makes items ready that are about values, each by itself. Those that are undefined are left out.
pub(super) fn value_items(items: &[Filter<'_>], shard: &Shard) -> Vec<Item> {
    let compiling = Compiling::new(shard, &|_| true, Asks::Values);
    let compiled = items.iter().map(|item| compiling.compile(item));
    let items = compiled.filter_map(|node| match node {
        Node::Item(item) => Some(item),
        _ => None,
    });
    items.collect()
}

/// What a filter is made ready with.
/// `hidden` is made at most once for a filter: it lists every type of the schema that may not be read.
struct Compiling<'c> {
    schema: &'c Schema,
    readable: Readable<'c>,
    asks: Asks,
    hidden: OnceCell<Arc<Hidden>>,
    /// What finds members; none where the filter is about what entries store.
    find: Option<FindMembers<'c>>,
}

impl<'c> Compiling<'c> {
    fn new(shard: &'c Shard, readable: Readable<'c>, asks: Asks) -> Compiling<'c> {
        Compiling { schema: &shard.schema, readable, asks, hidden: OnceCell::new(), find: None }
    }

    fn compile(&self, filter: &Filter<'_>) -> Node {
        self.defined(filter).unwrap_or(Node::Undefined)
    }

    /// `None` of what is undefined, whatever the entry. RFC 4526: an empty `&` is true, an empty `|` is false.
    fn defined(&self, filter: &Filter<'_>) -> Option<Node> {
        let all = |parts: &[Filter<'_>]| parts.iter().map(|part| self.compile(part)).collect::<Vec<_>>();
        // Every entry has an object class, but not every value is one.
        let is_of_values = self.asks == Asks::Values;
        Some(match filter {
            Filter::And(parts) if parts.is_empty() => Node::True,
            Filter::Or(parts) if parts.is_empty() => Node::False,
            Filter::And(parts) => Node::And(all(parts)),
            Filter::Or(parts) => Node::Or(all(parts)),
            Filter::Not(negated) => Node::Not(Box::new(self.compile(negated))),
            // Nearly every base search asks just for that.
            Filter::Present(b"objectClass") if !is_of_values => Node::True,
            Filter::Present(attribute) => match self.described(attribute)? {
                (t, options)
                    if !is_of_values && options.is_none() && t == self.schema.well_known().object_class =>
                {
                    Node::True
                }
                (t, options) if self.is_member_of(t, &options) => {
                    self.membership(t, b"", MembersQuery::AnyGroup)?
                }
                found => self.item(found, Test::Present),
            },
            // Without a rule of its own approximate matching is equality (RFC 4511 section 4.5.1.7.6).
            Filter::Equality(assertion) | Filter::Approx(assertion) => self.equality(assertion)?,
            Filter::GreaterOrEqual(assertion) => {
                self.ordering(assertion, |rule, key| Test::AtLeast { rule, key })?
            }
            Filter::LessOrEqual(assertion) => {
                self.ordering(assertion, |rule, key| Test::AtMost { rule, key })?
            }
            Filter::Substrings(substrings) => self.substrings(substrings)?,
            Filter::Extensible(extensible) => self.extensible(extensible)?,
        })
    }

    /// Every type that may not be read.
    fn hidden(&self) -> Arc<Hidden> {
        let make = || {
            let types = self.schema.attribute_types().map(|(id, _)| id);
            let types = types.filter(|id| !(self.readable)(*id)).collect();
            Arc::new(Hidden { types, ..Hidden::default() })
        };
        Arc::clone(self.hidden.get_or_init(make))
    }

    /// A stored attribute or one that is made up: which of the two the type decides.
    fn item(&self, (attribute_type, options): (TypeId, WantedOptions), test: Test) -> Node {
        let derived = Derived::of(attribute_type, self.schema)
            .filter(|derived| self.asks != Asks::Update || derived.is_of_entry());
        // Nearly every type is its only subtype, and that one may be read: it was asked when it was looked up.
        let subtypes = self.schema.subtypes(attribute_type);
        let hides = subtypes.len() > 1 && !subtypes.iter().all(|id| (self.readable)(*id));
        let hidden = hides.then(|| self.hidden());
        let attribute_type = Some(attribute_type);
        Node::Item(Item { attribute_type, hidden, options, test, derived, collected: None })
    }

    /// What a description asks for, if its type is known and may be read.
    /// Undefined for what may not be read, not false: a negation must not tell either.
    fn described(&self, attribute: &[u8]) -> Option<(TypeId, WantedOptions)> {
        // An earlier program does not know entryUSN, and may apply the same log: an assertion of an update on it is undefined to both.
        let unknown = self.schema.well_known().entry_usn.filter(|_| self.asks == Asks::Update);
        let found = self.schema.find_wanted(attribute).filter(|(id, _)| Some(*id) != unknown);
        found.filter(|(attribute_type, _)| (self.readable)(*attribute_type))
    }

    /// RFC 4511 section 4.5.1.7.1.
    fn equality(&self, assertion: &Assertion<'_>) -> Option<Node> {
        let found = self.described(assertion.attribute)?;
        let rule = self.schema.attribute_type(found.0).equality;
        if rule.is_none() && self.asks != Asks::Update {
            return None;
        }
        let normal =
            || normalised(|out| self.schema.normalise_equality_assertion(found.0, assertion.value, out));
        if self.is_member_of(found.0, &found.1) {
            let group = assertion.value;
            let members = (self.find?)(MembersQuery::Members { group, in_chain: false })?;
            // What has members is the name of an entry. Any other value may be no name at all, and then the item is undefined.
            if members.is_empty() {
                normal()?;
            }
            return Some(self.of_found(found.0, group, members));
        }
        let normal = normal()?;
        // Groups whose members are found by searches list none of them.
        if let Some(find) = self.find
            && found.0 == self.schema.well_known().member
            && let Some(groups) = find(MembersQuery::Finding { member: assertion.value })
        {
            let groups = self.of_found(found.0, assertion.value, groups);
            return Some(Node::Or(vec![self.item(found, Test::Equal { rule, normal }), groups]));
        }
        Some(self.item(found, Test::Equal { rule, normal }))
    }

    /// Is this memberOf, of one for whom memberships are found?
    #[inline]
    fn is_member_of(&self, id: TypeId, options: &WantedOptions) -> bool {
        self.find.is_some() && options.is_none() && self.schema.is_member_of(id)
    }

    #[cold]
    fn membership(&self, attribute_type: TypeId, value: &[u8], asked: MembersQuery<'_>) -> Option<Node> {
        Some(self.of_found(attribute_type, value, (self.find?)(asked)?))
    }

    /// True of the entries that were found, and of those that searches find. The latter are a part of the filter, and go on in slices with it.
    fn of_found(&self, attribute_type: TypeId, value: &[u8], found: Found) -> Node {
        let member = |members| {
            let members = Arc::new(members);
            Node::Member(Membership { attribute_type, value: value.into(), is_judged: false, members })
        };
        let first = member(found.members);
        if found.searches.is_empty() {
            return first;
        }
        let searches = found.searches.into_iter().map(|search| {
            let within = Node::Within(search.base, search.scope);
            Node::And(vec![within, search.filter.0, member(Members::of_all(search.may))])
        });
        Node::Or(std::iter::once(first).chain(searches).collect())
    }

    /// LDAP_MATCHING_RULE_IN_CHAIN: it is asked of memberOf, and of the attributes that list members. Undefined of any other.
    #[cold]
    fn in_chain(&self, extensible: &Extensible<'_>) -> Option<Node> {
        let (id, options) = self.described(extensible.attribute?)?;
        let mut name = Vec::new();
        self.schema.normalise_dn(extensible.value, &mut name).ok()?;
        if extensible.dn_attributes || !options.is_none() {
            return None;
        }
        let value = extensible.value;
        match self.schema.is_member_of(id) {
            true => self.membership(id, value, MembersQuery::Members { group: value, in_chain: true }),
            false => self.membership(id, value, MembersQuery::Groups { attribute_type: id, member: value }),
        }
    }

    /// RFC 4511 sections 4.5.1.7.3 and 4.5.1.7.4: by the key of the ordering rule, compared byte by byte.
    fn ordering(&self, assertion: &Assertion<'_>, test: impl FnOnce(Rule, Normal) -> Test) -> Option<Node> {
        let found = self.described(assertion.attribute)?;
        let rule = self.schema.attribute_type(found.0).ordering?;
        let key = normalised(|out| rule.normalise_value(self.schema, assertion.value, out))?;
        Some(self.item(found, test(rule, key)))
    }

    /// Each part is brought into normal form by itself; blanks at its ends count (RFC 4518 section 2.6.1).
    fn substrings(&self, substrings: &Substrings<'_>) -> Option<Node> {
        let found = self.described(substrings.attribute)?;
        let rule = self.schema.attribute_type(found.0).substring?;
        let part = |kind: Part, text: &[u8]| normalised(|out| rule.normalise_substring(kind, text, out));
        // `None` of no part, and `None` of a part that is no text of its syntax, are two things.
        let end = |kind: Part, text: Option<&[u8]>| match text {
            None => Some(None),
            Some(text) => part(kind, text).map(Some),
        };
        let initial = end(Part::Initial, substrings.initial)?;
        let any = substrings.any.iter().map(|text| part(Part::Any, text)).collect::<Option<_>>()?;
        let last = end(Part::Final, substrings.last)?;
        Some(self.item(found, Test::Substrings { rule, initial, any, last }))
    }

    /// RFC 4511 section 4.5.1.7.7: a rule, an attribute, or both. Without a rule it is the attribute's equality; without an attribute every attribute
    /// counts whose rule it is.
    fn extensible(&self, extensible: &Extensible<'_>) -> Option<Node> {
        let schema = self.schema;
        let rule = match extensible.rule {
            None => None,
            Some(IN_CHAIN) => return self.in_chain(extensible),
            Some(name) => Some(Rule::find(name)?),
        };
        let found = match extensible.attribute {
            None => None,
            Some(attribute) => Some(self.described(attribute)?),
        };
        let kind = found.as_ref().map(|(attribute_type, _)| schema.attribute_type(*attribute_type));
        if let (Some(rule), Some(kind)) = (rule, kind)
            // RFC 4517 section 4.1: a rule is good for attributes of certain syntaxes.
            && !schema.applies_to(rule, kind)
        {
            return None;
        }
        // By the rule of its equality it is an equality assertion, which knows what no entry stores.
        if let (Some(attribute), Some((id, options)), Some(kind)) = (extensible.attribute, &found, kind)
            && rule.is_none_or(|rule| kind.equality == Some(rule))
            && !extensible.dn_attributes
            && (self.is_member_of(*id, options) || (self.find.is_some() && *id == schema.well_known().member))
        {
            return self.equality(&Assertion { attribute, value: extensible.value });
        }
        let rule = rule.or_else(|| kind?.equality)?;
        let normal = normalised(|out| rule.normalise_assertion(schema, extensible.value, out))?;
        let test = Test::Matches { rule, normal, dn_attributes: extensible.dn_attributes };
        let Some(found) = found else {
            // A type that may not be read must not be tested by a rule alone.
            let (hidden, options) = (Some(self.hidden()), WantedOptions::NONE);
            let derived = None;
            let item = Item { attribute_type: None, hidden, options, test, derived, collected: None };
            return Some(Node::Item(item));
        };
        Some(self.item(found, test))
    }
}

/// `None` for a value that is none of its syntax: the item is undefined then.
fn normalised(make: impl FnOnce(&mut Vec<u8>) -> Result<(), schema::Invalid>) -> Option<Normal> {
    let mut out = Vec::new();
    make(&mut out).ok()?;
    Some(Normal::from_slice(&out))
}
