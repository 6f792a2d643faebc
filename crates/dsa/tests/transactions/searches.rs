//! Searches and compares that see their own transaction, where `txn-search` is on: a test per rule.

use crate::common::*;
use crate::fixture::*;
use dsa::transaction::Choices;
use model::ResultCode::{self, *};
use model::filter::Assertion;
use model::{DerefAliases, Scope};
use proto::Request;
use proto::control::paged_results::{self, PagedResults};
use proto::control::subentries::{self, Visible};
use proto::control::{
    self as controls, Control, domain_scope, dont_use_copy, manage_dsa_it, proxied_authorization,
    transaction_specification,
};
use proto::ext::aborted_transaction;
use proto::op::Compare;
use proto::op::ModifyKind::{self, Add, Delete, Replace};

const GRACE: &str = "uid=grace,ou=people,dc=example";
const BOB: &str = "uid=bob,ou=people,dc=example";
const PEOPLE: &str = "ou=people,dc=example";
const PERSON: Given<'static> = &[("objectClass", &["inetOrgPerson"]), ("cn", &["Bob"]), ("sn", &["Bee"])];
const KING: [(ModifyKind, &str, &[&str]); 1] = [(Replace, "sn", &["King"])];

fn switch(client: &Client, choices: Choices) {
    client.dsa.transactions().put(&choices, client.dsa.shard().schema()).expect("they are in order");
}

fn switched(is_logged: bool) -> Client {
    let client = client(is_logged);
    switch(&client, Choices { search: true, ..Choices::default() });
    client
}

fn each_switched(test: impl Fn(Client)) {
    [false, true].into_iter().for_each(|is_logged| test(switched(is_logged)));
}

impl Client {
    fn search_in(
        &mut self,
        txn: &[u8],
        base: &str,
        scope: Scope,
        filter: &str,
        attributes: &[&str],
    ) -> Found {
        self.search_with(base, scope, filter, attributes, |_| {}, &[transaction_specification::control(txn)])
    }

    fn read_in(&mut self, txn: &[u8], dn: &str, attribute: &str) -> Found {
        self.search_in(txn, dn, Scope::Base, "(objectClass=*)", &[attribute])
    }

    fn compare_in(&mut self, txn: &[u8], dn: &str, attribute: &str, value: &str) -> ResultCode {
        self.compare_with(dn, attribute, value, &[transaction_specification::control(txn)]).end.code
    }

    fn found_in(&mut self, txn: &[u8], filter: &str) -> Vec<String> {
        let found = self.search_in(txn, "dc=example", Scope::Subtree, filter, &["1.1"]);
        assert_eq!(found.end.code, Success, "{}", found.end.text);
        found.dns().into_iter().map(str::to_owned).collect()
    }
}

fn one(value: &str) -> Option<Vec<String>> {
    Some(vec![value.to_owned()])
}

#[test]
fn off_there_is_no_such_control_on_a_search() {
    each(|mut client| {
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
        assert_eq!(client.read_in(&txn, ADA, "sn").end.code, UnavailableCriticalExtension);
        assert_eq!(client.compare_in(&txn, ADA, "sn", "King"), UnavailableCriticalExtension);
        let ignored = [control(transaction_specification::OID, &txn, false)];
        assert_eq!(client.read_with(ADA, &ignored).values("sn"), one("Lovelace"));
        assert_eq!(client.commit(&txn).code, Success, "what was refused did not make it fail");
    });
}

#[test]
fn it_names_an_open_transaction_of_the_session() {
    each_switched(|mut client| {
        let mut other = client.another();
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
        assert_eq!(client.read_in(b"nobody's", ADA, "sn").end.code, Canceled);
        assert_eq!(client.compare_in(b"nobody's", ADA, "sn", "King"), Canceled);
        assert_eq!(other.read_in(&txn, ADA, "sn").end.code, Canceled);
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!(client.read_in(&txn, ADA, "sn").end.code, Canceled);
    });
}

#[test]
fn the_control_is_as_on_updates() {
    let mut client = switched(false);
    let txn = client.start();
    let oid = transaction_specification::OID;
    for wrong in [
        vec![control(oid, &txn, false)],
        vec![Control { oid, critical: true, value: None }],
        vec![control(oid, &txn, true), control(oid, &txn, true)],
        vec![control(oid, &txn, true), control(proxied_authorization::OID, b"dn:", true)],
    ] {
        assert_eq!(client.read_with(ADA, &wrong).end.code, ProtocolError, "{wrong:?}");
        assert_eq!(client.compare_with(ADA, "sn", "x", &wrong).end.code, ProtocolError, "{wrong:?}");
    }
    let outside = [Control { oid: controls::non_transaction::OID, critical: true, value: None }];
    assert_eq!(client.read_with(ADA, &outside).end.code, UnavailableCriticalExtension);
}

