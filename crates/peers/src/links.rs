//! The links of a node to the others. One thread, `peers`, has all its sockets. What sends and receives most may run there too ([`Peers::run`]):
//! a message costs no change of threads then.

use crate::acknowledged;
use crate::authority::Authority;
use crate::files::FileError;
use crate::hello::{Class, Hello, VERSION};
use crate::identity::{Boot, Identity};
use crate::incoming;
use crate::member::Member;
use crate::outgoing;
use crate::secure::Configs;
use crate::seen::Seen;
use crate::service::Service;
use crate::shared::{Durable, Shared};
use crate::table::{LinkStatus, Table};
use bytes::Bytes;
use consensus::links::{Channel, Links};
use consensus::{Extent, ReplicaId};
use env::net::TcpBound;
use env::task;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use tokio::sync::mpsc;

/// Connections that the system keeps until they are accepted.
const BACKLOG: i32 = 128;
/// Addresses to listen on at most.
const LISTENERS_MAX: usize = 8;
/// Tasks of others that wait to be begun, at most.
const TASKS_MAX: usize = 4;

/// What the links of a node are made of.
pub struct Options {
    /// Where it listens; port 0 lets the system pick one.
    pub listen: Vec<SocketAddr>,
    /// The node, whose start was counted.
    pub boot: Boot,
    /// The CA. Without it no node can join here.
    pub authority: Option<Arc<Authority>>,
    /// What was seen of other nodes.
    pub seen: Seen,
    /// Answers joins and commands.
    pub service: Arc<dyn Service>,
    /// Called on the thread of the links when a message came in. It must not wait.
    pub wake: Arc<dyn Fn() + Send + Sync>,
}

/// The links of a node to the others. They end when this is dropped; what waits to be sent is lost then.
pub struct Peers {
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    tasks: mpsc::Sender<task::Main>,
    thread: Option<task::Thread>,
}

impl fmt::Debug for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peers").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

impl Peers {
    /// Listens, and starts the thread. There are no members yet: [`Peers::set_members`]; and no links before [`Peers::begin`].
    ///
    /// # Errors
    /// An address is taken or none of this machine; the certificate and its key cannot be used; the system has no thread left.
    pub fn start(options: Options) -> io::Result<Peers> {
        let Options { listen, boot: Boot { identity, run, earlier }, authority, seen, service, wake } =
            options;
        if listen.len() > LISTENERS_MAX {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a node has at most 8 addresses for peers",
            ));
        }
        let configs = Configs::of(&identity).map_err(io::Error::other)?;
        let bound = listen.into_iter().map(TcpBound::bind).collect::<io::Result<Vec<TcpBound>>>()?;
        let (class, cluster) = (Class::Messages, identity.cluster());
        let own = Hello {
            version: VERSION,
            class,
            cluster,
            node: identity.node(),
            boots: identity.boots(),
            run,
            extent: Extent::default(),
            earlier,
        };
        let seen = Arc::new(seen);
        let table = Table::new(own, Arc::clone(&seen), wake);
        let shared = Arc::new(Shared::new(table, seen, configs, authority, service));
        let (started, has_started) = channel();
        let of_thread = Arc::clone(&shared);
        let (tasks, to_begin) = mpsc::channel(TASKS_MAX);
        let thread = task::Thread::spawn("peers", move || serve(of_thread, bound, started, to_begin))?;
        let addresses =
            has_started.recv().unwrap_or_else(|_| Err(io::Error::other("the thread of the peers ended")))?;
        Ok(Peers { shared, addresses, tasks, thread: Some(thread) })
    }

    /// Where it listens, in the order in which it was asked to.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The links of one channel. To be given to one owner: all that are made for a channel take from the same messages.
    pub fn links(&self, channel: Channel) -> Box<dyn Links> {
        Box::new(ChannelLinks { shared: Arc::clone(&self.shared), channel })
    }

    /// Has the thread of the links run a task, until it is done or the links end.
    ///
    /// # Errors
    /// More tasks wait to be begun than may.
    pub fn run(&self, main: task::Main) -> io::Result<()> {
        self.tasks.try_send(main).map_err(|_| io::Error::other("the thread of the peers takes no task"))
    }

    /// Replaces the members; this node may be one of them, and must be if programs with its certificate send commands to it. Links of nodes that
    /// are none any more, or have other certificates, end at once, and what came over them and was not received is dropped.
    ///
    /// # Panics
    /// A member has the id 0, or more certificates than [`crate::CERTIFICATES_MAX`]; there are more than [`crate::MEMBERS_MAX`].
    pub fn set_members(&self, members: &[Member]) {
        self.shared.table.set_members(members);
    }

    /// Keeps members with which this node has joined. They are members too as long as the others do not have this node among them: what it
    /// begins with may be older than most of those that it joins, and it must be reached by these to learn of them.
    pub fn set_joined(&self, members: Vec<Member>) {
        self.shared.table.set_joined(members);
    }

    /// Links may be made from now on: `durable` says how far the disk of this node goes.
    pub fn begin(&self, durable: Durable) {
        self.shared.begin(durable);
    }

    /// What the disks of nodes have, as this one knows that leads in `term`: pairs of node and last entry. It is said to all, and kept with
    /// [`Peers::save_seen`].
    pub fn acknowledged(&self, term: u64, indexes: &[(u64, u64)]) {
        self.shared.seen.acknowledge(term, indexes);
        self.shared.table.tell_acknowledged(&acknowledged::encode(term, indexes));
    }

    /// Writes what was seen of others, if there is something new. It waits for the disk.
    ///
    /// # Errors
    /// What the disk says; it may be called again.
    pub fn save_seen(&self) -> Result<(), FileError> {
        self.shared.seen.save()
    }

    /// Which links there are to the other members.
    pub fn status(&self) -> Vec<LinkStatus> {
        self.shared.table.status()
    }

    /// Takes the renewed certificate of this node for connections that begin from now on.
    ///
    /// # Errors
    /// It cannot be used; the earlier one stays.
    pub fn renew(&self, identity: &Identity) -> io::Result<()> {
        self.shared.set_configs(Configs::of(identity).map_err(io::Error::other)?);
        Ok(())
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        self.shared.end.notify_one();
        if let Some(Err(error)) = self.thread.take().map(task::Thread::join) {
            tracing::error!("the thread of the peers: {error}");
        }
    }
}

