//! Keys of RDNs: what the DN hash is made from, see [`super`].
//!
//! Two RDNs match (RFC 4512 section 2.3.1: the same AVAs, in any order, by the equality rules of their types) if and only
//! if their keys are equal: a key has types as numbers, values in normal form with their lengths, and AVAs sorted. So no
//! comparison needs the schema again. A key never leaves the process, since numbers of types belong to one schema.
//!
//! [`short_key`] makes in registers what [`rdn_key`] makes in a buffer. The two must agree to the byte; a test compares them.

use crate::record::EntryRef;
use model::short::{WORD_MAX, Word};
use model::{TypeId, dn};
use schema::{SHORT_MAX, Schema};
use std::fmt;

/// Bytes before the value in the key of an RDN with one AVA.
const HEAD: usize = 7;

const _: () = assert!(HEAD + 2 + SHORT_MAX <= WORD_MAX, "the key of a short value is a word");

/// Appends the key of an RDN in its string form. Returns its value as sent, if nothing in it needed to be resolved.
#[inline]
pub(crate) fn rdn_key<'r>(
    schema: &Schema,
    rdn: &'r [u8],
    out: &mut Vec<u8>,
    find_type: impl FnOnce(&[u8]) -> Option<TypeId>,
) -> Result<&'r [u8], String> {
    // The common case: one AVA, nothing escaped, no old forms.
    if let Some(equals) = rdn.iter().position(|&b| b == b'=') {
        let (name, value) = (&rdn[..equals], &rdn[equals + 1..]);
        let simple = !value.is_empty() && dn::is_plain_value(value);
        if simple && let Some(attribute_type) = find_type(name) {
            out.push(1);
            return push_ava(schema, attribute_type, value, out).map(|()| value);
        }
    }
    let parsed = dn::parse_rdn(rdn).map_err(|e| e.to_string())?;
    avas_key(schema, &parsed, out).map(|()| &b""[..])
}

/// Appends the key of an RDN that was taken apart.
pub(super) fn avas_key(schema: &Schema, rdn: &dn::Rdn<'_>, out: &mut Vec<u8>) -> Result<(), String> {
    let mut avas = Vec::with_capacity(rdn.len());
    for ava in rdn {
        avas.push((known_type(schema, ava.attribute_type)?, &ava.value[..]));
    }
    push_avas(schema, avas.into_iter(), out)
}

/// The type with this name. A DN with an unknown one cannot be compared with any other, so it is invalid here, and not the
/// name of something that does not exist.
pub(crate) fn known_type(schema: &Schema, name: &[u8]) -> Result<TypeId, String> {
    schema.find_type(name).ok_or_else(|| {
        format!("the attribute type \"{}\" is not in the schema", String::from_utf8_lossy(name))
    })
}

/// Appends the key of an RDN with these AVAs. Sorted as bytes, which is by type first, since numbers are big-endian: any
/// order would do that is always the same.
pub(super) fn push_avas<'v>(
    schema: &Schema,
    avas: impl Iterator<Item = (TypeId, &'v [u8])>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let mut keys = Vec::new();
    for (attribute_type, value) in avas {
        let mut key = Vec::new();
        push_ava(schema, attribute_type, value, &mut key)?;
        keys.push(key);
    }
    keys.sort();
    assert!(u8::try_from(keys.len()).is_ok(), "the parts of an RDN are counted in one byte");
    out.push(keys.len() as u8);
    keys.iter().for_each(|key| out.extend_from_slice(key));
    Ok(())
}

/// Appends the key of a stored entry's RDN, whatever was stored.
pub(crate) fn push_rdn(schema: &Schema, entry: &EntryRef<'_>, out: &mut Vec<u8>) -> Result<(), String> {
    let type_at = |at: usize| entry.shape.slots[at].description.attribute_type;
    match entry.only_name() {
        Some((at, value)) => {
            out.push(1);
            push_ava(schema, type_at(at), value, out)
        }
        None => push_avas(schema, entry.naming().map(|(at, value)| (type_at(at), value)), out),
    }
}

/// Appends type, length and normal form of an AVA. The length is put in when the form is there, so the value is copied once.
/// After an error what was appended is left: the caller gives up the whole key.
#[inline]
fn push_ava(schema: &Schema, attribute_type: TypeId, value: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    out.extend_from_slice(&attribute_type.0.to_be_bytes());
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    schema
        .normalise_equality(attribute_type, value, out)
        .map_err(|e| invalid_value(schema, attribute_type, &e))?;
    let len = (out.len() - length_at - 4) as u32;
    out[length_at..length_at + 4].copy_from_slice(&len.to_be_bytes());
    Ok(())
}

/// Names the attribute, since the client sees the text and a DN may have many.
#[cold]
fn invalid_value(schema: &Schema, attribute_type: TypeId, reason: &dyn fmt::Display) -> String {
    format!("the value of {} is not valid: {reason}", schema.attribute_type(attribute_type).name())
}

/// The key of an RDN that is one AVA with a short value, from the value's normal form: what [`push_rdn`] appends.
#[inline(always)]
pub(crate) fn short_key(attribute_type: TypeId, form: Word) -> Word {
    let [high, low] = attribute_type.0.to_be_bytes();
    form.behind(u64::from_le_bytes([1, high, low, 0, 0, 0, form.len as u8, 0]), HEAD)
}

/// The normal form of the value in the key of an RDN that is one AVA.
#[inline(always)]
pub(super) fn key_value(key: &[u8]) -> &[u8] {
    &key[HEAD..]
}

/// The type of the first AVA of a key.
#[inline(always)]
pub(super) fn key_type(key: &[u8]) -> TypeId {
    TypeId(u16::from_be_bytes([key[1], key[2]]))
}

/// Appends the keys of all RDNs of a DN; returns how many there are.
pub(crate) fn dn_key(schema: &Schema, text: &[u8], out: &mut Vec<u8>) -> Result<usize, String> {
    let parsed = dn::parse(text).map_err(|e| e.to_string())?;
    for rdn in &parsed {
        avas_key(schema, rdn, out)?;
    }
    Ok(parsed.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_key_is_the_key() {
        let schema = schema::Builder::new().standard().build().expect("the standard schema");
        let uid = schema.find_type(b"uid").expect("a standard type");
        for len in 1..=SHORT_MAX {
            let value = b"Ab3-".repeat(SHORT_MAX)[..len].to_vec();
            let mut key = vec![1];
            push_ava(&schema, uid, &value, &mut key).expect("it is valid");
            let form = Word::of(&value).and_then(|word| schema.short_form(uid, word)).expect("it is short");
            assert_eq!(Word::of(&key), Some(short_key(uid, form)));
            assert_eq!((key_type(&key), Word::of(key_value(&key))), (uid, Some(form)));
        }
    }
}
