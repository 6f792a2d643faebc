//! The transactions that a session has open.

use super::{HasPrecedence, Holding};
use crate::client_memory::{ClientMemory, Kept};
use crate::engine::Dsa;
use crate::identity::Identity;
use crate::journal::Submission;
use model::limits::TRANSACTIONS_MEMORY_MAX;
use proto::outline::put_without_controls;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use store::overlay::Overlay;

/// Transactions that one session may have open.
pub(crate) const SESSION_TRANSACTIONS_MAX: usize = 16;
/// Bytes of an identifier that a client chose.
pub(crate) const IDENTIFIER_BYTES_MAX: usize = 64;
/// Identifiers of transactions that the server aborted: the newest are remembered until their end is asked for, so that
/// updates that were on their way do not begin another transaction of the same name.
const ABORTED_MAX: usize = 64;

/// Part of all transactions that one identity may have open.
const IDENTITY_SHARE: u64 = 4;
/// Part of all transactions that only the root DN may open.
const ROOT_SHARE: u64 = 10;
/// Part of the memory of all clients that their transactions may have together.
const MEMORY_SHARE: u64 = 2;

/// How many transactions are open in the server, and the memory that they have.
#[derive(Debug)]
pub(crate) struct OpenCount {
    open: Mutex<OpenBy>,
    bytes: AtomicU64,
    memory: Arc<ClientMemory>,
}

#[derive(Debug, Default)]
struct OpenBy {
    all: u64,
    /// By the DN of those that began them, but the root DN.
    identities: BTreeMap<Box<[u8]>, u64>,
}

/// A place among the open transactions; it is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Open {
    count: Arc<OpenCount>,
    /// Whose it is, if not the root DN's.
    dn: Option<Box<[u8]>>,
    bytes: u64,
    /// What of it is counted for the client.
    kept: Kept,
}

impl OpenCount {
    /// None is open. The memory of those to come is a part of that of clients.
    pub(crate) fn new(memory: &Arc<ClientMemory>) -> Arc<OpenCount> {
        let memory = Arc::clone(memory);
        Arc::new(OpenCount { open: Mutex::default(), bytes: AtomicU64::new(0), memory })
    }

    /// Taken at begins and ends only, never for an update.
    fn open(&self) -> MutexGuard<'_, OpenBy> {
        // A count is whole after every statement, so a panic leaves nothing half done.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// One more of those that `identity` began, of `max` in all. One identity may have a quarter of them, and all but the
    /// root DN nine tenths, but one session as many as a session may have.
    ///
    /// # Errors
    /// A text for the client.
    pub(crate) fn one_of(
        count: &Arc<OpenCount>,
        max: u64,
        identity: &Identity,
    ) -> Result<Open, &'static str> {
        let mut open = count.open();
        // A tenth is the root DN's alone: an administrator must be able to work when clients have used up all others.
        let is_root = identity.is_root;
        let most = if is_root { max } else { max - max / ROOT_SHARE };
        if open.all >= most {
            return Err("txn-open-max is reached");
        }
        let dn = (!is_root).then(|| Box::from(&identity.dn[..]));
        if let Some(dn) = &dn {
            let own = open.identities.entry(Box::clone(dn)).or_default();
            if *own >= (max / IDENTITY_SHARE).max(SESSION_TRANSACTIONS_MAX as u64) {
                return Err("the limit of open transactions of one identity is reached");
            }
            *own += 1;
        }
        open.all += 1;
        let identities = open.identities.len() as u64;
        assert!(identities <= open.all, "an identity is counted while it has a transaction open");
        Ok(Open { count: Arc::clone(count), dn, bytes: 0, kept: Kept::new(&count.memory) })
    }

    /// It has so many bytes of memory now. `false` if all transactions together have too many. One alone may have more than the
    /// share of all, so that the longest has room.
    /// Wrapping, since it may shrink: the difference of two sizes is added modulo 2^64.
    fn grows_to(&mut self, bytes: u64) -> bool {
        let more = bytes.wrapping_sub(std::mem::replace(&mut self.bytes, bytes));
        let all = self.count.bytes.fetch_add(more, Ordering::Relaxed).wrapping_add(more);
        self.kept.set(bytes as usize, true);
        // The one that grows beyond the bound is given up. Those that were there before stay.
        let share = if all == bytes { u64::MAX } else { self.count.memory.bytes_max() / MEMORY_SHARE };
        all <= share.min(TRANSACTIONS_MEMORY_MAX)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let bytes = self.count.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        assert!(bytes >= self.bytes, "no more memory is given back than was counted");
        let mut open = self.count.open();
        assert!(open.all > 0, "no more transactions end than were open");
        open.all -= 1;
        let Some(dn) = &self.dn else { return };
        if let Some(own) = open.identities.get_mut(dn) {
            assert!(*own > 0, "an identity ends no more transactions than it has open");
            *own -= 1;
            if *own == 0 {
                open.identities.remove(dn);
            }
        }
    }
}

