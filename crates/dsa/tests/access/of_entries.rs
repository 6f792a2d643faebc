//! Rules that entries have (`pandoAccess`): they are about the entry and what is below it, rank below those of the configuration and above the
//! built-in ones, and hold for what begins after the answer to their change.

use super::*;
use ResultCode::{ConstraintViolation, InsufficientAccessRights, NoSuchObject, Success};
use model::Scope;
use proto::op::ModifyKind::{Add, Delete, Replace};

const PEOPLE: &str = "ou=people,dc=example";
const GROUPS: &str = "ou=groups,dc=example";
const RULE: &str = "pandoAccess";
/// All its names. Of its OIDs one is the UUID that it is defined by, and the other what clients are shown.
const NAMES: [&str; 4] = [
    RULE,
    "PANDOACCESS",
    "2.25.151871961327116869166242629268835769586",
    "1.2.840.113556.1.8000.2554.29249.31182.15938.17149.44576.11435425.630002",
];

impl Client {
    fn phones(&mut self, dn: &str, value: &str) -> ResultCode {
        self.modify(dn, &[(Replace, "telephoneNumber", &[value])]).code
    }
}

/// A3: they reach no further up, no further to the side, and no rank above.
#[test]
fn a3_rules_of_entries_are_about_what_is_below_them() {
    let configured = ["no: base=\"uid=bob,ou=people,dc=example\" attrs=telephoneNumber; users; deny=write"];
    as_ada(&configured, |mut ada| {
        let mut root = ada.root();
        assert_eq!(ada.phones(GRACE, "1"), InsufficientAccessRights);
        // Also where it says that it is about everything.
        for place in ["all", "subtree=\"dc=example\""] {
            let rule =
                format!("phones: {place} attrs=telephoneNumber,description; users; allow=write rank=9");
            root.must_modify(PEOPLE, &[(Replace, RULE, &[&rule])]);
            assert_eq!(ada.phones(GRACE, "1"), Success, "{place}");
            assert_eq!(ada.phones(PEOPLE, "1"), Success, "the entry itself");
            assert_eq!(ada.phones(BOB, "1"), InsufficientAccessRights, "the configuration is above it");
            for other in ["dc=example", GROUPS] {
                assert_eq!(ada.phones(other, "1"), InsufficientAccessRights, "{place} {other}");
            }
        }
        // Above what is built in: users see all, but not what a rule of an entry denies.
        root.must_modify(PEOPLE, &[(Add, RULE, &["hide: all attrs=sn; users; deny=see"])]);
        assert_eq!(ada.search("dc=example", Scope::Subtree, "(sn=Hopper)", &["1.1"]).dns(), [""; 0]);
        assert_eq!(ada.search("dc=example", Scope::Subtree, "(cn=Grace Hopper)", &["sn"]).names(), [""; 0]);
        // Gone with the rule, and moved with the entry.
        root.must_modify(PEOPLE, &[(Delete, RULE, &["hide: all attrs=sn; users; deny=see"])]);
        assert_eq!(ada.search("dc=example", Scope::Subtree, "(sn=Hopper)", &["1.1"]).dns(), [GRACE]);
        assert_eq!(root.rename(PEOPLE, "ou=staff", true, None).code, Success);
        let moved = "uid=grace,ou=staff,dc=example";
        assert_eq!((ada.phones(moved, "2"), ada.phones(GROUPS, "2")), (Success, InsufficientAccessRights));
        assert_eq!(root.rename(moved, "uid=grace", true, Some(GROUPS)).code, Success);
        assert_eq!(ada.phones("uid=grace,ou=groups,dc=example", "3"), InsufficientAccessRights);
        root.must_modify("ou=staff,dc=example", &[(Delete, RULE, &[])]);
        assert_eq!(ada.phones("ou=staff,dc=example", "3"), InsufficientAccessRights);
    });
}

