//! The second part of a rule: whom it is for.

use super::error::Error;
use super::keys::Part;
use super::target::{filter, reach};
use super::word::{self, Value, Word, Words, switch};
use crate::near::shown;
use crate::rule::{AuthMethod, Condition, Network, Peer, Subject, Test};
use model::limits::{ACCESS_LIST_MAX, ACCESS_TESTS_MAX, DN_RDNS_MAX};
use std::net::IpAddr;

/// The strongest protection that can be asked for, in bits.
const STRENGTH_MAX: u32 = 1024;
/// Characters of a SASL mechanism (RFC 4422, 3.1).
const MECHANISM_MAX: usize = 20;

pub(super) fn parse(words: &mut Words<'_>) -> Result<Subject, Error> {
    let start = words.at();
    let mut tests: Vec<Test> = Vec::new();
    while let Some(word) = words.next()? {
        if matches!(word.key, "nested" | "real-nested") {
            set_nested(&mut tests, &word)?;
            continue;
        }
        if tests.len() == ACCESS_TESTS_MAX {
            return Err(word.error(format!("a subject has {ACCESS_TESTS_MAX} conditions at most")));
        }
        tests.push(test(word)?);
    }
    match tests.is_empty() {
        true => {
            let reason = "whom is the rule for? `anyone`, `anonymous`, `users`, `self`, dn=DN, group=DN and others; \
                          `|` stands between subjects";
            Err(Error::new(start, reason))
        }
        false => Ok(Subject(tests)),
    }
}

/// `nested` is about the group before it.
fn set_nested(tests: &mut [Test], word: &Word<'_>) -> Result<(), Error> {
    let value = !switch(word)?;
    let is_real = word.key == "real-nested";
    let group = tests.iter_mut().rev().find_map(|test| match &mut test.condition {
        Condition::Group { nested, .. } if !is_real => Some(nested),
        Condition::Real(inner) => match &mut **inner {
            Condition::Group { nested, .. } if is_real => Some(nested),
            _ => None,
        },
        _ => None,
    });
    let key = if is_real { "real-group" } else { "group" };
    let group = group
        .ok_or_else(|| word.error(format!("`{}` stands after the `{key}` that it is about", word.key)))?;
    *group = value;
    Ok(())
}

fn test(word: Word<'_>) -> Result<Test, Error> {
    if let Some(condition) = bare(word.key) {
        return Ok(Test { condition, negated: switch(&word)? });
    }
    if !Part::Subject.keys().contains(&word.key) {
        return Err(word.error(Part::Subject.unknown(word.key)));
    }
    let key = word.key;
    let value = word.value()?;
    let condition = match key.strip_prefix("real-") {
        Some(inner) => Condition::Real(Box::new(condition(inner, &value)?)),
        None => condition(key, &value)?,
    };
    Ok(Test { condition, negated: value.negated })
}

/// A condition without a value.
fn bare(key: &str) -> Option<Condition> {
    Some(match key {
        "anyone" => Condition::Anyone,
        "anonymous" => Condition::Anonymous,
        "users" => Condition::Users,
        "self" => Condition::Requester,
        _ => return None,
    })
}

fn condition(key: &str, value: &Value) -> Result<Condition, Error> {
    Ok(match key {
        "dn" => Condition::Dn(reach("base"), dn(value)?),
        "dn-one" | "dn-subtree" | "dn-children" => {
            Condition::Dn(reach(key.trim_start_matches("dn-")), dn(value)?)
        }
        "user-filter" => Condition::UserFilter(filter(value)?),
        "group" => Condition::Group { dn: dn(value)?, nested: true },
        "auth" => Condition::Auth(methods(value)?),
        "ssf" => Condition::Strength(small(value, key, 0, STRENGTH_MAX)?),
        "tls" => Condition::Tls(small(value, key, 0, STRENGTH_MAX)?),
        "peer" => Condition::Peer(peers(value)?),
        "listener" => Condition::Listener(listener(value)?),
        "parent" => Condition::Parent(small(value, key, 1, DN_RDNS_MAX as u32)?),
        "dn-attr" => Condition::DnAttribute(attribute(value)?),
        "group-attr" => Condition::GroupAttribute(attribute(value)?),
        _ => Condition::Same(attribute(value)?),
    })
}

