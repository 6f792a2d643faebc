//! Other decoders' view of a message, brought to one form.

use proto::{Message, Request};

/// What is compared: message id, application tag number, fields in order. Sets are sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// messageID
    pub id: i64,
    /// Number of the protocolOp's tag.
    pub op: u32,
    /// DNs, numbers, values.
    pub fields: Vec<Vec<u8>>,
}

/// Longest message given to the oracles, whose recursion on nested filters is not bounded.
const ORACLE_BYTES_MAX: usize = 2048;

fn number(n: impl Into<i64>) -> Vec<u8> {
    let n: i64 = n.into();
    n.to_string().into_bytes()
}

fn optional(value: Option<&[u8]>) -> Vec<u8> {
    value.map_or(b"none".to_vec(), |value| [b"some ", value].concat())
}

fn sorted<'v>(values: impl IntoIterator<Item = &'v [u8]>) -> impl Iterator<Item = Vec<u8>> {
    let mut values: Vec<Vec<u8>> = values.into_iter().map(<[u8]>::to_vec).collect();
    values.sort();
    values.into_iter()
}

/// Our own view.
pub fn ours(message: &Message<'_>) -> Seen {
    let mut f: Vec<Vec<u8>> = Vec::new();
    match &message.request {
        Request::Bind(bind) => {
            use proto::op::Authentication::{Sasl, Simple, Unknown};
            f.extend([number(bind.version), bind.name.to_vec()]);
            match bind.authentication {
                Simple(password) => f.push(password.to_vec()),
                Sasl { mechanism, credentials } => f.extend([mechanism.to_vec(), optional(credentials)]),
                Unknown(tag) => f.push(number(tag)),
            }
        }
        Request::Unbind => {}
        Request::Search(s) => {
            f.extend([s.base.to_vec(), number(s.scope as u8), number(s.deref_aliases as u8)]);
            f.extend([number(s.size_limit), number(s.time_limit_s), number(s.types_only)]);
            f.extend(s.selection.iter().map(<[u8]>::to_vec));
        }
        Request::Modify(m) => {
            f.push(m.dn.to_vec());
            for change in m.changes.iter() {
                f.extend([number(change.kind as u8), change.modification.description.to_vec()]);
                f.extend(sorted(change.modification.values.iter()));
            }
        }
        Request::Add(add) => {
            f.push(add.dn.to_vec());
            for attribute in add.attributes.iter() {
                f.push(attribute.description.to_vec());
                f.extend(sorted(attribute.values.iter()));
            }
        }
        Request::Delete(dn) => f.push(dn.to_vec()),
        Request::ModifyDn(m) => {
            f.extend([m.dn.to_vec(), m.new_rdn.to_vec(), number(m.delete_old_rdn), optional(m.new_superior)]);
        }
        Request::Compare(c) => {
            f.extend([c.dn.to_vec(), c.assertion.attribute.to_vec(), c.assertion.value.to_vec()]);
        }
        Request::Abandon(id) => f.push(number(*id)),
        Request::Extended(e) => f.extend([e.oid.to_vec(), optional(e.value)]),
    }
    Seen { id: message.id as i64, op: (message.request.tag() & 0x1f) as u32, fields: f }
}

