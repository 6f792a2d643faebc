//! Import into a server that runs: adds, many in progress at once, superiors before subordinates.

use crate::batch::Batch;
use crate::import_state::{self, ImportState, Importer};
use crate::operational::{END_TIME, Foreign, LOCKED, LOCKED_TIME, foreign, locks, without_state};
use crate::password_history;
use crate::record::{Content, Place, Records};
use crate::report::{Callbacks, Fault, ImportError, Summary};
use crate::source::{Input, Piece, Source};
use crate::streams::{self, Plan};
use client::{ClientError, Link, Server, refusal};
use model::ResultCode;
use model::dn::split_first;
use model::limits::MESSAGE_BYTES_MAX;
use proto::ldif::Value;
use proto::list::{Attributes, put_attribute};
use proto::message::Request;
use proto::op::Add;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Adds in progress on one connection.
const ACTIVE_MAX: usize = 64;
/// Bytes that wait to be sent on one connection before its answers are awaited.
const WAITING_BYTES_MAX: usize = 4 << 20;
/// What the server makes itself and lets no client set.
const BOOKKEEPING: [&[u8]; 6] =
    [b"entryUUID", b"entryCSN", b"createTimestamp", b"creatorsName", b"modifyTimestamp", b"modifiersName"];

/// How to add.
#[derive(Clone, Copy, Debug)]
pub struct Ways {
    /// Connections: one at least.
    pub connections: usize,
    /// Inputs that are read at a time: 1 to 64.
    pub streams: usize,
}

/// Adds entries to a server that runs: those of LDIF with content records and `changetype: add`, or BER adds. Attributes
/// that only servers set are left out, and what servers keep for themselves. An entry may come before its superior.
///
/// Memory is bounded by a piece of 256 KiB or the longest record, 64 records of each connection, and what waits for superiors.
///
/// # Errors
/// Without `on_reject` the first fault and those found until answers to the rest are there; else only what makes it
/// impossible to go on. What was added stays.
///
/// # Panics
/// If there are no connections.
pub fn add(
    server: &Server,
    ways: Ways,
    inputs: &mut [Input<'_>],
    callbacks: Callbacks<'_>,
) -> Result<Summary, ImportError> {
    assert!(ways.connections > 0, "somebody has to add");
    let mut adding = Adding {
        links: Vec::new(),
        next: 0,
        active: BTreeSet::new(),
        // The first ends it: what was added stays, so the rest is better not sent.
        state: ImportState::new(inputs, callbacks, 1),
        streams: ways.streams,
    };
    for _ in 0..ways.connections {
        match Link::open(server) {
            Ok(link) => adding.links.push((link, VecDeque::new())),
            Err(error) => {
                adding.state.give_up(0, Fault::at(0, error.to_string()));
                break;
            }
        }
    }
    import_state::run(&mut adding, inputs);
    adding.state.end()
}

/// An add that is not answered yet.
struct ActiveAdd {
    id: i32,
    /// See [`key`].
    key: Vec<u8>,
    dn: Vec<u8>,
    /// Its record, as a piece of its own, and where it is in there.
    piece: Piece,
    place: Place,
}

/// An import in progress.
struct Adding<'t> {
    /// Connections, and what is in progress on each, in the order in which it was sent.
    links: Vec<(Link, VecDeque<ActiveAdd>)>,
    /// The connection whose turn it is.
    next: usize,
    /// Keys of all entries in progress: subordinates of theirs have to wait.
    active: BTreeSet<Vec<u8>>,
    state: ImportState<'t>,
    streams: usize,
}

