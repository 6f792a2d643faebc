use super::*;
use crate::right::{Right, Rights};
use crate::rule::{
    AttributeSelector, AuthMethod, Condition, Network, Operation, Operations, Pattern, Peer, Reach, Target,
    Test, ValueTest,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proto::filter_string::{self, FilterBuf};

const HELPDESK: &str = "helpdesk: subtree=\"ou=People,dc=example,dc=com\" filter=\"(objectClass=inetOrgPerson)\" \
     attrs=userPassword,pwdAccountLockedTime; group=\"cn=helpdesk,ou=Groups,dc=example,dc=com\" tls=128 | \
     dn=\"uid=boss,dc=example,dc=com\"; allow=write,manage rank=5";

fn again(text: &str) -> String {
    parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).to_string()
}

#[test]
fn a_rule_is_read() {
    let rule = parse(HELPDESK).unwrap();
    assert_eq!((rule.name.as_str(), rule.rank), ("helpdesk", 5));
    assert_eq!(rule.allow, Rights::WRITE | Rights::of(&[Right::Manage]));
    assert_eq!(rule.deny, Rights::NONE);
    let pattern = Pattern { each_below: false, dn: "ou=People,dc=example,dc=com".to_owned() };
    assert_eq!(rule.target.place, Place::At(Reach::Subtree, pattern));
    assert_eq!(rule.subjects.len(), 2);
    assert_eq!(rule.subjects[0].0[1], Test { condition: Condition::Tls(128), negated: false });
    assert_eq!(rule.to_string(), HELPDESK);
}

#[test]
fn what_is_printed() {
    for same in [
        "a: all; anyone; allow=read",
        "a: all attrs=entry,*,+; users | self; allow=see,add deny=delete",
        "a: base=\"\" attrs=\"**,!@person,!cn;lang-de\"; anonymous=false; allow=all rank=1000000",
        "a: subtree=\"*,ou=Tenants,dc=x\"; group=\"cn=admins,$1,ou=Tenants,dc=x\" nested=false; allow=edit",
        "a: one=\"dc=x\" attrs=member values=self; users; allow=write",
        "a: all attrs=o values=\"(!(o=a))\" op=search,sync; auth=none,simple,EXTERNAL; deny=read",
        "a: control=1.2.840.113556.1.4.319; peer=!10.0.0.0/8,2001:db8::/32,ldapi; deny=use",
        "a: extended=*; listener=inside ssf=71; allow=use",
        "a: all; real-group=\"cn=x,dc=y\" real-nested=false real-dn-subtree=\"!dc=z\"; allow=proxy",
        "a: all filter=\"(|(cn=a \"\"b\"\")(cn=\\5c))\"; dn-attr=manager parent=2 same=!ou group-attr=owner; allow=read",
        "a: all; user-filter=\"!(cn=*)\" self=false; allow=read",
    ] {
        assert_eq!(again(same), same);
    }
    assert_eq!(
        again(" a : all=true  ;\n users=false ; rank=0 allow=search,read"),
        "a: all; users=false; allow=search,read"
    );
    assert_eq!(again("a:one=dc=x;group=!\"cn=x\";deny=auth"), "a: one=\"dc=x\"; group=\"!cn=x\"; deny=auth");
    assert_eq!(
        again("a: all attrs=!cn,*;peer=10.0.0.1;deny=auth"),
        "a: all attrs=!cn,*; peer=10.0.0.1/32; deny=auth"
    );
}