#[test]
fn it_sees_every_kind_of_update() {
    each_switched(|mut client| {
        let mut other = client.another();
        let txn = client.start();
        assert_eq!(client.read_in(&txn, ADA, "sn").values("sn"), one("Lovelace"));
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
        assert_eq!(client.read_in(&txn, ADA, "sn").values("sn"), one("King"), "prepared");
        assert_eq!(client.found_in(&txn, "(sn=King)"), [ADA]);
        assert_eq!(client.found_in(&txn, "(sn=Lovelace)"), [""; 0]);
        assert_eq!(client.modify_in(&txn, ADA, &[(Add, "mail", &["a@l"])]).code, Success);
        assert_eq!(client.add_in(&txn, BOB, PERSON).code, Success);
        assert_eq!(client.delete_in(&txn, GRACE).code, Success);
        assert_eq!(client.found_in(&txn, "(objectClass=inetOrgPerson)"), [ADA, BOB]);
        assert_eq!(client.read_in(&txn, GRACE, "sn").end.code, NoSuchObject);
        assert_eq!(client.read_in(&txn, GRACE, "sn").end.matched, PEOPLE);
        assert_eq!(client.read_in(&txn, PEOPLE, "numSubordinates").values("numSubordinates"), one("2"));
        assert_eq!(client.rename_in(&txn, PEOPLE, "ou=men", None).code, Success);
        let (ada, bob) = ("uid=ada,ou=men,dc=example", "uid=bob,ou=men,dc=example");
        assert_eq!(client.found_in(&txn, "(objectClass=inetOrgPerson)"), [ada, bob]);
        assert_eq!(client.read_in(&txn, ADA, "sn").end.code, NoSuchObject);
        for (dn, attribute, value, code) in [
            (ada, "sn", "King", CompareTrue),
            (ada, "sn", "Lovelace", CompareFalse),
            (bob, "mail", "a@l", NoSuchAttribute),
            (ADA, "sn", "King", NoSuchObject),
            ("dc=example", "numSubordinates", "2", CompareTrue),
            ("ou=groups,dc=example", "ou", "groups", CompareTrue),
        ] {
            assert_eq!(client.compare_in(&txn, dn, attribute, value), code, "{dn} {attribute}");
        }
        for outside in [&mut client, &mut other] {
            assert_eq!(outside.value(ADA, "sn"), one("Lovelace"));
            assert_eq!(outside.read(GRACE, &[]).end.code, Success);
            assert_eq!(outside.compare(ADA, "sn", "King").code, CompareFalse);
            assert_eq!(outside.read(ada, &[]).end.code, NoSuchObject);
        }
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!(other.value(ada, "sn"), one("King"));
    });
}

#[test]
fn what_others_commit_is_seen_at_once() {
    each_switched(|mut client| {
        let mut other = client.another();
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, ADA, &[(Add, "mail", &["a@l"])]).code, Success);
        assert_eq!(other.modify(ADA, &KING).code, Success);
        assert_eq!(other.modify(PEOPLE, &[(Replace, "description", &["all"])]).code, Success);
        assert_eq!(other.modify(GRACE, &KING).code, Success);
        assert_eq!(client.found_in(&txn, "(&(sn=King)(mail=a@l))"), [ADA]);
        assert_eq!(client.found_in(&txn, "(|(sn=King)(description=all))"), [PEOPLE, ADA, GRACE]);
    });
}

#[test]
fn what_cannot_be_committed_any_more_cannot_be_seen() {
    each_switched(|mut client| {
        let mut other = client.another();
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
        let id = client.last_id();
        assert_eq!(other.delete(ADA).code, Success);
        let found = client.read_in(&txn, GRACE, "sn");
        assert_eq!(found.end.code, UnwillingToPerform);
        assert!(found.end.text.contains(&format!("message id {id} ")), "{}", found.end.text);
        assert_eq!(client.compare_in(&txn, GRACE, "sn", "Hopper"), UnwillingToPerform);
        assert_eq!(client.commit(&txn).code, NoSuchObject);
    });
}

