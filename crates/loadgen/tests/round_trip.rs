//! What the generator writes is what the general codec reads, and both forms say the same.

use loadgen::generate::{self, Format, Job};
use loadgen::order::{Order, Part};
use loadgen::template::{Options, Template, built_in};
use proto::ldif::{Body, Parser, Value};
use proto::{Frame, Message, Request};
use std::io;

/// DN, then attributes with their values, both sorted.
type Plain = (Vec<u8>, Vec<(Vec<u8>, Vec<u8>)>);

fn plain(dn: &[u8], values: impl Iterator<Item = (Vec<u8>, Vec<u8>)>) -> Plain {
    let mut values: Vec<_> = values.collect();
    values.sort();
    (dn.to_vec(), values)
}

fn made(template: &Template, format: Format, groups: (u64, u64)) -> Vec<u8> {
    let job = Job {
        template,
        seed: 3,
        order: Order::Random,
        format,
        part: Part::WHOLE,
        branches: true,
        groups: groups.0,
        members: groups.1,
        suffix: b"dc=x",
    };
    let mut out = Vec::new();
    generate::run(&job, &mut out).expect("it fits in memory");
    out
}

fn from_ber(bytes: &[u8]) -> Vec<Plain> {
    let mut entries: Vec<Plain> = Vec::new();
    let mut rest = bytes;
    let mut last_id = 0;
    while !rest.is_empty() {
        let Ok(Frame::Complete { len }) = proto::frame(rest) else { panic!("a whole message") };
        let message = Message::decode(&rest[..len]).expect("a message");
        assert_eq!(message.id, last_id + 1);
        last_id = message.id;
        match message.request {
            Request::Add(add) => {
                let values = add.attributes.iter().flat_map(|attribute| {
                    attribute.values.iter().map(move |v| (attribute.description.to_vec(), v.to_vec()))
                });
                entries.push(plain(add.dn, values));
            }
            Request::Modify(modify) => {
                let last = entries.last_mut().expect("an entry before its modification");
                assert_eq!(last.0, modify.dn);
                for change in modify.changes.iter() {
                    let name = change.modification.description.to_vec();
                    last.1.extend(change.modification.values.iter().map(|v| (name.clone(), v.to_vec())));
                }
                last.1.sort();
            }
            other => panic!("not made by the generator: {other:?}"),
        }
        rest = &rest[len..];
    }
    entries
}

fn from_ldif(bytes: &[u8]) -> Vec<Plain> {
    let (mut parser, mut at, mut entries) = (Parser::new(), 0, Vec::new());
    while let Some((record, consumed)) = parser.next_record(&bytes[at..]) {
        let record = record.expect("LDIF");
        at += consumed;
        let Body::Content(lines) = record.body else { panic!("a content record") };
        let values = lines.iter().map(|line| match line.value {
            Value::Bytes(value) => (line.description.to_vec(), value.to_vec()),
            Value::Url(_) => panic!("no URLs"),
        });
        entries.push(plain(record.dn, values));
    }
    entries
}

#[test]
fn both_forms_of_every_data_set_say_the_same() {
    for name in ["dvtds", "mvault", "slamd"] {
        let load = |_: &str| Err(io::ErrorKind::NotFound.into());
        let options = Options { defines: &[("count", "300"), ("suffix", "dc=x")], load: &load };
        let template =
            Template::parse(built_in(name).expect("it is built in"), &options).expect("a built-in template");
        let ber = from_ber(&made(&template, Format::Ber, (2, 7)));
        assert_eq!(ber.len() as u64, template.count() + 3);
        for wrap in [0, 40] {
            assert_eq!(from_ldif(&made(&template, Format::Ldif { wrap }, (2, 7))), ber);
        }
    }
}

#[test]
fn a_group_larger_than_a_message_continues_in_modifications() {
    let load = |_: &str| Err(io::ErrorKind::NotFound.into());
    let options = Options { defines: &[("count", "700000"), ("suffix", "dc=x")], load: &load };
    let text =
        "branch: [suffix]\nsubordinateTemplate: p:[count]\n\ntemplate: p\nrdnAttr: cn\ncn: <padded:20>\n";
    let template = Template::parse(text, &options).expect("a template");
    let bytes = made(&template, Format::Ber, (1, 700_000));
    let at = bytes.windows(10).position(|window| window == b"cn=group.0").expect("the group");
    let mut head = at;
    while bytes[head] != 0x30 || !matches!(proto::frame(&bytes[head..]), Ok(Frame::Complete { .. })) {
        head -= 1;
    }
    let (mut rest, mut members, mut messages) = (&bytes[head..], 0, 0);
    while !rest.is_empty() {
        let Ok(Frame::Complete { len }) = proto::frame(rest) else { panic!("a whole message") };
        match Message::decode(&rest[..len]).expect("a message").request {
            Request::Add(add) => members += add.attributes.iter().last().expect("member").values.len(),
            Request::Modify(modify) => {
                members +=
                    modify.changes.iter().map(|change| change.modification.values.len()).sum::<usize>();
            }
            other => panic!("not made by the generator: {other:?}"),
        }
        messages += 1;
        rest = &rest[len..];
    }
    assert_eq!((members, messages), (700_000, 2));
}
