//! `pando import`: LDIF or BER adds into a data directory that nobody serves, or into a server that runs.

mod from;
mod report;

use crate::failed::Failed;
use crate::fill::{self, Doing, Target};
use clap::Args as ClapArgs;
use from::From;
use server::import::{Job, OnFault};
use std::path::PathBuf;
use std::sync::Arc;

/// Fill a data directory, or a running server, from LDIF or BER adds.
///
/// Reads LDIF (content records and `changetype: add`) or BER adds, one file after the other, as `pando load` does;
/// the first byte of a file decides which it is. Entries may come in any order: an entry may come before its
/// superior, in another file too.
///
/// All entries are made in memory and added to the directory in one step at the end: if the import fails, none of
/// them is there. The directory is created if missing. A directory that has entries is changed only with --add.
///
/// If a record has a fault, nothing is imported, and the first 20 faults are reported with file and line. With
/// --rejects, records with faults are written to a file and the rest is imported.
///
/// With --url the entries are added to a running server over LDAP, many at a time, superiors first. There each add is
/// independent: entries that were added before a fault remain.
#[derive(ClapArgs, Default)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    /// Files of LDIF or of BER adds; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    target: Target,

    /// Whose export it is: prints first what becomes of passwords, operational attributes and access rules, and what the schema lacks, and maps
    /// operational attributes as `--operational map` does. What is Active Directory's own is left out or becomes standard attributes
    #[arg(long, value_enum, conflicts_with = "operational")]
    from: Option<From>,

    /// With --from: propose indexes for those of the other server, and tell what it has of access rules and schema. FILE is its slapd.conf, its
    /// cn=config as LDIF, dse.ldif or config.ldif
    #[arg(long, value_name = "FILE", requires = "from")]
    source_config: Option<PathBuf>,

    /// With --from: write what is printed first to FILE too, as JSON
    #[arg(long, value_name = "FILE", requires = "from")]
    report: Option<PathBuf>,

    /// Write records that cannot be imported to FILE, each below a comment with file, line and reason, and import the rest
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,
}

const AFTER: &str = "\
EXAMPLES:
  A new directory, to be served by `pando serve --data people.pando --suffix dc=example,dc=com`:
    pando import --data people.pando --suffix dc=example,dc=com people.ldif

  The same from another server's export; what does not fit is looked at later:
    slapcat -l all.ldif
    pando import --data people.pando --suffix dc=example,dc=com --from openldap --rejects rejects.ldif all.ldif

  The same from Active Directory; the last line says which records are to be looked at:
    ldifde -f all.ldif -d DC=example,DC=com
    pando import --data people.pando --suffix dc=example,dc=com --from ad --rejects rejects.ldif all.ldif

  More of it:
    pando import --data people.pando --add rejects.ldif groups.ldif

  The same while it is served:
    pando import --url ldap://127.0.0.1:3389 --bind-dn cn=admin,dc=example,dc=com --password-file root.password groups.ldif

OPERATIONAL ATTRIBUTES:
  What the server works out for every answer (structuralObjectClass, hasSubordinates, entryDN, ...) is never stored, nor
  is contextCSN. With `map` and `strip` that is so for what other servers keep for themselves too, among it access rules
  (aci) and the state of password policies, which this server does not obey: docs/import-export.md lists it. What locks
  or ends an account is translated. With --url all the rest is left out, since no server takes it from a client.

EXIT CODES:
  0  all was imported
  1  nothing was imported: a record has a fault, the directory has entries, is damaged or in use; or, with --rejects,
     all was imported but what is in that file; with --url, what was added before the fault stays. What and
     where is on standard error
  2  the command line or the configuration is wrong, or a schema file is";

/// Runs it.
pub(crate) fn run(mut args: Args) -> Result<(), Failed> {
    let mut active_directory = None;
    if let Some(from) = args.from {
        let wanted = report::Wanted {
            from,
            files: &args.files,
            configuration: args.source_config.as_deref(),
            report: args.report.as_deref(),
        };
        if from == From::Ad {
            args.target.schema_first = Some("ad");
            active_directory = Some(Arc::new(args.target.known_schema()?));
        }
        report::run(&wanted, &args.target, active_directory.as_deref())?;
        args.target.map_operational();
    }
    let doing = Doing { command: "import", now: "importing", done: "imported", tells_streams: false };
    let on_fault = args.rejects.map_or(OnFault::Stop, OnFault::Reject);
    fill::run(&args.target, doing, Job { files: args.files, on_fault, active_directory, ..Job::default() })
}
