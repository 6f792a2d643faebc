//! What the thread of the links and the others share: the members, the links that there are, what waits to be sent and to be received. Nobody
//! holds the lock for longer than it takes to move a few words.

use crate::certificate::Fingerprint;
use crate::faults;
use crate::frame::Kind;
use crate::hello::{Class, Hello};
use crate::id::RunId;
use crate::member::{CERTIFICATES_MAX, MEMBERS_MAX, Member};
use crate::seen::Seen;
use crate::wire::Ended;
use bytes::Bytes;
use consensus::Extent;
use consensus::links::Channel;
use env::planted;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::Notify;
use tokio::sync::watch;

/// Connections for commands at the same time at most.
const REQUESTS_MAX: usize = 64;
/// Of them, of one node.
const REQUESTS_OF_NODE_MAX: usize = 16;

/// Bytes that wait to be sent to one node, or to be received from one, at most. One message more may be received.
pub(crate) fn waiting_bytes_max(channel: Channel) -> usize {
    match channel {
        Channel::Consensus | Channel::Updates => 64 << 20,
        Channel::Files => 4 << 20,
    }
}

/// Why this end ends a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Full,
    Replaced,
    Dismissed,
}

/// One connection, from its hello on.
pub(crate) struct Link {
    number: u64,
    node: u64,
    class: Class,
    version: u32,
    certificate: Fingerprint,
    run: RunId,
    why: OnceLock<Stop>,
    stop: Notify,
    /// There is something to send, or room for what comes.
    pub(crate) work: Notify,
}

impl Link {
    /// The node at the other end.
    pub(crate) fn node(&self) -> u64 {
        self.node
    }

    /// What it is for.
    pub(crate) fn class(&self) -> Class {
        self.class
    }

    /// The version of the frames that both ends speak.
    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    fn stop(&self, why: Stop) {
        let _ = self.why.set(why);
        self.stop.notify_one();
    }

    /// Ends when the link is to end.
    pub(crate) async fn stopped(&self) -> Ended {
        loop {
            match self.why.get() {
                Some(Stop::Full) => return Ended::Full,
                Some(Stop::Replaced) => return Ended::Replaced,
                Some(Stop::Dismissed) => return Ended::Dismissed,
                None => self.stop.notified().await,
            }
        }
    }
}

/// What waits to be sent over a connection that this node opened.
struct Outbox {
    link: Arc<Link>,
    queues: BTreeMap<Channel, Queue>,
    /// What nodes have acknowledged, to be said.
    acknowledged: Option<Vec<u8>>,
    /// The channel that had the last turn.
    last: Channel,
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<Vec<u8>>,
    bytes: usize,
}

/// Buffers of messages that were sent, for others: as many, and with so many bytes each, at most.
const SPARE_MAX: usize = 4;
const SPARE_BYTES_MAX: usize = 2 << 20;
/// Bytes that such a buffer has at least.
const SPARE_BYTES_MIN: usize = 4 << 10;

#[derive(Default)]
struct State {
    /// Empty buffers of messages that were sent.
    spare: Vec<Vec<u8>>,
    members: BTreeMap<u64, Member>,
    /// Members with which this node has joined, until it is one itself.
    joined: Vec<Member>,
    opened: BTreeMap<(u64, Class), Outbox>,
    accepted: BTreeMap<(u64, Class), Arc<Link>>,
    /// Connections for commands, by their numbers.
    requests: BTreeMap<u64, Arc<Link>>,
    inboxes: BTreeMap<Channel, VecDeque<(u64, Bytes)>>,
    /// Bytes in inboxes, by node.
    received: BTreeMap<(u64, Channel), usize>,
    /// Links so far.
    count: u64,
}

/// The members, and the links to them.
pub(crate) struct Table {
    own: Hello,
    seen: Arc<Seen>,
    state: Mutex<State>,
    /// Counts changes of the members.
    changes: watch::Sender<u64>,
    wake: Arc<dyn Fn() + Send + Sync>,
}

