//! Settings in `cn=config`: each is an attribute. Without values it is what is configured again.
//!
//! The values of a setting are changed as text, by the rules of a modify, and then read as the configuration file would be: one parser, one set of
//! messages. The result is a whole record, so the last one in the log is all that counts.

use crate::behaviour::FIRST_WITH_CONSTRAINTS;
use crate::constraints::{self, ConstraintKind, InForce};
use crate::engine::Dsa;
use crate::limits;
use crate::outcome::{self, Refusal};
use crate::root_dse;
use crate::settings::{
    Author, Choices, Fixed, MEMORY_MAX, NotChanged, Record, Row, SettingsChange, online, value,
};
use env::clock::Now;
use model::ResultCode;
use proto::op::modify::{self, Modify, ModifyKind};
use schema::Schema;
use store::Reader;

/// The setting that an attribute is.
pub(super) fn find(schema: &Schema, description: &[u8]) -> Option<&'static Row<Choices>> {
    let wanted = schema.find_type(description)?;
    online().find(|key| schema.find_type(key.attribute().as_bytes()) == Some(wanted))
}

/// The setting that an attribute is, if it cannot be changed.
pub(super) fn fixed<'d>(dsa: &'d Dsa, description: &[u8]) -> Option<&'d Fixed> {
    let schema = dsa.shard.schema();
    let wanted = schema.find_type(description)?;
    let mut all = dsa.config.settings.fixed.iter();
    all.find(|fixed| schema.find_type(fixed.attribute.as_bytes()) == Some(wanted))
}

