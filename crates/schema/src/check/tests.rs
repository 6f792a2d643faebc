use super::*;
use crate::Builder;
use model::ResultCode;

fn standard() -> Schema {
    Builder::new().standard().build().unwrap()
}

fn entry(schema: &Schema, attributes: &[(&str, &[&str])]) -> Entry {
    let mut entry = Entry::new();
    for (name, values) in attributes {
        entry.push_attribute(schema.intern_description(name.as_bytes()).unwrap());
        values.iter().for_each(|v| entry.push_value(v.as_bytes()));
    }
    entry
}

type Attributes<'a> = &'a [(&'a str, &'a [&'a str])];

fn refused(schema: &Schema, attributes: Attributes<'_>) -> Violation {
    match schema.check(entry(schema, attributes), CheckOptions::default()) {
        Ok(_) => panic!("{attributes:?} passed"),
        Err((violation, _)) => violation,
    }
}

const PERSON: (&str, &[&str]) = ("objectClass", &["top", "person", "organizationalPerson", "inetOrgPerson"]);
const CN: (&str, &[&str]) = ("cn", &["A B"]);
const SN: (&str, &[&str]) = ("sn", &["B"]);

#[test]
fn a_good_entry() {
    let schema = standard();
    let person =
        [PERSON, CN, SN, ("mail", &["a@b.c", "d@e.f"]), ("cn;lang-de", &["AB"]), ("manager", &["cn=x,dc=y"])];
    let checked =
        schema.check(entry(&schema, &person), CheckOptions::default()).unwrap_or_else(|(v, _)| panic!("{v}"));
    assert_eq!(checked.state().structural(), schema.find_class(b"inetOrgPerson"));
    let short = [("objectClass", &["2.16.840.1.113730.3.2.2"][..]), CN, SN];
    assert!(schema.check(entry(&schema, &short), CheckOptions::default()).is_ok());
    let open = [("objectClass", &["domain", "extensibleObject"][..]), ("dc", &["x"]), ("carLicense", &["y"])];
    assert!(schema.check(entry(&schema, &open), CheckOptions::default()).is_ok());
    let referral =
        [("objectClass", &["referral", "extensibleObject"][..]), ("ref", &["ldap://a/"]), ("ou", &["y"])];
    let checked = schema.check(entry(&schema, &referral), CheckOptions::default()).unwrap();
    assert_eq!(checked.state().structural(), schema.find_class(b"referral"));
}

#[test]
fn an_entry_of_the_benchmark() {
    let schema = Builder::new().standard().builtin("dvtds").unwrap().build().unwrap();
    let small = [("objectClass", &["inetOrgPerson"][..]), ("uid", &["17"]), ("carLicense", &["ABCDEFGH"])];
    assert!(schema.check(entry(&schema, &small), CheckOptions::default()).is_ok());
}

/// RFC 4512 section 4.1.6.
#[test]
fn content_rules_govern_their_class_alone() {
    let rule = "ditcontentrule ( 2.16.840.1.113730.3.2.2 AUX posixAccount MUST mail MAY l NOT ( carLicense $ pwdAccountLockedTime ) )\n\
                ditcontentrule ( 2.5.6.14 OBSOLETE NOT serialNumber )\n";
    let schema = Builder::new().standard().file("rules", rule).build().unwrap();
    let mail: (&str, &[&str]) = ("mail", &["a@b"]);
    let passes = |attributes: Attributes<'_>| {
        schema
            .check(entry(&schema, attributes), CheckOptions::default())
            .unwrap_or_else(|(v, _)| panic!("{v}"))
    };
    let is_refused = |attributes: Attributes<'_>, text: &str| {
        let violation = refused(&schema, attributes);
        assert_eq!(violation.result_code(), ResultCode::ObjectClassViolation);
        assert_eq!(violation.to_string(), text);
    };
    passes(&[PERSON, CN, SN, mail, ("l", &["x"])]);
    is_refused(&[PERSON, CN, SN], "the content rule of 'inetOrgPerson' requires attribute 'mail'");
    let of = "the content rule of 'inetOrgPerson' precludes attribute";
    is_refused(&[PERSON, CN, SN, mail, ("carLicense", &["x"])], &format!("{of} 'carLicense'"));
    is_refused(&[PERSON, CN, SN, mail, ("carLicense;x-a", &["x"])], &format!("{of} 'carLicense;x-a'"));
    // Operational attributes need no class, and can be precluded all the same.
    let locked: (&str, &[&str]) = ("pwdAccountLockedTime", &["20200101000000Z"]);
    let examined = schema.check(entry(&schema, &[PERSON, CN, SN, mail, locked]), CheckOptions::COMPLETE);
    assert!(matches!(examined, Err((Violation::Precluded { .. }, _))));
    let with = |class: &'static str| ("objectClass", vec!["inetOrgPerson", class]);
    let (_, account) = with("posixAccount");
    let ids: [(&str, &[&str]); 4] =
        [("uid", &["a"]), ("uidNumber", &["1"]), ("gidNumber", &["1"]), ("homeDirectory", &["/"])];
    let posix = [("objectClass", &account[..]), CN, SN, mail, ids[0], ids[1], ids[2], ids[3]];
    passes(&posix);
    for class in ["dcObject", "extensibleObject"] {
        let (_, classes) = with(class);
        let other = [("objectClass", &classes[..]), CN, SN, mail, ("dc", &["x"])];
        is_refused(
            &other,
            &format!("the content rule of 'inetOrgPerson' does not list auxiliary object class '{class}'"),
        );
    }
    // Not for a class that it is derived from, and not while it is obsolete.
    passes(&[("objectClass", &["person"]), CN, SN]);
    passes(&[("objectClass", &["organizationalPerson", "dcObject"]), CN, SN, ("dc", &["x"])]);
    passes(&[("objectClass", &["device"]), CN, ("serialNumber", &["x"])]);
    // Where entries are not held to the schema, their class is known whatever rules say.
    let accepted = schema.accept(entry(&schema, &[("objectClass", &["inetOrgPerson", "dcObject"]), CN]));
    assert_eq!(accepted.state().structural(), schema.find_class(b"inetOrgPerson"));
}

#[test]
fn a_change_is_held_to_the_content_rule_in_what_it_touches() {
    let rule = "ditcontentrule ( 2.5.6.6 MUST telephoneNumber NOT description )\n";
    let schema = Builder::new().standard().file("rules", rule).build().unwrap();
    let person = schema.find_class(b"person");
    let describe = |name: &str| schema.find_description(name.as_bytes()).unwrap();
    let change = |attributes: Attributes<'_>, touched: &[&str]| {
        let touched: Vec<Description> = touched.iter().map(|name| describe(name)).collect();
        let changed = Changed { touched: &touched, elsewhere: &[], structural: person };
        let done = schema.recheck(entry(&schema, attributes), changed, CheckOptions::COMPLETE);
        done.map(drop).map_err(|(violation, _)| violation.to_string())
    };
    let class: (&str, &[&str]) = ("objectClass", &["person", "dcObject"]);
    let [phone, text]: [(&str, &[&str]); 2] = [("telephoneNumber", &["1"]), ("description", &["x"])];
    // It was there before the rule was.
    let former = [class, CN, SN, text, ("dc", &["x"])];
    assert_eq!(change(&former, &["sn"]), Ok(()));
    assert!(change(&former, &["description"]).unwrap_err().contains("precludes attribute 'description'"));
    assert!(
        change(&former, &["telephoneNumber"]).unwrap_err().contains("requires attribute 'telephoneNumber'")
    );
    assert!(
        change(&former, &["objectClass"])
            .unwrap_err()
            .contains("does not list auxiliary object class 'dcObject'")
    );
    let alone: (&str, &[&str]) = ("objectClass", &["person"]);
    assert!(change(&[alone, CN, SN, text, phone], &["objectClass"]).unwrap_err().contains("precludes"));
    assert!(change(&[alone, CN, SN], &["objectClass"]).unwrap_err().contains("requires"));
    assert_eq!(change(&[alone, CN, SN, phone], &["objectClass"]), Ok(()));
}

