//! The built subschema: look-ups and normal forms.

use crate::additions::Additions;
use crate::class_set::ClassSets;
use crate::current::{Current, CurrentTraits};
use crate::dit::DitRules;
use crate::element::Traits;
use crate::names::NameTable;
use crate::options::{OptionTable, WantedOptions, without_binary};
use crate::{
    AttributeType, BinaryTransfer, DescriptionError, Fault, Invalid, ObjectClass, Rule, SchemaFile, Subtypes,
    WellKnown, definition, dn, names, prep, secret,
};
use model::attribute::split_options;
use model::short::Word;
use model::{ClassId, Description, OptionsId, TypeId};
use std::borrow::Cow;
use std::fmt;

/// Characters of a value that a text shows.
const SHOWN_CHARS_MAX: usize = 80;

/// The subschema of a server. The standard definitions and those of files never change once it is built; others may be added, changed and removed
/// ([`Schema::plan`]).
pub struct Schema {
    pub(crate) types: Vec<Current<AttributeType>>,
    pub(crate) traits: Vec<CurrentTraits>,
    pub(crate) classes: Vec<Current<ObjectClass>>,
    pub(crate) dit: DitRules,
    pub(crate) syntaxes: Vec<definition::SyntaxDefinition>,
    pub(crate) type_names: NameTable,
    pub(crate) class_names: NameTable,
    pub(crate) options: OptionTable,
    pub(crate) class_sets: ClassSets,
    pub(crate) well_known: WellKnown,
    pub(crate) member_of: [Option<TypeId>; 2],
    pub(crate) group_of_urls: Option<ClassId>,
    /// What names and OIDs of userPassword begin with, and how long the shortest is: see [`Schema::may_be_password`].
    pub(crate) password_initials: u32,
    pub(crate) password_name_bytes_min: usize,
    /// Those that [`crate::Builder::with_file`] added to the standard ones, without what was added in use.
    pub(crate) files: Vec<SchemaFile>,
    pub(crate) warnings: Vec<Fault>,
    /// The names that [`crate::Builder::secrets`] was given.
    pub(crate) secrets: Vec<String>,
    pub(crate) added: Additions,
}

impl Schema {
    /// The attribute type with this name (any case) or numeric OID.
    #[inline]
    pub fn find_type(&self, name_or_oid: &[u8]) -> Option<TypeId> {
        match self.type_names.find(name_or_oid) {
            Some(id) => Some(TypeId(id)),
            None => self.find_added_type(name_or_oid),
        }
    }

    /// Is this a name (any case) or the OID of a type? Where mostly it is none, that takes a part of the time of [`Schema::find_type`].
    #[inline]
    pub fn is_named(&self, id: TypeId, name: &[u8]) -> bool {
        let mut names = self.attribute_type(id).all_names().map(str::as_bytes);
        // It is mostly written as it is defined, which takes fewer instructions to see.
        names.any(|own| own.len() == name.len() && (own == name || own.eq_ignore_ascii_case(name)))
    }

    /// Can this be userPassword, with options or without? Each attribute of each update is asked, and its length and first letter say no of most.
    #[inline]
    pub fn may_be_password(&self, description: &[u8]) -> bool {
        description.len() >= self.password_name_bytes_min
            && self.password_initials & initial(description[0]) != 0
    }

    /// The object class with this name (any case) or numeric OID.
    #[inline]
    pub fn find_class(&self, name_or_oid: &[u8]) -> Option<ClassId> {
        match self.class_names.find(name_or_oid) {
            Some(id) => Some(ClassId(id)),
            None => self.find_added_class(name_or_oid),
        }
    }

    /// The attribute description `cn;lang-de`. `None` if the type is unknown, the text is malformed, or no entry
    /// was ever given this set of options: then no entry has it.
    #[inline]
    pub fn find_description(&self, text: &[u8]) -> Option<Description> {
        if let Some(kind) = self.find_type(text) {
            return Some(Description::plain(kind));
        }
        let (kind, options) = split_options(text);
        if options.is_empty() {
            return None;
        }
        let attribute_type = self.find_type(kind)?;
        let options = self.options.find(&self.tagging(attribute_type, options))?;
        Some(Description { attribute_type, options })
    }

