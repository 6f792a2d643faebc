//! Compare (RFC 4511 section 4.10): does an entry have this value?
//!
//! It is answered as the filter `(attribute=value)` would be, with one difference: where a filter is undefined a compare says why. So the
//! checks that make a filter undefined are made here one by one, and what is left is true or false.

mod password;

use crate::access::{Action, Item, Own, Requester, Tester, ViewId, Views};
use crate::annotations::Annotations;
use crate::context::Reading;
use crate::control::{Requested, assertion};
use crate::engine::Dsa;
use crate::faults::holes;
use crate::identity::Identity;
use crate::monitor_entries;
use crate::op::awaited_changes::are_awaited;
use crate::op::chained::{self, Step};
use crate::op::password_values::is_password;
use crate::outcome::{self, Refusal};
use crate::password::{Passwords, first};
use crate::referral::{self, Referral};
use crate::rights::referred::hidden_referral;
use crate::rights::visible;
use crate::root_dse;
use crate::system::is_root_dse;
use crate::transaction::View;
use crate::worker::Scratch;
use ::access::{Operation, Right};
use env::planted;
use model::filter::Assertion;
use model::{Description, EntryId, Filter, ResultCode};
use proto::control::Controls;
use proto::message::{Message, Request};
use proto::op::compare::Compare;
use proto::tag::COMPARE_RESPONSE;
use store::record::EntryRef;
use store::search::evaluate::Evaluator;
use store::{ReadPoint, Reader, Unresolved};

/// Where an entry is looked for, and on whose behalf.
/// The same for an entry of the directory, of the server's own, and of a transaction.
/// `is_by_value` is decided by [`Question::check`], so that comes first.
struct Question<'q> {
    dsa: &'q Dsa,
    read_point: ReadPoint<'q>,
    evaluator: &'q mut Evaluator,
    views: &'q mut Views,
    view: ViewId,
    who: Requester,
    passwords: &'q mut Passwords,
    annotations: &'q mut Annotations,
    now_ns: u64,
    /// May the value that is asserted be compared, though not every value may?
    is_by_value: bool,
}

/// Answers a compare.
/// The directory comes first, then the server's own entries, as in a search.
pub(crate) fn run(
    reading: &mut Reading<'_>,
    identity: &Identity,
    id: i32,
    request: &Compare<'_>,
    requested: &Requested<'_>,
    out: &mut Vec<u8>,
) {
    let (dsa, read_point, who) = (reading.dsa, reading.read_point, identity.requester());
    // The same code as that of a search's base: what may not be disclosed is not there.
    let found = read_point.resolve(request.dn, &mut reading.scratch.evaluator.cache);
    let mut found = visible(reading, who, found);
    if read_point.shard().has_referrals()
        && let (false, Ok(id) | Err(Unresolved::NoSuchObject(Some(id)))) = (requested.manage_dsa_it, &found)
        && let Some(superior) = hidden_referral(reading, (who, Operation::Compare), *id)
    {
        let superior = Some(superior).filter(|id| id.0 != 0);
        found = visible(reading, who, Err(Unresolved::NoSuchObject(superior)));
    }
    // With ManageDsaIT a referral object is an entry like any other.
    let nearest = match &found {
        Ok(entry) | Err(Unresolved::NoSuchObject(Some(entry))) if !requested.manage_dsa_it => Some(*entry),
        _ => None,
    };
    // RFC 3296 section 5.4: without ManageDsaIT the client is sent to the server that has the entry.
    let met = nearest.and_then(|nearest| Referral::met(read_point, nearest, request.dn, None));
    if let Some(referral) = met {
        let message = Message { id, request: Request::Compare(*request), controls: Controls::NONE };
        return match chained::run(reading, identity, &message, requested, out) {
            Step::Here => referral.answer(out, id, COMPARE_RESPONSE),
            Step::Refused(code, text) => outcome::say(out, id, COMPARE_RESPONSE, code, &text),
            Step::Answered | Step::Waits => {}
        };
    }
    match found {
        Ok(entry) => {
            let found = read_point.entry(entry).expect("it was just found");
            let view = reading.scratch.view(who, Action::of(Operation::Compare), &found, read_point);
            let now_ns = reading.now.monotonic_ns;
            let Scratch { evaluator, views, passwords, annotations, .. } = &mut *reading.scratch;
            let is_by_value = false;
            Question {
                dsa,
                read_point,
                evaluator,
                views,
                view,
                who,
                passwords,
                annotations,
                now_ns,
                is_by_value,
            }
            .answer(entry, id, request, requested, out)
        }
        // Looked at last, for few compares are about it.
        Err(Unresolved::NoSuchObject(None)) if dsa.system.holds(request.dn) => {
            run_on_system(reading, who, id, request, requested, out);
        }
        Err(reason) => {
            if let Some(referral) = referral::of_outside(dsa, request.dn, None) {
                return referral.answer(out, id, COMPARE_RESPONSE);
            }
            let cache = &mut reading.scratch.evaluator.cache;
            outcome::unresolved(out, id, COMPARE_RESPONSE, request.dn, reason, read_point, cache);
        }
    }
}

