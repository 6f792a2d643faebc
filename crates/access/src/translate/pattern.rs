//! DNs with wildcards: regular expressions of OpenLDAP, stars of 389 and OpenDJ.

use crate::name::rdns;
use crate::rule::{Pattern, Place, Reach};
use proto::filter_string::FilterBuf;

use super::build::{at, filter};

/// What a pattern comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub place: Place,
    /// What the star stood for, if that is not any RDN.
    pub filter: Option<FilterBuf>,
    /// What `$1` is in the subjects of the same rule.
    pub capture: Option<Capture>,
}

/// What a group of a regular expression stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Capture {
    /// A whole RDN.
    Rdn,
    /// The value of an RDN of this type.
    Value(String),
}

const NOT_RDNS: &str = "only regular expressions of whole RDNs are carried over";

/// A regular expression on a DN: a literal DN, any one RDN before it, or anything before it.
pub(super) fn regex(text: &str) -> Result<Found, String> {
    let is_anchored = text.starts_with('^');
    let body = text.strip_prefix('^').unwrap_or(text);
    let Some(body) = body.strip_suffix('$') else {
        return Err("a regular expression without $ at its end matches in the middle of DNs".to_owned());
    };
    let plain = |place| Ok(Found { place, filter: None, capture: None });
    for (begin, reach) in [
        ("(.+,)?", Reach::Subtree),
        ("(.*,)?", Reach::Subtree),
        (".+,", Reach::Children),
        (".*,", Reach::Children),
    ] {
        if let Some(dn) = body.strip_prefix(begin) {
            return plain(at(reach, &literal(dn)?));
        }
    }
    if !is_anchored {
        return match body.strip_prefix(".*") {
            Some(dn) => plain(at(Reach::Subtree, &literal(dn)?)),
            None => Err(NOT_RDNS.to_owned()),
        };
    }
    let Some((first, rest)) = body.split_once("]+") else { return plain(at(Reach::Base, &literal(body)?)) };
    let first = format!("{first}]+");
    // A closing parenthesis belongs to the RDN.
    let (first, rest) = match rest.strip_prefix(')') {
        Some(rest) => (format!("{first})"), rest),
        None => (first, rest),
    };
    let dn = literal(rest.strip_prefix(',').ok_or(NOT_RDNS)?)?;
    let (kind, capture) = rdn(&first)?;
    let place = Place::At(Reach::Base, Pattern { each_below: true, dn });
    let filter = kind.map(|kind| filter(&format!("({kind}=*)"))).transpose()?;
    Ok(Found { place, filter, capture })
}

/// `[^,]+`, `uid=[^,]+` or one of them with a group: the type that it asks for, and what the group is.
fn rdn(text: &str) -> Result<(Option<String>, Option<Capture>), String> {
    let any = |text: &str| text == "[^,]+";
    let kind = |text: &str| model::oid::is_descriptor(text.as_bytes()).then(|| text.to_owned());
    if any(text) {
        return Ok((None, None));
    }
    if let Some(inner) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        if any(inner) {
            return Ok((None, Some(Capture::Rdn)));
        }
        let found = inner.split_once('=').filter(|(_, value)| any(value)).and_then(|(name, _)| kind(name));
        return found.map(|name| (Some(name), Some(Capture::Rdn))).ok_or(NOT_RDNS.to_owned());
    }
    let (name, value) = text.split_once('=').ok_or(NOT_RDNS)?;
    let name = kind(name).ok_or(NOT_RDNS)?;
    match value {
        "([^,]+)" => Ok((Some(name.clone()), Some(Capture::Value(name)))),
        value if any(value) => Ok((Some(name), None)),
        _ => Err(NOT_RDNS.to_owned()),
    }
}

/// A part of a regular expression that stands for itself.
fn literal(text: &str) -> Result<String, String> {
    let (mut out, mut chars) = (String::new(), text.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.push(chars.next().ok_or(NOT_RDNS)?),
            '[' | ']' | '(' | ')' | '*' | '+' | '?' | '|' | '^' | '$' | '{' | '}' => {
                return Err(NOT_RDNS.to_owned());
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

/// A DN of a subject in which `$1` stands for what was captured.
pub(super) fn expanded(dn: &str, capture: Option<&Capture>) -> Result<String, String> {
    if !dn.contains('$') {
        return Ok(dn.to_owned());
    }
    let parts: Result<Vec<String>, String> = rdns(dn.as_bytes())
        .map(|rdn| {
            let text = String::from_utf8_lossy(rdn).trim().to_owned();
            match capture {
                _ if !text.contains('$') => Ok(text),
                Some(Capture::Rdn) if text == "$1" => Ok(text),
                Some(Capture::Value(kind)) if text.eq_ignore_ascii_case(&format!("{kind}=$1")) => {
                    Ok("$1".to_owned())
                }
                _ => Err("only $1 is carried over, in the place of the RDN that was matched".to_owned()),
            }
        })
        .collect();
    Ok(parts?.join(","))
}

/// A DN with stars, as 389 and OpenDJ write it, and how far it reaches.
pub(super) fn stars(dn: &str, reach: Reach) -> Result<Found, String> {
    let macro_at = "($dn)";
    if dn.contains("[$dn]") {
        return Err("[$dn] stands for several superiors in turn".to_owned());
    }
    if let Some((before, rest)) = dn.split_once(macro_at) {
        let dn =
            rest.trim_start().strip_prefix(',').filter(|dn| before.is_empty() && !dn.contains(['*', '$']));
        let dn = dn.ok_or("($dn) is carried over at the beginning of a DN alone")?;
        let place = Place::At(reach, Pattern { each_below: true, dn: dn.trim().to_owned() });
        return Ok(Found { place, filter: None, capture: Some(Capture::Rdn) });
    }
    if !dn.contains('*') {
        return Ok(Found { place: at(reach, dn), filter: None, capture: None });
    }
    let mut parts = rdns(dn.as_bytes()).map(|rdn| String::from_utf8_lossy(rdn).trim().to_owned());
    let first = parts.next().unwrap_or_default();
    let rest: Vec<String> = parts.collect();
    if rest.iter().any(|rdn| rdn.contains('*')) {
        return Err("a star is carried over in the first RDN alone".to_owned());
    }
    let dn = rest.join(",");
    if first == "*" {
        // It stands for any number of RDNs.
        return Ok(Found { place: at(Reach::Children, &dn), filter: None, capture: None });
    }
    let (kind, value) = first.split_once('=').ok_or("it is no DN")?;
    if reach != Reach::Base && reach != Reach::Subtree {
        return Err("a star with this scope is not carried over".to_owned());
    }
    // The entries themselves match the filter; what is below them need not.
    let place = Place::At(Reach::Base, Pattern { each_below: true, dn });
    Ok(Found { place, filter: Some(filter(&format!("({kind}={value})"))?), capture: None })
}
