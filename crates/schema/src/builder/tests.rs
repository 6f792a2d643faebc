use super::*;
use crate::{BUILTIN_NAMES, ClassKind, DefinitionKind, Rule, Schema, Syntax};
use std::collections::BTreeSet;

fn standard() -> Schema {
    Builder::new().standard().build().unwrap_or_else(|e| panic!("{e}"))
}

fn faults(text: &str) -> Vec<String> {
    let errors = Builder::new().standard().file("test", text).build().expect_err("the file has a fault");
    errors.0.iter().map(Fault::to_string).collect()
}

fn definitions(schema: &Schema, kind: DefinitionKind) -> Vec<String> {
    let mut list = Vec::new();
    schema.write_definitions(kind, |text| list.push(text.to_owned()));
    list
}

#[test]
fn standard_files_have_no_faults() {
    let schema = standard();
    assert!(schema.warnings().is_empty(), "{:?}", schema.warnings());
    for name in ["cn", "carLicense", "uidNumber", "memberURL", "monitorOpCompleted", "entryUUID", "ref"] {
        assert!(schema.find_type(name.as_bytes()).is_some(), "{name}");
    }
    for name in ["inetOrgPerson", "dcObject", "posixAccount", "groupOfURLs", "referral", "monitoredObject"] {
        assert!(schema.find_class(name.as_bytes()).is_some(), "{name}");
    }
}

#[test]
fn every_built_in_file_loads() {
    for name in BUILTIN_NAMES {
        let schema =
            Builder::new().standard().builtin(name).unwrap().build().unwrap_or_else(|e| panic!("{e}"));
        assert!(schema.warnings().is_empty(), "{name}: {:?}", schema.warnings());
    }
    assert!(Builder::new().builtin("nothing").is_err());
}

#[test]
fn later_files_replace() {
    let with = |name: &str| Builder::new().standard().builtin(name).unwrap().build().unwrap();
    let nis = standard();
    let bis = with("rfc2307bis");
    let kind = |s: &Schema| s.class(s.find_class(b"posixGroup").unwrap()).definition.kind;
    assert_eq!((kind(&nis), kind(&bis)), (ClassKind::Structural, ClassKind::Auxiliary));
    let dvtds = with("dvtds");
    let person = dvtds.class(dvtds.find_class(b"inetOrgPerson").unwrap());
    let object_class = dvtds.well_known().object_class;
    assert_eq!(person.all_must, [object_class]);
    let original = nis.class(nis.find_class(b"inetOrgPerson").unwrap());
    for id in original.all_attributes() {
        let name = nis.attribute_type(id).name();
        let id = dvtds.find_type(name.as_bytes()).unwrap();
        assert!(person.all_attributes().any(|a| a == id), "{name}");
    }
}

#[test]
fn inheritance() {
    let schema = standard();
    let kind = |name: &str| schema.attribute_type(schema.find_type(name.as_bytes()).unwrap());
    let sn = kind("surname");
    assert_eq!(
        (sn.name(), sn.equality, sn.substring),
        ("sn", Some(Rule::CaseIgnore), Some(Rule::CaseIgnoreSubstrings))
    );
    assert_eq!((sn.syntax, sn.length_max), (Syntax::DirectoryString, Some(32768)));
    assert_eq!(kind("c").syntax, Syntax::CountryString);
    let id = |name: &str| schema.find_type(name.as_bytes()).unwrap();
    assert!(schema.is_subtype(id("cn"), id("name")) && !schema.is_subtype(id("name"), id("cn")));
    assert!(schema.subtypes(id("name")).contains(&id("givenName")));
    assert_eq!(*schema.subtypes(id("cn")), [id("cn")]);
    let class = |name: &str| schema.find_class(name.as_bytes()).unwrap();
    assert!(schema.is_subclass(class("inetOrgPerson"), class("top")));
    let person = schema.class(class("inetOrgPerson"));
    assert_eq!(person.all_must.len(), 3);
    assert!(person.all_may.contains(&id("title")) && !person.all_may.contains(&id("sn")));
}

