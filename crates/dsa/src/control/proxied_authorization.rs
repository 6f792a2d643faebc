//! Proxied authorization (RFC 4370): a request is applied as if another one had sent it. The root DN may act as
//! anybody, those that are configured as anybody but the root DN, all others as themselves. The same holds for the identity that a client of
//! a SASL mechanism asks for.
//! The control names an identity as an authzId (RFC 4513 section 5.2.1.8). Who may use it is configured by name (`proxy-dn`); the root DN may not be
//! assumed by anybody else.

use crate::access::Action;
use crate::context::Reading;
use crate::events::{Event, EventKind};
use crate::faults::holes;
use crate::identity::Identity;
use crate::lookup::find_user;
use crate::outcome;
use crate::session::security::Security;
use ::access::{Operation, Right};
use env::planted;
use model::ResultCode;
use proto::control::proxied_authorization::AuthzId;

/// Who a request is to be applied as. `None` if the client may not act as that one, or there is no such one: which of
/// the two is not reported.
/// Looked up at the read point of the request, so a name that was just deleted is nobody's.
/// The identity that is acted as gets a class of its own, with the client as its real identity: rules may give one
/// who acts for another less than either has.
pub(crate) fn authorize(
    reading: &mut Reading<'_>,
    (client, security): (&Identity, Security),
    authorization_id: &[u8],
) -> Option<Identity> {
    let mut acting = assumed(reading, client, authorization_id)?;
    acting.real = Some(Box::new((client.dn.clone(), client.entry)));
    // How the client has proved who it is; nobody has proved nothing.
    if acting.is_somebody() {
        acting.auth = client.auth.clone();
    }
    reading.classify(&mut acting, security);
    // Who may change everything, or relax the rules anywhere, can be assumed by the root DN only: else the right to act as users would be
    // the right to give oneself any other.
    let (views, class) = (&reading.scratch.views, acting.requester().class);
    let is_mighty = views.writes_all(class) || views.may_somewhere(class, Right::Manage, true);
    let is_own = acting.entry.is_some() && acting.entry == client.entry;
    let is_mighty = is_mighty && !planted::is(holes::MIGHTY_ASSUMED);
    let may = client.is_root || is_own || !is_mighty;
    if may && !is_own {
        note(reading, client, security, &acting);
    }
    may.then_some(acting)
}

/// Notes that a client acts as somebody else.
/// What is refused is no event of its own: the access log has it, with the code that nothing else is answered with.
fn note(reading: &Reading<'_>, client: &Identity, security: Security, acting: &Identity) {
    reading.dsa.events.note_use(reading.now.monotonic_ns, || Event {
        peer: security.client(),
        via: security.via(),
        who: client.dn.clone(),
        name: acting.dn.clone(),
        ..Event::of(EventKind::Proxy, String::new())
    });
}

/// Who a client asks to act as, if it may.
/// It must not be asked by anything but [`authorize`], which holds back the mighty.
fn assumed(reading: &mut Reading<'_>, client: &Identity, authorization_id: &[u8]) -> Option<Identity> {
    let (dsa, read_point, is_root) = (reading.dsa, reading.read_point, client.is_root);
    let evaluator = &mut reading.scratch.evaluator;
    let id = match AuthzId::parse(authorization_id)? {
        // Nobody is no entry that a rule could be about: who may act as somebody may act as nobody.
        AuthzId::Anonymous => {
            let class = client.requester().class;
            return reading.scratch.views.may_somewhere(class, Right::Proxy, false).then(Identity::anonymous);
        }
        AuthzId::Dn(dn) if dsa.is_root(dn) => return is_root.then(|| dsa.root()),
        AuthzId::Dn(dn) => read_point.resolve(dn, &mut evaluator.cache).ok()?,
        AuthzId::User(user) => find_user(&dsa.identities.user(), read_point, evaluator, user)?,
    };
    let entry = read_point.entry(id)?;
    let found = dsa.identity_of(read_point, &entry, &mut evaluator.cache);
    let view = reading.scratch.view(client.requester(), Action::of(Operation::Bind), &entry, read_point);
    // As itself everybody acts.
    let is_own = found.entry.is_some() && found.entry == client.entry;
    let is_own = is_own || planted::is(holes::PROXY_NOT_JUDGED);
    let may = is_own || (!found.is_root && reading.scratch.views.may(view, Right::Proxy));
    (is_root || may).then_some(found)
}

/// How a request is refused whose client may not act as the identity that it names.
pub(crate) const REFUSAL: (ResultCode, &str) =
    (ResultCode::AuthorizationDenied, "this client may not act as this identity, or there is none");

/// Answers that a client may not act as the identity that it names.
#[cold]
pub(crate) fn refuse(out: &mut Vec<u8>, id: i32, response_tag: u8) {
    outcome::say(out, id, response_tag, REFUSAL.0, REFUSAL.1);
}
