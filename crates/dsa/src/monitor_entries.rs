//! The entries below cn=Monitor, with the names that tools for OpenLDAP look for, and where their metrics come from.
//!
//! They are entries of the server's own small directory and are searched like any others. Their values are not kept up to date all the time: a
//! search that may look at them refreshes them first, once a second at most. So they cost nothing when nobody looks.
//!
//! Each thread counts for itself, without atomics that others write; a sum reads all of them, one after the other. A sum of two counters may
//! therefore be of two moments, and differences are never taken below zero.

use crate::config::Config;
use crate::config_entry;
use crate::engine::Dsa;
use crate::journal::Metrics;
use crate::monitor::{Counters, OPERATIONS};
use crate::settings::{Choices, Row};
use crate::system::{CONFIG_DN, MONITOR_DN, put};
use env::clock::Now;
use model::Entry;
use model::csn::write_generalized_time;
use schema::Schema;
use std::sync::atomic::AtomicU64;

/// The attribute and the class of OpenLDAP's monitor for one number.
const COUNTER: &str = "monitorCounter";
const COUNTER_OBJECT: &str = "monitorCounterObject";

/// Where a metric comes from.
/// Functions, not values: the list of entries is made once for their names, and each refresh runs the functions.
#[derive(Clone, Copy)]
pub(crate) enum Measure {
    /// Operations of one kind begun, by its place in [`OPERATIONS`].
    Initiated(usize),
    /// Operations of one kind that are done.
    Completed(usize),
    /// Any number.
    Number(fn(&Dsa, Now) -> u64),
    /// Unix time in milliseconds, shown as generalized time.
    Time(fn(&Dsa, Now) -> u64),
    /// Any text.
    Text(fn(&Dsa) -> String),
    /// A text for each of several things, all different.
    Texts(fn(&Dsa) -> Vec<String>),
    /// The values of a setting.
    Setting(&'static Row<Choices>),
}

impl Measure {
    /// The values, as an attribute holds them.
    /// None is empty where the schema asks for a value.
    fn take(self, dsa: &Dsa, now: Now) -> Vec<String> {
        // One text for all that have one value.
        let value = match self {
            Measure::Texts(texts) => return texts(dsa),
            Measure::Setting(key) => return key.show(&dsa.chosen.now()),
            Measure::Initiated(kind) => initiated(dsa, kind).to_string(),
            Measure::Completed(kind) => completed(dsa, kind).to_string(),
            Measure::Number(number) => number(dsa, now).to_string(),
            Measure::Text(text) => text(dsa),
            Measure::Time(unix_ms) => {
                let mut text = Vec::new();
                write_generalized_time(unix_ms(dsa, now), &mut text);
                String::from_utf8_lossy(&text).into_owned()
            }
        };
        vec![value]
    }
}

/// One entry of the monitor.
/// `description` says what the number is and in which unit; it stands in the entry, so tools can show it.
pub(crate) struct Item {
    /// Up to `cn=Monitor`, without it; empty for itself.
    name: String,
    class: &'static str,
    description: &'static str,
    measures: Vec<(&'static str, Measure)>,
}

impl Item {
    /// Items are named relative to `cn=Monitor`, as the list below is read.
    pub(crate) fn dn(&self) -> String {
        match &self.name[..] {
            "" => MONITOR_DN.to_owned(),
            name => format!("{name},{MONITOR_DN}"),
        }
    }

