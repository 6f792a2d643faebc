//! P1: values that other programs made are verified: the right word matches; wrong ones and the empty one do not.
//! Each line has the command that made it. The word is `Secret-1`.

use password::{Memory, Stored};

const WORD: &[u8] = b"Secret-1";

/// `slappasswd` of OpenLDAP 2.5.13, with the modules pw-sha2, pw-pbkdf2 and argon2 (`-o module-load=...`), and passwords of crypt(3) with
/// `-c FORMAT`.
const SLAPPASSWD: &[(&str, &str)] = &[
    ("-h {SSHA}", "{SSHA}VQZJbfjRC9jIbuvbi5fSWjYQbIADs1VV"),
    ("-h {SHA}", "{SHA}CFLsCSwo+fPvXjEG95j6YCld+ss="),
    ("-h {SMD5}", "{SMD5}WWFTfWokGfN7DxpuTCIDK9S2Wkk="),
    ("-h {MD5}", "{MD5}4AKSGkwKI8A17UQAXJeZVQ=="),
    ("-h {SSHA256}", "{SSHA256}ufIWdeayW53vEMo8/OFmvvApJisneOb6CTzhG7OYNrgiMMLetpA/eA=="),
    ("-h {SSHA384}", "{SSHA384}mF5jyp8iHautcbrC39+0SpMXmJg8o8OkOSEM237BMNeXiYmgjASwUh8PH/JZf1YJDDGohqxMBKA="),
    (
        "-h {SSHA512}",
        "{SSHA512}5SSjTDAa/KkpuofjIySHw6EVy8cO2MolNwHUmK6TErXGaPoK9pmkz8SL45/t5CfzIBhXy5ejKjGqTjIN3hJe+HWjEJ5aKxy0",
    ),
    ("-h {SHA256}", "{SHA256}g66wxmeMQYTfrTAYROhnwOGnVuZ0xm8ejrIXtYXq87Y="),
    ("-h {SHA384}", "{SHA384}WpcGPMuXc43gWBznWZGCjlU0awei+k+KMZ/ev/DffUtlE7xVYsabXbntgaxCiDvH"),
    (
        "-h {SHA512}",
        "{SHA512}BSUwk2zdatenqHxS6Vb/c5uPilzikDoghxZ1DNoQp+cXNgXhU8PKTpRkMuKVFlOsjKOqLbEUu+M9nKpyYVYkhA==",
    ),
    ("-h {PBKDF2}", "{PBKDF2}10000$6mMmVeW3xyA/CXRak4ZvOA$0tFbF0k8CPbzAYvrHLfdBNHuAgA"),
    ("-h {PBKDF2-SHA1}", "{PBKDF2-SHA1}10000$9rqMdDiJNarIJhXZJBv4WA$nWcfQu8zqbH1aSeHT3vk605Uc5o"),
    (
        "-h {PBKDF2-SHA256}",
        "{PBKDF2-SHA256}10000$TIHDQ6ffikJcGUbItnii.w$VsKL5QL3Z38yxMHq/jQ6H7i2GFOLghFEPnQqU7aw5dI",
    ),
    (
        "-h {PBKDF2-SHA512}",
        "{PBKDF2-SHA512}10000$.hUaGsnAiKO4uDqBYYgLRw$RyOl.HeBdJf0Y5Ryi7dd9jmMqZiVc1bbt89rBG5.2lPTWybJvA6ftxPHPXcFI7oeppyeDOpF/RcFQh6k.ogeTA",
    ),
    (
        "-h {ARGON2}",
        "{ARGON2}$argon2i$v=19$m=4096,t=3,p=1$IQ6iiN2s3TEDmSqJhR6arw$O6+y1uz8H8RiS3JjOTQFZCHrHvf75+KM6LpWYReNXpg",
    ),
    ("-h {CRYPT} -c $1$%.8s", "{CRYPT}$1$IyodTB1o$enMGa6gmMQfpXvptgLDED."),
    ("-h {CRYPT} -c $5$%.16s", "{CRYPT}$5$iF6Nw/O/ZR7ch.6D$q2Tq.Z2Wjx6K1d52HBD3iF5swt7cAcGOcOIcOBwzgx."),
    (
        "-h {CRYPT} -c $6$%.16s",
        "{CRYPT}$6$iHvwaVWdNF0TIDZe$uEgsDum/Ajc2yWmRcAX6yiTpOkSb.iE6tKxXJhDGheDoSuanDmiNFZ20Dr0UiFITd4llN3N2pe/jrjqu9N9Ov/",
    ),
    (
        "-h {CRYPT} -c $6$rounds=10000$%.8s",
        "{CRYPT}$6$rounds=10000$XBUbcRh0$TwSbUWhP61Ol5T1DIf8bJ3QGF1CpFyQbXH74p7SbY.ZKS3.Mil2qKymGxcFpYt.2HtfWm17KgS81h6QlVt5kj1",
    ),
    ("-h {CRYPT} -c $2b$06$%.22s", "{CRYPT}$2b$06$MZxTPI29YRJrnpvlSocL7.j922Rbak5t/ZESsOUoa2K4PMPIpHV9W"),
];

