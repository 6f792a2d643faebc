//! Referral objects (RFC 3296): what they say to a client that did not ask to manage them.
//!
//! A referral object stands where another server's part of the tree begins. A request for it or for an entry below it is answered with its URIs,
//! with the rest of the name put into them. Nearly all directories have none: each entry point asks for that first, by one load.

use crate::behaviour::FIRST_WITH_NEW_NAMES_REFERRED;
use crate::context::Writing;
use crate::control::Requested;
use crate::control::update::{names, place};
use crate::engine::Dsa;
use crate::op::modify_dn::new_dn;
use model::{EntryId, ResultCode, Scope, percent};
use proto::ldap_url::LdapUrl;
use proto::list::{Octets, octet_list};
use proto::message::{Message, Request};
use proto::op::ModifyDn;
use proto::result::{LdapResult, encode_response};
use proto::tag;
use store::aliases::first_rdns;
use store::shape::Kind;
use store::{DnCache, EntryRef, ReadPoint};

/// Why a new superior is refused (RFC 3296 section 5.6.2).
pub(crate) const OTHER_SUPERIOR: &str = "the new superior is held by another server";

/// Where a request leads that meets a referral object on the way down to its entry.
/// The URIs are ready to be sent; `dn` is the matchedDN of the answer.
pub(crate) struct Referral {
    /// DN of the referral object.
    pub(crate) dn: Vec<u8>,
    uris: Vec<Vec<u8>>,
}

impl Referral {
    /// Where it leads: URLs of which one is enough.
    pub(crate) fn uris(&self) -> &[Vec<u8>] {
        &self.uris
    }

    /// The referral that a request for `dn` meets, if there is one. `nearest` is its entry, or the nearest superior that
    /// there is; `scope` is that of a search.
    #[inline]
    pub(crate) fn met(
        read_point: ReadPoint<'_>,
        nearest: EntryId,
        dn: &[u8],
        scope: Option<Scope>,
    ) -> Option<Referral> {
        if read_point.shard().has_referrals() { Referral::look(read_point, nearest, dn, scope) } else { None }
    }

    /// The topmost object counts: what is below it is another server's, also another referral object there.
    #[cold]
    fn look(
        read_point: ReadPoint<'_>,
        nearest: EntryId,
        dn: &[u8],
        scope: Option<Scope>,
    ) -> Option<Referral> {
        // The entry itself counts as well: a referral object refers requests for itself.
        let object = read_point.referral_above(nearest)?;
        let below = first_rdns(dn, read_point.rdns_below(dn, object.id));
        let (dn, uris) = uris(read_point, &object, below, scope_part(scope));
        Some(Referral { dn, uris })
    }

    /// Answers with it.
    /// Whatever the operation is, its result is a referral with the same fields (RFC 4511 section 4.1.10).
    pub(crate) fn answer(&self, out: &mut Vec<u8>, id: i32, response_tag: u8) {
        let list = octet_list(self.uris.iter().map(Vec::as_slice));
        let result = LdapResult {
            code: ResultCode::Referral as u32,
            matched_dn: &self.dn,
            diagnostic: b"",
            referral: Octets::parse(&list).unwrap_or(Octets::EMPTY),
        };
        encode_response(out, id, response_tag, &result, |_| {}, &[]);
    }
}

/// The referral of a request for a name that is in no naming context, if the server knows where to send it (RFC 4511 section 4.1.10).
/// It is looked for only when the request would be answered that its name is outside, so that others pay nothing.
#[inline]
pub(crate) fn of_outside(dsa: &Dsa, dn: &[u8], scope: Option<Scope>) -> Option<Referral> {
    if dsa.default_referral.is_set() { look_outside(dsa, dn, scope) } else { None }
}

#[cold]
fn look_outside(dsa: &Dsa, dn: &[u8], scope: Option<Scope>) -> Option<Referral> {
    // A name that is none is a fault of the client, not a name of another server.
    let is_outside = !dsa.shard.may_hold(dn) && !dsa.system.holds(dn) && model::dn::parse(dn).is_ok();
    // The setting may have gone between two looks.
    let urls = is_outside.then(|| dsa.default_referral.urls()).filter(|urls| !urls.is_empty())?;
    let uris = urls.iter().map(|url| rewrite(url.as_bytes(), dn, b"", scope_part(scope))).collect();
    // No entry matched.
    Some(Referral { dn: Vec::new(), uris })
}