#[test]
fn a_fault_says_where_and_what_would_be_right() {
    for (text, at, reason) in [
        ("", 0, "a rule is written NAME: TARGET"),
        ("all; users; allow=read", 0, "has no name"),
        ("a b: all; users; allow=read", 0, "`a b` is no name of a rule"),
        ("a: users; all; allow=read", 3, "`users` stands in the second part"),
        ("a: subtre=dc=x; users; allow=read", 3, "did you mean `subtree`?"),
        ("a: attrs=cn; users; allow=read", 2, "which entries is the rule about?"),
        ("a: base=dc=x one=dc=x; users; allow=read", 13, "one place"),
        ("a: base=x; users; allow=read", 8, "`x` is no DN"),
        ("a: base=*dc=x; users; allow=read", 8, "\"*,DN\""),
        ("a: base; users; allow=read", 3, "`base` needs a value"),
        ("a: base=; users; allow=read", 8, "an empty one is written \"\""),
        ("a: all filter=\"(cn=\"; users; allow=read", 19, "expected )"),
        ("a: all filter=(|(cn=a)); users; allow=read", 15, "stands in double quotes"),
        ("a: all attrs=cn,,sn; users; allow=read", 16, "one is empty"),
        ("a: all attrs=!cn; users; allow=read", 14, "excludes all"),
        ("a: all attrs=!*; users; allow=read", 14, "is not excluded"),
        ("a: all attrs=c_n; users; allow=read", 13, "selects no attributes"),
        ("a: all values=self; users; allow=read", 2, "attrs=NAME stands with it"),
        ("a: all attrs=*,cn values=self; users; allow=read", 2, "attrs=NAME stands with it"),
        ("a: all op=read; users; allow=read", 10, "unknown operation `read`"),
        ("a: control=x; users; allow=use", 11, "is no OID"),
        ("a: all control=1.2; users; allow=use", 2, "not about entries"),
        ("a: all; ; allow=read", 7, "whom is the rule for?"),
        ("a: all; users | ; allow=read", 15, "whom is the rule for?"),
        ("a: all; dn=\"cn=a,x\"; allow=read", 17, "is no DN"),
        ("a: all; dn=\"cn=a,$1\"; allow=read", 2, "no star"),
        ("a: all; nested=false group=dc=x; allow=read", 8, "after the `group`"),
        ("a: all; tls=aes; allow=read", 12, "not a number from 0 to 1024"),
        ("a: all; parent=0; allow=read", 15, "from 1 to"),
        ("a: all; peer=10.0.0.0/33; allow=read", 13, "nor `ldapi`"),
        ("a: all; peer=host.example; allow=read", 13, "nor `ldapi`"),
        ("a: all; auth=simple,a.b; allow=read", 20, "SASL mechanism"),
        ("a: all; self=maybe; allow=read", 13, "takes no value"),
        ("a: all; grop=dc=x; allow=read", 8, "did you mean `group`?"),
        ("a: all; users", 13, "expected `;` and what the rule does"),
        ("a: all; users; ", 14, "allow=RIGHTS"),
        ("a: all; users; allow=raed", 21, "did you mean `read`?"),
        ("a: all; users; allow=!read", 22, "means nothing"),
        ("a: all; users; allow=read allow=see", 26, "stands twice"),
        ("a: all; users; allow=read rank=1000001", 31, "not a number from 0 to 1000000"),
        ("a: all; users; allow=read;", 25, "three parts"),
        ("a: all; dn=\"cn=a; allow=read", 11, "not closed"),
        ("a: all; dn=\"cn=a\"x; allow=read", 17, "blank or `;`"),
        ("a: all; dn=!!cn=a; allow=read", 12, "one `!`"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.text.contains(reason), "{text}: {error}");
        assert_eq!(error.at, at, "{text}: {error}");
    }
}

#[test]
fn rules_of_entries() {
    let reason = |text: &str| parse_of_entry(text).map_err(|error| error.text);
    assert!(reason("a: all; users; allow=read rank=9").is_ok());
    assert!(reason("a: all; users; allow=read rank=10").unwrap_err().contains("a rank of 9 at most"));
    assert!(reason("a: control=*; users; allow=use").unwrap_err().contains("not about controls"));
}

