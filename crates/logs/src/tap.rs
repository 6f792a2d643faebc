//! What the access log takes of a connection: its requests as they are done with, and the answers as they are written. Nothing is decoded
//! that need not be, and passwords, credentials and values are not copied. Where the log is a sample, a request whose answer is there at
//! once, and that has no line, makes no record: it is counted.
//!
//! | operation | target | detail |
//! |---|---|---|
//! | bind | the name, of a simple one | `simple`, `anonymous`, or the mechanism |
//! | search | base | the message without its controls, if it is short enough |
//! | modify | entry | kind and type of each change |
//! | add | entry | types |
//! | modify DN | entry | new RDN, and after a NUL the new superior |
//! | compare | entry | type |
//! | extended | - | OID |
//! | abandon | - | messageID of the other request |

use crate::record::{Annotation, Extra, Record, SEARCH_BYTES_MAX, Stamp, TEXT_BYTES_MAX};
use crate::sample::{self, Sample};
use crate::tracking;
use proto::control::{Controls, proxied_authorization, session_tracking, transaction_specification};
use proto::op::Extended;
use proto::op::given::AllGiven;
use proto::op::modify::ModifyKind;
use proto::outline::any_element;
use proto::{Frame, Outline, frame, tag};

/// Searches of a connection whose entries are counted at the same time; those of others are not counted.
const COUNTS_MAX: usize = 256;

/// Memory for records, which the connections of a thread share.
#[derive(Debug, Default)]
pub struct Memory {
    record: Vec<u8>,
    detail: Vec<u8>,
    controls: Vec<u8>,
    acting: Vec<u8>,
    transaction: Vec<u8>,
    session: Vec<u8>,
}

impl Memory {
    /// Encodes a record and hands it on.
    pub fn put(&mut self, stamp: Stamp, record: &Record<'_>, put: &mut impl FnMut(&[u8])) {
        record.encode(stamp, &mut self.record);
        put(&self.record);
    }
}

/// Requests that were held back before the session took them, because others before them took long: those in the first octets of what it took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// So many octets.
    pub octets: usize,
    /// For so many microseconds.
    pub us: u32,
}

impl Held {
    /// How long the next request was.
    fn wait_us(&self) -> u32 {
        if self.octets > 0 { self.us } else { 0 }
    }

    /// It has so many octets.
    fn pass(&mut self, octets: usize) {
        self.octets = self.octets.saturating_sub(octets);
    }
}

/// What is kept of a connection between two looks.
#[derive(Debug, Default)]
pub struct Tap {
    /// Requests so far.
    operations: u64,
    /// Octets of an answer that are still to be written.
    rest: usize,
    /// Entries and octets of searches that are suspended.
    counts: Vec<Count>,
    /// An answer could not be followed: nothing more is logged of answers.
    is_lost: bool,
    /// Searches that have no record.
    searches: u64,
    /// Compares that have none.
    compares: u64,
}

#[derive(Clone, Copy, Debug)]
struct Count {
    id: i32,
    entries: u32,
    bytes: u64,
}

impl Tap {
    /// Requests that came so far.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Takes requests and the answers to them that belong into no record off the begin of both: they are counted. Where
    /// `sample` wants one, it has its records. Ends at the first request that is not answered yet, and at a bind: who the client is then
    /// comes between its records.
    pub fn ordinary<'a>(
        &mut self,
        (came, answered): (Stamp, Stamp),
        (requests, answers): (&mut &[u8], &mut &[u8]),
        (held, annotation): (&mut Held, &impl Fn(i32) -> Annotation<'a>),
        sample: &mut Sample,
        memory: &mut Memory,
        put: &mut impl FnMut(&[u8]),
    ) {
        if self.rest != 0 || self.is_lost || !self.counts.is_empty() {
            return;
        }
        let ns = answered.monotonic_ns.saturating_sub(came.monotonic_ns);
        while let Some(pair) = Pair::of(requests, answers) {
            let (request, rest_of_requests) = requests.split_at(pair.request);
            let (answer, rest_of_answers) = answers.split_at(pair.answer);
            let ns = ns + u64::from(held.wait_us()) * 1000;
            // Searches that lacked an index have their lines.
            let is_ordinary =
                sample::is_ordinary(pair.op, pair.code, ns) && !annotation(pair.id).is_unindexed;
            match pair.op {
                tag::BIND => return,
                _ if !is_ordinary || sample.takes(came.wall_ms) => {
                    self.requests(came, (request, held), memory, put);
                    self.answers(answered, answer, annotation, memory, put);
                }
                op => {
                    held.pass(pair.request);
                    self.operations += 1;
                    let count = if op == tag::SEARCH { &mut self.searches } else { &mut self.compares };
                    *count += 1;
                }
            }
            (*requests, *answers) = (rest_of_requests, rest_of_answers);
        }
    }

