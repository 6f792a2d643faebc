//! Serving a node of a cluster: how a directory becomes the first node, how another joins, and every start of one.

use crate::failed::Failed;
use crate::output::{note, print_ready};
use crate::progress::RecoveryBar;
use crate::serve_data::{self, open, refused, with_wanted};
use crate::start::{cannot_serve, fits};
use crate::versions::{self, VERSIONS};
use clap::Args as ClapArgs;
use consensus::links::Channel;
use consensus::{Extent, Members, ReplicaId, Retention, WantedSnapshot};
use dsa::reads::WithoutQuorum;
use env::clock::{Clock as _, SystemClock};
use env::disk::{RealDisk, replace_file};
use env::entropy::{Entropy as _, SystemEntropy};
use env::net;
use env::poll::pause;
use node::data::{Data, Recovered, Replication, Settled};
use node::transfer::Progress;
use peers::{Address, Authority, Boot, Identity, JoinRequest, Listens, NodeKey, Options, Peers, Seen, Token};
use schema::Schema;
use server::cluster::{Beside, Facts, JoinBody, Node};
use server::config::{Config, Listener};
use server::{Ended, Endpoints, Logged, directory};
use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use wal::{Index, Position};

/// The file in which a node that joins keeps what the cluster has answered, until it has a snapshot.
const JOINED: &str = "joined";
/// What begins the address that clients are given.
const CLIENTS: &str = "ldap://";
/// Between two looks at what was fetched.
const LOOK: Duration = Duration::from_millis(2);
/// A new fetch begins after one that failed.
const AGAIN: Duration = Duration::from_secs(1);

/// What makes a server a node of a cluster.
#[derive(ClapArgs, Default)]
pub(crate) struct NodeArgs {
    /// Address for the other nodes of the cluster; may be given several times. Later starts know it, as they know --listen
    #[arg(long, value_name = "HOST:PORT")]
    peer: Vec<String>,

    /// Make the directory in --data, new or not, the first node of a new cluster
    #[arg(long, conflicts_with = "join")]
    init_cluster: bool,

    /// Join the cluster that made the token in FILE (`pando cluster token`), with a new directory in --data
    #[arg(long, value_name = "FILE")]
    join: Option<PathBuf>,

    /// Where clients reach this node, if not where it listens
    #[arg(long, value_name = "URL")]
    advertise: Vec<String>,

    /// Seconds for which certificates are valid that this process issues: to see renewals without waiting for half a year
    #[arg(long, value_name = "SECONDS", hide = true)]
    certificate_valid: Option<u64>,

    /// Where other nodes reach this one, if not at --peer
    #[arg(long, value_name = "HOST:PORT")]
    peer_advertise: Vec<String>,
}

impl NodeArgs {
    /// Does this start make a node, or a directory that is one?
    pub(crate) fn is_asked(&self) -> bool {
        self.init_cluster || self.join.is_some() || !self.peer.is_empty()
    }

    /// Does this start get its directory from others?
    pub(crate) fn joins(&self) -> bool {
        self.join.is_some()
    }

    /// The CA, which issues certificates as this start asks.
    fn issuing(&self, authority: Authority) -> Authority {
        match self.certificate_valid {
            Some(seconds) => authority.valid_for(seconds),
            None => authority,
        }
    }

