//! ldapext-psearch-03: what changes, by its kind.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 4 | processes it as a search, by base, scope, filter and rights | `only_those_that_are_asked_for_and_without_controls`, `dsa: x8_a_persistent_search_ends_with_its_rights` |
//! | 4 | answers protocolError to a value of another form | `a_value_of_another_form` |
//! | 4, a | returns no entry that is there already if changesOnly is TRUE, and those that match if not | `each_kind_of_change_is_reported`, `what_matches_already_comes_first` |
//! | 4, b | sends no result, and goes on until an abandon or an unbind | `psearch_s4_b_it_ends_with_an_abandon_or_an_unbind` |
//! | 4, c | returns an entry that is changed if it matches, and if changeTypes has the kind of change | `each_kind_of_change_is_reported`, `only_those_that_are_asked_for_and_without_controls`, `psearch_s4_c_each_set_of_kinds` |
//! | 4, d; 5 | returns with each change a notification if returnECs is TRUE, and none with others | `each_kind_of_change_is_reported`, `what_matches_already_comes_first` |
//! | 5 | has previousDN in the notification of a modifyDN alone | `each_kind_of_change_is_reported` |
//! | 5 | has previousDN only if the client was sent that name: it may not know of it else | `dsa: x8_no_name_is_reported_that_was_not_seen` |
//! | 8 | bounds what it keeps for a client | `many_renames_are_taken_back_in_slices`, `dsa: how_many_may_follow_is_a_setting` |
//!
//! Changes of one entry that come together are one notification, of the last state. There is no changeNumber in it (SHOULD, section 5): a change is
//! reported when it has been applied, and has its number in the change log by then, but one notification may stand for several changes.

use crate::common::{Client, check_table, control};
use model::ResultCode::{ProtocolError, Success};
use model::Scope;
use proto::Request;
use proto::control::persistent_search::{NOTIFICATION_OID, OID};
use proto::message::{Frame, Reply, Response, frame};
use proto::op::ModifyKind;

const PEOPLE: &str = "ou=people,dc=example";
const ADD: u8 = 1;
const DELETE: u8 = 2;
const MODIFY: u8 = 4;
const MOD_DN: u8 = 8;

fn value(types: u8, changes_only: bool, returns: bool) -> Vec<u8> {
    let flag = |is_set: bool| if is_set { 0xff } else { 0 };
    vec![0x30, 9, 2, 1, types, 1, 1, flag(changes_only), 1, 1, flag(returns)]
}

/// Entries, and values of their controls.
type Reported = Vec<(String, Option<Vec<u8>>)>;

/// Entries, with what their controls say was done.
fn entries(mut bytes: &[u8]) -> Reported {
    let mut entries = Vec::new();
    while let Ok(Frame::Complete { len }) = frame(bytes) {
        let reply = Reply::decode(&bytes[..len]).unwrap();
        let Response::SearchEntry(entry) = reply.response else { panic!("{:?}", reply.response) };
        let said = reply.controls.iter().find(|c| c.oid == NOTIFICATION_OID).and_then(|c| c.value);
        entries.push((String::from_utf8(entry.dn.to_vec()).unwrap(), said.map(<[u8]>::to_vec)));
        bytes = &bytes[len..];
    }
    entries
}

fn begin(types: u8, changes_only: bool, returns: bool) -> (Client, Client, Reported) {
    let mut writer = Client::new();
    writer.bind_root();
    let mut reader = Client::of(&writer.dsa);
    reader.bind_root();
    let filter = proto::filter_string::parse(b"(sn=*)").unwrap();
    let search = crate::common::search_for(PEOPLE, Scope::Subtree, filter.filter(), &[]);
    let value = value(types, changes_only, returns);
    let (_, bytes) = reader.encode(&Request::Search(search), &[control(OID, &value, true)]);
    let mut out = Vec::new();
    reader.session.feed(&mut reader.worker, &bytes, &mut out);
    out.extend(reader.followed());
    (writer, reader, entries(&out))
}

/// An entry is added, modified, renamed and deleted; what is reported each time.
fn reported(types: u8, returns: bool) -> Vec<Reported> {
    let (mut writer, mut reader, first) = begin(types, true, returns);
    assert_eq!(first, []);
    let mut reported = Vec::new();
    let mut look = || reported.push(entries(&reader.followed()));
    writer.must_add(&format!("cn=a,{PEOPLE}"), &[("objectClass", &["person"]), ("sn", &["x"])]);
    look();
    writer.modify(&format!("cn=a,{PEOPLE}"), &[(ModifyKind::Replace, "sn", &["y"])]);
    look();
    writer.rename(&format!("cn=a,{PEOPLE}"), "cn=b", true, None);
    look();
    assert_eq!(writer.delete(&format!("cn=b,{PEOPLE}")).code, Success);
    look();
    // It does not match the filter.
    writer.must_add(&format!("ou=x,{PEOPLE}"), &[("objectClass", &["organizationalUnit"])]);
    assert_eq!(writer.delete(&format!("ou=x,{PEOPLE}")).code, Success);
    look();
    reported
}

#[test]
fn each_kind_of_change_is_reported() {
    let [a, b] = ["a", "b"].map(|name| format!("cn={name},{PEOPLE}"));
    let of = |dn: &str, kind: u8| vec![(dn.to_owned(), Some(vec![0x30, 3, 10, 1, kind]))];
    let mut renamed = of(&b, MOD_DN);
    let value = renamed[0].1.as_mut().unwrap();
    value.extend([4, a.len() as u8]);
    value.extend(a.as_bytes());
    value[1] += 2 + a.len() as u8;
    assert_eq!(reported(15, true), [of(&a, ADD), of(&a, MODIFY), renamed, of(&b, DELETE), vec![]]);
}

