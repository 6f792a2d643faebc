//! Folders come and go as in `churn`, while somebody takes backups of the directory, restores them, exports it and imports
//! that elsewhere, and something into it: [`crate::operator`].

use super::churn::Churn;
use crate::random::Random;
use crate::requests::Bundle;
use crate::view::View;
use crate::workload::Workload;

/// See the module.
#[derive(Debug)]
pub(super) struct Operated(Churn);

impl Operated {
    pub(super) fn new(sessions: usize) -> Operated {
        Operated(Churn::new(sessions))
    }
}

impl Workload for Operated {
    fn setup(&mut self, to: &mut Bundle) {
        self.0.setup(to);
    }

    fn start(&mut self, session: usize, random: &mut Random, to: &mut Bundle) {
        self.0.start(session, random, to);
    }

    fn is_operated(&self) -> bool {
        true
    }

    fn check(&self, view: &View) -> Result<(), String> {
        self.0.check(view)
    }
}