#[test]
fn bounds() {
    let long = format!("a: all; users; allow=read{}", " ".repeat(ACCESS_RULE_BYTES_MAX));
    assert!(parse(&long).unwrap_err().text.contains("bytes at most"));
    let subjects = |n| format!("a: all; {}; allow=read", vec!["users"; n].join(" | "));
    assert!(parse(&subjects(ACCESS_SUBJECTS_MAX)).is_ok());
    assert!(parse(&subjects(ACCESS_SUBJECTS_MAX + 1)).unwrap_err().text.contains("subjects at most"));
    let tests = |n| format!("a: all; {}; allow=read", "users ".repeat(n));
    assert!(parse(&tests(model::limits::ACCESS_TESTS_MAX)).is_ok());
    assert!(
        parse(&tests(model::limits::ACCESS_TESTS_MAX + 1)).unwrap_err().text.contains("conditions at most")
    );
    let names = |n| format!("a: all attrs={}; users; allow=read", vec!["cn"; n].join(","));
    assert!(parse(&names(model::limits::ACCESS_LIST_MAX)).is_ok());
    assert!(parse(&names(model::limits::ACCESS_LIST_MAX + 1)).unwrap_err().text.contains("elements at most"));
    // Nothing here nests but filters, which have their own bound.
    assert!(parse(&format!("a: all filter=\"{}\"; users; allow=read", "(!".repeat(30_000))).is_err());
}

fn text(pattern: &'static str) -> impl Strategy<Value = String> {
    pattern.prop_map(|text| text)
}

fn dn() -> impl Strategy<Value = String> {
    vec("(cn|ou|2\\.5\\.4\\.11)=([a-z|;!]{1,4}|\"[a, ]{1,3}\"|a\\\\, b|x\\\\22y)", 0..4)
        .prop_map(|rdns| rdns.join(","))
        .prop_filter("a DN", |dn| model::dn::parse(dn.as_bytes()).is_ok())
}

fn filter() -> impl Strategy<Value = FilterBuf> {
    prop_oneof![
        "[(]cn=[a-z\" ;|!]{1,6}[)]",
        Just("(&(a=*)(!(b>=2)))".to_owned()),
        Just("(|(cn=\\2a*x*)(sn:dn:2.4.6:=y))".to_owned()),
    ]
    .prop_map(|text| filter_string::parse(text.as_bytes()).unwrap())
}

fn reach() -> impl Strategy<Value = Reach> {
    prop_oneof![Just(Reach::Base), Just(Reach::One), Just(Reach::Subtree), Just(Reach::Children)]
}

fn selector() -> impl Strategy<Value = AttributeSelector> {
    prop_oneof![
        Just(AttributeSelector::Entry),
        Just(AttributeSelector::User),
        Just(AttributeSelector::Operational),
        Just(AttributeSelector::Every),
        (text("[a-z]{1,5}(;lang-[a-z]{2})?"), any::<bool>())
            .prop_map(|(description, excluded)| AttributeSelector::Named { description, excluded })
            .prop_filter("a word of its own", |selector| selector.to_string() != "entry"),
        (text("[a-z]{1,5}"), any::<bool>())
            .prop_map(|(name, excluded)| AttributeSelector::Class { name, excluded }),
    ]
}

fn target() -> impl Strategy<Value = Target> {
    let place = prop_oneof![
        Just(Place::All),
        (reach(), any::<bool>(), dn())
            .prop_map(|(reach, each_below, dn)| { Place::At(reach, Pattern { each_below, dn }) })
    ];
    let operations = prop_oneof![
        Just(Operations::ANY),
        vec(proptest::sample::select(&Operation::WORDS[..]), 1..4)
            .prop_map(|words| Operations::of(words.into_iter().map(|(_, operation)| operation))),
    ];
    let items = prop_oneof![
        (vec(selector(), 0..4)).prop_map(|mut list| {
            // Something is selected, or all that is named would be excluded.
            list.push(AttributeSelector::User);
            (Items::Attributes(list), None)
        }),
        (text("[a-z]{1,5}"), prop_oneof![Just(ValueTest::Requester), filter().prop_map(ValueTest::Filter)])
            .prop_filter("a word of its own", |(name, _)| name != "entry")
            .prop_map(|(description, test)| {
                let named = AttributeSelector::Named { description, excluded: false };
                (Items::Attributes(vec![named]), Some(test))
            }),
    ];
    let of_entries = (place, proptest::option::of(filter()), items, operations).prop_map(
        |(place, filter, (items, values), operations)| Target { place, filter, items, values, operations },
    );
    let oids = vec(prop_oneof![text("1\\.[1-9]{1,3}"), Just("*".to_owned())], 1..4);
    let of_features = (any::<bool>(), oids).prop_map(|(is_control, oids)| Target {
        place: Place::All,
        filter: None,
        items: if is_control { Items::Controls(oids) } else { Items::Extended(oids) },
        values: None,
        operations: Operations::ANY,
    });
    prop_oneof![4 => of_entries, 1 => of_features]
}

