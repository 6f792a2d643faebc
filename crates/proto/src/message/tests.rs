use super::*;
use crate::ber;
use crate::list::{Attributes, attribute_list, octet_list};
use crate::op::modify::change_list;
use crate::op::{Authentication, Changes, ModifyKind};
use crate::result::{encode_done, encode_result};
use model::filter::{Assertion, Extensible, Filter, Substrings};
use model::{DerefAliases, ResultCode, Scope};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let digit = |b: u8| (b as char).to_digit(16).unwrap() as u8;
    digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn base_search() -> Search<'static> {
    Search {
        base: b"dc=a",
        scope: Scope::Base,
        deref_aliases: DerefAliases::Never,
        size_limit: 0,
        time_limit_s: 0,
        types_only: false,
        filter: Filter::Present(b"objectClass"),
        selection: Octets::EMPTY,
    }
}

#[test]
fn golden_requests() {
    let bind = hex("3011 020101 600c 020103 0404636e3d61 800162");
    let Request::Bind(decoded) = Message::decode(&bind).unwrap().request else { panic!("a bind") };
    assert_eq!((decoded.version, decoded.name), (3, &b"cn=a"[..]));
    assert!(decoded.authentication == Authentication::Simple(b"b"));
    assert_eq!(Message::decode(&hex("3005 020103 4200")).unwrap().request, Request::Unbind);
    assert_eq!(Message::decode(&hex("3009 020104 4a04 636e3d61")).unwrap().request, Request::Delete(b"cn=a"));
    assert_eq!(Message::decode(&hex("3006 020105 500104")).unwrap().request, Request::Abandon(4));
}

