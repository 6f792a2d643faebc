use super::*;
use proptest::prelude::*;
use proto::Request;
use proto::op::search::put_entry_head;
use proto::op::{Authentication, Bind};
use proto::result::encode_done;

const STAMP: Stamp = Stamp { connection: 1, wall_ms: 2, monotonic_ns: 3 };

fn recorded(input: &[u8]) -> Vec<Vec<u8>> {
    let (mut tap, mut memory, mut records) = (Tap::default(), Memory::default(), Vec::new());
    tap.requests(STAMP, input, &mut memory, &mut |record| records.push(record.to_vec()));
    records
}

/// G3: neither the password of a bind nor the credentials of a mechanism are in what is logged.
#[test]
fn test_g3_no_record_has_what_proves_a_name() {
    for (authentication, method) in [
        (Authentication::Simple(b"hunter2"), "simple"),
        (Authentication::Sasl { mechanism: b"PLAIN", credentials: Some(b"\0ada\0hunter2") }, "PLAIN"),
    ] {
        let mut input = Vec::new();
        Request::Bind(Bind { version: 3, name: b"cn=a", authentication }).encode(&mut input, 7, &[]);
        let records = recorded(&input);
        assert_eq!(records.len(), 1);
        assert!(!records[0].windows(7).any(|part| part == b"hunter2"));
        let Some((STAMP, Record::Request { id: 7, op: tag::BIND, detail, .. })) = Record::decode(&records[0])
        else {
            panic!("it is a bind");
        };
        assert_eq!(detail, method.as_bytes());
    }
}

/// Results as they are recorded of an answer that is cut anywhere: the same as of the whole.
#[test]
fn answers_may_be_cut_behind_their_head() {
    let mut written = Vec::new();
    put_entry_head(&mut written, 5, 1, 100);
    written.resize(written.len() + 101, b'x');
    let whole = {
        let mut reply = Vec::new();
        encode_done(&mut reply, 5, tag::SEARCH_DONE, model::ResultCode::Success);
        reply
    };
    let entry = head(&written).expect("it has a head").0;
    written.truncate(entry.min(written.len()));
    written.resize(entry, b'x');
    written.extend_from_slice(&whole);
    for cut in 16..entry {
        let (mut tap, mut memory, mut records) = (Tap::default(), Memory::default(), Vec::new());
        for part in [&written[..cut], &written[cut..]] {
            tap.answers(STAMP, part, &mut memory, &mut |record| records.push(record.to_vec()));
        }
        let expected = Record::Answer { id: 5, code: 0, text: b"", entries: 1, bytes: written.len() as u64 };
        assert_eq!(records.iter().map(|r| Record::decode(r)).collect::<Vec<_>>(), [Some((STAMP, expected))]);
    }
}

proptest! {
    #[test]
    fn any_octets_make_records(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for record in recorded(&bytes) {
            prop_assert!(Record::decode(&record).is_some());
        }
        let (mut tap, mut memory) = (Tap::default(), Memory::default());
        tap.answers(STAMP, &bytes, &mut memory, &mut |record| assert!(Record::decode(record).is_some()));
    }
}
