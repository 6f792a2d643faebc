//! The `pando` binary: one file per subcommand.

mod access;
mod backup;
mod bench;
mod check;
mod check_config;
mod cluster;
mod compare;
mod config;
mod definitions;
mod dump;
mod export;
mod failed;
mod fill;
mod flags;
mod r#gen;
mod import;
mod index;
mod init;
mod load;
mod local;
mod log;
mod output;
mod password;
mod progress;
mod remote;
mod restore;
mod serve;
mod serve_cluster;
mod serve_data;
mod start;
mod versions;
mod whole_file;

use clap::{Parser, Subcommand};
use env::task::Signal;
use failed::Failed;
use output::note;
use std::process::ExitCode;

/// Long-lived tables and many small buffers: jemalloc fragments less than the system's allocator, and it tells how
/// much it holds.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Settings that jemalloc reads when it starts: a thread of its own gives back to the system what was free for ten seconds, also
/// when nobody allocates any more.
// SAFETY: jemalloc declares this symbol as a pointer to a text that ends with a zero, for programs to define.
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static MALLOC_CONF: &[u8; 48] = b"background_thread:true,max_background_threads:1\0";

/// A transactional LDAPv3 directory server that keeps the directory in memory, and the tools that prove it.
///
/// Pando serves one directory information tree to any LDAP client. `pando init` makes the first
/// configuration, and `pando serve` is the server.
/// `pando gen` makes test data, and `pando bench` measures a server and checks every answer.
/// `pando import` fills a data directory from LDIF, `pando load` from several streams at the same
/// time, and `pando export` writes one as LDIF. `pando compare` tells whether two servers hold the same. `pando config` reads and changes
/// the settings of a running server. `pando index` builds and drops indexes, also
/// while the directory is served. `pando backup` copies a data directory, `pando restore` makes
/// one from backups. `pando check` verifies a data directory, and `pando dump` prints its log.
/// `pando cluster` shows and changes the nodes of a cluster. `pando password` prints what is stored of a password. `pando access` explains and checks access rules. `pando log` prints
/// an access log in the binary form.
#[derive(Parser)]
#[command(name = "pando", version, max_term_width = 100, propagate_version = true, after_long_help = AFTER)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const AFTER: &str = "\
A FIRST DIRECTORY:
  pando gen --template slamd --count 1000 --suffix dc=example,dc=com --format ldif -o demo.ldif
  pando import --data demo.pando --suffix dc=example,dc=com demo.ldif
  pando serve --data demo.pando --suffix dc=example,dc=com --listen ldap://127.0.0.1:3389 --anonymous read
  ldapsearch -x -H ldap://127.0.0.1:3389 -b dc=example,dc=com '(uid=user.7)'

`pando SUBCOMMAND --help` is the manual page of a subcommand.";

#[derive(Subcommand)]
enum Command {
    Init(init::Args),
    Serve(Box<serve::Args>),
    CheckConfig(check_config::Args),
    Check(check::Args),
    Cluster(cluster::Args),
    Dump(dump::Args),
    Import(import::Args),
    Load(load::Args),
    Export(export::Args),
    Compare(Box<compare::Args>),
    Config(config::Args),
    Index(index::Args),
    Access(Box<access::Args>),
    Backup(backup::Args),
    Restore(restore::Args),
    Password(password::Args),
    Log(log::Args),
    Gen(r#gen::Args),
    Bench(bench::Args),
}

fn main() -> ExitCode {
    // A file that grows beyond RLIMIT_FSIZE is an error as any other is, not the end of the process.
    if let Err(error) = env::task::outlive(&[Signal::FileSize]) {
        note!("pando: {error}");
        return ExitCode::FAILURE;
    }
    match Cli::parse().command {
        Command::Init(args) => Failed::exit(init::run(&args), "init"),
        Command::Serve(args) => Failed::exit(serve::run(&args), "serve"),
        Command::CheckConfig(args) => Failed::exit(check_config::run(&args), "check-config"),
        Command::Check(args) => Failed::exit(check::run(&args), "check"),
        Command::Cluster(args) => Failed::exit(cluster::run(&args), "cluster"),
        Command::Dump(args) => Failed::exit(dump::run(&args), "dump"),
        Command::Import(args) => Failed::exit(import::run(args), "import"),
        Command::Load(args) => Failed::exit(load::run(args), "load"),
        Command::Export(args) => Failed::exit(export::run(&args), "export"),
        Command::Compare(args) => Failed::exit(compare::run(&args), "compare"),
        Command::Config(args) => Failed::exit(config::run(&args), "config"),
        Command::Index(args) => Failed::exit(index::run(args), "index"),
        Command::Access(args) => Failed::exit(access::run(&args), "access"),
        Command::Backup(args) => Failed::exit(backup::run(&args), "backup"),
        Command::Restore(args) => Failed::exit(restore::run(&args), "restore"),
        Command::Log(args) => Failed::exit(log::run(&args), "log"),
        Command::Password(args) => Failed::exit(password::run(&args), "password"),
        Command::Gen(args) => Failed::exit(r#gen::run(&args), "gen"),
        Command::Bench(args) => bench::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_option_of_every_subcommand_is_explained() {
        fn walk(command: &clap::Command) {
            assert!(command.get_about().is_some(), "{} says nothing of itself", command.get_name());
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{} {}", command.get_name(), argument.get_id());
            }
            command.get_subcommands().for_each(walk);
        }
        walk(&Cli::command());
    }
}
