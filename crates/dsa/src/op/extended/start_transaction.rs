//! Start Transaction (RFC 5805 section 2.1).
//! The identifier is chosen by the server, or by the client where `txn-implicit-begin` allows it. It names a transaction of this session only.

use crate::control::proxied_authorization::refuse;
use crate::engine::Dsa;
use crate::extension::{Bound, Extension, Role};
use crate::identity::Identity;
use crate::outcome::{self, FixedRefusal};
use crate::transaction::{IDENTIFIER_BYTES_MAX, Open, SESSION_TRANSACTIONS_MAX, Transaction, Transactions};
use env::clock::Now;
use model::ResultCode;
use proto::LdapResult;
use proto::control::proxied_authorization;
use proto::ext::start_transaction::OID;
use proto::message::{Message, Request};
use proto::op::extended::{Extended, ExtendedResponse};
use proto::tag::EXTENDED_RESPONSE;

pub(super) const EXTENSION: Extension =
    Extension { oid: OID, controls: &[proxied_authorization::OID], role: Role::Bounds(Bound::Start) };

/// What a begin works on: the transactions of the session, who its client is, and the server's bounds.
pub(crate) struct Begin<'b> {
    pub(crate) transactions: &'b mut Transactions,
    pub(crate) client: &'b Identity,
    pub(crate) dsa: &'b Dsa,
    pub(crate) now: Now,
}

impl Begin<'_> {
    /// Answers a begin by a client, of a transaction whose updates will be applied as `identity`: `None` if the client may not be that.
    /// The answer has the identifier, which all updates of the transaction name.
    pub(crate) fn run(self, message: &Message<'_>, identity: Option<Identity>, out: &mut Vec<u8>) {
        // A proxied begin whose client may not act as that identity.
        let Some(identity) = identity else {
            return refuse(out, message.id, EXTENDED_RESPONSE);
        };
        if matches!(&message.request, Request::Extended(Extended { value: Some(_), .. })) {
            // RFC 5805 section 2.1: the requestValue is absent.
            let text = "the start of a transaction has no request value";
            return outcome::say(out, message.id, EXTENDED_RESPONSE, ResultCode::ProtocolError, text);
        }
        // Unique among those of the session, the aborted ones included: a late update must not end up in another transaction.
        let identifier = self.transactions.new_identifier();
        match self.begin(identifier.clone(), identity) {
            Err((code, text)) => outcome::say(out, message.id, EXTENDED_RESPONSE, code, text),
            Ok(()) => {
                // RFC 5805 section 2.2: the identifier is the response value.
                let result = LdapResult::new(ResultCode::Success);
                ExtendedResponse { result, oid: None, value: Some(&identifier) }.encode(out, message.id, &[]);
            }
        }
    }

    /// Begins a transaction under the identifier that the client chose for it.
    ///
    /// # Errors
    /// Code and text if that cannot be.
    /// A client that chooses identifiers begins one transaction at a time: nothing else distinguishes its updates.
    pub(crate) fn named(self, identifier: &[u8]) -> Result<(), FixedRefusal> {
        if identifier.is_empty() || identifier.len() > IDENTIFIER_BYTES_MAX {
            return Err((ResultCode::ProtocolError, "a transaction identifier has 1 to 64 bytes"));
        }
        if !self.transactions.is_empty() {
            let text = "another transaction of this session is open; end it, or begin this one by a start";
            return Err((ResultCode::Busy, text));
        }
        let identity = self.client.clone();
        self.begin(identifier.to_vec(), identity)
    }

    /// Three bounds: of the session, of the identity and of all.
    fn begin(self, identifier: Vec<u8>, identity: Identity) -> Result<(), FixedRefusal> {
        // Every update would be refused: better now.
        if identity.dn.is_empty() && !identity.is_root {
            return Err((ResultCode::StrongerAuthRequired, "anonymous clients change nothing; bind first"));
        }
        if self.transactions.len() >= SESSION_TRANSACTIONS_MAX {
            return Err((ResultCode::Busy, "the limit of open transactions in a session is reached"));
        }
        // The one that acts as others has one share all the same.
        let open = Open::one_of(&self.dsa.open_transactions, self.dsa.transactions.open_max(), self.client)
            .map_err(|text| (ResultCode::Busy, text))?;
        self.transactions.push(Transaction::new(identifier, identity, self.now.monotonic_ns, open));
        Ok(())
    }
}
