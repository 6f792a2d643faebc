//! `cn=config`: settings that are read and changed while the server runs.

mod common;

use common::{Client, config};
use dsa::settings::{Fixed, Keeper, ONLINE, Start, Texts};
use model::ResultCode;
use proto::feature;
use proto::op::ModifyKind::{self, Add, Delete, Replace};
use std::io;
use std::sync::{Arc, Mutex};

const CONFIG: &str = "cn=config";

fn change(client: &mut Client, kind: ModifyKind, attribute: &str, values: &[&str]) -> (ResultCode, String) {
    let outcome = client.modify(CONFIG, &[(kind, attribute, values)]);
    (outcome.code, outcome.text)
}

fn shown(client: &mut Client, attribute: &str) -> Vec<String> {
    client.read(CONFIG, &[attribute]).values(attribute).unwrap_or_default()
}

fn features(client: &mut Client) -> Vec<String> {
    client.read("", &["supportedFeatures"]).values("supportedFeatures").unwrap()
}

#[test]
fn every_setting_is_shown_to_the_root_dn_alone() {
    let mut client = Client::new();
    let found = client.read(CONFIG, &["*", "+"]);
    for key in ONLINE.iter().filter(|key| !key.many()) {
        assert_eq!(found.values(&key.attribute()).map(|values| values.len()), Some(1), "{}", key.name);
    }
    client.bind(common::ADA, "lace");
    assert!(client.read(CONFIG, &["*"]).entries.is_empty());
}

#[test]
fn extensions_are_features_only_while_they_are_on() {
    let mut client = Client::new();
    for (attribute, oid) in [
        ("pandoTxnImplicitBegin", feature::IMPLICIT_BEGIN),
        ("pandoTxnImplicitMembership", feature::IMPLICIT_MEMBERSHIP),
    ] {
        let is_listed = |client: &mut Client| features(client).iter().any(|listed| listed == oid);
        assert!(!is_listed(&mut client));
        assert_eq!(change(&mut client, Replace, attribute, &["TRUE"]).0, ResultCode::Success);
        assert!(is_listed(&mut client));
        assert_eq!(shown(&mut client, attribute), ["on"]);
        assert_eq!(change(&mut client, Delete, attribute, &[]).0, ResultCode::Success);
        assert!(!is_listed(&mut client));
    }
}

#[test]
fn what_is_changed_is_in_force_at_once() {
    let mut client = Client::new();
    let settings =
        [("pandoTxnUpdatesMax", "7"), ("pandoTxnBytesMax", "2KiB"), ("pandoTxnImplicitBegin", "on")];
    let values: Vec<[&str; 1]> = settings.iter().map(|(_, value)| [*value]).collect();
    let changes: Vec<(ModifyKind, &str, &[&str])> =
        settings.iter().zip(&values).map(|((name, _), value)| (Replace, *name, &value[..])).collect();
    assert_eq!(client.modify(CONFIG, &changes).code, ResultCode::Success);
    let settings = client.dsa.transactions();
    assert_eq!((settings.updates_max(), settings.bytes_max(), settings.implicit_begin()), (7, 2048, true));
}

#[test]
fn of_what_cannot_be_nothing_is_done() {
    let mut client = Client::new();
    let changes: [(ModifyKind, &str, &[&str]); 2] =
        [(Replace, "pandoTxnUpdatesMax", &["7"]), (Replace, "pandoTxnAgeMax", &["0"])];
    let refused = client.modify(CONFIG, &changes);
    assert_eq!(refused.code, ResultCode::ConstraintViolation);
    assert!(refused.text.contains("from 1 to"), "{}", refused.text);
    assert_eq!(client.dsa.transactions().updates_max(), 10_000);
    for (kind, attribute, values, code) in [
        (Add, "pandoTxnOpenMax", &["5"][..], ResultCode::ConstraintViolation),
        (Add, "pandoTxnOpenMax", &["1000"], ResultCode::AttributeOrValueExists),
        (Delete, "pandoTxnOpenMax", &["5"], ResultCode::NoSuchAttribute),
        (ModifyKind::Increment, "pandoTxnOpenMax", &["5"], ResultCode::UnwillingToPerform),
        (Add, "pandoTxnPrecedence", &["3:flavour=sweet"], ResultCode::ConstraintViolation),
        (Replace, "description", &["mine"], ResultCode::UnwillingToPerform),
    ] {
        assert_eq!(change(&mut client, kind, attribute, values).0, code, "{attribute} {values:?}");
    }
}

