//! What other servers are asked for clients: which requests, by which rights on the referral object, and what of the answers a client sees.

use super::*;
use ResultCode::{
    AffectsMultipleDsas, CompareTrue, InsufficientAccessRights, NoSuchObject, Referral, SizeLimitExceeded,
    Success,
};
use dsa::chaining::{Answer, Chaining, Part, Question, ServerCounts};
use dsa::{Dsa, State};
use env::task::PlainThread;
use model::Scope;
use proto::control::chaining_behavior::{self, Behavior};
use proto::control::{
    assertion, manage_dsa_it, no_op, permissive_modify, read_entry, relax_rules, tree_delete,
};
use proto::ext::password_modify::{self, PasswordModify};
use proto::list::{Attributes, Octets, octet_list};
use proto::message::{Message, Request};
use proto::op::Extended;
use proto::op::ModifyKind::{Add, Delete, Replace};
use proto::op::search::SearchEntry;
use std::sync::{Arc, Mutex, Weak};

const AWAY: &str = "ou=away,dc=example";
const UNKNOWN: &str = "ou=unknown,dc=example";
const TAGGED: &str = "ou=tagged,dc=example";
const MANY: &str = "ou=many,dc=example";
const BELOW: &str = "cn=x,ou=away,dc=example";

/// Another server, which has one entry, and says more than it was asked. It keeps the questions.
#[derive(Default)]
struct Elsewhere(Mutex<Vec<Question>>);

impl Chaining for Elsewhere {
    fn server_of(&self, urls: &[Vec<u8>]) -> Option<u64> {
        urls.iter().any(|url| url.starts_with(b"ldap://known.example/")).then_some(0)
    }

    fn ask(&self, question: &Question) -> Answer {
        self.0.lock().unwrap().push(question.clone());
        let message = Message::decode(&question.message).unwrap();
        match message.request {
            Request::Search(_) => {
                let parts = question.places.iter().map(|urls| part(urls));
                let parts: Vec<Part> = parts.collect();
                let (code, text) = match question.is_each {
                    true => (0, String::new()),
                    false => (SizeLimitExceeded as u32, "more".to_owned()),
                };
                Answer { parts, code, text, ..Answer::default() }
            }
            Request::Compare(_) => Answer { code: CompareTrue as u32, ..Answer::default() },
            // Its name is too long by one RDN.
            Request::Delete(_) => Answer {
                code: NoSuchObject as u32,
                text: "it is not there".to_owned(),
                unmatched: Some(1),
                ..Answer::default()
            },
            _ => Answer { text: "done".to_owned(), ..Answer::default() },
        }
    }

    fn counts(&self) -> Vec<ServerCounts> {
        let asked = self.0.lock().unwrap().len() as u64;
        vec![ServerCounts { url: "ldap://known.example:389".to_owned(), asked, ..ServerCounts::default() }]
    }
}

fn part(urls: &[Vec<u8>]) -> Part {
    if urls[0].starts_with(b"ldap://known.example/dc=gone") {
        return Part::default();
    }
    let (mut messages, place) = (Vec::new(), urls[0].strip_prefix(b"ldap://known.example/dc=".as_slice()));
    let is = |name: &[u8]| place.is_some_and(|place| place.starts_with(name));
    let (base, names) = match () {
        () if is(b"tagged") => (&b"dc=tagged"[..], vec!["cn=x,dc=tagged"]),
        () if is(b"many") => (&b"dc=many"[..], vec!["cn=x,dc=many"; 1000]),
        () => (&b"dc=org"[..], vec!["cn=x,DC=ORG", "cn=y,dc=example"]),
    };
    for dn in names {
        let values: &[(&str, &str)] = match is(b"tagged") {
            true => {
                &[("cn;x-open", "x"), ("cn;lang-de", "x"), ("mail;x-private;x-a", "x"), ("cn;lang-", "x")]
            }
            false => &[("cn", "x"), ("title", "boss"), ("userPassword", "secret"), ("taste", "salt")],
        };
        let values: Vec<(&str, [&str; 1])> = values.iter().map(|(name, value)| (*name, [*value])).collect();
        let given: Vec<(&str, &[&str])> = values.iter().map(|(name, value)| (*name, &value[..])).collect();
        let attributes = attributes_of(&given);
        let attributes = Attributes::parse(&attributes).unwrap();
        SearchEntry { dn: dn.as_bytes(), attributes }.encode(&mut messages, 1, &[]);
    }
    Part { messages, bases: vec![base.to_vec()], is_whole: true }
}

