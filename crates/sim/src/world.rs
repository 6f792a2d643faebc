//! A simulated world: clients, incarnations of a server and the disk between them, everything decided by one seed.

mod ends;
mod followers;
mod incarnations;
mod indexes;
mod operations;
mod readers;
mod replicas;
mod transactions;

use crate::clients::Clients;
use crate::clock::SimClock;
use crate::disk::{Faults, SimDisk};
use crate::followers::{COPIED, Counts, Followers, NAMELESS};
use crate::late::Group;
use crate::node::{NOBODY, Node, StartOptions, WRITERS, is_of_disk, recover_with};
use crate::operator::{ARCHIVE, Operator};
use crate::oracle::Oracle;
use crate::plan::Plan;
use crate::precedence::Precedence;
use crate::properties::{PROPERTIES, Situation, flipped_bits};
use crate::random::Random;
use crate::trace::Trace;
use crate::view::View;
use crate::workloads::{self, Workload};
use env::planted;
use node::data::DataError;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use wal::Mode;

/// The data directory.
const DIR: &str = "data";
/// One world of so many keeps changes, for consumers and `cn=changelog`: a hundred or so.
const CHANGES_KEPT_OF: u64 = 7;
/// See [`CHANGES_KEPT_OF`].
pub(crate) const CHANGES_BYTES: u64 = 64 << 10;
/// Clients of a world.
const SESSIONS: usize = 3;

/// What a world is made of, besides its seed.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Name of the workload.
    pub workload: String,
    /// What goes wrong.
    pub plan: Plan,
    /// What happens is reported on standard output.
    pub is_shown: bool,
}

/// Something does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which property.
    pub property: &'static str,
    /// In words, what is wrong.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.property, self.what)
    }
}

/// What happened in a world, to see that it was what the simulation is for.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Records that were applied.
    pub records: u64,
    /// Records that were seen and gone after a start, in a mode that allows it.
    pub lost: u64,
    /// Torn tails.
    pub cuts: u64,
    /// Snapshots.
    pub snapshots: u64,
    /// Incarnations that a failure of the log ended.
    pub failed: u64,
    /// Incarnations that ended well.
    pub clean: u64,
    /// Updates that were not tried.
    pub refused: u64,
    /// Updates that a constraint, or another bound of values, did not allow. Not among [`Tally::rows`]: only one workload must have such.
    pub violated: u64,
    /// Starts, and restores, that flipped bits have stopped.
    pub stopped: u64,
    /// Backups.
    pub backups: u64,
    /// Restores of them.
    pub restores: u64,
    /// Restores to a point on the way.
    pub points: u64,
    /// Imports.
    pub imports: u64,
    /// Backups, restores and imports that something has ended early.
    pub ended: u64,
    /// Indexes that were built.
    pub indexes: u64,
    /// Indexes that were dropped.
    pub dropped: u64,
    /// Indexes that were compared with the entries.
    pub verified: u64,
    /// Transactions that were committed.
    pub committed: u64,
    /// Transactions that came to nothing.
    pub aborted: u64,
    /// Of these, those that were given up for a transaction with higher precedence.
    pub preempted: u64,
    /// Updates that gave way to a transaction of a transaction with higher precedence.
    pub gave_way: u64,
    /// Replicas that led the log and were deposed.
    pub deposed: u64,
    /// Proposals that were lost with that.
    pub lost_proposals: u64,
    /// Proposals that another leader committed.
    pub inherited: u64,
    /// Writes of clients of other replicas.
    pub elsewhere: u64,
    /// Starts with other rules.
    pub rules: u64,
    /// Readers that were revoked.
    pub revoked: u64,
    /// Clusters.
    pub clusters: u64,
    /// Terms of those that had a leader.
    pub terms: u64,
    /// Messages between their replicas.
    pub messages: u64,
    /// Bundles of updates that they acknowledged.
    pub acknowledged: u64,
    /// Bundles of which the client does not know what became of them.
    pub unknown: u64,
    /// Barriers that were passed.
    pub barriers: u64,
    /// Bundles of reads that were answered by a lease.
    pub by_lease: u64,
    /// Counters that were read without a majority.
    pub old_reads: u64,
    /// Settings that the logs of clusters changed.
    pub settings: u64,
    /// Times at which all machines lost their power.
    pub blackouts: u64,
    /// Changes of members that were asked for.
    pub changes: u64,
    /// What leaders wanted of members by themselves.
    pub kept_up: u64,
    /// Leaders whose disk became slow or whose clock was set wrong, for long.
    pub worse: u64,
    /// Snapshots that a replica has fetched from another.
    pub fetched: u64,
    /// Directories of replicas that became others by themselves, and replicas that were made anew for that.
    pub damages: u64,
    /// See `damages`.
    pub rebuilt: u64,
    /// Upgrades that were finished, that were not because a replica had the older program, and replicas that were started with that too late.
    pub upgrades: u64,
    /// See `upgrades`.
    pub upgrades_refused: u64,
    /// See `upgrades`.
    pub outdated: u64,
    /// Disks that were set back to an image.
    pub set_back: u64,
    /// Links that were refused to replicas with such.
    pub links_refused: u64,
    /// Calms in which all replicas were compared.
    pub calms: u64,
    /// Replicas that began another group.
    pub anew: u64,
    /// Copies of consumers that were compared, those of them that went on from a cookie, and those that had to begin anew.
    pub copies: u64,
    /// See `copies`.
    pub copies_continued: u64,
    /// See `copies`.
    pub copies_anew: u64,
}

