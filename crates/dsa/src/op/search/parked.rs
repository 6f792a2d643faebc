//! Searches that follow changes, between two batches: parked without a read point, and woken by an event.
//!
//! A session whose only searches are parked is idle. It is asked for notices when its waker is called, as a session with a transaction is,
//! and is busy from then on until its searches are parked again. While a session is busy with others it looks for events before each step, and
//! needs no waker.

use super::batch::Lost;
use super::follow::{Next, Stage};
use super::running::Running;
use super::share::TOO_MANY;
use super::special::leads_to;
use super::suspended::{Progress, SuspendedSearch};
use crate::access::Requester;
use crate::engine::Dsa;
use crate::monitor::Counters;
use crate::wakes::Sleeper;
use crate::worker::{Scratch, Worker};
use model::ResultCode;
use std::sync::Arc;
use store::search::Cursor;
use store::{Follower, Holder, ReadPoint, Reader, RevocableReadPoint, Shard};

/// One text for all reasons.
const LOST: &str = "what the client has is not known any more";

/// A read point of this moment.
pub(super) fn newest(shard: &Arc<Shard>, holder: Holder) -> Option<RevocableReadPoint> {
    let mut reader = Reader::register(shard)?;
    let pin = reader.pin();
    pin.look().extend_revocable(holder)
}

/// Has a requester the rights of a read point? They were worked out before it was taken, and something may have been changed in between: what
/// has become hidden would be judged as it was.
fn has_rights_of(worker: &mut Worker, who: Requester, read_point: &mut RevocableReadPoint) -> bool {
    // One that was taken away ends the search.
    let Some(entered) = read_point.enter() else { return true };
    let read_point = entered.read_point();
    let Scratch { views, evaluator, .. } = &mut worker.scratch;
    evaluator.cache.refresh(read_point);
    views.keep_up_as(who.class, &worker.dsa.access, read_point, &mut evaluator.cache)
}

impl Running {
    /// Ends it since what its client has is not known any more.
    pub(super) fn end_lost(&self, out: &mut Vec<u8>) -> Progress {
        self.end_following(LOST, out)
    }

    /// Ends a search that follows changes, for it cannot go on. Its client is to begin anew.
    /// It gets no cookie: the last one that it has is still good, or is refused when it comes.
    fn end_following(&self, text: &str, out: &mut Vec<u8>) -> Progress {
        let is_sync = self.following.as_ref().is_some_and(|following| following.is_sync());
        let code = if is_sync { ResultCode::SyncRefreshRequired } else { ResultCode::Busy };
        self.end_with(out, code, text);
        Progress::Done
    }
}

impl SuspendedSearch {
    /// Does it stay, to report changes?
    pub(crate) fn follows(&self) -> bool {
        self.running.following.as_ref().is_some_and(|following| following.follower.is_some())
    }

    /// Has it nothing to do until something is changed?
    /// A search that is suspended for another reason always has a read point, so one comparison decides for all of them.
    #[inline]
    pub(crate) fn is_parked(&self) -> bool {
        self.read_point.is_none() && !self.is_due
    }

    /// Something may have been changed, an entry or the rules: looks whether it has to go on. If not, the sleeper is woken by what is changed next.
    pub(crate) fn look_for_events(&mut self, sleeper: Option<&mut Sleeper<'_>>) {
        if !self.is_parked() {
            return;
        }
        let follower = self.running.following.as_mut().and_then(|following| following.follower.as_mut());
        self.is_due = follower.is_some_and(|follower| match sleeper {
            Some(sleeper) => sleeper.sleep(|bell| follower.wake_with(bell)),
            None => follower.has_more(),
        });
    }

    /// Its client does not read what it was sent: gives up the read point, so that old versions are not kept for it. It goes on at another one
    /// when the client has read, or ends if it is too far behind by then.
    pub(crate) fn give_up_read_point(&mut self) {
        if let Some(following) = &self.running.following
            && following.may_move()
            && self.large.is_none()
            && !self.running.is_within_entry()
            && self.read_point.take().is_some()
        {
            self.is_due = true;
        }
    }

