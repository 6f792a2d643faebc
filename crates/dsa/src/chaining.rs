//! Searches that another server answers, which this one asks for its client (decision 107): what is asked, and what comes of it.
//!
//! The agent decides which search is chained and what of the answer its client may see. The part of the server that has sockets asks, on threads
//! that may wait. A search waits for that as a bind waits for a slow password: it is given up, and run again when the answer is there.

/// What asks other servers.
pub trait Chaining: Send + Sync {
    /// Number of the first server among those that URLs name which may be asked.
    fn server_of(&self, urls: &[Vec<u8>]) -> Option<u64>;

    /// Asks, and waits for all of the answer, for a bounded time.
    fn ask(&self, question: &Question) -> Answer;
}

/// A search, and where it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// URLs of a referral: each has the base of the search there, and its scope.
    pub urls: Vec<Vec<u8>>,
    /// The search, as a message without controls, with the limits that hold for its client.
    pub message: Vec<u8>,
    /// Who asks: a DN, empty for nobody.
    pub who: Vec<u8>,
}

/// What other servers answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Messages of entries and references.
    pub messages: Vec<u8>,
    /// Bases of the searches that they came of. An entry that is below none of them was not asked for.
    pub bases: Vec<Vec<u8>>,
    /// The number of the result code.
    pub code: u32,
    /// The text of the result.
    pub text: String,
    /// URLs of a referral that was not followed.
    pub urls: Vec<Vec<u8>>,
}
