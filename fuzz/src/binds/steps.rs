//! The steps of a client: what two bytes stand for, and what is to come of it.

use super::rules::{Answer, Challenge, Mechanism, Said, Wanted};
use super::scram::Begun;
use super::{ADA, BOB, CAROL, END_POINT, Expected, ROOT_DN, SHOWN, Talk};
use model::ResultCode::*;
use model::Scope;
use proto::list::Octets;
use proto::list::octet_list;
use proto::op::{Authentication, Bind, Compare, Extended, Search};
use proto::sasl::oauth_bearer::{DUMMY, OauthBearer};
use proto::sasl::plain::Plain;
use proto::{Request, ext, filter_string};

/// A request, and what is to come of it.
pub(super) struct Sent {
    pub(super) id: i32,
    pub(super) bytes: Vec<u8>,
    pub(super) expected: Expected,
    /// For people.
    pub(super) what: String,
}

const MECHANISMS: [Mechanism; 5] =
    [Mechanism::Plain, Mechanism::External, Mechanism::Scram, Mechanism::ScramPlus, Mechanism::Token];

/// Names of users, and whose each is.
const USERS: [(&str, Option<&str>); 4] =
    [("ada", Some(ADA)), ("bob", Some(BOB)), ("carol", Some(CAROL)), ("nobody", None)];

/// As whom a client wants to act, in words of the protocol.
fn wanted(which: u8) -> (String, Wanted) {
    match which % 8 {
        0 | 7 => (String::new(), Wanted::Itself),
        1 => (format!("dn:{ADA}"), Wanted::Entry(ADA)),
        2 => ("u:bob".to_owned(), Wanted::Entry(BOB)),
        3 => (format!("dn:{ROOT_DN}"), Wanted::Entry(ROOT_DN)),
        4 => ("dn:".to_owned(), Wanted::Nobody),
        5 => ("u:nobody".to_owned(), Wanted::Unknown),
        _ => ("nonsense".to_owned(), Wanted::Unknown),
    }
}

