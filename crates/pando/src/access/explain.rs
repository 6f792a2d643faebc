//! `pando access explain`: what is decided, and why.

use super::question::{Inquiry, Question, rights};
use super::source;
use crate::failed::Failed;
use crate::output::{note, print};
use access::Right;
use access::decide::{Decision, Failure, Finding, Reason};
use clap::Args as ClapArgs;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Explain what someone may do, and why
///
/// Prints the verdict, the rule that decides, and what became of each other rule: that it is outranked, or on which key it does not fit.
/// Without --right all rights on the item are listed.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(super) struct Args {
    /// Who asks: a DN, `anonymous`, or `root`
    #[arg(long, value_name = "ID")]
    who: String,

    /// Whom it acts as, by proxied authorization
    #[arg(long = "as", value_name = "ID")]
    acts_as: Option<String>,

    /// What is asked about: an entry, an attribute or a value of it, control:OID or extended:OID
    #[arg(long, value_name = "DN[/ATTR[=VALUE]]")]
    what: String,

    /// The right, or a word for several
    #[arg(long, value_name = "RIGHT")]
    right: Option<String>,

    /// In which operation: search, compare, add, modify, rename, delete, passmod or sync
    #[arg(long, value_name = "OPERATION")]
    op: Option<String>,

    /// Where it comes from: an address, or `ldapi`
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    peer: String,

    /// Bits that protect the connection
    #[arg(long, value_name = "N")]
    ssf: Option<u16>,

    /// Bits of TLS that protect it
    #[arg(long, value_name = "N")]
    tls: Option<u16>,

    /// How it proved itself: none, simple, or a SASL mechanism
    #[arg(long, value_name = "METHOD")]
    auth: Option<String>,

    /// The listener that took the connection
    #[arg(long, value_name = "NAME")]
    listener: Option<String>,

    #[command(flatten)]
    source: source::Args,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

const AFTER: &str = "\
EXAMPLES:
  pando access explain --data people.pando --who uid=ann,ou=People,dc=x --what uid=bob,ou=People,dc=x/mail --right read
  pando access explain --rules pando.toml --ldif demo.ldif --who anonymous --what dc=x
  pando access explain --url ldap://127.0.0.1:3389 --bind-dn cn=admin --password-file pw --who uid=ann,dc=x --what dc=x/ou

EXIT CODES:
  0  all that was asked for is allowed
  1  something is denied, or cannot be found out
  2  the command line is wrong, or a rule is";

/// Runs it.
pub(super) fn run(args: &Args) -> Result<(), Failed> {
    let source = args.source.load()?;
    let faults = source.faults.iter().map(|(at, reason)| format!("{}: {reason}", source.places[*at]));
    let faults: Vec<String> = faults.collect();
    if !faults.is_empty() {
        return Err(Failed::configured(faults));
    }
    let asked = question(args).ask(&source).map_err(Failed::usage)?;
    source.ended()?;
    if asked.is_missing {
        note!("there is no such entry: it is judged by its name alone");
    }
    let wanted = args.right.as_deref().map_or_else(|| Ok(asked.rights()), rights).map_err(Failed::usage)?;
    let decisions: Vec<(Right, Decision)> =
        wanted.iter().map(|right| (*right, asked.decide(*right))).collect();
    source.ended()?;
    if args.json {
        let all: Vec<Value> =
            decisions.iter().map(|(right, decision)| as_json(&asked, *right, decision)).collect();
        print(format!("{}\n", json!(all)))?;
    } else {
        let is_short = args.right.is_none();
        print(
            decisions
                .iter()
                .map(|(right, decision)| as_text(&asked, *right, decision, is_short))
                .collect::<String>(),
        )?;
    }
    match decisions.iter().all(|(_, decision)| decision.allowed) {
        true => Ok(()),
        false => Err(Failed::printed()),
    }
}

fn question(args: &Args) -> Question {
    Question {
        who: args.who.clone(),
        acts_as: args.acts_as.clone(),
        what: args.what.clone(),
        peer: Some(args.peer.clone()),
        strength: args.ssf,
        tls: args.tls,
        auth: args.auth.clone(),
        listener: args.listener.clone(),
        operation: args.op.clone(),
    }
}

/// The verdict with its reason; unless it is to be short, each rule on a line of its own.
fn as_text(asked: &Inquiry<'_>, right: Right, decision: &Decision, is_short: bool) -> String {
    let mut out = format!("{right}: {}\n", verdict(asked, decision));
    if is_short {
        return out;
    }
    for (at, finding) in decision.findings.iter().enumerate() {
        let (name, place) = (&asked.rules[at].rule.name, &asked.places[at]);
        let _ = writeln!(out, "  {name} ({place}): {}", became(finding));
    }
    out
}

/// `allowed by rule x (file:3)`.
pub(super) fn verdict(asked: &Inquiry<'_>, decision: &Decision) -> String {
    let word = if decision.allowed { "allowed" } else { "denied" };
    match decision.reason {
        Reason::Root => format!("{word}: the root DN may do everything"),
        Reason::Rule(at) => format!("{word} by rule {} ({})", asked.rules[at].rule.name, asked.places[at]),
        Reason::NoRule => format!("{word}: no rule allows it"),
    }
}

fn became(finding: &Finding) -> String {
    match finding {
        Finding::Decides => "decides".to_owned(),
        Finding::Agrees => "fits, and says the same".to_owned(),
        Finding::Denied => "fits, but a rule of the same rank denies".to_owned(),
        Finding::Outranked => "fits, but is outranked".to_owned(),
        Finding::Fails(failures) => {
            let texts: Vec<String> = failures.iter().map(failed).collect();
            format!("does not fit: {}", texts.join(", "))
        }
    }
}

fn failed(failure: &Failure) -> String {
    let mut text = failure.key.clone();
    if let Some(subject) = failure.subject {
        let _ = write!(text, " of subject {}", subject + 1);
    }
    text + if failure.undefined { " cannot be evaluated" } else { "" }
}

fn as_json(asked: &Inquiry<'_>, right: Right, decision: &Decision) -> Value {
    let rule = |at: usize| json!({ "name": asked.rules[at].rule.name, "where": asked.places[at] });
    let by = match decision.reason {
        Reason::Root => json!("root"),
        Reason::Rule(at) => rule(at),
        Reason::NoRule => Value::Null,
    };
    let others: Vec<Value> = decision
        .findings
        .iter()
        .enumerate()
        .map(|(at, finding)| {
            let mut value = rule(at);
            let (word, fails) = match finding {
                Finding::Decides => ("decides", &[][..]),
                Finding::Agrees => ("agrees", &[][..]),
                Finding::Denied => ("denied", &[][..]),
                Finding::Outranked => ("outranked", &[][..]),
                Finding::Fails(failures) => ("fails", failures.as_slice()),
            };
            value["outcome"] = json!(word);
            let fails: Vec<Value> = fails.iter().map(failure_json).collect();
            value["fails"] = json!(fails);
            value
        })
        .collect();
    json!({ "right": right.word(), "allowed": decision.allowed, "by": by, "rules": others })
}

fn failure_json(failure: &Failure) -> Value {
    let subject = failure.subject.map(|subject| subject + 1);
    json!({ "key": failure.key, "subject": subject, "undefined": failure.undefined })
}
