//! A compare of userPassword: is it the password? It is verified as a bind verifies it, and counts like one: else a client that may compare
//! could guess as fast as it can send. The octets that are stored are never compared.

use super::{Question, absent};
use crate::outcome::Refusal;
use model::ResultCode;
use model::attribute::split_options;
use model::filter::Assertion;
use store::EntryRef;

impl Question<'_> {
    /// compareTrue if it is the password of an entry; compareFalse if it has another one, or is not looked at since too many were wrong.
    ///
    /// # Errors
    /// noSuchAttribute of an entry without a password; why there are no verifications; anything if it lacks one, for then it is run again.
    #[cold]
    pub(super) fn verify(
        &mut self,
        entry: &EntryRef<'_>,
        assertion: Assertion<'_>,
    ) -> Result<ResultCode, Refusal> {
        let (read_point, now_ns, failures) = (self.read_point, self.now_ns, &self.dsa.failed_binds);
        // Values with options stand for no password.
        let has_options = !split_options(assertion.attribute).1.is_empty();
        if has_options || !crate::password::is_there(read_point, entry) {
            return Err(absent(assertion.attribute));
        }
        let account = self.dsa.account(&read_point.dn(entry, &mut self.evaluator.cache));
        let is_recent = failures.are_recent(now_ns);
        if self.passwords.is_given_up(|| is_recent && failures.is_throttled(account, now_ns)) {
            return Ok(ResultCode::CompareFalse);
        }
        let found = self.passwords.find(read_point, entry, assertion.value);
        if let Some((code, text)) = self.passwords.refusal() {
            return Err((code, text.to_owned()));
        }
        match found {
            Ok(Some(_)) => {
                failures.succeeded(account);
                Ok(ResultCode::CompareTrue)
            }
            Ok(None) => {
                failures.failed(account, now_ns);
                Ok(ResultCode::CompareFalse)
            }
            // Its client never sees it.
            Err(_) => Ok(ResultCode::CompareFalse),
        }
    }
}