impl Tally {
    /// Adds what happened in another world.
    pub fn add(&mut self, other: &Tally) {
        self.records += other.records;
        self.lost += other.lost;
        self.cuts += other.cuts;
        self.snapshots += other.snapshots;
        self.failed += other.failed;
        self.clean += other.clean;
        self.refused += other.refused;
        self.violated += other.violated;
        self.stopped += other.stopped;
        self.backups += other.backups;
        self.restores += other.restores;
        self.points += other.points;
        self.imports += other.imports;
        self.ended += other.ended;
        self.indexes += other.indexes;
        self.dropped += other.dropped;
        self.verified += other.verified;
        self.committed += other.committed;
        self.aborted += other.aborted;
        self.preempted += other.preempted;
        self.gave_way += other.gave_way;
        self.deposed += other.deposed;
        self.lost_proposals += other.lost_proposals;
        self.inherited += other.inherited;
        self.elsewhere += other.elsewhere;
        self.rules += other.rules;
        self.revoked += other.revoked;
        self.clusters += other.clusters;
        self.terms += other.terms;
        self.messages += other.messages;
        self.acknowledged += other.acknowledged;
        self.unknown += other.unknown;
        self.barriers += other.barriers;
        self.by_lease += other.by_lease;
        self.old_reads += other.old_reads;
        self.settings += other.settings;
        self.blackouts += other.blackouts;
        self.fetched += other.fetched;
        self.damages += other.damages;
        self.rebuilt += other.rebuilt;
        self.upgrades += other.upgrades;
        self.upgrades_refused += other.upgrades_refused;
        self.outdated += other.outdated;
        self.changes += other.changes;
        self.kept_up += other.kept_up;
        self.worse += other.worse;
        self.set_back += other.set_back;
        self.links_refused += other.links_refused;
        self.calms += other.calms;
        self.anew += other.anew;
        self.copies += other.copies;
        self.copies_continued += other.copies_continued;
        self.copies_anew += other.copies_anew;
    }

    /// What consumers came to.
    pub(crate) fn note_followers(&mut self, counts: Counts) {
        (self.copies, self.copies_continued, self.copies_anew) =
            (counts.compared, counts.continued, counts.anew);
    }

