//! The two extensions of DVTDS, rows D73 to D76 of its features.

use crate::common::*;
use crate::fixture::*;
use dsa::transaction::Choices;
use model::ResultCode::*;
use proto::control::{non_transaction, transaction_specification};
use proto::op::ModifyKind::{self, Replace};

const GRACE: &str = "uid=grace,ou=people,dc=example";
const KING: [(ModifyKind, &str, &[&str]); 1] = [(Replace, "sn", &["King"])];

fn one(value: &str) -> Option<Vec<String>> {
    Some(vec![value.to_owned()])
}

fn switch(client: &Client, implicit_begin: bool, implicit_membership: bool) {
    let chosen = Choices { implicit_begin, implicit_membership, ..Choices::default() };
    client.dsa.transactions().put(&chosen, client.dsa.shard().schema()).expect("they are in order");
}

fn with_extensions(test: impl Fn(Client)) {
    each(|client| {
        switch(&client, true, true);
        test(client);
    });
}

/// The client has the results before it decides, and a rollback restores all.
#[test]
fn d73_results_come_before_the_end() {
    with_extensions(|mut client| {
        assert_eq!(client.modify_in(b"mine", ADA, &KING).code, Success);
        assert_eq!(client.modify_in(b"mine", "uid=nobody,dc=example", &KING).code, NoSuchObject);
        assert_eq!(client.settle(b"mine", false).code, Success);
        assert_eq!(client.value(ADA, "sn"), one("Lovelace"));
    });
}

#[test]
fn d74_an_update_begins_a_transaction_that_the_client_names() {
    with_extensions(|mut client| {
        let mut other = client.another();
        // The same name in two sessions is two transactions.
        assert_eq!(client.modify_in(b"mine", ADA, &KING).code, Success);
        assert_eq!(other.modify_in(b"mine", GRACE, &KING).code, Success);
        assert_eq!(client.commit(b"mine").code, Success);
        assert_eq!((client.value(ADA, "sn"), client.value(GRACE, "sn")), (one("King"), one("Hopper")));
        assert_eq!(other.commit(b"mine").code, Success);
        assert_eq!(client.value(GRACE, "sn"), one("King"));
        // And the name can be used again.
        assert_eq!(client.modify_in(b"mine", ADA, &[(Replace, "sn", &["Queen"])]).code, Success);
        assert_eq!(client.settle(b"mine", false).code, Success);
        assert_eq!(client.value(ADA, "sn"), one("King"));
    });
}

#[test]
fn d74_two_identifiers_at_once() {
    with_extensions(|mut client| {
        assert_eq!(client.modify_in(b"one", ADA, &KING).code, Success);
        assert_eq!(client.modify_in(b"two", GRACE, &KING).code, Busy);
        assert_eq!(client.commit(b"two").code, Canceled);
        assert_eq!(client.commit(b"one").code, Success);
        // Begun by a start, another may be open beside.
        let txn = client.start();
        assert_eq!(client.modify_in(b"two", GRACE, &KING).code, Busy);
        let second = client.start();
        assert_eq!(client.modify_in(&second, GRACE, &KING).code, Success);
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!(client.value(GRACE, "sn"), one("Hopper"));
        assert_eq!(client.commit(&second).code, Success);
        assert_eq!(client.value(GRACE, "sn"), one("King"));
    });
}

#[test]
fn d74_a_failing_first_update_and_a_commit() {
    with_extensions(|mut client| {
        assert_eq!(client.modify_in(b"mine", "uid=nobody,dc=example", &KING).code, NoSuchObject);
        let culprit = client.last_id();
        assert_eq!(client.modify_in(b"mine", ADA, &KING).code, Success);
        let end = client.commit(b"mine");
        assert_eq!((end.code, end.culprit()), (NoSuchObject, Some(culprit)));
        assert_eq!(client.value(ADA, "sn"), one("Lovelace"));
    });
}

#[test]
fn d74_names_that_cannot_be() {
    with_extensions(|mut client| {
        for name in [&b""[..], &[b'a'; 65]] {
            assert_eq!(client.modify_in(name, ADA, &KING).code, ProtocolError);
        }
        assert_eq!(client.modify_in(&[0xff; 64], ADA, &KING).code, Success);
        assert_eq!(client.commit(&[0xff; 64]).code, Success);
    });
}

#[test]
fn d75_an_update_without_a_control_belongs_to_it() {
    with_extensions(|mut client| {
        assert_eq!(client.modify_in(b"mine", ADA, &KING).code, Success);
        assert_eq!(client.modify(GRACE, &KING).code, Success);
        let outside = [non_transaction::control()];
        assert_eq!(client.modify_with(GRACE, &[(Replace, "mail", &["a@b"])], &outside).end.code, Success);
        assert_eq!(client.value(GRACE, "mail"), one("a@b"), "it is seen at once");
        assert_eq!(client.value(GRACE, "sn"), one("Hopper"));
        assert_eq!(client.settle(b"mine", false).code, Success);
        assert_eq!((client.value(ADA, "sn"), client.value(GRACE, "sn")), (one("Lovelace"), one("Hopper")));
        assert_eq!(client.value(GRACE, "mail"), one("a@b"), "it survives the rollback");
        // Without a transaction all is as ever.
        assert_eq!(client.modify(GRACE, &KING).code, Success);
        assert_eq!(client.value(GRACE, "sn"), one("King"));
    });
}