impl Talk<'_> {
    /// Takes a step. False if the connection has ended.
    pub(super) fn take(&mut self, kind: u8, says: u8) -> bool {
        match kind % 16 {
            0 => self.simple(says),
            1 => self.odd_bind(says),
            2 | 3 => self.plain(says),
            4 => self.external(says),
            5 | 6 => return self.first(says),
            7 | 8 => return self.last(says),
            9 => self.token(says),
            10 => self.sasl(MECHANISMS[usize::from(says) % 5], None, Said::Absent, Wanted::Itself),
            11 => {
                let bytes = vec![b'a'; model::limits::SASL_BYTES_MAX + 1];
                self.sasl(MECHANISMS[usize::from(says) % 5], Some(&bytes), Said::TooLong, Wanted::Itself);
            }
            12 => return self.start_tls(says),
            13 => {
                let is_open = self.send();
                self.bound.wait(u64::from(says % 64));
                self.model.now_s += u64::from(says % 64);
                // By whatever comes next the session ends.
                self.is_expired = self.model.has_expired();
                return is_open;
            }
            14 if says < 16 => {
                self.ask("unbind", &Request::Unbind, Expected::End);
                self.who_am_i();
                return self.send();
            }
            14 => self.ask("abandon", &Request::Abandon(1), Expected::Silence),
            _ => self.compare_title(),
        }
        // Who it is after each step, asked in the same piece or in the next.
        if kind & 0x10 != 0 {
            self.who_am_i();
        }
        if kind & 0x20 != 0 {
            self.look();
        }
        kind & 0x40 != 0 || self.send()
    }

    fn ask(&mut self, what: &str, request: &Request<'_>, expected: Expected) {
        self.id += 1;
        let mut bytes = Vec::new();
        request.encode(&mut bytes, self.id, &[]);
        self.sent.push(Sent { id: self.id, bytes, expected, what: format!("{} {what}", self.id) });
    }

    /// Of a request that is no bind: it is refused whatever it is, or this is to come.
    fn or_refused(&self, expected: impl FnOnce(&Self) -> Expected) -> Expected {
        self.model.refuses(false).map_or_else(|| expected(self), Expected::Code)
    }

    fn who_am_i(&mut self) {
        let expected = self.or_refused(|talk| Expected::Whoami(talk.model.who().dn));
        self.ask("who am I", &Request::Extended(Extended { oid: ext::who_am_i::OID, value: None }), expected);
    }

    fn look(&mut self) {
        let asked = octet_list(SHOWN.map(str::as_bytes));
        let asked = Octets::parse(&asked).expect("it is a list");
        let filter = filter_string::parse(b"(objectClass=*)").expect("it is a filter");
        let search = Search::unlimited(ADA.as_bytes(), Scope::Base, filter.filter(), asked);
        let expected = self.or_refused(|talk| Expected::Shown(talk.model.sees()));
        self.ask("search", &Request::Search(search), expected);
    }

    fn compare_title(&mut self) {
        let assertion = model::filter::Assertion { attribute: b"title", value: b"x" };
        let compare = Compare { dn: ADA.as_bytes(), assertion };
        let expected = self.or_refused(|_| Expected::Served);
        self.ask("compare", &Request::Compare(compare), expected);
    }

    fn bind(&mut self, what: &str, bind: Bind<'_>, answer: Answer, signature: Option<Vec<u8>>) {
        self.ask(what, &Request::Bind(bind), Expected::Bind { answer, signature });
    }

    fn simple(&mut self, says: u8) {
        let (name, dn) = match says % 8 {
            0 | 6 => (ADA, Some(ADA)),
            1 => (BOB, Some(BOB)),
            2 => (CAROL, Some(CAROL)),
            3 => (ROOT_DN, Some(ROOT_DN)),
            4 => ("uid=nobody,dc=example", None),
            5 => ("nonsense", None),
            _ => ("", None),
        };
        let word = if dn == Some(ROOT_DN) { "secret" } else { "word" };
        let (password, is_right) = match says >> 3 & 3 {
            0 => ("", None),
            1 => ("wrong", Some(false)),
            _ => (word, Some(true)),
        };
        let answer = self.model.simple(name, dn, is_right);
        let authentication = Authentication::Simple(password.as_bytes());
        let bind = Bind { version: 3, name: name.as_bytes(), authentication };
        self.bind(&format!("simple bind {name} {password}"), bind, answer, None);
    }

    /// A bind that is none: of a version or a method that nobody knows, or without a mechanism.
    fn odd_bind(&mut self, says: u8) {
        let right = Authentication::Simple(b"word");
        let named = |mechanism| Authentication::Sasl { mechanism, credentials: Some(&b"\0ada\0word"[..]) };
        let (version, authentication, code) = match says % 4 {
            0 => (2, right, ProtocolError),
            1 => (3, Authentication::Unknown(0x85), AuthMethodNotSupported),
            2 => (3, named(b""), AuthMethodNotSupported),
            _ => (3, named(b"CRAM-MD5"), AuthMethodNotSupported),
        };
        let answer = self.model.unknown(code);
        self.bind("odd bind", Bind { version, name: ADA.as_bytes(), authentication }, answer, None);
    }

    /// A step of a mechanism whose message says all that counts.
    fn sasl(&mut self, mechanism: Mechanism, credentials: Option<&[u8]>, said: Said, wanted: Wanted) {
        let answer = self.model.sasl(mechanism, &said, wanted);
        let what = format!("{} {said:?} {wanted:?}", mechanism.name());
        self.step(&what, mechanism, credentials, answer, None);
    }

    fn step(
        &mut self,
        what: &str,
        mechanism: Mechanism,
        credentials: Option<&[u8]>,
        answer: Answer,
        signature: Option<Vec<u8>>,
    ) {
        let authentication = Authentication::Sasl { mechanism: mechanism.name().as_bytes(), credentials };
        // The name has no meaning.
        self.bind(what, Bind { version: 3, name: ROOT_DN.as_bytes(), authentication }, answer, signature);
    }

    fn plain(&mut self, says: u8) {
        if says == 0xff {
            return self.sasl(Mechanism::Plain, Some(b"ada"), Said::Malformed, Wanted::Itself);
        }
        let (authzid, wanted) = wanted(says >> 4);
        let name = match says & 7 {
            4 => (format!("dn:{ROOT_DN}"), Some(ROOT_DN)),
            5 => (format!("dn:{BOB}"), Some(BOB)),
            which => {
                let (name, dn) = USERS[usize::from(which) % 4];
                (name.to_owned(), dn)
            }
        };
        let is_right = says & 8 == 0;
        let word = if name.1 == Some(ROOT_DN) { "secret" } else { "word" };
        let password = if is_right { word } else { "wrong" };
        let mut message = Vec::new();
        let (authorization_id, authentication_id) = (authzid.as_bytes(), name.0.as_bytes());
        Plain { authorization_id, authentication_id, password: password.as_bytes() }.encode(&mut message);
        self.sasl(Mechanism::Plain, Some(&message), Said::Password { dn: name.1, is_right }, wanted);
    }

    fn external(&mut self, says: u8) {
        if says == 0xff {
            return self.sasl(Mechanism::External, Some(b"u:\0"), Said::Malformed, Wanted::Itself);
        }
        let (authzid, wanted) = wanted(says);
        self.sasl(Mechanism::External, Some(authzid.as_bytes()), Said::LowerLayer, wanted);
    }

    fn token(&mut self, says: u8) {
        match says % 8 {
            0 => return self.sasl(Mechanism::Token, Some(DUMMY), Said::Dummy, Wanted::Itself),
            1 => return self.sasl(Mechanism::Token, Some(b"n,,"), Said::Malformed, Wanted::Itself),
            _ => {}
        }
        let (authzid, wanted) = wanted(says >> 4);
        let (name, dn) = [("ada", Some(ADA)), ("bob", Some(BOB)), ("nobody", None)][usize::from(says % 3)];
        let expires_s = match says >> 3 & 3 {
            0 => self.model.now_s - 100,
            1 => self.model.now_s - 50,
            _ => self.model.now_s + 1000,
        };
        let is_ours = says % 8 != 7;
        let token = format!("{name}-{expires_s}-{}", if is_ours { "ldap" } else { "web" });
        let mut message = Vec::new();
        let authorization_id = authzid.into_bytes();
        OauthBearer { authorization_id, token: token.as_bytes() }.encode(&mut message);
        self.sasl(Mechanism::Token, Some(&message), Said::Token { dn, expires_s, is_ours }, wanted);
    }

    /// The first message of SCRAM.
    fn first(&mut self, says: u8) -> bool {
        let mechanism = if says & 1 == 0 { Mechanism::Scram } else { Mechanism::ScramPlus };
        let flag = match says >> 1 & 7 {
            0 => "n",
            1 => "y",
            2 => "p=tls-unique",
            // What the mechanism has.
            _ if says & 1 == 0 => "n",
            _ => "p=tls-server-end-point",
        };
        let (authzid, wanted) = if says & 0x80 == 0 { wanted(says >> 4 & 7) } else { wanted(0) };
        let escaped = authzid.replace('=', "=3D").replace(',', "=2C");
        let header = if escaped.is_empty() { format!("{flag},,") } else { format!("{flag},a={escaped},") };
        let binding: &[u8] = if flag.starts_with('p') { END_POINT } else { b"" };
        let user = if says & 0xf0 == 0xf0 { "nobody" } else { "sam" };
        let begun = Begun { header, user, binding, challenge: Vec::new() };
        let message = begun.first();
        let answer = self.model.sasl(mechanism, &Said::First(begun.clone()), wanted);
        // An answer to an earlier one is not an answer to this.
        let is_open = self.send();
        if answer.1 == Challenge::Scram {
            self.last = Some(begun);
        }
        self.step(&format!("{} first", mechanism.name()), mechanism, Some(&message), answer, None);
        is_open && self.send()
    }

    /// Its last message, of the exchange that was begun last, whether that goes on or not.
    fn last(&mut self, says: u8) -> bool {
        if !self.send() {
            return false;
        }
        let mechanism = if says & 1 == 0 { Mechanism::Scram } else { Mechanism::ScramPlus };
        let Some(begun) = self.last.clone() else {
            self.sasl(mechanism, Some(b"c=biws,r=nonce,p=AAAA"), Said::Malformed, Wanted::Itself);
            return self.send();
        };
        let (mut last, is_right) = match says >> 1 & 7 {
            0 => (begun.last(Some(b"another")), false),
            1 => (begun.last(None), false),
            _ => (begun.last(None), true),
        };
        if !is_right {
            let end = last.message.len() - 6;
            last.message[end] ^= 1;
        }
        let is_current = self.model.is_begun(mechanism);
        let said = Said::Last { is_right: is_right && is_current };
        let answer = self.model.sasl(mechanism, &said, Wanted::Itself);
        let signature = (answer.1 == Challenge::Proof).then_some(last.expected);
        self.step(
            &format!("{} {said:?}", mechanism.name()),
            mechanism,
            Some(&last.message),
            answer,
            signature,
        );
        self.who_am_i();
        self.look();
        self.send()
    }

    fn start_tls(&mut self, says: u8) -> bool {
        if !self.send() {
            return false;
        }
        let refusal = self.model.refuses(true);
        let refusal = refusal.or(self.model.is_secured.then_some(OperationsError));
        let follows = says & 1 != 0;
        let code = refusal.unwrap_or(if follows { OperationsError } else { Success });
        let request = Request::Extended(Extended { oid: ext::start_tls::OID, value: None });
        self.ask("StartTLS", &request, Expected::Code(code));
        match (follows, refusal) {
            (true, None) => self.ask("behind it", &Request::Abandon(1), Expected::End),
            (true, Some(_)) => self.who_am_i(),
            (false, _) => {}
        }
        self.send()
    }
}
