//! What clients were told is gone is not there: those names are never used again.

use super::Situation;

pub(super) fn check(situation: &Situation<'_>) -> Result<(), String> {
    for (session, client) in situation.clients.iter() {
        if let Some(dn) = client.gone.keys().find(|dn| situation.view.entries.contains_key(*dn)) {
            return Err(format!("session {session} was told that {dn} is gone, and it is there"));
        }
    }
    Ok(())
}
