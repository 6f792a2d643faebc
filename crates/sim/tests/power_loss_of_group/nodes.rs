//! Three nodes as `pando serve` has them, without listeners for clients: threads, links over TLS, and committers that are tasks of the links. Their disks
//! have one record. Clients go from node to node, and the leader changes: by a transfer, and by its death.

use crate::disk::Slow;
use consensus::links::Channel;
use consensus::{Control, ReplicaId, Request, Retention};
use dsa::Dsa;
use env::clock::{Clock as _, SystemClock};
use env::disk::{Disk, RealDisk};
use env::entropy::SystemEntropy;
use env::poll::pause;
use env::task;
use model::ResultCode;
use node::commit::{Queue, Thread};
use node::data::{Data, Replication};
use peers::{
    Address, Authority, Caller, Identity, JoinAnswer, JoinRequest, Member, NodeKey, NotDone, Options, Peers,
    Seen, Service, Token, folder,
};
use sim::counted::{Client, Failure};
use sim::hooked::hooked;
use sim::node::{StartOptions, begin_replication, recover_replica};
use sim::power_loss_of_group::Run;
use sim::recorder::Recorder;
use sim::requests::Bundle;
use sim::threads::{BUNDLES, CLIENTS, SNAPSHOT_AFTER, log};
use sim::workloads;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

const NODES: usize = 3;
/// Counters that clients may use: one whose outcome is unknown goes on with another one, for nobody knows what becomes of the last bundle. On a
/// slow machine it is unknown of each client several times.
const COUNTERS: usize = CLIENTS + 40;
/// Bundles that a node lacks that has died, at least, when it is started again: others make a snapshot meanwhile.
const MISSED: u64 = 25;
/// How long a condition and the whole load of a client are awaited, how long until a transfer is asked for again, and how long between two looks.
const PATIENCE: Duration = Duration::from_secs(300);
const AGAIN: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(1);

/// What happens besides the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// The leader is moved.
    Moves,
    /// It is moved, and it dies.
    Whole,
}

/// Something of it.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Another node leads.
    Move,
    /// The node that leads dies, and is started again.
    Death,
}

impl Script {
    fn steps(self) -> &'static [Step] {
        match self {
            Script::Moves => &[Step::Move, Step::Move, Step::Move],
            Script::Whole => &[Step::Move, Step::Death, Step::Move, Step::Death, Step::Move],
        }
    }
}

/// What happened.
#[derive(Debug, Default)]
pub(crate) struct Happened {
    /// Terms and who led in them.
    pub(crate) leaders: BTreeSet<(u64, u64)>,
    /// Bundles whose outcome nobody knows.
    pub(crate) unknown: usize,
    /// Bundles that were answered busy.
    pub(crate) busy: u64,
}

