//! LDAPMessage (RFC 4511 section 4.1.1): finding its end in a stream, decoding it, encoding it.

use crate::ber::Reader;
pub use crate::control::encode_message as encode;
use crate::control::{Control, Controls};
use crate::error::{DecodeError, Error, Kind};
use crate::list::Octets;
use crate::op::{
    Add, Bind, BindResponse, Compare, Extended, ExtendedResponse, Intermediate, Modify, ModifyDn, Search,
    SearchEntry, abandon, delete, unbind,
};
use crate::result::LdapResult;
use crate::tag;
use model::limits::MESSAGE_BYTES_MAX;

/// How much of a message is at the front of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The message goes on. At least `needed` bytes, counted from its begin, must be there before asking again
    /// makes sense; once the length was readable it is the exact size of the message.
    Incomplete {
        /// Bytes from the begin of the message.
        needed: usize,
    },
    /// The whole message is there and takes this many bytes.
    Complete {
        /// Bytes, tag and length included.
        len: usize,
    },
}

/// Looks at the tag and length at the front of `bytes`. An error means that the stream cannot be followed any
/// further: Notice of Disconnection.
#[inline]
pub fn frame(bytes: &[u8]) -> Result<Frame, DecodeError> {
    frame_tagged(bytes, tag::SEQUENCE)
}

/// As [`frame`], of an element with this tag.
#[inline(always)]
pub(crate) fn frame_tagged(bytes: &[u8], wanted: u8) -> Result<Frame, DecodeError> {
    let first = match *bytes {
        [found, first, ..] if found == wanted => first,
        _ => return short_frame(bytes, wanted),
    };
    let (head, contents) = if first < 0x80 {
        (2, first as usize)
    } else {
        let count = (first & 0x7f) as usize;
        if count == 0 || count > 4 {
            return Err(refuse(1, "the length of the message is not a definite one of up to four bytes"));
        }
        let Some(len) = bytes.get(2..2 + count) else {
            return Ok(Frame::Incomplete { needed: 2 + count });
        };
        (2 + count, len.iter().fold(0usize, |n, &b| n << 8 | b as usize))
    };
    let len = head + contents;
    if len > MESSAGE_BYTES_MAX {
        return Err(refuse(1, "the message is too long"));
    }
    Ok(if bytes.len() >= len { Frame::Complete { len } } else { Frame::Incomplete { needed: len } })
}

#[cold]
fn short_frame(bytes: &[u8], wanted: u8) -> Result<Frame, DecodeError> {
    match bytes.first() {
        None => Ok(Frame::Incomplete { needed: 2 }),
        Some(found) if *found == wanted => Ok(Frame::Incomplete { needed: 2 }),
        Some(_) => Err(refuse(0, "expected an LDAPMessage")),
    }
}

#[cold]
fn refuse(offset: usize, reason: &'static str) -> DecodeError {
    Error::structure(offset, reason).into()
}

/// A request, borrowed from the bytes it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// messageID, 1 to 2^31 - 1.
    pub id: i32,
    /// What the client wants.
    pub request: Request<'a>,
    /// Its controls.
    pub controls: Controls<'a>,
}

