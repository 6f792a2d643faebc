//! `pando serve`: the server.

use crate::failed::Failed;
use crate::flags::{All, Flags, flag_fault};
use crate::output::{note, print_ready};
use crate::start::{cannot_serve, load, schema};
use crate::{cluster, serve_cluster, serve_data};
use clap::Args as ClapArgs;
use dsa::contexts::Contexts;
use env::clock::{Clock as _, SystemClock};
use env::entropy::SystemEntropy;
use env::lines::Lines;
use env::net::{self, Bound, TcpBound, UnixBound};
use env::task::Signal;
use node::data::Nowhere;
use node::indexer;
use server::chaining::Chains;
use server::config::{self, Config, Listen};
use server::tokens::TokenKeys;
use server::{Endpoints, OwnSettings, Reloaded, directory};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use tls::Tls;
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

    #[command(flatten)]
    flags: Flags<All>,

    /// Start although the log comes to another outcome than was answered; see docs/durability.md. A snapshot of what the
    /// log makes now is written first
    #[arg(long)]
    accept_difference: bool,

    #[command(flatten)]
    cluster: serve_cluster::NodeArgs,
}

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
    /// The settings of file and flags, or everything that is wrong with them.
    fn settings(&self) -> Result<Config, Failed> {
        let read = match &self.config {
            Some(path) => config::read_file(path).map_err(Failed::usage)?,
            None => config::read("the command line", ""),
        };
        let mut config = read.config.clone();
        let bad = self.flags.set(&mut config);
        let mut faults: Vec<String> = read.faults.iter().map(ToString::to_string).collect();
        faults.extend(bad.iter().map(|(_, fault)| fault.clone()));
        faults.extend(self.cluster.faults(&config));
        if let Some(dir) = &config.data {
            // Before it is looked which node that is.
            cluster::finish_recovery(dir)?;
        }
        if !serve_cluster::names_listener(&config)
            && let Some(dir) = config.data.clone().filter(|dir| serve_cluster::is_node(dir))
        {
            // A later start of a node needs nothing but its directory.
            serve_cluster::listen_as_before(&mut config, &dir);
        }
        let is_given = |key: &str| self.flags.given.iter().any(|(name, _)| *name == key);
        let is_bad = |key: &str| bad.iter().any(|(name, _)| *name == key);
        for problem in config.problems() {
            // What is there but bad is a fault already, and not missing.
            if problem.missing.is_some_and(|key| is_bad(key) || read.is_bad(key) && !is_given(key)) {
                continue;
            }
            let is_known = serve_data::is_there(&config) || self.cluster.joins();
            if problem.missing == Some("suffix") && is_known {
                continue;
            }
            faults.push(match is_given(problem.key) {
                true => flag_fault(problem.key, &problem.message),
                false => read.locate(&problem).to_string(),
            });
        }
        Failed::configured(faults).if_any()?;
        Ok(config)
    }
}

/// Runs it.
pub(crate) fn run(args: &Args) -> Result<(), Failed> {
    let config = args.settings()?;
    log_to_stderr();
    // A closed terminal, or the one that means another process, does not end a server.
    let outlived = env::task::outlive(&[Signal::Hangup, Signal::User1, Signal::User2, Signal::Alarm]);
    outlived.map_err(|error| Failed::at("signals cannot be caught", error))?;
    let mut config = Config { accept_difference: args.accept_difference, ..config };
    if config.settle_storage() {
        let dir = config.data.iter().flat_map(std::path::absolute).next().unwrap_or_default();
        note!(
            "pando serve: the directory is kept in {}; --data DIR keeps it elsewhere, --memory nowhere",
            dir.display()
        );
    }
    serve(&config, &args.cluster)
}

