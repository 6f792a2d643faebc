//! Section 4.7: add.

use crate::common::*;
use model::ResultCode::*;
use model::Scope;
use proto::op::ModifyKind;

const PERSON: Given<'static> = &[("objectClass", &["person"]), ("sn", &["X"]), ("cn", &["x"])];

/// No alias is dereferenced in locating the entry to be added: below an alias there is nothing.
#[test]
fn s4_7_aliases_are_not_followed() {
    let mut client = Client::new();
    client.must_add("uid=countess,dc=example", ALIAS_OF_ADA);
    let end = client.add("cn=x,uid=countess,dc=example", PERSON);
    assert_eq!(end.code, AliasProblem, "{end:?}");
    assert_eq!(client.read(&format!("cn=x,{ADA}"), &[]).end.code, NoSuchObject);
}

/// The attributes of the RDN are part of the entry, listed or not.
#[test]
fn s4_7_rdn_attributes_are_added() {
    let mut client = Client::new();
    client.must_add("cn=a+description=b,dc=example", &[("objectClass", &["person"]), ("sn", &["X"])]);
    let found = client.read("description=B+cn=A,dc=example", &["cn", "description"]);
    assert_eq!(
        (found.values("cn"), found.values("description")),
        (Some(vec!["a".into()]), Some(vec!["b".into()]))
    );
}

/// NO-USER-MODIFICATION attributes are the server's: a client may not supply them.
#[test]
fn s4_7_no_attributes_of_the_server() {
    let mut client = Client::new();
    for (attribute, value) in [
        ("createTimestamp", "20200101000000Z"),
        ("creatorsName", ROOT_DN),
        ("entryUUID", "597ae2f6-16a6-1027-98f4-d28b5365dc14"),
        ("structuralObjectClass", "person"),
        ("hasSubordinates", "TRUE"),
        ("entryDN", "cn=x,dc=example"),
    ] {
        let values = [value];
        let end = client.add("cn=x,dc=example", &[PERSON[0], PERSON[1], (attribute, &values)]);
        assert_eq!(end.code, ConstraintViolation, "{attribute}: {}", end.text);
    }
}

