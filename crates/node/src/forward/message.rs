//! Messages of the channel for updates, to the byte: `docs/formats/peers.md`. All numbers are little-endian.

use crate::compare::{self, Said};
use crate::data::settings;
use crate::health::Report;
use dsa::account_times::{AccountTime, TIME_BYTES};
use dsa::audit::Origin;
use dsa::journal::{self, Forwarded, Replacement, What};
use env::net::{Credentials, PeerAddress};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Bytes that a message has at most: updates as long as a record of the log may be, and a head.
pub(super) const BYTES_MAX: usize = (20 << 20) + (64 << 10);
/// Times of accounts in a message.
pub(super) const TIMES_MAX: usize = 1024;
/// Bytes of a name: of who is recorded, or who asked.
const NAME_BYTES_MAX: usize = 16 << 10;

const VERSION: u8 = 3;
const HEAD_BYTES: usize = 8;
const UPDATES: u8 = 1;
const OUTCOME: u8 = 2;
const TIMES: u8 = 3;
const COMPARISON: u8 = 4;
/// What is said of an entry.
const ASKS: u8 = 0;
const ASKS_IN_DOUBT: u8 = 1;
const VALUE: u8 = 2;
const REBUILT: u8 = 3;
const WRONG: u8 = 4;
const ASKS_SLICE: u8 = 5;
const SLICE: u8 = 6;
const WRONG_SLICE: u8 = 7;
const FORGOTTEN: u8 = 8;
/// What updates are.
const EACH: u8 = 0;
const TRANSACTION: u8 = 1;
const SETTINGS: u8 = 2;
const SCHEMA: u8 = 3;

/// What is wrong with a message. It is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    /// It is too short or too long, or its lengths do not add up.
    Length,
    /// Its checksum is wrong.
    Checksum,
    /// It is of a version or a type that this program does not know.
    Type,
    /// No server says that.
    Content,
}

/// Which updates a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// The run of the server that took them from their client. Not 0.
    pub(super) run: u64,
    /// Their number there. Each try has another. Not 0.
    pub(super) number: u64,
    /// How often this try was sent before: its bytes are the same each time but for this.
    pub(super) again: u32,
}