    /// Names and numbers.
    pub fn rows(&self) -> [(&'static str, u64); 52] {
        [
            ("records", self.records),
            ("lost as allowed", self.lost),
            ("torn tails cut", self.cuts),
            ("snapshots", self.snapshots),
            ("failed logs", self.failed),
            ("clean ends", self.clean),
            ("updates refused", self.refused),
            ("flipped bits that stopped something", self.stopped),
            ("backups", self.backups),
            ("restores", self.restores),
            ("restores to a point", self.points),
            ("imports", self.imports),
            ("of these ended early", self.ended),
            ("indexes built", self.indexes),
            ("indexes dropped", self.dropped),
            ("indexes verified", self.verified),
            ("transactions committed", self.committed),
            ("transactions aborted", self.aborted),
            ("transactions preempted", self.preempted),
            ("updates that gave way", self.gave_way),
            ("leaders deposed", self.deposed),
            ("proposals lost", self.lost_proposals),
            ("proposals another leader committed", self.inherited),
            ("writes at other replicas", self.elsewhere),
            ("starts with other rules", self.rules),
            ("readers revoked", self.revoked),
            ("clusters", self.clusters),
            ("terms with a leader", self.terms),
            ("messages between replicas", self.messages),
            ("bundles acknowledged by clusters", self.acknowledged),
            ("bundles of unknown outcome", self.unknown),
            ("barriers passed", self.barriers),
            ("reads by a lease", self.by_lease),
            ("reads without a majority", self.old_reads),
            ("settings changed in clusters", self.settings),
            ("blackouts", self.blackouts),
            ("snapshots fetched", self.fetched),
            ("directories damaged", self.damages),
            ("replicas made anew", self.rebuilt),
            ("upgrades finished", self.upgrades),
            ("upgrades refused", self.upgrades_refused),
            ("replicas outdated", self.outdated),
            ("changes of members", self.changes),
            ("changes that leaders wanted", self.kept_up),
            ("leaders that got worse", self.worse),
            ("disks set back", self.set_back),
            ("links refused for that", self.links_refused),
            ("calms", self.calms),
            ("other groups begun", self.anew),
            ("copies of consumers compared", self.copies),
            ("copies that went on from a cookie", self.copies_continued),
            ("copies begun anew", self.copies_anew),
        ]
    }
}

/// A simulated world.
pub struct World {
    plan: Plan,
    random: Random,
    disk: SimDisk,
    clock: SimClock,
    log: wal::Settings,
    workload: Box<dyn Workload>,
    clients: Clients,
    oracle: Oracle,
    trace: Trace,
    /// The last record that was read or answered.
    applied: u64,
    /// The last record that must be there at the next start: as the mode promises, after the end that there was.
    promised: u64,
    /// Who takes backups, if the workload has somebody.
    operator: Option<Operator>,
    /// The other replicas of its log, if there are some.
    group: Option<Group>,
    /// What was reported of indexes.
    known: indexes::Known,
    watched: transactions::Watched,
    /// Do sessions have precedence over others?
    has_ranks: bool,
    /// Starts change whether entries are held to the schema.
    has_other_rules: bool,
    /// Bytes of changes that it keeps.
    changes: u64,
    /// There was a start that came to its end.
    has_started: bool,
    precedence: Precedence,
    readers: readers::Readers,
    followers: Followers,
    tally: Tally,
}

impl World {
    /// The world of a seed.
    ///
    /// # Errors
    /// When there is no such workload.
    pub fn new(seed: u64, setting: &Setting) -> Result<World, String> {
        let mut random = Random::new(seed);
        let mut log = wal::Settings {
            mode: setting.plan.mode(&mut random),
            file_bytes: 16384 << random.below(3),
            waiting_bytes_max: 8192,
            ready_files: 1 + random.below(2) as usize,
            spare_files_max: random.below(3) as usize,
        };
        let workload = workloads::named(&setting.workload, SESSIONS)
            .ok_or_else(|| format!("there is no workload `{}`", setting.workload))?;
        let has_ranks = workload.has_transactions() && random.chance(500);
        let operator = workload.is_operated().then(Operator::default);
        // No replica may do that.
        let starts_write = workload.starts_write();
        let is_alone = operator.is_some() || starts_write;
        let group = setting.plan.group(&mut random, is_alone, &mut log);
        // Where there are backups the rules stay: points are named there by the records that clients wrote. Replicas have none
        // of what a start writes alone.
        let has_other_rules =
            operator.is_none() && group.is_none() && random.chance(setting.plan.starts.other_rules);
        if has_other_rules || starts_write {
            // The text of rules is one record. A start writes one, too, whose log has lost what was added to the schema.
            (log.file_bytes, log.waiting_bytes_max) = (192 << 10, 96 << 10);
        }
        let has_ranks = has_ranks && group.is_none();
        let disk = SimDisk::new(random.number());
        let mut trace = Trace::new(setting.is_shown);
        trace.note(format_args!("seed {seed}, workload {}, {log:?}", setting.workload));
        Ok(World {
            plan: setting.plan.clone(),
            random,
            disk,
            clock: SimClock::default(),
            log,
            workload,
            clients: Clients::new(SESSIONS),
            oracle: Oracle::default(),
            trace,
            applied: 0,
            promised: 0,
            operator,
            group,
            known: indexes::Known::default(),
            watched: transactions::Watched::default(),
            has_ranks,
            has_other_rules,
            changes: if seed % CHANGES_KEPT_OF == 2 { CHANGES_BYTES } else { 0 },
            has_started: false,
            precedence: Precedence::new(SESSIONS),
            readers: readers::Readers::new(seed),
            followers: Followers::new(seed),
            tally: Tally::default(),
        })
    }

