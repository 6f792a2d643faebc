//! Who may read the change log: nobody but those who may read all that it tells of.

use super::*;
use crate::common::journal::journaled_with;
use dsa::State;
use model::ResultCode::{NoSuchObject, Success};
use model::{Filter, Scope};
use proto::list::{Octets, octet_list};
use proto::message::Request;
use proto::op::ModifyKind::{Add, Replace};
use proto::op::Search;

const LOG: &str = "cn=changelog";
const OF_LOG: &str = "log: subtree=cn=changelog; users; allow=see rank=1";
const LOG_IN: &str = "log-in: all attrs=userPassword; anyone; allow=auth";
const OF_ALL: &str = "all: all attrs=entry,*,+; users; allow=see rank=1";

/// Ada, where the changes of some entries are kept; with the built-in rules, by which users read everything but secrets, or without.
fn ada(defaults: bool, rules: &[&str]) -> Client {
    let mut config = ruled(rules);
    config.settings.configured.access.defaults = defaults;
    config.settings.configured.change_log.bytes = 1 << 20;
    let mut client = journaled_with(config).0;
    client.plant();
    let hidden: &[&str] = &["+49 hidden"];
    assert_eq!(client.root().modify(GRACE, &[(Replace, "homePhone", hidden)]).code, Success);
    client.must_bind(ADA, "lace");
    client
}

fn shown(client: &mut Client, filter: &str) -> (ResultCode, String) {
    let found = client.search(LOG, Scope::Subtree, filter, &["*", "+"]);
    let values = found.entries.iter().flat_map(|(_, attributes)| attributes.iter());
    let text: Vec<String> = values.map(|(_, values)| format!("{:?}", text_of(values))).collect();
    (found.end.code, text.join("\n"))
}

fn text_of(values: &[Vec<u8>]) -> String {
    values.iter().map(|value| String::from_utf8_lossy(value).into_owned()).collect()
}

#[test]
fn x10_the_change_log_is_for_those_who_may_read_everything() {
    let hides = [
        "hide: all attrs=homePhone; users; deny=read rank=2",
        "hide: base=\"uid=grace,ou=people,dc=example\" attrs=entry; users; deny=disclose rank=2",
        "hide: all attrs=homePhone filter=(cn=nobody); users; deny=read rank=2",
        "hide: all attrs=homePhone values=(homePhone=x); users; deny=read rank=2",
        "hide: all attrs=homePhone; group=cn=nobody,dc=example; deny=read rank=2",
    ];
    let mut closed: Vec<(bool, Vec<&str>)> =
        hides.iter().map(|hide| (true, vec![OF_LOG, OF_ALL, *hide])).collect();
    let some = [
        "some: all attrs=entry,*; users; allow=see",
        "some: all attrs=entry,*,+,!homePhone; users; allow=see",
        "some: all attrs=entry,*,+ filter=(objectClass=*); users; allow=see",
        "some: all attrs=entry,*,+; self; allow=see",
        "some: children=dc=example attrs=entry,*,+; users; allow=see",
    ];
    closed.extend(some.iter().map(|some| (false, vec![LOG_IN, OF_LOG, *some])));
    closed.extend([(true, vec![]), (true, vec![OF_ALL]), (false, vec![LOG_IN, OF_LOG])]);
    for (defaults, rules) in closed {
        let mut client = ada(defaults, &rules);
        for filter in ["(objectClass=*)", "(changes=*)"] {
            let (code, text) = shown(&mut client, filter);
            assert_eq!((code, &text[..]), (NoSuchObject, ""), "{rules:?}");
        }
        assert_eq!(client.compare(LOG, "cn", "changelog").code, NoSuchObject, "{rules:?}");
        let last =
            client.root().read("", &["lastChangeNumber"]).values("lastChangeNumber").expect("it is on");
        for name in [LOG, " 2.5.4.3 = changelog"] {
            let dn = format!("changeNumber={},{name}", last[0]);
            assert_eq!(client.read(&dn, &["*"]).end.code, NoSuchObject, "{rules:?}");
            assert_eq!(client.compare(&dn, "changeType", "add").code, NoSuchObject, "{rules:?}");
            assert_eq!(client.read(name, &["*"]).end.code, NoSuchObject, "{rules:?}");
        }
        // Who may not look has no work done.
        assert_eq!(client.dsa.stored_changes(), 0, "{rules:?}");
        // The root DN may always.
        assert!(shown(&mut client.root(), "(changes=*)").1.contains("hidden"));
    }
    let mut client = ada(true, &[OF_LOG]);
    for mut client in [ada(true, &[OF_LOG]), ada(false, &[LOG_IN, OF_LOG, OF_ALL])] {
        let (code, text) = shown(&mut client, "(changes=*)");
        assert!(code == Success && text.contains("homePhone: +49 hidden"), "{code:?} {text}");
    }
    // A rule that comes later holds for the next search.
    let hide = "hide: all attrs=homePhone; users; deny=read rank=2";
    assert_eq!(client.root().modify("cn=config", &[(Add, "pandoAccessRule", &[hide])]).code, Success);
    assert_eq!(shown(&mut client, "(changes=*)").0, NoSuchObject);
}

