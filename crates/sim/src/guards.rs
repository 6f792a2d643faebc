//! How simulated replicas know one whose disk was set back. Each start is counted on the disk of the replica, and each link begins with hellos of both
//! ends, as between servers. What is admitted, and what is kept of that, is decided by the product's [`Seen`].

use crate::disk::SimDisk;
use consensus::{Control, Extent, ReplicaId};
use env::disk::{Disk as _, replace_file};
use env::entropy::SeededEntropy;
use peers::hello::{Class, Hello, VERSION};
use peers::{ClusterId, FileError, NotAdmitted, RunId, Runs, Seen, folder};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The file with the number of starts of a replica and the names of its last runs. A server has them in a file with names and addresses, which replicas
/// have none of.
const STARTS: &str = "starts";
/// The file of what was seen: `docs/formats/peers.md`.
const SEEN: &str = "seen";
const CLUSTER: ClusterId = ClusterId([1; 16]);
/// Nanoseconds that it takes to say what nodes have acknowledged.
const SAY_NS: u64 = 500_000;

/// From a replica to another.
pub(crate) type Way = (ReplicaId, ReplicaId);

/// What a process of a replica says of itself and knows of the others.
pub(crate) struct Guard {
    disk: SimDisk,
    seen: Seen,
    own: Hello,
    /// How far its disk goes. One that fetches its first snapshot has nothing.
    control: Option<Control>,
}

/// What a leader says of the disks of all.
struct Said {
    /// When it comes.
    at_ns: u64,
    term: u64,
    /// Pairs of replica and last entry.
    indexes: Vec<(u64, u64)>,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Guards {
    of: BTreeMap<ReplicaId, Guard>,
    /// Replicas that stand still: they answer nothing.
    still: BTreeSet<ReplicaId>,
    /// Links that have begun.
    links: BTreeSet<Way>,
    /// What leaders have said and others have not heard.
    said: BTreeMap<Way, Said>,
    /// Replicas whose disks were set back.
    set_back: BTreeSet<ReplicaId>,
    /// Replicas that could not write what they have seen, and have not since: power may take some of it.
    unsure: BTreeSet<ReplicaId>,
    /// Who has admitted whom of those whose disks were set back.
    admitted: BTreeSet<Way>,
    /// Links that were refused to such.
    refused: u64,
    /// A replica was refused whose disk was not set back.
    wrong: Option<String>,
}

impl std::fmt::Debug for Guards {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guards").field("links", &self.links).finish_non_exhaustive()
    }
}

impl Guard {
    /// Counts a start of a replica, durably, and reads what it has seen of others. `run` decides the name of the run.
    ///
    /// # Errors
    /// What the disk says, or a file is damaged.
    pub(crate) fn start(disk: &SimDisk, data: &Path, id: ReplicaId, run: u64) -> Result<Guard, FileError> {
        let dir = folder(data);
        let (boots, earlier) = starts(disk, data)?;
        let (boots, run) = (boots + 1, RunId::random(&mut SeededEntropy::new(run)));
        disk.create_dir(&dir)?;
        let names = earlier.with(run).names().iter().map(RunId::to_string).collect::<Vec<_>>();
        replace_file(disk, &dir, STARTS, format!("{boots} {}", names.join(" ")).as_bytes())?;
        disk.sync_dir(&dir)?;
        let own = Hello {
            version: VERSION,
            class: Class::Messages,
            cluster: CLUSTER,
            node: id.0,
            boots,
            run,
            extent: Extent::default(),
            earlier,
        };
        Ok(Guard { disk: disk.clone(), seen: Seen::load(Arc::new(disk.clone()), dir)?, own, control: None })
    }

    /// The same of one that has a log.
    pub(crate) fn with(self, control: Option<Control>) -> Guard {
        Guard { control, ..self }
    }

    fn hello(&self) -> Hello {
        let extent = self.control.as_ref().map(|control| control.view().durable);
        Hello { extent: extent.unwrap_or_default(), ..self.own }
    }
}

impl Guards {
    /// A process of a replica has begun.
    pub(crate) fn begin(&mut self, guard: Guard) {
        let id = ReplicaId(guard.own.node);
        self.on_end_of(id);
        self.of.insert(id, guard);
    }

    /// It has ended.
    pub(crate) fn on_end_of(&mut self, id: ReplicaId) {
        self.of.remove(&id);
        self.links.retain(|(from, to)| *from != id && *to != id);
        self.said.retain(|(from, to), _| *from != id && *to != id);
    }

    /// Its machine has lost its power: what its disk has is durable.
    pub(crate) fn on_power_loss_of(&mut self, id: ReplicaId) {
        self.unsure.remove(&id);
    }

    /// Its disk was set back.
    pub(crate) fn on_set_back(&mut self, id: ReplicaId) {
        self.set_back.insert(id);
        self.admitted.retain(|(_, of)| *of != id);
    }

    /// These stand still.
    pub(crate) fn stand_still(&mut self, still: BTreeSet<ReplicaId>) {
        self.still = still;
    }

    /// A link breaks.
    pub(crate) fn break_link(&mut self, way: Way) {
        self.links.remove(&way);
        self.said.remove(&way);
    }

