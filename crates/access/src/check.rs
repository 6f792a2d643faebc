//! Whether a rule means something under a schema: the names in it are known, and its DNs and filters can be compared.

use crate::limit::LimitRule;
use crate::near::{shown, unknown};
use crate::rule::{AttributeSelector, Condition, Items, Place, Rule, Target, ValueTest};
use model::attribute::split_options;
use model::{Filter, TypeId};
use proto::filter_string::FilterBuf;
use schema::Schema;

/// Does a rule fit the schema?
///
/// # Errors
/// The first thing that the schema does not know.
pub fn check(rule: &Rule, schema: &Schema) -> Result<(), String> {
    let checked = target(&rule.target, schema).and_then(|()| {
        let mut tests = rule.subjects.iter().flat_map(|subject| &subject.0);
        tests.try_for_each(|test| condition(&test.condition, schema))
    });
    checked.map_err(|reason| format!("rule `{}`: {reason}", rule.name))
}

/// Checks rules that stand together.
///
/// # Errors
/// Those that do not fit, by their position, and why.
pub fn check_all(rules: &[Rule], schema: &Schema) -> Result<(), Vec<(usize, String)>> {
    each(rules, |rule| check(rule, schema))
}

/// Checks limits that stand together.
///
/// # Errors
/// As [`check_all`].
pub fn check_limits(rules: &[LimitRule], schema: &Schema) -> Result<(), Vec<(usize, String)>> {
    each(rules, |rule| {
        let mut tests = rule.subjects.iter().flat_map(|subject| &subject.0);
        let checked = tests.try_for_each(|test| condition(&test.condition, schema));
        checked.map_err(|reason| format!("limit `{}`: {reason}", rule.name))
    })
}

fn each<R>(rules: &[R], check: impl Fn(&R) -> Result<(), String>) -> Result<(), Vec<(usize, String)>> {
    let bad = rules.iter().enumerate().filter_map(|(at, rule)| Some((at, check(rule).err()?)));
    let bad: Vec<_> = bad.collect();
    if bad.is_empty() { Ok(()) } else { Err(bad) }
}

fn target(target: &Target, schema: &Schema) -> Result<(), String> {
    if let Place::At(_, pattern) = &target.place {
        dn(&pattern.dn, schema)?;
    }
    target.filter.iter().try_for_each(|of| filter(of, schema))?;
    let Items::Attributes(selectors) = &target.items else { return Ok(()) };
    for selector in selectors {
        match selector {
            AttributeSelector::Named { description, .. } => {
                attribute(description.as_bytes(), schema).map(drop)?
            }
            AttributeSelector::Class { name, .. } => class(name, schema)?,
            AttributeSelector::Entry
            | AttributeSelector::User
            | AttributeSelector::Operational
            | AttributeSelector::Every => {}
        }
    }
    match (&target.values, selectors.as_slice()) {
        (Some(test), [AttributeSelector::Named { description, .. }]) => values(test, description, schema),
        _ => Ok(()),
    }
}

/// The filter of `values` is about the one attribute of the rule.
fn values(test: &ValueTest, description: &str, schema: &Schema) -> Result<(), String> {
    let own = attribute(description.as_bytes(), schema)?;
    let ValueTest::Filter(of) = test else { return Ok(()) };
    filter(of, schema)?;
    let is_other = |name: &[u8]| schema.find_type(split_options(name).0) != Some(own);
    match of.filter().mentions(&is_other) {
        true => Err(format!("the filter of `values` is about other attributes than `{description}`")),
        false => Ok(()),
    }
}

fn condition(condition_of: &Condition, schema: &Schema) -> Result<(), String> {
    match condition_of {
        Condition::Dn(_, name) | Condition::Group { dn: name, .. } => subject_dn(name, schema),
        Condition::UserFilter(of) => filter(of, schema),
        Condition::Real(inner) => condition(inner, schema),
        Condition::DnAttribute(name) | Condition::GroupAttribute(name) | Condition::Same(name) => {
            attribute(name.as_bytes(), schema).map(drop)
        }
        Condition::Anyone
        | Condition::Anonymous
        | Condition::Users
        | Condition::Auth(_)
        | Condition::Strength(_)
        | Condition::Tls(_)
        | Condition::Peer(_)
        | Condition::Listener(_)
        | Condition::Requester
        | Condition::Parent(_) => Ok(()),
    }
}

fn attribute(description: &[u8], schema: &Schema) -> Result<TypeId, String> {
    let name = split_options(description).0;
    schema.find_type(name).ok_or_else(|| {
        let shown = shown(&String::from_utf8_lossy(name));
        match schema.nearest_type(name) {
            Some(near) => format!("there is no attribute `{shown}`; did you mean `{near}`?"),
            None => format!("there is no attribute `{shown}` in the schema"),
        }
    })
}

fn class(name: &str, schema: &Schema) -> Result<(), String> {
    if schema.find_class(name.as_bytes()).is_some() {
        return Ok(());
    }
    let names = schema.classes().map(|(_, class)| class.name());
    let text = unknown("object class", name, names);
    // A schema has too many classes to list.
    Err(text.split("; there are").next().unwrap_or_default().to_owned())
}

