//! Requests that go on at other servers, by the URLs of a referral and of those that these answer.
//!
//! ```text
//! search   at one place after the other; references of theirs are places, too
//! single   a compare or an update: one server answers it, and an update is sent to one server at most
//! url      what a URL says of the request
//! target   a server, with its connections; question: what it is asked
//! ```
//! Other servers are asked to refer to others and not to ask them, so all that happens is decided here: each place is asked once, and only so many.

mod question;
mod search;
mod single;
mod target;
#[cfg(test)]
mod tests;
mod url;

pub use self::question::{Asking, Followed, Part};
use self::target::Targets;
pub use self::target::{Target, TargetCounts};
use model::ResultCode;
use proto::message::{Message, Request};

/// Asks on, at the servers that `targets` knows.
/// All together has ten seconds ([`CHAIN_SECONDS_MAX`]), but for looking for the address of a host.
pub fn follow<'t>(asking: &Asking<'_>, targets: &Targets<'t>) -> Followed {
    match Message::decode(asking.message).map(|message| message.request) {
        Ok(Request::Search(request)) => search::follow(request, asking, targets),
        Ok(
            request @ (Request::Compare(_)
            | Request::Add(_)
            | Request::Modify(_)
            | Request::Delete(_)
            | Request::ModifyDn(_)),
        ) => single::follow(request, asking, targets),
        _ => Followed::failed(ResultCode::OperationsError, "it is no request that is followed".to_owned()),
    }
}