    /// What is wrong with them, and with the addresses of `config` beside them.
    pub(crate) fn faults(&self, config: &Config) -> Vec<String> {
        let mut faults = Vec::new();
        for (flag, texts, scheme) in [
            ("peer", &self.peer, ""),
            ("peer-advertise", &self.peer_advertise, ""),
            ("advertise", &self.advertise, CLIENTS),
        ] {
            for text in texts {
                match text.strip_prefix(scheme).and_then(Address::parse) {
                    None => faults.push(format!("--{flag}: `{text}` is not {scheme}HOST:PORT")),
                    Some(address) if is_wide(&address) && flag != "peer" => {
                        faults.push(format!("--{flag}: `{text}` says nothing of where this node is reached"));
                    }
                    Some(_) => {}
                }
            }
        }
        let is_new = self.init_cluster || self.join.is_some();
        let elsewhere = "an address that is reached from elsewhere must be named by";
        if self.peer_advertise.is_empty() && self.peers().iter().any(is_wide) {
            faults.push(format!("--peer: {elsewhere} --peer-advertise"));
        }
        // A later start keeps the address that is known.
        let is_later = config.data.as_deref().is_some_and(is_node);
        if is_new && !is_later && self.addresses(config)[1].iter().any(is_wide) {
            faults.push(format!("--listen: {elsewhere} --advertise"));
        }
        if is_new && !is_later && self.peer.is_empty() {
            faults.push("--peer is missing: where do other nodes reach this one?".to_owned());
        }
        faults
    }

    /// Where it is to listen for other nodes.
    fn peers(&self) -> Vec<Address> {
        self.peer.iter().filter_map(|text| Address::parse(text)).collect()
    }

    fn addresses(&self, config: &Config) -> [Vec<Address>; 2] {
        let parse = |texts: &[String]| -> Vec<Address> {
            let stripped = texts.iter().map(|text| text.strip_prefix(CLIENTS).unwrap_or(text));
            stripped.filter_map(Address::parse).collect()
        };
        let peer = if self.peer_advertise.is_empty() { &self.peer } else { &self.peer_advertise };
        // One that speaks TLS from the first byte, or listens to a load balancer, is none of these.
        let is_open = |listener: &Listener| !listener.url.is_tls() && listener.proxy.is_empty();
        let listen = || {
            let listeners = config.listeners().into_iter().filter(is_open);
            listeners.map(|listener| listener.url.to_string()).collect::<Vec<_>>()
        };
        let ldap = if self.advertise.is_empty() { parse(&listen()) } else { parse(&self.advertise) };
        [parse(peer), ldap]
    }

    /// The addresses of a node that has some: those that this start names, else the ones that it had. That it listens everywhere says
    /// nothing of where it is reached.
    fn later_addresses(&self, config: &Config, identity: &Identity) -> [Vec<Address>; 2] {
        let [mut peer, mut ldap] = self.addresses(config);
        if self.advertise.is_empty() {
            ldap.retain(|address| names_listener(config) && !is_wide(address));
        }
        if peer.is_empty() {
            peer = identity.peer_addresses().to_vec();
        }
        if ldap.is_empty() {
            ldap = identity.ldap_addresses().to_vec();
        }
        [peer, ldap]
    }

    /// Where it listens, for a later start that does not say it.
    fn listens(&self, config: &Config, identity: &Identity) -> Listens {
        let named = self.peers();
        Listens {
            peer: if named.is_empty() { identity.listens().peer.clone() } else { named },
            clients: config.listeners_as_said().map(|listener| listener.to_string()).collect(),
        }
    }
}

/// Is this every address of a machine?
fn is_wide(address: &Address) -> bool {
    ["0.0.0.0", "::"].contains(&address.host())
}

/// Is there the directory of a node?
pub(crate) fn is_node(dir: &Path) -> bool {
    dir.is_dir() && Identity::exists(&RealDisk, dir).unwrap_or(false)
}

/// Does a start say where it listens for clients?
pub(crate) fn names_listener(config: &Config) -> bool {
    ["listen", "listener"].iter().any(|key| config.given.contains_key(key))
}

/// A node listens for clients where it did when it was started last. An earlier program has recorded only where it is reached.
pub(crate) fn listen_as_before(config: &mut Config, dir: &Path) {
    let Ok(identity) = Identity::load(&RealDisk, &peers::folder(dir)) else { return };
    let reached = || identity.ldap_addresses().iter().map(|address| format!("url={CLIENTS}{address}"));
    let recorded = match &identity.listens().clients[..] {
        [] => reached().collect(),
        recorded => recorded.to_vec(),
    };
    let listeners: Vec<Listener> = recorded.iter().filter_map(|text| Listener::parse(text).ok()).collect();
    let is_plain = |listener: &Listener| *listener == Listener::of(&listener.url);
    (config.listen, config.listener) = match listeners.iter().all(is_plain) {
        true => (listeners.into_iter().map(|listener| listener.url).collect(), Vec::new()),
        false => (Vec::new(), listeners),
    };
}

