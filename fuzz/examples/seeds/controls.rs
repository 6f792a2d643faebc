//! Requests and answers with the controls of searches: paged results, sorting, list views, content synchronisation, persistent search, matched values,
//! dereference, and those that come with them. Row L4: some ask for 2^31-1 of what there is, which takes no more than asking for a few.

use super::{DN, request, response, session_with};
use model::{Filter, ResultCode, Scope};
use proto::control::chaining_behavior::{self, Behavior};
use proto::control::content_sync::{
    self, SyncInfo, SyncRequest, SyncState, done_control, done_value, state_control, state_value,
};
use proto::control::dereference::{self, DerefSpec};
use proto::control::effective_rights::{self, EffectiveRights};
use proto::control::paged_results::{self, PagedResults};
use proto::control::persistent_search::{self, ChangeType, PersistentSearch};
use proto::control::session_tracking::{self, SessionTracking};
use proto::control::sort::{self, SortKey};
use proto::control::subentries::{self, Visible};
use proto::control::virtual_list_view::{self, Target, ViewResponse, VirtualListView};
use proto::control::{Control, dont_use_copy, matched_values};
use proto::list::{Attributes, Octets, attribute_list, octet_list};
use proto::op::modify::change_list;
use proto::op::search::SearchEntry;
use proto::op::{Add, Authentication, Bind, Changes, Modify, ModifyKind, Search};
use proto::{Request, filter_string, result, tag};

const MAX: i32 = i32::MAX;
const TOP: &[u8] = b"dc=example";
const ADA: &[u8] = b"uid=ada,ou=people,dc=example";

/// All of them.
pub(super) fn write() {
    let values = Values::new();
    of_requests(&values);
    of_answers();
    looking(&values);
    following(&values);
}

/// A control with a value.
fn with<'a>(oid: &'static [u8], critical: bool, value: &'a [u8]) -> Control<'a> {
    Control { oid, critical, value: Some(value) }
}

fn page(size: i32, cookie: &[u8]) -> Vec<u8> {
    let mut value = Vec::new();
    PagedResults { size, cookie }.encode(&mut value);
    value
}

fn view(before_count: i32, after_count: i32, target: Target<'_>) -> Vec<u8> {
    VirtualListView { before_count, after_count, target, context_id: None }.encode()
}

/// The values of controls.
struct Values {
    page: Vec<u8>,
    large_page: Vec<u8>,
    by_name: Vec<u8>,
    by_many: Vec<u8>,
    first: Vec<u8>,
    largest: Vec<u8>,
    at_least: Vec<u8>,
    refresh: Vec<u8>,
    persist: Vec<u8>,
    changes: Vec<u8>,
    new_changes: Vec<u8>,
    matched: Vec<u8>,
    dereference: Vec<u8>,
    rights: Vec<u8>,
    tracking: Vec<u8>,
    chaining: Vec<u8>,
    visible: Vec<u8>,
}

impl Values {
    fn new() -> Values {
        let key = |attribute, ordering_rule, reverse| SortKey { attribute, ordering_rule, reverse };
        let by = |offset, content_count| Target::ByOffset { offset, content_count };
        let items = ["(cn=ada*)", "(member=uid=member7,dc=example)", "(cn:caseExactMatch:=Bob)"];
        let items = items.map(|text| filter_string::parse(text.as_bytes()).expect("a seed parses"));
        let names = octet_list([&b"cn"[..], b"mail", b"*"]);
        let attributes = Octets::parse(&names).expect("a list");
        let specs = [&b"member"[..], b"seeAlso"].map(|attribute| DerefSpec { attribute, attributes });
        let follows = |value: &[u8]| PersistentSearch::decode(value).expect("it is one").encode();
        let sync = |persists, cookie, reload_hint| SyncRequest { persists, cookie, reload_hint }.encode();
        let session = SessionTracking {
            address: b"192.0.2.7",
            host: b"app.example",
            format: b"1.3.6.1.4.1.21008.108.63.1.3",
            identifier: b"ada",
        };
        Values {
            page: page(2, b""),
            large_page: page(MAX, b""),
            by_name: sort::encode(&[key(b"cn", None, false)]),
            by_many: sort::encode(&[
                key(b"sn;lang-de", Some(b"caseIgnoreOrderingMatch"), true),
                key(b"uid", None, false),
                key(b"noSuchType", Some(b"2.5.13.3"), true),
            ]),
            first: view(0, 1, by(1, 0)),
            largest: view(MAX, MAX, by(MAX, MAX)),
            at_least: view(1, MAX, Target::AtLeast(b"b")),
            refresh: sync(false, Some(b"rid=001,csn=20200101000000.000000Z#000000#000#000000"), true),
            persist: sync(true, None, false),
            changes: follows(b"\x30\x09\x02\x01\x0f\x01\x01\x00\x01\x01\xff"),
            new_changes: follows(b"\x30\x09\x02\x01\x05\x01\x01\xff\x01\x01\x00"),
            matched: matched_values::encode(&items.each_ref().map(|item| item.filter())),
            dereference: dereference::encode(&specs),
            rights: EffectiveRights { authorization_id: b"dn:uid=ada,ou=people,dc=example", attributes }
                .encode(),
            tracking: session.encode(),
            chaining: chaining_behavior::encode([Behavior::ReferralsPreferred, Behavior::ChainingPreferred]),
            visible: Visible::Subentries.encode(),
        }
    }
}

