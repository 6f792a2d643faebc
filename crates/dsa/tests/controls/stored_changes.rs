//! When changes become entries of `cn=changelog`: when somebody looks for them who may, and not before.

use super::Changes;
use crate::common::journal::journaled_with;
use crate::common::*;
use dsa::State;
use model::ResultCode::{CompareFalse, CompareTrue, NoSuchAttribute, NoSuchObject, Success};
use model::Scope;
use proto::message::Request;
use proto::op::ModifyKind;
use std::collections::BTreeSet;

const LOG: &str = "cn=changelog";

/// The root DN of a directory with a log, which keeps so many bytes of changes, and has one entry.
fn with_changes(bytes: u64) -> Client {
    let mut config = config();
    config.settings.configured.change_log.bytes = bytes;
    let mut client = journaled_with(config).0;
    client.bind_root();
    client.must_add("dc=example", &[("objectClass", &["domain"])]);
    client
}

/// Another client of the same directory, that reads.
fn reader(of: &Client) -> Client {
    let mut client = Client::of(&of.dsa);
    client.bind_root();
    client
}

fn change(client: &mut Client, value: &str) {
    let changes: Changes<'_> = &[(ModifyKind::Replace, "description", &[value])];
    assert_eq!(client.modify("dc=example", changes).code, Success);
}

fn bound(client: &mut Client, name: &str) -> u64 {
    let found = client.read("", &[name]).values(name).expect("there is a change log");
    found[0].parse().expect("a number")
}

fn numbers(found: &Found) -> BTreeSet<u64> {
    let number = |dn: &&str| dn.split(['=', ',']).nth(1).and_then(|number| number.parse().ok());
    found.dns().iter().map(|dn| number(dn).expect("a change")).collect()
}

fn all(client: &mut Client) -> BTreeSet<u64> {
    let found = client.search(LOG, Scope::One, "(objectClass=*)", &["1.1"]);
    assert_eq!(found.end.code, Success);
    numbers(&found)
}

fn is_end(answer: &Answer) -> bool {
    matches!(answer.what, What::End(_))
}

/// What a snapshot would have of all changes.
fn file(client: &Client) -> Vec<u8> {
    let mut all = Vec::new();
    let put = &mut |bytes: &[u8]| {
        all.extend_from_slice(bytes);
        Ok(())
    };
    client.dsa.write_changes((0, 1), put).expect("there are few readers");
    all
}

#[test]
fn nothing_is_stored_without_a_reader() {
    let mut client = with_changes(1 << 20);
    let first = bound(&mut client, "firstChangeNumber");
    (0..300).for_each(|number| change(&mut client, &number.to_string()));
    // What looks elsewhere, or at the bounds, stores nothing.
    let last = bound(&mut client, "lastChangeNumber");
    assert!(first < last && bound(&mut client, "firstChangeNumber") == first);
    client.search("dc=example", Scope::Subtree, "(changeNumber>=1)", &["*"]);
    client.search("cn=Monitor", Scope::Subtree, "(objectClass=*)", &["*"]);
    client.read("cn=Subschema", &["*"]);
    client.compare("cn=Monitor", "cn", "Monitor");
    assert_eq!(client.dsa.stored_changes(), 0);
    let found = all(&mut client);
    assert_eq!((found.len(), found.last().copied()), (301, Some(last)));
    assert_eq!(client.dsa.stored_changes(), 301);
    // From then on only what is new.
    change(&mut client, "later");
    assert_eq!(client.dsa.stored_changes(), 301);
    assert_eq!(all(&mut client).len(), 302);
    assert_eq!(client.dsa.stored_changes(), 302);
}

