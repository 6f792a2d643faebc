//! Bundles in which reads stand between updates: the counter of the sender is set again and again, and read behind each time, with
//! the counters of others.

use crate::random::Random;
use crate::requests::Bundle;
use crate::view::View;
use crate::workload::Workload;

/// See the module.
#[derive(Debug)]
pub(super) struct Bundles;

impl Workload for Bundles {
    fn setup(&mut self, _: &mut Bundle) {}

    fn start(&mut self, _: usize, _: &mut Random, _: &mut Bundle) {}

    fn counts_at_most(&self) -> u64 {
        8
    }

    fn check(&self, _: &View) -> Result<(), String> {
        Ok(())
    }
}