    /// Puts what does not change into an entry.
    /// It is called when the server starts; [`refresh`] replaces the values that change.
    pub(crate) fn fill(&self, entry: &mut Entry, schema: &Schema, config: &Config) {
        put(entry, schema, "objectClass", self.class);
        // For people who look at the entry with any client.
        put(entry, schema, "description", self.description);
        if self.name.is_empty() {
            put(entry, schema, "monitoredInfo", &format!("Pando {}", config.version));
        }
    }
}

/// Brings the monitor and the configuration up to date, if that was not done just now.
/// Called before a read point of the server's own entries is taken, so that the search sees what it brings.
pub(crate) fn refresh(dsa: &Dsa, now: Now) {
    if !dsa.system.is_due(now) {
        return;
    }
    // Sizes of tables and indexes are walked for only now.
    dsa.shard.measure();
    dsa.system.update(now, |update| {
        for item in all() {
            let measures = item.measures.iter();
            update.replace(&item.dn(), measures.map(|(name, measure)| (*name, measure.take(dsa, now))));
        }
        let settings = config_entry::measures();
        // In the same batch, so both are of one moment.
        update.replace(CONFIG_DN, settings.map(|(name, measure)| (name, measure.take(dsa, now))));
    });
}

/// All entries, superiors first.
/// Names and classes are those of OpenLDAP's back-monitor, so that its tools find them; what OpenLDAP has not is named in the same way.
pub(crate) fn all() -> Vec<Item> {
    // The entry itself first: adds need superiors.
    let mut items = vec![Item {
        // `cn=Monitor` itself.
        name: String::new(),
        class: "monitorServer",
        description: "Metrics of this server",
        measures: vec![],
    }];
    // In the order in which an administrator would look.
    items.extend(connections());
    items.extend(operations());
    items.extend(statistics());
    items.extend(time());
    items.extend(waiters());
    items.extend(threads());
    items.extend(memory());
    items.extend(log());
    items.push(indexes());
    items
}

/// The descriptor limit is the process's own: it bounds connections before any setting does.
fn connections() -> [Item; 4] {
    [
        container("cn=Connections", "Connections of clients"),
        counter("cn=Total,cn=Connections", "Connections since the start", |dsa, _| {
            sum(dsa, |c| &c.connections_opened)
        }),
        counter("cn=Current,cn=Connections", "Open connections", |dsa, _| connections_open(dsa)),
        counter(
            "cn=Max File Descriptors,cn=Connections",
            "Limit of file descriptors of the process; each connection uses one",
            |_, _| env::host::descriptor_limit(),
        ),
    ]
}

/// Operations are done when their bundle is, but for suspended searches.
/// A search that is suspended has been begun and is not complete.
fn operations() -> Vec<Item> {
    // Two counters each, as OpenLDAP has them: what is between them is in progress.
    let item = |name, description, initiated, completed| Item {
        name,
        class: "monitorOperation",
        description,
        measures: vec![("monitorOpInitiated", initiated), ("monitorOpCompleted", completed)],
    };
    // The sum of all kinds, under the name that OpenLDAP gives it.
    let mut items = vec![item(
        "cn=Operations".to_owned(),
        "Operations since the start",
        Measure::Number(|dsa, _| (0..OPERATIONS.len()).map(|kind| initiated(dsa, kind)).sum()),
        Measure::Number(|dsa, _| (0..OPERATIONS.len()).map(|kind| completed(dsa, kind)).sum()),
    )];
    // Each of the ten operations of RFC 4511 that clients send.
    for (kind, name) in OPERATIONS.iter().enumerate() {
        items.push(item(
            format!("cn={name},cn=Operations"),
            "Operations of this kind",
            Measure::Initiated(kind),
            Measure::Completed(kind),
        ));
    }
    items
}

/// By place in [`OPERATIONS`], in which counters are kept, too.
fn initiated(dsa: &Dsa, kind: usize) -> u64 {
    dsa.monitor.sum(|counters| &counters.operations[kind])
}

/// Every operation but a suspended search is done when the thread has counted it.
fn completed(dsa: &Dsa, kind: usize) -> u64 {
    // No other operation outlives its bundle.
    let active = match OPERATIONS[kind] {
        "Search" => sum(dsa, |counters| &counters.searches_suspended),
        _ => 0,
    };
    // A thread may count while another sums.
    initiated(dsa, kind).saturating_sub(active)
}

/// What goes to clients; bytes are counted when they are written to the output buffer.
fn statistics() -> [Item; 6] {
    [
        container("cn=Statistics", "What was sent"),
        counter("cn=Bytes,cn=Statistics", "Bytes of answers", |dsa, _| sum(dsa, |c| &c.bytes_out)),
        // Each operation but unbind and abandon ends with one message; entries and references come before it.
        counter("cn=PDU,cn=Statistics", "Messages that answer requests", |dsa, _| {
            // RFC 4511 sections 4.3 and 4.11: these two have no response.
            let is_answered = |kind: &usize| !matches!(OPERATIONS[*kind], "Unbind" | "Abandon");
            let ends: u64 = (0..OPERATIONS.len()).filter(is_answered).map(|kind| completed(dsa, kind)).sum();
            ends + sum(dsa, |c| &c.entries) + sum(dsa, |c| &c.references)
        }),
        counter("cn=Referrals,cn=Statistics", "References that searches returned", |dsa, _| {
            sum(dsa, |c| &c.references)
        }),
        counter("cn=Entries,cn=Statistics", "Entries that searches returned", |dsa, _| {
            sum(dsa, |c| &c.entries)
        }),
        counter("cn=Bundles,cn=Statistics", "Socket reads with at least one complete request", |dsa, _| {
            sum(dsa, |c| &c.bundles)
        }),
    ]
}

/// The clock of the request that asked, so an answer is of one moment.
/// `cn=Start` and `cn=Uptime` are of the process, not of the data directory.
fn time() -> [Item; 4] {
    // Times are generalized times and numbers of seconds, so each has its own attribute.
    let object = |name: &str, description, attribute, measure| Item {
        name: name.to_owned(),
        class: "monitoredObject",
        description,
        measures: vec![(attribute, measure)],
    };
    [
        container("cn=Time", "Clock of the server"),
        object(
            "cn=Start,cn=Time",
            "When it started",
            "monitorTimestamp",
            Measure::Time(|dsa, _| dsa.config.started_ms),
        ),
        object(
            "cn=Current,cn=Time",
            "When this was read",
            "monitorTimestamp",
            Measure::Time(|_, now| now.wall_ms),
        ),
        object(
            "cn=Uptime,cn=Time",
            "Seconds since the start",
            "monitoredInfo",
            Measure::Number(|dsa, now| now.wall_ms.saturating_sub(dsa.config.started_ms) / 1000),
        ),
    ]
}

/// A connection waits for its client to send, or to read; that it waits for the log is a matter of the server and counted there.
fn waiters() -> [Item; 3] {
    [
        container("cn=Waiters", "Connections that are waiting"),
        counter("cn=Read,cn=Waiters", "Connections that wait for a request of their client", |dsa, _| {
            connections_open(dsa)
        }),
        counter(
            "cn=Write,cn=Waiters",
            "Connections whose client has not yet read all answers; counted once a second",
            |dsa, _| sum(dsa, |c| &c.write_waiters),
        ),
    ]
}

/// Those of the process are counted by the system: committer, snapshots and bulk load have threads of their own.
fn threads() -> [Item; 3] {
    let object = |name: &str, description, number: fn(&Dsa, Now) -> u64| Item {
        name: name.to_owned(),
        class: "monitoredObject",
        description,
        measures: vec![("monitoredInfo", Measure::Number(number))],
    };
    [
        container("cn=Threads", "Threads of the server"),
        // Fixed at the start; in OpenLDAP it is the size of the pool.
        object("cn=Max,cn=Threads", "Threads that serve connections", |dsa, _| dsa.monitor.serving_threads()),
        object("cn=Open,cn=Threads", "Threads of the whole process; 0 if unknown", |_, _| {
            env::host::threads().unwrap_or(0)
        }),
    ]
}

/// `Total` is what counts against memory-max; the lines below it are its parts. `Resident` is what the system sees, with buffers of clients and
/// free pages of the allocator.
/// Measured at the refresh, so all are of one moment.
fn memory() -> [Item; 13] {
    [
        container("cn=Memory", "Memory by purpose, in bytes"),
        counter("cn=Resident,cn=Memory", "Resident memory of the process, in bytes; 0 if unknown", |_, _| {
            env::host::resident_bytes().unwrap_or(0)
        }),
        // As it holds now: it can be changed while the server runs.
        counter("cn=Limit,cn=Memory", "memory-max: limit of the directory, in bytes", |dsa, _| {
            dsa.memory_bytes_max()
        }),
        counter("cn=Total,cn=Memory", "Of the directory", |dsa, _| dsa.shard.memory().total()),
        counter("cn=Segments,cn=Memory", "Segments that hold entries and values, in bytes", |dsa, _| {
            dsa.shard.memory().segments
        }),
        // With Segments and Held it says how well the cleaner keeps up.
        counter("cn=Live,cn=Memory", "Newest versions in segments, in bytes", |dsa, _| {
            dsa.shard.memory().live
        }),
        counter(
            "cn=Held,cn=Memory",
            "Old versions in segments that active searches may still read, in bytes",
            |dsa, _| dsa.shard.bytes_held(),
        ),
        counter("cn=Slots,cn=Memory", "Table of entry addresses, in bytes", |dsa, _| {
            dsa.shard.memory().slots
        }),
        counter("cn=DN,cn=Memory", "Index from DN to entry, in bytes", |dsa, _| dsa.shard.memory().dn),
        counter("cn=Children,cn=Memory", "Index from entry to subordinates, in bytes", |dsa, _| {
            dsa.shard.memory().children
        }),
        counter("cn=Indexes,cn=Memory", "Attribute indexes, in bytes", |dsa, _| dsa.shard.memory().indexes),
        counter(
            "cn=Shapes,cn=Memory",
            "Shapes that records with the same attributes share, in bytes",
            |dsa, _| dsa.shard.memory().shapes,
        ),
        // Bytes that were copied to make room: the price of cleaning.
        counter("cn=Moved,cn=Memory", "Bytes that the cleaner moved since the start", |dsa, _| {
            dsa.shard.memory().moved
        }),
    ]
}

/// Without a log the mode says so and all numbers are 0.
/// Safe, Synced and Applied are indexes of records: the distance between two of them is what is on its way.
fn log() -> [Item; 9] {
    [
        container("cn=Log", "Log and snapshots, which make changes durable"),
        Item {
            name: "cn=Mode,cn=Log".to_owned(),
            class: "monitoredObject",
            description: "Sync mode: when a change is acknowledged",
            measures: vec![(
                "monitoredInfo",
                // In memory alone there is no promise that a mode could name.
                Measure::Text(|dsa| match dsa.journal.get() {
                    Some(journal) => journal.metrics().mode,
                    None => "memory".to_owned(),
                }),
            )],
        },
        // Safe and Synced differ in the modes interval and none.
        counter("cn=Safe,cn=Log", "Last record that is durable as the sync mode promises", |dsa, _| {
            metrics(dsa).safe
        }),
        counter("cn=Synced,cn=Log", "Last record that is synced to the disk", |dsa, _| metrics(dsa).synced),
        counter("cn=Applied,cn=Log", "Last record that was applied and is visible to searches", |dsa, _| {
            metrics(dsa).applied
        }),
        counter(
            "cn=Bytes,cn=Log",
            "Log after the last snapshot, in bytes, which a start replays",
            |dsa, _| metrics(dsa).log_bytes,
        ),
        counter("cn=Snapshot,cn=Log", "Last record in the last snapshot", |dsa, _| metrics(dsa).snapshot),
        counter(
            "cn=SnapshotAge,cn=Log",
            "Seconds since the last snapshot, or since the start if there was none",
            |dsa, now| {
                // The snapshot of an earlier run has no time here: its age counts from the start.
                let since = metrics(dsa).snapshot_ms.max(dsa.config.started_ms);
                now.wall_ms.saturating_sub(since) / 1000
            },
        ),
        Item {
            name: "cn=Archive,cn=Log".to_owned(),
            class: COUNTER_OBJECT,
            description: "Whether log files are archived, and the last record archived since the start",
            measures: vec![
                (COUNTER, Measure::Number(|dsa, _| metrics(dsa).archived)),
                ("monitoredInfo", Measure::Text(archive)),
            ],
        },
    ]
}

/// Which there are, which are being built and how far that is, and which could not be.
/// Lines of text: tools read them word by word.
fn indexes() -> Item {
    Item {
        name: "cn=Indexes".to_owned(),
        class: "monitoredObject",
        description: "Attribute indexes",
        measures: vec![("monitoredInfo", Measure::Texts(config_entry::index_report))],
    }
}

/// In words: where it fails, why.
fn archive(dsa: &Dsa) -> String {
    dsa.journal.get().map_or_else(|| "off".to_owned(), |journal| journal.metrics().archive)
}

/// Each counter asks anew: it copies a few numbers, once a second at most.
fn metrics(dsa: &Dsa) -> Metrics {
    dsa.journal.get().map_or_else(Metrics::default, |journal| journal.metrics())
}

/// An entry without numbers that others stand below.
fn container(name: &str, description: &'static str) -> Item {
    Item { name: name.to_owned(), class: "monitorContainer", description, measures: vec![] }
}

/// The usual item.
fn counter(name: &str, description: &'static str, number: fn(&Dsa, Now) -> u64) -> Item {
    let measures = vec![(COUNTER, Measure::Number(number))];
    Item { name: name.to_owned(), class: COUNTER_OBJECT, description, measures }
}

/// Over the threads that serve connections.
fn sum(dsa: &Dsa, which: impl Fn(&Counters) -> &AtomicU64) -> u64 {
    dsa.monitor.sum(which)
}

fn connections_open(dsa: &Dsa) -> u64 {
    // A thread may count while another sums.
    sum(dsa, |c| &c.connections_opened).saturating_sub(sum(dsa, |c| &c.connections_closed))
}
