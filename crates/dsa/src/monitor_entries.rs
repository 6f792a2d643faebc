//! The entries below cn=Monitor, with the names that tools for OpenLDAP look for, and where their metrics come from.
//!
//! They are entries of the server's own small directory and are searched like any others. Their values are not kept up to date all the time: a
//! search that may look at them refreshes them first, once a second at most. So they cost nothing when nobody looks.
//!
//! Each thread counts for itself, without atomics that others write; a sum reads all of them, one after the other. A sum of two counters may
//! therefore be of two moments, and differences are never taken below zero.

mod chaining;
mod groups;
mod limits;

use self::Measure::{Log, Memory, Number, Sum, Text, Time};
use crate::certificates;
use crate::config::Config;
use crate::config_entry;
use crate::engine::Dsa;
use crate::journal::Metrics;
use crate::monitor::{Counters, OPERATIONS};
use crate::refusals::Limit;
use crate::settings::{Choices, Row};
use crate::system::{CONFIG_DN, MONITOR_DN, put};
use env::clock::Now;
use model::Entry;
use model::csn::write_generalized_time;
use schema::Schema;
use std::sync::atomic::{AtomicU64, Ordering};
use store::MemoryUse;

/// The class and the attribute of OpenLDAP's monitor for what is not a counter.
const OBJECT: &str = "monitoredObject";
const INFO: &str = "monitoredInfo";

/// Where a metric comes from.
/// Functions, not values: the list of entries is made once for their names, and each refresh runs the functions.
#[derive(Clone, Copy)]
pub(crate) enum Measure {
    /// Operations of one kind begun, by its place in [`OPERATIONS`].
    Initiated(usize),
    /// Operations of one kind that are done.
    Completed(usize),
    /// What all threads have counted together.
    Sum(fn(&Counters) -> &AtomicU64),
    /// Memory of the directory.
    Memory(fn(&MemoryUse) -> u64),
    /// What the log tells of itself; 0 without one.
    Log(fn(&Metrics) -> u64),
    /// Any other number.
    Number(fn(&Dsa, Now) -> u64),
    /// Unix time in milliseconds, shown as generalized time.
    Time(fn(&Dsa, Now) -> u64),
    /// Any text.
    Text(fn(&Dsa, Now) -> String),
    /// A text for each of several things, all different.
    Texts(fn(&Dsa, Now) -> Vec<String>),
    /// How often a limit was reached.
    Reached(Limit),
    /// The values of a setting.
    Setting(&'static Row<Choices>),
}

impl Measure {
    /// The values, as an attribute holds them.
    /// None is empty where the schema asks for a value.
    fn take(self, dsa: &Dsa, now: Now) -> Vec<String> {
        let number = match self {
            Measure::Texts(texts) => return texts(dsa, now),
            Measure::Reached(limit) => dsa.refusals.count(limit) + dsa.monitor.reached(limit),
            Measure::Setting(key) => return key.show(&dsa.chosen.now()),
            Measure::Text(text) => return vec![text(dsa, now)],
            Measure::Time(unix_ms) => {
                return vec![generalized_time(unix_ms(dsa, now))];
            }
            Measure::Initiated(kind) => initiated(dsa, kind),
            Measure::Completed(kind) => completed(dsa, kind),
            Measure::Sum(which) => dsa.monitor.sum(which),
            Measure::Memory(which) => which(&dsa.shard.memory()),
            // Each asks anew: it copies a few numbers, once a second at most.
            Measure::Log(which) => which(&metrics(dsa)),
            Measure::Number(number) => number(dsa, now),
        };
        vec![number.to_string()]
    }
}

/// One entry of the monitor.
/// `description` says what the number is and in which unit; it stands in the entry, so tools can show it.
pub(crate) struct Item {
    /// Up to `cn=Monitor`, without it; empty for itself. Or a DN below `cn=config`.
    name: String,
    class: &'static str,
    description: &'static str,
    measures: Vec<(&'static str, Measure)>,
}

impl Item {
    /// An item with one value. Counters are called so; times and texts have an attribute each.
    fn new(name: String, description: &'static str, measure: Measure) -> Item {
        let (class, attribute) = match measure {
            Time(_) => (OBJECT, "monitorTimestamp"),
            Text(_) | Measure::Texts(_) | Measure::Setting(_) => (OBJECT, INFO),
            _ => ("monitorCounterObject", "monitorCounter"),
        };
        Item { name, class, description, measures: vec![(attribute, measure)] }
    }

