//! RFC 4514: the string form of distinguished names.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 1, 2 | sends only names that the grammar of section 3 has, however a client wrote them | `s2_names_that_are_sent` |
//! | 2.1, 2.2 | separates RDNs by commas, and parts of one by plus signs | `s2_names_that_are_sent` |
//! | 2.3 | sends a type that has a short name by that name | `s2_3_types_have_short_names` |
//! | 2.4 | escapes what must be: leading and trailing spaces, a leading number sign, special characters, NUL | `s2_4_what_is_escaped`, `model: escaped_values_come_back` |
//! | 3 | takes every escape and the hexadecimal form for what it means | `s3_escapes`, `model: examples_of_rfc_4514_section_4` |
//! | 3 | refuses what the grammar does not have | `s3_what_is_no_name`, `model: what_is_not_a_dn` |
//! | 3 | knows CN, L, ST, O, OU, C, STREET, DC and UID, by any case | `s3_descriptors` |
//! | 4 | the examples | `s4_examples` |
//!
//! It takes more than the grammar, as RFC 2253 section 4 wished of servers: spaces around separators, values in quotes, semicolons, `OID.` before a
//! number (`model: spaces_and_old_forms`). It sends none of these. A name whose attribute type the schema lacks has no normal form, so
//! nothing can be compared with it: invalidDNSyntax, in `s4_examples`.

use super::add_any;
use crate::common::*;
use model::ResultCode::*;
use model::Scope;

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc4514_names.rs"));
}

/// The name of the only entry below `ou=groups` as the server sends it, once it was added by this RDN.
fn sent(client: &mut Client, rdn: &str) -> String {
    let dn = format!("{rdn},ou=groups,dc=example");
    assert_eq!(add_any(client, &dn, &[]), Success, "{rdn}");
    let found = client.search("ou=groups,dc=example", Scope::One, "(objectClass=*)", &["entryDN"]);
    let [(name, attributes)] = &found.entries[..] else { panic!("{found:?}") };
    assert_eq!(attributes[0].1, [name.as_bytes()], "entryDN is the same name");
    let name = name.clone();
    assert_eq!(client.delete(&name).code, Success, "its own name is taken: {name}");
    name
}

