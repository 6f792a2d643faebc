//! The passes of an import over its inputs, wherever its entries go: all of them from the top, then what came before its
//! superior, as often as that gets any of it in.

use crate::aside::{Spans, TooMany};
use crate::report::{FAULTS_MAX, Fault, ImportError, OnReject, Progress, Summary};
use crate::source::{Again, Input, Source, Whole};

/// Who has entries made of records.
pub(crate) trait Importer<'t> {
    /// Where the import stands.
    fn course(&mut self) -> &mut Course<'t>;

    /// Takes all that a source has. What became of it is known when it returns.
    fn pass(&mut self, source: impl Source, on_progress: &mut dyn FnMut(Progress));
}

/// Where an import stands.
pub(crate) struct Course<'t> {
    /// How far it is.
    pub(crate) progress: Progress,
    /// Number of the input that is read.
    input: usize,
    faults: Vec<Fault>,
    /// So many end it.
    faults_max: usize,
    is_over: bool,
    on_reject: Option<OnReject<'t>>,
    rejected: u64,
    /// What waits for superiors, of each input.
    aside: Vec<Spans>,
    /// How many waited after the first pass.
    set_aside: u64,
    is_final: bool,
}

impl<'t> Course<'t> {
    /// At the beginning. Without `on_reject` so many faults end the import.
    pub(crate) fn new(
        inputs: &[Input<'_>],
        on_reject: Option<OnReject<'t>>,
        faults_max: usize,
    ) -> Course<'t> {
        Course {
            progress: Progress::default(),
            input: 0,
            faults: Vec::new(),
            faults_max,
            is_over: false,
            on_reject,
            rejected: 0,
            aside: inputs.iter().map(spans).collect(),
            set_aside: 0,
            is_final: false,
        }
    }

    /// Is there nothing more to be done?
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Is nothing wrong so far, but what was handed out?
    pub(crate) fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    /// Is a missing superior a fault now?
    pub(crate) fn is_final(&self) -> bool {
        self.is_final
    }

    /// Are records with faults handed out?
    pub(crate) fn takes_rejects(&self) -> bool {
        self.on_reject.is_some()
    }

    /// Has a record wait for its superior: its bytes, where they begin in the input, and on which line.
    pub(crate) fn set_aside(
        &mut self,
        record: &[u8],
        offset: u64,
        line: u64,
        fault: impl FnOnce(String) -> Fault,
    ) {
        if let Err(TooMany) = self.aside[self.input].push(record, offset, line) {
            self.give_up(fault("too many entries come before their superiors; sort the input".to_owned()));
        }
    }

    /// Hands out a record of which no entry can be made, or takes note of it.
    pub(crate) fn refuse(&mut self, mut fault: Fault, record: &[u8]) {
        fault.input = self.input;
        let Some(on_reject) = &mut self.on_reject else {
            self.faults.push(fault);
            self.is_over |= self.faults.len() >= self.faults_max;
            return;
        };
        self.rejected += 1;
        if let Err(error) = on_reject(&fault, record) {
            self.give_up(Fault::at(0, format!("what was rejected cannot be written: {error}")));
        }
    }

    /// Takes note of a fault that nothing can be done after.
    pub(crate) fn give_up(&mut self, fault: Fault) {
        self.faults.push(Fault { input: self.input, ..fault });
        self.is_over = true;
    }

    /// Takes note of a fault as it is: one of the whole.
    pub(crate) fn note(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// What came of it.
    ///
    /// # Errors
    /// All faults, in order, up to [`FAULTS_MAX`].
    pub(crate) fn end(self) -> Result<Summary, ImportError> {
        let Course { progress: done, mut faults, set_aside, rejected, .. } = self;
        if faults.is_empty() {
            return Ok(Summary { entries: done.entries, bytes: done.bytes, set_aside, rejected });
        }
        faults.sort_by_key(|fault| (fault.input, fault.line));
        faults.truncate(FAULTS_MAX);
        Err(ImportError { faults, done })
    }

    fn waiting(&self) -> u64 {
        self.aside.iter().map(|aside| aside.records).sum()
    }
}

fn spans(input: &Input<'_>) -> Spans {
    Spans::new(matches!(input, Input::Stream(_)))
}

/// All passes. Bytes count in the first.
pub(crate) fn run<'t>(
    importer: &mut impl Importer<'t>,
    inputs: &mut [Input<'_>],
    on_progress: &mut dyn FnMut(Progress),
) {
    for (number, input) in inputs.iter_mut().enumerate() {
        importer.course().input = number;
        if !importer.course().is_over {
            importer.pass(Whole::new(input), on_progress);
        }
    }
    let bytes = importer.course().progress.bytes;
    importer.course().set_aside = importer.course().waiting();
    let mut again = |progress| on_progress(Progress { bytes, ..progress });
    while importer.course().is_sound() && importer.course().waiting() > 0 {
        let before = importer.course().progress.entries;
        for (number, input) in inputs.iter_mut().enumerate() {
            let course = importer.course();
            course.input = number;
            let waiting = std::mem::replace(&mut course.aside[number], spans(input));
            if !course.is_over && waiting.records > 0 {
                importer.pass(Again::new(input, waiting), &mut again);
            }
        }
        let course = importer.course();
        course.is_final = course.progress.entries == before;
    }
    importer.course().progress.bytes = bytes;
}
