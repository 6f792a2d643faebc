//! May a requester make an update? Decided at a read point, before the log. What hung on the content of an entry travels with the command as
//! conditions ([`crate::parcel::Condition`]), and is judged again when it is applied.
//!
//! Each function answers one question of the table of operations in `docs/access.md`, in this order: is the entry there for the
//! requester at all, may the entry be changed, may each value. The order is what keeps a refusal from telling more than the
//! requester knew: an entry that is hidden is answered as absent before any right of it is looked at, and a right is missing before
//! it is looked at whether a name is taken.
//!
//! Rights are looked at again by nobody. The command in the log has no requester, and a replay decides nothing. So whatever made a
//! decision true and may be false when the command has its turn goes along as a condition. One condition too many makes an update
//! fail that might have been made. One too few lets a client change what it may not, by being faster than the log.

pub(crate) mod chained;
pub(crate) mod password;
pub(crate) mod referred;
pub(crate) mod relax;

use crate::access::{
    Action, Item, Own, Question, Requester, ViewId, Views, asks_for, each_value, put_answer,
};
use crate::admission::changes_rules;
use crate::context::Reading;
use crate::faults::holes;
use crate::parcel::Condition;
use crate::password::policies::may_be_of_policy;
use crate::worker::Scratch;
use ::access::{Entry, Operation, Right, evaluate};
use env::planted;
use model::dn::{parse_rdn, split_first};
use model::filter::Assertion;
use model::{Description, EntryId, Filter, ResultCode};
use proto::control::assertion;
use proto::ext::password_modify;
use proto::message::{Message, Request};
use proto::op::modify::ModifyKind;
use proto::op::{Add, Modify, ModifyDn};
use schema::{HeldDescriptions, Schema};
use store::derived::Derived;
use store::search::evaluate::Truth;
use store::{EntryRef, Unresolved};

/// Why an update is not made.
/// The text names the right and not the rule: which rules there are is for administrators.
pub(crate) enum Denied {
    /// The requester lacks a right. The text names it.
    Right(String),
    /// For the requester there is no such entry.
    Absent(Unresolved),
}

/// What must still be true when the update is applied, encoded; empty if its rights hang on no entry's content.
pub(crate) type Conditions = Vec<u8>;

/// Decides.
///
/// # Errors
/// Why the update is not made.
/// Most updates come of those who may change everything. For these it is one load; nothing is resolved.
pub(crate) fn authorize(
    reading: &mut Reading<'_>,
    who: Requester,
    request: &Request<'_>,
) -> Result<Conditions, Denied> {
    // Who may change all values may not yet say who else may.
    if reading.scratch.views.writes_all(who.class) && !changes_rules(reading.dsa.shard.schema(), request) {
        return Ok(Conditions::new());
    }
    match request {
        Request::Add(request) => add(reading, who, request),
        Request::Modify(request) => modify(reading, who, request),
        Request::Delete(dn) => {
            let (entry, view) = target(reading, who, dn, Operation::Delete)?;
            on_entry(reading, view, Right::Remove)?;
            Ok(conditions(reading, who, &entry, view, dn))
        }
        Request::ModifyDn(request) => rename(reading, who, request),
        _ => unreachable!("it is no update of an entry"),
    }
}

/// May a requester use the controls of a message, and its extended operation? Not even decoded is what it may not use.
///
/// # Errors
/// Code and text of the refusal.
/// It comes before the control is decoded. What may not be used must not have a decoder that can be attacked either.
pub(crate) fn use_of(
    views: &Views,
    who: Requester,
    message: &Message<'_>,
    schema: &Schema,
) -> Result<(), (ResultCode, String)> {
    if views.uses_all(who.class) || planted::is(holes::USE_NOT_JUDGED) {
        return Ok(());
    }
    let operation = operation_of(&message.request);
    let refused = |what: &str, oid: &[u8]| {
        let oid = String::from_utf8_lossy(oid);
        (
            ResultCode::InsufficientAccessRights,
            format!("insufficient rights: use of the {what} {oid} is needed"),
        )
    };
    let may = |item| views.may_use(who.class, operation, item, schema);
    for control in message.controls.iter() {
        if !std::str::from_utf8(control.oid).is_ok_and(|oid| may(Item::Control(oid))) {
            return Err(refused("control", control.oid));
        }
    }
    match &message.request {
        Request::Extended(extended)
            if !std::str::from_utf8(extended.oid).is_ok_and(|oid| may(Item::Extended(oid))) =>
        {
            Err(refused("extended operation", extended.oid))
        }
        _ => Ok(()),
    }
}

