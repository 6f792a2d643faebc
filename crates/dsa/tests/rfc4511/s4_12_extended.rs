//! Section 4.12: extended operation.

use crate::common::*;
use model::ResultCode::*;
use proto::op::Extended;
use proto::{Request, ext, tag};

/// requestValue has arbitrary contents, zero bytes included; a name that is not known is a protocolError.
#[test]
fn s4_12_any_request_value() {
    let mut client = Client::new();
    for value in [&b""[..], b"\0", b"\0\xff\x30\x80", &[0; 1000]] {
        for oid in [&b"1.2.3"[..], ext::who_am_i::OID, b"", b"\xff", b"nonsense"] {
            let end = client.end(&Request::Extended(Extended { oid, value: Some(value) }));
            assert_eq!((end.code, end.tag), (ProtocolError, tag::EXTENDED_RESPONSE), "{oid:?}");
        }
    }
    assert_eq!(client.who_am_i(), format!("dn:{ROOT_DN}"));
}

/// What is offered is what the root DSE lists.
#[test]
fn s4_12_what_the_root_dse_lists() {
    let mut client = Client::new();
    client.bind(ADA, "lace");
    let listed =
        client.read("", &["supportedExtension"]).values("supportedExtension").expect("there are some");
    for oid in listed {
        // The end of a transaction says which one, a cancel which operation, and a refresh which entry.
        let cancel = ext::cancel::encode(1);
        let (value, code) = match oid.as_bytes() {
            ext::end_transaction::OID | ext::refresh::OID => continue,
            ext::cancel::OID => (Some(&cancel[..]), NoSuchOperation),
            _ => (None, Success),
        };
        let end = client.end(&Request::Extended(Extended { oid: oid.as_bytes(), value }));
        assert_eq!(end.code, code, "{oid}");
    }
}
