//! `pando-sim`: simulated incarnations of a server, from seeds.

use clap::Parser;
use env::task;
use sim::faults;
use sim::plan::{PLANS, Plan};
use sim::seeds::{Choice, Failure};
use sim::workloads;
use std::ops::Range;
use std::process::ExitCode;

/// Failures after which no more seeds are tried.
const FAILURES_MAX: usize = 10;

/// Simulate a server whose disk, power and clock fail, and look whether anything is lost.
///
/// Each seed is a world of its own: clients, and several incarnations of a server on a disk that loses what was not synced, tears
/// sectors, flips bits, fills up, slows down and fails. After each end, be it a power failure, a kill or a clean one, the
/// server is started again, and what it recovered is compared with what was answered to clients and with what its commands make
/// of an empty directory. Everything follows from the seed, the time too: a seed that fails once fails always.
///
/// The workload and the file of faults are chosen by the seed, unless they are named; a range of seeds has all of them.
#[derive(Parser)]
#[command(name = "pando-sim", version, max_term_width = 100, after_long_help = AFTER)]
struct Args {
    /// Simulate the worlds of the seeds from FROM up to, without, TO
    #[arg(long, value_name = "FROM..TO", value_parser = range, default_value = "0..100")]
    seeds: Range<u64>,

    /// Simulate the world of one seed and tell what happens in it
    #[arg(long, value_name = "N", conflicts_with = "seeds")]
    seed: Option<u64>,

    /// What the clients do: mixed, churn, groups, counters; operated: churn while somebody takes backups, restores them,
    /// exports and imports; transfers, ring and stripes: transactions that move amounts, that take members out of a ring, and that
    /// write the same to several entries, in half of the worlds with clients that have precedence over others (txn-precedence);
    /// definitions: attribute types and classes that are added to the schema, and entries that use them; bundles: reads between updates;
    /// accounts: wrong passwords that lock them; constraints, which no seed chooses: updates of which many violate one. Clusters have
    /// all of these but operated, accounts and constraints, at any replica
    #[arg(long, value_name = "NAME", value_parser = names())]
    workload: Option<String>,

    /// What goes wrong, and how often: a file, or one of those that come with it (everything, power, kills, bits, errors,
    /// full, replicas, cluster)
    #[arg(long, value_name = "FILE")]
    faults: Option<String>,

    /// Put a fault into the server on purpose, to see that it is found; needs a build with --cfg pando_planted
    #[arg(long, value_name = "BUG", value_parser = faults::all().map(|fault| fault.0).collect::<Vec<_>>())]
    planted: Option<String>,

    /// Simulate each seed twice and compare the hashes of what happened
    #[arg(long)]
    twice: bool,

