//! The passes of an import over its inputs, wherever its entries go: all of them from the top, then what came before its
//! superior, as often as that gets any of it in.
//!
//! What waits of inputs that cannot be read again is tried before that too, once it takes much memory.

use crate::batch::Batch;
use crate::deferred::{DeferredSpans, RETRY_BYTES, TooMany};
use crate::record::{Content, Place, Records};
use crate::report::{
    Callbacks, FAULTS_MAX, Fault, ImportError, OnProgress, OnReject, Progress, ProgressReport, Summary,
};
use crate::source::{Again, Form, Input, Piece, Source, Whole};
use proto::ldif::{Value, write_attribute, write_dn};
use std::convert::Infallible;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Who has entries made of records.
pub(crate) trait Importer<'t> {
    /// Where the import stands.
    fn state(&mut self) -> &mut ImportState<'t>;

    /// Takes all that the sources have, which are inputs with these numbers. What became of it is known when it returns.
    fn pass(&mut self, sources: Vec<(usize, impl Source)>);

    /// Takes what is in a batch, but for its faults.
    fn take(&mut self, batch: &Batch);

    /// Takes a batch; gives it back unless the import is over.
    fn take_batch(&mut self, mut batch: Batch) -> Option<Batch> {
        let (faults, piece) = (std::mem::take(&mut batch.faults), &batch.piece);
        if batch.is_fatal {
            faults.into_iter().for_each(|(fault, _)| self.state().give_up(piece.input, fault));
            return None;
        }
        faults.into_iter().for_each(|(fault, range)| self.state().refuse(piece, range, fault));
        self.take(&batch);
        if self.state().is_over() {
            return None;
        }
        self.state().count_piece(&batch.piece);
        Some(batch)
    }
}

/// Where an import stands.
pub(crate) struct ImportState<'t> {
    progress: Progress,
    /// The same, of each input.
    inputs: Vec<Progress>,
    faults: Vec<Fault>,
    /// So many end it.
    faults_max: usize,
    is_over: &'t AtomicBool,
    on_progress: OnProgress<'t>,
    on_reject: Option<OnReject<'t>>,
    rejected: u64,
    /// What waits for superiors, of each input.
    deferred: Vec<DeferredSpans>,
    /// How many waited after the first pass.
    deferred_count: u64,
    /// What waits is tried again when so many bytes of it are held, and when more entries than this are stored.
    retry: (usize, u64),
    is_final: bool,
}

impl<'t> ImportState<'t> {
    /// At the beginning. Without somebody who takes rejects so many faults end the import.
    pub(crate) fn new(inputs: &[Input<'_>], callbacks: Callbacks<'t>, faults_max: usize) -> ImportState<'t> {
        let Callbacks { on_progress, on_reject, is_over } = callbacks;
        ImportState {
            progress: Progress::default(),
            inputs: vec![Progress::default(); inputs.len()],
            faults: Vec::new(),
            faults_max,
            is_over,
            on_progress,
            on_reject,
            rejected: 0,
            deferred: inputs.iter().map(spans).collect(),
            deferred_count: 0,
            retry: (RETRY_BYTES, 0),
            is_final: false,
        }
    }

    /// Counts entries that got in.
    #[inline]
    pub(crate) fn count_entries(&mut self, input: usize, entries: usize) {
        self.progress.entries += entries as u64;
        self.inputs[input].entries += entries as u64;
    }

    /// Counts a piece that is done with, and tells of it.
    pub(crate) fn count_piece(&mut self, piece: &Piece) {
        // In later passes its bytes were counted before.
        if self.deferred_count == 0 {
            self.progress.bytes += piece.bytes.len() as u64;
            self.inputs[piece.input].bytes += piece.bytes.len() as u64;
        }
        (self.on_progress)(ProgressReport { total: self.progress, inputs: &self.inputs });
    }

