//! Filters of searches that follow changes (RFC 4533, ldapext-psearch-03): what is worked out from other entries is refused, whatever is stored,
//! and what is worked out from the entry alone is followed.

use super::{Changes, clients};
use crate::common::consumer::{Consumer, Wish};
use crate::common::{ADA, Client, control, search_for};
use model::ResultCode::{Success, UnwillingToPerform};
use model::Scope;
use proto::Request;
use proto::control::content_sync::{self, SyncRequest};
use proto::control::persistent_search;
use proto::control::subentries::{self, Visible};
use proto::message::{Frame, Reply, Response, frame};
use proto::op::ModifyKind::{Delete, Replace};

const PEOPLE: &str = "ou=people,dc=example";
const GRACE: &str = "uid=grace,ou=people,dc=example";
const GROUP: &str = "cn=crew,ou=groups,dc=example";
/// All kinds of changes, what matches already first, without notifications.
const CHANGES: &[u8] = &[0x30, 9, 2, 1, 15, 1, 1, 0, 1, 1, 0];

fn must_modify(client: &mut Client, dn: &str, changes: Changes<'_>) {
    assert_eq!(client.modify(dn, changes).code, Success, "{dn}");
}

/// What there is of groups, collective attributes and dynamic entries.
fn fill(client: &mut Client) {
    client.must_add(GROUP, &[("objectClass", &["groupOfNames"]), ("member", &[ADA, GRACE])]);
    let classes = &["top", "subentry", "collectiveAttributeSubentry"][..];
    let area = [("objectClass", classes), ("subtreeSpecification", &["{}"]), ("c-l", &["Paris"])];
    client.must_add("cn=area,ou=people,dc=example", &area);
    let meeting: &[&str] = &["applicationProcess", "dynamicObject"];
    client.must_add("cn=meeting,dc=example", &[("objectClass", meeting)]);
}

/// DNs of entries, and the end of a search, if it has one: a code and a text.
type Reported = (Vec<String>, Option<(model::ResultCode, String)>);

fn reported(mut bytes: &[u8]) -> Reported {
    let (mut dns, mut end) = (Vec::new(), None);
    while let Ok(Frame::Complete { len }) = frame(bytes) {
        match Reply::decode(&bytes[..len]).unwrap().response {
            Response::SearchEntry(entry) => dns.push(String::from_utf8(entry.dn.to_vec()).unwrap()),
            Response::Done(_, result) => {
                let text = String::from_utf8(result.diagnostic.to_vec()).unwrap();
                end = Some((result.result_code().unwrap(), text));
            }
            _ => {}
        }
        bytes = &bytes[len..];
    }
    dns.sort();
    (dns, end)
}

/// Begins a search that follows changes by the control with this OID. With `subentries` it sees subentries alone.
fn begin(client: &mut Client, oid: &'static [u8], filter: &str, subentries: bool) -> Reported {
    let sync = SyncRequest { persists: true, cookie: None, reload_hint: false }.encode();
    let value = if oid == content_sync::OID { &sync } else { CHANGES };
    let parsed = proto::filter_string::parse(filter.as_bytes()).unwrap();
    let search = search_for("dc=example", Scope::Subtree, parsed.filter(), &[]);
    let visible = Visible::Subentries.encode();
    let mut controls = vec![control(oid, value, true)];
    controls.extend(subentries.then(|| control(subentries::OID, &visible, true)));
    let (_, bytes) = client.encode(&Request::Search(search), &controls);
    let mut out = Vec::new();
    client.session.feed(&mut client.worker, &bytes, &mut out);
    out.extend(client.followed());
    reported(&out)
}

