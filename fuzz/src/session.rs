//! Sessions: any bytes in any pieces. Nothing panics or hangs, answers decode and are to what was asked, the out
//! buffer stays bounded, and where the stream was cut makes no difference.
//!
//! The first byte is the number of pieces, each next one the size of a piece; the rest is the stream, of which the
//! last piece takes what is left.

use dsa::settings::{Choices, Start};
use dsa::transaction;
use dsa::{Anonymous, Config, Dsa, Session, State, Worker};
use env::clock::Now;
use env::entropy::SeededEntropy;
use model::limits::{MESSAGE_BYTES_MAX, SESSION_OUT_BYTES_MAX};
use proto::control::{content_sync, persistent_search};
use proto::list::{Attributes, attribute_list};
use proto::op::{Add, Authentication, Bind};
use proto::{Frame, Reply, Request, frame};
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};
use store::{IndexKind, IndexSettings, Settings};

const ROOT_DN: &str = "cn=admin,dc=example";
const PASSWORD: &str = "secret";
pub(crate) const NOW: Now = Now { wall_ms: 1_760_000_000_000, monotonic_ns: 1_000_000_000 };
/// Members of the group: enough for a set of its own that is not written at once.
const MEMBERS: usize = 2000;
/// Calls of feed and step for one piece. A slice looks at a thousand candidates and the directory is small.
const STEPS_MAX: usize = 10_000;
/// Answers up to this many bytes never make a search wait, so that cuts cannot change what is abandoned.
const ALIKE_BYTES_MAX: usize = 64 << 10;

