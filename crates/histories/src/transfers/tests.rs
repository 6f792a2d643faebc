use super::*;
use crate::history::{Event, What};

fn transfer(from: &str, to: &str, amount: i64) -> Step {
    Step::Transfer { from: from.to_owned(), to: to.to_owned(), amount }
}

fn scan(a: i64, b: i64) -> Step {
    Step::Scan { balances: Some(BTreeMap::from([("a".to_owned(), a), ("b".to_owned(), b)])) }
}

/// Operations of processes of their own; those of which nobody knows the outcome end at a cut at the same time.
fn verdict(lines: &[(u64, u64, What, Step)]) -> Vec<Anomaly> {
    let mut events = Vec::new();
    for (process, (begin, end, what, step)) in (0..).zip(lines) {
        let event = |at: u64, what| Event { at, process, what, steps: vec![step.clone()] };
        events.extend([event(*begin, What::Invoke), event(*end, *what)]);
        if *what == What::Unknown {
            events.push(event(*end, What::Cut));
        }
    }
    check(&History::of(events).unwrap(), 100).anomalies()
}

#[test]
fn every_scan_has_the_sum() {
    let transfers = (1, 9, What::Ok, transfer("a", "b", 10));
    assert_eq!(
        verdict(&[transfers.clone(), (2, 3, What::Ok, scan(50, 50)), (4, 5, What::Ok, scan(40, 60))]),
        []
    );
    assert_eq!(verdict(&[transfers, (2, 3, What::Ok, scan(40, 50))]), [Anomaly::Sum]);
}

#[test]
fn balances_are_what_transfers_make() {
    let lines = |what, a, b| {
        verdict(&[
            (1, 2, What::Ok, scan(50, 50)),
            (3, 6, what, transfer("a", "b", 10)),
            (4, 5, What::Ok, transfer("b", "a", 1)),
            (7, 8, What::Ok, scan(a, b)),
        ])
    };
    assert_eq!(lines(What::Ok, 41, 59), []);
    assert_eq!(lines(What::Ok, 51, 49), [Anomaly::Balance], "lost");
    assert_eq!(lines(What::Fail, 51, 49), []);
    assert_eq!(lines(What::Fail, 41, 59), [Anomaly::Balance], "it had failed");
    assert_eq!(lines(What::Unknown, 51, 49), []);
    assert_eq!(lines(What::Unknown, 41, 59), []);
    assert_eq!(lines(What::Unknown, 31, 69), [Anomaly::Balance], "twice");
}

#[test]
fn too_many_unknown_outcomes_are_given_up() {
    let mut events = Vec::new();
    let mut event = |at, process, what, step| events.push(Event { at, process, what, steps: vec![step] });
    event(1, 0, What::Invoke, scan(50, 50));
    event(2, 0, What::Ok, scan(50, 50));
    for n in 0..20 {
        event(3, n, What::Invoke, transfer("a", "b", 1 << n));
    }
    event(4, 0, What::Cut, scan(0, 0));
    event(5, 0, What::Invoke, scan(50, 50));
    event(6, 0, What::Ok, scan(50, 50));
    assert!(matches!(check(&History::of(events).unwrap(), 100), Verdict::GaveUp(_)));
}