fn add_object(client: &mut Client, dn: &str, url: &str) {
    let entry: Given<'_> = &[("objectClass", &["referral", "extensibleObject"]), ("ref", &[url])];
    client.root().must_add(dn, entry);
}

/// Ada, by these rules, of a server that asks `ldap://known.example`.
fn as_ada_chaining(rules: &[&str], test: impl Fn(Client, &Elsewhere)) {
    as_ada(rules, |mut client| {
        let elsewhere = Arc::<Elsewhere>::default();
        client.dsa.chain_by(Arc::clone(&elsewhere) as Arc<dyn Chaining>);
        add_object(&mut client, AWAY, "ldap://known.example/dc=org");
        add_object(&mut client, UNKNOWN, "ldap://other.example/");
        test(client, &elsewhere);
    });
}

#[test]
fn x3_what_other_servers_answer_is_judged_as_the_referral_object() {
    let no = format!("no: base=\"{AWAY}\" attrs=title; users; deny=read,search");
    as_ada_chaining(&[&no], |mut client, _| {
        // The base is below the object; an entry that is below none of the bases was not asked for.
        let found = client.read(BELOW, &["*"]);
        assert_eq!(found.dns(), ["cn=x,DC=ORG"]);
        assert_eq!(found.names(), ["cn"], "neither what may not be read nor what the schema lacks");
        assert_eq!((found.end.code, &found.end.text[..]), (SizeLimitExceeded, "more"));
        for filter in ["(title=boss)", "(!(userPassword=secret))", "(taste=salt)", "(|(cn=x)(title=*))"] {
            let end = client.search(AWAY, Scope::Subtree, filter, &["*"]).end;
            assert_eq!(end.code, InsufficientAccessRights, "{filter}");
        }
        // Not asked: another server, a client that does not want it, one that looks at the object itself.
        assert_eq!(client.read(UNKNOWN, &[]).end.code, Referral);
        let refers = chaining_behavior::encode([Behavior::ReferralsRequired; 2]);
        let refers = chaining_behavior::control(&refers, true);
        assert_eq!(client.read_with(AWAY, &[refers]).end.code, Referral);
        assert_eq!(client.compare_with(BELOW, "cn", "x", &[refers]).end.code, Referral);
        let itself = client.read_with(AWAY, &[manage_dsa_it::control(true)]);
        assert_eq!((itself.end.code, itself.dns()), (Success, vec![AWAY]));
    });
}

/// An item of a filter tests subtypes and options of what it names, at the other server too.
#[test]
fn x3_a_filter_is_not_sent_on_for_hidden_subtypes() {
    let no = [
        format!("no: base=\"{AWAY}\" attrs=title; users; deny=search"),
        format!("tag: base=\"{AWAY}\" attrs=\"mail;x-private\"; users; deny=search"),
    ];
    as_ada_chaining(&no.each_ref().map(String::as_str), |mut client, elsewhere| {
        // Options are those that entries here have.
        let entry: Given<'_> =
            &[("objectClass", &["device", "extensibleObject"]), ("mail;x-private", &["x"])];
        client.root().must_add("cn=options,dc=example", entry);
        for (filter, code) in [
            ("(cn=x)", SizeLimitExceeded),
            ("(mail;x-open=x)", InsufficientAccessRights),
            ("(mail=x*)", InsufficientAccessRights),
            ("(name=b*)", InsufficientAccessRights),
            ("(sn=b*)", SizeLimitExceeded),
        ] {
            assert_eq!(client.search(AWAY, Scope::Subtree, filter, &["*"]).end.code, code, "{filter}");
        }
        assert_eq!(elsewhere.0.lock().unwrap().len(), 2);
        // The URL would lead nowhere, and which value the other name loses nobody has judged.
        assert_eq!(client.root().rename(AWAY, "ou=other", true, None).code, Referral);
        assert_eq!(elsewhere.0.lock().unwrap().len(), 2);
    });
}