pub(crate) fn at_cluster(error: impl ToString) -> Failed {
    Failed::at("the cluster", error.to_string())
}

/// Serves the directory in `dir` as a node. It is made one first, if this start is to do that.
pub(crate) fn serve(
    args: &NodeArgs,
    config: &Config,
    dir: &Path,
    endpoints: Endpoints,
    clock: &SystemClock,
) -> Result<(), Failed> {
    if config.sync != wal::Mode::Always {
        let text = "--sync: a node of a cluster syncs what it answers: leave it at `always`";
        return Err(Failed::configured([text]));
    }
    config.not_of_a_cluster().map_or(Ok(()), |text| Err(Failed::configured([text])))?;
    if !config.import.is_empty() {
        return Err(Failed::at(
            "--import",
            "fill the directory first, then make it a node; or load into the cluster",
        ));
    }
    if !is_node(dir) {
        match &args.join {
            Some(token) => join(args, config, dir, token)?,
            None if args.init_cluster => {}
            None => {
                return Err(Failed::at(
                    "--peer",
                    "this directory belongs to no cluster: --init-cluster makes one of it, --join makes it a node of another",
                ));
            }
        }
    }
    if args.init_cluster {
        init(args, config, dir, clock)?;
    }
    serve_node(args, config, dir, endpoints, clock)
}

/// Makes a directory the first node of a new cluster. What is done already is left as it is.
fn init(args: &NodeArgs, config: &Config, dir: &Path, clock: &SystemClock) -> Result<(), Failed> {
    let folder = peers::folder(dir);
    let data = open(dir, refused)?;
    if data.members().map_err(refused)?.is_some() {
        return Ok(());
    }
    let addresses = args.addresses(config);
    // Before anything is made of it: the directory of a node cannot be served alone any more.
    serve_data::may_replicate(config, &data)?;
    if !is_node(dir) {
        found(&folder, addresses.clone(), clock.wall_ms() / 1000)?;
    }
    let identity = Identity::load(&RealDisk, &folder).map_err(at_cluster)?;
    if identity.node() != 1 {
        return Err(Failed::at(
            "--init-cluster",
            "this directory belongs to a node that joins another cluster",
        ));
    }
    let members = alone(&identity, addresses);
    serve_data::replicate(config, &data, clock, members)?;
    note!("pando serve: this is node 1 of a new cluster; `pando cluster token` makes tokens for others");
    Ok(())
}

/// Makes node 1 of a new cluster, with a CA of its own, in a folder for that.
pub(crate) fn found(folder: &Path, addresses: [Vec<Address>; 2], now_s: u64) -> Result<Identity, Failed> {
    let authority = Authority::new(now_s, &mut SystemEntropy).map_err(at_cluster)?;
    let key = NodeKey::load_or_make(&RealDisk, folder).map_err(at_cluster)?;
    let certificate = authority.issue(&key.request(), 1, now_s, &mut SystemEntropy).map_err(at_cluster)?;
    Identity::create(&RealDisk, folder, &authority, key, certificate, addresses).map_err(at_cluster)
}

/// The members of a cluster that has node 1 alone.
pub(crate) fn alone(identity: &Identity, [peer, ldap]: [Vec<Address>; 2]) -> Members {
    let certificate = Some(identity.holder().fingerprint);
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let until_s = server::cluster::until_s(identity.certificate());
    let newest = Some(VERSIONS.newest);
    let facts = Facts { peer, ldap, certificate, until_s, version, newest, ..Facts::default() };
    let mut members = Members::of_voters([ReplicaId(1)]);
    members.facts.insert(ReplicaId(1), facts.encode());
    members
}