/// Which links to a member there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkStatus {
    /// The member.
    pub node: u64,
    /// Is there a connection over which messages are sent to it?
    pub sends_messages: bool,
    /// Is there one over which they are received?
    pub receives_messages: bool,
    /// Is there one over which files are sent to it?
    pub sends_files: bool,
    /// Is there one over which they are received?
    pub receives_files: bool,
}

impl Table {
    /// Without members; `own` is the node itself, of any class.
    pub(crate) fn new(own: Hello, seen: Arc<Seen>, wake: Arc<dyn Fn() + Send + Sync>) -> Table {
        Table { own, seen, state: Mutex::default(), changes: watch::Sender::new(0), wake }
    }

    /// This node, as it says it on a connection of a class; of messages and files, from a start that is known to go so far.
    pub(crate) fn own(&self, class: Class, extent: Extent) -> Hello {
        Hello { class, extent, ..self.own }
    }

    /// Tells of changes of the members.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// See [`crate::Peers::set_joined`].
    pub(crate) fn set_joined(&self, members: Vec<Member>) {
        self.state().joined = members;
    }

    /// Replaces the members. Links that have no place any more end, and what came over them and was not received is dropped.
    pub(crate) fn set_members(&self, members: &[Member]) {
        assert!(members.len() <= MEMBERS_MAX, "a cluster has few members");
        assert!(members.iter().all(|member| member.id != 0 && member.certificates.len() <= CERTIFICATES_MAX));
        let mut state = self.state();
        if members.iter().any(|member| member.id == self.own.node) {
            state.joined = Vec::new();
        }
        let State { joined, members: table, opened, accepted, requests, inboxes, received, .. } = &mut *state;
        *table = joined.iter().chain(members).map(|member| (member.id, member.clone())).collect();
        let stays = |link: &Link| {
            let stays = has_certificate(table, link.node, link.certificate);
            if !stays {
                link.stop(Stop::Dismissed);
            }
            stays
        };
        opened.retain(|_, outbox| stays(&outbox.link));
        accepted.retain(|_, link| stays(link));
        requests.retain(|_, link| stays(link));
        inboxes.values_mut().for_each(|inbox| inbox.retain(|(node, _)| table.contains_key(node)));
        received.retain(|(node, _), _| table.contains_key(node));
        drop(state);
        self.changes.send_modify(|count| *count += 1);
    }

    /// The other members.
    pub(crate) fn others(&self) -> Vec<u64> {
        self.state().members.keys().copied().filter(|node| *node != self.own.node).collect()
    }

    /// One of the other members.
    pub(crate) fn other(&self, node: u64) -> Option<Member> {
        self.state().members.get(&node).filter(|member| member.id != self.own.node).cloned()
    }

    /// Is the hello that of this member, by its certificate?
    pub(crate) fn check(&self, hello: &Hello, node: u64, certificate: Fingerprint) -> Result<(), Ended> {
        self.check_in(&self.state(), hello, node, certificate)
    }

    fn check_in(
        &self,
        state: &State,
        hello: &Hello,
        node: u64,
        certificate: Fingerprint,
    ) -> Result<(), Ended> {
        if hello.cluster != self.own.cluster {
            return Err(Ended::Stranger("it is of another cluster"));
        }
        if hello.node != node && !planted::is(faults::HELLO_ID_NOT_CERTIFICATE) {
            return Err(Ended::Stranger("its hello names another node than its certificate"));
        }
        if !has_certificate(&state.members, node, certificate) {
            return Err(Ended::Stranger("its certificate is of no member"));
        }
        if hello.class == Class::Requests {
            return Ok(());
        }
        if node == self.own.node {
            return Err(Ended::Stranger("it is this node itself"));
        }
        Ok(())
    }

    fn check_run(&self, hello: &Hello) -> Result<(), Ended> {
        let is_last = hello.class == Class::Requests || self.seen.is_last(hello);
        if is_last { Ok(()) } else { Err(Ended::Stranger("a later run of it is there")) }
    }

