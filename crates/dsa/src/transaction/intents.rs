//! Which open transaction is about which entries, where clients have different precedence: an update of a transaction with higher precedence
//! gives the transactions of others up that are about the same entry, and one who goes after is asked to try again. Nobody
//! waits for anybody. Among equals nothing is held: who ends first is first.
//! The map has the names under one lock, and is empty unless precedence is configured. A count beside it lets all others pass without the
//! lock: an update that reads 0 there may come before a transaction takes the name, which is as if it had come earlier.

use crate::faults;
use env::planted;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

// The states of a link. It leaves OPEN once: who wins that exchange decides whether the transaction ends or is preempted.
const OPEN: u8 = 0;
const PREEMPTED: u8 = 1;
const ENDING: u8 = 2;

/// What others know of an open transaction.
#[derive(Debug)]
struct Link {
    precedence: u8,
    state: AtomicU8,
    /// Wakes the session that it belongs to.
    waker: Mutex<Option<Waker>>,
}

impl Link {
    /// Gives the transaction up, unless its end has been asked for already.
    /// It is woken, not ended: the session itself gives the transaction up and tells its client, for nobody else may write to it.
    fn preempt(&self) {
        // The caller has the lock of the names. A waker takes no lock of this module, so it may be called under it.
        let given_up = self.state.compare_exchange(OPEN, PREEMPTED, Ordering::AcqRel, Ordering::Acquire);
        if given_up.is_ok()
            && let Some(waker) = lock(&self.waker).take()
        {
            waker.wake();
        }
    }
}

/// The entries that open transactions are about, by the normal forms of their names.
#[derive(Debug, Default)]
pub(crate) struct Intents {
    /// How many names there are: what everybody looks at.
    names: AtomicUsize,
    held: Mutex<BTreeMap<Vec<u8>, Vec<Arc<Link>>>>,
}

/// What one transaction holds; given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Holding {
    intents: Arc<Intents>,
    link: Arc<Link>,
    names: Vec<Vec<u8>>,
}

/// Another transaction is about the entry, of a transaction with higher precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HasPrecedence;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every statement leaves the whole in order.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Intents {
    /// Is any transaction known to be about any entry?
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.names.load(Ordering::Acquire) == 0
    }

    /// Clears the way for an update of an entry by one with this precedence, who has no transaction.
    pub(crate) fn clear(&self, name: &[u8], precedence: u8) -> Result<(), HasPrecedence> {
        clear(lock(&self.held).get(name).map_or(&[], Vec::as_slice), precedence, None)
    }
}

/// Preempts holders of lower precedence. If one of higher precedence is among them, none is.
/// A transaction is not in its own way.
fn clear(holders: &[Arc<Link>], precedence: u8, own: Option<&Arc<Link>>) -> Result<(), HasPrecedence> {
    let mut others = holders.iter().filter(|holder| own.is_none_or(|own| !Arc::ptr_eq(own, holder)));
    let open = |holder: &&Arc<Link>| holder.state.load(Ordering::Acquire) == OPEN;
    let has_precedence = |holder: &Arc<Link>| {
        holder.precedence > precedence
            || (planted::is(faults::PRECEDENCE_IGNORED) && holder.precedence != precedence)
    };
    // All are looked at before the first is preempted: who is refused must have preempted nobody.
    if others.clone().filter(open).any(has_precedence) {
        return Err(HasPrecedence);
    }
    others.by_ref().filter(|holder| holder.precedence < precedence).for_each(|holder| holder.preempt());
    Ok(())
}

impl Holding {
    /// Of a transaction that begins.
    pub(crate) fn new(intents: &Arc<Intents>, precedence: u8) -> Holding {
        let link = Link { precedence, state: AtomicU8::new(OPEN), waker: Mutex::default() };
        Holding { intents: Arc::clone(intents), link: Arc::new(link), names: Vec::new() }
    }

    /// The transaction is about an entry from now on.
    /// Held until the transaction is gone; a second update of the same entry takes nothing more.
    pub(crate) fn take(&mut self, name: Vec<u8>) -> Result<(), HasPrecedence> {
        // Looked at and taken under one lock: of two transactions that come at once the second sees the first.
        let mut held = lock(&self.intents.held);
        let holders = held.entry(name.clone()).or_default();
        let cleared = clear(holders, self.link.precedence, Some(&self.link));
        if cleared.is_ok() && !holders.iter().any(|holder| Arc::ptr_eq(holder, &self.link)) {
            holders.push(Arc::clone(&self.link));
            self.names.push(name);
            assert!(
                self.link.state.load(Ordering::Acquire) != ENDING,
                "a transaction that ends takes no more names"
            );
            self.intents.names.fetch_add(1, Ordering::Release);
        } else if holders.is_empty() {
            held.remove(&name);
        }
        cleared
    }

    /// Was it given up for another's sake?
    pub(crate) fn is_preempted(&self) -> bool {
        self.link.state.load(Ordering::Acquire) == PREEMPTED && !planted::is(faults::PREEMPTED_COMMITTED)
    }

    /// Its end is asked for: from now on it is not given up any more. `false` if it was.
    pub(crate) fn end(&self) -> bool {
        let ended = self.link.state.compare_exchange(OPEN, ENDING, Ordering::AcqRel, Ordering::Acquire);
        ended.is_ok() || planted::is(faults::PREEMPTED_COMMITTED)
    }

    /// Whom to wake when it is given up.
    pub(crate) fn wake_with(&self, waker: &Waker) {
        // Set before the session looks whether it was preempted: what happens after that look wakes it.
        *lock(&self.link.waker) = Some(waker.clone());
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        let mut held = lock(&self.intents.held);
        for name in &self.names {
            if let Some(holders) = held.get_mut(name) {
                holders.retain(|holder| !Arc::ptr_eq(holder, &self.link));
                if holders.is_empty() {
                    held.remove(name);
                }
            }
        }
        // Under the lock still, so that the count is never below the names that the map has.
        let before = self.intents.names.load(Ordering::Acquire);
        assert!(before >= self.names.len(), "no more names are given back than were taken");
        assert!(before > self.names.len() || held.is_empty(), "what nobody holds is not in the map");
        self.intents.names.fetch_sub(self.names.len(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_of_higher_precedence_takes_the_entry() {
        let intents = Arc::<Intents>::default();
        let (mut low, mut other, mut high) =
            (Holding::new(&intents, 0), Holding::new(&intents, 0), Holding::new(&intents, 5));
        assert_eq!(low.take(b"a".to_vec()), Ok(()));
        assert_eq!(other.take(b"a".to_vec()), Ok(()), "equals do not hinder each other");
        assert_eq!((low.take(b"a".to_vec()), low.names.len()), (Ok(()), 1));
        assert_eq!(high.take(b"b".to_vec()), Ok(()));
        assert_eq!(low.take(b"b".to_vec()), Err(HasPrecedence));
        assert_eq!((intents.clear(b"b", 4), intents.clear(b"b", 5)), (Err(HasPrecedence), Ok(())));
        assert!(other.end() && !other.end());
        assert_eq!(high.take(b"a".to_vec()), Ok(()));
        assert!(low.is_preempted() && !low.end());
        assert!(!other.is_preempted(), "it ends already");
        assert!(!high.is_preempted() && !intents.is_empty());
        drop((low, other, high));
        assert!(intents.is_empty() && lock(&intents.held).is_empty());
    }
}