fn condition() -> impl Strategy<Value = Condition> {
    let method = prop_oneof![
        Just(AuthMethod::None),
        Just(AuthMethod::Simple),
        text("[A-Z]{1,5}-[0-9]{1,3}").prop_map(AuthMethod::Sasl),
    ];
    let network = (any::<std::net::IpAddr>(), any::<u8>()).prop_map(|(address, prefix)| {
        let most = if address.is_ipv4() { 33 } else { 129 };
        Peer::Network(Network { address, prefix: (u16::from(prefix) % most) as u8 })
    });
    let peers = vec(prop_oneof![Just(Peer::Ldapi), network], 1..3);
    let identity = || {
        prop_oneof![
            (reach(), dn()).prop_map(|(reach, dn)| Condition::Dn(reach, dn)),
            (dn(), any::<bool>()).prop_map(|(dn, nested)| Condition::Group { dn, nested }),
        ]
    };
    prop_oneof![
        Just(Condition::Anyone),
        Just(Condition::Anonymous),
        Just(Condition::Users),
        Just(Condition::Requester),
        identity(),
        identity().prop_map(|inner| Condition::Real(Box::new(inner))),
        filter().prop_map(Condition::UserFilter),
        vec(method, 1..3).prop_map(Condition::Auth),
        (0..=1024u16).prop_map(Condition::Strength),
        (0..=1024u16).prop_map(Condition::Tls),
        peers.prop_map(Condition::Peer),
        text("[a-z \"|;=]{1,6}").prop_map(Condition::Listener),
        (1..=128u16).prop_map(Condition::Parent),
        text("[a-z]{1,5}").prop_map(Condition::DnAttribute),
        text("[a-z]{1,5}").prop_map(Condition::GroupAttribute),
        text("[a-z]{1,5}").prop_map(Condition::Same),
    ]
}

fn rights() -> impl Strategy<Value = Rights> {
    vec(proptest::sample::select(&Right::ALL[..]), 0..16).prop_map(|rights| Rights::of(&rights))
}

fn rule() -> impl Strategy<Value = Rule> {
    let test = (condition(), any::<bool>()).prop_map(|(condition, negated)| Test { condition, negated });
    let subjects = vec(vec(test, 1..4).prop_map(Subject), 1..4);
    (text("[a-z0-9.-]{1,10}"), target(), subjects, rights(), rights(), 0..=1_000_000u32)
        .prop_filter("it does something", |(_, _, _, allow, deny, _)| !(*allow | *deny).is_empty())
        .prop_map(|(name, target, subjects, allow, deny, rank)| Rule {
            name,
            target,
            subjects,
            allow,
            deny,
            rank,
        })
}

proptest! {
    #[test]
    fn what_is_printed_is_the_same_rule(rule in rule()) {
        let text = rule.to_string();
        prop_assert_eq!(parse(&text).map_err(|error| format!("{text}: {error}")), Ok(rule));
    }

    #[test]
    fn any_text_is_a_rule_or_an_error_in_it(text in "[a-z:;|=\"!,.*+@() 0-9$]{0,60}") {
        match parse(&text) {
            Ok(rule) => prop_assert_eq!(parse(&rule.to_string()), Ok(rule)),
            Err(error) => prop_assert!(error.at <= text.len(), "{}", error),
        }
    }
}
