use super::check;
use crate::history::{Event, History, Step, What};
use crate::verdict::{Anomaly, Verdict};

fn append(list: &str, element: u64) -> Step {
    Step::Append { list: list.to_owned(), element }
}

fn list(list: &str, elements: &[u64]) -> Step {
    Step::List { list: list.to_owned(), elements: Some(elements.to_vec()) }
}

/// Transactions, each of a process of its own: from when to when, how it came out, what it did.
fn verdict(transactions: &[(u64, u64, What, Vec<Step>)]) -> Verdict {
    let mut events = Vec::new();
    for (process, (begin, end, what, steps)) in (0..).zip(transactions) {
        let event = |at: u64, what| Event { at, process, what, steps: steps.clone() };
        events.extend([event(*begin, What::Invoke), event(*end, *what)]);
    }
    check(&History::of(events).unwrap())
}

/// The same, all at the same time and successful: their times say nothing.
fn concurrent(transactions: Vec<Vec<Step>>) -> Vec<Anomaly> {
    let all: Vec<_> = transactions.into_iter().map(|steps| (1, 100, What::Ok, steps)).collect();
    verdict(&all).anomalies()
}

#[test]
fn what_has_an_order_holds() {
    let serial = vec![
        vec![append("x", 1), list("x", &[1])],
        vec![list("x", &[1]), append("y", 1)],
        vec![list("x", &[1]), append("x", 2), list("x", &[1, 2])],
        vec![list("x", &[1, 2]), list("y", &[1])],
    ];
    assert_eq!(concurrent(serial), []);
}

#[test]
fn g0_writes_of_two_transactions_are_interleaved() {
    let found = concurrent(vec![
        vec![append("x", 1), append("y", 1)],
        vec![append("x", 2), append("y", 2)],
        vec![list("x", &[1, 2])],
        vec![list("y", &[2, 1])],
    ]);
    assert_eq!(found, [Anomaly::G0]);
}

#[test]
fn g1a_what_failed_is_read() {
    let transactions = [(1, 5, What::Fail, vec![append("x", 1)]), (2, 6, What::Ok, vec![list("x", &[1])])];
    assert_eq!(verdict(&transactions).anomalies(), [Anomaly::G1a]);
}

#[test]
fn g1b_a_transaction_is_seen_before_its_end() {
    let found = concurrent(vec![
        vec![append("x", 1), append("x", 2)],
        vec![list("x", &[1])],
        vec![list("x", &[1, 2])],
    ]);
    assert!(found.contains(&Anomaly::G1b), "{found:?}");
}

#[test]
fn g1c_two_transactions_see_each_other() {
    let found =
        concurrent(vec![vec![append("x", 1), list("y", &[1])], vec![append("y", 1), list("x", &[1])]]);
    assert_eq!(found, [Anomaly::G1c]);
}

#[test]
fn g_single_one_half_of_a_transaction_is_seen() {
    let found = concurrent(vec![
        vec![append("x", 1), append("y", 1)],
        vec![list("x", &[1]), list("y", &[])],
        vec![list("y", &[1])],
    ]);
    assert_eq!(found, [Anomaly::GSingle]);
}

#[test]
fn g2_write_skew() {
    let found = concurrent(vec![
        vec![list("x", &[]), append("y", 1)],
        vec![list("y", &[]), append("x", 1)],
        vec![list("x", &[1]), list("y", &[1])],
    ]);
    assert_eq!(found, [Anomaly::G2]);
}

#[test]
fn g2_two_readers_see_two_writers_in_different_order() {
    let found = concurrent(vec![
        vec![append("x", 1)],
        vec![append("y", 1)],
        vec![list("x", &[1]), list("y", &[])],
        vec![list("x", &[]), list("y", &[1])],
    ]);
    assert_eq!(found, [Anomaly::G2]);
}

