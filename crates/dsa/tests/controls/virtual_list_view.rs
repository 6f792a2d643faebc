//! ietf-ldapext-ldapv3-vlv-09: virtual list views; and, with RFC 2891, a model: whatever becomes of the directory, a list is what a plain
//! sort of the entries makes that an unsorted search finds.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 5 | returns the target by offset or value, and the entries around it | `vlv_s5_the_part_around_the_target`, `lists_are_those_of_a_plain_sort` |
//! | 5 | takes an offset for a ratio, the first and the last entry for what they are, and its own count where the client knows none | `vlv_s5_the_part_around_the_target` |
//! | 5 | returns contentCount + 1 where no entry has such a value | `vlv_s5_the_part_around_the_target` |
//! | 6 | publishes the control | `vlv_s6_the_root_dse_lists_it` |
//! | 6.1 | wants the control for sorting beside it: sortControlMissing | `vlv_s6_1_what_is_refused` |
//! | 6.1 | protocolError to a value of another form | `vlv_s6_1_what_is_refused` |
//! | 6.1 | fails with protocolError in virtualListViewResult to a contextID that it has not made: it makes none | `vlv_s6_1_what_is_refused` |
//! | 6.2 | offsetRangeError to an offset or count that is none, or out of range | `vlv_s6_2_offsets_out_of_range` |
//! | 6.2.1 | virtualListViewError comes with a virtualListViewResult that is not success | `vlv_s6_1_what_is_refused`, `vlv_s6_2_offsets_out_of_range` |
//! | 9 | pages of a part | `vlv_s9_pages_of_a_part` |
//! | by an index | the same answers; of several values of an entry the least counts | `positions_by_an_index_are_those_of_a_plain_sort`, `vlv_s5_an_entry_of_many_values_has_one_position`, `vlv_s5_a_part_of_a_subtree_by_an_index` |
//! | access rules | positions and counts tell nothing of what is hidden | `dsa: x5_a_hidden_entry_is_in_no_list`, `dsa: x5_positions_of_an_index_tell_of_nothing_hidden` |
//!
//! Not here, and why:
//!
//! | section | sentence | reason |
//! |---|---|---|
//! | 5, 6.1, 8 | clients find the target by the position, return a contextID unchanged and to the same server, and take offsets for approximate | binds clients |
//! | 6.1 | continuity of contiguous requests with a valid contextID | there is no valid one, for the server gives none |

use crate::common::{Client, Found, check_table, config, control, is_published};
use crate::rfc2891_sort::{LIST, key, keys, names, sort_result, with_list};
use model::ResultCode::{
    NoSuchObject, ProtocolError, Success, UnavailableCriticalExtension, VirtualListViewError,
};
use model::Scope;
use proptest::prelude::*;
use proptest::sample::select;
use proto::control::paged_results::{self, PagedResults};
use proto::control::virtual_list_view::{OID, RESPONSE_OID, Target, ViewResponse, VirtualListView};
use proto::control::{Control, sort, virtual_list_view};
use proto::op::ModifyKind;
use std::cmp::Ordering;

const MAX: i32 = i32::MAX;

fn offset(offset: i32, content_count: i32) -> Target<'static> {
    Target::ByOffset { offset, content_count }
}

fn view<'a>(before: i32, after: i32, target: Target<'a>) -> VirtualListView<'a> {
    VirtualListView { before_count: before, after_count: after, target, context_id: None }
}

fn look(client: &mut Client, by: &str, filter: &str, view: &VirtualListView<'_>) -> Found {
    let (by, view) = (keys(by), view.encode());
    let controls = [sort::control(&by, true), virtual_list_view::control(&view, true)];
    client.search_with(LIST, Scope::One, filter, &["1.1"], |_| {}, &controls)
}

/// Position, count and result.
fn said(found: &Found) -> Option<(u32, u32, u32)> {
    let (_, value) = found.controls.iter().find(|(oid, _)| oid.as_bytes() == RESPONSE_OID)?;
    let response = ViewResponse::decode(value.as_deref().expect("it has a value")).expect("it is one");
    Some((response.target_position, response.content_count, response.result))
}

