//! What the values of a policy entry may be. It is looked at when they are written, by add as by modify, so that a policy is never one that
//! means something else than its administrator has thought.

use crate::outcome::Refusal;
use crate::password::policies::may_be_of_policy;
use model::ResultCode;
use proto::message::Request;
use proto::op::ModifyKind;
use schema::Schema;

/// Attributes whose values are numbers, none of them negative. That they are numbers their syntax says.
/// A negative bound is what some servers take for none, and others for zero.
const NUMBERS: [&str; 14] = [
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
    "pwdMaxIdle",
];

/// Why the values of a policy that an update brings are not taken. Of which entry is not looked at: no other class has these attributes.
/// What is taken away is not looked at either.
pub(super) fn unfit(schema: &Schema, request: &Request<'_>) -> Option<Refusal> {
    let mut ages = [None, None];
    // Only what one request says is compared: the other age may be changed by a request that is on its way.
    let mut look = |description: &[u8], values: &mut dyn Iterator<Item = &[u8]>| {
        if !may_be_of_policy(description) {
            return None;
        }
        let id = schema.find_type(description)?;
        let is = |name: &str| schema.find_type(name.as_bytes()) == Some(id);
        if is("pwdAttribute") {
            let mut others =
                values.filter(|value| schema.find_type(value) != Some(schema.well_known().user_password));
            return others
                .next()
                .map(|_| "pwdAttribute is userPassword: a policy is about nothing else".to_owned());
        }
        let name = NUMBERS.iter().find(|name| is(name))?;
        for value in values {
            let number = std::str::from_utf8(value).ok().and_then(|text| text.parse::<i64>().ok());
            match number.filter(|number| *number >= 0) {
                // What is no number the syntax refuses, with what it is.
                None => return Some(format!("{name} is a number of 0 or more")),
                Some(age) if *name == "pwdMinAge" => ages[0] = Some(age),
                Some(age) if *name == "pwdMaxAge" => ages[1] = Some(age),
                Some(_) => {}
            }
        }
        match ages {
            [Some(min), Some(max)] if max > 0 && max < min => Some(
                "pwdMaxAge is not less than pwdMinAge: the password would expire before it may be changed"
                    .to_owned(),
            ),
            _ => None,
        }
    };
    let text = match request {
        Request::Add(add) => add.attributes.iter().find_map(|a| look(a.description, &mut a.values.iter())),
        Request::Modify(modify) => {
            modify.changes.iter().filter(|change| change.kind != ModifyKind::Delete).find_map(|change| {
                look(change.modification.description, &mut change.modification.values.iter())
            })
        }
        _ => None,
    };
    text.map(|text| (ResultCode::ConstraintViolation, text))
}
