//! Dialogues that people can read: `golden/*.txt` has commands and what was answered. `PANDO_GOLDEN=write` makes the
//! answers anew; review the diff.
//!
//! A command is a line, its parts in quotes or of one word each; `#` begins a comment. After `-----` come the
//! answers, and an empty line ends them:
//!
//! | command | |
//! |---|---|
//! | `bind DN PASSWORD` | |
//! | `add DN NAME=VALUE ...` | |
//! | `delete DN` | |
//! | `modify DN add:NAME=VALUE delete:NAME replace:NAME=VALUE increment:NAME=N ...` | |
//! | `rename DN NEWRDN [keep] [to=SUPERIOR]` | the old RDN goes unless kept |
//! | `compare DN NAME=VALUE` | |
//! | `search BASE base|one|sub|subordinates FILTER [size=N] [types] [page=N] ATTRIBUTE ...` | `page` goes on where the last ended |
//! | `whoami` | |
//! | `raw HEX` | bytes of a message; when it ends the session, the next command begins one |

mod common;

use common::*;
use dsa::{Session, State};
use model::Scope;
use proto::control::Control;
use proto::control::paged_results::{self, PagedResults};
use proto::op::ModifyKind;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

struct Player {
    client: Client,
    cookie: Vec<u8>,
}

/// Words of a line; those in quotes may have spaces.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("there is one").push(c),
        }
    }
    words
}

/// `NAME=VALUE` pairs, with the values of one name together.
fn grouped(pairs: &[String]) -> Vec<(String, Vec<String>)> {
    let mut grouped: Vec<(String, Vec<String>)> = Vec::new();
    for pair in pairs {
        let (name, value) =
            pair.split_once('=').map_or((pair.as_str(), None), |(n, v)| (n, Some(v.to_owned())));
        match grouped.last_mut().filter(|(last, _)| last == name) {
            Some((_, values)) => values.extend(value),
            None => grouped.push((name.to_owned(), value.into_iter().collect())),
        }
    }
    grouped
}

impl Player {
    fn play(&mut self, line: &str) -> String {
        let words = words(line);
        let at = |n: usize| words.get(n).map_or("", String::as_str);
        match at(0) {
            "bind" => shown(&self.client.bind(at(1), at(2))),
            "delete" => shown(&self.client.delete(at(1))),
            "whoami" => format!("{:?}\n", self.client.who_am_i()),
            "add" => self.add(at(1), &words[2..]),
            "modify" => self.modify(at(1), &words[2..]),
            "compare" => {
                let (name, value) = at(2).split_once('=').expect("NAME=VALUE");
                shown(&self.client.compare(at(1), name, value))
            }
            "rename" => {
                let superior = words.iter().find_map(|word| word.strip_prefix("to="));
                let keep = words.iter().any(|word| word == "keep");
                shown(&self.client.rename(at(1), at(2), !keep, superior))
            }
            "search" => self.search(&words),
            "raw" => self.raw(&words[1..].concat()),
            other => panic!("{other} is no command"),
        }
    }

    fn add(&mut self, dn: &str, pairs: &[String]) -> String {
        let grouped = grouped(pairs);
        let values: Vec<Vec<&str>> =
            grouped.iter().map(|(_, v)| v.iter().map(String::as_str).collect()).collect();
        let given: Vec<(&str, &[&str])> =
            grouped.iter().zip(&values).map(|((n, _), v)| (n.as_str(), &v[..])).collect();
        shown(&self.client.add(dn, &given))
    }

    fn modify(&mut self, dn: &str, pairs: &[String]) -> String {
        let grouped = grouped(pairs);
        let values: Vec<Vec<&str>> =
            grouped.iter().map(|(_, v)| v.iter().map(String::as_str).collect()).collect();
        let change = |((name, _), values): (&(String, Vec<String>), _)| {
            let (kind, name) = name.split_once(':').expect("KIND:NAME");
            let kind = match kind {
                "add" => ModifyKind::Add,
                "delete" => ModifyKind::Delete,
                "replace" => ModifyKind::Replace,
                "increment" => ModifyKind::Increment,
                other => panic!("{other} is no kind of change"),
            };
            (kind, name.to_owned(), values)
        };
        let changes: Vec<(ModifyKind, String, &Vec<&str>)> =
            grouped.iter().zip(&values).map(change).collect();
        let changes: Vec<(ModifyKind, &str, &[&str])> =
            changes.iter().map(|(kind, name, values)| (*kind, name.as_str(), &values[..])).collect();
        shown(&self.client.modify(dn, &changes))
    }

