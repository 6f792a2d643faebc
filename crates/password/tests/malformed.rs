//! P3: malformed values and values beyond a bound match nothing, cost nothing, and say why without a word of themselves.

use password::{Memory, Refused, Scheme, Stored, is_hash};
use proptest::prelude::*;

fn reason(stored: &[u8]) -> Refused {
    match Stored::read(stored) {
        Ok(_) => panic!("{} is read", String::from_utf8_lossy(stored)),
        Err(refused) => refused,
    }
}

#[test]
fn test_p3_malformed_values_match_nothing() {
    for stored in [
        "{SSHA}notbase64!",
        "{SSHA}notbase64",
        "{SSHA}",
        "{SSHA}CFLsCSwo+fPvXjEG95j6YCld+ss=",
        "{sha}YWJj",
        "{SHA}qZk+NkcGgWq6PiVxeFDCbJzQ",
        "{CRYPT}x",
        "{CRYPT}*",
        "{CRYPT}",
        "{CRYPT}ab",
        "{CRYPT}abJnggxhB/yWI",
        "{CRYPT}$1$",
        "{CRYPT}$1$$enMGa6gmMQfpXvptgLDED.",
        "{CRYPT}$1$saltsalt$",
        "{CRYPT}$5$salt",
        "{CRYPT}$5$salt$",
        "{CRYPT}$6$rounds=$salt$x",
        "{CRYPT}$6$rounds=999$iHvwaVWdNF0TIDZe$uEgsDum/Ajc2yWmRcAX6yiTpOkSb.iE6tKxXJhDGheDoSuanDmiNFZ20Dr0UiFITd4llN3N2pe/jrjqu9N9Ov/",
        "{CRYPT}$7$CU..../....",
        "{CRYPT}$gy$j9T$x$x",
        "{CRYPT}$y$j9T$$x",
        "{CRYPT}$y$",
        "{CRYPT}$2b$06$short",
        "{CRYPT}$2b$03$MZxTPI29YRJrnpvlSocL7.j922Rbak5t/ZESsOUoa2K4PMPIpHV9W",
        "{BCRYPT}$1$IyodTB1o$enMGa6gmMQfpXvptgLDED.",
        "{ARGON2}$argon2id$v=19$m=64,t=2,p=2$AAECAwQFBgcICQoLDA0ODw$",
        "{ARGON2}$argon2id$v=19$m=64,t=2,p=2$AAECAwQFBgcICQoLDA0ODw$AAECAwQF",
        "{ARGON2}$argon2id$v=19$m=64,t=2,p=2$$i/lCm/TLHIqdvnZVCZIZYePwN2YFqfiT08L/tvkP6Rc",
        "{ARGON2}$argon2id$v=19$m=64,t=0,p=2$AAECAwQFBgcICQoLDA0ODw$i/lCm/TLHIqdvnZVCZIZYePwN2YFqfiT08L/tvkP6Rc",
        "{ARGON2}$argon2id$v=19$m=1,t=1,p=1$AAECAwQFBgcICQoLDA0ODw$i/lCm/TLHIqdvnZVCZIZYePwN2YFqfiT08L/tvkP6Rc",
        "{ARGON2}$argon2x$v=19$m=64,t=2,p=2$AAECAwQFBgcICQoLDA0ODw$i/lCm/TLHIqdvnZVCZIZYePwN2YFqfiT08L/tvkP6Rc",
        "{PBKDF2}1000$es85RyhlbK3VWouxdi5lLA$",
        "{PBKDF2}0$es85RyhlbK3VWouxdi5lLA$Kw.TNmfvJAHO70WMGF3bIfGkoP4",
        "{PBKDF2}-1$es85RyhlbK3VWouxdi5lLA$Kw.TNmfvJAHO70WMGF3bIfGkoP4",
        "{PBKDF2}1000$$Kw.TNmfvJAHO70WMGF3bIfGkoP4",
        "{PBKDF2}1000$es85RyhlbK3VWouxdi5lLA$Kw.TNmfvJAHO70W",
        "{PBKDF2-SHA256}1000$es85RyhlbK3VWouxdi5lLA$Kw.TNmfvJAHO70WMGF3bIfGkoP4",
        "{PBKDF2}1000:",
        "{PBKDF2-HMAC-SHA256}1000",
        "{PBKDF2_SHA256}AAAD6AAB",
        "{PKCS5S2}AAECAwQFBgcICQoLDA0O",
        "{SCRAM-SHA-256}1:AAECAwQFBgcICQoLDA0ODw==$3DH8XEErupJa8mYFToZ4ivezXaf7PwV6v0+o71bnsTI=:6qqDWrVHDk72QQAyApQI/zwc/jGOkA628EwOeruJJeg=",
        "{SCRAM-SHA-256}4096:AAECAwQFBgcICQoLDA0ODw==$:",
        "{CLEARTEXT}",
        "{TOTP1ANDPW}GE|x",
    ] {
        let Refused::Malformed { scheme, expected } = reason(stored.as_bytes()) else { panic!("{stored}") };
        assert!(stored.contains(&scheme) && !expected.is_empty(), "{stored}");
    }
    for stored in ["{SASL}user@realm", "{KERBEROS}x", "{3DES}x", "{AES}x", "{RC4}x", "{x}y"] {
        assert!(matches!(reason(stored.as_bytes()), Refused::UnknownScheme(_)), "{stored}");
    }
    for stored in ["", " ", "\t \n"] {
        assert_eq!(reason(stored.as_bytes()), Refused::Blank);
    }
}

