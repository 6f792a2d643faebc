//! Queue length control: when a session lets its answers be kept back. `docs/queue-length.md`.

use crate::common::{Client, answers, bind, codes, config, is_published, search_for, selection};
use model::{ResultCode, Scope};
use proto::Request;
use proto::control::{Control, queue_length};
use proto::op::Extended;

fn value(length: u32) -> Vec<u8> {
    let mut value = Vec::new();
    queue_length::encode(length, &mut value);
    value
}

fn control(value: &[u8]) -> Control<'_> {
    Control { oid: queue_length::OID, critical: false, value: Some(value) }
}

/// A search for one entry, in bytes.
fn read(client: &mut Client, controls: &[Control<'_>]) -> Vec<u8> {
    let (filter, selection) = (proto::filter_string::parse(b"(objectClass=*)").unwrap(), selection(&["1.1"]));
    let search = search_for("dc=example", Scope::Base, filter.filter(), &selection);
    client.encode(&Request::Search(search), controls).1
}

fn reads(client: &mut Client, count: usize) -> Vec<u8> {
    (0..count).flat_map(|_| read(client, &[])).collect()
}

/// Sends bytes: how many operations were answered, and whether the answers may be kept back.
fn send(client: &mut Client, bytes: &[u8]) -> (usize, bool) {
    let (all, _) = client.raw(bytes);
    let ends = all.iter().filter(|answer| matches!(answer.what, crate::common::What::End(_))).count();
    (ends, client.session.holds())
}

/// A client that waits for so many answers.
fn queued(length: u32) -> Client {
    let mut client = Client::new();
    let first = read(&mut client, &[control(&value(length))]);
    assert_eq!(send(&mut client, &first), (1, length > 1));
    client.session.end_run();
    client
}

#[test]
fn it_is_published() {
    assert!(is_published("supportedControl", queue_length::OID));
}

#[test]
fn answers_are_kept_until_the_queue_is_full() {
    let mut client = queued(10);
    for (count, holds) in [(7, true), (3, false), (9, true), (0, true), (1, false), (32, false), (8, false)] {
        let bytes = reads(&mut client, count);
        assert_eq!(send(&mut client, &bytes), (count, holds), "{count} more");
    }
}

#[test]
fn without_it_and_with_1_nothing_is_kept() {
    let mut client = Client::new();
    let bytes = reads(&mut client, 3);
    assert_eq!(send(&mut client, &bytes), (3, false));
    let mut client = queued(10);
    let bytes = read(&mut client, &[control(&value(1))]);
    assert_eq!(send(&mut client, &bytes), (1, false));
    let bytes = reads(&mut client, 3);
    assert_eq!(send(&mut client, &bytes), (3, false));
}

#[test]
fn a_search_counts_once_however_many_entries_it_has() {
    let mut client = queued(2);
    let (filter, selection) = (proto::filter_string::parse(b"(objectClass=*)").unwrap(), selection(&["1.1"]));
    let all = search_for("dc=example", Scope::Subtree, filter.filter(), &selection);
    let (_, bytes) = client.encode(&Request::Search(all), &[]);
    assert_eq!(send(&mut client, &bytes), (1, true));
    assert_eq!(send(&mut client, &bytes), (1, false));
}

#[test]
fn updates_count_too() {
    let mut client = queued(2);
    let (_, bytes) = client.encode(&Request::Delete(b"uid=ada,ou=people,dc=example"), &[]);
    assert_eq!(send(&mut client, &bytes), (1, true));
    let (_, bytes) = client.encode(&Request::Delete(b"uid=grace,ou=people,dc=example"), &[]);
    assert_eq!(send(&mut client, &bytes), (1, false));
}

#[test]
fn an_error_goes_out_at_once() {
    let mut client = queued(10);
    let (_, bytes) = client.encode(&Request::Delete(b"uid=nobody,dc=example"), &[]);
    let before = reads(&mut client, 3);
    assert_eq!(send(&mut client, &[before, bytes].concat()), (4, false));
    let bytes = reads(&mut client, 9);
    assert_eq!(send(&mut client, &bytes), (9, true), "a new run begins behind it");
}

#[test]
fn abandon_and_end_of_a_transaction_release_answers() {
    let end = Request::Extended(Extended { oid: proto::ext::end_transaction::OID, value: None });
    for request in [Request::Abandon(1), end] {
        let mut client = queued(10);
        let before = reads(&mut client, 3);
        assert_eq!(send(&mut client, &before), (3, true));
        let (_, bytes) = client.encode(&request, &[]);
        let after = read(&mut client, &[]);
        assert!(!send(&mut client, &[bytes, after].concat()).1, "{request:?}");
    }
}

#[test]
fn bind_and_unbind_end_it() {
    let mut client = queued(10);
    let (_, bytes) = client.encode(&bind(crate::common::ROOT_DN, crate::common::PASSWORD), &[]);
    assert_eq!(send(&mut client, &bytes), (1, false));
    let bytes = reads(&mut client, 3);
    assert_eq!(send(&mut client, &bytes), (3, false));
    // The bind itself may say it again.
    let value = value(3);
    let (_, bytes) =
        client.encode(&bind(crate::common::ROOT_DN, crate::common::PASSWORD), &[control(&value)]);
    assert_eq!(send(&mut client, &bytes), (1, true));
    let (_, bytes) = client.encode(&Request::Unbind, &[]);
    assert_eq!(send(&mut client, &bytes), (0, false));
}

#[test]
fn a_notice_of_disconnection_is_not_kept() {
    let mut client = queued(10);
    let before = reads(&mut client, 2);
    let (all, _) = client.raw(&[&before[..], b"\x30\x05garbage"].concat());
    assert_eq!(all.last().map(|answer| answer.id), Some(0));
    assert!(!client.session.holds());
}

#[test]
fn it_may_be_critical_and_its_value_must_be_a_length() {
    let mut client = Client::new();
    let value = value(5);
    let bytes = read(&mut client, &[Control { critical: true, ..control(&value) }]);
    assert_eq!(send(&mut client, &bytes), (1, true));
    for value in [Some(&b"\x04\x01\x05"[..]), Some(b"\x02\x01\xff"), Some(b""), None] {
        let mut client = Client::new();
        let control = Control { oid: queue_length::OID, critical: false, value };
        let (bytes, _) = (read(&mut client, &[control]), ());
        let (bytes, _) = client.exchange(&bytes);
        assert_eq!(codes(&answers(&bytes)), [ResultCode::ProtocolError], "{value:?}");
        assert!(!client.session.holds());
    }
}

#[test]
fn it_may_have_another_name() {
    let mut client = Client::with(dsa::Config { queue_length_oid: Some(b"1.2.3.4".to_vec()), ..config() });
    let listed = client.read("", &["supportedControl"]).values("supportedControl").unwrap();
    assert!(listed.iter().any(|oid| oid == "1.2.3.4"));
    let value = value(5);
    let other = Control { oid: b"1.2.3.4", critical: false, value: Some(&value) };
    let bytes = read(&mut client, &[other]);
    assert_eq!(send(&mut client, &bytes), (1, true));
    // Critical it is refused, and changes nothing.
    let mut client = Client::with(dsa::Config { queue_length_oid: Some(b"1.2.3.4".to_vec()), ..config() });
    let bytes = read(&mut client, &[Control { critical: true, ..other }]);
    let (answered, _) = client.exchange(&bytes);
    assert_eq!(codes(&answers(&answered)), [ResultCode::UnavailableCriticalExtension]);
    let bytes = reads(&mut client, 2);
    assert_eq!(send(&mut client, &bytes), (2, false));
}
