//! Rules that depend on the entry: the requester's own, filters, attributes that name the requester. What an update's right hung on is judged once more
//! when it is applied (row A13).

use super::*;
use ResultCode::{InsufficientAccessRights, Success};
use model::Scope;
use proto::op::ModifyKind::{Add, Delete, Replace};

#[test]
fn oneself() {
    as_ada(&["self: all attrs=telephoneNumber,mobile; self=true; allow=write"], |mut client| {
        assert_eq!(client.modify(ADA, &[(Replace, "mobile", &["1"])]).code, Success);
        assert_eq!(client.modify(GRACE, &[(Replace, "mobile", &["1"])]).code, InsufficientAccessRights);
        // Row X9: one that gets the name later is another entry.
        let mut root = client.root();
        assert_eq!(root.delete(ADA).code, Success);
        root.must_add(ADA, &[("objectClass", &["inetOrgPerson"]), ("cn", &["A"]), ("sn", &["B"])]);
        assert_eq!(client.modify(ADA, &[(Replace, "mobile", &["1"])]).code, InsufficientAccessRights);
    });
}

#[test]
fn filters_decide_by_what_the_entry_is() {
    let rules = [
        "hidden: all filter=\"(title=secret)\" attrs=entry,**; users; deny=all",
        "bosses: all filter=\"(title=boss)\" attrs=mail; users; deny=read,search",
        "open: all filter=\"(objectClass=inetOrgPerson)\" attrs=description; users; allow=write",
    ];
    as_ada(&rules, |mut client| {
        let mut root = client.root();
        let mails = |client: &mut Client| {
            client.search("dc=example", Scope::Subtree, "(mail=*)", &["mail"]).dns().len()
        };
        assert_eq!(mails(&mut client), 2);
        root.must_modify(GRACE, &[(Replace, "title", &["boss"])]);
        assert_eq!(mails(&mut client), 1, "the mail of a boss is not found");
        let others = client.search("dc=example", Scope::Subtree, "(!(mail=x@y))", &["1.1"]);
        assert!(others.dns().contains(&BOB) && !others.dns().contains(&GRACE), "nor that it is another one");
        let all = client.search("dc=example", Scope::Subtree, "(sn=*)", &["*"]);
        assert_eq!(all.entries.len(), 3);
        assert_eq!(client.read(GRACE, &["mail"]).values("mail"), None);
        root.must_modify(GRACE, &[(Replace, "title", &["secret"])]);
        assert_eq!(client.search("dc=example", Scope::Subtree, "(sn=*)", &["*"]).entries.len(), 2);
        assert_eq!(client.modify(GRACE, &[(Replace, "description", &["x"])]).code, ResultCode::NoSuchObject);
        assert_eq!(client.modify(BOB, &[(Replace, "description", &["x"])]).code, Success);
        assert_eq!(
            client.modify("ou=people,dc=example", &[(Replace, "description", &["x"])]).code,
            InsufficientAccessRights
        );
    });
}

#[test]
fn attributes_that_name_the_requester() {
    let rules = [
        "boss: all attrs=description; dn-attr=manager; allow=write",
        "unit: all attrs=mobile; same=ou; allow=write",
        "desk: all attrs=telephoneNumber; group-attr=seeAlso; allow=write",
    ];
    as_ada(&rules, |mut client| {
        let mut root = client.root();
        let tries = |client: &mut Client| {
            ["description", "mobile", "telephoneNumber"]
                .map(|name| client.modify(GRACE, &[(Replace, name, &["1"])]).code == Success)
        };
        assert_eq!(tries(&mut client), [false; 3]);
        root.must_modify(GRACE, &[(Replace, "manager", &["UID=Ada,ou=People,dc=example"])]);
        assert_eq!(tries(&mut client), [true, false, false]);
        root.must_modify(GRACE, &[(Replace, "ou", &["Navy", "Fleet"])]);
        root.must_modify(ADA, &[(Replace, "ou", &["navy"])]);
        assert_eq!(tries(&mut client), [true, true, false]);
        let group = "cn=desk,ou=groups,dc=example";
        root.must_add(group, &[("objectClass", &["groupOfNames"]), ("member", &[ADA])]);
        root.must_modify(GRACE, &[(Replace, "seeAlso", &[BOB, group]), (Delete, "manager", &[])]);
        assert_eq!(tries(&mut client), [false, true, true]);
        root.must_modify(group, &[(Add, "member", &[BOB]), (Delete, "member", &[ADA])]);
        assert_eq!(tries(&mut client), [false, true, false]);
    });
}

