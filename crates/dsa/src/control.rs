//! The controls of requests (RFC 4511 section 4.1.11): which operation knows which. What one means is in a file of its
//! own; those of searches are with the search.
//!
//! A control is looked at once, when its request is classified; nothing later parses it again before the log. Which operation knows a control
//! is a `match` on both, so an unknown pair falls through to one place: critical is refused, not critical is ignored.

pub(crate) mod assertion;
pub(crate) mod effective_rights;
pub(crate) mod proxied_authorization;
pub(crate) mod read_entry;
pub(crate) mod update;

use self::effective_rights::RightsOf;
use self::read_entry::ReadEntry;
use crate::op::extended;
use crate::transaction;
use model::limits::ASSERTION_ITEMS_MAX;
use model::{Filter, ResultCode};
use proto::control::subentries::Visible;
use proto::control::{self, Control, Controls, manage_dsa_it, paged_results};
use proto::error::{Error, Kind};
use proto::message::{Message, Request};
use proto::result::encode_result;
use proto::tag;

/// Controls that were asked for and that the operation knows.
/// It borrows the message. What nearly no request has lies behind a pointer, so that most requests carry three words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requested<'a> {
    pub(crate) manage_dsa_it: bool,
    pub(crate) paged: Option<paged_results::PagedResults<'a>>,
    /// Nearly always none, and then nothing is looked at.
    pub(crate) rare: Option<Box<Rare<'a>>>,
}

