//! Get effective rights: a search shows with each entry what somebody may do with it. Everybody may ask about oneself; about others one needs
//! the right *manage* on the entry.
//!
//! The rights are those of the views that operations are decided by, so what is shown is what would happen. The search itself is one of the
//! requester's like any other: the control brings no entry and no attribute that the requester may not read. That is why attributes that the
//! requester only selects by `*` or `+` are shown where the requester may read them: a list of rights must not tell which others there are.
//!
//! A search that shows rights takes the long way: it has a cursor, also for one entry, and no cached query template. What it shows depends on more
//! than the request and the class of the requester, and few clients ask for it.
//!
//! How an entry is shown is in [`shown`].

mod shown;

pub(crate) use self::shown::Written;
use self::shown::{Rendered, put_refused};
use crate::access::Requester;
use crate::context::Reading;
use crate::identity::Identity;
use crate::lookup::find_user;
use crate::worker::Scratch;
use ::access::{AuthMethod, Right};
use model::ResultCode;
use model::limits::EFFECTIVE_RIGHTS_NAMES_MAX;
use proto::control::effective_rights::{EffectiveRights as Value, response};
use proto::control::proxied_authorization::AuthzId;
use proto::error::Error;
use proto::list::Octets;
use schema::Schema;
use store::Unresolved;

/// What a search asks for.
/// It borrows the request; what outlives that is in [`EffectiveRights`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct RightsOf<'a> {
    /// None: the requester's own.
    whose: Option<AuthzId<'a>>,
    /// Those that the control names. The search may name others.
    attributes: Octets<'a>,
}

/// Reads the value of the control; without one it asks about the requester. `None` if it names somebody in no known form.
///
/// # Errors
/// When the value cannot be decoded, or is too long.
pub(crate) fn read(value: Option<&[u8]>) -> Result<Option<RightsOf<'_>>, Error> {
    let Some(value) = value else { return Ok(Some(RightsOf { whose: None, attributes: Octets::EMPTY })) };
    let Value { authorization_id, attributes } = Value::decode(value)?;
    Ok(AuthzId::parse(authorization_id).map(|whose| RightsOf { whose: Some(whose), attributes }))
}

/// Whose rights are shown.
enum Subject {
    /// The requester's own.
    Requester,
    /// Those of somebody else, with a class on this connection.
    Other(Identity),
    /// There is no such user. Rights of nobody are shown to those who may ask; others do not learn of it.
    Nobody,
}

/// What a search shows of somebody's rights on its entries.
/// It is owned by the search, and waits with it between two slices. The subject gets its class anew before each of them, for rules or
/// groups may have changed.
pub(crate) struct EffectiveRights {
    subject: Subject,
    /// DN of the subject, for values that are one's own.
    dn: Vec<u8>,
    /// Attributes that were asked for by name: each is shown, whether the entry has it or not.
    named: Vec<Vec<u8>>,
    /// Are the attributes `aclRights` and `aclRightsInfo` wanted?
    wants: (bool, bool),
    /// Does the search end at the first entry about which the requester may not ask?
    is_critical: bool,
    /// Of the answer: whether an entry was met about which the requester may not ask.
    code: ResultCode,
}

impl EffectiveRights {
    /// Finds out whose rights are asked for, as that one would be on the requester's connection.
    pub(crate) fn new(
        reading: &mut Reading<'_>,
        identity: &Identity,
        selectors: Octets<'_>,
        (asked, is_critical): &(RightsOf<'_>, bool),
    ) -> EffectiveRights {
        let schema = reading.dsa.shard.schema();
        let mut subject = match asked.whose {
            None => Subject::Requester,
            Some(whose) => subject(reading, whose),
        };
        let mut dn = identity.dn.clone();
        if let Subject::Other(other) = &mut subject {
            // Who names oneself has the rights of this session: how it bound, and who acts as whom, is known of it alone.
            let is_own = is_same(schema, identity, other);
            dn.clone_from(&other.dn);
            match is_own {
                true => subject = Subject::Requester,
                false => reading.classify(other, reading.security),
            }
        }
        // With options or without: clients ask for `aclRights;entryLevel` as well.
        let wants = |name: &[u8]| {
            selectors.iter().any(|selector| {
                selector
                    .split(|byte| *byte == b';')
                    .next()
                    .is_some_and(|first| first.eq_ignore_ascii_case(name))
            })
        };
        EffectiveRights {
            subject,
            dn,
            named: named(schema, asked.attributes, selectors),
            wants: (wants(b"aclRights"), wants(b"aclRightsInfo")),
            is_critical: *is_critical,
            code: ResultCode::Success,
        }
    }

    /// The DN whose rights are asked for, if not the requester's own; empty if nobody has that name.
    /// A name that the requester sent is not repeated, since it may be no DN.
    pub(crate) fn of_another(&self) -> Option<&[u8]> {
        match &self.subject {
            Subject::Requester => None,
            Subject::Other(identity) => Some(&identity.dn),
            Subject::Nobody => Some(b""),
        }
    }

    /// Who is to get a class before the search goes on, if not the requester alone.
    pub(crate) fn subject_mut(&mut self) -> Option<&mut Identity> {
        match &mut self.subject {
            Subject::Other(identity) => Some(identity),
            Subject::Requester | Subject::Nobody => None,
        }
    }

    /// Bytes that it holds while its search is suspended.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.dn.len() + self.named.iter().map(Vec::len).sum::<usize>()
    }