/// Answers a compare that sees what a transaction has made so far.
/// The entry is compared where it is as the transaction sees it; both directories answer in the same words.
#[cold]
pub(crate) fn run_inside(
    reading: &mut Reading<'_>,
    identity: &Identity,
    mut view: View,
    id: i32,
    request: &Compare<'_>,
    requested: &Requested<'_>,
    out: &mut Vec<u8>,
) {
    // The view is a shard of its own with readers of its own; there is always room but for a broken caller.
    let Some(mut reader) = Reader::register(view.shard()) else {
        return outcome::lack_reader(out, id, COMPARE_RESPONSE);
    };
    let pin = reader.pin();
    let read_point = pin.read_point();
    let found = read_point.resolve(request.dn, &mut view.scratch.evaluator.cache);
    match found {
        // The transaction does not touch it, so the directory's own caches serve.
        Ok(entry) if !view.differs(entry) => run(reading, identity, id, request, requested, out),
        // A value that is not among those that were copied may be one of the others.
        Ok(entry) if view.is_partial(entry) => {
            outcome::say(out, id, COMPARE_RESPONSE, ResultCode::UnwillingToPerform, View::PARTIAL);
        }
        _ => {
            let (dsa, now, security) = (reading.dsa, reading.now, reading.security);
            // Rights and passwords are known to the thread; all else that it remembers is of the directory.
            std::mem::swap(&mut view.scratch.views, &mut reading.scratch.views);
            std::mem::swap(&mut view.scratch.passwords, &mut reading.scratch.passwords);
            let mut inside = Reading { dsa, read_point, scratch: &mut view.scratch, now, security };
            run(&mut inside, identity, id, request, requested, out);
            std::mem::swap(&mut view.scratch.views, &mut reading.scratch.views);
            std::mem::swap(&mut view.scratch.passwords, &mut reading.scratch.passwords);
        }
    }
}