    /// The options that make a subtype: all but `binary`, where that is no more than a way to send values.
    fn tagging<'o>(&self, attribute_type: TypeId, options: &'o [u8]) -> Cow<'o, [u8]> {
        match self.attribute_type(attribute_type).binary {
            BinaryTransfer::None => Cow::Borrowed(options),
            _ => without_binary(options).map_or(Cow::Borrowed(options), Cow::Owned),
        }
    }

    /// Does a description have the option `binary`?
    pub fn has_binary(&self, text: &[u8]) -> bool {
        without_binary(split_options(text).1).is_some()
    }

    /// Does a description have the option `binary` though its type has no such form: is it one that RFC 4522 section 3 does
    /// not recognise?
    pub fn lacks_binary_form(&self, text: &[u8]) -> bool {
        let kind = self.find_type(split_options(text).0);
        kind.is_some_and(|kind| self.attribute_type(kind).binary == BinaryTransfer::None)
            && self.has_binary(text)
    }

    /// What `cn;lang-de` asks for: it and its subtypes, among them `cn;lang-de;x-a`. `None` if the type is unknown or
    /// the text is malformed.
    #[inline]
    pub fn find_wanted(&self, text: &[u8]) -> Option<(TypeId, WantedOptions)> {
        if let Some(kind) = self.find_type(text) {
            return Some((kind, WantedOptions::NONE));
        }
        let (kind, options) = split_options(text);
        let attribute_type = self.find_type(kind)?;
        if self.lacks_binary_form(text) {
            return None;
        }
        match &*self.tagging(attribute_type, options) {
            b"" if !options.is_empty() => Some((attribute_type, WantedOptions::NONE)),
            tagging => Some((attribute_type, WantedOptions::new(tagging)?)),
        }
    }

    /// As [`Schema::find_description`], and a new set of options is kept: for imports. Commands have [`crate::HeldDescriptions`].
    #[inline]
    pub fn intern_description(&self, text: &[u8]) -> Result<Description, DescriptionError> {
        match self.find_type(text) {
            Some(kind) => Ok(Description::plain(kind)),
            None => self.intern_with_options(text),
        }
    }

    #[cold]
    fn intern_with_options(&self, text: &[u8]) -> Result<Description, DescriptionError> {
        let (attribute_type, options) = self.split(text)?;
        Ok(Description { attribute_type, options: self.options.intern(&options)? })
    }

    /// The type and the options of a description.
    pub(crate) fn split<'t>(&self, text: &'t [u8]) -> Result<(TypeId, Cow<'t, [u8]>), DescriptionError> {
        if !model::attribute::is_well_formed(text) {
            return Err(DescriptionError::Malformed);
        }
        let (kind, options) = split_options(text);
        let attribute_type = self.find_type(kind).ok_or(DescriptionError::UnknownType)?;
        Ok((attribute_type, self.tagging(attribute_type, options)))
    }

    /// Is this description one of values, but of a set of options that no entry has, where entries have as many as they may?
    pub fn is_one_set_too_many(&self, text: &[u8]) -> bool {
        self.has_all_option_sets() && self.find_description(text).is_none() && self.split(text).is_ok()
    }

    /// Have entries as many sets of options as they may ([`crate::OPTION_SETS_MAX`])?
    #[inline]
    pub fn has_all_option_sets(&self) -> bool {
        self.options.is_full()
    }

    /// The names that [`crate::Builder::secrets`] was given.
    pub fn secret_names(&self) -> &[String] {
        &self.secrets
    }

    /// How many sets of options there are, the empty one and those that only commands in progress have included.
    pub fn option_sets(&self) -> usize {
        self.options.count()
    }

    /// Ids of sets of options are below this. Some of them may be of none.
    pub fn option_ids_end(&self) -> u32 {
        self.options.ids_end()
    }

    /// A shape of entries has these options, for good or as long as [`Schema::release_options`] is not called.
    pub fn keep_options(&self, options: OptionsId, is_for_good: bool) {
        match (options, is_for_good) {
            (OptionsId::NONE, _) => {}
            (options, true) => self.options.keep(options),
            (options, false) => self.options.hold_also(options),
        }
    }

    /// A shape is no more that had these options, said to [`Schema::keep_options`] in the same way.
    pub fn release_options(&self, options: OptionsId, is_for_good: bool) {
        match (options, is_for_good) {
            (OptionsId::NONE, _) => {}
            (options, true) => self.options.unkeep(options),
            (options, false) => self.options.release(options),
        }
    }

    /// Canonical text of a description: the type's first name, then options in order. `;binary` is there where values are
    /// sent so (RFC 4522 section 5).
    pub fn describe(&self, description: Description) -> Cow<'_, str> {
        let kind = self.attribute_type(description.attribute_type);
        let (name, is_binary) = (kind.name(), kind.binary == BinaryTransfer::Required);
        match description.options {
            OptionsId::NONE if is_binary => Cow::Owned(format!("{name};binary")),
            OptionsId::NONE => Cow::Borrowed(name),
            options => {
                let text = self.options.text(options);
                let binary =
                    if is_binary && without_binary(text.as_bytes()).is_none() { "binary;" } else { "" };
                Cow::Owned(format!("{name};{binary}{text}"))
            }
        }
    }

    /// Does a description with options `have` answer for one that asks for `want` (RFC 4512 section 2.5.2.1:
    /// all wanted options are there)?
    #[inline]
    pub fn includes_options(&self, have: OptionsId, want: &WantedOptions) -> bool {
        want.is_none() || (have != OptionsId::NONE && want.are_in(&self.options.text(have)))
    }

    /// An attribute type of this schema.
    ///
    /// # Panics
    /// If the id is of another schema.
    #[inline]
    pub fn attribute_type(&self, id: TypeId) -> &AttributeType {
        match self.types.get(usize::from(id.0)) {
            Some(kind) => kind.get(&self.added.changed_types),
            None => self.added_type(id).0.get(&self.added.changed_types),
        }
    }

    /// An object class of this schema.
    ///
    /// # Panics
    /// If the id is of another schema.
    #[inline]
    pub fn class(&self, id: ClassId) -> &ObjectClass {
        match self.classes.get(usize::from(id.0)) {
            Some(class) => class.get(&self.added.changed_classes),
            None => self.added_class(id).get(&self.added.changed_classes),
        }
    }

    /// All attribute types. Those that were removed have numbers and are none.
    pub fn attribute_types(&self) -> impl Iterator<Item = (TypeId, &AttributeType)> {
        let all = (0..self.type_count() as u16).map(TypeId);
        all.filter(|id| !self.is_removed_type(*id)).map(|id| (id, self.attribute_type(id)))
    }

    /// All object classes, without those that were removed.
    pub fn classes(&self) -> impl Iterator<Item = (ClassId, &ObjectClass)> {
        let all = (0..self.class_count() as u16).map(ClassId);
        all.filter(|id| !self.is_removed_class(*id)).map(|id| (id, self.class(id)))
    }

    /// The name of an attribute type so like an unknown one that it may be meant.
    pub fn nearest_type(&self, unknown: &[u8]) -> Option<&str> {
        let unknown = std::str::from_utf8(split_options(unknown).0).ok()?;
        names::nearest(
            unknown,
            self.attribute_types().flat_map(|(_, t)| &t.definition.names).map(String::as_str),
        )
    }

    /// Types and classes that the server itself speaks of.
    pub fn well_known(&self) -> &WellKnown {
        &self.well_known
    }

    /// Is it memberOf or isMemberOf, whose values are worked out? Not where a file defines it as an attribute that clients change: then it
    /// is stored like any other.
    #[inline]
    pub fn is_member_of(&self, id: TypeId) -> bool {
        self.member_of.contains(&Some(id))
    }

    /// memberOf and isMemberOf, where [`Schema::is_member_of`] is true of them.
    pub fn member_of(&self) -> [Option<TypeId>; 2] {
        self.member_of
    }

    /// Is the structural class of an entry groupOfURLs, whose members searches find?
    #[inline]
    pub fn is_group_of_urls(&self, structural: Option<ClassId>) -> bool {
        structural.is_some() && structural == self.group_of_urls
    }

    /// What was not quite right in the files, but could be read.
    pub fn warnings(&self) -> &[Fault] {
        &self.warnings
    }

    /// Is `sub` the type `sup` or one of its subtypes, near or far?
    #[inline]
    pub fn is_subtype(&self, sub: TypeId, sup: TypeId) -> bool {
        sub == sup
            || match self.types.get(usize::from(sup.0)) {
                Some(above) if usize::from(sub.0) < self.types.len() => {
                    above.get(&self.added.changed_types).subtypes.binary_search(&sub).is_ok()
                }
                _ => self.is_added_subtype(sub, sup),
            }
    }

    /// Are values of this type secrets, passwords and keys? No text repeats them.
    #[inline]
    pub fn is_secret(&self, id: TypeId) -> bool {
        self.traits_of(id).has(Traits::SECRET)
    }

    /// A value for a text: the begin of it, or that it is hidden if it is a secret.
    pub fn shown_value(&self, id: TypeId, value: &[u8]) -> String {
        if self.is_secret(id) {
            return secret::HIDDEN.to_owned();
        }
        let text = String::from_utf8_lossy(&value[..value.len().min(4 * SHOWN_CHARS_MAX)]);
        let short: String = text.chars().take(SHOWN_CHARS_MAX).collect();
        let rest = if short.len() < text.len() || value.len() > 4 * SHOWN_CHARS_MAX { "..." } else { "" };
        format!("{short}{rest}")
    }

    /// A type and all its subtypes, near and far, in order of id: what an assertion on it looks at.
    #[inline]
    pub fn subtypes(&self, id: TypeId) -> Subtypes<'_> {
        match self.grown_subtypes(id) {
            Some(list) => Subtypes::Grown(list),
            None => Subtypes::Built(&self.attribute_type(id).subtypes),
        }
    }

    /// What hot paths read of a type.
    #[inline]
    pub(crate) fn traits_of(&self, id: TypeId) -> Traits {
        match self.traits.get(usize::from(id.0)) {
            Some(traits) => traits.get(),
            None => self.added_type(id).1.get(),
        }
    }

    /// Is `sub` the class `sup` or derived from it?
    pub fn is_subclass(&self, sub: ClassId, sup: ClassId) -> bool {
        sub == sup || self.class(sub).superiors.binary_search(&sup).is_ok()
    }

    /// Appends the normal form of a value under the type's equality rule; of a type without one, its bytes.
    /// Nothing is appended on an error.
    pub fn normalise_equality(&self, id: TypeId, value: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
        restoring(out, |out| self.append_equality(id, value, out))
    }

    /// The normal form of a value, or an assertion value, that is one short word of a string: what
    /// [`Schema::normalise_equality`] appends. `None` of any other value, which may have a form all the same.
    #[inline(always)]
    pub fn short_form(&self, id: TypeId, value: Word) -> Option<Word> {
        prep::short_form(value, self.folds(id)?)
    }

    /// As [`Schema::short_form`], of a value that is known to be graphic ASCII.
    #[inline(always)]
    pub fn graphic_form(&self, id: TypeId, value: Word) -> Option<Word> {
        prep::graphic_form(value, self.folds(id)?)
    }

    /// As [`Schema::normalise_equality`], for an assertion value.
    pub fn normalise_equality_assertion(
        &self,
        id: TypeId,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Invalid> {
        restoring(out, |out| self.equality_of(id).normalise_assertion(self, value, out))
    }

    /// Appends the normal form of a DN in its string form: per RDN (the leftmost first) a count of parts, per
    /// part u16 type, u16 length and normalised value, all big-endian. Equal bytes if and only if the DNs match;
    /// the root is empty. Nothing is appended on an error.
    pub fn normalise_dn(&self, dn: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
        restoring(out, |out| dn::normalise(self, dn, out))
    }

    /// Appends the normal form of one RDN, as [`model::dn::split_first`] splits it off. Nothing is appended on an
    /// error.
    #[inline]
    pub fn normalise_rdn(&self, rdn: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
        restoring(out, |out| dn::normalise_rdn(self, rdn, out))
    }

    /// Of types whose equality rule prepares strings: does it take upper and lower case for the same?
    #[inline(always)]
    pub(crate) fn folds(&self, id: TypeId) -> Option<bool> {
        self.traits_of(id).equality?.folds()
    }

    #[inline]
    pub(crate) fn append_equality(&self, id: TypeId, value: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
        self.equality_of(id).normalise_value(self, value, out)
    }

    /// The equality rule of a type. Without one, values are the same if their bytes are.
    #[inline]
    fn equality_of(&self, id: TypeId) -> Rule {
        self.traits_of(id).equality.unwrap_or(Rule::OctetString)
    }
}

/// One bit of 32 for a letter of either case, or a digit.
#[inline]
pub(crate) fn initial(first: u8) -> u32 {
    1 << (first & 31)
}

/// Only the size: the definitions would fill pages.
impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({} attribute types, {} object classes)", self.type_count(), self.class_count())
    }
}

/// Runs `append`; after an error `out` is as it was.
#[inline]
fn restoring(
    out: &mut Vec<u8>,
    append: impl FnOnce(&mut Vec<u8>) -> Result<(), Invalid>,
) -> Result<(), Invalid> {
    let before = out.len();
    let result = append(out);
    assert!(before <= out.len(), "a normal form is appended: what was there stays");
    if result.is_err() {
        out.truncate(before);
    }
    result
}