    /// Is there nothing more to be done?
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn end_it(&self) {
        self.is_over.store(true, Ordering::Relaxed);
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

    /// Has a record of a piece wait for its superior.
    pub(crate) fn defer(&mut self, piece: &Piece, place: &Place, fault: impl FnOnce(String) -> Fault) {
        let (bytes, offset) = (&piece.bytes[place.range.clone()], piece.offset + place.range.start as u64);
        let deferred = &mut self.deferred[piece.input];
        deferred.form = piece.form;
        if let Err(TooMany) = deferred.push(bytes, offset, place.begin_line) {
            let reason = "too many entries come before their superiors; sort the input".to_owned();
            self.give_up(piece.input, Fault { offset, ..fault(reason) });
        }
    }

    /// What waits of inputs that cannot be read again, if that has become so much that it is worth to be tried again: the
    /// superiors may be there by now. Each time it takes twice as much as was left over the last time.
    pub(crate) fn take_held(&mut self) -> Vec<(usize, DeferredSpans)> {
        let held: usize = self.deferred.iter().map(|spans| spans.held.len()).sum();
        if self.deferred_count > 0 || held < self.retry.0 || self.progress.entries == self.retry.1 {
            return Vec::new();
        }
        let streams =
            self.deferred.iter_mut().enumerate().filter(|(_, spans)| spans.hold && spans.records > 0);
        streams.map(|(input, spans)| (input, std::mem::replace(spans, DeferredSpans::new(true)))).collect()
    }

    /// That was tried again.
    pub(crate) fn tried_held(&mut self) {
        assert!(self.deferred_count == 0, "bytes are held and tried again in the first pass only");
        let held: usize = self.deferred.iter().map(|spans| spans.held.len()).sum();
        self.retry = (RETRY_BYTES.max(2 * held), self.progress.entries);
    }

    /// Hands out a record of which no entry can be made, or takes note of it.
    pub(crate) fn refuse(&mut self, piece: &Piece, range: Range<usize>, fault: Fault) {
        let fault = Fault { input: piece.input, offset: piece.offset + range.start as u64, ..fault };
        let Some(on_reject) = &mut self.on_reject else {
            self.faults.push(fault);
            if self.faults.len() >= self.faults_max {
                self.end_it();
            }
            return;
        };
        self.rejected += 1;
        let record = &piece.bytes[range];
        let reported = match piece.form {
            Form::Ldif => on_reject(&fault, record),
            Form::Ber => on_reject(&fault, &as_ldif(record)),
        };
        if let Err(error) = reported {
            let reason = format!("what was rejected cannot be written: {error}");
            self.give_up(piece.input, Fault::at(0, reason));
        }
    }

    /// Takes note of a fault that nothing can be done after.
    pub(crate) fn give_up(&mut self, input: usize, fault: Fault) {
        self.faults.push(Fault { input, ..fault });
        self.end_it();
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
        let ImportState { progress: done, inputs, mut faults, deferred_count, rejected, .. } = self;
        assert!(
            inputs.iter().map(|input| input.entries).sum::<u64>() == done.entries,
            "each entry is counted with its input"
        );
        if faults.is_empty() {
            return Ok(Summary { entries: done.entries, bytes: done.bytes, deferred_count, rejected });
        }
        faults.sort_by_key(|fault| (fault.input, fault.offset, fault.line));
        faults.truncate(FAULTS_MAX);
        Err(ImportError { faults, done })
    }

    fn waiting(&self) -> u64 {
        self.deferred.iter().map(|deferred| deferred.records).sum()
    }
}

fn spans(input: &Input<'_>) -> DeferredSpans {
    DeferredSpans::new(matches!(input, Input::Stream(_)))
}

/// All passes. Bytes count in the first.
pub(crate) fn run<'t>(importer: &mut impl Importer<'t>, inputs: &mut [Input<'_>]) {
    if !importer.state().is_over() {
        importer.pass(inputs.iter_mut().map(Whole::new).enumerate().collect());
    }
    importer.state().deferred_count = importer.state().waiting();
    while importer.state().is_sound() && importer.state().waiting() > 0 {
        let state = importer.state();
        let before = state.progress.entries;
        let fresh = inputs.iter().map(spans).collect();
        let deferred = std::mem::replace(&mut state.deferred, fresh);
        let again = inputs.iter_mut().zip(deferred).map(|(input, spans)| Again::new(input, spans));
        importer.pass(again.enumerate().collect());
        let state = importer.state();
        state.is_final = state.progress.entries == before;
    }
    importer.state().end_it();
}

/// A BER add as a record of LDIF; what is none as a comment.
fn as_ldif(bytes: &[u8]) -> Vec<u8> {
    let piece = Piece { bytes: bytes.to_vec(), form: Form::Ber, ..Piece::default() };
    let mut out = Vec::new();
    match Records::of(&piece).next() {
        Some(Ok(record)) => {
            write_dn(&mut out, record.dn);
            let done: Result<(), Infallible> = record.content.try_each(|_, line| {
                if let Value::Bytes(value) = line.value {
                    write_attribute(&mut out, line.description, value);
                }
                Ok(())
            });
            debug_assert!(done.is_ok() && matches!(record.content, Content::Ber(_)));
        }
        _ => {
            let shown = &bytes[..bytes.len().min(SHOWN_BYTES)];
            out.extend_from_slice(b"# not LDIF, its bytes begin with:");
            shown.iter().for_each(|byte| out.extend_from_slice(format!(" {byte:02x}").as_bytes()));
            out.push(b'\n');
        }
    }
    out
}

/// Bytes of something that is no add which are shown.
const SHOWN_BYTES: usize = 64;
