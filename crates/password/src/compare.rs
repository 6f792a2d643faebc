//! Comparison that tells nothing by the time it takes.

use std::hint::black_box;

/// Are they the same bytes? Looks at all of `given`, whatever it finds.
/// `black_box` keeps the compiler from leaving the loop early.
pub fn same(secret: &[u8], given: &[u8]) -> bool {
    let mut difference = u8::from(secret.len() != given.len());
    for (at, byte) in given.iter().enumerate() {
        let other = secret.get(at).copied().unwrap_or(!byte);
        difference = black_box(difference | (byte ^ other));
    }
    difference == 0
}
