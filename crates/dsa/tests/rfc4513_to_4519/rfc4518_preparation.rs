//! RFC 4518: string preparation.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 2 | prepares values and assertions, and is Undefined where a step fails | `s2_4_prohibited`, `s2_1_transcode` |
//! | 2.1 | takes UTF-8, and nothing else, for a string | `s2_1_transcode` |
//! | 2.2 | maps hyphens, joiners, selectors, controls and the zero width space to nothing | `s2_2_mapped_to_nothing` |
//! | 2.2 | maps tabs, line ends and separators to a space | `s2_2_mapped_to_a_space` |
//! | 2.2 | folds case where the rule ignores case, by table B.2 of RFC 3454, and nowhere else | `s2_2_case` |
//! | 2.3 | normalises to form KC | `s2_3_normalised` |
//! | 2.4 | prohibits private use, what is no character, and U+FFFD | `s2_4_prohibited` |
//! | 2.5 | ignores the direction of characters | `s2_5_bidirectional` |
//! | 2.6.1 | takes spaces at the ends for none, and several for one; a space with a combining mark is none | `s2_6_1_spaces` |
//! | 2.6.1 | of parts of a value it keeps the spaces at the ends that are within the value | `s2_6_1_spaces_of_substrings` |
//! | 2.6.2 | skips all spaces of numeric strings | `s2_6_2_numeric` |
//! | 2.6.3 | skips all spaces and hyphens of telephone numbers | `s2_6_3_telephone` |
//! | all | the steps one by one | `schema: spaces_of_values`, `schema: spaces_of_parts`, `schema: folded_and_composed`, `schema: prohibited`, `schema: once_is_enough`, `schema: both_paths_agree` |
//!
//! Deviation:
//!
//! | section | sentence | what the server does | test |
//! |---|---|---|---|
//! | 2, 2.4 | code points that Unicode 3.2 has not assigned are prohibited | takes them as they are: the table is of 2002, and people write with what came since. They are equal to themselves alone, or to what form KC makes of them | `s2_4_unassigned` |

use super::{is_found, takes};
use crate::common::*;

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc4518_preparation.rs"));
}

/// A value with what has a meaning in filters escaped.
fn escaped(value: &str) -> String {
    let mut out = Vec::new();
    proto::filter_string::write_value(value.as_bytes(), &mut out);
    String::from_utf8(out).expect("it is UTF-8")
}

/// Does a value match an assertion, by caseIgnoreMatch or caseExactMatch?
fn matches(client: &mut Client, value: &str, asserted: &str, folds: bool) -> bool {
    let rule = if folds { "caseIgnoreMatch" } else { "caseExactMatch" };
    is_found(client, "description", value, &format!("(description:{rule}:={})", escaped(asserted)))
}

fn all_match(pairs: &[(&str, &str)], folds: bool) {
    let mut client = Client::new();
    for (value, asserted) in pairs {
        assert!(matches(&mut client, value, asserted, folds), "{value:?} {asserted:?}");
        assert!(matches(&mut client, asserted, value, folds), "{asserted:?} {value:?}");
    }
}

fn none_match(pairs: &[(&str, &str)], folds: bool) {
    let mut client = Client::new();
    for (value, asserted) in pairs {
        assert!(!matches(&mut client, value, asserted, folds), "{value:?} {asserted:?}");
        assert!(!matches(&mut client, asserted, value, folds), "{asserted:?} {value:?}");
    }
}

/// What is no UTF-8 is no value, and an assertion with it is Undefined.
#[test]
fn s2_1_transcode() {
    let mut client = Client::new();
    for filter in [
        "(description=a\\ffb)",
        "(!(description=a\\ffb))",
        "(description=\\ed\\a0\\80)",
        "(!(description=\\c0\\80))",
    ] {
        assert!(!is_found(&mut client, "description", "x", filter), "{filter}");
    }
    let given: [(&[u8], &[&[u8]]); 2] = [(b"objectClass", &[b"locality"]), (b"description", &[b"a\xffb"])];
    let list = proto::list::attribute_list(given.map(|(name, values)| (name, values.iter().copied())));
    let attributes = proto::list::Attributes::parse(&list).expect("just encoded");
    let end = client.end(&proto::Request::Add(proto::op::Add { dn: b"l=x,dc=example", attributes }));
    assert_eq!(end.code, model::ResultCode::InvalidAttributeSyntax);
}