    /// All incarnations, and a last start. Returns the hash of everything that happened, and what that was.
    ///
    /// # Errors
    /// The first property that does not hold.
    pub fn run(mut self) -> Result<(u64, Tally), Violation> {
        for _ in 0..self.plan.incarnations {
            if let Some(node) = self.start()? {
                self.live(node)?;
            }
        }
        self.start()?;
        planted::watch(None);
        self.tally.refused = self.clients.iter().map(|(_, client)| client.refused).sum();
        self.tally.violated = self.clients.iter().map(|(_, client)| client.violated).sum();
        self.tally.committed = self.clients.iter().map(|(_, client)| client.transactions.0).sum();
        self.tally.aborted = self.clients.iter().map(|(_, client)| client.transactions.1).sum();
        (self.tally.preempted, self.tally.gave_way) = (self.precedence.preempted, self.precedence.gave_way);
        self.tally.note_followers(self.followers.counts());
        let group = self.group.as_ref().map(Group::tally).unwrap_or_default();
        (self.tally.deposed, self.tally.lost_proposals) = (group.deposed, group.lost);
        (self.tally.inherited, self.tally.elsewhere) = (group.inherited, group.others);
        self.trace.mix(self.disk.trace());
        Ok((self.trace.hash(), self.tally))
    }

    /// A start that is cut short, by the power or a kill, if it takes that long. What it has made of the disk, the next one
    /// finds.
    fn start_cut_short(&mut self) -> Result<(), Violation> {
        let power_at = Some(self.disk.operations() + 1 + self.random.below(30));
        self.disk.set_faults(Faults { power_at, ..Faults::default() });
        let asked = self.asked();
        let recovered = recover_with(Arc::new(self.disk.clone()), Path::new(DIR), self.log, asked);
        let is_off = self.disk.is_off();
        self.trace.note(format_args!("  a start that is cut short: {is_off}"));
        // What a kill has left unsynced in another mode may go with the power.
        match self.log.mode {
            Mode::Always => self.disk.lose_power_keeping(self.plan.sectors_kept()),
            _ => self.disk.kill(),
        }
        match recovered.map(drop) {
            Err(error) if !is_off => Err(refused(&error)),
            _ => Ok(()),
        }
    }

    /// What a start asks for.
    fn asked(&mut self) -> StartOptions {
        // The first ones are in no record.
        let changes = self.has_other_rules && self.has_started && self.random.chance(500);
        let has_schema_check = self.oracle.has_schema_check() != changes;
        let seed = self.random.number();
        // The model has none of them: what is in the log does not depend on them.
        let access: &[&str] = match self.random.chance(250) {
            true => &[WRITERS, NOBODY, COPIED, NAMELESS],
            false => &[WRITERS, COPIED],
        };
        let has_no_schema_check = !has_schema_check;
        let (changes, settings) = (self.changes, self.workload.settings());
        StartOptions { seed, has_no_schema_check, access, changes, settings, ..StartOptions::default() }
    }

