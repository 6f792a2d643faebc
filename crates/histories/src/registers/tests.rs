use super::*;
use crate::history::{Event, What};
use proptest::prelude::*;

const PLENTY: u64 = 1_000_000;

/// A single operation of a process of its own, from one time to another; without an end nobody knows what became of it.
fn operation(process: u32, begin: u64, end: Option<u64>, step: Step) -> Vec<Event> {
    let event = |at, what| Event { at, process, what, steps: vec![step.clone()] };
    let mut events = vec![event(begin, What::Invoke)];
    events.extend(end.map(|end| event(end, What::Ok)));
    events
}

fn read(value: u64) -> Step {
    Step::Read { register: "r".to_owned(), value: Some(value) }
}

fn write(value: u64) -> Step {
    Step::Write { register: "r".to_owned(), value }
}

fn swap(from: u64, to: u64, done: Option<bool>) -> Step {
    Step::Swap { register: "r".to_owned(), from, to, done }
}

type Line = (u64, Option<u64>, Step);

fn verdict(lines: &[Line]) -> Verdict {
    let events = (0..)
        .zip(lines)
        .flat_map(|(process, (begin, end, step))| operation(process, *begin, *end, step.clone()));
    check(&History::of(events.collect()).unwrap(), PLENTY)
}

fn is_refused(lines: &[Line]) -> bool {
    verdict(lines).anomalies() == [Anomaly::NotLinearizable]
}

#[test]
fn what_happens_at_the_same_time_has_any_order() {
    let lines = [(1, Some(4), write(1)), (2, Some(5), read(0)), (2, Some(5), read(1))];
    assert_eq!(verdict(&lines), Verdict::Holds);
}

#[test]
fn an_old_value_is_not_read_after_a_write() {
    assert!(is_refused(&[(1, Some(2), write(1)), (3, Some(4), read(0))]));
}

#[test]
fn reads_do_not_go_back() {
    let lines = [(1, Some(9), write(1)), (2, Some(3), read(1)), (4, Some(5), read(0))];
    assert!(is_refused(&lines));
}

#[test]
fn a_value_comes_from_a_write() {
    assert!(is_refused(&[(1, Some(2), write(1)), (3, Some(4), read(7))]));
}

#[test]
fn of_two_swaps_from_one_value_one_is_done() {
    let both = [(1, Some(4), swap(0, 1, Some(true))), (2, Some(5), swap(0, 2, Some(true)))];
    assert!(is_refused(&both));
    let one = [(1, Some(4), swap(0, 1, Some(true))), (2, Some(5), swap(0, 2, Some(false)))];
    assert_eq!(verdict(&one), Verdict::Holds);
    assert!(is_refused(&[(1, Some(2), swap(0, 1, Some(false)))]), "it held that");
}

#[test]
fn an_operation_without_an_answer_may_have_happened_at_any_time_or_not() {
    let lost = |value| vec![(1, None, write(1)), (3, Some(4), write(2)), (5, Some(6), read(value))];
    assert_eq!(verdict(&lost(1)), Verdict::Holds, "late");
    assert_eq!(verdict(&lost(2)), Verdict::Holds, "before, or never");
    assert!(is_refused(&lost(0)));
}

#[test]
fn an_operation_without_an_answer_happens_once() {
    let lines = [
        (1, None, swap(0, 1, None)),
        (2, Some(3), read(1)),
        (4, Some(5), write(0)),
        (6, Some(7), read(0)),
        (8, Some(9), read(1)),
    ];
    assert!(is_refused(&lines));
}

#[test]
fn after_a_cut_what_was_open_happens_no_more() {
    let history = |value| {
        let mut events = operation(0, 1, None, write(1));
        events.push(Event { at: 2, process: 0, what: What::Cut, steps: Vec::new() });
        events.extend(operation(1, 3, Some(4), read(0)));
        events.extend(operation(1, 5, Some(6), read(value)));
        History::of(events).unwrap()
    };
    assert_eq!(check(&history(0), PLENTY), Verdict::Holds);
    assert_eq!(check(&history(1), PLENTY).anomalies(), [Anomaly::NotLinearizable]);
}

