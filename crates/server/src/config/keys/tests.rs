//! The table against the schema, and against itself.

use super::super::near::unknown;
use super::*;

#[test]
fn names_are_unique_and_texts_are_sentences() {
    let names: std::collections::BTreeSet<&str> = keys().map(|key| key.name).collect();
    assert_eq!(names.len(), keys().count());
    assert!(table::rows().all(|row| dsa::settings::find(row.name).is_none()));
    keys().for_each(|key| assert!(key.text.ends_with('.'), "{}", key.name));
}

#[test]
fn every_key_has_an_attribute_that_the_schema_knows() {
    let schema = crate::directory::schema(&Config::default()).unwrap();
    for key in keys() {
        let attribute =
            schema.find_type(key.attribute().as_bytes()).map(|found| schema.attribute_type(found));
        assert!(
            attribute.is_some_and(|found| found.definition.single_value != key.many()),
            "{}",
            key.attribute()
        );
    }
}

/// The default of a row is what an empty file means, unless it is worked out for the machine.
#[test]
fn defaults_are_those_that_the_rows_name() {
    let defaults = Config::default();
    let computed =
        ["data", "snapshot-after", "memory-max", "threads", "limits.client-memory", "limits.old-versions"];
    for key in keys() {
        let said = key.default.split([':', ' ']).next().unwrap_or_default();
        let said = if key.default.contains("://") { key.default } else { said };
        let nothing = said == "none" && key.show(&defaults).is_empty();
        if !nothing && !computed.contains(&key.name) {
            let mut set = defaults.clone();
            // Of a key with several values the default may be several.
            let is_list = ["1.3 and 1.2", "RS256 and ES256 and EdDSA"].contains(&key.default);
            let all = if is_list { key.default } else { said };
            let values: Vec<String> = all.split(" and ").map(str::to_owned).collect();
            assert_eq!(key.set(&mut set, &values), Ok(()), "{}", key.name);
            assert_eq!(key.show(&set), key.show(&defaults), "{}", key.name);
        }
    }
}

#[test]
fn what_is_shown_can_be_set_again() {
    let mut config = Config::default();
    for (name, value) in [
        ("data", "/d"),
        ("sync", "interval=5"),
        ("on-log-failure", "read-only"),
        ("suffix", "dc=com"),
        ("listen", "ldap://[::1]:3389"),
        ("password-scheme", "clear"),
        ("anonymous", "read"),
        ("memory-max", "1GiB"),
        ("limits.old-versions", "1MiB"),
        ("limits.size", "7"),
        ("index", "uid:eq,sub"),
        ("txn-bytes-max", "2KiB"),
        ("limits.client-memory", "1GiB"),
        ("listener", "url=ldap://h:1 name=x"),
        ("identity.certificate", "by=subject-dn"),
        ("identity.peer", "uid=1 dn=\"cn=a,dc=com\""),
        ("identity.user", "base=dc=com scope=one filter=(mail={})"),
        ("oauth.algorithms", "EdDSA"),
    ] {
        config.set(name, &[value.to_owned()]).unwrap();
    }
    for key in keys().filter(|key| key.name != "memory") {
        let values = key.show(&config);
        if !values.is_empty() {
            let mut again = config.clone();
            key.set(&mut again, &values).unwrap();
            assert_eq!(again, config, "{}", key.name);
        }
    }
}

#[test]
fn a_misspelt_key_gets_a_suggestion() {
    assert!(unknown("sufix", names()).contains("did you mean `suffix`"));
    assert!(unknown("root_dn", names()).contains("did you mean `root-dn`"));
    assert!(unknown("idle-timeout", names()).contains("`idle-timeout` in section `[limits]`"));
    assert_eq!(unknown("colour-of-the-logo", names()), "unknown key `colour-of-the-logo`");
}

#[test]
fn lines_are_read_as_the_values_that_they_were_made_of() {
    let values = ["7"].map(str::to_owned);
    let shown = |name: &str, values: &[String]| line(known(name).expect("it is a key"), values);
    assert_eq!(shown("limits.size", &values), "limits.size = \"7\"");
    let rules = [
        "a: subtree=\"dc=a\" filter=\"(cn=\\28x)\"; users; allow=read",
        "b: all; anonymous; deny=read rank=1",
    ];
    let rules = rules.map(str::to_owned);
    let text = format!("{}\n{}\n", shown("limits.size", &values), shown("access.rule", &rules));
    let read = crate::config::read("p.toml", &text);
    assert_eq!(read.faults, [], "{text}");
    assert_eq!(known("access.rule").map(|key| key.show(&read.config)), Ok(rules.to_vec()));
    assert_eq!(read.config.settings.limits.search.size_max, 7);
}
