//! Tags and ids into the tables: each table is filled by one job, so as many threads as there are tables work.

use super::derive::{CHILDREN, DN, Derived, INDEXES};
use super::{Errors, RestoreError, Run};
use crate::cell::Garbage;
use crate::hash::{Full, Table, TableWriter};
use crate::idset::IdSet;
use crate::postings::{Context, Postings, PostingsWriter};
use crate::shard::{ReadPoint, Shard, WriterState};
use crate::sync::{Mutex, lock};
use std::io;

/// Pairs whose places in a table are asked for ahead.
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

/// Every table of a shard, by where its pairs are.
pub(super) struct Sinks<'s> {
    shard: &'s Shard,
    all: Vec<Mutex<(Sink<'s>, Garbage)>>,
}

impl<'s> Sinks<'s> {
    pub(super) fn new(shard: &'s Shard, state: &'s mut WriterState) -> Sinks<'s> {
        let mut all = Vec::new();
        all.resize_with(INDEXES, || Sink::Nothing);
        all[DN] = Sink::Table(&shard.dn_table, &mut state.dn);
        all[CHILDREN] = Sink::Postings(&shard.children, &mut state.children);
        let view = ReadPoint { shard, sequence: shard.readers.published() };
        all.extend(view.indexes().sinks(&mut state.indexes));
        Sinks { shard, all: all.into_iter().map(|sink| Mutex::new((sink, Garbage::default()))).collect() }
    }
}

/// Puts what was derived where it belongs.
pub(super) fn fill(
    sinks: &mut Sinks<'_>,
    derived: &[Mutex<Derived>],
    run: Run<'_>,
) -> Result<(), RestoreError> {
    let (shard, all, errors) = (sinks.shard, &sinks.all, Errors::default());
    // What was derived is lent to all jobs at once.
    let derived: Vec<_> = derived.iter().map(lock).collect();
    let pairs: Vec<&[Vec<(u32, u32)>]> = derived.iter().map(|made| &made.pairs[..]).collect();
    run(all.len(), &|job| {
        let (sink, garbage) = &mut *lock(&all[job]);
        for made in &pairs {
            if sink.fill(shard, &made[job], garbage).is_err() {
                let text = "the memory limit is less than the indexes need";
                let error = io::Error::new(io::ErrorKind::OutOfMemory, text);
                errors.note(job, RestoreError::Memory(error));
            }
        }
        garbage.collect(&shard.readers);
        sink.nobody_reads();
    });
    errors.none()
}

impl Sink<'_> {
    fn fill(&mut self, shard: &Shard, pairs: &[(u32, u32)], garbage: &mut Garbage) -> Result<(), Full> {
        let view = ReadPoint { shard, sequence: shard.readers.published() };
        for (at, &(tag, id)) in pairs.iter().enumerate() {
            if at % REUSE_PAIRS == 0 {
                self.nobody_reads();
            }
            let ahead = pairs.get(at + AHEAD).map_or(tag, |(tag, _)| *tag);
            match self {
                Sink::Table(table, writer) => {
                    table.prefetch(ahead);
                    table.put(writer, &shard.readers, tag, None, id)?;
                }
                Sink::Postings(postings, writer) => {
                    postings.prefetch(ahead);
                    let mut context = Context { readers: &shard.readers, view, garbage };
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
    fn nobody_reads(&mut self) {
        match self {
            Sink::Table(_, writer) => writer.nobody_reads(),
            Sink::Postings(_, writer) => writer.nobody_reads(),
            Sink::Ids(_) | Sink::Nothing => {}
        }
    }
}
