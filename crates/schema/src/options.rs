//! Sets of attribute options (RFC 4512 section 2.5.2), interned.

use crate::{BinaryTransfer, Schema};
use model::{Description, OptionsId, ResultCode, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Different sets of options of entries. With so many, an update with another is refused before it is logged; what was taken before may
/// bring more.
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
    /// `;binary` where the syntax has no BER form (RFC 4522 section 3).
    NoBinaryForm,
}

impl DescriptionError {
    /// The result code that tells a client.
    pub fn result_code(self) -> ResultCode {
        match self {
            DescriptionError::Malformed
            | DescriptionError::UnknownType
            | DescriptionError::LanguageRange
            | DescriptionError::NoBinaryForm => ResultCode::UndefinedAttributeType,
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
            DescriptionError::NoBinaryForm => {
                "its values have no BER form, so they cannot be sent as ;binary"
            }
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

    /// As values may have them: a language range stands for the language that it begins with, and besides for one within that. Nothing if there are
    /// none at all.
    pub fn described(&self) -> Vec<String> {
        let Some(options) = self.0.as_deref() else { return Vec::new() };
        let with = |end: &str| {
            let values = options.split(';').map(|part| match is_language_range(part) {
                true => format!("{}{end}", &part[..part.len() - 1]),
                false => part.to_owned(),
            });
            values.collect::<Vec<_>>().join(";")
        };
        let mut described = vec![with("")];
        if options.split(';').any(is_language_range) {
            described.push(with("-x"));
        }
        described
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

/// Options without the transfer option `binary` (RFC 4522 section 3). `None` if it is not among them.
pub(crate) fn without_binary(options: &[u8]) -> Option<Vec<u8>> {
    let is_binary = |option: &&[u8]| option.eq_ignore_ascii_case(b"binary");
    let parts = || options.split(|byte| *byte == b';');
    parts().any(|option| is_binary(&option)).then(|| {
        let others: Vec<&[u8]> = parts().filter(|option| !is_binary(option)).collect();
        others.join(&b';')
    })
}

fn is_language_range(option: &str) -> bool {
    option.starts_with("lang-") && option.ends_with('-')
}

/// The sets of options that there are. An id is valid as long as a shape or an import has the set ("kept"), or somebody holds
/// it; then it may become another set's.
#[derive(Debug)]
pub(crate) struct OptionTable {
    sets: RwLock<Sets>,
    /// How many are kept.
    kept: AtomicUsize,
}

#[derive(Debug)]
struct Sets {
    by_id: Vec<Option<Set>>,
    free: Vec<u32>,
    by_text: BTreeMap<Arc<str>, u32>,
}

#[derive(Debug)]
struct Set {
    text: Arc<str>,
    /// Those who need it for a while: commands, overlays.
    holders: u32,
    /// Those who need it for good: shapes of entries.
    keepers: u32,
}

impl OptionTable {
    pub(crate) fn new() -> OptionTable {
        let text: Arc<str> = "".into();
        let none = Set { text: text.clone(), holders: 0, keepers: 1 };
        let sets = Sets { by_id: vec![Some(none)], free: Vec::new(), by_text: BTreeMap::from([(text, 0)]) };
        OptionTable { sets: RwLock::new(sets), kept: AtomicUsize::new(1) }
    }

    fn read(&self) -> RwLockReadGuard<'_, Sets> {
        self.sets.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Sets> {
        self.sets.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The id of `options` (as after the first `;`) if this set is kept.
    pub(crate) fn find(&self, options: &[u8]) -> Option<OptionsId> {
        let sets = self.read();
        let as_given = std::str::from_utf8(options).ok()?;
        let id = match sets.by_text.get(as_given) {
            Some(id) => *id,
            None => *sets.by_text.get(canonical(options).ok()?.as_str())?,
        };
        assert!(sets.by_id[id as usize].is_some(), "a text leads to a set that is there");
        let is_kept = sets.by_id[id as usize].as_ref().is_some_and(|set| set.keepers > 0);
        is_kept.then_some(OptionsId(id))
    }

    /// Are as many kept as may be taken?
    pub(crate) fn is_full(&self) -> bool {
        self.kept.load(Ordering::Relaxed) >= OPTION_SETS_MAX
    }

    /// The id of `options`, which are kept from now on.
    pub(crate) fn intern(&self, options: &[u8]) -> Result<OptionsId, DescriptionError> {
        if let Some(id) = self.find(options) {
            return Ok(id);
        }
        let text = describing(options)?;
        if self.is_full() {
            return Err(DescriptionError::TooManyOptionSets);
        }
        let mut sets = self.write();
        let id = sets.id_of(text);
        self.keep_in(&mut sets, id);
        Ok(id)
    }

    /// The id of `options`, which are held from now on, until [`OptionTable::release`]. The empty set need not be. Others
    /// that are kept are held as well: the shard whose shape keeps them may be dropped meanwhile.
    pub(crate) fn hold(&self, options: &[u8]) -> Result<OptionsId, DescriptionError> {
        if options.is_empty() {
            return Ok(OptionsId::NONE);
        }
        let text = describing(options)?;
        let mut sets = self.write();
        let id = sets.id_of(text);
        sets.at(id).holders += 1;
        Ok(id)
    }

    /// Somebody else needs it for a while, too.
    pub(crate) fn hold_also(&self, id: OptionsId) {
        self.write().at(id).holders += 1;
    }

    /// Who held it needs it no more.
    pub(crate) fn release(&self, id: OptionsId) {
        assert!(id != OptionsId::NONE, "the empty set is not held, so it is not released");
        let mut sets = self.write();
        assert!(sets.at(id).holders > 0, "a set of options is released by those who held it");
        sets.at(id).holders -= 1;
        sets.drop_if_unused(id);
    }

    /// A shape has it.
    pub(crate) fn keep(&self, id: OptionsId) {
        self.keep_in(&mut self.write(), id);
    }

    fn keep_in(&self, sets: &mut Sets, id: OptionsId) {
        let set = sets.at(id);
        set.keepers += 1;
        if set.keepers == 1 {
            self.kept.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A shape that had it was dropped.
    pub(crate) fn unkeep(&self, id: OptionsId) {
        assert!(id != OptionsId::NONE, "the empty set is kept for ever");
        let mut sets = self.write();
        let set = sets.at(id);
        assert!(set.keepers > 0, "a set of options is given up by shapes that kept it");
        set.keepers -= 1;
        if set.keepers == 0 {
            let before = self.kept.fetch_sub(1, Ordering::Relaxed);
            assert!(before > 1, "the empty set is counted among those kept");
        }
        sets.drop_if_unused(id);
    }

    /// How many sets there are, those that are only held included.
    pub(crate) fn count(&self) -> usize {
        self.read().by_text.len()
    }

    /// Where the ids end.
    pub(crate) fn ids_end(&self) -> u32 {
        self.read().by_id.len() as u32
    }

    /// Canonical text of a set: `lang-de;x-a`, empty for none or for an id that nobody has.
    pub(crate) fn text(&self, id: OptionsId) -> Arc<str> {
        let sets = self.read();
        let text = |id: usize| sets.by_id.get(id).and_then(|set| Some(Arc::clone(&set.as_ref()?.text)));
        text(id.0 as usize).unwrap_or_else(|| text(0).expect("the empty set stays"))
    }
}

impl Sets {
    /// The set with this id.
    fn at(&mut self, id: OptionsId) -> &mut Set {
        self.by_id[id.0 as usize].as_mut().expect("an id is given to a holder or a keeper of the set")
    }

    /// The id of a set, which is made if it is new: to be held or kept at once.
    fn id_of(&mut self, text: Arc<str>) -> OptionsId {
        if let Some(id) = self.by_text.get(&text) {
            return OptionsId(*id);
        }
        let set = Set { text: text.clone(), holders: 0, keepers: 0 };
        let id = self.free.pop().unwrap_or_else(|| {
            self.by_id.push(None);
            self.by_id.len() as u32 - 1
        });
        assert!(self.by_id[id as usize].is_none(), "an id is given to one set at a time");
        self.by_id[id as usize] = Some(set);
        self.by_text.insert(text, id);
        assert_eq!(self.by_text.len() + self.free.len(), self.by_id.len(), "an id is that of a set or free");
        OptionsId(id)
    }

    fn drop_if_unused(&mut self, id: OptionsId) {
        let place = &mut self.by_id[id.0 as usize];
        if let Some(set) = place.take_if(|set| set.holders == 0 && set.keepers == 0) {
            let removed = self.by_text.remove(&set.text);
            assert_eq!(removed, Some(id.0), "a set is found by its text under its id");
            self.free.push(id.0);
        }
    }
}

/// Attribute descriptions of one command. Sets of options that no entry has are given up again with this, unless a shape with
/// them was made meanwhile: so a command that is refused leaves nothing.
#[derive(Debug)]
pub struct HeldDescriptions<'s> {
    schema: &'s Schema,
    held: Vec<OptionsId>,
}

impl<'s> HeldDescriptions<'s> {
    /// None yet.
    pub fn new(schema: &'s Schema) -> HeldDescriptions<'s> {
        HeldDescriptions { schema, held: Vec::new() }
    }

    /// The attribute description `cn;lang-de`, also of a set of options that no entry was given yet. It is valid as long as this is.
    ///
    /// # Errors
    /// See [`DescriptionError`]; there are never too many sets.
    #[inline]
    pub fn describe(&mut self, text: &[u8]) -> Result<Description, DescriptionError> {
        match self.schema.find_type(text) {
            Some(kind) => Ok(Description::plain(kind)),
            None => self.describe_options(text),
        }
    }

    #[cold]
    fn describe_options(&mut self, text: &[u8]) -> Result<Description, DescriptionError> {
        let (attribute_type, options) = self.schema.split(text)?;
        self.hold(attribute_type, &options)
    }

    /// As [`HeldDescriptions::describe`], but apart from that attribute: `binary` is an option as any other, as it was when
    /// earlier versions stored it beside the same attribute without it.
    ///
    /// # Errors
    /// As [`HeldDescriptions::describe`].
    pub fn describe_apart(&mut self, text: &[u8]) -> Result<Description, DescriptionError> {
        let (attribute_type, options) = self.schema.split(text)?;
        match &*options {
            b"" => self.hold(attribute_type, b"binary"),
            options => self.hold(attribute_type, &[b"binary;", options].concat()),
        }
    }

    /// The attribute that a stored one is, if an earlier version kept it apart by the option `binary`. It is valid as long as this
    /// is.
    #[inline]
    pub fn one_attribute(&mut self, stored: Description) -> Option<Description> {
        let may_be_apart = stored.options != OptionsId::NONE
            && self.schema.attribute_type(stored.attribute_type).binary != BinaryTransfer::None;
        if may_be_apart { self.one_of_options(stored) } else { None }
    }

    #[cold]
    fn one_of_options(&mut self, stored: Description) -> Option<Description> {
        let others = without_binary(self.schema.options.text(stored.options).as_bytes())?;
        let one = self.hold(stored.attribute_type, &others);
        Some(one.expect("options that are stored are well-formed, also without one of them"))
    }

    fn hold(&mut self, attribute_type: TypeId, options: &[u8]) -> Result<Description, DescriptionError> {
        let options = self.schema.options.hold(options)?;
        if options != OptionsId::NONE {
            self.held.push(options);
        }
        Ok(Description { attribute_type, options })
    }
}

impl Drop for HeldDescriptions<'_> {
    fn drop(&mut self) {
        self.held.iter().for_each(|id| self.schema.options.release(*id));
    }
}

/// The canonical text of options that may describe values.
fn describing(options: &[u8]) -> Result<Arc<str>, DescriptionError> {
    let text: Arc<str> = canonical(options)?.into();
    match text.split(';').any(is_language_range) {
        true => Err(DescriptionError::LanguageRange),
        false => Ok(text),
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
    let canonical = parts.join(";");
    assert!(
        canonical.len() <= options.len(),
        "the canonical text of options is not longer than the given one"
    );
    Ok(canonical)
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
        let described = WantedOptions::new(b"x-a;lang-DE-").unwrap().described();
        assert_eq!(described, ["lang-de;x-a", "lang-de-x;x-a"]);
        assert!(WantedOptions::NONE.described().is_empty());
    }

    #[test]
    fn what_nobody_needs_is_given_up() {
        let table = OptionTable::new();
        let id = table.hold(b"x-a").unwrap();
        assert!(id != OptionsId::NONE && table.find(b"x-a").is_none() && &*table.text(id) == "x-a");
        assert_eq!(table.hold(b"X-A").unwrap(), id);
        table.release(id);
        assert_eq!(&*table.text(id), "x-a");
        table.keep(id);
        table.release(id);
        // Held, it outlives the shape that kept it.
        assert_eq!((table.find(b"x-a"), table.hold(b"x-a")), (Some(id), Ok(id)));
        table.unkeep(id);
        assert_eq!((table.find(b"x-a"), &*table.text(id)), (None, "x-a"));
        table.release(id);
        assert_eq!((table.find(b"x-a"), &*table.text(id), table.count()), (None, "", 1));
        assert_eq!(table.ids_end(), id.0 + 1, "its id may be another's beside one that is higher");
        assert_eq!(table.hold(b"x-b").unwrap(), id, "its id is used again");
    }

    #[test]
    fn bounded() {
        let table = OptionTable::new();
        for n in 1..OPTION_SETS_MAX {
            table.intern(format!("x-{n}").as_bytes()).unwrap();
        }
        assert_eq!(table.intern(b"x-more"), Err(DescriptionError::TooManyOptionSets));
        assert!(table.intern(b"x-1").is_ok() && table.is_full());
        assert!(table.hold(b"x-more").is_ok(), "what was logged is not refused");
    }
}
