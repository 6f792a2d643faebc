use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING as SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use serde_json::json;

/// Made by `openssl genrsa -out key 2048` and `openssl dgst -sha256 -sign key`.
const MODULUS: &str = "s1hY1GO0xZ8Xf4MphoM-tqyUDCxEfKMLegkuBGIw7ZCMjfZjlLdzSBCOahudYLEuFhOG2Y8ab9cqlysX0Hc5eleD4gDqAdz1yq2gMfoeQxxl6ofqPCX67PVYw5Fi27i9iQbGum-pmSg3EBH4_DAr5o62weSGzN26bPY-Xu25pRmvrw7R-r-qIoXqOdu0tid2EhOFRJhgsGliNVbUfPns5MFA7tRC5zm9uWefBL4Fw3F6pfOyh4P-47YfMYlPAHdErpKcoHC2PHUG1UxXCjWzyO6ljgsrRUR4qy7FOMOtroSfQNUz1bAHNINNvJa_kAN4XDNyaYtMfvgYsHnezSQEsQ";
const BY_RSA: &str = "eyJhbGciOiJSUzI1NiIsImtpZCI6InIifQ.eyJpc3MiOiJodHRwczovL2EiLCJhdWQiOlsid2ViIiwibGRhcCJdLCJleHAiOjE5MDAwMDAwMDAuNSwic3ViIjoiYWRhIn0.rsj--Cxtyj2BGozt4m_jSiZrEdXLv81u0ukixEJsqNRtYSAfEZcfmKzje1GJH30X6RQgvlOuZCwomLDPZJ6v_piVUUqM350Sc0jgMNV2A6jnqktkxg9HCJqVhDAG4YhLAsBMqVrGeL_bCq9nHJGbt3VsQZo9xVQW1mif0Hk2trf-VGIiF7obCfWTw6SqnKGLzIkf2VyBsEPIsmK1RSfw6PP0dsYZsp_uvknfWJt2f3glpXBU2ONUPFxGMaNLBPx7leIYk9xSan8WDHHrhQnRRyy7QyFLbOwHZniw8bR4cb0d-I2ua2ipK6B_1JHD1v8NAc0QFfIyUSo2cEG9zDaNXA";
const GOOD: &str = r#"{"iss":"https://a","aud":["web","ldap"],"exp":1900000000.5,"sub":"ada"}"#;