#[test]
fn every_rule_has_its_code_and_message() {
    let schema = standard();
    let cases: &[(Attributes<'_>, ResultCode, &str)] = &[
        (&[CN, SN], ResultCode::ObjectClassViolation, "no attribute 'objectClass'"),
        (
            &[("objectClass", &["person", "inetOrgPersn"]), CN, SN],
            ResultCode::ObjectClassViolation,
            "did you mean 'inetOrgPerson'?",
        ),
        (
            &[("objectClass", &["top"]), CN],
            ResultCode::ObjectClassViolation,
            "no structural object class: 'top'",
        ),
        (
            &[("objectClass", &["dcObject"]), ("dc", &["x"])],
            ResultCode::ObjectClassViolation,
            "no structural",
        ),
        (
            &[("objectClass", &["person", "device"]), CN, SN],
            ResultCode::ObjectClassViolation,
            "both structural",
        ),
        (
            &[("objectClass", &["person", "PERSON"]), CN, SN],
            ResultCode::AttributeOrValueExists,
            "'person' twice",
        ),
        (&[PERSON, CN], ResultCode::ObjectClassViolation, "object class 'person' requires attribute 'sn'"),
        (
            &[("objectClass", &["person"]), CN, SN, ("dc", &["x"])],
            ResultCode::ObjectClassViolation,
            "attribute 'dc' is not allowed by object classes 'top', 'person'; 'dcObject' would allow it",
        ),
        (
            &[PERSON, CN, SN, ("displayName", &["a", "b"])],
            ResultCode::ConstraintViolation,
            "takes one value and was given 2",
        ),
        (
            &[PERSON, CN, SN, ("manager", &["nobody"])],
            ResultCode::InvalidAttributeSyntax,
            "value 1 of attribute 'manager' is not of syntax DN: expected attribute=value",
        ),
        (&[PERSON, CN, ("sn", &[""])], ResultCode::InvalidAttributeSyntax, "an empty string"),
        (
            &[PERSON, SN, ("cn", &["a b", "c", "A  B"])],
            ResultCode::AttributeOrValueExists,
            "attribute 'cn' has the value 'A  B' twice",
        ),
        (
            &[PERSON, SN, ("cn", &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "5"])],
            ResultCode::AttributeOrValueExists,
            "the value '5' twice",
        ),
        (
            &[PERSON, CN, SN, ("creatorsName", &["cn=x"])],
            ResultCode::ConstraintViolation,
            "maintained by the server",
        ),
        (&[PERSON, CN, ("sn", &[])], ResultCode::InvalidAttributeSyntax, "no values"),
    ];
    for (attributes, code, text) in cases {
        let violation = refused(&schema, attributes);
        assert_eq!(violation.result_code(), *code, "{violation}");
        assert!(violation.to_string().contains(text), "{violation}\nwithout {text}");
    }
}