    /// Tells of the operations that had no record, when the connection ends.
    pub fn counted(&mut self, stamp: Stamp, memory: &mut Memory, put: &mut impl FnMut(&[u8])) {
        for (op, count) in [(tag::SEARCH, &mut self.searches), (tag::COMPARE, &mut self.compares)] {
            let count = std::mem::take(count);
            if count != 0 {
                memory.put(stamp, &Record::Counted { op, count }, put);
            }
        }
    }

    /// Tells of the requests in `input`, which are whole messages but for the last, of a stream that cannot be followed.
    pub fn requests(
        &mut self,
        stamp: Stamp,
        (mut input, held): (&[u8], &mut Held),
        memory: &mut Memory,
        put: &mut impl FnMut(&[u8]),
    ) {
        while !input.is_empty() {
            let len = match frame(input) {
                Ok(Frame::Complete { len }) => len,
                Ok(Frame::Incomplete { .. }) | Err(_) => input.len(),
            };
            let (message, rest) = input.split_at(len);
            self.operations += 1;
            let wait_us = held.wait_us();
            held.pass(len);
            request(stamp.earlier(wait_us), (self.operations, message, wait_us), memory, put);
            input = rest;
        }
    }

    /// Tells of the results in `written`, which goes on where the last call ended. `annotation`: what else is known of the request with a messageID.
    pub fn answers<'a>(
        &mut self,
        stamp: Stamp,
        mut written: &[u8],
        annotation: &impl Fn(i32) -> Annotation<'a>,
        memory: &mut Memory,
        put: &mut impl FnMut(&[u8]),
    ) {
        let passed = self.rest.min(written.len());
        self.rest -= passed;
        written = &written[passed..];
        while !written.is_empty() && !self.is_lost {
            let Some(head) = Head::of(written) else {
                self.is_lost = true;
                return;
            };
            let there = head.len.min(written.len());
            self.answer(stamp, (&head, &written[..there]), annotation, memory, put);
            self.rest = head.len - there;
            written = &written[there..];
        }
    }

    fn answer<'a>(
        &mut self,
        stamp: Stamp,
        (head, message): (&Head, &[u8]),
        annotation: &impl Fn(i32) -> Annotation<'a>,
        memory: &mut Memory,
        put: &mut impl FnMut(&[u8]),
    ) {
        let at = self.counts.iter().position(|count| count.id == head.id);
        if matches!(head.op, tag::SEARCH_ENTRY | tag::SEARCH_REFERENCE | tag::INTERMEDIATE) {
            let at = at.or_else(|| {
                self.counts.push(Count { id: head.id, entries: 0, bytes: 0 });
                self.counts.len().checked_sub(1)
            });
            if let Some(count) = at.and_then(|at| self.counts.get_mut(at)) {
                count.entries += u32::from(head.op == tag::SEARCH_ENTRY);
                count.bytes += head.len as u64;
            }
            // A client that sends searches whose answers it never takes keeps no more than this.
            self.counts.truncate(COUNTS_MAX);
            return;
        }
        // Of what the server says on its own account, no request waits for it.
        let Some((code, text)) = result_of(message).filter(|_| head.id != 0) else { return };
        let count = at.map(|at| self.counts.swap_remove(at));
        let (entries, bytes) = count.map_or((0, 0), |count| (count.entries, count.bytes));
        let bytes = bytes + head.len as u64;
        let text = cut(text);
        let annotation = annotation(head.id);
        memory.put(stamp, &Record::Answer { id: head.id, code, text, entries, bytes, annotation }, put);
    }
}

