//! Workloads against a running server: as many operations as one machine can send, every answer checked.
//!
//! A thread has an epoll and a share of the connections. A connection keeps `queue` requests in progress: as bursts
//! (write all, await all) or as a sliding window (each answer makes room for one more request). Requests are copies
//! of templates with message id, key and value patched in; answers are checked against the slot of their message id.

mod answer;
mod connection;
mod report;
mod request;
mod transaction;
mod worker;

pub use answer::Fault;
pub use report::{Faults, Outcome};
pub use request::KeyFormat;
pub use transaction::Style;

use clap::ValueEnum;
use env::clock::SystemClock;
use env::poll::on_threads;
use report::Part;
use request::Templates;
use std::fmt;
use std::io;
use std::sync::Barrier;
use std::time::Duration;

/// Which operations are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Searches with scope baseObject for an entry by its DN.
    SearchBase,
    /// Searches below the base for the entry whose RDN attribute equals a value.
    SearchEquality,
    /// Modifies that replace one value.
    Modify,
    /// SearchBase, and so many of 100 operations Modify.
    Mixed {
        /// Percent of modifies.
        modify_share: u8,
    },
    /// Modifies in transactions: as many in each as the queue is long. Starts and ends are not counted.
    Transaction {
        /// How much of the protocol is said.
        style: Style,
        /// Is the end sent together with the updates? Else when all of them were answered.
        at_once: bool,
    },
    /// Simple binds as the entries, all with one password.
    Bind,
}

impl Workload {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Workload::SearchBase => "search-base",
            Workload::SearchEquality => "search-eq",
            Workload::Modify => "modify",
            Workload::Mixed { .. } => "mixed",
            Workload::Transaction { .. } => "transaction",
            Workload::Bind => "bind",
        }
    }
}

/// How a connection keeps its queue filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Window {
    /// All requests with one write, then await all answers
    Burst,
    /// One more request for each answer
    Sliding,
}

/// The name of a value on the command line.
pub fn name_of(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
}

/// What the client does not do, said with every result.
pub const SWITCHED_OFF: &str = "TLS; comparing attribute values";

/// When a run ends, without the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// After so long.
    Time(Duration),
    /// After so many operations over all connections.
    Operations(u64),
}

/// The attributes that searches ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// `1.1`: none. An answer that has some all the same is a fault.
    None,
    /// The empty list: all user attributes.
    All,
    /// These.
    List(Vec<String>),
}

impl Selection {
    /// As on the command line.
    pub fn text(&self) -> String {
        match self {
            Selection::None => "1.1".to_owned(),
            Selection::All => "all".to_owned(),
            Selection::List(names) => names.join(","),
        }
    }
}

/// A run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What is sent.
    pub workload: Workload,
    /// The server's host.
    pub host: String,
    /// The server's port.
    pub port: u16,
    /// Name and password of every connection's first bind; without it there is none.
    pub credentials: Option<(String, String)>,
    /// How many connections.
    pub connections: usize,
    /// Requests in progress on each.
    pub queue: usize,
    /// How they are kept in progress.
    pub window: Window,
    /// Whether the server is sent how many that are, with the first bind of every connection.
    pub queue_length_control: bool,
    /// What is measured.
    pub length: Length,
    /// What is sent before that and not measured.
    pub warmup: Duration,
    /// The least key.
    pub first: u64,
    /// How many keys there are from there on, of which random ones are drawn.
    pub entries: u64,
    /// How a key becomes the value of the RDN.
    pub key: KeyFormat,
    /// The attribute of the RDN.
    pub rdn: String,
    /// The parent of all entries; the base of equality searches.
    pub base: String,
    /// What searches ask for.
    pub attributes: Selection,
    /// The attribute that modifies replace.
    pub modify_attribute: String,
    /// Bytes of the new values, from and to.
    pub value_bytes: (usize, usize),
    /// The password of the workload `bind`.
    pub user_password: String,
    /// How many threads.
    pub threads: usize,
    /// Decides about keys and values.
    pub seed: u64,
    /// Operations per second over all connections that are never exceeded. Latency then counts from the time a burst
    /// was due, so that a server that falls behind cannot hide it.
    pub rate: Option<f64>,
    /// The server's process, for its CPU time.
    pub server_pid: Option<u32>,
    /// When the server's writes count as done, as it says, for the report.
    pub durability: Option<String>,
}

