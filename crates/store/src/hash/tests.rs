use super::*;
use model::short::Word;
use proptest::prelude::*;
use std::collections::BTreeSet;

proptest! {
    #[test]
    fn words_are_mixed_as_their_bytes_are(key: u64, bytes in proptest::collection::vec(any::<u8>(), 0..32)) {
        prop_assert_eq!(mix(key, &bytes), mix_word(key, Word::of(&bytes).expect("it is short")));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]
    #[test]
    fn agrees_with_a_set(
        steps in proptest::collection::vec((any::<bool>(), any::<bool>(), 0u32..3000), 0..20_000),
    ) {
        let readers = Readers::new();
        let (table, mut writer) = Table::create(100_000, true).unwrap();
        let mut model = BTreeSet::new();
        for (at, (add, only, n)) in steps.into_iter().enumerate() {
            let (tag, value) = (mix(1, &n.to_le_bytes()) as u32, n + 1);
            if add && only {
                // No two of these have the same tag.
                prop_assert_eq!(table.put_only(&mut writer, &readers, tag, value), Ok(model.insert(value)));
            } else if add && model.insert(value) {
                table.put(&mut writer, &readers, tag, None, value).unwrap();
            } else if !add && model.remove(&value) {
                table.remove(tag, value);
            }
            readers.publish(at as u64);
        }
        for n in 0..3000u32 {
            let found = table.find(mix(1, &n.to_le_bytes()) as u32, |v| v == n + 1);
            prop_assert_eq!(found.is_some(), model.contains(&(n + 1)));
        }
    }
}

#[test]
fn it_is_well_filled_at_every_size() {
    let readers = Readers::new();
    let (table, mut writer) = Table::create(2_000_000, true).unwrap();
    for n in 1..=1_000_000u32 {
        table.put(&mut writer, &readers, mix(7, &n.to_le_bytes()) as u32, None, n).unwrap();
        readers.publish(u64::from(n));
        if n >= 100_000 && n % 10_000 == 0 {
            let percent = n as usize * 800 / table.bytes(&writer);
            assert!((54..=85).contains(&percent), "{percent} % of words are in use at {n}");
        }
    }
    for n in 1..=1_000_000u32 {
        assert_eq!(table.find(mix(7, &n.to_le_bytes()) as u32, |v| v == n), Some(n));
    }
}

#[test]
fn units_are_used_again() {
    let readers = Readers::new();
    let (table, mut writer) = Table::create(1_000_000, true).unwrap();
    let tag = |n: u32| mix(7, &n.to_le_bytes()) as u32;
    for n in 1..=2_000_000u32 {
        table.put(&mut writer, &readers, tag(n), None, n).unwrap();
        if n > 100_000 {
            table.remove(tag(n - 100_000), n - 100_000);
        }
        readers.publish(u64::from(n));
    }
    let bytes = table.bytes(&writer);
    assert!(bytes < 1_700_000, "{bytes} bytes for 100,000 words");
    assert!((1_900_001..=2_000_000).all(|n| table.find(tag(n), |v| v == n) == Some(n)));
}

#[test]
fn what_a_segment_shares_of_its_tags_does_not_choose_the_bucket() {
    let segment = Segment::of([1, 2, 3].into_iter());
    // At the greatest depth only the low 12 bits differ.
    let buckets: BTreeSet<usize> = (0..1 << 12).map(|low| segment.first_bucket(0xabcd_e000 | low)).collect();
    assert_eq!(buckets.len(), LARGE * UNIT_BUCKETS);
}

#[test]
fn a_full_table_says_so() {
    let readers = Readers::new();
    let (table, mut writer) = Table::create(1, true).unwrap();
    let outcome = (1..10_000_000u32)
        .try_for_each(|n| table.put(&mut writer, &readers, mix(7, &n.to_le_bytes()) as u32, None, n));
    assert_eq!(outcome, Err(Full));
}
