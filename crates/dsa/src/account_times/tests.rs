use super::*;
use crate::system::tests::Fixture;
use proptest::prelude::*;

const ANN: &[u8] = b"uid=ann,dc=com";
const DAY_MS: u64 = 24 * 3600 * 1000;

fn fields() -> impl Strategy<Value = Field> {
    prop::sample::select(Field::ALL.to_vec())
}

/// When an entry was added and last changed, and by whom.
type Stamps = (Csn, u32, Option<(Csn, u32)>);

/// What Ann's entry has of times, and what a change of it would change.
fn state(fixture: &Fixture) -> ([Option<u64>; 3], Stamps) {
    let mut reader = store::Reader::register(&fixture.dsa.shard).expect("there are few");
    let pin = reader.pin();
    let at = pin.read_point();
    let id = at.resolve(ANN, &mut Default::default()).expect("she is there");
    let entry = at.entry(id).expect("she is there");
    let stamps = entry.stamps();
    let names = ["pwdLastSuccess", "authTimestamp", "pwdAccountTmpLockoutEnd"];
    (names.map(|name| stored(at, &entry, name)), (stamps.created, stamps.creator, stamps.modified))
}

fn time(fixture: &Fixture, field: Field, ms: u64) -> AccountTime {
    let mut reader = store::Reader::register(&fixture.dsa.shard).expect("there are few");
    let pin = reader.pin();
    let at = pin.read_point();
    let id = at.resolve(ANN, &mut Default::default()).expect("she is there");
    AccountTime::of(&at.entry(id).expect("she is there"), field, ms)
}

proptest! {
    #[test]
    fn a_time_comes_back_and_nothing_else_is_one(
        (entry, created, field, ms) in (any::<u32>(), any::<u64>(), fields(), any::<u64>()),
        (at, byte) in (4usize..8, any::<u8>()),
    ) {
        let time = AccountTime { entry: EntryId(entry), created: Csn(created), field, ms };
        let mut bytes = Vec::new();
        time.encode(&mut bytes);
        let mut bytes: [u8; TIME_BYTES] = bytes.try_into().expect("so many");
        prop_assert_eq!(AccountTime::decode(&bytes), Some(time));
        bytes[at] = byte;
        let is_known = if at == 4 { (1..=4).contains(&byte) } else { byte == 0 };
        prop_assert_eq!(AccountTime::decode(&bytes).is_some(), is_known);
    }

    /// The latest counts, in whatever order and how often they come: so replicas and replays agree.
    #[test]
    fn times_merge_by_maximum(times in prop::collection::vec(1..40 * DAY_MS / 1000, 1..8), seed in any::<u64>()) {
        let fixture = Fixture::new();
        let before = state(&fixture);
        let mut all: Vec<AccountTime> = times.iter().map(|s| time(&fixture, Field::LastSuccess, s * 1000)).collect();
        let last = times.iter().max().map(|s| s * 1000);
        for _ in 0..2 {
            prop_assert!(!apply(&fixture.dsa.shard, all.iter().copied()));
            prop_assert_eq!(state(&fixture), ([last, last, None], before.1), "and the entry has not changed");
            let by = seed as usize % all.len();
            all.rotate_left(by);
        }
    }
}

#[test]
fn the_table_keeps_the_latest_of_each_account() {
    let (times, fixture) = (AccountTimes::default(), Fixture::new());
    let note = |field, ms| times.note(time(&fixture, field, ms));
    assert!(!times.is_due(1), "nothing waits");
    for ms in [5_000, 9_000, 7_000] {
        note(Field::LastSuccess, ms);
        note(Field::DelayEnd, ms);
    }
    assert!(!times.is_due(2) && times.is_due(1 + BATCH_NS) && !times.is_due(2 + BATCH_NS), "once");
    assert_eq!(times.take(1), [time(&fixture, Field::LastSuccess, 9_000)]);
    times.put_back(&[time(&fixture, Field::LastSuccess, 9_000)]);
    // A success ends the delay that waits.
    note(Field::NoFailures, 10_000);
    let fields: Vec<(Field, u64)> = times.take(9).iter().map(|time| (time.field, time.ms)).collect();
    assert_eq!(fields, [(Field::LastSuccess, 9_000), (Field::NoFailures, 10_000)]);
    assert!(times.is_empty());
}