/// Controls that few requests have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rare<'a> {
    /// What must be true of the target (RFC 4528), and whether the control is critical.
    pub(crate) assertion: Option<(Filter<'a>, bool)>,
    /// What is wanted of the entry as it was before the update (RFC 4527).
    pub(crate) pre_read: Option<ReadEntry<'a>>,
    /// What is wanted of it as it is after the update.
    pub(crate) post_read: Option<ReadEntry<'a>>,
    /// Who the request shall be applied as (RFC 4370).
    pub(crate) proxied: Option<&'a [u8]>,
    /// The transaction that the update belongs to (RFC 5805), or of which a search or compare sees the updates.
    pub(crate) transaction: Option<&'a [u8]>,
    /// The update belongs to none.
    pub(crate) non_transaction: bool,
    /// The client wants to know what the password policy says.
    pub(crate) password_policy: bool,
    /// The client wants to know of each entry whether its user can bind.
    pub(crate) account_usability: bool,
    /// Whose rights on the entries it wants to know, and whether the control is critical.
    pub(crate) effective_rights: Option<(RightsOf<'a>, bool)>,
    /// Which kind of entries a search sees (RFC 3672), if not both by its scope.
    pub(crate) visible: Option<Visible>,
    /// A search shall return no references.
    pub(crate) domain_scope: bool,
    /// A read shall not be answered with what may be old (RFC 6171).
    pub(crate) original: bool,
}

/// OIDs of the controls that some operation knows: what the root DSE says.
pub(crate) const CONTROLS: [&[u8]; 14] = [
    manage_dsa_it::OID,
    paged_results::OID,
    control::assertion::OID,
    control::read_entry::PRE_OID,
    control::read_entry::POST_OID,
    control::proxied_authorization::OID,
    control::transaction_specification::OID,
    control::password_policy::OID,
    control::effective_rights::OID,
    control::account_usability::OID,
    control::queue_length::OID,
    control::subentries::OID,
    control::domain_scope::OID,
    control::dont_use_copy::OID,
];

/// Why controls stand against an operation.
/// Each names the control, so that the diagnostic message can. [`refuse`] maps it to a result code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControlError<'a> {
    /// A critical control that this operation does not know (RFC 4511 section 4.1.11).
    UnavailableCritical(&'a [u8]),
    /// A control whose value cannot be understood.
    Malformed(&'a [u8]),
    /// A control that may be there once and is there twice.
    Twice(&'a [u8]),
    /// A control that must be critical and is not.
    NotCritical(&'a [u8]),
    /// A control that stands where it has no place.
    NotHere(&'a [u8]),
    /// A control that asks for more than a bound allows.
    Limit(&'a [u8]),
    /// A critical control that would bring a longer entry than an answer may have.
    TooLong(&'a [u8]),
}

/// Reads the controls of a request that changes, or has a say in what does.
pub(crate) fn requested<'a>(
    request: &Request<'_>,
    controls: Controls<'a>,
) -> Result<Requested<'a>, ControlError<'a>> {
    read(request, controls, None)
}

/// Reads the controls of any other request.
/// A search or compare may name a transaction only where `txn-search` allows it, so the settings have a say.
#[inline]
pub(crate) fn requested_of_looking<'a>(
    request: &Request<'_>,
    controls: Controls<'a>,
    transactions: &transaction::Settings,
) -> Result<Requested<'a>, ControlError<'a>> {
    read(request, controls, Some(transactions))
}

/// `transactions` says whether a search can name one.
#[inline]
fn read<'a>(
    request: &Request<'_>,
    controls: Controls<'a>,
    transactions: Option<&transaction::Settings>,
) -> Result<Requested<'a>, ControlError<'a>> {
    let mut requested = Requested::default();
    // Those of unbind mean nothing, critical or not (RFC 4511 section 4.1.11).
    if controls.is_empty() || matches!(request, Request::Unbind) {
        return Ok(requested);
    }
    let is_search = matches!(request, Request::Search(_));
    // ManageDsaIT says how the entry is to be taken (RFC 3296 section 3), so it means nothing where there is none.
    let names_entry = !matches!(request, Request::Bind(_) | Request::Extended(_));
    // Its value is nobody's here; only that it comes once is checked.
    let mut has_length = false;
    for control in controls.iter() {
        match control.oid {
            manage_dsa_it::OID if names_entry => {
                first(control.oid, &mut requested.manage_dsa_it)?;
            }
            // RFC 2696: the value has page size and cookie. Whether the cookie is of this search is looked at when the search begins.
            paged_results::OID if is_search => {
                let paged = paged_results::PagedResults::decode(value_of(&control)?);
                let paged = paged.map_err(|_| ControlError::Malformed(control.oid))?;
                once(control.oid, requested.paged.replace(paged))?;
            }
            control::queue_length::OID => {
                // The session has looked at it (crate::queue): it means nothing to the operation.
                let length = control::queue_length::decode(value_of(&control)?);
                length.map_err(|_| ControlError::Malformed(control.oid))?;
                first(control.oid, &mut has_length)?;
            }
            // After the common ones: a request without rare controls does not allocate.
            _ if requested.take_rare(request, &control, transactions)? => {}
            oid if control.critical => return Err(ControlError::UnavailableCritical(oid)),
            _ => {}
        }
    }
    Ok(requested)
}

/// For controls that must have a value; those without one never ask.
fn value_of<'a>(control: &Control<'a>) -> Result<&'a [u8], ControlError<'a>> {
    control.value.ok_or(ControlError::Malformed(control.oid))
}

/// For controls that have none.
fn no_value<'a>(control: &Control<'a>) -> Result<(), ControlError<'a>> {
    match control.value {
        None => Ok(()),
        Some(_) => Err(ControlError::Malformed(control.oid)),
    }
}

impl<'a> Requested<'a> {
    /// Takes a control that few requests have. `false` if it is none that the operation knows.
    /// Values are decoded here and kept as borrowed parts of the message.
    #[cold]
    fn take_rare(
        &mut self,
        request: &Request<'_>,
        control: &Control<'a>,
        transactions: Option<&transaction::Settings>,
    ) -> Result<bool, ControlError<'a>> {
        use Request::{Add, Compare, Delete, Modify, ModifyDn, Search};
        let oid = control.oid;
        match oid {
            control::proxied_authorization::OID => return self.take_proxied(request, control),
            control::transaction_specification::OID | control::non_transaction::OID => {
                return self.take_membership(request, control, transactions);
            }
            // Clients send it with whatever they send; where a policy has nothing to say there is no answer to it.
            control::password_policy::OID if control.value.is_none() => {
                return first(oid, &mut self.rare.get_or_insert_default().password_policy);
            }
            control::account_usability::OID if matches!(request, Search(_)) && control.value.is_none() => {
                return first(oid, &mut self.rare.get_or_insert_default().account_usability);
            }
            control::account_usability::OID if !matches!(request, Search(_)) => {}
            control::password_policy::OID | control::account_usability::OID => {
                return Err(ControlError::Malformed(oid));
            }
            // RFC 3672 section 3: of searches alone. Other operations see subentries by their names.
            control::subentries::OID if matches!(request, Search(_)) => {
                let visible = Visible::decode(value_of(control)?).map_err(|error| unfit(oid, &error))?;
                return once(oid, self.rare.get_or_insert_default().visible.replace(visible));
            }
            // Nothing is looked for that would not be without it: references are left out when they would be sent.
            control::domain_scope::OID if matches!(request, Search(_)) => {
                no_value(control)?;
                return first(oid, &mut self.rare.get_or_insert_default().domain_scope);
            }
            // RFC 6171 section 2: of what looks at the directory, and always critical.
            control::dont_use_copy::OID if matches!(request, Search(_) | Compare(_)) => {
                no_value(control)?;
                if !control.critical {
                    return Err(ControlError::NotCritical(oid));
                }
                return first(oid, &mut self.rare.get_or_insert_default().original);
            }
            control::effective_rights::OID if matches!(request, Search(_)) => {
                let asked = effective_rights::read(control.value).map_err(|error| unfit(oid, &error))?;
                let asked = asked.ok_or(ControlError::Malformed(oid))?;
                let rare = self.rare.get_or_insert_default();
                return once(oid, rare.effective_rights.replace((asked, control.critical)));
            }
            _ => {}
        }
        // The operations that RFC 4527 and RFC 4528 name, and no others.
        let place = match (oid, request) {
            (
                control::assertion::OID,
                Add(_) | Compare(_) | Delete(_) | Modify(_) | ModifyDn(_) | Search(_),
            ) => {
                // Bounded by itself: the filter of a search may be longer, but this one is evaluated under the writer's role.
                let filter = control::assertion::decode(value_of(control)?).map_err(|e| unfit(oid, &e))?;
                if filter.items() > ASSERTION_ITEMS_MAX {
                    return Err(ControlError::Limit(oid));
                }
                let rare = self.rare.get_or_insert_default();
                return once(oid, rare.assertion.replace((filter, control.critical)));
            }
            (control::read_entry::PRE_OID, Delete(_) | Modify(_) | ModifyDn(_)) => {
                |rare: &mut Rare<'a>, read| rare.pre_read.replace(read)
            }
            (control::read_entry::POST_OID, Add(_) | Modify(_) | ModifyDn(_)) => {
                |rare: &mut Rare<'a>, read| rare.post_read.replace(read)
            }
            _ => return Ok(false),
        };
        // RFC 4527 section 3.1: the value is an AttributeSelection, as a search has one.
        let selectors = control::read_entry::decode_selection(value_of(control)?);
        let selectors = selectors.map_err(|error| unfit(oid, &error))?;
        let read = ReadEntry { selectors, critical: control.critical };
        once(oid, place(self.rare.get_or_insert_default(), read))
    }
}

