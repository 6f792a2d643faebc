//! Searches that the server itself follows to others (decisions 107 and 111): at or below a referral object, and where referral objects are in the scope.
//!
//! The referral object stands for all that is behind it. A client may search there if it may search the object, test the attributes that it may
//! test of the object, and read of entries what it may read of the object. What the schema lacks, no rule can be about: it is left out.

use super::base::Refusal;
use super::query::Query;
use super::suspended::SearchContext;
use crate::access::{Action, ViewId, tighter};
use crate::chaining::{Answer, Part, Question};
use crate::context::Reading;
use crate::control::Requested;
use crate::faults::holes;
use crate::monitor::count;
use crate::op::chained::TOO_MANY;
use crate::outcome;
use crate::referral::{self, Referral};
use ::access::{Operation, Right};
use env::planted;
use model::limits::CHAIN_SEARCHES_MAX;
use model::{Description, EntryId, OptionsId, ResultCode};
use proto::list::{Attributes, Octets, attribute_list, octet_list};
use proto::message::{Frame, Reply, Request, Response, frame};
use proto::op::Search;
use proto::op::search::{SearchEntry, encode_reference};
use proto::result::{LdapResult, encode_response};
use proto::tag;
use schema::{HeldDescriptions, Schema};
use std::collections::BTreeMap;
use store::search::{Cursor, Scopes, Step};

/// Answers a search that meets a referral by what other servers say. `false`, and nothing, if it is not to be chained. `true` without an answer if that
/// is not there yet: then the thread's passwords lack it.
#[cold]
pub(super) fn run(
    reading: &mut Reading<'_>,
    context: &SearchContext<'_>,
    (id, request, requested): (i32, &Search<'_>, &Requested<'_>),
    refusal: &Refusal,
    out: &mut Vec<u8>,
) -> bool {
    let (Refusal::Referral(referral), Some(outward)) = (refusal, reading.dsa.outward.get()) else {
        return false;
    };
    // Controls are about one search at one server: pages, sorting, a transaction. Such a search is referred.
    if requested.paged.is_some() || requested.rare.is_some() {
        return false;
    }
    let Some(server) = outward.chaining.server_of(referral.uris()) else { return false };
    let Some(view) = view_of(reading, context, referral) else { return false };
    let say = |out: &mut Vec<u8>, code, text: &str| outcome::say(out, id, tag::SEARCH_DONE, code, text);
    if !reading.scratch.views.may(view, Right::Search) {
        say(out, ResultCode::InsufficientAccessRights, "insufficient rights to search here");
        return true;
    }
    if !may_test(reading, view, request) {
        say(out, ResultCode::InsufficientAccessRights, UNTESTABLE);
        return true;
    }
    let question = question(reading, context, request, &[referral.uris()]);
    let question = Question { object: referral.dn.clone(), ..question };
    match reading.scratch.passwords.follow(outward, server, question) {
        Ok(answer) => write(reading, context, (id, view, referral), &answer, out),
        Err(_) if reading.scratch.passwords.refusal().is_some() => say(out, TOO_MANY.0, TOO_MANY.1),
        Err(_) => {}
    }
    true
}

/// Units of work in which referral objects are looked for that are followed. Where there are more, the client gets references to the others.
const BELOW_WORK: u64 = 4096;
/// Units of work of an entry of another server: its name is compared, and each of its attributes looked up.
const ENTRY: u64 = 128;
/// Bytes of an entry that take another unit. An attribute has some twenty.
const BYTES_OF_UNIT: u64 = 4;
/// Attributes that a filter names, each as it is spelled. Each is judged with all options that rules name.
const JUDGED_MAX: usize = 64;
const UNTESTABLE: &str = "the filter has an attribute that may not be tested behind this referral object, or that the schema lacks";

/// The requester's view on the referral object, for which it was found to be readable.
fn view_of(reading: &mut Reading<'_>, context: &SearchContext<'_>, referral: &Referral) -> Option<ViewId> {
    let read_point = reading.read_point;
    let object = read_point.resolve(&referral.dn, &mut reading.scratch.evaluator.cache).ok()?;
    let object = read_point.entry(object)?;
    let who = context.identity.requester();
    Some(reading.scratch.view(who, Action::of(Operation::Search), &object, read_point))
}