#[test]
fn another_entry_with_the_same_id_is_another_account() {
    let fixture = Fixture::new();
    let ann = time(&fixture, Field::LastSuccess, 5_000);
    let other = AccountTime { created: Csn(ann.created.0 + 1), ..ann };
    let gone = AccountTime { entry: EntryId(4711), ..ann };
    assert!(!apply(&fixture.dsa.shard, [other, gone].into_iter()));
    assert_eq!(state(&fixture).0, [None; 3]);
    let times = AccountTimes::default();
    times.note(AccountTime { ms: 9_000, ..other });
    times.note(ann);
    assert_eq!(times.take(9), [ann], "the newer one is the entry");
}

#[test]
fn a_delay_ends_with_a_success_and_the_entry_stays_as_it_was() {
    let fixture = Fixture::new();
    // A change of the entry before: its stamps are others than those of its creation.
    let mut writer = fixture.dsa.shard.writer();
    let description =
        Description::plain(fixture.dsa.shard.schema().find_type(b"description").expect("it has it"));
    let changes =
        [Change { kind: ChangeKind::Replace, description, values: [&b"x"[..]].into_iter().collect() }];
    let stamp = store::Stamp { csn: writer.stamp(1 << 41), actor: 0 };
    let modify = store::Modify {
        dn: ANN,
        changes: &changes,
        keep_operational: false,
        is_permissive: false,
        is_relaxed: false,
        known: None,
    };
    writer.modify(modify, stamp).expect("it is a change");
    writer.publish();
    let before = state(&fixture).1;
    let apply = |field, ms| apply(&fixture.dsa.shard, [time(&fixture, field, ms)].into_iter());
    apply(Field::DelayEnd, 5_500);
    assert_eq!(state(&fixture), ([None, None, Some(5_500)], before));
    apply(Field::DelayEnd, 5_000);
    apply(Field::DelayEnd, 9_000);
    assert_eq!(state(&fixture).0[2], Some(9_000));
    apply(Field::NoFailures, 9_100);
    apply(Field::NoFailures, 9_200);
    assert_eq!(state(&fixture), ([None; 3], before));
}

#[test]
fn failures_are_those_since_the_last_success_and_the_newest() {
    let fixture = Fixture::new();
    let before = state(&fixture).1;
    let failures = || {
        let mut reader = store::Reader::register(&fixture.dsa.shard).expect("there are few");
        let pin = reader.pin();
        let at = pin.read_point();
        let id = at.resolve(ANN, &mut Default::default()).expect("she is there");
        let mut all = stored_failures(at, &at.entry(id).expect("she is there"));
        all.sort_unstable();
        all
    };
    let apply = |all: &[(Field, u64)]| {
        let times = all.iter().map(|(field, ms)| time(&fixture, *field, *ms));
        assert!(!super::apply(&fixture.dsa.shard, times));
    };
    let batch = [
        (Field::Failure, 1_000),
        (Field::NoFailures, 2_000),
        (Field::Failure, 3_000),
        (Field::Failure, 2_500),
    ];
    for _ in 0..2 {
        apply(&batch);
        assert_eq!(failures(), [2_500, 3_000], "however often it comes");
    }
    let many: Vec<(Field, u64)> = (0..50).map(|number| (Field::Failure, 10_000 + number)).collect();
    apply(&many);
    assert_eq!(failures(), (10_018..10_050).collect::<Vec<_>>());
    assert_eq!(state(&fixture).1, before);
    // In the table two of one millisecond are two, and a success takes what waits.
    let times = AccountTimes::default();
    (0..3).for_each(|_| times.note(time(&fixture, Field::Failure, 5_000)));
    let waiting: Vec<u64> = times.take(9).iter().map(|time| time.ms).collect();
    assert_eq!(waiting, [4_998, 4_999, 5_000]);
    // A success of the same millisecond is behind all of them.
    (0..3).for_each(|_| times.note(time(&fixture, Field::Failure, 5_000)));
    times.note(time(&fixture, Field::NoFailures, 5_000));
    assert_eq!(times.take(9).len(), 1);
    [5_000, 7_000].into_iter().for_each(|ms| times.note(time(&fixture, Field::Failure, ms)));
    times.note(time(&fixture, Field::NoFailures, 6_000));
    let fields: Vec<(Field, u64)> = times.take(9).iter().map(|time| (time.field, time.ms)).collect();
    assert_eq!(fields, [(Field::NoFailures, 6_000), (Field::Failure, 7_000)]);
}
