//! Section 4.1.7: DIT structure rules and name forms; section 3.4.7: governingStructureRule.

use super::with;
use crate::common::{Client, Given};
use dsa::SUBSCHEMA_DN;
use model::ResultCode::{self, *};
use model::Scope;
use proto::Request;
use proto::control::transaction_specification;
use proto::ext::end_transaction::{self, EndTransaction};
use proto::ext::start_transaction;
use proto::op::{Extended, ModifyDn};

/// Organizations are roots, with units below, which have units and people. Devices have a name form and no rule.
const RULES: &str = "nameform ( 1.2.3.4.1 NAME 'orgForm' OC organization MUST ( o $ dc ) )\n\
    nameform ( 1.2.3.4.5 NAME 'domainForm' OC organization MUST dc )\n\
    nameform ( 1.2.3.4.2 NAME 'unitForm' OC organizationalUnit MUST ou MAY l )\n\
    nameform ( 1.2.3.4.3 NAME 'personForm' OC inetOrgPerson MUST uid )\n\
    nameform ( 1.2.3.4.4 NAME 'deviceForm' OC device MUST serialNumber )\n\
    ditstructurerule ( 1 NAME 'roots' FORM domainForm )\n\
    ditstructurerule ( 2 FORM unitForm SUP 1 )\n\
    ditstructurerule ( 3 FORM unitForm SUP ( 2 3 ) )\n\
    ditstructurerule ( 4 FORM personForm SUP ( 2 3 ) )\n\
    ditstructurerule ( 5 OBSOLETE FORM deviceForm SUP 1 )\n";
const UNIT: Given<'_> = &[("objectClass", &["organizationalUnit"])];
const PERSON: Given<'_> = &[("objectClass", &["inetOrgPerson"]), ("cn", &["x"]), ("sn", &["x"])];
const PEOPLE: &str = "ou=people,dc=example";

fn rule(client: &mut Client, dn: &str) -> Option<String> {
    let values = client.read(dn, &["governingStructureRule"]).values("governingStructureRule");
    values.map(|values| values[0].clone())
}

fn code(client: &mut Client, dn: &str, entry: Given<'_>) -> ResultCode {
    client.add(dn, entry).code
}

/// An entry may be where a rule of its name form names the rule of its superior, and nowhere else.
#[test]
fn s4_1_7_1_superiors() {
    let mut client = with(RULES);
    assert_eq!(code(&mut client, &format!("ou=a,{PEOPLE}"), UNIT), Success);
    assert_eq!(code(&mut client, &format!("ou=b,ou=a,{PEOPLE}"), UNIT), Success);
    assert_eq!(code(&mut client, &format!("uid=x,ou=b,ou=a,{PEOPLE}"), PERSON), Success);
    let end = client.add("uid=x,dc=example", PERSON);
    assert_eq!(end.code, NamingViolation);
    assert_eq!(
        end.text,
        "no structure rule allows an entry of object class 'inetOrgPerson' with an RDN of 'uid' here"
    );
    assert_eq!(code(&mut client, &format!("ou=x,uid=ada,{PEOPLE}"), UNIT), NamingViolation);
    // A rule without superiors is for roots alone, an obsolete one for nothing, and a class without a rule has no place.
    let inner: Given<'_> = &[("objectClass", &["organization", "dcObject"]), ("o", &["x"])];
    assert_eq!(code(&mut client, &format!("dc=x,{PEOPLE}"), inner), NamingViolation);
    let device: Given<'_> = &[("objectClass", &["device"]), ("cn", &["x"])];
    assert_eq!(code(&mut client, "serialNumber=1,dc=example", device), NamingViolation);
    let role: Given<'_> = &[("objectClass", &["organizationalRole"])];
    assert_eq!(code(&mut client, "cn=x,dc=example", role), NamingViolation);
    let referral: Given<'_> =
        &[("objectClass", &["referral", "extensibleObject"]), ("ref", &["ldap://x/"]), ("cn", &["x"])];
    assert_eq!(code(&mut client, "cn=x,dc=example", referral), Success, "it is no part of the structure");
}

/// The RDN has a value of each attribute that the form requires, and others that it allows only.
#[test]
fn s4_1_7_2_names() {
    let mut client = with(RULES);
    assert_eq!(code(&mut client, "ou=a+l=b,dc=example", UNIT), Success);
    let end = client.add("l=b,dc=example", &[UNIT[0], ("ou", &["x"])]);
    assert_eq!(
        (end.code, &end.text[..]),
        (NamingViolation, "no name form of object class 'organizationalUnit' allows an RDN of 'l'")
    );
    assert_eq!(code(&mut client, "ou=a+description=b,dc=example", UNIT), NamingViolation);
    assert_eq!(code(&mut client, &format!("cn=x,{PEOPLE}"), PERSON), NamingViolation);
    // Name forms count without any structure rule too.
    let mut client = with("nameform ( 1.2.3.4.3 OC inetOrgPerson MUST uid )\n");
    assert_eq!(code(&mut client, "cn=x,dc=example", PERSON), NamingViolation);
    assert_eq!(code(&mut client, "uid=x,dc=example", PERSON), Success);
    assert_eq!(rule(&mut client, "uid=x,dc=example"), None);
}

