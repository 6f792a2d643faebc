//! `pando export`: a directory as LDIF.

use crate::definitions;
use crate::failed::Failed;
use crate::local;
use crate::progress::ExportBar;
use crate::remote::Remote;
use crate::whole_file::WholeFile;
use bulk::remote;
use bulk::{Export, ExportError, Exported, Operational};
use clap::{Args as ClapArgs, ValueEnum};
use client::Server;
use node::data::View;
use server::config::Config;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Write a directory as LDIF.
///
/// Writes all entries of a data directory that is not being served, superiors before subordinates, with all
/// attributes, passwords included. Of a node of a cluster it writes what is known to be committed. `pando import` and `pando serve --import` read the result. Nothing is changed in
/// the data directory. A file gets its name when all of it is on the disk; until then it is FILE.*.part, which
/// remains if the export is killed.
///
/// With --url a running server is read instead, by paged searches. The result has what the bound client may read, in
/// the server's order, and is not a snapshot of one moment.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    /// The data directory
    #[arg(long, value_name = "DIR", required_unless_present = "url", conflicts_with = "url")]
    data: Option<PathBuf>,

    #[command(flatten)]
    remote: Remote,

    /// The output: a file, a FIFO, or - for standard output. Only its owner can read the file
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,

    /// The uppermost entry to write; without it all naming contexts
    #[arg(long, value_name = "DN")]
    base: Option<String>,

    /// Write only entries that match, such as '(objectClass=person)'
    #[arg(long, value_name = "FILTER")]
    filter: Option<String>,

    /// Whether entryUUID, entryCSN and the names and times of creation and modification are written
    #[arg(long, value_enum, default_value_t = OperationalName::Keep)]
    operational: OperationalName,

    /// The schema beyond the standard one, if it is to be another than the directory is served with: files, or names of
    /// built-in schemas
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "url")]
    schema: Vec<String>,

    /// Also write the definitions that the schema has beyond the standard one, those among them that were added while it was served: a file for
    /// `--schema`
    #[arg(long, value_name = "FILE")]
    schema_to: Option<PathBuf>,

    /// Show no progress and no summary
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OperationalName {
    /// They are written
    Keep,
    /// They are left out
    Strip,
}

const AFTER: &str = "\
EXAMPLES:
  pando export --data /var/lib/pando -o all.ldif
  pando export --data people.pando --base ou=People,dc=example,dc=com --filter '(mail=*)' | less
  pando export --url ldap://127.0.0.1:3389 --bind-dn cn=admin,dc=example,dc=com --password-file root.password -o all.ldif
  pando export --data people.pando | pando import --data copy.pando --suffix dc=example,dc=com -

EXIT CODES:
  0  all was written
  1  the directory is damaged or in use, the server refuses, there is no such base, or the file cannot be written; what
     and where is on standard error
  2  the command line is wrong, or a schema file is";

/// Runs it.
pub(crate) fn run(args: &Args) -> Result<(), Failed> {
    let (what, config) = prepared(args)?;
    write(args, &what, config)
}

fn prepared(args: &Args) -> Result<(Export, Config), Failed> {
    let filter = args.filter.as_deref().map(bulk::filter).transpose();
    let filter = filter.map_err(|error| Failed::usage(format!("--filter: {error}")))?;
    let operational = match args.operational {
        OperationalName::Keep => Operational::Keep,
        OperationalName::Strip => Operational::Strip,
    };
    let mut config = Config::default();
    if !args.schema.is_empty() {
        config.set("schema", &args.schema).map_err(Failed::configured)?;
    }
    Ok((Export { base: args.base.clone(), is_alone: false, filter, operational }, config))
}

/// Where entries come from.
enum From {
    /// A data directory; without a view it was never served.
    Data(Option<View>),
    /// A server that runs.
    Server(Server),
}

fn write(args: &Args, what: &Export, mut config: Config) -> Result<(), Failed> {
    let from = match (args.remote.server()?, &args.data) {
        (Some(server), _) => {
            if let Some(path) = &args.schema_to {
                definitions::write(&definitions::of_server(&server).map_err(Failed::of)?, path)?;
            }
            From::Server(server)
        }
        (None, Some(dir)) => {
            let (data, schema) = local::open(dir, &mut config)?;
            let view = local::view(&data, &schema, &config, &[], args.quiet)?;
            if let Some(path) = &args.schema_to {
                let schema = view.as_ref().map_or(&schema, |view| view.dsa.shard().schema());
                definitions::write(&definitions::of_schema(schema), path)?;
            }
            From::Data(view)
        }
        (None, None) => return Err(Failed::usage("--data or --url is needed")),
    };
    let path = &args.output;
    if path == Path::new("-") {
        // Standard output of the library flushes at each line; what comes here are large pieces.
        let mut out = io::BufWriter::with_capacity(1 << 20, io::stdout().lock());
        return match entries(&from, what, &mut out, args.quiet) {
            // Who reads has enough.
            Err(ExportError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            outcome => outcome.map_err(Failed::of),
        };
    }
    let failed = |error: &dyn std::fmt::Display| Failed::of(format!("{}: {error}", path.display()));
    let mut file = WholeFile::create(path).map_err(|error| failed(&error))?;
    entries(&from, what, &mut file, args.quiet).map_err(|error| match error {
        ExportError::Io(error) => failed(&error),
        error => Failed::of(error),
    })?;
    file.finish().map_err(|error| failed(&error))
}

fn entries(from: &From, what: &Export, to: &mut dyn Write, quiet: bool) -> Result<(), ExportError> {
    let mut bar = ExportBar::new(quiet);
    let done = match from {
        From::Data(Some(view)) => {
            let shard = view.dsa.shard();
            bulk::export(shard, what, to, &mut |at| bar.show(at, Some(shard.entries())))
        }
        From::Data(None) => {
            what.base.clone().map_or(Ok(Exported::default()), |dn| Err(ExportError::NoBase(dn)))
        }
        From::Server(server) => remote::read(server, what, to, &mut |at| bar.show(at, None)),
    };
    bar.finish(done?);
    Ok(())
}