/// Makes the directory, fills it and serves it until a signal ends it.
fn serve(config: &Config, cluster: &serve_cluster::NodeArgs) -> Result<(), Failed> {
    let clock = SystemClock::start();
    config.warnings().iter().for_each(|warning| tracing::warn!("{warning}"));
    // What was added to it while it was served is known from the directory alone.
    let is_recorded = serve_data::is_there(config) || cluster.joins();
    // A fault of a file is found before anything is made.
    let schema = if is_recorded { None } else { Some(schema(config, "serve")?) };
    env::host::raise_descriptor_limit();
    // A port that is taken is found before the import, not after it.
    let endpoints = endpoints(config, &clock)?;
    if let Some(dir) = config.data.as_deref().filter(|dir| cluster.is_asked() || serve_cluster::is_node(dir))
    {
        return serve_cluster::serve(cluster, config, dir, endpoints, &clock);
    }
    if cluster.is_asked() {
        return Err(Failed::at("--peer", "a node of a cluster needs --data"));
    }
    if let Some(dir) = &config.data {
        return serve_data::serve(config, dir, schema, endpoints, &clock);
    }
    let schema = schema.expect("without a data directory none is recorded");
    let dsa = directory::create(config, schema, &clock, &directory::superblock(config, &mut SystemEntropy));
    let dsa = dsa.map_err(|error| Failed::at("the directory cannot be made", error))?;
    load(config, &dsa, &clock)?;
    if dsa.wants_changes() {
        tracing::warn!(
            "changelog-keep: there is no cn=changelog, for without a data directory there is no log"
        );
    }
    let ready = print_ready;
    let indexer = indexer::Thread::start(Arc::clone(&dsa), Nowhere).map_err(cannot_serve)?;
    let served = server::serve(dsa, endpoints, config.options, ready);
    served.and(indexer.stop()).map_err(cannot_serve)
}

/// The sockets of an address.
fn bind(listen: &Listen) -> io::Result<Vec<Bound>> {
    let (host, port) = match listen {
        Listen::Tcp { host, port, .. } => (host, *port),
        Listen::Unix { path, mode } => return Ok(vec![Bound::Unix(UnixBound::bind(path, *mode)?)]),
    };
    // Of a name's addresses some may not exist on this machine (IPv6, say): one is enough.
    let addresses = net::resolve(host, port)?.into_iter();
    let (taken, failed): (Vec<_>, Vec<_>) = addresses.map(TcpBound::bind).partition(Result::is_ok);
    match failed.into_iter().find_map(Result::err) {
        Some(error) if taken.is_empty() => Err(error),
        None if taken.is_empty() => Err(io::Error::other("no such address")),
        _ => Ok(taken.into_iter().flatten().map(Bound::Tcp).collect()),
    }
}

/// Binds all configured addresses, and reads certificates and keys.
fn endpoints(config: &Config, clock: &SystemClock) -> Result<Endpoints, Failed> {
    let mut bound = Vec::new();
    let mut inherited = net::inherited().map_err(|error| Failed::at("LISTEN_FDS", error))?;
    for listener in config.listeners() {
        let url = &listener.url;
        let own: Vec<_> = inherited.extract_if(.., |(name, _)| *name == listener.name).collect();
        let taken = match own.is_empty() {
            true => bind(url).map_err(|error| Failed::at(url, error))?,
            false => own.into_iter().map(|(_, bound)| bound).collect(),
        };
        let is_unix = matches!(url, Listen::Unix { .. });
        if taken.iter().any(|bound| matches!(bound, Bound::Unix(_)) != is_unix) {
            return Err(Failed::at(url, "the socket that was passed for it is of another kind"));
        }
        let listener = Arc::new(listener);
        bound.extend(taken.into_iter().map(|bound| (bound, Arc::clone(&listener))));
    }
    if let Some((name, _)) = inherited.first() {
        let text =
            format!("`{name}` is no name of a listener: it needs a `[[listener]]` with `name = \"{name}\"`");
        return Err(Failed::at("LISTEN_FDNAMES", text));
    }
    let mut files = Reloaded::default();
    if let Some(settings) = config.tls() {
        let loaded = Tls::load(settings, (clock.wall_ms() / 1000) as i64);
        let (loaded, warnings) = loaded.map_err(|reason| Failed::configured([reason]))?;
        warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        files.tls = Some(Arc::new(loaded));
    }
    if let Some(settings) = config.tokens.settings() {
        let loaded = TokenKeys::load(settings);
        let loaded = loaded.map_err(|reason| Failed::configured([format!("oauth.jwks: {reason}")]))?;
        files.tokens = Some(Arc::new(loaded));
    }
    let chains = Chains::load(&config.chained)
        .map_err(|reason| Failed::configured([format!("chaining: {reason}")]))?
        .map(Arc::new);
    let contexts =
        contexts(config).map_err(|reason| Failed::configured([format!("gssapi.keytab: {reason}")]))?;
    // What is recorded is known when the data directory is taken.
    let own = OwnSettings::in_memory(config);
    let words = config.dictionary().map_err(|error| Failed::at("password-dictionary", error))?;
    Ok(Endpoints { bound, files, chains, contexts, own, words, auditor: None })
}

