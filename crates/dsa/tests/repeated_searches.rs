//! Searches of a form that a thread seen before are answered without being decoded. Here one client sends random
//! requests of few forms in bundles, to a worker that remembers; another sends them one by one, each to a worker that
//! never saw any. Both must be answered the same, byte by byte.

mod common;

use common::{Client, PASSWORD, ROOT_DN, add_people, bind, changes_of, search_for, selection};
use model::{Filter, Scope, filter::Assertion};
use proptest::prelude::*;
use proto::Request;
use proto::control::{Control, manage_dsa_it};
use proto::op::modify::Changes;
use proto::op::{Modify, ModifyDn, ModifyKind};
use store::{IndexKind, IndexSettings};

const PEOPLE: usize = 6;

#[derive(Clone, Debug)]
enum Ask {
    Base { name: String, attributes: usize, types_only: bool, critical: Option<bool> },
    Equal { base: usize, scope: Scope, attribute: usize, value: String, attributes: usize, size_limit: i32 },
    Present { name: String, attribute: usize },
    Describe { name: String, text: String },
    Delete { name: String },
    Rename { name: String, to: String },
    Bind(bool),
}

const SELECTIONS: [&[&str]; 5] = [&["1.1"], &[], &["cn", "userPassword"], &["*", "+"], &["nosuch", "sn"]];
const ATTRIBUTES: [&str; 5] = ["uid", "UID", "description", "nosuch", "member"];
const BASES: [&str; 5] = [
    "dc=example",
    "ou=people,dc=example",
    "OU=People, dc=example",
    "uid=n1,ou=people,dc=example",
    "dc=nowhere",
];

fn name() -> impl Strategy<Value = String> {
    let person = (0..PEOPLE + 1).prop_map(|n| format!("n{n}"));
    prop_oneof![
        8 => person,
        1 => Just("N1".to_owned()),
        1 => Just(" n2".to_owned()),
        1 => Just("n\\33".to_owned()),
        1 => Just("n1+sn=Number".to_owned()),
        1 => Just("n1,uid=n2".to_owned()),
        1 => Just(String::new()),
        1 => Just("\u{fc}".to_owned()),
        1 => Just("n".repeat(200)),
    ]
}

fn ask() -> impl Strategy<Value = Ask> {
    let scope = prop_oneof![Just(Scope::One), Just(Scope::Subtree), Just(Scope::Subordinates)];
    let base = (name(), 0..SELECTIONS.len(), any::<bool>(), prop::option::weighted(0.1, any::<bool>()));
    let equal = (0..BASES.len(), scope, 0..ATTRIBUTES.len(), name(), 0..SELECTIONS.len(), 0..3);
    prop_oneof![
        12 => base.prop_map(|(name, attributes, types_only, critical)| Ask::Base { name, attributes, types_only, critical }),
        12 => equal.prop_map(|(base, scope, attribute, value, attributes, size_limit)| Ask::Equal {
            base, scope, attribute, value, attributes, size_limit
        }),
        2 => (name(), 0..ATTRIBUTES.len()).prop_map(|(name, attribute)| Ask::Present { name, attribute }),
        3 => (name(), "[a-z]{0,150}").prop_map(|(name, text)| Ask::Describe { name, text }),
        1 => name().prop_map(|name| Ask::Delete { name }),
        1 => (name(), name()).prop_map(|(name, to)| Ask::Rename { name, to }),
        1 => any::<bool>().prop_map(Ask::Bind),
    ]
}

fn dn(name: &str) -> String {
    format!("uid={name},ou=people,dc=example")
}