/// Section 5: the target by offset and by value, and the entries around it. The list by `sn` is b, a, c, d.
#[test]
fn vlv_s5_the_part_around_the_target() {
    let mut client = with_list();
    for (before, after, target, entries, position) in [
        (0, 1, offset(1, 0), "ba", 1),
        (1, 1, offset(2, 0), "bac", 2),
        (1, 0, offset(4, 4), "cd", 4),
        (0, 0, offset(2, 4), "a", 2),
        (0, 0, offset(50, 100), "a", 2),
        (0, 0, offset(1, 100), "b", 1),
        (1, 0, offset(100, 100), "cd", 4),
        (MAX, MAX, offset(3, 0), "bacd", 3),
        (0, 1, Target::AtLeast(b"B"), "ac", 2),
        (0, 0, Target::AtLeast(b"GAMMA"), "c", 3),
        (1, 1, Target::AtLeast(b"gamma"), "acd", 3),
        (0, 0, Target::AtLeast(b" a"), "b", 1),
        // "returning the special value contentCount + 1 in the target position field".
        (0, 5, Target::AtLeast(b"zz"), "", 5),
        (2, 5, Target::AtLeast(b"zz"), "cd", 5),
    ] {
        let found = look(&mut client, "sn", "(cn=x)", &view(before, after, target));
        assert_eq!((found.end.code, &names(&found)[..]), (Success, entries), "{before} {after} {target:?}");
        assert_eq!(said(&found), Some((position, 4, 0)), "{target:?}");
        assert_eq!(sort_result(&found), (!entries.is_empty()).then_some((0, None)));
    }
    // Section 6.1: "less than or equal to when the sort order is reversed". By `-title` it is b, d, a, c.
    for (value, entries, position) in [("B", "ac", 3), ("bb", "ac", 3), ("z", "da", 2), ("0", "", 5)] {
        let found = look(&mut client, "-title", "(cn=x)", &view(0, 1, Target::AtLeast(value.as_bytes())));
        assert_eq!((&names(&found)[..], said(&found)), (entries, Some((position, 4, 0))), "{value}");
    }
    // A list without entries.
    let none = look(&mut client, "sn", "(cn=y)", &view(0, 9, offset(1, 0)));
    assert_eq!((none.end.code, said(&none), sort_result(&none)), (Success, Some((0, 0, 0)), None));
    let none = look(&mut client, "sn", "(cn=y)", &view(0, 9, Target::AtLeast(b"x")));
    assert_eq!((none.end.code, said(&none)), (Success, Some((1, 0, 0))));
}

/// Section 6.2: "If [...] the client specifies an invalid offset or contentCount, the server MUST set the virtualListViewResult value to
/// offsetRangeError"; 6.2.1: with virtualListViewError "the virtualListViewResult value MUST NOT be success".
#[test]
fn vlv_s6_2_offsets_out_of_range() {
    let mut client = with_list();
    for target in
        [offset(0, 0), offset(5, 0), offset(MAX, 0), offset(5, 4), offset(MAX, MAX - 1), offset(0, 4)]
    {
        let found = look(&mut client, "sn", "(cn=x)", &view(0, 0, target));
        assert_eq!((found.end.code, found.entries.len()), (VirtualListViewError, 0), "{target:?}");
        assert_eq!(said(&found), Some((0, 0, 61)), "{target:?}");
    }
    let found = look(&mut client, "sn", "(cn=x)", &view(MAX, MAX, offset(MAX, MAX)));
    assert_eq!((names(&found).as_str(), said(&found)), ("bacd", Some((4, 4, 0))));
}

