//! What the tags and ids of a restore go into. Indexes that are built while a server runs are filled in another way, since
//! readers and changes go on beside that (`index/build.rs`).

use crate::cell::{Garbage, Held};
use crate::hash::{Full, Table, TableWriter};
use crate::idset::IdSet;
use crate::postings::{Context, Postings, PostingsWriter};
use crate::readers::Readers;

/// Pairs whose places in a table are prefetched.
const AHEAD: usize = 16;
/// Pairs after which what a table has outgrown is given back to it: growing would else take three times its memory.
const REUSE_PAIRS: usize = 1024;

/// What pairs go into.
pub(crate) enum Sink<'s> {
    Table(&'s Table, &'s mut TableWriter),
    Postings(&'s Postings, &'s mut PostingsWriter),
    Ids(&'s IdSet),
    Nothing,
}

impl Sink<'_> {
    /// Puts pairs of tag and id where they belong. To be called by one thread for each sink, which is its writer.
    ///
    /// # Errors
    /// When the memory limit is reached.
    pub(super) fn fill(
        &mut self,
        readers: &Readers,
        pairs: &[(u32, u32)],
        garbage: &mut Garbage,
    ) -> Result<(), Full> {
        let view = Held::by(readers);
        for (at, &(tag, id)) in pairs.iter().enumerate() {
            if at % REUSE_PAIRS == 0 {
                self.no_reader_pins();
            }
            let ahead = pairs.get(at + AHEAD).map_or(tag, |(tag, _)| *tag);
            match self {
                Sink::Table(table, writer) => {
                    table.prefetch(ahead);
                    table.put(writer, readers, tag, None, id)?;
                }
                Sink::Postings(postings, writer) => {
                    postings.prefetch(ahead);
                    let mut context = Context { readers, view, garbage };
                    postings.insert(writer, &mut context, tag, id, |_| true)?;
                }
                Sink::Ids(set) => {
                    set.insert(id, view, garbage);
                }
                Sink::Nothing => {}
            }
        }
        Ok(())
    }

    /// Nobody looks at what was replaced: it is room again.
    pub(super) fn no_reader_pins(&mut self) {
        match self {
            Sink::Table(_, writer) => writer.no_reader_pins(),
            Sink::Postings(_, writer) => writer.no_reader_pins(),
            Sink::Ids(_) | Sink::Nothing => {}
        }
    }
}