    /// Before a slice: gathers what was changed, if it was parked. `Some` if the slice ends with that.
    /// Rights are compared first, before anything is said. A class that is another one may mean the same, and the client has a refresh for
    /// nothing; the other way round it would keep what it may not see.
    pub(super) fn begin_slice(
        &mut self,
        worker: &mut Worker,
        who: Requester,
        work: &mut u64,
        out: &mut Vec<u8>,
    ) -> Option<Progress> {
        self.running.following.as_ref()?;
        // The rest of an entry comes first, whatever the rights are by now.
        if self.large.is_some() {
            return None;
        }
        if let Some(progress) = self.running.end_with_rights(worker, who, out) {
            return Some(progress);
        }
        let following = self.running.following.as_mut()?;
        if self.read_point.is_none() {
            // It has given up the one that it had, and will not be able to go on behind this batch.
            if following.follower.as_ref().is_some_and(Follower::is_behind) {
                return Some(self.running.end_lost(out));
            }
            let holder = Holder { since_ns: worker.now.monotonic_ns, peer: following.peer };
            let Some(mut read_point) = newest(&worker.dsa.shard, holder) else {
                self.running.end_with(out, ResultCode::Busy, TOO_MANY);
                return Some(Progress::Done);
            };
            // It stays due, and is called again with what the session may by then.
            if !has_rights_of(worker, who, &mut read_point) {
                return Some(Progress::Paused);
            }
            // RFC 4533 section 3.5.1: aliases on the way to the base may lead elsewhere by now.
            if let Some(name) = &following.through
                && let Some(entered) = read_point.enter()
                && !leads_to((&mut worker.scratch, entered.read_point()), who, name, self.running.base.id)
            {
                return Some(self.running.end_lost(out));
            }
            (self.read_point, self.is_due) = (Some(read_point), false);
            match following.stage {
                Stage::Parked => (following.stage, following.said) = (Stage::Gather, false),
                Stage::Batch(_) => following.has_moved = true,
                Stage::Refresh | Stage::Gather => {}
            }
            self.running.began_ns = worker.now.monotonic_ns;
        }
        if following.stage != Stage::Gather {
            return None;
        }
        // If the cleaner has taken the read point away, the search is ended as any other.
        let entered = self.read_point.as_mut()?.enter()?;
        match following.gather((self.running.id, entered.read_point()), work, out) {
            Err(Lost) => Some(self.running.end_lost(out)),
            Ok(None) => {
                drop(entered);
                Some(self.pause(&worker.counters, out))
            }
            Ok(Some(ids)) => {
                let (scope, filter) = (following.scope, following.filter.clone());
                self.running.cursor = Cursor::over_many(self.running.base.id, scope, filter, ids);
                None
            }
        }
    }

    /// Waits for the next slice, or for an event, if there is room for what it keeps.
    pub(super) fn pause(&mut self, counters: &Counters, out: &mut Vec<u8>) -> Progress {
        match self.share.keep(&mut self.running, self.selectors.len()) {
            None => Progress::Paused,
            Some(code) => {
                self.running.end(counters, out, code);
                Progress::Done
            }
        }
    }
}

impl Running {
    /// Ends a search that follows changes if its requester has other rights than when it began, or the schema is another one: what its client has may hold no
    /// more, and its filter may find other entries.
    pub(super) fn end_with_rights(
        &mut self,
        worker: &Worker,
        who: Requester,
        out: &mut Vec<u8>,
    ) -> Option<Progress> {
        let following = self.following.as_ref()?;
        if following.schema != worker.dsa.shard.schema().generation() {
            return Some(self.end_following("the schema was changed", out));
        }
        let (class, epoch) = following.class;
        let holds = class == who.class && (!following.hangs_on_own || epoch == worker.scratch.views.epoch());
        (!holds).then(|| self.end_following("the rights of the requester were changed", out))
    }

