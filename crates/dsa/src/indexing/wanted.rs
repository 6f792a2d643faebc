//! What an index is called in a request: `ATTR`, `ATTR:KIND[,KIND]` or, as in OpenLDAP's `olcDbIndex`, `ATTR KIND[,KIND]`.

use crate::outcome::{Refusal, quoted};
use model::ResultCode;
use schema::Schema;
use std::collections::BTreeSet;
use store::{IndexKind, IndexName};

/// A change that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IndexChange {
    Add(IndexName),
    Delete(IndexName),
    /// There are to be these and no others.
    Replace(BTreeSet<IndexName>),
    /// It is to be compared with the entries.
    Verify(IndexName),
    /// It is no longer to be compared.
    Leave(IndexName),
    /// None is.
    LeaveAll,
}

/// The indexes that a value names.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn parse(schema: &Schema, value: &[u8]) -> Result<Vec<IndexName>, Refusal> {
    let text = String::from_utf8_lossy(value);
    let (attribute, kinds) = text.trim().split_once([':', ' ']).unwrap_or((text.trim(), "eq"));
    let Some(attribute_type) = schema.find_type(attribute.as_bytes()) else {
        let text = format!("{}: the schema has no such attribute", quoted(value));
        return Err((ResultCode::UndefinedAttributeType, text));
    };
    let mut names = Vec::new();
    for word in kinds.split([',', ' ']).filter(|word| !word.is_empty()) {
        let Some(kind) = IndexKind::find(word) else {
            let (value, kinds) = (quoted(value), IndexKind::texts());
            let text = format!("{value}: an index is ATTR:KIND[,KIND], and a kind is {kinds}");
            return Err((ResultCode::InvalidAttributeSyntax, text));
        };
        let name = IndexName { attribute_type, kind };
        if let Some(rule) = name.missing_rule(schema) {
            let text = format!("{}: the attribute has no {rule} matching rule", name.text(schema));
            return Err((ResultCode::InappropriateMatching, text));
        }
        names.push(name);
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_name_indexes() {
        let schema = schema::Builder::new().standard().build().expect("it is sound");
        let texts = |value: &str| -> Result<Vec<String>, ResultCode> {
            let names = parse(&schema, value.as_bytes()).map_err(|(code, _)| code)?;
            Ok(names.iter().map(|name| name.text(&schema)).collect())
        };
        assert_eq!(texts("uid"), Ok(vec!["uid:eq".to_owned()]));
        assert_eq!(texts("userid:eq,pres").unwrap(), ["uid:eq", "uid:pres"]);
        assert_eq!(texts("cn eq, sub").unwrap(), ["cn:eq", "cn:sub"]);
        assert_eq!(texts("taste:eq"), Err(ResultCode::UndefinedAttributeType));
        assert_eq!(texts("member:ord"), Err(ResultCode::InappropriateMatching));
        assert_eq!(texts("cn:fuzzy"), Err(ResultCode::InvalidAttributeSyntax));
    }
}
