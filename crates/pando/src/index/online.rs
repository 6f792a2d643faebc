//! Of a server that runs.

use crate::failed::Failed;
use crate::progress::IndexBar;
use bulk::remote::{IndexLine, Indexes, Server};
use env::poll::pause;
use std::time::Duration;

/// Until it is asked again how far an index is.
const ASK_AGAIN: Duration = Duration::from_millis(200);

/// Prints a line for each.
pub(super) fn list(server: &Server) -> Result<(), Failed> {
    for line in Indexes::open(server).and_then(|mut indexes| indexes.list()).map_err(Failed::of)? {
        let mut text = format!("{:<24} {}", line.index, line.state);
        if let Some((done, all)) = line.entries {
            text += &format!(", {done} of {all} entries");
        }
        if let Some(bytes) = line.bytes {
            text += &format!(", {:.1} MB", bytes as f64 / 1e6);
        }
        if let Some(reason) = line.reason {
            text += &format!(": {reason}");
        }
        println!("{text}");
    }
    Ok(())
}

/// Has indexes built, and waits for them.
pub(super) fn build(server: &Server, texts: &[String], no_wait: bool, quiet: bool) -> Result<(), Failed> {
    let mut indexes = Indexes::open(server).map_err(Failed::of)?;
    let before = indexes.list().map_err(Failed::of)?;
    indexes.build(texts).map_err(Failed::of)?;
    if no_wait {
        return Ok(());
    }
    let mut bar = (!quiet).then(IndexBar::new);
    let mut ours: Option<Vec<String>> = None;
    loop {
        let lines = indexes.list().map_err(Failed::of)?;
        let ours = ours.get_or_insert_with(|| asked_for(texts, &before, &lines));
        let of_ours: Vec<&IndexLine> = lines.iter().filter(|line| ours.contains(&line.index)).collect();
        let under_way = of_ours.iter().filter(|line| !matches!(&line.state[..], "ready" | "failed")).count();
        if let Some(line) = lines.iter().find(|line| line.entries.is_some()) {
            bar.iter_mut().for_each(|bar| bar.show(line));
        }
        if under_way == 0 {
            bar.iter().for_each(IndexBar::clear);
            return told(&of_ours, ours);
        }
        pause(ASK_AGAIN);
    }
}

/// What was asked for, by the names that the server has: what came since, also if it has failed already.
fn asked_for(texts: &[String], before: &[IndexLine], now: &[IndexLine]) -> Vec<String> {
    let was = |line: &IndexLine| before.iter().find(|other| other.index == line.index);
    let is_new = |line: &&IndexLine| match was(line) {
        None => true,
        Some(other) if other.state == "failed" => line.state != "failed" || texts.contains(&line.index),
        Some(_) => false,
    };
    now.iter().filter(is_new).map(|line| line.index.clone()).collect()
}

/// What became of them.
fn told(lines: &[&IndexLine], asked: &[String]) -> Result<(), Failed> {
    let mut faults = Vec::new();
    for index in asked {
        match lines.iter().find(|line| line.index == *index) {
            Some(line) if line.state == "ready" => {}
            Some(line) => faults.push(format!("{index}: {}", line.reason.as_deref().unwrap_or(&line.state))),
            None => faults.push(format!("{index}: it was dropped again")),
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Failed { code: 1, faults }) }
}

/// Drops indexes.
pub(super) fn drop(server: &Server, texts: &[String]) -> Result<(), Failed> {
    Indexes::open(server).and_then(|mut indexes| indexes.drop(texts)).map_err(Failed::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_since_was_asked_for() {
        let line = |index: &str, state: &str| IndexLine {
            index: index.to_owned(),
            state: state.to_owned(),
            ..IndexLine::default()
        };
        let before = [line("cn:eq", "ready"), line("sn:eq", "failed"), line("mail:eq", "failed")];
        let now = [
            line("cn:eq", "ready"),
            line("sn:eq", "failed"),
            line("mail:eq", "failed"),
            line("uid:eq", "queued"),
        ];
        let texts = ["userid:eq", "sn:eq"].map(str::to_owned);
        assert_eq!(asked_for(&texts, &before, &now), ["sn:eq", "uid:eq"]);
    }
}
