//! The progress of an import, an export or a recovery: a bar on a terminal, a line now and then elsewhere. Nothing is shown until something
//! has happened, nor where the command is to be quiet. A bar that is dropped goes away.

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

/// What all bars have.
struct Meter {
    bar: ProgressBar,
    quiet: bool,
    /// No terminal: when the next line is due.
    line_due: Option<Duration>,
}

impl Meter {
    fn new(template: &str, quiet: bool) -> Meter {
        let style = ProgressStyle::with_template(template).expect("the template is well-formed");
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(0) };
        let line_due = (!stderr().is_terminal()).then_some(LINE_EVERY);
        Meter { bar: bar.with_style(style), quiet, line_due }
    }

    /// Shows on a terminal how much is done of how much, and a message; elsewhere has `tell` print a line with it, if one is due.
    fn show(
        &mut self,
        (done, all): (u64, u64),
        message: impl FnOnce(Duration) -> String,
        tell: impl FnOnce(String),
    ) {
        let elapsed = self.bar.elapsed();
        match &mut self.line_due {
            _ if self.quiet => {}
            None => {
                self.bar.set_length(all);
                self.bar.set_position(done);
                self.bar.set_message(message(elapsed));
            }
            Some(due) if elapsed >= *due => {
                *due = elapsed + LINE_EVERY;
                tell(message(elapsed));
            }
            Some(_) => {}
        }
    }

    /// Takes the bar away. Returns the time that it was there, unless nothing is to be said of it.
    fn finish(self) -> Option<Duration> {
        self.bar.finish_and_clear();
        (!self.quiet).then(|| self.bar.elapsed())
    }
}

/// What is shown on standard error while an import goes on.
pub(crate) struct Bar {
    meter: Meter,
    /// What is going on, and what will have been done.
    words: [&'static str; 2],
    /// Inputs that are reported one by one, and how far each is.
    streams: Vec<(String, Progress)>,
}

impl Bar {
    /// With `streams` it shows each of them too.
    pub(crate) fn new(now: &'static str, done: &'static str, streams: &[PathBuf], quiet: bool) -> Bar {
        let template = format!("{now} {{wide_bar}} {{percent:>3}} %  {{msg}}  {{eta}} left");
        let streams = streams.iter().map(|path| (path.display().to_string(), Progress::default()));
        Bar { meter: Meter::new(&template, quiet), words: [now, done], streams: streams.collect() }
    }

    /// Shows how far it is of `bytes_total`; 0 if that is not known.
    pub(crate) fn show(&mut self, reported: ProgressReport<'_>, bytes_total: u64) {
        let Progress { entries, bytes } = reported.total;
        assert!(
            self.streams.is_empty() || self.streams.len() == reported.inputs.len(),
            "each stream that is shown is an input"
        );
        self.streams.iter_mut().zip(reported.inputs).for_each(|((_, stream), now)| *stream = *now);
        let (elapsed, streams) = (self.meter.bar.elapsed(), &self.streams);
        let left = || match bytes_total.checked_sub(bytes) {
            Some(left) if bytes_total > 0 && bytes > 0 => {
                let left = HumanDuration(elapsed.mul_f64(left as f64 / bytes as f64));
                let percent = bytes * 100 / bytes_total;
                format!("{percent} % of {:.1} MB, {left} left", bytes_total as f64 / 1e6)
            }
            _ => format!("{:.1} MB so far", bytes as f64 / 1e6),
        };
        let rates = |elapsed| rates(entries, bytes, elapsed);
        self.meter.show((bytes, bytes_total.max(bytes)), rates, |rates| {
            note!("{}: {} entries, {rates}, {}", self.words[0], HumanCount(entries), left());
            tell_streams(streams, elapsed);
        });
    }

    /// Takes the bar away and says what was done.
    pub(crate) fn finish(self, summary: Summary) {
        let Some(elapsed) = self.meter.finish() else { return };
        let rates = rates(summary.entries, summary.bytes, elapsed);
        let (entries, seconds) = (HumanCount(summary.entries), elapsed.as_secs_f64());
        note!("{} {entries} entries in {seconds:.1} s: {rates}", self.words[1]);
        tell_streams(&self.streams, elapsed);
    }
}

fn tell_streams(streams: &[(String, Progress)], elapsed: Duration) {
    for (name, Progress { entries, bytes }) in streams {
        let rates = rates(*entries, *bytes, elapsed);
        note!("  {name}: {} entries, {:.1} MB, {rates}", HumanCount(*entries), *bytes as f64 / 1e6);
    }
}

/// What is shown on standard error while a directory is recovered.
pub(crate) struct RecoveryBar {
    meter: Meter,
    /// Bytes of the snapshot that are read, and all of them.
    snapshot: (u64, u64),
}

impl RecoveryBar {
    pub(crate) fn new(quiet: bool) -> RecoveryBar {
        RecoveryBar { meter: Meter::new("recovering {wide_bar} {msg}", quiet), snapshot: (0, 0) }
    }

