use super::*;
use crate::null::{self, Null, Stop};
use env::poll::Acceptor;

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            workload: Workload::SearchBase,
            host: "127.0.0.1".to_owned(),
            port: 3389,
            credentials: None,
            connections: 8,
            queue: 100,
            window: Window::Burst,
            queue_length_control: false,
            length: Length::Time(Duration::from_secs(10)),
            warmup: Duration::from_secs(2),
            first: 0,
            entries: 1_000_000,
            key: KeyFormat::default(),
            rdn: "uid".to_owned(),
            base: "dc=com".to_owned(),
            attributes: Selection::None,
            modify_attribute: "carLicense".to_owned(),
            value_bytes: (8, 100),
            user_password: "password".to_owned(),
            threads: 1,
            seed: 1,
            rate: None,
            server_pid: None,
            durability: None,
        }
    }
}

/// Runs workloads against a null responder of 1000 entries.
fn against_null(entries: u64, runs: &[Settings]) -> Vec<Result<Outcome, BenchError>> {
    let null = Null::new(&null::Settings { entries, threads: 2, ..null::Settings::default() }).unwrap();
    let acceptor = Acceptor::listen("127.0.0.1:0").unwrap();
    let port = acceptor.address().unwrap().port();
    let stop = Stop::new().unwrap();
    let mut results = on_threads(2, |index| {
        if index == 0 {
            null.serve(&acceptor, &stop).unwrap();
            return Vec::new();
        }
        let outcomes = runs.iter().map(|settings| run(&Settings { port, ..settings.clone() })).collect();
        stop.stop();
        outcomes
    });
    results.remove(1)
}

fn settings(workload: Workload) -> Settings {
    Settings {
        workload,
        entries: 1000,
        length: Length::Operations(20_000),
        warmup: Duration::ZERO,
        credentials: Some(("uid=1,dc=com".to_owned(), "secret".to_owned())),
        ..Settings::default()
    }
}

#[test]
fn every_workload_runs_without_a_fault() {
    let base = settings(Workload::SearchBase);
    let runs = [
        base.clone(),
        Settings { queue: 1000, threads: 2, ..base.clone() },
        Settings { queue: 1, length: Length::Operations(999), ..base.clone() },
        Settings { window: Window::Sliding, queue: 50, ..base.clone() },
        Settings { attributes: Selection::All, ..base.clone() },
        Settings { rate: Some(200_000.0), server_pid: Some(std::process::id()), ..base.clone() },
        settings(Workload::SearchEquality),
        settings(Workload::Modify),
        Settings { attributes: Selection::All, ..base },
        settings(Workload::Mixed { modify_share: 50 }),
        Settings { queue: 1, length: Length::Operations(500), ..settings(Workload::Bind) },
    ];
    for (outcome, settings) in against_null(1000, &runs).into_iter().zip(&runs) {
        let outcome = outcome.unwrap();
        let Length::Operations(wanted) = settings.length else { unreachable!() };
        assert_eq!(
            (outcome.faults.total(), outcome.operations),
            (0, wanted),
            "{settings:?} {:?}",
            outcome.faults
        );
        assert!(outcome.rate > 0.0 && outcome.latency.len() == wanted);
        assert_eq!(outcome.server_cpu_ns.is_some(), settings.server_pid.is_some());
    }
}

#[test]
fn a_run_by_time_ends() {
    let length = Length::Time(Duration::from_millis(50));
    let run = Settings { length, warmup: Duration::from_millis(20), ..settings(Workload::SearchBase) };
    let outcome = against_null(1000, &[run]).remove(0).unwrap();
    assert!(outcome.faults.total() == 0 && outcome.seconds >= 0.05 && outcome.operations > 0);
}

/// All keys of the second half, and no other.
#[test]
fn keys_of_a_range() {
    let outcome = |first, entries| {
        let half = Settings { first, entries, ..settings(Workload::SearchEquality) };
        against_null(1000, &[half]).remove(0)
    };
    assert_eq!(outcome(500, 500).unwrap().faults.total(), 0);
    assert!(outcome(500, 501).unwrap().faults.total() > 0, "the last is asked for");
    assert!(matches!(outcome(1 << 32, 1), Err(BenchError::Setting(_))));
}

#[test]
fn entries_that_are_not_there_are_faults() {
    let outcome = against_null(500, &[settings(Workload::SearchBase)]).remove(0).unwrap();
    let faults: Vec<_> = outcome.faults.iter().collect();
    assert_eq!((outcome.operations, faults.len()), (20_000, 1));
    assert!(faults[0].0 == Fault::Code(32) && (8_000..12_000).contains(&faults[0].1), "{faults:?}");
}

#[test]
fn a_server_that_goes_away_is_a_fault() {
    let base = Settings { base: "dc=other".to_owned(), ..settings(Workload::SearchEquality) };
    let outcome = against_null(500, &[base]).remove(0).unwrap();
    let faults: Vec<_> = outcome.faults.iter().collect();
    assert_eq!(faults, [(Fault::Closed, 8), (Fault::Lost, 800)]);
}

#[test]
fn impossible_settings_are_refused() {
    let refused = |settings: Settings| matches!(run(&settings), Err(BenchError::Setting(_)));
    assert!(refused(Settings { queue: 0, ..Settings::default() }));
    assert!(refused(Settings { queue: 2, ..settings(Workload::Bind) }));
    assert!(refused(Settings { value_bytes: (9, 8), ..Settings::default() }));
    assert!(refused(Settings { rate: Some(0.0), ..Settings::default() }));
}
