//! Bind (RFC 4511 section 4.2, RFC 4513 section 5): who the client is. By a name and a password, or by SASL.
//!
//! Runs where reads run, at a read point: a bind changes the session and nothing else. A failed bind is as expensive as a good one with the same
//! stored value, and its answer says nothing about which of name and password was wrong.

mod account;
mod context;
mod lookup;
mod renewal;
mod sasl;
mod scram;
mod token;

pub(crate) use self::lookup::Known;
use self::lookup::{Outcome, dn_of};
use self::sasl::{Claim, Proof, Step};
pub(crate) use self::sasl::{Exchange, MECHANISMS};
use crate::access::Requester;
use crate::certificate_identity;
use crate::context::Reading;
use crate::control::proxied_authorization;
use crate::faults::holes;
use crate::identity::Identity;
use crate::outcome::{self, FixedRefusal};
use crate::own_entry::OwnEntry;
use crate::password;
use crate::peer_identity;
use crate::policy;
use crate::session::security;
use ::access::AuthMethod;
use env::net::PeerAddress;
use env::planted;
use model::ResultCode;
use proto::LdapResult;
use proto::control::password_policy::{self, PolicyError, PolicyResponse, Warning};
use proto::control::{Control, netscape_password};
use proto::op::bind::{Authentication, Bind, BindResponse};
use proto::sasl::oauth_bearer::INVALID_TOKEN;
use proto::tag::BIND_RESPONSE;
use store::EntryRef;

/// The only version that is spoken.
const VERSION: u8 = 3;

/// What of a session a bind looks at and changes.
pub(crate) struct Binding<'s> {
    pub(crate) identity: &'s mut Identity,
    /// A SASL exchange that is in progress.
    pub(crate) exchange: &'s mut Option<Exchange>,
    /// What is known of the client without a bind.
    pub(crate) known: Known<'s>,
    /// Whether the client wants to know what the password policy says.
    pub(crate) asks_policy: bool,
}

/// One answer for every way to fail, so that nobody learns which entries exist.
const WRONG: FixedRefusal = (ResultCode::InvalidCredentials, "");

/// Answers a bind, and returns the code; `None` if it lacks a verification and is to be run again. Whatever comes of it, the session is no
/// longer who it was (RFC 4511 section 4.2.1).
/// Searches and transactions of the session were ended by the caller.
pub(crate) fn run(
    reading: &mut Reading<'_>,
    binding: Binding<'_>,
    id: i32,
    request: &Bind<'_>,
    out: &mut Vec<u8>,
) -> Option<ResultCode> {
    let Binding { identity, exchange, known, asks_policy } = binding;
    // Whether a password may be verified is decided for anonymous: who binds is not known yet.
    if !planted::is(holes::IDENTITY_KEPT) {
        *identity = Identity::anonymous();
    }
    // Also of a bind that fails: the session goes on as anonymous, and needs a class for that.
    let security = reading.security;
    reading.classify(identity, security);
    let anonymous = identity.requester();
    // Nothing that a policy said of another bind.
    reading.scratch.passwords.verdict = password::policies::Verdict::default();
    // Whatever comes, a former exchange is gone on with or over.
    let former = exchange.take();
    let done = authenticate(reading, (anonymous, known), former.clone(), request);
    if reading.scratch.passwords.lacks() {
        // It is run again, and answered then.
        *exchange = former;
        return None;
    }
    // A try that came to nothing is none.
    reading.scratch.passwords.tried = None;
    let done = reading.scratch.passwords.refusal().map_or(done, Err);
    // An answer without anything in it says that there is a policy, and that it has nothing to say.
    let response = reading.scratch.passwords.verdict.response;
    let (value, seconds) = (response.encode(), seconds_left(response));
    let said = match asks_policy {
        true => Some(password_policy::control(&value)),
        false if response == PolicyResponse::default() || !reading.dsa.policies.choices().netscape => None,
        false => unasked(response, &seconds),
    };
    match done {
        Ok(Outcome::Bound(mut who, proof)) => {
            who.must_change = reading.scratch.passwords.verdict.must_change;
            reading.classify(&mut who, security);
            *identity = who;
            let result = LdapResult::new(ResultCode::Success);
            let server_sasl_credentials = proof.as_deref();
            BindResponse { result, server_sasl_credentials }.encode(out, id, said.as_slice());
            Some(ResultCode::Success)
        }
        Err((code, text)) => {
            outcome::say_with(out, id, BIND_RESPONSE, (code, text), said.as_slice());
            Some(code)
        }
        Ok(Outcome::GoOn(begun, challenge)) => {
            *exchange = Some(begun);
            let result = LdapResult::new(ResultCode::SaslBindInProgress);
            BindResponse { result, server_sasl_credentials: Some(&challenge) }.encode(out, id, &[]);
            Some(ResultCode::SaslBindInProgress)
        }
        Ok(Outcome::Failed(message)) => {
            let result = LdapResult::new(ResultCode::InvalidCredentials);
            BindResponse { result, server_sasl_credentials: Some(message) }.encode(out, id, said.as_slice());
            Some(ResultCode::InvalidCredentials)
        }
    }
}

