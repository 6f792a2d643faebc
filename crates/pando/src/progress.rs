//! The progress of an import, an export or a recovery: a bar on a terminal, a line now and then elsewhere.

use crate::output::note;
use bulk::{Exported, Progress, ProgressReport, Summary};
use client::IndexLine;
use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressStyle};
use node::data::Stage;
use std::io::{IsTerminal, stderr};
use std::path::PathBuf;
use std::time::Duration;

/// Time between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// What is shown on standard error while an import goes on.
pub(crate) struct Bar {
    bar: ProgressBar,
    /// No terminal: when the next line is due.
    line_due: Option<Duration>,
    /// What is going on, and what will have been done.
    words: [&'static str; 2],
    /// Inputs that are reported one by one, and how far each is.
    streams: Vec<(String, Progress)>,
}

impl Bar {
    /// Nothing is shown until something has happened. With `streams` it shows each of them too.
    pub(crate) fn new(now: &'static str, done: &'static str, streams: &[PathBuf]) -> Bar {
        let template = format!("{now} {{wide_bar}} {{percent:>3}} %  {{msg}}  {{eta}} left");
        let style = ProgressStyle::with_template(&template).expect("the template is well-formed");
        let streams = streams.iter().map(|path| (path.display().to_string(), Progress::default()));
        Bar {
            bar: ProgressBar::new(0).with_style(style),
            line_due: (!stderr().is_terminal()).then_some(LINE_EVERY),
            words: [now, done],
            streams: streams.collect(),
        }
    }

    /// Shows how far it is of `bytes_total`; 0 if that is not known.
    pub(crate) fn show(&mut self, reported: ProgressReport<'_>, bytes_total: u64) {
        let (elapsed, progress) = (self.bar.elapsed(), reported.total);
        assert!(
            self.streams.is_empty() || self.streams.len() == reported.inputs.len(),
            "each stream that is shown is an input"
        );
        self.streams.iter_mut().zip(reported.inputs).for_each(|((_, stream), now)| *stream = *now);
        match &mut self.line_due {
            None => {
                self.bar.set_length(bytes_total.max(progress.bytes));
                self.bar.set_position(progress.bytes);
                self.bar.set_message(rates(progress.entries, progress.bytes, elapsed));
            }
            Some(due) if elapsed >= *due => {
                *due = elapsed + LINE_EVERY;
                let left = match bytes_total.checked_sub(progress.bytes) {
                    Some(left) if bytes_total > 0 && progress.bytes > 0 => {
                        let left = elapsed.mul_f64(left as f64 / progress.bytes as f64);
                        format!(
                            "{} % of {:.1} MB, ",
                            progress.bytes * 100 / bytes_total,
                            bytes_total as f64 / 1e6
                        ) + &format!("{} left", HumanDuration(left))
                    }
                    _ => format!("{:.1} MB so far", progress.bytes as f64 / 1e6),
                };
                let text = rates(progress.entries, progress.bytes, elapsed);
                note!("{}: {} entries, {text}, {left}", self.words[0], HumanCount(progress.entries));
                self.tell_streams(elapsed);
            }
            Some(_) => {}
        }
    }

    fn tell_streams(&self, elapsed: Duration) {
        for (name, Progress { entries, bytes }) in &self.streams {
            let rates = rates(*entries, *bytes, elapsed);
            note!("  {name}: {} entries, {:.1} MB, {rates}", HumanCount(*entries), *bytes as f64 / 1e6);
        }
    }

    /// Takes the bar away.
    pub(crate) fn clear(self) {
        self.bar.finish_and_clear();
    }

    /// Takes the bar away and says what was done.
    pub(crate) fn finish(self, summary: Summary) {
        let elapsed = self.bar.elapsed();
        self.bar.finish_and_clear();
        let rates = rates(summary.entries, summary.bytes, elapsed);
        let (entries, seconds) = (HumanCount(summary.entries), elapsed.as_secs_f64());
        note!("{} {entries} entries in {seconds:.1} s: {rates}", self.words[1]);
        self.tell_streams(elapsed);
    }
}

/// What is shown on standard error while a directory is recovered.
pub(crate) struct RecoveryBar {
    bar: ProgressBar,
    /// No terminal: when the next line is due.
    line_due: Option<Duration>,
}

impl RecoveryBar {
    /// Nothing is shown until something has happened.
    pub(crate) fn new() -> RecoveryBar {
        let style = ProgressStyle::with_template("recovering {wide_bar} {msg}");
        let bar = ProgressBar::new(0).with_style(style.expect("the template is well-formed"));
        RecoveryBar { bar, line_due: (!stderr().is_terminal()).then_some(LINE_EVERY) }
    }