/// Section 6.1: "a Server Side Sorting request control MUST also be present"; without it sortControlMissing. A contextID that the server did not
/// make fails with protocolError. What cannot be sorted has no parts.
#[test]
fn vlv_s6_1_what_is_refused() {
    let mut client = with_list();
    let first = view(0, 0, offset(1, 0));
    let value = first.encode();
    for critical in [true, false] {
        let controls = [virtual_list_view::control(&value, critical)];
        let found = client.search_with(LIST, Scope::One, "(cn=x)", &["1.1"], |_| {}, &controls);
        assert_eq!((found.end.code, said(&found)), (VirtualListViewError, Some((0, 0, 60))));
    }
    let with_context = VirtualListView { context_id: Some(b"abc"), ..first };
    let found = look(&mut client, "sn", "(cn=x)", &with_context);
    assert_eq!((found.end.code, said(&found)), (VirtualListViewError, Some((0, 0, 3))));
    let with_empty = VirtualListView { context_id: Some(b""), ..first };
    assert_eq!(look(&mut client, "sn", "(cn=x)", &with_empty).end.code, Success);
    let bad_value = view(0, 0, Target::AtLeast(b"soon"));
    let found = look(&mut client, "createTimestamp", "(cn=x)", &bad_value);
    assert_eq!((found.end.code, said(&found)), (VirtualListViewError, Some((0, 0, 18))));
    for (by, result) in [("nosuch", 53), ("member", 18), ("sn sn", 53)] {
        let by = keys(by);
        let controls = [sort::control(&by, false), virtual_list_view::control(&value, true)];
        let found = client.search_with(LIST, Scope::One, "(cn=x)", &["1.1"], |_| {}, &controls);
        assert_eq!((found.end.code, said(&found)), (VirtualListViewError, Some((0, 0, result))));
        let controls = [sort::control(&by, true), virtual_list_view::control(&value, true)];
        let found = client.search_with(LIST, Scope::One, "(cn=x)", &["1.1"], |_| {}, &controls);
        assert_eq!((found.end.code, said(&found)), (UnavailableCriticalExtension, None));
    }
    for value in [
        None,
        Some(&b""[..]),
        Some(b"\x30\x00"),
        Some(b"\x30\x0e\x02\x01\xff\x02\x01\x13\xa0\x06\x02\x01\x01\x02\x01\x00"),
    ] {
        let by = keys("sn");
        let controls = [sort::control(&by, true), Control { oid: OID, critical: true, value }];
        let found = client.search_with(LIST, Scope::One, "(cn=x)", &["1.1"], |_| {}, &controls);
        assert_eq!(found.end.code, ProtocolError, "{value:x?}");
    }
    let gone = client.search_with(
        "ou=none,dc=example",
        Scope::One,
        "(cn=x)",
        &[],
        |_| {},
        &[virtual_list_view::control(&value, true)],
    );
    assert_eq!(gone.end.code, NoSuchObject, "the base comes first");
}

/// A part of a list can have pages.
#[test]
fn vlv_s9_pages_of_a_part() {
    let mut client = with_list();
    let (by, part) = (keys("sn"), view(1, 1, offset(3, 0)).encode());
    let (mut cookie, mut pages) = (Vec::new(), Vec::new());
    loop {
        let mut page = Vec::new();
        PagedResults { size: 2, cookie: &cookie }.encode(&mut page);
        let controls = [
            sort::control(&by, true),
            virtual_list_view::control(&part, true),
            control(paged_results::OID, &page, true),
        ];
        let found = client.search_with(LIST, Scope::One, "(cn=x)", &["1.1"], |_| {}, &controls);
        assert_eq!((found.end.code, said(&found)), (Success, Some((3, 4, 0))));
        pages.push(names(&found));
        cookie = found.cookie.expect("each page has one");
        if cookie.is_empty() {
            break;
        }
    }
    assert_eq!(pages, ["ac", "d"]);
}

/// Section 6: "indicated by the presence of the OID [...] in the supportedControl attribute".
#[test]
fn vlv_s6_the_root_dse_lists_it() {
    assert!(is_published("supportedControl", OID));
}

/// An entry of the model, as an unsorted search returns it.
type Row = (String, Vec<(String, Vec<Vec<u8>>)>);