#[test]
fn d75_also_after_a_start() {
    with_extensions(|mut client| {
        let txn = client.start();
        assert_eq!(client.modify(ADA, &KING).code, Success);
        assert_eq!(client.delete(GRACE).code, Success);
        assert_eq!(client.value(ADA, "sn"), one("Lovelace"));
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!(client.value(ADA, "sn"), one("King"));
        assert_eq!(client.read(GRACE, &[]).end.code, NoSuchObject);
    });
}

#[test]
fn d75_all_in_one_write() {
    with_extensions(|mut client| {
        let named = [transaction_specification::control(b"mine")];
        let outside = [non_transaction::control()];
        let mut bytes = client.modify_bytes(ADA, &KING, &named);
        bytes.extend(client.modify_bytes(GRACE, &KING, &[]));
        bytes.extend(client.modify_bytes(GRACE, &[(Replace, "mail", &["a@b"])], &outside));
        bytes.extend(client.settle_bytes(b"mine", true));
        bytes.extend(client.modify_bytes(GRACE, &[(Replace, "cn", &["G"])], &[]));
        assert_eq!(codes(&client.raw(&bytes).0), [Success; 5]);
        assert_eq!((client.value(ADA, "sn"), client.value(GRACE, "sn")), (one("King"), one("King")));
        assert_eq!((client.value(GRACE, "mail"), client.value(GRACE, "cn")), (one("a@b"), one("G")));
    });
}

/// It may have been on its way when the notice was: alone it would be half of a transaction.
#[test]
fn d75_what_would_have_belonged_to_an_aborted_one_is_refused() {
    each(|mut client| {
        let chosen = Choices {
            age_max_ms: 1000,
            implicit_begin: true,
            implicit_membership: true,
            ..Choices::default()
        };
        client.dsa.transactions().put(&chosen, client.dsa.shard().schema()).expect("they are in order");
        assert_eq!(client.modify_in(b"old", ADA, &KING).code, Success);
        client.now.monotonic_ns += 2_000_000_000;
        client.worker.tick(client.now);
        let outside = [non_transaction::control()];
        let mut bytes = client.modify_bytes(GRACE, &KING, &[]);
        bytes.extend(client.modify_bytes(GRACE, &KING, &[]));
        bytes.extend(client.modify_bytes(GRACE, &[(Replace, "mail", &["a@b"])], &outside));
        bytes.extend(client.settle_bytes(b"old", true));
        let expected = [TimeLimitExceeded, Canceled, Canceled, Success, Canceled];
        assert_eq!(codes(&client.raw(&bytes).0), expected);
        assert_eq!((client.value(GRACE, "sn"), client.value(GRACE, "mail")), (one("Hopper"), one("a@b")));
        // Once its end was answered, or another has begun, things go on.
        assert_eq!(client.modify(GRACE, &KING).code, Success);
        assert_eq!(client.modify_in(b"old", ADA, &KING).code, Success);
        client.now.monotonic_ns += 2_000_000_000;
        client.worker.tick(client.now);
        let bytes = client.modify_bytes(GRACE, &[(Replace, "sn", &["Queen"])], &[]);
        assert_eq!(codes(&client.raw(&bytes).0), [TimeLimitExceeded, Canceled]);
        let txn = client.start();
        assert_eq!(client.modify(GRACE, &[(Replace, "sn", &["Queen"])]).code, Success);
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!(client.value(GRACE, "sn"), one("Queen"));
    });
}

/// Of several it is the last that began, whichever was named since.
#[test]
fn d75_of_several_the_last_that_began() {
    with_extensions(|mut client| {
        let (first, second) = (client.start(), client.start());
        assert_eq!(client.modify_in(&first, ADA, &KING).code, Success);
        assert_eq!(client.modify(GRACE, &KING).code, Success);
        assert_eq!(client.commit(&first).code, Success);
        assert_eq!((client.value(ADA, "sn"), client.value(GRACE, "sn")), (one("King"), one("Hopper")));
        assert_eq!(client.commit(&second).code, Success);
        assert_eq!(client.value(GRACE, "sn"), one("King"));
    });
}

#[test]
fn d76_both_are_off_until_they_are_switched_on() {
    each(|mut client| {
        let outside = [non_transaction::control()];
        for (begin, membership) in [(false, false), (false, true), (true, false), (false, false)] {
            switch(&client, begin, membership);
            let begun = client.modify_in(b"mine", ADA, &[(Replace, "mail", &["x@y"])]).code;
            assert_eq!(begun, if begin { Success } else { Canceled });
            client.settle(b"mine", false);
            let txn = client.start();
            assert_eq!(client.modify(GRACE, &[(Replace, "mail", &["x@y"])]).code, Success);
            assert_eq!(client.settle(&txn, false).code, Success);
            assert_eq!(client.value(GRACE, "mail") == one("x@y"), !membership);
            assert_eq!(client.modify(GRACE, &[(Replace, "mail", &["g@h"])]).code, Success);
            let code = client.modify_with(GRACE, &[(Replace, "mail", &["g@h"])], &outside).end.code;
            assert_eq!(code, if membership { Success } else { UnavailableCriticalExtension });
        }
    });
}
