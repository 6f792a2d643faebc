//! Bind rules of an `aci` as subjects.

use super::aci_text::{Bind, Item};
use super::build::filter;
use super::openldap_who::network;
use super::pattern::{Capture, Found, stars};
use crate::rule::{AuthMethod, Condition, Pattern, Peer, Place, Reach, Subject, Test};
use model::{Scope, percent};
use proto::ldap_url::LdapUrl;

/// Subjects that bind rules may come to.
const SUBJECTS_MAX: usize = 64;

/// What of its `aci` a bind rule depends on.
#[derive(Clone, Copy)]
pub(super) struct OfAci<'c> {
    /// What `($dn)` stands for.
    pub(super) capture: Option<&'c Capture>,
    pub(super) is_opendj: bool,
}

/// The subjects, any of which is enough.
pub(super) fn subjects(bind: &Bind, of_aci: OfAci<'_>) -> Result<Vec<Subject>, String> {
    let subjects = parts(bind, false, of_aci)?;
    Ok(subjects.into_iter().map(Subject).collect())
}

/// Alternatives, each with conditions that hold together.
type Alternatives = Vec<Vec<Test>>;

fn parts(bind: &Bind, negated: bool, of_aci: OfAci<'_>) -> Result<Alternatives, String> {
    let each = |parts_of: &[Bind]| {
        parts_of.iter().map(|part| parts(part, negated, of_aci)).collect::<Result<Vec<_>, _>>()
    };
    match bind {
        Bind::Not(inner) => parts(inner, !negated, of_aci),
        Bind::Item(found) => item(found, negated, of_aci),
        Bind::Or(inner) if !negated => Ok(each(inner)?.concat()),
        Bind::And(inner) if negated => Ok(each(inner)?.concat()),
        Bind::Or(inner) | Bind::And(inner) => each(inner)?.into_iter().try_fold(vec![Vec::new()], all),
    }
}

/// All alternatives of one with all of another.
fn all(left: Alternatives, right: Alternatives) -> Result<Alternatives, String> {
    if left.len() * right.len() > SUBJECTS_MAX {
        return Err("its bind rules come to too many subjects".to_owned());
    }
    Ok(left
        .iter()
        .flat_map(|left| right.iter().map(move |right| [left.as_slice(), right.as_slice()].concat()))
        .collect())
}

fn item(item: &Item, negated: bool, of_aci: OfAci<'_>) -> Result<Alternatives, String> {
    let negated = negated != (item.operator == "!=");
    let conditions: Vec<Vec<Condition>> = match item.key.as_str() {
        "userdn" => values(&item.value).map(|value| user(value, of_aci)).collect::<Result<_, _>>()?,
        "groupdn" => values(&item.value)
            .map(|value| group(value, of_aci.capture).map(|one| vec![one]))
            .collect::<Result<_, _>>()?,
        "userattr" => vec![attribute(&item.value)?],
        "ip" => {
            let peers = item.value.split(',').map(|value| peer(value.trim())).collect::<Result<_, _>>()?;
            vec![vec![Condition::Peer(peers)]]
        }
        "authmethod" => vec![vec![method(&item.value)?]],
        "ssf" => vec![vec![strength(item)?]],
        "roledn" => {
            return Err(
                "roles have no counterpart; a role that is a group can be named with groupdn".to_owned()
            );
        }
        "dns" => return Err("names of hosts have no counterpart".to_owned()),
        "timeofday" | "dayofweek" => return Err("times have no counterpart".to_owned()),
        other => return Err(format!("`{other}` has no counterpart")),
    };
    let tests = |conditions: Vec<Condition>, negated| -> Vec<Test> {
        conditions.into_iter().map(|condition| Test { condition, negated }).collect()
    };
    if !negated {
        return Ok(conditions.into_iter().map(|of| tests(of, false)).collect());
    }
    // Not any of them: each of them not; of those with several conditions, one not.
    conditions.into_iter().try_fold(vec![Vec::new()], |sum, of| {
        all(sum, tests(of, true).into_iter().map(|one| vec![one]).collect())
    })
}

fn values(text: &str) -> impl Iterator<Item = &str> {
    text.split("||").map(str::trim)
}

/// The DN of a URL, or what stands there in the place of one.
///
/// # Errors
/// What is wrong with it, also that it is a search: what stands behind the DN would be lost.
pub(super) fn url(text: &str) -> Result<String, String> {
    let url = split(text)?;
    if text.contains('?') {
        return Err(format!("`{text}` is a search, and a DN is wanted"));
    }
    text_of(url.dn)
}

/// The parts of a URL `ldap:///...`.
fn split(text: &str) -> Result<LdapUrl<'_>, String> {
    let url = LdapUrl::of_this_directory(text.as_bytes());
    let url = url.ok_or_else(|| format!("`{text}` is no URL ldap:///..."))?;
    if url.has_critical_extension() {
        return Err(format!("`{text}` has an extension that must be understood"));
    }
    Ok(url)
}

/// A part of a URL without percent-encoding.
fn text_of(part: &[u8]) -> Result<String, String> {
    let text = percent::decoded(part).ok_or("a wrong % in a URL")?;
    String::from_utf8(text).map_err(|_| "a URL that is not UTF-8".to_owned())
}

