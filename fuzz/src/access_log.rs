//! Octets of a connection as the access log takes them: any of them make whole lines without control characters, in each form.

use logs::Origin;
use logs::form::Form;
use logs::hide::Hider;
use logs::journal::{Access, Journal};
use logs::record::{Annotation, Record, Stamp};
use logs::redact::Redactor;
use logs::tap::{Held, Memory, Tap};
use std::sync::{Arc, OnceLock};

fn standard_schema() -> Arc<schema::Schema> {
    static SCHEMA: OnceLock<Arc<schema::Schema>> = OnceLock::new();
    let build = || Arc::new(schema::Builder::new().standard().build().expect("it is built in"));
    Arc::clone(SCHEMA.get_or_init(build))
}

/// What comes is taken for requests, and then for answers.
pub fn check(data: &[u8]) {
    let text = lines(Form::Json, data);
    assert!(text.lines().all(|line| line.starts_with('{') && line.ends_with('}')), "{text:?}");
    for form in [Form::Openldap, Form::Ds389] {
        let text = lines(form, data);
        let head = |line: &str| line.contains("conn=1 op=") || line.contains("conn=1 fd=");
        assert!(text.lines().all(|line| head(line) && line.matches('"').count() % 2 == 0), "{text:?}");
    }
}

/// What else is known of some requests.
fn annotation(id: i32) -> Annotation<'static> {
    match id % 2 {
        0 => Annotation::default(),
        _ => Annotation { looked: Some(7), is_unindexed: true, rule: b"near" },
    }
}

fn lines(form: Form, data: &[u8]) -> String {
    let stamp = Stamp { connection: 1, wall_ms: 1, monotonic_ns: 1 };
    let redactor = Redactor::new(standard_schema(), Hider::default());
    let mut journal = Journal::new(Access::All, form, Origin::default()).redacted_by(redactor);
    let mut lines = Vec::new();
    let (mut tap, mut memory) = (Tap::default(), Memory::default());
    let mut put = |record: &[u8]| {
        let (stamp, record) = Record::decode(record).expect("what the tap puts is a record");
        journal.take(stamp, record, &mut lines);
    };
    tap.requests(stamp, (data, &mut Held { octets: data.len() / 2, us: 7 }), &mut memory, &mut put);
    tap.answers(stamp, data, &annotation, &mut memory, &mut put);
    memory.put(stamp, &Record::Close { operations: tap.operations() }, &mut put);
    let text = String::from_utf8(lines).expect("lines are text");
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    text
}
