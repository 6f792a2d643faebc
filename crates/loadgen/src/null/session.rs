//! One connection of the null responder: one write for each read, with a log after the log was synced.

use super::Canned;
use super::log::Log;
use super::request::{Operation, Request, parse};
use super::table::{Table, VALUE_MAX};
use crate::socket::Socket;
use crate::wire::{PAD, message, put_header, put_padded, put_short};
use env::poll::{Connection, Event, Interest, Poller, Progress};
use proto::ber::tlv_len;
use proto::tag;

/// Requests whose records are fetched together, so that their cache misses overlap.
const GROUP: usize = 64;
/// Bytes of the longest request.
const REQUEST_MAX: usize = 4096;
/// Bytes read at once.
const READ_BYTES: usize = 256 << 10;

/// The memory that all connections of a thread share, so that it stays in the cache.
pub(super) struct Buffers {
    pub(super) input: Vec<u8>,
    pub(super) out: Vec<u8>,
    group: Vec<Request>,
    /// Where modifies are kept, if they are.
    pub(super) log: Option<Log>,
    /// Connections whose answers wait for the log.
    pub(super) held: Vec<u64>,
}

impl Buffers {
    pub(super) fn new(log: Option<Log>) -> Buffers {
        let input = vec![0; READ_BYTES + REQUEST_MAX + PAD];
        Buffers { input, out: Vec::new(), group: Vec::with_capacity(GROUP), log, held: Vec::new() }
    }
}

pub(super) struct Session {
    socket: Socket,
    /// The beginning of a request whose end has not come yet.
    rest: Vec<u8>,
    /// Answers that wait for the log.
    held: Vec<u8>,
}

impl Session {
    pub(super) fn new(connection: Connection, token: u64) -> Session {
        let socket = Socket::new(connection, token, Interest::Write);
        Session { socket, rest: Vec::new(), held: Vec::new() }
    }

    /// Does what there is to do; `false` when the connection has ended.
    pub(super) fn on_ready(
        &mut self,
        canned: &Canned,
        table: &Table,
        buffers: &mut Buffers,
        poller: &Poller,
        event: Event,
    ) -> bool {
        if self.socket.is_blocked() {
            // Nothing more is read until the client has taken its answers.
            return self.socket.flush(poller);
        }
        if !event.readable {
            return true;
        }
        let kept = self.rest.len();
        buffers.input[..kept].copy_from_slice(&self.rest);
        let end = match self.socket.connection.read(&mut buffers.input[kept..kept + READ_BYTES]) {
            Progress::Bytes(bytes) => kept + bytes,
            Progress::Later => return true,
            Progress::Closed => return false,
        };
        buffers.out.clear();
        let Some(used) = answer_all(end, canned, table, buffers) else { return false };
        assert!(used <= end, "no request is answered that was not read whole");
        if end - used > REQUEST_MAX {
            return false;
        }
        self.rest.clear();
        self.rest.extend_from_slice(&buffers.input[used..end]);
        if buffers.log.is_some() && !buffers.out.is_empty() {
            self.held.extend_from_slice(&buffers.out);
            buffers.held.push(self.socket.token());
            return true;
        }
        buffers.out.is_empty() || self.socket.send(&buffers.out, poller)
    }

    /// Sends what waited for the log; `false` when the connection has ended.
    pub(super) fn release(&mut self, poller: &Poller) -> bool {
        let sent = self.socket.send(&self.held, poller);
        self.held.clear();
        sent
    }
}

/// Answers all whole requests before `end`; returns where the rest begins, or `None` when the connection should end.
pub(super) fn answer_all(end: usize, canned: &Canned, table: &Table, buffers: &mut Buffers) -> Option<usize> {
    let Buffers { input, out, group, log, .. } = buffers;
    let mut at = 0;
    loop {
        group.clear();
        while group.len() < GROUP {
            let Some(message) = message(input, at, end).ok()? else { break };
            group.push(parse(input, message, canned)?);
            at = message.end;
        }
        if group.is_empty() {
            return Some(at);
        }
        if group.len() > 1 {
            // A loop of nothing but loads: the processor has as many of them in progress as it can.
            std::hint::black_box(group.iter().fold(0, |sum, request| sum ^ table.touch(request.key)));
        }
        for request in &*group {
            answer(request, input, canned, table, log, out)?;
        }
    }
}