/// Compares with an entry of the server's own: all may see the root DSE and the subschema.
/// Numbers of the monitor are brought up to date for it, as for a search.
#[cold]
fn run_on_system(
    reading: &mut Reading<'_>,
    who: Requester,
    id: i32,
    request: &Compare<'_>,
    requested: &Requested<'_>,
    out: &mut Vec<u8>,
) {
    let dsa = reading.dsa;
    // A new reader, since what the bundle has pinned is older than the refresh.
    let Some(mut reader) = Reader::register(dsa.system.shard()) else {
        return outcome::lack_reader(out, id, COMPARE_RESPONSE);
    };
    monitor_entries::refresh(dsa, reading.now);
    if is_root_dse(request.dn) {
        root_dse::refresh(dsa, reading.security.offer(), reading.now);
    }
    let pin = reader.pin();
    let read_point = pin.read_point();
    if are_awaited(reading, (who, Operation::Compare), request.dn, read_point) {
        return;
    }
    let cache = &mut reading.scratch.system_evaluator.cache;
    // The root DSE is kept under a name that no client has for it.
    let dn = dsa.system.kept_as(request.dn, reading.security.offer());
    let is_hidden =
        dsa.system.is_in_change_log(request.dn) && !reading.scratch.views.reads_changes(who.class);
    let resolved = match is_hidden {
        true => Err(Unresolved::NoSuchObject(None)),
        false => read_point.resolve(dn, cache),
    };
    match resolved {
        Ok(entry) => {
            let found = read_point.entry(entry).expect("it was just found");
            let asked = Action { operation: Operation::Compare, is_system: true };
            let view = reading.scratch.view(who, asked, &found, read_point);
            let now_ns = reading.now.monotonic_ns;
            let Scratch { system_evaluator: evaluator, views, passwords, annotations, .. } =
                &mut *reading.scratch;
            if views.may(view, Right::Disclose) {
                Question {
                    dsa,
                    read_point,
                    evaluator,
                    views,
                    view,
                    who,
                    passwords,
                    annotations,
                    now_ns,
                    is_by_value: false,
                }
                .answer(entry, id, request, requested, out);
                return;
            }
            let (reason, cache) = (Unresolved::NoSuchObject(None), &mut evaluator.cache);
            outcome::unresolved(out, id, COMPARE_RESPONSE, request.dn, reason, read_point, cache);
        }
        Err(reason) => {
            let cache = &mut reading.scratch.system_evaluator.cache;
            outcome::unresolved(out, id, COMPARE_RESPONSE, dn, reason, read_point, cache);
        }
    }
}

