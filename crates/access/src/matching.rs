//! Filters on plain values: three-valued, by the matching rules of a schema (RFC 4511 section 4.5.1.7). For entries that are not there yet,
//! and for single values.

use model::filter::{Assertion, Extensible, Substrings};
use model::{Filter, TypeId};
use schema::{Part, Rule, Schema};

/// True, false, or undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    /// It is not.
    False,
    /// Unknown attribute, no such rule, or no assertion of its syntax.
    Undefined,
    /// It is.
    True,
}

impl From<bool> for Truth {
    fn from(is_so: bool) -> Truth {
        if is_so { Truth::True } else { Truth::False }
    }
}

/// Is a filter true of an entry with these values? `values` gives those of an attribute description and of its subtypes.
pub fn evaluate(filter: &Filter<'_>, schema: &Schema, values: &dyn Fn(&[u8]) -> Vec<Vec<u8>>) -> Truth {
    let each = |part: &Filter<'_>| evaluate(part, schema, values);
    match filter {
        Filter::And(parts) => parts.iter().map(each).min().unwrap_or(Truth::True),
        Filter::Or(parts) => parts.iter().map(each).max().unwrap_or(Truth::False),
        Filter::Not(part) => match each(part) {
            Truth::True => Truth::False,
            Truth::Undefined => Truth::Undefined,
            Truth::False => Truth::True,
        },
        Filter::Present(attribute) => match find(schema, attribute) {
            Some(_) => Truth::from(!values(attribute).is_empty()),
            None => Truth::Undefined,
        },
        Filter::Equality(assertion) | Filter::Approx(assertion) => equality(assertion, schema, values),
        Filter::GreaterOrEqual(assertion) => ordering(assertion, schema, values, |value, key| value >= key),
        Filter::LessOrEqual(assertion) => ordering(assertion, schema, values, |value, key| value <= key),
        Filter::Substrings(parts) => substrings(parts, schema, values).unwrap_or(Truth::Undefined),
        Filter::Extensible(extensible) => {
            self::extensible(extensible, schema, values).unwrap_or(Truth::Undefined)
        }
    }
}

/// Is a filter true of one value of an attribute? Items on other attributes are undefined.
pub fn is_true_of_value(filter: &Filter<'_>, schema: &Schema, attribute_type: TypeId, value: &[u8]) -> bool {
    let about =
        |name: &[u8]| find(schema, name).is_some_and(|wanted| schema.is_subtype(attribute_type, wanted));
    let values = |name: &[u8]| if about(name) { vec![value.to_vec()] } else { Vec::new() };
    evaluate(filter, schema, &values) == Truth::True
}

fn find(schema: &Schema, attribute: &[u8]) -> Option<TypeId> {
    schema.find_wanted(attribute).map(|(id, _)| id)
}

/// Is one of the values so? A value without a normal form is not.
fn any(
    values: Vec<Vec<u8>>,
    normalise: impl Fn(&[u8], &mut Vec<u8>) -> bool,
    is_so: impl Fn(&[u8]) -> bool,
) -> Truth {
    let mut normal = Vec::new();
    Truth::from(values.iter().any(|value| {
        normal.clear();
        normalise(value, &mut normal) && is_so(&normal)
    }))
}

fn equality(assertion: &Assertion<'_>, schema: &Schema, values: &dyn Fn(&[u8]) -> Vec<Vec<u8>>) -> Truth {
    let asserted = |id| {
        let rule = schema.attribute_type(id).equality?;
        let mut normal = Vec::new();
        schema.normalise_equality_assertion(id, assertion.value, &mut normal).ok()?;
        Some((rule, normal))
    };
    let Some((rule, asserted)) = find(schema, assertion.attribute).and_then(asserted) else {
        return Truth::Undefined;
    };
    let normalise = |value: &[u8], out: &mut Vec<u8>| rule.normalise_value(schema, value, out).is_ok();
    any(values(assertion.attribute), normalise, |value| rule.matches(value, &asserted))
}

fn ordering(
    assertion: &Assertion<'_>,
    schema: &Schema,
    values: &dyn Fn(&[u8]) -> Vec<Vec<u8>>,
    is_so: impl Fn(&[u8], &[u8]) -> bool,
) -> Truth {
    let rule = find(schema, assertion.attribute).and_then(|id| schema.attribute_type(id).ordering);
    let mut key = Vec::new();
    let Some(rule) = rule.filter(|rule| rule.normalise_value(schema, assertion.value, &mut key).is_ok())
    else {
        return Truth::Undefined;
    };
    let normalise = |value: &[u8], out: &mut Vec<u8>| rule.normalise_value(schema, value, out).is_ok();
    any(values(assertion.attribute), normalise, |value| is_so(value, &key))
}

