//! What is known of a connection while its records come.

use crate::record::{Extra, Record};
use crate::redact::Redactor;
use proto::message::{Message, Request};
use proto::op::Search;
use std::collections::{BTreeMap, BTreeSet};

/// Requests of a connection that may wait for their answers in the log. Where answers were lost, these would be more and more.
pub(crate) const PENDING_MAX: usize = 1 << 16;

/// A request whose answer has not come.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// Number of the operation within the connection, from 1 on.
    pub(crate) number: u64,
    /// messageID; 0 of what is no regular message.
    pub(crate) id: i32,
    pub(crate) wall_ms: u64,
    pub(crate) began_ns: u64,
    pub(crate) op: u8,
    pub(crate) target: Vec<u8>,
    pub(crate) detail: Vec<u8>,
    pub(crate) controls: Vec<u8>,
    pub(crate) acting: Vec<u8>,
    pub(crate) wait_us: u32,
    pub(crate) transaction: Vec<u8>,
    pub(crate) session: Vec<u8>,
    /// Who a bind makes the session, if it succeeds.
    pub(crate) becomes: Option<Vec<u8>>,
}

impl Pending {
    /// Puts target, detail, controls, who it acts as, transaction and session into the memory of those of another request.
    pub(crate) fn put_texts(&mut self, texts: [&[u8]; 6]) {
        let Pending { target, detail, controls, acting, transaction, session, .. } = self;
        for (place, text) in [target, detail, controls, acting, transaction, session].into_iter().zip(texts) {
            place.clear();
            place.extend_from_slice(text);
        }
    }

    /// Takes secrets out of it.
    pub(crate) fn redact(&mut self, redactor: &mut Redactor) {
        let Record::Request { target, detail, acting, .. } = redactor.redact(self.record()) else { return };
        // Mostly there is none, and what comes back is what was given.
        let other = |own: &[u8], new: &[u8]| (!std::ptr::eq(own, new)).then(|| new.to_vec());
        let others = [other(&self.target, target), other(&self.detail, detail), other(&self.acting, acting)];
        for (place, other) in [&mut self.target, &mut self.detail, &mut self.acting].into_iter().zip(others) {
            if let Some(other) = other {
                *place = other;
            }
        }
    }

    /// Its record.
    pub(crate) fn record(&self) -> Record<'_> {
        let Pending { number, id, op, ref target, ref detail, ref controls, ref acting, .. } = *self;
        let Pending { wait_us, ref transaction, ref session, .. } = *self;
        let extra = Extra { wait_us, transaction, session };
        Record::Request { number, id, op, target, detail, controls, acting, extra }
    }

    /// A search, if it was kept whole.
    pub(crate) fn search(&self) -> Option<Search<'_>> {
        match Message::decode(&self.detail) {
            Ok(Message { request: Request::Search(search), .. }) => Some(search),
            _ => None,
        }
    }

    /// Of a modify DN: new RDN and new superior.
    pub(crate) fn new_name(&self) -> (&[u8], Option<&[u8]>) {
        let mut parts = self.detail.splitn(2, |&octet| octet == 0);
        (parts.next().unwrap_or_default(), parts.next())
    }

    /// Of an add or a modify: its types, with what is done with them.
    pub(crate) fn words(&self) -> impl Iterator<Item = &[u8]> {
        words(&self.detail)
    }

    /// Of a bind: is it by SASL?
    pub(crate) fn is_sasl(&self) -> bool {
        !matches!(&self.detail[..], b"simple" | b"anonymous")
    }

    /// As whom it asks to be applied; a DN without its prefix.
    pub(crate) fn acts_as(&self) -> Option<&[u8]> {
        let acting = Some(&self.acting[..]).filter(|acting| !acting.is_empty())?;
        Some(acting.strip_prefix(b"dn:").unwrap_or(acting))
    }
}

/// What stands between blanks.
pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&octet| octet == b' ').filter(|word| !word.is_empty())
}

