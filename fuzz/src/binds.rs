//! Binds of all kinds, mixed, with requests between them: after each step the session is who a plain model says, and nothing of another bind is
//! left (S9).
//!
//! The first byte says how the client is connected. Of the rest, two bytes are a step: its kind, and what it says. Steps are collected and sent in
//! one piece, as clients do, up to one that needs an answer. What the session is shows in three things: who it says that the client is, the
//! attributes that it shows, each of which a rule gives to those who have bound in one way, and its answers.

mod rules;
mod scram;
mod steps;

use self::rules::{Answer, Challenge, Model};
use self::steps::Sent;
use crate::session::{Directory, Entries, config};
use dsa::config::{
    CertificateMapping, ChannelBindings, ClientCertificate, FoundBy, MappedTo, PeerMapping, Peers, Scheme,
    TokenRules,
};
use dsa::tokens::{Claims, Tokens};
use dsa::{Config, Session, State};
use env::clock::Now;
use env::entropy::SeededEntropy;
use env::net::{Credentials, PeerAddress};
use model::ResultCode;
use proto::{Frame, Reply, Response, frame};
use std::cell::RefCell;
use std::sync::Arc;

const ROOT_DN: &str = "cn=admin,dc=example";
const ADA: &str = "uid=ada,dc=example";
const BOB: &str = "uid=bob,dc=example";
/// Must change its password before anything else.
const CAROL: &str = "uid=carol,dc=example";
/// Has a password for SCRAM.
const SAM: &str = "uid=sam,dc=example";

/// What of ada's entry is shown to those who have bound in one way, and to those whom other rules are about.
const SHOWN: [&str; 10] = [
    "carLicense",
    "departmentNumber",
    "description",
    "displayName",
    "employeeNumber",
    "employeeType",
    "initials",
    "mobile",
    "roomNumber",
    "title",
];

const RULES: [&str; 14] = [
    "act: all; dn=\"uid=bob,dc=example\"; allow=proxy",
    "ask: extended=1.3.6.1.4.1.4203.1.11.3,1.3.6.1.4.1.1466.20037; anyone; allow=use",
    "log-in: all attrs=userPassword; anyone; allow=auth",
    "see: all attrs=entry,objectClass; anyone; allow=see",
    "nobody: all attrs=carLicense; auth=none; allow=see",
    "simple: all attrs=title; auth=simple; allow=see",
    "plain: all attrs=employeeType; auth=PLAIN; allow=see",
    "external: all attrs=departmentNumber; auth=EXTERNAL; allow=see",
    "scram: all attrs=description; auth=SCRAM-SHA-256; allow=see",
    "plus: all attrs=employeeNumber; auth=SCRAM-SHA-256-PLUS; allow=see",
    "token: all attrs=displayName; auth=OAUTHBEARER; allow=see",
    "tls: all attrs=roomNumber; tls=128; allow=see",
    "users: all attrs=initials; users; allow=see",
    "own: all attrs=mobile; self; allow=see",
];

/// Bytes of input that are looked at: so many steps.
const STEPS_MAX: usize = 40;
/// Binds that may fail: of an account that fails ten times others are refused too.
const FAILED_MAX: u32 = 9;
/// Seconds between two inputs, after which nothing counts that has failed in the former.
const APART_S: u64 = 300;

/// What the server has seen of the channel.
const END_POINT: &[u8] = b"hash of the certificate";

struct Bound {
    directory: Directory,
    now: Now,
}

thread_local! {
    static BOUND: RefCell<Option<Bound>> = const { RefCell::new(None) };
}

/// Plays a client.
pub fn check(data: &[u8]) {
    let Some((connection, steps)) = data.split_first() else { return };
    BOUND.with_borrow_mut(|kept| {
        // Gone while in use: what a panic leaves behind is not used again.
        let mut bound = kept.take().unwrap_or_else(Bound::new);
        bound.play(*connection, steps);
        assert!(bound.directory.is_as_made(), "nothing is written");
        *kept = Some(bound);
    });
}

/// Reads tokens of the form `name-exp-audience`. They are taken for signed.
struct Plain;

impl Tokens for Plain {
    fn claims(&self, token: &[u8]) -> Option<Claims> {
        let mut parts = str::from_utf8(token).ok()?.split('-');
        let (user, expires_s, audience) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?);
        Some(Claims {
            issuer: Some("issuer".to_owned()),
            audiences: vec![audience.to_owned()],
            expires_s: Some(expires_s),
            not_before_s: None,
            user: Some(user.to_owned()),
        })
    }
}

fn configured() -> Config {
    let by_number =
        |uid: u32, dn: &str| PeerMapping { uid: Some(uid), gid: None, to: MappedTo::Dn(dn.to_owned()) };
    let mut config = config();
    config.offers_tls = true;
    config.peers = Peers { mappings: vec![by_number(1000, ADA), by_number(1001, BOB)], own_uid: None };
    config.tokens = Some(TokenRules { issuer: "issuer".to_owned(), audience: "ldap".to_owned() });
    let choices = &mut config.settings.configured;
    choices.passwords.schemes = vec![Scheme::SaltedSha1, Scheme::ScramSha256];
    choices.standing.proxies = vec![BOB.to_owned()];
    choices.identities.certificates = vec![CertificateMapping { by: FoundBy::SubjectDn, base: None }];
    choices.access.rules = access::parse_all(&RULES.map(str::to_owned)).expect("the rules are sound");
    choices.access.defaults = false;
    (choices.passwords.renew, choices.passwords.min_length) = (false, 0);
    config
}