/// Asks the cluster to take this node, and keeps what it answers.
fn join(args: &NodeArgs, config: &Config, dir: &Path, token: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(token).map_err(|error| Failed::at(token.display(), error))?;
    let token = Token::parse_given(&text).map_err(|error| Failed::at(token.display(), error))?;
    let data = open(dir, refused)?;
    if serve_data::is_made(dir) && data.has_snapshot().map_err(refused)? {
        return Err(Failed::at("--join", "this directory has entries: a node that joins begins with none"));
    }
    // A node that cannot listen for others is not to become a member.
    for address in resolved(&args.peers())? {
        TcpListener::bind(address).map_err(|error| Failed::at(format!("--peer {address}"), error))?;
    }
    let folder = peers::folder(dir);
    let key = NodeKey::load_or_make(&RealDisk, &folder).map_err(at_cluster)?;
    let [peer_addresses, ldap_addresses] = args.addresses(config);
    let addresses = [peer_addresses.clone(), ldap_addresses.clone()];
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let behaviours = (VERSIONS.oldest, VERSIONS.newest);
    let request = JoinRequest { request: key.request(), peer_addresses, ldap_addresses, version, behaviours };
    let answer = peers::client::join(&token, &request).map_err(|error| Failed::at("--join", error))?;
    let body = JoinBody::decode(&answer.body).map_err(|error| Failed::at("--join", error))?;
    data.join(&body.files).map_err(refused)?;
    replace_file(&RealDisk, &folder, JOINED, &answer.body).map_err(at_cluster)?;
    let authority = answer.to_authority().map_err(at_cluster)?;
    // From here on it is a node.
    Identity::create(&RealDisk, &folder, &authority, key, answer.certificate, addresses)
        .map_err(at_cluster)?;
    note!("pando serve: this is node {} of the cluster", answer.node);
    Ok(())
}

