//! `pando serve`: the server.

use crate::output::{note, print_ready};
use crate::progress::Bar;
use crate::serve_data;
use clap::Args as ClapArgs;
use dsa::Dsa;
use env::clock::SystemClock;
use env::entropy::SystemEntropy;
use env::lines::Lines;
use env::net::{self, TcpBound};
use env::task::Signal;
use node::data::Nowhere;
use node::indexer;
use server::config::{self, Config, Fault};
use server::{directory, import};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

/// Serve a directory to LDAP clients.
///
/// Takes its settings from a TOML file, from flags, or from both; a flag overrides the file. Prints one line
/// `ready ldap://HOST:PORT` on standard output for each address once requests to it are answered. Everything else that it
/// has to say goes to standard error.
///
/// The directory is served from memory. Every change is written to a log in the data directory first and is there again after
/// the next start, whatever ends the server. With --memory there is no such directory, and what was written is gone when
/// the server ends.
#[derive(ClapArgs, Default)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    /// Read settings from FILE; `pando check-config --template` prints one with every key explained
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Keep the directory in memory only: what was written is gone when the server ends
    #[arg(long)]
    memory: bool,

    /// Make what is written last, in this directory; it is made if it is not there [default: pando-data]
    #[arg(long, value_name = "DIR")]
    data: Option<String>,

    /// When a write to --data counts as done: when it is on the disk, or when the system has it, which writes it down
    /// within MS milliseconds or when it likes [default: always]
    #[arg(long, value_name = "always|interval=MS|none")]
    sync: Option<String>,

    /// What to do when the disk fails to keep the log: end, or answer searches and refuse writes [default: exit]
    #[arg(long, value_name = "exit|read-only")]
    on_log_failure: Option<String>,

    /// Bytes of log after which --data gets a snapshot, such as 64MiB [default: the size of the directory, 256 MiB to
    /// 1 GiB]
    #[arg(long, value_name = "BYTES")]
    snapshot_after: Option<String>,

    /// Seconds after which --data gets a snapshot if something was written since; 0: never for that [default: 900]
    #[arg(long, value_name = "SECONDS")]
    snapshot_interval: Option<String>,

    /// A folder that files of the log are copied to before they are used again, for `pando restore` to a point in time
    #[arg(long, value_name = "DIR")]
    archive: Option<String>,

    /// A naming context to hold; may be repeated. At least one is needed, here or in the file
    #[arg(long, value_name = "DN")]
    suffix: Vec<String>,

    /// An address to serve; may be repeated. Port 0 lets the system pick one [default: ldap://127.0.0.1:389]
    #[arg(long, value_name = "ldap://HOST:PORT")]
    listen: Vec<String>,

    /// A name that is allowed everything; it needs no entry
    #[arg(long, value_name = "DN")]
    root_dn: Option<String>,

    /// The file whose first line is the password of the root DN
    #[arg(long, value_name = "FILE")]
    root_password_file: Option<String>,

    /// A name that may change every entry, as the root DN may, though it reads no passwords and changes no configuration; may
    /// be repeated
    #[arg(long, value_name = "DN")]
    write_dn: Vec<String>,

    /// A name that may act as others with the proxied authorization control (RFC 4370), as the root DN always may, but
    /// never as the root DN or one that --write-dn names; may be repeated
    #[arg(long, value_name = "DN")]
    proxy_dn: Vec<String>,

    /// How passwords are stored that are set with the password modify operation (RFC 3062) [default: ssha]
    #[arg(long, value_name = "ssha|clear")]
    password_scheme: Option<String>,

    /// What clients may see that have not bound: only the root DSE and the subschema, or all that users may
    /// [default: none]
    #[arg(long, value_name = "none|read")]
    anonymous: Option<String>,

    /// Schema beyond the standard one: files, or names of built-in schemas such as dvtds
    #[arg(long, value_name = "FILE", num_args = 1..)]
    schema: Vec<String>,

    /// Whether every write is held to the schema [default: on]
    #[arg(long, value_name = "on|off")]
    schema_check: Option<String>,

    /// Whether entries have entryUUID, entryCSN and the times and names of their making and last change; fixed when the
    /// directory is created [default: on]
    #[arg(long, value_name = "on|off")]
    operational_attributes: Option<String>,

    /// Index an attribute for equality, presence, substrings, ordering; may be repeated
    #[arg(long, value_name = "ATTR:eq[,pres,sub,ord]")]
    index: Vec<String>,

    /// Memory that the directory may occupy, such as 8GiB; beyond it adds, and changes that make an entry larger, are
    /// refused with adminLimitExceeded [default: 80 % of the machine's]
    #[arg(long, value_name = "BYTES")]
    memory_max: Option<String>,

    /// A file or FIFO of LDIF or of BER adds to load before the first client is served; not into a data directory that was
    /// used before. May be repeated: all of them are read at the same time
    #[arg(long, value_name = "FILE")]
    import: Vec<String>,

    /// Start although the log comes to another outcome than clients were told; see docs/durability.md. A snapshot of what the
    /// log makes now is written first
    #[arg(long)]
    accept_difference: bool,

    /// IO threads [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<String>,

    /// A further OID under which clients may send the queue length control, without criticality; its own is always known
    #[arg(long, value_name = "OID")]
    queue_length_oid: Option<String>,

    /// Let a client choose the identifier of a transaction; the first update that names it begins it [default: off]
    #[arg(long, value_name = "on|off", help_heading = TRANSACTIONS)]
    txn_implicit_begin: Option<String>,

    /// Let an update without a control belong to the transaction that its session has open [default: off]
    #[arg(long, value_name = "on|off", help_heading = TRANSACTIONS)]
    txn_implicit_membership: Option<String>,

    /// Let a search or compare that names a transaction see what its updates have made so far [default: off]
    #[arg(long, value_name = "on|off", help_heading = TRANSACTIONS)]
    txn_search: Option<String>,

    /// Updates that a transaction may have [default: 10000]
    #[arg(long, value_name = "N", help_heading = TRANSACTIONS)]
    txn_updates_max: Option<String>,

    /// Bytes of updates that a transaction may have, 16MiB at most [default: 4MiB]
    #[arg(long, value_name = "BYTES", help_heading = TRANSACTIONS)]
    txn_bytes_max: Option<String>,

    /// Milliseconds that a transaction may be open; then it is aborted, and its client told [default: 60000]
    #[arg(long, value_name = "MS", help_heading = TRANSACTIONS)]
    txn_age_max: Option<String>,

    /// Transactions that the server has open at once; 0: none is begun [default: 1000]
    #[arg(long, value_name = "N", help_heading = TRANSACTIONS)]
    txn_open_max: Option<String>,

    /// Precedence, 0 to 9, of the transactions of the clients called DN or below it; the highest that fits counts; may be
    /// repeated [default: 0 for all]
    #[arg(long, value_name = "N:DN", help_heading = TRANSACTIONS)]
    txn_precedence: Vec<String>,
}