/// Success, no matchedDN, no diagnosticMessage.
const SUCCESS: [u8; 7] = [0x0a, 1, 0, 4, 0, 4, 0];

#[inline(always)]
fn result(tag: u8, id_len: usize, request: &Request, input: &[u8], code: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[tag::SEQUENCE, (id_len + 2 + SUCCESS.len()) as u8]);
    put_padded(out, input, request.id.start, id_len);
    out.extend_from_slice(&[tag, SUCCESS.len() as u8]);
    let [a, b, _, c, d, e, f] = SUCCESS;
    out.extend_from_slice(&[a, b, code, c, d, e, f]);
}

#[inline(always)]
fn answer(
    request: &Request,
    input: &[u8],
    canned: &Canned,
    table: &Table,
    log: &mut Option<Log>,
    out: &mut Vec<u8>,
) -> Option<()> {
    const NO_SUCH_OBJECT: u8 = 32;
    let id_len = request.id.len();
    let found = table.has(request.key) && table.is(request.key);
    let code = if found { 0 } else { NO_SUCH_OBJECT };
    match request.asked {
        Operation::Search { all } => {
            if found {
                entry(request, input, canned, table, all, out);
            }
            result(tag::SEARCH_DONE, id_len, request, input, code, out);
        }
        Operation::Modify { value } => {
            if found {
                if let Some(log) = log {
                    log.append(request.key, value.of(input));
                }
                table.set_value(request.key, input, value.start, value.len());
            }
            result(tag::MODIFY_RESPONSE, id_len, request, input, code, out);
        }
        Operation::Bind => result(tag::BIND_RESPONSE, id_len, request, input, 0, out),
        Operation::Abandon => {}
        Operation::Unbind => return None,
    }
    Some(())
}

#[inline(always)]
fn entry(request: &Request, input: &[u8], canned: &Canned, table: &Table, all: bool, out: &mut Vec<u8>) {
    let digits = request.digits;
    let dn = canned.before.as_bytes().len() + digits.len() + canned.after.as_bytes().len();
    if !all {
        entry_head(request, input, canned, dn, 0, out);
        return;
    }
    let mut value = [0; VALUE_MAX + 8];
    let len = table.value(request.key, &mut value);
    let rdn_values = tlv_len(digits.len());
    let rdn = canned.rdn.as_bytes().len() + tlv_len(rdn_values);
    let values = tlv_len(len);
    let attribute = canned.attribute.as_bytes().len() + tlv_len(values);
    let list = canned.object_classes.len() + tlv_len(rdn) + tlv_len(attribute);
    entry_head(request, input, canned, dn, list, out);
    out.extend_from_slice(&canned.object_classes);
    put_header(out, tag::SEQUENCE, rdn);
    put_short(out, &canned.rdn);
    put_header(out, tag::SET, rdn_values);
    put_header(out, tag::OCTET_STRING, digits.len());
    put_padded(out, input, digits.start, digits.len());
    put_header(out, tag::SEQUENCE, attribute);
    put_short(out, &canned.attribute);
    put_header(out, tag::SET, values);
    put_header(out, tag::OCTET_STRING, len);
    out.extend_from_slice(&value[..len]);
}

/// Everything of a SearchResultEntry up to its attributes, which have `list` bytes.
#[inline(always)]
fn entry_head(request: &Request, input: &[u8], canned: &Canned, dn: usize, list: usize, out: &mut Vec<u8>) {
    let operation = tlv_len(dn) + tlv_len(list);
    let id_len = request.id.len();
    put_header(out, tag::SEQUENCE, id_len + tlv_len(operation));
    put_padded(out, input, request.id.start, id_len);
    put_header(out, tag::SEARCH_ENTRY, operation);
    put_header(out, tag::OCTET_STRING, dn);
    put_short(out, &canned.before);
    put_padded(out, input, request.digits.start, request.digits.len());
    put_short(out, &canned.after);
    put_header(out, tag::SEQUENCE, list);
}
