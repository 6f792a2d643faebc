use super::*;

const OWN: ReplicaId = ReplicaId(1);
const HOUR_MS: i64 = 3_600_000;

/// What three replicas say in each of so many rounds, half a second apart, from a time on: microseconds of a sync of each, and milliseconds by which
/// its clock is wrong. Returns who was better in each.
fn rounds(
    health: &mut Health,
    from_ms: u64,
    count: u64,
    sync_us: [u64; 3],
    clock_ms: [i64; 3],
) -> Vec<Vec<u64>> {
    let members = Members::of_voters([1, 2, 3].map(ReplicaId));
    let mut better = Vec::new();
    for round in 0..count {
        let monotonic_ms = from_ms + round * 500;
        let wall_ms = |at: usize| (5 * HOUR_MS as u64 + monotonic_ms).saturating_add_signed(clock_ms[at]);
        let now = Now { monotonic_ms, wall_ms: wall_ms(0) };
        health.on_leader(Some(OWN), monotonic_ms);
        for at in [1, 2] {
            let report = Report { asked_ms: monotonic_ms, sync_us: sync_us[at], wall_ms: wall_ms(at) };
            health.on_report(ReplicaId(at as u64 + 1), report, now);
        }
        if sync_us[0] > 0 {
            health.sync_took(sync_us[0]);
        }
        let conditions = health.judge(OWN, &members, now);
        assert_eq!(conditions.replicas.len(), 3);
        better.push(conditions.better.iter().map(|id| id.0).collect());
    }
    better
}

const RIGHT: [i64; 3] = [0, 20, -20];

#[test]
fn a_disk_that_is_slow_for_ten_seconds_has_others_lead() {
    let better = rounds(&mut Health::default(), 0, 30, [200_000, 1_000, 39_000], RIGHT);
    assert!(better[..20].iter().all(Vec::is_empty), "{better:?}");
    // It is offered for a while, and then for ten seconds not.
    assert!(better[20..26].iter().all(|ids| *ids == [2, 3]) && better[26..].iter().all(Vec::is_empty));
    let better = |sync_us| rounds(&mut Health::default(), 0, 30, sync_us, RIGHT).concat();
    assert!(better([9_900, 100, 100]).is_empty(), "noise of fast disks");
    assert!(better([200_000, 41_000, 41_000]).is_empty(), "not five times as long");
    assert!(better([0, 100, 100]).is_empty() && better([200_000, 0, 0]).is_empty(), "nothing is known");
    assert_eq!(better([200_000, 1_000, 150_000])[0], 2);
}

#[test]
fn a_disk_that_is_slow_now_and_then_changes_nothing() {
    let mut health = Health::default();
    for round in 0..20 {
        let slow = rounds(&mut health, round * 8_000, 15, [200_000, 1_000, 1_000], RIGHT);
        let fast = rounds(&mut health, round * 8_000 + 7_500, 1, [2_000, 1_000, 1_000], RIGHT);
        assert!(slow.concat().is_empty() && fast.concat().is_empty());
    }
}

#[test]
fn who_led_within_a_minute_does_not_lead_again() {
    let mut health = Health::default();
    health.on_leader(Some(ReplicaId(2)), 0);
    health.on_leader(None, 1_000);
    let first = rounds(&mut health, 1_500, 26, [200_000, 1_000, 190_000], RIGHT).concat();
    assert!(first.is_empty(), "{first:?}");
    let later = rounds(&mut health, 61_000, 30, [200_000, 1_000, 190_000], RIGHT).concat();
    assert!(!later.is_empty() && later.iter().all(|id| *id == 2));
}

#[test]
fn a_clock_that_is_wrong_for_ten_seconds_has_others_lead() {
    let better = rounds(&mut Health::default(), 0, 22, [100, 100, 100], [HOUR_MS, 10, -10]);
    assert!(better[..20].iter().all(Vec::is_empty) && better[20] == [2, 3], "{better:?}");
    let better = |clocks| rounds(&mut Health::default(), 0, 30, [100, 100, 100], clocks).concat();
    assert!(better([10, HOUR_MS, 0]).is_empty(), "that of another one is wrong");
    assert!(better([HOUR_MS, -HOUR_MS, 0]).is_empty(), "nobody knows which is right");
    assert!(better([400, 0, 0]).is_empty());
    // A disk that is faster is no help if the clock beside it is wrong.
    let better = rounds(&mut Health::default(), 0, 30, [200_000, 100, 190_000], [0, HOUR_MS, 0]);
    assert!(better.concat().is_empty(), "{better:?}");
    let better = rounds(&mut Health::default(), 0, 22, [100, 100, 30_000], [HOUR_MS, 0, 0]);
    assert_eq!(better[20], [2], "the other one's disk is slow");
}

#[test]
fn changes_are_dated_by_a_majority() {
    let mut health = Health::default();
    let right_ms = |monotonic_ms: u64| 5 * HOUR_MS as u64 + monotonic_ms;
    let hour_ms = HOUR_MS as u64;
    assert_eq!(health.corrected(7, 0), 7, "nothing is known");
    rounds(&mut health, 0, 3, [100; 3], [0; 3]);
    assert_eq!(health.corrected(right_ms(1_100), 1_100), right_ms(1_100));
    // It jumps between two rounds, and the next finds it wrong.
    assert_eq!(health.corrected(right_ms(1_200) + hour_ms, 1_200), right_ms(1_200));
    rounds(&mut health, 1_500, 1, [100; 3], [HOUR_MS, 0, 0]);
    assert_eq!(health.corrected(right_ms(1_600) + hour_ms, 1_600), right_ms(1_600));
    // All clocks were set.
    rounds(&mut health, 2_000, 1, [100; 3], [HOUR_MS; 3]);
    assert_eq!(health.corrected(right_ms(2_100) + hour_ms, 2_100), right_ms(2_100) + hour_ms);
    // After that nobody was heard.
    assert_eq!(health.corrected(3, 9_000), 3);
}
