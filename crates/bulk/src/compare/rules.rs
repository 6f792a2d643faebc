//! When two attributes are the same: their normal forms by the schema, and digests of these.

use super::secrets::speaks_of_secrets;
use crate::operational::{Foreign, foreign};
use model::{ClassId, TypeId};
use proto::list::{Attribute, Attributes};
use schema::{BinaryTransfer, Schema};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hasher};

/// What a normal form begins with: the schema has a rule for it, or it is as the server sent it.
const BY_RULE: u8 = 1;
const AS_SENT: u8 = 0;

/// 16 bytes that stand for a DN, so that an entry costs no more than these and 8 bytes of its attributes.
pub(crate) type DnDigest = [u8; 16];

/// What two servers are compared by.
pub struct Rules<'s> {
    schema: &'s Schema,
    /// By normal form, without options.
    ignored: BTreeSet<Vec<u8>>,
}

/// An attribute description that is compared.
pub(crate) struct Compared {
    kind: Option<TypeId>,
    /// Its normal form: type and options, whichever name the server calls it by.
    pub(crate) key: Vec<u8>,
    /// May no text repeat its values?
    pub(crate) is_secret: bool,
}

impl<'s> Rules<'s> {
    /// Compares by the equality rules of a schema, all attributes but these; an attribute that it does not have byte by byte.
    pub fn new(schema: &'s Schema, ignored: &[String]) -> Rules<'s> {
        let mut rules = Rules { schema, ignored: BTreeSet::new() };
        rules.ignored = ignored.iter().map(|name| rules.type_key(name.as_bytes()).1).collect();
        rules
    }

    fn type_key(&self, name: &[u8]) -> (Option<TypeId>, Vec<u8>) {
        let kind = self.schema.find_type(name);
        let known = kind.map_or(name, |kind| self.schema.attribute_type(kind).name().as_bytes());
        (kind, known.to_ascii_lowercase())
    }

    /// What an attribute description is compared as; `None` if it is not compared.
    pub(crate) fn compared(&self, description: &[u8]) -> Option<Compared> {
        let mut parts = description.split(|byte| *byte == b';');
        let (kind, mut key) = self.type_key(parts.next().unwrap_or_default());
        if self.ignored.contains(&key) || foreign(&key) == Some(Foreign::Derived) {
            return None;
        }
        let has_binary =
            kind.is_some_and(|kind| self.schema.attribute_type(kind).binary != BinaryTransfer::None);
        let options: BTreeSet<Vec<u8>> = parts.map(<[u8]>::to_ascii_lowercase).collect();
        let is_secret = kind.map_or_else(|| speaks_of_secrets(&key), |kind| self.schema.is_secret(kind));
        for option in options.iter().filter(|option| !has_binary || option.as_slice() != b"binary") {
            key.push(b';');
            key.extend_from_slice(option);
        }
        Some(Compared { kind, key, is_secret })
    }

    /// Hands out the values of an attribute: normal form, and the value itself. Superclasses of an object class are there whether a server
    /// lists them or not.
    pub(crate) fn each_value(
        &self,
        compared: &Compared,
        attribute: &Attribute<'_>,
        each: &mut dyn FnMut(&[u8], &[u8]),
    ) {
        if compared.kind == Some(self.schema.well_known().object_class) {
            return self.each_class(attribute, each);
        }
        let mut form = Vec::new();
        for value in attribute.values.iter() {
            form.clear();
            form.push(BY_RULE);
            let normal =
                compared.kind.and_then(|kind| self.schema.normalise_equality(kind, value, &mut form).ok());
            if normal.is_none() {
                form[0] = AS_SENT;
                form.extend_from_slice(value);
            }
            each(&form, value);
        }
    }

    fn each_class(&self, attribute: &Attribute<'_>, each: &mut dyn FnMut(&[u8], &[u8])) {
        let (mut known, mut others) = (BTreeSet::new(), BTreeSet::new());
        for value in attribute.values.iter() {
            match self.schema.find_class(value) {
                Some(class) => self.add_superiors(class, &mut known),
                None => {
                    others.insert(value.to_ascii_lowercase());
                }
            }
        }
        for class in known {
            let name = self.schema.class(class).name().as_bytes();
            each(&[&[BY_RULE], name].concat(), name);
        }
        others.iter().for_each(|name| each(&[&[AS_SENT], name.as_slice()].concat(), name));
    }

    /// A class and those above it. The schema has no circle of classes.
    fn add_superiors(&self, class: ClassId, to: &mut BTreeSet<ClassId>) {
        if to.insert(class) {
            self.schema.class(class).sup.iter().for_each(|sup| self.add_superiors(*sup, to));
        }
    }

    /// The normal form of a DN; one with a type that the schema does not have, without regard to case.
    pub(crate) fn dn_form(&self, dn: &[u8]) -> Vec<u8> {
        let mut form = vec![BY_RULE];
        if self.schema.normalise_dn(dn, &mut form).is_err() {
            form[0] = AS_SENT;
            form.extend(dn.to_ascii_lowercase());
        }
        form
    }

    /// The digest of a DN.
    pub(crate) fn dn_digest(&self, dn: &[u8]) -> DnDigest {
        let form = self.dn_form(dn);
        let mut digest = [0; 16];
        for (number, half) in digest.chunks_exact_mut(8).enumerate() {
            let mut hasher = DefaultHasher::new();
            hasher.write_u8(number as u8);
            hasher.write(&form);
            half.copy_from_slice(&hasher.finish().to_ne_bytes());
        }
        digest
    }

    /// The digest of all attributes that are compared. The order of attributes and values is of no account: their digests are added up.
    pub(crate) fn digest(&self, attributes: Attributes<'_>) -> u64 {
        let mut sum = 0_u64;
        for attribute in attributes.iter() {
            let Some(compared) = self.compared(attribute.description) else { continue };
            self.each_value(&compared, &attribute, &mut |form, _| {
                let mut hasher = DefaultHasher::new();
                hasher.write_usize(compared.key.len());
                hasher.write(&compared.key);
                hasher.write(form);
                sum = sum.wrapping_add(hasher.finish());
            });
        }
        sum
    }
}
