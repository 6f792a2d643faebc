//! What goes on beside the log of a node: links follow the members, snapshots come and go, and a leader does what is wanted of members.

use super::facts::{self, Facts};
use super::node::Node;
use super::renewal::Renewal;
use consensus::upkeep::{Upkeep, Wishes};
use consensus::{Control, Fetch, Members, ReplicaId, Request, View};
use dsa::Dsa;
use dsa::group::Group;
use env::clock::Clock as _;
use env::task::PlainThread;
use node::transfer::{Progress, Transfer};
use peers::Peers;
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Between two looks, while nothing is fetched or sent.
const LOOK: Duration = Duration::from_millis(20);
/// The same while something is.
const LOOK_BUSY: Duration = Duration::from_millis(1);
/// Milliseconds after which a leader says again what nodes have acknowledged, and after which that is written.
const SEEN_APART_MS: u64 = 1_000;
/// Milliseconds between two things that a leader does by itself about members.
const CHANGES_APART_MS: u64 = 1_000;

/// The thread. Dropped, it ends, and the links with it.
pub struct Runtime {
    ends: Arc<AtomicBool>,
    has_fetched: Arc<AtomicBool>,
    thread: Option<PlainThread>,
    /// The committer runs on their thread, also behind the end of this one.
    _links: Arc<Peers>,
}

impl Runtime {
    /// Starts it, for a node whose replica is there. `on_fetched` is called when a snapshot of another node was fetched with which the
    /// server is to start again.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(
        node: Arc<Node>,
        dsa: Arc<Dsa>,
        folder: PathBuf,
        links: Peers,
        transfer: Transfer,
        on_fetched: impl FnOnce() + Send + 'static,
    ) -> io::Result<Runtime> {
        dsa.show_group(Arc::clone(&node) as Arc<dyn Group>);
        let links = Arc::new(links);
        let of_thread = Arc::clone(&links);
        let (ends, has_fetched) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let (is_over, fetched) = (Arc::clone(&ends), Arc::clone(&has_fetched));
        {
            let (node, is_over) = (Arc::clone(&node), Arc::clone(&ends));
            // Nobody waits for its end: it may be waiting for an answer then.
            PlainThread::spawn("announce", move || node.announce(&is_over))?;
        }
        let thread = PlainThread::spawn("cluster", move || {
            let mut work = Work {
                node,
                dsa,
                folder,
                renewal: Renewal::default(),
                links: of_thread,
                transfer,
                seen_ms: 0,
                acknowledged: Vec::new(),
                members_index: None,
                wishes: Wishes::default(),
                leads: (0, None),
                asked_ms: 0,
            };
            while !is_over.load(Ordering::Acquire) {
                match work.step() {
                    Progress::Done => {
                        tracing::info!(
                            "a snapshot of another node was fetched: the server starts again with it"
                        );
                        fetched.store(true, Ordering::Release);
                        return on_fetched();
                    }
                    Progress::Idle | Progress::Failed => env::poll::pause(LOOK),
                    Progress::Sends | Progress::Goes => env::poll::pause(LOOK_BUSY),
                }
            }
        })?;
        Ok(Runtime { ends, has_fetched, thread: Some(thread), _links: links })
    }

    /// Is the server to start again?
    pub fn has_fetched(&self) -> bool {
        self.has_fetched.load(Ordering::Acquire)
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        // A thread that has panicked has reported it.
        let _ = self.thread.take().map(PlainThread::join);
    }
}

struct Work {
    node: Arc<Node>,
    dsa: Arc<Dsa>,
    /// Where the files of the node are.
    folder: PathBuf,
    renewal: Renewal,
    links: Arc<Peers>,
    transfer: Transfer,
    /// Of the members that the links have.
    members_index: Option<u64>,
    /// What is wanted of those.
    wishes: Wishes,
    /// When it was last said and written what nodes have acknowledged, and what was said.
    seen_ms: u64,
    acknowledged: Vec<(u64, u64)>,
    /// The term and the leader that were logged last.
    leads: (u64, Option<ReplicaId>),
    /// When a change or another leader was last asked for.
    asked_ms: u64,
}

