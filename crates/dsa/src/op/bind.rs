//! Bind (RFC 4511 section 4.2, RFC 4513 section 5.1): who the client is. Simple authentication only.
//!
//! Runs where reads run, at a read point: a bind changes the session and nothing else. A failed bind is as expensive as a good one with the same
//! stored value, and its answer says nothing about which of name and password was wrong.

use crate::context::Reading;
use crate::identity::Identity;
use crate::outcome::{self, FixedRefusal};
use crate::session::security::{self, Security};
use model::ResultCode;
use proto::op::bind::{Authentication, Bind};
use proto::tag::BIND_RESPONSE;

/// The only version that is spoken.
const VERSION: u8 = 3;

/// Answers a bind. Whatever comes of it, the session is no longer who it was (RFC 4511 section 4.2.1).
/// Searches and transactions of the session were ended by the caller.
pub(crate) fn run(
    reading: &mut Reading<'_>,
    (identity, security): (&mut Identity, Security),
    id: i32,
    request: &Bind<'_>,
    out: &mut Vec<u8>,
) {
    *identity = reading.dsa.anonymous();
    match authenticate(reading, security, request) {
        Ok(who) => {
            *identity = who;
            outcome::succeed(out, id, BIND_RESPONSE);
        }
        Err((code, text)) => outcome::say(out, id, BIND_RESPONSE, code, text),
    }
}

fn authenticate(
    reading: &mut Reading<'_>,
    security: Security,
    request: &Bind<'_>,
) -> Result<Identity, FixedRefusal> {
    if request.version != VERSION {
        return Err((ResultCode::ProtocolError, "this server speaks LDAP version 3 only"));
    }
    let password = match request.authentication {
        Authentication::Simple(password) => password,
        Authentication::Sasl { .. } => {
            let text = "SASL is not offered; bind with a DN and its password (simple authentication)";
            return Err((ResultCode::AuthMethodNotSupported, text));
        }
        Authentication::Unknown(_) => {
            let text = "this authentication method is not known; bind with a DN and its password";
            return Err((ResultCode::AuthMethodNotSupported, text));
        }
    };
    // RFC 4513 section 5.1.2: a name without a password is an unauthenticated bind. Clients that forget to check a password send it, so it
    // is refused by default, as the RFC asks for.
    match (request.name.is_empty(), password.is_empty()) {
        // Nothing is looked up: the password was seen on its way, whatever it is worth.
        (_, false) if !security.admits_password() => Err(security::IN_THE_CLEAR),
        (true, true) => Ok(reading.dsa.anonymous()),
        (false, true) => {
            let text = "a bind with a DN needs a password; for an anonymous bind leave the DN empty too";
            Err((ResultCode::UnwillingToPerform, text))
        }
        // One answer for every way to fail, so that nobody learns which entries exist.
        (true, false) => Err((ResultCode::InvalidCredentials, "")),
        (false, false) => prove(reading, request.name, password).ok_or((ResultCode::InvalidCredentials, "")),
    }
}

/// Who has this name and this password?
/// The root DN works without an entry, so that an administrator gets in where the directory is empty or damaged.
fn prove(reading: &mut Reading<'_>, name: &[u8], password: &[u8]) -> Option<Identity> {
    let dsa = reading.dsa;
    let is_root = dsa.is_root(name);
    if is_root && let Some(stored) = &dsa.config.root_password {
        // An entry of that name may be there, but its passwords are not those of the root DN.
        return reading.scratch.passwords.verify(stored, password).then(|| dsa.root());
    }
    let read_point = reading.read_point;
    let cache = &mut reading.scratch.evaluator.cache;
    let entry = read_point.entry(read_point.resolve(name, cache).ok()?)?;
    // Referral objects and aliases have no password of their own that counts: their names are looked up like any other.
    reading.scratch.passwords.find(read_point, &entry, password)?;
    Some(dsa.identity_of(read_point, &entry, cache))
}

#[cfg(test)]
mod tests {
    use crate::access::Rights;
    use crate::system::tests::{Fixture, ROOT_DN};
    use model::ResultCode::*;
    use proto::op::bind::Authentication;

    #[test]
    fn anonymous() {
        let mut fixture = Fixture::new();
        assert_eq!(fixture.bind("", "").code, Success);
        assert_eq!((fixture.identity.rights, fixture.identity.dn.len()), (Rights::Public, 0));
    }

    #[test]
    fn the_root_dn_need_not_be_an_entry() {
        let mut fixture = Fixture::empty();
        assert_eq!(fixture.bind("CN=Admin, DC=com", "secret").code, Success);
        assert_eq!((fixture.identity.rights, &fixture.identity.dn[..]), (Rights::Root, ROOT_DN.as_bytes()));
    }

    #[test]
    fn only_the_password_of_the_configuration_binds_as_the_root_dn() {
        let mut fixture = Fixture::new();
        let admin = [("objectClass", &["person"][..]), ("sn", &["Min"]), ("userPassword", &["other"])];
        assert_eq!(fixture.add(ROOT_DN, &admin).code, Success);
        assert_eq!(fixture.bind(ROOT_DN, "other").code, InvalidCredentials);
        assert_eq!(fixture.bind(ROOT_DN, "secret").code, Success);
        assert_eq!(fixture.identity.rights, Rights::Root);
    }

    #[test]
    fn users_are_known_by_their_canonical_dn() {
        let mut fixture = Fixture::new();
        assert_eq!(fixture.bind("UID=Ann,DC=COM", "secret").code, Success);
        assert_eq!(
            (fixture.identity.rights, &fixture.identity.dn[..]),
            (Rights::Read, &b"uid=ann,dc=com"[..])
        );
    }

    #[test]
    fn every_failure_looks_the_same_and_leaves_nobody_bound() {
        let mut fixture = Fixture::new();
        let wrong = [
            (ROOT_DN, "wrong"),
            ("uid=ann,dc=com", "wrong"),
            ("uid=nobody,dc=com", "secret"),
            ("dc=com", "secret"),
            ("dc=org", "secret"),
            ("cn=Monitor", "secret"),
            ("nonsense", "secret"),
            ("", "secret"),
        ];
        let answers = wrong.map(|(dn, password)| {
            fixture.bind(ROOT_DN, "secret");
            let answer = fixture.bind(dn, password);
            assert_eq!(fixture.identity, fixture.dsa.anonymous(), "{dn}");
            answer
        });
        assert_eq!(answers[0].code, InvalidCredentials);
        assert!(answers.iter().all(|answer| *answer == answers[0]));
    }

    #[test]
    fn a_dn_without_password_is_refused() {
        let mut fixture = Fixture::new();
        assert_eq!(fixture.bind("uid=ann,dc=com", "").code, UnwillingToPerform);
        assert_eq!(fixture.identity.rights, Rights::Public);
    }

    #[test]
    fn versions_and_methods() {
        let mut fixture = Fixture::new();
        let simple = Authentication::Simple(b"secret");
        assert_eq!(fixture.authenticate(2, ROOT_DN, simple).code, ProtocolError);
        assert_eq!(fixture.identity.rights, Rights::Public);
        let sasl = Authentication::Sasl { mechanism: b"PLAIN", credentials: None };
        assert_eq!(fixture.authenticate(3, "", sasl).code, AuthMethodNotSupported);
        assert_eq!(fixture.authenticate(3, "", Authentication::Unknown(0x85)).code, AuthMethodNotSupported);
    }
}
