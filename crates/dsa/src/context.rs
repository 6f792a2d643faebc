//! What operations are given: what a request that looks sees, and what a request that changes works on.
//!
//! An operation gets its surroundings as one value and knows nothing of sessions, sockets or the log. So the same function serves a request, a replay and
//! an overlay.

use crate::constraints::Judging;
use crate::effective::Effective;
use crate::engine::Dsa;
use crate::identity::Identity;
use crate::session::security::Security;
use crate::worker::Scratch;
use crate::{outcome, system};
use env::clock::Now;
use model::{EntryId, ResultCode};
use store::{DnCache, Judge, Known, ReadPoint, Refused, Stamp};

/// A request that looks: everything at one read point.
/// The read point does not move while this exists; two looks at an entry see the same.
pub(crate) struct Reading<'r> {
    pub(crate) dsa: &'r Dsa,
    pub(crate) read_point: ReadPoint<'r>,
    pub(crate) scratch: &'r mut Scratch,
    pub(crate) now: Now,
    /// What protects the client's connection. The root DSE depends on it.
    pub(crate) security: Security,
}

impl Reading<'_> {
    /// As [`Reading::classify`], of an identity that may have its class already.
    pub(crate) fn keep_up(&mut self, identity: &mut Identity, security: Security) {
        let Scratch { views, evaluator, .. } = &mut *self.scratch;
        views.keep_up(&self.dsa.access, self.read_point, &mut evaluator.cache);
        if !views.holds(identity.class) {
            let connection = security.connection();
            identity.class = views.classify(identity.proof(), connection, self.read_point, evaluator);
        }
    }

    /// Gives an identity its class, as a requester on a connection.
    pub(crate) fn classify(&mut self, identity: &mut Identity, security: Security) {
        let Scratch { views, evaluator, .. } = &mut *self.scratch;
        views.keep_up(&self.dsa.access, self.read_point, &mut evaluator.cache);
        let connection = security.connection();
        identity.class = views.classify(identity.proof(), connection, self.read_point, evaluator);
    }
}

/// A request that changes: in the writer's role, several requests of a bundle in one batch.
/// It exists while the writer's role is held, for one update.
pub(crate) struct Writing<'w, 's> {
    pub(crate) dsa: &'w Dsa,
    pub(crate) writer: &'w mut store::Writer<'s>,
    pub(crate) scratch: &'w mut Scratch,
    pub(crate) now: Now,
    pub(crate) effective: Effective<'w>,
    /// Number of the name that entries record ([`store::Writer::name`]).
    pub(crate) actor: u32,
    /// A stamp that was made for this update and not used. An update takes one, however it comes to be applied.
    pub(crate) spare: Option<Stamp>,
    /// Where the entry is, if the group's prefetch found out.
    pub(crate) known: Option<Known<'w>>,
    /// The constraints in force, if there are some.
    pub(crate) judging: Option<&'w Judging<'w>>,
}

impl<'w> Writing<'w, '_> {
    /// Who judges what the update makes of its entry.
    #[inline]
    pub(crate) fn judge(&self) -> Option<&'w dyn Judge> {
        self.judging.map(|judging| judging as &dyn Judge)
    }

    /// When and by whom the next command is given.
    /// Taken once for an update, also if it is then refused by the store: a replay takes as many.
    #[inline]
    pub(crate) fn stamp(&mut self) -> Stamp {
        let (writer, wall_ms, actor) = (&mut self.writer, self.now.wall_ms, self.actor);
        self.spare.take().unwrap_or_else(|| Stamp { csn: writer.stamp(wall_ms), actor })
    }

    /// Answers what the store made of a request. `dn` is the name that the request gave. Returns the entry's id if it was done.
    #[inline]
    pub(crate) fn answer(
        &mut self,
        out: &mut Vec<u8>,
        id: i32,
        response_tag: u8,
        dn: &[u8],
        done: Result<EntryId, Refused>,
    ) -> Option<EntryId> {
        match done {
            Ok(_) => outcome::succeed(out, id, response_tag),
            Err(ref refused) => self.refuse(out, id, response_tag, dn, refused),
        }
        done.ok()
    }

    /// Answers that the store refused to change an entry.
    #[cold]
    fn refuse(&mut self, out: &mut Vec<u8>, id: i32, response_tag: u8, dn: &[u8], refused: &Refused) {
        if matches!(refused, Refused::OutsideNamingContexts) && self.dsa.system.holds(dn) {
            let text = format!("{} is maintained by the server and cannot be changed", system::described(dn));
            return outcome::say(out, id, response_tag, ResultCode::UnwillingToPerform, &text);
        }
        // In a logged directory the committer stops then: an update of the log must be applied.
        self.scratch.lacked_memory |= matches!(refused, Refused::MemoryLimit { .. });
        // What a thread remembers is about what was published; this batch is not yet.
        outcome::refuse(out, id, response_tag, refused, self.writer.view(), &mut DnCache::default());
    }
}
