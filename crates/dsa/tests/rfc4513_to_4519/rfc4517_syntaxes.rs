//! RFC 4517: syntaxes and matching rules.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 3.2, 3.3.1 - 3.3.34 | takes the values of each syntax, and refuses others | `s3_3_values_of_syntaxes`, `schema: examples_of_each_syntax`, `schema: octets_of_any_kind` |
//! | 3.3 | publishes each syntax by its number | `s3_3_syntaxes_are_published` |
//! | 3.3.6 | takes any character of UTF-8, those that are not ASCII and those that are not assigned too | `s3_3_6_characters_of_any_kind` |
//! | 3.3.13 | refuses a local time without a differential, and times that do not exist | `s3_3_13_local_times` |
//! | 4.1 | publishes the rules that types and uses of rules refer to | `s4_1_rules_are_published` |
//! | 4.1 | takes the rules in an extensible match, of every attribute of their syntax | `s4_2_equality`, `s4_1_rules_of_other_attributes` |
//! | 4.1, RFC 4511 section 4.5.1.7 | is Undefined about an assertion that is none of the rule's syntax | `s4_1_assertions_of_another_form` |
//! | 4.1 | has no two equal values in an attribute, and deletes the one that is equal | `s4_1_values_are_identified_by_the_rule` |
//! | 4.2.1 - 4.2.4, 4.2.7, 4.2.9, 4.2.11, 4.2.14 - 4.2.16, 4.2.18, 4.2.19, 4.2.22, 4.2.25 - 4.2.27, 4.2.29, 4.2.31 | compares by each equality rule | `s4_2_equality`, `s4_2_first_components`, `schema: equality_of_strings`, `schema: equality_of_the_rest` |
//! | 4.2.5, 4.2.12, 4.2.17, 4.2.20, 4.2.23, 4.2.28 | orders by each ordering rule | `s4_2_ordering`, `schema: integers_order_as_numbers`, `schema: times_order_as_times` |
//! | 4.2.6, 4.2.8, 4.2.10, 4.2.13, 4.2.24, 4.2.30 | finds parts by each substrings rule | `s4_2_substrings`, `schema: substrings` |
//! | 4.2.26 | is Undefined about a name of an object identifier that it does not know | `s4_2_26_unknown_names` |
//! | 5 | compares what decides about access by its value and not by how it is written | `dsa: a5_the_searches_of_a_group_find_its_members`, `access: a5_members_of_groups_of_all_kinds` |
//!
//! It takes more than the text in some syntaxes: an empty line of a postal address, blanks around the terms of a guide, UTC times without a zone
//! (which the text allows and discourages). Words of a syntax, such as `fineResolution`, have upper and lower case as they come.
//!
//! Deviation: a Directory String with a character that RFC 4518 prohibits (private use, no character, U+FFFD) is refused, since no rule could
//! compare it: `s3_3_6_characters_of_any_kind`.
//!
//! Not here: that clients do not take values of unknown syntaxes for text (section 3.1), which binds clients.

use super::{add_any, is_found, takes};
use crate::common::*;
use dsa::SUBSCHEMA_DN;
use model::ResultCode::*;
use model::Scope;
use proto::op::ModifyKind;
use schema::{Rule, Syntax};

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc4517_syntaxes.rs"));
}

/// The name of an attribute that a test adds for a syntax.
const EXTRA: [(&str, &str, &str); 6] = [
    ("xBoolean", "1.3.6.1.4.1.1466.115.121.1.7", "EQUALITY booleanMatch"),
    (
        "xTime",
        "1.3.6.1.4.1.1466.115.121.1.24",
        "EQUALITY generalizedTimeMatch ORDERING generalizedTimeOrderingMatch",
    ),
    ("xUtcTime", "1.3.6.1.4.1.1466.115.121.1.53", ""),
    (
        "xNumber",
        "1.3.6.1.4.1.1466.115.121.1.36",
        "EQUALITY numericStringMatch ORDERING numericStringOrderingMatch SUBSTR numericStringSubstringsMatch",
    ),
    (
        "xOctets",
        "1.3.6.1.4.1.1466.115.121.1.40",
        "EQUALITY octetStringMatch ORDERING octetStringOrderingMatch",
    ),
    (
        "xExact",
        "1.3.6.1.4.1.1466.115.121.1.15",
        "EQUALITY caseExactMatch ORDERING caseExactOrderingMatch SUBSTR caseExactSubstringsMatch",
    ),
];

