use super::*;
use crate::additions::{ADDED_BYTES_MAX, ADDED_MAX};
use crate::{CheckOptions, DefinitionKind};
use model::Description;
use model::entry::Entry;

const TASTE: &[u8] = b"( 1.3.6.1.4.1.99999.1.1 NAME 'taste' SUP name )";
const SCORE: &[u8] = b"( 1.3.6.1.4.1.99999.1.2 NAME ( 'score' 'points' ) DESC 'points' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )";
const WINE: &[u8] =
    b"( 1.3.6.1.4.1.99999.2.1 NAME 'wine' SUP top STRUCTURAL MUST ( cn $ taste ) MAY points )";

fn standard() -> Schema {
    Builder::new().standard().build().expect("it is sound")
}

fn rules(schema: &Schema) -> String {
    let mut text = String::new();
    schema.write_rules(&mut text);
    text
}

#[test]
fn what_was_added_is_as_if_it_had_always_been_there() {
    let schema = standard();
    let name = schema.find_type(b"name").expect("it is standard");
    let before = (schema.type_count(), schema.class_count(), schema.generation());
    // The class comes before its types in the request of a client, and types before those that they are derived from.
    let sweet: &[u8] = b"( 1.3.6.1.4.1.99999.1.3 NAME 'sweetness' SUP taste )";
    schema.add(&[sweet, SCORE, TASTE], &[WINE]).expect("they are sound");
    assert_eq!((schema.type_count(), schema.class_count()), (before.0 + 3, before.1 + 1));
    assert!(schema.generation() > before.2);
    let find = |text: &str| schema.find_type(text.as_bytes()).expect("it was added");
    let (taste, sweet) = (find("TASTE"), find("1.3.6.1.4.1.99999.1.3"));
    assert_eq!(find("points"), find("score"));
    assert!(
        schema.is_subtype(sweet, taste) && schema.is_subtype(sweet, name) && schema.is_subtype(taste, name)
    );
    assert!(!schema.is_subtype(taste, sweet) && !schema.is_subtype(name, taste));
    assert!(schema.subtypes(name).ends_with(&[sweet.min(taste), sweet.max(taste)]));
    assert!(schema.subtypes(taste).contains(&sweet) && schema.subtypes(taste).len() == 2);
    assert_eq!(&*schema.subtypes(find("score")), [find("score")]);
    assert_eq!(schema.attribute_type(sweet).equality, schema.attribute_type(name).equality);
    // A start builds the same of the files.
    let again = schema.files().into_iter().fold(Builder::new().standard(), Builder::with_file);
    let again = again.build().expect("it is sound");
    assert_eq!(rules(&again), rules(&schema));
    let recorded =
        Builder::recorded(&rules(&schema)).settings(schema.settings()).build().expect("it is sound");
    assert_eq!(rules(&recorded), rules(&schema));
    for kind in
        [DefinitionKind::AttributeTypes, DefinitionKind::ObjectClasses, DefinitionKind::MatchingRuleUse]
    {
        let all = |schema: &Schema| {
            let mut all = Vec::new();
            schema.write_definitions(kind, |text| all.push(text.to_owned()));
            all.sort_unstable();
            all
        };
        assert_eq!(all(&again), all(&schema), "{kind:?}");
    }
    // A second addition is derived from the first.
    schema.add(&[], &[b"( 1.3.6.1.4.1.99999.2.2 NAME 'port' SUP wine MAY sweetness )"]).expect("it is sound");
    let port = schema.find_class(b"port").expect("it was added");
    assert!(schema.is_subclass(port, schema.find_class(b"wine").expect("it was added")));
    assert_eq!(schema.files()[0].text.lines().count(), 5);
}

/// An entry with these attributes.
fn entry(schema: &Schema, attributes: &[(&str, &str)]) -> Entry {
    let mut entry = Entry::default();
    for (name, value) in attributes {
        let id = schema.find_type(name.as_bytes()).expect("it is there");
        entry.push_attribute(Description::plain(id));
        entry.push_value(value.as_bytes());
    }
    entry
}

#[test]
fn entries_are_checked_by_what_was_added() {
    let schema = standard();
    let extensible = |schema: &Schema, name| {
        let mut entry = entry(schema, &[("cn", "x"), (name, "5"), ("objectClass", "device")]);
        entry.extend(Description::plain(schema.well_known().object_class), [&b"extensibleObject"[..]]);
        schema.check(entry, CheckOptions::default()).map_err(|(violation, _)| violation.to_string())
    };
    // The set of classes is remembered from before the addition.
    assert!(extensible(&schema, "l").is_ok());
    schema.add(&[TASTE, SCORE], &[WINE]).expect("they are sound");
    assert!(extensible(&schema, "score").is_ok());
    let check = |attributes: &[(&str, &str)]| {
        let checked = schema.check(entry(&schema, attributes), CheckOptions::default());
        checked.map(|_| ()).map_err(|(violation, _)| violation.to_string())
    };
    let wine = [("objectClass", "wine"), ("cn", "x"), ("taste", "good"), ("score", "90")];
    assert_eq!(check(&wine), Ok(()));
    assert!(check(&wine[..2]).unwrap_err().contains("taste"));
    assert!(check(&[wine[0], wine[1], wine[2], ("score", "much")]).unwrap_err().contains("score"));
    assert!(check(&[("objectClass", "device"), ("cn", "x"), ("taste", "good")]).is_err());
}

