//! Who a session must be: the rules of docs/sasl.md, written down once more without anything that the server has.
//!
//! It knows nothing of how a bind is carried out. What it keeps between two requests is who the client is, and the exchange that is open; whatever
//! else the server keeps makes a difference that is found.

use super::scram::Begun;
use super::{ADA, BOB, CAROL, ROOT_DN, SAM};
use model::ResultCode::{self, *};

/// Steps and seconds of an exchange.
const STEPS_MAX: u32 = 8;
const SECONDS_MAX: u64 = 30;
/// Seconds by which clocks may differ.
const SKEW: u64 = 60;

/// How a client has proved who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Nothing,
    Simple,
    Sasl(Mechanism),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mechanism {
    Plain,
    External,
    Scram,
    ScramPlus,
    Token,
}

impl Mechanism {
    pub(super) fn name(self) -> &'static str {
        match self {
            Mechanism::Plain => "PLAIN",
            Mechanism::External => "EXTERNAL",
            Mechanism::Scram => "SCRAM-SHA-256",
            Mechanism::ScramPlus => "SCRAM-SHA-256-PLUS",
            Mechanism::Token => "OAUTHBEARER",
        }
    }
}

/// Who a session is.
#[derive(Clone, Debug)]
pub(super) struct Who {
    /// Empty: nobody.
    pub(super) dn: &'static str,
    pub(super) by: Method,
    /// Until when, in seconds of the wall clock.
    until_s: Option<u64>,
    must_change: bool,
}

const NOBODY: Who = Who { dn: "", by: Method::Nothing, until_s: None, must_change: false };

/// A proof of a client, as it is sent.
#[derive(Clone, Debug)]
pub(super) enum Said {
    /// No credentials at all.
    Absent,
    /// What the mechanism cannot read.
    Malformed,
    TooLong,
    /// Of PLAIN: who it is, and whether the password is right.
    Password {
        dn: Option<&'static str>,
        is_right: bool,
    },
    /// Of EXTERNAL.
    LowerLayer,
    /// Of OAUTHBEARER: whose token it is, until when it is valid, and whether it was made for this server.
    Token {
        dn: Option<&'static str>,
        expires_s: u64,
        is_ours: bool,
    },
    /// The answer to a challenge that says that a token is not good.
    Dummy,
    First(Begun),
    /// The last message of SCRAM, and whether it is right.
    Last {
        is_right: bool,
    },
}

/// As whom a client wants to act.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    Itself,
    Entry(&'static str),
    Nobody,
    /// Somebody who is not there, or no authzId.
    Unknown,
}

/// What an answer to a bind has besides its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    Nothing,
    Empty,
    InvalidToken,
    InvalidProof,
    UnknownBinding,
    /// The first message of a server of SCRAM.
    Scram,
    /// Its last one.
    Proof,
}

pub(super) type Answer = (ResultCode, Challenge);

#[derive(Clone, Debug)]
struct Exchange {
    mechanism: Mechanism,
    steps: u32,
    since_s: u64,
    scram: Option<(Begun, Wanted)>,
    has_failed: bool,
}

/// A session, and what is below it.
pub(super) struct Model {
    pub(super) now_s: u64,
    pub(super) is_secured: bool,
    /// Whether a password may pass in the clear.
    pub(super) is_local: bool,
    /// Does the client come by a Unix socket?
    pub(super) has_user: bool,
    /// Whose the user of the machine is that is at the other end.
    pub(super) user: Option<&'static str>,
    /// Whose certificate is shown under TLS.
    pub(super) certificate: Option<&'static str>,
    who: Who,
    exchange: Option<Exchange>,
    /// Binds that have failed.
    pub(super) failed: u32,
}

impl Model {
    pub(super) fn new(now_s: u64) -> Model {
        Model {
            now_s,
            is_secured: false,
            is_local: true,
            has_user: false,
            user: None,
            certificate: None,
            who: NOBODY,
            exchange: None,
            failed: 0,
        }
    }

    pub(super) fn who(&self) -> &Who {
        &self.who
    }

    /// Has the token expired by which the client has bound?
    pub(super) fn has_expired(&self) -> bool {
        self.who.until_s.is_some_and(|until_s| self.now_s >= until_s)
    }