/// The protocolOps that clients send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Who the client is.
    Bind(Bind<'a>),
    /// The client leaves.
    Unbind,
    /// Find entries.
    Search(Search<'a>),
    /// Change attributes of an entry.
    Modify(Modify<'a>),
    /// Create an entry.
    Add(Add<'a>),
    /// Delete the entry with this DN.
    Delete(&'a [u8]),
    /// Rename or move an entry.
    ModifyDn(ModifyDn<'a>),
    /// Ask about one value.
    Compare(Compare<'a>),
    /// Give up the operation with this message id.
    Abandon(i32),
    /// Something named by an OID.
    Extended(Extended<'a>),
}

/// The parts around a protocolOp: id, tag of the op, its body, what follows.
type Envelope<'a> = (i32, u8, Reader<'a>, Reader<'a>);

/// Opens an LDAPMessage that fills `bytes` exactly.
#[inline(always)]
fn open(bytes: &[u8]) -> Result<Envelope<'_>, DecodeError> {
    let mut message = Reader::inside(bytes, tag::SEQUENCE, "expected an LDAPMessage")?;
    let id = message.number(tag::INTEGER, i32::MAX, "expected a messageID from 0 to 2147483647");
    // Without an id nothing can be answered, whatever was wrong with it.
    let id = id.map_err(|e| Error { kind: Kind::Structure, ..e })?;
    let (op_tag, body) = message.enter_any().map_err(|e| DecodeError::new(e, Some(id), None))?;
    Ok((id, op_tag, body, message))
}

impl<'a> Message<'a> {
    /// Decodes one whole message, as [`frame`] delimits it.
    pub fn decode(bytes: &'a [u8]) -> Result<Message<'a>, DecodeError> {
        let (id, op_tag, body, mut rest) = open(bytes)?;
        if id == 0 {
            // Nothing can be answered to the id of unsolicited notifications.
            let error = Error::structure(2, "messageID 0 is not for requests");
            return Err(DecodeError::new(error, Some(id), Some(op_tag)));
        }
        let known = |error: DecodeError| DecodeError { message_id: Some(id), op_tag: Some(op_tag), ..error };
        // The controls come first because they are small: the message then arises where it is returned. But what
        // is wrong with the request itself says more than what is wrong with them.
        match Controls::decode(&mut rest).and_then(|c| rest.finish(&[0]).map(|()| c)) {
            Ok(controls) => Request::decode(op_tag, body, id, controls).map_err(known),
            Err(error) => {
                let request = Request::decode(op_tag, body, id, Controls::NONE);
                Err(known(request.err().unwrap_or(error.into())))
            }
        }
    }
}

impl<'a> Request<'a> {
    /// Decodes the request and puts the message together.
    #[inline(never)]
    fn decode(
        op_tag: u8,
        body: Reader<'a>,
        id: i32,
        controls: Controls<'a>,
    ) -> Result<Message<'a>, DecodeError> {
        let (contents, at) = (body.rest(), body.offset());
        let request = match op_tag {
            tag::SEARCH => {
                return Search::decode(body, |s| Message { id, request: Request::Search(s), controls });
            }
            tag::MODIFY => Request::Modify(Modify::decode(body)?),
            tag::BIND => Request::Bind(Bind::decode(body)?),
            tag::ADD => Request::Add(Add::decode(body)?),
            tag::DELETE => Request::Delete(delete::decode(contents, at)?),
            tag::MODIFY_DN => Request::ModifyDn(ModifyDn::decode(body)?),
            tag::COMPARE => Request::Compare(Compare::decode(body)?),
            tag::EXTENDED => Request::Extended(Extended::decode(body)?),
            tag::ABANDON => Request::Abandon(abandon::decode(contents, at)?),
            tag::UNBIND => {
                unbind::decode(contents, at)?;
                Request::Unbind
            }
            _ => return Err(Error { kind: Kind::Operation, offset: at, reason: "not a request" }.into()),
        };
        Ok(Message { id, request, controls })
    }

    /// Tag of the protocolOp.
    pub fn tag(&self) -> u8 {
        match self {
            Request::Bind(_) => tag::BIND,
            Request::Unbind => tag::UNBIND,
            Request::Search(_) => tag::SEARCH,
            Request::Modify(_) => tag::MODIFY,
            Request::Add(_) => tag::ADD,
            Request::Delete(_) => tag::DELETE,
            Request::ModifyDn(_) => tag::MODIFY_DN,
            Request::Compare(_) => tag::COMPARE,
            Request::Abandon(_) => tag::ABANDON,
            Request::Extended(_) => tag::EXTENDED,
        }
    }

    /// Appends the whole message, as a client sends it.
    pub fn encode(&self, out: &mut Vec<u8>, message_id: i32, controls: &[Control<'_>]) {
        encode(out, message_id, controls, |out| match self {
            Request::Bind(bind) => bind.encode(out),
            Request::Unbind => unbind::encode(out),
            Request::Search(search) => search.encode(out),
            Request::Modify(modify) => modify.encode(out),
            Request::Add(add) => add.encode(out),
            Request::Delete(dn) => delete::encode(out, dn),
            Request::ModifyDn(modify_dn) => modify_dn.encode(out),
            Request::Compare(compare) => compare.encode(out),
            Request::Abandon(id) => abandon::encode(out, *id),
            Request::Extended(extended) => extended.encode(out),
        });
    }
}

/// A response, borrowed from the bytes it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    /// messageID of the request, 0 for an unsolicited notification.
    pub id: i32,
    /// What the server says.
    pub response: Response<'a>,
    /// Its controls.
    pub controls: Controls<'a>,
}

/// The protocolOps that servers send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response<'a> {
    /// The end of a bind.
    Bind(BindResponse<'a>),
    /// One entry that a search found.
    SearchEntry(SearchEntry<'a>),
    /// Where to go on searching: URIs.
    SearchReference(Octets<'a>),
    /// The end of the operation that is answered with this tag and nothing but an LDAPResult:
    /// search done, modify, add, delete, modify DN, compare.
    Done(u8, LdapResult<'a>),
    /// The end of an extended operation, or an unsolicited notification.
    Extended(ExtendedResponse<'a>),
    /// Something said before the end.
    Intermediate(Intermediate<'a>),
}

impl<'a> Reply<'a> {
    /// Decodes one whole message, as [`frame`] delimits it.
    pub fn decode(bytes: &'a [u8]) -> Result<Reply<'a>, DecodeError> {
        let (id, op_tag, body, mut rest) = open(bytes)?;
        let reply = Response::decode(op_tag, body).and_then(|response| {
            let controls = Controls::decode(&mut rest)?;
            rest.finish(&[0])?;
            Ok(Reply { id, response, controls })
        });
        reply.map_err(|error| DecodeError::new(error, Some(id), Some(op_tag)))
    }

    /// The LDAPResult, if this is the end of an operation.
    pub fn result(&self) -> Option<LdapResult<'a>> {
        match self.response {
            Response::Bind(BindResponse { result, .. }) => Some(result),
            Response::Done(_, result) => Some(result),
            Response::Extended(ExtendedResponse { result, .. }) => Some(result),
            _ => None,
        }
    }
}

impl<'a> Response<'a> {
    #[inline]
    fn decode(op_tag: u8, mut body: Reader<'a>) -> Result<Response<'a>, Error> {
        Ok(match op_tag {
            tag::SEARCH_ENTRY => Response::SearchEntry(SearchEntry::decode(body)?),
            tag::SEARCH_DONE
            | tag::MODIFY_RESPONSE
            | tag::ADD_RESPONSE
            | tag::DELETE_RESPONSE
            | tag::MODIFY_DN_RESPONSE
            | tag::COMPARE_RESPONSE => {
                let result = LdapResult::decode(&mut body)?;
                body.finish(&[3])?;
                Response::Done(op_tag, result)
            }
            tag::BIND_RESPONSE => Response::Bind(BindResponse::decode(body)?),
            tag::SEARCH_REFERENCE => {
                Response::SearchReference(Octets::check(body, usize::MAX, "expected a URI")?)
            }
            tag::EXTENDED_RESPONSE => Response::Extended(ExtendedResponse::decode(body)?),
            tag::INTERMEDIATE => Response::Intermediate(Intermediate::decode(body)?),
            _ => {
                return Err(Error { kind: Kind::Operation, offset: body.offset(), reason: "not a response" });
            }
        })
    }
}

#[cfg(test)]
mod tests;