/// What rules hide need not be of an entry here: the other server has options of its own.
#[test]
fn x3_a_filter_is_not_sent_on_for_options_that_rules_alone_have() {
    let no = [
        "tag: subtree=\"dc=example\" attrs=\"mail;x-private,cn;lang-\"; users; deny=search,read".to_owned(),
        format!("both: base=\"{AWAY}\" attrs=\"title,!title;x-a;x-b\"; users; allow=search rank=2"),
        format!("none: base=\"{AWAY}\" attrs=title; users; deny=search rank=1"),
    ];
    as_ada_chaining(&no.each_ref().map(String::as_str), |mut client, elsewhere| {
        for (filter, code) in [
            ("(mail=x)", InsufficientAccessRights),
            ("(mail;x-open=x)", InsufficientAccessRights),
            ("(name=x)", InsufficientAccessRights),
            ("(cn;lang-de=x)", InsufficientAccessRights),
            ("(title=x)", InsufficientAccessRights),
            ("(title;x-a=x)", InsufficientAccessRights),
            ("(cn;lang-de-=x)", InsufficientAccessRights),
            ("(sn;x-open=x)", SizeLimitExceeded),
            ("(telephoneNumber=1)", SizeLimitExceeded),
        ] {
            assert_eq!(client.search(AWAY, Scope::Subtree, filter, &["*"]).end.code, code, "{filter}");
        }
        assert_eq!(elsewhere.0.lock().unwrap().len(), 2);
        // Of entries likewise: an attribute with options is that attribute, unless a rule says otherwise.
        add_object(&mut client, TAGGED, "ldap://known.example/dc=tagged");
        assert_eq!(client.read(TAGGED, &["*"]).names(), ["cn;x-open"]);
    });
}

/// Rules may name more options together than one value may have.
#[test]
fn a_filter_is_sent_on_beside_rules_with_many_options() {
    let names: Vec<String> = (0..40).map(|n| format!("mail;x-{n}")).collect();
    let tags = format!("tags: subtree=\"dc=example\" attrs=\"{}\"; users; deny=search,read", names.join(","));
    as_ada_chaining(&[&tags], |mut client, elsewhere| {
        for (filter, code) in [("(sn=x)", SizeLimitExceeded), ("(mail=x)", InsufficientAccessRights)] {
            assert_eq!(client.search(AWAY, Scope::Subtree, filter, &["*"]).end.code, code, "{filter}");
        }
        assert_eq!(elsewhere.0.lock().unwrap().len(), 1);
    });
}

/// What comes behind a large answer waits for its turn, as behind a search of this server.
#[test]
fn a_large_answer_of_another_server_is_paid_for() {
    as_ada_chaining(&[], |mut client, _| {
        add_object(&mut client, MANY, "ldap://known.example/dc=many");
        let filter = proto::filter_string::parse(b"(cn=*)").expect("a filter");
        let (all, none) = (selection(&["*"]), selection(&["1.1"]));
        let mut bundle = |base: &str| {
            let search = search_for(base, Scope::Subtree, filter.filter(), &all);
            let mut bytes = client.encode(&Request::Search(search), &[]).1;
            let own = search_for("ou=people,dc=example", Scope::Subtree, filter.filter(), &none);
            bytes.extend(client.encode(&Request::Search(own), &[]).1);
            let mut out = Vec::new();
            let feed = client.session.feed(&mut client.worker, &bytes, &mut out);
            let taken = feed.consumed == bytes.len() && feed.state != State::Busy;
            client.exchange(&bytes[feed.consumed..]);
            taken
        };
        assert!(bundle(AWAY), "two entries cost little");
        assert!(!bundle(MANY), "nothing comes behind them at once");
    });
}

