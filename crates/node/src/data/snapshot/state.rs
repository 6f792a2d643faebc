//! What a snapshot knows of the log besides the directory: how its outcome chain and its time go on, and which rules are in
//! force.

use std::sync::Arc;
use store::Checkpoint;

const MAGIC: [u8; 8] = *b"pandolog";
/// 1 has no rules.
const VERSION: u32 = 2;
/// Bytes before the rules.
const BYTES: usize = 32;

/// What the log came to, up to a record. Metadata of earlier versions have none of it: the first bytes are the store's.
///
/// ```text
/// "pandolog" | u32 version | u32 bytes of the rules | u64 chain | u64 time | rules | metadata of the store
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogState {
    /// The outcome chain ([`dsa::chain`]).
    pub chain: u64,
    /// Time of the last parcel, in milliseconds since 1970.
    pub time_ms: u64,
}

/// A checkpoint of the directory and what the log came to there.
pub struct Point {
    /// The directory.
    pub checkpoint: Checkpoint,
    /// The log.
    pub state: LogState,
    /// What the command after it is decided by, as text.
    pub rules: Arc<str>,
}

/// The parts of a snapshot's metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts<'m> {
    /// What the log came to; that of an empty one in metadata of earlier versions.
    pub(crate) state: LogState,
    /// The rules, as text; earlier versions had them in a file.
    pub(crate) rules: Option<&'m str>,
    /// Of the store.
    pub(crate) store: &'m [u8],
}

impl LogState {
    /// The metadata of a snapshot with these rules and this metadata of the store.
    pub(super) fn join(&self, rules: &str, store: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(BYTES + rules.len() + store.len());
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(rules.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.chain.to_le_bytes());
        out.extend_from_slice(&self.time_ms.to_le_bytes());
        out.extend_from_slice(rules.as_bytes());
        out.extend_from_slice(store);
        out
    }
}

impl<'m> Parts<'m> {
    /// Reads a snapshot's metadata.
    ///
    /// # Errors
    /// In words, what is wrong.
    pub(crate) fn of(meta: &'m [u8]) -> Result<Parts<'m>, String> {
        let Some((own, rest)) = meta.split_first_chunk::<BYTES>().filter(|(own, _)| own.starts_with(&MAGIC))
        else {
            return Ok(Parts { state: LogState::default(), rules: None, store: meta });
        };
        let number = |at: usize| u32::from_le_bytes(*own[at..].first_chunk().expect("it has its length"));
        let word = |at: usize| u64::from_le_bytes(*own[at..].first_chunk().expect("it has its length"));
        let state = LogState { chain: word(16), time_ms: word(24) };
        match (number(8), number(12) as usize) {
            (1, 0) => Ok(Parts { state, rules: None, store: rest }),
            (VERSION, bytes) => {
                let (rules, store) =
                    rest.split_at_checked(bytes).ok_or("it ends within the rules of the log")?;
                let rules = std::str::from_utf8(rules).map_err(|error| error.to_string())?;
                Ok(Parts { state, rules: Some(rules), store })
            }
            (1, _) => Err("what it knows of the log has rules that its version does not have".to_owned()),
            (other, _) => Err(format!("what it knows of the log is of version {other}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_back_and_metadata_of_earlier_versions_have_none() {
        let state = LogState { chain: 7 << 50, time_ms: 9 };
        let meta = state.join("of the log", b"of the store");
        let (rules, store) = (Some("of the log"), &b"of the store"[..]);
        assert_eq!(Parts::of(&meta), Ok(Parts { state, rules, store }));
        for bytes in BYTES..BYTES + 10 {
            assert!(Parts::of(&meta[..bytes]).is_err(), "{bytes} bytes");
        }
        let earlier = b"pandomet and so on, more than 32 bytes of it";
        let none = Parts { state: LogState::default(), rules: None, store: &earlier[..] };
        assert_eq!(Parts::of(earlier), Ok(none));
        let mut first = state.join("", b"of the store");
        first[8] = 1;
        assert_eq!(Parts::of(&first), Ok(Parts { state, rules: None, store }));
        let mut later = meta;
        later[8] = 3;
        assert!(Parts::of(&later).unwrap_err().contains("version 3"));
    }
}