/// As what rules know a request.
/// What no rule can name counts as a bind, so that a rule on other operations is not about it.
pub(crate) fn operation_of(request: &Request<'_>) -> Operation {
    match request {
        Request::Search(_) => Operation::Search,
        Request::Compare(_) => Operation::Compare,
        Request::Add(_) => Operation::Add,
        Request::Modify(_) => Operation::Modify,
        Request::ModifyDn(_) => Operation::Rename,
        Request::Delete(_) => Operation::Delete,
        Request::Extended(extended) if extended.oid == password_modify::OID => Operation::PasswordModify,
        _ => Operation::Bind,
    }
}

/// What a DN leads to for a requester: an entry that may not be disclosed is not there, and the nearest superior is one that may be.
/// It is the one place that decides what absent means, for all operations. matchedDN is made of what it returns, so it
/// walks up until a superior may be disclosed.
pub(crate) fn visible(
    reading: &mut Reading<'_>,
    who: Requester,
    found: Result<EntryId, Unresolved>,
) -> Result<EntryId, Unresolved> {
    if who.is_root() {
        return found;
    }
    let (mut next, is_found) = match found {
        Ok(id) => (Some(id), true),
        Err(Unresolved::NoSuchObject(matched)) => (matched, false),
        Err(unresolved) => return Err(unresolved),
    };
    let mut is_first = true;
    while let Some(entry) = next.and_then(|id| reading.read_point.entry(id)) {
        let view = reading.scratch.view(who, Action::of(Operation::Search), &entry, reading.read_point);
        if reading.scratch.views.may(view, Right::Disclose) {
            return match is_first && is_found {
                true => Ok(entry.id),
                false => Err(Unresolved::NoSuchObject(Some(entry.id))),
            };
        }
        is_first = false;
        next = Some(entry.parent()).filter(|id| id.0 != 0);
    }
    Err(Unresolved::NoSuchObject(None))
}

/// An entry that is to be changed, if it may be disclosed, and the view on it.
/// Two views of one entry: whether it may be disclosed is asked as of a search, so that no operation finds an entry
/// that others do not; what may be done with it is asked as of this operation.
///
/// # Errors
/// [`Denied::Absent`] of an entry that is not there, or may not be disclosed: the same for both.
fn target<'r>(
    reading: &mut Reading<'r>,
    who: Requester,
    dn: &[u8],
    operation: Operation,
) -> Result<(EntryRef<'r>, ViewId), Denied> {
    let found = reading.read_point.resolve(dn, &mut reading.scratch.evaluator.cache);
    let id = visible(reading, who, found).map_err(Denied::Absent)?;
    let entry = reading.read_point.entry(id).expect("it was just found");
    let view = reading.scratch.view(who, Action::of(operation), &entry, reading.read_point);
    Ok((entry, view))
}

/// A right on the entry as a whole, of a view that the caller has of it. It asks nothing of the entry any more.
///
/// # Errors
/// [`Denied::Right`] with the word of the right.
fn on_entry(reading: &mut Reading<'_>, view: ViewId, right: Right) -> Result<(), Denied> {
    if reading.scratch.views.may(view, right) {
        return Ok(());
    }
    reading.scratch.note_rule(reading.dsa.shard.schema(), view, Item::Entry, right);
    Err(Denied::Right(format!("insufficient rights: {} on the entry is needed", right.word())))
}

/// The right on all values that are given, or on the attribute as a whole if there are none.
///
/// # Errors
/// [`Denied::Right`] with the right and the attribute, and never a value.
pub(crate) fn on_attribute<'v>(
    reading: &mut Reading<'_>,
    who: Requester,
    view: ViewId,
    description: Description,
    right: Right,
    values: impl IntoIterator<Item = &'v [u8]>,
) -> Result<(), Denied> {
    on_values(reading, who, view, description, right, (values, false))
}

