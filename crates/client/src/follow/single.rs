//! A compare or an update that goes on at another server, which answers it.
//!
//! An update is sent to one server at most, once. What fails before it is sent is tried at the next URL; what fails after that has an outcome that nobody
//! knows, and the client is answered so. A compare changes nothing, so it is repeated as a search is.

use super::question::{Asking, Followed, Time, UNAVAILABLE, kept, passed_on, text_of};
use super::target::{Target, Targets, named};
use super::url;
use crate::error::ClientError;
use crate::kept::probe;
use crate::link::Link;
use model::limits::{CHAIN_SEARCHES_MAX, CHAIN_SECONDS_MAX};
use model::{ResultCode, dn};
use proto::message::{Reply, Request, Response};
use proto::op::{Add, Compare, Modify, ModifyDn};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// What came of one server.
enum End {
    /// Its result.
    Result(Followed),
    /// It was not asked, or cannot have done anything; why, for the operator.
    Unasked(String),
    /// It was sent an update, and nothing is known of what became of it; why, for the operator.
    Unknown(String),
}

pub(super) fn follow<'t>(request: Request<'_>, asking: &Asking<'_>, targets: &Targets<'t>) -> Followed {
    let mut failures = Vec::new();
    let followed = go_on(request, asking, targets, &mut failures);
    Followed { failures, ..followed }
}

fn go_on<'t>(
    request: Request<'_>,
    asking: &Asking<'_>,
    targets: &Targets<'t>,
    failures: &mut Vec<String>,
) -> Followed {
    let time = Time::of(CHAIN_SECONDS_MAX);
    let (Some(urls), Some(name)) = (asking.places.first(), target_of(&request)) else {
        return Followed::failed(ResultCode::OperationsError, "it has no place".to_owned());
    };
    let (mut urls, mut superiors) = (urls.clone(), asking.superiors.to_vec());
    let (mut name, mut visited) = (name.to_vec(), BTreeSet::new());
    loop {
        let mut why = Followed::failed(ResultCode::Unavailable, "no server can be asked".to_owned());
        let mut next = None;
        for (at, url) in urls.iter().enumerate() {
            let (Some(target), Some((base, _))) = (targets(url), url::place(url)) else { continue };
            let base = base.unwrap_or_else(|| name.clone());
            let superior = superiors.get(at).and_then(|url| url::place(url)).and_then(|(dn, _)| dn);
            if !target.covers(&base) || superior.as_deref().is_some_and(|superior| !target.covers(superior)) {
                continue;
            }
            let Some(there) = renamed(&request, &base, superior.as_deref()) else { continue };
            if !visited.insert(url.to_ascii_lowercase()) || visited.len() > CHAIN_SEARCHES_MAX {
                let text = "the referrals lead in a circle, or through too many servers";
                why = Followed::failed(ResultCode::LoopDetect, text.to_owned());
                continue;
            }
            if time.is_over() {
                break;
            }
            target.asked.fetch_add(1, Ordering::Relaxed);
            match at_one(target, asking.who, &there, &time) {
                End::Result(followed) => {
                    target.has_answered();
                    next = Some((followed, base));
                    break;
                }
                End::Unasked(reason) => {
                    target.fails(reason, failures);
                    why.text = UNAVAILABLE.to_owned();
                }
                End::Unknown(reason) => {
                    target.fails(reason, failures);
                    let text = "another server has not answered: the outcome is unknown";
                    return Followed::failed(ResultCode::Unavailable, text.to_owned());
                }
            }
        }
        let Some((followed, base)) = next else { return why };
        // A server that refers has done nothing. Where the new superior of a rename is there, it does not say.
        let is_followed = followed.code == ResultCode::Referral as u32
            && superiors.is_empty()
            && followed.urls.iter().any(|url| targets(url).is_some() && url::place(url).is_some());
        if !is_followed {
            return followed;
        }
        (urls, superiors, name) = (followed.urls, Vec::new(), base);
    }
}

/// The name of the entry that a request is about.
fn target_of<'a>(request: &Request<'a>) -> Option<&'a [u8]> {
    match request {
        Request::Compare(request) => Some(request.dn),
        Request::Add(request) => Some(request.dn),
        Request::Modify(request) => Some(request.dn),
        Request::Delete(dn) => Some(dn),
        Request::ModifyDn(request) => Some(request.dn),
        _ => None,
    }
}