    /// Enters a connection to a member that this node opened, or ends it if something changed meanwhile.
    pub(crate) fn open(&self, hello: &Hello, certificate: Fingerprint) -> Result<Arc<Link>, Ended> {
        let mut state = self.state();
        // The members may have changed since the hello was looked at, and a later run may have come.
        self.check_in(&state, hello, hello.node, certificate)?;
        self.check_run(hello)?;
        let link = state.link(hello, certificate);
        let queues = hello.class.channels().iter().map(|channel| (*channel, Queue::default())).collect();
        let outbox =
            Outbox { link: Arc::clone(&link), queues, acknowledged: None, last: hello.class.channels()[0] };
        let before = state.opened.insert((hello.node, hello.class), outbox);
        assert!(before.is_none(), "one task opens connections of a class to a node, one at a time");
        Ok(link)
    }

    /// Enters a connection that a member opened. An earlier one of the same class ends, and so do all of an earlier run.
    pub(crate) fn accept(&self, hello: &Hello, certificate: Fingerprint) -> Result<Arc<Link>, Ended> {
        let mut state = self.state();
        // The members may have changed since the hello was looked at, and a later run may have come.
        self.check_in(&state, hello, hello.node, certificate)?;
        self.check_run(hello)?;
        let link = state.link(hello, certificate);
        if hello.class == Class::Requests {
            let of_node = state.requests.values().filter(|other| other.node == hello.node).count();
            if state.requests.len() >= REQUESTS_MAX || of_node >= REQUESTS_OF_NODE_MAX {
                return Err(Ended::Stranger("there are too many connections for commands"));
            }
            state.requests.insert(link.number, Arc::clone(&link));
            return Ok(link);
        }
        state.accepted.retain(|_, other| {
            let is_over = other.node == hello.node && (other.class == hello.class || other.run != hello.run);
            if is_over {
                other.stop(Stop::Replaced);
            }
            !is_over
        });
        state.accepted.insert((hello.node, hello.class), Arc::clone(&link));
        Ok(link)
    }

    /// Takes a connection out that has ended; what waits to be sent over it is dropped.
    pub(crate) fn close(&self, link: &Link) {
        let (mut state, key) = (self.state(), (link.node, link.class));
        state.requests.remove(&link.number);
        if state.opened.get(&key).is_some_and(|outbox| outbox.link.number == link.number) {
            state.opened.remove(&key);
        }
        if state.accepted.get(&key).is_some_and(|other| other.number == link.number) {
            state.accepted.remove(&key);
        }
    }

    /// Puts a message into the queue of its link. Without a link it is dropped. If too much waits, all that waits is dropped, and the link ends.
    pub(crate) fn send(&self, to: u64, channel: Channel, message: Vec<u8>) {
        assert!(message.len() <= Kind::Message(channel).bytes_max(), "a message fits into a frame");
        let mut state = self.state();
        let key = (to, Class::of(channel));
        let Some(outbox) = state.opened.get_mut(&key) else { return };
        let queue = outbox.queues.get_mut(&channel).expect("the class has the channel");
        // A buffer that was used before may be longer than what it holds.
        if queue.bytes + message.capacity() > waiting_bytes_max(channel) {
            outbox.link.stop(Stop::Full);
            state.opened.remove(&key);
            return;
        }
        queue.bytes += message.capacity();
        queue.messages.push_back(message);
        outbox.link.work.notify_one();
    }

    /// Says the same to all to which messages are sent; what was to be said before and was not sent is replaced.
    pub(crate) fn tell_acknowledged(&self, body: &[u8]) {
        let mut state = self.state();
        for outbox in state.opened.values_mut().filter(|outbox| outbox.link.class == Class::Messages) {
            outbox.acknowledged = Some(body.to_vec());
            outbox.link.work.notify_one();
        }
    }

    /// What is to be said to the other end of what nodes have acknowledged.
    pub(crate) fn next_acknowledged(&self, link: &Link) -> Option<Vec<u8>> {
        let mut state = self.state();
        let outbox = state.opened.get_mut(&(link.node, link.class))?;
        outbox.acknowledged.take().filter(|_| outbox.link.number == link.number)
    }

