//! What happened in a simulated world, as a hash, and as lines for who wants to read it.

use std::fmt;

/// Where a world tells what happens.
#[derive(Debug)]
pub struct Trace {
    hash: u64,
    is_shown: bool,
}

impl Trace {
    /// With `is_shown`, every line goes to standard output too.
    pub fn new(is_shown: bool) -> Trace {
        Trace { hash: 0xcbf2_9ce4_8422_2325, is_shown }
    }

    /// Something happens.
    pub fn note(&mut self, line: fmt::Arguments<'_>) {
        // A hash takes any text.
        let _ = fmt::write(self, line);
        self.mix(u64::from(b'\n'));
        if self.is_shown {
            println!("{line}");
        }
    }

    /// Mixes a number in that no line tells.
    pub fn mix(&mut self, number: u64) {
        self.hash = (self.hash ^ number).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }

    /// Of all that happened so far.
    pub fn hash(&self) -> u64 {
        self.hash
    }
}

impl fmt::Write for Trace {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| self.mix(u64::from(byte)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_of_lines_and_their_order() {
        let hash = |lines: &[&str]| {
            let mut trace = Trace::new(false);
            lines.iter().for_each(|line| trace.note(format_args!("{line}")));
            trace.hash()
        };
        assert_eq!(hash(&["a", "b"]), hash(&["a", "b"]));
        assert_ne!(hash(&["a", "b"]), hash(&["b", "a"]));
        assert_ne!(hash(&["a", "b"]), hash(&["ab"]));
    }
}
