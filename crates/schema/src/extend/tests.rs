use super::*;
use crate::additions::ADDED_BYTES_MAX;
use crate::slots::ADDED_MAX;
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

fn plan(schema: &Schema, types: &[&[u8]], classes: &[&[u8]]) -> Result<Plan, NotAdded> {
    change(schema, &[], types, classes)
}

fn add(schema: &Schema, types: &[&[u8]], classes: &[&[u8]]) -> Result<(), NotAdded> {
    plan(schema, types, classes).map(|plan| schema.put(plan))
}

/// Types and classes that are added, and what is removed with that.
fn change(
    schema: &Schema,
    removed: &[(Element, &[u8])],
    types: &[&[u8]],
    classes: &[&[u8]],
) -> Result<Plan, NotAdded> {
    let types = types.iter().map(|value| (Element::AttributeType, *value));
    let classes = classes.iter().map(|value| (Element::ObjectClass, *value));
    schema.propose(&Changes { removed: removed.to_vec(), added: types.chain(classes).collect() })
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
    add(&schema, &[sweet, SCORE, TASTE], &[WINE]).expect("they are sound");
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
    add(&schema, &[], &[b"( 1.3.6.1.4.1.99999.2.2 NAME 'port' SUP wine MAY sweetness )"])
        .expect("it is sound");
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
    add(&schema, &[TASTE, SCORE], &[WINE]).expect("they are sound");
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
    add(&schema, &[TASTE], &[]).expect("it is sound");
    let before = rules(&schema);
    let refused = |types: &[&[u8]], classes: &[&[u8]]| {
        let refused = add(&schema, types, classes).expect_err("it is no addition");
        assert_eq!(plan(&schema, types, classes).map(drop).expect_err("it is none either"), refused);
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
        // Rules that cannot compare the values.
        b"( 1.2.3.4 NAME 'a' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )",
        b"( 1.2.3.4 NAME 'a' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )",
        b"( 1.2.3.4 NAME 'a' ORDERING generalizedTimeOrderingMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.26 )",
        b"( 1.2.3.4 NAME 'a' SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.12 )",
        b"( 1.2.3.4 NAME 'a' SUP name EQUALITY booleanMatch )",
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
        // No filter as text could name them (RFC 4512 section 1.4).
        b"( 1.2.3.4 NAME '1abc' SUP name )",
        b"( 1.2.3.4 NAME 'a_b' SUP name )",
        b"( 1.2.3.4 NAME ( 'a' '-b' ) SUP name )",
        b"( 1.2.3.4 NAME 'a.b' SUP name )",
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

/// Files of other servers have such names, and earlier versions took in such definitions: they go on, and can be described otherwise and removed.
#[test]
fn what_was_taken_in_before_stays() {
    let lines = "attributetype ( 1.2.3.4 NAME ( 'a_b' '1abc' ) SUP name )\n\
        attributetype ( 1.2.3.5 NAME 'odd' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )\n";
    let of_file = Builder::new().standard().file("test", lines).build().expect("it has remarks alone");
    let remarks: Vec<_> = of_file.warnings().iter().map(ToString::to_string).collect();
    let remark = "test:2: matching rule 'integerMatch' does not fit the syntax 'Directory String' \
        (1.3.6.1.4.1.1466.115.121.1.15) of 'odd'";
    assert_eq!(remarks, [remark]);
    let file = SchemaFile { name: ADDED_FILE.into(), text: lines.into() };
    let schema = Builder::new().standard().with_file(file).build().expect("it was accepted before");
    let kind = |name: &[u8]| schema.find_type(name).map(|id| schema.attribute_type(id));
    assert!(kind(b"a_b").is_some() && kind(b"1abc").is_some());
    assert_eq!(kind(b"odd").and_then(|kind| kind.equality), Some(crate::Rule::Integer));
    // Others can be added beside them, and the names stay when the rest of a definition changes.
    add(&schema, &[TASTE], &[]).expect("it is sound");
    let old: &[u8] = b"( 1.2.3.4 NAME ( 'a_b' '1abc' ) SUP name )";
    let changed = |text: &'static [u8]| Changes {
        removed: vec![(Element::AttributeType, old)],
        added: vec![(Element::AttributeType, text)],
    };
    let described = changed(b"( 1.2.3.4 NAME ( 'a_b' '1abc' ) DESC 'x' SUP name )");
    schema.propose(&described).expect("the names were there");
    let more = changed(b"( 1.2.3.4 NAME ( 'a_b' '1abc' '2abc' ) SUP name )");
    assert!(matches!(schema.propose(&more), Err(NotAdded::Syntax(_))));
}

/// What an earlier version has logged comes to what it came to.
#[test]
fn what_the_log_has_is_taken() {
    let (name, odd): (&[u8], &[u8]) = (
        b"( 1.2.3.4 NAME 'a_b' SUP name )",
        b"( 1.2.3.5 NAME 'odd' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )",
    );
    let schema = standard();
    for value in [name, odd] {
        let changes = Changes { removed: Vec::new(), added: vec![(Element::AttributeType, value)] };
        assert!(schema.propose(&changes).is_err());
        schema.put(schema.plan(&changes).expect("it was logged"));
    }
    assert!(schema.find_type(b"a_b").is_some() && schema.find_type(b"odd").is_some());
    add(&schema, &[TASTE], &[]).expect("they are in nobody's way");
}

#[test]
fn additions_have_bounds() {
    let schema = standard();
    let types: Vec<String> =
        (0..=ADDED_MAX).map(|at| format!("( 1.3.6.1.4.1.99999.3.{at} NAME 'added{at}' SUP name )")).collect();
    let bytes: Vec<&[u8]> = types.iter().map(String::as_bytes).collect();
    assert!(matches!(add(&schema, &bytes, &[]), Err(NotAdded::TooMany(_))));
    assert_eq!(add(&schema, &bytes[1..], &[]), Ok(()));
    assert!(matches!(add(&schema, &bytes[..1], &[]), Err(NotAdded::TooMany(_))));
    let long = format!("( 1.2.3.4 NAME 'a' DESC '{}' SUP name )", "x".repeat(ADDED_BYTES_MAX));
    assert!(matches!(add(&standard(), &[long.as_bytes()], &[]), Err(NotAdded::TooMany(_))));
}

#[test]
fn definitions_that_a_file_has_by_now_are_those_of_the_file() {
    let schema = standard();
    add(&schema, &[TASTE, SCORE], &[]).expect("they are sound");
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
    assert_eq!(add(&both, &[TASTE], &[]).map_err(|why| matches!(why, NotAdded::ChangesType(_))), Err(true));
}

/// What a schema says of itself, and what a start makes of the same files and of the record.
fn is_the_same_at_a_start(schema: &Schema) {
    let again = schema.files().into_iter().fold(Builder::new().standard(), Builder::with_file);
    let again = again.build().unwrap_or_else(|errors| panic!("{errors}"));
    let differing = |other: &Schema| {
        let (ours, theirs) = (rules(schema), rules(other));
        let lines = ours.lines().map(Some).chain([None]).zip(theirs.lines().map(Some).chain([None]));
        let found = { lines }.find(|(ours, theirs)| ours != theirs);
        found.map(|(ours, theirs)| format!("{ours:?} is {theirs:?}"))
    };
    assert_eq!(differing(&again), None);
    let recorded = Builder::recorded(&rules(schema)).settings(schema.settings()).listing(schema.files());
    let recorded = recorded.build().unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(differing(&recorded), None);
    let numbers = |schema: &Schema| {
        let types = schema.attribute_types().map(|(id, kind)| (kind.definition.oid.clone(), id.0));
        types.collect::<BTreeMap<_, _>>()
    };
    assert_eq!(numbers(&again), numbers(schema));
    assert_eq!(numbers(&recorded), numbers(schema));
    // And either can be changed in the same way.
    for other in [&again, &recorded] {
        add(other, &[b"( 1.2.3.99 NAME 'later' SUP name )"], &[]).expect("it is sound");
        assert_eq!(other.find_type(b"later").map(|id| usize::from(id.0)), Some(schema.type_count()));
    }
}

const WITH: Element = Element::AttributeType;

#[test]
fn what_is_removed_leaves_its_number_to_nobody() {
    let schema = standard();
    let sweet: &[u8] = b"( 1.3.6.1.4.1.99999.1.3 NAME 'sweetness' SUP taste )";
    add(&schema, &[TASTE, SCORE, sweet], &[WINE]).expect("they are sound");
    let id = |name: &str| schema.find_type(name.as_bytes());
    let (taste, score) = (id("taste").unwrap(), id("score").unwrap());
    // A class and a subtype name it.
    let refused = |removed: &[(Element, &[u8])]| {
        let NotAdded::Needed(text) = change(&schema, removed, &[], &[]).map(drop).unwrap_err() else {
            panic!("something else")
        };
        text
    };
    let text = refused(&[(WITH, TASTE)]);
    assert_eq!(
        text,
        "the attribute type 'taste' (1.3.6.1.4.1.99999.1.1) cannot be removed: the attribute type 'sweetness' (1.3.6.1.4.1.99999.1.3) names it"
    );
    assert!(
        refused(&[(WITH, TASTE), (WITH, sweet)])
            .ends_with("the object class 'wine' (1.3.6.1.4.1.99999.2.1) names it")
    );
    let all: [(Element, &[u8]); 3] = [(WITH, TASTE), (WITH, sweet), (Element::ObjectClass, WINE)];
    let plan = change(&schema, &all, &[], &[]).expect("nothing else names them");
    assert_eq!(plan.effects().types.len(), 2);
    assert_eq!(plan.effects().classes, [schema.find_class(b"wine").unwrap()]);
    assert!(plan.effects().type_names.contains(&"sweetness".to_owned()) && !plan.effects().are_none());
    schema.put(plan);
    assert!(
        id("taste").is_none()
            && id("1.3.6.1.4.1.99999.1.1").is_none()
            && schema.find_class(b"wine").is_none()
    );
    assert_eq!(id("score"), Some(score));
    assert!(schema.attribute_types().all(|(_, kind)| kind.name() != "taste"));
    assert!(!schema.subtypes(id("name").unwrap()).contains(&taste));
    is_the_same_at_a_start(&schema);
    // The same again is something else, to the values of before.
    add(&schema, &[TASTE], &[]).expect("it is there no more");
    assert!(id("taste").unwrap() > score && id("taste") != Some(taste));
    assert!(matches!(add(&schema, &[TASTE], &[]), Err(NotAdded::Exists(_))));
    is_the_same_at_a_start(&schema);
}

#[test]
fn what_was_built_in_a_start_is_removed_like_what_was_added_since() {
    let first = standard();
    add(&first, &[TASTE, SCORE], &[WINE]).expect("they are sound");
    let again = first.files().into_iter().fold(Builder::new().standard(), Builder::with_file);
    let schema = again.build().expect("it is sound");
    let taste = schema.find_type(b"taste").unwrap();
    let plan =
        change(&schema, &[(WITH, TASTE), (Element::ObjectClass, WINE)], &[], &[]).expect("it was added");
    schema.put(plan);
    assert!(schema.find_type(b"taste").is_none() && schema.find_class(b"wine").is_none());
    add(&schema, &[b"( 1.2.3.4 NAME 'taste' SUP name )"], &[]).expect("the name is free");
    assert_ne!(schema.find_type(b"taste"), Some(taste));
    assert_eq!(schema.find_type(b"taste"), schema.find_type(b"1.2.3.4"));
    is_the_same_at_a_start(&schema);
}

#[test]
fn what_was_not_added_stays() {
    let schema = standard();
    let cn: &[u8] = b"( 2.5.4.3 NAME 'cn' SUP name )";
    assert!(matches!(change(&schema, &[(WITH, cn)], &[], &[]), Err(NotAdded::Fixed(_))));
    assert!(matches!(change(&schema, &[(WITH, cn)], &[cn], &[]), Err(NotAdded::Fixed(_))));
    assert!(matches!(change(&schema, &[(WITH, TASTE)], &[], &[]), Err(NotAdded::Missing(_))));
    assert!(matches!(change(&schema, &[(WITH, b"cn")], &[], &[]), Err(NotAdded::Syntax(_))));
    assert_eq!(schema.generation(), 0);
}

#[test]
fn a_change_keeps_the_number_if_values_mean_what_they_did() {
    let schema = standard();
    add(&schema, &[TASTE, SCORE], &[WINE]).expect("they are sound");
    let id = |name: &str| schema.find_type(name.as_bytes());
    let (taste, score, wine) =
        (id("taste").unwrap(), id("score").unwrap(), schema.find_class(b"wine").unwrap());
    let kept = schema.attribute_type(taste);
    let other: &[u8] =
        b"( 1.3.6.1.4.1.99999.1.1 NAME ( 'flavour' 'taste' ) DESC 'of wine' SUP name SINGLE-VALUE )";
    let plan = change(&schema, &[(WITH, TASTE)], &[other], &[]).expect("it may be so");
    assert_eq!(plan.effects().single, [taste]);
    schema.put(plan);
    assert_eq!((id("taste"), id("FLAVOUR")), (Some(taste), Some(taste)));
    assert_eq!(schema.attribute_type(taste).definition.description.as_deref(), Some("of wine"));
    assert_eq!(kept.name(), "taste", "who has it reads on");
    let two = entry(&schema, &[("taste", "a")]);
    let check = |count: usize| {
        let values = [&b"a"[..], b"b"];
        let values = values[..count].iter().copied();
        schema.check_attribute_values(two.description(0), values, CheckOptions::default())
    };
    assert!(check(1).is_ok() && check(2).is_err());
    is_the_same_at_a_start(&schema);
    // One name less, or another rule: the values of before mean something else.
    for other in [
        &b"( 1.3.6.1.4.1.99999.1.2 NAME 'score' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )"
            [..],
        b"( 1.3.6.1.4.1.99999.1.2 NAME ( 'score' 'points' ) SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )",
    ] {
        let why = change(&schema, &[(WITH, SCORE)], &[other], &[]).map(drop).unwrap_err();
        assert!(why.to_string().contains("cannot be changed so: the object class 'wine'"), "{why}");
        let class = [(WITH, SCORE), (Element::ObjectClass, WINE)];
        let both = change(
            &schema,
            &class,
            &[other],
            &[b"( 1.3.6.1.4.1.99999.2.1 NAME 'wine' SUP top STRUCTURAL MUST cn MAY score )"],
        );
        let plan = both.expect("the class is judged anew");
        assert_eq!(plan.effects().types, [score]);
        assert_eq!(plan.effects().narrowed.keys().collect::<Vec<_>>(), [&wine]);
    }
    // Without less there is nothing to look for.
    let more: &[u8] = b"( 1.3.6.1.4.1.99999.2.1 NAME ( 'wine' 'vin' ) DESC 'red' SUP top STRUCTURAL MUST cn MAY ( taste $ score $ l ) )";
    let plan = change(&schema, &[(Element::ObjectClass, WINE)], &[], &[more]).expect("it may be so");
    assert!(plan.effects().are_none());
    schema.put(plan);
    assert_eq!(schema.find_class(b"vin"), Some(wine));
    assert!(schema.class(wine).all_may.contains(&id("l").unwrap()));
    is_the_same_at_a_start(&schema);
}

#[test]
fn rules_are_added_changed_and_removed() {
    let schema = standard();
    add(&schema, &[TASTE], &[WINE_OF_TASTE]).expect("they are sound");
    let rule: &[u8] = b"( 1.3.6.1.4.1.99999.2.1 NAME 'wineRule' MUST description NOT seeAlso )";
    let form: &[u8] = b"( 1.3.6.1.4.1.99999.3.1 NAME 'wineForm' OC wine MUST cn )";
    let of_root: &[u8] = b"( 1 FORM wineForm )";
    let below: &[u8] = b"( 2 FORM wineForm SUP ( 1 2 ) )";
    let all = vec![
        (Element::StructureRule, below),
        (Element::StructureRule, of_root),
        (Element::NameForm, form),
        (Element::ContentRule, rule),
    ];
    let plan = schema.plan(&Changes { added: all.clone(), ..Changes::default() }).expect("they are sound");
    assert!(plan.effects().are_none(), "entries that are there stay as they are");
    schema.put(plan);
    assert!(schema.judges_names() && schema.has_structure_rules());
    let wine = entry(&schema, &[("objectClass", "wine"), ("cn", "x"), ("taste", "good")]);
    assert!(schema.check(wine, CheckOptions::default()).is_err(), "the content rule asks for a description");
    is_the_same_at_a_start(&schema);
    let removed = |removed: &[(Element, &'static [u8])]| {
        schema.plan(&Changes { removed: removed.to_vec(), ..Changes::default() })
    };
    let needed = |list: &[(Element, &'static [u8])]| match removed(list) {
        Err(NotAdded::Needed(text)) => text,
        other => panic!("{:?}", other.map(drop)),
    };
    assert!(needed(&[(Element::NameForm, form)]).ends_with("the structure rule 1 names it"));
    assert!(needed(&[(Element::StructureRule, of_root)]).ends_with("the structure rule 2 names it"));
    assert!(needed(&[(Element::ObjectClass, WINE_OF_TASTE)]).contains("the content rule 'wineRule'"));
    let other: &[u8] = b"( 1.3.6.1.4.1.99999.2.1 NAME 'wineRule' MAY description )";
    let changes = Changes { removed: vec![all[3]], added: vec![(Element::ContentRule, other)] };
    schema.put(schema.plan(&changes).expect("a rule may be another"));
    let wine = entry(&schema, &[("objectClass", "wine"), ("cn", "x"), ("taste", "good")]);
    assert!(schema.check(wine, CheckOptions::default()).is_ok());
    is_the_same_at_a_start(&schema);
    schema.put(removed(&all).expect("nothing else names them"));
    assert!(!schema.judges_names() && !schema.has_structure_rules());
    is_the_same_at_a_start(&schema);
    assert!(matches!(removed(&all[..1]), Err(NotAdded::Missing(_))));
}

const WINE_OF_TASTE: &[u8] = b"( 1.3.6.1.4.1.99999.2.1 NAME 'wine' SUP top STRUCTURAL MUST ( cn $ taste ) )";

#[test]
fn a_file_has_no_word_that_only_the_server_writes() {
    for text in ["removed-attributetype 2.5.4.3\n", "retired-objectclass 1.2.3\n"] {
        let built = Builder::new().standard().file("mine.schema", text).build();
        assert!(built.unwrap_err().to_string().contains("is not the beginning of a definition"), "{text}");
    }
}

#[test]
fn what_is_there_already_need_not_be_added() {
    let schema = standard();
    let added: [(Element, &str); 3] = [
        (Element::AttributeType, "( 1.3.6.1.4.1.99999.1.1 NAME ( 'taste' 'flavour' ) DESC 'x' SUP name )"),
        (
            Element::ObjectClass,
            "( 1.3.6.1.4.1.99999.2.1 NAME 'wine' SUP top STRUCTURAL MUST cn MAY ( taste $ l ) )",
        ),
        (Element::ContentRule, "( 1.3.6.1.4.1.99999.2.1 NAME 'wineRule' NOT l )"),
    ];
    let added = added.iter().map(|(element, text)| (*element, text.as_bytes())).collect();
    let plan = schema.plan(&Changes { removed: Vec::new(), added });
    schema.put(plan.unwrap_or_else(|why| panic!("{why}")));
    let (kind, class, rule) = (Element::AttributeType, Element::ObjectClass, Element::ContentRule);
    let equivalent = Some(Already::Equivalent);
    let is = |element, text: &str| schema.has_already(element, text.as_bytes());
    // Written out what is inherited there, with fewer names and another description.
    let full = "( 1.3.6.1.4.1.99999.1.1 NAME 'Taste' DESC 'y' SUP name EQUALITY caseIgnoreMatch \
                SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15{64} X-ORIGIN 'z' )";
    assert_eq!(is(kind, full), equivalent);
    for other in [
        full.replace("'Taste'", "'smell'"),
        full.replace("SUP name ", ""),
        full.replace("SUP name", "SUP nothing"),
        full.replace("caseIgnoreMatch", "caseExactMatch"),
        full.replace("121.1.15{64}", "121.1.26"),
        full.replace("X-ORIGIN 'z'", "SINGLE-VALUE"),
        full.replace("99999.1.1", "99999.1.2"),
        "no definition".to_owned(),
    ] {
        assert_eq!(is(kind, &other), None, "{other}");
    }
    assert_eq!(is(class, "( 1.3.6.1.4.1.99999.2.1 NAME 'wine' SUP top MUST cn MAY flavour )"), equivalent);
    for other in ["MUST cn MAY mail", "MUST ( cn $ l )", "AUXILIARY MUST cn", "MUST cn MAY nothing"] {
        let text = format!("( 1.3.6.1.4.1.99999.2.1 NAME 'wine' SUP top {other} )");
        assert_eq!(is(class, &text), None, "{text}");
    }
    assert_eq!(is(rule, "( 1.3.6.1.4.1.99999.2.1  NAME 'wineRule'  NOT l )"), equivalent);
    assert_eq!(is(rule, "( 1.3.6.1.4.1.99999.2.1 NAME 'wineRule' NOT ou )"), None);
    // What comes with the program is distinguished from what was added.
    assert_eq!(is(kind, "( 2.5.4.4 NAME 'sn' DESC 'of a person' SUP name )"), equivalent);
    let standard = |name: &str| Some(Already::Standard(name.to_owned()));
    assert_eq!(is(kind, "( 2.5.4.4 NAME 'sn' SUP name SINGLE-VALUE )"), standard("'sn' (2.5.4.4)"));
    assert_eq!(is(class, "( 2.5.6.6 NAME 'person' SUP top MUST cn )"), standard("'person' (2.5.6.6)"));
}