#[test]
fn golden_search() {
    let search = hex("3029 020102 6324 0404 64633d61 0a0100 0a0100 020100 020100 010100
         870b 6f626a656374436c617373 3000");
    let message = Message::decode(&search).unwrap();
    assert_eq!(message.request, Request::Search(base_search()));
    let mut out = Vec::new();
    message.request.encode(&mut out, 2, &[]);
    assert_eq!(out, search);
}

/// RFC 4511 section 5.1: lengths may be longer than needed; OpenLDAP's own library sends four bytes.
#[test]
fn long_lengths_are_read() {
    let bytes = hex("3084 0000000a 02840000000101 8200");
    assert_eq!(frame(&bytes), Ok(Frame::Incomplete { needed: 16 }));
    let bytes = hex("3084 00000009 028400000001 01 4200");
    assert_eq!(frame(&bytes), Ok(Frame::Complete { len: 15 }));
    assert_eq!(Message::decode(&bytes).unwrap().request, Request::Unbind);
}

#[test]
fn frames() {
    assert_eq!(frame(&[]), Ok(Frame::Incomplete { needed: 2 }));
    assert_eq!(frame(&[0x30]), Ok(Frame::Incomplete { needed: 2 }));
    assert_eq!(frame(&[0x30, 0x82, 1]), Ok(Frame::Incomplete { needed: 4 }));
    assert_eq!(frame(&[0x30, 0x82, 1, 0]), Ok(Frame::Incomplete { needed: 260 }));
    assert_eq!(frame(&[0x30, 1, 0, 9]), Ok(Frame::Complete { len: 3 }));
    for bad in
        [&[0x31][..], b"GET /", &[0x30, 0x80], &[0x30, 0x85], &[0x30, 0xff], &[0x30, 0x84, 0x7f, 0, 0, 0]]
    {
        let error = frame(bad).unwrap_err();
        assert_eq!((error.kind, error.answerable()), (Kind::Structure, None));
    }
    let longest = (MESSAGE_BYTES_MAX - 6) as u32;
    let head = |len: u32| [&[0x30, 0x84][..], &len.to_be_bytes()].concat();
    assert_eq!(frame(&head(longest)), Ok(Frame::Incomplete { needed: MESSAGE_BYTES_MAX }));
    assert!(frame(&head(longest + 1)).is_err());
}

#[test]
fn errors_tell_how_to_react() {
    let kind = |text: &str| Message::decode(&hex(text)).unwrap_err();
    // Unknown protocolOp: RFC 4511 section 4.1.1 ends the session.
    let error = kind("3005 020101 5f00");
    assert_eq!((error.kind, error.message_id, error.op_tag), (Kind::Operation, Some(1), Some(0x5f)));
    assert_eq!(error.answerable(), None);
    // A response is no request.
    assert_eq!(kind("300c 020101 6107 0a0100 0400 0400").kind, Kind::Operation);
    // An unknown scope can be answered.
    let error = kind(
        "3029 020107 6324 0404 64633d61 0a0109 0a0100 020100 020100 010100
         870b 6f626a656374436c617373 3000",
    );
    assert_eq!((error.kind, error.answerable()), (Kind::Value, Some((7, Some(tag::SEARCH_DONE)))));
    // A DN that is not UTF-8.
    let error = kind("3006 020101 4a01ff");
    assert_eq!((error.kind, error.answerable()), (Kind::Value, Some((1, Some(tag::DELETE_RESPONSE)))));
    // No id, a bad id, id 0.
    for text in [
        "3000",
        "3003 040101",
        "3007 0202ffff 420000",
        "3005 0201ff 4200",
        "3005 020100 4200",
        "3006 020100 4a01ff",
    ] {
        assert_eq!(kind(text).answerable(), None, "{text}");
    }
    // Bytes after the message, and inside.
    assert_eq!(kind("3005 020101 4200 00").kind, Kind::Structure);
    assert_eq!(kind("3007 020101 4200 0400").kind, Kind::Structure);
    assert_eq!(kind("3006 020101 420100").kind, Kind::Structure);
}

/// RFC 4511 section 4: trailing components with unknown tags are ignored.
#[test]
fn extensions_are_ignored() {
    assert!(Message::decode(&hex("3008 020101 4200 850100")).is_ok());
    assert!(Message::decode(&hex("3010 020101 6e0b 0400 3004 0400 0400 850100")).is_ok());
}

#[test]
fn controls_are_read() {
    let mut out = Vec::new();
    let controls = [
        Control { oid: b"1.2", critical: true, value: Some(b"") },
        Control { oid: b"1.3", critical: false, value: None },
    ];
    Request::Unbind.encode(&mut out, 1, &controls);
    let message = Message::decode(&out).unwrap();
    assert_eq!(message.controls.iter().collect::<Vec<_>>(), controls);
    assert_eq!(message.controls.find(b"1.3"), Some(controls[1]));
    let mut out = Vec::new();
    Request::Delete(b"").encode(&mut out, 1, &[controls[0]; 33]);
    let error = Message::decode(&out).unwrap_err();
    assert_eq!((error.kind, error.answerable().is_some()), (Kind::Limit, true));
}

#[test]
fn passwords_are_not_shown() {
    let mut out = Vec::new();
    let bind = Bind { version: 3, name: b"cn=a", authentication: Authentication::Simple(b"secret") };
    Request::Bind(bind).encode(&mut out, 1, &[]);
    assert!(!format!("{:?}", Message::decode(&out)).contains(&format!("{:?}", b"secret")));
}

/// Owned parts from which any request can be made.
#[derive(Clone, Debug)]
struct Parts {
    dn: String,
    text: String,
    option: Option<Vec<u8>>,
    value: Vec<u8>,
    list: Vec<Vec<u8>>,
    attributes: Vec<(Vec<u8>, Vec<Vec<u8>>)>,
    number: i32,
    flag: bool,
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![9 => vec(any::<u8>(), 0..20), 1 => vec(any::<u8>(), 100..400)]
}

prop_compose! {
    fn parts()(dn in ".{0,20}", text in ".{0,20}", option in option::of(bytes()), value in bytes(),
        list in vec(bytes(), 0..4), attributes in vec((bytes(), vec(bytes(), 1..4)), 0..4),
        number in 0..=i32::MAX, flag: bool) -> Parts
    {
        Parts { dn, text, option, value, list, attributes, number, flag }
    }
}

fn some(value: &[u8]) -> Vec<u8> {
    [b"x", value].concat()
}

/// A filter made of a script of bytes: each byte is a choice, contents come from the parts.
fn filter<'a>(
    p: &'a Parts,
    part: &'a [u8],
    script: &mut std::slice::Iter<'_, u8>,
    depth: usize,
) -> Filter<'a> {
    let a = Assertion { attribute: p.text.as_bytes(), value: &p.value };
    let choice = script.next().copied().unwrap_or(0) % 10;
    let mut set = |n: usize| (0..n).map(|_| filter(p, part, script, depth + 1)).collect();
    match choice {
        0 => Filter::Present(a.attribute),
        1 => Filter::Equality(a),
        2 => Filter::GreaterOrEqual(a),
        3 => Filter::LessOrEqual(a),
        4 => Filter::Approx(a),
        5 if depth < 6 => Filter::And(set(p.list.len())),
        6 if depth < 6 => Filter::Or(set(2)),
        7 if depth < 6 => Filter::Not(Box::new(set(1).pop().unwrap())),
        8 => Filter::Substrings(Substrings {
            attribute: a.attribute,
            initial: p.flag.then_some(part),
            any: vec![part; p.list.len()],
            last: (!p.flag).then_some(part),
        }),
        _ => Filter::Extensible(Extensible {
            rule: Some(part),
            attribute: p.flag.then_some(a.attribute),
            value: a.value,
            dn_attributes: p.flag,
        }),
    }
}