#[test]
fn options_of_a_check() {
    let schema = standard();
    let stamped = [PERSON, CN, SN, ("createTimestamp", &["20260102030405Z"][..])];
    assert!(schema.check(entry(&schema, &stamped), CheckOptions::COMPLETE).is_ok());
    let text = "objectclass ( 1.2.3 NAME 'old' OBSOLETE SUP top AUXILIARY )";
    let schema = Builder::new().standard().file("x", text).build().unwrap();
    let old = [("objectClass", &["person", "old"][..]), CN, SN];
    assert!(matches!(refused(&schema, &old), Violation::Obsolete { .. }));
    assert!(schema.check(entry(&schema, &old), CheckOptions::COMPLETE).is_ok());
}

#[test]
fn what_is_refused_comes_back() {
    let schema = standard();
    let Err((_, back)) = schema.check(entry(&schema, &[CN]), CheckOptions::default()) else {
        panic!("passed")
    };
    assert_eq!(back.len(), 1);
    assert_eq!(schema.accept(back).state().structural(), None);
    let alias = [("objectClass", &["alias", "unheard-of"][..])];
    assert_eq!(schema.accept(entry(&schema, &alias)).state().structural(), schema.find_class(b"alias"));
}

#[test]
fn single_attributes_and_class_changes() {
    let schema = standard();
    let uid = schema.find_description(b"uidNumber").unwrap();
    let one = |v: &'static [u8]| schema.check_attribute_values(uid, [v].into_iter(), CheckOptions::default());
    assert_eq!(one(b"17"), Ok(()));
    assert_eq!(one(b"x").unwrap_err().result_code(), ResultCode::InvalidAttributeSyntax);
    let (person, device) = (schema.find_class(b"person").unwrap(), schema.find_class(b"device").unwrap());
    assert!(schema.check_structural_change(person, person).is_ok());
    let change = schema.check_structural_change(person, device).unwrap_err();
    assert_eq!(change.result_code(), ResultCode::ObjectClassModsProhibited);
}

#[test]
fn class_sets_are_kept() {
    let schema = standard();
    let set_of = |class: &[u8]| schema.with_classes([class].into_iter(), |_, set| set.clone()).unwrap();
    let (set, again) = (set_of(b"inetOrgPerson"), set_of(b"inetOrgPerson"));
    assert!(std::sync::Arc::ptr_eq(&set, &again));
    assert!(set.ids.contains(&schema.find_class(b"top").unwrap()));
    assert!(set.allows(schema.find_type(b"mail").unwrap()) && !set.allows(schema.find_type(b"dc").unwrap()));
}

#[test]
fn changed_entries() {
    let schema = standard();
    let id = |name: &str| schema.find_description(name.as_bytes()).unwrap();
    let mut short = entry(&schema, &[("objectClass", &["inetOrgPerson"]), CN, SN]);
    schema.add_superclasses(&mut short);
    let mut classes: Vec<&[u8]> = short.values_of(id("objectClass")).collect();
    classes.sort_unstable();
    assert_eq!(classes, [&b"inetOrgPerson"[..], b"organizationalPerson", b"person", b"top"]);
    let structural = schema.find_class(b"inetOrgPerson");
    let recheck = |entry: Entry, touched: &[Description], elsewhere: &[Description]| {
        let changed = Changed { touched, elsewhere, structural };
        schema.recheck(entry, changed, CheckOptions::default()).map(drop).map_err(|(v, _)| v.result_code())
    };
    let with = |extra: (&str, &[&str])| entry(&schema, &[PERSON, CN, SN, extra]);
    assert_eq!(recheck(with(("mail", &["a@b"])), &[id("mail")], &[]), Ok(()));
    assert_eq!(recheck(with(("dc", &["a"])), &[id("dc")], &[]), Err(ResultCode::ObjectClassViolation));
    let no_name = || entry(&schema, &[PERSON, CN]);
    assert_eq!(recheck(no_name(), &[id("sn")], &[]), Err(ResultCode::ObjectClassViolation));
    assert_eq!(recheck(no_name(), &[id("sn")], &[id("sn")]), Ok(()));
    let device = entry(&schema, &[("objectClass", &["device"]), CN]);
    assert_eq!(recheck(device, &[id("objectClass")], &[]), Err(ResultCode::ObjectClassModsProhibited));
}
