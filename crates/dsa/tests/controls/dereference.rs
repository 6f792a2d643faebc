//! The dereference control, sentence by sentence of its specification (P. Masarati and H. Chu, LDAP Dereference Control, 2008).

use crate::common::{ADA, Attribute, Client, Given, What, control, is_published, search_for, selection};
use model::ResultCode::{ProtocolError, Success, UnavailableCriticalExtension};
use model::Scope;
use model::limits::DEREFERENCE_VALUES_MAX;
use proto::Request;
use proto::control::dereference::{DerefSpec, OID, control as dereference, decode_results, encode};
use proto::control::{Control, manage_dsa_it};
use proto::list::{Octets, octet_list};

const GROUP: &str = "cn=group,ou=groups,dc=example";
const GRACE: &str = "uid=grace,ou=people,dc=example";

/// Of each entry the names that were dereferenced, and what each brought as lines.
pub(super) type Brought = Vec<Vec<(String, Vec<String>)>>;

/// The entries of a search of one entry that ends well, and what they bring.
pub(super) fn search(
    client: &mut Client,
    dn: &str,
    attributes: &[&str],
    controls: &[Control<'_>],
) -> (Vec<(String, Vec<Attribute>)>, Brought) {
    let filter = proto::filter_string::parse(b"(objectClass=*)").expect("a filter");
    let selection = selection(attributes);
    let search = search_for(dn, Scope::Base, filter.filter(), &selection);
    let (_, bytes) = client.encode(&Request::Search(search), controls);
    let (mut entries, mut brought) = (Vec::new(), Vec::new());
    for answer in client.raw(&bytes).0 {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match answer.what {
            What::Entry(dn, attributes) => {
                entries.push((dn, attributes));
                let values = answer.controls.iter().filter(|(oid, _)| oid.as_bytes() == OID);
                for (_, value) in values {
                    let value = value.as_ref().expect("it has a value");
                    let results = decode_results(value).expect("it decodes");
                    let lines = |found: &proto::list::Attributes<'_>| {
                        let each = found.iter().flat_map(|attribute| {
                            let name = text(attribute.description);
                            attribute.values.iter().map(move |value| format!("{name}: {}", text(value)))
                        });
                        each.collect()
                    };
                    let all = results.iter().map(|result| (text(result.value), lines(&result.found)));
                    brought.push(all.collect());
                }
            }
            What::End(end) => assert_eq!(end.code, Success, "{}", end.text),
            What::Reference(_) => unreachable!("a base search has none"),
        }
    }
    (entries, brought)
}

/// The value of the control that asks for this.
fn asked(specs: &[(&str, &[&str])]) -> Vec<u8> {
    let lists: Vec<Vec<u8>> =
        specs.iter().map(|(_, names)| octet_list(names.iter().map(|name| name.as_bytes()))).collect();
    let mut all = Vec::new();
    for ((attribute, _), list) in specs.iter().zip(&lists) {
        let attributes = Octets::parse(list).expect("just encoded");
        all.push(DerefSpec { attribute: attribute.as_bytes(), attributes });
    }
    encode(&all)
}

fn brought(client: &mut Client, dn: &str, specs: &[(&str, &[&str])]) -> Brought {
    let value = asked(specs);
    search(client, dn, &["cn"], &[dereference(&value, true)]).1
}

/// A name and the lines that it brings, sorted.
fn of(found: &Brought, dn: &str) -> Option<Vec<String>> {
    let (_, lines) = found.iter().flatten().find(|(name, _)| name == dn)?;
    let mut lines = lines.clone();
    lines.sort();
    Some(lines)
}

fn with_group(members: &[&str]) -> Client {
    let mut client = Client::new();
    let group: Given<'_> = &[
        ("objectClass", &["groupOfNames"]),
        ("member", members),
        ("owner", &[GRACE]),
        ("description", &[ADA]),
    ];
    client.must_add(GROUP, group);
    client
}

/// "Each value of the dereference attribute in a SearchResultEntry SHOULD result in dereferencing the corresponding entry".
#[test]
fn s2_1_names_are_dereferenced() {
    assert!(is_published("supportedControl", OID));
    let mut client = with_group(&[ADA, "uid=nobody,ou=people,dc=example", "dc=elsewhere"]);
    let found = brought(&mut client, GROUP, &[("member", &["cn", "mail", "nonsense"]), ("OWNER", &["MAIL"])]);
    assert_eq!(found[0].len(), 4);
    assert_eq!(of(&found, ADA), Some(vec!["cn: Ada King".to_owned(), "cn: Ada Lovelace".to_owned()]));
    assert_eq!(of(&found, GRACE), Some(vec!["mail: g@h".to_owned()]));
    // There is no entry, so nothing follows the name.
    assert_eq!(of(&found, "uid=nobody,ou=people,dc=example"), Some(vec![]));
    assert_eq!(of(&found, "dc=elsewhere"), Some(vec![]));
    // An entry that names none has no control.
    assert_eq!(brought(&mut client, ADA, &[("member", &["cn"])]), Brought::new());
    // What is worked out, too.
    let found = brought(&mut client, GROUP, &[("entryDN", &["objectClass", "hasSubordinates"])]);
    assert!(of(&found, GROUP).is_some_and(|lines| lines.contains(&"hasSubordinates: FALSE".to_owned())));
}

