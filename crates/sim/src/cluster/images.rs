//! Images of disks in a simulated cluster, and the replica whose disk was set back to one.
//!
//! Some worlds have images, and in those links begin with hellos. All chances of them come from a generator of their own, so the other worlds are what they
//! are without.

use crate::disk::SimDisk;
use crate::random::Random;
use consensus::ReplicaId;

/// One of so many worlds has images.
const WORLDS: u64 = 7;

/// An image of a disk.
pub(super) struct Image {
    /// Whose.
    pub(super) at: usize,
    pub(super) disk: SimDisk,
}

/// A replica whose disk was set back, until it is no member any more.
pub(super) struct Old {
    pub(super) id: ReplicaId,
    /// Replicas of the world at that time: all of them know it.
    pub(super) known_by: u64,
}

/// See the module.
pub(super) struct Images {
    pub(super) random: Random,
    pub(super) are_taken: bool,
    pub(super) taken: Option<Image>,
    pub(super) old: Option<Old>,
}

impl Images {
    pub(super) fn new(seed: u64) -> Images {
        let random = Random::new(seed.rotate_left(48));
        Images { random, are_taken: seed % WORLDS == 4, taken: None, old: None }
    }
}
