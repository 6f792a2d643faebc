//! A template's line, compiled: evaluating it is one pass over parts, each a few instructions.

use super::EntryTemplate;
use crate::entry::{Entry, NameId, Partial};
use crate::random::Random;
use model::decimal;
use proto::ldif::put_base64;
use sha1::{Digest, Sha1};
use std::sync::Arc;

/// What a line is evaluated with.
pub(super) struct Context<'a> {
    pub(super) random: &'a mut Random,
    pub(super) number: u64,
    pub(super) serial: u64,
    pub(super) parent: &'a [u8],
}

/// `attribute: parts`, and when it is there at all.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) name: NameId,
    pub(super) conditions: Vec<Condition>,
    pub(super) parts: Vec<Part>,
}

/// When a line counts.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    /// In so many of 100 entries.
    Presence(u64),
    /// When the attribute has a value, or this value (`true`); when it has not (`false`).
    If(bool, NameId, Option<Vec<u8>>),
}

/// A list to choose from.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) items: Vec<Vec<u8>>,
    /// Running sums of the weights; empty when all weigh the same.
    pub(super) sums: Vec<u64>,
}

impl Choice {
    fn pick(&self, random: &mut Random) -> &[u8] {
        match self.sums.last() {
            None => &self.items[random.below(self.items.len() as u64) as usize],
            Some(&total) => {
                let ticket = random.below(total);
                &self.items[self.sums.partition_point(|&sum| sum <= ticket)]
            }
        }
    }
}

/// A piece of a value.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Literal(Vec<u8>),
    Attribute {
        name: NameId,
        max: Option<usize>,
    },
    /// `reset`: count below each parent from the start again.
    Sequential {
        start: u64,
        reset: bool,
        width: usize,
    },
    Choose(Arc<Choice>),
    InTurn(Arc<Choice>),
    Characters {
        alphabet: Arc<[u8]>,
        min: usize,
        max: usize,
    },
    Number {
        min: u64,
        max: u64,
        width: usize,
    },
    Telephone,
    Base64 {
        min: usize,
        max: usize,
    },
    /// One of these, cut at so many bytes.
    Month(Arc<Choice>, usize),
    Guid,
    Dn {
        underscores: bool,
    },
    ParentDn {
        underscores: bool,
    },
    Rdn,
    /// `{SSHA}` of this password with eight bytes of salt.
    Ssha(Vec<u8>),
    Jpeg(usize),
    Text {
        words: Arc<Choice>,
        bytes: usize,
    },
}

impl Line {
    /// Evaluates the line into the entry.
    pub(super) fn write(&self, context: &mut Context<'_>, entry: &mut Entry) {
        entry.push(self.name, |value| {
            if self.conditions.iter().all(|condition| condition.holds(context, value)) {
                for part in &self.parts {
                    part.write(context, value);
                }
            }
        });
    }

    /// Whether the value is a function of the entry's number alone: then it is known without the rest of the entry.
    pub(super) fn is_fixed(&self, template: &EntryTemplate) -> bool {
        self.conditions.is_empty()
            && self.parts.iter().all(|part| match part {
                Part::Literal(_) | Part::Sequential { .. } | Part::InTurn(_) => true,
                Part::Attribute { name, .. } => {
                    template.lines.iter().filter(|line| line.name == *name).all(|line| {
                        !std::ptr::eq(line, self)
                            && line.parts.iter().all(|p| !matches!(p, Part::Attribute { .. }))
                            && line.is_fixed(template)
                    })
                }
                _ => false,
            })
    }
}

impl Condition {
    fn holds(&self, context: &mut Context<'_>, value: &Partial<'_>) -> bool {
        match self {
            Condition::Presence(percent) => context.random.below(100) < *percent,
            Condition::If(wanted, name, equal_to) => value.has(*name, equal_to.as_deref()) == *wanted,
        }
    }
}