/// Whatever it is written like, and whatever looks.
#[test]
fn each_way_to_look_finds_all() {
    let mut client = with_changes(1 << 20);
    for name in ["cn=changelog", "CN=ChangeLog", " cn = changelog ", "2.5.4.3=changelog", "cn=change\\6cog"] {
        change(&mut client, name);
        let last = bound(&mut client, "lastChangeNumber");
        let filter = format!("(changeNumber={last})");
        let found = client.search(name, Scope::Subtree, &filter, &["1.1"]);
        assert_eq!(numbers(&found), BTreeSet::from([last]), "{name}");
        change(&mut client, name);
        let last = bound(&mut client, "lastChangeNumber");
        let dn = format!("changeNumber={last},{name}");
        let kind = client.read(&dn, &["changeType"]).values("changeType");
        assert_eq!(kind, Some(vec!["modify".to_owned()]), "{name}");
        change(&mut client, name);
        let last = bound(&mut client, "lastChangeNumber");
        let dn = format!("changeNumber={last},{name}");
        assert_eq!(client.compare(&dn, "changeType", "modify").code, CompareTrue, "{name}");
        assert_eq!(client.compare(&dn, "changeType", "add").code, CompareFalse, "{name}");
        assert_eq!(client.compare(&dn, "userPassword", "x").code, NoSuchAttribute, "{name}");
        let dn = format!("changeNumber={},{name}", last + 1);
        assert_eq!(client.read(&dn, &["*"]).end.code, NoSuchObject);
        assert_eq!(client.compare(&dn, "changeType", "add").code, NoSuchObject);
        change(&mut client, name);
        let count = client.read(name, &["numSubordinates"]).values("numSubordinates");
        assert_eq!(count, Some(vec![all(&mut client).len().to_string()]), "{name}");
    }
    // By pages, of which each finds what came before it.
    let (mut found, mut cookie) = (BTreeSet::new(), Vec::new());
    loop {
        let page = client.page(LOG, Scope::One, "(changeType=modify)", 3, &cookie);
        found.append(&mut numbers(&page));
        cookie = page.cookie.expect("a page has a cookie");
        if cookie.is_empty() {
            break;
        }
        if found.len() < 30 {
            change(&mut client, &found.len().to_string());
        }
    }
    assert_eq!(found.len(), all(&mut client).len() - 1, "all but the add");
}

/// Reads between updates wait with these; one that looks at the change log is run again when its changes are stored.
#[test]
fn each_request_of_a_bundle_of_updates_and_reads_is_answered() {
    let mut client = with_changes(1 << 20);
    (0..100).for_each(|number| change(&mut client, &number.to_string()));
    let before = all(&mut client).len();
    for name in [LOG, "2.5.4.3=changelog"] {
        (0..100).for_each(|number| change(&mut client, &number.to_string()));
        let (mut input, mut ids) = (Vec::new(), Vec::new());
        for number in 0..6 {
            let (filter, selected) = (model::Filter::Present(b"changeNumber"), selection(&["1.1"]));
            let search = search_for(name, Scope::One, filter, &selected);
            let (id, bytes) = client.encode(&Request::Search(search), &[]);
            input.extend(bytes);
            ids.push(id);
            let list = changes_of(&[(ModifyKind::Replace, "l", &[&number.to_string()])]);
            let changes = proto::op::modify::Changes::parse(&list).expect("just encoded");
            let modify = proto::op::Modify { dn: b"dc=example", changes };
            let (id, bytes) = client.encode(&Request::Modify(modify), &[]);
            input.extend(bytes);
            ids.push(id);
        }
        let (out, state) = client.exchange(&input);
        assert_eq!(state, State::Idle);
        let answers = answers(&out);
        // Each once; searches that last go on in turn.
        let mut ends: Vec<i32> =
            answers.iter().filter(|answer| is_end(answer)).map(|answer| answer.id).collect();
        ends.sort_unstable();
        assert_eq!(ends, ids, "{name}");
    }
    assert_eq!(all(&mut client).len(), before + 2 * 106);
}