/// A change of a group, of a subentry, or of a subordinate is no event of the entries that it is about: nobody would know.
#[test]
fn what_others_decide_is_refused() {
    let both = [content_sync::OID, persistent_search::OID];
    let group = |item: &str| format!("({item}={GROUP})");
    let refused = [
        (group("memberOf"), "memberOf"),
        (group("ismemberof"), "isMemberOf"),
        (group("1.2.840.113556.1.2.102"), "memberOf"),
        (group("memberOf:distinguishedNameMatch:"), "memberOf"),
        (group("memberOf:1.2.840.113556.1.4.1941:"), "1.2.840.113556.1.4.1941"),
        (format!("(member:1.2.840.113556.1.4.1941:={ADA})"), "1.2.840.113556.1.4.1941"),
        ("(memberOf=*)".to_owned(), "memberOf"),
        ("(memberOf=nonsense)".to_owned(), "memberOf"),
        ("(entryTtl>=0)".to_owned(), "entryTtl"),
        ("(governingStructureRule=*)".to_owned(), "governingStructureRule"),
        ("(c-l=Paris)".to_owned(), "c-l"),
        ("(c-l=P*)".to_owned(), "c-l"),
        ("(collectiveAttributeSubentries=*)".to_owned(), "collectiveAttributeSubentries"),
    ];
    let of_changes = [("hasSubordinates", "TRUE"), ("numSubordinates", "0"), ("contextCSN", "*")];
    for mut client in clients() {
        client.bind_root();
        for is_filled in [false, true] {
            if is_filled {
                fill(&mut client);
            }
            let mut check = |oid: &'static [u8], item: &str, name: &str| {
                for filter in [item.to_owned(), format!("(!{item})"), format!("(&(uid=*)(|(cn=x){item}))")] {
                    let (dns, end) = begin(&mut client, oid, &filter, false);
                    let (code, text) = end.unwrap_or_else(|| panic!("{filter} has found {dns:?}"));
                    assert_eq!((dns.len(), code), (0, UnwillingToPerform), "{filter}: {text}");
                    assert!(text.contains(name), "{filter}: {text}");
                }
            };
            for oid in both {
                refused.iter().for_each(|(item, name)| check(oid, item, name));
            }
            for (name, value) in of_changes {
                check(persistent_search::OID, &format!("({name}={value})"), name);
            }
        }
        assert_eq!(client.dsa.shard().followers(), 0);
    }
}

/// What entries store is followed: `member`, supertypes of collective attributes, and these attributes of subentries.
#[test]
fn what_is_stored_is_followed() {
    for oid in [content_sync::OID, persistent_search::OID] {
        let mut writer = Client::new();
        writer.bind_root();
        fill(&mut writer);
        let reader = || {
            let mut reader = Client::of(&writer.dsa);
            reader.bind_root();
            reader
        };
        let [mut groups, mut places, mut areas] = [reader(), reader(), reader()];
        assert_eq!(begin(&mut groups, oid, &format!("(member={ADA})"), false), (vec![GROUP.into()], None));
        assert_eq!(begin(&mut places, oid, "(l=Paris)", false), (vec![], None));
        let area = "cn=area,ou=people,dc=example".to_owned();
        assert_eq!(begin(&mut areas, oid, "(c-l=Paris)", true), (vec![area.clone()], None));
        must_modify(&mut writer, ADA, &[(Replace, "l", &["Paris"])]);
        assert_eq!(reported(&places.followed()).0, [ADA]);
        must_modify(&mut writer, &area, &[(Replace, "c-l", &["Rome"])]);
        must_modify(&mut writer, &area, &[(Replace, "c-l", &["Paris"])]);
        assert_eq!(reported(&areas.followed()).0, [area]);
        let staff = "cn=staff,ou=groups,dc=example";
        writer.must_add(staff, &[("objectClass", &["groupOfNames"]), ("member", &[ADA])]);
        must_modify(&mut writer, GROUP, &[(Delete, "member", &[ADA])]);
        assert_eq!(reported(&groups.followed()).0, [staff]);
    }
}

/// Both change with the entry, or with a name above it, and then the entry is looked at again.
#[test]
fn what_follows_from_the_entry_is_followed() {
    let mut writer = Client::new();
    writer.bind_root();
    let usn = |client: &mut Client| client.read("", &["lastUSN"]).values("lastUSN").unwrap()[0].clone();
    let since = usn(&mut writer);
    let filter = format!("(&(uid=*)(entryUSN>={since})(!(entryUSN={since})))");
    let wish = Wish { base: "dc=example", filter: &filter, persists: true, reload_hint: false };
    let mut reader = Client::of(&writer.dsa);
    reader.bind_root();
    let mut consumer = Consumer::default();
    let id = reader.begin_sync(&wish, &mut consumer);
    assert_eq!((consumer.code(), consumer.content.len()), (None, 0));
    let [mut numbers, mut names] = [(); 2].map(|()| Client::of(&writer.dsa));
    numbers.bind_root();
    names.bind_root();
    assert_eq!(begin(&mut numbers, persistent_search::OID, &filter, false), (vec![], None));
    let moved = "uid=ada,ou=folk,dc=example";
    let named = format!("(entryDN={moved})");
    assert_eq!(begin(&mut names, persistent_search::OID, &named, false), (vec![], None));
    must_modify(&mut writer, GRACE, &[(Replace, "description", &["x"])]);
    assert_eq!(reported(&numbers.followed()).0, [GRACE]);
    assert_eq!(writer.rename(PEOPLE, "ou=folk", true, None).code, Success);
    assert_eq!(reported(&names.followed()).0, [moved]);
    reader.follow(id, &mut consumer);
    reader.is_synchronous(&wish, &consumer);
    assert_eq!(consumer.content.len(), 1);
}
