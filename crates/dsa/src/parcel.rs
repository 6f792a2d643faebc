//! A parcel: the record of the log that brings commands of several clients. All of them have its time; what a replay must
//! come to stands in it as well ([`crate::chain`]). To the byte: `docs/formats/log.md`.

use crate::account_times::{AccountTime, TIME_BYTES};
pub use crate::journal::Front;
use crate::journal::{Command, adds, messages};
use std::borrow::Cow;

/// Bytes of commands after which a proposer begins another parcel. A longer command stands alone in one.
pub const PARCEL_BYTES_SOFT_MAX: usize = 1 << 20;

const VERSION: u8 = 1;
/// Bytes of a parcel without its commands, if its epoch is 0.
pub const HEAD_BYTES: usize = 24;
/// Bytes of a command without its body and what its flags announce.
const COMMAND_BYTES: usize = 8;
/// Bytes of the body of updates before the actor's DN.
const UPDATES_BYTES: usize = 8;

/// Flags of a parcel: the epoch stands behind the head.
const HAS_EPOCH: u8 = 1;
/// Flags of a parcel: parcels say which ids are free. The first ones that were written have no such flag.
const FREES_IDS: u8 = 2;
/// Flags of a parcel: whether a superclass must stay is judged when its commands are applied.
const JUDGES_CLASSES: u8 = 4;
/// Flags of a command: what stands before its body.
const HAS_FRONT: u8 = 1;
const HAS_NOT_AFTER: u8 = 2;
const HAS_CONDITIONS: u8 = 4;
/// Flags of a command: it is one modify of the subschema, which programs before this flag refused.
const IS_SCHEMA: u8 = 8;

/// Kinds of commands. 3 to 6, 8 and 9 are reserved for transactions over several shards and for moved ranges.
mod kind {
    pub(super) const UPDATES: u8 = 1;
    pub(super) const TRANSACTION: u8 = 2;
    pub(super) const RULES: u8 = 7;
    pub(super) const NOTHING: u8 = 10;
    pub(super) const FENCE: u8 = 11;
    pub(super) const SETTINGS: u8 = 12;
    pub(super) const TIMES: u8 = 13;
    pub(super) const BEHAVIOUR: u8 = 14;
}

/// What a parcel says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// When its commands were given, in milliseconds since 1970; never before the time of the parcel before.
    pub time_ms: u64,
    /// Epoch of the range of entries that the shard holds; 0 while there is one shard.
    pub epoch: u32,
    /// Ids of entries that a record before this one deleted may be given again; 0 if nothing changes. `None` where ids are free when
    /// no reader needs their entries, as in the first parcels that were written.
    pub free_before: Option<u64>,
    /// A modify that takes away a superclass of an object class that stays succeeds, and the superclass stays. So it is in the first
    /// parcels that were written: that such a modify is refused was judged before it was logged, and not for all of them.
    pub keeps_superclasses: bool,
    /// A record that was applied when this parcel was made, and the outcome chain there.
    pub checked: Option<(u64, u64)>,
}

/// What comes with a command, whatever it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// Where it was received.
    pub front: Option<Front>,
    /// Unix time in milliseconds after which it must not be proposed any more.
    pub not_after_ms: Option<u64>,
    /// Conditions that must be true when it is applied ([`Condition`]).
    pub conditions: &'a [u8],
    /// It is a change of the schema: a modify of the subschema that may add definitions.
    pub is_schema: bool,
}

/// Something that must be true of an entry when a command is applied; if not, each of its updates is answered with the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition<'a> {
    /// Result code of the answers if it is not.
    pub code: u32,
    /// The entry.
    pub dn: &'a [u8],
    /// A filter in BER, as in a search.
    pub filter: &'a [u8],
}

