//! The target of a directive of OpenLDAP.

use super::build::{at, both, filter, named};
use super::pattern::{Capture, regex};
use crate::rule::{AttributeSelector, Place, Reach, ValueTest};
use proto::filter_string::FilterBuf;

/// What a directive is about.
#[derive(Clone, Debug)]
pub(super) struct What {
    pub place: Place,
    pub filter: Option<FilterBuf>,
    /// Attributes; empty if it is about `entry` and `children` alone.
    pub selectors: Vec<AttributeSelector>,
    /// `entry` is among them.
    pub entry: bool,
    /// `children` is among them.
    pub children: bool,
    pub values: Option<ValueTest>,
    /// What `$1` stands for in its clauses.
    pub capture: Option<Capture>,
    /// No attributes are named: passwords are among them.
    pub is_wide: bool,
}

impl What {
    /// Everything.
    pub(super) fn everything() -> What {
        What {
            place: Place::All,
            filter: None,
            selectors: vec![AttributeSelector::Every],
            entry: true,
            children: true,
            values: None,
            capture: None,
            is_wide: true,
        }
    }

    /// What a target that is not carried over may be about: the attributes that it names, of all entries.
    pub(super) fn widened(words: &[String]) -> What {
        let mut what = What::everything();
        for (key, value) in words.iter().filter_map(|word| word.split_once('=')) {
            if matches!(key.to_ascii_lowercase().as_str(), "attr" | "attrs") {
                attributes(&mut what, value);
            }
        }
        what
    }
}

pub(super) fn what(words: &[String]) -> Result<What, String> {
    let mut what = What::everything();
    for word in words.iter().filter(|word| *word != "*") {
        let (key, value) = word.split_once('=').ok_or_else(|| format!("`{word}` is no target"))?;
        let key = key.to_ascii_lowercase();
        match key.as_str() {
            "attr" | "attrs" => attributes(&mut what, value),
            "filter" => what.filter = both(what.filter.take(), Some(filter(value)?)),
            _ if key == "dn" || key.starts_with("dn.") => {
                place(&mut what, key.strip_prefix("dn.").unwrap_or("base"), value)?
            }
            _ if key.starts_with("val") => what.values = Some(values(&what, &key, value)?),
            _ => return Err(format!("there is no target `{key}`")),
        }
    }
    Ok(what)
}

/// The reach that a style is, of DNs that are literal.
pub(super) fn reach(style: &str) -> Option<Reach> {
    Some(match style {
        "base" | "exact" | "baseobject" => Reach::Base,
        "one" | "onelevel" => Reach::One,
        "sub" | "subtree" => Reach::Subtree,
        "children" | "subordinate" => Reach::Children,
        _ => return None,
    })
}

fn place(what: &mut What, style: &str, dn: &str) -> Result<(), String> {
    if style == "regex" {
        let found = regex(dn)?;
        what.place = found.place;
        what.filter = both(what.filter.take(), found.filter);
        what.capture = found.capture;
        return Ok(());
    }
    if dn == "*" {
        return Ok(());
    }
    let reach = reach(style).ok_or_else(|| format!("there is no style `{style}` here"))?;
    what.place = at(reach, dn);
    Ok(())
}

fn attributes(what: &mut What, list: &str) {
    what.selectors.clear();
    (what.entry, what.children, what.is_wide) = (false, false, false);
    for word in list.split(',').map(str::trim) {
        match word {
            "entry" => what.entry = true,
            "children" => what.children = true,
            "*" => what.selectors.push(AttributeSelector::Every),
            _ if word.starts_with('@') => {
                what.selectors.push(AttributeSelector::Class { name: word[1..].to_owned(), excluded: false });
            }
            // All but those of the class.
            _ if word.starts_with('!') => {
                what.selectors.push(AttributeSelector::Every);
                what.selectors.push(AttributeSelector::Class { name: word[1..].to_owned(), excluded: true });
            }
            _ => what.selectors.push(named(word, false)),
        }
    }
}

/// `val`, `val/RULE`, `val.STYLE`
fn values(what: &What, key: &str, value: &str) -> Result<ValueTest, String> {
    let [AttributeSelector::Named { description, .. }] = what.selectors.as_slice() else {
        return Err("`val` stands behind one attribute".to_owned());
    };
    let (kind, style) = key.split_once('.').unwrap_or((key, "exact"));
    let rule = kind.split_once('/').map_or(String::new(), |(_, rule)| format!(":{rule}:"));
    let mut escaped = Vec::new();
    proto::filter_string::write_value(value.as_bytes(), &mut escaped);
    let escaped = String::from_utf8_lossy(&escaped).into_owned();
    match style {
        "exact" | "base" => Ok(ValueTest::Filter(filter(&format!("({description}{rule}={escaped})"))?)),
        "regex" => Err("regular expressions on values are not carried over".to_owned()),
        other => Err(format!("values by `{other}` of a DN are not carried over")),
    }
}
