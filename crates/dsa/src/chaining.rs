//! Requests that another server answers, which this one asks for its client (decisions 107 and 111): what is asked, and what comes of it.
//!
//! ```text
//! op::chained, op::search::chained   is it for another server, and may its client ask?    Question
//! password::Outward                  a place in the pool; the session waits
//! Chaining                           asks, in the time and with the bytes of one request    Answer
//! op::chained, op::search::chained   what the client may see of it
//! ```
//! The agent decides which request is chained and what of the answer its client may see. The part of the server that has sockets asks, on threads
//! that may wait. A request waits for that as a bind waits for a slow password: it is given up, and run again when the answer is there.

/// What asks other servers.
pub trait Chaining: Send + Sync {
    /// Number of the first server among those that URLs name which may be asked.
    fn server_of(&self, urls: &[Vec<u8>]) -> Option<u64>;

    /// Asks, and waits for all of the answer, for a bounded time. An update is sent to one server once.
    fn ask(&self, question: &Question) -> Answer;

    /// What was asked of each server since the start.
    fn counts(&self) -> Vec<ServerCounts>;
}

/// Numbers of a server that may be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerCounts {
    /// Its URL.
    pub url: String,
    /// Requests that it was to be asked.
    pub asked: u64,
    /// Those of which it gave no result, or an unclear one.
    pub failed: u64,
    /// Connections that were opened.
    pub opened: u64,
    /// Requests by a connection that was there already.
    pub reused: u64,
    /// Connections that wait for a request now.
    pub idle: u64,
}

/// A request, and where it goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// Where it goes on, each by URLs of which one is enough. A URL has the name of the entry there, and the scope of a search.
    pub places: Vec<Vec<Vec<u8>>>,
    /// Are the places those of references that a search has found? One that fails ends nothing then.
    pub is_each: bool,
    /// Of a rename, the new superior by the URLs of its place; empty without one.
    pub superiors: Vec<Vec<u8>>,
    /// The request, as a message without controls. A search has the limits that hold for its client.
    pub message: Vec<u8>,
    /// Who asks: a DN, empty for nobody.
    pub who: Vec<u8>,
    /// DN of the referral object that leads there; empty of several.
    pub object: Vec<u8>,
}

/// What other servers answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Of a search, what came of each place; fewer if it has ended early.
    pub parts: Vec<Part>,
    /// The number of the result code.
    pub code: u32,
    /// The text of the result.
    pub text: String,
    /// URLs of a referral that was not followed.
    pub urls: Vec<Vec<u8>>,
    /// By how many RDNs matchedDN is shorter than the name of the entry, if the client may know of it.
    pub unmatched: Option<usize>,
}

/// What came of a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Messages of entries and references.
    pub messages: Vec<u8>,
    /// Bases of the searches that they came of. An entry that is below none of them was not asked for.
    pub bases: Vec<Vec<u8>>,
    /// Is it all that is there?
    pub is_whole: bool,
}
