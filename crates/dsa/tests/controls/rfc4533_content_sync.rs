//! RFC 4533: a consumer that knows nothing but what it is sent has what is in the directory.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 1, 3 | brings a copy to what a search finds, at each cookie | `rfc4533_s1_a_copy_converges`, `rfc4533_s1_a_copy_converges_by_slow_reading` |
//! | 2 | publishes the control | `what_cannot_be_followed` |
//! | 2.2 | answers protocolError to a value of another form | `what_cannot_be_followed` |
//! | 3.1 | returns initial content or e-syncRefreshRequired to a cookie that it does not know, or that somebody else got | `rfc4533_s3_2_a_cookie_of_something_else` |
//! | 3.1 | returns initial content to a cookie of an empty copy | `rfc4533_s3_2_a_cookie_of_something_else` |
//! | 3.2 | the same where other content is asked for | `rfc4533_s3_2_a_cookie_of_something_else`, `rfc4533_s3_5_a_cookie_is_of_the_name_of_its_base` |
//! | 3.2 | takes what it does not synchronise as Undefined in a filter, and does not return it | `rfc4533_s3_2_what_is_not_synchronised` |
//! | 3.2 | refuses a filter on what other entries decide, rather than to take it as Undefined | `dsa: what_others_decide_is_refused` |
//! | 3.3.1 | sends each entry of the initial content with the state add, its UUID and no cookie; then refreshDeletes FALSE | `rfc4533_s3_3_1_initial_content` |
//! | 3.3.2 | sends what has changed, and says what is unchanged or gone | `rfc4533_s3_3_a_refresh_brings_what_changed`, `rfc4533_s3_3_2_a_refresh_by_the_change_log` |
//! | 3.4.1 | ends the refresh by a message of information, and not by a result | `rfc4533_s3_4_1_the_end_of_the_refresh` |
//! | 3.4.2 | reports what is added, modified and deleted with the state, the UUID | `rfc4533_s3_4_changes_are_reported`, `rfc4533_s4_1_renames_beside_the_base_in_one_batch` |
//! | 3.5.1 | ends with an error where the base refers to another entry or none | `rfc4533_s3_5_the_base_is_gone`, `rfc4533_s3_5_1_the_alias_of_the_base_is_changed` |
//! | 3.5.2 | answers protocolError to derefInSearching and derefAlways | `what_cannot_be_followed` |
//! | 3.5.3 | the size limit is of the refresh | `rfc4533_s3_3_a_size_limit_leaves_no_state_behind` |
//! | 3.7 | cancels a synchronisation | `rfc4533_s3_4_changes_are_reported`, `dsa: s3_a_search_that_follows_changes_is_canceled` |
//! | 3.7 | says why, where it does not go on | `dsa: who_falls_behind_begins_anew`, `dsa: many_that_do_not_read_are_sent_away`, `dsa: who_loses_its_read_point_begins_anew`, `dsa: a_follower_keeps_no_more_than_there_is_room_for`, `dsa: how_many_may_follow_is_a_setting` |
//! | 3.9 | refreshes by no more messages of entries than the content has entries | `rfc4533_s3_9_no_more_messages_than_entries` |
//! | 4.1 | the subordinates of a renamed entry are not reported, unless they come or go | `a_batch_is_gathered_in_slices` |
//! | 7 | sends nothing of what may not be read | `dsa: x8_*` |
//!
//! Not here, and why:
//!
//! | section | sentence | reason |
//! |---|---|---|
//! | 3.1, 3.5.2, 3.6 | clients keep to the same parameters, to derefAliases, to UUIDs | binds clients |
//! | 3.3.1, 3.3.2, 3.4.2 | each reference has a state, a UUID | there are no references: "The content may not necessarily include all entries or references that would be returned by a normal search" (3.2); with ManageDsaIT referral objects are entries of it |

use crate::common::consumer::{Consumer, Wish};
use crate::common::{ADA, Client, Outcome, check_table, control, is_published, search_for};
use model::ResultCode::{self, Busy, Canceled, NoSuchObject, ProtocolError, Success, SyncRefreshRequired};
use model::{DerefAliases, Scope};
use proptest::prelude::*;
use proto::Request;
use proto::control::content_sync::{self as sync, SyncRequest};
use proto::control::paged_results::{self, PagedResults};
use proto::control::persistent_search;
use proto::message::{Frame, Reply, Response, frame};
use proto::op::{Extended, ModifyKind};

pub(super) const PEOPLE: &str = "ou=people,dc=example";
pub(super) const ALL: &str = "(objectClass=*)";

pub(super) fn of<'a>(base: &'a str, filter: &'a str, persists: bool) -> Wish<'a> {
    Wish { base, filter, persists, reload_hint: false }
}

pub(super) fn rooted() -> (Client, Client) {
    let mut writer = Client::new();
    writer.bind_root();
    let mut reader = Client::of(&writer.dsa);
    reader.bind_root();
    (writer, reader)
}

