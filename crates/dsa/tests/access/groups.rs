//! Row A5: members of groups, nested and in circles; and that a change of a group holds for open sessions at once (row A4).

use super::*;
use ResultCode::{InsufficientAccessRights, Success};
use proto::op::ModifyKind::{self, Add, Delete, Replace};

const ADMINS: &str = "cn=admins,ou=groups,dc=example";
const STAFF: &str = "cn=staff,ou=groups,dc=example";
const RULE: &str = "desk: subtree=\"ou=people,dc=example\" attrs=description; group=\"cn=admins,ou=groups,dc=example\"; allow=write";

fn may(client: &mut Client) -> bool {
    let code = client.modify(GRACE, &[(Replace, "description", &["x"])]).code;
    assert!(code == Success || code == InsufficientAccessRights, "{code:?}");
    code == Success
}

#[test]
fn a5_members_and_members_of_members() {
    as_ada(&[RULE], |mut client| {
        let mut root = client.root();
        assert!(!may(&mut client), "there is no such group");
        root.must_add(ADMINS, &[("objectClass", &["groupOfNames"]), ("member", &[BOB])]);
        assert!(!may(&mut client));
        root.must_modify(ADMINS, &[(Add, "member", &["UID=Ada,OU=people,dc=example"])]);
        assert!(may(&mut client), "at once");
        root.must_modify(ADMINS, &[(Delete, "member", &[ADA])]);
        assert!(!may(&mut client));
        // A group in a group, which is in a circle.
        root.must_add(STAFF, &[("objectClass", &["groupOfUniqueNames"]), ("uniqueMember", &[ADA, ADMINS])]);
        assert!(!may(&mut client));
        root.must_modify(ADMINS, &[(Add, "member", &[STAFF])]);
        assert!(may(&mut client));
        root.must_modify(STAFF, &[(Delete, "uniqueMember", &[ADA])]);
        assert!(!may(&mut client), "a change of the inner group");
        root.must_modify(STAFF, &[(Add, "uniqueMember", &[ADA])]);
        assert!(may(&mut client));
        assert_eq!(root.delete(ADMINS).code, Success);
        assert!(!may(&mut client), "the group is gone");
    });
}

