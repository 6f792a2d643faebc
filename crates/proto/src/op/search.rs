//! Search (RFC 4511 section 4.5): request, result entries, references and the end.

use crate::answer::{MessageId, put_short_head};
use crate::ber::{self, Reader};
use crate::control::{self, Control};
use crate::error::{DecodeError, Error};
use crate::filter;
use crate::list::{Attributes, Octets};
use crate::tag;
use model::limits::SELECTION_MAX;
use model::short::Short;
use model::{DerefAliases, Filter, Scope};

/// SearchRequest
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search<'a> {
    /// DN of the base object.
    pub base: &'a [u8],
    /// How far below the base.
    pub scope: Scope,
    /// When aliases are followed.
    pub deref_aliases: DerefAliases,
    /// Most entries to return, 0 for no limit.
    pub size_limit: i32,
    /// Most seconds to spend, 0 for no limit.
    pub time_limit_s: i32,
    /// Descriptions without values?
    pub types_only: bool,
    /// What an entry must fulfil.
    pub filter: Filter<'a>,
    /// Attribute descriptions to return, also `*`, `+`, `1.1`, `@class`; empty for all user attributes.
    pub selection: Octets<'a>,
}

impl<'a> Search<'a> {
    /// One without limits that follows no aliases and wants values too.
    pub fn unlimited(base: &'a [u8], scope: Scope, filter: Filter<'a>, selection: Octets<'a>) -> Search<'a> {
        let deref_aliases = DerefAliases::Never;
        Search {
            base,
            scope,
            deref_aliases,
            size_limit: 0,
            time_limit_s: 0,
            types_only: false,
            filter,
            selection,
        }
    }

    /// Decodes and submits to `build`, so that the request arises where it is returned: moving it costs as
    /// much as decoding it.
    #[inline(always)]
    pub(crate) fn decode<T>(
        mut body: Reader<'a>,
        build: impl FnOnce(Search<'a>) -> T,
    ) -> Result<T, DecodeError> {
        let base = body.text("expected the base of a search")?;
        let at = body.offset();
        let scope = body.number(tag::ENUMERATED, 255, "unknown search scope")?;
        let scope =
            Scope::from_number(scope as u8).ok_or_else(|| Error::value(at, "unknown search scope"))?;
        let at = body.offset();
        let deref = body.number(tag::ENUMERATED, 255, "unknown handling of aliases")?;
        let deref_aliases = DerefAliases::from_number(deref as u8)
            .ok_or_else(|| Error::value(at, "unknown handling of aliases"))?;
        let size_limit = body.number(tag::INTEGER, i32::MAX, "expected a size limit")?;
        let time_limit_s = body.number(tag::INTEGER, i32::MAX, "expected a time limit")?;
        let types_only = body.boolean("expected typesOnly")?;
        let filter = filter::read(&mut body)?;
        let selection = body.enter(tag::SEQUENCE, "expected a list of attributes")?;
        let selection = Octets::check(selection, SELECTION_MAX, "expected an attribute selector")?;
        body.finish(&[])?;
        let search =
            Search { base, scope, deref_aliases, size_limit, time_limit_s, types_only, filter, selection };
        Ok(build(search))
    }

    /// Appends the request.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mark = ber::begin(out, tag::SEARCH);
        ber::put_octets(out, self.base);
        ber::put_enumerated(out, self.scope as u32);
        ber::put_enumerated(out, self.deref_aliases as u32);
        ber::put_integer(out, self.size_limit as i64);
        ber::put_integer(out, self.time_limit_s as i64);
        ber::put_boolean(out, tag::BOOLEAN, self.types_only);
        filter::encode(&self.filter, out);
        ber::put_tlv(out, tag::SEQUENCE, self.selection.raw());
        ber::end(out, mark);
    }
}

/// SearchResultEntry
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchEntry<'a> {
    /// Its DN.
    pub dn: &'a [u8],
    /// Its attributes, as far as they were asked for and may be seen.
    pub attributes: Attributes<'a>,
}

