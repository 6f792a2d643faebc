//! Search filters (RFC 4511 section 4.5.1.7) as decoded, borrowed from the request.

/// A filter whose attribute descriptions and assertion values point into the message they came from.
/// Depth is bounded by [`crate::limits::FILTER_DEPTH_MAX`], items by [`crate::limits::FILTER_ITEMS_MAX`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter<'a> {
    /// All of them; the empty set is absolute true (RFC 4526).
    And(Vec<Filter<'a>>),
    /// Any of them; the empty set is absolute false (RFC 4526).
    Or(Vec<Filter<'a>>),
    /// The opposite; undefined stays undefined.
    Not(Box<Filter<'a>>),
    /// `(attribute=value)`
    Equality(Assertion<'a>),
    /// `(attribute=initial*any*final)`
    Substrings(Substrings<'a>),
    /// `(attribute>=value)`
    GreaterOrEqual(Assertion<'a>),
    /// `(attribute<=value)`
    LessOrEqual(Assertion<'a>),
    /// `(attribute=*)`
    Present(&'a [u8]),
    /// `(attribute~=value)`
    Approx(Assertion<'a>),
    /// `(attribute:dn:rule:=value)`
    Extensible(Extensible<'a>),
}

impl Filter<'_> {
    /// Items that have to be tested at most to know whether it is true of an entry.
    pub fn items(&self) -> u32 {
        match self {
            Filter::And(parts) | Filter::Or(parts) => parts.iter().map(Filter::items).sum(),
            Filter::Not(part) => part.items(),
            _ => 1,
        }
    }

    /// Is there an attribute description in it, as sent, of which this is so? An extensible match that names none, and so is
    /// about all attributes, has an empty one.
    pub fn mentions(&self, is_so: &dyn Fn(&[u8]) -> bool) -> bool {
        match self {
            Filter::And(parts) | Filter::Or(parts) => parts.iter().any(|part| part.mentions(is_so)),
            Filter::Not(part) => part.mentions(is_so),
            Filter::Equality(assertion)
            | Filter::GreaterOrEqual(assertion)
            | Filter::LessOrEqual(assertion)
            | Filter::Approx(assertion) => is_so(assertion.attribute),
            Filter::Substrings(substrings) => is_so(substrings.attribute),
            Filter::Present(attribute) => is_so(attribute),
            Filter::Extensible(extensible) => is_so(extensible.attribute.unwrap_or_default()),
        }
    }
}

/// An attribute value assertion: description as sent, value as sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assertion<'a> {
    /// Attribute description, not yet looked up in the schema.
    pub attribute: &'a [u8],
    /// Assertion value, not yet normalised.
    pub value: &'a [u8],
}

/// A substring assertion. At least one part is there, and no part is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Substrings<'a> {
    /// Attribute description.
    pub attribute: &'a [u8],
    /// What the value must begin with.
    pub initial: Option<&'a [u8]>,
    /// What must follow, in this order, without overlap.
    pub any: Vec<&'a [u8]>,
    /// What the value must end with.
    pub last: Option<&'a [u8]>,
}

/// An extensible match; at least one of rule and attribute is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extensible<'a> {
    /// Matching rule, by OID or name.
    pub rule: Option<&'a [u8]>,
    /// Attribute description; without it, all attributes that the rule suits.
    pub attribute: Option<&'a [u8]>,
    /// Assertion value.
    pub value: &'a [u8],
    /// Do the attributes of the entry's DN count too?
    pub dn_attributes: bool,
}
