//! Sets of attribute options (RFC 4512 section 2.5.2), interned.

use model::{OptionsId, ResultCode};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// Different sets of options that one server keeps apart.
pub const OPTION_SETS_MAX: usize = 60_000;
/// Options in one attribute description.
pub(crate) const OPTIONS_MAX: usize = 32;
/// Bytes of all options of one attribute description.
pub(crate) const OPTIONS_BYTES_MAX: usize = 1024;

/// Why an attribute description is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescriptionError {
    /// Not of the form of RFC 4512 section 2.5.
    Malformed,
    /// No attribute type has this name or OID.
    UnknownType,
    /// A language range where a language tag is needed (RFC 3866 section 2.2): `lang-de-` selects, it describes no
    /// values.
    LanguageRange,
    /// Too many or too long options in one description.
    OptionsTooLong,
    /// [`OPTION_SETS_MAX`] different sets are in use.
    TooManyOptionSets,
}

impl DescriptionError {
    /// The result code that tells a client.
    pub fn result_code(self) -> ResultCode {
        match self {
            DescriptionError::Malformed | DescriptionError::UnknownType | DescriptionError::LanguageRange => {
                ResultCode::UndefinedAttributeType
            }
            DescriptionError::OptionsTooLong | DescriptionError::TooManyOptionSets => {
                ResultCode::AdminLimitExceeded
            }
        }
    }
}

impl fmt::Display for DescriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DescriptionError::Malformed => "not an attribute description",
            DescriptionError::UnknownType => "no such attribute type",
            DescriptionError::LanguageRange => "a language range selects values, it cannot describe them",
            DescriptionError::OptionsTooLong => "too many attribute options",
            DescriptionError::TooManyOptionSets => "the server knows too many sets of attribute options",
        })
    }
}

impl std::error::Error for DescriptionError {}

/// Options that somebody asks for, whether or not an entry was ever given just these. Asking interns nothing, so that
/// readers cannot fill the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedOptions(Option<Box<str>>);

impl WantedOptions {
    /// No options.
    pub const NONE: WantedOptions = WantedOptions(None);

    /// Options as after the first `;`. `None` if they are malformed or too long.
    pub(crate) fn new(options: &[u8]) -> Option<WantedOptions> {
        Some(WantedOptions(Some(canonical(options).ok()?.into())))
    }

    /// None at all?
    #[inline]
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Are all of them among `have`, a canonical text? A wanted `lang-de-` is a language range (RFC 3866 section 2.2).
    pub(crate) fn are_in(&self, have: &str) -> bool {
        let is_in_range = |option: &str, want: &str| {
            is_language_range(want) && (option.starts_with(want) || option == &want[..want.len() - 1])
        };
        let Some(want) = &self.0 else { return true };
        want.split(';').all(|w| have.split(';').any(|h| h == w || is_in_range(h, w)))
    }
}

fn is_language_range(option: &str) -> bool {
    option.starts_with("lang-") && option.ends_with('-')
}

/// All sets of options seen so far. Ids are given in order of arrival and never taken back.
#[derive(Debug)]
pub(crate) struct OptionTable {
    sets: RwLock<Sets>,
}

#[derive(Debug)]
struct Sets {
    by_id: Vec<Arc<str>>,
    by_text: BTreeMap<Arc<str>, u16>,
}

impl OptionTable {
    pub(crate) fn new() -> OptionTable {
        let none: Arc<str> = "".into();
        let sets = Sets { by_id: vec![none.clone()], by_text: BTreeMap::from([(none, 0)]) };
        OptionTable { sets: RwLock::new(sets) }
    }

    /// The id of `options` (as after the first `;`) if this set was interned.
    pub(crate) fn find(&self, options: &[u8]) -> Option<OptionsId> {
        let sets = self.sets.read().unwrap_or_else(PoisonError::into_inner);
        let as_given = std::str::from_utf8(options).ok()?;
        if let Some(id) = sets.by_text.get(as_given) {
            return Some(OptionsId(*id));
        }
        sets.by_text.get(canonical(options).ok()?.as_str()).map(|id| OptionsId(*id))
    }

    /// The id of `options`, given now if it is new.
    pub(crate) fn intern(&self, options: &[u8]) -> Result<OptionsId, DescriptionError> {
        if let Some(id) = self.find(options) {
            return Ok(id);
        }
        let text: Arc<str> = canonical(options)?.into();
        if text.split(';').any(is_language_range) {
            return Err(DescriptionError::LanguageRange);
        }
        let mut sets = self.sets.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = sets.by_text.get(&text) {
            return Ok(OptionsId(*id));
        }
        if sets.by_id.len() >= OPTION_SETS_MAX {
            return Err(DescriptionError::TooManyOptionSets);
        }
        let id = sets.by_id.len() as u16;
        sets.by_id.push(text.clone());
        sets.by_text.insert(text, id);
        Ok(OptionsId(id))
    }

    /// Canonical text of a set: `lang-de;x-a`, empty for none or for an id never given.
    pub(crate) fn text(&self, id: OptionsId) -> Arc<str> {
        let sets = self.sets.read().unwrap_or_else(PoisonError::into_inner);
        sets.by_id.get(id.0 as usize).unwrap_or(&sets.by_id[0]).clone()
    }
}

/// Lower case, sorted, each once (RFC 4512 section 2.5: order and case mean nothing).
fn canonical(options: &[u8]) -> Result<String, DescriptionError> {
    if options.len() > OPTIONS_BYTES_MAX {
        return Err(DescriptionError::OptionsTooLong);
    }
    let text = std::str::from_utf8(options).map_err(|_| DescriptionError::Malformed)?.to_ascii_lowercase();
    let mut parts: Vec<&str> = text.split(';').collect();
    let legal = |p: &&str| !p.is_empty() && p.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if !parts.iter().all(legal) {
        return Err(DescriptionError::Malformed);
    }
    if parts.len() > OPTIONS_MAX {
        return Err(DescriptionError::OptionsTooLong);
    }
    parts.sort_unstable();
    parts.dedup();
    Ok(parts.join(";"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_case_mean_nothing() {
        let table = OptionTable::new();
        assert_eq!(table.find(b"lang-de;x-a"), None);
        let id = table.intern(b"X-a;lang-DE;x-a").unwrap();
        assert_eq!(table.find(b"lang-de;x-a"), Some(id));
        assert_eq!(&*table.text(id), "lang-de;x-a");
        assert_eq!(table.intern(b"a;;b"), Err(DescriptionError::Malformed));
        assert_eq!(table.intern(b""), Ok(OptionsId::NONE));
    }

    #[test]
    fn language_ranges_select_and_describe_nothing() {
        let are_in = |want: &str, have: &str| WantedOptions::new(want.as_bytes()).unwrap().are_in(have);
        assert!(are_in("lang-de-", "lang-de") && are_in("LANG-de-", "lang-de-ch;x-a"));
        assert!(!are_in("lang-de-", "lang-den") && !are_in("lang-de", "lang-de-ch"));
        assert!(are_in("lang-", "lang-fr") && !are_in("lang-", "x-lang-fr"));
        assert_eq!(OptionTable::new().intern(b"x-a;lang-DE-"), Err(DescriptionError::LanguageRange));
    }

    #[test]
    fn bounded() {
        let table = OptionTable::new();
        for n in 1..OPTION_SETS_MAX {
            table.intern(format!("x-{n}").as_bytes()).unwrap();
        }
        assert_eq!(table.intern(b"x-more"), Err(DescriptionError::TooManyOptionSets));
        assert!(table.intern(b"x-1").is_ok());
    }
}
