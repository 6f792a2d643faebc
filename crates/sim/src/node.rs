//! One incarnation of a server, in one thread and without sockets: sessions, directory, store, log and snapshots, each step
//! taken by the one that owns it.

mod followed;

use crate::answers::Answer;
use crate::random::Random;
use crate::requests::{Bundle, ROOT, SUFFIX};
use consensus::links::Links;
use consensus::{Members, ReplicaId};
use dsa::behaviour::{NEWEST, OLDEST, Versions};
use dsa::indexing::{Indexer, Pace};
use dsa::reads;
use dsa::settings::Texts;
use dsa::transaction::Precedence;
use dsa::{Dsa, Session, State, Worker};
use env::clock::Clock;
use env::disk::Disk;
use env::entropy::SeededEntropy;
use node::commit::{Begun, Committer, Failed, Limits};
use node::data::snapshot::Writing;
use node::data::{Data, DataError, IndexFile, Recovered, Replication, Settled, Superblock, Wanted};
use node::transfer::Transfer;
use proto::message::{Frame, frame};
use schema::{ADDED_FILE, SchemaFile};
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Waker};
use store::{IndexKind, IndexSettings, Reader};
use wal::{Index, Step, SyncJob};

/// Bytes of memory from which on adds are refused.
const MEMORY_BYTES_MAX: u64 = 48 << 20;
/// Keys that go into an index in one step.
const INDEX_STEP_KEYS: usize = 16;

/// What a program of the next version knows.
pub const NEXT: Versions = Versions { oldest: OLDEST, newest: NEWEST + 1 };

/// The schema of simulated directories, as it is before something is added to it.
pub fn schema() -> Arc<schema::Schema> {
    schema_of([])
}

/// The same with files, or what was added to it.
pub fn schema_of(files: impl IntoIterator<Item = SchemaFile>) -> Arc<schema::Schema> {
    let builder = files.into_iter().fold(schema::Builder::new().standard(), schema::Builder::with_file);
    Arc::new(builder.build().expect("what was taken is sound"))
}

/// The schema of a directory that may have been served: what was added to it stays.
///
/// # Errors
/// As [`Data::made`].
pub fn schema_in(data: &Data) -> Result<Arc<schema::Schema>, DataError> {
    let files = data.made()?.and_then(|made| made.schema_files).unwrap_or_default();
    Ok(schema_of(files.into_iter().filter(|file| &*file.name == ADDED_FILE)))
}

/// What they are made with.
pub fn superblock() -> Superblock {
    Superblock { key: [5, 6, 7, 8], site: 3, operational_attributes: true, initial_owner: ROOT.to_owned() }
}

/// What a directory is served with that was made with `superblock`.
pub fn config(superblock: Superblock) -> dsa::Config {
    let index = |attribute: &str| IndexSettings::of(attribute, [IndexKind::Equality, IndexKind::Substring]);
    dsa::Config {
        store: store::Settings {
            suffixes: vec![SUFFIX.to_owned()],
            indexes: vec![index("uid"), index("description")],
            memory_bytes_max: MEMORY_BYTES_MAX,
            removals_max: 4,
            operational_attributes: superblock.operational_attributes,
            schema_check: true,
            initial_owner: superblock.initial_owner,
            key: superblock.key,
            site: superblock.site,
        },
        root_dn: Some(ROOT.to_owned()),
        root_password: Some(crate::requests::PASSWORD.as_bytes().to_vec()),
        offers_tls: false,
        peers: Default::default(),
        tokens: None,
        principals: None,
        queue_length_oid: None,
        settings: settings(),
        version: "0".to_owned(),
        started_ms: 0,
        schema_since_ms: 0,
    }
}

/// By which users write the entries that are open. The right hangs on what an entry holds.
pub const WRITERS: &str =
    "writers: subtree=\"dc=x\" filter=(l=open) attrs=description; users; allow=write rank=1";
/// By which nobody but the root DN writes anything, though another rule allows it.
pub const NOBODY: &str = "nobody: subtree=\"dc=x\" attrs=entry,**; users; deny=write rank=2";

