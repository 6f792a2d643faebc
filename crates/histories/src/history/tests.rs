use super::*;

fn event(at: u64, process: u32, what: What) -> Event {
    let steps = vec![Step::Write { register: "r".to_owned(), value: at }];
    Event { at, process, what, steps: if what == What::Cut { Vec::new() } else { steps } }
}

fn ends(events: Vec<Event>) -> Vec<(Outcome, u64, u64)> {
    let history = History::of(events).unwrap();
    history.operations.iter().map(|operation| (operation.outcome, operation.begin, operation.end)).collect()
}

#[test]
fn what_is_written_is_read_again() {
    let steps = vec![
        Step::Read { register: "r".to_owned(), value: None },
        Step::Swap { register: "r".to_owned(), from: 1, to: 2, done: Some(false) },
        Step::List { list: "l".to_owned(), elements: Some(vec![1, 2]) },
        Step::Scan { balances: Some(BTreeMap::from([("a".to_owned(), -3)])) },
    ];
    let events = vec![Event { at: 7, process: 1, what: What::Ok, steps }, event(8, 0, What::Cut)];
    let text = write(&events);
    assert!(text.contains(r#"{"at":8,"process":0,"what":"cut"}"#), "{text}");
    assert_eq!(parse(&text), Ok(events));
    assert!(matches!(parse("\n{\"at\":1}\n"), Err(Malformed::Line(2, _))));
}

#[test]
fn invocations_are_paired_with_their_ends() {
    let events = vec![event(10, 1, What::Invoke), event(30, 1, What::Ok), event(20, 2, What::Invoke)];
    assert_eq!(ends(events), [(Outcome::Ok, 0, 2), (Outcome::Unknown, 1, u64::MAX)]);
}

#[test]
fn at_the_same_time_nobody_is_first() {
    let events = vec![event(1, 1, What::Invoke), event(5, 1, What::Ok), event(5, 2, What::Invoke)];
    assert_eq!(ends(events), [(Outcome::Ok, 0, 2), (Outcome::Unknown, 1, u64::MAX)]);
}

#[test]
fn a_cut_ends_what_is_open() {
    let events = vec![
        event(1, 1, What::Invoke),
        event(2, 2, What::Invoke),
        event(3, 2, What::Unknown),
        event(4, 3, What::Invoke),
        event(5, 3, What::Fail),
        event(6, 0, What::Cut),
        event(7, 1, What::Invoke),
    ];
    let unknown = Outcome::Unknown;
    assert_eq!(
        ends(events),
        [(unknown, 0, 5), (unknown, 1, 5), (Outcome::Fail, 3, 4), (unknown, 6, u64::MAX)]
    );
}

#[test]
fn a_process_does_one_thing_at_a_time() {
    let twice = vec![event(1, 1, What::Invoke), event(2, 1, What::Invoke)];
    assert_eq!(History::of(twice), Err(Malformed::Busy(1)));
    assert_eq!(History::of(vec![event(1, 4, What::Ok)]), Err(Malformed::Unasked(4)));
}
