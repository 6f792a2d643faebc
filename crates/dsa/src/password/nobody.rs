//! Where failed binds count that no account counts: a bind of a name that nobody has must take the time of one with a wrong password.

use super::policies::Lockouts;
use crate::account_times::AccountTimes;
use std::sync::Arc;

/// Counters of failures that are no account's, as large as those of accounts. Nothing reads them.
#[derive(Default)]
pub(crate) struct Nobody {
    pub(crate) lockouts: Arc<Lockouts>,
    pub(crate) times: AccountTimes,
}
