//! A history: what clients asked for, what they were answered, and when.
//!
//! A file of a history has one [`Event`] a line, as JSON:
//!
//! ```json
//! {"at":1200,"process":3,"what":"invoke","steps":[{"append":{"list":"l1","element":7}},{"list":{"list":"l1"}}]}
//! {"at":1950,"process":3,"what":"ok","steps":[{"append":{"list":"l1","element":7}},{"list":{"list":"l1","elements":[4,7]}}]}
//! ```
//!
//! `at` is in nanoseconds from any begin. All steps of an invocation are one transaction. A process does one thing at a time.
//! `ok` repeats the steps with what was read; `fail` is sure to have changed nothing; after `unknown`, as after an invocation
//! that is never answered, it may have happened at any time since, or not: until a `cut`, which says that the server had
//! ended and that what was in progress has happened before or never.

mod pairing;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Nanoseconds.
    pub at: u64,
    /// Who; of a cut it says nothing.
    #[serde(default)]
    pub process: u32,
    /// What happened.
    pub what: What,
    /// What is asked for, or how it came out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A process asks for a transaction.
    Invoke,
    /// It happened, and this was read.
    Ok,
    /// It has not happened and never will.
    Fail,
    /// Nobody knows whether it happened.
    Unknown,
    /// The server had ended: what is open has happened before this, or never.
    Cut,
}

/// A part of a transaction. What is read is not known in an invocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Reads a register.
    Read {
        /// Its name.
        register: String,
        /// What it held.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<u64>,
    },
    /// Writes a register whatever it holds.
    Write {
        /// Its name.
        register: String,
        /// What it holds then.
        value: u64,
    },
    /// Compare-and-swap.
    Swap {
        /// The register's name.
        register: String,
        /// What it must hold.
        from: u64,
        /// What it holds then.
        to: u64,
        /// Did it hold that?
        #[serde(default, skip_serializing_if = "Option::is_none")]
        done: Option<bool>,
    },
    /// Appends to a list an element that is never appended to it again.
    Append {
        /// Its name.
        list: String,
        /// The element.
        element: u64,
    },
    /// Reads a list.
    List {
        /// Its name.
        list: String,
        /// What it held, in order.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        elements: Option<Vec<u64>>,
    },
    /// Moves an amount from one account to another.
    Transfer {
        /// The account that has less then.
        from: String,
        /// The account that has more then.
        to: String,
        /// How much.
        amount: i64,
    },
    /// Reads all accounts at once.
    Scan {
        /// What each held.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        balances: Option<BTreeMap<String, i64>>,
    },
}

/// How a transaction came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It happened.
    Ok,
    /// It did not happen.
    Fail,
    /// Nobody knows.
    Unknown,
}

/// A transaction. Places are those of events in the order of their times: what ends before another begins came before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Who asked for it.
    pub process: u32,
    /// Place of the invocation.
    pub begin: u64,
    /// Place from which on it certainly has happened, or never will; `u64::MAX` if there is none.
    pub end: u64,
    /// How it came out.
    pub outcome: Outcome,
    /// Its steps, with what was read if that is known.
    pub steps: Vec<Step>,
}

/// All operations by their begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// See above.
    pub operations: Vec<Operation>,
}

/// Why events are no history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// A line, from 1, is no event: what the parser says.
    Line(usize, String),
    /// A process asks for something while it waits for something else.
    Busy(u32),
    /// A process is answered without having asked.
    Unasked(u32),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Line(line, why) => write!(f, "line {line}: {why}"),
            Malformed::Busy(process) => write!(f, "process {process} asks twice without an answer between"),
            Malformed::Unasked(process) => write!(f, "process {process} is answered without having asked"),
        }
    }
}

/// Reads the events of a file.
///
/// # Errors
/// When a line is none.
pub fn parse(text: &str) -> Result<Vec<Event>, Malformed> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let event = |(at, line)| {
        serde_json::from_str(line)
            .map_err(|error: serde_json::Error| Malformed::Line(at + 1, error.to_string()))
    };
    lines.map(event).collect()
}

/// The events as a file has them.
pub fn write(events: &[Event]) -> String {
    let mut text = String::new();
    for event in events {
        text.push_str(&serde_json::to_string(event).expect("an event has nothing that JSON has not"));
        text.push('\n');
    }
    text
}