/// Where the help has the flags of transactions.
const TRANSACTIONS: &str = "Transactions (each can be changed in cn=config while the server runs)";

const AFTER: &str = "\
EXAMPLES:
  An empty directory to try things in, gone afterwards:
    pando serve --memory --suffix dc=example,dc=com --listen ldap://127.0.0.1:3389 \\
        --root-dn cn=admin,dc=example,dc=com --root-password-file root.password

  A directory that lasts, filled once; later starts are without --import:
    pando serve --data people.pando --suffix dc=example,dc=com --import people.ldif \\
        --root-dn cn=admin,dc=example,dc=com --root-password-file root.password

  A directory from a file, with indexes, for reading by anyone:
    pando serve --memory --suffix dc=example,dc=com --import people.ldif --index uid:eq --index cn:eq,sub --anonymous read

  Settings in a file, the port chosen by the system:
    pando serve --config pando.toml --listen ldap://127.0.0.1:0

SIGNALS:
  SIGTERM, SIGINT   take no more connections, finish what is in flight, send every client a Notice of
                    Disconnection, write a snapshot to --data, exit with 0
  SIGHUP            nothing but a line on standard error: a terminal that is closed does not end the server. SIGUSR1,
                    SIGUSR2 and SIGALRM are ignored, SIGXFSZ is an error of the write