/// `mkpasswd -m METHOD` of whois 5.5.17, with libxcrypt. The scheme stands before what it prints.
const MKPASSWD: &[(&str, &str)] = &[
    ("md5crypt", "{CRYPT}$1$TflJAcgs$b5KOfQgUFEQK9Qa21NnKO."),
    ("sha256crypt", "{CRYPT}$5$4XllrXMOxVDuUecE$jWqt1BRPYX0JMpxUaqaEXLSEitFhO/lNtdY616YDclC"),
    (
        "sha512crypt",
        "{crypt}$6$hY.HzRev8Fg21Tw0$odDXZHTGY3sbjsapYlfLBGERoWV/sHLO1cJIpAGT0D21lD0tq7gbhhkp.UHed6mr4CFU9jYv9w93kprzfyuC10",
    ),
    (
        "sha256crypt -R 1000",
        "{CRYPT}$5$rounds=1000$UOUJ8a/JeQx0QJku$tzdC9Pa17K68L5akS.RQDv3k3GECl1vgWV4.uCqsc/3",
    ),
    ("bcrypt", "{CRYPT}$2b$05$iOjnU2oMmIsGePqJRzZih.iXI.LsiFh45qwvxLyE8rE4Bdk3WmiA2"),
    ("bcrypt-a", "{CRYPT}$2a$05$slMln5v.3FiP0bvlIcsliuJyr8YzTgOusppp0ka5uc253YeHspHau"),
    ("yescrypt", "{CRYPT}$y$j9T$Fv8pK9hDDCYzUJvb5UCEF0$wY/323Gt6.w/Vm8xf163b9.2gB5T8rGUk69wWG9pwL9"),
    ("yescrypt -R 1", "{CRYPT}$y$j75$jgJTVSsozVfa56ENyDoAv1$8iAceaXwE0wScd0oLFJJ6cO3Dnk9bLeAzbQHLlS1jY2"),
];