/// The answer to an update of an entry that is outside, if the server knows where to send it. It is given before the log: the outcome of
/// a command of the log does not depend on a setting.
#[inline]
pub(crate) fn answer_outside(dsa: &Dsa, message: &Message<'_>) -> Option<Vec<u8>> {
    if dsa.default_referral.is_set() { refer_outside(dsa, message) } else { None }
}

#[cold]
fn refer_outside(dsa: &Dsa, message: &Message<'_>) -> Option<Vec<u8>> {
    let response_tag = tag::response_to(message.request.tag())?;
    let referral = look_outside(dsa, &names(&message.request).next()?, None)?;
    let mut answer = Vec::new();
    referral.answer(&mut answer, message.id, response_tag);
    Some(answer)
}

/// The part of a URI that says the scope of a search.
/// RFC 4511 section 4.1.10 recommends the scope, and RFC 4516 has no word for subordinates.
fn scope_part(scope: Option<Scope>) -> &'static str {
    match scope {
        None | Some(Scope::Subordinates) => "",
        Some(Scope::Base) => "??base",
        Some(Scope::One) => "??one",
        Some(Scope::Subtree) => "??sub",
    }
}

/// URIs of a continuation reference: where a search goes on that found a referral object in its scope.
/// A one-level search goes on at the object itself, with scope base: its subordinates are not asked for.
pub(crate) fn continuation(read_point: ReadPoint<'_>, object: &EntryRef<'_>, scope: Scope) -> Vec<Vec<u8>> {
    let scope = if scope == Scope::One { "??base" } else { "??sub" };
    uris(read_point, object, b"", scope).1
}

/// Answers an update that meets a referral object. `false`, and nothing, if it meets none.
#[inline]
pub(crate) fn refer_update(
    writing: &mut Writing<'_, '_>,
    message: &Message<'_>,
    requested: &Requested<'_>,
    out: &mut Vec<u8>,
) -> bool {
    !requested.manage_dsa_it
        && writing.writer.view().shard().has_referrals()
        && refer_met(writing, message, out)
}

/// In the writer's role, for another client may have added or removed a referral object since the update came. It is part of the update's
/// outcome, and the same on a replay.
#[cold]
fn refer_met(writing: &mut Writing<'_, '_>, message: &Message<'_>, out: &mut Vec<u8>) -> bool {
    let Some(response_tag) = tag::response_to(message.request.tag()) else { return false };
    let Some((dn, is_add)) = place(&message.request) else { return false };
    if let Some(referral) = met_by_update(writing, dn, is_add) {
        referral.answer(out, message.id, response_tag);
        return true;
    }
    let Request::ModifyDn(modify_dn) = &message.request else { return false };
    let Some(text) = met_by_new_name(writing, modify_dn) else { return false };
    crate::outcome::say(out, message.id, response_tag, ResultCode::AffectsMultipleDsas, text);
    true
}

