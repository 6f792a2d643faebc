//! From a decoded request to its operation: the only place that knows them all, and the controls of each.

use crate::engine::Dsa;
use crate::identity::Identity;
use crate::worker::Scratch;
use env::clock::Now;
use proto::control::{Controls, manage_dsa_it, paged_results};
use proto::message::Request;
use store::{Known, ReadPoint, Stamp};

/// A request that looks: everything at one read point.
pub(crate) struct Reading<'r> {
    pub(crate) dsa: &'r Dsa,
    pub(crate) read_point: ReadPoint<'r>,
    pub(crate) scratch: &'r mut Scratch,
    pub(crate) now: Now,
}

/// A request that changes: in the writer's role, several requests of a bundle in one batch.
pub(crate) struct Writing<'w, 's> {
    pub(crate) dsa: &'w Dsa,
    pub(crate) writer: &'w mut store::Writer<'s>,
    pub(crate) scratch: &'w mut Scratch,
    pub(crate) now: Now,
    pub(crate) identity: &'w Identity,
    /// Number of the identity's name ([`store::Writer::name`]).
    pub(crate) actor: u32,
    /// A stamp that was made for this update and not used. An update takes one, however it comes to be carried out.
    pub(crate) spare: Option<Stamp>,
    /// Where the entry is, if the group's look-ahead found out.
    pub(crate) known: Option<Known<'w>>,
}

/// Controls that were asked for and that the operation knows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Requested<'a> {
    pub(crate) manage_dsa_it: bool,
    pub(crate) paged: Option<paged_results::PagedResults<'a>>,
}

/// OIDs of the controls that some operation knows: what the root DSE says.
pub(crate) const CONTROLS: [&[u8]; 2] = [manage_dsa_it::OID, paged_results::OID];

/// Why controls stand against an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControlError<'a> {
    /// A critical control that this operation does not know (RFC 4511 section 4.1.11).
    UnavailableCritical(&'a [u8]),
    /// A control whose value cannot be understood.
    Malformed(&'a [u8]),
}

/// Reads the controls of a request.
pub(crate) fn requested<'a>(
    request: &Request<'_>,
    controls: Controls<'a>,
) -> Result<Requested<'a>, ControlError<'a>> {
    let mut requested = Requested::default();
    // Those of unbind mean nothing, critical or not (RFC 4511 section 4.1.11).
    if controls.is_empty() || matches!(request, Request::Unbind) {
        return Ok(requested);
    }
    let is_search = matches!(request, Request::Search(_));
    let names_entry = !matches!(request, Request::Bind(_) | Request::Extended(_));
    for control in controls.iter() {
        match control.oid {
            manage_dsa_it::OID if names_entry => requested.manage_dsa_it = true,
            paged_results::OID if is_search => {
                let value = control.value.ok_or(ControlError::Malformed(control.oid))?;
                let paged = paged_results::PagedResults::decode(value);
                requested.paged = Some(paged.map_err(|_| ControlError::Malformed(control.oid))?);
            }
            oid if control.critical => return Err(ControlError::UnavailableCritical(oid)),
            _ => {}
        }
    }
    Ok(requested)
}