/// Limits that transactions come up against.
fn settings() -> dsa::settings::Start {
    let mut start = dsa::settings::Start::default();
    start.configured.transactions.updates_max = 8;
    start.configured.transactions.age_max_ms = 40;
    // A tree delete has parts.
    start.configured.limits.clients.tree_delete_max = 4;
    start.configured.limits.clients.memory_bytes_max = Some(256 << 20);
    start.configured.passwords.schemes = vec![dsa::config::Scheme::SaltedSha1];
    // Some clients come from other hosts, and bind in the clear.
    start.configured.security.password_strength = Some(0);
    start
}

fn rules(texts: &[&str]) -> Vec<access::Rule> {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    access::parse_all(&texts).expect("the rules are sound")
}

/// A number for everything in a directory: entries, values, names, entryUUIDs, CSNs.
pub fn digest(dsa: &Arc<Dsa>) -> u128 {
    Reader::register(dsa.shard()).expect("there are few readers").pin().read_point().digest()
}

/// Takes the data directory `dir`, which is made if it is not there, and recovers what is in it. Threads make a snapshot
/// after `snapshot_after` bytes of log.
///
/// # Errors
/// As [`Data::recover`].
pub fn recover(
    disk: Arc<dyn Disk>,
    dir: &Path,
    log: wal::Settings,
    snapshot_after: Option<u64>,
    seed: u64,
) -> Result<(Data, Recovered), DataError> {
    recover_with(disk, dir, log, StartOptions { snapshot_after, seed, ..StartOptions::default() })
}

/// What a start asks for that others do not.
#[derive(Clone, Default)]
pub struct StartOptions {
    /// Threads make a snapshot after so many bytes of log.
    pub snapshot_after: Option<u64>,
    /// Of entropy.
    pub seed: u64,
    /// Start also where the log comes to another outcome than was answered.
    pub accepts_difference: bool,
    /// Entries are not held to the schema.
    pub has_no_schema_check: bool,
    /// Access rules besides those that are built in.
    pub access: &'static [&'static str],
    /// Settings that are given, where they are recorded.
    pub settings: Option<Texts>,
    /// How reads are answered in a cluster.
    pub reads: reads::Choices,
    /// Milliseconds after which a transaction is given up, if others than usual.
    pub transaction_ms: Option<u64>,
    /// Another schema than [`schema`].
    pub schema: Option<Arc<schema::Schema>>,
    /// The versions of the behaviour that the program knows.
    pub versions: Versions,
    /// Bytes of changes that `cn=changelog` keeps.
    pub changes: u64,
}

/// As [`recover`], with all that may be asked for.
///
/// # Errors
/// As [`recover`].
pub fn recover_with(
    disk: Arc<dyn Disk>,
    dir: &Path,
    log: wal::Settings,
    asked: StartOptions,
) -> Result<(Data, Recovered), DataError> {
    match recover_once(Arc::clone(&disk), dir, log, asked.clone()) {
        Err(DataError::Settings) => recover_once(disk, dir, log, asked),
        recovered => recovered,
    }
}

/// A start that goes by the settings in their file.
fn recover_once(
    disk: Arc<dyn Disk>,
    dir: &Path,
    log: wal::Settings,
    asked: StartOptions,
) -> Result<(Data, Recovered), DataError> {
    let data = Data::open(disk, dir)?.knowing(asked.versions);
    let recovered = with_wanted(&data, log, asked, |wanted| data.recover(wanted, &mut |_| ()))?;
    Ok((data, recovered))
}

/// Makes a directory the one with which each of `members` begins.
///
/// # Errors
/// As [`Data::begin_replication`].
pub fn begin_replication(
    disk: Arc<dyn Disk>,
    dir: &Path,
    log: wal::Settings,
    seed: u64,
    members: Vec<ReplicaId>,
) -> Result<(), DataError> {
    let data = Data::open(disk, dir)?;
    let asked = StartOptions { seed, ..StartOptions::default() };
    with_wanted(&data, log, asked, |wanted| data.begin_replication(wanted, Members::of_voters(members)))
}

/// Starts a replica, by a program that knows these versions of the behaviour, with a session for each of `sessions` clients.
///
/// # Errors
/// As [`Data::recover_replica`].
pub fn start_replica(
    disk: Arc<dyn Disk>,
    dir: &Path,
    log: wal::Settings,
    asked: StartOptions,
    sessions: usize,
    clock: &dyn Clock,
    (replication, updates): (Replication, Box<dyn Links>),
) -> Result<Node, DataError> {
    let (data, recovered) = recover_replica(disk, dir, log, asked, (replication, updates))?;
    Node::over(data, recovered, sessions, clock)
}

