//! What a session says of the age of what it reads.

use super::Session;
use super::aged::Aged;
use crate::barrier::Age;

impl Session {
    /// What it reads from now on may be old; `None`: it is not.
    pub(crate) fn read_at(&mut self, age: Option<Age>) {
        match age {
            Some(age) => self.aged = Some(Box::new(Aged::new(age, self.aged.as_deref()))),
            // Of searches that go on the end is still to be written.
            None => {
                let is_over = self.searches.is_empty();
                self.aged.take_if(|aged| is_over && aged.is_between_messages());
            }
        }
    }

    /// Puts the age of what was read into the answers that were written to `out` from `before` on, if it may be old.
    #[inline]
    pub(crate) fn put_age(&mut self, out: &mut Vec<u8>, before: usize) {
        if let Some(aged) = &mut self.aged {
            aged.put(out, before);
        }
    }

    /// Does it say how old is what it reads?
    #[inline]
    pub(crate) fn is_aged(&self) -> bool {
        self.aged.is_some()
    }
}
