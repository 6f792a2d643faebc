//! The step of OAUTHBEARER (RFC 7628): a token, whose owner is looked for by what its issuer calls him.
//!
//! A challenge says to a client that it is refused, whatever is wrong, and the bind fails when it has answered that. No policy of passwords is
//! asked but whether the account is open: how somebody logs in at the issuer is the issuer's business.

use crate::context::Reading;
use crate::identity::Identity;
use crate::lookup::find_user;
use crate::outcome::FixedRefusal;
use model::ResultCode;
use proto::sasl::oauth_bearer::OauthBearer;

/// Said of the message and not of what is in it, so it tells nothing.
const MALFORMED: FixedRefusal =
    (ResultCode::InvalidCredentials, "the message is not of the form that OAUTHBEARER has");

/// Reads a message.
///
/// # Errors
/// The refusal of what is none.
pub(super) fn read(message: &[u8]) -> Result<OauthBearer<'_>, FixedRefusal> {
    OauthBearer::decode(message).ok_or(MALFORMED)
}

/// Who has a token. `None` if it is not good or its owner is not known, and also if that is not worked out yet.
pub(super) fn owner_of(reading: &mut Reading<'_>, token: &[u8]) -> Option<Identity> {
    let (dsa, read_point) = (reading.dsa, reading.read_point);
    let (rules, tokens) = (dsa.config.tokens.as_ref()?, dsa.tokens.get()?);
    let passwords = &mut reading.scratch.passwords;
    // Whose it is is not known before. Tries with one token have their turn one after the other.
    passwords.account = Some(dsa.shard.value_hash(token));
    let claims = passwords.read_token(tokens, token).ok()??;
    let until_ms = claims.good_until_ms(rules, reading.now.wall_ms)?;
    let evaluator = &mut reading.scratch.evaluator;
    let id = find_user(&dsa.identities.user(), read_point, evaluator, claims.user?.as_bytes())?;
    let who = dsa.identity_of(read_point, &read_point.entry(id)?, &mut evaluator.cache);
    Some(Identity { until_ms, ..who })
}