/// A directory whose schema has these as well.
fn with_extra() -> Client {
    let mut client = Client::new();
    for (at, (name, syntax, rules)) in EXTRA.iter().enumerate() {
        let definition = format!("( 1.3.6.1.4.1.99999.17.{at} NAME '{name}' {rules} SYNTAX {syntax} )");
        let end = client.modify(SUBSCHEMA_DN, &[(ModifyKind::Add, "attributeTypes", &[&definition])]);
        assert_eq!(end.code, Success, "{}", end.text);
    }
    client
}

#[test]
fn s3_3_values_of_syntaxes() {
    let mut client = with_extra();
    for (attribute, good, bad) in [
        (
            "x500UniqueIdentifier",
            &["'0101111101'B", "''B", "'0'B"][..],
            &["0101", "'012'B", "'01'", "'01", ""][..],
        ),
        ("xBoolean", &["TRUE", "FALSE"], &["yes", "1", "", "TRUE "]),
        ("c", &["US", "AU", "?)"], &["USA", "U", "", "\u{e4}"]),
        (
            "preferredDeliveryMethod",
            &["telephone $ videotex", "any", "mhs$physical$telex$teletex$g3fax$g4fax$ia5$videotex$telephone"],
            &["pigeon", "", "any $", "any telex"],
        ),
        (
            "description",
            &["This is a value of Directory String containing #!%#@.", " ", "a\nb", "\u{1}"],
            &[""],
        ),
        (
            "seeAlso",
            &[
                "UID=jsmith,DC=example,DC=net",
                "OU=Sales+CN=J. Smith,DC=example,DC=net",
                "CN=John Smith\\, III,DC=example,DC=net",
                "CN=Before\\0dAfter,DC=example,DC=net",
                "CN=Lu\\C4\\8Di\\C4\\87",
                "",
            ],
            &["jsmith", "cn=a,", "nosuch=a"],
        ),
        (
            "enhancedSearchGuide",
            &[
                "person#(sn$EQ)#oneLevel",
                "person#sn$EQ|!(cn$SUBSTR&c$EQ)#wholeSubtree",
                " 2.5.6.6 # ?true # baseobject",
                "person#?false|sn$GE&sn$LE|sn$APPROX#oneLevel",
            ],
            &[
                "person#sn$EQ",
                "person#sn$EQ#twoLevel",
                "person#sn$LIKE#oneLevel",
                "##oneLevel",
                "person#(sn$EQ#oneLevel",
            ],
        ),
        (
            "facsimileTelephoneNumber",
            &[
                "+1 512 315 0280",
                "+1$twoDimensional$fineResolution$unlimitedLength$b4Length$a3Width$b4Width$uncompressed",
            ],
            &["+1$wide", "", "$a3Width", "+1$"],
        ),
        (
            "xTime",
            &[
                "199412161032Z",
                "199412160532-0500",
                "1994121610Z",
                "19941216103259Z",
                "19941216103260Z",
                "1994121610.5Z",
                "199412161032,25Z",
                "19941216103259.123456789+01",
                "00000101000000Z",
                "20240229000000Z",
            ],
            &[
                "199412161032",
                "19941216",
                "19941316103200Z",
                "19940231103200Z",
                "20230229000000Z",
                "1994121624Z",
                "199412161060Z",
                "19941216103261Z",
                "1994121610.Z",
                "199412161032+2400",
                "199412161032z",
                "",
            ],
        ),
        (
            "xUtcTime",
            &["9412161032Z", "941216103200Z", "9412160532-0500", "9412161032"],
            &["199412161032Z", "9413161032Z", "9402311032Z", "", "94121610Z"],
        ),
        ("searchGuide", &["person#sn$EQ", "sn$EQ", "?true"], &["person#", "sn$LIKE", ""]),
        ("mail", &["", "a@b", "with blank", "\u{1}"], &["\u{e4}@b"]),
        (
            "uidNumber",
            &["1321", "0", "-1", "-1321", "123456789012345678901234567890"],
            &["01", "-0", "-01", "+1", "1.5", "", " 1", "1 ", "x"],
        ),
        ("jpegPhoto", &["", "anything"], &[]),
        (
            "uniqueMember",
            &["O=Test,C=GB#'0101'B", "O=Test,C=GB", "O=Test,C=GB#''B", ""],
            &["nosuch=x#'0101'B", "nothing", "O=Test,"],
        ),
        ("x121Address", &["15 079 672 281", " ", "1"], &["12a", "", "1-2"]),
        ("xOctets", &["", "a\0b"], &[]),
        (
            "supportedApplicationContext",
            &["1.2.3.4", "cn", "x-some-Name1", "2.5"],
            &["1..2", "1.02", "1.", "a_b", "", "1a"],
        ),
        ("otherMailbox", &["MCIMail$x@y", "smtp$"], &["smtp", "$x", "a@b$c", "smtp$\u{e4}"]),
        (
            "postalAddress",
            &[
                "1234 Main St.$Anytown, CA 12345$USA",
                "\\241,000,000 Sweepstakes$PO Box 1000000$Anytown, CA 12345$USA",
                "a\\5Cb",
                "a\\5cb\u{e4}",
            ],
            &["", "a\\b", "a\\20b", "a\\"],
        ),
        (
            "serialNumber",
            &["This is a PrintableString.", "'()+,-./:?= 09azAZ"],
            &["a@b", "", "a_b", "\u{e4}", "a\"b", "a*"],
        ),
        (
            "telephoneNumber",
            &["+1 512 315 0280", "+1-512-315-0280", "+61 3 9896 7830"],
            &["", "+1*2", "\u{e4}"],
        ),
        (
            "teletexTerminalIdentifier",
            &["abc", "abc$graphic:xyz$control:$misc:a\\24b$page:$private:\u{e4}"],
            &["", "abc$colour:red", "abc$graphic", "$misc:"],
        ),
        ("telexNumber", &["12345$023$ABCDE"], &["12345$023", "1$2$3$4", "1$$3", ""]),
    ] {
        for value in good {
            assert!(takes(&mut client, attribute, value), "{attribute}: {value:?}");
        }
        for value in bad {
            assert!(!takes(&mut client, attribute, value), "{attribute}: {value:?}");
        }
    }
    // The examples of definitions: an addition to the schema is refused for another reason than its form, or taken.
    for (attribute, value) in [
        (
            "objectClasses",
            "( 2.5.6.2 NAME 'country' SUP top STRUCTURAL MUST c MAY ( searchGuide $ description ) )",
        ),
        (
            "attributeTypes",
            "( 2.5.4.15 NAME 'businessCategory' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )",
        ),
    ] {
        let code = client.modify(SUBSCHEMA_DN, &[(ModifyKind::Add, attribute, &[value])]).code;
        assert!(matches!(code, AttributeOrValueExists | UnwillingToPerform), "{value}: {code:?}");
        let broken = value.trim_end_matches(')');
        let code = client.modify(SUBSCHEMA_DN, &[(ModifyKind::Add, attribute, &[broken])]).code;
        assert_eq!(code, InvalidAttributeSyntax, "{broken}");
    }
}

