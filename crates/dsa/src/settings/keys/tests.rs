use super::*;
use crate::system::tests::standard_schema;

#[test]
fn every_key_has_an_attribute_and_its_text_comes_back() {
    let schema = standard_schema();
    for key in online() {
        assert!(schema.find_type(key.attribute().as_bytes()).is_some(), "{}", key.name);
        let (mut choices, defaults) =
            (Choices::default(), Choices { memory_of_machine: 1 << 30, ..Choices::default() });
        let shown = key.show(&defaults);
        if shown.is_empty() && !key.many() {
            continue;
        }
        key.set(&mut choices, &shown).unwrap();
        assert_eq!(key.show(&choices), key.show(&defaults), "{}", key.name);
    }
}

#[test]
fn a_bad_value_says_what_would_be_good() {
    let mut choices = Choices::default();
    let mut bad = |name: &str, values: &[&str]| {
        let values: Vec<String> = values.iter().map(|value| value.to_string()).collect();
        find(name).unwrap().set(&mut choices, &values).unwrap_err().remove(0)
    };
    assert!(bad("txn-implicit-begin", &["perhaps"]).1.contains("neither `on` nor `off`"));
    assert!(bad("txn-updates-max", &["0"]).1.contains("from 1 to"));
    assert!(bad("txn-bytes-max", &["17MiB"]).1.contains("from 1 to 16777216"));
    assert!(bad("txn-age-max", &["1", "2"]).1.contains("takes one value"));
    assert_eq!(bad("txn-precedence", &["1:dc=com", "x"]).0, 1);
    assert!(bad("access.refresh", &["later"]).1.contains("neither `at-once` nor `bind`"));
    let rule = "a: all; users; allow=read";
    assert!(bad("access.rule", &[rule, "b: all; users; allow=raed"]).1.contains("did you mean `read`?"));
    assert_eq!(bad("access.rule", &[rule, "a: all; anyone; allow=see"]).0, 1);
    assert!(bad("default-referral", &["ldap://a", "http://b"]).1.contains("begins with neither"));
    assert_eq!(bad("default-referral", &["ldap://a", "ldap://b/dc=com"]).0, 1);
    assert!(bad("limits.rule", &["a: users; sise=1"]).1.contains("did you mean `size`?"));
    assert_eq!(choices, Choices::default());
}