    /// Items are named relative to `cn=Monitor`, as the list below is read.
    pub(crate) fn dn(&self) -> String {
        match &self.name[..] {
            "" => MONITOR_DN.to_owned(),
            name if name.ends_with(CONFIG_DN) => name.to_owned(),
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
            put(entry, schema, INFO, &format!("Pando {}", config.version));
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
        config_entry::refresh_node(dsa, update);
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
    items.extend(passwords());
    items.extend(chaining());
    items.extend(limits());
    items.extend(tls());
    items.extend(logs());
    items.extend(memory());
    items.extend(log());
    items.extend(groups());
    items.push(indexes());
    items
}

/// An entry without numbers, and below it those of its rows: name, description, and what each shows.
fn group(
    name: &'static str,
    description: &'static str,
    rows: impl IntoIterator<Item = (&'static str, &'static str, Measure)>,
) -> impl Iterator<Item = Item> {
    let container = Item { name: name.to_owned(), class: "monitorContainer", description, measures: vec![] };
    let below = rows.into_iter().map(move |(below, description, measure)| {
        Item::new(format!("cn={below},{name}"), description, measure)
    });
    std::iter::once(container).chain(below)
}

/// The descriptor limit is the process's own: it bounds connections before any setting does.
fn connections() -> impl Iterator<Item = Item> {
    let descriptors = "Limit of file descriptors of the process; each connection uses one";
    let rows = [
        ("Total", "Connections since the start", Sum(|c| &c.connections_opened)),
        ("Current", "Open connections", Number(connections_open)),
        ("Max File Descriptors", descriptors, Number(|_, _| env::host::descriptor_limit())),
    ];
    group("cn=Connections", "Connections of clients", rows)
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
        Number(|dsa, _| (0..OPERATIONS.len()).map(|kind| initiated(dsa, kind)).sum()),
        Number(|dsa, _| (0..OPERATIONS.len()).map(|kind| completed(dsa, kind)).sum()),
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
        "Search" => dsa.monitor.sum(|counters| &counters.searches_suspended),
        _ => 0,
    };
    // A thread may count while another sums.
    initiated(dsa, kind).saturating_sub(active)
}

/// What goes to clients; bytes are counted when they are written to the output buffer.
fn statistics() -> impl Iterator<Item = Item> {
    let rows = [
        ("Bytes", "Bytes of answers", Sum(|c| &c.bytes_out)),
        ("PDU", "Messages that answer requests", Number(messages_sent)),
        ("Referrals", "References that searches returned", Sum(|c| &c.references)),
        ("Entries", "Entries that searches returned", Sum(|c| &c.entries)),
        ("Bundles", "Socket reads with at least one complete request", Sum(|c| &c.bundles)),
    ];
    group("cn=Statistics", "What was sent", rows)
}

/// Each operation but unbind and abandon ends with one message; entries and references come before it.
fn messages_sent(dsa: &Dsa, _: Now) -> u64 {
    // RFC 4511 sections 4.3 and 4.11: these two have no response.
    let is_answered = |kind: &usize| !matches!(OPERATIONS[*kind], "Unbind" | "Abandon");
    let ends: u64 = (0..OPERATIONS.len()).filter(is_answered).map(|kind| completed(dsa, kind)).sum();
    ends + dsa.monitor.sum(|c| &c.entries) + dsa.monitor.sum(|c| &c.references)
}

/// The clock of the request that asked, so an answer is of one moment.
/// `cn=Start` and `cn=Uptime` are of the process, not of the data directory.
fn time() -> impl Iterator<Item = Item> {
    let uptime = |dsa: &Dsa, now: Now| seconds_since(dsa.config.started_ms, now).to_string();
    let rows = [
        ("Start", "When it started", Time(|dsa, _| dsa.config.started_ms)),
        ("Current", "When this was read", Time(|_, now| now.wall_ms)),
        ("Uptime", "Seconds since the start", Text(uptime)),
    ];
    group("cn=Time", "Clock of the server", rows)
}

/// A connection waits for its client to send, or to read; that it waits for the log is a matter of the server and counted there.
fn waiters() -> impl Iterator<Item = Item> {
    let unread = "Connections whose client has not yet read all answers; counted once a second";
    let rows = [
        ("Read", "Connections that wait for a request of their client", Number(connections_open)),
        ("Write", unread, Sum(|c| &c.write_waiters)),
    ];
    group("cn=Waiters", "Connections that are waiting", rows)
}

/// Those of the process are counted by the system: committer, snapshots and bulk load have threads of their own.
fn threads() -> impl Iterator<Item = Item> {
    // Fixed at the start; in OpenLDAP it is the size of the pool.
    let serving = |dsa: &Dsa, _| dsa.monitor.serving_threads().to_string();
    let all = |_: &Dsa, _| env::host::threads().unwrap_or(0).to_string();
    let rows = [
        ("Max", "Threads that serve connections", Text(serving)),
        ("Open", "Threads of the whole process; 0 if unknown", Text(all)),
    ];
    group("cn=Threads", "Threads of the server", rows)
}

/// What takes long of them: threads of their own verify and hash passwords, one job for each request.
fn passwords() -> impl Iterator<Item = Item> {
    let refused = "Jobs that were refused, because too many waited or they waited too long";
    let rows = [
        ("Waiting", "Jobs that wait", Number(|dsa, _| dsa.password_pool.metrics().waiting)),
        ("Done", "Jobs that were done", Number(|dsa, _| dsa.password_pool.metrics().done)),
        ("Refused", refused, Number(|dsa, _| dsa.password_pool.metrics().refused)),
    ];
    group("cn=Passwords", "Passwords that are verified or hashed by threads of their own", rows)
}

/// Requests that other servers are asked for clients, by threads of their own. Which servers these are is known to all who may read referral objects.
fn chaining() -> impl Iterator<Item = Item> {
    let refused = "Requests that were refused, because too many waited or they waited too long";
    let servers = "Servers: requests, those without a clear result, connections since the start, requests by one that was there, connections now";
    let rows = [
        ("Waiting", "Requests that wait", Number(|dsa, _| chaining::pool(dsa).waiting)),
        ("Done", "Requests that were done", Number(|dsa, _| chaining::pool(dsa).done)),
        ("Refused", refused, Number(|dsa, _| chaining::pool(dsa).refused)),
        ("Servers", servers, Measure::Texts(chaining::servers)),
    ];
    group("cn=Chaining", "Requests that other servers are asked for clients", rows)
}

/// Each named as its setting. Names and addresses of clients are nothing that users see, so they stand below the configuration.
fn limits() -> impl Iterator<Item = Item> {
    let reached = "How often it was reached since the start";
    let rows = Limit::ALL.map(|limit| (limit.name(), reached, Measure::Reached(limit)));
    let items = group("cn=Limits", "Limits of clients, and what is used of them", rows).map(|mut item| {
        if let Some(Measure::Reached(limit)) = item.measures.first().map(|(_, measure)| *measure) {
            let used =
                if limit == Limit::Connections { Some(connections_open as _) } else { limits::used(limit) };
            item.measures.extend(used.map(|used| (INFO, Number(used))));
        }
        item
    });
    let addresses = "Addresses: connections, and seconds until failed binds and handshakes are forgotten";
    let names = "Names whose binds fail most often: how often at most since the start, and from where last";
    let worst = [
        ("Addresses", addresses, Measure::Texts(limits::worst_addresses)),
        ("Names", names, Measure::Texts(limits::worst_names)),
    ];
    items.chain(group("cn=Clients,cn=config", "Clients that come nearest to limits", worst))
}

/// Certificates that clients are shown, and whether the files of others were taken. All empty or 0 where there is no TLS.
/// Anybody who connects sees the certificates, so they are no secret.
fn tls() -> impl Iterator<Item = Item> {
    let earliest = |dsa: &Dsa, _| {
        // For a watch that compares one number with the time.
        let all = tls_metrics(dsa).in_force;
        all.iter().map(|certificate| certificate.not_after_s).min().unwrap_or(0)
    };
    let first = "Seconds since 1970 until which all certificates are valid; 0 without one";
    let rows = [
        ("Certificates", "Until when each certificate is valid, and its names", Measure::Texts(validity)),
        ("NotAfter", first, Number(earliest)),
        ("Files", "What became of the files of certificates when they were read last", Text(files)),
    ];
    group("cn=TLS", "Certificates of the server", rows)
}

/// Numbered, so that two lines are never the same.
fn validity(dsa: &Dsa, _: Now) -> Vec<String> {
    let line = |(at, certificate): (usize, certificates::Certificate)| {
        let until = generalized_time(certificate.not_after_s.saturating_mul(1000));
        format!("{} until {until} {}", at + 1, certificate.names)
    };
    tls_metrics(dsa).in_force.into_iter().enumerate().map(line).collect()
}

/// The reason of a failure has names of files, so it is in the log only.
fn files(dsa: &Dsa, _: Now) -> String {
    let metrics = tls_metrics(dsa);
    match metrics.failed_s {
        _ if metrics.in_force.is_empty() => "off".to_owned(),
        None => format!("in force since {}", generalized_time(metrics.since_s.saturating_mul(1000))),
        Some(failed_s) => format!(
            "faulty since {}: the certificates before them stay in force, the log has the reason",
            generalized_time(failed_s.saturating_mul(1000))
        ),
    }
}

/// Nothing where connections are not secured.
fn tls_metrics(dsa: &Dsa) -> certificates::Metrics {
    dsa.certificates.get().map(|certificates| certificates.metrics()).unwrap_or_default()
}

/// A counter that one thread writes and any reads.
fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// All 0 where there are no such logs.
/// What is lost is a matter of the thread that writes them; nobody who is served waits for it.
fn logs() -> impl Iterator<Item = Item> {
    let rows = [
        (
            "AccessLost",
            "Records of the access log that found no room, because it was not written fast enough",
            Number(|dsa, _| read(&dsa.events.losses().access)),
        ),
        (
            "EventsLost",
            "Events of the security log that found no room",
            Number(|dsa, _| read(&dsa.events.losses().events)),
        ),
        (
            "Failures",
            "Writes of an access log or a security log that failed; what was to be written waits",
            Number(|dsa, _| read(&dsa.events.losses().failures)),
        ),
    ];
    group("cn=Logs", "Logs for administrators: what they lack", rows)
}

/// `Total` is what counts against memory-max; the lines below it are its parts. `Resident` is what the system sees, with buffers of clients and
/// free pages of the allocator.
/// Measured at the refresh, so all are of one moment.
fn memory() -> impl Iterator<Item = Item> {
    let resident = |_: &Dsa, _| env::host::resident_bytes().unwrap_or(0);
    let held = "Old versions in segments that active searches may still read, in bytes";
    let rows = [
        ("Resident", "Resident memory of the process, in bytes; 0 if unknown", Number(resident)),
        // As it holds now: it can be changed while the server runs.
        ("Limit", "memory-max: limit of the directory, in bytes", Number(|dsa, _| dsa.memory_bytes_max())),
        ("Total", "Of the directory", Memory(MemoryUse::total)),
        ("Segments", "Segments that hold entries and values, in bytes", Memory(|m| m.segments)),
        // With Segments and Held it says how well the cleaner keeps up.
        ("Live", "Newest versions in segments, in bytes", Memory(|m| m.live)),
        ("Held", held, Number(|dsa, _| dsa.shard.bytes_held())),
        ("Slots", "Table of entry addresses, in bytes", Memory(|m| m.slots)),
        ("DN", "Index from DN to entry, in bytes", Memory(|m| m.dn)),
        ("Children", "Index from entry to subordinates, in bytes", Memory(|m| m.children)),
        ("Indexes", "Attribute indexes, in bytes", Memory(|m| m.indexes)),
        ("Shapes", "Shapes that records with the same attributes share, in bytes", Memory(|m| m.shapes)),
        // Bytes that were copied to make room: the price of cleaning.
        ("Moved", "Bytes that the cleaner moved since the start", Memory(|m| m.moved)),
    ];
    group("cn=Memory", "Memory by purpose, in bytes", rows)
}

/// Without a log the mode says so and all numbers are 0.
/// Safe, Synced and Applied are indexes of records: the distance between two of them is what is on its way.
fn log() -> Vec<Item> {
    let age_of_snapshot = "Seconds since the last snapshot, or since the start if there was none";
    let current =
        "In a cluster: milliseconds since when this server is known to have had all that was acknowledged";
    let rows = [
        ("Mode", "Sync mode: when a change is acknowledged", Text(mode)),
        // Safe and Synced differ in the modes interval and none.
        ("Safe", "Last record that is durable as the sync mode promises", Log(|log| log.safe)),
        ("Synced", "Last record that is synced to the disk", Log(|log| log.synced)),
        ("Applied", "Last record that was applied and is visible to searches", Log(|log| log.applied)),
        ("Age", current, Text(age)),
        ("Bytes", "Log after the last snapshot, in bytes, which a start replays", Log(|log| log.log_bytes)),
        ("Snapshot", "Last record in the last snapshot", Log(|log| log.snapshot)),
        ("SnapshotAge", age_of_snapshot, Number(snapshot_age)),
        (
            "Archive",
            "Whether log files are archived, and the last record archived since the start",
            Log(|log| log.archived),
        ),
    ];
    let mut items: Vec<Item> =
        group("cn=Log", "Log and snapshots, which make changes durable", rows).collect();
    // The last one says in words, too, where archiving fails and why.
    if let Some(archive) = items.last_mut() {
        archive.measures.push((INFO, Text(archiving)));
    }
    items
}

/// Where the server belongs to none, the role is `alone`, and all else is 0, empty or not there.
fn groups() -> impl Iterator<Item = Item> {
    let lines =
        "Replicas: number, role, commands and seconds that they lack if known, where clients reach them";
    let conditions =
        "Replicas: number, milliseconds of a sync, seconds by which its clock is ahead of the middle one";
    let spare = "Whether one more replica can be lost, as the leader knows it: TRUE, FALSE or unknown";
    let rows = [
        ("Node", "Number of this replica", Number(|dsa, _| groups::metrics(dsa).node)),
        ("Role", "alone, leader, follower or learner", Text(|dsa, _| groups::role(dsa))),
        ("Term", "Term that this replica knows of", Number(|dsa, _| groups::metrics(dsa).term)),
        (
            "Leader",
            "Replica that leads, as far as this one knows; 0 without one",
            Number(|dsa, _| groups::metrics(dsa).leader),
        ),
        (
            "Commit",
            "Last entry of the log that is known to be committed",
            Number(|dsa, _| groups::commit(dsa)),
        ),
        ("Applied", "Last entry of the log that was applied here", Log(|log| log.applied)),
        (
            "Voters",
            "Replicas that vote",
            Measure::Texts(|dsa, _| groups::numbers(&groups::metrics(dsa).voters)),
        ),
        (
            "Learners",
            "Replicas that do not vote",
            Measure::Texts(|dsa, _| groups::numbers(&groups::metrics(dsa).learners)),
        ),
        (
            "Joint",
            "Whether a change of members is in progress",
            Text(|dsa, _| groups::truth(groups::metrics(dsa).is_joint)),
        ),
        (
            "CanLoseOne",
            spare,
            Text(|dsa, _| groups::metrics(dsa).can_lose_one.map_or("unknown".to_owned(), groups::truth)),
        ),
        (
            "Standing",
            "serves; doubted, if directories differ and no majority has the same; or rebuilt, if this one is wrong",
            Text(|dsa, _| groups::metrics(dsa).standing.to_owned()),
        ),
        ("Replicas", lines, Measure::Texts(|dsa, _| groups::replicas(&groups::metrics(dsa)))),
        ("Conditions", conditions, Measure::Texts(|dsa, _| groups::conditions(&groups::metrics(dsa)))),
        (
            "Behaviour",
            "Version of the behaviour by which updates are applied",
            Number(|dsa, _| u64::from(groups::metrics(dsa).behaviour)),
        ),
        (
            "NewestBehaviours",
            "Replicas: number, latest version of the behaviour that the program knows",
            Measure::Texts(|dsa, _| groups::newest_behaviours(&groups::metrics(dsa))),
        ),
        ("Barriers", "Sessions that wait until they may read", Log(|log| log.barriers)),
        ("Waiting", "Submissions of updates that wait for a leader", Log(|log| log.updates_waiting)),
        (
            "Sent",
            "Submissions of updates that were sent to the leader and have no outcome yet",
            Log(|log| log.updates_sent),
        ),
    ];
    group("cn=Groups", "The group of replicas that this server belongs to", rows)
}

/// In memory alone there is no promise that a mode could name.
fn mode(dsa: &Dsa, _: Now) -> String {
    dsa.journal.get().map_or_else(|| "memory".to_owned(), |journal| journal.metrics().mode)
}

/// In words: where it fails, why.
fn archiving(dsa: &Dsa, _: Now) -> String {
    dsa.journal.get().map_or_else(|| "off".to_owned(), |journal| journal.metrics().archive)
}

/// It grows while nobody asks, too.
fn age(dsa: &Dsa, now: Now) -> String {
    let age = |current_ms: u64| (now.monotonic_ns / 1_000_000).saturating_sub(current_ms).to_string();
    let known = || metrics(dsa).current_ms.map_or_else(|| "not known".to_owned(), age);
    if dsa.awaits_barriers() { known() } else { "0".to_owned() }
}

/// The snapshot of an earlier run has no time here: its age counts from the start.
fn snapshot_age(dsa: &Dsa, now: Now) -> u64 {
    seconds_since(metrics(dsa).snapshot_ms.max(dsa.config.started_ms), now)
}

/// A time as the schema writes it (RFC 4517 section 3.3.13).
fn generalized_time(unix_ms: u64) -> String {
    let mut text = Vec::new();
    write_generalized_time(unix_ms, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// 0 if the clock went back since.
fn seconds_since(unix_ms: u64, now: Now) -> u64 {
    now.wall_ms.saturating_sub(unix_ms) / 1000
}

/// Which there are, which are being built and how far that is, and which could not be.
/// Lines of text: tools read them word by word.
fn indexes() -> Item {
    Item::new(
        "cn=Indexes".to_owned(),
        "Attribute indexes",
        Measure::Texts(|dsa, _| config_entry::index_report(dsa)),
    )
}

/// All zero without a log.
fn metrics(dsa: &Dsa) -> Metrics {
    dsa.journal.get().map_or_else(Metrics::default, |journal| journal.metrics())
}

/// Over the threads that serve connections.
fn connections_open(dsa: &Dsa, _: Now) -> u64 {
    // A thread may count while another sums.
    dsa.monitor.sum(|c| &c.connections_opened).saturating_sub(dsa.monitor.sum(|c| &c.connections_closed))
}
