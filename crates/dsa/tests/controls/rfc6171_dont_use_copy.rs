//! RFC 6171: reads that are not answered with copies. Where a server may have nothing else is in `tests/barriers.rs`.

use crate::common::{Client, is_published};
use model::ResultCode::{CompareTrue, ProtocolError, Success, UnavailableCriticalExtension};
use model::Scope;
use proto::control::Control;
use proto::control::dont_use_copy::{OID, control};

const BASE: &str = "dc=example";

/// Section 2: it "may be attached to" search and compare, "the criticality MUST be TRUE", and "the controlValue is absent".
#[test]
fn rfc6171_s2_searches_and_compares_are_answered_from_the_original() {
    let mut client = Client::new();
    let search = |client: &mut Client, controls: &[Control<'_>]| {
        client.search_with(BASE, Scope::Base, "(dc=*)", &["1.1"], |_| {}, controls).end.code
    };
    let compare = |client: &mut Client, controls: &[Control<'_>]| {
        client.compare_with(BASE, "dc", "example", controls).end.code
    };
    assert_eq!(search(&mut client, &[control()]), Success);
    assert_eq!(compare(&mut client, &[control()]), CompareTrue);
    let not_critical = Control { critical: false, ..control() };
    let with_value = Control { value: Some(b""), ..control() };
    for wrong in [&[not_critical][..], &[with_value], &[control(), control()]] {
        assert_eq!(search(&mut client, wrong), ProtocolError, "{wrong:?}");
        assert_eq!(compare(&mut client, wrong), ProtocolError, "{wrong:?}");
    }
    assert_eq!(
        client.delete_with("ou=groups,dc=example", &[control()]).end.code,
        UnavailableCriticalExtension
    );
    assert!(is_published("supportedControl", OID));
}