#[test]
fn what_is_no_addition_changes_nothing() {
    let schema = standard();
    schema.add(&[TASTE], &[]).expect("it is sound");
    let before = rules(&schema);
    let refused = |types: &[&[u8]], classes: &[&[u8]]| {
        let refused = schema.add(types, classes).expect_err("it is no addition");
        assert_eq!(schema.judge(types, classes).expect_err("it is none either"), refused);
        assert_eq!((rules(&schema), schema.generation()), (before.clone(), 1));
        refused
    };
    let is_type = |text: &[u8]| refused(&[text], &[]);
    let is_class = |text: &[u8]| refused(&[], &[text]);
    assert!(matches!(is_type(TASTE), NotAdded::Exists(_)));
    assert!(matches!(is_type(b"( 2.5.4.3 NAME 'cn' SUP name DESC 'mine' )"), NotAdded::ChangesType(_)));
    assert!(matches!(
        is_class(b"( 2.5.6.6 NAME 'person' SUP top MUST ( sn $ cn ) )"),
        NotAdded::ChangesClass(_)
    ));
    for unfit in [
        &b"( 1.2.3.4 NAME 'commonName' SUP name )"[..],
        b"( 1.2.3.4 NAME 'a' SUP nothing )",
        b"( 1.2.3.4 NAME 'a' SUP a )",
        b"( 1.2.3.4 NAME 'a' SYNTAX 1.2.3.4.5 )",
        b"( 1.2.3.4 NAME 'a' EQUALITY nothingMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )",
        b"( 1.2.3.4 NAME 'a' )",
        b"( 2.5.6.6 NAME 'a' SUP name )",
    ] {
        assert!(matches!(is_type(unfit), NotAdded::Unfit(_)), "{:?}", is_type(unfit));
    }
    for unfit in [
        &b"( 1.2.3.4 NAME 'a' SUP nothing )"[..],
        b"( 1.2.3.4 NAME 'a' MUST nothing )",
        b"( 1.2.3.4 NAME 'person' SUP top )",
        b"( 1.2.3.4 NAME 'a' SUP simpleSecurityObject STRUCTURAL )",
        b"( 2.5.4.3 NAME 'a' SUP top )",
    ] {
        assert!(matches!(is_class(unfit), NotAdded::Unfit(_)), "{:?}", is_class(unfit));
    }
    for unread in [
        &b"no definition"[..],
        b"",
        b"( a.b NAME 'a' SUP name )",
        b"( 1.2.3.4 NAME 'a' DESC 'x\ny' SUP name )",
        b"\xff",
    ] {
        assert!(matches!(is_type(unread), NotAdded::Syntax(_)), "{:?}", is_type(unread));
    }
    // One fault refuses all, and circles are found.
    assert!(matches!(refused(&[SCORE, TASTE], &[]), NotAdded::Exists(_)));
    assert!(matches!(refused(&[SCORE, SCORE], &[]), NotAdded::Exists(_)));
    let circle: [&[u8]; 2] = [b"( 1.2.3.4 NAME 'a' SUP b )", b"( 1.2.3.5 NAME 'b' SUP a )"];
    assert!(matches!(refused(&circle, &[]), NotAdded::Unfit(_)));
}

#[test]
fn additions_have_bounds() {
    let schema = standard();
    let types: Vec<String> =
        (0..=ADDED_MAX).map(|at| format!("( 1.3.6.1.4.1.99999.3.{at} NAME 'added{at}' SUP name )")).collect();
    let bytes: Vec<&[u8]> = types.iter().map(String::as_bytes).collect();
    assert!(matches!(schema.add(&bytes, &[]), Err(NotAdded::TooMany(_))));
    assert_eq!(schema.add(&bytes[1..], &[]), Ok(()));
    assert!(matches!(schema.add(&bytes[..1], &[]), Err(NotAdded::TooMany(_))));
    let long = format!("( 1.2.3.4 NAME 'a' DESC '{}' SUP name )", "x".repeat(ADDED_BYTES_MAX));
    assert!(matches!(standard().add(&[long.as_bytes()], &[]), Err(NotAdded::TooMany(_))));
}

#[test]
fn definitions_that_a_file_has_by_now_are_those_of_the_file() {
    let schema = standard();
    schema.add(&[TASTE, SCORE], &[]).expect("they are sound");
    let other = SchemaFile {
        name: "wines.schema".into(),
        text: "attributetype ( 1.3.6.1.4.1.99999.1.1 NAME 'taste' DESC 'of wine' SUP name )".into(),
    };
    let with = |file: &[SchemaFile]| {
        let files = file.iter().cloned().chain(schema.files());
        files.fold(Builder::new().standard(), Builder::with_file).build().expect("it is sound")
    };
    let both = with(std::slice::from_ref(&other));
    let taste = both.attribute_type(both.find_type(b"taste").expect("it is there"));
    assert_eq!(taste.definition.description.as_deref(), Some("of wine"));
    assert!(both.files()[1].text.contains("score") && !both.files()[1].text.contains("taste"));
    assert_eq!(both.add(&[TASTE], &[]).map_err(|why| matches!(why, NotAdded::ChangesType(_))), Err(true));
}
