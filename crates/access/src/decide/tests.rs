use super::*;
use crate::builtin::{Keys, rules as builtin};
use crate::parse;
use crate::right::Right;
use crate::rule::{AuthMethod, Operation};
use crate::world::{Address, Entry, Tree};
use std::sync::Arc;

const ANN: &str = "uid=ann,ou=people,dc=x";
const BOB: &str = "uid=bob,ou=people,dc=x";
const LIST: &str = "cn=list,ou=groups,dc=x";

fn tree() -> Tree {
    let schema = schema::Builder::new().standard().build().expect("it is sound");
    let mut tree = Tree::new(Arc::new(schema));
    let mut add = |dn: &str, attributes: &[(&str, &[&str])]| {
        let values = |values: &[&str]| values.iter().map(|value| value.as_bytes().to_vec()).collect();
        let attributes = attributes.iter().map(|(name, of)| ((*name).to_owned(), values(of))).collect();
        let entry = Entry::new(tree.schema(), dn, attributes).expect("it is a DN");
        tree.insert(entry);
    };
    add("dc=x", &[("objectClass", &["domain"])]);
    add("ou=people,dc=x", &[("objectClass", &["organizationalUnit"])]);
    let person = ("objectClass", &["inetOrgPerson"][..]);
    add(ANN, &[person, ("uid", &["ann"]), ("ou", &["Sales"]), ("manager", &[BOB]), ("userPassword", &["x"])]);
    add(BOB, &[person, ("uid", &["bob"]), ("ou", &["sales", "it"]), ("owner", &[LIST])]);
    add("uid=cid,ou=people,dc=x", &[person, ("uid", &["cid"]), ("ou", &["it"])]);
    add("cn=phone,uid=ann,ou=people,dc=x", &[("objectClass", &["device"])]);
    add(LIST, &[("objectClass", &["groupOfNames"]), ("member", &[ANN])]);
    for tenant in ["a", "b"] {
        let ou = format!("o={tenant},ou=tenants,dc=x");
        add(&ou, &[("objectClass", &["organization"])]);
        add(
            &format!("cn=admins,{ou}"),
            &[("objectClass", &["groupOfNames"]), ("member", &[&format!("uid=r{tenant},{ou}")])],
        );
        add(&format!("uid=r{tenant},{ou}"), &[person]);
    }
    tree
}

fn user(dn: &str) -> Requester {
    let dn = (!dn.is_empty()).then(|| dn.to_owned());
    Requester { real: dn.clone(), dn, auth: AuthMethod::Simple, ..Requester::default() }
}

/// Decides by rules of the configuration, and the built-in ones if that is said.
fn asked(
    rules: &[&str],
    who: &Requester,
    operation: Operation,
    dn: &str,
    item: Item<'_>,
    right: Right,
) -> Decision {
    let tree = tree();
    let configured = |text: &&str| Placed {
        rule: parse(text).unwrap_or_else(|error| panic!("{text}: {error}")),
        origin: Origin::Configured,
    };
    let placed: Vec<Placed> = rules.iter().map(configured).collect();
    let name = Name::parse(tree.schema(), dn.as_bytes()).expect("it is a DN");
    let entry = tree.entry(&name).unwrap_or_else(|| panic!("{dn}"));
    decide(&tree, &placed, who, &Query { operation, entry: &entry, item, right })
}

fn reads(rules: &[&str], who: &Requester, dn: &str, item: Item<'_>) -> bool {
    asked(rules, who, Operation::Search, dn, item, Right::Read).allowed
}

#[test]
fn the_highest_rank_decides_and_in_it_a_deny() {
    let (ann, item) = (user(ANN), Item::Attribute("cn"));
    let (low, deny, high) =
        ("a: all; users; allow=read", "b: all; users; deny=read", "c: all; users; allow=read rank=1");
    for (rules, allowed) in [
        (&[][..], false),
        (&[low], true),
        (&[low, deny], false),
        (&[deny, low], false),
        (&[low, deny, high], true),
        (&[high, deny], true),
        (&["a: all; users; allow=read deny=read"], false),
        (&["a: all; users; allow=compare"], false),
    ] {
        assert_eq!(reads(rules, &ann, BOB, item), allowed, "{rules:?}");
    }
    let decision = asked(&[low, deny, high, low], &ann, Operation::Search, BOB, item, Right::Read);
    assert_eq!(decision.reason, Reason::Rule(2));
    assert_eq!(
        decision.findings,
        [Finding::Outranked, Finding::Outranked, Finding::Decides, Finding::Outranked]
    );
    let decision = asked(&[low, deny, deny], &ann, Operation::Search, BOB, item, Right::Read);
    assert_eq!(decision.findings, [Finding::Denied, Finding::Decides, Finding::Agrees]);
    let root = Requester { is_root: true, ..user(ANN) };
    assert_eq!(asked(&[deny], &root, Operation::Search, BOB, item, Right::Read).reason, Reason::Root);
}

