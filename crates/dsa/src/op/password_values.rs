//! Values of userPassword in adds and modifies: those in the clear are hashed before the update goes to the log, so that no file
//! has the word.
//!
//! The update becomes another one, which is what is logged and applied: a value in the clear becomes one of each scheme that is
//! configured; a delete of a word becomes one of the stored value that it verifies. A value that is a hash already stays, if a
//! password can ever match it.

use crate::access::may_be_access_rule;
use crate::context::Reading;
use crate::engine::Dsa;
use crate::identity::Identity;
use crate::outcome::FixedRefusal;
use crate::password::policies::{Changed, may_be_of_policy};
use crate::password::{self, LATER, Later};
use crate::policy::{self, New};
use model::ResultCode;
use model::attribute::split_options;
use model::limits::{PASSWORD_BYTES_MAX, PASSWORD_NAMES_MAX, PASSWORD_VALUES_MAX};
use proto::list::{Attributes, attribute_list};
use proto::message::{Message, Request};
use proto::op::Add;
use proto::op::given::{AllGiven, Given};
use proto::op::modify::{Changes, Modify, ModifyKind, change_list};
use proto::{Outline, tag};
use schema::Schema;
use store::EntryRef;

const NO_SUCH_VALUE: FixedRefusal =
    (ResultCode::NoSuchAttribute, "userPassword has no value that this password is right for");
const EXISTS: FixedRefusal =
    (ResultCode::AttributeOrValueExists, "userPassword has a value for this password already");
const TOO_MANY: FixedRefusal =
    (ResultCode::ConstraintViolation, "an entry has 8 values of userPassword at most");
const NEVER_MATCHES: FixedRefusal = (
    ResultCode::ConstraintViolation,
    "a value of userPassword looks like a hash, but of no scheme that is known, or not as the scheme has it: no password would ever match it",
);

/// Is this userPassword, with options or without?
pub(crate) fn is_password(schema: &Schema, description: &[u8]) -> bool {
    let (name, _) = split_options(description);
    schema.is_named(schema.well_known().user_password, name)
}

/// May an update be one that is logged in another form? It may say yes of one that is not, and is asked of every update.
///
/// So it takes the message apart no further than to the descriptions. An add that brings only hashes, as imports send them, is one that is logged
/// as it came, if its client may store them and no policy asks for more.
#[inline]
pub(crate) fn may_concern(schema: &Schema, trusts: bool, outline: &Outline<'_>) -> bool {
    if !matches!(outline.op_tag, tag::ADD | tag::MODIFY) {
        return false;
    }
    let takes_hashes = trusts && outline.op_tag == tag::ADD;
    let all = AllGiven::of(outline.op_tag, outline.rest);
    all.is_none_or(|all| all.any_is(|given| concerns(schema, takes_hashes, given)))
}

/// Length and first letter say no of most.
#[inline]
fn concerns(schema: &Schema, takes_hashes: bool, given: &Given<'_>) -> bool {
    // Names of policies and rules have more than two letters, and an OID has two numbers.
    let may_be_other = matches!(given.description, [first, _, _, ..] if first.is_ascii_digit() || matches!(first | 0x20, b'p' | b's'));
    (may_be_other || schema.may_be_password(given.description))
        && concerns_closely(schema, takes_hashes, given)
}

/// As the question before it, by a look at each attribute.
#[inline(never)]
fn concerns_closely(schema: &Schema, takes_hashes: bool, given: &Given<'_>) -> bool {
    // What a policy or an access rule says is looked at like what a password is.
    may_be_of_policy(given.description)
        || may_be_access_rule(given.description)
        || (is_password(schema, given.description) && !(takes_hashes && are_hashes(given.values())))
}

/// Are the hashes that somebody adds stored as they come? Of the root DN they are, if no policy holds for those that name none.
pub(crate) fn takes_hashes(dsa: &Dsa, identity: &Identity) -> bool {
    identity.is_root && !dsa.policies.have_default() && dsa.shard.subentries() == 0
}

/// Are these hashes, and no more than an entry may have?
fn are_hashes<'v>(values: impl Iterator<Item = &'v [u8]>) -> bool {
    let mut count = 0;
    let mut values = values.inspect(|_| count += 1);
    values.all(password::is_hash) && count <= PASSWORD_VALUES_MAX
}

/// What must be known to say in which form an update is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// It is logged as it was sent.
    Nothing,
    /// The update itself.
    Update,
    /// The entry as it is, with all updates before this one.
    Entry,
}

