//! Words in the clear become hashes before the log, whatever update brings them, and whether or not that takes a while.

use super::*;
use crate::fixture::{each, logged};
use dsa::config::Scheme;
use env::task::PlainThread;
use model::ResultCode::*;
use proto::Request;
use proto::op::Extended;
use proto::op::ModifyKind::{self, *};
use std::sync::Arc;

pub(super) type Changes<'c> = &'c [(ModifyKind, &'c str, &'c [&'c str])];

const HASH: &str = "{SSHA}gVK8WC9YyFT1gMsQHTGCgT3sSv5zYWx0";
const NEW: &str = "uid=new,ou=people,dc=example";

fn stored(client: &Client, dn: &str, attribute: &str) -> Vec<String> {
    let mut root = client.another();
    root.read(dn, &["userPassword"]).values(attribute).unwrap_or_default()
}

fn person<'p>(password: &'p [&'p str]) -> [(&'p str, &'p [&'p str]); 4] {
    [("objectClass", &["inetOrgPerson"]), ("cn", &["x"]), ("sn", &["x"]), ("userPassword", password)]
}

/// P4: in no command of the log, in the clear, in base64 or in hex; nor in the directory.
#[test]
fn test_p4_no_update_brings_the_word_into_the_log() {
    let (mut client, log) = logged();
    let begin = log.lock().expect("nobody panicked").len();
    client.must_add(NEW, &person(&["w0rd-of-add"]));
    for changes in [
        &[(Replace, "userPassword", &["w0rd-of-replace"][..])][..],
        &[(Add, "USERPASSWORD", &["w0rd-of-more", "{CLEARTEXT}w0rd-clear"])],
        &[(Add, "2.5.4.35;x-a", &["w0rd-of-option"])],
        &[(Replace, "sn", &["x"]), (Delete, "userPassword", &["w0rd-of-more"])],
        &[(Delete, "userPassword;x-a", &["w0rd-of-option"])],
    ] {
        let end = client.modify(NEW, changes);
        assert_eq!(end.code, Success, "{changes:?}: {}", end.text);
    }
    assert_eq!(client.modify(NEW, &[(Delete, "userPassword", &["w0rd-wrong"])]).code, NoSuchAttribute);
    let txn = client.start();
    let changes: Changes<'_> = &[(Add, "userPassword", &["w0rd-in-txn"])];
    assert_eq!(client.modify_in(&txn, NEW, changes).code, Success);
    let changes: Changes<'_> = &[(Replace, "userPassword", &["w0rd-last"])];
    assert_eq!(client.modify_in(&txn, NEW, changes).code, Success);
    assert_eq!(client.commit(&txn).code, Success);
    assert!(client.binds(NEW, "w0rd-last") && !client.binds(NEW, "w0rd-in-txn"));
    let logged: Vec<u8> =
        log.lock().expect("nobody panicked")[begin..].iter().flat_map(|l| l.0.clone()).collect();
    for trace in ["w0rd", "dzByZ", "cwcmQ", "MHJk", "77307264"] {
        let found = logged.windows(trace.len()).any(|part| part.eq_ignore_ascii_case(trace.as_bytes()));
        assert!(!found, "{trace}");
    }
    assert!(stored(&client, NEW, "userPassword")[0].starts_with("{SSHA}"));
    assert!(crate::fixture::replayed(&log).binds(NEW, "w0rd-last"));
}

/// P5: hashes stay as they are; what no password would ever match is refused.
#[test]
fn test_p5_a_hash_of_an_administrator_is_stored_as_it_is() {
    each(|mut client| {
        client.must_add(NEW, &person(&[HASH, "{CRYPT}$1$IyodTB1o$enMGa6gmMQfpXvptgLDED."]));
        assert!(stored(&client, NEW, "userPassword").contains(&HASH.to_owned()));
        assert!(client.binds(NEW, "secret") && client.binds(NEW, "Secret-1"));
        for wrong in ["{UNKNOWN}x", "{SSHA}AAAA", "{CRYPT}*", "{SASL}ann", "{CLEAR}", ""] {
            for kind in [Add, Replace] {
                let end = client.modify(NEW, &[(kind, "userPassword", &[wrong])]);
                assert_eq!(end.code, ConstraintViolation, "{wrong}: {}", end.text);
            }
            let end = client.add("uid=other,ou=people,dc=example", &person(&[wrong]));
            assert_eq!(end.code, ConstraintViolation, "{wrong}");
        }
        assert_eq!(stored(&client, NEW, "userPassword").len(), 2);
    });
}

/// P5: a delete of the word takes away what it verifies, and nothing else.
#[test]
fn test_p5_delete_with_the_word() {
    each(|mut client| {
        client.must_add(NEW, &person(&["one", "two", HASH]));
        let delete =
            |client: &mut Client, word| client.modify(NEW, &[(Delete, "userPassword", &[word])]).code;
        assert_eq!(delete(&mut client, "three"), NoSuchAttribute);
        assert_eq!(delete(&mut client, "two"), Success);
        assert!(client.binds(NEW, "one") && !client.binds(NEW, "two"));
        assert_eq!(delete(&mut client, HASH), Success, "as it is stored");
        assert_eq!(delete(&mut client, "one"), Success);
        assert_eq!(stored(&client, NEW, "userPassword"), [""; 0]);
        // Of the same request.
        let changes: Changes<'_> = &[(Add, "userPassword", &["a", "b"]), (Delete, "userPassword", &["a"])];
        assert_eq!(client.modify(NEW, changes).code, Success);
        assert!(client.binds(NEW, "b") && !client.binds(NEW, "a"));
    });
}

#[test]
fn an_entry_has_eight_values_at_most() {
    let many: Vec<String> = (0..9).map(|n| format!("p{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    each(|mut client| {
        assert_eq!(client.add(NEW, &person(&many)).code, ConstraintViolation);
        client.must_add(NEW, &person(&many[..8]));
        assert!(client.binds(NEW, "p7"));
        assert_eq!(client.modify(NEW, &[(Add, "userPassword", &["more"])]).code, ConstraintViolation);
        assert_eq!(client.modify(NEW, &[(Replace, "userPassword", &many)]).code, ConstraintViolation);
        let changes: Changes<'_> = &[(Delete, "userPassword", &["p3"]), (Add, "userPassword", &["more"])];
        assert_eq!(client.modify(NEW, changes).code, Success);
        assert!(client.binds(NEW, "more") && !client.binds(NEW, "p3"));
    });
}

/// An update that is rewritten goes with those before it and those behind it.
#[test]
fn among_other_updates_of_a_bundle() {
    each(|mut client| {
        let mut bytes = Vec::new();
        for (n, password) in
            [None, None, Some("one"), None, Some("two"), Some(HASH), None].into_iter().enumerate()
        {
            let values = password.map(|password| [password]);
            let given = person(values.as_ref().map_or(&[], |values| &values[..]));
            let given = if password.is_some() { &given[..] } else { &given[..3] };
            let list = attributes_of(given);
            let attributes = proto::list::Attributes::parse(&list).expect("just encoded");
            let dn = format!("uid=n{n},ou=people,dc=example");
            let add = Request::Add(proto::op::Add { dn: dn.as_bytes(), attributes });
            bytes.extend(client.encode(&add, &[]).1);
            bytes.extend(client.modify_bytes(&dn, &[(Replace, "sn", &["y"])], &[]));
        }
        let (answers, _) = client.raw(&bytes);
        assert_eq!(codes(&answers), [Success; 14]);
        assert!(
            client.binds("uid=n2,ou=people,dc=example", "one")
                && client.binds("uid=n4,ou=people,dc=example", "two")
        );
    });
}

#[test]
fn several_schemes_are_one_password() {
    let schemes = vec![Scheme::SaltedSha512, Scheme::SaltedSha1];
    each_with(&chosen(config(), |c| c.passwords.schemes = schemes), |mut client| {
        client.must_add(NEW, &person(&["one"]));
        assert_eq!(stored(&client, NEW, "userPassword").len(), 2);
        assert_eq!(client.modify(NEW, &[(Delete, "userPassword", &["one"])]).code, Success);
        assert!(stored(&client, NEW, "userPassword").is_empty() && !client.binds(NEW, "one"));
        client.must_bind(ADA, "lace");
        let changes: Changes<'_> = &[(Delete, "userPassword", &["lace"]), (Add, "userPassword", &["new"])];
        assert_eq!(client.modify(ADA, changes).code, Success);
        assert!(client.binds(ADA, "new") && !client.binds(ADA, "lace"));
        assert_eq!(stored(&client, ADA, "userPassword").len(), 2);
    });
}

/// A directory whose passwords take long, with a thread for them.
pub(super) fn pooled(test: impl Fn(Client)) {
    pooled_with(with_tool(), test);
}

/// The same of another configuration.
pub(super) fn pooled_with(config: Config, test: impl Fn(Client)) {
    let config = chosen(config, |c| c.passwords.schemes = vec![Scheme::Argon2id]);
    each_with(&config, |mut client| {
        let pool = Arc::clone(client.dsa.password_pool());
        pool.will_be_served();
        let serving = Arc::clone(&pool);
        let thread = PlainThread::spawn("password", move || serving.serve(|| 0)).expect("there is a thread");
        client.is_pooled = true;
        test(client);
        pool.end();
        thread.join().expect("it has ended");
    });
}

/// P8: what takes long is done by the pool, and the requests behind it wait.
#[test]
fn test_p8_binds_and_updates_wait_for_the_pool() {
    pooled(|mut client| {
        assert!(
            stored(&client, ADA, "userPassword")[0].starts_with("{ARGON2}$argon2id$v=19$m=19456,t=2,p=1$")
        );
        assert!(client.binds(ADA, "lace") && !client.binds(ADA, "wrong"));
        assert!(!client.binds("uid=nobody,dc=example", "lace") && !client.binds(GRACE, "lace"));
        let done = client.dsa.password_pool().metrics().done;
        assert!(done >= 4, "names that nobody has, too: {done}");
        client.must_add(NEW, &person(&["one"]));
        let changes: Changes<'_> = &[(Delete, "userPassword", &["one"]), (Add, "userPassword", &["two"])];
        assert_eq!(client.modify(NEW, changes).code, Success);
        assert!(client.binds(NEW, "two") && !client.binds(NEW, "one"));
        client.must_bind(ADA, "lace");
        assert_eq!(client.change_password(None, Some("wrong"), "x"), InvalidCredentials);
        assert_eq!(client.change_password(None, Some("lace"), "countess"), Success);
        let changes: Changes<'_> =
            &[(Delete, "userPassword", &["countess"]), (Add, "userPassword", &["king"])];
        assert_eq!(client.modify(ADA, changes).code, Success);
        assert!(client.binds(ADA, "king") && !client.binds(ADA, "countess"));
    });
}

/// Whether a password is the right one may be asked by a compare as well; what is stored is nobody's password.
#[test]
fn a_compare_verifies() {
    pooled(|mut client| {
        let hash = stored(&client, ADA, "userPassword").remove(0);
        assert_eq!(client.compare(ADA, "userPassword", "lace").code, CompareTrue);
        for wrong in ["wrong", "", &hash] {
            assert_eq!(client.compare(ADA, "userPassword", wrong).code, CompareFalse, "{wrong}");
        }
        assert_eq!(client.compare(ADA, "userPassword;x-a", "lace").code, NoSuchAttribute);
        assert_eq!(client.compare("ou=people,dc=example", "userPassword", "lace").code, NoSuchAttribute);
        // In a bundle it keeps its place, and what is behind it sees nothing of it.
        let mut bytes = client.modify_bytes(ADA, &[(Replace, "userPassword", &["new"])], &[]);
        for value in ["new", "lace"] {
            let assertion = model::filter::Assertion { attribute: b"userPassword", value: value.as_bytes() };
            let compare = proto::op::Compare { dn: ADA.as_bytes(), assertion };
            bytes.extend(client.encode(&Request::Compare(compare), &[]).1);
        }
        let (answers, _) = client.raw(&bytes);
        assert_eq!(codes(&answers), [Success, CompareTrue, CompareFalse]);
        client.dsa.password_pool().end();
        assert_eq!(client.compare(ADA, "userPassword", "new").code, Busy);
    });
}

/// Guesses by compares count like those by binds, for both.
#[test]
fn compares_that_fail_are_counted() {
    let mut client = Client::new();
    for _ in 0..10 {
        assert_eq!(client.compare(ADA, "userPassword", "x").code, CompareFalse);
    }
    assert_eq!(client.compare(ADA, "userPassword", "lace").code, CompareFalse);
    assert!(!client.binds(ADA, "lace"));
    client.now.monotonic_ns += 1_000_000_000;
    client.worker.tick(client.now);
    assert_eq!(client.compare(ADA, "userPassword", "lace").code, CompareTrue);
    assert!(client.binds(ADA, "lace"));
}

#[test]
fn test_p8_a_bundle_keeps_its_order() {
    pooled(|mut client| {
        let mut bytes = client.encode(&bind(ADA, "lace"), &[]).1;
        let who = Request::Extended(Extended { oid: proto::ext::who_am_i::OID, value: None });
        bytes.extend(client.encode(&who, &[]).1);
        bytes.extend(client.modify_bytes(ADA, &[(Replace, "userPassword", &["new"])], &[]));
        bytes.extend(client.encode(&bind(ADA, "lace"), &[]).1);
        bytes.extend(client.encode(&bind(ADA, "new"), &[]).1);
        bytes.extend(client.modify_bytes(ADA, &[(Replace, "sn", &["x"])], &[]));
        let (answers, _) = client.raw(&bytes);
        let expected = [Success, Success, Success, InvalidCredentials, Success, InsufficientAccessRights];
        assert_eq!(codes(&answers), expected);
    });
}

#[test]
fn test_p8_a_transaction_waits_too() {
    pooled(|mut client| {
        let txn = client.start();
        let changes: Changes<'_> = &[(Replace, "sn", &["y"])];
        assert_eq!(client.modify_in(&txn, ADA, changes).code, Success);
        for word in ["one", "two"] {
            let changes: Changes<'_> = &[(Add, "userPassword", &[word])];
            assert_eq!(client.modify_in(&txn, ADA, changes).code, Success);
        }
        let changes: Changes<'_> = &[(Delete, "userPassword", &["one"])];
        assert_eq!(client.modify_in(&txn, ADA, changes).code, Success);
        assert_eq!(client.commit(&txn).code, Success);
        assert!(client.binds(ADA, "two") && client.binds(ADA, "lace") && !client.binds(ADA, "one"));
    });
}

/// P8: (51) where the pool takes no more; and the session goes on.
#[test]
fn test_p8_busy_where_the_pool_takes_no_more() {
    pooled(|mut client| {
        client.dsa.password_pool().end();
        let mut other = client.another();
        other.is_pooled = true;
        assert_eq!(other.bind(ADA, "lace").code, Busy);
        assert_eq!(other.bind(ROOT_DN, PASSWORD).code, Success, "that one is fast");
        assert_eq!(client.modify(ADA, &[(Replace, "userPassword", &["new"])]).code, Busy);
        assert_eq!(client.modify(ADA, &[(Replace, "sn", &["new"])]).code, Success);
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, ADA, &[(Replace, "userPassword", &["x"])]).code, Busy);
    });
}

/// M3: an address that fails too often waits.
#[test]
fn test_m3_too_many_failures() {
    let mut client = Client::new();
    let mut other = client.another();
    let codes: Vec<_> = (0..120).map(|n| other.bind(&format!("uid=u{n},dc=example"), "x").code).collect();
    assert_eq!(codes[..100], [InvalidCredentials; 100]);
    assert_eq!(codes[119], Busy);
    assert_eq!(other.bind("", "").code, Success, "nobody in particular tries nothing");
    other.now.monotonic_ns += 1_000_000_000;
    other.worker.tick(other.now);
    assert_eq!(other.bind(ADA, "lace").code, Success);
    // An account that failed ten times has one try a second, from wherever.
    for _ in 0..10 {
        assert_eq!(client.bind(GRACE, "x").code, InvalidCredentials);
        assert_eq!(client.bind(ADA, "x").code, InvalidCredentials);
    }
    let mut third = client.another();
    assert_eq!(third.bind(ADA, "lace").code, InvalidCredentials);
    third.now.monotonic_ns += 1_000_000_000;
    third.worker.tick(third.now);
    assert_eq!(third.bind(ADA, "lace").code, Success);
}
