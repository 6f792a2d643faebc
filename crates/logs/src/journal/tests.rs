use super::*;
use crate::hide::Hider;
use crate::record::{Annotation, Extra};
use crate::redact::Redactor;
use crate::tap::{Held, Memory, Tap};
use proto::Request;
use proto::control::proxied_authorization;
use proto::op::bind::{Authentication, Bind};
use proto::op::modify::{Changes, Modify, ModifyKind, change_list};
use proto::result::encode_done;
use std::sync::Arc;

/// A connection whose requests are answered at once.
struct Fixture {
    journal: Journal,
    tap: Tap,
    memory: Memory,
    out: Vec<u8>,
    id: i32,
}

impl Fixture {
    fn new(access: Access, form: Form) -> Fixture {
        let schema = Arc::new(schema::Builder::new().standard().build().expect("it is good"));
        let origin = Origin { started_ms: 16, process: 7, host: "h".to_owned(), version: "1".to_owned() };
        let mut fixture = Fixture {
            journal: Journal::new(access, form, origin).redacted_by(Redactor::new(schema, Hider::default())),
            tap: Tap::default(),
            memory: Memory::default(),
            out: Vec::new(),
            id: 0,
        };
        fixture.journal.header(&mut fixture.out);
        fixture.put(&Record::Open { peer: b"10.0.0.1:5", listener: b"", via: b"10.0.0.9:5" });
        fixture
    }

    fn put(&mut self, record: &Record<'_>) {
        let Fixture { journal, memory, out, .. } = self;
        memory.put(stamp(), record, &mut |record| take(journal, record, out));
    }

    fn ask(&mut self, request: &Request<'_>, acting: Option<&[u8]>, code: model::ResultCode) {
        self.id += 1;
        let controls: Vec<_> = acting.map(proxied_authorization::control).into_iter().collect();
        let (mut input, mut answer) = (Vec::new(), Vec::new());
        request.encode(&mut input, self.id, &controls);
        if let Some(response) = tag::response_to(request.tag()) {
            encode_done(&mut answer, self.id, response, code);
        }
        let Fixture { journal, tap, memory, out, .. } = self;
        tap.requests(stamp(), (&input, &mut Held::default()), memory, &mut |record| {
            take(journal, record, out)
        });
        tap.answers(stamp(), &answer, &|_| Annotation::default(), memory, &mut |record| {
            take(journal, record, out)
        });
    }

    fn bind(&mut self, name: &[u8], password: &[u8], code: model::ResultCode) {
        // Recorded when it is applied, before the bundle's requests are.
        if code == model::ResultCode::Success {
            let id = self.id + 1;
            self.put(&Record::Bound { id, dn: name });
        }
        let authentication = Authentication::Simple(password);
        self.ask(&Request::Bind(Bind { version: 3, name, authentication }), None, code);
    }

    /// A search that waited, in a transaction, for the session of somebody else, and was refused when it had looked far.
    fn unindexed(&mut self) {
        let number = self.tap.operations() + 1;
        let session = b"\x30\x12\x04\x039::\x04\x01h\x04\x031.2\x04\x03ada";
        let extra = Extra { wait_us: 20, transaction: b"7", session };
        let (target, detail, controls, acting) = (b"dc=b", b"", b"", b"");
        let op = tag::SEARCH;
        self.put(&Record::Request { number, id: 900, op, target, detail, controls, acting, extra });
        let annotation = Annotation { looked: Some(500), is_unindexed: true, rule: b"near" };
        self.put(&Record::Answer { id: 900, code: 53, text: b"", entries: 3, bytes: 9, annotation });
    }

    fn close(&mut self) {
        let operations = self.tap.operations();
        self.put(&Record::Close { operations });
    }

    fn lines(&mut self) -> Vec<serde_json::Value> {
        let text = String::from_utf8(std::mem::take(&mut self.out)).expect("it is text");
        text.lines().map(|line| serde_json::from_str(line).expect("each line is an object")).collect()
    }
}

fn take(journal: &mut Journal, record: &[u8], out: &mut Vec<u8>) {
    let (stamp, record) = Record::decode(record).expect("it is a record");
    journal.take(stamp, record, out);
}

fn stamp() -> Stamp {
    Stamp { connection: 3, wall_ms: 1_700_000_000_123, monotonic_ns: 5 }
}

