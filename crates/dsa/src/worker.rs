//! One IO thread's part of the agent: caches and scratch memory that are used again by every request.

use crate::access::{self, Action, Item, Own, Requester, ViewId, Views};
use crate::account_times;
use crate::annotations::{Annotation, Annotations};
use crate::audit::Notes;
use crate::change_log::awaited::Changes;
use crate::engine::Dsa;
use crate::entry_writer::{Answer, Templates};
use crate::held::MemoryNotice;
use crate::journal::Buffers;
use crate::marks::Marks;
use crate::monitor::Counters;
use crate::password::{FailedBinds, Passwords};
use crate::prepared_writes::PreparedWrites;
use crate::reached::ReachedHere;
use crate::recent::Recent;
use crate::session::security::Security;
use crate::sorted_lists::RecentLists;
use crate::turns::Turns;
use crate::wakes::Wakes;
use ::access::Right;
use env::clock::Now;
use env::net::PeerAddress;
use model::{Description, Entry};
use schema::Schema;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use store::search::evaluate::{Evaluator, Truth};
use store::search::{Compiled, Paused};
use store::{DnCache, EntryRef, ReadPoint, Reader, Revoked};

/// Times of accounts that are applied together where there is no log: others that write wait so long.
const TIMES_AT_ONCE: usize = 1024;

/// A thread's worker. Serves all sessions of its thread, one request at a time.
pub struct Worker {
    pub(crate) dsa: Arc<Dsa>,
    /// Unpinned between bundles.
    pub(crate) reader: Reader,
    /// Of the system shard.
    pub(crate) system_reader: Reader,
    pub(crate) scratch: Scratch,
    pub(crate) counters: Arc<Counters>,
    pub(crate) now: Now,
    /// Those of its sessions whose updates were answered.
    pub(crate) wakes: Arc<Wakes>,
    /// Memory for them.
    due: Vec<Waker>,
    pub(crate) turns: Turns,
    /// Limits that its clients have reached.
    reached: ReachedHere,
    /// Commit sequence at which accounts of sessions were looked at last.
    pub(crate) accounts_seen: u64,
}

/// A worker's parts, borrowed apart.
pub(crate) struct Parts<'w> {
    pub(crate) dsa: &'w Dsa,
    pub(crate) reader: &'w mut Reader,
    pub(crate) system_reader: &'w mut Reader,
    pub(crate) scratch: &'w mut Scratch,
    pub(crate) counters: &'w Counters,
    pub(crate) now: Now,
    /// What protects the connection that the bundle came on.
    pub(crate) security: Security,
    /// Commit sequence at which the group's hints were worked out.
    pub(crate) hinted_at: Option<u64>,
    /// Where what is applied is to be published.
    pub(crate) marks: Option<&'w mut Marks>,
}

/// Memory that is used again, and what one thread remembers.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) evaluator: Evaluator,
    /// Rights of requesters on entries.
    pub(crate) views: Views,
    pub(crate) templates: Templates,
    pub(crate) system_templates: Templates,
    /// For the system shard: what is remembered of DNs must not be mixed.
    pub(crate) system_evaluator: Evaluator,
    /// Keys of the RDNs, and normal forms of the assertion values, of a group of requests.
    pub(crate) keys: Vec<u8>,
    pub(crate) recent: Recent,
    /// Sorted lists of searches.
    pub(crate) sorted_lists: RecentLists,
    /// That of the schema ([`Schema::generation`]) by which templates and forms were made.
    pub(crate) generation: u64,
    pub(crate) answer: Answer,
    /// For what the writer sees: what it remembers of DNs is forgotten before each use.
    pub(crate) updating: Evaluator,
    /// `None` while a batch has them, and before the first.
    pub(crate) prepared_writes: Option<Box<PreparedWrites>>,
    /// For updates on their way to the log.
    pub(crate) buffers: Buffers,
    pub(crate) entry: Entry,
    pub(crate) passwords: Passwords,
    /// An update was refused for want of memory.
    pub(crate) lacked_memory: bool,
    /// See [`crate::parcel::Head::keeps_superclasses`]; `false` for all that is not applied again.
    pub(crate) keeps_superclasses: bool,
    /// Units of work that a slice has in this turn ([`Turns`]), and what is left of it for the searches of the bundle.
    pub(crate) slice_work: u64,
    pub(crate) work: u64,
    /// What the request that runs knows of the change log.
    pub(crate) changes: Changes,
    /// For the access log.
    pub(crate) annotations: Annotations,
    /// What is noted of updates; `None` but for the applier of a directory with an audit log.
    pub(crate) notes: Option<Box<Notes>>,
}