/// Starts a node: its links, its replica, its directory.
fn serve_node(
    args: &NodeArgs,
    config: &Config,
    dir: &Path,
    mut endpoints: Endpoints,
    clock: &SystemClock,
) -> Result<(), Failed> {
    // Later its file may be another one.
    let program = std::env::current_exe().map_err(|error| Failed::at("the program", error))?;
    let folder = peers::folder(dir);
    let log = wal::Settings { mode: config.sync, ..wal::Settings::default() };
    let data = Data::open_replica(Arc::new(RealDisk), dir, log, &mut SystemEntropy);
    let data = data.map(versions::known).map_err(refused)?;
    serve_data::warn_if_open_to_others(&data)?;
    let authority = Arc::new(args.issuing(Authority::load(&RealDisk, &folder).map_err(at_cluster)?));
    let mut identity = Identity::load(&RealDisk, &folder).map_err(at_cluster)?;
    let addresses = args.later_addresses(config, &identity);
    let listens = args.listens(config, &identity);
    if addresses != [identity.peer_addresses(), identity.ldap_addresses()] || listens != *identity.listens() {
        identity.advertise(&RealDisk, &folder, addresses, listens).map_err(at_cluster)?;
    }
    let boot = Identity::boot(&RealDisk, &folder, &mut SystemEntropy).map_err(at_cluster)?;
    let listen = listen(&boot)?;
    let own = Identity::load(&RealDisk, &folder).map_err(at_cluster)?;
    let files = data.join_files().map_err(refused)?;
    let node = Arc::new(Node::new(own, Arc::clone(&authority), (files, data.versions()), *clock));
    let of_links = Arc::downgrade(&node);
    let wake = Arc::new(move || of_links.upgrade().iter().for_each(|node| node.wake()));
    let service = Arc::clone(&node);
    let seen = Seen::load(Arc::new(RealDisk), folder.clone()).map_err(at_cluster)?;
    let links = Peers::start(Options { listen, boot, authority: Some(authority), seen, service, wake });
    let links = links.map_err(|error| Failed::at("--peer", error))?;
    let transfer = data.transfer(links.links(Channel::Files));
    let Some(members) = data.members().map_err(refused)? else {
        if data.has_snapshot().map_err(refused)? {
            let text = "it is not a node yet: start it with --init-cluster again";
            return Err(Failed::at(dir.display(), text));
        }
        // It has joined, and has no snapshot yet.
        fetch_first(&joined(&folder)?, node.id().0, &links, transfer, clock)?;
        drop((links, data, endpoints));
        return Err(again(&program));
    };
    if folder.join(JOINED).exists() {
        links.set_joined(joined(&folder)?.members);
    }
    links.set_members(&node.linked(&members));
    let (mut config, own) = serve_data::take_own(config, &data, clock, true)?;
    // It may have been changed before this was a node.
    config.not_of_a_cluster().map_or(Ok(()), |text| Err(Failed::configured([text])))?;
    let mut auditor = serve_data::auditor(&config, &own, &data, clock)?;
    endpoints.own = own;
    data.made().map_err(refused)?.iter().for_each(|made| config.take_rules(made));
    let schema = schema(&config, &data)?;
    let (config, recovered) = take_up(config, &data, &schema, clock, node.id(), &links)?;
    if let Some(auditor) = &mut auditor {
        let started_ms = recovered.dsa.config().started_ms;
        // Its log is applied when it is known to be committed, so the file may be ahead of the directory. What was applied before is on this disk.
        let on_disk = recovered.control.as_ref().map_or(0, |control| control.view().started.index);
        let last = recovered.committer.applied().0.max(on_disk);
        auditor.recovered(recovered.dsa.shard().schema(), last, started_ms);
    }
    endpoints.auditor = auditor;
    let Recovered { dsa, committer, mut snapshots, control, .. } = recovered;
    serve_data::archive(&config, &mut snapshots)?;
    let seed = SystemEntropy.next_u64();
    let committer = committer.forwarding(node.id(), links.links(Channel::Updates), seed);
    let control = control.expect("a replica has one");
    let durable = control.clone();
    links.begin(Arc::new(move || durable.view().durable));
    let reads_alone = move || dsa.without_quorum() == WithoutQuorum::Read;
    node.begin(control, Arc::clone(committer.queue()), Box::new(reads_alone));
    let indexes = data.indexes().map_err(refused)?;
    let beside = Some(Beside { node, folder, links, transfer });
    let logged = Logged { committer, snapshots, indexes, beside };
    let served = server::serve_logged(logged, endpoints, config.options, print_ready);
    match served.map_err(cannot_serve)? {
        Ended::Over => Ok(()),
        Ended::Again => {
            drop(data);
            Err(again(&program))
        }
    }
}

/// The schema of a node: that of the cluster, whatever this program has in the files that are built in.
fn schema(config: &Config, data: &Data) -> Result<Arc<Schema>, Failed> {
    // What was added to that of the cluster may be in a file of this program by now, in another form.
    let named = Config { added_schema: None, ..config.clone() };
    let named = directory::schema(&named).map_err(Failed::configured)?;
    let schema = data.replica_schema(&Arc::new(named)).map_err(refused)?;
    directory::warnings(&schema).iter().for_each(|warning| note!("pando serve: {warning}"));
    fits(config, &schema)?;
    Ok(schema)
}

