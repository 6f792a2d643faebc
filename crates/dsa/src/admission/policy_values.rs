//! What the values of a policy entry may be. It is looked at when they are written, by add as by modify, so that a policy is never one that
//! means something else than its administrator has thought.

use crate::outcome::Refusal;
use crate::password::policies::may_be_of_policy;
use crate::subtree_specification;
use model::ResultCode;
use model::limits::POLICY_SUBENTRIES_MAX;
use proto::message::Request;
use proto::op::ModifyKind;
use schema::Schema;

/// Attributes whose values are numbers, none of them negative. That they are numbers their syntax says.
/// A negative bound is what some servers take for none, and others for zero.
const NUMBERS: [&str; 18] = [
    "pwdMinAge",
    "pwdMaxAge",
    "pwdInHistory",
    "pwdCheckQuality",
    "pwdMinLength",
    "pwdMaxLength",
    "pwdExpireWarning",
    "pwdGraceAuthNLimit",
    "pwdGraceExpiry",
    "pwdLockoutDuration",
    "pwdMaxFailure",
    "pwdFailureCountInterval",
    "pwdMaxRecordedFailure",
    "pwdMinDelay",
    "pwdMaxDelay",
    "pwdMaxIdle",
    "pandoPwdMinClasses",
    "pandoPwdMinScore",
];

/// The highest number of kinds of characters, and the highest score: more would refuse every password.
const HIGHEST: i64 = 4;

/// The two delays: the least and the greatest.
const DELAYS: [&str; 2] = ["pwdMinDelay", "pwdMaxDelay"];

/// What one request says of numbers that belong together. Those of the entry may be changed by a request that is on its way.
#[derive(Default)]
struct Written {
    /// The least and the greatest age.
    ages: [Option<i64>; 2],
    /// The least and the greatest delay, as they are behind the request: `Some(None)` where one is taken away.
    delays: [Option<Option<i64>>; 2],
}

/// Why the values of a policy that an update brings are not taken. Of which entry is not looked at: no other class has these attributes.
/// `subentries`: how many there are.
pub(super) fn unfit(schema: &Schema, request: &Request<'_>, subentries: usize) -> Option<Refusal> {
    if subentries >= POLICY_SUBENTRIES_MAX && is_policy_of_subtree(schema, request) {
        let text = "there are as many subentries as policies are looked for among; pwdPolicySubentry names one for an account";
        return Some((ResultCode::AdminLimitExceeded, text.to_owned()));
    }
    let mut written = Written::default();
    let text = match request {
        Request::Add(add) => add.attributes.iter().find_map(|given| {
            written.look(schema, ModifyKind::Add, given.description, &mut given.values.iter())
        }),
        Request::Modify(modify) => modify.changes.iter().find_map(|change| {
            let given = &change.modification;
            written.look(schema, change.kind, given.description, &mut given.values.iter())
        }),
        _ => None,
    };
    text.or_else(|| written.do_not_fit()).map(|text| (ResultCode::ConstraintViolation, text))
}

/// Is it an add of a subentry that is a policy?
fn is_policy_of_subtree(schema: &Schema, request: &Request<'_>) -> bool {
    let Request::Add(add) = request else { return false };
    let known = schema.well_known();
    let is_class = |description| schema.find_type(description) == Some(known.object_class);
    let values = add.attributes.iter().filter(|given| is_class(given.description));
    let classes = values.flat_map(|given| given.values.iter()).filter_map(|value| schema.find_class(value));
    let policy = schema.find_class(b"pwdPolicy");
    let (mut is_subentry, mut is_policy) = (false, false);
    for class in classes {
        is_subentry |= schema.is_subclass(class, known.subentry);
        is_policy |= policy.is_some_and(|policy| schema.is_subclass(class, policy));
    }
    is_subentry && is_policy
}

impl Written {
    /// Looks at what one change brings. Returns what is wrong with it by itself.
    fn look(
        &mut self,
        schema: &Schema,
        kind: ModifyKind,
        description: &[u8],
        values: &mut dyn Iterator<Item = &[u8]>,
    ) -> Option<String> {
        if !may_be_of_policy(description) {
            return None;
        }
        let id = schema.find_type(description)?;
        let is = |name: &str| schema.find_type(name.as_bytes()) == Some(id);
        let delay = DELAYS.iter().position(|name| is(name));
        if let Some(at) = delay {
            if kind == ModifyKind::Increment {
                return Some(format!("{} is replaced, together with {}", DELAYS[at], DELAYS[1 - at]));
            }
            // It has one value at most, so nothing is left of it; what else is given for it comes below.
            self.delays[at] = Some(None);
        }
        // What else is taken away is not looked at.
        if kind == ModifyKind::Delete {
            return None;
        }
        if is("subtreeSpecification") {
            let mut faults = values.filter_map(|value| subtree_specification::parse(value).err());
            return faults.next().map(|fault| format!("subtreeSpecification: {fault}"));
        }
        if is("pwdAttribute") {
            let password = Some(schema.well_known().user_password);
            let mut others = values.filter(|value| schema.find_type(value) != password);
            return others
                .next()
                .map(|_| "pwdAttribute is userPassword: a policy is about nothing else".to_owned());
        }
        let name = NUMBERS.iter().find(|name| is(name))?;
        for value in values {
            let number = std::str::from_utf8(value).ok().and_then(|text| text.parse::<i64>().ok());
            // What is no number the syntax refuses, with what it is.
            let Some(number) = number.filter(|number| *number >= 0) else {
                return Some(format!("{name} is a number of 0 or more"));
            };
            match (*name, delay) {
                ("pwdMinAge", _) => self.ages[0] = Some(number),
                ("pwdMaxAge", _) => self.ages[1] = Some(number),
                (_, Some(at)) => self.delays[at] = Some(Some(number)),
                ("pandoPwdMinClasses" | "pandoPwdMinScore", _) if number > HIGHEST => {
                    return Some(format!("{name} is a number from 0 to {HIGHEST}"));
                }
                (_, None) => {}
            }
        }
        None
    }

    /// What is wrong with the numbers of a whole request, each of which is right.
    /// A request says both delays, or none: so every policy has both or none, whatever it had before.
    fn do_not_fit(&self) -> Option<String> {
        let text = match (self.ages, self.delays) {
            ([Some(min), Some(max)], _) if max > 0 && max < min => {
                "pwdMaxAge is not less than pwdMinAge: the password would expire before it may be changed"
            }
            (_, [None, None] | [Some(None), Some(None)]) => return None,
            (_, [Some(Some(min)), Some(Some(max))]) if min <= max => return None,
            (_, [Some(Some(_)), Some(Some(_))]) => {
                "pwdMaxDelay is not less than pwdMinDelay, from which the delay grows"
            }
            _ => "pwdMinDelay and pwdMaxDelay are given, changed and taken away together",
        };
        Some(text.to_owned())
    }
}
