//! Ways round the rules: what a requester may not know or do must not be had by another way. Each was once open.

use super::*;
use ResultCode::{
    AliasProblem, AuthorizationDenied, InsufficientAccessRights, NoSuchAttribute, NoSuchObject, Success,
};
use model::{DerefAliases, Scope};
use proto::Request;
use proto::control::{Control, proxied_authorization, relax_rules, transaction_specification, tree_delete};
use proto::ext::{password_modify, start_transaction};
use proto::op::Modify;
use proto::op::ModifyKind::{self, Add, Delete, Replace};
use proto::op::modify::Changes;

const PEOPLE: &str = "ou=people,dc=example";
const LIST: &str = "cn=list,ou=groups,dc=example";

impl Client {
    fn found_by(&mut self, filter: &str) -> Vec<String> {
        let found = self.search("dc=example", Scope::Subtree, filter, &["1.1"]);
        assert_eq!(found.end.code, Success, "{filter}: {}", found.end.text);
        found.dns().into_iter().map(str::to_owned).collect()
    }

    pub(super) fn begin(&mut self, controls: &[Control<'_>]) -> Vec<u8> {
        let start = Request::Extended(proto::op::Extended { oid: start_transaction::OID, value: None });
        let end = self.ask(&start, controls).end;
        assert_eq!(end.code, Success, "{}", end.text);
        end.value.expect("a transaction has an identifier")
    }

    pub(super) fn modify_in(
        &mut self,
        txn: &[u8],
        dn: &str,
        changes: &[(ModifyKind, &str, &[&str])],
    ) -> Outcome {
        self.modify_with(dn, changes, &[transaction_specification::control(txn)]).end
    }

    fn submit(&mut self, request: &Request<'_>) {
        let (_, bytes) = self.encode(request, &[]);
        let mut out = Vec::new();
        let feed = self.session.feed(&mut self.worker, &bytes, &mut out);
        assert_eq!((feed.state, out.len()), (dsa::State::Waiting, 0));
    }

    fn answered(&mut self) -> Outcome {
        let (cx, mut out) = (&mut std::task::Context::from_waker(std::task::Waker::noop()), Vec::new());
        assert!(self.session.poll_updates(&mut self.worker, cx, &mut out).is_ready());
        match answers(&out).pop().expect("it is answered").what {
            What::End(end) => end,
            other => panic!("an update has one answer: {other:?}"),
        }
    }
}

/// Both decide before either is applied; the first one's update comes first to the log.
fn race(first: (&mut Client, &Request<'_>), second: (&mut Client, &Request<'_>)) -> Outcome {
    first.0.submit(first.1);
    second.0.submit(second.1);
    (first.0.commit.as_ref().expect("there is a log").borrow_mut())();
    assert_eq!(first.0.answered().code, Success);
    second.0.answered()
}

fn modify_request<T>(
    dn: &str,
    changes: &[(ModifyKind, &str, &[&str])],
    with: impl FnOnce(&Request<'_>) -> T,
) -> T {
    let changes = changes_of(changes);
    let changes = Changes::parse(&changes).expect("just encoded");
    with(&Request::Modify(Modify { dn: dn.as_bytes(), changes }))
}

/// A filter on a supertype, or on a name without options, looks at attributes with other rights than its own name has.
#[test]
fn x1_a_supertype_tells_nothing_of_a_hidden_subtype() {
    for place in ["all", "subtree=\"ou=people,dc=example\""] {
        let hides = format!("no: {place} attrs=sn; users; deny=search,compare,read");
        as_ada(&[&hides], |mut client| {
            for filter in [
                "(name=Hopper)",
                "(name=Hop*)",
                "(name:caseIgnoreMatch:=Hopper)",
                "(&(uid=grace)(name=Hopper))",
            ] {
                assert_eq!(client.found_by(filter), [""; 0], "{place} {filter}");
            }
            assert_eq!(client.found_by("(name=Grace Hopper)"), [GRACE], "{place}");
            // Nor by what is not found.
            let others = client.found_by("(&(objectClass=person)(!(name=Hopper)))");
            assert_eq!(others, client.found_by("(&(objectClass=person)(!(name=nobody)))"), "{place}");
            assert_eq!(client.found_by("(&(objectClass=person)(!(sn=nobody)))"), [""; 0], "{place}");
            assert_ne!(client.compare(GRACE, "name", "Hopper").code, ResultCode::CompareTrue, "{place}");
            assert_eq!(client.compare(GRACE, "name", "Grace Hopper").code, ResultCode::CompareTrue);
            let value = assertion("(name=Hopper)");
            let asserted = [control(proto::control::assertion::OID, &value, true)];
            assert_eq!(client.read_with(GRACE, &asserted).end.code, ResultCode::AssertionFailed, "{place}");
        });
    }
}

#[test]
fn x1_options_that_are_hidden() {
    let hides = ["no: all attrs=\"cn;lang-fr\"; users; deny=search,compare,read"];
    as_ada(&hides, |mut client| {
        for filter in ["(cn=Adelaide)", "(cn;lang-fr=*)", "(name=Adelaide)", "(:caseIgnoreMatch:=Adelaide)"] {
            assert_eq!(client.found_by(filter), [""; 0], "{filter}");
        }
        assert_eq!(client.found_by("(cn=Ada King)"), [ADA]);
        let others = client.found_by("(&(objectClass=person)(!(cn=Adelaide)))");
        assert!(others.contains(&ADA.to_owned()), "as if there were no such value");
        assert_eq!(client.compare(ADA, "cn", "Adelaide").code, ResultCode::CompareFalse);
        assert_eq!(client.compare(ADA, "cn;lang-fr", "Adelaide").code, NoSuchAttribute);
    });
    // The other way round: the name alone may not be tested, and with the option it may.
    let shows =
        ["no: all attrs=cn; users; deny=search", "fr: all attrs=\"cn;lang-fr\"; users; allow=search rank=1"];
    as_ada(&shows, |mut client| {
        assert_eq!(client.found_by("(cn;lang-fr=Adelaide)"), [ADA]);
        assert_eq!(client.found_by("(cn=Ada King)"), [""; 0]);
    });
}

/// The rest of the answer that does not fit into one slice is written for the same requester.
#[test]
fn a_search_in_the_name_of_another_goes_on_as_that_one() {
    let rules = [
        "proxy: all attrs=entry; dn=\"uid=ada,ou=people,dc=example\"; allow=proxy",
        "no: all attrs=sn; dn=\"uid=bob,ou=people,dc=example\"; deny=read",
    ];
    as_ada(&rules, |mut client| {
        add_people(&mut client.root(), 2_000);
        let as_bob = format!("dn:{BOB}");
        let as_bob = [proxied_authorization::control(as_bob.as_bytes())];
        let mut shown = |controls: &[Control<'_>]| {
            let found = client.search_with(PEOPLE, Scope::One, "(objectClass=*)", &["sn"], |_| {}, controls);
            assert_eq!(found.entries.len(), 2_003);
            found.entries.iter().filter(|(_, attributes)| !attributes.is_empty()).count()
        };
        assert_eq!(shown(&as_bob), 0);
        assert_eq!(shown(&[]), 2_003, "ada herself may read it, to the last one");
    });
}

#[test]
fn a_transaction_shows_no_hidden_base() {
    let rules = [
        "hide: base=\"uid=grace,ou=people,dc=example\" attrs=entry,**; users; deny=all",
        "no-search: base=\"uid=bob,ou=people,dc=example\" attrs=entry; users; deny=search",
    ];
    as_ada(&rules, |mut client| {
        let choices = dsa::transaction::Choices { search: true, ..Default::default() };
        client.dsa.transactions().put(&choices, client.dsa.shard().schema()).expect("they are in order");
        let txn = client.begin(&[]);
        let controls = [transaction_specification::control(&txn)];
        let mut read = |dn: &str| {
            let found = client.search_with(dn, Scope::Base, "(objectClass=*)", &["1.1"], |_| {}, &controls);
            (found.end.code, found.end.matched, found.end.text)
        };
        assert_eq!(read(GRACE), read("uid=nobody,ou=people,dc=example"));
        assert_eq!(read("cn=x,uid=grace,ou=people,dc=example").1, PEOPLE);
        assert_eq!(read(BOB).0, InsufficientAccessRights);
        assert_eq!(read(ADA).0, Success);
    });
}

/// Also the short way of updates that replace values looks at the rights of now.
#[test]
fn a_transaction_ends_with_the_rights_that_it_began_with() {
    let rules = [
        "admins: all attrs=entry,**; group=\"cn=admins,ou=groups,dc=example\"; allow=see,edit,write",
        "see: all attrs=entry,**; users; allow=disclose",
    ];
    as_ada(&rules, |mut client| {
        let (mut root, admins) = (client.root(), "cn=admins,ou=groups,dc=example");
        root.must_add(admins, &[("objectClass", &["groupOfNames"]), ("member", &[ADA, BOB])]);
        let txn = client.begin(&[]);
        assert_eq!(client.modify_in(&txn, GRACE, &[(Replace, "sn", &["one"])]).code, Success);
        root.must_modify(admins, &[(Delete, "member", &[ADA])]);
        let end = client.modify_in(&txn, GRACE, &[(Replace, "sn", &["two"])]);
        assert_eq!(end.code, InsufficientAccessRights);
    });
}

/// What a transaction looks at lacks most entries; a rule that asks for one of those is not passed over for that.
#[test]
fn a_deny_that_looks_at_the_own_entry_holds_in_a_transaction() {
    let rules = [
        "all: all attrs=description; users; allow=write",
        "not-mine: all attrs=description; dn-attr=manager; deny=write",
        "not-ours: all attrs=description; group-attr=seeAlso; deny=write",
    ];
    as_ada(&rules, |mut client| {
        let mut root = client.root();
        root.must_add(LIST, &[("objectClass", &["groupOfNames"]), ("member", &[ADA])]);
        root.must_modify(GRACE, &[(Replace, "manager", &[ADA])]);
        root.must_modify(BOB, &[(Replace, "seeAlso", &[LIST])]);
        for dn in [GRACE, BOB] {
            let change = [(Replace, "description", &["x"][..])];
            assert_eq!(client.modify(dn, &change).code, InsufficientAccessRights, "{dn}");
            let txn = client.begin(&[]);
            assert_eq!(client.modify_in(&txn, dn, &change).code, InsufficientAccessRights, "{dn}");
        }
    });
}

/// The form that portals send is worked out by an operation of its own, which asks for the same rights.
#[test]
fn the_own_password_is_changed_by_those_who_may() {
    each(&bare(&["see: all; users; allow=see"]), |mut client| {
        client.must_bind(ADA, "lace");
        let form = [(Delete, "userPassword", &["lace"][..]), (Add, "userPassword", &["new"])];
        assert_eq!(client.modify(ADA, &form).code, InsufficientAccessRights);
        assert_eq!(client.modify(ADA, &[(Replace, "userPassword", &["new"])]).code, InsufficientAccessRights);
        assert_eq!(client.bind(ADA, "new").code, ResultCode::InvalidCredentials);
    });
    let no = "no: subtree=\"ou=people,dc=example\" attrs=userPassword; self=true; deny=delete";
    as_ada(&[no], |mut client| {
        let form = [(Delete, "userPassword", &["lace"][..]), (Add, "userPassword", &["new"])];
        assert_eq!(client.modify(ADA, &form).code, InsufficientAccessRights);
    });
}

#[test]
fn who_may_change_everything_does_not_find_what_is_hidden() {
    let hide = "hide: base=\"uid=grace,ou=people,dc=example\" attrs=entry; users; deny=disclose";
    let mut config = ruled(&[hide]);
    config.settings.configured.standing.writers = vec![ADA.to_owned()];
    each(&config, |mut client| {
        client.must_bind(ADA, "lace");
        let absent = client.modify("uid=gracf,ou=people,dc=example", &[(Replace, "sn", &["x"])]);
        let hidden = client.modify(GRACE, &[(Replace, "sn", &["x"])]);
        assert_eq!((hidden.code, hidden.matched, hidden.text), (absent.code, absent.matched, absent.text));
        assert_eq!(client.delete(GRACE).code, NoSuchObject);
        // A search does not return it either, though it might read it.
        assert_eq!(client.found_by("(sn=Hopper)"), [""; 0]);
        assert_eq!(client.modify(BOB, &[(Replace, "sn", &["x"])]).code, Success);
    });
}

/// Row X3.
#[test]
fn x3_aliases_lead_to_nothing_hidden() {
    let rules = [
        "hide: subtree=\"uid=grace,ou=people,dc=example\" attrs=entry,**; users; deny=all",
        "no: base=\"cn=secret,ou=groups,dc=example\" attrs=entry,**; users; deny=all",
    ];
    as_ada(&rules, |mut client| {
        let mut root = client.root();
        let mut alias = |name: &str, to: &str| {
            let entry: Given<'_> =
                &[("objectClass", &["alias", "extensibleObject"]), ("aliasedObjectName", &[to])];
            root.must_add(&format!("cn={name},ou=groups,dc=example"), entry);
        };
        alias("hidden", GRACE);
        alias("absent", "uid=gracf,ou=people,dc=example");
        alias("secret", BOB);
        alias("chain", "cn=secret,ou=groups,dc=example");
        alias("none", "cn=nothing,ou=groups,dc=example");
        let mut ask = |base: &str, scope| {
            let deref = |search: &mut proto::op::Search<'_>| search.deref_aliases = DerefAliases::Always;
            client.search_with(base, scope, "(objectClass=*)", &["1.1"], deref, &[])
        };
        for (hidden, absent) in [("hidden", "absent"), ("chain", "none")] {
            let mut end = |name: &str| {
                let end = ask(&format!("cn={name},ou=groups,dc=example"), Scope::Base).end;
                (end.code, end.matched.replace(name, ""), end.text)
            };
            assert_eq!(end(hidden), end(absent));
            assert_eq!(end(hidden).0, AliasProblem);
        }
        assert_eq!(ask("cn=secret,ou=groups,dc=example", Scope::Base).end.code, NoSuchObject);
        // Nor does one that is hidden bring into a search what it stands for.
        let found = ask("ou=groups,dc=example", Scope::Subtree);
        assert_eq!(found.dns(), ["ou=groups,dc=example"]);
    });
}

#[test]
fn x3_referral_objects_that_may_not_be_read_are_absent() {
    let away = "ou=away,dc=example";
    let no = format!("no: base=\"{away}\" attrs=entry,**; users; deny=read");
    as_ada(&[&no], |mut client| {
        let entry: Given<'_> =
            &[("objectClass", &["referral", "extensibleObject"]), ("ref", &["ldap://secret.example/"])];
        client.root().must_add(away, entry);
        for dn in [away, "cn=x,ou=away,dc=example"] {
            let read = client.read(dn, &[]).end;
            assert_eq!((read.code, &read.matched[..]), (NoSuchObject, "dc=example"), "{dn}");
            let compared = client.compare(dn, "ou", "away");
            assert_eq!((compared.code, &compared.matched[..]), (NoSuchObject, "dc=example"), "{dn}");
            assert!(read.referral.is_empty() && compared.referral.is_empty());
        }
        let found = client.search("dc=example", Scope::Subtree, "(objectClass=*)", &["1.1"]);
        assert_eq!(found.references.len(), 0);
    });
}

/// Who may remove an entry needs the right on each one below it, too. An entry that is hidden is refused by the same words.
#[test]
fn x6_a_tree_delete_needs_the_right_on_each_entry() {
    let unit = "ou=people,dc=example";
    let rules = [
        "remove: subtree=\"ou=people,dc=example\" attrs=entry; users; allow=remove",
        "not-grace: base=\"uid=grace,ou=people,dc=example\" attrs=entry; users; deny=remove",
    ];
    let hidden =
        "hidden: base=\"uid=grace,ou=people,dc=example\" attrs=entry,**; users; deny=disclose,read,remove";
    let texts = std::cell::RefCell::new(Vec::new());
    for rules in [[rules[0], rules[1]], [rules[0], hidden]] {
        as_ada(&rules, |mut client| {
            let end = client.delete_with(unit, &[tree_delete::control(true)]).end;
            assert_eq!((end.code, &end.matched[..]), (InsufficientAccessRights, ""));
            texts.borrow_mut().push(end.text);
            assert_eq!(client.root().read(GRACE, &["1.1"]).end.code, Success);
        });
    }
    let texts = texts.into_inner();
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    as_ada(&[rules[0]], |mut client| {
        assert_eq!(client.delete_with(unit, &[tree_delete::control(true)]).end.code, Success);
        assert_eq!(client.root().read(unit, &["1.1"]).end.code, NoSuchObject);
    });
}

/// What users cannot change is changed by those alone who may manage the entry.
#[test]
fn rules_are_relaxed_for_those_who_manage_the_entry() {
    let write = "write: subtree=\"ou=people,dc=example\" attrs=entry,**; users; allow=read,add,delete,create";
    let manage = "manage: subtree=\"ou=people,dc=example\" attrs=entry,**; users; allow=manage";
    let change: &[(ModifyKind, &str, &[&str])] = &[(Replace, "createTimestamp", &["20200229120000Z"])];
    for (rules, code) in [(&[write][..], InsufficientAccessRights), (&[write, manage], Success)] {
        as_ada(rules, |mut client| {
            for critical in [true, false] {
                let end = client.modify_with(GRACE, change, &[relax_rules::control(critical)]).end;
                assert_eq!(end.code, code, "{}", end.text);
            }
            let entry: Given<'_> =
                &[("objectClass", &["person"]), ("sn", &["x"]), ("createTimestamp", &["20200229120000Z"])];
            let dn = "cn=new,ou=people,dc=example";
            let end = client.add_with(dn, entry, &[relax_rules::control(true)]).end;
            assert_eq!(end.code, code, "{}", end.text);
        });
    }
}

/// Who may act as users must not give itself, by acting as one, the rights to relax all rules.
#[test]
fn who_may_manage_is_assumed_by_the_root_dn_only() {
    let rules = [
        "proxy: all attrs=entry; dn=\"uid=ada,ou=people,dc=example\"; allow=proxy",
        "manage: all attrs=entry,**; dn=\"uid=bob,ou=people,dc=example\"; allow=manage",
    ];
    as_ada(&rules, |mut client| {
        let mut act_as = |dn: &str| {
            let name = format!("dn:{dn}");
            client.read_with(ADA, &[proxied_authorization::control(name.as_bytes())]).end.code
        };
        assert_eq!(act_as(GRACE), Success);
        assert_eq!(act_as(BOB), AuthorizationDenied);
    });
}

/// An entry gets the values of its RDN, also those that are not among its attributes.
#[test]
fn a_value_of_the_rdn_needs_its_right() {
    let rules = [
        "create: subtree=\"ou=groups,dc=example\" attrs=entry,objectClass,cn; users; allow=create,add",
        "join: subtree=\"ou=groups,dc=example\" attrs=member values=self; users; allow=add",
    ];
    as_ada(&rules, |mut client| {
        let list: Given<'_> = &[("objectClass", &["groupOfNames"]), ("cn", &["list"]), ("member", &[ADA])];
        let rdn = "member=uid\\3dgrace\\2cou\\3dpeople\\2cdc\\3dexample";
        let end = client.add(&format!("{rdn},ou=groups,dc=example"), list);
        assert_eq!(end.code, InsufficientAccessRights, "{}", end.text);
        assert_eq!(client.add(LIST, list).code, Success);
    });
}

/// Which values go is known when the update is decided, and must be the same when it is applied.
#[test]
fn a13_values_that_came_meanwhile_do_not_go() {
    let rules = ["leave: subtree=\"ou=groups,dc=example\" attrs=member values=self; users; allow=write"];
    let (mut client, _) = journaled_with(ruled(&rules));
    client.plant();
    client.must_add(LIST, &[("objectClass", &["device", "extensibleObject"]), ("member", &[ADA])]);
    let mut root = client.root();
    client.must_bind(ADA, "lace");
    let end = modify_request(LIST, &[(Add, "member", &[GRACE])], |first| {
        modify_request(LIST, &[(Delete, "member", &[])], |second| {
            race((&mut root, first), (&mut client, second))
        })
    });
    assert_eq!(end.code, InsufficientAccessRights);
    assert_eq!(root.read(LIST, &[]).values("member").map(|all| all.len()), Some(2));
    assert_eq!(
        client.modify(LIST, &[(Replace, "member", &[GRACE])]).code,
        Success,
        "when nothing comes between"
    );
}

#[test]
fn a13_a_password_is_not_set_by_one_who_was_the_manager() {
    let rules = ["boss: all attrs=userPassword; dn-attr=manager; allow=write"];
    let (mut client, _) = journaled_with(ruled(&rules));
    client.plant();
    client.must_modify(GRACE, &[(Replace, "manager", &[ADA])]);
    let mut root = client.root();
    client.must_bind(ADA, "lace");
    let user = Some(GRACE.as_bytes());
    let value = password_modify::PasswordModify { user, old: None, new: Some(b"stolen") }.encode();
    let set = Request::Extended(proto::op::Extended { oid: password_modify::OID, value: Some(&value) });
    let end = modify_request(GRACE, &[(Delete, "manager", &[])], |first| {
        race((&mut root, first), (&mut client, &set))
    });
    assert_eq!(end.code, InsufficientAccessRights);
    assert_eq!(client.bind(GRACE, "stolen").code, ResultCode::InvalidCredentials);
}

/// An entry gets another name with its superior, and is not changed by that: who it was is somebody else by then.
#[test]
fn a_requester_is_named_by_the_name_that_it_has_now() {
    let rules = ["boss: all attrs=description; dn-attr=manager; allow=write"];
    as_ada(&rules, |mut client| {
        let (mut root, device) = (client.root(), "cn=device,ou=groups,dc=example");
        root.must_add(device, &[("objectClass", &["device", "extensibleObject"]), ("manager", &[ADA])]);
        let change = [(Replace, "description", &["x"][..])];
        assert_eq!(client.modify(device, &change).code, Success);
        assert_eq!(root.rename(PEOPLE, "ou=staff", true, None).code, Success);
        assert_eq!(client.modify(device, &change).code, InsufficientAccessRights);
    });
}

#[test]
fn a5_a_group_that_moved_with_its_superior_is_no_member() {
    let rule = "desk: all attrs=description; group=\"cn=admins,dc=example\"; allow=write";
    as_ada(&[rule], |mut client| {
        let mut root = client.root();
        root.must_add(LIST, &[("objectClass", &["groupOfNames"]), ("member", &[ADA])]);
        root.must_add("cn=admins,dc=example", &[("objectClass", &["groupOfNames"]), ("member", &[LIST])]);
        let change = [(Replace, "description", &["x"][..])];
        assert_eq!(client.modify(GRACE, &change).code, Success);
        assert_eq!(root.rename("ou=groups,dc=example", "ou=old", true, None).code, Success);
        assert_eq!(client.modify(GRACE, &change).code, InsufficientAccessRights);
    });
}

#[test]
fn x10_a_transaction_is_begun_by_those_who_may() {
    as_ada(&["no: extended=1.3.6.1.1.21.1; users; deny=use"], |mut client| {
        assert_eq!(client.extended(start_transaction::OID, None).code, InsufficientAccessRights);
    });
}

/// The server adds the values of the RDN and the superclasses; a rule looks at the entry with them.
#[test]
fn an_add_is_judged_with_what_the_server_adds() {
    let rules = [
        "all: all attrs=entry,**; users; allow=all",
        "no-people: all filter=\"(objectClass=person)\" attrs=entry; users; deny=create",
        "no-secret: all filter=\"(ou=secret)\" attrs=entry; users; deny=create",
        "no-option: all filter=\"(description;lang-fr=*)\" attrs=entry; users; deny=create",
    ];
    as_ada(&rules, |mut client| {
        let person: Given<'_> = &[("objectClass", &["inetOrgPerson"]), ("cn", &["x"]), ("sn", &["x"])];
        let unit: Given<'_> = &[("objectClass", &["organizationalUnit"])];
        let french: Given<'_> = &[unit[0], ("description;lang-fr", &["x"])];
        for (dn, entry) in
            [("uid=x,dc=example", person), ("ou=secret,dc=example", unit), ("ou=french,dc=example", french)]
        {
            assert_eq!(client.add(dn, entry).code, InsufficientAccessRights, "{dn}");
        }
        assert_eq!(client.add("ou=open,dc=example", unit).code, Success);
    });
}

/// What is excluded wins, also over the same attribute with options.
#[test]
fn an_excluded_attribute_is_out_with_all_options() {
    let rules = [
        "entry: all attrs=entry; users; allow=see",
        "some: all attrs=\"!cn,cn;lang-fr,sn\"; users; allow=read",
    ];
    each(&bare(&rules), |mut client| {
        client.must_bind(ADA, "lace");
        assert_eq!(client.read(ADA, &["*"]).names(), ["sn"]);
    });
}

/// Who may change the schema does not learn which entries there are by what it may not remove.
#[test]
fn x11_entries_that_may_not_be_read_are_not_named() {
    const KIND: &str = "( 1.3.6.1.4.1.99999.1.1 NAME 'taste' SUP name )";
    const CLASS: &str = "( 1.3.6.1.4.1.99999.2.1 NAME 'taster' SUP top AUXILIARY MAY taste )";
    let rules = [
        "schema: base=\"cn=Subschema\" attrs=attributeTypes,objectClasses; users; allow=add,delete",
        "hidden: base=\"uid=grace,ou=people,dc=example\" attrs=entry,**; users; deny=disclose,read",
    ];
    as_ada(&rules, |mut client| {
        let define = [(Add, "attributeTypes", &[KIND][..]), (Add, "objectClasses", &[CLASS])];
        assert_eq!(client.modify(dsa::SUBSCHEMA_DN, &define).code, Success);
        let remove = [(Delete, "attributeTypes", &[KIND][..]), (Delete, "objectClasses", &[CLASS])];
        let tasting = [(Add, "objectClass", &["taster"][..]), (Add, "taste", &["good"])];
        assert_eq!(client.root().modify(GRACE, &tasting).code, Success);
        let end = client.modify(dsa::SUBSCHEMA_DN, &remove);
        let text = "entries use it: an entry is of the object class 'taster'";
        assert_eq!((end.code, &end.text[..]), (ResultCode::UnwillingToPerform, text));
        // Of several one that may be read.
        assert_eq!(client.root().modify(ADA, &tasting).code, Success);
        let end = client.modify(dsa::SUBSCHEMA_DN, &remove);
        assert_eq!(end.text, format!("entries use it: the entry {ADA} is of the object class 'taster'"));
        // The next client of this test has the same schema.
        assert_eq!(client.root().delete(GRACE).code, Success);
        let sober = [(Delete, "objectClass", &["taster"][..]), (Delete, "taste", &[])];
        assert_eq!(client.root().modify(ADA, &sober).code, Success);
        assert_eq!(client.modify(dsa::SUBSCHEMA_DN, &remove).code, Success);
    });
}
