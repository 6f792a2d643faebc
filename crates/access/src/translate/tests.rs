//! A11, without the other servers: rule sets of each, with the rules that they come to. A file of `tests/` has sets behind each other: the
//! source, `---`, the rules as they are printed, `! ` before what is not carried over and `? ` before remarks, `===`.

use super::*;
use proptest::prelude::*;

fn shown(done: &Translation) -> Vec<String> {
    let rules = done.rules.iter().map(|(_, rule)| rule.to_string());
    let left = done.left.iter().map(|(line, text)| format!("! {line}: {text}"));
    rules.chain(left).chain(done.remarks.iter().map(|(line, text)| format!("? {line}: {text}"))).collect()
}

/// Compares all sets of a file. With `PANDO_TRANSLATE_WRITE` set it is written anew, to be read by a person.
fn compare(name: &str, dialect: Dialect) {
    let path = format!("{}/src/translate/tests/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("it is there");
    let sets: Vec<&str> = text.split("\n===\n").filter(|set| !set.trim().is_empty()).collect();
    assert!(sets.len() >= 60, "{} sets", sets.len());
    let mut out = String::new();
    let mut wrong = Vec::new();
    for set in sets {
        let (source, expected) = set.split_once("\n---\n").unwrap_or((set, ""));
        let got = shown(&translate(dialect, &format!("{source}\n"))).join("\n");
        if got != expected.trim_end() {
            wrong.push(format!("{source}\n--- is\n{got}\n--- should be\n{expected}"));
        }
        out.push_str(&format!("{}\n---\n{got}\n===\n", source.trim_start_matches('\n')));
    }
    if std::env::var_os("PANDO_TRANSLATE_WRITE").is_some() {
        std::fs::write(&path, out).expect("it can be written");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a11_openldap() {
    compare("openldap.txt", Dialect::OpenLdap);
}

#[test]
fn a11_389() {
    compare("389.txt", Dialect::Ns389);
}

#[test]
fn a11_opendj() {
    compare("opendj.txt", Dialect::OpenDj);
}

#[test]
fn what_is_no_file_of_theirs_is_left() {
    for (dialect, text) in [
        (Dialect::Ns389, "dn: dc=x\naci: (version 3.0"),
        (Dialect::OpenDj, "x"),
        (Dialect::OpenLdap, "dn: dc=x\n:x\n"),
    ] {
        let done = translate(dialect, text);
        let is_closed = done.rules.iter().all(|(_, rule)| rule.allow.is_empty());
        assert!(is_closed && done.left.len() == 1, "{done:?}");
    }
    assert_eq!(translate(Dialect::OpenLdap, "include x\n"), Translation::default());
}

/// Words of all dialects, so that random files have some sense.
const WORDS: [&str; 40] = [
    "access to",
    "*",
    "by",
    "users",
    "self",
    "read",
    "write",
    "none",
    "break",
    "attrs=",
    "children",
    "entry",
    "dn.regex=",
    "^",
    "$",
    "(uid=[^,]+)",
    "dc=x",
    ",",
    "\"",
    "filter=",
    "(cn=a)",
    "val=",
    "group.expand=",
    "$1",
    "=rw",
    "+",
    "(targetattr=",
    "(target!=",
    "ldap:///",
    "($dn)",
    ")",
    "(version 3.0; acl \"n\"; ",
    "allow (read)",
    "deny (all)",
    "userdn=",
    "not ",
    " and ",
    ";)",
    "aci: ",
    "\ndn: dc=x\n",
];

proptest! {
    #[test]
    fn whatever_a_file_has_what_comes_of_it_are_rules(words in proptest::collection::vec(proptest::sample::select(&WORDS[..]), 0..40)) {
        let text = words.join(" ");
        for dialect in [Dialect::OpenLdap, Dialect::Ns389, Dialect::OpenDj] {
            for (_, rule) in translate(dialect, &text).rules {
                prop_assert_eq!(crate::parse(&rule.to_string()), Ok(rule));
            }
        }
    }
}
