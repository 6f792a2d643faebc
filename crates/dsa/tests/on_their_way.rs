//! What is judged of an update by what the directory holds, while other updates are on their way to the log: earlier ones of the same
//! bundle or transaction, and those of other sessions. They decide it as if they had been applied.

mod common;

use common::journal::journaled_with;
use common::*;
use dsa::journal::Command;
use dsa::parcel::Head;
use dsa::{Applier, Config, State};
use model::ResultCode::{self, *};
use proto::Request;
use proto::control::transaction_specification;
use proto::ext::end_transaction::{self, EndTransaction};
use proto::ext::password_modify::{self, PasswordModify};
use proto::ext::start_transaction;
use proto::op::modify::Changes;
use proto::op::{Extended, Modify, ModifyKind};
use std::task::{Context, Waker};

const X: &str = "uid=x,ou=people,dc=example";
const INET_ORG_PERSON: Given<'static> = &[
    ("objectClass", &["inetOrgPerson"]),
    ("cn", &["x"]),
    ("sn", &["x"]),
    ("uid", &["x"]),
    ("userPassword", &["theirs"]),
];
const PERSON: Given<'static> = &[
    ("objectClass", &["person", "uidObject"]),
    ("cn", &["x"]),
    ("sn", &["x"]),
    ("userPassword", &["theirs"]),
];
const ALL: [&str; 4] = ["inetOrgPerson", "organizationalPerson", "person", "top"];
/// Of an entry of class `person` this leaves it without a structural class; of any below, it takes a class away that must stay.
const NO_PERSON: [(ModifyKind, &str, &[&str]); 1] = [(ModifyKind::Delete, "objectClass", &["person"])];

impl Client {
    fn another(&self, dn: &str, password: &str) -> Client {
        let mut other = Client::of(&self.dsa);
        other.commit = self.commit.clone();
        assert_eq!(other.bind(dn, password).code, Success);
        other
    }

    fn bytes_of_add(&mut self, dn: &str, given: Given<'_>) -> Vec<u8> {
        let list = attributes_of(given);
        let attributes = proto::list::Attributes::parse(&list).expect("just encoded");
        self.encode(&Request::Add(proto::op::Add { dn: dn.as_bytes(), attributes }), &[]).1
    }

    fn bytes_of_modify(&mut self, dn: &str, changes: &[(ModifyKind, &str, &[&str])]) -> Vec<u8> {
        let list = changes_of(changes);
        let changes = Changes::parse(&list).expect("just encoded");
        self.encode(&Request::Modify(Modify { dn: dn.as_bytes(), changes }), &[]).1
    }

    /// Another entry gets the name of this one.
    fn bytes_of_another(&mut self, dn: &str, given: Given<'_>) -> Vec<u8> {
        [self.encode(&Request::Delete(dn.as_bytes()), &[]).1, self.bytes_of_add(dn, given)].concat()
    }

    /// Sends updates, which are on their way when it returns.
    fn send(&mut self, bytes: &[u8]) {
        let mut out = Vec::new();
        let feed = self.session.feed(&mut self.worker, bytes, &mut out);
        assert_eq!((feed.consumed, feed.state, out.len()), (bytes.len(), State::Waiting, 0));
    }

    /// What became of them.
    fn sent(&mut self) -> Vec<ResultCode> {
        let (mut out, cx) = (Vec::new(), &mut Context::from_waker(Waker::noop()));
        assert!(self.session.poll_updates(&mut self.worker, cx, &mut out).is_ready());
        codes(&answers(&out))
    }

    fn classes(&mut self) -> Vec<String> {
        self.read(X, &["objectClass"]).values("objectClass").expect("there are some")
    }

    fn password(&mut self, old: Option<&str>, transaction: Option<&[u8]>) -> Vec<u8> {
        self.password_of(None, old, transaction)
    }

    fn password_of(&mut self, user: Option<&[u8]>, old: Option<&str>, transaction: Option<&[u8]>) -> Vec<u8> {
        let value = PasswordModify { user, old: old.map(str::as_bytes), new: Some(b"new") }.encode();
        let request = Extended { oid: password_modify::OID, value: Some(&value) };
        let controls = transaction.map(transaction_specification::control);
        self.encode(&Request::Extended(request), controls.as_slice()).1
    }

    fn begin(&mut self) -> Vec<u8> {
        let begin = Extended { oid: start_transaction::OID, value: None };
        self.end(&Request::Extended(begin)).value.expect("there is an identifier")
    }

    fn commit(&mut self, identifier: &[u8]) -> ResultCode {
        let value = EndTransaction { commit: true, identifier }.encode();
        self.end(&Request::Extended(Extended { oid: end_transaction::OID, value: Some(&value) })).code
    }

    fn binds(&self, password: &str) -> bool {
        Client::of(&self.dsa).bind(X, password).code == Success
    }
}

