//! A simulated cluster: several replicas of one directory, each with a disk and a clock of its own, links between them, and clients
//! that go from one to the other. Everything is decided by one seed, and happens in one thread.

mod calm;
mod clients;
mod copies;
mod damage;
mod floors;
mod followers;
mod images;
mod ledger;
mod membership;
mod nemesis;
mod old_reads;
mod processes;
mod programs;
mod replica;
mod same_settings;
mod sent;
mod set_back;
mod settings;
mod snapshots;
mod transactions;
mod trials;
mod upgrades;
mod votes;
mod worse;

use crate::clients::Clients;
use crate::disk::SimDisk;
use crate::followers::Followers;
use crate::network::Network;
use crate::node::{Node, StartOptions};
use crate::oracle::{Oracle, Seeing, counter};
use crate::plan::Plan;
use crate::properties;
use crate::random::Random;
use crate::requests::Bundle;
use crate::trace::Trace;
use crate::workloads::{self, Workload};
use crate::world::{Setting, Tally, Violation};
use consensus::{ReplicaId, Retention};
use dsa::Dsa;
use dsa::reads::{self, Reads, WithoutQuorum};
use dsa::settings::Texts;
use env::clock::Clock as _;
use floors::Floors;
use images::Images;
use ledger::Ledger;
use node::commit::Failed;
use replica::{Damage, Replica};
use sent::Sent;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use upgrades::Upgrades;

/// The data directory, on each disk.
const DIR: &str = "data";
/// Clients of a world.
const SESSIONS: usize = 3;
/// Workloads that any replica can do; another takes the place of one that needs more of a server.
const WORKLOADS: [&str; 9] =
    ["mixed", "churn", "groups", "counters", "definitions", "transfers", "ring", "stripes", "bundles"];
/// The first of these take the place of others.
const SUBSTITUTES: usize = 5;
/// One world of so many has settings that change, and one reads without a majority.
const APART: u64 = 5;
/// Milliseconds after which a transaction is given up: several times what its steps take.
const TRANSACTION_MS: u64 = 400;
/// Turns in which one server, alone, applies what must be there first.
const BEGUN_WITHIN: usize = 200;
/// Of 1,000 rounds of worlds with leases, those that begin with a trial of them.
const LEASES_TRIED: u64 = 300;
/// Nanoseconds that pass in a turn, at most.
const TURN_NS_MAX: u64 = 4_000_000;

/// See the module.
pub struct Cluster {
    seed: u64,
    plan: Plan,
    random: Random,
    log: wal::Settings,
    retention: Retention,
    reads: reads::Choices,
    workload: Box<dyn Workload>,
    network: Network,
    replicas: Vec<Replica>,
    ledger: Ledger,
    oracle: Oracle,
    /// What the model was after each entry.
    digests: BTreeMap<u64, u128>,
    /// The same of backups, up to entries that nobody has applied yet.
    of_backups: BTreeMap<u64, u128>,
    clients: Clients,
    /// What each client has on its way.
    sent: Vec<Option<Sent>>,
    /// The replica to which each client has sent something last.
    homes: [usize; SESSIONS],
    settings: settings::Settings,
    floors: Floors<SESSIONS>,
    /// Updates that were answered to have changed nothing, and those that the log has.
    refused: BTreeSet<Vec<u8>>,
    logged: BTreeSet<Vec<u8>>,
    /// Which counter updates set, and to what: first and last.
    counts: BTreeMap<Vec<u8>, (usize, (u64, u64))>,
    /// All that the log has set counters to.
    counted: BTreeSet<(usize, u64)>,
    /// What the log has set the counter of each client to last. Updates of unknown outcome may come behind later ones.
    counters: [u64; SESSIONS],
    /// The last entry that is known to be answered or read.
    promised: u64,
    /// Elections are disturbed when they are nearly over.
    has_ambush: bool,
    /// Chances of what happens on copies of disks.
    copies: Random,
    /// Chances of what becomes another in memory.
    damages: Random,
    upgrades: Upgrades,
    followers: Followers,
    images: Images,
    /// Time that has passed, and when a change of members was last asked for.
    now_ns: u64,
    changed_ns: u64,
    trace: Trace,
    tally: Tally,
}

fn broken(property: &'static str) -> impl Fn(String) -> Violation {
    move |what| Violation { property, what }
}