pub(super) fn person(client: &mut Client, name: &str, description: &str) {
    let given = [("objectClass", &["person"][..]), ("sn", &["x"]), ("description", &[description])];
    client.must_add(&format!("cn={name},{PEOPLE}"), &given);
}

/// Takes what comes at once, as from a connection that is full then. Is there more?
pub(super) fn take_some(reader: &mut Client, id: i32, consumer: &mut Consumer) -> bool {
    let cx = &mut std::task::Context::from_waker(std::task::Waker::noop());
    let mut out = Vec::new();
    let mut state = reader.session.poll_notices(&reader.worker, cx, &mut out);
    while state == dsa::State::Busy && out.is_empty() {
        state = reader.session.step(&mut reader.worker, &mut out);
    }
    consumer.take(&out, id);
    reader.session.wait_behind_backlog();
    state == dsa::State::Busy
}

#[derive(Clone, Debug)]
enum Step {
    Add(u8, bool, String),
    Modify(u8, String),
    Delete(u8),
    Rename(u8, u8),
    Move(u8, u8),
    /// The consumer takes what there is.
    Follow,
    /// The consumer comes again, with its cookie, or the one of slapd.
    Again(bool),
    /// Or only refreshes.
    Refresh,
}

fn step() -> impl Strategy<Value = Step> {
    let text = prop_oneof![Just("a".to_owned()), Just("ab".to_owned()), Just("b".to_owned())];
    prop_oneof![
        4 => (0..12u8, any::<bool>(), text.clone()).prop_map(|(at, is_area, text)| Step::Add(at, is_area, text)),
        4 => (any::<u8>(), text).prop_map(|(at, text)| Step::Modify(at, text)),
        3 => any::<u8>().prop_map(Step::Delete),
        2 => (any::<u8>(), 0..12u8).prop_map(|(at, to)| Step::Rename(at, to)),
        3 => (any::<u8>(), any::<u8>()).prop_map(|(at, to)| Step::Move(at, to)),
        3 => Just(Step::Follow),
        2 => any::<bool>().prop_map(Step::Again),
        1 => Just(Step::Refresh),
    ]
}

/// A DN of those that there are, if any is left.
fn some(writer: &mut Client, at: u8) -> Option<String> {
    let dns = writer.search("dc=example", Scope::Subordinates, ALL, &["1.1"]);
    let dns = dns.dns();
    let at = usize::from(at).checked_rem(dns.len())?;
    Some(dns[at].to_owned())
}

/// Does a step, or nothing where all entries are gone.
fn apply(writer: &mut Client, step: &Step) -> Option<()> {
    match step {
        Step::Add(at, is_area, text) => {
            let above = some(writer, at * 7)?;
            let class = if *is_area { "organizationalUnit" } else { "organizationalRole" };
            let rdn = if *is_area { "ou" } else { "cn" };
            let dn = format!("{rdn}=n{at},{above}");
            writer.add(&dn, &[("objectClass", &[class]), ("description", &[text.as_str()])]);
        }
        Step::Modify(at, text) => {
            let dn = some(writer, *at)?;
            writer.modify(&dn, &[(ModifyKind::Replace, "description", &[text.as_str()])]);
        }
        Step::Delete(at) => {
            let dn = some(writer, *at)?;
            writer.delete(&dn);
        }
        Step::Rename(at, to) => {
            let dn = some(writer, *at)?;
            let name = dn.split('=').next().unwrap();
            writer.rename(&dn, &format!("{name}=n{to}"), true, None);
        }
        Step::Move(at, to) => {
            let (dn, above) = (some(writer, *at)?, some(writer, *to)?);
            writer.rename(&dn, dn.split(',').next().unwrap(), true, Some(&above));
        }
        Step::Follow | Step::Again(_) | Step::Refresh => {}
    }
    Some(())
}

/// A consumer that was sent away begins anew. `false` if there is nothing to be had: the base is gone.
fn goes_on(reader: &mut Client, asked: &Wish<'_>, consumer: &mut Consumer, id: &mut i32) -> bool {
    if consumer.code() == Some(SyncRefreshRequired) {
        *consumer = Consumer::default();
        *id = reader.begin_sync(asked, consumer);
    }
    match consumer.code() {
        None | Some(SyncRefreshRequired) => true,
        Some(NoSuchObject) => false,
        Some(other) => panic!("{other:?}"),
    }
}