/// Changes settings, all that a request names or none. Where there is a log the change is returned, and holds when it is applied.
/// One that is only checked is worked out as any other, and dropped: all that refuses a change comes before it is returned.
pub(super) fn change(
    dsa: &Dsa,
    modify: &Modify<'_>,
    (author, now): (Author<'_>, Now),
    is_checked_only: bool,
) -> Result<Option<SettingsChange>, Refusal> {
    let schema = dsa.shard.schema();
    let of = |change: &modify::Change<'_>| find(schema, change.modification.description);
    let mut keys: Vec<&'static Row<Choices>> = Vec::new();
    for key in modify.changes.iter().filter_map(|change| of(&change)) {
        if !keys.iter().any(|other| other.name == key.name) {
            keys.push(key);
        }
    }
    let change_one = |at: usize, values: &mut Vec<String>| {
        let of_key = |change: &modify::Change<'_>| of(change).is_some_and(|key| key.name == keys[at].name);
        let (attribute, shown) = (keys[at].attribute(), |value| shown(keys[at], value));
        let is_many = keys[at].many();
        let mut changes = modify.changes.iter().filter(of_key);
        changes.try_for_each(|change| apply((&attribute, is_many), &shown, &change, values))
    };
    match dsa.chosen.change::<Refusal>(author, &keys, change_one, schema)? {
        Some(change) => {
            if keys.iter().any(|key| key.name == constraints::KEY) {
                check_constraints(dsa, change.record())?;
            }
            if keys.iter().any(|key| key.name == MEMORY_MAX) {
                check_memory(dsa, change.record())?;
            }
            if is_checked_only {
                return Ok(None);
            }
            if dsa.journal.get().is_some() {
                return Ok(Some(change));
            }
            let record = change.record().clone();
            let put = put(dsa, record.clone(), now);
            put.map_err(|text| (ResultCode::ConstraintViolation, text))?;
            dsa.constraints.put(record.constraints(), &dsa.shard);
            Ok(None)
        }
        None => Ok(None),
    }
}

/// Do all entries satisfy the constraints that a record has? The updates that are applied until they are in force are not looked at.
fn check_constraints(dsa: &Dsa, record: &Record) -> Result<(), Refusal> {
    let rules = record.constraints();
    // Nodes that know none would come to other outcomes.
    if !rules.is_empty() && dsa.behaviour() < FIRST_WITH_CONSTRAINTS {
        let text = "not all nodes know constraints yet: `pando cluster upgrade finish`";
        return Err(outcome::unwilling(text));
    }
    let violation = |text| (ResultCode::ConstraintViolation, text);
    for rule in &rules {
        if let ConstraintKind::Values(values) = &rule.kind
            && let Some(text) = values.contradiction()
        {
            return Err(violation(format!("constraint {}: {text}", rule.name)));
        }
    }
    let in_force = InForce::new(&rules, dsa.shard.schema()).map_err(|(_, text)| violation(text))?;
    let Some(mut reader) = Reader::register(&dsa.shard) else {
        let (code, text) = outcome::NO_READER;
        return Err((code, text.to_owned()));
    };
    constraints::check_all(&in_force, reader.pin().read_point()).map_err(violation)
}

/// Is there address space for the memory that a record says? It was reserved at the start.
/// A record without the key is taken: for what the start was configured with there is enough.
fn check_memory(dsa: &Dsa, record: &Record) -> Result<(), Refusal> {
    let chosen = record.values.get(MEMORY_MAX).and_then(|values| value::bytes(values.first()?).ok());
    let reserved = dsa.shard.memory_bytes_reserved();
    match chosen.filter(|chosen| *chosen > reserved) {
        Some(chosen) => {
            let text = format!(
                "`{MEMORY_MAX}`: at the start address space was reserved for {reserved} bytes: for {chosen} set it in the \
                 configuration file or as a flag, and restart. A node of a cluster reserves as much as its machine has: restart it with \
                 more, or ask a node that has reserved more"
            );
            Err((ResultCode::UnwillingToPerform, text))
        }
        None => Ok(()),
    }
}

/// Puts settings in force, all but constraints: these are for who knows the place of the record in the log.
///
/// # Errors
/// In words, which of them this program does not take: nothing is changed.
/// Called by the applier for a command of the log, by a start, and here where there is no log.
pub(crate) fn put(dsa: &Dsa, record: Record, now: Now) -> Result<(), String> {
    // The first step can fail and changes nothing then; what follows cannot fail after it.
    let choices = dsa.chosen.put(record)?;
    dsa.transactions.put(&choices.transactions, dsa.shard.schema())?;
    // Built-in rules are made of who has rights besides others, so they come with the rules.
    let of_rules = (&choices.access, choices.limits.search, &choices.standing);
    let has_other_rules = dsa.access.put(of_rules, dsa.shard.schema())?;
    dsa.policies.put(&choices.passwords);
    // The next connection and the next bind read these.
    dsa.strengths.put(choices.security);
    dsa.identities.put(&choices.identities);
    dsa.reads.put(choices.reads);
    dsa.default_referral.put(&choices.default_referral);
    dsa.lifetimes.put(choices.lifetimes, &dsa.shard);
    dsa.followers.put(choices.followers, &dsa.shard);
    put_limits(dsa, &choices.limits, choices.memory_bytes_max());
    dsa.change_log.choose(&dsa.system, choices.change_log, now);
    // The root DSE lists features that settings switch on.
    root_dse::show_features(dsa, now);
    dsa.system.invalidate();
    // Who follows changes compares its rights with those of now: in a quiet directory nothing else would make it look.
    if has_other_rules {
        dsa.shard.wake_followers();
    }
    Ok(())
}

/// Those of searches go with the rules. Memory comes first: limits that nobody has chosen are shares of it.
/// A node that has reserved less goes by that, with the shares too.
fn put_limits(dsa: &Dsa, choices: &limits::Choices, chosen: u64) {
    let memory_bytes_max = dsa.shard.limit_memory(chosen);
    dsa.memory_not_reserved.note(chosen, memory_bytes_max);
    dsa.limits.put(choices, memory_bytes_max);
    dsa.peers.put(&choices.clients);
    dsa.throttle.put(choices.clients.update_bytes_max);
    dsa.client_memory.put(limits::client_memory(choices.clients.memory_bytes_max, memory_bytes_max));
}

/// Changes the values of one setting as a modify changes those of an attribute (RFC 4511 section 4.6).
/// It works on a copy of the values: what is refused half way leaves the setting as it was.
/// Values are text until all changes of the request are made; they are parsed once, as a whole.
/// `shown`: a value as the setting shows it.
pub(super) fn apply(
    (attribute, is_many): (&str, bool),
    shown: &impl Fn(String) -> String,
    change: &modify::Change<'_>,
    values: &mut Vec<String>,
) -> Result<(), Refusal> {
    // Messages name the attribute as the client sent it to the entry, not the key of the file.
    // Settings are text; bytes that are none are refused before anything is changed.
    let mut given = Vec::new();
    for value in change.modification.values.iter() {
        let text = std::str::from_utf8(value).map(str::to_owned);
        let text = text.map_err(|_| {
            let text = format!("{attribute}: a value is not UTF-8");
            (ResultCode::InvalidAttributeSyntax, text)
        })?;
        given.push(shown(text));
    }
    match change.kind {
        ModifyKind::Replace => *values = given,
        ModifyKind::Delete if given.is_empty() => values.clear(),
        // Values are compared as they are shown: there is one way to write each.
        ModifyKind::Delete => {
            for value in given {
                let at = values.iter().position(|other| *other == value).ok_or_else(|| {
                    let text = format!("{attribute}: it has no value {}", outcome::quoted(value.as_bytes()));
                    (ResultCode::NoSuchAttribute, text)
                })?;
                values.remove(at);
            }
        }
        ModifyKind::Add => {
            for value in given {
                if values.contains(&value) {
                    let text = format!("{attribute}: it has the value {}", outcome::quoted(value.as_bytes()));
                    return Err((ResultCode::AttributeOrValueExists, text));
                }
                values.push(value);
            }
        }
        ModifyKind::Increment => {
            let text = format!("{attribute}: settings are replaced, not incremented");
            return Err(outcome::unwilling(text));
        }
    }
    // Checked at the end, so that a delete and an add in one request can replace the value.
    match is_many || values.len() <= 1 {
        true => Ok(()),
        false => Err((ResultCode::ConstraintViolation, format!("{attribute} has one value: replace it"))),
    }
}

/// A value as the setting shows it. One that is bad stays as it is, and is refused later.
fn shown(key: &Row<Choices>, value: String) -> String {
    let mut scratch = Choices::default();
    match key.set(&mut scratch, std::slice::from_ref(&value)) {
        Ok(()) => key.show(&scratch).pop().unwrap_or(value),
        Err(_) => value,
    }
}

/// Busy is no fault of the request: the same one succeeds when the change before it is in force.
impl From<NotChanged> for Refusal {
    fn from(error: NotChanged) -> Refusal {
        let busy = "another change of the settings is being written; try again";
        match error {
            NotChanged::Bad(text) => (ResultCode::ConstraintViolation, text),
            NotChanged::Busy => (ResultCode::Busy, busy.to_owned()),
        }
    }
}
