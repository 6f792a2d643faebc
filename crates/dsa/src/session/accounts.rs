//! Sessions whose account is gone: its entry was deleted, or an administrator has locked it for good. They end within a second or so, with a Notice
//! of Disconnection; a request need not look for that.
//!
//! The server keeps of each connection which entries its session hangs on ([`Session::accounts`]), looks at these once a second where something was
//! changed ([`Worker::gone`]), and tells the sessions ([`Session::revoke`]). A lock that ends by itself, or that failed binds have set, ends none: else
//! anybody could end the sessions of others.

use super::Session;
use super::gone::{Accounts, Gone};
use crate::faults::holes;
use crate::policy;
use crate::worker::Worker;
use env::planted;

impl Session {
    /// The entries that it hangs on.
    #[inline]
    pub fn accounts(&self) -> Accounts {
        let real = self.identity.real.as_deref().and_then(|(_, entry)| *entry);
        Accounts([self.identity.entry, real])
    }

    /// One of these is gone. A session that has bound anew since hangs on others. The notice is written where one may stand.
    #[cold]
    pub fn revoke(&mut self, accounts: Accounts, gone: Gone) {
        if self.accounts() == accounts {
            self.gone = Some(gone);
            self.identity.until_ms = 0;
        }
    }
}

impl Worker {
    /// Was anything changed since the last call? To be asked once a second, before sessions are looked at.
    pub fn may_have_lost_accounts(&mut self) -> bool {
        let sequence = self.dsa.shard.sequence();
        std::mem::replace(&mut self.accounts_seen, sequence) != sequence
    }

    /// Why a session with these accounts is to end.
    pub fn gone(&mut self, accounts: Accounts) -> Option<Gone> {
        if planted::is(holes::GONE_STAYS) {
            return None;
        }
        let pin = self.reader.pin();
        let read_point = pin.read_point();
        accounts.0.into_iter().flatten().find_map(|own| match own.find(read_point) {
            None => Some(Gone::Deleted),
            Some(entry) => policy::is_locked_for_good(&entry, read_point).then_some(Gone::Locked),
        })
    }
}
