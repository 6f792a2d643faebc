//! Times decoding and LDIF reading: `cargo run --release -p pando-proto --example speed`.

use model::filter::{Assertion, Filter};
use model::{ResultCode, Scope};
use proto::op::{Changes, Modify, ModifyKind, Search};
use proto::{Message, Octets, Request, ldif, tag};
use std::hint::black_box;
use std::time::Instant;

fn time(name: &str, rounds: u32, mut run: impl FnMut()) {
    let best = (0..5)
        .map(|_| {
            let begin = Instant::now();
            (0..rounds).for_each(|_| run());
            begin.elapsed().as_nanos() as f64 / rounds as f64
        })
        .fold(f64::MAX, f64::min);
    println!("{name:<32} {best:9.1} ns");
}

fn search(filter: Filter<'_>, selection: Octets<'_>) -> Vec<u8> {
    let search =
        Search::unlimited(b"uid=user.1234567,ou=People,dc=example,dc=com", Scope::Base, filter, selection);
    let mut out = Vec::new();
    Request::Search(search).encode(&mut out, 70000, &[]);
    out
}

fn decode(name: &str, bytes: &[u8]) {
    time(name, 1_000_000, || {
        assert!(black_box(&Message::decode(black_box(bytes))).is_ok());
    });
}

fn main() {
    let none = proto::list::octet_list([&b"1.1"[..]]);
    let none = Octets::parse(&none).expect("a list");
    decode("search base, presence", &search(Filter::Present(b"objectClass"), none));
    let equality = Filter::Equality(Assertion { attribute: b"uid", value: b"user.1234567" });
    decode("search base, equality", &search(equality, Octets::EMPTY));
    let changes = [(ModifyKind::Replace, &b"description"[..], [&[b'x'; 50][..]])];
    let changes = proto::op::modify::change_list(changes);
    let changes = Changes::parse(&changes).expect("changes");
    let mut modify = Vec::new();
    let request = Request::Modify(Modify { dn: b"uid=user.1234567,ou=People,dc=example,dc=com", changes });
    request.encode(&mut modify, 70000, &[]);
    decode("modify", &modify);
    let mut out = Vec::with_capacity(100);
    time("search done", 1_000_000, || {
        out.clear();
        proto::result::encode_done(&mut out, black_box(70000), tag::SEARCH_DONE, ResultCode::Success);
        black_box(&out);
    });
    let mut file = Vec::new();
    for n in 0..20_000 {
        ldif::write_dn(&mut file, format!("uid=user.{n},ou=People,dc=example,dc=com").as_bytes());
        for class in ["top", "person", "organizationalPerson", "inetOrgPerson"] {
            ldif::write_attribute(&mut file, b"objectClass", class.as_bytes());
        }
        for attribute in ["givenName", "sn", "cn", "mail", "telephoneNumber", "street", "postalAddress"] {
            ldif::write_attribute(&mut file, attribute.as_bytes(), format!("value number {n}").as_bytes());
        }
        file.push(b'\n');
    }
    let begin = Instant::now();
    let (mut parser, mut at, mut bytes) = (ldif::Parser::new(), 0, 0);
    while let Some((record, consumed)) = parser.next_record(&file[at..]) {
        if let ldif::Body::Content(lines) = record.expect("LDIF").body {
            bytes += lines.iter().map(|line| line.description.len()).sum::<usize>();
        }
        at += consumed;
    }
    black_box(bytes);
    let rate = file.len() as f64 / begin.elapsed().as_secs_f64() / 1e6;
    println!("LDIF, short lines                {rate:9.0} MB/s");
}
