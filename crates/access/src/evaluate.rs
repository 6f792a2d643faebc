//! A filter on an entry of plain values (RFC 4511, 4.5.1.7): every value is normalised when it is looked at.

use crate::truth::Truth;
use crate::world::{Entry, includes};
use model::filter::{Assertion, Extensible, Substrings};
use model::{Filter, TypeId};
use schema::{Part, Rule, Schema};

/// Is a filter true of an entry?
pub fn evaluate(schema: &Schema, filter: &Filter<'_>, entry: &Entry) -> Truth {
    let of = |part: &Filter<'_>| evaluate(schema, part, entry);
    let item = match filter {
        Filter::And(parts) => return Truth::all(parts.iter().map(of)),
        Filter::Or(parts) => return Truth::any(parts.iter().map(of)),
        Filter::Not(part) => return of(part).negated(),
        Filter::Present(description) => {
            wanted(schema, description).map(|(text, _)| entry.values(schema, text).next().is_some())
        }
        // Without a rule of its own approximate matching is equality.
        Filter::Equality(item) | Filter::Approx(item) => equality(schema, item, entry),
        Filter::GreaterOrEqual(item) => ordering(schema, item, entry, |value, key| value >= key),
        Filter::LessOrEqual(item) => ordering(schema, item, entry, |value, key| value <= key),
        Filter::Substrings(item) => substrings(schema, item, entry),
        Filter::Extensible(item) => extensible(schema, item, entry),
    };
    Truth::of_option(item)
}

/// The description of an item, and its type. `None` if the schema does not know it.
fn wanted<'d>(schema: &Schema, description: &'d [u8]) -> Option<(&'d str, TypeId)> {
    let (_, _) = schema.find_wanted(description)?;
    let text = std::str::from_utf8(description).ok()?;
    Some((text, schema.find_type(model::attribute::split_options(description).0)?))
}

/// The normal form under a rule.
pub(crate) fn normal(schema: &Schema, rule: Rule, value: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    rule.normalise_value(schema, value, &mut out).ok().map(|()| out)
}

fn asserted(schema: &Schema, rule: Rule, value: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    rule.normalise_assertion(schema, value, &mut out).ok().map(|()| out)
}

/// Has one of the values a normal form that passes?
fn any_value(schema: &Schema, entry: &Entry, text: &str, rule: Rule, passes: impl Fn(&[u8]) -> bool) -> bool {
    entry.values(schema, text).filter_map(|value| normal(schema, rule, value)).any(|form| passes(&form))
}

fn equality(schema: &Schema, item: &Assertion<'_>, entry: &Entry) -> Option<bool> {
    let (text, kind) = wanted(schema, item.attribute)?;
    let rule = schema.attribute_type(kind).equality?;
    let key = asserted(schema, rule, item.value)?;
    Some(any_value(schema, entry, text, rule, |form| form == key))
}

fn ordering(
    schema: &Schema,
    item: &Assertion<'_>,
    entry: &Entry,
    passes: impl Fn(&[u8], &[u8]) -> bool,
) -> Option<bool> {
    let (text, kind) = wanted(schema, item.attribute)?;
    let rule = schema.attribute_type(kind).ordering?;
    let key = normal(schema, rule, item.value)?;
    Some(any_value(schema, entry, text, rule, |form| passes(form, &key)))
}

fn substrings(schema: &Schema, item: &Substrings<'_>, entry: &Entry) -> Option<bool> {
    let (text, kind) = wanted(schema, item.attribute)?;
    let rule = schema.attribute_type(kind).substring?;
    let part = |part: Part, bytes: &[u8]| {
        let mut out = Vec::new();
        rule.normalise_substring(part, bytes, &mut out).ok().map(|()| out)
    };
    let initial = item.initial.map_or(Some(None), |bytes| part(Part::Initial, bytes).map(Some))?;
    let any: Vec<Vec<u8>> = item.any.iter().map(|bytes| part(Part::Any, bytes)).collect::<Option<_>>()?;
    let last = item.last.map_or(Some(None), |bytes| part(Part::Final, bytes).map(Some))?;
    Some(any_value(schema, entry, text, rule, |form| {
        has_parts(form, initial.as_deref().unwrap_or_default(), &any, last.as_deref().unwrap_or_default())
    }))
}