/// A connection.
#[derive(Debug, Default)]
pub(crate) struct Open {
    pub(crate) peer: String,
    pub(crate) listener: String,
    /// The load balancer that it came by; empty if by none.
    pub(crate) via: String,
    /// When it was accepted, in Unix milliseconds.
    pub(crate) began_ms: u64,
    /// Its place among those that are open at the same time.
    pub(crate) slot: u64,
    /// Has it a line that says so?
    pub(crate) has_begun: bool,
    pub(crate) strength: u16,
    /// Version and cipher suite of its TLS, if that is on and they are known.
    pub(crate) version: String,
    pub(crate) suite: String,
    /// Who its session is; empty for anonymous.
    pub(crate) dn: String,
    /// By which mechanism, if by SASL.
    pub(crate) mechanism: String,
    /// Operations so far.
    pub(crate) operations: u64,
    /// Has the client said that it ends?
    pub(crate) has_unbound: bool,
    /// How many of each operation, by the tag of its request, have no line of their own.
    pub(crate) counted: BTreeMap<u8, u64>,
    /// Apart from the map, whose items are moved when others come and go.
    pending: BTreeMap<i32, Box<Pending>>,
    /// Identities that came before their request: a bind is applied before it is logged of.
    early: BTreeMap<i32, Vec<u8>>,
}

impl Open {
    /// One that begins.
    pub(crate) fn new(peer: String, listener: String, began_ms: u64, slot: u64) -> Open {
        Open { peer, listener, began_ms, slot, ..Open::default() }
    }

    /// A request came, and is kept until it is answered. Returns one that is not kept any more for it: one of the same messageID, or the one with the
    /// smallest, which has waited longest.
    pub(crate) fn keep(&mut self, mut pending: Box<Pending>) -> Option<Box<Pending>> {
        pending.becomes = self.early.remove(&pending.id);
        let same = self.pending.insert(pending.id, pending);
        same.or_else(|| if self.pending.len() > PENDING_MAX { self.take_any() } else { None })
    }

    /// A bind has made the session somebody.
    pub(crate) fn bound(&mut self, id: i32, dn: &[u8]) {
        match self.pending.get_mut(&id) {
            Some(pending) => pending.becomes = Some(dn.to_vec()),
            // One at a time waits for its request.
            None => self.early = BTreeMap::from([(id, dn.to_vec())]),
        }
    }

    /// The request with this messageID, which is answered or given up.
    pub(crate) fn take(&mut self, id: i32) -> Option<Box<Pending>> {
        self.pending.remove(&id)
    }

    /// Any request that was not answered.
    pub(crate) fn take_any(&mut self) -> Option<Box<Pending>> {
        self.pending.pop_first().map(|(_, pending)| pending)
    }

    /// Number of the operation that waits under a messageID in digits.
    pub(crate) fn number_of(&self, id: &[u8]) -> Option<u64> {
        let id = str::from_utf8(id).ok()?.parse().ok()?;
        self.pending.get(&id).map(|pending| pending.number)
    }

    /// Is its client on this machine, at the other end of a Unix socket?
    pub(crate) fn is_local(&self) -> bool {
        self.peer.starts_with("ldapi")
    }

    /// The address of its client, without the port.
    pub(crate) fn host(&self) -> &str {
        let host = self.peer.rsplit_once(':').map_or(&self.peer[..], |(host, _)| host);
        host.trim_start_matches('[').trim_end_matches(']')
    }

    /// Did it end without an unbind?
    pub(crate) fn is_lost(&self) -> bool {
        !self.has_unbound
    }
}

/// Places of connections, the smallest that is free first: as a system gives descriptors, which tools for logs count.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    free: BTreeSet<u64>,
    used: u64,
}

impl Slots {
    pub(crate) fn take(&mut self) -> u64 {
        self.free.pop_first().unwrap_or_else(|| {
            self.used += 1;
            self.used
        })
    }

    pub(crate) fn give_back(&mut self, slot: u64) {
        self.free.insert(slot);
    }
}
