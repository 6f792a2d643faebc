//! Updates for tests, each a delete that another server has sent, and what they are answered.

use dsa::audit::Origin;
use dsa::journal::{Forwarded, Front, Outcome, Returns, Updates, What};
use proto::{Reply, Request, Response};

/// A delete whose outcome goes to `returns`.
pub(crate) fn delete(returns: &Returns) -> Updates {
    delete_of(1, returns)
}

/// The same of one of several clients, which is known by the number.
pub(crate) fn delete_of(number: u64, returns: &Returns) -> Updates {
    let mut messages = Vec::new();
    Request::Delete(b"cn=a").encode(&mut messages, 1, &[]);
    let (what, origin) = (What::Updates, Origin::default());
    let forwarded = Forwarded { what, actor: b"", messages: &messages, conditions: b"", origin };
    Updates::received(&forwarded, Front { node: 7, number }, returns).unwrap()
}

/// The code and the text of each that was refused since the last look.
///
/// # Panics
/// When one was answered otherwise.
pub(crate) fn refusals(returns: &Returns) -> Vec<(u32, String)> {
    let refusal = |(_, outcome)| {
        let Outcome::Refused(answer) = outcome else { panic!("it is refused") };
        let Response::Done(_, result) = Reply::decode(&answer).unwrap().response else { panic!("a delete") };
        (result.code, String::from_utf8(result.diagnostic.to_vec()).unwrap())
    };
    returns.take().into_iter().map(refusal).collect()
}