#[test]
fn order_of_definition_means_nothing() {
    let mut files: Vec<String> = Vec::new();
    for name in ["core", "cosine", "inetorgperson"] {
        let (statements, _) = source::read(builtin::text(name).unwrap());
        files.extend(statements.iter().map(|s| {
            let keyword = match s.kind {
                source::StatementKind::AttributeType => "attributetype",
                _ => "objectclass",
            };
            format!("{keyword} {}", s.text)
        }));
    }
    let built = |list: &[String]| {
        let schema = Builder::new().file("all", &list.join("\n")).build().unwrap_or_else(|e| panic!("{e}"));
        let mut text = definitions(&schema, DefinitionKind::AttributeTypes);
        text.extend(definitions(&schema, DefinitionKind::ObjectClasses));
        let person = schema.class(schema.find_class(b"inetOrgPerson").unwrap());
        text.extend(person.all_attributes().map(|id| schema.attribute_type(id).oid.clone()));
        text.sort();
        text
    };
    let forward = built(&files);
    files.reverse();
    assert_eq!(built(&files), forward);
    let middle = files.len() / 2;
    files.rotate_left(middle);
    let odd: Vec<String> = files.iter().step_by(2).chain(files.iter().skip(1).step_by(2)).cloned().collect();
    assert_eq!(built(&odd), forward);
}

#[test]
fn what_is_written_reads_back() {
    let schema = standard();
    let mut text = String::new();
    for (keyword, kind) in
        [("attributeTypes", DefinitionKind::AttributeTypes), ("objectClasses", DefinitionKind::ObjectClasses)]
    {
        definitions(&schema, kind).iter().for_each(|d| text += &format!("{keyword}: {d}\n"));
    }
    let again = Builder::new().file("dump", &text).build().unwrap_or_else(|e| panic!("{e}"));
    let sorted = |s: &Schema, kind| {
        let mut list = definitions(s, kind);
        list.sort();
        list
    };
    for kind in [DefinitionKind::AttributeTypes, DefinitionKind::ObjectClasses] {
        assert_eq!(sorted(&again, kind), sorted(&schema, kind));
    }
    for kind in [DefinitionKind::LdapSyntaxes, DefinitionKind::MatchingRules, DefinitionKind::MatchingRuleUse]
    {
        let list = definitions(&schema, kind);
        assert!(list.len() > 20 && list.iter().all(|d| crate::definition::is_description(d)));
    }
}

#[test]
fn faults_come_all_at_once_with_their_lines() {
    let list = faults(
        "# a comment\n\
         attributetype ( 1.2.3.1 NAME 'a'\n  SUP nome )\n\
         \n\
         objectclass ( 1.2.3.2 NAME 'b' SUP top\n  MUST ( cn $ cm )\n  MAY bogus )\n\
         attributetype ( 1.2.3.3 NAME 'd'\n  FOO )\n\
         attributetype ( 1.2.3.4 NAME 'cn' SUP name )\n\
         attributetype ( 1.2.3.4 NAME 'e' SUP name )\n\
         nonsense\n\
         attributetype ( 1.2.3.5 NAME 'f' )\n",
    );
    let expected = [
        "test:12: 'nonsense' is not the beginning of a definition",
        "test:9: 'FOO' is not a keyword of a definition",
        "test:11: 1.2.3.4 is defined twice, first at line 10",
        "test:10: the name 'cn' is taken at system:",
        "test:2: attribute type 'nome' is not defined; did you mean 'name'?",
        "test:13: an attribute type needs SYNTAX or SUP",
        "test:5: attribute type 'cm' is not defined; did you mean 'cn'?",
        "test:5: attribute type 'bogus' is not defined",
    ];
    for text in expected {
        assert!(list.iter().any(|f| f.starts_with(text)), "{text}\nin {list:#?}");
    }
}

#[test]
fn circles_and_wrong_kinds() {
    let list = faults(
        "attributetype ( 1.2.3.1 NAME 'a' SUP b )\nattributetype ( 1.2.3.2 NAME 'b' SUP a )\n\
         objectclass ( 1.2.3.3 NAME 'c' SUP d )\nobjectclass ( 1.2.3.4 NAME 'd' SUP c )\n\
         objectclass ( 1.2.3.5 NAME 'e' SUP person AUXILIARY )\n\
         attributetype ( 1.2.3.6 NAME 'g' SUP name NO-USER-MODIFICATION )\n",
    );
    assert!(list.iter().filter(|f| f.contains("derived from itself")).count() >= 2, "{list:#?}");
    assert!(
        list.iter()
            .any(|f| f.contains("auxiliary class 'e' cannot be derived from structural class 'person'"))
    );
    assert!(list.iter().any(|f| f.starts_with("test:6: NO-USER-MODIFICATION")));
}

