//! Records in a file: each has a head with its length and its checksum. What is damaged, or was cut by a crash, is found and passed over.
//!
//! | octets | what |
//! |---|---|
//! | 2 | `PL` |
//! | 2 | length of the record, little-endian |
//! | 4 | CRC-32C of the record, little-endian |
//! | length | the record ([`crate::record`]) |

use crate::record::{Record, Stamp};

const MARK: [u8; 2] = *b"PL";
const HEAD_BYTES: usize = 8;

/// Appends a record with its head.
pub(crate) fn put(stamp: Stamp, record: &Record<'_>, out: &mut Vec<u8>) {
    let head = out.len();
    out.extend_from_slice(&[0; HEAD_BYTES]);
    record.append(stamp, out);
    let (_, written) = out.split_at_mut(head);
    let (head, record) = written.split_at_mut(HEAD_BYTES);
    let len = u16::try_from(record.len()).expect("its texts have bounds that are far below");
    head[..2].copy_from_slice(&MARK);
    head[2..4].copy_from_slice(&len.to_le_bytes());
    head[4..].copy_from_slice(&crc32c::crc32c(record).to_le_bytes());
}

/// What there is at the beginning of some bytes.
enum Found {
    /// A record of so many octets.
    Record(usize),
    /// Perhaps one; more octets will tell.
    Incomplete,
    /// None.
    Nothing,
}

fn look(bytes: &[u8]) -> Found {
    let known = bytes.len().min(MARK.len());
    if bytes[..known] != MARK[..known] {
        return Found::Nothing;
    }
    let Some((head, rest)) = bytes.split_first_chunk::<HEAD_BYTES>() else { return Found::Incomplete };
    let len = usize::from(u16::from_le_bytes([head[2], head[3]]));
    let Some(record) = rest.get(..len) else { return Found::Incomplete };
    let is_good = crc32c::crc32c(record).to_le_bytes() == head[4..];
    if is_good && Record::decode(record).is_some() { Found::Record(len) } else { Found::Nothing }
}

/// What a file of records has at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A record.
    Record(Stamp, Record<'a>),
    /// Octets that are none, from one offset up to another.
    Damage(u64, u64),
}

/// Cuts records out of bytes, however these come.
#[derive(Debug, Default)]
pub struct Reader {
    held: Vec<u8>,
    /// Octets of `held` that are done with.
    done: usize,
    /// Offset of the first octet that is not done with.
    offset: u64,
    /// Where damage began that was not reported.
    damaged: Option<u64>,
    is_ended: bool,
}

impl Reader {
    /// More bytes have come.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.held.drain(..std::mem::take(&mut self.done));
        self.held.extend_from_slice(bytes);
    }

    /// No more come.
    pub fn end(&mut self) {
        self.is_ended = true;
    }

    /// Octets that have come and are done with.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// What comes next. `None` if more bytes are needed; after the end, if there is no more.
    pub fn piece(&mut self) -> Option<Piece<'_>> {
        loop {
            match look(&self.held[self.done..]) {
                Found::Record(len) => {
                    if let Some(from) = self.damaged.take() {
                        return Some(Piece::Damage(from, self.offset));
                    }
                    let begin = self.done + HEAD_BYTES;
                    self.pass(HEAD_BYTES + len);
                    let (stamp, record) = Record::decode(&self.held[begin..begin + len])?;
                    return Some(Piece::Record(stamp, record));
                }
                Found::Incomplete if !self.is_ended => return None,
                _ if self.done == self.held.len() => {
                    let from = self.damaged.take()?;
                    return Some(Piece::Damage(from, self.offset));
                }
                _ => {
                    self.damaged.get_or_insert(self.offset);
                    self.pass(1);
                }
            }
        }
    }

    fn pass(&mut self, len: usize) {
        self.done += len;
        self.offset += len as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn records(count: u64) -> (Vec<u8>, Vec<usize>) {
        let (mut file, mut ends) = (Vec::new(), vec![0]);
        for n in 1..=count {
            let stamp = Stamp { connection: n, wall_ms: n, monotonic_ns: n };
            put(stamp, &Record::Bound { id: n as i32, dn: b"cn=PL,dc=x" }, &mut file);
            ends.push(file.len());
        }
        (file, ends)
    }

    /// Numbers of the connections, and damage.
    fn read(file: &[u8], cut: usize) -> (Vec<u64>, Vec<(u64, u64)>) {
        let (mut reader, mut numbers, mut damage) = (Reader::default(), Vec::new(), Vec::new());
        let (first, second) = file.split_at(cut.min(file.len()));
        for part in [Some(first), Some(second), None] {
            match part {
                Some(part) => reader.feed(part),
                None => reader.end(),
            }
            while let Some(piece) = reader.piece() {
                match piece {
                    Piece::Record(stamp, _) => numbers.push(stamp.connection),
                    Piece::Damage(from, to) => damage.push((from, to)),
                }
            }
        }
        assert_eq!(reader.offset(), file.len() as u64);
        (numbers, damage)
    }

    proptest! {
        /// One octet that is changed takes one record with it.
        #[test]
        fn damage_costs_what_it_hits(at in 0usize..1000, change in 1u8.., cut: usize) {
            let (mut file, ends) = records(5);
            let at = at % file.len();
            file[at] ^= change;
            let hit = ends.iter().rposition(|end| *end <= at).unwrap();
            let left: Vec<_> = (1..=5).filter(|number| *number != hit as u64 + 1).collect();
            let (numbers, damage) = read(&file, cut % (file.len() + 1));
            prop_assert_eq!(numbers, left);
            prop_assert_eq!(damage, [(ends[hit] as u64, ends[hit + 1] as u64)]);
        }

        /// A file that is cut has all that is before the cut.
        #[test]
        fn a_cut_file_has_what_is_before(len in 0usize..1000, cut: usize) {
            let (mut file, ends) = records(5);
            file.truncate(len % (file.len() + 1));
            let whole = ends.iter().rposition(|end| *end <= file.len()).unwrap();
            let (numbers, damage) = read(&file, cut % (file.len() + 1));
            prop_assert_eq!(numbers, (1..=whole as u64).collect::<Vec<_>>());
            let cut = (ends[whole] as u64, file.len() as u64);
            prop_assert_eq!(damage, Some(cut).filter(|(from, to)| from < to).into_iter().collect::<Vec<_>>());
        }
    }
}