impl Cluster {
    /// The cluster of a seed. Workloads that need more of a server than updates are not for it: another takes their place.
    ///
    /// # Errors
    /// When there is no such workload.
    pub fn new(seed: u64, setting: &Setting) -> Result<Cluster, String> {
        let mut random = Random::new(seed);
        let log = wal::Settings {
            mode: wal::Mode::Always,
            file_bytes: 16384 << random.below(3),
            waiting_bytes_max: 8192,
            ready_files: 1 + random.below(2) as usize,
            spare_files_max: random.below(3) as usize,
        };
        let retention =
            Retention { bytes: random.below(3) * 1024, bytes_for_followers: 16384 << random.below(3) };
        let chosen = setting.workload.as_str();
        let name = match WORKLOADS.contains(&chosen) {
            true => chosen,
            false => WORKLOADS[(seed / 10 % SUBSTITUTES as u64) as usize],
        };
        let mut workload =
            workloads::named(name, SESSIONS).ok_or_else(|| format!("there is no workload `{name}`"))?;
        let mut trace = Trace::new(setting.is_shown);
        let count = 1 + 2 * random.below(setting.plan.cluster.replicas_max.div_ceil(2));
        // Their clocks never stand still.
        let by_lease = seed % 2 == 1;
        let reads = reads::Choices {
            reads: if by_lease { Reads::Lease } else { Reads::Quorum },
            without_quorum: if seed % APART == 3 { WithoutQuorum::Read } else { WithoutQuorum::Refuse },
        };
        let settings = settings::Settings::new(seed, seed.is_multiple_of(APART));
        trace.note(format_args!("seed {seed}, {count} replicas, workload {name}, {log:?}"));
        let members = (1..=count).map(ReplicaId).collect();
        let mut oracle = Oracle::default();
        let asked =
            StartOptions { settings: settings.are_changed.then(Texts::new), ..StartOptions::default() };
        let (disks, base) = begin(&mut random, (log, asked), &mut *workload, members, &mut oracle)?;
        let digests = BTreeMap::from([(base, oracle.digest())]);
        let replicas = (1..)
            .map(ReplicaId)
            .zip(disks)
            .map(|(id, disk)| Replica::of_member(id, disk, &mut random))
            .collect();
        let followers = match setting.plan.cluster.consumers {
            true => Followers::new(seed),
            false => Followers::none(),
        };
        let (network, images) = (Network::new(random.number()), Images::new(seed));
        if images.are_taken {
            network.say_hello();
        }
        Ok(Cluster {
            seed,
            plan: setting.plan.clone(),
            network,
            random,
            log,
            retention,
            reads,
            workload,
            replicas,
            ledger: Ledger::new(base),
            oracle,
            digests,
            of_backups: BTreeMap::new(),
            clients: Clients::new(SESSIONS),
            sent: (0..SESSIONS).map(|_| None).collect(),
            homes: [0; SESSIONS],
            settings,
            floors: Floors::default(),
            refused: BTreeSet::new(),
            logged: BTreeSet::new(),
            counts: BTreeMap::new(),
            counted: BTreeSet::new(),
            counters: [0; SESSIONS],
            promised: base,
            has_ambush: false,
            copies: Random::new(!seed),
            damages: Random::new(seed.rotate_left(32)),
            upgrades: Upgrades::new(seed),
            followers,
            images,
            now_ns: 0,
            changed_ns: 0,
            trace,
            tally: Tally::default(),
        })
    }

    /// All rounds: in each something goes wrong, and at its end all is well again. Returns the hash of everything that happened, and what
    /// that was.
    ///
    /// # Errors
    /// The first property that does not hold.
    pub fn run(mut self) -> Result<(u64, Tally), Violation> {
        self.start_all()?;
        for _ in 0..self.plan.incarnations {
            self.calm()?;
            if self.reads.reads == Reads::Lease && self.random.chance(LEASES_TRIED) {
                self.try_leases()?;
                self.calm()?;
            }
            self.try_image()?;
            self.has_ambush = self.random.chance(500);
            if self.has_ambush && self.random.chance(500) {
                // They begin with an election.
                self.lose_all_power();
                self.start_all()?;
            }
            for _ in 0..100 + self.random.below(1200) {
                self.turn()?;
                self.ambush()?;
            }
        }
        self.calm()?;
        self.look_at_backups()?;
        self.make_worse()?;
        self.tally.refused = self.clients.iter().map(|(_, client)| client.refused).sum();
        self.tally.committed = self.clients.iter().map(|(_, client)| client.transactions.0).sum();
        self.tally.aborted = self.clients.iter().map(|(_, client)| client.transactions.1).sum();
        self.tally.settings = self.settings.changes();
        self.tally.note_followers(self.followers.counts());
        self.tally.clusters = 1;
        self.tally.terms = self.ledger.terms();
        self.tally.messages = self.network.delivered();
        self.replicas.iter().for_each(|replica| self.trace.mix(replica.disk.trace()));
        Ok((self.trace.hash(), self.tally))
    }