#[test]
fn forms_of_other_servers() {
    let text = "dn: cn=x,cn=schema,cn=config\nobjectClass: olcSchemaConfig\ncn: x\n\
                olcObjectIdentifier: {0}Base 1.2.3\nolcObjectIdentifier: {1}Types Base:1\n\
                olcAttributeTypes: {0}( Types:1 NAME 'my\n Attribute' SYNTAX 1.9.9 X-ORIGIN 'me' )\n\
                olcLdapSyntaxes: {0}( 1.9.9 DESC 'mine' X-SUBST '1.3.6.1.4.1.1466.115.121.1.15' )\n\
                olcObjectClasses:: eyJ9KCAxLjIuMy45IE5BTUUgJ3gnICk=\n";
    let errors = Builder::new().standard().file("x", text).build().unwrap_err();
    assert_eq!(errors.0[0].line, 9, "{errors}");
    let schema =
        Builder::new().standard().file("x", &text[..text.find("olcObjectClasses").unwrap()]).build().unwrap();
    let kind = schema.attribute_type(schema.find_type(b"myattribute").unwrap());
    assert_eq!((kind.oid.as_str(), kind.syntax), ("1.2.3.1.1", Syntax::DirectoryString));
    let plain = "dn: cn=schema\nattributeTypes: ( x-oid NAME 'x' SYNTAX 1.9.8 )\n\
                 objectClasses: ( y-oid NAME 'y' SUP top MUST ( cn $ x ) X-ORIGIN 'user defined' )\n";
    let schema = Builder::new().standard().file("99user.ldif", plain).build().unwrap();
    assert!(schema.find_class(b"y").is_some());
    assert_eq!(schema.warnings()[0].line, 2);
}

#[test]
fn descriptions() {
    let schema = standard();
    let cn = schema.find_description(b"CommonName").unwrap();
    assert_eq!(schema.describe(cn), "cn");
    assert_eq!(schema.find_description(b"cn;lang-de"), None);
    assert_eq!(schema.nearest_type(b"telefoneNumber;x"), Some("telephoneNumber"));
    let german = schema.intern_description(b"CN;Lang-DE;x-a").unwrap();
    assert_eq!(schema.find_description(b"2.5.4.3;x-a;lang-de"), Some(german));
    assert_eq!(schema.describe(german), "cn;lang-de;x-a");
    let answers = |have: &[u8], want: &[u8]| {
        let have = schema.intern_description(have).unwrap().options;
        schema.includes_options(have, &schema.find_wanted(want).unwrap().1)
    };
    assert!(answers(b"cn;lang-de;x-a", b"cn;x-a") && answers(b"cn;x-a", b"cn") && answers(b"cn", b"cn"));
    assert!(answers(b"cn;lang-de-ch", b"cn;LANG-de-") && answers(b"cn;lang-de", b"cn;lang-de-"));
    assert!(
        !answers(b"cn;lang-de", b"cn;lang-de;x-a")
            && !answers(b"cn", b"cn;x-a")
            && !answers(b"cn;x-ab", b"cn;x-a")
    );
    for bad in [&b"cn;"[..], b"cn;;a", b"nothing", b"cn;a_b", b"", b";a"] {
        assert!(schema.intern_description(bad).is_err(), "{bad:?}");
        assert_eq!(schema.find_description(bad), None, "{bad:?}");
        assert_eq!(schema.find_wanted(bad), None, "{bad:?}");
    }
}

