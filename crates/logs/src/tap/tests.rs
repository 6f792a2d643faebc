use super::*;
use proptest::prelude::*;
use proto::Request;
use proto::control::Control;
use proto::control::session_tracking::SessionTracking;
use proto::op::search::put_entry_head;
use proto::op::{Authentication, Bind};
use proto::result::encode_done;

const STAMP: Stamp = Stamp { connection: 1, wall_ms: 2, monotonic_ns: 3 };

fn recorded(input: &[u8]) -> Vec<Vec<u8>> {
    let (mut tap, mut memory, mut records) = (Tap::default(), Memory::default(), Vec::new());
    tap.requests(STAMP, (input, &mut Held::default()), &mut memory, &mut |record| {
        records.push(record.to_vec())
    });
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
            tap.answers(STAMP, part, &|_| Annotation::default(), &mut memory, &mut |record| {
                records.push(record.to_vec())
            });
        }
        let (bytes, annotation) = (written.len() as u64, Annotation::default());
        let expected = Record::Answer { id: 5, code: 0, text: b"", entries: 1, bytes, annotation };
        assert_eq!(records.iter().map(|r| Record::decode(r)).collect::<Vec<_>>(), [Some((STAMP, expected))]);
    }
}

/// What a request says of its session and its transaction, and how long it was held back.
#[test]
fn requests_say_more() {
    let of = |identifier| SessionTracking { identifier, ..SessionTracking::default() }.encode();
    let (tracked, again) = (of(b"tracked"), of(b"again"));
    let controls = [
        session_tracking::control(&tracked),
        Control { oid: transaction_specification::OID, critical: true, value: Some(b"7") },
        session_tracking::control(&again),
    ];
    let mut input = Vec::new();
    Request::Delete(b"cn=a").encode(&mut input, 7, &controls);
    let held = input.len();
    input.extend_from_within(..);
    let (mut tap, mut memory, mut found) = (Tap::default(), Memory::default(), Vec::new());
    let mut held = Held { octets: held, us: 2000 };
    tap.requests(STAMP, (&input, &mut held), &mut memory, &mut |record| {
        let Some((stamp, Record::Request { extra, .. })) = Record::decode(record) else {
            panic!("it is a request")
        };
        assert_eq!((extra.session, extra.transaction), (&tracked[..], &b"7"[..]));
        found.push((extra.wait_us, stamp.wall_ms));
    });
    assert_eq!(found, [(2000, 0), (0, 2)]);
}

/// What a client does of the kinds that matter here.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Compare,
    Search,
    Fails,
    Deletes,
    Binds,
    Unanswered,
}

impl Kind {
    /// Appends the request and its answer.
    fn put(self, id: i32, requests: &mut Vec<u8>, answers: &mut Vec<u8>) {
        use model::ResultCode::{CompareFalse, NoSuchObject, Success};
        let assertion = model::filter::Assertion { attribute: b"cn", value: b"x" };
        let compare = Request::Compare(proto::op::Compare { dn: b"cn=x", assertion });
        let bind = Request::Bind(Bind { version: 3, name: b"", authentication: Authentication::Simple(b"") });
        // A SearchRequest for cn=a, with presence of objectClass as the filter and no attributes named.
        let search =
            b"\x63\x24\x04\x04cn=a\x0a\x01\x02\x0a\x01\x00\x02\x01\x00\x02\x01\x00\x01\x01\x00\x87\x0bobjectClass\x30\x00";
        let (op, code) = match self {
            Kind::Search => {
                requests.extend_from_slice(&[0x30, search.len() as u8 + 3, 2, 1, id as u8]);
                requests.extend_from_slice(search);
                put_entry_head(answers, id, 4, 0);
                answers.extend_from_slice(b"cn=a\x30\x00");
                (tag::SEARCH_DONE, Success)
            }
            Kind::Compare | Kind::Fails | Kind::Unanswered => {
                compare.encode(requests, id, &[]);
                (tag::COMPARE_RESPONSE, if matches!(self, Kind::Fails) { NoSuchObject } else { CompareFalse })
            }
            Kind::Deletes => {
                Request::Delete(b"cn=x").encode(requests, id, &[]);
                (tag::DELETE_RESPONSE, Success)
            }
            Kind::Binds => {
                bind.encode(requests, id, &[]);
                (tag::BIND_RESPONSE, Success)
            }
        };
        if !matches!(self, Kind::Unanswered) {
            encode_done(answers, id, op, code);
        }
    }
}

