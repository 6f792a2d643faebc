//! `pando-histories run`: rounds of concurrent clients against a server that is started, and killed, for it; or against nodes
//! of a cluster that others start and disturb.

mod accounts;
mod client;
mod cluster;
mod form;
mod lists;
mod recorder;
mod registers;
mod server;

use crate::check::{Kind, code, counts, worse};
use clap::Args as ClapArgs;
use client::{Client, Lost};
use env::clock::SystemClock;
use env::entropy::{Entropy as _, SeededEntropy};
use env::poll::{on_threads, pause};
use form::Forms;
use histories::{Event, History, Verdict, What, history};
use recorder::{Recorder, Tape};
use server::Server;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// Record what concurrent clients see of a server, and check it.
///
/// Starts a server of its own on a port of the system's choice. Clients set registers, compare and swap them by the assertion
/// control, append to lists and read them back by post-read, and move amounts between accounts; each also reads what others
/// wrote. With --kills the server is killed with SIGKILL at a random moment and started again, so many times; what was
/// acknowledged must be there, and what was not acknowledged must be there whole or not at all.
///
/// With --url it plays against nodes of a cluster, which it neither starts nor ends. Each client connects to one of them, and
/// to another when it loses it or finds it `busy`. Who disturbs the nodes writes lines to standard input, and each is answered
/// by the same line when it is done: `play`, clients play until the next line; `stop`; `cut`, said when nothing is in progress
/// any more: what has not happened never will, and all is read at each node. The end of the input ends the run.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    /// The `pando` binary
    #[arg(long, value_name = "FILE", required_unless_present = "url")]
    pando: Option<PathBuf>,

    /// A node of a cluster with the suffix dc=x, where no run was before; once for each node
    #[arg(long, value_name = "ldap://HOST:PORT", requires = "bind_dn", conflicts_with_all = ["pando", "memory", "kills", "extensions", "server"])]
    url: Vec<String>,

    /// Who binds at the nodes, and may read and write everything
    #[arg(long, value_name = "DN", requires = "url", requires = "password_file")]
    bind_dn: Option<String>,

    /// A file whose first line is the password for --bind-dn
    #[arg(long, value_name = "FILE", requires = "bind_dn")]
    password_file: Option<PathBuf>,

    /// An empty folder for the data directory and what the server says; histories are left there too
    #[arg(long, value_name = "DIR")]
    folder: PathBuf,

    /// Keep the directory in memory only, without a log
    #[arg(long, conflicts_with = "kills")]
    memory: bool,

    /// How often the server is killed and started again
    #[arg(long, default_value_t = 0)]
    kills: u32,

    /// Milliseconds of each round, at most; a kill comes at a random moment of it
    #[arg(long, value_name = "MS", default_value_t = 400, value_parser = clap::value_parser!(u64).range(1..))]
    round: u64,

    /// Concurrent clients
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=64))]
    clients: u32,

    /// Also transactions of several updates (RFC 5805), some of them given up; half of them in one write with their end, the
    /// others after a look at the answers
    #[arg(long)]
    transactions: bool,

    /// Of these some without a start, named by their client, and some whose updates do not name them: switches both extensions
    /// on in the server
    #[arg(long, requires = "transactions")]
    extensions: bool,

    /// What clients choose follows from it; what they see does not
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// More arguments for the server
    #[arg(last = true)]
    server: Vec<String>,
}

const AFTER: &str = "\
EXAMPLES:
  pando-histories run --pando target/release/pando --folder /tmp/histories --kills 100
  pando-histories run --pando target/release/pando --folder /tmp/histories --memory --round 3000
  pando-histories run --pando target/release/pando --folder /tmp/histories --kills 20 --transactions --extensions
  pando-histories run --pando target/release/pando --folder /tmp/histories --kills 5 -- --sync interval=5
  pando-histories run --url ldap://127.0.0.1:3891 --url ldap://127.0.0.1:3892 --bind-dn cn=admin,dc=x \
      --password-file root.password --folder /tmp/histories

EXIT CODES:
  0  there is an order that explains all
  1  there is none, or the server did not do as it should: standard output tells
  3  the search for an order was given up";