/// A request and the answer to it that follows at once.
struct Pair {
    /// Octets of the request.
    request: usize,
    /// Octets of its answer, with entries and references.
    answer: usize,
    /// messageID.
    id: i32,
    /// Tag of the request.
    op: u8,
    /// Result code.
    code: u16,
}

impl Pair {
    /// That at the begin of both, if both are there as a whole.
    fn of(requests: &[u8], answers: &[u8]) -> Option<Pair> {
        let asked = Head::of(requests).filter(|head| head.len <= requests.len())?;
        let expected = tag::response_to(asked.op)?;
        let mut answer = 0;
        loop {
            let rest = &answers[answer..];
            let head = Head::of(rest).filter(|head| head.len <= rest.len() && head.id == asked.id)?;
            answer += head.len;
            if head.op == expected {
                let (code, _) = result_of(&rest[..head.len])?;
                return Some(Pair { request: asked.len, answer, id: asked.id, op: asked.op, code });
            }
        }
    }
}

/// What the first octets of a message say.
struct Head {
    len: usize,
    id: i32,
    op: u8,
}

impl Head {
    fn of(message: &[u8]) -> Option<Head> {
        let (len, body) = head(message)?;
        let (id_len, id) = head(body)?;
        let id_head = body.len() - id.len();
        let number = id.get(..id_len - id_head)?;
        let id = number.iter().fold(0i32, |n, &octet| n << 8 | i32::from(octet));
        Some(Head { len, id, op: *body.get(id_len)? })
    }
}

/// Octets of a whole element, and what follows its tag and length.
fn head(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let [_, first, rest @ ..] = bytes else { return None };
    if *first < 0x80 {
        return Some((2 + usize::from(*first), rest));
    }
    let count = usize::from(first & 0x7f);
    let (len, rest) = rest.split_at_checked(count).filter(|_| (1..=4).contains(&count))?;
    Some((2 + count + len.iter().fold(0, |n, &octet| n << 8 | usize::from(octet)), rest))
}

/// Result code and diagnosticMessage of a whole answer.
fn result_of(message: &[u8]) -> Option<(u16, &[u8])> {
    let ((_, body), _) = any_element(message)?;
    let (_, rest) = any_element(body)?;
    let ((_, result), _) = any_element(rest)?;
    let ((_, code), rest) = any_element(result)?;
    let (_, rest) = any_element(rest)?;
    let ((_, text), _) = any_element(rest)?;
    Some((code.iter().fold(0, |n, &octet| n << 8 | u16::from(octet)), text))
}

fn cut(text: &[u8]) -> &[u8] {
    &text[..text.len().min(TEXT_BYTES_MAX)]
}

