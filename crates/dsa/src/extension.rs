//! What an extended operation tells of itself, in its own file: `op/extended.rs` lists them all, and all that depends on which
//! operation it is reads this.
//! Each operation is a row: proto has its name and encoding, dsa what it does.

use crate::context::Reading;
use crate::effective::Effective;
use crate::identity::Identity;
use crate::outcome::FixedRefusal;
use crate::session::security::Security;
use proto::message::{Reply, Response};
use proto::{LdapResult, Outline};

/// An extended operation.
pub(crate) struct Extension {
    pub(crate) oid: &'static [u8],
    /// OIDs of the controls that it knows, besides those that mean nothing to any operation. One that knows
    /// `transaction_specification` may belong to a transaction.
    pub(crate) controls: &'static [&'static [u8]],
    pub(crate) role: Role,
}

/// What an extended operation has to do with updates.
pub(crate) enum Role {
    /// It changes nothing, and is answered at once.
    Reads(fn(&Identity, i32, Option<&[u8]>, &mut Vec<u8>)),
    /// It secures the connection, and changes the session only.
    Secures(Secures),
    /// It ends an operation of the session.
    Cancels,
    /// It begins or ends a transaction.
    Bounds(Bound),
    /// It changes an entry.
    Writes(Writes),
}

/// The begin and the end of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    Start,
    End,
}

/// How an extended operation comes to a change of an entry.
#[derive(Clone, Copy)]
pub(crate) struct Writes {
    /// Name of the entry that a request value is about, found at a read point; `None` if it is about the client's own, or nobody has
    /// the name. In a transaction, [`Writes::prepare`] looks at the overlay, which has these two entries and no index to find another.
    pub(crate) target: Target,
    /// Works out what a request comes to at a read point, for an identity that may do it. Its arguments: the message id, the value, and
    /// what [`Writes::target`] found if that was asked.
    pub(crate) prepare: Prepare,
    /// Appends the answer to a request with this message id that is refused, if that has more than code and text.
    pub(crate) refuse: Option<fn(i32, FixedRefusal, &mut Vec<u8>)>,
}

/// Admits or refuses a request to secure the connection. Its arguments: what protects it now, message id, value, and what of the session is
/// active and stands against it.
pub(crate) type Secures = fn(&mut Security, i32, Option<&[u8]>, Option<&str>, &mut Vec<u8>);

/// See [`Writes::target`].
pub(crate) type Target =
    fn(&mut Reading<'_>, &Identity, Option<&[u8]>) -> Result<Option<Vec<u8>>, FixedRefusal>;

/// See [`Writes::prepare`].
pub(crate) type Prepare =
    fn(&mut Reading<'_>, &Identity, i32, Option<&[u8]>, Option<&[u8]>) -> Result<Change, FixedRefusal>;

impl Extension {
    /// Does it know a control?
    pub(crate) fn knows(&self, control: &[u8]) -> bool {
        self.controls.contains(&control)
    }

    /// Does it change the directory, or has a say in what does?
    pub(crate) fn is_update(&self) -> bool {
        !matches!(self.role, Role::Reads(_) | Role::Secures(_) | Role::Cancels)
    }
}

/// Appends the answer to a request with this message id, from that of the modify that it came to.
pub(crate) type Answer = Box<dyn Fn(i32, &[u8], &mut Vec<u8>) + Send + Sync>;

/// A change of an entry that is logged as another modify than the client sent, if it sent one at all.
pub(crate) struct Change {
    /// Message id of the request.
    pub(crate) id: i32,
    /// The modify that it comes to, a whole message.
    pub(crate) message: Vec<u8>,
    /// Who asks. It may make this change.
    pub(crate) actor: Identity,
    pub(crate) answer: Answer,
    /// Does it belong to a bind, which has failed if it is not made?
    /// The session is anonymous then, whatever it has been answered.
    pub(crate) is_of_bind: bool,
    /// What must be true of the entry when it is applied ([`crate::parcel::Condition`]), encoded.
    pub(crate) conditions: Vec<u8>,
}

/// Passwords stay out of logs.
impl std::fmt::Debug for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Change").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Change {
    /// Who it is applied as.
    pub(crate) fn effective(&self) -> Effective<'_> {
        Effective::of_change(&self.actor)
    }

    /// Name of the entry that it is about.
    pub(crate) fn dn(&self) -> &[u8] {
        Outline::of(&self.message).expect("it was just encoded").dn
    }

    /// Appends the answer, from that of the modify.
    pub(crate) fn answer(&self, modified: &[u8], out: &mut Vec<u8>) {
        (self.answer)(self.id, modified, out);
    }
}

/// The result in the answer to a modify.
pub(crate) fn result_of(modified: &[u8]) -> LdapResult<'_> {
    let reply = Reply::decode(modified).expect("the agent's own answer");
    match reply.response {
        Response::Done(_, result) => result,
        _ => unreachable!("a modify has a plain answer"),
    }
}
