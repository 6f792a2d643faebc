//! What the access log cannot see in the bytes of an answer: how many entries a search has looked at, whether it lacked an index, and which rule
//! refused a request. It is kept by the thread until the log has taken it, which is at once when a bundle or a slice of work is over.
//!
//! Nothing is kept before somebody wants to know. Nearly all searches look at what they return, and have nothing to tell.

use crate::access::{Item, ViewId};
use crate::context::Reading;
use crate::worker::Scratch;
use ::access::Right;

/// More are not kept: a bundle with so many searches that look far does not fit into its work.
const ASIDES_MAX: usize = 256;

/// What is known of an operation besides its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aside {
    /// messageID of its request.
    pub id: i32,
    /// Entries that a search has looked at, if that is another number than that of those it has returned.
    pub looked: Option<u32>,
    /// A search lacked an index.
    pub is_unindexed: bool,
    /// Name of the access rule that refused it; empty if none did.
    pub rule: String,
}

/// Those of a thread.
#[derive(Debug, Default)]
pub(crate) struct Asides {
    is_wanted: bool,
    kept: Vec<Aside>,
    /// The rule of the last refusal, until it is known whose that is.
    rule: Option<String>,
}

impl Asides {
    /// They are kept from now on.
    pub(crate) fn open(&mut self) {
        self.is_wanted = true;
    }

    /// Does somebody want to know?
    #[inline]
    pub(crate) fn are_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Those that were kept.
    pub(crate) fn kept(&self) -> &[Aside] {
        &self.kept
    }

    /// They were taken.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
    }

    /// A search is over that has looked at so many entries.
    #[cold]
    pub(crate) fn looked(&mut self, id: i32, entries: u64, is_unindexed: bool) {
        let looked = Some(u32::try_from(entries).unwrap_or(u32::MAX - 1));
        self.keep(Aside { id, looked, is_unindexed, rule: String::new() });
    }

    /// A rule has refused what is looked at now.
    #[cold]
    pub(crate) fn refused_by(&mut self, rule: Option<&str>) {
        self.rule = rule.filter(|_| self.is_wanted).map(str::to_owned);
    }

    /// That refusal is the answer to this request.
    #[cold]
    pub(crate) fn is_of(&mut self, id: i32) {
        if let Some(rule) = self.rule.take() {
            self.keep(Aside { id, rule, ..Aside::default() });
        }
    }

    fn keep(&mut self, aside: Aside) {
        if self.is_wanted && self.kept.len() < ASIDES_MAX {
            self.kept.push(aside);
        }
    }
}

/// Notes which rule refuses a right, if the access log wants to know. Where no rule gives the right there is none.
#[cold]
pub(crate) fn note_rule(reading: &mut Reading<'_>, view: ViewId, item: Item<'_>, right: Right) {
    let Scratch { views, asides, .. } = &mut *reading.scratch;
    if asides.are_wanted() {
        let schema = reading.dsa.shard.schema();
        let reasons = views.reasons(view, item, &[right], schema);
        asides.refused_by(reasons.first().copied().flatten().map(|(_, rule)| rule));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_wants_is_not_kept() {
        let mut asides = Asides::default();
        let tell = |asides: &mut Asides| {
            asides.looked(1, 7, true);
            asides.refused_by(Some("near"));
            asides.is_of(2);
            // A rule is told of once.
            asides.is_of(3);
        };
        tell(&mut asides);
        assert_eq!(asides.kept(), []);
        asides.open();
        tell(&mut asides);
        let refused = Aside { id: 2, rule: "near".to_owned(), ..Aside::default() };
        let looked = Aside { id: 1, looked: Some(7), is_unindexed: true, ..Aside::default() };
        assert_eq!(asides.kept(), [looked, refused]);
        (0..ASIDES_MAX as i32).for_each(|id| asides.looked(id, u64::MAX, false));
        assert_eq!(asides.kept().len(), ASIDES_MAX);
        asides.clear();
        assert_eq!(asides.kept(), []);
    }
}
