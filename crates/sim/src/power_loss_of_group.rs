//! The power of all replicas of a directory is cut at one instant, somewhere in the record of their disks: each disk is left as it may be,
//! by its own chance. The replicas are started from what is left, and come to one directory that has what had been acknowledged to clients.
//!
//! Any majority must do, so as a rule two of them agree and go on before the third one is started. What they do after the cut is done in one
//! thread, in a time that the cut's seed decides, on the real disk.

use crate::answers::Answer;
use crate::clock::SimClock;
use crate::counted::{Known, bundle, known, look};
use crate::network::Network;
use crate::node::{Node, StartOptions, digest, start_replica};
use crate::power_loss::{is_sound, leave};
use crate::random::Random;
use crate::recorder::Event;
use crate::requests::Bundle;
use crate::threads::log;
use crate::view::View;
use consensus::links::Channel;
use consensus::{Control, Fetch, ReplicaId, Request, Retention};
use env::disk::RealDisk;
use model::ResultCode;
use node::data::Replication;
use node::transfer::{Progress, Transfer};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Turns within which replicas agree: a minute of the simulated time. An election takes two seconds, and a reader that is not answered three.
const AGREE_WITHIN: usize = 20_000;
/// Nanoseconds of a turn.
const TURN_NS: u64 = 3_000_000;
/// Times that a client asks again while nobody leads.
const ASKED_AGAIN: usize = 5;
/// Of 1,000 cuts, those after which all replicas are started at once.
const AT_ONCE: u64 = 250;

/// What was recorded.
pub struct Run {
    /// What was done to all disks, and by clients, in one order.
    pub events: Vec<Event>,
    /// The first cut may be here: the directories are those of replicas.
    pub begun: usize,
    /// The folder of each replica: the first one is that of replica 1.
    pub dirs: Vec<PathBuf>,
    /// Counters of clients. Behind them there is one that nobody used.
    pub counters: usize,
}

/// What was found after a cut.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Bundles that were recovered.
    pub bundles: u64,
    /// Replicas that took the snapshot of another one.
    pub fetched: usize,
}

/// Cuts a run at a random point, and starts the replicas in folders of `scratch`, which is empty.
///
/// # Errors
/// In words: what does not hold, and where the cut was.
pub fn cut(run: &Run, scratch: &Path, seed: u64) -> Result<Outcome, String> {
    let mut random = Random::new(seed);
    let at = run.begun + 1 + random.below((run.events.len() - run.begun) as u64) as usize;
    let found = cut_at(run, scratch, at, random);
    found.map_err(|what| format!("cut {seed}, after {at} operations: {what}"))
}

fn cut_at(run: &Run, scratch: &Path, at: usize, mut random: Random) -> Result<Outcome, String> {
    let events = &run.events[..at];
    let mut known = known(events, run.counters + 1);
    let mut group = Group::new(random.number());
    for (id, dir) in (1..).map(ReplicaId).zip(&run.dirs) {
        let left = scratch.join(id.to_string());
        leave(events, dir, &left, random.number())?;
        group.replicas.push(Replica { id, dir: left, running: None });
    }
    let late = (!random.chance(AT_ONCE)).then(|| random.below(run.dirs.len() as u64) as usize);
    (0..run.dirs.len()).filter(|at| Some(*at) != late).try_for_each(|at| group.start(at))?;
    let bundles = group.look(&known)?;
    if let Some(late) = late {
        group.update(usize::from(late == 0), &bundle(run.counters, 1, &[]))?;
        known[run.counters] = Known::acknowledged(1);
        group.start(late)?;
        let later = group.look(&known)?;
        if later != bundles + 1 {
            let id = late + 1;
            return Err(format!(
                "{bundles} bundles and one were there, and {later} when replica {id} had come"
            ));
        }
    }
    Ok(Outcome { bundles, fetched: group.fetched })
}

/// A replica that runs.
struct Running {
    node: Node,
    transfer: Transfer,
    control: Control,
}

struct Replica {
    id: ReplicaId,
    dir: PathBuf,
    running: Option<Running>,
}

/// The replicas after the cut.
struct Group {
    random: Random,
    network: Network,
    clock: SimClock,
    replicas: Vec<Replica>,
    fetched: usize,
}

impl Group {
    fn new(seed: u64) -> Group {
        let mut random = Random::new(seed);
        let network = Network::new(random.number());
        Group { random, network, clock: SimClock::default(), replicas: Vec::new(), fetched: 0 }
    }

    /// Starts a replica from what its disk has.
    fn start(&mut self, at: usize) -> Result<(), String> {
        let Group { random, network, clock, replicas, .. } = self;
        let Replica { id, dir, running } = &mut replicas[at];
        // Its directory is taken by one at a time.
        *running = None;
        let [links, updates, files] = [Channel::Consensus, Channel::Updates, Channel::Files]
            .map(|channel| network.links_of(*id, channel));
        let replication = Replication { id: *id, links, retention: Retention::default() };
        let asked = StartOptions { seed: random.number(), ..StartOptions::default() };
        let started = start_replica(Arc::new(RealDisk), dir, log(), asked, 1, clock, (replication, updates));
        let node = started.map_err(|error| format!("replica {id} does not start: {error}"))?;
        let control = node.recovered.control.clone().expect("a replica has one");
        *running = Some(Running { transfer: node.transfer(files), node, control });
        Ok(())
    }

