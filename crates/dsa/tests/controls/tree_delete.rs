//! Tree delete: an entry goes with all that is below it.

use crate::common::journal::{Log, journaled_with};
use crate::common::*;
use dsa::journal::Command;
use model::ResultCode::*;
use model::Scope;
use proto::Request;
use proto::control::tree_delete::{OID, control};
use proto::control::{Control, manage_dsa_it, no_op, read_entry, transaction_specification};

const TOP: &str = "ou=top,dc=example";
const ORG: Given<'static> = &[("objectClass", &["organizationalUnit"])];

/// Clients of directories whose tree deletes take so many entries at a time.
fn clients(at_a_time: u64) -> [(Client, Option<Log>); 2] {
    let mut config = config();
    config.settings.configured.limits.clients.tree_delete_max = at_a_time;
    let (mut logged, log) = journaled_with(config.clone());
    logged.plant();
    [(Client::with(config), None), (logged, Some(log))]
}

/// So many entries at the most, in several levels.
fn plant(client: &mut Client, wide: usize) -> usize {
    client.must_add(TOP, ORG);
    let mut count = 1;
    for n in 0..wide {
        let unit = format!("ou=u{n},{TOP}");
        client.must_add(&unit, ORG);
        for k in 0..n % 4 {
            client.must_add(&format!("ou=l{k},{unit}"), ORG);
            count += 1;
        }
        count += 1;
    }
    count
}

fn left(client: &mut Client) -> usize {
    client.search(TOP, Scope::Subtree, "(objectClass=*)", &["1.1"]).entries.len()
}

#[test]
fn all_of_a_subtree_goes_at_once() {
    assert!(is_published("supportedControl", OID));
    for (mut client, log) in clients(1000) {
        let beside = client.search("dc=example", Scope::Subtree, "(objectClass=*)", &["1.1"]).dns().len();
        let count = plant(&mut client, 150);
        assert!(count > 300);
        assert_eq!(client.delete(TOP).code, NotAllowedOnNonLeaf);
        assert_eq!(client.delete_with(TOP, &[control(true)]).end.code, Success);
        assert_eq!(client.read(TOP, &[]).end.code, NoSuchObject);
        let found = client.search("dc=example", Scope::Subtree, "(objectClass=*)", &["1.1"]);
        assert_eq!(found.dns().len(), beside);
        if let Some(log) = log {
            let log = log.lock().expect("nobody panicked");
            let last = Command::decode(&log.last().expect("there are some").0).expect("it was encoded");
            assert!(last.is_transaction, "it is one command of deletes");
        }
    }
}

#[test]
fn a_large_one_goes_in_parts() {
    for (mut client, log) in clients(50) {
        let count = plant(&mut client, 150);
        let before = log.as_ref().map(|log| log.lock().expect("nobody panicked").len());
        // What comes behind it in the same bundle comes after all of it.
        let mut input = client.encode(&Request::Delete(TOP.as_bytes()), &[control(true)]).1;
        input.extend(client.encode(&Request::Delete(TOP.as_bytes()), &[]).1);
        let (answers, _) = client.raw(&input);
        assert_eq!(codes(&answers), [Success, NoSuchObject]);
        assert_eq!(left(&mut client), 0);
        if let (Some(log), Some(before)) = (log, before) {
            let parts = log.lock().expect("nobody panicked").len() - before - 1;
            assert_eq!(parts, count.div_ceil(50));
        }
    }
}

/// A client that lost its connection half-way sends it again.
#[test]
fn what_is_left_of_one_goes_with_the_next() {
    let mut config = config();
    config.settings.configured.limits.clients.tree_delete_max = 20;
    let mut client = Client::with(config);
    let count = plant(&mut client, 50);
    let (_, bytes) = client.encode(&Request::Delete(TOP.as_bytes()), &[control(true)]);
    let mut out = Vec::new();
    client.session.feed(&mut client.worker, &bytes, &mut out);
    let mut other = Client::of(&client.dsa);
    other.bind_root();
    let rest = left(&mut other);
    assert!(rest > 0 && rest < count, "{rest} of {count}");
    drop(client);
    assert_eq!(other.delete_with(TOP, &[control(true)]).end.code, Success);
    assert_eq!(left(&mut other), 0);
}