    /// The next message for a link: channels have their turns.
    pub(crate) fn next(&self, link: &Link) -> Option<(Channel, Vec<u8>)> {
        let mut state = self.state();
        let outbox = state.opened.get_mut(&(link.node, link.class))?;
        if outbox.link.number != link.number {
            return None;
        }
        let last = outbox.last;
        let behind = link.class.channels().iter().filter(|channel| **channel > last);
        let before = link.class.channels().iter().filter(|channel| **channel <= last);
        for channel in behind.chain(before) {
            let queue = outbox.queues.get_mut(channel).expect("the class has the channel");
            if let Some(message) = queue.messages.pop_front() {
                queue.bytes -= message.capacity();
                outbox.last = *channel;
                return Some((*channel, message));
            }
        }
        None
    }

    /// An empty buffer for a message of so many bytes. A short one holds no long buffer while it waits to be sent.
    pub(crate) fn buffer(&self, bytes: usize) -> Vec<u8> {
        match bytes >= SPARE_BYTES_MIN {
            true => self.state().spare.pop().unwrap_or_default(),
            false => Vec::new(),
        }
    }

    /// Keeps the buffer of a message that was sent. Those of short ones are not worth it.
    pub(crate) fn keep_buffer(&self, mut message: Vec<u8>) {
        message.clear();
        if !(SPARE_BYTES_MIN..=SPARE_BYTES_MAX).contains(&message.capacity()) {
            return;
        }
        let mut state = self.state();
        if state.spare.len() < SPARE_MAX {
            state.spare.push(message);
        }
    }

    /// Puts a message that came over a link into the inbox of its channel. A link that has ended brings none any more.
    pub(crate) fn deliver(&self, link: &Link, channel: Channel, message: Bytes) -> Result<(), Ended> {
        let mut state = self.state();
        let is_current = |other: &Arc<Link>| other.number == link.number;
        if !state.accepted.get(&(link.node, link.class)).is_some_and(is_current) {
            return Err(Ended::Dismissed);
        }
        *state.received.entry((link.node, channel)).or_default() += message.len();
        state.inboxes.entry(channel).or_default().push_back((link.node, message));
        drop(state);
        (self.wake)();
        Ok(())
    }

    /// May more be read from a link? If not, its `work` says when that is worth asking again.
    pub(crate) fn has_room(&self, link: &Link) -> bool {
        let state = self.state();
        let is_full = |channel: &Channel| {
            let bytes = state.received.get(&(link.node, *channel)).copied().unwrap_or(0);
            bytes > waiting_bytes_max(*channel)
        };
        !link.class.channels().iter().any(is_full)
    }

    /// The next message of a channel that was received.
    pub(crate) fn receive(&self, channel: Channel) -> Option<(u64, Bytes)> {
        let mut state = self.state();
        let (node, message) = state.inboxes.get_mut(&channel)?.pop_front()?;
        let bytes = state.received.get_mut(&(node, channel)).expect("what is in an inbox is counted");
        let before = *bytes;
        *bytes -= message.len();
        let most = waiting_bytes_max(channel);
        if before > most
            && *bytes <= most
            && let Some(link) = state.accepted.get(&(node, Class::of(channel)))
        {
            link.work.notify_one();
        }
        Some((node, message))
    }

    /// Which links there are to the other members.
    pub(crate) fn status(&self) -> Vec<LinkStatus> {
        let state = self.state();
        let others = state.members.keys().copied().filter(|node| *node != self.own.node);
        others
            .map(|node| LinkStatus {
                node,
                sends_messages: state.opened.contains_key(&(node, Class::Messages)),
                receives_messages: state.accepted.contains_key(&(node, Class::Messages)),
                sends_files: state.opened.contains_key(&(node, Class::Files)),
                receives_files: state.accepted.contains_key(&(node, Class::Files)),
            })
            .collect()
    }
}

impl State {
    fn link(&mut self, hello: &Hello, certificate: Fingerprint) -> Arc<Link> {
        self.count += 1;
        Arc::new(Link {
            number: self.count,
            node: hello.node,
            class: hello.class,
            version: hello.agreed(),
            certificate,
            run: hello.run,
            why: OnceLock::new(),
            stop: Notify::new(),
            work: Notify::new(),
        })
    }
}

fn has_certificate(members: &BTreeMap<u64, Member>, node: u64, certificate: Fingerprint) -> bool {
    members.get(&node).is_some_and(|member| member.certificates.contains(&certificate))
}