/// An entry that is deleted takes its rules with it; one that is added brings them.
#[test]
fn a3_rules_come_and_go_with_their_entry() {
    as_ada(&[], |mut ada| {
        let mut root = ada.root();
        let unit = "ou=tenant,dc=example";
        let with_rule: Given<'_> = &[
            ("objectClass", &["organizationalUnit"]),
            (
                RULE,
                &[
                    "t: all; dn=\"uid=ada,ou=people,dc=example\"; allow=edit",
                    "w: all attrs=** ; users; allow=write",
                ],
            ),
        ];
        for _ in 0..2 {
            root.must_add(unit, with_rule);
            let below = "ou=a,ou=tenant,dc=example";
            ada.must_add(below, &[("objectClass", &["organizationalUnit"])]);
            assert_eq!((ada.phones(below, "1"), ada.delete(below).code), (Success, Success));
            assert_eq!(root.delete(unit).code, Success);
            let again = ada.add(unit, &[("objectClass", &["organizationalUnit"])]);
            assert_eq!(again.code, InsufficientAccessRights);
        }
    });
}

/// A3: one rule decides the same in `pandoAccess` and in the configuration, where it is about the same entries.
#[test]
fn a3_one_rule_decides_the_same_in_both_places() {
    let rule = "r: subtree=\"ou=people,dc=example\" filter=(sn=Hopper) attrs=entry,sn,cn,mail; users; deny=read,search";
    let seen = |client: &mut Client| {
        let filters = ["(objectClass=*)", "(sn=Hopper)", "(cn=*)", "(mail=*)", "(!(mail=g@h))"];
        filters.map(|filter| {
            let found = client.search("dc=example", Scope::Subtree, filter, &["*"]);
            found.entries.iter().map(|entry| format!("{entry:?}")).collect::<Vec<_>>()
        })
    };
    let expected = std::cell::RefCell::new(Vec::new());
    as_ada(&[rule], |mut ada| expected.borrow_mut().push(seen(&mut ada)));
    as_ada(&[], |mut ada| {
        let free = seen(&mut ada);
        ada.root().must_modify(PEOPLE, &[(Replace, RULE, &[rule])]);
        let ruled = seen(&mut ada);
        assert!(expected.borrow().iter().all(|expected| *expected == ruled) && ruled != free);
    });
}

/// X7: who may change all of an entry gives no rights by it, in an add neither, nor in a transaction.
#[test]
fn x7_rules_are_written_by_those_who_manage() {
    let all = "all: all attrs=entry,**; dn=\"uid=ada,ou=people,dc=example\"; allow=see,edit,write";
    let mine = "mine: all attrs=entry,**; users; allow=all,manage";
    let manages = "boss: subtree=\"ou=groups,dc=example\" attrs=pandoAccess; users; allow=manage rank=1";
    let places = [all.to_owned(), all.replace(": all attrs", ": subtree=\"dc=example\" attrs")];
    for all in &places {
        as_ada(&[all, manages], |mut ada| {
            let entry: Given<'_> = &[("objectClass", &["organizationalUnit"]), (RULE, &[mine])];
            for name in NAMES {
                for kind in [Add, Replace, Delete] {
                    assert_eq!(
                        ada.modify(PEOPLE, &[(kind, name, &[mine])]).code,
                        InsufficientAccessRights,
                        "{kind:?}"
                    );
                }
            }
            let added = ada.add("ou=x,ou=people,dc=example", entry);
            assert_eq!(added.code, InsufficientAccessRights);
            assert!(added.text.contains("manage on pandoAccess"), "{}", added.text);
            assert_eq!(ada.phones(PEOPLE, "1"), Success, "all else may be changed");
            // Who may manage it where it is.
            ada.must_modify(GROUPS, &[(Add, RULE, &[mine])]);
            ada.must_add("ou=x,ou=groups,dc=example", entry);
        });
    }
}

/// Who gives others the right to manage in its part of the tree makes no password administrator of them elsewhere.
#[test]
fn x7_manage_in_one_place_sets_no_password_in_another() {
    as_ada(&["add: all attrs=entry,**; users; allow=create,write"], |mut ada| {
        let mut root = ada.root();
        let short: Given<'_> =
            &[("objectClass", &["account", "simpleSecurityObject"]), ("userPassword", &["x"])];
        let policy: Given<'_> = &[
            ("objectClass", &["device", "pwdPolicy"]),
            ("pwdAttribute", &["userPassword"]),
            ("pwdMinLength", &["8"]),
            ("pwdCheckQuality", &["2"]),
        ];
        root.must_add("cn=policy,dc=example", policy);
        root.must_modify("cn=config", &[(Replace, "pandoPasswordsDefaultPolicy", &["cn=policy,dc=example"])]);
        assert_eq!(ada.add("uid=a,ou=people,dc=example", short).code, ConstraintViolation);
        root.must_modify(GROUPS, &[(Add, RULE, &["boss: all attrs=entry,**; anyone; allow=manage"])]);
        assert_eq!(ada.add("uid=a,ou=people,dc=example", short).code, ConstraintViolation);
        // Nor is a name made of rules, by anybody.
        assert_ne!(ada.rename(GRACE, "pandoAccess=r: all; users; allow=see", false, None).code, Success);
    });
}

