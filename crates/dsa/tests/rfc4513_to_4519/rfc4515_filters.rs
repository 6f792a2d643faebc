//! RFC 4515: the string form of filters, where a server meets it: in `memberURL`, in rules and in other settings; and in what it writes of searches.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 3 | takes every form of the grammar | `s3_forms_of_filters`, `proto: examples_of_rfc_4515_section_4` |
//! | 3 | refuses what the grammar does not have | `s3_what_is_no_filter`, `proto: what_is_no_filter` |
//! | 3 | writes a filter as UTF-8, with what is none escaped, and with the escapes of the grammar | `proto: values_come_back`, `s3_filters_that_are_written` |
//! | 3 | takes octets above 0x7F that are no UTF-8 | `s3_filters_that_are_written` |
//! | 4 | the examples | `proto: examples_of_rfc_4515_section_4` |
//!
//! It takes more than the grammar: an item without parentheses, spaces around filters, absolute true and false (RFC 4526). Rules of access and of
//! subtrees have tests of their own, as `access: documentation` and `dsa: test_y7_what_a_specification_says`.

use super::{add_any, is_found};
use crate::common::*;
use model::ResultCode::*;
use proto::filter_string;
use proto::op::ModifyKind;

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc4515_filters.rs"));
}

const GROUP: &str = "cn=found,ou=groups,dc=example";

/// The members that a filter finds, of a group by a URL that is percent-encoded whole.
fn members(client: &mut Client, filter: &str) -> Option<Vec<String>> {
    let encoded: String = filter.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let url = format!("ldap:///dc=example??sub?{encoded}");
    assert_eq!(client.modify(GROUP, &[(ModifyKind::Replace, "memberURL", &[&url])]).code, Success);
    client.read(GROUP, &["member"]).values("member")
}

fn with_group() -> Client {
    let mut client = Client::new();
    client.must_add(GROUP, &[("objectClass", &["groupOfURLs"])]);
    let odd: Given<'_> = &[
        ("objectClass", &["inetOrgPerson"]),
        ("cn", &["Odd (one) * \\ \u{10d}"]),
        ("sn", &["Odd"]),
        ("jpegPhoto", &["x"]),
    ];
    client.must_add("uid=odd,ou=people,dc=example", odd);
    client
}

#[test]
fn s3_forms_of_filters() {
    const ODD: &str = "uid=odd,ou=people,dc=example";
    const GRACE: &str = super::GRACE;
    let mut client = with_group();
    for (filter, found) in [
        ("(uid=ada)", &[ADA][..]),
        ("(UID=ADA)", &[ADA]),
        ("(0.9.2342.19200300.100.1.1=ada)", &[ADA]),
        ("(&(objectClass=person)(sn=hopper))", &[GRACE]),
        ("(|(uid=ada)(uid=grace))", &[ADA, GRACE]),
        ("(&(uid=*)(!(uid=ada)))", &[GRACE, ODD]),
        ("(uid=*)", &[ADA, GRACE, ODD]),
        ("(cn=ada*king)", &[ADA]),
        ("(cn=*hop*)", &[GRACE]),
        ("(cn=*a*e*hop*r)", &[GRACE]),
        ("(cn;lang-fr=adelaide)", &[ADA]),
        ("(employeeNumber~=36)", &[ADA]),
        ("(sn:caseExactMatch:=Hopper)", &[GRACE]),
        ("(sn:caseExactMatch:=hopper)", &[]),
        ("(sn:=hopper)", &[GRACE]),
        ("(uid:dn:=grace)", &[GRACE]),
        ("(:caseExactMatch:=Hopper)", &[GRACE]),
        ("(:DN:caseExactMatch:=Hopper)", &[GRACE]),
        ("(cn=odd \\28one\\29 \\2a \\5c \u{10d})", &[ODD]),
        ("(cn=*\\2A*)", &[ODD]),
        ("(cn=*\\c4\\8d)", &[ODD]),
        ("(cn=*\\5c*)", &[ODD]),
        ("(nonsense=x)", &[]),
        ("(!(nonsense=x))", &[]),
        ("(cn=)", &[]),
    ] {
        let mut found: Vec<String> = found.iter().map(|dn| (*dn).to_owned()).collect();
        found.sort();
        assert_eq!(members(&mut client, filter).unwrap_or_default(), found, "{filter}");
    }
}

/// In a URL of a group it finds nobody; in a setting it is refused.
#[test]
fn s3_what_is_no_filter() {
    let mut client = with_group();
    let mut rule = |filter: &str| {
        let rule = format!("a-rule: all attrs=mail filter=\"{filter}\"; users; allow=read");
        client.modify("cn=config", &[(ModifyKind::Replace, "pandoAccessRule", &[&rule])]).code
    };
    assert_eq!(rule("(uid=ada)"), Success);
    let wrong = [
        "(uid=ada",
        "uid=ada)",
        "(uid=ada))",
        "()",
        "(uid)",
        "(=x)",
        "(&(uid=ada)",
        "(!)",
        "(!(a=b)(c=d))",
        "(uid=\\)",
        "(uid=\\zz)",
        "(uid=a(b)",
        "(cn>a)",
        "(cn>=a*b)",
        "(:=x)",
        "(:dn:=x)",
        "(cn::=x)",
    ];
    for filter in wrong {
        assert_ne!(rule(&filter.replace('\\', "\\\\")), Success, "{filter}");
    }
    for filter in wrong {
        assert_eq!(members(&mut client, filter), None, "{filter}");
    }
    assert_eq!(members(&mut client, "(uid=ada)"), Some(vec![ADA.to_owned()]));
}

/// "implementations MUST escape all octets greater than 0x7F that are not part of a valid UTF-8 encoding sequence when they generate a string
/// representation of a search filter. Implementations SHOULD accept as input strings that are not valid UTF-8 strings."
#[test]
fn s3_filters_that_are_written() {
    for (text, written) in [
        (&b"(cn=a\xffb)"[..], "(cn=a\\ffb)"),
        (b"(cn=\xc4\x8d)", "(cn=\u{10d})"),
        (b"(cn=\\c4\\8d)", "(cn=\u{10d})"),
        (b"(cn=\xc4\x8d\xff)", "(cn=\\c4\\8d\\ff)"),
        (b"(cn=\\00*\\28\\29\\2a\\5c)", "(cn=\\00*\\28\\29\\2a\\5c)"),
        (b"(cn=*\x80*)", "(cn=*\\80*)"),
        (b"(cn:caseExactMatch:=\xe9)", "(cn:caseExactMatch:=\\e9)"),
    ] {
        let filter = filter_string::parse(text).expect("it is one");
        let mut out = Vec::new();
        filter_string::write(&filter.filter(), &mut out);
        assert_eq!(String::from_utf8(out).expect("it is UTF-8"), written);
    }
    // What is no text is found by its octets.
    let mut client = Client::new();
    assert!(is_found(&mut client, "jpegPhoto", "\u{10d}", "(jpegPhoto:octetStringMatch:=\\c4\\8d)"));
    assert_eq!(add_any(&mut client, "cn=x,dc=example", &[]), Success);
}
