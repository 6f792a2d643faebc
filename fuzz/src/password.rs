//! Stored passwords: any value is read without harm, and one that is cheap to verify matches no word by chance (P3).

use password::{Memory, Stored};

/// Nanoseconds of the values that are verified: others would make this slow, and are bounded by the same numbers.
const COST_NS_MAX: u64 = 100_000;

/// Reads a value, and verifies two words of which it matches one at most.
pub fn check(data: &[u8]) {
    let Ok(stored) = Stored::read(data) else { return };
    if stored.cost_ns() > COST_NS_MAX {
        return;
    }
    let mut memory = Memory::default();
    let matched = [&b"Secret-1"[..], b"secret-2"].map(|word| stored.verify(word, &mut memory));
    assert_ne!(matched, [true, true], "no value stands for two words");
    assert!(!stored.verify(b"", &mut memory), "the empty word is never right");
}
