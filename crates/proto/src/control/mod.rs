//! Controls (RFC 4511 section 4.1.11): the envelope here, one file per control for its value.

pub mod account_usability;
pub mod assertion;
pub mod chaining_behavior;
pub mod content_sync;
pub mod dereference;
pub mod domain_scope;
pub mod dont_use_copy;
pub mod effective_rights;
pub mod manage_dsa_it;
pub mod matched_values;
pub mod netscape_password;
pub mod no_op;
pub mod non_transaction;
pub mod paged_results;
pub mod password_policy;
pub mod permissive_modify;
pub mod persistent_search;
pub mod proxied_authorization;
pub mod queue_length;
pub mod read_age;
pub mod read_entry;
pub mod relax_rules;
pub mod session_tracking;
pub mod sort;
pub mod subentries;
pub mod transaction_specification;
pub mod tree_delete;
pub mod virtual_list_view;

use crate::ber::{self, Reader};
use crate::error::Error;
use crate::tag;
use model::limits::CONTROLS_MAX;

/// Tag of the controls of a message.
pub(crate) const CONTROLS: u8 = tag::context_constructed(0);

/// One control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control<'a> {
    /// controlType: its OID as sent.
    pub oid: &'a [u8],
    /// Must the operation fail if the server cannot honour it?
    pub critical: bool,
    /// controlValue, if there is one.
    pub value: Option<&'a [u8]>,
}

impl<'a> Control<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Control<'a>, Error> {
        let mut body = reader.enter(tag::SEQUENCE, "expected a control")?;
        let oid = body.octets("expected the OID of a control")?;
        let critical = match body.peek() {
            Some(tag::BOOLEAN) => body.boolean("expected a criticality")?,
            _ => false,
        };
        let value = body.optional(tag::OCTET_STRING)?;
        body.finish(&[])?;
        Ok(Control { oid, critical, value })
    }

    /// Appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mark = ber::begin(out, tag::SEQUENCE);
        ber::put_octets(out, self.oid);
        if self.critical {
            ber::put_boolean(out, tag::BOOLEAN, true);
        }
        if let Some(value) = self.value {
            ber::put_octets(out, value);
        }
        ber::end(out, mark);
    }
}

/// The controls of a message, kept as they came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Controls<'a>(&'a [u8]);

impl<'a> Controls<'a> {
    /// No controls.
    pub const NONE: Controls<'static> = Controls(&[]);

    /// Decodes what may follow the protocolOp.
    #[inline(always)]
    pub(crate) fn decode(message: &mut Reader<'a>) -> Result<Controls<'a>, Error> {
        match message.peek() {
            Some(CONTROLS) => Controls::decode_tagged(message, CONTROLS),
            _ => Ok(Controls::NONE),
        }
    }

    /// Those of a message that [`crate::frame`] delimited; none if it is not one that can be decoded.
    pub fn of(message: &'a [u8]) -> Controls<'a> {
        Controls::find_in(message).unwrap_or(Controls::NONE)
    }

    fn find_in(message: &'a [u8]) -> Result<Controls<'a>, Error> {
        let mut body = Reader::new(message).enter(tag::SEQUENCE, "expected an LDAPMessage")?;
        body.element()?;
        body.element()?;
        Controls::decode(&mut body)
    }

    /// Decodes controls that stand under a tag.
    pub(crate) fn decode_tagged(outer: &mut Reader<'a>, tag: u8) -> Result<Controls<'a>, Error> {
        let mut reader = outer.enter(tag, "expected controls")?;
        let raw = reader.rest();
        let mut count = 0;
        while !reader.is_empty() {
            Control::decode(&mut reader)?;
            count += 1;
            if count > CONTROLS_MAX {
                return Err(Error::limit(reader.offset(), "too many controls"));
            }
        }
        Ok(Controls(raw))
    }

    /// The controls in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Control<'a>> + Clone + use<'a> {
        let mut reader = Reader::new(self.0);
        std::iter::from_fn(move || if reader.is_empty() { None } else { Control::decode(&mut reader).ok() })
    }

    /// The first control with this OID.
    pub fn find(&self, oid: &[u8]) -> Option<Control<'a>> {
        self.iter().find(|control| control.oid == oid)
    }

    /// One behind the other, as they came.
    pub(crate) fn raw(&self) -> &'a [u8] {
        self.0
    }

    /// None at all?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Appends a whole message around the protocolOp that `op` appends.
pub fn encode_message(
    out: &mut Vec<u8>,
    message_id: i32,
    controls: &[Control<'_>],
    op: impl FnOnce(&mut Vec<u8>),
) {
    let message = ber::begin(out, tag::SEQUENCE);
    ber::put_integer(out, message_id as i64);
    op(out);
    put_controls(out, controls);
    ber::end(out, message);
}

/// Appends a message with one control more than it has, if it is an answer that ends an operation; else as it is.
pub fn put_with(out: &mut Vec<u8>, message: &[u8], control: &Control<'_>) {
    match parts_of_answer(message) {
        Ok(Some((before, controls))) => {
            let mark = ber::begin(out, tag::SEQUENCE);
            out.extend_from_slice(before);
            let all = ber::begin(out, CONTROLS);
            out.extend_from_slice(controls);
            control.encode(out);
            ber::end(out, all);
            ber::end(out, mark);
        }
        _ => out.extend_from_slice(message),
    }
}

/// Id and operation of an answer, and its controls.
type AnswerParts<'a> = (&'a [u8], &'a [u8]);

/// Of an answer that ends an operation other than an update. `None` of all else: entries, and what nobody asked for.
fn parts_of_answer(message: &[u8]) -> Result<Option<AnswerParts<'_>>, Error> {
    const ENDS: [u8; 4] =
        [tag::SEARCH_DONE, tag::BIND_RESPONSE, tag::COMPARE_RESPONSE, tag::EXTENDED_RESPONSE];
    let mut body = Reader::new(message).enter(tag::SEQUENCE, "expected an LDAPMessage")?;
    let start = body.offset();
    let (_, id) = body.element()?;
    let (op, _) = body.element()?;
    let before = &message[start..body.offset()];
    let is_asked_for = id.iter().any(|byte| *byte != 0);
    let controls = Controls::decode(&mut body)?;
    Ok((ENDS.contains(&op) && is_asked_for).then_some((before, controls.0)))
}

/// Appends the controls of a message; nothing if there are none.
#[inline]
pub fn put_controls(out: &mut Vec<u8>, controls: &[Control<'_>]) {
    if controls.is_empty() {
        return;
    }
    let mark = ber::begin(out, CONTROLS);
    controls.iter().for_each(|control| control.encode(out));
    ber::end(out, mark);
}