/// Seconds until the password expires, if that is what the policy says.
/// As text, for that is what the control has; empty mostly, which allocates nothing.
fn seconds_left(response: PolicyResponse) -> String {
    match response.warning {
        Some(Warning::Expires(seconds)) => seconds.to_string(),
        Some(Warning::Grace(_)) | None => String::new(),
    }
}

/// What a client is answered that did not ask what the policy says.
/// A lock is no matter of these controls. An answer that says nothing is the usual one: a client that asks for no policy need not know that
/// there is one.
fn unasked(response: PolicyResponse, seconds: &str) -> Option<Control<'_>> {
    match (response.error, response.warning) {
        (Some(PolicyError::Expired | PolicyError::MustChange), _) | (None, Some(Warning::Grace(_))) => {
            Some(netscape_password::expired())
        }
        (None, Some(Warning::Expires(_))) => Some(netscape_password::expiring(seconds.as_bytes())),
        _ => None,
    }
}

/// By which method a client shows who it is. The version is looked at first: what else stands in the request of another one is not known.
fn authenticate(
    reading: &mut Reading<'_>,
    (anonymous, known): (Requester, Known<'_>),
    former: Option<Exchange>,
    request: &Bind<'_>,
) -> Result<Outcome, FixedRefusal> {
    if request.version != VERSION {
        return Err((ResultCode::ProtocolError, "this server speaks LDAP version 3 only"));
    }
    match request.authentication {
        Authentication::Simple(password) => {
            let found = simple(reading, anonymous, request.name, password)?;
            Ok(Outcome::Bound(found, None))
        }
        // The name has no meaning (RFC 4511 section 4.2).
        Authentication::Sasl { mechanism, credentials } => {
            let now_ns = reading.now.monotonic_ns;
            // Whether a mechanism can be used depends on them, from one step to the next.
            let schemes = reading.dsa.policies.schemes();
            let served = (&reading.dsa.config, &schemes[..], reading.security);
            match sasl::step(served, now_ns, former, mechanism, credentials)? {
                Step::Challenge(exchange) => Ok(Outcome::GoOn(exchange, Vec::new())),
                Step::Claimed(claim) => {
                    let found = claimed(reading, (anonymous, known), (mechanism, claim))?;
                    Ok(Outcome::Bound(found, None))
                }
                Step::Token { exchange, message } => by_token(reading, mechanism, exchange, message),
                Step::Context { exchange, message } => by_context(reading, mechanism, exchange, message),
                Step::Scram { exchange, is_plus, message } => {
                    let steps = (exchange, is_plus, message);
                    by_scram(reading, (anonymous, known), mechanism, steps)
                }
            }
        }
        Authentication::Unknown(_) => {
            let text = "this authentication method is not known; bind with a DN and its password";
            Err((ResultCode::AuthMethodNotSupported, text))
        }
    }
}

/// A simple bind (RFC 4513 section 5.1): anonymous, unauthenticated, or by name and password.
///
/// # Errors
/// Code and text of the answer: one for all that is wrong with name and password.
fn simple(
    reading: &mut Reading<'_>,
    anonymous: Requester,
    name: &[u8],
    password: &[u8],
) -> Result<Identity, FixedRefusal> {
    // RFC 4513 section 5.1.2: a name without a password is an unauthenticated bind. Clients that forget to check a password send it, so it
    // is refused by default, as the RFC asks for.
    match (name.is_empty(), password.is_empty()) {
        // Nothing is looked up: the password was seen on its way, whatever it is worth.
        (_, false) if !reading.security.admits_password() => Err(security::IN_THE_CLEAR),
        (true, true) => Ok(Identity::anonymous()),
        (false, true) => {
            let text = "a bind with a DN needs a password; for an anonymous bind leave the DN empty too";
            Err((ResultCode::UnwillingToPerform, text))
        }
        (true, false) => Err(WRONG),
        (false, false) => prove(reading, anonymous, name, password).ok_or_else(|| why_wrong(reading, name)),
    }
}

/// What a simple bind is answered that proved nothing. A name that is no DN is nobody's secret: a client that sends one learns it.
fn why_wrong(reading: &Reading<'_>, name: &[u8]) -> FixedRefusal {
    match reading.dsa.shard.schema().normalise_dn(name, &mut Vec::new()) {
        Ok(()) => WRONG,
        Err(_) => (ResultCode::InvalidDnSyntax, "the name of a simple bind is a DN, and this is none"),
    }
}

/// Who a client is by what it says in a SASL exchange, and as whom it acts.
fn claimed(
    reading: &mut Reading<'_>,
    (anonymous, known): (Requester, Known<'_>),
    (mechanism, claim): (&[u8], Claim<'_>),
) -> Result<Identity, FixedRefusal> {
    let found = match claim.proof {
        Proof::LowerLayer => match (known.certificate, known.address) {
            (Some(certificate), _) => certificate_identity::identity_of(reading, certificate),
            (None, Some(PeerAddress::Unix(credentials))) => peer_identity::identity_of(reading, credentials),
            (None, _) => None,
        },
        Proof::Password { name, password } => {
            let dn = dn_of(reading, name);
            // It may be a DN without the prefix. A name that nobody has is judged like any that cannot be found.
            let name = dn.as_deref().unwrap_or(name);
            // The request does not name the account; its turn among those that wait is that of its own.
            reading.scratch.passwords.account = Some(reading.dsa.account(name));
            prove(reading, anonymous, name, password)
        }
    };
    let is_password = matches!(claim.proof, Proof::Password { .. });
    let found = found.filter(|who| is_password || is_open(reading, who));
    acting(reading, mechanism, found.ok_or(WRONG)?, claim.authorization_id)
}

/// Is the account of somebody open who has proved who it is without a password? Who it is by that is not for a policy to say, but an account that
/// an administrator has locked or that has ended is nobody's. The root DN is never locked.
fn is_open(reading: &mut Reading<'_>, who: &Identity) -> bool {
    let entry = who.own_entry(reading.read_point).filter(|_| !who.is_root);
    entry.is_none_or(|entry| policy::is_open(reading, &entry))
}

/// A step of SCRAM: the first if nothing was kept of one, else the last.
/// Not every failure is the same: of a message that is none its client learns what is wrong with it.
fn by_scram(
    reading: &mut Reading<'_>,
    (anonymous, known): (Requester, Known<'_>),
    mechanism: &[u8],
    (mut exchange, is_plus, message): (Exchange, bool, &[u8]),
) -> Result<Outcome, FixedRefusal> {
    let Some(begun) = exchange.scram.take() else {
        return match scram::begin(reading, known, is_plus, message) {
            Ok((begun, challenge)) => {
                exchange.scram = Some(Box::new(begun));
                Ok(Outcome::GoOn(exchange, challenge))
            }
            Err(scram::Failed::Refused(refusal)) => Err(refusal),
            Err(scram::Failed::Said(message)) => Ok(Outcome::Failed(message)),
        };
    };
    let found = scram::finish(reading, anonymous, &begun, message);
    let acting = found.and_then(|found| {
        let who = acting(reading, mechanism, found.who, &found.authorization_id).ok()?;
        Some(Outcome::Bound(who, Some(found.said)))
    });
    Ok(acting.unwrap_or(Outcome::Failed(scram::INVALID_PROOF)))
}

/// Judges a token: who the client is, and as whom it acts, or the challenge that says that it is nobody, whatever is wrong.
/// The answer of the client to that is the end of the exchange.
fn by_token(
    reading: &mut Reading<'_>,
    mechanism: &[u8],
    mut exchange: Exchange,
    message: &[u8],
) -> Result<Outcome, FixedRefusal> {
    let shown = token::read(message)?;
    let owner = token::owner_of(reading, shown.token).filter(|owner| is_open(reading, owner));
    let who = owner.and_then(|owner| acting(reading, mechanism, owner, &shown.authorization_id).ok());
    exchange.has_failed = who.is_none();
    Ok(match who {
        Some(who) => Outcome::Bound(who, None),
        None => Outcome::GoOn(exchange, INVALID_TOKEN.to_vec()),
    })
}

/// Passes a message on to a security context: who the client is by it, and as whom it acts, if it stands by now.
fn by_context(
    reading: &mut Reading<'_>,
    mechanism: &[u8],
    mut exchange: Exchange,
    message: &[u8],
) -> Result<Outcome, FixedRefusal> {
    match context::step(reading, exchange.context.as_ref(), message).ok_or(WRONG)? {
        context::Stepped::GoOn(kept, challenge) => {
            exchange.context = Some(kept);
            Ok(Outcome::GoOn(exchange, challenge))
        }
        context::Stepped::Proven(who, authorization_id) => {
            let who = Some(who).filter(|who| is_open(reading, who)).ok_or(WRONG)?;
            Ok(Outcome::Bound(acting(reading, mechanism, who, &authorization_id)?, None))
        }
    }
}

/// Somebody who has proved who it is by a mechanism, as whom it wants to act.
fn acting(
    reading: &mut Reading<'_>,
    mechanism: &[u8],
    mut found: Identity,
    authorization_id: &[u8],
) -> Result<Identity, FixedRefusal> {
    found.auth = AuthMethod::Sasl(String::from_utf8_lossy(mechanism).to_ascii_uppercase());
    if authorization_id.is_empty() {
        return Ok(found);
    }
    // Whose password must be changed before anything else does not act as anybody.
    if reading.scratch.passwords.verdict.must_change {
        return Err(WRONG);
    }
    let security = reading.security;
    reading.classify(&mut found, security);
    let acting =
        proxied_authorization::authorize(reading, (&found, security), authorization_id).ok_or(WRONG)?;
    // No longer than it could have acted itself.
    Ok(Identity { until_ms: found.until_ms, ..acting })
}

/// Who has this name and this password? Whatever is wrong takes the time of one verification.
/// The tries of an account that has failed too often are wrong, whatever they are.
fn prove(reading: &mut Reading<'_>, anonymous: Requester, name: &[u8], password: &[u8]) -> Option<Identity> {
    let (dsa, now_ns) = (reading.dsa, reading.now.monotonic_ns);
    let failures = &dsa.failed_binds;
    let is_recent = failures.are_recent(now_ns);
    let passwords = &mut reading.scratch.passwords;
    let is_throttled =
        passwords.is_given_up(|| is_recent && failures.is_throttled(dsa.account(name), now_ns));
    let found = match is_throttled {
        true => {
            verify_for_nobody(reading, name, password, false);
            None
        }
        false => find(reading, anonymous, name, password),
    };
    match &found {
        _ if reading.scratch.passwords.lacks() || reading.scratch.passwords.refusal().is_some() => {}
        Some(_) if is_recent => failures.succeeded(dsa.account(name)),
        Some(_) => {}
        // A try that was not looked at makes nothing worse.
        None if is_throttled => {}
        None => failures.failed(dsa.account(name), now_ns),
    }
    found
}

/// The work of a verification for a name that has no password, in a form that the directory has.
/// What it comes to is not looked at. A refusal of the pool is the same as of a name that has a password. `is_absent`: no entry was looked at for a
/// password.
fn verify_for_nobody(reading: &mut Reading<'_>, name: &[u8], password: &[u8], is_absent: bool) {
    let dsa = reading.dsa;
    // Once is enough.
    if reading.scratch.passwords.has_outcomes() || planted::is(holes::NOBODY_NOT_VERIFIED) {
        return;
    }
    // There is one at least: the parser takes no empty list.
    let scheme = dsa.policies.schemes()[0];
    let (account, now_ns) = (dsa.account(name), reading.now.monotonic_ns);
    let (form, sample) = dsa.password_forms.pick(reading.read_point, scheme, account, now_ns);
    // Of fast schemes this takes a part of the time that shows.
    let entry = sample.and_then(|id| reading.read_point.entry(id));
    policy::look_at(reading, entry.as_ref(), account);
    if is_absent && let Some(entry) = &entry {
        std::hint::black_box(password::is_there(reading.read_point, entry));
    }
    // Whatever comes of it, or later.
    let _ = reading.scratch.passwords.verify(&form, password);
}

/// Who has this name and this password?
/// The root DN works without an entry, so that an administrator gets in where the directory is empty or damaged.
/// The right to be verified is asked last, of one whose password was right.
fn find(reading: &mut Reading<'_>, anonymous: Requester, name: &[u8], password: &[u8]) -> Option<Identity> {
    let dsa = reading.dsa;
    let is_root = dsa.is_root(name);
    if is_root && let Some(stored) = &dsa.config.root_password {
        // An entry of that name may be there, but its passwords are not those of the root DN.
        return reading.scratch.passwords.verify(stored, password).ok()?.then(|| dsa.root());
    }
    let read_point = reading.read_point;
    let cache = &mut reading.scratch.evaluator.cache;
    let found = read_point.resolve(name, cache).ok().and_then(|id| read_point.entry(id));
    let is_absent = found.is_none();
    let Some(entry) = found.filter(|entry| password::is_there(read_point, entry)) else {
        verify_for_nobody(reading, name, password, is_absent);
        return None;
    };
    // Referral objects and aliases have no password of their own that counts: their names are looked up like any other.
    // The value that was right is kept, for it may be one that is to be renewed. A bind that is refused for another reason renews nothing.
    let mut proven = None;
    let found = account::identified(reading, anonymous, &entry, is_root, |reading, may_recall| {
        proven = right_value(reading, &entry, password, may_recall)?;
        Ok(proven.is_some())
    });
    if let (Some(_), Some((stored, how))) = (&found, &proven) {
        match how {
            // It is no password that could be renewed or remembered.
            How::OneTime(step) => {
                let is_first = dsa.policies.one_times.take(OwnEntry::of(&entry), *step, reading.now.wall_ms);
                return found.filter(|_| is_first);
            }
            How::Recalled => {}
            How::Verified => {
                let (verified, now_ns) = (&dsa.policies.verified, reading.now.monotonic_ns);
                verified.remember(&entry, (stored, password), now_ns, |key| dsa.entropy().fill(key));
            }
        }
        renewal::renew(reading, &entry, stored, password);
    }
    found
}

/// How it is known that a password is right.
#[derive(Clone, Copy)]
enum How {
    Verified,
    /// From before.
    Recalled,
    /// With the one-time code of this step, which is to be taken.
    OneTime(u64),
}

/// The stored value of an entry that a password is right for. It may be known from before if `may_recall`.
fn right_value(
    reading: &mut Reading<'_>,
    entry: &EntryRef<'_>,
    password: &[u8],
    may_recall: bool,
) -> Result<Option<(Vec<u8>, How)>, password::Later> {
    let (verified, now_ns) = (&reading.dsa.policies.verified, reading.now.monotonic_ns);
    if may_recall && let Some(value) = verified.find(reading.read_point, entry, password, now_ns) {
        return Ok(Some((value, How::Recalled)));
    }
    let (passwords, now_ms) = (&mut reading.scratch.passwords, reading.now.wall_ms);
    if let Some(right) = passwords.find_one_time(reading.read_point, entry, password, now_ms)? {
        let (one_times, started_ms) = (&reading.dsa.policies.one_times, reading.dsa.config.started_ms);
        let is_new = one_times.is_new(OwnEntry::of(entry), right.step, started_ms);
        return Ok(is_new.then_some((right.stored, How::OneTime(right.step))));
    }
    let found = passwords.find(reading.read_point, entry, password)?;
    Ok(found.map(|value| (value, How::Verified)))
}

#[cfg(test)]
mod tests {
    use crate::system::tests::{Fixture, ROOT_DN};
    use model::ResultCode::*;
    use proto::op::bind::Authentication;

    #[test]
    fn anonymous() {
        let mut fixture = Fixture::new();
        assert_eq!(fixture.bind("", "").code, Success);
        assert!(!fixture.identity.is_somebody());
    }

    #[test]
    fn the_root_dn_need_not_be_an_entry() {
        let mut fixture = Fixture::empty();
        assert_eq!(fixture.bind("CN=Admin, DC=com", "secret").code, Success);
        assert_eq!((fixture.identity.is_root, &fixture.identity.dn[..]), (true, ROOT_DN.as_bytes()));
    }

    #[test]
    fn only_the_password_of_the_configuration_binds_as_the_root_dn() {
        let mut fixture = Fixture::new();
        let admin = [("objectClass", &["person"][..]), ("sn", &["Min"]), ("userPassword", &["other"])];
        assert_eq!(fixture.add(ROOT_DN, &admin).code, Success);
        assert_eq!(fixture.bind(ROOT_DN, "other").code, InvalidCredentials);
        assert_eq!(fixture.bind(ROOT_DN, "secret").code, Success);
        assert!(fixture.identity.is_root);
    }

    #[test]
    fn users_are_known_by_their_canonical_dn() {
        let mut fixture = Fixture::new();
        assert_eq!(fixture.bind("UID=Ann,DC=COM", "secret").code, Success);
        assert_eq!((fixture.identity.is_root, &fixture.identity.dn[..]), (false, &b"uid=ann,dc=com"[..]));
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
            ("", "secret"),
        ];
        let answers = wrong.map(|(dn, password)| {
            fixture.bind(ROOT_DN, "secret");
            let answer = fixture.bind(dn, password);
            assert!(!fixture.identity.is_somebody(), "{dn}");
            answer
        });
        assert_eq!(answers[0].code, InvalidCredentials);
        assert!(answers.iter().all(|answer| *answer == answers[0]));
    }

    /// P7: only a name that is no DN is answered otherwise.
    #[test]
    fn test_p7_a_name_that_is_no_dn() {
        let mut fixture = Fixture::new();
        fixture.bind(ROOT_DN, "secret");
        let answer = fixture.bind("nonsense", "secret");
        assert_eq!(answer.code, InvalidDnSyntax);
        assert!(!answer.text.contains("nonsense"), "people type passwords there");
        assert!(!fixture.identity.is_somebody());
    }

    #[test]
    fn a_dn_without_password_is_refused() {
        let mut fixture = Fixture::new();
        assert_eq!(fixture.bind("uid=ann,dc=com", "").code, UnwillingToPerform);
        assert!(!fixture.identity.is_somebody());
    }

    #[test]
    fn versions_and_methods() {
        let mut fixture = Fixture::new();
        let simple = Authentication::Simple(b"secret");
        assert_eq!(fixture.authenticate(2, ROOT_DN, simple).code, ProtocolError);
        assert!(!fixture.identity.is_somebody());
        assert_eq!(fixture.authenticate(3, "", Authentication::Unknown(0x85)).code, AuthMethodNotSupported);
    }
}