    /// What the sender has said of itself, if there is a link, or one can be made: that needs both ends.
    pub(crate) fn link(&mut self, way: Way, is_cut: bool) -> Option<Hello> {
        let (from, to) = way;
        let [sender, receiver] = [self.of.get(&from)?, self.of.get(&to)?];
        if self.links.contains(&way) {
            return Some(sender.own);
        }
        if is_cut || self.still.contains(&to) {
            return None;
        }
        let (own, answer) = (sender.hello(), receiver.hello());
        if !self.admits(to, &own) || !self.admits(from, &answer) {
            return None;
        }
        self.links.insert(way);
        Some(own)
    }

    /// Does a replica admit another one?
    fn admits(&mut self, at: ReplicaId, hello: &Hello) -> bool {
        let Some(guard) = self.of.get(&at) else { return false };
        let (of, before) = (ReplicaId(hello.node), guard.disk.operations());
        match guard.seen.admit(hello) {
            Ok(()) => {
                if guard.disk.operations() > before {
                    self.unsure.remove(&at);
                }
                if self.set_back.contains(&of) {
                    self.admitted.insert((at, of));
                }
                true
            }
            Err(NotAdmitted::NotRecorded(_)) => {
                self.unsure.insert(at);
                false
            }
            Err(NotAdmitted::Stranger(why)) => {
                match self.set_back.contains(&of) {
                    true => self.refused += 1,
                    // Who has forgotten what it saw refuses fewer, not more.
                    false => {
                        _ = self.wrong.get_or_insert_with(|| format!("replica {at} refuses {of}: {why}"))
                    }
                }
                false
            }
        }
    }

    /// Is it the run of a replica that another one has seen last?
    pub(crate) fn is_last(&self, at: ReplicaId, hello: &Hello) -> bool {
        self.of.get(&at).is_some_and(|guard| guard.seen.is_last(hello))
    }

    /// A leader says what the disks of all have, over the links that there are.
    pub(crate) fn say(&mut self, from: ReplicaId, now_ns: u64, term: u64, indexes: &[(u64, u64)]) {
        self.of.get(&from).iter().for_each(|guard| guard.seen.acknowledge(term, indexes));
        for way in self.links.iter().filter(|way| way.0 == from) {
            self.said.insert(*way, Said { at_ns: now_ns + SAY_NS, term, indexes: indexes.to_vec() });
        }
    }

    /// A replica hears what has come by now of what leaders said.
    pub(crate) fn hear(&mut self, to: ReplicaId, now_ns: u64) {
        let Guards { of, said, .. } = self;
        let Some(guard) = of.get(&to) else { return };
        said.retain(|way, Said { at_ns, term, indexes }| {
            let has_come = way.1 == to && *at_ns <= now_ns;
            if has_come {
                guard.seen.acknowledge(*term, indexes);
            }
            !has_come
        });
    }

    /// A replica writes what it has seen. What fails is tried again.
    pub(crate) fn save(&mut self, at: ReplicaId) {
        let Some(guard) = self.of.get(&at) else { return };
        let before = guard.disk.operations();
        match guard.seen.save() {
            Err(_) => _ = self.unsure.insert(at),
            Ok(()) if guard.disk.operations() > before => _ = self.unsure.remove(&at),
            Ok(()) => {}
        }
    }

    /// May power take some of what the file of a replica has?
    pub(crate) fn is_unsure(&self, id: ReplicaId) -> bool {
        self.unsure.contains(&id)
    }

    /// Who has admitted a replica since its disk was set back.
    pub(crate) fn admitted(&self, of: ReplicaId) -> Vec<ReplicaId> {
        self.admitted.iter().filter(|way| way.1 == of).map(|way| way.0).collect()
    }

    /// Links that were refused to replicas whose disks were set back.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    /// A replica was refused whose disk was not set back.
    pub(crate) fn wrong(&self) -> Option<String> {
        self.wrong.clone()
    }
}

/// How often a replica was started, by its disk, and its last runs.
///
/// # Errors
/// What the disk says, or the file is of something else.
pub(crate) fn starts(disk: &SimDisk, data: &Path) -> Result<(u64, Runs), FileError> {
    let Some(text) = text(disk, &folder(data), STARTS) else { return Ok(Default::default()) };
    let mut words = text.split(' ');
    let boots = words.next().and_then(|word| word.parse().ok());
    let runs = words.map(RunId::parse).collect::<Option<Vec<_>>>().and_then(|names| Runs::of(&names));
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "the number of starts is none");
    Ok(boots.zip(runs).ok_or_else(wrong)?)
}

/// What the file of a disk says of another replica: its starts, and how far its disk goes at least. It is read here by itself: what a world
/// expects does not hang on the code that it tests.
pub(crate) fn seen_of(disk: &SimDisk, data: &Path, id: ReplicaId) -> Option<(u64, Extent)> {
    let text = text(disk, &folder(data), SEEN)?;
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("node {id} boots ")))?;
    let words: Vec<&str> = line.split(' ').collect();
    let [boots, _, _, _, term, _, index] = words[..] else { return None };
    Some((boots.parse().ok()?, Extent { term: term.parse().ok()?, index: index.parse().ok()? }))
}

fn text(disk: &SimDisk, dir: &Path, name: &str) -> Option<String> {
    String::from_utf8(disk.bytes(&dir.join(name))?).ok()
}
