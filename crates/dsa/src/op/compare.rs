//! Compare (RFC 4511 section 4.10): does an entry have this value?

use crate::access::Rights;
use crate::dispatch::Reading;
use crate::engine::Dsa;
use crate::identity::Identity;
use crate::outcome;
use model::filter::Assertion;
use model::{Filter, ResultCode, TypeId};
use proto::op::compare::Compare;
use proto::tag::COMPARE_RESPONSE;
use store::record::EntryRef;
use store::search::Compiled;
use store::search::evaluate::{Evaluator, Truth};
use store::{ReadPoint, Reader};

/// Where an entry is looked for, and on whose behalf.
struct Question<'q> {
    dsa: &'q Dsa,
    read_point: ReadPoint<'q>,
    evaluator: &'q mut Evaluator,
    rights: Rights,
}

/// Answers a compare.
pub(crate) fn run(
    reading: &mut Reading<'_>,
    identity: &Identity,
    id: i32,
    request: &Compare<'_>,
    out: &mut Vec<u8>,
) {
    let (dsa, rights) = (reading.dsa, identity.rights);
    if dsa.system.holds(request.dn) {
        return run_on_system(reading, rights, id, request, out);
    }
    if !dsa.rules.may_search(rights) {
        return forbid(id, out);
    }
    let evaluator = &mut reading.scratch.evaluator;
    Question { dsa, read_point: reading.read_point, evaluator, rights }.answer(request.dn, id, request, out);
}

/// Compares with an entry of the server's own: all may see the root DSE and the subschema.
#[cold]
fn run_on_system(
    reading: &mut Reading<'_>,
    rights: Rights,
    id: i32,
    request: &Compare<'_>,
    out: &mut Vec<u8>,
) {
    let dsa = reading.dsa;
    if !dsa.system.may_read(rights, request.dn) {
        return forbid(id, out);
    }
    let Some(mut reader) = Reader::register(dsa.system.shard()) else {
        return outcome::say(out, id, COMPARE_RESPONSE, ResultCode::Busy, "too many readers; try again");
    };
    let pin = reader.pin();
    let evaluator = &mut reading.scratch.system_evaluator;
    let rights = rights.max(Rights::Read);
    Question { dsa, read_point: pin.read_point(), evaluator, rights }.answer(
        dsa.system.kept_as(request.dn),
        id,
        request,
        out,
    );
}

impl Question<'_> {
    fn answer(mut self, dn: &[u8], id: i32, request: &Compare<'_>, out: &mut Vec<u8>) {
        let cache = &mut self.evaluator.cache;
        let entry = match self.read_point.resolve(dn, cache) {
            Ok(entry) => self.read_point.entry(entry).expect("it was just found"),
            Err(reason) => {
                return outcome::unresolved(out, id, COMPARE_RESPONSE, dn, reason, self.read_point, cache);
            }
        };
        match self.judge(&entry, request.assertion) {
            Ok(code) => proto::result::encode_done(out, id, COMPARE_RESPONSE, code),
            Err((code, text)) => outcome::say(out, id, COMPARE_RESPONSE, code, &text),
        }
    }

    fn judge(
        &mut self,
        entry: &EntryRef<'_>,
        assertion: Assertion<'_>,
    ) -> Result<ResultCode, (ResultCode, String)> {
        self.check(assertion)?;
        if self.is_true(entry, &Filter::Equality(assertion)) {
            return Ok(ResultCode::CompareTrue);
        }
        match self.is_true(entry, &Filter::Present(assertion.attribute)) {
            true => Ok(ResultCode::CompareFalse),
            false => Err(absent(assertion.attribute)),
        }
    }

    /// Can the assertion be tested at all, and by this client?
    fn check(&self, assertion: Assertion<'_>) -> Result<(), (ResultCode, String)> {
        let schema = self.dsa.shard.schema();
        let Some(description) = schema.find_description(assertion.attribute) else {
            return Err(match outcome::why_unknown(schema, assertion.attribute) {
                Some(error) => outcome::undescribed(assertion.attribute, error),
                None => absent(assertion.attribute),
            });
        };
        let attribute_type = description.attribute_type;
        let name = schema.describe(description);
        if !self.may_read(attribute_type) {
            let text = format!("the values of {name} are only for the root DN");
            return Err((ResultCode::InsufficientAccessRights, text));
        }
        if schema.attribute_type(attribute_type).equality.is_none() {
            return Err((ResultCode::InappropriateMatching, format!("{name} has no equality matching rule")));
        }
        let invalid = |reason| {
            let text = format!("the value is not one of {name}: {reason}");
            (ResultCode::InvalidAttributeSyntax, text)
        };
        schema.normalise_equality_assertion(attribute_type, assertion.value, &mut Vec::new()).map_err(invalid)
    }

    fn is_true(&mut self, entry: &EntryRef<'_>, filter: &Filter<'_>) -> bool {
        let (dsa, rights) = (self.dsa, self.rights);
        let compiled = Compiled::new(filter, self.read_point.shard(), &|t| dsa.rules.may_read(rights, t));
        self.evaluator.evaluate(&compiled, entry, self.read_point) == Truth::True
    }

    fn may_read(&self, attribute_type: TypeId) -> bool {
        self.dsa.rules.may_read(self.rights, attribute_type)
    }
}

#[cold]
fn absent(attribute: &[u8]) -> (ResultCode, String) {
    (ResultCode::NoSuchAttribute, format!("the entry has no attribute {}", outcome::quoted(attribute)))
}

#[cold]
fn forbid(id: i32, out: &mut Vec<u8>) {
    outcome::no_access(out, id, COMPARE_RESPONSE, "anonymous clients may not compare here; bind first");
}
