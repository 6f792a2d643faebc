use super::*;
use crate::config::Config;
use crate::directory;
use dsa::journal::Command;
use dsa::parcel::Head;
use dsa::{Applier, Dsa};
use env::entropy::SystemEntropy;
use proptest::prelude::*;
use proto::Request;
use proto::list::{Attributes, attribute_list};
use proto::op::Add;
use std::borrow::Cow;
use std::sync::OnceLock;

/// Records of the log that the tests follow.
const RECORDS: u64 = 24;

fn schema() -> Arc<Schema> {
    static SCHEMA: OnceLock<Arc<Schema>> = OnceLock::new();
    let build = || Arc::new(directory::schema(&Config::default()).expect("it is built in"));
    Arc::clone(SCHEMA.get_or_init(build))
}

/// A directory that holds the records up to one.
fn directory(upto: u64) -> Arc<Dsa> {
    let clock = SystemClock::start();
    let mut config = Config::default();
    config.set("suffix", &["dc=com".to_owned()]).expect("it is a DN");
    config.set("memory-max", &["64MiB".to_owned()]).expect("it is a size");
    let superblock = directory::superblock(&config, &mut SystemEntropy);
    let agent = directory::agent(&config, &Default::default(), &clock, &superblock).expect("no file is read");
    let dsa = Dsa::new(agent, schema()).expect("memory is plenty");
    // The suffix is no record of the log that is followed.
    let mut first = Applier::new(&dsa).expect("there are few readers");
    add(&mut first, 1, &["dc=com".to_owned()]);
    let mut applier = Applier::new(&dsa).expect("there are few readers");
    (1..=upto).for_each(|index| apply(&mut applier, index));
    dsa
}

/// Applies the record with this index: two adds, of which the second is refused, and a third in every other record.
fn apply(applier: &mut Applier, index: u64) {
    let (first, third) = (format!("cn=x{index},dc=com"), format!("cn=y{index},dc=com"));
    let names = [first.clone(), first, third];
    add(applier, index, &names[..2 + (index % 2) as usize]);
}

fn add(applier: &mut Applier, index: u64, names: &[String]) {
    let mut messages = Vec::new();
    for (id, dn) in names.iter().enumerate() {
        let (class, key) = if dn.starts_with("dc=") { ("domain", "dc") } else { ("person", "cn") };
        let value = &dn[3..dn.find(',').unwrap_or(dn.len())];
        let list = [("objectClass", class), (key, value), ("sn", "s")];
        let list = list.iter().take(if key == "dc" { 2 } else { 3 });
        let list = attribute_list(list.map(|(name, value)| (name.as_bytes(), vec![value.as_bytes()])));
        let attributes = Attributes::parse(&list).expect("just encoded");
        Request::Add(Add { dn: dn.as_bytes(), attributes }).encode(&mut messages, id as i32 + 1, &[]);
    }
    let wall_ms = 1_700_000_000_000;
    applier.begin_parcel(index, &Head { time_ms: wall_ms, ..Head::default() });
    let (actor, ids) = (&b"cn=me"[..], Cow::Borrowed(&[][..]));
    let command = Command { wall_ms, actor, ids, messages: &messages, is_transaction: false };
    applier.apply(&command, &mut Vec::new()).expect("memory is plenty");
    applier.end_parcel(index);
}

/// The places of a file's lines that tell of changes, in their order, and how many tell of losses.
fn places(path: &Path) -> (Vec<Place>, usize) {
    let text = std::fs::read_to_string(path).unwrap();
    let is_change = |line: &&str| line.contains("\"op\":\"add\"");
    let lost = text.lines().filter(|line| line.contains("\"op\":\"lost\"")).count();
    let found = text.lines().filter(is_change);
    (found.map(|line| Place::of_line(line.as_bytes()).expect("each line has a place")).collect(), lost)
}

fn expected(upto: u64) -> Vec<Place> {
    let of = |index| {
        [Some(1), (index % 2 == 1).then_some(3)]
            .into_iter()
            .flatten()
            .map(move |number| Place { index, number })
    };
    (1..=upto).flat_map(of).collect()
}

fn open(path: &Path, base: u64) -> (Auditor, Applier) {
    let auditor = Auditor::open(path, &Arc::default(), SystemClock::start()).unwrap();
    let dsa = directory(base);
    dsa.report_changes_to(Arc::clone(auditor.trail()));
    let mut applier = Applier::new(&dsa).expect("there are few readers");
    applier.stands_at(base, 0);
    (auditor, applier)
}

/// Follows a log through steps; at the end each change is there once. G2: whatever ends the process, and wherever the file is cut behind what is synced, each change is there once.
fn follow(steps: &[(u8, u16)]) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit");
    let (mut base, mut index, mut synced) = (0, 0, 0);
    let (mut auditor, mut applier) = open(&path, base);
    for &(step, random) in steps {
        match step % 4 {
            0 | 1 if index < RECORDS => {
                index += 1;
                apply(&mut applier, index);
            }
            // A snapshot is asked for.
            2 => {
                while !auditor.trail().may_keep(index) {
                    auditor.retry_ns = 0;
                    auditor.turn(&schema());
                }
                (base, synced) = (index, std::fs::metadata(&path).unwrap().len());
            }
            // The process ends. The log still has the records behind the snapshot.
            3 => {
                if random % 3 == 0 {
                    auditor.turn(&schema());
                }
                drop(auditor);
                let len = std::fs::metadata(&path).unwrap().len();
                let kept = synced + u64::from(random) % (len - synced + 1);
                std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(kept).unwrap();
                (auditor, applier) = open(&path, base);
                (base + 1..=index).for_each(|index| apply(&mut applier, index));
                auditor.recovered(&schema(), index, 0);
            }
            _ => auditor.turn(&schema()),
        }
    }
    auditor.turn(&schema());
    assert_eq!(places(&path), (expected(index), 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn test_g2_no_gap_and_nothing_twice(steps in proptest::collection::vec(any::<(u8, u16)>(), 1..24)) {
        follow(&steps);
    }
}

#[test]
fn test_g2_what_a_snapshot_has_taken_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit");
    let (mut auditor, mut applier) = open(&path, 2);
    apply(&mut applier, 3);
    auditor.turn(&schema());
    drop(auditor);
    // A start without the setting has made a snapshot meanwhile.
    let (mut auditor, mut applier) = open(&path, 7);
    apply(&mut applier, 8);
    auditor.turn(&schema());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("{\"index\":2,\"n\":0,"), "{text}");
    assert!(text.contains("\"op\":\"lost\",\"from\":3,\"to\":7}"), "{text}");
    assert_eq!(places(&path).0.last(), Some(&Place { index: 8, number: 1 }));
}
