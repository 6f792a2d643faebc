//! Row A7: with each single right missing, each operation is refused as the manual says, and with all of them it is done.

use super::*;
use ResultCode::{InsufficientAccessRights, NoSuchObject, Success};
use model::Scope;
use proto::op::ModifyKind::{Add, Delete, Increment, Replace};

const SEE: &str = "see: all; users; allow=see";
const PERSON: Given<'_> = &[("objectClass", &["account"]), ("description", &["new"])];

/// Does an operation as ada under these rights on everything, and each time without one of them. `codes`: what comes of it without each.
fn without_each(rights: &[(&str, ResultCode)], run: impl Fn(&mut Client) -> ResultCode) {
    for missing in 0..=rights.len() {
        let allowed: Vec<&str> = rights
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != missing)
            .map(|(_, (right, _))| *right)
            .collect();
        let rule = match allowed.is_empty() {
            true => "none: all attrs=entry,**; anonymous; allow=read".to_owned(),
            false => format!("all: all attrs=entry,**; users; allow={}", allowed.join(",")),
        };
        let expected = rights.get(missing).map_or(Success, |(_, code)| *code);
        each(&bare(&[&rule]), |mut client| {
            client.must_bind(ADA, "lace");
            let lacks = rights.get(missing).map_or("nothing", |(right, _)| right);
            assert_eq!(run(&mut client), expected, "without {lacks}");
        });
    }
}

#[test]
fn a7_search() {
    without_each(&[("disclose", NoSuchObject), ("search", InsufficientAccessRights)], |client| {
        client.search("ou=people,dc=example", Scope::One, "(sn=*)", &[]).end.code
    });
    // Without `read` nothing is returned, and without `search` on an attribute nothing is found by it.
    each(&bare(&["s: all; users; allow=disclose,search"]), |mut client| {
        client.must_bind(ADA, "lace");
        let found = client.search("ou=people,dc=example", Scope::Subtree, "(objectClass=*)", &[]);
        assert_eq!((found.end.code, found.entries.len()), (Success, 0));
    });
    let by_name = [SEE, "no: all attrs=mail; users; deny=search rank=1"];
    each(&bare(&by_name), |mut client| {
        client.must_bind(ADA, "lace");
        for filter in
            ["(mail=*)", "(mail=g@h)", "(!(mail=nobody))", "(mail=g*)", "(mail:caseIgnoreIA5Match:=g@h)"]
        {
            assert!(client.search("dc=example", Scope::Subtree, filter, &[]).entries.is_empty(), "{filter}");
        }
        assert_eq!(client.read(GRACE, &[]).values("mail"), Some(vec!["g@h".to_owned()]), "it may be read");
        assert_eq!(
            client.search("dc=example", Scope::Subtree, "(|(mail=g@h)(sn=Hopper))", &[]).entries.len(),
            1
        );
    });
    let unread = [SEE, "no: all attrs=mail; users; deny=read rank=1"];
    each(&bare(&unread), |mut client| {
        client.must_bind(ADA, "lace");
        let found = client.search("dc=example", Scope::Subtree, "(mail=g@h)", &["*"]);
        assert_eq!(found.dns(), [GRACE]);
        assert_eq!((found.values("mail"), found.values("sn")), (None, Some(vec!["Hopper".to_owned()])));
    });
}

#[test]
fn a7_compare() {
    without_each(&[("disclose", NoSuchObject), ("compare", InsufficientAccessRights)], |client| match client
        .compare(GRACE, "sn", "Hopper")
        .code
    {
        ResultCode::CompareTrue => Success,
        code => code,
    });
    // The same for values that are there, that are not, and for attributes that are not.
    each(&ruled(&["no: all attrs=mail; users; deny=compare"]), |mut client| {
        client.must_bind(ADA, "lace");
        let answers = [(GRACE, "g@h"), (GRACE, "x@y"), (ADA, "x@y")]
            .map(|(dn, value)| client.compare(dn, "mail", value));
        assert_eq!(answers[0].code, InsufficientAccessRights);
        assert!(
            answers.iter().all(|answer| answer.text == answers[0].text && answer.code == answers[0].code)
        );
    });
}