ENVIRONMENT:
  PANDO_LOG         how much is said on standard error: error, warn, info (default), debug

EXIT CODES:
  0  ended by a signal, everything in flight was answered
  1  it could not serve: an address is taken, the import failed, --data is in use or damaged; or the log
     failed while it served
  2  the command line or the configuration is wrong; every fault is on standard error";

impl Args {
    /// The flags that were given, by the name of their key.
    fn given(&self) -> Vec<(&'static str, Vec<String>)> {
        let one = |value: &Option<String>| value.iter().cloned().collect();
        let all: [(&str, Vec<String>); 31] = [
            ("memory", if self.memory { vec!["on".to_owned()] } else { Vec::new() }),
            ("data", one(&self.data)),
            ("sync", one(&self.sync)),
            ("on-log-failure", one(&self.on_log_failure)),
            ("snapshot-after", one(&self.snapshot_after)),
            ("snapshot-interval", one(&self.snapshot_interval)),
            ("archive", one(&self.archive)),
            ("suffix", self.suffix.clone()),
            ("listen", self.listen.clone()),
            ("root-dn", one(&self.root_dn)),
            ("root-password-file", one(&self.root_password_file)),
            ("write-dn", self.write_dn.clone()),
            ("proxy-dn", self.proxy_dn.clone()),
            ("password-scheme", one(&self.password_scheme)),
            ("anonymous", one(&self.anonymous)),
            ("schema", self.schema.clone()),
            ("schema-check", one(&self.schema_check)),
            ("operational-attributes", one(&self.operational_attributes)),
            ("index", self.index.clone()),
            ("memory-max", one(&self.memory_max)),
            ("import", self.import.clone()),
            ("threads", one(&self.threads)),
            ("queue-length-oid", one(&self.queue_length_oid)),
            ("txn-implicit-begin", one(&self.txn_implicit_begin)),
            ("txn-implicit-membership", one(&self.txn_implicit_membership)),
            ("txn-search", one(&self.txn_search)),
            ("txn-updates-max", one(&self.txn_updates_max)),
            ("txn-bytes-max", one(&self.txn_bytes_max)),
            ("txn-age-max", one(&self.txn_age_max)),
            ("txn-open-max", one(&self.txn_open_max)),
            ("txn-precedence", self.txn_precedence.clone()),
        ];
        all.into_iter().filter(|(_, values)| !values.is_empty()).collect()
    }

    /// The settings of file and flags, or everything that is wrong with them.
    fn settings(&self) -> Result<Config, Vec<Fault>> {
        let read = match &self.config {
            Some(path) => config::read_file(path).map_err(|fault| vec![fault])?,
            None => config::read("the command line", ""),
        };
        let mut config = read.config.clone();
        let mut faults = read.faults.clone();
        let given = self.given();
        let is_given = |key: &str| given.iter().any(|(name, _)| *name == key);
        let mut bad = Vec::new();
        let of_flag = |name: &str, message: &str| Fault {
            file: None,
            place: None,
            message: format!("--{name}: {message}"),
        };
        for (name, values) in &given {
            let messages = config.set(name, values).err().unwrap_or_default();
            faults.extend(messages.iter().map(|message| of_flag(name, message)));
            if !messages.is_empty() {
                bad.push(*name);
            }
        }
        for problem in config.problems() {
            // What is there but bad is a fault already, and not missing.
            if problem.missing.is_some_and(|key| bad.contains(&key) || read.is_bad(key) && !is_given(key)) {
                continue;
            }
            faults.push(match is_given(problem.key) {
                true => of_flag(problem.key, &problem.message),
                false => read.locate(&problem),
            });
        }
        if faults.is_empty() { Ok(config) } else { Err(faults) }
    }
}