/// A rule that shows single changes, or all of them but not where they stand, counts before these are entries.
#[test]
fn x10_rules_below_the_change_log_count_before_a_change_is_stored() {
    for place in ["children=cn=changelog", "children=\"\"", "one=cn=changelog"] {
        let rule = format!("log: {place}; users; allow=see rank=1");
        let mut client = ada(true, &[&rule]);
        if place != "children=\"\"" {
            assert_eq!(shown(&mut client, "(changes=*)").0, NoSuchObject, "{place}");
            assert_eq!(client.dsa.stored_changes(), 0, "{place}");
        }
        let last =
            client.root().read("", &["lastChangeNumber"]).values("lastChangeNumber").expect("it is on");
        let found = client.read(&format!("changeNumber={},{LOG}", last[0]), &["changeType"]);
        assert_eq!(found.values("changeType"), Some(vec!["modify".to_owned()]), "{place}");
    }
}

#[test]
fn x10_the_change_log_has_no_passwords() {
    let mut root = ada(true, &[]).root();
    let new: &[(&str, &[&str])] =
        &[("objectClass", &["person"]), ("sn", &["x"]), ("userPassword", &["a secret of new"])];
    root.must_add("cn=new,dc=example", new);
    assert_eq!(root.modify(GRACE, &[(Replace, "userPassword", &["a secret of grace"])]).code, Success);
    let rule = "rule: all attrs=mail; users; allow=read";
    assert_eq!(root.modify(GRACE, &[(Add, "pandoAccess", &[rule])]).code, Success);
    let (code, text) = shown(&mut root, "(objectClass=changeLogEntry)");
    assert!(code == Success && text.contains("cn=new,dc=example") && text.contains("sn: x"));
    for secret in ["userPassword", "secret", "{", "pandoAccess"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

/// One that has begun goes no further, either.
#[test]
fn x10_a_search_ends_when_its_requester_may_not_read_everything_any_more() {
    let mut client = ada(true, &[OF_LOG]);
    let (mut root, long) = (client.root(), "x".repeat(2000));
    for number in 0..200 {
        root.must_modify(GRACE, &[(Replace, "description", &[&format!("{number} {long}")])]);
    }
    let all = client.search(LOG, Scope::One, "(changes=*)", &["changes"]).entries.len();
    let (filter, selection) = (Filter::Present(b"changes"), octet_list([&b"changes"[..]]));
    let selection = Octets::parse(&selection).expect("just encoded");
    let search = Search::unlimited(LOG.as_bytes(), Scope::One, filter, selection);
    let (id, bytes) = client.encode(&Request::Search(search), &[]);
    let mut out = Vec::new();
    let mut state = client.session.feed(&mut client.worker, &bytes, &mut out).state;
    assert_eq!(state, State::Busy);
    let late = "late: all attrs=homePhone; users; deny=read rank=2";
    root.must_modify("cn=config", &[(Add, "pandoAccessRule", &[late])]);
    let mut all_out = std::mem::take(&mut out);
    while state == State::Busy {
        state = client.session.step(&mut client.worker, &mut out);
        all_out.append(&mut out);
    }
    let found = found(id, answers(&all_out));
    assert_eq!(found.end.code, ResultCode::InsufficientAccessRights);
    assert!(found.entries.len() < all, "{} of {all}", found.entries.len());
}