/// The least value by a key, in a form that compares as the key says. `None`: there is none, which is larger than all.
fn least(row: &Row, by: &str) -> Option<Vec<u8>> {
    let key = key(by);
    let name = std::str::from_utf8(key.attribute).expect("it is text");
    // A name without options is that of all of them, and `name` that of all attributes here but one.
    let is_of = |of: &str| match name {
        "name" => of != "gidNumber",
        _ => of.split(';').next() == Some(name),
    };
    let forms = row.1.iter().filter(|(of, _)| is_of(of)).flat_map(|(_, values)| values);
    let form = |value: &Vec<u8>| match name {
        // Numbers of up to three digits.
        "gidNumber" => {
            format!("{:03}", String::from_utf8_lossy(value).parse::<u32>().expect("a number")).into_bytes()
        }
        _ => value.to_ascii_lowercase(),
    };
    forms.map(form).min()
}

fn compare(left: &Row, right: &Row, by: &str) -> Ordering {
    by.split_whitespace()
        .map(|by| {
            let order = match (least(left, by), least(right, by)) {
                (None, None) => Ordering::Equal,
                (None, _) => Ordering::Greater,
                (_, None) => Ordering::Less,
                (left, right) => left.cmp(&right),
            };
            if by.starts_with('-') { order.reverse() } else { order }
        })
        .fold(Ordering::Equal, Ordering::then)
}

