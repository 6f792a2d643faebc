//! Row X8: who follows changes learns nothing of entries that are hidden, also not that they are gone; rights that are lost meanwhile are lost.

use super::*;
use crate::common::consumer::{Consumer, Wish};
use ResultCode::{Success, SyncRefreshRequired};
use proto::control::content_sync;
use proto::control::persistent_search::{self, PersistentSearch};
use proto::message::{Frame, Reply, Response, frame};
use proto::op::ModifyKind::{Add, Delete, Replace};

const HIDES: &str = "hidden: all filter=\"(title=secret)\" attrs=entry,**; users; deny=all";
const STAFF: &str = "cn=staff,ou=groups,dc=example";
const PEOPLE: &str = "ou=people,dc=example";
const ALL: Wish<'_> = Wish { base: PEOPLE, filter: "(objectClass=*)", persists: true, reload_hint: false };
const EVE: &str = "uid=eve,ou=people,dc=example";

/// Entries, with the values of their notifications, and the end of the search.
type Reported = (Vec<(String, Option<Vec<u8>>)>, Option<ResultCode>);

fn add_eve(root: &mut Client, title: &str) {
    let eve =
        [("objectClass", &["inetOrgPerson"][..]), ("cn", &["Eve"]), ("sn", &["E"]), ("title", &[title])];
    root.must_add(EVE, &eve);
}

impl Client {
    /// Begins a persistent search for whatever changes. Its message id.
    fn persist(&mut self) -> i32 {
        let changes = PersistentSearch::decode(&[0x30, 9, 2, 1, 15, 1, 1, 0xff, 1, 1, 0xff]).unwrap();
        let value = changes.encode();
        let filter = proto::filter_string::parse(b"(objectClass=*)").unwrap();
        let search = search_for(PEOPLE, model::Scope::Subtree, filter.filter(), &[]);
        let request = proto::Request::Search(search);
        let (id, bytes) = self.encode(&request, &[control(persistent_search::OID, &value, true)]);
        let mut out = Vec::new();
        self.session.feed(&mut self.worker, &bytes, &mut out);
        assert!(out.is_empty());
        id
    }

    /// Entries that searches which follow have to say, and the end of one of them.
    fn reported(&mut self) -> Reported {
        let (out, mut reported, mut end) = (self.followed(), Vec::new(), None);
        let mut bytes = &out[..];
        while let Ok(Frame::Complete { len }) = frame(bytes) {
            let reply = Reply::decode(&bytes[..len]).expect("answers decode");
            let said = reply.controls.iter().find(|c| c.oid == persistent_search::NOTIFICATION_OID);
            match reply.response {
                Response::SearchEntry(entry) => {
                    let dn = String::from_utf8(entry.dn.to_vec()).unwrap();
                    reported.push((dn, said.and_then(|said| said.value).map(<[u8]>::to_vec)));
                }
                Response::Done(_, result) => end = result.result_code(),
                other => panic!("{other:?}"),
            }
            bytes = &bytes[len..];
        }
        (reported, end)
    }

    fn is_silent(&mut self) -> bool {
        self.followed().is_empty()
    }
}

#[test]
fn x8_nothing_is_reported_of_what_is_hidden() {
    as_ada(&[HIDES], |mut client| {
        let (mut root, mut other) = (client.root(), client.another());
        other.must_bind(ADA, "lace");
        let mut consumer = Consumer::default();
        let id = client.begin_sync(&ALL, &mut consumer);
        other.persist();
        assert!(other.is_silent());
        consumer.said.clear();
        let cookie = consumer.cookie.clone();
        let mut silent = |client: &mut Client, consumer: &mut Consumer, what: &str| {
            client.follow(id, consumer);
            assert!(consumer.said.is_empty() && consumer.cookie == cookie, "{what}: {:?}", consumer.said);
            assert!(other.is_silent(), "{what}");
        };
        add_eve(&mut root, "secret");
        silent(&mut client, &mut consumer, "added");
        root.must_modify(EVE, &[(Replace, "sn", &["F"])]);
        silent(&mut client, &mut consumer, "modified");
        assert_eq!(root.rename(EVE, "uid=mallory", true, None).code, Success);
        silent(&mut client, &mut consumer, "renamed");
        assert_eq!(root.delete("uid=mallory,ou=people,dc=example").code, Success);
        silent(&mut client, &mut consumer, "deleted");
        client.is_synchronous(&ALL, &consumer);
    });
}