#[test]
fn x3_a_compare_is_asked_by_who_may_compare_the_attribute_of_the_object() {
    let no = format!("no: base=\"{AWAY}\" attrs=title; users; deny=compare");
    as_ada_chaining(&[&no], |mut client, elsewhere| {
        assert_eq!(client.compare(BELOW, "cn", "x").code, CompareTrue);
        for attribute in ["title", "taste"] {
            assert_eq!(client.compare(BELOW, attribute, "x").code, InsufficientAccessRights, "{attribute}");
        }
        // Passwords are compared where the tries are counted.
        assert_eq!(client.compare(BELOW, "userPassword", "x").code, Referral);
        assert_eq!(client.compare(UNKNOWN, "cn", "x").code, Referral);
        assert_eq!(elsewhere.0.lock().unwrap().len(), 1);
    });
}

#[test]
fn x6_an_update_is_asked_by_who_may_make_it_of_the_object() {
    let entry: Given<'_> = &[("objectClass", &["device"])];
    let write = format!(
        "write: base=\"{AWAY}\" attrs=entry,**; users; allow=add,delete,create,remove,rename,move-out,move-in"
    );
    let title = format!("title: base=\"{AWAY}\" attrs=title; users; deny=add,delete");
    let all = |client: &mut Client| {
        [
            client.add(BELOW, entry),
            client.modify(BELOW, &[(Replace, "description", &["y"])]),
            client.delete(BELOW),
            client.rename(BELOW, "cn=z", true, None),
            client.rename(BELOW, "cn=z", false, Some("ou=a,ou=away,dc=example")),
        ]
    };
    as_ada_chaining(&[], |mut client, elsewhere| {
        for end in all(&mut client) {
            assert_eq!(end.code, InsufficientAccessRights, "{}", end.text);
        }
        assert_eq!(elsewhere.0.lock().unwrap().len(), 0);
    });
    as_ada_chaining(&[&write, &title], |mut client, elsewhere| {
        let ends = all(&mut client);
        assert_eq!(ends.each_ref().map(|end| end.code), [Success, Success, NoSuchObject, Success, Success]);
        assert_eq!((&ends[2].matched[..], &ends[2].text[..]), (AWAY, "it is not there"));
        let asked = std::mem::take(&mut *elsewhere.0.lock().unwrap());
        assert_eq!(asked.len(), 5);
        for question in &asked {
            assert_eq!(question.places, [[b"ldap://known.example/cn=x,dc=org".to_vec()]]);
            assert_eq!((&question.who[..], &question.object[..]), (ADA.as_bytes(), AWAY.as_bytes()));
        }
        assert_eq!(asked[4].superiors, [b"ldap://known.example/ou=a,dc=org".to_vec()]);
        // What may not be written of the object, what the schema lacks, and what a guess would tell.
        for change in [(Replace, "title"), (Add, "title"), (Replace, "taste"), (Delete, "userPassword")] {
            let end = client.modify(BELOW, &[(change.0, change.1, &["y"])]);
            assert_eq!(end.code, InsufficientAccessRights, "{}: {}", change.1, end.text);
        }
        assert_eq!(elsewhere.0.lock().unwrap().len(), 0);
    });
}