/// What all threads of a run share.
struct Shared {
    clock: SystemClock,
    /// The next process: what got no answer is never heard of again, its client goes on as another.
    processes: AtomicU32,
    generation: lists::Generation,
    transactions: bool,
    forms: Forms,
    seed: u64,
    /// Are the servers nodes of a cluster? Such a one may be busy or silent. Updates with post-read it may refuse.
    is_cluster: bool,
    /// Seconds after which a client gives up a server that says nothing.
    silence_s: u64,
}

/// Seconds for which a server by itself may be silent, and a node of a cluster.
const SILENCE_S: [u64; 2] = [120, 5];
/// For how long a client waits that no node wants.
const BACKOFF: Duration = Duration::from_millis(20);

impl Shared {
    fn new(args: &Args) -> Shared {
        let is_cluster = !args.url.is_empty();
        Shared {
            clock: SystemClock::start(),
            processes: AtomicU32::new(0),
            generation: lists::Generation::default(),
            transactions: args.transactions,
            forms: Forms::new(args.extensions),
            seed: args.seed,
            is_cluster,
            silence_s: SILENCE_S[usize::from(is_cluster)],
        }
    }

    /// Is the next update to be read back by post-read?
    fn reads_back(&self, chance: &mut SeededEntropy) -> bool {
        !self.is_cluster || chance.next_u64().is_multiple_of(2)
    }
}

