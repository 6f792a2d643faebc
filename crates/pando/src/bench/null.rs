//! `pando bench null`.

use crate::failed::Failed;
use crate::output::print_ready;
use clap::Args as ClapArgs;
use loadgen::null::{self, Settings};
use std::path::PathBuf;

/// Be the smallest possible LDAP responder, as the limit of this kernel and machine.
///
/// It holds the entries RDN=0 to RDN=N-1 below the suffix, each a record of 128 bytes that really lies in memory. Of a
/// request it reads message id, operation and DN, looks one record up and answers byte for byte what a server answers:
/// simple binds (any password is right), searches with scope baseObject, equality searches of the RDN's attribute
/// with the suffix as base, modifies that replace the one attribute by one value of up to 120 bytes, unbind, abandon.
/// With `--wal` a modify is appended to a log and synced before it is answered, one sync for all connections of a
/// thread that were ready together: the limit of this disk. It has no schema, no access control and nothing else: any other request ends the connection.
///
/// Prints `ready ldap://HOST:PORT` once it answers and runs until it is killed.
#[derive(ClapArgs, Debug)]
pub(super) struct Args {
    /// Where to listen; port 0 picks one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:3390")]
    listen: String,
    /// How many entries
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    entries: u64,
    /// Threads, one epoll each; without it one for each core
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
    /// The parent of all entries, at most 60 bytes
    #[arg(long, value_name = "DN", default_value = "dc=com")]
    suffix: String,
    /// The attribute of the RDN
    #[arg(long, value_name = "ATTRIBUTE", default_value = "uid")]
    rdn: String,
    /// The attribute that modifies replace; its first value has eight bytes
    #[arg(long, value_name = "ATTRIBUTE", default_value = "carLicense")]
    attribute: String,
    /// A value of objectClass in answers with all attributes; repeat for more
    #[arg(long, value_name = "NAME", default_value = "inetOrgPerson")]
    object_class: Vec<String>,
    /// A folder for logs of 64 MiB, one for each thread: modifies are durable before they are answered
    #[arg(long, value_name = "DIR")]
    wal: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<(), Failed> {
    let settings = Settings {
        entries: args.entries,
        threads: args.threads.unwrap_or_else(env::task::cores),
        suffix: args.suffix.clone(),
        rdn: args.rdn.clone(),
        object_classes: args.object_class.clone(),
        attribute: args.attribute.clone(),
        wal: args.wal.clone(),
    };
    null::run(&args.listen, &settings, |address| print_ready(format_args!("ldap://{address}")))
        .map_err(Failed::of)
}