impl Scratch {
    /// What filters on a shard's entries are evaluated with.
    #[inline]
    pub(crate) fn evaluator(&mut self, is_system: bool) -> &mut Evaluator {
        if is_system { &mut self.system_evaluator } else { &mut self.evaluator }
    }

    /// Forgets what was made of the schema before definitions were added to it.
    #[inline]
    pub(crate) fn keep_up_with(&mut self, schema: &Schema) {
        let generation = schema.generation();
        if self.generation != generation {
            self.generation = generation;
            self.templates.forget();
            self.system_templates.forget();
            self.recent.forget();
        }
    }

    /// Counts work of the bundle.
    #[inline]
    pub(crate) fn pay(&mut self, units: u64) {
        self.work = self.work.saturating_sub(units);
    }

    /// Is a filter true of an entry? `None` if that is more work than the bundle may still do.
    #[inline]
    pub(crate) fn evaluate(
        &mut self,
        is_system: bool,
        filter: &Compiled,
        entry: &EntryRef<'_>,
        read_point: ReadPoint<'_>,
    ) -> Option<Truth> {
        let mut work = self.work;
        let evaluator = self.evaluator(is_system);
        let truth = evaluator.go_on(filter, entry, read_point, &mut Paused::default(), &mut work);
        assert!(work <= self.work, "work of the bundle is only used up");
        self.work = work;
        truth
    }

    /// What entries of a shard are written with.
    #[inline]
    pub(crate) fn writer(&mut self, is_system: bool) -> (&mut Templates, &mut DnCache, &mut Views) {
        match is_system {
            true => (&mut self.system_templates, &mut self.system_evaluator.cache, &mut self.views),
            false => (&mut self.templates, &mut self.evaluator.cache, &mut self.views),
        }
    }

    /// May a requester read one value of an attribute on which it has the right for some values?
    /// Of values that no entry stores: those that are stored are judged where a template is filled.
    #[cold]
    pub(crate) fn may_read_value(
        &mut self,
        (who, view): (Requester, ViewId),
        description: Description,
        value: &[u8],
        read_point: ReadPoint<'_>,
    ) -> bool {
        let Scratch { views, evaluator, .. } = self;
        let shard = read_point.shard();
        let values = views.on_values(view, description, Right::Read, shard);
        let own = match values.asks_for_own() {
            true => views.own_name(who, read_point, &mut evaluator.cache),
            false => Own::Nobody,
        };
        values.may(&own, shard.schema(), description, value, &mut Vec::new())
    }

    /// Notes which rule refuses a right, if the access log wants to know. Where no rule gives the right there is none.
    /// It walks over the rules of the class once more: a refusal may cost that, and what is allowed pays nothing.
    #[cold]
    pub(crate) fn note_rule(&mut self, schema: &Schema, view: ViewId, item: Item<'_>, right: Right) {
        if self.annotations.are_wanted() {
            let reasons = self.views.reasons(view, item, &[right], schema);
            self.annotations.refused_by(reasons.first().copied().flatten().map(|(_, rule)| rule));
        }
    }

    /// The rights of a requester on an entry.
    #[inline]
    pub(crate) fn view(
        &mut self,
        who: Requester,
        action: Action,
        entry: &EntryRef<'_>,
        read_point: ReadPoint<'_>,
    ) -> ViewId {
        let Scratch { views, evaluator, system_evaluator, .. } = self;
        let evaluator = if action.is_system { system_evaluator } else { evaluator };
        views.of(who, action, entry, read_point, evaluator)
    }
}

impl Worker {
    /// A worker for one thread; `None` when there are too many.
    pub fn new(dsa: &Arc<Dsa>) -> Option<Worker> {
        Some(Worker {
            dsa: Arc::clone(dsa),
            reader: Reader::register(&dsa.shard)?,
            system_reader: Reader::register(dsa.system.shard())?,
            scratch: Scratch { passwords: Passwords::of(&dsa.password_pool), ..Scratch::default() },
            counters: dsa.monitor.register(),
            now: Now::default(),
            wakes: Arc::default(),
            due: Vec::new(),
            turns: Turns::default(),
            reached: ReachedHere::default(),
            accounts_seen: 0,
        })
    }

    /// A requester of another thread, as whom entries are read here.
    /// Nobody, if no answer brings entries: most updates, and all of a replay.
    pub(crate) fn reader_of(&mut self, reader: Option<&access::Reader>) -> Requester {
        let Some(asking) = reader else { return Requester::NOBODY };
        let Worker { dsa, reader, scratch: Scratch { views, updating, .. }, .. } = self;
        let pin = reader.pin();
        updating.cache.forget();
        views.keep_up(&dsa.access, pin.read_point(), &mut updating.cache);
        views.adopt(asking, pin.read_point())
    }