/// Runs three nodes in folders of `root`, which is empty, under the load of all clients, until their power is gone.
pub(crate) fn record(root: &Path, script: Script) -> Result<(Run, Happened), String> {
    let recorder = Recorder::default();
    let nodes = Nodes::create(root, &recorder)?;
    (0..NODES).try_for_each(|at| nodes.start(at))?;
    let mut happened = Happened::default();
    nodes.leader(&mut happened)?;
    let mut base = Bundle::default();
    // One more is for who looks after a cut.
    workloads::base(COUNTERS + 1, &mut base);
    // What a try has added whose end is unknown, the next one finds.
    let is_there = |code: &ResultCode| matches!(code, ResultCode::Success | ResultCode::EntryAlreadyExists);
    let add = |mut client: Client| client.results(&base).is_ok_and(|codes| codes.iter().all(is_there));
    until("the base", || nodes.connect(0).is_ok_and(add))?;
    let begun = recorder.events().len();
    let (failed, ended) = (Mutex::new(None), AtomicUsize::new(0));
    let load = Load::new(&nodes, &recorder);
    let client = |number: usize| {
        if let Err(what) = load.run(number) {
            lock(&failed).get_or_insert(what);
        }
        ended.fetch_add(1, Ordering::SeqCst);
    };
    let operate = || nodes.operate(script, &load, &|| ended.load(Ordering::SeqCst) == CLIENTS, &mut happened);
    let operated = task::run_with_workers(CLIENTS, client, operate);
    if let Some(what) = lock(&failed).take() {
        return Err(what);
    }
    operated?;
    happened.unknown = load.next.load(Ordering::SeqCst) - CLIENTS;
    happened.busy = load.busy.load(Ordering::SeqCst);
    (0..NODES).for_each(|at| nodes.kill(at));
    Ok((Run { events: recorder.events(), begun, dirs: nodes.dirs.clone(), counters: COUNTERS }, happened))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A node that runs.
struct Running {
    dsa: Arc<Dsa>,
    control: Control,
    member: Member,
    links: Peers,
    thread: Thread,
    _data: Data,
}

/// See the module.
struct Nodes {
    disk: Arc<dyn Disk>,
    dirs: Vec<PathBuf>,
    authority: Arc<Authority>,
    running: [Mutex<Option<Running>>; NODES],
}

impl Nodes {
    /// Makes the directories of all nodes.
    fn create(root: &Path, recorder: &Recorder) -> Result<Nodes, String> {
        let disk = recorder.over(hooked(Arc::new(RealDisk), Arc::new(Slow::new(1))));
        let now_s = SystemClock::start().wall_ms() / 1_000;
        let text = |error: &dyn ToString| error.to_string();
        let authority = Authority::new(now_s, &mut SystemEntropy).map_err(|error| text(&error))?;
        let dirs: Vec<PathBuf> = (1..=NODES).map(|id| root.join(format!("node-{id}"))).collect();
        for (id, dir) in (1..).zip(&dirs) {
            let members = (1..=NODES as u64).map(ReplicaId).collect();
            let begun = begin_replication(Arc::clone(&disk), dir, log(), 1, members);
            begun.map_err(|error| text(&error))?;
            let of_node = folder(dir);
            let key = NodeKey::load_or_make(&*disk, &of_node).map_err(|error| text(&error))?;
            let issued = authority.issue(&key.request(), id, now_s, &mut SystemEntropy);
            let certificate = issued.map_err(|error| text(&error))?;
            let no_addresses = [Vec::new(), Vec::new()];
            let created = Identity::create(&*disk, &of_node, &authority, key, certificate, no_addresses);
            created.map_err(|error| text(&error))?;
        }
        Ok(Nodes { disk, dirs, authority: Arc::new(authority), running: Default::default() })
    }

    fn start(&self, at: usize) -> Result<(), String> {
        let (dir, id) = (&self.dirs[at], ReplicaId(at as u64 + 1));
        let text = |error: &dyn ToString| format!("node {id}: {}", error.to_string());
        let boot = Identity::boot(&*self.disk, &folder(dir), &mut SystemEntropy).map_err(|e| text(&e))?;
        let certificates = vec![boot.identity.holder().fingerprint];
        let queue: Arc<OnceLock<Arc<Queue>>> = Arc::default();
        let of_wake = Arc::clone(&queue);
        let links = Peers::start(Options {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
            boot,
            authority: Some(Arc::clone(&self.authority)),
            seen: Seen::load(Arc::clone(&self.disk), folder(dir)).map_err(|e| text(&e))?,
            service: Arc::new(NoService),
            wake: Arc::new(move || of_wake.get().into_iter().for_each(|queue| queue.wake())),
        });
        let links = links.map_err(|e| text(&e))?;
        let replication =
            Replication { id, links: links.links(Channel::Consensus), retention: Retention::default() };
        let asked =
            StartOptions { snapshot_after: Some(SNAPSHOT_AFTER), seed: id.0, ..StartOptions::default() };
        let updates = links.links(Channel::Updates);
        let recovered = recover_replica(Arc::clone(&self.disk), dir, log(), asked, (replication, updates));
        let (data, recovered) = recovered.map_err(|e| text(&e))?;
        let control = recovered.control.expect("a replica has one");
        queue.get_or_init(|| Arc::clone(recovered.committer.queue()));
        let durable = control.clone();
        links.begin(Arc::new(move || durable.view().durable));
        let run = |main: task::Main| links.run(main);
        let (clock, run) = (SystemClock::start(), Some(&run as _));
        let thread = Thread::start(recovered.committer, recovered.snapshots, clock, run, |_| ());
        let thread = thread.map_err(|e| text(&e))?;
        let address = Address::parse(&links.addresses()[0].to_string()).expect("it is one");
        let member = Member { id: id.0, addresses: vec![address], certificates };
        let running = Running { dsa: recovered.dsa, control, member, links, thread, _data: data };
        *lock(&self.running[at]) = Some(running);
        self.link();
        Ok(())
    }

    /// All that run have each other for members, where they are reached now.
    fn link(&self) {
        let of = |running: &Running| running.member.clone();
        let members: Vec<Member> =
            self.running.iter().filter_map(|running| lock(running).as_ref().map(of)).collect();
        for running in &self.running {
            lock(running).iter().for_each(|running| running.links.set_members(&members));
        }
    }

    /// The node ends where it stands: nothing is closed.
    fn kill(&self, at: usize) {
        let Some(Running { links, thread, .. }) = lock(&self.running[at]).take() else { return };
        // The committer is a task of the links' thread.
        drop(links);
        let ended = thread.stop();
        assert!(ended.is_err(), "a committer that is dropped has no good end");
    }

    fn connect(&self, at: usize) -> Result<Client, String> {
        let dsa = lock(&self.running[at]).as_ref().map(|running| Arc::clone(&running.dsa));
        let dsa = dsa.ok_or("it does not run")?;
        Client::connect(&dsa).map_err(|failure| failure.to_string())
    }

    /// The node that leads, by the last term that one knows. It is awaited.
    fn leader(&self, happened: &mut Happened) -> Result<usize, String> {
        let mut found = 0;
        until("a leader", || {
            let views =
                self.running.iter().filter_map(|running| Some(lock(running).as_ref()?.control.view()));
            let last = views.max_by_key(|view| view.term);
            let Some((leader, term)) = last.and_then(|view| Some((view.leader?, view.term))) else {
                return false;
            };
            found = leader.0 as usize - 1;
            happened.leaders.insert((term, leader.0));
            lock(&self.running[found]).is_some()
        })?;
        Ok(found)
    }

    /// What is done while clients load: all of it at even distances.
    fn operate(
        &self,
        script: Script,
        load: &Load<'_>,
        is_over: &dyn Fn() -> bool,
        happened: &mut Happened,
    ) -> Result<(), String> {
        let steps = script.steps();
        for (number, step) in (1..).zip(steps) {
            let from = number * CLIENTS as u64 * BUNDLES / (steps.len() as u64 + 1);
            until("the load", || load.done() >= from || is_over())?;
            let leader = self.leader(happened)?;
            match step {
                Step::Move => self.move_leader(leader, happened)?,
                Step::Death => {
                    self.kill(leader);
                    self.leader_but(leader, happened)?;
                    until("the load", || load.done() >= from + MISSED || is_over())?;
                    self.start(leader)?;
                }
            }
        }
        until("the end of the load", is_over)
    }

    /// Another node is to lead. A transfer comes to nothing if that one is behind.
    fn move_leader(&self, leader: usize, happened: &mut Happened) -> Result<(), String> {
        let (next, mut asked) = (ReplicaId(((leader + 1) % NODES) as u64 + 1), None::<Instant>);
        until("another leader", || {
            if asked.is_none_or(|asked| asked.elapsed() > AGAIN) {
                let control = lock(&self.running[leader]).as_ref().map(|running| running.control.clone());
                // Who does not lead any more refuses it.
                let _ = control.map(|control| control.ask(Request::Transfer(next)));
                asked = Some(Instant::now());
            }
            self.leader(happened).is_ok_and(|other| other != leader)
        })
    }

    fn leader_but(&self, earlier: usize, happened: &mut Happened) -> Result<(), String> {
        until("another leader", || self.leader(happened).is_ok_and(|other| other != earlier))
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) -> Result<(), String> {
    let begun = Instant::now();
    while !holds() {
        if begun.elapsed() > PATIENCE {
            return Err(format!("{what} does not come"));
        }
        pause(LOOK);
    }
    Ok(())
}

/// The clients.
struct Load<'a> {
    nodes: &'a Nodes,
    recorder: &'a Recorder,
    acknowledged: Vec<AtomicU64>,
    /// The counter that nobody has used.
    next: AtomicUsize,
    /// Bundles that were acknowledged, and those that were answered busy.
    done: AtomicU64,
    busy: AtomicU64,
}

impl<'a> Load<'a> {
    fn new(nodes: &'a Nodes, recorder: &'a Recorder) -> Load<'a> {
        let acknowledged = (0..COUNTERS).map(|_| AtomicU64::new(0)).collect();
        let [done, busy] = Default::default();
        Load { nodes, recorder, acknowledged, next: AtomicUsize::new(CLIENTS), done, busy }
    }

    fn done(&self) -> u64 {
        self.done.load(Ordering::SeqCst)
    }

    /// A client has its bundles acknowledged, by whatever node.
    fn run(&self, client: usize) -> Result<(), String> {
        let (mut counter, mut number, mut done) = (client, 1, 0);
        let (mut at, mut connected) = (client % NODES, None);
        let begun = Instant::now();
        while done < BUNDLES {
            if begun.elapsed() > PATIENCE {
                return Err(format!("client {client} has no more than {done} bundles acknowledged"));
            }
            let Some(link) = &mut connected else {
                at = (at + 1) % NODES;
                connected = self.nodes.connect(at).ok();
                if connected.is_none() {
                    pause(LOOK);
                }
                continue;
            };
            match Client::count(link, (counter, number), self.recorder, &self.acknowledged) {
                Ok(()) => {
                    (number, done) = (number + 1, done + 1);
                    self.done.fetch_add(1, Ordering::SeqCst);
                }
                // Nothing of it may ever be there: the number is not used again.
                Err(Failure::Busy) => {
                    number += 1;
                    self.busy.fetch_add(1, Ordering::SeqCst);
                    connected = None;
                }
                Err(Failure::Unknown(_)) => {
                    (counter, number) = (self.next.fetch_add(1, Ordering::SeqCst), 1);
                    connected = None;
                    if counter >= COUNTERS {
                        return Err("too many bundles have an unknown outcome".to_owned());
                    }
                }
            }
        }
        Ok(())
    }
}

/// Nobody joins, and there are no commands.
struct NoService;

impl Service for NoService {
    fn join(&self, _: &Token, _: JoinRequest) -> Result<JoinAnswer, NotDone> {
        Err(NotDone::Final("nobody joins".to_owned()))
    }

    fn command(&self, _: Caller, _: &[u8]) -> Vec<u8> {
        Vec::new()
    }
}
