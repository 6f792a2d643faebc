//! What a session has read, it reads again or something later, also after a start. Within an incarnation the clients look at
//! that themselves.

use super::Situation;

pub(super) fn check(situation: &Situation<'_>) -> Result<(), String> {
    for (session, client) in situation.clients.iter() {
        for (of, read) in &client.read {
            let counter = situation.view.counter(*of);
            if counter < *read {
                return Err(format!(
                    "session {session} has read {read} from the counter of session {of}, and {counter} is there"
                ));
            }
        }
    }
    Ok(())
}
