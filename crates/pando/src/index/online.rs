//! Of a server that runs.

use crate::failed::Failed;
use crate::output::print;
use crate::progress::IndexBar;
use client::{IndexLine, Indexes, Server};
use env::poll::pause;
use std::time::Duration;

/// Until it is asked again how far an index is.
const ASK_AGAIN: Duration = Duration::from_millis(200);

/// Prints a line for each.
pub(super) fn list(server: &Server) -> Result<(), Failed> {
    let mut all = String::new();
    for line in Indexes::open(server).and_then(|mut indexes| indexes.list()).map_err(Failed::of)? {
        let mut text = format!("{:<24} {}", line.index, line.state);
        if let Some((done, all)) = line.entries.filter(|_| line.state != "ready") {
            text += &format!(", {done} of {all} entries");
        }
        if let Some(bytes) = line.bytes {
            text += &format!(", {:.1} MB", bytes as f64 / 1e6);
        }
        if let Some(serves) = line.serves {
            text += &format!(", serves {}", serves.replace(',', ", "));
        }
        if let Some(classes) = line.classes {
            let filters: Vec<_> = classes.split(',').map(|class| format!("(objectClass={class})")).collect();
            text += &format!(" of {}", filters.join(" "));
        }
        if let Some(verify) = line.verify {
            text += &format!(", verify: {verify}");
        }
        if let Some(reason) = line.reason {
            text += &format!(": {reason}");
        }
        all += &text;
        all.push('\n');
    }
    print(all)
}

/// Has indexes built, and waits for them.
pub(super) fn build(server: &Server, texts: &[String], no_wait: bool, quiet: bool) -> Result<(), Failed> {
    let mut indexes = Indexes::open(server).map_err(Failed::of)?;
    let before = indexes.list().map_err(Failed::of)?;
    indexes.build(texts).map_err(Failed::of)?;
    if no_wait {
        return Ok(());
    }
    let mut bar = IndexBar::new(quiet);
    let mut ours: Option<Vec<String>> = None;
    loop {
        let lines = indexes.list().map_err(Failed::of)?;
        let ours = ours.get_or_insert_with(|| asked_for(texts, &before, &lines));
        let of_ours: Vec<&IndexLine> = lines.iter().filter(|line| ours.contains(&line.index)).collect();
        let active = of_ours.iter().filter(|line| !matches!(&line.state[..], "ready" | "failed")).count();
        if let Some(line) = lines.iter().find(|line| line.entries.is_some()) {
            bar.show(line);
        }
        if active == 0 {
            return reported(&of_ours, ours);
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
fn reported(lines: &[&IndexLine], asked: &[String]) -> Result<(), Failed> {
    let mut faults = Vec::new();
    for index in asked {
        match lines.iter().find(|line| line.index == *index) {
            Some(line) if line.state == "ready" => {}
            Some(line) => faults.push(format!("{index}: {}", line.reason.as_deref().unwrap_or(&line.state))),
            None => faults.push(format!("{index}: it was dropped again")),
        }
    }
    Failed::all(faults).if_any()
}

/// Drops indexes.
pub(super) fn drop(server: &Server, texts: &[String]) -> Result<(), Failed> {
    Indexes::open(server).and_then(|mut indexes| indexes.drop(texts)).map_err(Failed::of)
}

/// Has indexes compared with the entries, all that are ready if none is named, and waits for it.
pub(super) fn verify(server: &Server, texts: &[String], quiet: bool) -> Result<(), Failed> {
    let mut indexes = Indexes::open(server).map_err(Failed::of)?;
    let mut texts = texts.to_vec();
    if texts.is_empty() {
        let ready = indexes.list().map_err(Failed::of)?.into_iter().filter(|line| line.state == "ready");
        texts.extend(ready.map(|line| line.index));
    }
    let mut bar = IndexBar::new(quiet);
    let (mut faults, mut entries, mut passed_over) = (Vec::new(), 0, 0);
    for text in &texts {
        indexes.verify(std::slice::from_ref(text)).map_err(Failed::of)?;
        let line = compared(&mut indexes, text, &mut bar)?;
        faults.extend(differences(text, line.as_ref()));
        entries = line.as_ref().and_then(|line| line.entries).map_or(entries, |(done, _)| done);
        passed_over += line.and_then(|line| line.passed_over).unwrap_or(0);
    }
    std::mem::drop(bar);
    Failed::all(faults).if_any()?;
    let mut text = format!("{} indexes over {entries} entries, all as they should be\n", texts.len());
    if passed_over > 0 {
        text += &format!(
            "{passed_over} keys of big value sets were not looked up; `pando check` does it offline\n"
        );
    }
    print(text)
}

/// What became of the comparison of an index; `None` if it is not reported.
fn compared(indexes: &mut Indexes, text: &str, bar: &mut IndexBar) -> Result<Option<IndexLine>, Failed> {
    loop {
        let lines = indexes.list().map_err(Failed::of)?;
        let line = lines.into_iter().find(|line| line.index.eq_ignore_ascii_case(text));
        let Some(line) = line else { return Ok(None) };
        let is_to_be_built = matches!(&line.state[..], "queued" | "building" | "waiting");
        if !is_to_be_built && !line.is_compared() {
            return Ok(Some(line));
        }
        bar.show(&line);
        pause(ASK_AGAIN);
    }
}

/// What is wrong with an index, or with its comparison.
fn differences(text: &str, line: Option<&IndexLine>) -> Vec<String> {
    let Some(line) = line else { return vec![format!("{text}: it was dropped meanwhile")] };
    match line.verify.as_deref() {
        Some("clean") => Vec::new(),
        Some("differs") => {
            let mut faults = line.differences.clone();
            let found = line.found.unwrap_or(0);
            if found > faults.len() as u64 {
                faults.push(format!("{text}: {found} differences in all"));
            }
            faults
        }
        _ => vec![format!("{text}: {}", line.reason.as_deref().unwrap_or("the comparison was stopped"))],
    }
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

    #[test]
    fn what_was_found_is_reported_and_a_comparison_that_came_to_nothing() {
        let mut line = IndexLine { verify: Some("clean".to_owned()), ..IndexLine::default() };
        assert_eq!(differences("cn:eq", Some(&line)), [""; 0]);
        line.verify = Some("differs".to_owned());
        (line.found, line.differences) = (Some(7), vec!["entry 5".to_owned()]);
        assert_eq!(differences("cn:eq", Some(&line)), ["entry 5", "cn:eq: 7 differences in all"]);
        line.verify = None;
        assert_eq!(differences("cn:eq", Some(&line)), ["cn:eq: the comparison was stopped"]);
        assert_eq!(differences("cn:eq", None), ["cn:eq: it was dropped meanwhile"]);
    }
}
