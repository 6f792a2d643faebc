//! Passwords that are not stored as new ones are: a bind that proves one stores it anew, and changes nothing else.

use super::*;
use dsa::config::Scheme;
use model::ResultCode::*;
use model::Scope;
use proto::op::ModifyKind::{self, *};

const HASH: &str = "{SSHA}gVK8WC9YyFT1gMsQHTGCgT3sSv5zYWx0";
const OTHER: &str = "{CRYPT}$1$IyodTB1o$enMGa6gmMQfpXvptgLDED.";

fn name(number: usize) -> String {
    format!("uid=old{number},ou=people,dc=example")
}

fn add(client: &mut Client, number: usize, passwords: &[&str]) {
    let person: [(&str, &[&str]); 4] =
        [("objectClass", &["inetOrgPerson"]), ("cn", &["x"]), ("sn", &["x"]), ("userPassword", passwords)];
    client.another().must_add(&name(number), &person);
}

fn stored(client: &Client, number: usize) -> Vec<String> {
    client.another().read(&name(number), &["userPassword"]).values("userPassword").unwrap_or_default()
}

/// In memory and with a log, with schemes that take long and others.
fn with(schemes: &[Scheme], test: impl Fn(Client)) {
    each_with(&chosen(with_tool(), |c| c.passwords.schemes = schemes.to_vec()), test);
}

#[test]
fn test_p5_a_bind_stores_its_password_anew() {
    for (scheme, begin) in [(Scheme::SaltedSha512, "{SSHA512}"), (Scheme::Pbkdf2Sha256, "{PBKDF2-SHA256}")] {
        with(&[scheme], |mut client| {
            add(&mut client, 0, &[HASH, OTHER]);
            assert!(!client.binds(&name(0), "wrong"));
            assert!(stored(&client, 0).contains(&HASH.to_owned()), "nothing was proven");
            assert!(client.binds(&name(0), "secret"));
            let values = stored(&client, 0);
            assert!(values.len() == 2 && values.contains(&OTHER.to_owned()), "{values:?}");
            assert!(values.iter().any(|value| value.starts_with(begin)), "{values:?}");
            // Once.
            assert!(client.binds(&name(0), "secret") && !client.binds(&name(0), "wrong"));
            assert_eq!(stored(&client, 0), values);
            let state = client.another().read(&name(0), &["pwdChangedTime", "pwdHistory"]);
            assert!(state.values("pwdChangedTime").is_none() && state.values("pwdHistory").is_none());
        });
    }
}

/// Only the entryCSN says that something of the entry is another. Its next change is one as any.
#[test]
fn test_p5_a_renewal_is_no_change_of_the_entry() {
    with(&[Scheme::SaltedSha512], |mut client| {
        const CSN: &str = "entryCSN";
        const LAST: [&str; 2] = ["modifyTimestamp", "modifiersName"];
        let state = |client: &Client, number: usize| {
            let found = client.another().read(&name(number), &[CSN, LAST[0], LAST[1]]);
            let csn = found.values(CSN).expect("each entry has one");
            (csn, LAST.map(|name| found.values(name).expect("each entry has one")))
        };
        let change = |client: &Client, number| {
            let change: &[(ModifyKind, &str, &[&str])] = &[(Replace, "description", &["x"])];
            let mut root = client.another();
            root.at(client.now);
            assert_eq!(root.modify(&name(number), change).code, Success);
        };
        // One that was added only, and one that was changed since.
        add(&mut client, 0, &[HASH]);
        add(&mut client, 1, &[HASH]);
        client.wait(5);
        change(&client, 1);
        for number in 0..2 {
            let (csn, last) = state(&client, number);
            client.wait(5);
            assert!(client.binds(&name(number), "secret"));
            let (new_csn, new_last) = state(&client, number);
            assert!(new_csn > csn && new_last == last, "{new_csn:?} {new_last:?}");
            let filter = format!("(modifyTimestamp={})", last[0][0]);
            assert!(
                client.another().search(&name(number), Scope::Base, &filter, &["1.1"]).entries.len() == 1
            );
            change(&client, number);
            let (changed_csn, changed) = state(&client, number);
            // With a log time stands still here.
            let is_later = changed[0] > last[0] || client.commit.is_some();
            assert!(changed_csn > new_csn && is_later, "{changed:?}");
            assert_ne!(changed[1], ["cn=Password Policy"]);
        }
        // No client says when an entry was changed.
        let says: &[(ModifyKind, &str, &[&str])] = &[(Replace, LAST[0], &["20200101000000Z"])];
        assert_eq!(client.another().modify(&name(0), says).code, ConstraintViolation);
    });
}

