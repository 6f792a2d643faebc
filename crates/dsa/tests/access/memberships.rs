//! memberOf, which no entry stores: shown, in filters, through groups in groups; and that it tells nothing that the groups do not tell
//! (row X1).

use super::*;
use ResultCode::{CompareFalse, CompareTrue, ConstraintViolation, NoSuchAttribute, Success};
use model::Scope;
use proptest::prelude::*;
use proto::op::ModifyKind::{Add, Delete, Replace};
use std::collections::{BTreeMap, BTreeSet};

const ADMINS: &str = "cn=admins,ou=groups,dc=example";
const STAFF: &str = "cn=staff,ou=groups,dc=example";
const BASE: &str = "dc=example";

fn add_group(client: &mut Client, dn: &str, members: &[&str]) {
    client.must_add(dn, &[("objectClass", &["groupOfNames"]), ("member", members)]);
}

/// The groups that are shown with an entry.
fn shown(client: &mut Client, dn: &str) -> Vec<String> {
    client.read(dn, &["memberOf"]).values("memberOf").unwrap_or_default()
}

fn found(client: &mut Client, filter: &str) -> Vec<String> {
    let found = client.search(BASE, Scope::Subtree, filter, &["1.1"]);
    assert_eq!(found.end.code, Success, "{filter}: {}", found.end.text);
    found.dns().into_iter().map(str::to_owned).collect()
}

fn nested(mut config: Config) -> Config {
    config.settings.configured.access.nested_groups = true;
    config
}

#[test]
fn an_entry_shows_the_groups_that_list_it() {
    each(&config(), |mut root| {
        add_group(&mut root, ADMINS, &["UID=Ada, OU=people,dc=example", BOB]);
        root.must_add(STAFF, &[("objectClass", &["groupOfUniqueNames"]), ("uniqueMember", &[ADA])]);
        // A person is no group, whatever attributes it has.
        root.must_modify(GRACE, &[(Add, "objectClass", &["extensibleObject"]), (Add, "member", &[ADA])]);
        assert_eq!(shown(&mut root, ADA), [ADMINS, STAFF]);
        assert_eq!(shown(&mut root, BOB), [ADMINS]);
        assert_eq!(shown(&mut root, GRACE), [""; 0]);
        let entry = root.read(ADA, &["ismemberof", "cn"]);
        assert_eq!(entry.values("isMemberOf").expect("it is there"), [ADMINS, STAFF]);
        assert_eq!(entry.values("memberOf"), None);
        let entry = root.read(ADA, &["+"]);
        assert_eq!(entry.values("memberOf").expect("it is there"), [ADMINS, STAFF]);
        assert_eq!(entry.values("isMemberOf"), None, "`+` has it once");
        assert_eq!(root.read(ADA, &["*"]).values("memberOf"), None);
        assert_eq!(root.read(ADA, &[]).values("memberOf"), None);
        // Twice: also what is remembered of a search.
        assert_eq!(root.read(ADA, &["+"]).values("memberOf").expect("it is there"), [ADMINS, STAFF]);
        root.must_modify(ADMINS, &[(Delete, "member", &[ADA])]);
        assert_eq!(shown(&mut root, ADA), [STAFF]);
        assert_eq!(root.rename(STAFF, "cn=crew", true, None).code, Success);
        assert_eq!(shown(&mut root, ADA), ["cn=crew,ou=groups,dc=example"]);
        assert_eq!(root.delete("cn=crew,ou=groups,dc=example").code, Success);
        assert_eq!(shown(&mut root, ADA), [""; 0]);
    });
}

