//! Answers, as a client keeps them.

use model::ResultCode;
use proto::control::read_entry;
use proto::list::Attributes as List;
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
        if let Response::SearchEntry(entry) = reply.response {
            return Answer::Entry(id, text(entry.dn), attributes(entry.attributes));
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
}

/// The entries that the controls of an answer bring: as it was before the update, and as it is.
///
/// # Panics
/// As [`Answer::decode`].
pub fn read_entries(message: &[u8]) -> Vec<Answer> {
    let reply = Reply::decode(message).expect("answers decode");
    let id = usize::try_from(reply.id).expect("message ids are positive");
    let is_read = |oid: &[u8]| oid == read_entry::PRE_OID || oid == read_entry::POST_OID;
    let values =
        reply.controls.iter().filter(|control| is_read(control.oid)).filter_map(|control| control.value);
    let entries = values.map(|value| read_entry::decode_entry(value).expect("it has an entry"));
    entries.map(|entry| Answer::Entry(id, text(entry.dn), attributes(entry.attributes))).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn attributes(list: List<'_>) -> Attributes {
    list.iter().map(|a| (text(a.description), a.values.iter().map(text).collect())).collect()
}

/// Was the update not tried, so that the client knows that nothing of it happened, or cannot know?
pub fn is_refusal(code: ResultCode) -> bool {
    matches!(code, ResultCode::Unavailable | ResultCode::Busy | ResultCode::UnwillingToPerform)
}
