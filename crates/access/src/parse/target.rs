//! The first part of a rule: what it is about.

use super::error::Error;
use super::keys::Part;
use super::word::{self, Value, Word, Words};
use crate::near::{shown, unknown};
use crate::rule::{
    AttributeSelector, Items, Operation, Operations, Pattern, Place, Reach, Target, ValueTest,
};
use model::limits::ACCESS_LIST_MAX;
use proto::filter_string::{self, FilterBuf};

/// What has been read of it.
#[derive(Default)]
struct Read {
    place: Option<Place>,
    filter: Option<FilterBuf>,
    items: Option<Items>,
    values: Option<ValueTest>,
    operations: Option<Operations>,
}

pub(super) fn parse(words: &mut Words<'_>) -> Result<Target, Error> {
    let mut read = Read::default();
    let start = words.at();
    while let Some(word) = words.next()? {
        key(&mut read, word)?;
    }
    finish(read, start)
}

fn key(read: &mut Read, word: Word<'_>) -> Result<(), Error> {
    let (name, at) = (word.key, word.at);
    match name {
        "all" if word::switch(&word)? => Err(Error::new(at, "`all` is not negated")),
        "all" => once(&mut read.place, Place::All, at, "a rule has one place"),
        "base" | "one" | "subtree" | "children" => {
            let value = word.value()?.plain(name)?;
            let place = Place::At(reach(name), pattern(&value)?);
            once(&mut read.place, place, at, "a rule has one place; write a rule for each")
        }
        "filter" => once(&mut read.filter, filter(&word.value()?.plain(name)?)?, at, "`filter` stands twice"),
        "attrs" => {
            let items = Items::Attributes(selectors(&word.value()?)?);
            once(&mut read.items, items, at, "a rule has one of `attrs`, `control` and `extended`, once")
        }
        "control" | "extended" => {
            let oids = oids(&word.value()?.plain(name)?, name)?;
            let items = if name == "control" { Items::Controls(oids) } else { Items::Extended(oids) };
            once(&mut read.items, items, at, "a rule has one of `attrs`, `control` and `extended`, once")
        }
        "values" => {
            let value = word.value()?.plain(name)?;
            let test =
                if value.text == "self" { ValueTest::Requester } else { ValueTest::Filter(filter(&value)?) };
            once(&mut read.values, test, at, "`values` stands twice")
        }
        "op" => once(&mut read.operations, operations(&word.value()?.plain(name)?)?, at, "`op` stands twice"),
        other => Err(Error::new(at, Part::Target.unknown(other))),
    }
}

/// Sets what is said once.
fn once<T>(place: &mut Option<T>, value: T, at: usize, reason: &str) -> Result<(), Error> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::new(at, reason)),
    }
}

fn finish(read: Read, start: usize) -> Result<Target, Error> {
    let Read { place, filter, items, values, operations } = read;
    let of_entries = matches!(items, None | Some(Items::Attributes(_)));
    if !of_entries && (place.is_some() || filter.is_some() || values.is_some() || operations.is_some()) {
        let reason = "a rule about controls or extended operations is not about entries: nothing else stands with \
                      `control` or `extended`";
        return Err(Error::new(start, reason));
    }
    let place = match place {
        Some(place) => place,
        None if !of_entries => Place::All,
        None => {
            let reason = "which entries is the rule about? `all`, or one of base=DN, one=DN, subtree=DN and children=DN";
            return Err(Error::new(start, reason));
        }
    };
    // Not said: the entry and its user attributes.
    let default = || Items::Attributes(vec![AttributeSelector::Entry, AttributeSelector::User]);
    let items = items.unwrap_or_else(default);
    if values.is_some() {
        check_values(&items, values.as_ref(), start)?;
    }
    Ok(Target { place, filter, items, values, operations: operations.unwrap_or(Operations::ANY) })
}

/// `values` goes with one attribute, and its filter is about that one. Whether two names are those of one type is known where the schema
/// is.
fn check_values(items: &Items, values: Option<&ValueTest>, start: usize) -> Result<(), Error> {
    let Items::Attributes(selectors) = items else { return Ok(()) };
    let [AttributeSelector::Named { description, excluded: false }] = selectors.as_slice() else {
        return Err(Error::new(
            start,
            "`values` judges the values of one attribute: attrs=NAME stands with it",
        ));
    };
    let Some(ValueTest::Filter(filter)) = values else { return Ok(()) };
    match filter.filter().mentions(&<[u8]>::is_empty) {
        true => {
            let reason =
                format!("every item of the filter of `values` is about the attribute `{description}`");
            Err(Error::new(start, reason))
        }
        false => Ok(()),
    }
}