#[test]
fn a_session_that_the_log_finds_is_who_it_was() {
    let mut fixture = Fixture::new(Access::Sample, Form::Json);
    fixture.journal.choose_access(Access::All);
    fixture.put(&Record::Secured { strength: 256, version: b"", suite: b"" });
    fixture.put(&Record::Bound { id: 0, dn: b"uid=a,dc=b" });
    fixture.ask(&Request::Delete(b"cn=x,dc=b"), None, model::ResultCode::Success);
    fixture.close();
    let lines = fixture.lines();
    let [_, delete, close] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(
        (&delete["op"], &delete["dn"], &delete["ssf"]),
        (&"delete".into(), &"uid=a,dc=b".into(), &256.into())
    );
    assert_eq!(close["op"], "close");
}

#[test]
fn who_asks_is_who_bound_before() {
    use model::ResultCode::{InvalidCredentials, Success};
    let mut fixture = Fixture::new(Access::All, Form::Json);
    fixture.bind(b"uid=a,dc=b", b"hunter2", Success);
    fixture.ask(&Request::Delete(b"cn=x,dc=b"), Some(b"dn:uid=c,dc=b"), Success);
    fixture.bind(b"hunter2", b"hunter2", InvalidCredentials);
    fixture.ask(&Request::Delete(b"cn=y,dc=b"), None, Success);
    fixture.ask(&Request::Unbind, None, Success);
    fixture.close();
    assert!(!String::from_utf8_lossy(&fixture.out).contains("hunter2"));
    let lines = fixture.lines();
    let ops: Vec<_> = lines.iter().map(|line| line["op"].as_str().unwrap()).collect();
    assert_eq!(ops, ["open", "bind", "delete", "bind", "delete", "unbind", "close"]);
    assert_eq!((&lines[2]["dn"], &lines[2]["as"]), (&"uid=a,dc=b".into(), &"dn:uid=c,dc=b".into()));
    assert_eq!((&lines[2]["id"], &lines[2]["t"]), (&"10-3-2".into(), &"2023-11-14T22:13:20.123Z".into()));
    assert_eq!((&lines[3]["target"], &lines[3]["code"]), (&"<no DN, 7 octets>".into(), &49.into()));
    assert!(lines[4]["dn"].is_null());
    assert_eq!(lines[6]["operations"], 5);
}

/// G1: each operation has a line or is counted, and no more than a thousand in a second have one.
#[test]
fn test_g1_each_is_written_or_counted() {
    let mut fixture = Fixture::new(Access::Sample, Form::Json);
    let assertion = model::filter::Assertion { attribute: b"cn", value: b"x" };
    for _ in 0..5000 {
        let compare = proto::op::Compare { dn: b"cn=x,dc=b", assertion };
        fixture.ask(&Request::Compare(compare), None, model::ResultCode::CompareTrue);
    }
    let list = change_list([(ModifyKind::Replace, &b"userPassword"[..], [&b"hunter2"[..]])]);
    let modify = Modify { dn: b"cn=x,dc=b", changes: Changes::parse(&list).expect("it is a list") };
    fixture.ask(&Request::Modify(modify), None, model::ResultCode::Success);
    fixture.close();
    let lines = fixture.lines();
    let (close, written) = lines.split_last().expect("there are lines");
    let modifies: Vec<_> = written.iter().filter(|line| line["op"] == "modify").collect();
    assert_eq!(modifies.len(), 1, "an update is always written");
    assert_eq!(modifies[0]["mods"], serde_json::json!(["replace:userPassword"]));
    let compares = written.len() as u64 - 1;
    assert_eq!(compares + close["counted_compare"].as_u64().unwrap(), 5000);
    assert!((1000..4000).contains(&compares), "{compares}");
    assert_eq!(close["operations"], 5001);
}