/// May all attributes of the filter be tested? The other server tests them with rights of its own.
fn may_test(reading: &mut Reading<'_>, view: ViewId, request: &Search<'_>) -> bool {
    if view == ViewId::ROOT || planted::is(holes::CHAINED_FILTER_NOT_JUDGED) {
        return true;
    }
    let schema = reading.dsa.shard.schema();
    let views = std::cell::RefCell::new(&mut reading.scratch.views);
    let may = |attribute_type, options| {
        let description = Description { attribute_type, options };
        views.borrow_mut().on_attribute(view, description, schema).every.has(Right::Search)
    };
    // An item on `name` tests `sn` too, and one on `mail` also `mail;x-private`, of which no entry here need have a value: all that rules here can be about.
    let ruled = views.borrow().options_of_rules(view);
    let held = std::cell::RefCell::new(HeldDescriptions::new(schema));
    let describe = |text: &[u8]| held.borrow_mut().describe(text).ok();
    let is_open = |attribute: &[u8]| {
        let (Some((general, wanted)), Some(named)) = (schema.find_wanted(attribute), describe(attribute))
        else {
            return false;
        };
        // Sets of options that are held have ids like all others.
        if !ruled.iter().all(|options| describe(&[attribute, b";", options.as_bytes()].concat()).is_some()) {
            return false;
        }
        let types = schema.subtypes(general);
        let mut tested = types.iter().flat_map(|attribute_type| {
            let sets = (0..schema.option_ids_end()).map(OptionsId);
            let tested = sets.filter(|options| schema.includes_options(*options, &wanted));
            tested.map(move |options| (attribute_type, options))
        });
        let is_planted = planted::is(holes::CHAINED_SUBTYPES_NOT_JUDGED);
        may(named.attribute_type, named.options)
            && (is_planted || tested.all(|(of, options)| may(*of, options)))
    };
    let judged = std::cell::RefCell::new(BTreeMap::<Vec<u8>, bool>::new());
    let is_judged_open = |attribute: &[u8]| {
        if let Some(is_open) = judged.borrow().get(attribute) {
            return *is_open;
        }
        let is_open = judged.borrow().len() < JUDGED_MAX && is_open(attribute);
        judged.borrow_mut().insert(attribute.to_owned(), is_open);
        is_open
    };
    !request.filter.mentions(&|attribute: &[u8]| !is_judged_open(attribute))
}

/// What the other server is asked. Its limits are those of the request, or those that the requester has here where these are less: it would go on
/// for an answer that is cut off anyway.
fn question(
    reading: &Reading<'_>,
    context: &SearchContext<'_>,
    request: &Search<'_>,
    places: &[&[Vec<u8>]],
) -> Question {
    let bounds = reading.scratch.views.bounds(context.identity.requester().class);
    // No limit of either is negative.
    let limit = |asked: i32, own| tighter(asked.unsigned_abs(), own).cast_signed();
    let search = Search {
        size_limit: limit(request.size_limit, bounds.size),
        time_limit_s: limit(request.time_limit_s, bounds.time_s),
        ..request.clone()
    };
    let mut message = Vec::new();
    Request::Search(search).encode(&mut message, 1, &[]);
    let places = places.iter().map(|urls| urls.to_vec()).collect();
    Question { places, message, who: context.identity.dn.clone(), ..Question::default() }
}

/// What comes of the referral objects in the scope of a search, before it looks at its own entries.
/// The search that runs again does all of this anew, at a new read point: the same objects with the same URLs are the same question, whose answer is there.
pub(super) enum Below {
    /// These are answered, with so many entries; the client gets references to all others.
    Followed(Vec<EntryId>, u32),
    /// The search waits for other servers.
    Waits,
    /// It was answered: there are more entries than its client wants.
    Ended,
}

