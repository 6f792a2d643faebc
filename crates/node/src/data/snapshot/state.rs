//! What a snapshot knows of the log besides the directory: how its outcome chain and its time go on, which rules are in force, and
//! which settings.

use dsa::Dsa;
use std::sync::Arc;
use store::Checkpoint;
use wal::Mark;

const MAGIC: [u8; 8] = *b"pandolog";
/// 1 has no rules, 2 no settings. 2 is written where there are no settings. 4 is that of a replica of a cluster.
const VERSION: u32 = 3;
const VERSION_OF_REPLICA: u32 = 4;
/// Bytes before the rules, or before the number of bytes of the settings.
const BYTES: usize = 32;

/// What the log came to, up to a record. Metadata of earlier versions have none of it: the first bytes are the store's.
///
/// ```text
/// "pandolog" | u32 version | u32 bytes of the rules | u64 chain | u64 time | u32 bytes of the settings | rules | settings
/// | metadata of the store
/// ```
///
/// In the metadata of a replica:
///
/// ```text
/// "pandolog" | u32 version | u32 bytes of the rules | u64 chain | u64 time | u32 bytes of the settings | u32 bytes of the mark |
/// u32 1 if there are settings | rules | settings | mark | metadata of the store
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
    /// The settings that are in force, as text, if the log has any.
    pub settings: Option<Arc<str>>,
    /// How the log goes on after it.
    pub mark: Mark,
    /// Whose change log goes with it, if one does.
    pub changes: Option<Arc<Dsa>>,
}

/// The parts of a snapshot's metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts<'m> {
    /// What the log came to; that of an empty one in metadata of earlier versions.
    pub(crate) state: LogState,
    /// The rules, as text; earlier versions had them in a file.
    pub(crate) rules: Option<&'m str>,
    /// The settings, as text; earlier versions had them in a file.
    pub(crate) settings: Option<&'m str>,
    /// How the log of a replica goes on; empty in other metadata.
    pub(crate) mark: &'m [u8],
    /// Of the store.
    pub(crate) store: &'m [u8],
}

impl LogState {
    /// The metadata of a snapshot with these rules, settings and mark, and this metadata of the store.
    pub(in crate::data) fn join(
        &self,
        rules: &str,
        settings: Option<&str>,
        mark: &[u8],
        store: &[u8],
    ) -> Vec<u8> {
        let text = settings.unwrap_or_default();
        let version = match (mark.is_empty(), settings) {
            (false, _) => VERSION_OF_REPLICA,
            (true, Some(_)) => VERSION,
            (true, None) => VERSION - 1,
        };
        assert!(
            u32::try_from(rules.len().max(text.len())).is_ok(),
            "a length of 32 bits says where the next part begins"
        );
        let mut out = Vec::with_capacity(BYTES + 12 + rules.len() + text.len() + mark.len() + store.len());
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&version.to_le_bytes());
        out.extend_from_slice(&(rules.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.chain.to_le_bytes());
        out.extend_from_slice(&self.time_ms.to_le_bytes());
        if version >= VERSION {
            out.extend_from_slice(&(text.len() as u32).to_le_bytes());
        }
        if version == VERSION_OF_REPLICA {
            out.extend_from_slice(&(mark.len() as u32).to_le_bytes());
            out.extend_from_slice(&u32::from(settings.is_some()).to_le_bytes());
        }
        out.extend_from_slice(rules.as_bytes());
        out.extend_from_slice(text.as_bytes());
        out.extend_from_slice(mark);
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
            let (state, mark) = (LogState::default(), &[][..]);
            return Ok(Parts { state, rules: None, settings: None, mark, store: meta });
        };
        let number = |at: usize| u32::from_le_bytes(*own[at..].first_chunk().expect("it has its length"));
        let word = |at: usize| u64::from_le_bytes(*own[at..].first_chunk().expect("it has its length"));
        let state = LogState { chain: word(16), time_ms: word(24) };
        let (mut settings, mut mark, mut store) = (None, &[][..], rest);
        let rules = match (number(8), number(12) as usize) {
            (1, 0) => None,
            (1, _) => {
                return Err("what it knows of the log has rules that its version does not have".to_owned());
            }
            (2, bytes) => Some(take_text(&mut store, bytes)?),
            (VERSION, bytes) => {
                let (length, texts) =
                    rest.split_first_chunk().ok_or("it ends within what it knows of the log")?;
                store = texts;
                let rules = take_text(&mut store, bytes)?;
                settings = Some(take_text(&mut store, u32::from_le_bytes(*length) as usize)?);
                Some(rules)
            }
            (VERSION_OF_REPLICA, bytes) => {
                let (lengths, texts) =
                    rest.split_first_chunk::<12>().ok_or("it ends within what it knows of the log")?;
                store = texts;
                let length =
                    |at: usize| u32::from_le_bytes(*lengths[at..].first_chunk().expect("it has its length"));
                let rules = take_text(&mut store, bytes)?;
                let text = take_text(&mut store, length(0) as usize)?;
                settings = (length(8) != 0).then_some(text);
                let parts = store.split_at_checked(length(4) as usize);
                (mark, store) = parts.ok_or("it ends within the mark of the log")?;
                Some(rules)
            }
            (other, _) => return Err(format!("what it knows of the log is of version {other}")),
        };
        Ok(Parts { state, rules, settings, mark, store })
    }
}

/// Takes a text from the front.
fn take_text<'m>(bytes: &mut &'m [u8], length: usize) -> Result<&'m str, String> {
    let (text, rest) =
        bytes.split_at_checked(length).ok_or("it ends within the rules or the settings of the log")?;
    *bytes = rest;
    std::str::from_utf8(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_back_and_metadata_of_earlier_versions_have_none() {
        let state = LogState { chain: 7 << 50, time_ms: 9 };
        let all =
            [(None, ""), (Some("the settings"), ""), (None, "the mark"), (Some("the settings"), "the mark")];
        for (settings, mark) in all {
            let mark = mark.as_bytes();
            let meta = state.join("of the log", settings, mark, b"of the store");
            let (rules, store) = (Some("of the log"), &b"of the store"[..]);
            assert_eq!(Parts::of(&meta), Ok(Parts { state, rules, settings, mark, store }));
            for bytes in BYTES..BYTES + 10 {
                assert!(Parts::of(&meta[..bytes]).is_err(), "{bytes} bytes");
            }
            let mut later = meta;
            later[8] = 5;
            assert!(Parts::of(&later).unwrap_err().contains("version 5"));
        }
        let earlier = b"pandomet and so on, more than 32 bytes of it";
        let (state_of_none, mark) = (LogState::default(), &[][..]);
        let none = Parts { state: state_of_none, rules: None, settings: None, mark, store: &earlier[..] };
        assert_eq!(Parts::of(earlier), Ok(none));
        let mut first = state.join("", None, &[], b"of the store");
        first[8] = 1;
        let store = &b"of the store"[..];
        assert_eq!(Parts::of(&first), Ok(Parts { state, rules: None, settings: None, mark, store }));
    }
}