#[test]
fn a_transaction_that_must_fail_shows_what_was_accepted() {
    each_switched(|mut client| {
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
        assert_eq!(client.modify_in(&txn, BOB, &KING).code, NoSuchObject);
        assert_eq!(client.found_in(&txn, "(sn=King)"), [ADA]);
        assert_eq!(client.commit(&txn).code, NoSuchObject);
    });
}

/// Two transactions of a session do not see each other, and searches without the control belong to none.
#[test]
fn only_the_named_one_is_seen() {
    each_switched(|mut client| {
        let (implicit_begin, implicit_membership) = (true, true);
        switch(&client, Choices { search: true, implicit_begin, implicit_membership, ..Choices::default() });
        let (first, second) = (client.start(), client.start());
        assert_eq!(client.modify_in(&first, ADA, &KING).code, Success);
        assert_eq!(client.modify(GRACE, &KING).code, Success);
        assert_eq!(client.found_in(&first, "(sn=King)"), [ADA]);
        assert_eq!(client.found_in(&second, "(sn=King)"), [GRACE]);
        assert_eq!(client.value(GRACE, "sn"), one("Hopper"));
        assert_eq!(client.settle(&second, false).code, Success);
        assert_eq!(client.settle(&first, false).code, Success);
        // A search begins no transaction.
        assert_eq!(client.read_in(b"mine", ADA, "sn").end.code, Canceled);
        assert_eq!(client.modify(GRACE, &KING).code, Success);
        assert_eq!(client.value(GRACE, "sn"), one("King"));
    });
}

#[test]
fn one_that_is_too_old_is_aborted_first() {
    let mut client = switched(false);
    switch(&client, Choices { search: true, age_max_ms: 1000, ..Choices::default() });
    let txn = client.start();
    client.now.monotonic_ns += 2_000_000_000;
    client.worker.tick(client.now);
    let selection = selection(&["sn"]);
    let filter = proto::filter_string::parse(b"(objectClass=*)").expect("a filter");
    let search = proto::Request::Search(search_for(ADA, Scope::Base, filter.filter(), &selection));
    let bytes = client.encode(&search, &[transaction_specification::control(&txn)]).1;
    let (answers, _) = client.raw(&bytes);
    assert_eq!(codes(&answers), [TimeLimitExceeded, Canceled]);
    let What::End(notice) = &answers[0].what else { panic!("{answers:?}") };
    assert_eq!(notice.oid.as_deref().map(str::as_bytes), Some(aborted_transaction::OID));
}

/// Whose updates are applied as another's is still the session that asks; and it sees no secrets.
#[test]
fn access_is_that_of_the_session() {
    use proto::ext::password_modify::{self, PasswordModify};
    each_switched(|mut client| {
        assert_eq!(client.bind(ADA, "lace").code, Success);
        let txn = client.start();
        let change = PasswordModify { user: None, old: Some(b"lace"), new: Some(b"silk") }.encode();
        let request =
            proto::Request::Extended(proto::op::Extended { oid: password_modify::OID, value: Some(&change) });
        assert_eq!(client.ask(&request, &[transaction_specification::control(&txn)]).end.code, Success);
        let found = client.search_in(&txn, ADA, Scope::Base, "(objectClass=*)", &["sn", "userPassword"]);
        assert_eq!((found.end.code, found.values("sn")), (Success, one("Lovelace")));
        assert_eq!(found.values("userPassword"), None);
        assert_eq!(client.found_in(&txn, "(userPassword=*)"), [""; 0]);
        assert_eq!(client.compare_in(&txn, ADA, "userPassword", "silk"), InsufficientAccessRights);
        assert_eq!(client.found_in(&txn, "(modifiersName=uid=ada,ou=people,dc=example)"), [ADA]);
        assert_eq!(client.commit(&txn).code, Success);
    });
}

#[test]
fn assertions_are_judged_inside() {
    each_switched(|mut client| {
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
        for (dn, filter, code) in [
            (ADA, "(sn=King)", Success),
            (ADA, "(sn=Lovelace)", AssertionFailed),
            (GRACE, "(sn=Hopper)", Success),
            (GRACE, "(sn=King)", AssertionFailed),
        ] {
            let value = assertion(filter);
            let controls =
                [transaction_specification::control(&txn), control(controls::assertion::OID, &value, true)];
            assert_eq!(client.read_with(dn, &controls).end.code, code, "{dn} {filter}");
            let compared = client.compare_with(dn, "objectClass", "person", &controls).end.code;
            assert_eq!(compared == AssertionFailed, code == AssertionFailed, "{dn} {filter}");
        }
    });
}

