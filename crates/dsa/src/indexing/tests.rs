use super::{Indexer, NotTaken, Pace, parse};
use crate::indexing::{IndexChange, IndexKeeper};
use crate::system::tests::Fixture;
use model::ResultCode;
use model::limits::INDEX_TASKS_MAX;
use std::io;
use std::sync::Arc;
use store::{IndexName, Reader};

/// Remembers what was reported, and refuses on demand.
#[derive(Default)]
struct Kept {
    reported: Vec<String>,
    refuses: bool,
}

impl Kept {
    fn tell(&mut self, what: &str, index: &str) -> io::Result<()> {
        if self.refuses {
            return Err(io::Error::other("no room"));
        }
        self.reported.push(format!("{what} {index}"));
        Ok(())
    }
}

impl IndexKeeper for Kept {
    fn made(&mut self, index: &str) -> io::Result<()> {
        self.tell("made", index)
    }

    fn dropped(&mut self, index: &str) -> io::Result<()> {
        self.tell("dropped", index)
    }

    fn failed(&mut self, index: &str, _why: &str) {
        self.reported.push(format!("failed {index}"));
    }

    fn verified(&mut self, index: &str, found: u64, _first: Option<&str>) {
        self.reported.push(format!("verified {index} {found}"));
    }
}

struct Bench {
    fixture: Fixture,
    indexer: Indexer,
    kept: Kept,
}

impl Bench {
    fn new() -> Bench {
        let fixture = Fixture::new();
        let indexer = Indexer::new(Arc::clone(&fixture.dsa), 256);
        Bench { fixture, indexer, kept: Kept::default() }
    }

    fn ask(&self, asked: &[(bool, &str)]) -> Result<(), NotTaken> {
        let dsa = &self.fixture.dsa;
        let asked: Vec<IndexChange> = asked
            .iter()
            .flat_map(|(is_add, value)| {
                let names = parse(dsa.shard.schema(), value.as_bytes()).expect("it can be");
                names
                    .into_iter()
                    .map(|name| if *is_add { IndexChange::Add(name) } else { IndexChange::Delete(name) })
            })
            .collect();
        self.ask_all(&asked)
    }

    fn name(&self, text: &str) -> IndexName {
        parse(self.fixture.dsa.shard.schema(), text.as_bytes()).expect("it can be")[0]
    }

    fn ask_all(&self, asked: &[IndexChange]) -> Result<(), NotTaken> {
        let dsa = &self.fixture.dsa;
        let mut reader = Reader::register(&dsa.shard).expect("there are few");
        dsa.indexing.ask(asked, reader.pin().read_point())
    }

    fn lines(&self) -> Vec<String> {
        let mut reader = Reader::register(&self.fixture.dsa.shard).expect("there are few");
        self.fixture.dsa.indexing.report(reader.pin().read_point(), 9)
    }

    fn report(&self) -> Vec<String> {
        self.lines().iter().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect()
    }

    fn run(&mut self) {
        for _ in 0..1000 {
            if self.indexer.step(&mut self.kept) == Pace::Idle {
                return;
            }
        }
        panic!("it comes to no end: {:?}", self.report());
    }
}

#[test]
fn what_is_asked_for_is_done_in_turn_and_written_down() {
    let mut bench = Bench::new();
    bench.ask(&[(true, "cn:eq,sub"), (true, "sn:eq")]).unwrap();
    assert_eq!(bench.report(), ["cn:eq", "cn:sub", "sn:eq"].map(|name| format!("index={name} state=queued")));
    assert!(matches!(bench.ask(&[(true, "cn:eq")]), Err(NotTaken::Exists(_))));
    bench.run();
    bench.ask(&[(false, "cn:sub")]).unwrap();
    assert!(matches!(bench.ask(&[(false, "cn:sub")]), Err(NotTaken::Missing(_))));
    bench.run();
    assert_eq!(bench.report(), ["index=cn:eq state=ready", "index=sn:eq state=ready"]);
    assert_eq!(bench.kept.reported, ["made cn:eq", "made cn:sub", "made sn:eq", "dropped cn:sub"]);
    assert_eq!(bench.fixture.dsa.shard.writer().check(10), []);
}

#[test]
fn one_that_nobody_wants_any_more_is_not_built() {
    let mut bench = Bench::new();
    bench.ask(&[(true, "cn:eq"), (true, "sn:eq")]).unwrap();
    assert_eq!(bench.indexer.step(&mut bench.kept), Pace::Soon);
    assert_eq!(bench.report(), ["index=cn:eq state=building", "index=sn:eq state=queued"]);
    // The one is in progress, the other waits.
    bench.ask(&[(false, "cn:eq"), (false, "sn:eq")]).unwrap();
    bench.run();
    assert!(bench.report().is_empty() && bench.kept.reported.is_empty(), "{:?}", bench.kept.reported);
    // And again.
    bench.ask(&[(true, "cn:eq")]).unwrap();
    bench.run();
    assert_eq!(bench.report(), ["index=cn:eq state=ready"]);
}

#[test]
fn what_cannot_be_written_down_is_not_done() {
    let mut bench = Bench::new();
    bench.kept.refuses = true;
    bench.ask(&[(true, "cn:eq")]).unwrap();
    bench.run();
    assert_eq!(bench.report(), ["index=cn:eq state=failed"]);
    bench.kept.refuses = false;
    bench.ask(&[(true, "cn:eq")]).unwrap();
    bench.run();
    bench.kept.refuses = true;
    bench.ask(&[(false, "cn:eq")]).unwrap();
    bench.run();
    assert_eq!(bench.report(), ["index=cn:eq state=ready"]);
    assert_eq!(bench.kept.reported, ["failed cn:eq", "made cn:eq", "failed cn:eq"]);
}