/// What is hidden by a change leaves the content, and what becomes of it then is not reported.
#[test]
fn x8_what_becomes_hidden_is_gone() {
    as_ada(&[HIDES], |mut client| {
        let (mut root, mut consumer) = (client.root(), Consumer::default());
        add_eve(&mut root, "open");
        let id = client.begin_sync(&ALL, &mut consumer);
        client.is_synchronous(&ALL, &consumer);
        consumer.said.clear();
        root.must_modify(EVE, &[(Replace, "title", &["secret"])]);
        client.follow(id, &mut consumer);
        assert_eq!(consumer.said, ["gone"]);
        client.is_synchronous(&ALL, &consumer);
        assert_eq!(root.delete(EVE).code, Success);
        client.follow(id, &mut consumer);
        assert_eq!(consumer.said, ["gone"]);
    });
}

/// Rights that a group gives are taken away: the copy is worth nothing, and a deletion is not reported. A cookie of other rights is none.
#[test]
fn x8_rights_are_lost_meanwhile() {
    let rules = [
        HIDES,
        "staff: all filter=\"(title=secret)\" attrs=entry,**; group=\"cn=staff,ou=groups,dc=example\"; allow=see rank=5",
    ];
    as_ada(&rules, |mut client| {
        let (mut root, mut consumer) = (client.root(), Consumer::default());
        root.must_add(STAFF, &[("objectClass", &["groupOfNames"]), ("member", &[BOB])]);
        add_eve(&mut root, "secret");
        let others = client.begin_sync(&ALL, &mut consumer);
        let hidden = consumer.content.len();
        let before = consumer.cookie.clone();
        root.must_modify(STAFF, &[(Add, "member", &[ADA])]);
        client.follow(others, &mut consumer);
        assert_eq!(consumer.code(), Some(SyncRefreshRequired), "it sees more by now");
        // It would not be sent what it sees now, for that has not changed.
        let mut again = Consumer { cookie: before, ..Consumer::default() };
        client.begin_sync(&ALL, &mut again);
        assert_eq!(again.code(), Some(SyncRefreshRequired));
        let mut consumer = Consumer::default();
        let id = client.begin_sync(&ALL, &mut consumer);
        assert_eq!(consumer.content.len(), hidden + 1);
        client.is_synchronous(&ALL, &consumer);
        consumer.said.clear();
        root.must_modify(STAFF, &[(Delete, "member", &[ADA])]);
        assert_eq!(root.delete(EVE).code, Success);
        client.follow(id, &mut consumer);
        assert_eq!((consumer.code(), consumer.said.len()), (Some(SyncRefreshRequired), 0));
    });
}

/// A change of a rule is no change of an entry: who follows a quiet directory is woken for it, and ends. Other settings end nobody.
#[test]
fn x8_a_rule_ends_a_search_that_waits() {
    as_ada(&[], |mut client| {
        let (mut root, mut other, mut consumer) = (client.root(), client.another(), Consumer::default());
        other.must_bind(ADA, "lace");
        add_eve(&mut root, "secret");
        let id = client.begin_sync(&ALL, &mut consumer);
        other.persist();
        assert!(consumer.content.values().any(|(rdn, _)| rdn == "uid=eve") && other.is_silent());
        root.must_modify("cn=config", &[(Replace, "pandoLimitsFollowersPerConnection", &["7"])]);
        client.follow(id, &mut consumer);
        assert!(consumer.code().is_none() && other.is_silent());
        root.must_modify("cn=config", &[(Add, "pandoAccessRule", &[HIDES])]);
        client.follow(id, &mut consumer);
        assert_eq!(consumer.code(), Some(SyncRefreshRequired));
        assert_eq!(other.reported(), (vec![], Some(ResultCode::Busy)));
        assert!(client.is_silent() && other.is_silent());
    });
}