    /// Its parts, borrowed apart.
    pub(crate) fn parts(&mut self) -> Parts<'_> {
        let Worker { dsa, reader, system_reader, scratch, counters, now, .. } = self;
        let security = Security::INTERNAL;
        Parts {
            dsa,
            reader,
            system_reader,
            scratch,
            counters,
            now: *now,
            security,
            hinted_at: None,
            marks: None,
        }
    }

    /// Says how many of the thread's connections wait for their client to take answers.
    pub fn count_write_waiters(&mut self, waiters: u64) {
        self.counters.write_waiters.store(waiters, Ordering::Relaxed);
    }

    /// Wakes the sessions whose updates were answered, and waits for more: to be called by a task of the thread that has
    /// nothing else to do. Without one they are woken by the one that answers them.
    pub fn poll_wakes(&mut self, cx: &mut Context<'_>) {
        self.wakes.poll(cx, &mut self.due);
        assert!(self.due.is_empty(), "each session that was due was woken");
    }

    /// Ready when sessions that follow changes were woken, or have found some: then they are not woken again until the next call, which should come a millisecond later.
    /// To be called by a task of the thread that does nothing else, beside the one of [`Worker::poll_wakes`]. Without one they are woken for each change.
    pub fn poll_pause(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.wakes.poll_pause(cx)
    }

    /// The agent that it is a part of.
    pub fn agent(&self) -> &Arc<Dsa> {
        &self.dsa
    }

    /// Gives free memory back to the system, ends searches that hold too much or for too long
    /// ([`crate::limits::SearchLimits`]), and returns those that were ended since the last call, for want of memory too. To be
    /// called about once a second by any thread.
    pub fn look_after_memory(&self, now: Now) -> Vec<Revoked> {
        let dsa = &self.dsa;
        dsa.held.look_after_memory(dsa, now.monotonic_ns);
        dsa.shard.take_revoked()
    }

    /// What is to be reported of memory at its limit. To be called about once a second by any thread.
    pub fn memory_notice(&self, now: Now) -> Option<MemoryNotice> {
        self.dsa.held.memory_notice(&self.dsa, now.monotonic_ns)
    }

    /// What is to be reported of failed binds. To be called about once a second by any thread.
    pub fn failed_binds(&self) -> Option<FailedBinds> {
        self.dsa.failed_binds.take_notice()
    }

    /// Has times of accounts written, if it is time for it: by the log, or at once where there is none. To be called about once a second by any
    /// thread.
    pub fn write_account_times(&self, now: Now) {
        let Dsa { account_times, journal, shard, .. } = &*self.dsa;
        if !account_times.is_due(now.monotonic_ns) {
            return;
        }
        match journal.get() {
            Some(journal) => journal.times_wait(),
            None => {
                let times = account_times.take(usize::MAX);
                // What there is no memory for is lost: it is memory that ends with the process in any case.
                for batch in times.chunks(TIMES_AT_ONCE) {
                    account_times::apply(shard, batch.iter().copied());
                }
            }
        }
    }

    /// Looks whether a client has reached a limit of requesters; to be called when the thread is done with requests of it, and before those of another.
    #[inline]
    pub(crate) fn note_limits(&mut self, client: Option<PeerAddress>) {
        self.reached.look(&self.counters, client, &self.dsa.refusals);
    }

    /// Reports which limits of requesters its clients have reached. To be called about once a second by each thread.
    pub fn report_limits(&mut self) {
        self.reached.report(&self.dsa.refusals);
    }

    /// Keeps from now on what the access log wants to know ([`Worker::annotations`]).
    pub fn keep_annotations(&mut self) {
        self.scratch.annotations.open();
    }

    /// Keeps nothing of that from now on.
    pub fn drop_annotations(&mut self) {
        self.scratch.annotations.close();
    }

    /// What there is to tell of the requests that were answered since [`Worker::forget_annotations`].
    pub fn annotations(&self) -> &[Annotation] {
        self.scratch.annotations.kept()
    }

    /// They were taken.
    #[inline]
    pub fn forget_annotations(&mut self) {
        self.scratch.annotations.clear();
    }

    /// The time that it has.
    pub fn now(&self) -> Now {
        self.now
    }

    /// Takes the time; to be called before each turn of a session.
    pub fn tick(&mut self, now: Now) {
        self.now = now;
        self.turns.end();
        // For entryTtl: what no entry has costs a load.
        if self.dsa.shard.has_dynamic() {
            self.dsa.shard.note_time(now.wall_ms);
        }
    }
}
