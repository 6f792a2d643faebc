//! Transactions (RFC 5805): what a session has open, and what the administrator allows. An update of a transaction is
//! judged when it comes, against the directory and the updates before it, and answered at once; nobody sees it. The end of
//! the transaction is one command, and what it does is decided when it is applied: all of it, or nothing.

mod evaluate;
mod intents;
mod open;
mod settings;
mod view;

pub(crate) use evaluate::{ELSEWHERE, Evaluation};
pub(crate) use intents::{HasPrecedence, Holding, Intents};
pub(crate) use open::{AbortReason, IDENTIFIER_BYTES_MAX, Open, OpenCount, SESSION_TRANSACTIONS_MAX};
pub(crate) use open::{Transaction, Transactions};
pub use settings::{Choices, Precedence, Settings};
pub(crate) use view::View;
