//! The workloads of `pando bench`: options in, measurements out.

use crate::failed::Failed;
use crate::output::print;
use crate::remote::{URL_FORM, address};
use clap::Args as ClapArgs;
use client::Server;
use loadgen::bench::{self, KeyFormat, Length, Outcome, Selection, Settings, Window, Workload};
use std::path::PathBuf;
use std::time::Duration;

#[derive(ClapArgs, Debug)]
pub(super) struct Args {
    /// The server
    #[arg(long, value_name = "ldap://HOST[:PORT]", default_value = "ldap://127.0.0.1:3389")]
    url: String,
    /// Bind every connection as this entry first; without it they stay anonymous
    #[arg(long, value_name = "DN", requires = "credentials")]
    bind_dn: Option<String>,
    /// The password for --bind-dn
    #[arg(long, value_name = "PASSWORD", group = "credentials")]
    password: Option<String>,
    /// A file with the password for --bind-dn; one line end at its end is not part of it
    #[arg(long, value_name = "FILE", group = "credentials")]
    password_file: Option<PathBuf>,
    /// How many connections
    #[arg(long, value_name = "N", default_value_t = 8)]
    connections: usize,
    /// Outstanding requests on each connection [default: 100, and 1 for binds]
    #[arg(long, value_name = "Q")]
    queue: Option<usize>,
    /// How the queue is kept filled
    #[arg(long, value_enum, default_value_t = Window::Burst)]
    window: Window,
    /// Send that number with the queue length control (docs/queue-length.md), so that the server sends all their answers
    /// together. Other servers ignore it
    #[arg(long)]
    queue_length_control: bool,
    /// How long to measure
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    seconds: f64,
    /// Measure so many operations instead of a time
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    requests: Option<u64>,
    /// How long to send before measuring
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    warmup: f64,
    /// Keys are drawn from 0 to N-1, or from FROM to TO, both included: a part that is asked for often
    #[arg(long, value_name = "N|FROM..TO", default_value = "1000000")]
    entries: String,
    /// How a key becomes the value of the RDN: `user.{}`, or with leading zeros `user{:012}`
    #[arg(long, value_name = "FORMAT", default_value = "{}")]
    key: String,
    /// The attribute of the RDN
    #[arg(long, value_name = "ATTRIBUTE", default_value = "uid")]
    rdn: String,
    /// The parent of all entries, and the base of equality searches
    #[arg(long, value_name = "DN", default_value = "dc=com")]
    base: String,
    /// What searches ask for: 1.1 (no attributes), all, or names with commas between them
    #[arg(long, value_name = "1.1|all|LIST", default_value = "1.1")]
    attributes: String,
    /// The attribute that modifies replace
    #[arg(long, value_name = "ATTRIBUTE", default_value = "carLicense")]
    modify_attribute: String,
    /// Bytes of a new value: each length of the range is as likely
    #[arg(long, value_name = "FROM..TO", default_value = "8..100")]
    value_bytes: String,
    /// The password of the entries, for the workload bind
    #[arg(long, value_name = "PASSWORD", default_value = "password")]
    user_password: String,
    /// Client threads, to which the connections are dealt; without it one for each core
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
    /// Seed of the random keys and values
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Send at most so many operations per second over all connections, as bursts at fixed times; latency then counts from
    /// when a burst was due. For pauses below a millisecond the client spins, and takes its core from the server
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<f64>,
    /// The server's process on this machine, to report its CPU time per operation
    #[arg(long, value_name = "PID")]
    server_pid: Option<u32>,
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
}

pub(super) fn run(workload: Workload, args: &Args) -> Result<(), Failed> {
    let mut settings = settings(workload, args).map_err(Failed::of)?;
    settings.durability = durability(&settings);
    let outcome = bench::run(&settings).map_err(|error| match error {
        bench::BenchError::Io(error) => Failed::at(&args.url, error),
        error => Failed::of(error),
    })?;
    print(match args.json {
        true => format!("{}\n", outcome.json(&settings)),
        false => text(args, &settings, &outcome),
    })?;
    if outcome.faults.total() > 0 { Err(Failed::printed()) } else { Ok(()) }
}