fn search<'a>(base: &'a [u8], filter: Filter<'a>, selection: Octets<'a>) -> Request<'a> {
    Request::Search(Search::unlimited(base, Scope::Subtree, filter, selection))
}

/// One message each: all controls that go together.
fn of_requests(values: &Values) {
    let names = octet_list([&b"cn"[..], b"*", b"+"]);
    let names = Octets::parse(&names).expect("a list");
    let all = || search(DN, Filter::Present(b"objectClass"), names);
    let sorted = |value| sort::control(value, true);
    let part = |value| virtual_list_view::control(value, true);
    request(
        "sorted-page",
        all(),
        &[sorted(&values.by_many), with(paged_results::OID, true, &values.large_page)],
    );
    request("list-view", all(), &[sorted(&values.by_name), part(&values.largest)]);
    request("list-view-value", all(), &[sorted(&values.by_many), part(&values.at_least)]);
    request("content-sync", all(), &[with(content_sync::OID, true, &values.refresh)]);
    request("content-sync-persist", all(), &[with(content_sync::OID, false, &values.persist)]);
    request("persistent-search", all(), &[with(persistent_search::OID, true, &values.changes)]);
    request("matched-values", all(), &[matched_values::control(&values.matched, true)]);
    request("dereference", all(), &[dereference::control(&values.dereference, false)]);
    request("effective-rights", all(), &[effective_rights::control(&values.rights)]);
    let others = [
        session_tracking::control(&values.tracking),
        chaining_behavior::control(&values.chaining, false),
        subentries::control(&values.visible, true),
        dont_use_copy::control(),
    ];
    request("search-controls", all(), &others);
}

/// Answers with what the controls bring.
fn of_answers() {
    let uuid = *b"0123456789abcdef";
    let list = attribute_list([(&b"cn"[..], vec![&b"a"[..]])]);
    let attributes = Attributes::parse(&list).expect("just made");
    let entry = SearchEntry { dn: DN, attributes };
    let mut found = Vec::new();
    dereference::put_result(&mut found, b"member", DN, &list);
    let found = proto::ber::sequence(|out| out.extend_from_slice(&found));
    let state = state_value(SyncState::Modify, &uuid);
    let notification = persistent_search::notification_value(ChangeType::ModDn, Some(b"uid=old,dc=com"));
    let brought = |name: &str, controls: &[Control<'_>]| {
        response(name, |out| entry.encode(out, 5, controls));
    };
    brought("entry-synchronised", &[state_control(&state)]);
    brought("entry-changed", &[persistent_search::notification(&notification)]);
    brought("entry-dereferenced", &[dereference::control(&found, false)]);
    let sorted = sort::response(ResultCode::NoSuchAttribute, Some(b"noSuchType"));
    let part = ViewResponse { target_position: 7, content_count: u32::MAX >> 1, result: 0 }.encode();
    let ends =
        [with(sort::RESPONSE_OID, false, &sorted), with(virtual_list_view::RESPONSE_OID, false, &part)];
    let done = |name: &str, controls: &[Control<'_>]| {
        response(name, |out| {
            result::encode_result(out, 5, tag::SEARCH_DONE, ResultCode::Success, b"", "", controls);
        });
    };
    done("done-sorted", &ends);
    done("done-synchronised", &[done_control(&done_value(Some(b"cookie"), true))]);
    response("sync-info", |out| SyncInfo::NewCookie(b"cookie").encode(out, 5));
}

