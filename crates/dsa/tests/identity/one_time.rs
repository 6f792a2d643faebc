//! P9: passwords with a one-time code behind them.

use super::hashed::{Changes, pooled_with};
use super::*;
use hmac::{Hmac, KeyInit, Mac};
use model::ResultCode::*;
use proto::op::ModifyKind::*;
use sha2::Sha256;

const KEY: &[u8] = b"12345678901234567890123456789012";
/// The key and `word`.
const VALUE: &str = "{TOTP256ANDPW}GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZA|{SSHA}gZ/iQ5sZpFQvGWGRTlLnxzhnXacwMTIz";
/// What takes longer than a thread that answers has, of the same word.
const SLOW: &str = "{PBKDF2-SHA256}1000$c2FsdCBvZiBhIGNsaWVudA$woxK1ndrnvHH6RCRE2b6s2TGa/eaApmKQsK2Q086GuA";

/// The password at a time, as the device of the user shows its end (RFC 4226).
fn password_at(word: &str, seconds: u64) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(KEY).expect("any length");
    mac.update(&(seconds / 30).to_be_bytes());
    let hash = mac.finalize().into_bytes();
    let at = usize::from(hash[31] & 0xf);
    let cut = u32::from_be_bytes(hash[at..at + 4].try_into().expect("four octets")) & 0x7fff_ffff;
    format!("{word}{:06}", cut % 1_000_000)
}

fn now_s(client: &Client) -> u64 {
    client.now.wall_ms / 1000
}

/// Ada has such a value. Codes are taken from the second minute on. Of each pair of tests one has a thread for passwords.
fn with_value(config: Config, value: &str, test: impl Fn(Client)) {
    let begin = |mut client: Client| {
        assert_eq!(client.modify(ADA, &[(Replace, "userPassword", &[value])]).code, Success);
        let word = password_at("word", now_s(&client));
        assert!(!client.binds(ADA, &word), "it may have been used before the start");
        client.wait(90);
        test(client);
    };
    each_with(&config, begin);
    pooled_with(config, begin);
}

#[test]
fn test_p9_codes_right_late_early_twice() {
    with_value(with_tool(), VALUE, |mut client| {
        let now = now_s(&client);
        let at = |seconds: u64| password_at("word", seconds);
        for wrong in [
            at(now - 60),
            at(now + 60),
            password_at("wrong", now),
            "word".to_owned(),
            at(now)[4..].to_owned(),
        ] {
            assert!(!client.binds(ADA, &wrong), "{wrong}");
        }
        // A step late, now, a step early; each once, and none that is older than one that was used.
        assert!(client.binds(ADA, &at(now - 30)) && !client.binds(ADA, &at(now - 30)));
        assert!(client.binds(ADA, &at(now)) && !client.binds(ADA, &at(now)));
        assert!(
            client.binds(ADA, &at(now + 30))
                && !client.binds(ADA, &at(now + 30))
                && !client.binds(ADA, &at(now))
        );
        client.wait(60);
        assert!(client.binds(ADA, &at(now + 60)));
    });
}

/// Nobody else takes the password for right, nor the code away.
#[test]
fn test_p9_only_a_bind_takes_a_code() {
    with_value(with_tool(), VALUE, |mut client| {
        let word = password_at("word", now_s(&client));
        client.bind_root();
        for password in [&word[..], "word"] {
            assert_eq!(client.compare(ADA, "userPassword", password).code, CompareFalse);
        }
        assert_eq!(client.bind(ADA, &word).code, Success);
        let own: [Changes<'_>; 3] = [
            &[(Replace, "userPassword", &["another word"])],
            &[(Delete, "userPassword", &["word"]), (Add, "userPassword", &["another word"])],
            &[(Add, "userPassword", &["another word"])],
        ];
        for changes in own {
            assert_ne!(client.modify(ADA, changes).code, Success);
        }
        client.wait(60);
        assert!(client.binds(ADA, &password_at("word", now_s(&client))), "it is as it was");
        client.bind_root();
        assert_eq!(client.modify(ADA, &[(Replace, "userPassword", &["lace"])]).code, Success);
        assert!(client.binds(ADA, "lace"));
    });
}

/// Neither a renewal nor what is remembered of passwords makes a code count twice, or not at all.
#[test]
fn test_p9_a_code_is_not_remembered_as_a_password() {
    let mut config = with_tool();
    config.settings.configured.passwords.cache_seconds = 300;
    let slow = VALUE.replace("{SSHA}gZ/iQ5sZpFQvGWGRTlLnxzhnXacwMTIz", SLOW);
    with_value(config, &slow, |mut client| {
        let word = password_at("word", now_s(&client));
        assert!(client.binds(ADA, &word) && !client.binds(ADA, &word));
        client.bind_root();
        assert_eq!(client.read(ADA, &["userPassword"]).values("userPassword"), Some(vec![slow.clone()]));
    });
}