fn settings(workload: Workload, args: &Args) -> Result<Settings, String> {
    let (host, port) = address(&args.url).ok_or(URL_FORM)?;
    let seconds = |seconds: f64, name: &str| {
        Duration::try_from_secs_f64(seconds).map_err(|_| format!("--{name} must not be negative"))
    };
    let (first, entries) = entries(&args.entries).ok_or("--entries is N, or FROM..TO with FROM <= TO")?;
    Ok(Settings {
        workload,
        host,
        port,
        credentials: credentials(args)?,
        connections: args.connections,
        queue: args.queue.unwrap_or(if workload == Workload::Bind { 1 } else { 100 }),
        window: args.window,
        queue_length_control: args.queue_length_control,
        length: match args.requests {
            Some(requests) => Length::Operations(requests),
            None => Length::Time(seconds(args.seconds, "seconds")?),
        },
        warmup: seconds(args.warmup, "warmup")?,
        first,
        entries,
        key: KeyFormat::parse(&args.key).ok_or("--key is text with one {} or {:0WIDTH} in it")?,
        rdn: args.rdn.clone(),
        base: args.base.clone(),
        attributes: match args.attributes.as_str() {
            "1.1" => Selection::None,
            "all" | "*" => Selection::All,
            list => Selection::List(list.split(',').map(|name| name.trim().to_owned()).collect()),
        },
        modify_attribute: args.modify_attribute.clone(),
        value_bytes: value_bytes(&args.value_bytes).ok_or("--value-bytes is FROM..TO")?,
        user_password: args.user_password.clone(),
        threads: args.threads.unwrap_or_else(env::task::cores),
        seed: args.seed,
        rate: args.rate,
        server_pid: args.server_pid,
        durability: None,
    })
}

/// When the server says that its writes count as done. A server that cannot be asked fails in the run, which tells why.
fn durability(settings: &Settings) -> Option<String> {
    let credentials = settings.credentials.clone();
    let credentials = credentials.map(|(name, password)| (name, password.into_bytes()));
    let server = Server { host: settings.host.clone(), port: settings.port, credentials, security: None };
    client::durability(&server).ok().flatten()
}

fn credentials(args: &Args) -> Result<Option<(String, String)>, String> {
    let Some(name) = &args.bind_dn else { return Ok(None) };
    let password = match (&args.password, &args.password_file) {
        (Some(password), _) => password.clone(),
        (None, Some(path)) => {
            let text =
                std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
            text.strip_suffix('\n').map(str::to_owned).unwrap_or(text)
        }
        (None, None) => return Err("--bind-dn needs --password or --password-file".to_owned()),
    };
    Ok(Some((name.clone(), password)))
}

/// The first key, and how many there are.
fn entries(text: &str) -> Option<(u64, u64)> {
    let Some((from, to)) = text.split_once("..") else { return Some((0, text.parse().ok()?)) };
    let (from, to): (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
    Some((from, to.checked_sub(from)?.checked_add(1)?))
}

fn value_bytes(text: &str) -> Option<(usize, usize)> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    Some((from.parse().ok()?, to.parse().ok()?))
}

/// The outcome in lines for people.
fn text(args: &Args, settings: &Settings, outcome: &Outcome) -> String {
    let Settings { connections, queue, threads, .. } = settings;
    let mut lines = vec![
        format!(
            "{} {}: {connections} connections, queue {queue} ({}), {threads} threads, {} entries, attributes {}",
            settings.workload.name(),
            args.url,
            bench::name_of(&settings.window),
            settings.entries_text(),
            args.attributes,
        ),
        format!("durability    {}", settings.durability_text()),
        format!(
            "rate          {:.0} operations/s ({} in {:.3} s)",
            outcome.rate, outcome.operations, outcome.seconds
        ),
        format!(
            "latency (us)  p50 {:.1}  p90 {:.1}  p99 {:.1}  p99.9 {:.1}  max {:.1}",
            outcome.latency_us(50.0),
            outcome.latency_us(90.0),
            outcome.latency_us(99.0),
            outcome.latency_us(99.9),
            outcome.latency.max() as f64 / 1000.0,
        ),
    ];
    if let Some(worst) = outcome.worst_second() {
        let (seconds, percent) = (outcome.per_second.len(), 100.0 * worst);
        lines.push(format!("steadiness    the worst of {seconds} seconds has {percent:.0} % of their mean"));
    }
    lines.push(format!("client CPU    {:.0} ns/operation", outcome.client_cpu_ns));
    lines.push(match outcome.server_cpu_ns {
        Some(ns) => format!("server CPU    {ns:.0} ns/operation"),
        None => "server CPU    not measured (--server-pid)".to_owned(),
    });
    lines.push(format!("switched off  {}", bench::SWITCHED_OFF));
    lines.push(format!("errors        {}", outcome.faults.total()));
    lines.extend(outcome.faults.iter().map(|(fault, count)| format!("  {count} x {fault}")));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_may_be_one_number() {
        assert_eq!(value_bytes("8..100"), Some((8, 100)));
        assert_eq!(value_bytes("50"), Some((50, 50)));
        assert_eq!(value_bytes("8..x"), None);
        assert_eq!(
            (entries("7"), entries("5..9"), entries("5..5")),
            (Some((0, 7)), Some((5, 5)), Some((5, 1)))
        );
        assert_eq!((entries("9..5"), entries("x"), entries("1..")), (None, None, None));
    }
}