// One way for all entries, so the answers of the server's own differ in nothing.
impl Question<'_> {
    /// The assertion control (RFC 4528) is judged before the compare's own.
    fn answer(
        mut self,
        entry: EntryId,
        id: i32,
        request: &Compare<'_>,
        requested: &Requested<'_>,
        out: &mut Vec<u8>,
    ) {
        // At the read point at which its name was resolved.
        let entry = self.read_point.entry(entry).expect("it was just found");
        if let Some(filter) = requested.assertion() {
            let rights = (&mut *self.views, self.who, self.view);
            let is_true = assertion::is_true_soon(filter, &entry, self.read_point, rights, self.evaluator);
            if !assertion::passes(is_true, out, id, COMPARE_RESPONSE) {
                return;
            }
        }
        match self.judge(&entry, request.assertion) {
            // It is run again, and answered then.
            _ if self.passwords.lacks() => {}
            Ok(code) => proto::result::encode_done(out, id, COMPARE_RESPONSE, code),
            Err((code, text)) => {
                self.annotations.is_of(id);
                outcome::say(out, id, COMPARE_RESPONSE, code, &text);
            }
        }
    }

    /// compareTrue, compareFalse, or why neither can be said. RFC 4511 section 4.10: an attribute that is not there is an error, and no
    /// compareFalse.
    fn judge(&mut self, entry: &EntryRef<'_>, assertion: Assertion<'_>) -> Result<ResultCode, Refusal> {
        // Before the entry is looked at: these are faults of the request.
        self.check(assertion).map_err(|(code, text)| {
            let is_shown = planted::is(holes::VALUE_SHOWN);
            let stored = is_shown.then(|| first(self.read_point, entry, |_| true)).flatten();
            (code, text + &stored.map(|value| outcome::quoted(&value)).unwrap_or_default())
        })?;
        if is_password(self.dsa.shard.schema(), assertion.attribute) {
            return self.verify(entry, assertion);
        }
        // By the filter's own code, so that compare and search cannot differ.
        if self.is_true(entry, &Filter::Equality(assertion)) {
            return Ok(ResultCode::CompareTrue);
        }
        // Whether there are other values is not for who may compare this one only.
        if self.is_by_value {
            return Ok(ResultCode::CompareFalse);
        }
        // Which of the two is asked only for what is not true, which is rare.
        match self.is_true(entry, &Filter::Present(assertion.attribute)) {
            true => Ok(ResultCode::CompareFalse),
            false => Err(absent(assertion.attribute)),
        }
    }

    /// Can the assertion be tested at all, and by this client?
    /// What is refused here is refused whatever the entry has, so ten thousand tries have one answer.
    /// Read access is needed: else a compare would guess secret values one by one.
    /// One answer for values that are there, that are not, and for attributes that are not: the right is asked before the
    /// entry is looked at.
    fn check(&mut self, assertion: Assertion<'_>) -> Result<(), Refusal> {
        let schema = self.dsa.shard.schema();
        // With options, as in a filter: `cn;lang-de` asks for values with that option.
        let Some((attribute_type, _)) = schema.find_wanted(assertion.attribute) else {
            return Err(match outcome::why_unknown(schema, assertion.attribute) {
                Some(error) => outcome::undescribed(schema, assertion.attribute, error),
                None => absent(assertion.attribute),
            });
        };
        // The name from the schema, not as it was sent: the text goes to logs.
        let name = schema.describe(Description::plain(attribute_type));
        // Whether the entry has the attribute at all is part of what may not be known.
        let description = Description::plain(attribute_type);
        let on = self.views.on_attribute(self.view, description, schema);
        if !on.every.has(Right::Compare) {
            let on = self.views.on_values(self.view, description, Right::Compare, &self.dsa.shard);
            let own = match on.asks_for_own() {
                true => self.views.own_name(self.who, self.read_point, &mut self.evaluator.cache),
                false => Own::Nobody,
            };
            // One that may compare some values may compare those with what the entry has.
            self.is_by_value = planted::is(holes::COMPARE_NOT_JUDGED)
                || on.may(&own, schema, description, assertion.value, &mut Vec::new());
        }
        if !on.every.has(Right::Compare) && !self.is_by_value {
            if self.annotations.are_wanted() {
                let item = Item::Attribute(description);
                let reasons = self.views.reasons(self.view, item, &[Right::Compare], schema);
                self.annotations.refused_by(reasons.first().copied().flatten().map(|(_, rule)| rule));
            }
            let text = format!("insufficient rights: compare on {name} is needed");
            return Err((ResultCode::InsufficientAccessRights, text));
        }
        if schema.attribute_type(attribute_type).equality.is_none() {
            return Err((ResultCode::InappropriateMatching, format!("{name} has no equality matching rule")));
        }
        // RFC 4511 section 4.10: a value that its syntax does not take is no compareFalse.
        let invalid = |reason| {
            let text = format!("the value is not one of {name}: {reason}");
            (ResultCode::InvalidAttributeSyntax, text)
        };
        schema.normalise_equality_assertion(attribute_type, assertion.value, &mut Vec::new()).map_err(invalid)
    }

    /// Undefined counts as false: whether it was undefined was found out by the checks before.
    /// Of an attribute of which some values may be compared, the others are not there: what was asserted may be compared, but what is stored and
    /// equal to it need not be the same to a rule.
    fn is_true(&mut self, entry: &EntryRef<'_>, filter: &Filter<'_>) -> bool {
        let is_open = self.is_by_value && planted::is(holes::COMPARE_NOT_JUDGED);
        let view = if is_open { ViewId::ROOT } else { self.view };
        let tester = Tester { views: &mut *self.views, who: self.who, view, right: Right::Compare };
        assertion::is_true(filter, entry, self.read_point, tester, self.evaluator)
    }
}

/// RFC 4511 section 4.10 leaves the code open; noSuchAttribute is what other servers answer.
#[cold]
fn absent(attribute: &[u8]) -> Refusal {
    (ResultCode::NoSuchAttribute, format!("the entry has no attribute {}", outcome::quoted(attribute)))
}

#[cfg(test)]
mod tests {
    use crate::system::tests::{Answer, Fixture, ROOT_DN};
    use model::ResultCode::{self, *};

    const ANN: &str = "uid=ann,dc=com";

    fn code(fixture: &mut Fixture, dn: &str, attribute: &str, value: &str) -> ResultCode {
        fixture.compare(dn, attribute, value).code
    }

