//! Whose transaction has precedence over whose: rows D79 and D80 of the features.

use crate::common::*;
use crate::fixture::*;
use dsa::transaction::Choices;
use model::ResultCode::*;
use proto::control::proxied_authorization;
use proto::ext::aborted_transaction;
use proto::op::ModifyKind::{self, Replace};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

const KING: [(ModifyKind, &str, &[&str]); 1] = [(Replace, "sn", &["King"])];
const QUEEN: [(ModifyKind, &str, &[&str]); 1] = [(Replace, "sn", &["Queen"])];

#[derive(Default)]
struct Bell(AtomicBool);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A client of this precedence: its own DN is that of the root, who has it.
fn rank(client: &Client, number: u8) {
    let precedence = vec![format!("{number}:{ROOT_DN}").parse().expect("it is one")];
    let chosen = Choices { precedence, ..Choices::default() };
    client.dsa.transactions().put(&chosen, client.dsa.shard().schema()).expect("they are in order");
}

fn notice(out: &[u8]) -> (i32, Outcome) {
    let [answer] = &answers(out)[..] else { panic!("one notice: {out:?}") };
    let What::End(end) = &answer.what else { panic!("{answer:?}") };
    (answer.id, end.clone())
}

/// A transaction's precedence is that of its client when it touched its first entry.
#[test]
fn d80_the_higher_precedence_preempts_and_the_loser_gets_the_notice() {
    each(|mut client| {
        let mut high = client.another();
        rank(&client, 1);
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
        let bell = Arc::<Bell>::default();
        let waker = Waker::from(Arc::clone(&bell));
        let mut out = Vec::new();
        client.session.poll_notices(&client.worker, &mut Context::from_waker(&waker), &mut out);
        assert!(out.is_empty() && client.session.expects_notices());
        rank(&client, 7);
        assert_eq!(high.modify(ADA, &QUEEN).code, Success, "it waits for nobody");
        assert!(bell.0.load(Ordering::Relaxed), "the session is woken");
        client.session.poll_notices(&client.worker, &mut Context::from_waker(&waker), &mut out);
        let (id, end) = notice(&out);
        assert_eq!((id, end.code, end.value), (0, Busy, Some(txn.clone())));
        assert_eq!(end.oid.as_deref().map(str::as_bytes), Some(aborted_transaction::OID));
        assert_eq!(client.commit(&txn).code, Canceled);
        assert_eq!(client.value(ADA, "sn"), Some(vec!["Queen".to_owned()]));
    });
}

#[test]
fn d79_the_lower_precedence_is_asked_to_try_again() {
    each(|mut client| {
        let mut low = client.another();
        rank(&client, 7);
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
        rank(&client, 1);
        assert_eq!(low.modify(ADA, &QUEEN).code, Busy);
        assert_eq!(
            low.rename("uid=grace,ou=people,dc=example", "uid=ada", true, None).code,
            Busy,
            "also as a new name"
        );
        assert_eq!(low.modify("uid=grace,ou=people,dc=example", &QUEEN).code, Success);
        let other = low.start();
        assert_eq!(low.modify_in(&other, ADA, &QUEEN).code, Busy);
        assert_eq!(low.commit(&other).code, Busy);
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!(client.value(ADA, "sn"), Some(vec!["King".to_owned()]));
        assert_eq!(low.modify(ADA, &QUEEN).code, Success, "nothing is held any more");
    });
}

#[test]
fn d80_a_transaction_preempts_one() {
    each(|mut client| {
        let mut high = client.another();
        rank(&client, 1);
        let txn = client.start();
        assert_eq!(client.delete_in(&txn, ADA).code, Success);
        rank(&client, 7);
        let other = high.start();
        assert_eq!(high.modify_in(&other, ADA, &QUEEN).code, Success);
        // The notice comes before whatever is asked next.
        let bytes = client.settle_bytes(&txn, true);
        let (answers, _) = client.raw(&bytes);
        assert_eq!((answers[0].id, codes(&answers)), (0, vec![Busy, Canceled]));
        assert_eq!(high.commit(&other).code, Success);
        assert_eq!(client.value(ADA, "sn"), Some(vec!["Queen".to_owned()]));
    });
}

