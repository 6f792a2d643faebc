//! Kinds of index. A kind is one file below this one: its implementation of [`Kind`] says how it is written, which keys the values of
//! an attribute have in it, in which structure those are kept, and for which assertions they tell the candidates. All else of
//! an index follows from the structure, so no other code of the store asks for a kind by its name, but the fast paths of an equality
//! assertion. The list at the end of the macro's use is what makes a kind known.

mod definition;
mod equality;
mod ordering;
mod presence;
mod substring;

pub(crate) use self::definition::{Assertion, Keys, Part, Probe, Structure};

use self::definition::Kind;
use super::key::Key;
use schema::AttributeType;
use std::fmt;

/// Makes the enum of all kinds, in the order of the list, and passes each question on to the kind's implementation: a match that
/// the compiler sees through, for keys are made on the way of every update.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident in $module:ident,)*) => {
        /// What an index is good for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum IndexKind {
            $($(#[$doc])* $name,)*
        }

        /// Puts an expression together with the implementation of a kind, which it calls `K`.
        macro_rules! of_kind {
            ($kind:expr, $K:ident => $value:expr) => {
                match $kind {
                    $(IndexKind::$name => {
                        type $K = $module::$name;
                        $value
                    })*
                }
            };
        }

        impl IndexKind {
            /// All there are.
            pub const ALL: [IndexKind; [$(stringify!($name)),*].len()] = [$(IndexKind::$name),*];
        }
    };
}

kinds! {
    /// `eq`: for `(a=b)`.
    Equality in equality,
    /// `pres`: for `(a=*)`.
    Presence in presence,
    /// `sub`: for `(a=b*c)`, where the parts have three or more bytes, ends of the value included.
    Substring in substring,
    /// `ord`: for `(a>=b)` and `(a<=b)`, and for the order of entries.
    Ordering in ordering,
}

impl IndexKind {
    /// Form of the indexes of an attribute in settings.
    pub const FORM: &str = "ATTR:eq[,pres,sub,ord]";

    /// As it is written.
    pub fn text(self) -> &'static str {
        of_kind!(self, K => K::TEXT)
    }

    /// The kind that is written so.
    pub fn find(text: &str) -> Option<IndexKind> {
        IndexKind::ALL.into_iter().find(|kind| kind.text() == text)
    }

    /// As all kinds are written, for a message: `eq, pres, sub or ord`.
    pub fn texts() -> String {
        let texts = IndexKind::ALL.map(IndexKind::text);
        let (last, others) = texts.split_last().expect("there are kinds");
        format!("{} or {last}", others.join(", "))
    }

    /// See [`Kind::STRUCTURE`].
    #[inline]
    pub(crate) fn structure(self) -> Structure {
        of_kind!(self, K => K::STRUCTURE)
    }

    /// See [`Kind::missing_rule`].
    pub(crate) fn missing_rule(self, definition: &AttributeType) -> Option<&'static str> {
        of_kind!(self, K => K::missing_rule(definition))
    }

    /// The key of an entry that has the attribute, if it does not depend on the values.
    #[inline]
    pub(crate) fn attribute_key(self) -> Option<Key> {
        (self.structure() == Structure::Ids).then_some(Key::Attribute)
    }

    /// See [`Kind::IS_OF_VALUE_HASH`].
    #[inline]
    pub(crate) fn is_of_value_hash(self) -> bool {
        of_kind!(self, K => K::IS_OF_VALUE_HASH)
    }

    /// See [`Kind::IS_OF_EACH_BYTE`].
    pub(crate) fn is_of_each_byte(self) -> bool {
        of_kind!(self, K => K::IS_OF_EACH_BYTE)
    }

    /// See [`Kind::each_key`].
    /// The compiler puts the implementation in its place: no call through a pointer for a key.
    #[inline]
    pub(super) fn each_key(
        self,
        keys: Keys<'_>,
        value: &[u8],
        normal: &mut Vec<u8>,
        each: &mut impl FnMut(Key),
    ) {
        normal.clear();
        of_kind!(self, K => K::each_key(keys, value, normal, each));
    }

    /// See [`Kind::probe`].
    pub(crate) fn probe(self, keys: Keys<'_>, assertion: &Assertion<'_>) -> Option<Probe> {
        let probe = of_kind!(self, K => K::probe(keys, assertion))?;
        let fits = match &probe {
            Probe::Tags(tags) => self.structure() == Structure::Postings && !tags.is_empty(),
            Probe::All => self.structure() == Structure::Ids,
            Probe::Range(..) => self.structure() == Structure::Tree,
        };
        assert!(fits, "a probe is of the structure that its index has");
        Some(probe)
    }
}

impl fmt::Display for IndexKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn kinds_are_found_as_they_are_written() {
        let texts: BTreeSet<&str> = IndexKind::ALL.map(IndexKind::text).into();
        assert_eq!(texts.len(), IndexKind::ALL.len(), "each is written in its own way");
        assert!(texts.iter().all(|text| IndexKind::FORM.contains(text)), "the form shows all");
        assert!(IndexKind::ALL.into_iter().all(|kind| IndexKind::find(kind.text()) == Some(kind)));
        assert_eq!((IndexKind::find("fuzzy"), IndexKind::find("")), (None, None));
        assert_eq!(IndexKind::texts(), "eq, pres, sub or ord");
    }

    #[test]
    fn sets_have_what_was_put_into_them() {
        let mut kinds = BTreeSet::from([IndexKind::Ordering, IndexKind::Equality]);
        assert_eq!(kinds.iter().copied().collect::<Vec<_>>(), [IndexKind::Equality, IndexKind::Ordering]);
        kinds.remove(&IndexKind::Equality);
        kinds.remove(&IndexKind::Presence);
        assert!(kinds == BTreeSet::from([IndexKind::Ordering]) && !kinds.is_empty());
        kinds.remove(&IndexKind::Ordering);
        assert!(kinds.is_empty() && kinds == BTreeSet::default());
    }
}