#[test]
fn filters_and_compares_ask_for_it_and_updates_cannot_change_it() {
    each(&config(), |mut root| {
        add_group(&mut root, ADMINS, &[ADA, BOB, "uid=gone,ou=people,dc=example"]);
        for attribute in ["memberOf", "ismemberof", "1.2.840.113556.1.2.102"] {
            assert_eq!(
                found(&mut root, &format!("({attribute}=CN=Admins,ou=groups,dc=example)")),
                [ADA, BOB]
            );
            assert_eq!(found(&mut root, &format!("({attribute}=*)")), [ADA, BOB]);
            assert_eq!(found(&mut root, &format!("(&(uid=ada)({attribute}={ADMINS}))")), [ADA]);
            assert_eq!(found(&mut root, &format!("(|(uid=grace)({attribute}={ADMINS}))")), [ADA, BOB, GRACE]);
            assert_eq!(found(&mut root, &format!("(&(uid=*)(!({attribute}={ADMINS})))")), [GRACE]);
            assert_eq!(found(&mut root, &format!("({attribute}={STAFF})")), [""; 0]);
            assert_eq!(found(&mut root, &format!("({attribute}=nonsense)")), [""; 0]);
            // An extensible match by the rule of its equality is the same.
            for item in [":", ":distinguishedNameMatch:", ":2.5.13.1:"] {
                assert_eq!(found(&mut root, &format!("({attribute}{item}={ADMINS})")), [ADA, BOB]);
                assert_eq!(found(&mut root, &format!("(&(uid=*)(!({attribute}{item}={ADMINS})))")), [GRACE]);
                assert_eq!(found(&mut root, &format!("({attribute}:dn{item}={ADMINS})")), [""; 0]);
            }
        }
        assert_eq!(root.search(ADA, Scope::Base, &format!("(memberOf={ADMINS})"), &[]).entries.len(), 1);
        assert_eq!(root.compare(ADA, "memberOf", ADMINS).code, CompareTrue);
        assert_eq!(root.compare(ADA, "isMemberOf", STAFF).code, CompareFalse);
        assert_eq!(root.compare(GRACE, "memberOf", ADMINS).code, NoSuchAttribute);
        for kind in [Add, Replace, Delete] {
            assert_eq!(root.modify(ADA, &[(kind, "memberOf", &[ADMINS])]).code, ConstraintViolation);
        }
        let person: Given<'_> = &[("objectClass", &["account"]), ("isMemberOf", &[ADMINS])];
        assert_eq!(root.add("uid=new,ou=people,dc=example", person).code, ConstraintViolation);
    });
}

#[test]
fn the_rule_in_chain_follows_groups_in_groups_and_circles_end() {
    let inner = "cn=inner,ou=groups,dc=example";
    let chain = |attribute: &str, value: &str| format!("({attribute}:1.2.840.113556.1.4.1941:={value})");
    for is_nested in [false, true] {
        let config = if is_nested { nested(config()) } else { config() };
        each(&config, |mut root| {
            add_group(&mut root, inner, &[BOB]);
            root.must_add(
                STAFF,
                &[("objectClass", &["groupOfUniqueNames"]), ("uniqueMember", &[inner, GRACE])],
            );
            add_group(&mut root, ADMINS, &[STAFF, ADA]);
            root.must_modify(inner, &[(Add, "member", &[ADMINS])]);
            let all = [ADMINS, inner, STAFF, ADA, BOB, GRACE];
            assert_eq!(found(&mut root, &chain("memberOf", ADMINS)), all);
            assert_eq!(found(&mut root, &chain("memberOf", inner)), all);
            assert_eq!(found(&mut root, &chain("member", BOB)), [ADMINS, inner, STAFF]);
            assert_eq!(found(&mut root, &chain("member", "uid=gone,dc=example")), [""; 0]);
            assert_eq!(found(&mut root, &chain("manager", BOB)), [""; 0], "it is asked of groups alone");
            let (direct, groups): (&[&str], &[&str]) = match is_nested {
                false => (&[STAFF, ADA], &[inner]),
                true => (&all, &[ADMINS, inner, STAFF]),
            };
            assert_eq!(found(&mut root, &format!("(memberOf={ADMINS})")), direct);
            assert_eq!(shown(&mut root, BOB), groups);
        });
    }
}

