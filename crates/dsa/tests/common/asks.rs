//! Requests of all kinds, drawn at random, about a few entries.

use super::*;
use env::entropy::SeededEntropy;
use model::Filter;
use model::filter::Assertion;
use proptest::prelude::*;
use proto::control::{manage_dsa_it, proxied_authorization, read_entry};
use proto::ext::password_modify::{self, PasswordModify};

#[derive(Clone, Debug)]
pub enum Ask {
    Add {
        name: String,
        text: String,
    },
    Describe {
        name: String,
        texts: Vec<String>,
        critical: bool,
    },
    Increment(String),
    /// Only if it was described so, with what it was and what it is then.
    Guarded {
        name: String,
        was: String,
        text: String,
    },
    /// By the root DN, or by who has the name, as the root DN may act.
    Password {
        name: String,
        proxied: bool,
        old: Option<String>,
        new: Option<String>,
    },
    /// As somebody who may not write, or as the root DN itself.
    Proxied {
        name: String,
        as_root: bool,
    },
    Delete(String),
    Rename {
        name: String,
        to: String,
        moved: bool,
    },
    Search {
        name: String,
    },
    /// Of a form that is met again and again.
    Read(String),
    /// By an indexed attribute.
    Find(String),
    /// All below a base.
    List {
        moved: bool,
        paged: bool,
    },
    Compare {
        name: String,
        text: String,
    },
    Bind(bool),
}

pub fn name() -> impl Strategy<Value = String> {
    prop_oneof![9 => (0..8).prop_map(|n| format!("n{n}")), 1 => Just("n1,uid=n2".to_owned()), 1 => Just("\\".to_owned())]
}

pub fn ask() -> impl Strategy<Value = Ask> {
    let texts = prop::collection::vec("[a-z]{0,60}", 0..3);
    prop_oneof![
        6 => (name(), "[a-z]{1,40}").prop_map(|(name, text)| Ask::Add { name, text }),
        6 => (name(), texts, prop::bool::weighted(0.1))
            .prop_map(|(name, texts, critical)| Ask::Describe { name, texts, critical }),
        2 => name().prop_map(Ask::Increment),
        6 => (name(), "[ab]{0,2}", "[ab]{1,2}").prop_map(|(name, was, text)| Ask::Guarded { name, was, text }),
        3 => (name(), any::<bool>(), prop::option::of("[ab]"), prop::option::of("[ab]"))
            .prop_map(|(name, proxied, old, new)| Ask::Password { name, proxied, old, new }),
        3 => (name(), any::<bool>()).prop_map(|(name, as_root)| Ask::Proxied { name, as_root }),
        5 => name().prop_map(Ask::Delete),
        2 => (name(), name(), any::<bool>()).prop_map(|(name, to, moved)| Ask::Rename { name, to, moved }),
        4 => name().prop_map(|name| Ask::Search { name }),
        4 => name().prop_map(Ask::Read),
        4 => name().prop_map(Ask::Find),
        2 => (any::<bool>(), any::<bool>()).prop_map(|(moved, paged)| Ask::List { moved, paged }),
        2 => (name(), "[ab]{1,2}").prop_map(|(name, text)| Ask::Compare { name, text }),
        1 => any::<bool>().prop_map(Ask::Bind),
    ]
}

/// Some are longer than a group, of updates or of what looks.
pub fn bundle() -> impl Strategy<Value = Vec<Ask>> {
    let of = |len| prop::collection::vec(ask(), len);
    let adds = prop::collection::vec((name(), "[a-z]{1,40}"), 120..140);
    let adds = adds.prop_map(|all| all.into_iter().map(|(name, text)| Ask::Add { name, text }));
    prop_oneof![
        6 => of(1..40),
        1 => of(60..200),
        1 => (adds, of(1..20)).prop_map(|(adds, rest)| adds.chain(rest).collect::<Vec<Ask>>()),
    ]
}

pub fn dn(name: &str) -> String {
    format!("uid={name},ou=people,dc=example")
}