/// Follows the referral objects in the scope of a search whose servers may be asked. What they say comes first, for it is there. Of one that fails nothing
/// comes: its reference is sent, as without chaining.
#[cold]
pub(super) fn follow_below(
    reading: &mut Reading<'_>,
    context: &SearchContext<'_>,
    (query, request, requested): (&Query<'_>, &Search<'_>, &Requested<'_>),
    scopes: &Scopes,
    out: &mut Vec<u8>,
) -> Below {
    let none = Below::Followed(Vec::new(), 0);
    let Some(outward) = reading.dsa.outward.get() else { return none };
    if requested.paged.is_some() || requested.rare.is_some() {
        return none;
    }
    let (objects, places) = objects_below(reading, query, request, scopes);
    let Some(server) = places.first().and_then(|urls| outward.chaining.server_of(urls)) else { return none };
    let places: Vec<&[Vec<u8>]> = places.iter().map(Vec::as_slice).collect();
    let question = Question { is_each: true, ..question(reading, context, request, &places) };
    // One job for all of them: the search waits once, for as long as one request may take.
    let answer = match reading.scratch.passwords.follow(outward, server, question) {
        Ok(answer) => answer,
        // The client is referred where too many wait.
        Err(_) if reading.scratch.passwords.refusal().is_some() => return none,
        Err(_) => return Below::Waits,
    };
    let (mut followed, mut entries) = (Vec::new(), 0);
    for (object, part) in objects.into_iter().zip(&answer.parts) {
        if part.is_whole || answer.code != ResultCode::Success as u32 {
            let Some(entry) = query.read_point.entry(object) else { continue };
            // Worked out anew: a thread remembers so many.
            let view =
                reading.scratch.view(query.who, Action::of(Operation::Search), &entry, query.read_point);
            entries += write_part(reading, context, (query.id, view), part, out);
            followed.push(object);
        }
    }
    if answer.code != ResultCode::Success as u32 {
        let code = ResultCode::from_number(answer.code).unwrap_or(ResultCode::Other);
        outcome::say(out, query.id, tag::SEARCH_DONE, code, &answer.text);
        return Below::Ended;
    }
    Below::Followed(followed, entries)
}

/// The referral objects that are followed, each with its URLs: those that the requester may read and search, with attributes in the filter that it may test.
/// The objects are found as those are to which references are sent: by the set of all referral objects, in the order of their ids.
fn objects_below(
    reading: &mut Reading<'_>,
    query: &Query<'_>,
    request: &Search<'_>,
    scopes: &Scopes,
) -> (Vec<EntryId>, Vec<Vec<Vec<u8>>>) {
    let (read_point, mut work) = (query.read_point, BELOW_WORK);
    let (mut objects, mut places) = (Vec::new(), Vec::new());
    let Some(outward) = reading.dsa.outward.get() else { return (objects, places) };
    let mut cursor = Cursor::referrals(scopes.clone());
    while objects.len() < CHAIN_SEARCHES_MAX && work > 0 {
        let Step::Entry(object) = cursor.step(read_point, &mut reading.scratch.evaluator, &mut work) else {
            break;
        };
        // One below another is that other server's.
        if read_point.referral_above(object.parent()).is_some() {
            continue;
        }
        // Where the client would go on by the reference.
        let urls = referral::continuation(read_point, &object, request.scope);
        if outward.chaining.server_of(&urls).is_none() {
            continue;
        }
        let view = reading.scratch.view(query.who, Action::of(Operation::Search), &object, read_point);
        let views = &reading.scratch.views;
        let is_open = planted::is(holes::CHAINED_BELOW_NOT_JUDGED)
            || (views.may_return(view) && views.may(view, Right::Search) && may_test(reading, view, request));
        if is_open {
            objects.push(object.id);
            places.push(urls);
        }
    }
    reading.scratch.pay(BELOW_WORK - work);
    (objects, places)
}

/// Writes what the client may see of an answer.
fn write(
    reading: &mut Reading<'_>,
    context: &SearchContext<'_>,
    (id, view, referral): (i32, ViewId, &Referral),
    answer: &Answer,
    out: &mut Vec<u8>,
) {
    for part in &answer.parts {
        write_part(reading, context, (id, view), part, out);
    }
    let urls = octet_list(answer.urls.iter().map(Vec::as_slice));
    let is_absent = answer.code == ResultCode::NoSuchObject as u32;
    let result = LdapResult {
        code: answer.code,
        // What there is on the way is the other server's to say, and may not be for this client.
        matched_dn: if is_absent { &referral.dn } else { b"" },
        diagnostic: answer.text.as_bytes(),
        referral: Octets::parse(&urls).unwrap_or(Octets::EMPTY),
    };
    encode_response(out, id, tag::SEARCH_DONE, &result, |_| {}, &[]);
}

/// Writes what the client may see of a part. Returns the number of its entries.
fn write_part(
    reading: &mut Reading<'_>,
    context: &SearchContext<'_>,
    (id, view): (i32, ViewId),
    part: &Part,
    out: &mut Vec<u8>,
) -> u32 {
    let schema = reading.dsa.shard.schema();
    let (mut rest, mut entries) = (&part.messages[..], 0);
    let mut held = HeldDescriptions::new(schema);
    let bases: Vec<Base<'_>> = part.bases.iter().filter_map(|base| Base::of(schema, base)).collect();
    while let Ok(Frame::Complete { len }) = frame(rest) {
        let (message, others) = rest.split_at(len);
        rest = others;
        // All of an answer is written at once. What comes behind it waits for its turn.
        reading.scratch.pay(ENTRY + len as u64 / BYTES_OF_UNIT);
        match Reply::decode(message).map(|reply| reply.response) {
            Ok(Response::SearchEntry(entry)) if is_asked_for(schema, entry.dn, &bases) => {
                let attributes = readable(reading, view, &mut held, entry.attributes);
                let Ok(attributes) = Attributes::parse(&attributes) else { continue };
                SearchEntry { dn: entry.dn, attributes }.encode(out, id, &[]);
                count(&context.counters.entries, 1);
                entries += 1;
            }
            Ok(Response::SearchReference(uris)) => {
                encode_reference(out, id, uris.iter(), &[]);
                count(&context.counters.references, 1);
            }
            _ => {}
        }
    }
    entries
}

/// The attributes of an entry that may be read, as they would be of the referral object.
fn readable<'s>(
    reading: &mut Reading<'s>,
    view: ViewId,
    held: &mut HeldDescriptions<'s>,
    attributes: Attributes<'_>,
) -> Vec<u8> {
    let schema = reading.dsa.shard.schema();
    let views = &mut reading.scratch.views;
    let mut may_read = |description: Description| {
        planted::is(holes::CHAINED_NOT_JUDGED)
            || views.on_attribute(view, description, schema).every.has(Right::Read)
    };
    // Options need not be those of an entry here: a rule may be about others.
    let kept =
        attributes.iter().filter(|attribute| held.describe(attribute.description).is_ok_and(&mut may_read));
    let kept: Vec<_> = kept.collect();
    attribute_list(kept.iter().map(|attribute| (attribute.description, attribute.values.iter())))
}

