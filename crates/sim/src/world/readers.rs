//! A reader that lasts while the server runs, as that of a slow search does, and that may be revoked: it sees the same until
//! then, and nothing from then on.

use super::{Violation, World};
use crate::node::Node;
use crate::properties;
use crate::random::Random;
use store::{Holder, Reader, RevocableReadPoint};

/// Of 1,000 moments, those at which one begins, looks, is revoked, ends.
const BEGINS_OF_1000: u64 = 100;
const LOOKS_OF_1000: u64 = 150;
const REVOKED_OF_1000: u64 = 50;
const ENDS_OF_1000: u64 = 20;

/// The reader of a world, if there is one now.
pub(super) struct Readers {
    random: Random,
    standing: Option<Standing>,
}

struct Standing {
    point: RevocableReadPoint,
    sequence: u64,
    /// What it has seen first.
    digest: u128,
    is_revoked: bool,
}

impl Readers {
    /// No reader pins. What becomes of readers is drawn apart from all else.
    pub(super) fn new(seed: u64) -> Readers {
        Readers { random: Random::new(!seed), standing: None }
    }

    /// The server that they read of has ended.
    pub(super) fn end(&mut self) {
        self.standing = None;
    }
}

impl World {
    /// What becomes of the reader between two other moments.
    pub(super) fn readers(&mut self, node: &Node) -> Result<(), Violation> {
        let Readers { random, standing } = &mut self.readers;
        let Some(reader) = standing else {
            if random.chance(BEGINS_OF_1000) {
                *standing = Some(Standing::begin(node));
            }
            return Ok(());
        };
        if !reader.is_revoked && random.chance(REVOKED_OF_1000) {
            let revoked = node.recovered.dsa.shard().revoke_before(reader.sequence + 1);
            self.trace.note(format_args!("  revoked: {}", revoked.len()));
            reader.is_revoked = true;
            self.tally.revoked += 1;
        }
        if random.chance(LOOKS_OF_1000) {
            reader.look().map_err(|what| Violation { property: properties::REVOKED, what })?;
        }
        if random.chance(ENDS_OF_1000) {
            *standing = None;
        }
        Ok(())
    }
}

impl Standing {
    fn begin(node: &Node) -> Standing {
        let mut reader = Reader::register(node.recovered.dsa.shard()).expect("there are few readers");
        let pin = reader.pin();
        let (sequence, digest) = (pin.read_point().sequence(), pin.read_point().digest());
        let point = pin.look().extend_revocable(Holder { since_ns: 0, peer: None });
        Standing { point: point.expect("there are few readers"), sequence, digest, is_revoked: false }
    }

    fn look(&mut self) -> Result<(), String> {
        match (self.point.enter(), self.is_revoked) {
            (None, true) => Ok(()),
            (None, false) => Err("nobody has revoked it, and it sees nothing".to_owned()),
            (Some(_), true) => Err("it was revoked, and goes on looking".to_owned()),
            (Some(entered), false) if entered.read_point().digest() == self.digest => Ok(()),
            (Some(_), false) => Err("what it sees has changed".to_owned()),
        }
    }
}
