//! Project tasks. `cargo xtask tidy` checks what the compiler does not: layers, import circles, forbidden calls, unsafe, sizes,
//! assertions, comments, documentation, registrations, words, rows of requirements.

mod calls;
mod circles;
mod docs;
mod floors;
mod holes;
mod imports;
mod layers;
mod ratchet;
mod registered;
mod rows;
mod shown;
mod source;
mod words;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// One thing that is wrong: a place and a sentence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fault {
    /// File, and line from 1 where there is one, relative to the root.
    pub(crate) place: String,
    /// What is wrong and how to right it.
    pub(crate) message: String,
}

impl Fault {
    fn new(place: impl Into<String>, message: impl Into<String>) -> Fault {
        Fault { place: place.into(), message: message.into() }
    }
}

const USAGE: &str = "\
usage: cargo xtask tidy [--fix]
       cargo xtask holes [--no-run]

tidy   check layers, import circles, forbidden calls, unsafe, file sizes, links in documents, files that they show, registered fuzz targets and their lock file,
       assertions, share of comments, retired words, tests of security requirements and holes planted for them
       --fix  tighten the entries of circles.toml, floors.toml, ratchet.toml and words.toml in xtask/ to what the files are now
holes  build with the holes of holes.toml, and see that the test of each fails with it and passes without
       --no-run  only build";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => report(tidy(&root(), false)),
        ["tidy", "--fix"] => report(tidy(&root(), true)),
        ["holes"] => report(holes::run(&root())),
        ["holes", "--no-run"] => report(holes::build_only(&root())),
        ["--help"] | ["help"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// The workspace's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// What cargo prints when it is run in the workspace's folder; what it says when it fails.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Result<Vec<u8>, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let failed = |reason: &dyn std::fmt::Display| format!("cargo {}: {reason}", arguments[0]);
    let output =
        Command::new(cargo).args(arguments).current_dir(root).output().map_err(|error| failed(&error))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(failed(&String::from_utf8_lossy(&output.stderr).trim())),
    }
}

fn tidy(root: &Path, fix: bool) -> Result<Vec<Fault>, String> {
    let files = source::collect(root)?;
    let mut faults = layers::check(&layers::metadata(root)?);
    faults.extend(calls::check(&files));
    faults.extend(circles::check(root, &files, fix)?);
    faults.extend(ratchet::check(root, &files, fix)?);
    faults.extend(floors::check(root, &files, fix)?);
    faults.extend(docs::check(root, &files));
    faults.extend(registered::check(root, &files));
    faults.extend(holes::check(root, &files)?);
    faults.extend(rows::check(root, &files)?);
    faults.extend(shown::check(root, &files));
    faults.extend(words::check(root, &files, fix)?);
    faults.sort();
    Ok(faults)
}

fn report(faults: Result<Vec<Fault>, String>) -> ExitCode {
    let faults = match faults {
        Ok(faults) => faults,
        Err(reason) => {
            eprintln!("{reason}");
            return ExitCode::FAILURE;
        }
    };
    for Fault { place, message } in &faults {
        println!("{place}: {message}");
    }
    match faults.len() {
        0 => {
            println!("no faults");
            ExitCode::SUCCESS
        }
        n => {
            println!("{n} faults");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_workspace_has_its_root_here() {
        assert!(root().join("Cargo.toml").exists() && root().join("xtask").is_dir());
    }
}