#[derive(Clone, Debug)]
enum Step {
    Add(usize, Vec<&'static str>, Option<u32>),
    Delete(usize),
    Rename(usize, usize),
    Replace(usize, &'static str, Vec<&'static str>),
    DeleteValue(usize, &'static str, &'static str),
    Sort(&'static str, &'static str),
    Pages(&'static str, &'static str, i32),
    View(&'static str, &'static str, i32, i32, i32),
    Typed(&'static str, &'static str, i32, &'static str),
}

/// Steps whose lists are ordered by one of these and found by one of these.
fn step(by: Vec<&'static str>, filter: Vec<&'static str>) -> impl Strategy<Value = Step> {
    // What a value is looked for in is not a number.
    let typed: Vec<_> =
        by.iter().copied().filter(|by| !by.contains("gidNumber") && !by.contains(' ')).collect();
    let (by, filter, typed) = (select(by), select(filter), select(typed));
    let word = select(vec!["a", "B", "b", "ab", "Abc", "c", "cc", "zz", "beta", "Beta Two"]);
    let words = proptest::collection::btree_set(word.clone(), 1..5).prop_map(|words| {
        let mut seen: Vec<&str> = Vec::new();
        words.into_iter().for_each(|word| {
            if seen.iter().all(|other| !other.eq_ignore_ascii_case(word)) {
                seen.push(word);
            }
        });
        seen
    });
    let attribute = select(vec!["sn", "sn;lang-de", "title", "ou"]);
    let number = prop_oneof![Just(None), (0u32..200).prop_map(Some)];
    let count = prop_oneof![0..5i32, Just(MAX)];
    prop_oneof![
        4 => (0usize..40, words.clone(), number).prop_map(|(n, words, number)| Step::Add(n, words, number)),
        1 => (0usize..40).prop_map(Step::Delete),
        1 => (0usize..40, 0usize..40).prop_map(|(from, to)| Step::Rename(from, to)),
        3 => (0usize..40, attribute.clone(), words).prop_map(|(n, of, words)| Step::Replace(n, of, words)),
        1 => (0usize..40, attribute, word.clone()).prop_map(|(n, of, word)| Step::DeleteValue(n, of, word)),
        2 => (by.clone(), filter.clone()).prop_map(|(by, filter)| Step::Sort(by, filter)),
        1 => (by.clone(), filter.clone(), 1..6i32).prop_map(|(by, filter, size)| Step::Pages(by, filter, size)),
        2 => (by.clone(), filter.clone(), count.clone(), count.clone(), 1..20i32)
            .prop_map(|(by, filter, before, after, at)| Step::View(by, filter, before, after, at)),
        2 => (typed, filter, 0..4i32, word)
            .prop_map(|(by, filter, around, word)| Step::Typed(by, filter, around, word)),
    ]
}

struct Model {
    client: Client,
    /// Where it searches.
    place: (&'static str, Scope),
}

impl Model {
    /// The list as a plain sort makes it, and its names.
    fn list(&mut self, by: &str, filter: &str) -> Vec<Row> {
        let wanted = ["name", "gidNumber"];
        let (base, scope) = self.place;
        let mut rows: Vec<Row> = self.client.search(base, scope, filter, &wanted).entries;
        rows.sort_by(|left, right| compare(left, right, by));
        rows
    }

    fn sorted(&mut self, by: &str, filter: &str, others: &[Control<'_>]) -> (Vec<String>, Found) {
        let value = keys(by);
        let mut controls = vec![sort::control(&value, true)];
        controls.extend_from_slice(others);
        let (base, scope) = self.place;
        let found = self.client.search_with(base, scope, filter, &["1.1"], |_| {}, &controls);
        (found.entries.iter().map(|(dn, _)| dn.clone()).collect(), found)
    }

    fn run(&mut self, step: &Step) {
        let dn = |n: usize| format!("uid=n{n},{LIST}");
        let names = |rows: &[Row]| rows.iter().map(|(dn, _)| dn.clone()).collect::<Vec<_>>();
        match step {
            Step::Add(n, words, number) => {
                let number = number.map(|number| number.to_string());
                let number: Vec<&str> = number.iter().map(String::as_str).collect();
                let mut all =
                    vec![("objectClass", &["inetOrgPerson", "extensibleObject"][..]), ("cn", &["x"])];
                all.push(("sn", words));
                if !number.is_empty() {
                    all.push(("gidNumber", &number));
                }
                if n % 3 == 0 {
                    all.push(("title", &words[..1]));
                }
                self.client.add(&dn(*n), &all);
            }
            Step::Delete(n) => _ = self.client.delete(&dn(*n)),
            Step::Rename(from, to) => _ = self.client.rename(&dn(*from), &format!("uid=n{to}"), true, None),
            Step::Replace(n, of, words) => {
                self.client.modify(&dn(*n), &[(ModifyKind::Replace, of, words)]);
            }
            // Refused where there is no such value.
            Step::DeleteValue(n, of, word) => {
                self.client.modify(&dn(*n), &[(ModifyKind::Delete, of, &[word])]);
            }
            Step::Sort(by, filter) => {
                let expected = names(&self.list(by, filter));
                assert_eq!(self.sorted(by, filter, &[]).0, expected, "{by} {filter}");
            }
            Step::Pages(by, filter, size) => {
                let expected = names(&self.list(by, filter));
                let (mut cookie, mut all) = (Vec::new(), Vec::new());
                loop {
                    let mut page = Vec::new();
                    PagedResults { size: *size, cookie: &cookie }.encode(&mut page);
                    let (entries, found) =
                        self.sorted(by, filter, &[control(paged_results::OID, &page, true)]);
                    all.extend(entries);
                    cookie = found.cookie.expect("each page has one");
                    if cookie.is_empty() {
                        break;
                    }
                }
                assert_eq!(all, expected, "{by} {filter} {size}");
            }
            Step::View(by, filter, before, after, at) => {
                let expected = names(&self.list(by, filter));
                let value = view(*before, *after, offset(*at, 0)).encode();
                let (entries, found) = self.sorted(by, filter, &[virtual_list_view::control(&value, true)]);
                let (at, len) = (*at as usize, expected.len());
                if at > len.max(1) {
                    assert_eq!((entries.len(), said(&found)), (0, Some((0, 0, 61))));
                    return;
                }
                assert_eq!(said(&found), Some((at.min(len) as u32, len as u32, 0)));
                let (begin, end) =
                    ((at - 1).saturating_sub(*before as usize), (at + *after as usize).min(len));
                assert_eq!(entries, expected[begin.min(end)..end], "{by} {filter}");
            }
            Step::Typed(by, filter, around, word) => {
                let rows = self.list(by, filter);
                let as_row = (
                    String::new(),
                    vec![(by.trim_start_matches('-').to_owned(), vec![word.as_bytes().to_vec()])],
                );
                let target = rows
                    .iter()
                    .position(|row| compare(row, &as_row, by) != Ordering::Less)
                    .unwrap_or(rows.len());
                let value = view(*around, *around, Target::AtLeast(word.as_bytes())).encode();
                let (entries, found) = self.sorted(by, filter, &[virtual_list_view::control(&value, true)]);
                assert_eq!(
                    said(&found),
                    Some((target as u32 + 1, rows.len() as u32, 0)),
                    "{by} {filter} {word}"
                );
                let around = *around as usize;
                let part = target.saturating_sub(around)..(target + around + 1).min(rows.len());
                assert_eq!(entries, names(&rows[part]), "{by} {filter} {word}");
            }
        }
    }
}

/// Do all ordering indexes tell positions?
fn have_positions(client: &Client) -> bool {
    let mut reader = store::Reader::register(client.dsa.shard()).expect("a reader is free");
    let reports = reader.pin().read_point().index_report();
    reports.iter().all(|index| index.has_positions != Some(false))
}

/// An attribute with so many values that they lie in a set counts by the least of them too, up to a bound.
#[test]
fn vlv_s5_an_entry_of_many_values_has_one_position() {
    let mut config = config();
    config.store.indexes.push(store::IndexSettings::of("title", [store::IndexKind::Ordering]));
    let mut client = Client::with(config);
    client.must_add(LIST, &[("objectClass", &["organizationalUnit"])]);
    let titles = |numbers: std::ops::Range<u32>| numbers.map(|n| format!("{n:04}")).collect::<Vec<_>>();
    for n in [1u32, 300, 800, 5000] {
        let all: [(&str, &[&str]); 4] = [
            ("objectClass", &["inetOrgPerson"]),
            ("cn", &["x"]),
            ("sn", &["x"]),
            ("title", &[&format!("{n:04}")]),
        ];
        client.must_add(&format!("uid={n},{LIST}"), &all);
    }
    let many = format!("uid=800,{LIST}");
    let change = |client: &mut Client, kind, values: &[String]| {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        assert_eq!(client.modify(&many, &[(kind, "title", &values)]).code, Success);
    };
    let list = |client: &mut Client| -> String {
        let (mut all, mut at) = (String::new(), 1);
        loop {
            let (by, part) = (keys("title"), view(0, 0, offset(at, 0)).encode());
            let controls = [sort::control(&by, true), virtual_list_view::control(&part, true)];
            let found =
                client.search_with("dc=example", Scope::Subtree, "(title=*)", &["1.1"], |_| {}, &controls);
            if found.end.code == VirtualListViewError {
                return all;
            }
            assert_eq!(said(&found), Some((at as u32, 4, 0)));
            all += &format!("{} ", names(&found));
            at += 1;
        }
    };
    assert_eq!(list(&mut client), "1 300 800 5000 ");
    // A set, whose least value is among those that come, and goes again.
    change(&mut client, ModifyKind::Add, &titles(200..290));
    assert_eq!(list(&mut client), "1 800 300 5000 ");
    change(&mut client, ModifyKind::Delete, &titles(200..230));
    assert_eq!(list(&mut client), "1 800 300 5000 ");
    change(&mut client, ModifyKind::Delete, &titles(230..290));
    assert_eq!(list(&mut client), "1 300 800 5000 ");
    change(
        &mut client,
        ModifyKind::Add,
        &titles(0..1).into_iter().chain(titles(801..900)).collect::<Vec<_>>(),
    );
    assert_eq!(list(&mut client), "800 1 300 5000 ");
    change(&mut client, ModifyKind::Replace, &titles(6000..6001));
    assert_eq!(list(&mut client), "1 300 5000 800 ");
    assert!(have_positions(&client));
    assert_eq!(client.dsa.shard().writer().check(9), []);
    // Of so many that they are not looked at, the list is made by sorting.
    change(&mut client, ModifyKind::Add, &titles(200..1400));
    assert_eq!(list(&mut client), "1 800 300 5000 ");
    change(&mut client, ModifyKind::Delete, &titles(200..301));
    assert_eq!(list(&mut client), "1 300 800 5000 ");
    assert!(!have_positions(&client));
    change(&mut client, ModifyKind::Replace, &titles(9..10));
    assert_eq!(list(&mut client), "1 800 300 5000 ");
    assert_eq!(client.dsa.shard().writer().check(9), []);
}

/// People below one entry, of a class that all entries with a surname have, and a few elsewhere: a part of their list is looked up, for there is no memory
/// to sort it.
#[test]
fn vlv_s5_a_part_of_a_subtree_by_an_index() {
    let mut config = config();
    config.store.indexes.push(store::IndexSettings::of("sn", [store::IndexKind::Ordering]));
    config.settings.configured.limits.clients.sort_bytes_max = 8 << 10;
    let mut client = Client::with(config);
    client.must_add(LIST, &[("objectClass", &["organizationalUnit"])]);
    client.must_add("ou=others,dc=example", &[("objectClass", &["organizationalUnit"])]);
    let add = |client: &mut Client, name: &str, base: &str, sn: &str| {
        let all: [(&str, &[&str]); 3] =
            [("objectClass", &["person", "extensibleObject"]), ("cn", &["x"]), ("sn", &[sn])];
        client.must_add(&format!("uid={name},{base}"), &all);
    };
    for n in 0..300 {
        add(&mut client, &n.to_string(), LIST, &format!("{:03}", n * 7 % 300));
    }
    for n in [0, 3, 150, 299] {
        add(&mut client, &format!("other{n}"), "ou=others,dc=example", &format!("{n:03}"));
    }
    let filters = ["(objectClass=person)", "(&(objectClass=person)(sn=*))", "(sn=*)"];
    let scopes = [Scope::Subtree, Scope::One].into_iter();
    let orders = scopes.flat_map(|scope| ["sn", "-sn"].map(|by| (scope, by)));
    for (scope, by, filter) in orders.flat_map(|(scope, by)| filters.map(|filter| (scope, by, filter))) {
        let look = |client: &mut Client, target: Target<'_>| {
            let (by, view) = (keys(by), view(0, 2, target).encode());
            let controls = [sort::control(&by, true), virtual_list_view::control(&view, true)];
            client.search_with(LIST, scope, filter, &["sn"], |_| {}, &controls)
        };
        let sn = |n: i32| format!("{:03}", if by == "sn" { n } else { 299 - n }).into_bytes();
        let of = |found: &Found| -> Vec<Vec<u8>> {
            found.entries.iter().map(|(_, attributes)| attributes[0].1[0].clone()).collect()
        };
        for at in 0..298 {
            let found = look(&mut client, offset(at + 1, 0));
            assert_eq!(said(&found), Some((at as u32 + 1, 300, 0)), "{by} {filter}: {:?}", found.end);
            assert_eq!(of(&found), [sn(at), sn(at + 1), sn(at + 2)], "{by} {filter} {at}");
            let value = sn(at);
            let found = look(&mut client, Target::AtLeast(&value));
            assert_eq!(said(&found), Some((at as u32 + 1, 300, 0)), "{by} {filter}");
            assert_eq!(of(&found), [sn(at), sn(at + 1), sn(at + 2)], "{by} {filter} {at}");
        }
    }
    // One level is another list than the subtree as soon as an entry is further below.
    let is_served =
        |client: &mut Client| said(&look(client, "sn", "(sn=*)", &view(0, 2, offset(1, 0)))).is_some();
    assert!(is_served(&mut client));
    add(&mut client, "deep", &format!("uid=7,{LIST}"), "000");
    assert!(!is_served(&mut client));
    assert_eq!(client.delete(&format!("uid=deep,uid=7,{LIST}")).code, Success);
    assert!(is_served(&mut client));
    // Who has a surname and is no person: shapes do not say any more which entries are found.
    let all: [(&str, &[&str]); 3] =
        [("objectClass", &["device", "extensibleObject"]), ("cn", &["x"]), ("sn", &["x"])];
    client.must_add(&format!("uid=device,{LIST}"), &all);
    let found = look(&mut client, "sn", "(objectClass=person)", &view(0, 2, offset(1, 0)));
    assert_eq!((found.end.code, said(&found)), (UnavailableCriticalExtension, None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Sorted lists, their pages and their parts are those of a plain sort, whatever changes come in between.
    #[test]
    fn lists_are_those_of_a_plain_sort(
        steps in proptest::collection::vec(
            step(
                vec!["sn", "-sn", "gidNumber sn", "-gidNumber -sn", "sn gidNumber", "title", "-title sn"],
                vec!["(cn=x)", "(gidNumber=*)", "(!(sn=a))", "(sn>=b)", "(uid=n1*)", "(cn=nobody)"],
            ),
            1..80,
        ),
    ) {
        let mut client = Client::new();
        client.must_add(LIST, &[("objectClass", &["organizationalUnit"])]);
        let mut model = Model { client, place: (LIST, Scope::One) };
        steps.iter().for_each(|step| model.run(step));
    }

    /// The same of lists whose positions an index tells: of all entries, or all with the attribute. Entries have several values, with options and of subtypes, and
    /// the least of them counts.
    #[test]
    fn positions_by_an_index_are_those_of_a_plain_sort(
        steps in proptest::collection::vec(
            step(
                vec!["title", "-title", "gidNumber", "-gidNumber title", "title -gidNumber", "sn", "-sn", "name", "-name sn"],
                vec!["(objectClass=*)", "(title=*)", "(gidNumber=*)", "(&(title=*)(objectClass=*))", "(title=a*)", "(sn=*)"],
            ),
            1..80,
        ),
    ) {
        let mut config = config();
        for name in ["title", "gidNumber", "sn", "name"] {
            config.store.indexes.push(store::IndexSettings::of(name, [store::IndexKind::Ordering]));
        }
        let mut client = Client::with(config);
        client.must_add(LIST, &[("objectClass", &["organizationalUnit"])]);
        let mut model = Model { client, place: ("dc=example", Scope::Subtree) };
        steps.iter().for_each(|step| model.run(step));
        let findings = model.client.dsa.shard().writer().check(10);
        prop_assert!(findings.is_empty(), "{findings:?}");
        // So lists were looked up, and not sorted.
        prop_assert!(have_positions(&model.client));
    }

    /// The same of a subtree that has nearly all entries, by what nearly all of them are.
    #[test]
    fn positions_in_a_subtree_are_those_of_a_plain_sort(
        steps in proptest::collection::vec(
            step(
                vec!["sn", "-sn", "title", "sn gidNumber"],
                vec!["(objectClass=person)", "(&(objectClass=person)(sn=*))", "(sn=*)", "(objectClass=*)", "(title=*)"],
            ),
            1..80,
        ),
        outside in 0usize..6,
        deeper in 0usize..2,
        scope in select(vec![Scope::Subtree, Scope::Subordinates, Scope::One]),
    ) {
        let mut config = config();
        for name in ["title", "sn"] {
            config.store.indexes.push(store::IndexSettings::of(name, [store::IndexKind::Ordering]));
        }
        let mut client = Client::with(config);
        client.must_add(LIST, &[("objectClass", &["organizationalUnit"])]);
        for n in 0..outside {
            let sn = ["b", "Abc", "c", "a"][n % 4];
            client.must_add(
                &format!("uid=out{n},dc=example"),
                &[("objectClass", &["inetOrgPerson"]), ("cn", &["x"]), ("sn", &[sn, "zz"])],
            );
        }
        for n in 0..deeper {
            let unit = format!("ou=unit{n},{LIST}");
            client.must_add(&unit, &[("objectClass", &["organizationalUnit"])]);
            client.must_add(
                &format!("uid=deep,{unit}"),
                &[("objectClass", &["inetOrgPerson"]), ("cn", &["x"]), ("sn", &["b"])],
            );
        }
        let mut model = Model { client, place: (LIST, scope) };
        steps.iter().for_each(|step| model.run(step));
    }
}

#[test]
fn the_table_is_complete() {
    check_table(include_str!("virtual_list_view.rs"));
}
