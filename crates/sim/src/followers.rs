//! Consumers of content synchronisation in a simulated world. Each keeps a copy of what a search finds, and goes on with its cookie behind
//! a disconnect, a kill or at another replica. Whenever it has taken all that there is, its copy is compared with what the same client finds.

use crate::consumer::{Consumer, Copied};
use crate::node::Node;
use crate::random::Random;
use crate::requests::{Bundle, SUFFIX};
use env::clock::Clock;
use model::{ResultCode, Scope};
use proto::control::Control;
use proto::control::content_sync::{self as sync, SyncRequest};
use proto::filter_string;
use proto::list::{Octets, octet_list};
use proto::message::{Frame, frame};
use proto::op::Search;
use proto::{Reply, Request, Response};
use std::collections::BTreeMap;

/// What those may read that have not bound: some entries, and of some of these not by which name they are synchronised.
pub const COPIED: &str =
    "copied: subtree=\"dc=x\" filter=(!(description=*7*)) attrs=entry,*,+; anonymous; allow=see";
/// See [`COPIED`].
pub const NAMELESS: &str =
    "nameless: subtree=\"dc=x\" filter=(cn=*3*) attrs=entryUUID; anonymous; deny=see rank=1";
/// Filters of consumers.
const FILTERS: [&str; 5] = [
    "(objectClass=*)",
    "(description=*)",
    "(!(description=*))",
    "(|(serialNumber=*1)(description=*4*)(member=*))",
    "(&(objectClass=*)(!(cn=*5*)))",
];
/// Message ids.
const BIND: i32 = 1;
const SYNC: i32 = 2;
/// Of 1,000 moments, those at which one that is connected goes, and those at which it goes with a part of what it was sent.
const GOES_OF_1000: u64 = 60;
const CUT_OF_1000: u64 = 60;
/// And those at which it is compared.
const COMPARED_OF_1000: u64 = 700;
/// Of 1,000 searches, those that stay.
const PERSIST_OF_1000: u64 = 600;

/// What they came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Copies that were compared.
    pub compared: u64,
    /// Refreshes that went on from a cookie.
    pub continued: u64,
    /// Those that had to begin anew.
    pub anew: u64,
}

/// All of a world.
pub struct Followers {
    random: Random,
    all: Vec<Follower>,
    counts: Counts,
}

struct Follower {
    /// Does it bind?
    is_root: bool,
    scope: Scope,
    filter: &'static str,
    copy: Consumer,
    connection: Option<Connection>,
}

/// Its connection.
struct Connection {
    /// To which replica.
    at: usize,
    session: usize,
    had_cookie: bool,
    /// The search with which it compares, and what that has found.
    look: Option<i32>,
    found: BTreeMap<String, Copied>,
    /// The number of the next message.
    next: i32,
    /// How the synchronisation ended.
    end: Option<ResultCode>,
}

impl Followers {
    /// Those of a seed: one that may read everything, and one that may not. What becomes of them is drawn apart from all else.
    pub fn new(seed: u64) -> Followers {
        let mut random = Random::new(seed ^ 0x5eed_c0de);
        let all = [true, false].map(|is_root| Follower {
            is_root,
            scope: if random.chance(750) { Scope::Subtree } else { Scope::One },
            filter: FILTERS[random.below(FILTERS.len() as u64) as usize],
            copy: Consumer::default(),
            connection: None,
        });
        Followers { random, all: all.into(), counts: Counts::default() }
    }