impl Settings {
    /// As on the command line: how many entries, or the first and the last.
    pub fn entries_text(&self) -> String {
        match self.first {
            0 => self.entries.to_string(),
            first => format!("{first}..{}", first + self.entries - 1),
        }
    }

    /// When the server's writes count as done.
    pub fn durability_text(&self) -> &str {
        self.durability.as_deref().unwrap_or("unknown")
    }
}

/// The most requests in progress on one connection.
pub const QUEUE_MAX: usize = 1 << 16;
/// The most connections.
pub const CONNECTIONS_MAX: usize = 60_000;
/// The longest value that a modify writes.
pub const VALUE_BYTES_MAX: usize = 4096;

/// Why a run did not start.
#[derive(Debug)]
pub enum BenchError {
    /// A setting that cannot be.
    Setting(&'static str),
    /// The system or the network refused.
    Io(io::Error),
    /// The server refused the first bind with this result code, or answered something else (`None`).
    Bind(Option<u8>),
    /// No measured operation was finished.
    Nothing,
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchError::Setting(reason) => f.write_str(reason),
            BenchError::Io(error) => error.fmt(f),
            BenchError::Bind(None) => f.write_str("the server did not answer the bind"),
            BenchError::Bind(Some(code)) => {
                let name = model::ResultCode::from_number(u32::from(*code))
                    .map_or("an unknown code", |code| code.name());
                write!(f, "the server refused the bind: {name} ({code})")
            }
            BenchError::Nothing => f.write_str("no operation was finished in the measured time"),
        }
    }
}

impl std::error::Error for BenchError {}

impl From<io::Error> for BenchError {
    fn from(error: io::Error) -> BenchError {
        BenchError::Io(error)
    }
}

/// Checks what the types of the settings do not.
fn check(settings: &Settings) -> Result<(), BenchError> {
    let (min, max) = settings.value_bytes;
    let bind = settings.workload == Workload::Bind;
    let faults = [
        (!(1..=QUEUE_MAX).contains(&settings.queue), "the queue is from 1 to 65536"),
        (!(1..=CONNECTIONS_MAX).contains(&settings.connections), "the connections are from 1 to 60000"),
        (!(1..=256).contains(&settings.threads), "the threads are from 1 to 256"),
        (!(1..=1 << 32).contains(&settings.entries), "the entries are from 1 to 2^32"),
        (settings.first.saturating_add(settings.entries) > 1 << 32, "the last key is below 2^32"),
        (min == 0 || min > max || max > VALUE_BYTES_MAX, "the value bytes are FROM..TO, from 1 to 4096"),
        (
            bind && settings.queue != 1,
            "a session has one bind in progress at a time (RFC 4511 section 4.2.1): --queue 1",
        ),
        (
            matches!(settings.workload, Workload::Transaction { .. }) && settings.window == Window::Sliding,
            "a transaction is a burst: --window burst",
        ),
        (settings.rate.is_some_and(|rate| !rate.is_finite() || rate <= 0.0), "the rate must be above 0"),
        (settings.rate.is_some() && settings.window == Window::Sliding, "a rate needs --window burst"),
    ];
    match faults.into_iter().find(|fault| fault.0) {
        Some((_, reason)) => Err(BenchError::Setting(reason)),
        None => Ok(()),
    }
}

/// Runs a workload and reports what came of it.
///
/// # Errors
/// When it cannot start: see [`BenchError`]. What goes wrong later is counted in the [`Outcome`].
pub fn run(settings: &Settings) -> Result<Outcome, BenchError> {
    check(settings)?;
    env::host::raise_descriptor_limit();
    let templates = Templates::new(settings);
    let threads = settings.threads.min(settings.connections);
    let (barrier, clock) = (Barrier::new(threads), SystemClock::start());
    let work = |index| worker::run(settings, &templates, index, threads, &barrier, clock);
    let parts = on_threads(threads, work).into_iter().collect::<Result<Vec<Part>, BenchError>>()?;
    Outcome::of(parts).ok_or(BenchError::Nothing)
}

#[cfg(test)]
mod tests;