/// What must be known of an update.
pub(crate) fn needs(dsa: &Dsa, identity: &Identity, request: &Request<'_>) -> Needs {
    let schema = dsa.shard.schema();
    match request {
        Request::Add(add) => {
            let mut attributes = add.attributes.iter();
            let takes_hashes = takes_hashes(dsa, identity)
                && attributes.all(|attribute| !may_be_of_policy(attribute.description));
            let mut passwords = add.attributes.iter().filter(|a| is_password(schema, a.description));
            match passwords.all(|attribute| takes_hashes && are_hashes(attribute.values.iter())) {
                true => Needs::Nothing,
                false => Needs::Update,
            }
        }
        Request::Modify(modify) => {
            let changes = modify.changes.iter();
            let passwords = changes.filter(|change| is_password(schema, change.modification.description));
            let needs = passwords.map(|change| match change.kind {
                _ if change.modification.values.is_empty() => Needs::Nothing,
                // Which policy holds for it the entry says.
                _ => Needs::Entry,
            });
            needs.fold(Needs::Nothing, |all, one| if all == Needs::Entry { all } else { one })
        }
        _ => Needs::Nothing,
    }
}

/// The message as which an update is logged, with the same id and controls.
///
/// It is one that a client might have sent. So the log, a replay and a replica need to know nothing of passwords, and the outcome is the same
/// there whatever schemes they are configured with.
///
/// # Errors
/// Code and text if it is refused; [`LATER`] if it lacks a verification or a hash.
pub(crate) fn rewrite(
    reading: &mut Reading<'_>,
    identity: &Identity,
    message: &Message<'_>,
) -> Result<Vec<u8>, FixedRefusal> {
    let controls: Vec<_> = message.controls.iter().collect();
    let mut out = Vec::new();
    match &message.request {
        Request::Add(add) => {
            let state = judge_add(reading, identity, add)?;
            let attributes = attributes_of(reading, add, &state)?;
            let attributes = Attributes::parse(&attributes).expect("just encoded");
            Request::Add(Add { dn: add.dn, attributes }).encode(&mut out, message.id, &controls);
        }
        Request::Modify(modify) => {
            let state = judge_modify(reading, identity, modify)?;
            let changes = changes_of(reading, modify, &state)?;
            let changes = Changes::parse(&changes).expect("just encoded");
            Request::Modify(Modify { dn: modify.dn, changes }).encode(&mut out, message.id, &controls);
        }
        _ => unreachable!("only adds and modifies have values"),
    }
    Ok(out)
}

/// What a policy makes of the passwords of an entry that is added, beside what the add says itself.
/// An administrator who moves a directory sends state with the entries, pwdChangedTime above all: that counts, and not the time of the add.
///
/// # Errors
/// Why the policy does not take them.
fn judge_add(
    reading: &mut Reading<'_>,
    identity: &Identity,
    add: &Add<'_>,
) -> Result<Vec<Changed>, FixedRefusal> {
    let schema = reading.dsa.shard.schema().clone();
    let passwords = add.attributes.iter().filter(|attribute| is_password(&schema, attribute.description));
    let new: Vec<New<'_>> = passwords.flat_map(|attribute| attribute.values.iter()).map(New::of).collect();
    if new.is_empty() {
        return Ok(Vec::new());
    }
    // The entry is not there yet, so the request says which policy it is to have.
    let named =
        add.attributes.iter().find(|a| a.description.eq_ignore_ascii_case(policy::SUBENTRY.as_bytes()));
    let named = named.and_then(|attribute| attribute.values.iter().next());
    let is_name = |description: &[u8]| {
        let (name, _) = split_options(description);
        schema.find_type(name).is_some_and(|id| {
            policy::NAMES.iter().any(|known| schema.find_type(known.as_bytes()) == Some(id))
        })
    };
    let names = add.attributes.iter().filter(|attribute| is_name(attribute.description));
    let names: Vec<&[u8]> =
        names.flat_map(|attribute| attribute.values.iter()).take(PASSWORD_NAMES_MAX).collect();
    let account = policy::Place::New { dn: add.dn, policy: named, names: &names };
    let mut state = policy::judge(reading, identity, account, &new, false)?;
    state.retain(|(_, name, _)| add.attributes.iter().all(|a| !a.description.eq_ignore_ascii_case(name)));
    Ok(state)
}

