//! Access tokens (RFC 7519, RFC 6750), by which a client shows that an issuer knows who it is.
//!
//! Whether a token was signed by its issuer is found out by the part of the server that has the issuer's keys. The agent is given what a token
//! says, and judges it: whose it is, for whom it was made, and when.

use crate::config::TokenRules;
use crate::faults::holes;
use env::planted;
use model::limits::TOKEN_SKEW_SECONDS;

/// What verifies the signatures of tokens.
pub trait Tokens: Send + Sync {
    /// What a token says, if its issuer has signed it. It takes longer than a request may take on the thread that it came by.
    fn claims(&self, token: &[u8]) -> Option<Claims>;
}

/// What a token says of itself and of its owner. Times are in seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Who has issued it (`iss`).
    pub issuer: Option<String>,
    /// For whom it was made (`aud`).
    pub audiences: Vec<String>,
    /// From when on it is not valid any more (`exp`).
    pub expires_s: Option<i64>,
    /// From when on it is valid (`nbf`), if it says so.
    pub not_before_s: Option<i64>,
    /// What its owner is called.
    pub user: Option<String>,
}

impl Claims {
    /// Until when it is good, in milliseconds since 1970, if it is good now. The clocks of issuer and server may differ a little.
    pub(crate) fn good_until_ms(&self, rules: &TokenRules, now_ms: u64) -> Option<u64> {
        let now_s = i64::try_from(now_ms / 1000).ok()?;
        let is_for_us =
            self.audiences.contains(&rules.audience) || planted::is(holes::AUDIENCE_NOT_LOOKED_AT);
        let is_begun =
            self.not_before_s.is_none_or(|from_s| from_s <= now_s.saturating_add(TOKEN_SKEW_SECONDS));
        // The second in which it expires is the first in which it is not good.
        let until_s = self.expires_s?.checked_add(TOKEN_SKEW_SECONDS)?;
        let is_good = self.issuer.as_ref() == Some(&rules.issuer) && is_for_us && is_begun && now_s < until_s;
        if is_good { u64::try_from(until_s).ok()?.checked_mul(1000) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_a_token_good() {
        let rules = TokenRules { issuer: "https://a".to_owned(), audience: "ldap".to_owned() };
        let good = Claims {
            issuer: Some("https://a".to_owned()),
            audiences: vec!["web".to_owned(), "ldap".to_owned()],
            expires_s: Some(1000),
            not_before_s: Some(500),
            user: None,
        };
        let until = |claims: &Claims, now_s: u64| claims.good_until_ms(&rules, now_s * 1000);
        // A minute is allowed on both sides.
        for (now_s, is_good) in [(439, false), (440, true), (1059, true), (1060, false)] {
            assert_eq!(until(&good, now_s), is_good.then_some(1_060_000), "{now_s}");
        }
        assert!(until(&Claims { not_before_s: None, ..good.clone() }, 1).is_some());
        let bad = [
            Claims { issuer: None, ..good.clone() },
            Claims { issuer: Some("https://a/".to_owned()), ..good.clone() },
            Claims { audiences: Vec::new(), ..good.clone() },
            Claims { audiences: vec!["LDAP".to_owned()], ..good.clone() },
            Claims { expires_s: None, ..good.clone() },
            Claims { expires_s: Some(i64::MAX), ..good.clone() },
            Claims { expires_s: Some(i64::MIN), ..good.clone() },
            Claims { not_before_s: Some(i64::MAX), ..good.clone() },
        ];
        bad.iter().for_each(|claims| assert_eq!(until(claims, 600), None, "{claims:?}"));
    }
}
