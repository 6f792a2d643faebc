use super::*;
use crate::Builder;
use proptest::prelude::*;
use std::sync::OnceLock;

fn schema() -> &'static Schema {
    static SCHEMA: OnceLock<Schema> = OnceLock::new();
    SCHEMA.get_or_init(|| Builder::new().standard().build().unwrap())
}

fn form(rule: Rule, value: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    rule.normalise_value(schema(), value.as_bytes(), &mut out).ok().map(|()| out)
}

fn assertion(rule: Rule, value: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    rule.normalise_assertion(schema(), value.as_bytes(), &mut out).ok().map(|()| out)
}

fn matches(rule: Rule, value: &str, asserted: &str) -> bool {
    let value = form(rule, value).unwrap_or_else(|| panic!("{}: {value}", rule.name()));
    let asserted = assertion(rule, asserted).unwrap_or_else(|| panic!("{}: {asserted}", rule.name()));
    rule.matches(&value, &asserted)
}

/// `a*b*c` against a value, as a store does it.
fn has_parts(rule: Rule, value: &str, pattern: &str) -> bool {
    let value = form(rule, value).unwrap();
    let parts: Vec<&str> = pattern.split('*').collect();
    let last = parts.len() - 1;
    let mut rest = &value[..];
    for (at, text) in parts.iter().enumerate().filter(|(_, p)| !p.is_empty()) {
        let part = if at == 0 {
            Part::Initial
        } else if at == last {
            Part::Final
        } else {
            Part::Any
        };
        let mut sought = Vec::new();
        rule.normalise_substring(part, text.as_bytes(), &mut sought).unwrap();
        rest = match part {
            Part::Initial if rest.starts_with(&sought) => &rest[sought.len()..],
            Part::Final if rest.ends_with(&sought) => &[],
            Part::Any => match rest.windows(sought.len()).position(|w| w == sought) {
                Some(found) => &rest[found + sought.len()..],
                None => return false,
            },
            _ => return false,
        };
    }
    true
}

#[test]
fn equality_of_strings() {
    for (rule, a, b) in [
        (Rule::CaseIgnore, "Foo  Bar ", "foo bar"),
        (Rule::CaseIgnore, "STRA\u{df}E", "strasse"),
        (Rule::CaseExact, " Foo  Bar", "Foo Bar"),
        (Rule::CaseIgnoreIa5, "A@Example.COM", "a@example.com"),
        (Rule::CaseExactIa5, "/home/a ", "/home/a"),
        (Rule::NumericString, "15 07 9", "15079"),
        (Rule::TelephoneNumber, "+1 555-1234 x", "+15551234X"),
        (Rule::CaseIgnoreList, "1 Main St.$Town $\\24 USA", "1 main  st.$town$\\24 usa"),
        (Rule::Boolean, "TRUE", "TRUE"),
        (Rule::BitString, "'0101'B", "'0101'B"),
        (Rule::OctetString, "a B", "a B"),
    ] {
        assert!(matches(rule, a, b), "{}: {a:?} and {b:?}", rule.name());
    }
    for (rule, a, b) in [
        (Rule::CaseIgnore, "foo bar", "foobar"),
        (Rule::CaseExact, "Foo", "foo"),
        (Rule::CaseExactIa5, "/home/A", "/home/a"),
        (Rule::CaseIgnoreList, "a$b", "a b"),
        (Rule::CaseIgnoreList, "a\\24b", "a$b"),
        (Rule::Boolean, "TRUE", "FALSE"),
        (Rule::BitString, "'0101'B", "'010'B"),
        (Rule::OctetString, "a B", "a b"),
    ] {
        assert!(!matches(rule, a, b), "{}: {a:?} and {b:?}", rule.name());
    }
}