/// The members of a large group are looked up in its set, and gathered in slices.
#[test]
fn a_large_group_is_asked_and_not_read() {
    each(&config(), |mut root| {
        add_people(&mut root, 300);
        let mut people = found(&mut root, "(&(uid=*)(!(uid=grace)))");
        people.sort();
        let names: Vec<&str> = people.iter().map(String::as_str).collect();
        add_group(&mut root, ADMINS, &names);
        assert_eq!(found(&mut root, &format!("(memberOf={ADMINS})")), people);
        assert_eq!(found(&mut root, &format!("(&(uid=*)(!(memberOf={ADMINS})))")), [GRACE]);
        assert_eq!(found(&mut root, &format!("(&(uid=ada)(memberOf={ADMINS}))")), [ADA]);
        assert_eq!(shown(&mut root, ADA), [ADMINS]);
        root.must_modify(ADMINS, &[(Delete, "member", &[ADA])]);
        assert_eq!(found(&mut root, &format!("(&(uid=ada)(memberOf={ADMINS}))")), [""; 0]);
        // A page goes on behind the last one.
        let first = root.page(BASE, Scope::Subtree, &format!("(memberOf={ADMINS})"), 200, b"");
        let cookie = first.cookie.expect("there is more");
        let second = root.page(BASE, Scope::Subtree, &format!("(memberOf={ADMINS})"), 200, &cookie);
        assert_eq!(first.entries.len() + second.entries.len(), people.len() - 1);
    });
}

/// A group that is hidden, or whose members are, shows in no memberOf and answers no filter: all is as if it did not list the entry.
#[test]
fn x1_groups_that_are_hidden_show_in_no_member_of() {
    let secret = "cn=secret,ou=groups,dc=example";
    let open = "cn=open,ou=groups,dc=example";
    for rule in [
        "hide: base=\"cn=secret,ou=groups,dc=example\"; users; deny=see rank=5",
        "members: base=\"cn=secret,ou=groups,dc=example\" attrs=member; users; deny=see rank=5",
        "others: base=\"cn=secret,ou=groups,dc=example\" attrs=member values=\"(member=uid=ada,ou=people,dc=example)\"; users; deny=see rank=5",
    ] {
        as_ada(&[rule], |mut client| {
            let mut root = client.root();
            add_group(&mut root, secret, &[ADA, BOB]);
            add_group(&mut root, open, &[secret, BOB]);
            assert_eq!(shown(&mut client, ADA), [""; 0], "{rule}");
            for filter in [
                format!("(&(uid=ada)(memberOf={secret}))"),
                "(&(uid=ada)(memberOf=*))".to_owned(),
                format!("(&(uid=ada)(memberOf:1.2.840.113556.1.4.1941:={secret}))"),
                format!("(&(uid=ada)(memberOf:1.2.840.113556.1.4.1941:={open}))"),
                format!("(member:1.2.840.113556.1.4.1941:={ADA})"),
            ] {
                assert_eq!(found(&mut client, &filter), [""; 0], "{rule} {filter}");
            }
            // Nor by its negation.
            assert_eq!(found(&mut client, &format!("(&(uid=ada)(!(memberOf={secret})))")), [ADA], "{rule}");
            assert_eq!(client.compare(ADA, "memberOf", secret).code, NoSuchAttribute, "{rule}");
            assert_eq!(shown(&mut root, ADA), [secret]);
        });
    }
    // The attribute itself may not be read, or not be tested.
    as_ada(&["own: all attrs=memberOf; users; deny=see rank=5"], |mut client| {
        let mut root = client.root();
        add_group(&mut root, open, &[ADA]);
        assert_eq!(shown(&mut client, ADA), [""; 0]);
        assert_eq!(found(&mut client, &format!("(memberOf={open})")), [""; 0]);
        assert_eq!(found(&mut client, &format!("(&(uid=ada)(!(memberOf={open})))")), [""; 0], "undefined");
        assert_eq!(
            client.read(ADA, &["isMemberOf"]).values("isMemberOf").expect("another attribute"),
            [open]
        );
    });
}