/// Entries conform to the schema.
#[test]
fn s4_7_entries_conform() {
    let mut client = Client::new();
    let class = PERSON[0];
    let cases: [(&str, Given<'_>, _); 9] = [
        ("cn=x,dc=example", &[class], ObjectClassViolation),
        ("cn=x,dc=example", &[("sn", &["X"])], ObjectClassViolation),
        ("cn=x,dc=example", &[("objectClass", &["top"]), ("sn", &["X"])], ObjectClassViolation),
        ("cn=x,dc=example", &[("objectClass", &["nonsense"])], ObjectClassViolation),
        ("cn=x,dc=example", &[class, ("sn", &["X"]), ("mail", &["a@b"])], ObjectClassViolation),
        ("cn=x,dc=example", &[class, ("sn", &["X"]), ("seeAlso", &["no DN"])], InvalidAttributeSyntax),
        ("cn=x,dc=example", &[class, ("sn", &["X"]), ("nonsense", &["x"])], UndefinedAttributeType),
        ("mail=x,dc=example", &[class, ("sn", &["X"]), ("cn", &["x"])], ObjectClassViolation),
        ("cn=x,dc=example", &[class, ("sn", &["X", "x "])], AttributeOrValueExists),
    ];
    for (dn, attributes, code) in cases {
        let end = client.add(dn, attributes);
        assert!(
            end.code == code || (dn.starts_with("mail") && end.code == NamingViolation),
            "{attributes:?}: {end:?}"
        );
    }
}

/// A type without equality rule cannot name an entry: by what would two names be distinguished?
#[test]
fn s4_7_types_without_equality_name_nothing() {
    let mut client = Client::new();
    let person: Given<'_> = &[("objectClass", &["inetOrgPerson"]), ("sn", &["X"]), ("cn", &["x"])];
    for rdn in ["jpegPhoto=x", "cn=x+jpegPhoto=x", "audio=#0401ff"] {
        let end = client.add(&format!("{rdn},dc=example"), person);
        assert_eq!(end.code, NamingViolation, "{rdn}: {end:?}");
        let end = client.rename(ADA, rdn, false, None);
        assert_eq!(end.code, NamingViolation, "{rdn}: {end:?}");
    }
}

/// RFC 4522: `;binary` is a way to send values, not a kind of attribute.
#[test]
fn s4_7_binary_is_no_option_of_its_own() {
    const CERTIFICATE: &str = "0\x03\x02\x01\x05";
    const OTHER: &str = "0\x03\x02\x01\x06";
    let mut client = Client::new();
    let dn = "cn=x,dc=example";
    let class: (&str, &[&str]) = ("objectClass", &["inetOrgPerson"]);
    let sn = PERSON[1];
    for bad in ["description;binary", "jpegPhoto;binary", "sn;lang-de;BINARY"] {
        let end = client.add(dn, &[class, sn, (bad, &["x"])]);
        assert_eq!(end.code, UndefinedAttributeType, "{bad}: {end:?}");
        let end = client.modify(ADA, &[(ModifyKind::Add, bad, &["x"])]);
        assert_eq!(end.code, UndefinedAttributeType, "{bad}: {end:?}");
        assert_eq!(client.compare(ADA, bad, "x").code, UndefinedAttributeType, "{bad}");
        for filter in [format!("({bad}=*)"), format!("(!({bad}=*))")] {
            assert_eq!(
                client.search("dc=example", Scope::Subtree, &filter, &["1.1"]).dns(),
                [""; 0],
                "{filter}"
            );
        }
    }
    client.must_add(dn, &[class, sn, ("userCertificate", &[CERTIFICATE])]);
    let end = client.modify(dn, &[(ModifyKind::Add, "userCertificate;binary", &[CERTIFICATE])]);
    assert_eq!(end.code, AttributeOrValueExists, "{end:?}");
    assert_eq!(client.modify(dn, &[(ModifyKind::Add, "usercertificate;Binary", &[OTHER])]).code, Success);
    for wanted in ["userCertificate", "userCertificate;binary", "*", "2.5.4.36"] {
        let found = client.read(dn, &[wanted]);
        let certificates: Vec<&str> =
            found.names().into_iter().filter(|name| name.starts_with("userCert")).collect();
        assert_eq!(certificates, ["userCertificate;binary"], "{wanted}");
        let both = Some(vec![CERTIFICATE.to_owned(), OTHER.to_owned()]);
        assert_eq!(found.values("userCertificate;binary"), both);
    }
    for filter in ["(userCertificate=*)", "(userCertificate;binary=*)"] {
        assert_eq!(client.search("dc=example", Scope::Subtree, filter, &["1.1"]).dns(), [dn], "{filter}");
    }
    assert_eq!(client.modify(dn, &[(ModifyKind::Delete, "userCertificate", &[])]).code, Success);
    assert!(client.read(dn, &["userCertificate;binary"]).names().is_empty());
}

/// The entry must not exist, under any spelling of its name.
#[test]
fn s4_7_entries_are_new() {
    let mut client = Client::new();
    for dn in [ADA, "UID=ADA, OU=People, DC=Example", "0.9.2342.19200300.100.1.1=ada,ou=people,dc=example"] {
        let entry: Given<'_> = &[("objectClass", &["account"])];
        assert_eq!(client.add(dn, entry).code, EntryAlreadyExists, "{dn}");
    }
}

/// The immediate superior must exist; matchedDN is the nearest one that does.
#[test]
fn s4_7_the_parent_exists() {
    let mut client = Client::new();
    for (dn, matched) in [
        ("cn=x,cn=y,ou=people,dc=example", "ou=people,dc=example"),
        ("cn=x,ou=nowhere,dc=example", "dc=example"),
        ("cn=x,dc=elsewhere", ""),
    ] {
        let end = client.add(dn, PERSON);
        assert_eq!((end.code, &end.matched[..]), (NoSuchObject, matched), "{dn}");
    }
}

/// attributes is "the list of attributes that, along with those from the RDN, make up the content of the entry"; a client
/// "MUST include the 'objectClass' attribute" in it, so an empty list is no regular request, whatever there is of that name.
#[test]
fn s4_7_attributes_are_given() {
    let mut client = Client::new();
    for dn in ["cn=x,dc=example", ADA, "cn=x,ou=nowhere,dc=example"] {
        let end = client.add(dn, &[]);
        assert_eq!(end.code, ProtocolError, "{dn}: {}", end.text);
    }
    client.bind(ADA, "lace");
    assert_eq!(client.add("cn=x,dc=example", &[]).code, InsufficientAccessRights);
}