/// The reach that a key is the word of.
pub(super) fn reach(key: &str) -> Reach {
    match key {
        "base" => Reach::Base,
        "one" => Reach::One,
        "subtree" => Reach::Subtree,
        _ => Reach::Children,
    }
}

fn pattern(value: &Value) -> Result<Pattern, Error> {
    let text = value.text.trim();
    let (each_below, dn) = match text.strip_prefix('*') {
        None => (false, text),
        Some(rest) => match rest.trim_start().strip_prefix(',') {
            Some(dn) => (true, dn.trim_start()),
            None => return Err(value.error("a star stands for one RDN at the beginning: \"*,DN\"")),
        },
    };
    model::dn::parse(dn.as_bytes())
        .map_err(|error| value.error(format!("`{}` is no DN: {error}", shown(dn))))?;
    Ok(Pattern { each_below, dn: dn.to_owned() })
}

/// A filter as text.
pub(super) fn filter(value: &Value) -> Result<FilterBuf, Error> {
    filter_string::parse(value.text.as_bytes())
        .map_err(|error| value.error_at(error.at, format!("`{}`: {}", shown(&value.text), error.reason)))
}

fn selectors(value: &Value) -> Result<Vec<AttributeSelector>, Error> {
    let list = word::list(value, "attrs", ACCESS_LIST_MAX)?;
    let first = usize::from(value.negated);
    let mut out = Vec::with_capacity(list.len());
    for (at, word) in list {
        let (excluded, word) = match word.strip_prefix('!') {
            Some(word) => (true, word),
            // The first `!` of the value was taken from the list.
            None => (first == 1 && out.is_empty(), word),
        };
        out.push(selector(word, excluded).map_err(|reason| value.error_at(at, reason))?);
    }
    let is_excluded = |selector: &AttributeSelector| {
        matches!(
            selector,
            AttributeSelector::Named { excluded: true, .. } | AttributeSelector::Class { excluded: true, .. }
        )
    };
    match out.iter().all(is_excluded) {
        true => {
            Err(value
                .error("`attrs` excludes all that it names; write of what, as in attrs=*,!telephoneNumber"))
        }
        false => Ok(out),
    }
}

fn selector(word: &str, excluded: bool) -> Result<AttributeSelector, String> {
    let selector = match word {
        "entry" => AttributeSelector::Entry,
        "*" => AttributeSelector::User,
        "+" => AttributeSelector::Operational,
        "**" => AttributeSelector::Every,
        _ => return named(word, excluded),
    };
    match excluded {
        true => Err(format!("`!{word}` is not excluded; leave `{word}` out, or write a rule that denies it")),
        false => Ok(selector),
    }
}

fn named(word: &str, excluded: bool) -> Result<AttributeSelector, String> {
    if let Some(name) = word.strip_prefix('@') {
        return match model::attribute::is_well_formed(name.as_bytes()) && !name.contains(';') {
            true => Ok(AttributeSelector::Class { name: name.to_owned(), excluded }),
            false => Err(format!("`{}` is no object class: @NAME", shown(word))),
        };
    }
    match model::attribute::is_well_formed(word.as_bytes()) {
        true => Ok(AttributeSelector::Named { description: word.to_owned(), excluded }),
        false => Err(format!(
            "`{}` selects no attributes: NAME, NAME;OPTION, @CLASS, !NAME, !@CLASS, *, +, ** or entry",
            shown(word)
        )),
    }
}

fn operations(value: &Value) -> Result<Operations, Error> {
    let words = Operation::WORDS;
    let mut operations = Vec::new();
    for (at, name) in word::list(value, "op", words.len())? {
        match words.iter().find(|(word, _)| *word == name) {
            Some((_, operation)) => operations.push(*operation),
            None => {
                let reason = unknown("operation", name, words.iter().map(|(word, _)| *word));
                return Err(value.error_at(at, reason));
            }
        }
    }
    Ok(Operations::of(operations))
}

fn oids(value: &Value, key: &str) -> Result<Vec<String>, Error> {
    let mut oids = Vec::new();
    for (at, oid) in word::list(value, key, ACCESS_LIST_MAX)? {
        if oid != "*" && !model::oid::is_numeric(oid.as_bytes()) {
            let reason = format!("`{}` is no OID, as 1.3.6.1.4.1.1466.20037; * stands for any", shown(oid));
            return Err(value.error_at(at, reason));
        }
        oids.push(oid.to_owned());
    }
    Ok(oids)
}