impl Part {
    fn write(&self, context: &mut Context<'_>, value: &mut Partial<'_>) {
        match self {
            Part::Literal(text) => value.out.extend_from_slice(text),
            Part::Attribute { name, max } => value.copy(*name, *max),
            Part::Sequential { start, reset, width } => {
                let number = if *reset { context.number } else { context.serial };
                decimal(start.wrapping_add(number), *width, value.out);
            }
            Part::Choose(choice) => value.out.extend_from_slice(choice.pick(context.random)),
            Part::InTurn(choice) => {
                let at = context.serial % choice.items.len() as u64;
                value.out.extend_from_slice(&choice.items[at as usize]);
            }
            Part::Characters { alphabet, min, max } => {
                let count = length(*min, *max, context.random);
                context.random.characters(alphabet, count, value.out);
            }
            Part::Number { min, max, width } => {
                decimal(context.random.between(*min, *max), *width, value.out)
            }
            Part::Month(months, max) => {
                let month = months.pick(context.random);
                value.out.extend_from_slice(&month[..month.len().min(*max)]);
            }
            Part::Telephone => telephone(context.random, value.out),
            Part::Base64 { min, max } => {
                base64_text(length(*min, *max, context.random), context.random, value.out)
            }
            Part::Guid => guid(context.random, value.out),
            Part::Dn { underscores } => dn(value.dn, *underscores, value.out),
            Part::ParentDn { underscores } => dn(context.parent, *underscores, value.out),
            Part::Rdn => value.out.extend_from_slice(model::dn::split_first(value.dn).0),
            Part::Ssha(password) => ssha(password, context.random, value.out),
            Part::Jpeg(bytes) => jpeg(*bytes, context.random, value.out),
            Part::Text { words, bytes } => text(words, *bytes, context.random, value.out),
        }
    }
}

fn length(min: usize, max: usize, random: &mut Random) -> usize {
    if min == max { min } else { random.between(min as u64, max as u64) as usize }
}

fn telephone(random: &mut Random, out: &mut Vec<u8>) {
    out.extend_from_slice(b"+1 ");
    decimal(random.between(201, 989), 3, out);
    out.push(b' ');
    decimal(random.between(200, 999), 3, out);
    out.push(b' ');
    decimal(random.below(10_000), 4, out);
}

fn base64_text(count: usize, random: &mut Random, out: &mut Vec<u8>) {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    random.characters(ALPHABET, count, out);
    out.resize(out.len() + count.wrapping_neg() % 4, b'=');
}

fn guid(random: &mut Random, out: &mut Vec<u8>) {
    let high = random.bits() & !0xf000 | 0x4000;
    let low = random.bits() & !(0b11 << 62) | 0b10 << 62;
    let [time_low, time_mid, time_high] = [high >> 32, high >> 16 & 0xffff, high & 0xffff];
    let [clock, node] = [low >> 48, low & 0xffff_ffff_ffff];
    let text = format!("{time_low:08x}-{time_mid:04x}-{time_high:04x}-{clock:04x}-{node:012x}");
    out.extend_from_slice(text.as_bytes());
}

fn dn(dn: &[u8], underscores: bool, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(dn);
    if underscores {
        out[start..].iter_mut().filter(|byte| **byte == b',').for_each(|byte| *byte = b'_');
    }
}

fn ssha(password: &[u8], random: &mut Random, out: &mut Vec<u8>) {
    let salt = random.bits().to_le_bytes();
    let digest = Sha1::new().chain_update(password).chain_update(salt).finalize();
    out.extend_from_slice(b"{SSHA}");
    put_base64(out, &[&digest[..], &salt].concat());
}

/// A JFIF header, noise, an end marker: what the JPEG syntax looks at.
fn jpeg(bytes: usize, random: &mut Random, out: &mut Vec<u8>) {
    const HEAD: &[u8] = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00";
    out.extend_from_slice(HEAD);
    random.bytes(bytes.saturating_sub(HEAD.len() + 2), out);
    out.extend_from_slice(b"\xff\xd9");
}

/// Words up to exactly `bytes` bytes, the last one cut; never a space at the end.
fn text(words: &Choice, bytes: usize, random: &mut Random, out: &mut Vec<u8>) {
    let end = out.len() + bytes;
    let mut bits = 0u64;
    while out.len() < end {
        // Four words of one number.
        if bits == 0 {
            bits = random.bits() | 1 << 63;
        }
        out.extend_from_slice(&words.items[((bits & 0xffff) as usize * words.items.len()) >> 16]);
        out.push(b' ');
        bits >>= 16;
    }
    out.truncate(end);
    if bytes > 0 && out.ends_with(b" ") {
        out[end - 1] = b'.';
    }
}