/// The same session in the forms of other servers. A client makes no quote end.
#[test]
fn the_forms_of_other_servers() {
    use model::ResultCode::{InvalidCredentials, Success};
    let text = |form| {
        let mut fixture = Fixture::new(Access::All, form);
        fixture.bind(b"uid=a,dc=b", b"hunter2", Success);
        fixture.bind(b"cn=x\\22,dc=b", b"hunter2", InvalidCredentials);
        fixture.ask(&Request::Delete(b"cn=\xc2\x85\",dc=b"), Some(b"dn:uid=c,dc=b"), Success);
        fixture.ask(&Request::Unbind, None, Success);
        fixture.close();
        String::from_utf8(fixture.out).expect("it is text")
    };
    let openldap = text(Form::Openldap);
    let head = "2023-11-14T22:13:20.123Z h slapd[7]: conn=3 ";
    let lines: Vec<_> = openldap.lines().map(|line| line.strip_prefix(head).expect(line)).collect();
    assert_eq!(
        lines,
        [
            "fd=1 ACCEPT from IP=10.0.0.1:5 ()",
            "op=0 BIND dn=\"uid=a,dc=b\" method=128",
            "op=0 BIND dn=\"uid=a,dc=b\" mech=SIMPLE bind_ssf=0 ssf=0",
            "op=0 RESULT tag=97 err=0 qtime=0.000000 etime=0.000000 text=",
            "op=1 BIND anonymous mech=implicit bind_ssf=0 ssf=0",
            "op=1 BIND dn=\"cn=x\\22,dc=b\" method=128",
            "op=1 RESULT tag=97 err=49 qtime=0.000000 etime=0.000000 text=",
            "op=2 PROXYAUTHZ dn=\"uid=c,dc=b\"",
            "op=2 DEL dn=\"<no DN, 11 octets>\"",
            "op=2 RESULT tag=107 err=0 qtime=0.000000 etime=0.000000 text=",
            "op=3 UNBIND",
            "fd=1 closed",
        ]
    );
    let ds389 = text(Form::Ds389);
    let head = "[14/Nov/2023:22:13:20.123000000 +0000] conn=3 ";
    let times = "wtime=0.000000000 optime=0.000000000 etime=0.000000000";
    let written: Vec<_> = ds389.lines().skip(3).map(|line| line.strip_prefix(head).expect(line)).collect();
    assert!(ds389.starts_with("\tPando/1\n\th:7\n\n"));
    assert_eq!(
        written,
        [
            "fd=1 slot=1 connection from 10.0.0.1 to ",
            "op=0 BIND dn=\"uid=a,dc=b\" method=128 version=3",
            &format!("op=0 RESULT err=0 tag=97 nentries=0 {times} dn=\"uid=a,dc=b\""),
            "op=1 BIND dn=\"cn=x\\22,dc=b\" method=128 version=3",
            &format!("op=1 RESULT err=49 tag=97 nentries=0 {times}"),
            "op=2 DEL dn=\"<no DN, 11 octets>\" authzid=\"uid=c,dc=b\"",
            &format!("op=2 RESULT err=0 tag=107 nentries=0 {times}"),
            "op=3 UNBIND",
            "op=3 fd=1 closed - U1",
        ]
    );
}

/// What operations have that most have not.
#[test]
fn what_is_seldom_there() {
    let written = |form| {
        let mut fixture = Fixture::new(Access::All, form);
        fixture.put(&Record::Secured {
            strength: 128,
            version: b"TLSv1.3",
            suite: b"TLS_AES_128_GCM_SHA256",
        });
        fixture.unindexed();
        fixture
    };
    let line = written(Form::Json).lines().pop().expect("it has a line");
    for (key, value) in [
        ("peer", "10.0.0.1:5"),
        ("via", "10.0.0.9:5"),
        ("tls", "TLSv1.3"),
        ("cipher", "TLS_AES_128_GCM_SHA256"),
        ("txn", "7"),
        ("session", "ada"),
        ("session_format", "1.2"),
        ("session_ip", "9::"),
        ("session_host", "h"),
        ("rule", "near"),
    ] {
        assert_eq!(line[key], value, "{key}");
    }
    for (key, value) in [("looked", 500), ("entries", 3), ("wait_us", 20), ("ssf", 128), ("code", 53)] {
        assert_eq!(line[key], value, "{key}");
    }
    assert_eq!(line["unindexed"], true);
    for (form, words) in [
        (
            Form::Openldap,
            &["qtime=0.000020 etime=", "tls_proto=TLSv1.3 tls_cipher=TLS_AES_128_GCM_SHA256"][..],
        ),
        (Form::Ds389, &["wtime=0.000020000 optime=", " notes=U ", " TLS1.3 128-bit AES-GCM\n"]),
    ] {
        let text = String::from_utf8(written(form).out).expect("it is text");
        assert!(words.iter().all(|words| text.contains(words)), "{text}");
    }
}

