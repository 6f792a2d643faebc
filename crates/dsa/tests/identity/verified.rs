//! P9: passwords that were right not long ago are not verified again, where that is switched on; and nobody passes by it who would not without.

use super::hashed::{Changes, pooled_with};
use super::*;
use model::ResultCode::*;
use proto::op::ModifyKind::*;

/// Verifications and hashes that were done.
fn done(client: &Client) -> u64 {
    client.dsa.password_pool().metrics().done
}

/// Does a bind succeed, and is it worked out?
fn binds(client: &Client, dn: &str, password: &str) -> (bool, bool) {
    let before = done(client);
    (client.binds(dn, password), done(client) > before)
}

fn with_cache() -> Config {
    let mut config = with_tool();
    config.settings.configured.passwords.cache_seconds = 300;
    config
}

#[test]
fn p9_nothing_is_remembered_by_default() {
    pooled_with(with_tool(), |client| {
        assert_eq!(binds(&client, ADA, "lace"), (true, true));
        assert_eq!(binds(&client, ADA, "lace"), (true, true));
    });
}

#[test]
fn p9_changed_deleted_and_locked_accounts_do_not_pass() {
    pooled_with(with_cache(), |mut client| {
        assert_eq!(binds(&client, ADA, "wrong"), (false, true));
        assert_eq!(binds(&client, ADA, "wrong"), (false, true), "only what is right is remembered");
        assert_eq!(binds(&client, ADA, "lace"), (true, true));
        assert_eq!(binds(&client, "UID=Ada,ou=people,dc=example", "lace"), (true, false), "by any spelling");
        assert_eq!(binds(&client, ADA, "lace\0"), (false, true));
        // Another value, and the old word as another value.
        client.bind_root();
        for word in ["new", "lace"] {
            assert_eq!(client.modify(ADA, &[(Replace, "userPassword", &[word])]).code, Success);
            assert_eq!(binds(&client, ADA, word), (true, true));
            assert_eq!(binds(&client, ADA, word), (true, false));
        }
        assert_eq!(binds(&client, ADA, "new"), (false, true));
        // Locked, and unlocked.
        client.bind_root();
        let locked: Changes<'_> = &[(Replace, "pwdAccountLockedTime", &["000001010000Z"])];
        let policy: Given<'_> = &[
            ("objectClass", &["device", "pwdPolicy"]),
            ("pwdAttribute", &["userPassword"]),
            ("pwdLockout", &["TRUE"]),
        ];
        client.must_add("cn=policy,dc=example", policy);
        assert_eq!(
            client.modify(ADA, &[(Add, "pwdPolicySubentry", &["cn=policy,dc=example"])]).code,
            Success
        );
        assert_eq!(client.modify(ADA, locked).code, Success);
        // The right word takes as long as a wrong one each time: else a lock would not end guessing.
        for _ in 0..3 {
            assert_eq!(binds(&client, ADA, "lace"), (false, true));
            assert_eq!(binds(&client, ADA, "wrong"), (false, true));
        }
        assert_eq!(client.modify(ADA, &[(Delete, "pwdAccountLockedTime", &[])]).code, Success);
        assert!(client.binds(ADA, "lace"));
        // Deleted, and another one with the name, the value and perhaps the id.
        let stored = client.read(ADA, &["userPassword"]).values("userPassword").expect("there is one");
        assert_eq!(binds(&client, ADA, "lace"), (true, false));
        assert_eq!(client.delete(ADA).code, Success);
        assert!(!client.binds(ADA, "lace"));
        let again: Given<'_> =
            &[("objectClass", &["account", "simpleSecurityObject"]), ("userPassword", &[&stored[0]])];
        client.must_add(ADA, again);
        assert_eq!(binds(&client, ADA, "lace"), (true, true));
        assert_eq!(binds(&client, ADA, "lace"), (true, false));
        // After its time, and when it is switched off.
        let later = |seconds: u64| env::clock::Now {
            monotonic_ns: START.monotonic_ns + seconds * 1_000_000_000,
            ..START
        };
        client.at(later(299));
        assert_eq!(binds(&client, ADA, "lace"), (true, false));
        client.at(later(300));
        assert_eq!(binds(&client, ADA, "lace"), (true, true));
        assert_eq!(
            client.modify("cn=config", &[(Replace, "pandoPasswordsCacheSeconds", &["0"])]).code,
            Success
        );
        assert_eq!(binds(&client, ADA, "lace"), (true, true));
        let too_long: Changes<'_> = &[(Replace, "pandoPasswordsCacheSeconds", &["301"])];
        assert_ne!(client.modify("cn=config", too_long).code, Success);
        assert_eq!(
            client.modify("cn=config", &[(Replace, "pandoPasswordsCacheSeconds", &["300"])]).code,
            Success
        );
        assert_eq!(binds(&client, ADA, "lace"), (true, true), "what was is forgotten");
    });
}