/// Why the new name is another server's (RFC 3296 section 5.6.2), if it is: the entry would go there.
fn met_by_new_name(writing: &mut Writing<'_, '_>, request: &ModifyDn<'_>) -> Option<&'static str> {
    if request.new_superior.is_some_and(|superior| met_by_update(writing, superior, false).is_some()) {
        return Some(OTHER_SUPERIOR);
    }
    if writing.dsa.behaviour() < FIRST_WITH_NEW_NAMES_REFERRED {
        return None;
    }
    // An entry that changes the spelling of its own name has it already, and is no referral object: that was looked at.
    let new_name = new_dn(request);
    met_by_update(writing, &new_name, false)
        .map(|_| "the new name is of an entry that is held by another server")
}

/// The writer's own view, which has the updates before this one of the same batch.
fn met_by_update(writing: &mut Writing<'_, '_>, dn: &[u8], is_add: bool) -> Option<Referral> {
    let (mut nearest, is_there) = writing.writer.nearest(dn)?;
    let read_point = writing.writer.view();
    // That an entry to be added is there already is answered to the one that adds it, whatever it is.
    if is_add && is_there {
        nearest = read_point.entry(nearest)?.parent();
    }
    Referral::met(read_point, nearest, dn, None)
}

/// Is an entry a referral object or below one?
/// Such an entry is not returned by a search: the reference is.
pub(crate) fn is_elsewhere(read_point: ReadPoint<'_>, entry: &EntryRef<'_>) -> bool {
    entry.shape.kind == Kind::Referral || read_point.referral_above(entry.parent()).is_some()
}

/// DN of a referral object, and its URIs as they are for what is `below` it.
/// Values that are no URI with a DN are returned as they are (RFC 3296 section 2.3).
fn uris(
    read_point: ReadPoint<'_>,
    object: &EntryRef<'_>,
    below: &[u8],
    scope: &str,
) -> (Vec<u8>, Vec<Vec<u8>>) {
    let (dn, mut values) = (read_point.dn(object, &mut DnCache::default()), Vec::new());
    read_point.values_of(object, read_point.shard().schema().well_known().reference, &mut values);
    let uris = values.iter().map(|value| rewrite(value, &dn, below, scope)).collect();
    (dn, uris)
}

/// A value of `ref` without its label; of an LDAP URI, the DN is completed and what else it selects is dropped, but for extensions (RFC 3296
/// sections 2.3, 5.2 and 5.3).
fn rewrite(value: &[u8], own: &[u8], below: &[u8], scope: &str) -> Vec<u8> {
    let uri = value.split(|b| *b == b' ').next().unwrap_or_default();
    let Some(url) = LdapUrl::split(uri) else { return uri.to_vec() };
    // Host and port go through untouched, whatever they are. Without them the client asks the server that it has.
    let mut out = [url.scheme, b"://", url.host, b"/"].concat();
    if !below.is_empty() {
        percent_encode(below, &mut out);
        out.push(b',');
    }
    match url.dn {
        b"" => percent_encode(own, &mut out),
        dn => out.extend_from_slice(dn),
    }
    out.extend_from_slice(scope.as_bytes());
    if !url.extensions.is_empty() {
        out.extend_from_slice(if scope.is_empty() { b"????" } else { b"??" });
        out.extend_from_slice(url.extensions);
    }
    out
}

/// RFC 4516 section 2.1: what is neither reserved nor unreserved, and the question mark.
/// Commas, equals signs and the like may stand in a DN of a URI as they are, and do in what other servers send.
fn percent_encode(text: &[u8], out: &mut Vec<u8>) {
    percent::encode(text, b"=,+:@!$&'()*;", out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_completed() {
        let own = b"ou=x y,dc=com";
        for (value, below, scope, expected) in [
            ("ldap://h/ou=z,dc=org", "", "", "ldap://h/ou=z,dc=org"),
            ("ldap://h:3389 the label", "", "??sub", "ldap://h:3389/ou=x%20y,dc=com??sub"),
            ("LDAPS://h/??one?(cn=a)", "", "??base", "LDAPS://h/ou=x%20y,dc=com??base"),
            ("ldap://h/dc=org", "cn=\u{e4}?", "", "ldap://h/cn=%C3%A4%3F,dc=org"),
            ("ldap:///dc=org", "cn=a,cn=b", "??one", "ldap:///cn=a,cn=b,dc=org??one"),
            ("ldap://h/dc=org????!1.2=a,x", "cn=a", "", "ldap://h/cn=a,dc=org????!1.2=a,x"),
            ("ldap://h/dc=org?cn?sub?(cn=a)?!1.2", "", "??one", "ldap://h/dc=org??one??!1.2"),
            ("http://h/x?y", "cn=a", "??one", "http://h/x?y"),
            ("nonsense", "", "", "nonsense"),
        ] {
            let made = rewrite(value.as_bytes(), own, below.as_bytes(), scope);
            assert_eq!(String::from_utf8(made).unwrap(), expected, "{value}");
        }
    }
}