/// Every "LDAP definition" of section 3.3, by number and description, and the rules of section 4.2 by number, name and syntax.
#[test]
fn s3_3_syntaxes_are_published() {
    let mut client = Client::new();
    let published =
        client.read(SUBSCHEMA_DN, &["ldapSyntaxes"]).values("ldapSyntaxes").expect("there are some");
    for (number, description) in [
        (3, "Attribute Type Description"),
        (6, "Bit String"),
        (7, "Boolean"),
        (11, "Country String"),
        (14, "Delivery Method"),
        (15, "Directory String"),
        (16, "DIT Content Rule Description"),
        (17, "DIT Structure Rule Description"),
        (12, "DN"),
        (21, "Enhanced Guide"),
        (22, "Facsimile Telephone Number"),
        (23, "Fax"),
        (24, "Generalized Time"),
        (25, "Guide"),
        (26, "IA5 String"),
        (27, "INTEGER"),
        (28, "JPEG"),
        (54, "LDAP Syntax Description"),
        (30, "Matching Rule Description"),
        (31, "Matching Rule Use Description"),
        (34, "Name And Optional UID"),
        (35, "Name Form Description"),
        (36, "Numeric String"),
        (37, "Object Class Description"),
        (40, "Octet String"),
        (38, "OID"),
        (39, "Other Mailbox"),
        (41, "Postal Address"),
        (44, "Printable String"),
        (58, "Substring Assertion"),
        (50, "Telephone Number"),
        (51, "Teletex Terminal Identifier"),
        (52, "Telex Number"),
        (53, "UTC Time"),
    ] {
        let oid = format!("1.3.6.1.4.1.1466.115.121.1.{number}");
        let begin = format!("( {oid} DESC '{description}'");
        assert!(published.iter().any(|text| text.starts_with(&begin)), "{begin}");
        assert_eq!(Syntax::find(&oid).map(Syntax::name), Some(description));
    }
}

