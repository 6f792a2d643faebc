//! The one-line form of a rule: `NAME: TARGET; SUBJECT | SUBJECT; EFFECT`.
//!
//! A target, a subject and an effect are words `key=value` with blanks between them. A value with blanks, `;`, `|` or quotes stands in
//! double quotes, where two of them are one. A backslash is nothing special, for values are DNs and filters, which have it themselves.

mod effect;
mod error;
mod keys;
pub(crate) mod limit;
mod subject;
mod target;
mod word;

use crate::near::shown;
use crate::rule::{Items, Place, Rule, Subject};
use effect::Effect;
pub use error::Error;
use keys::Part;
use model::limits::{
    ACCESS_ENTRY_RANK_MAX, ACCESS_NAME_BYTES_MAX, ACCESS_RULE_BYTES_MAX, ACCESS_SUBJECTS_MAX,
};
use std::str::FromStr;
use word::Words;

impl FromStr for Rule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Rule, Error> {
        parse(text)
    }
}

/// Parses a rule.
///
/// # Errors
/// The first fault, its place, and what would be right.
pub fn parse(text: &str) -> Result<Rule, Error> {
    bounded(text)?;
    let (name, start) = name(text, "a rule is written NAME: TARGET; SUBJECT; EFFECT")?;
    let mut words = Words::new(text, start);
    let target = target::parse(&mut words)?;
    words.end_part(Part::Target)?;
    let subjects = subjects(&mut words)?;
    words.end_part(Part::Subject)?;
    let Effect { allow, deny, rank } = effect::parse(&mut words)?;
    words.end_part(Part::Effect)?;
    let rule = Rule { name, target, subjects, allow, deny, rank };
    check_placeholders(&rule, start)?;
    Ok(rule)
}

/// Parses a rule of an entry, a value of `pandoAccess`: it is about entries, and its rank is below those of the configuration.
///
/// # Errors
/// As of any rule.
pub fn parse_of_entry(text: &str) -> Result<Rule, Error> {
    let rule = parse(text)?;
    if rule.rank > ACCESS_ENTRY_RANK_MAX {
        return Err(Error::new(
            0,
            format!("a rule of an entry has a rank of {ACCESS_ENTRY_RANK_MAX} at most"),
        ));
    }
    match rule.target.items {
        Items::Attributes(_) => Ok(rule),
        Items::Controls(_) | Items::Extended(_) => {
            Err(Error::new(0, "a rule of an entry is not about controls or extended operations"))
        }
    }
}

/// Is a text no longer than a rule may be?
fn bounded(text: &str) -> Result<(), Error> {
    if text.len() > ACCESS_RULE_BYTES_MAX {
        let reason = format!("a rule has {ACCESS_RULE_BYTES_MAX} bytes at most; this one has {}", text.len());
        return Err(Error::new(ACCESS_RULE_BYTES_MAX, reason));
    }
    Ok(())
}

/// The name before the colon, and where the rest begins. `form`: how all of it is written.
fn name(text: &str, form: &str) -> Result<(String, usize), Error> {
    let Some(colon) = text.find([':', ';', '|', '=', '"']).filter(|at| text[*at..].starts_with(':')) else {
        return Err(Error::new(0, format!("the rule has no name; {form}")));
    };
    let name = text[..colon].trim();
    check_name(name).map_err(|reason| Error::new(0, reason))?;
    Ok((name.to_owned(), colon + 1))
}

/// Is this the name of a rule?
///
/// # Errors
/// What a name is.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > ACCESS_NAME_BYTES_MAX || !name.chars().all(is_good) {
        return Err(format!(
            "`{}` is no name of a rule: 1 to {ACCESS_NAME_BYTES_MAX} bytes of letters, digits, `-`, `_` and `.`",
            shown(name)
        ));
    }
    Ok(())
}

fn subjects(words: &mut Words<'_>) -> Result<Vec<Subject>, Error> {
    let mut subjects = Vec::new();
    loop {
        if subjects.len() == ACCESS_SUBJECTS_MAX {
            let reason = format!("a rule has {ACCESS_SUBJECTS_MAX} subjects at most; give a group the right");
            return Err(Error::new(words.at(), reason));
        }
        subjects.push(subject::parse(words)?);
        if !words.alternative() {
            return Ok(subjects);
        }
    }
}

/// `$1` stands for something only where the place has a star.
fn check_placeholders(rule: &Rule, at: usize) -> Result<(), Error> {
    if let Place::At(_, pattern) = &rule.target.place
        && pattern.each_below
        && matches!(rule.target.items, Items::Attributes(_))
    {
        return Ok(());
    }
    let has = |subject: &Subject| subject.0.iter().any(|test| subject::has_placeholder(&test.condition));
    match rule.subjects.iter().any(has) {
        true => {
            let reason = "`$1` in a subject stands for the RDN that a star in the rule's place stands for, as in \
                          subtree=\"*,ou=Tenants,dc=example,dc=com\"; this rule has no star";
            Err(Error::new(at, reason))
        }
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;