fn encode(client: &mut Client, ask: &Ask) -> Vec<u8> {
    let control = |critical: bool| Control { oid: manage_dsa_it::OID, critical, value: None };
    match ask {
        Ask::Base { name, attributes, types_only, critical } => {
            let (dn, list) = (dn(name), selection(SELECTIONS[*attributes]));
            let mut search = search_for(&dn, Scope::Base, Filter::Present(b"objectClass"), &list);
            search.types_only = *types_only;
            let controls: Vec<_> = critical.iter().map(|critical| control(*critical)).collect();
            client.encode(&Request::Search(search), &controls).1
        }
        Ask::Equal { base, scope, attribute, value, attributes, size_limit } => {
            let list = selection(SELECTIONS[*attributes]);
            let attribute = ATTRIBUTES[*attribute].as_bytes();
            let filter = Filter::Equality(Assertion { attribute, value: value.as_bytes() });
            let mut search = search_for(BASES[*base], *scope, filter, &list);
            search.size_limit = *size_limit;
            client.encode(&Request::Search(search), &[]).1
        }
        Ask::Present { name, attribute } => {
            let (dn, list) = (dn(name), selection(&["1.1"]));
            let filter = Filter::Present(ATTRIBUTES[*attribute].as_bytes());
            client.encode(&Request::Search(search_for(&dn, Scope::Base, filter, &list)), &[]).1
        }
        Ask::Describe { name, text } => {
            let (dn, changes) = (dn(name), changes_of(&[(ModifyKind::Replace, "description", &[text])]));
            let changes = Changes::parse(&changes).expect("just encoded");
            client.encode(&Request::Modify(Modify { dn: dn.as_bytes(), changes }), &[]).1
        }
        Ask::Delete { name } => client.encode(&Request::Delete(dn(name).as_bytes()), &[]).1,
        Ask::Rename { name, to } => {
            let (dn, rdn) = (dn(name), format!("uid={to}"));
            let modify_dn = ModifyDn {
                dn: dn.as_bytes(),
                new_rdn: rdn.as_bytes(),
                delete_old_rdn: true,
                new_superior: None,
            };
            client.encode(&Request::ModifyDn(modify_dn), &[]).1
        }
        Ask::Bind(true) => client.encode(&bind(ROOT_DN, PASSWORD), &[]).1,
        Ask::Bind(false) => client.encode(&bind(common::ADA, "lace"), &[]).1,
    }
}

fn directory() -> Client {
    let mut client = Client::new();
    add_people(&mut client, PEOPLE);
    client
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn are_answered_as_if_they_were_the_first(bundles in prop::collection::vec(prop::collection::vec(ask(), 1..50), 1..5)) {
        let (mut remembering, mut forgetting) = (directory(), directory());
        for bundle in &bundles {
            let requests: Vec<Vec<u8>> = bundle.iter().map(|ask| encode(&mut remembering, ask)).collect();
            let (together, _) = remembering.raw(&requests.concat());
            let mut apart = Vec::new();
            for request in &requests {
                forgetting.worker = dsa::Worker::new(&forgetting.dsa).expect("there are few readers");
                forgetting.worker.tick(forgetting.now);
                apart.extend(forgetting.raw(request).0);
            }
            for (together, apart) in together.iter().zip(&apart) {
                prop_assert_eq!(together, apart);
            }
            prop_assert_eq!(together.len(), apart.len());
        }
    }
}

/// The root of a naming context of several RDNs has no superior here, and all of its name.
#[test]
fn the_root_of_a_naming_context_has_its_whole_name_each_time() {
    let mut config = common::config();
    config.store.suffixes = vec!["dc=example,dc=com".to_owned()];
    config.store.indexes.push(IndexSettings::of("dc", [IndexKind::Equality]));
    let mut client = Client::empty(config);
    client.bind_root();
    client.must_add("dc=example,dc=com", &[("objectClass", &["domain"])]);
    for _ in 0..3 {
        let found = client.search("dc=example,dc=com", Scope::Subtree, "(dc=example)", &["1.1"]);
        let names: Vec<&str> = found.entries.iter().map(|(dn, _)| dn.as_str()).collect();
        assert_eq!(names, ["dc=example,dc=com"]);
    }
}