#[test]
fn updates_that_are_about_this_server_too_are_asked_of_no_other() {
    as_ada_chaining(&[], |client, elsewhere| {
        let mut root = client.root();
        let filter = proto::control::assertion::encode(&model::Filter::Present(b"cn"));
        let asserts = assertion::control(&filter, true);
        assert_eq!(root.delete_with(BELOW, &[asserts]).end.code, Referral);
        // A control that is about the update at one server is not passed on, nor is the update without it.
        let list = octet_list([&b"cn"[..]]);
        let read = read_entry::encode_selection(Octets::parse(&list).unwrap());
        let reads = |oid, critical| Control { oid, critical, value: Some(&read) };
        for control in [
            reads(read_entry::PRE_OID, true),
            reads(read_entry::POST_OID, false),
            permissive_modify::control(true),
            no_op::control(true),
            relax_rules::control(true),
        ] {
            let end = root.modify_with(BELOW, &[(Replace, "description", &["y"])], &[control]).end;
            assert_eq!(end.code, Referral, "{control:?}");
        }
        assert_eq!(root.delete_with(BELOW, &[tree_delete::control(true)]).end.code, Referral);
        // A new password is for an entry of this server.
        let value = PasswordModify { user: Some(BELOW.as_bytes()), new: Some(b"x"), ..Default::default() };
        let value = value.encode();
        let change = Extended { oid: password_modify::OID, value: Some(&value) };
        assert_eq!(root.end(&Request::Extended(change)).code, NoSuchObject);
        let refers = chaining_behavior::encode([Behavior::ReferralsRequired; 2]);
        assert_eq!(root.delete_with(BELOW, &[chaining_behavior::control(&refers, false)]).end.code, Referral);
        assert_eq!(root.delete_with(BELOW, &[manage_dsa_it::control(true)]).end.code, NoSuchObject);
        assert_eq!(root.delete(UNKNOWN).code, Referral);
        // The entry that the object stands for is not deleted for it.
        assert_eq!(root.delete(AWAY).code, Referral);
        // From the one server to the other, or to a third.
        for superior in ["ou=people,dc=example", "cn=x,ou=unknown,dc=example"] {
            assert_eq!(root.rename(BELOW, "cn=z", true, Some(superior)).code, AffectsMultipleDsas);
        }
        assert_eq!(root.rename(GRACE, "cn=z", true, Some(AWAY)).code, AffectsMultipleDsas);
        let name: Given<'_> = &[("objectClass", &["device"])];
        assert_eq!(root.add(AWAY, name).code, ResultCode::EntryAlreadyExists);
        // A transaction is one of this server.
        let txn = root.begin(&[]);
        let end = root.modify_in(&txn, BELOW, &[(Replace, "description", &["y"])]);
        assert_eq!(end.code, AffectsMultipleDsas, "{}", end.text);
        assert_eq!(elsewhere.0.lock().unwrap().len(), 0);
        // Others go to the log as ever, and the order of answers is that of requests.
        root.must_add("cn=own,dc=example", name);
        assert_eq!(root.delete(BELOW).code, NoSuchObject);
        assert_eq!(root.delete("cn=own,dc=example").code, Success);
    });
}

#[test]
fn x3_referral_objects_that_a_search_finds_are_followed_by_who_may_search_them() {
    let gone = "ou=gone,dc=example";
    let base = |client: &mut Client, filter: &str| {
        let found = client.search("dc=example", Scope::Subtree, filter, &["cn", "title"]);
        assert_eq!(found.end.code, Success, "{}", found.end.text);
        let away = found.entries.iter().filter(|(dn, _)| dn.ends_with("DC=ORG")).count();
        (away, found.references.len())
    };
    as_ada_chaining(&[], |mut client, elsewhere| {
        add_object(&mut client, gone, "ldap://known.example/dc=gone");
        // One is followed; one fails, and one is no server that is asked: references to both.
        assert_eq!(base(&mut client, "(cn=*)"), (1, 2));
        let asked = elsewhere.0.lock().unwrap().pop().expect("it was asked");
        assert!(asked.is_each);
        assert_eq!(asked.places.len(), 2);
        assert_eq!(asked.places[0], [b"ldap://known.example/dc=org??sub".to_vec()]);
        // Of one level it is the object itself.
        let found = client.search("dc=example", Scope::One, "(cn=*)", &["cn"]);
        assert_eq!(found.references.len(), 2);
        assert_eq!(elsewhere.0.lock().unwrap()[0].places[0], [b"ldap://known.example/dc=org??base".to_vec()]);
        // What the schema lacks nobody may test there.
        assert_eq!(base(&mut client, "(|(cn=*)(taste=salt))"), (0, 3));
        // The entries of others count.
        let all = client.search("dc=example", Scope::Subtree, "(cn=*)", &["cn"]).entries.len();
        let limit = |size: usize| move |search: &mut proto::op::Search<'_>| search.size_limit = size as i32;
        for (size, code) in [(all, Success), (all - 1, SizeLimitExceeded)] {
            let found = client.search_with("dc=example", Scope::Subtree, "(cn=*)", &["cn"], limit(size), &[]);
            assert_eq!((found.end.code, found.entries.len()), (code, size));
        }
    });
    for right in ["search", "read"] {
        let no = format!("no: base=\"{AWAY}\" attrs=entry,title; users; deny={right}");
        as_ada_chaining(&[&no], |mut client, elsewhere| {
            let references = if right == "search" { 2 } else { 1 };
            assert_eq!(base(&mut client, "(cn=*)"), (0, references));
            assert_eq!(elsewhere.0.lock().unwrap().len(), 0);
        });
    }
}