/// Runs it.
pub(crate) fn run(args: Args) -> ExitCode {
    let config = match args.settings() {
        Ok(config) => config,
        Err(faults) => {
            for fault in faults {
                note!("pando serve: {fault}");
            }
            return ExitCode::from(2);
        }
    };
    log_to_stderr();
    // A closed terminal, or whoever means another process, does not end a server.
    if let Err(error) = env::task::outlive(&[Signal::Hangup, Signal::User1, Signal::User2, Signal::Alarm]) {
        note!("pando serve: signals cannot be caught: {error}");
        return ExitCode::FAILURE;
    }
    let mut config = Config { accept_difference: args.accept_difference, ..config };
    if config.settle_storage() {
        let dir = config.data.iter().flat_map(std::path::absolute).next().unwrap_or_default();
        note!(
            "pando serve: the directory is kept in {}; --data DIR keeps it elsewhere, --memory nowhere",
            dir.display()
        );
    }
    match serve(&config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(End { code, faults }) => {
            for fault in faults {
                note!("pando serve: {fault}");
            }
            ExitCode::from(code)
        }
    }
}

/// Why it could not serve, and the exit code of that.
pub(crate) struct End {
    pub(crate) code: u8,
    pub(crate) faults: Vec<String>,
}

impl End {
    /// A fault of the configuration.
    pub(crate) fn configured(faults: impl IntoIterator<Item = impl ToString>) -> End {
        End { code: 2, faults: faults.into_iter().map(|fault| fault.to_string()).collect() }
    }

    /// A failure of what was asked.
    pub(crate) fn failed(what: impl std::fmt::Display, why: impl std::fmt::Display) -> End {
        End { code: 1, faults: vec![format!("{what}: {why}")] }
    }
}

/// Makes the directory, fills it and serves it until a signal ends it.
fn serve(config: &Config) -> Result<(), End> {
    let clock = SystemClock::start();
    let schema = directory::schema(config).map_err(End::configured)?;
    directory::warnings(&schema).iter().for_each(|warning| note!("pando serve: {warning}"));
    config.warnings().iter().for_each(|warning| tracing::warn!("{warning}"));
    let unknown = directory::unknown_to_schema(config, &schema);
    if !unknown.is_empty() {
        return Err(End::configured(unknown.iter().map(|p| format!("{}: {}", p.key, p.message))));
    }
    env::host::raise_descriptor_limit();
    // A port that is taken is found before the import, not after it.
    let bound = bind(config)?;
    if let Some(dir) = &config.data {
        return serve_data::serve(config, dir, schema, bound, &clock);
    }
    let dsa = directory::create(config, schema, &clock, &directory::founding(config, &mut SystemEntropy));
    let dsa = dsa.map_err(|error| End::failed("the directory cannot be made", error))?;
    load(config, &dsa, &clock)?;
    let ready = print_ready;
    let indexer = indexer::Thread::start(Arc::clone(&dsa), Nowhere).map_err(cannot_serve)?;
    let served = server::serve(dsa, bound, config.options, ready);
    served.and(indexer.stop()).map_err(cannot_serve)
}

pub(crate) fn cannot_serve(error: std::io::Error) -> End {
    End::failed("cannot serve", error)
}

/// Loads the configured file.
pub(crate) fn load(config: &Config, dsa: &Dsa, clock: &SystemClock) -> Result<(), End> {
    let mut bar = Bar::new("importing", "imported", &[]);
    match import::load(config, dsa.shard(), clock, &mut |told, total| bar.show(told, total)) {
        Ok(Some(summary)) => bar.finish(summary),
        Ok(None) => bar.clear(),
        Err(faults) => {
            bar.clear();
            return Err(End { code: 1, faults: faults.iter().map(ToString::to_string).collect() });
        }
    }
    Ok(())
}