    /// All candidates were looked at: what comes next.
    /// The read point is given up by the caller: a search that is parked holds back no cleaner.
    pub(super) fn end_stage(
        &mut self,
        (dsa, read_point): (&Dsa, ReadPoint<'_>),
        work: &mut u64,
        out: &mut Vec<u8>,
    ) -> Option<Next> {
        let following = self.following.as_mut()?;
        Some(match following.stage {
            Stage::Refresh => {
                match following.say_gone(dsa, (self.id, read_point), out) {
                    Ok(true) => {}
                    Ok(false) => return Some(Next::More),
                    Err(Lost) => {
                        self.end_following(LOST, out);
                        return Some(Next::End);
                    }
                }
                // Limits are those of the refresh (RFC 4533 sections 3.5.3 and 3.5.4).
                (self.left, self.deadline_ns) = (u32::MAX, u64::MAX);
                following.end_refresh(self.id, read_point.shard(), out)
            }
            Stage::Batch(_) => following.end_batch((self.id, read_point), work, out),
            Stage::Gather | Stage::Parked => Next::Park,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;
    use crate::system::tests::{Fixture, ROOT_DN, config, standard_schema};
    use crate::{Session, State};
    use proto::control::{Control, persistent_search};
    use proto::op::Search;

    /// Between the look at the rules and the read point of a batch a group is changed: what is hidden by then is not reported.
    #[test]
    fn rights_that_are_lost_before_the_read_point() {
        let rules = [
            "hidden: all filter=\"(title=secret)\" attrs=entry,**; users; deny=all",
            "staff: all filter=\"(title=secret)\" attrs=entry,**; group=\"cn=staff,dc=com\"; allow=see rank=5",
        ];
        let mut config = config();
        let rules = rules.map(str::to_owned);
        config.settings.configured.access.rules = ::access::parse_all(&rules).expect("the rules are sound");
        let dsa = Dsa::new(config, standard_schema()).expect("memory is plenty");
        let worker = Worker::new(&dsa).expect("there are few readers");
        let mut fixture = Fixture { dsa, worker, identity: Identity::anonymous(), out: Vec::new() };
        fixture.bind(ROOT_DN, "secret");
        let person = |more| [("objectClass", &["inetOrgPerson"][..]), ("cn", &["x"]), ("sn", &["x"]), more];
        let top = [("objectClass", &["dcObject", "organization"][..]), ("o", &["Com"]), ("dc", &["com"])];
        let staff = [("objectClass", &["groupOfNames"][..]), ("member", &["uid=ann,dc=com"])];
        let added = [
            fixture.add("dc=com", &top),
            fixture.add("uid=ann,dc=com", &person(("userPassword", &["secret"]))),
            fixture.add("uid=eve,dc=com", &person(("title", &["secret"]))),
            fixture.add("cn=staff,dc=com", &staff),
        ];
        assert!(added.iter().all(|answer| answer.code == ResultCode::Success), "{added:?}");
        assert_eq!(fixture.bind("uid=ann,dc=com", "secret").code, ResultCode::Success);
        let mut session = Session::new(&mut fixture.worker);
        session.identity = fixture.identity.clone();
        let filter = model::Filter::Present(b"sn");
        let search = Search::unlimited(b"dc=com", model::Scope::Subtree, filter, proto::Octets::EMPTY);
        let value = [0x30, 9, 2, 1, 15, 1, 1, 0xff, 1, 1, 0xff];
        let control = Control { oid: persistent_search::OID, critical: true, value: Some(&value) };
        let (mut input, mut out) = (Vec::new(), Vec::new());
        proto::Request::Search(search).encode(&mut input, 5, &[control]);
        let mut state = session.feed(&mut fixture.worker, &input, &mut out).state;
        while state == State::Busy {
            state = session.step(&mut fixture.worker, &mut out);
        }
        let mut search = session.searches.pop_front().expect("it stays");
        assert!(out.is_empty() && search.is_parked());
        let mut writer = fixture.dsa.shard.writer();
        for dn in ["cn=staff,dc=com", "uid=eve,dc=com"] {
            writer.delete(dn.as_bytes()).expect("it is there");
        }
        writer.publish();
        search.look_for_events(None);
        let client = (session.identity.requester(), session.security);
        let progress = search.go_on(&mut fixture.worker, client, &mut (1 << 13), &mut out);
        assert_eq!(progress, Progress::Paused);
        assert!(out.is_empty() && !search.is_parked(), "it is called again");
        session.searches.push_back(search);
        session.step(&mut fixture.worker, &mut out);
        let reply = proto::message::Reply::decode(&out).expect("one whole message");
        let end = reply.result().expect("the end of the search");
        assert_eq!(end.result_code(), Some(ResultCode::Busy));
    }
}