    /// Time passes, and a replica that runs takes a step.
    fn turn(&mut self) -> Result<(), String> {
        self.clock.pass_ns(TURN_NS);
        self.network.pass_ns(TURN_NS);
        let at = self.random.below(self.replicas.len() as u64) as usize;
        let Replica { id, running: Some(Running { node, transfer, control }), .. } = &mut self.replicas[at]
        else {
            return Ok(());
        };
        node.step(&self.clock).map_err(|failed| format!("replica {id} fails: {failed}"))?;
        node.prepare_file();
        let view = control.view();
        if view.compared.standing.withholds() {
            return Err(format!("replica {id} differs from the others: {:?}", view.compared.standing));
        }
        // Too much is asked for only of one that does nothing.
        let tell = |fetch| _ = control.ask(Request::Fetch(fetch));
        match transfer.step(self.clock.monotonic_ms(), view.wanted) {
            Progress::Idle | Progress::Sends => {}
            Progress::Goes => tell(Fetch::Goes),
            Progress::Failed => tell(Fetch::Failed),
            Progress::Done => {
                self.fetched += 1;
                return self.start(at);
            }
        }
        Ok(())
    }

    fn running(&self) -> impl Iterator<Item = (usize, &Running)> {
        self.replicas.iter().enumerate().filter_map(|(at, replica)| Some((at, replica.running.as_ref()?)))
    }

    /// Waits until one of those that run leads, and all of them have applied the same.
    fn agree(&mut self) -> Result<(), String> {
        for _ in 0..AGREE_WITHIN {
            self.turn()?;
            let all = || self.running().map(|(_, running)| &running.node);
            let leads = all().any(|node| node.recovered.committer.is_open());
            let is_done = all().all(|node| node.recovered.committer.is_settled());
            let ends: Vec<u64> = all().map(Node::applied).collect();
            if leads && is_done && ends.iter().all(|end| *end == ends[0]) {
                return Ok(());
            }
        }
        let ends: Vec<u64> = self.running().map(|(_, running)| running.node.applied()).collect();
        Err(format!("the replicas that run do not agree: they have applied {ends:?}"))
    }

    /// The replicas that run agree, have one directory, and all of them have what is known. Returns how many bundles that are.
    fn look(&mut self, known: &[Known]) -> Result<u64, String> {
        self.agree()?;
        let digests: Vec<u128> =
            self.running().map(|(_, running)| digest(&running.node.recovered.dsa)).collect();
        if digests.iter().any(|other| *other != digests[0]) {
            return Err(format!("the directories differ: {digests:x?}"));
        }
        let mut bundles = 0;
        let all: Vec<usize> = self.running().map(|(at, _)| at).collect();
        for at in all {
            let of_replica = |what: String| format!("replica {}: {what}", at + 1);
            let view = self.read(at).and_then(View::of).map_err(of_replica)?;
            // The base, and an entry for each counter.
            if view.entries.len() != known.len() + 1 {
                return Err(of_replica(format!("{} entries are there", view.entries.len())));
            }
            bundles = look(&view, known).map_err(of_replica)?;
        }
        self.running().try_for_each(|(_, running)| is_sound(&running.node))?;
        Ok(bundles)
    }

    fn read(&mut self, at: usize) -> Result<Vec<Answer>, String> {
        let mut all = Bundle::default();
        all.read_all();
        self.ask(at, &all)
    }

    /// A client has a replica make updates.
    fn update(&mut self, at: usize, asked: &Bundle) -> Result<(), String> {
        let answers = self.ask(at, asked)?;
        let is_success = |answer: &Answer| matches!(answer, Answer::Done(_, ResultCode::Success));
        if answers.len() != asked.sent.len() || !answers.iter().all(is_success) {
            return Err(format!("replica {} has answered updates {answers:?}", at + 1));
        }
        Ok(())
    }

    /// A client asks a replica, again if it is busy or the outcome is unknown: what is asked for may come twice.
    fn ask(&mut self, at: usize, asked: &Bundle) -> Result<Vec<Answer>, String> {
        let mut bind = Bundle::default();
        bind.bind();
        for _ in 0..ASKED_AGAIN {
            let bound = self.exchange(at, &bind)?;
            let answers = self.exchange(at, asked)?;
            let is_refused = |answer: &Answer| {
                matches!(answer, Answer::Done(_, ResultCode::Busy | ResultCode::Unavailable))
            };
            let is_done = |answer: &Answer| matches!(answer, Answer::Done(..));
            // A replica that starts again with a snapshot of another one answers nothing.
            if answers.iter().any(is_done) && !bound.iter().chain(&answers).any(is_refused) {
                return Ok(answers);
            }
        }
        Err(format!("replica {} answers nothing", at + 1))
    }

    fn exchange(&mut self, at: usize, asked: &Bundle) -> Result<Vec<Answer>, String> {
        let clock = self.clock;
        let mut asked = Some(asked);
        for _ in 0..AGREE_WITHIN {
            let running = self.replicas[at].running.as_mut().expect("it runs");
            if !running.node.waits(0) {
                match asked.take() {
                    Some(asked) => {
                        // To what it did by itself when it was started.
                        running.node.answers(0);
                        running.node.send(0, &asked.bytes, &clock);
                        continue;
                    }
                    None => return Ok(running.node.answers(0)),
                }
            }
            self.turn()?;
        }
        Err(format!("replica {} does not answer", at + 1))
    }
}
