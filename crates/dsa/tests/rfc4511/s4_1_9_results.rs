//! Section 4.1.9: what results say.

use crate::common::*;
use model::ResultCode::*;
use model::limits::DIAGNOSTIC_BYTES_MAX;
use proto::op::ModifyKind::*;
use proto::{Request, ext};

const PHOTO: &str = "\0\u{1}\u{2}JFIF\0\u{7f}";
const TOKEN: &str = "s3cr3t-token";

fn assert_printable(end: &Outcome) {
    assert!(!end.text.is_empty() && end.text.len() <= DIAGNOSTIC_BYTES_MAX, "{end:?}");
    assert!(!end.text.contains(char::is_control), "{end:?}");
}

/// diagnosticMessage is "a human-readable string (terminal control and page formatting characters should be avoided)",
/// whatever the request said.
#[test]
fn s4_1_9_texts_are_printable() {
    let mut client = Client::new();
    assert_eq!(client.modify(ADA, &[(Add, "jpegPhoto", &[PHOTO])]).code, Success);
    for (changes, code) in [
        ((Add, "jpegPhoto", &[PHOTO][..]), AttributeOrValueExists),
        ((Add, "jpegPhoto", &["\0\0", "\0\0"]), AttributeOrValueExists),
        ((Delete, "jpegPhoto", &["\u{1b}[2J\n"]), NoSuchAttribute),
        ((Replace, "cn\0\u{7}", &["x"]), UndefinedAttributeType),
        ((Add, "objectClass", &["a\0b\u{202e}"]), ObjectClassViolation),
    ] {
        let end = client.modify(ADA, &[changes]);
        assert_eq!(end.code, code, "{end:?}");
        assert_printable(&end);
    }
    let text = client.modify(ADA, &[(Add, "jpegPhoto", &[PHOTO])]).text;
    assert!(text.contains(r"\00\01\02JFIF\00\7f"), "the value can still be read: {text}");
    for dn in ["c\0n=x,dc=example", "nonsense\n=x,dc=example"] {
        let end = client.read(dn, &[]).end;
        assert_eq!(end.code, InvalidDnSyntax, "{end:?}");
        assert_printable(&end);
    }
}

/// What is long is cut, however much of it a client sends.
#[test]
fn s4_1_9_texts_are_short() {
    let mut client = Client::new();
    let long = vec![b'7'; 1 << 20];
    let found = client.ask(&Request::Delete(ADA.as_bytes()), &[control(&long, b"", true)]);
    assert_eq!(found.end.code, UnavailableCriticalExtension);
    assert_printable(&found.end);
    assert!(found.end.text.ends_with("is not known for this operation"), "{}", found.end.text);
    let name = format!("{}=x,dc=example", "a".repeat(60 << 10));
    let end = client.read(&name, &[]).end;
    assert_eq!(end.code, InvalidDnSyntax, "{end:?}");
    assert_printable(&end);
}

/// No text has a secret, not even for those who may read it.
#[test]
fn s4_1_9_texts_have_no_secrets() {
    let mut client = Client::new();
    assert_eq!(client.modify(ADA, &[(Add, "userPassword", &[TOKEN])]).code, Success);
    let many: Vec<String> = (0..7).map(|n| format!("{TOKEN}-{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(client.modify(ADA, &[(Add, "userPassword;x-many", &many)]).code, Success);
    for (changes, code) in [
        ((Add, "userPassword", &[TOKEN][..]), AttributeOrValueExists),
        ((Add, "userPassword;x-many", &[many[6]]), AttributeOrValueExists),
        ((Add, "userPassword;x-many", &["s3cr3t-token-x", "s3cr3t-token-x"]), AttributeOrValueExists),
        ((Replace, "userPassword", &["s3cr3t-token-x", "s3cr3t-token-x"]), AttributeOrValueExists),
        ((Delete, "userPassword", &["s3cr3t-token-x"]), NoSuchAttribute),
        ((Delete, "userPassword;x-many", &["s3cr3t-token-x"]), NoSuchAttribute),
        ((Increment, "userPassword", &["s3cr3t-token-x"]), ConstraintViolation),
    ] {
        let end = client.modify(ADA, &[changes]);
        assert_eq!(end.code, code, "{changes:?}: {end:?}");
        assert!(!end.text.is_empty() && !end.text.contains("s3cr3t"), "{end:?}");
    }
    let person: Given<'_> =
        &[("objectClass", &["person"]), ("sn", &["x"]), ("userPassword", &["s3cr3t", "s3cr3t"])];
    let end = client.add("cn=x,dc=example", person);
    assert_eq!(end.code, AttributeOrValueExists, "{end:?}");
    assert!(end.text.contains("userPassword") && !end.text.contains("s3cr3t"), "{end:?}");
    let request = ext::password_modify::PasswordModify { new: Some(b"s3cr3t"), ..Default::default() };
    assert!(!format!("{request:?}").contains("s3cr3t"));
}
