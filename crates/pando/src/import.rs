//! `pando import`: LDIF into a data directory that nobody serves, or into a server that runs.

use crate::progress::Bar;
use crate::remote::Remote;
use crate::serve::{End, log_to_stderr};
use crate::serve_data::{recover, refused};
use bulk::{Operational, Progress, Summary};
use clap::{Args as ClapArgs, ValueEnum};
use env::clock::{Clock, SystemClock};
use env::disk::RealDisk;
use schema::Schema;
use server::config::{self, Config};
use server::data::{Data, Made, Recovered};
use server::directory;
use server::import::{Job, add_files, keep_and_close, load_files};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Fill a data directory, or a server that runs, from LDIF.
///
/// Reads content records and `changetype: add`, in any order: an entry may come before its superior, in another file too.
/// All entries are made in memory and become the directory's in one step at the end, so that whatever ends the import,
/// all of them are there or none. The directory is made if it is not there; one that has entries is filled with --add only.
///
/// The first 20 faults are told with file and line, and nothing is imported. With --rejects, records with faults go to a file
/// and the rest is imported.
///
/// With --url the entries are added to a server over LDAP, many at a time, superiors first. There each add stands for itself:
/// what was added before a fault, or before the import was ended, stays.
#[derive(ClapArgs, Default)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    /// LDIF files; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// The data directory [default: that of --config]
    #[arg(long, value_name = "DIR", required_unless_present_any = ["config", "url"], conflicts_with = "url")]
    data: Option<PathBuf>,

    /// Take naming contexts, schema and the like from the settings of `pando serve`
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    config: Option<PathBuf>,

    /// A naming context to hold; may be repeated [default: those that the directory has]
    #[arg(long, value_name = "DN", conflicts_with = "url")]
    suffix: Vec<String>,

    /// Schema beyond the standard one: files, or names of built-in schemas such as dvtds
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "url")]
    schema: Vec<String>,

    /// Whether entries are held to the schema [default: as the directory has it; on in a new one]
    #[arg(long, value_name = "on|off", conflicts_with = "url")]
    schema_check: Option<String>,

    /// Whether entries of a new directory have entryUUID, entryCSN and the times and names of their making and last change
    /// [default: on]
    #[arg(long, value_name = "on|off", conflicts_with = "url")]
    operational_attributes: Option<String>,

    /// Who stands as the creator of the entries of a new directory, where the files do not tell
    #[arg(long, value_name = "DN", conflicts_with = "url")]
    root_dn: Option<String>,

    /// Memory that the directory may occupy, such as 8GiB [default: 80 % of the machine's]
    #[arg(long, value_name = "BYTES", conflicts_with = "url")]
    memory_max: Option<String>,

    /// What becomes of entryUUID, entryCSN, times and names in the files
    #[arg(long, value_enum, default_value_t)]
    operational: OperationalName,

    /// Write records that cannot be imported to FILE, each below a comment with file, line and reason, and import the rest
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,

    /// Add to the entries that the directory has
    #[arg(long, conflicts_with = "url")]
    add: bool,

    #[command(flatten)]
    remote: Remote,

    /// With --url: over how many connections
    #[arg(long, value_name = "N", default_value_t = 4, requires = "url", value_parser = clap::value_parser!(u16).range(1..=64))]
    connections: u16,

    /// Do not show how far it is, nor how much was imported
    #[arg(short, long)]
    quiet: bool,
}

/// What becomes of operational attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OperationalName {
    /// They are kept as they stand; an attribute that the schema does not know is a fault
    #[default]
    Keep,
    /// They are left out; the entries get new ones
    Strip,
    /// As keep, for what other servers export: nsUniqueId becomes entryUUID, what they keep for themselves is left out
    Map,
}

impl OperationalName {
    /// As the loader has it.
    pub(crate) fn of_loader(self) -> Operational {
        match self {
            OperationalName::Keep => Operational::Keep,
            OperationalName::Strip => Operational::Strip,
            OperationalName::Map => Operational::Map,
        }
    }
}

const AFTER: &str = "\
EXAMPLES:
  A new directory, to be served by `pando serve --data people.pando --suffix dc=example,dc=com`:
    pando import --data people.pando --suffix dc=example,dc=com people.ldif

  The same from another server's export; what does not fit is looked at later:
    slapcat | pando import --data people.pando --suffix dc=example,dc=com --operational map \\
        --rejects rejects.ldif -

  More of it:
    pando import --data people.pando --add rejects.ldif groups.ldif

  The same while it is served:
    pando import --url ldap://127.0.0.1:3389 --bind-dn cn=admin,dc=example,dc=com --password-file root.password groups.ldif

OPERATIONAL ATTRIBUTES:
  What the server works out for every answer (structuralObjectClass, hasSubordinates, entryDN, ...) is never stored, nor
  is contextCSN. With `map` and `strip` that is so for what other servers keep for themselves too, among it access rules
  (aci) and the state of password policies, which this server does not obey: docs/import-export.md lists it. With --url
  all of it is left out, since no server takes it from a client.

EXIT CODES:
  0  all was imported
  1  nothing was imported: a record has a fault, the directory has entries, is damaged or in use; or, with --rejects,
     all was imported but what is in that file; with --url, what was added before the fault stays. What and
     where is on standard error
  2  the command line or the configuration is wrong, or a schema file is";

