//! Failures that lock or delay accounts, accounts that nobody uses, and when somebody bound last.

use super::policy::*;
use super::*;
use model::ResultCode::*;
use model::Scope;
use proto::op::ModifyKind::*;

#[test]
fn test_y1_failures_lock_an_account() {
    let policy = [
        ("pwdLockout", "TRUE"),
        ("pwdMaxFailure", "3"),
        ("pwdLockoutDuration", "60"),
        ("pwdFailureCountInterval", "30"),
    ];
    under(&policy, |mut client| {
        let wrong = (InvalidCredentials, Some((None, None)));
        for _ in 0..2 {
            assert_eq!(client.bind_and_report(ADA, "wrong"), wrong);
        }
        assert!(client.binds(ADA, "first-word"), "a success ends the count");
        for _ in 0..2 {
            assert_eq!(client.bind_and_report(ADA, "wrong"), wrong);
        }
        client.wait(30);
        assert_eq!(client.bind_and_report(ADA, "wrong"), wrong);
        assert_eq!(client.state("pwdAccountLockedTime"), [""; 0], "the interval ends it too");
        for _ in 0..2 {
            assert_eq!(client.bind_and_report(ADA, "wrong"), wrong);
        }
        assert_eq!(client.state("pwdAccountLockedTime").len(), 1);
        let by = client.another().read(ADA, &["modifiersName"]).values("modifiersName");
        assert_eq!(by, Some(vec!["cn=Password Policy".to_owned()]));
        assert_eq!(client.bind_and_report(ADA, "first-word"), wrong, "it does not tell");
        assert_eq!(client.another().modify("cn=config", &[(Replace, SAYS_LOCKED, &["on"])]).code, Success);
        for word in ["first-word", "wrong"] {
            assert_eq!(
                client.bind_and_report(ADA, word),
                (InvalidCredentials, Some((None, Some(1)))),
                "{word}"
            );
        }
        client.wait(59);
        assert!(!client.binds(ADA, "first-word"));
        client.wait(1);
        assert!(client.binds(ADA, "first-word"));
        assert_eq!(client.state("pwdAccountLockedTime"), [""; 0], "the lock has gone");
    });
}

#[test]
fn test_y1_failures_delay_the_next_try() {
    under(&[(DELAYS[0], "2"), (DELAYS[1], "5"), ("pwdMaxRecordedFailure", "9")], |mut client| {
        // The delay doubles, up to its maximum. A try in it is answered as any, and counts for nothing.
        for delay in [2, 4, 5, 5] {
            assert!(!client.binds(ADA, "wrong"));
            for _ in 1..delay {
                client.wait(1);
                let refused = client.bind_and_report(ADA, "first-word");
                assert_eq!(refused, (InvalidCredentials, Some((None, None))), "{delay}");
            }
            client.wait(1);
        }
        assert!(client.binds(ADA, "first-word"));
        assert!(!client.binds(ADA, "wrong"), "it begins anew");
        client.wait(2);
        assert!(client.binds(ADA, "first-word"));
        assert!(!client.binds(ADA, "wrong"));
        client.wait(1);
        assert_eq!(client.another().modify(ADA, &[(Replace, "userPassword", &["second"])]).code, Success);
        assert!(client.binds(ADA, "second"), "another password ends it");
        assert_eq!(client.state("pwdAccountLockedTime"), [""; 0]);
    });
}

/// The end of a delay is written, so it is there after a start, and a success takes it away. Both are no change of the entry.
#[test]
fn test_y1_a_delay_is_kept_in_the_entry() {
    under(&[(DELAYS[0], "60"), (DELAYS[1], "60")], |mut client| {
        let before = client.stamps();
        assert!(!client.binds(ADA, "wrong"));
        assert_eq!(client.state(DELAY_END), [""; 0]);
        client.write_times();
        assert_eq!(client.state(DELAY_END).len(), 1);
        assert!(!client.binds(ADA, "first-word"));
        client.wait(55);
        assert!(client.binds(ADA, "first-word"));
        client.write_times();
        assert_eq!(client.state(DELAY_END), [""; 0]);
        assert_eq!(client.stamps(), before);
        // As after a start: no failure is known, and the entry says until when.
        let mut root = client.another();
        assert_eq!(root.modify(ADA, &[(Replace, DELAY_END, &["20990101000000Z"])]).code, Success);
        assert!(!client.binds(ADA, "first-word"));
        assert_eq!(root.modify(ADA, &[(Replace, "userPassword", &["second"])]).code, Success);
        assert_eq!(client.state(DELAY_END), [""; 0], "a new password ends it");
        assert!(client.binds(ADA, "second"));
    });
}

const DELAY_END: &str = "pwdAccountTmpLockoutEnd";
const LAST_SUCCESS: &str = "pwdLastSuccess";