/// Why a transaction cannot be committed any more.
#[derive(Debug)]
pub(crate) struct AbortReason {
    /// Message id of the update that was refused.
    pub(crate) culprit: i32,
    /// The answer that it got, a whole message.
    pub(crate) answer: Vec<u8>,
}

/// An open transaction.
pub(crate) struct Transaction {
    pub(crate) identifier: Vec<u8>,
    /// Who its updates are applied as.
    pub(crate) identity: Identity,
    /// When it began, of the monotonic clock.
    pub(crate) began_ns: u64,
    /// The updates that were accepted, with a prepared write or none for each. Memory of the thread from the first one on.
    pub(crate) submission: Box<Submission>,
    pub(crate) updates: u64,
    /// Entries that the answer to the end brings.
    pub(crate) reads: usize,
    /// What the updates have made of the directory, if not all of them could be prepared.
    pub(crate) overlay: Option<Box<Overlay>>,
    pub(crate) abort_reason: Option<AbortReason>,
    /// What it holds where clients have different precedence.
    pub(crate) holding: Option<Holding>,
    /// Its place among the server's open transactions.
    open: Open,
}

impl Transaction {
    /// One that begins.
    pub(crate) fn new(identifier: Vec<u8>, identity: Identity, began_ns: u64, open: Open) -> Transaction {
        Transaction {
            identifier,
            identity,
            began_ns,
            submission: Box::default(),
            updates: 0,
            reads: 0,
            overlay: None,
            abort_reason: None,
            holding: None,
            open,
        }
    }

    /// Says to others that an update is about this entry, if clients have different precedence.
    pub(crate) fn hold(&mut self, dsa: &Dsa, dn: &[u8]) -> Result<(), HasPrecedence> {
        if !dsa.transactions.ranks() {
            return Ok(());
        }
        let schema = dsa.shard.schema();
        let mut name = Vec::new();
        // Of what is no name the update itself will tell.
        if schema.normalise_dn(dn, &mut name).is_err() {
            return Ok(());
        }
        let precedence = || dsa.transactions.precedence(schema, &self.identity.dn);
        self.holding.get_or_insert_with(|| Holding::new(&dsa.intents, precedence())).take(name)
    }

    /// Was it given up because of a transaction with higher precedence?
    pub(crate) fn is_preempted(&self) -> bool {
        self.holding.as_ref().is_some_and(Holding::is_preempted)
    }

    /// Accepts an update that is in the overlay, with its controls if it `keeps` them.
    pub(crate) fn accept(&mut self, frame: &[u8], keeps: bool, is_add: bool) {
        let Submission { messages, prepared_writes, adds, .. } = &mut *self.submission;
        if keeps || put_without_controls(frame, messages).is_none() {
            messages.extend_from_slice(frame);
        }
        assert!(
            prepared_writes.len() as u64 == self.updates,
            "each update has a place among the prepared writes"
        );
        prepared_writes.push_nones(1);
        self.updates += 1;
        *adds += usize::from(is_add);
    }

    /// Counts the memory that it has. `false` if the transactions of the server have too much.
    pub(crate) fn is_affordable(&mut self) -> bool {
        let bytes = self.bytes();
        self.open.grows_to(bytes)
    }

    /// Bytes of its updates, prepared writes and overlay.
    pub(crate) fn bytes(&self) -> u64 {
        let overlay = self.overlay.as_ref().map_or(0, |overlay| overlay.bytes());
        (self.submission.messages.len() + self.submission.prepared_writes.bytes()) as u64 + overlay
    }

    /// Remembers the first update that was refused: the others do not happen without it.
    pub(crate) fn abort_reason(&mut self, culprit: i32, answer: &[u8]) {
        self.abort_reason.get_or_insert_with(|| AbortReason { culprit, answer: answer.to_vec() });
    }
}

/// The transactions of a session, in the order of their begins.
#[derive(Default)]
pub(crate) struct Transactions {
    open: Vec<Transaction>,
    aborted: VecDeque<Vec<u8>>,
    /// Of those aborted, the one that updates would belong to that name none, until the client ends it or begins another.
    implied_aborted: Option<Vec<u8>>,
    /// Number of the last identifier that the server chose.
    last: u64,
}

impl Transactions {
    /// Is none open?
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// How many transactions of this session are open.
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// The open transaction with this identifier.
    #[inline]
    pub(crate) fn find(&mut self, identifier: &[u8]) -> Option<&mut Transaction> {
        self.open.iter_mut().find(|transaction| transaction.identifier == identifier)
    }

    /// May updates that name none belong to one, or to one that was aborted?
    #[inline]
    pub(crate) fn implies(&self) -> bool {
        !self.open.is_empty() || self.implied_aborted.is_some()
    }

