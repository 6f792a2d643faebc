//! All replicas have the settings that the log has last.

use super::{Cluster, broken};
use crate::properties;
use crate::world::Violation;

impl Cluster {
    /// In a calm a replica has them.
    pub(super) fn look_at_settings(&self, at: usize) -> Result<(), Violation> {
        let replica = &self.replicas[at];
        let Some(node) = replica.node.as_ref().filter(|_| self.settings.are_changed) else { return Ok(()) };
        let (value, last) = (node.recovered.dsa.transactions().open_max(), self.settings.value());
        match value == last {
            true => Ok(()),
            false => {
                let what = format!("replica {} has the value {value}, and the log has {last}", replica.id);
                Err(broken(properties::SETTINGS)(what))
            }
        }
    }
}