/// What became of updates, as it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome<'a> {
    /// They are applied: the answers.
    Applied(&'a [u8]),
    /// They were refused, or nobody knows: the answers.
    Refused(&'a [u8]),
    /// The receiver does not lead in the term that they are for.
    NotLeader,
    /// They were not proposed, or what was proposed is lost.
    NotProposed,
}

impl<'a> Outcome<'a> {
    /// As it is sent.
    pub(super) fn of(outcome: &'a journal::Outcome) -> Outcome<'a> {
        match outcome {
            journal::Outcome::Applied(answers) => Outcome::Applied(answers),
            journal::Outcome::Refused(answers) => Outcome::Refused(answers),
            journal::Outcome::NotProposed => Outcome::NotProposed,
        }
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message<'a> {
    /// Updates for the leader.
    Updates {
        name: Name,
        /// The lowest number of the run that has no outcome yet.
        lowest: u64,
        /// They are proposed in this term or not at all.
        term: u64,
        /// Unix time in milliseconds after which they must not be proposed; 0 if there is none.
        not_after_ms: u64,
        forwarded: Forwarded<'a>,
    },
    /// What became of updates.
    Outcome {
        name: Name,
        /// The last entry that the sender has applied.
        index: u64,
        /// The replica that leads, as far as the sender knows, or 0.
        leader: u64,
        outcome: Outcome<'a>,
    },
    /// Times of accounts. Nobody answers them.
    Times(Vec<AccountTime>),
    /// What replicas have made of the log.
    Comparison(compare::Message),
}

impl Message<'_> {
    /// Its bytes. `None` if it is longer than a message may be.
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        let mut out = vec![0; HEAD_BYTES];
        out[4] = VERSION;
        match self {
            Message::Updates { name, lowest, term, not_after_ms, forwarded } => {
                out[5] = UPDATES;
                let Forwarded { what, actor, messages, conditions, origin } = forwarded;
                put_name(name, &mut out);
                [lowest, term, not_after_ms].iter().for_each(|number| put_u64(**number, &mut out));
                let ((code, what), origin) = (encode_what(what)?, encode_origin(origin));
                out[6] = code;
                for part in [&origin[..], actor, conditions, &what, messages] {
                    put_u32(u32::try_from(part.len()).ok()?, &mut out);
                }
                for part in [&origin[..], actor, conditions, &what, messages] {
                    out.extend_from_slice(part);
                }
            }
            Message::Outcome { name, index, leader, outcome } => {
                out[5] = OUTCOME;
                let (code, answers): (u8, &[u8]) = match outcome {
                    Outcome::Applied(answers) => (1, answers),
                    Outcome::Refused(answers) => (2, answers),
                    Outcome::NotLeader => (3, &[]),
                    Outcome::NotProposed => (4, &[]),
                };
                out[6] = code;
                put_name(name, &mut out);
                put_u64(*index, &mut out);
                put_u64(*leader, &mut out);
                out.extend_from_slice(answers);
            }
            Message::Times(times) => {
                assert!((1..=TIMES_MAX).contains(&times.len()), "times are sent in pieces");
                out[5] = TIMES;
                times.iter().for_each(|time| time.encode(&mut out));
            }
            Message::Comparison(compare::Message { term, index, said }) => {
                out[5] = COMPARISON;
                let (code, number) = match *said {
                    Said::Asks { is_doubted: false, asked_ms } => (ASKS, asked_ms),
                    Said::Asks { is_doubted: true, asked_ms } => (ASKS_IN_DOUBT, asked_ms),
                    Said::Value(value) => (VALUE, value),
                    Said::Rebuilt(needs) => (REBUILT, needs),
                    Said::Wrong(value) => (WRONG, value),
                    Said::AsksSlice(first) => (ASKS_SLICE, u64::from(first)),
                    Said::Slice(digest) => (SLICE, digest),
                    Said::WrongSlice(digest) => (WRONG_SLICE, digest),
                    Said::Forgotten { before, .. } => (FORGOTTEN, before),
                };
                out[6] = code;
                [*term, *index, number].iter().for_each(|number| put_u64(*number, &mut out));
                if let Said::Forgotten { report: Report { asked_ms, sync_us, wall_ms }, .. } = *said {
                    [asked_ms, sync_us, wall_ms].iter().for_each(|number| put_u64(*number, &mut out));
                }
            }
        }
        let crc = crc32c::crc32c(&out[4..]);
        out[..4].copy_from_slice(&crc.to_le_bytes());
        (out.len() <= BYTES_MAX).then_some(out)
    }

    /// The message that these bytes are. What is in its LDAPMessages is for [`dsa::journal::Updates::received`] to judge.
    ///
    /// # Errors
    /// See [`Malformed`].
    pub(super) fn decode(bytes: &[u8]) -> Result<Message<'_>, Malformed> {
        if !(HEAD_BYTES..=BYTES_MAX).contains(&bytes.len()) {
            return Err(Malformed::Length);
        }
        if bytes[..4] != crc32c::crc32c(&bytes[4..]).to_le_bytes() {
            return Err(Malformed::Checksum);
        }
        let [version, kind, code, zero] = [bytes[4], bytes[5], bytes[6], bytes[7]];
        if version != VERSION || zero != 0 || (kind == TIMES && code != 0) {
            return Err(Malformed::Type);
        }
        let mut rest = &bytes[HEAD_BYTES..];
        let message = match kind {
            UPDATES => decode_updates(code, &mut rest)?,
            OUTCOME => {
                let name = take_name(&mut rest)?;
                let (index, leader) = (take_u64(&mut rest)?, take_u64(&mut rest)?);
                let answers = std::mem::take(&mut rest);
                let outcome = match (code, answers.is_empty()) {
                    (1, false) => Outcome::Applied(answers),
                    (2, false) => Outcome::Refused(answers),
                    (3, true) => Outcome::NotLeader,
                    (4, true) => Outcome::NotProposed,
                    _ => return Err(Malformed::Content),
                };
                Message::Outcome { name, index, leader, outcome }
            }
            TIMES => {
                let (times, odd) = std::mem::take(&mut rest).as_chunks::<TIME_BYTES>();
                if !odd.is_empty() || !(1..=TIMES_MAX).contains(&times.len()) {
                    return Err(Malformed::Length);
                }
                let times: Option<Vec<AccountTime>> = times.iter().map(AccountTime::decode).collect();
                Message::Times(times.ok_or(Malformed::Content)?)
            }
            COMPARISON => {
                let (term, index, number) =
                    (take_u64(&mut rest)?, take_u64(&mut rest)?, take_u64(&mut rest)?);
                let said = match code {
                    ASKS => Said::Asks { is_doubted: false, asked_ms: number },
                    ASKS_IN_DOUBT => Said::Asks { is_doubted: true, asked_ms: number },
                    VALUE => Said::Value(number),
                    REBUILT => Said::Rebuilt(number),
                    WRONG => Said::Wrong(number),
                    ASKS_SLICE => Said::AsksSlice(u32::try_from(number).map_err(|_| Malformed::Content)?),
                    SLICE => Said::Slice(number),
                    WRONG_SLICE => Said::WrongSlice(number),
                    FORGOTTEN => {
                        let (asked_ms, sync_us) = (take_u64(&mut rest)?, take_u64(&mut rest)?);
                        let report = Report { asked_ms, sync_us, wall_ms: take_u64(&mut rest)? };
                        Said::Forgotten { before: number, report }
                    }
                    _ => return Err(Malformed::Content),
                };
                if term == 0 {
                    return Err(Malformed::Content);
                }
                Message::Comparison(compare::Message { term, index, said })
            }
            _ => return Err(Malformed::Type),
        };
        if rest.is_empty() { Ok(message) } else { Err(Malformed::Length) }
    }
}