/// Members that searches find are shown, and are found from both sides; with an index and without.
#[test]
fn a5_the_searches_of_a_group_find_its_members() {
    for is_indexed in [false, true] {
        let mut config = config();
        if is_indexed {
            config.store.indexes.push(store::IndexSettings::of("memberURL", [store::IndexKind::Presence]));
        }
        each(&config, |mut root| {
            let urls =
                ["ldap:///ou=people,dc=example??sub?(sn=*t*)", "ldap:///ou=people,dc=example??one?(uid=ada)"];
            let others =
                ["ldap://other.example/dc=example??sub?(uid=*)", "no URL", "ldap:///dc=gone??sub?(uid=*)"];
            let all: Vec<&str> = urls.iter().chain(&others).copied().collect();
            root.must_add(STAFF, &[("objectClass", &["groupOfURLs"]), ("memberURL", &all)]);
            add_group(&mut root, ADMINS, &[STAFF]);
            // Twice, also as a form that is remembered.
            for _ in 0..2 {
                assert_eq!(root.read(STAFF, &[]).values("member").expect("they are shown"), [ADA, BOB]);
                assert_eq!(
                    root.read(STAFF, &["member"]).values("member").expect("they are shown"),
                    [ADA, BOB]
                );
                assert_eq!(root.read(STAFF, &["cn"]).values("member"), None);
            }
            assert_eq!(shown(&mut root, BOB), [STAFF]);
            assert_eq!(shown(&mut root, GRACE), [""; 0]);
            for item in ["", ":", ":distinguishedNameMatch:"] {
                assert_eq!(found(&mut root, &format!("(memberOf{item}={STAFF})")), [ADA, BOB]);
                // That takes the index.
                let groups: &[&str] = if is_indexed { &[STAFF] } else { &[] };
                assert_eq!(found(&mut root, &format!("(member{item}={ADA})")), groups);
            }
            assert_eq!(found(&mut root, "(memberOf=*)"), [STAFF, ADA, BOB]);
            assert_eq!(found(&mut root, &format!("(&(uid=*)(!(memberOf={STAFF})))")), [GRACE]);
            let chain = format!("(memberOf:1.2.840.113556.1.4.1941:={ADMINS})");
            assert_eq!(found(&mut root, &chain), [STAFF, ADA, BOB]);
            assert_eq!(
                found(&mut root, &format!("(member:1.2.840.113556.1.4.1941:={BOB})")),
                [ADMINS, STAFF]
            );
            assert_eq!(root.compare(BOB, "memberOf", STAFF).code, CompareTrue);
            // From the side of the member it takes the index.
            let groups: &[&str] = if is_indexed { &[STAFF] } else { &[] };
            for _ in 0..2 {
                assert_eq!(found(&mut root, &format!("(member={BOB})")), groups);
                assert_eq!(found(&mut root, &format!("(member={GRACE})")), [""; 0]);
            }
            assert_eq!(found(&mut root, &format!("(member={STAFF})")), [ADMINS]);
            root.must_modify(BOB, &[(Replace, "sn", &["Moved"])]);
            assert_eq!(root.read(STAFF, &[]).values("member").expect("they are shown"), [ADA]);
            assert_eq!(shown(&mut root, BOB), [""; 0]);
        });
    }
}

/// A URL that leads to what may not be read gives nothing.
#[test]
fn x3_a_search_of_a_group_finds_what_the_client_would_find() {
    let index = store::IndexSettings::of("memberURL", [store::IndexKind::Presence]);
    for rule in [
        "hide: base=\"uid=bob,ou=people,dc=example\"; users; deny=see rank=5",
        "attribute: subtree=\"ou=people,dc=example\" attrs=sn; users; deny=see rank=5",
        "members: base=\"cn=staff,ou=groups,dc=example\" attrs=member; users; deny=see rank=5",
        "group: base=\"cn=staff,ou=groups,dc=example\"; users; deny=see rank=5",
    ] {
        let mut config = ruled(&[rule]);
        config.store.indexes.push(index.clone());
        each(&config, |mut root| {
            let urls = ["ldap:///ou=people,dc=example??sub?(sn=Tail)"];
            root.must_add(STAFF, &[("objectClass", &["groupOfURLs"]), ("memberURL", &urls)]);
            let mut client = root.another();
            client.must_bind(ADA, "lace");
            let group = client.read(STAFF, &["member"]);
            assert!(group.entries.is_empty() || group.values("member").is_none(), "{rule}");
            let entry = client.read(BOB, &["memberOf"]);
            assert!(entry.entries.is_empty() || entry.values("memberOf").is_none(), "{rule}");
            assert_eq!(found(&mut client, &format!("(memberOf={STAFF})")), [""; 0], "{rule}");
            assert_eq!(found(&mut client, &format!("(member={BOB})")), [""; 0], "{rule}");
            assert_eq!(shown(&mut root, BOB), [STAFF]);
        });
    }
}