#[test]
fn places_and_items() {
    let ann = user(ANN);
    let (entry, cn, password) = (Item::Entry, Item::Attribute("cn"), Item::Attribute("userPassword"));
    let (time, german) = (Item::Attribute("createTimestamp"), Item::Attribute("sn;lang-de;x-a"));
    for (target, dn, item, allowed) in [
        ("all", BOB, entry, true),
        ("all", BOB, cn, true),
        ("all", BOB, password, false),
        ("all", BOB, time, false),
        ("all attrs=+", BOB, time, true),
        ("all attrs=+", BOB, Item::Attribute("pwdHistory"), false),
        ("all attrs=**", BOB, password, true),
        ("all attrs=**", BOB, entry, false),
        ("all attrs=entry", BOB, cn, false),
        ("all attrs=userPassword", BOB, password, true),
        ("all attrs=name", BOB, cn, true),
        ("all attrs=\"sn;lang-de\"", BOB, german, true),
        ("all attrs=\"sn;lang-de\"", BOB, Item::Attribute("sn"), false),
        ("all attrs=*,!name", BOB, cn, false),
        ("all attrs=*,!name", BOB, Item::Attribute("mail"), true),
        ("all attrs=@person", BOB, Item::Attribute("telephoneNumber"), true),
        ("all attrs=@person", BOB, Item::Attribute("mail"), false),
        ("all attrs=*,!@person", BOB, cn, false),
        ("base=\"ou=people,dc=x\"", BOB, cn, false),
        ("base=\"OU=People,DC=X\"", "ou=people,dc=x", cn, true),
        ("one=\"dc=x\"", "ou=people,dc=x", cn, true),
        ("one=\"dc=x\"", BOB, cn, false),
        ("subtree=\"dc=x\"", "dc=x", cn, true),
        ("children=\"dc=x\"", "dc=x", cn, false),
        ("children=\"dc=x\"", BOB, cn, true),
        ("base=\"*,ou=tenants,dc=x\"", "o=a,ou=tenants,dc=x", cn, true),
        ("children=\"*,ou=tenants,dc=x\"", "o=a,ou=tenants,dc=x", cn, false),
        ("subtree=\"*,dc=x\"", "dc=x", cn, false),
        ("all filter=\"(uid=bob)\"", BOB, cn, true),
        ("all filter=\"(uid=bob)\"", ANN, cn, false),
        ("all op=compare", BOB, cn, false),
        ("all op=compare,search", BOB, cn, true),
        ("control=1.2", BOB, cn, false),
        ("all attrs=member values=\"(member=*)\"", BOB, Item::Attribute("member"), false),
    ] {
        assert_eq!(
            reads(&[&format!("a: {target}; users; allow=read")], &ann, dn, item),
            allowed,
            "{target} {dn}"
        );
    }
    let uses = |text: &str, item| asked(&[text], &ann, Operation::Search, BOB, item, Right::Use).allowed;
    assert!(uses("a: control=1.2,1.3; users; allow=use", Item::Control("1.3")));
    assert!(!uses("a: control=1.2; users; allow=use", Item::Extended("1.2")));
    assert!(uses("a: extended=*; users; allow=use", Item::Extended("1.2")));
}