impl<'a> Condition<'a> {
    /// Appends it: `u32 code | u32 bytes of the DN | u32 bytes of the filter | DN | filter`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        assert!(u32::try_from(self.dn.len().max(self.filter.len())).is_ok(), "their lengths have 32 bits");
        for number in [self.code, self.dn.len() as u32, self.filter.len() as u32] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(self.dn);
        out.extend_from_slice(self.filter);
    }

    /// The conditions in `bytes`, each an error if it does not end there.
    pub fn all(mut bytes: &'a [u8]) -> impl Iterator<Item = Result<Condition<'a>, String>> {
        std::iter::from_fn(move || {
            if bytes.is_empty() {
                return None;
            }
            let one = Condition::first(&mut bytes);
            if one.is_none() {
                bytes = &[];
            }
            Some(one.ok_or_else(|| "a condition of a command is cut short".to_owned()))
        })
    }

    /// The condition that the bytes begin with; `None` if they are cut off.
    fn first(bytes: &mut &'a [u8]) -> Option<Condition<'a>> {
        let code = take_u32(bytes)?;
        let (dn, filter) = (take_u32(bytes)? as usize, take_u32(bytes)? as usize);
        Some(Condition { code, dn: take(bytes, dn)?, filter: take(bytes, filter)? })
    }
}

/// What a command is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// Updates of one identity, or a transaction.
    Updates(Command<'a>),
    /// What decides the outcome of the commands after it, as text.
    Rules(&'a str),
    /// The settings of the directory from here on, as text. No outcome depends on them.
    Settings(&'a str),
    /// The version by which the commands after it are applied, if it is later than that in force ([`crate::behaviour`]).
    Behaviour(u32),
    /// Times of accounts. They change no entry, and no outcome depends on them but that of reading them.
    Times(Times<'a>),
    /// Nothing: carries time and chain on.
    Nothing,
}

/// Times of accounts, as they stand in the log. All of them can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times<'a>(&'a [u8]);

impl<'a> Times<'a> {
    /// Reads them.
    ///
    /// # Errors
    /// A text that says what is wrong with them.
    fn decode(bytes: &'a [u8]) -> Result<Times<'a>, String> {
        let (times, rest) = bytes.as_chunks::<TIME_BYTES>();
        if !rest.is_empty() || times.is_empty() {
            return Err("a command of times is cut short".to_owned());
        }
        match times.iter().all(|time| AccountTime::decode(time).is_some()) {
            true => Ok(Times(bytes)),
            false => Err("a time of an account of a kind that this program does not know".to_owned()),
        }
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = AccountTime> {
        self.0.as_chunks::<TIME_BYTES>().0.iter().filter_map(AccountTime::decode)
    }
}

/// A command as it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// What comes with it.
    pub envelope: Envelope<'a>,
    /// What it is.
    pub body: Body<'a>,
    /// Bytes of the parcel up to its end: a parcel that is cut there is one with fewer commands.
    pub end: usize,
}

impl Head {
    /// Appends the head of the parcel that is the record `index`. Commands follow.
    pub fn encode(&self, index: u64, out: &mut Vec<u8>) {
        let flags = if self.epoch == 0 { 0 } else { HAS_EPOCH };
        let flags = if self.free_before.is_some() { flags | FREES_IDS } else { flags };
        let flags = if self.keeps_superclasses { flags } else { flags | JUDGES_CLASSES };
        let back = |before: u64| index.checked_sub(before).filter(|back| *back > 0);
        let checked = self.checked.and_then(|(at, chain)| Some((u16::try_from(back(at)?).ok()?, chain)));
        let (checked_back, chain) = checked.unwrap_or((0, 0));
        let free_back = self.free_before.filter(|before| *before > 0).and_then(back);
        let free_back = free_back.and_then(|back| u32::try_from(back).ok()).unwrap_or(0);
        out.extend_from_slice(&[VERSION, flags]);
        out.extend_from_slice(&checked_back.to_le_bytes());
        out.extend_from_slice(&free_back.to_le_bytes());
        out.extend_from_slice(&self.time_ms.to_le_bytes());
        out.extend_from_slice(&chain.to_le_bytes());
        if self.epoch != 0 {
            out.extend_from_slice(&self.epoch.to_le_bytes());
        }
    }
}

/// Appends a command of updates or a transaction. Its time is the parcel's.
pub fn push_updates(command: &Command<'_>, envelope: &Envelope<'_>, out: &mut Vec<u8>) {
    let kind = if command.is_transaction { kind::TRANSACTION } else { kind::UPDATES };
    let bytes = updates_bytes(command.actor.len(), command.ids.len(), command.messages.len());
    push_head(kind, envelope, bytes, out);
    let begin = out.len();
    out.extend_from_slice(&(command.actor.len() as u32).to_le_bytes());
    out.extend_from_slice(&(command.ids.len() as u32).to_le_bytes());
    out.extend_from_slice(command.actor);
    command.ids.iter().for_each(|id| out.extend_from_slice(&id.to_le_bytes()));
    out.extend_from_slice(command.messages);
    assert!(out.len() - begin == bytes, "a body is as long as its head says");
}

/// Bytes of a command of updates with parts of these lengths.
fn updates_bytes(actor: usize, ids: usize, messages: usize) -> usize {
    UPDATES_BYTES + actor + 4 * ids + messages
}

/// Bytes that [`push_updates`] appends without an envelope.
pub fn command_bytes(command: &Command<'_>) -> usize {
    COMMAND_BYTES + updates_bytes(command.actor.len(), command.ids.len(), command.messages.len())
}

/// Appends the rules for what comes after.
pub fn push_rules(text: &str, out: &mut Vec<u8>) {
    push_head(kind::RULES, &Envelope::default(), text.len(), out);
    out.extend_from_slice(text.as_bytes());
}

/// Appends the version of the behaviour for what comes after.
pub fn push_behaviour(behaviour: u32, out: &mut Vec<u8>) {
    push_head(kind::BEHAVIOUR, &Envelope::default(), size_of::<u32>(), out);
    out.extend_from_slice(&behaviour.to_le_bytes());
}

/// Appends the settings that hold from here on, all of them.
pub fn push_settings(text: &str, envelope: &Envelope<'_>, out: &mut Vec<u8>) {
    push_head(kind::SETTINGS, envelope, text.len(), out);
    out.extend_from_slice(text.as_bytes());
}

/// Appends times of accounts.
///
/// # Panics
/// If there are none.
pub fn push_times(times: &[AccountTime], out: &mut Vec<u8>) {
    assert!(!times.is_empty(), "a command of times has one");
    push_head(kind::TIMES, &Envelope::default(), times.len() * TIME_BYTES, out);
    times.iter().for_each(|time| time.encode(out));
}

/// Appends a command that does nothing.
pub fn push_nothing(out: &mut Vec<u8>) {
    push_head(kind::NOTHING, &Envelope::default(), 0, out);
}

/// Puts the head of a record behind what is there: docs/formats/log.md draws it.
fn push_head(kind: u8, envelope: &Envelope<'_>, body: usize, out: &mut Vec<u8>) {
    let Envelope { front, not_after_ms, conditions, is_schema } = envelope;
    let flags = [
        (front.is_some(), HAS_FRONT),
        (not_after_ms.is_some(), HAS_NOT_AFTER),
        (!conditions.is_empty(), HAS_CONDITIONS),
        (*is_schema, IS_SCHEMA),
    ];
    let flags = flags.iter().filter(|(has, _)| *has).fold(0, |flags, (_, flag)| flags | flag);
    assert!(u32::try_from(body).is_ok(), "the length of a body has 32 bits");
    out.extend_from_slice(&[kind, flags, 0, 0]);
    out.extend_from_slice(&(body as u32).to_le_bytes());
    if let Some(Front { node, number }) = front {
        out.extend_from_slice(&node.to_le_bytes());
        out.extend_from_slice(&number.to_le_bytes());
    }
    if let Some(not_after_ms) = not_after_ms {
        out.extend_from_slice(&not_after_ms.to_le_bytes());
    }
    if !conditions.is_empty() {
        assert!(u32::try_from(conditions.len()).is_ok(), "the length of the conditions has 32 bits");
        out.extend_from_slice(&(conditions.len() as u32).to_le_bytes());
        out.extend_from_slice(conditions);
    }
}

/// A parcel that is read.
#[derive(Clone, Debug)]
pub struct Parcel<'a> {
    /// What it says of itself.
    pub head: Head,
    bytes: &'a [u8],
    /// Where the next command begins.
    at: usize,
}

impl<'a> Parcel<'a> {
    /// Reads the head of the parcel that is the record `index`.
    ///
    /// # Errors
    /// A text that says what is wrong with it.
    pub fn decode(index: u64, bytes: &'a [u8]) -> Result<Parcel<'a>, String> {
        let mut rest = bytes;
        let short = || "a parcel is shorter than its head".to_owned();
        let [version, flags] = *take(&mut rest, 2).and_then(<[u8]>::first_chunk).ok_or_else(short)?;
        if version != VERSION {
            return Err(format!("a parcel of version {version}; this program reads version {VERSION}"));
        }
        if flags & !(HAS_EPOCH | FREES_IDS | JUDGES_CLASSES) != 0 {
            return Err(format!("a parcel with flags {flags:#x}, which this program does not know"));
        }
        let checked_back = take(&mut rest, 2).and_then(<[u8]>::first_chunk).ok_or_else(short)?;
        let checked_back = u64::from(u16::from_le_bytes(*checked_back));
        let free_back = u64::from(take_u32(&mut rest).ok_or_else(short)?);
        let time_ms = take_u64(&mut rest).ok_or_else(short)?;
        let chain = take_u64(&mut rest).ok_or_else(short)?;
        let epoch = if flags & HAS_EPOCH == 0 { 0 } else { take_u32(&mut rest).ok_or_else(short)? };
        if checked_back > index || free_back > index {
            return Err("a parcel names a record before the first".to_owned());
        }
        let checked = (checked_back > 0).then(|| (index - checked_back, chain));
        let free_before = if free_back == 0 { 0 } else { index - free_back };
        let free_before = (flags & FREES_IDS != 0).then_some(free_before);
        let keeps_superclasses = flags & JUDGES_CLASSES == 0;
        let head = Head { time_ms, epoch, free_before, keeps_superclasses, checked };
        Ok(Parcel { head, bytes, at: bytes.len() - rest.len() })
    }

    /// The next command.
    ///
    /// # Errors
    /// A text that says what is wrong with it.
    pub fn next_command(&mut self) -> Result<Option<Item<'a>>, String> {
        let mut rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return Ok(None);
        }
        let item = self.item(&mut rest)?;
        self.at = item.end;
        Ok(Some(item))
    }

    /// The text of the rules that it has: they stand in a parcel of their own. `None` if it has other commands. To be asked
    /// before a command is read.
    ///
    /// # Errors
    /// A text that says what is wrong with it.
    pub fn rules(&self) -> Result<Option<&'a str>, String> {
        Ok(self.alone(kind::RULES)?.map(|(text, _)| text))
    }

    /// The text of the settings that it has, and where their change was received: as [`Parcel::rules`].
    ///
    /// # Errors
    /// As [`Parcel::rules`].
    pub fn settings(&self) -> Result<Option<(&'a str, Option<Front>)>, String> {
        self.alone(kind::SETTINGS)
    }

    /// The version of the behaviour that it has: it stands in a parcel of its own. As [`Parcel::rules`].
    ///
    /// # Errors
    /// As [`Parcel::rules`].
    pub fn behaviour(&self) -> Result<Option<u32>, String> {
        if self.bytes.get(self.at) != Some(&kind::BEHAVIOUR) {
            return Ok(None);
        }
        let mut commands = self.clone();
        match (commands.next_command()?, commands.next_command()?) {
            (Some(Item { body: Body::Behaviour(behaviour), .. }), None) => Ok(Some(behaviour)),
            _ => Err("a parcel has a version of the behaviour and other commands".to_owned()),
        }
    }

    /// The message of the change of the schema that it has, which stands in a parcel of its own.
    ///
    /// # Errors
    /// As [`Parcel::rules`].
    pub fn schema(&self) -> Result<Option<&'a [u8]>, String> {
        if self.bytes.get(self.at + 1).is_none_or(|flags| flags & IS_SCHEMA == 0) {
            return Ok(None);
        }
        let mut commands = self.clone();
        match (commands.next_command()?, commands.next_command()?) {
            (Some(Item { body: Body::Updates(command), .. }), None) => Ok(Some(command.messages)),
            _ => Err("a parcel has a change of the schema and other commands".to_owned()),
        }
    }

    /// The text of a command of this kind, which stands in a parcel of its own.
    fn alone(&self, kind: u8) -> Result<Option<(&'a str, Option<Front>)>, String> {
        // Most parcels have none, and their commands are not read twice.
        if self.bytes.get(self.at) != Some(&kind) {
            return Ok(None);
        }
        let mut commands = self.clone();
        match (commands.next_command()?, commands.next_command()?) {
            (Some(Item { body: Body::Rules(text) | Body::Settings(text), envelope, .. }), None) => {
                Ok(Some((text, envelope.front)))
            }
            _ => Err("a parcel has rules or settings and other commands".to_owned()),
        }
    }

    /// The next item of a body, and what is behind it in `rest`. Err says in words what no program writes so.
    fn item(&self, rest: &mut &'a [u8]) -> Result<Item<'a>, String> {
        let short = || "a command of a parcel is cut short".to_owned();
        let [kind, flags, zero @ ..] = *take(rest, 4).and_then(<[u8]>::first_chunk::<4>).ok_or_else(short)?;
        let bytes = take_u32(rest).ok_or_else(short)? as usize;
        if flags & !(HAS_FRONT | HAS_NOT_AFTER | HAS_CONDITIONS | IS_SCHEMA) != 0 || zero != [0; 2] {
            return Err(format!("a command with flags {flags:#x}, which this program does not know"));
        }
        let mut envelope = Envelope { is_schema: flags & IS_SCHEMA != 0, ..Envelope::default() };
        if envelope.is_schema && kind != kind::UPDATES {
            return Err("a change of the schema that is no update".to_owned());
        }
        if flags & HAS_FRONT != 0 {
            let (node, number) = (take_u64(rest).ok_or_else(short)?, take_u64(rest).ok_or_else(short)?);
            envelope.front = Some(Front { node, number });
        }
        if flags & HAS_NOT_AFTER != 0 {
            envelope.not_after_ms = Some(take_u64(rest).ok_or_else(short)?);
        }
        if flags & HAS_CONDITIONS != 0 {
            let bytes = take_u32(rest).ok_or_else(short)? as usize;
            envelope.conditions = take(rest, bytes).ok_or_else(short)?;
        }
        let body = take(rest, bytes).ok_or_else(short)?;
        let text = |what: &str| {
            std::str::from_utf8(body).map_err(|error| format!("the text of {what} is no text: {error}"))
        };
        let body = match kind {
            kind::UPDATES | kind::TRANSACTION => {
                Body::Updates(updates(self.head.time_ms, kind == kind::TRANSACTION, body)?)
            }
            kind::RULES => Body::Rules(text("rules")?),
            kind::SETTINGS => Body::Settings(text("settings")?),
            kind::NOTHING if body.is_empty() => Body::Nothing,
            kind::BEHAVIOUR => match body.first_chunk::<4>() {
                Some(number) if body.len() == 4 => Body::Behaviour(u32::from_le_bytes(*number)),
                _ => return Err("a version of the behaviour that has not four bytes".to_owned()),
            },
            kind::TIMES => Body::Times(Times::decode(body)?),
            kind::FENCE => return Err("a fence, which belongs to several shards".to_owned()),
            other => return Err(format!("a command of kind {other}, which this program does not know")),
        };
        Ok(Item { envelope, body, end: self.bytes.len() - rest.len() })
    }
}

/// The body of updates.
fn updates(wall_ms: u64, is_transaction: bool, body: &[u8]) -> Result<Command<'_>, String> {
    let mut rest = body;
    let short = || "a command of a parcel ends within its actor's name or its ids".to_owned();
    let (name, ids) =
        (take_u32(&mut rest).ok_or_else(short)? as usize, take_u32(&mut rest).ok_or_else(short)? as usize);
    let actor = take(&mut rest, name).ok_or_else(short)?;
    let ids = ids.checked_mul(4).and_then(|bytes| take(&mut rest, bytes)).ok_or_else(short)?;
    if messages(rest).map(<[u8]>::len).sum::<usize>() != rest.len() {
        return Err("a command does not end with a whole message".to_owned());
    }
    let ids: Cow<'_, [u32]> =
        ids.chunks_exact(4).map(|id| u32::from_le_bytes(*id.first_chunk().expect("four bytes"))).collect();
    if ids.len() != adds(rest) {
        return Err("a command has not as many ids as adds".to_owned());
    }
    Ok(Command { wall_ms, actor, ids, messages: rest, is_transaction })
}

/// The first bytes of what is left, which then begins behind them. `None`, and nothing is taken, if there are fewer.
fn take<'a>(rest: &mut &'a [u8], bytes: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(bytes)?;
    *rest = after;
    Some(taken)
}

/// A number of four bytes, little-endian.
fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    take(rest, 4)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// A number of eight bytes, little-endian.
fn take_u64(rest: &mut &[u8]) -> Option<u64> {
    take(rest, 8)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests;