/// As [`on_attribute`]. Where none is given, `none_is_allowed` says whether that is as good as values that are allowed.
/// The way is short unless a rule is about values: then each is judged by itself, and the first that may not ends it.
fn on_values<'v>(
    reading: &mut Reading<'_>,
    who: Requester,
    view: ViewId,
    description: Description,
    right: Right,
    (values, none_is_allowed): (impl IntoIterator<Item = &'v [u8]>, bool),
) -> Result<(), Denied> {
    let schema = reading.dsa.shard.schema();
    let on = reading.scratch.views.on_attribute(view, description, schema);
    // Who gives rights must be trusted with more than the values of an entry.
    let gives_rights = description.attribute_type == schema.well_known().access_rule;
    let right = match gives_rights && !planted::is(holes::RULES_AS_VALUES) {
        true => Right::Manage,
        false => right,
    };
    if on.every.has(right) {
        return Ok(());
    }
    // Rules on values are asked for each of them.
    if on.some.has(right) {
        let mut values = values.into_iter().peekable();
        if (values.peek().is_some() || none_is_allowed)
            && may_each(reading, who, (view, description, right), values)
        {
            return Ok(());
        }
    }
    let name = schema.describe(description);
    if planted::is(holes::STATE_NOT_JUDGED) && may_be_of_policy(name.as_bytes()) {
        return Ok(());
    }
    reading.scratch.note_rule(schema, view, Item::Attribute(description), right);
    Err(Denied::Right(format!("insufficient rights: {} on {name} is needed", right.word())))
}

/// A right on each of several values.
fn may_each<'v>(
    reading: &mut Reading<'_>,
    who: Requester,
    (view, description, right): (ViewId, Description, Right),
    mut values: impl Iterator<Item = &'v [u8]>,
) -> bool {
    let shard = &reading.dsa.shard;
    let Scratch { views, evaluator, .. } = &mut *reading.scratch;
    let on = views.on_values(view, description, right, shard);
    let own = match on.asks_for_own() {
        true => views.own_name(who, reading.read_point, &mut evaluator.cache),
        false => Own::Nobody,
    };
    let mut form = Vec::new();
    values.all(|value| on.may(&own, shard.schema(), description, value, &mut form))
}

/// An add has no conditions. All that it hung on is its own content and its place, which the command has.
fn add(reading: &mut Reading<'_>, who: Requester, request: &Add<'_>) -> Result<Conditions, Denied> {
    let schema = reading.dsa.shard.schema();
    let read_point = reading.read_point;
    // Rights come before existence: whether the name is taken is not looked at.
    let superior = match split_first(request.dn).1 {
        Some(dn) if reading.dsa.shard.holds(dn) => {
            let found = read_point.resolve(dn, &mut reading.scratch.evaluator.cache);
            match visible(reading, who, found) {
                Ok(id) => id,
                Err(unresolved) => return Err(Denied::Absent(unresolved)),
            }
        }
        // The root of a naming context.
        _ => EntryId(0),
    };
    let view = view_of_new(reading, who, request, superior);
    if planted::is(holes::EXISTENCE_FIRST)
        && read_point.resolve(request.dn, &mut reading.scratch.evaluator.cache).is_ok()
    {
        return Ok(Conditions::new());
    }
    on_entry(reading, view, Right::Create)?;
    // Also of options that no entry has yet: a rule may be about these.
    let mut held = HeldDescriptions::new(schema);
    for attribute in request.attributes.iter() {
        // What the schema does not know is refused by the schema.
        let Ok(description) = held.describe(attribute.description) else { continue };
        on_attribute(reading, who, view, description, Right::Add, attribute.values.iter())?;
    }
    // The entry gets the values of its RDN, whether they are given or not.
    for (name, value) in avas(split_first(request.dn).0) {
        let Ok(description) = held.describe(&name) else { continue };
        on_attribute(reading, who, view, description, Right::Add, [&value[..]])?;
    }
    Ok(Conditions::new())
}

