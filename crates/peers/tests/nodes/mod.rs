//! Nodes of a cluster on 127.0.0.1, each with a data directory of its own.
#![allow(dead_code, reason = "each file of tests uses some of it")]

use bytes::Bytes;
use consensus::links::{Channel, Links};
use consensus::{Extent, ReplicaId};
use env::disk::RealDisk;
use env::entropy::SystemEntropy;
use peers::{
    Address, Authority, Caller, Identity, JoinAnswer, JoinRequest, Member, NodeKey, NotDone, Options, Peers,
    Seen, Service, Token, folder,
};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long a condition is awaited.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Waits until something holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::yield_now();
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

pub(crate) fn address(socket: SocketAddr) -> Address {
    Address::parse(&socket.to_string()).unwrap()
}

/// Answers commands with what they say and who says it; gives the next number to each key that joins.
pub(crate) struct Echo {
    authority: Arc<Authority>,
    joined: Mutex<BTreeMap<Vec<u8>, JoinAnswer>>,
    /// How the next joins are refused.
    pub(crate) refusals: Mutex<VecDeque<NotDone>>,
    /// Is the command `hold` executed? It ends when this is taken back.
    pub(crate) held: AtomicBool,
}

impl Service for Echo {
    fn join(&self, token: &Token, request: JoinRequest) -> Result<JoinAnswer, NotDone> {
        if let Some(refusal) = self.refusals.lock().unwrap().pop_front() {
            return Err(refusal);
        }
        let mut joined = self.joined.lock().unwrap();
        if let Some(answer) = joined.get(&request.request) {
            return Ok(answer.clone());
        }
        if request.version == "used" {
            return Err(format!("the token {} was used", &token.name()[..2]).into());
        }
        let node = 10 + joined.len() as u64;
        let certificate = self.authority.issue(&request.request, node, now_s(), &mut SystemEntropy);
        let certificate = certificate.map_err(|error| error.to_string())?;
        let answer = JoinAnswer::new(&self.authority, node, certificate, vec![7; 1 << 20]);
        joined.insert(request.request, answer.clone());
        Ok(answer)
    }

    fn command(&self, from: Caller, body: &[u8]) -> Vec<u8> {
        if body == b"hold" {
            self.held.store(true, Ordering::SeqCst);
            while self.held.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
        }
        [format!("{}: ", from.node).as_bytes(), body].concat()
    }
}

/// A node that runs.
pub(crate) struct Node {
    pub(crate) id: u64,
    pub(crate) dir: PathBuf,
    pub(crate) peers: Peers,
    pub(crate) service: Arc<Echo>,
    pub(crate) member: Member,
    pub(crate) consensus: Box<dyn Links>,
    pub(crate) updates: Box<dyn Links>,
    pub(crate) files: Box<dyn Links>,
    woken: Arc<(Mutex<u64>, Condvar)>,
    /// How far its disk goes.
    pub durable: Arc<Mutex<Extent>>,
}

/// Makes the files of a node.
pub(crate) fn create(data: &Path, authority: &Authority, id: u64) -> PathBuf {
    let dir = folder(data);
    let key = NodeKey::load_or_make(&RealDisk, &dir).unwrap();
    let certificate = authority.issue(&key.request(), id, now_s(), &mut SystemEntropy).unwrap();
    Identity::create(&RealDisk, &dir, authority, key, certificate, [Vec::new(), Vec::new()]).unwrap();
    dir
}

impl Node {
    pub(crate) fn start(dir: &Path, authority: &Arc<Authority>, listen: SocketAddr) -> Node {
        Node::start_from(dir, authority, listen, Extent::default())
    }