/// The tree of [`Client::new`], with a log.
fn client(config: Config) -> (Client, common::journal::Log) {
    let (mut client, log) = journaled_with(config);
    client.plant();
    (client, log)
}

#[test]
fn a_superclass_stays_whatever_was_on_its_way() {
    // Before the entry was there at all, in the same bundle.
    let (mut root, log) = client(config());
    let bundle = [root.bytes_of_add(X, INET_ORG_PERSON), root.bytes_of_modify(X, &NO_PERSON)].concat();
    assert_eq!(codes(&root.raw(&bundle).0), [Success, ObjectClassModsProhibited]);
    assert_eq!(root.classes(), ALL);
    // Once it is another one.
    let bundle = [root.bytes_of_another(X, PERSON), root.bytes_of_modify(X, &NO_PERSON)].concat();
    assert_eq!(codes(&root.raw(&bundle).0), [Success, Success, ObjectClassViolation]);
    // And by another session.
    let mut other = root.another(ROOT_DN, PASSWORD);
    let others = other.bytes_of_another(X, INET_ORG_PERSON);
    other.send(&others);
    assert_eq!(root.modify(X, &NO_PERSON).code, ObjectClassModsProhibited);
    assert_eq!(other.sent(), [Success, Success]);
    assert_eq!(root.classes(), ALL);
    // In a transaction.
    root.delete(X);
    let txn = root.begin();
    let list = attributes_of(INET_ORG_PERSON);
    let attributes = proto::list::Attributes::parse(&list).expect("just encoded");
    let member = [transaction_specification::control(&txn)];
    let add = Request::Add(proto::op::Add { dn: X.as_bytes(), attributes });
    assert_eq!(root.ask(&add, &member).end.code, Success);
    let list = changes_of(&NO_PERSON);
    let changes = Changes::parse(&list).expect("just encoded");
    let modify = Request::Modify(Modify { dn: X.as_bytes(), changes });
    assert_eq!(root.ask(&modify, &member).end.code, ObjectClassModsProhibited);
    // A replay comes to the same.
    let again = Client::empty(config());
    let mut applier = Applier::new(&again.dsa).expect("there are few readers");
    for (record, before) in &*log.lock().expect("nobody panicked") {
        let (command, mut out) = (Command::decode(record).expect("it was encoded"), Vec::new());
        applier.apply(&command, &mut out).expect("it was applied before");
        assert_eq!(answers(&out), answers(before));
    }
}

/// Earlier versions judged it before the log alone: what they applied comes out as it did.
#[test]
fn what_earlier_versions_logged_keeps_the_superclass_and_succeeds() {
    let (mut root, log) = client(config());
    let bundle = [root.bytes_of_add(X, INET_ORG_PERSON), root.bytes_of_modify(X, &NO_PERSON)].concat();
    root.raw(&bundle);
    let mut again = Client::empty(config());
    let mut applier = Applier::new(&again.dsa).expect("there are few readers");
    let (log, mut out) = (log.lock().expect("nobody panicked"), Vec::new());
    for (index, (record, _)) in (1..).zip(&*log) {
        out.clear();
        applier.begin_parcel(index, &Head { keeps_superclasses: true, ..Head::default() });
        let command = Command::decode(record).expect("it was encoded");
        applier.apply(&command, &mut out).expect("it can be applied");
        applier.end_parcel(index);
    }
    assert_eq!(codes(&answers(&out)), [Success, Success]);
    again.bind_root();
    assert_eq!(again.classes(), ALL);
    // What comes from now on is judged anew.
    let messages = root.bytes_of_modify(X, &NO_PERSON);
    let ids = Vec::new().into();
    let command =
        Command { wall_ms: START.wall_ms, actor: b"", ids, messages: &messages, is_transaction: false };
    applier.begin_parcel(100, &Head::default());
    out.clear();
    applier.apply(&command, &mut out).expect("it can be applied");
    assert_eq!(codes(&answers(&out)), [ObjectClassModsProhibited]);
}

