//! Keys of RDNs: what the DN hash is made from, see [`super`].

use crate::record::EntryRef;
use model::{TypeId, dn};
use schema::Schema;
use std::fmt;

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

pub(super) fn avas_key(schema: &Schema, rdn: &dn::Rdn<'_>, out: &mut Vec<u8>) -> Result<(), String> {
    let mut avas = Vec::with_capacity(rdn.len());
    for ava in rdn {
        avas.push((known_type(schema, ava.attribute_type)?, &ava.value[..]));
    }
    push_avas(schema, avas.into_iter(), out)
}

pub(crate) fn known_type(schema: &Schema, name: &[u8]) -> Result<TypeId, String> {
    schema.find_type(name).ok_or_else(|| {
        format!("the attribute type \"{}\" is not in the schema", String::from_utf8_lossy(name))
    })
}

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
    out.push(keys.len() as u8);
    keys.iter().for_each(|key| out.extend_from_slice(key));
    Ok(())
}

/// Appends the key of a stored entry's RDN, whatever was stored.
pub(crate) fn push_rdn(schema: &Schema, entry: &EntryRef<'_>, out: &mut Vec<u8>) -> Result<(), String> {
    let type_at = |at: usize| entry.shape.slots[at].description.attribute_type;
    match (entry.naming().next(), entry.shape.naming.len()) {
        (Some((at, value)), 1) => {
            out.push(1);
            push_ava(schema, type_at(at), value, out)
        }
        _ => push_avas(schema, entry.naming().map(|(at, value)| (type_at(at), value)), out),
    }
}

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

#[cold]
fn invalid_value(schema: &Schema, attribute_type: TypeId, reason: &dyn fmt::Display) -> String {
    format!("the value of {} is not valid: {reason}", schema.attribute_type(attribute_type).name())
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