    #[test]
    fn true_and_false() {
        let mut fixture = Fixture::new();
        for (attribute, value, expected) in [
            ("sn", "OTHER", CompareTrue),
            ("sn", "another", CompareFalse),
            ("cn", "a.  other", CompareTrue),
            ("CN;lang-de", "anna", CompareTrue),
            ("cn;lang-de", "Ann Other", CompareFalse),
            ("name", "other", CompareTrue),
            ("objectClass", "INETORGPERSON", CompareTrue),
            ("objectClass", "account", CompareFalse),
            ("hasSubordinates", "FALSE", CompareTrue),
            ("entryDN", "UID=ann, dc=COM", CompareTrue),
            ("creatorsName", ROOT_DN, CompareTrue),
        ] {
            assert_eq!(code(&mut fixture, ANN, attribute, value), expected, "{attribute}={value}");
        }
    }

    #[test]
    fn what_cannot_be_compared() {
        let mut fixture = Fixture::new();
        for (attribute, value, expected) in [
            ("mail", "a@b", NoSuchAttribute),
            ("sn;lang-xx", "Other", NoSuchAttribute),
            ("nonsense", "x", UndefinedAttributeType),
            ("c n", "x", UndefinedAttributeType),
            ("hasSubordinates", "maybe", InvalidAttributeSyntax),
            ("jpegPhoto", "x", InappropriateMatching),
        ] {
            assert_eq!(code(&mut fixture, ANN, attribute, value), expected, "{attribute}={value}");
        }
    }

    #[test]
    fn the_nearest_entry_is_named() {
        let mut fixture = Fixture::new();
        let answer = fixture.compare("cn=x,UID=ANN,dc=com", "cn", "x");
        assert_eq!((answer.code, &answer.matched[..]), (NoSuchObject, ANN));
        let Answer { code, matched, text } = fixture.compare("dc=org", "dc", "org");
        assert_eq!((code, &matched[..]), (NoSuchObject, ""));
        assert!(text.contains("\"dc=com\""), "{text}");
        assert_eq!(fixture.compare("nonsense", "cn", "x").code, InvalidDnSyntax);
    }

    #[test]
    fn secrets_are_for_the_root_dn() {
        let mut fixture = Fixture::new();
        assert_eq!(code(&mut fixture, ANN, "userPassword", "secret"), CompareTrue);
        assert_eq!(fixture.bind(ANN, "secret").code, Success);
        assert_eq!(code(&mut fixture, ANN, "userPassword", "secret"), InsufficientAccessRights);
        assert_eq!(code(&mut fixture, ANN, "sn", "other"), CompareTrue);
    }

    #[test]
    fn anonymous_clients_see_root_dse_and_subschema() {
        let mut fixture = Fixture::new();
        fixture.bind("", "");
        assert_eq!(code(&mut fixture, "", "namingContexts", "DC=com"), CompareTrue);
        assert_eq!(code(&mut fixture, "cn=subschema", "attributeTypes", "2.5.4.3"), CompareTrue);
        assert_eq!(code(&mut fixture, "cn=Monitor", "cn", "Monitor"), NoSuchObject);
        for dn in [ANN, "dc=org", "cn=Root DSE"] {
            assert_eq!(code(&mut fixture, dn, "cn", "x"), NoSuchObject, "{dn}");
        }
        let answers = [ANN, "uid=nobody,dc=com"].map(|dn| fixture.compare(dn, "cn", "x"));
        assert_eq!(answers[0], answers[1], "what may not be disclosed is not there");
        fixture.bind(ANN, "secret");
        assert_eq!(code(&mut fixture, "cn=Monitor", "cn", "Monitor"), CompareTrue);
        assert_eq!(code(&mut fixture, "cn=x,cn=Monitor", "cn", "x"), NoSuchObject);
        assert_eq!(code(&mut fixture, "cn=Root DSE", "cn", "Root DSE"), NoSuchObject);
    }
}