#[test]
fn there_are_no_pages_and_no_choice_of_subentries() {
    let mut client = switched(false);
    let txn = client.start();
    let mut value = Vec::new();
    PagedResults { size: 1, cookie: b"" }.encode(&mut value);
    let visible = Visible::Entries.encode();
    for other in [control(paged_results::OID, &value, true), subentries::control(&visible, false)] {
        let controls = [transaction_specification::control(&txn), other];
        assert_eq!(client.read_with(ADA, &controls).end.code, UnwillingToPerform, "{other:?}");
    }
    // What changes nothing of such a search is taken.
    for other in [domain_scope::control(true), dont_use_copy::control()] {
        let controls = [transaction_specification::control(&txn), other];
        assert_eq!(client.read_with(ADA, &controls).end.code, Success, "{other:?}");
    }
}

#[test]
fn limits_of_size_count_everything() {
    let mut client = switched(false);
    add_people(&mut client, 20);
    let txn = client.start();
    assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
    assert_eq!(client.add_in(&txn, BOB, PERSON).code, Success);
    for (limit, count, code) in
        [(1, 1, SizeLimitExceeded), (2, 2, SizeLimitExceeded), (21, 21, SizeLimitExceeded), (23, 23, Success)]
    {
        let controls = [transaction_specification::control(&txn)];
        let ask = |search: &mut proto::op::Search<'_>| search.size_limit = limit;
        let found = client.search_with(PEOPLE, Scope::One, "(objectClass=*)", &["1.1"], ask, &controls);
        assert_eq!((found.entries.len(), found.end.code), (count, code));
    }
}

#[test]
fn aliases_are_not_followed_and_referrals_managed() {
    let mut client = switched(false);
    let txn = client.start();
    assert_eq!(client.add_in(&txn, "cn=alias,dc=example", ALIAS_OF_ADA).code, Success);
    assert_eq!(client.found_in(&txn, "(cn=alias)"), ["cn=alias,dc=example"]);
    let named = [transaction_specification::control(&txn)];
    let follow = |search: &mut proto::op::Search<'_>| search.deref_aliases = DerefAliases::Always;
    let found = client.search_with("dc=example", Scope::Subtree, "(cn=*)", &["1.1"], follow, &named);
    assert_eq!(found.end.code, UnwillingToPerform);
    client.settle(&txn, false);
    client.must_add(
        "ou=away,dc=example",
        &[("objectClass", &["referral", "extensibleObject"]), ("ref", &["ldap://elsewhere/ou=away"])],
    );
    let txn = client.start();
    assert_eq!(client.read_in(&txn, ADA, "sn").end.code, UnwillingToPerform);
    assert_eq!(client.compare_in(&txn, ADA, "sn", "x"), UnwillingToPerform);
    let managed = [
        transaction_specification::control(&txn),
        Control { oid: manage_dsa_it::OID, critical: true, value: None },
    ];
    let found = client.search_with("dc=example", Scope::One, "(objectClass=*)", &["1.1"], |_| {}, &managed);
    assert_eq!(found.dns(), ["ou=away,dc=example", "ou=groups,dc=example", PEOPLE]);
}

/// The server's own entries are as they are.
#[test]
fn the_servers_own_entries_are_read_as_ever() {
    let mut client = switched(false);
    let txn = client.start();
    assert_eq!(
        client.read_in(&txn, "", "defaultNamingContext").values("defaultNamingContext"),
        one("dc=example")
    );
    assert_eq!(client.read_in(&txn, "cn=config", "pandoData").end.code, Success);
    assert_eq!(client.read_in(&txn, "cn=Monitor", "cn").end.code, Success);
    assert_eq!(client.compare_in(&txn, "cn=subschema", "attributeTypes", "2.5.4.3"), CompareTrue);
    assert_eq!(client.read_in(&txn, "dc=org", "dc").end.code, NoSuchObject);
    assert_eq!(client.read_in(&txn, "nonsense", "dc").end.code, InvalidDnSyntax);
}