#[test]
fn test_p3_what_exceeds_a_bound_says_which() {
    let long = format!("{{SSHA}}{}", "A".repeat(1 << 20));
    let salty = format!("{{SSHA}}{}", "A".repeat(200));
    for (stored, bound) in [
        (
            "{ARGON2}$argon2id$v=19$m=262145,t=1,p=1$AAECAwQFBgcICQoLDA0ODw$i/lCm/TLHIqdvnZVCZIZYePwN2YFqfiT08L/tvkP6Rc",
            "m=",
        ),
        (
            "{ARGON2}$argon2id$v=19$m=64,t=65,p=1$AAECAwQFBgcICQoLDA0ODw$i/lCm/TLHIqdvnZVCZIZYePwN2YFqfiT08L/tvkP6Rc",
            "t=",
        ),
        (
            "{ARGON2}$argon2id$v=19$m=4294967295,t=4294967295,p=1$AAECAwQFBgcICQoLDA0ODw$i/lCm/TLHIqdvnZVCZIZYePwN2YFqfiT08L/tvkP6Rc",
            "m=",
        ),
        (
            "{ARGON2}$argon2id$v=19$m=262144,t=9,p=1$AAECAwQFBgcICQoLDA0ODw$i/lCm/TLHIqdvnZVCZIZYePwN2YFqfiT08L/tvkP6Rc",
            "2097152",
        ),
        ("{PBKDF2}4294967295$es85RyhlbK3VWouxdi5lLA$Kw.TNmfvJAHO70WMGF3bIfGkoP4", "10000000"),
        ("{PBKDF2}99999999999$es85RyhlbK3VWouxdi5lLA$Kw.TNmfvJAHO70WMGF3bIfGkoP4", "10000000"),
        (
            "{CRYPT}$6$rounds=5000001$iHvwaVWdNF0TIDZe$uEgsDum/Ajc2yWmRcAX6yiTpOkSb.iE6tKxXJhDGheDoSuanDmiNFZ20Dr0UiFITd4llN3N2pe/jrjqu9N9Ov/",
            "5000000",
        ),
        ("{CRYPT}$2b$17$MZxTPI29YRJrnpvlSocL7.j922Rbak5t/ZESsOUoa2K4PMPIpHV9W", "16"),
        ("{CRYPT}$y$jFT$Fv8pK9hDDCYzUJvb5UCEF0$wY/323Gt6.w/Vm8xf163b9.2gB5T8rGUk69wWG9pwL9", "256 MiB"),
        (&long, "1024"),
        (&salty, "salt"),
    ] {
        let refused = reason(stored.as_bytes());
        assert!(matches!(refused, Refused::Beyond { .. }), "{stored}: {refused}");
        let text = refused.to_string();
        assert!(text.contains(bound) && !text.contains("AAAA") && !text.contains("Kw.TN"), "{text}");
    }
}

#[test]
fn a_word_of_more_than_a_kibibyte_is_wrong_unread() {
    let mut memory = Memory::default();
    let (fits, long) = ("x".repeat(1024), "x".repeat(1025));
    assert!(Stored::read(fits.as_bytes()).unwrap().verify(fits.as_bytes(), &mut memory));
    assert!(!Stored::read(long.as_bytes()).unwrap().verify(long.as_bytes(), &mut memory));
}