/// As [`judge_add`], of an entry that is there.
/// The entry is that of the read point. If it changes before the modify is applied, the history may miss a password: that of a change which came
/// at the same time.
///
fn judge_modify(
    reading: &mut Reading<'_>,
    identity: &Identity,
    modify: &Modify<'_>,
) -> Result<Vec<Changed>, FixedRefusal> {
    let schema = reading.dsa.shard.schema().clone();
    let brings = |change: &proto::op::modify::Change<'_>| {
        !matches!(change.kind, ModifyKind::Delete | ModifyKind::Increment)
            && is_password(&schema, change.modification.description)
    };
    let brought = modify.changes.iter().filter(brings);
    let new: Vec<New<'_>> =
        brought.flat_map(|change| change.modification.values.iter()).map(New::of).collect();
    let (read_point, cache) = (reading.read_point, &mut reading.scratch.evaluator.cache);
    let entry = read_point.resolve(modify.dn, cache).ok().and_then(|id| read_point.entry(id));
    // An entry that is not there is what the modify fails by.
    let Some(entry) = entry.filter(|_| !new.is_empty()) else { return Ok(Vec::new()) };
    let proves = modify.changes.iter().any(|change| {
        change.kind == ModifyKind::Delete
            && !change.modification.values.is_empty()
            && is_password(&schema, change.modification.description)
    });
    let mut state = policy::judge(reading, identity, policy::Place::Entry(&entry), &new, proves)?;
    // What an administrator says of the state in the same request counts.
    let says = |name: &[u8]| {
        modify.changes.iter().any(|change| change.modification.description.eq_ignore_ascii_case(name))
    };
    state.retain(|(_, name, _)| !says(name));
    Ok(state)
}

/// The attributes of an add with hashes in the place of words. All words are looked at before it is given up, so that their hashes are one job.
///
/// # Errors
/// Why a word is not stored; [`LATER`] if a hash is lacking.
fn attributes_of(
    reading: &mut Reading<'_>,
    add: &Add<'_>,
    state: &[Changed],
) -> Result<Vec<u8>, FixedRefusal> {
    let schema = reading.dsa.shard.schema().clone();
    let mut is_later = false;
    let mut all: Vec<(&[u8], Vec<Vec<u8>>)> = Vec::new();
    for attribute in add.attributes.iter() {
        let given = attribute.values.iter();
        let values = match is_password(&schema, attribute.description) {
            true => match stored(reading, given)? {
                Some(values) if values.len() > PASSWORD_VALUES_MAX => return Err(TOO_MANY),
                Some(values) => values,
                None => {
                    is_later = true;
                    continue;
                }
            },
            false => given.map(<[u8]>::to_vec).collect(),
        };
        all.push((attribute.description, values));
    }
    if is_later {
        return Err(LATER);
    }
    all.extend(state.iter().map(|(_, name, values)| (&name[..], values.clone())));
    Ok(attribute_list(
        all.iter().map(|(description, values)| (*description, values.iter().map(Vec::as_slice))),
    ))
}

/// What is stored for values that were sent; `None` if it lacks a hash.
///
/// # Errors
/// [`EXISTS`] of a word that is there twice, [`TOO_MANY`], [`NEVER_MATCHES`], or why a scheme does not take the word.
fn stored<'v>(
    reading: &mut Reading<'_>,
    given: impl Iterator<Item = &'v [u8]>,
) -> Result<Option<Vec<Vec<u8>>>, FixedRefusal> {
    let (mut all, mut is_later) = (Vec::new(), false);
    let mut words: Vec<&[u8]> = Vec::new();
    for (at, value) in given.enumerate() {
        // No more work than for what can be stored.
        if at >= PASSWORD_VALUES_MAX {
            return Err(TOO_MANY);
        }
        if password::is_hash(value) {
            all.push(value.to_vec());
            continue;
        }
        let Some(word) = password::word(value) else { return Err(NEVER_MATCHES) };
        if words.contains(&word) {
            return Err(EXISTS);
        }
        words.push(word);
        match hash(reading, word) {
            Ok(values) => all.extend(values),
            Err(LATER) => is_later = true,
            Err(refusal) => return Err(refusal),
        }
    }
    Ok((!is_later).then_some(all))
}

/// What is stored for a new password.
///
/// # Errors
/// constraintViolation of one that is empty, too long, or not what a scheme takes; [`LATER`] if the hash is lacking.
pub(crate) fn hash(reading: &mut Reading<'_>, word: &[u8]) -> Result<Vec<Vec<u8>>, FixedRefusal> {
    if word.is_empty() {
        return Err((ResultCode::ConstraintViolation, "the new password is empty"));
    }
    // Hashing takes time by the length.
    if word.len() > PASSWORD_BYTES_MAX {
        return Err((ResultCode::ConstraintViolation, "the new password is too long"));
    }
    // Those of this moment; who stores the values later stores what was made here.
    let schemes = reading.dsa.policies.schemes();
    let stored = reading.scratch.passwords.store(&schemes, word, &mut **reading.dsa.entropy());
    stored.map_err(|_| LATER)?.map_err(|text| (ResultCode::ConstraintViolation, text))
}