#[test]
fn equality_of_the_rest() {
    for (rule, a, b) in [
        (Rule::Integer, "007", "7"),
        (Rule::Integer, "-0", "0"),
        (Rule::GeneralizedTime, "199412161032Z", "19941216053200-0500"),
        (Rule::ObjectIdentifier, "2.5.4.3", "commonName"),
        (Rule::ObjectIdentifier, "INETORGPERSON", "2.16.840.1.113730.3.2.2"),
        (Rule::Uuid, "597AE2F6-16a6-1027-98f4-d28b5365dc14", "597ae2f6-16a6-1027-98f4-D28B5365DC14"),
        (Rule::Csn, "20260102030405.000000Z#00000A#01#000000", "20260102030405.000000Z#00000a#001#000000"),
        (Rule::Csn, "20260102030405Z#000000#00#000000", "20260102030405.000000Z#000000#000#000000"),
        (Rule::DistinguishedName, "CN=A  b+UID=x, dc=COM", "2.5.4.3=a B+uid=X,dc=com"),
        (Rule::DistinguishedName, "uid=x+cn=a b", "cn=a b+uid=x"),
        (Rule::DistinguishedName, "cn=a\\2Cb", "CN=A\\,B"),
        (Rule::DistinguishedName, "", " "),
        (Rule::UniqueMember, "cn=A#'01'B", "cn=a#'01'B"),
        (Rule::ObjectIdentifierFirstComponent, "( 2.5.4.3 NAME 'cn' )", "cn"),
        (Rule::IntegerFirstComponent, "( 7 FORM x )", "7"),
        (Rule::DirectoryStringFirstComponent, "( Ab c )", "aB"),
        (Rule::BitAnd, "7", "5"),
        (Rule::BitOr, "4", "6"),
        (Rule::Word, "The quick Fox", "quick"),
        (Rule::Keyword, "The quick, red fox", "QUICK"),
    ] {
        assert!(matches(rule, a, b), "{}: {a:?} and {b:?}", rule.name());
    }
    for (rule, a, b) in [
        (Rule::Integer, "1", "-1"),
        (Rule::DistinguishedName, "cn=a,dc=b", "cn=a"),
        (Rule::DistinguishedName, "cn=a,dc=b", "dc=b,cn=a"),
        (Rule::DistinguishedName, "cn=a", "sn=a"),
        (Rule::UniqueMember, "cn=a#'01'B", "cn=a"),
        (Rule::BitAnd, "5", "7"),
        (Rule::BitOr, "4", "3"),
        (Rule::Word, "The quickest fox", "quick"),
    ] {
        assert!(!matches(rule, a, b), "{}: {a:?} and {b:?}", rule.name());
    }
}

#[test]
fn what_no_rule_can_compare() {
    for (rule, value) in [
        (Rule::Integer, "1.5"),
        (Rule::Integer, ""),
        (Rule::Integer, "-"),
        (Rule::Boolean, "yes"),
        (Rule::GeneralizedTime, "today"),
        (Rule::DistinguishedName, "unheardof=a"),
        (Rule::DistinguishedName, "cn=a,"),
        (Rule::DistinguishedName, "cn=a\\"),
        (Rule::DistinguishedName, "cn=a+cn=A"),
        (Rule::Uuid, "597ae2f6-16a6-1027-98f4-d28b5365dc1"),
        (Rule::Csn, "20260102030405.000000Z#000000#000"),
        (Rule::CaseIgnoreIa5, "\u{e9}"),
        (Rule::BitString, "0101"),
        (Rule::ObjectIdentifierFirstComponent, "2.5.4.3"),
    ] {
        assert_eq!(form(rule, value), None, "{}: {value:?}", rule.name());
    }
}

#[test]
fn substrings() {
    for (rule, value, pattern) in [
        (Rule::CaseIgnoreSubstrings, "John  Smith", "jo*sm*"),
        (Rule::CaseIgnoreSubstrings, "John  Smith", "john smith*"),
        (Rule::CaseIgnoreSubstrings, "John  Smith", "*hn sm*"),
        (Rule::CaseIgnoreSubstrings, "John Smith", "*ohn * smith"),
        (Rule::CaseIgnoreSubstrings, "John", "john *"),
        (Rule::CaseIgnoreSubstrings, "John", "* john"),
        (Rule::CaseIgnoreSubstrings, "John", "*"),
        (Rule::CaseIgnoreSubstrings, "Lu\u{10c}i\u{107}", "lu\u{10d}*\u{106}"),
        (Rule::CaseExactSubstrings, "aXbXc", "a*X*X*c"),
        (Rule::TelephoneNumberSubstrings, "+1 555 123-4567", "*5551*67"),
        (Rule::NumericStringSubstrings, "12 34", "123*"),
        (Rule::CaseIgnoreListSubstrings, "Main St$Town", "main*town"),
        (Rule::OctetStringSubstrings, "abc", "a*c"),
    ] {
        assert!(has_parts(rule, value, pattern), "{}: {value:?} {pattern:?}", rule.name());
    }
    for (rule, value, pattern) in [
        (Rule::CaseIgnoreSubstrings, "John Smith", "ohn*"),
        (Rule::CaseIgnoreSubstrings, "John Smith", "*smit"),
        (Rule::CaseIgnoreSubstrings, "Johnson", "john *"),
        (Rule::CaseExactSubstrings, "aXc", "a*X*X*c"),
        (Rule::CaseExactSubstrings, "abc", "*B*"),
        (Rule::CaseIgnoreListSubstrings, "ab$cd", "*bc*"),
    ] {
        assert!(!has_parts(rule, value, pattern), "{}: {value:?} {pattern:?}", rule.name());
    }
    assert_eq!(assertion(Rule::CaseIgnoreSubstrings, "a*b"), None);
    assert!(matches(Rule::IntegerOrdering, "9", "10") && !matches(Rule::IntegerOrdering, "10", "10"));
    assert!(Rule::Integer.normalise_substring(Part::Any, b"1", &mut Vec::new()).is_err());
}

