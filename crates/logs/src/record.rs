//! Records: what an IO thread tells of a connection, as bytes that another thread reads. The binary form of the access log has them in a file,
//! without secrets: docs/logs.md has them to the byte.

/// Octets of a name, a list or a text in a record; what is longer is cut.
pub const TEXT_BYTES_MAX: usize = 1 << 10;
/// Octets of a search that is kept whole, for its filter. Of a longer one only the base is kept.
pub const SEARCH_BYTES_MAX: usize = 4 << 10;

/// What a request has besides that is seldom there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extra<'a> {
    /// Microseconds that it was held back, because requests before it took long.
    pub wait_us: u32,
    /// Identifier of the transaction that it is a part of (RFC 5805).
    pub transaction: &'a [u8],
    /// Whose session it is, as its client tells: the value of the session tracking control.
    pub session: &'a [u8],
}

/// What is known of an operation besides its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Annotation<'a> {
    /// Entries that a search has looked at, if that is another number than that of those it has returned.
    pub looked: Option<u32>,
    /// A search lacked an index.
    pub is_unindexed: bool,
    /// Name of the access rule that refused it; empty if none did.
    pub rule: &'a [u8],
}

/// Stands for [`Annotation::looked`] where there is none.
const LOOKED_NONE: u32 = u32::MAX;

/// Whose record it is, and when it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Number of the connection, from 1 on.
    pub connection: u64,
    /// Unix time in milliseconds.
    pub wall_ms: u64,
    /// Nanoseconds of the clock of its thread.
    pub monotonic_ns: u64,
}

impl Stamp {
    /// The same, so many microseconds earlier.
    pub(crate) fn earlier(self, us: u32) -> Stamp {
        let us = u64::from(us);
        Stamp {
            wall_ms: self.wall_ms.saturating_sub(us / 1000),
            monotonic_ns: self.monotonic_ns.saturating_sub(us * 1000),
            ..self
        }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A connection was accepted.
    Open {
        /// Where its client is.
        peer: &'a [u8],
        /// Name of the listener, if it has one.
        listener: &'a [u8],
        /// The load balancer that it came by; empty if by none.
        via: &'a [u8],
    },
    /// It is secured by keys of so many bits.
    Secured {
        /// Those bits.
        strength: u16,
        /// `TLSv1.2` or `TLSv1.3`; empty if that is not known.
        version: &'a [u8],
        /// Name of the cipher suite, as IANA has it; empty if that is not known.
        suite: &'a [u8],
    },
    /// A request came.
    Request {
        /// Its place among the requests of the connection, from 1 on.
        number: u64,
        /// messageID; 0 of what is no regular message.
        id: i32,
        /// Tag of its operation; 0 of what is no regular message.
        op: u8,
        /// The entry that it is about; of a simple bind the name.
        target: &'a [u8],
        /// What more there is to log, by operation ([`crate::tap`]).
        detail: &'a [u8],
        /// OIDs of its controls, with spaces between them.
        controls: &'a [u8],
        /// As whom it asks to be applied, if it does (RFC 4370).
        acting: &'a [u8],
        /// What is seldom there.
        extra: Extra<'a>,
    },
    /// A bind has made the session somebody.
    Bound {
        /// messageID of the bind.
        id: i32,
        /// Who it is; empty for anonymous.
        dn: &'a [u8],
    },
    /// A request was answered.
    Answer {
        /// messageID of the request.
        id: i32,
        /// Result code.
        code: u16,
        /// diagnosticMessage.
        text: &'a [u8],
        /// Entries that were sent before.
        entries: u32,
        /// Octets of all that was sent.
        bytes: u64,
        /// What its octets do not say.
        annotation: Annotation<'a>,
    },
    /// The connection is over.
    Close {
        /// Requests that came on it.
        operations: u64,
    },
    /// A server was started, or a file begins. Its stamp has the time of the start. No thread that serves puts it.
    Begin {
        /// Number of the process.
        process: u32,
        /// Name of the machine.
        host: &'a [u8],
        /// Version of the server.
        version: &'a [u8],
    },
    /// So many operations of a connection have no record but this.
    Counted {
        /// Tag of their requests.
        op: u8,
        /// How many.
        count: u64,
    },
    /// So many records were lost.
    Lost {
        /// How many.
        count: u64,
    },
}

impl Record<'_> {
    /// Replaces what is in `out` by this record.
    pub fn encode(&self, stamp: Stamp, out: &mut Vec<u8>) {
        out.clear();
        self.append(stamp, out);
    }