/// Runs it.
pub(crate) fn run(args: Args) -> ExitCode {
    log_to_stderr();
    match import(&args) {
        Ok(Summary { rejected: 0, .. }) => ExitCode::SUCCESS,
        Ok(Summary { rejected, .. }) => {
            let path = args.rejects.as_deref().unwrap_or(Path::new("")).display();
            eprintln!(
                "pando import: {rejected} records were not imported; {path} has them, with the reasons"
            );
            ExitCode::FAILURE
        }
        Err(End { code, faults }) => {
            faults.iter().for_each(|fault| eprintln!("pando import: {fault}"));
            ExitCode::from(code)
        }
    }
}

impl Args {
    /// What the directory is to be, given what it was made with.
    fn settings(&self, mut config: Config, made: Option<Made>) -> Result<Config, Vec<String>> {
        if let Some(made) = made {
            if config.suffixes.is_empty() {
                config.suffixes = made.suffixes;
            }
            if self.config.is_none() {
                config.schema_check = made.schema_check;
                config.operational_attributes = made.operational_attributes;
            }
        }
        let one = |value: &Option<String>| value.iter().cloned().collect::<Vec<_>>();
        let mut faults = Vec::new();
        for (name, values) in [
            ("suffix", self.suffix.clone()),
            ("schema", self.schema.clone()),
            ("schema-check", one(&self.schema_check)),
            ("operational-attributes", one(&self.operational_attributes)),
            ("root-dn", one(&self.root_dn)),
            ("memory-max", one(&self.memory_max)),
        ] {
            if !values.is_empty() {
                let bad = config.set(name, &values).err().unwrap_or_default();
                faults.extend(bad.iter().map(|message| format!("--{name}: {message}")));
            }
        }
        // What only a server needs.
        (config.root_password_file, config.import, config.memory) = (None, None, None);
        let ours = |problem: &config::Problem| ["suffix", "schema", "memory-max"].contains(&problem.key);
        if faults.is_empty() {
            let problems = config.problems().into_iter().filter(ours);
            faults.extend(problems.map(|problem| format!("{}: {}", problem.key, problem.message)));
        }
        if faults.is_empty() { Ok(config) } else { Err(faults) }
    }
}

fn import(args: &Args) -> Result<Summary, End> {
    if let Some(server) = args.remote.server().map_err(|fault| End::configured([fault]))? {
        return loaded(args, &mut |job, on_progress| {
            add_files(job, &server, usize::from(args.connections), on_progress)
        });
    }
    let mut config = Config::default();
    if let Some(path) = &args.config {
        let read = config::read_file(path).map_err(|fault| End::configured([fault]))?;
        if !read.faults.is_empty() {
            return Err(End::configured(&read.faults));
        }
        config = read.config;
    }
    let dir = args.data.clone().or_else(|| config.data.clone());
    let dir = dir
        .ok_or_else(|| End::configured(["no data directory is named, neither by --data nor in the file"]))?;
    config.data = Some(dir.clone());
    let there = dir.join("founding").exists();
    let existing = there.then(|| Data::existing(Arc::new(RealDisk), &dir)).transpose().map_err(refused)?;
    let made = existing.as_ref().map_or(Ok(None), Data::made).map_err(refused)?;
    let config = args.settings(config, made).map_err(End::configured)?;
    let schema = directory::schema(&config).map_err(End::configured)?;
    directory::warnings(&schema).iter().for_each(|warning| eprintln!("pando import: {warning}"));
    let unknown = directory::unknown_to_schema(&config, &schema);
    if !unknown.is_empty() {
        return Err(End::configured(unknown.iter().map(|p| format!("{}: {}", p.key, p.message))));
    }
    let data = match existing {
        Some(data) => data,
        None => Data::open(Arc::new(RealDisk), &dir).map_err(refused)?,
    };
    fill(args, &config, &data, schema)
}

/// Adds the entries in memory, then makes all of it the directory's last snapshot.
fn fill(args: &Args, config: &Config, data: &Data, schema: Schema) -> Result<Summary, End> {
    let clock = SystemClock::start();
    let Recovered { dsa, committer, mut snapshots, .. } = recover(config, data, schema, &clock)?;
    let entries = dsa.shard().entries();
    if entries > 0 && !args.add {
        let text =
            format!("it has {entries} entries already; add to them with --add, or name another directory");
        return Err(End::failed(data.dir().display(), text));
    }
    let summary = loaded(args, &mut |job, on_progress| load_files(job, dsa.shard(), &clock, on_progress))?;
    let monotonic_ms = clock.monotonic_ns() / 1_000_000;
    let kept = keep_and_close(committer, &mut snapshots, clock.wall_ms(), monotonic_ms);
    kept.map_err(|error| End::failed("the import cannot be kept", error))?;
    Ok(summary)
}

/// What reads the files of a job.
type Load<'l> = &'l mut dyn FnMut(&Job, &mut dyn FnMut(Progress, u64)) -> Result<Summary, Vec<config::Fault>>;

/// Has the files loaded; a bar shows how far it is.
fn loaded(args: &Args, load: Load<'_>) -> Result<Summary, End> {
    let rejects = args.rejects.clone();
    let job = Job { files: args.files.clone(), operational: args.operational.of_loader(), rejects };
    let mut bar = (!args.quiet).then(Bar::new);
    let loaded = load(&job, &mut |progress, total| bar.iter_mut().for_each(|bar| bar.show(progress, total)));
    match loaded {
        Ok(summary) => {
            bar.into_iter().for_each(|bar| bar.finish(summary));
            Ok(summary)
        }
        Err(faults) => {
            bar.into_iter().for_each(Bar::clear);
            Err(End { code: 1, faults: faults.iter().map(ToString::to_string).collect() })
        }
    }
}
