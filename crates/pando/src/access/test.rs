//! `pando access test`: a table of expectations against rules.

use super::explain::verdict;
use super::question::{Question, rights};
use super::source;
use super::words::words;
use crate::failed::Failed;
use crate::output::print;
use clap::Args as ClapArgs;
use serde_json::json;
use std::path::PathBuf;

/// Compare rules with a table of expectations
///
/// A line of the table is `allow|deny RIGHT WHO WHAT [KEY=VALUE...]`, as of `pando access explain`; keys are as, op, peer, ssf, tls, auth and
/// listener. Words with blanks stand in double quotes. `#` begins a comment.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(super) struct Args {
    /// The table
    #[arg(value_name = "FILE")]
    table: PathBuf,

    #[command(flatten)]
    source: source::Args,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

const AFTER: &str = "\
EXAMPLE OF A TABLE:
  # Everybody finds people, and nobody sees passwords
  allow  read  anonymous                   uid=ann,ou=People,dc=x/cn
  deny   see   uid=ann,ou=People,dc=x      uid=bob,ou=People,dc=x/userPassword
  allow  add   uid=ann,ou=People,dc=x      \"cn=list,dc=x/member=uid=ann,ou=People,dc=x\"  tls=128

EXIT CODES:
  0  all is as expected
  1  something is not; it is on standard output
  2  the command line, a rule or a line of the table is wrong";

/// Runs it.
pub(super) fn run(args: &Args) -> Result<(), Failed> {
    let source = args.source.load()?;
    let faults: Vec<String> =
        source.faults.iter().map(|(at, reason)| format!("{}: {reason}", source.places[*at])).collect();
    if !faults.is_empty() {
        return Err(Failed::configured(faults));
    }
    let text =
        std::fs::read_to_string(&args.table).map_err(|error| Failed::at(args.table.display(), error))?;
    let (mut unexpected, mut rows, mut faults) = (Vec::new(), 0, Vec::new());
    for (number, line) in text.lines().enumerate() {
        let place = format!("{}:{}", args.table.display(), number + 1);
        match row(line, &source) {
            Ok(None) => {}
            Ok(Some(wrong)) => {
                rows += 1;
                unexpected.extend(wrong.into_iter().map(|text| (place.clone(), text)));
            }
            Err(reason) => faults.push(format!("{place}: {reason}")),
        }
    }
    source.ended()?;
    if !faults.is_empty() {
        return Err(Failed::configured(faults));
    }
    if args.json {
        let all: Vec<_> =
            unexpected.iter().map(|(place, text)| json!({ "where": place, "is": text })).collect();
        print(format!("{}\n", json!({ "rows": rows, "unexpected": all })))?;
    } else {
        let lines: String = unexpected.iter().map(|(place, text)| format!("{place}: {text}\n")).collect();
        print(format!("{lines}{rows} rows, {} not as expected\n", unexpected.len()))?;
    }
    if unexpected.is_empty() { Ok(()) } else { Err(Failed::printed()) }
}

/// What is not as a line expects; `None` of a line without a row.
fn row(line: &str, source: &source::Source) -> Result<Option<Vec<String>>, String> {
    let words = words(line)?;
    let [verdict_word, right, who, what, keys @ ..] = words.as_slice() else {
        return if words.is_empty() {
            Ok(None)
        } else {
            Err("a row is allow|deny RIGHT WHO WHAT".to_owned())
        };
    };
    let is_expected = match verdict_word.as_str() {
        "allow" => true,
        "deny" => false,
        other => return Err(format!("`{other}` is neither allow nor deny")),
    };
    let mut question = Question { who: who.clone(), what: what.clone(), ..Question::default() };
    keys.iter().try_for_each(|word| key(&mut question, word))?;
    let asked = question.ask(source)?;
    let decisions = rights(right)?.into_iter().map(|right| (right, asked.decide(right)));
    let wrong = decisions.filter(|(_, decision)| decision.allowed != is_expected);
    Ok(Some(wrong.map(|(right, decision)| format!("{right}: {}", verdict(&asked, &decision))).collect()))
}

fn key(question: &mut Question, word: &str) -> Result<(), String> {
    let (name, value) = word.split_once('=').ok_or_else(|| format!("`{word}` is not KEY=VALUE"))?;
    let bits = || value.parse().map(Some).map_err(|_| format!("`{word}`: a number is expected"));
    match name {
        "as" => question.acts_as = Some(value.to_owned()),
        "op" => question.operation = Some(value.to_owned()),
        "peer" => question.peer = Some(value.to_owned()),
        "auth" => question.auth = Some(value.to_owned()),
        "listener" => question.listener = Some(value.to_owned()),
        "ssf" => question.strength = bits()?,
        "tls" => question.tls = bits()?,
        _ => return Err(format!("`{name}` is none of as, op, peer, ssf, tls, auth, listener")),
    }
    Ok(())
}