    /// Appends this record.
    pub(crate) fn append(&self, stamp: Stamp, out: &mut Vec<u8>) {
        let kind = match self {
            Record::Open { via: b"", .. } => 0,
            Record::Secured { version: b"", suite: b"", .. } => 1,
            Record::Request { extra, .. } if *extra == Extra::default() => 2,
            Record::Bound { .. } => 3,
            Record::Answer { annotation, .. } if *annotation == Annotation::default() => 4,
            Record::Close { .. } => 5,
            Record::Begin { .. } => 6,
            Record::Counted { .. } => 7,
            Record::Lost { .. } => 8,
            Record::Open { .. } => 9,
            Record::Secured { .. } => 10,
            Record::Request { .. } => 11,
            Record::Answer { .. } => 12,
        };
        out.push(kind);
        [stamp.connection, stamp.wall_ms, stamp.monotonic_ns].iter().for_each(|n| put(out, &n.to_le_bytes()));
        match *self {
            Record::Open { peer, listener, via } => {
                [peer, listener].iter().for_each(|text| put_text(out, text));
                if kind == 9 {
                    put_text(out, via);
                }
            }
            Record::Secured { strength, version, suite } => {
                put(out, &strength.to_le_bytes());
                if kind == 10 {
                    [version, suite].iter().for_each(|text| put_text(out, text));
                }
            }
            Record::Request { number, id, op, target, detail, controls, acting, extra } => {
                put(out, &number.to_le_bytes());
                put(out, &id.to_le_bytes());
                out.push(op);
                [target, detail, controls, acting].iter().for_each(|text| put_text(out, text));
                if kind == 11 {
                    put(out, &extra.wait_us.to_le_bytes());
                    [extra.transaction, extra.session].iter().for_each(|text| put_text(out, text));
                }
            }
            Record::Bound { id, dn } => {
                put(out, &id.to_le_bytes());
                put_text(out, dn);
            }
            Record::Answer { id, code, text, entries, bytes, annotation } => {
                put(out, &id.to_le_bytes());
                put(out, &code.to_le_bytes());
                put_text(out, text);
                put(out, &entries.to_le_bytes());
                put(out, &bytes.to_le_bytes());
                if kind == 12 {
                    put(out, &annotation.looked.unwrap_or(LOOKED_NONE).to_le_bytes());
                    out.push(u8::from(annotation.is_unindexed));
                    put_text(out, annotation.rule);
                }
            }
            Record::Close { operations: count } | Record::Lost { count } => put(out, &count.to_le_bytes()),
            Record::Begin { process, host, version } => {
                put(out, &process.to_le_bytes());
                [host, version].iter().for_each(|text| put_text(out, text));
            }
            Record::Counted { op, count } => {
                out.push(op);
                put(out, &count.to_le_bytes());
            }
        }
    }