proptest! {
    /// At each cookie the consumer has what a search finds.
    #[test]
    fn rfc4533_s1_a_copy_converges(
        filter in prop_oneof![Just(ALL), Just("(description=a*)"), Just("(!(cn=*))")],
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let (mut writer, mut reader) = rooted();
        for area in ["ou=in,dc=example", "ou=out,dc=example"] {
            writer.must_add(area, &[("objectClass", &["organizationalUnit"])]);
        }
        let (asked, mut consumer) = (of("ou=in,dc=example", filter, true), Consumer::default());
        let mut id = reader.begin_sync(&asked, &mut consumer);
        for step in &steps {
            let _ = apply(&mut writer, step);
            match step {
                Step::Follow => reader.follow(id, &mut consumer),
                Step::Again(_) | Step::Refresh => {
                    // What it was not sent yet is in no cookie of its.
                    reader = Client::of(&writer.dsa);
                    reader.bind_root();
                    if let Step::Again(true) = step {
                        let text = String::from_utf8(consumer.cookie.clone()).unwrap();
                        let kept = text.split(",pando=").next().unwrap_or_default();
                        consumer.cookie = kept.as_bytes().to_vec();
                    }
                    if let Step::Refresh = step {
                        reader.begin_sync(&of(asked.base, filter, false), &mut consumer);
                        if consumer.code() == Some(Success) {
                            writer.is_synchronous(&asked, &consumer);
                        }
                    }
                    id = reader.begin_sync(&asked, &mut consumer);
                }
                _ => continue,
            }
            if consumer.code().is_none() {
                writer.is_synchronous(&asked, &consumer);
            }
            if !goes_on(&mut reader, &asked, &mut consumer, &mut id) {
                return Ok(());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// As above, with entries of which few fit into one write, and a client that does not read all that is there.
    #[test]
    fn rfc4533_s1_a_copy_converges_by_slow_reading(
        filter in prop_oneof![Just(ALL), Just("(description=a*)"), Just("(!(cn=*))")],
        steps in prop::collection::vec((step(), any::<bool>()), 1..40),
    ) {
        let (mut writer, mut reader) = rooted();
        for area in ["ou=in,dc=example", "ou=out,dc=example"] {
            writer.must_add(area, &[("objectClass", &["organizationalUnit"])]);
        }
        let (asked, mut consumer) = (of("ou=in,dc=example", filter, true), Consumer::default());
        let mut id = reader.begin_sync(&asked, &mut consumer);
        let long = |text: &str| text.repeat(100_000);
        for (step, takes) in steps {
            let step = match step {
                Step::Add(at, is_area, text) => Step::Add(at, is_area, long(&text)),
                Step::Modify(at, text) => Step::Modify(at, long(&text)),
                step => step,
            };
            let _ = apply(&mut writer, &step);
            if takes && consumer.code().is_none() {
                take_some(&mut reader, id, &mut consumer);
            }
            if let Step::Again(_) = step {
                reader = Client::of(&writer.dsa);
                reader.bind_root();
                id = reader.begin_sync(&asked, &mut consumer);
            }
            if consumer.code().is_none() && matches!(step, Step::Follow) {
                reader.follow(id, &mut consumer);
            }
            if consumer.code().is_none() && matches!(step, Step::Follow | Step::Again(_)) {
                writer.is_synchronous(&asked, &consumer);
            }
            if !goes_on(&mut reader, &asked, &mut consumer, &mut id) {
                return Ok(());
            }
        }
    }
}

#[test]
fn rfc4533_s3_3_a_refresh_brings_what_changed() {
    let (mut writer, mut reader) = rooted();
    person(&mut writer, "a", "1");
    person(&mut writer, "b", "1");
    let (asked, mut consumer) = (of(PEOPLE, "(cn=*)", false), Consumer::default());
    reader.begin_sync(&asked, &mut consumer);
    assert_eq!(consumer.end, Some((Success, false)));
    writer.is_synchronous(&asked, &consumer);
    // Nothing was changed: nothing is said, and nothing is gone (section 3.9).
    consumer.said.clear();
    reader.begin_sync(&asked, &mut consumer);
    assert_eq!((consumer.end, consumer.said.len()), (Some((Success, true)), 0));
    writer.is_synchronous(&asked, &consumer);
    let count = consumer.content.len();
    writer.modify(&format!("cn=a,{PEOPLE}"), &[(ModifyKind::Replace, "description", &["2"])]);
    assert_eq!(writer.delete(&format!("cn=b,{PEOPLE}")).code, Success);
    reader.begin_sync(&asked, &mut consumer);
    writer.is_synchronous(&asked, &consumer);
    let unchanged = consumer.said.iter().filter(|said| *said == "unchanged").count();
    assert_eq!((unchanged, consumer.said.len()), (count - 2, count - 1));
    assert!(consumer.said.contains(&format!("add cn=a,{PEOPLE}")));
}

/// The state of an entry that the size limit cuts off comes with no other entry that the thread writes: it may be another client's.
#[test]
fn rfc4533_s3_3_a_size_limit_leaves_no_state_behind() {
    let (_, mut reader) = rooted();
    let value = SyncRequest { persists: false, cookie: None, reload_hint: false }.encode();
    let filter = proto::filter_string::parse(ALL.as_bytes()).unwrap();
    let mut search = search_for(PEOPLE, Scope::Subtree, filter.filter(), &[]);
    search.size_limit = 1;
    let (_, bytes) = reader.encode(&Request::Search(search), &[control(sync::OID, &value, true)]);
    let mut out = Vec::new();
    reader.session.feed(&mut reader.worker, &bytes, &mut out);
    out.extend(reader.followed());
    let has_state = |out: &[u8]| out.windows(sync::STATE_OID.len()).any(|part| part == sync::STATE_OID);
    assert!(has_state(&out), "the first entry has its state");
    let search = search_for(PEOPLE, Scope::Subtree, filter.filter(), &[]);
    let (_, bytes) = reader.encode(&Request::Search(search), &[]);
    out.clear();
    reader.session.feed(&mut reader.worker, &bytes, &mut out);
    assert!(out.len() > 100 && !has_state(&out));
}

/// Who may read everything is notified of what is gone by the change log, and not of what is unchanged. Behind a rename nobody knows what it has moved.
#[test]
fn rfc4533_s3_3_2_a_refresh_by_the_change_log() {
    let mut config = crate::common::config();
    config.settings.configured.change_log.bytes = 1 << 20;
    let mut writer = crate::common::journal::journaled_with(config).0;
    writer.plant();
    writer.bind_root();
    let mut reader = Client::of(&writer.dsa);
    reader.bind_root();
    person(&mut writer, "a", "1");
    person(&mut writer, "b", "1");
    person(&mut writer, "c", "1");
    let (asked, mut consumer) = (of(PEOPLE, "(description=1)", false), Consumer::default());
    let mut refreshed = |writer: &mut Client, consumer: &mut Consumer| {
        consumer.said.clear();
        reader.begin_sync(&asked, consumer);
        writer.is_synchronous(&asked, consumer);
        consumer.said.clone()
    };
    assert_eq!(refreshed(&mut writer, &mut consumer).len(), 3);
    assert_eq!(writer.delete(&format!("cn=a,{PEOPLE}")).code, Success);
    assert_eq!(refreshed(&mut writer, &mut consumer), ["gone"]);
    writer.modify(&format!("cn=b,{PEOPLE}"), &[(ModifyKind::Replace, "description", &["2"])]);
    person(&mut writer, "d", "1");
    // The one that was deleted at the CSN of the cookie is named once more: a delete has none of its own.
    let said = refreshed(&mut writer, &mut consumer);
    assert!(
        said[0] == format!("add cn=d,{PEOPLE}") && said[1..].iter().all(|said| said == "gone"),
        "{said:?}"
    );
    writer.rename(&format!("cn=c,{PEOPLE}"), "cn=e", true, None);
    writer.modify(&format!("cn=d,{PEOPLE}"), &[(ModifyKind::Replace, "sn", &["y"])]);
    person(&mut writer, "f", "1");
    assert!(!refreshed(&mut writer, &mut consumer).contains(&"gone".to_owned()));
    assert_eq!(consumer.end, Some((Success, false)), "what is unchanged was named");
}

#[test]
fn rfc4533_s3_4_changes_are_reported() {
    let (mut writer, mut reader) = rooted();
    let (asked, mut consumer) = (of(PEOPLE, "(description=1)", true), Consumer::default());
    let id = reader.begin_sync(&asked, &mut consumer);
    let mut reported = |writer: &mut Client, consumer: &mut Consumer| {
        consumer.said.clear();
        reader.follow(id, consumer);
        writer.is_synchronous(&asked, consumer);
        consumer.said.clone()
    };
    person(&mut writer, "a", "1");
    let dn = format!("cn=a,{PEOPLE}");
    assert_eq!(reported(&mut writer, &mut consumer), [format!("add {dn}")]);
    writer.modify(&dn, &[(ModifyKind::Replace, "sn", &["y"])]);
    writer.modify(&dn, &[(ModifyKind::Replace, "sn", &["z"])]);
    assert_eq!(reported(&mut writer, &mut consumer), [format!("modify {dn}")]);
    writer.modify(&dn, &[(ModifyKind::Replace, "description", &["2"])]);
    assert_eq!(reported(&mut writer, &mut consumer), ["gone"]);
    writer.modify(&dn, &[(ModifyKind::Replace, "description", &["1"])]);
    assert_eq!(reported(&mut writer, &mut consumer), [format!("add {dn}")]);
    assert_eq!(writer.delete(&dn).code, Success);
    assert_eq!(reported(&mut writer, &mut consumer), ["gone"]);
    // What is not in the content is not spoken of.
    person(&mut writer, "b", "2");
    assert_eq!(writer.delete(&format!("cn=b,{PEOPLE}")).code, Success);
    assert_eq!(reported(&mut writer, &mut consumer), [""; 0]);
    // Section 3.7.
    let value = proto::ext::cancel::encode(id);
    let (_, bytes) = reader
        .encode(&Request::Extended(Extended { oid: proto::ext::cancel::OID, value: Some(&value) }), &[]);
    let mut out = Vec::new();
    reader.session.feed(&mut reader.worker, &bytes, &mut out);
    consumer.take(&out, id);
    assert_eq!(consumer.code(), Some(Canceled));
    assert_eq!(writer.dsa.shard().followers(), 0);
}

#[test]
fn rfc4533_s3_5_the_base_is_gone() {
    for is_renamed in [true, false] {
        let (mut writer, mut reader) = rooted();
        writer.must_add("ou=x,dc=example", &[("objectClass", &["organizationalUnit"])]);
        let mut consumer = Consumer::default();
        let id = reader.begin_sync(&of("ou=x,dc=example", ALL, true), &mut consumer);
        match is_renamed {
            true => writer.rename("ou=x,dc=example", "ou=y", true, None),
            false => writer.delete("ou=x,dc=example"),
        };
        reader.follow(id, &mut consumer);
        assert_eq!(consumer.code(), Some(SyncRefreshRequired));
    }
}

#[test]
fn rfc4533_s3_2_a_cookie_of_something_else() {
    let (mut writer, mut reader) = rooted();
    let mut consumer = Consumer::default();
    reader.begin_sync(&of(PEOPLE, ALL, false), &mut consumer);
    let cookie = consumer.cookie.clone();
    let mut ask = |asked: &Wish<'_>, cookie: &[u8]| {
        let mut consumer = Consumer { cookie: cookie.to_vec(), ..Consumer::default() };
        reader.begin_sync(asked, &mut consumer);
        (consumer.code().unwrap(), consumer.content.len())
    };
    assert_eq!(ask(&of(PEOPLE, ALL, false), &cookie), (Success, 0));
    let all = ask(&of(PEOPLE, ALL, false), b"rid=007").1;
    assert!(all > 0);
    let future = b"rid=001,csn=20990102030405.123000Z#000000#000#000000";
    let other_site = String::from_utf8(cookie.clone()).unwrap().replace("#000#", "#001#");
    for (asked, cookie) in [
        (of("dc=example", ALL, false), &cookie[..]),
        (of(PEOPLE, "(objectClass=person)", false), &cookie),
        (of(PEOPLE, ALL, false), &cookie[1..]),
        (of(PEOPLE, ALL, false), &cookie[..cookie.len() - 1]),
        (of(PEOPLE, ALL, false), b"nonsense"),
        (of(PEOPLE, ALL, false), future),
        (of(PEOPLE, ALL, false), other_site.as_bytes()),
    ] {
        assert_eq!(ask(&asked, cookie), (SyncRefreshRequired, 0));
        let (code, found) = ask(&Wish { reload_hint: true, ..asked }, cookie);
        assert!(code == Success && found > 0);
    }
    // Another one asks: who may see the same now may have seen other entries then.
    assert_eq!(writer.bind(ADA, "lace").code, Success);
    let mut consumer = Consumer { cookie, ..Consumer::default() };
    writer.begin_sync(&of(PEOPLE, ALL, false), &mut consumer);
    assert_eq!(consumer.code(), Some(SyncRefreshRequired));
}

/// What comes with another entry or goes with it may have been renamed beside the base in the same batch.
#[test]
fn rfc4533_s4_1_renames_beside_the_base_in_one_batch() {
    let (mut writer, mut reader) = rooted();
    let unit = [("objectClass", &["organizationalUnit"][..])];
    for dn in ["ou=in,dc=example", "ou=out,dc=example", "ou=a,ou=in,dc=example", "ou=b,ou=out,dc=example"] {
        writer.must_add(dn, &unit);
    }
    for dn in ["ou=c,ou=a,ou=in,dc=example", "ou=d,ou=c,ou=a,ou=in,dc=example"] {
        writer.must_add(dn, &unit);
    }
    let asked = of("ou=in,dc=example", "(!(ou=c))", true);
    let mut consumer = Consumer::default();
    let id = reader.begin_sync(&asked, &mut consumer);
    let mut moved = |from: &str, rdn: &str, above: &str| {
        assert_eq!(writer.rename(from, rdn, true, Some(above)).code, Success, "{from}");
    };
    // It leaves with the one above it, and that one without it: c is not in the content, and d is.
    moved("ou=a,ou=in,dc=example", "ou=a", "ou=out,dc=example");
    moved("ou=c,ou=a,ou=out,dc=example", "ou=c", "dc=example");
    moved("ou=a,ou=out,dc=example", "ou=a", "ou=in,dc=example");
    // One that was there before comes with a new one.
    writer.must_add("ou=e,dc=example", &unit);
    let mut moved = |from: &str, rdn: &str, above: &str| {
        assert_eq!(writer.rename(from, rdn, true, Some(above)).code, Success, "{from}");
    };
    moved("ou=b,ou=out,dc=example", "ou=b", "ou=e,dc=example");
    moved("ou=e,dc=example", "ou=e", "ou=in,dc=example");
    reader.follow(id, &mut consumer);
    writer.is_synchronous(&asked, &consumer);
    assert!(consumer.said.ends_with(&["gone".to_owned()]), "{:?}", consumer.said);
}

/// A rename of the base, or of an entry above it, gives all entries of the content other names, and none of them another CSN.
#[test]
fn rfc4533_s3_5_a_cookie_is_of_the_name_of_its_base() {
    let (mut writer, mut reader) = rooted();
    let unit = [("objectClass", &["organizationalUnit"][..])];
    for dn in ["ou=x,dc=example", "ou=y,ou=x,dc=example", "ou=z,ou=y,ou=x,dc=example"] {
        writer.must_add(dn, &unit);
    }
    let mut consumer = Consumer::default();
    reader.begin_sync(&of("ou=y,ou=x,dc=example", ALL, false), &mut consumer);
    let cookie = consumer.cookie.clone();
    let mut ask = |base: &str| {
        let mut consumer = Consumer { cookie: cookie.clone(), ..Consumer::default() };
        reader.begin_sync(&of(base, ALL, false), &mut consumer);
        consumer.code()
    };
    assert_eq!(ask("OU=Y, ou=x,DC=example"), Some(Success));
    assert_eq!(writer.rename("ou=x,dc=example", "ou=v", true, None).code, Success);
    assert_eq!(ask("ou=y,ou=v,dc=example"), Some(SyncRefreshRequired));
    assert_eq!(writer.rename("ou=v,dc=example", "ou=x", true, None).code, Success);
    assert_eq!(ask("ou=y,ou=x,dc=example"), Some(Success));
    assert_eq!(writer.rename("ou=y,ou=x,dc=example", "ou=w", true, None).code, Success);
    assert_eq!(ask("ou=w,ou=x,dc=example"), Some(SyncRefreshRequired));
}

/// What a rename makes of the entries below it is looked for in slices, and so is what has left the content.
#[test]
fn a_batch_is_gathered_in_slices() {
    let (mut writer, mut reader) = rooted();
    crate::common::add_people(&mut writer, 20_000);
    let asked = of("dc=example", ALL, true);
    let mut consumer = Consumer::default();
    let id = reader.begin_sync(&asked, &mut consumer);
    consumer.said.clear();
    assert_eq!(writer.rename(PEOPLE, "ou=folk", true, None).code, Success);
    let cx = &mut std::task::Context::from_waker(std::task::Waker::noop());
    let mut out = Vec::new();
    let mut state = reader.session.poll_notices(&reader.worker, cx, &mut out);
    let mut steps = 0;
    while state == dsa::State::Busy {
        // Another session has its turn in between, so slices are short.
        writer.read("", &["1.1"]);
        state = reader.session.step(&mut reader.worker, &mut out);
        steps += 1;
    }
    assert!(steps > 2 * 20_000 * 16 / 8_000, "{steps} slices");
    consumer.take(&out, id);
    assert_eq!(consumer.said, ["modify ou=folk,dc=example"]);
}

#[test]
fn what_cannot_be_followed() {
    let (_, mut reader) = rooted();
    let value = SyncRequest { persists: true, cookie: None, reload_hint: false }.encode();
    let sync_control = control(sync::OID, &value, true);
    let page = PagedResults { size: 1, cookie: b"" };
    let mut paged = Vec::new();
    page.encode(&mut paged);
    let with =
        |reader: &mut Client, base: &str, deref, controls: &[proto::control::Control<'_>]| -> Outcome {
            reader
                .search_with(base, Scope::Subtree, ALL, &[], |search| search.deref_aliases = deref, controls)
                .end
        };
    let never = DerefAliases::Never;
    for deref in [DerefAliases::InSearching, DerefAliases::Always] {
        assert_eq!(with(&mut reader, PEOPLE, deref, &[sync_control]).code, ProtocolError);
    }
    let both = [sync_control, control(paged_results::OID, &paged, true)];
    assert_eq!(with(&mut reader, PEOPLE, never, &both).code, ProtocolError);
    assert_eq!(with(&mut reader, PEOPLE, never, &[sync_control, sync_control]).code, ProtocolError);
    let changes = control(persistent_search::OID, &[0x30, 9, 2, 1, 15, 1, 1, 0, 1, 1, 0], true);
    let end = with(&mut reader, PEOPLE, never, &[sync_control, changes]);
    let text = "control 2.16.840.1.113730.3.4.3 comes with another by which a search follows changes";
    assert_eq!((end.code, &end.text[..]), (ProtocolError, text));
    let bad = control(sync::OID, b"\x30\x00", false);
    assert_eq!(with(&mut reader, PEOPLE, never, &[bad]).code, ProtocolError);
    assert_eq!(with(&mut reader, "cn=monitor", never, &[sync_control]).code, ResultCode::UnwillingToPerform);
    for oid in [sync::OID, persistent_search::OID] {
        assert!(is_published("supportedControl", oid));
    }
    // As many as a session may have, and one more.
    let mut consumer = Consumer::default();
    for _ in 0..model::limits::SESSION_FOLLOWERS_DEFAULT {
        reader.begin_sync(&of(PEOPLE, ALL, true), &mut consumer);
        assert_eq!(consumer.code(), None);
    }
    reader.begin_sync(&of(PEOPLE, ALL, true), &mut consumer);
    assert_eq!(consumer.code(), Some(Busy));
}

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc4533_content_sync.rs"));
}

/// The messages of a search that synchronises, one by one: what is sent at once.
fn messages(reader: &mut Client, asked: &Wish<'_>, cookie: &[u8], selection: &[&str]) -> Vec<Vec<u8>> {
    let cookie = (!cookie.is_empty()).then_some(cookie);
    let request = SyncRequest { persists: asked.persists, cookie, reload_hint: asked.reload_hint };
    let (value, selection) = (request.encode(), crate::common::selection(selection));
    let filter = proto::filter_string::parse(asked.filter.as_bytes()).unwrap();
    let search = search_for(asked.base, Scope::Subtree, filter.filter(), &selection);
    let (_, bytes) = reader.encode(&Request::Search(search), &[control(sync::OID, &value, true)]);
    let mut out = Vec::new();
    reader.session.feed(&mut reader.worker, &bytes, &mut out);
    out.extend(reader.followed());
    let (mut all, mut at) = (Vec::new(), 0);
    while let Ok(Frame::Complete { len }) = frame(&out[at..]) {
        all.push(out[at..at + len].to_vec());
        at += len;
    }
    assert_eq!(at, out.len());
    all
}

/// "Each SearchResultEntry Message SHALL include a Sync State Control of state add, an entryUUID containing the entry's UUID, and no cookie. [...]
/// The SearchResultDone Message SHALL include a Sync Done Control having refreshDeletes set to FALSE."
#[test]
fn rfc4533_s3_3_1_initial_content() {
    let (mut writer, mut reader) = rooted();
    let mut expected = Vec::new();
    for (dn, attributes) in writer.search("dc=example", Scope::Subtree, ALL, &["entryUUID"]).entries {
        let uuid: String = String::from_utf8(attributes[0].1[0].clone()).unwrap().replace('-', "");
        let bytes = (0..16).map(|at| u8::from_str_radix(&uuid[2 * at..2 * at + 2], 16).unwrap());
        // SEQUENCE { state ENUMERATED add, entryUUID OCTET STRING }: there is no cookie.
        expected.push((dn, [vec![0x30, 21, 10, 1, 1, 4, 16], bytes.collect()].concat()));
    }
    let mut all = messages(&mut reader, &of("dc=example", ALL, false), b"", &["cn"]);
    let done = all.pop().expect("there is an end");
    let mut found: Vec<(String, Vec<u8>)> = Vec::new();
    for message in &all {
        let reply = Reply::decode(message).unwrap();
        let Response::SearchEntry(entry) = reply.response else { panic!("{:?}", reply.response) };
        let state = reply.controls.find(sync::STATE_OID).expect("it has a state");
        assert!(!state.critical);
        found.push((String::from_utf8(entry.dn.to_vec()).unwrap(), state.value.unwrap().to_vec()));
    }
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    let reply = Reply::decode(&done).unwrap();
    assert_eq!(reply.result().unwrap().result_code(), Some(Success));
    let value = reply.controls.find(sync::DONE_OID).and_then(|control| control.value).expect("it is there");
    // SEQUENCE { cookie OCTET STRING }, and the default of refreshDeletes.
    assert_eq!((value[2], usize::from(value[3])), (4, value.len() - 4));
}

/// "the successful completion of content refresh is indicated by sending a Sync Info Message of refreshDelete or refreshPresent with a refreshDone
/// value set to TRUE instead of a SearchResultDone Message".
#[test]
fn rfc4533_s3_4_1_the_end_of_the_refresh() {
    let (_, mut reader) = rooted();
    let mut cookie = Vec::new();
    for _ in 0..2 {
        let all = messages(&mut reader, &of(PEOPLE, ALL, true), &cookie, &[]);
        let replies: Vec<Reply<'_>> = all.iter().map(|message| Reply::decode(message).unwrap()).collect();
        assert!(replies.iter().all(|reply| !matches!(reply.response, Response::Done(..))));
        let Response::Intermediate(info) = &replies.last().expect("there is one").response else {
            panic!("{replies:?}")
        };
        assert_eq!(info.oid, Some(sync::INFO_OID));
        let value = info.value.expect("it has a value");
        // [1] or [2] { cookie }, and the default of refreshDone.
        assert!(matches!(value[0], 0xa1 | 0xa2) && value[2] == 4, "{value:x?}");
        let begin = if value[1] < 0x80 { 4 } else { panic!("{value:x?}") };
        assert_eq!(usize::from(value[3]), value.len() - begin);
        cookie = value[begin..].to_vec();
    }
}

/// "the server MUST treat all filter components matching against these attributes as Undefined and MUST NOT return these attributes in
/// SearchResultEntry responses."
#[test]
fn rfc4533_s3_2_what_is_not_synchronised() {
    const NAMES: [&str; 5] =
        ["entryDN", "subschemaSubentry", "hasSubordinates", "numSubordinates", "contextCSN"];
    let (mut writer, mut reader) = rooted();
    let count = |reader: &mut Client, filter: &str| {
        messages(reader, &of("dc=example", filter, false), b"", &["1.1"]).len() - 1
    };
    assert_eq!(count(&mut reader, ALL), 5);
    for name in NAMES {
        for filter in [format!("({name}=*)"), format!("(!({name}=*))"), format!("(!({name}=0))")] {
            assert_eq!(count(&mut reader, &filter), 0, "{filter}");
        }
        assert!(
            name == "contextCSN" || writer.read(PEOPLE, &[name]).values(name).is_some(),
            "{name} is there"
        );
    }
    let selection: Vec<&str> = ["*", "+"].into_iter().chain(NAMES).collect();
    let all = messages(&mut reader, &of("dc=example", ALL, false), b"", &selection);
    assert_eq!(all.len(), 6);
    for message in &all[..5] {
        let Response::SearchEntry(entry) = Reply::decode(message).unwrap().response else { panic!() };
        let names: Vec<&[u8]> = entry.attributes.iter().map(|attribute| attribute.description).collect();
        assert!(names.contains(&&b"entryCSN"[..]));
        assert!(!names.iter().any(|name| NAMES.iter().any(|no| no.as_bytes().eq_ignore_ascii_case(name))));
    }
}

/// "in a manner that changes the entry the baseObject refers to, the server SHALL return an appropriate non-success result code".
#[test]
fn rfc4533_s3_5_1_the_alias_of_the_base_is_changed() {
    for is_deleted in [false, true] {
        let (mut writer, mut reader) = rooted();
        let alias = "ou=alias,dc=example";
        let points = |to: &'static str| {
            [
                ("objectClass", &["alias", "extensibleObject"][..]),
                (
                    "aliasedObjectName",
                    match to {
                        "people" => &[PEOPLE][..],
                        _ => &["ou=groups,dc=example"],
                    },
                ),
            ]
        };
        writer.must_add(alias, &points("people"));
        let value = SyncRequest { persists: true, cookie: None, reload_hint: false }.encode();
        let filter = proto::filter_string::parse(ALL.as_bytes()).unwrap();
        let mut search = search_for(alias, Scope::Subtree, filter.filter(), &[]);
        search.deref_aliases = DerefAliases::FindingBase;
        let (id, bytes) = reader.encode(&Request::Search(search), &[control(sync::OID, &value, true)]);
        let (mut out, mut consumer) = (Vec::new(), Consumer::default());
        reader.session.feed(&mut reader.worker, &bytes, &mut out);
        consumer.take(&out, id);
        reader.follow(id, &mut consumer);
        assert_eq!((consumer.code(), consumer.content.len()), (None, 3));
        let end = match is_deleted {
            true => writer.delete(alias),
            false => {
                writer.modify(alias, &[(ModifyKind::Replace, "aliasedObjectName", &["ou=groups,dc=example"])])
            }
        };
        assert_eq!(end.code, Success, "{}", end.text);
        reader.follow(id, &mut consumer);
        assert_eq!(consumer.code(), Some(SyncRefreshRequired));
    }
}