/// The view on an entry as it would be. A question that only an entry that is there can answer is undefined, which counts against the
/// requester.
/// Its facts are put together here and not by [`Views::of`], which looks at an entry. The two must agree: a rule that
/// allows an add and forbids to read what was added is no fault, but one that is passed by adding is.
fn view_of_new(reading: &mut Reading<'_>, who: Requester, request: &Add<'_>, superior: EntryId) -> ViewId {
    let (schema, read_point) = (reading.dsa.shard.schema(), reading.read_point);
    let action = Action::of(Operation::Add);
    let Some(class) = reading.scratch.views.class_of(who.class) else { return ViewId::NONE };
    // It may be the entry that a rule names, which is not there yet.
    let place = (EntryId(0), superior);
    let (views, cache) = (&mut reading.scratch.views, &mut reading.scratch.evaluator.cache);
    let mut facts = views.place_facts(&class, action, place, read_point, cache);
    // Borrowed of the class: the count of references to the rule set is written by all threads.
    let set = &class.set;
    let mut key = Vec::new();
    if schema.normalise_dn(request.dn, &mut key).is_ok() {
        for (bit, place) in class.places.iter().enumerate() {
            let place = &set.places[*place];
            if set.bases[place.base].key == key && place.has(0) {
                facts[bit / 64] |= 1 << (bit % 64);
            }
        }
    }
    let would_be = plain_entry(schema, request);
    for (at, question) in class.questions.iter().enumerate() {
        let truth = match &set.questions[*question] {
            Question::Own => Truth::False,
            Question::Parent(levels) => {
                let above = std::iter::successors(Some(superior), |id| {
                    read_point.entry(*id).map(|entry| entry.parent())
                });
                let above = above.take_while(|id| id.0 != 0).nth(usize::from(*levels).saturating_sub(1));
                let above = above.and_then(|id| read_point.entry(id));
                match above.is_some_and(|above| who.own.is_some_and(|own| own.is(&above))) {
                    true => Truth::True,
                    false => Truth::False,
                }
            }
            Question::Filter(filter) => {
                match would_be.as_ref().map(|entry| evaluate(schema, &filter.filter(), entry)) {
                    Some(::access::Truth::True) => Truth::True,
                    Some(::access::Truth::False) => Truth::False,
                    Some(::access::Truth::Undefined) | None => Truth::Undefined,
                }
            }
            Question::Names(_) | Question::NamesGroup(_) | Question::Shares(_) | Question::OfStar { .. } => {
                Truth::Undefined
            }
        };
        put_answer(&class, &mut facts, at, truth);
    }
    reading.scratch.views.of_facts(who.class, action, facts, read_point)
}

/// An entry as an add would make it: with what is given, and with what the server adds, which is the values of the RDN and the
/// superclasses. A rule that forbids by one of those would else be passed by leaving it out. `None` of a DN or a description that
/// is none.
fn plain_entry(schema: &Schema, request: &Add<'_>) -> Option<Entry> {
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
    let attribute = |attribute: proto::list::Attribute<'_>| {
        Some((text(attribute.description)?, attribute.values.iter().map(<[u8]>::to_vec).collect()))
    };
    let mut attributes: Vec<(String, Vec<Vec<u8>>)> =
        request.attributes.iter().map(attribute).collect::<Option<_>>()?;
    for (name, value) in avas(split_first(request.dn).0) {
        attributes.push((text(&name)?, vec![value]));
    }
    let is_class = |name: &str| schema.find_type(name.as_bytes()) == Some(schema.well_known().object_class);
    let given = attributes.iter().filter(|(name, _)| is_class(name)).flat_map(|(_, values)| values);
    let superiors = given
        .filter_map(|class| schema.find_class(class))
        .flat_map(|class| schema.class(class).superiors.iter())
        .map(|class| schema.class(*class).name().as_bytes().to_vec());
    let superiors = superiors.collect();
    attributes.push(("objectClass".to_owned(), superiors));
    Entry::new(schema, &text(request.dn)?, attributes)
}

