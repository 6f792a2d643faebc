//! The table against the schema, and against itself.

use super::super::near::unknown;
use super::*;

#[test]
fn names_are_unique_and_texts_are_sentences() {
    for (at, key) in KEYS.iter().enumerate() {
        assert!(KEYS[..at].iter().all(|other| other.name != key.name), "{} is there twice", key.name);
        assert!(key.text.ends_with('.'), "{}", key.name);
    }
}

#[test]
fn every_key_has_an_attribute_that_the_schema_knows() {
    let schema = schema::Builder::new().standard().build().unwrap();
    for key in KEYS {
        assert!(schema.find_type(key.attribute().as_bytes()).is_some(), "{}", key.attribute());
        let online = settings::find(key.name);
        assert!(online.is_none_or(|online| online.attribute == key.attribute()), "{}", key.name);
    }
    assert_eq!(settings::ONLINE.iter().filter(|online| find(online.name).is_none()).count(), 0);
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
        ("limits.client-memory", "1GiB"),
    ] {
        config.set(name, &[value.to_owned()]).unwrap();
    }
    for key in KEYS.iter().filter(|key| !matches!(key.name, "memory" | "operational-attributes")) {
        let values = (key.show)(&config);
        if !values.is_empty() {
            let mut again = config.clone();
            key.set(&mut again, &values).unwrap();
            assert_eq!(again, config, "{}", key.name);
        }
    }
}

#[test]
fn a_misspelt_key_gets_a_suggestion() {
    assert!(unknown("sufix").contains("did you mean `suffix`"));
    assert!(unknown("root_dn").contains("did you mean `root-dn`"));
    assert!(unknown("idle-timeout").contains("`idle-timeout` in section `[limits]`"));
    assert_eq!(unknown("colour-of-the-logo"), "unknown key `colour-of-the-logo`");
}
