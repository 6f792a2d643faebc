//! `pando index`: indexes of a directory, served or not.

mod offline;
mod online;

use crate::failed::Failed;
use crate::remote::Remote;
use clap::{Args as ClapArgs, Subcommand};
use schema::Schema;
use server::config::Config;
use server::directory::{self, IndexName, IndexSettings};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// List, build, drop and verify the indexes of a directory, also of one that is being served.
///
/// An index makes searches for an attribute's values fast. It lies in memory; which there are is kept in the data directory
/// beside the log, and every start makes them from the entries, together with those that are configured (`--index`).
///
/// With --url a server that runs is told: it builds an index in the background while it answers searches by the old plan and
/// takes updates, and uses it once it is complete. Only the root DN may. With --data it is a data directory that nobody
/// serves.
///
/// Whatever is killed at whatever moment, an index is there after the next start if it was told to be ready, and not if
/// it was told to be dropped.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Print the indexes that there are, one a line
    ///
    /// Of a server: ready ones with their memory, those that are being built with how far they are, those that wait, and
    /// builds that failed since its start with the reason. Of a data directory: those that were made by `pando index`
    /// or while it was served; the configured ones are not written down there.
    List {
        #[command(flatten)]
        place: Place,
    },

    /// Build indexes
    ///
    /// On line: returns when they are ready; a bar shows how far it is. An end or a crash of the server before that leaves
    /// nothing of an index that was not ready. One that would take the directory over --memory-max is given up, and what it
    /// took is free again; so is one that is dropped while it is built.
    ///
    /// Offline: the directory is made in memory with them, which shows that they fit, and they are looked through; then they
    /// are written down, and are there with the next start.
    Build {
        #[command(flatten)]
        place: Place,
        /// ATTR:KIND[,KIND]: eq for (a=v), pres for (a=*), sub for (a=*v*), ord for (a>=v) and (a<=v); without a kind eq
        #[arg(value_name = "ATTR[:KINDS]", required = true)]
        indexes: Vec<IndexSettings>,
        /// With --url: return when the server has taken the order
        #[arg(long, requires = "url")]
        no_wait: bool,
        /// Memory that the directory may occupy, such as 8GiB [default: 80 % of the machine's]
        #[arg(long, value_name = "BYTES", conflicts_with = "url")]
        memory_max: Option<String>,
        /// Do not show how far it is
        #[arg(short, long)]
        quiet: bool,
    },

    /// Drop indexes
    ///
    /// Searches under way go on with them to their end, later ones do without; then their memory is free. One that is
    /// configured (--index of `pando serve`) is built again by the next start.
    Drop {
        #[command(flatten)]
        place: Place,
        /// As for `build`
        #[arg(value_name = "ATTR[:KINDS]", required = true)]
        indexes: Vec<IndexSettings>,
    },

    /// Compare indexes with the entries, both ways
    ///
    /// On line: the server compares one index after the other in the background, a little at a time, and neither updates nor
    /// searches wait for it. Every key of every entry is looked up in the index, and every key in the index on its entry.
    /// What looks wrong is looked at once more while nobody writes, so nothing is told that an update under way explains. A bar
    /// shows how far it is. Without operands all indexes that are ready are compared. An interrupted command leaves
    /// the server at it; deleting the value of pandoIndexVerify in cn=config stops it, so does dropping the index.
    /// Where values are more than an entry holds in itself (some hundred), keys in sub and ord indexes are looked up from
    /// the entry only.
    ///
    /// Offline: the directory is made in memory as a start makes it, from the snapshot and the log behind it, with the indexes that
    /// are written down and those that --index names. Then every key of every entry is looked up in each index, and what each
    /// index holds is counted against the entries. Nothing is changed.
    Verify {
        #[command(flatten)]
        place: Place,
        /// Memory that the directory may occupy, such as 8GiB [default: 80 % of the machine's]
        #[arg(long, value_name = "BYTES", conflicts_with = "url")]
        memory_max: Option<String>,
        /// Do not show how far it is
        #[arg(short, long)]
        quiet: bool,
        /// Offline: an index that it is served with, as --index of `pando serve` has it; may be repeated
        #[arg(long = "index", value_name = "ATTR[:KINDS]", conflicts_with = "url")]
        configured: Vec<IndexSettings>,
        /// These, as for `build`, not all of them
        #[arg(value_name = "ATTR[:KINDS]")]
        indexes: Vec<IndexSettings>,
    },
}

/// Which directory.
#[derive(ClapArgs)]
struct Place {
    /// A data directory that nobody serves
    #[arg(long, value_name = "DIR", required_unless_present = "url", conflicts_with = "url")]
    data: Option<PathBuf>,

    #[command(flatten)]
    remote: Remote,

    /// With --data: the schema that it is served with, beyond the standard one: files, or names of built-in schemas
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "url")]
    schema: Vec<String>,
}

const AFTER: &str = "\
EXAMPLES:
  While the server runs:
    pando index build --url ldap://127.0.0.1:3389 --bind-dn cn=admin,dc=example,dc=com --password-file root.password \\
        mail:eq,sub employeeNumber:ord
    pando index list --url ldap://127.0.0.1:3389 --bind-dn cn=admin,dc=example,dc=com --password-file root.password
    pando index verify --url ldap://127.0.0.1:3389 --bind-dn cn=admin,dc=example,dc=com --password-file root.password
  The same with any LDAP client:
    ldapmodify: dn: cn=config / changetype: modify / add: olcDbIndex / olcDbIndex: mail:eq
    ldapmodify: dn: cn=config / changetype: modify / add: pandoIndexVerify / pandoIndexVerify: mail:eq
    ldapsearch: -s base -b cn=Indexes,cn=Monitor monitoredInfo

  Of a data directory that nobody serves:
    pando index build --data /var/lib/pando mail:eq
    pando index verify --data /var/lib/pando uid:eq

