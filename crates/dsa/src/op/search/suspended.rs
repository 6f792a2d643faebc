//! A search that is suspended: what it keeps, and how it goes on in slices.
//!
//! It is given the requester of its session anew with each slice, so that a bind or a change of rules holds from then on; only one that acts
//! as somebody else keeps that identity. Nothing is half done between two slices but an entry that is too long for the output buffer.

use super::follow::{Next, Stage};
use super::running::{Rest, Running};
use super::share::{Allowance, Share, TOO_MANY};
use crate::access::Requester;
use crate::context::Reading;
use crate::entry_writer::Large;
use crate::identity::Identity;
use crate::monitor::Counters;
use crate::outcome;
use crate::peers::Peer;
use crate::session::security::Security;
use crate::worker::{Parts, Worker};
use model::ResultCode;
use model::limits::{OUT_BYTES_SOFT_MAX, SESSION_SEARCHES_MAX};
use proto::list::Octets;
use proto::outline::Outline;
use proto::result::encode_result;
use proto::tag;
use std::collections::VecDeque;
use store::{Holder, Look, RevocableReadPoint, Target};

/// A search that outlived its bundle.
/// It owns everything that it needs, for the input buffer with its request is used again at once.
pub(crate) struct SuspendedSearch {
    /// None of one that is parked: it waits for changes.
    pub(super) read_point: Option<RevocableReadPoint>,
    pub(super) running: Running,
    /// The attribute selectors, owned: the request is gone.
    pub(super) selectors: Vec<u8>,
    pub(super) large: Option<Large>,
    /// As whom it is made, if not as whom the session is bound (RFC 4370). It goes on as that one: an application that asks in the name
    /// of a user must not get the rest of an answer by its own rights.
    pub(super) acting: Option<Box<Identity>>,
    /// Is it to go on, though it is parked?
    /// Set when an event was seen, and taken back when the events are taken.
    pub(super) is_due: bool,
    /// What it takes of what clients may have.
    pub(super) share: Share,
}

/// What surrounds a search in its bundle.
/// It borrows from the session and from the bundle's pins; a search that ends in its bundle copies nothing.
pub(crate) struct SearchContext<'b> {
    pub(crate) look: Look<'b>,
    pub(crate) system_look: Look<'b>,
    /// Where the client comes from.
    pub(crate) peer: &'b Peer,
    pub(crate) identity: &'b Identity,
    pub(crate) searches: &'b mut VecDeque<SuspendedSearch>,
    pub(crate) counters: &'b Counters,
    /// Where the base is, if it was worked out for this read point.
    pub(crate) hint: Option<Target>,
    /// The request's outline, if it has one.
    pub(crate) outline: Option<&'b Outline<'b>>,
}

/// What became of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The last message was written.
    Done,
    /// There is more, and the out buffer ends with a whole message.
    Paused,
    /// There is more of the message at the end of the out buffer.
    InMessage,
    /// It was ended with an entry half written: the session cannot go on.
    Broken,
}

/// Answers busy where there are too many suspended searches: they hold readers and memory, and clients that take turns get one later.
pub(super) fn suspend(
    reading: &Reading<'_>,
    context: &mut SearchContext<'_>,
    running: Running,
    selectors: Octets<'_>,
    large: Option<Large>,
    out: &mut Vec<u8>,
) {
    // The read point that it is extended from is pinned by the bundle: nothing between the pin and the new reader can be freed.
    // The server's own entries and the directory are two shards; a reader belongs to one of them.
    let look = if running.base.is_system { context.system_look } else { context.look };
    // What the client is charged with until the search ends.
    let bytes = running.bytes() + selectors.raw().len();
    // An entry that is half written must be finished, whatever the number is; else the stream to the client is broken.
    let room = context.searches.len() < SESSION_SEARCHES_MAX || large.is_some();
    let holder = Holder { since_ns: running.began_ns, peer: context.peer.client() };
    let max = reading.scratch.views.bounds(context.identity.requester().class).searches;
    let allowance = Allowance { max, now: context.searches.len(), counters: context.counters };
    let share = match room {
        true => Share::take(reading.dsa, (context.identity, context.peer), allowance, bytes),
        false => Err(TOO_MANY),
    };
    match share.and_then(|share| Ok((share, look.extend_revocable(holder).ok_or(TOO_MANY)?))) {
        Ok((share, read_point)) => {
            let selectors = selectors.raw().to_vec();
            // Of the session's own identity the class of the next turn counts, for a bind or a rule may come in between.
            let identity = context.identity;
            // An identity by SASL may act for another one as well; it is kept like this one, and is the session's.
            let acting = identity.real.is_some().then(|| Box::new(identity.clone()));
            let read_point = Some(read_point);
            let search =
                SuspendedSearch { read_point, running, selectors, large, acting, is_due: false, share };
            // What is half written comes first.
            // Its bytes are the last in the output buffer, so nothing may be written between them and the rest.
            match search.is_in_message() {
                true => context.searches.push_front(search),
                false => context.searches.push_back(search),
            }
        }
        Err(text) => {
            // No entry can be left half written without a read point to go on at.
            if let Some(large) = large {
                out.truncate(large.begin);
            }
            encode_result(out, running.id, tag::SEARCH_DONE, ResultCode::Busy, b"", text, &[]);
        }
    }
}

