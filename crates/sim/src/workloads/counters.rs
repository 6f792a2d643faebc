//! Nothing but the counters that end every bundle: as many small groups of commits as there can be.

use crate::random::Random;
use crate::requests::{Bundle, SUFFIX};
use crate::view::View;
use crate::workload::Workload;

/// See the module.
#[derive(Debug)]
pub(super) struct Counters;

impl Workload for Counters {
    fn setup(&mut self, _: &mut Bundle) {}

    fn start(&mut self, _: usize, _: &mut Random, _: &mut Bundle) {}

    fn check(&self, view: &View) -> Result<(), String> {
        let stranger = view.entries.keys().find(|dn| *dn != SUFFIX && !dn.starts_with("cn=s"));
        stranger.map_or(Ok(()), |dn| Err(format!("nobody has sent {dn}")))
    }
}
