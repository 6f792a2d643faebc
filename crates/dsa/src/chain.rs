//! The outcome chain: a hash over the outcome of every command that was applied, in the order of the log. A parcel of the log
//! carries the chain of a record that was applied when it was made. So a replay compares what it comes to with what was
//! answered, and replicas compare themselves with each other.
//!
//! What is hashed of a parcel: its index, the result code of each update, the last CSN and the number of entries; from a certain version of the
//! behaviour on ([`crate::behaviour`]) also that version, before each command.

use crate::behaviour::FIRST_IN_CHAIN;
use proto::result::result_code;
use std::collections::VecDeque;

/// Records of which the chain is remembered: a parcel names none that is further back.
pub const CHAIN_RECENT_MAX: usize = 4096;

const A: u64 = 0x9e37_79b9_7f4a_7c15;
const B: u64 = 0xd6e8_feb8_6659_fd93;
/// Is added to a version, which so is no result code.
const VERSION: u64 = 1 << 32;

/// See the module.
#[derive(Clone, Debug)]
pub struct Chain {
    key: u64,
    value: u64,
    /// Of the parcel that is being applied.
    digest: u64,
    recent: VecDeque<Link>,
}

/// What one parcel came to.
#[derive(Clone, Copy, Debug)]
struct Link {
    index: u64,
    /// `None` of a record that has no outcome.
    digest: Option<u64>,
    value: u64,
}

/// A replay came to another outcome than was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Differs {
    /// The last record that is known to have had the same outcome; 0 if none is.
    pub same: u64,
    /// The record at which the chain is another.
    pub index: u64,
    /// The chain there, as it was when its updates were answered.
    pub answered: u64,
    /// The chain that the replay came to.
    pub replayed: u64,
}

impl std::fmt::Display for Differs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Differs { same, index, answered, replayed } = self;
        let begin = (same + 1).min(*index);
        match begin == *index {
            true => write!(f, "the commands of record {index} have")?,
            false => write!(f, "the commands of one of the records {begin} to {index} have")?,
        }
        write!(
            f,
            " another outcome now than was answered (outcome chain {answered:016x}, now {replayed:016x})"
        )
    }
}

impl std::error::Error for Differs {}

impl Chain {
    /// The chain of a directory with this key, at the record `index`, where its value is `value`: 0 before the first parcel.
    pub fn new(key: u64, index: u64, value: u64) -> Chain {
        let mut chain = Chain { key, value, digest: 0, recent: VecDeque::new() };
        chain.recent.push_back(Link { index, digest: None, value });
        chain
    }

    /// A parcel is applied from here on.
    pub fn begin(&mut self, index: u64) {
        self.digest = fold(self.key, index);
    }

    /// A command is applied by this version of the behaviour.
    #[inline]
    pub fn behave(&mut self, behaviour: u32) {
        if behaviour >= FIRST_IN_CHAIN {
            self.digest = fold(self.digest, VERSION + u64::from(behaviour));
        }
    }

    /// An update came to this result code.
    #[inline]
    pub fn update(&mut self, code: u32) {
        self.digest = fold(self.digest, u64::from(code));
    }

    /// Updates came to what these answers say: whole messages, in order.
    pub fn updates(&mut self, mut answers: &[u8]) {
        while let Some((code, rest)) = result_code(answers) {
            self.update(code);
            answers = rest;
        }
        assert!(answers.is_empty(), "answers are whole messages");
    }

    /// The parcel `index` is applied; it left this CSN and this number of entries.
    pub fn end(&mut self, index: u64, last_csn: u64, entries: u64) {
        let digest = fold(fold(self.digest, last_csn), entries);
        self.value = fold(self.value, digest);
        self.push(index, Some(digest));
    }

    /// A record that has no outcome was passed.
    pub fn pass(&mut self, index: u64) {
        self.push(index, None);
    }

    /// A record of a program before the outcome chain was applied: the chain begins behind it.
    pub fn begin_after(&mut self, index: u64) {
        self.value = 0;
        self.recent.clear();
        self.push(index, None);
    }

    /// Adds a record to those of which the chain is remembered.
    fn push(&mut self, index: u64, digest: Option<u64>) {
        if self.recent.len() == CHAIN_RECENT_MAX {
            self.recent.pop_front();
        }
        assert!(self.recent.back().is_none_or(|last| last.index < index), "records are applied in order");
        self.recent.push_back(Link { index, digest, value: self.value });
    }

    /// The last record that was applied, and the chain there.
    pub fn last(&self) -> (u64, u64) {
        self.recent.back().map_or((0, 0), |last| (last.index, last.value))
    }

    /// The chain at a record. `None` if that was not applied, or is too far back.
    pub fn at(&self, index: u64) -> Option<u64> {
        let at = self.recent.binary_search_by_key(&index, |link| link.index).ok()?;
        Some(self.recent[at].value)
    }