#[test]
fn what_is_made_matches_and_is_recognised() {
    let mut memory = Memory::default();
    for (name, scheme) in Scheme::ALL {
        let make =
            |salt: u8, memory: &mut Memory| scheme.make("Grün 1".as_bytes(), [salt; 16], memory).unwrap();
        let (one, two) = (make(1, &mut memory), make(2, &mut memory));
        assert_eq!(one == two, *scheme == Scheme::Clear, "{name}");
        let read = Stored::read(&one).unwrap_or_else(|refused| panic!("{name}: {refused}"));
        assert!(read.verify("Grün 1".as_bytes(), &mut memory), "{name}");
        assert!(!read.verify("Grün 2".as_bytes(), &mut memory), "{name}");
        assert_eq!(read.is_fast(), scheme.is_fast(), "{name}");
        let dummy = scheme.dummy();
        let dummy = Stored::read(&dummy).unwrap_or_else(|refused| panic!("{name}: {refused}"));
        assert!(*scheme == Scheme::Clear || dummy.cost_ns() == read.cost_ns(), "{name}");
        assert!(!dummy.verify("Grün 1".as_bytes(), &mut memory), "{name}");
        for (other, of) in Scheme::ALL {
            assert_eq!(of.writes(&one), of == scheme, "{other} of {name}");
        }
    }
}

#[test]
fn what_a_scheme_cannot_stand_for_is_not_made() {
    let mut memory = Memory::default();
    let mut make = |scheme: Scheme, password: &[u8]| scheme.make(password, [7; 16], &mut memory).map(drop);
    assert!(make(Scheme::Bcrypt, &[b'x'; 72]).is_ok() && make(Scheme::Bcrypt, &[b'x'; 73]).is_err());
    assert!(make(Scheme::Sha512Crypt, b"a\0b").is_err() && make(Scheme::Bcrypt, b"a\0a").is_err());
    assert!(make(Scheme::Pbkdf2Sha256, b"a\0").is_err() && make(Scheme::ScramSha256, b"a\0").is_err());
    assert!(make(Scheme::ScramSha256, b"\xff").is_err() && make(Scheme::SaltedSha512, b"\xff").is_ok());
    assert!(make(Scheme::Clear, b"{SHA}x").is_err() && make(Scheme::Clear, b"{SHA x").is_ok());
}

#[test]
fn a_nul_makes_no_word_of_bcrypt_the_same_as_a_shorter_one() {
    let mut memory = Memory::default();
    let stored = Scheme::Bcrypt.make(b"abc", [7; 16], &mut memory).unwrap();
    let read = Stored::read(&stored).unwrap();
    assert!(read.verify(b"abc", &mut memory));
    assert!(!read.verify(b"abc\0abc", &mut memory) && !read.verify(b"abc\0", &mut memory));
}

proptest! {
    /// Of any bytes: no panic, and what is verified was not too expensive.
    #[test]
    fn test_p3_any_value_is_read_without_harm(scheme in "(SSHA|MD5|ARGON2|CRYPT|PBKDF2|PBKDF2_SHA256|SCRAM-SHA-256|BCRYPT)", rest in "[$,=a-z0-9.:/]{0,90}") {
        let stored = format!("{{{scheme}}}{rest}");
        if let Ok(stored) = Stored::read(stored.as_bytes()) && stored.cost_ns() < 1_000_000 {
            stored.verify(b"x", &mut Memory::default());
        }
    }

    /// A hash is known to be one without being decoded, and only what is decoded is one.
    #[test]
    fn a_value_is_a_hash_if_it_is_read_and_not_clear(scheme in "(s?sha|S?SHA(256|384|512)?|S?MD5|CLEAR|none)", bytes in prop_oneof![14usize..23, 30usize..36, 46usize..51, 62usize..67, 80usize..131], cut in 0usize..3, change in prop::option::of((0usize..180, prop::sample::select(&b"=+/.-! \n\x80"[..])))) {
        let mut text = password::base64::encode(&vec![0x5a; bytes]).into_bytes();
        text.truncate(text.len() - cut);
        if let Some((at, byte)) = change && at < text.len() {
            text[at] = byte;
        }
        let value = [format!("{{{scheme}}}").as_bytes(), &text].concat();
        let is_read = Stored::read(&value).is_ok_and(|stored| !stored.is_clear());
        prop_assert_eq!(is_hash(&value), is_read, "{}", String::from_utf8_lossy(&value));
    }

    #[test]
    fn fast_schemes_match_what_they_were_made_of(password in prop::collection::vec(any::<u8>(), 1..80), other in prop::collection::vec(any::<u8>(), 0..80), salt: [u8; 16]) {
        for scheme in [Scheme::SaltedSha1, Scheme::SaltedSha256, Scheme::SaltedSha512] {
            let stored = scheme.make(&password, salt, &mut Memory::default()).unwrap();
            let stored = Stored::read(&stored).unwrap();
            prop_assert!(stored.verify(&password, &mut Memory::default()));
            prop_assert_eq!(stored.verify(&other, &mut Memory::default()), other == password);
        }
    }
}
