//! What a snapshot knows of the log besides the directory: how its outcome chain and its time go on.

use store::Checkpoint;

const MAGIC: [u8; 8] = *b"pandolog";
const VERSION: u32 = 1;
/// Bytes before the store's metadata.
const BYTES: usize = 32;

/// What the log came to, up to a record. Metadata of earlier versions have none of it: the first bytes are the store's.
///
/// ```text
/// "pandolog" | u32 version | u32 zero | u64 chain | u64 time | metadata of the store
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
}

impl LogState {
    /// The metadata of a snapshot with this metadata of the store.
    pub(super) fn join(&self, store: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(BYTES + store.len());
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.chain.to_le_bytes());
        out.extend_from_slice(&self.time_ms.to_le_bytes());
        out.extend_from_slice(store);
        out
    }

    /// Reads it of a snapshot's metadata.
    ///
    /// # Errors
    /// In words, what is wrong.
    pub(super) fn of(meta: &[u8]) -> Result<LogState, String> {
        let Some(own) = split(meta).0 else { return Ok(LogState::default()) };
        let word = |at: usize| u64::from_le_bytes(*own[at..].first_chunk().expect("it has its length"));
        match word(8) {
            version if version == u64::from(VERSION) => Ok(LogState { chain: word(16), time_ms: word(24) }),
            other => Err(format!("what it knows of the log is of version {}", other as u32)),
        }
    }
}

/// The part that knows of the log, if there is one, and the store's.
pub(super) fn split(meta: &[u8]) -> (Option<&[u8; BYTES]>, &[u8]) {
    match meta.split_first_chunk::<BYTES>() {
        Some((own, store)) if own.starts_with(&MAGIC) => (Some(own), store),
        _ => (None, meta),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_back_and_metadata_of_earlier_versions_have_none() {
        let state = LogState { chain: 7 << 50, time_ms: 9 };
        let meta = state.join(b"of the store");
        assert_eq!((LogState::of(&meta), split(&meta).1), (Ok(state), &b"of the store"[..]));
        let earlier = b"pandomet and so on, more than 32 bytes of it";
        assert_eq!((LogState::of(earlier), split(earlier).1), (Ok(LogState::default()), &earlier[..]));
        let mut later = meta;
        later[8] = 2;
        assert!(LogState::of(&later).unwrap_err().contains("version 2"));
    }
}