/// Python: passlib 1.7.4, bcrypt 4.0.1, argon2-cffi 25.1.0 (`hash_secret(word, bytes(range(16)), t, m, p, length, type, version)`).
const PYTHON: &[(&str, &str)] = &[
    (
        "argon2 t=2 m=64 p=2 32 I 19",
        "{ARGON2}$argon2i$v=19$m=64,t=2,p=2$AAECAwQFBgcICQoLDA0ODw$wuLe6tBdteUCjZ88yEgXCDAjwCuZ5do6K3yNZTUgCkA",
    ),
    (
        "argon2 t=2 m=64 p=2 32 D 19",
        "{ARGON2}$argon2d$v=19$m=64,t=2,p=2$AAECAwQFBgcICQoLDA0ODw$Zq3JltyDsWyBSZ8yjqJZSj2OZ/P310vFHZ9zN1o3vWg",
    ),
    (
        "argon2 t=2 m=64 p=2 32 ID 19",
        "{ARGON2}$argon2id$v=19$m=64,t=2,p=2$AAECAwQFBgcICQoLDA0ODw$i/lCm/TLHIqdvnZVCZIZYePwN2YFqfiT08L/tvkP6Rc",
    ),
    (
        "argon2 t=2 m=64 p=2 32 ID 16",
        "{ARGON2}$argon2id$v=16$m=64,t=2,p=2$AAECAwQFBgcICQoLDA0ODw$dkDkv7DSLwDrOyQRulPICrmsTcGFHh3MDwZdnmIC6rk",
    ),
    (
        "argon2 t=1 m=1024 p=1 16 ID 19",
        "{ARGON2}$argon2id$v=19$m=1024,t=1,p=1$AAECAwQFBgcICQoLDA0ODw$7opiSfEc39zKRNPEn/RsiQ",
    ),
    ("ldap_pbkdf2_sha1 rounds=1000", "{PBKDF2}1000$es85RyhlbK3VWouxdi5lLA$Kw.TNmfvJAHO70WMGF3bIfGkoP4"),
    (
        "ldap_pbkdf2_sha256 rounds=1000",
        "{PBKDF2-SHA256}1000$dq4VAqDUeg8BoDSm9J7zXg$UAml771xw2Y8wZ7x6D.G4SNvMK5h1kg8ElB6TsKhwvg",
    ),
    (
        "ldap_pbkdf2_sha512 rounds=1000",
        "{PBKDF2-SHA512}1000$lNJ6751zjjHm3Pu/l9Lamw$YdVp/3KFTHrY9w.b8aCkLgd0HM.z.GwYAeoYiNwnvSSKGn/q.IbacgfXCpSGQ0Ap2NAsS/NB.6iAFmB10UD5Ew",
    ),
    ("atlassian_pbkdf2_sha1", "{PKCS5S2}+t97D6EUIuScs7Z2rvX+v4E4MjSFvhtFsICsiKgLgawpDc7QsFFSuKRfgrnFMFQB"),
    (
        "ldap_sha512_crypt rounds=1000",
        "{CRYPT}$6$rounds=1000$j6re8wrohIgDLryd$QQPjbRJrq7uvBdjlocTtaD1.cWKtndYhHQ/I31GzX4XeiqvrfMnR1/McyEl4tQ6XgeCM.somUBFNye.avfuKg0",
    ),
    (
        "ldap_sha256_crypt rounds=5000",
        "{CRYPT}$5$3glmSNZrdGmqQqOp$VcaaHMNoqT7p5bFs6Id7pB3QmjXMvOWxG4FxqZLVwo6",
    ),
    ("ldap_md5_crypt", "{CRYPT}$1$wQrhSIuR$UOgjWn5biIzqoB.hMW4Aw."),
    ("ldap_salted_sha1", "{SSHA}lUSeqeRbbkY9Qx5X0bEN4MTfJimK8R6D"),
    (
        "ldap_salted_sha512",
        "{SSHA512}xmEOKzwkhiK4AW37JZrtuynuow3HUViuJnKQ6IFeSpQ67TwYEQK/PWKU0bFLH6n+Za3TYIFdOXZz4tnC9S8l7AshRKh1bk3J",
    ),
    ("ldap_salted_md5", "{SMD5}Qvfd4g95PSIryqVlhgx8cTAGQOg="),
    ("bcrypt gensalt(4, '2a')", "{CRYPT}$2a$04$ps.HidrT/JiVB36.1takj.4IGzgaUiYuB6t3VVC0JyBZJcZfsW3ei"),
    ("bcrypt gensalt(4, '2b')", "{CRYPT}$2b$04$S1kY9uUSzyqctss.JzagLeDQm.OGoHRkbxotPvDssBbWJY6cjjTLi"),
    ("the same, written $2y$", "{CRYPT}$2y$04$pw5oGf1hYQytAcwipgOBnuKSWPZ/eBaKFl5dT2NQPkkrMBNgP2jym"),
    ("the same, as OpenDJ writes it", "{BCRYPT}$2b$04$QWoVWBxHsxoczHIZQoFL2ePOHm3.bVslq0oBMILNEyvv5JmT3/lme"),
];

/// Python's hashlib and hmac, put together as the documentation of 389 Directory Server, OpenDJ and RFC 5803 has it: `pbkdf2_hmac(hash,
/// word, bytes(range(salt)), 1000, key)`.
const HASHLIB: &[(&str, &str)] = &[
    (
        "389: sha256, salt 24, key 32",
        "{PBKDF2-SHA256}1000$AAECAwQFBgcICQoLDA0ODxAREhMUFRYX$wb8prsd2rE6.4rZEm.Z18dv5.Ht.Qhe.uPkwrFrAGB8",
    ),
    ("sha1, salt 16, key 19", "{PBKDF2}1000$AAECAwQFBgcICQoLDA0ODw$VqPHmWkX5Xm0Iz2nSs/0Sxc7Gw"),
    ("OpenDJ: sha1, salt 8", "{PBKDF2}1000:+swU9//IW9QQhLmyQh8Crfe82aIAAQIDBAUGBw=="),
    (
        "OpenDJ: sha256, salt 8",
        "{PBKDF2-HMAC-SHA256}1000:fEw8yai0nQecg5VEkYai0TY8OldvUVyKRlxrKlc96G8AAQIDBAUGBw==",
    ),
    (
        "OpenDJ: sha512, salt 16",
        "{PBKDF2-HMAC-SHA512}1000:q3kSxvyaIeI5vbJD1+UgDxYVdV6WC82SsUhF/8X3jGXU9lH6q5tOHd2RX6a61YX3pfvYuTrHsMGfRr42Ivxd6AABAgMEBQYHCAkKCwwNDg8=",
    ),
    (
        "389: count, salt 64, key 256 of sha256",
        "{PBKDF2_SHA256}AAAD6AABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj850NvX8nCKwr41YCSnMTmfKMPKjPgEgS8Lmxx8VA11Tm4u99C45CGg3+o9D64dYAHXF97MeORYn8UHmKf50HiNc8xl4axA5BTjBFZ/0ZG1j1VtXPUwcXpBGme817eG+pASx8v4paKUn1ZAzDtWUlsEDcASS/xTIV3iT5H0GYc1Qe2fgNFSmhzG8XNWHkAMlx9OVHSalkJEei13Tpm3rWLv6MqisJQ7h4aMrww+LJ+Txe5taQukxLB4t7n3pXqoLruR+PTCReCND+dXGM6DBoFJpXRSBTaZU0vqy2qDqMdwl4scNl0DryXTiZx7l7vLtP+u2kumv5piScaq2YTMwhnX",
    ),
    (
        "10000 of sha1, salt 16, key 32",
        "{PKCS5S2}AAECAwQFBgcICQoLDA0OD0uG/s8IrKSWe83qELpg9Jn/mnBGzzssDqVP90I9ERnn",
    ),
    (
        "RFC 5803, 4096",
        "{SCRAM-SHA-256}4096:AAECAwQFBgcICQoLDA0ODw==$3DH8XEErupJa8mYFToZ4ivezXaf7PwV6v0+o71bnsTI=:6qqDWrVHDk72QQAyApQI/zwc/jGOkA628EwOeruJJeg=",
    ),
    (
        "RFC 5803, 4096",
        "{SCRAM-SHA-512}4096:AAECAwQFBgcICQoLDA0ODw==$tGE2GtUNBm+M51PSi9tqv/0tC2tlfw6KGGiiFoOk/tU53aW2pqGh6ilJrK8OxBSgagiVQ7Dx1JwtNpswRI0QeA==:ouqFrghi2wAgC3Erwd6eR2DCWLZXAnzjVkoKId5xAINmDWkPbCgXZn5sSOzz3eJWO6uUJ7mUeKuvReIUeP3xCA==",
    ),
];