/// A DN, in which `$1` may stand in the place of an RDN.
fn dn(value: &Value) -> Result<String, Error> {
    let text = value.text.trim();
    let mut rdns = Vec::new();
    let mut rest = Some(text.as_bytes());
    while let Some(dn) = rest {
        let (first, next) = model::dn::split_first(dn);
        rdns.push(if first.trim_ascii() == b"$1" { &b"cn=x"[..] } else { first });
        rest = next;
    }
    model::dn::parse(&rdns.join(&b','))
        .map_err(|error| value.error_at(error.at, format!("`{}` is no DN: {}", shown(text), error.reason)))?;
    Ok(text.to_owned())
}

/// Does `$1` stand in the place of an RDN?
pub(super) fn has_placeholder(condition: &Condition) -> bool {
    let dn = match condition {
        Condition::Dn(_, dn) | Condition::Group { dn, .. } => dn,
        Condition::Real(inner) => return has_placeholder(inner),
        _ => return false,
    };
    let mut rest = Some(dn.as_bytes());
    while let Some(dn) = rest {
        let (first, next) = model::dn::split_first(dn);
        if first.trim_ascii() == b"$1" {
            return true;
        }
        rest = next;
    }
    false
}

fn small(value: &Value, key: &str, min: u32, max: u32) -> Result<u16, Error> {
    Ok(word::number(value, key, min, max)? as u16)
}

fn methods(value: &Value) -> Result<Vec<AuthMethod>, Error> {
    let mut methods = Vec::new();
    for (at, name) in word::list(value, "auth", ACCESS_LIST_MAX)? {
        let name = name.to_ascii_uppercase();
        let is_mechanism = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        methods.push(match name.as_str() {
            "NONE" => AuthMethod::None,
            "SIMPLE" => AuthMethod::Simple,
            _ if is_mechanism && name.len() <= MECHANISM_MAX => AuthMethod::Sasl(name),
            _ => {
                let reason = format!(
                    "`{}` is neither `none`, `simple` nor a SASL mechanism, as EXTERNAL",
                    shown(&name)
                );
                return Err(value.error_at(at, reason));
            }
        });
    }
    Ok(methods)
}

fn peers(value: &Value) -> Result<Vec<Peer>, Error> {
    let list = word::list(value, "peer", ACCESS_LIST_MAX)?;
    list.into_iter().map(|(at, text)| peer(text).map_err(|reason| value.error_at(at, reason))).collect()
}

fn peer(text: &str) -> Result<Peer, String> {
    if text == "ldapi" {
        return Ok(Peer::Ldapi);
    }
    let (address, prefix) =
        text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
    let form =
        || format!("`{}` is neither a network, as 192.0.2.0/24 or 2001:db8::/32, nor `ldapi`", shown(text));
    let address: IpAddr = address.parse().map_err(|_| form())?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let is_decimal = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let prefix = match prefix {
        None => most,
        Some(text) => text.parse().ok().filter(|bits| is_decimal(text) && *bits <= most).ok_or_else(form)?,
    };
    Ok(Peer::Network(Network { address, prefix }))
}

fn listener(value: &Value) -> Result<String, Error> {
    match value.text.is_empty() || value.text.starts_with('!') || value.text.chars().any(char::is_control) {
        true => Err(value.error("`listener` takes the name of a listener")),
        false => Ok(value.text.clone()),
    }
}

fn attribute(value: &Value) -> Result<String, Error> {
    match model::attribute::is_well_formed(value.text.as_bytes()) {
        true => Ok(value.text.clone()),
        false => Err(value.error(format!("`{}` is no attribute", shown(&value.text)))),
    }
}
