//! The controls of requests (RFC 4511 section 4.1.11): which operation knows which. What one means is in a file of its
//! own; those of searches are with the search.
//!
//! A control is looked at once, when its request is classified; nothing later parses it again before the log. Which operation knows a control
//! is a `match` on both, so an unknown pair falls through to one place: critical is refused, not critical is ignored.

pub(crate) mod assertion;
pub(crate) mod dereference;
pub(crate) mod effective_rights;
mod error;
pub(crate) mod flags;
pub(crate) mod proxied_authorization;
pub(crate) mod read_entry;
pub(crate) mod update;

pub(crate) use self::error::{ControlError, refuse};

use self::effective_rights::RightsOf;
use self::error::{first, no_value, once, unfit, value_of};
use self::flags::{Flag, Flags};
use self::read_entry::ReadEntry;
use crate::op::extended;
use crate::transaction;
use model::Filter;
use model::limits::ASSERTION_ITEMS_MAX;
use proto::control::chaining_behavior::Behavior;
use proto::control::content_sync::SyncRequest;
use proto::control::dereference::DerefSpec;
use proto::control::persistent_search::PersistentSearch;
use proto::control::sort::{self, SortKey};
use proto::control::subentries::Visible;
use proto::control::virtual_list_view::{self, VirtualListView};
use proto::control::{self, Control, Controls, manage_dsa_it, paged_results};
use proto::message::Request;
use std::mem::discriminant;

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
    /// Items of which a value of the entries must pass one to be returned (RFC 3876).
    /// Whether the control is critical makes no difference: a search obeys it in any case.
    pub(crate) matched_values: Option<Vec<Filter<'a>>>,
    /// Attributes that are dereferenced, and whether the control is critical.
    /// Whether their values are names is known when the search begins, by the schema.
    pub(crate) dereference: Option<(Vec<DerefSpec<'a>>, bool)>,
    /// Which kind of entries a search sees (RFC 3672), if not both by its scope.
    pub(crate) visible: Option<Visible>,
    /// A search shall follow changes.
    /// The server's own entries and those of a transaction cannot be followed.
    pub(crate) follows: Option<Wanted<'a>>,
    /// A search shall return no references.
    pub(crate) domain_scope: bool,
    /// A search or a compare shall not be answered by asking other servers.
    pub(crate) refers: bool,
    /// A read shall not be answered with what may be old (RFC 6171).
    pub(crate) original: bool,
    /// Controls of updates that have no value.
    pub(crate) flags: Flags,
    /// What a search is sorted by (RFC 2891), and whether the control is critical.
    pub(crate) sort: Option<(Vec<SortKey<'a>>, bool)>,
    /// Which part of its sorted list a search returns.
    pub(crate) list_view: Option<VirtualListView<'a>>,
}

/// What is wanted of a search that follows changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted<'a> {
    /// Its content (RFC 4533).
    Sync(SyncRequest<'a>),
    /// What changes (ldapext-psearch-03).
    Changes(PersistentSearch),
}

/// OIDs of the controls that some operation knows: what the root DSE says.
pub(crate) const CONTROLS: [&[u8]; 27] = [
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
    control::content_sync::OID,
    control::persistent_search::OID,
    control::domain_scope::OID,
    control::dont_use_copy::OID,
    control::permissive_modify::OID,
    control::no_op::OID,
    control::no_op::OPENLDAP_OID,
    control::tree_delete::OID,
    control::relax_rules::OID,
    control::matched_values::OID,
    control::dereference::OID,
    control::sort::OID,
    control::virtual_list_view::OID,
    control::session_tracking::OID,
    control::chaining_behavior::OID,
];

/// Reads the controls of a request that changes, or has a say in what does, by the version of the behaviour that is in force: what an earlier one did
/// not know stays unknown while it is.
pub(crate) fn requested<'a>(
    request: &Request<'_>,
    controls: Controls<'a>,
    behaviour: u32,
) -> Result<Requested<'a>, ControlError<'a>> {
    read(request, controls, Asks::Update { behaviour })
}

/// Reads the controls of any other request.
/// A search or compare may name a transaction only where `txn-search` allows it, so the settings have a say.
#[inline]
pub(crate) fn requested_of_looking<'a>(
    request: &Request<'_>,
    controls: Controls<'a>,
    transactions: &transaction::Settings,
) -> Result<Requested<'a>, ControlError<'a>> {
    read(request, controls, Asks::Look(transactions))
}

/// What decides which controls a request knows, besides its operation.
#[derive(Clone, Copy)]
enum Asks<'s> {
    /// It looks. The settings say whether it can name a transaction.
    Look(&'s transaction::Settings),
    /// It changes. This behaviour is in force.
    Update { behaviour: u32 },
}

