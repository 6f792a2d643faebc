use super::*;
use crate::config::Config;
use std::sync::Arc;
use store::Settings;

fn shard(schema: &Arc<Schema>) -> Arc<Shard> {
    let settings = Settings {
        suffixes: vec!["dc=com".to_owned()],
        indexes: Vec::new(),
        memory_bytes_max: 64 << 20,
        operational_attributes: true,
        schema_check: true,
        founder: String::new(),
        key: [1, 2, 3, 4],
        site: 0,
    };
    Shard::create(settings, schema.clone()).unwrap()
}

fn run(text: &str) -> Result<(Progress, Arc<Shard>), Vec<String>> {
    let schema = Arc::new(crate::directory::schema(&Config::default()).unwrap());
    let shard = shard(&schema);
    let done = import(&shard, &schema, "f.ldif", text.as_bytes(), 1_800_000_000_000, |_| {});
    match done {
        Ok(progress) => Ok((progress, shard)),
        Err(faults) => Err(faults.iter().map(ToString::to_string).collect()),
    }
}

const SUFFIX: &str = "dn: dc=com\nobjectClass: domain\ndc: com\n\n";

#[test]
fn entries_are_stored() {
    let mut text = SUFFIX.to_owned();
    for n in 0..3000 {
        text += &format!(
            "dn: cn=p{n},dc=com\nobjectClass: person\ncn: p{n}\ndescription: a\nsn: s\ndescription: b\n\n"
        );
    }
    let (progress, shard) = run(&text).unwrap();
    assert_eq!(progress, Progress { entries: 3001, bytes: text.len() as u64 });
    assert_eq!(shard.entries(), 3001);
}

#[test]
fn the_organisation_of_the_demo_is_valid() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../pando/data/organisation.ldif");
    let top = "dn: dc=com\nobjectClass: domain\ndc: com\n\ndn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n";
    let text = top.to_owned() + &std::fs::read_to_string(path).unwrap();
    let (progress, _) = run(&text).unwrap();
    assert_eq!(progress.entries, 2 + 33);
}

#[test]
fn faults_are_collected_with_their_lines() {
    let text = SUFFIX.to_owned()
        + "dn: cn=a,dc=com\nobjectClass: person\ncn: a\n\n"
        + "dn: cn=b,dc=com\nobjectClass: person\ncn: b\nsn: b\nflavour: sweet\n\n"
        + "dn: cn=c,dc=org\nobjectClass: person\ncn: c\nsn: c\n\n"
        + "dn: cn=d,dc=com\nchangetype: delete\n";
    let faults = run(&text).err().unwrap();
    assert_eq!(faults.len(), 4, "{faults:#?}");
    for (fault, place) in
        faults.iter().zip(["f.ldif:5:1: ", "f.ldif:13:1: ", "f.ldif:15:1: ", "f.ldif:20:1: "])
    {
        assert!(fault.starts_with(place), "{fault}");
    }
    assert!(faults[1].contains("flavour"));
}

#[test]
fn an_import_gives_up_after_many_faults() {
    let bad = "dn: cn=x,dc=org\nobjectClass: person\ncn: x\nsn: x\n\n".repeat(5000);
    assert_eq!(run(&bad).err().unwrap().len(), FAULTS_MAX);
}

#[test]
fn a_source_that_fails_is_a_fault() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("no more tape"))
        }
    }
    let schema = Arc::new(crate::directory::schema(&Config::default()).unwrap());
    let faults = import(&shard(&schema), &schema, "f", Broken, 0, |_| {}).unwrap_err();
    assert!(faults[0].message.contains("no more tape"));
}
