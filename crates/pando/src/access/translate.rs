//! `pando access translate`: rules of another server.

use crate::failed::Failed;
use crate::output::{note, print};
use access::translate::{Dialect, Translation, translate};
use clap::{Args as ClapArgs, ValueEnum};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Translate access rules of another server
///
/// Prints rules, one a line, each below the line of the file that it comes from; `pando access check --rules` and the key access.rule take
/// them. What is not carried over is listed on standard error with its reason, and nothing is allowed in its place. So is what deserves a
/// look.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(super) struct Args {
    /// Whose rules they are
    #[arg(long, value_enum)]
    from: From,

    /// slapd.conf, or LDIF: slapcat -n0 of OpenLDAP, an export with operational attributes of the others
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum From {
    /// OpenLDAP: access to, olcAccess
    Openldap,
    /// 389 Directory Server: aci
    #[value(name = "389")]
    Ns389,
    /// OpenDJ and its descendants: aci, ds-cfg-global-aci
    Opendj,
}

const AFTER: &str = "\
EXAMPLES:
  slapcat -n0 | grep -v '^olcRootPW' > config.ldif; pando access translate --from openldap config.ldif > rules
  pando access translate --from 389 dump.ldif > rules; pando access check --rules rules --ldif dump.ldif

EXIT CODES:
  0  all was carried over
  1  something was not, or the file cannot be read
  2  the command line is wrong";

/// Runs it.
pub(super) fn run(args: &Args) -> Result<(), Failed> {
    let path = args.file.display();
    let bytes = std::fs::read(&args.file).map_err(|error| Failed::at(path.to_string(), error))?;
    let dialect = match args.from {
        From::Openldap => Dialect::OpenLdap,
        From::Ns389 => Dialect::Ns389,
        From::Opendj => Dialect::OpenDj,
    };
    let Translation { rules, left, remarks } = translate(dialect, &String::from_utf8_lossy(&bytes));
    let (mut out, mut last) = (String::new(), 0);
    for (line, rule) in &rules {
        if std::mem::replace(&mut last, *line) != *line {
            let _ = writeln!(out, "# {path}:{line}");
        }
        let _ = writeln!(out, "{rule}");
    }
    print(out)?;
    remarks.iter().for_each(|(line, text)| note!("{path}:{line}: note: {text}"));
    left.iter().for_each(|(line, text)| note!("{path}:{line}: not carried over: {text}"));
    if left.is_empty() { Ok(()) } else { Err(Failed::printed()) }
}
