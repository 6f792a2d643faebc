//! What indexes are called, and what is asked for.
//! A name is what an administrator writes and what files keep; settings are a list of kinds for one attribute, as it is configured.

use super::kind::IndexKind;
use model::TypeId;
use schema::Schema;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

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
    /// It is asked before an index is made, so keys are never asked of a value that no rule can bring into normal form.
    pub fn missing_rule(self, schema: &Schema) -> Option<&'static str> {
        self.kind.missing_rule(schema.attribute_type(self.attribute_type))
    }
}

/// Which indexes an attribute type has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexSettings {
    /// Attribute type, by name or OID.
    pub attribute: String,
    /// Their kinds.
    pub kinds: BTreeSet<IndexKind>,
}

impl IndexSettings {
    /// Of these kinds.
    pub fn of(attribute: &str, kinds: impl IntoIterator<Item = IndexKind>) -> IndexSettings {
        IndexSettings { attribute: attribute.to_owned(), kinds: kinds.into_iter().collect() }
    }

    /// The type to index.
    ///
    /// # Errors
    /// That the schema does not know it, or that it lacks a matching rule that the index needs.
    /// Each kind is checked, and the first that cannot be is reported.
    pub fn attribute_type(&self, schema: &Schema) -> Result<TypeId, String> {
        let name = &self.attribute;
        let Some(attribute_type) = schema.find_type(name.as_bytes()) else {
            return Err(format!("the schema has no attribute `{name}`"));
        };
        let names = self.kinds.iter().map(|&kind| IndexName { attribute_type, kind });
        match names.filter_map(|name| name.missing_rule(schema)).next() {
            Some(rule) => Err(format!("`{name}` cannot be indexed so: the type has no {rule} matching rule")),
            None => Ok(attribute_type),
        }
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
        let mut index = IndexSettings::of(attribute, []);
        for kind in kinds.split(',').map(str::trim) {
            let Some(kind) = IndexKind::find(kind) else {
                return Err(format!("`{kind}` is not a kind of index: {}", IndexKind::texts()));
            };
            index.kinds.insert(kind);
        }
        Ok(index)
    }
}

impl fmt::Display for IndexSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<&str> = self.kinds.iter().map(|kind| kind.text()).collect();
        write!(f, "{}:{}", self.attribute, kinds.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_come_from_text_and_go_back() {
        let index: IndexSettings = "uid:eq,ord".parse().expect("it is of the form");
        assert_eq!(index, IndexSettings::of("uid", [IndexKind::Equality, IndexKind::Ordering]));
        assert_eq!(index.to_string(), "uid:eq,ord");
        assert_eq!("uid".parse::<IndexSettings>().map(|index| index.to_string()), Ok("uid:eq".to_owned()));
        assert!("uid:eq,fuzzy".parse::<IndexSettings>().is_err_and(|reason| reason.contains("fuzzy")));
        assert!("u id:eq".parse::<IndexSettings>().is_err());
    }
}
