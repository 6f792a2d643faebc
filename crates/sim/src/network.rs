//! The links between simulated replicas. Messages are late; those of one link come in order, those of different links in any. A link
//! that breaks loses all that is on its way; one that is cut, in one direction or both, loses all that is sent until it is mended.

use crate::guards::{Guard, Guards, Way};
use crate::random::Random;
use bytes::Bytes;
use consensus::links::{Channel, Links};
use consensus::{MessageType, ReplicaId, message};
use peers::hello::Hello;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Nanoseconds that a message is on its way: as a rule, and at most on a link that is slow.
const DELAY_NS: u64 = 500_000;
const DELAY_NS_MAX: u64 = 80_000_000;

/// A message on its way.
#[derive(Debug)]
struct Sent {
    /// When it comes.
    at_ns: u64,
    /// What the sender had said of itself, where replicas say hello.
    by: Option<Hello>,
    message: Bytes,
}

/// All links. Clones are the same.
#[derive(Clone, Debug)]
pub struct Network(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    random: Random,
    now_ns: u64,
    /// What is on its way.
    ways: BTreeMap<(Way, Channel), VecDeque<Sent>>,
    /// Where links begin with hellos.
    guards: Option<Guards>,
    cut: BTreeSet<Way>,
    slow: BTreeSet<Way>,
    delivered: u64,
    longest: usize,
    given: Option<Given>,
}

/// A voice that came to the replica that wants to lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// The voter.
    pub from: ReplicaId,
    /// The one who wants to lead.
    pub to: ReplicaId,
    /// Only that it may ask for votes.
    pub is_pre_vote: bool,
}