/// A rule that is none is refused with its fault, also of the root DN, and changes nothing.
#[test]
fn a3_what_is_no_rule_is_refused() {
    as_ada(&[], |mut ada| {
        let mut root = ada.root();
        let long = format!("r: all filter=(cn={}); users; allow=see", "x".repeat(70_000));
        for (rule, text) in [
            ("r: all; users; allow=raed", "did you mean `read`?"),
            ("r: all attrs=telefon; users; allow=see", "there is no attribute `telefon`"),
            ("r: all; users; allow=see rank=10", "a rank of 9 at most"),
            ("r: control=1.2.3; users; allow=use", "not about controls"),
            ("r: subtree=\"x\"; users; allow=see", "`x` is no DN"),
            (&long, "bytes at most"),
        ] {
            let entry: Given<'_> = &[("objectClass", &["organizationalUnit"]), (RULE, &[rule])];
            let good = "g: all attrs=telephoneNumber; users; allow=write";
            for name in NAMES {
                assert_eq!(
                    root.modify(PEOPLE, &[(Replace, name, &[rule])]).code,
                    ConstraintViolation,
                    "{name}"
                );
            }
            for end in [
                root.modify(PEOPLE, &[(Replace, RULE, &[rule])]),
                root.modify(PEOPLE, &[(Add, RULE, &[good, rule])]),
                root.add("ou=x,dc=example", entry),
            ] {
                assert_eq!(end.code, ConstraintViolation, "{rule:.60}");
                assert!(end.text.contains(text), "{rule:.60}: {}", end.text);
            }
            assert_eq!(ada.phones(GRACE, "1"), InsufficientAccessRights);
            assert_eq!(root.read("ou=x,dc=example", &["1.1"]).end.code, NoSuchObject);
        }
        let twice = ["a: all; users; allow=see", "a: all; anyone; allow=see"];
        let end = root.modify(PEOPLE, &[(Replace, RULE, &twice)]);
        assert_eq!(end.code, ConstraintViolation);
        let end = root.modify(PEOPLE, &[(Replace, "pandoAccess;lang-de", &twice[..1])]);
        assert_eq!(end.code, ConstraintViolation);
        // As many as there may be, and no more.
        let many: Vec<String> = (0..=1024).map(|n| format!("r{n}: all; users; allow=see")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(root.modify(PEOPLE, &[(Replace, RULE, &many)]).code, ResultCode::AdminLimitExceeded);
        root.must_modify(PEOPLE, &[(Replace, RULE, &many[..1024])]);
        assert_eq!(root.modify(GROUPS, &[(Add, RULE, &many[..1])]).code, ResultCode::AdminLimitExceeded);
        root.must_modify(PEOPLE, &[(Delete, RULE, &many[..1])]);
        root.must_modify(GROUPS, &[(Add, RULE, &many[..1])]);
    });
}

/// Groups and the requester's own entry are asked for rules of entries as for others, and changes of them hold at once.
#[test]
fn a4_groups_in_rules_of_entries() {
    as_ada(&[], |mut ada| {
        let mut root = ada.root();
        let group: Given<'_> = &[("objectClass", &["groupOfNames"]), ("member", &[BOB])];
        root.must_add("cn=phones,ou=groups,dc=example", group);
        let rule = "p: all attrs=telephoneNumber; group=\"cn=phones,ou=groups,dc=example\"; allow=write";
        root.must_modify(PEOPLE, &[(Replace, RULE, &[rule])]);
        assert_eq!(ada.phones(GRACE, "1"), InsufficientAccessRights);
        root.must_modify("cn=phones,ou=groups,dc=example", &[(Add, "member", &[ADA])]);
        assert_eq!(ada.phones(GRACE, "1"), Success);
        root.must_modify("cn=phones,ou=groups,dc=example", &[(Delete, "member", &[ADA])]);
        assert_eq!(ada.phones(GRACE, "1"), InsufficientAccessRights);
    });
}