/// A filter is made with the schema: of a type that comes later nothing was found. That is so for the root DN, whose rights never change.
#[test]
fn another_schema_ends_a_search_that_waits() {
    const KIND: &str = "( 1.3.6.1.4.1.99999.1.1 NAME 'flavour' SUP name )";
    let (mut root, mut consumer) = (Client::with(config()), Consumer::default());
    let wish = Wish { filter: "(flavour=sweet)", ..ALL };
    let id = root.begin_sync(&wish, &mut consumer);
    root.follow(id, &mut consumer);
    assert!(consumer.code().is_none());
    root.root().must_modify("cn=Subschema", &[(Add, "attributeTypes", &[KIND])]);
    root.follow(id, &mut consumer);
    assert_eq!(consumer.code(), Some(SyncRefreshRequired));
}

/// The entryUUID comes with each entry, so an entry of which it may not be read is not in the content.
#[test]
fn x8_the_uuid_is_read() {
    let hides = "no: base=\"uid=grace,ou=people,dc=example\" attrs=entryUUID; users; deny=read";
    as_ada(&[hides], |mut client| {
        let mut consumer = Consumer::default();
        client.begin_sync(&ALL, &mut consumer);
        let found = client.search(PEOPLE, model::Scope::Subtree, "(objectClass=*)", &["1.1"]).entries.len();
        assert_eq!(consumer.content.len(), found - 1);
        assert!(consumer.content.values().all(|(rdn, _)| rdn != "uid=grace"));
    });
}

/// Row X10: the controls need their rights.
#[test]
fn x10_following_needs_the_right_to_use_its_control() {
    for oid in [content_sync::OID, persistent_search::OID] {
        let name = String::from_utf8(oid.to_vec()).unwrap();
        as_ada(&[&format!("no: control={name}; users; deny=use")], |mut client| {
            let bad = control(oid, b"nonsense", true);
            let found =
                client.search_with(PEOPLE, model::Scope::Subtree, "(objectClass=*)", &[], |_| {}, &[bad]);
            assert_eq!(found.end.code, ResultCode::InsufficientAccessRights, "{}", found.end.text);
        });
    }
}

/// A name that an entry had only between two looks was judged by nobody. The one before is reported, or none.
#[test]
fn x8_no_name_is_reported_that_was_not_seen() {
    const VAULT: &str = "ou=vault,ou=people,dc=example";
    const TEAM: &str = "ou=team,ou=people,dc=example";
    let hides = "no: subtree=\"ou=vault,ou=people,dc=example\" attrs=entry,**; users; deny=all";
    let unit = [("objectClass", &["organizationalUnit"][..])];
    as_ada(&[hides], |mut client| {
        let mut root = client.root();
        root.must_add(VAULT, &unit);
        root.must_add(TEAM, &unit);
        root.must_add(
            "cn=member,ou=team,ou=people,dc=example",
            &[("objectClass", &["person"]), ("sn", &["x"])],
        );
        add_eve(&mut root, "open");
        client.persist();
        assert!(client.is_silent());
        let mut moved = |from: &str, rdn: &str, superior: &str| {
            assert_eq!(root.rename(from, rdn, true, Some(superior)).code, Success, "{from}");
        };
        // Through the hidden place to another name: the one before was seen.
        moved(EVE, "uid=evil", VAULT);
        moved("uid=evil,ou=vault,ou=people,dc=example", "uid=ann", PEOPLE);
        let ann = "uid=ann,ou=people,dc=example";
        let notification =
            persistent_search::notification_value(persistent_search::ChangeType::ModDn, Some(EVE.as_bytes()));
        assert_eq!(client.reported(), (vec![(ann.to_owned(), Some(notification))], None));
        // To the hidden place, and deleted there: it is reported by the name that it had.
        moved(ann, "uid=evil", VAULT);
        assert_eq!(root.delete("uid=evil,ou=vault,ou=people,dc=example").code, Success);
        let deleted = persistent_search::notification_value(persistent_search::ChangeType::Delete, None);
        assert_eq!(client.reported(), (vec![(ann.to_owned(), Some(deleted.clone()))], None));
        // It goes there with the one above it.
        assert_eq!(root.rename(TEAM, "ou=crew", true, Some(VAULT)).code, Success);
        assert_eq!(root.delete("cn=member,ou=crew,ou=vault,ou=people,dc=example").code, Success);
        let member = "cn=member,ou=team,ou=people,dc=example".to_owned();
        assert_eq!(client.reported(), (vec![(member, Some(deleted))], None));
        // It comes from there: nobody has seen it under that name.
        assert_eq!(
            root.rename("ou=crew,ou=vault,ou=people,dc=example", "ou=team", true, Some(PEOPLE)).code,
            Success
        );
        let came = persistent_search::notification_value(persistent_search::ChangeType::ModDn, None);
        assert_eq!(client.reported(), (vec![(TEAM.to_owned(), Some(came))], None));
    });
}

