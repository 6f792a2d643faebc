//! A filter made ready for evaluation: descriptions looked up, assertion values normalised, once per search.
//!
//! Everything that can be decided without an entry is decided here, so that evaluating is comparing bytes. What a client may not read becomes undefined
//! here, too: an evaluation knows no rights.

use crate::derived::Derived;
use crate::shape::Kind;
use crate::shard::Shard;
use model::TypeId;
use model::filter::{Assertion, Extensible, Filter, Substrings};
use schema::{Part, Rule, Schema, WantedOptions};
use smallvec::SmallVec;
use std::cell::OnceCell;
use std::sync::Arc;

/// Normal form of an assertion value; short ones lie in place.
/// Most assertion values have fewer bytes than this, so most filters are one allocation for each list of parts.
pub(crate) type Normal = SmallVec<[u8; 48]>;

/// May the one who asks test attributes of this type?
pub type Readable<'r> = &'r dyn Fn(TypeId) -> bool;

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
    Item(Item),
}

/// What an item asks of the values of an attribute.
/// `derived` is looked up once: whether a value may have to be made up does not depend on the entry.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Attributes it looks at; `None` for all whose rule is the item's, but those in `hidden`.
    pub(crate) attribute_type: Option<TypeId>,
    /// Ascending: what an item without an attribute may not look at, since the reader may not. All such items of a filter
    /// share it.
    pub(crate) hidden: Option<Arc<[TypeId]>>,
    pub(crate) options: WantedOptions,
    pub(crate) test: Test,
    pub(crate) derived: Option<Derived>,
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

/// What an assertion of equality is where the attribute type has no rule for it.
/// Logs of the first versions have assertions whose outcome was decided by bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WithoutRule {
    /// RFC 4511 section 4.5.1.7.
    Undefined,
    Bytes,
}

impl Compiled {
    /// Makes a filter ready. What the schema does not know, what has no rule, what is no valid assertion and what
    /// the reader may not see, is undefined.
    pub fn new(filter: &Filter<'_>, shard: &Shard, readable: Readable<'_>) -> Compiled {
        Compiled(Compiling::new(shard, readable, WithoutRule::Undefined).compile(filter))
    }

    /// As [`Compiled::new`], of what a logged update asserts: equality without a rule compares bytes, as it did when the
    /// first logs were written.
    pub fn of_update(filter: &Filter<'_>, shard: &Shard, readable: Readable<'_>) -> Compiled {
        Compiled(Compiling::new(shard, readable, WithoutRule::Bytes).compile(filter))
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
                options,
                test: Test::Equal { normal, .. },
                ..
            }) if options.is_none() => Some((*t, normal)),
            _ => None,
        }
    }
}

/// Equality assertions on a plain stored attribute: all that differs from one to the next is the value.
impl Compiled {
    /// The attribute type, if the filter is one such assertion.
    pub fn equality_type(&self) -> Option<TypeId> {
        self.as_equality().map(|(attribute_type, _)| attribute_type)
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

/// What a filter is made ready with.
/// `hidden` is made at most once for a filter: it lists every type of the schema that may not be read.
struct Compiling<'c> {
    schema: &'c Schema,
    readable: Readable<'c>,
    without: WithoutRule,
    hidden: OnceCell<Arc<[TypeId]>>,
}

impl<'c> Compiling<'c> {
    fn new(shard: &'c Shard, readable: Readable<'c>, without: WithoutRule) -> Compiling<'c> {
        Compiling { schema: &shard.schema, readable, without, hidden: OnceCell::new() }
    }