impl<'t> Importer<'t> for Adding<'t> {
    fn state(&mut self) -> &mut ImportState<'t> {
        &mut self.state
    }

    /// Adds what the sources have, and waits for all answers.
    fn pass(&mut self, sources: Vec<(usize, impl Source)>) {
        // What is to be done to a record is done when it is sent.
        let plan = Plan { streams: self.streams, threads: 1 };
        streams::run(sources, plan, || (), |(), _| (), |batch| self.take_batch(batch));
        self.settle_all();
    }

    /// Sends an add of each record.
    fn take(&mut self, batch: &Batch) {
        let mut records = Records::of(&batch.piece);
        while !self.state.is_over()
            && let Some(record) = records.next()
        {
            match record {
                Ok(record) => match gathered(record.content) {
                    Ok(attributes) => self.send(&batch.piece, &record.place, record.dn, &attributes),
                    Err(fault) => {
                        let range = record.place.range.clone();
                        self.state.refuse(&batch.piece, range, fault.with_dn(record.dn));
                    }
                },
                Err((fault, range)) => self.state.refuse(&batch.piece, range, fault),
            }
        }
    }
}

impl Adding<'_> {
    /// Sends an add once its superior is not in progress any more.
    fn send(&mut self, piece: &Piece, place: &Place, dn: &[u8], attributes: &[u8]) {
        let superior = split_first(dn).1.map(key).unwrap_or_default();
        while self.active.contains(&superior) && !self.state.is_over() {
            let holder = |(_, adds): &(Link, VecDeque<ActiveAdd>)| adds.iter().any(|add| add.key == superior);
            match self.links.iter().position(holder) {
                Some(at) => self.settle(at),
                None => break,
            }
        }
        let Ok(list) = Attributes::parse(attributes) else { return };
        if self.state.is_over() {
            return;
        }
        if attributes.len() + dn.len() + 64 > MESSAGE_BYTES_MAX {
            let reason = "it is longer than a message may be, 16 MiB";
            return self.state.refuse(piece, place.range.clone(), Fault::of(place.line, dn, reason));
        }
        assert!(!self.links.is_empty(), "an import without a connection is over");
        self.next = (self.next + 1) % self.links.len();
        let at = self.next;
        while self.is_full(at) && !self.state.is_over() {
            self.settle(at);
        }
        let (link, adds) = &mut self.links[at];
        let id = link.push(|out, id| Request::Add(Add { dn, attributes: list }).encode(out, id, &[]));
        link.send();
        let (piece, place) = alone(piece, place);
        let active = ActiveAdd { id, key: key(dn), dn: dn.to_vec(), piece, place };
        self.active.insert(active.key.clone());
        adds.push_back(active);
        assert!(
            adds.len() <= ACTIVE_MAX || self.state.is_over(),
            "a connection has no more adds in progress than it may"
        );
    }

    fn is_full(&self, at: usize) -> bool {
        let (link, adds) = &self.links[at];
        adds.len() >= ACTIVE_MAX || (link.waiting() > WAITING_BYTES_MAX && !adds.is_empty())
    }

    /// Waits for all answers, also when nothing more is sent: what was added is to be known.
    fn settle_all(&mut self) {
        for at in 0..self.links.len() {
            while !self.links[at].1.is_empty() {
                self.settle(at);
            }
        }
        assert!(self.active.is_empty(), "an add whose answer is known is not in progress");
    }

    /// Waits for the next answer on a connection.
    fn settle(&mut self, at: usize) {
        let (link, adds) = &mut self.links[at];
        let received = link.receive(|reply| {
            let found = adds.iter().position(|add| add.id == reply.id);
            Some((
                adds.remove(found?)?,
                reply.result().map(|result| (result.result_code(), refusal(&result)))?,
            ))
        });
        match received {
            Ok(Some((add, (code, why)))) => {
                self.active.remove(&add.key);
                self.answered(add, code, why);
            }
            Ok(None) => self.lost(at, &ClientError::Malformed("an answer to something that was not asked")),
            Err(error) => self.lost(at, &error),
        }
    }

    /// Nothing more will come on a connection.
    fn lost(&mut self, at: usize, error: &ClientError) {
        let unknown = std::mem::take(&mut self.links[at].1);
        for add in &unknown {
            self.active.remove(&add.key);
        }
        let (line, input, offset) =
            unknown.front().map_or((0, 0, 0), |add| (add.place.line, add.piece.input, add.piece.offset));
        let count = unknown.len();
        let reason = format!("{error}; whether {count} entries from here on were added is not known");
        self.state.give_up(input, Fault { offset, ..Fault::at(line, reason) });
    }

    fn answered(&mut self, add: ActiveAdd, code: Option<ResultCode>, why: Option<String>) {
        let Some(why) = why else { return self.state.count_entries(add.piece.input, 1) };
        let fault = Fault::of(add.place.line, &add.dn, why);
        match code {
            Some(ResultCode::NoSuchObject) if !self.state.is_final() => {
                self.state.defer(&add.piece, &add.place, |reason| Fault { reason, ..fault });
            }
            // What is wrong is not the entry.
            Some(ResultCode::Busy | ResultCode::Unavailable | ResultCode::AdminLimitExceeded) => {
                let offset = add.piece.offset;
                self.state.give_up(add.piece.input, Fault { offset, ..fault })
            }
            _ => self.state.refuse(&add.piece, add.place.range.clone(), fault),
        }
    }
}