/// A rename is held to both, and must leave a rule to those below.
#[test]
fn s4_1_7_renames() {
    let mut client = with(RULES);
    for dn in ["ou=a,dc=example", "ou=b,ou=a,dc=example", "ou=leaf,dc=example"] {
        assert_eq!(code(&mut client, dn, UNIT), Success);
    }
    let mut rename =
        |dn: &str, rdn: &str, superior: Option<&str>| client.rename(dn, rdn, true, superior).code;
    assert_eq!(rename("ou=a,dc=example", "ou=a+description=a", None), NamingViolation);
    assert_eq!(rename("ou=a,dc=example", "ou=c+l=a", None), Success);
    assert_eq!(rename("ou=c+l=a,dc=example", "ou=a", None), Success);
    assert_eq!(rename("uid=ada,ou=people,dc=example", "uid=ada", Some("dc=example")), NamingViolation);
    assert_eq!(rename("uid=ada,ou=people,dc=example", "uid=ada", Some("ou=b,ou=a,dc=example")), Success);
    // One with subordinates stays below the same rule.
    assert_eq!(rename("ou=a,dc=example", "ou=a", Some("ou=people,dc=example")), NamingViolation);
    assert_eq!(rename("ou=leaf,dc=example", "ou=leaf", Some("ou=a,dc=example")), Success);
    assert_eq!(rename("ou=b,ou=a,dc=example", "ou=b", Some("ou=leaf,ou=a,dc=example")), Success);
    assert_eq!(rule(&mut client, "ou=leaf,ou=a,dc=example"), Some("3".to_owned()));
    assert_eq!(rule(&mut client, "uid=ada,ou=b,ou=leaf,ou=a,dc=example"), Some("4".to_owned()));
}

/// In a transaction the rule of an entry is known, and not whether all that is below it has one.
#[test]
fn s4_1_7_renames_in_a_transaction() {
    let mut client = with(RULES);
    assert_eq!(code(&mut client, "ou=a,dc=example", UNIT), Success);
    assert_eq!(code(&mut client, "ou=b,ou=a,dc=example", UNIT), Success);
    let mut renames = |all: &[(&str, &str, Option<&str>, ResultCode)], committed: ResultCode| {
        let start = Extended { oid: start_transaction::OID, value: None };
        let identifier = client.end(&Request::Extended(start)).value.expect("there is an identifier");
        let controls = [transaction_specification::control(&identifier)];
        for (dn, rdn, superior, code) in all {
            let (dn, new_rdn) = (dn.as_bytes(), rdn.as_bytes());
            let new_superior = superior.map(str::as_bytes);
            let rename = ModifyDn { dn, new_rdn, delete_old_rdn: true, new_superior };
            let end = client.ask(&Request::ModifyDn(rename), &controls).end;
            assert_eq!(end.code, *code, "{rdn}: {}", end.text);
        }
        let value = EndTransaction { commit: true, identifier: &identifier }.encode();
        let end = Extended { oid: end_transaction::OID, value: Some(&value) };
        assert_eq!(client.end(&Request::Extended(end)).code, committed);
    };
    let wrong = ("ou=b,ou=a,dc=example", "ou=b+description=b", None, NamingViolation);
    renames(&[wrong], NamingViolation);
    renames(&[("ou=a,dc=example", "ou=c+l=c", None, UnwillingToPerform)], UnwillingToPerform);
    renames(&[("ou=a,dc=example", "ou=a", Some(PEOPLE), UnwillingToPerform)], UnwillingToPerform);
    let right =
        [("ou=a,dc=example", "ou=c", None, Success), ("ou=b,ou=c,dc=example", "ou=b", Some(PEOPLE), Success)];
    renames(&right, Success);
    assert_eq!(rule(&mut client, &format!("ou=b,{PEOPLE}")), Some("3".to_owned()));
}

/// governingStructureRule has the number of the rule, for those who ask for it; clients do not change it.
#[test]
fn s3_4_7_governing_structure_rule() {
    let mut client = with(RULES);
    for (dn, number) in [("dc=example", "1"), (PEOPLE, "2"), ("uid=ada,ou=people,dc=example", "4")] {
        assert_eq!(rule(&mut client, dn).as_deref(), Some(number), "{dn}");
        assert_eq!(client.compare(dn, "governingStructureRule", number).code, CompareTrue);
        assert!(client.read(dn, &["*"]).values("governingStructureRule").is_none());
        assert!(client.read(dn, &["+"]).values("governingStructureRule").is_some());
    }
    let found = client.search("dc=example", Scope::Subtree, "(governingStructureRule=4)", &["1.1"]);
    assert_eq!(found.entries.len(), 2);
    let entry: Given<'_> = &[PERSON[0], PERSON[1], PERSON[2], ("governingStructureRule", &["4"])];
    assert_eq!(code(&mut client, &format!("uid=x,{PEOPLE}"), entry), ConstraintViolation);
    let mut without = Client::new();
    assert_eq!(rule(&mut without, "dc=example"), None);
}

/// nameForms and dITStructureRules are among the attributes of the subschema.
#[test]
fn s4_2_structure_is_shown() {
    let mut client = with(RULES);
    for (attribute, count, key) in [("nameForms", 5, "1.2.3.4.2"), ("dITStructureRules", 5, "3")] {
        assert_eq!(client.read(SUBSCHEMA_DN, &[attribute]).values(attribute).unwrap().len(), count);
        let filter = format!("({attribute}={key})");
        assert_eq!(client.search(SUBSCHEMA_DN, Scope::Base, &filter, &["1.1"]).entries.len(), 1, "{filter}");
    }
}