/// Renewed again, by a later scheme: what was kept is kept on.
#[test]
fn test_p5_what_is_kept_is_kept_by_the_next_renewal() {
    with(&[Scheme::SaltedSha512], |mut client| {
        add(&mut client, 0, &[HASH, OTHER]);
        let last =
            |client: &Client| client.another().read(&name(0), &["modifyTimestamp"]).values("modifyTimestamp");
        let before = last(&client);
        client.wait(5);
        assert!(client.binds(&name(0), "secret") && client.binds(&name(0), "Secret-1"));
        assert!(stored(&client, 0).iter().all(|value| value.starts_with("{SSHA512}")));
        assert_eq!(last(&client), before);
    });
}

#[test]
fn of_several_schemes_each_has_a_value() {
    with(&[Scheme::SaltedSha1, Scheme::ScramSha256], |mut client| {
        add(&mut client, 0, &[HASH]);
        assert!(client.binds(&name(0), "secret"));
        let values = stored(&client, 0);
        assert!(values.len() == 2 && values.iter().any(|value| value.starts_with("{SCRAM-SHA-256}")));
        assert!(client.binds(&name(0), "secret"));
        assert_eq!(stored(&client, 0), values);
        // Without room for both nothing is done.
        let salted: Vec<String> =
            (0..7).map(|n| format!("{{SSHA}}gVK8WC9YyFT1gMsQHTGCgT3sSv5zYWx{n}")).collect();
        let mut all: Vec<&str> = salted.iter().map(String::as_str).collect();
        all.push(OTHER);
        add(&mut client, 1, &all);
        assert!(client.binds(&name(1), "Secret-1"));
        assert!(stored(&client, 1).contains(&OTHER.to_owned()));
    });
}

#[test]
fn fifty_in_a_second() {
    let mut client = Client::with(chosen(config(), |c| c.passwords.schemes = vec![Scheme::SaltedSha512]));
    (0..60).for_each(|number| add(&mut client, number, &[HASH]));
    assert!((0..60).all(|number| client.binds(&name(number), "secret")));
    let old = |client: &Client| (0..60).filter(|number| stored(client, *number)[0] == HASH).count();
    assert_eq!(old(&client), 10);
}

#[test]
fn not_where_it_is_off_and_never_in_the_clear() {
    let off = chosen(config(), |c| {
        (c.passwords.schemes, c.passwords.renew) = (vec![Scheme::SaltedSha512], false);
    });
    let clear = chosen(config(), |c| c.passwords.schemes = vec![Scheme::Clear]);
    for config in [off, clear] {
        let mut client = Client::with(config);
        add(&mut client, 0, &[HASH]);
        assert!(client.binds(&name(0), "secret"));
        assert_eq!(stored(&client, 0), [HASH]);
    }
    // It can be changed while the server runs.
    let mut client = Client::with(chosen(config(), |c| c.passwords.schemes = vec![Scheme::SaltedSha512]));
    add(&mut client, 0, &[HASH]);
    let off: &[(ModifyKind, &str, &[&str])] = &[(Replace, "pandoPasswordsRenew", &["off"])];
    assert_eq!(client.another().modify("cn=config", off).code, Success);
    assert!(client.binds(&name(0), "secret"));
    assert_eq!(stored(&client, 0), [HASH]);
}
