//! A file in the binary form of the access log: whatever it has, each octet is in a record or reported, however it is cut, and lines are whole.

use logs::Origin;
use logs::form::Form;
use logs::frame::{Piece, Reader};
use logs::journal::{Access, Journal};

/// Reads the bytes as a file, and as one record whose checksum is right.
pub fn check(data: &[u8]) {
    check_file(data);
    let record = &data[..data.len().min(usize::from(u16::MAX))];
    let mut file = b"PL".to_vec();
    file.extend_from_slice(&(record.len() as u16).to_le_bytes());
    file.extend_from_slice(&crc32c::crc32c(record).to_le_bytes());
    file.extend_from_slice(record);
    check_file(&file);
}

/// Reads it whole, and in pieces.
fn check_file(data: &[u8]) {
    for form in [Form::Json, Form::Openldap, Form::Ds389] {
        let whole = read(data, form, data.len().max(1));
        assert_eq!(whole, read(data, form, 7), "it does not matter how it comes");
        let (text, damage) = whole;
        assert!(!text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')), "{text:?}");
        assert!(damage.iter().all(|(from, to)| from < to && *to <= data.len() as u64));
        assert!(damage.windows(2).all(|two| two[0].1 < two[1].0), "what touches is one");
    }
}

fn read(data: &[u8], form: Form, piece: usize) -> (String, Vec<(u64, u64)>) {
    let mut journal = Journal::new(Access::All, form, Origin::default());
    let (mut reader, mut lines, mut damage) = (Reader::default(), Vec::new(), Vec::new());
    for piece in data.chunks(piece).map(Some).chain([None]) {
        match piece {
            Some(piece) => reader.feed(piece),
            None => reader.end(),
        }
        while let Some(piece) = reader.piece() {
            match piece {
                Piece::Record(stamp, record) => journal.take(stamp, record, &mut lines),
                Piece::Damage(from, to) => damage.push((from, to)),
            }
        }
    }
    assert_eq!(reader.offset(), data.len() as u64);
    journal.finish_all(&mut lines);
    (String::from_utf8(lines).expect("lines are text"), damage)
}
