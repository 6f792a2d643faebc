//! `cn=config`: settings that are read and changed while the server runs.

mod common;

use common::journal::{journaled, journaled_with};
use common::{Client, changes_of, config};
use dsa::State;
use dsa::settings::{Fixed, Start, Texts, online};
use model::ResultCode;
use proto::feature;
use proto::message::Request;
use proto::op::ModifyKind::{self, Add, Delete, Replace};
use proto::op::modify::{Changes, Modify};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};

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
    // It has none by default.
    for key in online().filter(|key| !key.many() && key.name != "security.password") {
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
fn limits_that_are_changed_are_in_force_at_once_and_go_back() {
    let mut client = Client::new();
    let in_force = |client: &Client| {
        let limits = client.dsa.limits();
        (limits.idle_timeout_s.get(), limits.write_timeout_s.get(), limits.connections_max.get())
    };
    let before = in_force(&client);
    for (attribute, value) in [
        ("pandoLimitsIdleTimeout", "7"),
        ("pandoLimitsWriteTimeout", "8"),
        ("pandoLimitsConnections", "9"),
        ("pandoLimitsMessageAnonymous", "2KiB"),
    ] {
        assert_eq!(change(&mut client, Replace, attribute, &[value]).0, ResultCode::Success);
    }
    assert_eq!(in_force(&client), (7, 8, 9));
    assert_eq!(shown(&mut client, "pandoLimitsMessageAnonymous"), ["2048"]);
    for attribute in ["pandoLimitsIdleTimeout", "pandoLimitsWriteTimeout", "pandoLimitsConnections"] {
        assert_eq!(change(&mut client, Delete, attribute, &[]).0, ResultCode::Success);
    }
    assert_eq!(in_force(&client), before);
}

/// It is one of the limits that come with the rules: a session asks for these anew.
#[test]
fn a_size_limit_that_is_changed_holds_for_sessions_that_are_there() {
    let mut client = Client::new();
    let mut user = Client::of(&client.dsa);
    user.bind(common::ADA, "lace");
    let code = |user: &mut Client| {
        user.search("dc=example", model::Scope::Subtree, "(objectClass=*)", &["1.1"]).end.code
    };
    assert_eq!(code(&mut user), ResultCode::Success);
    assert_eq!(change(&mut client, Replace, "pandoLimitsSize", &["1"]).0, ResultCode::Success);
    assert_eq!(code(&mut user), ResultCode::SizeLimitExceeded);
    assert_eq!(change(&mut client, Delete, "pandoLimitsSize", &[]).0, ResultCode::Success);
    assert_eq!(code(&mut user), ResultCode::Success);
}

#[test]
fn who_has_rights_besides_rules_is_changed_for_sessions_that_are_there() {
    let mut client = Client::new();
    let mut user = Client::of(&client.dsa);
    user.bind(common::ADA, "lace");
    let code = |user: &mut Client| user.modify("dc=example", &[(Replace, "description", &["x"])]).code;
    assert_eq!(code(&mut user), ResultCode::InsufficientAccessRights);
    assert_eq!(change(&mut client, Add, "pandoWriteDn", &[common::ADA]).0, ResultCode::Success);
    assert_eq!(code(&mut user), ResultCode::Success);
    let (refused, text) = change(&mut client, Add, "pandoWriteDn", &["flavour=sweet"]);
    assert_eq!(refused, ResultCode::ConstraintViolation, "{text}");
    assert!(text.contains("`write-dn`: `flavour=sweet`"), "{text}");
    assert_eq!(change(&mut client, Delete, "pandoWriteDn", &[]).0, ResultCode::Success);
    assert_eq!(code(&mut user), ResultCode::InsufficientAccessRights);
}

#[test]
fn memory_that_is_changed_holds_at_once_with_what_follows_from_it() {
    let mut wanted = config();
    wanted.store.memory_bytes_max = 1 << 30;
    wanted.settings.configured.limits.clients.memory_bytes_max = None;
    let mut client = Client::with(wanted);
    let monitored = |client: &mut Client| {
        client.read("cn=Limit,cn=Memory,cn=Monitor", &["monitorCounter"]).values("monitorCounter").unwrap()
    };
    let of = |client: &mut Client| {
        let keys = ["pandoMemoryMax", "pandoLimitsOldVersions", "pandoLimitsClientMemory"];
        (keys.map(|key| shown(client, key).concat()), monitored(client).concat())
    };
    let mib = |all: u64, old: u64, clients: u64| {
        ([all, old, clients].map(|mib| (mib << 20).to_string()), (all << 20).to_string())
    };
    assert_eq!(of(&mut client), mib(1024, 256, 128));
    assert_eq!(change(&mut client, Replace, "pandoMemoryMax", &["32MiB"]).0, ResultCode::Success);
    assert_eq!(of(&mut client), mib(32, 8, 64));
    let long = "x".repeat(1 << 20);
    let mut numbers = 0..40;
    let add = |client: &mut Client, number: i32| {
        let (dn, cn) = (format!("cn=m{number},ou=people,dc=example"), format!("m{number}"));
        let person =
            [("objectClass", &["person"][..]), ("cn", &[&cn]), ("sn", &["m"]), ("description", &[&long])];
        client.add(&dn, &person).code
    };
    let refused = numbers.find(|number| add(&mut client, *number) == ResultCode::AdminLimitExceeded);
    let refused = refused.expect("40 MiB are more than there is room for");
    assert_eq!(change(&mut client, Replace, "pandoMemoryMax", &["64MiB"]).0, ResultCode::Success);
    assert_eq!(add(&mut client, refused), ResultCode::Success);
    // Below what is taken: nothing goes, and it becomes no more.
    assert_eq!(change(&mut client, Replace, "pandoMemoryMax", &["32MiB"]).0, ResultCode::Success);
    assert_eq!(add(&mut client, refused + 1), ResultCode::AdminLimitExceeded);
    assert_eq!(client.read("cn=m0,ou=people,dc=example", &["cn"]).entries.len(), 1);
    // What nobody has chosen is there again.
    assert_eq!(change(&mut client, Delete, "pandoMemoryMax", &[]).0, ResultCode::Success);
    assert_eq!(of(&mut client), mib(1024, 256, 128));
    assert_eq!(add(&mut client, refused + 1), ResultCode::Success);
}

#[test]
fn memory_that_no_address_space_is_reserved_for_is_refused() {
    let mut client = Client::new();
    let reserved = client.dsa.shard().memory_bytes_reserved();
    let before = shown(&mut client, "pandoMemoryMax");
    let beyond = (reserved + 1).to_string();
    let (code, text) = change(&mut client, Replace, "pandoMemoryMax", &[&beyond]);
    assert_eq!(code, ResultCode::UnwillingToPerform, "{text}");
    assert!(
        text.contains(&format!("reserved for {reserved} bytes"))
            && text.contains("restart")
            && text.contains("cluster"),
        "{text}"
    );
    let (code, text) = change(&mut client, Replace, "pandoMemoryMax", &["31MiB"]);
    assert_eq!((code, text.contains("at least 32 MiB")), (ResultCode::ConstraintViolation, true), "{text}");
    assert_eq!(
        (shown(&mut client, "pandoMemoryMax"), client.dsa.shard().memory_bytes_max().to_string()),
        (before.clone(), before.concat())
    );
    assert_eq!(
        change(&mut client, Replace, "pandoMemoryMax", &[&reserved.to_string()]).0,
        ResultCode::Success
    );
    assert_eq!(client.dsa.shard().memory_bytes_max(), reserved);
}

/// A record of a cluster may say more than this node has reserved.
#[test]
fn a_node_goes_by_the_memory_that_it_has_reserved_and_reports_it_once() {
    let mut wanted = config();
    wanted.store.memory_bytes_max = 1 << 30;
    wanted.settings.configured.limits.clients.memory_bytes_max = None;
    wanted.settings.configured.memory_max = Some(1 << 50);
    let client = Client::with(wanted);
    let in_force = client.dsa.shard().memory_bytes_reserved();
    assert!(in_force < 1 << 50);
    assert_eq!(client.dsa.shard().memory_bytes_max(), in_force);
    assert_eq!(client.dsa.memory_not_reserved().take(), Some(1 << 50));
    assert_eq!(client.dsa.memory_not_reserved().take(), None);
}

#[test]
fn the_entry_of_the_changes_of_a_node_is_read_only() {
    let mut client = Client::new();
    for dn in ["cn=node,cn=config", "CN=Node, cn=config"] {
        let refused = client.modify(dn, &[(Replace, "description", &["x"])]);
        assert_eq!(refused.code, ResultCode::UnwillingToPerform, "{}", refused.text);
        assert!(refused.text.contains("made in cn=config"), "{}", refused.text);
    }
}

/// A default that is no value is shown as none, and comes back.
#[test]
fn a_setting_without_a_value_has_none_again() {
    let mut client = Client::new();
    assert_eq!(shown(&mut client, "pandoSecurityPassword"), [""; 0]);
    assert_eq!(change(&mut client, Add, "pandoSecurityPassword", &["128"]).0, ResultCode::Success);
    assert_eq!(shown(&mut client, "pandoSecurityPassword"), ["128"]);
    assert_eq!(change(&mut client, Delete, "pandoSecurityPassword", &["128"]).0, ResultCode::Success);
    assert_eq!(shown(&mut client, "pandoSecurityPassword"), [""; 0]);
    assert_eq!(shown(&mut client, "pandoConfigChange").len(), 2);
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

/// A3: a malformed rule, or one that names what the schema does not know, refuses the change whole.
#[test]
fn access_rules_are_checked_whole_and_compared_as_they_are_shown() {
    let mut client = Client::new();
    let attribute = "pandoAccessRule";
    let good = "a: subtree=dc=a attrs=cn,sn; users | self; allow=see";
    let canonical = "a: subtree=\"dc=a\" attrs=cn,sn; users | self; allow=see";
    for (bad, reason) in [
        ("b: all; users; allow=raed", "did you mean `read`?"),
        ("b: all attrs=telefoneNumber; users; allow=read", "did you mean `telephoneNumber`?"),
        ("b: subtree=\"flavour=sweet\"; users; allow=read", "`flavour=sweet`"),
        ("a: all; anyone; allow=read", "another rule is called `a`"),
    ] {
        let (code, text) = change(&mut client, Add, attribute, &[good, bad]);
        assert_eq!(code, ResultCode::ConstraintViolation, "{bad}: {text}");
        assert!(text.contains(reason), "{bad}: {text}");
        assert_eq!(shown(&mut client, attribute), [""; 0]);
    }
    let other = "b: all; anonymous; deny=read rank=1";
    assert_eq!(change(&mut client, Add, attribute, &[good, other]).0, ResultCode::Success);
    assert_eq!(shown(&mut client, attribute), [canonical, other]);
    let again = "a:subtree=\"dc=a\" attrs=cn,sn; users | self=true; allow=read,compare,search,disclose";
    assert_eq!(change(&mut client, Add, attribute, &[again]).0, ResultCode::AttributeOrValueExists);
    assert_eq!(change(&mut client, Delete, attribute, &[again]).0, ResultCode::Success);
    assert_eq!(shown(&mut client, attribute), [other]);
}

#[test]
fn a_change_is_in_force_when_the_log_has_it_and_goes_there_alone() {
    let (mut client, log) = journaled();
    client.plant();
    let (before, mut second) = (log.lock().unwrap().len(), Client::of(&client.dsa));
    second.bind_root();
    let list = changes_of(&[(Replace, "pandoTxnOpenMax", &["5"])]);
    let changes = Changes::parse(&list).unwrap();
    let (id, bytes) = client.encode(&Request::Modify(Modify { dn: CONFIG.as_bytes(), changes }), &[]);
    let mut out = Vec::new();
    assert_eq!(client.session.feed(&mut client.worker, &bytes, &mut out).state, State::Waiting);
    assert_eq!((out.len(), client.dsa.transactions().open_max()), (0, 1000));
    let (code, text) = change(&mut second, Replace, "pandoTxnOpenMax", &["6"]);
    assert_eq!(code, ResultCode::Busy, "{text}");
    (client.commit.as_ref().unwrap().borrow_mut())();
    let cx = &mut Context::from_waker(Waker::noop());
    assert!(client.session.poll_updates(&mut client.worker, cx, &mut out).is_ready());
    assert_eq!(common::answers(&out)[0].id, id);
    assert_eq!(client.dsa.transactions().open_max(), 5);
    let logged = log.lock().unwrap()[before..].to_vec();
    assert_eq!(logged.len(), 1);
    assert!(String::from_utf8_lossy(&logged[0].0).contains("txn-open-max"));
    assert_eq!(change(&mut client, Replace, "pandoTxnOpenMax", &["5"]).0, ResultCode::Success);
    assert_eq!(log.lock().unwrap().len(), before + 1, "nothing changes");
}

#[test]
fn a_change_that_the_log_does_not_take_is_none_and_the_next_may_come() {
    let (mut client, _) = journaled();
    client.plant();
    let (commit, fixture) = (client.commit.clone(), Arc::clone(client.fixture.as_ref().unwrap()));
    client.commit = Some(Rc::new(RefCell::new(move || fixture.refuse_all())));
    let refused = change(&mut client, Replace, "pandoTxnOpenMax", &["5"]);
    assert_eq!(refused, (ResultCode::Unavailable, "not today".to_owned()));
    assert_eq!(client.dsa.transactions().open_max(), 1000);
    client.commit = commit;
    assert_eq!(change(&mut client, Replace, "pandoTxnOpenMax", &["6"]).0, ResultCode::Success);
    assert_eq!(client.dsa.transactions().open_max(), 6);
}

#[test]
fn a_start_goes_by_the_record_then_by_what_is_configured() {
    let text = |value: &str| vec![value.to_owned()];
    let mut start = Start::default();
    for name in ["txn-open-max", "txn-updates-max"] {
        let key = dsa::settings::find(name).unwrap();
        key.set(&mut start.configured, &text("11")).unwrap();
    }
    start.record.values = Texts::from([("txn-open-max".to_owned(), text("22"))]);
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

#[test]
fn a_configured_index_that_is_dropped_is_configured_no_more() {
    let mut start = Start::default();
    let listed = ["uid:eq,pres", "cn:eq"].map(str::to_owned).to_vec();
    start.record.values = Texts::from([("index".to_owned(), listed)]);
    let mut given = config();
    given.store.indexes = ["uid:eq,pres", "cn:eq"].map(|text| text.parse().unwrap()).to_vec();
    let (mut client, log) = journaled_with(dsa::Config { settings: start, ..given });
    client.plant();
    let before = log.lock().unwrap().len();
    let missing = change(&mut client, Delete, "olcDbIndex", &["uid:eq", "sn:eq"]);
    assert_eq!(missing.0, ResultCode::NoSuchAttribute, "all or nothing");
    assert_eq!(log.lock().unwrap().len(), before);
    assert_eq!(change(&mut client, Delete, "olcDbIndex", &["uid:eq", "cn:eq"]).0, ResultCode::Success);
    assert_eq!(shown(&mut client, "olcDbIndex"), ["uid:pres"], "the request was applied, too");
    let logged = log.lock().unwrap()[before..].to_vec();
    assert_eq!(logged.len(), 1);
    assert!(String::from_utf8_lossy(&logged[0].0).contains("\"index\": [\"uid:pres\"]"));
    assert_eq!(change(&mut client, Add, "olcDbIndex", &["sn:eq"]).0, ResultCode::Success);
    assert_eq!(log.lock().unwrap().len(), before + 1, "what is built is written down by who builds it");
}