    /// Starts the server and looks at what it recovered. `Ok(None)` when the disk failed meanwhile.
    fn start(&mut self) -> Result<Option<Node>, Violation> {
        planted::watch(None);
        let (dir, unreadable) = (Path::new(DIR), |what| Violation { property: "the log can be read", what });
        let is_cut_short = self.random.chance(self.plan.starts.cut_short);
        if self.has_other_rules || self.workload.starts_write() {
            // A start writes a record of its own, where records may have been that are gone: of other rules, or of definitions that the log has
            // lost and their copy has. What is not promised may go with the power while a start is cut short.
            let may_lose = is_cut_short && self.log.mode == Mode::Always;
            self.follow(if may_lose { self.promised } else { u64::MAX }).map_err(unreadable)?;
            self.forget_lost();
        }
        if is_cut_short {
            self.start_cut_short()?;
        }
        self.operate(dir)?;
        self.follow(u64::MAX).map_err(unreadable)?;
        self.forget_lost();
        if self.group.is_none() && self.random.chance(self.plan.starts.flipped_bit) {
            let trials = flipped_bits(&self.disk, dir, self.log, &self.oracle, &mut self.random);
            let property = "a flipped bit stops the start";
            self.tally.stopped += trials.map_err(|what| Violation { property, what })?;
        }
        let disk = Arc::new(self.disk.clone());
        let asked = self.asked();
        let started = Node::start_with(disk, dir, self.log, asked, SESSIONS, &self.clock);
        let mut node = match started {
            Ok(node) => node,
            Err(error) if is_of_disk(&error) => return Ok(None),
            Err(error) => return Err(refused(&error)),
        };
        if self.operator.is_some() {
            node.recovered.snapshots.archive_to(Arc::new(self.disk.clone()), Path::new(ARCHIVE));
        }
        self.tally.cuts += u64::from(node.recovered.cut.is_some());
        self.has_started = true;
        // What this start has written itself.
        let had = self.oracle.has_schema_check();
        self.follow(u64::MAX).map_err(unreadable)?;
        self.tally.rules += u64::from(self.oracle.has_schema_check() != had);
        node = self.join(node)?;
        self.watch(&node);
        self.look(&mut node)?;
        self.look_at_indexes(&mut node)?;
        self.follow_again(&mut node)?;
        Ok(Some(node))
    }

    /// What is not in the log any more is gone for good, as its mode may allow.
    fn forget_lost(&mut self) {
        let end = self.oracle.at();
        self.tally.lost += self.oracle.forget_seen();
        if end < self.applied && self.log.mode != Mode::Always {
            self.clients.forget_after(end);
            self.followers.forget();
            self.applied = end;
        }
    }

    /// Looks whether everything holds.
    fn look(&mut self, node: &mut Node) -> Result<(), Violation> {
        let end = self.oracle.at();
        let seen = |what| Violation { property: "a client can read everything", what };
        let view = View::of(node.read_all(0, &self.clock)).map_err(seen)?;
        self.trace.note(format_args!("start: {end} records, {} entries", view.entries.len()));
        let (clients, promised, model) = (&self.clients, self.promised, self.oracle.digest());
        let free_ids = &self.oracle.free_ids();
        let situation = Situation { node, view: &view, clients, promised, end, model, free_ids };
        for (property, holds) in PROPERTIES {
            holds(&situation).map_err(|what| Violation { property, what })?;
        }
        let property = self.workload.property();
        self.workload.check(&view).map_err(|what| Violation { property, what })?;
        (self.applied, self.promised) = (end, end);
        Ok(())
    }
}

fn refused(error: &DataError) -> Violation {
    Violation { property: "a start without damage succeeds", what: error.to_string() }
}
