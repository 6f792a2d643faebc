//! A search that goes on at other servers.

use super::question::{Asking, Followed, Part, Time, UNAVAILABLE, kept, passed_on, text_of};
use super::target::{Target, Targets, named};
use super::url;
use crate::error::ClientError;
use crate::link::Link;
use model::limits::{CHAIN_BYTES_MAX, CHAIN_SEARCHES_MAX, CHAIN_SECONDS_MAX};
use model::{ResultCode, Scope};
use proto::message::{Reply, Request, Response};
use proto::op::Search;
use proto::op::search::encode_reference;
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::Ordering;

/// Where it goes on: URLs of which one is enough, and the base of the search that they came of.
type Waiting = (Vec<Vec<u8>>, Vec<u8>);

pub(super) fn follow<'t>(search: Search<'_>, asking: &Asking<'_>, targets: &Targets<'t>) -> Followed {
    let time = Time::of(match search.time_limit_s.unsigned_abs().into() {
        0 => CHAIN_SECONDS_MAX,
        asked => CHAIN_SECONDS_MAX.min(asked),
    });
    let mut following = Following {
        search,
        who: asking.who,
        targets,
        time,
        entries: 0,
        said: 0,
        bytes: 0,
        visited: BTreeSet::new(),
        waiting: VecDeque::new(),
        part: Part::default(),
        followed: Followed::default(),
    };
    following.run(asking.places, asking.is_each);
    following.followed
}

struct Following<'a, 't> {
    search: Search<'a>,
    who: &'a [u8],
    targets: &'a Targets<'t>,
    time: Time,
    entries: u32,
    /// Entries and references that came, of all servers.
    said: u64,
    /// Bytes of the parts before, and of the places that were still to be searched.
    bytes: usize,
    /// Where it was searched.
    visited: BTreeSet<Vec<u8>>,
    /// Where it is still to be searched, of the part in progress.
    waiting: VecDeque<Waiting>,
    part: Part,
    followed: Followed,
}

/// How a search at one server ended.
enum End {
    /// All is said.
    Done,
    /// With this code and text, which end everything.
    Result(u32, String),
    /// It cannot be asked now; nothing came of it. Why, for the operator.
    Unavailable(String),
    /// It failed in the middle of its answer; why, for the operator.
    Broken(String),
}

impl Following<'_, '_> {
    fn run(&mut self, places: &[Vec<Vec<u8>>], is_each: bool) {
        for urls in places {
            let before = self.entries;
            let end = self.place(urls);
            self.waiting.clear();
            let mut part = std::mem::take(&mut self.part);
            part.is_whole = end.is_none();
            // What the client has asked for at most ends all, wherever it comes of.
            let is_enough = self.has_enough() && is_size_limit(end.as_ref());
            if is_each && !part.is_whole && !is_enough {
                // The client gets the reference, and asks anew.
                self.entries = before;
                part = Part::default();
            }
            self.bytes += part.messages.len();
            self.followed.parts.push(part);
            if let (Some((code, text)), true) = (end, is_enough || !is_each) {
                (self.followed.code, self.followed.text) = (code, text);
                return;
            }
        }
    }

    fn has_enough(&self) -> bool {
        let limit = self.search.size_limit.unsigned_abs();
        limit > 0 && self.entries >= limit
    }

    /// Searches at a place, and where references of it lead. Code and text if it ends early.
    fn place(&mut self, urls: &[Vec<u8>]) -> Option<(u32, String)> {
        let mut is_first = true;
        self.waiting.push_back((urls.to_vec(), self.search.base.to_vec()));
        while let Some((urls, base)) = self.waiting.pop_front() {
            let end = self.alternatives(&urls, &base, is_first);
            if end.is_some() {
                return end;
            }
            is_first = false;
        }
        None
    }

    /// Searches at the first of some servers that can be asked. Code and text if that ends everything.
    fn alternatives(&mut self, urls: &[Vec<u8>], former: &[u8], is_first: bool) -> Option<(u32, String)> {
        let mut why = (ResultCode::Unavailable, "no server can be asked".to_owned());
        for url in urls {
            let Some(target) = (self.targets)(url) else { continue };
            let Some((base, scope)) = url::place(url) else { continue };
            // A URL without a name is about the name that was asked for (RFC 4511 section 4.1.10).
            let base = base.unwrap_or_else(|| former.to_vec());
            if !target.covers(&base) {
                continue;
            }
            if !self.visited.insert(url.to_ascii_lowercase()) {
                why = (ResultCode::LoopDetect, "the referrals lead in a circle".to_owned());
                continue;
            }
            if self.visited.len() > CHAIN_SEARCHES_MAX {
                return Some((ResultCode::AdminLimitExceeded as u32, partial("too many referrals")));
            }
            if self.time.is_over() {
                return Some((ResultCode::TimeLimitExceeded as u32, partial("the time is over")));
            }
            self.part.bases.push(base.clone());
            target.asked.fetch_add(1, Ordering::Relaxed);
            match self.at(target, &base, scope) {
                End::Done => {
                    target.has_answered();
                    return None;
                }
                End::Result(code, text) => {
                    target.has_answered();
                    return Some((code, text));
                }
                End::Unavailable(reason) => {
                    target.fails(reason, &mut self.followed.failures);
                    why.1 = UNAVAILABLE.to_owned();
                }
                // Another server would say again what this one has said.
                End::Broken(reason) => {
                    target.fails(reason, &mut self.followed.failures);
                    return Some((ResultCode::Unavailable as u32, partial(UNAVAILABLE)));
                }
            }
        }
        let text = if is_first { why.1 } else { partial(&why.1) };
        Some((why.0 as u32, text))
    }

