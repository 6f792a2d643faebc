//! Octets of a connection as the access log takes them: any of them make whole lines without control characters.

use logs::journal::{Access, Journal};
use logs::record::{Record, Stamp};
use logs::tap::{Memory, Tap};
use std::sync::{Arc, OnceLock};

fn standard_schema() -> Arc<schema::Schema> {
    static SCHEMA: OnceLock<Arc<schema::Schema>> = OnceLock::new();
    let build = || Arc::new(schema::Builder::new().standard().build().expect("it is built in"));
    Arc::clone(SCHEMA.get_or_init(build))
}

/// What comes is taken for requests, and then for answers.
pub fn check(data: &[u8]) {
    let stamp = Stamp { connection: 1, wall_ms: 1, monotonic_ns: 1 };
    let (mut journal, mut lines) = (Journal::new(standard_schema(), Access::All, 1), Vec::new());
    let (mut tap, mut memory) = (Tap::default(), Memory::default());
    let mut put = |record: &[u8]| {
        assert!(Record::decode(record).is_some(), "what the tap puts is a record");
        journal.take(record, &mut lines);
    };
    tap.requests(stamp, data, &mut memory, &mut put);
    tap.answers(stamp, data, &mut memory, &mut put);
    memory.put(stamp, &Record::Close, &mut put);
    let text = String::from_utf8(lines).expect("lines are text");
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    assert!(text.lines().all(|line| line.starts_with('{') && line.ends_with('}')), "{text:?}");
}
