//! Proxied authorization (RFC 4370): a request is applied as if another one had sent it. The root DN may act as
//! anybody, those that are configured as anybody but the root DN, all others as themselves. The same holds for the identity that a client of
//! a SASL mechanism asks for.
//! The control names an identity as an authzId (RFC 4513 section 5.2.1.8). Who may use it is configured by name (`proxy-dn`); the root DN may not be
//! assumed by anybody else.

use crate::access::Rights;
use crate::engine::Dsa;
use crate::identity::Identity;
use crate::lookup;
use crate::outcome;
use model::filter::Assertion;
use model::{EntryId, Filter, ResultCode};
use proto::control::proxied_authorization::AuthzId;
use store::ReadPoint;
use store::search::evaluate::Evaluator;

/// The attribute that a user is called by in `u:` forms.
const USER_ATTRIBUTE: &[u8] = b"uid";

/// Who a request is to be applied as. `None` if the client may not act as that one, or there is no such one: which of
/// the two is not reported.
/// Looked up at the read point of the request, so a name that was just deleted is nobody's.
pub(crate) fn authorize(
    dsa: &Dsa,
    read_point: ReadPoint<'_>,
    evaluator: &mut Evaluator,
    client: &Identity,
    authorization_id: &[u8],
) -> Option<Identity> {
    let (is_root, may_proxy) = (client.rights == Rights::Root, dsa.may_proxy(client));
    let id = match AuthzId::parse(authorization_id)? {
        AuthzId::Anonymous => return may_proxy.then(|| dsa.anonymous()),
        AuthzId::Dn(dn) if dsa.is_root(dn) => return is_root.then(|| dsa.root()),
        AuthzId::Dn(dn) => read_point.resolve(dn, &mut evaluator.cache).ok()?,
        AuthzId::User(user) => find_user(read_point, evaluator, user)?,
    };
    let found = dsa.identity_of(read_point, &read_point.entry(id)?, &mut evaluator.cache);
    // As itself everybody acts.
    let is_own = found.entry.is_some() && found.entry == client.entry;
    (is_own || is_root || (may_proxy && found.rights < Rights::Write)).then_some(found)
}

/// The only entry with this uid. There must be an equality index on it: nobody makes the server look through everything.
pub(crate) fn find_user(
    read_point: ReadPoint<'_>,
    evaluator: &mut Evaluator,
    user: &[u8],
) -> Option<EntryId> {
    let filter = Filter::Equality(Assertion { attribute: USER_ATTRIBUTE, value: user });
    lookup::find_one(read_point, evaluator, None, &filter)
}

/// How a request is refused whose client may not act as the identity that it names.
pub(crate) const REFUSAL: (ResultCode, &str) =
    (ResultCode::AuthorizationDenied, "this client may not act as this identity, or there is none");

/// Answers that a client may not act as the identity that it names.
#[cold]
pub(crate) fn refuse(out: &mut Vec<u8>, id: i32, response_tag: u8) {
    outcome::say(out, id, response_tag, REFUSAL.0, REFUSAL.1);
}
