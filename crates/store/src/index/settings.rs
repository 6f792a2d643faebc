//! What indexes are called, and what is asked for.

use model::TypeId;
use schema::Schema;
use std::fmt;
use std::str::FromStr;

/// What an index is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IndexKind {
    /// `eq`: for `(a=b)`.
    Equality,
    /// `pres`: for `(a=*)`.
    Presence,
    /// `sub`: for `(a=b*c)`, where the parts have three or more bytes, ends of the value included.
    Substring,
    /// `ord`: for `(a>=b)` and `(a<=b)`.
    Ordering,
}

impl IndexKind {
    /// All there are.
    pub const ALL: [IndexKind; 4] =
        [IndexKind::Equality, IndexKind::Presence, IndexKind::Substring, IndexKind::Ordering];

    /// As it is written.
    pub fn text(self) -> &'static str {
        match self {
            IndexKind::Equality => "eq",
            IndexKind::Presence => "pres",
            IndexKind::Substring => "sub",
            IndexKind::Ordering => "ord",
        }
    }

    /// The kind that is written so.
    pub fn find(text: &str) -> Option<IndexKind> {
        IndexKind::ALL.into_iter().find(|kind| kind.text() == text)
    }
}

impl fmt::Display for IndexKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// What tells an index from all others: there is one of each kind on an attribute type at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IndexName {
    /// The attribute type.
    pub attribute_type: TypeId,
    /// The kind.
    pub kind: IndexKind,
}

impl IndexName {
    /// As it is written: the type's name, a colon and the kind.
    pub fn text(self, schema: &Schema) -> String {
        format!("{}:{}", schema.attribute_type(self.attribute_type).name(), self.kind)
    }

    /// Has the type the matching rule that the index needs? If not, what kind of rule is missing.
    pub fn missing_rule(self, schema: &Schema) -> Option<&'static str> {
        let definition = schema.attribute_type(self.attribute_type);
        match self.kind {
            IndexKind::Equality => definition.equality.is_none().then_some("equality"),
            IndexKind::Presence => None,
            IndexKind::Substring => definition.substring.is_none().then_some("substring"),
            IndexKind::Ordering => definition.ordering.is_none().then_some("ordering"),
        }
    }
}

/// Which indexes an attribute type has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexSettings {
    /// Attribute type, by name or OID.
    pub attribute: String,
    /// `eq`: for `(a=b)`.
    pub equality: bool,
    /// `pres`: for `(a=*)`.
    pub presence: bool,
    /// `sub`: for `(a=b*c)`, where the parts have three or more bytes, ends of the value included.
    pub substring: bool,
    /// `ord`: for `(a>=b)` and `(a<=b)`.
    pub ordering: bool,
}

impl IndexSettings {
    /// Of one kind alone.
    pub fn of(attribute: &str, kind: IndexKind) -> IndexSettings {
        IndexSettings {
            attribute: attribute.to_owned(),
            equality: kind == IndexKind::Equality,
            presence: kind == IndexKind::Presence,
            substring: kind == IndexKind::Substring,
            ordering: kind == IndexKind::Ordering,
        }
    }

    /// The type to index.
    ///
    /// # Errors
    /// That the schema does not know it, or that it lacks a matching rule that the index needs.
    pub fn attribute_type(&self, schema: &Schema) -> Result<TypeId, String> {
        let name = &self.attribute;
        let Some(attribute_type) = schema.find_type(name.as_bytes()) else {
            return Err(format!("the schema has no attribute `{name}`"));
        };
        let names = self.kinds().map(|kind| IndexName { attribute_type, kind });
        match names.filter_map(|name| name.missing_rule(schema)).next() {
            Some(rule) => Err(format!("`{name}` cannot be indexed so: the type has no {rule} matching rule")),
            None => Ok(attribute_type),
        }
    }

    /// The kinds that are asked for.
    pub fn kinds(&self) -> impl Iterator<Item = IndexKind> + use<> {
        let asked = [self.equality, self.presence, self.substring, self.ordering];
        IndexKind::ALL.into_iter().zip(asked).filter_map(|(kind, is_asked)| is_asked.then_some(kind))
    }
}

/// As it is configured: `ATTR:eq[,pres,sub,ord]`, or the name of an attribute alone, which is `eq`.
impl FromStr for IndexSettings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (attribute, kinds) = text.split_once(':').unwrap_or((text, "eq"));
        if !model::oid::is_descriptor(attribute.as_bytes()) && !model::oid::is_numeric(attribute.as_bytes()) {
            return Err(format!("`{attribute}` is not the name of an attribute"));
        }
        let mut index = IndexSettings { attribute: attribute.to_owned(), ..IndexSettings::default() };
        for kind in kinds.split(',').map(str::trim) {
            match IndexKind::find(kind) {
                Some(IndexKind::Equality) => index.equality = true,
                Some(IndexKind::Presence) => index.presence = true,
                Some(IndexKind::Substring) => index.substring = true,
                Some(IndexKind::Ordering) => index.ordering = true,
                None => return Err(format!("`{kind}` is not a kind of index: eq, pres, sub or ord")),
            }
        }
        Ok(index)
    }
}

impl fmt::Display for IndexSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<&str> = self.kinds().map(IndexKind::text).collect();
        write!(f, "{}:{}", self.attribute, kinds.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_come_from_text_and_go_back() {
        let index: IndexSettings = "uid:eq,ord".parse().expect("it is of the form");
        assert!(index.equality && index.ordering && !index.presence && !index.substring);
        assert_eq!(index.to_string(), "uid:eq,ord");
        assert_eq!("uid".parse::<IndexSettings>().map(|index| index.to_string()), Ok("uid:eq".to_owned()));
        assert!("uid:eq,fuzzy".parse::<IndexSettings>().is_err_and(|reason| reason.contains("fuzzy")));
        assert!("u id:eq".parse::<IndexSettings>().is_err());
    }
}