#[test]
fn names_and_oids_are_unique() {
    for rule in Rule::ALL {
        assert_eq!(Rule::find(rule.name().to_ascii_uppercase().as_bytes()), Some(*rule));
        assert_eq!(Rule::find(rule.oid().as_bytes()), Some(*rule));
    }
    assert_eq!(Rule::find(b"noSuchMatch"), None);
}

#[test]
fn dn_form_to_the_byte() {
    let mut out = Vec::new();
    schema().normalise_dn(b"uid=Ab,dc=C", &mut out).unwrap();
    let uid = schema().find_type(b"uid").unwrap().0.to_be_bytes();
    let dc = schema().find_type(b"dc").unwrap().0.to_be_bytes();
    let expected = [&[1, uid[0], uid[1], 0, 4][..], b" ab ", &[1, dc[0], dc[1], 0, 3], b" c "].concat();
    assert_eq!(out, expected);
    assert!(schema().normalise_rdn(b"nonsense", &mut out).is_err());
    assert_eq!(out, expected, "nothing is appended on an error");
}

proptest! {
    #[test]
    fn integers_order_as_numbers(a in any::<i128>(), b in any::<i128>(), shift in 0u32..120) {
        let (a, b) = (a >> shift, b >> shift);
        let key = |n: i128| form(Rule::IntegerOrdering, &n.to_string()).unwrap();
        prop_assert_eq!(key(a).cmp(&key(b)), a.cmp(&b));
    }

    #[test]
    fn times_order_as_times(a in 0u64..4_000_000_000_000, b in 0u64..4_000_000_000_000) {
        let key = |ms: u64| {
            let mut text = Vec::new();
            model::csn::write_generalized_time(ms, &mut text);
            let whole = String::from_utf8(text).unwrap();
            form(Rule::GeneralizedTimeOrdering, &format!("{}.{:03}Z", &whole[..14], ms % 1000)).unwrap()
        };
        prop_assert_eq!(key(a).cmp(&key(b)), a.cmp(&b));
    }

    #[test]
    fn dns_with_any_value(value in "\\PC{1,12}", spaces in " {0,2}") {
        let plain = |v: &str| {
            let mut dn = b"cn=".to_vec();
            model::dn::escape_value(v.as_bytes(), &mut dn);
            dn.extend_from_slice(format!("{spaces},{spaces}dc=x").as_bytes());
            let mut out = Vec::new();
            schema().normalise_dn(&dn, &mut out).map(|()| out)
        };
        if let Ok(out) = plain(&value) {
            // Its form is that of the value by itself.
            let by_value = form(Rule::CaseIgnore, &value).unwrap();
            prop_assert_eq!(&out[5..5 + by_value.len()], &by_value[..]);
            prop_assert_eq!(Ok(out), plain(&value));
        }
    }

    #[test]
    fn escaped_or_not_is_the_same_dn(value in "[ -~]{1,12}") {
        let mut written = b"cn=".to_vec();
        model::dn::escape_value(value.as_bytes(), &mut written);
        let mut hex = b"cn=".to_vec();
        value.bytes().for_each(|b| hex.extend_from_slice(format!("\\{b:02x}").as_bytes()));
        let of = |dn: &[u8]| {
            let mut out = Vec::new();
            schema().normalise_rdn(dn, &mut out).unwrap();
            out
        };
        prop_assert_eq!(of(&written), of(&hex));
    }

    #[test]
    fn no_value_panics(value in proptest::collection::vec(any::<u8>(), 0..40)) {
        for rule in Rule::ALL {
            let mut out = Vec::new();
            let _ = rule.normalise_value(schema(), &value, &mut out);
            let _ = rule.normalise_assertion(schema(), &value, &mut out);
            let _ = rule.normalise_substring(Part::Any, &value, &mut out);
        }
        for syntax in crate::Syntax::ALL {
            let _ = syntax.check(&value, schema());
        }
    }

    /// Whatever passes a syntax that has an equality rule can be normalised, and to the same form again.
    #[test]
    fn strings_fall_into_classes(value in "[a-cA-C \u{e9}\u{c9}\u{301}]{1,8}") {
        let upper: String = value.to_uppercase();
        prop_assert_eq!(form(Rule::CaseIgnore, &value), form(Rule::CaseIgnore, &upper));
        prop_assert_eq!(form(Rule::CaseIgnore, &value), form(Rule::CaseIgnore, &format!("{value}  ")));
    }
}