/// "Attribute description hierarchy SHALL NOT be exploited when collecting the values of the attributes to be dereferenced."
#[test]
fn s2_1_subtypes_are_others() {
    let mut client = with_group(&[ADA]);
    let lines = |client: &mut Client, names: &[&str]| of(&brought(client, GROUP, &[("member", names)]), ADA);
    assert_eq!(lines(&mut client, &["name"]), Some(vec![]));
    assert_eq!(lines(&mut client, &["cn;lang-fr"]), Some(vec!["cn;lang-fr: Adelaide".to_owned()]));
    assert_eq!(lines(&mut client, &["cn"]).map(|lines| lines.len()), Some(2));
    assert_eq!(lines(&mut client, &["cn;lang-"]), Some(vec![]));
    assert_eq!(lines(&mut client, &["*"]), Some(vec![]));
    assert_eq!(lines(&mut client, &["sn", "SN", "2.5.4.4"]), Some(vec!["sn: Lovelace".to_owned()]));
}

/// "The dereference attribute's syntax MUST be [...] (DN)"; "Each derefSpec.derefAttr MUST be unique within controlValue."
#[test]
fn s2_what_is_not_dereferenced() {
    let mut client = with_group(&[ADA]);
    let mut code = |value: &[u8], critical| {
        let controls = [dereference(value, critical)];
        client.search_with(GROUP, Scope::Base, "(cn=*)", &["cn"], |_| {}, &controls).end.code
    };
    for wrong in ["description", "uniqueMember", "nonsense", "member;", "1.1"] {
        let value = asked(&[("member", &["cn"]), (wrong, &["cn"])]);
        assert_eq!(code(&value, true), ProtocolError, "{wrong}");
        assert_eq!(code(&value, false), Success, "{wrong}");
    }
    for twice in ["member", "MEMBER", "2.5.4.31"] {
        let value = asked(&[("member", &["cn"]), (twice, &["sn"])]);
        assert_eq!((code(&value, true), code(&value, false)), (ProtocolError, ProtocolError), "{twice}");
    }
    for malformed in [&b""[..], b"\x30\x00", &asked(&[("member", &[])])] {
        assert_eq!((code(malformed, true), code(malformed, false)), (ProtocolError, ProtocolError));
    }
    let value = asked(&[("member", &["cn"])]);
    let ignored = client.delete_with("cn=nobody,dc=example", &[control(OID, &value, true)]);
    assert_eq!(ignored.end.code, UnavailableCriticalExtension);
    // Not critical and not to be used: as if it were not there.
    let value = asked(&[("description", &["cn"])]);
    assert_eq!(search(&mut client, GROUP, &["cn"], &[dereference(&value, false)]).1, Brought::new());
}

/// "it MUST NOT be applied to that specific SearchResultEntry response, without affecting its application to any subsequent" one.
#[test]
fn s2_1_an_entry_with_too_many_names() {
    let names: Vec<String> =
        (0..=DEREFERENCE_VALUES_MAX).map(|n| format!("uid=n{n},ou=people,dc=example")).collect();
    let members: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut client = with_group(&members);
    assert_eq!(brought(&mut client, GROUP, &[("member", &["cn"])]), Brought::new());
    assert_eq!(brought(&mut client, GROUP, &[("owner", &["cn"])]).len(), 1);
    client.must_modify_group(members[0]);
    let found = brought(&mut client, GROUP, &[("member", &["cn"])]);
    assert_eq!(found[0].len(), DEREFERENCE_VALUES_MAX);
}

impl Client {
    fn must_modify_group(&mut self, member: &str) {
        let end = self.modify(GROUP, &[(proto::op::ModifyKind::Delete, "member", &[member])]);
        assert_eq!(end.code, Success, "{}", end.text);
    }
}

/// A search for what is another server's would bring a referral. With ManageDsaIT the object is an entry.
#[test]
fn s5_referral_objects_bring_nothing() {
    const ELSEWHERE: &str = "ou=elsewhere,dc=example";
    let mut client = with_group(&[ELSEWHERE]);
    let referral: Given<'_> = &[
        ("objectClass", &["referral", "extensibleObject"]),
        ("ref", &["ldap://other/ou=elsewhere,dc=example"]),
    ];
    client.must_add(ELSEWHERE, referral);
    let value = asked(&[("member", &["ou"])]);
    let plain = search(&mut client, GROUP, &["cn"], &[dereference(&value, true)]).1;
    assert_eq!(of(&plain, ELSEWHERE), Some(vec![]));
    let manage = Control { oid: manage_dsa_it::OID, critical: true, value: None };
    let managed = search(&mut client, GROUP, &["cn"], &[dereference(&value, true), manage]).1;
    assert_eq!(of(&managed, ELSEWHERE), Some(vec!["ou: elsewhere".to_owned()]));
}

/// The server's own entries name none that a client would read by them: the control is refused there if it is critical, and does nothing if not
/// (RFC 4511 section 4.1.11).
#[test]
fn in_the_servers_own_entries_nothing_is_dereferenced() {
    let mut client = Client::new();
    let wanted = selection(&["cn"]);
    let attributes = Octets::parse(&wanted).expect("just encoded");
    let value = encode(&[DerefSpec { attribute: b"seeAlso", attributes }]);
    for dn in ["", "cn=config", "cn=monitor", "cn=Subschema"] {
        for (critical, code, entries) in [(true, UnavailableCriticalExtension, 0), (false, Success, 1)] {
            let controls = [dereference(&value, critical)];
            let found = client.search_with(dn, Scope::Base, "(objectClass=*)", &["cn"], |_| {}, &controls);
            assert_eq!((found.end.code, found.entries.len()), (code, entries), "{dn}: {}", found.end.text);
        }
    }
}
