//! LDAP messages: what decodes can be encoded and decoded again to the same, framing and decoding agree, and so
//! do other decoders.

use crate::oracle;
use proto::list::Attribute;
use proto::{Control, DecodeError, Frame, Kind, Message, Reply, Response, frame};

/// Reads the bytes as a request and as a response.
pub fn check(data: &[u8]) {
    let request = Message::decode(data);
    check_frame(data, request.is_ok());
    match &request {
        Ok(message) => {
            check_request(message);
            compare(data, message);
        }
        Err(error) => {
            check_error(data, error);
            check_refusal(data, error);
        }
    }
    if let Ok(reply) = Reply::decode(data) {
        check_frame(data, true);
        check_reply(&reply);
    }
}

fn check_frame(data: &[u8], decodes: bool) {
    match frame(data) {
        Ok(Frame::Complete { len }) => {
            assert!(len <= data.len());
            assert!(!decodes || len == data.len(), "a decoded message fills its frame");
            for cut in 0..len.min(16) {
                assert!(!matches!(frame(&data[..cut]), Ok(Frame::Complete { .. })));
            }
        }
        Ok(Frame::Incomplete { needed }) => assert!(needed > data.len() && !decodes),
        Err(error) => {
            assert!(!decodes);
            assert_eq!((error.kind, error.answerable()), (Kind::Structure, None));
        }
    }
}

fn check_error(data: &[u8], error: &DecodeError) {
    assert!(error.offset <= data.len());
    assert!(error.answerable().is_none_or(|(id, _)| id > 0), "only requests are answered");
}

fn check_request(message: &Message<'_>) {
    let controls: Vec<Control<'_>> = message.controls.iter().collect();
    let mut out = Vec::new();
    message.request.encode(&mut out, message.id, &controls);
    let again = Message::decode(&out).expect("an encoded request decodes");
    assert_eq!((again.id, again.controls.iter().collect()), (message.id, controls));
    // Compared as what the lists hold: their bytes may have come with longer lengths than ours.
    assert_eq!(oracle::ours(&again), oracle::ours(message));
}

fn check_reply(reply: &Reply<'_>) {
    let controls: Vec<Control<'_>> = reply.controls.iter().collect();
    let mut out = Vec::new();
    match reply.response {
        Response::Bind(bind) => bind.encode(&mut out, reply.id, &controls),
        Response::SearchEntry(entry) => {
            let walk = |a: Attribute<'_>| a.values.iter().map(<[u8]>::len).sum::<usize>();
            assert!(entry.attributes.iter().map(walk).sum::<usize>() <= entry.attributes.raw().len());
            entry.encode(&mut out, reply.id, &controls);
        }
        Response::SearchReference(uris) => {
            proto::op::search::encode_reference(&mut out, reply.id, uris.iter(), &controls);
        }
        Response::Done(tag, result) => {
            proto::result::encode_response(&mut out, reply.id, tag, &result, |_| {}, &controls);
        }
        Response::Extended(extended) => extended.encode(&mut out, reply.id, &controls),
        Response::Intermediate(intermediate) => {
            proto::message::encode(&mut out, reply.id, &controls, |out| intermediate.encode(out));
        }
    }
    let again = Reply::decode(&out).expect("an encoded response decodes");
    let code = |reply: &Reply<'_>| reply.result().map(|result| result.code);
    assert_eq!((again.id, code(&again)), (reply.id, code(reply)));
}

/// What we and another decoder accept means the same to both. ldap-parser ends a list without complaint at the
/// first element that it cannot read (a description that is not UTF-8, increment): its fields may be fewer.
fn compare(data: &[u8], message: &Message<'_>) {
    let ours = oracle::ours(message);
    if let Some(theirs) = oracle::rasn(data) {
        assert_eq!(theirs, ours, "rasn-ldap reads it otherwise");
    }
    if let Some(theirs) = oracle::ldap_parser(data) {
        assert_eq!((theirs.id, theirs.op), (ours.id, ours.op), "ldap-parser reads it otherwise");
        assert!(
            ours.fields.starts_with(&theirs.fields),
            "ldap-parser reads it otherwise: {theirs:?}, not {ours:?}"
        );
    }
}

/// A request that rasn-ldap reads and writes back as the very same bytes is refused for what it says, not for
/// how it is put. Bytes that are not what it would write are no measure: both oracles let through elements
/// whose tag has the constructed bit wrong, and BER that RFC 4511 section 5.1 excludes.
fn check_refusal(data: &[u8], error: &DecodeError) {
    if error.kind == Kind::Structure && error.message_id != Some(0) {
        assert!(!oracle::rasn_writes(data), "rasn-ldap writes what was refused: {error}");
    }
}
