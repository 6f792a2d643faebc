//! The clauses of a directive of OpenLDAP: who, what access, and whether others are looked at.

use super::build::test;
use super::openldap_what::{What, reach};
use super::pattern::{Found, expanded, regex};
use crate::right::{Right, Rights};
use crate::rule::{Condition, Network, Peer, Place, Reach, Test};
use std::net::IpAddr;

/// A directive.
pub(super) struct Directive {
    pub line: u64,
    pub what: What,
    pub clauses: Vec<Clause>,
}

/// A clause.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    pub tests: Vec<Test>,
    pub rights: Rights,
    /// The rights are all that there are: a level, or `=`.
    pub is_absolute: bool,
    /// `selfwrite`: the values are the requester's DN.
    pub is_self_write: bool,
    /// What comes behind it counts too: `break` or `continue`.
    pub goes_on: bool,
    /// What comes behind it in its directive does not count: `break`.
    pub breaks: bool,
}

/// All clauses, `words` beginning with `by`. One that is not carried over ends the list, for what is behind it would be for others; so
/// nothing is allowed that was not.
pub(super) fn clauses(words: &[String], what: &What, mut leave: impl FnMut(&str, &str)) -> Vec<Clause> {
    let mut clauses = Vec::new();
    let mut is_broken = false;
    for part in words.split(|word| word == "by").filter(|part| !part.is_empty()) {
        let text = format!("by {}", part.join(" "));
        match clause(part, what) {
            Ok(clause) if !is_broken => clauses.push(clause),
            Ok(_) => leave(
                &text,
                "it stands behind a clause that is not carried over, and would be for its clients too",
            ),
            Err(why) => {
                is_broken = true;
                leave(&text, &why);
            }
        }
    }
    clauses
}

fn clause(words: &[String], what: &What) -> Result<Clause, String> {
    let mut clause = Clause {
        tests: Vec::new(),
        rights: Rights::NONE,
        is_absolute: true,
        is_self_write: false,
        goes_on: false,
        breaks: false,
    };
    for (at, word) in words.iter().enumerate() {
        match word.as_str() {
            "stop" => {}
            "break" => (clause.goes_on, clause.breaks) = (true, true),
            "continue" => clause.goes_on = true,
            word if at > 0 && set_access(&mut clause, word)? => {}
            word => clause.tests.push(who(word, what)?),
        }
    }
    if clause.tests.is_empty() {
        return Err("nobody is named".to_owned());
    }
    Ok(clause)
}

/// Rights up to each level.
const LEVELS: [(&str, Rights); 8] = [
    ("none", Rights::NONE),
    ("disclose", Rights::of(&[Right::Disclose])),
    ("auth", Rights::of(&[Right::Disclose, Right::Auth])),
    ("compare", Rights::of(&[Right::Disclose, Right::Auth, Right::Compare])),
    ("search", Rights::of(&[Right::Disclose, Right::Auth, Right::Compare, Right::Search])),
    ("read", Rights::of(&[Right::Disclose, Right::Auth, Right::Compare, Right::Search, Right::Read])),
    ("write", WRITE),
    (
        "manage",
        Rights::of(&[
            Right::Disclose,
            Right::Auth,
            Right::Compare,
            Right::Search,
            Right::Read,
            Right::Add,
            Right::Delete,
            Right::Increment,
            Right::Manage,
        ]),
    ),
];
const WRITE: Rights = Rights::of(&[
    Right::Disclose,
    Right::Auth,
    Right::Compare,
    Right::Search,
    Right::Read,
    Right::Add,
    Right::Delete,
    Right::Increment,
]);

