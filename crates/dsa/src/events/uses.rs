//! Rights over others that are used again and again: by whom, over whom, how often.
//!
//! An application that acts as its users does so with each request, and must not fill the log with that. So each pair has one event at once, and
//! one for all that follow within ten seconds.

use super::event::{Event, EventKind};
use std::collections::BTreeMap;

/// Nanoseconds for which uses are counted together.
/// As long as limits are ([`crate::refusals`]), so that one rhythm is to be known.
const PAUSE_NS: u64 = 10_000_000_000;
/// Pairs that are counted apart. Others are counted by who uses the right, and beyond that all together.
const PAIRS_MAX: usize = 4096;

/// Who has used what right over whom.
type Pair = (EventKind, Vec<u8>, Vec<u8>);

/// Uses of the last seconds.
#[derive(Default)]
pub(super) struct Uses(BTreeMap<Pair, Repeated>);

/// What came of a pair since its last event.
struct Repeated {
    /// Until when uses are counted.
    until_ns: u64,
    /// The last of them, with their number; `None` if there was none.
    event: Option<Event>,
}

impl Uses {
    /// Counts a use. Returns it if it is to be noted now.
    /// The last one stands for those that are counted with it: whence it came may differ.
    pub(super) fn note(&mut self, now_ns: u64, mut event: Event) -> Option<Event> {
        let pair = |event: &Event| (event.kind, event.who.clone(), event.name.clone());
        // Who works through all users, and all who do so, must not take more memory than this.
        if self.0.len() >= PAIRS_MAX && !self.0.contains_key(&pair(&event)) {
            event.name.clear();
            if self.0.len() >= 2 * PAIRS_MAX && !self.0.contains_key(&pair(&event)) {
                event.who.clear();
            }
        }
        let pair = pair(&event);
        let Some(repeated) = self.0.get_mut(&pair) else {
            self.0.insert(pair, Repeated { until_ns: now_ns.saturating_add(PAUSE_NS), event: None });
            return Some(event);
        };
        event.count += repeated.event.take().map_or(0, |event| event.count);
        repeated.event = Some(event);
        None
    }

    /// What is to be noted, since its time is over. A pair without any use in it is forgotten.
    /// So the first use after a pause of ten seconds has an event at once again.
    pub(super) fn take(&mut self, now_ns: u64) -> Vec<Event> {
        let mut taken = Vec::new();
        self.0.retain(|_, repeated| {
            if now_ns < repeated.until_ns {
                return true;
            }
            repeated.until_ns = now_ns.saturating_add(PAUSE_NS);
            let event = repeated.event.take();
            let is_used = event.is_some();
            taken.extend(event);
            is_used
        });
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(who: &[u8], name: &[u8]) -> Event {
        let event = Event::of(EventKind::Proxy, String::new());
        Event { who: who.to_vec(), name: name.to_vec(), ..event }
    }

    #[test]
    fn what_is_repeated_has_one_event_in_ten_seconds() {
        let mut uses = Uses::default();
        assert_eq!(uses.note(1, used(b"a", b"b")), Some(used(b"a", b"b")));
        assert_eq!(uses.note(2, used(b"a", b"c")), Some(used(b"a", b"c")), "another one");
        assert!((0..3).all(|_| uses.note(3, used(b"a", b"b")).is_none()));
        assert!(uses.take(4).is_empty());
        let counts: Vec<_> = uses.take(PAUSE_NS + 5).iter().map(|event| event.count).collect();
        assert_eq!(counts, [3]);
        assert!(uses.take(3 * PAUSE_NS).is_empty());
        assert!(uses.0.is_empty(), "and is forgotten");
    }

    #[test]
    fn many_pairs_take_no_more_memory() {
        let mut uses = Uses::default();
        let noted = (0..3 * PAIRS_MAX as u32)
            .filter(|number| uses.note(1, used(&number.to_be_bytes(), b"x")).is_some())
            .count();
        assert_eq!((noted, uses.0.len()), (2 * PAIRS_MAX + 1, 2 * PAIRS_MAX + 1));
        let all: u64 = uses.take(u64::MAX / 2).iter().map(|event| event.count).sum();
        assert_eq!(all, PAIRS_MAX as u64 - 1);
    }
}