#[test]
fn only_those_that_are_asked_for_and_without_controls() {
    let [a, b] = ["a", "b"].map(|name| vec![(format!("cn={name},{PEOPLE}"), None)]);
    assert_eq!(reported(ADD | DELETE, false), [a, vec![], vec![], b, vec![]]);
}

/// changesOnly FALSE: "the search results [...] that match initially" come first, without the control.
#[test]
fn what_matches_already_comes_first() {
    let (mut writer, mut reader, first) = begin(15, false, true);
    let found = writer.search(PEOPLE, Scope::Subtree, "(sn=*)", &["1.1"]);
    let mut dns: Vec<&str> = first.iter().map(|(dn, _)| dn.as_str()).collect();
    dns.sort_unstable();
    assert_eq!(dns, found.dns());
    assert!(first.iter().all(|(_, said)| said.is_none()) && reader.followed().is_empty());
}

/// Each name is compared with each rename of the batch, and a slice has no more of that than of other work.
#[test]
fn many_renames_are_taken_back_in_slices() {
    let (mut writer, mut reader, _) = begin(DELETE, true, false);
    for number in 0..300 {
        writer.must_add(&format!("cn={number},{PEOPLE}"), &[("objectClass", &["person"]), ("sn", &["x"])]);
    }
    assert_eq!(reader.followed(), []);
    let dn = |rdn: &str| format!("{rdn},{PEOPLE}");
    writer.must_add(&dn("ou=x"), &[("objectClass", &["organizationalUnit"])]);
    for _ in 0..500 {
        assert_eq!(writer.rename(&dn("ou=x"), "ou=y", true, None).code, Success);
        assert_eq!(writer.rename(&dn("ou=y"), "ou=x", true, None).code, Success);
    }
    (0..300).for_each(|number| assert_eq!(writer.delete(&dn(&format!("cn={number}"))).code, Success));
    let cx = &mut std::task::Context::from_waker(std::task::Waker::noop());
    let mut out = Vec::new();
    let mut state = reader.session.poll_notices(&reader.worker, cx, &mut out);
    let mut slices = Vec::new();
    while state == dsa::State::Busy {
        let before = entries(&out).len();
        state = reader.session.step(&mut reader.worker, &mut out);
        slices.push(entries(&out).len() - before);
    }
    assert_eq!(slices.iter().sum::<usize>(), 300);
    assert!(slices.iter().all(|deleted| *deleted <= 20), "{slices:?}");
}

#[test]
fn a_value_of_another_form() {
    let mut client = Client::new();
    for bad in [value(0, true, true), value(16, true, true), vec![0x30, 0], vec![]] {
        let controls = [control(OID, &bad, true)];
        let found = client.search_with(PEOPLE, Scope::Subtree, "(sn=*)", &[], |_| {}, &controls);
        assert_eq!(found.end.code, ProtocolError);
    }
}

/// A client that does not read for a while gets what was done, each once: what comes meanwhile takes nothing of that away.
#[test]
fn who_reads_late_gets_each_change() {
    let (mut writer, mut reader, _) = begin(1, true, true);
    let dn = |n: usize| format!("uid=n{n},{PEOPLE}");
    crate::common::add_people(&mut writer, 3000);
    let cx = &mut std::task::Context::from_waker(std::task::Waker::noop());
    let (mut out, mut said) = (Vec::new(), Vec::new());
    let mut state = reader.session.poll_notices(&reader.worker, cx, &mut out);
    let mut is_first = true;
    while state == dsa::State::Busy {
        state = reader.session.step(&mut reader.worker, &mut out);
        said.extend(entries(&std::mem::take(&mut out)));
        if std::mem::take(&mut is_first) {
            reader.session.wait_behind_backlog();
            assert!(said.len() < 3000, "it is in the middle of a batch");
            for n in 0..3000 {
                assert_eq!(writer.modify(&dn(n), &[(ModifyKind::Replace, "sn", &["later"])]).code, Success);
            }
        }
    }
    said.extend(entries(&reader.followed()));
    assert_eq!(said.len(), 3000, "adds alone were asked for");
}

#[test]
fn the_table_is_complete() {
    check_table(include_str!("persistent_search.rs"));
}

/// "The server MUST NOT return a SearchResult message. Instead, the search operation MUST be kept active until it is abandoned by the client or
/// until the client unbinds." That no result comes is what `entries` panics at.
#[test]
fn psearch_s4_b_it_ends_with_an_abandon_or_an_unbind() {
    for is_abandoned in [true, false] {
        let (mut writer, mut reader, _) = begin(15, false, true);
        assert_eq!(writer.dsa.shard().followers(), 1);
        let id = reader.last_id();
        let request = if is_abandoned { Request::Abandon(id) } else { Request::Unbind };
        let (_, bytes) = reader.encode(&request, &[]);
        assert!(reader.raw(&bytes).0.is_empty());
        writer.must_add(&format!("cn=a,{PEOPLE}"), &[("objectClass", &["person"]), ("sn", &["x"])]);
        assert_eq!(writer.dsa.shard().followers(), 0);
        if is_abandoned {
            assert_eq!(entries(&reader.followed()), []);
        }
    }
}

/// "if the operation that caused the change is included in the changeTypes field", whichever of the fifteen sets it is.
#[test]
fn psearch_s4_c_each_set_of_kinds() {
    for types in 1..16 {
        let counts: Vec<usize> = reported(types, true).iter().map(Vec::len).collect();
        let expected = [ADD, MODIFY, MOD_DN, DELETE].map(|kind| usize::from(types & kind != 0));
        assert_eq!(counts[..4], expected, "{types}");
    }
}