/// What strict readers ask of a published schema.
#[test]
fn published_definitions_are_for_strict_readers() {
    let all = BUILTIN_NAMES.iter().fold(Builder::new().standard(), |b, name| b.builtin(name).unwrap());
    for schema in [standard(), all.build().unwrap_or_else(|e| panic!("{e}"))] {
        let (mut oids, mut names) = (BTreeSet::new(), BTreeSet::new());
        let mut meet = |oid: &str, of: &[String]| {
            assert!(oids.insert(oid.to_owned()), "{oid} is there twice");
            let fits = |number: &str| number.parse::<u32>().is_ok_and(|number| number <= i32::MAX as u32);
            assert!(oid.split('.').all(fits), "{oid} has a number that is too long");
            for name in of {
                assert!(names.insert(name.to_ascii_lowercase()), "the name {name} is given twice");
            }
            names.insert(oid.to_owned());
            names.clone()
        };
        for text in definitions(&schema, DefinitionKind::AttributeTypes) {
            let d = crate::definition::parse_attribute_type(&text).unwrap();
            let known = meet(&d.oid, &d.names);
            assert!(d.sup.iter().all(|sup| known.contains(&sup.to_ascii_lowercase())), "{text} is too early");
        }
        for text in definitions(&schema, DefinitionKind::ObjectClasses) {
            let d = crate::definition::parse_object_class(&text).unwrap();
            let known = meet(&d.oid, &d.names);
            assert!(d.sup.iter().all(|sup| known.contains(&sup.to_ascii_lowercase())), "{text} is too early");
            assert!(d.must.iter().all(|name| !d.may.contains(name)), "{text} requires what it allows");
        }
    }
}

/// Files define classes that allow what a superclass requires, or name one attribute by two of its names.
#[test]
fn a_class_is_published_with_each_attribute_once() {
    let text = "objectclass ( 1.3.5 NAME 'machine' SUP person MUST ( uid $ userid ) \
                MAY ( commonName $ surname $ title $ l $ localityName $ 0.9.2342.19200300.100.1.1 ) )";
    let schema = Builder::new().standard().file("test", text).build().unwrap_or_else(|e| panic!("{e}"));
    let published = definitions(&schema, DefinitionKind::ObjectClasses);
    let machine = published.iter().find(|text| text.contains("'machine'")).unwrap();
    assert!(machine.contains("MUST uid MAY ( title $ l )"), "{machine}");
}

/// What directories were written by is known by its text as it was: an OID that is no longer shown is found, and the
/// definitions that rules are distinguished by have not changed.
#[test]
fn what_was_defined_before_is_known() {
    const LONG: &str = "2.25.154922985830315352532805608621549046223";
    let schema = standard();
    let context = schema.find_type(b"defaultNamingContext");
    assert!(context.is_some() && schema.find_type(LONG.as_bytes()) == context);
    let shown = schema.attribute_type(context.unwrap()).oid.clone();
    assert_eq!(schema.find_type(shown.as_bytes()), context);
    let mut defined = Vec::new();
    schema.write_as_defined(DefinitionKind::AttributeTypes, |text| defined.push(text.to_owned()));
    assert!(defined[0].starts_with("( 2.5.4.0 NAME 'objectClass'"), "{}", defined[0]);
    assert!(defined.iter().any(|text| text.starts_with(&format!("( {LONG} NAME"))));
    assert!(
        defined.iter().any(|text| text.contains("( 'internationalISDNNumber' 'internationaliSDNNumber' )"))
    );
}

/// A replaced definition may not compare values otherwise than they were stored by.
#[test]
fn no_file_changes_how_values_are_compared() {
    let list = faults("# mine\nattributetype ( 2.5.4.3 NAME 'cn' SUP name\n  EQUALITY caseExactMatch )\n");
    assert_eq!(list.len(), 1, "{list:#?}");
    let expected = "test:2: 'cn' (2.5.4.3) has caseExactMatch here and caseIgnoreMatch at system:";
    assert!(list[0].starts_with(expected), "{list:#?}");
    let without = "attributetype ( 2.5.4.13 NAME 'description' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )";
    assert!(faults(without)[0].contains("no equality rule here"));
    // The same again, and with other words around it.
    let same = "attributetype ( 2.5.4.3 NAME ( 'cn' 'commonName' ) DESC 'RFC 4519' SUP name )\n\
                attributetype ( 1.3.6.1.1.1.1.12 NAME 'memberUid' EQUALITY caseExactMatch\n\
                  SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )\n";
    let schema = Builder::new().standard().file("same", same).build().unwrap_or_else(|e| panic!("{e}"));
    assert!(schema.warnings().is_empty(), "{:?}", schema.warnings());
}

