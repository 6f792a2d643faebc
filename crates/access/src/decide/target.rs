//! Does the target of a rule cover what is asked about?

use super::query::{Failure, Item, Query};
use crate::evaluate::evaluate;
use crate::group::name_in;
use crate::name::{Name, rdns, reaches};
use crate::rule::{AttributeSelector, Items, Pattern, Place, Target, ValueTest};
use crate::truth::Truth;
use crate::world::{Entry, Requester, World, includes};
use model::attribute::split_options;
use schema::Schema;

/// Is the operational attribute with this name one that `+` does not select: does it decide rights, or tell the state of a password?
pub fn is_withheld(name: &str) -> bool {
    ["pandoAccess", "authTimestamp"].iter().any(|other| name.eq_ignore_ascii_case(other))
        || name.get(..3).is_some_and(|begin| name.len() > 3 && begin.eq_ignore_ascii_case("pwd"))
}

/// Is it covered? Undefined if a filter is. An error names what does not cover it.
pub(super) fn covers<W: World + ?Sized>(
    world: &W,
    target: &Target,
    who: &Requester,
    query: &Query<'_>,
) -> Result<Truth, Vec<Failure>> {
    let fails = |key: &str| Err(vec![Failure::of_target(key)]);
    let (is_named, key) = names(world, &target.items, query);
    if !is_named {
        return fails(key);
    }
    if !matches!(target.items, Items::Attributes(_)) {
        return Ok(Truth::True);
    }
    if let Place::At(reach, pattern) = &target.place
        && base_of(world, pattern, query.entry).is_none_or(|(levels, _)| !reaches(*reach, levels))
    {
        return fails(reach.word());
    }
    if !target.operations.has(query.operation) {
        return fails("op");
    }
    let filter = target.filter.as_ref();
    let of_filter = filter.map_or(Truth::True, |of| evaluate(world.schema(), &of.filter(), query.entry));
    if of_filter == Truth::False {
        return fails("filter");
    }
    let of_value = target.values.as_ref().map_or(Truth::True, |test| value(world, test, who, query));
    if of_value == Truth::False {
        return fails("values");
    }
    Ok(Truth::all([of_filter, of_value]))
}

/// Are these the items of the question? The key says which did not fit.
fn names<W: World + ?Sized>(world: &W, items: &Items, query: &Query<'_>) -> (bool, &'static str) {
    let lists = |oids: &[String], oid: &str| oids.iter().any(|other| other == "*" || other == oid);
    match (items, query.item) {
        (Items::Controls(oids), Item::Control(oid)) => (lists(oids, oid), "control"),
        (Items::Extended(oids), Item::Extended(oid)) => (lists(oids, oid), "extended"),
        (Items::Controls(_), _) => (false, "control"),
        (Items::Extended(_), _) => (false, "extended"),
        (Items::Attributes(_), Item::Control(_) | Item::Extended(_)) => (false, "attrs"),
        (Items::Attributes(selectors), Item::Entry) => {
            (selectors.contains(&AttributeSelector::Entry), "attrs")
        }
        (Items::Attributes(selectors), Item::Attribute(name) | Item::Value(name, _)) => {
            (selects(world.schema(), selectors, name), "attrs")
        }
    }
}

/// Is an attribute selected and not excluded?
pub(crate) fn selects(schema: &Schema, selectors: &[AttributeSelector], attribute: &str) -> bool {
    let is_excluded = |selector: &AttributeSelector| match selector {
        AttributeSelector::Named { description, excluded: true } => includes(schema, description, attribute),
        AttributeSelector::Class { name, excluded: true } => of_class(schema, name, attribute),
        _ => false,
    };
    let is_selected = |selector: &AttributeSelector| match selector {
        AttributeSelector::Named { description, excluded: false } => includes(schema, description, attribute),
        AttributeSelector::Class { name, excluded: false } => of_class(schema, name, attribute),
        AttributeSelector::User => is_of_star(schema, attribute, false),
        AttributeSelector::Operational => is_of_star(schema, attribute, true),
        AttributeSelector::Every => true,
        _ => false,
    };
    selectors.iter().any(is_selected) && !selectors.iter().any(is_excluded)
}

fn is_of_star(schema: &Schema, attribute: &str, operational: bool) -> bool {
    let name = split_options(attribute.as_bytes()).0;
    let Some(id) = schema.find_type(name) else { return false };
    let kind = schema.attribute_type(id);
    kind.is_operational() == operational
        && !schema.is_secret(id)
        && !(operational && is_withheld(kind.name()))
}

/// Does an object class require or allow an attribute, or one that it is a subtype of?
fn of_class(schema: &Schema, class: &str, attribute: &str) -> bool {
    let name = split_options(attribute.as_bytes()).0;
    let (Some(class), Some(id)) = (schema.find_class(class.as_bytes()), schema.find_type(name)) else {
        return false;
    };
    schema.class(class).all_attributes().any(|of_class| schema.is_subtype(id, of_class))
}

/// How far below the DN of a place an entry lies, and the RDN that a star stands for. `None` if it does not lie there.
pub(super) fn base_of<W: World + ?Sized>(
    world: &W,
    pattern: &Pattern,
    entry: &Entry,
) -> Option<(usize, Option<String>)> {
    let dn = Name::parse(world.schema(), pattern.dn.as_bytes())?;
    let levels = entry.name.levels_below(&dn)?;
    if !pattern.each_below {
        return Some((levels, None));
    }
    // The star stands for the RDN above the DN.
    let levels = levels.checked_sub(1)?;
    let rdn = rdns(entry.dn.as_bytes()).nth(levels)?;
    Some((levels, Some(String::from_utf8_lossy(rdn).into_owned())))
}

/// Does a value pass the test? A question about no value is not about such a rule.
fn value<W: World + ?Sized>(world: &W, test: &ValueTest, who: &Requester, query: &Query<'_>) -> Truth {
    let schema = world.schema();
    let Item::Value(description, value) = query.item else { return Truth::False };
    match test {
        ValueTest::Requester => {
            let own = who.dn.as_ref().and_then(|dn| Name::parse(schema, dn.as_bytes()));
            let kind = schema.find_type(split_options(description.as_bytes()).0);
            let name = kind.map_or(value, |kind| name_in(schema, kind, value));
            Truth::of(own.is_some() && Name::parse(schema, name) == own)
        }
        ValueTest::Filter(filter) => {
            let attributes = vec![(description.to_owned(), vec![value.to_vec()])];
            // By itself: of an entry that has nothing else, not even a name.
            let alone = Entry::new(schema, "", attributes);
            alone.map_or(Truth::Undefined, |alone| evaluate(schema, &filter.filter(), &alone))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the standard schema has of the state of a password, each attribute of it.
    #[test]
    fn a_plus_selects_no_state() {
        let schema = schema::Builder::new().standard().build().expect("it is sound");
        let selects = |name: &str| selects(&schema, &[AttributeSelector::Operational], name);
        for name in
            ["pandoAccess", "pwdFailureTime", "pwdReset", "PWDHISTORY", "authTimestamp", "pwdLastSuccess"]
        {
            assert!(!selects(name), "{name}");
        }
        assert!(selects("entryUUID") && !selects("cn") && !selects("pwdMaxAge"));
    }
}