    /// Shows how far it is.
    pub(crate) fn show(&mut self, stage: Stage) {
        let elapsed = self.bar.elapsed();
        let text = || match stage {
            Stage::Snapshot(done, all) => {
                format!("snapshot, {:.1} of {:.1} MB", done as f64 / 1e6, all as f64 / 1e6)
            }
            Stage::Log(records) => format!("log, {} records", HumanCount(records)),
        };
        match &mut self.line_due {
            // A record takes about a microsecond, so most are not shown.
            None if matches!(stage, Stage::Log(records) if records % 1024 != 0) => {}
            None => {
                if let Stage::Snapshot(done, all) = stage {
                    self.bar.set_length(all);
                    self.bar.set_position(done);
                }
                self.bar.set_message(text());
            }
            Some(due) if elapsed >= *due => {
                *due = elapsed + LINE_EVERY;
                note!("recovering: {}", text());
            }
            Some(_) => {}
        }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Takes the bar away and says in one line what was done, if anything was.
    pub(crate) fn finish(self, records: u64, entries: u64) {
        let seconds = self.bar.elapsed().as_secs_f64();
        self.clear();
        if records == 0 && entries == 0 {
            return;
        }
        let (records, entries) = (HumanCount(records), HumanCount(entries));
        note!("recovered {entries} entries in {seconds:.1} s, {records} records of the log among that");
    }
}

/// What is shown on standard error while an export goes on.
pub(crate) struct ExportBar {
    bar: ProgressBar,
    /// No terminal: when the next line is due.
    line_due: Option<Duration>,
}

impl ExportBar {
    /// Nothing is shown until something has happened.
    pub(crate) fn new() -> ExportBar {
        let style = ProgressStyle::with_template("exporting {wide_bar} {percent:>3} %  {msg}  {eta} left");
        let bar = ProgressBar::new(0).with_style(style.expect("the template is well-formed"));
        ExportBar { bar, line_due: (!stderr().is_terminal()).then_some(LINE_EVERY) }
    }

    /// Shows how far it is, of so many entries to look at, if that is known.
    pub(crate) fn show(&mut self, done: Exported, entries: Option<u64>) {
        let elapsed = self.bar.elapsed();
        let text = rates(done.entries, done.bytes, elapsed);
        match &mut self.line_due {
            None => {
                self.bar.set_length(entries.unwrap_or(done.seen));
                self.bar.set_position(done.seen);
                self.bar.set_message(text);
            }
            Some(due) if elapsed >= *due => {
                *due = elapsed + LINE_EVERY;
                let all = entries.map(|all| format!(" of {}", HumanCount(all))).unwrap_or_default();
                note!("exporting: {}{all} entries, {text}", HumanCount(done.seen));
            }
            Some(_) => {}
        }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Takes the bar away and says in one line what was done.
    pub(crate) fn finish(self, done: Exported) {
        let elapsed = self.bar.elapsed();
        self.clear();
        let (entries, seconds) = (HumanCount(done.entries), elapsed.as_secs_f64());
        note!("exported {entries} entries in {seconds:.1} s: {}", rates(done.entries, done.bytes, elapsed));
    }
}

/// What is shown on standard error while a server builds an index.
pub(crate) struct IndexBar {
    bar: ProgressBar,
    /// No terminal: when the next line is due.
    line_due: Option<Duration>,
}

impl IndexBar {
    /// Nothing is shown until something has happened.
    pub(crate) fn new() -> IndexBar {
        let style =
            ProgressStyle::with_template("{msg} {wide_bar} {human_pos} of {human_len} entries, {eta} left");
        let bar = ProgressBar::new(0).with_style(style.expect("the template is well-formed"));
        IndexBar { bar, line_due: (!stderr().is_terminal()).then_some(LINE_EVERY) }
    }

    /// Shows how far the index in progress is.
    pub(crate) fn show(&mut self, line: &IndexLine) {
        let Some((done, all)) = line.entries else { return };
        let elapsed = self.bar.elapsed();
        match &mut self.line_due {
            None => {
                self.bar.set_length(all);
                self.bar.set_position(done);
                self.bar.set_message(line.index.clone());
            }
            Some(due) if elapsed >= *due => {
                *due = elapsed + LINE_EVERY;
                note!("{}: {} of {} entries", line.index, HumanCount(done), HumanCount(all));
            }
            Some(_) => {}
        }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// What is shown on standard error while files are copied. Nothing where there is no terminal.
pub(crate) struct CopyBar {
    bar: ProgressBar,
}

impl CopyBar {
    /// `what` is being done.
    pub(crate) fn new(what: &str) -> CopyBar {
        let template = format!("{what} {{wide_bar}} {{bytes}} of {{total_bytes}}, {{eta}} left");
        let style = ProgressStyle::with_template(&template).expect("the template is well-formed");
        CopyBar { bar: ProgressBar::new(0).with_style(style) }
    }

    /// Shows how many bytes are done, of how many.
    pub(crate) fn show(&mut self, done: u64, all: u64) {
        assert!(done <= all, "no more is copied than there is");
        self.bar.set_length(all);
        self.bar.set_position(done);
    }

    /// Takes the bar away.
    pub(crate) fn clear(self) {
        self.bar.finish_and_clear();
    }
}

fn rates(entries: u64, bytes: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(1e-9);
    format!(
        "{} entries/s, {:.1} MB/s",
        HumanCount((entries as f64 / seconds) as u64),
        bytes as f64 / 1e6 / seconds
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_per_second() {
        assert_eq!(rates(3_000_000, 240_000_000, Duration::from_secs(2)), "1,500,000 entries/s, 120.0 MB/s");
        assert!(!rates(0, 0, Duration::ZERO).is_empty());
    }
}