/// The work of a file that derives everything from everything is bounded.
#[test]
fn nothing_is_derived_from_too_many() {
    let derived = |keyword: &str, count: usize| -> String {
        let line = |n: usize| match n {
            0 => format!(
                "{keyword} ( 1.2.9.0 NAME 'x0' SUP {} )\n",
                if keyword == "objectclass" { "top" } else { "name" }
            ),
            n => format!("{keyword} ( 1.2.9.{n} NAME 'x{n}' SUP x{} )\n", n - 1),
        };
        (0..count).map(line).collect()
    };
    for keyword in ["attributetype", "objectclass"] {
        let list = faults(&derived(keyword, 20_000));
        assert!(list.len() == 1 && list[0].contains("derived from more than"), "{keyword}: {list:#?}");
        let list = faults(&derived(keyword, 50_000));
        assert!(list.len() == 1 && list[0].contains("more than 30000 definitions"), "{keyword}: {list:#?}");
        let some = derived(keyword, 200);
        assert!(Builder::new().standard().file("deep", &some).build().is_ok(), "{keyword}");
    }
}

#[test]
fn macros_of_ldif_may_have_tabs() {
    let text = "dn: cn=x,cn=schema,cn=config\nobjectClass: olcSchemaConfig\ncn: x\n\
                olcObjectIdentifier: Base 1.2.3\nolcObjectIdentifier: Types\tBase:1\n\
                olcAttributeTypes: ( Types:1\n  NAME 'mine'\n  SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )\n";
    let schema = Builder::new().standard().file("x.ldif", text).build().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(schema.attribute_type(schema.find_type(b"mine").unwrap()).oid, "1.2.3.1.1");
}

/// RFC 4522 and 4523; `binary` is an option as any other nowhere.
#[test]
fn binary_is_a_way_to_send_values() {
    let text = "ldapsyntax ( 1.9.9 DESC 'mine' X-BINARY-TRANSFER-REQUIRED 'TRUE' )\n\
                attributetype ( 1.9.1 NAME 'mine' SYNTAX 1.9.9 )\n\
                attributetype ( 1.9.2 NAME 'blob' SYNTAX 1.3.6.1.4.1.1466.115.121.1.5 )\n";
    let schema = Builder::new().standard().file("x", text).build().unwrap_or_else(|e| panic!("{e}"));
    for name in ["userCertificate", "cACertificate", "crossCertificatePair", "userPKCS12", "mine", "blob"] {
        let plain = schema.intern_description(name.as_bytes()).unwrap();
        let sent = schema.intern_description(format!("{name};BINARY").as_bytes());
        assert_eq!(sent, Ok(plain), "{name}");
        let expected = if name == "blob" { name.to_owned() } else { format!("{name};binary") };
        assert_eq!(schema.describe(plain), expected);
        let wanted = schema.find_wanted(format!("{name};binary").as_bytes());
        assert_eq!(wanted.map(|(_, options)| options.is_none()), Some(true), "{name}");
        let tagged = schema.intern_description(format!("{name};x-a;binary").as_bytes());
        assert_eq!(tagged, schema.intern_description(format!("{name};x-a").as_bytes()));
    }
    for name in ["cn", "jpegPhoto", "description;x-a"] {
        let text = format!("{name};binary");
        assert!(schema.lacks_binary_form(text.as_bytes()) && schema.find_wanted(text.as_bytes()).is_none());
    }
}

proptest::proptest! {
    #[test]
    fn no_file_panics(lines in proptest::collection::vec(
        "(attributetype|objectclass|olcAttributeTypes:|objectidentifier| )? ?[(]? ?(1\\.2|a:1|b)? ?(NAME 'x'|SUP [ab]|MUST [(]a [$] b[)]|SYNTAX 1\\.2[{]3[}])? ?[)']?", 0..12))
    {
        let _ = Builder::new().file("any", &lines.join("\n")).build();
    }
}