/// A change as it is logged.
type Rewritten<'a> = (ModifyKind, &'a [u8], Vec<Vec<u8>>);

/// Values of one description, as a modify has made them so far.
/// A change may look at what the changes before it have made, so the values are followed from change to change without being written.
/// A hash and the word that it was made of are one value: a change behind it may name either.
struct Current {
    /// In lower case.
    description: Vec<u8>,
    values: Vec<Value>,
}

struct Value {
    stored: Vec<u8>,
    /// What it was made of, if this modify has brought it.
    word: Option<Vec<u8>>,
}

/// The changes of a modify with hashes and stored values in the place of words.
///
/// # Errors
/// The first fault of a change, in their order; [`LATER`] if a verification or a hash is lacking for any of them.
fn changes_of(
    reading: &mut Reading<'_>,
    modify: &Modify<'_>,
    state: &[Changed],
) -> Result<Vec<u8>, FixedRefusal> {
    let schema = reading.dsa.shard.schema().clone();
    let mut current: Vec<Current> = Vec::new();
    let mut all: Vec<Rewritten<'_>> = Vec::new();
    let mut is_later = false;
    for change in modify.changes.iter() {
        let (kind, description) = (change.kind, change.modification.description);
        let given = change.modification.values;
        if !is_password(&schema, description) || kind == ModifyKind::Increment {
            all.push((kind, description, given.iter().map(<[u8]>::to_vec).collect()));
            continue;
        }
        let key = key_of(description);
        let at = match current.iter().position(|current| current.description == key) {
            Some(at) => at,
            None => {
                let values = values_of(reading, modify.dn, &key);
                current.push(Current { description: key, values });
                current.len() - 1
            }
        };
        let now = &mut current[at].values;
        let values = match kind {
            ModifyKind::Delete if given.is_empty() => {
                now.clear();
                Some(Vec::new())
            }
            ModifyKind::Delete => taken(reading, now, given.iter())?,
            _ => {
                if kind == ModifyKind::Replace {
                    now.clear();
                }
                brought(reading, now, given.iter())?
            }
        };
        match values {
            Some(values) => all.push((kind, description, values)),
            None => is_later = true,
        }
    }
    if is_later {
        return Err(LATER);
    }
    all.extend(state.iter().map(|(kind, name, values)| (*kind, &name[..], values.clone())));
    let changes = all.iter().map(|(kind, name, values)| (*kind, *name, values.iter().map(Vec::as_slice)));
    Ok(change_list(changes))
}

/// What is stored of values that come; they are then among those that are there.
/// A word that is there already is refused like any value that is: two hashes of one word differ, so the store would not notice.
///
/// # Errors
/// [`EXISTS`] if it is there already, [`TOO_MANY`] if it is the ninth, and what [`stored`] refuses.
fn brought<'v>(
    reading: &mut Reading<'_>,
    now: &mut Vec<Value>,
    given: impl Iterator<Item = &'v [u8]>,
) -> Result<Option<Vec<Vec<u8>>>, FixedRefusal> {
    let (mut all, mut is_later) = (Vec::new(), false);
    for value in given {
        match is_among(reading, now, value) {
            Ok(true) => return Err(EXISTS),
            Ok(false) => {}
            Err(Later) => is_later = true,
        }
        let Some(values) = stored(reading, std::iter::once(value))? else {
            is_later = true;
            continue;
        };
        let word = password::word(value).map(<[u8]>::to_vec);
        now.extend(values.iter().map(|stored| Value { stored: stored.clone(), word: word.clone() }));
        all.extend(values);
        if now.len() > PASSWORD_VALUES_MAX {
            return Err(TOO_MANY);
        }
    }
    Ok((!is_later).then_some(all))
}

/// Is there a value already for what comes?
///
/// # Errors
/// [`Later`] if that takes a verification which is lacking.
fn is_among(reading: &mut Reading<'_>, now: &[Value], value: &[u8]) -> Result<bool, Later> {
    let Some(word) = password::word(value) else { return Ok(false) };
    let mut is_later = false;
    for Value { stored, word: of } in now {
        match of {
            Some(of) if of == word => return Ok(true),
            Some(_) => {}
            None => match reading.scratch.passwords.verify(stored, word) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(Later) => is_later = true,
            },
        }
    }
    if is_later { Err(Later) } else { Ok(false) }
}

