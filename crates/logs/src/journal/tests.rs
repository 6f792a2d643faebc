use super::*;
use crate::tap::{Memory, Tap};
use proto::Request;
use proto::control::proxied_authorization;
use proto::op::bind::{Authentication, Bind};
use proto::op::modify::{Changes, Modify, ModifyKind, change_list};
use proto::result::encode_done;

/// A connection whose requests are answered at once.
struct Fixture {
    journal: Journal,
    tap: Tap,
    memory: Memory,
    out: Vec<u8>,
    id: i32,
}

impl Fixture {
    fn new(access: Access) -> Fixture {
        let schema = Arc::new(schema::Builder::new().standard().build().expect("it is good"));
        let journal = Journal::new(schema, access, 16);
        let mut fixture =
            Fixture { journal, tap: Tap::default(), memory: Memory::default(), out: Vec::new(), id: 0 };
        fixture.put(&Record::Open { peer: b"10.0.0.1:5", listener: b"" });
        fixture
    }

    fn put(&mut self, record: &Record<'_>) {
        let (journal, out) = (&mut self.journal, &mut self.out);
        self.memory.put(stamp(), record, &mut |record| journal.take(record, out));
    }

    fn ask(&mut self, request: &Request<'_>, acting: Option<&[u8]>, code: model::ResultCode) {
        self.id += 1;
        let controls: Vec<_> = acting.map(proxied_authorization::control).into_iter().collect();
        let (mut input, mut answer) = (Vec::new(), Vec::new());
        request.encode(&mut input, self.id, &controls);
        if let Some(response) = tag::response_to(request.tag()) {
            encode_done(&mut answer, self.id, response, code);
        }
        let (journal, out) = (&mut self.journal, &mut self.out);
        self.tap.requests(stamp(), &input, &mut self.memory, &mut |record| journal.take(record, out));
        self.tap.answers(stamp(), &answer, &mut self.memory, &mut |record| journal.take(record, out));
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

    fn lines(&mut self) -> Vec<serde_json::Value> {
        let text = String::from_utf8(std::mem::take(&mut self.out)).expect("it is text");
        text.lines().map(|line| serde_json::from_str(line).expect("each line is an object")).collect()
    }
}

fn stamp() -> Stamp {
    Stamp { connection: 3, wall_ms: 1_700_000_000_123, monotonic_ns: 5 }
}

#[test]
fn who_asks_is_who_bound_before() {
    use model::ResultCode::{InvalidCredentials, Success};
    let mut fixture = Fixture::new(Access::All);
    fixture.bind(b"uid=a,dc=b", b"hunter2", Success);
    fixture.ask(&Request::Delete(b"cn=x,dc=b"), Some(b"dn:uid=c,dc=b"), Success);
    fixture.bind(b"hunter2", b"hunter2", InvalidCredentials);
    fixture.ask(&Request::Delete(b"cn=y,dc=b"), None, Success);
    fixture.ask(&Request::Unbind, None, Success);
    fixture.put(&Record::Close);
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
    let mut fixture = Fixture::new(Access::Sample);
    let assertion = model::filter::Assertion { attribute: b"cn", value: b"x" };
    for _ in 0..5000 {
        let compare = proto::op::Compare { dn: b"cn=x,dc=b", assertion };
        fixture.ask(&Request::Compare(compare), None, model::ResultCode::CompareTrue);
    }
    let list = change_list([(ModifyKind::Replace, &b"userPassword"[..], [&b"hunter2"[..]])]);
    let modify = Modify { dn: b"cn=x,dc=b", changes: Changes::parse(&list).expect("it is a list") };
    fixture.ask(&Request::Modify(modify), None, model::ResultCode::Success);
    fixture.put(&Record::Close);
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