    /// As the node starts whose disk goes so far.
    pub(crate) fn start_from(
        dir: &Path,
        authority: &Arc<Authority>,
        listen: SocketAddr,
        extent: Extent,
    ) -> Node {
        let boot = Identity::boot(&RealDisk, dir, &mut SystemEntropy).unwrap();
        let (id, certificates) = (boot.identity.node(), vec![boot.identity.holder().fingerprint]);
        let woken: Arc<(Mutex<u64>, Condvar)> = Arc::default();
        let of_wake = Arc::clone(&woken);
        let service = Arc::new(Echo {
            authority: Arc::clone(authority),
            joined: Mutex::default(),
            refusals: Mutex::default(),
            held: AtomicBool::default(),
        });
        let options = Options {
            listen: vec![listen],
            boot,
            authority: Some(Arc::clone(authority)),
            seen: Seen::load(Arc::new(RealDisk), dir.to_owned()).unwrap(),
            service: Arc::clone(&service) as Arc<dyn Service>,
            wake: Arc::new(move || {
                *of_wake.0.lock().unwrap() += 1;
                of_wake.1.notify_all();
            }),
        };
        let peers = Peers::start(options).unwrap();
        let durable = Arc::new(Mutex::new(extent));
        let of_peers = Arc::clone(&durable);
        peers.begin(Arc::new(move || *of_peers.lock().unwrap()));
        let member = Member { id, addresses: vec![address(peers.addresses()[0])], certificates };
        let [consensus, updates, files] =
            [Channel::Consensus, Channel::Updates, Channel::Files].map(|channel| peers.links(channel));
        Node { id, dir: dir.to_owned(), peers, service, member, consensus, updates, files, woken, durable }
    }

    pub(crate) fn socket(&self) -> SocketAddr {
        self.peers.addresses()[0]
    }

    pub(crate) fn address(&self) -> Address {
        address(self.socket())
    }

    /// How many messages came in so far.
    pub(crate) fn came(&self) -> u64 {
        *self.woken.0.lock().unwrap()
    }

    pub(crate) fn links(&mut self, channel: Channel) -> &mut Box<dyn Links> {
        match channel {
            Channel::Consensus => &mut self.consensus,
            Channel::Updates => &mut self.updates,
            Channel::Files => &mut self.files,
        }
    }

    /// The next message of a channel, which is awaited.
    pub(crate) fn next(&mut self, channel: Channel) -> (ReplicaId, Bytes) {
        let begun = Instant::now();
        loop {
            let count = *self.woken.0.lock().unwrap();
            if let Some(message) = self.links(channel).receive() {
                return message;
            }
            assert!(begun.elapsed() < PATIENCE, "a message of {channel:?} comes to node {}", self.id);
            let guard = self.woken.0.lock().unwrap();
            let wait = |now: &mut u64| *now == count;
            drop(self.woken.1.wait_timeout_while(guard, PATIENCE, wait).unwrap());
        }
    }

    /// Is it linked to a node, in both directions?
    pub(crate) fn is_linked(&self, to: u64) -> bool {
        self.peers.status().iter().any(|link| {
            link.node == to
                && link.sends_messages
                && link.receives_messages
                && link.sends_files
                && link.receives_files
        })
    }
}

/// Some nodes of one cluster that know each other.
pub(crate) struct Cluster {
    pub(crate) authority: Arc<Authority>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) data: tempfile::TempDir,
}

impl Cluster {
    pub(crate) fn start(count: u64) -> Cluster {
        let authority = Arc::new(Authority::new(now_s(), &mut SystemEntropy).unwrap());
        let data = tempfile::tempdir().unwrap();
        let node = |id: u64| {
            let dir = create(&data.path().join(id.to_string()), &authority, id);
            Node::start(&dir, &authority, "127.0.0.1:0".parse().unwrap())
        };
        let nodes = (1..=count).map(node).collect();
        let cluster = Cluster { authority, nodes, data };
        cluster.introduce();
        cluster.until_linked();
        cluster
    }

    pub(crate) fn members(&self) -> Vec<Member> {
        self.nodes.iter().map(|node| node.member.clone()).collect()
    }

    /// Makes the nodes known to each other.
    pub(crate) fn introduce(&self) {
        let members = self.members();
        self.nodes.iter().for_each(|node| node.peers.set_members(&members));
    }

    pub(crate) fn until_linked(&self) {
        let pairs = || self.nodes.iter().flat_map(|one| self.nodes.iter().map(move |two| (one, two)));
        until("all nodes are linked", || pairs().all(|(one, two)| one.id == two.id || one.is_linked(two.id)));
    }

    /// Messages go through from each node to each.
    pub(crate) fn check(&mut self) {
        for from in 0..self.nodes.len() {
            for to in 0..self.nodes.len() {
                if from == to {
                    continue;
                }
                let id = ReplicaId(self.nodes[to].id);
                let said = format!("{from} to {to}").into_bytes();
                self.nodes[from].consensus.send(id, said.clone());
                let came = self.nodes[to].next(Channel::Consensus);
                assert_eq!(came, (ReplicaId(self.nodes[from].id), Bytes::from(said)));
            }
        }
    }
}