/// Among equals nothing is held: the first who ends is the first.
#[test]
fn equals_do_not_hinder_each_other() {
    each(|mut client| {
        let mut other = client.another();
        rank(&client, 3);
        let (first, second) = (client.start(), other.start());
        assert_eq!(client.modify_in(&first, ADA, &KING).code, Success);
        assert_eq!(other.modify_in(&second, ADA, &QUEEN).code, Success);
        assert_eq!(other.commit(&second).code, Success);
        assert_eq!(client.commit(&first).code, Success);
        assert_eq!(client.value(ADA, "sn"), Some(vec!["King".to_owned()]));
    });
}

/// A read of many updates is run in groups of 128; what is answered at once must not overtake those that wait for the log.
#[test]
fn answers_at_once_come_after_those_that_wait_for_the_log() {
    each(|mut client| {
        let mut low = client.another();
        rank(&client, 7);
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, ADA, &KING).code, Success);
        rank(&client, 1);
        let config: [(ModifyKind, &str, &[&str]); 1] = [(Replace, "pandoTxnOpenMax", &["9"])];
        for (dn, changes, code) in [(ADA, &QUEEN, Busy), ("cn=config", &config, Success)] {
            let grace = "uid=grace,ou=people,dc=example";
            let mut bytes: Vec<u8> = (0..128).flat_map(|_| low.modify_bytes(grace, &QUEEN, &[])).collect();
            bytes.extend(low.modify_bytes(dn, changes, &[]));
            let (answers, _) = low.raw(&bytes);
            assert_eq!(codes(&answers).last(), Some(&code));
            assert!(answers.len() == 129 && answers.is_sorted_by_key(|answer| answer.id), "{dn}");
        }
        let refused = [control(proxied_authorization::OID, b"dn:", true), control(b"1.2.3.4", b"", true)];
        let mut bytes: Vec<u8> = (0..128).flat_map(|_| low.modify_bytes(ADA, &QUEEN, &[])).collect();
        bytes.extend(low.modify_bytes(ADA, &QUEEN, &refused));
        let (answers, _) = low.raw(&bytes);
        assert_eq!(codes(&answers).last(), Some(&UnavailableCriticalExtension));
        assert!(answers.is_sorted_by_key(|answer| answer.id));
    });
}

/// Two clients of different names, of which one has precedence over for good.
#[test]
fn d80_a_writer_has_precedence_over_another() {
    let grace = "uid=grace,ou=people,dc=example";
    let mut low =
        Client::with(chosen(config(), |c| c.standing.writers = vec![ADA.to_uppercase(), grace.to_owned()]));
    let password: [(ModifyKind, &str, &[&str]); 1] = [(Replace, "userPassword", &["hop"])];
    assert_eq!(low.modify(grace, &password).code, Success);
    let precedence = vec![format!("7:{grace}").parse().expect("it is one")];
    let chosen = Choices { precedence, ..Choices::default() };
    low.dsa.transactions().put(&chosen, low.dsa.shard().schema()).expect("they are in order");
    let mut high = low.another();
    assert_eq!((low.bind(ADA, "lace").code, high.bind(grace, "hop").code), (Success, Success));
    let (txn, other) = (low.start(), high.start());
    assert_eq!(low.modify_in(&txn, ADA, &KING).code, Success);
    assert_eq!(high.modify_in(&other, ADA, &QUEEN).code, Success);
    assert_eq!(low.modify(ADA, &KING).code, Busy);
    assert_eq!(high.commit(&other).code, Success);
    assert_eq!(low.modify(ADA, &[(Replace, "description", &["x"])]).code, Success);
    assert_eq!(low.value(ADA, "sn"), Some(vec!["Queen".to_owned()]));
}