/// Each change is judged by the values that it brings and takes away. The order of changes plays no part: a value that one change brings and
/// the next takes away needs both rights.
///
/// # Errors
/// The first change that may not be made.
fn modify(reading: &mut Reading<'_>, who: Requester, request: &Modify<'_>) -> Result<Conditions, Denied> {
    let (entry, view) = target(reading, who, request.dn, Operation::Modify)?;
    let schema = reading.dsa.shard.schema();
    let mut held = HeldDescriptions::new(schema);
    let mut hangs_on_values = false;
    for change in request.changes.iter() {
        let Ok(description) = held.describe(change.modification.description) else { continue };
        let given: Vec<&[u8]> = change.modification.values.iter().collect();
        let mut present = Vec::new();
        let on = reading.scratch.views.on_attribute(view, description, schema);
        // A replace takes away what it does not name, and a delete without values takes all. Both need rights on values that
        // the request does not have.
        let needs_present = given.is_empty() || change.kind == ModifyKind::Replace;
        // Only rules on values ask which there are.
        if needs_present && on.every != on.some {
            // A value that comes before this update is applied would go with those that were looked at.
            hangs_on_values = true;
            each_value(&entry, description.attribute_type, reading.read_point, &mut |value| {
                present.push(value.to_vec());
            });
        }
        let present: Vec<&[u8]> = present.iter().map(|value| &value[..]).collect();
        let differs = |value: &&[u8], others: &[&[u8]]| !others.contains(value);
        let is_there = match change.kind {
            ModifyKind::Replace => {
                let (come, go): (Vec<&[u8]>, Vec<&[u8]>) = (
                    given.iter().copied().filter(|value| differs(value, &present)).collect(),
                    present.iter().copied().filter(|value| differs(value, &given)).collect(),
                );
                // A replace by what is there brings and takes nothing.
                on_values(reading, who, view, description, Right::Add, (come, true))?;
                on_values(reading, who, view, description, Right::Delete, (go, true))
            }
            ModifyKind::Add => on_attribute(reading, who, view, description, Right::Add, given),
            ModifyKind::Delete if given.is_empty() => {
                on_attribute(reading, who, view, description, Right::Delete, present)
            }
            ModifyKind::Delete => on_attribute(reading, who, view, description, Right::Delete, given),
            ModifyKind::Increment => on_attribute(reading, who, view, description, Right::Increment, given),
        };
        is_there?;
    }
    let mut all = conditions(reading, who, &entry, view, request.dn);
    if hangs_on_values {
        all.extend(unchanged_condition(reading, &entry, request.dn));
    }
    Ok(all)
}

/// Subordinates of a moved entry need nothing: they keep what they are, and a rule about their place is about the new one.
///
/// # Errors
/// The right that is missing, at the old place or at the new one.
fn rename(reading: &mut Reading<'_>, who: Requester, request: &ModifyDn<'_>) -> Result<Conditions, Denied> {
    let mut all = leave(reading, who, request)?;
    if let Some(superior) = request.new_superior {
        let (above, view) = target(reading, who, superior, Operation::Rename)?;
        on_entry(reading, view, Right::MoveIn)?;
        all.extend(conditions(reading, who, &above, view, superior));
    }
    Ok(all)
}

/// What a rename needs but for the rights on its new superior.
///
/// # Errors
/// The right that is missing on the entry.
fn leave(reading: &mut Reading<'_>, who: Requester, request: &ModifyDn<'_>) -> Result<Conditions, Denied> {
    let (entry, view) = target(reading, who, request.dn, Operation::Rename)?;
    let schema = reading.dsa.shard.schema();
    let mut held = HeldDescriptions::new(schema);
    on_entry(reading, view, Right::Rename)?;
    // Always, also if the RDN stays.
    for (name, value) in avas(request.new_rdn) {
        let Ok(description) = held.describe(&name) else { continue };
        on_attribute(reading, who, view, description, Right::Add, [&value[..]])?;
    }
    if request.delete_old_rdn {
        for (name, value) in avas(split_first(request.dn).0) {
            let Ok(description) = held.describe(&name) else { continue };
            on_attribute(reading, who, view, description, Right::Delete, [&value[..]])?;
        }
    }
    if request.new_superior.is_some() {
        on_entry(reading, view, Right::MoveOut)?;
    }
    Ok(conditions(reading, who, &entry, view, request.dn))
}

/// True of an entry as long as nobody changes it. What an answer hung on may be more than a filter on the entry can say: which values there
/// are besides those that were given, or what another entry has.
pub(crate) fn unchanged(reading: &mut Reading<'_>, entry: &EntryRef<'_>) -> Vec<u8> {
    let (read_point, cache) = (reading.read_point, &mut reading.scratch.evaluator.cache);
    let mut csn = Vec::new();
    match read_point.derive(entry, Derived::EntryCsn, cache, &mut csn) {
        true => assertion::encode(&Filter::Equality(Assertion { attribute: b"entryCSN", value: &csn })),
        // Without time stamps nothing tells: never true.
        false => assertion::encode(&Filter::Or(Vec::new())),
    }
}