/// Members as sets of numbers: 0 to 3 are people, 4 to 9 groups.
type Model = BTreeMap<usize, BTreeSet<usize>>;

#[derive(Clone, Debug)]
enum Step {
    Put(usize, Vec<usize>),
    Rename(usize),
    Delete(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (4..10_usize, prop::collection::vec(0..10_usize, 1..6)).prop_map(|(group, members)| Step::Put(group, members)),
        1 => (0..10_usize).prop_map(Step::Rename),
        1 => (4..10_usize).prop_map(Step::Delete),
    ]
}

/// All that is reached from here, by what lists it.
fn closure(model: &Model, of: usize) -> BTreeSet<usize> {
    let mut all = BTreeSet::new();
    loop {
        let is_listing = |members: &BTreeSet<usize>| {
            members.contains(&of) || members.iter().any(|member| all.contains(member))
        };
        let next: BTreeSet<usize> = model.iter().filter(|(_, m)| is_listing(m)).map(|(g, _)| *g).collect();
        if next == all {
            return all;
        }
        all = next;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// What is shown and found is what a naive closure over the lists of members says, after any changes of groups and names.
    #[test]
    fn memberships_are_those_of_a_naive_closure(steps in prop::collection::vec(step(), 1..20), is_nested in any::<bool>()) {
        let mut client = Client::with(if is_nested { nested(config()) } else { config() });
        let mut names: Vec<String> = (0..10)
            .map(|n| if n < 4 { format!("uid=m{n},ou=people,dc=example") } else { format!("cn=m{n},ou=groups,dc=example") })
            .collect();
        for name in &names[..4] {
            client.must_add(name, &[("objectClass", &["account"])]);
        }
        // What a group lists by name, also of names that are gone; a rename leaves these.
        let mut lists: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        for (turn, step) in steps.into_iter().enumerate() {
            match step {
                Step::Put(group, members) => {
                    let members: BTreeSet<String> = members.iter().map(|member| names[*member].clone()).collect();
                    let values: Vec<&str> = members.iter().map(String::as_str).collect();
                    match lists.insert(group, members.clone()) {
                        None => add_group(&mut client, &names[group], &values),
                        Some(_) => client.must_modify(&names[group], &[(Replace, "member", &values)]),
                    }
                }
                Step::Rename(which) if which < 4 || lists.contains_key(&which) => {
                    let rdn = if which < 4 { format!("uid=r{turn}") } else { format!("cn=r{turn}") };
                    prop_assert_eq!(client.rename(&names[which], &rdn, true, None).code, Success);
                    let rest = names[which].split_once(',').expect("it has a superior").1.to_owned();
                    names[which] = format!("{rdn},{rest}");
                }
                Step::Delete(group) if lists.remove(&group).is_some() => {
                    prop_assert_eq!(client.delete(&names[group]).code, Success);
                }
                Step::Rename(_) | Step::Delete(_) => {}
            }
            let number = |name: &String| names.iter().position(|other| other == name);
            let model: Model = lists
                .iter()
                .map(|(group, members)| (*group, members.iter().filter_map(number).collect()))
                .collect();
            let text = |numbers: &BTreeSet<usize>| {
                let mut texts: Vec<String> = numbers.iter().map(|n| names[*n].clone()).collect();
                texts.sort();
                texts
            };
            let is_there = |n: &usize| *n < 4 || lists.contains_key(n);
            for n in (0..10).filter(is_there) {
                let direct: BTreeSet<usize> = model.iter().filter(|(_, m)| m.contains(&n)).map(|(g, _)| *g).collect();
                let all = closure(&model, n);
                prop_assert_eq!(shown(&mut client, &names[n]), text(if is_nested { &all } else { &direct }));
                let filter = format!("(member:1.2.840.113556.1.4.1941:={})", names[n]);
                prop_assert_eq!(found(&mut client, &filter), text(&all));
            }
            for group in lists.keys() {
                let inside: BTreeSet<usize> =
                    (0..10).filter(is_there).filter(|n| closure(&model, *n).contains(group)).collect();
                let direct = model[group].iter().copied().filter(is_there).collect();
                let filter = format!("(memberOf={})", names[*group]);
                prop_assert_eq!(found(&mut client, &filter), text(if is_nested { &inside } else { &direct }));
                let filter = format!("(memberOf:1.2.840.113556.1.4.1941:={})", names[*group]);
                prop_assert_eq!(found(&mut client, &filter), text(&inside));
            }
        }
    }
}

/// The values of an attribute of an entry that pass an item.
fn matched(client: &mut Client, dn: &str, attribute: &str, item: &str) -> Option<Vec<String>> {
    use proto::control::matched_values;
    let parsed = proto::filter_string::parse(item.as_bytes()).expect("a filter");
    let value = matched_values::encode(&[parsed.filter()]);
    let controls = [matched_values::control(&value, true)];
    let found = client.search_with(dn, Scope::Base, "(objectClass=*)", &[attribute], |_| {}, &controls);
    assert_eq!(found.end.code, Success, "{}", found.end.text);
    found.values(attribute)
}

/// RFC 3876: what is shown of groups is compared with the items of matched values like what is stored, as far as it may be read.
#[test]
fn x1_matched_values_select_among_memberships() {
    let rules = [
        "others: all attrs=memberOf values=\"(memberOf=cn=staff,ou=groups,dc=example)\"; users; deny=read rank=5",
    ];
    as_ada(&rules, |mut client| {
        let mut root = client.root();
        add_group(&mut root, ADMINS, &[ADA, BOB]);
        add_group(&mut root, STAFF, &[ADA]);
        let urls = ["ldap:///ou=people,dc=example??sub?(sn=*l*)"];
        let found = "cn=found,ou=groups,dc=example";
        root.must_add(found, &[("objectClass", &["groupOfURLs"]), ("memberURL", &urls)]);
        let of = |dn: &str| format!("(memberOf={dn})");
        let list = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        for _ in 0..2 {
            assert_eq!(matched(&mut root, ADA, "memberOf", &of(ADMINS)), list(&[ADMINS]));
            assert_eq!(matched(&mut root, ADA, "memberOf", &of(STAFF)), list(&[STAFF]));
            assert_eq!(matched(&mut root, ADA, "memberOf", &of("cn=none,dc=example")), list(&[]));
            assert_eq!(matched(&mut root, ADA, "memberOf", "(memberOf=*)"), list(&[ADMINS, found, STAFF]));
            assert_eq!(matched(&mut root, ADA, "memberOf", "(cn=*)"), list(&[]));
            assert_eq!(matched(&mut root, GRACE, "memberOf", "(memberOf=*)"), None);
            assert_eq!(matched(&mut root, found, "member", &format!("(member={BOB})")), list(&[BOB]));
            assert_eq!(matched(&mut root, found, "member", &format!("(member={GRACE})")), list(&[]));
            assert_eq!(matched(&mut client, ADA, "memberOf", &of(STAFF)), list(&[]));
            assert_eq!(matched(&mut client, ADA, "memberOf", "(memberOf=*)"), list(&[ADMINS, found]));
        }
    });
}

/// Entries below `ou=many` of which each has rights of its own: more kinds of them than a thread remembers.
const MANY: usize = 4_096;

/// The directory with those entries, and the rules that tell them apart. The client is ada.
fn among_many() -> Client {
    let rules: Vec<String> = (0..13)
        .map(|bit| {
            let filter = format!("(description=b{bit})");
            format!("bit{bit}: subtree=\"ou=many,dc=example\" filter=\"{filter}\" attrs=mobile; users; deny=compare")
        })
        .collect();
    let mut client = Client::with(ruled(&rules.iter().map(String::as_str).collect::<Vec<_>>()));
    client.must_add("ou=many,dc=example", &[("objectClass", &["organizationalUnit"])]);
    for (n, dn) in (1..).zip(many()) {
        let bits: Vec<String> =
            (0..13).filter(|bit| n >> bit & 1 == 1).map(|bit| format!("b{bit}")).collect();
        let bits: Vec<&str> = bits.iter().map(String::as_str).collect();
        client.must_add(&dn, &[("objectClass", &["account"]), ("description", &bits)]);
    }
    client.must_bind(ADA, "lace");
    client
}

fn many() -> impl Iterator<Item = String> {
    (1..=MANY).map(|n| format!("uid=n{n},ou=many,dc=example"))
}

/// Rights on other entries are worked out before an entry is written. The entry shows all that may be read of it nevertheless.
#[test]
fn an_entry_is_whole_however_many_others_it_names() {
    use proto::control::dereference::{DerefSpec, control, encode};
    use proto::control::sort::{self, SortKey};
    let mut client = among_many();
    let mut root = client.root();
    // By a name in each.
    let list = "cn=list,ou=groups,dc=example";
    let names: Vec<String> = many().collect();
    add_group(&mut root, list, &names.iter().map(String::as_str).collect::<Vec<_>>());
    let wanted = selection(&["mobile"]);
    let attributes = proto::list::Octets::parse(&wanted).expect("just encoded");
    let value = encode(&[DerefSpec { attribute: b"member", attributes }]);
    let by = sort::encode(&[SortKey { attribute: b"cn", ordering_rule: None, reverse: false }]);
    let controls = [control(&value, true), sort::control(&by, true)];
    for controls in [&controls[..1], &controls] {
        let found = client.search_with(list, Scope::Base, "(objectClass=*)", &["cn"], |_| {}, controls);
        assert_eq!((found.end.code, found.values("cn")), (Success, Some(vec!["list".to_owned()])));
    }
    // By a search that finds them all.
    let urls = ["ldap:///ou=many,dc=example??one?(uid=*)"];
    root.must_add(STAFF, &[("objectClass", &["groupOfURLs"]), ("memberURL", &urls)]);
    add_group(&mut root, ADMINS, &[STAFF]);
    let found = client.read(STAFF, &["cn", "member", "memberOf"]);
    assert_eq!(found.values("member").map(|members| members.len()), Some(MANY));
    assert_eq!(found.values("memberOf"), Some(vec![ADMINS.to_owned()]));
    assert_eq!(found.values("cn"), Some(vec!["staff".to_owned()]));
}

/// Without an index the entries that are there count, whatever was there before.
#[test]
fn entries_that_were_deleted_do_not_count() {
    let mut config = config();
    config.store.indexes.clear();
    let mut root = Client::with(config);
    add_group(&mut root, ADMINS, &[ADA]);
    root.must_add("ou=many,dc=example", &[("objectClass", &["organizationalUnit"])]);
    many().for_each(|dn| root.must_add(&dn, &[("objectClass", &["account"])]));
    assert_eq!((shown(&mut root, ADA), found(&mut root, "(memberOf=*)")), (Vec::new(), Vec::new()));
    many().for_each(|dn| assert_eq!(root.delete(&dn).code, Success));
    assert_eq!(shown(&mut root, ADA), [ADMINS]);
    assert_eq!(found(&mut root, "(memberOf=*)"), [ADA]);
}

/// The searches of all groups have one budget for an entry: one that takes much does not find it when there are many, and those that take
/// little do.
#[test]
fn the_searches_of_many_groups_share_their_work() {
    let mut root = Client::new();
    let big = "cn=big,ou=groups,dc=example";
    let ids: Vec<String> = (0..30_000).map(|n| format!("member{n:06}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    root.must_add(big, &[("objectClass", &["posixGroup"]), ("gidNumber", &["1"]), ("memberUid", &ids)]);
    let dear = "ldap:///ou=groups,dc=example??sub?(memberUid=*x*)";
    let both = ["ldap:///ou=groups,dc=example??sub?(|(memberUid=*x*)(gidNumber=1))"];
    let add = |root: &mut Client, name: &str, urls: &[&str]| {
        let dn = format!("cn={name},ou=groups,dc=example");
        root.must_add(&dn, &[("objectClass", &["groupOfURLs"]), ("memberURL", urls)]);
        dn
    };
    let first = add(&mut root, "first", &both);
    assert_eq!(shown(&mut root, big), [&*first]);
    for n in 0..60 {
        add(&mut root, &format!("more{n}"), &both);
    }
    let cheap = add(&mut root, "cheap", &["ldap:///ou=groups,dc=example??sub?(gidNumber=1)", dear]);
    assert_eq!(shown(&mut root, big), [&*cheap]);
}
