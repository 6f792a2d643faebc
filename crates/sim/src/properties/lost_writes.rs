//! What was acknowledged to clients is there: each session's counter, entries that were added, and every record that the mode of
//! the log promises.

use super::Situation;

pub(super) fn check(situation: &Situation<'_>) -> Result<(), String> {
    let Situation { view, clients, promised, end, .. } = situation;
    for (session, client) in clients.iter() {
        let (counter, acknowledged) =
            (view.counter(session), client.acknowledged.values().max().copied().unwrap_or(0));
        if counter < acknowledged {
            return Err(format!(
                "session {session} had the answer that it has counted to {acknowledged}, and {counter} is there"
            ));
        }
        if counter > client.counted {
            return Err(format!(
                "session {session} has counted to {}, and {counter} is there",
                client.counted
            ));
        }
        if let Some(dn) = client.present.keys().find(|dn| !view.entries.contains_key(*dn)) {
            return Err(format!("session {session} had the answer that {dn} was added, and it is not there"));
        }
    }
    if end < promised {
        return Err(format!("record {promised} was answered or read, {end} is the last"));
    }
    Ok(())
}