impl Bound {
    fn new() -> Bound {
        let stored = scram::stored();
        let stored = [stored.as_str()];
        let shown: Vec<(&str, &[&str])> = SHOWN.iter().map(|name| (*name, &["x"][..])).collect();
        let person = |extra: &[(&'static str, &'static [&'static str])]| {
            [&[("objectClass", &["inetOrgPerson"][..]), ("cn", &["x"]), ("sn", &["x"])], extra].concat()
        };
        let ada =
            [&person(&[("userPassword", &["{SSHA}gZ/iQ5sZpFQvGWGRTlLnxzhnXacwMTIz"])])[..], &shown].concat();
        let entries: Entries<'_> = &[
            ("dc=example", &[("objectClass", &["dcObject", "organization"]), ("o", &["Example"])]),
            (ADA, &ada),
            (BOB, &person(&[("userPassword", &["word"])])),
            (
                "cn=policy,dc=example",
                &[
                    ("objectClass", &["device", "pwdPolicy"]),
                    ("pwdAttribute", &["userPassword"]),
                    ("pwdMustChange", &["TRUE"]),
                ],
            ),
            (
                CAROL,
                &person(&[
                    ("userPassword", &["word"]),
                    ("pwdPolicySubentry", &["cn=policy,dc=example"]),
                    ("pwdReset", &["TRUE"]),
                ]),
            ),
            (SAM, &[&person(&[])[..], &[("userPassword", &stored[..])]].concat()),
        ];
        let directory = Directory::with(configured(), entries);
        directory.dsa.verify_tokens_by(Arc::new(Plain));
        Bound { directory, now: crate::session::NOW }
    }

    fn wait(&mut self, seconds: u64) {
        self.now.wall_ms += seconds * 1000;
        self.now.monotonic_ns += seconds * 1_000_000_000;
        self.directory.worker.tick(self.now);
    }

    fn play(&mut self, connection: u8, steps: &[u8]) {
        self.directory.dsa.draw_from(SeededEntropy::new(1));
        self.wait(APART_S);
        let (mut session, model) = self.connect(connection);
        let mut talk = Talk {
            bound: self,
            session: &mut session,
            model,
            last: None,
            id: 0,
            is_expired: false,
            sent: Vec::new(),
        };
        for step in steps.chunks_exact(2).take(STEPS_MAX) {
            if talk.model.failed >= FAILED_MAX || !talk.take(step[0], step[1]) {
                break;
            }
        }
        talk.send();
        session.close(&mut self.directory.worker);
    }

    fn connect(&mut self, connection: u8) -> (Session, Model) {
        let mut model = Model::new(self.now.wall_ms / 1000);
        let unix = |uid| Some(PeerAddress::Unix(Credentials { uid, gid: 5, pid: 7 }));
        let far = "192.0.2.1:4000".parse().expect("an address");
        let (client, user) = match connection & 7 {
            0 => (unix(0), Some(ROOT_DN)),
            1 => (unix(1000), Some(ADA)),
            2 => (unix(1001), Some(BOB)),
            // Nobody knows it.
            3 => (unix(1002), None),
            4 => (None, None),
            _ => (Some(PeerAddress::Tcp(far)), None),
        };
        model.is_local = !matches!(client, Some(PeerAddress::Tcp(_)));
        model.has_user = matches!(client, Some(PeerAddress::Unix(_)));
        model.user = user;
        model.certificate = match connection >> 3 & 3 {
            0 => Some(ADA),
            1 => Some(BOB),
            _ => None,
        };
        let worker = &mut self.directory.worker;
        let mut session = Session::connect(worker, client, Default::default()).expect("it has no bound");
        if connection & 0x20 != 0 {
            secure(&mut session, &mut model);
        }
        (session, model)
    }
}

/// TLS is on from now on.
fn secure(session: &mut Session, model: &mut Model) {
    let certificate = model.certificate.map(|dn| ClientCertificate {
        fingerprint: "00".to_owned(),
        subject: Some(dn.to_owned()),
        valid_s: (0, i64::MAX),
        values: Vec::new(),
    });
    session.secured(
        128,
        certificate,
        ChannelBindings { end_point: Some(END_POINT.to_vec()), exporter: None },
    );
    model.secured();
}

/// A client's side of a session.
struct Talk<'b> {
    bound: &'b mut Bound,
    session: &'b mut Session,
    model: Model,
    /// The exchange of SCRAM that was begun last.
    last: Option<scram::Begun>,
    id: i32,
    /// Has the token expired by which the client has bound?
    is_expired: bool,
    /// Requests that wait to be sent, with what is to come of each.
    sent: Vec<Sent>,
}