fn all() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    [SLAPPASSWD, MKPASSWD, PYTHON, HASHLIB].into_iter().flatten()
}

fn verify(stored: &[u8], password: &[u8], memory: &mut Memory) -> bool {
    Stored::read(stored).is_ok_and(|stored| stored.verify(password, memory))
}

#[test]
fn test_p1_values_of_other_programs_match_their_word_and_no_other() {
    let mut memory = Memory::default();
    for (made_by, stored) in all() {
        let read = Stored::read(stored.as_bytes()).unwrap_or_else(|refused| panic!("{made_by}: {refused}"));
        assert!(read.verify(WORD, &mut memory), "{made_by}: {stored}");
        for wrong in [&b"secret-1"[..], b"Secret-1\0", b"Secret-", b"Secret-11", b"", stored.as_bytes()] {
            assert!(!read.verify(wrong, &mut memory), "{made_by}: {stored} matches {wrong:?}");
        }
    }
}

#[test]
fn test_p1_a_nul_at_the_end_of_an_argon2_value_is_cut_once() {
    let mut memory = Memory::default();
    let (_, stored) = SLAPPASSWD.iter().find(|(_, stored)| stored.starts_with("{ARGON2}")).unwrap();
    assert!(verify(format!("{stored}\0").as_bytes(), WORD, &mut memory));
    assert!(!verify(format!("{stored}\0\0").as_bytes(), WORD, &mut memory));
}

#[test]
fn test_p3_cut_values_match_nothing() {
    let mut memory = Memory::default();
    for (made_by, stored) in all() {
        // Padding may be missing, and spare bits may be anything: three characters are surely of the key.
        for len in (0..stored.trim_end_matches('=').len() - 2).step_by(3) {
            let cut = &stored.as_bytes()[..len];
            let is_read = Stored::read(cut).is_ok_and(|stored| {
                // A salt that was cut leaves a whole digest, and a name in braces that is not closed is a word.
                stored.cost_ns() < 10_000_000 && stored.verify(WORD, &mut memory)
            });
            assert!(!is_read, "{made_by}: {}", &stored[..len]);
        }
    }
}

#[test]
fn test_p1_words_in_the_clear_and_the_first_letter_of_a_scheme() {
    let mut memory = Memory::default();
    for stored in ["Secret-1", "{CLEARTEXT}Secret-1", "{clear}Secret-1"] {
        assert!(verify(stored.as_bytes(), WORD, &mut memory));
        assert!(!verify(stored.as_bytes(), &stored.as_bytes()[1..], &mut memory));
    }
    for stored in ["{not a scheme", "{a b}c", "{}x"] {
        assert!(verify(stored.as_bytes(), stored.as_bytes(), &mut memory));
    }
}

#[test]
fn what_is_verified_in_place_is_fast_and_the_rest_is_not() {
    for (made_by, stored) in all() {
        let read = Stored::read(stored.as_bytes()).unwrap();
        let is_digest =
            stored.starts_with("{S") && !stored.starts_with("{SCRAM") || stored.starts_with("{MD5}");
        assert_eq!(read.is_fast(), is_digest, "{made_by}: {} ns", read.cost_ns());
    }
}