/// Is a word what access there is?
fn set_access(clause: &mut Clause, word: &str) -> Result<bool, String> {
    let (word, is_self) =
        match word.strip_prefix("self").filter(|rest| !rest.is_empty() && !rest.starts_with('.')) {
            Some(rest) => (rest, true),
            None => (word, false),
        };
    let level = LEVELS.iter().find(|(level, _)| *level == word).map(|(_, rights)| *rights);
    let without = |right: Right| WRITE.without(Rights::of(&[right, Right::Increment]));
    let level = level.or(match word {
        "add" => Some(without(Right::Delete)),
        "delete" => Some(without(Right::Add)),
        _ => None,
    });
    if let Some(rights) = level {
        (clause.rights, clause.is_self_write) = (rights, is_self);
        return Ok(true);
    }
    let Some(sign) = word.chars().next().filter(|c| matches!(c, '=' | '+' | '-')) else { return Ok(false) };
    let mut rights = Rights::NONE;
    for letter in word[1..].chars() {
        rights |= match letter {
            '0' => Rights::NONE,
            'd' => Rights::of(&[Right::Disclose]),
            'x' => Rights::of(&[Right::Auth]),
            'c' => Rights::of(&[Right::Compare]),
            's' => Rights::of(&[Right::Search]),
            'r' => Rights::of(&[Right::Read]),
            'w' => Rights::WRITE,
            'a' => Rights::of(&[Right::Add]),
            'z' => Rights::of(&[Right::Delete]),
            'm' => Rights::of(&[Right::Manage]),
            other => return Err(format!("there is no privilege `{other}`")),
        };
    }
    match sign {
        '-' => return Err("privileges that are taken away from others are not carried over".to_owned()),
        sign => clause.is_absolute = sign == '=',
    }
    (clause.rights, clause.is_self_write) = (rights, is_self);
    Ok(true)
}

fn who(word: &str, what: &What) -> Result<Test, String> {
    let bare = match word {
        "*" => Some(Condition::Anyone),
        "anonymous" => Some(Condition::Anonymous),
        "users" => Some(Condition::Users),
        "self" => Some(Condition::Requester),
        _ => None,
    };
    if let Some(condition) = bare {
        return Ok(test(condition));
    }
    if let Some(level) = word.strip_prefix("self.level{").and_then(|rest| rest.strip_suffix('}')) {
        // Below 0 the requester is above the entry, else the entry above the requester.
        return match level.parse::<i16>() {
            Ok(0) => Ok(test(Condition::Requester)),
            Ok(levels @ -128..0) => Ok(test(Condition::Parent(levels.unsigned_abs()))),
            _ => Err("entries above the requester have no counterpart".to_owned()),
        };
    }
    let (key, value) = word.split_once('=').ok_or_else(|| format!("`{word}` is not carried over"))?;
    let key = key.to_ascii_lowercase();
    let (key, style) = key.split_once('.').unwrap_or((&key, ""));
    let condition = match key {
        "dn" => dn(style, value, what)?,
        "realdn" => Condition::Real(Box::new(dn(style, value, what)?)),
        "dnattr" => Condition::DnAttribute(value.to_owned()),
        _ if key == "group" || key.starts_with("group/") => group(key, style, value, what)?,
        "peername" => Condition::Peer(vec![peer(style, value)?]),
        "sockname" | "sockurl" if style.is_empty() || style == "exact" => {
            Condition::Listener(value.to_owned())
        }
        "ssf" | "transport_ssf" => Condition::Strength(bits(value)?),
        "tls_ssf" => Condition::Tls(bits(value)?),
        "set" => set(value)?,
        _ => return Err(format!("`{key}` has no counterpart")),
    };
    Ok(test(condition))
}

fn bits(value: &str) -> Result<u16, String> {
    value.parse().map_err(|_| format!("`{value}` is no number"))
}

fn dn(style: &str, value: &str, what: &What) -> Result<Condition, String> {
    let (style, modifier) = style.split_once(',').unwrap_or((style, ""));
    if value == "*" {
        return Ok(Condition::Users);
    }
    if style == "regex" {
        let Found { place: Place::At(reach, pattern), filter: None, .. } = regex(value)? else {
            return Err(
                "a regular expression on the type of an RDN is not carried over for subjects".to_owned()
            );
        };
        // Any one RDN below the DN.
        let reach = if pattern.each_below { Reach::One } else { reach };
        return Ok(Condition::Dn(reach, pattern.dn));
    }
    let style = if style.is_empty() { "base" } else { style };
    let (style, modifier) = if style == "expand" { ("base", "expand") } else { (style, modifier) };
    let reach = reach(style).ok_or_else(|| format!("the style `{style}` is not carried over"))?;
    let dn = if modifier == "expand" { expanded(value, what.capture.as_ref())? } else { value.to_owned() };
    Ok(Condition::Dn(reach, dn))
}