fn request_comes_back(request: &Request<'_>, id: i32, control: Option<Control<'_>>) {
    let controls: Vec<Control<'_>> = control.into_iter().collect();
    let mut out = b"before".to_vec();
    request.encode(&mut out, id, &controls);
    let out = &out[6..];
    assert_eq!(frame(out), Ok(Frame::Complete { len: out.len() }));
    let message = Message::decode(out).unwrap();
    assert_eq!((&message.request, message.id), (request, id));
    assert_eq!(message.controls.iter().collect::<Vec<_>>(), controls);
    assert_eq!(message.request.tag(), request.tag());
    for cut in 0..out.len().min(60) {
        assert!(Message::decode(&out[..cut]).is_err());
        assert!(matches!(frame(&out[..cut]), Ok(Frame::Incomplete { needed }) if needed > cut));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_request_comes_back(p in parts(), script in vec(any::<u8>(), 0..40), id in 1..=i32::MAX, kind in 0..4) {
        let (dn, part) = (p.dn.as_bytes(), some(&p.value));
        let list = octet_list(p.list.iter().map(|v| &v[..]));
        let attributes = p.attributes.iter().map(|(d, v)| (&d[..], v.iter().map(|v| &v[..])));
        let attribute_bytes = attribute_list(attributes.clone());
        let kind = ModifyKind::from_number(kind).unwrap();
        let changes = change_list(attributes.map(|(d, v)| (kind, d, v)));
        let authentication = match kind {
            ModifyKind::Add => Authentication::Simple(&p.value),
            ModifyKind::Delete => Authentication::Unknown(0x8f),
            _ => Authentication::Sasl { mechanism: p.text.as_bytes(), credentials: p.option.as_deref() },
        };
        let search = Search {
            base: dn,
            scope: Scope::from_number(kind as u8).unwrap(),
            deref_aliases: DerefAliases::from_number(kind as u8).unwrap(),
            size_limit: p.number,
            time_limit_s: id,
            types_only: p.flag,
            filter: filter(&p, &part, &mut script.iter(), 0),
            selection: Octets::parse(&list).unwrap(),
        };
        let assertion = Assertion { attribute: p.text.as_bytes(), value: &p.value };
        let new_superior = p.option.is_some().then_some(dn);
        let requests = [
            Request::Bind(Bind { version: 3, name: dn, authentication }),
            Request::Unbind,
            Request::Search(search),
            Request::Modify(Modify { dn, changes: Changes::parse(&changes).unwrap() }),
            Request::Add(Add { dn, attributes: Attributes::parse(&attribute_bytes).unwrap() }),
            Request::Delete(dn),
            Request::ModifyDn(ModifyDn { dn, new_rdn: dn, delete_old_rdn: p.flag, new_superior }),
            Request::Compare(Compare { dn, assertion }),
            Request::Abandon(p.number),
            Request::Extended(Extended { oid: &p.value, value: p.option.as_deref() }),
        ];
        let control = p.flag.then_some(Control { oid: dn, critical: p.flag, value: p.option.as_deref() });
        requests.iter().for_each(|request| request_comes_back(request, id, control));
    }

    #[test]
    fn every_response_comes_back(p in parts(), id in 0..=i32::MAX, code in 0..200u32) {
        let list = octet_list(p.list.iter().map(|v| &v[..]));
        let attributes = attribute_list(p.attributes.iter().map(|(d, v)| (&d[..], v.iter().map(|v| &v[..]))));
        let shown = crate::diagnostic::printable(p.text.as_bytes());
        let result = LdapResult {
            code,
            matched_dn: p.dn.as_bytes(),
            diagnostic: &shown,
            referral: Octets::parse(&list).unwrap(),
        };
        let value = p.option.as_deref();
        let control = [Control { oid: b"1.2", critical: false, value }];
        let controls = &control[..p.flag as usize];
        let bind = BindResponse { result, server_sasl_credentials: value };
        let entry = SearchEntry { dn: p.dn.as_bytes(), attributes: Attributes::parse(&attributes).unwrap() };
        let extended = ExtendedResponse { result, oid: value, value: Some(&p.value) };
        let intermediate = Intermediate { oid: value, value: Some(&p.value) };
        let uris = || p.list.iter().map(|v| &v[..]);
        let check = |expected: Response<'_>, write: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            write(&mut out);
            let reply = Reply::decode(&out).unwrap();
            assert_eq!((reply.response, reply.id), (expected, id));
            assert_eq!(reply.controls.iter().collect::<Vec<_>>(), controls);
        };
        check(Response::Bind(bind), &|out| bind.encode(out, id, controls));
        check(Response::SearchEntry(entry), &|out| entry.encode(out, id, controls));
        check(Response::SearchReference(result.referral), &|out| {
            crate::op::search::encode_reference(out, id, uris(), controls)
        });
        check(Response::Extended(extended), &|out| extended.encode(out, id, controls));
        check(Response::Intermediate(intermediate), &|out| encode(out, id, controls, |out| intermediate.encode(out)));
        let plain = LdapResult { referral: Octets::EMPTY, ..result };
        if let Some(known) = result.result_code() {
            check(Response::Done(tag::ADD_RESPONSE, plain), &|out| {
                encode_result(out, id, tag::ADD_RESPONSE, known, p.dn.as_bytes(), &p.text, controls)
            });
        }
        if !p.flag {
            let success = Response::Done(tag::SEARCH_DONE, LdapResult::new(ResultCode::Success));
            check(success, &|out| encode_done(out, id, tag::SEARCH_DONE, ResultCode::Success));
        }
    }

    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..80), op in any::<u8>()) {
        let _ = (frame(&bytes), Message::decode(&bytes), Reply::decode(&bytes));
        // Deeper: a sound envelope around garbage.
        let mut out = Vec::new();
        encode(&mut out, 1, &[], |out| ber::put_tlv(out, op, &bytes));
        let _ = (Message::decode(&out), Reply::decode(&out));
    }

    #[test]
    fn changed_bytes_do_not_panic(p in parts(), script in vec(any::<u8>(), 0..20), at: prop::sample::Index, to: u8) {
        let part = some(&p.value);
        let search = Search { filter: filter(&p, &part, &mut script.iter(), 0), ..base_search() };
        let mut out = Vec::new();
        Request::Search(search).encode(&mut out, 5, &[]);
        let at = at.index(out.len());
        out[at] = to;
        if let Ok(message) = Message::decode(&out) {
            let mut again = Vec::new();
            message.request.encode(&mut again, message.id, &[]);
            prop_assert!(Message::decode(&again).is_ok());
        }
    }
}
