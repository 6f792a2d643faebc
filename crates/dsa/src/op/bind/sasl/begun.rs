//! What a session keeps of SCRAM between its two steps. None of it is a secret of the server.

use crate::own_entry::OwnEntry;

/// An exchange whose first step was answered.
#[derive(Clone)]
pub(in crate::op::bind) struct Begun {
    /// Who the client says that it is: a DN, or what leads to none.
    pub(in crate::op::bind) name: Vec<u8>,
    pub(in crate::op::bind) who: Who,
    pub(in crate::op::bind) authorization_id: Vec<u8>,
    /// What the final message must say of the channel.
    pub(in crate::op::bind) bindings: Vec<Vec<u8>>,
    pub(in crate::op::bind) nonce: Vec<u8>,
    pub(in crate::op::bind) first_bare: Vec<u8>,
    pub(in crate::op::bind) server_first: Vec<u8>,
}

/// Whose keys are asked for.
#[derive(Clone, Copy)]
pub(in crate::op::bind) enum Who {
    Entry(OwnEntry),
    /// The root DN by the password of the configuration.
    Root,
    Nobody,
}