/// What an answer is to be.
enum Expected {
    Bind {
        answer: Answer,
        signature: Option<Vec<u8>>,
    },
    Whoami(&'static str),
    Shown(Vec<&'static str>),
    Code(ResultCode),
    /// It was looked at: not refused for what the session is.
    Served,
    /// Nothing comes.
    Silence,
    /// Nothing comes any more.
    End,
}

impl Talk<'_> {
    /// Sends what waits, and compares. False if the connection has ended.
    fn send(&mut self) -> bool {
        let sent = std::mem::take(&mut self.sent);
        if sent.is_empty() {
            return true;
        }
        let mut held: Vec<u8> = sent.iter().flat_map(|one| one.bytes.iter().copied()).collect();
        let mut answers = Vec::new();
        let state = self.bound.directory.serve(self.session, &mut held, &mut answers);
        let mut rest = &answers[..];
        if self.is_expired {
            let notice = next(&mut rest).expect("there is a notice");
            assert_eq!(notice.id, 0, "the token has expired");
            assert!(rest.is_empty() && state == State::Close);
            return false;
        }
        for one in &sent {
            if matches!(one.expected, Expected::End) {
                assert!(rest.is_empty() && state == State::Close, "the session has ended");
                return false;
            }
            self.compare(one, &mut rest);
        }
        assert!(rest.is_empty(), "more answers than requests");
        assert!(state == State::Idle || state == State::Secure, "{state:?}");
        if state == State::Secure {
            secure(self.session, &mut self.model);
        }
        true
    }

    fn compare(&mut self, sent: &Sent, rest: &mut &[u8]) {
        let what = &sent.what;
        if matches!(sent.expected, Expected::Silence) {
            return;
        }
        if let Expected::Shown(expected) = &sent.expected {
            let entry = next(rest).expect("there is an entry");
            let Response::SearchEntry(entry) = entry.response else {
                panic!("{what}: no entry but {entry:?}")
            };
            let mut seen: Vec<String> = entry
                .attributes
                .iter()
                .map(|one| String::from_utf8_lossy(one.description).into_owned())
                .collect();
            seen.sort_unstable();
            assert_eq!(&seen, expected, "{what}");
        }
        let reply = next(rest).unwrap_or_else(|| panic!("{what}: no answer"));
        assert_eq!(reply.id, sent.id, "{what}: {reply:?}");
        let code = reply.result().and_then(|result| result.result_code());
        let code = code.unwrap_or_else(|| panic!("{what}: {reply:?}"));
        match (&sent.expected, reply.response) {
            (Expected::Bind { answer, signature }, Response::Bind(bind)) => {
                assert_eq!(code, answer.0, "{what}: {:?}", bind.result);
                self.challenge(what, (answer.1, signature.as_deref()), bind.server_sasl_credentials);
            }
            (Expected::Whoami(dn), Response::Extended(extended)) => {
                let name = if dn.is_empty() { String::new() } else { format!("dn:{dn}") };
                assert_eq!(code, ResultCode::Success, "{what}");
                assert_eq!(extended.value.map(String::from_utf8_lossy), Some(name.into()), "{what}");
            }
            (Expected::Shown(_), _) => assert_eq!(code, ResultCode::Success, "{what}"),
            (Expected::Code(expected), _) => assert_eq!(code, *expected, "{what}"),
            (Expected::Served, _) => assert_ne!(code, ResultCode::OperationsError, "{what}"),
            (_, response) => panic!("{what}: {response:?}"),
        }
    }

    fn challenge(
        &mut self,
        what: &str,
        (expected, signature): (Challenge, Option<&[u8]>),
        said: Option<&[u8]>,
    ) {
        let plain = match expected {
            Challenge::Nothing => None,
            Challenge::Empty => Some(&b""[..]),
            Challenge::InvalidToken => Some(proto::sasl::oauth_bearer::INVALID_TOKEN),
            Challenge::InvalidProof => Some(&b"e=invalid-proof"[..]),
            Challenge::UnknownBinding => Some(&b"e=unsupported-channel-binding-type"[..]),
            Challenge::Scram => {
                let said = said.unwrap_or_else(|| panic!("{what}: no challenge"));
                assert!(said.starts_with(format!("r={}", scram::NONCE).as_bytes()), "{what}");
                self.last.as_mut().expect("it has begun").challenge = said.to_vec();
                return;
            }
            Challenge::Proof => {
                let (said, signature) = (said.unwrap_or_default(), signature.expect("it is right"));
                assert!(scram::is_proven(said, signature), "{what}");
                return;
            }
        };
        assert_eq!(said, plain, "{what}");
    }
}

/// The next answer.
fn next<'a>(rest: &mut &'a [u8]) -> Option<Reply<'a>> {
    if rest.is_empty() {
        return None;
    }
    let Ok(Frame::Complete { len }) = frame(rest) else { panic!("an answer is cut off") };
    let (message, later) = rest.split_at(len);
    *rest = later;
    Some(Reply::decode(message).expect("answers decode"))
}