/// The condition that an update has if its rights were decided by the values that the entry has.
fn unchanged_condition(reading: &mut Reading<'_>, entry: &EntryRef<'_>, dn: &[u8]) -> Conditions {
    let (filter, mut all) = (unchanged(reading, entry), Conditions::new());
    let code = ResultCode::InsufficientAccessRights as u32;
    Condition { code, dn, filter: &filter }.encode(&mut all);
    all
}

/// What was true of an entry's content when the decision was made, and must be when the update is applied.
/// Only what is known, true or false, is a condition. What is undefined has already counted against the requester, and
/// cannot come out worse.
fn conditions(
    reading: &mut Reading<'_>,
    who: Requester,
    entry: &EntryRef<'_>,
    view: ViewId,
    dn: &[u8],
) -> Conditions {
    let mut all = Conditions::new();
    for (question, is_so) in reading.scratch.views.answers(view) {
        for filter in filters(reading, who, entry, &question, is_so) {
            let code = ResultCode::InsufficientAccessRights as u32;
            Condition { code, dn, filter: &filter }.encode(&mut all);
        }
    }
    all
}

/// An answer as filters, which are true as long as it holds.
/// An entry is changed by others between decision and turn, and so is the requester's own. The filters have the values
/// that were looked at, so a replay needs no entry but the one that is changed.
fn filters(
    reading: &mut Reading<'_>,
    who: Requester,
    entry: &EntryRef<'_>,
    question: &Question,
    is_so: bool,
) -> Vec<Vec<u8>> {
    let (schema, read_point) = (reading.dsa.shard.schema(), reading.read_point);
    let own = who.own.and_then(|own| own.find(read_point));
    let name = |id| schema.describe(Description::plain(id)).into_owned();
    let encoded = |name: &str, value: &[u8]| {
        let equality = Filter::Equality(Assertion { attribute: name.as_bytes(), value });
        assertion::encode(&if is_so { equality } else { Filter::Not(Box::new(equality)) })
    };
    match question {
        // Where an entry lies follows from its name, which the command has.
        Question::Own | Question::Parent(_) | Question::OfStar { .. } => Vec::new(),
        Question::Filter(filter) if is_so => vec![filter.ber().to_vec()],
        Question::Filter(filter) => vec![assertion::encode(&Filter::Not(Box::new(filter.filter())))],
        Question::Names(id) => {
            let Some(own) = own else { return vec![unchanged(reading, entry)] };
            vec![encoded(&name(*id), &read_point.dn(&own, &mut reading.scratch.evaluator.cache))]
        }
        Question::NamesGroup(id) | Question::Shares(id) => {
            let Some(own) = own else { return vec![unchanged(reading, entry)] };
            let mut values = Vec::new();
            let of = if matches!(question, Question::Shares(_)) { &own } else { entry };
            each_value(of, *id, read_point, &mut |value| values.push(value.to_vec()));
            if is_so {
                // One that made it true is enough.
                let evaluator = &mut reading.scratch.evaluator;
                let dn = read_point.dn(&own, &mut evaluator.cache);
                let member = asks_for(&dn, Some(&own), read_point);
                let found = values.iter().find(|value| match question {
                    Question::Shares(id) => entry.has_value(*id, value),
                    _ => {
                        let group = read_point.resolve(value, &mut evaluator.cache).ok();
                        let group = group.and_then(|id| read_point.entry(id));
                        group.is_some_and(|group| {
                            evaluator.evaluate(&member, &group, read_point) == Truth::True
                        })
                    }
                });
                return found.map(|value| encoded(&name(*id), value)).into_iter().collect();
            }
            match question {
                Question::Shares(_) => values.iter().map(|value| encoded(&name(*id), value)).collect(),
                // That no group of the entry has the requester is not for the entry alone to tell, but which groups it has.
                _ => vec![unchanged(reading, entry)],
            }
        }
    }
}

/// Names and values of an RDN; none of what is no RDN, which is refused when it is applied.
/// Both RDNs of a rename are taken apart here: the one that goes and the one that comes.
fn avas(rdn: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let parsed = parse_rdn(rdn).unwrap_or_default();
    parsed.into_iter().map(|ava| (ava.attribute_type.to_vec(), ava.value.into_owned())).collect()
}
