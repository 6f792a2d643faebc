//! Renames that would put other entries below the base of a subtree, or take all of them out, without a look at one of them.
//!
//! To the base, or above it, comes nothing: nobody has judged what is below the renamed entry. And nothing goes from there: the constraint would be about
//! nothing, and the entry could not come back.

use super::Judging;
use super::subtree::{Subtree, normal};
use store::ReadPoint;

impl Judging<'_> {
    /// Judges the name of an entry and the one that it is to get, whether or not both can be.
    /// Another spelling of the name is no other name.
    ///
    /// # Errors
    /// The rename is refused. The text names the constraint.
    pub(crate) fn judge_names(&self, dn: &[u8], new_dn: &[u8], at: ReadPoint<'_>) -> Result<(), String> {
        let mut subtrees = self.in_force().subtrees().peekable();
        // Most directories have none, and normal forms cost more than this look.
        if self.is_done() || subtrees.peek().is_none() {
            return Ok(());
        }
        let key = |dn: &[u8]| normal(self.schema(), dn).ok();
        let (from, to) = (key(dn), key(new_dn));
        if from == to {
            return Ok(());
        }
        let is_above = |subtree: &Subtree, key: &Option<Vec<u8>>| {
            key.as_ref().is_some_and(|key| subtree.superiors.contains(key))
        };
        for (name, subtree) in subtrees {
            if is_above(subtree, &to) {
                return Err(format!(
                    "constraint {name}: no entry can be renamed to the base of its subtree, or above it"
                ));
            }
            // A subtree without a base has nothing to lose.
            if is_above(subtree, &from) && self.base(subtree, self.directory(at)).is_some() {
                return Err(format!(
                    "constraint {name}: the base of its subtree cannot be renamed, nor an entry above it"
                ));
            }
        }
        Ok(())
    }
}