#[test]
fn a7_add() {
    let rights =
        [("disclose", NoSuchObject), ("create", InsufficientAccessRights), ("add", InsufficientAccessRights)];
    without_each(&rights, |client| client.add("uid=new,ou=people,dc=example", PERSON).code);
    // The right is needed on every attribute, those of the RDN too.
    for attribute in ["description", "uid", "objectClass"] {
        let no = format!("no: all attrs={attribute}; users; deny=add rank=1");
        each(&ruled(&["all: all attrs=entry,**; users; allow=all", &no]), |mut client| {
            client.must_bind(ADA, "lace");
            let end = client.add("uid=new,ou=people,dc=example", PERSON);
            assert_eq!(end.code, InsufficientAccessRights, "{attribute}");
            assert!(end.text.contains(attribute), "{}", end.text);
        });
    }
}

#[test]
fn a7_modify() {
    let both =
        [("disclose", NoSuchObject), ("add", InsufficientAccessRights), ("delete", InsufficientAccessRights)];
    without_each(&both, |client| client.modify(GRACE, &[(Replace, "mail", &["x@y"])]).code);
    without_each(&both[..2], |client| client.modify(GRACE, &[(Add, "mail", &["x@y"])]).code);
    let delete = [both[0], both[2]];
    without_each(&delete, |client| client.modify(GRACE, &[(Delete, "mail", &["g@h"])]).code);
    without_each(&delete, |client| client.modify(GRACE, &[(Delete, "mail", &[])]).code);
    without_each(&[both[0], ("increment", InsufficientAccessRights)], |client| {
        let group = "cn=group,ou=groups,dc=example";
        client.root().must_add(group, &[("objectClass", &["posixGroup"]), ("gidNumber", &["7"])]);
        client.modify(group, &[(Increment, "gidNumber", &["1"])]).code
    });
    // One change that is not allowed refuses all of them.
    as_ada(
        &["phone: subtree=\"ou=people,dc=example\" attrs=telephoneNumber; users; allow=write"],
        |mut client| {
            assert_eq!(client.modify(GRACE, &[(Add, "telephoneNumber", &["1"])]).code, Success);
            let two = [(Add, "telephoneNumber", &["2"][..]), (Add, "mail", &["x@y"])];
            assert_eq!(client.modify(GRACE, &two).code, InsufficientAccessRights);
            assert_eq!(client.read(GRACE, &[]).values("telephoneNumber"), Some(vec!["1".to_owned()]));
        },
    );
}

#[test]
fn a_rule_is_about_options_that_no_entry_has_yet() {
    let rules = [
        "all: all attrs=\"entry,**,!description;x-closed\"; users; allow=all",
        "open: all attrs=\"mobile;x-open\"; users; deny=add rank=1",
    ];
    as_ada(&rules, |mut client| {
        for name in ["description;x-closed", "description;X-Closed;x-more", "mobile;x-open"] {
            assert_eq!(client.modify(GRACE, &[(Add, name, &["1"])]).code, InsufficientAccessRights, "{name}");
        }
        assert_eq!(client.modify(GRACE, &[(Add, "description;x-other", &["1"])]).code, Success);
    });
}

#[test]
fn a7_delete() {
    let rights = [("disclose", NoSuchObject), ("remove", InsufficientAccessRights)];
    without_each(&rights, |client| client.delete(GRACE).code);
}