/// "Servers and clients MUST be prepared to receive arbitrary UCS code points, including code points outside the range of printable ASCII and code
/// points not presently assigned to any character."
#[test]
fn s3_3_6_characters_of_any_kind() {
    let mut client = Client::new();
    for value in [
        "\u{1}\u{7f}",
        "\u{e4}\u{df}\u{130}",
        "\u{5d0}\u{627}",
        "\u{4e2d}\u{6587}",
        // Assigned after Unicode 3.2, and not assigned at all.
        "\u{1f600}\u{1f9ff}",
        "\u{378}\u{2fe0}",
        "\u{e01ef}x",
        "\u{ad}",
        "a\u{301}\u{327}",
    ] {
        assert!(takes(&mut client, "description", value), "{value:?}");
        let filter = format!("(description={value})");
        assert!(is_found(&mut client, "description", value, &filter), "{value:?}");
    }
    for prohibited in ["\u{e000}", "a\u{f8ff}", "\u{fdd0}", "\u{fffe}", "\u{fffd}", "\u{10ffff}"] {
        assert!(!takes(&mut client, "description", prohibited), "{prohibited:?}");
        let filter = format!("(!(description={prohibited}))");
        assert!(!is_found(&mut client, "description", "x", &filter), "Undefined: {prohibited:?}");
    }
}

/// "with the constraint that local time without a differential SHALL NOT be used"; both examples "represent the same coordinated universal time".
#[test]
fn s3_3_13_local_times() {
    let mut client = with_extra();
    for local in ["199412161032", "19941216103200", "1994121610", "19941216103200.5"] {
        assert!(!takes(&mut client, "xTime", local), "{local}");
        assert!(
            !is_found(&mut client, "xTime", "199412161032Z", &format!("(!(xTime={local}))")),
            "Undefined"
        );
    }
    for same in [
        "199412160532-0500",
        "19941216103200Z",
        "19941216103200.000Z",
        "1994121610,53333333333333333333333333333333Z",
    ] {
        let is_same = !same.contains(',');
        assert_eq!(
            is_found(&mut client, "xTime", "199412161032Z", &format!("(xTime={same})")),
            is_same,
            "{same}"
        );
    }
}