/// "The server MUST ensure that the number of entry messages generated to refresh the client content does not exceed the number of entries
/// presently in the content."
#[test]
fn rfc4533_s3_9_no_more_messages_than_entries() {
    let (mut writer, mut reader) = rooted();
    for n in 0..30 {
        person(&mut writer, &n.to_string(), "1");
    }
    let asked = of(PEOPLE, "(objectClass=person)", false);
    let mut consumer = Consumer::default();
    reader.begin_sync(&asked, &mut consumer);
    for n in 0..25 {
        let dn = format!("cn={n},{PEOPLE}");
        match n % 3 {
            0 => _ = writer.delete(&dn),
            1 => _ = writer.modify(&dn, &[(ModifyKind::Replace, "description", &["2"])]),
            _ => _ = writer.modify(&dn, &[(ModifyKind::Replace, "objectClass", &["person"])]),
        }
    }
    let now = writer.search(PEOPLE, Scope::Subtree, asked.filter, &["1.1"]).entries.len();
    for cookie in [&b""[..], &consumer.cookie] {
        let all = messages(&mut reader, &asked, cookie, &[]);
        let entries = all
            .iter()
            .filter(|message| matches!(Reply::decode(message).unwrap().response, Response::SearchEntry(..)));
        assert!(entries.count() <= now);
    }
}