    /// RFC 4526: an empty `&` is true, an empty `|` is false.
    fn compile(&self, filter: &Filter<'_>) -> Node {
        let Compiling { schema, readable, without, .. } = *self;
        let all = |parts: &[Filter<'_>]| parts.iter().map(|part| self.compile(part)).collect::<Vec<_>>();
        match filter {
            Filter::And(parts) if parts.is_empty() => Node::True,
            Filter::Or(parts) if parts.is_empty() => Node::False,
            Filter::And(parts) => Node::And(all(parts)),
            Filter::Or(parts) => Node::Or(all(parts)),
            Filter::Not(negated) => Node::Not(Box::new(self.compile(negated))),
            // Every entry has an object class, and nearly every base search asks just for that.
            Filter::Present(b"objectClass") => Node::True,
            Filter::Present(attribute) => match described(schema, attribute, readable) {
                Some((t, options)) if options.is_none() && t == schema.well_known().object_class => {
                    Node::True
                }
                Some(found) => item(schema, found, Test::Present),
                None => Node::Undefined,
            },
            // Without a rule of its own approximate matching is equality (RFC 4511 section 4.5.1.7.6).
            Filter::Equality(assertion) | Filter::Approx(assertion) => {
                equality(schema, assertion, readable, without)
            }
            Filter::GreaterOrEqual(assertion) => {
                ordering(schema, assertion, readable, |rule, key| Test::AtLeast { rule, key })
            }
            Filter::LessOrEqual(assertion) => {
                ordering(schema, assertion, readable, |rule, key| Test::AtMost { rule, key })
            }
            Filter::Substrings(substrings) => compile_substrings(schema, substrings, readable),
            Filter::Extensible(extensible) => compile_extensible(schema, extensible, readable, &self.hidden),
        }
    }
}

/// A stored attribute or one that is made up: which of the two the type decides.
fn item(schema: &Schema, (attribute_type, options): (TypeId, WantedOptions), test: Test) -> Node {
    let derived = Derived::of(attribute_type, schema);
    Node::Item(Item { attribute_type: Some(attribute_type), hidden: None, options, test, derived })
}

/// What a description asks for, if its type is known and may be read.
/// Undefined for what may not be read, not false: a negation must not tell either.
fn described(schema: &Schema, attribute: &[u8], readable: Readable<'_>) -> Option<(TypeId, WantedOptions)> {
    schema.find_wanted(attribute).filter(|(attribute_type, _)| readable(*attribute_type))
}

/// `None` for a value that is none of its syntax: the item is undefined then.
fn normalised(make: impl FnOnce(&mut Vec<u8>) -> Result<(), schema::Invalid>) -> Option<Normal> {
    let mut out = Vec::new();
    make(&mut out).ok()?;
    Some(Normal::from_slice(&out))
}

/// RFC 4511 section 4.5.1.7.1.
fn equality(
    schema: &Schema,
    assertion: &Assertion<'_>,
    readable: Readable<'_>,
    without: WithoutRule,
) -> Node {
    let Some(found) = described(schema, assertion.attribute, readable) else { return Node::Undefined };
    let rule = schema.attribute_type(found.0).equality;
    if rule.is_none() && without == WithoutRule::Undefined {
        return Node::Undefined;
    }
    match normalised(|out| schema.normalise_equality_assertion(found.0, assertion.value, out)) {
        Some(normal) => item(schema, found, Test::Equal { rule, normal }),
        None => Node::Undefined,
    }
}

/// RFC 4511 sections 4.5.1.7.3 and 4.5.1.7.4: by the key of the ordering rule, compared byte by byte.
fn ordering(
    schema: &Schema,
    assertion: &Assertion<'_>,
    readable: Readable<'_>,
    test: impl FnOnce(Rule, Normal) -> Test,
) -> Node {
    let Some(found) = described(schema, assertion.attribute, readable) else { return Node::Undefined };
    let Some(rule) = schema.attribute_type(found.0).ordering else { return Node::Undefined };
    match normalised(|out| rule.ordering_key(schema, assertion.value, out)) {
        Some(key) => item(schema, found, test(rule, key)),
        None => Node::Undefined,
    }
}

/// Each part is brought into normal form by itself; blanks at its ends count (RFC 4518 section 2.6.1).
fn compile_substrings(schema: &Schema, substrings: &Substrings<'_>, readable: Readable<'_>) -> Node {
    let Some(found) = described(schema, substrings.attribute, readable) else { return Node::Undefined };
    let Some(rule) = schema.attribute_type(found.0).substring else { return Node::Undefined };
    let part = |kind: Part, text: &[u8]| normalised(|out| rule.normalise_substring(kind, text, out));
    // `None` of no part, and `None` of a part that is no text of its syntax, are two things.
    let end = |kind: Part, text: Option<&[u8]>| match text {
        None => Some(None),
        Some(text) => part(kind, text).map(Some),
    };
    let any: Option<Vec<Normal>> = substrings.any.iter().map(|text| part(Part::Any, text)).collect();
    match (end(Part::Initial, substrings.initial), any, end(Part::Final, substrings.last)) {
        (Some(initial), Some(any), Some(last)) => {
            item(schema, found, Test::Substrings { rule, initial, any, last })
        }
        _ => Node::Undefined,
    }
}

/// RFC 4511 section 4.5.1.7.7: a rule, an attribute, or both. Without a rule it is the attribute's equality; without an attribute every attribute
/// counts whose rule it is.
fn compile_extensible(
    schema: &Schema,
    extensible: &Extensible<'_>,
    readable: Readable<'_>,
    hidden: &OnceCell<Arc<[TypeId]>>,
) -> Node {
    let rule = match extensible.rule {
        None => None,
        Some(name) => match Rule::find(name) {
            Some(rule) => Some(rule),
            None => return Node::Undefined,
        },
    };
    let found = match extensible.attribute {
        None => None,
        Some(attribute) => match described(schema, attribute, readable) {
            Some(found) => Some(found),
            None => return Node::Undefined,
        },
    };
    let kind = found.as_ref().map(|(attribute_type, _)| schema.attribute_type(*attribute_type));
    if let (Some(rule), Some(kind)) = (rule, kind)
        // RFC 4517 section 4.1: a rule is good for attributes of certain syntaxes.
        && !schema.applies_to(rule, kind)
    {
        return Node::Undefined;
    }
    let rule = rule.or_else(|| found.as_ref().and_then(|(t, _)| schema.attribute_type(*t).equality));
    let Some(rule) = rule else { return Node::Undefined };
    let Some(normal) = normalised(|out| rule.normalise_assertion(schema, extensible.value, out)) else {
        return Node::Undefined;
    };
    let test = Test::Matches { rule, normal, dn_attributes: extensible.dn_attributes };
    match found {
        Some(found) => item(schema, found, test),
        None => {
            // A type that may not be read must not be tested by a rule alone.
            let hidden = hidden.get_or_init(|| {
                schema.attribute_types().map(|(id, _)| id).filter(|id| !readable(*id)).collect()
            });
            Node::Item(Item {
                attribute_type: None,
                hidden: Some(Arc::clone(hidden)),
                options: WantedOptions::NONE,
                test,
                derived: None,
            })
        }
    }
}