    /// Nobody follows.
    pub fn none() -> Followers {
        Followers { random: Random::new(0), all: Vec::new(), counts: Counts::default() }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// See [`Counts`].
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// True `of_1000` times of 1,000.
    pub fn chance(&mut self, of_1000: u64) -> bool {
        self.random.chance(of_1000)
    }

    /// To which of so many replicas a follower is connected, or connects next.
    pub fn place(&mut self, number: usize, replicas: usize) -> usize {
        let connection = &self.all[number].connection;
        connection.as_ref().map_or_else(|| self.random.below(replicas as u64) as usize, |known| known.at)
    }

    /// The process of a replica has ended, or is not to be believed: what it had not said is lost.
    pub fn disconnect(&mut self, at: usize) {
        for follower in &mut self.all {
            follower.connection.take_if(|connection| connection.at == at);
        }
    }

    /// A history was lost in which they have seen something: a cookie is of no history but its own.
    pub fn forget(&mut self) {
        for follower in &mut self.all {
            (follower.copy, follower.connection) = (Consumer::default(), None);
        }
    }

    /// Does a follower wait for an answer of this replica?
    pub fn waits(&self, number: usize, at: usize) -> bool {
        let connection = &self.all[number].connection;
        connection.as_ref().is_some_and(|connection| connection.at == at && connection.look.is_some())
    }

    /// A follower does something at a replica.
    ///
    /// # Errors
    /// In words: its copy is not what it finds.
    pub fn act(
        &mut self,
        number: usize,
        at: usize,
        node: &mut Node,
        clock: &dyn Clock,
    ) -> Result<(), String> {
        let Followers { random, all, counts } = self;
        let follower = &mut all[number];
        let Some(connection) = &mut follower.connection else {
            follower.begin(at, node, clock, random.chance(PERSIST_OF_1000));
            return follower.take(node, clock, counts);
        };
        if connection.look.is_none() && !node.waits(connection.session) {
            match random.below(1000) {
                0..GOES_OF_1000 => {
                    follower.connection = None;
                    return Ok(());
                }
                drawn if drawn < GOES_OF_1000 + CUT_OF_1000 => {
                    return follower.take_some(node, clock, random);
                }
                _ if random.chance(COMPARED_OF_1000) => follower.look(node, clock),
                _ => {}
            }
        }
        follower.take(node, clock, counts)
    }

    /// A follower takes what it was answered.
    ///
    /// # Errors
    /// As [`Followers::act`].
    pub fn take(&mut self, number: usize, node: &mut Node, clock: &dyn Clock) -> Result<(), String> {
        self.all[number].take(node, clock, &mut self.counts)
    }
}

impl Follower {
    fn search(&self, bytes: &mut Vec<u8>, id: i32, selection: &[&str], controls: &[Control<'_>]) {
        let filter = filter_string::parse(self.filter.as_bytes()).expect("the filters are sound");
        let selection = octet_list(selection.iter().map(|name| name.as_bytes()));
        let selection = Octets::parse(&selection).expect("just encoded");
        let search = Search::unlimited(SUFFIX.as_bytes(), self.scope, filter.filter(), selection);
        Request::Search(search).encode(bytes, id, controls);
    }

    /// It connects and asks for what it has not, and for what there is, in one go.
    fn begin(&mut self, at: usize, node: &mut Node, clock: &dyn Clock, persists: bool) {
        let session = node.connect();
        let mut bind = Bundle::default();
        if self.is_root {
            bind.bind();
        }
        let cookie = self.copy.cookie.clone();
        let request = SyncRequest { persists, cookie: cookie.as_deref(), reload_hint: false };
        let value = request.encode();
        let control = Control { oid: sync::OID, critical: true, value: Some(&value) };
        let mut bytes = bind.bytes;
        self.search(&mut bytes, SYNC, &[], &[control]);
        self.copy.begin();
        self.connection = Some(Connection {
            at,
            session,
            had_cookie: cookie.is_some(),
            look: None,
            found: BTreeMap::new(),
            next: SYNC + 1,
            end: None,
        });
        self.put_look(&mut bytes);
        node.send(session, &bytes, clock);
    }

    fn put_look(&mut self, bytes: &mut Vec<u8>) {
        let Some(connection) = &mut self.connection else { return };
        let id = connection.next;
        (connection.look, connection.next) = (Some(id), id + 1);
        connection.found.clear();
        self.search(bytes, id, &["*", "entryUUID"], &[]);
    }

    fn look(&mut self, node: &mut Node, clock: &dyn Clock) {
        let mut bytes = Vec::new();
        self.put_look(&mut bytes);
        if let Some(connection) = &self.connection {
            node.send(connection.session, &bytes, clock);
        }
    }

    /// The connection breaks in the middle of what there is.
    fn take_some(&mut self, node: &mut Node, clock: &dyn Clock, random: &mut Random) -> Result<(), String> {
        let Some(Connection { session, .. }) = self.connection.take() else { return Ok(()) };
        let bytes = node.followed(session, clock);
        let messages = messages(&bytes);
        let some = random.below(messages.len() as u64 + 1) as usize;
        for message in &messages[..some] {
            let reply = Reply::decode(message).map_err(|error| error.to_string())?;
            if reply.id == SYNC {
                self.copy.take(&reply)?;
            }
        }
        Ok(())
    }

    /// Takes all that there is. If it has looked, its copy must be what it has found.
    fn take(&mut self, node: &mut Node, clock: &dyn Clock, counts: &mut Counts) -> Result<(), String> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        let bytes = node.followed(connection.session, clock);
        let mut looked = None;
        for message in messages(&bytes) {
            let reply = Reply::decode(message).map_err(|error| error.to_string())?;
            match (&reply.response, reply.id) {
                (_, BIND) => {}
                (_, SYNC) => connection.end = self.copy.take(&reply)?.or(connection.end),
                (Response::SearchEntry(entry), _) => {
                    if let (Some(uuid), copied) = Copied::of(entry) {
                        connection.found.insert(uuid, copied);
                    }
                }
                (Response::Done(_, result), id) if Some(id) == connection.look => {
                    connection.look = None;
                    looked = result.result_code();
                }
                (other, _) => return Err(format!("a consumer is sent {other:?}")),
            }
        }
        match connection.end {
            None | Some(ResultCode::Success) => {}
            // The base was gone, hidden or renamed, or the cookie was of something else.
            Some(ResultCode::SyncRefreshRequired | ResultCode::NoSuchObject) => {
                counts.anew += 1;
                (self.copy, self.connection) = (Consumer::default(), None);
                return Ok(());
            }
            // Not now. It has what it had.
            Some(ResultCode::Busy | ResultCode::Unavailable) => {
                self.connection = None;
                return Ok(());
            }
            Some(other) => return Err(format!("a synchronisation ended with {other:?}")),
        }
        let is_over = connection.end.is_some() && looked.is_some();
        if looked == Some(ResultCode::Success) {
            counts.compared += 1;
            counts.continued += u64::from(std::mem::take(&mut connection.had_cookie));
            same(&self.copy.content(), &connection.found)?;
        }
        if is_over {
            self.connection = None;
        }
        Ok(())
    }
}

fn messages(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut rest, mut messages) = (bytes, Vec::new());
    while let Ok(Frame::Complete { len }) = frame(rest) {
        messages.push(&rest[..len]);
        rest = &rest[len..];
    }
    messages
}

/// # Errors
/// In words, the first entry that differs.
fn same(copy: &BTreeMap<String, Copied>, found: &BTreeMap<String, Copied>) -> Result<(), String> {
    for (uuid, has) in copy {
        match found.get(uuid) {
            None => return Err(format!("{uuid} is in the copy, and is not found: {has:?}")),
            Some(is) if is != has => return Err(format!("{uuid} is {has:?} in the copy, and {is:?}")),
            Some(_) => {}
        }
    }
    match found.iter().find(|(uuid, _)| !copy.contains_key(*uuid)) {
        None => Ok(()),
        Some((uuid, lacks)) => Err(format!("{uuid} is found, and is not in the copy: {lacks:?}")),
    }
}
