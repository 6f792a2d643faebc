//! `pando index`: indexes of a directory, served or not.

mod offline;
mod online;

use crate::failed::Failed;
use crate::flags::{Flags, Which};
use crate::local;
use crate::remote::Remote;
use clap::{Args as ClapArgs, Subcommand};
use schema::Schema;
use server::config::Config;
use server::directory::{IndexName, IndexSettings};
use std::path::{Path, PathBuf};

/// List, build, drop and verify the indexes of a directory, also while it is served.
///
/// An index makes searches for an attribute's values fast. Indexes are in memory. The data directory has a list of
/// them, and every start builds them from the entries, together with the configured ones (`--index`).
///
/// With --url a running server builds an index in the background while it answers searches and accepts updates, and
/// uses it once it is complete. This needs the root DN. With --data the command changes a data directory that is not
/// being served.
///
/// An index that was reported as ready is there after a crash; one that was reported as dropped is not.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the indexes, one a line
    ///
    /// Of a server: ready indexes with their memory, those being built with their progress, those that wait, and
    /// builds that failed since the start with the reason. Of a data directory: those that were made by `pando index`
    /// or while it was served, not the configured ones.
    List {
        #[command(flatten)]
        place: Place,
    },

    /// Build indexes
    ///
    /// With --url: returns when the indexes are ready, and shows progress. If the server ends before that, an index
    /// that was not ready is not there afterwards. A build that would exceed --memory-max fails and frees its memory;
    /// so does one that is dropped.
    ///
    /// With --data: builds the directory in memory with the indexes to see that they fit, verifies them, and saves
    /// the list for the next start.
    Build {
        #[command(flatten)]
        place: Place,
        /// ATTR:KIND[,KIND]: eq for (a=v), pres for (a=*), sub for (a=*v*), ord for (a>=v) and (a<=v); without a kind eq
        #[arg(value_name = "ATTR[:KINDS]", required = true)]
        indexes: Vec<IndexSettings>,
        /// With --url: return when the server has accepted the request
        #[arg(long, requires = "url")]
        no_wait: bool,
        #[command(flatten)]
        memory: Flags<OfMemory>,
        /// Show no progress
        #[arg(short, long)]
        quiet: bool,
    },

    /// Drop indexes
    ///
    /// Active searches keep using them; then their memory is freed. One that is configured (--index of `pando
    /// serve`) comes back when another list is configured.
    Drop {
        #[command(flatten)]
        place: Place,
        /// As for `build`
        #[arg(value_name = "ATTR[:KINDS]", required = true)]
        indexes: Vec<IndexSettings>,
    },

    /// Compare indexes with the entries, in both directions
    ///
    /// With --url: the server compares one index after the other in the background, in small steps; neither updates
    /// nor searches wait for it. Every key of every entry is looked up in the index, and every key in the index in
    /// its entry. A difference is checked again while no update runs, before it is reported. Without operands all
    /// ready indexes are compared. If the command is interrupted, the server continues; deleting the value of
    /// pandoIndexVerify in cn=config stops it, and so does dropping the index.
    ///
    /// For an entry with several hundred values of the attribute, keys in sub and ord indexes are checked in one
    /// direction only, from the entry to the index.
    ///
    /// With --data: builds the directory in memory as a start does, from the snapshot and the log, with the saved
    /// indexes and those that --index names. Then every key of every entry is looked up in each index, and the number
    /// of keys is compared. Nothing is changed.
    Verify {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        memory: Flags<OfMemory>,
        /// Do not show how far it is
        #[arg(short, long)]
        quiet: bool,
        /// With --data: an index of the configuration, as for `pando serve --index`; may be repeated
        #[arg(long = "index", value_name = "ATTR[:KINDS]", conflicts_with = "url")]
        configured: Vec<IndexSettings>,
        /// These, as for `build`, not all of them
        #[arg(value_name = "ATTR[:KINDS]")]
        indexes: Vec<IndexSettings>,
    },
}