/// What begins security contexts of GSSAPI, if there is a keytab.
#[cfg(feature = "gssapi")]
fn contexts(config: &Config) -> Result<Option<Arc<dyn Contexts>>, String> {
    let load =
        |path| server::kerberos::Keytab::load(path).map(|keytab| Arc::new(keytab) as Arc<dyn Contexts>);
    config.keytab.as_deref().map(load).transpose()
}

/// A keytab is refused where the configuration is checked.
#[cfg(not(feature = "gssapi"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature a keytab may be faulty")]
fn contexts(_: &Config) -> Result<Option<Arc<dyn Contexts>>, String> {
    Ok(None)
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
    use clap::{Command, FromArgMatches as _};
    use dsa::settings::Values;

    fn args(words: &[&str]) -> Args {
        let command = <Args as clap::Args>::augment_args(Command::new("serve").no_binary_name(true));
        Args::from_arg_matches(&command.try_get_matches_from(words).unwrap()).unwrap()
    }

    fn faults(args: &Args) -> Vec<String> {
        args.settings().expect_err("it is refused").faults
    }

    #[test]
    fn every_key_outside_a_section_is_a_flag() {
        for key in config::keys().filter(|key| key.section().is_empty()) {
            let flag = format!("--{}", key.name);
            let given = if key.values == Values::Switch { args(&[&flag]) } else { args(&[&flag, "x"]) };
            assert_eq!(given.flags.given[0].0, key.name);
        }
    }

    #[test]
    fn a_flag_overrides_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("p.toml");
        std::fs::write(&file, "suffix = \"dc=com\"\nthreads = 1\nlisten = \"ldap://h:1\"\n").unwrap();
        let file = file.to_str().unwrap();
        let args = args(&["--config", file, "--threads", "2", "--listen", "ldap://127.0.0.1:0", "--memory"]);
        let config = args.settings().ok().expect("it is accepted");
        assert_eq!(config.memory, Some(true));
        assert_eq!(config.suffixes, ["dc=com"]);
        assert_eq!(
            (config.options.threads, config.listen[0].to_string()),
            (2, "ldap://127.0.0.1:0".to_owned())
        );
    }

    #[test]
    fn faults_of_flags_name_the_flag() {
        let faults = super::tests::faults(&args(&["--threads", "many", "--index", "a b"]));
        assert!(faults.iter().any(|f| f.starts_with("--threads: `many`")), "{faults:?}");
        assert!(faults.iter().any(|f| f.starts_with("--index: ")), "{faults:?}");
        assert!(faults.iter().any(|f| f.contains("no suffix is set")), "{faults:?}");
        let suffixes = ["--suffix", "dc=com", "--suffix", "x", "--suffix", "y"];
        let root = ["--root-dn", "cn=a", "--root-password-file", "/nowhere/password"];
        let faults = super::tests::faults(&args(&[&suffixes[..], &root].concat()));
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