/// Reads a file as `pando log cat` does, in pieces of any size.
fn cat(file: &[u8], form: Form, piece: usize) -> String {
    let mut journal = Journal::new(Access::All, form, Origin::default());
    let (mut reader, mut out) = (crate::frame::Reader::default(), Vec::new());
    for piece in file.chunks(piece) {
        reader.feed(piece);
        while let Some(piece) = reader.piece() {
            let crate::frame::Piece::Record(stamp, record) = piece else { panic!("it is whole") };
            journal.take(stamp, record, &mut out);
        }
    }
    journal.finish_all(&mut out);
    String::from_utf8(out).expect("it is text")
}

/// G1: what the binary form comes to is what the other forms have.
#[test]
fn test_g1_records_come_to_the_same_lines() {
    use model::ResultCode::{CompareTrue, InvalidCredentials, Success};
    let written = |access, form| {
        let mut fixture = Fixture::new(access, form);
        fixture.put(&Record::Secured {
            strength: 128,
            version: b"TLSv1.3",
            suite: b"TLS_AES_128_GCM_SHA256",
        });
        fixture.bind(b"uid=a,dc=b", b"hunter2", Success);
        let assertion = model::filter::Assertion { attribute: b"cn", value: b"x" };
        for _ in 0..3000 {
            let compare = proto::op::Compare { dn: b"cn=x,dc=b", assertion };
            fixture.ask(&Request::Compare(compare), None, CompareTrue);
        }
        fixture.bind(b"hunter2", b"hunter2", InvalidCredentials);
        fixture.ask(&Request::Delete(b"cn=x,dc=b"), Some(b"dn:uid=c,dc=b"), Success);
        fixture.unindexed();
        fixture.close();
        fixture.journal.lost(1, 7, &mut fixture.out);
        fixture.out
    };
    for access in [Access::All, Access::Sample] {
        let file = written(access, Form::Binary);
        assert!(!file.windows(7).any(|part| part == b"hunter2"));
        for form in [Form::Json, Form::Openldap, Form::Ds389] {
            let expected = String::from_utf8(written(access, form)).expect("it is text");
            // A sample as JSON has no line for the begin of a connection.
            let shown: String = match (access, form) {
                (Access::Sample, Form::Json) => cat(&file, form, 100)
                    .split_inclusive('\n')
                    .filter(|line| !line.contains("\"open\""))
                    .collect(),
                _ => cat(&file, form, 7),
            };
            let differs = shown.lines().zip(expected.lines()).find(|(shown, expected)| shown != expected);
            assert_eq!(differs, None, "{access:?} {form:?}");
            assert_eq!(shown.len(), expected.len(), "{access:?} {form:?}");
        }
    }
}

/// Lost records of ends and of answers take no memory for ever.
#[test]
fn what_was_lost_is_forgotten() {
    let mut journal = Journal::new(Access::Sample, Form::Json, Origin::default());
    let mut out = Vec::new();
    for connection in 1..=CONNECTIONS_MAX as u64 + 10 {
        let stamp = Stamp { connection, wall_ms: 1, monotonic_ns: 1 };
        journal.take(stamp, Record::Open { peer: b"10.0.0.1:5", listener: b"", via: b"" }, &mut out);
    }
    assert_eq!(journal.connections.len(), CONNECTIONS_MAX);
    assert_eq!(journal.connections.values().map(|open| open.slot).max(), Some(CONNECTIONS_MAX as u64));
    let stamp = Stamp { connection: 1 << 20, wall_ms: 1, monotonic_ns: 1 };
    let requests = crate::open::PENDING_MAX as u64 + 10;
    for number in 1..=requests {
        let id = number as i32;
        let request = Record::Request {
            number,
            id,
            op: tag::COMPARE,
            target: b"dc=b",
            detail: b"cn",
            controls: b"",
            acting: b"",
            extra: Extra::default(),
        };
        journal.take(stamp, request, &mut out);
    }
    assert_eq!(journal.connections[&stamp.connection].counted[&tag::COMPARE], 10);
    journal.take(stamp, Record::Close { operations: requests }, &mut out);
    let lines = String::from_utf8(out).expect("it is text");
    assert_eq!(lines.lines().count() as u64, requests - 10 + 1, "each has a line or is counted");
}