    /// Why a request that is no bind is refused, whatever it is. `secures`: it asks for TLS.
    pub(super) fn refuses(&self, secures: bool) -> Option<ResultCode> {
        match (&self.exchange, self.who.must_change && !secures) {
            (Some(_), _) => Some(OperationsError),
            (None, true) => Some(InsufficientAccessRights),
            (None, false) => None,
        }
    }

    /// Does an exchange of SCRAM wait for its last message?
    pub(super) fn is_begun(&self, mechanism: Mechanism) -> bool {
        let exchange = self.exchange.as_ref();
        exchange.is_some_and(|exchange| exchange.mechanism == mechanism && exchange.scram.is_some())
    }

    /// TLS is on.
    pub(super) fn secured(&mut self) {
        (self.is_secured, self.who, self.exchange) = (true, NOBODY, None);
    }

    /// Of a version that is not spoken, or by a method that nobody knows.
    pub(super) fn unknown(&mut self, code: ResultCode) -> Answer {
        (self.who, self.exchange) = (NOBODY, None);
        (code, Challenge::Nothing)
    }

    /// `dn`: whose name it is, if it is somebody's.
    pub(super) fn simple(&mut self, name: &str, dn: Option<&'static str>, is_right: Option<bool>) -> Answer {
        (self.who, self.exchange) = (NOBODY, None);
        let code = match (name, is_right) {
            (_, Some(_)) if !self.admits_password() => ConfidentialityRequired,
            ("", None) => Success,
            (_, None) => UnwillingToPerform,
            ("nonsense", Some(_)) => InvalidDnSyntax,
            (_, Some(is_right)) => match dn.filter(|_| is_right) {
                Some(dn) => {
                    self.who = Who { dn, by: Method::Simple, must_change: dn == CAROL, ..NOBODY };
                    Success
                }
                None => InvalidCredentials,
            },
        };
        self.count((code, Challenge::Nothing))
    }

    /// A step of a mechanism.
    pub(super) fn sasl(&mut self, mechanism: Mechanism, said: &Said, wanted: Wanted) -> Answer {
        self.who = NOBODY;
        let former = self.exchange.take().filter(|former| former.mechanism == mechanism);
        let is_offered = match mechanism {
            Mechanism::Plain | Mechanism::Token => self.admits_password(),
            Mechanism::External => self.has_user || (self.is_secured && self.certificate.is_some()),
            Mechanism::Scram => true,
            Mechanism::ScramPlus => self.is_secured,
        };
        if !is_offered {
            let is_external = mechanism == Mechanism::External;
            let code = if is_external { InappropriateAuthentication } else { AuthMethodNotSupported };
            return (code, Challenge::Nothing);
        }
        if former.as_ref().is_some_and(|former| former.has_failed) {
            // It was counted with the challenge.
            return (InvalidCredentials, Challenge::Nothing);
        }
        let new = Exchange { mechanism, steps: 0, since_s: self.now_s, scram: None, has_failed: false };
        let mut exchange = former.unwrap_or(new);
        exchange.steps += 1;
        let is_late = self.now_s - exchange.since_s > SECONDS_MAX;
        if exchange.steps > STEPS_MAX || is_late || matches!(said, Said::TooLong) {
            return (AdminLimitExceeded, Challenge::Nothing);
        }
        let answer = match (mechanism, said) {
            (_, Said::Absent) => {
                self.exchange = Some(exchange);
                (SaslBindInProgress, Challenge::Empty)
            }
            (Mechanism::Plain, Said::Password { dn, is_right }) => {
                let who = dn.filter(|_| *is_right);
                self.become_one(mechanism, who, wanted, None)
            }
            (Mechanism::External, Said::LowerLayer) => self.become_one(mechanism, self.below(), wanted, None),
            (Mechanism::Token, Said::Token { dn, expires_s, is_ours }) => {
                let until_s = *expires_s + SKEW;
                let who = dn.filter(|_| *is_ours && self.now_s < until_s);
                match self.become_one(mechanism, who, wanted, Some(until_s)) {
                    (Success, _) => (Success, Challenge::Nothing),
                    _ => {
                        self.exchange = Some(Exchange { has_failed: true, ..exchange });
                        self.failed += 1;
                        (SaslBindInProgress, Challenge::InvalidToken)
                    }
                }
            }
            (Mechanism::Scram | Mechanism::ScramPlus, said) => self.scram(exchange, said, wanted),
            _ => (InvalidCredentials, Challenge::Nothing),
        };
        self.count(answer)
    }