/// Binds all configured addresses.
fn bind(config: &Config) -> Result<Vec<TcpBound>, End> {
    let mut bound = Vec::new();
    for listen in &config.listen {
        let addresses =
            net::resolve(&listen.host, listen.port).map_err(|error| End::failed(listen, error))?;
        // Of a name's addresses some may not exist on this machine (IPv6, say): one is enough.
        let (taken, failed): (Vec<_>, Vec<_>) =
            addresses.into_iter().map(TcpBound::bind).partition(Result::is_ok);
        if taken.is_empty() {
            let error = failed.into_iter().find_map(Result::err);
            return Err(End::failed(listen, error.map_or("no such address".to_owned(), |e| e.to_string())));
        }
        bound.extend(taken.into_iter().flatten());
    }
    Ok(bound)
}

pub(crate) fn log_to_stderr() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("PANDO_LOG").unwrap_or_else(|_| "info".into());
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    // A reader of standard error that has stopped must not stop the server.
    let writer = match Lines::to_stderr() {
        Ok(lines) => BoxMakeWriter::new(Arc::new(lines)),
        Err(_) => BoxMakeWriter::new(std::io::sink),
    };
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    // Where standard error is gone, no line can tell that either.
    log.with_target(false).with_ansi(colours).log_internal_errors(false).init();
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Command;

    #[test]
    fn every_key_outside_a_section_is_a_flag_and_every_flag_a_key() {
        let command = <Args as clap::Args>::augment_args(Command::new("serve"));
        let mut flags: Vec<&str> = command.get_arguments().filter_map(|a| a.get_long()).collect();
        let mut keys: Vec<&str> = config::KEYS.iter().map(|k| k.name).filter(|n| !n.contains('.')).collect();
        keys.push("config");
        // Of one start: in a file it would hold for every start.
        keys.push("accept-difference");
        flags.sort_unstable();
        keys.sort_unstable();
        assert_eq!(flags, keys);
    }

    #[test]
    fn a_flag_overrides_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("p.toml");
        std::fs::write(&file, "suffix = \"dc=com\"\nthreads = 1\nlisten = \"ldap://h:1\"\n").unwrap();
        let args = Args {
            config: Some(file),
            threads: Some("2".to_owned()),
            listen: vec!["ldap://127.0.0.1:0".to_owned()],
            ..Args::default()
        };
        let config = args.settings().unwrap();
        assert_eq!(config.suffixes, ["dc=com"]);
        assert_eq!((config.options.threads, config.listen[0].port), (2, 0));
    }

    #[test]
    fn faults_of_flags_name_the_flag() {
        let args =
            Args { threads: Some("many".to_owned()), index: vec!["a b".to_owned()], ..Args::default() };
        let faults: Vec<String> = args.settings().unwrap_err().iter().map(ToString::to_string).collect();
        assert!(faults.iter().any(|f| f.starts_with("--threads: `many`")), "{faults:?}");
        assert!(faults.iter().any(|f| f.starts_with("--index: ")), "{faults:?}");
        assert!(faults.iter().any(|f| f.contains("no suffix is set")), "{faults:?}");
        let file = Some("/nowhere/password".to_owned());
        let args = Args {
            suffix: vec!["dc=com".to_owned(), "x".to_owned(), "y".to_owned()],
            root_dn: Some("cn=a".to_owned()),
            root_password_file: file,
            ..Args::default()
        };
        let faults: Vec<String> = args.settings().unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(
            faults[0].starts_with("--suffix: `x`") && faults[1].starts_with("--suffix: `y`"),
            "{faults:?}"
        );
        assert!(
            faults[2].starts_with("--root-password-file: `/nowhere/password`: cannot be read"),
            "{faults:?}"
        );
    }
}