/// The base of a search at another server.
struct Base<'b> {
    dn: &'b [u8],
    rdns: usize,
    /// Its normal form. Without it the schema lacks an attribute, so that there is no rule: the name is compared as it is.
    normal: Option<Vec<u8>>,
}

impl Base<'_> {
    fn of<'b>(schema: &Schema, dn: &'b [u8]) -> Option<Base<'b>> {
        let rdns = model::dn::parse(dn).ok()?.len();
        Some(Base { dn, rdns, normal: normal(schema, dn) })
    }
}

fn normal(schema: &Schema, dn: &[u8]) -> Option<Vec<u8>> {
    let mut key = Vec::new();
    schema.normalise_dn(dn, &mut key).ok().map(|()| key)
}

/// Is a name one of the bases, or below one?
fn is_asked_for(schema: &Schema, dn: &[u8], bases: &[Base<'_>]) -> bool {
    let Ok(depth) = model::dn::parse(dn).map(|rdns| rdns.len()) else { return false };
    bases.iter().filter(|base| base.rdns <= depth).any(|base| {
        let mut rest = Some(dn);
        for _ in base.rdns..depth {
            rest = rest.and_then(|dn| model::dn::split_first(dn).1);
        }
        let rest = rest.unwrap_or_default();
        match (normal(schema, rest), &base.normal) {
            (Some(one), Some(other)) => one == *other,
            _ => rest.eq_ignore_ascii_case(base.dn),
        }
    })
}
