//! From a piece of LDIF to entries that are ready to be added: what many threads do at once.

use crate::fields::Fields;
use crate::report::Fault;
use crate::source::Piece;
use proto::ldif::{Body, Parser, Record};
use std::ops::Range;
use store::{Prepared, Shard};

/// A piece and what became of it. Its memory is used again.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) piece: Piece,
    items: Vec<Item>,
    used: usize,
    /// What is wrong with records of the piece, in order of line, and which of its bytes each is.
    pub(crate) faults: Vec<(Fault, Range<usize>)>,
    /// Nothing can follow: the input ended with a failure.
    pub(crate) is_fatal: bool,
}

/// One entry, ready to be added.
#[derive(Default)]
pub(crate) struct Item {
    pub(crate) prepared: Prepared,
    /// Its record in the piece.
    pub(crate) record: Range<usize>,
    /// Line on which the record begins, comments before it included.
    pub(crate) begin_line: u64,
    /// Line of its DN.
    pub(crate) line: u64,
}

/// Buffers beyond this are given back when an entry is done with.
const ITEM_BYTES_KEPT: usize = 64 << 10;

impl Batch {
    /// The entries in order.
    pub(crate) fn items(&self) -> &[Item] {
        &self.items[..self.used]
    }

    /// Empties it, but for the piece.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
        self.faults.clear();
        self.is_fatal = false;
        if self.piece.bytes.capacity() > 4 * crate::source::PIECE_BYTES {
            // It held a huge record.
            self.piece.bytes = Vec::new();
        }
    }

    /// Reads the piece and makes its entries ready, up to `faults_max` that are not; true, to say that it came to an end.
    pub(crate) fn prepare(&mut self, shard: &Shard, fields: &mut Fields<'_>, faults_max: usize) -> bool {
        let bytes = std::mem::take(&mut self.piece.bytes);
        let mut parser = match self.piece.offset {
            0 => Parser::new(),
            _ => Parser::in_the_middle(self.piece.line),
        };
        let mut at = 0;
        while self.faults.len() < faults_max {
            let begin_line = parser.line();
            match parser.next_record(&bytes[at..], true) {
                Ok(Some((record, consumed))) => {
                    let range = at..at + consumed;
                    if let Err(fault) = self.push(shard, fields, &record, begin_line, range.clone()) {
                        self.faults.push((fault, range));
                    }
                    at += consumed;
                }
                Ok(None) => break,
                Err(error) => {
                    let skipped = parser.skip_record(&bytes[at..], true).unwrap_or(bytes.len() - at);
                    self.faults.push((Fault::at(error.line, error.reason.to_owned()), at..at + skipped));
                    at += skipped;
                }
            }
        }
        self.piece.bytes = bytes;
        true
    }

    fn push(
        &mut self,
        shard: &Shard,
        fields: &mut Fields<'_>,
        record: &Record<'_>,
        begin_line: u64,
        range: Range<usize>,
    ) -> Result<(), Fault> {
        let (Body::Content(lines) | Body::Add(lines)) = record.body else {
            return Err(Fault::of(
                record.line,
                record.dn,
                "a change; only entries can be imported".to_owned(),
            ));
        };
        if self.used == self.items.len() {
            self.items.push(Item::default());
        }
        let item = &mut self.items[self.used];
        if item.record.len() > ITEM_BYTES_KEPT {
            item.prepared = Prepared::default();
        }
        item.prepared.clear();
        item.prepared.dn.extend_from_slice(record.dn);
        fields.fill(&mut item.prepared.entry, lines).map_err(|fault| fault.with_dn(record.dn))?;
        let prepared = shard.prepare(&mut item.prepared, true);
        prepared.map_err(|refused| Fault::of(record.line, record.dn, refused.to_string()))?;
        (item.record, item.begin_line, item.line) = (range, begin_line, record.line);
        self.used += 1;
        Ok(())
    }
}
