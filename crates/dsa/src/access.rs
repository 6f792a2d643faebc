//! Who may do what. The default rules: the root DN may do everything; users read everything but secrets and change
//! nothing, unless the configuration lets them; anonymous clients see the root DSE and the subschema, and more only if it says so.

use crate::identity::Identity;
use crate::outcome::FixedRefusal;
use model::attribute::split_options;
use model::{Filter, ResultCode, TypeId};
use schema::Schema;

/// What anonymous clients may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Anonymous {
    /// Read the root DSE and the subschema.
    #[default]
    None,
    /// Read what users read.
    Read,
}

/// The rights of a session, fixed when it binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Rights {
    /// The root DSE and the subschema.
    Public,
    /// All entries but secrets.
    Read,
    /// The same, and changes of all entries.
    Write,
    /// Everything.
    Root,
}

/// Whose update is applied: somebody whose access was decided before. Applying decides nothing about access, so a command of the log
/// has the same outcome whatever the rules are by then. Values are made in this module only, by a function for each reason.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effective<'a> {
    /// DN that the changed entries record; empty for anonymous.
    dn: &'a [u8],
}

impl<'a> Effective<'a> {
    /// An identity that may change all entries.
    ///
    /// # Errors
    /// Code and text of the refusal if it may not.
    pub(crate) fn to_write(rules: &Rules, identity: &'a Identity) -> Result<Effective<'a>, FixedRefusal> {
        let text = match identity.dn.is_empty() {
            _ if rules.may_write(identity.rights) => return Ok(Effective { dn: &identity.dn }),
            true => "anonymous clients may not change the directory; bind first",
            false => "this identity may not change the directory",
        };
        Err((ResultCode::InsufficientAccessRights, text))
    }

    /// An identity whose [`crate::extension::Change`] an operation worked out, which it does only of one that may make it.
    pub(crate) fn of_change(identity: &'a Identity) -> Effective<'a> {
        Effective { dn: &identity.dn }
    }

    /// The identity of a transaction: each of its updates was authorized when it was accepted.
    pub(crate) fn of_transaction(identity: &'a Identity) -> Effective<'a> {
        Effective { dn: &identity.dn }
    }

    /// The actor of a command of the log: its updates were authorized before they were logged.
    pub(crate) fn of_log(actor: &'a [u8]) -> Effective<'a> {
        Effective { dn: actor }
    }

    /// DN that the changed entries record; empty for anonymous.
    #[inline]
    pub(crate) fn dn(&self) -> &'a [u8] {
        self.dn
    }
}

/// The access rules, evaluated per attribute.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Attributes that only the root DN reads ([`Schema::is_secret`]).
    secrets: Vec<TypeId>,
}

impl Rules {
    /// The default rules under a schema.
    pub fn new(schema: &Schema) -> Rules {
        let all = schema.attribute_types().map(|(id, _)| id);
        Rules { secrets: all.filter(|id| schema.is_secret(*id)).collect() }
    }

    /// May values of this attribute be read, searched and compared?
    #[inline]
    pub fn may_read(&self, rights: Rights, attribute_type: TypeId) -> bool {
        match rights {
            Rights::Root => true,
            Rights::Read | Rights::Write => !self.secrets.contains(&attribute_type),
            Rights::Public => false,
        }
    }

    /// Does a filter ask for what may not be read: a secret, what secrets are kinds of, or any attribute that there is?
    pub fn asks_for_hidden(&self, rights: Rights, schema: &Schema, filter: &Filter<'_>) -> bool {
        rights < Rights::Root
            && filter.mentions(&|description| {
                let (name, _) = split_options(description);
                let kinds = schema.find_type(name).map(|id| schema.subtypes(id));
                description.is_empty()
                    || kinds.is_some_and(|kinds| kinds.iter().any(|id| self.secrets.contains(id)))
            })
    }

    /// May entries of the directory be looked at?
    #[inline]
    pub fn may_search(&self, rights: Rights) -> bool {
        rights >= Rights::Read
    }

    /// May entries be added, changed and deleted?
    #[inline]
    pub fn may_write(&self, rights: Rights) -> bool {
        rights >= Rights::Write
    }
}