    /// Reads a record. `None` if it is none.
    pub fn decode(mut bytes: &[u8]) -> Option<(Stamp, Record<'_>)> {
        let from = &mut bytes;
        let [kind] = take::<1>(from)?;
        let mut number = || Some(u64::from_le_bytes(take(from)?));
        let stamp = Stamp { connection: number()?, wall_ms: number()?, monotonic_ns: number()? };
        let record = match kind {
            0 | 9 => Record::Open {
                peer: take_text(from)?,
                listener: take_text(from)?,
                via: if kind == 9 { take_text(from)? } else { b"" },
            },
            1 | 10 => {
                let strength = u16::from_le_bytes(take(from)?);
                let is_long = kind == 10;
                let mut text = || if is_long { take_text(from) } else { Some(&b""[..]) };
                Record::Secured { strength, version: text()?, suite: text()? }
            }
            2 | 11 => Record::Request {
                number: u64::from_le_bytes(take(from)?),
                id: i32::from_le_bytes(take(from)?),
                op: take::<1>(from)?[0],
                target: take_text(from)?,
                detail: take_text(from)?,
                controls: take_text(from)?,
                acting: take_text(from)?,
                extra: match kind {
                    11 => Extra {
                        wait_us: u32::from_le_bytes(take(from)?),
                        transaction: take_text(from)?,
                        session: take_text(from)?,
                    },
                    _ => Extra::default(),
                },
            },
            3 => Record::Bound { id: i32::from_le_bytes(take(from)?), dn: take_text(from)? },
            4 | 12 => Record::Answer {
                id: i32::from_le_bytes(take(from)?),
                code: u16::from_le_bytes(take(from)?),
                text: take_text(from)?,
                entries: u32::from_le_bytes(take(from)?),
                bytes: u64::from_le_bytes(take(from)?),
                annotation: if kind == 12 { take_annotation(from)? } else { Annotation::default() },
            },
            5 => Record::Close { operations: u64::from_le_bytes(take(from)?) },
            6 => Record::Begin {
                process: u32::from_le_bytes(take(from)?),
                host: take_text(from)?,
                version: take_text(from)?,
            },
            7 => Record::Counted { op: take::<1>(from)?[0], count: u64::from_le_bytes(take(from)?) },
            8 => Record::Lost { count: u64::from_le_bytes(take(from)?) },
            _ => return None,
        };
        from.is_empty().then_some((stamp, record))
    }
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    let text = &text[..text.len().min(SEARCH_BYTES_MAX)];
    put(out, &(text.len() as u16).to_le_bytes());
    put(out, text);
}

fn take<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, rest) = from.split_first_chunk::<N>()?;
    *from = rest;
    Some(*bytes)
}

fn take_text<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::from(u16::from_le_bytes(take(from)?));
    let (text, rest) = from.split_at_checked(len)?;
    *from = rest;
    Some(text)
}

fn take_annotation<'a>(from: &mut &'a [u8]) -> Option<Annotation<'a>> {
    let looked = u32::from_le_bytes(take(from)?);
    let [is_unindexed] = take(from)?;
    let rule = take_text(from)?;
    Some(Annotation {
        looked: (looked != LOOKED_NONE).then_some(looked),
        is_unindexed: is_unindexed != 0,
        rule,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_come_back(connection: u64, wall_ms: u64, id: i32, op: u8, code: u16, texts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 4)) {
            let [target, detail, controls, acting] = [0, 1, 2, 3].map(|at| &texts[at][..]);
            let stamp = Stamp { connection, wall_ms, monotonic_ns: 7 };
            let extra = Extra { wait_us: id.unsigned_abs(), transaction: acting, session: controls };
            let looked = (id != -1).then_some(id.unsigned_abs());
            let annotation = Annotation { looked, is_unindexed: op > 9, rule: detail };
            let mut out = Vec::new();
            for record in [
                Record::Open { peer: target, listener: detail, via: b"" },
                Record::Open { peer: target, listener: detail, via: acting },
                Record::Secured { strength: code, version: b"", suite: b"" },
                Record::Secured { strength: code, version: target, suite: detail },
                Record::Request { number: wall_ms, id, op, target, detail, controls, acting, extra: Extra::default() },
                Record::Request { number: wall_ms, id, op, target, detail, controls, acting, extra },
                Record::Bound { id, dn: target },
                Record::Answer { id, code, text: target, entries: 3, bytes: wall_ms, annotation: Annotation::default() },
                Record::Answer { id, code, text: target, entries: 3, bytes: wall_ms, annotation },
                Record::Close { operations: wall_ms },
                Record::Begin { process: id.unsigned_abs(), host: target, version: detail },
                Record::Counted { op, count: wall_ms },
                Record::Lost { count: wall_ms },
            ] {
                record.encode(stamp, &mut out);
                prop_assert_eq!(Record::decode(&out), Some((stamp, record)));
                prop_assert_eq!(Record::decode(&out[..out.len() - 1]), None);
            }
        }

        #[test]
        fn what_is_no_record_is_none(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = Record::decode(&bytes);
        }
    }
}