/// Runs it.
pub(crate) fn run(args: Args) -> ExitCode {
    match record(&args) {
        Ok(tape) => ExitCode::from(judge(&args, tape)),
        Err(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Plays all rounds.
fn record(args: &Args) -> Result<Tape, String> {
    let shared = Shared::new(args);
    let tape = match (&args.pando, &args.bind_dn, &args.password_file) {
        (Some(pando), _, _) => record_server(args, pando, &shared)?,
        (None, Some(who), Some(password)) => {
            let nodes = cluster::nodes(&args.url, who, password)?;
            cluster::record(&nodes, args.clients as usize, &shared)?
        }
        _ => return Err("--bind-dn or --password-file is missing".to_owned()),
    };
    if args.transactions {
        println!("{}", shared.forms);
    }
    Ok(tape)
}

/// Plays all rounds at a server that it starts.
fn record_server(args: &Args, pando: &Path, shared: &Shared) -> Result<Tape, String> {
    let switches = ["--txn-implicit-begin", "on", "--txn-implicit-membership", "on"];
    let switches = switches.iter().filter(|_| args.extensions).map(ToString::to_string);
    let more: Vec<String> = switches.chain(args.server.iter().cloned()).collect();
    let mut tape = Tape::default();
    let mut chance = SeededEntropy::new(args.seed);
    for round in 0..=args.kills {
        let server = Server::start(pando, &args.folder, args.memory, &more)?;
        if round == 0 {
            set_up(&server.remote(), shared.silence_s)?;
        }
        tape.extend(survey(&server.remote(), shared)?);
        let is_last = round == args.kills;
        let time = if is_last { args.round } else { chance.next_u64() % args.round };
        let (tapes, server) = play(args, shared, server, round, Duration::from_millis(time), !is_last)?;
        tapes.into_iter().for_each(|more| tape.extend(more));
        match server {
            Some(server) => {
                tape.extend(survey(&server.remote(), shared)?);
                server.kill()?;
            }
            None => tape.cut(&shared.clock),
        }
    }
    Ok(tape)
}

/// Lets all clients do what they do for a time, after which the server is killed, or they end.
fn play(
    args: &Args,
    shared: &Shared,
    server: Server,
    round: u32,
    time: Duration,
    is_killed: bool,
) -> Result<(Vec<Tape>, Option<Server>), String> {
    let over = AtomicBool::new(false);
    let remote = server.remote();
    // One thread more, which ends the round.
    let waiting = std::sync::Mutex::new(Some(server));
    let tapes = on_threads(args.clients as usize + 1, |thread| {
        if thread > 0 {
            let number = u64::from(round) << 8 | thread as u64;
            return clients_round(std::slice::from_ref(&remote), shared, number, &over);
        }
        pause(time);
        let killed = if is_killed { kill(&waiting) } else { Ok(()) };
        // Also of a server that has ended by itself, or its clients would never end.
        over.store(true, Ordering::SeqCst);
        killed.map(|()| Tape::default())
    });
    let tapes = tapes.into_iter().collect::<Result<Vec<Tape>, String>>()?;
    let server = waiting.into_inner().map_err(|_| "poisoned".to_owned())?;
    Ok((tapes, server))
}

fn kill(server: &std::sync::Mutex<Option<Server>>) -> Result<(), String> {
    let server = server.lock().map_err(|_| "poisoned".to_owned())?.take();
    server.into_iter().try_for_each(Server::kill)
}

/// What one client does in a round: at one of `servers`, and at another when it has lost that.
fn clients_round(
    servers: &[::client::Server],
    shared: &Shared,
    number: u64,
    over: &AtomicBool,
) -> Result<Tape, String> {
    let mut chance = SeededEntropy::new(shared.seed.wrapping_add(number << 20));
    let mut recorder = Recorder::new(&shared.clock, &shared.processes);
    let mut client = None;
    while !over.load(Ordering::SeqCst) {
        let connected = match client.take() {
            Some(client) => client,
            None => match Client::connect(drawn(servers, &mut chance)?, shared.silence_s) {
                Ok(connected) => connected,
                // It is being killed, or has no majority.
                Err(_) => {
                    pause(BACKOFF);
                    continue;
                }
            },
        };
        let connected = client.insert(connected);
        let turn = match chance.next_u64() % 10 {
            0..=3 => registers::turn(connected, &mut recorder, &mut chance, shared),
            4..=7 => lists::turn(connected, &mut recorder, &mut chance, shared),
            _ => accounts::turn(connected, &mut recorder, &mut chance, shared),
        };
        match turn {
            Ok(()) => {}
            Err(Lost::Connection) => client = None,
            Err(Lost::Silent | Lost::Busy) if shared.is_cluster => client = None,
            Err(lost) => return Err(lost.to_string()),
        }
    }
    Ok(recorder.into_tape())
}

fn drawn<'a>(
    servers: &'a [::client::Server],
    chance: &mut SeededEntropy,
) -> Result<&'a ::client::Server, String> {
    servers.get((chance.next_u64() % servers.len().max(1) as u64) as usize).ok_or("no servers".to_owned())
}

fn set_up(server: &::client::Server, silence_s: u64) -> Result<(), String> {
    let mut client = Client::connect(server, silence_s).map_err(|error| error.to_string())?;
    let done = client
        .add("dc=x", &[("objectClass", "domain"), ("dc", "x")])
        .and_then(|()| registers::set_up(&mut client))
        .and_then(|()| lists::set_up(&mut client))
        .and_then(|()| accounts::set_up(&mut client));
    done.map_err(|lost| lost.to_string())
}

/// Reads everything while nobody else does anything.
fn survey(server: &::client::Server, shared: &Shared) -> Result<Tape, String> {
    let mut client = Client::connect(server, shared.silence_s).map_err(|error| error.to_string())?;
    let mut recorder = Recorder::new(&shared.clock, &shared.processes);
    let done = registers::survey(&mut client, &mut recorder)
        .and_then(|()| lists::survey(&mut client, &mut recorder, &shared.generation))
        .and_then(|()| accounts::scan(&mut client, &mut recorder));
    done.map_err(|lost| lost.to_string())?;
    Ok(recorder.into_tape())
}

/// Checks all that was recorded and says what came of it; returns the exit code.
fn judge(args: &Args, tape: Tape) -> u8 {
    let mut worst = 0;
    let all =
        [(Kind::Registers, tape.registers), (Kind::Lists, tape.lists), (Kind::Transfers, tape.transfers)];
    for (kind, events) in all {
        let path = args.folder.join(format!("{}.jsonl", kind.name()));
        if let Err(error) = std::fs::write(&path, history::write(&events)) {
            println!("{}: {error}", path.display());
            worst = 1;
        }
        match History::of(events) {
            Ok(history) => {
                let verdict = kind.check(&history, accounts::TOTAL);
                println!("{}: {}: {verdict}", kind.name(), counts(&history));
                if verdict != Verdict::Holds {
                    println!("the history is {}", path.display());
                }
                worst = worse(worst, code(&verdict));
            }
            Err(error) => {
                println!("{}: {error}", path.display());
                worst = 1;
            }
        }
    }
    worst
}

/// An event between rounds.
fn cut_at(at: u64) -> Event {
    Event { at, process: 0, what: What::Cut, steps: Vec::new() }
}