fn decode_updates<'a>(code: u8, rest: &mut &'a [u8]) -> Result<Message<'a>, Malformed> {
    let name = take_name(rest)?;
    let (lowest, term, not_after_ms) = (take_u64(rest)?, take_u64(rest)?, take_u64(rest)?);
    let mut lengths = [0; 5];
    for length in &mut lengths {
        *length = take_u32(rest)? as usize;
    }
    let [origin, actor_bytes, conditions, what, messages] = lengths;
    let origin = decode_origin(take(rest, origin)?)?;
    let (actor, conditions) = (take(rest, actor_bytes)?, take(rest, conditions)?);
    let what = decode_what(code, take(rest, what)?)?;
    let forwarded = Forwarded { what, actor, conditions, messages: take(rest, messages)?, origin };
    let has_sense = lowest > 0 && lowest <= name.number && term > 0 && !forwarded.messages.is_empty();
    if !has_sense || actor_bytes > NAME_BYTES_MAX {
        return Err(Malformed::Content);
    }
    Ok(Message::Updates { name, lowest, term, not_after_ms, forwarded })
}

/// What updates are: the byte of the head, and what belongs to it.
fn encode_what(what: &What) -> Option<(u8, Vec<u8>)> {
    let mut out = Vec::new();
    let code = match what {
        What::Updates => EACH,
        What::Transaction { end, bytes } => {
            put_u32(end.cast_unsigned(), &mut out);
            put_u64(*bytes, &mut out);
            TRANSACTION
        }
        What::Settings(replacement) => {
            let base = settings::text(&replacement.base);
            put_u32(u32::try_from(base.len()).ok()?, &mut out);
            out.extend_from_slice(base.as_bytes());
            out.extend_from_slice(settings::text(&replacement.record).as_bytes());
            SETTINGS
        }
        What::Schema => SCHEMA,
    };
    Some((code, out))
}

fn decode_what(code: u8, mut rest: &[u8]) -> Result<What, Malformed> {
    // A record has one text.
    let record = |text: &[u8]| {
        let text = std::str::from_utf8(text).map_err(|_| Malformed::Content)?;
        let record = settings::parse(text).map_err(|_| Malformed::Content)?;
        if settings::text(&record) == text { Ok(record) } else { Err(Malformed::Content) }
    };
    let what = match code {
        EACH => What::Updates,
        TRANSACTION => {
            What::Transaction { end: take_u32(&mut rest)?.cast_signed(), bytes: take_u64(&mut rest)? }
        }
        SETTINGS => {
            let bytes = take_u32(&mut rest)? as usize;
            let base = record(take(&mut rest, bytes)?)?;
            let record = record(std::mem::take(&mut rest))?;
            What::Settings(Box::new(Replacement { base, record }))
        }
        SCHEMA => What::Schema,
        _ => return Err(Malformed::Type),
    };
    if rest.is_empty() { Ok(what) } else { Err(Malformed::Length) }
}