/// An identity is an entry, not a name: another one that gets the name before a change of the password has its turn keeps its own.
#[test]
fn a_password_is_changed_of_the_entry_that_bound() {
    for has_operational in [true, false] {
        let mut config = config();
        config.store.operational_attributes = has_operational;
        for form in 0..4 {
            let (mut root, _log) = client(config.clone());
            let ours: Given<'_> = &[
                ("objectClass", &["inetOrgPerson"]),
                ("cn", &["x"]),
                ("sn", &["x"]),
                ("userPassword", &["ours"]),
            ];
            root.must_add(X, ours);
            let mut user = root.another(X, "ours");
            let change = |user: &mut Client| match form {
                0 => user.password(None, None),
                1 => user.password(Some("ours"), None),
                2 => user.bytes_of_modify(X, &[(ModifyKind::Replace, "userPassword", &["new"])]),
                _ => user.password(None, None),
            };
            let txn = if form == 3 { user.begin() } else { Vec::new() };
            if form == 3 {
                let member = user.password(None, Some(&txn));
                assert_eq!(codes(&user.raw(&member).0), [Success]);
            }
            let others = root.bytes_of_another(X, INET_ORG_PERSON);
            root.send(&others);
            let code = match form {
                3 => user.commit(&txn),
                _ => {
                    let change = change(&mut user);
                    codes(&user.raw(&change).0)[0]
                }
            };
            assert_eq!(root.sent(), [Success, Success]);
            assert_ne!(code, Success, "form {form}");
            if form == 0 || form == 2 {
                assert_eq!(code, Busy);
            }
            assert!(root.binds("theirs") && !root.binds("new"), "form {form}, {has_operational}");
            // Whose password it is may change it.
            let mut owner = root.another(X, "theirs");
            let change = change(&mut owner);
            let expected = if form == 1 { InvalidCredentials } else { Success };
            assert_eq!(codes(&owner.raw(&change).0), [expected], "form {form}");
            if form == 3 {
                let txn = owner.begin();
                let member = owner.password(None, Some(&txn));
                assert_eq!(codes(&owner.raw(&member).0), [Success]);
                assert_eq!(owner.commit(&txn), Success);
            }
            assert_eq!(root.binds("new"), form != 1);
        }
    }
}

/// Two changes of one password at the same time: the one that gives the old password finds that it is not right any more, and the
/// other one is applied where the entry can be known by its entryUUID.
#[test]
fn two_changes_of_one_password_at_the_same_time() {
    for has_operational in [true, false] {
        let mut config = config();
        config.store.operational_attributes = has_operational;
        for form in 0..4 {
            let (mut root, _log) = client(config.clone());
            root.must_add(X, INET_ORG_PERSON);
            let (mut first, mut second) = (root.another(X, "theirs"), root.another(X, "theirs"));
            let changes = first.bytes_of_modify(X, &[(ModifyKind::Replace, "userPassword", &["first"])]);
            first.send(&changes);
            let change = match form {
                0 => second.password(None, None),
                1 => second.password(Some("theirs"), None),
                2 => second.bytes_of_modify(X, &[(ModifyKind::Replace, "userPassword", &["new"])]),
                _ => second.bytes_of_modify(
                    X,
                    &[
                        (ModifyKind::Delete, "userPassword", &["theirs"]),
                        (ModifyKind::Add, "userPassword", &["new"]),
                    ],
                ),
            };
            let code = codes(&second.raw(&change).0)[0];
            assert_eq!(first.sent(), [Success]);
            let expected = match form {
                1 => InvalidCredentials,
                3 => NoSuchAttribute,
                _ if has_operational => Success,
                _ => Busy,
            };
            assert_eq!(code, expected, "form {form}, {has_operational}");
            let password = if code == Success { "new" } else { "first" };
            assert!(root.binds(password), "form {form}, {has_operational}");
        }
    }
}

/// A user that is named by its uid is found when the request comes: another one that gets the name of its entry keeps its password.
#[test]
fn a_password_is_changed_of_the_entry_that_was_found() {
    let (mut root, _log) = client(config());
    let theirs: Given<'_> = &[
        ("objectClass", &["inetOrgPerson"]),
        ("cn", &["jim"]),
        ("sn", &["x"]),
        ("uid", &["jim"]),
        ("userPassword", &["jim's"]),
    ];
    let jim = "cn=jim,ou=people,dc=example";
    root.must_add(jim, theirs);
    let mut other = root.another(ROOT_DN, PASSWORD);
    let rename = proto::op::ModifyDn {
        dn: jim.as_bytes(),
        new_rdn: b"cn=james",
        delete_old_rdn: false,
        new_superior: None,
    };
    let rename = other.encode(&Request::ModifyDn(rename), &[]).1;
    let others: Given<'_> = &[
        ("objectClass", &["inetOrgPerson"]),
        ("cn", &["jim"]),
        ("sn", &["x"]),
        ("userPassword", &["other's"]),
    ];
    let bundle = [rename, other.bytes_of_add(jim, others)].concat();
    other.send(&bundle);
    let change = root.password_of(Some(b"u:jim"), None, None);
    assert_eq!(codes(&root.raw(&change).0), [Busy]);
    assert_eq!(other.sent(), [Success, Success]);
    let dsa = std::sync::Arc::clone(&root.dsa);
    let binds = |dn: &str, password: &str| Client::of(&dsa).bind(dn, password).code == Success;
    assert!(binds(jim, "other's") && binds("cn=james,ou=people,dc=example", "jim's"));
    let change = root.password_of(Some(b"u:jim"), None, None);
    assert_eq!(codes(&root.raw(&change).0), [Success]);
    assert!(binds("cn=james,ou=people,dc=example", "new") && binds(jim, "other's"));
}