#[test]
fn what_decides_changes_comes_back_without_the_servers_own_entries() {
    let of = |schema: &Schema| {
        let mut text = String::new();
        schema.write_rules(&mut text);
        text
    };
    let file = "objectidentifier ours 1.3.6.1.4.1.55555\n\
                ldapsyntax ( ours:9 DESC 'it''s' X-SUBST '1.3.6.1.4.1.1466.115.121.1.15' )\n\
                attributetype ( ours:1 NAME 'shoeSize' DESC 'back \\5c, quote \\27' SUP name SINGLE-VALUE X-ORDERED 'VALUES' )\n\
                attributetype ( ours:2 NAME ( 'theirs' 'other' ) SYNTAX ours:9{3} USAGE directoryOperation )\n\
                objectclass ( ours:3 NAME 'foot' SUP person STRUCTURAL MUST shoeSize MAY ( theirs $ monitoredInfo ) )\n";
    let file = file.replace("it''s", "its");
    for builtins in [&[][..], &["rfc2307bis", "dvtds"]] {
        let settings = [("pandoOne", true), ("pandoOther", false)];
        let mut builder = Builder::new().standard().settings(settings);
        for name in builtins {
            builder = builder.builtin(name).expect("it is built in");
        }
        let schema = builder.file("ours", &file).build().expect("it is sound");
        let text = of(&schema);
        assert!(!text.contains("NAME 'monitorCounter'") && text.contains("NAME 'shoeSize'"), "{text}");
        assert!(text.contains("# matchingrule ( 2.5.13.2 "), "{text}");
        let again =
            Builder::recorded(&text).settings(settings).build().expect("it was written of a sound one");
        assert_eq!(of(&again), text);
        // Of a directory that is there, normal forms of names are kept, which have these numbers; and clients are shown the same.
        let types = |schema: &Schema| -> Vec<(String, String)> {
            schema
                .attribute_types()
                .map(|(_, kind)| (kind.definition.oid.clone(), kind.oid.clone()))
                .collect()
        };
        let classes = |schema: &Schema| -> Vec<(String, String)> {
            schema.classes().map(|(_, class)| (class.definition.oid.clone(), class.oid.clone())).collect()
        };
        assert_eq!((types(&again), classes(&again)), (types(&schema), classes(&schema)));
        assert!(again.find_type(b"monitorCounter").is_some());
        assert_eq!(again.find_class(b"foot").is_some(), schema.find_class(b"foot").is_some());
    }
}

/// Rules of a directory that had not the standard files, of which the server's own entries need something.
#[test]
fn recorded_rules_need_no_standard_file() {
    let schema = Builder::recorded("").build().expect("it is sound");
    assert!(schema.find_class(b"monitor").is_some());
    let other = "attributetype ( 2.5.4.34 NAME 'seeAlso' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )";
    let schema = Builder::recorded(other).build().expect("it is sound");
    let see_also = schema.find_type(b"seeAlso").expect("it is defined");
    assert!(schema.attribute_type(see_also).definition.sup.is_none(), "the recorded definition counts");
}

#[test]
fn a_type_is_known_by_all_its_names() {
    let schema = Builder::new().standard().build().unwrap();
    let password = schema.well_known().user_password;
    let types = || schema.attribute_types().map(|(id, _)| id);
    let mut is_short = false;
    for (id, kind) in schema.attribute_types() {
        is_short |= kind.oid != kind.definition.oid;
        for name in kind.all_names() {
            for name in [name.to_owned(), name.to_ascii_uppercase(), name.to_ascii_lowercase()] {
                let of: Vec<_> = types().filter(|other| schema.is_named(*other, name.as_bytes())).collect();
                assert_eq!(of, [id], "{name}");
                assert!(id != password || schema.may_be_password(name.as_bytes()), "{name}");
            }
        }
    }
    assert!(is_short, "a type has two OIDs");
    for name in ["", "cnx", "cnn", "2.5.4"] {
        assert!(types().all(|id| !schema.is_named(id, name.as_bytes())), "{name}");
    }
    for name in ["", "u", "uid", "cn", "mail", "objectClass"] {
        assert!(!schema.may_be_password(name.as_bytes()), "{name}");
    }
}