#[test]
fn a_search_in_progress_delays_an_index() {
    let mut bench = Bench::new();
    let mut reader = Reader::register(&bench.fixture.dsa.shard).expect("there are few");
    let old = reader.pin();
    bench.ask(&[(true, "cn:eq")]).unwrap();
    let paces: Vec<Pace> = (0..10).map(|_| bench.indexer.step(&mut bench.kept)).collect();
    assert_eq!(paces.last(), Some(&Pace::Later));
    assert_eq!(bench.report(), ["index=cn:eq state=waiting"]);
    drop(old);
    bench.run();
    assert_eq!(bench.report(), ["index=cn:eq state=ready"]);
}

#[test]
fn the_queue_has_an_end() {
    let bench = Bench::new();
    let schema = Arc::clone(bench.fixture.dsa.shard.schema());
    let names: Vec<String> =
        schema.attribute_types().map(|(_, definition)| format!("{}:pres", definition.name())).collect();
    let many: Vec<(bool, &str)> = names.iter().map(|name| (true, &name[..])).collect();
    assert_eq!(bench.ask(&many[..=INDEX_TASKS_MAX]), Err(NotTaken::Busy));
    bench.ask(&many[..INDEX_TASKS_MAX]).unwrap();
    assert_eq!(bench.ask(&many[INDEX_TASKS_MAX..=INDEX_TASKS_MAX]), Err(NotTaken::Busy));
    assert_eq!(bench.report().len(), INDEX_TASKS_MAX);
}

#[test]
fn an_index_is_compared_when_that_is_asked_for() {
    let mut bench = Bench::new();
    let (cn, sn) = (bench.name("cn:eq"), bench.name("sn:eq"));
    assert_eq!(bench.ask_all(&[IndexChange::Verify(cn)]), Err(NotTaken::Missing(cn)));
    // One that is to be built can be asked for.
    bench
        .ask_all(&[
            IndexChange::Add(cn),
            IndexChange::Add(sn),
            IndexChange::Verify(cn),
            IndexChange::Verify(sn),
        ])
        .unwrap();
    assert_eq!(bench.ask_all(&[IndexChange::Verify(cn)]), Err(NotTaken::Verified(cn)));
    assert_eq!(bench.fixture.dsa.indexing.comparing(), [cn, sn].into());
    bench.run();
    assert_eq!(bench.kept.reported, ["made cn:eq", "made sn:eq", "verified cn:eq 0", "verified sn:eq 0"]);
    let reported = bench.lines();
    assert!(reported[0].contains(" verify=clean found=0 entries="), "{reported:?}");
    assert!(bench.fixture.dsa.indexing.comparing().is_empty());
    assert_eq!(bench.ask_all(&[IndexChange::Leave(cn)]), Err(NotTaken::NotVerified(cn)));
}

#[test]
fn a_comparison_ends_when_nobody_wants_it_or_the_index_goes() {
    let mut bench = Bench::new();
    let (cn, sn) = (bench.name("cn:eq"), bench.name("sn:eq"));
    bench.ask_all(&[IndexChange::Add(cn), IndexChange::Add(sn)]).unwrap();
    bench.run();
    bench.kept.reported.clear();
    // The one is in progress, the other waits.
    bench.ask_all(&[IndexChange::Verify(cn), IndexChange::Verify(sn)]).unwrap();
    bench.indexer.step(&mut bench.kept);
    let reported = bench.lines();
    assert!(
        reported[0].contains(" verify=running ") && reported[1].ends_with(" verify=queued"),
        "{reported:?}"
    );
    bench.ask_all(&[IndexChange::LeaveAll]).unwrap();
    bench.run();
    // One that is dropped is compared no more.
    bench.ask_all(&[IndexChange::Verify(cn)]).unwrap();
    bench.indexer.step(&mut bench.kept);
    bench.ask_all(&[IndexChange::Delete(cn)]).unwrap();
    bench.run();
    assert_eq!(bench.kept.reported, ["dropped cn:eq"]);
    assert_eq!(bench.report(), ["index=sn:eq state=ready"]);
    assert!(!bench.lines()[0].contains("verify"));
}

/// What an ordering index serves is said with its state: views too, where an entry has several values, of which the least counts.
#[test]
fn what_an_ordering_index_serves_is_reported() {
    let mut bench = Bench::new();
    bench.ask(&[(true, "cn:ord"), (true, "sn:eq,ord")]).unwrap();
    bench.run();
    let lines = bench.lines();
    let serves =
        |line: &str| line.split(' ').find_map(|fact| fact.strip_prefix("serves=")).map(str::to_owned);
    let served: Vec<_> = lines.iter().map(|line| serves(line)).collect();
    assert_eq!(served, [Some("sort,vlv".to_owned()), None, Some("sort,vlv".to_owned())], "{lines:?}");
    // Classes of which all entries have the attribute, and no others.
    let end = |lines: &[String]| lines.last().unwrap().split(' ').next_back().unwrap().to_owned();
    assert_eq!(end(&lines), "classes=person,organizationalPerson,inetOrgPerson");
    let role = [("objectClass", &["organizationalRole"][..]), ("cn", &["x"])];
    assert_eq!(bench.fixture.add("cn=x,dc=com", &role).code, ResultCode::Success);
    let lines = bench.lines();
    assert_eq!(
        (end(&lines[..1]), end(&lines)),
        ("serves=sort,vlv".to_owned(), "classes=person,organizationalPerson,inetOrgPerson".to_owned())
    );
}