#[test]
fn registers_are_looked_at_one_by_one() {
    let step = Step::Read { register: "other".to_owned(), value: Some(3) };
    let finding = verdict(&[(1, Some(2), write(3)), (3, Some(4), step)]);
    assert!(matches!(&finding, Verdict::Broken(f) if f[0].text.starts_with("other:")), "{finding}");
}

#[test]
fn a_search_that_takes_too_long_is_given_up() {
    let mut lines: Vec<Line> = (0..30).map(|n| (n, Some(100 + n), write(n))).collect();
    lines.push((200, Some(201), read(99)));
    let events =
        (0..).zip(&lines).flat_map(|(process, (b, e, step))| operation(process, *b, *e, step.clone()));
    let verdict = check(&History::of(events.collect()).unwrap(), 1000);
    assert!(matches!(verdict, Verdict::GaveUp(_)), "{verdict}");
}

/// Is there an order? By trying all.
fn any_order(lines: &[Line], placed: u32, state: u64) -> bool {
    let is_placed = |at: usize| placed & (1 << at) != 0;
    let open: Vec<usize> = (0..lines.len()).filter(|at| !is_placed(*at)).collect();
    if open.iter().all(|at| lines[*at].1.is_none()) {
        return true;
    }
    open.iter().any(|at| {
        let late = open.iter().any(|other| lines[*other].1.is_some_and(|end| end < lines[*at].0));
        let call = match &lines[*at].2 {
            Step::Read { value, .. } => Call::Read(value.unwrap()),
            Step::Write { value, .. } => Call::Write(*value),
            Step::Swap { from, to, done, .. } => Call::Swap(*from, *to, *done),
            _ => unreachable!(),
        };
        let after = Register.step(&state, &(0, call)).filter(|_| !late);
        after.is_some_and(|after| any_order(lines, placed | 1 << at, after))
    })
}

fn lines() -> impl Strategy<Value = Vec<Line>> {
    let step = prop_oneof![
        (0..3u64).prop_map(read),
        (1..3u64).prop_map(write),
        (0..3u64, 1..3u64, any::<bool>()).prop_map(|(from, to, done)| swap(from, to, Some(done))),
    ];
    // Times that differ by construction: twice the draw and the parity of begin and end.
    let line = (0..12u64, 0..8u64, 0..8u8, step).prop_map(|(begin, len, lost, step)| {
        let is_lost = lost == 0 && !matches!(step, Step::Read { .. });
        let step = match step {
            Step::Swap { register, from, to, .. } if is_lost => Step::Swap { register, from, to, done: None },
            other => other,
        };
        (begin * 2, (!is_lost).then_some((begin + len) * 2 + 1), step)
    });
    prop::collection::vec(line, 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_search_finds_an_order_if_and_only_if_there_is_one(lines in lines()) {
        let expected = if any_order(&lines, 0, INITIAL) { vec![] } else { vec![Anomaly::NotLinearizable] };
        prop_assert_eq!(verdict(&lines).anomalies(), expected);
    }

    /// Operations that take effect at a point of their time are accepted; one read of something older is not.
    #[test]
    fn serial_histories_hold_and_stale_reads_do_not(
        steps in prop::collection::vec((0..3u8, 0..40u64, 0..40u64), 10..200),
        pick in any::<prop::sample::Index>(),
    ) {
        let mut held = vec![INITIAL];
        let mut lines: Vec<Line> = Vec::new();
        for (at, (kind, before, after)) in (0u64..).zip(&steps) {
            let (now, next, point) = (*held.last().unwrap(), at + 1, 1000 + at * 10);
            let step = match kind {
                0 => read(now),
                1 => write(next),
                _ => swap(now, next, Some(true)),
            };
            if *kind > 0 {
                held.push(next);
            }
            lines.push((point - before, Some(point + 1 + after), step));
        }
        prop_assert_eq!(verdict(&lines), Verdict::Holds);
        let late = lines.iter().filter_map(|line| line.1).max().unwrap() + 1;
        lines.push((late, Some(late + 1), write(9999)));
        lines.push((late + 2, Some(late + 3), read(held[pick.index(held.len())])));
        prop_assert!(is_refused(&lines));
    }
}
