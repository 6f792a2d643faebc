//! Words as they are: without a scheme, and `{CLEARTEXT}`, `{CLEAR}`.

use crate::compare::same;

/// A word in the clear. It cannot be printed.
pub(crate) struct Clear<'a>(pub(crate) &'a [u8]);

impl Clear<'_> {
    pub(crate) fn verify(&self, password: &[u8]) -> bool {
        same(self.0, password)
    }
}