fn dn(name: &str, schema: &Schema) -> Result<(), String> {
    let normal = schema.normalise_dn(name.as_bytes(), &mut Vec::new());
    normal.map_err(|invalid| format!("`{}`: {invalid}", shown(name)))
}

/// A DN, in which `$1` may stand in the place of an RDN.
fn subject_dn(name: &str, schema: &Schema) -> Result<(), String> {
    dn(&with_rdn(name, "cn=x"), schema)
}

/// The DN of a subject, another RDN in the place of `$1`.
pub fn with_rdn(name: &str, rdn: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(name.len()), Some(name.as_bytes()));
    while let Some(dn) = rest {
        let (first, next) = model::dn::split_first(dn);
        let text = String::from_utf8_lossy(first);
        out.push_str(if text.trim() == "$1" { rdn } else { &text });
        out.push_str(if next.is_some() { "," } else { "" });
        rest = next;
    }
    out
}

/// All attributes and matching rules of a filter are known. Whether its values have the right syntax is known too, but such an item is
/// not an error in LDAP: it is undefined.
fn filter(of: &FilterBuf, schema: &Schema) -> Result<(), String> {
    items(&of.filter(), schema)
}

/// Recursive: the depth of a filter is bounded where it is parsed.
fn items(of: &Filter<'_>, schema: &Schema) -> Result<(), String> {
    match of {
        Filter::And(parts) | Filter::Or(parts) => parts.iter().try_for_each(|part| items(part, schema)),
        Filter::Not(part) => items(part, schema),
        Filter::Equality(item)
        | Filter::GreaterOrEqual(item)
        | Filter::LessOrEqual(item)
        | Filter::Approx(item) => attribute(item.attribute, schema).map(drop),
        Filter::Substrings(item) => attribute(item.attribute, schema).map(drop),
        Filter::Present(name) => attribute(name, schema).map(drop),
        Filter::Extensible(item) => {
            item.attribute.map_or(Ok(()), |name| attribute(name, schema).map(drop))?;
            match item.rule.filter(|rule| schema::Rule::find(rule).is_none()) {
                Some(rule) => {
                    Err(format!("there is no matching rule `{}`", shown(&String::from_utf8_lossy(rule))))
                }
                None => Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn names_are_looked_up() {
        let schema = schema::Builder::new().standard().build().expect("it is sound");
        let checked =
            |text: &str| check(&parse(text).unwrap_or_else(|error| panic!("{text}: {error}")), &schema);
        for good in [
            "a: subtree=\"ou=x,dc=y\" filter=\"(&(cn=a)(2.5.4.4:caseExactMatch:=b))\" attrs=cn,@person,!sn; users; allow=read",
            "a: subtree=\"*,dc=y\"; group=\"cn=a,$1,dc=y\" dn-attr=manager same=ou | real-dn=\"uid=x\"; allow=read",
            "a: all attrs=2.5.4.3 values=\"(commonName=x*)\"; user-filter=\"(ou=x)\"; allow=read",
            // A value of another syntax is undefined, as in any filter.
            "a: all filter=\"(uidNumber=x)\"; users; allow=read",
        ] {
            assert_eq!(checked(good), Ok(()), "{good}");
        }
        for (bad, reason) in [
            ("a: all attrs=telefoneNumber; users; allow=read", "did you mean `telephoneNumber`?"),
            ("a: all attrs=xyzzyplugh; users; allow=read", "no attribute `xyzzyplugh` in the schema"),
            ("a: all attrs=@inetOrgPersn; users; allow=read", "did you mean `inetOrgPerson`?"),
            ("a: all attrs=@xyzzyplughqq; users; allow=read", "unknown object class `xyzzyplughqq`"),
            ("a: base=\"flavour=x\"; users; allow=read", "`flavour=x`"),
            ("a: all; dn=\"flavour=x\"; allow=read", "`flavour=x`"),
            ("a: all; real-group=\"flavour=x\"; allow=read", "`flavour=x`"),
            ("a: all filter=\"(!(flavour=*))\"; users; allow=read", "no attribute `flavour`"),
            ("a: all filter=\"(cn:fooMatch:=x)\"; users; allow=read", "no matching rule `fooMatch`"),
            ("a: all attrs=cn values=\"(sn=x)\"; users; allow=read", "other attributes than `cn`"),
            ("a: all; user-filter=\"(flavour=x)\"; allow=read", "no attribute `flavour`"),
            ("a: all; same=flavour; allow=read", "no attribute `flavour`"),
        ] {
            let text = checked(bad).expect_err(bad);
            assert!(text.starts_with("rule `a`: ") && text.contains(reason), "{bad}: {text}");
        }
    }

    #[test]
    fn an_rdn_in_a_subject() {
        assert_eq!(with_rdn("cn=a,$1,dc=y", "ou=b"), "cn=a,ou=b,dc=y");
        assert_eq!(with_rdn("$1", "ou=b"), "ou=b");
        assert_eq!(with_rdn("cn=$1\\,x,$1", "ou=b"), "cn=$1\\,x,ou=b");
    }
}
