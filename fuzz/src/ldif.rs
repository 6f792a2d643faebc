//! LDIF: the same records and errors come out however the bytes are cut, and lines that are written come back.

use proto::ldif::{Body, Lines, Record, Stream, StreamError, Value, write_attribute_folded};

/// The first byte is the size of pieces, the rest is the file.
pub fn check(data: &[u8]) {
    let Some((&size, file)) = data.split_first() else { return };
    let whole = read(file, file.len().max(1));
    assert_eq!(read(file, size as usize + 1), whole);
}

fn read(file: &[u8], size: usize) -> Vec<String> {
    let mut pieces = file.chunks(size);
    let mut stream = Stream::new(|buffer: &mut Vec<u8>| -> Result<usize, ()> {
        let piece = pieces.next().unwrap_or_default();
        buffer.extend_from_slice(piece);
        Ok(piece.len())
    });
    let mut out = Vec::new();
    loop {
        match stream.next_record() {
            Ok(Some(record)) => out.push(show(&record)),
            Ok(None) => return out,
            Err(StreamError::Ldif(error)) => out.push(error.to_string()),
            Err(StreamError::Source(())) => unreachable!("this source does not fail"),
        }
        assert!(out.len() <= file.len() + 1, "every step takes some bytes");
    }
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
    let mut parser = proto::ldif::Parser::new();
    let (record, _) = parser.next_record(&file, true).expect("written LDIF is read").expect("a record");
    let Body::Content(again) = record.body else { panic!("content was written") };
    assert_eq!(again.len(), expected.len());
    for (line, (description, value)) in again.iter().zip(expected) {
        assert_eq!((line.description, line.value), (description, Value::Bytes(value)));
    }
}