fn root() -> Request<'static> {
    let authentication = Authentication::Simple(b"secret");
    Request::Bind(Bind { version: 3, name: b"cn=admin,dc=example", authentication })
}

/// Dialogues that change nothing: their answers do not depend on where they are cut.
fn looking(values: &Values) {
    let names = octet_list([&b"cn"[..], b"member"]);
    let names = Octets::parse(&names).expect("a list");
    let all = || search(TOP, Filter::Present(b"objectClass"), names);
    let people = || search(b"ou=people,dc=example", Filter::Present(b"uid"), names);
    let sorted = |value| sort::control(value, true);
    let part = |value| virtual_list_view::control(value, false);
    let paged = |value| with(paged_results::OID, true, value);
    session_with(
        "sorted",
        &[60, 200, 9],
        &[
            (root(), vec![]),
            (people(), vec![sorted(&values.by_name)]),
            (people(), vec![sorted(&values.by_name), part(&values.largest)]),
            (all(), vec![sorted(&values.by_name), part(&values.first)]),
            (all(), vec![sorted(&values.by_name), part(&values.at_least), paged(&values.page)]),
            (people(), vec![sort::control(&values.by_many, false)]),
            (people(), vec![part(&values.first)]),
        ],
    );
    session_with(
        "pages",
        &[90],
        &[
            (all(), vec![paged(&values.page)]),
            (all(), vec![paged(&values.large_page)]),
            (people(), vec![sorted(&values.by_name), paged(&values.page)]),
            (all(), vec![with(paged_results::OID, false, b"\x30\x05\x02\x01\x00\x04\x00")]),
        ],
    );
    session_with(
        "contents",
        &[],
        &[
            (root(), vec![]),
            (all(), vec![matched_values::control(&values.matched, true)]),
            (all(), vec![dereference::control(&values.dereference, true)]),
            (
                people(),
                vec![
                    matched_values::control(&values.matched, false),
                    dereference::control(&values.dereference, false),
                    effective_rights::control(&values.rights),
                    session_tracking::control(&values.tracking),
                    chaining_behavior::control(&values.chaining, false),
                ],
            ),
            (all(), vec![subentries::control(&values.visible, true)]),
            (people(), vec![dont_use_copy::control()]),
        ],
    );
}

/// Searches that follow changes, the changes, and their ends.
fn following(values: &Values) {
    let all = || search(TOP, Filter::Present(b"objectClass"), Octets::EMPTY);
    let list = attribute_list([(&b"objectClass"[..], vec![&b"account"[..]])]);
    let attributes = Attributes::parse(&list).expect("a list");
    let changes = change_list([(ModifyKind::Add, &b"description"[..], vec![&b"x"[..]])]);
    let changes = Changes::parse(&changes).expect("changes");
    let synchronised = |value| with(content_sync::OID, true, value);
    let followed = |value| with(persistent_search::OID, true, value);
    session_with(
        "content-sync",
        &[70, 200],
        &[
            (root(), vec![]),
            (all(), vec![synchronised(&values.refresh)]),
            (all(), vec![synchronised(&values.persist)]),
            (all(), vec![synchronised(&values.persist), with(paged_results::OID, true, &values.page)]),
            (Request::Abandon(4), vec![]),
        ],
    );
    session_with(
        "followed",
        &[250],
        &[
            (root(), vec![]),
            (all(), vec![synchronised(&values.persist)]),
            (all(), vec![followed(&values.changes)]),
            (all(), vec![followed(&values.new_changes)]),
            (Request::Add(Add { dn: b"uid=new,dc=example", attributes }), vec![]),
            (Request::Modify(Modify { dn: ADA, changes }), vec![]),
            (Request::Delete(ADA), vec![]),
            (Request::Abandon(3), vec![]),
            (Request::Delete(b"uid=new,dc=example"), vec![]),
            (Request::Unbind, vec![]),
        ],
    );
}
