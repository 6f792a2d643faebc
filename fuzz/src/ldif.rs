//! LDIF: the same records and errors come out wherever a file is cut behind a record, and lines that are written come back.

use proto::ldif::{Body, Lines, Parser, Record, Value, write_attribute_folded};

/// The first byte tells how many records are read before the file is cut, the rest is the file.
pub fn check(data: &[u8]) {
    let Some((&count, file)) = data.split_first() else { return };
    assert_eq!(read(file, count as usize + 1), read(file, usize::MAX));
}

/// Reads a file; a new parser goes on behind each `count` records and errors, once there was a record: before it, a version
/// line may still come.
fn read(file: &[u8], count: usize) -> Vec<String> {
    let (mut parser, mut at, mut out) = (Parser::new(), 0, Vec::new());
    let mut is_in_the_middle = false;
    while let Some((record, consumed)) = parser.next_record(&file[at..]) {
        is_in_the_middle |= record.is_ok();
        out.push(match record {
            Ok(record) => show(&record),
            Err(error) => error.to_string(),
        });
        assert!(out.len() <= file.len() + 1, "every step takes some bytes");
        at += consumed;
        if is_in_the_middle && out.len().is_multiple_of(count) {
            parser = Parser::in_the_middle(parser.line());
        }
    }
    out
}

fn show(record: &Record<'_>) -> String {
    match record.body {
        Body::Content(lines) | Body::Add(lines) => lines_come_back(lines),
        Body::Modify(modifications) => modifications.iter().for_each(|m| lines_come_back(m.values)),
        Body::Delete | Body::ModifyDn { .. } => {}
    }
    let controls: Vec<_> = record.controls.iter().collect();
    let body = match record.body {
        Body::Content(lines) | Body::Add(lines) => format!("{:?}", lines.iter().collect::<Vec<_>>()),
        Body::Delete => String::new(),
        Body::Modify(modifications) => modifications
            .iter()
            .map(|m| format!("{:?} {:?} {:?}", m.kind, m.description, m.values.iter().collect::<Vec<_>>()))
            .collect(),
        Body::ModifyDn { new_rdn, delete_old_rdn, new_superior } => {
            format!("{new_rdn:?} {delete_old_rdn} {new_superior:?}")
        }
    };
    format!("{} {:?} {controls:?} {body}", record.line, record.dn)
}

fn lines_come_back(lines: Lines<'_>) {
    let mut file = b"dn:\n".to_vec();
    let mut expected = Vec::new();
    for line in lines.iter() {
        // After `dn:` these would be read as keywords.
        let keyword =
            [&b"control"[..], b"changetype"].iter().any(|k| line.description.eq_ignore_ascii_case(k));
        if let (Value::Bytes(value), false) = (line.value, keyword || line.description.starts_with(b"#")) {
            write_attribute_folded(&mut file, line.description, value, 40);
            expected.push((line.description, value));
        }
    }
    let mut parser = Parser::new();
    let (record, _) = parser.next_record(&file).expect("a record");
    let record = record.expect("written LDIF is read");
    let Body::Content(again) = record.body else { panic!("content was written") };
    assert_eq!(again.len(), expected.len());
    for (line, (description, value)) in again.iter().zip(expected) {
        assert_eq!((line.description, line.value), (description, Value::Bytes(value)));
    }
}
