//! Searches for what one entry has.

use crate::error::ClientError;
use crate::link::{Link, refusal};
use model::filter::Filter;
use model::{ResultCode, Scope};
use proto::list::{Octets, octet_list};
use proto::message::{Request, Response};
use proto::op::Search;

/// The filter that every entry matches.
pub const EVERYTHING: Filter<'_> = Filter::Present(b"objectClass");

/// The values that an entry has of an attribute, in the server's order.
///
/// # Errors
/// When the connection fails, or the server refuses.
pub fn values(link: &mut Link, dn: &[u8], attribute: &[u8]) -> Result<Vec<Vec<u8>>, ClientError> {
    let selection = octet_list([attribute]);
    let selection = Octets::parse(&selection).map_err(|_| ClientError::Malformed("nothing"))?;
    let request = Request::Search(Search::unlimited(dn, Scope::Base, EVERYTHING, selection));
    link.push(|out, id| request.encode(out, id, &[]));
    let mut found: Vec<Vec<u8>> = Vec::new();
    loop {
        let is_done = link.receive(|reply| match reply.response {
            Response::SearchEntry(entry) => {
                for attribute in entry.attributes.iter() {
                    found.extend(attribute.values.iter().map(<[u8]>::to_vec));
                }
                Ok(false)
            }
            _ => reply.result().map_or(Ok(false), |result| refusal(&result).map_or(Ok(true), Err)),
        })?;
        if is_done.map_err(ClientError::Refused)? {
            return Ok(found);
        }
    }
}

/// Attribute descriptions with their values.
pub type Attributes = Vec<(String, Vec<Vec<u8>>)>;

/// All attributes that the client may read of an entry; `None` if there is no such entry, or the client may not know of it.
///
/// # Errors
/// When the connection fails, or the server refuses.
pub fn entry(link: &mut Link, dn: &[u8]) -> Result<Option<Attributes>, ClientError> {
    let selection = octet_list([&b"*"[..], b"+"]);
    let selection = Octets::parse(&selection).map_err(|_| ClientError::Malformed("nothing"))?;
    let request = Request::Search(Search::unlimited(dn, Scope::Base, EVERYTHING, selection));
    link.push(|out, id| request.encode(out, id, &[]));
    let mut found = None;
    loop {
        let is_done = link.receive(|reply| match reply.response {
            Response::SearchEntry(entry) => {
                let attributes = entry.attributes.iter().map(|attribute| {
                    let name = String::from_utf8_lossy(attribute.description).into_owned();
                    (name, attribute.values.iter().map(<[u8]>::to_vec).collect())
                });
                found = Some(attributes.collect());
                Ok(false)
            }
            _ => match reply.result() {
                Some(result) if result.code == ResultCode::NoSuchObject as u32 => Ok(true),
                Some(result) => refusal(&result).map_or(Ok(true), Err),
                None => Ok(false),
            },
        })?;
        if is_done.map_err(ClientError::Refused)? {
            return Ok(found);
        }
    }
}