#[inline]
fn read<'a>(
    request: &Request<'_>,
    controls: Controls<'a>,
    asks: Asks<'_>,
) -> Result<Requested<'a>, ControlError<'a>> {
    let mut requested = Requested::default();
    // Those of unbind mean nothing, critical or not (RFC 4511 section 4.1.11).
    if controls.is_empty() || matches!(request, Request::Unbind) {
        return Ok(requested);
    }
    let is_search = matches!(request, Request::Search(_));
    // ManageDsaIT says how the entry is to be taken (RFC 3296 section 3), so it means nothing where there is none.
    let names_entry = !matches!(request, Request::Bind(_) | Request::Extended(_));
    // Their values are nobody's here; only that each comes once is checked.
    let (mut has_length, mut has_session) = (false, false);
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
            // The applier does not know it: what changes was looked at before the log.
            control::session_tracking::OID if matches!(asks, Asks::Look(_)) => {
                first(control.oid, &mut has_session)?;
                check_session(&control)?;
            }
            // After the common ones: a request without rare controls does not allocate.
            _ if requested.take_rare(request, &control, asks)? => {}
            oid if control.critical => return Err(ControlError::UnavailableCritical(oid)),
            _ => {}
        }
    }
    Ok(requested)
}

/// Looks at the session tracking control of an update, before the log: one of a wrong form does not come to the applier, which ignores it.
pub(crate) fn check_sessions(controls: Controls<'_>) -> Result<(), ControlError<'_>> {
    let mut sessions = controls.iter().filter(|control| control.oid == control::session_tracking::OID);
    match (sessions.next(), sessions.next()) {
        (Some(one), Some(_)) => Err(ControlError::Twice(one.oid)),
        (Some(one), None) => check_session(&one),
        (None, _) => Ok(()),
    }
}

/// Only its form is looked at: what it says is for the log. It is never critical, for there is nothing that a server could not do.
#[cold]
fn check_session<'a>(control: &Control<'a>) -> Result<(), ControlError<'a>> {
    if control.critical {
        return Err(ControlError::Critical(control.oid));
    }
    let session = control::session_tracking::SessionTracking::decode(value_of(control)?);
    session.map(|_| ()).map_err(|error| unfit(control.oid, &error))
}

