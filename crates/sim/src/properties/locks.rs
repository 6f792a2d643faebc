//! An account whose last wrong password was answered is locked after every start, until somebody unlocks it (row Y5).

use super::Situation;
use crate::requests::LOCKED;

pub(super) fn check(situation: &Situation<'_>) -> Result<(), String> {
    for (session, client) in situation.clients.iter() {
        let is_locked =
            |dn: &String| situation.view.entries.get(dn).is_some_and(|entry| entry.contains_key(LOCKED));
        if let Some(dn) = client.locked.keys().find(|dn| !is_locked(dn)) {
            return Err(format!("session {session} had the answer that locks {dn}, and it is not locked"));
        }
    }
    Ok(())
}