    fn search(&mut self, words: &[String]) -> String {
        let scope = match words[2].as_str() {
            "base" => Scope::Base,
            "one" => Scope::One,
            "sub" => Scope::Subtree,
            "subordinates" => Scope::Subordinates,
            other => panic!("{other} is no scope"),
        };
        let number = |key: &str| words.iter().find_map(|word| word.strip_prefix(key)?.parse::<i32>().ok());
        let types_only = words.iter().any(|word| word == "types");
        let is_attribute = |word: &&str| !word.contains('=') && *word != "types";
        let attributes: Vec<&str> = words[4..].iter().map(String::as_str).filter(is_attribute).collect();
        let mut value = Vec::new();
        PagedResults { size: number("page=").unwrap_or(0), cookie: &self.cookie }.encode(&mut value);
        let paged = [Control { oid: paged_results::OID, critical: true, value: Some(&value) }];
        let controls = if number("page=").is_some() { &paged[..] } else { &[] };
        let change = |search: &mut proto::op::Search<'_>| {
            search.size_limit = number("size=").unwrap_or(0);
            search.types_only = types_only;
        };
        let found = self.client.search_with(&words[1], scope, &words[3], &attributes, change, controls);
        let mut text = String::new();
        for (dn, attributes) in &found.entries {
            writeln!(text, "entry {dn}").expect("a string takes everything");
            for (name, values) in attributes {
                let values: Vec<String> =
                    values.iter().map(|v| format!("{:?}", String::from_utf8_lossy(v))).collect();
                writeln!(text, "{}", format!("  {name}: {}", values.join(" ")).trim_end())
                    .expect("a string takes everything");
            }
        }
        text += &shown(&found.end);
        if let Some(cookie) = found.cookie {
            text += if cookie.is_empty() { "that was the last page\n" } else { "there are more pages\n" };
            self.cookie = cookie;
        }
        text
    }

    fn raw(&mut self, hex: &str) -> String {
        let digits: Vec<u32> = hex.chars().map(|c| c.to_digit(16).expect("hexadecimal digits")).collect();
        let bytes: Vec<u8> = digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect();
        let (all, state) = self.client.raw(&bytes);
        let mut text = String::new();
        for answer in all {
            let What::End(outcome) = answer.what else { panic!("entries are for search") };
            write!(text, "id {}: {}", answer.id, shown(&outcome)).expect("a string takes everything");
        }
        writeln!(text, "the session is {state:?}").expect("a string takes everything");
        if state == State::Close {
            self.client.session = Session::new(&mut self.client.worker);
        }
        text
    }
}

fn shown(outcome: &Outcome) -> String {
    let mut text = outcome.code.to_string();
    if !outcome.matched.is_empty() {
        write!(text, " matched={:?}", outcome.matched).expect("a string takes everything");
    }
    if !outcome.text.is_empty() {
        write!(text, " text={:?}", outcome.text).expect("a string takes everything");
    }
    text + "\n"
}

/// The script with the answers as they are.
fn replay(script: &str) -> String {
    let mut player = Player { client: Client::new(), cookie: Vec::new() };
    let mut text = String::new();
    let mut answered = false;
    for line in script.lines() {
        match line {
            "-----" => answered = true,
            "" => {
                answered = false;
                text += "\n";
            }
            _ if answered => {}
            line if line.starts_with('#') => text += &format!("{line}\n"),
            line => text += &format!("{line}\n-----\n{}", player.play(line)),
        }
    }
    text
}

#[test]
fn dialogues() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    files.sort();
    let writes = std::env::var("PANDO_GOLDEN").is_ok_and(|value| value == "write");
    for file in files {
        let script = fs::read_to_string(&file).expect("it can be read");
        let now = replay(&script);
        if writes {
            fs::write(&file, now).expect("it can be written");
            continue;
        }
        for (line, (expected, got)) in script.lines().zip(now.lines()).enumerate() {
            assert_eq!(got, expected, "{}:{}: PANDO_GOLDEN=write takes it over", file.display(), line + 1);
        }
        assert_eq!(script, now, "{}", file.display());
    }
}