/// Who comes late is not kept waiting by what comes later, and two share the work.
#[test]
fn two_readers_wait_for_what_was_there_when_they_came() {
    let mut client = with_changes(1 << 20);
    (0..200).for_each(|number| change(&mut client, &number.to_string()));
    let mut readers = [reader(&client), reader(&client)];
    let requests = readers.each_mut().map(|reader| {
        let (filter, selected) = (model::Filter::Present(b"changeNumber"), selection(&["1.1"]));
        reader.encode(&Request::Search(search_for(LOG, Scope::One, filter, &selected)), &[])
    });
    let (mut outs, mut states, mut turns) = ([Vec::new(), Vec::new()], [State::Idle; 2], 0);
    let mut waiting: BTreeSet<usize> = BTreeSet::from([0, 1]);
    while !waiting.is_empty() {
        turns += 1;
        assert!(turns < 100, "they come to an end");
        for at in 0..2 {
            let (reader, out) = (&mut readers[at], &mut outs[at]);
            if !waiting.contains(&at) {
                continue;
            }
            let feed = reader.session.feed(&mut reader.worker, &requests[at].1, out);
            match (feed.consumed, feed.state) {
                (0, State::Busy) => _ = reader.session.step(&mut reader.worker, out),
                (0, _) => {}
                (_, state) => {
                    states[at] = state;
                    waiting.remove(&at);
                }
            }
        }
        // More than a turn of theirs stores.
        (0..40).for_each(|number| change(&mut client, &number.to_string()));
    }
    assert!(turns > 5, "201 changes are no work of {turns} turns");
    for ((reader, mut all), mut state) in readers.iter_mut().zip(outs).zip(states) {
        while state == State::Busy {
            state = reader.session.step(&mut reader.worker, &mut all);
        }
        let found = answers(&all).iter().filter(|answer| !is_end(answer)).count();
        assert!((201..900).contains(&found), "{found}");
    }
}

/// A change is kept in one form: entries that are gone do not stay, though no reader comes any more.
#[test]
fn stored_changes_go_like_others() {
    let mut client = with_changes(256 << 10);
    let text = "x".repeat(100);
    (0..1000).for_each(|number| change(&mut client, &format!("{number} {text}")));
    let kept = all(&mut client);
    assert!((100..500).contains(&kept.len()), "{}", kept.len());
    assert_eq!(client.dsa.stored_changes(), kept.len());
    for round in 0..20 {
        (0..50).for_each(|number| change(&mut client, &format!("{number} {text}")));
        let most = kept.len().saturating_sub(50 * round);
        assert!(client.dsa.stored_changes() <= most + 64, "round {round}: {}", client.dsa.stored_changes());
    }
    assert!(client.dsa.stored_changes() <= 64);
    let (first, last) = (bound(&mut client, "firstChangeNumber"), bound(&mut client, "lastChangeNumber"));
    let now = all(&mut client);
    assert!(now.iter().all(|number| (first..=last).contains(number)) && now.last() == Some(&last));
    assert!(now.is_disjoint(&kept) && client.dsa.stored_changes() == now.len());
    // Each number from the first on is there: what a reader sees has no gap.
    assert_eq!(last - now.first().expect("there are some") + 1, now.len() as u64);
}

/// What a snapshot has does not depend on who has read.
#[test]
fn a_snapshot_has_the_same_of_both_forms() {
    let mut client = with_changes(1 << 20);
    let unit: Given<'_> =
        &[("objectClass", &["organizationalUnit"]), ("description", &["a", " b", "\u{e4}"])];
    for number in 0..50 {
        client.must_add(&format!("ou={number},dc=example"), unit);
        change(&mut client, &number.to_string());
        let (dn, rdn) = (format!("ou={number},dc=example"), format!("ou=x{number}"));
        assert_eq!(client.rename(&dn, &rdn, number % 2 == 0, Some("dc=example")).code, Success);
        assert_eq!(client.delete(&format!("{rdn},dc=example")).code, Success);
    }
    let before = file(&client);
    assert!(client.dsa.stored_changes() == 0 && before.len() > 10_000);
    assert_eq!(all(&mut client).len(), 201);
    assert!(file(&client) == before, "of entries");
    change(&mut client, "later");
    let mixed = file(&client);
    assert!(mixed.len() > before.len() && client.dsa.stored_changes() == 201);
    all(&mut client);
    assert!(client.dsa.stored_changes() == 202 && file(&client) == mixed);
}
