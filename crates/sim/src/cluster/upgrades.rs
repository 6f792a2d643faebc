//! What an operator of a simulated cluster knows of its upgrade.
//!
//! Some worlds have upgrades. All chances of them come from a generator of their own, so the other worlds are what they are without.

use crate::random::Random;
use consensus::ReplicaId;
use dsa::behaviour::NEWEST;
use std::collections::BTreeMap;

/// One of so many worlds has upgrades.
const WORLDS: u64 = 9;

/// See the module.
pub(super) struct Upgrades {
    pub(super) random: Random,
    pub(super) are_made: bool,
    /// What the program of each replica has announced when it last started.
    pub(super) announced: BTreeMap<ReplicaId, u32>,
    /// The version that was to come into force, once an operator asked for that.
    pub(super) asked: u32,
}

impl Upgrades {
    pub(super) fn new(seed: u64) -> Upgrades {
        let random = Random::new(seed.rotate_left(16));
        Upgrades { random, are_made: seed % WORLDS == 5, announced: BTreeMap::new(), asked: NEWEST }
    }
}
