//! Import into a server that runs: adds, many under way at once, superiors before subordinates.

use super::link::{Link, refusal};
use super::{RemoteError, Server};
use crate::course::{self, Course, Importer};
use crate::operational::{Foreign, foreign, without_state};
use crate::report::{Fault, ImportError, Progress, Summary, Tell};
use crate::source::{Input, Piece, Source, SourceError};
use model::ResultCode;
use model::dn::split_first;
use model::limits::MESSAGE_BYTES_MAX;
use proto::ldif::{Body, Lines, Parser, Value};
use proto::list::{Attributes, put_attribute};
use proto::message::Request;
use proto::op::Add;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// Adds under way on one connection.
const UNDER_WAY_MAX: usize = 64;
/// Bytes that wait to be sent on one connection before its answers are awaited.
const WAITING_BYTES_MAX: usize = 4 << 20;
/// What the server makes itself and lets no client set.
const BOOKKEEPING: [&[u8]; 6] =
    [b"entryUUID", b"entryCSN", b"createTimestamp", b"creatorsName", b"modifyTimestamp", b"modifiersName"];

/// Adds LDIF to a server that runs: content records and `changetype: add`, over so many connections. Attributes that only
/// servers set are left out, and what servers keep for themselves. An entry may come before its superior.
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
    connections: usize,
    inputs: &mut [Input<'_>],
    tell: Tell<'_>,
) -> Result<Summary, ImportError> {
    assert!(connections > 0, "somebody has to add");
    let Tell { on_progress, on_reject } = tell;
    let mut adding = Adding {
        links: Vec::new(),
        next: 0,
        under_way: BTreeSet::new(),
        // The first ends it: what was added stays, so the rest is better not sent.
        course: Course::new(inputs, on_reject, 1),
    };
    for _ in 0..connections {
        match Link::open(server) {
            Ok(link) => adding.links.push((link, VecDeque::new())),
            Err(error) => {
                adding.course.give_up(Fault::at(0, error.to_string()));
                break;
            }
        }
    }
    course::run(&mut adding, inputs, on_progress);
    adding.course.end()
}

/// An add that is not answered yet.
struct UnderWay {
    id: i32,
    /// See [`key`].
    key: Vec<u8>,
    dn: Vec<u8>,
    record: Vec<u8>,
    /// Where the record is in its input, and the line on which it begins.
    offset: u64,
    begin_line: u64,
    /// Line of its DN.
    line: u64,
}

/// An import under way.
struct Adding<'t> {
    /// Connections, and what is under way on each, in the order in which it was sent.
    links: Vec<(Link, VecDeque<UnderWay>)>,
    /// The connection whose turn it is.
    next: usize,
    /// Keys of all entries under way: subordinates of theirs have to wait.
    under_way: BTreeSet<Vec<u8>>,
    course: Course<'t>,
}

impl<'t> Importer<'t> for Adding<'t> {
    fn course(&mut self) -> &mut Course<'t> {
        &mut self.course
    }

    /// Adds what a source has, and waits for all answers.
    fn pass(&mut self, mut source: impl Source, on_progress: &mut dyn FnMut(Progress)) {
        let mut piece = Piece::default();
        while !self.course.is_over() {
            match source.next(&mut piece) {
                Ok(true) => {
                    self.piece(&piece);
                    self.course.progress.bytes += piece.bytes.len() as u64;
                    on_progress(self.course.progress);
                }
                Ok(false) => break,
                Err(SourceError::TooLong { line }) => {
                    self.course.give_up(Fault::at(line, "the record is too long".to_owned()));
                }
                Err(SourceError::Io(error)) => {
                    self.course.give_up(Fault::at(0, format!("cannot be read: {error}")));
                }
            }
        }
        self.settle_all();
    }
}