/// RFC 2589 section 6.2: by access rules on entryTtl.
#[test]
fn x6_a_refresh_needs_the_right_on_entry_ttl() {
    let meeting = "cn=meeting,ou=groups,dc=example";
    let refresh = |client: &mut Client| {
        let refresh = proto::ext::refresh::Refresh { dn: meeting.as_bytes(), ttl: 100 };
        client.extended(proto::ext::refresh::OID, Some(&refresh.encode())).code
    };
    let may = "ttl: all attrs=entryTtl; users; allow=write";
    let hidden = "hide: base=\"cn=meeting,ou=groups,dc=example\" attrs=entry; users; deny=disclose rank=1";
    for (rules, code) in
        [(&[may][..], Success), (&[], InsufficientAccessRights), (&[may, hidden], NoSuchObject)]
    {
        as_ada(rules, |mut client| {
            client.root().must_add(meeting, &[("objectClass", &["applicationProcess", "dynamicObject"])]);
            assert_eq!(refresh(&mut client), code, "{rules:?}");
            // Nothing is said of an entry that it may not refresh, not even whether it is dynamic.
            client.root().delete(meeting);
            client.root().must_add(meeting, &[("objectClass", &["applicationProcess"])]);
            let other = if code == Success { ResultCode::ObjectClassViolation } else { code };
            assert_eq!(refresh(&mut client), other, "{rules:?}");
        });
    }
}

#[test]
fn a7_rename() {
    let rights = [
        ("disclose", NoSuchObject),
        ("rename", InsufficientAccessRights),
        ("add", InsufficientAccessRights),
        ("delete", InsufficientAccessRights),
    ];
    without_each(&rights, |client| client.rename(GRACE, "uid=hopper", true, None).code);
    // Also if the RDN stays as it was, in another case or the same.
    without_each(&rights[..3], |client| client.rename(GRACE, "UID=Grace", false, None).code);
    let moves =
        [&rights[..], &[("move-out", InsufficientAccessRights), ("move-in", InsufficientAccessRights)]]
            .concat();
    without_each(&moves, |client| client.rename(GRACE, "uid=grace", true, Some("ou=groups,dc=example")).code);
}

#[test]
fn a7_bind() {
    each(
        &bare(&["no: base=\"uid=bob,ou=people,dc=example\" attrs=userPassword; anyone; deny=auth rank=1"]),
        |mut client| {
            client.must_bind(ADA, "lace");
            let (denied, wrong) = (client.bind(BOB, "tail"), client.bind(ADA, "tail"));
            assert_eq!((denied.code, denied.text), (ResultCode::InvalidCredentials, wrong.text));
        },
    );
}

#[test]
fn x6_rights_come_before_existence() {
    as_ada(&[], |mut client| {
        let taken = client.add(GRACE, PERSON);
        let free = client.add("uid=nobody,ou=people,dc=example", PERSON);
        assert_eq!((taken.code, &taken.text), (InsufficientAccessRights, &free.text));
    });
}

#[test]
fn x10_controls_and_operations_need_their_right() {
    let rules = [
        "no-assertion: control=1.3.6.1.1.12; users; deny=use",
        "no-who-am-i: extended=1.3.6.1.4.1.4203.1.11.3; users; deny=use",
    ];
    as_ada(&rules, |mut client| {
        let value = assertion("(uid=ada)");
        let asserted = [control(proto::control::assertion::OID, &value, false)];
        let end = client.read_with(ADA, &asserted).end;
        assert_eq!(end.code, InsufficientAccessRights);
        assert!(end.text.contains("1.3.6.1.1.12"), "{}", end.text);
        // Refused undecoded: a malformed value is not even looked at.
        let malformed = [control(proto::control::assertion::OID, b"nonsense", true)];
        assert_eq!(
            client.modify_with(ADA, &[(Replace, "sn", &["x"])], &malformed).end.code,
            InsufficientAccessRights
        );
        assert_eq!(client.extended(proto::ext::who_am_i::OID, None).code, InsufficientAccessRights);
        assert_eq!(client.root().who_am_i(), format!("dn:{ROOT_DN}"));
        assert_eq!(client.read(ADA, &[]).end.code, Success);
    });
}