/// The stored values that go by values or words that were sent.
/// Of a word all that it verifies go, for each scheme has a value of it. They are named in the log, so a replay deletes these and no others.
///
/// # Errors
/// [`NO_SUCH_VALUE`] of a word or a value that is not there.
fn taken<'v>(
    reading: &mut Reading<'_>,
    now: &mut Vec<Value>,
    given: impl Iterator<Item = &'v [u8]>,
) -> Result<Option<Vec<Vec<u8>>>, FixedRefusal> {
    let (mut all, mut is_later) = (Vec::new(), false);
    for value in given {
        let before = all.len();
        let word = if password::has_scheme(value) { None } else { Some(value) };
        let mut left = Vec::new();
        for Value { stored, word: of } in now.drain(..) {
            let goes = match (word, &of) {
                (None, _) => stored == value,
                (Some(word), Some(of)) => of == word,
                (Some(word), None) => match reading.scratch.passwords.verify(&stored, word) {
                    Ok(is_right) => is_right,
                    Err(_) => {
                        is_later = true;
                        false
                    }
                },
            };
            if goes { all.push(stored) } else { left.push(Value { stored, word: of }) }
        }
        *now = left;
        if all.len() == before && !is_later {
            // The word is in no answer and goes to no log.
            return Err(NO_SUCH_VALUE);
        }
    }
    Ok((!is_later).then_some(all))
}

/// The stored value that an old password is right for, which comes with a new one. A wrong one counts as a failed bind does: else an open session
/// could try one after the other. While the account is throttled each is wrong.
///
/// # Errors
/// [`LATER`] if it lacks a verification.
pub(crate) fn prove(
    reading: &mut Reading<'_>,
    entry: &EntryRef<'_>,
    word: &[u8],
) -> Result<Option<Vec<u8>>, FixedRefusal> {
    let (failures, now_ns) = (&reading.dsa.failed_binds, reading.now.monotonic_ns);
    let account = reading.dsa.account(&reading.read_point.dn(entry, &mut reading.scratch.evaluator.cache));
    let passwords = &mut reading.scratch.passwords;
    if passwords.is_given_up(|| failures.are_recent(now_ns) && failures.is_throttled(account, now_ns)) {
        return Ok(None);
    }
    let found = passwords.find(reading.read_point, entry, word).map_err(|_| LATER)?;
    match &found {
        Some(_) => failures.succeeded(account),
        None => failures.failed(account, now_ns),
    }
    Ok(found)
}

/// The stored values that a password is right for: with several schemes there are several. `None` if there are none.
///
/// # Errors
/// [`LATER`] if it lacks a verification.
pub(crate) fn of_word(
    reading: &mut Reading<'_>,
    entry: &EntryRef<'_>,
    word: &[u8],
) -> Result<Option<Vec<Vec<u8>>>, FixedRefusal> {
    let Some(first) = prove(reading, entry, word)? else { return Ok(None) };
    let passwords = &mut reading.scratch.passwords;
    let (mut all, mut others, mut is_later) = (vec![first], Vec::new(), false);
    password::first(reading.read_point, entry, |stored| {
        others.push(stored.to_vec());
        others.len() > PASSWORD_VALUES_MAX
    });
    others.retain(|stored| *stored != all[0]);
    for stored in others {
        match passwords.verify(&stored, word) {
            Ok(true) => all.push(stored),
            Ok(false) => {}
            Err(_) => is_later = true,
        }
    }
    if is_later { Err(LATER) } else { Ok(Some(all)) }
}

/// A description in the form of the schema, in lower case.
/// Options are compared as they are written: two spellings of one set are two keys, and are followed each for itself.
fn key_of(description: &[u8]) -> Vec<u8> {
    let options = description.iter().position(|byte| *byte == b';').map_or(&b""[..], |at| &description[at..]);
    [&b"userpassword"[..], options].concat().to_ascii_lowercase()
}

/// Values that an entry has, as far as one update may look at them.
/// No more than an entry may have are looked at, and one beyond, which shows that there are too many.
fn values_of(reading: &mut Reading<'_>, dn: &[u8], key: &[u8]) -> Vec<Value> {
    let (read_point, cache) = (reading.read_point, &mut reading.scratch.evaluator.cache);
    let entry = read_point.resolve(dn, cache).ok().and_then(|id| read_point.entry(id));
    let Some(entry) = entry else { return Vec::new() };
    let schema = read_point.shard().schema();
    let mut values = Vec::new();
    let is_it = |description| schema.describe(description).as_bytes().eq_ignore_ascii_case(key);
    password::visit(read_point, &entry, is_it, |stored| {
        values.push(Value { stored: stored.to_vec(), word: None });
        values.len() > PASSWORD_VALUES_MAX
    });
    values
}