/// A group of more members than are looked through at a change: what came and went is looked at, and comes out the same.
#[test]
fn a5_a_large_group_and_groups_in_it() {
    const TEAM: &str = "cn=team,ou=groups,dc=example";
    const SUB: &str = "cn=sub,ou=groups,dc=example";
    as_ada(&[RULE], |mut client| {
        let mut root = client.root();
        let names: Vec<String> = (0..4_200).map(|n| format!("uid=n{n},ou=people,dc=example")).collect();
        let members: Vec<&str> = names.iter().map(String::as_str).collect();
        root.must_add(ADMINS, &[("objectClass", &["groupOfNames"]), ("member", &members)]);
        assert!(!may(&mut client));
        for (dn, member) in [(TEAM, ADA), (SUB, ADA)] {
            root.must_add(dn, &[("objectClass", &["groupOfNames"]), ("member", &[member])]);
        }
        assert!(!may(&mut client), "groups that are in none");
        type Changes<'c> = &'c [(ModifyKind, &'c str, &'c [&'c str])];
        let steps: &[(&str, Changes<'_>, bool)] = &[
            (ADMINS, &[(Add, "member", &[ADA])], true),
            (ADMINS, &[(Replace, "description", &["x"])], true),
            (ADMINS, &[(Delete, "member", &[ADA])], false),
            (ADMINS, &[(Add, "member", &[BOB])], false),
            (ADMINS, &[(Add, "member", &[GRACE, TEAM]), (Delete, "member", &[BOB])], true),
            (ADMINS, &[(Delete, "member", &["uid=n7,ou=people,dc=example"])], true),
            (TEAM, &[(Replace, "member", &[BOB])], false),
            (TEAM, &[(Add, "member", &[ADA])], true),
            (TEAM, &[(Replace, "member", &[SUB])], true),
            (SUB, &[(Replace, "member", &[BOB])], false),
            (SUB, &[(Replace, "member", &[ADA])], true),
            (ADMINS, &[(Delete, "member", &[TEAM])], false),
            (ADMINS, &[(Add, "member", &[SUB])], true),
            (ADMINS, &[(Delete, "member", &[]), (Add, "member", &[BOB, TEAM])], true),
            (ADMINS, &[(Replace, "member", &members)], false),
            (ADMINS, &[(Add, "member", &["CN=team, ou=groups,dc=example"])], true),
        ];
        for (step, (dn, changes, expected)) in steps.iter().enumerate() {
            root.must_modify(dn, changes);
            assert_eq!(may(&mut client), *expected, "step {step}");
        }
        assert_eq!(root.delete(SUB).code, Success);
        assert!(!may(&mut client));
    });
}

#[test]
fn a5_only_direct_members() {
    as_ada(&[&RULE.replace("; allow", " nested=false; allow")], |mut client| {
        let mut root = client.root();
        root.must_add(STAFF, &[("objectClass", &["groupOfNames"]), ("member", &[ADA])]);
        root.must_add(ADMINS, &[("objectClass", &["groupOfNames"]), ("member", &[STAFF])]);
        assert!(!may(&mut client));
        root.must_modify(ADMINS, &[(Add, "member", &[ADA])]);
        assert!(may(&mut client));
    });
}

#[test]
fn a5_posix_groups_have_members_by_uid() {
    as_ada(&[RULE], |mut client| {
        let mut root = client.root();
        let group: Given<'_> =
            &[("objectClass", &["posixGroup"]), ("gidNumber", &["7"]), ("memberUid", &["bob"])];
        root.must_add(ADMINS, group);
        assert!(!may(&mut client));
        root.must_modify(ADMINS, &[(Add, "memberUid", &["ada"])]);
        assert!(may(&mut client));
    });
}

#[test]
fn a5_dynamic_groups_have_those_that_a_search_finds() {
    as_ada(&[RULE], |mut client| {
        let mut root = client.root();
        let url = "ldap:///ou=people,dc=example??sub?(title=boss)";
        root.must_add(ADMINS, &[("objectClass", &["groupOfURLs"]), ("memberURL", &[url])]);
        assert!(!may(&mut client));
        root.must_modify(ADA, &[(Replace, "title", &["boss"])]);
        assert!(may(&mut client), "a change of the own entry");
        root.must_modify(
            ADMINS,
            &[(Replace, "memberURL", &["ldap:///ou=groups,dc=example??sub?(title=boss)"])],
        );
        assert!(!may(&mut client), "a change of the search");
    });
}

/// A member of each kind of group is a member first, and then is removed: the open session has the right no more.
#[test]
fn a5_who_is_removed_loses_the_right() {
    let url = "ldap:///ou=people,dc=example??sub?(uid=ada)";
    let kinds: [(Given<'_>, &str, &[&str]); 5] = [
        (&[("objectClass", &["groupOfNames"]), ("member", &[ADA, BOB])], "member", &[ADA]),
        (&[("objectClass", &["groupOfUniqueNames"]), ("uniqueMember", &[ADA, BOB])], "uniqueMember", &[ADA]),
        (
            &[("objectClass", &["posixGroup"]), ("gidNumber", &["7"]), ("memberUid", &["ada"])],
            "memberUid",
            &["ada"],
        ),
        (&[("objectClass", &["groupOfURLs"]), ("memberURL", &[url])], "memberURL", &[url]),
        (&[("objectClass", &["groupOfNames"]), ("member", &[STAFF, BOB])], "member", &[STAFF]),
    ];
    for (group, attribute, removed) in kinds {
        as_ada(&[RULE], |mut client| {
            let mut root = client.root();
            root.must_add(STAFF, &[("objectClass", &["groupOfNames"]), ("member", &[ADA])]);
            root.must_add(ADMINS, group);
            assert!(may(&mut client), "{attribute}: {removed:?}");
            root.must_modify(ADMINS, &[(Delete, attribute, removed)]);
            assert!(!may(&mut client), "{attribute}: {removed:?}");
        });
    }
}

/// A member that a search finds is none when its own entry has changed, or when it has bound by another name. A session is who has bound, so a rename
/// alone changes nothing for it.
#[test]
fn a5_who_is_found_no_more_loses_the_right() {
    as_ada(&[RULE], |mut client| {
        let mut root = client.root();
        root.must_modify(ADA, &[(Replace, "title", &["boss"])]);
        let urls = ["ldap:///ou=people,dc=example??one?(title=boss)"];
        root.must_add(ADMINS, &[("objectClass", &["groupOfURLs"]), ("memberURL", &urls)]);
        assert!(may(&mut client));
        root.must_modify(ADA, &[(Delete, "title", &["boss"])]);
        assert!(!may(&mut client), "what the search looks for is gone");
        root.must_modify(ADA, &[(Replace, "title", &["Boss"])]);
        assert!(may(&mut client));
        assert_eq!(root.rename(ADA, "uid=ada", false, Some("ou=groups,dc=example")).code, Success);
        assert!(may(&mut client));
        client.must_bind("uid=ada,ou=groups,dc=example", "lace");
        assert!(!may(&mut client), "it is where the search does not look");
    });
}

#[test]
fn a_group_that_is_gone_denies() {
    let rules = ["no: all attrs=mail; group=\"cn=gone,ou=groups,dc=example\"; deny=read"];
    as_ada(&rules, |mut client| {
        assert!(
            client.read(GRACE, &["mail"]).values("mail").is_none(),
            "what cannot be decided counts for a deny"
        );
    });
}

#[test]
fn a_filter_on_the_own_entry_follows_it() {
    let rules = ["bosses: all attrs=mail; user-filter=\"(title=boss)\"; allow=write"];
    as_ada(&rules, |mut client| {
        let mut root = client.root();
        let change = [(Replace, "mail", &["x@y"][..])];
        assert_eq!(client.modify(GRACE, &change).code, InsufficientAccessRights);
        root.must_modify(ADA, &[(Replace, "title", &["boss"])]);
        assert_eq!(client.modify(GRACE, &change).code, Success);
    });
}

/// People, and what `more` adds, in a directory with an index on `uid`, which nobody of the staff may read. Ada is bound, and a second client is the root DN.
fn people_in_order(count: usize, more: impl FnOnce(&mut Client)) -> (Client, Client) {
    let mut config = ruled(&["no: all attrs=uid; group=\"cn=staff,ou=groups,dc=example\"; deny=read"]);
    config.store.indexes.push(store::IndexSettings::of("uid", [store::IndexKind::Ordering]));
    let mut client = Client::with(config);
    add_people(&mut client, count);
    more(&mut client);
    client.must_add(STAFF, &[("objectClass", &["groupOfNames"]), ("member", &["cn=nobody"])]);
    client.must_bind(ADA, "lace");
    let root = client.root();
    (client, root)
}

/// A search of these people by `uid` that has made some steps.
struct Begun {
    id: i32,
    state: dsa::State,
    out: Vec<u8>,
}

impl Begun {
    fn new(client: &mut Client, filter: &[u8], size_limit: i32, steps: usize) -> Begun {
        use proto::control::sort::{self, SortKey};
        let by = sort::encode(&[SortKey { attribute: b"uid", ordering_rule: None, reverse: false }]);
        let filter = proto::filter_string::parse(filter).expect("a filter");
        let none = selection(&["1.1"]);
        let mut search = search_for("ou=people,dc=example", model::Scope::One, filter.filter(), &none);
        search.size_limit = size_limit;
        let (id, bytes) = client.encode(&proto::Request::Search(search), &[sort::control(&by, true)]);
        let mut out = Vec::new();
        let mut state = client.session.feed(&mut client.worker, &bytes, &mut out).state;
        for _ in 0..steps {
            if state == dsa::State::Busy {
                state = client.session.step(&mut client.worker, &mut out);
            }
        }
        Begun { id, state, out }
    }

    fn is_over(&self) -> bool {
        self.state != dsa::State::Busy
    }

    /// Goes on to its end, while Ada is of the staff.
    fn finish(mut self, client: &mut Client, root: &mut Client) -> Found {
        root.must_modify(STAFF, &[(Add, "member", &[ADA])]);
        while !self.is_over() {
            self.state = client.session.step(&mut client.worker, &mut self.out);
        }
        root.must_modify(STAFF, &[(Delete, "member", &[ADA])]);
        found(self.id, answers(&self.out))
    }
}

/// Where an entry is in the order of an index hangs on rights. If they change before one was returned, all begins anew; later the search ends. No
/// entry comes twice.
#[test]
fn a4_rights_change_within_a_sorted_search_by_an_index() {
    let (mut client, mut root) = people_in_order(3000, |_| ());
    let mut ends = Vec::new();
    for steps in 0.. {
        // A third of the list comes first and does not match, so that a search has looked at entries before it returns one.
        let begun = Begun::new(&mut client, b"(&(sn=Number)(!(|(uid=n0)(uid=n1*))))", 700, steps);
        let (is_over, has_returned) = (begun.is_over(), !begun.out.is_empty());
        let found = begun.finish(&mut client, &mut root);
        let all: std::collections::BTreeSet<&str> = found.dns().into_iter().collect();
        assert_eq!(all.len(), found.entries.len(), "after {steps} steps");
        let third = found.entries[2].0.split(',').next();
        match (is_over, has_returned) {
            // In the order of ids, for no name may be read, and of names.
            (false, false) => assert_eq!((all.len(), third), (700, Some("uid=n4"))),
            (false, true) => assert_eq!((found.end.code, third), (ResultCode::Busy, Some("uid=n200"))),
            (true, _) => assert_eq!((all.len(), found.end.code), (700, ResultCode::SizeLimitExceeded)),
        }
        ends.push(found.end.code);
        if is_over {
            break;
        }
    }
    assert!(ends.first() != ends.iter().rev().nth(1), "{ends:?}");
}

/// References come before entries. Who loses the right to read the values of the order meanwhile is sent no entry in that order.
#[test]
fn a4_rights_change_before_the_first_entry_of_a_sorted_search() {
    let (mut client, mut root) = people_in_order(300, |client| {
        for n in 0..2000 {
            let (dn, url) = (format!("cn=r{n},ou=people,dc=example"), format!("ldap://h{n}/dc=x"));
            client.must_add(&dn, &[("objectClass", &["referral", "extensibleObject"]), ("ref", &[&url])]);
        }
    });
    let mut before_the_first = 0;
    for steps in 0.. {
        let begun = Begun::new(&mut client, b"(sn=Number)", 20, steps);
        if begun.is_over() || begun.out.windows(6).any(|bytes| bytes == b"uid=n1") {
            break;
        }
        before_the_first += 1;
        let found = begun.finish(&mut client, &mut root);
        // In the order of ids: by names the third would be `uid=n10`.
        let third = found.entries[2].0.split(',').next();
        assert_eq!(
            (third, found.end.code),
            (Some("uid=n2"), ResultCode::SizeLimitExceeded),
            "after {steps} steps"
        );
    }
    assert!(before_the_first > 0);
}