/// Recovers the replica. Settings are those of the cluster: a start has none of its own but those of its machine.
fn take_up(
    mut config: Config,
    data: &Data,
    schema: &Arc<Schema>,
    clock: &SystemClock,
    id: ReplicaId,
    links: &Peers,
) -> Result<(Config, Recovered), Failed> {
    let file = data.settings().map_err(refused)?;
    let (before, mut record) = (file.record(), file.record());
    let settled = config.settle(&mut record, &mut SystemEntropy);
    settled.map_err(|what| Failed::at(data.dir().display(), what))?;
    if record.values != before.values {
        let text = "a setting of the directory is the same on all nodes: change it over LDAP, in cn=config, and take it out of this start";
        let keys: BTreeSet<_> = record.values.keys().chain(before.values.keys()).collect();
        let differs = |key: &&&String| record.values.get(**key) != before.values.get(**key);
        let differ: Vec<String> = keys.iter().filter(differs).map(|key| format!("`{key}`")).collect();
        return Err(Failed::at(format!("the settings: {}", differ.join(", ")), text));
    }
    fits(&config, schema)?;
    // What this start gave is of no other node, and so not recorded.
    let settings = Some(Settled { file, record: before });
    let replication =
        Replication { id, links: links.links(Channel::Consensus), retention: Retention::default() };
    let recovered = with_wanted(&config, settings, data, Arc::clone(schema), clock, |wanted| {
        let mut bar = RecoveryBar::new(false);
        let recovered =
            data.recover_replica(wanted, replication, &mut |stage| bar.show(stage)).map_err(refused)?;
        bar.finish(recovered.records, recovered.dsa.shard().entries());
        Ok(recovered)
    })?;
    Ok((config, recovered))
}

/// Where this node listens for others.
fn listen(boot: &Boot) -> Result<Vec<SocketAddr>, Failed> {
    resolved(match &boot.identity.listens().peer[..] {
        [] => boot.identity.peer_addresses(),
        recorded => recorded,
    })
}

/// What addresses of this node stand for.
fn resolved(own: &[Address]) -> Result<Vec<SocketAddr>, Failed> {
    let mut all = Vec::new();
    for address in own {
        let resolved = net::resolve(address.host(), address.port());
        all.extend(resolved.map_err(|error| Failed::at(format!("--peer {address}"), error))?);
    }
    Ok(all)
}

/// What the cluster has answered when this node joined.
fn joined(folder: &Path) -> Result<JoinBody, Failed> {
    let path = folder.join(JOINED);
    let body = std::fs::read(&path).map_err(|error| Failed::at(path.display(), error))?;
    JoinBody::decode(&body).map_err(|error| Failed::at(path.display(), error))
}

/// Fetches the snapshot with which node `own` begins, which has joined. Returns when it is there.
fn fetch_first(
    body: &JoinBody,
    own: u64,
    links: &Peers,
    mut transfer: node::transfer::Transfer,
    clock: &SystemClock,
) -> Result<(), Failed> {
    // This node has nothing yet.
    links.begin(Arc::new(Extent::default));
    links.set_members(&body.members);
    let mut from = body.from;
    loop {
        // Whatever snapshot it has.
        let wanted = WantedSnapshot { from: ReplicaId(from), at: Position { index: Index(0), term: 0 } };
        match transfer.step(clock.monotonic_ns() / 1_000_000, Some(wanted)) {
            Progress::Done => return Ok(()),
            Progress::Failed => {
                let others = body.members.iter().map(|member| member.id).filter(|id| *id != own);
                from = after(from, others).unwrap_or(from);
                tracing::warn!(from, "the first snapshot could not be fetched; another node is asked");
                pause(AGAIN);
            }
            Progress::Idle | Progress::Sends | Progress::Goes => pause(LOOK),
        }
    }
}

/// The id that comes after `last`, and the least behind the greatest; `None` if there is none.
fn after(last: u64, ids: impl Iterator<Item = u64> + Clone) -> Option<u64> {
    ids.clone().filter(|id| *id > last).min().or_else(|| ids.min())
}

/// Starts this program again, with the same arguments, in this process: what it has fetched becomes its directory then.
fn again(program: &Path) -> Failed {
    let error = std::process::Command::new(program).args(std::env::args_os().skip(1)).exec();
    Failed::at("the server cannot start again", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_one_is_asked_in_turn() {
        let others = || [5, 1, 3].into_iter();
        assert_eq!([1, 3, 5, 4].map(|last| after(last, others())), [Some(3), Some(5), Some(1), Some(5)]);
        assert_eq!(after(7, [7].into_iter()), Some(7), "there is no other one");
        assert_eq!(after(1, [].into_iter()), None);
    }
}