    /// The next entry that is written shows the rights on it. `false` if the requester may not ask, and the control is critical.
    ///
    /// What it makes of views may drop the requester's own: that is to be looked up again.
    pub(crate) fn show(
        &mut self,
        scratch: &mut Scratch,
        written: &Written<'_>,
        (selectors, types_only): (Octets<'_>, bool),
        work: &mut u64,
    ) -> bool {
        let may_manage = scratch.views.may(written.view, Right::Manage);
        let mut out = Vec::new();
        let who = match &self.subject {
            Subject::Requester => written.who,
            Subject::Other(identity) => identity.requester(),
            Subject::Nobody => Requester::NOBODY,
        };
        // The right is one on this entry: of others the requester may lack it.
        if may_manage || matches!(self.subject, Subject::Requester) {
            let mut rendered = Rendered::new(written, who, &self.dn);
            rendered.choose(scratch, written, selectors, &self.named);
            rendered.ask(scratch, written, self.wants.1 && may_manage);
            rendered.put(self.wants.0, types_only, &mut out);
            *work = work.saturating_sub(rendered.work());
        } else {
            // The answer is the same for every name, also for one that nobody has.
            self.code = ResultCode::InsufficientAccessRights;
            if self.is_critical {
                return false;
            }
            put_refused(self.code, types_only, &mut out);
        }
        scratch.writer(written.action.is_system).0.show_besides(&out);
        true
    }

    /// Value of the control of the answer.
    pub(crate) fn response(&self) -> Vec<u8> {
        response(self.code as u32)
    }
}

/// Somebody who is named, as far as the directory knows of it. A name without an entry is one that rules may be about.
fn subject(reading: &mut Reading<'_>, whose: AuthzId<'_>) -> Subject {
    let (dsa, read_point) = (reading.dsa, reading.read_point);
    let evaluator = &mut reading.scratch.evaluator;
    let found = match whose {
        AuthzId::Anonymous => return Subject::Other(Identity::anonymous()),
        AuthzId::Dn(dn) if dsa.is_root(dn) => return Subject::Other(dsa.root()),
        AuthzId::Dn(dn) => match read_point.resolve(dn, &mut evaluator.cache) {
            Ok(id) => Some(id),
            Err(Unresolved::NoSuchObject(_)) => {
                return Subject::Other(Identity::named(dn.to_vec(), AuthMethod::Simple));
            }
            Err(_) => None,
        },
        AuthzId::User(user) => find_user(&dsa.identities.user(), read_point, evaluator, user),
    };
    match found.and_then(|id| read_point.entry(id)) {
        Some(entry) => Subject::Other(dsa.identity_of(read_point, &entry, &mut evaluator.cache)),
        None => Subject::Nobody,
    }
}

/// Are two identities one? By their entries if they have some, else by their names.
fn is_same(schema: &Schema, own: &Identity, other: &Identity) -> bool {
    let key = |dn: &[u8]| {
        let mut key = Vec::new();
        schema.normalise_dn(dn, &mut key).ok().map(|()| key)
    };
    own.is_root == other.is_root
        && own.entry == other.entry
        && (own.is_root || own.entry.is_some() || key(&own.dn) == key(&other.dn))
}

/// Attributes that were asked for by name, by the control or by the search: of each list as many as may be.
fn named(schema: &Schema, listed: Octets<'_>, selected: Octets<'_>) -> Vec<Vec<u8>> {
    let is_known = |name: &&[u8]| schema.find_wanted(name).is_some();
    let mut named: Vec<Vec<u8>> = Vec::new();
    let selected = selected.iter().filter(is_known).take(EFFECTIVE_RIGHTS_NAMES_MAX);
    for name in listed.iter().filter(is_known).chain(selected) {
        if !named.iter().any(|other| other.eq_ignore_ascii_case(name)) {
            named.push(name.to_vec());
        }
    }
    named
}

#[cfg(test)]
mod tests;
