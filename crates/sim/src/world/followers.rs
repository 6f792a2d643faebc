//! Consumers of content synchronisation at a server that ends and starts again.

use super::{Violation, World};
use crate::node::Node;
use crate::properties;

/// Of 1,000 moments, those at which a consumer does something.
const ACTS_OF_1000: u64 = 200;
/// Of 1,000 starts, those at which one comes before anything is changed.
const COMES_OF_1000: u64 = 500;

impl World {
    /// What becomes of consumers between two other moments.
    pub(super) fn follow_changes(&mut self, node: &mut Node) -> Result<(), Violation> {
        self.follow_by(node, ACTS_OF_1000)
    }

    /// The server has started.
    pub(super) fn follow_again(&mut self, node: &mut Node) -> Result<(), Violation> {
        self.follow_by(node, COMES_OF_1000)
    }

    fn follow_by(&mut self, node: &mut Node, of_1000: u64) -> Result<(), Violation> {
        for number in 0..self.followers.count() {
            if self.followers.chance(of_1000) {
                let acted = self.followers.act(number, 0, node, &self.clock);
                acted.map_err(|what| Violation { property: properties::COPIED, what })?;
            }
        }
        Ok(())
    }
}