/// The schema, if it is to be another than the directory is served with.
#[derive(Clone, Debug, Default)]
struct OfSchema;

impl Which for OfSchema {
    const KEYS: Option<&'static [&'static str]> = Some(&["schema"]);
}

/// What a directory may occupy.
#[derive(Clone, Debug, Default)]
struct OfMemory;

impl Which for OfMemory {
    const KEYS: Option<&'static [&'static str]> = Some(&["memory-max"]);
}

/// Which directory.
#[derive(ClapArgs)]
struct Place {
    /// A data directory that is not being served
    #[arg(long, value_name = "DIR", required_unless_present = "url", conflicts_with = "url")]
    data: Option<PathBuf>,

    #[command(flatten)]
    remote: Remote,

    #[command(flatten)]
    schema: Flags<OfSchema>,
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
pub(crate) fn run(args: Args) -> Result<(), Failed> {
    match args.action {
        Action::List { place } => match place.remote.server()? {
            Some(server) => online::list(&server),
            None => offline::list(place.data()?),
        },
        Action::Build { place, indexes, no_wait, memory, quiet } => match place.remote.server()? {
            Some(server) => online::build(&server, &texts(&indexes), no_wait, quiet),
            None => offline::build(place.data()?, &mut config(&place, Some(&memory))?, &indexes, quiet),
        },
        Action::Drop { place, indexes } => match place.remote.server()? {
            Some(server) => online::drop(&server, &texts(&indexes)),
            None => offline::drop(place.data()?, &mut config(&place, None)?, &indexes),
        },
        Action::Verify { place, memory, quiet, configured, indexes } => match place.remote.server()? {
            Some(server) => online::verify(&server, &known_texts(&indexes)?, quiet),
            None => {
                let mut config = config(&place, Some(&memory))?;
                offline::verify(place.data()?, &mut config, &configured, &indexes, quiet)
            }
        },
    }
}

impl Place {
    fn data(&self) -> Result<&Path, Failed> {
        self.data.as_deref().ok_or_else(|| Failed::usage("--data or --url is needed"))
    }
}

fn config(place: &Place, memory: Option<&Flags<OfMemory>>) -> Result<Config, Failed> {
    let mut config = Config::default();
    let mut bad = place.schema.set(&mut config);
    bad.extend(memory.iter().flat_map(|memory| memory.set(&mut config)));
    Failed::configured(bad.into_iter().map(|(_, fault)| fault)).if_any()?;
    Ok(config)
}

/// One for each kind, as they were written.
fn texts(indexes: &[IndexSettings]) -> Vec<String> {
    let of = |index: &IndexSettings| {
        let text = |kind| format!("{}:{kind}", index.attribute);
        index.kinds.iter().map(text).collect::<Vec<_>>()
    };
    indexes.iter().flat_map(of).collect()
}

/// One for each kind, by the names of the standard schema where it has the attribute: a server tells of them so.
pub(crate) fn known_texts(indexes: &[IndexSettings]) -> Result<Vec<String>, Failed> {
    let schema = local::schema(&Config::default())?;
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
        names.extend(index.kinds.iter().map(|&kind| IndexName { attribute_type, kind }));
    }
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// As a directory is made with them.
fn settings(names: &[IndexName], schema: &Schema) -> Vec<IndexSettings> {
    let of =
        |name: &IndexName| IndexSettings::of(schema.attribute_type(name.attribute_type).name(), [name.kind]);
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
        let schema = local::schema(&Config::default()).unwrap_or_else(|_| panic!("it is built in"));
        assert_eq!(names(&indexes, &schema).map_or(0, |names| names.len()), 3);
        let unknown: Vec<IndexSettings> = vec!["taste:eq".parse().unwrap()];
        assert_eq!(names(&unknown, &schema).err().map(|failed| failed.code), Some(2));
    }
}
