//! Password policies: which one holds, what it says of binds and of new passwords, and what a client learns of it.

use super::*;
use crate::fixture::each;
use env::clock::Now;
use model::ResultCode::*;
use proto::Request;
use proto::control::password_policy::{self, PolicyResponse, Warning};
use proto::control::{Control, proxied_authorization};
use proto::op::ModifyKind::{self, *};
use proto::op::modify::{Changes as ChangeList, Modify};
use proto::op::{Authentication, Bind, Extended};

pub(super) type Changes<'c> = &'c [(ModifyKind, &'c str, &'c [&'c str])];

pub(super) const POLICY: &str = "cn=policy,dc=example";
/// What a client learns of a policy: warning, and number of the error.
pub(super) type Report = Option<(Option<Warning>, Option<u8>)>;

pub(super) const ASKS: Control<'static> = Control { oid: password_policy::OID, critical: false, value: None };

impl Client {
    pub(super) fn wait(&mut self, seconds: u64) {
        let Now { wall_ms, monotonic_ns } = self.now;
        self.at(Now {
            wall_ms: wall_ms + seconds * 1000,
            monotonic_ns: monotonic_ns + seconds * 1_000_000_000,
        });
    }

    /// Asks what the policy says of a request.
    pub(super) fn report_of(
        &mut self,
        request: &Request<'_>,
        controls: &[Control<'_>],
    ) -> (ResultCode, Report) {
        let (_, bytes) = self.encode(request, controls);
        let (mut answers, _) = self.raw(&bytes);
        let answer = answers.pop().expect("it is answered");
        assert!(answers.is_empty());
        let control = answer.controls.iter().find(|(oid, _)| oid.as_bytes() == password_policy::OID);
        let report = control.map(|(_, value)| {
            PolicyResponse::decode(value.as_deref().expect("it has a value")).expect("as it is specified")
        });
        match answer.what {
            What::End(end) => (end.code, report),
            other => panic!("no end: {other:?}"),
        }
    }

    pub(super) fn bind_and_report(&mut self, dn: &str, password: &str) -> (ResultCode, Report) {
        self.report_of(&common::bind(dn, password), &[ASKS])
    }

    /// What a bind is answered that does not ask: its code, and the last digit and the value of a control of the Netscape server.
    pub(super) fn bind_unasked(&mut self, password: &str) -> (ResultCode, Option<(char, String)>) {
        let (_, bytes) = self.encode(&common::bind(ADA, password), &[]);
        let (mut answers, _) = self.raw(&bytes);
        let answer = answers.pop().expect("it is answered");
        let control = answer.controls.first().map(|(oid, value)| {
            let last = oid.strip_prefix("2.16.840.1.113730.3.4.").expect("one of the Netscape server");
            let value = value.clone().expect("it has a value");
            (last.chars().next().expect("a digit"), String::from_utf8(value).expect("text"))
        });
        match answer.what {
            What::End(end) => (end.code, control),
            other => panic!("no end: {other:?}"),
        }
    }

    pub(super) fn modify_and_report(&mut self, dn: &str, changes: Changes<'_>) -> (ResultCode, Report) {
        let list = changes_of(changes);
        let changes = ChangeList::parse(&list).expect("just encoded");
        self.report_of(&Request::Modify(Modify { dn: dn.as_bytes(), changes }), &[ASKS])
    }

    /// Ada changes its password, with the old one.
    pub(super) fn renew(&mut self, old: &str, new: &str) -> (ResultCode, Report) {
        self.modify_and_report(ADA, &[(Delete, "userPassword", &[old]), (Add, "userPassword", &[new])])
    }

    pub(super) fn state(&self, name: &str) -> Vec<String> {
        self.another().read(ADA, &[name]).values(name).unwrap_or_default()
    }

    /// What was noted of accounts is written, as the server does every few seconds. A second client reads what a commit has changed.
    pub(super) fn write_times(&mut self) {
        self.wait(5);
        self.worker.write_account_times(self.now);
        if let Some(commit) = &self.commit {
            commit.borrow_mut()();
        }
    }

    /// What a change of the entry would change.
    pub(super) fn stamps(&self) -> Vec<Option<Vec<String>>> {
        let names = ["entryCSN", "modifyTimestamp", "modifiersName"];
        let found = self.another().read(ADA, &names);
        names.map(|name| found.values(name)).to_vec()
    }

    pub(super) fn set_policy(&mut self, values: &[(&str, &str)]) {
        let mut root = self.another();
        let values: Vec<(&str, [&str; 1])> = values.iter().map(|(name, value)| (*name, [*value])).collect();
        let mut all: Vec<(&str, &[&str])> =
            vec![("objectClass", &["pwdPolicy", "device"]), ("pwdAttribute", &["userPassword"])];
        all.extend(values.iter().map(|(name, value)| (*name, &value[..])));
        root.must_add(POLICY, &all);
    }
}

/// With this policy for all accounts, with a log and without, and with passwords that take long.
pub(super) fn under(values: &[(&str, &str)], test: impl Fn(Client)) {
    let begin = |mut client: Client| {
        client.set_policy(values);
        let mut root = client.another();
        let default: Changes<'_> = &[(Replace, "pandoPasswordsDefaultPolicy", &[POLICY])];
        assert_eq!(root.modify("cn=config", default).code, Success);
        // From now on its password has an age.
        assert_eq!(root.modify(ADA, &[(Replace, "userPassword", &["first-word"])]).code, Success);
        let reset: Changes<'_> = &[(Replace, "pwdReset", &[])];
        assert_eq!(root.modify(ADA, reset).code, Success);
        client.wait(1);
        test(client);
    };
    each(begin);
    hashed::pooled(begin);
}

pub(super) const DELAYS: [&str; 2] = ["pwdMinDelay", "pwdMaxDelay"];

pub(super) const SAYS_LOCKED: &str = "pandoPasswordsTellLocked";

#[test]
fn test_y1_lengths_at_their_edges() {
    under(&[("pwdMinLength", "6"), ("pwdMaxLength", "8"), ("pwdCheckQuality", "2")], |mut client| {
        client.must_bind(ADA, "first-word");
        assert_eq!(client.renew("first-word", "12345"), (ConstraintViolation, Some((None, Some(6)))));
        assert_eq!(client.renew("first-word", "123456789"), (ConstraintViolation, Some((None, Some(9)))));
        // Characters, and not octets.
        assert_eq!(client.renew("first-word", "äöüßéø"), (Success, None));
        assert_eq!(client.renew("äöüßéø", "äöüßéøåñ"), (Success, None));
        let hash = "{SHA}qZk+NkcGgWq6PiVxeFDCbJzQ2J0=";
        assert_eq!(client.renew("äöüßéøåñ", hash), (ConstraintViolation, Some((None, Some(5)))));
        // An administrator may set any.
        let mut root = client.another();
        assert_eq!(root.modify(ADA, &[(Replace, "userPassword", &["x"])]).code, Success);
        assert_eq!(root.modify(ADA, &[(Replace, "userPassword", &[hash])]).code, Success);
        assert!(client.binds(ADA, "abc"));
    });
}

/// The built-in policy, where there is no other.
#[test]
fn test_y1_eight_characters_without_a_policy() {
    let mut config = config();
    config.settings.configured.passwords.min_length = 8;
    let mut client = Client::with(config);
    client.must_bind(ADA, "lace");
    assert_eq!(client.renew("lace", "1234567"), (ConstraintViolation, Some((None, Some(6)))));
    assert_eq!(client.renew("lace", "12345678"), (Success, None));
    assert_eq!(client.state("pwdChangedTime"), [""; 0], "no state is kept");
}

#[test]
fn test_y1_ages_and_warnings() {
    let policy = [("pwdMinAge", "10"), ("pwdMaxAge", "1000"), ("pwdExpireWarning", "100")];
    under(&policy, |mut client| {
        assert_eq!(client.bind_and_report(ADA, "first-word"), (Success, Some((None, None))));
        assert_eq!(client.renew("first-word", "second"), (ConstraintViolation, Some((None, Some(7)))));
        client.wait(10);
        assert_eq!(client.renew("first-word", "second"), (Success, None));
        client.wait(899);
        assert_eq!(client.bind_and_report(ADA, "second"), (Success, Some((None, None))));
        client.wait(1);
        assert_eq!(
            client.bind_and_report(ADA, "second"),
            (Success, Some((Some(Warning::Expires(100)), None)))
        );
        client.wait(99);
        assert_eq!(client.bind_and_report(ADA, "second"), (Success, Some((Some(Warning::Expires(1)), None))));
        assert_eq!(client.report_of(&common::bind(ADA, "second"), &[]), (Success, None), "nobody asked");
        client.wait(1);
        assert_eq!(client.bind_and_report(ADA, "second"), (InvalidCredentials, Some((None, Some(0)))));
        assert_eq!(client.who_am_i(), "");
        assert_eq!(client.bind_and_report(ADA, "wrong"), (InvalidCredentials, Some((None, None))));
    });
}

/// Y2: clients that know no other control are answered by those of the Netscape server.
#[test]
fn test_y2_what_a_client_learns_that_does_not_ask() {
    let policy = [
        ("pwdMaxAge", "1000"),
        ("pwdExpireWarning", "100"),
        ("pwdGraceAuthNLimit", "1"),
        ("pwdMustChange", "TRUE"),
        ("pwdLockout", "TRUE"),
        ("pwdMaxFailure", "9"),
    ];
    under(&policy, |mut client| {
        let expired = || Some(('4', "0".to_owned()));
        assert_eq!(client.bind_unasked("first-word"), (Success, None));
        client.wait(950);
        assert_eq!(client.bind_unasked("first-word"), (Success, Some(('5', "49".to_owned()))));
        assert_eq!(client.bind_unasked("wrong"), (InvalidCredentials, None));
        client.wait(50);
        assert_eq!(client.bind_unasked("first-word"), (Success, expired()), "a grace login");
        assert_eq!(client.bind_unasked("first-word"), (InvalidCredentials, expired()));
        let mut root = client.another();
        assert_eq!(root.modify(ADA, &[(Replace, "userPassword", &["second-word"])]).code, Success);
        assert_eq!(client.bind_unasked("second-word"), (Success, expired()), "it must be changed");
        let off: Changes<'_> = &[(Replace, "pandoPasswordsNetscape", &["off"])];
        assert_eq!(root.modify("cn=config", off).code, Success);
        assert_eq!(client.bind_unasked("second-word"), (Success, None));
    });
}

#[test]
fn test_y6_after_its_grace_a_password_is_none() {
    let policy = [("pwdMaxAge", "100"), ("pwdGraceAuthNLimit", "2"), ("pwdGraceExpiry", "50")];
    under(&policy, |mut client| {
        client.wait(100);
        for left in [1, 0] {
            assert_eq!(
                client.bind_and_report(ADA, "first-word"),
                (Success, Some((Some(Warning::Grace(left)), None)))
            );
            assert_eq!(client.who_am_i(), format!("dn:{ADA}"));
            client.wait(1);
        }
        assert_eq!(client.state("pwdGraceUseTime").len(), 2);
        assert_eq!(client.bind_and_report(ADA, "first-word"), (InvalidCredentials, Some((None, Some(0)))));
        assert_eq!(client.who_am_i(), "");
        // It can be given again by who may set it.
        let mut root = client.another();
        assert_eq!(root.modify(ADA, &[(Replace, "userPassword", &["second"])]).code, Success);
        assert_eq!(client.state("pwdGraceUseTime"), [""; 0]);
        assert!(client.binds(ADA, "second"));
        client.wait(149);
        assert!(client.binds(ADA, "second"), "the last second");
        client.wait(1);
        assert!(!client.binds(ADA, "second"), "one is left, too late");
    });
}

#[test]
fn test_y1_former_passwords() {
    under(&[("pwdInHistory", "2")], |mut client| {
        client.must_bind(ADA, "first-word");
        let used = (ConstraintViolation, Some((None, Some(8))));
        assert_eq!(client.renew("first-word", "first-word"), used);
        for (old, new) in [("first-word", "second"), ("second", "third")] {
            assert_eq!(client.renew(old, new), (Success, None));
            client.wait(1);
        }
        for word in ["first-word", "second", "third"] {
            assert_eq!(client.renew("third", word), used, "{word}");
        }
        assert_eq!(client.renew("third", "fourth"), (Success, None));
        assert_eq!(client.renew("fourth", "first-word"), (Success, None), "it is forgotten");
        assert_eq!(client.state("pwdHistory").len(), 2);
        client.must_bind(ADA, "first-word");
        let own = client.read(ADA, &["pwdHistory", "pwdChangedTime"]);
        assert_eq!(own.values("pwdHistory"), None, "former passwords are secrets");
    });
}

#[test]
fn test_y1_who_may_change_a_password_and_how() {
    under(&[("pwdSafeModify", "TRUE")], |mut client| {
        client.must_bind(ADA, "first-word");
        let alone: Changes<'_> = &[(Replace, "userPassword", &["second"])];
        assert_eq!(client.modify_and_report(ADA, alone), (InsufficientAccessRights, Some((None, Some(4)))));
        assert_eq!(client.change_password(None, None, "second"), InsufficientAccessRights);
        assert_eq!(client.change_password(None, Some("first-word"), "second"), Success);
    });
    under(&[("pwdAllowUserChange", "FALSE")], |mut client| {
        client.must_bind(ADA, "first-word");
        assert_eq!(client.renew("first-word", "second"), (InsufficientAccessRights, Some((None, Some(3)))));
        let mut root = client.another();
        assert_eq!(root.modify(ADA, &[(Replace, "userPassword", &["second"])]).code, Success);
    });
}

/// X7: what is kept of a password is not the user's to change.
#[test]
fn test_x7_users_do_not_write_their_state() {
    under(&[("pwdLockout", "TRUE")], |mut client| {
        client.must_bind(ADA, "first-word");
        for (name, value) in [
            ("pwdReset", "FALSE"),
            ("pwdPolicySubentry", POLICY),
            ("pwdAccountLockedTime", "20200101000000Z"),
            ("pwdChangedTime", "20990101000000Z"),
            ("objectClass", "account"),
        ] {
            for kind in [Add, Replace] {
                let code = client.modify(ADA, &[(kind, name, &[value])]).code;
                assert_eq!(code, InsufficientAccessRights, "{name}");
            }
        }
    });
}

#[test]
fn test_y3_a_password_that_must_be_changed() {
    under(&[("pwdMustChange", "TRUE")], |mut client| {
        let set = |client: &Client, word: &str| {
            let mut root = client.another();
            assert_eq!(root.modify(ADA, &[(Replace, "userPassword", &[word])]).code, Success);
            assert_eq!(client.state("pwdReset"), ["TRUE"]);
        };
        set(&client, "given");
        assert_eq!(client.bind_and_report(ADA, "given"), (Success, Some((None, Some(2)))));
        let report = (InsufficientAccessRights, Some((None, Some(2))));
        let who = Request::Extended(proto::op::Extended { oid: proto::ext::who_am_i::OID, value: None });
        let start =
            Request::Extended(proto::op::Extended { oid: proto::ext::start_transaction::OID, value: None });
        let compare = Request::Compare(proto::op::Compare {
            dn: ADA.as_bytes(),
            assertion: model::filter::Assertion { attribute: b"sn", value: b"x" },
        });
        for request in [&who, &start, &compare, &Request::Delete(ADA.as_bytes())] {
            assert_eq!(client.report_of(request, &[ASKS]), report, "{request:?}");
            assert_eq!(client.report_of(request, &[]), (InsufficientAccessRights, None));
        }
        assert_eq!(client.read(ADA, &["cn"]).end.code, InsufficientAccessRights);
        assert_eq!(client.modify_and_report(ADA, &[(Replace, "sn", &["x"])]), report);
        let more: Changes<'_> = &[(Replace, "userPassword", &["own-word"]), (Replace, "sn", &["x"])];
        assert_eq!(client.modify_and_report(ADA, more), report, "nothing else in it");
        // Not for another one, nor as another one.
        assert_eq!(client.change_password(Some(GRACE), None, "own-word"), InsufficientAccessRights);
        let list = changes_of(&[(Replace, "userPassword", &["own-word"])]);
        let changes = ChangeList::parse(&list).expect("just encoded");
        let request = Request::Modify(Modify { dn: ADA.as_bytes(), changes });
        let proxied = Control { oid: proxied_authorization::OID, critical: true, value: Some(b"") };
        assert_eq!(client.report_of(&request, &[proxied, ASKS]), report);
        // By modify, and by password modify.
        assert_eq!(client.renew("given", "own-word"), (Success, None));
        assert_eq!(client.who_am_i(), format!("dn:{ADA}"));
        assert_eq!(client.state("pwdReset"), [""; 0]);
        assert_eq!(client.bind_and_report(ADA, "own-word"), (Success, Some((None, None))));
        set(&client, "again");
        assert_eq!(client.who_am_i(), format!("dn:{ADA}"), "a session that has bound before");
        client.must_bind(ADA, "again");
        assert_eq!(client.change_password(None, None, "own-word"), Success);
        assert_eq!(client.who_am_i(), format!("dn:{ADA}"));
    });
}

#[test]
fn test_y7_which_policy_holds() {
    under(&[("pwdMinLength", "9")], |mut client| {
        let mut root = client.another();
        let other: Given<'_> = &[
            ("objectClass", &["pwdPolicy", "device"]),
            ("pwdAttribute", &["2.5.4.35"]),
            ("pwdMinLength", &["3"]),
        ];
        root.must_add("cn=other,dc=example", other);
        client.must_bind(ADA, "first-word");
        let short = (ConstraintViolation, Some((None, Some(6))));
        assert_eq!(client.renew("first-word", "12345678"), short, "the default");
        let name = |root: &mut Client, dn: &str| {
            assert_eq!(root.modify(ADA, &[(Replace, "pwdPolicySubentry", &[dn])]).code, Success);
        };
        name(&mut root, "cn=other,dc=example");
        assert_eq!(client.renew("first-word", "123"), (Success, None), "its own");
        assert_eq!(client.renew("123", "12"), short);
        for broken in ["cn=nothing,dc=example", "ou=people,dc=example"] {
            name(&mut root, broken);
            assert_eq!(client.renew("123", "12345678"), short, "{broken}: the default again");
        }
        assert_eq!(root.modify("cn=config", &[(Replace, "pandoPasswordsDefaultPolicy", &[])]).code, Success);
        assert_eq!(client.renew("123", "1"), (Success, None), "none but the built-in one");
    });
}

/// Rules of the settings come behind what the entry names and before the default. The first that fits counts, and all that it names must be so.
#[test]
fn test_y7_by_subtree_filter_and_group() {
    under(&[("pwdMinLength", "9")], |mut client| {
        let mut root = client.another();
        let other: Given<'_> = &[
            ("objectClass", &["pwdPolicy", "device"]),
            ("pwdAttribute", &["userPassword"]),
            ("pwdMinLength", &["3"]),
        ];
        root.must_add("cn=other,dc=example", other);
        let inner: Given<'_> = &[("objectClass", &["groupOfNames"]), ("member", &[ADA])];
        root.must_add("cn=inner,dc=example", inner);
        let outer: Given<'_> = &[("objectClass", &["groupOfNames"]), ("member", &["cn=inner,dc=example"])];
        root.must_add("cn=outer,dc=example", outer);
        client.must_bind(ADA, "first-word");
        let mut word = "first-word".to_owned();
        // Is the rule's policy the one that holds, under which three characters are enough?
        let mut fits = |rules: &[&str]| {
            assert_eq!(root.modify("cn=config", &[(Replace, "pandoPasswordsPolicy", rules)]).code, Success);
            let new = if word == "one" { "two" } else { "one" };
            let end = client.renew(&word, new);
            if end.0 == Success {
                new.clone_into(&mut word);
            }
            end.0 == Success
        };
        let policy = "policy=\"cn=other,dc=example\"";
        assert!(!fits(&[]), "the default");
        for (which, fitting) in [
            ("subtree=\"ou=people,dc=example\"", true),
            ("subtree=\"ou=groups,dc=example\"", false),
            ("subtree=\"uid=ada,ou=people,dc=example\"", true),
            ("subtree=\"uid=grace,ou=people,dc=example\"", false),
            ("filter=(sn=Lovelace)", true),
            ("filter=(sn=Hopper)", false),
            ("filter=(!(sn=Hopper))", true),
            ("group=\"cn=inner,dc=example\"", true),
            ("group=\"cn=outer,dc=example\"", true),
            ("group=\"cn=nothing,dc=example\"", false),
            ("subtree=\"ou=people,dc=example\" filter=(sn=Hopper)", false),
            ("subtree=\"ou=people,dc=example\" filter=(sn=Lovelace) group=\"cn=outer,dc=example\"", true),
        ] {
            assert_eq!(fits(&[&format!("{policy} {which}")]), fitting, "{which}");
        }
        let broken = "policy=\"cn=nothing,dc=example\" filter=(sn=*)";
        assert!(!fits(&[broken]), "a rule without a policy leads to the default");
        let all = format!("{policy} subtree=\"dc=example\"");
        assert!(!fits(&[broken, &all]), "the first that fits");
        assert!(fits(&[&all, broken]));
        let mut root = client.another();
        let names: Changes<'_> = &[(Replace, "pwdPolicySubentry", &[POLICY])];
        assert_eq!(root.modify(ADA, names).code, Success);
        let end = client.renew("two", "1");
        assert_eq!((end.0, end.1), (ConstraintViolation, Some((None, Some(6)))), "its own comes first");
        let bad: Changes<'_> = &[(Replace, "pandoPasswordsPolicy", &["policy=cn=x"])];
        assert_ne!(root.modify("cn=config", bad).code, Success);
    });
}

#[test]
fn test_y7_policies_are_checked_when_they_are_written() {
    let mut client = Client::new();
    client.set_policy(&[("pwdMinLength", "9")]);
    let bad: [(&str, &str); 4] = [
        ("pwdMinLength", "-1"),
        ("pwdMaxAge", "-5"),
        ("pwdAttribute", "cn"),
        ("1.3.6.1.4.1.42.2.27.8.1.11", "-3"),
    ];
    for (name, value) in bad {
        let end = client.modify(POLICY, &[(Replace, name, &[value])]);
        assert_eq!(end.code, ConstraintViolation, "{name}: {}", end.text);
        let given: Given<'_> = &[
            ("objectClass", &["pwdPolicy", "device"]),
            (if name == "pwdAttribute" { "description" } else { "pwdAttribute" }, &["userPassword"]),
            (name, &[value]),
        ];
        assert_eq!(client.add("cn=bad,dc=example", given).code, ConstraintViolation, "{name}");
    }
    let ages: Changes<'_> = &[(Replace, "pwdMinAge", &["10"]), (Replace, "pwdMaxAge", &["9"])];
    assert_eq!(client.modify(POLICY, ages).code, ConstraintViolation);
    let ages: Changes<'_> = &[(Replace, "pwdMinAge", &["10"]), (Replace, "pwdMaxAge", &["0"])];
    assert_eq!(client.modify(POLICY, ages).code, Success, "never is not less");
}

/// A policy has both delays or none, the least one not above the other, whatever comes in which order.
#[test]
fn test_y7_delays_are_checked_when_they_are_written() {
    let mut client = Client::new();
    client.set_policy(&[("pwdMinLength", "9")]);
    let changes = |min: &str, max: &str| {
        client.another().modify(POLICY, &[(Replace, DELAYS[0], &[min]), (Replace, DELAYS[1], &[max])]).code
    };
    assert_eq!((changes("5", "4"), changes("-1", "4")), (ConstraintViolation, ConstraintViolation));
    assert_eq!((changes("5", "5"), changes("0", "0"), changes("1", "8")), (Success, Success, Success));
    let [min, max] = DELAYS;
    let bad: [Changes<'_>; 6] = [
        &[(Replace, min, &["2"])],
        &[(Replace, max, &["9"])],
        &[(Delete, min, &[])],
        &[(Delete, max, &["8"]), (Replace, min, &["1"])],
        &[(Increment, min, &["1"]), (Increment, max, &["1"])],
        &[(Replace, min, &["2"]), (Replace, max, &["9"]), (Replace, max, &["1"])],
    ];
    for changes in bad {
        assert_eq!(client.modify(POLICY, changes).code, ConstraintViolation, "{changes:?}");
    }
    for (values, code) in [
        (&[(min, "1")][..], ConstraintViolation),
        (&[(min, "3"), (max, "2")], ConstraintViolation),
        (&[(min, "2"), (max, "3")], Success),
    ] {
        let mut given: Vec<(&str, Vec<&str>)> =
            vec![("objectClass", vec!["pwdPolicy", "device"]), ("pwdAttribute", vec!["userPassword"])];
        given.extend(values.iter().map(|(name, value)| (*name, vec![*value])));
        let given: Vec<(&str, &[&str])> = given.iter().map(|(name, values)| (*name, &values[..])).collect();
        assert_eq!(client.add("cn=delays,dc=example", &given).code, code, "{values:?}");
    }
    let none: Changes<'_> = &[(Delete, min, &[]), (Replace, max, &[])];
    assert_eq!(client.modify(POLICY, none).code, Success);
}

/// Who may write a hash might store one that takes the server's time, or that it does not know the word of.
#[test]
fn only_administrators_store_hashes() {
    let hash = "{SHA}qZk+NkcGgWq6PiVxeFDCbJzQ2J0=";
    each_with(&with_tool(), |client| {
        let mut tool = client.another_as(TOOL, "tool");
        let person: Given<'_> =
            &[("objectClass", &["inetOrgPerson"]), ("cn", &["n"]), ("sn", &["n"]), ("userPassword", &[hash])];
        let new = "uid=new,ou=people,dc=example";
        assert_eq!(tool.add(new, person).code, ConstraintViolation);
        assert_eq!(tool.modify(GRACE, &[(Replace, "userPassword", &[hash])]).code, ConstraintViolation);
        let mut root = client.another();
        root.must_add(new, person);
        assert_eq!(root.modify(GRACE, &[(Replace, "userPassword", &[hash])]).code, Success);
        assert!(root.binds(new, "abc") && root.binds(GRACE, "abc"));
    });
}

/// In a transaction the policy is that of the directory, whatever the transaction has brought.
/// Y3: what comes in one piece with the bind is refused like what comes later.
#[test]
fn test_y3_requests_that_come_with_the_bind() {
    each(|mut client| {
        client.bind_root();
        assert_eq!(client.modify(ADA, &[(Replace, "pwdReset", &["TRUE"])]).code, Success);
        let authentication = Authentication::Simple(b"lace");
        let bind = Request::Bind(Bind { version: 3, name: ADA.as_bytes(), authentication });
        let who_am_i = Request::Extended(Extended { oid: proto::ext::who_am_i::OID, value: None });
        let delete = Request::Delete(b"uid=nobody,dc=example");
        let asked = [&bind, &who_am_i, &delete, &who_am_i].map(|request| client.encode(request, &[]).1);
        let (answered, _) = client.exchange(&asked.concat());
        let refused = InsufficientAccessRights;
        assert_eq!(codes(&answers(&answered)), [Success, refused, refused, refused]);
    });
}

#[test]
fn test_y3_transactions_are_judged_as_well() {
    under(&[("pwdMinLength", "9"), ("pwdInHistory", "3")], |mut client| {
        client.must_bind(ADA, "first-word");
        for (new, code) in [("12345678", ConstraintViolation), ("first-word", ConstraintViolation)] {
            let txn = client.start();
            assert_eq!(client.change_password_in(&txn, "first-word", new), code, "{new}");
        }
        let txn = client.start();
        assert_eq!(client.change_password_in(&txn, "first-word", "second-word"), Success);
        assert_eq!(client.commit(&txn).code, Success);
        assert!(client.binds(ADA, "second-word"));
        assert_eq!(client.state("pwdHistory").len(), 2);
    });
}

/// A lock needs no room for another name.
#[test]
fn an_account_is_locked_where_no_name_can_be_recorded() {
    under(&[("pwdLockout", "TRUE"), ("pwdMaxFailure", "2")], |client| {
        client.dsa.shard().bound_names(2);
        for _ in 0..2 {
            assert!(!client.binds(ADA, "wrong"));
        }
        assert_eq!(client.state("pwdAccountLockedTime").len(), 1);
        assert!(!client.binds(ADA, "first-word"));
    });
}

/// In a transaction too a policy is looked at when it is written.
#[test]
fn test_y7_policies_are_checked_in_transactions() {
    let mut client = Client::new();
    client.set_policy(&[("pwdMinLength", "9")]);
    let txn = client.start();
    let end = client.modify_in(&txn, POLICY, &[(Replace, "pwdMinLength", &["-1"])]);
    assert_eq!(end.code, ConstraintViolation, "{}", end.text);
}

/// By a change of its own a user gets no second password, which would have no age and no history.
#[test]
fn test_y1_one_password_under_a_policy() {
    under(&[("pwdMinLength", "3")], |mut client| {
        client.must_bind(ADA, "first-word");
        let two: Changes<'_> = &[
            (Delete, "userPassword", &["first-word"]),
            (Add, "userPassword", &["second"]),
            (Add, "userPassword", &["third"]),
        ];
        assert_eq!(client.modify(ADA, two).code, ConstraintViolation);
        assert!(client.binds(ADA, "first-word") && !client.binds(ADA, "second"));
        assert_eq!(client.state("pwdChangedTime").len(), 1);
    });
}
