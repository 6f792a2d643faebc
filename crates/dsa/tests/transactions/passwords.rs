//! Password modify (RFC 3062) in transactions.

use crate::common::*;
use crate::fixture::*;
use dsa::transaction::Choices;
use model::ResultCode::{self, *};
use proto::Request;
use proto::control::{Control, transaction_specification};
use proto::ext::password_modify::{OID, PasswordModify};
use proto::op::Extended;
use proto::op::ModifyKind::{self, Replace};

const GRACE: &str = "uid=grace,ou=people,dc=example";
const KING: [(ModifyKind, &str, &[&str]); 1] = [(Replace, "sn", &["King"])];

impl Client {
    fn change_password(
        &mut self,
        controls: &[Control<'_>],
        user: Option<&str>,
        old: Option<&str>,
        new: &str,
    ) -> ResultCode {
        let (user, old) = (user.map(str::as_bytes), old.map(str::as_bytes));
        let value = PasswordModify { user, old, new: Some(new.as_bytes()) }.encode();
        self.ask(&Request::Extended(Extended { oid: OID, value: Some(&value) }), controls).end.code
    }

    fn change_password_in(
        &mut self,
        txn: &[u8],
        user: Option<&str>,
        old: Option<&str>,
        new: &str,
    ) -> ResultCode {
        self.change_password(&[transaction_specification::control(txn)], user, old, new)
    }

    fn can_bind(&self, dn: &str, password: &str) -> bool {
        self.another().bind(dn, password).code == Success
    }
}

#[test]
fn d73_a_user_that_the_transaction_made() {
    each(|mut client| {
        let txn = client.start();
        let attributes: Given<'_> = &[("objectClass", &["inetOrgPerson"]), ("cn", &["x"]), ("sn", &["x"])];
        let new = "uid=new,ou=people,dc=example";
        assert_eq!(client.add_in(&txn, new, attributes).code, Success);
        assert_eq!(client.change_password_in(&txn, Some(new), None, "fresh"), Success);
        assert_eq!(client.rename_in(&txn, GRACE, "uid=hopper", None).code, Success);
        let renamed = "uid=hopper,ou=people,dc=example";
        assert_eq!(client.change_password_in(&txn, Some(renamed), None, "bug"), Success);
        assert_eq!(client.change_password_in(&txn, Some("u:ada"), None, "silk"), Success);
        assert!(client.can_bind(ADA, "lace") && !client.can_bind(ADA, "silk"));
        assert_eq!(client.commit(&txn).code, Success);
        for (dn, password) in [(new, "fresh"), (renamed, "bug"), (ADA, "silk")] {
            assert!(client.can_bind(dn, password), "{dn}");
        }
    });
}

#[test]
fn d73_a_user_that_the_transaction_took_away() {
    each(|mut client| {
        let txn = client.start();
        assert_eq!(client.delete_in(&txn, GRACE).code, Success);
        assert_eq!(client.change_password_in(&txn, Some(GRACE), None, "bug"), NoSuchObject);
        assert_eq!(client.commit(&txn).code, NoSuchObject);
    });
}

/// The old password is the one that the transaction has made.
#[test]
fn d73_one_password_after_another() {
    each(|mut client| {
        assert_eq!(client.bind(ADA, "lace").code, Success);
        let txn = client.start();
        assert_eq!(client.change_password_in(&txn, None, Some("lace"), "silk"), Success);
        assert_eq!(client.change_password_in(&txn, None, Some("silk"), "wool"), Success);
        assert_eq!(client.commit(&txn).code, Success);
        assert!(client.can_bind(ADA, "wool") && !client.can_bind(ADA, "silk"));
        assert_eq!(client.bind(ADA, "wool").code, Success);
        let txn = client.start();
        assert_eq!(client.change_password_in(&txn, None, Some("wool"), "silk"), Success);
        assert_eq!(client.change_password_in(&txn, None, Some("wool"), "lace"), InvalidCredentials);
        assert_eq!(client.commit(&txn).code, InvalidCredentials);
        assert!(client.can_bind(ADA, "wool"));
    });
}

/// Ada, as a client of her own. Clients have precedence over each other by these, the root DN by the first.
fn ada_ranked(client: &Client, root: u8, people: u8) -> Client {
    let chosen = [format!("{root}:{ROOT_DN}"), format!("{people}:ou=people,dc=example")];
    let precedence = chosen.iter().map(|one| one.parse().expect("it is one")).collect();
    let chosen = Choices { precedence, ..Choices::default() };
    client.dsa.transactions().put(&chosen, client.dsa.shard().schema()).expect("they are in order");
    let mut ada = client.another();
    assert_eq!(ada.bind(ADA, "lace").code, Success);
    ada
}

#[test]
fn d80_a_users_password_has_precedence() {
    for inside in [false, true] {
        each(|mut client| {
            let mut ada = ada_ranked(&client, 1, 5);
            let (txn, others) = (client.start(), client.start());
            assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
            assert_eq!(client.modify_in(&others, GRACE, &KING).code, Success);
            match inside {
                false => assert_eq!(ada.change_password(&[], None, Some("lace"), "silk"), Success),
                true => {
                    let own = ada.start();
                    assert_eq!(ada.change_password_in(&own, None, Some("lace"), "silk"), Success);
                    assert_eq!(client.modify(ADA, &KING).code, Busy, "the entry is held");
                    assert_eq!(ada.commit(&own).code, Success);
                }
            }
            assert!(ada.can_bind(ADA, "silk"));
            assert_eq!(client.next_notice(), Some(Busy), "the notice comes first");
            assert_eq!(client.commit(&txn).code, Canceled);
            assert_eq!(client.commit(&others).code, Success, "it is about another entry");
        });
    }
}

#[test]
fn d79_a_users_password_goes_after() {
    each(|mut client| {
        let mut ada = ada_ranked(&client, 5, 1);
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
        assert_eq!(ada.change_password(&[], None, Some("lace"), "silk"), Busy);
        let own = ada.start();
        assert_eq!(ada.change_password_in(&own, None, Some("lace"), "silk"), Busy);
        assert_eq!(ada.commit(&own).code, Busy);
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!(ada.change_password(&[], None, Some("lace"), "silk"), Success);
    });
}

/// A client that may change nothing takes nothing from others.
#[test]
fn d80_what_is_refused_preempts_nobody() {
    each(|mut client| {
        let mut ada = ada_ranked(&client, 1, 5);
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, GRACE, &KING).code, Success);
        let own = ada.start();
        assert_eq!(ada.modify_in(&own, GRACE, &KING).code, InsufficientAccessRights);
        assert_eq!(client.modify(GRACE, &[(Replace, "cn", &["Amazing"])]).code, Success, "nothing is held");
        assert_eq!(client.commit(&txn).code, Success);
    });
}

impl Client {
    /// The code of the notice that comes before the answer to what is asked next, which begins a transaction.
    fn next_notice(&mut self) -> Option<ResultCode> {
        let start = Request::Extended(Extended { oid: proto::ext::start_transaction::OID, value: None });
        let (_, bytes) = self.encode(&start, &[]);
        let (answers, _) = self.raw(&bytes);
        let notice = answers.iter().find(|answer| answer.id == 0)?;
        Some(codes(std::slice::from_ref(notice))[0])
    }
}