/// As [`start_replica`], for threads.
///
/// # Errors
/// As [`Data::recover_replica`].
pub fn recover_replica(
    disk: Arc<dyn Disk>,
    dir: &Path,
    log: wal::Settings,
    asked: StartOptions,
    (replication, updates): (Replication, Box<dyn Links>),
) -> Result<(Data, Recovered), DataError> {
    let (seed, id) = (asked.seed, replication.id);
    let data = Data::open_replica(disk, dir, log, &mut SeededEntropy::new(seed))?.knowing(asked.versions);
    let recovered =
        with_wanted(&data, log, asked, |wanted| data.recover_replica(wanted, replication, &mut |_| ()))?;
    let committer = recovered.committer.forwarding(id, updates, Random::new(seed).number());
    Ok((data, Recovered { committer, ..recovered }))
}

/// Does something with what a start wants that goes by the settings in their file.
fn with_wanted<T>(
    data: &Data,
    log: wal::Settings,
    asked: StartOptions,
    start: impl FnOnce(Wanted<'_>) -> Result<T, DataError>,
) -> Result<T, DataError> {
    let mut config = config(data.initialise(&superblock())?);
    let settings = match asked.settings {
        None => None,
        Some(given) => {
            let file = data.settings()?;
            let mut record = file.record();
            record.file.get_or_insert_default().extend(given.clone());
            record.values.extend(given);
            config.settings.record = record.clone();
            Some(Settled { file, record })
        }
    };
    config.store.schema_check = !asked.has_no_schema_check;
    config.settings.configured.access.rules = rules(asked.access);
    config.settings.configured.reads = asked.reads;
    config.settings.configured.change_log.bytes = asked.changes;
    let age_max_ms = &mut config.settings.configured.transactions.age_max_ms;
    *age_max_ms = asked.transaction_ms.unwrap_or(*age_max_ms);
    let schema = asked.schema.map_or_else(|| schema_in(data), Ok)?;
    data.indexes()?.add_to(&mut config.store.indexes, &schema);
    let mut entropy = SeededEntropy::new(asked.seed);
    let StartOptions { snapshot_after, accepts_difference: accept_difference, .. } = asked;
    let limits = Limits { snapshot_after, snapshot_interval_ms: None };
    let wanted = Wanted { config, schema, log, limits, entropy: &mut entropy, accept_difference, settings };
    start(wanted)
}

/// Did the disk end a start, and nothing else?
pub fn is_of_disk(error: &DataError) -> bool {
    matches!(
        error,
        DataError::Disk(_)
            | DataError::Log(wal::OpenError::Io(_))
            | DataError::Snapshot(wal::snapshot::SnapshotError::Io(_))
    )
}

/// The one that runs syncs beside the committer.
struct Beside {
    random: Random,
    /// The sync that is in progress, and when it began.
    sync: Option<(SyncJob, u64)>,
    /// Milliseconds that a sync takes at least.
    slow_ms: u64,
}

/// The turn of a committer whose syncs somebody else runs, or of that one.
fn step_beside(
    committer: &mut Committer,
    Beside { random, sync, slow_ms }: &mut Beside,
    wall_ms: u64,
    monotonic_ms: u64,
) -> Result<Step, Failed> {
    if let Some((_, begun_ms)) = sync
        && random.chance(400)
        && monotonic_ms >= *begun_ms + *slow_ms
        && let Some((job, begun_ms)) = sync.take()
    {
        return committer.end_step_after((job.run(), (monotonic_ms - begun_ms) * 1_000));
    }
    match committer.begin_step(|| wall_ms, monotonic_ms)? {
        Begun::Stepped(step) => Ok(step),
        Begun::Syncs(job) => {
            assert!(sync.is_none(), "one sync at a time");
            *sync = Some((job, monotonic_ms));
            Ok(Step::Moved)
        }
    }
}

/// A connection to it.
struct Connection {
    session: Session,
    waits: bool,
    /// If sessions have precedence over others: where it stands.
    rank: Option<u8>,
    /// What was sent and not taken yet.
    input: Vec<u8>,
    answers: Vec<u8>,
}

/// An incarnation of the server.
pub struct Node {
    /// Directory, committer and snapshots.
    pub recovered: Recovered,
    /// A snapshot that is being written, and the record that it goes up to.
    pub writing: Option<(Box<Writing>, Index)>,
    worker: Worker,
    connections: Vec<Connection>,
    indexer: Indexer,
    indexes: IndexFile,
    /// The one that runs syncs beside the committer, if somebody does.
    syncs: Option<Beside>,
    data: Data,
}

impl Node {
    /// Recovers a directory and opens a session for each of `sessions` clients, bound as [`ROOT`].
    ///
    /// # Errors
    /// As [`Data::recover`].
    pub fn start(
        disk: Arc<dyn Disk>,
        dir: &Path,
        log: wal::Settings,
        seed: u64,
        sessions: usize,
        clock: &dyn Clock,
    ) -> Result<Node, DataError> {
        Node::start_with(disk, dir, log, StartOptions { seed, ..StartOptions::default() }, sessions, clock)
    }

    /// As [`Node::start`], with all that may be asked for.
    ///
    /// # Errors
    /// As [`Node::start`].
    pub fn start_with(
        disk: Arc<dyn Disk>,
        dir: &Path,
        log: wal::Settings,
        asked: StartOptions,
        sessions: usize,
        clock: &dyn Clock,
    ) -> Result<Node, DataError> {
        let (data, recovered) = recover_with(disk, dir, log, asked)?;
        Node::over(data, recovered, sessions, clock)
    }

    /// A server over a directory that was recovered, with sessions as above.
    ///
    /// # Errors
    /// When what is written down of indexes cannot be read.
    pub fn over(
        data: Data,
        recovered: Recovered,
        sessions: usize,
        clock: &dyn Clock,
    ) -> Result<Node, DataError> {
        let indexes = data.indexes()?;
        let indexer = Indexer::new(Arc::clone(&recovered.dsa), INDEX_STEP_KEYS);
        let mut worker = Worker::new(&recovered.dsa).expect("there are few readers");
        let connect = |_| Connection {
            session: Session::new(&mut worker),
            waits: false,
            rank: None,
            input: Vec::new(),
            answers: Vec::new(),
        };
        let connections = (0..sessions).map(connect).collect();
        let mut node =
            Node { recovered, writing: None, worker, connections, indexer, indexes, syncs: None, data };
        let mut bind = Bundle::default();
        bind.bind();
        for session in 0..sessions {
            node.send(session, &bind.bytes, clock);
            node.answers(session);
        }
        Ok(node)
    }

    /// The same with something else about what was recovered.
    #[must_use]
    pub fn map(self, change: impl FnOnce(Recovered) -> Recovered) -> Node {
        Node { recovered: change(self.recovered), ..self }
    }

    /// A session has precedence over those with a lower number.
    pub fn rank(&mut self, session: usize, number: u8) {
        self.connections[session].rank = Some(number);
    }

    /// Who updates is the root DN, in every session; so each has its precedence while it has its turn.
    fn put_precedence(&self, session: usize) {
        let Some(number) = self.connections[session].rank else { return };
        let mut chosen = settings().configured.transactions;
        chosen.precedence = vec![Precedence { number, dn: ROOT.to_owned() }];
        let dsa = &self.recovered.dsa;
        dsa.transactions().put(&chosen, dsa.shard().schema()).expect("the name is one");
    }

    /// A session that is idle is notified of transactions that the server gives up.
    pub fn notices(&mut self, session: usize, clock: &dyn Clock) {
        self.worker.tick(clock.now());
        let Connection { session, answers, .. } = &mut self.connections[session];
        if session.expects_notices() {
            session.poll_notices(&self.worker, &mut Context::from_waker(Waker::noop()), answers);
        }
    }

    /// Does a session wait for the log?
    pub fn waits(&self, session: usize) -> bool {
        self.connections[session].waits
    }

    /// Has a session bound?
    pub fn is_bound(&self, session: usize) -> bool {
        self.connections[session].session.is_bound()
    }

    /// A session gets bytes.
    pub fn send(&mut self, session: usize, bytes: &[u8], clock: &dyn Clock) {
        self.connections[session].input.extend_from_slice(bytes);
        self.go_on(session, clock);
    }

    /// A session goes on until it waits for the log or for bytes.
    pub fn go_on(&mut self, session: usize, clock: &dyn Clock) {
        self.worker.tick(clock.now());
        self.put_precedence(session);
        let Connection { session, waits, input, answers, .. } = &mut self.connections[session];
        loop {
            if *waits {
                let cx = &mut Context::from_waker(Waker::noop());
                if session.poll_updates(&mut self.worker, cx, answers).is_pending() {
                    return;
                }
                *waits = false;
            }
            let feed = session.feed(&mut self.worker, input, answers);
            input.drain(..feed.consumed);
            let mut state = feed.state;
            while state == State::Busy {
                state = session.step(&mut self.worker, answers);
            }
            *waits = state == State::Waiting;
            if input.is_empty() && !*waits {
                return;
            }
        }
    }

    /// The answers that a session has got since the last call.
    pub fn answers(&mut self, session: usize) -> Vec<Answer> {
        let bytes = std::mem::take(&mut self.connections[session].answers);
        let (mut rest, mut answers) = (&bytes[..], Vec::new());
        while let Ok(Frame::Complete { len }) = frame(rest) {
            answers.extend(Answer::age(&rest[..len]));
            answers.push(Answer::decode(&rest[..len]));
            rest = &rest[len..];
        }
        assert!(rest.is_empty(), "answers are whole");
        answers
    }

    /// The committer's turn, then that of sessions that got answers.
    ///
    /// # Errors
    /// When the log failed; those who waited were answered.
    pub fn step(&mut self, clock: &dyn Clock) -> Result<Step, Failed> {
        let monotonic_ms = clock.monotonic_ns() / 1_000_000;
        let stepped = match &mut self.syncs {
            None => self.recovered.committer.step(clock.wall_ms(), monotonic_ms),
            Some(beside) => {
                let committer = &mut self.recovered.committer;
                step_beside(committer, beside, clock.wall_ms(), monotonic_ms)
            }
        };
        for session in 0..self.connections.len() {
            if self.waits(session) {
                self.go_on(session, clock);
            }
        }
        stepped
    }

    /// From now on syncs take any time, while the committer goes on.
    pub fn sync_beside(&mut self, seed: u64) {
        self.syncs = Some(Beside { random: Random::new(seed), sync: None, slow_ms: 0 });
    }

    /// From now on such a sync takes so many milliseconds at least.
    pub fn slow_down_syncs(&mut self, slow_ms: u64) {
        self.syncs.iter_mut().for_each(|beside| beside.slow_ms = slow_ms);
    }

    /// Waits for the sync that is in progress, if one is.
    ///
    /// # Errors
    /// As [`Node::step`].
    pub fn end_sync(&mut self) -> Result<(), Failed> {
        let sync = self.syncs.as_mut().and_then(|beside| beside.sync.take());
        sync.map_or(Ok(()), |(job, _)| self.recovered.committer.end_step(job.run()).map(|_| ()))
    }

    /// What sends snapshots to other replicas and fetches theirs.
    pub fn transfer(&self, links: Box<dyn Links>) -> Transfer {
        self.data.transfer(links)
    }

    /// The turn of the one that builds, drops and verifies indexes.
    pub fn step_indexes(&mut self) -> Pace {
        self.indexer.step(&mut self.indexes)
    }

    /// Applies what a session that waits for nothing sends, updates too, and returns the answers.
    ///
    /// # Panics
    /// If the log fails.
    pub fn apply(&mut self, session: usize, sent: &Bundle, clock: &dyn Clock) -> Vec<Answer> {
        self.send(session, &sent.bytes, clock);
        while self.waits(session) {
            self.prepare_file();
            self.step(clock).expect("nothing fails");
        }
        self.answers(session)
    }

    /// What a session that waits for nothing asks for, and the answers, which come at once: no updates of the directory.
    pub fn ask(&mut self, session: usize, asked: &Bundle, clock: &dyn Clock) -> Vec<Answer> {
        self.send(session, &asked.bytes, clock);
        self.answers(session)
    }

    /// Prepares the next log file, if one is wanted.
    pub fn prepare_file(&self) -> bool {
        let log = self.recovered.committer.log();
        let Some(preparation) = log.wanted() else { return false };
        log.prepared(preparation.run());
        true
    }

    /// Last record of the log that was applied.
    pub fn applied(&self) -> u64 {
        self.recovered.committer.applied().0
    }

    /// All entries, as a session sees them.
    pub fn read_all(&mut self, session: usize, clock: &dyn Clock) -> Vec<Answer> {
        let mut bundle = Bundle::default();
        bundle.read_all();
        self.ask(session, &bundle, clock)
    }
}