fn kind() -> impl Strategy<Value = Kind> {
    let plain = prop_oneof![Just(Kind::Compare), Just(Kind::Search)];
    let other =
        prop_oneof![Just(Kind::Fails), Just(Kind::Deletes), Just(Kind::Binds), Just(Kind::Unanswered)];
    prop_oneof![8 => plain, 1 => other]
}

proptest! {
    /// G1: in a sample each request has its records or is counted, and what is no ordinary operation has its records.
    #[test]
    fn test_g1_each_request_is_recorded_or_counted(kinds in proptest::collection::vec(kind(), 0..100), slow: bool) {
        let (mut requests, mut answers) = (Vec::new(), Vec::new());
        for (id, kind) in (1..).zip(&kinds) {
            kind.put(id, &mut requests, &mut answers);
        }
        let (mut tap, mut memory, mut records) = (Tap::default(), Memory::default(), Vec::new());
        let mut put = |record: &[u8]| records.push(record.to_vec());
        let mut sample = Sample::of_none(STAMP.wall_ms);
        let answered = Stamp { monotonic_ns: STAMP.monotonic_ns + if slow { 10_000_000 } else { 9_999_999 }, ..STAMP };
        let (mut left, mut rest) = (&requests[..], &answers[..]);
        let (none, mut held) = (|_| Annotation::default(), Held::default());
        let both = (&mut left, &mut rest);
        tap.ordinary((STAMP, answered), both, (&mut held, &none), &mut sample, &mut memory, &mut put);
        tap.requests(STAMP, (left, &mut held), &mut memory, &mut put);
        tap.answers(answered, rest, &none, &mut memory, &mut put);
        tap.counted(answered, &mut memory, &mut put);
        prop_assert_eq!(tap.operations(), kinds.len() as u64);
        let (mut asked, mut results, mut counted) = (Vec::new(), Vec::new(), 0);
        for record in &records {
            match Record::decode(record).expect("it is one").1 {
                Record::Request { number, id, .. } => {
                    prop_assert_eq!(number, id as u64, "the n-th request has the number n");
                    asked.push(id);
                }
                Record::Answer { id, .. } => results.push(id),
                Record::Counted { count, .. } => counted += count as usize,
                other => prop_assert!(false, "{:?}", other),
            }
        }
        prop_assert_eq!(asked.len() + counted, kinds.len());
        let unanswered = |id: &i32| matches!(kinds[*id as usize - 1], Kind::Unanswered);
        asked.iter().filter(|id| !unanswered(id)).for_each(|id| assert!(results.contains(id)));
        for (id, kind) in (1..).zip(&kinds) {
            let is_plain = matches!(kind, Kind::Compare | Kind::Search);
            prop_assert!(asked.contains(&id) || is_plain, "{:?} has no record", kind);
        }
        // Nothing holds a request up: until the first that does, all that is plain is counted.
        let first = kinds.iter().position(|kind| matches!(kind, Kind::Binds | Kind::Unanswered));
        let before = &kinds[..first.unwrap_or(kinds.len())];
        let plain = before.iter().filter(|kind| matches!(kind, Kind::Compare | Kind::Search)).count();
        prop_assert_eq!(counted, if slow { 0 } else { plain });
    }

    #[test]
    fn any_octets_make_records(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for record in recorded(&bytes) {
            prop_assert!(Record::decode(&record).is_some());
        }
        let (mut tap, mut memory) = (Tap::default(), Memory::default());
        tap.answers(STAMP, &bytes, &|_| Annotation::default(), &mut memory, &mut |record| assert!(Record::decode(record).is_some()));
    }
}