/// What is renamed elsewhere ends no search, however much it is: who follows would learn of it.
#[test]
fn x8_renames_elsewhere_are_not_noticed() {
    as_ada(&["no: base=\"ou=groups,dc=example\" attrs=entry,**; users; deny=all"], |mut client| {
        let (mut root, mut other) = (client.root(), client.another());
        other.must_bind(ADA, "lace");
        let mut consumer = Consumer::default();
        let id = client.begin_sync(&ALL, &mut consumer);
        other.persist();
        add_eve(&mut root, "open");
        for _ in 0..513 {
            assert_eq!(root.rename("ou=groups,dc=example", "ou=vault", true, None).code, Success);
            assert_eq!(root.rename("ou=vault,dc=example", "ou=groups", true, None).code, Success);
        }
        assert_eq!(root.delete("uid=grace,ou=people,dc=example").code, Success);
        consumer.said.clear();
        client.follow(id, &mut consumer);
        assert_eq!(
            (consumer.code(), &consumer.said[..]),
            (None, &[format!("add {EVE}"), "gone".to_owned()][..])
        );
        client.is_synchronous(&ALL, &consumer);
        let (reported, end) = other.reported();
        assert_eq!((reported.len(), end), (2, None));
    });
}

/// A follower whose rights are revoked is answered busy, and nothing before that.
#[test]
fn x8_a_persistent_search_ends_with_its_rights() {
    let rules = [
        HIDES,
        "staff: all filter=\"(title=secret)\" attrs=entry,**; group=\"cn=staff,ou=groups,dc=example\"; allow=see rank=5",
    ];
    as_ada(&rules, |mut client| {
        let mut root = client.root();
        root.must_add(STAFF, &[("objectClass", &["groupOfNames"]), ("member", &[BOB, ADA])]);
        add_eve(&mut root, "secret");
        client.persist();
        root.must_modify(EVE, &[(Replace, "sn", &["F"])]);
        assert_eq!(client.reported().0.len(), 1, "it sees her by its group");
        root.must_modify(STAFF, &[(Delete, "member", &[ADA])]);
        assert_eq!(root.delete(EVE).code, Success);
        assert_eq!(client.reported(), (vec![], Some(ResultCode::Busy)));
        assert_eq!(root.dsa.shard().followers(), 0);
    });
}

/// What a search has not looked at when its rights are taken away is judged by those that are left, wherever it stands: also in the middle
/// of an entry with very many values.
#[test]
fn x8_an_entry_becomes_hidden_while_it_is_looked_at() {
    const BIG: &str = "cn=big,ou=groups,dc=example";
    let rules = [
        "big: base=\"cn=big,ou=groups,dc=example\" attrs=entry,**; users; deny=all",
        "staff: base=\"cn=big,ou=groups,dc=example\" attrs=entry,**; group=\"cn=staff,ou=groups,dc=example\"; allow=see rank=5",
        "some: subtree=\"ou=people,dc=example\" attrs=memberUid; users; deny=search",
    ];
    let ids: Vec<String> = (0..30_000).map(|n| format!("member{n:06}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    as_ada(&rules, |mut client| {
        let mut root = client.root();
        root.must_add(STAFF, &[("objectClass", &["groupOfNames"]), ("member", &[BOB, ADA])]);
        root.must_add(BIG, &[("objectClass", &["posixGroup"]), ("gidNumber", &["1"]), ("memberUid", &ids)]);
        let (filter, none) =
            (proto::filter_string::parse(b"(memberUid=*r029999*)").unwrap(), selection(&["1.1"]));
        let mut found_at = Vec::new();
        for steps in 0.. {
            let search = search_for("ou=groups,dc=example", model::Scope::Subtree, filter.filter(), &none);
            let (id, bytes) = client.encode(&proto::Request::Search(search), &[]);
            let mut out = Vec::new();
            let mut state = client.session.feed(&mut client.worker, &bytes, &mut out).state;
            for _ in 0..steps {
                state = client.session.step(&mut client.worker, &mut out);
                if state != dsa::State::Busy {
                    break;
                }
            }
            let is_over = state != dsa::State::Busy;
            root.must_modify(STAFF, &[(Delete, "member", &[ADA])]);
            while state == dsa::State::Busy {
                state = client.session.step(&mut client.worker, &mut out);
            }
            let found = found(id, answers(&out));
            assert_eq!(found.end.code, Success);
            found_at.push(found.entries.len());
            if is_over {
                break;
            }
            assert_eq!(found.entries.len(), 0, "after {steps} steps");
            root.must_modify(STAFF, &[(Add, "member", &[ADA])]);
        }
        assert!(found_at.len() > 5 && found_at.last() == Some(&1), "{found_at:?}");
    });
}

