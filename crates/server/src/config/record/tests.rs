//! What a start makes of the record.

use super::*;
use crate::config::read;
use env::entropy::SystemEntropy;
use schema::SchemaFile;

/// A start with this file and these flags: what it changed, and what then holds.
fn start(record: &mut Record, file: &str, flags: &[(&str, &[&str])]) -> (Vec<String>, Config) {
    let mut config = read("p.toml", file).config;
    for (name, values) in flags {
        config.set(name, &values.iter().map(|value| value.to_string()).collect::<Vec<_>>()).unwrap();
    }
    let changes = config.settle(record, &mut SystemEntropy).unwrap();
    (changes.iter().map(ToString::to_string).collect(), config)
}

#[test]
fn the_first_start_takes_what_is_given_an_equal_one_is_silent_another_a_change() {
    let mut record = Record::default();
    let (first, again) = ("anonymous = \"read\"\n[limits]\nsize = 5\n", ("write-dn", &["cn=a"][..]));
    assert_eq!(start(&mut record, first, &[again]).0, [""; 0]);
    let recorded = record.clone();
    assert_eq!(start(&mut record, first, &[again]).0, [""; 0]);
    assert_eq!(record, recorded);
    let changes = start(&mut record, "anonymous = \"none\"\n", &[("write-dn", &["cn=b", "cn=c"])]).0;
    assert_eq!(
        changes,
        [
            "`write-dn` of the directory was cn=a and is cn=b cn=c from now on",
            "`anonymous` of the directory was read and is none from now on"
        ]
    );
    assert_eq!(record.values["limits.size"], ["5"], "what is not named holds as it is recorded");
    assert!(start(&mut record, "", &[]).0.is_empty());
    assert!(record.values["write-dn"] == ["cn=b", "cn=c"] && record.values["limits.size"] == ["5"]);
    let changes = start(&mut record, "write-dn = []\n", &[]).0;
    assert!(changes[0].ends_with("was cn=b cn=c and is none from now on"));
    assert_eq!(record.values["write-dn"], [""; 0]);
}

#[test]
fn what_was_changed_since_overrides_a_file_that_says_what_it_said() {
    let mut record = Record::default();
    let file = "txn-open-max = 11\n";
    start(&mut record, file, &[]);
    let of = |record: &Record| record.values["txn-open-max"].clone();
    record.values.insert("txn-open-max".to_owned(), vec!["22".to_owned()]);
    assert_eq!((start(&mut record, file, &[]).0, of(&record)), (vec![], vec!["22".to_owned()]));
    let changes = start(&mut record, "txn-open-max = 12\n", &[]).0;
    assert_eq!(changes, ["`txn-open-max` of the directory was 22 and is 12 from now on"]);
    let changes = start(&mut record, "txn-open-max = 12\n", &[("txn-open-max", &["33"])]).0;
    assert_eq!(changes, ["`txn-open-max` of the directory was 12 and is 33 from now on"]);
    assert_eq!((start(&mut record, "", &[]).0, of(&record)), (vec![], vec!["33".to_owned()]));
}

#[test]
fn what_was_changed_since_overrides_a_flag_that_says_what_it_said() {
    let mut record = Record::default();
    let (flag, other) = ([("index", &["uid:eq"][..])], [("index", &["cn:eq"][..])]);
    start(&mut record, "", &flag);
    record.values.insert("index".to_owned(), vec![]);
    let (changes, config) = start(&mut record, "", &flag);
    assert!(changes.is_empty() && config.indexes.is_empty(), "it was dropped since");
    start(&mut record, "", &[]);
    let (changes, config) = start(&mut record, "", &flag);
    assert_eq!(changes, ["`index` of the directory was none and is uid:eq from now on"], "it is given anew");
    assert_eq!(config.indexes.len(), 1);
    record.values.insert("index".to_owned(), vec![]);
    let (changes, config) = start(&mut record, "", &other);
    assert_eq!(changes, ["`index` of the directory was none and is cn:eq from now on"]);
    assert_eq!(config.indexes.len(), 1);
}

#[test]
fn file_and_flags_forget_what_they_said_when_the_other_overrides_it() {
    let (none, read) = ([("anonymous", &["none"][..])], "anonymous = \"read\"\n");
    let mut record = Record::default();
    start(&mut record, "", &none);
    let changes = start(&mut record, read, &[]).0;
    assert_eq!(changes, ["`anonymous` of the directory was none and is read from now on"]);
    assert_eq!(record.values["anonymous"], ["read"]);
    for _ in 0..2 {
        let changes = start(&mut record, read, &none).0;
        assert_eq!(changes, ["`anonymous` of the directory was read and is none from now on"]);
        assert_eq!(record.values["anonymous"], ["none"]);
        let changes = start(&mut record, read, &[]).0;
        assert_eq!(changes, ["`anonymous` of the directory was none and is read from now on"]);
        assert_eq!(record.values["anonymous"], ["read"]);
    }
    // A key that a file no longer names, and names again.
    let changes = start(&mut record, "", &none).0;
    assert_eq!((changes.len(), &record.values["anonymous"][0][..]), (1, "none"));
    let changes = start(&mut record, "", &[]).0;
    assert_eq!((changes.len(), &record.values["anonymous"][0][..]), (0, "none"));
    let changes = start(&mut record, read, &[]).0;
    assert_eq!((changes.len(), &record.values["anonymous"][0][..]), (1, "read"));
}

