//! Nothing of a transaction is there that was given up, refused, or preempted: no counter has what one has set it to.

use super::Situation;

pub(super) fn check(situation: &Situation<'_>) -> Result<(), String> {
    for (session, client) in situation.clients.iter() {
        let counter = situation.view.counter(session);
        if client.void.contains(&counter) {
            return Err(format!("the counter of session {session} is {counter}, which was not committed"));
        }
    }
    Ok(())
}
