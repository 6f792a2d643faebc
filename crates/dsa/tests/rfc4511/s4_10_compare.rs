//! Section 4.10: compare.

use crate::common::*;
use model::ResultCode::*;

/// No alias is dereferenced.
#[test]
fn s4_10_aliases_are_compared_themselves() {
    let mut client = Client::new();
    client.must_add("uid=countess,dc=example", ALIAS_OF_ADA);
    assert_eq!(client.compare("uid=countess,dc=example", "sn", "Lovelace").code, NoSuchAttribute);
    assert_eq!(
        client.compare("uid=countess,dc=example", "aliasedObjectName", "UID=Ada, ou=people,dc=example").code,
        CompareTrue
    );
}

/// True, false, or the reason why neither: attribute not there, not known, without equality, value invalid.
#[test]
fn s4_10_answers() {
    let mut client = Client::new();
    for (attribute, value, code) in [
        ("cn", "ADA  king", CompareTrue),
        ("name", "Lovelace", CompareTrue),
        ("cn;lang-fr", "adelaide", CompareTrue),
        ("cn", "adelaide", CompareTrue),
        ("sn", "King", CompareFalse),
        ("mail", "a@b", NoSuchAttribute),
        ("sn;lang-fr", "x", NoSuchAttribute),
        ("nonsense", "x", UndefinedAttributeType),
        ("seeAlso", "no DN", InvalidAttributeSyntax),
        ("jpegPhoto", "x", InappropriateMatching),
        ("objectClass", "person", CompareTrue),
        ("hasSubordinates", "FALSE", CompareTrue),
    ] {
        let end = client.compare(ADA, attribute, value);
        assert_eq!(end.code, code, "{attribute}={value}: {}", end.text);
    }
}