/// Entries as a target writes them down: name, attributes with their values.
pub(crate) type Entries<'e> = &'e [(&'e str, &'e [(&'e str, &'e [&'e str])])];

/// A directory, and the worker of a thread over it.
pub(crate) struct Directory {
    pub(crate) dsa: Arc<Dsa>,
    pub(crate) worker: Worker,
    sequence: u64,
}

thread_local! {
    /// Made anew after an input that changed it: each input finds the same.
    static DIRECTORY: RefCell<Option<Directory>> = const { RefCell::new(None) };
}

/// Talks to a small directory.
pub fn check(data: &[u8]) {
    let (count, data) = data.split_first().map_or((0, data), |(count, rest)| (usize::from(*count), rest));
    let (sizes, stream) = data.split_at(count.min(data.len()));
    DIRECTORY.with_borrow_mut(|kept| {
        // Gone while in use: what a panic leaves behind is not used again.
        let mut directory = kept.take().unwrap_or_else(Directory::new);
        let cut = directory.talk(stream, sizes);
        if directory.is_as_made() {
            let whole = directory.talk(stream, &[]);
            let alike = cut.len() <= ALIKE_BYTES_MAX && whole.len() <= ALIKE_BYTES_MAX;
            assert!(!alike || follows(stream) || cut == whole, "cuts make a difference");
            *kept = directory.is_as_made().then_some(directory);
        }
    });
}

/// May a search of this stream follow changes? It goes on beside the requests behind it, so how far it has come when one of these ends it, or
/// the session, hangs on when they came.
fn follows(stream: &[u8]) -> bool {
    let has = |oid: &[u8]| stream.windows(oid.len()).any(|part| part == oid);
    has(content_sync::OID) || has(persistent_search::OID)
}

impl Directory {
    fn new() -> Directory {
        let members: Vec<String> = (0..MEMBERS).map(|n| format!("uid=member{n},dc=example")).collect();
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        let entries: Entries<'_> = &[
            ("dc=example", &[("objectClass", &["dcObject", "organization"]), ("o", &["Example"])]),
            ("ou=people,dc=example", &[("objectClass", &["organizationalUnit"])]),
            (
                "uid=ada,ou=people,dc=example",
                &[
                    ("objectClass", &["inetOrgPerson"]),
                    ("cn", &["Ada Lovelace", "Ada King"]),
                    ("cn;lang-fr", &["Adelaide"]),
                    ("sn", &["Lovelace"]),
                    ("userPassword", &["lace"]),
                ],
            ),
            (
                "uid=bob,ou=people,dc=example",
                &[("objectClass", &["inetOrgPerson"]), ("cn", &["Bob"]), ("sn", &["B"])],
            ),
            ("cn=all,dc=example", &[("objectClass", &["groupOfNames"]), ("member", &members)]),
        ];
        Directory::with(config(), entries)
    }

    /// With these entries, which the root DN adds.
    pub(crate) fn with(config: Config, entries: Entries<'_>) -> Directory {
        static SCHEMA: OnceLock<Arc<schema::Schema>> = OnceLock::new();
        let build =
            || Arc::new(schema::Builder::new().standard().build().expect("the standard schema is sound"));
        let dsa = Dsa::new(config, Arc::clone(SCHEMA.get_or_init(build))).expect("memory is plenty");
        let mut worker = Worker::new(&dsa).expect("there are few readers");
        worker.tick(NOW);
        let mut directory = Directory { dsa, worker, sequence: 0 };
        directory.populate(entries);
        directory.sequence = directory.dsa.shard().sequence();
        directory
    }

    fn populate(&mut self, entries: Entries<'_>) {
        let mut stream = Vec::new();
        let authentication = Authentication::Simple(PASSWORD.as_bytes());
        Request::Bind(Bind { version: 3, name: ROOT_DN.as_bytes(), authentication }).encode(
            &mut stream,
            1,
            &[],
        );
        for (dn, attributes) in entries {
            let list =
                attributes.iter().map(|(n, values)| (n.as_bytes(), values.iter().map(|v| v.as_bytes())));
            let list = attribute_list(list);
            let attributes = Attributes::parse(&list).expect("just encoded");
            Request::Add(Add { dn: dn.as_bytes(), attributes }).encode(&mut stream, 1, &[]);
        }
        self.talk(&stream, &[]);
        assert_eq!(self.dsa.shard().entries(), entries.len() as u64);
    }

    /// Is what is in it what it was made with?
    pub(crate) fn is_as_made(&self) -> bool {
        self.dsa.shard().sequence() == self.sequence
    }

    /// One session from its begin to the end of the stream; everything that it answered.
    fn talk(&mut self, stream: &[u8], sizes: &[u8]) -> Vec<u8> {
        // The same salts and made passwords, however the stream is cut.
        self.dsa.draw_from(SeededEntropy::new(1));
        let mut session = Session::new(&mut self.worker);
        let (mut held, mut rest, mut all) = (Vec::new(), stream, Vec::new());
        let sizes = sizes.iter().map(|size| usize::from(*size)).chain([usize::MAX]);
        for size in sizes {
            let (piece, later) = rest.split_at(size.min(rest.len()));
            rest = later;
            held.extend_from_slice(piece);
            if self.serve(&mut session, &mut held, &mut all) == State::Close {
                break;
            }
        }
        session.close(&mut self.worker);
        check_answers(&all);
        all
    }

    /// Gives what is held to the session until it wants more than that.
    pub(crate) fn serve(&mut self, session: &mut Session, held: &mut Vec<u8>, all: &mut Vec<u8>) -> State {
        let mut out = Vec::new();
        for _ in 0..STEPS_MAX {
            let feed = session.feed(&mut self.worker, held, &mut out);
            assert!(feed.consumed <= held.len() && feed.needed <= MESSAGE_BYTES_MAX.max(held.len()));
            held.drain(..feed.consumed);
            let mut state = feed.state;
            if state == State::Busy {
                state = session.step(&mut self.worker, &mut out);
            } else if feed.consumed == 0 || held.is_empty() {
                all.append(&mut out);
                return state;
            }
            assert!(out.len() <= SESSION_OUT_BYTES_MAX, "{} bytes of answers at once", out.len());
            all.append(&mut out);
            if state == State::Close {
                return state;
            }
        }
        panic!("the session does not come to rest");
    }
}

/// Whole messages that decode; a notice is the last one.
fn check_answers(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let Ok(Frame::Complete { len }) = frame(bytes) else { panic!("an answer is cut off") };
        let reply = Reply::decode(&bytes[..len]).expect("answers decode");
        bytes = &bytes[len..];
        assert!(reply.id != 0 || bytes.is_empty(), "a notice is the last word");
        let known = reply.result().is_none_or(|result| result.result_code().is_some());
        assert!(known, "a code that nobody knows");
    }
}

/// Everything that can be switched on for transactions.
fn choices() -> Choices {
    let (implicit_begin, implicit_membership, search) = (true, true, true);
    let mut choices = Choices::default();
    choices.transactions =
        transaction::Choices { implicit_begin, implicit_membership, search, ..choices.transactions };
    choices.passwords.schemes = vec![dsa::config::Scheme::SaltedSha1];
    choices.standing.anonymous = Anonymous::Read;
    choices
}

/// What it is configured with.
pub(crate) fn config() -> Config {
    let index = IndexSettings::of("uid", [IndexKind::Equality]);
    Config {
        store: Settings {
            suffixes: vec!["dc=example".to_owned()],
            indexes: vec![index],
            memory_bytes_max: 64 << 20,
            removals_max: store::REMOVALS_MAX,
            operational_attributes: true,
            schema_check: true,
            initial_owner: ROOT_DN.to_owned(),
            key: [1, 2, 3, 4],
            site: 0,
        },
        root_dn: Some(ROOT_DN.to_owned()),
        root_password: Some(PASSWORD.as_bytes().to_vec()),
        offers_tls: false,
        peers: Default::default(),
        tokens: None,
        principals: None,
        queue_length_oid: None,
        settings: Start { configured: choices(), ..Start::default() },
        version: "1.2.3".to_owned(),
        started_ms: NOW.wall_ms,
        schema_since_ms: NOW.wall_ms,
    }
}