/// "Servers MUST publish, in the matchingRules attribute, the definitions of matching rules referenced by values of the attributeTypes and
/// matchingRuleUse attributes in the same subschema entry."
#[test]
fn s4_1_rules_are_published() {
    let mut client = with_extra();
    let found =
        client.read(SUBSCHEMA_DN, &["attributeTypes", "matchingRuleUse", "matchingRules", "ldapSyntaxes"]);
    let of = |name: &str| found.values(name).expect("there are some");
    let rules = of("matchingRules");
    let word_after = |text: &str, keyword: &str| {
        let mut words = text.split_ascii_whitespace().skip_while(|word| *word != keyword);
        words.nth(1).map(|word| word.trim_matches('\'').to_owned())
    };
    let is_there = |name: &str| {
        rules.iter().any(|rule| {
            word_after(rule, "(").as_deref() == Some(name)
                || word_after(rule, "NAME").is_some_and(|own| own.eq_ignore_ascii_case(name))
        })
    };
    let mut count = 0;
    for definition in of("attributeTypes") {
        for keyword in ["EQUALITY", "ORDERING", "SUBSTR"] {
            if let Some(rule) = word_after(&definition, keyword) {
                assert!(is_there(&rule), "{rule} of {definition}");
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count}");
    for usage in of("matchingRuleUse") {
        let oid = word_after(&usage, "(").expect("it begins with one");
        assert!(is_there(&oid), "{usage}");
    }
    let syntaxes = of("ldapSyntaxes");
    for rule in &rules {
        let syntax = word_after(rule, "SYNTAX").expect("it has one");
        assert!(syntaxes.iter().any(|text| text.starts_with(&format!("( {syntax} "))), "{rule}");
    }
}

#[test]
fn s4_2_equality() {
    let mut client = with_extra();
    for (rule, attribute, value, same, other) in [
        (
            "bitStringMatch",
            "x500UniqueIdentifier",
            "'0101'B",
            &["'0101'B"][..],
            &["'101'B", "'01010'B", "''B"][..],
        ),
        ("booleanMatch", "xBoolean", "TRUE", &["TRUE"], &["FALSE"]),
        ("caseExactIA5Match", "mail", "A@b", &["A@b", " A@b "], &["a@b"]),
        ("caseExactMatch", "description", "Foo  Bar", &["Foo Bar", " Foo Bar  "], &["foo bar", "FooBar"]),
        ("caseIgnoreIA5Match", "mail", "A@b", &["a@B", " a@b"], &["a@"]),
        ("caseIgnoreMatch", "description", "Stra\u{df}e", &["strasse", "STRASSE "], &["strase"]),
        ("caseIgnoreMatch", "serialNumber", "Ab", &["aB"], &["a"]),
        ("caseIgnoreMatch", "c", "GB", &["gb"], &["US"]),
        (
            "caseIgnoreListMatch",
            "postalAddress",
            "1 Main St.$Town \\24 x$USA",
            &["1 main  st.$town \\24 X$usa", " 1 main st. $Town \\24 x$USA"],
            &["1 Main St.$Town $ x$USA", "1 Main St.$Town \\24 x", "1 Main St. Town \\24 x USA"],
        ),
        (
            "distinguishedNameMatch",
            "seeAlso",
            "CN=A b+SN=c,DC=x",
            &[
                "cn=a  b+sn=C,dc=X",
                "2.5.4.4=c+2.5.4.3=a b , dc=x",
                "surname=c+commonname=a b,domainComponent=x",
            ],
            &["cn=a b,dc=x", "cn=a b+sn=c", "dc=x,cn=a b+sn=c", "cn=a b+sn=c,cn=y,dc=x"],
        ),
        (
            "generalizedTimeMatch",
            "xTime",
            "199412161032Z",
            &["199412160532-0500", "19941216103200.0Z"],
            &["199412161033Z"],
        ),
        ("integerMatch", "uidNumber", "-7", &["-7"], &["7", "-70"]),
        (
            "integerMatch",
            "uidNumber",
            "123456789012345678901234567890",
            &["123456789012345678901234567890"],
            &["123456789012345678901234567891"],
        ),
        ("numericStringMatch", "xNumber", "15 07 9", &["15079", " 1 5 0 7 9 "], &["1507", "150790"]),
        (
            "objectIdentifierMatch",
            "supportedApplicationContext",
            "2.5.4.3",
            &["cn", "CommonName", "2.5.4.3"],
            &["sn", "2.5.4.30"],
        ),
        ("octetStringMatch", "xOctets", "aB", &["aB"], &["ab", "aB ", "a"]),
        ("octetStringMatch", "jpegPhoto", "aB", &["aB"], &["ab"]),
        (
            "telephoneNumberMatch",
            "telephoneNumber",
            "+1 555-1234 x",
            &["+15551234X", "+1-555 1234-X"],
            &["+1 555 1235 x"],
        ),
        (
            "uniqueMemberMatch",
            "uniqueMember",
            "cn=A,dc=x#'01'B",
            &["CN=a, dc=X#'01'B"],
            &["cn=a,dc=x", "cn=a,dc=x#'010'B", "cn=b,dc=x#'01'B"],
        ),
        ("uniqueMemberMatch", "uniqueMember", "cn=A,dc=x", &["CN=a, dc=X"], &["cn=a,dc=x#'01'B"]),
    ] {
        for (asserted, matches) in
            same.iter().map(|value| (value, true)).chain(other.iter().map(|value| (value, false)))
        {
            let escaped = asserted.replace('\\', "\\5c");
            let by_rule = format!("({attribute}:{rule}:={escaped})");
            assert_eq!(is_found(&mut client, attribute, value, &by_rule), matches, "{by_rule} of {value}");
            // FALSE, and not Undefined.
            let negated = format!("(!{by_rule})");
            assert_eq!(is_found(&mut client, attribute, value, &negated), !matches, "{negated} of {value}");
        }
        let oid = Rule::find(rule.as_bytes()).expect("it is known").oid();
        let by_number = format!("({attribute}:{oid}:={})", value.replace('\\', "\\5c"));
        assert!(is_found(&mut client, attribute, value, &by_number), "{by_number}");
    }
}

/// integerFirstComponentMatch is the rule of dITStructureRules alone; directoryStringFirstComponentMatch is of no attribute here.
#[test]
fn s4_2_first_components() {
    let mut client = Client::new();
    for (filter, count) in [
        ("(attributeTypes=2.5.4.3)", 1),
        ("(attributeTypes=cn)", 1),
        ("(attributeTypes=COMMONNAME)", 1),
        ("(attributeTypes=2.5.6.6)", 0),
        ("(objectClasses=person)", 1),
        ("(matchingRules=caseIgnoreMatch)", 1),
        ("(matchingRules=2.5.13.2)", 1),
        ("(ldapSyntaxes=1.3.6.1.4.1.1466.115.121.1.15)", 1),
        ("(attributeTypes:objectIdentifierFirstComponentMatch:=cn)", 1),
        ("(attributeTypes=nosuchname)", 0),
        ("(!(attributeTypes=nosuchname))", 0),
    ] {
        let found = client.search(SUBSCHEMA_DN, Scope::Base, filter, &["1.1"]);
        assert_eq!((found.end.code, found.entries.len()), (Success, count), "{filter}");
    }
}

#[test]
fn s4_2_ordering() {
    let mut client = with_extra();
    // Each before the next, by the rule of the attribute.
    for (attribute, order) in [
        ("uidNumber", &["-100", "-9", "0", "9", "10", "123456789012345678901234567890"][..]),
        (
            "xTime",
            &["199412161031Z", "199412160532-0500", "19941216103200.5Z", "19941216103201Z", "1995010100Z"],
        ),
        ("xNumber", &["1", "1 0", "2", "2 1"]),
        ("xOctets", &["", "A", "AA", "B", "a", "\u{e4}"]),
        ("xExact", &["A", "B", "a", "b", "\u{e4}"]),
        ("dnQualifier", &["A", "b", "C"]),
    ] {
        for (at, value) in order.iter().enumerate() {
            for (other, asserted) in order.iter().enumerate() {
                let (least, most) =
                    (format!("({attribute}>={asserted})"), format!("({attribute}<={asserted})"));
                assert_eq!(is_found(&mut client, attribute, value, &least), at >= other, "{value} {least}");
                assert_eq!(is_found(&mut client, attribute, value, &most), at <= other, "{value} {most}");
            }
        }
    }
}

#[test]
fn s4_2_substrings() {
    let mut client = with_extra();
    for (attribute, value, good, bad) in [
        (
            "description",
            "John  Q Smith",
            &["john*", "*SMITH", "jo*q*th", "*hn q*", "john q*", "*q smith", "*", "j*o*h*n*"][..],
            &["ohn*", "*smit", "john*john*", "*qsmith*", "smith*john", "john *smith* q*"][..],
        ),
        ("xExact", "aXbXc", &["a*X*X*c", "aX*", "*Xc"], &["a*X*X*X*c", "*x*", "A*"]),
        ("mail", "Ann@Example.com", &["ann@*", "*@EXAMPLE*", "a*@*.com"], &["@*", "*@example"]),
        ("xNumber", "12 34 5", &["123*", "*3 4*", "1*5"], &["2*", "*4"]),
        ("telephoneNumber", "+1 555 123-4567", &["+1555*", "*5551*67", "*123 4*"], &["555*", "*5552*"]),
        (
            "postalAddress",
            "1 Main St$Big Town$USA",
            &["1 main*", "*st*big*", "*town*usa", "*main*"],
            &["*st big*", "*stbig*", "main*"],
        ),
    ] {
        for (pattern, matches) in
            good.iter().map(|part| (part, true)).chain(bad.iter().map(|part| (part, false)))
        {
            let filter = format!("({attribute}={pattern})");
            assert_eq!(is_found(&mut client, attribute, value, &filter), matches, "{filter} of {value}");
        }
    }
}

/// "If an LDAP client supplies an assertion value in the <descr> form and the chosen descriptor is not recognized by the server, then the
/// objectIdentifierMatch rule evaluates to Undefined."
#[test]
fn s4_2_26_unknown_names() {
    let mut client = Client::new();
    for filter in [
        "(objectClass=noSuchClass)",
        "(!(objectClass=noSuchClass))",
        "(supportedApplicationContext=noSuchName)",
        "(!(supportedApplicationContext=noSuchName))",
    ] {
        assert!(!is_found(&mut client, "supportedApplicationContext", "1.2.3", filter), "{filter}");
    }
    assert!(is_found(
        &mut client,
        "supportedApplicationContext",
        "1.2.3",
        "(!(supportedApplicationContext=1.2.4))"
    ));
}

#[test]
fn s4_1_assertions_of_another_form() {
    let mut client = with_extra();
    for (attribute, value, asserted) in [
        ("uidNumber", "1", "x"),
        ("uidNumber", "1", ""),
        ("xBoolean", "TRUE", "maybe"),
        ("xTime", "199412161032Z", "soon"),
        ("seeAlso", "cn=a", "nonsense"),
        ("seeAlso", "cn=a", "nosuch=a"),
        ("x500UniqueIdentifier", "'0'B", "0"),
        ("mail", "a@b", "\u{e4}"),
    ] {
        for filter in [format!("({attribute}={asserted})"), format!("(!({attribute}={asserted}))")] {
            assert!(!is_found(&mut client, attribute, value, &filter), "{filter}");
        }
        assert_eq!(add_any(&mut client, "cn=x,dc=example", &[(attribute, &[value])]), Success);
        assert_eq!(
            client.compare("cn=x,dc=example", attribute, asserted).code,
            InvalidAttributeSyntax,
            "{attribute}"
        );
        assert_eq!(client.delete("cn=x,dc=example").code, Success);
    }
}

/// "Servers [...] SHOULD allow matching rules to be used with all attribute types known to the server, where the assertion syntax of the matching
/// rule is the same as the value syntax of the attribute", and with the other syntaxes that the rule lists; without a type, with all of these.
#[test]
fn s4_1_rules_of_other_attributes() {
    let mut client = Client::new();
    for (attribute, value, filter, matches) in [
        ("description", "Foo", "(description:caseExactMatch:=Foo)", true),
        ("description", "Foo", "(description:caseExactMatch:=foo)", false),
        ("labeledURI", "Foo", "(labeledURI:caseIgnoreMatch:=foo)", true),
        ("serialNumber", "Foo", "(serialNumber:caseExactMatch:=Foo)", true),
        ("telephoneNumber", "1 2", "(telephoneNumber:caseIgnoreMatch:=1 2)", true),
        ("telephoneNumber", "1 2", "(telephoneNumber:caseIgnoreMatch:=12)", false),
        ("description", "Foo", "(:caseExactMatch:=Foo)", true),
        ("uidNumber", "7", "(:integerMatch:=7)", true),
        // Not of its syntax: Undefined, either way.
        ("description", "7", "(description:integerMatch:=7)", false),
        ("description", "7", "(!(description:integerMatch:=8))", false),
        ("description", "7", "(description:noSuchMatch:=7)", false),
        ("description", "7", "(!(description:noSuchMatch:=7))", false),
    ] {
        assert_eq!(is_found(&mut client, attribute, value, filter), matches, "{filter}");
    }
}

/// "When modifying entries, matching rules are used to identify values to be deleted and to prevent an attribute from containing two equal values."
#[test]
fn s4_1_values_are_identified_by_the_rule() {
    let mut client = with_extra();
    let dn = "cn=value,dc=example";
    for (attribute, value, same) in [
        ("description", "Foo  Bar", "foo bar"),
        ("telephoneNumber", "+1 2-3", "+123"),
        ("seeAlso", "CN=a , dc=x", "cn=A,dc=X"),
        ("xTime", "199412161032Z", "199412160532-0500"),
        ("supportedApplicationContext", "cn", "2.5.4.3"),
        ("postalAddress", "A$b", "a $ B"),
        ("x121Address", "1 2", "12"),
    ] {
        let twice: &[(&str, &[&str])] = &[(attribute, &[value, same])];
        assert_eq!(add_any(&mut client, dn, twice), AttributeOrValueExists, "{attribute}");
        assert_eq!(add_any(&mut client, dn, &[(attribute, &[value])]), Success);
        let end = client.modify(dn, &[(ModifyKind::Add, attribute, &[same])]);
        assert_eq!(end.code, AttributeOrValueExists, "{attribute}");
        assert_eq!(client.compare(dn, attribute, same).code, CompareTrue, "{attribute}");
        assert_eq!(
            client.modify(dn, &[(ModifyKind::Delete, attribute, &[same])]).code,
            Success,
            "{attribute}"
        );
        assert_eq!(client.read(dn, &[attribute]).values(attribute), None);
        assert_eq!(client.delete(dn).code, Success);
    }
}