/// The request by the name that the entry has there; a new superior has another, too. `None` if that is not known.
fn renamed<'n>(request: &Request<'n>, dn: &'n [u8], superior: Option<&'n [u8]>) -> Option<Request<'n>> {
    Some(match *request {
        Request::Compare(request) => Request::Compare(Compare { dn, ..request }),
        Request::Add(request) => Request::Add(Add { dn, ..request }),
        Request::Modify(request) => Request::Modify(Modify { dn, ..request }),
        Request::Delete(_) => Request::Delete(dn),
        Request::ModifyDn(request) => {
            let new_superior = match request.new_superior {
                None => None,
                Some(_) => Some(superior?),
            };
            Request::ModifyDn(ModifyDn { dn, new_superior, ..request })
        }
        _ => return None,
    })
}

/// Asks one server.
fn at_one(target: &Target, who: &[u8], request: &Request<'_>, time: &Time) -> End {
    let is_update = !matches!(request, Request::Compare(_));
    let unasked = |error: &ClientError| End::Unasked(named(&target.server, error));
    // By a connection that was kept, if there is one. It is known to lead to the server before an update is sent.
    if let Some(mut link) = target.links.take(time.seconds_left(), !is_update) {
        if is_update {
            return update(link, target, who, request);
        }
        if let Ok(followed) = by(&mut link, target, who, request) {
            target.links.keep(link);
            return End::Result(followed);
        }
        if time.is_over() {
            return unasked(&ClientError::Late(CHAIN_SECONDS_MAX));
        }
    }
    let mut link = match target.links.open(&target.server, time.seconds_left()) {
        Ok(link) => link,
        Err(error) => return unasked(&error),
    };
    if !is_update {
        return match by(&mut link, target, who, request) {
            Ok(followed) => {
                target.links.keep(link);
                End::Result(followed)
            }
            Err(error) => unasked(&error),
        };
    }
    // Without a bind nothing was heard of the server yet, and TLS begins with the first request.
    if target.server.credentials.is_none()
        && let Err(error) = probe(&mut link)
    {
        return unasked(&error);
    }
    update(link, target, who, request)
}

/// Sends an update by a connection by which the server has answered just now. From here on it may have been made.
fn update(mut link: Link, target: &Target, who: &[u8], request: &Request<'_>) -> End {
    match by(&mut link, target, who, request) {
        Ok(followed) => {
            target.links.keep(link);
            End::Result(followed)
        }
        Err(error) => End::Unknown(named(&target.server, error)),
    }
}

/// Sends a request and waits for its result.
fn by(link: &mut Link, target: &Target, who: &[u8], request: &Request<'_>) -> Result<Followed, ClientError> {
    let id = target.with_controls(who, |controls| link.push(|out, id| request.encode(out, id, controls)));
    let wanted = proto::tag::response_to(request.tag());
    let is_compare = matches!(request, Request::Compare(_));
    loop {
        let taken = link.receive(|reply| match (&reply.response, reply.id == id) {
            (Response::Intermediate(_), true) => Ok(None),
            (Response::Done(tag, _), true) if Some(*tag) == wanted => {
                Ok(Some(result_of(reply, target, target_of(request), is_compare)))
            }
            _ => Err(ClientError::Malformed("an answer to something else")),
        })?;
        if let Some(followed) = taken? {
            return Ok(followed);
        }
    }
}

fn result_of(reply: &Reply<'_>, target: &Target, name: Option<&[u8]>, is_compare: bool) -> Followed {
    let Some(result) = reply.result() else { return Followed::default() };
    let rdns = |name: &[u8]| dn::parse(name).map(|rdns| rdns.len()).ok();
    let unmatched = name.and_then(rdns).zip(rdns(result.matched_dn));
    let code = passed_on(&result, is_compare);
    // No other result has URLs (RFC 4511 section 4.1.10).
    let is_referral = code == ResultCode::Referral as u32;
    Followed {
        code,
        text: text_of(&result, target),
        urls: if is_referral { kept(result.referral.iter()) } else { Vec::new() },
        // What there is on the way may be for this server alone, if it asks as itself.
        unmatched: unmatched
            .and_then(|(all, matched)| all.checked_sub(matched))
            .filter(|_| target.is_proxied),
        ..Followed::default()
    }
}