/// An entry that comes below while a part is on its way is found when that is planned anew.
#[test]
fn others_may_add_below_meanwhile() {
    let (mut client, _) = journaled_with(config());
    client.plant();
    client.must_add(TOP, ORG);
    let commit = client.commit.take().expect("there is a log");
    let (_, bytes) = client.encode(&Request::Delete(TOP.as_bytes()), &[control(true)]);
    let mut out = Vec::new();
    // The add is submitted first, and the delete is planned without it.
    let mut other = Client::of(&client.dsa);
    other.bind_root();
    let list = attributes_of(ORG);
    let attributes = proto::list::Attributes::parse(&list).expect("just encoded");
    let below = format!("ou=late,{TOP}");
    let add = Request::Add(proto::op::Add { dn: below.as_bytes(), attributes });
    let (_, add) = other.encode(&add, &[]);
    other.session.feed(&mut other.worker, &add, &mut Vec::new());
    let feed = client.session.feed(&mut client.worker, &bytes, &mut out);
    assert_eq!((feed.state, out.len()), (dsa::State::Waiting, 0));
    commit.borrow_mut()();
    client.commit = Some(commit);
    // It goes on without input.
    let mut all = out;
    for _ in 0..10 {
        let cx = &mut std::task::Context::from_waker(std::task::Waker::noop());
        _ = client.session.poll_updates(&mut client.worker, cx, &mut all);
        client.session.step(&mut client.worker, &mut all);
        client.commit.as_ref().expect("it was put back").borrow_mut()();
    }
    assert_eq!(codes(&answers(&all)), [Success]);
    assert_eq!(left(&mut client), 0);
}

#[test]
fn aliases_and_referral_objects_below_are_not_followed() {
    for (mut client, _) in clients(1000) {
        client.must_add(TOP, ORG);
        let alias: Given<'_> = &[
            ("objectClass", &["alias", "extensibleObject"]),
            ("aliasedObjectName", &["ou=people,dc=example"]),
        ];
        client.must_add(&format!("ou=other,{TOP}"), alias);
        let away = format!("ou=away,{TOP}");
        let refers: Given<'_> =
            &[("objectClass", &["referral", "extensibleObject"]), ("ref", &["ldap://elsewhere/ou=away"])];
        let manage = manage_dsa_it::control(true);
        assert_eq!(client.add_with(&away, refers, &[manage]).end.code, Success);
        assert_eq!(client.delete_with(&away, &[control(true)]).end.code, Referral, "itself is elsewhere");
        assert_eq!(client.delete_with(TOP, &[control(true)]).end.code, Success);
        assert_eq!(client.read(ADA, &["1.1"]).end.code, Success);
    }
}

#[test]
fn what_it_is_refused_for() {
    for (mut client, _) in clients(1000) {
        client.must_add(TOP, ORG);
        let delete =
            |client: &mut Client, controls: &[Control<'_>]| client.delete_with(TOP, controls).end.code;
        assert_eq!(delete(&mut client, &[Control { value: Some(b""), ..control(true) }]), ProtocolError);
        assert_eq!(delete(&mut client, &[control(true), control(true)]), ProtocolError);
        assert_eq!(delete(&mut client, &[control(true), no_op::control(true)]), ProtocolError);
        let start = proto::op::Extended { oid: proto::ext::start_transaction::OID, value: None };
        let identifier = client.end(&Request::Extended(start)).value.expect("there is an identifier");
        let named = transaction_specification::control(&identifier);
        assert_eq!(delete(&mut client, &[named, control(true)]), ProtocolError);
        let nothing = client.delete_with("ou=nothing,dc=example", &[control(true)]).end;
        assert_eq!((nothing.code, &nothing.matched[..]), (NoSuchObject, "dc=example"));
        let filter = assertion("(ou=else)");
        let asserted = [proto::control::assertion::control(&filter, true), control(true)];
        assert_eq!(delete(&mut client, &asserted), AssertionFailed);
        let config = client.delete_with("cn=config", &[control(true)]).end.code;
        assert_eq!(config, UnavailableCriticalExtension);
        assert_eq!(left(&mut client), 1);
    }
}

/// An entry is read with the answer to its own delete, and here one answer is of many: the control is known, and not to be had.
#[test]
fn an_entry_that_goes_with_others_is_not_read() {
    for (mut client, _) in clients(1000) {
        let before = plant(&mut client, 3);
        let value = wanted(&["1.1"]);
        let read = Control { oid: read_entry::PRE_OID, critical: true, value: Some(&value) };
        let end = client.delete_with(TOP, &[control(true), read]).end;
        assert_eq!(end.code, UnavailableCriticalExtension);
        assert_eq!(end.text, "control 1.3.6.1.1.13.1 is not available with this update");
        assert_eq!(left(&mut client), before);
    }
}