fn user(value: &str, of_aci: OfAci<'_>) -> Result<Vec<Condition>, String> {
    let url = split(value)?;
    let name = text_of(url.dn)?;
    let is_search = value.contains('?');
    match name.to_ascii_lowercase().as_str() {
        "anyone" | "all" | "self" | "parent" if is_search => {
            return Err(format!("`{value}` has no DN to search below"));
        }
        "anyone" => return Ok(vec![Condition::Anyone]),
        "all" => return Ok(vec![Condition::Users]),
        "self" => return Ok(vec![Condition::Requester]),
        "parent" => return Ok(vec![Condition::Parent(1)]),
        _ => {}
    }
    // What is a search is no pattern.
    if is_search {
        let reach = match url.scope() {
            Some(None | Some(Scope::Base)) => Reach::Base,
            Some(Some(Scope::One)) => Reach::One,
            Some(Some(_)) => Reach::Subtree,
            None => return Err(format!("there is no scope `{}`", text_of(url.scope)?)),
        };
        let mut conditions = vec![Condition::Dn(reach, name)];
        if !url.filter.is_empty() {
            conditions.push(Condition::UserFilter(filter(&text_of(url.filter)?)?));
        }
        return Ok(conditions);
    }
    if let Some(dn) = with_capture(&name, of_aci.capture)? {
        return Ok(vec![Condition::Dn(Reach::Base, dn)]);
    }
    let Found { place, filter, .. } = stars(&name, Reach::Base)?;
    let Place::At(reach, Pattern { each_below, dn }) = place else { return Ok(vec![Condition::Users]) };
    let reach = match (each_below, of_aci.is_opendj) {
        (false, _) => reach,
        (true, true) => Reach::One,
        // In 389 a star stands for what may have commas, too.
        (true, false) => Reach::Children,
    };
    let own = Condition::Dn(reach, dn);
    Ok(std::iter::once(own).chain(filter.map(Condition::UserFilter)).collect())
}

fn group(value: &str, capture: Option<&Capture>) -> Result<Condition, String> {
    let dn = url(value)?;
    let dn = match with_capture(&dn, capture)? {
        Some(dn) => dn,
        None if dn.contains('*') => {
            return Err("a star in the name of a group is not carried over".to_owned());
        }
        None => dn,
    };
    Ok(Condition::Group { dn, nested: true })
}

/// `($dn)` in a subject is what it is in the target.
fn with_capture(dn: &str, capture: Option<&Capture>) -> Result<Option<String>, String> {
    if dn.contains("[$dn]") {
        return Err("[$dn] stands for several superiors in turn".to_owned());
    }
    match (dn.contains("($dn)"), capture) {
        (false, _) => Ok(None),
        (true, Some(_)) => Ok(Some(dn.replace("($dn)", "$1"))),
        (true, None) => Err("($dn) stands in the target too, at the beginning".to_owned()),
    }
}

/// `userattr`: `NAME#USERDN`, `NAME#GROUPDN` or `NAME#VALUE`
fn attribute(text: &str) -> Result<Vec<Condition>, String> {
    let (name, kind) = text.split_once('#').ok_or("`userattr` is NAME#KIND")?;
    let name = match name.strip_prefix("parent[") {
        None => name,
        Some(rest) => match rest.split_once("].") {
            Some((levels, name)) if levels.trim() == "0" => name,
            _ => return Err("attributes of superiors have no counterpart".to_owned()),
        },
    };
    Ok(match kind.to_ascii_uppercase().as_str() {
        "USERDN" => vec![Condition::DnAttribute(name.to_owned())],
        "GROUPDN" => vec![Condition::GroupAttribute(name.to_owned())],
        "ROLEDN" | "LDAPURL" | "SELFDN" => return Err(format!("`{kind}` has no counterpart")),
        _ => {
            let mut value = Vec::new();
            proto::filter_string::write_value(kind.as_bytes(), &mut value);
            let text = format!("({name}={})", String::from_utf8_lossy(&value));
            vec![Condition::Same(name.to_owned()), Condition::UserFilter(filter(&text)?)]
        }
    })
}

/// An address, one with stars at its end, or a network.
fn peer(text: &str) -> Result<Peer, String> {
    if let Some((address, mask)) = text.split_once('+').or_else(|| text.split_once('/')) {
        return network(address, Some(mask));
    }
    let parts: Vec<&str> = text.split('.').collect();
    let fixed = parts.iter().take_while(|part| **part != "*").count();
    if !text.contains('*') {
        return network(text, None);
    }
    if parts.len() > 4 || parts[fixed..].iter().any(|part| *part != "*") {
        return Err(format!("`{text}` is no network"));
    }
    let address: Vec<&str> = parts[..fixed].iter().copied().chain(std::iter::repeat("0")).take(4).collect();
    network(&address.join("."), Some(&(fixed * 8).to_string()))
}

fn method(text: &str) -> Result<Condition, String> {
    let words: Vec<String> = text.split_whitespace().map(str::to_ascii_uppercase).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["NONE"] => Ok(Condition::Anyone),
        ["SIMPLE"] => Ok(Condition::Auth(vec![AuthMethod::Simple])),
        // A certificate over TLS.
        ["SSL"] => Ok(Condition::Auth(vec![AuthMethod::Sasl("EXTERNAL".to_owned())])),
        ["LDAPI"] => Ok(Condition::Peer(vec![Peer::Ldapi])),
        ["SASL", mechanism] => Ok(Condition::Auth(vec![AuthMethod::Sasl((*mechanism).to_owned())])),
        _ => Err(format!("the method `{text}` has no counterpart")),
    }
}

fn strength(item: &Item) -> Result<Condition, String> {
    let bits: u16 = item.value.trim().parse().map_err(|_| format!("`{}` is no number", item.value))?;
    match item.operator.as_str() {
        ">=" => Ok(Condition::Strength(bits)),
        ">" => Ok(Condition::Strength(bits.saturating_add(1))),
        other => Err(format!("`ssf {other}` has no counterpart: a rule asks for a strength at least")),
    }
}