#[test]
fn subjects() {
    let bob = user(BOB);
    let near = Requester {
        strength: 128,
        tls: 128,
        peer: Address::Network("10.1.2.3".parse().unwrap()),
        listener: "inside".into(),
        auth: AuthMethod::Sasl("EXTERNAL".into()),
        ..user(BOB)
    };
    let as_ann = Requester { real: Some(BOB.into()), ..user(ANN) };
    let stranger = user("cn=stranger");
    let nobody = Requester::default();
    for (subject, who, dn, fits) in [
        ("anyone", &nobody, ANN, true),
        ("anonymous", &nobody, ANN, true),
        ("anonymous", &bob, ANN, false),
        ("users", &nobody, ANN, false),
        ("users=false", &nobody, ANN, true),
        ("dn=\"UID=Bob,ou=people,dc=x\"", &bob, ANN, true),
        ("dn-one=\"ou=people,dc=x\"", &bob, ANN, true),
        ("dn-subtree=\"dc=x\"", &stranger, ANN, false),
        ("dn-subtree=\"!dc=x\"", &stranger, ANN, true),
        ("user-filter=\"(ou=IT)\"", &bob, ANN, true),
        ("user-filter=\"(ou=IT)\"", &nobody, ANN, false),
        ("user-filter=\"!(ou=IT)\"", &stranger, ANN, false),
        ("group=\"cn=list,ou=groups,dc=x\"", &user(ANN), BOB, true),
        ("group=\"cn=list,ou=groups,dc=x\"", &bob, BOB, false),
        ("group=\"!cn=list,ou=groups,dc=x\"", &bob, BOB, true),
        // A group that is not there makes no one allowed, be it negated or not.
        ("group=\"cn=gone,dc=x\"", &bob, BOB, false),
        ("group=\"!cn=gone,dc=x\"", &bob, BOB, false),
        ("auth=simple", &bob, ANN, true),
        ("auth=EXTERNAL,none tls=128 ssf=128 peer=10.0.0.0/8 listener=inside", &near, ANN, true),
        ("tls=256", &near, ANN, false),
        ("peer=ldapi", &near, ANN, false),
        ("peer=!10.0.0.0/8", &near, ANN, false),
        ("real-dn=\"uid=bob,ou=people,dc=x\"", &as_ann, ANN, true),
        ("real-dn=\"uid=bob,ou=people,dc=x\"", &bob, ANN, true),
        ("dn=\"uid=bob,ou=people,dc=x\"", &as_ann, ANN, false),
        ("real-group=\"cn=list,ou=groups,dc=x\"", &as_ann, ANN, false),
        ("self", &bob, BOB, true),
        ("self", &bob, ANN, false),
        ("self=false", &bob, ANN, true),
        ("self", &stranger, ANN, false),
        ("parent=1", &user(ANN), "cn=phone,uid=ann,ou=people,dc=x", true),
        ("parent=2", &user(ANN), "cn=phone,uid=ann,ou=people,dc=x", false),
        ("dn-attr=manager", &bob, ANN, true),
        ("dn-attr=manager", &nobody, ANN, false),
        ("group-attr=owner", &user(ANN), BOB, true),
        ("group-attr=owner", &bob, BOB, false),
        ("same=ou", &bob, ANN, true),
        ("same=ou", &user("uid=cid,ou=people,dc=x"), ANN, false),
        ("users tls=128 | self", &bob, BOB, true),
        ("users tls=128 | self", &bob, ANN, false),
    ] {
        let rule = format!("a: all; {subject}; allow=read");
        assert_eq!(reads(&[&rule], who, dn, Item::Entry), fits, "{subject} {:?} {dn}", who.dn);
    }
}

/// What cannot be evaluated is false in an allow and true in a deny.
#[test]
fn what_cannot_be_evaluated_denies() {
    let bob = user(BOB);
    for condition in ["group=\"cn=gone,dc=x\"", "group=\"!cn=gone,dc=x\""] {
        let deny = format!("a: all; {condition}; deny=read");
        assert!(!reads(&["b: all; users; allow=read", &deny], &bob, ANN, Item::Entry), "{condition}");
        let deny = format!("a: all; {condition} anonymous; deny=read");
        assert!(reads(&["b: all; users; allow=read", &deny], &bob, ANN, Item::Entry), "{condition}");
    }
    for filter in ["(uidNumber=x)", "(!(uidNumber=x))"] {
        let rule = |effect: &str| format!("a: all filter=\"{filter}\"; users; {effect}=read");
        assert!(!reads(&[&rule("allow")], &bob, ANN, Item::Entry));
        assert!(!reads(&["b: all; users; allow=read", &rule("deny")], &bob, ANN, Item::Entry));
    }
    let rule = ["a: all filter=\"(uidNumber=x)\"; group=\"cn=gone,dc=x\"; allow=read"];
    let decision = asked(&rule, &bob, Operation::Search, ANN, Item::Entry, Right::Read);
    let failure = |key: &str, subject| Failure { key: key.into(), subject, undefined: true };
    assert_eq!(decision.findings, [Finding::Fails(vec![failure("group", Some(0)), failure("filter", None)])]);
}

/// A6: one joins and leaves a list oneself, not others; a forbidden value is judged by itself.
#[test]
fn a6_values() {
    let (ann, bob) = (user(ANN), user(BOB));
    let join =
        ["a: base=\"cn=list,ou=groups,dc=x\" attrs=member values=self op=modify; users; allow=add,delete"];
    let may = |who: &Requester, value: &str, operation| {
        asked(&join, who, operation, LIST, Item::Value("member", value.as_bytes()), Right::Add).allowed
    };
    assert!(may(&ann, "UID=ANN,ou=people,dc=x", Operation::Modify));
    assert!(!may(&ann, BOB, Operation::Modify) && !may(&bob, ANN, Operation::Modify));
    assert!(!may(&ann, ANN, Operation::Add) && !may(&Requester::default(), "", Operation::Modify));
    let rules = ["a: all; users; allow=read", "b: all attrs=ou values=\"(ou=it)\"; users; deny=read"];
    let sees = |value: &str| reads(&rules, &ann, BOB, Item::Value("ou", value.as_bytes()));
    assert!(sees("sales") && !sees("IT") && reads(&rules, &ann, BOB, Item::Attribute("ou")));
}