    /// Something happens: as a rule a replica takes a step.
    fn turn(&mut self) -> Result<(), Violation> {
        self.pass_time();
        self.look_at_leases()?;
        if self.damages.chance(self.plan.cluster.damage) {
            self.damage();
        }
        self.upgrade()?;
        self.act_on_images()?;
        self.follow_changes()?;
        match self.random.below(100) {
            0..=13 => self.client_sends(),
            14..=15 => self.go_wrong(),
            18 if self.random.chance(100) && !self.has_damage() && !self.has_old_image() => {
                self.change_members()
            }
            19 => {
                let at = self.random.below(self.replicas.len() as u64) as usize;
                self.keep_up(at)?;
                self.step(at)
            }
            16..=17 if self.random.chance(500) => {
                let at = self.random.below(self.replicas.len() as u64) as usize;
                self.begin_snapshot(at);
                Ok(())
            }
            _ => {
                let at = self.random.below(self.replicas.len() as u64) as usize;
                self.join(at)?;
                self.step(at)
            }
        }
    }

    /// No two replicas answer reads without a question at one moment.
    fn look_at_leases(&self) -> Result<(), Violation> {
        let has_lease = |replica: &&Replica| {
            replica.node.is_some() && self.ledger.has_lease(replica.id, replica.clock.monotonic_ns())
        };
        let have: Vec<ReplicaId> = self.replicas.iter().filter(has_lease).map(|replica| replica.id).collect();
        match have[..] {
            [one, other, ..] => {
                Err(broken(properties::LEASES)(format!("replicas {one} and {other} both have one")))
            }
            _ => Ok(()),
        }
    }

    fn pass_time(&mut self) {
        let ns = self.random.below(TURN_NS_MAX);
        self.network.pass_ns(ns);
        self.now_ns += ns;
        self.replicas.iter_mut().for_each(|replica| replica.pass_ns(ns));
        self.network.with_guards(|guards, _| {
            let still = self.replicas.iter().filter(|replica| replica.takes_pause());
            guards.stand_still(still.map(|replica| replica.id).collect());
        });
    }

    /// A replica takes a step, if it runs.
    fn step(&mut self, at: usize) -> Result<(), Violation> {
        let replica = &mut self.replicas[at];
        if replica.takes_pause() {
            return Ok(());
        }
        let (id, clock) = (replica.id, replica.clock);
        let Some(node) = &mut replica.node else { return Ok(()) };
        let before_ns = replica.disk.elapsed_ns();
        let stepped = node.step(&clock);
        node.prepare_file();
        replica.clock.pass_ns(replica.disk.elapsed_ns() - before_ns);
        if let Err(failed) = &stepped {
            self.trace.note(format_args!("  replica {id} fails: {failed}"));
        }
        if let Err(failed @ Failed::Behaviour(..)) = &stepped
            && !self.gets_newer(at, self.upgrades.announced[&id])
        {
            return Err(broken(properties::KNOWN)(format!("replica {id}: {failed}")));
        }
        if let Some(what) = self.ledger.broken() {
            return Err(broken(properties::AGREEMENT)(what));
        }
        self.follow()?;
        self.look_at_standing(at)?;
        self.look_at(at)?;
        self.look_at_followed(at)?;
        for session in 0..SESSIONS {
            self.take_answers(at, session)?;
        }
        if self.images.are_taken {
            self.keep_seen(at);
        }
        self.write_snapshot(at);
        let node = self.replicas[at].node.as_ref();
        if node.is_some_and(|node| node.recovered.committer.is_snapshot_needed()) {
            self.begin_snapshot(at);
        }
        // A disk may fail where no log needs it: while the next file is prepared.
        if stepped.is_err() || self.replicas[at].disk.is_off() {
            self.tally.failed += u64::from(stepped.is_err());
            self.end(at);
            return Ok(());
        }
        self.transfer(at)?;
        if self.replicas[at].disk.is_off() {
            self.end(at);
        }
        Ok(())
    }