/// Tells of one request.
fn request(
    stamp: Stamp,
    (number, message, wait_us): (u64, &[u8], u32),
    memory: &mut Memory,
    put: &mut impl FnMut(&[u8]),
) {
    let Memory { record, detail, controls, acting, transaction, session } = memory;
    [&mut *detail, controls, acting, transaction, session].into_iter().for_each(Vec::clear);
    let Some(outline) = Outline::of(message) else {
        let none = Record::Request {
            number,
            id: 0,
            op: 0,
            target: b"",
            detail: b"",
            controls: b"",
            acting: b"",
            extra: Extra { wait_us, ..Extra::default() },
        };
        return memory.put(stamp, &none, put);
    };
    if !outline.after.is_empty() {
        for control in Controls::of(message).iter() {
            push(controls, control.oid);
            let kept = match control.oid {
                proxied_authorization::OID => &mut *acting,
                transaction_specification::OID => &mut *transaction,
                session_tracking::OID => &mut *session,
                _ => continue,
            };
            let value = control.value.unwrap_or_default();
            // Of several only the first, so that it is no longer than one.
            match control.oid {
                _ if !kept.is_empty() => {}
                session_tracking::OID => *kept = tracking::kept(value),
                _ => kept.extend_from_slice(cut(value)),
            }
        }
    }
    let mut target = outline.dn;
    match outline.op_tag {
        tag::BIND => target = bind(outline.rest, detail),
        // Controls may have filters of their own, with values that nobody looks for secrets among.
        tag::SEARCH if message.len() <= SEARCH_BYTES_MAX => outline.put_without_controls(message, detail),
        tag::MODIFY | tag::ADD => types(outline.op_tag, outline.rest, detail),
        tag::MODIFY_DN => new_name(outline.rest, detail),
        tag::COMPARE => {
            let assertion = any_element(outline.rest).and_then(|((_, assertion), _)| any_element(assertion));
            detail.extend_from_slice(cut(assertion.map_or(b"", |((_, name), _)| name)));
        }
        tag::EXTENDED => detail.extend_from_slice(cut(Extended::oid_of(outline.rest).unwrap_or_default())),
        tag::ABANDON => {
            let id = outline.rest.iter().take(4).fold(0u32, |n, &octet| n << 8 | u32::from(octet));
            detail.extend_from_slice(id.to_string().as_bytes());
        }
        _ => {}
    }
    let (id, op) = (outline.id, outline.op_tag);
    let extra = Extra { wait_us, transaction, session };
    let request = Record::Request { number, id, op, target: cut(target), detail, controls, acting, extra };
    request.encode(stamp, record);
    put(record);
}

/// Adds a word to a list, as long as it is short.
fn push(list: &mut Vec<u8>, word: &[u8]) {
    if list.len() + word.len() < TEXT_BYTES_MAX {
        if !list.is_empty() {
            list.push(b' ');
        }
        list.extend_from_slice(word);
    }
}

/// Name and method of a bind. What proves the name is not looked at.
fn bind<'a>(request: &'a [u8], detail: &mut Vec<u8>) -> &'a [u8] {
    let parts = any_element(request).and_then(|(_, rest)| any_element(rest));
    let Some(((_, name), rest)) = parts else { return b"" };
    match any_element(rest) {
        Some(((0x80, b""), _)) if name.is_empty() => detail.extend_from_slice(b"anonymous"),
        Some(((0x80, _), _)) => detail.extend_from_slice(b"simple"),
        Some(((0xa3, sasl), _)) => {
            detail.extend_from_slice(cut(any_element(sasl).map_or(b"", |((_, mechanism), _)| mechanism)));
            return b"";
        }
        _ => {}
    }
    name
}

/// The types that an add or a modify gives, a modify's with what is done with them.
fn types(op: u8, rest: &[u8], detail: &mut Vec<u8>) {
    for given in AllGiven::of(op, rest).into_iter().flatten().flatten() {
        let kind = match given.kind {
            _ if op == tag::ADD => "",
            ModifyKind::Add => "add:",
            ModifyKind::Delete => "delete:",
            ModifyKind::Replace => "replace:",
            ModifyKind::Increment => "increment:",
        };
        if detail.len() + kind.len() + given.description.len() < TEXT_BYTES_MAX {
            push(detail, kind.as_bytes());
            match kind {
                "" => push(detail, given.description),
                _ => detail.extend_from_slice(given.description),
            }
        }
    }
}

/// New RDN and new superior of a modify DN.
fn new_name(rest: &[u8], detail: &mut Vec<u8>) {
    let Some(((_, rdn), rest)) = any_element(rest) else { return };
    detail.extend_from_slice(cut(rdn));
    let superior = any_element(rest).and_then(|(_, rest)| any_element(rest));
    if let Some(((_, superior), _)) = superior {
        detail.push(0);
        detail.extend_from_slice(cut(superior));
    }
}

#[cfg(test)]
mod tests;