EXIT CODES:
  0  done; with verify: all indexes are as the entries are
  1  an index could not be built or dropped, or is not as the entries are; the directory is damaged or in use, or the server
     refuses; what and why is on standard error
  2  the command line is wrong, or a schema file is";

/// Runs it.
pub(crate) fn run(args: Args) -> ExitCode {
    Failed::exit(act(args.action), "index")
}

fn act(action: Action) -> Result<(), Failed> {
    match action {
        Action::List { place } => match place.remote.server().map_err(Failed::usage)? {
            Some(server) => online::list(&server),
            None => offline::list(place.data()?),
        },
        Action::Build { place, indexes, no_wait, memory_max, quiet } => {
            match place.remote.server().map_err(Failed::usage)? {
                Some(server) => online::build(&server, &texts(&indexes), no_wait, quiet),
                None => {
                    let config = config(&place.schema, memory_max)?;
                    offline::build(place.data()?, &config, &indexes, quiet)
                }
            }
        }
        Action::Drop { place, indexes } => match place.remote.server().map_err(Failed::usage)? {
            Some(server) => online::drop(&server, &texts(&indexes)),
            None => offline::drop(place.data()?, &config(&place.schema, None)?, &indexes),
        },
        Action::Verify { place, memory_max, quiet, configured, indexes } => {
            match place.remote.server().map_err(Failed::usage)? {
                Some(server) => online::verify(&server, &known_texts(&indexes)?, quiet),
                None => {
                    let config = config(&place.schema, memory_max)?;
                    offline::verify(place.data()?, &config, &configured, &indexes, quiet)
                }
            }
        }
    }
}

impl Place {
    fn data(&self) -> Result<&Path, Failed> {
        self.data.as_deref().ok_or_else(|| Failed::usage("--data or --url is needed"))
    }
}

fn config(schema: &[String], memory_max: Option<String>) -> Result<Config, Failed> {
    let mut config = Config { schema: schema.to_vec(), ..Config::default() };
    if let Some(bytes) = memory_max {
        let set = config.set("memory-max", &[bytes]);
        set.map_err(|messages| Failed::usage(format!("--memory-max: {}", messages.join("; "))))?;
    }
    Ok(config)
}

fn schema_of(config: &Config) -> Result<Schema, Failed> {
    directory::schema(config)
        .map_err(|faults| Failed { code: 2, faults: faults.iter().map(ToString::to_string).collect() })
}

/// One for each kind, as they were written.
fn texts(indexes: &[IndexSettings]) -> Vec<String> {
    indexes
        .iter()
        .flat_map(|index| index.kinds().map(|kind| format!("{}:{kind}", index.attribute)).collect::<Vec<_>>())
        .collect()
}

/// One for each kind, by the names of the standard schema where it has the attribute: a server tells of them so.
fn known_texts(indexes: &[IndexSettings]) -> Result<Vec<String>, Failed> {
    let schema = schema_of(&Config::default())?;
    let known = indexes.iter().map(|index| {
        let known = schema.find_type(index.attribute.as_bytes());
        let name = known.map_or(&index.attribute[..], |known| schema.attribute_type(known).name());
        IndexSettings { attribute: name.to_owned(), ..index.clone() }
    });
    Ok(texts(&known.collect::<Vec<IndexSettings>>()))
}

/// One for each kind, by the name that the schema has for the attribute.
fn names(indexes: &[IndexSettings], schema: &Schema) -> Result<Vec<IndexName>, Failed> {
    let mut names: Vec<IndexName> = Vec::new();
    for index in indexes {
        let attribute_type = index.attribute_type(schema).map_err(Failed::usage)?;
        names.extend(index.kinds().map(|kind| IndexName { attribute_type, kind }));
    }
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// As a directory is made with them.
fn settings(names: &[IndexName], schema: &Schema) -> Vec<IndexSettings> {
    let of =
        |name: &IndexName| IndexSettings::of(schema.attribute_type(name.attribute_type).name(), name.kind);
    names.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_an_index_of_its_own() {
        let indexes: Vec<IndexSettings> = ["mail:eq,sub", "cn"].map(|text| text.parse().unwrap()).into();
        assert_eq!(texts(&indexes), ["mail:eq", "mail:sub", "cn:eq"]);
        let others: Vec<IndexSettings> = ["userid:eq", "taste:eq"].map(|text| text.parse().unwrap()).into();
        assert_eq!(known_texts(&others).ok(), Some(vec!["uid:eq".to_owned(), "taste:eq".to_owned()]));
        let schema = schema_of(&Config::default()).unwrap_or_else(|_| panic!("it is built in"));
        assert_eq!(names(&indexes, &schema).map_or(0, |names| names.len()), 3);
        let unknown: Vec<IndexSettings> = vec!["taste:eq".parse().unwrap()];
        assert_eq!(names(&unknown, &schema).err().map(|failed| failed.code), Some(2));
    }
}
