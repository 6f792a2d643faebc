//! `pando compare`: whether two servers hold the same.

use crate::failed::Failed;
use crate::local;
use crate::output::{note, print};
use crate::remote::{Tls, server};
use bulk::compare::{Bases, Below, Compared, Held, Rules, bases, compare, shown};
use clap::{Args as ClapArgs, ValueEnum};
use client::Server;
use model::Scope;
use server::config::Config;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

/// The exit code for what could not be compared, as of diff and cmp.
const TROUBLE: u8 = 2;

/// Find out whether two servers hold the same entries.
///
/// Reads all entries of both servers by paged searches and prints what differs: `only in 1: DN`, `only in 2: DN`, or `differs: DN` with a line
/// for each value that one of them has alone, `-` for the first server and `+` for the second. Values are compared by the equality rules of
/// the schema: their order, upper and lower case where the rule ignores it, spelling of DNs and superclasses that are implied make no
/// difference. Values of passwords and keys are not printed.
///
/// Entries that differ are read again, twice, the second time after --wait: they may have been changed between the two readings.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    /// The first server
    #[arg(value_name = "URL1")]
    first: String,

    /// The second server
    #[arg(value_name = "URL2")]
    second: String,

    /// Bind as this entry, to both servers unless the second has its own; otherwise the client stays anonymous
    #[arg(long, value_name = "DN", requires = "password_file")]
    bind_dn: Option<String>,

    /// A file whose first line is the password for --bind-dn
    #[arg(long, value_name = "FILE", requires = "bind_dn")]
    password_file: Option<PathBuf>,

    /// Bind as this entry to the second server
    #[arg(long, value_name = "DN", requires = "password_file_2")]
    bind_dn_2: Option<String>,

    /// A file whose first line is the password for --bind-dn-2
    #[arg(long, value_name = "FILE", requires = "bind_dn_2")]
    password_file_2: Option<PathBuf>,

    #[command(flatten)]
    tls: Tls,

    /// The uppermost entry; without it all naming contexts that both servers name
    #[arg(long, value_name = "DN")]
    base: Option<String>,

    /// Which entries below the base
    #[arg(long, value_enum, default_value_t)]
    scope: ScopeName,

    /// Compare only entries that match, such as '(objectClass=person)'
    #[arg(long, value_name = "FILTER")]
    filter: Option<String>,

    /// Compare operational attributes too, but those that each server derives
    #[arg(long)]
    operational: bool,

    /// Leave out this attribute; may be given several times
    #[arg(long, value_name = "ATTR")]
    ignore: Vec<String>,

    /// A schema beyond the standard one: files, or names of built-in schemas. Attributes that it lacks are compared byte by byte
    #[arg(long, value_name = "FILE")]
    schema: Vec<String>,

    /// Print so many entries that differ; all are counted
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u64,

    /// Seconds until entries that differ are read for the last time
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u16).range(0..=3600))]
    wait: u16,

    /// Print no summary
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ScopeName {
    /// The base and all below it
    #[default]
    Sub,
    /// What is immediately below the base
    One,
    /// The base alone
    Base,
}

const AFTER: &str = "\
EXAMPLES:
  pando compare ldap://old.example.com ldap://127.0.0.1:3389 --bind-dn cn=admin,dc=example,dc=com --password-file root.password
  pando compare ldaps://old.example.com ldap://127.0.0.1:3389 --ca-file authority.crt
  pando compare ldap://a:3389 ldap://b:3389 --base ou=People,dc=example,dc=com --ignore userPassword --limit 10

OUTPUT:
  differs: uid=ada,ou=People,dc=example,dc=com
    - title: Engineer
    + title: Head of storage
    ! userPassword: differs
  only in 1: uid=bob,ou=People,dc=example,dc=com

EXIT CODES:
  0  the servers hold the same
  1  they do not
  2  they cannot be compared: one of them refuses, cannot be reached or ends meanwhile, or the command line is wrong";

/// Runs it.
pub(crate) fn run(args: &Args) -> Result<(), Failed> {
    let found = compared(args).map_err(|failed| Failed { code: TROUBLE, ..failed })?;
    if !args.quiet {
        note!("{}", summary(&found));
    }
    if found.differences() == 0 { Ok(()) } else { Err(Failed::printed()) }
}

fn servers(args: &Args) -> Result<[Server; 2], Failed> {
    let of_both = args.bind_dn.as_deref().zip(args.password_file.as_deref());
    let of_second = args.bind_dn_2.as_deref().zip(args.password_file_2.as_deref());
    let second = server(&args.second, of_second.or(of_both), &args.tls)?;
    Ok([server(&args.first, of_both, &args.tls)?, second])
}

fn compared(args: &Args) -> Result<Compared, Failed> {
    let filter = args.filter.as_deref().map(bulk::filter).transpose();
    let filter = filter.map_err(|error| Failed::usage(format!("--filter: {error}")))?;
    let scope = match args.scope {
        ScopeName::Sub => Scope::Subtree,
        ScopeName::One => Scope::One,
        ScopeName::Base => Scope::Base,
    };
    let mut config = Config::default();
    if !args.schema.is_empty() {
        config.set("schema", &args.schema).map_err(Failed::configured)?;
    }
    let schema = local::schema(&config)?;
    let rules = Rules::new(&schema, &args.ignore);
    let below = Below { scope, filter, operational: args.operational };
    let [first, second] = servers(args)?;
    let open =
        |server: &Server, url: &str| Held::open(server, &below).map_err(|error| Failed::at(url, error));
    let (mut first, mut second) = (open(&first, &args.first)?, open(&second, &args.second)?);
    let found = bases([&mut first, &mut second], &rules, args.base.as_deref()).map_err(Failed::of)?;
    note_contexts(&found)?;
    let (mut left, mut failed) = (args.limit, Ok(()));
    let compared = compare(
        [&mut first, &mut second],
        &rules,
        &mut || env::poll::pause(Duration::from_secs(args.wait.into())),
        &mut |difference| {
            if left > 0 && failed.is_ok() {
                left -= 1;
                failed = print(difference);
            }
        },
    );
    let compared = compared.map_err(Failed::of)?;
    failed.map(|()| compared)
}

/// Reports naming contexts that are not compared.
fn note_contexts(bases: &Bases) -> Result<(), Failed> {
    for (side, dn) in &bases.left {
        let (_, dn) = shown(dn);
        note!("pando compare: only server {} has the naming context {dn}: it is not compared", side.number());
    }
    if bases.common == 0 {
        return Err(Failed::of("the servers have no naming context in common; --base names where to begin"));
    }
    Ok(())
}

fn summary(found: &Compared) -> String {
    let Compared { entries: [first, second], only: [only_1, only_2], differ, settled, unread } = found;
    let mut text = format!("compared {first} entries with {second}: ");
    let _ = match found.differences() {
        0 => write!(text, "the same"),
        _ => write!(text, "{differ} differ, {only_1} only in 1, {only_2} only in 2"),
    };
    if *settled > 0 {
        let _ = write!(text, "; {settled} were changed meanwhile and are the same");
    }
    if *unread > 0 {
        let _ = write!(text, "; {unread} of these were read once only");
    }
    text
}