#[test]
fn rules_that_are_not_given_are_those_of_the_directory() {
    let files = vec![SchemaFile { name: "a.schema".into(), text: "".into() }];
    let made = Made {
        suffixes: vec!["dc=a".to_owned()],
        schema_check: false,
        schema_files: Some(files.clone()),
        operational_attributes: false,
    };
    let mut config = Config::default();
    config.take_rules(&made);
    assert_eq!(
        (&config.suffixes, config.schema_check, config.operational_attributes),
        (&made.suffixes, false, false)
    );
    assert_eq!(config.recorded_schema, Some(files));
    let mut config = read("p.toml", "suffix = \"dc=b\"\nschema-check = true\nschema = \"dvtds\"\n").config;
    config.take_rules(&made);
    assert_eq!((&config.suffixes[0][..], config.schema_check), ("dc=b", true));
    assert_eq!((&config.schema[0][..], config.recorded_schema), ("dvtds", None));
}

#[test]
fn a_record_of_an_earlier_version_has_what_was_changed_on_line_alone() {
    let values = [("txn-open-max".to_owned(), vec!["22".to_owned()])].into();
    let mut record = Record { values, ..Record::default() };
    let changes =
        start(&mut record, "txn-open-max = 11\nanonymous = \"read\"\n", &[("write-dn", &["cn=a"])]).0;
    assert_eq!(changes, [""; 0]);
    assert_eq!(record.values["txn-open-max"], ["22"]);
    let mut record = Record { file: None, ..record };
    let changes = start(&mut record, "", &[("txn-open-max", &["33"])]).0;
    assert_eq!(changes.len(), 1, "a flag overrides all");
}

#[test]
fn every_key_of_the_directory_comes_back_from_the_record_and_others_are_not_in_it() {
    for key in keys() {
        let Some(value) = (match key.name {
            "memory-max" => Some("1GiB"),
            "sync" => Some("none"),
            "password-scheme" => Some("clear"),
            "anonymous" => Some("read"),
            "index" => Some("uid:eq,ord"),
            "queue-length-oid" => Some("1.2.3"),
            _ => ["7", "on", "cn=a", "7:cn=a", "/f"]
                .into_iter()
                .find(|text| key.set(&mut Config::default(), &[text.to_string()]).is_ok()),
        }) else {
            continue;
        };
        if key.scope == Scope::Hash {
            continue;
        }
        let mut record = Record::default();
        let (_, given) = start(&mut record, "", &[(key.name, &[value])]);
        assert_eq!(record.values.contains_key(key.name), key.scope == Scope::Directory, "{}", key.name);
        if key.scope == Scope::Directory && dsa::settings::find(key.name).is_none() {
            let (_, recalled) = start(&mut record, "", &[]);
            assert_eq!(key.show(&recalled), key.show(&given), "{}", key.name);
        }
    }
}

#[test]
fn of_the_root_password_only_a_hash_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("password");
    let flags = [("root-dn", &["cn=a"][..]), ("root-password-file", &[path.to_str().unwrap()])];
    let mut record = Record::default();
    std::fs::write(&path, "secret\n").unwrap();
    assert_eq!(start(&mut record, "", &flags).0, [""; 0]);
    assert!(record.values[ROOT_PASSWORD][0].starts_with("{SSHA512}"), "{record:?}");
    let recorded = record.clone();
    assert_eq!(start(&mut record, "", &flags).0, [""; 0]);
    assert_eq!(record, recorded);
    let (_, config) = start(&mut record, "", &[]);
    assert_eq!(config.root_dn.as_deref(), Some("cn=a"));
    assert!(password::is_recorded(&config.root_password_hash.unwrap(), b"secret"));
    std::fs::write(&path, "other\n").unwrap();
    assert_eq!(
        start(&mut record, "", &flags).0,
        ["`root-password-file` of the directory is another from now on"]
    );
    assert!(password::is_recorded(record.values[ROOT_PASSWORD][0].as_bytes(), b"other"));
}

#[test]
fn what_no_key_takes_is_refused() {
    let settle = |name: &str, value: &str| {
        let values = [(name.to_owned(), vec![value.to_owned()])].into();
        let mut record = Record { values, file: Some(Default::default()), ..Record::default() };
        Config::default().settle(&mut record, &mut SystemEntropy).unwrap_err()
    };
    assert!(settle("colour", "red").contains("`colour`"));
    assert!(settle("sync", "never").contains("recorded wrongly"));
}
