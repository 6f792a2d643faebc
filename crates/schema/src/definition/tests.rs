use super::*;
use proptest::prelude::*;

#[test]
fn everything_in_one_definition() {
    let text = "( 1.2.3 NAME ( 'a' 'b' ) DESC 'it\\27s' OBSOLETE SUP name EQUALITY caseIgnoreMatch \
                ORDERING x SUBSTR y SYNTAX 1.3.6{256} SINGLE-VALUE COLLECTIVE NO-USER-MODIFICATION \
                USAGE dSAOperation X-ORIGIN 'RFC' X-ORDERED ( 'a' 'b' ) )";
    let d = parse_attribute_type(text).unwrap();
    assert_eq!(d.description.as_deref(), Some("it's"));
    assert_eq!(d.length_max, Some(256));
    assert_eq!(d.extensions.len(), 2);
    assert_eq!(d.to_string(), text);
}

#[test]
fn a_keyword_that_is_not_ascii_is_a_fault() {
    for text in ["( 1.2.3 N\u{1f2}E 'n' )", "( 1.2.3 \u{1f2}X 'n' )", "( 1.2.3 X\u{e9}- 'n' )"] {
        let error = parse_attribute_type(text).unwrap_err();
        assert!(error.to_string().contains("not a keyword"), "{error}");
    }
}

#[test]
fn quirks_of_other_servers() {
    let d =
        parse_attribute_type("( 'a-oid' NAME 'a_b' SYNTAX '1.3.6.1{12}' usage USERAPPLICATIONS)").unwrap();
    assert_eq!((d.oid.as_str(), d.syntax.as_deref(), d.length_max), ("a-oid", Some("1.3.6.1"), Some(12)));
    let c = parse_object_class("(1.2 NAME 'c' SUP top MUST(a$b) MAY ( c $ d ))").unwrap();
    assert_eq!((c.must.len(), c.may.len(), c.kind), (2, 2, ClassKind::Structural));
    assert!(parse_object_class("( Pando:3.1 NAME 'c' AUXILIARY )").is_ok());
    assert_eq!(parse_syntax("( 1.2.3 DESC 'x' X-SUBST '1.2.4' )").unwrap().extensions[0].1, ["1.2.4"]);
}

#[test]
fn content_rules_are_read_and_written() {
    let text = "( 2.5.6.6 NAME 'personRule' DESC 'x' OBSOLETE AUX ( a $ b ) MUST sn MAY ( c $ d ) NOT e X-ORIGIN 'y' )";
    let rule = parse_content_rule(text).unwrap();
    assert_eq!((rule.auxiliary.len(), &rule.not[..], rule.obsolete), (2, &["e".to_owned()][..], true));
    assert_eq!(rule.to_string(), text);
    for wrong in
        ["( 2.5.6.6 SUP top )", "( 2.5.6.6 STRUCTURAL )", "( 2.5.6.6 NOT )", "( 2.5.6.6 AUX a AUX b )"]
    {
        assert!(parse_content_rule(wrong).is_err(), "{wrong}");
    }
    assert!(parse_object_class("( 2.5.6.6 NOT cn )").is_err());
}

#[test]
fn errors_say_where() {
    let at = |text: &str| parse_attribute_type(text).unwrap_err().at;
    assert_eq!(at("( 1.2 NAME 'a' FOO )"), 15);
    assert_eq!(at("( 1.2 NAME 'a' NAME 'b' )"), 15);
    assert_eq!(at("( 1.2 NAME 'a"), 11);
    assert_eq!(at("( 1.2 NAME 'a'"), 14);
    assert_eq!(at("( 1.2 ) x"), 8);
    assert!(parse_object_class("( 1.2 ABSTRACT AUXILIARY )").is_err());
    assert!(parse_object_class("( 1.2 MUST ( ) )").is_err());
}

#[test]
fn descriptions_of_any_kind() {
    assert!(is_description("( 2.5.13.0 NAME 'x' APPLIES ( a $ b ) )"));
    assert!(is_description("( 1 FORM x )"));
    for bad in ["", "2.5", "( )", "( 1.2", "( 1.2 ) )", "( ( 1 ) )"] {
        assert!(!is_description(bad), "{bad}");
    }
    assert_eq!(first_component("( 2.5.4.3 NAME 'cn' )"), Some("2.5.4.3"));
}

proptest! {
    #[test]
    fn print_then_parse(
        oid in "[0-2](\\.[1-9][0-9]{0,3}){1,6}",
        names in proptest::collection::vec("[a-z][a-zA-Z0-9-]{0,8}", 0..3),
        description in proptest::option::of("[ -~é]{0,12}"),
        lists in proptest::collection::vec(proptest::collection::vec("[a-z]{1,5}", 0..3), 3..4),
        obsolete: bool,
    ) {
        let c = ObjectClassDefinition {
            oid, names, description, obsolete, kind: ClassKind::Auxiliary, sup: lists[0].clone(),
            must: lists[1].clone(), may: lists[2].clone(),
            extensions: vec![("X-A".into(), vec!["a'b\\".into(), "c".into()])],
        };
        prop_assert_eq!(parse_object_class(&c.to_string()).unwrap(), c);
    }

    #[test]
    fn no_text_panics(text in "[ -~]{0,60}") {
        let _ = parse_attribute_type(&text);
        let _ = parse_object_class(&format!("( 1.2 {text} )"));
        is_description(&text);
    }
}