fn text(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// An issuer with a key of each kind, and others that are not for tokens.
struct Issuer {
    es: EcdsaKeyPair,
    ed: Ed25519KeyPair,
}

impl Issuer {
    fn new() -> Issuer {
        let random = SystemRandom::new();
        let es = EcdsaKeyPair::generate_pkcs8(&SIGNING, &random).unwrap();
        let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        Issuer {
            es: EcdsaKeyPair::from_pkcs8(&SIGNING, es.as_ref(), &random).unwrap(),
            ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap(),
        }
    }

    fn keys(&self) -> Value {
        let (x, y) = self.es.public_key().as_ref()[1..].split_at(32);
        json!([
            { "kty": "RSA", "kid": "r", "alg": "RS256", "use": "sig", "n": MODULUS, "e": "AQAB" },
            { "kty": "EC", "kid": "e", "crv": "P-256", "x": text(x), "y": text(y) },
            { "kty": "OKP", "kid": "d", "crv": "Ed25519", "x": text(self.ed.public_key()) },
            { "kty": "RSA", "kid": "for encryption", "use": "enc", "n": MODULUS, "e": "AQAB" },
            { "kty": "RSA", "kid": "other hash", "alg": "RS512", "n": MODULUS, "e": "AQAB" },
            { "kty": "oct", "kid": "secret", "k": "c2VjcmV0" },
            { "kty": "new", "kid": "of tomorrow" },
        ])
    }

    /// The two parts that are signed, and the signature.
    fn token(&self, header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", text(header), text(claims));
        let signature = match header.contains("EdDSA") {
            true => self.ed.sign(signed.as_bytes()).as_ref().to_vec(),
            false => self.es.sign(&SystemRandom::new(), signed.as_bytes()).unwrap().as_ref().to_vec(),
        };
        format!("{signed}.{}", text(signature))
    }
}

fn settings(keys: &Path) -> Settings {
    let algorithms = Algorithm::ALL.map(|(_, algorithm)| algorithm).to_vec();
    Settings { keys: keys.to_owned(), algorithms, claim: "sub".to_owned() }
}

fn write(path: &Path, keys: &Value) {
    std::fs::write(path, json!({ "keys": keys }).to_string()).unwrap();
}

/// S7: what the issuer has signed is read, by each algorithm.
#[test]
fn s7_tokens_that_the_issuer_has_signed() {
    let (dir, issuer) = (tempfile::tempdir().unwrap(), Issuer::new());
    let file = dir.path().join("keys");
    write(&file, &issuer.keys());
    let keys = TokenKeys::load(settings(&file)).unwrap();
    let good = Claims {
        issuer: Some("https://a".to_owned()),
        audiences: vec!["web".to_owned(), "ldap".to_owned()],
        expires_s: Some(1_900_000_000),
        not_before_s: None,
        user: Some("ada".to_owned()),
    };
    let tokens = [
        BY_RSA.to_owned(),
        issuer.token(r#"{"alg":"ES256","kid":"e"}"#, GOOD),
        issuer.token(r#"{"alg":"EdDSA","kid":"d","typ":"at+jwt"}"#, GOOD),
    ];
    tokens.iter().for_each(|token| assert_eq!(keys.claims(token.as_bytes()), Some(good.clone()), "{token}"));
}

/// What is of another kind is not there, and what cannot be read is never reached.
#[test]
fn claims_of_another_kind() {
    let said = json!({ "iss": 1, "aud": "x", "exp": "1", "nbf": "now", "sub": ["ada"] });
    let expected =
        Claims { audiences: vec!["x".to_owned()], not_before_s: Some(i64::MAX), ..Claims::default() };
    assert_eq!(claims(said.as_object().unwrap(), "sub"), expected);
    let said = json!({ "aud": ["x", 1, "y"], "exp": -1.5, "nbf": 1e300, "mail": "a@x" });
    let audiences = vec!["x".to_owned(), "y".to_owned()];
    let (expires_s, not_before_s, user) = (Some(-1), Some(i64::MAX), Some("a@x".to_owned()));
    let expected = Claims { issuer: None, audiences, expires_s, not_before_s, user };
    assert_eq!(claims(said.as_object().unwrap(), "mail"), expected);
}

/// S7: no other key, no other algorithm, and nothing that was altered.
#[test]
fn s7_tokens_that_the_issuer_has_not_signed() {
    let (dir, issuer, other) = (tempfile::tempdir().unwrap(), Issuer::new(), Issuer::new());
    let file = dir.path().join("keys");
    write(&file, &issuer.keys());
    let keys = TokenKeys::load(settings(&file)).unwrap();
    let is_refused = |token: &str| assert_eq!(keys.claims(token.as_bytes()), None, "{token}");
    for header in [
        r#"{"alg":"ES256"}"#,
        r#"{"alg":"ES256","kid":"nobody"}"#,
        r#"{"alg":"ES256","kid":"d"}"#,
        r#"{"alg":"EdDSA","kid":"e"}"#,
        r#"{"alg":"RS256","kid":"e"}"#,
        r#"{"alg":"ES256","kid":"e","crit":["exp"]}"#,
        r#"{"alg":"ES256","kid":"e","crit":[]}"#,
        r#"{"kid":"e"}"#,
        r#"["ES256"]"#,
    ] {
        is_refused(&issuer.token(header, GOOD));
    }
    is_refused(&other.token(r#"{"alg":"ES256","kid":"e"}"#, GOOD));
    is_refused(&issuer.token(r#"{"alg":"ES256","kid":"e"}"#, "[]"));
    is_refused(&issuer.token(r#"{"alg":"ES256","kid":"e"}"#, "nonsense"));
    // Unsigned, and signed by what everybody knows, or by a secret of the file.
    for alg in ["none", "None", "NONE", ""] {
        is_refused(&format!("{}.{}.", text(format!(r#"{{"alg":"{alg}","kid":"e"}}"#)), text(GOOD)));
    }
    let point = issuer.es.public_key().as_ref();
    for (kid, secret) in [("e", point), ("r", MODULUS.as_bytes()), ("secret", b"secret")] {
        let signed = format!("{}.{}", text(format!(r#"{{"alg":"HS256","kid":"{kid}"}}"#)), text(GOOD));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
        is_refused(&format!("{signed}.{}", text(tag)));
    }
    // Altered anywhere, cut, or with more behind it.
    let good = issuer.token(r#"{"alg":"EdDSA","kid":"d"}"#, GOOD);
    assert!(keys.claims(good.as_bytes()).is_some());
    for at in 0..good.len() {
        let mut altered = good.clone().into_bytes();
        altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
        assert_eq!(keys.claims(&altered), None, "{at}");
        assert_eq!(keys.claims(&good.as_bytes()[..at]), None, "{at}");
    }
    ["", ".", "..", "...", "a.b.c", &format!("{good}."), &format!("{good}.x"), &format!(".{good}")]
        .into_iter()
        .for_each(is_refused);
}

/// S7: an algorithm that is not configured is none, and other keys of the file are for other purposes.
#[test]
fn s7_algorithms_are_those_of_the_configuration() {
    let (dir, issuer) = (tempfile::tempdir().unwrap(), Issuer::new());
    let file = dir.path().join("keys");
    write(&file, &issuer.keys());
    let keys = TokenKeys::load(Settings { algorithms: vec![Algorithm::EdDsa], ..settings(&file) }).unwrap();
    assert!(keys.claims(issuer.token(r#"{"alg":"EdDSA","kid":"d"}"#, GOOD).as_bytes()).is_some());
    assert_eq!(keys.claims(issuer.token(r#"{"alg":"ES256","kid":"e"}"#, GOOD).as_bytes()), None);
    assert_eq!(keys.claims(BY_RSA.as_bytes()), None);
    let others = TokenKeys::load(settings(&file)).unwrap();
    assert_eq!(others.current.load().keys().collect::<Vec<_>>(), ["d", "e", "r"]);
}

#[test]
fn a_file_that_changes_is_taken_and_a_faulty_one_is_not() {
    let (dir, issuer, next) = (tempfile::tempdir().unwrap(), Issuer::new(), Issuer::new());
    let file = dir.path().join("keys");
    let token = |of: &Issuer| of.token(r#"{"alg":"ES256","kid":"e"}"#, GOOD);
    write(&file, &issuer.keys());
    let keys = TokenKeys::load(settings(&file)).unwrap();
    assert_eq!((keys.reload(false), keys.reload(true)), (Ok(false), Ok(true)));
    let replace = |text: &str| {
        std::fs::write(dir.path().join("new"), text).unwrap();
        std::fs::rename(dir.path().join("new"), &file).unwrap();
    };
    let mut short = issuer.keys();
    short[2]["x"] = json!("AAAA");
    let mut twice = issuer.keys();
    twice[1]["kid"] = json!("r");
    let mut nameless = issuer.keys();
    nameless[1].as_object_mut().unwrap().remove("kid");
    let mut small = issuer.keys();
    small[0]["n"] = json!(text([255; 128]));
    let set = |keys: &Value| json!({ "keys": keys }).to_string();
    for (faulty, said) in [
        ("nonsense".to_owned(), "no JSON Web Key Set"),
        (set(&json!([])), "no key is in it"),
        (set(&short), "32 octets"),
        (set(&small), "2048 to 8192 bits"),
        (set(&twice), "two keys have the `kid` \"r\""),
        (set(&nameless), "no `kid`"),
        (" ".repeat(TOKEN_KEYS_BYTES_MAX as usize + 1), "octets at most"),
    ] {
        replace(&faulty);
        let reason = keys.reload(false).unwrap_err();
        assert!(reason.contains(said) && reason.contains("/keys: "), "{reason}");
        assert_eq!(keys.reload(false), Ok(false), "the same file is not looked at again");
        assert!(keys.claims(token(&issuer).as_bytes()).is_some(), "the keys in force stay");
    }
    replace(&set(&next.keys()));
    assert_eq!(keys.reload(false), Ok(true));
    assert!(
        keys.claims(token(&next).as_bytes()).is_some() && keys.claims(token(&issuer).as_bytes()).is_none()
    );
    std::fs::remove_file(&file).unwrap();
    assert!(keys.reload(false).unwrap_err().contains("cannot be read"));
    assert!(!format!("{keys:?}").contains(MODULUS));
}

/// What verifies takes no other kind of key for its algorithm.
#[test]
fn a_key_is_of_one_kind() {
    let ed = jsonwebtoken::DecodingKey::from_ed_der(&[1; 32]);
    assert!(key::check(Algorithm::EdDsa, &ed).is_ok());
    assert!(key::check(Algorithm::Es256, &ed).is_err() && key::check(Algorithm::Rs256, &ed).is_err());
}