impl<'a> Requested<'a> {
    /// RFC 4370 section 3: of whatever request, one that is not critical is an error.
    /// Who may ask for it is decided later ([`proxied_authorization`]); here it is only read.
    fn take_proxied(
        &mut self,
        request: &Request<'_>,
        control: &Control<'a>,
    ) -> Result<bool, ControlError<'a>> {
        match request {
            _ if !control.critical => Err(ControlError::NotCritical(control.oid)),
            // RFC 4370 section 3: not of these. An unknown control then, critical, so the request is refused.
            Request::Bind(_) | Request::Abandon(_) | Request::Unbind => Ok(false),
            Request::Extended(extended)
                if extended::find(extended.oid).is_some_and(|known| !known.knows(control.oid)) =>
            {
                Ok(false)
            }
            _ => {
                let value = value_of(control)?;
                once(control.oid, self.rare.get_or_insert_default().proxied.replace(value))
            }
        }
    }

    /// RFC 5805 section 2.2: of an update that may belong to a transaction; always critical. So is that of a search or compare
    /// that shall see one.
    /// A control that may not be there is no error of its own: it is unknown to the operation, and critical.
    fn take_membership(
        &mut self,
        request: &Request<'_>,
        control: &Control<'a>,
        transactions: Option<&transaction::Settings>,
    ) -> Result<bool, ControlError<'a>> {
        use Request::{Add, Compare, Delete, Extended, Modify, ModifyDn, Search};
        let oid = control.oid;
        match request {
            Search(_) | Compare(_)
                if oid == control::transaction_specification::OID
                    && transactions.is_some_and(transaction::Settings::search) => {}
            Add(_) | Delete(_) | Modify(_) | ModifyDn(_) => {}
            Extended(extended) if extended::find(extended.oid).is_some_and(|known| known.knows(oid)) => {}
            _ => return Ok(false),
        }
        if !control.critical {
            return Err(ControlError::NotCritical(oid));
        }
        let rare = self.rare.get_or_insert_default();
        match control.value {
            Some(identifier) if oid == control::transaction_specification::OID => {
                once(oid, rare.transaction.replace(identifier))
            }
            None if oid == control::non_transaction::OID => first(oid, &mut rare.non_transaction),
            _ => Err(ControlError::Malformed(oid)),
        }
    }

    /// What must be true of the target (RFC 4528).
    #[inline]
    pub(crate) fn assertion(&self) -> Option<&Filter<'a>> {
        let assertion = self.rare.as_ref()?.assertion.as_ref()?;
        Some(&assertion.0)
    }

    /// Does the client want to know what the password policy says?
    /// It costs nothing to know it: a policy has said it already.
    pub(crate) fn asks_policy(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.password_policy)
    }

    /// Shall a search say of each entry whether its user can bind?
    #[inline]
    pub(crate) fn asks_usability(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.account_usability)
    }

    /// Which kind of entries a search sees, if it says so.
    /// Without the control a subentry is seen by a search whose base it is.
    #[inline]
    pub(crate) fn visible(&self) -> Option<Visible> {
        self.rare.as_ref()?.visible
    }

    /// Shall a search return references?
    /// All do whose client does not say that it will not follow them.
    #[inline]
    pub(crate) fn wants_references(&self) -> bool {
        self.rare.as_ref().is_none_or(|rare| !rare.domain_scope)
    }

    /// Whose rights on the entries a search shall show, and whether it must.
    #[inline]
    pub(crate) fn effective_rights(&self) -> Option<&(RightsOf<'a>, bool)> {
        self.rare.as_ref()?.effective_rights.as_ref()
    }

    /// Who the request shall be applied as, if not the client.
    #[inline]
    pub(crate) fn proxied(&self) -> Option<&'a [u8]> {
        self.rare.as_ref().and_then(|rare| rare.proxied)
    }
}