pub fn encode(client: &mut Client, ask: &Ask) -> Vec<u8> {
    let request = |client: &mut Client, request: &Request<'_>| client.encode(request, &[]).1;
    let modify = |client: &mut Client, name: &str, change: (ModifyKind, &str, &[&str]), critical: bool| {
        let (dn, changes) = (dn(name), changes_of(&[change]));
        let changes = Changes::parse(&changes).expect("just encoded");
        let unknown = [Control { oid: b"1.2.3", critical: true, value: None }];
        let controls = if critical { &unknown[..] } else { &[] };
        client.encode(&Request::Modify(Modify { dn: dn.as_bytes(), changes }), controls).1
    };
    match ask {
        Ask::Add { name, text } => {
            let list: Given<'_> = &[
                ("objectClass", &["inetOrgPerson"]),
                ("cn", &[text]),
                ("sn", &["x"]),
                ("employeeNumber", &["1"]),
            ];
            let (dn, list) = (dn(name), attributes_of(list));
            let attributes = Attributes::parse(&list).expect("just encoded");
            request(client, &Request::Add(Add { dn: dn.as_bytes(), attributes }))
        }
        Ask::Describe { name, texts, critical } => {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            modify(client, name, (ModifyKind::Replace, "description", &texts), *critical)
        }
        Ask::Guarded { name, was, text } => guarded(client, name, was, text),
        Ask::Password { name, proxied, old, new } => {
            let (dn, authorization_id) = (dn(name), format!("dn:{}", dn(name)));
            let bytes = |text: &'_ Option<String>| text.clone().map(String::into_bytes);
            let (old, new) = (bytes(old), bytes(new));
            let user = (!proxied).then_some(dn.as_bytes());
            let value = PasswordModify { user, old: old.as_deref(), new: new.as_deref() }.encode();
            let request = Request::Extended(Extended { oid: password_modify::OID, value: Some(&value) });
            let controls = [proxied_authorization::control(authorization_id.as_bytes())];
            client.encode(&request, if *proxied { &controls } else { &[] }).1
        }
        Ask::Proxied { name, as_root } => {
            let of = if *as_root { ROOT_DN.to_owned() } else { dn(name) };
            let (dn, authorization_id) = (dn(name), format!("dn:{of}"));
            let changes = changes_of(&[(ModifyKind::Replace, "title", &["x"])]);
            let changes = Changes::parse(&changes).expect("just encoded");
            let controls = [proxied_authorization::control(authorization_id.as_bytes())];
            client.encode(&Request::Modify(Modify { dn: dn.as_bytes(), changes }), &controls).1
        }
        Ask::Increment(name) => {
            modify(client, name, (ModifyKind::Increment, "employeeNumber", &["1"]), false)
        }
        Ask::Delete(name) => request(client, &Request::Delete(dn(name).as_bytes())),
        Ask::Rename { name, to, moved } => {
            let (dn, rdn) = (dn(name), format!("uid={to}"));
            request(
                client,
                &Request::ModifyDn(ModifyDn {
                    dn: dn.as_bytes(),
                    new_rdn: rdn.as_bytes(),
                    delete_old_rdn: true,
                    new_superior: moved.then_some(b"dc=example"),
                }),
            )
        }
        Ask::Search { name } => {
            let (dn, list) = (dn(name), selection(&["*", "+"]));
            let filter = Filter::Present(b"objectClass");
            let control = Control { oid: manage_dsa_it::OID, critical: false, value: None };
            client.encode(&Request::Search(search_for(&dn, Scope::Subtree, filter, &list)), &[control]).1
        }
        Ask::Read(name) => {
            let (dn, list) = (dn(name), selection(&["cn", "description", "employeeNumber"]));
            let filter = Filter::Present(b"objectClass");
            request(client, &Request::Search(search_for(&dn, Scope::Base, filter, &list)))
        }
        Ask::Find(name) => {
            let list = selection(&["cn", "description"]);
            let filter = Filter::Equality(Assertion { attribute: b"uid", value: name.as_bytes() });
            request(client, &Request::Search(search_for("dc=example", Scope::Subtree, filter, &list)))
        }
        Ask::List { moved, paged } => {
            let (list, filter) = (selection(&["description", "uid"]), Filter::Present(b"uid"));
            let (base, mut value) = (if *moved { "dc=example" } else { "ou=people,dc=example" }, Vec::new());
            PagedResults { size: 1000, cookie: b"" }.encode(&mut value);
            let page = [control(paged_results::OID, &value, true)];
            let search = search_for(base, Scope::One, filter, &list);
            client.encode(&Request::Search(search), if *paged { &page } else { &[] }).1
        }
        Ask::Compare { name, text } => {
            let dn = dn(name);
            let assertion = Assertion { attribute: b"description", value: text.as_bytes() };
            request(client, &Request::Compare(Compare { dn: dn.as_bytes(), assertion }))
        }
        Ask::Bind(true) => client.encode(&bind(ROOT_DN, PASSWORD), &[]).1,
        Ask::Bind(false) => client.encode(&bind(&dn("n1"), "secret"), &[]).1,
    }
}

/// A modify with an assertion, a pre-read and a post-read.
pub fn guarded(client: &mut Client, name: &str, was: &str, text: &str) -> Vec<u8> {
    let filter = match was {
        "" => "(!(description=*))".to_owned(),
        was => format!("(description={was})"),
    };
    let (asserts, reads) = (assertion(&filter), wanted(&["description", "modifyTimestamp"]));
    let controls = [
        control(proto::control::assertion::OID, &asserts, true),
        control(read_entry::PRE_OID, &reads, false),
        control(read_entry::POST_OID, &reads, true),
    ];
    let (dn, changes) = (dn(name), changes_of(&[(ModifyKind::Replace, "description", &[text])]));
    let changes = Changes::parse(&changes).expect("just encoded");
    client.encode(&Request::Modify(Modify { dn: dn.as_bytes(), changes }), &controls).1
}

pub fn set_up(client: &mut Client) {
    // The same salts wherever the same is asked.
    client.dsa.draw_from(SeededEntropy::new(1));
    client.bind_root();
    client.must_add("dc=example", &[("objectClass", &["domain"]), ("dc", &["example"])]);
    client.must_add("ou=people,dc=example", &[("objectClass", &["organizationalUnit"])]);
}

/// What does not depend on ids: neither entryUUIDs nor the order of entries.
pub fn without_ids(mut answers: Vec<Answer>) -> Vec<Answer> {
    for answer in &mut answers {
        if let What::Entry(_, attributes) = &mut answer.what {
            attributes.retain(|(name, _)| name != "entryUUID");
        }
    }
    answers.sort_by_key(|answer| match &answer.what {
        What::Entry(dn, _) => (answer.id, false, dn.clone()),
        _ => (answer.id, true, String::new()),
    });
    answers
}