fn put_u32(number: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_u64(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_name(name: &Name, out: &mut Vec<u8>) {
    put_u64(name.run, out);
    put_u64(name.number, out);
    put_u32(name.again, out);
}

fn take_name(rest: &mut &[u8]) -> Result<Name, Malformed> {
    let name = Name { run: take_u64(rest)?, number: take_u64(rest)?, again: take_u32(rest)? };
    if name.run == 0 || name.number == 0 { Err(Malformed::Content) } else { Ok(name) }
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], Malformed> {
    let (taken, left) = rest.split_at_checked(count).ok_or(Malformed::Length)?;
    *rest = left;
    Ok(taken)
}

fn take_u32(rest: &mut &[u8]) -> Result<u32, Malformed> {
    let bytes = take(rest, 4)?.first_chunk().ok_or(Malformed::Length)?;
    Ok(u32::from_le_bytes(*bytes))
}

fn take_u64(rest: &mut &[u8]) -> Result<u64, Malformed> {
    let bytes = take(rest, 8)?.first_chunk().ok_or(Malformed::Length)?;
    Ok(u64::from_le_bytes(*bytes))
}

fn encode_origin(origin: &Origin) -> Vec<u8> {
    let mut out = Vec::new();
    put_u64(origin.connection, &mut out);
    for address in [origin.peer, origin.via] {
        match address {
            None => out.push(0),
            Some(PeerAddress::Tcp(address)) => {
                match address.ip() {
                    IpAddr::V4(ip) => {
                        out.push(4);
                        out.extend_from_slice(&ip.octets());
                    }
                    IpAddr::V6(ip) => {
                        out.push(6);
                        out.extend_from_slice(&ip.octets());
                    }
                }
                out.extend_from_slice(&address.port().to_le_bytes());
            }
            Some(PeerAddress::Unix(Credentials { uid, gid, pid })) => {
                out.push(1);
                [uid, gid, pid.cast_unsigned()].iter().for_each(|number| put_u32(*number, &mut out));
            }
        }
    }
    out.extend_from_slice(&origin.who);
    out
}

fn decode_origin(mut rest: &[u8]) -> Result<Origin, Malformed> {
    let connection = take_u64(&mut rest)?;
    let (peer, via) = (take_address(&mut rest)?, take_address(&mut rest)?);
    if rest.len() > NAME_BYTES_MAX {
        return Err(Malformed::Content);
    }
    Ok(Origin { peer, via, connection, who: rest.to_vec() })
}

fn take_address(rest: &mut &[u8]) -> Result<Option<PeerAddress>, Malformed> {
    let port = |rest: &mut &[u8]| {
        let bytes = take(rest, 2)?.first_chunk().ok_or(Malformed::Length)?;
        Ok(u16::from_le_bytes(*bytes))
    };
    Ok(match take(rest, 1)? {
        [0] => None,
        [1] => {
            let (uid, gid, pid) = (take_u32(rest)?, take_u32(rest)?, take_u32(rest)?.cast_signed());
            Some(PeerAddress::Unix(Credentials { uid, gid, pid }))
        }
        [4] => {
            let octets: [u8; 4] = *take(rest, 4)?.first_chunk().ok_or(Malformed::Length)?;
            Some(PeerAddress::Tcp(SocketAddr::new(Ipv4Addr::from(octets).into(), port(rest)?)))
        }
        [6] => {
            let octets: [u8; 16] = *take(rest, 16)?.first_chunk().ok_or(Malformed::Length)?;
            Some(PeerAddress::Tcp(SocketAddr::new(Ipv6Addr::from(octets).into(), port(rest)?)))
        }
        _ => return Err(Malformed::Content),
    })
}

#[cfg(test)]
mod tests;