/// One channel of all links.
struct ChannelLinks {
    shared: Arc<Shared>,
    channel: Channel,
}

impl Links for ChannelLinks {
    fn buffer(&mut self, bytes: usize) -> Vec<u8> {
        self.shared.table.buffer(bytes)
    }

    /// # Panics
    /// The message is longer than a frame of the channel may be ([`crate::frame::Kind::bytes_max`]).
    fn send(&mut self, to: ReplicaId, message: Vec<u8>) {
        self.shared.table.send(to.0, self.channel, message);
    }

    fn receive(&mut self) -> Option<(ReplicaId, Bytes)> {
        self.shared.table.receive(self.channel).map(|(node, message)| (ReplicaId(node), message))
    }
}

/// All of the thread.
async fn serve(
    shared: Arc<Shared>,
    bound: Vec<TcpBound>,
    started: Sender<io::Result<Vec<SocketAddr>>>,
    tasks: mpsc::Receiver<task::Main>,
) {
    match listen(&shared, bound) {
        Ok(addresses) => _ = started.send(Ok(addresses)),
        Err(error) => {
            let _ = started.send(Err(error));
            return;
        }
    }
    tokio::select! {
        () = link(&shared) => {}
        () = begin_tasks(tasks) => {}
        () = shared.end.notified() => {}
    }
}

/// Begins tasks of others. The links have the sender, and outlive this.
async fn begin_tasks(mut tasks: mpsc::Receiver<task::Main>) {
    while let Some(main) = tasks.recv().await {
        task::spawn_local(main());
    }
}

fn listen(shared: &Arc<Shared>, bound: Vec<TcpBound>) -> io::Result<Vec<SocketAddr>> {
    let places = incoming::Places::default();
    let mut addresses = Vec::new();
    for bound in bound {
        let listener = bound.listen(BACKLOG)?;
        addresses.push(listener.local_addr()?);
        task::spawn_local(incoming::listen(Arc::clone(shared), listener, places.clone()));
    }
    Ok(addresses)
}

/// Has a task for each connection that this node is to open.
async fn link(shared: &Arc<Shared>) {
    let running = Rc::new(RefCell::new(BTreeSet::new()));
    let mut changes = shared.table.changes();
    loop {
        changes.mark_unchanged();
        for node in shared.table.others() {
            for class in [Class::Messages, Class::Files] {
                if running.borrow_mut().insert((node, class)) {
                    let (shared, running) = (Arc::clone(shared), Rc::clone(&running));
                    task::spawn_local(async move {
                        outgoing::keep(&shared, node, class).await;
                        running.borrow_mut().remove(&(node, class));
                    });
                }
            }
        }
        // The table has the sender.
        let _ = changes.changed().await;
    }
}
