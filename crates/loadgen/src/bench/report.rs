//! What a run found out: numbers that can be compared, and every fault.

use super::answer::Fault;
use super::{SWITCHED_OFF, Settings, Workload, name_of};
use env::poll::{process_cpu, thread_cpu};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// The longest latency that is distinguished from longer ones: 100 s.
const LATENCY_NS_MAX: u64 = 100_000_000_000;

/// Faults by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(BTreeMap<Fault, u64>);

impl Faults {
    #[cold]
    pub(super) fn add(&mut self, fault: Fault) {
        self.add_many(fault, 1);
    }

    pub(super) fn add_many(&mut self, fault: Fault, count: u64) {
        if count > 0 {
            *self.0.entry(fault).or_default() += count;
        }
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// How many of each kind.
    pub fn iter(&self) -> impl Iterator<Item = (Fault, u64)> {
        self.0.iter().map(|(&fault, &count)| (fault, count))
    }
}

/// What one thread writes down while it works.
pub(super) struct Recorder {
    histogram: Histogram<u64>,
    operations: u64,
    /// How many operations there were at the end of each second.
    at_second: Vec<u64>,
    /// Faults of the whole run, warm-up included.
    pub(super) faults: Faults,
    /// Whether the measured time is on.
    pub(super) measuring: bool,
}

impl Recorder {
    pub(super) fn new() -> Recorder {
        let histogram = Histogram::new_with_bounds(100, LATENCY_NS_MAX, 3).expect("the bounds are in order");
        Recorder {
            histogram,
            operations: 0,
            at_second: Vec::new(),
            faults: Faults::default(),
            measuring: false,
        }
    }

    /// So many operations were answered after so long.
    #[inline(always)]
    pub(super) fn latency(&mut self, ns: u64, count: u64) {
        if count > 0 && self.measuring {
            self.histogram.saturating_record_n(ns, count);
            self.operations += count;
        }
    }

    /// So many seconds of the measured time have passed.
    #[inline(always)]
    pub(super) fn passed(&mut self, seconds: u64) {
        while self.measuring && (self.at_second.len() as u64) < seconds {
            self.at_second.push(self.operations);
        }
    }

    /// Operations in each second.
    fn per_second(&self) -> Vec<u64> {
        let before = std::iter::once(0).chain(self.at_second.iter().copied());
        self.at_second.iter().zip(before).map(|(end, begin)| end - begin).collect()
    }

    pub(super) fn operations(&self) -> u64 {
        self.operations
    }
}

/// CPU times at one moment, or between two.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CpuTimes {
    client_ns: u64,
    server_ns: Option<u64>,
}

impl CpuTimes {
    pub(super) fn read(server_pid: Option<u32>) -> CpuTimes {
        let server = server_pid.and_then(|pid| process_cpu(pid).ok());
        CpuTimes {
            client_ns: thread_cpu().as_nanos() as u64,
            server_ns: server.map(|time| time.as_nanos() as u64),
        }
    }

    pub(super) fn since(self, earlier: CpuTimes) -> CpuTimes {
        let server_ns = self.server_ns.zip(earlier.server_ns).map(|(now, then)| now.saturating_sub(then));
        CpuTimes { client_ns: self.client_ns.saturating_sub(earlier.client_ns), server_ns }
    }
}

/// What one thread found out.
pub(super) struct Part {
    pub(super) recorder: Recorder,
    pub(super) seconds: f64,
    pub(super) cpu: CpuTimes,
}

/// The measurements of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Operations answered in the measured time.
    pub operations: u64,
    /// The measured time; the mean over the threads.
    pub seconds: f64,
    /// Operations per second.
    pub rate: f64,
    /// Latencies in nanoseconds.
    pub latency: Histogram<u64>,
    /// CPU time of the client per operation.
    pub client_cpu_ns: f64,
    /// CPU time of the server per operation, if its process was named and could be read.
    pub server_cpu_ns: Option<f64>,
    /// Operations in each whole second of the measured time.
    pub per_second: Vec<u64>,
    /// What went wrong, warm-up included.
    pub faults: Faults,
}

