//! SASL (RFC 4511 section 4.2, RFC 4513 section 5.2): the mechanisms, a file each, and the exchange of messages that they share.
//!
//! A mechanism reads what a client says of itself; that is then proven like in any bind. Each client begins. One that sends no credentials
//! waits for the server first, and gets an empty challenge (RFC 4422 section 3.1): so credentials that are absent differ from empty ones. Between
//! the steps of an exchange nothing of it is in force: the client is nobody.

mod begun;
mod external;
mod gssapi;
mod mechanism;
mod oauth_bearer;
mod plain;
mod scram;

pub(super) use self::begun::{Begun, Who};
pub(super) use self::mechanism::{Claim, Proof};
use self::mechanism::{Mechanism, Reads};
use crate::config::Config;
use crate::contexts;
use crate::faults::holes;
use crate::outcome::FixedRefusal;
use crate::session::security::Security;
use ::password::Scheme;
use env::planted;
use model::ResultCode;
use model::limits::{SASL_BYTES_MAX, SASL_SECONDS_MAX, SASL_STEPS_MAX};
use proto::op::bind::{Authentication, Bind};

/// The mechanisms that are known.
pub(crate) const MECHANISMS: &[&Mechanism] = &[
    &external::MECHANISM,
    &scram::MECHANISM_PLUS,
    &scram::MECHANISM,
    &plain::MECHANISM,
    &oauth_bearer::MECHANISM,
    &gssapi::MECHANISM,
];

/// An exchange that waits for the client's next step.
#[derive(Clone)]
pub(crate) struct Exchange {
    mechanism: &'static Mechanism,
    /// Steps that were made.
    steps: u32,
    /// Monotonic time, in ns, of the first.
    since_ns: u64,
    /// What SCRAM keeps between its two.
    pub(in crate::op::bind) scram: Option<Box<Begun>>,
    /// The security context of GSSAPI.
    pub(in crate::op::bind) context: Option<contexts::Kept>,
    /// It has failed already. The client has still to say that it knows.
    pub(in crate::op::bind) has_failed: bool,
}

impl Exchange {
    /// Has its client proved nothing, which a challenge has said?
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Is a bind the end of an exchange that has failed already?
    pub(crate) fn is_ended_by(&self, bind: &Bind<'_>) -> bool {
        let name = self.mechanism.name.as_bytes();
        let is_next = matches!(bind.authentication, Authentication::Sasl { mechanism, .. } if mechanism.eq_ignore_ascii_case(name));
        self.has_failed && is_next
    }
}