/// A record as a piece of its own.
fn alone(piece: &Piece, place: &Place) -> (Piece, Place) {
    let bytes = piece.bytes[place.range.clone()].to_vec();
    let place_alone = Place { range: 0..bytes.len(), ..place.clone() };
    let Piece { input, form, .. } = *piece;
    let offset = piece.offset + place.range.start as u64;
    (Piece { bytes, input, form, line: place.begin_line, offset }, place_alone)
}

/// The values of an attribute.
type Values<'v> = Vec<Cow<'v, [u8]>>;

/// The attributes of a record as an add has them, without what only servers set. An account that the other server keeps locked is locked here.
fn gathered(content: Content<'_>) -> Result<Vec<u8>, Fault> {
    let mut places: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let mut gathered: Vec<(Vec<u8>, Values<'_>)> = Vec::new();
    let mut is_locked = false;
    content.try_each(|_, line| {
        let Value::Bytes(value) = line.value else {
            let reason = "a value that lies elsewhere (`:<`) is not read; put it here in base64";
            return Err(Fault::at(line.line, reason));
        };
        let Some(description) = without_state(line.description) else { return Ok(()) };
        let name = description.split(|byte| *byte == b';').next().unwrap_or_default();
        let is_bookkeeping = BOOKKEEPING.iter().any(|other| other.eq_ignore_ascii_case(name));
        let special = foreign(name);
        is_locked |= special == Some(Foreign::Lock) && locks(value);
        let description = match special {
            Some(Foreign::End) => END_TIME.to_vec(),
            Some(Foreign::History) if password_history::of_389(value).is_some() => {
                password_history::ATTRIBUTE.to_vec()
            }
            Some(_) => return Ok(()),
            None if is_bookkeeping => return Ok(()),
            None => description,
        };
        let place = *places.entry(description.to_ascii_lowercase()).or_insert(gathered.len());
        if place == gathered.len() {
            gathered.push((description, Vec::new()));
        }
        let is_history = gathered[place].0.eq_ignore_ascii_case(password_history::ATTRIBUTE);
        gathered[place].1.push(if is_history { password_history::translated(value) } else { value.into() });
        Ok(())
    })?;
    if is_locked {
        // Instead of a lock of the entry's own, which may end.
        gathered.retain(|(description, _)| !description.eq_ignore_ascii_case(LOCKED_TIME));
        gathered.push((LOCKED_TIME.to_vec(), vec![LOCKED.into()]));
    }
    let mut out = Vec::new();
    for (description, values) in gathered {
        put_attribute(&mut out, &description, values.iter().map(|value| &value[..]));
    }
    Ok(out)
}

/// A DN so that superiors are found again among what is in progress. Those that are spelled in other ways are not; then the
/// server says that there is no superior, and the entry waits until the others are there.
fn key(dn: &[u8]) -> Vec<u8> {
    dn.iter().filter(|byte| **byte != b' ').map(u8::to_ascii_lowercase).collect()
}