    /// Worlds at the same time [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

const AFTER: &str = "\
EXAMPLES:
  pando-sim --seeds 0..10000
  pando-sim --seed 4711
  pando-sim --seeds 0..50 --twice
  RUSTC_WORKSPACE_WRAPPER=$PWD/.ci/cfg/planted cargo run -p pando-sim -- \\
      --workload churn --faults power --planted manifest-not-synced

FILES OF FAULTS are TOML; chances are of 1,000, and what is not named does not happen:
  about = \"what it is for\"
  incarnations = 4                              # of the server, in each world
  sync = [\"always\", \"interval\", \"none\"]  # one of them for each world
  [ends]                                 # of an incarnation; the rest of 1,000 are clean ones
  power-cut = 500
  kill = 300
  [disk]                                 # one of the first four for each incarnation
  power-cut = 400                        # during an operation of the disk
  failing-syncs = 100
  failing-writes = 100
  full = 100
  slow = 250
  sectors-kept = [0, 1, 8, 15, 16]       # of 16 unsynced ones, when the power fails: 0 is lost, 8 torn
  [starts]
  cut-short = 300                        # one before it that is cut short
  other-rules = 250                      # a world where starts change schema-check
  flipped-bit = 200
  [clock]
  set = 20                               # the wall clock jumps between two steps
  [replicas]                             # of a world
  some = 200                             # the log has other replicas, and leaders change
  [cluster]                              # in place of one server; of the above, only [disk] has a meaning then
  replicas-max = 5                       # one, three or five replicas

EXIT CODES:
  0  everything held in all worlds
  1  something did not; the seed, what it was and the command that shows it again are on standard error
  2  the command line or the file of faults is wrong";

fn main() -> ExitCode {
    let args = Args::parse();
    let choice = match choice(&args) {
        Ok(choice) => choice,
        Err(wrong) => {
            eprintln!("pando-sim: {wrong}");
            return ExitCode::from(2);
        }
    };
    match args.seed {
        Some(seed) => one(&choice, seed, args.twice),
        None if args.twice => twice(&choice, args.seeds),
        None => many(&choice, args.seeds, args.jobs.map_or_else(task::cores, usize::from)),
    }
}

/// Names of all workloads.
fn names() -> Vec<&'static str> {
    workloads::NAMES.into_iter().chain(workloads::OTHERS).collect()
}

fn range(text: &str) -> Result<Range<u64>, String> {
    let parts = text.split_once("..").ok_or("two numbers with `..` between are expected")?;
    let number = |text: &str| text.parse::<u64>().map_err(|error| format!("`{text}`: {error}"));
    let (from, to) = (number(parts.0)?, number(parts.1)?);
    if from < to { Ok(from..to) } else { Err("there is no seed in it".to_owned()) }
}

fn choice(args: &Args) -> Result<Choice, String> {
    let plan = args.faults.as_ref().map(|name| Ok::<_, String>((name.clone(), plan(name)?))).transpose()?;
    let planted = args.planted.as_deref().and_then(|name| faults::all().find(|fault| fault.0 == name));
    if planted.is_some() && !cfg!(pando_planted) {
        return Err("--planted needs a build with RUSTC_WORKSPACE_WRAPPER=$PWD/.ci/cfg/planted".to_owned());
    }
    Ok(Choice { workload: args.workload.clone(), plan, planted })
}

fn plan(name: &str) -> Result<Plan, String> {
    if let Some(plan) = Plan::named(name) {
        return Ok(plan);
    }
    let known: Vec<&str> = PLANS.iter().map(|(name, _)| *name).collect();
    let text = std::fs::read_to_string(name)
        .map_err(|error| format!("{name}: {error}; those that come with it are {}", known.join(", ")))?;
    Plan::parse(&text).map_err(|wrong| format!("{name}: {wrong}"))
}

fn one(choice: &Choice, seed: u64, twice: bool) -> ExitCode {
    let first = choice.run(seed, true);
    match first {
        Ok((hash, _)) => println!("everything held; hash {hash:016x}"),
        Err(failure) => return tell(&[failure]),
    }
    if twice { self::twice(choice, seed..seed + 1) } else { ExitCode::SUCCESS }
}

/// Runs every seed twice.
fn twice(choice: &Choice, seeds: Range<u64>) -> ExitCode {
    for seed in seeds.clone() {
        let [first, second] = [(); 2].map(|()| choice.run(seed, false).map(|(hash, _)| hash));
        match (first, second) {
            (Ok(first), Ok(second)) if first == second => {}
            (Ok(first), Ok(second)) => {
                eprintln!("pando-sim: seed {seed} has the hash {first:016x}, then {second:016x}");
                return ExitCode::FAILURE;
            }
            (Err(failure), _) | (_, Err(failure)) => return tell(&[failure]),
        }
    }
    println!("{} seeds, each twice the same", seeds.end - seeds.start);
    ExitCode::SUCCESS
}

fn many(choice: &Choice, seeds: Range<u64>, jobs: usize) -> ExitCode {
    let count = seeds.end - seeds.start;
    // At once: the run may be interrupted.
    let on_done = |done: u64, failure: Option<&Failure>| {
        failure.into_iter().for_each(tell_one);
        if done.is_multiple_of(1000) {
            println!("{done} of {count}");
        }
    };
    let (tally, failures) = choice.run_all(seeds, jobs, FAILURES_MAX, &on_done);
    tally.rows().into_iter().for_each(|(name, number)| println!("{number:10}  {name}"));
    if failures.is_empty() {
        println!("{count} seeds, everything held");
        return ExitCode::SUCCESS;
    }
    ExitCode::FAILURE
}

fn tell(failures: &[Failure]) -> ExitCode {
    failures.iter().for_each(tell_one);
    ExitCode::FAILURE
}

fn tell_one(Failure { seed, violation, command }: &Failure) {
    eprintln!("pando-sim: seed {seed}: {violation}\n  again: {command}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn ranges_have_seeds() {
        assert_eq!(range("3..5"), Ok(3..5));
        for wrong in ["3", "5..3", "3..3", "a..b", "..", "-1..3"] {
            range(wrong).unwrap_err();
        }
    }
}
