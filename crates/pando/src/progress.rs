//! The progress bar of an import.

use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use server::import::Progress;

/// A bar on standard error; nothing is drawn where that is not a terminal.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// A bar that is not drawn until something has happened.
    pub(crate) fn new() -> Bar {
        let style = ProgressStyle::with_template(
            "importing {wide_bar} {percent:>3} %  {msg}  {binary_bytes_per_sec}  {eta} left",
        );
        Bar(ProgressBar::new(0).with_style(style.expect("the template is well-formed")))
    }

    /// Shows how far it is.
    pub(crate) fn show(&self, progress: Progress, bytes_total: u64) {
        self.0.set_length(bytes_total);
        self.0.set_position(progress.bytes);
        self.0.set_message(format!("{} entries/s", HumanCount(self.rate(progress))));
    }

    /// Takes it away and says in one line what was done.
    pub(crate) fn finish(self, progress: Progress) {
        let seconds = self.0.elapsed().as_secs_f64();
        self.0.finish_and_clear();
        eprintln!(
            "imported {} entries in {seconds:.1} s: {} entries/s, {:.1} MB/s",
            HumanCount(progress.entries),
            HumanCount(self.rate(progress)),
            progress.bytes as f64 / 1e6 / seconds.max(1e-9),
        );
    }

    fn rate(&self, progress: Progress) -> u64 {
        (progress.entries as f64 / self.0.elapsed().as_secs_f64().max(1e-9)) as u64
    }
}