impl Work {
    fn step(&mut self) -> Progress {
        let node = Arc::clone(&self.node);
        let Some(control) = node.control() else { return Progress::Idle };
        let (view, now_ms) = (control.view(), node.clock.monotonic_ns() / 1_000_000);
        node.lags.lock().unwrap_or_else(PoisonError::into_inner).note(now_ms, view.commit);
        let is_known = !view.members.voters.is_empty();
        let has_moves = node.moves.take_new();
        if is_known && (has_moves || self.members_index != Some(view.members_index)) {
            self.links.set_members(&node.linked(&view.members));
            let others = alternatives(&view.members, node.id());
            self.dsa.show_alternatives(&others, node.clock.now());
            (self.members_index, self.wishes) = (Some(view.members_index), facts::wishes(&view.members));
        }
        self.note_leader(&view);
        self.keep_up(&node, control, &view, now_ms);
        self.keep_seen(&node, &view, now_ms);
        self.renewal.step(&node, &self.folder, &self.links, &view, now_ms);
        self.transfer.withhold(view.compared.standing.withholds());
        let progress = self.transfer.step(now_ms, view.wanted);
        let fetch = match progress {
            Progress::Goes => Some(Fetch::Goes),
            Progress::Failed => Some(Fetch::Failed),
            _ => None,
        };
        // What is refused is reported again with the next piece.
        let _ = fetch.map(|fetch| control.ask(Request::Fetch(fetch)));
        progress
    }

    /// What nodes have acknowledged is said by the one that leads, and written by all: so a node whose disk was set back is known to others than
    /// the leader, and after their starts.
    fn keep_seen(&mut self, node: &Node, view: &View, now_ms: u64) {
        if now_ms < self.seen_ms + SEEN_APART_MS {
            return;
        }
        self.seen_ms = now_ms;
        if view.leader == Some(node.id()) {
            let indexes = view.acknowledged(node.id());
            if indexes != self.acknowledged {
                self.links.acknowledged(view.term, &indexes);
                self.acknowledged = indexes;
            }
        }
        // It is tried again; a disk that is full has room some time.
        if let Err(error) = self.links.save_seen() {
            tracing::warn!("what other nodes have acknowledged cannot be written: {error}");
        }
    }

    fn note_leader(&mut self, view: &View) {
        if let Some(leader) = view.leader.filter(|_| self.leads != (view.term, view.leader)) {
            self.leads = (view.term, view.leader);
            tracing::info!(term = view.term, "node {leader} leads");
        }
    }

    /// A leader does what is wanted of members. What is refused is looked at again.
    fn keep_up(&mut self, node: &Node, control: &Control, view: &View, now_ms: u64) {
        let is_quiet = view.members.learners.is_empty() && self.wishes == Wishes::default();
        let is_best = view.conditions.better.is_empty();
        if (is_quiet && is_best)
            || view.leader != Some(node.id())
            || now_ms < self.asked_ms + CHANGES_APART_MS
        {
            return;
        }
        let next =
            node.with_wishes(view, &self.wishes, |upkeep: Upkeep<'_>| (upkeep.next(), upkeep.better()));
        if let (Some(next), better) = next {
            self.asked_ms = now_ms;
            if let (Request::Transfer(to), true) = (&next, better.is_some()) {
                tracing::warn!("{}", why_better(view, node.id(), *to));
            }
            let _ = control.ask(next);
            node.wake();
        }
    }
}

/// Why another replica is to lead, for the log.
fn why_better(view: &View, own: ReplicaId, to: ReplicaId) -> String {
    let of = |id| view.conditions.replicas.iter().find(|condition| condition.id == id);
    let sync = |id| of(id).and_then(|condition| condition.sync_us).map_or("unknown".to_owned(), milliseconds);
    let seconds = of(own).and_then(|condition| condition.clock_ms).unwrap_or(0) as f64 / 1000.0;
    format!(
        "node {to} is to lead: a sync of the log takes {} ms here and {} ms there, and the clock here is {seconds:.1} s \
         from those of a majority",
        sync(own),
        sync(to)
    )
}

/// Of so many microseconds.
fn milliseconds(us: u64) -> String {
    format!("{:.1}", us as f64 / 1000.0)
}

/// Where clients find the other members. One that takes the place of another may have its address.
fn alternatives(members: &Members, own: ReplicaId) -> Vec<String> {
    let others = members.all().filter(|id| *id != own);
    let urls: BTreeSet<String> =
        others.flat_map(|id| Facts::of(members, id).urls().collect::<Vec<_>>()).collect();
    urls.into_iter().collect()
}