impl Adding<'_> {
    fn piece(&mut self, piece: &Piece) {
        let bytes = &piece.bytes;
        let mut parser = match piece.offset {
            0 => Parser::new(),
            _ => Parser::in_the_middle(piece.line),
        };
        let mut at = 0;
        while !self.course.is_over() {
            let begin_line = parser.line();
            match parser.next_record(&bytes[at..], true) {
                Ok(Some((record, consumed))) => {
                    let (range, attributes) = (at..at + consumed, attributes(&record.body, record.line));
                    let (line, dn) = (record.line, record.dn);
                    match attributes {
                        Ok(attributes) => self.send(piece, range, (begin_line, line), dn, &attributes),
                        Err(fault) => self.course.refuse(fault.with_dn(dn), &bytes[range]),
                    }
                    at += consumed;
                }
                Ok(None) => return,
                Err(error) => {
                    let skipped = parser.skip_record(&bytes[at..], true).unwrap_or(bytes.len() - at);
                    let fault = Fault::at(error.line, error.reason.to_owned());
                    self.course.refuse(fault, &bytes[at..at + skipped]);
                    at += skipped;
                }
            }
        }
    }

    /// Sends an add once its superior is not under way any more.
    fn send(
        &mut self,
        piece: &Piece,
        range: Range<usize>,
        (begin_line, line): (u64, u64),
        dn: &[u8],
        attributes: &[u8],
    ) {
        let superior = split_first(dn).1.map(key).unwrap_or_default();
        while self.under_way.contains(&superior) && !self.course.is_over() {
            let holder = |(_, adds): &(Link, VecDeque<UnderWay>)| adds.iter().any(|add| add.key == superior);
            match self.links.iter().position(holder) {
                Some(at) => self.settle(at),
                None => break,
            }
        }
        let Ok(list) = Attributes::parse(attributes) else { return };
        if self.course.is_over() {
            return;
        }
        if attributes.len() + dn.len() + 64 > MESSAGE_BYTES_MAX {
            let reason = "it is longer than a message may be, 16 MiB".to_owned();
            return self.course.refuse(Fault::of(line, dn, reason), &piece.bytes[range]);
        }
        self.next = (self.next + 1) % self.links.len();
        let at = self.next;
        while self.is_full(at) && !self.course.is_over() {
            self.settle(at);
        }
        let (link, adds) = &mut self.links[at];
        let id = link.push(|out, id| Request::Add(Add { dn, attributes: list }).encode(out, id, &[]));
        link.send();
        let (offset, record) = (piece.offset + range.start as u64, piece.bytes[range].to_vec());
        let under_way = UnderWay { id, key: key(dn), dn: dn.to_vec(), record, offset, begin_line, line };
        self.under_way.insert(under_way.key.clone());
        adds.push_back(under_way);
    }

    fn is_full(&self, at: usize) -> bool {
        let (link, adds) = &self.links[at];
        adds.len() >= UNDER_WAY_MAX || (link.waiting() > WAITING_BYTES_MAX && !adds.is_empty())
    }

    /// Waits for all answers, also when nothing more is sent: what was added is to be known.
    fn settle_all(&mut self) {
        for at in 0..self.links.len() {
            while !self.links[at].1.is_empty() {
                self.settle(at);
            }
        }
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
                self.under_way.remove(&add.key);
                self.answered(add, code, why);
            }
            Ok(None) => self.lost(at, &RemoteError::Malformed("an answer to something that was not asked")),
            Err(error) => self.lost(at, &error),
        }
    }

    /// Nothing more will come on a connection.
    fn lost(&mut self, at: usize, error: &RemoteError) {
        let unknown = std::mem::take(&mut self.links[at].1);
        for add in &unknown {
            self.under_way.remove(&add.key);
        }
        let line = unknown.front().map_or(0, |add| add.line);
        let count = unknown.len();
        self.course.give_up(Fault::at(
            line,
            format!("{error}; whether {count} entries from here on were added is not known"),
        ));
    }

    fn answered(&mut self, add: UnderWay, code: Option<ResultCode>, why: Option<String>) {
        let Some(why) = why else {
            self.course.progress.entries += 1;
            return;
        };
        let fault = Fault::of(add.line, &add.dn, why);
        match code {
            Some(ResultCode::NoSuchObject) if !self.course.is_final() => {
                let too_many = |reason| Fault { reason, ..fault };
                self.course.set_aside(&add.record, add.offset, add.begin_line, too_many);
            }
            // What is wrong is not the entry.
            Some(ResultCode::Busy | ResultCode::Unavailable | ResultCode::AdminLimitExceeded) => {
                self.course.give_up(fault)
            }
            _ => self.course.refuse(fault, &add.record),
        }
    }
}

/// The attributes of a record as an add has them, without what only servers set.
fn attributes(body: &Body<'_>, line: u64) -> Result<Vec<u8>, Fault> {
    let (Body::Content(lines) | Body::Add(lines)) = body else {
        return Err(Fault::at(line, "a change; only entries can be imported".to_owned()));
    };
    gathered(*lines)
}

fn gathered(lines: Lines<'_>) -> Result<Vec<u8>, Fault> {
    let mut places: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let mut gathered: Vec<(Vec<u8>, Vec<&[u8]>)> = Vec::new();
    for line in lines.iter() {
        let Value::Bytes(value) = line.value else {
            let reason = "a value that lies elsewhere (`:<`) is not read; put it here in base64";
            return Err(Fault::at(line.line, reason.to_owned()));
        };
        let Some(description) = without_state(line.description) else { continue };
        let name = description.split(|byte| *byte == b';').next().unwrap_or_default();
        let is_bookkeeping = BOOKKEEPING.iter().any(|other| other.eq_ignore_ascii_case(name));
        if is_bookkeeping || matches!(foreign(name), Some(Foreign::Derived | Foreign::Own | Foreign::Uuid)) {
            continue;
        }
        let place = *places.entry(description.to_ascii_lowercase()).or_insert(gathered.len());
        if place == gathered.len() {
            gathered.push((description, Vec::new()));
        }
        gathered[place].1.push(value);
    }
    let mut out = Vec::new();
    for (description, values) in gathered {
        put_attribute(&mut out, &description, values);
    }
    Ok(out)
}

/// A DN so that superiors are found again among what is under way. Those that are spelled in other ways are not; then the
/// server says that there is no superior, and the entry waits until the others are there.
fn key(dn: &[u8]) -> Vec<u8> {
    dn.iter().filter(|byte| **byte != b' ').map(u8::to_ascii_lowercase).collect()
}