/// rasn-ldap's view of a request, if it accepts these bytes as one.
pub fn rasn(data: &[u8]) -> Option<Seen> {
    use rasn_ldap::{AuthenticationChoice, ProtocolOp};
    if data.len() > ORACLE_BYTES_MAX {
        return None;
    }
    let message: rasn_ldap::LdapMessage = rasn::ber::decode(data).ok()?;
    let text = |s: &rasn_ldap::LdapString| s.0.clone().into_bytes();
    let mut f: Vec<Vec<u8>> = Vec::new();
    let op = match &message.protocol_op {
        ProtocolOp::BindRequest(bind) => {
            f.extend([number(bind.version), text(&bind.name)]);
            match &bind.authentication {
                AuthenticationChoice::Simple(password) => f.push(password.to_vec()),
                AuthenticationChoice::Sasl(sasl) => {
                    f.extend([text(&sasl.mechanism), optional(sasl.credentials.as_deref())]);
                }
                _ => return None,
            }
            0
        }
        ProtocolOp::UnbindRequest(_) => 2,
        ProtocolOp::SearchRequest(s) => {
            f.extend([text(&s.base_object), number(s.scope as u8), number(s.deref_aliases as u8)]);
            f.extend([number(s.size_limit), number(s.time_limit), number(s.types_only)]);
            f.extend(s.attributes.iter().map(text));
            3
        }
        ProtocolOp::ModifyRequest(m) => {
            f.push(text(&m.object));
            for change in &m.changes {
                f.extend([number(change.operation as u8), text(&change.modification.r#type)]);
                f.extend(sorted(change.modification.vals.to_vec().into_iter().map(|v| &v[..])));
            }
            6
        }
        ProtocolOp::AddRequest(add) => {
            f.push(text(&add.entry));
            for attribute in &add.attributes {
                f.push(text(&attribute.r#type));
                f.extend(sorted(attribute.vals.to_vec().into_iter().map(|v| &v[..])));
            }
            8
        }
        ProtocolOp::DelRequest(delete) => {
            f.push(text(&delete.0));
            10
        }
        ProtocolOp::ModDnRequest(m) => {
            let new_superior = m.new_superior.as_ref().map(|dn| dn.0.as_bytes());
            f.extend([text(&m.entry), text(&m.new_rdn), number(m.delete_old_rdn), optional(new_superior)]);
            12
        }
        ProtocolOp::CompareRequest(c) => {
            f.extend([text(&c.entry), text(&c.ava.attribute_desc), c.ava.assertion_value.to_vec()]);
            14
        }
        ProtocolOp::AbandonRequest(abandon) => {
            f.push(number(abandon.0));
            16
        }
        ProtocolOp::ExtendedReq(e) => {
            f.extend([e.request_name.to_vec(), optional(e.request_value.as_deref())]);
            23
        }
        _ => return None,
    };
    Some(Seen { id: message.message_id.into(), op, fields: f })
}

/// Are these bytes a request that rasn-ldap reads and would itself write? Its message ids are of 32 bits; those of
/// RFC 4511 section 4.1.1 end at maxInt, 2^31 - 1.
pub fn rasn_writes(data: &[u8]) -> bool {
    if rasn(data).is_none() {
        return false;
    }
    let message: Result<rasn_ldap::LdapMessage, _> = rasn::ber::decode(data);
    message.is_ok_and(|message| {
        message.message_id <= i32::MAX as u32 && rasn::ber::encode(&message).is_ok_and(|bytes| bytes == data)
    })
}

/// ldap-parser's view of a request, if it accepts these bytes as one and nothing is left over.
pub fn ldap_parser(data: &[u8]) -> Option<Seen> {
    use ldap_parser::FromBer;
    use ldap_parser::ldap::{LdapMessage, ProtocolOp};
    if data.len() > ORACLE_BYTES_MAX {
        return None;
    }
    let (rest, message) = LdapMessage::from_ber(data).ok()?;
    if !rest.is_empty() {
        return None;
    }
    let text = |s: &str| s.as_bytes().to_vec();
    let mut f: Vec<Vec<u8>> = Vec::new();
    match &message.protocol_op {
        // The authentication is left out: of its tags only the numbers are looked at.
        ProtocolOp::BindRequest(bind) => f.extend([number(bind.version), text(&bind.name.0)]),
        ProtocolOp::UnbindRequest => {}
        ProtocolOp::SearchRequest(s) => {
            f.extend([text(&s.base_object.0), number(s.scope.0), number(s.deref_aliases.0)]);
            f.extend([number(s.size_limit), number(s.time_limit), number(s.types_only)]);
            f.extend(s.attributes.iter().map(|a| text(&a.0)));
        }
        ProtocolOp::ModifyRequest(m) => {
            f.push(text(&m.object.0));
            for change in &m.changes {
                f.extend([number(change.operation.0), text(&change.modification.attr_type.0)]);
                f.extend(sorted(change.modification.attr_vals.iter().map(|v| &v.0[..])));
            }
        }
        ProtocolOp::AddRequest(add) => {
            f.push(text(&add.entry.0));
            for attribute in &add.attributes {
                f.push(text(&attribute.attr_type.0));
                f.extend(sorted(attribute.attr_vals.iter().map(|v| &v.0[..])));
            }
        }
        ProtocolOp::DelRequest(dn) => f.push(text(&dn.0)),
        ProtocolOp::ModDnRequest(m) => {
            let new_superior = m.newsuperior.as_ref().map(|dn| dn.0.as_bytes());
            f.extend([text(&m.entry.0), text(&m.newrdn.0), number(m.deleteoldrdn), optional(new_superior)]);
        }
        ProtocolOp::CompareRequest(c) => {
            f.extend([text(&c.entry.0), text(&c.ava.attribute_desc.0), c.ava.assertion_value.to_vec()]);
        }
        ProtocolOp::AbandonRequest(id) => f.push(number(id.0)),
        ProtocolOp::ExtendedRequest(e) => {
            f.extend([text(&e.request_name.0), optional(e.request_value.as_deref())]);
        }
        _ => return None,
    }
    Some(Seen { id: message.message_id.0.into(), op: message.protocol_op.tag().0, fields: f })
}