#[test]
fn servers_that_are_asked_have_numbers() {
    as_ada_chaining(&[], |client, _| {
        let mut root = client.root();
        assert_eq!(root.compare(BELOW, "cn", "x").code, CompareTrue);
        let shown = root.read("cn=Servers,cn=Chaining,cn=Monitor", &["monitoredInfo"]);
        let line = "ldap://known.example:389 asked 1 failed 0 connections 0 reused 0 idle 0";
        assert_eq!(shown.values("monitoredInfo").unwrap(), [line]);
    });
}

/// Asks, and takes away meanwhile what was asked by.
struct Meanwhile(Elsewhere, Mutex<Option<Weak<Dsa>>>);

impl Chaining for Meanwhile {
    fn server_of(&self, urls: &[Vec<u8>]) -> Option<u64> {
        self.0.server_of(urls)
    }

    fn ask(&self, question: &Question) -> Answer {
        if let Some(dsa) = self.1.lock().unwrap().take() {
            let mut root = Client::of(&dsa.upgrade().unwrap());
            root.bind_root();
            assert_eq!(root.delete_with(AWAY, &[manage_dsa_it::control(true)]).end.code, Success);
        }
        self.0.ask(question)
    }

    fn counts(&self) -> Vec<ServerCounts> {
        self.0.counts()
    }
}

#[test]
fn an_update_that_was_asked_for_is_answered_by_what_the_other_server_says() {
    each(&ruled(&[]), |client| {
        let mut root = client.root();
        root.is_pooled = true;
        // With a log only this thread applies what the other one would delete.
        let is_logged = root.commit.is_some();
        let dsa = (!is_logged).then(|| Arc::downgrade(&client.dsa));
        let meanwhile = Arc::new(Meanwhile(Elsewhere::default(), Mutex::new(dsa)));
        client.dsa.chain_by(Arc::clone(&meanwhile) as Arc<dyn Chaining>);
        add_object(&mut root, AWAY, "ldap://known.example/dc=org");
        let pool = Arc::clone(client.dsa.chain_pool().expect("others are asked"));
        pool.will_be_served();
        let serving = Arc::clone(&pool);
        let thread = PlainThread::spawn("chain", move || serving.serve(|| 0)).expect("there is a thread");
        // The object is gone when the answer is there, and so is the reason to ask.
        let end = root.modify(BELOW, &[(Replace, "description", &["y"])]);
        assert_eq!((end.code, &end.text[..]), (Success, "done"));
        assert_eq!(meanwhile.0.0.lock().unwrap().len(), 1);
        let end = root.delete(BELOW);
        assert_eq!((end.code, &end.matched[..]), (NoSuchObject, if is_logged { AWAY } else { "dc=example" }));
        if is_logged {
            // Updates keep their order with those that are made here.
            let name: Given<'_> = &[("objectClass", &["device"])];
            root.must_add("cn=own,dc=example", name);
            assert_eq!(root.compare(BELOW, "cn", "x").code, CompareTrue);
            assert_eq!(root.read(BELOW, &["cn"]).dns(), ["cn=x,DC=ORG"]);
        }
        pool.end();
        thread.join().expect("it has not panicked");
    });
}