impl Network {
    /// Without faults; chance is that of `seed`.
    pub fn new(seed: u64) -> Network {
        Network(Arc::new(Mutex::new(State {
            random: Random::new(seed),
            now_ns: 0,
            ways: BTreeMap::new(),
            guards: None,
            cut: BTreeSet::new(),
            slow: BTreeSet::new(),
            delivered: 0,
            longest: 0,
            given: None,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So much time passes.
    pub fn pass_ns(&self, ns: u64) {
        self.lock().now_ns += ns;
    }

    /// Messages that came.
    pub fn delivered(&self) -> u64 {
        self.lock().delivered
    }

    /// Bytes of the longest message that was sent.
    pub fn longest(&self) -> usize {
        self.lock().longest
    }

    /// The last voice that came since the last call.
    pub fn take_given(&self) -> Option<Given> {
        self.lock().given.take()
    }

    /// What `from` sends to `to` is lost until [`Network::mend`].
    pub fn cut(&self, from: ReplicaId, to: ReplicaId) {
        let mut state = self.lock();
        state.cut.insert((from, to));
        state.break_link((from, to));
    }

    /// As [`Network::cut`], but what is on its way comes.
    pub fn cut_what_follows(&self, from: ReplicaId, to: ReplicaId) {
        self.lock().cut.insert((from, to));
    }

    /// Is a message of the core on its way to a replica that is of such a kind?
    pub fn has_on_way(&self, to: ReplicaId, is_such: &dyn Fn(MessageType) -> bool) -> bool {
        let state = self.lock();
        let mut ways =
            state.ways.iter().filter(|((way, channel), _)| way.1 == to && *channel == Channel::Consensus);
        ways.any(|(_, way)| {
            let mut read = way.iter().filter_map(|sent| message::decode(&sent.message).ok());
            read.any(|message| is_such(message.get_msg_type()))
        })
    }

    /// What `from` sends to `to` takes long until [`Network::mend`].
    pub fn slow_down(&self, from: ReplicaId, to: ReplicaId) {
        self.lock().slow.insert((from, to));
    }

    /// The link from `from` to `to` breaks, and is made anew.
    pub fn tear(&self, from: ReplicaId, to: ReplicaId) {
        self.lock().break_link((from, to));
    }

    /// All links work again.
    pub fn mend(&self) {
        let mut state = self.lock();
        state.cut.clear();
        state.slow.clear();
    }

    /// The process of a replica has ended: its links break. What it had sent may still come.
    pub fn on_end_of(&self, id: ReplicaId) {
        let mut state = self.lock();
        let State { random, ways, guards, .. } = &mut *state;
        guards.iter_mut().for_each(|guards| guards.on_end_of(id));
        for (((from, to), _), way) in ways.iter_mut() {
            match (*from == id, *to == id) {
                (_, true) => way.clear(),
                (true, _) => way.truncate(random.below(way.len() as u64 + 1) as usize),
                _ => {}
            }
        }
    }

    /// From now on links begin with hellos, and replicas refuse those whose disks were set back.
    pub(crate) fn say_hello(&self) {
        self.lock().guards = Some(Guards::default());
    }

    /// A process of a replica has begun.
    pub(crate) fn begin(&self, guard: Guard) {
        self.with_guards(|guards, _| guards.begin(guard));
    }

    /// Does something with what replicas know of each other, at this time, where they say hello.
    pub(crate) fn with_guards<T>(&self, act: impl FnOnce(&mut Guards, u64) -> T) -> Option<T> {
        let State { guards, now_ns, .. } = &mut *self.lock();
        guards.as_mut().map(|guards| act(guards, *now_ns))
    }

    /// The links of a replica for one channel.
    pub fn links_of(&self, id: ReplicaId, channel: Channel) -> Box<dyn Links> {
        Box::new(End { network: self.clone(), id, channel })
    }
}

impl State {
    /// What is on this way is lost.
    fn break_link(&mut self, way: Way) {
        self.ways.retain(|(other, _), _| *other != way);
        self.guards.iter_mut().for_each(|guards| guards.break_link(way));
    }

    /// What the sender has said of itself over a link, which is made if there is none; `None` without hellos.
    ///
    /// # Errors
    /// There is no link.
    fn link(&mut self, way: Way) -> Result<Option<Hello>, ()> {
        let State { guards, cut, .. } = self;
        let Some(guards) = guards else { return Ok(None) };
        // The answer has to come back.
        let is_cut = cut.contains(&(way.1, way.0));
        guards.link(way, is_cut).map(Some).ok_or(())
    }
}

/// See [`Network::links_of`].
struct End {
    network: Network,
    id: ReplicaId,
    channel: Channel,
}

impl Links for End {
    fn send(&mut self, to: ReplicaId, message: Vec<u8>) {
        let way = (self.id, to);
        let mut state = self.network.lock();
        state.longest = state.longest.max(message.len());
        if state.cut.contains(&way) {
            return;
        }
        let Ok(by) = state.link(way) else { return };
        let delay_max = if state.slow.contains(&way) { DELAY_NS_MAX } else { DELAY_NS };
        let at_ns = state.now_ns + 1 + state.random.below(delay_max);
        let way = state.ways.entry((way, self.channel)).or_default();
        let at_ns = way.back().map_or(at_ns, |before| at_ns.max(before.at_ns));
        way.push_back(Sent { at_ns, by, message: message.into() });
    }

    fn receive(&mut self) -> Option<(ReplicaId, Bytes)> {
        let mut state = self.network.lock();
        let State { random, now_ns, ways, guards, delivered, given, .. } = &mut *state;
        guards.iter_mut().for_each(|guards| guards.hear(self.id, *now_ns));
        let come = |way: &VecDeque<Sent>| way.front().is_some_and(|sent| sent.at_ns <= *now_ns);
        let is_ours = |((_, to), channel): &(Way, Channel)| *to == self.id && *channel == self.channel;
        let (way, message) = loop {
            let ready: Vec<Way> = ways
                .iter()
                .filter(|(key, way)| is_ours(key) && come(way))
                .map(|((way, _), _)| *way)
                .collect();
            if ready.is_empty() {
                return None;
            }
            let way = *random.one_of(&ready);
            let Sent { by, message, .. } = ways.get_mut(&(way, self.channel))?.pop_front()?;
            let is_over = |by: &Hello| guards.as_ref().is_some_and(|guards| !guards.is_last(self.id, by));
            if !by.as_ref().is_some_and(is_over) {
                break (way, message);
            }
        };
        *delivered += 1;
        if self.channel == Channel::Consensus
            && let Ok(read) = message::decode(&message)
            && !read.reject
        {
            let is_pre_vote = read.get_msg_type() == MessageType::MsgRequestPreVoteResponse;
            if is_pre_vote || read.get_msg_type() == MessageType::MsgRequestVoteResponse {
                *given = Some(Given { from: way.0, to: way.1, is_pre_vote });
            }
        }
        Some((way.0, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_a_link_come_late_and_in_order_and_a_cut_loses_them() {
        let (one, two) = (ReplicaId(1), ReplicaId(2));
        let network = Network::new(1);
        let links = |id| network.links_of(id, Channel::Consensus);
        let (mut from, mut to) = (links(one), links(two));
        (0..9).for_each(|n| from.send(two, vec![n]));
        assert_eq!(to.receive(), None);
        network.pass_ns(DELAY_NS + 1);
        let come: Vec<u8> = std::iter::from_fn(|| to.receive().map(|(_, message)| message[0])).collect();
        assert_eq!(come, (0..9).collect::<Vec<u8>>());
        from.send(two, vec![1]);
        network.cut(one, two);
        from.send(two, vec![2]);
        network.mend();
        from.send(two, vec![3]);
        network.pass_ns(DELAY_NS + 1);
        assert_eq!(to.receive(), Some((one, vec![3].into())));
        assert_eq!((to.receive(), network.delivered()), (None, 10));
    }
}