/// Y8: the time of the last bind has its precision, and the entry does not change by it.
#[test]
fn test_y8_the_last_bind_is_kept_by_its_precision() {
    under(&[("pwdMinLength", "3")], |mut client| {
        assert!(client.binds(ADA, "first-word"));
        client.write_times();
        assert_eq!(client.state(LAST_SUCCESS), [""; 0], "by default it is not");
        let precision: Changes<'_> = &[(Replace, "pandoPasswordsLastSuccess", &["100"])];
        assert_eq!(client.another().modify("cn=config", precision).code, Success);
        // The last change is one of another entry, so the times of this one differ from it.
        assert_eq!(client.another().modify(GRACE, &[(Replace, "description", &["x"])]).code, Success);
        let before = client.stamps();
        assert!(!client.binds(ADA, "wrong"));
        client.write_times();
        assert_eq!(client.state(LAST_SUCCESS), [""; 0]);
        assert!(client.binds(ADA, "first-word"));
        assert_eq!(client.state(LAST_SUCCESS), [""; 0], "with the next batch");
        client.write_times();
        let first = client.state(LAST_SUCCESS);
        assert_eq!((first.len(), client.state("authTimestamp")), (1, first.clone()));
        client.wait(94);
        assert!(client.binds(ADA, "first-word"));
        client.write_times();
        assert_eq!(client.state(LAST_SUCCESS), first, "it is not old enough");
        assert!(client.binds(ADA, "first-word"));
        client.write_times();
        assert!(client.state(LAST_SUCCESS) > first);
        assert_eq!(client.stamps(), before);
        let found =
            client.another().search("dc=example", Scope::Subtree, "(authTimestamp>=20200101000000Z)", &[]);
        assert_eq!(found.dns(), [ADA]);
    });
}

#[test]
fn test_y1_an_idle_account_is_locked() {
    under(&[("pwdMaxIdle", "1000")], |mut client| {
        for _ in 0..3 {
            client.wait(900);
            assert!(client.binds(ADA, "first-word"), "each bind begins it anew");
        }
        client.write_times();
        assert_eq!(client.state(LAST_SUCCESS).len(), 1, "it is kept for the policy");
        client.wait(1000);
        assert_eq!(client.bind_and_report(ADA, "first-word"), (InvalidCredentials, Some((None, None))));
        let mut root = client.another();
        assert_eq!(root.modify(ADA, &[(Replace, "userPassword", &["second"])]).code, Success);
        assert!(client.binds(ADA, "second"), "so does a new password");
        // One of which nothing is known, as after an import, is not idle.
        let unknown: Changes<'_> = &[(Replace, LAST_SUCCESS, &[]), (Replace, "pwdChangedTime", &[])];
        assert_eq!(root.modify(ADA, unknown).code, Success);
        client.write_times();
        assert_eq!(root.modify(ADA, unknown).code, Success);
        client.wait(2000);
        assert!(client.binds(ADA, "second"));
    });
}

#[test]
fn test_y1_an_administrator_locks_and_unlocks() {
    under(&[("pwdLockout", "TRUE"), ("pwdMaxFailure", "2")], |mut client| {
        let mut root = client.another();
        for _ in 0..2 {
            assert!(!client.binds(ADA, "wrong"));
        }
        client.wait(1_000_000);
        assert!(!client.binds(ADA, "first-word"), "until an administrator says so");
        assert_eq!(root.modify(ADA, &[(Delete, "pwdAccountLockedTime", &[])]).code, Success);
        assert!(client.binds(ADA, "first-word"));
        let forever: Changes<'_> = &[(Replace, "pwdAccountLockedTime", &["000001010000Z"])];
        assert_eq!(root.modify(ADA, forever).code, Success);
        assert!(!client.binds(ADA, "first-word"));
        assert_eq!(root.modify(ADA, &[(Replace, "userPassword", &["second"])]).code, Success);
        assert!(client.binds(ADA, "second"), "a new password unlocks");
        let later: Changes<'_> = &[(Replace, "pwdStartTime", &["20991231235959Z"])];
        assert_eq!(root.modify(ADA, later).code, Success);
        assert!(!client.binds(ADA, "second"));
        let over: Changes<'_> =
            &[(Replace, "pwdStartTime", &[]), (Replace, "pwdEndTime", &["20200101000000Z"])];
        assert_eq!(root.modify(ADA, over).code, Success);
        assert!(!client.binds(ADA, "second"));
    });
}

/// When binds failed is written, too: all of it since the last success, and read by who may. It is no change of the entry.
#[test]
fn test_y1_failures_are_kept_in_the_entry() {
    const FAILURES: &str = "pwdFailureTime";
    under(
        &[("pwdLockout", "TRUE"), ("pwdMaxFailure", "3"), ("pwdFailureCountInterval", "100")],
        |mut client| {
            let before = client.stamps();
            assert!(!client.binds(ADA, "wrong") && !client.binds(ADA, "wrong"));
            client.write_times();
            assert_eq!(client.state(FAILURES).len(), 2, "of one millisecond, too");
            assert_eq!(client.stamps(), before);
            let mut own = client.another();
            assert!(client.binds(ADA, "first-word"));
            client.write_times();
            assert_eq!(client.state(FAILURES), [""; 0], "a success ends them");
            own.must_bind(ADA, "first-word");
            assert!(!client.binds(ADA, "wrong"));
            client.write_times();
            assert_eq!(
                own.read(ADA, &[FAILURES]).values(FAILURES).map(|all| all.len()),
                Some(1),
                "one's own"
            );
            assert_eq!(own.read(ADA, &["+"]).values(FAILURES).map(|all| all.len()), Some(1));
            let filter = format!("({FAILURES}>=20200101000000Z)");
            assert_eq!(
                client.another().search("dc=example", Scope::Subtree, &filter, &["1.1"]).entries.len(),
                1
            );
            // Too long ago: it does not count, and goes with the next one.
            client.wait(100);
            assert!(!client.binds(ADA, "wrong") && !client.binds(ADA, "wrong"));
            client.write_times();
            assert_eq!(client.state(FAILURES).len(), 2);
            // A lock leaves them for the administrator; another password takes them away, also those that wait.
            assert!(!client.binds(ADA, "wrong"));
            assert_eq!(client.state("pwdAccountLockedTime").len(), 1);
            assert_eq!(client.another().modify(ADA, &[(Replace, "userPassword", &["second"])]).code, Success);
            client.write_times();
            assert_eq!(client.state(FAILURES), [""; 0]);
        },
    );
}