/// An entry with a set that is too big to be copied is not looked at if the transaction changes it; otherwise it is.
#[test]
fn big_groups() {
    each_switched(|mut client| {
        let members: Vec<String> = (0..2000).map(|n| format!("uid={n},ou=people,dc=example")).collect();
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        let (group, small) = ("cn=all,ou=groups,dc=example", "cn=some,ou=groups,dc=example");
        client.must_add(group, &[("objectClass", &["groupOfNames"]), ("member", &members)]);
        client.must_add(small, &[("objectClass", &["groupOfNames"]), ("member", &members[..900])]);
        let txn = client.start();
        let joins: &[(ModifyKind, &str, &[&str])] = &[(Add, "member", &[ADA])];
        assert_eq!(client.modify_in(&txn, small, joins).code, Success);
        let found = client.read_in(&txn, small, "member");
        assert_eq!((found.end.code, found.values("member").map(|m| m.len())), (Success, Some(901)));
        assert_eq!(client.read_in(&txn, group, "member").values("member").map(|m| m.len()), Some(2000));
        assert_eq!(client.found_in(&txn, &format!("(member={ADA})")), [small]);
        assert_eq!(client.modify_in(&txn, group, joins).code, Success);
        assert_eq!(client.read_in(&txn, group, "cn").end.code, UnwillingToPerform);
        assert_eq!(client.compare_in(&txn, group, "member", ADA), UnwillingToPerform);
        let found = client.search_in(&txn, "dc=example", Scope::Subtree, "(cn=*)", &["1.1"]);
        assert_eq!((found.entries.len(), found.end.code), (0, UnwillingToPerform));
        assert_eq!(client.read_in(&txn, small, "member").end.code, Success);
        // Replaced as a whole it is a small one.
        assert_eq!(client.modify_in(&txn, group, &[(Replace, "member", &[ADA])]).code, Success);
        assert_eq!(client.read_in(&txn, group, "member").values("member"), one(ADA));
        assert_eq!(client.modify_in(&txn, small, &[(Delete, "member", &members[..900])]).code, Success);
        assert_eq!(client.found_in(&txn, &format!("(member={ADA})")), [group, small]);
        assert_eq!(client.commit(&txn).code, Success);
    });
}

#[test]
fn more_updates_than_a_search_can_see() {
    let mut client = switched(false);
    let txn = client.start();
    for _ in 0..1000 {
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
    }
    assert_eq!(client.read_in(&txn, ADA, "sn").values("sn"), one("King"));
    assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
    assert_eq!(client.read_in(&txn, GRACE, "sn").end.code, AdminLimitExceeded);
    assert_eq!(client.compare_in(&txn, GRACE, "sn", "x"), AdminLimitExceeded);
    assert_eq!(client.commit(&txn).code, Success, "the transaction did not notice");
}

/// Another entry may get the name that a moved one's superior had: by name it is where it was.
#[test]
fn an_entry_moves_to_a_new_entry_of_its_superiors_name() {
    const UNIT: Given<'static> = &[("objectClass", &["organizationalUnit"])];
    each_switched(|mut client| {
        let (a, c) = ("ou=a,dc=example", "ou=c,ou=a,dc=example");
        for dn in [a, c, "ou=d,ou=c,ou=a,dc=example", "ou=b,dc=example", "ou=e,ou=b,dc=example"] {
            client.must_add(dn, UNIT);
        }
        for (by_adding, expected) in [(true, 3), (false, 4)] {
            let txn = client.start();
            let new = if by_adding { "ou=n,dc=example" } else { "ou=b,dc=example" };
            if by_adding {
                assert_eq!(client.add_in(&txn, new, UNIT).code, Success);
            }
            assert_eq!(client.rename_in(&txn, c, "ou=c", Some(new)).code, Success);
            assert_eq!(client.delete_in(&txn, a).code, Success);
            assert_eq!(client.rename_in(&txn, new, "ou=a", None).code, Success);
            for scope in [Scope::Subtree, Scope::Subordinates] {
                let found = client.search_in(&txn, a, scope, "(objectClass=*)", &["1.1"]);
                let mut dns = found.dns();
                dns.sort_unstable();
                dns.dedup();
                let all = if scope == Scope::Subtree { expected } else { expected - 1 };
                assert_eq!((dns.len(), found.entries.len(), found.end.code), (all, all, Success), "{dns:?}");
            }
            assert_eq!(client.settle(&txn, false).code, Success);
        }
    });
}