    fn scram(&mut self, mut exchange: Exchange, said: &Said, wanted: Wanted) -> Answer {
        let is_plus = exchange.mechanism == Mechanism::ScramPlus;
        let Some((begun, wanted)) = exchange.scram.take() else {
            let Said::First(begun) = said else { return (InvalidCredentials, Challenge::Nothing) };
            return match (begun.header.as_bytes()[0], is_plus) {
                (b'y', false) if self.is_secured => (InvalidCredentials, Challenge::Nothing),
                (b'n' | b'y', false) => self.begin(exchange, begun, wanted),
                (b'p', true) if begun.header.starts_with("p=tls-unique") => {
                    (InvalidCredentials, Challenge::UnknownBinding)
                }
                (b'p', true) => self.begin(exchange, begun, wanted),
                _ => (InvalidCredentials, Challenge::Nothing),
            };
        };
        let is_right = matches!(said, Said::Last { is_right: true }) && begun.user == "sam";
        match self.become_one(exchange.mechanism, is_right.then_some(SAM), wanted, None) {
            (Success, _) => (Success, Challenge::Proof),
            _ => (InvalidCredentials, Challenge::InvalidProof),
        }
    }

    fn begin(&mut self, exchange: Exchange, begun: &Begun, wanted: Wanted) -> Answer {
        self.exchange = Some(Exchange { scram: Some((begun.clone(), wanted)), ..exchange });
        (SaslBindInProgress, Challenge::Scram)
    }

    /// Somebody who has proved who it is, as whom it wants to act.
    fn become_one(
        &mut self,
        mechanism: Mechanism,
        proven: Option<&'static str>,
        wanted: Wanted,
        until_s: Option<u64>,
    ) -> Answer {
        let wrong = (InvalidCredentials, Challenge::Nothing);
        let Some(own) = proven else { return wrong };
        let must_change = own == CAROL && mechanism == Mechanism::Plain;
        let itself = Who { dn: own, by: Method::Sasl(mechanism), until_s, must_change };
        let acting = match wanted {
            Wanted::Itself => Some(itself),
            _ if must_change => None,
            Wanted::Entry(dn) => {
                // Bob may act as users, and the root DN as everybody.
                let may = own == dn || own == ROOT_DN || (own == BOB && dn != ROOT_DN);
                may.then_some(Who { dn, ..itself })
            }
            Wanted::Nobody => matches!(own, ROOT_DN | BOB).then_some(Who { until_s, ..NOBODY }),
            Wanted::Unknown => None,
        };
        let Some(acting) = acting else { return wrong };
        self.who = acting;
        (Success, Challenge::Nothing)
    }

    fn count(&mut self, answer: Answer) -> Answer {
        self.failed += u32::from(answer.0 == InvalidCredentials);
        answer
    }

    fn admits_password(&self) -> bool {
        self.is_local || self.is_secured
    }

    /// Who is at the other end, whatever it says.
    fn below(&self) -> Option<&'static str> {
        self.certificate.filter(|_| self.is_secured).or(self.user)
    }

    /// What the client sees of ada's entry: one attribute for each way to prove who one is.
    pub(super) fn sees(&self) -> Vec<&'static str> {
        let by = match self.who.by {
            Method::Nothing => "carLicense",
            Method::Simple => "title",
            Method::Sasl(Mechanism::Plain) => "employeeType",
            Method::Sasl(Mechanism::External) => "departmentNumber",
            Method::Sasl(Mechanism::Scram) => "description",
            Method::Sasl(Mechanism::ScramPlus) => "employeeNumber",
            Method::Sasl(Mechanism::Token) => "displayName",
        };
        let is = |so: bool, name| so.then_some(name);
        let mut seen: Vec<&'static str> = if self.who.dn == ROOT_DN {
            super::SHOWN.to_vec()
        } else {
            let others = [
                is(self.is_secured, "roomNumber"),
                is(!self.who.dn.is_empty(), "initials"),
                is(self.who.dn == ADA, "mobile"),
            ];
            others.into_iter().flatten().chain([by]).collect()
        };
        seen.sort_unstable();
        seen
    }
}