/// What comes of a step.
pub(super) enum Step<'a> {
    /// The client is to go on: an empty challenge.
    Challenge(Exchange),
    /// It is to be judged by this.
    Claimed(Claim<'a>),
    /// A message of SCRAM, in this exchange.
    Scram { exchange: Exchange, is_plus: bool, message: &'a [u8] },
    /// A message with a token.
    Token { exchange: Exchange, message: &'a [u8] },
    /// A message for a security context.
    Context { exchange: Exchange, message: &'a [u8] },
}

const UNKNOWN: FixedRefusal = (
    ResultCode::AuthMethodNotSupported,
    "this SASL mechanism is not known; supportedSASLMechanisms of the root DSE lists those that are",
);
const DROPPED: FixedRefusal = (
    ResultCode::AuthMethodNotSupported,
    "no SASL mechanism is named: an exchange that was in progress is dropped",
);
const TOO_MUCH: FixedRefusal = (
    ResultCode::AdminLimitExceeded,
    "the SASL exchange has too many steps, takes too long, or has too long a message",
);

/// Takes a step of a client in an exchange: in the former one if it is of the same mechanism, else in a new one.
///
/// # Errors
/// The refusal, and the exchange is over.
pub(super) fn step<'a>(
    (config, schemes, security): (&Config, &[Scheme], Security),
    now_ns: u64,
    former: Option<Exchange>,
    mechanism: &[u8],
    credentials: Option<&'a [u8]>,
) -> Result<Step<'a>, FixedRefusal> {
    if mechanism.is_empty() {
        return Err(DROPPED);
    }
    let named = |known: &&&'static Mechanism| known.name.as_bytes().eq_ignore_ascii_case(mechanism);
    let mechanism = *MECHANISMS.iter().find(named).ok_or(UNKNOWN)?;
    if !mechanism.is_offered(config, schemes, security.offer()) && !planted::is(holes::MECHANISM_NOT_OFFERED)
    {
        return Err(mechanism.refusal);
    }
    let former = former.filter(|former| former.mechanism.name == mechanism.name);
    if former.as_ref().is_some_and(Exchange::has_failed) {
        return Err((ResultCode::InvalidCredentials, ""));
    }
    let begun =
        Exchange { mechanism, steps: 0, since_ns: now_ns, scram: None, context: None, has_failed: false };
    let mut exchange = former.unwrap_or(begun);
    exchange.steps += 1;
    let seconds = now_ns.saturating_sub(exchange.since_ns) / 1_000_000_000;
    let bytes = credentials.map_or(0, <[u8]>::len);
    if exchange.steps > SASL_STEPS_MAX || seconds > SASL_SECONDS_MAX || bytes > SASL_BYTES_MAX {
        return Err(TOO_MUCH);
    }
    // In a security context there are empty messages, and OpenLDAP's library sends no credentials in the place of one.
    let empty = exchange.context.is_some().then_some(&b""[..]);
    let Some(message) = credentials.or(empty) else { return Ok(Step::Challenge(exchange)) };
    let malformed =
        (ResultCode::InvalidCredentials, "the credentials are not of the form that the mechanism has");
    match mechanism.reads {
        Reads::Claim(read) => read(message).map(Step::Claimed).ok_or(malformed),
        Reads::Scram { is_plus } => Ok(Step::Scram { exchange, is_plus, message }),
        Reads::Token => Ok(Step::Token { exchange, message }),
        Reads::Context => Ok(Step::Context { exchange, message }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ResultCode::*;

    const SECOND: u64 = 1_000_000_000;

    fn take(
        former: Option<Exchange>,
        now_ns: u64,
        mechanism: &str,
        credentials: Option<&[u8]>,
    ) -> Result<Option<Exchange>, ResultCode> {
        let served = (&crate::system::tests::config(), &[][..], Security::INTERNAL);
        match step(served, now_ns, former, mechanism.as_bytes(), credentials) {
            Ok(Step::Challenge(exchange)) => Ok(Some(exchange)),
            Ok(_) => Ok(None),
            Err((code, _)) => Err(code),
        }
    }

    #[test]
    fn an_exchange_has_bounds() {
        let mut exchange = None;
        for _ in 0..SASL_STEPS_MAX {
            exchange = take(exchange, 0, "PLAIN", None).unwrap();
            assert!(exchange.is_some());
        }
        assert_eq!(take(exchange, 0, "PLAIN", None).err(), Some(AdminLimitExceeded));
        let begun = take(None, SECOND, "PLAIN", None).unwrap();
        assert!(take(begun.clone(), (1 + SASL_SECONDS_MAX) * SECOND, "PLAIN", Some(b"\0a\0b")).is_ok());
        assert_eq!(
            take(begun, (2 + SASL_SECONDS_MAX) * SECOND, "PLAIN", Some(b"\0a\0b")).err(),
            Some(AdminLimitExceeded)
        );
        let mut long = vec![b'x'; SASL_BYTES_MAX];
        long[..3].copy_from_slice(b"\0a\0");
        assert!(take(None, 0, "PLAIN", Some(&long)).is_ok());
        long.push(b'x');
        assert_eq!(take(None, 0, "PLAIN", Some(&long)).err(), Some(AdminLimitExceeded));
    }

    #[test]
    fn names_of_mechanisms() {
        assert!(take(None, 0, "plain", Some(b"\0a\0b")).is_ok());
        for (name, code) in [
            ("", AuthMethodNotSupported),
            ("PLAI", AuthMethodNotSupported),
            ("EXTERNAL", InappropriateAuthentication),
        ] {
            assert_eq!(take(None, 0, name, Some(b"")).err(), Some(code), "{name}");
        }
        for (at, mechanism) in MECHANISMS.iter().enumerate() {
            assert!(MECHANISMS[..at].iter().all(|other| other.name != mechanism.name), "one for each name");
        }
        assert_eq!(take(None, 0, "PLAIN", Some(b"a")).err(), Some(InvalidCredentials));
    }

    #[test]
    fn another_mechanism_begins_anew() {
        let mut exchange = None;
        for _ in 0..3 {
            exchange = take(exchange, 0, "PLAIN", None).unwrap();
        }
        assert_eq!(exchange.as_ref().map(|exchange| exchange.steps), Some(3));
        exchange = exchange.map(|exchange| Exchange { mechanism: &external::MECHANISM, ..exchange });
        assert_eq!(take(exchange, 0, "PLAIN", None).unwrap().map(|exchange| exchange.steps), Some(1));
    }
}
