//! Names of clusters and runs, and their text.

use env::entropy::Entropy;
use std::fmt::{self, Write as _};

/// Bytes of a name.
pub(crate) const ID_BYTES: usize = 16;

/// Names a cluster for ever: 128 random bits. Text is 32 hexadecimal digits in small letters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterId(pub [u8; ID_BYTES]);

/// Names one run of a server: 128 random bits, new at each start.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub [u8; ID_BYTES]);

impl ClusterId {
    /// A new one.
    pub fn random(entropy: &mut dyn Entropy) -> ClusterId {
        ClusterId(random(entropy))
    }

    /// From its text; `None` if it is none.
    pub fn parse(text: &str) -> Option<ClusterId> {
        unhex(text).map(ClusterId)
    }
}

impl RunId {
    /// From its text; `None` if it is none.
    pub fn parse(text: &str) -> Option<RunId> {
        unhex(text).map(RunId)
    }

    /// A new one.
    pub fn random(entropy: &mut dyn Entropy) -> RunId {
        RunId(random(entropy))
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// Random bytes.
pub(crate) fn random<const N: usize>(entropy: &mut dyn Entropy) -> [u8; N] {
    let mut bytes = [0; N];
    entropy.fill(&mut bytes);
    bytes
}

/// Hexadecimal digits in small letters.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of as many digits, in small letters only, so that each value has one text.
pub(crate) fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_come_back_and_others_are_none() {
        let id = ClusterId([0xa5; ID_BYTES]);
        assert_eq!(ClusterId::parse(&id.to_string()), Some(id));
        for text in ["", "a5", &"A5".repeat(16), &"a5".repeat(17), &"g5".repeat(16), &"é".repeat(16)] {
            assert_eq!(ClusterId::parse(text), None, "{text}");
        }
    }
}
