//! What `pando import` and `pando load` have in common: where entries go, and how.

use crate::failed::Failed;
use crate::flags::{Flags, Which};
use crate::local;
use crate::progress::Bar;
use crate::remote::Remote;
use crate::serve::log_to_stderr;
use crate::serve_data::{is_made, open, recover, refused};
use crate::start;
use crate::versions;
use bulk::{Operational, Passwords, Summary};
use clap::{Args as ClapArgs, ValueEnum};
use env::clock::{Clock, SystemClock};
use env::disk::RealDisk;
use node::data::{Data, DataError, Made, Recovered};
use node::keep::keep_and_close;
use password::Scheme;
use schema::Schema;
use server::config::{self, Config};
use server::import::{Job, OnFault, OnProgress, add_files, load_files};
use std::path::PathBuf;
use std::sync::Arc;

/// What is being done, in words.
#[derive(Clone, Copy)]
pub(crate) struct Doing {
    /// The subcommand.
    pub(crate) command: &'static str,
    /// What it is doing.
    pub(crate) now: &'static str,
    /// What was done.
    pub(crate) done: &'static str,
    /// Is each stream reported by itself?
    pub(crate) tells_streams: bool,
}

/// The settings that decide what a directory is and what it takes.
#[derive(Clone, Debug, Default)]
struct OfFill;

impl Which for OfFill {
    const KEYS: Option<&'static [&'static str]> =
        Some(&["suffix", "root-dn", "schema", "schema-check", "operational-attributes", "memory-max"]);
}

/// Where to, and how.
#[derive(ClapArgs, Default)]
pub(crate) struct Target {
    /// The data directory [default: that of --config]
    #[arg(long, value_name = "DIR", required_unless_present_any = ["config", "url"], conflicts_with = "url")]
    data: Option<PathBuf>,

    /// Take naming contexts, schema and the like from the settings of `pando serve`
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    config: Option<PathBuf>,

    #[command(flatten)]
    flags: Flags<OfFill>,

    /// Whether entryUUID, entryCSN, names and times in the files are kept
    #[arg(long, value_enum, default_value_t)]
    operational: OperationalName,

    /// What becomes of passwords in clear text; hashes stay as they are
    #[arg(long, value_enum, default_value_t, conflicts_with = "url")]
    passwords: PasswordsName,

    /// Add to the entries that the directory has
    #[arg(long, conflicts_with = "url")]
    add: bool,

    /// A built-in schema that a new directory has besides those that are named.
    #[arg(skip)]
    pub(crate) schema_first: Option<&'static str>,

    #[command(flatten)]
    remote: Remote,

    /// With --url: over how many connections
    #[arg(long, value_name = "N", default_value_t = 4, requires = "url", value_parser = clap::value_parser!(u16).range(1..=64))]
    connections: u16,

    /// Show no progress and no summary
    #[arg(short, long)]
    quiet: bool,
}

/// What becomes of passwords in clear text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PasswordsName {
    /// They are hashed with salted SHA-512, which takes microseconds
    #[default]
    Ssha512,
    /// They are hashed with Argon2, which takes some 20 ms of a core each
    Argon2id,
    /// They are stored as they are
    Keep,
    /// A record with one is a fault
    Refuse,
}

impl PasswordsName {
    /// As the loader has it.
    fn of_loader(self) -> Passwords {
        match self {
            PasswordsName::Ssha512 => Passwords::Hash(Scheme::SaltedSha512),
            PasswordsName::Argon2id => Passwords::Hash(Scheme::Argon2id),
            PasswordsName::Keep => Passwords::Keep,
            PasswordsName::Refuse => Passwords::Refuse,
        }
    }
}

/// What becomes of operational attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OperationalName {
    /// Keep them; an attribute that the schema does not know is a fault
    #[default]
    Keep,
    /// Leave them out; the entries get new ones
    Strip,
    /// Convert those of other servers: nsUniqueId becomes entryUUID, attributes for internal use are left out
    Map,
}

impl OperationalName {
    /// As the loader has it.
    fn of_loader(self) -> Operational {
        match self {
            OperationalName::Keep => Operational::Keep,
            OperationalName::Strip => Operational::Strip,
            OperationalName::Map => Operational::Map,
        }
    }
}

impl Target {
    /// Operational attributes of another server are mapped.
    pub(crate) fn map_operational(&mut self) {
        self.operational = OperationalName::Map;
    }

    /// What the configuration file says, if one is named.
    fn file(&self) -> Result<Config, Failed> {
        let Some(path) = &self.config else { return Ok(Config::default()) };
        let read = config::read_file(path).map_err(Failed::usage)?;
        Failed::configured(&read.faults).if_any()?;
        Ok(read.config)
    }

    /// The schema that the command line and the configuration file name, whatever a directory has recorded.
    ///
    /// # Errors
    /// The faults of the file, of flags and of schema files.
    pub(crate) fn known_schema(&self) -> Result<Schema, Failed> {
        let mut config = self.file()?;
        let bad = self.flags.set(&mut config).into_iter();
        Failed::configured(bad.map(|(_, fault)| fault)).if_any()?;
        self.put_schema_first(&mut config);
        local::schema(&config)
    }

    /// Files that are named replace what they share with it.
    fn put_schema_first(&self, config: &mut Config) {
        let is_named = |name: &&str| config.schema.iter().any(|named| named == name);
        if let Some(name) = self.schema_first.filter(|name| !is_named(name)) {
            config.schema.insert(0, name.to_owned());
        }
    }