impl SuspendedSearch {
    /// The message id of the request.
    /// An abandon names it (RFC 4511 section 4.11).
    pub(crate) fn message_id(&self) -> i32 {
        self.running.id
    }

    /// DN of who it is made as: the one whom `session` is bound as, if it is nobody else.
    pub(crate) fn user<'a>(&'a self, session: &'a Identity) -> &'a [u8] {
        &self.acting.as_deref().unwrap_or(session).dn
    }

    /// Ends it as its client wishes (RFC 3909). No entry of it may be half written.
    pub(crate) fn cancel(self, out: &mut Vec<u8>) {
        assert!(!self.is_in_message(), "no request is run while an entry is half written");
        self.running.end_with(out, ResultCode::Canceled, "");
    }

    /// Is an entry of it half written?
    pub(crate) fn is_in_message(&self) -> bool {
        self.large.is_some()
    }

    /// It was ended for what it held.
    #[cold]
    fn end_revoked(&self, now_ns: u64, out: &mut Vec<u8>) -> Progress {
        if self.large.is_some() {
            return Progress::Broken;
        }
        // What has come of the batch is not known to be all of it.
        if self.running.following.as_ref().is_some_and(|following| following.stage != Stage::Refresh) {
            return self.running.end_lost(out);
        }
        let bytes = self.read_point.as_ref().and_then(RevocableReadPoint::revoked_bytes).unwrap_or(0);
        let text = outcome::revoked_text(bytes, now_ns.saturating_sub(self.running.began_ns));
        self.running.end_with(out, ResultCode::AdminLimitExceeded, &text);
        Progress::Done
    }

    /// As whom it goes on: as the session's identity is now, or as the one that it was made as, with the class that this one has by now.
    fn requester(&mut self, worker: &mut Worker, (who, security): (Requester, Security)) -> Requester {
        // Nearly all searches are made as the session's own, and show nobody's rights.
        let subject = self.running.rights.as_mut().and_then(|rights| rights.subject_mut());
        if self.acting.is_none() && subject.is_none() {
            return who;
        }
        let others = self.acting.as_deref_mut().into_iter().chain(subject);
        let Parts { dsa, reader, scratch, now, .. } = &mut worker.parts();
        let pin = reader.pin();
        let read_point = pin.read_point();
        scratch.evaluator.cache.refresh(read_point);
        let mut reading = Reading { dsa, read_point, scratch, now: *now, security };
        // Each has a class of its own, by the connection that both are looked at on.
        for other in others {
            reading.keep_up(other, security);
        }
        self.acting.as_ref().map_or(who, |acting| acting.requester())
    }

    /// Does work of a slice, as many units at most as are left of it, for the requester as it is now.
    /// While it runs the read point is entered: it cannot be revoked in the middle of a slice.
    pub(crate) fn go_on(
        &mut self,
        worker: &mut Worker,
        client: (Requester, Security),
        work: &mut u64,
        out: &mut Vec<u8>,
    ) -> Progress {
        let who = self.requester(worker, client);
        if let Some(progress) = self.begin_slice(worker, who, work, out) {
            return progress;
        }
        // The cleaner wanted the memory and took the read point away.
        let Some(entered) = self.read_point.as_mut().and_then(RevocableReadPoint::enter) else {
            return self.end_revoked(worker.now.monotonic_ns, out);
        };
        let read_point = entered.read_point();
        if let Some(large) = &mut self.large {
            if !large.go_on(read_point, out, OUT_BYTES_SOFT_MAX) {
                return Progress::InMessage;
            }
            self.large = None;
            if let Some(progress) = self.running.end_with_rights(worker, who, out) {
                return progress;
            }
        }
        // Checked between slices only: a slice is a third of a millisecond at most.
        if let Some(code) = self.running.overdue(worker.now.monotonic_ns) {
            self.running.end(&worker.counters, out, code);
            return Progress::Done;
        }
        // A rule that came meanwhile may hide something that the changes tell of.
        if self.running.base.is_change_log && !worker.scratch.views.reads_changes(who.class) {
            self.running.end(&worker.counters, out, ResultCode::InsufficientAccessRights);
            return Progress::Done;
        }
        worker.scratch.evaluator(self.running.base.is_system).cache.refresh(read_point);
        // Parsed again for each slice: the template is found by the bytes, so nothing is looked up in the schema.
        let selectors = Octets::parse(&self.selectors).expect("they were decoded before");
        let running = &mut self.running;
        let query = running.query(read_point, who, selectors);
        let Worker { dsa, now, scratch, counters, .. } = worker;
        let rest = running.slice((dsa, *now), scratch, &query, counters, work, out);
        running.tell_looked(&rest, &mut scratch.annotations, read_point);
        match rest {
            Rest::End(ResultCode::Success) if running.following.is_some() => {
                let next = running.end_stage((dsa, read_point), work, out);
                drop(entered);
                match next {
                    Some(Next::More) => {}
                    Some(Next::Park) => self.read_point = None,
                    Some(Next::End) | None => return Progress::Done,
                }
                return self.pause(&worker.counters, out);
            }
            Rest::End(code) => running.end(counters, out, code),
            Rest::PageFull => running.end_page(read_point, out),
            Rest::Pause => {
                drop(entered);
                return self.pause(&worker.counters, out);
            }
            Rest::Large(large) => {
                self.large = Some(large);
                return Progress::InMessage;
            }
        }
        Progress::Done
    }
}