impl<'a> SearchEntry<'a> {
    pub(crate) fn decode(mut body: Reader<'a>) -> Result<SearchEntry<'a>, Error> {
        let dn = body.text("expected the DN of an entry")?;
        let attributes = body.enter(tag::SEQUENCE, "expected a list of attributes")?;
        let attributes = Attributes::check(attributes, false)?;
        body.finish(&[])?;
        Ok(SearchEntry { dn, attributes })
    }

    /// Appends the whole message.
    pub fn encode(&self, out: &mut Vec<u8>, message_id: i32, controls: &[Control<'_>]) {
        control::encode_message(out, message_id, controls, |out| {
            let op = ber::begin(out, tag::SEARCH_ENTRY);
            ber::put_octets(out, self.dn);
            ber::put_tlv(out, tag::SEQUENCE, self.attributes.raw());
            ber::end(out, op);
        });
    }
}

/// As [`put_entry_head`], of a message that has `controls_len` bytes of controls behind the entry.
pub fn put_entry_head_before(
    out: &mut Vec<u8>,
    message_id: i32,
    dn_len: usize,
    attributes_len: usize,
    controls_len: usize,
) {
    let op = ber::tlv_len(dn_len) + ber::tlv_len(attributes_len);
    let message = 2 + ber::integer_len(message_id as i64) + ber::tlv_len(op) + controls_len;
    ber::put_header(out, tag::SEQUENCE, message);
    ber::put_integer(out, message_id as i64);
    ber::put_header(out, tag::SEARCH_ENTRY, op);
    ber::put_header(out, tag::OCTET_STRING, dn_len);
}

/// Appends the head of a message for an entry: everything up to the contents of its DN. The caller appends exactly
/// `dn_len` bytes of DN, [`ber::put_header`] of a SEQUENCE with `attributes_len`, and so many bytes of ready
/// PartialAttribute elements; then the message is complete. Nothing is moved.
#[inline]
pub fn put_entry_head(out: &mut Vec<u8>, message_id: i32, dn_len: usize, attributes_len: usize) {
    let op = ber::tlv_len(dn_len) + ber::tlv_len(attributes_len);
    let message = 2 + ber::integer_len(message_id as i64) + ber::tlv_len(op);
    out.reserve(ber::tlv_len(message));
    if message < 0x80 {
        let mut head = Short::<24>::default();
        put_short_head(&mut head, &MessageId::new(message_id), dn_len, attributes_len);
        return out.extend_from_slice(head.bytes());
    }
    ber::put_header(out, tag::SEQUENCE, message);
    ber::put_integer(out, message_id as i64);
    ber::put_header(out, tag::SEARCH_ENTRY, op);
    ber::put_header(out, tag::OCTET_STRING, dn_len);
}

/// Appends a SearchResultReference, the whole message.
pub fn encode_reference<'v>(
    out: &mut Vec<u8>,
    message_id: i32,
    uris: impl IntoIterator<Item = &'v [u8]>,
    controls: &[Control<'_>],
) {
    control::encode_message(out, message_id, controls, |out| {
        let op = ber::begin(out, tag::SEARCH_REFERENCE);
        uris.into_iter().for_each(|uri| ber::put_octets(out, uri));
        ber::end(out, op);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_and_back_patched_entries_agree() {
        for len in [0, 1, 100, 127, 128, 200, 255, 256, 65536, 70000] {
            let value = vec![b'x'; len];
            let (mut exact, mut patched) = (Vec::new(), Vec::new());
            let raw = crate::list::attribute_list([(&b"cn"[..], [&value[..]])]);
            let attributes = Attributes::parse(&raw).unwrap();
            SearchEntry { dn: b"cn=a", attributes }.encode(&mut patched, 300, &[]);
            put_entry_head(&mut exact, 300, 4, raw.len());
            exact.extend_from_slice(b"cn=a");
            ber::put_tlv(&mut exact, tag::SEQUENCE, &raw);
            assert_eq!(exact, patched);
        }
    }
}