impl Outcome {
    /// Adds the threads up; `None` when nothing was measured.
    pub(super) fn of(parts: Vec<Part>) -> Option<Outcome> {
        let mut parts = parts.into_iter();
        let threads = parts.len() as f64;
        let first = parts.next()?;
        let rate_of = |part: &Part| part.recorder.operations as f64 / part.seconds.max(1e-9);
        let mut outcome = Outcome {
            operations: first.recorder.operations,
            seconds: first.seconds / threads,
            rate: rate_of(&first),
            client_cpu_ns: first.cpu.client_ns as f64,
            server_cpu_ns: first.cpu.server_ns.map(|ns| ns as f64),
            per_second: first.recorder.per_second(),
            latency: first.recorder.histogram,
            faults: first.recorder.faults,
        };
        for part in parts {
            outcome.operations += part.recorder.operations;
            outcome.seconds += part.seconds / threads;
            outcome.rate += rate_of(&part);
            outcome.client_cpu_ns += part.cpu.client_ns as f64;
            // A second that not all threads have had is none.
            let seconds = part.recorder.per_second();
            outcome.per_second.truncate(seconds.len());
            outcome.per_second.iter_mut().zip(seconds).for_each(|(sum, more)| *sum += more);
            outcome.latency.add(&part.recorder.histogram).expect("the same bounds");
            part.recorder.faults.iter().for_each(|(fault, count)| outcome.faults.add_many(fault, count));
        }
        if outcome.operations == 0 && outcome.faults.total() == 0 {
            return None;
        }
        let operations = outcome.operations.max(1) as f64;
        outcome.client_cpu_ns /= operations;
        outcome.server_cpu_ns = outcome.server_cpu_ns.map(|ns| ns / operations);
        Some(outcome)
    }

    /// The second with the fewest operations, as a share of the mean of all; `None` for less than two whole seconds.
    pub fn worst_second(&self) -> Option<f64> {
        let worst = *self.per_second.iter().min().filter(|_| self.per_second.len() > 1)?;
        let mean = self.per_second.iter().sum::<u64>() as f64 / self.per_second.len() as f64;
        Some(worst as f64 / mean.max(1.0))
    }

    /// A percentile of the latency in microseconds.
    pub fn latency_us(&self, percentile: f64) -> f64 {
        self.latency.value_at_percentile(percentile) as f64 / 1000.0
    }

    /// The measurements as one JSON object, with the settings they were measured with.
    pub fn json(&self, settings: &Settings) -> serde_json::Value {
        let faults: BTreeMap<String, u64> =
            self.faults.iter().map(|(fault, n)| (fault.to_string(), n)).collect();
        serde_json::json!({
            "settings": describe(settings),
            "operations": self.operations,
            "seconds": self.seconds,
            "rate": self.rate,
            "per_second": self.per_second,
            "worst_second": self.worst_second(),
            "latency_us": {
                "p50": self.latency_us(50.0), "p90": self.latency_us(90.0), "p99": self.latency_us(99.0),
                "p99.9": self.latency_us(99.9), "max": self.latency.max() as f64 / 1000.0,
            },
            "client_cpu_ns_per_operation": self.client_cpu_ns,
            "server_cpu_ns_per_operation": self.server_cpu_ns,
            "errors": self.faults.total(),
            "faults": faults,
        })
    }
}

fn describe(settings: &Settings) -> serde_json::Value {
    let modify_share = match settings.workload {
        Workload::Mixed { modify_share } => Some(modify_share),
        _ => None,
    };
    let transaction = match settings.workload {
        Workload::Transaction { style, at_once } => Some((name_of(&style), at_once)),
        _ => None,
    };
    serde_json::json!({
        "workload": settings.workload.name(),
        "modify_share": modify_share,
        "style": transaction.as_ref().map(|(style, _)| style),
        "at_once": transaction.as_ref().map(|(_, at_once)| at_once),
        "host": settings.host,
        "port": settings.port,
        "bind_dn": settings.credentials.as_ref().map(|(name, _)| name),
        "connections": settings.connections,
        "queue": settings.queue,
        "window": name_of(&settings.window),
        "queue_length_control": settings.queue_length_control,
        "threads": settings.threads,
        "warmup_seconds": settings.warmup.as_secs_f64(),
        "first": settings.first,
        "entries": settings.entries,
        "rdn": settings.rdn,
        "base": settings.base,
        "attributes": settings.attributes.text(),
        "value_bytes": [settings.value_bytes.0, settings.value_bytes.1],
        "seed": settings.seed,
        "rate": settings.rate,
        "durability": settings.durability_text(),
        "switched_off": SWITCHED_OFF,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that had so many operations in its seconds, and one more in what is left of another.
    fn part(operations: &[u64]) -> Part {
        let mut recorder = Recorder::new();
        recorder.latency(1000, 7);
        recorder.measuring = true;
        for (second, count) in operations.iter().enumerate() {
            recorder.latency(1000, *count);
            recorder.passed(second as u64 + 1);
        }
        recorder.latency(1000, 1);
        Part { recorder, seconds: operations.len() as f64 + 0.1, cpu: CpuTimes::default() }
    }

    #[test]
    fn seconds_are_counted_apart() {
        let outcome = Outcome::of(vec![part(&[5, 0, 7]), part(&[1, 2, 3, 4])]).expect("there are operations");
        assert_eq!((outcome.per_second.as_slice(), outcome.operations), (&[6, 2, 10][..], 24));
        assert_eq!(outcome.worst_second(), Some(2.0 / 6.0));
        // Seconds in which nobody looked had nothing.
        let mut late = Recorder::new();
        late.measuring = true;
        late.latency(1000, 9);
        late.passed(3);
        assert_eq!(late.per_second(), [9, 0, 0]);
    }
}
