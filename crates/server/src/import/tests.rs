use super::*;
use env::clock::SystemClock;
use std::sync::Arc;
use store::Settings;

fn shard() -> Arc<Shard> {
    let settings = Settings {
        suffixes: vec!["dc=com".to_owned()],
        indexes: Vec::new(),
        memory_bytes_max: 64 << 20,
        removals_max: store::REMOVALS_MAX,
        operational_attributes: true,
        schema_check: true,
        initial_owner: String::new(),
        key: [1, 2, 3, 4],
        site: 0,
    };
    let schema = crate::directory::schema(&Config::default()).unwrap();
    Shard::create(settings, Arc::new(schema)).unwrap()
}

/// Imports a file with this text; faults without the name of their folder.
fn run(text: &str) -> Result<(Summary, u64), Vec<String>> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f.ldif");
    std::fs::write(&file, text).unwrap();
    let mut config = Config::default();
    config.set("import", &[file.to_str().unwrap().to_owned()]).unwrap();
    let mut total = 0;
    match load(&config, &shard(), &SystemClock::start(), &mut |_, bytes| total = bytes) {
        Ok(summary) => Ok((summary.expect("an import was asked for"), total)),
        Err(faults) => {
            let folder = format!("{}/", dir.path().display());
            Err(faults.iter().map(|fault| fault.to_string().replace(&folder, "")).collect())
        }
    }
}

const SUFFIX: &str = "dn: dc=com\nobjectClass: domain\ndc: com\n\n";

#[test]
fn the_organisation_of_the_demo_is_valid() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../pando/data/organisation.ldif");
    let top = "dn: dc=com\nobjectClass: domain\ndc: com\n\ndn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n";
    let text = top.to_owned() + &std::fs::read_to_string(path).unwrap();
    let (summary, total) = run(&text).unwrap();
    assert_eq!((summary.entries, summary.bytes, total), (2 + 34, text.len() as u64, text.len() as u64));
}

#[test]
fn faults_name_file_and_line_and_how_far_it_came() {
    let text = SUFFIX.to_owned() + "dn: cn=a,dc=com\nobjectClass: person\ncn: a\nsn: a\nflavour: sweet\n";
    let faults = run(&text).unwrap_err();
    assert!(faults[0].starts_with("f.ldif:9:1: cn=a,dc=com: flavour: no such attribute type"), "{faults:?}");
    assert_eq!(faults[1], "f.ldif: not imported; given up after 1 entries");
}

#[test]
fn a_file_that_is_not_there_is_a_fault() {
    let mut config = Config::default();
    config.set("import", &["/nowhere/f.ldif".to_owned()]).unwrap();
    let faults = load(&config, &shard(), &SystemClock::start(), &mut |_, _| {}).unwrap_err();
    assert!(faults[0].to_string().starts_with("/nowhere/f.ldif: cannot be read: "));
}
