//! What the values of attributes must be: of a form, so many, and among those that other
//! entries have.
//!
//! Form and size follow from the value alone. A list is looked up in the directory as it is
//! before the update, by the index of each attribute that it has, and the filter of its search
//! is asked of the few entries that have the value.

use super::directory::{Directory, Wanted};
use super::rule::ValuesRule;
use super::subtree::Subtree;
use access::Reach;
use access::group::MemberUrl;
use model::{ClassId, EntryId, TypeId};
use proto::filter_string::FilterBuf;
use regex::bytes::{Regex, RegexBuilder};
use schema::Schema;
use std::ops::ControlFlow;
use store::search::Holding;
use store::search::evaluate::Evaluator;

/// Bytes that a regular expression may take when it is ready, and what it remembers while it is
/// looked for.
const REGEX_BYTES_MAX: usize = 256 << 10;
/// Longer values match none: the time to look for one is spent in the writer's role.
const MATCHED_LEN_MAX: usize = 16 << 10;
/// Bytes of values that one update may have matched: beyond them the time of all others would be
/// spent.
const MATCHED_BYTES_MAX: usize = 1 << 20;

/// Values of these types are of this form.
#[derive(Debug)]
pub(super) struct ValueRule {
    /// For texts.
    pub(super) name: String,
    /// Subtypes count too.
    pub(super) types: Vec<TypeId>,
    /// Without one it is about all entries.
    pub(super) subtree: Option<Subtree>,
    /// It is about entries of this class, or of a subclass; about all if there is none.
    pub(super) class: Option<ClassId>,
    /// Found in each value.
    regex: Option<Regex>,
    /// The least and the greatest number.
    count: (Option<u32>, Option<u32>),
    /// Bytes of a value.
    max_size: Option<u32>,
    /// Each value is one of these.
    list: Option<List>,
}

/// The values that others have.
#[derive(Debug)]
struct List {
    /// In attributes of these types.
    types: Vec<TypeId>,
    /// Of entries at this place and below, as far as the search reaches.
    base: Subtree,
    reach: Reach,
    filter: FilterBuf,
}

impl ValueRule {
    /// A rule of these types, in words what is wrong with it otherwise.
    pub(super) fn new(
        (name, types, subtree, class): (String, Vec<TypeId>, Option<Subtree>, Option<ClassId>),
        rule: &ValuesRule,
        schema: &Schema,
        compared: &dyn Fn(&str) -> Result<TypeId, String>,
    ) -> Result<ValueRule, String> {
        let regex = rule.regex.as_deref().map(ready).transpose()?;
        let list = rule.url.as_deref().map(|url| List::new(url, schema, compared)).transpose()?;
        let count = (rule.min_count, rule.max_count);
        Ok(ValueRule { name, types, subtree, class, regex, count, max_size: rule.max_size, list })
    }

    /// Is a value of this type one of its values?
    pub(super) fn has(&self, schema: &Schema, attribute_type: TypeId) -> bool {
        self.types.iter().any(|of| schema.is_subtype(attribute_type, *of))
    }

    /// The types whose values are looked for in other entries.
    pub(super) fn looked_up(&self) -> &[TypeId] {
        self.list.as_ref().map_or(&[], |list| &list.types)
    }

    /// What is wrong with a value. It says what the constraint asks and nothing of the value.
    pub(super) fn fault(
        &self,
        value: &[u8],
        directory: Directory<'_>,
        evaluator: &mut Evaluator,
    ) -> Option<String> {
        if let Some(max) = self.max_size.filter(|max| value.len() > *max as usize) {
            return Some(format!("more than {max} bytes in a value"));
        }
        if self.regex.as_ref().is_some_and(|regex| value.len() > MATCHED_LEN_MAX || !regex.is_match(value)) {
            return Some("it does not allow a value".to_owned());
        }
        if self.list.as_ref().is_some_and(|list| !list.has(value, directory, evaluator)) {
            return Some("no entry of its list has this value".to_owned());
        }
        None
    }

    /// What is wrong with an update that has so many bytes of values to be matched.
    pub(super) fn is_too_much(&self, bytes: usize) -> Option<String> {
        (self.regex.is_some() && bytes > MATCHED_BYTES_MAX)
            .then(|| format!("more than {MATCHED_BYTES_MAX} bytes of values"))
    }

    /// What is wrong with the number of values of one of the types.
    pub(super) fn count_fault(&self, count: usize) -> Option<String> {
        match self.count {
            (Some(min), _) if count < min as usize => Some(format!("fewer than {min} values")),
            (_, Some(max)) if count > max as usize => Some(format!("more than {max} values")),
            _ => None,
        }
    }
}