/// Is a name one of the grammar of section 3? Written anew after its text, with nothing of the server's own parser.
fn is_in_grammar(name: &str) -> bool {
    fn is_type(text: &str) -> bool {
        let is_descriptor = text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let is_number = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|b| b.is_ascii_digit())
                && (part == "0" || !part.starts_with('0'))
        };
        is_descriptor || (text.contains('.') && text.split('.').all(is_number))
    }
    fn is_value(text: &[char]) -> bool {
        if let ['#', hex @ ..] = text {
            return !hex.is_empty() && hex.len() % 2 == 0 && hex.iter().all(char::is_ascii_hexdigit);
        }
        let (mut at, mut ends_with_space) = (0, false);
        while at < text.len() {
            let is_first = at == 0;
            ends_with_space = false;
            match text[at] {
                '\\' if text.get(at + 1).is_some_and(|c| "\\\"+,;<> #=".contains(*c)) => at += 2,
                '\\' if text.len() >= at + 3 && text[at + 1..at + 3].iter().all(char::is_ascii_hexdigit) => {
                    at += 3
                }
                ' ' if !is_first => {
                    ends_with_space = true;
                    at += 1;
                }
                '\0' | '"' | '+' | ',' | ';' | '<' | '>' | '\\' => return false,
                ' ' | '#' if is_first => return false,
                _ => at += 1,
            }
        }
        !ends_with_space
    }
    // Separators that are not escaped.
    let characters: Vec<char> = name.chars().collect();
    let (mut parts, mut begin, mut at) = (Vec::new(), 0, 0);
    while at < characters.len() {
        match characters[at] {
            '\\' => at += 1,
            ',' | '+' => {
                parts.push(&characters[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts.push(&characters[begin..]);
    name.is_empty()
        || parts.iter().all(|part| {
            part.iter().position(|c| *c == '=').is_some_and(|equals| {
                is_type(&part[..equals].iter().collect::<String>()) && is_value(&part[equals + 1..])
            })
        })
}

/// "only strings that conform to the grammar defined in Section 3 SHALL be produced by LDAP implementations."
#[test]
fn s2_names_that_are_sent() {
    for (name, is_one) in [
        ("", true),
        ("cn=a\\,b\\20+sn=\\#x,dc=x", true),
        ("cn=#0401ff,2.5.4.3=x", true),
        ("cn=", true),
        ("cn = a", false),
        ("cn=a ,dc=x", false),
        ("cn=\"a\"", false),
        ("cn=a;dc=x", false),
        ("cn=#04zz", false),
        ("OID.2.5.4.3=x", false),
        ("cn=a,", false),
        ("cn=\\q", false),
    ] {
        assert_eq!(is_in_grammar(name), is_one, "{name}: of the test itself");
    }
    let mut client = Client::new();
    for rdn in [
        "cn=plain",
        "cn = spaces around ",
        "  CN  =  Upper Case  ",
        "cn=a+serialNumber=7",
        "serialNumber = 7 + cn = a",
        "cn=\"quoted, with a comma\"",
        "cn=\"a\"+serialNumber=\"7\"",
        "OID.2.5.4.3=old",
        "2.5.4.3=by number",
        "cn=#0c0548656c6c6f",
        "cn=\\ a\\ ",
        "cn=\\20\\20a\\20",
        "cn=\\#number sign",
        "cn=a\\=b",
        "cn=a=b",
        "cn=tab\\09and \\0d\\0a",
        "cn=nul\\00inside",
        "cn=Lu\\C4\\8Di\\C4\\87",
        "cn=\u{10d}\u{1f600}",
        "cn=\\,\\+\\\"\\\\\\<\\>\\;",
        "cn=a  b",
        "description=\\22\\2b\\2c\\3b\\3c\\3e\\5c",
        "cn=a\\ ",
        "cn=a#b",
    ] {
        let name = sent(&mut client, rdn);
        assert!(is_in_grammar(&name), "{rdn}: {name:?}");
    }
    // A name in a separator of old, and what is above and below a renamed entry.
    assert_eq!(add_any(&mut client, "ou=x;ou=groups;dc=example", &[]), Success);
    assert_eq!(add_any(&mut client, " cn=y , ou=x , OU=Groups , dc=example ", &[]), Success);
    assert_eq!(client.rename("ou=x,ou=groups,dc=example", " ou = \"z, z\" ", true, None).code, Success);
    for (name, _) in client.search("dc=example", Scope::Subtree, "(objectClass=*)", &["1.1"]).entries {
        assert!(is_in_grammar(&name), "{name:?}");
    }
    // Names in results: what was matched, and who is bound.
    let end = client.read("cn=none;OU = Groups ; dc=example", &[]).end;
    assert_eq!((end.code, is_in_grammar(&end.matched)), (NoSuchObject, true), "{}", end.matched);
    assert_eq!(client.bind(" UID = Ada ; OU = people;dc=example", "lace").code, Success);
    assert!(is_in_grammar(client.who_am_i().strip_prefix("dn:").expect("it is a name")));
}

/// "that short name, a <descr>, is used. Otherwise the AttributeType is encoded as the dotted-decimal encoding".
#[test]
fn s2_3_types_have_short_names() {
    let mut client = Client::new();
    for rdn in ["2.5.4.3=a", "OID.2.5.4.3=a", "oid.2.5.4.3=a"] {
        assert_eq!(sent(&mut client, rdn), "cn=a,ou=groups,dc=example", "{rdn}");
    }
}

#[test]
fn s2_4_what_is_escaped() {
    let mut client = Client::new();
    for (value, escaped) in [
        (" a", "\\20a"),
        ("a ", "a\\20"),
        ("#a", "\\23a"),
        ("a#", "a#"),
        ("a\"b", "a\\22b"),
        ("a+b", "a\\2bb"),
        ("a,b", "a\\2cb"),
        ("a;b", "a\\3bb"),
        ("a<b>c", "a\\3cb\\3ec"),
        ("a\\b", "a\\5cb"),
        ("a\0b", "a\\00b"),
        ("a b", "a b"),
    ] {
        let dn = format!("cn={escaped},ou=groups,dc=example");
        let entry: &[(&str, &[&str])] = &[("cn", &[value])];
        assert_eq!(add_any(&mut client, &dn, entry), Success, "{value:?}");
        let found = client.search("ou=groups,dc=example", Scope::One, "(cn=*)", &["cn"]);
        assert_eq!(found.values("cn"), Some(vec![value.to_owned()]), "the value of the name is there once");
        assert!(is_in_grammar(&found.entries[0].0), "{}", found.entries[0].0);
        assert_eq!(client.delete(&found.entries[0].0).code, Success);
    }
}

/// "replace <ESC><ESC> with <ESC>; replace <ESC><special> with <special>; replace <ESC><hexpair> with the octet"; "a BER representation can be
/// obtained from converting each <hexpair>".
#[test]
fn s3_escapes() {
    let mut client = Client::new();
    for (rdn, value) in [
        ("cn=a\\\\b", "a\\b"),
        ("cn=\\ a", " a"),
        ("cn=a\\ ", "a "),
        ("cn=\\\"\\+\\,\\;\\<\\>\\=\\#", "\"+,;<>=#"),
        ("cn=\\61\\62", "ab"),
        ("cn=\\c4\\8D", "\u{10d}"),
        ("cn=a\\0d\\0ab", "a\r\nb"),
        ("cn=#04024869", "Hi"),
        ("cn=#0c03e282ac", "\u{20ac}"),
        ("cn=#130148", "H"),
    ] {
        let dn = format!("{rdn},ou=groups,dc=example");
        assert_eq!(add_any(&mut client, &dn, &[]), Success, "{rdn}");
        let found = client.read(&dn, &["cn"]);
        assert_eq!(found.values("cn"), Some(vec![value.to_owned()]), "{rdn}");
        assert_eq!(client.delete(&dn).code, Success);
    }
}

#[test]
fn s3_what_is_no_name() {
    let mut client = Client::new();
    for name in [
        "nonsense",
        "=a",
        "cn",
        "cn=a,",
        ",cn=a",
        "cn=a,,dc=example",
        "cn=a+",
        "+cn=a",
        "cn=a\\",
        "cn=a\\zz",
        "cn=a\"b",
        "cn=#0",
        "cn=#zz",
        "cn=<a>",
        "c n=a",
        "2..5=a",
        "cn;lang-de=a",
    ] {
        assert_eq!(client.read(name, &[]).end.code, InvalidDnSyntax, "{name}");
        assert_eq!(client.compare(name, "cn", "a").code, InvalidDnSyntax, "{name}");
        assert_eq!(add_any(&mut client, name, &[]), InvalidDnSyntax, "{name}");
        assert_eq!(client.delete(name).code, InvalidDnSyntax, "{name}");
        assert_eq!(client.rename(ADA, name, false, None).code, InvalidDnSyntax, "{name}");
        assert_eq!(add_any(&mut client, "cn=x,dc=example", &[("seeAlso", &[name])]), InvalidAttributeSyntax);
    }
}

/// "Implementations MUST recognize AttributeType name strings (descriptors) listed in the following table".
#[test]
fn s3_descriptors() {
    let mut client = Client::new();
    for (descriptor, oid, value) in [
        ("CN", "2.5.4.3", "x"),
        ("L", "2.5.4.7", "x"),
        ("ST", "2.5.4.8", "x"),
        ("O", "2.5.4.10", "x"),
        ("OU", "2.5.4.11", "x"),
        ("C", "2.5.4.6", "GB"),
        ("STREET", "2.5.4.9", "x"),
        ("DC", "0.9.2342.19200300.100.1.25", "x"),
        ("UID", "0.9.2342.19200300.100.1.1", "x"),
    ] {
        let by_name = format!("{descriptor}={value},ou=groups,dc=example");
        assert_eq!(add_any(&mut client, &by_name, &[]), Success, "{descriptor}");
        for other in [descriptor.to_lowercase(), oid.to_owned()] {
            let dn = format!("{other}={value},ou=groups,dc=example");
            assert_eq!(client.read(&dn, &["1.1"]).entries.len(), 1, "{dn}");
        }
        assert_eq!(client.delete(&by_name).code, Success);
    }
}

#[test]
fn s4_examples() {
    let mut client = Client::new();
    for (name, same) in [
        ("UID=jsmith,DC=example,DC=net", "uid=JSmith, dc=Example, dc=net"),
        ("OU=Sales+CN=J.  Smith,DC=example,DC=net", "cn=j. smith+ou=sales,dc=example,dc=net"),
        (
            "CN=James \\\"Jim\\\" Smith\\, III,DC=example,DC=net",
            "cn=james \\22jim\\22 smith\\2c iii,dc=example,dc=net",
        ),
        ("CN=Before\\0dAfter,DC=example,DC=net", "cn=before\\0Dafter,dc=example,dc=net"),
        ("CN=Lu\\C4\\8Di\\C4\\87", "cn=lu\u{10d}i\u{107}"),
    ] {
        assert!(super::is_found(
            &mut client,
            "seeAlso",
            name,
            &format!("(seeAlso={})", same.replace('\\', "\\5c"))
        ));
    }
    let unknown = "1.3.6.1.4.1.1466.0=#04024869,DC=example,DC=com";
    assert_eq!(add_any(&mut client, "cn=x,dc=example", &[("seeAlso", &[unknown])]), InvalidAttributeSyntax);
    assert_eq!(client.read(unknown, &[]).end.code, InvalidDnSyntax);
}