    /// Identifier of the one that updates belong to that name none: the last that began. `None` if that one was aborted.
    pub(crate) fn implied(&self) -> Option<&[u8]> {
        let last = self.open.last().filter(|_| self.implied_aborted.is_none());
        last.map(|transaction| &transaction.identifier[..])
    }

    /// Takes back a begin: nothing of it is left, and what was aborted before it stays aborted (`implied_aborted`, from before it).
    pub(crate) fn undo_begin(&mut self, identifier: &[u8], implied_aborted: Option<Vec<u8>>) {
        if let Some(begun) = self.take(identifier) {
            assert!(begun.updates == 0, "a begin is taken back before its first update is accepted");
            self.implied_aborted = implied_aborted;
        }
    }

    /// Identifier of the aborted transaction that updates which name none would belong to.
    pub(crate) fn implied_aborted(&self) -> Option<&[u8]> {
        self.implied_aborted.as_deref()
    }

    /// One more is open.
    pub(crate) fn push(&mut self, transaction: Transaction) {
        assert!(self.open.len() < SESSION_TRANSACTIONS_MAX, "begins are refused beyond the bound");
        assert!(
            self.open.iter().all(|other| other.identifier != transaction.identifier),
            "a session has one open transaction of a name"
        );
        self.implied_aborted = None;
        self.open.push(transaction);
    }

    /// Gives the open transaction with this identifier away for a while, and its place.
    pub(crate) fn lend(&mut self, identifier: &[u8]) -> Option<(usize, Transaction)> {
        let at = self.open.iter().position(|transaction| transaction.identifier == identifier)?;
        Some((at, self.open.remove(at)))
    }

    /// Takes back what [`Transactions::lend`] gave, to its place.
    pub(crate) fn take_back(&mut self, (at, transaction): (usize, Transaction)) {
        assert!(at <= self.open.len(), "nothing was taken out while it was lent");
        self.open.insert(at, transaction);
    }

    /// Takes one out, to be ended.
    pub(crate) fn take(&mut self, identifier: &[u8]) -> Option<Transaction> {
        self.lend(identifier).map(|(_, transaction)| transaction)
    }

    /// An identifier that no transaction of this session has.
    pub(crate) fn new_identifier(&mut self) -> Vec<u8> {
        loop {
            self.last += 1;
            let identifier = self.last.to_string().into_bytes();
            if self.find(&identifier).is_none() && !self.aborted.contains(&identifier) {
                return identifier;
            }
        }
    }

    /// All of them are given up, and nothing said about it: the session begins anew.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
        self.aborted.clear();
        self.implied_aborted = None;
    }

    /// Gives up those for which `is_over` holds. Returns their identifiers.
    pub(crate) fn abort_those(&mut self, mut is_over: impl FnMut(&Transaction) -> bool) -> Vec<Vec<u8>> {
        let (mut gone, implied) = (Vec::new(), self.implied().map(<[u8]>::to_vec));
        self.open.retain(|transaction| {
            let is_over = is_over(transaction);
            if is_over {
                gone.push(transaction.identifier.clone());
            }
            !is_over
        });
        // Updates that name no transaction were meant for it. They are refused until the client says what it wants.
        if let Some(implied) = implied.filter(|implied| gone.contains(implied)) {
            self.implied_aborted = Some(implied);
        }
        self.aborted.extend(gone.iter().cloned());
        let surplus = self.aborted.len().saturating_sub(ABORTED_MAX);
        self.aborted.drain(..surplus);
        gone
    }

    /// Whom to wake when one of them is given up.
    pub(crate) fn wake_with(&self, waker: &Waker) {
        self.open.iter().filter_map(|open| open.holding.as_ref()).for_each(|held| held.wake_with(waker));
    }

    /// Was a transaction with this identifier given up by the server?
    pub(crate) fn was_aborted(&self, identifier: &[u8]) -> bool {
        self.aborted.iter().any(|aborted| aborted == identifier)
    }

    /// The client knows now that it was given up.
    pub(crate) fn forget_aborted(&mut self, identifier: &[u8]) {
        self.aborted.retain(|aborted| aborted != identifier);
        self.implied_aborted.take_if(|aborted| aborted == identifier);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However much memory clients may have, open transactions have 1 GiB together.
    #[test]
    fn memory_of_all_transactions_is_bounded() {
        const GIB: u64 = 1 << 30;
        let count = OpenCount::new(&ClientMemory::new(100 * GIB));
        let root =
            Identity { is_root: true, ..Identity::named(b"cn=admin".to_vec(), ::access::AuthMethod::Simple) };
        let open = || Open::one_of(&count, 10, &root).expect("there is a place");
        let (mut first, mut second) = (open(), open());
        assert!(!first.grows_to(GIB + 1));
        assert!(first.grows_to(GIB - 1) && second.grows_to(1));
        assert!(!second.grows_to(2));
        drop(first);
        assert!(second.grows_to(GIB));
    }
}