#[test]
fn s2_2_mapped_to_nothing() {
    let mut client = Client::new();
    let ranges: &[(u32, u32)] = &[
        (0xad, 0xad),
        (0x1806, 0x1806),
        (0x34f, 0x34f),
        (0x180b, 0x180d),
        (0xfe00, 0xfe0f),
        (0xfffc, 0xfffc),
        (0x1, 0x8),
        (0xe, 0x1f),
        (0x7f, 0x84),
        (0x86, 0x9f),
        (0x6dd, 0x6dd),
        (0x70f, 0x70f),
        (0x180e, 0x180e),
        (0x200b, 0x200f),
        (0x202a, 0x202e),
        (0x2060, 0x2063),
        (0x206a, 0x206f),
        (0xfeff, 0xfeff),
        (0xfff9, 0xfffb),
        (0x1d173, 0x1d17a),
        (0xe0001, 0xe0001),
        (0xe0020, 0xe007f),
    ];
    let all: String = ranges.iter().flat_map(|(from, to)| *from..=*to).filter_map(char::from_u32).collect();
    assert_eq!(
        all.chars().count(),
        1 + 1 + 1 + 3 + 16 + 1 + 8 + 18 + 6 + 26 + 1 + 1 + 1 + 5 + 5 + 4 + 6 + 1 + 3 + 8 + 1 + 96
    );
    for character in all.chars() {
        let value = format!("a{character}b");
        assert!(matches(&mut client, &value, "ab", false), "{character:?} in a value");
        assert!(matches(&mut client, "ab", &value, true), "{character:?} in an assertion");
    }
    let whole = format!("a{all}b\0");
    assert!(matches(&mut client, "ab", &whole, false));
}

#[test]
fn s2_2_mapped_to_a_space() {
    let mut client = Client::new();
    let separators = [
        0x9, 0xa, 0xb, 0xc, 0xd, 0x85, 0x20, 0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005,
        0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000,
    ];
    for character in separators.into_iter().filter_map(char::from_u32) {
        let value = format!("a{character}b");
        assert!(matches(&mut client, &value, "a b", false), "{character:?} in a value");
        assert!(matches(&mut client, "a b", &value, true), "{character:?} in an assertion");
        assert!(!matches(&mut client, &value, "ab", true), "{character:?}");
    }
}

#[test]
fn s2_2_case() {
    let folded = [
        ("ABC", "abc"),
        ("\u{c4}\u{d6}", "\u{e4}\u{f6}"),
        ("Stra\u{df}e", "STRASSE"),
        ("\u{3a3}\u{3c2}", "\u{3c3}\u{3c3}"),
        ("\u{410}\u{42f}", "\u{430}\u{44f}"),
        ("\u{130}", "i\u{307}"),
        ("\u{1c4}", "\u{1c6}"),
        ("\u{149}", "\u{2bc}n"),
        ("\u{fb03}", "FFI"),
        ("\u{2126}", "\u{3c9}"),
        ("\u{1e9e}", "\u{1e9e}"),
    ];
    all_match(&folded, true);
    none_match(&folded[..6], false);
    none_match(&[("I", "\u{131}"), ("a", "\u{e4}")], true);
}

#[test]
fn s2_3_normalised() {
    let same = [
        ("\u{e5}", "a\u{30a}"),
        ("\u{212b}", "\u{c5}"),
        ("\u{fb01}", "fi"),
        ("\u{ff21}\u{ff22}", "AB"),
        ("\u{2460}", "1"),
        ("\u{bd}", "1\u{2044}2"),
        ("\u{1e69}", "s\u{307}\u{323}"),
        ("\u{ac00}", "\u{1100}\u{1161}"),
        ("\u{33a5}", "m3"),
    ];
    all_match(&same, false);
    all_match(&same, true);
    none_match(&[("\u{e5}", "a"), ("\u{e5}", "a\u{301}")], true);
}