impl<'a> Rare<'a> {
    /// A critical control that an update of the server's own entries does not know.
    /// Entries of the configuration and changes of passwords are written by other code, which knows none of these.
    pub(crate) fn critical(&self) -> Option<&'static [u8]> {
        let read = |read: &Option<ReadEntry<'_>>| read.as_ref().is_some_and(|read| read.critical);
        let controls = [
            (self.assertion.as_ref().is_some_and(|(_, critical)| *critical), control::assertion::OID),
            (read(&self.pre_read), control::read_entry::PRE_OID),
            (read(&self.post_read), control::read_entry::POST_OID),
        ];
        controls.into_iter().find_map(|(is_critical, oid)| is_critical.then_some(oid))
    }

    /// What is left of the controls of an update that was judged before: it does not fail for them any more.
    /// The assertion was true in the overlay, and the overlay came to the same state as the directory now. A read that is too long is left
    /// out: there is no way back from here.
    pub(crate) fn of_judged(&self) -> Rare<'_> {
        let judged = |read: &Option<ReadEntry<'a>>| read.map(|read| ReadEntry { critical: false, ..read });
        Rare { pre_read: judged(&self.pre_read), post_read: judged(&self.post_read), ..Rare::default() }
    }

    /// Entries that the answer shall bring.
    pub(crate) fn reads(&self) -> usize {
        usize::from(self.pre_read.is_some()) + usize::from(self.post_read.is_some())
    }
}

/// Whether a control is the first with its OID: a request that says something twice is not to be understood.
/// RFC 4511 section 4.1.11 has no rule for it; refusing is what cannot be wrong.
fn once<'a, T>(oid: &'a [u8], before: Option<T>) -> Result<bool, ControlError<'a>> {
    if before.is_some() { Err(ControlError::Twice(oid)) } else { Ok(true) }
}

/// As [`once`], of a control of which nothing is kept but that it is there.
fn first<'a>(oid: &'a [u8], is_there: &mut bool) -> Result<bool, ControlError<'a>> {
    once(oid, std::mem::replace(is_there, true).then_some(()))
}

/// A limit that is exceeded is no malformed value: the client can send less.
fn unfit<'a>(oid: &'a [u8], error: &Error) -> ControlError<'a> {
    match error.kind {
        Kind::Limit => ControlError::Limit(oid),
        _ => ControlError::Malformed(oid),
    }
}

/// Answers a request whose controls stand against it.
/// Abandon and unbind have no answer, so there is nothing to say for them.
#[cold]
pub(crate) fn refuse(message: &Message<'_>, error: ControlError<'_>, out: &mut Vec<u8>) {
    let Some(response) = tag::response_to(message.request.tag()) else { return };
    let name = crate::outcome::shortened;
    let (code, text) = match error {
        ControlError::UnavailableCritical(oid) => (
            ResultCode::UnavailableCriticalExtension,
            format!("the critical control {} is not known for this operation", name(oid)),
        ),
        ControlError::Malformed(oid) => {
            (ResultCode::ProtocolError, format!("the value of control {} is malformed", name(oid)))
        }
        ControlError::Twice(oid) => {
            (ResultCode::ProtocolError, format!("control {} occurs more than once", name(oid)))
        }
        ControlError::NotCritical(oid) => {
            (ResultCode::ProtocolError, format!("control {} must be critical", name(oid)))
        }
        ControlError::NotHere(oid) => {
            (ResultCode::ProtocolError, format!("control {} is not allowed here", name(oid)))
        }
        ControlError::TooLong(oid) => (
            ResultCode::UnavailableCriticalExtension,
            format!("the result of the critical control {} is too long for one answer", name(oid)),
        ),
        ControlError::Limit(oid) => {
            (ResultCode::AdminLimitExceeded, format!("control {} exceeds a limit", name(oid)))
        }
    };
    encode_result(out, message.id, response, code, b"", &text, &[]);
}