#[test]
fn lost_update_both_read_the_same_version() {
    let both = vec![vec![list("x", &[]), append("x", 1)], vec![list("x", &[]), append("x", 2)]];
    for order in [vec![1, 2], vec![1], vec![]] {
        let found = concurrent([both.clone(), vec![vec![list("x", &order)]]].concat());
        assert_eq!(found.first(), Some(&Anomaly::LostUpdate), "{order:?}");
    }
}

#[test]
fn real_time_a_read_after_the_end_does_not_see_it() {
    let transactions = [(1, 2, What::Ok, vec![append("x", 1)]), (3, 4, What::Ok, vec![list("x", &[])])];
    assert_eq!(verdict(&transactions).anomalies(), [Anomaly::RealTime]);
}

#[test]
fn real_time_an_acknowledged_append_is_lost() {
    let transactions = [
        (1, 2, What::Ok, vec![append("x", 1)]),
        (3, 4, What::Ok, vec![append("x", 2)]),
        (5, 6, What::Ok, vec![list("x", &[1])]),
    ];
    assert_eq!(verdict(&transactions).anomalies(), [Anomaly::RealTime]);
}

#[test]
fn reads_of_one_list_agree() {
    let appends = vec![vec![append("x", 1)], vec![append("x", 2)], vec![append("x", 3)]];
    let reads = vec![vec![list("x", &[1, 2])], vec![list("x", &[1, 3, 2])]];
    let found = concurrent([appends, reads].concat());
    assert_eq!(found, [Anomaly::IncompatibleOrder]);
}

#[test]
fn a_transaction_sees_itself() {
    assert_eq!(concurrent(vec![vec![append("x", 1), list("x", &[])]]), [Anomaly::Internal]);
    let changed = vec![append("x", 1), append("y", 1)];
    let found = concurrent(vec![changed, vec![list("x", &[]), list("x", &[1])]]);
    assert_eq!(found, [Anomaly::Internal]);
}

#[test]
fn what_nobody_wrote_is_not_read() {
    assert_eq!(concurrent(vec![vec![list("x", &[9])]]), [Anomaly::Unwritten]);
    let found = concurrent(vec![vec![append("x", 1)], vec![list("x", &[1, 1])]]);
    assert!(found.contains(&Anomaly::Twice), "{found:?}");
}

#[test]
fn a_transaction_without_an_answer_happens_whole_or_not() {
    let lost = (1, 2, What::Unknown, vec![append("x", 1), append("y", 1)]);
    let cut = |steps| {
        let event = |at, process, what, steps: Vec<Step>| Event { at, process, what, steps };
        let (begin, end, what, both) = lost.clone();
        let events = vec![
            event(begin, 0, What::Invoke, both),
            event(end, 0, what, Vec::new()),
            event(3, 0, What::Cut, Vec::new()),
            event(4, 1, What::Invoke, Vec::new()),
            event(5, 1, What::Ok, steps),
        ];
        check(&History::of(events).unwrap()).anomalies()
    };
    assert_eq!(cut(vec![list("x", &[1]), list("y", &[1])]), []);
    assert_eq!(cut(vec![list("x", &[]), list("y", &[])]), []);
    assert_eq!(cut(vec![list("x", &[1]), list("y", &[])]), [Anomaly::GSingle]);
    assert_eq!(cut(vec![list("x", &[]), list("y", &[1])]), [Anomaly::GSingle]);
}

#[test]
fn a_cycle_is_reported_as_short_as_it_can_be() {
    let transactions = [
        (1, 2, What::Ok, vec![append("x", 1)]),
        (3, 4, What::Ok, vec![append("x", 2)]),
        (5, 6, What::Ok, vec![append("x", 3)]),
        (7, 8, What::Ok, vec![list("x", &[])]),
        (9, 10, What::Ok, vec![list("x", &[1, 2, 3])]),
    ];
    let Verdict::Broken(findings) = verdict(&transactions) else { panic!("it holds") };
    assert_eq!(findings.len(), 1);
    let text = &findings[0].text;
    assert!(text.matches("operation").count() <= 4, "{text}");
    assert!(
        text.contains("operation 3 (process 3) read the version of x before that of operation 0"),
        "{text}"
    );
}