impl List {
    /// Reads a URL, in words what is wrong with it. A URL of another server is none: the
    /// writer's role asks nobody.
    fn new(
        url: &str,
        schema: &Schema,
        compared: &dyn Fn(&str) -> Result<TypeId, String>,
    ) -> Result<List, String> {
        let parsed = MemberUrl::parse(schema, url.as_bytes());
        let MemberUrl { dn, attributes, reach, filter, .. } =
            parsed.ok_or_else(|| format!("`{url}` is no ldap:///base?attributes?scope?filter"))?;
        let types = attributes.split(',').map(compared).collect::<Result<_, _>>()?;
        Ok(List { types, base: Subtree::new(&dn, schema)?, reach, filter })
    }

    /// Has an entry that the search finds this value? Values are looked for first: they are
    /// fewer than the entries of the search.
    fn has(&self, value: &[u8], directory: Directory<'_>, evaluator: &mut Evaluator) -> bool {
        let Some(base) = self.base.base(directory, &mut evaluator.cache) else { return false };
        let may_be = |id: EntryId| match self.reach {
            Reach::Base => id == base,
            Reach::One => directory.entry(id).is_some_and(|(entry, _)| entry.parent() == base),
            Reach::Subtree => directory.is_within(id, base),
            Reach::Children => id != base && directory.is_within(id, base),
        };
        let filter = Holding::matching(directory.indexed(), &self.filter.filter());
        self.types.iter().any(|attribute_type| {
            let wanted =
                Wanted { attribute_type: *attribute_type, value, may_be: &may_be, filter: Some(&filter) };
            let mut is_found = false;
            directory.holders(&wanted, evaluator, &mut |_| {
                is_found = true;
                ControlFlow::Break(())
            });
            is_found
        })
    }
}

/// Does an expression switch Unicode on, by the flag `u` of a group? A parenthesis in a class of characters that looks like such a group counts too.
fn asks_for_unicode(regex: &str) -> bool {
    let mut rest = regex;
    while let Some(at) = rest.find(['(', '\\']) {
        let is_escape = rest.as_bytes()[at] == b'\\';
        rest = &rest[at + 1..];
        if is_escape {
            let mut escaped = rest.chars();
            escaped.next();
            rest = escaped.as_str();
            continue;
        }
        // With the flag `x` blanks and comments may stand before the flags.
        let mut flags = rest.trim_start();
        while let Some(comment) = flags.strip_prefix('#') {
            flags = comment.split_once('\n').map_or("", |(_, behind)| behind).trim_start();
        }
        let Some(flags) = flags.strip_prefix('?') else { continue };
        let end = flags.find([':', ')', '<', '=', '!']).unwrap_or(flags.len());
        if flags[..end].contains('u') {
            return true;
        }
    }
    false
}

/// Makes a regular expression ready. It knows bytes and ASCII alone: what letters are elsewhere
/// depends on the version of Unicode, and all replicas must come to the same.
fn ready(regex: &str) -> Result<Regex, String> {
    if asks_for_unicode(regex) {
        return Err("`regex`: the flag `u` is not known: expressions know ASCII alone".to_owned());
    }
    let mut builder = RegexBuilder::new(regex);
    builder.unicode(false).size_limit(REGEX_BYTES_MAX).dfa_size_limit(REGEX_BYTES_MAX);
    builder.build().map_err(|error| {
        // The last line has the reason; those before it point into the text.
        let text = error.to_string();
        let reason = text.lines().last().unwrap_or_default();
        format!("`regex`: {}", reason.trim_start_matches("error: "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_know_ascii_alone() {
        for unicode in
            [r"(?u:\w)", r"(?u)\pL", r"(?iu:k)", r"(?x)( ?u:a)", "(?x)(#c\n?u:a)", r"\\(?u:.)", r"(?-u:a)"]
        {
            let refused = ready(unicode).map(|_| ()).unwrap_err();
            assert!(refused.contains("flag `u`"), "{unicode}: {refused}");
        }
        for known in
            [r"^(colo?ur)$", r"(lo?u)", r"\(?u:", r"(?i)^u+$", r"(?P<u>a)", r"(?<u>a)", r"^[[:alpha:]]+$"]
        {
            assert!(ready(known).is_ok(), "{known}");
        }
        assert!(!ready(r"(?i)^k$").unwrap().is_match("\u{212a}".as_bytes()), "it folds no other letters");
    }
}