/// "Failure in any step causes the assertion to evaluate to Undefined", and a value is refused that could never match.
#[test]
fn s2_4_prohibited() {
    let mut client = Client::new();
    for text in [
        "\u{e000}",
        "\u{f8ff}",
        "\u{f0000}",
        "\u{10fffd}",
        "\u{fdd0}",
        "\u{fdef}",
        "\u{fffe}",
        "\u{ffff}",
        "\u{1fffe}",
        "\u{10ffff}",
        "\u{fffd}",
    ] {
        assert!(!takes(&mut client, "description", text), "{text:?}");
        for filter in [
            format!("(description={text})"),
            format!("(!(description={text}))"),
            format!("(description=*{text}*)"),
            format!("(!(description=*{text}*))"),
        ] {
            assert!(!is_found(&mut client, "description", "x", &filter), "{filter}");
        }
    }
}

#[test]
fn s2_4_unassigned() {
    all_match(
        &[("\u{1f600}", "\u{1f600}"), ("\u{221}", "\u{221}"), ("\u{a7}\u{378}", "\u{a7}\u{378}")],
        true,
    );
    none_match(&[("\u{1f600}", "\u{1f601}"), ("\u{378}", "\u{379}")], true);
}

#[test]
fn s2_5_bidirectional() {
    all_match(
        &[
            ("\u{5d0}a", "\u{5d0}A"),
            ("\u{627}\u{5d0}1", "\u{627}\u{5d0}1"),
            ("\u{200f}\u{5d0}\u{202e}", "\u{5d0}"),
        ],
        true,
    );
}

#[test]
fn s2_6_1_spaces() {
    let same = [
        ("foo bar  ", "foo bar"),
        ("  foo   bar", "foo bar"),
        (" ", "   "),
        ("foo\u{a0}\u{3000} bar", "foo bar"),
        ("foo\u{200b} \u{ad} bar", "foo bar"),
        ("foo \u{301}bar", "foo \u{301}bar"),
    ];
    all_match(&same, true);
    all_match(&same, false);
    // A space that a mark is on is a character as any other.
    none_match(&[("foobar", "foo bar"), ("foo  \u{301}bar", "foo \u{301}bar"), (" ", "x")], true);
}

#[test]
fn s2_6_1_spaces_of_substrings() {
    let mut client = Client::new();
    for (value, pattern, is_there) in [
        ("foo bar", "foo *bar", true),
        ("foo bar", "foo* bar", true),
        ("foo bar", "foo * bar", true),
        ("foo  bar", "*o b*", true),
        ("foo bar", "*o   b*", true),
        ("foobar", "*o b*", false),
        ("foobar", "foo *", false),
        ("foo", "foo *", true),
        ("foo", "* foo", true),
        ("foo", "  foo*", true),
        ("foo", "*foo  ", true),
        ("foobar", "*foo *", false),
        ("foo bar", "* *", true),
        ("a b c", "*a*  *c", true),
        ("foo bar", "foo\u{a0}*", true),
    ] {
        let filter = format!("(description={pattern})");
        assert_eq!(is_found(&mut client, "description", value, &filter), is_there, "{value:?} {pattern:?}");
    }
}

#[test]
fn s2_6_2_numeric() {
    let mut client = Client::new();
    for (value, asserted, is_same) in [
        ("  123  456  ", "123456", true),
        ("123456", " 1 2 3 4 5 6 ", true),
        ("   ", "  ", true),
        ("123", "1234", false),
    ] {
        assert_eq!(
            is_found(&mut client, "x121Address", value, &format!("(x121Address={asserted})")),
            is_same,
            "{value}"
        );
    }
}

#[test]
fn s2_6_3_telephone() {
    let mut client = Client::new();
    for (value, asserted, is_same) in [
        (" -123  456 -", "123456", true),
        ("+1-512-315-0280", "+1 512 315 0280", true),
        ("1-2", "1\u{2010}2", true),
        ("1-2", "1\u{58a}\u{2011}\u{2212}\u{fe63}\u{ff0d}2", true),
        ("ext 12", "EXT12", true),
        ("123", "124", false),
        ("1.2", "12", false),
    ] {
        assert_eq!(
            is_found(&mut client, "telephoneNumber", value, &format!("(telephoneNumber={asserted})")),
            is_same,
            "{value} {asserted}"
        );
    }
}
