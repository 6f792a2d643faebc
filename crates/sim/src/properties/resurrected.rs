//! What is gone by an answer to a client is not there: those names are never used again.

use super::Situation;

pub(super) fn check(situation: &Situation<'_>) -> Result<(), String> {
    for (session, client) in situation.clients.iter() {
        if let Some(dn) = client.gone.keys().find(|dn| situation.view.entries.contains_key(*dn)) {
            return Err(format!("session {session} had the answer that {dn} is gone, and it is there"));
        }
    }
    Ok(())
}