#[test]
fn tenants_by_a_star() {
    let rules = ["a: subtree=\"*,ou=Tenants,dc=x\"; group=\"cn=admins,$1,ou=Tenants,dc=x\"; allow=all"];
    let admin = user("uid=ra,o=a,ou=tenants,dc=x");
    assert!(reads(&rules, &admin, "uid=ra,o=a,ou=tenants,dc=x", Item::Entry));
    assert!(reads(&rules, &admin, "o=a,ou=tenants,dc=x", Item::Entry));
    assert!(!reads(&rules, &admin, "o=b,ou=tenants,dc=x", Item::Entry));
    assert!(!reads(&rules, &admin, BOB, Item::Entry));
}

/// A3: a rule decides the same wherever it stands; rules of entries reach no further up, and no rank of theirs is above others.
#[test]
fn a3_places_of_rules() {
    let tree = tree();
    let name = |dn: &str| Name::parse(tree.schema(), dn.as_bytes()).expect("it is a DN");
    let placed = |text: &str, origin| Placed { rule: parse(text).expect(text), origin };
    let of_entry = || Origin::Entry(name("ou=people,dc=x"));
    let reads = |rules: &[Placed], dn: &str| {
        let entry = tree.entry(&name(dn)).expect(dn);
        let query =
            Query { operation: Operation::Search, entry: &entry, item: Item::Entry, right: Right::Read };
        decide(&tree, rules, &user(BOB), &query).allowed
    };
    let (allow, deny) = ("a: all; users; allow=read", "b: all; users; deny=read rank=9");
    assert!(reads(&[placed(allow, of_entry())], ANN) && reads(&[placed(allow, Origin::Configured)], ANN));
    assert!(
        !reads(&[placed(allow, of_entry())], "dc=x") && reads(&[placed(allow, Origin::Configured)], "dc=x")
    );
    assert!(reads(&[placed(allow, Origin::Configured), placed(deny, of_entry())], ANN));
    assert!(!reads(&[placed(allow, Origin::BuiltIn), placed(deny, of_entry())], ANN));
    assert!(reads(&[placed(deny, Origin::BuiltIn), placed(allow, of_entry())], ANN));
}

/// A12: the keys of before as rules.
#[test]
fn a12_built_in_rules() {
    let tree = tree();
    let keys = |anonymous_read| Keys {
        suffixes: vec!["dc=x".into()],
        subschema: "cn=subschema".into(),
        monitor: "cn=Monitor".into(),
        anonymous_read,
        writers: vec![BOB.into()],
        proxies: vec!["uid=cid,ou=people,dc=x".into()],
    };
    let may = |anonymous_read, who: &Requester, item, right| {
        let rules = builtin(&keys(anonymous_read), tree.schema());
        let entry = tree.entry(&Name::parse(tree.schema(), ANN.as_bytes()).unwrap()).unwrap();
        decide(&tree, &rules, who, &Query { operation: Operation::Modify, entry: &entry, item, right })
            .allowed
    };
    let (nobody, ann, bob, cid) =
        (Requester::default(), user(ANN), user(BOB), user("uid=cid,ou=people,dc=x"));
    let (cn, password) = (Item::Attribute("cn"), Item::Attribute("userPassword"));
    assert!(may(false, &cid, cn, Right::Read) && may(false, &cid, Item::Attribute("entryCSN"), Right::Read));
    assert!(!may(false, &nobody, cn, Right::Read) && may(true, &nobody, cn, Right::Read));
    assert!(!may(true, &bob, password, Right::Read) && may(false, &nobody, password, Right::Auth));
    assert!(may(false, &ann, password, Right::Add) && !may(false, &cid, password, Right::Add));
    assert!(may(false, &bob, password, Right::Add) && may(false, &bob, cn, Right::Delete));
    assert!(may(false, &bob, Item::Entry, Right::Create) && !may(false, &bob, Item::Entry, Right::Manage));
    assert!(!may(false, &ann, cn, Right::Add) && !may(false, &ann, Item::Entry, Right::Remove));
    assert!(may(false, &cid, Item::Entry, Right::Proxy) && !may(false, &bob, Item::Entry, Right::Proxy));
    assert!(may(false, &nobody, Item::Control("1.2.3"), Right::Use));
}