/// Each carries the whole transaction out: between two of them it is the turn of other sessions.
#[test]
fn one_at_a_time() {
    let mut client = switched(false);
    let txn = client.start();
    assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
    let compare = Compare { dn: ADA.as_bytes(), assertion: Assertion { attribute: b"sn", value: b"King" } };
    let inside = [transaction_specification::control(&txn)];
    let asked: Vec<Vec<u8>> = (0..3).map(|_| client.encode(&Request::Compare(compare), &inside).1).collect();
    let mut out = Vec::new();
    let feed = client.session.feed(&mut client.worker, &asked.concat(), &mut out);
    assert_eq!((feed.consumed, codes(&answers(&out))), (asked[0].len(), vec![CompareTrue]));
    assert_eq!(codes(&client.raw(&asked[1..].concat()).0), [CompareTrue, CompareTrue]);
}

#[test]
fn more_entries_below_a_renamed_one_than_a_search_can_see() {
    let mut client = switched(false);
    add_people(&mut client, 998);
    let txn = client.start();
    assert_eq!(client.rename_in(&txn, PEOPLE, "ou=men", None).code, Success);
    let found = client.search_in(&txn, "ou=men,dc=example", Scope::Subtree, "(objectClass=*)", &["1.1"]);
    assert_eq!((found.entries.len(), found.end.code), (1001, Success));
    assert!(found.dns().iter().all(|dn| dn.ends_with("ou=men,dc=example")));
    client.must_add(BOB, PERSON);
    assert_eq!(client.read_in(&txn, "ou=groups,dc=example", "ou").end.code, AdminLimitExceeded);
    assert_eq!(client.commit(&txn).code, Success, "the transaction did not notice");
}

/// What is different may be more than waits for a client; not much more.
#[test]
fn long_results() {
    let mut client = switched(false);
    switch(&client, Choices { search: true, bytes_max: 8 << 20, ..Choices::default() });
    let long = "x".repeat(400_000);
    let txn = client.start();
    let people: Vec<String> = (0..12).map(|n| format!("uid=n{n},ou=people,dc=example")).collect();
    let person: Given<'_> = &[
        ("objectClass", &["person", "uidObject"]),
        ("cn", &["x"]),
        ("sn", &["y"]),
        ("description", &[&long]),
    ];
    let attributes = ["sn", "description"];
    for (at, dn) in people.iter().enumerate() {
        assert_eq!(client.add_in(&txn, dn, person).code, Success);
        let found = client.search_in(&txn, PEOPLE, Scope::One, "(objectClass=person)", &attributes);
        if at < 10 {
            assert_eq!((found.entries.len(), found.end.code), (at + 3, Success));
            let limited = |search: &mut proto::op::Search<'_>| search.size_limit = at as i32 + 1;
            let named = [transaction_specification::control(&txn)];
            let found = client.search_with(PEOPLE, Scope::One, "(sn=y)", &attributes, limited, &named);
            assert_eq!((found.entries.len(), found.end.code), (at + 1, Success));
            let limited = |search: &mut proto::op::Search<'_>| search.size_limit = at as i32;
            let found = client.search_with(PEOPLE, Scope::One, "(sn=y)", &attributes, limited, &named);
            let count = if at == 0 { 1 } else { at };
            assert_eq!((found.entries.len(), found.end.code == Success), (count, at == 0));
        } else {
            assert_eq!((found.entries.len(), found.end.code), (0, AdminLimitExceeded));
        }
    }
    assert_eq!(
        client.search_in(&txn, PEOPLE, Scope::One, "(objectClass=person)", &["1.1"]).entries.len(),
        14
    );
}

/// More results than go into one answer buffer: what is different, and what is not, in slices.
#[test]
fn many_results() {
    each_switched(|mut client| {
        add_people(&mut client, 3000);
        let long = "x".repeat(1000);
        let txn = client.start();
        for n in (0..3000).step_by(10) {
            let dn = format!("uid=n{n},ou=people,dc=example");
            assert_eq!(client.modify_in(&txn, &dn, &[(Add, "description", &[&long])]).code, Success);
        }
        let found = client.search_in(&txn, PEOPLE, Scope::One, "(sn=Number)", &["*"]);
        assert_eq!((found.entries.len(), found.end.code), (3000, Success));
        let dns: std::collections::BTreeSet<&str> = found.dns().into_iter().collect();
        assert_eq!(dns.len(), 3000);
        let has_it = |attributes: &[Attribute]| attributes.iter().any(|(name, _)| name == "description");
        assert_eq!(found.entries.iter().filter(|(_, attributes)| has_it(attributes)).count(), 300);
    });
}
