//! What a check says.

use std::fmt;

/// What a check says of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is wrong.
    Holds,
    /// This is wrong; there is at least one.
    Broken(Vec<Finding>),
    /// The search for an order took more steps than it was allowed: neither yes nor no.
    GaveUp(String),
}

impl Verdict {
    /// What is wrong, or nothing.
    pub fn of(findings: Vec<Finding>) -> Verdict {
        if findings.is_empty() { Verdict::Holds } else { Verdict::Broken(findings) }
    }

    /// The anomalies that were found.
    pub fn anomalies(&self) -> Vec<Anomaly> {
        match self {
            Verdict::Broken(findings) => findings.iter().map(|finding| finding.anomaly).collect(),
            Verdict::Holds | Verdict::GaveUp(_) => Vec::new(),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Holds => f.write_str("holds"),
            Verdict::GaveUp(why) => write!(f, "gave up: {why}"),
            Verdict::Broken(findings) => {
                findings.iter().try_for_each(|finding| writeln!(f, "{}: {}", finding.anomaly, finding.text))
            }
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is called.
    pub anomaly: Anomaly,
    /// Which operations show it, and how: for people.
    pub text: String,
}

impl Finding {
    /// A finding.
    pub fn new(anomaly: Anomaly, text: String) -> Finding {
        Finding { anomaly, text }
    }
}

/// What can be wrong. G0 to G2 are the phenomena of Adya, Liskov and O'Neil, "Generalized Isolation Level Definitions"
/// (ICDE 2000); G-single is from Adya's thesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Anomaly {
    /// No order of the operations on a register, within their times, gives what was read.
    NotLinearizable,
    /// A read has what nobody ever wrote.
    Unwritten,
    /// A read has the same element twice.
    Twice,
    /// A transaction did not see what it had read or written itself before.
    Internal,
    /// Two reads of a list do not agree on the order of its elements.
    IncompatibleOrder,
    /// Writes of transactions are interleaved: a cycle of nothing but write dependencies.
    G0,
    /// A read has what a failed transaction wrote.
    G1a,
    /// A read ends with what a transaction wrote over itself later.
    G1b,
    /// Circular flow of information: a cycle of write and read dependencies.
    G1c,
    /// A cycle with exactly one anti-dependency: no consistent snapshot was read.
    GSingle,
    /// A cycle with several anti-dependencies, such as write skew.
    G2,
    /// Two transactions read the same version, and both wrote the next.
    LostUpdate,
    /// Serialisable, but only in an order that contradicts the times: something finished was not seen by what began later.
    RealTime,
    /// A scan of all accounts has another sum.
    Sum,
    /// Balances are not what the transfers before make of them.
    Balance,
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Anomaly::NotLinearizable => "not linearizable",
            Anomaly::Unwritten => "read of what nobody wrote",
            Anomaly::Twice => "element read twice",
            Anomaly::Internal => "internal inconsistency",
            Anomaly::IncompatibleOrder => "incompatible order",
            Anomaly::G0 => "G0, write cycle",
            Anomaly::G1a => "G1a, aborted read",
            Anomaly::G1b => "G1b, intermediate read",
            Anomaly::G1c => "G1c, circular information flow",
            Anomaly::GSingle => "G-single, read skew",
            Anomaly::G2 => "G2, anti-dependency cycle",
            Anomaly::LostUpdate => "lost update",
            Anomaly::RealTime => "real-time violation",
            Anomaly::Sum => "sum changed",
            Anomaly::Balance => "balance not explained",
        })
    }
}