/// `group/CLASS/ATTRIBUTE.STYLE=DN`. OpenLDAP looks at no groups in groups.
fn group(key: &str, style: &str, value: &str, what: &What) -> Result<Condition, String> {
    let mut parts = key.split('/').skip(1);
    let (class, attribute) = (parts.next().unwrap_or("groupofnames"), parts.next());
    let usual = match class {
        "groupofnames" | "groupofmembers" => "member",
        "groupofuniquenames" => "uniquemember",
        "groupofurls" => "memberurl",
        "posixgroup" => "memberuid",
        other => return Err(format!("groups of class {other} are not carried over")),
    };
    if attribute.is_some_and(|attribute| attribute != usual) {
        return Err(format!("members of {class} are those of {usual}"));
    }
    let dn = match style {
        "" | "exact" | "base" => value.to_owned(),
        "expand" => expanded(value, what.capture.as_ref())?,
        other => return Err(format!("the style `{other}` of a group is not carried over")),
    };
    Ok(Condition::Group { dn, nested: false })
}

/// `peername.ip=ADDRESS%MASK`, `peername.ipv6`, `peername.path`
fn peer(style: &str, value: &str) -> Result<Peer, String> {
    if style == "path" {
        return Ok(Peer::Ldapi);
    }
    if !matches!(style, "ip" | "ipv6") {
        return Err("peername is carried over with the styles ip, ipv6 and path".to_owned());
    }
    if value.contains('{') {
        return Err("ports are not carried over".to_owned());
    }
    let (address, mask) =
        value.split_once('%').map_or((value, None), |(address, mask)| (address, Some(mask)));
    network(address, mask)
}

/// An address with a mask.
pub(super) fn network(address: &str, mask: Option<&str>) -> Result<Peer, String> {
    let address: IpAddr = address.parse().map_err(|_| format!("`{address}` is no address"))?;
    let width: u8 = if address.is_ipv4() { 32 } else { 128 };
    let prefix = match mask {
        None => Some(width),
        Some(mask) => match (address, mask.parse::<IpAddr>()) {
            (IpAddr::V4(_), Ok(IpAddr::V4(mask))) => {
                let bits = u32::from(mask);
                (bits.leading_ones() + bits.trailing_zeros() >= 32).then(|| bits.leading_ones() as u8)
            }
            (IpAddr::V6(_), Ok(IpAddr::V6(mask))) => {
                let bits = u128::from(mask);
                (bits.leading_ones() + bits.trailing_zeros() >= 128).then(|| bits.leading_ones() as u8)
            }
            _ => mask.parse().ok().filter(|bits| *bits <= width),
        },
    };
    let prefix = prefix.ok_or("the mask is no prefix")?;
    Ok(Peer::Network(Network { address, prefix }))
}

/// Of sets, the values of an attribute that name the requester, and members of groups in a group.
fn set(text: &str) -> Result<Condition, String> {
    let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let attribute = plain.strip_prefix("this/").and_then(|rest| rest.strip_suffix("&user"));
    let attribute = attribute.or_else(|| plain.strip_prefix("user&this/"));
    if let Some(attribute) = attribute.filter(|name| model::attribute::is_well_formed(name.as_bytes())) {
        return Ok(Condition::DnAttribute(attribute.to_owned()));
    }
    let spaced = text.trim().strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match spaced {
        Some((dn, rest)) if rest.replace(' ', "").eq_ignore_ascii_case("/member*&user") => {
            Ok(Condition::Group { dn: dn.to_owned(), nested: true })
        }
        _ => {
            Err("of sets, only `this/ATTRIBUTE & user` and `[DN]/member* & user` are carried over".to_owned())
        }
    }
}