fn substrings(
    parts: &Substrings<'_>,
    schema: &Schema,
    values: &dyn Fn(&[u8]) -> Vec<Vec<u8>>,
) -> Option<Truth> {
    let rule = schema.attribute_type(find(schema, parts.attribute)?).substring?;
    let part = |kind, text: &[u8]| {
        let mut normal = Vec::new();
        rule.normalise_substring(kind, text, &mut normal).ok().map(|()| normal)
    };
    let initial = parts.initial.map_or(Some(Vec::new()), |text| part(Part::Initial, text))?;
    let last = parts.last.map_or(Some(Vec::new()), |text| part(Part::Final, text))?;
    let middle: Vec<Vec<u8>> = parts.any.iter().map(|text| part(Part::Any, text)).collect::<Option<_>>()?;
    let has_parts = |value: &[u8]| {
        let Some(mut rest) = value.strip_prefix(&initial[..]) else { return false };
        for part in &middle {
            let Some(at) = rest.windows(part.len().max(1)).position(|window| window == &part[..]) else {
                return false;
            };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(&last)
    };
    let normalise = |value: &[u8], out: &mut Vec<u8>| rule.normalise_value(schema, value, out).is_ok();
    Some(any(values(parts.attribute), normalise, has_parts))
}

/// Without an attribute it is undefined: what an entry has beside the attributes that a filter names is not known here.
fn extensible(
    extensible: &Extensible<'_>,
    schema: &Schema,
    values: &dyn Fn(&[u8]) -> Vec<Vec<u8>>,
) -> Option<Truth> {
    let attribute = extensible.attribute.filter(|_| !extensible.dn_attributes)?;
    let kind = schema.attribute_type(find(schema, attribute)?);
    let rule = match extensible.rule {
        None => kind.equality?,
        Some(name) => Rule::find(name).filter(|rule| schema.applies_to(*rule, kind))?,
    };
    let mut asserted = Vec::new();
    rule.normalise_assertion(schema, extensible.value, &mut asserted).ok()?;
    let normalise = |value: &[u8], out: &mut Vec<u8>| rule.normalise_value(schema, value, out).is_ok();
    Some(any(values(attribute), normalise, |value| rule.matches(value, &asserted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_on_plain_values() {
        let schema = schema::Builder::new().standard().build().unwrap();
        let values = |name: &[u8]| -> Vec<Vec<u8>> {
            match name {
                b"cn" => vec![b"Ann Other".to_vec(), b"Anna".to_vec()],
                b"employeeNumber" => vec![b"7".to_vec()],
                b"objectClass" => vec![b"person".to_vec()],
                _ => Vec::new(),
            }
        };
        let is = |text: &str| {
            let filter = proto::filter_string::parse(text.as_bytes()).unwrap();
            evaluate(&filter.filter(), &schema, &values)
        };
        for yes in [
            "(cn=ann  other)",
            "(cn=a*n*other)",
            "(cn=*)",
            "(objectClass=2.5.6.6)",
            "(!(sn=*))",
            "(&)",
            "(cn:caseExactMatch:=Anna)",
        ] {
            assert_eq!(is(yes), Truth::True, "{yes}");
        }
        for no in ["(cn=ann)", "(cn=*ann)", "(sn=x)", "(|)", "(cn:caseExactMatch:=anna)", "(!(cn=anna))"] {
            assert_eq!(is(no), Truth::False, "{no}");
        }
        for unknown in ["(nonsense=x)", "(!(nonsense=x))", "(cn>=a)", "(cn:dn:=x)", "(:caseExactMatch:=x)"] {
            assert_eq!(is(unknown), Truth::Undefined, "{unknown}");
        }
    }

    #[test]
    fn a_filter_on_one_value() {
        let schema = schema::Builder::new().standard().build().unwrap();
        let filter = proto::filter_string::parse(b"(|(mail=*@example.com)(mail=a@b.c))").unwrap();
        let mail = schema.find_type(b"mail").unwrap();
        let is = |value: &str| is_true_of_value(&filter.filter(), &schema, mail, value.as_bytes());
        assert!(is("x@EXAMPLE.com") && is("a@b.c") && !is("b@b.c"));
    }
}