    /// What the directory is to be, given what it was made with.
    fn settings(&self, mut config: Config, made: Option<Made>) -> Result<Config, Failed> {
        let bad = self.flags.set(&mut config).into_iter();
        Failed::configured(bad.map(|(_, fault)| fault)).if_any()?;
        match &made {
            Some(made) => config.take_rules(made),
            None => self.put_schema_first(&mut config),
        }
        // What only a server needs.
        (config.root_password_file, config.import, config.memory) = (None, Vec::new(), None);
        let ours = |problem: &config::Problem| ["suffix", "schema", "memory-max"].contains(&problem.key);
        let problems = config.problems().into_iter().filter(ours);
        Failed::configured(problems.map(|problem| format!("{}: {}", problem.key, problem.message)))
            .if_any()?;
        Ok(config)
    }
}

/// Takes files in and tells what came of it; `job` has what the target does not tell.
pub(crate) fn run(target: &Target, doing: Doing, job: Job) -> Result<(), Failed> {
    log_to_stderr();
    let (operational, passwords) = (target.operational.of_loader(), target.passwords.of_loader());
    let job = Job { operational, passwords, ..job };
    let Summary { rejected, .. } = fill(target, doing, &job)?;
    if rejected == 0 {
        return Ok(());
    }
    let (done, s) = (doing.done, if rejected == 1 { " was" } else { "s were" });
    let place = match &job.on_fault {
        OnFault::Reject(path) => format!("; {} has them, with the reasons", path.display()),
        _ => String::new(),
    };
    Err(Failed::of(format!("{rejected} record{s} not {done}{place}")))
}

/// Takes the files of a job in, into a directory or a server that runs.
fn fill(args: &Target, doing: Doing, job: &Job) -> Result<Summary, Failed> {
    if let Some(server) = args.remote.server()? {
        return loaded(args, (doing, job), &mut |on_progress| {
            add_files(job, &server, usize::from(args.connections), on_progress)
        });
    }
    let mut config = args.file()?;
    let dir = args.data.clone().or_else(|| config.data.clone());
    let dir =
        dir.ok_or_else(|| Failed::usage("no data directory is named, neither by --data nor in the file"))?;
    config.data = Some(dir.clone());
    let existing = is_made(&dir).then(|| Data::existing(Arc::new(RealDisk), &dir).map(versions::known));
    let existing = existing.transpose().map_err(not_ours)?;
    let made = existing.as_ref().map_or(Ok(None), Data::made).map_err(refused)?;
    let config = args.settings(config, made)?;
    let schema = start::schema(&config, doing.command)?;
    let data = match existing {
        Some(data) => data,
        None => open(&dir, not_ours)?,
    };
    // Not before the directory is ours: until then another load could fill it.
    let is_new = ["founding", "rules", "log", "snapshot"].iter().all(|name| !dir.join(name).exists());
    into_data(args, doing, job, (&config, &data, schema)).map_err(|mut end| {
        // The next attempt may choose otherwise what is chosen once.
        let left = if is_new { data.roll_back_init().err() } else { None };
        end.faults.extend(left.map(|error| format!("the incomplete directory cannot be removed: {error}")));
        end
    })
}

/// Why a data directory cannot be filled; what to do where a server has it.
fn not_ours(error: DataError) -> Failed {
    let is_taken = matches!(error, DataError::Taken(_));
    let mut end = refused(error);
    if is_taken {
        end.faults.push("a server that has it is filled with --url, over LDAP".to_owned());
    }
    end
}

/// Adds the entries in memory, then makes all of it the directory's last snapshot.
fn into_data(
    args: &Target,
    doing: Doing,
    job: &Job,
    (config, data, schema): (&Config, &Data, Schema),
) -> Result<Summary, Failed> {
    let clock = SystemClock::start();
    let Recovered { dsa, committer, mut snapshots, .. } =
        recover(config, None, data, Arc::new(schema), (&clock, None))?.expect("without settings none differ");
    let entries = dsa.shard().entries();
    if entries > 0 && !args.add {
        let text =
            format!("it has {entries} entries already; add to them with --add, or name another directory");
        return Err(Failed::at(data.dir().display(), text));
    }
    let load = &mut |on_progress: OnProgress<'_>| load_files(job, dsa.shard(), &clock, on_progress);
    let summary = loaded(args, (doing, job), load)?;
    let monotonic_ms = clock.monotonic_ns() / 1_000_000;
    let kept = keep_and_close(committer, &mut snapshots, clock.wall_ms(), monotonic_ms);
    kept.map_err(|error| Failed::at("the import cannot be kept", error))?;
    Ok(summary)
}

/// Has the files loaded; a bar shows how far it is.
fn loaded(
    args: &Target,
    (doing, job): (Doing, &Job),
    load: &mut dyn FnMut(OnProgress<'_>) -> Result<Summary, Vec<config::Fault>>,
) -> Result<Summary, Failed> {
    let names = if doing.tells_streams { &job.files[..] } else { &[] };
    let mut bar = Bar::new(doing.now, doing.done, names, args.quiet);
    let summary = load(&mut |reported, total| bar.show(reported, total)).map_err(Failed::all)?;
    bar.finish(summary);
    Ok(summary)
}
