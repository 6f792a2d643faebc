use super::*;
use dsa::account_times::Field;
use dsa::settings::Record;
use model::{Csn, EntryId};
use proptest::prelude::*;

fn address() -> impl Strategy<Value = Option<PeerAddress>> {
    prop_oneof![
        Just(None),
        any::<(u32, u32, i32)>().prop_map(|(uid, gid, pid)| Some(PeerAddress::Unix(Credentials {
            uid,
            gid,
            pid
        }))),
        any::<(IpAddr, u16)>().prop_map(|(ip, port)| Some(PeerAddress::Tcp(SocketAddr::new(ip, port)))),
    ]
}

fn origin() -> impl Strategy<Value = Origin> {
    (address(), address(), any::<u64>(), any::<Vec<u8>>()).prop_map(|(peer, via, connection, who)| Origin {
        peer,
        via,
        connection,
        who,
    })
}

fn record() -> impl Strategy<Value = Record> {
    let texts =
        proptest::collection::btree_map("[a-eg-z.]{1,9}", proptest::collection::vec(".{0,9}", 0..3), 0..4);
    let history = proptest::collection::vec(".{1,9}", 0..3);
    (texts, history).prop_map(|(values, history)| Record { values, history, ..Record::default() })
}

fn what() -> impl Strategy<Value = What> {
    prop_oneof![
        Just(What::Updates),
        Just(What::Schema),
        any::<(i32, u64)>().prop_map(|(end, bytes)| What::Transaction { end, bytes }),
        (record(), record())
            .prop_map(|(base, record)| What::Settings(Box::new(Replacement { base, record }))),
    ]
}

fn comes_back(message: &Message<'_>, flip: prop::sample::Index) -> Result<(), TestCaseError> {
    let mut bytes = message.encode().expect("it is short");
    prop_assert_eq!(&Message::decode(&bytes), &Ok(message.clone()));
    let bit = flip.index(bytes.len() * 8);
    bytes[bit / 8] ^= 1 << (bit % 8);
    prop_assert!(Message::decode(&bytes).is_err());
    Ok(())
}

proptest! {
    #[test]
    fn updates_come_back_and_any_flipped_bit_shows(
        (run, lowest, more, again) in (1u64.., 1u64..1 << 40, 0u64..9, any::<u32>()),
        (term, not_after_ms) in (1u64.., any::<u64>()),
        actor: Vec<u8>,
        conditions: Vec<u8>,
        messages in proptest::collection::vec(any::<u8>(), 1..300),
        origin in origin(),
        what in what(),
        flip: prop::sample::Index,
    ) {
        let (actor, messages, conditions) = (&actor[..], &messages[..], &conditions[..]);
        let forwarded = Forwarded { what, actor, messages, conditions, origin };
        let name = Name { run, number: lowest + more, again };
        comes_back(&Message::Updates { name, lowest, term, not_after_ms, forwarded }, flip)?;
    }

    #[test]
    fn outcomes_and_times_come_back(
        (run, number, again, index, leader) in (1u64.., 1u64.., any::<u32>(), any::<u64>(), any::<u64>()),
        answers in proptest::collection::vec(any::<u8>(), 1..300),
        times in proptest::collection::vec((any::<u32>(), any::<u64>(), 0..Field::ALL.len(), any::<u64>()), 1..20),
        flip: prop::sample::Index,
    ) {
        let name = Name { run, number, again };
        let all = [
            Outcome::Applied(&answers), Outcome::Refused(&answers), Outcome::NotLeader, Outcome::NotProposed,
        ];
        for outcome in all {
            comes_back(&Message::Outcome { name, index, leader, outcome }, flip)?;
        }
        let time = |(entry, created, field, ms): (u32, u64, usize, u64)| AccountTime {
            entry: EntryId(entry), created: Csn(created), field: Field::ALL[field], ms,
        };
        let said = [
            Said::Asks { is_doubted: leader % 2 == 0, asked_ms: run }, Said::Value(leader), Said::Rebuilt(leader), Said::Wrong(leader),
            Said::AsksSlice(leader as u32), Said::Slice(leader), Said::WrongSlice(leader),
            Said::Forgotten { before: leader, report: Report { asked_ms: run, sync_us: number, wall_ms: index } },
        ];
        for said in said {
            comes_back(&Message::Comparison(compare::Message { term: number, index, said }), flip)?;
        }
        comes_back(&Message::Times(times.into_iter().map(time).collect()), flip)?;
    }

    #[test]
    fn any_bytes_with_a_checksum_are_read_without_a_panic(
        kind in 0u8..5,
        code in 0u8..9,
        rest in proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(4), any::<u8>()], 0..200),
    ) {
        let mut bytes = [&[0, 0, 0, 0, VERSION, kind, code, 0], &rest[..]].concat();
        let crc = crc32c::crc32c(&bytes[4..]);
        bytes[..4].copy_from_slice(&crc.to_le_bytes());
        if let Ok(message) = Message::decode(&bytes) {
            prop_assert_eq!(message.encode(), Some(bytes));
        }
    }
}

#[test]
fn what_no_server_says_is_refused() {
    let what = What::Updates;
    let forwarded =
        Forwarded { what, actor: b"", messages: b"m", conditions: b"", origin: Origin::default() };
    let name = Name { run: 1, number: 2, again: 0 };
    let read = |name, lowest, term, forwarded: &Forwarded<'_>| {
        let message = Message::Updates { name, lowest, term, not_after_ms: 0, forwarded: forwarded.clone() };
        Message::decode(&message.encode().unwrap()).map(|_| ())
    };
    assert_eq!(read(name, 2, 1, &forwarded), Ok(()));
    for name in [Name { run: 0, ..name }, Name { number: 0, ..name }] {
        assert_eq!(read(name, 1, 1, &forwarded), Err(Malformed::Content));
    }
    assert_eq!(read(name, 3, 1, &forwarded), Err(Malformed::Content));
    assert_eq!(read(name, 0, 1, &forwarded), Err(Malformed::Content));
    assert_eq!(read(name, 2, 0, &forwarded), Err(Malformed::Content));
    let empty = Forwarded { messages: b"", ..forwarded.clone() };
    assert_eq!(read(name, 2, 1, &empty), Err(Malformed::Content));
    let long = vec![0; NAME_BYTES_MAX + 1];
    assert_eq!(read(name, 2, 1, &Forwarded { actor: &long, ..forwarded }), Err(Malformed::Content));
}
