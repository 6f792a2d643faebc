//! Answers, as a client keeps them.

use model::ResultCode;
use proto::control::{Controls, read_age};
use proto::{Reply, Response};
use std::collections::BTreeMap;

/// An entry as a client sees it: values by attribute description.
pub type Attributes = BTreeMap<String, Vec<String>>;

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// An entry that a search found, by the message id of the search.
    Entry(usize, String, Attributes),
    /// The end of an operation, by its message id.
    Done(usize, ResultCode),
    /// The same of an extended operation, with its value.
    Extended(usize, ResultCode, Option<Vec<u8>>),
    /// What an operation has read may be old, by so many milliseconds at most, if that is known; by its message id. Its end follows.
    Age(usize, Option<u64>),
    /// The server has given up the transaction with this identifier, and why.
    Aborted(Vec<u8>, ResultCode),
}

impl Answer {
    /// Of a whole message.
    ///
    /// # Panics
    /// When it is none that a server of a simulated directory sends: there are neither references nor names that are
    /// not UTF-8.
    pub fn decode(message: &[u8]) -> Answer {
        let reply = Reply::decode(message).expect("answers decode");
        let id = usize::try_from(reply.id).expect("message ids are positive");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if let Response::SearchEntry(entry) = reply.response {
            let attributes = entry.attributes.iter();
            let attributes = attributes.map(|a| (text(a.description), a.values.iter().map(text).collect()));
            return Answer::Entry(id, text(entry.dn), attributes.collect());
        }
        let code = reply.result().and_then(|result| result.result_code());
        let code = code.expect("everything else that is sent has a known result");
        match reply.response {
            Response::Extended(response) => {
                let value = response.value.map(<[u8]>::to_vec);
                match id {
                    0 => Answer::Aborted(value.expect("no other notice is sent"), code),
                    _ => Answer::Extended(id, code, value),
                }
            }
            _ => Answer::Done(id, code),
        }
    }

    /// What a whole message says of the age of what was read.
    ///
    /// # Panics
    /// As [`Answer::decode`].
    pub fn age(message: &[u8]) -> Option<Answer> {
        let found = Controls::of(message).find(read_age::OID)?;
        let reply = Reply::decode(message).expect("answers decode");
        let id = usize::try_from(reply.id).expect("message ids are positive");
        let ms = found.value.map(|value| read_age::decode(value).expect("it is a number"));
        Some(Answer::Age(id, ms))
    }
}

/// Was the update not tried, so that the client knows that nothing of it happened, or cannot know?
pub fn is_refusal(code: ResultCode) -> bool {
    matches!(code, ResultCode::Unavailable | ResultCode::Busy | ResultCode::UnwillingToPerform)
}
