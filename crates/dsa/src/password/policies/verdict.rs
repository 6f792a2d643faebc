//! What a policy said of a request.

use proto::control::password_policy::{PolicyError, PolicyResponse};

/// What a policy has to say beside the result of a request, and what of the state of its account is to be written before the answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    /// For a client that sent the control.
    pub(crate) response: PolicyResponse,
    /// What a bind must have written before it is answered.
    pub(crate) write: Option<Write>,
    /// The password must be changed before anything else.
    pub(crate) must_change: bool,
}

/// A change of the state of an account.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    /// The entry.
    pub(crate) dn: Vec<u8>,
    /// What changes of it.
    pub(crate) changes: Vec<Changed>,
    pub(crate) purpose: Purpose,
    /// An assertion that must be true of the entry, encoded.
    pub(crate) assertion: Option<Vec<u8>>,
}

/// What the state of an account is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It is locked. With the number of the account, whose failures count no more when it is done.
    Lock(u64),
    /// The bind is admitted by it, and has failed if it cannot be done.
    Admit,
    /// The password is stored as new ones are. The bind has succeeded, whatever comes of it.
    Renew,
}

/// A change of a description, with its values.
pub(crate) type Changed = (proto::op::ModifyKind, Vec<u8>, Vec<Vec<u8>>);

impl Verdict {
    /// Why a policy refuses.
    pub(crate) fn of(error: PolicyError) -> Verdict {
        let response = PolicyResponse { error: Some(error), warning: None };
        Verdict { response, ..Verdict::default() }
    }
}