    /// The model applies what is committed.
    fn follow(&mut self) -> Result<(), Violation> {
        while self.oracle.at() < self.ledger.last() {
            let index = self.oracle.at() + 1;
            let payload = self.ledger.payload(index);
            let mut again = None;
            let (refused, logged) = (&self.refused, &mut self.logged);
            let (counts, mut counted) = (&self.counts, Vec::new());
            let (settings, mut unsettled) = (&mut self.settings, Ok(()));
            let mut look = |messages: &[u8]| {
                if refused.contains(messages) {
                    again = Some((properties::VOID, "it was answered to have changed nothing"));
                } else if !logged.insert(messages.to_vec()) && counts.contains_key(messages) {
                    again = Some((properties::ONCE, "the log has it twice"));
                }
            };
            let mut seen = |dsa: &Arc<Dsa>, seeing: Seeing<'_>| match seeing {
                Seeing::Updates(command) => {
                    let Some((session, counts)) = counts.get(command.messages) else { return };
                    // A transaction may come to nothing.
                    if !command.is_transaction || counter(dsa, *session) == counts.1 {
                        counted.push((*session, *counts));
                    }
                }
                Seeing::Settings(text) => unsettled = settings.on_logged(text),
            };
            let followed = self.oracle.follow_entry(&payload, &mut look, &mut seen);
            followed.map_err(broken("the log can be read"))?;
            unsettled.map_err(broken(properties::SETTINGS))?;
            for (session, counts) in counted {
                self.counted.extend((counts.0..=counts.1).map(|count| (session, count)));
                self.on_counted(session, counts);
            }
            if let Some((property, what)) = again {
                return Err(broken(property)(format!("entry {index} has an update: {what}")));
            }
            let digest = self.oracle.digest();
            self.digests.insert(index, digest);
            if self.of_backups.remove(&index).is_some_and(|of_backup| of_backup != digest) {
                let what = format!("a backup up to entry {index} has what is not committed");
                return Err(broken(properties::BACKUP)(what));
            }
            self.tally.upgrades += u64::from(self.oracle.take_raised());
            self.tally.records += 1;
        }
        Ok(())
    }

    /// What can be read at a replica is what the entries make that it has applied.
    fn look_at(&mut self, at: usize) -> Result<(), Violation> {
        let Replica { id, node: Some(node), seen, damage, .. } = &mut self.replicas[at] else {
            return Ok(());
        };
        let applied = node.applied();
        if applied == *seen || *damage != Damage::None {
            return Ok(());
        }
        *seen = applied;
        if self.digests.get(&applied) != Some(&crate::node::digest(&node.recovered.dsa)) {
            let what = format!("what replica {id} has at entry {applied} is not what the entries make");
            return Err(broken("the state is the model's")(what));
        }
        Ok(())
    }

    fn start_all(&mut self) -> Result<(), Violation> {
        (0..self.replicas.len()).try_for_each(|at| self.start(at))
    }
}

/// Makes the directory with which all begin, on as many disks; returns them, and the last record that it holds.
fn begin(
    random: &mut Random,
    (log, asked): (wal::Settings, StartOptions),
    workload: &mut dyn Workload,
    members: Vec<ReplicaId>,
    oracle: &mut Oracle,
) -> Result<(Vec<SimDisk>, u64), String> {
    let (disk, dir, clock) =
        (SimDisk::new(random.number()), Path::new(DIR), crate::clock::SimClock::default());
    let text = |error: node::data::DataError| error.to_string();
    let asked = StartOptions { seed: random.number(), ..asked };
    let mut node = Node::start_with(Arc::new(disk.clone()), dir, log, asked, 1, &clock).map_err(text)?;
    let mut bundle = Bundle::default();
    workloads::base(SESSIONS, &mut bundle);
    workload.setup(&mut bundle);
    bundle.logged_together().for_each(|updates| oracle.on_sent(updates));
    node.send(0, &bundle.bytes, &clock);
    for _ in 0..BEGUN_WITHIN {
        node.prepare_file();
        node.step(&clock).map_err(|failed| failed.to_string())?;
    }
    drop(node);
    disk.kill();
    let count = members.len();
    crate::node::begin_replication(Arc::new(disk.clone()), dir, log, random.number(), members)
        .map_err(text)?;
    oracle.follow(&disk, dir, u64::MAX)?;
    oracle.forget_seen();
    disk.kill();
    Ok(((0..count).map(|_| disk.copy()).collect(), oracle.at()))
}