    /// Shows how far it is.
    pub(crate) fn show(&mut self, stage: Stage) {
        // A record takes about a microsecond, so most are not shown.
        if self.meter.line_due.is_none() && matches!(stage, Stage::Log(records) if records % 1024 != 0) {
            return;
        }
        if let Stage::Snapshot(done, all) = stage {
            self.snapshot = (done, all);
        }
        let text = |_| match stage {
            Stage::Snapshot(done, all) => {
                format!("snapshot, {:.1} of {:.1} MB", done as f64 / 1e6, all as f64 / 1e6)
            }
            Stage::Log(records) => format!("log, {} records", HumanCount(records)),
        };
        self.meter.show(self.snapshot, text, |text| note!("recovering: {text}"));
    }

    /// Takes the bar away and says in one line what was done, if anything was.
    pub(crate) fn finish(self, records: u64, entries: u64) {
        let Some(elapsed) = self.meter.finish() else { return };
        if records == 0 && entries == 0 {
            return;
        }
        let (records, entries, seconds) = (HumanCount(records), HumanCount(entries), elapsed.as_secs_f64());
        note!("recovered {entries} entries in {seconds:.1} s, {records} records of the log among that");
    }
}

/// What is shown on standard error while an export goes on.
pub(crate) struct ExportBar(Meter);

impl ExportBar {
    pub(crate) fn new(quiet: bool) -> ExportBar {
        ExportBar(Meter::new("exporting {wide_bar} {percent:>3} %  {msg}  {eta} left", quiet))
    }

    /// Shows how far it is, of so many entries to look at, if that is known.
    pub(crate) fn show(&mut self, done: Exported, entries: Option<u64>) {
        let rates = |elapsed| rates(done.entries, done.bytes, elapsed);
        self.0.show((done.seen, entries.unwrap_or(done.seen)), rates, |rates| {
            let all = entries.map(|all| format!(" of {}", HumanCount(all))).unwrap_or_default();
            note!("exporting: {}{all} entries, {rates}", HumanCount(done.seen));
        });
    }

    /// Takes the bar away and says in one line what was done.
    pub(crate) fn finish(self, done: Exported) {
        let Some(elapsed) = self.0.finish() else { return };
        let (entries, seconds) = (HumanCount(done.entries), elapsed.as_secs_f64());
        note!("exported {entries} entries in {seconds:.1} s: {}", rates(done.entries, done.bytes, elapsed));
    }
}

/// What is shown on standard error while a server builds an index.
pub(crate) struct IndexBar(Meter);

impl IndexBar {
    pub(crate) fn new(quiet: bool) -> IndexBar {
        IndexBar(Meter::new("{msg} {wide_bar} {human_pos} of {human_len} entries, {eta} left", quiet))
    }

    /// Shows how far the index in progress is.
    pub(crate) fn show(&mut self, line: &IndexLine) {
        let Some((done, all)) = line.entries else { return };
        self.0.show(
            (done, all),
            |_| line.index.clone(),
            |index| {
                note!("{index}: {} of {} entries", HumanCount(done), HumanCount(all));
            },
        );
    }
}

/// What is shown on standard error while files are copied. Nothing where there is no terminal.
pub(crate) struct CopyBar(ProgressBar);

impl CopyBar {
    /// `what` is being done.
    pub(crate) fn new(what: &str) -> CopyBar {
        let template = format!("{what} {{wide_bar}} {{bytes}} of {{total_bytes}}, {{eta}} left");
        CopyBar(Meter::new(&template, false).bar)
    }

    /// Shows how many bytes are done, of how many.
    pub(crate) fn show(&mut self, done: u64, all: u64) {
        assert!(done <= all, "no more is copied than there is");
        self.0.set_length(all);
        self.0.set_position(done);
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