#[test]
fn an_add_is_judged_by_the_entry_as_it_would_be() {
    let rules = [
        "devices: subtree=\"ou=groups,dc=example\" filter=\"(&(objectClass=device)(l=bonn))\" attrs=entry,*; users; allow=create,add",
    ];
    as_ada(&rules, |mut client| {
        let device = |place: &'static str| -> [(&str, &[&str]); 2] {
            [("objectClass", &["device"]), ("l", if place == "Bonn" { &["Bonn"] } else { &["Ulm"] })]
        };
        assert_eq!(client.add("cn=a,ou=groups,dc=example", &device("Bonn")).code, Success);
        assert_eq!(client.add("cn=b,ou=groups,dc=example", &device("Ulm")).code, InsufficientAccessRights);
        assert_eq!(client.add("cn=c,ou=people,dc=example", &device("Bonn")).code, InsufficientAccessRights);
    });
}

#[test]
fn a_superior_that_is_the_requester() {
    as_ada(
        &["mine: children=\"ou=people,dc=example\" attrs=entry,*; parent=1; allow=create,add,remove"],
        |mut client| {
            let device: Given<'_> = &[("objectClass", &["device"])];
            assert_eq!(client.add(&format!("cn=phone,{ADA}"), device).code, Success);
            assert_eq!(client.add(&format!("cn=phone,{GRACE}"), device).code, InsufficientAccessRights);
            assert_eq!(client.delete(&format!("cn=phone,{ADA}")).code, Success);
        },
    );
}

/// The update is decided, then another one comes to the log before it which takes away what the decision hung on.
#[test]
fn a13_what_became_false_is_refused_when_it_is_applied() {
    let config = ruled(&["boss: all attrs=description; dn-attr=manager; allow=write"]);
    let (mut client, _) = journaled_with(config);
    client.plant();
    client.must_modify(GRACE, &[(Replace, "manager", &[ADA])]);
    client.must_bind(ADA, "lace");
    assert_eq!(client.modify(GRACE, &[(Replace, "description", &["x"])]).code, Success);
    let mut root = client.another();
    root.bind_root();
    // Both are submitted before either is applied; the root DN's comes first.
    let change = proto::op::modify::change_list([(Replace, &b"manager"[..], None::<&[u8]>)]);
    let changes = proto::op::modify::Changes::parse(&change).unwrap();
    let (_, first) =
        root.encode(&proto::Request::Modify(proto::op::Modify { dn: GRACE.as_bytes(), changes }), &[]);
    let change = proto::op::modify::change_list([(Replace, &b"description"[..], Some(&b"y"[..]))]);
    let changes = proto::op::modify::Changes::parse(&change).unwrap();
    let (_, second) =
        client.encode(&proto::Request::Modify(proto::op::Modify { dn: GRACE.as_bytes(), changes }), &[]);
    let mut answered = Vec::new();
    for (client, bytes) in [(&mut root, &first), (&mut client, &second)] {
        let feed = client.session.feed(&mut client.worker, bytes, &mut answered);
        assert_eq!((feed.state, answered.len()), (dsa::State::Waiting, 0));
    }
    (client.commit.as_ref().expect("there is a log").borrow_mut())();
    for client in [&mut root, &mut client] {
        let cx = &mut std::task::Context::from_waker(std::task::Waker::noop());
        assert!(client.session.poll_updates(&mut client.worker, cx, &mut answered).is_ready());
    }
    let codes = codes(&answers(&answered));
    assert_eq!(codes, [Success, InsufficientAccessRights]);
    assert_eq!(root.read(GRACE, &[]).values("description"), Some(vec!["x".to_owned()]));
}
