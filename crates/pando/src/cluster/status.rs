//! `pando cluster status`.

use super::target::Target;
use crate::failed::Failed;
use crate::output::print;
use clap::Args as ClapArgs;
use serde_json::{Value, json};

/// The certificate of a node is spoken of that ends in fewer days: its renewal is months late.
const DAYS_FEW: u64 = 60;
/// Seconds by which a clock is apart, and milliseconds of a sync of a slow disk, from which on they are spoken of: as nodes judge.
const CLOCK_APART_S: f64 = 0.5;
const SYNC_SLOW_MS: f64 = 10.0;

/// Show the nodes: their roles, how far each is behind, and whether one more can be lost.
#[derive(ClapArgs)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,

    /// Print one object in JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<(), Failed> {
    let status = args.target.ask(&json!({ "command": "status" }))?;
    if args.json {
        return print(format!("{status}\n"));
    }
    let nodes = status["nodes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut text =
        format!("{:>4}  {:<9}{:>12}{:>10}  {:<10} address\n", "node", "role", "lag", "seconds", "version");
    nodes.iter().for_each(|node| text.push_str(&line(node)));
    for node in nodes {
        if let Some(days) = node["certificate_days"].as_u64().filter(|days| *days < DAYS_FEW) {
            text.push_str(&format!("the certificate of node {} ends in {days} days\n", node["id"]));
        }
    }
    for node in nodes {
        if let Some(seconds) =
            node["clock_offset_seconds"].as_f64().filter(|seconds| seconds.abs() >= CLOCK_APART_S)
        {
            let side = if seconds > 0.0 { "ahead of" } else { "behind" };
            let seconds = seconds.abs();
            text.push_str(&format!("the clock of node {} is {seconds:.1} s {side} the others\n", node["id"]));
        }
        if let Some(ms) = node["sync_ms"].as_f64().filter(|ms| *ms >= SYNC_SLOW_MS) {
            text.push_str(&format!("a sync of the disk of node {} takes {ms:.1} ms\n", node["id"]));
        }
    }
    if status["joint"] == true {
        text.push_str("a change of members is in progress\n");
    }
    upgrade(&status, nodes).iter().for_each(|line| text.push_str(line));
    let term = &status["term"];
    let is_leader = |node: &Value| node["role"] == "leader";
    text.push_str(&match status["can_lose_one"].as_bool() {
        Some(true) => format!("term {term}; one more node can be lost\n"),
        // What others are is known to the leader.
        _ if !nodes.iter().any(is_leader) => {
            format!("term {term}; this node knows of no leader, and nothing of the others\n")
        }
        _ => format!("term {term}; no node can be lost\n"),
    });
    print(&text)
}

/// What is to be said of an upgrade, while one is in progress.
fn upgrade(status: &Value, nodes: &[Value]) -> Option<String> {
    let behaviour = status["behaviour"].as_u64().filter(|behaviour| *behaviour > 0)?;
    let newest = |node: &Value| node["newest_behaviour"].as_u64().unwrap_or(0);
    nodes.iter().find(|node| newest(node) > behaviour)?;
    let behind: Vec<String> =
        nodes.iter().filter(|node| newest(node) <= behaviour).map(|node| node["id"].to_string()).collect();
    Some(match behind.is_empty() {
        true => format!("behaviour {behaviour} is in force; `pando cluster upgrade finish` raises it\n"),
        false => format!("behaviour {behaviour} is in force; no newer program at: {}\n", behind.join(", ")),
    })
}

fn line(node: &Value) -> String {
    let text = |name: &str| node[name].as_str().unwrap_or("-").to_owned();
    let lag = node["lag_commands"].as_u64().map_or("-".to_owned(), |lag| lag.to_string());
    let seconds = node["lag_seconds"].as_f64().map_or("-".to_owned(), |lag| format!("{lag:.1}"));
    let (role, version, address) = (text("role"), text("version"), text("address"));
    let mut rest = address;
    if node["drained"] == true {
        rest.push_str(", drained");
    }
    if node["is_replaced"] == true {
        rest.push_str(", is to be replaced");
    }
    if let Some(old) = node["replaces"].as_u64() {
        rest.push_str(&format!(", is to take the place of node {old}"));
    }
    format!("{:>4}  {role:<9}{lag:>12}{seconds:>10}  {version:<10} {rest}\n", node["id"])
}