/// Are the parts found one after the other, without overlap?
fn has_parts(form: &[u8], initial: &[u8], any: &[Vec<u8>], last: &[u8]) -> bool {
    let Some(mut rest) = form.strip_prefix(initial) else { return false };
    for part in any {
        let Some(at) = rest.windows(part.len().max(1)).position(|window| window == part.as_slice()) else {
            if part.is_empty() {
                continue;
            }
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

fn extensible(schema: &Schema, item: &Extensible<'_>, entry: &Entry) -> Option<bool> {
    let rule = item.rule.map_or(Some(None), |name| Rule::find(name).map(Some))?;
    let found = item.attribute.map_or(Some(None), |name| wanted(schema, name).map(Some))?;
    let kind = found.map(|(_, kind)| schema.attribute_type(kind));
    if let (Some(rule), Some(kind)) = (rule, kind)
        && !schema.applies_to(rule, kind)
    {
        return None;
    }
    let rule = rule.or_else(|| kind?.equality)?;
    let key = asserted(schema, rule, item.value)?;
    let is_looked_at = |description: &str| match found {
        Some((text, _)) => includes(schema, text, description),
        None => {
            let name = model::attribute::split_options(description.as_bytes()).0;
            schema.find_type(name).is_some_and(|id| schema.applies_to(rule, schema.attribute_type(id)))
        }
    };
    let passes = |value: &[u8]| normal(schema, rule, value).is_some_and(|form| rule.matches(&form, &key));
    let of_entry = entry.attributes.iter().filter(|(description, _)| is_looked_at(description));
    let mut values = of_entry.flat_map(|(_, values)| values);
    let of_dn = || {
        let rdns = model::dn::parse(entry.dn.as_bytes()).unwrap_or_default();
        rdns.iter()
            .flatten()
            .any(|ava| std::str::from_utf8(ava.attribute_type).is_ok_and(&is_looked_at) && passes(&ava.value))
    };
    Some(values.any(|value| passes(value)) || (item.dn_attributes && of_dn()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_on_plain_values() {
        let schema = schema::Builder::new().standard().build().expect("it is sound");
        let attribute = |name: &str, values: &[&str]| {
            (name.to_owned(), values.iter().map(|value| value.as_bytes().to_vec()).collect())
        };
        let entry = Entry::new(
            &schema,
            "cn=Ann Lee,ou=Sales,dc=x",
            vec![
                attribute("objectClass", &["person", "posixAccount"]),
                attribute("cn", &["Ann  Lee"]),
                attribute("sn;lang-de-at", &["Leh"]),
                attribute("uidNumber", &["007"]),
                attribute("jpegPhoto", &["x"]),
            ],
        )
        .expect("it is a DN");
        for (text, truth) in [
            ("(cn=ann lee)", Truth::True),
            ("(cn=ann)", Truth::False),
            ("(name=ANN LEE)", Truth::True),
            ("(sn=leh)", Truth::True),
            ("(sn;lang-de-=leh)", Truth::True),
            ("(sn;lang-fr=leh)", Truth::False),
            ("(cn=a*n*l*e)", Truth::True),
            ("(cn=a*lee*x)", Truth::False),
            ("(cn=*nn*nn*)", Truth::False),
            ("(uidNumber=7)", Truth::True),
            ("(uidNumber>=8)", Truth::False),
            ("(uidNumber<=8)", Truth::True),
            ("(uidNumber=x)", Truth::Undefined),
            ("(!(uidNumber=x))", Truth::Undefined),
            ("(flavour=*)", Truth::Undefined),
            ("(jpegPhoto=x)", Truth::Undefined),
            ("(jpegPhoto=*)", Truth::True),
            ("(mail=*)", Truth::False),
            ("(!(mail=*))", Truth::True),
            ("(&(mail=*)(flavour=*))", Truth::False),
            ("(|(cn=*)(flavour=*))", Truth::True),
            ("(&)", Truth::True),
            ("(|)", Truth::False),
            ("(ou:dn:=sales)", Truth::True),
            ("(ou:=sales)", Truth::False),
            ("(cn:caseExactMatch:=Ann Lee)", Truth::True),
            ("(cn:caseExactMatch:=ann lee)", Truth::False),
            ("(:caseIgnoreMatch:=leh)", Truth::True),
            ("(cn:integerMatch:=1)", Truth::Undefined),
            ("(objectClass=top)", Truth::False),
            ("(objectClass=PERSON)", Truth::True),
        ] {
            let filter = proto::filter_string::parse(text.as_bytes()).expect(text);
            assert_eq!(evaluate(&schema, &filter.filter(), &entry), truth, "{text}");
        }
    }
}