impl<'a> Requested<'a> {
    /// Takes a control that few requests have. `false` if it is none that the operation knows.
    /// Values are decoded here and kept as borrowed parts of the message.
    #[cold]
    fn take_rare(
        &mut self,
        request: &Request<'_>,
        control: &Control<'a>,
        asks: Asks<'_>,
    ) -> Result<bool, ControlError<'a>> {
        use Request::{Add, Compare, Delete, Modify, ModifyDn, Search};
        let oid = control.oid;
        match oid {
            control::proxied_authorization::OID => return self.take_proxied(request, control),
            control::transaction_specification::OID | control::non_transaction::OID => {
                return self.take_membership(request, control, asks);
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
            control::content_sync::OID if matches!(request, Search(_)) => {
                let sync = SyncRequest::decode(value_of(control)?).map_err(|error| unfit(oid, &error))?;
                return self.take_follows(oid, Wanted::Sync(sync));
            }
            control::persistent_search::OID if matches!(request, Search(_)) => {
                let changes =
                    PersistentSearch::decode(value_of(control)?).map_err(|error| unfit(oid, &error))?;
                return self.take_follows(oid, Wanted::Changes(changes));
            }
            // RFC 6171 section 2: of what looks at the directory, and always critical.
            control::dont_use_copy::OID if matches!(request, Search(_) | Compare(_)) => {
                no_value(control)?;
                if !control.critical {
                    return Err(ControlError::NotCritical(oid));
                }
                return first(oid, &mut self.rare.get_or_insert_default().original);
            }
            control::chaining_behavior::OID if matches!(request, Search(_) | Compare(_)) => {
                let [of_base, below] = match control.value {
                    Some(value) => Behavior::decode(value).map_err(|error| unfit(oid, &error))?,
                    None => [Behavior::ChainingPreferred; 2],
                };
                // Whether other servers are asked depends on more than the control.
                if of_base == Behavior::ChainingRequired && control.critical {
                    return Err(ControlError::UnavailableCritical(oid));
                }
                return match of_base.refers() || below.refers() {
                    true => first(oid, &mut self.rare.get_or_insert_default().refers),
                    false => Ok(true),
                };
            }
            control::matched_values::OID if matches!(request, Search(_)) => {
                let items = control::matched_values::decode(value_of(control)?);
                let items = items.map_err(|error| unfit(oid, &error))?;
                return once(oid, self.rare.get_or_insert_default().matched_values.replace(items));
            }
            control::dereference::OID if matches!(request, Search(_)) => {
                let specs = control::dereference::decode(value_of(control)?);
                let asked = (specs.map_err(|error| unfit(oid, &error))?, control.critical);
                return once(oid, self.rare.get_or_insert_default().dereference.replace(asked));
            }
            // What they ask for is judged when the search begins: their errors have codes of their own.
            sort::OID if matches!(request, Search(_)) => {
                let keys = sort::decode(value_of(control)?).map_err(|error| unfit(oid, &error))?;
                let rare = self.rare.get_or_insert_default();
                return once(oid, rare.sort.replace((keys, control.critical)));
            }
            virtual_list_view::OID if matches!(request, Search(_)) => {
                let view = VirtualListView::decode(value_of(control)?).map_err(|error| unfit(oid, &error))?;
                return once(oid, self.rare.get_or_insert_default().list_view.replace(view));
            }
            control::effective_rights::OID if matches!(request, Search(_)) => {
                let asked = effective_rights::read(control.value).map_err(|error| unfit(oid, &error))?;
                let asked = asked.ok_or(ControlError::Malformed(oid))?;
                let rare = self.rare.get_or_insert_default();
                return once(oid, rare.effective_rights.replace((asked, control.critical)));
            }
            _ => {}
        }
        if let Asks::Update { behaviour } = asks
            && Flags::are_known(behaviour)
            && let Some(flag) = Flag::of(request, oid)
        {
            no_value(control)?;
            return once(oid, self.rare.get_or_insert_default().flags.put(flag, control.critical));
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
    /// A search follows changes in one way only.
    /// Whether it can be followed as it is, is decided when it begins: that depends on its base and on its other controls.
    fn take_follows(&mut self, oid: &'a [u8], wanted: Wanted<'a>) -> Result<bool, ControlError<'a>> {
        let before = self.rare.get_or_insert_default().follows.replace(wanted);
        match before {
            Some(other) if discriminant(&other) != discriminant(&wanted) => Err(ControlError::Follows(oid)),
            same => once(oid, same),
        }
    }

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
        asks: Asks<'_>,
    ) -> Result<bool, ControlError<'a>> {
        use Request::{Add, Compare, Delete, Extended, Modify, ModifyDn, Search};
        let oid = control.oid;
        match request {
            Search(_) | Compare(_)
                if oid == control::transaction_specification::OID
                    && matches!(asks, Asks::Look(transactions) if transactions.search()) => {}
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

    /// Its controls without values, as an update.
    pub(crate) fn flags(&self) -> Flags {
        self.rare.as_ref().map(|rare| rare.flags).unwrap_or_default()
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

    /// Does a search return less of its entries than the client may read, or more?
    /// Then it takes the long way, and no cached query template is made of it.
    #[inline]
    pub(crate) fn asks_for_contents(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.matched_values.is_some() || rare.dereference.is_some())
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

    /// Shall a search return its entries in an order, or a part of a sorted list?
    /// Then it goes the long way, and no form of it is remembered.
    #[inline]
    pub(crate) fn is_sorted(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.sort.is_some() || rare.list_view.is_some())
    }

    /// How a search shall follow changes, if it shall.
    #[inline]
    pub(crate) fn follows(&self) -> Option<Wanted<'a>> {
        self.rare.as_ref()?.follows
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
    /// A critical control that a change of the schema, or an update that is judged with no entry to look at, does not know.
    /// Entries of the configuration and changes of passwords are written by other code, which knows none of these.
    pub(crate) fn critical(&self) -> Option<&'static [u8]> {
        self.unknown_but(None)
    }

    /// The same of a modify of `cn=config`, which knows no-op.
    pub(crate) fn critical_for_settings(&self) -> Option<&'static [u8]> {
        self.unknown_but(Some(Flag::NoOp))
    }

    /// The first critical control but `known`, which the one that is to make the update knows.
    fn unknown_but(&self, known: Option<Flag>) -> Option<&'static [u8]> {
        let read = |read: &Option<ReadEntry<'_>>| read.as_ref().is_some_and(|read| read.critical);
        let controls = [
            (self.assertion.as_ref().is_some_and(|(_, critical)| *critical), control::assertion::OID),
            (read(&self.pre_read), control::read_entry::PRE_OID),
            (read(&self.post_read), control::read_entry::POST_OID),
        ];
        let critical = controls.into_iter().find_map(|(is_critical, oid)| is_critical.then_some(oid));
        critical.or_else(|| self.flags.not_to_be_ignored(known))
    }

    /// What is left of the controls of an update that was judged before: it does not fail for them any more.
    /// The assertion was true in the overlay, and the overlay came to the same state as the directory now. A read that is too long is left
    /// out: there is no way back from here.
    pub(crate) fn of_judged(&self) -> Rare<'_> {
        let judged = |read: &Option<ReadEntry<'a>>| read.map(|read| ReadEntry { critical: false, ..read });
        let flags = self.flags;
        Rare {
            pre_read: judged(&self.pre_read),
            post_read: judged(&self.post_read),
            flags,
            ..Rare::default()
        }
    }

    /// Entries that the answer shall bring.
    pub(crate) fn reads(&self) -> usize {
        usize::from(self.pre_read.is_some()) + usize::from(self.post_read.is_some())
    }
}