#[test]
fn values_of_a_list_come_and_go() {
    let mut client = Client::new();
    let attribute = "pandoTxnPrecedence";
    assert_eq!(change(&mut client, Add, attribute, &["3:dc=a", "4:dc=b"]).0, ResultCode::Success);
    assert_eq!(change(&mut client, Delete, attribute, &["3:dc=a"]).0, ResultCode::Success);
    assert_eq!(shown(&mut client, attribute), ["4:dc=b"]);
    let of =
        |client: &Client, dn: &[u8]| client.dsa.transactions().precedence(client.dsa.shard().schema(), dn);
    assert_eq!((of(&client, b"cn=x,dc=b"), of(&client, b"dc=a")), (4, 0));
}

/// Remembers what it was given last, unless it is told to fail.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<(Texts, bool)>>);

impl Keeper for Memory {
    fn keep(&self, changed: &Texts) -> io::Result<()> {
        let mut memory = self.0.lock().unwrap();
        if memory.1 {
            return Err(io::Error::other("the disk is full"));
        }
        memory.0 = changed.clone();
        Ok(())
    }
}

#[test]
fn changes_are_kept_before_they_are_in_force() {
    let (mut client, memory) = (Client::new(), Memory::default());
    client.dsa.keep_settings_with(Box::new(memory.clone()));
    assert_eq!(change(&mut client, Replace, "pandoTxnOpenMax", &["5"]).0, ResultCode::Success);
    assert_eq!(memory.0.lock().unwrap().0, Texts::from([("txn-open-max".to_owned(), vec!["5".to_owned()])]));
    memory.0.lock().unwrap().1 = true;
    let (code, text) = change(&mut client, Replace, "pandoTxnOpenMax", &["6"]);
    assert_eq!(code, ResultCode::Other);
    assert!(text.contains("the disk is full"), "{text}");
    assert_eq!(client.dsa.transactions().open_max(), 5);
    memory.0.lock().unwrap().1 = false;
    assert_eq!(change(&mut client, Delete, "pandoTxnOpenMax", &[]).0, ResultCode::Success);
    assert_eq!(client.dsa.transactions().open_max(), 1000);
    assert!(memory.0.lock().unwrap().0.is_empty());
}

#[test]
fn a_start_goes_by_the_record_then_by_what_is_configured() {
    let text = |value: &str| vec![value.to_owned()];
    let mut start = Start::default();
    for name in ["txn-open-max", "txn-updates-max"] {
        let key = dsa::settings::find(name).unwrap();
        key.set(&mut start.configured, &text("11")).unwrap();
    }
    start.changed = Texts::from([("txn-open-max".to_owned(), text("22"))]);
    let mut client = Client::with(dsa::Config { settings: start, ..config() });
    let in_force = |client: &Client| {
        let settings = client.dsa.transactions();
        (settings.open_max(), settings.updates_max())
    };
    assert_eq!(in_force(&client), (22, 11));
    assert_eq!(change(&mut client, Delete, "pandoTxnOpenMax", &[]).0, ResultCode::Success);
    assert_eq!(in_force(&client), (11, 11));
}

#[test]
fn what_cannot_be_changed_is_shown_and_says_how_it_can() {
    let fixed = Fixed { key: "threads", attribute: "pandoThreads".to_owned(), values: vec!["3".to_owned()] };
    let start = Start { fixed: vec![fixed], ..Start::default() };
    let mut client = Client::with(dsa::Config { settings: start, ..config() });
    assert_eq!(shown(&mut client, "pandoThreads"), ["3"]);
    let changes: [(ModifyKind, &str, &[&str]); 2] =
        [(Replace, "pandoTxnOpenMax", &["5"]), (Replace, "pandoThreads", &["4"])];
    let refused = client.modify(CONFIG, &changes);
    assert_eq!(refused.code, ResultCode::UnwillingToPerform);
    assert!(refused.text.contains("`threads`") && refused.text.contains("restart"), "{}", refused.text);
    assert_eq!(client.dsa.transactions().open_max(), 1000);
}