/// The rest of an entry that is half written comes; then the search ends, and says nothing by the rights that are left.
#[test]
fn x8_rights_are_lost_within_a_long_entry() {
    const BIG: &str = "cn=big,ou=people,dc=example";
    let rules = [
        HIDES,
        "staff: all filter=\"(title=secret)\" attrs=entry,**; group=\"cn=staff,ou=groups,dc=example\"; allow=see rank=5",
    ];
    let ids: Vec<String> = (0..60_000).map(|n| format!("member{n:06}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    as_ada(&rules, |mut client| {
        let (mut root, mut consumer) = (client.root(), Consumer::default());
        root.must_add(STAFF, &[("objectClass", &["groupOfNames"]), ("member", &[BOB])]);
        root.must_add(BIG, &[("objectClass", &["posixGroup"]), ("gidNumber", &["1"]), ("memberUid", &ids)]);
        root.must_add("cn=behind,ou=people,dc=example", &[("objectClass", &["person"]), ("sn", &["x"])]);
        let value = content_sync::SyncRequest { persists: true, cookie: None, reload_hint: false }.encode();
        let filter = proto::filter_string::parse(b"(objectClass=*)").unwrap();
        let search = search_for(PEOPLE, model::Scope::Subtree, filter.filter(), &[]);
        let (id, bytes) =
            client.encode(&proto::Request::Search(search), &[control(content_sync::OID, &value, true)]);
        let mut out = Vec::new();
        client.session.feed(&mut client.worker, &bytes, &mut out);
        while frames(&out) == out.len() {
            assert_eq!(client.session.step(&mut client.worker, &mut out), dsa::State::Busy);
        }
        root.must_modify(STAFF, &[(Add, "member", &[ADA])]);
        let mut part = Vec::new();
        while client.session.step(&mut client.worker, &mut part) == dsa::State::Busy {
            out.append(&mut part);
        }
        out.append(&mut part);
        assert_eq!(frames(&out), out.len());
        let has = |text: &[u8]| out.windows(text.len()).any(|part| part == text);
        assert!(has(b"member059999") && !has(b"cn=behind"));
        consumer.take(&out[last_frame(&out)..], id);
        assert_eq!(consumer.code(), Some(SyncRefreshRequired));
    });
}

/// Bytes of the whole messages.
fn frames(out: &[u8]) -> usize {
    let mut at = 0;
    while let Ok(Frame::Complete { len }) = frame(&out[at..]) {
        at += len;
    }
    at
}

/// Where the last message begins.
fn last_frame(out: &[u8]) -> usize {
    let (mut at, mut last) = (0, 0);
    while let Ok(Frame::Complete { len }) = frame(&out[at..]) {
        (last, at) = (at, at + len);
    }
    last
}

/// What is gone is named by the change log, whether the client had it or not: to nobody but those who may read everything.
#[test]
fn x8_a_refresh_names_nothing_that_was_hidden() {
    let mut config = ruled(&[HIDES]);
    config.settings.configured.change_log.bytes = 1 << 20;
    let mut client = crate::common::journal::journaled_with(config).0;
    client.plant();
    let mut root = client.root();
    client.must_bind(ADA, "lace");
    add_eve(&mut root, "secret");
    let once = Wish { persists: false, ..ALL };
    let mut consumer = Consumer::default();
    client.begin_sync(&once, &mut consumer);
    consumer.said.clear();
    assert_eq!(root.delete(EVE).code, Success);
    client.begin_sync(&once, &mut consumer);
    assert!(consumer.said.iter().all(|said| said == "unchanged"), "{:?}", consumer.said);
}