    /// Compares the chain at a record with what a parcel says of it. What is too far back is not compared.
    ///
    /// # Errors
    /// See [`Differs`].
    pub fn check(&self, (index, answered): (u64, u64)) -> Result<(), Differs> {
        let Ok(at) = self.recent.binary_search_by_key(&index, |link| link.index) else { return Ok(()) };
        let replayed = self.recent[at].value;
        if replayed == answered {
            return Ok(());
        }
        let same = at.checked_sub(1).map_or(0, |before| self.recent[before].index);
        Err(Differs { same, index, answered, replayed })
    }

    /// Takes what was answered for true at a record, so that what comes after it is compared for itself.
    pub fn accept(&mut self, (index, answered): (u64, u64)) {
        let Ok(at) = self.recent.binary_search_by_key(&index, |link| link.index) else { return };
        let mut value = answered;
        self.recent[at].value = value;
        for link in self.recent.iter_mut().skip(at + 1) {
            value = link.digest.map_or(value, |digest| fold(value, digest));
            link.value = value;
        }
        self.value = value;
    }
}

/// Both halves of a product: each bit of the result depends on all bits of both.
#[inline(always)]
fn fold(state: u64, word: u64) -> u64 {
    let product = u128::from(state ^ A) * u128::from(word ^ B);
    (product as u64) ^ (product >> 64) as u64 ^ word.rotate_left(23)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ResultCode;
    use proto::result::{encode_done, encode_result};
    use proto::tag;

    fn run(chain: &mut Chain, index: u64, codes: &[u32]) {
        chain.begin(index);
        codes.iter().for_each(|code| chain.update(*code));
        chain.end(index, 1000 + index, 5);
    }

    #[test]
    fn each_part_of_an_outcome_shows() {
        let last = |make: fn(&mut Chain)| {
            let mut chain = Chain::new(1, 0, 0);
            make(&mut chain);
            chain.last().1
        };
        let all = [
            last(|_| ()),
            last(|c| run(c, 1, &[0, 0])),
            last(|c| run(c, 1, &[0, 68])),
            last(|c| run(c, 1, &[68, 0])),
            last(|c| run(c, 1, &[0])),
            last(|c| run(c, 2, &[0, 0])),
            last(|c| {
                c.begin(1);
                c.behave(FIRST_IN_CHAIN);
                c.end(1, 1001, 5)
            }),
            last(|c| {
                c.begin(1);
                c.end(1, 1001, 6)
            }),
            last(|c| {
                c.begin(1);
                c.end(1, 1002, 5)
            }),
        ];
        for (at, value) in all.iter().enumerate() {
            assert!(!all[..at].contains(value), "{at}");
        }
    }

    #[test]
    fn the_first_difference_is_named_and_can_be_accepted() {
        let (mut live, mut again) = (Chain::new(1, 9, 3), Chain::new(1, 9, 3));
        let mut answered = Vec::new();
        for index in 10..20 {
            run(&mut live, index, &[0]);
            run(&mut again, index, &[if index == 14 { 32 } else { 0 }]);
            answered.push(live.last());
        }
        let differs = answered.iter().find_map(|at| again.check(*at).err()).expect("one differs");
        assert_eq!((differs.index, differs.same), (14, 13));
        assert!(differs.to_string().starts_with("the commands of record 14 have another outcome"));
        again.accept((14, differs.answered));
        assert!(answered.iter().filter(|(index, _)| *index >= 14).all(|at| again.check(*at).is_ok()));
        assert_eq!(again.last(), live.last());
        assert!(again.check((5, 1)).is_ok(), "nothing is known of it");
    }

    #[test]
    fn codes_are_read_from_answers() {
        let mut answers = Vec::new();
        encode_done(&mut answers, 1, tag::MODIFY_RESPONSE, ResultCode::Success);
        encode_result(
            &mut answers,
            70_000,
            tag::ADD_RESPONSE,
            ResultCode::Busy,
            b"dc=x",
            &"x".repeat(300),
            &[],
        );
        encode_done(&mut answers, 1 << 30, tag::DELETE_RESPONSE, ResultCode::NoSuchObject);
        let (mut read, mut reported) = (Chain::new(1, 0, 0), Chain::new(1, 0, 0));
        read.begin(1);
        read.updates(&answers);
        reported.begin(1);
        [0, 51, 32].into_iter().for_each(|code| reported.update(code));
        assert_eq!(read.digest, reported.digest);
    }

    #[test]
    fn only_so_much_is_remembered() {
        let mut chain = Chain::new(1, 0, 0);
        (1..=CHAIN_RECENT_MAX as u64 + 10).for_each(|index| run(&mut chain, index, &[]));
        assert_eq!(chain.recent.len(), CHAIN_RECENT_MAX);
        assert!(chain.check((11, 0)).is_err() && chain.check((10, 0)).is_ok());
    }
}
