//! `pando cluster token`.

use super::target::Target;
use crate::failed::Failed;
use crate::output::print;
use clap::Args as ClapArgs;
use env::disk::RealDisk;
use peers::Token;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Make a token with which one more node joins, once, within 24 hours.
#[derive(ClapArgs)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,

    /// File for the token. Only its owner can read it
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<(), Failed> {
    give(&args.target.ask(&json!({ "command": "token" }))?, Some(&args.output))
}

/// Writes the token of an answer to a file, or prints it.
pub(super) fn give(answer: &Value, path: Option<&Path>) -> Result<(), Failed> {
    let text = answer["token"].as_str().unwrap_or_default();
    let Some(path) = path else { return print(text) };
    let failed = |what: String| Failed::at(path.display(), what);
    let token = Token::parse(text).map_err(|error| failed(error.to_string()))?;
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name =
        path.file_name().and_then(|name| name.to_str()).ok_or_else(|| failed("it is no file".to_owned()))?;
    token.save(&RealDisk, dir, name).map_err(|error| failed(error.to_string()))
}