    /// Searches at one server. A connection that was kept may have ended meanwhile: then it is searched by a new one.
    fn at(&mut self, target: &Target, base: &[u8], scope: Option<Scope>) -> End {
        let unavailable = |error: &ClientError| named(&target.server, error);
        let before = self.said;
        if let Some(mut link) = target.links.take(self.time.seconds_left(), true) {
            match self.by(&mut link, target, (base, scope)) {
                Ok((end, is_complete)) => return self.ended(target, (link, is_complete), end, before),
                Err(_) if self.said == before && !self.time.is_over() => {}
                Err(error) => return self.broken(unavailable(&error), before),
            }
        }
        let opened = target.links.open(&target.server, self.time.seconds_left());
        let mut link = match opened {
            Ok(link) => link,
            Err(error) => return End::Unavailable(unavailable(&error)),
        };
        match self.by(&mut link, target, (base, scope)) {
            Ok((end, is_complete)) => self.ended(target, (link, is_complete), end, before),
            Err(error) => self.broken(unavailable(&error), before),
        }
    }

    /// The connection has failed.
    fn broken(&self, why: String, before: u64) -> End {
        match self.said == before {
            true => End::Unavailable(why),
            false => End::Broken(why),
        }
    }

    fn ended(&self, target: &Target, (link, is_complete): (Link, bool), end: End, before: u64) -> End {
        // What a search that was given up still says would be taken for answers to the next request.
        if is_complete {
            target.links.keep(link);
        }
        match end {
            End::Unavailable(said) => self.broken(said, before),
            end => end,
        }
    }

    /// Searches by a connection. How that ended, and whether the server has said its last word.
    fn by(
        &mut self,
        link: &mut Link,
        target: &Target,
        (base, scope): (&[u8], Option<Scope>),
    ) -> Result<(End, bool), ClientError> {
        let mut search = Search { base, scope: scope.unwrap_or(self.search.scope), ..self.search.clone() };
        search.time_limit_s = i32::try_from(self.time.seconds_left()).unwrap_or(i32::MAX);
        let request = Request::Search(search);
        let id =
            target.with_controls(self.who, |controls| link.push(|out, id| request.encode(out, id, controls)));
        loop {
            if self.time.is_over() {
                let text = partial("the time is over");
                return Ok((End::Result(ResultCode::TimeLimitExceeded as u32, text), false));
            }
            let taken = link.receive(|reply| match reply.id == id {
                true => Ok(self.take(reply, base, target)),
                false => Err(ClientError::Malformed("an answer to something else")),
            })?;
            if let Some(end) = taken? {
                return Ok(end);
            }
        }
    }

    /// Takes a reply; how the search ended, if it is the last, or the last that is taken.
    fn take(&mut self, reply: &Reply<'_>, base: &[u8], target: &Target) -> Option<(End, bool)> {
        let result = |code: ResultCode, text| Some((End::Result(code as u32, text), false));
        if self.bytes + self.part.messages.len() > CHAIN_BYTES_MAX {
            return result(ResultCode::AdminLimitExceeded, partial("the answer is too long to be kept"));
        }
        match reply.response {
            Response::SearchEntry(entry) => {
                if self.has_enough() {
                    return result(ResultCode::SizeLimitExceeded, String::new());
                }
                self.entries += 1;
                self.said += 1;
                entry.encode(&mut self.part.messages, 1, &[]);
                None
            }
            Response::SearchReference(urls) => {
                self.said += 1;
                if !self.waits(urls.iter(), base) {
                    encode_reference(&mut self.part.messages, 1, urls.iter(), &[]);
                }
                None
            }
            _ => reply.result().map(|result| {
                let end = match result.result_code() {
                    Some(ResultCode::Success) => End::Done,
                    Some(code @ (ResultCode::Busy | ResultCode::Unavailable)) => {
                        End::Unavailable(named(&target.server, format_args!("it answers {code:?}")))
                    }
                    Some(ResultCode::Referral) if self.waits(result.referral.iter(), base) => End::Done,
                    _ => {
                        let code = passed_on(&result, false);
                        // No other result has URLs (RFC 4511 section 4.1.10).
                        if code == ResultCode::Referral as u32 {
                            self.followed.urls = kept(result.referral.iter());
                        }
                        End::Result(code, text_of(&result, target))
                    }
                };
                (end, true)
            }),
        }
    }

    /// Notes where the search goes on, by those of the URLs that lead to a server that may be asked. `false` if none does.
    fn waits<'u>(&mut self, urls: impl Iterator<Item = &'u [u8]>, base: &[u8]) -> bool {
        let leads = |url: &&[u8]| (self.targets)(url).is_some() && url::place(url).is_some();
        let urls = kept(urls.filter(leads));
        if urls.is_empty() || self.waiting.len() >= CHAIN_SEARCHES_MAX {
            return false;
        }
        self.bytes += base.len() + urls.iter().map(Vec::len).sum::<usize>();
        self.waiting.push_back((urls, base.to_vec()));
        true
    }
}

fn is_size_limit(end: Option<&(u32, String)>) -> bool {
    end.is_some_and(|(code, _)| *code == ResultCode::SizeLimitExceeded as u32)
}

/// What an answer says that is not all of it.
fn partial(why: &str) -> String {
    format!("{why}; this is a part of the answer")
}
